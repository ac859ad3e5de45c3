/* test_reduce_axes.c - reductions over every subset of the axes of random arrays (permuted, padded, reversed,
 * broadcast, empty) beside plain C: every join and dtype, array graphs and index spaces, WF_SECTION_POST with indices.
 * Any number of threads, any vector width and the interpreter give the same bits.
 *
 * ctest: devices values
 */
#include "on_devices.h"
#include "ir/ir.h"
#include "test_eval.h"

enum { MOST = 20000 };
static uint64_t seed = 1;
static int64_t below(int64_t n) { return (int64_t)(test_random(&seed) % (uint64_t)n); }

static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX,
                                 WF_JOIN_AND, WF_JOIN_OR,  WF_JOIN_XOR };
enum { JOINS = sizeof joins / sizeof *joins };

static bool joinable(wf_join join, wf_dtype t) { return wf__types_allow(wf__op_table[wf__join_op(join)].types, t); }

static int64_t points(const wf_shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; ++d)
        n *= s->dim[d];
    return n;
}

static wf_shape random_shape(int rank)
{
    static const int64_t dims[] = { 1, 1, 2, 3, 4, 5, 7, 9, 15, 16, 17, 31, 32, 33, 65, 130, 300, 1000, 0 };
    wf_shape s = { .rank = rank };
    int64_t left = MOST;
    for (int d = 0; d < rank; ++d) {
        s.dim[d] = dims[below(below(15) == 0 ? 19 : 18)];
        s.dim[d] = s.dim[d] > left ? 2 : s.dim[d];
        left /= s.dim[d] > 0 ? s.dim[d] : 1;
    }
    return s;
}

static wf_shape kept_shape(const wf_shape *s, wf_axes axes)
{
    wf_shape kept = *s;
    for (int d = 0; d < s->rank; ++d)
        kept.dim[d] = axes >> d & 1 ? 1 : s->dim[d];
    return kept;
}

/* Elements whose sums and products are exact in any order; `rough`: any finite ones. */
static void *elements(wf_dtype t, int64_t n, wf_join join, bool rough)
{
    size_t size = wf_dtype_size(t);
    char *data = malloc((size_t)n * size + 1);
    assert_non_null(data);
    for (int64_t i = 0; i < n; ++i) {
        uint64_t bits = test_random(&seed), out = 0;
        double x = join == WF_JOIN_MUL ? (bits & 1 ? -1 : 1) : (double)(int64_t)(bits % 15) - 7;
        if (rough)
            x = join == WF_JOIN_MUL ? 1 + (double)(int64_t)(bits >> 40) * 0x1p-30
                                    : (double)(int64_t)(bits >> 40) / 1024 - 5000;
        if (t == WF_BOOL)
            out = bits & 1;
        else if (t >= WF_F16 || join == WF_JOIN_ADD || join == WF_JOIN_MUL)
            wf__eval_cast(t, WF_F64, &out, &x, 1);
        else
            out = bits;
        memcpy(data + (size_t)i * size, &out, size);
    }
    return data;
}

/* An array of this shape somewhere in memory: axes in any order, gaps, some reversed, some broadcast. */
static wf_array *scattered(wf_dtype t, const wf_shape *shape, wf_join join, bool rough)
{
    int rank = shape->rank, order[WF_MAX_RANK], axes[WF_MAX_RANK];
    wf_shape whole = { .rank = rank };
    bool repeats = below(5) == 0, plain = below(3) == 0;
    for (int k = 0; k < rank; ++k) {
        int at = plain ? k : (int)below(k + 1);
        order[k] = order[at];
        order[at] = k;
    }
    wf_shape narrow = *shape;
    for (int d = 0; d < rank && repeats; ++d)
        narrow.dim[d] = below(2) ? 1 : shape->dim[d];
    for (int k = 0; k < rank; ++k) {
        axes[order[k]] = k;
        whole.dim[k] = narrow.dim[order[k]] + (plain ? 0 : below(3));
    }
    void *data = elements(t, points(&whole), join, rough);
    wf_array *a = array_of(ctx, t, whole, data), *v = wf_view_permute(a, axes);
    free(data);
    wf_release(a);
    for (int d = 0; d < rank; ++d) {
        int64_t n = narrow.dim[d];
        a = v;
        v = !plain && n && below(4) == 0 ? wf_view_slice(a, d, n - 1, WF_END_INDEX, -1) : wf_view_slice(a, d, 0, n, 1);
        wf_release(a);
    }
    a = wf_view_broadcast(v, *shape);
    assert_non_null(a);
    wf_release(v);
    return a;
}

/* The result of wf_reduce: its dtype, and its elements in C order, joined one after the other. */
static wf_dtype result_dtype(wf_join join, wf_dtype t)
{
    bool widens = (join == WF_JOIN_ADD || join == WF_JOIN_MUL) && t < WF_F16;
    return !widens ? t : t == WF_BOOL || wf__is_signed(t) ? WF_I64 : WF_U64;
}

static void *reference(wf_array *a, wf_join join, wf_axes axes, wf_dtype to)
{
    wf_shape shape = wf_array_shape(a), kept = kept_shape(&shape, axes);
    wf_dtype t = wf_array_dtype(a), wide = wf__is_half(to) || to == WF_F32 ? WF_F64 : to;
    if (join > WF_JOIN_MUL)
        wide = to;
    int64_t n = points(&kept), index[WF_MAX_RANK] = { 0 };
    uint64_t *acc = malloc(((size_t)n + 1) * sizeof *acc);
    char *data = contents(a), *out = malloc((size_t)n * wf_dtype_size(to) + 1);
    assert_true(acc && out);
    bool nothing = points(&shape) == 0;
    for (int64_t i = 0; i < n; ++i)
        acc[i] = nothing && join == WF_JOIN_ADD ? 0 : wf__join_neutral(join, wide);
    for (int64_t i = 0; i < points(&shape); ++i, advance(&shape, index)) {
        int64_t at = 0;
        uint64_t x = 0, y = 0;
        for (int d = 0; d < shape.rank; ++d)
            at = at * kept.dim[d] + (axes >> d & 1 ? 0 : index[d]);
        memcpy(&x, data + (size_t)i * wf_dtype_size(t), wf_dtype_size(t));
        wf__eval_cast(wide, t, &y, &x, 1);
        acc[at] = test_eval(wf__join_op(join), wide, acc[at], y, y);
    }
    for (int64_t i = 0; i < n; ++i)
        wf__eval_cast(to, wide, out + (size_t)i * wf_dtype_size(to), &acc[i], 1);
    free(acc);
    free(data);
    return out;
}

static void expect_elements(wf_array *got, const void *want, const char *what, const wf_shape *shape, wf_axes axes)
{
    char *data = contents(got), text[160];
    int64_t at = first_difference(wf_array_dtype(got), data, want, wf_array_count(got));
    if (at >= 0) {
        wf_shape_text(shape, text, sizeof text);
        print_error("%s: %s of shape %s, axes 0x%x: element %lld differs\n", what, wf_dtype_name(wf_array_dtype(got)),
                    text, (unsigned)axes, (long long)at);
        fail();
    }
    free(data);
}

static wf_val join_values(wf_join join, wf_val a, wf_val b)
{
    return join == WF_JOIN_ADD   ? wf_add(a, b)
           : join == WF_JOIN_MUL ? wf_mul(a, b)
           : join == WF_JOIN_MIN ? wf_min(a, b)
           : join == WF_JOIN_MAX ? wf_max(a, b)
           : join == WF_JOIN_AND ? wf_and(a, b)
           : join == WF_JOIN_OR  ? wf_or(a, b)
                                 : wf_xor(a, b);
}

/* In an array graph. */
static wf_array *lazily(wf_array *a, wf_join join, wf_axes axes)
{
    wf_graph *g = wf_begin(ctx);
    wf_array *out = wf_keep(wf_reduce(join, wf_in(g, a), axes));
    OK(ctx, wf_run(g));
    return out;
}

/* As a reducing recording, over an index space or element by element; reduced axes of extent 1 or left out. */
static wf_array *recorded(wf_array *a, wf_join join, wf_axes axes, bool indexed, bool drop)
{
    wf_shape shape = wf_array_shape(a), kept = kept_shape(&shape, axes), small = { 0 };
    wf_dtype to = result_dtype(join, wf_array_dtype(a));
    for (int d = 0; d < shape.rank; ++d)
        if (!(axes >> d & 1))
            small.dim[small.rank++] = shape.dim[d];
    wf_array *out = wf_empty_with(ctx, to, drop ? small : kept, NULL);
    wf_graph *g = indexed ? wf_begin(ctx, .shape = shape, .reduce = axes) : wf_begin(ctx, .reduce = axes);
    wf_val v;
    if (indexed) {
        wf_val at[WF_MAX_RANK];
        for (int d = 0; d < shape.rank; ++d)
            at[d] = wf_index(g, d);
        v = wf_read_n(g, a, (wf_vals){ at, (size_t)shape.rank });
    } else
        v = wf_in(g, a);
    uint64_t one = wf__join_neutral(join, to);
    wf_val initial = to >= WF_F16 && join != WF_JOIN_ADD && join != WF_JOIN_MUL
                         ? wf_const(g, to, join == WF_JOIN_MIN ? INFINITY : -INFINITY)
                     : to >= WF_F16  ? wf_const(g, to, join == WF_JOIN_MUL)
                     : to == WF_BOOL ? wf_const(g, to, (double)one)
                                     : wf_const_i64(g, to, wf__is_signed(to) ? 0 : (int64_t)one);
    if (to < WF_F16 && to != WF_BOOL && wf__is_signed(to)) {
        int64_t wide;
        wf__eval_cast(WF_I64, to, &wide, &one, 1);
        initial = wf_const_i64(g, to, wide);
    }
    wf_var x = wf_reduced(g, to, initial, join);
    wf_val now = wf_get(x);
    wf_set(x, join_values(join, now, wf_cast(v, wf_val_dtype(now))));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, x);
    OK(ctx, wf_run(g));
    return out;
}

static wf_dtype random_dtype(wf_join join)
{
    for (;;) {
        wf_dtype t = test_dtypes[below(TEST_DTYPES)];
        if (joinable(join, result_dtype(join, t)))
            return t;
    }
}

static void test_every_subset(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round += TEST_EVERY) {
        int rank = 1 + round % 4;
        wf_shape shape = random_shape(rank);
        wf_join join = joins[below(JOINS)];
        wf_dtype t = random_dtype(join);
        wf_array *a = scattered(t, &shape, join, false);
        for (wf_axes axes = 1; axes < 1u << rank; ++axes) {
            wf_dtype to = result_dtype(join, t);
            void *want = reference(a, join, axes, to);
            wf_array *got = lazily(a, join, axes);
            wf_shape kept = kept_shape(&shape, axes), has = wf_array_shape(got);
            assert_int_equal(wf_array_dtype(got), to);
            assert_int_equal(has.rank, rank);
            assert_memory_equal(has.dim, kept.dim, (size_t)rank * sizeof *kept.dim);
            expect_elements(got, want, "array graph", &shape, axes);
            wf_release(got);
            if (!wf__is_half(t) && below(2)) { /* reduced variables of half floats are f32 */
                bool indexed = below(2), drop = below(2);
                got = recorded(a, join, axes, indexed, drop);
                expect_elements(got, want, indexed ? "index space" : "elements", &shape, axes);
                wf_release(got);
            }
            free(want);
        }
        wf_release(a);
    }
}

/* Every join of every dtype, lanes reduced and lanes kept. */
static void test_every_join(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 19, 131 } }, { .rank = 2, .dim = { 70, 3 } } };
    for (int k = 0; k < TEST_DTYPES; k += TEST_EVERY)
        for (int j = 0; j < JOINS; ++j)
            for (int s = 0; s < 2; ++s)
                for (wf_axes axes = 1; axes < 3; ++axes) {
                    wf_dtype t = test_dtypes[k], to = result_dtype(joins[j], t);
                    if (!joinable(joins[j], to))
                        continue;
                    void *data = elements(t, points(&shapes[s]), joins[j], false);
                    wf_array *a = array_of(ctx, t, shapes[s], data), *got = lazily(a, joins[j], axes);
                    void *want = reference(a, joins[j], axes, to);
                    expect_elements(got, want, "every join", &shapes[s], axes);
                    free(want);
                    free(data);
                    wf_release(a);
                    wf_release(got);
                }
}

/* Sums of rough numbers have the same bits however they are computed; and they are close to the truth. */
static void test_same_bits(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 37, 41, 129 } },   { .rank = 2, .dim = { 3, 100003 } },
                                       { .rank = 2, .dim = { 90001, 5 } },      { .rank = 2, .dim = { 20000, 33 } },
                                       { .rank = 4, .dim = { 9, 20, 31, 60 } }, { .rank = 3, .dim = { 300, 700, 3 } },
                                       { .rank = 3, .dim = { 5, 3, 40000 } } };
    static const char *const widths[] = { "", "avx2", "sse4.2" };
    static const int threads[] = { 1, 2, 3, 7 };
    wf_context *others[8];
    int n = 0;
    for (int w = 1; w < 3; ++w) {
        setenv("WEFT_ISA", widths[w], 1);
        others[n++] = test_context(WF_CPU, 2);
    }
    unsetenv("WEFT_ISA");
    for (int i = 0; i < sized(4, 1); ++i)
        others[n++] = test_context(WF_CPU, threads[i]);
    wf_context *mine = ctx;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s += TEST_EVERY) {
        const wf_shape *shape = &shapes[s];
        wf_dtype t = s % 2 ? WF_F32 : WF_F64;
        uint64_t start = seed;
        if (points(shape) > sized(INT64_MAX, 200000))
            continue;
        for (wf_axes axes = 1; axes < (1u << shape->rank) - 1; ++axes) {
            seed = start;
            wf_array *a = scattered(t, shape, WF_JOIN_ADD, true), *sum = lazily(a, WF_JOIN_ADD, axes);
            char *want = contents(sum), *near = reference(a, WF_JOIN_ADD, axes, WF_F64);
            for (int64_t i = 0; i < wf_array_count(sum); ++i) {
                double x = t == WF_F32 ? (double)((float *)want)[i] : ((double *)want)[i], y = ((double *)near)[i];
                assert_true(fabs(x - y) <= (t == WF_F32 ? 1e-7 : 1e-12) * (fabs(y) + 1e6));
            }
            for (int i = 0; i < n; ++i) {
                ctx = others[i];
                seed = start;
                wf_array *b = scattered(t, shape, WF_JOIN_ADD, true), *again = lazily(b, WF_JOIN_ADD, axes);
                expect_elements(again, want, i < 2 ? widths[i + 1] : "threads", shape, axes);
                wf_release(b);
                wf_release(again);
                ctx = mine;
            }
            free(want);
            free(near);
            wf_release(a);
            wf_release(sum);
        }
    }
    for (int i = 0; i < n; ++i)
        wf_context_free(others[i]);
}

/* Several values for each row at once: sum, maximum and count inside a mask; kept axes have an index in
 * WF_SECTION_POST. */
static void test_masked(void **state)
{
    (void)state;
    enum { H = 23, W = 205 };
    float x[H][W], sum[H], most[H];
    int32_t mask[H][W];
    int64_t count[H], number[H];
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j) {
            x[i][j] = (float)below(2001) - 1000;
            mask[i][j] = (int32_t)below(3) - 1;
        }
    for (int along = 0; along < 2; ++along) { /* rows of the array, then columns of its transposed view */
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), x), *m = array_of(ctx, WF_I32, WF_SHAPE(H, W), mask);
        wf_array *out[4] = { wf_empty(ctx, WF_F32, WF_SHAPE(H)), wf_empty(ctx, WF_F32, WF_SHAPE(H)),
                             wf_empty(ctx, WF_I64, WF_SHAPE(H)), wf_empty(ctx, WF_I64, WF_SHAPE(H)) };
        wf_array *at = along ? wf_view_permute(a, (int[]){ 1, 0 }) : wf_retain(a);
        wf_array *mt = along ? wf_view_permute(m, (int[]){ 1, 0 }) : wf_retain(m);
        wf_graph *g = along ? wf_begin(ctx, .shape = WF_SHAPE(W, H), .reduce = WF_AXES(0))
                            : wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_AXES(1));
        wf_var s = wf_reduced(g, WF_F64, 0.5, WF_JOIN_ADD), top = wf_reduced(g, WF_F32, -INFINITY, WF_JOIN_MAX);
        wf_var n = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
        wf_val v = wf_in(g, at), in = wf_gt(wf_in(g, mt), 0);
        wf_inc(s, wf_select(in, v, 0));
        wf_set(top, wf_max(top, wf_select(in, v, -INFINITY)));
        wf_inc(n, wf_cast(in, WF_I64));
        wf_section(g, WF_SECTION_POST);
        wf_val row = wf_index(g, along ? 1 : 0);
        wf_out(g, out[0], wf_add(s, wf_cast(row, WF_F64)));
        wf_out(g, out[1], top);
        wf_out(g, out[2], n);
        wf_out(g, out[3], wf_mul(wf_extent(g, along ? 0 : 1), row));
        OK(ctx, wf_run(g));
        OK(ctx, wf_download(out[0], sum, sizeof sum));
        OK(ctx, wf_download(out[1], most, sizeof most));
        OK(ctx, wf_download(out[2], count, sizeof count));
        OK(ctx, wf_download(out[3], number, sizeof number));
        for (int i = 0; i < H; ++i) {
            double total = 0.5 + i;
            float largest = -INFINITY;
            int64_t inside = 0;
            for (int j = 0; j < W; ++j)
                if (mask[i][j] > 0) {
                    total += (double)x[i][j];
                    largest = x[i][j] > largest ? x[i][j] : largest;
                    ++inside;
                }
            assert_true((double)sum[i] == total && most[i] == largest && count[i] == inside && number[i] == W * i);
        }
        for (int i = 0; i < 4; ++i)
            wf_release(out[i]);
        wf_release(a);
        wf_release(m);
        wf_release(at);
        wf_release(mt);
    }
}

/* Results feed later values: every row minus its mean, over its deviation, in one graph; and a sum of sums. */
static void test_dependent(void **state)
{
    (void)state;
    enum { N = 6, H = 40, W = 50 };
    static float x[N][H][W];
    for (int i = 0; i < N * H * W; ++i)
        (&x[0][0][0])[i] = (float)below(4096);
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N, H, W), x), *norm = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_axes axes = WF_AXES(1, 2);
    wf_val v = wf_in(g, a), d = wf_sub(v, wf_div(wf_sum(v, axes), (double)H * W));
    wf_val var = wf_div(wf_sum(wf_mul(d, d), axes), (double)H * W);
    wf_out(g, norm, wf_div(d, wf_sqrt(var)));
    wf_array *total = wf_keep(wf_sum(wf_sum(wf_sum(v, WF_AXES(0)), WF_AXES(2)), WF_AXES(1)));
    wf_array *columns = wf_keep(wf_reduce(WF_JOIN_MAX, v, WF_AXES(0, 1)));
    OK(ctx, wf_run(g));
    float *y = contents(norm), *most = contents(columns);
    double all = 0;
    for (int n = 0; n < N; ++n) {
        double mean = 0, square = 0;
        for (int i = 0; i < H * W; ++i) {
            mean += (double)y[n * H * W + i];
            square += (double)y[n * H * W + i] * (double)y[n * H * W + i];
            all += (double)x[n][i / W][i % W];
        }
        assert_true(fabs(mean / (H * W)) < 1e-6 && fabs(square / (H * W) - 1) < 1e-5);
    }
    assert_true((double)scalar_f32(total) == (double)(float)all);
    for (int j = 0; j < W; ++j) {
        float want = 0;
        for (int i = 0; i < N * H; ++i)
            want = x[i / H][i % H][j] > want ? x[i / H][i % H][j] : want;
        assert_true(most[j] == want);
    }
    free(y);
    free(most);
    wf_release(a);
    wf_release(norm);
    wf_release(total);
    wf_release(columns);
}

/* A kernel is launched over spaces of other extents, empty ones among them: then results are initial values. */
static void test_kernel(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .reduce = WF_AXES(1), .name = "rows");
    wf_array *x = wf_formal(g, "x", WF_F32, 2), *out = wf_formal(g, "out", WF_F32, 1);
    wf_var s = wf_reduced(g, WF_F32, 3, WF_JOIN_ADD);
    wf_inc(s, wf_mul(wf_in(g, x), wf_param(g, "gain", WF_F32, 2)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, wf_add(s, wf_in(g, out))); /* reads the old contents first */
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    static const int64_t sizes[][2] = { { 4, 100 }, { 1000, 3 }, { 5, 0 }, { 0, 5 }, { 1, 1 }, { 1, 77 }, { 77, 1 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        int64_t h = sizes[i][0], w = sizes[i][1];
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(h, w), 1), *r = wf_full(ctx, WF_F32, WF_SHAPE(h), 10);
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a), WF_ARG("out", r), WF_ARG("gain", 5.0))));
        float *got = contents(r);
        for (int64_t n = 0; n < h; ++n)
            assert_true(got[n] == 13 + 5 * (float)w);
        free(got);
        wf_release(a);
        wf_release(r);
    }
    wf_kernel_free(k);
}

/* Reduced variables in loops, with the lanes along the reduced axis and along the kept one. */
static void test_loops(void **state)
{
    (void)state;
    enum { H = 45, W = 61 };
    for (int axis = 0; axis < 2; ++axis) {
        int64_t kept = axis ? H : W, got[H > W ? H : W];
        wf_array *x = wf_full(ctx, WF_I32, WF_SHAPE(H, W), 1), *out = wf_empty(ctx, WF_I64, WF_SHAPE(kept));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = 1u << axis);
        wf_var total = wf_reduced(g, WF_I64, 7, WF_JOIN_ADD);
        wf_val i = wf_index(g, 0), j = wf_index(g, 1), k, v = wf_cast(wf_in(g, x), WF_I64);
        WF_FOR (g, k, 0, wf_mod(wf_add(i, j), 5), 1) {
            wf_inc(total, wf_mul(wf_add(k, v), i));
        }
        WF_END(g);
        wf_section(g, WF_SECTION_POST);
        wf_out(g, out, total);
        OK(ctx, wf_run(g));
        OK(ctx, wf_download(out, got, (size_t)kept * sizeof *got));
        for (int64_t n = 0; n < kept; ++n) {
            int64_t want = 7;
            for (int64_t m = 0; m < (axis ? W : H); ++m)
                for (int64_t y = axis ? n : m, t = 0; t < (n + m) % 5; ++t)
                    want += (t + 1) * y;
            assert_int_equal(got[n], want);
        }
        wf_release(x);
        wf_release(out);
    }
}

static void test_complex_sums(void **state)
{
    (void)state;
    enum { H = 9, W = 70 };
    float x[H][W][2], want[H][2] = { { 0 } }, columns[W][2] = { { 0 } };
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j)
            for (int k = 0; k < 2; ++k) {
                x[i][j][k] = (float)below(100);
                want[i][k] += x[i][j][k];
                columns[j][k] += x[i][j][k];
            }
    wf_array *a = array_of(ctx, WF_C64, WF_SHAPE(H, W), x);
    wf_graph *g = wf_begin(ctx);
    wf_array *rows = wf_keep(wf_sum(wf_in(g, a), WF_AXES(1))), *cols = wf_keep(wf_sum(wf_in(g, a), WF_AXES(0)));
    OK(ctx, wf_run(g));
    float *r = contents(rows), *c = contents(cols);
    assert_memory_equal(r, want, sizeof want);
    assert_memory_equal(c, columns, sizeof columns);
    free(r);
    free(c);
    wf_release(a);
    wf_release(rows);
    wf_release(cols);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 3), 1), *wrong = wf_empty(ctx, WF_F32, WF_SHAPE(3)),
             *long_one = wf_empty(ctx, WF_F32, WF_SHAPE(3, 2));
    wf_graph *g = wf_begin(ctx);
    wf_sum(wf_in(g, a), WF_AXES(2));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "the mask 0x4 names axes beyond those of the shape (2, 3)");
    g = wf_begin(ctx);
    wf_sum(wf_in(g, a), 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "names no axis");
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 3), .reduce = WF_AXES(0, 2));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "names axes beyond the 2 of the space");
    g = wf_begin(ctx, .reduce = WF_AXES(3));
    wf_var s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(s, wf_in(g, a));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "(2, 3)");
    g = wf_begin(ctx, .shape = WF_SHAPE(2, 3), .reduce = WF_AXES(1));
    s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(s, wf_in(g, a));
    wf_section(g, WF_SECTION_POST);
    wf_index(g, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "axis 1 is reduced");
    for (int i = 0; i < 2; ++i) {
        g = wf_begin(ctx, .shape = WF_SHAPE(2, 3), .reduce = WF_AXES(1));
        s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
        wf_inc(s, wf_in(g, a));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, i ? long_one : wrong, s);
        REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, i ? "of shape (3, 2)" : "of shape (3)");
    }
    wf_release(a);
    wf_release(wrong);
    wf_release(long_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subset), cmocka_unit_test(test_every_join), cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_masked),       cmocka_unit_test(test_dependent),  cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_complex_sums), cmocka_unit_test(test_loops),      cmocka_unit_test(test_refused),
    };
    return RUN_ON_ALL(tests);
}
