/* test_derivative_before.c - derivatives of array graphs whose blocks read arrays that they or later operations change, in
 * both modes and on tapes, beside differences.
 *
 * ctest: devices
 */
#include "launch/launch.h"
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 4, COLUMNS = 12, ELEMENTS = POINTS * COLUMNS, SIZES = POINTS + ELEMENTS, SUMS = 3 };
static const int32_t turns_of[POINTS] = { 0, 1, 7, 5 };

typedef struct arrays {
    wf_array *own, *table; /* [POINTS], [POINTS, COLUMNS]: read and changed */
    wf_array *turns, *sums, *path;
} arrays;

static arrays make(const double *numbers)
{
    return (arrays){ .own = line_of(numbers, POINTS),
                     .table = array_of(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), numbers + POINTS),
                     .turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of),
                     .sums = wf_full(ctx, WF_F64, WF_SHAPE(SUMS), 0),
                     .path = wf_full(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), 0) };
}

static void release(const arrays *a)
{
    wf_array *const all[] = { a->own, a->table, a->turns, a->sums, a->path };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
}

/* ---- what changes the arrays ---- */
typedef void change(wf_graph *g, const arrays *a, wf_val i);

static void in_place(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1) {
        wf_val v = wf_in(g, a->own);
        wf_out(g, a->own, wf_mul(wf_mul(v, v), 0.75));
    }
    WF_END(g);
}

/* A value from before the loop is read again in each turn, beside what the turns change. */
static void in_place_after_read(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->own), t;
    (void)i;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1)
        wf_out(g, a->own, wf_mul(wf_sin(wf_in(g, a->own)), wf_add(x, 1)));
    WF_END(g);
}

/* A few turns, which are straight code where nothing is read that they change. */
static void in_place_thrice(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_FOR (g, t, 0, 3, 1)
        wf_out(g, a->own, wf_sin(wf_in(g, a->own)));
    WF_END(g);
}

static void recurrence(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val x = wf_in(g, a->own), t;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1) {
        wf_val v = wf_read_or(g, a->table, 0.5, i, wf_sub(t, 1));
        wf_write(g, a->table, wf_add(wf_mul(wf_mul(v, v), 0.25), x), i, t);
    }
    WF_END(g);
}

/* A loop reads the table, adds to sums and stores its path; then the table and the own elements change. */
static void changed_later(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->own));
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1) {
        wf_val far = wf_sub(wf_mul(t, 5), 3);
        wf_val pixel = wf_add(wf_read_border(g, a->table, WF_BORDER_MIRROR, 0, i, far),
                              wf_read_or(g, a->table, 0.5, wf_add(i, 1), wf_mul(t, 2)));
        wf_set(v, wf_mul(v, wf_add(wf_sin(v), wf_mul(pixel, 0.5))));
        wf_accumulate(g, WF_JOIN_ADD, a->sums, v, wf_mod(wf_add(i, t), SUMS));
        wf_write(g, a->path, wf_mul(v, pixel), i, t);
    }
    WF_END(g);
    wf_write(g, a->table, wf_mul(v, v), i, wf_add(i, 2));
    wf_out(g, a->own, wf_mul(wf_get(v), wf_in(g, a->own)));
}

static void condition(wf_graph *g, const arrays *a, wf_val i)
{
    WF_IF (g, wf_gt(wf_in(g, a->own), 0.35)) {
        wf_val v = wf_in(g, a->own), u = wf_read_border(g, a->table, WF_BORDER_CLAMP, 0, wf_add(i, 1), 2);
        wf_out(g, a->own, wf_mul(wf_mul(v, u), v));
        wf_write(g, a->table, wf_sin(v), i, 3);
    }
    WF_END(g);
}

static change *const changes[] = {
    in_place, in_place_after_read, in_place_thrice, recurrence, changed_later, condition
};

/* ---- losses ---- */
static wf_val point(wf_graph *g) { return wf_cast(wf_iota(g, WF_SHAPE(POINTS), 0), WF_I32); }

/* Returns a loss of all arrays, of shape [1]. */
static wf_val loss_of(wf_graph *g, const arrays *a)
{
    double w[ELEMENTS];
    for (int k = 0; k < ELEMENTS; ++k)
        w[k] = 0.125 * (k * 5 % 13) - 0.5;
    wf_array *weights = array_of(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), w);
    wf_val v = wf_in(g, weights), sums = wf_in(g, a->sums), own = wf_in(g, a->own);
    wf_release(weights);
    wf_val sum = wf_add(total(wf_mul(wf_in(g, a->table), v)), total(wf_mul(sums, sums)));
    sum = wf_add(sum, total(wf_mul(wf_in(g, a->path), wf_sub(1, v))));
    return wf_reshape(wf_add(sum, total(wf_mul(own, wf_add(own, 1)))), WF_SHAPE(1));
}

static double value(change *record, const double *numbers)
{
    arrays a = make(numbers);
    wf_array *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx);
    record(g, &a, point(g));
    wf_out(g, loss, loss_of(g, &a));
    OK(ctx, wf_run(g));
    const double result = scalar_f64(loss);
    wf_release(loss);
    release(&a);
    return result;
}

static void in_graph(change *record, const double *numbers, const double *want)
{
    arrays a = make(numbers);
    wf_array *by_own = wf_like(a.own), *by_table = wf_like(a.table), *along = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a.own), y = wf_in(g, a.table), gradient[2], tangent;
    record(g, &a, point(g));
    wf_val loss = loss_of(g, &a);
    wf_grad(loss, WF_VALS(x, y), gradient);
    wf_jvp(WF_VALS(loss), WF_VALS(x, y), WF_VALS(1, 0.5), &tangent);
    wf_out(g, by_own, gradient[0]);
    wf_out(g, by_table, gradient[1]);
    wf_out(g, along, tangent);
    OK(ctx, wf_run(g));
    double sum = 0;
    for (int k = 0; k < SIZES; ++k)
        sum += want[k] * (k < POINTS ? 1 : 0.5);
    expect_close(by_own, want, 1e-7);
    expect_close(by_table, want + POINTS, 1e-7);
    expect_close(along, &sum, 1e-7);
    wf_release(by_own);
    wf_release(by_table);
    wf_release(along);
    release(&a);
}

static void on_tape(change *record, const double *numbers, const double *want)
{
    arrays a = make(numbers);
    wf_array *by_own = wf_like(a.own), *by_table = wf_like(a.table), *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(a.own, a.table));
    wf_graph *g = wf_begin(ctx);
    record(g, &a, point(g));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, loss, loss_of(g, &a));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(a.own, a.table), WF_ARRAYS(by_own, by_table)));
    expect_close(by_own, want, 1e-7);
    expect_close(by_table, want + POINTS, 1e-7);
    wf_tape_free(tape);
    wf_release(by_own);
    wf_release(by_table);
    wf_release(loss);
    release(&a);
}

static void all_changes(void **state)
{
    (void)state;
    const double h = 1e-5;
    for (size_t r = 0; r < sizeof changes / sizeof *changes; ++r) {
        double at[SIZES], want[SIZES];
        for (int k = 0; k < SIZES; ++k)
            at[k] = k < POINTS ? 0.3 + 0.1 * k : 0.2 + 0.0625 * ((k - POINTS) * 7 % 11);
        for (int k = 0; k < SIZES; ++k) {
            const double x = at[k];
            at[k] = x + h;
            want[k] = value(changes[r], at);
            at[k] = x - h;
            want[k] = (want[k] - value(changes[r], at)) / (2 * h);
            at[k] = x;
        }
        in_graph(changes[r], at, want);
        on_tape(changes[r], at, want);
    }
}

/* ---- what is refused ---- */
static void not_read_before(wf_graph *g, const arrays *a, wf_val i)
{
    wf_var v = wf_local(g, WF_F64, wf_in(g, a->own));
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, a->turns), 1)
        wf_set(v, wf_mul(wf_sin(v), wf_read(g, a->path, i, t)));
    WF_END(g);
    wf_write(g, a->path, wf_get(v), i, 2);
}

static void read_after_change(wf_graph *g, const arrays *a, wf_val i)
{
    WF_IF (g, wf_gt(wf_in(g, a->own), 0.35)) {
        wf_write(g, a->table, wf_in(g, a->own), i, 2);
        wf_out(g, a->own, wf_sin(wf_read(g, a->table, i, wf_mul(i, 0))));
    }
    WF_END(g);
}

static void read_in_a_later_turn(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_IF (g, wf_gt(wf_in(g, a->own), 0.35)) {
        WF_FOR (g, t, 0, 3, 1)
            wf_out(g, a->own, wf_sin(wf_in(g, a->own)));
        WF_END(g);
    }
    WF_END(g);
}

static void far_back(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 5, wf_add(wf_in(g, a->turns), 5), 1)
        wf_write(g, a->table, wf_sin(wf_read(g, a->table, i, wf_sub(t, 17))), i, t);
    WF_END(g);
}

static void other_row(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 1, wf_in(g, a->turns), 1)
        wf_write(g, a->table, wf_sin(wf_read_or(g, a->table, 0, wf_add(i, 1), wf_sub(t, 1))), i, t);
    WF_END(g);
}

static void two_counters(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    (void)i;
    WF_FOR (g, t, 2, wf_in(g, a->turns), 1)
        wf_write(g, a->table, wf_sin(wf_read_or(g, a->table, 0, wf_sub(t, 2), wf_sub(t, 1))), t, t);
    WF_END(g);
}

/* The turns read between the elements that they store. */
static void between(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t;
    WF_FOR (g, t, 1, wf_in(g, a->turns), 1)
        wf_write(g, a->table, wf_sin(wf_read_or(g, a->table, 0, i, wf_sub(wf_mul(t, 2), 1))), i, wf_mul(t, 2));
    WF_END(g);
}

static void in_another_loop(wf_graph *g, const arrays *a, wf_val i)
{
    wf_val t, k;
    WF_FOR (g, k, 0, 2, 1) {
        WF_FOR (g, t, 1, wf_in(g, a->turns), 1)
            wf_write(g, a->table, wf_sin(wf_read(g, a->table, i, wf_sub(t, 1))), i, t);
        WF_END(g);
    }
    WF_END(g);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        change *record;
        const char *why;
    } mistakes[] = { { not_read_before, "say wf_in of the array before the block" },
                     { read_after_change, "a condition reads an array after it has changed it" },
                     { read_in_a_later_turn, "a condition reads an array after it has changed it" },
                     { far_back, "a loop reads an array that it also writes" },
                     { other_row, "a loop reads an array that it also writes" },
                     { two_counters, "a loop reads an array that it also writes" },
                     { between, "a loop reads an array that it also writes" },
                     { in_another_loop, "a loop reads an array that it also writes" } };
    double at[SIZES];
    for (int k = 0; k < SIZES; ++k)
        at[k] = 0.5;
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; ++k)
        for (int forward = 0; forward < 2; ++forward) {
            arrays a = make(at);
            wf_graph *g = wf_begin(ctx);
            wf_val x = wf_in(g, a.own), y = wf_in(g, a.table), d[2];
            mistakes[k].record(g, &a, point(g));
            if (forward)
                wf_jvp(WF_VALS(loss_of(g, &a)), WF_VALS(x, y), WF_VALS(1, 1), d);
            else
                wf_grad(loss_of(g, &a), WF_VALS(x, y), d);
            wf_out(g, a.sums, wf_broadcast(wf_reshape(total(d[0]), WF_SHAPE(1)), WF_SHAPE(SUMS)));
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, mistakes[k].why);
            release(&a);
        }
}

/* A turn that does not meet the loop's test changes nothing, so it is not saved: the tape counts turns by the test. This
 * holds of the variables, too, that carry what the turn before has stored. */
static void counted_by_the_test(void **state)
{
    (void)state;
    const double numbers[SIZES] = { 0 };
    arrays a = make(numbers);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a.own), y = wf_in(g, a.table), i = point(g), gradient[2];
    wf_var t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, a.turns))) {
        wf_val v = wf_read_or(g, a.table, 0.5, i, wf_sub(t, 1));
        wf_write(g, a.table, wf_add(wf_mul(wf_mul(v, v), 0.25), x), i, t);
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_grad(loss_of(g, &a), WF_VALS(x, y), gradient);
    const wf__ir *ir = wf__graph_ir(g);
    int counts = 0;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *next = &ir->node[r], *n = &ir->node[next->b];
        if (next->op != WF__NEXT || n->op != WF__OP_select || n->dtype != WF_U32 || n->c != next->a)
            continue;
        assert_int_not_equal(ir->node[n->a].op, WF__STATE);
        ++counts;
    }
    assert_true(counts > 0);
    wf_drop(g);
    release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_changes),
        cmocka_unit_test(counted_by_the_test),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
