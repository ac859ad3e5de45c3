/* loader.h - loading relocatable ELF objects, so that a cached kernel runs without a compiler library. */
#ifndef WEFT_LOADER_H
#define WEFT_LOADER_H
#include "plan/kernel.h"

/* Code in memory: readable and executable, not writable. */
typedef struct wf__code wf__code;

/* Loads an ELF64 object for this machine that defines `wf_kernel`. Damaged bytes are an error, never a crash. The
 * object may be freed afterwards. NULL = failure, with `error` set. */
wf__code *wf__code_load(const void *object, size_t n, wf__str *error);
wf__entry *wf__code_entry(const wf__code *code);
size_t wf__code_size(const wf__code *code); /* returns the bytes of memory */
void wf__code_free(wf__code *code);         /* no thread may be inside the code; NULL: no-op */
#endif
