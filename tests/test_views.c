/* test_views.c - values made of the elements of others: slices, permutations, reshapes, repetitions and gathers of
 * values that need not be in memory. Plain C computes the expected elements from a plain array.
 *
 * ctest: devices baseline
 */
#include "on_devices.h"

enum { MOST = 4096 };

static wf_array *numbers(wf_shape shape, float first)
{
    static float data[MOST];
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    for (int64_t i = 0; i < n; ++i)
        data[i] = first + (float)i;
    return array_of(ctx, WF_F32, shape, data);
}

/* Consumes the array. */
static void expect(wf_array *a, wf_shape shape, const float *want)
{
    wf_shape have = wf_array_shape(a);
    assert_non_null(a);
    assert_int_equal(have.rank, shape.rank);
    for (int d = 0; d < shape.rank; ++d)
        assert_int_equal(have.dim[d], shape.dim[d]);
    expect_f32(a, want, wf_array_count(a), __FILE__, __LINE__);
    wf_release(a);
}

static void slices(void **state)
{
    (void)state;
    static const int64_t cuts[][3] = { { 0, WF_END_INDEX, 1 }, { 2, 9, 1 },
                                       { 1, WF_END_INDEX, 3 }, { -1, WF_END_INDEX, -1 },
                                       { -2, 1, -3 },          { 5, 5, 1 },
                                       { -4, 400, 2 } };
    wf_array *a = numbers(WF_SHAPE(5, 37), 0);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; ++k)
        for (int computed = 0; computed < 2; ++computed) {
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_in(g, a);
            wf_array *row = wf_keep(wf_slice(computed ? wf_add(v, 1) : v, -1, cuts[k][0], cuts[k][1], cuts[k][2]));
            wf_array *part = wf_view_slice(a, 1, cuts[k][0], cuts[k][1], cuts[k][2]);
            OK(ctx, wf_run(g));
            wf_array *plain = wf_empty(ctx, WF_F32, wf_array_shape(part));
            g = wf_begin(ctx);
            wf_out(g, plain, computed ? wf_add(wf_in(g, part), 1) : wf_in(g, part));
            OK(ctx, wf_run(g));
            float *want = contents(plain);
            expect(row, wf_array_shape(plain), want);
            free(want);
            wf_release(part);
            wf_release(plain);
        }
    wf_release(a);
}

/* Without elements there is nothing that a reshape could index. */
static void reshapes_of_nothing(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F32, WF_U8, WF_F16, WF_C64, WF_C128 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k) {
        wf_array *a = wf_empty(ctx, dtypes[k], WF_SHAPE(0, 2));
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), flat = wf_reshape(v, WF_SHAPE(0)), other = wf_reshape(wf_add(v, 1), WF_SHAPE(3, 0, 4));
        wf_array *some = wf_keep(wf_reverse(flat, 0)), *none = wf_keep(other),
                 *sum = wf_keep(wf_sum(other, WF_AXES(1)));
        OK(ctx, wf_run(g));
        assert_int_equal(wf_array_count(some), 0);
        assert_int_equal(wf_array_shape(none).dim[2], 4);
        assert_int_equal(wf_array_count(sum), 12);
        unsigned char *zeros = contents(sum);
        for (size_t i = 0; i < 12 * wf_dtype_size(wf_array_dtype(sum)); ++i)
            assert_int_equal(zeros[i], 0);
        free(zeros);
        wf_release(a), wf_release(some), wf_release(none), wf_release(sum);
    }
}

static void grids(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_SHAPE(3), 1);
    wf_graph *g = wf_begin(ctx);
    wf_val p[3], one[1];
    wf_meshgrid(p, wf_in(g, a), wf_linspace(g, WF_F32, 2, 0, 1), wf_mul(wf_in(g, a), 10));
    wf_meshgrid(one, wf_in(g, a));
    assert_int_equal(wf_val_shape(p[1]).rank, 3);
    wf_array *sum = wf_keep(wf_sum(wf_add(wf_mul(p[0], p[2]), p[1]), WF_AXES(1))), *first = wf_keep(p[1]),
             *same = wf_keep(one[0]);
    OK(ctx, wf_run(g));
    expect(sum, WF_SHAPE(3, 1, 3), (const float[]){ 21, 41, 61, 41, 81, 121, 61, 121, 181 });
    float want[18];
    for (int i = 0; i < 18; ++i)
        want[i] = (float)(i / 3 % 2);
    expect(first, WF_SHAPE(3, 2, 3), want);
    expect(same, WF_SHAPE(3), (const float[]){ 1, 2, 3 });
    g = wf_begin(ctx);
    wf_meshgrid(p, wf_in(g, a), wf_reshape(wf_in(g, a), WF_SHAPE(3, 1)));
    wf_keep(p[0]);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "values of rank 1");
    wf_release(a);
}

static void difference(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(6), (const float[]){ 1, 4, 9, 16, 25, 36 });
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_array *d = wf_keep(wf_sub(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)));
    wf_array *twice =
        wf_keep(wf_slice(wf_sub(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)), 0, 1, 4, 2));
    OK(ctx, wf_run(g));
    expect(d, WF_SHAPE(5), (const float[]){ 3, 5, 7, 9, 11 });
    expect(twice, WF_SHAPE(2), (const float[]){ 5, 9 });
    wf_release(a);
}

static void permutations(void **state)
{
    (void)state;
    enum { N = 3, H = 5, W = 18 };
    wf_array *a = numbers(WF_SHAPE(N, H, W), 0);
    static float want[N * H * W];
    for (int x = 0; x < W; ++x)
        for (int z = 0; z < N; ++z)
            for (int y = 0; y < H; ++y)
                want[(x * N + z) * H + y] = 2 * (float)((z * H + y) * W + x) + (float)z;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_add(wf_mul(wf_in(g, a), 2), wf_cast(wf_iota(g, WF_SHAPE(N, 1, 1), 0), WF_F32));
    const int axes[] = { 2, 0, 1 }, back[] = { 1, 2, 0 };
    wf_val p = wf_permute(v, axes);
    wf_array *moved = wf_keep(p), *same = wf_keep(wf_permute(p, back)), *plain = wf_keep(v);
    OK(ctx, wf_run(g));
    expect(moved, WF_SHAPE(W, N, H), want);
    float *there = contents(plain);
    expect(same, WF_SHAPE(N, H, W), there);
    free(there);
    wf_release(plain);
    wf_release(a);
}

/* Reshaping twelve ways, of memory that is contiguous, of memory that is not, and of values. */
static void reshapes(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 48 } },         { .rank = 2, .dim = { 8, 6 } },
                                       { .rank = 2, .dim = { 6, 8 } },       { .rank = 2, .dim = { 24, 2 } },
                                       { .rank = 3, .dim = { 2, 3, 8 } },    { .rank = 3, .dim = { 4, 1, 12 } },
                                       { .rank = 4, .dim = { 4, 2, 3, 2 } }, { .rank = 2, .dim = { 16, 3 } },
                                       { .rank = 3, .dim = { 1, 48, 1 } } };
    static float want[48], transposed[48];
    wf_array *a = numbers(WF_SHAPE(4, 12), 0), *b = numbers(WF_SHAPE(12, 4), 100);
    wf_array *t = wf_view_permute(b, (const int[]){ 1, 0 });
    for (int i = 0; i < 48; ++i)
        transposed[i] = 100 + (float)(i % 12 * 4 + i / 12);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_array *r0 = wf_keep(wf_reshape(wf_in(g, a), shapes[k])), *r1 = wf_keep(wf_reshape(wf_in(g, t), shapes[k]));
        wf_array *r2 = wf_keep(wf_reshape(wf_mul(wf_in(g, a), wf_in(g, t)), shapes[k]));
        wf_val twice = wf_reshape(wf_reshape(wf_add(wf_in(g, a), 1), shapes[k]), shapes[2]);
        wf_array *r3 = wf_keep(wf_permute(twice, (const int[]){ 1, 0 }));
        OK(ctx, wf_run(g));
        for (int i = 0; i < 48; ++i)
            want[i] = (float)i;
        expect(r0, shapes[k], want);
        expect(r1, shapes[k], transposed);
        for (int i = 0; i < 48; ++i)
            want[i] = (float)i * transposed[i];
        expect(r2, shapes[k], want);
        for (int i = 0; i < 48; ++i)
            want[i] = 1 + (float)(i % 6 * 8 + i / 6);
        expect(r3, WF_SHAPE(8, 6), want);
    }
    wf_release(a);
    wf_release(b);
    wf_release(t);
}

static void repetitions(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), (const float[]){ 1, 2, 3, 4, 5, 6 });
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), slow = wf_round(wf_exp(wf_log(v)));
    wf_array *tiled = wf_keep(wf_tile(v, WF_SHAPE(2, 2))), *each = wf_keep(wf_repeat(slow, 1, 3)),
             *wide = wf_keep(wf_broadcast(wf_slice(v, 0, 1, 2, 1), WF_SHAPE(2, 2, 3))),
             *none = wf_keep(wf_repeat(v, 0, 0)), *rows = wf_keep(wf_repeat(wf_tile(slow, WF_SHAPE(1, 2)), 0, 2));
    OK(ctx, wf_run(g));
    expect(tiled, WF_SHAPE(4, 6),
           (const float[]){ 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6 });
    expect(each, WF_SHAPE(2, 9), (const float[]){ 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6 });
    expect(wide, WF_SHAPE(2, 2, 3), (const float[]){ 4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6 });
    expect(none, WF_SHAPE(0, 3), NULL);
    expect(rows, WF_SHAPE(4, 6),
           (const float[]){ 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6 });
    wf_release(a);
}

/* Views of results of reductions, along kept axes, too. */
static void of_reductions(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_SHAPE(4, 6), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), rows = wf_sum(v, WF_AXES(1)), columns = wf_sum(v, WF_AXES(0));
    wf_array *r = wf_keep(wf_sub(wf_reverse(rows, 0), rows));
    wf_array *c = wf_keep(wf_reshape(columns, WF_SHAPE(3, 2)));
    wf_array *both = wf_keep(
        wf_add(wf_permute(rows, (const int[]){ 1, 0 }), wf_slice(wf_reshape(columns, WF_SHAPE(6, 1)), 0, 0, 2, 1)));
    wf_array *all = wf_keep(wf_sum(wf_slice(v, 1, 0, WF_END_INDEX, 2), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    expect(r, WF_SHAPE(4, 1), (const float[]){ 108, 36, -36, -108 });
    expect(c, WF_SHAPE(3, 2), (const float[]){ 36, 40, 44, 48, 52, 56 });
    expect(both, WF_SHAPE(2, 4), (const float[]){ 51, 87, 123, 159, 55, 91, 127, 163 });
    expect(all, WF_SHAPE(1, 1), (const float[]){ 132 });
    wf_release(a);
}

/* Assignments see the old contents, in any order that views give. */
static void in_place(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_SHAPE(3, 3), 1), *late = wf_empty(ctx, WF_F32, WF_SHAPE(9));
    wf_graph *g = wf_begin(ctx);
    wf_val before = wf_reshape(wf_in(g, a), WF_SHAPE(9));
    wf_out(g, a, wf_permute(wf_in(g, a), (const int[]){ 1, 0 }));
    wf_out(g, a, wf_reverse(wf_in(g, a), 1));
    wf_out(g, late, wf_sub(wf_reshape(wf_in(g, a), WF_SHAPE(9)), before));
    OK(ctx, wf_run(g));
    expect(a, WF_SHAPE(3, 3), (const float[]){ 7, 4, 1, 8, 5, 2, 9, 6, 3 });
    expect(late, WF_SHAPE(9), (const float[]){ 6, 2, -2, 4, 0, -4, 2, -2, -6 });
}

/* Gathers through gathers are one, and combine their masks. */
static void gathers(void **state)
{
    (void)state;
    const int32_t first[] = { 3, -1, 0, 2, 7 }, second[] = { 4, 0, 1, 2, -5, 3 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(4), (const float[]){ 10, 11, 12, 13 });
    wf_array *i = array_of(ctx, WF_I32, WF_SHAPE(5), first), *j = array_of(ctx, WF_I32, WF_SHAPE(6), second);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_mul(wf_in(g, a), wf_in(g, a)), once = wf_gather_or(x, 0, wf_in(g, i));
    wf_array *one = wf_keep(once), *two = wf_keep(wf_gather_or(wf_add(once, 1), -1, wf_in(g, j)));
    wf_array *turned = wf_keep(wf_gather(x, wf_sub(3, wf_iota(g, WF_SHAPE(4), 0))));
    wf_array *outer = wf_keep(
        wf_gather(wf_reshape(x, WF_SHAPE(2, 2)), wf_iota(g, WF_SHAPE(2, 1, 1), 0), wf_iota(g, WF_SHAPE(1, 1, 2), 2)));
    OK(ctx, wf_run(g));
    expect(one, WF_SHAPE(5), (const float[]){ 169, 0, 100, 144, 0 });
    expect(two, WF_SHAPE(6), (const float[]){ 1, 170, 1, 101, -1, 145 });
    expect(turned, WF_SHAPE(4), (const float[]){ 169, 144, 121, 100 });
    expect(outer, WF_SHAPE(2, 1, 2), (const float[]){ 100, 121, 144, 169 });
    wf_release(a);
    wf_release(i);
    wf_release(j);
}

static void of_nothing(void **state)
{
    (void)state;
    wf_array *empty = wf_empty(ctx, WF_F32, WF_SHAPE(0)), *a = numbers(WF_SHAPE(3), 0);
    wf_graph *g = wf_begin(ctx);
    wf_array *masked = wf_keep(wf_gather_or(wf_in(g, empty), 5, wf_cast(wf_in(g, a), WF_I32)));
    wf_array *none = wf_keep(wf_reverse(wf_reshape(wf_slice(wf_in(g, a), 0, 3, 3, 1), WF_SHAPE(2, 0)), 0));
    wf_array *cube = wf_empty(ctx, WF_F32, WF_SHAPE(40, 0, 2, 3));
    wf_array *other = wf_keep(wf_reshape(wf_tile(wf_in(g, cube), WF_SHAPE(1, 1, 1, 2)), WF_SHAPE(4, 4, 0)));
    OK(ctx, wf_run(g));
    expect(other, WF_SHAPE(4, 4, 0), NULL);
    wf_release(cube);
    expect(masked, WF_SHAPE(3), (const float[]){ 5, 5, 5 });
    expect(none, WF_SHAPE(2, 0), NULL);
    g = wf_begin(ctx);
    wf_keep(wf_gather(wf_in(g, empty), wf_cast(wf_in(g, a), WF_I32)));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "no elements");
    wf_release(empty);
    wf_release(a);
}

/* Kernels with arrays of any size: extents are known at the launch only. */
static void of_formals(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *x = wf_formal(g, "x", WF_F32, 2), *y = wf_formal(g, "y", WF_F32, 1);
    wf_out(g, y,
           wf_reshape(wf_slice(wf_permute(wf_in(g, x), (const int[]){ 1, 0 }), 0, 1, WF_END_INDEX, 1), WF_SHAPE(-1)));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    for (int w = 2; w < 4; ++w) {
        wf_array *in = numbers(WF_SHAPE(2, w), 0), *out = wf_empty(ctx, WF_F32, WF_SHAPE(2 * (w - 1)));
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", in), WF_ARG("y", out))));
        if (w == 2)
            EXPECT_F32(out, 1, 3);
        else
            EXPECT_F32(out, 1, 4, 2, 5);
        wf_release(out);
        out = wf_empty(ctx, WF_F32, WF_SHAPE(7));
        REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", in), WF_ARG("y", out))), WF_ERR_SHAPE, "does not fit");
        wf_release(out);
        wf_release(in);
    }
    wf_kernel_free(k);
}

static void every_dtype(void **state)
{
    (void)state;
    uint64_t random = 7, data[2 * 30];
    for (size_t i = 0; i < sizeof data / sizeof *data; ++i)
        data[i] = test_random(&random) & 0x0101010101010101u;
    for (int t = 0; t < TEST_DTYPES; ++t) {
        wf_dtype dtype = test_dtypes[t];
        size_t size = wf_dtype_size(dtype);
        wf_array *a = array_of(ctx, dtype, WF_SHAPE(5, 6), data);
        wf_graph *g = wf_begin(ctx);
        wf_array *r = wf_keep(wf_reverse(wf_reshape(wf_in(g, a), WF_SHAPE(30)), 0));
        OK(ctx, wf_run(g));
        char *got = contents(r);
        for (size_t i = 0; i < 30; ++i)
            assert_memory_equal(got + i * size, (char *)data + (29 - i) * size, size);
        free(got);
        wf_release(a);
        wf_release(r);
    }
}

/* Long rows, so that vectors, tails and threads are there. */
static void large(void **state)
{
    (void)state;
    enum { H = 61, W = 1030 };
    float *data = malloc(sizeof(float) * H * W), *want = malloc(sizeof(float) * H * W);
    assert_true(data && want);
    for (int i = 0; i < H * W; ++i)
        data[i] = (float)(i % 977);
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), data);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_in(g, a), 3);
    wf_array *t = wf_keep(wf_permute(v, (const int[]){ 1, 0 })),
             *r = wf_keep(wf_reverse(wf_reshape(v, WF_SHAPE(-1)), 0)),
             *s = wf_keep(wf_slice(v, 1, -1, WF_END_INDEX, -1)),
             *f = wf_keep(wf_reshape(wf_permute(v, (const int[]){ 1, 0 }), WF_SHAPE(H, W)));
    OK(ctx, wf_run(g));
    for (int x = 0; x < W; ++x)
        for (int y = 0; y < H; ++y)
            want[x * H + y] = 3 * data[y * W + x];
    expect(t, WF_SHAPE(W, H), want);
    expect(f, WF_SHAPE(H, W), want);
    for (int i = 0; i < H * W; ++i)
        want[i] = 3 * data[H * W - 1 - i];
    expect(r, WF_SHAPE(H * W), want);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            want[y * W + x] = 3 * data[y * W + W - 1 - x];
    expect(s, WF_SHAPE(H, W), want);
    wf_release(a);
    free(data);
    free(want);
}

static void mistakes(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_SHAPE(2, 3), 0);
    wf_graph *g = wf_begin(ctx);
    wf_keep(wf_slice(wf_in(g, a), 2, 0, 1, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 2 is out of range");
    g = wf_begin(ctx);
    wf_keep(wf_slice(wf_in(g, a), 0, 0, 1, 0));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "step is 0");
    g = wf_begin(ctx);
    wf_keep(wf_permute(wf_in(g, a), (const int[]){ 1, 1 }));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "once");
    g = wf_begin(ctx);
    wf_keep(wf_reshape(wf_in(g, a), WF_SHAPE(4, 2)));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(2, 3) does not have the elements of (4, 2)");
    g = wf_begin(ctx);
    wf_keep(wf_broadcast(wf_in(g, a), WF_SHAPE(2, 4)));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "does not broadcast to (2, 4)");
    g = wf_begin(ctx);
    wf_keep(wf_tile(wf_in(g, a), WF_SHAPE(2)));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "one count");
    g = wf_begin(ctx);
    wf_keep(wf_repeat(wf_in(g, a), 0, -1));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "-1 times");
    const int64_t many = (int64_t)1 << 40;
    g = wf_begin(ctx);
    wf_tile(wf_iota(g, WF_SHAPE(many), 0), WF_SHAPE(many));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(1099511627776) would have too many elements by (1099511627776)");
    g = wf_begin(ctx);
    wf_repeat(wf_iota(g, WF_SHAPE(many), 0), 0, many);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "too many to be repeated 1099511627776 times");
    g = wf_begin(ctx);
    wf_val half = wf_iota(g, WF_SHAPE((int64_t)1 << 62), 0);
    wf_concat(0, half, half);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "have too many elements together");
    g = wf_begin(ctx);
    wf_keep(wf_gather(wf_in(g, a), wf_iota(g, WF_SHAPE(3), 0)));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "1 indices given for a value, which has 2 axes");
    g = wf_begin(ctx);
    wf_keep(wf_gather(wf_in(g, a), wf_in(g, a), 0));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "index 0 is f32");
    g = wf_begin(ctx, .shape = WF_SHAPE(3));
    wf_slice(wf_cast(wf_index(g, 0), WF_F32), 0, 0, 1, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "only in array graphs");
    wf_release(a);
}

/* Elements gathered from an array after an assignment to it, at indices that were read before. Views repeat them, so
 * they are computed once. */
static void stored_gather(void **state)
{
    (void)state;
    enum { N = 12 };
    for (int same = 0; same < 2; ++same) {
        wf_array *a = wf_array_arange(ctx, WF_F32, N, 1, 1), *other = wf_full(ctx, WF_F32, WF_SHAPE(N), 0);
        wf_graph *g = wf_begin(ctx);
        wf_val fourth = wf_read(g, a, 3);
        wf_out(g, a, 50);
        wf_val at = wf_mod(wf_add(wf_iota(g, WF_SHAPE(N), 0), wf_cast(fourth, WF_I64)), N);
        wf_val got = wf_read(g, a, at), twice = wf_concat(0, got, wf_reverse(got, 0));
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_DIRECT, same ? a : other, 1,
                           wf_mod(wf_cast(wf_cast(twice, WF_I8), WF_I64), N));
        wf_out(g, a, got);
        OK(ctx, wf_run(g));
        float *x = contents(a), *y = contents(other);
        for (int i = 0; i < N; ++i) {
            assert_true(x[i] == 50);
            assert_true(y[i] == (!same && i == 50 % N ? 2 * N : 0));
        }
        free(x), free(y);
        wf_release(a), wf_release(other);
    }
}

/* Each step also reads other elements of the last one. If nothing were stored, the number of elements to compute
 * would double with each step. */
static void chains(void **state)
{
    (void)state;
    enum { N = 11, STEPS = 60 };
    int64_t x[N], next[N];
    for (int i = 0; i < N; ++i)
        x[i] = i * i % N;
    wf_array *a = array_of(ctx, WF_I64, WF_SHAPE(N), x), *out = wf_full(ctx, WF_I64, WF_SHAPE(N), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val y = wf_in(g, a);
    for (int k = 0; k < STEPS; ++k) {
        wf_val there =
            k % 3 ? wf_gather(wf_mod(wf_add(y, 3), N), wf_mod(wf_mul(y, 5), N)) : wf_reverse(wf_add(y, k), 0);
        y = wf_mod(k % 2 ? wf_add(there, y) : there, N);
    }
    wf_out(g, out, y);
    OK(ctx, wf_run(g));
    for (int k = 0; k < STEPS; ++k) {
        for (int i = 0; i < N; ++i) {
            int64_t there = k % 3 ? (x[x[i] * 5 % N] + 3) % N : x[N - 1 - i] + k;
            next[i] = (there + (k % 2 ? x[i] : 0)) % N;
        }
        memcpy(x, next, sizeof x);
    }
    int64_t *got = contents(out);
    assert_memory_equal(got, x, sizeof x);
    free(got);
    wf_release(a), wf_release(out);
}

/* Elements that are, or are not, one axis in memory although their indices are equal: a slice that is then reshaped
 * to one axis, a gather at the indices of a reshape, and both beside the reshape itself. */
static void cut_then_flat(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 5, CUT = 4, N = ROWS * CUT };
    wf_array *a = numbers(WF_SHAPE(ROWS, COLUMNS), 1), *b = numbers(WF_SHAPE(ROWS, CUT), 100);
    float cut[N], beside[N], kept[N];
    for (int i = 0; i < N; ++i) {
        cut[i] = (float)(1 + i / CUT * COLUMNS + i % CUT);
        beside[i] = cut[i] + (float)(100 + i);
        kept[i] = 2 * cut[i];
    }
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), part = wf_slice(v, 1, 0, CUT, 1), i = wf_iota(g, WF_SHAPE(N), 0);
    wf_val flat = wf_reshape(part, WF_SHAPE(N)), other = wf_reshape(wf_in(g, b), WF_SHAPE(N));
    wf_val there = wf_gather(v, wf_idiv(i, CUT), wf_mod(i, CUT));
    wf_array *out[4];
    out[0] = wf_keep(flat);
    out[1] = wf_keep(wf_add(flat, other));
    out[2] = wf_keep(wf_add(other, there));
    out[3] = wf_keep(wf_reshape(wf_add(part, part), WF_SHAPE(N)));
    OK(ctx, wf_run(g));
    expect(out[0], WF_SHAPE(N), cut);
    expect(out[1], WF_SHAPE(N), beside);
    expect(out[2], WF_SHAPE(N), beside);
    expect(out[3], WF_SHAPE(N), kept);
    if (!is_on_gpu()) {
        g = wf_begin(ctx);
        part = wf_slice(wf_in(g, a), 1, 0, CUT, 1);
        expect(wf_compress(part, wf_gt(part, 0)), WF_SHAPE(N), cut);
        wf_drop(g);
    }
    wf_release(a), wf_release(b);
}

static void literals_without_axes(void **state)
{
    (void)state;
    const float two = 2;
    const wf_shape scalar = WF_SCALAR;
    wf_graph *g = wf_begin(ctx);
    wf_array *out = wf_keep(wf_reshape(wf_broadcast(wf_const(g, WF_F32, 2), WF_SHAPE(1, 1)), WF_SCALAR));
    OK(ctx, wf_run(g));
    expect(out, scalar, &two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_then_flat),
        cmocka_unit_test(literals_without_axes),
        cmocka_unit_test(slices),
        cmocka_unit_test(grids),
        cmocka_unit_test(reshapes_of_nothing),
        cmocka_unit_test(difference),
        cmocka_unit_test(permutations),
        cmocka_unit_test(reshapes),
        cmocka_unit_test(repetitions),
        cmocka_unit_test(of_reductions),
        cmocka_unit_test(in_place),
        cmocka_unit_test(gathers),
        cmocka_unit_test(of_nothing),
        cmocka_unit_test(of_formals),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(large),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(stored_gather),
        cmocka_unit_test(chains),
    };
    return RUN_ON_ALL(tests);
}
