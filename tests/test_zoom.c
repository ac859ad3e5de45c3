/* test_zoom.c - wf_zoom beside plain C for all grids, extents and interpolations, and beside scipy.ndimage.zoom; mistakes.
 *
 * ctest: devices first_tier
 */
#include "plain_interpolation.h"

static double position_in(wf_zoom_grid grid, int64_t i, int64_t n, int64_t m)
{
    double ratio = (double)n / (double)m;
    switch (grid) {
    case WF_ZOOM_PIXELS:
        return ((double)i + 0.5) * ratio - 0.5;
    case WF_ZOOM_ENDS:
        return m == 1 ? 0 : (double)(i * (n - 1)) / (double)(m - 1);
    case WF_ZOOM_CENTERS:
        return (double)(n / 2) + (double)(i - m / 2) * ratio;
    default:
        return (double)i * ratio;
    }
}

static void test_grids(void **state)
{
    (void)state;
    static const int64_t from[3][3] = { { 5, 7, 4 }, { 1, 2, 3 }, { 6, 9, 8 } };
    for (int grid = WF_ZOOM_PIXELS; grid <= WF_ZOOM_ORIGINS; ++grid)
        for (int k = 1; k <= 9; ++k)
            for (int axes = 1; axes <= 3; ++axes) {
                wf_interpolation how = (wf_interpolation)((grid + k + axes) % INTERPOLATIONS);
                if (how == WF_INTERPOLATE_NEAREST || (axes == 3 && how > WF_INTERPOLATE_BSPLINE))
                    how =
                        WF_INTERPOLATE_LINEAR; /* halves of the nearest differ by roundings; those of 3 axes are many */
                if (is_on_gpu() && (how > WF_INTERPOLATE_CUBIC || (k + axes) % 3))
                    continue;
                const int64_t *n = from[k % 3];
                int64_t to[3] = { k, 10 - k, k % 4 + 2 }, each = 1, all = 1;
                image m = { .axes = axes, .how = { .interpolation = how, .border = borders[(k + grid) % BORDERS] } };
                m.how.outside = 0.25;
                m.how.prefiltered = true;
                memcpy(m.dim, n, sizeof m.dim);
                wf_shape shape = { .rank = axes }, old = { .rank = axes + 1, .dim = { 2 } };
                for (int d = 0; d < axes; ++d) {
                    each *= old.dim[d + 1] = n[d];
                    all *= shape.dim[d] = to[d];
                }
                double *x = random_numbers(2 * each, (uint64_t)k), *expected = malloc((size_t)(2 * all) * sizeof *x);
                for (int64_t i = 0; i < 2 * all; ++i) {
                    int64_t rest = i;
                    double at[3];
                    for (int d = axes; d-- > 0; rest /= to[d])
                        at[d] = position_in((wf_zoom_grid)grid, rest % to[d], n[d], to[d]);
                    m.x = x + rest * each;
                    expected[i] = visit(&m, at, NULL, 0);
                }
                wf_array *a = numbers_as(k % 2 ? WF_F64 : WF_C128, old, x);
                wf_array *y = wf_zoom(a, shape, (wf_zoom_grid)grid, &m.how);
                check_near(y, expected, 1e-12, "zoom", grid * 1000 + k * 10 + axes);
                wf_release(a);
                wf_release(y);
                free(x);
                free(expected);
            }
}

/* The values of SciPy 1.16's zoom of these 4 x 5 numbers to 7 x 3. */
static void test_scipy(void **state)
{
    (void)state;
    static const struct {
        wf_zoom_grid grid;
        wf_interpolation how;
        wf_border border;
        double expected[21];
    } rows[] = {
        { WF_ZOOM_PIXELS, WF_INTERPOLATE_LINEAR, WF_BORDER_CLAMP, { 1.66666666667, 3,
                                                                    4.33333333333, 2.02380952381,
                                                                    2.28571428571, 4.21428571429,
                                                                    2.59523809524, 1.14285714286,
                                                                    4.02380952381, 4.33333333333,
                                                                    3.5,           5,
                                                                    5.7380952381,  5.85714285714,
                                                                    5.97619047619, 3.64285714286,
                                                                    4.71428571429, 5.78571428571,
                                                                    2.33333333333, 4,
                                                                    5.66666666667 } },
        { WF_ZOOM_PIXELS,
          WF_INTERPOLATE_BSPLINE,
          WF_BORDER_REFLECT,
          { 1.10309352199,  2.69890670554, 4.91266206596, 1.22138393339, 2.2693148688,  4.85092872183, 2.53025446573,
            0.918294460641, 4.73049356364, 5.10433201058, 3.5,           5.37946428571, 5.85127493174, 6.08170553936,
            6.03749517948,  3.15882271276, 4.7306851312,  5.93690129113, 2.56259120428, 4.30109329446, 5.8787110309 } },
        { WF_ZOOM_PIXELS,
          WF_INTERPOLATE_BSPLINE,
          WF_BORDER_PERIODIC,
          { 0.745380800228, 3.33454810496,  5.46538207635, 0.948293675334, 1.90032798834, 4.71052728451,
            1.95684861246,  0.879919825073, 4.37159373129, 4.63362794613,  3.5,           5.10921717172,
            5.93769203208,  6.12008017493,  6.08908447939, 3.5691425921,   5.09967201166, 6.34611052213,
            1.1523464725,   3.66545189504,  6.05355731759 } },
        { WF_ZOOM_ENDS, WF_INTERPOLATE_BSPLINE, WF_BORDER_REFLECT, { 0, 3, 6, 0.875, 1.775, 6,     3, 1, 6, 5.375, 3.5,
                                                                     6, 6, 6, 6,     3.75,  5.225, 6, 2, 4, 6 } },
        { WF_ZOOM_ENDS, WF_INTERPOLATE_BSPLINE, WF_BORDER_PERIODIC, { 0, 3,       6,       1.03125, 1.4375, 6, 3,
                                                                      1, 6,       5.15625, 3.5,     6,      6, 6,
                                                                      6, 4.46875, 5.5625,  6,       2,      4, 6 } },
    };
    double x[20];
    for (int i = 0; i < 20; ++i)
        x[i] = (3 * (i / 5) + 5 * (i % 5) + i / 5 * (i % 5)) % 7;
    wf_array *a = numbers_as(WF_F64, WF_SHAPE(4, 5), x);
    for (int i = 0; i < 5; ++i) {
        wf_array *y = wf_zoom(a, WF_SHAPE(7, 3), rows[i].grid,
                              &(wf_interp){ .interpolation = rows[i].how, .border = rows[i].border });
        check_near(y, rows[i].expected, 1e-10, "SciPy", i);
        wf_release(y);
    }
    wf_release(a);
}

/* The own extents have the bits of the array. */
static void test_same(void **state)
{
    (void)state;
    double *x = random_numbers(7 * 6, 8);
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(7, 6), x);
    for (int grid = WF_ZOOM_PIXELS; grid <= WF_ZOOM_ORIGINS; ++grid) {
        wf_array *y = wf_zoom(a, WF_SHAPE(7, 6), (wf_zoom_grid)grid,
                              &(wf_interp){ .interpolation = (wf_interpolation)(grid % 3), .border = WF_BORDER_CLAMP });
        check_near(y, x, 0, "the same extents", grid);
        wf_release(y);
    }
    wf_release(a);
    free(x);
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[16] = { 0 };
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_array *a = numbers_as(WF_U8, WF_SHAPE(4, 4), zeros), *none = wf_view_slice(a, 1, 2, 2, 1);
    REFUSED(ctx, of_null(wf_zoom(a, WF_SCALAR, WF_ZOOM_ENDS, &how)), WF_ERR_SHAPE,
            "wf_zoom: `shape` has rank 0; 1 to 3 of x's 2 axes are possible");
    REFUSED(ctx, of_null(wf_zoom(a, WF_SHAPE(2, 2, 2), WF_ZOOM_ENDS, &how)), WF_ERR_SHAPE,
            "wf_zoom: `shape` has rank 3; 1 to 3 of");
    REFUSED(ctx, of_null(wf_zoom(a, WF_SHAPE(2, -1), WF_ZOOM_ENDS, &how)), WF_ERR_SHAPE,
            "wf_zoom: shape.dim[1] is -1, and x has 4 elements there");
    REFUSED(ctx, of_null(wf_zoom(none, WF_SHAPE(2, 2), WF_ZOOM_ENDS, &how)), WF_ERR_SHAPE,
            "wf_zoom: shape.dim[1] is 2, and x has 0 elements there");
    REFUSED(ctx, of_null(wf_zoom(a, WF_SHAPE(2, 2), (wf_zoom_grid)7, &how)), WF_ERR_ARG, "wf_zoom: there is no grid 7");
    REFUSED(ctx, of_null(wf_zoom(a, WF_SHAPE(2, 2), WF_ZOOM_ENDS, NULL)), WF_ERR_ARG, "wf_zoom: `how` is NULL");
    wf_array *empty = wf_zoom(a, WF_SHAPE(3, 0), WF_ZOOM_PIXELS, &how);
    assert_non_null(empty);
    assert_int_equal(wf_array_dtype(empty), WF_F32);
    assert_int_equal(wf_array_count(empty), 0);
    wf_array *spent[] = { a, none, empty };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_grids), cmocka_unit_test(test_scipy),
                                        cmocka_unit_test(test_same), cmocka_unit_test(test_mistakes) };
    return RUN_ON_ALL(tests);
}
