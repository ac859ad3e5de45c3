/* test_derivative_twice.c - second and third derivatives, all in reverse mode, of loops that stay loops: beside forward
 * mode over reverse mode and differences.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 6 };
static const double start[POINTS] = { 0.1, -0.4, 1.7, 0.25, -0.9, 0.6 };
static const double rate[POINTS] = { 0.3, 0.7, -0.2, 0.9, 0.5, -0.6 };
static const double along[2][POINTS] = { { 1, -0.5, 0.25, 2, -1, 0.75 }, { 0.5, 1.5, -1, 0.25, 2, -0.75 } };
static const int32_t turns_of[POINTS] = { 0, 1, 2, 7, 20, 300 }; /* the last one is more than a tape has */

/* y += sin(k y) / 16, and z sums y^2 k. Each turn stores y, unless trace is NULL. Returns y + z / 4. */
static wf_val record_flow(wf_graph *g, wf_val y0, wf_val k, wf_val turns, wf_array *trace)
{
    wf_var y = wf_local(g, WF_F64, y0), z = wf_local(g, WF_F64, 0), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_inc(z, wf_mul(wf_mul(y, y), wf_mul(k, 1.0 / 64)));
        wf_inc(y, wf_mul(wf_sin(wf_mul(k, y)), 1.0 / 16));
        if (trace)
            wf_out(g, trace, wf_get(y));
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_add(wf_get(y), wf_mul(wf_get(z), 0.25));
}

static double flow(double y, double k, int32_t turns)
{
    double z = 0;
    for (int32_t t = 0; t < turns; ++t) {
        z += y * y * k / 64;
        y += sin(k * y) / 16;
    }
    return y + z / 4;
}

static wf_graph *begin(bool space) { return space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx); }

/* The Hessian of each point times a direction, in reverse mode over reverse mode, is that of forward mode over reverse mode
 * and of differences. */
static void own_turns(void **state)
{
    (void)state;
    double want[2][POINTS];
    for (int i = 0; i < POINTS; ++i) {
        const double h = 1e-4, a = along[0][i], b = along[1][i];
        for (int d = 0; d < 2; ++d) {
            const double dy = d ? 0 : h, dk = d ? h : 0;
            double sum = 0;
            for (int s = -1; s <= 1; s += 2)
                for (int t = -1; t <= 1; t += 2)
                    sum += s * t * flow(start[i] + s * dy + t * h * a, rate[i] + s * dk + t * h * b, turns_of[i]);
            want[d][i] = sum / (4 * h * h);
        }
    }
    for (int kind = 0; kind < 4; ++kind) {
        const bool space = kind & 1;
        wf_array *trace = kind & 2 ? wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 0) : NULL;
        wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS), *a = line_of(along[0], POINTS);
        wf_array *b = line_of(along[1], POINTS), *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_array *out[4];
        wf_graph *g = begin(space);
        wf_val x[2] = { wf_in(g, y), wf_in(g, k) }, v[2] = { wf_in(g, a), wf_in(g, b) }, first[2], back[2], ahead[2];
        wf_val r = record_flow(g, x[0], x[1], wf_in(g, turns), trace);
        wf_vjp(WF_VALS(r), WF_VALS(1), WF_VALS(x[0], x[1]), first);
        wf_vjp(WF_VALS(first[0], first[1]), WF_VALS(v[0], v[1]), WF_VALS(x[0], x[1]), back);
        wf_jvp(WF_VALS(first[0], first[1]), WF_VALS(x[0], x[1]), WF_VALS(v[0], v[1]), ahead);
        for (int d = 0; d < 4; ++d) {
            out[d] = wf_like(y);
            wf_out(g, out[d], d < 2 ? back[d] : ahead[d - 2]);
        }
        OK(ctx, wf_run(g));
        for (int d = 0; d < 2; ++d) {
            double *same = contents(out[d + 2]);
            expect_close(out[d + 2], want[d], 1e-5);
            expect_close(out[d], same, 1e-11);
            free(same);
        }
        wf_array *all[] = { y, k, a, b, turns, out[0], out[1], out[2], out[3], trace };
        for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
            wf_release(all[n]);
    }
}

/* The loop y *= s = 1 + sin(k) / 16 runs n times. The program uses cos(k), too, which is also in the second derivative, and
 * the seed of the second derivative is y0, which counts as a constant there. */
static void shared_values(void **state)
{
    (void)state;
    double want[2][POINTS], cosine[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        const double n = turns_of[i], s = 1 + sin(rate[i]) / 16, slope = cos(rate[i]) / 16;
        cosine[i] = cos(rate[i]);
        want[0][i] = start[i] * n * pow(s, n - 1) * slope;
        want[1][i] = n * (n - 1) * pow(s, n - 2) * slope * slope - n * pow(s, n - 1) * sin(rate[i]) / 16;
        want[1][i] *= start[i] * start[i];
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS);
        wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_array *out[3] = { wf_like(y), wf_like(y), wf_like(y) };
        wf_graph *g = begin(space);
        wf_val x = wf_in(g, y), q = wf_in(g, k), first, second[2];
        wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(t, wf_in(g, turns))) {
            wf_inc(v, wf_mul(v, wf_mul(wf_sin(q), 1.0 / 16)));
            wf_inc(t, 1);
        }
        WF_END(g);
        wf_out(g, out[2], wf_cos(q));
        wf_vjp(WF_VALS(wf_get(v)), WF_VALS(1), WF_VALS(q), &first);
        wf_vjp(WF_VALS(first), WF_VALS(x), WF_VALS(x, q), second);
        for (int d = 0; d < 2; ++d)
            wf_out(g, out[d], second[d]);
        OK(ctx, wf_run(g));
        expect_close_and_release(out[0], want[0], 1e-12);
        expect_close_and_release(out[1], want[1], 1e-12);
        expect_close_and_release(out[2], cosine, 1e-14);
        wf_release(y);
        wf_release(k);
        wf_release(turns);
    }
}

/* ---- a loss of a loop that reads an image ---- */
enum { PIXELS = 9 };
static double image_of(int k) { return 0.125 * (k * 4 % 9) - 0.375; }

/* y = y / 2 + p y^2 with the pixel p of each turn, and the sum of y^4. */
static wf_val record_march(wf_graph *g, wf_val y0, wf_array *image, wf_val turns, wf_val point)
{
    wf_var y = wf_local(g, WF_F64, y0), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_val pixel = wf_read(g, image, wf_mod(wf_add(point, wf_mul(t, 2)), PIXELS));
        wf_set(y, wf_add(wf_mul(y, 0.5), wf_mul(pixel, wf_mul(y, y))));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_val r = wf_get(y);
    return total(wf_mul(wf_mul(r, r), wf_mul(r, r)));
}

/* Returns the derivatives with respect to start and image of the loss. */
static void march_slopes(const double *y0, const double *image, double *by_start, double *by_image)
{
    for (int k = 0; k < PIXELS; ++k)
        by_image[k] = 0;
    for (int i = 0; i < POINTS; ++i) {
        double y[301] = { y0[i] };
        for (int t = 0; t < turns_of[i]; ++t)
            y[t + 1] = y[t] / 2 + image[(i + 2 * t) % PIXELS] * y[t] * y[t];
        double c = 4 * pow(y[turns_of[i]], 3);
        for (int t = turns_of[i]; t-- > 0;) {
            by_image[(i + 2 * t) % PIXELS] += c * y[t] * y[t];
            c *= 0.5 + 2 * image[(i + 2 * t) % PIXELS] * y[t];
        }
        by_start[i] = c;
    }
}

/* The Hessian of the loss times a direction of the start and the image. */
static void reads(void **state)
{
    (void)state;
    double pixels[PIXELS], v[PIXELS], moved[2][POINTS], moved_image[2][PIXELS], by_start[2][POINTS],
        by_image[2][PIXELS];
    const double h = 1e-5;
    for (int k = 0; k < PIXELS; ++k) {
        pixels[k] = image_of(k);
        v[k] = 0.5 - 0.25 * (k * 7 % 5);
    }
    for (int s = 0; s < 2; ++s) {
        for (int i = 0; i < POINTS; ++i)
            moved[s][i] = start[i] + (s ? h : -h) * along[0][i];
        for (int k = 0; k < PIXELS; ++k)
            moved_image[s][k] = pixels[k] + (s ? h : -h) * v[k];
        march_slopes(moved[s], moved_image[s], by_start[s], by_image[s]);
    }
    for (int i = 0; i < POINTS; ++i)
        by_start[0][i] = (by_start[1][i] - by_start[0][i]) / (2 * h);
    for (int k = 0; k < PIXELS; ++k)
        by_image[0][k] = (by_image[1][k] - by_image[0][k]) / (2 * h);
    wf_array *y = line_of(start, POINTS), *a = line_of(along[0], POINTS), *image = line_of(pixels, PIXELS);
    wf_array *b = line_of(v, PIXELS), *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
    wf_array *of_start = wf_like(y), *of_image = wf_like(image);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, y), pixel = wf_in(g, image), first[2], second[2];
    wf_val point = wf_cast(wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32);
    wf_grad(record_march(g, x, image, wf_in(g, turns), point), WF_VALS(x, pixel), first);
    wf_vjp(WF_VALS(first[0], first[1]), WF_VALS(wf_in(g, a), wf_in(g, b)), WF_VALS(x, pixel), second);
    wf_out(g, of_start, second[0]);
    wf_out(g, of_image, second[1]);
    OK(ctx, wf_run(g));
    expect_close_and_release(of_start, by_start[0], 1e-7);
    expect_close_and_release(of_image, by_image[0], 1e-7);
    wf_array *all[] = { y, a, image, b, turns };
    for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
        wf_release(all[n]);
}

/* ---- third derivatives ---- */
/* y becomes y^2 / 2 + y c, n times: a polynomial, whose third derivative by y is that of forward mode three times. */
static void thrice(void **state)
{
    (void)state;
    for (int space = 0; space < 2; ++space) {
        wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS), *out[2] = { wf_like(y), wf_like(y) };
        wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_graph *g = begin(space);
        wf_val x = wf_in(g, y), back, ahead;
        wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(t, wf_in(g, turns))) {
            wf_set(v, wf_add(wf_mul(wf_mul(v, v), 0.5), wf_mul(v, wf_in(g, k))));
            wf_inc(t, 1);
        }
        WF_END(g);
        back = ahead = wf_get(v);
        for (int order = 0; order < 3; ++order) {
            wf_val next;
            wf_vjp(WF_VALS(back), WF_VALS(1), WF_VALS(x), &next);
            back = next;
            wf_jvp(WF_VALS(ahead), WF_VALS(x), WF_VALS(1), &next);
            ahead = next;
        }
        wf_out(g, out[0], back);
        wf_out(g, out[1], ahead);
        OK(ctx, wf_run(g));
        double *want = contents(out[1]);
        assert_true(fabs(want[3]) > 1e-3);
        expect_close_and_release(out[0], want, 1e-12);
        free(want);
        wf_array *all[] = { y, k, turns, out[1] };
        for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
            wf_release(all[n]);
    }
}

/* ---- derivatives inside of what is differentiated ---- */
/* The slope of the flow by y, at k, as a value of the recording. */
static wf_val record_slope(wf_graph *g, wf_val y0, wf_val k, wf_val turns)
{
    wf_val slope;
    wf_vjp(WF_VALS(record_flow(g, y0, k, turns, NULL)), WF_VALS(1), WF_VALS(y0), &slope);
    return slope;
}

/* The derivative by y of what record_slope gives, by differences. */
static double curvature(double y, double k, int32_t turns)
{
    const double h = 1e-4;
    return (flow(y + h, k, turns) - 2 * flow(y, k, turns) + flow(y - h, k, turns)) / (h * h);
}

/* An operator that stores a slope, by wf_adjoint, and both kinds of recordings on tapes. */
static void slopes_of_operators(void **state)
{
    (void)state;
    double want[POINTS];
    for (int i = 0; i < POINTS; ++i)
        want[i] = along[0][i] * curvature(start[i], rate[i], turns_of[i]);
    wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS), *up = line_of(along[0], POINTS);
    wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of), *out = wf_like(y), *by = wf_like(y);
    wf_graph *g = begin(true);
    wf_out(g, out, record_slope(g, wf_in(g, y), wf_in(g, k), wf_in(g, turns)));
    OK(ctx, wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(up), WF_ARRAYS(y), WF_ARRAYS(by)));
    expect_close(by, want, 1e-5);
    for (int space = 0; space < 2; ++space) {
        wf_array *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0), *grad = wf_like(y);
        wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(y));
        g = begin(space);
        wf_out(g, out, record_slope(g, wf_in(g, y), wf_in(g, k), wf_in(g, turns)));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx);
        wf_out(g, loss, wf_reshape(total(wf_mul(wf_in(g, out), wf_in(g, up))), WF_SHAPE(1)));
        OK(ctx, wf_run(g));
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(y), WF_ARRAYS(grad)));
        expect_close(grad, want, 1e-5);
        wf_tape_free(tape);
        wf_release(loss);
        wf_release(grad);
    }
    wf_array *all[] = { y, k, up, turns, out, by };
    for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
        wf_release(all[n]);
}

/* Steps y -= slope / 8 in a loop of the points' own number of steps, each with a loop inside: the derivative of where it
 * ends is the product of 1 - curvature / 8. */
static void slopes_in_a_loop(void **state)
{
    (void)state;
    static const int32_t steps_of[POINTS] = { 3, 1, 4, 0, 2, 7 };
    double want[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        const double h = 1e-4;
        double y = start[i];
        want[i] = 1;
        for (int step = 0; step < steps_of[i]; ++step) {
            want[i] *= 1 - curvature(y, rate[i], turns_of[i] % 9) / 8;
            y -= (flow(y + h, rate[i], turns_of[i] % 9) - flow(y - h, rate[i], turns_of[i] % 9)) / (16 * h);
        }
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS), *by = wf_like(y);
        wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_array *steps = array_of(ctx, WF_I32, WF_SHAPE(POINTS), steps_of);
        wf_graph *g = begin(space);
        wf_val x = wf_in(g, y), first;
        wf_var v = wf_local(g, WF_F64, x), n = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(n, wf_in(g, steps))) {
            wf_val slope = record_slope(g, wf_get(v), wf_in(g, k), wf_mod(wf_in(g, turns), 9));
            wf_set(v, wf_sub(v, wf_mul(slope, 0.125)));
            wf_inc(n, 1);
        }
        WF_END(g);
        wf_vjp(WF_VALS(wf_get(v)), WF_VALS(1), WF_VALS(x), &first);
        wf_out(g, by, first);
        OK(ctx, wf_run(g));
        expect_close(by, want, 1e-5);
        wf_array *all[] = { y, k, turns, steps, by };
        for (size_t a = 0; a < sizeof all / sizeof *all; ++a)
            wf_release(all[a]);
    }
}

/* ---- loops that change arrays ---- */
enum { COLUMNS = 8 };
static const int32_t few_of[POINTS] = { 0, 1, 2, 7, 5, 3 };

/* A loop adds to bins, also in a loop inside, stores each turn in a table, and its last value. Returns a loss of all. */
static wf_val record_effects(wf_graph *g, wf_val x, wf_array *turns, wf_array *const out[3])
{
    wf_val point = wf_cast(wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32), n = wf_in(g, turns);
    wf_var y = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, n)) {
        wf_var k = wf_local(g, WF_I32, 0);
        wf_set(y, wf_mul(y, wf_add(1.25, wf_mul(y, 0.125))));
        wf_write(g, out[0], wf_mul(y, y), point, t);
        wf_out(g, out[1], wf_mul(wf_mul(y, y), y));
        wf_accumulate(g, WF_JOIN_ADD, out[2], y, wf_mod(wf_add(point, t), POINTS));
        WF_WHILE (g, wf_lt(k, wf_mod(t, 3))) {
            wf_accumulate(g, WF_JOIN_ADD, out[2], wf_mul(y, y), wf_mod(wf_add(point, k), POINTS));
            wf_set(y, wf_mul(wf_sin(y), 1.5));
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_val table = wf_in(g, out[0]), own = wf_in(g, out[1]), bins = wf_in(g, out[2]);
    return wf_add(total(wf_mul(bins, bins)), wf_add(total(wf_mul(wf_mul(table, table), 0.5)), total(wf_mul(own, own))));
}

typedef enum order { FIRST, FORWARD_OF_REVERSE, REVERSE_OF_FORWARD, REVERSE_OF_REVERSE } order;

/* Sets *result to the gradient at x, or to the Hessian times along[0], or, if `third`, to the gradient of that times
 * along[1]. */
static wf_status effects_at(order how, bool third, const double *x0, wf_array **result)
{
    wf_array *x = line_of(x0, POINTS), *v = line_of(along[0], POINTS), *v1 = line_of(along[1], POINTS);
    *result = wf_like(x);
    wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), few_of);
    wf_array *const out[3] = { wf_full(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), 0.5),
                               wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 0.25),
                               wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 0.125) };
    wf_graph *g = wf_begin(ctx);
    wf_val at = wf_in(g, x), first, second, loss = record_effects(g, at, turns, out), w = wf_in(g, v);
    if (how == REVERSE_OF_FORWARD)
        wf_jvp(WF_VALS(loss), WF_VALS(at), WF_VALS(w), &first);
    else
        wf_grad(loss, WF_VALS(at), &first);
    if (how == FORWARD_OF_REVERSE)
        wf_jvp(WF_VALS(first), WF_VALS(at), WF_VALS(w), &second);
    else if (how != FIRST)
        wf_vjp(WF_VALS(first), WF_VALS(how == REVERSE_OF_FORWARD ? WF_V(1) : w), WF_VALS(at), &second);
    if (third)
        wf_vjp(WF_VALS(second), WF_VALS(wf_in(g, v1)), WF_VALS(at), &second);
    wf_out(g, *result, how == FIRST ? first : second);
    const wf_status status = wf_run(g);
    wf_array *all[] = { x, v, v1, turns, out[0], out[1], out[2] };
    for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
        wf_release(all[n]);
    return status;
}

/* Sets want[] to the slope of what effects_at gives, along a direction. */
static void slope_of_effects(order how, const double *direction, double *want)
{
    const double h = 1e-5;
    double moved[POINTS];
    wf_array *a;
    memset(want, 0, POINTS * sizeof *want);
    for (int s = -1; s <= 1; s += 2) {
        for (int i = 0; i < POINTS; ++i)
            moved[i] = start[i] + s * h * direction[i];
        OK(ctx, effects_at(how, false, moved, &a));
        double *slope = contents(a);
        for (int i = 0; i < POINTS; ++i)
            want[i] += s * slope[i] / (2 * h);
        free(slope);
        wf_release(a);
    }
}

static void effects(void **state)
{
    (void)state;
    double want[POINTS];
    wf_array *a;
    slope_of_effects(FIRST, along[0], want);
    for (order how = FORWARD_OF_REVERSE; how <= REVERSE_OF_REVERSE; ++how) {
        OK(ctx, effects_at(how, false, start, &a));
        expect_close_and_release(a, want, 1e-6);
    }
    if (wf_context_device(ctx) != WF_INTERP) /* compilers take their time */
        return;
    slope_of_effects(REVERSE_OF_FORWARD, along[1], want);
    for (order how = REVERSE_OF_FORWARD; how <= REVERSE_OF_REVERSE; ++how) {
        OK(ctx, effects_at(how, true, start, &a));
        expect_close_and_release(a, want, 1e-6);
    }
}

/* What has no second derivative is an error that says so. */
static void refused(void **state)
{
    (void)state;
    enum { MANY = 14 };
    for (int many = 0; many < 2; ++many) {
        wf_array *y = line_of(start, POINTS), *out = wf_like(y);
        wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, y), first, second, third, sum = WF_V(0);
        wf_var v[MANY], t = wf_local(g, WF_I32, 0);
        for (int k = 0; k < (many ? MANY : 1); ++k)
            v[k] = wf_local(g, WF_F64, wf_mul(x, k + 1));
        WF_WHILE (g, wf_lt(t, wf_in(g, turns))) {
            for (int k = 0; k < (many ? MANY : 1); ++k)
                wf_set(v[k], wf_mul(wf_sin(v[k]), 0.5));
            wf_inc(t, 1);
        }
        WF_END(g);
        for (int k = 0; k < (many ? MANY : 1); ++k)
            sum = wf_add(sum, v[k]);
        wf_vjp(WF_VALS(sum), WF_VALS(1), WF_VALS(x), &first);
        if (many)
            second = first;
        else
            wf_jvp(WF_VALS(first), WF_VALS(x), WF_VALS(1), &second);
        wf_vjp(WF_VALS(second), WF_VALS(1), WF_VALS(x), &third);
        wf_out(g, out, third);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, many ? "has more than 13 variables" : "in forward mode since");
        wf_release(y);
        wf_release(out);
        wf_release(turns);
    }
}

/* An array that the loop reads changes between the first and the second derivative. */
static void changed_between(void **state)
{
    (void)state;
    double pixels[PIXELS];
    for (int k = 0; k < PIXELS; ++k)
        pixels[k] = image_of(k);
    for (int forward = 0; forward < 2; ++forward) {
        wf_array *y = line_of(start, POINTS), *image = line_of(pixels, PIXELS), *out = wf_like(image);
        wf_array *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, y), pixel = wf_in(g, image), first[2], second;
        wf_val point = wf_cast(wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32);
        wf_grad(record_march(g, x, image, wf_in(g, turns), point), WF_VALS(x, pixel), first);
        wf_out(g, image, wf_mul(pixel, 2));
        if (forward)
            wf_jvp(WF_VALS(first[1]), WF_VALS(x), WF_VALS(1), &second);
        else
            wf_vjp(WF_VALS(first[0]), WF_VALS(1), WF_VALS(pixel), &second);
        wf_out(g, out, second);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "ask for the derivatives before that");
        wf_array *all[] = { y, image, out, turns };
        for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
            wf_release(all[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_turns),
        cmocka_unit_test(shared_values),
        cmocka_unit_test(reads),
        cmocka_unit_test(thrice),
        cmocka_unit_test(slopes_of_operators),
        cmocka_unit_test(slopes_in_a_loop),
        cmocka_unit_test(effects),
        cmocka_unit_test(refused),
        cmocka_unit_test(changed_between),
    };
    return RUN_ON_ALL(tests);
}
