/* test_derivative_loop_joins.c - derivatives of operators that accumulate by minimum, maximum or product in loops, whose
 * number of turns each point decides: in reverse and forward mode and on a tape, beside the formulas in plain C.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"
#include "weft/derivative.h"

enum { POINTS = 6, ELEMENTS = 4, MOST_TURNS = 400 };

typedef struct row {
    const char *name;
    wf_join join;
    wf_dtype dtype;
    bool some;        /* only values above 1.02 */
    double by;        /* s <- s * by + x / 8 in each turn */
    int factor;       /* of the numbers of turns */
    double x[POINTS]; /* s at first */
    double target[ELEMENTS];
} row;

static const int turns_of[POINTS] = { 3, 0, 5, 1, 4, 3 };
static const double upstream_of[ELEMENTS] = { 1, 10, -2, 0.5 };

static const row rows[] = {
    { "max", WF_JOIN_MAX, WF_F64, false, 0.9, 1, { 1, 3, 0.5, 2, 1.25, -1 }, { 0, 9, 0.5, -3 } },
    { "max, ties", WF_JOIN_MAX, WF_F64, false, 0.875, 1, { 1, 2, 1, 1, 1, 1 }, { 1, 0, 1, 2 } },
    { "min", WF_JOIN_MIN, WF_F64, false, 0.7, 1, { 1, 3, 0.5, 2, 1.25, -1 }, { 0.6, 9, 0.5, -3 } },
    { "some min", WF_JOIN_MIN, WF_F64, true, 0.9, 1, { 1, 3, 1.5, 2, 1.25, 4 }, { 3, 9, 1.25, 2 } },
    { "product", WF_JOIN_MUL, WF_F64, false, 0.9, 1, { 1, 3, 0.5, 2, 1.25, -1 }, { 2, 0.5, 0.5, -3 } },
    { "product, zeros", WF_JOIN_MUL, WF_F64, false, 0.9, 1, { 0, 3, 0.5, 2, 1.25, 2 }, { 2, 0, 0.5, -3 } },
    { "some product", WF_JOIN_MUL, WF_F64, true, 0.9, 1, { 1, 3, 1.5, 2, 1.25, 4 }, { 2, 0.5, 0.5, -3 } },
    { "max of f32", WF_JOIN_MAX, WF_F32, false, 0.75, 1, { 1, 3, 0.5, 2, 1.25, -1 }, { 0, 9, 0.5, -3 } },
    { "product of f32", WF_JOIN_MUL, WF_F32, false, 0.9, 1, { 1, 3, 0.5, 2, 1.25, -1 }, { 2, 0.5, 0.5, -3 } },
    { "long max", WF_JOIN_MAX, WF_F64, false, 0.875, 80, { 1, 3, 0.5, 2, 1.25, -1 }, { 0, 2, 0.5, -3 } },
    { "long product", WF_JOIN_MUL, WF_F64, false, 0.875, 80, { 1, 3, 1.01, 0.99, 1, 1 }, { 2, 0.5, 0.5, -3 } },
};

/* ---- plain C ---- */
typedef struct value { /* that is accumulated, and its derivative by x of its point */
    double v, d;
    int point, element;
} value;

static int list_values(const row *r, value *to)
{
    int n = 0;
    for (int i = 0; i < POINTS; ++i) {
        double s = r->x[i], d = 1;
        for (int t = 0; t < r->factor * turns_of[i]; ++t) {
            if (!r->some || s > 1.02)
                to[n++] = (value){ s, d, i, (i + t) % ELEMENTS };
            s = s * r->by + r->x[i] / 8;
            d = d * r->by + 0.125;
        }
    }
    return n;
}

/* The derivative of element e, afterwards, by value k of the list, or by the element from before for k = n. */
static double slope(const row *r, const value *list, int n, int e, int k)
{
    const double own = k < n ? list[k].v : r->target[e];
    double all = r->target[e], others = k < n ? r->target[e] : 1;
    int ties = 0;
    for (int i = 0; i < n; ++i) {
        if (list[i].element != e)
            continue;
        all = r->join == WF_JOIN_MAX ? fmax(all, list[i].v) : fmin(all, list[i].v);
        others *= i == k ? 1 : list[i].v;
    }
    if (r->join == WF_JOIN_MUL)
        return others;
    for (int i = 0; i < n; ++i)
        ties += list[i].element == e && list[i].v == all;
    ties += r->target[e] == all;
    return own == all ? 1.0 / ties : 0;
}

static void find_derivatives(const row *r, double to_x[POINTS], double to_target[ELEMENTS])
{
    static value list[POINTS * MOST_TURNS];
    const int n = list_values(r, list);
    for (int i = 0; i < POINTS; ++i)
        to_x[i] = 0;
    for (int k = 0; k < n; ++k)
        to_x[list[k].point] += upstream_of[list[k].element] * slope(r, list, n, list[k].element, k) * list[k].d;
    for (int e = 0; e < ELEMENTS; ++e)
        to_target[e] = upstream_of[e] * slope(r, list, n, e, n);
}

/* ---- operators ---- */
static wf_array *x, *turns, *target, *upstream;

static void record_loop(wf_graph *g, const row *r, wf_val i, wf_val start)
{
    wf_var t = wf_local(g, WF_I64, 0), s = wf_local(g, r->dtype, start);
    WF_WHILE (g, wf_lt(t, wf_mul(wf_in(g, turns), r->factor))) {
        wf_val at = wf_mod(wf_add(i, t), ELEMENTS);
        if (r->some)
            wf_accumulate_if(g, wf_gt(s, 1.02), r->join, target, s, at);
        else
            wf_accumulate(g, r->join, target, s, at);
        wf_set(s, wf_add(wf_mul(s, r->by), wf_div(start, 8)));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static wf_graph *record(const row *r)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    record_loop(g, r, wf_index(g, 0), wf_in(g, x));
    return g;
}

static void expect(const row *r, const char *what, const wf_array *a, const double *want)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(got[i] - want[i]) <= (r->dtype == WF_F64 ? 1e-11 : 1e-5) * (fabs(want[i]) + 1)))
            fail_msg("%s, %s: element %d is %.17g, not %.17g", r->name, what, (int)i, got[i], want[i]);
    free(got);
}

static void check_tangents(const row *r, const double *to_x, const double *to_target)
{
    for (int k = 0; k < POINTS + ELEMENTS; ++k) {
        double unit[POINTS + ELEMENTS] = { 0 }, sum = 0;
        unit[k] = 1;
        wf_array *dx = array_as(r->dtype, WF_SHAPE(POINTS), unit),
                 *dt = array_as(r->dtype, WF_SHAPE(ELEMENTS), unit + POINTS);
        wf_array *along = wf_full(ctx, r->dtype, WF_SHAPE(ELEMENTS), 7);
        OK(ctx, wf_tangent(record(r), WF_ARRAYS(x, target), WF_ARRAYS(dx, dt), WF_ARRAYS(target), WF_ARRAYS(along)));
        double *got = contents_as(along, WF_F64);
        for (int e = 0; e < ELEMENTS; ++e)
            sum += got[e] * upstream_of[e];
        const double want = k < POINTS ? to_x[k] : to_target[k - POINTS];
        if (!(fabs(sum - want) <= (r->dtype == WF_F64 ? 1e-11 : 1e-5) * (fabs(want) + 1)))
            fail_msg("%s, tangent %d: %.17g, not %.17g", r->name, k, sum, want);
        free(got);
        RELEASE(dx, dt, along);
    }
}

/* The same loop in an array graph: wf_grad, wf_jvp, and a tape. */
static void check_graph(const row *r, const double *to_x, const double *to_target)
{
    wf_val d[2], along;
    wf_array *forward[POINTS + ELEMENTS], *const whole = target;
    target = wf_copy(whole); /* the loop changes it */
    wf_graph *g = wf_begin(ctx);
    wf_val start = wf_in(g, x), before = wf_in(g, target);
    record_loop(g, r, wf_iota(g, WF_SHAPE(POINTS), 0), start);
    wf_val loss = total(wf_mul(wf_in(g, target), wf_in(g, upstream)));
    wf_grad(loss, WF_VALS(start, before), d);
    wf_array *gx = wf_keep(d[0]), *gt = wf_keep(d[1]);
    for (int k = 0; k < POINTS + ELEMENTS; ++k) {
        const int e = k - POINTS;
        wf_val unit = wf_cast(wf_eq(wf_iota(g, WF_SHAPE(e < 0 ? POINTS : ELEMENTS), 0), e < 0 ? k : e), r->dtype);
        wf_jvp(WF_VALS(loss), WF_VALS(e < 0 ? start : before), WF_VALS(unit), &along);
        forward[k] = wf_keep(along);
    }
    OK(ctx, wf_run(g));
    expect(r, "x in a graph", gx, to_x);
    expect(r, "target in a graph", gt, to_target);
    for (int k = 0; k < POINTS + ELEMENTS; ++k) {
        expect(r, "tangent in a graph", forward[k], k < POINTS ? &to_x[k] : &to_target[k - POINTS]);
        wf_release(forward[k]);
    }
    RELEASE(gx, gt, target);
    target = whole;
}

static void differentiate(const row *r)
{
    double to_x[POINTS], to_target[ELEMENTS];
    find_derivatives(r, to_x, to_target);
    x = array_as(r->dtype, WF_SHAPE(POINTS), r->x);
    target = array_as(r->dtype, WF_SHAPE(ELEMENTS), r->target);
    upstream = array_as(r->dtype, WF_SHAPE(ELEMENTS), upstream_of);
    turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
    wf_array *gx = wf_like(x), *gt = wf_like(target), *alone = wf_full(ctx, r->dtype, WF_SHAPE(POINTS), 7);
    OK(ctx, wf_adjoint(record(r), WF_ARRAYS(target), WF_ARRAYS(upstream), WF_ARRAYS(x, target), WF_ARRAYS(gx, gt)));
    expect(r, "x", gx, to_x);
    expect(r, "target", gt, to_target);
    OK(ctx, wf_adjoint(record(r), WF_ARRAYS(target), WF_ARRAYS(upstream), WF_ARRAYS(x), WF_ARRAYS(alone)));
    expect(r, "x alone", alone, to_x);
    expect(r, "contents", target, r->target); /* the operator has not run */
    check_tangents(r, to_x, to_target);
    check_graph(r, to_x, to_target);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x, target));
    OK(ctx, wf_run(record(r)));
    wf_graph *g = wf_begin(ctx);
    wf_array *loss = wf_keep(total(wf_mul(wf_in(g, target), wf_in(g, upstream))));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x, target), WF_ARRAYS(gx, gt)));
    expect(r, "x on a tape", gx, to_x);
    expect(r, "target on a tape", gt, to_target);
    wf_tape_free(tape);
    RELEASE(x, target, upstream, turns, gx, gt, alone, loss);
}

static void joins(void **state)
{
    (void)state;
    for (int k = 0; k < (int)(sizeof rows / sizeof *rows); ++k)
        if (!is_left_out(k, 3, 4))
            differentiate(&rows[k]);
}

/* A loop that reads what it has stored: the runs before the derivative would not find that. */
static void refused(void **state)
{
    (void)state;
    const row *r = &rows[0];
    x = array_as(WF_F64, WF_SHAPE(POINTS), r->x);
    target = array_as(WF_F64, WF_SHAPE(ELEMENTS), r->target);
    turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
    wf_array *last = wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 0), *gx = wf_like(x), *up = wf_like(target),
             *up_last = wf_like(x);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val i = wf_index(g, 0), start = wf_in(g, x);
    wf_var t = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, turns))) {
        wf_val next = wf_add(wf_mul(wf_read(g, last, i), 0.5), start);
        wf_write(g, last, next, i);
        wf_accumulate(g, WF_JOIN_MAX, target, next, wf_mod(t, ELEMENTS));
        wf_inc(t, 1);
    }
    WF_END(g);
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(target, last), WF_ARRAYS(up, up_last), WF_ARRAYS(x), WF_ARRAYS(gx)),
            WF_ERR_UNSUPPORTED, "reads in a loop an array that it stores");
    RELEASE(x, target, turns, last, gx, up, up_last);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(joins), cmocka_unit_test(refused) };
    return RUN_ON_ALL(tests);
}
