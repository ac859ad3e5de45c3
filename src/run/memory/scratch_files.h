/* scratch_files.h - memory in files without names, which the system writes to the disk and reads back page by page. So it may
 * be larger than the machine's memory.
 */
#ifndef WEFT_SCRATCH_FILES_H
#define WEFT_SCRATCH_FILES_H
#include "base/base.h"

typedef struct wf__scratch wf__scratch;

/* folder: that of the files; NULL = $TMPDIR, else /var/tmp. NULL = out of memory. */
wf__scratch *wf__scratch_new(const char *folder);
void wf__scratch_free_all(wf__scratch *s); /* all blocks must have been freed; NULL: no-op */

/* Allocates memory of zeros, aligned to pages, with its place on the disk. NULL = failure. Any thread may call. */
void *wf__scratch_alloc(wf__scratch *s, size_t bytes);
/* Frees memory of wf__scratch_alloc. Returns false if the block is other memory. */
bool wf__scratch_free(wf__scratch *s, void *p);
/* Appends the reason if the latest allocation failed, such as "; no file in /var/tmp: No space left on device". */
void wf__scratch_reason(wf__scratch *s, wf__str *out);
#endif
