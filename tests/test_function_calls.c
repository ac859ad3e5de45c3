/* test_function_calls.c - calls of traced functions. A call is inlined, or at each point chosen from a table. Equal
 * functions are merged, a table with one function left is inlined, and effects happen only for the lanes that call.
 * Errors.
 *
 * ctest: devices
 */
#include "launch/launch.h"
#include "on_devices.h"

enum { N = 1003 };

typedef struct linear { /* out[0] = a * in[0] + b */
    double a, b;
    int calls;
} linear;

static void call_linear(const wf_site *site)
{
    linear *f = site->user;
    ++f->calls;
    wf_set(site->out[0], wf_add(wf_mul(site->in[0], f->a), f->b));
}

static void call_square(const wf_site *site) { wf_set(site->out[0], wf_mul(site->in[0], site->in[0])); }

static void call_same_square(const wf_site *site) { wf_set(site->out[0], wf_mul(site->in[0], site->in[0])); }

static void call_root(const wf_site *site) { wf_set(site->out[0], wf_sqrt(site->in[0])); }

static double by(int64_t k, double x, double before)
{
    return k == 0 ? x * x : k == 1 ? 2 * x + 1 : k == 2 ? x * x : k == 3 ? sqrt(x) : before;
}

/* The same in an index space and over whole arrays. */
static wf_graph *begin(bool arrays, uint32_t off, wf_val *i)
{
    wf_graph *g = arrays ? wf_begin(ctx, .flags_off = off) : wf_begin(ctx, .shape = WF_SHAPE(N), .flags_off = off);
    *i = arrays ? wf_iota(g, WF_SHAPE(N), 0) : wf_index(g, 0);
    return g;
}

static uint32_t count(const wf_graph *g, unsigned op)
{
    const wf__ir *ir = &g->program.rec.ir;
    uint32_t n = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        n += ir->node[r].op == op;
    return n;
}

static void expect(wf_graph *g, wf_array *out, double (*want)(int64_t i))
{
    OK(ctx, wf_run(g));
    double *x = contents(out);
    for (int64_t i = 0; i < N; ++i)
        if (x[i] != want(i))
            fail_msg("at %lld: %g instead of %g", (long long)i, x[i], want(i));
    free(x);
    wf_release(out);
}

/* ---- a variable that is passed and set ---- */
static void call_next(const wf_site *site) /* Fibonacci: the second result needs the old value of the first */
{
    wf_set(site->out[0], site->in[1]);
    wf_set(site->out[1], wf_add(site->in[0], site->in[1]));
}

static void call_twice(const wf_site *site) /* of a cycle: the call sets its own index, which is needed afterwards */
{
    wf_set(site->out[0], wf_add(site->in[0], 2));
    wf_set(site->out[1], wf_sub(site->in[0], site->in[1]));
}

static void test_variables_by_value(void **state)
{
    (void)state;
    for (int arrays = 0; arrays < 2; ++arrays) {
        wf_val i;
        wf_array *out = wf_empty(ctx, WF_I64, WF_SHAPE(N));
        wf_graph *g = begin(arrays, 0, &i);
        wf_var a = wf_local(g, WF_I64, i), b = wf_local(g, WF_I64, 1);
        wf_val k;
        wf_call(g, ((wf_function){ call_next, NULL }), WF_VALS(a, b), WF_VARS(a, b)); /* 1, i + 1 */
        WF_FOR (g, k, 0, 3, 1) {
            wf_switch(g, wf_mod(a, 2), WF_FUNCTIONS({ call_next, NULL }, { call_twice, NULL }), WF_VALS(a, b),
                      WF_VARS(a, b));
        }
        WF_END(g);
        wf_out(g, out, wf_add(wf_mul(a, 1000000), b));
        OK(ctx, wf_run(g));
        int64_t *got = contents(out);
        for (int64_t p = 0; p < N; ++p) {
            int64_t x = 1, y = p + 1;
            for (int turn = 0; turn < 3; ++turn) {
                int64_t before = x;
                x = before % 2 ? before + 2 : y;
                y = before % 2 ? before - y : before + y;
            }
            assert_int_equal(got[p], x * 1000000 + y);
        }
        free(got);
        wf_release(out);
    }
}

/* ---- a table of four, two of which are equal; indices beyond it on both sides ---- */
static double chosen(int64_t i) { return by(i % 7 - 1, (double)i, -5); }

static void test_table(void **state)
{
    (void)state;
    for (int way = 0; way < 4; ++way) {
        bool arrays = way & 1, merge = !(way & 2);
        linear line = { 2, 1, 0 };
        wf_val i;
        wf_graph *g = begin(arrays, merge ? 0 : WF_FLAG_CALL_OPT, &i);
        wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_F64, -5);
        wf_switch(g, wf_sub(wf_mod(i, 7), 1),
                  WF_FUNCTIONS({ call_square, NULL }, { call_linear, &line }, { call_same_square, NULL },
                               { call_root, NULL }),
                  WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
        assert_int_equal(line.calls, 1);
        assert_int_equal(g->program.rec.ir.merged, merge);
        assert_int_equal(count(g, WF__LOOP), merge ? 3 : 4);
        wf_out(g, out, y);
        expect(g, out, chosen);
    }
}

/* Several functions equal to one of them, among them the first and the last; the others differ in constants. */
static double merged(int64_t i) { return i % 5 == 3 ? 3.0 * (double)i : 2.0 * (double)i + 1; }

static void test_merging(void **state)
{
    (void)state;
    for (int arrays = 0; arrays < 2; ++arrays) {
        linear f[5] = { { 2, 1, 0 }, { 2, 1, 0 }, { 2, 1, 0 }, { 3, 0, 0 }, { 2, 1, 0 } };
        wf_val i;
        wf_graph *g = begin(arrays, 0, &i);
        wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_F64, 0);
        wf_switch(g, wf_mod(i, 5),
                  WF_FUNCTIONS({ call_linear, &f[0] }, { call_linear, &f[1] }, { call_linear, &f[2] },
                               { call_linear, &f[3] }, { call_linear, &f[4] }),
                  WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
        assert_int_equal(g->program.rec.ir.merged, 3);
        wf_out(g, out, y);
        expect(g, out, merged);
    }
}

/* One and the same function in two places is recorded once. */
static void test_one_twice(void **state)
{
    (void)state;
    linear f = { 1, 0, 0 };
    wf_val i;
    wf_graph *g = begin(false, 0, &i);
    wf_var y = wf_local(g, WF_F64, 0);
    wf_switch(g, wf_mod(i, 3), WF_FUNCTIONS({ call_linear, &f }, { call_root, NULL }, { call_linear, &f }),
              WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
    assert_int_equal(f.calls, 1);
    assert_int_equal(count(g, WF__LOOP), 2);
    wf_drop(g);
}

/* ---- one function left: it is inlined where every index lies in the table ---- */
static double line_of(int64_t i) { return 2.0 * (double)i + 1; }
static double line_below_8(int64_t i) { return i % 16 < 8 ? 2.0 * (double)i + 1 : 7; }

static void test_devirtualised(void **state)
{
    (void)state;
    for (int way = 0; way < 12; ++way) {
        bool arrays = way & 1;
        linear f[8];
        wf_function table[8];
        for (int k = 0; k < 8; ++k) {
            f[k] = (linear){ 2, 1, 0 };
            table[k] = (wf_function){ call_linear, &f[k] };
        }
        wf_val i;
        wf_graph *g = begin(arrays, 0, &i);
        wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_F64, 7);
        wf_val low = wf_and(i, 7);
        wf_val how = { { 3, NULL } };
        switch (way / 2) {
        case 1:
            how = wf_const(g, WF_U8, 7);
            break;
        case 2:
            how = low;
            break;
        case 3:
            how = wf_cast(low, WF_I8);
            break;
        case 4:
            how = wf_gt(i, 100);
            break;
        case 5:
            how = wf_mod(i, 16);
            break;
        default:
            break;
        }
        wf_switch(g, how, ((wf_functions){ table, 8 }), WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
        wf_out(g, out, y);
        if (way < 4) /* the index is known */
            assert_true(f[way < 2 ? 3 : 7].calls == 1 && f[0].calls == 0 && count(g, WF__LOOP) == 0);
        else
            assert_int_equal(count(g, WF__LOOP), 1);
        expect(g, out, way < 10 ? line_of : line_below_8);
    }
}

/* No lane calls: the index is known, and lies outside the table. */
static double sevens(int64_t i) { return i < 0 ? 0 : 7; }

static void test_out_of_table(void **state)
{
    (void)state;
    linear f = { 2, 1, 0 };
    wf_val i;
    wf_graph *g = begin(true, 0, &i);
    wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
    wf_var y = wf_local(g, WF_F64, 7);
    wf_switch(g, 1, WF_FUNCTIONS({ call_linear, &f }), WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
    wf_switch(g, -1, WF_FUNCTIONS({ call_linear, &f }), WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
    wf_switch(g, i, ((wf_functions){ NULL, 0 }), WF_VALS(i), WF_VARS(y));
    assert_int_equal(f.calls, 0);
    wf_out(g, out, y);
    expect(g, out, sevens);
}

/* ---- effects: only of lanes that call, in a condition and in a loop, each once ---- */
typedef struct effects {
    wf_array *seen, *table;
    int bin;
} effects;

static void call_effects(const wf_site *site)
{
    const effects *e = site->user;
    wf_accumulate(site->graph, WF_JOIN_ADD, e->seen, 1, e->bin);
    wf_inc(site->out[0], wf_read(site->graph, e->table, site->in[0])); /* outside for lanes that do not call */
}

static void test_effects(void **state)
{
    (void)state;
    for (int arrays = 0; arrays < 2; ++arrays) {
        wf_array *seen = wf_full(ctx, WF_I32, WF_SHAPE(3), 0), *table = wf_array_arange(ctx, WF_I32, 10, 100, 1);
        const effects e[3] = { { seen, table, 0 }, { seen, table, 1 }, { seen, table, 0 } };
        wf_val i, k;
        wf_graph *g = begin(arrays, 0, &i);
        wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_I32, 0);
        WF_IF (g, wf_lt(i, 500)) {
            WF_FOR (g, k, 0, 2, 1) {
                wf_val index = wf_select(wf_lt(i, 10), wf_mod(i, 3), -1);
                wf_switch(g, index,
                          WF_FUNCTIONS({ call_effects, (void *)&e[0] }, { call_effects, (void *)&e[1] },
                                       { call_effects, (void *)&e[2] }),
                          WF_VALS(i), WF_VARS(y));
            }
            WF_END(g);
        }
        WF_END(g);
        assert_int_equal(g->program.rec.ir.merged, 1);
        wf_out(g, out, y);
        OK(ctx, wf_run(g));
        int32_t *x = contents(out), *n = contents(seen);
        for (int j = 0; j < N; ++j)
            assert_int_equal(x[j], j < 10 ? 2 * (100 + j) : 0);
        assert_true(n[0] == 14 && n[1] == 6 && n[2] == 0);
        free(x);
        free(n);
        wf_release(out);
        wf_release(seen);
        wf_release(table);
    }
}

/* ---- calls in calls, and a break that leaves the caller's loop ---- */
static void call_break(const wf_site *site)
{
    wf_inc(site->out[0], 1000);
    wf_break(site->graph);
}

static void call_nested(const wf_site *site)
{
    wf_call(site->graph, ((wf_function){ call_square, NULL }), WF_VALS(wf_add(site->in[0], 1)), WF_VARS(site->out[0]));
    wf_switch(site->graph, wf_cast(site->in[0], WF_I32), WF_FUNCTIONS({ call_root, NULL }, { call_square, NULL }),
              WF_VALS(wf_mul(site->in[0], 9)), WF_VARS(site->out[0]));
}

static double nested(int64_t i)
{
    double y = 0;
    for (int64_t k = 0; k < 5; ++k) {
        int64_t which = (i + k) % 4;
        if (which == 0) {
            double x = (double)k;
            y = k == 0 ? 0 : k == 1 ? 81 : (x + 1) * (x + 1);
        } else if (which == 2) {
            y += 1000;
            break;
        } else if (which == 3)
            y = (double)(k * k);
    }
    return y;
}

static void test_nested(void **state)
{
    (void)state;
    for (int arrays = 0; arrays < 2; ++arrays) {
        wf_val i, k;
        wf_graph *g = begin(arrays, 0, &i);
        wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_F64, 0);
        linear none = { 1, 0, 0 };
        WF_FOR (g, k, 0, 5, 1) {
            wf_var keep = wf_local(g, WF_F64, wf_get(y));
            wf_switch(g, wf_mod(wf_add(i, k), 4),
                      WF_FUNCTIONS({ call_nested, NULL }, { call_linear, &none }, { call_break, NULL },
                                   { call_square, NULL }),
                      WF_VALS(wf_cast(k, WF_F64)), WF_VARS(y));
            WF_IF (g, wf_eq(wf_mod(wf_add(i, k), 4), 1)) { /* as if the second call were absent */
                wf_set(y, keep);
            }
            WF_END(g);
        }
        WF_END(g);
        wf_out(g, out, y);
        expect(g, out, nested);
    }
}

/* ---- the same index for all: a parameter ---- */
static void test_uniform(void **state)
{
    (void)state;
    for (int64_t which = -1; which < 5; ++which) {
        linear line = { 2, 1, 0 };
        wf_val i;
        wf_graph *g = begin(which & 1, 0, &i);
        wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(N));
        wf_var y = wf_local(g, WF_F64, -5);
        wf_switch(g, wf_param(g, "which", WF_I64, (double)which),
                  WF_FUNCTIONS({ call_square, NULL }, { call_linear, &line }, { call_same_square, NULL },
                               { call_root, NULL }),
                  WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
        wf_out(g, out, y);
        OK(ctx, wf_run(g));
        double *x = contents(out);
        for (int64_t j = 0; j < N; ++j)
            assert_true(x[j] == by(which, (double)j, -5));
        free(x);
        wf_release(out);
    }
}

/* ---- mistakes ---- */
static void call_open(const wf_site *site) { wf_loop_(site->graph, "here"); }
static void call_close(const wf_site *site) { wf_end_(site->graph, "there"); }
static void call_else(const wf_site *site) { wf_else_(site->graph, "there"); }

static void test_mistakes(void **state)
{
    (void)state;
    static wf_hook *const bad[] = { call_open, call_close, call_else };
    static const char *const why[] = { "leaves a block open", "not its own", "WF_ELSE at there" };
    wf_val i;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        wf_graph *g = begin(false, 0, &i);
        wf_var y = wf_local(g, WF_F64, 0);
        wf_switch(g, i, WF_FUNCTIONS({ call_root, NULL }, { bad[k], NULL }), WF_VALS(wf_cast(i, WF_F64)), WF_VARS(y));
        REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, why[k]);
    }
    wf_graph *g = begin(false, 0, &i);
    wf_var y = wf_local(g, WF_F64, 0);
    wf_switch(g, wf_cast(i, WF_F32), WF_FUNCTIONS({ call_root, NULL }), WF_VALS(1), WF_VARS(y));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "f32");
    g = begin(false, 0, &i);
    y = wf_local(g, WF_F64, 0);
    wf_switch(g, i, WF_FUNCTIONS({ NULL, NULL }), WF_VALS(1), WF_VARS(y));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "function 0");
    g = begin(false, 0, &i);
    wf_switch(g, i, WF_FUNCTIONS({ call_root, NULL }), WF_VALS(1), ((wf_vars){ &i.h, 1 }));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "not a variable");
    g = begin(false, 0, &i);
    wf_set(i.h, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_set: not a variable");
    g = begin(false, 0, &i);
    wf_inc(i.h, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_inc: not a variable");
    g = begin(false, 0, &i);
    wf_inc(((wf_var){ 0, g }), 1); /* the number 0 */
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_inc: not a variable");
    g = begin(false, 0, &i);
    wf_call(g, ((wf_function){ NULL, NULL }), WF_VALS(1), WF_NO_VARS);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "test_function_calls.c:");
    wf_switch(NULL, 0, WF_FUNCTIONS({ call_root, NULL }), WF_VALS(1), WF_NO_VARS);
    wf_call(NULL, ((wf_function){ call_root, NULL }), WF_VALS(1), WF_NO_VARS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_by_value),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_one_twice),
        cmocka_unit_test(test_devirtualised),
        cmocka_unit_test(test_out_of_table),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
