/* test_scan_of_computed.c - scans that compute their input part by part, and code that uses their results part by
 * part, have the bits of a scan of a stored array, for any shape, axis, direction, layout of operands and number of
 * threads.
 */
#include "with_history.h"

enum { MOST = 1 << 17 };

/* The value that is scanned, of arrays a [shape] and b, c [last extent]; `other` gets more of it. */
typedef wf_val value_fn(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other);

static wf_val plain(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other)
{
    (void)b, (void)other;
    return wf_add(wf_mul(wf_in(g, a), wf_in(g, a)), 0.25);
}
static wf_val with_row(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other)
{
    wf_val v = wf_mul(wf_in(g, a), wf_in(g, b));
    *other = wf_sub(v, 1); /* another output of the kernel */
    return v;
}
static wf_val by_index(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other)
{
    (void)other;
    return wf_add(wf_reverse(wf_in(g, a), 0), wf_cast(wf_iota(g, wf_array_shape(b), 0), WF_F32));
}
static wf_val wide(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other)
{
    (void)b, (void)other;
    return wf_cast(wf_gt(wf_in(g, a), 0), WF_I64);
}
static wf_val half(wf_graph *g, const wf_array *a, const wf_array *b, wf_val *other)
{
    (void)b, (void)other;
    return wf_cast(wf_mul(wf_in(g, a), 0.001), WF_F16);
}

typedef struct scan_case {
    wf_shape shape;
    int axis;
    value_fn *value;
    bool columns_first; /* memory order of a */
} scan_case;

static wf_array *numbers(const wf_shape *shape, bool columns_first)
{
    static float x[MOST];
    int64_t stride[WF_MAX_RANK], step = 1, n = 1;
    for (int d = 0; d < shape->rank; ++d) {
        stride[d] = step;
        step *= shape->dim[d];
        n *= shape->dim[d];
    }
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; ++i)
        x[i] = (float)(i * 7919 % 1013) * 0.37f - 170;
    wf_place place = { .size = sizeof place, .strides = columns_first ? stride : NULL };
    wf_array *a = wf_empty_with(ctx, WF_F32, *shape, &place);
    OK(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    return a;
}

/* The use of the scan s of v, where the scan itself is not kept. */
static wf_val used(wf_val s, wf_val v) { return wf_sub(wf_mul(wf_cast(s, WF_F64), 2), wf_cast(v, WF_F64)); }

static void expect_same(wf_array *got, wf_array *want)
{
    char *p = contents(got), *q = contents(want);
    assert_memory_equal(p, q, (size_t)wf_array_count(want) * wf_dtype_size(wf_array_dtype(want)));
    free(p), free(q);
}

/* Returns how many kernels of the last launch ran together with the one before; -1 = nothing is compiled. */
static int fused_kernels(void)
{
    wf_kernel_info info[8] = { { .size = sizeof *info } };
    size_t kernels = wf_history(ctx, info, 8);
    int fused = 0;
    bool compiled = false;
    for (size_t k = 0; k < kernels; ++k) {
        fused += info[k].fused;
        compiled = compiled || (info[k].code != WF_CODE_LIBRARY && info[k].code != WF_CODE_NONE);
    }
    return compiled ? fused : -1;
}

static void check(const scan_case *c, bool exclusive, bool reversed)
{
    wf_shape row = { .rank = 1, .dim = { c->shape.dim[c->shape.rank - 1] } };
    wf_array *a = numbers(&c->shape, c->columns_first), *b = numbers(&row, false), *more[2] = { NULL };
    wf_val other = { { 0, NULL } };
    wf_set_threads(ctx, 1);
    wf_graph *g = wf_begin(ctx);
    wf_array *x = wf_keep(c->value(g, a, b, &other)), *want[2], *got[2];
    more[0] = other.h.graph ? wf_keep(other) : NULL;
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    want[0] = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, x), c->axis, exclusive, reversed));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    want[1] = wf_keep(used(wf_in(g, want[0]), wf_in(g, x)));
    OK(ctx, wf_run(g));
    for (int threads = 1; threads <= (wf_context_device(ctx) == WF_CPU ? 3 : 1); ++threads) {
        wf_set_threads(ctx, threads);
        for (int then = 0; then < 2; ++then) {
            fused_kernels();
            g = wf_begin(ctx);
            wf_val v = c->value(g, a, b, &other), s = wf_scan(WF_JOIN_ADD, v, c->axis, exclusive, reversed);
            got[then] = wf_keep(then ? used(s, v) : s);
            more[1] = other.h.graph ? wf_keep(other) : NULL;
            OK(ctx, wf_run(g));
            int fused = fused_kernels();
            if (fused >= 0 && fused != (c->value == half ? 2 : 1 + then)) /* half: a cast follows */
                fail_msg("axis %d of %d: %d kernels ran with the one before", c->axis, c->shape.rank, fused);
            expect_same(got[then], want[then]);
            if (more[1])
                expect_same(more[1], more[0]);
            wf_release(got[then]), wf_release(more[1]);
        }
    }
    wf_release(a), wf_release(b), wf_release(x), wf_release(want[0]), wf_release(want[1]), wf_release(more[0]);
}

static void test_values(void **state)
{
    (void)state;
    static const scan_case cases[] = {
        { { .rank = 1, .dim = { 70001 } }, 0, plain, false },       /* parts of one row */
        { { .rank = 2, .dim = { 2, 33000 } }, 1, with_row, false }, /* parts of two rows */
        { { .rank = 2, .dim = { 9001, 7 } }, 1, with_row, false },  /* short rows */
        { { .rank = 2, .dim = { 30, 2500 } }, 0, plain, false },    /* columns, in pieces */
        { { .rank = 2, .dim = { 2500, 30 } }, 0, with_row, false }, /* in one piece */
        { { .rank = 3, .dim = { 3, 150, 257 } }, 1, plain, false },
        { { .rank = 3, .dim = { 5, 31, 600 } }, 1, by_index, false },
        { { .rank = 3, .dim = { 6, 50, 9 } }, 0, with_row, false },
        { { .rank = 3, .dim = { 4, 1, 5000 } }, 2, wide, false },
        { { .rank = 2, .dim = { 300, 200 } }, 0, half, true },       /* read across */
        { { .rank = 2, .dim = { 40001, 3 } }, 0, with_row, false },  /* columns that threads share */
        { { .rank = 3, .dim = { 1, 33333, 2 } }, 1, wide, false },   /* from parts that stay in the cache, */
        { { .rank = 2, .dim = { 701, 130 } }, 0, plain, false },     /* and from some that do not, */
        { { .rank = 2, .dim = { 701, 130 } }, 0, with_row, false },  /* which may not be computed twice */
        { { .rank = 3, .dim = { 300, 3, 111 } }, 0, plain, false },  /* three chunks */
        { { .rank = 3, .dim = { 3, 1000, 29 } }, 1, by_index, true } /* of three rows */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
        for (int how = 0; how < 4; ++how)
            check(&cases[k], how & 1, how & 2);
}

/* Scans written directly into the array that they read, also after another kernel has written it, while others need
 * the old contents. */
static void test_in_place(void **state)
{
    (void)state;
    enum { N = 40000 };
    static float x[N];
    for (int threads = 1; threads <= 2; ++threads) {
        wf_set_threads(ctx, threads);
        wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *back = wf_empty(ctx, WF_F32, WF_SHAPE(N));
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a);
        wf_out(g, back, wf_reverse(v, 0));
        wf_out(g, a, wf_scan(WF_JOIN_MAX, wf_mul(wf_sub(v, 7), wf_sub(v, 7)), 0, false, false));
        OK(ctx, wf_run(g));
        OK(ctx, wf_download(a, x, sizeof x));
        for (int i = 0; i < N; ++i)
            assert_true(x[i] == (i < 14 ? 49.0f : (float)(i - 7) * (float)(i - 7)));
        OK(ctx, wf_download(back, x, sizeof x));
        for (int i = 0; i < N; ++i)
            assert_true(x[i] == (float)(N - 1 - i));
        wf_release(a), wf_release(back);
    }
}

/* The same of columns that threads share. */
static void test_columns_in_place(void **state)
{
    (void)state;
    enum { N = 40000, W = 3 };
    static float x[N][W];
    for (int threads = 1; threads <= 3; ++threads) {
        wf_set_threads(ctx, threads);
        wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(N, W)), *twice = wf_empty(ctx, WF_F32, WF_SHAPE(N, W));
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_add(wf_mul(wf_cast(wf_iota(g, WF_SHAPE(N, W), 0), WF_F32), 2), 1);
        wf_out(g, a, wf_add(v, wf_cast(wf_iota(g, WF_SHAPE(N, W), 1), WF_F32)));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx);
        wf_out(g, a, wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 0.5), 0, false, false));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx);
        wf_out(g, twice, wf_mul(wf_scan(WF_JOIN_MAX, wf_neg(wf_in(g, a)), 0, false, true), 2));
        OK(ctx, wf_run(g));
        OK(ctx, wf_download(a, x, sizeof x));
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < W; ++j)
                assert_true(x[i][j] == (float)(((double)(i + 1) * (i + 1) + (double)j * (i + 1)) / 2));
        OK(ctx, wf_download(twice, x, sizeof x));
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < W; ++j)
                assert_true(x[i][j] == -2 * (float)(((double)(i + 1) * (i + 1) + (double)j * (i + 1)) / 2));
        wf_release(a), wf_release(twice);
    }
}

/* Scans of a stored array whose results are used part by part, in place; and uses that would overwrite the array too
 * early. */
static void test_used(void **state)
{
    (void)state;
    enum { N = 50000 };
    static float x[N];
    for (int threads = 1; threads <= 2; ++threads)
        for (int how = 0; how < 4; ++how) {
            static const int fused[] = { 1, 0, 0, 1 };
            wf_set_threads(ctx, threads);
            wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *b = NULL;
            fused_kernels();
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_in(g, a), s = wf_scan(WF_JOIN_ADD, v, 0, false, how == 3);
            if (how == 1) /* from the other end */
                s = wf_reverse(s, 0);
            if (how == 2) /* twice */
                b = wf_keep(wf_reverse(wf_mul(s, 3), 0));
            wf_out(g, a, wf_add(wf_mul(s, 2), v));
            OK(ctx, wf_run(g));
            int n = fused_kernels();
            if (n >= 0 && n != fused[how])
                fail_msg("case %d: %d kernels ran with the one before", how, n);
            OK(ctx, wf_download(a, x, sizeof x));
            for (int i = 0; i < N; ++i)
                assert_true(x[i] == 2 * (float)(how & 1 ? N - i : i + 1) + 1);
            if (b)
                OK(ctx, wf_download(b, x, sizeof x));
            for (int i = 0; b && i < N; ++i)
                assert_true(x[i] == 3 * (float)(N - i));
            wf_release(a), wf_release(b);
        }
}

/* Several scans of values that could be computed together. */
static void test_several(void **state)
{
    (void)state;
    enum { N = 40000 };
    static float x[N], y[2 * N];
    wf_set_threads(ctx, 2);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *b = wf_array_arange(ctx, WF_F32, N, 0, 1);
    fused_kernels();
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), w = wf_in(g, b);
    wf_array *one = wf_keep(wf_scan(WF_JOIN_ADD, wf_mul(v, 2), 0, false, false)),
             *two = wf_keep(wf_scan(WF_JOIN_MAX, wf_mul(v, w), 0, false, false)),
             *pairs = wf_keep(wf_scan(WF_JOIN_ADD, wf_complex(v, wf_add(v, 1)), 0, false, true));
    OK(ctx, wf_run(g));
    int fused = fused_kernels();
    if (fused >= 0) /* three, one of the pairs' parts being an array; and what the pairs are made by */
        assert_int_equal(fused, 4);
    OK(ctx, wf_download(one, x, sizeof x));
    OK(ctx, wf_download(two, y, N * sizeof *y));
    for (int i = 0; i < N; ++i)
        assert_true(x[i] == 2 * (float)(i + 1) && y[i] == (float)i);
    OK(ctx, wf_download(pairs, y, sizeof y));
    for (int i = 0; i < N; ++i)
        assert_true(y[2 * i] == (float)(N - i) && y[2 * i + 1] == 2 * (float)(N - i));
    wf_array *all[] = { a, b, one, two, pairs };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

/* A value that is costly to compute is computed first, by all threads. */
static void test_costly(void **state)
{
    (void)state;
    wf_kernel_info info[4] = { { .size = sizeof *info } };
    wf_set_threads(ctx, 2);
    wf_array *a = wf_array_arange(ctx, WF_F32, 1000, 0, 0.01);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    for (int i = 0; i < 10; ++i)
        v = wf_sin(wf_add(v, i));
    wf_array *s = wf_keep(wf_scan(WF_JOIN_MIN, v, 0, false, false));
    OK(ctx, wf_run(g));
    assert_int_equal(wf_history(ctx, info, 4) > 1, true);
    for (int k = 0; k < 2; ++k)
        assert_false(info[k].fused);
    wf_release(a), wf_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_in_place), cmocka_unit_test(test_columns_in_place),
        cmocka_unit_test(test_used),   cmocka_unit_test(test_several),  cmocka_unit_test(test_costly),
    };
    return RUN_WITH_HISTORY(tests);
}
