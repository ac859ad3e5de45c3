/* test_derivative_loop_stores.c - derivatives of loops that store and accumulate, and whose number of turns the points
 * decide: reverse and forward mode beside differences, in index spaces and in array graphs.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 5, COLUMNS = 12, SUMS = 4, SIZES = POINTS + POINTS + POINTS * COLUMNS + SUMS };
static const int32_t turns_of[POINTS] = { 0, 1, 3, 5, 4 };

typedef struct arrays {
    wf_array *x, *n;       /* [POINTS] what the points compute with; their numbers of turns */
    wf_array *own, *table; /* [POINTS], [POINTS, COLUMNS]: what they store to */
    wf_array *sums;        /* [SUMS]: what they add to */
} arrays;

/* Records a loop of the points, whose numbers are i (i32). */
typedef void body_of(wf_graph *g, const arrays *a, wf_val i);

static wf_val wide(wf_val i) { return wf_cast(i, WF_I64); }
static wf_val left(wf_graph *g, const arrays *a, wf_var t) { return wf_lt(t, wf_in(g, a->n)); }

static void adds(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(v, wf_sin(wf_in(g, a->x))));
        wf_accumulate_if(g, wf_ne(t, 2), WF_JOIN_ADD, a->sums, wf_mul(v, v), wf_mod(wf_add(i, t), SUMS));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Nothing is carried from turn to turn. */
static void adds_alone(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1) {
        wf_accumulate(g, WF_JOIN_ADD, a->sums, wf_mul(wf_exp(wf_in(g, a->x)), wf_cast(t, WF_F64)),
                      wf_mod(wf_add(i, wf_mul(t, 3)), SUMS));
    }
    WF_END(g);
}

static void own_element(wf_graph *g, const arrays *a, wf_val i)
{
    (void)i;
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_add(wf_mul(v, v), 0.25));
        WF_IF (g, wf_ne(t, 4))
            wf_out(g, a->own, wf_mul(v, wf_in(g, a->x)));
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void fixed_element(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(wf_sin(v), 2));
        wf_write(g, a->table, wf_mul(v, v), wide(i), wide(wf_in(g, a->n)));
        wf_write_if(g, wf_lt(t, 2), a->table, v, wide(i), wf_add(wide(wf_in(g, a->n)), 1));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Two statements store to one element. */
static void twice(wf_graph *g, const arrays *a, wf_val i)
{
    (void)i;
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    wf_out(g, a->own, wf_mul(v, 3));
    WF_WHILE (g, left(g, a, t)) {
        WF_IF (g, wf_eq(wf_mod(t, 2), 0))
            wf_out(g, a->own, wf_mul(v, 5));
        WF_END(g);
        wf_set(v, wf_mul(wf_sin(v), 2));
        WF_IF (g, wf_ne(t, 3))
            wf_out(g, a->own, wf_mul(v, v));
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
    WF_IF (g, wf_eq(wf_in(g, a->n), 1))
        wf_out(g, a->own, wf_mul(v, 7));
    WF_END(g);
}

static void counted_elements(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(wf_sin(v), 2));
        wf_write_if(g, wf_ne(t, 1), a->table, wf_mul(v, wf_in(g, a->x)), i, wf_sub(11, wf_mul(t, 2)));
        wf_write(g, a->table, v, i, wf_sub(10, wf_mul(t, 2)));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void counted_with_break(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x));
    wf_val t;
    WF_FOR (g, t, 0, wf_mul(wf_in(g, a->n), 2), 2) {
        wf_set(v, wf_mul(v, wf_in(g, a->x)));
        WF_IF (g, wf_eq(t, 2))
            wf_continue(g);
        WF_END(g);
        wf_write(g, a->table, v, i, wf_add(t, 1));
        WF_IF (g, wf_eq(t, 6))
            wf_break(g);
        WF_END(g);
    }
    WF_END(g);
}

static void nested(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_var k = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(k, wf_mod(wf_add(t, i), 3))) {
            wf_set(v, wf_mul(wf_sin(v), wf_add(wf_in(g, a->x), 1)));
            wf_accumulate(g, WF_JOIN_ADD, a->sums, v, wf_add(wf_mod(k, 2), 1));
            wf_write(g, a->table, wf_mul(v, v), i, t);
            wf_out(g, a->own, wf_mul(v, 3));
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* More turns than a tape has. */
static void many_turns(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_mul(wf_in(g, a->n), 300))) {
        wf_inc(v, wf_mul(wf_sin(v), 1.0 / 256));
        wf_accumulate_if(g, wf_eq(wf_mod(t, 100), 7), WF_JOIN_ADD, a->sums, v, wf_mod(i, SUMS));
        WF_IF (g, wf_lt(t, 500))
            wf_out(g, a->own, wf_mul(v, v));
        WF_END(g);
        wf_write_if(g, wf_lt(t, COLUMNS), a->table, wf_exp(v), i, t);
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* The loop is in a condition, and has a condition of its own. */
static void in_a_condition(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, 0);
    WF_IF (g, wf_ne(i, 3)) {
        WF_WHILE (g, left(g, a, t)) {
            wf_set(v, wf_mul(wf_sin(v), 2));
            wf_accumulate(g, WF_JOIN_ADD, a->sums, v, wf_mod(t, SUMS));
            WF_IF (g, wf_gt(v, 0.5))
                wf_out(g, a->own, wf_mul(v, v));
            WF_END(g);
            wf_write(g, a->table, wf_mul(v, 3), i, t);
            wf_inc(t, 1);
        }
        WF_END(g);
    }
    WF_ELSE(g) { wf_out(g, a->own, wf_mul(v, 9)); }
    WF_END(g);
}

/* Each loop stores to the elements of the other one, or adds to what it adds to. */
static void two_loops(wf_graph *g, const arrays *a, wf_val i)
{
    (void)i;
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x));
    for (int k = 0; k < 2; ++k) {
        wf_var t = wf_local(g, WF_I32, k);
        WF_WHILE (g, left(g, a, t)) {
            wf_set(v, wf_mul(wf_sin(v), k ? 1.5 : 2));
            wf_accumulate(g, WF_JOIN_ADD, a->sums, v, wf_mod(wf_add(t, k), SUMS));
            wf_out(g, a->own, wf_mul(v, v));
            wf_inc(t, 1);
        }
        WF_END(g);
    }
}

/* A constant is stored: what was there has no derivative any more. */
static void constants(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var t = wf_local(g, WF_I32, 0);
    wf_out(g, a->own, wf_mul(wf_in(g, a->x), 3));
    WF_WHILE (g, left(g, a, t)) {
        wf_out(g, a->own, wf_cast(t, WF_F64));
        wf_write(g, a->table, 1, i, t);
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* The counter is changed before its use, and counts down. */
static void counted_down(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->x)), t = wf_local(g, WF_I32, wf_in(g, a->n));
    WF_WHILE (g, wf_gt(t, 0)) {
        wf_set(t, wf_sub(t, 1));
        wf_set(v, wf_mul(wf_sin(v), 1.5));
        wf_write(g, a->table, wf_mul(v, wf_in(g, a->x)), i, t);
    }
    WF_END(g);
}

static const struct {
    const char *name;
    body_of *record;
} rows[] = {
    { "adds", adds },
    { "adds alone", adds_alone },
    { "own element", own_element },
    { "fixed element", fixed_element },
    { "twice", twice },
    { "counted elements", counted_elements },
    { "counted down", counted_down },
    { "counted with break", counted_with_break },
    { "nested", nested },
    { "many turns", many_turns },
    { "in a condition", in_a_condition },
    { "two loops", two_loops },
    { "constants", constants },
};

/* ---- numbers: x, own, table, sums ---- */
typedef double numbers[SIZES];
static double weight(int k) { return 0.3 + 0.1 * (k * 7 % 11); }

static arrays make(const double *of)
{
    return (arrays){ .x = line_of(of, POINTS),
                     .n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of),
                     .own = line_of(of + POINTS, POINTS),
                     .table = array_of(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), of + 2 * POINTS),
                     .sums = line_of(of + 2 * POINTS + POINTS * COLUMNS, SUMS) };
}

static void release(const arrays *a)
{
    wf_array *const all[] = { a->x, a->n, a->own, a->table, a->sums };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
}

/* Appends the contents of x, own, table and sums. */
static void take(const arrays *a, double *to)
{
    wf_array *const all[] = { a->x, a->own, a->table, a->sums };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        double *got = contents(all[k]);
        memcpy(to, got, (size_t)wf_array_count(all[k]) * sizeof *got);
        to += wf_array_count(all[k]);
        free(got);
    }
}

static wf_graph *begin(bool space) { return space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx); }
static wf_val point(wf_graph *g, bool space)
{
    return wf_cast(space ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32);
}

/* The results for these numbers, after one launch. */
static void run(body_of *record, bool space, const double *of, double *results)
{
    arrays a = make(of);
    wf_graph *g = begin(space);
    record(g, &a, point(g, space));
    OK(ctx, wf_run(g));
    take(&a, results);
    release(&a);
}

/* The derivatives of the results in a direction, by differences. */
static void difference(body_of *record, bool space, const double *of, const double *direction, double *along)
{
    const double h = 1e-5;
    numbers low, high, a;
    for (int i = 0; i < SIZES; ++i) {
        low[i] = of[i] - h * direction[i];
        high[i] = of[i] + h * direction[i];
    }
    run(record, space, low, a);
    run(record, space, high, along);
    for (int i = 0; i < SIZES; ++i)
        along[i] = (along[i] - a[i]) / (2 * h);
}

/* The gradient of the weighted sum of the results but x, by differences. A result depends on the contents from before of its
 * own element alone. */
static void differences(body_of *record, bool space, const double *of, double *gradient)
{
    numbers one = { 0 }, along;
    for (int k = 0; k < POINTS; ++k) {
        one[k] = 1;
        difference(record, space, of, one, along);
        one[k] = gradient[k] = 0;
        for (int i = POINTS; i < SIZES; ++i)
            gradient[k] += weight(i) * along[i];
    }
    for (int i = POINTS; i < SIZES; ++i)
        one[i] = 1;
    difference(record, space, of, one, along);
    for (int i = POINTS; i < SIZES; ++i)
        gradient[i] = weight(i) * along[i];
}

static void derive_graph(body_of *record, const arrays *a, const arrays *w, const arrays *d, const arrays *back,
                         const arrays *along)
{
    for (int forward = 0; forward < 2; ++forward) {
        wf_graph *g = wf_begin(ctx);
        wf_val before[] = { wf_in(g, a->x), wf_in(g, a->own), wf_in(g, a->table), wf_in(g, a->sums) };
        record(g, a, point(g, false));
        wf_val after[] = { wf_in(g, a->own), wf_in(g, a->table), wf_in(g, a->sums) }, out[4];
        if (forward) {
            wf_jvp_n((wf_vals){ after, 3 }, (wf_vals){ before, 4 },
                     WF_VALS(wf_in(g, d->x), wf_in(g, d->own), wf_in(g, d->table), wf_in(g, d->sums)), out);
            wf_out(g, along->own, out[0]);
            wf_out(g, along->table, out[1]);
            wf_out(g, along->sums, out[2]);
        } else {
            wf_vjp_n((wf_vals){ after, 3 }, WF_VALS(wf_in(g, w->own), wf_in(g, w->table), wf_in(g, w->sums)),
                     (wf_vals){ before, 4 }, out);
            wf_out(g, back->x, out[0]);
            wf_out(g, back->own, out[1]);
            wf_out(g, back->table, out[2]);
            wf_out(g, back->sums, out[3]);
        }
        OK(ctx, wf_run(g));
    }
}

/* Lists the arrays that the operator stores. */
static wf_arrays stored(const arrays *a, body_of *record, wf_array **to)
{
    numbers of, after;
    size_t n = 0;
    for (int k = 0; k < SIZES; ++k)
        of[k] = 0.37;
    run(record, true, of, after);
    bool own = false, table = false, sums = false;
    for (int k = POINTS; k < SIZES; ++k)
        if (after[k] != 0.37)
            *(k < 2 * POINTS ? &own : k < SIZES - SUMS ? &table : &sums) = true;
    if (own)
        to[n++] = a->own;
    if (table)
        to[n++] = a->table;
    if (sums)
        to[n++] = a->sums;
    return (wf_arrays){ to, n };
}

static void derive_space(body_of *record, const arrays *a, const arrays *w, const arrays *d, const arrays *back,
                         const arrays *along)
{
    wf_array *out[3], *up[3], *tangent[3], *wrt[4] = { a->x }, *grad[4] = { back->x }, *direction[4] = { d->x };
    const wf_arrays outs = stored(a, record, out);
    stored(w, record, up);
    stored(along, record, tangent);
    stored(a, record, wrt + 1);
    stored(back, record, grad + 1);
    stored(d, record, direction + 1);
    const size_t n = outs.n;
    wf_graph *g = begin(true);
    record(g, a, point(g, true));
    OK(ctx, wf_adjoint(g, outs, (wf_arrays){ up, n }, (wf_arrays){ wrt, n + 1 }, (wf_arrays){ grad, n + 1 }));
    g = begin(true);
    record(g, a, point(g, true));
    OK(ctx, wf_tangent(g, (wf_arrays){ wrt, 1 }, (wf_arrays){ direction, 1 }, outs, (wf_arrays){ tangent, n }));
}

static void compare(const char *name, const char *what, const double *got, const double *want)
{
    for (int k = 0; k < SIZES; ++k)
        if (!(fabs(got[k] - want[k]) <= 1e-7 * (1 + fabs(want[k]))))
            fail_msg("%s, %s: number %d is %.12g and should be %.12g", name, what, k, got[k], want[k]);
}

static void check(size_t row, bool space)
{
    numbers of, direction, weights, zero = { 0 }, gradient, along, got;
    for (int k = 0; k < SIZES; ++k) {
        of[k] = 0.2 + 0.13 * (k * 5 % 9);
        direction[k] = k >= POINTS && space ? 0 : 0.4 - 0.1 * (k * 3 % 7);
        weights[k] = weight(k);
    }
    differences(rows[row].record, space, of, gradient);
    difference(rows[row].record, space, of, direction, along);
    arrays a = make(of), w = make(weights), d = make(direction), back = make(zero), forward = make(zero);
    (space ? derive_space : derive_graph)(rows[row].record, &a, &w, &d, &back, &forward);
    take(&back, got);
    wf_array *list[3];
    const wf_arrays changed = stored(&back, rows[row].record, list);
    for (int k = POINTS; k < SIZES && space; ++k) { /* others are not wanted */
        const wf_array *in = k < 2 * POINTS ? back.own : k < SIZES - SUMS ? back.table : back.sums;
        bool any = false;
        for (size_t i = 0; i < changed.n; ++i)
            any = any || changed.at[i] == in;
        gradient[k] = any ? gradient[k] : got[k];
    }
    compare(rows[row].name, "back", got, gradient);
    take(&forward, got);
    memcpy(got, along, POINTS * sizeof *got);
    compare(rows[row].name, "forward", got, along);
    release(&forward);
    release(&back);
    release(&d);
    release(&w);
    release(&a);
}

static void in_index_spaces(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        check(k, true);
}

static void in_array_graphs(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        check(k, false);
}

/* ---- other arrays ---- */
/* The sum of the products of complex elements x^t, in an array of rank 0, and the last x^n in that of the points. */
static void complex_numbers(void **state)
{
    (void)state;
    const double x[2 * POINTS] = { 0.5, 0.25, 1, -0.5, -0.75, 0.5, 0.25, 1, 0.5, -1 };
    double want[2 * POINTS];
    for (int i = 0; i < POINTS; ++i) { /* L = Re(the sum of x + ... + x^n) + Re(3 x^n): the gradient is conj(dL/dx) */
        double re = 1, im = 0, sum_re = 0, sum_im = 0; /* x^(t - 1) */
        for (int t = 1; t <= turns_of[i]; ++t) {
            const double by = t + (t == turns_of[i] ? 3 * t : 0), old = re;
            sum_re += by * re;
            sum_im += by * im;
            re = re * x[2 * i] - im * x[2 * i + 1];
            im = old * x[2 * i + 1] + im * x[2 * i];
        }
        want[2 * i] = sum_re;
        want[2 * i + 1] = -sum_im;
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *a = array_of(ctx, WF_C128, WF_SHAPE(POINTS), x),
                 *n = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_array *sum = wf_full(ctx, WF_C128, (wf_shape){ .rank = 0 }, 0),
                 *last = wf_full(ctx, WF_C128, WF_SHAPE(POINTS), 0);
        wf_array *one = wf_full(ctx, WF_C128, (wf_shape){ .rank = 0 }, 1),
                 *three = wf_full(ctx, WF_C128, WF_SHAPE(POINTS), 3);
        wf_array *back = wf_like(a), *along = wf_full(ctx, WF_C128, (wf_shape){ .rank = 0 }, 0),
                 *along_last = wf_full(ctx, WF_C128, WF_SHAPE(POINTS), 0),
                 *ones = wf_full(ctx, WF_C128, WF_SHAPE(POINTS), 1);
        for (int forward = 0; forward < 2; ++forward) {
            wf_graph *g = begin(space);
            wf_val v = wf_in(g, a), out[2];
            wf_var z = wf_local(g, WF_C128, 1), t = wf_local(g, WF_I32, 0);
            WF_WHILE (g, wf_lt(t, wf_in(g, n))) {
                wf_set(z, wf_mul(z, space ? wf_in(g, a) : v));
                wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, sum, wf_get(z), (wf_vals){ NULL, 0 });
                wf_out(g, last, z);
                wf_inc(t, 1);
            }
            WF_END(g);
            if (space && forward)
                OK(ctx,
                   wf_tangent(g, WF_ARRAYS(a), WF_ARRAYS(ones), WF_ARRAYS(sum, last), WF_ARRAYS(along, along_last)));
            else if (space)
                OK(ctx, wf_adjoint(g, WF_ARRAYS(sum, last), WF_ARRAYS(one, three), WF_ARRAYS(a), WF_ARRAYS(back)));
            else if (forward) {
                wf_jvp(WF_VALS(wf_in(g, sum), wf_in(g, last)), WF_VALS(v), WF_VALS(wf_in(g, ones)), out);
                wf_out(g, along, out[0]);
                wf_out(g, along_last, out[1]);
                OK(ctx, wf_run(g));
            } else {
                wf_vjp(WF_VALS(wf_in(g, sum), wf_in(g, last)), WF_VALS(wf_in(g, one), wf_in(g, three)), WF_VALS(v),
                       out);
                wf_out(g, back, out[0]);
                OK(ctx, wf_run(g));
            }
        }
        double *got = contents_as(back, WF_C128), *tangent = contents_as(along, WF_C128),
               *of_last = contents_as(along_last, WF_C128);
        double total_back = 0, total_along = tangent[0];
        for (int k = 0; k < 2 * POINTS; ++k)
            if (!(fabs(got[k] - want[k]) <= 1e-12 * (1 + fabs(want[k]))))
                fail_msg("%s: number %d is %.17g and should be %.17g", space ? "space" : "graph", k, got[k], want[k]);
        for (int i = 0; i < POINTS; ++i) {
            total_back += want[2 * i];
            total_along += 3 * of_last[2 * i];
        }
        if (!(fabs(total_along - total_back) <= 1e-12 * (1 + fabs(total_back))))
            fail_msg("%s: the tangents sum to %.17g, not %.17g", space ? "space" : "graph", total_along, total_back);
        free(of_last);
        free(tangent);
        free(got);
        wf_array *const all[] = { a, n, sum, last, one, three, back, along, along_last, ones };
        for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
            wf_release(all[k]);
    }
}

/* ---- what is refused ---- */
static void by_data(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1)
        wf_write(g, a->table, wf_in(g, a->x), i, wf_mod(wf_mul(t, 3), 5));
    WF_END(g);
}

/* The counter stands still where the condition does not hold. */
static void counter_that_waits(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var k = wf_local(g, WF_I32, 0);
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1) {
        wf_write(g, a->table, wf_in(g, a->x), i, k);
        WF_IF (g, wf_ne(t, 2))
            wf_inc(k, 1);
        WF_END(g);
    }
    WF_END(g);
}

/* An index that grows in each turn but one. */
static void index_that_waits(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1)
        wf_write(g, a->table, wf_in(g, a->x), i, wf_select(wf_ne(t, 2), wf_add(t, 1), t));
    WF_END(g);
}

static void two_that_meet(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1) {
        wf_write(g, a->table, wf_in(g, a->x), i, t);
        wf_write(g, a->table, wf_mul(wf_in(g, a->x), 2), i, wf_add(t, 1));
    }
    WF_END(g);
}

static void reads_what_it_stores(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1)
        wf_out(g, a->own, wf_mul(wf_in(g, a->own), wf_in(g, a->x)));
    WF_END(g);
}

static void by_maximum(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->n), 1)
        wf_accumulate(g, WF_JOIN_MAX, a->sums, wf_mul(wf_in(g, a->x), wf_cast(t, WF_F64)), wf_mod(i, SUMS));
    WF_END(g);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        body_of *record;
        const char *space, *graph;
    } of[] = {
        { by_data, "wf_write in a loop that stays a loop has a derivative if all turns", NULL },
        { counter_that_waits, "wf_write in a loop that stays a loop has a derivative if all turns", NULL },
        { index_that_waits, "wf_write in a loop that stays a loop has a derivative if all turns", NULL },
        { two_that_meet, "wf_write in a loop that stays a loop has no derivative beside other effects", NULL },
        { reads_what_it_stores, NULL, /* test_adjoint_carried.c */
          "a block reads an array that it or a later operation writes" },
        { by_maximum, NULL, /* test_derivative_loop_joins.c */
          "say wf_in of the array there" },
    };
    numbers zero = { 0 };
    for (size_t k = 0; k < sizeof of / sizeof *of; ++k) {
        arrays a = make(zero), w = make(zero), back = make(zero);
        wf_array *out[3], *up[3];
        const wf_arrays outs = { out, 1 };
        const bool own = of[k].record == reads_what_it_stores, sums = of[k].record == by_maximum;
        out[0] = own ? a.own : sums ? a.sums : a.table;
        up[0] = own ? w.own : sums ? w.sums : w.table;
        wf_graph *g = NULL;
        for (int forward = 0; forward < 2 && of[k].space; ++forward) {
            g = begin(true);
            of[k].record(g, &a, point(g, true));
            const wf_arrays along = { up, 1 };
            wf_status status = forward ? wf_tangent(g, WF_ARRAYS(a.x), WF_ARRAYS(w.x), outs, along)
                                       : wf_adjoint(g, outs, along, WF_ARRAYS(a.x), WF_ARRAYS(back.x));
            REFUSED(ctx, status, WF_ERR_UNSUPPORTED, of[k].space);
        }
        for (int forward = 0; forward < 2; ++forward) {
            wf_val gradient;
            g = wf_begin(ctx);
            wf_val x = wf_in(g, a.x);
            of[k].record(g, &a, point(g, false));
            wf_val after = wf_in(g, out[0]);
            if (forward)
                wf_jvp(WF_VALS(after), WF_VALS(x), WF_VALS(1), &gradient);
            else
                wf_vjp(WF_VALS(after), WF_VALS(1), WF_VALS(x), &gradient);
            wf_out(g, forward ? up[0] : back.x, gradient);
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, of[k].graph ? of[k].graph : of[k].space);
        }
        release(&back);
        release(&w);
        release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_index_spaces),
        cmocka_unit_test(in_array_graphs),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
