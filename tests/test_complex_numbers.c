/* test_complex_numbers.c - complex numbers made of two C numbers, in C and in operator text. They take the width of
 * the other operand, the imaginary part is exact, and operations without complex meaning report an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "weft/weft.h"
#include "weft_test.h"

static wf_context *ctx;

static int set_up(void **state)
{
    (void)state;
    ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .flags_on = WF_FLAG_NO_DISK_CACHE });
    return wf_last_status(ctx) != WF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

static void is_pair(wf_graph *g, wf_val v, double re, double im)
{
    double got[2];
    wf_array *out = wf_full(ctx, WF_C128, WF_SCALAR, 7);
    wf_out(g, out, v);
    OK(ctx, wf_run(g));
    OK(ctx, wf_download(out, got, sizeof got));
    assert_memory_equal(&got[0], &re, sizeof re);
    assert_memory_equal(&got[1], &im, sizeof im);
    wf_release(out);
}

static void dtype_of_the_other_operand(void **state)
{
    (void)state;
    static const wf_dtype dtype[][2] = { { WF_F16, WF_C32 },  { WF_BF16, WF_C64 }, { WF_F32, WF_C64 },
                                         { WF_F64, WF_C128 }, { WF_C32, WF_C32 },  { WF_C64, WF_C64 },
                                         { WF_C128, WF_C128 } };
    for (size_t i = 0; i < sizeof dtype / sizeof *dtype; i++) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_const(g, dtype[i][0], 3), right = wf_mul(x, wf_complex(0, 1)), left = wf_sub(wf_complex(1, 2), x);
        assert_int_equal(wf_val_dtype(right), dtype[i][1]);
        assert_int_equal(wf_val_dtype(left), dtype[i][1]);
        assert_int_equal(wf_val_dtype(wf_eq(x, wf_complex(3, 0))), WF_BOOL);
        is_pair(g, wf_add(right, left), -2, 5);
    }
    wf_graph *g = wf_begin(ctx);
    wf_val yes = wf_lt(wf_const(g, WF_F32, 0), 1);
    assert_int_equal(wf_val_dtype(wf_select(yes, wf_complex(0.5, 1), 2)), WF_C64); /* exact in f32, or not */
    assert_int_equal(wf_val_dtype(wf_select(yes, 2, wf_complex(0.5, 0.1))), WF_C128);
    wf_drop(g);
}

static void numbers(void **state)
{
    (void)state;
    static const double parts[] = { 0, 1, -1, 0.1, -0.0, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308, INFINITY };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { /* kept to the bit */
        is_pair(wf_begin(ctx), wf_complex(1, parts[i]), 1, parts[i]);
        is_pair(wf_begin(ctx), wf_complex(parts[i], -parts[i]), parts[i], -parts[i]);
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        wf_val v = wf_imag(wf_complex(1, copysign(NAN, sign)));
        assert_true(v.h.graph == NULL && isnan(v.h.num));
    }
    is_pair(wf_begin(ctx), wf_mul(wf_complex(1, 2), wf_complex(3, 4)), -5, 10);
    is_pair(wf_begin(ctx), wf_mul(2, wf_complex(0, 1)), 0, 2);
    is_pair(wf_begin(ctx), wf_conj(wf_polar(2, 0)), 2, -0.0);
    is_pair(wf_begin(ctx), wf_select(0, 1, wf_complex(2, 3)), 2, 3);
    is_pair(wf_begin(ctx), wf_cast(wf_complex(2, 3), WF_C64), 2, 3);
    assert_true(wf_abs(wf_complex(3, -4)).h.num == 5);
    assert_true(wf_real(wf_complex(3, -4)).h.num == 3);
    assert_true(wf_eq(wf_complex(3, -4), wf_complex(3, -4)).h.num == 1);
    assert_true(fabs(wf_phase(wf_complex(0, 2)).h.num - 1.5707963267948966) < 1e-15);
    assert_true(fabs(wf_real(wf_exp(wf_complex(0, 3))).h.num - cos(3)) < 1e-15);
    assert_true(fabs(wf_imag(wf_sin(wf_complex(0, 3))).h.num - sinh(3)) < 1e-14);
    assert_true(wf_imag(wf_round(wf_complex(1.5, -2.5))).h.num == -2);
    assert_int_equal(wf_val_dtype(wf_complex(1, 2)), WF_NONE);
    assert_int_equal(wf_val_shape(wf_reverse(wf_complex(1, 2), 0)).rank, 0); /* views of numbers are these numbers */
    assert_null(wf_keep(wf_complex(1, 2)));
}

static void refused(wf_graph *g, wf_val v, const char *says)
{
    wf_array *out = wf_full(ctx, WF_F32, WF_SCALAR, 7);
    wf_out(g, out, v);
    if (wf_run(g) != WF_ERR_DTYPE || !strstr(wf_last_message(ctx), says))
        fail_msg("%s", wf_last_message(ctx));
    wf_clear_error(ctx);
    wf_release(out);
}

static void mistakes(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    refused(g, wf_complex(1, 2), "does not fit f32");
    g = wf_begin(ctx);
    refused(g, wf_mul(wf_const(g, WF_I32, 1), wf_complex(1, 2)), "meets i32");
    g = wf_begin(ctx);
    refused(g, wf_lt(wf_const(g, WF_F32, 1), wf_complex(1, 2)), "complex");
    g = wf_begin(ctx);
    refused(g, wf_select(wf_complex(1, 2), wf_const(g, WF_F32, 1), 2), "complex");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    WF_IF (g, wf_complex(1, 2)) {
        (void)g;
    }
    refused(g, wf_index(g, 0), "complex");
}

static void text(void **state)
{
    (void)state;
    float z[6] = { 0, 1, 1, 1, 2, 1 }, got[6];
    double one[2];
    const float c = 0.5f, s = 0.8f;
    const wf_val w = wf_complex(-1, 2);
    const char *want[] = { "out" };
    wf_array *a = wf_empty(ctx, WF_C64, WF_SHAPE(3)), *r = wf_full(ctx, WF_F32, WF_SHAPE(3), 2), *out;
    static const struct {
        const char *text;
        double re, im; /* of the last element */
        wf_dtype dtype;
    } cases[] = { { "out = a*complex(0, 1)", -1, 2, WF_C64 },
                  { "out = a*complex(c, s)", 0.2, 2.1, WF_C64 },
                  { "out = r + complex(0, 1)*2", 2, 2, WF_C64 },
                  { "out = i32(r)*complex(0, 1)", 0, 2, WF_C128 },
                  { "out = u8(r)*complex(0, 1)", 0, 2, WF_C64 },
                  { "out = (r > 0)*complex(0, 1)", 0, 1, WF_C64 },
                  { "out = complex(1, 2)", 1, 2, WF_C64 },
                  { "out = sign(3*a) + atan(complex(0, 0)*r)", 0.89442719099991588, 0.44721359549995794, WF_C64 },
                  { "out = -polar(3, 0)**2", -9, 0, WF_C64 },
                  { "out = w", -1, 2, WF_C64 },
                  { "out = x < 2 ? 0 : complex(1, 2)", 1, 2, WF_C64 },
                  { "out = 0 ? complex(1, 2) : r", 2, 0, WF_C64 },
                  { "out = c128(complex(c, 2))*a", -1, 4.5, WF_C128 },
                  { "t = complex(0, 1); t *= t; out = r + real(t)", 1, 0, WF_F32 },
                  { "c64 t = complex(1, 2); if (x > 0) t *= complex(0, 1); out = t", -2, 1, WF_C64 },
                  { "out = !complex(0, 0) && a != complex(0, 0)", 1, 0, WF_BOOL } };
    wf_upload(a, z, sizeof z);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (wf_text_create(ctx, cases[i].text, WF_NAMED(a, r, c, s, w), 0, want, 1, &out) != WF_OK)
            fail_msg("%s: %s", cases[i].text, wf_last_message(ctx));
        assert_int_equal(wf_array_count(out), 3);
        wf_array *last = wf_view_at(out, 0, 2), *wide = wf_empty(ctx, WF_C128, WF_SCALAR);
        OK(ctx, wf_text(ctx, "wide = c128(last)", wide, last));
        OK(ctx, wf_download(wide, one, sizeof one));
        if (wf_array_dtype(out) != cases[i].dtype || fabs(one[0] - cases[i].re) > 1e-6 ||
            fabs(one[1] - cases[i].im) > 1e-6)
            fail_msg("%s: %s %g %+gi", cases[i].text, wf_dtype_name(wf_array_dtype(out)), one[0], one[1]);
        wf_release(last);
        wf_release(wide);
        wf_release(out);
    }
    OK(ctx, wf_text(ctx, "a = a*complex(c, s)", a, c, s));
    OK(ctx, wf_download(a, got, sizeof got));
    assert_true(fabsf(got[0] + 0.8f) < 1e-6f && fabsf(got[1] - 0.5f) < 1e-6f);
    static const char *const wrong[] = { "out = r < complex(1, 2)",        "out = complex(1, 2) < 3",
                                         "out = erf(complex(1, 2))",       "out = complex(1, 2) % 2",
                                         "out = max(complex(1, 2), 1)",    "out = r[complex(1, 2)]",
                                         "f32 t = complex(1, 2); out = t", "out = complex(complex(1, 2), 3)",
                                         "out = f32(complex(1, 2))" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wf_text_create(ctx, wrong[i], WF_NAMED(r), 0, want, 1, &out) != WF_ERR_DTYPE)
            fail_msg("%s: %s", wrong[i], wf_last_message(ctx));
        wf_clear_error(ctx);
    }
    wf_release(a);
    wf_release(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(dtype_of_the_other_operand), cmocka_unit_test(numbers),
                                        cmocka_unit_test(mistakes), cmocka_unit_test(text) };
    return cmocka_run_group_tests_name("complex numbers", tests, set_up, tear_down);
}
