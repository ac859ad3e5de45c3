/* test_adjoint_twice.c - second derivatives of operators, in reverse mode twice: wf_adjoint on a tape, beside differences of
 * wf_adjoint, reverse mode of wf_tangent, and wf_tangent itself.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 5, COLUMNS = 12, SUMS = 4, SETS = 4, SIZES = POINTS + POINTS + POINTS * COLUMNS + SUMS };
enum { X, OWN, TABLE, BINS };
static const int32_t turns_of[POINTS] = { 0, 1, 3, 5, 4 };
static const wf_shape shape_of[SETS] = {
    { .rank = 1, .dim = { POINTS } },
    { .rank = 1, .dim = { POINTS } },
    { .rank = 2, .dim = { POINTS, COLUMNS } },
    { .rank = 1, .dim = { SUMS } },
};
typedef double numbers[SIZES];

typedef struct arrays {
    wf_array *set[SETS], *turns;
} arrays;

static double number_of(int k) { return 0.4 + 0.13 * ((k * 5 + 2) % 11) - 0.009 * k; }

/* ---- operators ---- */
typedef void body_of(wf_graph *g, const arrays *a, wf_val i);

static wf_val left(wf_graph *g, const arrays *a, wf_var t) { return wf_lt(t, wf_in(g, a->turns)); }

/* No loop. */
static void straight(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]);
    wf_out(g, a->set[OWN], wf_mul(wf_sin(x), x));
    wf_accumulate(g, WF_JOIN_ADD, a->set[BINS], wf_mul(x, wf_mul(x, x)), wf_mod(i, SUMS));
}

/* A function of complex numbers, which is differentiated as a whole: of a number that is real at point 0. */
static void complex_numbers(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]);
    (void)i;
    wf_val z = wf_exp(wf_complex(wf_mul(x, 0.5), wf_sub(x, number_of(0))));
    wf_out(g, a->set[OWN], wf_mul(wf_imag(z), x));
}

/* What is stopped is a constant in the second derivative, too. */
static void stops(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]);
    (void)i;
    wf_out(g, a->set[OWN], wf_mul(wf_stop(wf_sin(x)), wf_mul(x, x)));
}

/* The last value alone. */
static void last_value(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    (void)i;
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(wf_sin(v), 1.5));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_out(g, a->set[OWN], wf_get(v));
}

static void adds(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(v, wf_sin(wf_in(g, a->set[X]))));
        wf_accumulate_if(g, wf_ne(t, 2), WF_JOIN_ADD, a->set[BINS], wf_mul(v, v), wf_mod(wf_add(i, t), SUMS));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void own_element(wf_graph *g, const arrays *a, wf_val i)
{
    (void)i;
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_add(wf_mul(v, v), 0.25));
        WF_IF (g, wf_ne(t, 4))
            wf_out(g, a->set[OWN], wf_mul(v, wf_in(g, a->set[X])));
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void counted_elements(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(wf_sin(v), 2));
        wf_write_if(g, wf_ne(t, 1), a->set[TABLE], wf_mul(v, wf_in(g, a->set[X])), i, wf_sub(11, wf_mul(t, 2)));
        wf_write(g, a->set[TABLE], v, i, wf_sub(10, wf_mul(t, 2)));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Each element is a function of the one before, and of 0.5 before the first one. */
static void recurrence(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1) {
        wf_val v = wf_read_or(g, a->set[TABLE], 0.5, i, wf_sub(t, 1));
        wf_write(g, a->set[TABLE], wf_add(wf_mul(wf_mul(v, v), 0.75), wf_in(g, a->set[X])), i, t);
    }
    WF_END(g);
}

/* The own element becomes a function of itself in each turn. */
static void in_place(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1) {
        wf_val v = wf_in(g, a->set[OWN]);
        wf_out(g, a->set[OWN], wf_mul(wf_mul(v, v), 1.25));
        WF_IF (g, wf_eq(wf_mod(t, 2), 1))
            wf_out(g, a->set[OWN], wf_mul(wf_sin(wf_in(g, a->set[OWN])), wf_in(g, a->set[X])));
        WF_END(g);
    }
    WF_END(g);
}

/* Reads an array that is wanted, in a loop inside of another one. */
static void nested(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_var k = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_lt(k, wf_mod(wf_add(t, i), 3))) {
            wf_val w = wf_read(g, a->set[X], wf_mod(wf_add(i, k), POINTS));
            wf_set(v, wf_mul(wf_sin(v), wf_add(wf_mul(w, w), 1)));
            wf_accumulate(g, WF_JOIN_ADD, a->set[BINS], v, wf_add(wf_mod(k, 2), 1));
            wf_write(g, a->set[TABLE], wf_mul(v, v), i, t);
            wf_out(g, a->set[OWN], wf_mul(v, 3));
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Products and maxima of values of a loop. */
static void joins(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->set[X])), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_mul(wf_sin(v), 1.25));
        wf_accumulate(g, WF_JOIN_MUL, a->set[BINS], wf_add(v, 0.5), wf_mod(wf_add(i, t), SUMS));
        wf_accumulate(g, WF_JOIN_MAX, a->set[OWN], wf_mul(v, v), wf_mod(t, 2));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Loops of the elements of a table, whose results are joined along its rows. */
static void reduces(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var all = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD), product = wf_reduced(g, WF_F64, 1, WF_JOIN_MUL);
    wf_var most = wf_reduced(g, WF_F64, -INFINITY, WF_JOIN_MAX);
    wf_val e = wf_read(g, a->set[TABLE], i, wf_index(g, 1)), scale = wf_read(g, a->set[X], i);
    wf_var v = wf_local(g, WF_F64, e), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_read(g, a->turns, i))) {
        wf_set(v, wf_mul(wf_sin(v), scale));
        wf_accumulate(g, WF_JOIN_ADD, a->set[BINS], wf_mul(v, v), wf_mod(wf_index(g, 1), SUMS));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_inc(all, wf_mul(v, e));
    wf_set(product, wf_mul(product, wf_add(v, 1)));
    wf_set(most, wf_max(most, v));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, a->set[OWN], wf_mul(wf_add(all, wf_get(product)), most));
}

/* The slope of a loop that stores, by what it begins with. */
static void slope(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]), k = wf_read(g, a->set[BINS], wf_mod(i, SUMS)), first[2];
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0), alone = wf_local(g, WF_F64, k);
    WF_WHILE (g, left(g, a, t)) {
        wf_set(v, wf_add(wf_mul(wf_mul(v, v), alone), wf_sin(x)));
        wf_write(g, a->set[TABLE], wf_mul(v, 2), i, t);
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_vjp(WF_VALS(v), WF_VALS(1), WF_VALS(x, k), first);
    wf_out(g, a->set[OWN], wf_mul(first[0], first[1]));
}

/* The same of a loop that reads a table. */
static void slope_of_reads(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]), first;
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, left(g, a, t)) {
        wf_val w = wf_read(g, a->set[TABLE], i, t), own = wf_in(g, a->set[OWN]);
        wf_set(v, wf_add(wf_mul(wf_mul(v, v), w), wf_mul(wf_mul(own, own), v)));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_vjp(WF_VALS(v), WF_VALS(1), WF_VALS(x), &first);
    wf_accumulate(g, WF_JOIN_ADD, a->set[BINS], first, wf_mod(i, SUMS));
}

/* A loop of a known number of turns, too many for straight code unless it reads what is wanted. */
static void slope_of_many_turns(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->set[X]), first, t;
    wf_var v = wf_local(g, WF_F64, x);
    WF_FOR (g, t, 0, 300, 1) {
        wf_val w = wf_read(g, a->set[TABLE], i, wf_mod(t, COLUMNS));
        wf_inc(v, wf_mul(wf_mul(wf_sin(v), w), 1.0 / 256));
    }
    WF_END(g);
    wf_vjp(WF_VALS(v), WF_VALS(1), WF_VALS(x), &first);
    wf_out(g, a->set[OWN], first);
}

enum { POINTWISE, ELEMENTS, REDUCING };
enum { STORES_OWN = 1 << OWN, STORES_TABLE = 1 << TABLE, STORES_BINS = 1 << BINS, ONCE = 1 << SETS };
/* ONCE: it has no second derivative. */
static const struct {
    const char *name;
    body_of *record;
    unsigned kind, stores;
} rows[] = {
    { "straight", straight, POINTWISE, STORES_OWN | STORES_BINS },
    { "stops", stops, ELEMENTS, STORES_OWN },
    { "complex numbers", complex_numbers, ELEMENTS, STORES_OWN },
    { "last value", last_value, ELEMENTS, STORES_OWN },
    { "adds", adds, POINTWISE, STORES_BINS },
    { "own element", own_element, POINTWISE, STORES_OWN },
    { "own element, elements", own_element, ELEMENTS, STORES_OWN },
    { "counted elements", counted_elements, POINTWISE, STORES_TABLE },
    { "recurrence", recurrence, POINTWISE, STORES_TABLE },
    { "in place", in_place, POINTWISE, STORES_OWN },
    { "nested", nested, POINTWISE, STORES_OWN | STORES_TABLE | STORES_BINS },
    { "joins", joins, POINTWISE, STORES_OWN | STORES_BINS },
    { "slope", slope, POINTWISE, STORES_OWN | STORES_TABLE | ONCE },
    { "slope of reads", slope_of_reads, POINTWISE, STORES_BINS | ONCE },
    { "slope of many turns", slope_of_many_turns, POINTWISE, STORES_OWN | ONCE },
    { "reduces", reduces, REDUCING, STORES_OWN | STORES_BINS },
};

/* ---- runs ---- */
static arrays make(const double *of)
{
    arrays a = { .turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of) };
    for (int k = 0; k < SETS; ++k) {
        a.set[k] = array_of(ctx, WF_F64, shape_of[k], of);
        of += wf_array_count(a.set[k]);
    }
    return a;
}

static int64_t elements_of(int set)
{
    const wf_shape *shape = &shape_of[set];
    return shape->rank == 2 ? shape->dim[0] * shape->dim[1] : shape->dim[0];
}

static void take(const arrays *a, double *to)
{
    for (int k = 0; k < SETS; ++k) {
        double *got = contents_as(a->set[k], WF_F64);
        for (int64_t i = 0; i < wf_array_count(a->set[k]); ++i)
            *to++ = got[i];
        free(got);
    }
}

static void release(arrays *a)
{
    for (int k = 0; k < SETS; ++k)
        wf_release(a->set[k]);
    wf_release(a->turns);
}

static wf_graph *record(size_t row, const arrays *a)
{
    const unsigned kind = rows[row].kind;
    wf_graph *g = kind == ELEMENTS   ? wf_begin(ctx, .elements = true)
                  : kind == REDUCING ? wf_begin(ctx, .shape = WF_SHAPE(POINTS, COLUMNS), .reduce = WF_AXES(1))
                                     : wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    rows[row].record(g, a, kind == ELEMENTS ? WF_V(0) : wf_index(g, 0));
    return g;
}

/* Sets stored[] to those of the arrays that the operator stores, and returns their number. */
static size_t stored_by(size_t row, const arrays *a, wf_array *stored[SETS])
{
    size_t n = 0;
    for (int k = 0; k < SETS; ++k)
        if (rows[row].stores >> k & 1)
            stored[n++] = a->set[k];
    return n;
}

/* Returns the sum of the products of all elements. */
static wf_array *product_of(const arrays *a, const arrays *w)
{
    wf_graph *g = wf_begin(ctx);
    wf_val sum = wf_const(g, WF_F64, 0);
    for (int k = 0; k < SETS; ++k)
        sum = wf_add(sum, total(wf_mul(wf_in(g, a->set[k]), wf_in(g, w->set[k]))));
    wf_array *loss = wf_keep(sum);
    OK(ctx, wf_run(g));
    return loss;
}

static void run(size_t row, const double *of, double *after)
{
    arrays a = make(of);
    OK(ctx, wf_run(record(row, &a)));
    take(&a, after);
    release(&a);
}

static void compare(size_t row, const char *what, const double *got, const double *want, double tolerance)
{
    for (int k = 0; k < SIZES; ++k)
        if (!(fabs(got[k] - want[k]) <= tolerance * (1 + fabs(want[k]))))
            fail_msg("%s, %s: number %d is %.12g and should be %.12g", rows[row].name, what, k, got[k], want[k]);
}

/* Sets the gradient of the weighted results. If `second` is not NULL, also the derivatives of the gradient in a direction: by
 * all numbers, and by the weights. */
static void derive(size_t row, const double *of, const double *weights, const double *direction, double *gradient,
                   double *second, double *by_weights)
{
    arrays a = make(of), w = make(weights), d = make(direction), back = make(of), to = make(of), of_w = make(of);
    wf_array *stored[SETS], *upstream[SETS], *both[2 * SETS], *result[2 * SETS];
    numbers same;
    const size_t n = stored_by(row, &a, stored);
    stored_by(row, &w, upstream);
    for (int k = 0; k < SETS; ++k) {
        both[k] = a.set[k];
        both[SETS + k] = w.set[k];
        result[k] = to.set[k];
        result[SETS + k] = of_w.set[k];
    }
    wf_tape *tape = second ? wf_tape_begin(ctx, (wf_arrays){ both, 2 * SETS }) : NULL;
    OK(ctx, wf_adjoint(record(row, &a), (wf_arrays){ stored, n }, (wf_arrays){ upstream, n },
                       (wf_arrays){ a.set, SETS }, (wf_arrays){ back.set, SETS }));
    take(&back, gradient);
    take(&w, same);
    compare(row, "the weights", same, weights, 0);
    if (second) {
        wf_array *loss = product_of(&back, &d);
        /* the arrays change afterwards */
        for (int k = 0; k < SETS; ++k)
            OK(ctx, wf_array_assign(a.set[k], d.set[k]));
        OK(ctx, wf_tape_grad(tape, loss, (wf_arrays){ both, 2 * SETS }, (wf_arrays){ result, 2 * SETS }));
        take(&to, second);
        take(&of_w, by_weights);
        wf_release(loss);
        wf_tape_free(tape);
    }
    arrays *const all[] = { &a, &w, &d, &back, &to, &of_w };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        release(all[k]);
}

/* Sets the derivative of the results in a direction, and the gradient of the weighted sum of that; NULL = it is not asked for. */
static void derive_ahead(size_t row, const double *of, const double *weights, const double *direction, double *along,
                         double *second)
{
    const numbers zero = { 0 };
    arrays a = make(of), w = make(weights), d = make(direction), t = make(zero), to = make(of);
    wf_array *stored[SETS], *tangent[SETS], *before[SETS];
    const size_t n = stored_by(row, &a, stored);
    stored_by(row, &t, tangent);
    stored_by(row, &d, before);
    for (size_t k = 0; k < n; ++k) /* what the operator leaves alone has the direction */
        OK(ctx, wf_array_assign(tangent[k], before[k]));
    wf_tape *tape = second ? wf_tape_begin(ctx, (wf_arrays){ a.set, SETS }) : NULL;
    OK(ctx, wf_tangent(record(row, &a), (wf_arrays){ a.set, SETS }, (wf_arrays){ d.set, SETS },
                       (wf_arrays){ stored, n }, (wf_arrays){ tangent, n }));
    take(&t, along);
    if (second) {
        wf_array *loss = product_of(&t, &w);
        OK(ctx, wf_tape_grad(tape, loss, (wf_arrays){ a.set, SETS }, (wf_arrays){ to.set, SETS }));
        take(&to, second);
        wf_release(loss);
        wf_tape_free(tape);
    }
    arrays *const all[] = { &a, &w, &d, &t, &to };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        release(all[k]);
}

static double product(const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < SIZES; ++k)
        sum += a[k] * b[k];
    return sum;
}

static void check(size_t row)
{
    const double h = 1e-6;
    const bool twice = !(rows[row].stores & ONCE);
    numbers of, weights, direction, gradient, second, by_weights, along, ahead, low, high, moved[2];
    for (int k = 0; k < SIZES; ++k) {
        of[k] = number_of(k);
        direction[k] = 0.45 - 0.1 * (k * 3 % 8);
        weights[k] = 0.75 - 0.25 * (k * 7 % 11);
        moved[0][k] = of[k] - h * direction[k];
        moved[1][k] = of[k] + h * direction[k];
    }
    derive(row, of, weights, direction, gradient, twice ? second : NULL, by_weights);
    derive_ahead(row, of, weights, direction, along, twice ? ahead : NULL);
    const double reverse = product(gradient, direction), forward = product(along, weights);
    if (!(fabs(reverse - forward) <= 1e-12 * (1 + fabs(forward))))
        fail_msg("%s: %.17g in reverse mode, %.17g in forward mode", rows[row].name, reverse, forward);
    run(row, moved[0], low);
    run(row, moved[1], high);
    for (int k = 0, n = 0; k < SETS; ++k)
        for (int64_t e = elements_of(k); e-- > 0; ++n)
            low[n] = rows[row].stores >> k & 1 ? (high[n] - low[n]) / (2 * h) : 0;
    if (rows[row].record != stops)
        compare(row, "first derivative", along, low, 1e-7);
    if (!twice)
        return;
    compare(row, "by the weights", by_weights, along, 1e-12);
    compare(row, "reverse mode of forward mode", second, ahead, 1e-11);
    derive(row, moved[0], weights, direction, low, NULL, NULL);
    derive(row, moved[1], weights, direction, high, NULL, NULL);
    for (int k = 0; k < SIZES; ++k)
        low[k] = (high[k] - low[k]) / (2 * h);
    if (rows[row].record == stops)
        for (int k = 0; k < POINTS; ++k)
            low[k] = 2 * sin(of[k]) * weights[POINTS + k] * direction[k];
    compare(row, "differences of the gradient", second, low, 1e-7);
}

static void of_operators(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row)
        if (!is_left_out((int)row, 2, 3))
            check(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(of_operators) };
    return RUN_ON_ALL(tests);
}
