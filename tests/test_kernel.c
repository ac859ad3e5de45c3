/* test_kernel.c - prepared kernels: formals and parameters, other shapes and layouts at each launch, every error, kept
 * arrays, and the text of a dump.
 *
 * ctest: devices driver threads
 */
#include "on_devices.h"

/* dst = src * gain + offset */
static wf_kernel *affine(int rank)
{
    wf_graph *g = wf_begin(ctx, .name = "affine");
    wf_array *src = wf_formal(g, "src", WF_F32, rank), *dst = wf_formal(g, "dst", WF_F32, rank);
    assert_int_equal(wf_array_state(src), WF_STATE_FORMAL);
    wf_val gain = wf_param(g, "gain", WF_F32, 1), offset = wf_param(g, "offset", WF_F32, 0);
    wf_out(g, dst, wf_add(wf_mul(wf_in(g, src), gain), offset));
    wf_kernel *k = wf_compile(g);
    if (!k)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(k);
    return k;
}

static void test_launches(void **state)
{
    (void)state;
    wf_kernel *k = affine(1);
    for (int64_t n = 0; n < 300; n += n < 40 ? 1 : 37) {
        wf_array *src = wf_array_arange(ctx, WF_F32, n, 0, 1), *dst = wf_like(src);
        for (int t = 0; t < 3; ++t) {
            double gain = t + 1;
            OK(ctx, wf_launch(k, WF_NAMED(src, dst, gain)));
            float *x = contents(dst);
            for (int64_t i = 0; i < n; ++i)
                assert_true(x[i] == (float)((double)i * gain));
            free(x);
        }
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("offset", 0.5), WF_ARG("dst", src), WF_ARG("src", src)))); /* in place */
        float *x = contents(src);
        for (int64_t i = 0; i < n; ++i)
            assert_true(x[i] == (float)i + 0.5f);
        free(x);
        RELEASE(src, dst);
    }
    wf_kernel_free(k);
}

/* Spaces that all threads share, launched repeatedly with the same arrays: divided along the first axis or, with a
 * transposed operand, along others. The number of threads changes in between. */
static void test_large_again(void **state)
{
    (void)state;
    enum { ROWS = 700, COLUMNS = 1100 };
    const int swap[] = { 1, 0 };
    int threads = wf_get_threads(ctx);
    wf_kernel *k = affine(2);
    wf_array *flat = wf_array_arange(ctx, WF_F32, ROWS * COLUMNS, 0, 1),
             *high = wf_full(ctx, WF_F32, WF_SHAPE(COLUMNS, ROWS), 0);
    wf_array *src = wf_view_reshape(flat, WF_SHAPE(ROWS, COLUMNS)), *turned = wf_view_permute(high, swap),
             *whole = wf_full(ctx, WF_F32, WF_SHAPE(ROWS, COLUMNS), 0);
    for (int t = 0; t < 8; ++t) {
        double gain = t + 1, offset = 0.5 * t;
        wf_array *dst = t & 1 ? turned : whole;
        wf_set_threads(ctx, 1 + t / 2);
        if (t < 6)
            OK(ctx, wf_launch(k, WF_NAMED(src, dst, gain, offset)));
        else
            OK(ctx, wf_launch(k, WF_NAMED(src, dst, gain, offset), .threads = 2));
        float *x = contents(dst);
        for (int64_t i = 0; i < ROWS * COLUMNS; ++i)
            assert_true(x[i] == (float)((float)(double)i * (float)gain) + (float)offset);
        free(x);
    }
    wf_set_threads(ctx, threads);
    RELEASE(flat, high, src, whole, turned);
    wf_kernel_free(k);
}

/* Any number of points that a thread processes at once gives the same results. */
static void test_columns(void **state)
{
    (void)state;
    enum { N = 1003 };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *b = wf_array_arange(ctx, WF_U8, N, 0, 1);
    wf_array *odd = wf_view_slice(a, 0, 1, N, 1), *odd_b = wf_view_slice(b, 0, 1, N, 1);
    for (int columns = 0; columns <= 8; columns += columns ? columns : 1)
        for (int aligned = 0; aligned < 2; ++aligned) {
            wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(N), 0), *odd_out = wf_view_slice(out, 0, 1, N, 1);
            wf_graph *g = wf_begin(ctx, .columns = columns);
            wf_val x = wf_in(g, aligned ? a : odd), y = wf_in(g, aligned ? b : odd_b);
            wf_out(g, aligned ? out : odd_out, wf_add(wf_mul(x, x), wf_cast(y, WF_F32)));
            OK(ctx, wf_run(g));
            float *got = contents(out);
            for (int i = 0; i < N; ++i)
                assert_true(got[i] == (float)i * (float)i + (float)(i & 255));
            free(got);
            wf_release(odd_out);
            wf_release(out);
        }
    wf_graph *g = wf_begin(ctx, .columns = 3);
    wf_out(g, a, wf_in(g, odd));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".columns is 3; it must be 1, 2, 4, 8 or 0");
    RELEASE(a, b, odd, odd_b);
}

static void test_layouts(void **state)
{
    (void)state;
    wf_kernel *k = affine(2);
    wf_array *flat = wf_array_arange(ctx, WF_F32, 600, 0, 1), *a = wf_view_reshape(flat, WF_SHAPE(20, 30));
    const int swap[] = { 1, 0 };
    wf_array *t = wf_view_permute(a, swap), *dst = wf_full(ctx, WF_F32, WF_SHAPE(30, 20), 0);
    wf_array *row = wf_view_slice(t, 0, 4, 5, 1); /* broadcasts */
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", t), WF_ARG("dst", dst), WF_ARG("gain", 2))));
    float *x = contents(dst);
    for (int i = 0; i < 600; ++i)
        assert_true(x[i] == 2.f * (float)(i % 20 * 30 + i / 20));
    free(x);
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", row), WF_ARG("dst", dst))));
    x = contents(dst);
    for (int i = 0; i < 600; ++i)
        assert_true(x[i] == (float)(i % 20 * 30 + 4));
    free(x);
    wf_array *part = wf_view_slice(a, 1, 0, 20, 1), *shifted = wf_view_slice(a, 1, 5, 25, 1); /* overlap */
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", part), WF_ARG("dst", shifted))));
    x = contents(flat);
    for (int i = 0; i < 600; ++i) {
        int c = i % 30;
        assert_true(x[i] == (float)(c >= 5 && c < 25 ? i - 5 : i));
    }
    free(x);
    RELEASE(flat, a, t, dst, row, part, shifted);
    wf_kernel_free(k);
}

static void test_refused_launches(void **state)
{
    (void)state;
    wf_kernel *k = affine(1);
    wf_array *a = wf_array_arange(ctx, WF_F32, 4, 0, 1), *b = wf_array_arange(ctx, WF_F32, 5, 0, 1),
             *i = wf_full(ctx, WF_I32, WF_SHAPE(4), 1);
    wf_array *m = wf_full(ctx, WF_F32, WF_SHAPE(2, 2), 1), *wide = wf_view_broadcast(a, WF_SHAPE(4));
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a))), WF_ERR_ARG, "no array is given for 'dst'");
    REFUSED(ctx, wf_launch(k, WF_NO_ARGS), WF_ERR_ARG, "'src'");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", 1), WF_ARG("dst", a))), WF_ERR_ARG, "'src'");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", (wf_array *)NULL), WF_ARG("dst", a))), WF_ERR_ARG, "'src'");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", i), WF_ARG("dst", a))), WF_ERR_DTYPE, "'src' is i32");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", m), WF_ARG("dst", a))), WF_ERR_SHAPE, "rank 2");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", b))), WF_ERR_SHAPE, "(4)");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", wide))), WF_ERR_ARG, "broadcast view");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", a), WF_ARG("sorce", 1))), WF_ERR_ARG, "'sorce'");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", a), WF_ARG("gain", a))), WF_ERR_ARG,
            "'gain' needs a number");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", a)), .shape = WF_SHAPE(4)), WF_ERR_SHAPE,
            "index space");
    wf_context *other = test_context(WF_INTERP, 1);
    wf_array *foreign = wf_full(other, WF_F32, WF_SHAPE(4), 1);
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", foreign), WF_ARG("dst", a))), WF_ERR_ARG, "another context");
    wf_release(foreign);
    wf_context_free(other);
    EXPECT_F32(a, 0, 1, 2, 3); /* nothing ran */
    /* an earlier error of the thread does not change the status of a launch */
    assert_int_equal(wf_launch(k, WF_NO_ARGS), WF_ERR_ARG);
    assert_int_equal(wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", b))), WF_ERR_SHAPE);
    assert_int_equal(wf_launch(k, WF_ARGS(WF_ARG("src", a), WF_ARG("dst", a))), WF_OK);
    wf_clear_error(ctx);
    assert_int_equal(wf_launch(NULL, WF_NO_ARGS), WF_ERR_ARG);
    wf_kernel_free(k);
    wf_kernel_free(NULL);
    RELEASE(a, b, i, m, wide);
}

static void test_parameters(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(3));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_val i = wf_param(g, "i", WF_I16, -7), u = wf_param(g, "u", WF_U8, 200), t = wf_param(g, "t", WF_BOOL, 1);
    assert_true(wf_param(g, "i", WF_I16, -7).h.num == i.h.num); /* the same one */
    wf_val sum = wf_add(wf_add(wf_cast(i, WF_F64), wf_cast(u, WF_F64)), wf_select(t, 0.25, 0.5));
    wf_write(g, out, sum, wf_index(g, 0));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    double *x = contents(out);
    assert_true(x[0] == 193.25 && x[2] == 193.25);
    free(x);
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("i", 30000), WF_ARG("t", 0))));
    x = contents(out);
    assert_true(x[1] == 30200.5);
    free(x);
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("u", 256))), WF_ERR_DTYPE, "256 does not fit parameter 'u' of dtype u8");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("i", 0.5))), WF_ERR_DTYPE, "0.5 does not fit");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("t", 2))), WF_ERR_DTYPE, "bool");
    wf_kernel_free(k);
    g = wf_begin(ctx);
    wf_param(g, "p", WF_I32, 0);
    wf_param(g, "p", WF_F32, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "'p' is i32, initially 0, and now f32");
    g = wf_begin(ctx);
    wf_param(g, "p", WF_I32, 0.5);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "0.5");
    g = wf_begin(ctx);
    wf_param(g, "", WF_I32, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "name");
    RELEASE(out);
}

static void test_other_spaces(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4, 5));
    wf_array *dst = wf_formal(g, "dst", WF_I64, 2);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_write(g, dst, wf_add(wf_mul(i, wf_extent(g, 1)), wf_mul(j, wf_dim(g, dst, 0))), i, j);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    static const int64_t shapes[][2] = { { 4, 5 }, { 1, 1 }, { 3, 70 }, { 70, 3 }, { 0, 9 }, { 1, 200 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        int64_t h = shapes[s][0], w = shapes[s][1];
        dst = wf_empty(ctx, WF_I64, WF_SHAPE(h, w));
        OK(ctx, wf_launch(k, WF_NAMED(dst), .shape = WF_SHAPE(h, w)));
        int64_t *x = contents(dst);
        for (int64_t p = 0; p < h * w; ++p)
            assert_true(x[p] == p / w * w + p % w * h);
        free(x);
        wf_release(dst);
    }
    dst = wf_empty(ctx, WF_I64, WF_SHAPE(9, 9));
    REFUSED(ctx, wf_launch(k, WF_NAMED(dst), .shape = WF_SHAPE(9)), WF_ERR_SHAPE, "rank 2");
    REFUSED(ctx, wf_launch(k, WF_NAMED(dst), .shape = WF_SHAPE(-9, 9)), WF_ERR_SHAPE, "rank 2");
    wf_release(dst);
    wf_kernel_free(k);
}

/* An operator in place through formals: whether they overlap is known at launch only. */
static void test_overlap_at_launch(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(99));
    wf_array *in = wf_formal(g, "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_val i = wf_index(g, 0);
    wf_write(g, out, wf_sub(wf_read_or(g, in, 0, wf_add(i, 1)), wf_read_or(g, in, 0, wf_sub(i, 1))), i);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    for (int in_place = 0; in_place < 2; ++in_place) {
        in = wf_array_arange(ctx, WF_F32, 99, 0, 1);
        out = in_place ? wf_retain(in) : wf_like(in);
        OK(ctx, wf_launch(k, WF_NAMED(in, out)));
        float *x = contents(out);
        assert_true(x[0] == 1 && x[1] == 2 && x[50] == 2 && x[98] == -97);
        free(x);
        RELEASE(in, out);
    }
    wf_kernel_free(k);
}

/* Open shapes: nothing may be concluded about extents while recording. */
static void test_open_shapes(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *b = wf_formal(g, "b", WF_F32, 1),
             *sum = wf_formal(g, "sum", WF_F32, 1);
    wf_array *zero = wf_formal(g, "zero", WF_F32, 1);
    assert_int_equal(wf_val_shape(wf_in(g, a)).dim[0], -1);
    wf_out(g, b, wf_in(g, a)); /* a may be broadcast */
    wf_out(g, sum, wf_sum(wf_in(g, b), WF_ALL_AXES));
    wf_val x = wf_in(g, a);
    wf_out(g, zero, wf_sum(wf_select(wf_lt(wf_in(g, b), 0), x, x), WF_ALL_AXES));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    a = wf_full(ctx, WF_F32, WF_SHAPE(1), 3), b = wf_full(ctx, WF_F32, WF_SHAPE(5), 0),
    sum = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    zero = wf_like(sum);
    OK(ctx, wf_launch(k, WF_NAMED(a, b, sum, zero)));
    EXPECT_F32(b, 3, 3, 3, 3, 3);
    EXPECT_F32(sum, 15);
    EXPECT_F32(zero, 15);
    RELEASE(a, b, sum, zero);
    wf_kernel_free(k);
    g = wf_begin(ctx);
    wf_keep(wf_in(g, wf_formal(g, "a", WF_F32, 1)));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "formal");
}

/* Arrays named while recording are captured; kept ones are filled by each launch. */
static void test_captured_arrays(void **state)
{
    (void)state;
    wf_array *table = wf_array_arange(ctx, WF_F32, 3, 0, 10);
    wf_graph *g = wf_begin(ctx);
    wf_array *x, *out = wf_keep(wf_mul(wf_in(g, table), 2));
    wf_drop(g);
    g = wf_begin(ctx);
    x = wf_formal(g, "x", WF_F32, 0);
    wf_out(g, x, wf_sum(wf_in(g, out), WF_ALL_AXES));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "never computed");
    wf_release(out);
    g = wf_begin(ctx);
    x = wf_formal(g, "x", WF_F32, 1);
    out = wf_keep(wf_mul(wf_in(g, table), 2));
    wf_out(g, x, wf_add(wf_in(g, table), 1));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    assert_int_equal(wf_array_state(out), WF_STATE_LAZY);
    x = wf_full(ctx, WF_F32, WF_SHAPE(3), 0);
    for (int t = 0; t < 2; ++t) {
        OK(ctx, wf_launch(k, WF_NAMED(x)));
        EXPECT_F32(x, (float)(1 + 5 * t), (float)(11 + 5 * t), (float)(21 + 5 * t));
        EXPECT_F32(out, (float)(10 * t), (float)(20 + 10 * t), (float)(40 + 10 * t));
        wf_graph *h = wf_begin(ctx);
        wf_out(h, table, wf_add(wf_in(h, table), 5));
        OK(ctx, wf_run(h));
    }
    wf_release(table); /* the kernel keeps it */
    OK(ctx, wf_launch(k, WF_NAMED(x)));
    EXPECT_F32(x, 11, 21, 31);
    wf_kernel_free(k);
    RELEASE(x, out);
}

static void test_refused_formals(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *a = wf_formal(g, "a", WF_F32, 1);
    wf_out(g, a, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "'a' is a formal");
    g = wf_begin(ctx);
    wf_formal(g, "a", WF_F32, 1);
    assert_null(wf_formal(g, "a", WF_F32, 2));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "a formal 'a' already");
    g = wf_begin(ctx);
    wf_formal(g, "a", WF_F32, 1);
    wf_param(g, "a", WF_F32, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_param: there is a formal 'a' already");
    g = wf_begin(ctx);
    wf_param(g, "a", WF_F32, 1);
    assert_null(wf_formal(g, "a", WF_F32, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_formal: there is a parameter 'a' already");
    g = wf_begin(ctx);
    assert_null(wf_formal(g, "a", WF_F32, 9));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "rank");
    g = wf_begin(ctx);
    assert_null(wf_formal(g, NULL, WF_F32, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "name");
    g = wf_begin(ctx);
    a = wf_retain(wf_formal(g, "mine", WF_F32, 1));
    assert_null(wf_view_slice(a, 0, 0, 1, 1));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "'mine' is a formal");
    float x[1];
    REFUSED(ctx, wf_upload(a, x, sizeof x), WF_ERR_ARG, "'mine' is a formal");
    REFUSED(ctx, wf_download(a, x, sizeof x), WF_ERR_ARG, "'mine' is a formal");
    wf_graph *h = wf_begin(ctx);
    wf_out(h, a, 1);
    REFUSED(ctx, wf_run(h), WF_ERR_ARG, "another recording");
    wf_drop(g);
    h = wf_begin(ctx); /* may have the address of g */
    wf_out(h, a, 1);
    REFUSED(ctx, wf_run(h), WF_ERR_ARG, "another recording");
    wf_release(a);
    g = wf_begin(ctx);
    wf_sqrt(wf_const(g, WF_I32, 1));
    assert_null(wf_compile(g));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "wf_sqrt");
}

/* An integer that a double does not hold is rounded to the parameter's dtype once. */
static void test_long_integers(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        float f;
        double d;
    } rows[] = { { (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, 0x1.000002p60f, 0x1.000001p60 },
                 { -(INT64_C(1) << 60) - (INT64_C(1) << 36) - 1, -0x1.000002p60f, -0x1.000001p60 },
                 { (INT64_C(1) << 60) + (INT64_C(1) << 36), 0x1p60f, 0x1.000001p60 },
                 { (INT64_C(1) << 60) + 1, 0x1p60f, 0x1p60 },
                 { INT64_MAX, 0x1p63f, 0x1p63 } };
    wf_array *f = wf_full(ctx, WF_F32, WF_SHAPE(3), 0), *d = wf_full(ctx, WF_F64, WF_SHAPE(3), 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, f, wf_param(g, "f", WF_F32, 0));
    wf_out(g, d, wf_param(g, "d", WF_F64, 0));
    wf_kernel *k = wf_compile(g);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        for (int wide = 0; wide < (rows[i].value > 0 ? 2 : 1); ++wide) {
            float got_f[3];
            double got_d[3];
            uint64_t u = (uint64_t)rows[i].value;
            OK(ctx, wide ? wf_launch(k, WF_ARGS(WF_ARG("f", u), WF_ARG("d", u)))
                         : wf_launch(k, WF_ARGS(WF_ARG("f", rows[i].value), WF_ARG("d", rows[i].value))));
            OK(ctx, wf_download(f, got_f, sizeof got_f));
            OK(ctx, wf_download(d, got_d, sizeof got_d));
            if (got_f[2] != rows[i].f || got_d[2] != rows[i].d)
                fail_msg("%lld: %a %a", (long long)rows[i].value, (double)got_f[2], got_d[2]);
        }
    wf_kernel_free(k);
    wf_release(f), wf_release(d);
}

/* One name is one parameter in all sections. A declaration with another dtype or initial value reports an error. */
static void test_parameters_twice(void **state)
{
    (void)state;
    static const struct {
        wf_dtype dtype;
        double initial;
        wf_status status;
        const char *says;
    } cases[] = {
        { WF_F32, 0.1, WF_OK, "" },
        { WF_F32, 2, WF_ERR_ARG, "'p' is f32, initially 0.10000000149011612, and now f32, initially 2;" },
        { WF_F64, 0.1, WF_ERR_DTYPE, "'p' is f32, initially 0.10000000149011612, and now f64, initially 0.1000000" },
        { WF_C64, 0.1, WF_ERR_DTYPE, "and now c64, initially 0.1" },
        { WF_I32, 0, WF_ERR_DTYPE, "and now i32, initially 0; give one of them another name" },
    };
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(3), 5), *sum = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
        for (int post = 0; post < 2; ++post) {
            wf_graph *g = wf_begin(ctx, .name = "twice", .reduce = WF_ALL_AXES);
            wf_var s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
            wf_inc(s, wf_mul(wf_in(g, x), wf_param(g, "p", WF_F32, 0.1)));
            if (!post)
                wf_param(g, "p", cases[c].dtype, cases[c].initial);
            wf_section(g, WF_SECTION_POST);
            wf_val p = post ? wf_param(g, "p", cases[c].dtype, cases[c].initial) : wf_const(g, WF_F32, 0);
            wf_out(g, sum, wf_add(s, wf_cast(p, WF_F32)));
            if (cases[c].status == WF_OK)
                OK(ctx, wf_run(g));
            else
                REFUSED(ctx, wf_run(g), cases[c].status, cases[c].says);
        }
    wf_graph *g = wf_begin(ctx);
    wf_val z = wf_param(g, "z", WF_C64, 2);
    assert_true(wf_param(g, "z", WF_C64, 2).h.num == z.h.num);
    wf_drop(g);
    wf_release(x), wf_release(sum);
}

/* More formals and parameters than any fixed table in Weft has entries. */
static void test_many_formals(void **state)
{
    (void)state;
    enum { MANY = 60 };
    char names[2 * MANY][8];
    wf_arg args[2 * MANY];
    wf_graph *g = wf_begin(ctx);
    wf_val sum = wf_const(g, WF_F32, 0);
    for (int i = 0; i < MANY; ++i) {
        snprintf(names[i], sizeof names[i], "a%d", i);
        snprintf(names[MANY + i], sizeof names[i], "p%d", i);
        sum = wf_add(sum, wf_mul(wf_in(g, wf_formal(g, names[i], WF_F32, 1)), wf_param(g, names[MANY + i], WF_F32, 0)));
    }
    wf_array *dst = wf_full(ctx, WF_F32, WF_SHAPE(7), 0), *a[MANY];
    wf_out(g, dst, sum);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    float want = 0;
    for (int i = 0; i < MANY; ++i) {
        a[i] = wf_full(ctx, WF_F32, WF_SHAPE(7), i);
        args[i] = wf__arg_array(names[i], a[i]);
        args[MANY + i] = wf__arg_num(names[MANY + i], i + 1);
        want += (float)(i * (i + 1));
    }
    OK(ctx, wf_launch(k, ((wf_args){ args, 2 * MANY })));
    EXPECT_F32(dst, want, want, want, want, want, want, want);
    wf_kernel_free(k);
    release_all(a, MANY);
    wf_release(dst);
}

static void test_dumps(void **state)
{
    (void)state;
    wf_kernel *k = affine(1);
    wf_array *a = wf_array_arange(ctx, WF_F32, 100, 0, 1);
    wf_args args = WF_ARGS(WF_ARG("src", a), WF_ARG("dst", a));
    char text[4096], small[10];
    size_t n = 0, again = 0;
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, text, sizeof text, &n));
    assert_int_equal(n, strlen(text));
    assert_non_null(strstr(text, "arrays flags"));
    assert_non_null(strstr(text, "= mul f32 (?)"));
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, small, sizeof small, &again));
    assert_int_equal(again, n);
    assert_int_equal(strlen(small), 9);
    assert_memory_equal(small, text, 9);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, NULL, 0, &again));
    assert_int_equal(again, n);
    OK(ctx, wf_kernel_dump(k, args, WF_DUMP_KERNELS, text, sizeof text, &n));
    assert_non_null(strstr(text, "stage 1 of 1: loops 100"));
    assert_non_null(strstr(text, "after layout and lowering"));
    REFUSED(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, sizeof text, &n), WF_ERR_ARG, "'src'");
    wf_status status = wf_kernel_dump(k, args, WF_DUMP_LLVM, text, sizeof text, &n);
    if (test_compiles(ctx)) {
        OK(ctx, status);
        assert_true(n > 100);
        OK(ctx, wf_kernel_dump(k, args, WF_DUMP_ASM, text, sizeof text, &n));
        assert_non_null(strstr(text, "wf_kernel"));
    } else
        REFUSED(ctx, status, WF_ERR_BACKEND, "interpreter");
    assert_int_equal(wf_kernel_dump(NULL, args, WF_DUMP_TRACE, text, sizeof text, &n), WF_ERR_ARG);
    wf_kernel_free(k);
    wf_release(a);
}

/* One plan and one piece of code for many launches; other parameters and other data of the same shape need neither. */
static void test_nothing_is_compiled_twice(void **state)
{
    (void)state;
    wf_kernel *k = affine(1);
    wf_array *src = wf_array_arange(ctx, WF_F32, 1000, 0, 1), *dst = wf_like(src);
    OK(ctx, wf_launch(k, WF_NAMED(src, dst)));
    wf_info before = { .size = sizeof before }, after = before;
    OK(ctx, wf_get_info(ctx, false, &before));
    for (int t = 0; t < 20; ++t) {
        double gain = t;
        wf_array *other = wf_like(src);
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("src", src), WF_ARG("dst", other), WF_ARG("gain", gain))));
        wf_release(other);
    }
    OK(ctx, wf_get_info(ctx, false, &after));
    assert_true(after.compiled == before.compiled);
    assert_true(after.evaluated == before.evaluated + 20);
    wf_info first = { .size = offsetof(wf_info, cache_bytes), .cache_bytes = 77, .evaluated = 78 };
    OK(ctx, wf_get_info(ctx, false, &first)); /* the fields up to there, and no others */
    assert_int_equal(first.vector_bits, after.vector_bits);
    assert_true(first.cache_bytes == 77 && first.evaluated == 78);
    RELEASE(src, dst);
    wf_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_large_again),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_refused_launches),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_parameters_twice),
        cmocka_unit_test(test_long_integers),
        cmocka_unit_test(test_other_spaces),
        cmocka_unit_test(test_overlap_at_launch),
        cmocka_unit_test(test_open_shapes),
        cmocka_unit_test(test_captured_arrays),
        cmocka_unit_test(test_refused_formals),
        cmocka_unit_test(test_many_formals),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_nothing_is_compiled_twice),
    };
    return RUN_ON_ALL(tests);
}
