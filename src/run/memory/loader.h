/* loader.h - relocatable ELF objects as executable memory, so that a cached kernel runs without any compiler library. */
#ifndef WEFT_LOADER_H
#define WEFT_LOADER_H
#include "plan/kernel.h"

/* Code in memory: written once, then readable and executable, never writable again. */
typedef struct wf__code wf__code;

/* Loads an ELF64 object for this machine that defines `wf_kernel`. The bytes may come from a damaged file: whatever is
 * wrong with them is an error, never a crash. NULL: `error` says why. The object's bytes are not kept. */
wf__code *wf__code_load(const void *object, size_t n, wf__str *error);
wf__entry *wf__code_entry(const wf__code *code);
size_t wf__code_size(const wf__code *code); /* bytes of memory it holds */
void wf__code_free(wf__code *code);         /* NULL: no-op. No thread may be inside the code */
#endif
