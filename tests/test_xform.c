/* test_xform.c - rotations and shapes; affine transforms, fields of positions, polar grids, bins and symmetries of arrays;
 * mistakes.
 *
 * ctest: devices first_tier
 */
#include "plain_interpolation.h"

static const double identity[3][12] = { { 1, 0 }, { 1, 0, 0, 0, 1, 0 }, { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 } };

static wf_array *matrix_of(wf_dtype t, int axes, const double *m) { return numbers_as(t, WF_SHAPE(axes, axes + 1), m); }

static void test_identity(void **state)
{
    (void)state;
    for (int how = 0; how < INTERPOLATIONS; ++how)
        for (int axes = 1; axes <= (how < WF_INTERPOLATE_LANCZOS4 ? 3 : 2); ++axes) {
            wf_border border = borders[(how + axes) % BORDERS];
            double *x = random_numbers(200, 3);
            image m = image_of(axes, 0, (wf_interpolation)how, border, x);
            wf_array *a = numbers_as(axes == 2 ? WF_C64 : WF_F32, shape_of(&m), x);
            wf_array *inverse = matrix_of(WF_F32, axes, identity[axes - 1]);
            wf_array *y = wf_transform(a, WF_SCALAR, inverse, &m.how);
            check_near(y, x, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 0, "identity", how * 10 + axes);
            wf_release(a);
            wf_release(inverse);
            wf_release(y);
            free(x);
        }
}

/* A quarter turn about n/2 of an odd square is a permutation, and four of them are nothing. */
static void test_quarter_turns(void **state)
{
    (void)state;
    double *x = random_numbers(81, 5), turned[81];
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(9, 9), x);
    /* output (y, x) reads (c + (x - c), c - (y - c)) */
    wf_array *inverse = matrix_of(WF_F64, 2, (double[]){ 0, 1, 0, -1, 0, 8 });
    for (int how = 0; how < INTERPOLATIONS; ++how) {
        if (is_on_gpu() && how > 3)
            break;
        wf_interp with = { .interpolation = (wf_interpolation)how, .border = WF_BORDER_MIRROR };
        wf_array *y = wf_retain(a);
        for (int turn = 1; turn <= 4; ++turn) {
            wf_array *next = wf_transform(y, WF_SCALAR, inverse, &with);
            wf_release(y);
            y = next;
            for (int i = 0; i < 81 && turn == 1; ++i)
                turned[i] = x[(i % 9) * 9 + 8 - i / 9];
            if (turn == 1)
                check_near(y, turned, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 0, "turn", how);
        }
        check_near(y, x, how == WF_INTERPOLATE_BSPLINE ? 8e-6 : 0, "four turns", how);
        wf_release(y);
    }
    wf_release(a);
    wf_release(inverse);
    free(x);
}

/* Between elements, polynomials of degree 1, 2 (Keys), 3 (B-spline, away from the ends) are met; constants by all. */
static void test_polynomials(void **state)
{
    (void)state;
    enum { N = 40 };
    double inverse[2] = { 0.25, 14.125 }; /* from 14.125 to 24 */
    wf_array *m = matrix_of(WF_F64, 1, inverse);
    for (int how = 1; how < INTERPOLATIONS; ++how) {
        int degree = how == WF_INTERPOLATE_LINEAR ? 1 : how <= WF_INTERPOLATE_BSPLINE ? how : 0;
        double x[N], expected[N];
        for (int i = 0; i < N; ++i) {
            double at = inverse[0] * i + inverse[1] - 20;
            x[i] = 1 + (degree > 0) * 0.5 * (i - 20) + (degree > 1) * 0.25 * pow(i - 20, 2) -
                   (degree > 2) * 0.125 * pow(i - 20, 3);
            expected[i] =
                1 + (degree > 0) * 0.5 * at + (degree > 1) * 0.25 * at * at - (degree > 2) * 0.125 * pow(at, 3);
        }
        wf_array *a = numbers_as(WF_F64, WF_SHAPE(N), x);
        wf_array *y = wf_transform(a, WF_SHAPE(N), m,
                                   &(wf_interp){ .interpolation = (wf_interpolation)how, .border = WF_BORDER_MIRROR });
        /* Mirroring bends the ends; of that 0.268^14 is left at the nearest position. */
        check_near(y, expected, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 1e-12, "polynomial", how);
        wf_release(a);
        wf_release(y);
    }
    wf_release(m);
}

/* Batches are their elements one by one; x and matrices broadcast; any shape, strided views, empty batches. */
static void test_batches(void **state)
{
    (void)state;
    double *x = random_numbers(3 * 6 * 5, 9), m[3][6];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 6; ++k)
            m[i][k] = identity[1][k] + 0.1 * (i + 1) * sin(k + i);
    wf_array *all = numbers_as(WF_F32, WF_SHAPE(3, 5, 6), x), *inverse = numbers_as(WF_F32, WF_SHAPE(3, 2, 3), m[0]);
    wf_array *turned = wf_view_permute(all, (int[]){ 0, 2, 1 });
    for (int how = 0; how < 4; ++how) {
        wf_interp with = { .interpolation = (wf_interpolation)how, .border = WF_BORDER_REFLECT };
        wf_array *y = wf_transform(turned, WF_SHAPE(4, 9), inverse, &with);
        assert_non_null(y);
        assert_int_equal(wf_array_shape(y).rank, 3);
        assert_int_equal(wf_array_count(y), 3 * 4 * 9);
        for (int i = 0; i < 3; ++i) {
            wf_array *one = wf_view_at(turned, 0, i), *matrix = wf_view_at(inverse, 0, i), *part = wf_view_at(y, 0, i);
            wf_array *single = wf_transform(one, WF_SHAPE(4, 9), matrix, &with);
            double *expected = numbers_of(single, 0);
            check_near(part, expected, 0, "batch", how);
            wf_array *many = wf_transform(one, WF_SHAPE(4, 9), inverse, &with), *same = wf_view_at(many, 0, i);
            check_near(same, expected, 0, "broadcast", how);
            free(expected);
            wf_array *spent[] = { one, matrix, part, single, many, same };
            for (int k = 0; k < 6; ++k)
                wf_release(spent[k]);
        }
        wf_release(y);
        wf_array *none = wf_view_slice(turned, 0, 0, 0, 1), *matrix = wf_view_at(inverse, 0, 0);
        y = wf_transform(none, WF_SCALAR, matrix, &with);
        assert_non_null(y);
        assert_int_equal(wf_array_count(y), 0);
        wf_array *spent[] = { none, matrix, y };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
    }
    wf_release(all);
    wf_release(turned);
    wf_release(inverse);
    free(x);
}

/* ---- rotations ---- */
static void product(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 9; ++i) {
        double sum = 0;
        for (int k = 0; k < 3; ++k)
            sum += a[i / 3 * 3 + k] * b[k * 3 + i % 3];
        out[i] = sum;
    }
}

/* A rotation of (x, y, z) by Rodrigues' formula, written for (z, y, x). */
static void rotation(char axis, double angle, double *m)
{
    double u[3] = { axis == 'x', axis == 'y', axis == 'z' }, c = cos(angle), s = sin(angle);
    double cross[9] = { 0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0 };
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            m[(2 - i) * 3 + 2 - j] = (i == j) * c + (1 - c) * u[i] * u[j] + s * cross[3 * i + j];
}

static void check_euler(wf_euler order, const char *axes, bool extrinsic, bool inverse)
{
    const double angle[3] = { 0.7, -1.1, 2.3 };
    double r[3][9], two[9], all[9], expected[9];
    for (int k = 0; k < 3; ++k)
        rotation(axes[k], angle[k], r[k]);
    product(extrinsic ? r[2] : r[0], r[1], two);
    product(two, extrinsic ? r[0] : r[2], all);
    for (int i = 0; i < 9; ++i)
        expected[i] = inverse ? all[i % 3 * 3 + i / 3] : all[i];
    wf_array *y = wf_empty(ctx, WF_F64, WF_SHAPE(9));
    for (int traced = 0; traced < 2; ++traced) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
        wf_val m[9];
        if (traced)
            wf_euler_matrix(g, order, wf_param(g, "a", WF_F64, angle[0]), wf_param(g, "b", WF_F64, angle[1]),
                            wf_param(g, "c", WF_F64, angle[2]), m);
        else
            wf_euler_matrix(g, order, angle[0], angle[1], angle[2], m);
        for (int i = 0; i < 9; ++i)
            wf_write(g, y, m[i], i);
        OK(ctx, wf_run(g));
        check_near(y, expected, 1e-15, axes, (int)order);
    }
    wf_release(y);
}

static void test_euler(void **state)
{
    (void)state;
    static const char *const axes[12] = { "xyx", "xzx", "yxy", "yzy", "zxz", "zyz",
                                          "xyz", "xzy", "yxz", "yzx", "zxy", "zyx" };
    for (int i = 0; i < 12; ++i) {
        check_euler((wf_euler)i, axes[i], false, false);
        check_euler((wf_euler)(i | WF_EULER_EXTRINSIC), axes[i], true, false);
    }
    check_euler(WF_EULER_RELION, "zyz", false, true);
    check_euler(WF_EULER_EMAN2, "zxz", false, true);
    check_euler(WF_EULER_DYNAMO, "zxz", true, true);
    check_euler(WF_EULER_IMOD, "xyz", false, false);
}

/* ---- shapes ---- */
static void test_shapes(void **state)
{
    (void)state;
    static const double points[6][3] = {
        { 0, 0, 0 }, { 3, 0, 0 }, { 0, 4, 0 }, { 1, 5, 1 }, { 6, 8, 0 }, { -2, -9, 7 }
    };
    static const double box[6] = { -1, 2, 1, 2, 7.0710678118654755, 7.8740078740118111 };
    double sphere[6], cylinder[6], edge[6];
    for (int i = 0; i < 6; ++i) {
        const double *p = points[i];
        sphere[i] = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - 5;
        double side = hypot(p[1], p[2]) - 3, end = fabs(p[0]) - 2;
        cylinder[i] = hypot(fmax(side, 0), fmax(end, 0)) + fmin(fmax(side, end), 0);
        edge[i] = sphere[i] <= 0 ? 1 : sphere[i] >= 6 ? 0 : (1 + cos(M_PI * sphere[i] / 6)) / 2;
    }
    wf_array *p = numbers_as(WF_F64, WF_SHAPE(6, 3), points[0]), *y[6];
    for (int k = 0; k < 6; ++k)
        y[k] = wf_empty(ctx, WF_F64, WF_SHAPE(6));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val i = wf_index(g, 0), at[3];
    for (int d = 0; d < 3; ++d)
        at[d] = wf_read(g, p, i, d);
    wf_vals position = { at, 3 };
    wf_val distance = wf_sdf_sphere(g, position, 5);
    wf_out(g, y[0], distance);
    wf_out(g, y[1], wf_sdf_box(g, position, WF_VALS(1, 3, 2)));
    wf_out(g, y[2], wf_sdf_cylinder(g, position, 3, 2));
    wf_out(g, y[3], wf_soft_edge(distance, 6));
    wf_out(g, y[4], wf_soft_edge(distance, 0));
    wf_out(g, y[5], wf_sdf_ellipsoid(g, position, WF_VALS(3, 4, 7)));
    OK(ctx, wf_run(g));
    check_near(y[0], sphere, 1e-14, "sphere", 0);
    check_near(y[1], box, 1e-14, "box", 0);
    check_near(y[2], cylinder, 1e-14, "cylinder", 0);
    check_near(y[3], edge, 1e-14, "edge", 0);
    for (int k = 0; k < 6; ++k)
        edge[k] = sphere[k] <= 0;
    check_near(y[4], edge, 0, "hard edge", 0);
    double *ellipsoid = numbers_of(y[5], 0);
    assert_true(ellipsoid[0] == -3 && ellipsoid[1] == 0 && ellipsoid[2] == 0); /* the centre, and on the surface */
    assert_true(ellipsoid[3] > 0 && ellipsoid[4] > 0 && ellipsoid[5] > 0);
    free(ellipsoid);
    for (int k = 0; k < 6; ++k)
        wf_release(y[k]);
    wf_release(p);
}

/* ---- fields of positions, polar grids, bins, groups ---- */
/* Positions of a stack beside plain C, and one image at many. */
static void test_warp(void **state)
{
    (void)state;
    double *x = random_numbers(2 * 35, 11), *p = random_numbers(2 * 2 * POINTS, 12), at[2], expected[2 * POINTS];
    image m = image_of(2, 0, WF_INTERPOLATE_CUBIC, WF_BORDER_CLAMP, x);
    for (int i = 0; i < 4 * POINTS; ++i)
        p[i] = (double)(float)(3 + 9 * p[i]);
    for (int i = 0; i < 2 * POINTS; ++i) {
        at[0] = p[i], at[1] = p[2 * POINTS + i];
        m.x = x + i / POINTS * 35;
        expected[i] = visit(&m, at, NULL, 0);
    }
    wf_array *stack = numbers_as(WF_F32, WF_SHAPE(2, 5, 7), x), *field = numbers_as(WF_F32, WF_SHAPE(2, 2, 6, 8), p);
    wf_array *y = wf_warp(stack, field, &m.how);
    assert_non_null(y);
    assert_int_equal(wf_array_shape(y).rank, 3);
    check_near(y, expected, 2e-6, "warp", 0);
    wf_array *one = wf_view_at(stack, 0, 0), *z = wf_warp(one, field, &m.how);
    wf_array *first = wf_view_at(z, 0, 0);
    check_near(first, expected, 2e-6, "warp of one image", 0);
    wf_array *spent[] = { stack, field, y, one, z, first };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
    free(x);
    free(p);
}

static void test_polar(void **state)
{
    (void)state;
    enum { H = 11, W = 14, ANGLES = 8, RADII = 5 };
    double *x = random_numbers(H * W, 13), expected[ANGLES * RADII];
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(H, W), x);
    for (int logarithmic = 0; logarithmic < 2; ++logarithmic) {
        image m = { x, 2, { H, W }, { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_VALUE } };
        for (int i = 0; i < ANGLES * RADII; ++i) {
            double t = 2 * M_PI * (i / RADII) / ANGLES, f = (double)(i % RADII) / (RADII - 1);
            double r = logarithmic ? exp(log(0.5) + f * (log(6) - log(0.5))) : 5 * f;
            double at[2] = { 5 + r * sin(t), (logarithmic ? 6.5 : 7) + r * cos(t) };
            expected[i] = visit(&m, at, NULL, 0);
        }
        wf_polar_grid grid = { .angles = ANGLES, .radii = RADII };
        if (logarithmic)
            grid = (wf_polar_grid){ .angles = ANGLES,
                                    .radii = RADII,
                                    .first_radius = 0.5,
                                    .last_radius = 6,
                                    .center = { 5, 6.5 },
                                    .centered = true,
                                    .logarithmic = true };
        wf_array *y = wf_to_polar(a, &grid, &m.how);
        check_near(y, expected, 1e-6, "polar", logarithmic);
        wf_release(y);
    }
    wf_release(a);
    free(x);
}

static void test_bins(void **state)
{
    (void)state;
    double x[2 * 5 * 7], expected[2 * 2 * 3];
    for (int i = 0; i < 70; ++i)
        x[i] = i * i % 50;
    for (int i = 0; i < 12; ++i) {
        int at = i / 6 * 35 + i % 6 / 3 * 14 + i % 3 * 2;
        expected[i] = (x[at] + x[at + 1] + x[at + 7] + x[at + 8]) / 4;
    }
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(2, 5, 7), x), *y = wf_bin(a, 2, WF_AXES(1, 2));
    check_near(y, expected, 0, "bin", 2);
    wf_array *deep = wf_view_reshape(a, WF_SHAPE(1, 1, 1, 1, 2, 5, 7)), *z = wf_bin(deep, 2, WF_AXES(5, 6));
    check_near(z, expected, 1e-6, "bin of rank", 7); /* one axis after the other */
    wf_array *same = wf_bin(a, 1, WF_ALL_AXES);
    check_near(same, x, 0, "bin", 1);
    wf_array *none = wf_bin(a, 6, WF_AXES(1));
    assert_non_null(none);
    assert_int_equal(wf_array_count(none), 0);
    wf_array *spent[] = { a, y, deep, z, same, none };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
}

/* The average of z^2 (D4), x^2 (the others) or x^4 (I) about the center of a cube; NAN: not tested there. */
static double average_of(const char *symmetry, double z, double y, double x)
{
    double r2 = z * z + y * y + x * x;
    switch (symmetry[0]) {
    case 'C':
        return (x * x + y * y) / 2;
    case 'D':
        return z * z;
    case 'I':
        return r2 * r2 / 5;
    default:
        return r2 / 3;
    }
}

static void test_groups(void **state)
{
    (void)state;
    static const char *const names[] = { "C3", "C4", "D4", "T", "O", "I" };
    enum { N = 17, C = N / 2 };
    double *x = malloc(N * N * N * sizeof *x);
    for (int s = 0; s < 6; ++s) {
        if (is_on_gpu() && s != 2)
            continue;
        for (int i = 0; i < N * N * N; ++i) {
            double at[3] = { i / (N * N) - C, i / N % N - C, i % N - C };
            x[i] = names[s][0] == 'D' ? at[0] * at[0] : names[s][0] == 'I' ? pow(at[2], 4) : at[2] * at[2];
        }
        wf_array *a = numbers_as(WF_F64, WF_SHAPE(N, N, N), x);
        wf_interp how = { .interpolation = names[s][0] == 'I' ? WF_INTERPOLATE_BSPLINE : WF_INTERPOLATE_CUBIC,
                          .border = WF_BORDER_REFLECT };
        wf_array *y = wf_symmetrize(a, names[s], 3, NULL, &how);
        double *found = numbers_of(y, 0);
        for (int i = 0; i < N * N * N; ++i) {
            double at[3] = { i / (N * N) - C, i / N % N - C, i % N - C };
            if (at[0] * at[0] + at[1] * at[1] + at[2] * at[2] > 25)
                continue; /* what is read stays away from the border */
            double most = names[s][0] == 'I' ? 1.5 : 1e-10, expected = average_of(names[s], at[0], at[1], at[2]);
            if (!(fabs(found[i] - expected) <= most))
                print_error("%s: %g, not %g\n", names[s], found[i], expected);
            assert_true(fabs(found[i] - expected) <= most);
        }
        free(found);
        wf_release(a);
        wf_release(y);
    }
    free(x);
}

/* Quarter turns in the plane are permutations, so averages are those of plain C; also about a point that is given. */
static void test_plane_groups(void **state)
{
    (void)state;
    double *x = random_numbers(2 * 64, 21), expected[98];
    for (int i = 0; i < 98; ++i) {
        const double *p = x + i / 49 * 49;
        int u = i % 49 / 7, v = i % 7;
        expected[i] = (p[7 * u + v] + p[7 * v + 6 - u] + p[7 * (6 - u) + 6 - v] + p[7 * (6 - v) + u]) / 4;
    }
    for (int given = 0; given < 2; ++given) {
        wf_array *a = numbers_as(given ? WF_C128 : WF_F64, WF_SHAPE(2, 7, 7), x);
        wf_array *y = wf_symmetrize(a, "C4", 2, given ? (double[]){ 3, 3 } : NULL,
                                    &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR });
        check_near(y, expected, 1e-15, "C4", given);
        wf_release(y);
        wf_release(a);
    }
    free(x);
}

/* ---- mistakes ---- */
static void test_mistakes(void **state)
{
    (void)state;
    double zeros[64] = { 0 };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(4, 4), zeros), *bytes = numbers_as(WF_U8, WF_SHAPE(4, 4), zeros);
    const struct {
        const wf_array *array;
        wf_interp how;
        int positions;
        const char *text;
    } calls[] = {
        { NULL, { 0 }, 2, "wf_interpolate: `array` is NULL" },
        { a, { .interpolation = (wf_interpolation)9 }, 2, "wf_interpolate: there is no interpolation 9" },
        { a, { .border = (wf_border)9 }, 2, "wf_interpolate: there is no border mode 9" },
        { a, { .axes = 3 }, 2, "wf_interpolate: 3 axes with positions" },
        { a, { .axes = -1 }, 2, "wf_interpolate: -1 axes with positions" },
        { a, { 0 }, 1, "wf_interpolate: 1 positions and indices for an array of rank 2" },
        { bytes, { .outside = 0.5 }, 2, "wf_interpolate: `outside` is 0.5, which elements of u8 cannot hold" }
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
        wf_val zero[2] = { wf_const(g, WF_F32, 0), wf_const(g, WF_F32, 0) };
        wf_interpolate(g, calls[i].array, &calls[i].how, (wf_vals){ zero, (size_t)calls[i].positions });
        REFUSED(ctx, wf_run(g), i == 6 ? WF_ERR_DTYPE : WF_ERR_ARG, calls[i].text);
    }
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_splat(g, bytes, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR }, 1, WF_VALS(1, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_splat: `array` is u8, which cannot hold weighted values");
    wf_val m[9];
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_euler_matrix(g, (wf_euler)12, 0, 0, 0, m);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_euler_matrix: there is no order 12");
    g = wf_begin(ctx);
    wf_euler_matrix(g, (wf_euler)-64, 0, 0, 0, m);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_euler_matrix: there is no order -64");
    g = wf_begin(ctx);
    wf_euler_matrix(g, WF_EULER_ZYX, 0, 0, 0, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_euler_matrix: `m` is NULL");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_sdf_box(g, WF_VALS(1, 2), WF_VALS(1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_sdf_box: 1 lengths for a position of 2 coordinates");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_sdf_cylinder(g, WF_VALS(1), 1, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_sdf_cylinder: a position of 1 coordinates; 2 to 3 are possible");

    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_array *inverse = numbers_as(WF_F32, WF_SHAPE(2, 3), zeros), *square = numbers_as(WF_F32, WF_SHAPE(3, 3), zeros);
    wf_array *batch = numbers_as(WF_F32, WF_SHAPE(3, 2, 3), zeros), *two = numbers_as(WF_F32, WF_SHAPE(2, 4, 4), zeros);
    REFUSED(ctx, of_null(wf_transform(a, WF_SCALAR, square, &how)), WF_ERR_SHAPE,
            "wf_transform: `inverse` is (3, 3); its last axes are 1 x 2, 2 x 3 or 3 x 4");
    REFUSED(ctx, of_null(wf_transform(a, WF_SHAPE(4), inverse, &how)), WF_ERR_SHAPE,
            "wf_transform: `shape` has rank 1, but `inverse` is for 2 axes");
    REFUSED(ctx, of_null(wf_transform(two, WF_SCALAR, batch, &how)), WF_ERR_SHAPE,
            "wf_transform: the batches of `x`, (2, 4, 4), and `inverse`, (3, 2, 3), do");
    REFUSED(ctx, of_null(wf_transform(a, WF_SCALAR, inverse, NULL)), WF_ERR_ARG, "wf_transform: `how` is NULL");
    REFUSED(ctx, of_null(wf_spline_filter(a, WF_AXES(2), WF_BORDER_MIRROR, 0)), WF_ERR_ARG,
            "wf_spline_filter: the mask 0x4 names axes beyond the array's rank 2");
    REFUSED(ctx, of_null(wf_spline_filter(a, WF_AXES(0), (wf_border)8, 0)), WF_ERR_ARG,
            "wf_spline_filter: there is no border mode 8");
    REFUSED(ctx, of_null(wf_warp(a, square, &how)), WF_ERR_SHAPE,
            "wf_warp: `positions` is (3, 3), `x` is (4, 4); needed are");
    REFUSED(ctx, of_null(wf_to_polar(a, &(wf_polar_grid){ .angles = 3 }, &how)), WF_ERR_ARG,
            "wf_to_polar: 3 angles and 0 radii");
    REFUSED(ctx, of_null(wf_to_polar(a, &(wf_polar_grid){ .angles = 3, .radii = 3, .logarithmic = true }, &how)),
            WF_ERR_ARG, "wf_to_polar: radii from 0 to 1 have no logarithms");
    REFUSED(ctx, of_null(wf_bin(a, 0, WF_ALL_AXES)), WF_ERR_ARG, "wf_bin: `k` is 0; it must be 1 or more");
    static const char *const unknown[] = { "", "C", "C0", "C513", "C-1", "C4 ", "X", "I1", "c4" };
    for (int i = 0; i < 9; ++i) {
        REFUSED(ctx, of_null(wf_symmetrize(two, unknown[i], 3, NULL, &how)), WF_ERR_ARG,
                "wf_symmetrize: there is no group \"");
    }
    REFUSED(ctx, of_null(wf_symmetrize(a, "D2", 2, NULL, &how)), WF_ERR_ARG,
            "wf_symmetrize: there is no group \"D2\" in 2 dimensions");
    REFUSED(ctx, of_null(wf_symmetrize(a, "C2", 3, NULL, &how)), WF_ERR_ARG,
            "wf_symmetrize: `axes` is 3; 2 or 3 of x's 2 axes are possible");
    const wf_array *spent[] = { a, bytes, inverse, square, batch, two };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),     cmocka_unit_test(test_quarter_turns), cmocka_unit_test(test_polynomials),
        cmocka_unit_test(test_batches),      cmocka_unit_test(test_euler),         cmocka_unit_test(test_warp),
        cmocka_unit_test(test_polar),        cmocka_unit_test(test_bins),          cmocka_unit_test(test_groups),
        cmocka_unit_test(test_plane_groups), cmocka_unit_test(test_shapes),        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
