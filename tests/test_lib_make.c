/* test_lib_make.c - the functions that make, copy and rearrange arrays, wf_array_fill to wf_array_repeat, beside plain
 * C, for every dtype, on views and empty arrays.
 *
 * ctest: devices values
 */
#include "weft/xform.h"
#include "borders.h"
#include "on_devices.h"
#include "weft/functions.h"

static wf_array *counting(wf_dtype t, wf_shape shape) /* 0, 1, 2, ... */
{
    wf_array *a = wf_array_iota(ctx, t, shape, NULL);
    assert_non_null(a);
    return a;
}

static void expect_f64(wf_array *a, const double *want, int64_t n, const char *file, int line)
{
    if (!a)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(a);
    wf_dtype t = wf_array_dtype(a);
    wf_array *d = wf_array_cast(a, t >= WF_C32 ? WF_C128 : WF_F64);
    assert_non_null(d);
    assert_int_equal(wf_array_count(a) * (t >= WF_C32 ? 2 : 1), n);
    double *got = contents(d);
    int64_t at = first_difference(WF_F64, got, want, n);
    if (at >= 0) {
        print_error("%s: element %lld is %.17g, not %.17g\n", wf_dtype_name(t), (long long)at, got[at], want[at]);
        _fail(file, line);
    }
    free(got);
    wf_release(d);
}
#define WANT(a, ...)                               \
    expect_f64(a, (const double[]){ __VA_ARGS__ }, \
               (int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), __FILE__, __LINE__)
#define WANT_ONCE(a, ...)         \
    do {                          \
        wf_array *once_ = (a);    \
        WANT(once_, __VA_ARGS__); \
        wf_release(once_);        \
    } while (0)

static void test_fill(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_DTYPES; ++i) {
        wf_array *a = counting(test_dtypes[i], WF_SHAPE(2, 3)), *v = wf_view_slice(a, 1, 2, WF_END_INDEX, -2);
        OK(ctx, wf_array_fill(a, 0));
        OK(ctx, wf_array_fill(v, 1));
        WANT(a, 1, 0, 1, 1, 0, 1);
        wf_release(v);
        wf_release(a);
    }
    wf_array *z = counting(WF_C64, WF_SHAPE(2)), *u = counting(WF_U8, WF_SHAPE(2)),
             *none = counting(WF_U8, WF_SHAPE(0));
    OK(ctx, wf_array_fill_complex(z, 1.5, -2));
    WANT(z, 1.5, -2, 1.5, -2);
    OK(ctx, wf_array_fill(z, 3));
    WANT(z, 3, 0, 3, 0);
    EXPECT(ctx, wf_array_fill(u, 256), WF_ERR_DTYPE);
    EXPECT(ctx, wf_array_fill(u, 0.5), WF_ERR_DTYPE);
    REFUSED(ctx, wf_array_fill_complex(u, 1, 1), WF_ERR_DTYPE, "wf_array_fill_complex");
    WANT(u, 0, 1);
    OK(ctx, wf_array_fill(none, 1));
    assert_int_equal(wf_array_fill(NULL, 1), WF_ERR_ARG);
    wf_array *wide = wf_view_broadcast(u, WF_SHAPE(3, 2));
    assert_int_not_equal(wf_array_fill(wide, 1), WF_OK);
    wf_clear_error(ctx);
    wf_release(wide);
    wf_release(z);
    wf_release(u);
    wf_release(none);
}

static void test_copies(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_DTYPES + 3; ++i) {
        wf_dtype t = i < TEST_DTYPES ? test_dtypes[i] : (wf_dtype)(WF_C32 + i - TEST_DTYPES);
        wf_array *a = counting(t == WF_BOOL ? WF_U8 : t, WF_SHAPE(2, 3));
        wf_array *v = wf_view_permute(a, (const int[]){ 1, 0 }), *r = wf_view_slice(v, 0, 2, WF_END_INDEX, -1);
        wf_array *c = wf_array_copy(r), *same = wf_array_contiguous(c), *packed = wf_array_contiguous(r);
        if (t < WF_C32) {
            WANT(c, 2, 5, 1, 4, 0, 3);
            WANT(packed, 2, 5, 1, 4, 0, 3);
            WANT_ONCE(wf_array_permute(a, (const int[]){ 1, 0 }), 0, 3, 1, 4, 2, 5);
            WANT_ONCE(wf_array_cast(r, WF_BOOL), 1, 1, 1, 1, 0, 1);
            WANT_ONCE(wf_array_cast(r, WF_C32), 2, 0, 5, 0, 1, 0, 4, 0, 0, 0, 3, 0);
        } else {
            WANT(c, 2, 0, 5, 0, 1, 0, 4, 0, 0, 0, 3, 0);
            assert_null(wf_array_cast(r, WF_F32));
            EXPECT(ctx, wf_last_status(ctx), WF_ERR_DTYPE);
        }
        assert_ptr_equal(same, c);
        assert_ptr_not_equal(packed, r);
        wf_array *all[] = { a, v, r, c, same, packed };
        for (int k = 0; k < 6; ++k)
            wf_release(all[k]);
    }
    wf_array *x = counting(WF_F32, WF_SHAPE(3, 2)), *row = counting(WF_U8, WF_SHAPE(2));
    OK(ctx, wf_array_assign(x, row));
    WANT(x, 0, 1, 0, 1, 0, 1);
    wf_array *head = wf_view_slice(row, 0, 0, 1, 1), *three = counting(WF_F32, WF_SHAPE(3));
    OK(ctx, wf_array_assign(x, head));
    WANT(x, 0, 0, 0, 0, 0, 0);
    EXPECT(ctx, wf_array_assign(x, three), WF_ERR_SHAPE);
    EXPECT(ctx, wf_array_assign(x, NULL), WF_ERR_ARG);
    wf_array *from = wf_view_slice(three, 0, 0, 2, 1), *to = wf_view_slice(three, 0, 1, 3, 1);
    OK(ctx, wf_array_assign(to, from)); /* overlapping */
    WANT(three, 0, 0, 1);
    assert_null(wf_array_copy(NULL));
    assert_null(wf_array_permute(x, (const int[]){ 0, 0 }));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_array *all[] = { x, row, head, three, from, to };
    for (int k = 0; k < 6; ++k)
        wf_release(all[k]);
}

/* Copies large enough to be done in squares. */
/* Values in the order of the elements, for masks of any dtype and layout; one value for all. */
static void test_assign_where(void **state)
{
    (void)state;
    for (int rank = 1; rank <= 3; ++rank) {
        const wf_shape shape = { .rank = rank, .dim = { rank == 1 ? 30 : 5, rank == 2 ? 6 : 3, 2 } };
        wf_array *a = counting(WF_F64, shape), *mask = counting(WF_I32, shape),
                 *values = counting(WF_I16, WF_SHAPE(20));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, mask, wf_mod(wf_in(g, mask), 3)); /* 0, 1, 2, 0, ... */
        OK(ctx, wf_run(g));
        OK(ctx, wf_array_assign_where(a, mask, values));
        double want[30];
        for (int i = 0; i < 30; ++i)
            want[i] = i % 3 ? i - i / 3 - 1 : i;
        expect_f64(a, want, 30, __FILE__, __LINE__);
        wf_array *turned = wf_view_slice(mask, 0, -1, WF_END_INDEX, -1), *one = counting(WF_U8, WF_SHAPE(1, 1));
        OK(ctx, wf_array_assign_where(a, turned, one));
        const int row = 30 / (int)shape.dim[0];
        for (int i = 0; i < 30; ++i)
            want[i] = ((int)(shape.dim[0] - 1) * row - i / row * row + i % row) % 3 ? 0 : want[i];
        expect_f64(a, want, 30, __FILE__, __LINE__);
        OK(ctx, wf_array_assign_where(mask, mask, values)); /* the mask is the array */
        wf_array *short_of = counting(WF_I16, WF_SHAPE(18)), *pairs = wf_array_cast(values, WF_C64);
        REFUSED(ctx, wf_array_assign_where(a, a, short_of), WF_ERR_SHAPE, "wf_array_assign_where: 18 values for the ");
        EXPECT(ctx, wf_array_assign_where(a, values, values), WF_ERR_SHAPE);
        EXPECT(ctx, wf_array_assign_where(a, mask, pairs), WF_ERR_DTYPE);
        EXPECT(ctx, wf_array_assign_where(a, mask, NULL), WF_ERR_ARG);
        wf_array *all[] = { a, mask, values, turned, one, short_of, pairs };
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
            wf_release(all[i]);
    }
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(3, 0)), *no_values = wf_empty(ctx, WF_F32, WF_SHAPE(0)),
             *number = wf_full(ctx, WF_F32, WF_SCALAR, 5), *two = wf_full(ctx, WF_F32, WF_SCALAR, 2);
    OK(ctx, wf_array_assign_where(none, none, no_values));
    OK(ctx, wf_array_assign_where(number, number, two));
    expect_f64(number, (const double[]){ 2 }, 1, __FILE__, __LINE__);
    EXPECT(ctx, wf_array_assign_where(number, number, no_values), WF_ERR_SHAPE);
    wf_array *all[] = { none, no_values, number, two };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_transposed(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_U8, WF_BF16, WF_F32, WF_F64, WF_C128 };
    for (int t = 0; t < 5; ++t)
        for (int way = 0; way < 3; ++way) {
            wf_array *a = counting(types[t], WF_SHAPE(3, 131, 70)), *r = wf_view_slice(a, 2, 68, WF_END_INDEX, -1);
            static const int orders[3][3] = { { 0, 2, 1 }, { 2, 1, 0 }, { 2, 0, 1 } };
            wf_array *v = wf_view_permute(way == 1 ? r : a, orders[way]), *c = wf_array_copy(v);
            wf_shape shape = wf_array_shape(v), got_shape = wf_array_shape(c);
            assert_memory_equal(shape.dim, got_shape.dim, sizeof shape.dim);
            size_t bytes = (size_t)wf_array_count(v) * wf_dtype_size(types[t]);
            char *want = contents(v), *got = contents(c);
            assert_memory_equal(want, got, bytes);
            free(want);
            free(got);
            wf_array *all[] = { a, r, v, c };
            for (int k = 0; k < 4; ++k)
                wf_release(all[k]);
        }
}

static void test_ranges(void **state)
{
    (void)state;
    double step = 0;
    WANT_ONCE(wf_array_linspace(ctx, WF_F64, 5, 0, 5, true, &step), 0, 1.25, 2.5, 3.75, 5);
    assert_true(step == 1.25);
    wf_array *a = wf_array_linspace(ctx, WF_F64, 8, 0, 1, true, &step);
    assert_true(step == 1. / 7);
    double *p = contents(a);
    for (int i = 0; i < 8; ++i)
        assert_true(fabs(p[i] - i / 7.) <= 0x1p-53 * 2 && (i < 7 || p[i] == 1));
    free(p);
    wf_release(a);
    for (int64_t n = 2; n < 40; ++n) { /* the last element is exact, whatever the step is rounded to */
        a = wf_array_linspace(ctx, WF_F64, n, 0.1, 0.7, true, NULL);
        p = contents(a);
        assert_true(p[0] == 0.1 && p[n - 1] == 0.7);
        free(p);
        wf_release(a);
    }
    WANT_ONCE(wf_array_linspace(ctx, WF_F32, 9, 3, 40, true, &step), 3, 7.625, 12.25, 16.875, 21.5, 26.125, 30.75,
              35.375, 40);
    assert_true(step == 4.625);
    WANT_ONCE(wf_array_linspace(ctx, WF_F32, 4, 0, 1, false, &step), 0, 0.25, 0.5, 0.75);
    WANT_ONCE(wf_array_linspace(ctx, WF_F16, 1, 3, 4, false, &step), 3);
    assert_true(step == 1);
    WANT_ONCE(wf_array_linspace(ctx, WF_I32, 1, 3, 4, true, &step), 3);
    assert_true(isnan(step));
    WANT_ONCE(wf_array_linspace(ctx, WF_I16, 3, 0, -5, true, NULL), 0, -2, -5);
    a = wf_array_linspace(ctx, WF_F32, 0, 0, 1, true, NULL);
    assert_int_equal(wf_array_count(a), 0);
    wf_release(a);
    assert_null(wf_array_linspace(ctx, WF_F32, -1, 0, 1, true, NULL));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);

    WANT_ONCE(wf_array_iota(ctx, WF_U16, WF_SHAPE(2, 3), NULL), 0, 1, 2, 3, 4, 5);
    WANT_ONCE(wf_array_iota(ctx, WF_F32, WF_SHAPE(5), (const int64_t[]){ 3 }), 0, 1, 2, 0, 1);
    WANT_ONCE(wf_array_iota(ctx, WF_I64, WF_SHAPE(3, 4), ((const int64_t[]){ 2, 3 })), 0, 1, 2, 0, 3, 4, 5, 3, 0, 1, 2,
              0);
    WANT_ONCE(wf_array_iota(ctx, WF_I64, WF_SHAPE(2, 2), ((const int64_t[]){ 5, 7 })), 0, 1, 7, 8);
    WANT_ONCE(wf_array_iota(ctx, WF_F64, WF_SCALAR, NULL), 0);
    assert_null(wf_array_iota(ctx, WF_F32, WF_SHAPE(5), (const int64_t[]){ 0 }));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
}

static void check_region(wf_array *a, const double *data, wf_shape shape, const int64_t *offset, wf_border border)
{
    wf_shape whole = wf_array_shape(a);
    wf_array *got = wf_array_extract(a, shape, offset, border, 7);
    double want[4096];
    int64_t n = 0;
    for (int64_t i = 0; i < shape.dim[0]; ++i)
        for (int64_t k = 0; k < shape.dim[1]; ++k) {
            int64_t y = border_index(border, i + offset[0], whole.dim[0]),
                    x = border_index(border, k + offset[1], whole.dim[1]);
            want[n++] = y < 0 || x < 0 ? 7 : data[y * whole.dim[1] + x];
        }
    expect_f64(got, want, n, __FILE__, __LINE__);
    wf_release(got);
}

static void test_extract(void **state)
{
    (void)state;
    static const int64_t offsets[][2] = { { 0, 0 }, { 1, 2 }, { -2, -1 }, { 2, 3 }, { -11, 17 }, { 40, -40 } };
    static const wf_dtype types[] = { WF_U8, WF_F16, WF_F32, WF_I64 };
    for (int t = 0; t < 4; ++t) {
        wf_array *a = counting(types[t], WF_SHAPE(3, 5)), *v = wf_view_slice(a, 1, 4, WF_END_INDEX, -1);
        double plain[15], reversed[15];
        for (int i = 0; i < 15; ++i) {
            plain[i] = i;
            reversed[i] = i / 5 * 5 + 4 - i % 5;
        }
        for (int border = WF_BORDER_VALUE; border < (int)WF__BORDERS; ++border)
            for (int o = 0; o < (t == 2 ? 6 : 3); ++o) {
                check_region(a, plain, WF_SHAPE(2, 3), offsets[o], (wf_border)border);
                check_region(v, reversed, WF_SHAPE(4, 9), offsets[o], (wf_border)border);
            }
        wf_release(a);
        wf_release(v);
    }
    wf_array *one = counting(WF_F32, WF_SHAPE(1, 1)), *a = counting(WF_C64, WF_SHAPE(2)),
             *s = counting(WF_F32, WF_SCALAR);
    for (int border = WF_BORDER_VALUE; border < (int)WF__BORDERS; ++border)
        check_region(one, (const double[]){ 0 }, WF_SHAPE(3, 3), offsets[2], (wf_border)border);
    WANT_ONCE(wf_array_extract(a, WF_SHAPE(3), (const int64_t[]){ 1 }, WF_BORDER_VALUE, 9), 1, 0, 9, 0, 9, 0);
    WANT_ONCE(wf_array_extract(s, WF_SCALAR, NULL, WF_BORDER_NONE, 0), 0);
    assert_null(wf_array_extract(a, WF_SHAPE(3), (const int64_t[]){ 0 }, WF_BORDER_NONE, 9));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_BOUNDS, "wf_array_extract");
    assert_null(wf_array_extract(a, WF_SHAPE(3, 1), (const int64_t[]){ 0, 0 }, WF_BORDER_CLAMP, 9));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "rank 2");
    assert_null(wf_array_extract(a, WF_SHAPE(3), (const int64_t[]){ INT64_MIN }, WF_BORDER_CLAMP, 9));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    wf_array *none = counting(WF_U8, WF_SHAPE(0));
    WANT_ONCE(wf_array_extract(none, WF_SHAPE(2), (const int64_t[]){ 0 }, WF_BORDER_VALUE, 9), 9, 9);
    assert_null(wf_array_extract(none, WF_SHAPE(2), (const int64_t[]){ 0 }, WF_BORDER_CLAMP, 9));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    wf_release(none);
    wf_release(one);
    wf_release(a);
    wf_release(s);
}

/* A large region, with borders on two sides. */
static void test_large(void **state)
{
    (void)state;
    enum { N = 2050 };
    wf_array *a = counting(WF_F32, WF_SHAPE(N - 5, N)),
             *b = wf_array_extract(a, WF_SHAPE(N, N), (const int64_t[]){ -2, 7 }, WF_BORDER_MIRROR, 0);
    float *got = contents(b);
    for (int64_t i = 0; i < N; ++i)
        for (int64_t k = 0; k < N; ++k)
            if (got[i * N + k] !=
                (float)(border_index(WF_BORDER_MIRROR, i - 2, N - 5) * N + border_index(WF_BORDER_MIRROR, k + 7, N)))
                fail();
    free(got);
    wf_release(a);
    wf_release(b);
}

static void test_insert(void **state)
{
    (void)state;
    wf_array *region = counting(WF_I32, WF_SHAPE(2, 2));
    static const struct {
        int64_t offset[2];
        double want[9];
    } cases[] = {
        { { 0, 0 }, { 0, 1, 9, 2, 3, 9, 9, 9, 9 } },         { { 1, 1 }, { 9, 9, 9, 9, 0, 1, 9, 2, 3 } },
        { { -1, 2 }, { 9, 9, 2, 9, 9, 9, 9, 9, 9 } },        { { 2, -1 }, { 9, 9, 9, 9, 9, 9, 1, 9, 9 } },
        { { -2, 0 }, { 9, 9, 9, 9, 9, 9, 9, 9, 9 } },        { { 0, 3 }, { 9, 9, 9, 9, 9, 9, 9, 9, 9 } },
        { { INT64_MIN, 0 }, { 9, 9, 9, 9, 9, 9, 9, 9, 9 } }, { { 0, INT64_MAX }, { 9, 9, 9, 9, 9, 9, 9, 9, 9 } }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 3), 9);
        OK(ctx, wf_array_insert(a, region, cases[i].offset));
        expect_f64(a, cases[i].want, 9, __FILE__, __LINE__);
        wf_release(a);
    }
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 9);
    EXPECT(ctx, wf_array_insert(a, region, cases[0].offset), WF_ERR_SHAPE);
    EXPECT(ctx, wf_array_insert(a, NULL, cases[0].offset), WF_ERR_ARG);
    wf_release(a);
    wf_release(region);
}

static void test_resize(void **state)
{
    (void)state;
    wf_array *a = counting(WF_F32, WF_SHAPE(4));
    const int64_t two[] = { 2 }, minus[] = { -1 }, five[] = { 5 };
    WANT_ONCE(wf_array_resize(a, two, two, WF_BORDER_VALUE, 8), 8, 8, 0, 1, 2, 3, 8, 8);
    WANT_ONCE(wf_array_resize(a, two, minus, WF_BORDER_CLAMP, 0), 0, 0, 0, 1, 2);
    WANT_ONCE(wf_array_resize(a, minus, five, WF_BORDER_PERIODIC, 0), 1, 2, 3, 0, 1, 2, 3, 0);
    WANT_ONCE(wf_array_resize(a, five, NULL, WF_BORDER_MIRROR, 0), 3, 3, 2, 1, 0, 0, 1, 2, 3);
    WANT_ONCE(wf_array_resize(a, NULL, five, WF_BORDER_REFLECT, 0), 0, 1, 2, 3, 2, 1, 0, 1, 2);
    WANT_ONCE(wf_array_resize(a, minus, minus, WF_BORDER_NONE, 0), 1, 2);
    const int64_t far[] = { -4 }, too_far[] = { -5 };
    wf_array *none = wf_array_resize(a, far, NULL, WF_BORDER_NONE, 0);
    assert_int_equal(wf_array_shape(none).dim[0], 0);
    wf_release(none);
    assert_null(wf_array_resize(a, too_far, NULL, WF_BORDER_NONE, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "axis 0");
    wf_release(a);
}

static void test_tile_and_repeat(void **state)
{
    (void)state;
    wf_array *a = counting(WF_F32, WF_SHAPE(2, 2)), *v = wf_view_slice(a, 0, 1, WF_END_INDEX, -1);
    WANT_ONCE(wf_array_tile(v, ((const int64_t[]){ 2, 2 })), 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1);
    WANT_ONCE(wf_array_tile(v, ((const int64_t[]){ 1, 1 })), 2, 3, 0, 1);
    WANT_ONCE(wf_array_repeat(v, 0, 2), 2, 3, 2, 3, 0, 1, 0, 1);
    WANT_ONCE(wf_array_repeat(v, -1, 3), 2, 2, 2, 3, 3, 3, 0, 0, 0, 1, 1, 1);
    const double half[] = { 0.5 };
    wf_array *bad = wf_array_tile(v, ((const int64_t[]){ 1, (int64_t)1 << 62 }));
    assert_null(bad);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE,
            "4611686018427387904 times the 2 elements along axis 1 are too many");
    bad = wf_array_quantiles(a, half, -1, WF_ALL_AXES);
    assert_null(bad);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_quantiles: `n` is -1; it must be 0 or more");
    bad = wf_bin(a, INT64_MAX, WF_AXES(0)); /* no bin is full */
    assert_true(wf_array_count(bad) == 0 && wf_array_shape(bad).dim[1] == 2);
    wf_release(bad);
    wf_array *none = wf_array_repeat(v, 1, 0), *empty = wf_array_tile(v, ((const int64_t[]){ 0, 3 }));
    assert_int_equal(wf_array_count(none), 0);
    assert_int_equal(wf_array_shape(empty).dim[1], 6);
    assert_null(wf_array_repeat(v, 2, 1));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axis 2");
    assert_null(wf_array_tile(v, ((const int64_t[]){ 2, -2 })));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_release(none);
    wf_release(empty);
    wf_release(a);
    wf_release(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),       cmocka_unit_test(test_copies),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_assign_where),
        cmocka_unit_test(test_transposed), cmocka_unit_test(test_extract),
        cmocka_unit_test(test_large),      cmocka_unit_test(test_insert),
        cmocka_unit_test(test_resize),     cmocka_unit_test(test_tile_and_repeat),
    };
    return RUN_ON_ALL(tests);
}
