/* test_signal_peaks.c - scores of correlation beside numbers of NumPy, and searches of peaks: beside a search through
 * all elements, at tops of known functions between elements; largest lags, distances, batches, and mistakes.
 *
 * ctest: devices
 */
#include "signal_formulas.h"

static wf_array *noise(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 0, 1));
    return a;
}

/* ---- scores ---- */
/* NumPy 2.4: corrcoef(a, b); cov(a, b, aweights=w) as a coefficient; a.b / (|a| |b|); a.b */
static void test_scores(void **state)
{
    (void)state;
    const double a[] = { 1, 5, 2, 8, 3, 3, 9, 1, 4, 4, 4, 4 }, b[] = { 2, 4, 1, 9, 5, 2 },
                 w[] = { 1, 0.5, 0, 2, 1, 0.25 };
    const double coefficient[] = { 0.89168320160850689, -0.25582703300691384 },
                 masked[] = { 0.95074879864074846, -0.49077768661437177 },
                 cosine[] = { 0.96592009802509604, 0.65077435996960675 }, product[] = { 117, 90 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(2, 6), a), *y = array_of(ctx, WF_F64, WF_SHAPE(6), b),
             *mask = array_of(ctx, WF_F64, WF_SHAPE(6), w);
    wf_array *found[] = { wf_correlate_score(x, y, NULL, WF_AXES(1) | WF_DROP_AXES, WF_SCORE_COEFFICIENT),
                          wf_correlate_score(x, y, mask, WF_AXES(1), WF_SCORE_COEFFICIENT),
                          wf_correlate_score(y, x, NULL, WF_AXES(1), WF_SCORE_COSINE),
                          wf_correlate_score(x, y, NULL, WF_AXES(1), WF_SCORE_PRODUCT) };
    const double *const expected[] = { coefficient, masked, cosine, product };
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(wf_array_shape(found[i]).rank, i ? 2 : 1);
        assert_int_equal(wf_array_dtype(found[i]), WF_F64);
        double *v = download(found[i]);
        near(v[0], expected[i][0], 1e-14, "score");
        near(v[1], expected[i][1], 1e-14, "score");
        free(v);
        wf_release(found[i]);
    }
    wf_release(x);
    wf_release(y);
    wf_release(mask);
}

/* Complex arrays: 1 of an array with itself, 0 of one turned by a quarter. Large means take no digits. */
static void test_score_properties(void **state)
{
    (void)state;
    wf_array *x = noise(WF_C64, WF_SHAPE(5, 4), 1), *turned = wf_like(x), *real = noise(WF_F64, WF_SHAPE(50), 2),
             *far = wf_like(real), *flat = wf_full(ctx, WF_F32, WF_SHAPE(50), 0.1);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, turned, wf_mul(wf_in(g, x), wf_const_complex(g, WF_C64, 0, 1)));
    wf_out(g, far, wf_add(wf_mul(wf_in(g, real), -3), 1e6));
    OK(ctx, wf_run(g));
    wf_array *found[] = { wf_correlate_score(x, x, NULL, WF_ALL_AXES, WF_SCORE_COSINE),
                          wf_correlate_score(x, turned, NULL, WF_ALL_AXES, WF_SCORE_COSINE),
                          wf_correlate_score(real, far, NULL, WF_ALL_AXES, WF_SCORE_COEFFICIENT),
                          wf_correlate_score(real, flat, NULL, WF_ALL_AXES, WF_SCORE_COEFFICIENT) };
    const double expected[] = { 1, 0, -1, 0 };
    for (int i = 0; i < 4; ++i) {
        double *v = download(found[i]);
        near(v[0], expected[i], i == 3 ? 0 : 1e-9, "score");
        free(v);
        wf_release(found[i]);
    }
    wf_array *given[] = { x, turned, real, far, flat };
    for (int i = 0; i < 5; ++i)
        wf_release(given[i]);
}

/* ---- peaks ---- */
enum { MOST = 6 };

/* A map of up to 3 axes; those that are missing have extent 1. */
typedef struct grid {
    const double *v;
    int64_t dim[3];
    int rank;
    const wf_peak_search *how;
} grid;

static void split(const grid *m, int64_t linear, int64_t *index)
{
    for (int d = 2; d >= 0; --d) {
        index[d] = linear % m->dim[d];
        linear /= m->dim[d];
    }
}

static int64_t lag_of(const grid *m, int64_t i, int d)
{
    return m->how->places || 2 * i < m->dim[d] ? i : i - m->dim[d];
}

static double searched(const grid *m, int64_t linear)
{
    int64_t index[3];
    double sum = 0;
    split(m, linear, index);
    for (int d = 0; d < m->rank; ++d) {
        int axis = 3 - m->rank + d;
        double lag = (double)(lag_of(m, index[axis], axis) - (m->how->places ? m->dim[axis] / 2 : 0));
        sum += m->how->max_lag[d] > 0 ? pow(lag / m->how->max_lag[d], 2) : 0;
    }
    return sum <= 1 ? m->v[linear] : -INFINITY;
}

/* True if no neighbour of the element is larger. */
static bool is_top(const grid *m, int64_t linear)
{
    int64_t at[3];
    split(m, linear, at);
    for (int n = 0; n < 27; ++n) {
        const int64_t step[3] = { n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1 };
        int64_t other = 0;
        bool exists = true;
        for (int d = 0; d < 3; ++d) {
            int64_t i = at[d] + step[d], size = m->dim[d];
            exists = exists && (!m->how->places || (i >= 0 && i < size));
            other = other * size + (i + size) % size;
        }
        if (exists && searched(m, other) > searched(m, linear))
            return false;
    }
    return searched(m, linear) > -INFINITY;
}

static double distance(const grid *m, int64_t a, int64_t b)
{
    int64_t x[3], y[3];
    double sum = 0;
    split(m, a, x);
    split(m, b, y);
    for (int d = 0; d < 3; ++d) {
        double apart = fabs((double)(x[d] - y[d]));
        sum += pow(m->how->places ? apart : fmin(apart, (double)m->dim[d] - apart), 2);
    }
    return sqrt(sum);
}

/* Finds the peaks one by one; returns their number. */
static int find_peaks(const grid *m, int64_t *found)
{
    int n = 0;
    for (; n < m->how->count; ++n) {
        int64_t best = -1;
        for (int64_t i = 0; i < m->dim[0] * m->dim[1] * m->dim[2]; ++i) {
            bool far = is_top(m, i);
            for (int k = 0; k < n; ++k)
                far = far && i != found[k] && distance(m, i, found[k]) >= m->how->min_distance;
            if (far && (best < 0 || m->v[i] > m->v[best]))
                best = i;
        }
        if (best < 0)
            break;
        found[n] = best;
    }
    return n;
}

static void check_search(wf_shape shape, const wf_peak_search *how, uint64_t seed)
{
    wf_array *maps = noise(WF_F32, shape, seed), *peaks = wf_correlate_peaks(maps, shape.rank - 1, how);
    assert_non_null(peaks);
    double *v = download(maps), *p = download(peaks);
    grid m = { .dim = { 1, 1, 1 }, .rank = shape.rank - 1, .how = how };
    int64_t size = 1, found[MOST];
    for (int d = 1; d < shape.rank; ++d) {
        m.dim[3 - shape.rank + d] = shape.dim[d];
        size *= shape.dim[d];
    }
    for (int64_t b = 0; b < shape.dim[0]; ++b) {
        m.v = v + b * size;
        int n = find_peaks(&m, found);
        for (int i = 0; i < how->count; ++i) {
            const double *row = p + (b * how->count + i) * shape.rank;
            int64_t at[3];
            if (i < n)
                split(&m, found[i], at);
            for (int d = 0; d < m.rank; ++d) {
                int axis = 3 - m.rank + d;
                assert_true(i < n ? row[d] == (double)lag_of(&m, at[axis], axis) : isnan(row[d]));
            }
            assert_true(i < n ? row[m.rank] == m.v[found[i]] : isnan(row[m.rank]));
        }
    }
    free(v);
    free(p);
    wf_release(maps);
    wf_release(peaks);
}

static void test_search(void **state)
{
    (void)state;
    const wf_shape shapes[] = { WF_SHAPE(2, 9, 12), WF_SHAPE(3, 15), WF_SHAPE(2, 4, 5, 6), WF_SHAPE(2, 2, 7),
                                WF_SHAPE(1, 1, 1) };
    const double limits[][3] = { { 0, 0, 0 }, { 3, 0, 2 }, { 2.5, 2, 4 } }, distances[] = { 0, 3.5 };
    uint64_t seed = 0;
    for (int s = 0; s < (is_on_gpu() ? 2 : 5); ++s)
        for (int places = 0; places < 2; ++places)
            for (int limit = 0; limit < 3; ++limit)
                for (int far = 0; far < 2; ++far)
                    for (int count = 1; count <= MOST; count += MOST - 1) {
                        wf_peak_search how = {
                            .count = count, .min_distance = distances[far], .fit = WF_PEAK_WHOLE, .places = places
                        };
                        memcpy(how.max_lag, limits[limit], sizeof how.max_lag);
                        check_search(shapes[s], &how, ++seed);
                    }
}

/* Of two neighbours with the same value, also over the edges, the first is a peak. */
static void test_equal_neighbours(void **state)
{
    (void)state;
    enum { H = 4, W = 5 };
    for (int places = 0; places < 2; ++places)
        for (int first = 0; first < H * W; ++first)
            for (int n = 0; n < 9; ++n) {
                int row = first / W + n / 3 - 1, column = first % W + n % 3 - 1;
                bool inside = row >= 0 && row < H && column >= 0 && column < W;
                int second = (row + H) % H * W + (column + W) % W, least = first < second ? first : second;
                if (n == 4 || (places && !inside))
                    continue;
                float map[H * W] = { 0 };
                map[first] = map[second] = 1;
                wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), map);
                wf_array *peaks =
                    wf_correlate_peaks(a, 2, &(wf_peak_search){ .count = 2, .fit = WF_PEAK_WHOLE, .places = places });
                double *p = download(peaks);
                int64_t at[2] = { least / W, least % W };
                if (!places)
                    at[0] -= 2 * at[0] < H ? 0 : H, at[1] -= 2 * at[1] < W ? 0 : W;
                assert_true(p[0] == (double)at[0] && p[1] == (double)at[1] && p[2] == 1 && !(p[5] == 1));
                free(p);
                wf_release(a);
                wf_release(peaks);
            }
}

/* Tops between elements of a function that the fit represents exactly, over edges and in small and negative maps. */
static void check_fit(wf_peak_fit fit, int rank, const double *top, bool places, double scale)
{
    enum { N = 8 };
    double map[N * N * N], cross = fit == WF_PEAK_QUADRATIC ? 0.5 : 0, height = fit == WF_PEAK_GAUSSIAN ? 3 : -100;
    int64_t n = rank == 1 ? N : rank == 2 ? N * N : N * N * N;
    for (int64_t i = 0; i < n; ++i) {
        double form = 0, x[3] = { 0, 0, 0 };
        for (int64_t d = rank - 1, rest = i; d >= 0; --d, rest /= N) {
            x[d] = (double)(rest % N) - top[d];
            if (!places) /* the nearest image */
                x[d] -= N * floor(x[d] / N + 0.5);
        }
        for (int d = 0; d < rank; ++d)
            form += (1 + 0.5 * d) * x[d] * x[d] + (d ? cross * x[d] * x[d - 1] : 0);
        map[i] = scale * (fit == WF_PEAK_GAUSSIAN ? height * exp(-form / 9) : height - form);
    }
    wf_shape shape = { .rank = rank, .dim = { N, N, N } };
    wf_array *a = array_of(ctx, WF_F64, shape, map),
             *peaks = wf_correlate_peaks(a, rank, &(wf_peak_search){ .fit = fit, .places = places });
    double *p = download(peaks);
    for (int d = 0; d < rank; ++d)
        near(p[d], top[d], 1e-9, "top");
    near(p[rank], scale * height, 1e-9 * scale, "height");
    free(p);
    wf_release(a);
    wf_release(peaks);
}

static void test_fits(void **state)
{
    (void)state;
    const double inside[] = { 3.25, 4.3125, 2.875 }, wrapped[] = { -0.25, 0.375, -2.3125 };
    for (int fit = WF_PEAK_PARABOLA; fit < WF_PEAK_WHOLE; ++fit)
        for (int rank = 1; rank <= 3; ++rank)
            for (int places = 0; places < 2; ++places) {
                check_fit((wf_peak_fit)fit, rank, places ? inside : wrapped, places, 1);
                check_fit((wf_peak_fit)fit, rank, places ? inside : wrapped, places, 1e-12);
            }
}

/* The largest element within the limits is on the slope of a peak beyond them: its parabola, whose top is 8.5 elements
 * away, is not followed. */
static void test_slope_at_limit(void **state)
{
    (void)state;
    double map[32];
    for (int i = 0; i < 32; i++)
        map[i] = 100 - fabs(i - 11.0) * fabs(i - 11.0);
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(32), map);
    for (int fit = 0; fit < 4; ++fit) {
        wf_array *peaks = wf_correlate_peaks(a, 1, &(wf_peak_search){ .max_lag = { 3 }, .fit = (wf_peak_fit)fit });
        double *p = download(peaks);
        assert_true(p[0] == 3 && fabs(p[1] - map[3]) < 1e-9);
        free(p);
        wf_release(peaks);
    }
    wf_release(a);
}

/* At the edge of a map that does not wrap, and where logarithms do not exist, parabolas of the rest are taken. */
static void test_fits_at_edges(void **state)
{
    (void)state;
    const double map[] = { 9, 8, 1, 0, 0, 5, 6, 5, -1, 0, 0, 0 }; /* [3, 4] */
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(3, 4), map);
    for (int fit = 0; fit < 4; ++fit) {
        wf_array *peaks = wf_correlate_peaks(
            a, 2, &(wf_peak_search){ .count = 3, .fit = (wf_peak_fit)fit, .places = true, .min_distance = 2 });
        double *p = download(peaks);
        assert_true(p[0] == 0 && p[1] == 0); /* a corner */
        near(p[2], 9, 1e-14, "height");
        assert_true(isnan(p[6]) && isnan(p[7]) && isnan(p[8]));
        free(p);
        wf_release(peaks);
    }
    wf_release(a);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *x = noise(WF_F32, WF_SHAPE(4, 5), 1), *z = noise(WF_C64, WF_SHAPE(4, 5), 1),
             *line = noise(WF_F32, WF_SHAPE(3), 1), *none = wf_empty(ctx, WF_F32, WF_SHAPE(2, 0)),
             *empty = wf_empty(ctx, WF_F32, WF_SHAPE(0, 5));
    REFUSED(ctx, of_null(wf_correlate_score(x, line, NULL, 3, WF_SCORE_COSINE)), WF_ERR_SHAPE, "(4, 5)");
    REFUSED(ctx, of_null(wf_correlate_score(x, x, line, 3, WF_SCORE_COSINE)), WF_ERR_SHAPE, "(3)");
    REFUSED(ctx, of_null(wf_correlate_score(x, x, z, 3, WF_SCORE_COSINE)), WF_ERR_DTYPE, "`mask` is c64");
    REFUSED(ctx, of_null(wf_correlate_score(x, x, NULL, 4, WF_SCORE_COSINE)), WF_ERR_ARG, "the mask 0x4");
    REFUSED(ctx, of_null(wf_correlate_score(x, x, NULL, 3, (wf_score)3)), WF_ERR_ARG, "`how` is 3");
    REFUSED(ctx, of_null(wf_correlate_peaks(z, 2, NULL)), WF_ERR_DTYPE, "wf_correlate_peaks: the array is c64");
    REFUSED(ctx, of_null(wf_correlate_peaks(x, 3, NULL)), WF_ERR_ARG, "`rank` is 3");
    REFUSED(ctx, of_null(wf_correlate_peaks(x, 2, &(wf_peak_search){ .count = -1 })), WF_ERR_ARG, "search.count is -1");
    REFUSED(ctx, of_null(wf_correlate_peaks(x, 2, &(wf_peak_search){ .fit = (wf_peak_fit)4 })), WF_ERR_ARG,
            "search.fit is 4");
    REFUSED(ctx, of_null(wf_correlate_peaks(x, 2, &(wf_peak_search){ .min_distance = -2 })), WF_ERR_ARG,
            "search.min_distance is -2");
    REFUSED(ctx, of_null(wf_correlate_peaks(x, 2, &(wf_peak_search){ .max_lag = { 1, NAN } })), WF_ERR_ARG,
            "search.max_lag is nan");
    REFUSED(ctx, of_null(wf_correlate_peaks(none, 1, NULL)), WF_ERR_SHAPE, "the maps have no elements");
    assert_null(wf_correlate_peaks(NULL, 1, NULL));
    assert_null(wf_correlate_score(x, NULL, NULL, 1, WF_SCORE_COSINE));
    wf_clear_error(ctx);
    wf_array *peaks = wf_correlate_peaks(empty, 1, &(wf_peak_search){ .count = 4 });
    assert_non_null(peaks);
    wf_shape shape = wf_array_shape(peaks);
    assert_true(shape.rank == 3 && shape.dim[0] == 0 && shape.dim[1] == 4 && shape.dim[2] == 2);
    wf_array *given[] = { x, z, line, none, empty, peaks };
    for (int i = 0; i < 6; ++i)
        wf_release(given[i]);
}

/* A batch of as many axes as arrays have, less one. */
static void test_many_axes(void **state)
{
    (void)state;
    static const float x[10] = { 0, 1, 4, 1, 0, 2, 0, 0, 0, 1 };
    wf_array *flat = wf_empty_with(ctx, WF_F32, WF_SHAPE(1, 2, 1, 1, 1, 1, 1, 5), NULL);
    OK(ctx, wf_upload(flat, x, sizeof x));
    wf_array *peaks = wf_correlate_peak(flat, 1);
    assert_non_null(peaks);
    wf_shape shape = wf_array_shape(peaks);
    assert_int_equal(shape.rank, 8);
    assert_int_equal(shape.dim[1], 2);
    assert_int_equal(shape.dim[7], 2);
    double *found = contents(peaks);
    assert_true(found[0] == 2 && found[1] == 4);
    assert_true(found[2] < 0 && found[2] > -0.5 && found[3] > 2);
    free(found);
    wf_release(flat);
    wf_release(peaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_score_properties),
        cmocka_unit_test(test_equal_neighbours),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_slope_at_limit),
        cmocka_unit_test(test_fits_at_edges),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_many_axes),
    };
    return RUN_ON_ALL(tests);
}
