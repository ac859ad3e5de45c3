/* test_derivatives.c - derivatives of values in array graphs and index spaces, beside closed forms.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/functions.h"

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
        expect_close_and_release(out, want, 1e-12);
    }
    wf_release(at);
    wf_release(a);
}

/* A loss and its derivative with respect to a table that many points read: both are computed at once, with the same bits
 * for any number of threads. They are not where a loss keeps an axis on its way, or first needs the largest element. */
static void loss_and_derivative(void **state)
{
    (void)state;
    enum { POINTS = 40000, ROW = 200, MOST = POINTS };
    static const int sizes[] = { 1, 3, 100, 5000, POINTS };
    float *x = malloc(MOST * sizeof *x);
    int32_t *k = malloc(POINTS * sizeof *k);
    double *want = malloc(MOST * sizeof *want);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int loss_of = 0; loss_of < 3; ++loss_of) {
            const int size = sizes[i];
            uint64_t random = 7 + (uint64_t)size;
            for (int e = 0; e < size; ++e) {
                x[e] = 0.5f + (float)(test_random(&random) % 1000) / 1000;
                want[e] = 0;
            }
            double loss = 0, most = 0;
            for (int p = 0; p < POINTS; ++p) {
                k[p] = (int32_t)(test_random(&random) % (uint64_t)size);
                most = fmax(most, (double)x[k[p]]);
            }
            for (int p = 0; p < POINTS; ++p) {
                const double v = (double)x[k[p]];
                loss += loss_of == 2 ? exp(v - most) : v * v;
                want[k[p]] += loss_of == 2 ? exp(v - most) : 2 * v;
            }
            wf_array *table = array_of(ctx, WF_F32, WF_SHAPE(size), x);
            wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(POINTS / ROW, ROW), k);
            float *first = NULL;
            for (int threads = 1; threads <= 3; ++threads) {
                wf_set_threads(ctx, threads);
                wf_graph *g = wf_begin(ctx);
                wf_val t = wf_in(g, table), v = wf_gather(t, wf_in(g, at)), square = wf_mul(v, v), d;
                wf_val rows = wf_sum(square, 1), most_of = wf_stop(wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES));
                wf_val l = total(loss_of == 0   ? square
                                 : loss_of == 1 ? wf_sqrt(wf_mul(rows, rows))
                                                : wf_exp(wf_sub(v, most_of)));
                wf_grad(l, WF_VALS(t), &d);
                wf_array *out = wf_keep(d), *sum = wf_keep(wf_cast(l, WF_F64));
                OK(ctx, wf_run(g));
                float *got = contents(out);
                assert_true(fabs(scalar_f64(sum) - loss) <= 1e-6 * loss);
                for (int e = 0; e < size; ++e) {
                    if (!(fabs((double)got[e] - want[e]) <= 1e-5 * want[e]))
                        fail_msg("%d elements: derivative %d is %.9g, not %.9g", size, e, (double)got[e], want[e]);
                    assert_true(!first || wf_context_device(ctx) != WF_CPU || !memcmp(&got[e], &first[e], sizeof *got));
                }
                if (first)
                    free(got);
                first = first ? first : got;
                wf_release(sum);
                wf_release(out);
            }
            free(first);
            wf_release(at);
            wf_release(table);
        }
    free(want);
    free(k);
    free(x);
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
    expect_close_and_release(out, (const double[]){ 0.25, 0, 0, 0 }, 1e-12);
    wf_release(a);
}

/* The square root has an infinite slope at 0. What is multiplied by 0 or not chosen does not count in reverse mode; in
 * forward mode the product of the infinite slope and 0 is NaN. */
static void infinite_slopes(void **state)
{
    (void)state;
    static const double none[1] = { 0 };
    wf_array *a = line_of(none, 1);
    for (int by_select = 0; by_select < 2; ++by_select) {
        wf_val back, along;
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), root = wf_sqrt(v), y = by_select ? wf_select(wf_gt(v, 0), root, 0) : wf_mul(root, 0);
        wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(v), &back);
        wf_jvp(WF_VALS(y), WF_VALS(v), WF_VALS(1), &along);
        wf_array *reverse = wf_keep(back), *forward = wf_keep(along);
        OK(ctx, wf_run(g));
        expect_close_and_release(reverse, none, 0);
        double *got = contents_as(forward, WF_F64);
        assert_true(by_select ? got[0] == 0 : got[0] != got[0]);
        free(got);
        wf_release(forward);
    }
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
    expect_close_and_release(out, want[0], 1e-12);
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
    expect_close_and_release(reverse, want, 1e-12);
    expect_close_and_release(forward, want, 1e-12);
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
    expect_close_and_release(dp, (const double[]){ 360 }, 1e-12);
    expect_close_and_release(dy, (const double[]){ 12, 30 }, 1e-12);
    expect_close_and_release(dx, (const double[]){ 20, 20, 20, 40, 40, 40 }, 1e-12);
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
    expect_close_and_release(dx, (const double[]){ 2, 0, 6, 0 }, 1e-12);
    expect_close_and_release(dy, (const double[]){ 4 * 125, 4 * 343 }, 1e-12);
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
    expect_close_and_release(out, (const double[]){ 1 + log(0.5), 1, 1 + log(2) }, 1e-12);
    wf_release(a);
}

/* ---- control flow ---- */
/* Sums of powers: y += x^i in ten turns; and a loop that is no sum: y = (y + 1) x. */
static void loops(void **state)
{
    (void)state;
    const double x[] = { 0.25, 0.5, 0.75, 1 };
    double sums[4] = { 0 }, others[4];
    for (int k = 0; k < 4; ++k) {
        double y = 0, dy = 0;
        for (int i = 1; i < 10; ++i)
            sums[k] += i * pow(x[k], i - 1);
        for (int i = 0; i < 10; ++i) {
            dy = dy * x[k] + (y + 1);
            y = (y + 1) * x[k];
        }
        others[k] = dy;
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *a = line_of(x, 4), *d1 = wf_like(a), *d2 = wf_like(a), *d3 = wf_like(a);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(4)) : wf_begin(ctx);
        wf_val v = wf_in(g, a), i, gradient, along;
        wf_var y = wf_local(g, WF_F64, 0), power = wf_local(g, WF_F64, 1), z = wf_local(g, WF_F64, 0);
        WF_FOR (g, i, 0, 10, 1) {
            wf_inc(y, power);
            wf_set(power, wf_mul(power, v));
            wf_set(z, wf_mul(wf_add(z, 1), v));
        }
        WF_END(g);
        wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(v), &gradient);
        wf_out(g, d1, gradient);
        wf_vjp(WF_VALS(z), WF_VALS(1), WF_VALS(v), &gradient);
        wf_out(g, d2, gradient);
        wf_jvp(WF_VALS(z), WF_VALS(v), WF_VALS(1), &along);
        wf_out(g, d3, along);
        OK(ctx, wf_run(g));
        expect_close_and_release(d1, sums, 1e-12);
        expect_close_and_release(d2, others, 1e-12);
        expect_close_and_release(d3, others, 1e-12);
        wf_release(a);
    }
}

/* Each point leaves the loop after its own number of turns, by a break, and a condition chooses the step. */
static void own_counts(void **state)
{
    (void)state;
    const double x[] = { 0.3, 1.1, 1.7, 5 };
    double want[4];
    for (int k = 0; k < 4; ++k) {
        double y = x[k], dy = 1;
        for (int i = 0; i < 20 && y <= 100; ++i)
            if (y < 1) {
                dy = 2 * y * dy + 1;
                y = y * y + x[k];
            } else {
                dy = 3 * dy;
                y = 3 * y;
            }
        want[k] = dy;
    }
    wf_array *a = line_of(x, 4), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), i, gradient;
    wf_var y = wf_local(g, WF_F64, v);
    WF_FOR (g, i, 0, 20, 1) {
        WF_IF (g, wf_gt(y, 100))
            wf_break(g);
        WF_END(g);
        WF_IF (g, wf_lt(y, 1))
            wf_set(y, wf_add(wf_mul(y, y), v));
        WF_ELSE(g)
        wf_set(y, wf_mul(y, 3));
        WF_END(g);
    }
    WF_END(g);
    wf_grad(total(wf_get(y)), WF_VALS(v), &gradient);
    wf_out(g, out, gradient);
    OK(ctx, wf_run(g));
    expect_close_and_release(out, want, 1e-12);
    wf_release(a);
}

/* What a condition does not compute counts for nothing, though its slope is infinite; a table read in a loop collects
 * the derivatives of all turns. */
static void in_blocks(void **state)
{
    (void)state;
    wf_array *a = line_of((const double[]){ 4, 0, -1 }, 3), *table = line_of((const double[]){ 2, 3, 4 }, 3);
    wf_array *da = wf_like(a), *dt = wf_like(table);
    wf_val gradient[2], i;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), t = wf_in(g, table);
    wf_var y = wf_local(g, WF_F64, 1), root = wf_local(g, WF_F64, 0);
    WF_IF (g, wf_gt(v, 0))
        wf_set(root, wf_sqrt(v));
    WF_END(g);
    WF_FOR (g, i, 0, 3, 1)
        wf_set(y, wf_mul(y, wf_read(g, table, i)));
    WF_END(g);
    wf_grad(total(wf_add(root, y)), WF_VALS(v, t), gradient);
    wf_out(g, da, gradient[0]);
    wf_out(g, dt, gradient[1]);
    OK(ctx, wf_run(g));
    expect_close_and_release(da, (const double[]){ 0.25, 0, 0 }, 1e-12);
    expect_close_and_release(dt, (const double[]){ 3 * 12, 3 * 8, 3 * 6 }, 1e-12);
    wf_release(table);
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
        cmocka_unit_test(gathers),    cmocka_unit_test(loss_and_derivative),
        cmocka_unit_test(branches),   cmocka_unit_test(infinite_slopes),
        cmocka_unit_test(products),   cmocka_unit_test(twice),
        cmocka_unit_test(broadcasts), cmocka_unit_test(stores),
        cmocka_unit_test(points),     cmocka_unit_test(refused),
        cmocka_unit_test(loops),      cmocka_unit_test(own_counts),
        cmocka_unit_test(in_blocks),
    };
    return RUN_ON_ALL(tests);
}
