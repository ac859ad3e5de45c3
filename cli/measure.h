/* measure.h - what the measurements of weft bench share. */
#ifndef WEFT_CLI_MEASURE_H
#define WEFT_CLI_MEASURE_H
#include "cli.h"
#include <stdio.h>

enum { MOST_THREADS = 256 };

/* Memory that all contenders share, as Weft's arrays have it: in large pages where the system gives them. */
typedef struct blocks {
    wf_context *ctx;
    wf_array **array;
    int n;
} blocks;

void *block_of(blocks *b, size_t n, size_t size); /* zeroed; ends the program when there is no memory */
void free_blocks(blocks *b);

/* The least of a few times of `work`, in seconds, after one call that warms up; -1: it failed. */
double least_time(bool (*work)(void *), void *data);
/* work(parts + k * size) for k below n, each on a thread of its own, the first on the caller's. */
void run_parts(void *(*work)(void *), void *parts, size_t size, int n);
/* What a Python program prints; `operands` separated by spaces. NULL: it could not be started. End with pclose. */
FILE *run_python(const char *python, const char *script, const char *operands);
#endif
