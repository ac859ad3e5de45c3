/* background.h - work of a thread that the program knows nothing of, and that neither a fork nor the end of the process
 * may interrupt: it uses libraries with locks, and with destructors that run when the process ends.
 *
 * One such piece of work runs at a time in a process. A fork waits until it has ended, so that the child finds no lock
 * of a thread that it does not have. The end of the process waits for it, too, and later pieces do not begin.
 */
#ifndef WEFT_BACKGROUND_H
#define WEFT_BACKGROUND_H
#include "base/os.h"

/* Guards forks, and the end of the calling thread: that of the main thread ends the process, and others wait for all
 * work that is expected. false = the system cannot do this, or out of memory: no work may be expected. */
bool wf__background_guard(void);
void wf__background_expect(void); /* a piece of work will begin, or be given up */
void wf__background_gone(void);   /* it has ended, or was given up */
/* Waits until no other piece of work runs. false = the process ends: the work must not begin, and no wf__background_end
 * follows. */
bool wf__background_begin(void);
void wf__background_end(void);
#endif
