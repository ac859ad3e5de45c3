/* test_codegen.c - generated code against the interpreter, bit for bit: every operation on every dtype over special values,
 * every way of addressing, every border mode, tiles, reductions; on every instruction set of this machine. */
#include "codegen_harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static const unsigned dtypes[] = { WF_BOOL, WF_I8, WF_U8, WF_I16, WF_U16, WF_I32, WF_U32, WF_I64, WF_U64, WF_F32, WF_F64 };

static void begin(test_case *t, const char *name, int rank)
{
    memset(t, 0, sizeof *t);
    t->name = name;
    wf__ir_init(&t->ir, rank, WF_FOLD | WF_VALUE_NUMBERING);
}

static void out(test_case *t, uint32_t slot, wf__ref value)
{
    wf__store(&t->ir, slot, test_here(t), value, 0);
}

static wf__ref in(test_case *t, uint32_t slot) { return wf__load(&t->ir, slot, test_here(t), WF_BORDER_NONE, 0); }

static wf__ref apply(wf__ir *ir, unsigned op, wf__ref flag, const wf__ref x[3])
{
    switch (wf__op_table[op].arity) {
    case 1: return wf__op1(ir, op, x[0]);
    case 2: return wf__op2(ir, op, x[0], x[1]);
    default: return op == WF__OP_select ? wf__op3(ir, op, flag, x[1], x[2]) : wf__op3(ir, op, x[0], x[1], x[2]);
    }
}

/* One kernel with every operation of a dtype. `constant`: the second operand is that number. */
static void check_ops(unsigned dtype, int64_t n, bool everywhere, const double *constant)
{
    test_case t;
    char name[64];
    snprintf(name, sizeof name, "operations on %s, %lld", wf_dtype_name((wf_dtype)dtype), (long long)n);
    begin(&t, name, 1);
    test_space(&t, 1, n, 0, 0);
    uint32_t flag = test_slot(&t, WF_BOOL, 1, &n, true), a = test_slot(&t, dtype, 1, &n, true);
    uint32_t b = test_slot(&t, dtype, 1, &n, true), c = test_slot(&t, dtype, 1, &n, true);
    wf__ref f = in(&t, flag), x[3] = { in(&t, a), in(&t, b), in(&t, c) };
    if (constant)
        x[1] = wf__const_f64(&t.ir, dtype, *constant);
    for (unsigned op = WF__CAST; op < WF__OP_COUNT; op++) {
        const wf__op_info *info = &wf__op_table[op];
        if (op == WF__CAST || op == WF__BITCAST || (info->flags & WF__EXPAND) || !wf__types_allow(info->types, dtype))
            continue;
        wf__ref r = apply(&t.ir, op, f, x);
        out(&t, test_slot(&t, wf__dtype(&t.ir, r), 1, &n, true), r);
    }
    assert_int_equal(t.ir.status, WF_OK);
    test_compare(&t, everywhere);
    test_end(&t);
}

static void test_operations(void **state)
{
    (void)state;
    test_need_llvm();
    for (size_t i = 0; i < WF__COUNT(dtypes); i++) {
        check_ops(dtypes[i], 3001, true, NULL);
        check_ops(dtypes[i], 1, false, NULL);
    }
}

static void test_constant_operands(void **state)
{
    (void)state;
    test_need_llvm();
    static const double constants[] = { 0.0, -0.0, 1, -1, 3, 7, 100, __builtin_nan("") };
    for (size_t i = 1; i < WF__COUNT(dtypes); i++)
        for (size_t k = 0; k < WF__COUNT(constants); k++)
            if (wf__is_float(dtypes[i]) || (constants[k] == constants[k] && !(constants[k] == 0 && k)))
                check_ops(dtypes[i], 300, false, &constants[k]);
}

/* Every conversion from a dtype. */
static void test_casts(void **state)
{
    (void)state;
    test_need_llvm();
    const int64_t n = 3001;
    for (size_t i = 0; i < WF__COUNT(dtypes); i++) {
        test_case t;
        char name[64];
        snprintf(name, sizeof name, "casts from %s", wf_dtype_name((wf_dtype)dtypes[i]));
        begin(&t, name, 1);
        test_space(&t, 1, n, 0, 0);
        wf__ref x = in(&t, test_slot(&t, dtypes[i], 1, &n, true));
        for (size_t k = 0; k < WF__COUNT(dtypes); k++) {
            out(&t, test_slot(&t, dtypes[k], 1, &n, true), wf__cast(&t.ir, x, dtypes[k]));
            if (i && k && wf__size(dtypes[i]) == wf__size(dtypes[k]))
                out(&t, test_slot(&t, dtypes[k], 1, &n, true), wf__bitcast(&t.ir, x, dtypes[k]));
        }
        test_compare(&t, true);
        test_end(&t);
    }
}

/* Sizes around the vector width, boxes inside the space; nothing beyond is touched. */
static void test_tails(void **state)
{
    (void)state;
    test_need_llvm();
    static const unsigned some[] = { WF_U8, WF_I16, WF_F32, WF_F64, WF_BOOL };
    for (size_t i = 0; i < WF__COUNT(some); i++)
        for (int columns = 1; columns <= 4; columns++) {
            test_case t;
            const int64_t n = 200;
            begin(&t, "tails", 1);
            t.options.columns = columns;
            test_space(&t, 1, n, 0, 0);
            wf__ref x = in(&t, test_slot(&t, some[i], 1, &n, true));
            uint32_t s = test_slot(&t, some[i], 1, &n, true);
            out(&t, s, some[i] == WF_BOOL ? wf__op1(&t.ir, WF__OP_not, x) : wf__op2(&t.ir, WF__OP_add, x, x));
            for (t.lo[0] = 0; t.lo[0] < 40; t.lo[0] += columns == 2 ? 3 : 19)
                for (t.hi[0] = t.lo[0]; t.hi[0] <= n; t.hi[0] += columns == 2 ? 13 : 47)
                    test_compare(&t, false);
            test_end(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_constant_operands),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_tails),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_close_llvm();
    return failed;
}
