/* test_adjoint_carried.c - derivatives of operators whose loops read what earlier turns have stored: wf_adjoint, wf_tangent
 * and tapes, beside differences of the operator itself.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 5, COLUMNS = 20, ELEMENTS = POINTS * COLUMNS, SIZES = POINTS + ELEMENTS };
static const int32_t turns_of[POINTS] = { 0, 1, 8, 3, 6 };

typedef struct scene {
    wf_array *own, *table; /* [POINTS], [POINTS, COLUMNS]: read and stored */
    wf_array *turns;       /* [POINTS] */
} scene;

static scene make_scene(wf_dtype t, const double *numbers)
{
    return (scene){ .own = array_as(t, WF_SHAPE(POINTS), numbers),
                    .table = array_as(t, WF_SHAPE(POINTS, COLUMNS), numbers + POINTS),
                    .turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of) };
}

static void release(const scene *s)
{
    wf_release(s->own);
    wf_release(s->table);
    wf_release(s->turns);
}

/* ---- operators ---- */
/* The own element becomes a function of itself in each turn, in every other one by a condition. */
static void in_place(wf_graph *g, const scene *s)
{
    wf_val t;
    WF_FOR (g, t, 0, wf_in(g, s->turns), 1) {
        wf_val v = wf_in(g, s->own);
        wf_out(g, s->own, wf_mul(wf_mul(v, v), 1.25));
        WF_IF (g, wf_eq(wf_mod(t, 2), 1))
            wf_out(g, s->own, wf_mul(wf_sin(wf_in(g, s->own)), 1.5));
        WF_END(g);
    }
    WF_END(g);
}

/* Each element is a function of the one before, and of 0.5 before the first one. */
static void recurrence(wf_graph *g, const scene *s)
{
    wf_val i = wf_index(g, 0), t;
    WF_FOR (g, t, 0, wf_in(g, s->turns), 1) {
        wf_val v = wf_read_or(g, s->table, 0.5, i, wf_sub(t, 1));
        wf_write(g, s->table, wf_add(wf_mul(wf_mul(v, v), 0.75), wf_in(g, s->own)), i, t);
    }
    WF_END(g);
}

/* The counter counts backward, and two elements that are stored before are read, of every other column. */
static void backward(wf_graph *g, const scene *s)
{
    wf_val i = wf_index(g, 0), t;
    WF_FOR (g, t, wf_mul(wf_in(g, s->turns), 2), 0, -2) {
        wf_val v = wf_read_or(g, s->table, 0.25, i, wf_add(t, 1)), w = wf_read_or(g, s->table, 0.75, i, wf_add(t, 3));
        wf_write(g, s->table, wf_add(wf_mul(wf_mul(v, v), 0.75), wf_mul(wf_sin(w), wf_in(g, s->own))), i, wf_sub(t, 1));
    }
    WF_END(g);
}

/* Reads of the latest four turns, of the turn itself, and of what a later turn stores; every third turn stores nothing. */
static void many(wf_graph *g, const scene *s)
{
    wf_val i = wf_index(g, 0), n = wf_add(wf_in(g, s->turns), 4);
    wf_var t = wf_local(g, WF_I32, 4);
    WF_WHILE (g, wf_lt(t, n)) {
        wf_val at = wf_get(t), sum = wf_mul(wf_read(g, s->table, i, wf_add(t, 1)), wf_read(g, s->table, i, t));
        for (int k = 1; k <= 4; ++k)
            sum = wf_add(sum, wf_mul(wf_sin(wf_read(g, s->table, i, wf_sub(at, k))), 0.25 * k));
        WF_IF (g, wf_ne(wf_mod(t, 3), 0))
            wf_write(g, s->table, sum, i, at);
        WF_END(g);
        wf_inc(t, 1);
    }
    WF_END(g);
}

/* Reads of what the sixteenth and the seventh turn before have stored, and of what was there before the loop. */
static void far_back(wf_graph *g, const scene *s)
{
    wf_val i = wf_index(g, 0), t;
    WF_FOR (g, t, 1, wf_add(wf_mul(wf_in(g, s->turns), 2), 4), 1) {
        wf_val v = wf_read_or(g, s->table, 0.5, i, wf_sub(t, 16)), w = wf_read_or(g, s->table, 0.75, i, wf_sub(t, 7));
        wf_write(g, s->table, wf_add(wf_mul(wf_sin(v), w), wf_mul(wf_in(g, s->own), v)), i, t);
    }
    WF_END(g);
}

/* The counter is changed before its use, and counts down. */
static void changed_first(wf_graph *g, const scene *s)
{
    wf_val i = wf_index(g, 0);
    wf_var t = wf_local(g, WF_I64, wf_mul(wf_in(g, s->turns), 2));
    WF_WHILE (g, wf_gt(t, 0)) {
        wf_set(t, wf_sub(t, 2));
        wf_val v = wf_read(g, s->table, i, wf_add(t, 2)), w = wf_read(g, s->table, i, t);
        wf_write(g, s->table, wf_add(wf_mul(wf_sin(v), 1.25), wf_mul(w, wf_in(g, s->own))), i, t);
    }
    WF_END(g);
}

typedef struct row {
    const char *name;
    void (*record)(wf_graph *g, const scene *s);
    bool table; /* stores the table; else the own elements */
} row;
static const row rows[] = { { "in place", in_place, false }, { "recurrence", recurrence, true },
                            { "backward", backward, true },  { "many", many, true },
                            { "far back", far_back, true },  { "changed first", changed_first, true } };
enum { OPERATORS = sizeof rows / sizeof *rows };

static wf_graph *record(const row *o, const scene *s)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS), .name = o->name);
    o->record(g, s);
    return g;
}

/* ---- numbers ---- */
static double number_of(int k) { return k < POINTS ? 0.3 + 0.1 * k : 0.2 + 0.0625 * ((k - POINTS) * 7 % 11); }
static double weight_of(int k) { return 0.125 * (k * 5 % 13) - 0.5; }

/* The loss: the weighted sum of what the operator leaves. */
static double loss_of(const row *o, const double *numbers)
{
    scene s = make_scene(WF_F64, numbers);
    OK(ctx, wf_run(record(o, &s)));
    double *got = contents(o->table ? s.table : s.own), sum = 0;
    for (int k = 0; k < (o->table ? ELEMENTS : POINTS); ++k)
        sum += weight_of(k) * got[k];
    free(got);
    release(&s);
    return sum;
}

typedef struct slopes {
    double at[SIZES], want[SIZES], along; /* along: all numbers */
} slopes;

static slopes differences(const row *o)
{
    const double h = 1e-5;
    slopes d = { .along = 0 };
    for (int k = 0; k < SIZES; ++k)
        d.at[k] = number_of(k);
    for (int k = 0; k < (o->table ? SIZES : POINTS); ++k) {
        const double x = d.at[k];
        d.at[k] = x + h;
        d.want[k] = loss_of(o, d.at);
        d.at[k] = x - h;
        d.want[k] = (d.want[k] - loss_of(o, d.at)) / (2 * h);
        d.at[k] = x;
        d.along += d.want[k];
    }
    return d;
}

static wf_array *weights(wf_dtype t, bool table)
{
    double w[ELEMENTS];
    for (int k = 0; k < ELEMENTS; ++k)
        w[k] = weight_of(k);
    return array_as(t, table ? WF_SHAPE(POINTS, COLUMNS) : WF_SHAPE(POINTS), w);
}

/* ---- tests ---- */
static void adjoint(const row *o, const slopes *d, wf_dtype t, double tolerance)
{
    const wf_dtype wide = t == WF_F64 ? WF_F64 : WF_F32;
    scene s = make_scene(t, d->at);
    wf_array *up = weights(wide, o->table), *by_own = wf_full(ctx, wide, WF_SHAPE(POINTS), 0);
    wf_array *by_table = wf_full(ctx, wide, WF_SHAPE(POINTS, COLUMNS), 0);
    wf_arrays out = o->table ? WF_ARRAYS(s.table) : WF_ARRAYS(s.own);
    wf_arrays wrt = { (wf_array *[]){ s.own, s.table }, o->table ? 2 : 1 };
    OK(ctx, wf_adjoint(record(o, &s), out, WF_ARRAYS(up), wrt,
                       (wf_arrays){ (wf_array *[]){ by_own, by_table }, o->table ? 2 : 1 }));
    expect_close(by_own, d->want, tolerance);
    if (o->table)
        expect_close(by_table, d->want + POINTS, tolerance);
    wf_array *all[] = { up, by_own, by_table };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
    release(&s);
}

/* The tangent begins with the direction of the contents from before. */
static void tangent(const row *o, const slopes *d)
{
    scene s = make_scene(WF_F64, d->at);
    wf_array *of_own = wf_full(ctx, WF_F64, WF_SHAPE(POINTS), 1);
    wf_array *of_table = wf_full(ctx, WF_F64, WF_SHAPE(POINTS, COLUMNS), 1),
             *along = wf_like(o->table ? s.table : s.own);
    wf_array *up = weights(WF_F64, o->table), *sum = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, along, 1);
    OK(ctx, wf_run(g));
    wf_arrays out = o->table ? WF_ARRAYS(s.table) : WF_ARRAYS(s.own);
    wf_arrays wrt = { (wf_array *[]){ s.own, s.table }, o->table ? 2 : 1 };
    OK(ctx, wf_tangent(record(o, &s), wrt, (wf_arrays){ (wf_array *[]){ of_own, of_table }, o->table ? 2 : 1 }, out,
                       WF_ARRAYS(along)));
    g = wf_begin(ctx);
    wf_out(g, sum, wf_reshape(total(wf_mul(wf_in(g, along), wf_in(g, up))), WF_SHAPE(1)));
    OK(ctx, wf_run(g));
    expect_close(sum, &d->along, 1e-7);
    wf_array *all[] = { of_own, of_table, along, up, sum };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
    release(&s);
}

static void on_tape(const row *o, const slopes *d)
{
    scene s = make_scene(WF_F64, d->at);
    wf_array *up = weights(WF_F64, o->table), *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_array *by_own = wf_like(s.own), *by_table = wf_like(s.table);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(s.own, s.table));
    OK(ctx, wf_run(record(o, &s)));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, loss, wf_reshape(total(wf_mul(wf_in(g, o->table ? s.table : s.own), wf_in(g, up))), WF_SHAPE(1)));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(s.own, s.table), WF_ARRAYS(by_own, by_table)));
    expect_close(by_own, d->want, 1e-7);
    if (o->table)
        expect_close(by_table, d->want + POINTS, 1e-7);
    wf_tape_free(tape);
    wf_array *all[] = { up, loss, by_own, by_table };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
    release(&s);
}

static void all_operators(void **state)
{
    (void)state;
    for (int k = 0; k < OPERATORS; ++k) {
        const slopes d = differences(&rows[k]);
        adjoint(&rows[k], &d, WF_F64, 1e-7);
        adjoint(&rows[k], &d, WF_F32, 1e-4);
        adjoint(&rows[k], &d, WF_F16, 5e-2);
        tangent(&rows[k], &d);
        on_tape(&rows[k], &d);
    }
}

/* ---- what is refused ---- */
typedef enum mistake { FAR, TWICE, OTHERS, ROWS, CLAMPED, BOUNDED, MISTAKES } mistake;

static void refused(void **state)
{
    (void)state;
    double numbers[SIZES];
    for (int k = 0; k < SIZES; ++k)
        numbers[k] = number_of(k);
    for (mistake what = 0; what < MISTAKES; ++what) {
        scene s = make_scene(WF_F64, numbers);
        wf_array *up = weights(WF_F64, true), *by = wf_like(s.table);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_index(g, 0), n = wf_in(g, s.turns), t;
        WF_FOR (g, t, 5, wf_add(n, 5), 1) {
            wf_val own = what == ROWS ? wf_mod(wf_mul(i, 2), POINTS) : i; /* rows in an order that is not seen */
            wf_val line = what == OTHERS ? wf_add(own, 1) : own;
            wf_val column = what == FAR ? wf_sub(t, 17) : what == BOUNDED ? wf_max(wf_sub(t, 1), 7) : wf_sub(t, 1);
            wf_val v = wf_read_border(g, s.table, what == CLAMPED ? WF_BORDER_CLAMP : WF_BORDER_VALUE, 0, line, column);
            wf_write(g, s.table, wf_sin(v), own, t);
            if (what == TWICE)
                wf_write(g, s.table, wf_cos(v), own, t);
        }
        WF_END(g);
        REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(s.table), WF_ARRAYS(up), WF_ARRAYS(s.table), WF_ARRAYS(by)),
                WF_ERR_UNSUPPORTED, "reads what it also stores");
        wf_release(up);
        wf_release(by);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operators),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
