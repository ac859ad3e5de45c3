/* test_slices.c - central slices: rotations that permute axes, projections of Gaussians, the transpose, insertion by both
 * kernels, the correction of gridding and the normalisation; mistakes.
 *
 * ctest: devices first_tier
 */
#include "plain_spectrum.h"
#include "weft/fft.h"
#include "weft/project.h"

/* Returns the rotation of positions (z, y, x) by intrinsic angles about z, y, z, by plain products. */
static void plain_rotation(double a, double b, double c, double *m)
{
    double z1[9] = { 1, 0, 0, 0, cos(a), sin(a), 0, -sin(a), cos(a) };
    double y[9] = { cos(b), 0, -sin(b), 0, 1, 0, sin(b), 0, cos(b) };
    double z2[9] = { 1, 0, 0, 0, cos(c), sin(c), 0, -sin(c), cos(c) }, t[9];
    for (int i = 0; i < 9; ++i)
        t[i] = z1[i / 3 * 3] * y[i % 3] + z1[i / 3 * 3 + 1] * y[3 + i % 3] + z1[i / 3 * 3 + 2] * y[6 + i % 3];
    for (int i = 0; i < 9; ++i)
        m[i] = t[i / 3 * 3] * z2[i % 3] + t[i / 3 * 3 + 1] * z2[3 + i % 3] + t[i / 3 * 3 + 2] * z2[6 + i % 3];
}

/* ---- rotations that permute axes ---- */
static void test_permutations(void **state)
{
    (void)state;
    static const double rotations[5][9] = { { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                                            { 1, 0, 0, 0, -1, 0, 0, 0, -1 },
                                            { 1, 0, 0, 0, 0, 1, 0, -1, 0 },
                                            { -1, 0, 0, 0, -1, 0, 0, 0, 1 },
                                            { 0, 1, 0, 0, 0, 1, 1, 0, 0 } };
    static const wf_interpolation kernels[] = { WF_INTERPOLATE_NEAREST, WF_INTERPOLATE_LINEAR, WF_INTERPOLATE_CUBIC };
    for (int n = 5; n <= 6; ++n)
        for (int layout = 0; layout < LAYOUTS; ++layout)
            for (int h = 0; h < 3; ++h) {
                if (is_left_out((n * LAYOUTS + layout) * 3 + h, 3, 5))
                    continue;
                spectrum s = random_spectrum(3, (int64_t[]){ n, n, n }, (uint64_t)(n + h));
                spectrum plane = { .axes = 2, .dim = { n, n }, .n = n * n };
                wf_slices of = { .volume = described(&s, (wf_layout)layout),
                                 .image = described(&plane, (wf_layout)layout),
                                 .how = { .interpolation = kernels[h] },
                                 .cutoff = 1 };
                wf_array *volume = in_layout(&s, (wf_layout)layout, WF_C128);
                wf_array *r = numbers_as(WF_F32, WF_SHAPE(5, 3, 3), rotations[0]);
                wf_array *slices = wf_extract_slices(volume, &of, r, NULL);
                wf_shape shape = layout_shape(&of.image);
                int64_t each = shape.dim[0] * shape.dim[1];
                double complex *expected = malloc((size_t)(5 * each) * sizeof *expected);
                for (int64_t i = 0; i < 5 * each; ++i) {
                    int64_t k[2], at[3] = { 0 };
                    unpack(&plane, from_layout(&plane, &of.image, i % each), k);
                    bool last_half = half_layout((wf_layout)layout);
                    for (int d = 0; d < 2; ++d) /* n/2 is -n/2, but of the halved axis */
                        k[d] = 2 * k[d] > n || (2 * k[d] == n && !(d && last_half)) ? k[d] - n : k[d];
                    for (int d = 0; d < 3; ++d)
                        at[d] = (int64_t)rotations[i / each][3 * d + 1] * k[0] +
                                (int64_t)rotations[i / each][3 * d + 2] * k[1];
                    expected[i] = s.f[full_place(&s, at, true)];
                }
                /* The plain sums of opposite elements differ by roundings. */
                check_complex(slices, expected, half_layout((wf_layout)layout) ? 1e-13 : 0, "slice",
                              n * 100 + layout * 10 + h);
                RELEASE(volume, r, slices);
                free(expected);
                free(s.f);
            }
}

/* ---- the theorem ---- */
enum { BLOBS = 3 };
static const double blobs[BLOBS][5] = { /* z, y, x, height, sigma */
                                        { 1.5, -2, 1, 1, 1.6 },
                                        { -2, 1, -1.5, 0.7, 1.5 },
                                        { 0.5, 2, -0.5, -0.4, 1.7 }
};

/* A sum of Gaussians about the center of an array of n elements along each of the axes. */
static double *gaussians(int axes, int n, const double (*at)[3], const double *height, const double *sigma)
{
    int64_t all = axes == 3 ? n * n * n : n * n;
    double *x = calloc((size_t)all, sizeof *x);
    for (int64_t i = 0; i < all; ++i)
        for (int b = 0; b < BLOBS; ++b) {
            int64_t rest = i;
            double square = 0;
            for (int d = axes; d-- > 0; rest /= n) {
                double x0 = (double)(rest % n - n / 2) - at[b][d];
                square += x0 * x0;
            }
            x[i] += height[b] * exp(-square / (2 * sigma[b] * sigma[b]));
        }
    return x;
}

/* Returns the spectrum of images with their centers at element 0, padded to `size` along the last axes. */
static wf_array *padded_spectrum(const wf_array *x, int axes, int64_t size)
{
    wf_shape shape = wf_array_shape(x), large = shape, at = { .rank = shape.rank };
    wf_axes over = 0;
    for (int d = shape.rank - axes; d < shape.rank; ++d) {
        at.dim[d] = size / 2 - shape.dim[d] / 2;
        large.dim[d] = size;
        over |= 1u << d;
    }
    wf_array *all = wf_empty_with(ctx, wf_array_dtype(x), large, NULL), *part = all;
    OK(ctx, wf_array_fill(all, 0));
    wf_retain(part);
    for (int d = shape.rank - axes; d < shape.rank; ++d) {
        wf_array *next = wf_view_slice(part, d, at.dim[d], at.dim[d] + shape.dim[d], 1);
        wf_release(part);
        part = next;
    }
    OK(ctx, wf_array_assign(part, x));
    wf_array *moved = wf_fft_shift(all, over, true), *f = wf_fft_r2c(moved, over, WF_FFT_BACKWARD);
    assert_non_null(f);
    RELEASE(all, part, moved);
    return f;
}

/* The transpose of padded_spectrum, up to a factor: images of n elements, with their centers at n/2. */
static wf_array *images_of(const wf_array *f, int axes, int64_t size, int64_t n)
{
    wf_shape shape = wf_array_shape(f);
    wf_axes over = 0;
    for (int d = shape.rank - axes; d < shape.rank; ++d)
        over |= 1u << d;
    wf_array *x = wf_fft_c2r(f, size, over, WF_FFT_BACKWARD), *part = wf_fft_shift(x, over, false);
    wf_release(x);
    for (int d = shape.rank - axes; d < shape.rank; ++d) {
        wf_array *next = wf_view_slice(part, d, size / 2 - n / 2, size / 2 - n / 2 + n, 1);
        wf_release(part);
        part = next;
    }
    assert_non_null(part);
    return part;
}

enum { ANGLES = 4 };
static const double angles[ANGLES][3] = { { 0, 0, 0 }, { 0.3, 0.8, -0.5 }, { 2, 1.5, 1 }, { -1, 2.6, 0.2 } };
static const double shifts[ANGLES][2] = { { 0, 0 }, { 1.5, -0.75 }, { -0.3, 2 }, { 0, 1 } };

/* The projections of the blobs, moved by the shifts, in images of n x n, one after the other. */
static double *plain_projections(int n, const double (*r)[9])
{
    double *all = malloc((size_t)(ANGLES * n * n) * sizeof *all);
    for (int i = 0; i < ANGLES; ++i) {
        double at[BLOBS][3], height[BLOBS], sigma[BLOBS];
        for (int b = 0; b < BLOBS; ++b) {
            for (int e = 1; e < 3; ++e) /* the inverse rotation, without the projected axis */
                at[b][e - 1] =
                    r[i][e] * blobs[b][0] + r[i][3 + e] * blobs[b][1] + r[i][6 + e] * blobs[b][2] + shifts[i][e - 1];
            sigma[b] = blobs[b][4];
            height[b] = blobs[b][3] * sqrt(2 * M_PI) * sigma[b];
        }
        double *one = gaussians(2, n, (const double(*)[3])at, height, sigma);
        memcpy(all + i * n * n, one, (size_t)(n * n) * sizeof *one);
        free(one);
    }
    return all;
}

static double *blob_volume(int n)
{
    double at[BLOBS][3], height[BLOBS], sigma[BLOBS];
    for (int b = 0; b < BLOBS; ++b) {
        memcpy(at[b], blobs[b], sizeof at[b]);
        height[b] = blobs[b][3];
        sigma[b] = blobs[b][4];
    }
    return gaussians(3, n, (const double(*)[3])at, height, sigma);
}

/* Slices of the spectrum of a padded, corrected volume are the spectra of its projections, here known in closed form. */
static void test_projections(void **state)
{
    (void)state;
    static const struct {
        wf_interpolation how;
        double most; /* of the largest element, about 4 */
    } rows[] = { { WF_INTERPOLATE_LINEAR, 0.15 }, { WF_INTERPOLATE_KAISER4, 0.012 }, { WF_INTERPOLATE_KAISER6, 2e-4 } };
    double r[ANGLES][9];
    for (int i = 0; i < ANGLES; ++i)
        plain_rotation(angles[i][0], angles[i][1], angles[i][2], r[i]);
    for (int n = 21; n <= 22; ++n)
        for (int h = 0; h < 3; ++h) {
            if (is_left_out((n - 21) * 3 + h, 1, 6))
                continue;
            int size = 2 * n;
            double *x = blob_volume(n), *expected = plain_projections(n, r);
            wf_spectrum whole = { WF_LAYOUT_H, WF_F64, 3, { size, size, size } };
            wf_slices of = { .volume = whole,
                             .image = { WF_LAYOUT_H, WF_F64, 2, { size, size } },
                             .how = { .interpolation = rows[h].how } };
            wf_array *volume = numbers_as(WF_F32, WF_SHAPE(n, n, n), x), *rotations, *by;
            OK(ctx, wf_correct_gridding(volume, volume, &whole, rows[h].how));
            wf_array *f = padded_spectrum(volume, 3, size);
            rotations = numbers_as(h % 2 ? WF_F32 : WF_F64, WF_SHAPE(ANGLES, 3, 3), r[0]);
            by = numbers_as(WF_F32, WF_SHAPE(ANGLES, 2), shifts[0]);
            wf_array *slices = wf_extract_slices(f, &of, rotations, by), *y = images_of(slices, 2, size, n);
            check_near(y, expected, rows[h].most, "projection", n * 10 + h);
            RELEASE(volume, f, rotations, by, slices, y);
            free(x);
            free(expected);
        }
}

/* ---- the transpose ---- */
/* Returns the sum over the full spectrum of Re(a conj b). */
static double full_product(const wf_array *a, const wf_array *b, const wf_spectrum *s)
{
    double complex *x = contents_as(a, WF_C128), *y = contents_as(b, WF_C128);
    double sum = 0;
    wf_shape shape = layout_shape(s);
    int64_t last = shape.dim[s->rank - 1], n = s->size[s->rank - 1];
    for (int64_t i = 0; i < wf_array_count(a); ++i) {
        bool once = !half_layout(s->layout) || i % last == 0 || 2 * (i % last) == n;
        sum += creal(x[i] * conj(y[i])) * (once ? 1 : 2);
    }
    free(x);
    free(y);
    return sum;
}

static void test_transpose(void **state)
{
    (void)state;
    static const wf_interpolation kernels[] = { WF_INTERPOLATE_NEAREST, WF_INTERPOLATE_LINEAR, WF_INTERPOLATE_CUBIC,
                                                WF_INTERPOLATE_KAISER4 };
    double r[ANGLES][9];
    for (int i = 0; i < ANGLES; ++i)
        plain_rotation(angles[i][0], angles[i][1], angles[i][2], r[i]);
    for (int layout = 0; layout < LAYOUTS; ++layout)
        for (int h = 0; h < 4; ++h) {
            if (is_left_out(layout * 4 + h, h > 1 ? 6 : 2, h > 1 ? 6 : 3))
                continue;
            int64_t size[3] = { 8, 7, 6 + h % 2 }, small[2] = { 5, 6 - h % 2 };
            spectrum s = random_spectrum(3, size, 1), slice = random_spectrum(2, small, 2);
            wf_slices of = { .volume = described(&s, (wf_layout)layout),
                             .image = described(&slice, (wf_layout)((layout + 2 * (h & 1)) % 4)),
                             .how = { .interpolation = kernels[h],
                                      .border = h == 2 ? WF_BORDER_PERIODIC : WF_BORDER_VALUE },
                             .cutoff = h == 3 ? 0 : 0.6,
                             .wavelength = h == 1   ? 0.8
                                           : h == 2 ? -0.5
                                                    : 0 };
            if (half_layout(of.image.layout) != half_layout(of.volume.layout))
                of.image.layout = (wf_layout)layout;
            wf_array *volume = in_layout(&s, (wf_layout)layout, WF_C128);
            wf_array *one = in_layout(&slice, of.image.layout, WF_C128), *images;
            wf_shape shape = layout_shape(&of.image),
                     all = { .rank = 3, .dim = { ANGLES, shape.dim[0], shape.dim[1] } };
            images = wf_empty_with(ctx, WF_C128, all, NULL);
            OK(ctx, wf_array_assign(images, one));
            wf_array *rotations = numbers_as(WF_F64, WF_SHAPE(ANGLES, 3, 3), r[0]);
            wf_array *by = numbers_as(WF_F64, WF_SHAPE(ANGLES, 2), shifts[0]);
            wf_array *slices = wf_extract_slices(volume, &of, rotations, by);
            wf_array *sums = wf_full(ctx, WF_C128, wf_array_shape(volume), 0);
            OK(ctx, wf_insert_slices(sums, NULL, images, NULL, &of, rotations, by));
            double left = 0, right = full_product(sums, volume, &of.volume);
            for (int i = 0; i < ANGLES; ++i) {
                wf_array *a = wf_view_at(slices, 0, i), *b = wf_view_at(images, 0, i);
                left += full_product(a, b, &of.image);
                RELEASE(a, b);
            }
            if (!(fabs(left - right) <= 1e-11 * fabs(left)))
                print_error("layout %d, kernel %d: %.12g and %.12g\n", layout, h, left, right);
            assert_true(fabs(left - right) <= 1e-11 * fabs(left) && fabs(left) > 0.1);
            RELEASE(volume, one, images, rotations, by, slices, sums);
            free(s.f);
            free(slice.f);
        }
}

/* ---- insertion ---- */
/* Slices of many directions, inserted and normalised, give the blobs back. */
static void test_reconstruction(void **state)
{
    (void)state;
    enum { N = 20, SIZE = 40, MOST = 400 };
    int many = (int)sized(MOST, 12);
    double *x = blob_volume(N), *r = malloc(MOST * 9 * sizeof *r);
    for (int i = 0; i < many; ++i) /* directions of a Fibonacci lattice */
        plain_rotation(i * 2.399963229728653, acos(1 - (2 * i + 1.0) / many), 0.7 * i, r + 9 * i);
    wf_spectrum whole = { WF_LAYOUT_H, WF_F64, 3, { SIZE, SIZE, SIZE } };
    wf_slices of = { .volume = whole,
                     .image = { WF_LAYOUT_H, WF_F64, 2, { SIZE, SIZE } },
                     .how = { .interpolation = WF_INTERPOLATE_LINEAR } };
    wf_array *volume = numbers_as(WF_F32, WF_SHAPE(N, N, N), x);
    wf_array *corrected = wf_array_copy(volume);
    OK(ctx, wf_correct_gridding(corrected, volume, &whole, WF_INTERPOLATE_LINEAR));
    wf_array *f = padded_spectrum(corrected, 3, SIZE), *rotations = numbers_as(WF_F32, WF_SHAPE(many, 3, 3), r);
    wf_array *slices = wf_extract_slices(f, &of, rotations, NULL);
    for (int gathers = 0; gathers < 2; ++gathers) {
        if (is_on_gpu() || (gathers && TEST_EVERY > 1))
            continue; /* takes minutes there; the sums are those of other tests */
        of.window = gathers ? 1.5 / SIZE : 0;
        of.sinc = gathers ? 1.0 / SIZE : 0;
        wf_array *sums = wf_full(ctx, WF_C64, wf_array_shape(f), 0);
        wf_array *weights = wf_full(ctx, WF_F32, wf_array_shape(f), 0);
        OK(ctx, wf_insert_slices(sums, weights, slices, NULL, &of, rotations, NULL));
        OK(ctx, wf_normalize_sums(sums, sums, weights, 1e-3));
        wf_array *y = images_of(sums, 3, SIZE, N);
        double *found = numbers_of(y, 0), ab = 0, aa = 0, bb = 0;
        for (int i = 0; i < N * N * N; ++i)
            ab += found[i] * x[i], aa += found[i] * found[i], bb += x[i] * x[i];

        assert_true(ab / sqrt(aa * bb) > 0.99 && fabs(ab / bb - 1) < 0.03);
        free(found);
        RELEASE(sums, weights, y);
    }
    RELEASE(volume, corrected, f, rotations, slices);
    free(x);
    free(r);
}

/* The distance of the Ewald sphere from its tangent plane, in cycles/pixel. */
static double plain_height(double wavelength, double ky, double kx)
{
    return wavelength == 0
               ? 0
               : 1 / wavelength - copysign(sqrt(1 / (wavelength * wavelength) - ky * ky - kx * kx), wavelength);
}

/* What each element of the volume takes from slices, beside plain C; weights of slices and of their elements. */
static void check_gather(double wavelength)
{
    double r[ANGLES][9], *w = random_numbers(ANGLES * 25, 7);
    for (int i = 0; i < ANGLES; ++i)
        plain_rotation(angles[i][0], angles[i][1], angles[i][2], r[i]);
    spectrum s = random_spectrum(3, (int64_t[]){ 6, 5, 4 }, 3), slice = random_spectrum(2, (int64_t[]){ 5, 5 }, 4);
    wf_slices of = { .volume = described(&s, WF_LAYOUT_FC),
                     .image = described(&slice, WF_LAYOUT_F),
                     .how = { .interpolation = WF_INTERPOLATE_LINEAR },
                     .window = 0.3,
                     .sinc = 0.2,
                     .wavelength = wavelength };
    wf_array *one = in_layout(&slice, WF_LAYOUT_F, WF_C128), *images = wf_empty(ctx, WF_C128, WF_SHAPE(ANGLES, 5, 5));
    OK(ctx, wf_array_assign(images, one));
    wf_array *sums = wf_full(ctx, WF_C128, WF_SHAPE(6, 5, 4), 1), *weights = wf_full(ctx, WF_F64, WF_SHAPE(6, 5, 4), 2);
    wf_array *rotations = numbers_as(WF_F64, WF_SHAPE(ANGLES, 3, 3), r[0]);
    wf_array *by = numbers_as(WF_F64, WF_SHAPE(ANGLES, 2), shifts[0]);
    wf_array *each = numbers_as(WF_F64, WF_SHAPE(ANGLES, 5, 5), w);
    OK(ctx, wf_insert_slices(sums, weights, images, each, &of, rotations, by));
    double complex expected[120], all[120];
    for (int at = 0; at < 120; ++at) {
        double k[3] = { (at / 20 - 3) / 6.0, (at / 4 % 5 - 2) / 5.0, (at % 4 - 2) / 4.0 };
        expected[at] = 1, all[at] = 2;
        for (int i = 0; i < ANGLES; ++i) {
            double own[3], turns = 0;
            for (int e = 0; e < 3; ++e)
                own[e] = r[i][e] * k[0] + r[i][3 + e] * k[1] + r[i][6 + e] * k[2];
            own[0] -= plain_height(wavelength, own[1], own[2]);
            if (fabs(own[0]) >= 0.3 || hypot(own[1], own[2]) > 0.5)
                continue;
            double f =
                sinc(own[0] / 0.2) * (0.42 + 0.5 * cos(M_PI * own[0] / 0.3) + 0.08 * cos(2 * M_PI * own[0] / 0.3));
            double place[2] = { own[1] * 5, own[2] * 5 };
            turns = own[1] * shifts[i][0] + own[2] * shifts[i][1];
            expected[at] += f * cexp(2 * M_PI * I * turns) * visit_spectrum(&slice, &of.how, place, NULL, 0);
            spectrum weight = { 2, { 5, 5 }, 25, NULL };
            double complex own_weights[25];
            for (int q = 0; q < 25; ++q)
                own_weights[q] = w[i * 25 + q];
            weight.f = own_weights;
            all[at] += f * visit_spectrum(&weight, &of.how, place, NULL, 0);
        }
    }
    check_complex(sums, expected, 1e-12, "gathered", 0);
    check_complex(weights, all, 1e-12, "gathered weights", 0);
    RELEASE(one, images, sums, weights, rotations, by, each);
    free(s.f);
    free(slice.f);
    free(w);
}

static void test_gather(void **state)
{
    (void)state;
    check_gather(0);
    check_gather(0.7);
    check_gather(-0.9);
}

/* Slices that are caps of the Ewald sphere, on both sides, beside plain C. */
static void test_sphere(void **state)
{
    (void)state;
    for (int layout = 0; layout < LAYOUTS; ++layout)
        for (int side = -1; side <= 1; side += 2) {
            double r[9], wavelength = side * 0.9;
            plain_rotation(0.4, 1.1, -0.6, r);
            spectrum s = random_spectrum(3, (int64_t[]){ 8, 7, 6 }, 3);
            wf_slices of = { .volume = described(&s, (wf_layout)layout),
                             .image = { WF_LAYOUT_F, WF_F64, 2, { 5, 6 } },
                             .how = { .interpolation = WF_INTERPOLATE_CUBIC },
                             .wavelength = wavelength };
            wf_array *volume = in_layout(&s, (wf_layout)layout, WF_C128),
                     *rotation = numbers_as(WF_F64, WF_SHAPE(1, 3, 3), r);
            wf_array *y = wf_extract_slices(volume, &of, rotation, NULL);
            double complex expected[30];
            for (int i = 0; i < 30; ++i) {
                double ky = (i / 6 > 2 ? i / 6 - 5 : i / 6) / 5.0, kx = (i % 6 > 2 ? i % 6 - 6 : i % 6) / 6.0, place[3];
                double kz = plain_height(wavelength, ky, kx);
                for (int d = 0; d < 3; ++d)
                    place[d] = (r[3 * d] * kz + r[3 * d + 1] * ky + r[3 * d + 2] * kx) * (double)of.volume.size[d];
                expected[i] = hypot(ky, kx) > 0.5 ? 0 : visit_spectrum(&s, &of.how, place, NULL, 0);
            }
            check_complex(y, expected, 1e-12, "cap", layout);
            RELEASE(volume, rotation, y);
            free(s.f);
        }
}

/* Weights of slices: [n], and by element; slices of images, which are lines. */
static void test_weights(void **state)
{
    (void)state;
    double w[2] = { 0.5, 3 }, values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    double both[2][4] = { { 1, 0, 0, 1 }, { 0, -1, 1, 0 } }; /* lines along x, and along -y */
    wf_slices of = { .volume = { WF_LAYOUT_FC, WF_F64, 2, { 4, 4 } },
                     .image = { WF_LAYOUT_FC, WF_F64, 1, { 4 } },
                     .how = { .interpolation = WF_INTERPOLATE_LINEAR } };
    wf_array *images = numbers_as(WF_C64, WF_SHAPE(2, 4), values), *weight = numbers_as(WF_F32, WF_SHAPE(2), w);
    wf_array *rotations = numbers_as(WF_F32, WF_SHAPE(2, 2, 2), both[0]);
    wf_array *sums = wf_full(ctx, WF_C64, WF_SHAPE(4, 4), 0), *weights = wf_full(ctx, WF_F32, WF_SHAPE(4, 4), 0);
    OK(ctx, wf_insert_slices(sums, weights, images, weight, &of, rotations, NULL));
    /* The second line goes through (y, x) = (-k, 0): its first element, k = -2, is at +Nyquist, which is row 0. */
    double expected[16] = { [8] = 1, [9] = 2, [10] = 3 + 7, [11] = 4, [2] = 5, [14] = 6, [6] = 8 };
    double all[16] = { [8] = 0.5, [9] = 0.5, [10] = 3.5, [11] = 0.5, [2] = 3, [14] = 3, [6] = 3 };
    check_near(sums, expected, 0, "lines", 0);
    check_near(weights, all, 0, "weights of lines", 0);
    OK(ctx, wf_normalize_sums(sums, sums, weights, 1));
    for (int i = 0; i < 16; ++i)
        expected[i] /= fmax(all[i], 1);
    check_near(sums, expected, 1e-6, "normalised", 0);
    OK(ctx, wf_array_fill(sums, 3));
    OK(ctx, wf_normalize_sums(sums, sums, weights, 0));
    for (int i = 0; i < 16; ++i)
        expected[i] = all[i] > 0 ? 3 / all[i] : 0;
    check_near(sums, expected, 1e-6, "normalised without a least weight", 0);
    RELEASE(images, weight, rotations, sums, weights);
}

/* ---- the correction ---- */
static double transform_of(wf_interpolation how, double u)
{
    double s = sinc(u);
    if (how == WF_INTERPOLATE_NEAREST)
        return s;
    if (how == WF_INTERPOLATE_LINEAR)
        return s * s;
    if (how == WF_INTERPOLATE_BSPLINE)
        return s * s * s * s;
    double beta = kaiser_beta(taps_of[how]), x = beta * beta - pow(M_PI * taps_of[how] * u, 2);
    double root = sqrt(fabs(x)), f = x > 0 ? sinh(root) / root : root > 0 ? sin(root) / root : 1;
    return f * beta / sinh(beta);
}

static void test_correction(void **state)
{
    (void)state;
    static const wf_interpolation kernels[] = { WF_INTERPOLATE_NEAREST, WF_INTERPOLATE_LINEAR, WF_INTERPOLATE_BSPLINE,
                                                WF_INTERPOLATE_KAISER4, WF_INTERPOLATE_KAISER6 };
    for (int h = 0; h < 5; ++h)
        for (int n = 5; n <= 6; ++n) {
            double expected[2 * 6 * 7], *x = random_numbers(2 * n * 7, 3);
            for (int i = 0; i < 2 * n * 7; ++i)
                expected[i] = x[i] / transform_of(kernels[h], (i / 7 % n - n / 2) / 8.0) /
                              transform_of(kernels[h], (i % 7 - 3) / 14.0);
            wf_array *a = numbers_as(WF_F64, WF_SHAPE(2, n, 7), x), *y = wf_array_copy(a);
            OK(ctx, wf_correct_gridding(y, a, &(wf_spectrum){ WF_LAYOUT_H, WF_F64, 2, { 8, 14 } }, kernels[h]));
            check_near(y, expected, 1e-12, "correction", h * 10 + n);
            RELEASE(a, y);
            free(x);
        }
}

/* ---- mistakes ---- */
static void test_mistakes(void **state)
{
    (void)state;
    double zeros[64] = { 0 };
    wf_array *volume = numbers_as(WF_C64, WF_SHAPE(4, 4, 3), zeros),
             *real = numbers_as(WF_F32, WF_SHAPE(4, 4, 3), zeros);
    wf_array *r = numbers_as(WF_F32, WF_SHAPE(2, 3, 3), zeros), *bad = numbers_as(WF_F32, WF_SHAPE(2, 3, 2), zeros);
    wf_array *images = numbers_as(WF_C64, WF_SHAPE(2, 4, 3), zeros), *few = numbers_as(WF_F32, WF_SHAPE(3), zeros);
    wf_slices of = { .volume = { WF_LAYOUT_H, WF_F32, 3, { 4, 4, 4 } },
                     .image = { WF_LAYOUT_H, WF_F32, 2, { 4, 4 } },
                     .how = { .interpolation = WF_INTERPOLATE_LINEAR } };
    wf_slices mixed = of, negative = of, clamp = of, flat = of;
    mixed.image = (wf_spectrum){ WF_LAYOUT_F, WF_F32, 2, { 4, 3 } };
    negative.cutoff = -1;
    clamp.how.border = WF_BORDER_CLAMP;
    flat.image.rank = 1;
    const struct {
        const wf_array *volume, *rotations, *shifts;
        const wf_slices *of;
        wf_status status;
        const char *text;
    } calls[] = {
        { NULL, r, NULL, &of, WF_ERR_ARG, "wf_extract_slices: `volume` is NULL" },
        { volume, r, NULL, NULL, WF_ERR_ARG, "wf_extract_slices: `slices` is NULL" },
        { volume, NULL, NULL, &of, WF_ERR_ARG, "wf_extract_slices: `rotations` is NULL" },
        { volume, bad, NULL, &of, WF_ERR_SHAPE, "wf_extract_slices: `rotations` is (2, 3, 2), not (n, 3, 3)" },
        { volume, volume, NULL, &of, WF_ERR_SHAPE, "wf_extract_slices: `rotations` is (4, 4, 3), not (n, 3, 3)" },
        { volume, r, few, &of, WF_ERR_SHAPE, "wf_extract_slices: `shifts` is (3), not (2, 2)" },
        { real, r, NULL, &of, WF_ERR_DTYPE, "wf_extract_slices: `volume` is f32; spectra are complex" },
        { volume, r, NULL, &negative, WF_ERR_ARG, "wf_extract_slices: slices.cutoff is -1" },
        { volume, r, NULL, &clamp, WF_ERR_ARG, "wf_extract_slices: slices.how.border is 2" },
        { volume, r, NULL, &flat, WF_ERR_ARG,
          "wf_extract_slices: `volume` has 3 axes, slices.volume 3 and slices.image 1" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        assert_null(wf_extract_slices(calls[i].volume, calls[i].of, calls[i].rotations, calls[i].shifts));
        REFUSED(ctx, wf_last_status(ctx), calls[i].status, calls[i].text);
    }
    REFUSED(ctx, wf_insert_slices(volume, NULL, volume, NULL, &of, r, NULL), WF_ERR_SHAPE,
            "wf_insert_slices: `images` is (4, 4, 3), not (2, 4, 3)");
    REFUSED(ctx, wf_insert_slices(volume, real, images, few, &of, r, NULL), WF_ERR_SHAPE,
            "wf_insert_slices: `image_weights` is (3), not (2)");
    REFUSED(ctx, wf_insert_slices(volume, few, images, NULL, &of, r, NULL), WF_ERR_SHAPE,
            "wf_insert_slices: `weights` is (3), not (4, 4, 3)");
    REFUSED(ctx, wf_insert_slices(volume, volume, images, NULL, &of, r, NULL), WF_ERR_DTYPE,
            "wf_insert_slices: `weights` is c64; it must be real");
    REFUSED(ctx, wf_insert_slices(volume, NULL, images, NULL, &mixed, r, NULL), WF_ERR_ARG,
            "wf_insert_slices: slices.volume is half, but slices.image is full");
    REFUSED(ctx, wf_insert_slices(volume, NULL, NULL, NULL, &of, r, NULL), WF_ERR_ARG,
            "wf_insert_slices: `images` is NULL");
    REFUSED(ctx, wf_normalize_sums(volume, volume, real, -1), WF_ERR_ARG, "wf_normalize_sums: `least` is -1");
    REFUSED(ctx, wf_normalize_sums(volume, volume, NULL, 1), WF_ERR_ARG, "wf_normalize_sums: `weights` is NULL");
    REFUSED(ctx,
            wf_correct_gridding(real, real, &(wf_spectrum){ WF_LAYOUT_H, WF_F32, 2, { 4, 2 } }, WF_INTERPOLATE_LINEAR),
            WF_ERR_SHAPE, "wf_correct_gridding: `x` is (4, 4, 3); its last 2 axes must not exceed spectrum.size");
    REFUSED(ctx, wf_correct_gridding(real, real, &of.image, (wf_interpolation)-1), WF_ERR_ARG,
            "wf_correct_gridding: there is no interpolation -1");
    RELEASE(volume, real, r, bad, images, few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutations),   cmocka_unit_test(test_projections), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_reconstruction), cmocka_unit_test(test_gather),      cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_weights),        cmocka_unit_test(test_correction),  cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
