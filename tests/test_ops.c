/* test_ops.c - every operation of the table through the public API, for every dtype that it allows, over all pairs of
 * special values and random ones. The processor gives the bits of the interpreter (NaN equals NaN), for array sizes
 * that leave every kind of vector tail. The loops run over the table, so a new operation is tested without a line
 * here.
 */
#include "weft_test.h"
#include "ir/ir.h"

typedef union any_function {
    wf_val (*f1)(wf_val);
    wf_val (*f2)(wf_val, wf_val);
    wf_val (*f3)(wf_val, wf_val, wf_val);
} any_function;

static const any_function functions[WF__OP_COUNT] = {
#define WF_OP(name, arity, ...) [WF__OP_##name] = { .f##arity = (wf_##name) },
#include "ir/ops.def"
#undef WF_OP
};

static wf_context *ctx;

static wf_val apply(unsigned op, const wf_val *v)
{
    unsigned arity = wf__op_table[op].arity;
    return arity == 1   ? functions[op].f1(v[0])
           : arity == 2 ? functions[op].f2(v[0], v[1])
                        : functions[op].f3(v[0], v[1], v[2]);
}

/* ---- values ---- */
enum { SPECIALS = 34 };

static void special_value(wf_dtype t, unsigned i, uint64_t *random, void *out)
{
    static const double floats[SPECIALS] = { 0.0,           -0.0,    1,        -1,       0.5,        -0.5,
                                             1.5,           -2.5,    2,        3,        -3,         7.25,
                                             100,           -1000,   1e10,     -1e-10,   1e300,      INFINITY,
                                             -INFINITY,     NAN,     0x1p-126, 0x1p-149, -0x1p-1074, 0x1p127,
                                             0x1p31,        -0x1p31, 0x1p63,   -0x1p63,  0x1p64,     255.5,
                                             0x1.fffffep23, 2.5,     -709.5,   0x1p1023 };
    static const int64_t ints[SPECIALS] = { 0,         1,         -1,        2,         -2,        3,
                                            5,         7,         8,         15,        16,        31,
                                            32,        33,        63,        64,        65,        100,
                                            127,       128,       -128,      255,       256,       INT16_MAX,
                                            INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 0x5555555555555555,
                                            -3,        1 << 20,   0xffff,    0xffffffff };
    uint64_t bits = test_random(random);
    if (i < SPECIALS && t >= WF_F16)
        wf__eval_cast(t, WF_F64, out, &floats[i], 1);
    else if (i < SPECIALS)
        wf__eval_cast(t, WF_I64, out, &ints[i], 1);
    else if (t == WF_BOOL)
        *(uint8_t *)out = bits & 1;
    else
        memcpy(out, &bits, wf_dtype_size(t));
}

/* n values such that operand `which` of `arity` together with the others runs over all combinations of special
 * values. */
static void *values(wf_dtype t, unsigned which, int64_t n, uint64_t seed)
{
    size_t size = wf_dtype_size(t);
    char *data = malloc((size_t)n * size);
    assert_non_null(data);
    uint64_t random = seed * 3 + which;
    for (int64_t i = 0; i < n; ++i) {
        unsigned k = (unsigned)(which == 0   ? i % SPECIALS
                                : which == 1 ? i / SPECIALS % SPECIALS
                                             : (i / 5 + i / SPECIALS) % SPECIALS);
        if (i >= SPECIALS * SPECIALS)
            k = SPECIALS; /* random bits */
        special_value(t, k, &random, data + (size_t)i * size);
    }
    return data;
}

/* The operation on one device; the result's dtype is that of `out`. */
static void compute(unsigned op, wf_array *const *in, wf_array *out, wf_device device)
{
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_val v[3];
    for (unsigned i = 0; i < wf__op_table[op].arity; ++i)
        v[i] = wf_in(g, in[i]);
    wf_val r = apply(op, v);
    assert_int_equal(wf_val_dtype(r), wf_array_dtype(out));
    wf_out(g, out, r);
    OK(ctx, wf_run(g));
}

static void expect_same(unsigned op, wf_dtype t, wf_array *a, wf_array *b, wf_array *const *in)
{
    int64_t n = wf_array_count(a);
    void *x = contents(a), *y = contents(b);
    int64_t at = first_difference(wf_array_dtype(a), x, y, n);
    if (at >= 0) {
        uint64_t u = 0, v = 0, o[3] = { 0 };
        size_t size = wf_dtype_size(wf_array_dtype(a));
        memcpy(&u, (char *)x + (size_t)at * size, size);
        memcpy(&v, (char *)y + (size_t)at * size, size);
        for (unsigned i = 0; i < wf__op_table[op].arity; ++i) {
            char *data = contents(in[i]);
            memcpy(&o[i], data + (size_t)at * wf_dtype_size(wf_array_dtype(in[i])),
                   wf_dtype_size(wf_array_dtype(in[i])));
            free(data);
        }
        print_error("%s %s, element %lld of %lld (%#llx %#llx %#llx): interpreter %#llx, CPU %#llx\n",
                    wf__op_table[op].name, wf_dtype_name(t), (long long)at, (long long)n, (unsigned long long)o[0],
                    (unsigned long long)o[1], (unsigned long long)o[2], (unsigned long long)u, (unsigned long long)v);
        fail();
    }
    free(x);
    free(y);
}

static bool allowed(unsigned op, wf_dtype t) { return wf__types_allow(wf__op_table[op].types, t); }

static void one_operation(unsigned op, wf_dtype t, int64_t n)
{
    const wf__op_info *info = &wf__op_table[op];
    wf_array *in[3] = { 0 }, *out[2];
    for (unsigned i = 0; i < info->arity; ++i) {
        wf_dtype ti = info->types == WF__T_FIRST_BOOL && i == 0 ? WF_BOOL : t;
        void *data = values(ti, i, n, op);
        in[i] = array_of(ctx, ti, WF_SHAPE(n), data);
        free(data);
    }
    for (int k = 0; k < 2; ++k) {
        out[k] = wf_empty(ctx, info->to_bool ? WF_BOOL : t, WF_SHAPE(n));
        compute(op, in, out[k], k ? WF_CPU : WF_INTERP);
    }
    expect_same(op, t, out[0], out[1], in);
    for (int i = 0; i < 3; ++i)
        wf_release(in[i]);
    wf_release(out[0]);
    wf_release(out[1]);
}

static void test_every_operation(void **state)
{
    (void)state;
    static const int64_t sizes[] = { SPECIALS * SPECIALS + 777, 1, 2, 5, 15, 17, 33, 65, 129 };
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op)
        for (int k = 0; k < TEST_DTYPES; ++k)
            for (size_t i = 0; allowed(op, test_dtypes[k]) && i < sizeof sizes / sizeof *sizes; ++i)
                one_operation(op, test_dtypes[k], sizes[i]);
}

/* Every size up to two vectors and a bit, through one compiled kernel, next to elements that must not change. */
static void test_every_tail(void **state)
{
    (void)state;
    enum { GUARD = 16 };
    wf_info info = { .size = sizeof info };
    OK(ctx, wf_get_info(ctx, false, &info));
    for (int k = 0; k < TEST_DTYPES; ++k) {
        wf_dtype t = test_dtypes[k];
        size_t size = wf_dtype_size(t);
        int64_t vector = info.vector_bits > 0 ? info.vector_bits / 8 / (int64_t)size : 64, most = 2 * vector + 1;
        char *a = values(t, 0, most + GUARD, 1), *b = values(t, 1, most + GUARD, 2);
        wf_array *whole = array_of(ctx, t, WF_SHAPE(most + GUARD), a),
                 *other = array_of(ctx, t, WF_SHAPE(most + GUARD), b);
        for (int64_t n = 1; n <= most; ++n) {
            char *want = malloc((size_t)(most + GUARD) * size), *got;
            assert_non_null(want);
            OK(ctx, wf_upload(other, b, (size_t)(most + GUARD) * size));
            memcpy(want, b, (size_t)(most + GUARD) * size);
            if (t == WF_BOOL)
                for (int64_t i = 0; i < n; ++i)
                    want[i] = a[i] ^ b[i];
            else if (wf__is_half(t)) {
                float wide[3][130];
                wf__eval_cast(WF_F32, t, wide[0], a, (size_t)n);
                wf__eval_cast(WF_F32, t, wide[1], b, (size_t)n);
                wf__eval(WF__OP_max, WF_F32, wide[2], wide[0], wide[1], wide[1], (size_t)n);
                wf__eval_cast(t, WF_F32, want, wide[2], (size_t)n);
            } else
                wf__eval(WF__OP_max, t, want, a, b, b, (size_t)n);
            wf_array *x = wf_view_slice(whole, 0, 0, n, 1), *y = wf_view_slice(other, 0, 0, n, 1);
            wf_graph *g = wf_begin(ctx);
            wf_out(g, y, t == WF_BOOL ? wf_xor(wf_in(g, x), wf_in(g, y)) : wf_max(wf_in(g, x), wf_in(g, y)));
            OK(ctx, wf_run(g));
            got = contents(other);
            assert_int_equal(first_difference(t, want, got, most + GUARD), -1);
            free(want);
            free(got);
            wf_release(x);
            wf_release(y);
        }
        wf_release(whole);
        wf_release(other);
        free(a);
        free(b);
    }
}

static void one_cast(wf_dtype from, wf_dtype to, bool bits)
{
    enum { N = 1000 };
    void *data = values(from, 0, SPECIALS * SPECIALS + N, (uint64_t)from);
    wf_array *in = array_of(ctx, from, WF_SHAPE(SPECIALS * SPECIALS + N), data), *out[2];
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx, .device = k ? WF_CPU : WF_INTERP);
        wf_val v = wf_in(g, in);
        out[k] = wf_keep(bits ? wf_bitcast(v, to) : wf_cast(v, to));
        OK(ctx, wf_run(g));
        assert_int_equal(wf_array_dtype(out[k]), to);
    }
    void *x = contents(out[0]), *y = contents(out[1]);
    int64_t at = bits ? (memcmp(x, y, (size_t)wf_array_count(in) * wf_dtype_size(to)) ? 0 : -1)
                      : first_difference(to, x, y, wf_array_count(in));
    if (at >= 0) {
        print_error("%s %s to %s differs at element %lld\n", bits ? "bitcast" : "cast", wf_dtype_name(from),
                    wf_dtype_name(to), (long long)at);
        fail();
    }
    if (bits)
        assert_memory_equal(x, data, (size_t)wf_array_count(in) * wf_dtype_size(to));
    free(x);
    free(y);
    free(data);
    wf_release(in);
    wf_release(out[0]);
    wf_release(out[1]);
}

static void test_every_cast(void **state)
{
    (void)state;
    for (int a = 0; a < TEST_DTYPES; ++a)
        for (int b = 0; b < TEST_DTYPES; ++b) {
            wf_dtype from = test_dtypes[a], to = test_dtypes[b];
            one_cast(from, to, false);
            if (from != WF_BOOL && to != WF_BOOL && wf_dtype_size(from) == wf_dtype_size(to))
                one_cast(from, to, true);
        }
}

/* The definition of conversions, in numbers. */
static void test_cast_values(void **state)
{
    (void)state;
    const double x[] = { NAN, -1.9, 1.9, 300, -300, INFINITY, -INFINITY, 1e300, 0.0, -0.5, 4294967296.0 };
    const int32_t i32[] = { 0, -1, 1, 300, -300, INT32_MAX, INT32_MIN, INT32_MAX, 0, 0, INT32_MAX };
    const uint8_t u8[] = { 0, 0, 1, 255, 0, 255, 0, 255, 0, 0, 255 };
    const uint64_t u64[] = { 0, 0, 1, 300, 0, UINT64_MAX, 0, UINT64_MAX, 0, 0, 4294967296u };
    const uint8_t truth[] = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1 };
    wf_array *in = array_of(ctx, WF_F64, WF_SHAPE(11), x);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, in);
    wf_array *a = wf_keep(wf_cast(v, WF_I32)), *b = wf_keep(wf_cast(v, WF_U8)), *c = wf_keep(wf_cast(v, WF_U64)),
             *d = wf_keep(wf_cast(v, WF_BOOL)), *e = wf_keep(wf_cast(wf_cast(v, WF_I32), WF_I8));
    OK(ctx, wf_run(g));
    void *got = contents(a);
    assert_memory_equal(got, i32, sizeof i32);
    free(got);
    got = contents(b);
    assert_memory_equal(got, u8, sizeof u8);
    free(got);
    got = contents(c);
    assert_memory_equal(got, u64, sizeof u64);
    free(got);
    got = contents(d);
    assert_memory_equal(got, truth, sizeof truth);
    free(got);
    int8_t *wrapped = contents(e);
    assert_int_equal(wrapped[3], 300 - 256);
    assert_int_equal(wrapped[4], -300 + 256);
    free(wrapped);
    wf_array *all[] = { in, a, b, c, d, e };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

/* Operands of different dtypes get a common dtype by the rules of C; numbers take the dtype of the other operand. */
static wf_dtype meeting(wf_dtype a, wf_dtype b)
{
    wf_graph *g = wf_begin(ctx);
    wf_dtype t = wf_val_dtype(wf_add(wf_const(g, a, 1), wf_const(g, b, 1)));
    wf_drop(g);
    return t;
}

static void test_dtypes_meet(void **state)
{
    (void)state;
    assert_int_equal(meeting(WF_I32, WF_F32), WF_F32);
    assert_int_equal(meeting(WF_I64, WF_F32), WF_F32);
    assert_int_equal(meeting(WF_F32, WF_F64), WF_F64);
    assert_int_equal(meeting(WF_I8, WF_I16), WF_I16);
    assert_int_equal(meeting(WF_U8, WF_I16), WF_I16);
    assert_int_equal(meeting(WF_U16, WF_U8), WF_U16);
    assert_int_equal(meeting(WF_I8, WF_I8), WF_I8);
    assert_int_equal(meeting(WF_BOOL, WF_U8), WF_U8);
    assert_int_equal(meeting(WF_BOOL, WF_F64), WF_F64);
    assert_int_equal(meeting(WF_I32, WF_U64), WF_U64);
    assert_int_equal(meeting(WF_F16, WF_F16), WF_F16);
    assert_int_equal(meeting(WF_F16, WF_BF16), WF_F32);
    assert_int_equal(meeting(WF_BF16, WF_F32), WF_F32);
    assert_int_equal(meeting(WF_F16, WF_F64), WF_F64);
    assert_int_equal(meeting(WF_I32, WF_F16), WF_F16);
    assert_int_equal(meeting(WF_BOOL, WF_BF16), WF_BF16);
    assert_int_equal(meeting(WF_I32, WF_U32), WF_NONE);
    assert_int_equal(meeting(WF_U8, WF_I8), WF_NONE);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_const(g, WF_U8, 3);
    assert_int_equal(wf_val_dtype(wf_add(i, 200)), WF_U8);
    assert_int_equal(wf_val_dtype(wf_mul(2, i)), WF_U8);
    assert_int_equal(wf_val_dtype(wf_lt(i, 4)), WF_BOOL);
    assert_int_equal(wf_val_dtype(wf_select(wf_lt(i, 4), i, 0)), WF_U8);
    assert_int_equal(wf_val_dtype(wf_select(wf_lt(i, 4), 1, 0)), WF_F32);
    assert_int_equal(wf_val_dtype(wf_select(wf_lt(i, 4), 0.1, 0)), WF_F64);
    wf_drop(g);
}

static void refused(wf_val (*record)(wf_graph *), wf_status want, const char *part)
{
    wf_graph *g = wf_begin(ctx);
    assert_int_equal(wf_val_dtype(record(g)), WF_NONE);
    REFUSED(ctx, wf_run(g), want, part);
}
static wf_val half_of_int(wf_graph *g) { return wf_add(wf_const(g, WF_I32, 1), 0.5); }
static wf_val too_large(wf_graph *g) { return wf_add(wf_const(g, WF_U8, 1), 256); }
static wf_val negative(wf_graph *g) { return wf_add(wf_const(g, WF_U8, 1), -1); }
static wf_val huge(wf_graph *g) { return wf_add(wf_const(g, WF_I64, 1), 0x1p60); }
static wf_val int_division(wf_graph *g) { return wf_div(wf_const(g, WF_I32, 1), 2); }
static wf_val int_root(wf_graph *g) { return wf_sqrt(wf_const(g, WF_I32, 4)); }
static wf_val float_bits(wf_graph *g) { return wf_and(wf_const(g, WF_F32, 4), wf_const(g, WF_F32, 4)); }
static wf_val signs(wf_graph *g) { return wf_add(wf_const(g, WF_I32, 1), wf_const(g, WF_U32, 1)); }
static wf_val sizes(wf_graph *g) { return wf_bitcast(wf_const(g, WF_I32, 1), WF_F64); }
static wf_val no_dtype(wf_graph *g) { return wf_cast(wf_const(g, WF_I32, 1), (wf_dtype)(WF_C128 + 1)); }
static wf_val half_const(wf_graph *g) { return wf_const(g, WF_I32, 0.5); }
static wf_val half_variable(wf_graph *g) { return wf_get(wf_local(g, WF_I32, 0.5)); }
static wf_val wide_const(wf_graph *g) { return wf_const_i64(g, WF_I8, 128); }
static wf_val odd_const(wf_graph *g) { return wf_const(g, WF_BOOL, 2); }

static void test_refused_operands(void **state)
{
    (void)state;
    refused(half_of_int, WF_ERR_DTYPE, "0.5 does not fit i32; cast the other operand [");
    refused(half_const, WF_ERR_DTYPE, "0.5 does not fit i32 ["); /* there is no other one */
    refused(half_variable, WF_ERR_DTYPE, "0.5 does not fit i32 [");
    refused(too_large, WF_ERR_DTYPE, "256 does not fit u8");
    refused(negative, WF_ERR_DTYPE, "-1 does not fit u8");
    refused(huge, WF_ERR_DTYPE, "wf_const_i64");
    refused(int_division, WF_ERR_DTYPE, "wf_idiv");
    refused(int_root, WF_ERR_DTYPE, "cast to a float");
    refused(float_bits, WF_ERR_DTYPE, "wf_and");
    refused(signs, WF_ERR_DTYPE, "i32 meets u32");
    refused(sizes, WF_ERR_DTYPE, "sizes");
    refused(no_dtype, WF_ERR_UNSUPPORTED, "unknown");
    refused(wide_const, WF_ERR_DTYPE, "128 does not fit i8");
    refused(odd_const, WF_ERR_DTYPE, "does not fit bool");
}

/* Number with number: computed at once, in double (integer operations in i64). */
static void test_numbers(void **state)
{
    (void)state;
    wf_val third = wf_div(1, 3);
    assert_null(third.h.graph);
    assert_true(third.h.num == 1.0 / 3);
    assert_true(wf_add(0x1p60, 1).h.num == 0x1p60);
    assert_true(wf_idiv(7, -2).h.num == -3);
    assert_true(wf_shl(1, 40).h.num == 0x1p40);
    assert_true(wf_lt(1, 2).h.num == 1 && wf_lt(2, 1).h.num == 0);
    assert_true(wf_select(1, 2.5, 3).h.num == 2.5 && wf_select(0, 2, 3).h.num == 3);
    assert_true(wf_sqrt(9).h.num == 3 && isnan(wf_sqrt(-1).h.num));
    assert_true(wf_exp(0).h.num == 1 && wf_cos(0).h.num == 1);
    assert_true(wf_clamp(5, 0, 3).h.num == 3);
    assert_true(fabs(wf_pow(2, 0.5).h.num - 1.4142135623730951) < 1e-15);
}

/* Operations, numbers among their operands, as members of a structure: without warnings by compilers. */
static void test_members(void **state)
{
    (void)state;
    typedef struct vector {
        wf_val x, y;
    } vector;
    wf_array *a = wf_array_arange(ctx, WF_F64, 4, 1, 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
    vector v = { wf_read(g, a, 0), wf_read(g, a, 3) }, w = { .x = wf_sub(5, v.y), .y = wf_mul(v.x, 2) };
    wf_write(g, a, wf_add(wf_mul(w.x, 10), w.y), 1);
    OK(ctx, wf_run(g));
    double got[4];
    OK(ctx, wf_download(a, got, sizeof got));
    assert_true(got[1] == 12);
    wf_release(a);
}

static int set_up(void **state)
{
    (void)state;
    ctx = test_context(WF_CPU, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation), cmocka_unit_test(test_every_tail),
        cmocka_unit_test(test_every_cast),      cmocka_unit_test(test_cast_values),
        cmocka_unit_test(test_dtypes_meet),     cmocka_unit_test(test_refused_operands),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_members),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
