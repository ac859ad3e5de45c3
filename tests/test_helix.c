/* test_helix.c - averages over the units of helices: beside plain C, of Gaussians along a helix in closed form; mistakes.
 *
 * ctest: devices
 */
#include "plain_interpolation.h"

/* The average at p, the indices of an element. */
static double plain_average(const image *m, const wf_helix *h, const double *center, const int64_t *p)
{
    double depth = (double)m->dim[0], half = (h->fraction == 0 ? 0.3 : h->fraction) * depth / 2;
    double rise = h->pixel > 0 ? h->rise / h->pixel : h->rise, from[3], sum = 0;
    int cyclic = h->cyclic ? h->cyclic : 1, units = 0;
    for (int d = 0; d < 3; ++d)
        from[d] = (double)p[d] - center[d];
    for (int k = -200; k <= 200; ++k) {
        double z = from[0] + k * rise;
        if (z < -half || z > half || z + center[0] < 0 || z + center[0] > depth - 1)
            continue;
        for (int c = 0; c < cyclic; ++c) {
            double a = (k * h->twist + 360.0 * c / cyclic) * M_PI / 180;
            double at[3] = { center[0] + z, center[1] + cos(a) * from[1] + sin(a) * from[2],
                             center[2] - sin(a) * from[1] + cos(a) * from[2] };
            sum += visit(m, at, NULL, 0);
            ++units;
        }
    }
    return sum / units;
}

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        int64_t dim[3];
        wf_helix helix;
        wf_interpolation how;
        wf_border border;
        double center[3]; /* all 0: NULL */
    } rows[] = { { { 9, 6, 7 }, { 1.3, 40, 0, 0.5, 0 }, WF_INTERPOLATE_LINEAR, WF_BORDER_VALUE, { 0 } },
                 { { 8, 5, 5 }, { 1.1, -77.5, 0, 0.9, 3 }, WF_INTERPOLATE_CUBIC, WF_BORDER_MIRROR, { 3.5, 2.25, 1.5 } },
                 { { 7, 4, 3 }, { 2.6, 200, 1.3, 0.7, 2 }, WF_INTERPOLATE_LINEAR, WF_BORDER_CLAMP, { 0 } },
                 { { 9, 1, 2 }, { 0.9, 11, 0, 0, 1 }, WF_INTERPOLATE_LINEAR, WF_BORDER_PERIODIC, { 0 } },
                 { { 2, 2, 2 }, { 0.35, 90, 0, 1, 0 }, WF_INTERPOLATE_LINEAR, WF_BORDER_VALUE, { 0 } } };
    for (int i = 0; i < 5; ++i) {
        if (is_on_gpu() && i % 2)
            continue;
        const int64_t *n = rows[i].dim;
        int64_t each = n[0] * n[1] * n[2];
        double *x = random_numbers(2 * each, 3 + (uint64_t)i), *expected = malloc((size_t)(2 * each) * sizeof *x);
        bool given = rows[i].center[0] > 0;
        double middle[3] = { (double)(n[0] / 2), (double)(n[1] / 2), (double)(n[2] / 2) };
        image m = { .axes = 3, .how = { .interpolation = rows[i].how, .border = rows[i].border, .outside = 0.25 } };
        memcpy(m.dim, n, sizeof m.dim);
        for (int64_t e = 0; e < 2 * each; ++e) {
            int64_t p[3] = { e % each / (n[1] * n[2]), e / n[2] % n[1], e % n[2] };
            m.x = x + e / each * each;
            expected[e] = plain_average(&m, &rows[i].helix, given ? rows[i].center : middle, p);
        }
        wf_array *a = numbers_as(i % 2 ? WF_C128 : WF_F64, WF_SHAPE(2, n[0], n[1], n[2]), x);
        wf_array *y = wf_symmetrize_helix(a, &rows[i].helix, given ? rows[i].center : NULL, &m.how);
        check_near(y, expected, 1e-12, "helix", i);
        wf_array *second = wf_view_at(a, 0, 1);
        wf_array *alone = wf_symmetrize_helix(second, &rows[i].helix, given ? rows[i].center : NULL, &m.how);
        wf_array *half = wf_view_at(y, 0, 1);
        double *same = numbers_of(half, 0);
        check_near(alone, same, 0, "the second of two", i);
        wf_array *spent[] = { a, y, second, alone, half };
        for (int k = 0; k < 5; ++k)
            wf_release(spent[k]);
        free(same);
        free(x);
        free(expected);
    }
}

/* A right-handed helix of Gaussians, of which the volume has the middle only, is complete afterwards. */
static void test_ends(void **state)
{
    (void)state;
    enum { D = 48, N = 20 };
    static const double rise = 3.7, twist = 65, radius = 5, sigma = 1.8;
    if (is_on_gpu())
        return; /* takes a minute on the emulator, and test_plain has the same code */
    double *whole = calloc(D * N * N, sizeof *whole), *middle = calloc(D * N * N, sizeof *middle);
    for (int i = 0; i < D * N * N; ++i) {
        for (int k = -12; k <= 12; ++k) {
            double a = k * twist * M_PI / 180, z = i / (N * N) - D / 2 - k * rise;
            double y = i / N % N - N / 2 - radius * sin(a), x = i % N - N / 2 - radius * cos(a);
            whole[i] += exp(-(z * z + y * y + x * x) / (2 * sigma * sigma));
        }
        middle[i] = abs(i / (N * N) - D / 2) <= 19 ? whole[i] : 0;
    }
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(D, N, N), middle);
    wf_helix helix = { .rise = 1.2 * rise, .pixel = 1.2, .twist = twist, .fraction = 0.4 };
    wf_array *y = wf_symmetrize_helix(a, &helix, NULL, &(wf_interp){ .interpolation = WF_INTERPOLATE_BSPLINE });
    check_near(y, whole, 3e-3, "completed helix", 0);
    helix.twist = -twist; /* the other hand is another object */
    wf_array *other = wf_symmetrize_helix(a, &helix, NULL, &(wf_interp){ .interpolation = WF_INTERPOLATE_BSPLINE });
    double *z = numbers_of(other, 0), most = 0;
    for (int i = 0; i < D * N * N; ++i)
        most = fmax(most, fabs(z[i] - whole[i]));
    assert_true(most > 0.3);
    free(z);
    free(whole);
    free(middle);
    wf_release(a);
    wf_release(y);
    wf_release(other);
}

/* The status of a helix that wf_symmetrize_helix refuses. */
static wf_status of_helix(const wf_array *x, const wf_helix *helix)
{
    return of_null(wf_symmetrize_helix(x, helix, NULL, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR }));
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[80] = { 0 };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(20, 2, 2), zeros), *flat = numbers_as(WF_F32, WF_SHAPE(8, 8), zeros);
    wf_array *none = wf_view_slice(a, 0, 3, 3, 1);
    REFUSED(ctx, of_helix(a, NULL), WF_ERR_ARG, "wf_symmetrize_helix: `helix` is NULL");
    REFUSED(ctx, of_helix(flat, &(wf_helix){ .rise = 1 }), WF_ERR_SHAPE,
            "wf_symmetrize_helix: `x` has rank 2; volumes have 3 axes");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 0 }), WF_ERR_ARG, "wf_symmetrize_helix: helix.rise is 0, .twist 0;");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 1, .twist = NAN }), WF_ERR_ARG,
            "wf_symmetrize_helix: helix.rise is 1, .twist nan;");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 1, .fraction = 1.5 }), WF_ERR_ARG, ".cyclic 0, .fraction 1.5;");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 1, .cyclic = -2 }), WF_ERR_ARG, ".cyclic -2, .fraction 0;");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 1, .pixel = -2 }), WF_ERR_ARG, "helix.pixel is -2,");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 7 }), WF_ERR_ARG,
            "the central part, 0.3 of 20 elements, is shorter than the rise, 7 elements");
    REFUSED(ctx, of_helix(a, &(wf_helix){ .rise = 1e-6 }), WF_ERR_ARG,
            "wf_symmetrize_helix: a rise of 1e-06 elements makes ");
    assert_null(wf_symmetrize_helix(a, &(wf_helix){ .rise = 1 }, NULL, NULL));
    wf_clear_error(ctx);
    wf_array *empty = wf_symmetrize_helix(none, &(wf_helix){ .rise = 0.1 }, NULL, &(wf_interp){ 0 });
    assert_non_null(empty);
    assert_int_equal(wf_array_count(empty), 0);
    wf_array *spent[] = { a, flat, none, empty };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain), cmocka_unit_test(test_ends),
                                        cmocka_unit_test(test_mistakes) };
    return RUN_ON_ALL(tests);
}
