/* pool.h - threads for the hand-written kernels: a fixed split, like OpenMP's static schedule. Workers spin for a few
 * microseconds after their work and then sleep, so that they are out of the way when another contender runs. */
#ifndef BENCH_POOL_H
#define BENCH_POOL_H
#include <stdint.h>

typedef struct bench_pool bench_pool;
bench_pool *bench_pool_new(int threads); /* NULL without memory or threads */
void bench_pool_free(bench_pool *pool);
/* Runs fn(arg, part, parts) for every part, part 0 on the caller. */
void bench_pool_run(bench_pool *pool, void (*fn)(void *arg, int part, int parts), void *arg);

/* The range of `part` when n items are split into parts that begin at multiples of `align`. */
static inline void bench_part(int64_t n, int64_t align, int part, int parts, int64_t *lo, int64_t *hi)
{
    int64_t blocks = (n + align - 1) / align;
    int64_t a = blocks * part / parts * align, b = blocks * (part + 1) / parts * align;
    *lo = a < n ? a : n;
    *hi = b < n ? b : n;
}
#endif
