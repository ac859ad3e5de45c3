/* test_signal_template.c - template matching beside numbers of scikit-image, and beside the coefficient of each part of
 * an image: of 1 to 3 axes, batches, several templates, masks, small and large templates, flat parts; and mistakes.
 *
 * ctest: devices
 */
#include "signal_formulas.h"

static wf_array *noise(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 100, 3));
    return a;
}

/* skimage.feature.match_template(image, template), scikit-image 0.26. */
static void test_scikit_image(void **state)
{
    (void)state;
    const double image[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7 };
    const double pattern[] = { 6, 5, 3, 7, 9, 3 };
    const double expected[] = { 0.1139605764596386,   0.61929211788357852,   -0.29277002188455925,
                                -0.64078989781329654, 0.032080516201045725,  1,
                                0.2548235957188128,   -0.66172410253729397,  -0.46138062775602418,
                                0.43618417362260431,  -0.030405578922032959, 0.39650882882591548,
                                -0.65653798717446965, 0.71984846890287835,   0.15289415743128767,
                                -0.73180406536356812 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(5, 6), image), *t = array_of(ctx, WF_F64, WF_SHAPE(2, 3), pattern),
             *scores = wf_match_template(x, t, NULL, 2);
    wf_shape shape = wf_array_shape(scores);
    assert_true(shape.rank == 2 && shape.dim[0] == 4 && shape.dim[1] == 4);
    double *v = download(scores);
    for (int i = 0; i < 16; ++i)
        near(v[i], expected[i], 1e-13, "scikit-image");
    free(v);
    wf_array *given[] = { x, t, scores };
    for (int i = 0; i < 3; ++i)
        wf_release(given[i]);
}

/* Three axes of an array, those that are missing having extent 1. */
typedef struct part {
    const double *v;
    int64_t dim[3];
} part;

static double coefficient(const part *x, const int64_t *at, const part *t, const double *w)
{
    double sum[3] = { 0 }, xx = 0, tt = 0, xt = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t n = 0; n < t->dim[0] * t->dim[1] * t->dim[2]; ++n) {
            int64_t i = at[0] + n / (t->dim[1] * t->dim[2]), j = at[1] + n / t->dim[2] % t->dim[1],
                    k = at[2] + n % t->dim[2];
            double a = x->v[(i * x->dim[1] + j) * x->dim[2] + k], b = t->v[n], weight = w ? w[n] : 1;
            if (!pass) {
                sum[0] += weight;
                sum[1] += weight * a;
                sum[2] += weight * b;
                continue;
            }
            a -= sum[1] / sum[0];
            b -= sum[2] / sum[0];
            xx += weight * a * a;
            tt += weight * b * b;
            xt += weight * a * b;
        }
    return xt / sqrt(xx * tt);
}

/* x: [images, n...], patterns: [templates, t...]; all of the same number of axes. */
static void check_scores(wf_dtype dtype, wf_shape of_x, wf_shape of_t, bool masked, double most)
{
    int rank = of_x.rank - 1;
    wf_shape of_mask = { .rank = rank };
    part image = { NULL, { 1, 1, 1 } }, pattern = image, out = image;
    int64_t sizes[3] = { 1, 1, 1 };
    for (int d = 0; d < rank; ++d) {
        of_mask.dim[d] = of_t.dim[d + 1];
        image.dim[3 - rank + d] = of_x.dim[d + 1];
        pattern.dim[3 - rank + d] = of_t.dim[d + 1];
        out.dim[3 - rank + d] = of_x.dim[d + 1] - of_t.dim[d + 1] + 1;
    }
    for (int d = 0; d < 3; ++d) {
        sizes[0] *= image.dim[d];
        sizes[1] *= pattern.dim[d];
        sizes[2] *= out.dim[d];
    }
    wf_array *x = noise(dtype, of_x, 1), *t = noise(dtype, of_t, 2), *mask = wf_empty_with(ctx, WF_F32, of_mask, NULL);
    OK(ctx, wf_array_random_uniform(mask, (wf_random){ .seed = 3 }, 0, 1));
    wf_array *scores = wf_match_template(x, t, masked ? mask : NULL, rank);
    assert_non_null(scores);
    assert_int_equal(wf_array_dtype(scores), dtype);
    double *a = download(x), *b = download(t), *w = download(mask), *found = download(scores);
    for (int64_t i = 0; i < of_x.dim[0] * of_t.dim[0]; ++i)
        for (int64_t p = 0; p < sizes[2]; ++p) {
            const int64_t at[3] = { p / (out.dim[1] * out.dim[2]), p / out.dim[2] % out.dim[1], p % out.dim[2] };
            image.v = a + i / of_t.dim[0] * sizes[0];
            pattern.v = b + i % of_t.dim[0] * sizes[1];
            near(found[i * sizes[2] + p], coefficient(&image, at, &pattern, masked ? w : NULL), most, "score");
        }
    free(a);
    free(b);
    free(w);
    free(found);
    wf_array *given[] = { x, t, mask, scores };
    for (int i = 0; i < 4; ++i)
        wf_release(given[i]);
}

static void test_scores(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; ++masked) {
        check_scores(WF_F64, WF_SHAPE(2, 9, 12), WF_SHAPE(3, 4, 3), masked, 1e-11);
        check_scores(WF_F64, WF_SHAPE(2, 40), WF_SHAPE(1, 7), masked, 1e-11);
        check_scores(WF_F64, WF_SHAPE(1, 5, 6, 7), WF_SHAPE(2, 2, 3, 4), masked, 1e-11);
        check_scores(WF_F32, WF_SHAPE(1, 23, 25), WF_SHAPE(2, 22, 21), masked, 2e-6); /* by transforms */
        check_scores(WF_F64, WF_SHAPE(2, 23, 25), WF_SHAPE(1, 22, 21), masked, 1e-11);
        check_scores(WF_F64, WF_SHAPE(1, 5, 4), WF_SHAPE(1, 5, 4), masked, 1e-11);
    }
    /* norms in parts, of images and of a batch, of which the last begins before its turn */
    if (wf_context_device(ctx) == WF_CPU) {
        check_scores(WF_F32, WF_SHAPE(1, 1103, 300), WF_SHAPE(1, 9, 4), false, 2e-6);
        check_scores(WF_F64, WF_SHAPE(3, 415, 300), WF_SHAPE(1, 3, 4), false, 1e-11);
        check_scores(WF_F32, WF_SHAPE(1, 90, 140), WF_SHAPE(2, 30, 33), false, 2e-6); /* mostly padding */
    }
}

/* A part of an image has the score 1 at its place, on a slope, too; flat parts of images and flat templates have 0. */
static void test_places(void **state)
{
    (void)state;
    enum { N = 40, T = 21 };
    wf_array *x = noise(WF_F32, WF_SHAPE(N, N), 4);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N, N));
    wf_val row = wf_index(g, 0), flat = wf_lt(row, 10), slope = wf_cast(wf_mul(wf_index(g, 1), 7), WF_F32);
    wf_out(g, x, wf_select(flat, 1000, wf_add(wf_in(g, x), slope)));
    OK(ctx, wf_run(g));
    for (int64_t t = 5; t <= T; t += T - 5) {
        wf_array *rows = wf_view_slice(x, 0, 15, 15 + t, 1), *pattern = wf_view_slice(rows, 1, 8, 8 + t, 1),
                 *scores = wf_match_template(x, pattern, NULL, 2),
                 *best = wf_correlate_peaks(scores, 2, &(wf_peak_search){ .fit = WF_PEAK_WHOLE, .places = true });
        double *p = download(best), *v = download(scores);
        assert_true(p[0] == 15 && p[1] == 8);
        near(p[2], 1, 1e-5, "score");
        for (int64_t i = 0; i + t <= 10; ++i)
            for (int64_t j = 0; j + t <= N; ++j)
                assert_true(v[i * (N - t + 1) + j] == 0);
        wf_array *none = wf_full(ctx, WF_F32, WF_SHAPE(t, t), 0.1), *zero = wf_match_template(x, none, NULL, 2);
        double *z = download(zero);
        for (int64_t i = 0; i < (N - t + 1) * (N - t + 1); ++i)
            assert_true(z[i] == 0);
        free(p);
        free(v);
        free(z);
        wf_array *given[] = { rows, pattern, scores, best, none, zero };
        for (int i = 0; i < 6; ++i)
            wf_release(given[i]);
    }
    wf_release(x);
}

static void test_dtypes_of_scores(void **state)
{
    (void)state;
    static const wf_dtype dtypes[][2] = { { WF_U8, WF_F32 },  { WF_I16, WF_F32 },  { WF_I32, WF_F64 },
                                          { WF_F16, WF_F32 }, { WF_BF16, WF_F32 }, { WF_F64, WF_F64 } };
    wf_array *wide = noise(WF_F64, WF_SHAPE(8, 9), 5);
    for (int i = 0; i < 6; ++i) {
        wf_array *x = wf_array_cast(wide, dtypes[i][0]), *same = wf_array_cast(x, WF_F64),
                 *t = wf_view_slice(x, 0, 2, 5, 1), *u = wf_view_slice(same, 0, 2, 5, 1),
                 *a = wf_match_template(x, t, NULL, 2), *b = wf_match_template(same, u, NULL, 2);
        assert_int_equal(wf_array_dtype(a), dtypes[i][1]);
        bool close = false;
        OK(ctx, wf_array_all_close(a, b, 0, 2e-6, false, &close));
        assert_true(close);
        wf_array *given[] = { x, same, t, u, a, b };
        for (int k = 0; k < 6; ++k)
            wf_release(given[k]);
    }
    wf_release(wide);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *x = noise(WF_F32, WF_SHAPE(8, 9), 1), *t = noise(WF_F32, WF_SHAPE(3, 10), 2),
             *z = noise(WF_C64, WF_SHAPE(3, 3), 3), *fits = noise(WF_F32, WF_SHAPE(3, 3), 4),
             *none = wf_empty(ctx, WF_F32, WF_SHAPE(0, 8, 9)), *no_template = wf_empty(ctx, WF_F32, WF_SHAPE(0, 3));
    REFUSED(ctx, of_null(wf_match_template(x, t, NULL, 2)), WF_ERR_SHAPE,
            "wf_match_template: `pattern` is (3, 10), which is not inside the last 2 axes of `x`, (8, 9)");
    REFUSED(ctx, of_null(wf_match_template(x, no_template, NULL, 2)), WF_ERR_SHAPE, "`pattern` is (0, 3)");
    REFUSED(ctx, of_null(wf_match_template(x, fits, t, 2)), WF_ERR_SHAPE,
            "`mask` is (3, 10), but a template is (3, 3)");
    REFUSED(ctx, of_null(wf_match_template(x, z, NULL, 2)), WF_ERR_DTYPE, "`pattern` is c64, not real");
    REFUSED(ctx, of_null(wf_match_template(x, fits, z, 2)), WF_ERR_DTYPE, "`mask` is c64, not real");
    REFUSED(ctx, of_null(wf_match_template(x, fits, NULL, 4)), WF_ERR_ARG, "`rank` is 4");
    assert_null(wf_match_template(x, NULL, NULL, 2));
    assert_null(wf_match_template(NULL, fits, NULL, 2));
    wf_clear_error(ctx);
    wf_array *empty = wf_match_template(none, fits, NULL, 2);
    assert_true(empty && wf_array_count(empty) == 0 && wf_array_shape(empty).dim[1] == 6);
    wf_array *given[] = { x, t, z, fits, none, no_template, empty };
    for (int i = 0; i < 7; ++i)
        wf_release(given[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scikit_image),     cmocka_unit_test(test_scores),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_dtypes_of_scores), cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
