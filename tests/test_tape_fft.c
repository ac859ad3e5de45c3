/* test_tape_fft.c - derivatives of Fourier, cosine and sine transforms, and of filters, on a tape. All of these are linear.
 *
 * ctest: devices first_tier
 */
#include "tape_linear.h"
#include "weft/fft.h"

/* ---- functions ---- */
static wf_array *forward(const wf_array *x) { return wf_fft_c2c(x, WF_ALL_AXES, false, WF_FFT_BACKWARD); }
static wf_array *inverse(const wf_array *x) { return wf_fft_c2c(x, WF_ALL_AXES, true, WF_FFT_BACKWARD); }
static wf_array *first_axis(const wf_array *x) { return wf_fft_c2c(x, WF_AXES(0), true, WF_FFT_ORTHO); }
static wf_array *to_half(const wf_array *x) { return wf_fft_r2c(x, WF_ALL_AXES, WF_FFT_BACKWARD); }
static wf_array *to_half_scaled(const wf_array *x) { return wf_fft_r2c(x, WF_AXES(1), WF_FFT_FORWARD); }
static wf_array *to_even(const wf_array *x) { return wf_fft_c2r(x, -1, WF_ALL_AXES, WF_FFT_BACKWARD); }
static wf_array *to_odd(const wf_array *x)
{
    const wf_shape shape = wf_array_shape(x);
    return wf_fft_c2r(x, 2 * shape.dim[shape.rank - 1] - 1, WF_ALL_AXES, WF_FFT_NONE);
}
static wf_array *there_and_back(const wf_array *x)
{
    const wf_shape shape = wf_array_shape(x);
    wf_array *half = wf_fft_r2c(x, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *y = wf_fft_c2r(half, shape.dim[shape.rank - 1], WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_release(half);
    return y;
}

/* In place, after a copy that the tape follows. */
static wf_array *in_place(const wf_array *x)
{
    wf_array *y = wf_array_copy(x);
    OK(ctx, wf_fft_into(y, y, WF_ALL_AXES, false, WF_FFT_BACKWARD));
    OK(ctx, wf_fft_into(y, y, WF_AXES(1), true, WF_FFT_FORWARD));
    return y;
}
/* Into every second column of an array. */
static wf_array *into_view(const wf_array *x)
{
    wf_shape shape = wf_array_shape(x);
    shape.dim[1] *= 2;
    wf_array *y = wf_full(ctx, wf_array_dtype(x), shape, 0), *view = wf_view_slice(y, 1, 0, shape.dim[1], 2);
    OK(ctx, wf_fft_into(view, x, WF_ALL_AXES, false, WF_FFT_BACKWARD));
    wf_release(view);
    return y;
}

static void shade(const wf_site *h)
{
    wf_val last = wf_cast(h->index[h->rank - 1], WF_F64);
    wf_set(h->out[0], wf_mul(wf_get(h->in[0]), wf_complex(wf_exp(wf_mul(last, -0.3)), wf_mul(last, 0.1))));
}
static wf_array *filtered(const wf_array *x)
{
    wf_array *y = wf_like(x);
    OK(ctx, wf_fft_filter(y, x, WF_ALL_AXES, shade, NULL));
    return y;
}
static wf_array *filtered_rows(const wf_array *x)
{
    wf_array *y = wf_like(x);
    OK(ctx, wf_fft_filter(y, x, WF_AXES(1), shade, NULL));
    return y;
}

#define TYPES(f, type)                                                                                       \
    static wf_array *f##type(const wf_array *x) { return wf_##f(x, type, WF_AXES(0), false, WF_FFT_ORTHO); } \
    static wf_array *f##type##_back(const wf_array *x) { return wf_##f(x, type, WF_ALL_AXES, true, WF_FFT_BACKWARD); }
TYPES(dct, 1)
TYPES(dct, 2)
TYPES(dct, 3)
TYPES(dct, 4)
TYPES(dst, 1)
TYPES(dst, 2)
TYPES(dst, 4)

static const function functions[] = {
    { "c2c", forward, { .rank = 2, .dim = { 4, 6 } }, true },
    { "c2c of real elements", forward, { .rank = 2, .dim = { 3, 10 } }, false },
    { "inverse c2c", inverse, { .rank = 3, .dim = { 2, 5, 3 } }, true },
    { "inverse c2c of real elements", inverse, { .rank = 1, .dim = { 37 } }, false },
    { "c2c along the first axis", first_axis, { .rank = 2, .dim = { 7, 5 } }, true },
    { "r2c", to_half, { .rank = 2, .dim = { 5, 8 } }, false },
    { "r2c of odd lines", to_half, { .rank = 3, .dim = { 2, 3, 5 } }, false },
    { "r2c of a long prime", to_half, { .rank = 1, .dim = { 37 } }, false },
    { "r2c along one axis", to_half_scaled, { .rank = 3, .dim = { 2, 6, 3 } }, false },
    { "c2r", to_even, { .rank = 2, .dim = { 4, 5 } }, true },
    { "c2r to odd lines", to_odd, { .rank = 2, .dim = { 3, 4 } }, true },
    { "r2c and c2r", there_and_back, { .rank = 2, .dim = { 4, 7 } }, false },
    { "in place", in_place, { .rank = 2, .dim = { 4, 6 } }, true },
    { "into a view", into_view, { .rank = 2, .dim = { 3, 4 } }, true },
    { "filter", filtered, { .rank = 2, .dim = { 5, 6 } }, false },
    { "filter of a batch", filtered_rows, { .rank = 3, .dim = { 3, 4, 3 } }, false },
    { "dct 1", dct1, { .rank = 2, .dim = { 5, 3 } }, false },
    { "dct 2", dct2, { .rank = 2, .dim = { 6, 3 } }, false },
    { "dct 3", dct3, { .rank = 1, .dim = { 7 } }, false },
    { "dct 4", dct4, { .rank = 1, .dim = { 8 } }, false },
    { "inverse dct 1", dct1_back, { .rank = 2, .dim = { 3, 4 } }, false },
    { "inverse dct 2", dct2_back, { .rank = 2, .dim = { 4, 5 } }, false },
    { "inverse dct 3", dct3_back, { .rank = 1, .dim = { 6 } }, false },
    { "inverse dct 4", dct4_back, { .rank = 1, .dim = { 5 } }, false },
    { "dst 1", dst1, { .rank = 2, .dim = { 5, 2 } }, false },
    { "dst 2", dst2, { .rank = 1, .dim = { 8 } }, false },
    { "dst 4", dst4, { .rank = 1, .dim = { 7 } }, false },
    { "inverse dst 1", dst1_back, { .rank = 1, .dim = { 4 } }, false },
    { "inverse dst 2", dst2_back, { .rank = 1, .dim = { 5 } }, false },
    { "inverse dst 4", dst4_back, { .rank = 1, .dim = { 6 } }, false },
};

static void transforms(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; ++k)
        if (!is_left_out((int)k, 1, 3))
            differentiate(&functions[k], WF_F64);
}

static void in_single_precision(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k += 4)
        differentiate(&functions[k], WF_F32);
}

/* Powers of the spectrum: the derivative passes through |X|^2, and the tape takes two of them. */
static void powers(void **state)
{
    (void)state;
    static const double x[] = { 1, -2, 0.5, 3, 0, 1.5 };
    wf_array *a = line_of(x, 6), *grad = wf_like(a);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(a));
    wf_array *spectrum = wf_fft_c2c(a, WF_ALL_AXES, false, WF_FFT_BACKWARD);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, spectrum);
    wf_array *loss = wf_keep(total(wf_add(wf_mul(wf_real(v), wf_real(v)), wf_mul(wf_imag(v), wf_imag(v)))));
    OK(ctx, wf_run(g));
    double want[6];
    for (int i = 0; i < 6; ++i) /* Parseval: the loss is 6 sum(x^2) */
        want[i] = 12 * x[i];
    for (int turn = 0; turn < 2; ++turn) {
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad)));
        expect_close(grad, want, 1e-12);
    }
    wf_tape_free(tape);
    RELEASE(a, grad, spectrum, loss);
}

/* A filter by an array that the tape watches, of an array that it does not. */
static wf_array *gains;
static void by_gains(const wf_site *h)
{
    wf_set(h->out[0], wf_mul(wf_get(h->in[0]), wf_read(h->graph, gains, h->index[h->rank - 1])));
}

static wf_array *loss_of_gains(const wf_array *x)
{
    wf_array *y = wf_like(x);
    OK(ctx, wf_fft_filter(y, x, WF_ALL_AXES, by_gains, NULL));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, y), at = wf_cast(wf_iota(g, wf_array_shape(y), 0), WF_F64);
    wf_array *loss = wf_keep(total(wf_mul(v, wf_sin(wf_mul(at, 1.3)))));
    OK(ctx, wf_run(g));
    RELEASE(y);
    return loss;
}

static void filters(void **state)
{
    (void)state;
    enum { HALF = 4 };
    static const double x[] = { 1, -2, 0.5, 3, 0, 1.5 };
    double unit[HALF] = { 0 }, want[HALF];
    wf_array *a = line_of(x, 6);
    for (int i = 0; i < HALF; ++i) { /* the loss is linear in the gains */
        unit[i] = 1;
        gains = line_of(unit, HALF);
        unit[i] = 0;
        wf_array *loss = loss_of_gains(a);
        want[i] = scalar_f64(loss);
        RELEASE(loss, gains);
    }
    gains = line_of(x, HALF);
    wf_array *grad = wf_like(gains);
    assert_false(wf_is_taping(ctx) || wf_is_taping(NULL));
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(gains));
    assert_true(wf_is_taping(ctx));
    wf_array *loss = loss_of_gains(a);
    wf_tape_end(tape);
    assert_false(wf_is_taping(ctx));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(gains), WF_ARRAYS(grad)));
    expect_close(grad, want, 1e-12);
    wf_tape_free(tape);
    RELEASE(a, gains, grad, loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(transforms), cmocka_unit_test(in_single_precision),
                                        cmocka_unit_test(powers), cmocka_unit_test(filters) };
    return RUN_ON_ALL(tests);
}
