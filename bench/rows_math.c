/* rows_math.c - a chain of transcendental functions: arithmetic, not memory, is the limit. */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>

typedef void math_fn(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);

typedef struct math_row {
    bench_stream s; /* x, out */
    wf_kernel *kernel;
    math_fn *fn;
} math_row;

static const float A = 1.5f, B = 0.3f; /* run-time values for everyone */

static wf_kernel *math_kernel(wf_context *ctx)
{
    wf_graph *g = wf_begin(ctx, .name = "math");
    wf_val x = wf_in(g, wf_formal(g, "x", WF_F32, 1));
    wf_val a = wf_param(g, "a", WF_F32, 1), b = wf_param(g, "b", WF_F32, 0);
    wf_val wave = wf_cos(wf_add(wf_div(x, a), b)), bell = wf_exp(wf_neg(wf_mul(x, x)));
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_add(wave, wf_mul(bell, wf_sqrt(x))));
    return wf_compile(g);
}

static void weft(void *data)
{
    math_row *r = data;
    wf_array *x = r->s.array[0], *out = r->s.array[1];
    float a = A, b = B;
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NAMED(x, out, a, b)), r->s.b->ctx, "wf_launch");
}

static void part(void *arg, int part, int parts)
{
    const math_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, 64, part, parts, &lo, &hi);
    r->fn(r->s.at[1], r->s.at[0], A, B, lo, hi);
}
static void parallel(math_row *r, math_fn *fn)
{
    r->fn = fn;
    bench_pool_run(r->s.b->pool, part, r);
}
static void plain(void *data) { parallel(data, plain_math); }
static void fast(void *data) { parallel(data, fast_math); }
static void best(void *data) { parallel(data, best_math); }
static void best_ieee(void *data) { parallel(data, best_math_ieee); }

static void clear(void *data)
{
    math_row *r = data;
    bench_stream_spoil(&r->s, 1);
}

static bool check(void *data, char *why, size_t cap)
{
    const math_row *r = data;
    int64_t n = r->s.n;
    for (int64_t i = 0; i < n; i += i < 4096 || i >= n - 4096 ? 1 : 5) {
        double x = (double)r->s.at[0][i], want = cos(x / (double)A + (double)B) + exp(-x * x) * sqrt(x);
        double got = (double)r->s.at[1][i];
        if (fabs(got - want) <= 2e-6)
            continue;
        snprintf(why, cap, "for x = %.9g it gives %.9g, not %.9g", x, got, want);
        return false;
    }
    return true;
}

static void done(void *data)
{
    math_row *r = data;
    wf_kernel_free(r->kernel);
    bench_stream_free(&r->s);
    free(r);
}

static bool setup(bench *b, bench_case *c)
{
    math_row *r = bench_stream_case(c, sizeof *r, b, 1 << 24, 2, 0, 8);
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    r->kernel = math_kernel(b->ctx);
    if (!r->kernel)
        return bench_ok(b, wf_check(b->ctx), b->ctx, "wf_compile");
    bench_add(c, "weft", "", weft);
    bench_add(c, "plain", "", plain);
    bench_add(c, "plain fast-math", "", fast);
    if (bench_best_available()) {
        bench_add(c, "best", "fast math", best);
        bench_add(c, "best", "IEEE division and root", best_ieee);
    }
    return true;
}

const bench_row bench_math_16m = {
    "math_16m", "cos(x/a + b) + exp(-x^2) sqrt(x), n = 2^24", "ms", 1e3, "<= 0.9 x the best other system", setup
};
