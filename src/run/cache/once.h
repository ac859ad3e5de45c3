/* once.h - objects that several threads of a process want at the same time, made by one of them.
 *
 * Contexts share no code in memory. Ranks that are threads, each with a context, would compile the same kernels side by
 * side. Here the first one compiles, and the others wait and load the same object. The last of these threads frees
 * the object.
 */
#ifndef WEFT_ONCE_H
#define WEFT_ONCE_H
#include "base/base.h"

typedef struct wf__once wf__once;

/* Guards forks, which wait until no thread looks at the list of objects. false = the system cannot do this, or out of
 * memory: each thread makes its objects itself. Handlers of forks that wait for such threads must
 * be registered later, as code_memory.h says. */
bool wf__once_guard(void);
/* Announces that the caller makes the object of this key; where another thread of this process makes it already, waits
 * until that thread ends. The key is the caller's until wf__once_end. NULL = the caller makes the object: out of memory,
 * no guard, or the caller is inside of making it, as by the program's log. */
wf__once *wf__once_begin(const wf__str *key);
/* Returns the object that another thread has made; NULL = none: the caller makes it. `once` may be NULL. */
const wf__str *wf__once_made(const wf__once *once);
/* Ends the announcement of a caller that made the object, and hands the object over if another thread waits: *object is
 * empty then. An empty object = it could not be made, and each thread that waited tries itself. Ends the use of an
 * object that another thread made; `object` is ignored then. NULL: no-op. */
void wf__once_end(wf__once *once, wf__str *object);
#endif
