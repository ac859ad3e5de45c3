/* test_adjoint_reductions.c - adjoints of operators that reduce, beside closed forms and forward mode.
 *
 * ctest: devices
 */
#include "close_numbers.h"

enum { H = 4, W = 6 };

/* y = the join of all x, over an index space (axes given) or of elements. */
static wf_graph *joined(wf_array *x, wf_array *y, wf_join join, double initial, wf_axes axes, bool indexed)
{
    const wf_dtype t = wf_array_dtype(x);
    wf_graph *g = indexed ? wf_begin(ctx, .shape = wf_array_shape(x), .reduce = axes) : wf_begin(ctx, .reduce = axes);
    wf_var all = wf_reduced(g, t, initial, join);
    wf_val v = wf_in(g, x);
    wf_set(all, join == WF_JOIN_ADD   ? wf_add(all, v)
                : join == WF_JOIN_MUL ? wf_mul(all, v)
                : join == WF_JOIN_MIN ? wf_min(all, v)
                                      : wf_max(all, v));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, y, all);
    return g;
}

static const wf_dtype dtypes[] = { WF_F32, WF_F64 };

/* Gradients of single values, over all axes and with a seed of 3. */
static void all_axes(void **state)
{
    (void)state;
    static const struct {
        wf_join join;
        double initial, x[6], want[6];
    } c[] = {
        { WF_JOIN_ADD, 5, { 1, 2, 3, 4, 5, 6 }, { 3, 3, 3, 3, 3, 3 } },
        { WF_JOIN_MAX, -INFINITY, { 1, 2, 8, 5, 8, 3 }, { 0, 0, 1.5, 0, 1.5, 0 } },
        { WF_JOIN_MIN, INFINITY, { 1, 2, 1, 5, 8, 1 }, { 1, 0, 1, 0, 0, 1 } },
        { WF_JOIN_MAX, 8, { 1, 2, 8, 5, 8, 3 }, { 0, 0, 1, 0, 1, 0 } }, /* the initial value is one of three */
        { WF_JOIN_MAX, 9, { 1, 2, 8, 5, 8, 3 }, { 0, 0, 0, 0, 0, 0 } },
        { WF_JOIN_MUL, 1, { 2, 0, 4, 1, 1, 1 }, { 0, 24, 0, 0, 0, 0 } },
        { WF_JOIN_MUL, 1, { 2, 0, 4, 0, 1, 1 }, { 0, 0, 0, 0, 0, 0 } },
        { WF_JOIN_MUL, 2, { 2, 1, 4, 1, -1, 1 }, { -24, -48, -12, -48, 48, -48 } },
    };
    for (size_t k = 0; k < 4 * sizeof c / sizeof *c; ++k) {
        const wf_dtype t = dtypes[k & 1];
        const size_t i = k / 4;
        wf_array *x = array_as(t, WF_SHAPE(2, 3), c[i].x), *grad = wf_like(x), *y = wf_full(ctx, t, WF_SHAPE(1), 0);
        wf_array *up = wf_full(ctx, t, WF_SHAPE(1), 3), *dy = wf_full(ctx, t, WF_SHAPE(1), 0);
        OK(ctx, wf_adjoint(joined(x, y, c[i].join, c[i].initial, WF_ALL_AXES, k & 2), WF_ARRAYS(y), WF_ARRAYS(up),
                           WF_ARRAYS(x), WF_ARRAYS(grad)));
        expect_close(grad, c[i].want, rounding_of(grad));
        double along = 0; /* x changes by itself */
        for (int j = 0; j < 6; ++j)
            along += c[i].want[j] * c[i].x[j] / 3;
        OK(ctx, wf_tangent(joined(x, y, c[i].join, c[i].initial, WF_ALL_AXES, k & 2), WF_ARRAYS(x), WF_ARRAYS(x),
                           WF_ARRAYS(y), WF_ARRAYS(dy)));
        expect_close(dy, &along, rounding_of(dy));
        wf_array *const used[] = { x, grad, y, up, dy };
        for (size_t j = 0; j < sizeof used / sizeof *used; ++j)
            wf_release(used[j]);
    }
}

/* Mean and variance of each row, or of each column, with a stencil, a condition and an array that WF_SECTION_POST reads:
 * y = scale (m + sqrt(1 + v)), where m is the mean of x^2, and v the sum of those sin(x) that are above 0. */
static wf_graph *moments(wf_array *x, wf_array *scale, wf_array *y, int axis)
{
    const int64_t n = wf_array_shape(x).dim[axis];
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_AXES(axis));
    wf_var m = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD), v = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val e = wf_in(g, x), s = wf_sin(e);
    wf_inc(m, wf_mul(e, e));
    WF_IF (g, wf_gt(s, 0)) {
        wf_inc(v, s);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, y, wf_mul(wf_in(g, scale), wf_add(wf_div(m, (double)n), wf_sqrt(wf_add(v, 1)))));
    return g;
}

static void some_axes(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; ++axis) {
        uint64_t random = 1;
        const int n = axis ? W : H, rest = axis ? H : W;
        double x0[H * W], scale0[W], up0[W], gx0[H * W], gs0[W], dot = 0;
        for (int i = 0; i < H * W; ++i)
            x0[i] = test_random_number(&random);
        for (int i = 0; i < W; ++i) {
            scale0[i] = test_random_number(&random);
            up0[i] = test_random_number(&random);
        }
        for (int r = 0; r < rest; ++r) {
            double m = 0, v = 0;
            for (int i = 0; i < n; ++i) {
                const double e = axis ? x0[r * W + i] : x0[i * W + r], s = sin(e);
                m += e * e / n;
                v += s > 0 ? s : 0;
            }
            gs0[r] = up0[r] * (m + sqrt(1 + v));
            for (int i = 0; i < n; ++i) {
                const int at = axis ? r * W + i : i * W + r;
                const double e = x0[at];
                gx0[at] = up0[r] * scale0[r] * (2 * e / n + (sin(e) > 0 ? cos(e) / (2 * sqrt(1 + v)) : 0));
            }
        }
        for (int kept = 0; kept < 2; ++kept) { /* arrays without the reduced axis, or with extent 1 */
            const wf_shape shape = kept == 0 ? WF_SHAPE(rest) : axis ? WF_SHAPE(H, 1) : WF_SHAPE(1, W);
            wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), x0), *scale = array_of(ctx, WF_F64, shape, scale0);
            wf_array *up = array_of(ctx, WF_F64, shape, up0), *y = wf_like(up), *gx = wf_like(x), *gs = wf_like(up);
            OK(ctx, wf_adjoint(moments(x, scale, y, axis), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(x, scale),
                               WF_ARRAYS(gx, gs)));
            expect_close(gx, gx0, rounding_of(gx));
            expect_close(gs, gs0, rounding_of(gs));
            OK(ctx, wf_tangent(moments(x, scale, y, axis), WF_ARRAYS(x, scale), WF_ARRAYS(gx, gs), WF_ARRAYS(y),
                               WF_ARRAYS(y)));
            double *dy = contents(y);
            dot = 0;
            for (int i = 0; i < rest; ++i)
                dot += dy[i] * up0[i] - gs0[i] * gs0[i];
            for (int i = 0; i < H * W; ++i)
                dot -= gx0[i] * gx0[i];
            free(dy);
            assert_true(fabs(dot) <= 1e-12);
            wf_array *const used[] = { x, scale, up, y, gx, gs };
            for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
                wf_release(used[i]);
        }
    }
}

/* A frozen adjoint is replayed with other contents: the largest element of each row. */
static void frozen(void **state)
{
    (void)state;
    const double x0[6] = { 1, 5, 5, 2, 1, 0 }, x1[6] = { 0, 1, 2, 3, 3, 3 }, up0[2] = { 4, 6 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(2, 3), x0), *other = array_of(ctx, WF_F64, WF_SHAPE(2, 3), x1);
    wf_array *up = array_of(ctx, WF_F64, WF_SHAPE(2), up0), *y = wf_like(up), *grad = wf_like(x);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x)));
    OK(ctx, wf_adjoint(joined(x, y, WF_JOIN_MAX, -INFINITY, WF_AXES(1), true), WF_ARRAYS(y), WF_ARRAYS(up),
                       WF_ARRAYS(x), WF_ARRAYS(grad)));
    wf_frozen *sequence = wf_freeze_end(ctx);
    assert_non_null(sequence);
    expect_close(grad, (const double[]){ 0, 2, 2, 6, 0, 0 }, rounding_of(grad));
    OK(ctx, wf_frozen_replay(sequence, WF_ARRAYS(other)));
    expect_close(grad, (const double[]){ 0, 0, 4, 2, 2, 2 }, rounding_of(grad));
    wf_frozen_free(sequence);
    wf_array *const used[] = { x, other, up, y, grad };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* A tape over two reductions, one by a prepared kernel: L = sum over rows of (max of the row)^2, of x^2. */
static void through_a_tape(void **state)
{
    (void)state;
    const double x0[6] = { 1, 3, -3, 2, 1, 0 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(2, 3), x0), *q = wf_like(x), *grad = wf_like(x);
    wf_array *y = wf_full(ctx, WF_F64, WF_SHAPE(2), 0), *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_kernel *rows = wf_compile(joined(q, y, WF_JOIN_MAX, -INFINITY, WF_AXES(1), true));
    assert_non_null(rows);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_graph *g = wf_begin(ctx, .elements = true);
    wf_out(g, q, wf_mul(wf_in(g, x), wf_in(g, x)));
    OK(ctx, wf_run(g));
    OK(ctx, wf_launch(rows, WF_NO_ARGS));
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var all = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_inc(all, wf_mul(wf_in(g, y), wf_in(g, y)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, loss, all);
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect_close(grad, (const double[]){ 0, 54, -54, 32, 0, 0 },
                 rounding_of(grad)); /* 2 * 9 / 2 * 2 x, and 2 * 4 * 2 x */
    wf_tape_free(tape);
    wf_kernel_free(rows);
    wf_array *const used[] = { x, q, grad, y, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static void refused(void **state)
{
    (void)state;
    wf_array *x = wf_full(ctx, WF_F64, WF_SHAPE(4), 1), *y = wf_full(ctx, WF_F64, WF_SHAPE(1), 1), *grad = wf_like(x);
    REFUSED(ctx,
            wf_adjoint(joined(x, y, WF_JOIN_ADD, 0, WF_ALL_AXES, true), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(x),
                       WF_ARRAYS(grad)),
            WF_ERR_SHAPE, "upstream 0");
    wf_array *const used[] = { x, y, grad };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_axes),       cmocka_unit_test(some_axes), cmocka_unit_test(frozen),
        cmocka_unit_test(through_a_tape), cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
