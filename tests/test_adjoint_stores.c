/* test_adjoint_stores.c - adjoints of operators over an index space that store some elements, store an element twice, or change
 * arrays in place, with respect to what they read and to the contents from before; alone and on a tape.
 *
 * ctest: devices
 */
#include "on_devices.h"

enum { N = 4 };
/* Operators of x [N], c [N] (integers) and y [N], which they store. */
typedef void operator_of(wf_graph *g, wf_array *x, wf_array *c, wf_array *y);

static void turned(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x);
    wf_write_if(g, wf_gt(wf_in(g, c), 1), y, wf_mul(v, v), wf_sub(N - 1, wf_index(g, 0)));
}
static void in_a_condition(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x);
    WF_IF (g, wf_gt(wf_in(g, c), 1))
        wf_out(g, y, wf_mul(v, v));
    WF_END(g);
}
static void twice(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x), i = wf_index(g, 0);
    wf_write(g, y, wf_mul(v, v), i);
    wf_write_if(g, wf_gt(wf_in(g, c), 1), y, wf_mul(v, 3), i);
}
static void element_then_index(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x);
    wf_out(g, y, wf_mul(v, v));
    wf_write_if(g, wf_gt(wf_in(g, c), 1), y, wf_mul(v, 3), wf_index(g, 0));
}
/* Point 3 stores to place 3 twice, by indices that are data the second time. */
static void by_data(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x), i = wf_index(g, 0), k = wf_cast(wf_in(g, c), WF_I64);
    wf_write(g, y, wf_mul(v, v), i);
    wf_write_if(g, wf_eq(k, i), y, wf_mul(v, 3), k);
}
static void even_and_odd(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    (void)c;
    wf_val v = wf_in(g, x), i = wf_mul(wf_index(g, 0), 2);
    wf_val first = wf_lt(wf_index(g, 0), N / 2);
    wf_write_if(g, first, y, v, i);
    wf_write_if(g, first, y, wf_mul(v, 5), wf_add(i, 1));
}
static void nothing_left(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    (void)c;
    wf_out(g, y, wf_exp(wf_mul(wf_in(g, x), 0)));
}
static void added(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, x);
    wf_accumulate_if(g, wf_gt(wf_in(g, c), 1), WF_JOIN_ADD, y, wf_mul(v, v), wf_idiv(wf_index(g, 0), 2));
}
static void in_place(wf_graph *g, wf_array *x, wf_array *c, wf_array *y)
{
    wf_val v = wf_in(g, y);
    WF_IF (g, wf_gt(wf_in(g, c), 1))
        wf_out(g, y, wf_mul(wf_in(g, x), wf_mul(v, v)));
    WF_END(g);
}

static const struct {
    const char *name;
    operator_of *record;
    double to_x[N], to_y[N];
} rows[] = {
    /* x = 1, 2, 3, 4; c = 0, 1, 2, 3; y = 5, 6, 7, 8; upstream 1, 10, 100, 1000 */
    { "turned", turned, { 0, 0, 60, 8 }, { 0, 0, 100, 1000 } },
    { "in a condition", in_a_condition, { 0, 0, 600, 8000 }, { 1, 10, 0, 0 } },
    { "twice", twice, { 2, 40, 300, 3000 }, { 0, 0, 0, 0 } },
    { "element, then index", element_then_index, { 2, 40, 300, 3000 }, { 0, 0, 0, 0 } },
    { "by data", by_data, { 3, 30, 300, 3000 }, { 0, 0, 0, 0 } },
    { "even and odd", even_and_odd, { 51, 5100, 0, 0 }, { 0, 0, 0, 0 } },
    { "nothing left", nothing_left, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
    { "added", added, { 0, 0, 60, 80 }, { 1, 10, 100, 1000 } },
    { "in place", in_place, { 0, 0, 4900, 64000 }, { 1, 10, 4200, 64000 } },
};

static wf_array *x, *c, *y, *upstream, *to_x, *to_y;

static void begin(void)
{
    x = array_of(ctx, WF_F64, WF_SHAPE(N), ((const double[]){ 1, 2, 3, 4 }));
    c = array_of(ctx, WF_I32, WF_SHAPE(N), ((const int32_t[]){ 0, 1, 2, 3 }));
    y = array_of(ctx, WF_F64, WF_SHAPE(N), ((const double[]){ 5, 6, 7, 8 }));
    upstream = array_of(ctx, WF_F64, WF_SHAPE(N), ((const double[]){ 1, 10, 100, 1000 }));
    to_x = wf_full(ctx, WF_F64, WF_SHAPE(N), 7);
    to_y = wf_full(ctx, WF_F64, WF_SHAPE(N), 7);
}

static void end(void)
{
    wf_array *const all[] = { x, c, y, upstream, to_x, to_y };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void expect(const char *name, const char *what, wf_array *a, const double *want)
{
    double *got = contents(a);
    for (int i = 0; i < N; ++i)
        if (!(fabs(got[i] - want[i]) <= 1e-13 * fabs(want[i])))
            fail_msg("%s, %s: element %d is %.17g, not %.17g", name, what, i, got[i], want[i]);
    free(got);
}

static wf_graph *record(operator_of *f)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    f(g, x, c, y);
    return g;
}

static void alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        begin();
        OK(ctx, wf_adjoint(record(rows[k].record), WF_ARRAYS(y), WF_ARRAYS(upstream), WF_ARRAYS(x, y),
                           WF_ARRAYS(to_x, to_y)));
        expect(rows[k].name, "x", to_x, rows[k].to_x);
        expect(rows[k].name, "y", to_y, rows[k].to_y);
        end();
    }
}

static void on_a_tape(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        begin();
        wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x, y));
        OK(ctx, wf_run(record(rows[k].record)));
        wf_graph *g = wf_begin(ctx);
        wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_in(g, y), wf_in(g, upstream)), WF_ALL_AXES));
        OK(ctx, wf_run(g));
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x, y), WF_ARRAYS(to_x, to_y)));
        expect(rows[k].name, "x on a tape", to_x, rows[k].to_x);
        expect(rows[k].name, "y on a tape", to_y, rows[k].to_y);
        wf_tape_free(tape);
        wf_release(loss);
        end();
    }
}

/* One operator changes y in place and stores to z, on which alone the loss depends. */
static void two_outputs(void **state)
{
    (void)state;
    begin();
    wf_array *z = wf_like(y);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x, y));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val v = wf_in(g, y);
    wf_out(g, y, wf_mul(v, wf_in(g, x)));
    wf_out(g, z, wf_mul(v, v));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_in(g, z), wf_in(g, upstream)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x, y), WF_ARRAYS(to_x, to_y)));
    expect("two outputs", "x", to_x, ((const double[]){ 0, 0, 0, 0 }));
    expect("two outputs", "y", to_y, ((const double[]){ 10, 120, 1400, 16000 }));
    wf_tape_free(tape);
    wf_release(loss);
    wf_release(z);
    end();
}

/* Scratch in which a point finds what it stored itself; what another point stored is refused. */
static void scratch(void **state)
{
    (void)state;
    begin();
    for (int others = 0; others < 2; ++others) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .block = WF_SHAPE(2));
        wf_array *block = wf_scratch(g, WF_F64, WF_SHAPE(2), false);
        wf_val v = wf_in(g, x), place = wf_mod(wf_index(g, 0), 2);
        wf_write(g, block, wf_mul(v, v), place);
        wf_out(g, y, wf_read(g, block, others ? wf_sub(1, place) : place));
        wf_status status = wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(upstream), WF_ARRAYS(x), WF_ARRAYS(to_x));
        if (others)
            REFUSED(ctx, status, WF_ERR_UNSUPPORTED, "reads what it also stores");
        else
            OK(ctx, status);
    }
    expect("scratch", "x", to_x, ((const double[]){ 2, 40, 600, 8000 }));
    end();
}

static void refused(void **state)
{
    (void)state;
    begin();
    for (int k = 0; k < 4; ++k) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val v = wf_in(g, x);
        if (k == 0)
            wf_out(g, y, wf_mul(wf_atomic(g, WF_JOIN_ADD, y, v, wf_index(g, 0)), v));
        else if (k == 1) {
            wf_accumulate(g, WF_JOIN_ADD, y, v, wf_index(g, 0));
            wf_accumulate(g, WF_JOIN_MAX, y, v, wf_idiv(wf_index(g, 0), 2));
        } else if (k == 2) {
            wf_var i = wf_local(g, WF_I64, 0);
            WF_WHILE (g, wf_lt(i, wf_cast(wf_in(g, c), WF_I64))) {
                wf_write(g, y, wf_mul(v, v), wf_mod(wf_mul(i, i), N));
                wf_inc(i, 1);
            }
            WF_END(g);
        } else {
            wf_out(g, y, v);
            wf_out(g, to_x, wf_read(g, y, wf_sub(N - 1, wf_index(g, 0))));
        }
        REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(upstream), WF_ARRAYS(x), WF_ARRAYS(to_y)),
                WF_ERR_UNSUPPORTED,
                k == 0   ? "wf_adjoint: wf_atomic has no derivative"
                : k == 1 ? "uses the array in another way"
                : k == 2 ? "wf_adjoint: wf_write in a loop that stays a loop has a derivative if all turns store to one"
                         : "reads what it also stores");
    }
    end();
}

/* Complex elements at places of the points' own, read in a loop that stays one. */
static void complex_reads_in_a_loop(void **state)
{
    enum { MOST = 3 };
    static const int64_t places[N][MOST] = { { 0, 1, 2 }, { 3, -1, 0 }, { 1, 1, 9 }, { 3, 2, 3 } };
    static const double parts[N][2] = { { 1, 2 }, { 3, -4 }, { 0, 5 }, { -6, 7 } };
    double want[N][2] = { { 0 } };
    (void)state;
    wf_array *z = array_of(ctx, WF_C128, WF_SHAPE(N), parts), *up = array_of(ctx, WF_C128, WF_SHAPE(N), parts);
    wf_array *at = array_of(ctx, WF_I64, WF_SHAPE(N, MOST), places),
             *turns = array_of(ctx, WF_I32, WF_SHAPE(N), ((int32_t[]){ 3, 2, 3, 0 }));
    wf_array *sums = wf_like(z), *by_z = wf_like(z);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .indexed = true);
    wf_var sum = wf_local(g, WF_C128, 0), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, turns))) {
        wf_inc(sum, wf_read_border(g, z, WF_BORDER_VALUE, 0, wf_read(g, at, wf_index(g, 0), t)));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_out(g, sums, sum);
    OK(ctx, wf_adjoint(g, WF_ARRAYS(sums), WF_ARRAYS(up), WF_ARRAYS(z), WF_ARRAYS(by_z)));
    for (int i = 0; i < N - 1; ++i)
        for (int k = 0; k < (i == 1 ? 2 : MOST); ++k)
            for (int part = 0; part < 2 && places[i][k] >= 0 && places[i][k] < N; ++part)
                want[places[i][k]][part] += parts[i][part];
    double *got = contents(by_z);
    for (int i = 0; i < 2 * N; ++i)
        assert_true(got[i] == want[i / 2][i % 2]);
    free(got);
    RELEASE(z, up, at, turns, sums, by_z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),   cmocka_unit_test(on_a_tape), cmocka_unit_test(two_outputs),
        cmocka_unit_test(scratch), cmocka_unit_test(refused),   cmocka_unit_test(complex_reads_in_a_loop),
    };
    return RUN_ON_ALL(tests);
}
