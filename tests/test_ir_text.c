/* test_ir_text.c - the text form of recordings reads back as it was written, malformed text reports an error, and the
 * verifier refuses recordings that break an invariant. */
#include "weft_test.h"
#include "ir/ir.h"

/* A text with every element that a text can have. */
static const char lanes[] = "rank 2 flags 3\n"
                            "slot 0 f32 2 element steps any unit\n"
                            "slot 1 u8 1 may-alias steps zero\n"
                            "slot 2 f64 0\n"
                            "slot 3 u32 2 private 32 record 4 steps any unit\n"
                            "slot 4 f16 1 steps any\n"
                            "slot 5 i64 1 shared 17 steps unit\n"
                            "param 0 f32\n"
                            "param 1 bool\n"
                            "red 0 f64 add 1\n"
                            "red 1 i32 min 4\n"
                            "%1 = const f32 0x3f800000 # 1\n"
                            "%2 = index i64 0\n"
                            "%3 = index i64 1\n"
                            "%4 = extent i64 1\n"
                            "%5 = dim i64 s1 0\n"
                            "%6 = param f32 0\n"
                            "%7 = param bool 1\n"
                            "%8 = load f32 s0 epoch 0\n"
                            "%9 = load f32 s0 [%2 %3] border value other %1 epoch 2\n"
                            "%10 = load u8 s1 [%4] border reflect epoch 0\n"
                            "%11 = cast f32 %10\n"
                            "%12 = bitcast u32 %11\n"
                            "%13 = fma f32 %8 %9 %11\n"
                            "%14 = lt bool %13 %1\n"
                            "%15 = select f32 %14 %13 %1\n"
                            "store f32 s0 %15\n"
                            "store f32 s0 [%3 %2] %15 if %7\n"
                            "%18 = red f64 0 0\n"
                            "%19 = cast f64 %15\n"
                            "%20 = add f64 %18 %19\n"
                            "setred f64 0 0 %20\n"
                            "%22 = cold f32 %14 %15 1 [%15]\n"
                            "accum u32 s3 [%2 %3] add expand %12 if %14\n"
                            "accum f16 s4 [%3] max auto %1\n"
                            "%25 = atomic f64 s2 add %19\n"
                            "%26 = atomic f64 s2 exch %25 if %14\n"
                            "%27 = cas f64 s2 swap [%25 %19] if %7\n"
                            "%28 = thread i64 1 0\n"
                            "%29 = thread i64 8 1\n"
                            "store i64 s5 [%28] %29\n"
                            "barrier bool 2\n"
                            "%32 = load i64 s5 [%29] epoch 1\n"
                            "barrier bool 0\n";
static const char arrays[] = "arrays flags 3\n"
                             "slot 0 f32 2 element steps any any\n"
                             "%1 = load f32 (3, ?) s0 epoch 0\n"
                             "%2 = iota i64 (3, 4) 1\n"
                             "%3 = cast f32 (3, 4) %2\n"
                             "%4 = add f32 (3, 4) %1 %3\n"
                             "%5 = reduce f32 (1, 1) max %4 axes 3\n"
                             "%6 = const i64 0x0 # 0\n"
                             "%7 = const i64 0x2 # 2\n"
                             "%8 = const i64 0x1 # 1\n"
                             "%9 = view f32 (3, 2) slice %4 [%8 %6 %7 %8]\n"
                             "%10 = view f32 (4, 3) permute %4 [%8 %6]\n"
                             "%11 = view f32 gather %4 [%7 %6] other %1\n"
                             "%12 = scan f32 (3, 4) add %4 axis 1 exclusive reversed\n"
                             "store f32 (3, ?) s0 %5\n";

static void expect_round_trip(const char *text)
{
    wf__ir ir;
    wf__str error = { 0 }, printed = { 0 };
    if (!wf__parse(text, &ir, &error)) {
        print_error("%s\n", wf__str_get(&error));
        fail();
    }
    wf__print(&ir, &printed);
    assert_string_equal(wf__str_get(&printed), text);
    wf__str_free(&printed);
    wf__ir_free(&ir);
}

static void test_round_trip(void **state)
{
    (void)state;
    expect_round_trip(lanes);
    expect_round_trip(arrays);
}

static void add_line(wf__str *text, const char *format, ...) WF__PRINTF(2, 3);
static void add_line(wf__str *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wf__str_addv(text, format, args);
    va_end(args);
}

static void test_round_trip_of_every_operation(void **state)
{
    (void)state;
    wf__str text = { 0 };
    add_line(&text, "rank 1 flags 0\n");
    unsigned id = 0;
    for (int k = 0; k < TEST_DTYPES; ++k)
        add_line(&text, "%%%u = const %s 0x0 # 0\n", ++id, wf_dtype_name(test_dtypes[k]));
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op)
        for (int k = 0; k < TEST_DTYPES; ++k) {
            const wf__op_info *info = &wf__op_table[op];
            unsigned o = (unsigned)k + 1, first = info->types == WF__T_FIRST_BOOL ? 1 : o;
            if (!wf__types_allow(info->types, test_dtypes[k]))
                continue;
            assert_int_equal(wf__op_named(info->name, strlen(info->name)), op);
            assert_true(strlen(info->doc) > 4);
            add_line(&text, "%%%u = %s %s %%%u", ++id, info->name,
                     wf_dtype_name(info->to_bool ? WF_BOOL : test_dtypes[k]), first);
            for (unsigned i = 1; i < info->arity; ++i)
                add_line(&text, " %%%u", o);
            add_line(&text, "\n");
        }
    expect_round_trip(wf__str_get(&text));
    wf__str_free(&text);
    expect_round_trip("rank 1 flags 0\n"
                      "slot 0 c64 1 steps any\n"
                      "%1 = index i64 0\n"
                      "%2 = load c64 s0 [%1] epoch 0\n"
                      "%3 = real f32 %2\n"
                      "%4 = imag f32 %2\n"
                      "%5 = complex c64 %4 %3\n"
                      "store c64 s0 [%1] %5\n");
    assert_int_equal(wf__op_named("const", 5), -1);
    assert_int_equal(wf__op_named("ad", 2), -1);
}

static void test_refused_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "'rank'" },
        { "rank 9", "at most 8" },
        { "rank 4294967295", "at most 8" },
        { "rank 99999999999999999999999", "2^32" },
        { "rank 1\n%1 = const f32", "number" },
        { "rank 1\n%2 = const f32 0x0", "next id" },
        { "rank 1\n%1 = const c64 0x0", "complex" },
        { "rank 1\n%1 = const f32 0x0\n%2 = complex c128 %1 %1", "parts" },
        { "rank 1\n%1 = const f32 0x0\n%2 = real f32 %1", "parts" },
        { "rank 1\nred 0 c64 add 1", "join" },
        { "rank 1\n%1 = const i8 0x1ff", "wider" },
        { "rank 1\n%1 = const bool 0x2", "wider" },
        { "rank 1\n%1 = add f32 %1 %1", "earlier" },
        { "rank 1\n%1 = const f32 0x0\n%2 = add f64 %1 %1", "dtype" },
        { "rank 1\n%1 = const f32 0x0\n%2 = const f64 0x0\n%3 = add f32 %1 %2", "dtype" },
        { "rank 1\n%1 = const f32 0x0\n%2 = and f32 %1 %1", "dtype" },
        { "rank 1\n%1 = const f32 0x0\n%2 = lt f32 %1 %1", "dtype" },
        { "rank 1\n%1 = const f32 0x0\n%2 = select f32 %1 %1 %1", "dtype" },
        { "rank 1\n%1 = const f32 0x0\n%2 = bitcast f64 %1", "sizes" },
        { "rank 1\n%1 = const i8 0x0\n%2 = bitcast bool %1", "sizes" },
        { "rank 1\n%1 = index i64 1", "axis" },
        { "rank 1\n%1 = index i32 0", "axis" },
        { "rank 1\n%1 = param f32 0", "parameter" },
        { "rank 1\nparam 0 f64\n%1 = param f32 0", "parameter" },
        { "rank 1\n%1 = load f32 s0", "slot" },
        { "rank 1\nslot 0 f32 9", "at most 8" },
        { "rank 1\nslot 0 f32 2\n%1 = index i64 0\n%2 = load f32 s0 [%1]", "axes" },
        { "rank 1\nslot 0 f32 1\n%1 = const f32 0x0\n%2 = load f32 s0 [%1]", "i64" },
        { "rank 1\nslot 0 f32 1\n%1 = const i64 0x0\n%2 = load f64 s0 [%1]", "dtype" },
        { "rank 1\nslot 0 f32 1\n%1 = const i64 0x0\n%2 = load f32 s0 [%1] border value other %1", "dtype" },
        { "rank 1\nslot 0 f32 1\n%1 = const i64 0x0\nstore f32 s0 [%1] %1", "dtype" },
        { "rank 1\nslot 0 f32 1\n%1 = const f32 0x0\nstore f32 s0 %1 if %1", "dtype" },
        { "rank 1\nslot 0 f32 1\n%1 = const f32 0x0\nstore f32 s0 %1\n%3 = add f32 %1 %2", "value" },
        { "rank 1\n%1 = nop f32\n", "operation" },
        { "rank 1\nred 0 f32 add 0", "instances" },
        { "rank 1\nred 0 f32 sum 1", "join" },
        { "rank 1\nred 0 f32 custom 1", "join" },
        { "rank 1\nred 0 f32 and 1", "join" },
        { "rank 1\nred 0 f32 add 2\n%1 = red f32 0 2", "reduction" },
        { "rank 1\nred 0 f32 add 2\n%1 = red f64 0 0", "reduction" },
        { "rank 1\n%1 = const f32 (3) 0x0", "shape" },
        { "rank 1\n%1 = const f32 0x0\n%2 = reduce f32 add %1", "array graphs" },
        { "rank 1\n%1 = iota i64 0", "array graphs" },
        { "arrays\n%1 = iota i64 (3) 1", "axis" },
        { "arrays\n%1 = iota i64 (3) 0\n%2 = view i64 (3) slice %1 [%1 %1 %1 %1]", "constants" },
        { "arrays\n%1 = iota i64 (3) 0\n%2 = const i64 0x1\n%3 = view i64 (3) permute %1 [%2]", "numbers" },
        { "arrays\n%1 = iota i64 (3) 0\n%2 = view i64 (3) gather %1", "indices" },
        { "rank 1\n%1 = const f32 0x0\n%2 = view f32 reshape %1", "array graphs" },
        { "arrays\n%1 = iota i64 (3) 0\n%2 = scan i64 (3) add %1 axis 1", "axis" },
        { "arrays\n%1 = iota i64 (1, 2, 3, 4, 5, 6, 7, 8, 9) 1", "at most 8" },
        { "rank 1\n%1 = const f32 0x0 junk", "end of the line" },
        { "rank 1\n%1 = const f32 0x0\n%2 = cold f32 %1 %1 1 [%1]", "dtype" },
        { "rank 1\n%1 = const bool 0x0\n%2 = cold bool %1 %1 9999 [%1]", "body" },
    };
    for (size_t k = 0; k < WF__COUNT(bad); ++k) {
        wf__ir ir;
        wf__str error = { 0 };
        bool ok = wf__parse(bad[k].text, &ir, &error);
        if (ok || !strstr(wf__str_get(&error), bad[k].why)) {
            print_error("'%s': %s, expected '%s'\n", bad[k].text, ok ? "accepted" : wf__str_get(&error), bad[k].why);
            fail();
        }
        wf__str_free(&error);
        wf__ir_free(&ir);
    }
}

/* Replaces each field of each node of a good recording, one at a time, by nonsense. The verifier refuses it, or it
 * is harmless: the recording still prints. */
static void test_verifier_meets_nonsense(void **state)
{
    (void)state;
    wf__ir ir;
    wf__str error = { 0 };
    assert_true(wf__parse(lanes, &ir, &error));
    int refused = 0, tried = 0;
    for (wf__ref r = 1; r < ir.n; ++r)
        for (int field = 0; field < 7; ++field) {
            wf__node *n = &ir.node[r], good = *n;
            switch (field) {
            case 0:
                n->op = WF__OP_COUNT + 7;
                break;
            case 1:
                n->dtype = WF_C64;
                break;
            case 2:
                n->a = 1u << 30;
                break;
            case 3:
                n->b = 1u << 30;
                break;
            case 4:
                n->c = 1u << 30;
                break;
            case 5:
                n->d = 1u << 30;
                break;
            case 6:
                n->shape = 5;
                break;
            }
            wf__str why = { 0 }, text = { 0 };
            ++tried;
            if (!wf__verify(&ir, &why)) {
                ++refused;
                assert_true(why.len > 0);
            } else
                wf__print(&ir, &text);
            wf__str_free(&why);
            wf__str_free(&text);
            ir.node[r] = good;
        }
    assert_true(wf__verify(&ir, &error));
    assert_true(refused > tried / 2);
    wf__ir_free(&ir);
    wf__str_free(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_of_every_operation),
        cmocka_unit_test(test_refused_text),
        cmocka_unit_test(test_verifier_meets_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
