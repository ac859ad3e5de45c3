/* test_complex.c - complex numbers: every operation beside <complex.h> in long double, special values, the same bits
 * from interpreter, processor and constant folding, reductions, promotion, memory in any layout. */
#include "wide_complex.h"

static const wf_dtype pairs[] = { WF_C32, WF_C64, WF_C128 };

/* ---- the operations ---- */
typedef enum operation {
    ADD,
    SUB,
    MUL,
    DIV,
    POW,
    POLAR,
    NEG,
    CONJ,
    SQRT,
    EXP,
    LOG,
    RCP,
    SELECT,
    SWAP,
    OPERATIONS
} operation;
static const char *const names[] = { "add",  "sub",  "mul", "div", "pow", "polar",  "neg",
                                     "conj", "sqrt", "exp", "log", "rcp", "select", "swap" };

static wf_val record(operation op, wf_val x, wf_val y)
{
    switch (op) {
    case ADD:
        return wf_add(x, y);
    case SUB:
        return wf_sub(x, y);
    case MUL:
        return wf_mul(x, y);
    case DIV:
        return wf_div(x, y);
    case POW:
        return wf_pow(x, y);
    case POLAR:
        return wf_polar(wf_real(x), wf_imag(y));
    case NEG:
        return wf_neg(x);
    case CONJ:
        return wf_conj(x);
    case SQRT:
        return wf_sqrt(x);
    case EXP:
        return wf_exp(x);
    case LOG:
        return wf_log(x);
    case RCP:
        return wf_rcp(x);
    case SELECT:
        return wf_select(wf_eq(x, y), y, x);
    default:
        return wf_complex(wf_imag(x), wf_real(y));
    }
}

static wide reference(operation op, wide x, wide y)
{
    switch (op) {
    case ADD:
        return x + y;
    case SUB:
        return x - y;
    case MUL:
        return x * y;
    case DIV:
        return x / y;
    case POW:
        return cpowl(x, y);
    case POLAR:
        return make((double)0, 0) + creall(x) * cexpl(make(0, 1) * cimagl(y));
    case NEG:
        return -x;
    case CONJ:
        return conjl(x);
    case SQRT:
        return csqrtl(x);
    case EXP:
        return cexpl(x);
    case LOG:
        return clogl(x);
    case RCP:
        return make(1, 0) / x;
    case SELECT:
        return x;
    default:
        return make((double)cimagl(x), (double)creall(y));
    }
}

static double draw(wf_dtype t, uint64_t *random)
{
    uint64_t bits = test_random(random);
    double m = ldexp((double)(bits >> 11 | 1), -53), top = t == WF_C32 ? 5 : t == WF_C64 ? 30 : 250;
    if (bits & 1)
        m *= exp2((double)(bits >> 1 & 1023) / 1024 * 2 * top - top);
    m = bits & 2 ? -m : m;
    uint64_t narrow = 0;
    wf__eval_cast(part(t), WF_F64, &narrow, &m, 1);
    wf__eval_cast(WF_F64, part(t), &m, &narrow, 1);
    return m;
}

enum { N = 4000 };

/* Computes all operations on one device. */
static void compute(wf_device device, wf_array *a, wf_array *b, wf_array **out)
{
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_val x = wf_in(g, a), y = wf_in(g, b);
    for (int op = 0; op < OPERATIONS; ++op)
        out[op] = wf_keep(record((operation)op, x, y));
    OK(ctx, wf_run(g));
}

static void expect_equal(const char *what, wf_dtype t, wf_array *a, wf_array *b)
{
    void *x = contents(a), *y = contents(b);
    assert_int_equal(wf_array_dtype(a), t);
    int64_t at = first_difference(part(t), x, y, 2 * wf_array_count(a));
    if (at >= 0) {
        print_error("%s %s: the devices differ at element %lld\n", wf_dtype_name(t), what, (long long)at / 2);
        fail();
    }
    free(x);
    free(y);
}

static void expect_near(operation op, wf_dtype t, const double *x, const double *y, wf_array *result)
{
    const int64_t n = wf_array_count(result);
    double *got = as_f64(result), eps = t == WF_C32 ? 0x1p-11 : t == WF_C64 ? 0x1p-24 : 0x1p-53;
    double tiny = t == WF_C32   ? 0x1p-24
                  : t == WF_C64 ? 0x1p-149
                                : 0x1p-1074,
           most = t == WF_C32   ? 65504
                  : t == WF_C64 ? 0x1.fffffep127
                                : 0x1.fffffffffffffp1023;
    double usual = op == EXP ? 6 : op == LOG ? 5 : op == MUL ? 3 : op == DIV || op == RCP ? 4 : op == POLAR ? 3 : 2.5;
    for (int64_t i = 0; i < n; ++i) {
        wide want = reference(op, make(x[2 * i], x[2 * i + 1]), make(y[2 * i], y[2 * i + 1]));
        long double re = creall(want), im = cimagl(want), size = cabsl(want);
        if (!(fabsl(re) < (long double)most / 2 && fabsl(im) < (long double)most / 2))
            continue;
        double bound = usual;
        if (op == POW) /* the error of the logarithm, in f32 for c32, else in f64, times the exponent */
            bound += 8 * (double)cabsl(make(y[2 * i], y[2 * i + 1]) * clogl(make(x[2 * i], x[2 * i + 1]))) *
                     (t == WF_C32 ? 0x1p-24 : 0x1p-53) / eps;
        long double off = cabsl(want - make(got[2 * i], got[2 * i + 1]));
        if (!(off <= (long double)bound * (long double)eps * size + (long double)bound * (long double)tiny)) {
            print_error("%s %s: of %a%+ai, %a%+ai: %a%+ai, not %La%+Lai\n", wf_dtype_name(t), names[op], x[2 * i],
                        x[2 * i + 1], y[2 * i], y[2 * i + 1], got[2 * i], got[2 * i + 1], re, im);
            fail();
        }
        /* what is exact up to a rounding, part by part */
        bool sharp = t != WF_C128 && (op == DIV || op == SQRT || op == ADD || op == SUB || op == RCP || op == LOG);
        long double each[2] = { re, im };
        for (int k = 0; sharp && k < 2; ++k)
            if (!(fabsl(each[k] - (long double)got[2 * i + k]) <=
                  2 * (long double)eps * fabsl(each[k]) + 2 * (long double)tiny)) {
                print_error("%s %s, part %d: of %a%+ai, %a%+ai: %a, not %La\n", wf_dtype_name(t), names[op], k,
                            x[2 * i], x[2 * i + 1], y[2 * i], y[2 * i + 1], got[2 * i + k], each[k]);
                fail();
            }
    }
    free(got);
}

static void test_operations(void **state)
{
    (void)state;
    for (int k = 0; k < 3; ++k) {
        wf_dtype t = pairs[k];
        double *x = malloc(2 * N * sizeof *x), *y = malloc(2 * N * sizeof *y);
        assert_true(x && y);
        uint64_t random = 5;
        for (int i = 0; i < 2 * N; ++i) {
            x[i] = draw(t, &random);
            y[i] = draw(t, &random);
            if (i % 16 > 13 && i & 1) { /* cancelling, near the unit circle */
                double angle = x[i - 1], c = cos(angle), s = sin(angle);
                uint64_t narrow = 0;
                wf__eval_cast(part(t), WF_F64, &narrow, &c, 1);
                wf__eval_cast(WF_F64, part(t), &x[i - 1], &narrow, 1);
                narrow = 0;
                wf__eval_cast(part(t), WF_F64, &narrow, &s, 1);
                wf__eval_cast(WF_F64, part(t), &x[i], &narrow, 1);
            }
        }
        wf_array *a = from_f64(t, WF_SHAPE(N), x), *b = from_f64(t, WF_SHAPE(N), y), *out[2][OPERATIONS];
        compute(WF_INTERP, a, b, out[0]);
        compute(WF_CPU, a, b, out[1]);
        for (int op = 0; op < OPERATIONS; ++op) {
            expect_equal(names[op], t, out[0][op], out[1][op]);
            expect_near((operation)op, t, x, y, out[0][op]);
            wf_release(out[0][op]);
            wf_release(out[1][op]);
        }
        wf_release(a);
        wf_release(b);
        free(x);
        free(y);
    }
}

/* Parts near the ends of the range of f64: intermediate results neither overflow nor underflow. */
static void test_range(void **state)
{
    (void)state;
    const double big = 0x1p1023, small = 0x1p-1070;
    const double x[] = { big,   big,   small, small,     big,       -small,    1e-300,
                         1e300, small, 0,     0x1p-1074, 0x1p-1074, 3 * small, 4 * small };
    const double y[] = { big, -big, small, -small, big, big, 1e-300, 1e-300, small, small, 0x1p-1074, 0, small, 0 };
    enum { COUNT = sizeof x / sizeof *x / 2 };
    wf_array *a = from_f64(WF_C128, WF_SHAPE(COUNT), x), *b = from_f64(WF_C128, WF_SHAPE(COUNT), y);
    for (int d = 0; d < 2; ++d) {
        wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
        wf_val p = wf_in(g, a), q = wf_in(g, b);
        wf_array *size = wf_keep(wf_abs(p)), *ratio = wf_keep(wf_div(p, q)), *root = wf_keep(wf_sqrt(p)),
                 *log_ = wf_keep(wf_log(p));
        OK(ctx, wf_run(g));
        expect_near(DIV, WF_C128, x, y, ratio);
        expect_near(SQRT, WF_C128, x, y, root);
        expect_near(LOG, WF_C128, x, y, log_);
        double *s = contents(size);
        assert_int_equal(wf_array_dtype(size), WF_F64);
        for (int i = 0; i < COUNT; ++i) {
            long double want = hypotl((long double)x[2 * i], (long double)x[2 * i + 1]);
            assert_true(fabsl((long double)s[i] - want) <= 2 * 0x1p-53L * want + 0x1p-1074L ||
                        want > 0x1.fffffffffffffp1023L);
        }
        free(s);
        wf_array *all[] = { size, ratio, root, log_ };
        for (int i = 0; i < 4; ++i)
            wf_release(all[i]);
    }
    wf_release(a);
    wf_release(b);
}

static const double special[] = { 0.0, -0.0, 1, -1, 2.5, INFINITY, -INFINITY, NAN, 0x1p-1074, 0x1p1023 };
enum { S = sizeof special / sizeof *special };

/* All pairs of special parts: interpreter, processor and constant folding agree, for every dtype and operation. */
static void test_special_values(void **state)
{
    (void)state;
    static double x[2 * S * S * S * S], y[2 * S * S * S * S];
    int n = 0;
    for (int i = 0; i < S * S * S * S; ++i) {
        x[2 * n] = special[i % S], x[2 * n + 1] = special[i / S % S];
        y[2 * n] = special[i / S / S % S], y[2 * n++ + 1] = special[i / S / S / S];
    }
    for (int k = 0; k < 3; ++k) {
        wf_dtype t = pairs[k];
        wf_array *a = from_f64(t, WF_SHAPE(n), x), *b = from_f64(t, WF_SHAPE(n), y), *out[2][OPERATIONS];
        compute(WF_INTERP, a, b, out[0]);
        compute(WF_CPU, a, b, out[1]);
        double *got[OPERATIONS];
        for (int op = 0; op < OPERATIONS; ++op) {
            expect_equal(names[op], t, out[0][op], out[1][op]);
            got[op] = as_f64(out[0][op]);
        }
        for (int i = 0; i < n; i += 37) { /* constants */
            wf_graph *g = wf_begin(ctx);
            wf_val p = wf_const_complex(g, t, x[2 * i], x[2 * i + 1]),
                   q = wf_const_complex(g, t, y[2 * i], y[2 * i + 1]);
            wf_array *folded[OPERATIONS];
            for (int op = 0; op < OPERATIONS; ++op)
                folded[op] = wf_keep(record((operation)op, p, q));
            OK(ctx, wf_run(g));
            for (int op = 0; op < OPERATIONS; ++op) {
                double *f = as_f64(folded[op]);
                if (first_difference(WF_F64, f, got[op] + 2 * i, 2) >= 0) {
                    print_error("%s %s of %g%+gi, %g%+gi: folded %g%+gi, else %g%+gi\n", wf_dtype_name(t), names[op],
                                x[2 * i], x[2 * i + 1], y[2 * i], y[2 * i + 1], f[0], f[1], got[op][2 * i],
                                got[op][2 * i + 1]);
                    fail();
                }
                free(f);
                wf_release(folded[op]);
            }
        }
        for (int op = 0; op < OPERATIONS; ++op) {
            free(got[op]);
            wf_release(out[0][op]);
            wf_release(out[1][op]);
        }
        wf_release(a);
        wf_release(b);
    }
}

/* One operation of constants. */
static void value(wf_val (*f)(wf_graph *), double re, double im)
{
    wf_graph *g = wf_begin(ctx);
    wf_array *out = wf_keep(f(g));
    OK(ctx, wf_run(g));
    double *got = as_f64(out), want[2] = { re, im };
    if (first_difference(WF_F64, got, want, 2) >= 0) {
        print_error("%g%+gi, not %g%+gi\n", got[0], got[1], re, im);
        fail();
    }
    free(got);
    wf_release(out);
}
static wf_val z(wf_graph *g, double re, double im) { return wf_const_complex(g, WF_C128, re, im); }
static wf_val by_zero(wf_graph *g) { return wf_div(z(g, 1, -1), z(g, 0, 0)); }
static wf_val by_infinity(wf_graph *g) { return wf_div(z(g, 1, 1), z(g, INFINITY, 1)); }
static wf_val infinite(wf_graph *g) { return wf_div(z(g, INFINITY, 1), z(g, 1, 1)); }
static wf_val root(wf_graph *g) { return wf_sqrt(z(g, -4, -0.0)); }
static wf_val zero_power(wf_graph *g) { return wf_pow(z(g, 0, 0), z(g, 0, 0)); }
static wf_val zero_powers(wf_graph *g) { return wf_pow(z(g, 0, 0), z(g, 2, 1)); }
static wf_val scaled(wf_graph *g) { return wf_mul(z(g, INFINITY, 1), 2); }
static wf_val flipped(wf_graph *g) { return wf_sub(1, z(g, 1, 0)); }
static wf_val gone(wf_graph *g) { return wf_exp(z(g, -INFINITY, 3)); }

static void test_values(void **state)
{
    (void)state;
    value(by_zero, INFINITY, -INFINITY);
    value(by_infinity, 0, 0);
    value(infinite, INFINITY, -INFINITY);
    value(root, 0, -2);
    value(zero_power, 1, 0);
    value(zero_powers, 0, 0);
    value(scaled, INFINITY, 2);
    value(flipped, 0, -0.0);
    value(gone, -0.0, 0);
}

static wf_dtype meeting(wf_dtype a, wf_dtype b)
{
    wf_graph *g = wf_begin(ctx);
    wf_dtype t = wf_val_dtype(wf_add(wf_const(g, a, 1), wf_const(g, b, 1)));
    wf_drop(g);
    return t;
}

static void refused(wf_val (*f)(wf_graph *), wf_status status, const char *part_)
{
    wf_graph *g = wf_begin(ctx);
    assert_int_equal(wf_val_dtype(f(g)), WF_NONE);
    REFUSED(ctx, wf_run(g), status, part_);
}
static wf_val less(wf_graph *g) { return wf_lt(z(g, 1, 2), z(g, 1, 2)); }
static wf_val error_function(wf_graph *g) { return wf_erf(z(g, 1, 2)); }
static wf_val narrowed(wf_graph *g) { return wf_cast(z(g, 1, 2), WF_F32); }
static wf_val brain(wf_graph *g) { return wf_complex(wf_const(g, WF_BF16, 1), 2); }
static wf_val whole(wf_graph *g) { return wf_complex(wf_const(g, WF_I32, 1), 2); }
static wf_val largest(wf_graph *g) { return wf_reduce(WF_JOIN_MAX, z(g, 1, 2), WF_ALL_AXES); }

static void test_promotion(void **state)
{
    (void)state;
    assert_int_equal(meeting(WF_C64, WF_F32), WF_C64);
    assert_int_equal(meeting(WF_C64, WF_F64), WF_C128);
    assert_int_equal(meeting(WF_C32, WF_F32), WF_C64);
    assert_int_equal(meeting(WF_C32, WF_BF16), WF_C64);
    assert_int_equal(meeting(WF_I64, WF_C32), WF_C32);
    assert_int_equal(meeting(WF_C64, WF_C128), WF_C128);
    wf_graph *g = wf_begin(ctx);
    wf_val c = wf_const_complex(g, WF_C64, 1, 2);
    assert_int_equal(wf_val_dtype(wf_mul(2, c)), WF_C64);
    assert_int_equal(wf_val_dtype(wf_abs(c)), WF_F32);
    assert_int_equal(wf_val_dtype(wf_phase(c)), WF_F32);
    assert_int_equal(wf_val_dtype(wf_eq(c, 1)), WF_BOOL);
    assert_int_equal(wf_val_dtype(wf_select(wf_eq(c, 1), c, wf_const(g, WF_F32, 1))), WF_C64);
    assert_int_equal(wf_val_dtype(wf_select(wf_eq(c, 1), 1, c)), WF_C64);
    assert_int_equal(wf_val_dtype(wf_isnan(c)), WF_BOOL);
    assert_int_equal(wf_val_dtype(wf_imag(wf_const(g, WF_F16, 1))), WF_F16);
    assert_int_equal(wf_val_dtype(wf_complex(1, wf_const(g, WF_F16, 1))), WF_C32);
    wf_drop(g);
    refused(less, WF_ERR_DTYPE, "complex");
    refused(error_function, WF_ERR_DTYPE, "complex");
    refused(narrowed, WF_ERR_DTYPE, "wf_real");
    refused(brain, WF_ERR_DTYPE, "bf16");
    refused(whole, WF_ERR_DTYPE, "cast to a float");
    refused(largest, WF_ERR_UNSUPPORTED, "WF_JOIN_ADD");
}

/* Conversions between the dtypes, to bool, from reals; comparisons; real and imaginary parts of reals. */
static void test_conversions(void **state)
{
    (void)state;
    const double x[] = { 1.5, -2.5, 0, 0, 0, 1, NAN, 0, 1e6, -1e6 };
    for (int d = 0; d < 2; ++d)
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) {
                wf_array *a = from_f64(pairs[i], WF_SHAPE(5), x);
                wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
                wf_val v = wf_in(g, a), r = wf_real(v);
                wf_array *to = wf_keep(wf_cast(v, pairs[k])), *truth = wf_keep(wf_cast(v, WF_BOOL)),
                         *same = wf_keep(wf_eq(v, v)), *back = wf_keep(wf_complex(wf_real(v), wf_imag(v))),
                         *up = wf_keep(wf_cast(r, pairs[k])), *none = wf_keep(wf_imag(r));
                OK(ctx, wf_run(g));
                double *first = as_f64(a), *p = as_f64(to), *q = as_f64(up);
                for (int e = 0; e < 5; ++e)
                    for (int s = 0; s < 2; ++s) {
                        double want = first[2 * e + s];
                        if (pairs[k] == WF_C32 && fabs(want) > 65504)
                            want = copysign(INFINITY, want);
                        assert_true(same_element(WF_F64, &p[2 * e + s], &want));
                        if (s)
                            want = 0;
                        assert_true(same_element(WF_F64, &q[2 * e + s], &want));
                    }
                uint8_t *t = contents(truth), *s = contents(same);
                assert_memory_equal(t, ((const uint8_t[]){ 1, 0, 1, 1, 1 }), 5);
                assert_memory_equal(s, ((const uint8_t[]){ 1, 1, 1, 0, 1 }), 5);
                expect_equal("parts", pairs[i], a, back);
                char *zero = contents(none);
                for (size_t b = 0; b < 5 * wf_dtype_size(part(pairs[i])); ++b)
                    assert_int_equal(zero[b], 0);
                void *data[] = { first, p, q, t, s, zero };
                wf_array *all[] = { a, to, truth, same, back, up, none };
                for (int j = 0; j < 6; ++j)
                    free(data[j]);
                for (int j = 0; j < 7; ++j)
                    wf_release(all[j]);
            }
}

/* Two parts of one number, in their order, are that number. All other pairs of parts are a new one. */
static void test_pairs_of_parts(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4 }, y[] = { 5, 6, 7, 8 };
    wf_array *a = from_f64(WF_C128, WF_SHAPE(2), x), *b = from_f64(WF_C128, WF_SHAPE(2), y);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), w = wf_in(g, b);
    assert_true(wf_complex(wf_real(v), wf_imag(v)).h.num == v.h.num);
    wf_val pair[] = { wf_complex(wf_real(v), wf_imag(w)), wf_complex(wf_real(v), wf_real(v)),
                      wf_complex(wf_imag(v), wf_imag(v)), wf_complex(wf_imag(v), wf_real(v)) };
    const double want[][4] = { { 1, 6, 3, 8 }, { 1, 1, 3, 3 }, { 2, 2, 4, 4 }, { 2, 1, 4, 3 } };
    wf_array *kept[4];
    for (int i = 0; i < 4; ++i)
        kept[i] = wf_keep(pair[i]);
    OK(ctx, wf_run(g));
    for (int i = 0; i < 4; ++i) {
        double got[4];
        OK(ctx, wf_download(kept[i], got, sizeof got));
        assert_memory_equal(got, want[i], sizeof got);
        wf_release(kept[i]);
    }
    wf_release(a);
    wf_release(b);
}

static void test_reductions(void **state)
{
    (void)state;
    enum { COUNT = 5001 };
    static double x[2 * COUNT];
    for (int i = 0; i < COUNT; ++i) {
        x[2 * i] = i % 7 - 3;
        x[2 * i + 1] = i % 5;
    }
    double re = 0, im = 0;
    for (int i = 0; i < COUNT; ++i)
        re += x[2 * i], im += x[2 * i + 1];
    for (int d = 0; d < 2; ++d)
        for (int k = 0; k < 3; ++k) {
            wf_array *a = from_f64(pairs[k], WF_SHAPE(COUNT), x), *out = wf_empty(ctx, WF_C128, WF_SCALAR);
            wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
            wf_array *kept = wf_keep(wf_cast(wf_sum(wf_in(g, a), WF_ALL_AXES), WF_C128));
            OK(ctx, wf_run(g));
            g = wf_begin(ctx, .reduce = WF_ALL_AXES, .device = d ? WF_CPU : WF_INTERP);
            wf_var total = wf_reduced(g, pairs[k], 0, WF_JOIN_ADD), untouched = wf_reduced(g, pairs[k], 1, WF_JOIN_ADD);
            (void)untouched;
            wf_inc(total, wf_in(g, a));
            wf_section(g, WF_SECTION_POST);
            wf_out(g, out, wf_add(total, wf_mul(0, untouched)));
            OK(ctx, wf_run(g));
            double *p = as_f64(kept), *q = as_f64(out);
            double unit = pairs[k] == WF_C32 ? 8 : 0; /* the sum is rounded to f16 */
            assert_true(fabs(p[0] - re) <= unit && fabs(p[1] - im) <= unit && q[0] == re && q[1] == im);
            free(p);
            free(q);
            wf_release(a);
            wf_release(kept);
            wf_release(out);
        }
}

/* Views, borders, gathers, broadcasting, conversion on store, filling. */
static void test_memory(void **state)
{
    (void)state;
    enum { H = 7, W = 61 };
    static double x[2 * H * W];
    for (int i = 0; i < 2 * H * W; ++i)
        x[i] = i;
    for (int k = 0; k < 3; ++k)
        for (int d = 0; d < 2; ++d) {
            wf_array *a = from_f64(pairs[k], WF_SHAPE(H, W), x), *flip = wf_view_slice(a, 1, W - 1, WF_END_INDEX, -1);
            wf_array *turn = wf_view_permute(a, (const int[]){ 1, 0 }), *out = wf_empty(ctx, WF_C128, WF_SHAPE(H, W));
            wf_array *full = wf_full(ctx, pairs[k], WF_SHAPE(3), 2.5), *count = wf_array_arange(ctx, pairs[k], 3, 1, 2);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .device = d ? WF_CPU : WF_INTERP);
            wf_val i = wf_index(g, 0), j = wf_index(g, 1);
            wf_val v = wf_add(wf_in(g, a), wf_mul(2, wf_in(g, flip)));
            v = wf_add(v, wf_mul(4, wf_read_or(g, turn, 100, wf_add(j, 2), i)));
            v = wf_add(v, wf_mul(8, wf_read_border(g, a, WF_BORDER_PERIODIC, 0, i, wf_sub(j, 3))));
            v = wf_add(v, wf_mul(16, wf_read(g, a, i, wf_mod(wf_mul(j, 5), W))));
            wf_out(g, out, v);
            OK(ctx, wf_run(g));
            double *in = as_f64(a), *got = as_f64(out), *f = as_f64(full), *c = as_f64(count);
            for (int r = 0; r < H && k; ++r) /* exact but for c32 */
                for (int q = 0; q < W; ++q)
                    for (int s = 0; s < 2; ++s) {
#define AT(row, column) in[2 * ((row)*W + (column)) + s]
                        double want = AT(r, q) + 2 * AT(r, W - 1 - q) +
                                      4 * (q + 2 < W ? AT(r, q + 2)
                                           : s       ? 0
                                                     : 100) +
                                      8 * AT(r, (q + W - 3) % W) + 16 * AT(r, q * 5 % W);
                        if (got[2 * (r * W + q) + s] != want) {
                            print_error("%s: (%d, %d): %g, not %g\n", wf_dtype_name(pairs[k]), r, q,
                                        got[2 * (r * W + q) + s], want);
                            fail();
                        }
                    }
            assert_true(f[0] == 2.5 && f[1] == 0 && c[2] == 3 && c[3] == 0);
            void *data[] = { in, got, f, c };
            wf_array *all[] = { a, flip, turn, out, full, count };
            for (int e = 0; e < 4; ++e)
                free(data[e]);
            for (int e = 0; e < 6; ++e)
                wf_release(all[e]);
        }
}

/* Operator text. */
static void test_text(void **state)
{
    (void)state;
    const double x[] = { 3, 4, -1, 0 };
    wf_array *a = from_f64(WF_C64, WF_SHAPE(2), x), *out = wf_empty(ctx, WF_F32, WF_SHAPE(2));
    OK(ctx, wf_text(ctx, "out = abs(a) + real(a * conj(a)) + imag(2 * a) + abs(sum(a) / complex(real(a) * 0 + 2, 0))",
                    out, a));
    float *got = contents(out);
    assert_true(fabsf(got[0] - (5 + 25 + 8 + sqrtf(20) / 2)) < 1e-5f);
    free(got);
    wf_release(a);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),     cmocka_unit_test(test_range),      cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_values),         cmocka_unit_test(test_promotion),  cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_pairs_of_parts), cmocka_unit_test(test_reductions), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, on_default, off);
}
