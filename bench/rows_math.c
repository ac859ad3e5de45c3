/* rows_math.c - a chain of transcendental functions, limited by arithmetic, not by memory. */
#include "bench.h"
#include "kernels.h"
#include <math.h>

typedef struct math_row {
    bench_stream s; /* x, out */
    wf_kernel *kernel;
} math_row;

static const float A = 1.5f, B = 0.3f; /* run-time values for all contenders */

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

typedef void math_fn(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);
static math_fn *const plain = plain_math, *const fast = fast_math, *const best = best_math,
                      *const ieee = best_math_ieee;

static void part(void *data, const void *how, int part, int parts)
{
    const math_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (*(math_fn *const *)how)(r->s.at[1], r->s.at[0], A, B, at.lo, at.hi);
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

static const bench_kind kind = { sizeof(math_row), bench_spoil_results, check, NULL };

static void setup(bench *b, bench_case *c)
{
    math_row *r = bench_stream_data(b, c, &kind, 1 << 24, 1, 1, 0, 8);
    if (!r)
        return;
    r->kernel = c->kernel = math_kernel(b->ctx);
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", "", part, &plain);
    bench_add_parts(c, "plain fast-math", "", part, &fast);
    if (bench_best_available()) {
        bench_add_parts(c, "best", "fast math", part, &best);
        bench_add_parts(c, "best", "IEEE division and root", part, &ieee);
    }
}

const bench_row bench_math_16m = {
    "math_16m", "cos(x/a + b) + exp(-x^2) sqrt(x), n = 2^24", "ms", 1e3, "<= 0.9 x the best other system", setup, NULL
};
