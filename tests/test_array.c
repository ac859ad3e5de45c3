/* test_array.c - arrays, views and memory of the program: contents by index beside plain C, ownership, and every
 * error. */
#include "on_devices.h"

static wf_array *counting(int64_t n) { return wf_array_arange(ctx, WF_F32, n, 0, 1); }

static void test_empty_and_like(void **state)
{
    (void)state;
    wf_array *a = wf_empty(ctx, WF_I16, WF_SHAPE(2, 3, 4)), *b = wf_like(a);
    assert_int_equal(wf_array_dtype(a), WF_I16);
    assert_int_equal(wf_array_count(a), 24);
    assert_int_equal(wf_array_state(a), WF_STATE_READY);
    assert_ptr_equal(wf_array_context(a), ctx);
    wf_shape s = wf_array_shape(b);
    assert_int_equal(s.rank, 3);
    assert_int_equal(s.dim[0], 2);
    assert_int_equal(s.dim[2], 4);
    void *data;
    int64_t stride[WF_MAX_RANK];
    OK(ctx, wf_map(a, &data, stride));
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_int_equal(stride[0], 12);
    assert_int_equal(stride[1], 4);
    assert_int_equal(stride[2], 1);
    wf_release(a);
    wf_release(b);
    static const int64_t fortran[] = { 1, 2, 6 };
    a = wf_empty(ctx, WF_I16, WF_SHAPE(2, 3, 4), .strides = fortran);
    OK(ctx, wf_map(a, &data, stride));
    assert_int_equal(stride[0], 1);
    assert_int_equal(stride[2], 6);
    b = wf_like(a); /* C order */
    OK(ctx, wf_map(b, &data, stride));
    assert_int_equal(stride[2], 1);
    wf_release(a);
    wf_release(b);
}

static void test_sizes_at_the_edge(void **state)
{
    (void)state;
    wf_array *scalar = wf_empty(ctx, WF_F64, WF_SCALAR), *none = wf_empty(ctx, WF_F64, WF_SHAPE(3, 0, 5));
    wf_array *eight = wf_empty(ctx, WF_U8, WF_SHAPE(1, 2, 1, 2, 1, 2, 1, 2));
    const double x = 3.5;
    double y = 0;
    assert_int_equal(wf_array_count(scalar), 1);
    OK(ctx, wf_upload(scalar, &x, sizeof x));
    OK(ctx, wf_download(scalar, &y, sizeof y));
    assert_true(y == x);
    assert_int_equal(wf_array_count(none), 0);
    OK(ctx, wf_upload(none, NULL, 0));
    OK(ctx, wf_download(none, NULL, 0));
    assert_int_equal(wf_array_count(eight), 16);
    wf_release(scalar);
    wf_release(none);
    wf_release(eight);
    /* an empty shape of large extents has no elements, and needs no memory */
    wf_array *empty = wf_empty(ctx, WF_F32, WF_SHAPE((int64_t)1 << 40, 0, 1 << 20));
    assert_int_equal(wf_array_count(empty), 0);
    wf_release(empty);
    assert_int_equal(wf_array_count(NULL), 0);
    assert_int_equal(wf_array_dtype(NULL), WF_NONE);
    wf_release(NULL);
    assert_null(wf_retain(NULL));
}

static void test_refused_arrays(void **state)
{
    (void)state;
    int64_t huge = (int64_t)1 << 62, negative[] = { -1 }, far[] = { INT64_MAX / 2 };
    const wf_shape nine = { .rank = 9 }, minus = { .rank = -1 };
    assert_null(wf_empty(ctx, WF_F32, nine));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "rank 9");
    assert_null(wf_empty(ctx, WF_F32, minus));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "rank -1");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(2, -3)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "(2, -3) has a negative extent");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(huge, 4)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "too many");
    assert_null(wf_empty(ctx, WF_F64, WF_SHAPE(huge)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "(4611686018427387904) needs too much memory");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE((int64_t)1 << 50)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_MEMORY, "out of memory");
    assert_null(wf_empty(ctx, WF_NONE, WF_SHAPE(2)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "none");
    assert_null(wf_empty(ctx, (wf_dtype)99, WF_SHAPE(2)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "unknown");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(2), .device = 77));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "77");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(2, 4), .strides = ((const int64_t[]){ 0, 1 })));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "strides of 0");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(3), .strides = negative));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "strides");
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(3), .strides = far));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "strides");
    assert_null(wf_empty(NULL, WF_F32, WF_SHAPE(3)));
    assert_null(wf_like(NULL));
    assert_null(wf_full(ctx, WF_U8, WF_SHAPE(3), 256));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "256");
    assert_null(wf_array_arange(ctx, WF_F32, -1, 0, 1));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "negative");
}

static void test_full_and_arange(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 2), 1.5), *b = wf_array_arange(ctx, WF_F32, 4, 10, -0.5);
    EXPECT_F32(a, 1.5f, 1.5f, 1.5f, 1.5f);
    EXPECT_F32(b, 10, 9.5f, 9, 8.5f);
    wf_release(a);
    wf_release(b);
    a = wf_array_arange(ctx, WF_I64, 3, 0x1p52, 3); /* exact where a product in f32 would not be */
    int64_t *i = contents(a);
    assert_true(i[2] == ((int64_t)1 << 52) + 6);
    free(i);
    wf_release(a);
    a = wf_array_arange(ctx, WF_U8, 300, 0, 1);
    uint8_t *u = contents(a);
    assert_true(u[255] == 255 && u[256] == 0); /* integers wrap */
    free(u);
    wf_release(a);
    a = wf_array_arange(ctx, WF_I32, 3, 0.5, 0.75); /* in f64, then converted */
    int32_t *t = contents(a);
    assert_true(t[0] == 0 && t[1] == 1 && t[2] == 2);
    free(t);
    wf_release(a);
    a = wf_array_arange(ctx, WF_F64, 3, 1e300, INFINITY);
    double *d = contents(a);
    assert_true(isnan(d[0]) && isinf(d[1])); /* 0 * inf */
    free(d);
    wf_release(a);
    a = wf_array_arange(ctx, WF_I32, 2, 1e300, -INFINITY); /* saturates */
    t = contents(a);
    assert_true(t[1] == INT32_MIN);
    free(t);
    wf_release(a);
    a = wf_full(ctx, WF_F32, WF_SHAPE(0), 3);
    assert_int_equal(wf_array_count(a), 0);
    wf_release(a);
    a = wf_array_arange(ctx, WF_BOOL, 2, 0, 1);
    uint8_t *truth = contents(a);
    assert_true(truth[0] == 0 && truth[1] == 1);
    free(truth);
    wf_release(a);
}

static void test_upload_and_download(void **state)
{
    (void)state;
    float x[6] = { 1, 2, 3, 4, 5, 6 }, y[6];
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), x);
    REFUSED(ctx, wf_upload(a, x, sizeof x - 1), WF_ERR_ARG, "23 bytes given for an array of 24");
    REFUSED(ctx, wf_download(a, y, sizeof y + 4), WF_ERR_ARG, "28 bytes");
    REFUSED(ctx, wf_upload(a, NULL, sizeof x), WF_ERR_ARG, "wf_upload: the program's memory is NULL");
    REFUSED(ctx, wf_download(a, NULL, sizeof y), WF_ERR_ARG, "wf_download: the program's memory is NULL");
    REFUSED(ctx, (wf_copy_to(a, 77), wf_last_status(ctx)), WF_ERR_DEVICE, "wf_copy_to: there is no device 77 here");
    assert_int_equal(wf_upload(NULL, x, 0), WF_ERR_ARG);
    assert_int_equal(wf_download(NULL, y, 0), WF_ERR_ARG);
    const int swap[] = { 1, 0 };
    wf_array *t = wf_view_permute(a, swap);
    EXPECT_F32(t, 1, 4, 2, 5, 3, 6);
    OK(ctx, wf_upload(t, x, sizeof x));
    EXPECT_F32(a, 1, 3, 5, 2, 4, 6);
    wf_release(a); /* the view keeps the memory */
    EXPECT_F32(t, 1, 2, 3, 4, 5, 6);
    wf_array *wide = wf_view_broadcast(t, WF_SHAPE(2, 3, 2));
    float z[12];
    REFUSED(ctx, wf_upload(wide, z, sizeof z), WF_ERR_ARG, "read-only");
    wf_release(wide);
    wf_release(t);
}

static void test_slices(void **state)
{
    (void)state;
    wf_array *a = counting(10);
    /* as range(10)[start:stop:step] in Python */
    for (int64_t start = -13; start <= 13; ++start)
        for (int64_t stop = -13; stop <= 14; ++stop)
            for (int64_t step = -11; step <= 11; ++step) {
                if (step == 0)
                    continue;
                int64_t s = start < 0 ? start + 10 : start, e = stop < 0 ? stop + 10 : stop, low = step < 0 ? -1 : 0;
                s = s < low ? low : s > 10 + low ? 10 + low : s;
                e = stop == 14 ? (step < 0 ? -1 : 10) : e < low ? low : e > 10 + low ? 10 + low : e;
                float want[10];
                int64_t n = 0;
                for (int64_t i = s; step < 0 ? i > e : i < e; i += step)
                    want[n++] = (float)i;
                wf_array *v = wf_view_slice(a, 0, start, stop == 14 ? WF_END_INDEX : stop, step);
                assert_non_null(v);
                expect_f32(v, want, n, __FILE__, __LINE__);
                wf_release(v);
            }
    assert_null(wf_view_slice(a, 0, 0, 1, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "step is 0");
    assert_null(wf_view_slice(a, 1, 0, 1, 1));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axis");
    assert_null(wf_view_slice(a, -2, 0, 1, 1));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axis");
    wf_array *v = wf_view_slice(a, -1, INT64_MIN + 1, INT64_MAX, INT64_MAX);
    EXPECT_F32(v, 0);
    wf_release(v);
    v = wf_view_slice(a, 0, INT64_MAX, WF_END_INDEX, INT64_MIN);
    EXPECT_F32(v, 9);
    wf_release(v);
    wf_release(a);
    assert_null(wf_view_slice(NULL, 0, 0, 1, 1));
}

static void test_view_at(void **state)
{
    (void)state;
    wf_array *a = counting(24), *b = wf_view_reshape(a, WF_SHAPE(2, 3, 4)), *v = wf_view_at(b, 1, 2);
    assert_int_equal(wf_array_shape(v).rank, 2);
    EXPECT_F32(v, 8, 9, 10, 11, 20, 21, 22, 23);
    wf_array *w = wf_view_at(v, -1, -1), *x = wf_view_at(w, 0, 1);
    EXPECT_F32(w, 11, 23);
    assert_int_equal(wf_array_shape(x).rank, 0);
    EXPECT_F32(x, 23);
    assert_null(wf_view_at(b, 1, 3));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_BOUNDS, "index 3");
    assert_null(wf_view_at(b, 1, -4));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_BOUNDS, "index -4");
    assert_null(wf_view_at(x, 0, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axis");
    wf_array *all[] = { a, b, v, w, x };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

static void test_permute(void **state)
{
    (void)state;
    wf_array *a = counting(6), *b = wf_view_reshape(a, WF_SHAPE(1, 2, 3));
    const int axes[] = { 2, 0, 1 }, twice[] = { 0, 0, 1 }, wild[] = { 0, 1, 3 };
    wf_array *v = wf_view_permute(b, axes);
    assert_int_equal(wf_array_shape(v).dim[0], 3);
    assert_int_equal(wf_array_shape(v).dim[1], 1);
    EXPECT_F32(v, 0, 3, 1, 4, 2, 5);
    assert_null(wf_view_permute(b, twice));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "each of the 3 axes once");
    assert_null(wf_view_permute(b, wild));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axes");
    assert_null(wf_view_permute(b, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "axes");
    wf_release(a);
    wf_release(b);
    wf_release(v);
}

static void reshaped(wf_array *a, wf_shape to, bool possible)
{
    wf_array *v = wf_view_reshape(a, to);
    assert_int_equal(v != NULL, possible);
    if (v) {
        float *x = contents(a), *y = contents(v);
        assert_int_equal(wf_array_count(a), wf_array_count(v));
        assert_memory_equal(x, y, (size_t)wf_array_count(a) * sizeof *x);
        free(x);
        free(y);
        wf_release(v);
    } else
        EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
}

static void test_reshape(void **state)
{
    (void)state;
    wf_array *a = counting(24), *b = wf_view_reshape(a, WF_SHAPE(2, 3, 4));
    reshaped(a, WF_SHAPE(4, 6), true);
    reshaped(a, WF_SHAPE(-1), true);
    reshaped(a, WF_SHAPE(4, -1, 2), true);
    reshaped(a, WF_SHAPE(1, 24, 1, 1), true);
    reshaped(a, WF_SHAPE(5, -1), false);
    reshaped(a, WF_SHAPE(-1, -1), false);
    reshaped(a, WF_SHAPE(-2, -12), false);
    reshaped(a, WF_SHAPE(25), false);
    reshaped(a, WF_SHAPE(0, -1), false);
    reshaped(b, WF_SHAPE(6, 4), true);
    reshaped(b, WF_SHAPE(2, 12), true);
    reshaped(b, WF_SHAPE(3, 8), true);
    wf_array *cut = wf_view_slice(b, 2, 0, 3, 1); /* (2, 3, 3), rows no longer adjacent */
    reshaped(cut, WF_SHAPE(6, 3), true);
    reshaped(cut, WF_SHAPE(2, 9), false);
    reshaped(cut, WF_SHAPE(18), false);
    reshaped(cut, WF_SHAPE(2, 3, 1, 3), true);
    reshaped(cut, WF_SHAPE(3, 2, 3), true);
    wf_array *back = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);
    reshaped(back, WF_SHAPE(4, 6), true);
    const int swap[] = { 0, 2, 1 };
    wf_array *t = wf_view_permute(b, swap);
    reshaped(t, WF_SHAPE(8, 3), false);
    reshaped(t, WF_SHAPE(2, 2, 2, 3), true);
    wf_array *one = wf_view_slice(a, 0, 5, 6, 1), *none = wf_view_slice(a, 0, 5, 5, 1);
    reshaped(one, WF_SCALAR, true);
    reshaped(one, WF_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), true);
    reshaped(none, WF_SHAPE(3, 0, 7), true);
    reshaped(none, WF_SHAPE(3), false);
    const wf_shape nine = { .rank = 9 };
    reshaped(a, nine, false);
    wf_array *all[] = { a, b, cut, back, t, one, none };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
}

static void test_broadcast_views(void **state)
{
    (void)state;
    wf_array *a = counting(3), *v = wf_view_broadcast(a, WF_SHAPE(2, 3)), *one = counting(1);
    EXPECT_F32(v, 0, 1, 2, 0, 1, 2);
    wf_array *w = wf_view_broadcast(one, WF_SHAPE(2, 2));
    EXPECT_F32(w, 0, 0, 0, 0);
    wf_array *same = wf_view_broadcast(a, WF_SHAPE(3)), *zero = wf_view_broadcast(one, WF_SHAPE(0));
    EXPECT_F32(same, 0, 1, 2);
    assert_int_equal(wf_array_count(zero), 0);
    assert_null(wf_view_broadcast(a, WF_SHAPE(3, 2)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "does not broadcast");
    assert_null(wf_view_broadcast(v, WF_SHAPE(3)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "does not broadcast");
    assert_null(wf_view_broadcast(a, WF_SHAPE(-2, 3)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "(-2, 3) has a negative extent");
    assert_null(wf_view_broadcast(one, WF_SHAPE((int64_t)1 << 40, (int64_t)1 << 40)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "too many elements");
    wf_array *far = wf_view_broadcast(one, WF_SHAPE((int64_t)1 << 40, 1 << 20)); /* costs nothing until it is read */
    assert_true(wf_array_count(far) == (int64_t)1 << 60);
    wf_array *all[] = { a, v, one, w, same, zero, far };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
}

/* ---- user memory ---- */
static void count_release(void *user) { ++*(int *)user; }

static void test_wrap(void **state)
{
    (void)state;
    float x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    int released = 0;
    wf_array *a = wf_wrap(ctx, x, WF_F32, WF_SHAPE(3, 4), count_release, &released), *v = wf_view_at(a, 0, 1);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, v, wf_mul(wf_in(g, v), 10));
    OK(ctx, wf_run(g));
    assert_true(x[4] == 40 && x[7] == 70 && x[3] == 3 && x[8] == 8);
    void *data;
    OK(ctx, wf_map(v, &data, NULL));
    assert_ptr_equal(data, x + 4);
    wf_release(a);
    assert_int_equal(released, 0); /* the view still uses it */
    wf_release(v);
    assert_int_equal(released, 1);
    /* negative and broadcast strides */
    const int64_t back[] = { -4, 1 }, repeat[] = { 0, 1 };
    a = wf_wrap(ctx, x + 8, WF_F32, WF_SHAPE(3, 4), NULL, NULL, .strides = back);
    v = wf_view_at(a, 1, 0);
    EXPECT_F32(v, 8, 40, 0);
    wf_release(a);
    wf_release(v);
    a = wf_wrap(ctx, x, WF_F32, WF_SHAPE(2, 2), NULL, NULL, .strides = repeat);
    EXPECT_F32(a, 0, 1, 0, 1);
    g = wf_begin(ctx);
    wf_out(g, a, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "stride 0");
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 2));
    wf_write(g, a, 1, wf_index(g, 0), wf_index(g, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "stride 0");
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 2));
    wf_accumulate(g, WF_JOIN_ADD, a, 1, wf_index(g, 0), wf_index(g, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "stride 0");
    assert_true(x[0] == 0 && x[1] == 1);
    wf_release(a);
    /* options of an older caller: what is behind its struct is not read */
    a = wf_wrap_with(ctx, x, WF_F32, WF_SHAPE(2, 2),
                     &(wf_place){ .size = offsetof(wf_place, strides), .strides = repeat }, NULL, NULL);
    EXPECT_F32(a, 0, 1, 2, 3);
    wf_release(a);
    /* strides whose elements can be counted, but whose bytes have no addresses */
    static const int64_t far[] = { INT64_MAX / 2, INT64_MAX / 4 + 1, (int64_t)1 << 61, -((int64_t)1 << 60),
                                   INT64_MIN / 4 };
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i) {
        released = 0;
        assert_null(wf_wrap(ctx, x, WF_F32, WF_SHAPE(2), count_release, &released, .strides = &far[i]));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "the strides reach beyond the address space");
        assert_int_equal(released, 1);
    }
}

static void test_messages(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 4), 1);
    assert_null(wf_view_broadcast(a, WF_SHAPE(2, 4)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "(3, 4) does not broadcast to (2, 4)");
    wf_graph *g = wf_begin(ctx);
    assert_null(wf_keep(wf_concat(0, wf_in(g, a), wf_cast(wf_in(g, a), WF_F64))));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "f32 meets f64");
    g = wf_begin(ctx);
    assert_null(wf_keep(wf_concat(2, wf_in(g, a), wf_in(g, a))));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "axis 2 is out of range for rank 2");
    g = wf_begin(ctx);
    assert_null(wf_keep(wf_concat(0, wf_in(g, a), wf_permute(wf_in(g, a), ((const int[]){ 1, 0 })))));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(3, 4) and (4, 3)");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_val i;
    WF_FOR (g, i, 0, 5, 0) {
        wf_write(g, a, 1, i, 0);
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "the step is 0");
    wf_release(a);
}

static void test_wrap_refuses_and_releases(void **state)
{
    (void)state;
    float x[4] = { 0 };
    int released = 0;
    assert_null(wf_wrap(ctx, NULL, WF_F32, WF_SHAPE(4), count_release, &released));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "NULL");
    assert_int_equal(released, 1);
    assert_null(wf_wrap(ctx, (char *)x + 1, WF_F32, WF_SHAPE(3), count_release, &released));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "aligned");
    assert_int_equal(released, 2);
    assert_null(wf_wrap(ctx, x, (wf_dtype)(WF_C128 + 1), WF_SHAPE(2), count_release, &released));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    assert_int_equal(released, 3);
    assert_null(wf_wrap(ctx, x, WF_F32, WF_SHAPE(-2), count_release, &released));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    assert_int_equal(released, 4);
    const int64_t far[] = { INT64_MAX, 1 };
    assert_null(wf_wrap(ctx, x, WF_F32, WF_SHAPE(3, 2), count_release, &released, .strides = far));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "address space");
    assert_int_equal(released, 5);
    assert_null(wf_wrap(NULL, x, WF_F32, WF_SHAPE(2), count_release, &released));
    assert_int_equal(released, 6);
    wf_array *none = wf_wrap(ctx, NULL, WF_F32, WF_SHAPE(0), count_release, &released);
    assert_non_null(none);
    wf_release(none);
    assert_int_equal(released, 7);
}

/* A context lives until its last array is freed. */
static void test_context_outlived(void **state)
{
    (void)state;
    wf_context *own = test_context(WF_INTERP, 1);
    wf_array *a = wf_full(own, WF_F32, WF_SHAPE(3), 2);
    wf_context_free(own);
    EXPECT_F32(a, 2, 2, 2);
    wf_release(a);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(wf_dtype_name(WF_F32), "f32");
    assert_string_equal(wf_dtype_name((wf_dtype)-1), "unknown");
    assert_int_equal(wf_dtype_size(WF_C128), 16);
    assert_int_equal(wf_dtype_size((wf_dtype)50), 0);
    assert_string_equal(wf_status_name(WF_ERR_SHAPE), "WF_ERR_SHAPE");
    assert_string_equal(wf_status_name(WF_OK), "WF_OK");
    assert_non_null(wf_status_name((wf_status)1234));
    assert_int_equal(wf_device_named("cpu"), WF_CPU);
    assert_int_equal(wf_device_named("interp"), WF_INTERP);
    assert_int_equal(wf_device_named("gpu"), 0);
    assert_int_equal(wf_device_named(NULL), 0);
    assert_string_equal(wf_last_message(NULL), "out of memory");
    assert_int_equal(wf_last_status(NULL), WF_ERR_MEMORY);
    assert_int_equal(wf_error(ctx, WF_ERR_IO, "first"), WF_ERR_IO);
    assert_int_equal(wf_error(ctx, WF_ERR_ARG, "second"), WF_ERR_ARG);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_IO, "first"); /* the first one is kept */
    assert_string_equal(wf_last_message(ctx), "");
}

static void no_such_device(void **state)
{
    (void)state;
    const wf_device none[] = { (wf_device)3, (wf_device)-1, (wf_device)100 };
    for (int i = 0; i < 3; ++i) {
        wf_context *other = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .device = none[i] });
        REFUSED(other, wf_last_status(other), WF_ERR_DEVICE, "there is no device");
        assert_int_equal(wf_context_device(other), WF_CPU);
        wf_context_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_and_like),
        cmocka_unit_test(test_sizes_at_the_edge),
        cmocka_unit_test(test_refused_arrays),
        cmocka_unit_test(test_full_and_arange),
        cmocka_unit_test(test_upload_and_download),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_view_at),
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_broadcast_views),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_wrap_refuses_and_releases),
        cmocka_unit_test(test_context_outlived),
        cmocka_unit_test(test_names),
        cmocka_unit_test(no_such_device),
    };
    return cmocka_run_group_tests(tests, on_default, off);
}
