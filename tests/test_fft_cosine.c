/* test_fft_cosine.c - cosine and sine transforms beside the sums that define them and values of SciPy; mistakes.
 *
 * ctest: devices first_tier
 */
#include "fft_numbers.h"

/* The cosine or sine of pi p / q. */
static double wave(bool sine, int64_t p, int64_t q)
{
    double angle = M_PI * (double)(p % (2 * q)) / (double)q;
    return sine ? sin(angle) : cos(angle);
}

/* Weight of x[j] in y[k], by the definitions. */
static double cosine_weight(int type, bool sine, int64_t n, int64_t j, int64_t k)
{
    int64_t one = sine;
    bool end = type == 1 ? !sine && (j == 0 || j == n - 1) : type == 3 && j == (sine ? n - 1 : 0);
    double factor = end ? 1 : 2;
    switch (type) {
    case 1:
        return factor * wave(sine, (j + one) * (k + one), sine ? n + 1 : n - 1);
    case 2:
        return factor * wave(sine, (k + one) * (2 * j + 1), 2 * n);
    case 3:
        return factor * wave(sine, (2 * k + 1) * (j + one), 2 * n);
    default:
        return factor * wave(sine, (2 * k + 1) * (2 * j + 1), 4 * n);
    }
}

static wf_array *cosine(const wf_array *x, bool sine, int type, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    return sine ? wf_dst(x, type, axes, inverse, norm) : wf_dct(x, type, axes, inverse, norm);
}

static void check_cosine(int type, bool sine, int64_t n, wf_dtype t)
{
    enum { OUTER = 2, INNER = 3 };
    wf_shape shape = WF_SHAPE(OUTER, n, INNER);
    int64_t all = OUTER * n * INNER;
    number *x = random_numbers(all, (uint64_t)(all + type)), *y = calloc((size_t)all, sizeof *y);
    wf_array *a = numbers_as(t, shape, x);
    for (int64_t i = 0; i < all; ++i)
        for (int64_t j = 0; j < n; ++j)
            y[i] +=
                x[i / (n * INNER) * n * INNER + j * INNER + i % INNER] * cosine_weight(type, sine, n, j, i / INNER % n);
    double most = 2 * tolerance(t);
    wf_array *b = cosine(a, sine, type, WF_AXES(1), false, WF_FFT_BACKWARD);
    check_near(b, y, most, sine ? "sine" : "cosine", n);
    wf_release(b);
    double norm = 0, same = 0;
    b = cosine(a, sine, type, WF_AXES(1), false, WF_FFT_ORTHO);
    number *orthogonal = numbers_of(b);
    for (int64_t i = 0; i < all; ++i) {
        norm += pow(creal(x[i]), 2);
        same += pow(creal(orthogonal[i]), 2);
    }
    assert_true(fabs(norm - same) <= 1e-5 * norm); /* lengths stay under an orthogonal matrix */
    free(orthogonal);
    wf_release(b);
    for (int how = 0; how < 4; ++how) {
        b = cosine(a, sine, type, WF_AXES(1), false, (wf_fft_norm)how);
        wf_array *back = cosine(b, sine, type, WF_AXES(1), true, (wf_fft_norm)how);
        double scale = how != WF_FFT_NONE ? 1 : type == 1 ? 2 * (double)(sine ? n + 1 : n - 1) : 2 * (double)n;
        for (int64_t i = 0; i < all; ++i)
            y[i] = x[i] * scale;
        check_near(back, y, most, sine ? "sine and back" : "cosine and back", n);
        wf_release(b);
        wf_release(back);
    }
    wf_release(a);
    free(x);
    free(y);
}

static void test_cosine(void **state)
{
    (void)state;
    const int64_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 31, 64, 131, 135 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= (compiled() ? 135 : 9); ++i)
        for (int type = 1; type <= 4; ++type)
            for (int sine = 0; sine < 2; ++sine)
                if (lengths[i] > 1 || type > 1 || sine)
                    check_cosine(type, sine, lengths[i], i % 2 ? WF_F32 : WF_F64);
}

/* Values of scipy.fft.dctn and dstn of x[i, j] = 1 / (1 + i + 2 j), shape [3, 4]. */
static void test_cosine_axes(void **state)
{
    (void)state;
    static const double cosines[12] = { 1.011852168204755,    0.59132335715130246,  0.26542074875245286,
                                        0.12394189709246203,  0.31426968052735438,  0.30787350615717374,
                                        0.17958267458705968,  0.086291393163090591, 0.077599575846107313,
                                        0.090472278432656872, 0.060103220540513161, 0.030035327743130325 };
    static const double sines[12] = { 3.6789317510516621, 3.3324087883474358, 2.7738768961974727, 2.6501990664380157,
                                      2.207301653619492,  2.6515555993644511, 2.5806762756360735, 2.600121440494902,
                                      1.6638373428307021, 2.152327067098935,  2.2108459221828758, 2.2742439506706185 };
    double x[12];
    for (int i = 0; i < 12; ++i)
        x[i] = 1.0 / (1 + i / 4 + 2 * (i % 4));
    wf_array *plain = wf_empty_with(ctx, WF_F64, WF_SHAPE(3, 4), NULL);
    OK(ctx, wf_upload(plain, x, sizeof x));
    for (int sine = 0; sine < 2; ++sine)
        for (int turned = 0; turned < 2; ++turned) { /* of a view in Fortran order as well */
            wf_array *view = wf_view_permute(plain, (int[]){ 1, 0 }), *copy = wf_array_copy(view);
            wf_array *columns = wf_view_permute(copy, (int[]){ 1, 0 });
            wf_array *y = cosine(turned ? columns : plain, sine, sine ? 4 : 2, WF_ALL_AXES, false,
                                 sine ? WF_FFT_BACKWARD : WF_FFT_ORTHO);
            assert_non_null(y);
            double *found = contents_as(y, WF_F64);
            for (int i = 0; i < 12; ++i)
                assert_true(fabs(found[i] - (sine ? sines : cosines)[i]) < 1e-14);
            free(found);
            wf_array *spent[] = { view, copy, columns, y };
            for (int i = 0; i < 4; ++i)
                wf_release(spent[i]);
        }
    wf_release(plain);
    wf_array *half = wf_empty_with(ctx, WF_F16, WF_SHAPE(0, 6), NULL);
    wf_array *none = wf_dct(half, 2, WF_AXES(1), false, WF_FFT_ORTHO);
    assert_int_equal(wf_array_dtype(none), WF_F16);
    assert_int_equal(wf_array_count(none), 0);
    wf_release(half);
    wf_release(none);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_C64, WF_SHAPE(4, 6), 1), *r = wf_full(ctx, WF_F32, WF_SHAPE(4, 6), 1),
             *none = wf_empty(ctx, WF_F32, WF_SHAPE(4, 0)), *one = wf_full(ctx, WF_F32, WF_SHAPE(4, 1), 1);
    REFUSED(ctx, of_null(wf_dct(a, 2, WF_AXES(1), false, WF_FFT_ORTHO)), WF_ERR_DTYPE, "wf_dct: the array is complex");
    REFUSED(ctx, of_null(wf_dst(r, 5, WF_AXES(1), false, WF_FFT_ORTHO)), WF_ERR_ARG, "wf_dst: there is no type 5");
    REFUSED(ctx, of_null(wf_dct(one, 1, WF_ALL_AXES, false, WF_FFT_ORTHO)), WF_ERR_SHAPE, "axis 1 has one");
    REFUSED(ctx, of_null(wf_dst(none, 1, WF_AXES(1), false, WF_FFT_ORTHO)), WF_ERR_SHAPE, "has no elements");
    assert_null(wf_dct(NULL, 2, WF_AXES(0), false, WF_FFT_BACKWARD));
    wf_array *spent[] = { a, r, none, one };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_cosine_axes),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
