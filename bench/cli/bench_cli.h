/* bench_cli.h - the three measurements of weft-bench-cli. Each prints a table and returns an exit code. */
#ifndef BENCH_CLI_H
#define BENCH_CLI_H
#include "common/common.h"

/* rows.c: a few computations by both contexts, the second of one thread, and by plain C. `json`: one object per line. */
int bench_rows(wf_context *all, wf_context *one, bool quick, bool json);
/* scatter.c: n additions into buffers of 1, 10, ... `most` elements. Writes scatter.svg and scatter.png in the current
 * folder. `python`: an interpreter with Dr.Jit, NULL = Dr.Jit is not measured. */
int bench_scatter(wf_context *ctx, int64_t n, int64_t most, const char *python);
/* packet.c: about n elements in records of 1 to 24, gathered, scattered and accumulated. Writes packet.svg and
 * packet.png. `python` as above. */
int bench_packet(wf_context *ctx, int64_t n, const char *python);
#endif
