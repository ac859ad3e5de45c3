/* test_iwise.c - index spaces on every device beside plain C: reads and writes by index, borders near and far outside,
 * extents of 0 and 1, stencils in place, sizes and positions as values.
 *
 * ctest: devices baseline threads
 */
#include "borders.h"
#include "on_devices.h"

static float noise(int64_t i) { return (float)((i * 2654435761u >> 7) % 1000) / 16; }

static wf_array *noisy(wf_shape shape)
{
    wf_array *a = wf_empty(ctx, WF_F32, shape);
    int64_t n = wf_array_count(a);
    float *x = malloc((size_t)n * sizeof *x + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = noise(i);
    OK(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    free(x);
    return a;
}

static void test_positions(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_I64, WF_SHAPE(3, 4, 5));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3, 4, 5));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), k = wf_index(g, -1);
    wf_val flat = wf_add(wf_mul(wf_add(wf_mul(i, wf_extent(g, 1)), j), wf_extent(g, 2)), k);
    wf_write(g, out, wf_add(flat, wf_mul(wf_dim(g, out, 0), 1000)), i, j, k);
    OK(ctx, wf_run(g));
    int64_t *x = contents(out);
    for (int n = 0; n < 60; ++n)
        assert_true(x[n] == 3000 + n);
    free(x);
    RELEASE(out);
}

/* All borders, at offsets up to several extents away, for extents down to 1. */
static void test_borders(void **state)
{
    (void)state;
    static const int64_t extents[] = { 1, 2, 3, 7, 40 };
    static const int64_t offsets[] = { -100, -41, -3, -1, 0, 1, 2, 39, 300 };
    for (size_t e = 0; e < sizeof extents / sizeof *extents; ++e)
        for (int border = WF_BORDER_VALUE; border < (int)WF__BORDERS; ++border) {
            int64_t n = extents[e], m = 45;
            wf_array *in = noisy(WF_SHAPE(2, n)), *out[9];
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2, m));
            wf_val i = wf_index(g, 0), j = wf_index(g, 1);
            for (int k = 0; k < 9; ++k) {
                out[k] = wf_empty(ctx, WF_F32, WF_SHAPE(2, m));
                wf_write(g, out[k],
                         wf_read_border(g, in, (wf_border)border, wf_cast(i, WF_F32), i, wf_add(j, (double)offsets[k])),
                         i, j);
            }
            OK(ctx, wf_run(g));
            float *x = contents(in);
            for (int k = 0; k < 9; ++k) {
                float *y = contents(out[k]);
                for (int64_t p = 0; p < 2 * m; ++p) {
                    int64_t row = p / m, at = p % m + offsets[k];
                    at = border_index((wf_border)border, at, n);
                    assert_true(y[p] == (at < 0 ? (float)row : x[row * n + at]));
                }
                free(y);
                wf_release(out[k]);
            }
            free(x);
            wf_release(in);
        }
}

static void test_far_outside(void **state)
{
    (void)state;
    wf_array *in = noisy(WF_SHAPE(10)), *out = wf_empty(ctx, WF_F32, WF_SHAPE(4, 6));
    const int64_t far[] = { INT64_MIN, INT64_MAX, -((int64_t)1 << 40), (int64_t)1 << 33, INT64_MIN / 2, 0 };
    wf_array *at = array_of(ctx, WF_I64, WF_SHAPE(6), far);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val j = wf_index(g, 0), x = wf_read(g, at, j);
    wf_write(g, out, wf_read_or(g, in, -1, x), 0, j);
    wf_write(g, out, wf_read_border(g, in, WF_BORDER_CLAMP, 0, x), 1, j);
    wf_write(g, out, wf_read_border(g, in, WF_BORDER_PERIODIC, 0, x), 2, j);
    wf_write(g, out, wf_read_border(g, in, WF_BORDER_MIRROR, 0, x), 3, j);
    OK(ctx, wf_run(g));
    float *y = contents(out), *v = contents(in);
    for (int k = 0; k < 6; ++k) {
        int64_t i = far[k], m = i % 10 < 0 ? i % 10 + 10 : i % 10, d = i % 20 < 0 ? i % 20 + 20 : i % 20;
        assert_true(y[k] == (i == 0 ? v[0] : -1));
        assert_true(y[6 + k] == (i > 0 ? v[9] : v[0]));
        assert_true(y[12 + k] == v[m]);
        assert_true(y[18 + k] == v[d < 10 ? d : 19 - d]);
    }
    free(y);
    free(v);
    RELEASE(in, out, at);
}

/* An index of u64 is right with every border mode; from 2^63 on it counts as 2^63 - 1. */
static void test_unsigned_far_outside(void **state)
{
    (void)state;
    const uint64_t far[] = { 5, (uint64_t)1 << 63, UINT64_MAX, INT64_MAX };
    const float element[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    wf_array *in = array_of(ctx, WF_F32, WF_SHAPE(10), element), *at = array_of(ctx, WF_U64, WF_SHAPE(4), far);
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(5, 4)), *of_values = wf_empty(ctx, WF_F32, WF_SHAPE(4));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4));
    wf_val j = wf_index(g, 0), x = wf_read(g, at, j);
    for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border)
        wf_write(g, out, wf_read_border(g, in, (wf_border)border, -1, x), border - WF_BORDER_VALUE, j);
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 5, -1, -1, -1, 5, 9, 9, 9, 5, 7, 7, 7, 5, 7, 7, 7, 5, 7, 7, 7);
    g = wf_begin(ctx);
    wf_out(g, of_values, wf_gather_or(wf_in(g, in), -1, wf_in(g, at)));
    OK(ctx, wf_run(g));
    EXPECT_F32(of_values, 5, -1, -1, -1);
    RELEASE(in, out, at, of_values);
}

/* A read of an empty array gives the value outside, or 0 if there is none. */
static void test_reading_nothing(void **state)
{
    (void)state;
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0)), *out = wf_full(ctx, WF_F32, WF_SHAPE(2, 5), 9);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5));
    wf_val j = wf_index(g, 0);
    wf_write(g, out, wf_read_or(g, none, 3, j), 0, j);
    wf_write(g, out, wf_read_border(g, none, WF_BORDER_CLAMP, 0, j), 1, j);
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0);
    RELEASE(none, out);
}

static void box(float *out, const float *in, int64_t h, int64_t w, int radius)
{
    for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x) {
            float sum = 0;
            for (int dy = -radius; dy <= radius; ++dy)
                for (int dx = -radius; dx <= radius; ++dx) {
                    int64_t v = y + dy, u = x + dx;
                    sum += v >= 0 && v < h && u >= 0 && u < w ? in[v * w + u] : 0;
                }
            out[y * w + x] = sum;
        }
}

static void stencil(wf_graph *g, wf_array *in, wf_array *out, int radius)
{
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), sum = wf_const(g, WF_F32, 0);
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum = wf_add(sum, wf_read_or(g, in, 0, wf_add(y, dy), wf_add(x, dx)));
    wf_write(g, out, sum, y, x);
}

static void test_stencils(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 },  { 1, 100 },  { 100, 1 }, { 2, 3 },
                                        { 5, 64 }, { 33, 131 }, { 0, 5 },   { 5, 0 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (int radius = 1; radius < 5; radius += 3)
            for (int in_place = 0; in_place < 2; ++in_place) {
                int64_t h = sizes[s][0], w = sizes[s][1];
                wf_array *in = noisy(WF_SHAPE(h, w)), *out = in_place ? wf_retain(in) : wf_like(in);
                float *x = contents(in), *want = malloc((size_t)(h * w) * sizeof *want + 1);
                assert_non_null(want);
                box(want, x, h, w, radius);
                wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(h, w));
                stencil(g, in, out, radius);
                OK(ctx, wf_run(g));
                expect_f32(out, want, h * w, __FILE__, __LINE__);
                free(x);
                free(want);
                RELEASE(in, out);
            }
}

/* In place through views that overlap: reads see the old contents. */
static void test_shifted_views(void **state)
{
    (void)state;
    wf_array *a = noisy(WF_SHAPE(100)), *left = wf_view_slice(a, 0, 0, 90, 1), *right = wf_view_slice(a, 0, 10, 100, 1);
    float *x = contents(a);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(90));
    wf_val i = wf_index(g, 0);
    wf_write(g, right, wf_add(wf_read(g, left, i), 1), i);
    OK(ctx, wf_run(g));
    float *y = contents(a);
    for (int k = 0; k < 100; ++k)
        assert_true(y[k] == (k < 10 ? x[k] : x[k - 10] + 1));
    free(x);
    free(y);
    RELEASE(a, left, right);
}

/* Reads and writes of one point keep their order, whichever other elements it reads. */
static void test_own_order(void **state)
{
    (void)state;
    enum { N = 70 };
    wf_array *a = noisy(WF_SHAPE(N)), *b = wf_full(ctx, WF_F32, WF_SHAPE(N), 0);
    float *x = contents(a);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    wf_val before = wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_sub(i, 1));
    wf_write(g, a, wf_mul(wf_read(g, a, i), 2), i);
    wf_val now = wf_read(g, a, i);
    wf_write(g, a, wf_add(now, before), i);
    wf_write(g, b, wf_sub(wf_in(g, a), now), i);
    OK(ctx, wf_run(g));
    float *y = contents(a), *z = contents(b);
    for (int k = 0; k < N; ++k) {
        float was = x[k ? k - 1 : 0], sum = 2 * x[k] + was;
        assert_true(y[k] == sum);
        assert_true(z[k] == sum - 2 * x[k]);
    }
    free(x);
    free(y);
    free(z);
    RELEASE(a, b);
}

/* A read without index and a write by index name the same element: Weft makes no copy of the array. */
static void test_in_place_without_a_copy(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6, 7));
    wf_array *x = wf_formal(g, "x", WF_F32, 2);
    wf_write(g, x, wf_mul(wf_in(g, x), 2), wf_index(g, 0), wf_index(g, 1));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(6, 7), 4);
    char text[4096];
    size_t n;
    OK(ctx, wf_kernel_dump(k, WF_ARGS(WF_ARG("x", a)), WF_DUMP_KERNELS, text, sizeof text, &n));
    assert_non_null(strstr(text, "stage 1 of 1:"));
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a))));
    float *y = contents(a);
    assert_true(y[0] == 8 && y[41] == 8);
    free(y);
    wf_kernel_free(k);
    RELEASE(a);
}

/* Pairs exchanged: one point reads and writes both, disjoint from all others. */
static void test_exchange(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 100, 0, 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(50));
    wf_val i = wf_mul(wf_index(g, 0), 2), j = wf_add(i, 1), x = wf_read(g, a, i), y = wf_read(g, a, j);
    wf_write(g, a, y, i);
    wf_write(g, a, x, j);
    wf_write(g, a, wf_add(wf_read(g, a, i), 0.5), i); /* sees the first write of the point */
    OK(ctx, wf_run(g));
    float *v = contents(a);
    for (int k = 0; k < 50; ++k)
        assert_true(v[2 * k] == (float)(2 * k + 1) + 0.5f && v[2 * k + 1] == (float)(2 * k));
    free(v);
    RELEASE(a);
}

/* Writing by a permutation of the indices, and into part of a larger array. */
static void test_scatter(void **state)
{
    (void)state;
    wf_array *in = noisy(WF_SHAPE(5, 37)), *t = wf_full(ctx, WF_F32, WF_SHAPE(40, 7), -1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5, 37));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_write(g, t, wf_in(g, in), wf_sub(39, j), wf_add(i, 1));
    OK(ctx, wf_run(g));
    float *x = contents(in), *y = contents(t);
    for (int r = 0; r < 40; ++r)
        for (int c = 0; c < 7; ++c)
            assert_true(y[r * 7 + c] == (c >= 1 && c < 6 && r >= 3 ? x[(c - 1) * 37 + 39 - r] : -1));
    free(x);
    free(y);
    RELEASE(in, t);
}

static void test_elements_in_spaces(void **state)
{
    (void)state;
    const float row[] = { 1, 2, 3 };
    wf_array *r = array_of(ctx, WF_F32, WF_SHAPE(3), row), *out = wf_empty(ctx, WF_F32, WF_SHAPE(2, 3));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2, 3));
    assert_true(wf_graph_indexed(g));
    wf_out(g, out, wf_add(wf_in(g, r), wf_cast(wf_mul(wf_index(g, 0), 10), WF_F32)));
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 1, 2, 3, 11, 12, 13);
    wf_array *wrong = wf_empty(ctx, WF_F32, WF_SHAPE(3));
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 3));
    wf_out(g, wrong, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(3)");
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 4));
    wf_out(g, out, wf_in(g, r));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(2, 4)");
    RELEASE(r, out, wrong);
}

static void test_one_point(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SCALAR, 3);
    wf_graph *g = wf_begin(ctx, .indexed = true);
    wf_write_n(g, a, wf_mul(wf_read_n(g, a, (wf_vals){ NULL, 0 }), 2), (wf_vals){ NULL, 0 });
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 6);
    RELEASE(a);
}

static void test_eight_axes(void **state)
{
    (void)state;
    const wf_shape shape = { .rank = 8, .dim = { 2, 1, 3, 2, 1, 2, 3, 5 } };
    wf_array *a = wf_empty_with(ctx, WF_I32, shape, NULL);
    wf_graph *g = wf_begin(ctx, .shape = shape);
    wf_val index[8], sum = wf_const(g, WF_I64, 0);
    for (int d = 0; d < 8; ++d) {
        index[d] = wf_index(g, d);
        sum = wf_add(wf_mul(sum, 10), index[d]);
    }
    wf_write_n(g, a, sum, (wf_vals){ index, 8 });
    OK(ctx, wf_run(g));
    int32_t *x = contents(a);
    for (int n = 0; n < 360; ++n) {
        int rest = n, want = 0, scale = 1;
        for (int d = 7; d >= 0; --d) {
            want += rest % (int)shape.dim[d] * scale;
            rest /= (int)shape.dim[d];
            scale *= 10;
        }
        assert_int_equal(x[n], want);
    }
    free(x);
    RELEASE(a);
}

static void test_refused_spaces(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 0);
    const wf_shape nine = { .rank = 9 }, minus = { .rank = -3 };
    wf_graph *g = wf_begin(ctx, .shape = nine);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "rank");
    g = wf_begin(ctx, .shape = minus, .reduce = WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "rank");
    g = wf_begin(ctx, .shape = { .rank = 40 }, .reduce = WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "rank");
    g = wf_begin(ctx, .shape = WF_SHAPE(-1, 2));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "negative");
    g = wf_begin(ctx, .shape = WF_SHAPE((int64_t)1 << 40, (int64_t)1 << 40));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "too many points");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_index(g, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 1 is out of range for rank 1");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_write(g, a, 1, wf_index(g, 0), 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "2 indices");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_write(g, a, 1, 0.5);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_write: index 0 is 0.5, not an integer");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_keep(wf_in(g, a));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_keep");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_iota(g, WF_SHAPE(3), 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_index");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_sum(wf_in(g, a), WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_reduced");
    wf_array *wide = wf_view_broadcast(a, WF_SHAPE(2, 3));
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 3));
    wf_write(g, wide, 1, wf_index(g, 0), wf_index(g, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "read-only");
    RELEASE(a, wide);
}

/* Constants of all lengths, as values and as distances between elements. */
static void test_numbers(void **state)
{
    (void)state;
    static const int32_t number[] = {
        0, 9, 10, 11, 90, 99, 100, 101, 109, 990, 999, 1000, 1001, 9899, 9900, 9999, 10000
    };
    enum { COUNT = sizeof number / sizeof *number, N = 5 };
    uint8_t in[10000 + N];
    for (int k = 0; k < 10000 + N; ++k)
        in[k] = (uint8_t)(k % 251);
    wf_array *x = array_of(ctx, WF_U8, WF_SHAPE(10000 + N), in), *out = wf_full(ctx, WF_I64, WF_SHAPE(2, COUNT, N), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    for (int k = 0; k < COUNT; ++k) {
        wf_write(g, out, wf_cast(wf_read(g, x, wf_add(i, number[k])), WF_I64), 0, k, i);
        wf_write(g, out, wf_mul(wf_add(i, 1), number[k]), 1, k, i);
    }
    OK(ctx, wf_run(g));
    int64_t *got = contents(out);
    for (int k = 0; k < COUNT; ++k)
        for (int n = 0; n < N; ++n) {
            assert_int_equal(got[k * N + n], (number[k] + n) % 251);
            assert_int_equal(got[(COUNT + k) * N + n], (n + 1) * number[k]);
        }
    free(got);
    wf_release(x);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_far_outside),
        cmocka_unit_test(test_unsigned_far_outside),
        cmocka_unit_test(test_reading_nothing),
        cmocka_unit_test(test_stencils),
        cmocka_unit_test(test_shifted_views),
        cmocka_unit_test(test_own_order),
        cmocka_unit_test(test_in_place_without_a_copy),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_elements_in_spaces),
        cmocka_unit_test(test_one_point),
        cmocka_unit_test(test_eight_axes),
        cmocka_unit_test(test_refused_spaces),
        cmocka_unit_test(test_numbers),
    };
    return RUN_ON_ALL(tests);
}
