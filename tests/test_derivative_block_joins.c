/* test_derivative_block_joins.c - derivatives of array graphs that accumulate by minimum, maximum or product in conditions and
 * loops: reverse and forward mode beside each other and beside differences, on a tape, and second derivatives.
 *
 * ctest: devices first_tier
 */
#include "close_numbers.h"

enum { POINTS = 6, PIXELS = 8, FEW = 4, SETS = 6 };
enum { X, IMAGE, SOME, OTHER, ONE, OWN }; /* sets of numbers: the first two are read only */
static const wf_shape shape_of[SETS] = { { .rank = 1, .dim = { POINTS } },
                                         { .rank = 1, .dim = { PIXELS } },
                                         { .rank = 1, .dim = { FEW } },
                                         { .rank = 2, .dim = { 2, FEW } },
                                         { .rank = 0 },
                                         { .rank = 1, .dim = { POINTS } } };
enum { SIZES = POINTS + PIXELS + FEW + 2 * FEW + 1 + POINTS };
static const int turns_of[POINTS] = { 3, 0, 5, 1, 4, 3 };

typedef double numbers[SIZES];
typedef struct arrays {
    wf_array *set[SETS], *turns;
} arrays;

/* Records a program of the points, whose numbers are i. */
typedef void body_of(wf_graph *g, const arrays *a, wf_val x, wf_val i);

static wf_val turns(wf_graph *g, const arrays *a) { return wf_in(g, a->turns); }

/* ---- programs ---- */
static void condition(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    WF_IF (g, wf_gt(x, 0.3))
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], wf_mul(x, x), wf_mod(i, FEW));
    WF_END(g);
}

static void two_branches(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, x);
    WF_IF (g, wf_gt(x, 0.5)) {
        wf_accumulate(g, WF_JOIN_MUL, a->set[SOME], wf_add(x, 1), wf_mod(i, FEW));
        wf_set(v, wf_sin(x));
    }
    WF_ELSE(g)
    {
        wf_accumulate(g, WF_JOIN_MUL, a->set[SOME], wf_mul(x, 2), wf_mod(wf_add(i, 1), FEW));
        wf_accumulate(g, WF_JOIN_MIN, a->set[OTHER], x, 1, wf_mod(i, 3));
    }
    WF_END(g);
    wf_out(g, a->set[OWN], v);
}

static void short_loop(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, x);
    wf_val t;
    WF_FOR (g, t, 0, 3, 1) {
        wf_set(v, wf_mul(wf_sin(v), 1.3));
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], v, wf_mod(wf_add(i, t), FEW));
    }
    WF_END(g);
}

/* A short loop in a loop that stays one, a condition in both, and values that leave them. */
static void nested(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I64, 0);
    wf_val k;
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        WF_FOR (g, k, 0, 2, 1) {
            wf_set(v, wf_add(wf_mul(v, 0.8), wf_mul(x, 0.125)));
            WF_IF (g, wf_ne(wf_add(t, k), 2))
                wf_accumulate(g, WF_JOIN_MUL, a->set[OTHER], wf_add(v, 0.5), k, wf_mod(wf_add(i, t), FEW));
            WF_END(g);
        }
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_out(g, a->set[OWN], v);
}

/* Beside stores and sums, with a break, by three joins. */
static void beside_others(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, x);
    wf_val t;
    WF_FOR (g, t, 0, turns(g, a), 1) {
        wf_set(v, wf_mul(wf_cos(v), wf_add(x, 0.5)));
        wf_accumulate_if(g, wf_gt(v, 0.2), WF_JOIN_MAX, a->set[SOME], v, wf_mod(wf_add(i, t), FEW));
        wf_accumulate(g, WF_JOIN_ADD, a->set[OTHER], wf_mul(v, v), wf_mod(t, 2), wf_mod(i, FEW));
        wf_accumulate_n(g, WF_JOIN_MUL, WF_MODE_AUTO, a->set[ONE], wf_add(v, 0.25), (wf_vals){ NULL, 0 });
        wf_out(g, a->set[OWN], wf_mul(v, 3));
        WF_IF (g, wf_gt(t, 2))
            wf_break(g);
        WF_END(g);
    }
    WF_END(g);
}

/* A loop that reads what it has stored, and accumulates that. */
static void carried(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        wf_val next = wf_add(wf_mul(wf_in(g, a->set[OWN]), 0.75), x);
        wf_out(g, a->set[OWN], next);
        wf_accumulate(g, WF_JOIN_MIN, a->set[SOME], wf_mul(next, next), wf_mod(wf_add(i, t), FEW));
        wf_accumulate(g, WF_JOIN_MAX, a->set[OTHER], next, 1, wf_mod(wf_add(i, t), FEW));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* The same with a short number of turns, and elements of the turns' own. */
static void short_carried(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_val t, own = wf_slice(i, 0, 0, 2, 1), by = wf_slice(x, 0, 0, 2, 1);
    WF_FOR (g, t, 1, 4, 1) {
        wf_val next = wf_add(wf_mul(wf_read(g, a->set[OTHER], own, wf_sub(t, 1)), by), 0.25);
        wf_write(g, a->set[OTHER], wf_mul(next, next), own, t);
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], next, wf_mod(wf_add(own, t), FEW));
    }
    WF_END(g);
}

/* Values are read from an array that is wanted, at other points than the variables have. */
static void reads(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    (void)x;
    WF_WHILE (g, wf_lt(t, 9)) {
        wf_val pixel = wf_read(g, a->set[IMAGE], wf_mod(wf_add(wf_mul(i, 3), t), PIXELS));
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], wf_mul(pixel, wf_add(wf_mul(wf_cast(t, WF_F64), 0.1), 1)),
                      wf_mod(i, FEW));
        wf_accumulate(g, WF_JOIN_MUL, a->set[OTHER], wf_add(pixel, 0.5), 0, wf_mod(wf_add(i, t), FEW));
        wf_set(t, wf_add(t, 2));
    }
    WF_END(g);
}

/* The loop has no variable that is differentiated. */
static void sums_of_pixels(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    (void)x;
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        wf_val pixel = wf_read(g, a->set[IMAGE], wf_mod(wf_add(wf_mul(i, 3), t), PIXELS));
        wf_accumulate(g, WF_JOIN_ADD, a->set[SOME], wf_mul(wf_mul(pixel, pixel), pixel), wf_mod(i, FEW));
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* One value for many points, in a loop of the whole program. */
static void broadcast(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var s = wf_local(g, WF_F64, total(x)), t = wf_local(g, WF_I64, 0);
    wf_val most = wf_cast(total(wf_in(g, a->turns)), WF_I64);
    WF_WHILE (g, wf_lt(t, most)) {
        wf_set(s, wf_add(wf_mul(s, 0.5), 0.6));
        wf_accumulate(g, WF_JOIN_MUL, a->set[SOME], s, wf_mod(i, FEW));
        wf_accumulate_n(g, WF_JOIN_MUL, WF_MODE_AUTO, a->set[ONE], wf_get(s), (wf_vals){ NULL, 0 });
        wf_inc(t, 5);
    }
    WF_END(g);
}

/* Sums of shapes of their own in one loop, and in a loop inside. */
static void shared_sums(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var s = wf_local(g, WF_F64, total(x)), t = wf_local(g, WF_I64, 0);
    wf_val most = wf_cast(total(wf_in(g, a->turns)), WF_I64);
    WF_WHILE (g, wf_lt(t, most)) {
        wf_var k = wf_local(g, WF_I64, 0);
        wf_set(s, wf_add(wf_mul(s, 0.5), 0.6));
        wf_accumulate(g, WF_JOIN_ADD, a->set[SOME], wf_mul(s, s), wf_mod(i, FEW));
        WF_WHILE (g, wf_lt(k, wf_mod(t, 3))) {
            wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, a->set[ONE], wf_sin(s), (wf_vals){ NULL, 0 });
            wf_accumulate(g, WF_JOIN_ADD, a->set[OTHER], wf_mul(s, wf_cast(k, WF_F64)), wf_mod(k, 2), wf_mod(t, FEW));
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_inc(t, 4);
    }
    WF_END(g);
}

/* Blocks and operations one after the other, and what was accumulated used later. */
static void one_after_the_other(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    WF_IF (g, wf_lt(x, 0.8))
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], wf_mul(x, 1.5), wf_mod(i, FEW));
    WF_END(g);
    wf_val found = wf_in(g, a->set[SOME]), own = wf_gather(wf_sin(found), wf_mod(wf_add(i, 1), FEW));
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        wf_accumulate(g, WF_JOIN_MUL, a->set[SOME], wf_add(wf_mul(own, x), 0.5), wf_mod(wf_add(i, t), FEW));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_accumulate(g, WF_JOIN_MIN, a->set[SOME], wf_mul(own, 2), wf_mod(i, FEW));
    wf_val last = wf_in(g, a->set[SOME]);
    wf_val read = wf_gather(last, wf_mod(i, FEW));
    WF_IF (g, wf_gt(own, 0))
        wf_accumulate(g, WF_JOIN_ADD, a->set[OTHER], read, 0, wf_mod(i, 3));
    WF_END(g);
}

static const struct {
    const char *name;
    body_of *record;
    bool twice; /* it has second derivatives */
} rows[] = {
    { "condition", condition, true },           { "two branches", two_branches, true },
    { "short loop", short_loop, true },         { "nested", nested, true },
    { "beside others", beside_others, true },   { "carried", carried, true },
    { "short carried", short_carried, true },   { "reads", reads, true },
    { "sums of pixels", sums_of_pixels, true }, { "broadcast", broadcast, true },
    { "shared sums", shared_sums, true },       { "one after the other", one_after_the_other, false },
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

static void read_all(wf_graph *g, const arrays *a, wf_val to[SETS])
{
    for (int k = 0; k < SETS; ++k)
        to[k] = wf_in(g, a->set[k]);
}

static void record(wf_graph *g, body_of *body, const arrays *a, wf_val x)
{
    body(g, a, x, wf_iota(g, WF_SHAPE(POINTS), 0));
}

static void run(body_of *body, const double *of, double *after)
{
    arrays a = make(of);
    wf_graph *g = wf_begin(ctx);
    record(g, body, &a, wf_in(g, a.set[X]));
    OK(ctx, wf_run(g));
    take(&a, after);
    release(&a);
}

/* Sets the gradient of the weighted results, their derivative in a direction, and that of the gradient: in forward and in
 * reverse mode, and in reverse mode of the derivative in the direction. NULL = none. */
static void derive(body_of *body, const double *of, const double *weights, const double *direction, double *gradient,
                   double *along, double *second, double *back_again, double *back_of_along)
{
    arrays a = make(of), w = make(weights), d = make(direction), back = make(of), ahead = make(of), twice = make(of),
           again = make(of), of_ahead = make(of);
    wf_val before[SETS], after[SETS], seed[SETS], way[SETS], grad[SETS], tangent[SETS], of_grad[SETS], of_back[SETS],
        of_along[SETS];
    wf_graph *g = wf_begin(ctx);
    read_all(g, &a, before);
    read_all(g, &w, seed);
    read_all(g, &d, way);
    record(g, body, &a, before[X]);
    read_all(g, &a, after);
    wf_vjp_n((wf_vals){ after, SETS }, (wf_vals){ seed, SETS }, (wf_vals){ before, SETS }, grad);
    if (along || back_of_along)
        wf_jvp_n((wf_vals){ after, SETS }, (wf_vals){ before, SETS }, (wf_vals){ way, SETS }, tangent);
    if (second)
        wf_jvp_n((wf_vals){ grad, SETS }, (wf_vals){ before, SETS }, (wf_vals){ way, SETS }, of_grad);
    if (back_again)
        wf_vjp_n((wf_vals){ grad, SETS }, (wf_vals){ way, SETS }, (wf_vals){ before, SETS }, of_back);
    if (back_of_along)
        wf_vjp_n((wf_vals){ tangent, SETS }, (wf_vals){ seed, SETS }, (wf_vals){ before, SETS }, of_along);
    for (int k = 0; k < SETS; ++k) {
        wf_out(g, back.set[k], grad[k]);
        if (back_again)
            wf_out(g, again.set[k], of_back[k]);
        if (back_of_along)
            wf_out(g, of_ahead.set[k], of_along[k]);
        if (along)
            wf_out(g, ahead.set[k], tangent[k]);
        if (second)
            wf_out(g, twice.set[k], of_grad[k]);
    }
    OK(ctx, wf_run(g));
    take(&back, gradient);
    if (along)
        take(&ahead, along);
    if (second)
        take(&twice, second);
    if (back_again)
        take(&again, back_again);
    if (back_of_along)
        take(&of_ahead, back_of_along);
    arrays *const all[] = { &a, &w, &d, &back, &ahead, &twice, &again, &of_ahead };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        release(all[k]);
}

static void derive_tape(body_of *body, const double *of, const double *weights, double *gradient)
{
    arrays a = make(of), w = make(weights), back = make(of);
    wf_tape *tape = wf_tape_begin(ctx, (wf_arrays){ a.set, SETS });
    wf_graph *g = wf_begin(ctx);
    record(g, body, &a, wf_in(g, a.set[X]));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_val sum = wf_const(g, WF_F64, 0);
    for (int k = 0; k < SETS; ++k)
        sum = wf_add(sum, total(wf_mul(wf_in(g, a.set[k]), wf_in(g, w.set[k]))));
    wf_array *loss = wf_keep(sum);
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, (wf_arrays){ a.set, SETS }, (wf_arrays){ back.set, SETS }));
    take(&back, gradient);
    wf_tape_free(tape);
    wf_release(loss);
    release(&a);
    release(&w);
    release(&back);
}

/* ---- comparisons ---- */
static void compare(size_t row, const char *what, const double *got, const double *want, double tolerance)
{
    for (int k = 0; k < SIZES; ++k)
        if (!(fabs(got[k] - want[k]) <= tolerance * (1 + fabs(want[k]))))
            fail_msg("%s, %s: number %d is %.12g and should be %.12g", rows[row].name, what, k, got[k], want[k]);
}

static void move(const double *of, const double *direction, double h, double *to)
{
    for (int k = 0; k < SIZES; ++k)
        to[k] = of[k] + h * direction[k];
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
    body_of *body = rows[row].record;
    const bool all = wf_context_device(ctx) == WF_INTERP, second = rows[row].twice;
    numbers of, weights, direction, gradient, along, of_gradient, of_back, low, high, got;
    for (int k = 0; k < SIZES; ++k) {
        of[k] = 0.4 + 0.13 * ((k * 5 + 2) % 11) - 0.009 * k;
        direction[k] = 0.45 - 0.1 * (k * 3 % 8);
        weights[k] = 0.75 - 0.25 * (k * 7 % 11);
    }
    derive(body, of, weights, direction, gradient, along, NULL, NULL, NULL);
    const double reverse = product(gradient, direction), forward = product(along, weights);
    if (!(fabs(reverse - forward) <= 1e-13 * (1 + fabs(forward))))
        fail_msg("%s: %.17g in reverse mode, %.17g in forward mode", rows[row].name, reverse, forward);
    derive_tape(body, of, weights, got);
    compare(row, "tape", got, gradient, 1e-13);
    for (int k = 0; k < SIZES && all; ++k) { /* by one number */
        numbers unit = { 0 };
        unit[k] = 1;
        move(of, unit, -h, low);
        move(of, unit, h, high);
        run(body, low, low);
        run(body, high, high);
        got[k] = (product(high, weights) - product(low, weights)) / (2 * h);
    }
    if (all)
        compare(row, "differences", gradient, got, 1e-7);
    if (!second)
        return;
    derive(body, of, weights, direction, got, NULL, of_gradient, NULL, NULL);
    derive(body, of, weights, direction, got, NULL, NULL, of_back, NULL);
    compare(row, "second derivative in reverse mode", of_back, of_gradient, 1e-12);
    derive(body, of, weights, direction, got, NULL, NULL, NULL, of_back);
    compare(row, "second derivative, reverse mode of forward mode", of_back, of_gradient, 1e-12);
    if (!all)
        return;
    move(of, direction, -h, low);
    move(of, direction, h, high);
    derive(body, low, weights, direction, low, NULL, NULL, NULL, NULL);
    derive(body, high, weights, direction, high, NULL, NULL, NULL, NULL);
    for (int k = 0; k < SIZES; ++k)
        got[k] = (high[k] - low[k]) / (2 * h);
    compare(row, "second derivative", of_gradient, got, 1e-6);
}

static void in_blocks(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        if (!is_left_out((int)k, 2, 3))
            check(k);
}

/* ---- random blocks ---- */
static uint64_t random_state;
static int below(int n) { return (int)(test_random(&random_state) % (uint64_t)n); }

static void accumulate_at(wf_graph *g, const arrays *a, int to, wf_join join, wf_val v, wf_val at)
{
    if (to == SOME)
        wf_accumulate(g, join, a->set[SOME], v, wf_mod(at, FEW));
    else
        wf_accumulate(g, join, a->set[OTHER], v, wf_mod(at, 2), wf_mod(at, FEW));
}

/* A few blocks: conditions, short loops and loops whose turns the points decide, which accumulate into two arrays what they
 * compute from x or from one of the arrays. */
static void random_blocks(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX };
    for (int k = 2 + below(3); k > 0; --k) {
        const int to = below(2) ? SOME : OTHER, from = below(3), kind = below(3), step = 1 + below(3);
        const wf_join join = joins[below(4)];
        if (below(4) == 0)
            wf_out(g, a->set[to], wf_mul(wf_sin(wf_in(g, a->set[to])), 2));
        wf_val some = wf_in(g, a->set[SOME]), other = wf_slice(wf_in(g, a->set[OTHER]), 0, 1, 2, 1);
        wf_val start = from == 0 ? x : wf_gather(from == 1 ? some : wf_reshape(other, WF_SHAPE(FEW)), wf_mod(i, FEW));
        wf_var v = wf_local(g, WF_F64, wf_mul(wf_tanh(start), 1.5)), t = wf_local(g, WF_I64, 0);
        (void)wf_in(g, a->set[to]);
        wf_val turns_of_points = kind == 1 ? wf_const(g, WF_I64, 3) : wf_cast(wf_mod(turns(g, a), 4), WF_I64);
        if (kind == 0) {
            WF_IF (g, wf_gt(wf_mul(v, 2), wf_sin(x)))
                accumulate_at(g, a, to, join, wf_get(v), wf_mul(i, step));
            WF_END(g);
            continue;
        }
        WF_WHILE (g, wf_lt(t, turns_of_points)) {
            wf_set(v, wf_add(wf_mul(wf_sin(v), 1.25), 0.1));
            accumulate_at(g, a, to, join, wf_get(v), wf_add(wf_mul(i, step), t));
            wf_inc(t, 1);
        }
        WF_END(g);
    }
}

static void seeded_blocks(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    const uint64_t kept = random_state;
    random_blocks(g, a, x, i);
    random_state = kept;
}

static void at_random(void **state)
{
    (void)state;
    const int n = wf_context_device(ctx) == WF_INTERP ? 60 / TEST_EVERY : 4;
    int smooth = 0;
    for (int number = 0; number < n; ++number) {
        numbers of, weights, direction, gradient, along, low, high, slope[2];
        random_state = (uint64_t)number * 91 + 7;
        for (int k = 0; k < SIZES; ++k) {
            of[k] = 2 * test_random_number(&random_state) - 1;
            weights[k] = 2 * test_random_number(&random_state) - 1;
            direction[k] = 2 * test_random_number(&random_state) - 1;
        }
        derive(seeded_blocks, of, weights, direction, gradient, along, NULL, NULL, NULL);
        const double reverse = product(gradient, direction), forward = product(along, weights);
        if (!(fabs(reverse - forward) <= 1e-11 * (1 + fabs(forward))))
            fail_msg("blocks %d: %.17g in reverse mode, %.17g in forward mode", number, reverse, forward);
        for (int k = 0; k < 2; ++k) {
            const double h = k ? 1e-6 : 5e-7;
            move(of, direction, -h, low);
            move(of, direction, h, high);
            run(seeded_blocks, low, low);
            run(seeded_blocks, high, high);
            slope[k][0] = (product(high, weights) - product(low, weights)) / (2 * h);
        }
        if (!(fabs(slope[0][0] - slope[1][0]) <= 1e-6 * (1 + fabs(slope[0][0]))))
            continue;
        ++smooth;
        if (!(fabs(slope[0][0] - forward) <= 1e-5 * (1 + fabs(forward))))
            fail_msg("blocks %d: the derivative is %.12g, differences give %.12g", number, forward, slope[0][0]);
    }
    if (smooth < n / 2)
        fail_msg("only %d of %d are smooth", smooth, n);
}

/* ---- what is refused ---- */
static void uses_elsewhere(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    WF_IF (g, wf_gt(x, 0)) {
        wf_accumulate(g, WF_JOIN_MAX, a->set[OWN], x, i);
        wf_out(g, a->set[OWN], wf_mul(x, 2));
    }
    WF_END(g);
}

static void by_two_joins(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], x, wf_mod(i, FEW));
        wf_accumulate(g, WF_JOIN_ADD, a->set[SOME], x, wf_mod(i, FEW));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void reads_while_it_accumulates(wf_graph *g, const arrays *a, wf_val x, wf_val i)
{
    wf_var t = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(t, turns(g, a))) {
        wf_val so_far = wf_read(g, a->set[SOME], wf_mod(i, FEW));
        wf_accumulate(g, WF_JOIN_MAX, a->set[SOME], wf_add(wf_mul(so_far, 0.5), x), wf_mod(i, FEW));
        wf_inc(t, 1);
    }
    WF_END(g);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        body_of *record;
        const char *message;
    } of[] = {
        { uses_elsewhere, "and uses the array in another way, too, has no derivative" },
        { by_two_joins, "and uses the array in another way, too, has no derivative" },
        { reads_while_it_accumulates, "a loop reads an array that it also writes" },
    };
    const numbers zero = { 0 };
    for (size_t k = 0; k < sizeof of / sizeof *of; ++k)
        for (int forward = 0; forward < 2; ++forward) {
            arrays a = make(zero), w = make(zero);
            wf_val before[SETS], after[SETS], seed[SETS], out[SETS];
            wf_graph *g = wf_begin(ctx);
            read_all(g, &a, before);
            read_all(g, &w, seed);
            record(g, of[k].record, &a, before[X]);
            read_all(g, &a, after);
            if (forward)
                wf_jvp_n((wf_vals){ after, SETS }, (wf_vals){ before, SETS }, (wf_vals){ seed, SETS }, out);
            else
                wf_vjp_n((wf_vals){ after, SETS }, (wf_vals){ seed, SETS }, (wf_vals){ before, SETS }, out);
            wf_out(g, w.set[X], out[0]);
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, of[k].message);
            release(&a);
            release(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_blocks), cmocka_unit_test(at_random),
                                        cmocka_unit_test(refused) };
    return RUN_ON_ALL(tests);
}
