/* test_complex_products.c - products of complex numbers, whose real and imaginary parts depend on each other: exact
 * products over any axes of any layout and dtype, beside other reductions and in later stages; reduced variables with
 * initial value, conditions and custom joins; operator text. Every vector width, the interpreter and any number of
 * threads give the same bits.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include <complex.h>
#include "weft/functions.h"

typedef double complex number;
static const wf_dtype pairs[] = { WF_C32, WF_C64, WF_C128 };

/* Units, some with a factor of 2 or 1/2, and some numbers on the diagonal: every product is exact in f16. */
static number unit(int64_t i)
{
    static const number units[] = { 1, I, -1, -I };
    number z = units[(i * 2654435761u >> 7) % 4];
    return i % 64 == 5 ? 2 * z : i % 64 == 37 ? z / 2 : i % 1024 == 100 ? z * (1 + I) : z;
}

static wf_array *units(wf_dtype t, wf_shape shape, bool turned)
{
    wf_array *a = wf_empty(ctx, WF_C128, shape), *b = NULL;
    int64_t n = wf_array_count(a);
    number *x = malloc((size_t)n * sizeof *x + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = unit(i);
    OK(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    free(x);
    wf_graph *g = wf_begin(ctx);
    b = wf_keep(wf_cast(wf_in(g, a), t));
    OK(ctx, wf_run(g));
    wf_release(a);
    if (!turned)
        return b;
    int order[] = { 2, 0, 1 };
    wf_array *view = wf_view_permute(b, order);
    wf_release(b);
    return view;
}

static number *numbers(wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    wf_array *wide = wf_keep(wf_cast(wf_in(g, a), WF_C128));
    OK(ctx, wf_run(g));
    number *x = contents(wide);
    wf_release(wide);
    return x;
}

static void expect_same(wf_array *a, const number *want, const char *what)
{
    number *got = numbers(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (creal(got[i]) != creal(want[i]) || cimag(got[i]) != cimag(want[i]))
            fail_msg("%s: element %d is %g %+g i, not %g %+g i", what, (int)i, creal(got[i]), cimag(got[i]),
                     creal(want[i]), cimag(want[i]));
    free(got);
}

/* Of rank 3; `out` has the kept shape. */
static void plain(const number *x, wf_shape s, wf_axes axes, number first, number *out)
{
    int64_t d[3], kept[3];
    for (int k = 0; k < 3; ++k)
        kept[k] = axes >> k & 1 ? 1 : s.dim[k];
    for (int64_t i = 0; i < kept[0] * kept[1] * kept[2]; ++i)
        out[i] = first;
    for (d[0] = 0; d[0] < s.dim[0]; ++d[0])
        for (d[1] = 0; d[1] < s.dim[1]; ++d[1])
            for (d[2] = 0; d[2] < s.dim[2]; ++d[2]) {
                int64_t at = 0;
                for (int k = 0; k < 3; ++k)
                    at = at * kept[k] + (axes >> k & 1 ? 0 : d[k]);
                out[at] *= *x++;
            }
}

/* wf_reduce, the library, and a reduced variable, over these axes. */
static void check(wf_dtype t, wf_shape shape, bool turned, wf_axes axes)
{
    wf_array *a = units(t, shape, turned);
    wf_shape s = wf_array_shape(a), kept = s;
    for (int k = 0; k < 3; ++k)
        kept.dim[k] = axes >> k & 1 ? 1 : s.dim[k];
    wf_array *third = wf_empty(ctx, WF_C128, kept);
    int64_t results = wf_array_count(third);
    number *x = numbers(a), *want = malloc((size_t)results * sizeof *want + 1);
    assert_non_null(want);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), p = wf_reduce(WF_JOIN_MUL, v, axes);
    wf_array *first = wf_keep(p), *sum = wf_keep(wf_sum(v, axes));
    wf_array *turn = wf_keep(wf_mul(v, wf_conj(p))), *only = wf_keep(wf_real(wf_reduce(WF_JOIN_MUL, wf_conj(v), axes)));
    OK(ctx, wf_run(g));
    wf_array *second = wf_array_prod(a, axes), *alone = wf_array_sum(a, axes);
    g = wf_begin(ctx, .shape = s, .reduce = axes);
    wf_var z = wf_reduced(g, t, wf_const_complex(g, WF_C128, 0, 2), WF_JOIN_MUL),
           count = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
    wf_set(z, wf_mul(z, wf_in(g, a)));
    wf_inc(count, 1);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, third, wf_mul(z, wf_gt(count, -1)));
    OK(ctx, wf_run(g));
    plain(x, s, axes, 2 * I, want);
    expect_same(third, want, "wf_reduced");
    plain(x, s, axes, 1, want);
    assert_int_equal(wf_array_dtype(first), t);
    expect_same(first, want, "wf_reduce");
    expect_same(second, want, "wf_array_prod");
    number *in = numbers(turn), *other = numbers(sum), *real = numbers(only);
    expect_same(alone, other, "a sum beside it");
    int64_t i = 0;
    for (int64_t p0 = 0; p0 < s.dim[0]; ++p0)
        for (int64_t p1 = 0; p1 < s.dim[1]; ++p1)
            for (int64_t p2 = 0; p2 < s.dim[2]; ++p2, ++i) {
                int64_t at =
                    ((axes & 1 ? 0 : p0) * kept.dim[1] + (axes & 2 ? 0 : p1)) * kept.dim[2] + (axes & 4 ? 0 : p2);
                assert_true(in[i] == x[i] * conj(want[at]));
                assert_true(creal(real[at]) == creal(want[at]));
            }
    wf_array *all[] = { a, first, second, third, sum, alone, turn, only };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
    free(x), free(want), free(in), free(other), free(real);
}

static void test_axes(void **state)
{
    (void)state;
    for (int t = 0; t < 3; ++t)
        for (wf_axes axes = 1; axes < 8; axes += TEST_EVERY)
            for (int turned = 0; turned < 2; ++turned) {
                check(pairs[t], WF_SHAPE(3, 5, 7), turned, axes);
                check(pairs[t], WF_SHAPE(2, 40, 33), turned, axes);
            }
    check(WF_C64, WF_SHAPE(1, 1, 1), false, 7);
    check(WF_C64, WF_SHAPE(1, 6, 1), true, 5);  /* axes of extent 1 */
    check(WF_C64, WF_SHAPE(0, 3, 4), false, 1); /* no elements: 1 */
    check(WF_C64, WF_SHAPE(0, 3, 4), false, 7);
    check(WF_C64, WF_SHAPE(0, 3, 4), false, 2);
    check(WF_C64, WF_SHAPE(1, 300, 400), false, 7);
    check(WF_C128, WF_SHAPE(40, 2, 300), true, 5);
}

/* In conditions, loops, beside a custom join; only some of the points. */
static void test_variables(void **state)
{
    (void)state;
    enum { N = 777 };
    wf_array *a = units(WF_C64, WF_SHAPE(N), false), *out[3], *most = wf_empty(ctx, WF_I64, WF_SCALAR);
    number *x = numbers(a), want[3] = { 1, 1, I };
    for (int i = 0; i < N; ++i) {
        if (i % 3 == 0)
            want[0] *= x[i];
        for (int k = 0; k < i % 4; ++k)
            want[1] *= -x[i] * (k % 2 ? 1 : I), want[2] += x[i];
    }
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .reduce = WF_ALL_AXES);
    wf_val i = wf_index(g, 0), v = wf_in(g, a), k;
    wf_var z = wf_reduced(g, WF_C64, 1, WF_JOIN_MUL), last = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM),
           w = wf_reduced(g, WF_C128, 1, WF_JOIN_MUL),
           sum = wf_reduced(g, WF_C128, wf_const_complex(g, WF_C64, 0, 1), WF_JOIN_ADD);
    wf_set(last, wf_max(last, i));
    WF_IF (g, wf_eq(wf_mod(i, 3), 0)) {
        wf_set(z, wf_mul(v, z));
    }
    WF_END(g);
    WF_FOR (g, k, 0, wf_mod(i, 4), 1) {
        wf_inc(sum, v);
        wf_set(w, wf_neg(wf_mul(w, v)));
        WF_IF (g, wf_eq(wf_mod(k, 2), 0)) {
            wf_set(w, wf_mul(w, wf_const_complex(g, WF_C64, 0, 1)));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_JOIN);
    wf_set(last, wf_max(last, wf_get(wf_other(last))));
    wf_section(g, WF_SECTION_POST);
    for (int p = 0; p < 3; ++p)
        wf_out(g, out[p] = wf_empty(ctx, WF_C64, WF_SCALAR), p == 0 ? wf_get(z) : wf_get(p == 1 ? w : sum));
    wf_out(g, most, last);
    OK(ctx, wf_run(g));
    for (int p = 0; p < 3; ++p) {
        expect_same(out[p], &want[p], "in blocks");
        wf_release(out[p]);
    }
    assert_int_equal(scalar_i64(most), N - 1);
    wf_release(a), wf_release(most);
    free(x);
}

static void test_text(void **state)
{
    (void)state;
    wf_array *z = units(WF_C64, WF_SHAPE(6, 5), false), *all = wf_empty(ctx, WF_C64, WF_SHAPE(1, 1)),
             *rows = wf_empty(ctx, WF_C64, WF_SHAPE(6, 1));
    OK(ctx, wf_text(ctx, "all = prod(z); rows = prod(z; -1)", z, all, rows));
    number *x = numbers(z), total = 1, row[6] = { 1, 1, 1, 1, 1, 1 };
    for (int i = 0; i < 30; ++i)
        total *= x[i], row[i / 5] *= x[i];
    expect_same(all, &total, "prod");
    expect_same(rows, row, "prod of rows");
    wf_release(z), wf_release(all), wf_release(rows);
    free(x);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = units(WF_C64, WF_SHAPE(8), false);
    for (int k = 0; k < 6; ++k) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8), .reduce = WF_ALL_AXES);
        wf_var z = wf_reduced(g, WF_C64, 1, k == 3 ? WF_JOIN_MAX : WF_JOIN_MUL);
        wf_val v = wf_in(g, a);
        if (k == 0)
            wf_set(z, wf_add(z, v));
        else if (k == 1)
            wf_set(z, wf_mul(z, z));
        else if (k == 2)
            wf_set(z, v);
        else if (k == 4) {
            wf_set(z, wf_mul(z, v));
            wf_section(g, WF_SECTION_JOIN);
        } else if (k == 5) {
            wf_section(g, WF_SECTION_POST);
            wf_write(g, a, z, 0);
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "not in section WF_SECTION_POST");
            continue;
        }
        if (k == 3)
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "WF_JOIN_ADD and WF_JOIN_MUL only");
        else
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, k == 4 ? "WF_SECTION_JOIN" : "or wf_inc [operation %");
    }
    wf_graph *g = wf_begin(ctx);
    (void)wf_keep(wf_reduce(WF_JOIN_MIN, wf_in(g, a), 1));
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "WF_JOIN_ADD and WF_JOIN_MUL only");
    wf_release(a);
}

/* The bits of products that are not exact. */
static void bits_of(const char *isa, int threads, wf_device device, wf_axes axes, void *out, size_t bytes)
{
    if (isa)
        setenv("WEFT_ISA", isa, 1);
    wf_context *other = test_context(device, threads);
    unsetenv("WEFT_ISA");
    enum { H = 37, W = 2003 };
    wf_graph *g = wf_begin(other, .shape = WF_SHAPE(H, W), .serial_below = 1);
    wf_array *angle = wf_empty(other, WF_C64, WF_SHAPE(H, W));
    wf_val i = wf_add(wf_mul(wf_index(g, 0), 31), wf_index(g, 1)), t = wf_cast(i, WF_F32);
    wf_out(g, angle, wf_complex(wf_sin(t), wf_cos(t)));
    OK(other, wf_run(g));
    g = wf_begin(other, .serial_below = 1);
    wf_array *p = wf_keep(wf_cast(wf_reduce(WF_JOIN_MUL, wf_cast(wf_in(g, angle), WF_C128), axes), WF_C128));
    OK(other, wf_run(g));
    assert_int_equal((size_t)wf_array_count(p) * 16, bytes);
    OK(other, wf_download(p, out, bytes));
    wf_release(angle), wf_release(p);
    wf_context_free(other);
}

static void test_same_bits(void **state)
{
    (void)state;
    static char want[2003 * 16], got[2003 * 16];
    static const char *const widths[] = { "sse4.2", "avx2", "avx512" };
    for (wf_axes axes = 1; axes < 4; ++axes) {
        size_t bytes = 16u * (axes == 1 ? 2003 : axes == 2 ? 37 : 1);
        bits_of(NULL, 1, WF_INTERP, axes, want, bytes);
        for (int w = 0; w < 3; ++w)
            for (int threads = 1; threads < 8; threads += threads < 3 ? 1 : 4) {
                bits_of(widths[w], threads, WF_CPU, axes, got, bytes);
                assert_memory_equal(want, got, bytes);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_axes), cmocka_unit_test(test_variables),
                                        cmocka_unit_test(test_text), cmocka_unit_test(test_mistakes) };
    const struct CMUnitTest bits[] = { cmocka_unit_test(test_same_bits) };
    return RUN_ON_ALL(tests) + (is_chosen("cpu") ? cmocka_run_group_tests_name("bits", bits, NULL, NULL) : 0);
}
