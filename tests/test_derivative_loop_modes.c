/* test_derivative_loop_modes.c - derivatives of one loop that reads an image, stores and accumulates, and whose number of turns
 * the points decide: on tapes of launches, of f16 and f32 arrays, in debug mode, with counters that count down, twice. Beside
 * differences in f64.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 6, COLUMNS = 8, PIXELS = 9, SIZES = POINTS + PIXELS };
static const int32_t turns_of[POINTS] = { 0, 1, 8, 3, 5, 7 };

typedef struct scene {
    wf_array *start, *image;      /* [POINTS], [PIXELS]: with respect to which */
    wf_array *turns;              /* [POINTS] */
    wf_array *table, *own, *bins; /* [POINTS, COLUMNS], [POINTS], [PIXELS]: results */
    wf_array *loss;               /* [1] */
} scene;

static double start_of(int k) { return 0.25 + 0.125 * (k * 5 % 7); } /* exact in f16, as are the next */
static double pixel_of(int k) { return 0.125 * (k * 4 % 9) - 0.375; }

static scene make(wf_dtype t, const double *numbers)
{
    scene s = { .start = array_as(t, WF_SHAPE(POINTS), numbers),
                .image = array_as(t, WF_SHAPE(PIXELS), numbers + POINTS),
                .turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of) };
    s.table = wf_full(ctx, t, WF_SHAPE(POINTS, COLUMNS), 0);
    s.own = wf_full(ctx, t, WF_SHAPE(POINTS), 0.5);
    s.bins = wf_full(ctx, t, WF_SHAPE(PIXELS), 0);
    s.loss = wf_full(ctx, t == WF_F64 ? WF_F64 : WF_F32, WF_SHAPE(1), 0);
    return s;
}

static void release(const scene *s)
{
    wf_array *const all[] = { s->start, s->image, s->turns, s->table, s->own, s->bins, s->loss };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
}

/* The loop counts from the number of turns down to 0. */
static void march(wf_graph *g, const scene *s, wf_val point)
{
    wf_dtype t = wf_array_dtype(s->start);
    wf_var v = wf_local(g, t, wf_in(g, s->start));
    wf_val k;
    WF_FOR (g, k, wf_sub(wf_in(g, s->turns), 1), -1, -1) {
        wf_val pixel = wf_read(g, s->image, wf_mod(wf_add(point, wf_mul(k, 2)), PIXELS));
        wf_set(v, wf_add(wf_mul(v, 0.5), wf_mul(pixel, wf_mul(v, v))));
        wf_write(g, s->table, wf_mul(v, pixel), point, k);
        wf_accumulate(g, WF_JOIN_ADD, s->bins, v, wf_mod(wf_add(point, k), PIXELS));
        WF_IF (g, wf_ne(k, 0))
            wf_out(g, s->own, wf_mul(v, v));
        WF_END(g);
    }
    WF_END(g);
}

static wf_graph *begin(bool space) { return space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx); }
static wf_val point_of(wf_graph *g, bool space)
{
    return wf_cast(space ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32);
}

/* The loss: weighted squares of all results. */
static wf_val loss_of(wf_graph *g, const scene *s)
{
    const wf_dtype t = wf_array_dtype(s->loss);
    wf_val table = wf_cast(wf_in(g, s->table), t), own = wf_cast(wf_in(g, s->own), t);
    wf_val bins = wf_cast(wf_in(g, s->bins), t);
    wf_val sum = wf_add(total(wf_mul(own, own)), total(wf_mul(wf_mul(bins, bins), 0.25)));
    return wf_add(wf_reshape(sum, WF_SHAPE(1)), wf_reshape(total(wf_mul(table, table)), WF_SHAPE(1)));
}

static double value(const double *numbers)
{
    scene s = make(WF_F64, numbers);
    wf_graph *g = begin(true);
    march(g, &s, point_of(g, true));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, s.loss, loss_of(g, &s));
    OK(ctx, wf_run(g));
    const double result = scalar_f64(s.loss);
    release(&s);
    return result;
}

static double all[SIZES], want[SIZES], along; /* along: all numbers */

static void differentiate(void)
{
    const double h = 1e-5;
    along = 0;
    for (int k = 0; k < SIZES; ++k)
        all[k] = k < POINTS ? start_of(k) : pixel_of(k - POINTS);
    for (int k = 0; k < SIZES; ++k) {
        const double x = all[k];
        all[k] = x + h;
        want[k] = value(all);
        all[k] = x - h;
        want[k] = (want[k] - value(all)) / (2 * h);
        all[k] = x;
        along += want[k];
    }
}

static void expect_derivatives(const wf_array *start, const wf_array *image, double tolerance)
{
    expect_close(start, want, tolerance);
    expect_close(image, want + POINTS, tolerance);
}

/* Two launches, of the march and of the loss, on a tape. */
static void on_tapes(void **state)
{
    (void)state;
    differentiate();
    for (int space = 0; space < 2; ++space) {
        scene s = make(WF_F64, all);
        wf_array *start = wf_like(s.start), *image = wf_like(s.image);
        wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(s.start, s.image));
        wf_graph *g = begin(space);
        march(g, &s, point_of(g, space));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx);
        wf_out(g, s.loss, loss_of(g, &s));
        OK(ctx, wf_run(g));
        OK(ctx, wf_tape_grad(tape, s.loss, WF_ARRAYS(s.start, s.image), WF_ARRAYS(start, image)));
        expect_derivatives(start, image, 1e-8);
        wf_tape_free(tape);
        wf_release(start);
        wf_release(image);
        release(&s);
    }
}

/* In one array graph, both modes. */
static void in_graph(wf_dtype t, double tolerance)
{
    scene s = make(t, all);
    wf_array *start = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0), *image = wf_full(ctx, WF_F32, WF_SHAPE(PIXELS), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, s.start), pixels = wf_in(g, s.image), out[2], tangent;
    march(g, &s, point_of(g, false));
    wf_val loss = loss_of(g, &s);
    wf_grad(loss, WF_VALS(x, pixels), out);
    wf_jvp(WF_VALS(loss), WF_VALS(x, pixels), WF_VALS(1, 1), &tangent);
    wf_out(g, start, out[0]);
    wf_out(g, image, out[1]);
    wf_out(g, s.loss, tangent);
    OK(ctx, wf_run(g));
    expect_derivatives(start, image, tolerance);
    expect_close(s.loss, &along, tolerance);
    wf_release(start);
    wf_release(image);
    release(&s);
}

/* As an operator, with respect to all results together: upstream arrays are the derivatives of the loss. */
static void as_operator(wf_dtype t, double tolerance)
{
    scene s = make(t, all);
    wf_array *start = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0), *image = wf_full(ctx, WF_F32, WF_SHAPE(PIXELS), 0);
    wf_array *table = wf_full(ctx, WF_F32, WF_SHAPE(POINTS, COLUMNS), 0),
             *own = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0);
    wf_array *bins = wf_full(ctx, WF_F32, WF_SHAPE(PIXELS), 0), *one = wf_full(ctx, t, WF_SHAPE(POINTS), 1);
    wf_array *ones = wf_full(ctx, t, WF_SHAPE(PIXELS), 1);
    wf_graph *g = begin(true);
    march(g, &s, point_of(g, true));
    OK(ctx, wf_run(g));
    scene again = make(t, all); /* the tangents of what is added to are added to */
    wf_array *const of[] = { s.table, s.own, s.bins }, *const up[] = { table, own, bins };
    for (int k = 0; k < 3; ++k) {
        g = wf_begin(ctx);
        wf_out(g, up[k], wf_mul(wf_cast(wf_in(g, of[k]), WF_F32), k == 2 ? 0.5 : 2));
        OK(ctx, wf_run(g));
    }
    g = begin(true);
    march(g, &again, point_of(g, true));
    OK(ctx, wf_adjoint(g, WF_ARRAYS(again.table, again.own, again.bins), WF_ARRAYS(table, own, bins),
                       WF_ARRAYS(again.start, again.image), WF_ARRAYS(start, image)));
    expect_derivatives(start, image, tolerance);
    wf_array *of_table = wf_full(ctx, WF_F32, WF_SHAPE(POINTS, COLUMNS), 0);
    wf_array *of_own = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0), *of_bins = wf_full(ctx, WF_F32, WF_SHAPE(PIXELS), 0);
    wf_array *sum = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    g = begin(true);
    march(g, &again, point_of(g, true));
    OK(ctx, wf_tangent(g, WF_ARRAYS(again.start, again.image), WF_ARRAYS(one, ones),
                       WF_ARRAYS(again.table, again.own, again.bins), WF_ARRAYS(of_table, of_own, of_bins)));
    g = wf_begin(ctx);
    wf_val products = wf_reshape(total(wf_mul(wf_in(g, table), wf_in(g, of_table))), WF_SHAPE(1));
    products = wf_add(products, wf_add(total(wf_mul(wf_in(g, own), wf_in(g, of_own))),
                                       total(wf_mul(wf_in(g, bins), wf_in(g, of_bins)))));
    wf_out(g, sum, products);
    OK(ctx, wf_run(g));
    expect_close(sum, &along, tolerance);
    wf_array *const more[] = { start, image, table, own, bins, one, ones, of_table, of_own, of_bins, sum };
    for (size_t k = 0; k < sizeof more / sizeof *more; ++k)
        wf_release(more[k]);
    release(&again);
    release(&s);
}

static void dtypes(void **state)
{
    (void)state;
    differentiate();
    in_graph(WF_F32, 1e-5);
    as_operator(WF_F32, 1e-5);
    in_graph(WF_F16, 2e-2);
    as_operator(WF_F16, 2e-2);
}

static void debug_mode(void **state)
{
    (void)state;
    differentiate();
    wf_set_flags(ctx, WF_FLAG_DEBUG, 0);
    in_graph(WF_F64, 1e-6);
    as_operator(WF_F64, 1e-6);
    wf_set_flags(ctx, 0, WF_FLAG_DEBUG);
}

/* The gradient of the sum of a gradient is the derivative of the gradient in the direction of ones. */
static void reverse_twice(void **state)
{
    (void)state;
    for (int k = 0; k < SIZES; ++k)
        all[k] = k < POINTS ? start_of(k) : pixel_of(k - POINTS);
    scene s = make(WF_F64, all);
    wf_array *back = wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 7), *ahead = wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 8);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, s.start), first, second, directional;
    march(g, &s, point_of(g, false));
    wf_grad(loss_of(g, &s), WF_VALS(x), &first);
    wf_grad(total(first), WF_VALS(x), &second);
    wf_jvp(WF_VALS(first), WF_VALS(x), WF_VALS(1), &directional);
    wf_out(g, back, second);
    wf_out(g, ahead, directional);
    OK(ctx, wf_run(g));
    double *slope = contents(ahead), size = 0;
    for (int k = 0; k < POINTS; ++k)
        size += fabs(slope[k]);
    assert_true(size > 0);
    expect_close(back, slope, 1e-11);
    free(slope);
    wf_release(back);
    wf_release(ahead);
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_tapes),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(debug_mode),
        cmocka_unit_test(reverse_twice),
    };
    return RUN_ON_ALL(tests);
}
