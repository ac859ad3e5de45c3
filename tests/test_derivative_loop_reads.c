/* test_derivative_loop_reads.c - derivatives with respect to arrays that loops read, whose number of turns the points
 * decide: beside derivatives that C computes turn by turn.
 *
 * ctest: devices first_tier
 */
#include <complex.h>
#undef I
#define I _Complex_I
#include "close_numbers.h"
#include "weft/functions.h"

/* ---- rays ---- */
enum { POINTS = 23, ROWS = 7, COLUMNS = 9, ELEMENTS = ROWS * COLUMNS };

typedef struct way { /* how the rays read */
    wf_border border;
    bool condition; /* only every other turn reads */
    bool twice;     /* an inner loop of t turns reads a line, too */
} way;

typedef struct rays {
    double start[POINTS], image[ELEMENTS], line[COLUMNS];
    int32_t turns[POINTS];
} rays;

static rays make_rays(void)
{
    rays r;
    for (int i = 0; i < POINTS; ++i) {
        r.start[i] = 0.3 * i - 2.1;
        r.turns[i] = i == 5 ? 700 : i == 20 ? 300 : i * 7 % 13;
    }
    for (int k = 0; k < ELEMENTS; ++k)
        r.image[k] = 0.05 * (k * 5 % 11) - 0.2;
    for (int k = 0; k < COLUMNS; ++k)
        r.line[k] = 0.03 * k - 0.1;
    return r;
}

/* The element along an axis that a border mode gives; -1 = none. */
static int64_t element(int64_t i, int64_t n, wf_border border)
{
    const int64_t period = border == WF_BORDER_MIRROR ? 2 * n : 2 * (n - 1);
    if (i >= 0 && i < n)
        return i;
    if (border == WF_BORDER_VALUE)
        return -1;
    if (border == WF_BORDER_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (border == WF_BORDER_PERIODIC)
        return (i % n + n) % n;
    i = (i % period + period) % period;
    return i < n ? i : border == WF_BORDER_MIRROR ? period - 1 - i : period - i;
}

static void place(const way *w, int point, int t, int64_t at[2])
{
    at[0] = (point + 2 * t) % 17;
    at[1] = (3 * point + t) % 19;
    if (w->border == WF_BORDER_NONE) { /* in range while the ray runs */
        at[0] %= ROWS;
        at[1] %= COLUMNS;
    } else {
        at[0] -= 5;
        at[1] -= 5;
    }
    at[0] = element(at[0], ROWS, w->border);
    at[1] = element(at[1], COLUMNS, w->border);
    if (at[0] < 0 || at[1] < 0)
        at[0] = -1;
}

/* y += image[place] sin(y) + y / 64, and reads of a line, for a number of turns; other is read outside of the image.
 * Contributions of the loss c y to the derivatives with respect to the start, the image and the line are added. */
static void ray(const rays *r, const way *w, int point, double c, double *by_start, double *by_image, double *by_line)
{
    static double y[1000], z[1000][8];
    const int32_t n = r->turns[point];
    int64_t at[2];
    y[0] = r->start[point];
    for (int t = 0; t < n; ++t) {
        place(w, point, t, at);
        double v = at[0] < 0 ? 0.5 * y[t] : r->image[at[0] * COLUMNS + at[1]];
        double next = y[t] + (w->condition && t % 2 ? 0 : v * sin(y[t])) - y[t] / 64;
        z[t][0] = next;
        for (int k = 0; w->twice && k < t % 5; ++k)
            z[t][k + 1] = z[t][k] + r->line[(k + t) % COLUMNS] * cos(z[t][k]);
        y[t + 1] = z[t][w->twice ? t % 5 : 0];
    }
    for (int t = n; t-- > 0;) {
        for (int k = w->twice ? t % 5 : 0; k-- > 0;) {
            by_line[(k + t) % COLUMNS] += c * cos(z[t][k]);
            c *= 1 - r->line[(k + t) % COLUMNS] * sin(z[t][k]);
        }
        place(w, point, t, at);
        double change = 1 - 1.0 / 64;
        if (!(w->condition && t % 2)) {
            double v = at[0] < 0 ? 0.5 * y[t] : r->image[at[0] * COLUMNS + at[1]];
            change += v * cos(y[t]) + (at[0] < 0 ? 0.5 * sin(y[t]) : 0);
            if (at[0] >= 0)
                by_image[at[0] * COLUMNS + at[1]] += c * sin(y[t]);
        }
        c *= change;
    }
    *by_start = c;
}

static wf_val record_ray(wf_graph *g, const way *w, wf_val start, wf_val point, wf_val turns, wf_array *image,
                         wf_array *line)
{
    wf_var y = wf_local(g, WF_F64, start), t = wf_local(g, WF_I32, 0);
    const bool near = w->border == WF_BORDER_NONE;
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_val row = wf_mod(wf_add(point, wf_mul(t, 2)), 17), column = wf_mod(wf_add(wf_mul(point, 3), t), 19);
        row = near ? wf_mod(row, ROWS) : wf_sub(row, 5);
        column = near ? wf_mod(column, COLUMNS) : wf_sub(column, 5);
        wf_var v = wf_local(g, WF_F64, 0);
        WF_IF (g, wf_or(wf_eq(wf_mod(t, 2), 0), !w->condition)) {
            wf_set(v, near ? wf_read(g, image, row, column)
                           : wf_read_border(g, image, w->border, wf_mul(y, 0.5), row, column));
        }
        WF_END(g);
        wf_inc(y, wf_sub(wf_mul(v, wf_sin(y)), wf_mul(y, 1.0 / 64)));
        if (w->twice) {
            wf_var k = wf_local(g, WF_I32, 0);
            WF_WHILE (g, wf_lt(k, wf_mod(t, 5))) {
                wf_inc(y, wf_mul(wf_read(g, line, wf_mod(wf_add(k, t), COLUMNS)), wf_cos(y)));
                wf_inc(k, 1);
            }
            WF_END(g);
        }
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_get(y);
}

static const way ways[] = {
    { WF_BORDER_NONE, false, false },     { WF_BORDER_VALUE, false, false }, { WF_BORDER_CLAMP, true, false },
    { WF_BORDER_PERIODIC, false, false }, { WF_BORDER_MIRROR, true, true },  { WF_BORDER_REFLECT, false, false },
    { WF_BORDER_VALUE, true, true },      { WF_BORDER_NONE, true, true },
};

static void march(bool space)
{
    const rays r = make_rays();
    double c[POINTS], by_start[POINTS];
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        const way *w = &ways[k];
        double by_image[ELEMENTS] = { 0 }, by_line[COLUMNS] = { 0 }, along[POINTS] = { 0 };
        double direction[ELEMENTS], of_line[COLUMNS];
        for (int e = 0; e < ELEMENTS; ++e)
            direction[e] = 0.01 * (e % 4) - 0.02;
        for (int e = 0; e < COLUMNS; ++e)
            of_line[e] = 0.02 * (e % 3);
        for (int i = 0; i < POINTS; ++i) {
            double image[ELEMENTS] = { 0 }, line[COLUMNS] = { 0 };
            ray(&r, w, i, 1, &by_start[i], image, line);
            along[i] = 0;
            for (int e = 0; e < ELEMENTS; ++e)
                along[i] += image[e] * direction[e];
            for (int e = 0; e < COLUMNS; ++e)
                along[i] += line[e] * of_line[e];
            c[i] = 1 + 0.1 * i;
            ray(&r, w, i, c[i], &by_start[i], by_image, by_line);
        }
        wf_array *a = line_of(r.start, POINTS), *n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), r.turns);
        wf_array *image = array_of(ctx, WF_F64, WF_SHAPE(ROWS, COLUMNS), r.image), *line = line_of(r.line, COLUMNS);
        wf_array *di = array_of(ctx, WF_F64, WF_SHAPE(ROWS, COLUMNS), direction), *dl = line_of(of_line, COLUMNS);
        wf_array *up = line_of(c, POINTS), *ga = wf_like(a), *gi = wf_like(image), *gl = wf_like(line);
        wf_array *y = wf_like(a), *dy = wf_like(a);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx);
        if (space) {
            wf_out(g, y, record_ray(g, w, wf_in(g, a), wf_cast(wf_index(g, 0), WF_I32), wf_in(g, n), image, line));
            OK(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(a, image, line), WF_ARRAYS(ga, gi, gl)));
            g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
            wf_out(g, y, record_ray(g, w, wf_in(g, a), wf_cast(wf_index(g, 0), WF_I32), wf_in(g, n), image, line));
            OK(ctx, wf_tangent(g, WF_ARRAYS(image, line), WF_ARRAYS(di, dl), WF_ARRAYS(y), WF_ARRAYS(dy)));
        } else {
            wf_val v = wf_in(g, a), whole = wf_in(g, image), all = wf_in(g, line), gradient[3], tangent;
            wf_val out =
                record_ray(g, w, v, wf_cast(wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32), wf_in(g, n), image, line);
            wf_vjp(WF_VALS(out), WF_VALS(wf_in(g, up)), WF_VALS(v, whole, all), gradient);
            wf_out(g, ga, gradient[0]);
            wf_out(g, gi, gradient[1]);
            wf_out(g, gl, gradient[2]);
            wf_jvp(WF_VALS(out), WF_VALS(whole, all), WF_VALS(wf_in(g, di), wf_in(g, dl)), &tangent);
            wf_out(g, dy, tangent);
            OK(ctx, wf_run(g));
        }
        expect_close_and_release(ga, by_start, 1e-10);
        expect_close_and_release(gi, by_image, 1e-10);
        expect_close_and_release(gl, by_line, 1e-10);
        expect_close_and_release(dy, along, 1e-10);
        wf_release(y);
        wf_release(up);
        wf_release(dl);
        wf_release(di);
        wf_release(line);
        wf_release(image);
        wf_release(n);
        wf_release(a);
    }
}

static void in_index_spaces(void **state)
{
    (void)state;
    march(true);
}

static void in_array_graphs(void **state)
{
    (void)state;
    march(false);
}

/* ---- the point's own elements ---- */
static wf_val record_own(wf_graph *g, wf_array *b, wf_val start, wf_val turns)
{
    wf_var y = wf_local(g, WF_F64, start), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_var k = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(k, wf_mod(t, 3))) {
            wf_inc(y, wf_mul(wf_in(g, b), wf_sin(y)));
            wf_inc(k, 1);
        }
        WF_END(g);
        WF_IF (g, wf_gt(y, 0))
            wf_inc(y, wf_mul(wf_mul(wf_in(g, b), wf_in(g, b)), 0.125));
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_get(y);
}

/* Loops read the elements of their points: with respect to these, in both modes. */
static void own_elements(void **state)
{
    (void)state;
    double b[POINTS], want[POINTS];
    const rays r = make_rays();
    for (int i = 0; i < POINTS; ++i) {
        double y = r.start[i];
        b[i] = 0.02 * i - 0.25;
        want[i] = 0;
        for (int t = 0; t < r.turns[i]; ++t) {
            for (int k = 0; k < t % 3; ++k) {
                want[i] += sin(y) + b[i] * cos(y) * want[i];
                y += b[i] * sin(y);
            }
            if (y > 0) {
                want[i] += 0.25 * b[i];
                y += 0.125 * b[i] * b[i];
            }
        }
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *a = line_of(r.start, POINTS), *n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), r.turns);
        wf_array *all = line_of(b, POINTS), *y = wf_like(a), *back = wf_like(a), *along = wf_like(a);
        double ones[POINTS];
        for (int i = 0; i < POINTS; ++i)
            ones[i] = 1;
        wf_array *one = line_of(ones, POINTS);
        for (int mode = 0; mode < 2; ++mode) {
            wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx);
            wf_val whole = wf_in(g, all), v = record_own(g, all, wf_in(g, a), wf_in(g, n)), derivative;
            if (space)
                wf_out(g, y, v);
            else if (mode)
                wf_jvp(WF_VALS(v), WF_VALS(whole), WF_VALS(1), &derivative);
            else
                wf_vjp(WF_VALS(v), WF_VALS(1), WF_VALS(whole), &derivative);
            if (!space) {
                wf_out(g, mode ? along : back, derivative);
                OK(ctx, wf_run(g));
            } else if (mode)
                OK(ctx, wf_tangent(g, WF_ARRAYS(all), WF_ARRAYS(one), WF_ARRAYS(y), WF_ARRAYS(along)));
            else
                OK(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(one), WF_ARRAYS(all), WF_ARRAYS(back)));
        }
        expect_close_and_release(back, want, 1e-10);
        expect_close_and_release(along, want, 1e-10);
        wf_release(one);
        wf_release(y);
        wf_release(all);
        wf_release(n);
        wf_release(a);
    }
}

/* Products of elements of a complex table: the gradient, and the derivative of the gradient along a direction. */
static void complex_table(void **state)
{
    (void)state;
    enum { N = 4, LENGTH = 5 };
    const int32_t turns[N] = { 0, 1, 4, 5 };
    double complex table[LENGTH], want[LENGTH] = { 0 };
    for (int k = 0; k < LENGTH; ++k)
        table[k] = 0.5 + 0.25 * k - 0.3 * I * k;
    for (int i = 0; i < N; ++i) { /* |z|^2 for z = the product of the elements (i + t) % LENGTH */
        double complex z = 1;
        for (int t = 0; t < turns[i]; ++t)
            z *= table[(i + t) % LENGTH];
        for (int t = 0; t < turns[i]; ++t)
            want[(i + t) % LENGTH] += 2 * z * conj(z / table[(i + t) % LENGTH]);
    }
    wf_array *a = array_of(ctx, WF_C128, WF_SHAPE(LENGTH), table), *n = array_of(ctx, WF_I32, WF_SHAPE(N), turns);
    wf_array *back = wf_like(a), *along = wf_empty(ctx, WF_F64, WF_SHAPE());
    wf_graph *g = wf_begin(ctx);
    wf_val whole = wf_in(g, a), point = wf_cast(wf_iota(g, WF_SHAPE(N), 0), WF_I32), gradient, tangent;
    wf_var z = wf_local(g, WF_C128, 1), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
        wf_set(z, wf_mul(z, wf_read(g, a, wf_mod(wf_add(point, t), LENGTH))));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_val loss = wf_reduce(WF_JOIN_ADD, wf_real(wf_mul(z, wf_conj(z))), WF_ALL_AXES);
    wf_grad(loss, WF_VALS(whole), &gradient);
    wf_jvp(WF_VALS(loss), WF_VALS(whole), WF_VALS(wf_const(g, WF_C128, 1)), &tangent);
    wf_out(g, back, gradient);
    wf_out(g, along, tangent);
    OK(ctx, wf_run(g));
    double *got = contents_as(back, WF_C128), sum = 0;
    for (int k = 0; k < LENGTH; ++k) {
        sum += creal(want[k]);
        if (!(cabs(got[2 * k] + I * got[2 * k + 1] - want[k]) <= 1e-12 * (1 + cabs(want[k]))))
            fail_msg("element %d is %g %+gi and should be %g %+gi", k, got[2 * k], got[2 * k + 1], creal(want[k]),
                     cimag(want[k]));
    }
    free(got);
    expect_close_and_release(along, &sum, 1e-12);
    wf_release(back);
    wf_release(n);
    wf_release(a);
}

/* Forward over reverse: the loop that goes back scatters, and so does the loop of its tangents. The loss is the sum of
 * exp(the sum of elements t < n of the table), whose second derivative is known. */
static void second(void **state)
{
    (void)state;
    enum { N = 6, LENGTH = 8 };
    const int32_t turns[N] = { 3, 0, 8, 5, 1, 8 };
    double table[LENGTH], direction[LENGTH], first[LENGTH] = { 0 }, want[LENGTH] = { 0 };
    for (int k = 0; k < LENGTH; ++k) {
        table[k] = 0.1 * k - 0.3;
        direction[k] = 0.5 - 0.2 * k;
    }
    for (int i = 0; i < N; ++i) {
        double sum = 0, along = 0;
        for (int k = 0; k < turns[i]; ++k) {
            sum += table[k];
            along += direction[k];
        }
        for (int k = 0; k < turns[i]; ++k) {
            first[k] += exp(sum);
            want[k] += exp(sum) * along;
        }
    }
    wf_array *a = line_of(table, LENGTH), *d = line_of(direction, LENGTH),
             *n = array_of(ctx, WF_I32, WF_SHAPE(N), turns);
    wf_array *back = wf_like(a), *twice = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val whole = wf_in(g, a), gradient, tangent;
    wf_var y = wf_local(g, WF_F64, 1), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
        wf_set(y, wf_mul(y, wf_exp(wf_read(g, a, t))));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_grad(wf_reduce(WF_JOIN_ADD, y, WF_ALL_AXES), WF_VALS(whole), &gradient);
    wf_jvp(WF_VALS(gradient), WF_VALS(whole), WF_VALS(wf_in(g, d)), &tangent);
    wf_out(g, back, gradient);
    wf_out(g, twice, tangent);
    OK(ctx, wf_run(g));
    expect_close_and_release(back, first, 1e-12);
    expect_close_and_release(twice, want, 1e-12);
    wf_release(n);
    wf_release(d);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_index_spaces), cmocka_unit_test(in_array_graphs), cmocka_unit_test(own_elements),
        cmocka_unit_test(complex_table),   cmocka_unit_test(second),
    };
    return RUN_ON_ALL(tests);
}
