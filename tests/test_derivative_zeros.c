/* test_derivative_zeros.c - second to fourth derivatives where a factor is 0. Of products: accumulations by WF_JOIN_MUL,
 * reductions and scans in array graphs, and operators on a tape, beside polynomials in four numbers whose squares are 0,
 * which need no division. Of operations with infinite slopes, beside formulas. Points whose condition does not hold may
 * have indices out of range.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include <complex.h>

/* A place has the product of EACH values and of an element from before. */
enum { PLACES = 9, EACH = 4, VALUES = PLACES * EACH, NUMBERS = VALUES + PLACES, MOST = 4 };
typedef double numbers[NUMBERS]; /* of the values, then of the elements from before */

/* ---- polynomials ---- */
/* part[m] belongs to the product of those of the four numbers whose bits m has. */
typedef struct polynomial {
    double part[1 << MOST];
} polynomial;

static polynomial times(polynomial a, polynomial b)
{
    polynomial p = { { 0 } };
    for (int m = 0; m < 1 << MOST; ++m)
        for (int s = 0; s < 1 << MOST; ++s)
            if (!(s & ~m))
                p.part[m] += a.part[s] * b.part[m ^ s];
    return p;
}

static polynomial plus(polynomial a, double b)
{
    a.part[0] += b;
    return a;
}

/* ---- products ---- */
typedef enum way { ACCUMULATED, REDUCED, OF_COMPLEX, SCANNED, LOOPED } way;
static const char *const names[] = { "accumulated", "reduced", "complex", "scanned", "looped" };
static const double weights[PLACES] = { 1, -2, 0.5, 3, -1.5, 2.5, 1.25, -0.75, 0.625 };
static const double complex turned = 0.6 + 0.8 * I;

/* Places 0 to 4 have as many zeros among the values; at places 5 to 8 the element from before is 0, too. */
static const int zeros[PLACES] = { 0, 1, 2, 3, 4, 0, 1, 2, 3 };

static void set_numbers(double *of)
{
    for (int p = 0; p < PLACES; ++p) {
        for (int i = 0; i < EACH; ++i)
            of[EACH * p + i] = (i + p) % EACH < zeros[p] ? 0 : 0.3 + 0.17 * ((7 * i + 3 * p) % 5) - 0.02 * p;
        of[VALUES + p] = p < 5 ? 0.8 + 0.2 * p : 0;
    }
}

static void set_direction(double *to, int seed)
{
    for (int k = 0; k < NUMBERS; ++k)
        to[k] = 0.45 - 0.1 * ((k * 3 + 5 * seed) % 8);
}

static bool turns_twice(int k) { return k % 3 == 0; }

/* A factor is x (x + 2). The loop has a second one at some points, (x + 1) (x + 3). */
static polynomial loss_of(way w, const polynomial *x)
{
    polynomial loss = { { 0 } };
    for (int p = 0; p < PLACES; ++p) {
        polynomial product = x[VALUES + p];
        double weight = weights[p];
        if (w == OF_COMPLEX)
            weight *= creal(cpow(turned, EACH));
        for (int i = 0; i < EACH; ++i) {
            const polynomial v = x[EACH * p + i];
            product = times(product, times(v, plus(v, 2)));
            if (w == LOOPED && turns_twice(EACH * p + i))
                product = times(product, times(plus(v, 1), plus(v, 3)));
            for (int m = 0; m < 1 << MOST && (w == SCANNED || i + 1 == EACH); ++m)
                loss.part[m] += weight * product.part[m];
        }
    }
    return loss;
}

/* Sets the derivative by each number of the derivative in the first directions. */
static void derive(way w, const double *of, double (*direction)[NUMBERS], int order, double *to)
{
    polynomial x[NUMBERS];
    for (int k = 0; k < NUMBERS; ++k) {
        for (int j = 0; j < NUMBERS; ++j)
            x[j] = (polynomial){
                { [0] = of[j], [1] = direction[0][j], [2] = direction[1][j], [4] = direction[2][j], [8] = j == k }
            };
        to[k] = loss_of(w, x).part[8 + (1 << (order - 1)) - 1];
    }
}

/* ---- arrays ---- */
typedef struct arrays {
    wf_array *values, *before;
} arrays;

static const wf_shape of_values = { .rank = 2, .dim = { PLACES, EACH } };

static arrays make(const double *of)
{
    return (arrays){ array_of(ctx, WF_F64, of_values, of), array_of(ctx, WF_F64, WF_SHAPE(PLACES), of + VALUES) };
}

static void release(arrays a)
{
    wf_release(a.values);
    wf_release(a.before);
}

static wf_array *make_places(void)
{
    int32_t place[VALUES];
    for (int k = 0; k < VALUES; ++k)
        place[k] = k / EACH;
    return array_of(ctx, WF_I32, of_values, place);
}

static wf_array *make_turns(void)
{
    int32_t turns[VALUES];
    for (int k = 0; k < VALUES; ++k)
        turns[k] = 1 + turns_twice(k);
    return array_of(ctx, WF_I32, of_values, turns);
}

/* Fourth derivatives of products that are computed by quotients are not known beside three zeros. */
static bool may_be_nan(way w, const char *mode, int place)
{
    const int all = zeros[place] + (place >= 5 && w == ACCUMULATED);
    return strlen(mode) == MOST && (w == ACCUMULATED || w == OF_COMPLEX) && all >= 3;
}

static void compare(way w, const char *mode, arrays got, const double *want)
{
    numbers all;
    double *values = contents(got.values), *before = contents(got.before);
    memcpy(all, values, VALUES * sizeof *all);
    memcpy(all + VALUES, before, PLACES * sizeof *all);
    free(values);
    free(before);
    int nans = 0;
    for (int k = 0; k < NUMBERS; ++k)
        if (may_be_nan(w, mode, k < VALUES ? k / EACH : k - VALUES) && isnan(all[k]))
            ++nans;
        else if (!(fabs(all[k] - want[k]) <= 1e-12 * (1 + fabs(want[k]))))
            fail_msg("%s, %s: number %d (place %d) is %.12g and should be %.12g", names[w], mode, k,
                     k < VALUES ? k / EACH : k - VALUES, all[k], want[k]);
    assert_true(!nans == !may_be_nan(w, mode, 4));
}

/* ---- array graphs ---- */
static wf_val factor(wf_val x) { return wf_mul(x, wf_add(x, 2)); }

static wf_val of_rows(wf_join join, wf_val v) { return wf_reshape(wf_reduce(join, v, WF_AXES(1)), WF_SHAPE(PLACES)); }

/* Accumulates in a loop of the points. */
static void record_loop(wf_graph *g, wf_array *to, wf_val x, wf_val turns, wf_val place)
{
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_accumulate(g, WF_JOIN_MUL, to, factor(wf_get(v)), place);
        wf_inc(v, 1);
        wf_inc(t, 1);
    }
    WF_END(g);
}

static wf_val record_loss(wf_graph *g, way w, arrays a, wf_array *places, wf_array *turns, wf_val x, wf_val before)
{
    wf_array *of_weights = array_of(ctx, WF_F64, WF_SHAPE(PLACES), weights);
    wf_val weight = wf_in(g, of_weights), result = before;
    if (w == ACCUMULATED)
        wf_accumulate(g, WF_JOIN_MUL, a.before, factor(x), wf_in(g, places));
    else if (w == LOOPED)
        record_loop(g, a.before, x, wf_in(g, turns), wf_in(g, places));
    else if (w == REDUCED)
        result = wf_mul(before, of_rows(WF_JOIN_MUL, factor(x)));
    else if (w == SCANNED)
        result = wf_mul(before, of_rows(WF_JOIN_ADD, wf_scan(WF_JOIN_MUL, factor(x), 1, false, false)));
    else {
        wf_val z = wf_complex(wf_mul(factor(x), creal(turned)), wf_mul(factor(x), cimag(turned)));
        result = wf_mul(before, wf_real(of_rows(WF_JOIN_MUL, z)));
    }
    if (w == ACCUMULATED || w == LOOPED)
        result = wf_in(g, a.before);
    wf_release(of_weights);
    return total(wf_mul(result, weight));
}

/* Derives the loss by the letters of the mode, the last one first: r in reverse mode, f in forward mode. */
static void in_graph(way w, const char *mode, const double *of, double (*direction)[NUMBERS], const double *want)
{
    arrays a = make(of), to = make(of), d[MOST - 1] = { make(direction[0]), make(direction[1]), make(direction[2]) };
    wf_array *places = make_places(), *turns = make_turns();
    wf_graph *g = wf_begin(ctx);
    wf_val x[2] = { wf_in(g, a.values), wf_in(g, a.before) }, grad[2], next[2];
    wf_val loss = record_loss(g, w, a, places, turns, x[0], x[1]);
    bool is_loss = true;
    int used = 0;
    for (size_t k = strlen(mode); k-- > 0;) {
        wf_val along[2] = { { { 0, NULL } } };
        if (!is_loss || mode[k] == 'f') {
            along[0] = wf_in(g, d[used].values);
            along[1] = wf_in(g, d[used++].before);
        }
        if (mode[k] == 'f') {
            if (is_loss)
                wf_jvp(WF_VALS(loss), WF_VALS(x[0], x[1]), WF_VALS(along[0], along[1]), &loss);
            else {
                wf_jvp(WF_VALS(grad[0], grad[1]), WF_VALS(x[0], x[1]), WF_VALS(along[0], along[1]), next);
                memcpy(grad, next, sizeof grad);
            }
            continue;
        }
        if (!is_loss)
            loss = wf_add(total(wf_mul(grad[0], along[0])), total(wf_mul(grad[1], along[1])));
        wf_grad(loss, WF_VALS(x[0], x[1]), grad);
        is_loss = false;
    }
    wf_out(g, to.values, grad[0]);
    wf_out(g, to.before, grad[1]);
    OK(ctx, wf_run(g));
    compare(w, mode, to, want);
    release(a);
    release(to);
    for (int k = 0; k < MOST - 1; ++k)
        release(d[k]);
    wf_release(places);
    wf_release(turns);
}

static void in_graphs(void **state)
{
    (void)state;
    /* reverse mode of forward mode of reverse mode is refused for loops */
    static const char *const modes[] = { "rr",  "rf",  "fr",  "rfr", "rrr",  "rrf",
                                         "rff", "frr", "frf", "ffr", "rrrr", "frfr" };
    const bool all = wf_context_device(ctx) == WF_INTERP;
    numbers of, direction[MOST - 1], want;
    set_numbers(of);
    for (int k = 0; k < MOST - 1; ++k)
        set_direction(direction[k], k);
    for (way w = ACCUMULATED; w <= LOOPED; ++w)
        for (size_t m = 0; m < (all ? sizeof modes / sizeof *modes : w == ACCUMULATED ? 4 : w == LOOPED ? 2 : 3); ++m) {
            if (w == LOOPED && (!strcmp(modes[m], "rfr") || strlen(modes[m]) == MOST))
                continue;
            derive(w, of, direction, (int)strlen(modes[m]), want);
            in_graph(w, modes[m], of, direction, want);
        }
}

/* ---- operators ---- */
static wf_graph *record_operator(way w, arrays a, wf_array *places, wf_array *turns, wf_array *results)
{
    if (w == ACCUMULATED || w == LOOPED) {
        wf_graph *g = wf_begin(ctx, .shape = of_values);
        wf_val x = wf_in(g, a.values), place = wf_in(g, places);
        if (w == ACCUMULATED)
            wf_accumulate(g, WF_JOIN_MUL, a.before, factor(x), place);
        else
            record_loop(g, a.before, x, wf_in(g, turns), place);
        return g;
    }
    wf_graph *g = wf_begin(ctx, .shape = of_values, .reduce = WF_AXES(1));
    wf_val x = wf_in(g, a.values);
    if (w == REDUCED) {
        wf_var product = wf_reduced(g, WF_F64, 1, WF_JOIN_MUL);
        wf_set(product, wf_mul(product, factor(x)));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, results, wf_mul(product, wf_in(g, a.before)));
    } else {
        wf_var product = wf_reduced(g, WF_C128, 1, WF_JOIN_MUL);
        wf_val z = wf_complex(wf_mul(factor(x), creal(turned)), wf_mul(factor(x), cimag(turned)));
        wf_set(product, wf_mul(product, z));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, results, wf_mul(wf_real(wf_get(product)), wf_in(g, a.before)));
    }
    return g;
}

static void on_tape(way w, bool reverse, const double *of, double (*direction)[NUMBERS], const double *want)
{
    arrays a = make(of), d = make(direction[0]), to = make(of), grad = make(of);
    wf_array *places = make_places(), *turns = make_turns(), *weight = array_of(ctx, WF_F64, WF_SHAPE(PLACES), weights);
    wf_array *results = wf_like(weight), *along = wf_like(weight), *loss;
    wf_array *out = w == ACCUMULATED || w == LOOPED ? a.before : results;
    OK(ctx, wf_array_assign(along, d.before));
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(a.values, a.before));
    wf_graph *g = record_operator(w, a, places, turns, results);
    if (reverse)
        OK(ctx, wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(weight), WF_ARRAYS(a.values, a.before),
                           WF_ARRAYS(grad.values, grad.before)));
    else
        OK(ctx, wf_tangent(g, WF_ARRAYS(a.values, a.before), WF_ARRAYS(d.values, d.before), WF_ARRAYS(out),
                           WF_ARRAYS(along)));
    g = wf_begin(ctx);
    if (reverse)
        loss = wf_keep(wf_add(total(wf_mul(wf_in(g, grad.values), wf_in(g, d.values))),
                              total(wf_mul(wf_in(g, grad.before), wf_in(g, d.before)))));
    else
        loss = wf_keep(total(wf_mul(wf_in(g, along), wf_in(g, weight))));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(a.values, a.before), WF_ARRAYS(to.values, to.before)));
    wf_tape_free(tape);
    compare(w, reverse ? "tape of wf_adjoint" : "tape of wf_tangent", to, want);
    release(a);
    release(d);
    release(to);
    release(grad);
    wf_array *const used[] = { places, turns, weight, results, along, loss };
    for (size_t k = 0; k < sizeof used / sizeof *used; ++k)
        wf_release(used[k]);
}

static void on_tapes(void **state)
{
    (void)state;
    static const way ways[] = { ACCUMULATED, REDUCED, OF_COMPLEX, LOOPED };
    numbers of, direction[MOST - 1], want;
    set_numbers(of);
    for (int k = 0; k < MOST - 1; ++k)
        set_direction(direction[k], k);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        derive(ways[k], of, direction, 2, want);
        on_tape(ways[k], true, of, direction, want);
        on_tape(ways[k], false, of, direction, want);
    }
}

/* ---- operations with infinite slopes ---- */
#define FORMULA(name, value) \
    static wf_val name(wf_val x, wf_val y) { return value; }
FORMULA(root, wf_mul(x, wf_sqrt(y)))
FORMULA(logarithm, wf_mul(x, wf_log(y)))
FORMULA(quotient, wf_div(x, y))
FORMULA(reciprocal, wf_mul(x, wf_rcp(y)))
FORMULA(log_of_product, wf_log1p(wf_mul(x, y)))
FORMULA(root_of_product, wf_sqrt(wf_add(wf_mul(x, y), 1)))
FORMULA(power, wf_mul(x, wf_pow(y, 2.5)))
FORMULA(arc_sine, wf_asin(wf_mul(x, y)))
FORMULA(radius, wf_hypot(wf_mul(x, y), 2))
FORMULA(angle, wf_atan2(wf_mul(x, y), 2))
FORMULA(rest, wf_mul(x, wf_mod(y, 3)))
FORMULA(of_complex, wf_mul(x, wf_real(wf_log(wf_complex(y, 1)))))

typedef struct slopes {
    const char *name;
    wf_val (*record)(wf_val x, wf_val y);
    double x, y, xx, xy, yy; /* a point, and the second derivatives there */
} slopes;
static const slopes formulas[] = {
    { "root", root, 0, 4, 0, 0.25, 0 },
    { "logarithm", logarithm, 0, 2, 0, 0.5, 0 },
    { "quotient", quotient, 0, 2, 0, -0.25, 0 },
    { "reciprocal", reciprocal, 0, 2, 0, -0.25, 0 },
    { "log of product", log_of_product, 0, 3, -9, 1, 0 },
    { "root of product", root_of_product, 0, 3, -2.25, 0.5, 0 },
    { "power", power, 0, 4, 0, 20, 0 },
    { "arc sine", arc_sine, 0, 0.5, 0, 1, 0 },
    { "radius", radius, 0, 3, 4.5, 0, 0 },
    { "angle", angle, 0, 3, 0, 0.5, 0 },
    { "rest", rest, 0, 2, 0, 1, 0 },
    { "logarithm of complex", of_complex, 0, 2, 0, 0.4, 0 },
};

/* In a way that the modes of array graphs name, sets the second derivatives in a direction. */
static void derive_formula(const slopes *f, const char *mode, bool space, double dx, double dy, double got[2])
{
    wf_array *to[2] = { wf_full(ctx, WF_F64, WF_SHAPE(1), 7), wf_full(ctx, WF_F64, WF_SHAPE(1), 7) };
    wf_array *of[4] = { wf_full(ctx, WF_F64, WF_SHAPE(1), f->x), wf_full(ctx, WF_F64, WF_SHAPE(1), f->y),
                        wf_full(ctx, WF_F64, WF_SHAPE(1), dx), wf_full(ctx, WF_F64, WF_SHAPE(1), dy) };
    wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(1)) : wf_begin(ctx);
    wf_val x = wf_in(g, of[0]), y = wf_in(g, of[1]), d[2] = { wf_in(g, of[2]), wf_in(g, of[3]) }, first[2], second[2];
    wf_val r = f->record(x, y);
    if (mode[1] == 'f') {
        wf_jvp(WF_VALS(r), WF_VALS(x, y), WF_VALS(d[0], d[1]), first);
        wf_vjp(WF_VALS(first[0]), WF_VALS(1), WF_VALS(x, y), second);
    } else {
        wf_vjp(WF_VALS(r), WF_VALS(1), WF_VALS(x, y), first);
        if (mode[0] == 'f')
            wf_jvp(WF_VALS(first[0], first[1]), WF_VALS(x, y), WF_VALS(d[0], d[1]), second);
        else
            wf_vjp(WF_VALS(first[0], first[1]), WF_VALS(d[0], d[1]), WF_VALS(x, y), second);
    }
    for (int k = 0; k < 2; ++k)
        wf_out(g, to[k], second[k]);
    OK(ctx, wf_run(g));
    for (int k = 0; k < 2; ++k) {
        got[k] = scalar_f64(to[k]);
        wf_release(to[k]);
    }
    for (int k = 0; k < 4; ++k)
        wf_release(of[k]);
}

static void of_operations(void **state)
{
    (void)state;
    static const char *const modes[] = { "rr", "rf", "fr" };
    for (size_t k = 0; k < sizeof formulas / sizeof *formulas; ++k)
        for (int kind = 0; kind < 12; ++kind) {
            const slopes *f = &formulas[k];
            const char *mode = modes[kind / 4];
            const bool by_y = kind & 1, space = kind & 2;
            double got[2];
            const double want[2] = { by_y ? f->xy : f->xx, by_y ? f->yy : f->xy };
            derive_formula(f, mode, space, !by_y, by_y, got);
            for (int i = 0; i < 2; ++i)
                if (!(fabs(got[i] - want[i]) <= 1e-14 * (1 + fabs(want[i]))))
                    fail_msg("%s, %s, %s by %s: %.17g and should be %.17g", f->name, mode, by_y ? "y" : "x",
                             i ? "y" : "x", got[i], want[i]);
        }
}

/* ---- points that take no part ---- */
/* In debug mode an access out of range is an error. */
static void indices_out_of_range(void **state)
{
    (void)state;
    enum { POINTS = 6, ELEMENTS = 3 };
    static const double x0[POINTS] = { 2, 3, 5, 7, 0, 11 }, y0[ELEMENTS] = { 1, 0.5, 4 }, w0[ELEMENTS] = { 1, 10, 100 };
    static const double want[3][POINTS] = { { 1, 10, 0, 0, 100, 0 },
                                            { 1, 10 * 0.5, 0, 0, 100 * 4, 0 },
                                            { 1, 10, 0, 0, 100, 0 } };
    static const double none[ELEMENTS] = { 0 };
    static const int32_t places[POINTS] = { 0, 1, 7, -3, 2, 1000 };
    wf_context *const kept = ctx;
    assert_int_equal(in_debug_mode(wf_context_device(kept), NULL), 0);
    for (int k = 0; k < 3; ++k) {
        wf_array *x = line_of(x0, POINTS), *y = line_of(y0, ELEMENTS), *w = line_of(w0, ELEMENTS);
        wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(POINTS), places), *to = wf_like(x), *twice = wf_like(y);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, x), before = wf_in(g, y), place = wf_in(g, at), grad, second;
        wf_val when = wf_and(wf_ge(place, 0), wf_lt(place, ELEMENTS));
        if (k == 2)
            wf_write_if(g, when, y, v, place);
        else
            wf_accumulate_if(g, when, k ? WF_JOIN_MUL : WF_JOIN_ADD, y, v, place);
        wf_grad(total(wf_mul(wf_in(g, y), wf_in(g, w))), WF_VALS(v), &grad);
        wf_grad(total(grad), WF_VALS(before), &second);
        wf_out(g, to, grad);
        wf_out(g, twice, second);
        OK(ctx, wf_run(g));
        expect_close(to, want[k], 1e-14);
        expect_close(twice, k == 1 ? w0 : none, 1e-14);
        wf_array *const used[] = { x, y, w, at, to, twice };
        for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
            wf_release(used[i]);
    }
    wf_context_free(ctx);
    ctx = kept;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_graphs), cmocka_unit_test(on_tapes),
                                        cmocka_unit_test(of_operations), cmocka_unit_test(indices_out_of_range) };
    return RUN_ON_ALL(tests);
}
