/* measure.h - what scatter.c and packet.c share. */
#ifndef BENCH_CLI_MEASURE_H
#define BENCH_CLI_MEASURE_H
#include "common/common.h"
#include <stdio.h>

enum { MOST_THREADS = 256 };

/* Memory of arrays, which all contenders use: in large pages where the system has them. */
typedef struct blocks {
    wf_context *ctx;
    wf_array **array; /* the memory's owners */
    int n;
} blocks;

/* Zeroed memory for n items of `size` bytes, owned by the blocks; ends the program if there is none. */
void *block_of(blocks *b, size_t n, size_t size);
void free_blocks(blocks *b);

/* Seconds of the fastest of a few calls, after one call that warms up; -1: a call failed. */
double least_time(bool (*work)(void *), void *data);
/* Calls work(parts + k * size) for 0 <= k < n, each on a thread of its own; the caller's thread takes k = 0. */
void run_parts(void *(*work)(void *), void *parts, size_t size, int n);
/* Starts bench/peers/sweeps.py with `operands`, which blanks separate. Returns the output of the script, to be closed by
 * pclose; NULL: the script did not start. */
FILE *run_python(const char *python, const char *operands);
#endif
