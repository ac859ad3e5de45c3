/* plain_spectrum.h - spectra of random real images by sums in plain C, in every layout, and their interpolation over the
 * full spectrum, for the tests of weft/xform.h and weft/project.h. */
#ifndef WEFT_PLAIN_SPECTRUM_H
#define WEFT_PLAIN_SPECTRUM_H
#include "plain_interpolation.h"

enum { LAYOUTS = 4 };

/* A full spectrum, elements in the order of wf_fft_c2c. */
typedef struct spectrum {
    int axes;
    int64_t dim[3], n;
    double complex *f;
} spectrum;

static inline bool half_layout(wf_layout layout) { return layout == WF_LAYOUT_H || layout == WF_LAYOUT_HC; }

static inline void unpack(const spectrum *s, int64_t at, int64_t *index)
{
    for (int d = s->axes; d-- > 0; at /= s->dim[d])
        index[d] = at % s->dim[d];
}

/* Returns the place of frequencies j, from -n/2 to n/2, or of any with `wraps`; -1: outside. */
static inline int64_t full_place(const spectrum *s, const int64_t *j, bool wraps)
{
    int64_t at = 0;
    for (int d = 0; d < s->axes; ++d) {
        int64_t n = s->dim[d];
        if (!wraps && (j[d] > n / 2 || j[d] < -(n / 2)))
            return -1;
        at = at * n + ((j[d] % n) + n) % n;
    }
    return at;
}

/* The spectrum of random real numbers. */
static inline spectrum random_spectrum(int axes, const int64_t *dim, uint64_t seed)
{
    spectrum s = { .axes = axes, .n = 1 };
    for (int d = 0; d < axes; ++d)
        s.n *= s.dim[d] = dim[d];
    assert_in_range(s.n, 1, INT32_MAX);
    double *x = random_numbers(s.n, seed);
    s.f = calloc((size_t)s.n, sizeof *s.f);
    for (int64_t k = 0; k < s.n; ++k)
        for (int64_t i = 0; i < s.n; ++i) {
            int64_t a[3], b[3];
            double turns = 0;
            unpack(&s, k, a);
            unpack(&s, i, b);
            for (int d = 0; d < axes; ++d)
                turns += (double)(a[d] * b[d] % dim[d]) / (double)dim[d];
            s.f[k] += x[i] * cexp(-2 * M_PI * I * turns);
        }
    free(x);
    return s;
}

static inline wf_spectrum described(const spectrum *s, wf_layout layout)
{
    wf_spectrum t = { .layout = layout, .dtype = WF_F64, .rank = s->axes };
    memcpy(t.size, s->dim, sizeof t.size);
    return t;
}

static inline wf_shape layout_shape(const wf_spectrum *t)
{
    wf_shape shape = { .rank = t->rank };
    for (int d = 0; d < t->rank; ++d)
        shape.dim[d] = d == t->rank - 1 && half_layout(t->layout) ? t->size[d] / 2 + 1 : t->size[d];
    return shape;
}

/* Returns the place in the full order of element `at` of a layout. */
static inline int64_t from_layout(const spectrum *s, const wf_spectrum *t, int64_t at)
{
    wf_shape shape = layout_shape(t);
    int64_t j[3];
    for (int d = s->axes; d-- > 0; at /= shape.dim[d]) {
        bool centered = (t->layout == WF_LAYOUT_HC && d < s->axes - 1) || t->layout == WF_LAYOUT_FC;
        j[d] = at % shape.dim[d] - (centered ? s->dim[d] / 2 : 0);
    }
    return full_place(s, j, true);
}

/* Returns an array of the spectrum in a layout. */
static inline wf_array *in_layout(const spectrum *s, wf_layout layout, wf_dtype dtype)
{
    wf_spectrum t = described(s, layout);
    wf_array *wide = wf_empty_with(ctx, WF_C128, layout_shape(&t), NULL);
    int64_t n = wf_array_count(wide);
    double complex *f = malloc((size_t)n * sizeof *f);
    for (int64_t i = 0; i < n; ++i)
        f[i] = s->f[from_layout(s, &t, i)];
    OK(ctx, wf_upload(wide, f, (size_t)n * sizeof *f));
    wf_array *a = wf_array_cast(wide, dtype);
    wf_release(wide);
    free(f);
    return a;
}

/* Adds weight * value to the elements around a position in elements, or returns their weighted sum. */
static inline double complex visit_spectrum(const spectrum *s, const wf_interp *how, const double *position,
                                            double complex *add, double complex value)
{
    double w[3][10];
    double complex sum = 0;
    int64_t first[3], all = 1;
    for (int d = 0; d < s->axes; ++d, all *= 10)
        first[d] = weights_at(how->interpolation, position[d], w[d]);
    for (int64_t k = 0; k < all; ++k) {
        int64_t rest = k, j[3];
        double product = 1;
        for (int d = 0; d < s->axes; ++d) {
            j[d] = first[d] + rest % 10;
            product *= w[d][rest % 10];
            rest /= 10;
        }
        int64_t at = full_place(s, j, how->border == WF_BORDER_PERIODIC);
        if (at >= 0 && product != 0) {
            sum += product * s->f[at];
            if (add)
                add[at] += product * value;
        }
    }
    return sum;
}

static inline void check_complex(const wf_array *a, const double complex *expected, double most, const char *what,
                                 int which)
{
    assert_non_null(a);
    double complex *x = contents_as(a, WF_C128);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(cabs(x[i] - expected[i]) <= most)) {
            print_error("%s %d: element %lld is %.9g %+.9g i, not %.9g %+.9g i\n", what, which, (long long)i,
                        creal(x[i]), cimag(x[i]), creal(expected[i]), cimag(expected[i]));
            fail();
        }
    free(x);
}
#endif
