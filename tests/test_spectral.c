/* test_spectral.c - reads of spectra between their elements, and sums into them, in every layout, beside plain C over the
 * full spectrum; mistakes.
 *
 * ctest: devices first_tier
 */
#include "plain_spectrum.h"

static const wf_interpolation kernels[] = { WF_INTERPOLATE_NEAREST, WF_INTERPOLATE_LINEAR,   WF_INTERPOLATE_CUBIC,
                                            WF_INTERPOLATE_BSPLINE, WF_INTERPOLATE_LANCZOS6, WF_INTERPOLATE_KAISER4,
                                            WF_INTERPOLATE_KAISER6 };
static const int64_t extents[3][3][3] = { { { 8 }, { 7 }, { 1 } },
                                          { { 5, 6 }, { 4, 7 }, { 2, 2 } },
                                          { { 4, 5, 6 }, { 3, 4, 5 }, { 5, 2, 3 } } };

/* Positions in elements, up to one element beyond Nyquist; every fifth is at an element. */
static double *positions_in(const spectrum *s, uint64_t seed)
{
    double *p = random_numbers((int64_t)s->axes * POINTS, seed);
    for (int d = 0; d < s->axes; ++d)
        for (int i = 0; i < POINTS; ++i) {
            double *x = &p[d * POINTS + i];
            *x *= (double)s->dim[d] + 3;
            *x = i % 5 ? *x : round(*x);
            *x = i % 7 == 0 && d == s->axes - 1 ? 0 : *x;
        }
    return p;
}

static wf_vals frequencies(wf_graph *g, const spectrum *s, const wf_array *p, wf_val *k)
{
    for (int d = 0; d < s->axes; ++d)
        k[d] = wf_div(wf_read(g, p, d, wf_index(g, 0)), (double)s->dim[d]);
    return (wf_vals){ k, (size_t)s->axes };
}

/* The read in one layout, and the transpose: sums at the frequency and, in half layouts, at the opposite one. */
static void check_access(const spectrum *s, wf_layout layout, const wf_interp *how, wf_dtype t, int which)
{
    wf_spectrum of = described(s, layout);
    double *p = positions_in(s, (uint64_t)which), *v = random_numbers(POINTS, (uint64_t)which + 1), at[3];
    double complex expected[POINTS];
    double complex *sums = calloc((size_t)s->n, sizeof *sums), *kept;
    double complex *weights = calloc((size_t)s->n, sizeof *weights);
    for (int i = 0; i < POINTS; ++i) {
        for (int d = 0; d < s->axes; ++d)
            at[d] = p[d * POINTS + i];
        bool flip = half_layout(layout) && at[s->axes - 1] < 0;
        for (int turn = 0; turn < 1 + half_layout(layout); ++turn) {
            /* the kernel of the opposite position is the mirrored one, also where halves go up */
            double complex value = v[i] * (1 + 2 * I);
            spectrum mirrored = *s;
            mirrored.f = malloc((size_t)s->n * sizeof *s->f);
            double complex *added = calloc((size_t)s->n, sizeof *added), *ones = calloc((size_t)s->n, sizeof *ones);
            bool negative = flip != (turn > 0);
            for (int64_t k = 0; k < s->n; ++k) {
                int64_t index[3];
                unpack(s, k, index);
                for (int d = 0; d < s->axes; ++d)
                    index[d] = negative ? -index[d] : index[d];
                mirrored.f[k] = s->f[full_place(s, index, true)];
            }
            double place[3];
            for (int d = 0; d < s->axes; ++d)
                place[d] = flip ? -at[d] : at[d];
            double complex read = visit_spectrum(&mirrored, how, place, added, turn ? conj(value) : value);
            visit_spectrum(&mirrored, how, place, ones, 1);
            if (!turn)
                expected[i] = read;
            for (int64_t k = 0; k < s->n; ++k) {
                int64_t index[3];
                unpack(s, k, index);
                for (int d = 0; d < s->axes; ++d)
                    index[d] = negative ? -index[d] : index[d];
                sums[full_place(s, index, true)] += added[k];
                weights[full_place(s, index, true)] += 0.5 * ones[k];
            }
            free(mirrored.f);
            free(added);
            free(ones);
        }
    }
    wf_array *a = in_layout(s, layout, t), *positions = numbers_as(WF_F64, WF_SHAPE(s->axes, POINTS), p);
    wf_array *y = wf_empty(ctx, t, WF_SHAPE(POINTS)), *values = numbers_as(t, WF_SHAPE(POINTS), v);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val k[3];
    wf_out(g, y, wf_spectrum_read(g, a, &of, how, frequencies(g, s, positions, k)));
    OK(ctx, wf_run(g));
    double most = t == WF_C128 ? 1e-12 : 1e-5;
    check_complex(y, expected, most, "read", which);

    wf_array *sum = wf_full(ctx, t, layout_shape(&of), 0),
             *weight = wf_full(ctx, wf_dtype_part(t), layout_shape(&of), 0);
    g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_spectrum_splat(g, sum, weight, &of, how, wf_in(g, values), 0.5, frequencies(g, s, positions, k));
    OK(ctx, wf_run(g));
    int64_t n = wf_array_count(sum);
    kept = calloc((size_t)n, sizeof *kept);
    for (int64_t i = 0; i < n; ++i)
        kept[i] = sums[from_layout(s, &of, i)];
    check_complex(sum, kept, most, "splat", which);
    for (int64_t i = 0; i < n; ++i)
        kept[i] = weights[from_layout(s, &of, i)];
    check_complex(weight, kept, most, "weights", which);
    wf_array *spent[] = { a, positions, y, values, sum, weight };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
    void *numbers[] = { p, v, sums, kept, weights };
    for (int i = 0; i < 5; ++i)
        free(numbers[i]);
}

static void test_access(void **state)
{
    (void)state;
    for (int axes = 1; axes <= 3; ++axes)
        for (int e = 0; e < 3; ++e) {
            spectrum s = random_spectrum(axes, extents[axes - 1][e], (uint64_t)(axes * 10 + e));
            for (int h = 0; h < 7; ++h)
                for (int layout = 0; layout < LAYOUTS; ++layout) {
                    int which = ((axes * 10 + e) * 10 + h) * 10 + layout;
                    wf_interp how = { .interpolation = kernels[h],
                                      .border = (h + layout + e) % 3 ? WF_BORDER_VALUE : WF_BORDER_PERIODIC };
                    bool large = axes == 3 && h > 1;
                    if (is_left_out(which, large ? 16 : 5, large ? 16 : 9))
                        continue;
                    check_access(&s, (wf_layout)layout, &how, (h + e) % 3 ? WF_C128 : WF_C64, which);
                }
            free(s.f);
        }
}

/* Axes before the spectrum's have indices; arrays of reals have values without conjugates. */
static void test_batch(void **state)
{
    (void)state;
    double x[2][6] = { { 1, 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11, 12 } };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(2, 3, 2), x[0]), *y = wf_empty(ctx, WF_F64, WF_SHAPE(2));
    wf_spectrum half = { WF_LAYOUT_HC, WF_F32, 2, { 3, 3 } };
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_out(g, y, wf_spectrum_read(g, a, &half, &how, WF_VALS(wf_index(g, 0), 1 / 3.0, -0.25 / 3)));
    OK(ctx, wf_run(g));
    /* the opposite is (-1, 0.25): row 0 */
    check_near(y, (double[]){ 1.25, 7.25 }, 1e-6, "batch", 0);
    wf_release(a);
    wf_release(y);
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[16] = { 0 };
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(4, 3), zeros), *bytes = numbers_as(WF_U8, WF_SHAPE(4, 3), zeros);
    wf_array *real = numbers_as(WF_F32, WF_SHAPE(4, 3), zeros), *few = numbers_as(WF_F32, WF_SHAPE(3), zeros);
    wf_spectrum half = { WF_LAYOUT_H, WF_F32, 2, { 4, 5 } }, wrong = { WF_LAYOUT_H, WF_F32, 2, { 4, 6 } };
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_interp clamp = { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_CLAMP };
    wf_interp none = { .interpolation = (wf_interpolation)9 };
    const struct {
        const wf_array *array;
        const wf_spectrum *spectrum;
        const wf_interp *how;
        wf_status status;
        const char *text;
    } calls[] = {
        { NULL, &half, &how, WF_ERR_ARG, "wf_spectrum_read: `array` is NULL" },
        { a, NULL, &how, WF_ERR_ARG, "wf_spectrum_read: `spectrum` is NULL" },
        { a, &half, NULL, WF_ERR_ARG, "wf_spectrum_read: `how` is NULL" },
        { a, &half, &clamp, WF_ERR_ARG, "wf_spectrum_read: how.border is 2, but spectra have" },
        { a, &half, &none, WF_ERR_ARG, "wf_spectrum_read: there is no interpolation 9" },
        { a, &wrong, &how, WF_ERR_SHAPE,
          "wf_spectrum_read: axis 1 of the spectrum has 4 elements, but the array's has 3" },
        { few, &half, &how, WF_ERR_ARG, "wf_spectrum_read: 2 indices and frequencies for an array of rank 1" },
        { bytes, &half, &how, WF_ERR_DTYPE, "wf_spectrum_read: `array` is u8" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
        wf_spectrum_read(g, calls[i].array, calls[i].spectrum, calls[i].how, WF_VALS(0.1, 0.2));
        REFUSED(ctx, wf_run(g), calls[i].status, calls[i].text);
    }
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_spectrum_splat(g, a, few, &half, &how, 1, 1, WF_VALS(0.1, 0.2));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "wf_spectrum_splat: `weights` is f32(3); floats of the shape");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_spectrum_splat(g, real, NULL, &half, &how, wf_complex(wf_const(g, WF_F32, 1), 1), 1, WF_VALS(0.1, 0.2));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_spectrum_splat: the value is complex, `array` is f32");
    const wf_array *spent[] = { a, bytes, real, few };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
