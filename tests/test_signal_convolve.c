/* test_signal_convolve.c - convolution through Fourier transforms, of whole arrays and in pieces, beside the sums: all
 * border modes, kernels of even and odd extents, larger than the array too, axes of a batch, dtypes; what is chosen, and
 * replayed.
 *
 * ctest: devices long first_tier
 */
#include "lib/signal/pieces.h"
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

/* Through transforms: of pieces that have `own` elements of the result or some more along each axis; 0: of the whole. */
static wf_array *by_fft(const wf_array *x, const wf_array *kernel, wf_axes axes, wf_border border, double outside,
                        int64_t own)
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
    wfl_pieces p = { .whole = w.shape };
    for (int d = 0; d < w.shape.rank && own; ++d)
        if (w.axes >> d & 1) {
            p.whole.dim[d] = w.size[d] + own - 1 + d % 2;
            p.own[d] = own + d % 2;
        }
    return own ? wfl_convolve_in_pieces(x, kernel, &w, &p, wfl_work_dtype(t), t)
               : wfl_convolve_by_fft(x, kernel, &w, wfl_work_dtype(t), t);
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
        for (int b = s % TEST_EVERY; b < 5; b += TEST_EVERY) {
            wf_array *expected = wf_convolve(x, kernel, WF_AXES(1, 2), borders[b], -1.5);
            static const int64_t pieces[] = { 0, 3, 1, 20 };
            for (int k = 0; k < 4; ++k) {
                wf_array *found = by_fft(x, kernel, WF_AXES(1, 2), borders[b], -1.5, pieces[k]);
                assert_true(apart(found, expected) < 2e-15);
                wf_release(found);
            }
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
        wf_array *expected = wf_convolve(turned, kernel, WF_AXES(2), WF_BORDER_MIRROR, 0);
        for (int64_t own = 0; own < 4; own += 3) {
            wf_array *found = by_fft(turned, kernel, WF_AXES(2), WF_BORDER_MIRROR, 0, own);
            assert_true(apart(found, expected) < rows[i].most);
            wf_release(found);
        }
        wf_array *spent[] = { x, kernel, turned, expected };
        for (int k = 0; k < 4; ++k)
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
    wfl_pieces pieces;
    assert_int_equal(wfl_convolve_choose(x, &w, WF_F64, &pieces), WFL_BY_SUMS);
    w.size[0] = N;
    w.size[1] = M;
    assert_int_equal(wfl_convolve_choose(x, &w, WF_F64, &pieces), WFL_IN_PIECES);
    assert_true(pieces.own[0] < H && pieces.own[0] + N - 1 == pieces.whole.dim[0]);
    w.size[0] = H;
    w.size[1] = W;
    assert_int_equal(wfl_convolve_choose(x, &w, WF_F64, &pieces), WFL_BY_FFT);
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

/* More pieces than one group has, of the lines of a batch, and of images along their first axis. */
static void test_groups(void **state)
{
    (void)state;
    if (wf_context_device(ctx) != WF_CPU)
        return;
    wf_array *lines = random_array(WF_F32, WF_SHAPE(3, 1500003), 4), *images = wf_view_permute(lines, (int[]){ 1, 0 });
    wf_array *kernel = random_array(WF_F32, WF_SHAPE(301), 5);
    for (int axis = 0; axis < 2; ++axis) {
        const wf_array *x = axis ? lines : images;
        wf_array *found = by_fft(x, kernel, WF_AXES(axis), WF_BORDER_CLAMP, 0, 4000),
                 *expected = by_fft(x, kernel, WF_AXES(axis), WF_BORDER_CLAMP, 0, 0);
        assert_true(apart(found, expected) < 1e-6);
        wf_release(found);
        wf_release(expected);
    }
    wf_array *spent[] = { lines, images, kernel };
    for (int k = 0; k < 3; ++k)
        wf_release(spent[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_groups),
    };
    return RUN_ON_ALL(tests);
}
