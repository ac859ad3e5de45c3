/* rows_loop.c - the Mandelbrot set, written as a plain while: each point leaves the loop when it likes. */
#include "bench.h"
#include "kernels.h"
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2048, LIMIT = 256 };

typedef struct loop_row {
    bench *b;
    wf_array *count; /* i32 [SIDE, SIDE] */
    int32_t *at;
    void (*fn)(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi);
} loop_row;

static void weft(void *data)
{
    loop_row *r = data;
    wf_graph *g = wf_begin(r->b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .name = "mandelbrot");
    const float scale = MANDELBROT_SIZE / SIDE;
    wf_val cx = wf_fma(wf_cast(wf_index(g, 1), WF_F32), scale, MANDELBROT_X);
    wf_val cy = wf_fma(wf_cast(wf_index(g, 0), WF_F32), scale, MANDELBROT_Y);
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, LIMIT), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val t = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_add(wf_mul(wf_mul(x, 2), y), cy));
        wf_set(x, t);
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_out(g, r->count, n);
    bench_ok(r->b, wf_run(g), r->b->ctx, "wf_run");
}

static void part(void *arg, int part, int parts)
{
    const loop_row *r = arg;
    int64_t rows[2];
    bench_part(SIDE, 1, part, 16 * parts, &rows[0], &rows[1]); /* rows cost differently: in 16 rounds */
    for (int k = 0; k < 16; ++k) {
        bench_part(SIDE, 1, part + k * parts, 16 * parts, &rows[0], &rows[1]);
        r->fn(r->at, SIDE, LIMIT, rows[0], rows[1]);
    }
}

static void run(void *data, void (*fn)(int32_t *, int64_t, int, int64_t, int64_t))
{
    loop_row *r = data;
    r->fn = fn;
    bench_pool_run(r->b->pool, part, r);
}
static void plain(void *data) { run(data, plain_mandelbrot); }
static void best(void *data) { run(data, best_mandelbrot); }

static void clear(void *data)
{
    loop_row *r = data;
    memset(r->at, 0xff, (size_t)SIDE * SIDE * sizeof *r->at);
}

/* Where a compiler contracts, the border of the set moves by a few points. */
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

static void done(void *data)
{
    loop_row *r = data;
    wf_release(r->count);
    free(r);
}

static bool setup(bench *b, bench_case *c)
{
    loop_row *r = calloc(1, sizeof *r);
    void *at = NULL;
    if (!r)
        return bench_fail(b, "out of memory");
    *c = (bench_case){ .data = r, .clear = clear, .check = check, .done = done };
    r->b = b;
    r->count = wf_empty(b->ctx, WF_I32, WF_SHAPE(SIDE, SIDE));
    if (!r->count || !bench_ok(b, wf_map(r->count, &at, NULL), b->ctx, "wf_map"))
        return false;
    r->at = at;
    bench_add(c, "weft", "", weft);
    bench_add(c, "plain", "", plain);
    if (bench_best_loop_available())
        bench_add(c, "best", "four vectors in flight", best);
    return true;
}

const bench_row bench_mandelbrot = { "mandelbrot", "Mandelbrot set, 2048 x 2048, up to 256 turns", "ms",
                                     1e3,          "<= 18 ms from a plain while; 2.4x Dr.Jit",     setup };
