/* test_signal_footprints.c - ranks and morphology over footprints: beside numbers of SciPy 1.17 (scipy.ndimage), and
 * beside windows that are walked through; boxes, NaN, bools, mistakes.
 *
 * ctest: devices first_tier
 */
#include "borders.h"
#include "signal_formulas.h"

enum { H = 4, W = 5, FILTERS = 6, MOST = 1024 };
static const double image[H * W] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4 };

/* grey_erosion, grey_dilation, grey_opening, grey_closing, median_filter, rank_filter(1) of the image with the footprint
 * below, for the modes reflect, grid-wrap, constant; cval = 2. */
static const int8_t footprint[12] = { 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1 };
static const struct {
    wf_border border;
    double value[FILTERS][H * W];
} scipy[] = {
    { WF_BORDER_MIRROR,
      { { 1, 2, 1, 1, 1, 2, 3, 1, 2, 1, 2, 2, 2, 2, 3, 2, 2, 2, 2, 3 },
        { 4, 6, 5, 5, 5, 9, 9, 7, 9, 9, 9, 9, 9, 9, 9, 9, 8, 9, 9, 9 },
        { 3, 2, 2, 1, 1, 3, 2, 3, 3, 3, 2, 3, 3, 3, 3, 2, 2, 3, 3, 3 },
        { 4, 4, 4, 5, 5, 4, 4, 6, 5, 5, 8, 8, 9, 7, 9, 8, 8, 8, 8, 9 },
        { 2, 3, 3, 4, 3, 5, 8, 5, 6, 6, 5, 5, 5, 8, 5, 2, 3, 3, 4, 4 },
        { 1, 3, 1, 2, 1, 2, 5, 2, 3, 3, 2, 3, 3, 4, 4, 2, 3, 3, 2, 3 } } },
    { WF_BORDER_PERIODIC,
      { { 1, 2, 1, 1, 1, 2, 3, 1, 2, 1, 2, 2, 2, 2, 3, 1, 1, 1, 1, 3 },
        { 5, 8, 5, 8, 9, 8, 9, 7, 9, 9, 9, 9, 9, 9, 8, 9, 8, 9, 9, 9 },
        { 3, 1, 3, 1, 3, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3 },
        { 8, 5, 5, 5, 5, 9, 5, 8, 5, 7, 8, 8, 9, 7, 9, 5, 5, 5, 8, 5 },
        { 4, 3, 3, 3, 4, 5, 8, 5, 6, 6, 7, 5, 5, 8, 5, 3, 4, 3, 3, 4 },
        { 1, 3, 1, 2, 3, 3, 3, 2, 3, 5, 3, 3, 3, 4, 3, 1, 3, 2, 1, 3 } } },
    { WF_BORDER_VALUE,
      { { 1, 2, 1, 1, 1, 2, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 },
        { 4, 6, 5, 5, 2, 8, 9, 7, 9, 5, 9, 9, 9, 9, 7, 9, 8, 9, 9, 9 },
        { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 },
        { 2, 2, 2, 2, 2, 2, 2, 6, 5, 2, 2, 2, 9, 7, 2, 2, 2, 2, 2, 2 },
        { 2, 2, 3, 3, 2, 2, 6, 5, 6, 5, 2, 3, 5, 8, 4, 2, 2, 2, 2, 2 },
        { 2, 2, 1, 2, 2, 2, 2, 2, 3, 2, 2, 2, 3, 4, 2, 2, 2, 2, 2, 2 } } },
};

static void test_scipy(void **state)
{
    (void)state;
    static const char *const names[] = { "eroded", "dilated", "opened", "closed", "median", "rank 1" };
    wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(H, W), image),
             *in = array_of(ctx, WF_I8, WF_SHAPE(3, 4), footprint);
    static const wf_dtype dtypes[] = { WF_F64, WF_I16 };
    for (int m = 0; m < 3; ++m)
        for (int i = 0; i < 2; ++i) {
            wf_border b = scipy[m].border;
            wf_axes both = WF_AXES(0, 1);
            wf_array *x = wf_array_cast(wide, dtypes[i]);
            wf_array *found[] = {
                wf_morphology(x, WF_MORPH_ERODE, in, both, b, 2), wf_morphology(x, WF_MORPH_DILATE, in, both, b, 2),
                wf_morphology(x, WF_MORPH_OPEN, in, both, b, 2),  wf_morphology(x, WF_MORPH_CLOSE, in, both, b, 2),
                wf_median_footprint(x, in, WF_ALL_AXES, b, 2),    wf_rank_footprint(x, 1, in, WF_ALL_AXES, b, 2),
            };
            for (int f = 0; f < FILTERS; ++f) {
                assert_int_equal(wf_array_dtype(found[f]), dtypes[i]);
                double *v = download(found[f]);
                for (int k = 0; k < H * W; ++k)
                    near(v[k], scipy[m].value[f][k], 0, names[f]);
                free(v);
                wf_release(found[f]);
            }
            wf_release(x);
        }
    wf_release(wide);
    wf_release(in);
}

/* ---- windows walked through ---- */
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets v to the elements of a [c, h, w] image that count around `at`, of a window [c, h, w] that begins before[d]
 * elements before; `mirrored`: of the mirrored footprint. */
static int walk(const double *x, const wf_shape *s, const int64_t *at, const int64_t *size, const bool *in,
                bool mirrored, wf_border border, double outside, double *v)
{
    int n = 0;
    int64_t count = size[0] * size[1] * size[2];
    for (int64_t e = 0; e < count; ++e) {
        const int64_t step[3] = { e / (size[1] * size[2]), e / size[2] % size[1], e % size[2] };
        if (!in[mirrored ? count - 1 - e : e])
            continue;
        int64_t place = 0;
        for (int d = 0; d < 3 && place >= 0; ++d) {
            int64_t i = border_index(border, at[d] - (mirrored ? size[d] - 1 : size[d]) / 2 + step[d], s->dim[d]);
            place = i < 0 ? -1 : place * s->dim[d] + i;
        }
        assert_true(n < MOST);
        v[n++] = place < 0 ? outside : x[place];
    }
    return n;
}

/* Axes of extent 1 of the footprint are not filtered. */
static void check(wf_array *x, const int64_t *size, const bool *in, wf_border border, double outside)
{
    double v[MOST];
    wf_shape s = wf_array_shape(x), one = { .rank = 0 };
    wf_axes axes = 0;
    for (int d = 0; d < 3; ++d)
        if (size[d] > 1) {
            axes |= 1u << d;
            one.dim[one.rank++] = size[d];
        }
    wf_array *mask = array_of(ctx, WF_BOOL, one, in);
    wf_array *found[] = { wf_median_footprint(x, mask, axes, border, outside),
                          wf_rank_footprint(x, -1, mask, axes, border, outside),
                          wf_morphology(x, WF_MORPH_ERODE, mask, axes, border, outside),
                          wf_morphology(x, WF_MORPH_DILATE, mask, axes, border, outside) };
    double *given = download(x), *u[4];
    for (int f = 0; f < 4; ++f) {
        if (!found[f])
            fail_msg("%s", wf_last_message(ctx));
        u[f] = download(found[f]);
    }
    for (int64_t i = 0; i < wf_array_count(x); ++i) {
        const int64_t at[3] = { i / (s.dim[1] * s.dim[2]), i / s.dim[2] % s.dim[1], i % s.dim[2] };
        int n = walk(given, &s, at, size, in, false, border, outside, v);
        qsort(v, (size_t)n, sizeof *v, by_value);
        near(u[0][i], v[n / 2], 0, "median");
        near(u[1][i], v[n - 1], 0, "largest");
        near(u[2][i], v[0], 0, "eroded");
        n = walk(given, &s, at, size, in, true, border, outside, v);
        qsort(v, (size_t)n, sizeof *v, by_value);
        near(u[3][i], v[n - 1], 0, "dilated");
    }
    for (int f = 0; f < 4; ++f) {
        free(u[f]);
        wf_release(found[f]);
    }
    free(given);
    wf_release(mask);
}

static wf_array *noise(wf_dtype dtype, wf_shape shape)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_uniform(a, (wf_random){ .seed = 5 }, 0, 100));
    return a;
}

static const wf_border borders[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC, WF_BORDER_MIRROR,
                                     WF_BORDER_REFLECT };

static void test_walked(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 3, 4 }, { 2, 1, 7 }, { 3, 3, 3 }, { 1, 1, 9 }, { 4, 2, 1 } };
    uint64_t seed = 1;
    for (int i = 0; i < (is_on_gpu() ? 2 : 5); ++i)
        for (int b = 0; b < 5; ++b) {
            bool in[64];
            for (int e = 0; e < 64; ++e)
                in[e] = test_random(&seed) % 2;
            in[(sizes[i][0] * sizes[i][1] * sizes[i][2]) / 2] = true;
            wf_array *x = noise(b % 2 ? WF_F32 : WF_I16, WF_SHAPE(2, 5, 7));
            wf_array *turned = wf_view_slice(x, 2, -1, WF_END_INDEX, -1);
            check(x, sizes[i], in, borders[b], 3);
            check(turned, sizes[i], in, borders[b], -7);
            wf_release(turned);
            wf_release(x);
        }
}

/* A disc, whose ranks are found bit by bit and whose runs need several recordings; a ring; far more than the image. */
static void test_large(void **state)
{
    (void)state;
    for (int hollow = 0; hollow < 2; ++hollow) {
        const int64_t size[] = { 1, 17, 25 };
        bool in[17 * 25];
        for (int e = 0; e < 17 * 25; ++e) {
            double y = (e / 25 - 8) / 8.5, x = (e % 25 - 12) / 12.5, r = y * y + x * x;
            in[e] = r <= 1 && (!hollow || (r > 0.3 && e % 3));
        }
        wf_array *x = noise(hollow ? WF_F64 : WF_U8, WF_SHAPE(1, 8, (int)sized(30, 9)));
        check(x, size, in, WF_BORDER_REFLECT, 0);
        wf_release(x);
    }
}

/* A footprint of ones is a box; bools; NaN. */
static void test_boxes(void **state)
{
    (void)state;
    const int64_t size[] = { 3, 5 };
    wf_array *x = noise(WF_F32, WF_SHAPE(9, 11)), *ones = wf_full(ctx, WF_F16, WF_SHAPE(3, 5), 0.5);
    wf_array *pairs[][2] = {
        { wf_erode(x, size, 3, WF_BORDER_MIRROR, 0), wf_morphology(x, WF_MORPH_ERODE, ones, 3, WF_BORDER_MIRROR, 0) },
        { wf_morphology_close(x, size, 3, WF_BORDER_VALUE, 40),
          wf_morphology(x, WF_MORPH_CLOSE, ones, 3, WF_BORDER_VALUE, 40) },
        { wf_median_filter(x, size, 3, WF_BORDER_NONE, 0), wf_median_footprint(x, ones, 3, WF_BORDER_NONE, 0) },
    };
    for (int i = 0; i < 3; ++i) {
        bool equal = false;
        OK(ctx, wf_array_all_close(pairs[i][0], pairs[i][1], 0, 0, false, &equal));
        assert_true(equal);
        wf_release(pairs[i][0]);
        wf_release(pairs[i][1]);
    }
    const bool bits[] = { 0, 0, 1, 0, 0, 0, 0, 0 }, apart[] = { 1, 0, 1 };
    const double grown[] = { 0, 1, 0, 1, 0, 0, 0, 0 };
    wf_array *b = array_of(ctx, WF_BOOL, WF_SHAPE(8), bits), *in = array_of(ctx, WF_BOOL, WF_SHAPE(3), apart);
    wf_array *g = wf_morphology(b, WF_MORPH_DILATE, in, WF_AXES(0), WF_BORDER_VALUE, 0);
    assert_int_equal(wf_array_dtype(g), WF_BOOL);
    double *v = download(g);
    for (int i = 0; i < 8; ++i)
        near(v[i], grown[i], 0, "grown");
    free(v);
    const float holes[] = { 1, 2, NAN, 4, 5, 6, 7, 8 };
    wf_array *n = array_of(ctx, WF_F32, WF_SHAPE(8), holes);
    wf_array *least = wf_morphology(n, WF_MORPH_ERODE, in, WF_AXES(0), WF_BORDER_CLAMP, 0);
    wf_array *middle = wf_median_footprint(n, in, WF_AXES(0), WF_BORDER_CLAMP, 0);
    float *p = contents(least), *q = contents(middle);
    for (int i = 0; i < 8; ++i) {
        assert_true(isnan(p[i]) == (i == 1 || i == 3) && isnan(q[i]) == (i == 1 || i == 3));
        assert_true(i == 1 || i == 3 || p[i] == (i ? (float)i : 1));
    }
    free(p);
    free(q);
    wf_array *all[] = { x, ones, b, in, g, n, least, middle };
    for (int i = 0; i < 8; ++i)
        wf_release(all[i]);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *x = noise(WF_F32, WF_SHAPE(4, 5)), *none = wf_full(ctx, WF_U8, WF_SHAPE(3, 3), 0);
    wf_array *line = wf_full(ctx, WF_U8, WF_SHAPE(3), 1), *z = wf_full(ctx, WF_C64, WF_SHAPE(3, 3), 1);
    assert_null(wf_median_footprint(x, none, WF_ALL_AXES, WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_median_footprint: all elements of `footprint` are 0");
    assert_null(wf_rank_footprint(x, 0, line, WF_ALL_AXES, WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "`footprint` has 1 axes, but the filter goes along 2");
    assert_null(wf_rank_footprint(x, 3, line, WF_AXES(1), WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "`rank` is 3, but the window has 3 elements");
    assert_null(wf_morphology(x, WF_MORPH_OPEN, NULL, WF_ALL_AXES, WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_morphology: `footprint` is NULL");
    assert_null(wf_morphology(x, WF_MORPH_OPEN, z, WF_ALL_AXES, WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "wf_morphology: `footprint` is complex");
    assert_null(wf_morphology(x, (wf_morph)7, line, WF_AXES(0), WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "`how` is 7");
    assert_null(wf_morphology(z, WF_MORPH_ERODE, line, WF_AXES(0), WF_BORDER_CLAMP, 0));
    assert_int_equal(wf_last_status(ctx), WF_ERR_DTYPE);
    wf_clear_error(ctx);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x)));
    wf_release(wf_median_footprint(x, line, WF_AXES(0), WF_BORDER_CLAMP, 0));
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "wf_median_footprint cannot be in a frozen sequence");
    wf_array *empty = wf_empty(ctx, WF_F32, WF_SHAPE(0, 5)),
             *still = wf_morphology(empty, WF_MORPH_CLOSE, line, WF_AXES(1), WF_BORDER_VALUE, 0);
    assert_int_equal(wf_array_shape(still).dim[1], 5);
    wf_array *all[] = { x, none, line, z, empty, still };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy), cmocka_unit_test(test_walked),  cmocka_unit_test(test_large),
        cmocka_unit_test(test_boxes), cmocka_unit_test(test_refused),
    };
    return RUN_ON_ALL(tests);
}
