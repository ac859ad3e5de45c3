/* test_signal_windows.c - window filters: beside numbers of SciPy 1.17 (scipy.ndimage), and beside windows that are
 * walked through element by element, for all border modes, several dtypes, short and long windows, and batches; NaN,
 * views, empty arrays and mistakes.
 *
 * ctest: devices long first_tier
 */
#include "borders.h"
#include "signal_formulas.h"

static wf_array *noise(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 0, 1));
    return a;
}

typedef enum filter { CONVOLVE, GAUSSIAN, UNIFORM, MEDIAN, OPEN, CLOSE, FILTERS } filter;

/* ---- numbers of SciPy ----
 * Of the image below: convolve(k), gaussian_filter((1, 0.7)), 12 uniform_filter((3, 4)), median_filter((3, 2)),
 * grey_opening((2, 3)), grey_closing((2, 3)), for the modes reflect, mirror, nearest, grid-wrap, constant; cval = 2. */
enum { H = 4, W = 5 };
static const double image[H * W] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4 };
static const double kernel[6] = { 1, 2, -1, 0.5, -3, 4 };
static const struct {
    wf_border border;
    double value[FILTERS][H * W];
} scipy[] = {
    { WF_BORDER_MIRROR,
      {
          { 14.5, 12, 7.5, 22.5, -4.5, 23, 53, 9.5, 24.5, 32.5, 14, 4.5, 20.5, 36.5, 9.5, 9, 11.5, 15, 7, 26 },
          { 4.20795299577897, 3.05350682703941, 3.75117018693571, 3.47910829964023, 4.19419886864926,
            5.31446528286865, 4.33651969497679, 5.07043489951311, 4.90304213815454, 4.97694312520867,
            5.07623947555621, 4.95393692705182, 5.86646534129461, 6.25318702200118, 5.97158479195124,
            3.91562559716178, 4.08718315226669, 5.22890067960978, 6.49305222170041, 5.86648247264095 },
          { 38, 48, 40, 38, 47, 56, 64, 60, 60, 66, 58, 64, 67, 66, 70, 46, 49, 61, 67, 72 },
          { 3, 3, 4, 4, 5, 5, 5, 6, 6, 5, 5, 5, 6, 7, 7, 3, 3, 3, 8, 8 },
          { 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 2, 3, 4, 4, 2, 2, 3, 4, 4 },
          { 9, 6, 6, 5, 5, 9, 6, 6, 5, 5, 8, 8, 9, 9, 9, 3, 3, 3, 8, 8 },
      } },
    { WF_BORDER_REFLECT,
      {
          { 13.5, 12, 7.5, 22.5, -4.5, -8, 53, 9.5, 24.5, 31.5, 27, 4.5, 20.5, 36.5, 12.5, 10, 27.5, 20, 4, 42 },
          { 4.51831299848646, 3.7266158419733,  4.44780660192138, 4.18088571960872, 4.14376759607197,
            5.00296094162124, 4.46845212897624, 5.22320741267278, 5.04342251340699, 4.92080818974125,
            5.12588385706895, 5.21692576594831, 6.10513343488954, 6.34988568995292, 6.21976214588477,
            4.76280158183691, 5.13521358311686, 6.12993199663168, 6.75819979918023, 6.65087268672077 },
          { 47, 47, 53, 43, 49, 58, 58, 60, 60, 62, 59, 59, 67, 66, 74, 70, 70, 74, 83, 87 },
          { 3, 3, 4, 5, 5, 5, 5, 6, 6, 5, 5, 5, 6, 7, 7, 5, 5, 8, 8, 8 },
          { 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 2, 3, 4, 4, 2, 2, 3, 4, 4 },
          { 9, 6, 6, 5, 5, 9, 6, 6, 5, 5, 8, 8, 9, 9, 9, 8, 8, 9, 9, 9 },
      } },
    { WF_BORDER_CLAMP,
      {
          { 14.5, 12, 7.5, 22.5, -4.5, 23, 53, 9.5, 24.5, 32.5, 14, 4.5, 20.5, 36.5, 9.5, 9, 11.5, 15, 7, 26 },
          { 3.95858609074963, 2.90455158027475, 3.60723716108479, 3.33237473568757, 4.23377310304112,
            5.31822740395803, 4.32502980600301, 5.05931034787939, 4.89205905463407, 4.98506611674336,
            5.07085621549645, 4.93094939169262, 5.8460127892793,  6.24506294235904, 5.94906423726841,
            3.74183282545989, 3.80506982420749, 4.98027709242832, 6.40225154758167, 5.64882910878443 },
          { 49, 48, 40, 38, 47, 62, 64, 60, 60, 66, 63, 64, 67, 66, 70, 45, 49, 61, 67, 72 },
          { 3, 3, 4, 4, 5, 5, 5, 6, 6, 5, 5, 5, 6, 7, 7, 3, 3, 3, 8, 8 },
          { 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 2, 3, 4, 4, 2, 2, 3, 4, 4 },
          { 9, 6, 6, 5, 5, 9, 6, 6, 5, 5, 8, 8, 9, 9, 9, 3, 3, 3, 8, 8 },
      } },
    { WF_BORDER_PERIODIC,
      {
          { 28.5, 12, 7.5, 22.5, 0.5, -5, 53, 9.5, 24.5, 31.5, 29, 4.5, 20.5, 36.5, 6.5, 10, 10.5, 11, -7, 33.5 },
          { 4.18933347717453, 3.31632557534896, 4.17538249272278, 4.49775736741946, 4.60163142723084,
            5.16648403298248, 4.36353670339531, 5.13719185737862, 5.10100233154839, 5.18468041504142,
            5.21024787940492, 4.92492611839591, 5.7997083834291,  6.05722062884473, 5.77782034815595,
            4.23056906095065, 3.83644533199625, 4.80468837382271, 5.46232222588207, 5.16272596887494 },
          { 46, 45, 47, 44, 54, 58, 64, 60, 60, 66, 65, 63, 67, 66, 71, 56, 56, 54, 61, 61 },
          { 4, 3, 3, 5, 5, 5, 5, 6, 6, 5, 5, 5, 6, 7, 7, 5, 3, 4, 7, 7 },
          { 1, 1, 1, 1, 1, 3, 2, 3, 3, 3, 3, 2, 3, 3, 3, 3, 2, 3, 3, 3 },
          { 4, 4, 4, 6, 5, 9, 6, 6, 6, 6, 9, 9, 9, 9, 9, 4, 4, 4, 8, 5 },
      } },
    { WF_BORDER_VALUE,
      {
          { 17.5, 12, 7.5, 22.5, -7, -2, 53, 9.5, 24.5, 25, 3, 4.5, 20.5, 36.5, 4, 4, 11.5, 7, -6, 25 },
          { 3.29266146535944, 2.86862396373927, 3.37606689885269, 3.17092578217136, 3.18904119818619,
            4.45913246416575, 4.28320352733571, 5.00560644653784, 4.81731455992369, 4.21579141563393,
            4.33621309075448, 4.87189041594934, 5.73487255847402, 5.96983944337612, 4.98292000320727,
            3.17869475039776, 3.64673257019761, 4.42958617142831, 5.15887532645583, 4.25311801373544 },
          { 31, 37, 39, 35, 36, 40, 53, 60, 60, 55, 41, 53, 67, 66, 60, 34, 42, 53, 58, 52 },
          { 2, 2, 2, 4, 3, 3, 5, 6, 6, 5, 3, 5, 6, 7, 7, 2, 3, 3, 7, 7 },
          { 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 3, 3, 3, 2, 2, 3, 3, 3 },
          { 2, 2, 2, 2, 2, 2, 6, 6, 5, 2, 2, 8, 9, 9, 2, 2, 3, 3, 8, 2 },
      } },
};

static void test_scipy(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), image), *k = array_of(ctx, WF_F64, WF_SHAPE(2, 3), kernel);
    const int64_t of_uniform[] = { 3, 4 }, of_median[] = { 3, 2 }, flat[] = { 2, 3 };
    const double sigma[] = { 1, 0.7 };
    for (size_t m = 0; m < sizeof scipy / sizeof *scipy; ++m) {
        wf_border b = scipy[m].border;
        wf_array *found[FILTERS] = {
            wf_convolve(x, k, WF_AXES(0, 1), b, 2),
            wf_gaussian_filter(x, sigma, WF_ALL_AXES, b, 2),
            wf_uniform_filter(x, of_uniform, WF_ALL_AXES, b, 2),
            wf_median_filter(x, of_median, WF_ALL_AXES, b, 2),
            wf_morphology_open(x, flat, WF_ALL_AXES, b, 2),
            wf_morphology_close(x, flat, WF_ALL_AXES, b, 2),
        };
        for (int f = 0; f < FILTERS; ++f) {
            assert_int_equal(wf_array_dtype(found[f]), WF_F64);
            double *v = download(found[f]), scale = f == UNIFORM ? 12 : 1;
            for (int i = 0; i < H * W; ++i)
                near(v[i] * scale, scipy[m].value[f][i], 2e-14 * 60, "SciPy");
            free(v);
            wf_release(found[f]);
        }
    }
    wf_release(x);
    wf_release(k);
}

/* ---- windows walked through ---- */
enum { MOST = 1024 };

/* An array of rank 3 as f64. */
typedef struct numbers {
    int64_t dim[3];
    double *at;
} numbers;

static numbers numbers_of(const wf_array *a)
{
    wf_shape s = wf_array_shape(a);
    return (numbers){ { s.dim[0], s.dim[1], s.dim[2] }, download(a) };
}

static double element(const numbers *x, const int64_t *index, wf_border border, double outside)
{
    int64_t at = 0;
    for (int d = 0; d < 3; ++d) {
        int64_t i = border_index(border, index[d], x->dim[d]);
        if (i < 0)
            return outside;
        at = at * x->dim[d] + i;
    }
    return x->at[at];
}

/* Sets v to the elements of the window that begins before[d] elements before `at`; returns their number. */
static int window_at(const numbers *x, const int64_t *at, const int64_t *size, const int64_t *before, wf_border border,
                     double outside, double *v)
{
    int n = 0;
    for (int64_t i = 0; i < size[0]; ++i)
        for (int64_t j = 0; j < size[1]; ++j)
            for (int64_t k = 0; k < size[2]; ++k) {
                const int64_t index[3] = { at[0] - before[0] + i, at[1] - before[1] + j, at[2] - before[2] + k };
                assert_true(n < MOST);
                v[n++] = element(x, index, border, outside);
            }
    return n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += v[i];
    return sum / n;
}

/* Compares the results of all filters but convolution. `size` has 3 extents, 1 for axes that are not filtered. */
static void check_windows(wf_array *x, const int64_t *size, wf_border border, double outside)
{
    double v[MOST], most = wf_array_dtype(x) == WF_F64 ? 1e-13 : wf_array_dtype(x) == WF_F32 ? 2e-6 : 2e-3;
    int64_t sizes[3], forward[3], mirrored[3];
    wf_axes axes = 0;
    int n = 0;
    for (int d = 0; d < 3; ++d) {
        forward[d] = size[d] / 2;
        mirrored[d] = (size[d] - 1) / 2;
        if (size[d] > 1) {
            sizes[n++] = size[d];
            axes |= 1u << d;
        }
    }
    wf_border b = border ? border : WF_BORDER_VALUE;
    numbers given = numbers_of(x);
    wf_array *found[] = {
        wf_uniform_filter(x, sizes, axes, border, outside),  wf_median_filter(x, sizes, axes, border, outside),
        wf_rank_filter(x, -2, sizes, axes, border, outside), wf_erode(x, sizes, axes, border, outside),
        wf_dilate(x, sizes, axes, border, outside),
    };
    double *u[5];
    for (int f = 0; f < 5; ++f) {
        assert_non_null(found[f]);
        bool sums = f == 0 && wf_array_dtype(x) < WF_F16;
        assert_int_equal(wf_array_dtype(found[f]), sums ? WF_F64 : wf_array_dtype(x));
        u[f] = download(found[f]);
        wf_release(found[f]);
    }
    if (wf_array_dtype(x) < WF_F16)
        most = 1e-13;
    int64_t at[3], i = 0;
    for (at[0] = 0; at[0] < given.dim[0]; ++at[0])
        for (at[1] = 0; at[1] < given.dim[1]; ++at[1])
            for (at[2] = 0; at[2] < given.dim[2]; ++at[2], ++i) {
                n = window_at(&given, at, size, forward, b, outside, v);
                near(u[0][i], mean_of(v, n), most * 100, "mean");
                qsort(v, (size_t)n, sizeof *v, by_value);
                near(u[1][i], v[n / 2], 0, "median");
                near(u[2][i], v[n - 2], 0, "rank -2");
                near(u[3][i], v[0], 0, "eroded");
                window_at(&given, at, size, mirrored, b, outside, v);
                qsort(v, (size_t)n, sizeof *v, by_value);
                near(u[4][i], v[n - 1], 0, "dilated");
            }
    for (int f = 0; f < 5; ++f)
        free(u[f]);
    free(given.at);
}

static wf_array *integers(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_uniform(a, (wf_random){ .seed = seed }, 0, 100));
    return a;
}

static const wf_border borders[] = { WF_BORDER_NONE,     WF_BORDER_VALUE,  WF_BORDER_CLAMP,
                                     WF_BORDER_PERIODIC, WF_BORDER_MIRROR, WF_BORDER_REFLECT };
enum { BORDERS = sizeof borders / sizeof *borders };

static void test_borders(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 3, 3 }, { 2, 1, 5 }, { 1, 4, 2 }, { 3, 3, 3 } };
    for (int b = 0; b < BORDERS; ++b)
        for (int i = 0; i < 4; ++i) {
            if (is_left_out(b * 4 + i, 2, 2))
                continue;
            wf_array *x = integers(WF_F32, WF_SHAPE(2, 5, 7), (uint64_t)i),
                     *line = integers(WF_I16, WF_SHAPE(3, 4, 2), 9);
            check_windows(x, sizes[i], borders[b], 3);
            check_windows(line, sizes[i], borders[b], -7);
            wf_release(x);
            wf_release(line);
        }
}

static void test_all_dtypes(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_I8,  WF_U8,  WF_I16, WF_U16, WF_I32,  WF_U32,
                                       WF_I64, WF_U64, WF_F16, WF_F32, WF_BF16, WF_F64 };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        if (is_left_out((int)i, 1, 1))
            continue;
        wf_array *x = integers(dtypes[i], WF_SHAPE(1, 6, 9), i);
        check_windows(x, (const int64_t[]){ 1, 3, 2 }, WF_BORDER_MIRROR, 0);
        if (!is_on_gpu() || i % 4 == 0)
            check_windows(x, (const int64_t[]){ 1, 9, 10 }, WF_BORDER_VALUE, 5); /* by bits */
        wf_release(x);
    }
}

/* Windows that are joined from lines, larger than the array, and ranks that are found bit by bit. */
static void test_long_windows(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 21 }, { 1, 1, 67 }, { 1, 101, 2 }, { 1, 1, 500 }, { 3, 30, 10 } };
    for (int i = 0; i < (is_on_gpu() ? 3 : 5); ++i)
        for (int b = 1; b < BORDERS; b += 2) {
            if (is_left_out(i * BORDERS + b, 1, 1))
                continue;
            wf_array *x = noise(WF_F64, WF_SHAPE(2, 3, 40), (uint64_t)i);
            check_windows(x, sizes[i], borders[b], 0.5);
            wf_release(x);
        }
}

static void test_bools(void **state)
{
    (void)state;
    const bool bits[] = { 1, 1, 1, 0, 1, 1, 1, 1, 0, 0 };
    const double eroded[] = { 1, 1, 0, 0, 0, 1, 1, 0, 0, 0 }, dilated[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0 };
    const double opened[] = { 1, 1, 1, 0, 1, 1, 1, 1, 0, 0 }, middle[] = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 };
    wf_array *x = array_of(ctx, WF_BOOL, WF_SHAPE(10), bits);
    const int64_t three = 3, many = 99;
    wf_array *found[] = { wf_erode(x, &three, 1, WF_BORDER_CLAMP, 0), wf_dilate(x, &three, 1, WF_BORDER_CLAMP, 0),
                          wf_morphology_open(x, &three, 1, WF_BORDER_CLAMP, 0),
                          wf_median_filter(x, &three, 1, WF_BORDER_CLAMP, 0),
                          wf_rank_filter(x, -1, &many, 1, WF_BORDER_VALUE, 0) };
    const double *const expected[] = { eroded, dilated, opened, middle };
    for (int f = 0; f < 4; ++f) {
        double *v = download(found[f]);
        for (int i = 0; i < 10; ++i)
            near(v[i], expected[f][i], 0, f == 0 ? "eroded" : f == 1 ? "dilated" : f == 2 ? "opened" : "median");
        free(v);
    }
    double *v = download(found[4]);
    for (int i = 0; i < 10; ++i)
        near(v[i], 1, 0, "largest bool");
    free(v);
    for (int f = 0; f < 5; ++f) {
        assert_int_equal(wf_array_dtype(found[f]), WF_BOOL);
        wf_release(found[f]);
    }
    wf_release(x);
}

/* A window that holds a NaN gives NaN, whatever its rank, and infinities have their order. */
static void test_nan(void **state)
{
    (void)state;
    const float given[] = { 1, 2, NAN, 3, -INFINITY, 4, 5, INFINITY, 6, 7 };
    const double median[] = { 1, NAN, NAN, NAN, 3, 4, 5, 6, 7, 7 },
                 least[] = { 1, NAN, NAN, NAN, -INFINITY, -INFINITY, 4, 5, 6, 6 };
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(10), given);
    const int64_t three = 3, many = 90;
    wf_array *found[] = { wf_median_filter(x, &three, 1, WF_BORDER_CLAMP, 0),
                          wf_erode(x, &three, 1, WF_BORDER_CLAMP, 0),
                          wf_rank_filter(x, 5, &many, 1, WF_BORDER_CLAMP, 0) };
    for (int f = 0; f < 3; ++f) {
        double *v = download(found[f]);
        for (int i = 0; i < 10; ++i) {
            double e = f == 2 ? NAN : f ? least[i] : median[i];
            assert_true(isnan(e) ? isnan(v[i]) : v[i] == e);
        }
        free(v);
        wf_release(found[f]);
    }
    wf_release(x);
}

/* ---- convolution ---- */
/* Compares wf_convolve of x, [2, h, w], with a kernel [n, m]. */
static void check_convolution(const wf_array *x, const wf_array *k, wf_border border, double outside, double most)
{
    wf_array *found = wf_convolve(x, k, WF_AXES(1, 2), border, outside);
    assert_non_null(found);
    numbers given = numbers_of(x);
    double *weight = download(k), *v = download(found);
    const int64_t n = wf_array_shape(k).dim[0], m = wf_array_shape(k).dim[1];
    int64_t at[3], p = 0;
    for (at[0] = 0; at[0] < given.dim[0]; ++at[0])
        for (at[1] = 0; at[1] < given.dim[1]; ++at[1])
            for (at[2] = 0; at[2] < given.dim[2]; ++at[2], ++p) {
                double sum = 0;
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t j = 0; j < m; ++j) {
                        const int64_t index[3] = { at[0], at[1] + n / 2 - i, at[2] + m / 2 - j };
                        sum += weight[i * m + j] * element(&given, index, border, outside);
                    }
                near(v[p], sum, most, "convolved");
            }
    free(weight);
    free(v);
    free(given.at);
    wf_release(found);
}

static void test_convolve(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 }, { 3, 3 }, { 2, 5 }, { 9, 10 } };
    for (int i = 0; i < 4; ++i)
        for (int b = 1; b < BORDERS; ++b) {
            wf_array *x = noise(WF_F32, WF_SHAPE(2, 5, 6), 3), *wide = noise(WF_F64, WF_SHAPE(2, 5, 6), 4);
            wf_array *k = noise(WF_F32, WF_SHAPE(sizes[i][0], sizes[i][1]), (uint64_t)i);
            check_convolution(x, k, borders[b], 0.25, 2e-5);
            check_convolution(wide, k, borders[b], 0.25, 1e-12);
            wf_release(x);
            wf_release(wide);
            wf_release(k);
        }
}

static void check_same(const wf_array *a, const wf_array *b, double most)
{
    bool close = false;
    OK(ctx, wf_array_all_close(a, b, most, most, false, &close));
    assert_true(close);
}

/* Separable kernels beside their outer product, with a value outside that is not 0, and one line for all axes. */
static void test_separable(void **state)
{
    (void)state;
    wf_array *x = noise(WF_F64, WF_SHAPE(3, 8, 9), 5);
    for (int b = 1; b < BORDERS; ++b)
        for (int64_t n = 4; n <= 70; n += 66) {
            wf_array *u = noise(WF_F64, WF_SHAPE(3), 6), *v = noise(WF_F64, WF_SHAPE(n), 7);
            wf_array *column = wf_view_reshape(u, WF_SHAPE(3, 1)), *row = wf_view_reshape(v, WF_SHAPE(1, n));
            wf_graph *g = wf_begin(ctx);
            wf_array *outer = wf_keep(wf_mul(wf_in(g, column), wf_in(g, row)));
            OK(ctx, wf_run(g));
            wf_array *dense = wf_convolve(x, outer, WF_AXES(1, 2), borders[b], -1.5);
            wf_array *lines = wf_convolve_separable(x, WF_ARRAYS(u, v), WF_AXES(1, 2), borders[b], -1.5);
            wf_array *both = wf_convolve_separable(x, WF_ARRAYS(u), WF_AXES(0, 2), borders[b], 0);
            wf_array *twice = wf_convolve_separable(x, WF_ARRAYS(u, u), WF_AXES(0, 2), borders[b], 0);
            check_same(lines, dense, 1e-12);
            check_same(both, twice, 0);
            wf_array *given[] = { u, v, column, row, outer, dense, lines, both, twice };
            for (int i = 0; i < 9; ++i)
                wf_release(given[i]);
        }
    wf_release(x);
}

/* gaussian_filter(image, sigma, order) for the modes reflect, nearest, grid-wrap. */
static void test_derivatives(void **state)
{
    (void)state;
    static const struct {
        double sigma[2];
        int order[2];
        wf_border border;
        double value[H * W];
    } rows[] = {
        { { 1, 0.7 }, { 0, 1 }, WF_BORDER_MIRROR, { -1.2106410491665036,   -0.09581306379383382, 0.34939237966242875,
                                                    0.012544186907881547,  0.7779797926181224,   -1.0421242444714567,
                                                    -0.03243165604255533,  0.5209282836144081,   -0.2828097896645644,
                                                    0.20595451514992902,   -0.30410405926056544, 0.44388484488292845,
                                                    0.9026111571161105,    -0.09788294450930479, -0.25250519748192135,
                                                    -0.024421234139161856, 0.5648532583365868,   1.6201511521903702,
                                                    0.26341143351926793,   -0.7674652261953536 } },
        { { 1, 0.7 }, { 2, 1 }, WF_BORDER_CLAMP, { 0.37317656782415654,  0.2237965009371854,  0.037669591011080625,
                                                   -0.08985466843515175, -0.2681054455119717, 0.9754168500315288,
                                                   0.6725047353731057,   0.11844900354539711, 0.7012804200673132,
                                                   0.3973951880424489,   -0.807384169115231,  -0.5935142569501544,
                                                   0.6293117933507376,   0.19816003115335323, -0.3185147260136353,
                                                   -0.4412755975026046,  -0.2559215645451872, -0.3415314910732009,
                                                   -0.2754322420006559,  0.23607134988241582 } },
        { { 0.8, 1.3 }, { 3, 4 }, WF_BORDER_PERIODIC, { -1.691913988372272,  -0.7661309196796489, -0.01903999223694526,
                                                        1.7710162634478315,  0.7133851451570906,  1.0037144288748445,
                                                        -0.5168082237622077, -0.6691595672604821, -0.42012925811291413,
                                                        0.6375018601778266,  1.691913988372272,   0.7661309196796489,
                                                        0.01903999223694526, -1.7710162634478315, -0.7133851451570906,
                                                        -1.0037144288748445, 0.5168082237622077,  0.6691595672604821,
                                                        0.42012925811291413, -0.6375018601778266 } },
    };
    for (int r = 0; r < 3; ++r)
        for (int wide = 0; wide < 2; ++wide) {
            wf_array *exact = array_of(ctx, WF_F64, WF_SHAPE(H, W), image);
            wf_array *x = wf_array_cast(exact, wide ? WF_F64 : WF_F32);
            wf_array *y = wf_gaussian_derivative(x, rows[r].sigma, rows[r].order, WF_AXES(0, 1), rows[r].border, 0);
            assert_non_null(y);
            double *v = download(y);
            for (int k = 0; k < H * W; ++k)
                near(v[k], rows[r].value[k], wide ? 1e-13 : 1e-5, "derivative");
            free(v);
            wf_array *all[] = { exact, x, y };
            for (int k = 0; k < 3; ++k)
                wf_release(all[k]);
        }
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), image);
    wf_array *plain = wf_gaussian_filter(x, rows[0].sigma, WF_AXES(0, 1), WF_BORDER_MIRROR, 0);
    wf_array *same = wf_gaussian_derivative(x, rows[0].sigma, NULL, WF_AXES(0, 1), WF_BORDER_MIRROR, 0);
    check_same(plain, same, 0);
    const double sigma[] = { 0.01, 0 }; /* of one element: the slope there is 0 */
    wf_array *flat = wf_gaussian_derivative(x, sigma, (const int[]){ 1, 0 }, WF_AXES(0, 1), WF_BORDER_CLAMP, 0);
    double *v = download(flat);
    for (int k = 0; k < H * W; ++k)
        near(v[k], 0, 0, "slope");
    free(v);
    assert_null(wf_gaussian_derivative(x, sigma, (const int[]){ 0, 1 }, WF_AXES(0, 1), WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_gaussian_derivative: `sigma` of axis 1 is 0, but a derivative");
    assert_null(wf_gaussian_derivative(x, sigma, (const int[]){ 11, 0 }, WF_AXES(0, 1), WF_BORDER_CLAMP, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_gaussian_derivative: `order` of axis 0 is 11, not 0 to 10");
    wf_array *all[] = { x, plain, same, flat };
    for (int k = 0; k < 4; ++k)
        wf_release(all[k]);
}

/* Complex elements and kernels, integers, f16, and a sigma of 0. */
static void test_convolved_dtypes(void **state)
{
    (void)state;
    wf_array *x = noise(WF_C64, WF_SHAPE(9), 8), *k = noise(WF_C64, WF_SHAPE(4), 9),
             *y = wf_convolve(x, k, 1, WF_BORDER_PERIODIC, 0);
    assert_int_equal(wf_array_dtype(y), WF_C64);
    number *a = download_complex(x), *w = download_complex(k), *v = download_complex(y);
    for (int i = 0; i < 9; ++i) {
        number sum = 0;
        for (int j = 0; j < 4; ++j)
            sum += w[j] * a[(i + 2 - j + 9) % 9];
        near(cabs(v[i] - sum), 0, 2e-6, "complex");
    }
    wf_array *bytes = integers(WF_U8, WF_SHAPE(6, 7), 1), *halves = wf_array_cast(bytes, WF_F16),
             *wide = wf_array_cast(bytes, WF_F64);
    const double sigma[] = { 0, 1.25 };
    wf_array *of_bytes = wf_gaussian_filter(bytes, sigma, WF_ALL_AXES, WF_BORDER_CLAMP, 0),
             *of_halves = wf_gaussian_filter(halves, sigma, WF_ALL_AXES, WF_BORDER_CLAMP, 0),
             *of_wide = wf_gaussian_filter(wide, sigma + 1, WF_AXES(1), WF_BORDER_CLAMP, 0),
             *same = wf_gaussian_filter(halves, sigma, WF_AXES(0), WF_BORDER_CLAMP, 0);
    assert_int_equal(wf_array_dtype(of_bytes), WF_F64);
    assert_int_equal(wf_array_dtype(of_halves), WF_F16);
    check_same(of_bytes, of_wide, 0);
    check_same(of_halves, of_wide, 1e-3);
    check_same(same, halves, 0);
    free(a);
    free(w);
    free(v);
    wf_array *given[] = { x, k, y, bytes, halves, wide, of_bytes, of_halves, of_wide, same };
    for (int i = 0; i < 10; ++i)
        wf_release(given[i]);
}

/* Views with gaps, arrays without elements and without axes. */
static void test_layouts(void **state)
{
    (void)state;
    const int64_t size[] = { 3, 2 };
    wf_array *whole = noise(WF_F32, WF_SHAPE(8, 20), 1), *gaps = wf_view_slice(whole, 1, 19, WF_END_INDEX, -2),
             *packed = wf_array_copy(gaps), *a = wf_median_filter(gaps, size, WF_ALL_AXES, WF_BORDER_MIRROR, 0),
             *b = wf_median_filter(packed, size, WF_ALL_AXES, WF_BORDER_MIRROR, 0);
    check_same(a, b, 0);
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0, 5)), *c = wf_median_filter(none, size, 3, WF_BORDER_MIRROR, 0),
             *d = wf_uniform_filter(none, size, 3, WF_BORDER_CLAMP, 0), *e = wf_convolve(none, packed, 3, 0, 0);
    assert_true(c && d && e && !wf_array_count(c) && !wf_array_count(d) && !wf_array_count(e));
    wf_array *scalar = wf_full(ctx, WF_F32, WF_SCALAR, 7), *f = wf_erode(scalar, NULL, WF_ALL_AXES, WF_BORDER_CLAMP, 0),
             *h = wf_gaussian_filter(scalar, NULL, WF_ALL_AXES, WF_BORDER_CLAMP, 0);
    check_same(f, scalar, 0);
    check_same(h, scalar, 0);
    wf_array *given[] = { whole, gaps, packed, a, b, none, c, d, e, scalar, f, h };
    for (int i = 0; i < 12; ++i)
        wf_release(given[i]);
}

static wf_status failed(wf_array *a)
{
    assert_null(a);
    return wf_last_status(ctx);
}

static void test_mistakes(void **state)
{
    (void)state;
    const int64_t size[] = { 3, 0 };
    const double sigma[] = { -1, NAN };
    wf_array *x = noise(WF_F32, WF_SHAPE(4, 5), 1), *line = noise(WF_F32, WF_SHAPE(3), 2),
             *z = noise(WF_C64, WF_SHAPE(4), 3), *bytes = integers(WF_U8, WF_SHAPE(4), 4),
             *none = wf_empty(ctx, WF_F32, WF_SHAPE(0));
    REFUSED(ctx, failed(wf_uniform_filter(x, size, 3, WF_BORDER_CLAMP, 0)), WF_ERR_ARG,
            "wf_uniform_filter: the window has extent 0 along axis 1");
    REFUSED(ctx, failed(wf_erode(x, NULL, 3, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "wf_erode: `size` is NULL");
    REFUSED(ctx, failed(wf_dilate(x, size, 4, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "wf_dilate: the mask 0x4");
    REFUSED(ctx, failed(wf_dilate(x, size, 1, (wf_border)6, 0)), WF_ERR_ARG, "wf_dilate: there is no border mode 6");
    REFUSED(ctx, failed(wf_erode(z, size, 1, WF_BORDER_CLAMP, 0)), WF_ERR_DTYPE, "wf_erode");
    REFUSED(ctx, failed(wf_rank_filter(x, 3, size, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG,
            "wf_rank_filter: `rank` is 3, but the window has 3 elements");
    REFUSED(ctx, failed(wf_rank_filter(x, -4, size, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "`rank` is -4");
    REFUSED(ctx, failed(wf_median_filter(bytes, size, 1, WF_BORDER_VALUE, 300)), WF_ERR_DTYPE,
            "wf_median_filter: `outside` is 300, which elements of u8 cannot hold");
    REFUSED(ctx, failed(wf_gaussian_filter(x, sigma, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG,
            "wf_gaussian_filter: `sigma` of axis 0 is -1");
    REFUSED(ctx, failed(wf_gaussian_filter(x, sigma + 1, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "axis 0 is nan");
    REFUSED(ctx, failed(wf_gaussian_filter(x, NULL, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "`sigma` is NULL");
    REFUSED(ctx, failed(wf_convolve(x, line, 3, WF_BORDER_CLAMP, 0)), WF_ERR_SHAPE,
            "wf_convolve: `kernel` has 1 axes, but `axes` names 2");
    REFUSED(ctx, failed(wf_convolve(x, x, 1, WF_BORDER_CLAMP, 0)), WF_ERR_SHAPE, "`kernel` has 2 axes");
    REFUSED(ctx, failed(wf_convolve(x, none, 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG, "extent 0 along axis 0");
    REFUSED(ctx, failed(wf_convolve_separable(x, WF_ARRAYS(x), 1, WF_BORDER_CLAMP, 0)), WF_ERR_SHAPE,
            "wf_convolve_separable: kernel 0 of 1 has rank 2");
    REFUSED(ctx, failed(wf_convolve_separable(x, WF_NO_ARRAYS, 1, WF_BORDER_CLAMP, 0)), WF_ERR_SHAPE, "is missing");
    REFUSED(ctx, failed(wf_convolve_separable(x, WF_ARRAYS(line, line), 1, WF_BORDER_CLAMP, 0)), WF_ERR_ARG,
            "2 kernels for 1 axes");
    wf_array *here = wf_copy_to(line, WF_CPU);
    if (is_on_gpu())
        REFUSED(ctx, failed(wf_convolve(x, here, 1, WF_BORDER_CLAMP, 0)), WF_ERR_DEVICE, "f32 of shape (3)");
    assert_null(wf_median_filter(NULL, size, 1, WF_BORDER_CLAMP, 0));
    assert_null(wf_convolve(x, NULL, 1, WF_BORDER_CLAMP, 0));
    wf_clear_error(ctx);
    wf_array *given[] = { x, line, z, bytes, none, here };
    for (int i = 0; i < 6; ++i)
        wf_release(given[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),        cmocka_unit_test(test_borders),   cmocka_unit_test(test_all_dtypes),
        cmocka_unit_test(test_long_windows), cmocka_unit_test(test_bools),     cmocka_unit_test(test_nan),
        cmocka_unit_test(test_convolve),     cmocka_unit_test(test_separable), cmocka_unit_test(test_convolved_dtypes),
        cmocka_unit_test(test_layouts),      cmocka_unit_test(test_mistakes),  cmocka_unit_test(test_derivatives),
    };
    return RUN_ON_ALL(tests);
}
