/* test_project.c - projections in real space: beside scikit-image's radon, plain C and Gaussians in closed form; the
 * transpose; mistakes.
 *
 * ctest: devices
 */
#include "plain_interpolation.h"
#include "weft/project.h"

/* skimage.transform.radon(x, [0, 30, 75, 90, 140]) of (3 y^2 + 5 x + 7 x y) mod 11 in a circle. */
static void test_radon(void **state)
{
    (void)state;
    enum { N = 9, ANGLES = 5 };
    static const double degrees[ANGLES] = { 0, 30, 75, 90, 140 };
    static const double expected[ANGLES * N] = { 4.0,
                                                 28.0,
                                                 24.0,
                                                 35.0,
                                                 51.0,
                                                 35.0,
                                                 46.0,
                                                 17.0,
                                                 4.0,
                                                 2.820853380214935,
                                                 15.371180179927315,
                                                 36.083993101029364,
                                                 41.05513627132909,
                                                 38.68911086754464,
                                                 34.62435565298213,
                                                 44.56629668905545,
                                                 20.51254163583101,
                                                 4.562868435543397,
                                                 7.137640011444118,
                                                 16.805663073231717,
                                                 37.13568495395971,
                                                 36.71854630693063,
                                                 32.49203861515987,
                                                 44.49779388356251,
                                                 26.17774297914742,
                                                 30.373585175840212,
                                                 12.76589378303659,
                                                 7.0,
                                                 22.0,
                                                 37.0,
                                                 28.0,
                                                 36.0,
                                                 37.0,
                                                 33.0,
                                                 35.0,
                                                 9.0,
                                                 8.742580579520808,
                                                 31.26874323193815,
                                                 21.53216246567666,
                                                 30.692884988291123,
                                                 41.20465744145709,
                                                 35.704707910792514,
                                                 29.166006334777403,
                                                 34.06325493027949,
                                                 8.188473353469234 };
    double x[N * N], r[ANGLES][4];
    for (int i = 0; i < N * N; ++i) {
        int v = i / N, u = i % N;
        x[i] = (v - 4) * (v - 4) + (u - 4) * (u - 4) > 16 ? 0 : (3 * v * v + 5 * u + 7 * u * v) % 11;
    }
    for (int i = 0; i < ANGLES; ++i) {
        double a = degrees[i] * M_PI / 180, m[4] = { cos(a), -sin(a), sin(a), cos(a) };
        memcpy(r[i], m, sizeof m);
    }
    wf_array *img = numbers_as(WF_F64, WF_SHAPE(N, N), x),
             *rotations = numbers_as(WF_F64, WF_SHAPE(ANGLES, 2, 2), r[0]);
    wf_array *y = wf_project(img, WF_SCALAR, rotations, NULL, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR });
    check_near(y, expected, 1e-12, "radon", 0);
    RELEASE(img, rotations, y);
}

/* Rotations by quaternions, so that no angles are special. */
static void random_rotation(uint64_t seed, double *m)
{
    double q[4], n = 0;
    for (int i = 0; i < 4; ++i)
        q[i] = test_random_number(&seed), n += q[i] * q[i];
    for (int i = 0; i < 4; ++i)
        q[i] /= sqrt(n);
    double a = q[0], b = q[1], c = q[2], d = q[3];
    double all[9] = { a * a + b * b - c * c - d * d, 2 * (b * c - a * d),           2 * (b * d + a * c),
                      2 * (b * c + a * d),           a * a - b * b + c * c - d * d, 2 * (c * d - a * b),
                      2 * (b * d - a * c),           2 * (c * d + a * b),           a * a - b * b - c * c + d * d };
    memcpy(m, all, sizeof all);
}

enum { RAYS = 4, HEIGHT = 6, WIDTH = 9 };
static const double shifts[RAYS][2] = { { 0, 0 }, { 0.25, -1.5 }, { 1, 0 }, { -0.75, 0.5 } };

/* Adds y to the elements along the rays of image i, or sets it to the sums along them. */
static void plain_rays(const image *m, const double *r, const double *shift, double *y, double *add)
{
    for (int p = 0; p < HEIGHT * WIDTH; ++p) {
        double u[3] = { 0, p / WIDTH - HEIGHT / 2 - shift[0], p % WIDTH - WIDTH / 2 - shift[1] }, sum = 0;
        for (int t = -20; t <= 20; ++t) {
            double at[3];
            u[0] = t;
            for (int d = 0; d < 3; ++d)
                at[d] = (double)(m->dim[d] / 2) + r[3 * d] * u[0] + r[3 * d + 1] * u[1] + r[3 * d + 2] * u[2];
            sum += visit(m, at, add, add ? y[p] : 0);
        }
        if (!add)
            y[p] = sum;
    }
}

static void check_rays(wf_interpolation how, wf_dtype t, bool shifted)
{
    double r[RAYS][9] = { { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, { 0, 0, 1, 1, 0, 0, 0, 1, 0 } },
           expected[RAYS * HEIGHT * WIDTH];
    for (int i = 2; i < RAYS; ++i)
        random_rotation((uint64_t)(i + 10 * (int)how), r[i]);
    double *x = random_numbers(140, 5), *y = random_numbers(RAYS * HEIGHT * WIDTH, 6), sums[140] = { 0 };
    image m = image_of(3, 0, how, WF_BORDER_VALUE, x);
    m.how.outside = 0;
    m.how.prefiltered = true;
    for (int i = 0; i < RAYS; ++i) {
        const double zero[2] = { 0, 0 }, *by = shifted ? shifts[i] : zero;
        plain_rays(&m, r[i], by, expected + i * HEIGHT * WIDTH, NULL);
        plain_rays(&m, r[i], by, y + i * HEIGHT * WIDTH, sums);
    }
    wf_array *volume = numbers_as(t, shape_of(&m), x), *rotations = numbers_as(WF_F64, WF_SHAPE(RAYS, 3, 3), r[0]);
    wf_array *by = shifted ? numbers_as(WF_F32, WF_SHAPE(RAYS, 2), shifts[0]) : NULL;
    wf_array *images = wf_project(volume, WF_SHAPE(HEIGHT, WIDTH), rotations, by, &m.how);
    double most = wf_dtype_part(t) == WF_F64 ? 1e-12 : 2e-5;
    check_near(images, expected, most, "rays", (int)how);
    wf_array *all = wf_full(ctx, t, shape_of(&m), 0), *given = numbers_as(t, wf_array_shape(images), y);
    OK(ctx, wf_back_project(all, given, rotations, by, &m.how));
    check_near(all, sums, most, "sums of rays", (int)how);
    RELEASE(volume, rotations, by, images, all, given);
    free(x);
    free(y);
}

/* Both directions beside plain C, which visits one set of weights for both: so they are transposes. */
static void test_rays(void **state)
{
    (void)state;
    check_rays(WF_INTERPOLATE_LINEAR, WF_F32, true);
    if (!is_on_gpu() && TEST_EVERY == 1) {
        check_rays(WF_INTERPOLATE_NEAREST, WF_F64, true);
        check_rays(WF_INTERPOLATE_CUBIC, WF_C64, false);
        check_rays(WF_INTERPOLATE_BSPLINE, WF_F64, true);
    }
}

/* Projections of a ball with a soft edge are equal from all sides, and have the volume's sum. */
static void test_ball(void **state)
{
    (void)state;
    enum { N = 25, DIRECTIONS = 12 };
    int many = (int)sized(DIRECTIONS, 2);
    double *x = malloc(N * N * N * sizeof *x), *r = malloc(DIRECTIONS * 9 * sizeof *r), sum = 0;
    for (int i = 0; i < N * N * N; ++i) {
        double z = i / (N * N) - N / 2, y = i / N % N - N / 2, u = i % N - N / 2;
        sum += x[i] = exp(-(z * z + y * y + u * u) / (2 * 2.5 * 2.5));
    }
    for (int i = 0; i < many; ++i)
        random_rotation((uint64_t)i + 1, r + 9 * i);
    wf_array *volume = numbers_as(WF_F32, WF_SHAPE(N, N, N), x),
             *rotations = numbers_as(WF_F32, WF_SHAPE(many, 3, 3), r);
    wf_array *y =
        wf_project(volume, WF_SCALAR, rotations, NULL, &(wf_interp){ .interpolation = WF_INTERPOLATE_BSPLINE });
    double *found = numbers_of(y, 0);
    for (int i = 0; i < many; ++i) {
        double all = 0;
        for (int p = 0; p < N * N; ++p) {
            double v = p / N - N / 2, u = p % N - N / 2, v0 = found[i * N * N + p];
            double expected = sqrt(2 * M_PI) * 2.5 * exp(-(v * v + u * u) / (2 * 2.5 * 2.5));
            all += v0;
            assert_true(fabs(v0 - expected) < 1e-3 * 6.27);
        }
        assert_true(fabs(all - sum) < 1e-3 * sum);
    }
    free(found);
    free(x);
    free(r);
    RELEASE(volume, rotations, y);
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[64] = { 0 };
    wf_array *volume = numbers_as(WF_F32, WF_SHAPE(4, 4, 4), zeros), *r = numbers_as(WF_F32, WF_SHAPE(2, 3, 3), zeros);
    wf_array *line = numbers_as(WF_F32, WF_SHAPE(4), zeros), *bytes = numbers_as(WF_U8, WF_SHAPE(4, 4, 4), zeros);
    wf_array *images = numbers_as(WF_F32, WF_SHAPE(2, 4, 4), zeros);
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR }, clamp = how, outside = how;
    clamp.border = WF_BORDER_CLAMP;
    outside.outside = 1;
    const struct {
        const wf_array *volume, *rotations;
        wf_shape shape;
        const wf_interp *how;
        wf_status status;
        const char *text;
    } calls[] = {
        { NULL, r, WF_SCALAR, &how, WF_ERR_ARG, "wf_project: `volume` is NULL" },
        { volume, NULL, WF_SCALAR, &how, WF_ERR_ARG, "wf_project: `rotations` is NULL" },
        { volume, r, WF_SCALAR, NULL, WF_ERR_ARG, "wf_project: `how` is NULL" },
        { volume, r, WF_SHAPE(4), &how, WF_ERR_SHAPE, "wf_project: `shape` has rank 1; projections have 2 axes" },
        { line, r, WF_SCALAR, &how, WF_ERR_SHAPE, "wf_project: `volume` has 1 axes; 2 or 3 are possible" },
        { volume, line, WF_SCALAR, &how, WF_ERR_SHAPE, "wf_project: `rotations` is (4), not (n, 3, 3)" },
        { volume, r, WF_SCALAR, &clamp, WF_ERR_ARG, "wf_project: how.border is 2 with 0 outside" },
        { volume, r, WF_SCALAR, &outside, WF_ERR_ARG, "wf_project: how.border is 0 with 1 outside" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        assert_null(wf_project(calls[i].volume, calls[i].shape, calls[i].rotations, NULL, calls[i].how));
        REFUSED(ctx, wf_last_status(ctx), calls[i].status, calls[i].text);
    }
    REFUSED(ctx, wf_back_project(volume, volume, r, NULL, &how), WF_ERR_SHAPE,
            "wf_back_project: `images` is (4, 4, 4); 2 images of 2 axes are needed");
    REFUSED(ctx, wf_back_project(volume, NULL, r, NULL, &how), WF_ERR_ARG, "wf_back_project: `images` is NULL");
    REFUSED(ctx, wf_back_project(bytes, images, r, NULL, &how), WF_ERR_DTYPE,
            "wf_back_project: `volume` is u8, which cannot hold weighted values");
    REFUSED(ctx, wf_back_project(volume, images, r, line, &how), WF_ERR_SHAPE,
            "wf_back_project: `shifts` is (4), not (2, 2)");
    RELEASE(volume, r, line, bytes, images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_radon),
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
