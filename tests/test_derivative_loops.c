/* test_derivative_loops.c - derivatives through loops whose number of turns the points decide, or that are long, beside
 * derivatives that C computes turn by turn.
 *
 * ctest: devices long first_tier
 */
#include <complex.h>
#undef I
#define I _Complex_I
#include "close_numbers.h"
#include "weft/functions.h"

/* Runs the recording with the derivative of y by x in reverse and in forward mode. */
static void expect_derivative(wf_graph *g, wf_val y, wf_val x, wf_array *like, const double *want, double tolerance)
{
    wf_array *back = wf_like(like), *along = wf_like(like);
    wf_val gradient, tangent;
    wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(x), &gradient);
    wf_jvp(WF_VALS(y), WF_VALS(x), WF_VALS(1), &tangent);
    wf_out(g, back, gradient);
    wf_out(g, along, tangent);
    OK(ctx, wf_run(g));
    expect_close_and_release(back, want, tolerance);
    expect_close_and_release(along, want, tolerance);
}

enum { POINTS = 9 };
static const double start[POINTS] = { 0.1, -0.4, 1.7, 0.25, -2, 0.9, 3, -0.7, 0.4 };
/* More turns than a tape has, than two tapes hold without gaps, and numbers around powers of two. */
static const int32_t turns_of[POINTS] = { 0, 1, 2, 255, 256, 257, 1000, 33000, 140000 };

/* y += sin(y) / 64 - k y / 128, n times. */
static double flow(double y, double k, int32_t n, double *by_y, double *by_k)
{
    double dy = 1, dk = 0;
    for (int32_t t = 0; t < n; ++t) {
        double slope = 1 + cos(y) / 64 - k / 128;
        dk = slope * dk - y / 128;
        dy *= slope;
        y += sin(y) / 64 - k * y / 128;
    }
    *by_y = dy;
    *by_k = dk;
    return y;
}

static wf_val record_flow(wf_graph *g, wf_val y0, wf_val k, wf_val turns)
{
    wf_var y = wf_local(g, WF_F64, y0), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_val change = wf_sub(wf_mul(wf_sin(y), 1.0 / 64), wf_mul(wf_mul(y, 1.0 / 128), k));
        wf_inc(y, change);
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_get(y);
}

/* Reverse and forward mode with numbers of turns of the points' own, and the sum over the points for what all share. */
static void own_turns(void **state)
{
    (void)state;
    const double k = 0.7;
    double by_y[POINTS], by_k[POINTS], sum = 0;
    for (int i = 0; i < POINTS; ++i) {
        flow(start[i], k, turns_of[i], &by_y[i], &by_k[i]);
        sum += by_k[i];
    }
    wf_array *a = line_of(start, POINTS), *n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
    wf_array *all = line_of(&k, 1), *one = wf_view_reshape(all, (wf_shape){ .rank = 0 });
    for (int space = 0; space < 2; space += TEST_EVERY) {
        wf_array *dy = wf_like(a), *dk = space ? wf_like(a) : wf_like(one), *along = wf_like(a), *along_k = wf_like(a);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx);
        wf_val x = wf_in(g, a), factor = wf_in(g, one), gradient[2], tangent;
        wf_val y = record_flow(g, x, factor, wf_in(g, n));
        wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(x, factor), gradient);
        wf_out(g, dy, gradient[0]);
        wf_out(g, dk, gradient[1]);
        wf_jvp(WF_VALS(y), WF_VALS(x), WF_VALS(1), &tangent);
        wf_out(g, along, tangent);
        wf_jvp(WF_VALS(y), WF_VALS(factor), WF_VALS(1), &tangent);
        wf_out(g, along_k, tangent);
        OK(ctx, wf_run(g));
        expect_close_and_release(dy, by_y, 1e-9);
        expect_close_and_release(along, by_y, 1e-9);
        expect_close_and_release(along_k, by_k, 1e-9);
        expect_close_and_release(dk, space ? by_k : &sum, 1e-9);
    }
    wf_release(one);
    wf_release(all);
    wf_release(n);
    wf_release(a);
}

/* Loops inside a loop: the inner one turns as often as the outer one has turned, has a break and a condition. */
static double nested_flow(double x, int32_t n, double *slope)
{
    double y = x, dy = 1;
    for (int32_t i = 0; i < n; ++i) {
        double z = y, dz = dy;
        for (int32_t j = 0; j <= i && z < 4; ++j)
            if (z > 0.5) {
                dz = dz * (1 + 0.125 * x) + 0.125 * z;
                z += 0.125 * z * x;
            } else {
                dz = 2 * z * dz + 1;
                z = z * z + x;
            }
        dy = 0.5 * dy + 0.25 * dz;
        y = 0.5 * y + 0.25 * z;
    }
    *slope = dy;
    return y;
}

static wf_val record_nested(wf_graph *g, wf_val x, wf_val n)
{
    wf_var y = wf_local(g, WF_F64, x), i = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(i, n)) {
        wf_var z = wf_local(g, WF_F64, y), j = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_le(j, i)) {
            WF_IF (g, wf_ge(z, 4))
                wf_break(g);
            WF_END(g);
            WF_IF (g, wf_gt(z, 0.5))
                wf_inc(z, wf_mul(wf_mul(z, 0.125), x));
            WF_ELSE(g)
            wf_set(z, wf_add(wf_mul(z, z), x));
            WF_END(g);
            wf_inc(j, 1);
        }
        WF_END(g);
        wf_set(y, wf_add(wf_mul(y, 0.5), wf_mul(z, 0.25)));
        wf_inc(i, 1);
    }
    WF_END(g);
    return wf_get(y);
}

static void nested(void **state)
{
    (void)state;
    const int32_t turns[POINTS] = { 0, 1, 2, 3, 5, 7, 11, 40, 300 };
    double want[POINTS];
    for (int i = 0; i < POINTS; ++i)
        nested_flow(start[i], turns[i], &want[i]);
    wf_array *a = line_of(start, POINTS), *n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns);
    for (int space = 0; space < 2; ++space) {
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx);
        wf_val x = wf_in(g, a);
        expect_derivative(g, record_nested(g, x, wf_in(g, n)), x, a, want, 1e-11);
    }
    wf_release(n);
    wf_release(a);
}

/* Newton's method for the square root, until it changes no more: the derivative is that of the turns which were done,
 * and the second derivative, forward over reverse, that of the loop which goes back. */
static void newton(void **state)
{
    (void)state;
    const double x[4] = { 2, 9, 0.5, 1e4 };
    double want[4], second[4];
    for (int k = 0; k < 4; ++k) {
        want[k] = 0.5 / sqrt(x[k]);
        second[k] = -0.25 / (x[k] * sqrt(x[k]));
    }
    wf_array *a = line_of(x, 4), *d1 = wf_like(a), *d2 = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), gradient, along;
    wf_var y = wf_local(g, WF_F64, v), error = wf_local(g, WF_F64, 1);
    WF_WHILE (g, wf_gt(error, 1e-14)) {
        wf_val next = wf_mul(wf_add(y, wf_div(v, y)), 0.5);
        wf_set(error, wf_div(wf_abs(wf_sub(next, y)), y));
        wf_set(y, next);
    }
    WF_END(g);
    wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(v), &gradient);
    wf_jvp(WF_VALS(gradient), WF_VALS(v), WF_VALS(1), &along);
    wf_out(g, d1, gradient);
    wf_out(g, d2, along);
    OK(ctx, wf_run(g));
    expect_close_and_release(d1, want, 1e-12);
    expect_close_and_release(d2, second, 1e-10);
    wf_release(a);
}

/* Complex states, halves and two results; a state that no result needs has no part in it. */
static void kinds_of_states(void **state)
{
    (void)state;
    const float c[4] = { 0.1f, 0.2f, -0.3f, 0.25f };
    const int32_t turns[2] = { 7, 300 };
    wf_array *a = array_of(ctx, WF_C64, WF_SHAPE(2), c), *n = array_of(ctx, WF_I32, WF_SHAPE(2), turns);
    wf_array *dc = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val z0 = wf_in(g, a), gradient;
    wf_var z = wf_local(g, WF_C64, z0), t = wf_local(g, WF_I32, 0), h = wf_local(g, WF_F16, 1);
    WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
        wf_set(z, wf_add(wf_mul(z, z), z0));
        wf_set(h, wf_mul(h, 0.5));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_grad(total(wf_real(wf_mul(z, wf_conj(z)))), WF_VALS(z0), &gradient);
    wf_out(g, dc, gradient);
    OK(ctx, wf_run(g));
    float *got = contents_as(dc, WF_C64);
    for (int k = 0; k < 2; ++k) {
        double complex w = c[2 * k] + I * c[2 * k + 1], w0 = w, dw = 1;
        for (int i = 0; i < turns[k]; ++i) {
            dw = 2 * w * dw + 1;
            w = w * w + w0;
        }
        double complex want = 2 * w * conj(dw);
        if (!(cabs(got[2 * k] + I * got[2 * k + 1] - want) <= 1e-5 * (1 + cabs(want))))
            fail_msg("point %d is %g %+gi and should be %g %+gi", k, got[2 * k], got[2 * k + 1], creal(want),
                     cimag(want));
    }
    free(got);
    wf_release(dc);
    wf_release(n);
    wf_release(a);
}

/* Each turn reads a table at an index that only the points which are still in the loop have in range. */
static void reads(void **state)
{
    (void)state;
    enum { N = 40, LENGTH = 700 };
    double x[N], table[LENGTH], want[N];
    int32_t turns[N];
    for (int k = 0; k < LENGTH; ++k)
        table[k] = 0.001 * (k % 7) - 0.002;
    for (int i = 0; i < N; ++i) {
        x[i] = 0.1 * i - 1;
        turns[i] = i * i % LENGTH;
        want[i] = 1;
        double y = x[i];
        for (int t = 0; t < turns[i]; ++t) {
            want[i] *= 1 + table[t] * cos(y);
            y += table[t] * sin(y);
        }
    }
    wf_array *a = line_of(x, N), *b = line_of(table, LENGTH), *n = array_of(ctx, WF_I32, WF_SHAPE(N), turns);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val v = wf_in(g, a), last = wf_in(g, n);
    wf_var y = wf_local(g, WF_F64, v), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, last)) {
        wf_inc(y, wf_mul(wf_read(g, b, t), wf_sin(y)));
        wf_inc(t, 1);
    }
    WF_END(g);
    expect_derivative(g, wf_get(y), v, a, want, 1e-12);
    wf_release(n);
    wf_release(b);
    wf_release(a);
}

/* The derivative of a loss that multiplies sums over the points of what the loop gives: L = (the sum of x^n)^2. The loop that
 * goes back is in a stage behind the one of the loop. */
static void products_of_sums(void **state)
{
    (void)state;
    const double x[3] = { 1.5, -0.5, 2 };
    const int32_t turns[3] = { 3, 0, 2 };
    double sum = 0, want[3], second = 0, by[3];
    for (int i = 0; i < 3; ++i) {
        sum += pow(x[i], turns[i]);
        by[i] = turns[i] * pow(x[i], turns[i] - 1);
        second += by[i];
    }
    for (int i = 0; i < 3; ++i)
        want[i] = 2 * sum * by[i];
    wf_array *a = line_of(x, 3), *n = array_of(ctx, WF_I32, WF_SHAPE(3), turns), *back = wf_like(a),
             *twice = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), gradient, along;
    wf_var y = wf_local(g, WF_F64, 1), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
        wf_set(y, wf_mul(y, v));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_val all = total(wf_get(y));
    wf_grad(wf_mul(all, all), WF_VALS(v), &gradient);
    wf_jvp(WF_VALS(gradient), WF_VALS(v), WF_VALS(1), &along);
    wf_out(g, back, gradient);
    wf_out(g, twice, along);
    OK(ctx, wf_run(g));
    expect_close_and_release(back, want, 1e-13);
    for (int i = 0; i < 3; ++i) {
        double of = turns[i] < 2 ? 0 : turns[i] * (turns[i] - 1) * pow(x[i], turns[i] - 2);
        want[i] = 2 * second * by[i] + 2 * sum * of;
    }
    expect_close_and_release(twice, want, 1e-13);
    wf_release(n);
    wf_release(a);
}

/* The recording goes on after a derivative: stores into the table change what is read from then on. */
static void table_changes(void **state)
{
    (void)state;
    const double x[2] = { 0.5, -1 }, table[4] = { 1, 2, 3, 4 };
    const int32_t turns[2] = { 3, 2 };
    for (int stores = 1; stores <= 12; ++stores) {
        wf_array *a = line_of(x, 2), *b = line_of(table, 4), *n = array_of(ctx, WF_I32, WF_SHAPE(2), turns);
        wf_array *out = wf_like(a), *sum = wf_like(a);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), gradient, before = wf_in(g, b), read[3];
        wf_var y = wf_local(g, WF_F64, v), t = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
            wf_set(y, wf_mul(y, wf_read(g, b, t)));
            wf_inc(t, 1);
        }
        WF_END(g);
        read[0] = wf_read(g, b, wf_in(g, n));
        for (int k = 1; k < 3; ++k) { /* each block separates the reads around it */
            wf_var kept = wf_local(g, WF_F64, 0);
            WF_IF (g, wf_gt(v, 0))
                wf_set(kept, read[0]);
            WF_END(g);
            read[k] = wf_read(g, b, wf_in(g, n));
        }
        wf_grad(total(wf_get(y)), WF_VALS(v), &gradient);
        for (int k = 1; k <= stores; ++k)
            wf_out(g, b, wf_mul(before, 10 * k));
        wf_val later = wf_read(g, b, wf_in(g, n));
        wf_out(g, out, gradient);
        wf_out(g, sum, wf_add(wf_add(read[0], read[1]), wf_add(read[2], later)));
        OK(ctx, wf_run(g));
        expect_close_and_release(out, (const double[]){ 6, 2 }, 0);
        expect_close_and_release(sum, (const double[]){ 4 * (3 + 10.0 * stores), 3 * (3 + 10.0 * stores) }, 0);
        wf_release(n);
        wf_release(b);
        wf_release(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(table_changes),
        cmocka_unit_test(own_turns),
        cmocka_unit_test(nested),
        cmocka_unit_test(newton),
        cmocka_unit_test(kinds_of_states),
        cmocka_unit_test(products_of_sums),
    };
    return RUN_ON_ALL(tests);
}
