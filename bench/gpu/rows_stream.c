/* rows_stream.c - one pass over memory: copies, arithmetic on elements, a transposition; a loop at each element. */
#include "gpu.h"
#include "../program.h"
#include <math.h>

static void copy(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *a = gpu_numbers(c, n), *out = gpu_empty(c, WF_F32, WF_SHAPE(n));
    hand_args by_hand = { .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = n };
    c->result = out;
    c->expected = gpu_same;
    c->bytes = 8 * (double)n;
    gpu_launches(c, "", gpu_copying(c), WF_NAMED(a, out));
    gpu_by_hand(c, "copy", by_hand);
    gpu_by_driver(c, by_hand);
}

static double shifted(const gpu_case *c, int64_t i)
{
    (void)c;
    return gpu_number(i + 1);
}

/* A copy from 4 bytes past an aligned address to an aligned address, or (`of` 1) to 4 bytes past one. */
static void copy_odd(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *whole = gpu_numbers(c, n), *room = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_array *a = gpu_keep(c, wf_view_slice(whole, 0, 1, n, 1));
    wf_array *out = gpu_keep(c, wf_view_slice(room, 0, c->row->of, n - 1 + c->row->of, 1));
    hand_args by_hand = { .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = n - 1 };
    c->result = out;
    c->expected = shifted;
    c->bytes = 8 * (double)n;
    gpu_launches(c, "", gpu_copying(c), WF_NAMED(a, out));
    gpu_by_hand(c, "copy_odd", by_hand);
    gpu_by_driver(c, by_hand);
}

static double triple(const gpu_case *c, int64_t i) { return 2 * gpu_same(c, i) + 3; }

static void triad(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *a = gpu_numbers(c, n), *b = gpu_keep(c, wf_full(c->b->ctx, WF_F32, WF_SHAPE(n), 3)),
             *out = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_graph *g = GPU_RECORD(c, .name = "triad");
    wf_val x = wf_in(g, wf_formal(g, "a", WF_F32, 1)), y = wf_in(g, wf_formal(g, "b", WF_F32, 1));
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_add(wf_mul(x, 2), y));
    gpu_launches(c, "", wf_compile(g), WF_NAMED(a, b, out));
    gpu_by_hand(c, "triad", (hand_args){ .in = { gpu_at(c, a), gpu_at(c, b) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->expected = triple;
    c->bytes = 12 * (double)n;
}

static double wave(const gpu_case *c, int64_t i)
{
    double x = gpu_same(c, i) / 32;
    return cos(x / 1.5 + 0.3) + exp(-x * x) * sqrt(x);
}

static void math(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *x = gpu_numbers(c, n), *out = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_graph *scale = GPU_RECORD(c, .name = "arguments");
    wf_out(scale, x, wf_mul(wf_in(scale, x), 1.0 / 32));
    gpu_ok(c, wf_run(scale));
    wf_graph *g = GPU_RECORD(c, .name = "math");
    wf_val v = wf_in(g, wf_formal(g, "x", WF_F32, 1));
    wf_val a = wf_param(g, "a", WF_F32, 1), b = wf_param(g, "b", WF_F32, 0);
    wf_val left = wf_cos(wf_add(wf_div(v, a), b)), right = wf_exp(wf_neg(wf_mul(v, v)));
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_add(left, wf_mul(right, wf_sqrt(v))));
    gpu_launches(c, "", wf_compile(g),
                 WF_ARGS(WF_ARG("x", x), WF_ARG("out", out), WF_ARG("a", 1.5), WF_ARG("b", (double)0.3f)));
    gpu_by_hand(c, "math", (hand_args){ .in = { gpu_at(c, x) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->expected = wave;
    c->tolerance = 2e-6;
    c->bytes = 8 * (double)n;
}

static double turned(const gpu_case *c, int64_t i)
{
    int64_t side = c->b->side;
    return gpu_number(i % side * side + i / side);
}

static void transpose(gpu_case *c)
{
    int64_t side = c->b->side;
    wf_array *flat = gpu_numbers(c, c->b->n), *out = gpu_empty(c, WF_F32, WF_SHAPE(side, side));
    wf_array *a = gpu_keep(c, wf_view_reshape(flat, WF_SHAPE(side, side)));
    wf_graph *g = GPU_RECORD(c, .name = "transpose");
    wf_array *in = wf_formal(g, "a", WF_F32, 2), *to = wf_formal(g, "out", WF_F32, 2);
    wf_out(g, to, wf_permute(wf_in(g, in), ((const int[]){ 1, 0 })));
    gpu_launches(c, "", wf_compile(g), WF_NAMED(a, out));
    gpu_by_hand(c, "transpose", (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .side = side });
    c->result = out;
    c->expected = turned;
    c->bytes = 8 * (double)c->b->n;
}

enum { LIMIT = 256 };

static double escape(const gpu_case *c, int64_t i)
{
    const float scale = MANDELBROT_SIZE / (float)c->m;
    float cx = fmaf((float)(i % c->m), scale, MANDELBROT_X), cy = fmaf((float)(i / c->m), scale, MANDELBROT_Y);
    float x = 0, y = 0;
    int n = 0;
    for (; n < LIMIT && x * x + y * y <= 4; ++n) {
        float t = x * x - y * y + cx;
        y = fmaf(x * 2, y, cy);
        x = t;
    }
    return n;
}

static void mandelbrot(gpu_case *c)
{
    int64_t side = c->m = c->b->side < 4096 ? c->b->side : 4096;
    wf_array *count = gpu_empty(c, WF_I32, WF_SHAPE(side, side));
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(side, side), .name = "mandelbrot");
    wf_out(g, wf_formal(g, "count", WF_I32, 2), bench_escape(g, side, LIMIT));
    gpu_launches(c, "", wf_compile(g), WF_NAMED(count));
    gpu_by_hand(c, "mandelbrot", (hand_args){ .out = { gpu_at(c, count) }, .side = side, .m = LIMIT });
    c->result = count;
    c->expected = escape;
    c->looked_at = 1 << 18;
    c->allowed = 0.02; /* contracted a*b + c changes the count of a few points at the border of the set */
}

const gpu_row gpu_stream_rows[] = {
    { "copy", "y = x", GPU_OF_COPY, 0.92, copy, 0 },
    { "copy_odd", "y = x, x 4 bytes past an aligned address", GPU_OF_COPY, 0.85, copy_odd, 0 },
    { "copy_odd_both", "y = x, both 4 bytes past aligned addresses", GPU_OF_COPY, 0.85, copy_odd, 1 },
    { "triad", "y = 2 a + b", GPU_OF_COPY, 0.92, triad, 0 },
    { "math", "cos(x/a + b) + exp(-x^2) sqrt(x)", GPU_OF_COPY, 0.92, math, 0 },
    { "transpose", "of a square", GPU_OF_COPY, 0.85, transpose, 0 },
    { "mandelbrot", "4096 x 4096, up to 256 turns", GPU_OF_HAND, 1, mandelbrot, 0 },
    { 0 },
};
