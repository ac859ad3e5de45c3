/* test_derivatives.c - derivatives of values in array graphs and index spaces, beside closed forms.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/functions.h"

static void expect(wf_array *a, const double *want)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i]))))
            fail_msg("element %d is %.17g and should be %.17g", (int)i, got[i], want[i]);
    free(got);
    wf_release(a);
}

static wf_val total(wf_val v) { return wf_reduce(WF_JOIN_ADD, v, WF_ALL_AXES); }

static wf_array *line_of(const double *x, int64_t n) { return array_of(ctx, WF_F64, WF_SHAPE(n), x); }

/* Elements that are read twice have both derivatives. */
static void gathers(void **state)
{
    (void)state;
    double x[9];
    for (int i = 0; i < 9; ++i)
        x[i] = -1 + i * 0.25;
    wf_array *a = line_of(x, 9), *at = array_of(ctx, WF_I32, WF_SHAPE(4), (const int32_t[]){ 1, 1, 2, 3 });
    const double want[9] = { 0, -3, -1, -0.5 };
    for (int by_read = 0; by_read < 2; ++by_read) {
        wf_val gradient;
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), index = wf_in(g, at), y = by_read ? wf_read(g, a, index) : wf_gather(v, index);
        wf_grad(total(wf_mul(y, y)), WF_VALS(v), &gradient);
        wf_array *out = wf_keep(gradient);
        OK(ctx, wf_run(g));
        expect(out, want);
    }
    wf_release(at);
    wf_release(a);
}

/* What select does not choose counts for nothing, though its slope is infinite. */
static void branches(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ 4, 0, -0.0, -1 }, 4);
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), y = wf_select(wf_gt(v, 0), wf_sqrt(v), 0);
    wf_grad(total(y), WF_VALS(v), &gradient);
    wf_array *out = wf_keep(gradient);
    OK(ctx, wf_run(g));
    expect(out, (const double[]){ 0.25, 0, 0, 0 });
    wf_release(a);
}

static void products(void **state)
{
    (void)state;
    const double rows[3][4] = { { 2, 0, 4, 1 }, { 0, 0, 3, 1 }, { 1, 2, 5, 8 } };
    const double want[3][4] = { { 0, 8, 0, 0 }, { 0, 0, 0, 0 }, { 80, 40, 16, 10 } };
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(3, 4), rows);
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_grad(total(wf_reduce(WF_JOIN_MUL, v, WF_AXES(1))), WF_VALS(v), &gradient);
    wf_array *out = wf_keep(gradient);
    OK(ctx, wf_run(g));
    expect(out, want[0]);
    wf_release(a);
}

/* The second derivative of x^3 is 6x, forward over reverse and reverse over reverse. */
static void twice(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ -2, 0, 0.5, 3 }, 4);
    wf_val first, second, along;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_grad(total(wf_mul(v, wf_mul(v, v))), WF_VALS(v), &first);
    wf_grad(total(first), WF_VALS(v), &second);
    wf_jvp(WF_VALS(first), WF_VALS(v), WF_VALS(1), &along);
    wf_array *reverse = wf_keep(second), *forward = wf_keep(along);
    OK(ctx, wf_run(g));
    const double want[] = { -12, 0, 3, 18 };
    expect(reverse, want);
    expect(forward, want);
    wf_release(a);
}

/* Scalars that are broadcast collect the sum over all points; so do parameters and axes of extent 1. */
static void broadcasts(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(2, 3), (const double[]){ 1, 2, 3, 4, 5, 6 });
    wf_array *b = array_of(ctx, WF_F64, WF_SHAPE(2, 1), (const double[]){ 10, 20 });
    wf_val gradient[3];
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_param(g, "p", WF_F64, 2), x = wf_in(g, a), y = wf_in(g, b);
    wf_grad(total(wf_mul(wf_mul(x, p), y)), WF_VALS(p, y, x), gradient);
    wf_array *dp = wf_keep(gradient[0]), *dy = wf_keep(gradient[1]), *dx = wf_keep(gradient[2]);
    assert_true(wf_depends(gradient[1], WF_VALS(p)) && !wf_depends(gradient[1], WF_VALS(y)));
    OK(ctx, wf_run(g));
    expect(dp, (const double[]){ 360 });
    expect(dy, (const double[]){ 12, 30 });
    expect(dx, (const double[]){ 20, 20, 20, 40, 40, 40 });
    wf_release(b);
    wf_release(a);
}

/* A store replaces: what was stored has the derivative, and what was there has none. */
static void stores(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ 1, 2, 3, 4 }, 4), *b = line_of((const double[]){ 5, 7 }, 2);
    wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(2), (const int32_t[]){ 3, 1 });
    wf_val gradient[2];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b);
    wf_write(g, a, wf_mul(y, y), wf_in(g, at));
    wf_val after = wf_in(g, a);
    wf_grad(total(wf_mul(after, after)), WF_VALS(x, y), gradient);
    wf_array *dx = wf_keep(gradient[0]), *dy = wf_keep(gradient[1]);
    OK(ctx, wf_run(g));
    expect(dx, (const double[]){ 2, 0, 6, 0 });
    expect(dy, (const double[]){ 4 * 125, 4 * 343 });
    wf_release(at);
    wf_release(b);
    wf_release(a);
}

/* In an index space the values of each point are differentiated. */
static void points(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ 0.5, 1, 2 }, 3), *out = wf_like(a);
    wf_val gradient;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_val x = wf_in(g, a);
    wf_grad(wf_mul(x, wf_log(x)), WF_VALS(x), &gradient);
    wf_out(g, out, gradient);
    OK(ctx, wf_run(g));
    expect(out, (const double[]){ 1 + log(0.5), 1, 1 + log(2) });
    wf_release(a);
}

static void refused(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ 1, 2 }, 2), *i = array_of(ctx, WF_I32, WF_SHAPE(1), (const int32_t[]){ 1 });
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_grad(wf_in(g, a), WF_VALS(wf_in(g, a)), &gradient);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "the loss has shape (2)");
    g = wf_begin(ctx);
    wf_grad(total(wf_cast(wf_in(g, i), WF_F64)), WF_VALS(wf_in(g, i)), &gradient);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "only floats and complex numbers");
    g = wf_begin(ctx);
    wf_val x = wf_in(g, a);
    wf_array *kept = wf_keep(wf_exp(x));
    wf_val y = wf_in(g, kept);
    OK(ctx, wf_eval(g));
    wf_grad(total(y), WF_VALS(x), &gradient);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has computed a value");
    wf_release(kept);
    wf_release(i);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers),    cmocka_unit_test(branches), cmocka_unit_test(products), cmocka_unit_test(twice),
        cmocka_unit_test(broadcasts), cmocka_unit_test(stores),   cmocka_unit_test(points),   cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
