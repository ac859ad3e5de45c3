/* test_memory_fails_derivatives.c - derivatives with the first, second, ... allocation failing, as in
 * test_memory_fails.c: values of array graphs and of points, control flow, complex numbers, operators, tapes.
 *
 * ctest: failures
 */
#include "memory_fails.h"
#include "weft/fft.h"
#include "weft/functions.h"
#include "weft/linalg.h"
#include "weft/optimize.h"
#include "weft/xform.h"

enum { N = 4 };

static wf_val total(wf_val v) { return wf_reduce(WF_JOIN_ADD, v, WF_ALL_AXES); }

/* Products, scans, extremes, views, gathers and stores: the derivative of the sum is that of each term. */
static wf_status values(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(N), 0), *out[3] = { NULL };
    wf_status status = a && b ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), gradient, along, back;
        wf_write(g, b, wf_mul(x, 2), wf_sub(3, wf_iota(g, WF_SHAPE(N), 0)));
        wf_val product = wf_reduce(WF_JOIN_MUL, x, WF_ALL_AXES), most = wf_reduce(WF_JOIN_MAX, x, WF_ALL_AXES);
        wf_val running = wf_slice(wf_scan(WF_JOIN_MUL, x, 0, false, false), 0, 1, 2, 1);
        wf_val some = wf_gather(x, wf_const(g, WF_I64, 2)), kept = wf_slice(wf_in(g, b), 0, 0, 1, 1);
        wf_val loss = wf_add(wf_add(product, most), wf_add(total(running), wf_add(some, total(kept))));
        wf_grad(loss, WF_VALS(x), &gradient);
        wf_jvp(WF_VALS(loss), WF_VALS(x), WF_VALS(1), &along);
        wf_vjp(WF_VALS(wf_select(wf_gt(x, 2), wf_mul(x, x), x)), WF_VALS(1), WF_VALS(x), &back);
        out[0] = wf_keep(gradient);
        out[1] = wf_keep(along);
        out[2] = wf_keep(back);
        status = g ? wf_run(g) : missing(ctx);
        if (status == WF_OK && (!out[0] || !out[1] || !out[2]))
            status = missing(ctx);
    }
    assert_true(holds(out[0], (const float[]){ 26, 13, 9, 9 }, N, &status));
    assert_true(holds(out[1], (const float[]){ 57 }, 1, &status));
    assert_true(holds(out[2], (const float[]){ 1, 1, 6, 8 }, N, &status));
    RELEASE(a, b, out[0], out[1], out[2]);
    return status;
}

/* Second derivatives of x^3 in a loop, in an array graph and at the points of a space. The points of the last two loops
 * decide how often they turn; the last one is differentiated in reverse mode twice. */
static wf_status loops(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *out = wf_like(a), *other = wf_like(a);
    wf_status status = a && out && other ? WF_OK : missing(ctx);
    for (int kind = 0; kind < 4 && status == WF_OK; ++kind) {
        const bool space = kind == 1, own = kind >= 2;
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
        wf_val x = wf_in(g, a), first, second, i;
        wf_var y = wf_local(g, WF_F32, 1), turn = wf_local(g, WF_F32, 0);
        if (own) {
            WF_WHILE (g, wf_lt(turn, wf_add(wf_mul(x, 0), 3))) {
                wf_set(y, wf_mul(y, x));
                wf_inc(turn, 1);
            }
            WF_END(g);
        } else {
            WF_FOR (g, i, 0, 3, 1)
                wf_set(y, wf_mul(y, x));
            WF_END(g);
        }
        wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(x), &first);
        if (kind < 3)
            wf_jvp(WF_VALS(first), WF_VALS(x), WF_VALS(1), &second);
        else
            wf_vjp(WF_VALS(first), WF_VALS(1), WF_VALS(x), &second);
        wf_out(g, space ? out : other, second);
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 6, 12, 18, 24 }, N, &status));
    assert_true(holds(other, (const float[]){ 6, 12, 18, 24 }, N, &status));
    RELEASE(a, out, other);
    return status;
}

static void record_effects(wf_graph *g, wf_array *a, wf_array *last, wf_array *sums, wf_val point)
{
    wf_val x = wf_in(g, a);
    wf_var y = wf_local(g, WF_F32, x), turn = wf_local(g, WF_F32, 0);
    WF_WHILE (g, wf_lt(turn, wf_add(wf_mul(x, 0), 3))) {
        wf_inc(y, x);
        wf_out(g, last, wf_mul(y, y));
        wf_accumulate(g, WF_JOIN_ADD, sums, y, wf_sub(3, point));
        wf_inc(turn, 1);
    }
    WF_END(g);
}

/* A loop stores 16 x^2 at last, and adds 2 x, 3 x and 4 x: in an array graph, and as an operator. */
static wf_status loop_effects(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *last = wf_like(a),
             *sums = wf_full(ctx, WF_F32, WF_SHAPE(N), 0);
    wf_array *out = wf_like(a), *other = wf_like(a), *along = wf_like(a), *ones = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_status status = a && last && sums && out && other && along && ones ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), gradient, tangent;
        record_effects(g, a, last, sums, wf_iota(g, WF_SHAPE(N), 0));
        wf_vjp(WF_VALS(wf_in(g, last), wf_in(g, sums)), WF_VALS(1, 1), WF_VALS(x), &gradient);
        wf_jvp(WF_VALS(wf_in(g, last)), WF_VALS(x), WF_VALS(1), &tangent);
        wf_out(g, out, gradient);
        wf_out(g, along, tangent);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        record_effects(g, a, last, sums, wf_index(g, 0));
        status = g ? wf_adjoint(g, WF_ARRAYS(last, sums), WF_ARRAYS(ones, ones), WF_ARRAYS(a), WF_ARRAYS(other))
                   : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 41, 73, 105, 137 }, N, &status));
    assert_true(holds(along, (const float[]){ 32, 64, 96, 128 }, N, &status));
    assert_true(holds(other, (const float[]){ 41, 73, 105, 137 }, N, &status));
    RELEASE(a, last, sums, out, other, along, ones);
    return status;
}

/* Conditions and loops of an array graph accumulate by maximum and product; twice in reverse mode. */
static wf_status block_joins(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *most = wf_full(ctx, WF_F32, WF_SHAPE(2), 0),
             *product = wf_full(ctx, WF_F32, WF_SHAPE(2), 1), *out = wf_like(a), *other = wf_like(a);
    wf_status status = a && most && product && out && other ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), point = wf_mod(wf_iota(g, WF_SHAPE(N), 0), 2), first, second;
        wf_var y = wf_local(g, WF_F32, x), turn = wf_local(g, WF_F32, 0);
        (void)wf_in(g, most);
        (void)wf_in(g, product);
        WF_IF (g, wf_gt(x, 1))
            wf_accumulate(g, WF_JOIN_MUL, product, x, point);
        WF_END(g);
        WF_WHILE (g, wf_lt(turn, wf_add(wf_mul(x, 0), 2))) {
            wf_set(y, wf_mul(y, x));
            wf_accumulate(g, WF_JOIN_MAX, most, y, point);
            wf_inc(turn, 1);
        }
        WF_END(g);
        wf_grad(wf_add(total(wf_in(g, most)), total(wf_in(g, product))), WF_VALS(x), &first);
        wf_vjp(WF_VALS(first), WF_VALS(1), WF_VALS(x), &second);
        wf_out(g, out, first);
        wf_out(g, other, second);
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 0, 4, 28, 50 }, N, &status));
    assert_true(holds(other, (const float[]){ 0, 1, 18, 25 }, N, &status));
    RELEASE(a, most, product, out, other);
    return status;
}

/* A loop of three turns multiplies what it has stored by x: in columns 1 to 3 of a table of ones, and in place. */
static void record_carries(wf_graph *g, wf_array *a, wf_array *last, wf_array *table, wf_val point)
{
    wf_val x = wf_in(g, a);
    wf_var t = wf_local(g, WF_I32, 1);
    WF_WHILE (g, wf_lt(wf_cast(t, WF_F32), wf_add(wf_mul(x, 0), 4))) {
        wf_write(g, table, wf_mul(wf_read(g, table, point, wf_sub(t, 1)), x), point, t);
        wf_out(g, last, wf_mul(wf_in(g, last), x));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static wf_status loop_carries(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *out = wf_like(a), *other = wf_like(a);
    wf_array *last = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *table = wf_full(ctx, WF_F32, WF_SHAPE(N, 4), 1);
    wf_array *again[] = { wf_copy(last), wf_copy(table), wf_copy(last), wf_copy(table) };
    wf_status status = a && out && other && last && table ? WF_OK : missing(ctx);
    for (int k = 0; k < 4 && status == WF_OK; ++k)
        status = again[k] ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), gradient;
        (void)wf_in(g, last);
        (void)wf_in(g, table);
        record_carries(g, a, last, table, wf_iota(g, WF_SHAPE(N), 0));
        wf_vjp(WF_VALS(wf_in(g, last), wf_in(g, table)), WF_VALS(1, 1), WF_VALS(x), &gradient);
        wf_out(g, out, gradient);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        record_carries(g, a, again[0], again[1], wf_index(g, 0));
        status = g ? wf_adjoint(g, WF_ARRAYS(again[0], again[1]), WF_ARRAYS(again[2], again[3]), WF_ARRAYS(a),
                                WF_ARRAYS(other))
                   : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 9, 29, 61, 105 }, N, &status));
    assert_true(holds(other, (const float[]){ 9, 29, 61, 105 }, N, &status));
    RELEASE(a, out, other, last, table, again[0], again[1], again[2], again[3]);
    return status;
}

/* |z|^2 and a function whose derivative is noted: the gradient of Re(1 / z) is -conj(1 / z^2). */
static wf_status complexes(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 2, 1, 1), *out = NULL;
    wf_status status = a ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), z = wf_complex(x, 0), gradient, size = wf_abs(z);
        wf_val loss = wf_add(wf_mul(size, size), wf_real(wf_rcp(wf_exp(wf_mul(z, 0)))));
        wf_grad(total(wf_add(loss, wf_real(wf_div(4, z)))), WF_VALS(x), &gradient);
        out = wf_keep(gradient);
        status = g ? wf_run(g) : missing(ctx);
        if (status == WF_OK && !out)
            status = missing(ctx);
    }
    assert_true(holds(out, (const float[]){ -2, 3 }, 2, &status));
    RELEASE(a, out);
    return status;
}

static wf_graph *stencil(wf_context *ctx, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0), left = wf_read_or(g, a, 0, wf_sub(i, 1));
    wf_out(g, out, wf_add(wf_mul(left, left), wf_read(g, a, wf_const(g, WF_I64, 0))));
    return g;
}

static wf_status operators(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *out = wf_like(a), *grad = wf_like(a), *along = wf_like(a);
    wf_array *ones = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_status status = a && out && grad && along && ones ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = stencil(ctx, a, out);
        status = g ? wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(ones), WF_ARRAYS(a), WF_ARRAYS(grad)) : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = stencil(ctx, a, out);
        status = g ? wf_tangent(g, WF_ARRAYS(a), WF_ARRAYS(ones), WF_ARRAYS(out), WF_ARRAYS(along)) : missing(ctx);
    }
    assert_true(holds(grad, (const float[]){ 6, 4, 6, 0 }, N, &status));
    assert_true(holds(along, (const float[]){ 1, 3, 5, 7 }, N, &status));
    RELEASE(a, out, grad, along, ones);
    return status;
}

/* The sum of x^2 by a join of its own, in two levels, the largest x, and the product of 1 + 0 x. */
static wf_graph *reduction(wf_context *ctx, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(a), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM), most = wf_reduced(g, WF_F32, -INFINITY, WF_JOIN_MAX);
    wf_var product = wf_reduced(g, WF_F32, 1, WF_JOIN_MUL);
    wf_val x = wf_in(g, a);
    wf_inc(sum, wf_mul(x, x));
    wf_set(most, wf_max(most, x));
    wf_set(product, wf_mul(product, wf_add(1, wf_mul(x, 0))));
    wf_section(g, WF_SECTION_JOIN);
    wf_inc(sum, wf_other(sum));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, wf_add(sum, wf_add(most, product)));
    return g;
}

static wf_status reductions(wf_context *ctx)
{
    enum { MANY = 9 };
    wf_array *a = wf_array_arange(ctx, WF_F32, MANY, 1, 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(1), 1);
    wf_array *one = wf_full(ctx, WF_F32, WF_SHAPE(1), 1), *grad = wf_like(a), *through = wf_like(a);
    wf_status status = a && out && one && grad && through ? WF_OK : missing(ctx);
    static const float want[MANY] = { 2, 4, 6, 8, 10, 12, 14, 16, 19 };
    if (status == WF_OK) {
        wf_graph *g = reduction(ctx, a, out);
        status = g ? wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(one), WF_ARRAYS(a), WF_ARRAYS(grad)) : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = reduction(ctx, a, out);
        status = g ? wf_tangent(g, WF_ARRAYS(a), WF_ARRAYS(a), WF_ARRAYS(out), WF_ARRAYS(one)) : missing(ctx);
    }
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = reduction(ctx, a, out);
        status = g ? wf_run(g) : missing(ctx);
    }
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, out, WF_ARRAYS(a), WF_ARRAYS(through));
    assert_true(holds(grad, want, MANY, &status));
    assert_true(holds(one, (const float[]){ 579 }, 1, &status));
    assert_true(holds(through, want, MANY, &status));
    wf_tape_free(tape);
    RELEASE(a, out, one, grad, through);
    return status;
}

/* The largest of c and all x^2. */
static wf_graph *update(wf_context *ctx, wf_array *a, wf_array *c, wf_array *all)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(a));
    wf_val x = wf_in(g, a);
    wf_accumulate_if(g, wf_lt(x, 4), WF_JOIN_MAX, c, wf_mul(x, x), wf_const(g, WF_I64, 0));
    wf_accumulate(g, WF_JOIN_MUL, all, x, wf_const(g, WF_I64, 0));
    return g;
}

static wf_status updates(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *c = wf_full(ctx, WF_F32, WF_SHAPE(1), 9);
    wf_array *one = wf_full(ctx, WF_F32, WF_SHAPE(1), 1), *grad = wf_like(a), *by_c = wf_like(c), *along = wf_like(c);
    wf_array *all = wf_full(ctx, WF_F32, WF_SHAPE(1), 1), *product = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && c && one && grad && by_c && along && all && product ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = update(ctx, a, c, all);
        status = g ? wf_adjoint(g, WF_ARRAYS(c, all), WF_ARRAYS(one, one), WF_ARRAYS(a, c), WF_ARRAYS(grad, by_c))
                   : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = update(ctx, a, c, all);
        status = g ? wf_tangent(g, WF_ARRAYS(a, c), WF_ARRAYS(a, one), WF_ARRAYS(c, all), WF_ARRAYS(along, product))
                   : missing(ctx);
    }
    assert_true(holds(grad, (const float[]){ 24, 12, 11, 6 }, N, &status));
    assert_true(holds(product, (const float[]){ 96 }, 1, &status));
    assert_true(holds(by_c, (const float[]){ 0.5f }, 1, &status));
    assert_true(holds(along, (const float[]){ 9.5f }, 1, &status));
    RELEASE(a, c, one, grad, by_c, along, all, product);
    return status;
}

/* The derivative of x^3 by a rule with two outputs, and that of a value with another one's. */
static void cube(const wf_rule_site *s)
{
    s->result[0] = wf_mul(s->in[0], wf_mul(s->in[0], s->in[0]));
    s->result[1] = wf_neg(s->result[0]);
}
static void cube_back(const wf_rule_site *s)
{
    wf_val slope = wf_mul(3, wf_mul(s->in[0], s->in[0]));
    s->result[0] = wf_mul(slope, wf_sub(s->seed[0], s->seed[1]));
}

static wf_status rules(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *out = wf_like(a), *grad = wf_like(a),
             *ones = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_status status = a && out && grad && ones ? WF_OK : missing(ctx);
    const wf_rule *rule = WF_CUSTOM_RULE(.name = "cube", .call = cube, .vjp = cube_back, .outs = 2);
    for (int space = 0; space < 2 && status == WF_OK; ++space) {
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
        wf_val x = wf_in(g, a), y[2], d;
        wf_custom(rule, WF_VALS(x), y);
        wf_vjp(WF_VALS(y[0], wf_replace_gradient(y[0], wf_mul(x, 2))), WF_VALS(1, 1), WF_VALS(x), &d);
        wf_out(g, out, d);
        status = g ? wf_run(g) : missing(ctx);
        assert_true(holds(out, (const float[]){ 5, 14, 29, 50 }, N, &status));
    }
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val y[2];
        wf_custom(rule, WF_VALS(wf_in(g, a)), y);
        wf_out(g, out, y[1]);
        status = g ? wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(ones), WF_ARRAYS(a), WF_ARRAYS(grad)) : missing(ctx);
    }
    assert_true(holds(grad, (const float[]){ -3, -12, -27, -48 }, N, &status));
    RELEASE(a, out, grad, ones);
    return status;
}

/* The derivative of x = p + x / 2, which is 2 p. */
static void half(const wf_rule_site *s) { s->result[0] = wf_add(s->in[1], wf_mul(s->in[0], 0.5)); }

static wf_status fixed_points(wf_context *ctx)
{
    static const wf_iteration how = { .size = sizeof how, .step = half, .tolerance = 1e-6 };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *out = wf_like(a);
    wf_status status = a && out ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val p = wf_in(g, a), x, d;
        wf_fixed_point(g, &how, WF_VALS(p), WF_VALS(p), &x);
        wf_vjp(WF_VALS(wf_mul(x, x)), WF_VALS(1), WF_VALS(p), &d);
        wf_out(g, out, wf_round(wf_mul(d, 16)));
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 128, 256, 384, 512 }, N, &status));
    RELEASE(a, out);
    return status;
}

static wf_val cubes(wf_graph *g, const wf_val *params, void *user)
{
    (void)g;
    (void)user;
    return total(wf_mul(params[0], wf_mul(params[0], params[0])));
}

static wf_status checks(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1);
    wf_gradient_finding worst = { .size = sizeof worst };
    wf_status status =
        a ? wf_check_gradient(ctx, WF_ARRAYS(a), cubes, NULL, &worst, .directions = 1, .elements = 1) : missing(ctx);
    assert_false(worst.differs);
    wf_release(a);
    return status;
}

static wf_status square(wf_context *ctx, wf_array *from, wf_array *to)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, from);
    wf_out(g, to, wf_array_count(to) > 1 ? wf_mul(x, x) : total(x));
    return g ? wf_run(g) : missing(ctx);
}

/* The loss is the sum of x^4. */
static wf_status tapes(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *b = wf_like(a), *c = wf_like(a), *grad = wf_like(a);
    wf_array *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && b && c && grad && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    wf_array *steps[] = { a, b, c, loss };
    for (int k = 0; k < 3 && status == WF_OK; ++k)
        status = square(ctx, steps[k], steps[k + 1]);
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad));
    assert_true(holds(grad, (const float[]){ 4, 32, 108, 256 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, b, c, grad, loss);
    return status;
}

/* The adjoint of an operator that stores x^3 in a loop, and the derivative of the sum of what it gives, 6 x. */
static wf_status adjoints_on_tapes(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *b = wf_like(a), *ones = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_array *first = wf_like(a), *grad = wf_like(a), *by_ones = wf_like(a),
             *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && b && ones && first && grad && by_ones && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a, ones)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val x = wf_in(g, a);
        wf_var y = wf_local(g, WF_F32, 1), turn = wf_local(g, WF_F32, 0);
        WF_WHILE (g, wf_lt(turn, wf_add(wf_mul(x, 0), 3))) {
            wf_set(y, wf_mul(y, x));
            wf_out(g, b, y);
            wf_inc(turn, 1);
        }
        WF_END(g);
        status = g ? wf_adjoint(g, WF_ARRAYS(b), WF_ARRAYS(ones), WF_ARRAYS(a), WF_ARRAYS(first)) : missing(ctx);
    }
    if (status == WF_OK)
        status = square(ctx, first, loss);
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a, ones), WF_ARRAYS(grad, by_ones));
    assert_true(holds(grad, (const float[]){ 6, 12, 18, 24 }, N, &status));
    assert_true(holds(by_ones, (const float[]){ 3, 12, 27, 48 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, b, ones, first, grad, by_ones, loss);
    return status;
}

/* y = x^2 by a launch that is hidden from the tape, whose derivative is a launch, too. */
static wf_status hidden(void *user, wf_arrays in, wf_arrays out) { return square(user, in.at[0], out.at[0]); }
static wf_status hidden_back(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    (void)out;
    wf_graph *g = wf_begin(user);
    wf_out(g, grads.at[0], wf_mul(wf_mul(wf_in(g, in.at[0]), 2), wf_in(g, upstream.at[0])));
    return g ? wf_run(g) : missing(user);
}

static wf_status tape_rules(wf_context *ctx)
{
    const wf_array_rule rule = { sizeof rule, "square", hidden, hidden_back, ctx };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *b = wf_like(a), *grad = wf_like(a);
    wf_array *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && b && grad && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK)
        status = wf_custom_arrays(ctx, &rule, WF_ARRAYS(a), WF_ARRAYS(b));
    if (status == WF_OK)
        status = wf_custom_arrays(ctx, &rule, WF_ARRAYS(b), WF_ARRAYS(b));
    if (status == WF_OK)
        status = square(ctx, b, loss);
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad));
    assert_true(holds(grad, (const float[]){ 4, 32, 108, 256 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, b, grad, loss);
    return status;
}

/* The loss is the square of the median of x in descending order. */
static wf_status ordered(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *grad = wf_like(a), *sorted = NULL, *middle = NULL;
    wf_array *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && grad && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK && !(sorted = wf_array_sort(a, 0, true)))
        status = missing(ctx);
    if (status == WF_OK && !(middle = wf_array_median(sorted, WF_ALL_AXES)))
        status = missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, middle);
        wf_out(g, loss, wf_mul(x, x));
        status = g ? wf_run(g) : missing(ctx);
    }
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad));
    assert_true(holds(grad, (const float[]){ 0, 2.5f, 2.5f, 0 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, grad, sorted, middle, loss);
    return status;
}

/* Coefficients of a B-spline, and the sum of the real parts of their chirp z-transform at i and -1. */
static wf_status lines(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *grad = wf_like(a), *spline = NULL, *chirp = NULL;
    wf_array *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_status status = a && grad && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK && !(spline = wf_spline_filter(a, WF_ALL_AXES, WF_BORDER_REFLECT, 0)))
        status = missing(ctx);
    if (status == WF_OK && !(chirp = wf_czt(spline, 0, &(wf_czt_points){ 2, .first = 0.25, .step = 0.25 })))
        status = missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_out(g, loss, total(wf_real(wf_in(g, chirp))));
        status = g ? wf_run(g) : missing(ctx);
    }
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad));
    if (status == WF_OK) { /* whole numbers, where roundings count for nothing */
        wf_graph *g = wf_begin(ctx);
        wf_out(g, grad, wf_round(wf_in(g, grad)));
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(grad, (const float[]){ 4, -4, 2, -2 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, grad, spline, chirp, loss);
    return status;
}

/* The sum of the elements of an inverse. */
static wf_status matrices(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *square_of_a = a ? wf_view_reshape(a, WF_SHAPE(2, 2)) : NULL;
    wf_array *grad = wf_like(a), *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0), *inverse = NULL;
    wf_status status = a && square_of_a && grad && loss ? WF_OK : missing(ctx);
    wf_tape *tape = status == WF_OK ? wf_tape_begin(ctx, WF_ARRAYS(a)) : NULL;
    if (status == WF_OK && !tape)
        status = missing(ctx);
    if (status == WF_OK && !(inverse = wf_solve(square_of_a, NULL)))
        status = missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_out(g, loss, wf_reshape(total(wf_in(g, inverse)), WF_SHAPE(1)));
        status = g ? wf_run(g) : missing(ctx);
    }
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad));
    if (status == WF_OK) { /* whole numbers, where roundings count for nothing */
        wf_graph *g = wf_begin(ctx);
        wf_out(g, grad, wf_round(wf_mul(2, wf_in(g, grad))));
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(grad, (const float[]){ -1, 1, 1, -1 }, N, &status));
    wf_tape_free(tape);
    RELEASE(a, square_of_a, grad, loss, inverse);
    return status;
}

int main(void)
{
#define EACH(name)                \
    {                             \
#name, name, WF_INTERP, 1 \
    }
    static const memory_case cases[] = { EACH(values),       EACH(loops),       EACH(complexes),
                                         EACH(operators),    EACH(reductions),  EACH(rules),
                                         EACH(fixed_points), EACH(checks),      EACH(tapes),
                                         EACH(tape_rules),   EACH(updates),     EACH(ordered),
                                         EACH(loop_effects), EACH(block_joins), EACH(loop_carries),
                                         EACH(lines),        EACH(matrices),    EACH(adjoints_on_tapes) };
    return run_memory_cases(cases, WF__COUNT(cases), NULL);
}
