/* test_signal_convolve.c - convolution through Fourier transforms beside the sums: all border modes, kernels of even and
 * odd extents, larger than the array too, axes of a batch, dtypes; what is chosen, and replayed.
 *
 * ctest: devices
 */
#include "lib/signal/window.h"
#include "on_devices.h"

static wf_array *random_array(wf_dtype t, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, WF_F64, shape, NULL), *cast;
    int64_t n = wf_array_count(a);
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; ++i)
        v[i] = 20 * test_random_number(&seed) - 10;
    OK(ctx, wf_upload(a, v, (size_t)n * sizeof *v));
    cast = wf_array_cast(a, t);
    free(v);
    wf_release(a);
    return cast;
}

/* The largest difference, as a part of the largest number. */
static double apart(const wf_array *a, const wf_array *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(wf_array_dtype(a), wf_array_dtype(b));
    double *x = contents_as(a, WF_C128), *y = contents_as(b, WF_C128), most = 0, difference = 0;
    for (int64_t i = 0; i < 2 * wf_array_count(a); ++i) {
        most = fmax(most, fabs(x[i]));
        difference = fmax(difference, fabs(x[i] - y[i]));
    }
    free(x);
    free(y);
    assert_true(most > 0);
    return difference / most;
}

static wf_array *by_fft(const wf_array *x, const wf_array *kernel, wf_axes axes, wf_border border, double outside)
{
    wfl_window w;
    wf_shape size = wf_array_shape(kernel);
    int rank = 0;
    assert_true(wfl_window_over(&w, x, axes, border, outside, "test"));
    for (int d = 0; d < w.shape.rank; ++d)
        if (w.axes >> d & 1)
            assert_true(wfl_window_set(&w, ctx, d, size.dim[rank++]));
    wfl_window_mirror(&w);
    wf_dtype t = wf_array_dtype(x) == WF_I16 ? WF_F64 : wf_array_dtype(x);
    return wfl_convolve_by_fft(x, kernel, &w, wfl_work_dtype(t), t);
}

static void test_borders(void **state)
{
    (void)state;
    static const wf_border borders[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_MIRROR, WF_BORDER_REFLECT,
                                         WF_BORDER_PERIODIC };
    static const int64_t sizes[][2] = { { 3, 4 }, { 6, 1 }, { 9, 12 } };
    wf_array *x = random_array(WF_F64, WF_SHAPE(2, 7, 10), 1);
    for (int s = 0; s < 3; ++s) {
        wf_array *kernel = random_array(WF_F64, WF_SHAPE(sizes[s][0], sizes[s][1]), 2);
        for (int b = 0; b < 5; ++b) {
            wf_array *found = by_fft(x, kernel, WF_AXES(1, 2), borders[b], -1.5),
                     *expected = wf_convolve(x, kernel, WF_AXES(1, 2), borders[b], -1.5);
            assert_true(apart(found, expected) < 2e-15);
            wf_release(found);
            wf_release(expected);
        }
        wf_release(kernel);
    }
    wf_release(x);
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        wf_dtype x, kernel;
        double most;
    } rows[] = { { WF_F32, WF_F32, 4e-7 },
                 { WF_I16, WF_F64, 2e-15 },
                 { WF_F16, WF_F16, 1e-3 },
                 { WF_C64, WF_F32, 4e-7 },
                 { WF_C128, WF_C64, 2e-15 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wf_array *x = random_array(rows[i].x, WF_SHAPE(6, 3, 5), i),
                 *kernel = random_array(rows[i].kernel, WF_SHAPE(3), 9);
        wf_array *turned = wf_view_permute(x, (int[]){ 2, 1, 0 });
        wf_array *found = by_fft(turned, kernel, WF_AXES(2), WF_BORDER_MIRROR, 0),
                 *expected = wf_convolve(turned, kernel, WF_AXES(2), WF_BORDER_MIRROR, 0);
        assert_true(apart(found, expected) < rows[i].most);
        wf_array *spent[] = { x, kernel, turned, found, expected };
        for (int k = 0; k < 5; ++k)
            wf_release(spent[k]);
    }
}

/* A kernel for which wf_convolve chooses transforms: the sum over its 47 x 45 elements at some places. */
static void test_chosen(void **state)
{
    (void)state;
    enum { H = 300, W = 210, N = 47, M = 45 };
    if (wf_context_device(ctx) != WF_CPU)
        return;
    wf_array *x = random_array(WF_F64, WF_SHAPE(H, W), 4), *kernel = random_array(WF_F64, WF_SHAPE(N, M), 5);
    wfl_window w;
    assert_true(wfl_window_over(&w, x, WF_ALL_AXES, WF_BORDER_VALUE, 3, "test"));
    w.size[0] = w.size[1] = 9;
    assert_false(wfl_convolve_is_cheaper_by_fft(&w, WF_F64));
    w.size[0] = N;
    w.size[1] = M;
    assert_true(wfl_convolve_is_cheaper_by_fft(&w, WF_F64));
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x)));
    wf_array *y = wf_convolve(x, kernel, WF_ALL_AXES, WF_BORDER_VALUE, 3);
    wf_frozen *frozen = wf_freeze_end(ctx);
    assert_non_null(frozen);
    wf_array *other = random_array(WF_F64, WF_SHAPE(H, W), 6);
    for (int turn = 0; turn < 2; ++turn) {
        double *v = contents_as(turn ? other : x, WF_F64), *k = contents_as(kernel, WF_F64),
               *found = contents_as(y, WF_F64);
        for (int p = 0; p < H; p += 23)
            for (int q = 0; q < W; q += 11) {
                double sum = 0;
                for (int i = 0; i < N; ++i)
                    for (int j = 0; j < M; ++j) {
                        int a = p + N / 2 - i, b = q + M / 2 - j;
                        sum += k[i * M + j] * (a < 0 || a >= H || b < 0 || b >= W ? 3 : v[a * W + b]);
                    }
                assert_true(fabs(found[p * W + q] - sum) < 1e-8);
            }
        free(v);
        free(k);
        free(found);
        OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(other)));
    }
    wf_frozen_free(frozen);
    wf_array *spent[] = { x, kernel, y, other };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_chosen),
    };
    return RUN_ON_ALL(tests);
}
