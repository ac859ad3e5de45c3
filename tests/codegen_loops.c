/* codegen_loops.c - bodies with loops that lanes leave one by one, and tests that are equal in all lanes. */
#include "codegen_body.h"

/* Loops of lanes that leave one by one, with a test that is equal in all lanes: as a part of the guard or beside it, with a
 * second guard, with states that do not keep their values after a lane has left, and with stores. */
typedef enum counted_loop {
    KEPT,
    NOT_KEPT,
    TEST_OUTSIDE_GUARD,
    TWO_GUARDS,
    LAST_TURN_STORES,
    COUNTED_LOOPS
} counted_loop;

static void check_counted_loop(counted_loop form, int columns, int64_t turns)
{
    test_case t;
    begin_case(&t, "counted loop", 1);
    t.options.rows = 1;
    t.options.columns = columns;
    const int64_t n = 301;
    test_space(&t, 1, n, 0, 0);
    wf__ir *ir = &t.ir;
    uint32_t a = test_slot(&t, WF_I32, 1, &n, true), r = test_slot(&t, WF_I32, 1, &n, true);
    uint32_t kept = form == LAST_TURN_STORES ? test_slot(&t, WF_I32, 1, &n, true) : 0;
    t.array[a].indices = true;
    t.array[a].index_limit = 9;
    wf__ref x = in(&t, a), zero = wf__const_bits(ir, WF_I32, 0), one = wf__const_bits(ir, WF_I32, 1);
    wf__ref on = wf__const_bits(ir, WF_BOOL, 1), first = num(&t, 0), loop = wf__loop(ir, false);
    wf__ref left = wf__state(ir, loop, x, false), count = wf__state(ir, loop, zero, false);
    wf__ref turn = wf__state(ir, loop, first, false), guard = wf__state(ir, loop, on, true);
    wf__ref second = form == TWO_GUARDS ? wf__state(ir, loop, on, true) : 0;
    wf__ref test = wf__op2(ir, WF__OP_lt, turn, num(&t, turns)), some = wf__op2(ir, WF__OP_gt, left, zero);
    wf__ref runs =
        wf__op2(ir, WF__OP_and, guard, form == TEST_OUTSIDE_GUARD ? some : wf__op2(ir, WF__OP_and, test, some));
    wf__ref counts = form == TEST_OUTSIDE_GUARD ? wf__op2(ir, WF__OP_and, runs, test) : runs;
    wf__ref more = wf__op2(ir, WF__OP_add, count, one), less = wf__op2(ir, WF__OP_sub, left, one);
    if (form == LAST_TURN_STORES)
        wf__store(ir, kept, test_here(&t), wf__cast(ir, turn, WF_I32), runs);
    wf__ref next_left = form == NOT_KEPT ? less : wf__op3(ir, WF__OP_select, runs, less, left);
    wf__ref next_count = wf__op3(ir, WF__OP_select, counts, more, count), next_turn = plus(&t, turn, 1);
    wf__ref next_second = second ? wf__op2(ir, WF__OP_lt, turn, num(&t, 7)) : 0;
    next_second = second ? wf__op2(ir, WF__OP_and, second, next_second) : 0;
    wf__next(ir, left, next_left);
    wf__next(ir, count, next_count);
    wf__next(ir, turn, next_turn);
    wf__next(ir, guard, runs);
    if (second)
        wf__next(ir, second, next_second);
    wf__end(ir, loop);
    wf__ref sum = wf__op2(ir, WF__OP_add, wf__op2(ir, WF__OP_mul, left, wf__const_bits(ir, WF_I32, 100)), count);
    out(&t, r, form == NOT_KEPT ? count : sum);
    test_compare(&t, false);
    test_end(&t);
}

static void test_counted_loops(void **state)
{
    (void)state;
    test_need_llvm();
    for (int form = 0; form < COUNTED_LOOPS; form++)
        for (int columns = 1; columns <= 3; columns += 2) {
            check_counted_loop((counted_loop)form, columns, 0);
            check_counted_loop((counted_loop)form, columns, 5);
            check_counted_loop((counted_loop)form, columns, 1000);
        }
}

/* Several uniform tests in one guard, more than the header of a loop does, of integers and of floats that may be NaN. The
 * body uses one of them as a value. The loop runs once, or in each turn of another loop, whose counter it begins with. */
static void check_several_tests(double limit, int64_t turns, bool nested, int columns)
{
    test_case t;
    begin_case(&t, "several tests", 1);
    t.options.rows = 1;
    t.options.columns = columns;
    const int64_t n = 301;
    test_space(&t, 1, n, 0, 0);
    wf__ir *ir = &t.ir;
    uint32_t a = test_slot(&t, WF_I32, 1, &n, true), r = test_slot(&t, WF_I32, 1, &n, true);
    t.array[a].indices = true;
    t.array[a].index_limit = 9;
    wf__eval_cast(WF_F32, WF_F64, &t.param[0], &limit, 1);
    wf__ref most = wf__param(ir, WF_F32), x = in(&t, a), zero = wf__const_bits(ir, WF_I32, 0);
    wf__ref one = wf__const_bits(ir, WF_I32, 1), hundred = wf__const_bits(ir, WF_I32, 100);
    wf__ref ground = wf__const_f64(ir, WF_F32, 0), half = wf__const_f64(ir, WF_F32, 0.5);
    wf__ref on = wf__const_bits(ir, WF_BOOL, 1), first = num(&t, 0), sum = zero, outer = 0, again = 0;
    if (nested) {
        outer = wf__loop(ir, false);
        sum = wf__state(ir, outer, zero, false);
        first = wf__state(ir, outer, first, false);
        again = wf__state(ir, outer, on, true);
    }
    wf__ref loop = wf__loop(ir, false), left = wf__state(ir, loop, x, false);
    wf__ref count = wf__state(ir, loop, sum, false), turn = wf__state(ir, loop, first, false);
    wf__ref level = wf__state(ir, loop, ground, false), guard = wf__state(ir, loop, on, true);
    wf__ref below = wf__op2(ir, WF__OP_lt, level, most);
    const wf__ref tests[] = { wf__op2(ir, WF__OP_gt, left, zero),
                              wf__op2(ir, WF__OP_lt, turn, num(&t, turns)),
                              below,
                              wf__op2(ir, WF__OP_ne, turn, num(&t, 40)),
                              wf__op2(ir, WF__OP_ge, level, ground),
                              wf__op2(ir, WF__OP_ge, turn, num(&t, 0)) };
    wf__ref runs = guard;
    for (size_t k = 0; k < WF__COUNT(tests); k++)
        runs = wf__op2(ir, WF__OP_and, runs, tests[k]);
    wf__ref more = wf__op2(ir, WF__OP_add, count, wf__op3(ir, WF__OP_select, below, one, hundred));
    wf__ref less = wf__op2(ir, WF__OP_sub, left, one), next_turn = plus(&t, turn, 1);
    wf__ref next_left = wf__op3(ir, WF__OP_select, runs, less, left);
    wf__ref next_count = wf__op3(ir, WF__OP_select, runs, more, count);
    wf__ref next_level = wf__op2(ir, WF__OP_add, level, half);
    wf__next(ir, left, next_left);
    wf__next(ir, count, next_count);
    wf__next(ir, turn, next_turn);
    wf__next(ir, level, next_level);
    wf__next(ir, guard, runs);
    wf__end(ir, loop);
    if (nested) {
        wf__ref next_first = plus(&t, first, 1), goes_on = wf__op2(ir, WF__OP_lt, next_first, num(&t, 3));
        wf__next(ir, sum, count);
        wf__next(ir, first, next_first);
        wf__next(ir, again, goes_on);
        wf__end(ir, outer);
        count = sum;
    }
    out(&t, r, count);
    assert_int_equal(ir->status, WF_OK);
    test_compare(&t, false);
    test_end(&t);
}

static void test_several_tests(void **state)
{
    (void)state;
    test_need_llvm();
    static const double limits[] = { 1.75, 1e30, -1, __builtin_nan("") };
    for (size_t k = 0; k < WF__COUNT(limits); k++)
        for (int nested = 0; nested < 2; nested++) {
            check_several_tests(limits[k], 5, nested, 1);
            check_several_tests(limits[k], 1000, nested, 6);
        }
}

int codegen_loops(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_loops),
        cmocka_unit_test(test_several_tests),
    };
    test_choose();
    return cmocka_run_group_tests_name("loops", tests, NULL, NULL);
}
