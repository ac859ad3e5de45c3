/* rows_loop.c - the Mandelbrot set by a while loop, which each point leaves after a number of iterations of its own. */
#include "bench.h"
#include "kernels.h"
#include "program.h"
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2048, LIMIT = 256 };

typedef struct loop_row {
    bench *b;
    wf_array *count; /* i32 [SIDE, SIDE] */
    int32_t *at;
} loop_row;

static void weft(void *data)
{
    loop_row *r = data;
    wf_graph *g = wf_begin(r->b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .name = "mandelbrot");
    wf_out(g, r->count, bench_escape(g, SIDE, LIMIT));
    bench_ok(r->b, wf_run(g), r->b->ctx, "wf_run");
}

typedef void loop_fn(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi);
static loop_fn *const plain = plain_mandelbrot, *const best = best_mandelbrot;

static void part(void *data, const void *how, int part, int parts)
{
    const loop_row *r = data;
    for (int k = 0; k < 16; ++k) { /* in 16 rounds, as the cost of rows differs */
        const bench_range at = bench_split(SIDE, 1, part + k * parts, 16 * parts);
        (*(loop_fn *const *)how)(r->at, SIDE, LIMIT, at.lo, at.hi);
    }
}

static void clear(void *data)
{
    loop_row *r = data;
    memset(r->at, 0xff, (size_t)SIDE * SIDE * sizeof *r->at);
}

/* Contracted a*b + c changes the count of a few points at the border of the set. */
static bool check(void *data, char *why, size_t cap)
{
    const loop_row *r = data;
    int64_t wrong = 0, seen = 0;
    int32_t *row = malloc((size_t)SIDE * SIDE * sizeof *row);
    for (int64_t i = 0; row && i < SIDE; i += 61) {
        plain_mandelbrot(row, SIDE, LIMIT, i, i + 1);
        for (int64_t j = 0; j < SIDE; ++j, ++seen)
            wrong += row[i * SIDE + j] != r->at[i * SIDE + j];
    }
    free(row);
    if (row && wrong * 50 <= seen)
        return true;
    snprintf(why, cap, "%lld of %lld points differ", (long long)wrong, (long long)seen);
    return false;
}

static const bench_kind kind = { sizeof(loop_row), clear, check, NULL };

static void setup(bench *b, bench_case *c)
{
    loop_row *r = bench_data(b, c, &kind);
    if (!r)
        return;
    r->b = b;
    r->count = bench_keep(c, wf_empty(b->ctx, WF_I32, WF_SHAPE(SIDE, SIDE)));
    r->at = bench_memory(b, r->count);
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", "", part, &plain);
    if (bench_best_loop_available())
        bench_add_parts(c, "best", "four vectors in flight", part, &best);
}

const bench_row bench_mandelbrot = { "mandelbrot", "Mandelbrot set, 2048 x 2048, up to 256 turns", "ms",
                                     1e3,          "<= 18 ms from a plain while; 2.4x Dr.Jit",     setup,
                                     NULL };
