/* test_accumulate.c - accumulation into elements that many points share: every join, dtype and mode beside plain C,
 * with one thread, several threads and in the interpreter. Masks, tails, collisions, private copies, errors.
 *
 * ctest: devices threads values
 */
#include "accumulate.h"

static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX,
                                 WF_JOIN_AND, WF_JOIN_OR,  WF_JOIN_XOR };

/* ---- the model: integers in 64 bits, truncated to their size, and floats in doubles, which stay exact ---- */
static uint64_t cut(wf_dtype t, uint64_t x)
{
    size_t bits = 8 * wf_dtype_size(t);
    if (t == WF_BOOL)
        return x & 1;
    bool is_signed = t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64;
    x <<= 64 - bits;
    return is_signed ? (uint64_t)((int64_t)x >> (64 - bits)) : x >> (64 - bits);
}

static bool below(wf_dtype t, uint64_t a, uint64_t b)
{
    bool is_signed = t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64;
    return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t join_int(wf_join join, wf_dtype t, uint64_t a, uint64_t b)
{
    switch (join) {
    case WF_JOIN_ADD:
        return cut(t, a + b);
    case WF_JOIN_MUL:
        return cut(t, a * b);
    case WF_JOIN_MIN:
        return below(t, b, a) ? b : a;
    case WF_JOIN_MAX:
        return below(t, a, b) ? b : a;
    case WF_JOIN_AND:
        return a & b;
    case WF_JOIN_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static double join_float(wf_join join, double a, double b)
{
    return join == WF_JOIN_ADD   ? a + b
           : join == WF_JOIN_MUL ? a * b
           : join == WF_JOIN_MIN ? (b < a ? b : a)
                                 : (b > a ? b : a);
}

/* Accumulates n points into an array of `bins` elements: point i into bin[i], if on[i]. `masked`: with the condition,
 * and with wild indices where it is false. */
static void check(wf_join join, wf_mode mode, wf_dtype t, int64_t n, int64_t bins, bool masked, uint64_t seed)
{
    int64_t *bin = malloc((size_t)n * sizeof *bin), *value = malloc((size_t)n * sizeof *value);
    int64_t *first = malloc((size_t)bins * sizeof *first), *want = malloc((size_t)bins * sizeof *want);
    double *sum = malloc((size_t)bins * sizeof *sum);
    bool *on = malloc((size_t)n + 1);
    assert_true(bin && value && first && want && sum && on);
    for (int64_t k = 0; k < bins; ++k) {
        first[k] = number(join, t, test_random(&seed));
        want[k] = (int64_t)cut(t, (uint64_t)first[k]);
        sum[k] = (double)first[k];
        first[k] = is_float(t) ? first[k] : want[k];
    }
    for (int64_t i = 0; i < n; ++i) {
        on[i] = !masked || test_random(&seed) % 3;
        bin[i] = on[i] ? (int64_t)(test_random(&seed) % (uint64_t)bins) : (int64_t)1 << 40;
        value[i] = number(join, t, test_random(&seed));
        if (!on[i])
            continue;
        want[bin[i]] = (int64_t)join_int(join, t, (uint64_t)want[bin[i]], cut(t, (uint64_t)value[i]));
        sum[bin[i]] = join_float(join, sum[bin[i]], (double)value[i]);
        if (!is_float(t))
            value[i] = (int64_t)cut(t, (uint64_t)value[i]);
    }
    wf_array *a_bin = array_of(ctx, WF_I64, WF_SHAPE(n), bin), *a_on = array_of(ctx, WF_BOOL, WF_SHAPE(n), on);
    wf_array *a_value = converted(array_of(ctx, WF_I64, WF_SHAPE(n), value), t);
    wf_array *target = converted(array_of(ctx, WF_I64, WF_SHAPE(bins), first), t);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    if (masked)
        wf_accumulate_if_mode(g, wf_in(g, a_on), join, mode, target, wf_in(g, a_value), wf_in(g, a_bin));
    else
        wf_accumulate_mode(g, join, mode, target, wf_in(g, a_value), wf_in(g, a_bin));
    OK(ctx, wf_run(g));
    wf_array *wide = converted(target, is_float(t) ? WF_F64 : WF_I64);
    void *got = contents(wide);
    int64_t at = first_difference(is_float(t) ? WF_F64 : WF_I64, got, is_float(t) ? (void *)sum : (void *)want, bins);
    if (at >= 0)
        fail_msg("join %d mode %x of %s, %lld points, %lld bins: bin %lld is %lld / %g, not %lld / %g", (int)join,
                 (unsigned)mode, wf_dtype_name(t), (long long)n, (long long)bins, (long long)at,
                 (long long)((int64_t *)got)[at], ((double *)got)[at], (long long)want[at], sum[at]);
    free(got), free(bin), free(value), free(first), free(want), free(sum), free(on);
    wf_release(wide), wf_release(a_bin), wf_release(a_on), wf_release(a_value);
}

static void test_joins(void **state)
{
    (void)state;
    for (size_t j = 0; j < sizeof joins / sizeof *joins; ++j)
        for (int t = 0; t < TEST_DTYPES; t += TEST_EVERY)
            for (int m = 0; m < 4; ++m)
                if (joinable(joins[j], test_dtypes[t])) {
                    check(joins[j], modes[m], test_dtypes[t], 517, 7, m % 2, j + 100);
                    check(joins[j], modes[m], test_dtypes[t], 67, 1, m % 2 == 0, j + 200);
                }
}

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t points[] = { 1, 2, 15, 17, 100, 4099, 70001 }, bins[] = { 1, 3, 100, 20000 };
    for (size_t p = 0; p < sizeof points / sizeof *points; ++p)
        for (size_t b = p % TEST_EVERY; b < sizeof bins / sizeof *bins; b += TEST_EVERY)
            for (int m = 0; m < 4; ++m) {
                check(WF_JOIN_ADD, modes[m], WF_U32, points[p], bins[b], false, p + b);
                check(WF_JOIN_ADD, modes[m], WF_F32, points[p], bins[b], true, p + b);
            }
}

static void test_many_threads(void **state)
{
    (void)state;
    if (wf_get_threads(ctx) < 2)
        skip();
    static const int threads[] = { 1, 2, 3, 7 };
    for (int k = TEST_RACES ? 2 : 0; k < 4; ++k) {
        wf_set_threads(ctx, threads[k]);
        for (int m = 0; m < 4; ++m) {
            check(WF_JOIN_ADD, modes[m], WF_I64, 300007, 5, false, 1);
            check(WF_JOIN_ADD, modes[m], WF_F64, 300007, 700, true, 2);
            check(WF_JOIN_MAX, modes[m], WF_F32, 300007, 40, false, 3);
            check(WF_JOIN_XOR, modes[m], WF_U8, 300007, 1000, true, 4);
            check(WF_JOIN_MUL, modes[m], WF_I16, 300007, 3, false, 5);
            check(WF_JOIN_ADD, modes[m], WF_U32, 300007, 60000, false, 6);
        }
    }
    wf_set_threads(ctx, 2);
}

/* ---- shapes of index ---- */
static float *floats(int64_t n, uint64_t seed, double scale)
{
    float *x = malloc((size_t)n * sizeof *x + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = (float)(((double)(test_random(&seed) >> 11) * 0x1p-53 - 0.5) * scale);
    return x;
}

/* A histogram for each of n rows. */
static void test_batched(void **state)
{
    (void)state;
    enum { N = 5, W = 3001, B = 37 };
    for (int m = 0; m < 4; ++m) {
        float *x = floats(N * W, 7, 1.0);
        int32_t want[N * B] = { 0 };
        for (int i = 0; i < N * W; ++i) {
            int bin = (int)((x[i] + 0.5f) * B);
            want[i / W * B + (bin < 0 ? 0 : bin > B - 1 ? B - 1 : bin)]++;
        }
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N, W), x), *h = wf_full(ctx, WF_I32, WF_SHAPE(N, B), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N, W));
        wf_val bin = wf_cast(wf_mul(wf_add(wf_in(g, a), 0.5), B), WF_I32);
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], h, 1, wf_index(g, 0), wf_max(wf_min(bin, B - 1), 0));
        OK(ctx, wf_run(g));
        int32_t *got = contents(h);
        assert_memory_equal(got, want, sizeof want);
        free(got), free(x);
        wf_release(a), wf_release(h);
    }
}

/* The index is the same along a row, or runs along it, forwards and backwards, or is the point's own. */
static void test_uniform_and_affine(void **state)
{
    (void)state;
    enum { H = 37, W = 301 };
    for (int m = 0; m < 4; ++m)
        for (int t = 0; t < 2; ++t) {
            wf_dtype dtype = t ? WF_F64 : WF_I64;
            int64_t x[H * W];
            uint64_t seed = 3;
            for (int i = 0; i < H * W; ++i)
                x[i] = (int64_t)(test_random(&seed) % 1000) - 500;
            wf_array *a = converted(array_of(ctx, WF_I64, WF_SHAPE(H, W), x), dtype);
            wf_array *rows = wf_full(ctx, dtype, WF_SHAPE(H), 1), *columns = wf_full(ctx, dtype, WF_SHAPE(W), 2);
            wf_array *own = wf_full(ctx, dtype, WF_SHAPE(H, W), 3), *back = wf_full(ctx, dtype, WF_SHAPE(W), 4);
            wf_array *all = wf_full(ctx, dtype, WF_SCALAR, 5);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
            wf_val y = wf_index(g, 0), i = wf_index(g, 1), v = wf_in(g, a);
            wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], rows, v, y);
            wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], columns, v, i);
            wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], own, v, y, i);
            wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], back, v, wf_sub(W - 1, i));
            wf_accumulate_n(g, WF_JOIN_ADD, modes[m], all, v, (wf_vals){ NULL, 0 });
            wf_accumulate_if_mode(g, wf_gt(v, 0), WF_JOIN_ADD, modes[m], rows, 1000, y);
            OK(ctx, wf_run(g));
            int64_t *r = contents(rows = converted(rows, WF_I64)), *c = contents(columns = converted(columns, WF_I64));
            int64_t *o = contents(own = converted(own, WF_I64)), *b = contents(back = converted(back, WF_I64));
            int64_t *s = contents(all = converted(all, WF_I64));
            int64_t row[H], column[W], sum = 5;
            for (int k = 0; k < H; ++k)
                row[k] = 1;
            for (int k = 0; k < W; ++k)
                column[k] = 0;
            for (int k = 0; k < H * W; ++k) {
                row[k / W] += x[k] + (x[k] > 0 ? 1000 : 0);
                column[k % W] += x[k];
                sum += x[k];
                assert_int_equal(o[k], x[k] + 3);
            }
            for (int k = 0; k < H; ++k)
                assert_int_equal(r[k], row[k]);
            for (int k = 0; k < W; ++k) {
                assert_int_equal(c[k], column[k] + 2);
                assert_int_equal(b[W - 1 - k], column[k] + 4);
            }
            assert_int_equal(*s, sum);
            free(r), free(c), free(o), free(b), free(s);
            wf_release(a), wf_release(rows), wf_release(columns), wf_release(own), wf_release(back), wf_release(all);
        }
}

/* Elements of a view, transposed and reversed; the rest of the memory keeps its contents. */
static void test_views(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        int32_t memory[12 * 10], want[12 * 10];
        for (int k = 0; k < 120; ++k)
            want[k] = memory[k] = k;
        wf_array *whole = array_of(ctx, WF_I32, WF_SHAPE(12, 10), memory);
        wf_array *part = wf_view_slice(whole, 0, 1, 11, 3), *turned = wf_view_permute(part, (const int[]){ 1, 0 });
        wf_graph *g =
            wf_begin(ctx, .shape = WF_SHAPE(1000)); /* transposed: (10, 4), element (x, y) is memory[1 + 3 y][x] */
        wf_val i = wf_index(g, 0), x = wf_mod(wf_mul(i, 7), 10), y = wf_mod(wf_mul(i, i), 4);
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], turned, i, x, y);
        OK(ctx, wf_run(g));
        for (int k = 0; k < 1000; ++k)
            want[(1 + 3 * (k * k % 4)) * 10 + k * 7 % 10] += k;
        int32_t *got = contents(whole);
        assert_memory_equal(got, want, sizeof want);
        free(got);
        wf_release(whole), wf_release(part), wf_release(turned);
    }
}

static void test_complex(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        enum { N = 1003, B = 9 };
        float z[2 * N], want[2 * B] = { 0 };
        for (int i = 0; i < N; ++i) {
            z[2 * i] = (float)(i % 17), z[2 * i + 1] = (float)(i % 23) - 11;
            want[2 * (i % B)] += z[2 * i], want[2 * (i % B) + 1] += z[2 * i + 1];
        }
        wf_array *a = array_of(ctx, WF_C64, WF_SHAPE(N), z), *sum = wf_full(ctx, WF_C64, WF_SHAPE(B), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], sum, wf_in(g, a), wf_mod(wf_index(g, 0), B));
        OK(ctx, wf_run(g));
        float *got = contents(sum);
        assert_memory_equal(got, want, sizeof want);
        free(got);
        wf_release(a), wf_release(sum);
    }
}

/* ---- floats: the same bits whoever computes them ---- */
static void float_sums(wf_context *on, wf_dtype dtype, int64_t bins, const float *x, int64_t n, void *out)
{
    enum { LARGE = (1 << 20) + 3, BESIDE = 300 }; /* few bins, and many: bits set in an array of 1 MiB */
    wf_context *before = ctx;
    ctx = on;
    wf_array *a = array_of(on, WF_F32, WF_SHAPE(n), x), *sum = wf_full(on, dtype, WF_SHAPE(bins), 0.25);
    wf_graph *g = wf_begin(on, .shape = WF_SHAPE(n));
    wf_val i = wf_index(g, 0), v = wf_in(g, a);
    wf_accumulate(g, WF_JOIN_ADD, sum, v, wf_mod(wf_mul(i, 2654435761), (double)bins));
    wf_accumulate_if(g, wf_lt(v, 0), WF_JOIN_ADD, sum, 0.1, wf_mod(i, (double)bins)); /* after the others */
    wf_array *set = bins == BESIDE ? wf_full(on, WF_U8, WF_SHAPE(LARGE), 0) : NULL;
    if (set)
        wf_accumulate_mode(g, WF_JOIN_OR, WF_MODE_EXPAND, set, 1, wf_mod(wf_mul(i, 48271), LARGE));
    OK(on, wf_run(g));
    OK(on, wf_download(sum, out, (size_t)bins * wf_dtype_size(dtype)));
    wf_release(a), wf_release(sum), wf_release(set);
    ctx = before;
}

static void test_reproducible(void **state)
{
    (void)state;
    if (is_on_gpu()) /* there the order of sums is unspecified */
        skip();
    enum { N = 300007, MOST = 20000 };
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_F16, WF_C64 };
    static const int64_t bins[] = { 1, 300, MOST };
    static const char *const isa[] = { "", "avx2", "sse4.2" };
    float *x = floats(N, 11, 3.0);
    double want[2 * MOST], got[2 * MOST];
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t += TEST_RACES ? 5 : 1)
        for (size_t b = 0; b < sizeof bins / sizeof *bins; ++b) {
            size_t bytes = (size_t)bins[b] * wf_dtype_size(dtypes[t]);
            float_sums(ctx, dtypes[t], bins[b], x, N, want);
            for (int threads = 1; threads <= 7; threads += 2)
                for (int w = 0; w < (threads == 3 ? 3 : 1); ++w) {
                    if (*isa[w])
                        setenv("WEFT_ISA", isa[w], 1);
                    wf_context *other = test_context(WF_CPU, threads);
                    unsetenv("WEFT_ISA");
                    float_sums(other, dtypes[t], bins[b], x, N, got);
                    if (memcmp(want, got, bytes))
                        fail_msg("%s, %lld bins, %d threads %s", wf_dtype_name(dtypes[t]), (long long)bins[b], threads,
                                 isa[w]);
                    wf_context_free(other);
                }
        }
    free(x);
}

/* Several updates of a large array by one join, which share its memory, and one by another join that does not: sums of
 * whole numbers are exact in any order. */
static void test_several(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F32, WF_C64, WF_I32 };
    int64_t n = sized(400000, 3000), points = sized(300000, 2000);
    for (int t = 0; t < 3; t += TEST_RACES ? 2 : 1)
        for (int by_hand = 0; by_hand < 2; ++by_hand) {
            double *want = calloc((size_t)n, sizeof *want);
            wf_array *a = wf_full(ctx, dtypes[t], WF_SHAPE(n), 2);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(points));
            wf_val i = wf_index(g, 0), k;
            for (int tap = 0; tap < 5; ++tap) {
                wf_val at = wf_mod(wf_add(wf_mul(i, 7919), tap * 3), (double)n);
                wf_mode mode = tap == 4 && by_hand ? WF_MODE_DIRECT : WF_MODE_AUTO;
                wf_accumulate_if_n(g, wf_gt(wf_mod(i, 5), tap), WF_JOIN_ADD, mode, a, wf_cast(WF_V(tap + 1), WF_F32),
                                   WF_VALS(at));
            }
            WF_FOR (g, k, 0, wf_mod(i, 3), 1) {
                wf_accumulate(g, WF_JOIN_ADD, a, 1, wf_mod(wf_add(i, k), (double)n));
            }
            WF_END(g);
            OK(ctx, wf_run(g));
            for (int64_t p = 0; p < points; ++p) {
                for (int tap = 0; tap < 5; ++tap)
                    want[(p * 7919 + tap * 3) % n] += p % 5 > tap ? tap + 1 : 0;
                for (int64_t turn = 0; turn < p % 3; ++turn)
                    want[(p + turn) % n] += 1;
            }
            double *got = contents_as(a, WF_C128);
            for (int64_t e = 0; e < n; ++e)
                if (got[2 * e] != want[e] + 2 || got[2 * e + 1] != 0)
                    fail_msg("%s: element %lld is %g, not %g", wf_dtype_name(dtypes[t]), (long long)e, got[2 * e],
                             want[e] + 2);
            wf_release(a);
            free(got);
            free(want);
        }
}

static void test_nan(void **state)
{
    (void)state;
    float x[100];
    for (int i = 0; i < 100; ++i)
        x[i] = i == 41 ? NAN : (float)i;
    for (int j = WF_JOIN_ADD; j <= WF_JOIN_MAX; ++j)
        for (int m = 0; m < 4; ++m) {
            wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(100), x), *sum = wf_full(ctx, WF_F32, WF_SHAPE(10), 1);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100));
            wf_accumulate_mode(g, j, modes[m], sum, wf_in(g, a), wf_mod(wf_index(g, 0), 10));
            OK(ctx, wf_run(g));
            float *got = contents(sum);
            for (int k = 0; k < 10; ++k)
                assert_true(isnan(got[k]) == (k == 1));
            free(got);
            wf_release(a), wf_release(sum);
        }
}

/* A read sees what the array held before the accumulation, wherever the read stands. */
static void test_reads(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        int32_t first[50], *got;
        for (int k = 0; k < 50; ++k)
            first[k] = k * k;
        wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(50), first), *before = wf_empty(ctx, WF_I32, WF_SHAPE(50)),
                 *after = wf_empty(ctx, WF_I32, WF_SHAPE(50));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(50));
        wf_val i = wf_index(g, 0);
        wf_out(g, before, wf_read(g, a, i));
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], a, wf_read(g, a, wf_sub(49, i)), wf_mod(i, 5));
        wf_out(g, after, wf_read(g, a, i));
        OK(ctx, wf_run(g));
        got = contents(before);
        assert_memory_equal(got, first, sizeof first);
        free(got);
        got = contents(after);
        assert_memory_equal(got, first, sizeof first);
        free(got);
        got = contents(a);
        int32_t want[50];
        memcpy(want, first, sizeof want);
        for (int k = 0; k < 50; ++k)
            want[k % 5] += first[49 - k];
        assert_memory_equal(got, want, sizeof want);
        free(got);
        wf_release(a), wf_release(before), wf_release(after);
    }
}

/* In conditions only active lanes accumulate, in loops each turn does. */
static void test_blocks(void **state)
{
    (void)state;
    enum { N = 70001, B = 11 };
    for (int m = 0; m < 4; ++m) {
        wf_array *h = wf_full(ctx, WF_I32, WF_SHAPE(B), 0), *c = wf_full(ctx, WF_I64, WF_SHAPE(2), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0), k;
        WF_IF (g, wf_lt(wf_mod(i, 4), 3)) {
            WF_FOR (g, k, 0, wf_mod(i, 5), 1) {
                wf_accumulate_if_mode(g, wf_ne(k, 2), WF_JOIN_ADD, modes[m], h, wf_add(k, 1), wf_mod(wf_add(i, k), B));
                wf_atomic(g, WF_JOIN_INC, c, 0, 0);
            }
            WF_END(g);
        }
        WF_ELSE(g) { wf_cas(g, c, 0, 5, 1); }
        WF_END(g);
        OK(ctx, wf_run(g));
        int32_t want[B] = { 0 }, *x = contents(h);
        int64_t turns = 0, *y = contents(c);
        for (int p = 0; p < N; ++p)
            for (int t = 0; p % 4 < 3 && t < p % 5; ++t, ++turns)
                want[(p + t) % B] += t == 2 ? 0 : t + 1;
        assert_memory_equal(x, want, sizeof want);
        assert_int_equal(y[0], turns);
        assert_int_equal(y[1], 5);
        free(x), free(y);
        wf_release(h), wf_release(c);
    }
}

/* wf_write by index arrays: a permutation, then through its own result, broadcast over rows. */
/* ---- edges and errors ---- */
static void test_nothing(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 7), *none = wf_empty(ctx, WF_F32, WF_SHAPE(0));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(0));
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], a, 1, wf_index(g, 0));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx, .shape = WF_SHAPE(1000));
        wf_accumulate_if_mode(g, wf_lt(wf_index(g, 0), 0), WF_JOIN_ADD, modes[m], none, 1, wf_mod(wf_index(g, 0), 7));
        wf_accumulate_if_mode(g, false, WF_JOIN_ADD, modes[m], a, 1, 1);
        OK(ctx, wf_run(g));
        EXPECT_F32(a, 7, 7, 7);
        wf_release(a), wf_release(none);
    }
}

/* A kernel, launched again and over other sizes. */
static void test_kernel(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
    wf_array *h = wf_formal(g, "h", WF_U16, 1);
    wf_accumulate(g, WF_JOIN_ADD, h, 3, wf_mod(wf_index(g, 0), wf_dim(g, h, 0)));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    for (int n = 1; n < 200000; n *= 7) {
        uint16_t zero[10] = { 0 };
        wf_array *a = array_of(ctx, WF_U16, WF_SHAPE(10), zero);
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("h", a)), .shape = WF_SHAPE(n)));
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("h", a)), .shape = WF_SHAPE(n)));
        uint16_t *x = contents(a);
        for (int i = 0; i < 10; ++i)
            assert_int_equal(x[i], (uint16_t)(6 * ((n - i + 9) / 10)));
        free(x);
        wf_release(a);
    }
    wf_kernel_free(k);
}

static wf_graph *space(void) { return wf_begin(ctx, .shape = WF_SHAPE(8)); }

static void test_errors(void **state)
{
    (void)state;
    wf_array *f = wf_full(ctx, WF_F32, WF_SHAPE(4), 0), *b = wf_full(ctx, WF_BOOL, WF_SHAPE(4), 0);
    wf_array *z = wf_full(ctx, WF_C64, WF_SHAPE(4), 0), *x = wf_full(ctx, WF_F32, WF_SHAPE(8), 0);
    wf_graph *g = space();
    wf_accumulate(g, WF_JOIN_AND, f, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_accumulate: and does not join elements of f32");
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, b, true, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_accumulate: add does not join elements of bool");
    g = space();
    wf_accumulate(g, WF_JOIN_MAX, z, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_accumulate: max does not join elements of c64");
    g = space();
    wf_accumulate(g, WF_JOIN_INC, f, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_accumulate: there is no join");
    g = space();
    wf_accumulate_mode(g, WF_JOIN_ADD, (wf_mode)7, f, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_accumulate: there is no mode 7");
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, f, 1, 0, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_accumulate: 2 indices given for array ");
    wf_array *one = wf_full(ctx, WF_F32, WF_SCALAR, 3);
    g = space();
    wf_read(g, one, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_read: 1 indices given for array 1 of the recording");
    wf_release(one);
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, f, 1, wf_in(g, x));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_accumulate: index 0 is f32, not an integer");
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, NULL, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_accumulate: the array is NULL");
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, f, 1, wf_mod(wf_index(g, 0), 4));
    wf_write(g, f, 1, wf_mod(wf_index(g, 0), 4));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "accumulated into and written in one index space");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_accumulate(g, WF_JOIN_ADD, f, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "only in array graphs and index spaces");
    g = wf_begin(ctx);
    wf_accumulate(g, WF_JOIN_ADD, f, wf_in(g, x), wf_iota(g, WF_SHAPE(5), 0));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "wf_accumulate: shapes (5) and (8) do not");
    g = wf_begin(ctx, .shape = WF_SHAPE(8), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(sum, 1);
    wf_accumulate(g, WF_JOIN_ADD, f, sum, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "before it is complete; store it in section WF_SECTION_POST [operation %");
    wf_release(f), wf_release(b), wf_release(z), wf_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_batched),
        cmocka_unit_test(test_uniform_and_affine),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_complex),
        cmocka_unit_test(test_reproducible),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_errors),
    };
    return RUN_ON_ALL(tests);
}
