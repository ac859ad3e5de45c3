/* scatter.h - weft bench scatter, weft bench packet. */
#ifndef WEFT_CLI_SCATTER_H
#define WEFT_CLI_SCATTER_H
#include "cli.h"

/* n additions into buffers of 1, 10, ... `most` elements; a table, and scatter.svg and scatter.png in the current
 * folder. `python`: one that has Dr.Jit, or NULL. Returns an exit code. */
int bench_scatter(wf_context *ctx, int64_t n, int64_t most, const char *python);
/* packet.c. Gathers, scatters and accumulations of records of 1 to 24 elements, `n` elements each time; a table, and
 * packet.svg and packet.png. */
int bench_packet(wf_context *ctx, int64_t n, const char *python);
#endif
