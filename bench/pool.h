/* pool.h - threads for the hand-written kernels, with a fixed split, like OpenMP's static schedule. Workers spin for some
 * microseconds after a job and then sleep, so that they take no time from the next contender. */
#ifndef BENCH_POOL_H
#define BENCH_POOL_H
#include <stdint.h>

typedef struct bench_pool bench_pool;
bench_pool *bench_pool_new(int threads); /* NULL: out of memory or threads */
void bench_pool_free(bench_pool *pool);
/* The share of one thread in a job: part 0 .. parts - 1. */
typedef void bench_part_fn(void *data, const void *how, int part, int parts);
/* Runs fn(data, how, part, parts) for every part, part 0 on the caller. */
void bench_pool_run(bench_pool *pool, bench_part_fn *fn, void *data, const void *how);

typedef struct bench_range {
    int64_t lo, hi; /* lo <= i < hi */
} bench_range;

/* The range of `part` when n items are split into parts that begin at multiples of `align`. */
static inline bench_range bench_split(int64_t n, int64_t align, int part, int parts)
{
    if (parts == 1) /* divisions take as long as a short job */
        return (bench_range){ 0, n };
    int64_t blocks = (n + align - 1) / align;
    int64_t a = blocks * part / parts * align, b = blocks * (part + 1) / parts * align;
    return (bench_range){ a < n ? a : n, b < n ? b : n };
}
#endif
