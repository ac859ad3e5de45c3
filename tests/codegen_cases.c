/* codegen_cases.c - bodies for code generators: every operation on every dtype over special values, every way of
 * addressing, reductions, and what else a body may have but borders (codegen_borders.c) and loops (codegen_loops.c). */
#include "codegen_body.h"

static const unsigned dtypes[] = { WF_BOOL, WF_I8,  WF_U8,  WF_I16,  WF_U16, WF_I32, WF_U32,
                                   WF_I64,  WF_U64, WF_F16, WF_BF16, WF_F32, WF_F64 };

/* Lowers the body as plans do: f16 and bf16 are computed in f32. */
static void lower(test_case *t) { assert_true(wf__pass_lower_in_place(&t->ir)); }

static wf__ref apply(wf__ir *ir, unsigned op, wf__ref flag, const wf__ref x[3])
{
    switch (wf__op_table[op].arity) {
    case 1:
        return wf__op1(ir, op, x[0]);
    case 2:
        return wf__op2(ir, op, x[0], x[1]);
    default:
        return op == WF__OP_select ? wf__op3(ir, op, flag, x[1], x[2]) : wf__op3(ir, op, x[0], x[1], x[2]);
    }
}

/* One kernel with every operation of a dtype. constant: the second operand; NULL = an array. */
static void check_ops(unsigned dtype, int64_t n, bool everywhere, const double *constant)
{
    test_case t;
    char name[64];
    snprintf(name, sizeof name, "operations on %s, %lld", wf_dtype_name((wf_dtype)dtype), (long long)n);
    begin_case(&t, name, 1);
    test_space(&t, 1, n, 0, 0);
    uint32_t flag = test_slot(&t, WF_BOOL, 1, &n, true), a = test_slot(&t, dtype, 1, &n, true);
    uint32_t b = test_slot(&t, dtype, 1, &n, true), c = test_slot(&t, dtype, 1, &n, true);
    wf__ref f = in(&t, flag), x[3] = { in(&t, a), in(&t, b), in(&t, c) };
    if (constant)
        x[1] = wf__const_f64(&t.ir, dtype, *constant);
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; op++) {
        const wf__op_info *info = &wf__op_table[op];
        if ((info->flags & WF__EXPAND) || !wf__types_allow(info->types, dtype))
            continue;
        wf__ref r = apply(&t.ir, op, f, x);
        out(&t, test_slot(&t, wf__dtype(&t.ir, r), 1, &n, true), r);
    }
    assert_int_equal(t.ir.status, WF_OK);
    lower(&t);
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

/* Splits and joins complex numbers: full vectors, tails, and uniform numbers. */
static void test_complex(void **state)
{
    (void)state;
    test_need_llvm();
    for (unsigned dtype = WF_C32; dtype <= WF_C128; dtype++)
        for (int64_t n = 1; n < 3000; n = 5 * n + 2) {
            test_case t;
            begin_case(&t, "complex", 1);
            test_space(&t, 1, n, 0, 0);
            const int64_t one = 1;
            wf__ir *ir = &t.ir;
            wf__ref x = in(&t, test_slot(&t, dtype, 1, &n, true)), y = in(&t, test_slot(&t, dtype, 1, &n, true));
            uint32_t single = test_slot(&t, dtype, 1, &one, false);
            wf__ref z = wf__load(ir, single, test_tuple(&t, wf__const_bits(ir, WF_I64, 0), 0, 0), WF_BORDER_NONE, 0);
            wf__ref re = wf__real(ir, x), im = wf__imag(ir, y),
                    turn = wf__complex(ir, wf__imag(ir, z), wf__real(ir, z));
            out(&t, test_slot(&t, dtype, 1, &n, true), wf__complex(ir, im, re));
            out(&t, test_slot(&t, wf__part_dtype(dtype), 1, &n, true), wf__op2(ir, WF__OP_add, re, im));
            out(&t, test_slot(&t, dtype, 1, &n, true), wf__op2(ir, WF__OP_mul, x, wf__op2(ir, WF__OP_mul, turn, y)));
            out(&t, test_slot(&t, dtype, 1, &n, true), wf__op2(ir, WF__OP_div, x, y));
            out(&t, test_slot(&t, dtype, 1, &n, true), turn);
            out(&t, test_slot(&t, WF_BOOL, 1, &n, true), wf__op2(ir, WF__OP_eq, x, y));
            assert_int_equal(ir->status, WF_OK);
            lower(&t);
            test_compare(&t, true);
            test_end(&t);
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
        begin_case(&t, name, 1);
        test_space(&t, 1, n, 0, 0);
        wf__ref x = in(&t, test_slot(&t, dtypes[i], 1, &n, true));
        for (size_t k = 0; k < WF__COUNT(dtypes); k++) {
            out(&t, test_slot(&t, dtypes[k], 1, &n, true), wf__cast(&t.ir, x, dtypes[k]));
            if (i && k && wf__size(dtypes[i]) == wf__size(dtypes[k]))
                out(&t, test_slot(&t, dtypes[k], 1, &n, true), wf__bitcast(&t.ir, x, dtypes[k]));
        }
        lower(&t);
        test_compare(&t, true);
        test_end(&t);
    }
}

/* Sizes around the vector width, and boxes inside the space. The harness tests that no other memory changes. */
static void test_tails(void **state)
{
    (void)state;
    test_need_llvm();
    static const unsigned some[] = { WF_U8, WF_I16, WF_F32, WF_F64, WF_BOOL };
    for (size_t i = 0; i < WF__COUNT(some); i++)
        for (int columns = 1; columns <= 4; columns++) {
            test_case t;
            const int64_t n = 200;
            begin_case(&t, "tails", 1);
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

/* ---- addressing ---- */
/* Contiguous, shifted, reversed, strided, broadcast along either axis, transposed, gathered, scattered. */
static void check_addressing(unsigned dtype, int rows, int columns, bool far)
{
    test_case t;
    begin_case(&t, "addressing", 2);
    t.options.rows = rows;
    t.options.columns = columns;
    const int64_t h = 9, w = 150, size[2] = { h, w }, wide[2] = { h + 4, 2 * w + 8 }, tall[2] = { w, h },
                  one[1] = { w };
    test_space(&t, 2, h, w, 0);
    wf__ref y = wf__index(&t.ir, 0), x = wf__index(&t.ir, 1);
    uint32_t a = test_slot(&t, dtype, 2, wide, false), line = test_slot(&t, dtype, 1, one, false);
    uint32_t flip = test_slot(&t, dtype, 2, size, true), trans = test_slot(&t, dtype, 2, tall, false);
    uint32_t step = test_slot(&t, dtype, 2, wide, true), index = test_slot(&t, WF_I32, 1, one, true);
    uint32_t column = test_slot(&t, dtype, 2, size, true), flat = test_slot(&t, dtype, 2, size, true);
    uint32_t mirror = test_slot(&t, dtype, 2, wide, false), onto = test_slot(&t, dtype, 2, size, true);
    const uint32_t backward[] = { flat, mirror,
                                  onto }; /* the code generator sees that it is reversed; of flip it does not */
    for (size_t k = 0; k < WF__COUNT(backward); k++) {
        t.array[backward[k]].reversed = true;
        t.ir.slot[backward[k]].step[1] = WF__STEP_BACK;
    }
    t.array[flip].reversed = true;
    t.ir.slot[flip].step[1] = WF__STEP_ANY;
    t.array[step].stride[1] = 2;
    t.array[step].stride[0] = 2 * (2 * w + 8);
    t.ir.slot[step].step[1] = WF__STEP_ANY;
    t.array[index].indices = true;
    t.array[index].index_limit = w;
    t.array[column].stride[1] = 0;
    t.array[column].stride[0] = 1;
    t.ir.slot[column].step[1] = WF__STEP_ZERO;
    wf__ir *ir = &t.ir;
    wf__ref here = wf__index(ir, 1),
            i = wf__cast(ir, wf__load(ir, index, test_tuple(&t, here, 0, 0), WF_BORDER_NONE, 0), WF_I64);
    wf__ref back = wf__op2(ir, WF__OP_sub, num(&t, w - 1), x), twice = wf__op2(ir, WF__OP_mul, x, num(&t, 2));
    const uint32_t place[][2] = {
        { a, test_tuple(&t, y, x, 0) },
        { a, test_tuple(&t, plus(&t, y, 3), plus(&t, x, 5), 0) },
        { a, test_tuple(&t, y, back, 0) },
        { a, test_tuple(&t, plus(&t, y, 1), plus(&t, twice, 1), 0) },
        { a, test_tuple(&t, num(&t, 2), i, 0) },
        { a, test_tuple(&t, y, num(&t, 7), 0) },
        { a, test_tuple(&t, num(&t, 1), num(&t, 3), 0) },
        { a, test_tuple(&t, plus(&t, y, 2), wf__op2(ir, WF__OP_add, x, y), 0) },
        { line, test_tuple(&t, x, 0, 0) },
        { line, test_tuple(&t, y, 0, 0) },
        { flip, test_tuple(&t, y, x, 0) },
        { trans, test_tuple(&t, x, y, 0) },
        { trans, test_tuple(&t, i, y, 0) },
        { step, test_tuple(&t, y, x, 0) },
        { column, test_tuple(&t, y, x, 0) },
        { flat, test_tuple(&t, y, x, 0) },
        { mirror, test_tuple(&t, plus(&t, y, 3), plus(&t, x, 5), 0) },
        { mirror, test_tuple(&t, y, back, 0) },
        { mirror, test_tuple(&t, plus(&t, y, 1), plus(&t, twice, 1), 0) },
        { mirror, test_tuple(&t, num(&t, 2), i, 0) },
        { mirror, test_tuple(&t, y, num(&t, 7), 0) },
    };
    wf__ref value[WF__COUNT(place)];
    for (size_t k = 0; k < WF__COUNT(place); k++)
        value[k] = wf__load(ir, place[k][0], place[k][1], WF_BORDER_NONE, 0);
    for (size_t k = 0; k < WF__COUNT(place); k++)
        out(&t, test_slot(&t, dtype, 2, size, true), value[k]);
    uint32_t to = test_slot(&t, dtype, 2, tall, false), apart = test_slot(&t, dtype, 2, wide, false);
    uint32_t under = test_slot(&t, dtype, 2, size, true);
    wf__store(ir, to, test_tuple(&t, x, y, 0), value[1], 0);
    wf__store(ir, onto, test_here(&t), value[1], 0);
    wf__store(ir, apart, test_tuple(&t, plus(&t, y, 2), plus(&t, twice, 3), 0), value[4], 0);
    wf__ref odd = wf__op2(ir, WF__OP_eq, wf__op2(ir, WF__OP_and, x, num(&t, 3)), num(&t, 1));
    wf__store(ir, under, test_here(&t), value[0], odd);
    wf__store(ir, under, test_here(&t), value[2], wf__op2(ir, WF__OP_eq, y, num(&t, 4)));
    assert_int_equal(ir->status, WF_OK);
    make_far(&t, far);
    test_compare(&t, rows == 2);
    for (int d = 0; d < 2; d++) {
        t.lo[d] = 1 + 2 * d;
        t.hi[d] -= 2;
    }
    test_compare(&t, false);
    test_end(&t);
}

static void test_addressing(void **state)
{
    (void)state;
    test_need_llvm();
    static const unsigned some[] = { WF_F32, WF_F64, WF_U8, WF_I16, WF_I64, WF_BOOL, WF_F16, WF_C32, WF_C64, WF_C128 };
    for (size_t i = 0; i < WF__COUNT(some); i++)
        check_addressing(some[i], 1, 1, false);
    check_addressing(WF_F32, 2, 3, false);
    check_addressing(WF_U8, 4, 1, false);
    check_addressing(WF_F32, 1, 1, true);
    check_addressing(WF_F64, 2, 2, true);
    check_addressing(WF_U8, 4, 1, true);
}

/* An index array that exists only where a condition holds: prefetching must not read it elsewhere. */
static void test_index_on_condition(void **state)
{
    (void)state;
    test_need_llvm();
    const int64_t n = 1000, half = n / 2, rows = 50;
    test_case t;
    begin_case(&t, "index on condition", 1);
    test_space(&t, 1, n, 0, 0);
    wf__ir *ir = &t.ir;
    uint32_t a = test_slot(&t, WF_F32, 1, &rows, false), index = test_slot(&t, WF_I64, 1, &half, false);
    t.array[index].indices = true;
    t.array[index].index_limit = rows;
    wf__ref x = wf__index(ir, 0), there = wf__op2(ir, WF__OP_lt, x, num(&t, half));
    wf__ref i = wf__load_when(ir, index, test_tuple(&t, x, 0, 0), WF_BORDER_NONE, 0, there);
    wf__ref v = wf__load_when(ir, a, test_tuple(&t, i, 0, 0), WF_BORDER_NONE, 0, there);
    out(&t, test_slot(&t, WF_F32, 1, &n, true), v);
    assert_int_equal(ir->status, WF_OK);
    make_far(&t, true);
    test_compare(&t, true);
    test_end(&t);
}

/* ---- reductions ---- */
static void check_reduction(unsigned dtype, int rank, int64_t h, int64_t w, int columns)
{
    test_case t;
    char name[64];
    snprintf(name, sizeof name, "reductions of %s, %lld x %lld", wf_dtype_name((wf_dtype)dtype), (long long)h,
             (long long)w);
    begin_case(&t, name, rank);
    t.options.columns = columns;
    const int64_t size[2] = { rank == 1 ? w : h, w };
    test_space(&t, rank, rank == 1 ? w : h, w, 0);
    wf__ir *ir = &t.ir;
    wf__ref x = in(&t, test_slot(&t, dtype, rank, size, true));
    if (wf__is_half(dtype)) {
        dtype = WF_F32; /* the dtype of its accumulators */
        x = wf__cast(ir, x, dtype);
    }
    for (int j = WF_JOIN_ADD; j <= WF_JOIN_XOR; j++) {
        bool bits = j >= WF_JOIN_AND;
        if (dtype == WF_BOOL ? !bits : bits && wf__is_float(dtype))
            continue;
        uint32_t red = wf__red_new(ir, dtype, (wf_join)j);
        wf__setred(ir, red, 0, wf__op2(ir, wf__join_op((wf_join)j), wf__red(ir, red, 0), x));
    }
    if (wf__is_float(dtype)) { /* the accumulator as the second operand; two values per point */
        uint32_t red = wf__red_new(ir, WF_F64, WF_JOIN_ADD);
        wf__ref v = wf__cast(ir, x, WF_F64);
        wf__setred(ir, red, 0, wf__op2(ir, WF__OP_add, wf__op2(ir, WF__OP_mul, v, v), wf__red(ir, red, 0)));
    }
    assert_int_equal(ir->status, WF_OK);
    test_compare(&t, w == 1000);
    test_end(&t);
}

static void test_reductions(void **state)
{
    (void)state;
    test_need_llvm();
    for (size_t i = 0; i < WF__COUNT(dtypes); i++) {
        check_reduction(dtypes[i], 1, 1, 1000, 0);
        check_reduction(dtypes[i], 2, 5, 97, 4);
    }
    static const int64_t sizes[] = { 0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200 };
    for (size_t i = 0; i < WF__COUNT(sizes); i++)
        check_reduction(WF_F32, 2, 3, sizes[i], (int)i % 4 + 1);
}

/* ---- the rest ---- */
/* Indices, parameters, extents and dimensions as values; comparisons and conversions of indices. */
static void test_indices_as_values(void **state)
{
    (void)state;
    test_need_llvm();
    for (int columns = 1; columns <= 2; columns++) {
        test_case t;
        begin_case(&t, "indices as values", 3);
        t.options.columns = columns;
        const int64_t size[3] = { 3, 4, 131 };
        test_space(&t, 3, 3, 4, 131);
        wf__ir *ir = &t.ir;
        wf__ref z = wf__index(ir, 0), y = wf__index(ir, 1), x = wf__index(ir, 2), p = wf__param(ir, WF_I64);
        wf__ref q = wf__param(ir, WF_F32), flag = wf__param(ir, WF_BOOL);
        float f = 2.5f;
        t.param[0] = 77;
        memcpy(&t.param[1], &f, sizeof f);
        t.param[2] = 1;
        uint32_t s = test_slot(&t, WF_F32, 3, size, true);
        wf__ref x3 = wf__op2(ir, WF__OP_mul, plus(&t, x, -5), num(&t, 3)), xy = wf__op2(ir, WF__OP_add, x, y);
        wf__ref all[] = { z,
                          y,
                          x,
                          x3,
                          xy,
                          p,
                          wf__extent(ir, 2),
                          wf__dim(ir, s, 1),
                          wf__op2(ir, WF__OP_mul, x, x),
                          wf__op2(ir, WF__OP_mul, x, p) };
        for (size_t i = 0; i < WF__COUNT(all); i++) {
            out(&t, test_slot(&t, WF_F32, 3, size, true), wf__cast(ir, all[i], WF_F32));
            out(&t, test_slot(&t, WF_F64, 3, size, true), wf__cast(ir, all[i], WF_F64));
            out(&t, test_slot(&t, WF_U8, 3, size, true), wf__cast(ir, all[i], WF_U8));
            out(&t, test_slot(&t, WF_BOOL, 3, size, true),
                wf__op2(ir, i % 2 ? WF__OP_lt : WF__OP_ge, all[i], i % 3 ? p : x));
        }
        out(&t, s,
            wf__op3(ir, WF__OP_select, flag, wf__op2(ir, WF__OP_mul, q, in(&t, test_slot(&t, WF_F32, 3, size, true))),
                    q));
        assert_int_equal(ir->status, WF_OK);
        test_compare(&t, true);
        test_end(&t);
    }
}

/* The loads and stores of one point keep their order, also in place. */
static void test_order(void **state)
{
    (void)state;
    test_need_llvm();
    for (int rows = 1; rows <= 2; rows++) {
        test_case t;
        begin_case(&t, "own order", 2);
        t.options.rows = rows;
        const int64_t size[2] = { 6, 77 };
        test_space(&t, 2, 6, 77, 0);
        wf__ir *ir = &t.ir;
        uint32_t a = test_slot(&t, WF_F32, 2, size, true), b = test_slot(&t, WF_F32, 2, size, true);
        wf__ref x = in(&t, a), y = wf__op2(ir, WF__OP_add, x, x);
        out(&t, a, y);
        wf__ref again = in(&t, a);
        wf__store(ir, a, test_here(&t), wf__op2(ir, WF__OP_mul, again, again),
                  wf__op2(ir, WF__OP_lt, again, in(&t, b)));
        out(&t, b, wf__op2(ir, WF__OP_sub, in(&t, a), x));
        test_compare(&t, true);
        test_end(&t);
    }
}

/* Divisions and roots move up past independent nodes, but never past their operands: other divisions, loads after
 * stores, values recorded late. */
static void test_divisions(void **state)
{
    (void)state;
    test_need_llvm();
    for (int columns = 1; columns <= 2; columns++) {
        test_case t;
        begin_case(&t, "divisions", 1);
        t.options.rows = 1;
        t.options.columns = columns;
        const int64_t n = 203;
        test_space(&t, 1, n, 0, 0);
        wf__ir *ir = &t.ir;
        uint32_t a = test_slot(&t, WF_F32, 1, &n, true), b = test_slot(&t, WF_F32, 1, &n, true),
                 flag = test_slot(&t, WF_BOOL, 1, &n, true), o = test_slot(&t, WF_F32, 1, &n, true),
                 p = test_slot(&t, WF_F32, 1, &n, true);
        wf__ref x = in(&t, a), y = in(&t, b), sum = x, chain = wf__op2(ir, WF__OP_div, x, y);
        for (int k = 0; k < 6; k++) {
            wf__ref more = wf__op2(ir, WF__OP_mul, sum, k & 1 ? x : y);
            sum = wf__op3(ir, WF__OP_fma, more, y, sum);
            wf__ref root = wf__op1(ir, WF__OP_sqrt, k & 2 ? sum : x), early = wf__op2(ir, WF__OP_div, y, x);
            wf__ref late = wf__op3(ir, WF__OP_select, in(&t, flag), root, early);
            chain = wf__op2(ir, WF__OP_sub, wf__op2(ir, WF__OP_div, late, chain), sum);
        }
        out(&t, o, wf__op1(ir, WF__OP_sqrt, chain));
        out(&t, p, wf__op2(ir, WF__OP_div, in(&t, o), sum)); /* loads after the store */
        assert_int_equal(ir->status, WF_OK);
        test_compare(&t, true);
        test_end(&t);
    }
}

static void test_cold_paths(void **state)
{
    (void)state;
    test_need_llvm();
    for (unsigned id = WF__COLD_SIN_F32; id <= WF__COLD_TAN_F64; id += 3) {
        unsigned dtype = id < WF__COLD_SIN_F64 ? WF_F32 : WF_F64;
        test_case t;
        begin_case(&t, "cold paths", 1);
        t.options.columns = 2;
        const int64_t n = 400;
        test_space(&t, 1, n, 0, 0);
        wf__ir *ir = &t.ir;
        double big = 1e6;
        wf__ref p = wf__param(ir, dtype), limit = wf__const_f64(ir, dtype, 1000),
                x = in(&t, test_slot(&t, dtype, 1, &n, true));
        wf__eval_cast(dtype, WF_F64, &t.param[0], &big, 1);
        wf__ref v = wf__cold(ir, wf__op2(ir, WF__OP_gt, x, limit), x, id, &x, 1);
        wf__ref u = wf__cold(ir, wf__op2(ir, WF__OP_gt, p, limit), p, id, &p, 1);
        out(&t, test_slot(&t, dtype, 1, &n, true), v);
        out(&t, test_slot(&t, dtype, 1, &n, true),
            wf__op2(ir, WF__OP_add, u, wf__cold(ir, wf__op2(ir, WF__OP_lt, v, limit), u, id, &v, 1)));
        assert_int_equal(ir->status, WF_OK);
        test_compare(&t, true);
        test_end(&t);
    }
}

static void test_nontemporal(void **state)
{
    (void)state;
    test_need_llvm();
    static const unsigned some[] = { WF_F32, WF_F64, WF_U8, WF_C64, WF_C128 };
    for (size_t i = 0; i < WF__COUNT(some); i++) {
        test_case t;
        begin_case(&t, "non-temporal", 1);
        t.options.nontemporal = true;
        const int64_t n = 1003;
        test_space(&t, 1, n, 0, 0);
        uint32_t a = test_slot(&t, some[i], 1, &n, true), r = test_slot(&t, some[i], 1, &n, true);
        t.array[r].aligned = true;
        wf__ref x = in(&t, a);
        out(&t, r, wf__op2(&t.ir, WF__OP_add, x, x));
        test_compare(&t, true);
        test_end(&t);
    }
}

/* Rows written by index, at the lanes' own elements and beside them; only the first are aligned. */
static void test_nontemporal_rows(void **state)
{
    (void)state;
    test_need_llvm();
    const int64_t n = 1003, rows[] = { 3, 1024 };
    test_case t;
    begin_case(&t, "non-temporal rows", 1);
    t.options.nontemporal = true;
    test_space(&t, 1, n, 0, 0);
    uint32_t a = test_slot(&t, WF_F32, 1, &n, true), r = test_slot(&t, WF_F32, 2, rows, false);
    t.array[r].aligned = true;
    t.ir.slot[r].rows = true;
    wf__ref x = in(&t, a), lane = wf__index(&t.ir, 0);
    for (int k = 0; k < 3; k++)
        wf__store(&t.ir, r, test_tuple(&t, num(&t, k), lane, 0), wf__op2(&t.ir, WF__OP_add, x, x), 0);
    test_compare(&t, true);
    test_end(&t);
}

int codegen_operations(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_constant_operands),
    };
    test_choose();
    return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}

int codegen_bodies(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complex),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_addressing),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_indices_as_values),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_cold_paths),
        cmocka_unit_test(test_nontemporal),
        cmocka_unit_test(test_nontemporal_rows),
        cmocka_unit_test(test_index_on_condition),
    };
    test_choose();
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
