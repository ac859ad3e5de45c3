/* codegen_borders.c - bodies whose loads have border modes: where whole vectors need no test, and where they do. */
#include "borders.h"
#include "codegen_body.h"

static void check_border(wf_border border, unsigned dtype, int64_t h, int64_t w, int rows, int columns, bool far)
{
    test_case t;
    char name[96];
    snprintf(name, sizeof name, "border %d of %s, %lld x %lld", (int)border, wf_dtype_name((wf_dtype)dtype),
             (long long)h, (long long)w);
    begin_case(&t, name, 2);
    t.options.rows = rows;
    t.options.columns = columns;
    const int64_t sh = 11, sw = 140, size[2] = { h, w }, space[2] = { sh, sw }, one[1] = { sw };
    test_space(&t, 2, sh, sw, 0);
    wf__ir *ir = &t.ir;
    wf__ref y = wf__index(ir, 0), x = wf__index(ir, 1);
    uint32_t a = test_slot(&t, dtype, 2, size, false), index = test_slot(&t, WF_I64, 1, one, true);
    wf__ref i = wf__load(ir, index, test_tuple(&t, x, 0, 0), WF_BORDER_NONE, 0);
    wf__ref other = wf__const_f64(ir, dtype, 7), all = 0;
    static const int offset[][2] = { { 0, 0 }, { -1, 0 }, { 0, -3 }, { 2, 3 }, { 0, 40 } };
    wf__ref places[16];
    uint32_t n = 0;
    for (size_t k = 0; k < WF__COUNT(offset); k++)
        places[n++] = test_tuple(&t, plus(&t, y, offset[k][0]), plus(&t, x, offset[k][1]), 0);
    places[n++] = test_tuple(&t, y, i, 0);
    places[n++] = test_tuple(&t, i, x, 0);
    places[n++] = test_tuple(&t, num(&t, 3), x, 0);
    places[n++] = test_tuple(&t, y, num(&t, -2), 0);
    places[n++] = test_tuple(&t, num(&t, -5), num(&t, 200), 0);
    places[n++] = test_tuple(&t, y, wf__op2(ir, WF__OP_sub, num(&t, 100), x), 0);
    for (uint32_t k = 0; k < n; k++) {
        wf__ref v = wf__load(ir, a, places[k], border, k % 2 ? 0 : other);
        out(&t, test_slot(&t, dtype, 2, space, true), v);
        all = v;
    }
    (void)all;
    assert_int_equal(ir->status, WF_OK);
    make_far(&t, far);
    test_compare(&t, rows == 2);
    test_end(&t);
}

static void test_borders(void **state)
{
    (void)state;
    test_need_llvm();
    for (int b = WF_BORDER_VALUE; b < (int)WF__BORDERS; ++b) {
        check_border((wf_border)b, WF_F32, 11, 140, 1, 1, false);
        check_border((wf_border)b, WF_F32, 12, 150, 2, 2, false);
        check_border((wf_border)b, WF_F32, 9, 17, 1, 1, false); /* one vector reaches beyond both ends */
        check_border((wf_border)b, WF_F32, 9, 33, 2, 1, false);
        check_border((wf_border)b, WF_F64, 9, 12, 1, 1, false);
        check_border((wf_border)b, WF_U16, 9, 100, 4, 1, false);
        check_border((wf_border)b, WF_F64, 1, 1, 1, 2, false);
        check_border((wf_border)b, WF_BOOL, 3, 2, 1, 2, false);
        check_border((wf_border)b, WF_F32, 0, 5, 1, 1, false);
        check_border((wf_border)b, WF_C64, 9, 100, 1, 2, false);
        check_border((wf_border)b, WF_C128, 5, 70, 2, 1, false);
        check_border((wf_border)b, WF_I16, 11, 140, 2, 1, true);
    }
}

/* Windows of blocks: indices that are sums of a loop index and multiples of outer ones, some of them far outside, and too
 * large to add up. */
static void test_borders_of_blocks(void **state)
{
    (void)state;
    test_need_llvm();
    static const int64_t step[][2] = { { 7, 40 }, { -3, 17 }, { 0, 300 }, { 11, -40 }, { INT64_C(1) << 62, 1 } };
    for (size_t s = 0; s < WF__COUNT(step); s++)
        for (int columns = 1; columns <= 2; columns++) {
            test_case t;
            begin_case(&t, "windows of blocks", 3);
            t.options.rows = 2;
            t.options.columns = columns;
            const int64_t size[2] = { 37, 211 }, out_size[3] = { 5, 9, 83 };
            test_space(&t, 3, out_size[0], out_size[1], out_size[2]);
            wf__ir *ir = &t.ir;
            uint32_t a = test_slot(&t, WF_F32, 2, size, false), r = test_slot(&t, WF_F32, 3, out_size, true);
            wf__ref block = wf__index(ir, 0), y = wf__index(ir, 1), x = wf__index(ir, 2), sum = 0;
            y = plus(&t, wf__op2(ir, WF__OP_add, y, wf__op2(ir, WF__OP_mul, block, num(&t, step[s][0]))), -2);
            x = plus(&t, wf__op2(ir, WF__OP_add, x, wf__op2(ir, WF__OP_mul, block, num(&t, step[s][1]))), -5);
            for (int b = WF_BORDER_VALUE; b < (int)WF__BORDERS; b++) {
                wf__ref v = wf__load(ir, a, test_tuple(&t, y, x, 0), (unsigned)b, 0);
                sum = sum ? wf__op2(ir, WF__OP_add, sum, v) : v;
            }
            out(&t, r, sum);
            test_compare(&t, false);
            for (int64_t from = 0; from < out_size[0]; from++) { /* the box of one block */
                t.lo[0] = from;
                t.hi[0] = from + 1;
                test_compare(&t, false);
            }
            test_end(&t);
        }
}

/* Begins a case of points at which an image of 37 x 211 is read, one vector at a time. */
static void begin_steps(test_case *t, const char *name, int64_t rows, int64_t columns, uint32_t *a, uint32_t *r)
{
    const int64_t size[2] = { 37, 211 }, out_size[2] = { rows, columns };
    begin_case(t, name, 2);
    t->options.rows = t->options.columns = 1;
    test_space(t, 2, rows, columns, 0);
    *a = test_slot(t, WF_F32, 2, size, false);
    *r = test_slot(t, WF_F32, 2, out_size, true);
}

/* Multiples of loop indices: every s-th row and column, from some place on, and steps that would leave any array. */
static void test_borders_of_steps(void **state)
{
    (void)state;
    test_need_llvm();
    static const int64_t step[][2] = { { 2, 1 },        { 1, 2 },    { 3, 4 },
                                       { 8, 1 },        { 40, 250 }, { INT64_C(1) << 40, 2 },
                                       { INT64_MAX, 3 } };
    static const int64_t start[][2] = { { 0, 0 }, { -1, -3 }, { -7, -8 }, { 5, 6 }, { 36, 210 }, { -100, -1000 } };
    for (size_t s = 0; s < WF__COUNT(step); s++) {
        test_case t;
        begin_case(&t, "steps", 2);
        t.options.rows = 1 + (int)(s % 2);
        t.options.columns = 2;
        const int64_t size[2] = { 37, 211 }, out_size[2] = { 21, 230 };
        test_space(&t, 2, out_size[0], out_size[1], 0);
        wf__ir *ir = &t.ir;
        uint32_t a = test_slot(&t, WF_F32, 2, size, false);
        for (size_t k = 0; k < WF__COUNT(start); k++) {
            wf__ref sum = 0;
            wf__ref y = wf__op2(ir, WF__OP_mul, wf__index(ir, 0), num(&t, step[s][0]));
            wf__ref x = wf__op2(ir, WF__OP_mul, wf__index(ir, 1), num(&t, step[s][1]));
            uint32_t place = test_tuple(&t, plus(&t, y, start[k][0]), plus(&t, x, start[k][1]), 0);
            for (int b = WF_BORDER_VALUE; b < (int)WF__BORDERS; b++) {
                wf__ref v = wf__load(ir, a, place, (unsigned)b, 0);
                sum = sum ? wf__op2(ir, WF__OP_add, sum, v) : v;
            }
            out(&t, test_slot(&t, WF_F32, 2, out_size, true), sum);
        }
        assert_int_equal(ir->status, WF_OK);
        test_compare(&t, false);
        test_end(&t);
    }
    for (size_t s = 0; s < WF__COUNT(step); s++) /* one load, whose interior is not that of others */
        for (size_t k = 1; k < WF__COUNT(start); k += 2) {
            test_case t;
            wf__ir *ir = &t.ir;
            uint32_t a, r;
            begin_steps(&t, "one step", 21, 230, &a, &r);
            wf__ref y = wf__op2(ir, WF__OP_mul, wf__index(ir, 0), num(&t, step[s][0]));
            wf__ref x = wf__op2(ir, WF__OP_mul, wf__index(ir, 1), num(&t, step[s][1]));
            uint32_t place = test_tuple(&t, plus(&t, y, start[k][0]), plus(&t, x, start[k][1]), 0);
            out(&t, r, wf__load(ir, a, place, WF_BORDER_VALUE, wf__const_f64(ir, WF_F32, 7)));
            test_compare(&t, false);
            test_end(&t);
        }
}

/* Two loads whose rows are further apart than the array has rows: no row is inside for both, however large the step. */
static void test_borders_of_far_steps(void **state)
{
    (void)state;
    test_need_llvm();
    static const int64_t step[] = { (INT64_C(1) << 24) - 1, (INT64_C(1) << 24) + 1, INT64_C(1) << 62, INT64_MAX };
    for (size_t s = 0; s < WF__COUNT(step); s++) {
        test_case t;
        wf__ir *ir = &t.ir;
        uint32_t a, r;
        begin_steps(&t, "far steps", 5, 211, &a, &r);
        wf__ref y = wf__op2(ir, WF__OP_mul, wf__index(ir, 0), num(&t, step[s])), x = wf__index(ir, 1);
        wf__ref v = wf__load(ir, a, test_tuple(&t, plus(&t, y, -5), x, 0), WF_BORDER_VALUE, 0);
        wf__ref w = wf__load(ir, a, test_tuple(&t, plus(&t, y, 36), x, 0), WF_BORDER_VALUE, 0);
        out(&t, r, wf__op2(ir, WF__OP_add, v, w));
        test_compare(&t, false);
        test_end(&t);
    }
}

/* A window of a block so far out that the sum of its indices wraps: to the smallest integers, and to the largest. */
static void test_far_blocks(void **state)
{
    (void)state;
    test_need_llvm();
    const int64_t half = INT64_C(1) << 39, width = 83, size[2] = { 37, 211 };
    for (int64_t offset = -1; offset <= 1; offset++) {
        test_case t;
        begin_case(&t, "far blocks", 2);
        t.options.rows = t.options.columns = 1;
        test_space(&t, 2, 2 * half, width, 0);
        wf__ir *ir = &t.ir;
        uint32_t a = test_slot(&t, WF_F32, 2, size, false), r = test_slot(&t, WF_F32, 1, &width, false);
        wf__ref block = wf__index(ir, 0), x = wf__index(ir, 1);
        wf__ref at = wf__op2(ir, WF__OP_add, x, wf__op2(ir, WF__OP_mul, block, num(&t, 1 << 24)));
        wf__ref v = wf__load(ir, a, test_tuple(&t, num(&t, 3), plus(&t, at, offset), 0), WF_BORDER_CLAMP, 0);
        wf__store(ir, r, test_tuple(&t, x, 0, 0), v, 0);
        assert_int_equal(ir->status, WF_OK);
        for (int64_t from = half - 1; from <= half; from++) {
            t.lo[0] = from;
            t.hi[0] = from + 1;
            test_compare(&t, false);
        }
        test_end(&t);
    }
}

/* A naive convolution: all tiles give the same result. */
static void test_stencil_tiles(void **state)
{
    (void)state;
    test_need_llvm();
    for (int rows = 1; rows <= 4; rows++)
        for (int columns = 1; columns <= 3; columns++) {
            test_case t;
            begin_case(&t, "stencil", 2);
            t.options.rows = rows;
            t.options.columns = columns;
            const int64_t h = 37, w = 211, size[2] = { h, w }, weights[2] = { 5, 5 };
            test_space(&t, 2, h, w, 0);
            wf__ir *ir = &t.ir;
            uint32_t a = test_slot(&t, WF_F32, 2, size, false), k = test_slot(&t, WF_F32, 2, weights, false);
            uint32_t r = test_slot(&t, WF_F32, 2, size, true);
            wf__ref y = wf__index(ir, 0), x = wf__index(ir, 1), sum = wf__const_f64(ir, WF_F32, 0);
            for (int dy = 0; dy < 5; dy++)
                for (int dx = 0; dx < 5; dx++) {
                    wf__ref v = wf__load(ir, a, test_tuple(&t, plus(&t, y, dy - 2), plus(&t, x, dx - 2), 0),
                                         WF_BORDER_VALUE, 0);
                    wf__ref m = wf__load(ir, k, test_tuple(&t, num(&t, dy), num(&t, dx), 0), WF_BORDER_NONE, 0);
                    sum = wf__op3(ir, WF__OP_fma, v, m, sum);
                }
            out(&t, r, sum);
            test_compare(&t, false);
            test_end(&t);
        }
}

int codegen_borders(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),          cmocka_unit_test(test_borders_of_blocks),
        cmocka_unit_test(test_borders_of_steps), cmocka_unit_test(test_borders_of_far_steps),
        cmocka_unit_test(test_far_blocks),       cmocka_unit_test(test_stencil_tiles),
    };
    test_choose();
    return cmocka_run_group_tests_name("borders", tests, NULL, NULL);
}
