/* scatter.h - weft bench scatter. */
#ifndef WEFT_CLI_SCATTER_H
#define WEFT_CLI_SCATTER_H
#include "cli.h"

/* n additions into buffers of 1, 10, ... `most` elements; a table, and scatter.svg in the current folder. `python`: one that
 * has Dr.Jit, or NULL. Returns an exit code. */
int bench_scatter(wf_context *ctx, int64_t n, int64_t most, const char *python);
#endif
