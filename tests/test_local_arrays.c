/* test_local_arrays.c - local arrays of each point beside plain C: indices that are numbers, counters and values;
 * loops and conditions, index spaces, array graphs, hooks and operator text; indices outside; errors.
 *
 * ctest: devices baseline
 */
#include "borders.h"
#include "on_devices.h"
#include "with_history.h"

enum { N = 133 };

/* Returns the element that a C array of `length` elements would give after some writes, also for reads outside. */
static int64_t reference(int64_t point, int length)
{
    int64_t w[256] = { 0 }, sum = 0;
    for (int k = 0; k < length; ++k)
        w[k] = k * 3 + point % 5;
    int64_t at = point % (length + 2) - 1; /* also before and behind */
    if (at >= 0 && at < length)
        w[at] = 100 + point;
    if (point % 3 == 0 && (point * 7) % length < length)
        w[point * 7 % length] += 1000;
    for (int k = 0; k < length; ++k)
        sum += w[k] * (k + 1);
    int64_t other = (point * 5) % (length + 4) - 2;
    return sum * 4 + (other >= 0 && other < length ? w[other] : 0);
}

static void record(wf_graph *g, wf_array *out, int length, bool counted)
{
    wf_val i = wf_index(g, 0), k;
    wf_array *w = wf_local_array(g, "w", WF_I64, WF_SHAPE(length), 0);
    wf_var sum = wf_local(g, WF_I64, 0);
    for (int c = 0; c < length; ++c)
        wf_write(g, w, wf_add(wf_mod(i, 5), c * 3), c);
    wf_write(g, w, wf_add(i, 100), wf_sub(wf_mod(i, length + 2), 1));
    WF_IF (g, wf_eq(wf_mod(i, 3), 0)) {
        wf_accumulate(g, WF_JOIN_ADD, w, 1000, wf_mod(wf_mul(i, 7), length));
    }
    WF_END(g);
    /* the bound is a number, or a parameter */
    wf_val bound = counted ? wf_const(g, WF_I64, length) : wf_param(g, "bound", WF_I64, length);
    WF_FOR (g, k, 0, bound, 1) {
        wf_inc(sum, wf_mul(wf_read(g, w, k), wf_add(k, 1)));
    }
    WF_END(g);
    wf_out(g, out, wf_add(wf_mul(sum, 4), wf_read(g, w, wf_sub(wf_mod(wf_mul(i, 5), length + 4), 2))));
}

static void test_indices(void **state)
{
    (void)state;
    static const int lengths[] = { 1, 2, 3, 5, 8, 13, 33, 256 };
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l += is_on_gpu() ? 3 : 1)
        for (int counted = 0; counted < 2; ++counted) {
            wf_array *out = wf_empty(ctx, WF_I64, WF_SHAPE(N));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
            record(g, out, lengths[l], counted);
            OK(ctx, wf_run(g));
            int64_t *x = contents(out);
            for (int i = 0; i < N; ++i)
                if (x[i] != reference(i, lengths[l]))
                    fail_msg("length %d, point %d: %lld", lengths[l], i, (long long)x[i]);
            free(x);
            wf_release(out);
        }
}

/* Every dtype: a write at an index that is a value, and a neighbour that keeps its initial value. */
static void test_every_dtype(void **state)
{
    (void)state;
    static const wf_dtype all[] = { WF_BOOL, WF_I8,   WF_U8,  WF_I16, WF_U16, WF_I32, WF_U32, WF_I64,
                                    WF_U64,  WF_BF16, WF_F16, WF_F32, WF_F64, WF_C32, WF_C64, WF_C128 };
    for (size_t d = 0; d < sizeof all / sizeof *all; d += TEST_EVERY) {
        wf_array *out = wf_empty(ctx, all[d], WF_SHAPE(N, 3)), *like = wf_empty(ctx, all[d], WF_SHAPE(N, 3));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0), three = wf_mod(i, 3);
        wf_array *w = wf_local_array(g, NULL, all[d], WF_SHAPE(3), 1);
        wf_val v = wf_cast(wf_mod(i, 2), all[d]);
        if (all[d] >= WF_C32)
            v = wf_mul(v, wf_const_complex(g, all[d], 2, -3));
        wf_write(g, w, v, three);
        for (int k = 0; k < 3; ++k) {
            wf_write(g, out, wf_read(g, w, wf_mod(wf_add(three, k), 3)), i, k);
            wf_write(g, like, k ? wf_const(g, all[d], 1) : v, i, k);
        }
        OK(ctx, wf_run(g));
        void *a = contents(out), *b = contents(like);
        assert_memory_equal(a, b, (size_t)(3 * N) * wf_dtype_size(all[d]));
        free(a), free(b);
        wf_release(out), wf_release(like);
    }
}

/* Indices of every integer dtype: negative ones are outside, large ones do not wrap. */
static void test_index_dtypes(void **state)
{
    (void)state;
    static const wf_dtype ints[] = { WF_I8, WF_U8, WF_I16, WF_U16, WF_I32, WF_U32, WF_I64, WF_U64 };
    for (size_t d = 0; d < sizeof ints / sizeof *ints; ++d) {
        wf_array *index = wf_empty(ctx, ints[d], WF_SHAPE(4)), *out = wf_empty(ctx, WF_I32, WF_SHAPE(4));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, index,
               wf_cast(wf_concat(0, wf_linspace(g, WF_I64, 3, 0, 4), wf_linspace(g, WF_I64, 1, -1, -1)), ints[d]));
        OK(ctx, wf_run(g));
        g = wf_begin(ctx, .shape = WF_SHAPE(4));
        wf_array *w = wf_local_array(g, "w", WF_I32, WF_SHAPE(4), 5);
        wf_val i = wf_in(g, index), far = ints[d] == WF_I64 ? wf_add(i, wf_const_i64(g, WF_I64, (int64_t)1 << 32)) : i;
        wf_write(g, w, 7, i);
        if (ints[d] == WF_I64)
            wf_write(g, w, 9, far);
        wf_out(g, out, wf_add(wf_mul(wf_read(g, w, i), 100), wf_read(g, w, 2)));
        OK(ctx, wf_run(g));
        int32_t *x = contents(out);
        assert_int_equal(x[0], 705);
        assert_int_equal(x[1], 707);
        assert_int_equal(x[2], 5); /* 4 is outside */
        assert_int_equal(x[3], 5);
        free(x);
        wf_release(index), wf_release(out);
    }
}

static void test_borders(void **state)
{
    (void)state;
    for (int border = WF_BORDER_VALUE; border < (int)WF__BORDERS; ++border) {
        wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(9));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(9));
        wf_array *w = wf_local_array(g, "w", WF_I32, WF_SHAPE(3), 0);
        for (int k = 0; k < 3; ++k)
            wf_write(g, w, k + 1, k);
        wf_out(g, out, wf_read_border(g, w, (wf_border)border, 9, wf_sub(wf_index(g, 0), 3)));
        OK(ctx, wf_run(g));
        int32_t *x = contents(out);
        for (int k = 0; k < 9; ++k) {
            int64_t at = border_index((wf_border)border, k - 3, 3);
            assert_int_equal(x[k], at < 0 ? 9 : at + 1);
        }
        free(x);
        wf_release(out);
    }
}

/* Bubble sort of seven elements: loops within loops, conditions, the same array on both sides. */
static void sort(wf_graph *g, wf_array *w, int n)
{
    wf_val i, j;
    WF_FOR (g, i, 0, n - 1, 1) {
        WF_FOR (g, j, 0, wf_sub(n - 1, i), 1) {
            wf_val a = wf_read(g, w, j), b = wf_read(g, w, wf_add(j, 1));
            WF_IF (g, wf_gt(a, b)) {
                wf_write(g, w, b, j);
                wf_write(g, w, a, wf_add(j, 1));
            }
            WF_END(g);
        }
        WF_END(g);
    }
    WF_END(g);
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_sort(void **state)
{
    (void)state;
    enum { K = 7 };
    float data[N + K], want[K];
    for (int i = 0; i < N + K; ++i)
        data[i] = (float)(i * 7919 % 101);
    wf_array *in = array_of(ctx, WF_F32, WF_SHAPE(N + K), data), *out = wf_empty(ctx, WF_F32, WF_SHAPE(N, K));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    wf_array *w = wf_local_array(g, "window", WF_F32, WF_SHAPE(K), 0);
    for (int k = 0; k < K; ++k)
        wf_write(g, w, wf_read(g, in, wf_add(i, k)), k);
    sort(g, w, K);
    for (int k = 0; k < K; ++k)
        wf_write(g, out, wf_read(g, w, k), i, k);
    OK(ctx, wf_run(g));
    float *x = contents(out);
    for (int p = 0; p < N; ++p) {
        memcpy(want, data + p, sizeof want);
        qsort(want, K, sizeof *want, ascending);
        assert_memory_equal(x + p * K, want, sizeof want);
    }
    free(x);
    wf_release(in), wf_release(out);
}

/* In an array graph elements take the shape of the written value; a loop goes on for its active lanes. */
static void test_array_graph(void **state)
{
    (void)state;
    int32_t start[N];
    for (int i = 0; i < N; ++i)
        start[i] = i;
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(N), start), *out = wf_empty(ctx, WF_I32, WF_SHAPE(N));
    wf_graph *g = wf_begin(ctx);
    wf_array *digits = wf_local_array(g, "digits", WF_I32, WF_SHAPE(3), 0);
    wf_var x = wf_local(g, WF_I32, wf_in(g, a)), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_gt(x, 0)) {
        wf_write(g, digits, wf_mod(x, 10), n);
        wf_set(x, wf_idiv(x, 10));
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_val d = wf_read(g, digits, 0);
    d = wf_add(wf_mul(d, 10), wf_read(g, digits, 1));
    d = wf_add(wf_mul(d, 10), wf_read(g, digits, 2));
    wf_out(g, out, wf_add(wf_mul(d, 10), wf_read(g, digits, wf_sub(n, 1))));
    OK(ctx, wf_run(g));
    int32_t *y = contents(out);
    for (int i = 0; i < N; ++i) {
        int top = i >= 100 ? i / 100 : i >= 10 ? i / 10 : i;
        assert_int_equal(y[i], (i % 10 * 100 + i / 10 % 10 * 10 + i / 100) * 10 + top);
    }
    free(y);
    wf_release(a), wf_release(out);
}

/* A matrix, in a hook. */
static void rotate(const wf_site *site)
{
    wf_graph *g = site->graph;
    wf_array *m = wf_local_array(g, "m", WF_F32, WF_SHAPE(2, 2), 0);
    wf_val i, j, x[2] = { wf_get(site->in[0]), wf_get(site->in[1]) };
    wf_write(g, m, -1, 0, 1);
    wf_write(g, m, 1, 1, 0);
    wf_array *y = wf_local_array(g, "y", WF_F32, WF_SHAPE(2), 0), *v = wf_local_array(g, "v", WF_F32, WF_SHAPE(2), 0);
    for (int k = 0; k < 2; ++k)
        wf_write(g, v, x[k], k);
    WF_FOR (g, i, 0, 2, 1) {
        WF_FOR (g, j, 0, 2, 1) {
            wf_accumulate(g, WF_JOIN_ADD, y, wf_mul(wf_read(g, m, i, j), wf_read(g, v, j)), i);
        }
        WF_END(g);
    }
    WF_END(g);
    wf_set(site->out[0], wf_read(g, y, 0));
    wf_set(site->out[1], wf_read(g, y, 1));
}

static void test_hook(void **state)
{
    (void)state;
    float a[5] = { 1, 2, 3, 4, 5 }, b[5] = { -1, 6, 0.5f, 2, 7 };
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(5), a), *y = array_of(ctx, WF_F32, WF_SHAPE(5), b);
    wf_array *u = wf_like(x), *v = wf_like(x);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(x, y), WF_ARRAYS(u, v), WF_OPERATOR(.call = rotate)));
    float *p = contents(u), *q = contents(v);
    for (int k = 0; k < 5; ++k)
        assert_true(p[k] == -b[k] && q[k] == a[k]);
    free(p), free(q);
    wf_release(x), wf_release(y), wf_release(u), wf_release(v);
}

/* The same array in text; its loops are written out. */
static void test_text(void **state)
{
    (void)state;
    enum { H = 6, W = 17 };
    float image[H][W];
    for (int k = 0; k < H * W; ++k)
        image[k / W][k % W] = (float)(k * 7919 % 103);
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), image), *out = wf_like(a);
    OK(ctx,
       wf_text(ctx,
               "f32 s[9]; i32 n = 0\n"
               "for (int k = -1; k <= 1; k++) for (int l = -1; l <= 1; l++) s[3*(k+1) + l+1] = a[y+k, x+l; mirror]\n"
               "for (int i = 1; i < 9; i++) for (int j = i; j > 0; j--)\n"
               "    if (s[j] < s[j-1]) { f32 t = s[j]; s[j] = s[j-1]; s[j-1] = t; }\n"
               "s[4] *= 2; s[0] = s[n + 9] + s[7; clamp]; out = s[4]",
               out, a));
    float *got = contents(out);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            float w[9];
            for (int k = 0; k < 9; ++k) {
                int i = y + k / 3 - 1, j = x + k % 3 - 1;
                w[k] = image[i < 0 ? 0 : i >= H ? H - 1 : i][j < 0 ? 0 : j >= W ? W - 1 : j];
            }
            qsort(w, 9, sizeof *w, ascending);
            assert_true(got[y * W + x] == 2 * w[4]);
        }
    free(got);
    wf_release(a), wf_release(out);
}

/* Odd-even sorting without and with conditions; `traced`: loops of the recording, else of C. */
static void exchange(wf_graph *g, wf_array *w, wf_val j, bool condition)
{
    wf_val a = wf_read(g, w, j), b = wf_read(g, w, wf_add(j, 1));
    if (!condition) {
        wf_write(g, w, wf_min(a, b), j);
        wf_write(g, w, wf_max(a, b), wf_add(j, 1));
        return;
    }
    WF_IF (g, wf_gt(a, b)) {
        wf_write(g, w, b, j);
        wf_write(g, w, a, wf_add(j, 1));
    }
    WF_END(g);
}

static uint32_t nodes_of_median(int n, bool traced, bool condition)
{
    wf_array *in = wf_array_arange(ctx, WF_F32, N + n, 0, 1), *out = wf_empty(ctx, WF_F32, WF_SHAPE(N));
    wf_kernel_info info = { .size = sizeof info };
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0), k, j;
    wf_array *w = wf_local_array(g, "w", WF_F32, WF_SHAPE(n), 0);
    for (int c = 0; c < n; ++c)
        wf_write(g, w, wf_read(g, in, wf_add(i, c)), c);
    if (traced) {
        WF_FOR (g, k, 0, n - 1, 1) {
            WF_FOR (g, j, 0, wf_sub(n - 1, k), 1) {
                exchange(g, w, j, condition);
            }
            WF_END(g);
        }
        WF_END(g);
    }
    for (int c = 0; c < n - 1 && !traced; ++c)
        for (int d = 0; d < n - 1 - c; ++d)
            exchange(g, w, WF_V(d), condition);
    wf_out(g, out, wf_read(g, w, n / 2));
    OK(ctx, wf_run(g));
    wf_history(ctx, &info, 1);
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    float *x = contents(out);
    for (int p = 0; p < N; ++p)
        assert_true(x[p] == (float)(p + n / 2));
    free(x);
    wf_release(in), wf_release(out);
    return info.nodes;
}

/* An index that becomes a number when a loop is unrolled leaves no lookup behind. */
static void test_written_out(void **state)
{
    (void)state;
    static const int lengths[] = { 5, 9, 25 };
    for (size_t l = 0; l < (is_on_gpu() ? 2 : 3); ++l)
        for (int condition = 0; condition < 2; ++condition) {
            uint32_t plain = nodes_of_median(lengths[l], false, condition);
            uint32_t nodes = nodes_of_median(lengths[l], true, condition);
            if (nodes > plain + 2 || nodes + 2 < plain) /* kept as a loop it would be short, and slow */
                fail_msg("%d elements: %u nodes instead of %u", lengths[l], nodes, plain);
        }
}

/* ---- debug mode ---- */
/* Five points with indices from `first` on, in a loop and a condition; one of them is outside of 4. */
static wf_status look(const char *name, int rank, bool writes, int first, bool guarded)
{
    wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(5), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5), .flags_on = WF_FLAG_DEBUG);
    wf_val i = wf_add(wf_index(g, 0), first), k;
    wf_array *w = wf_local_array(g, name, WF_F32, rank == 1 ? WF_SHAPE(4) : WF_SHAPE(9, 4), 0);
    for (int c = 0; c < 4; ++c) /* that index decides what is read */
        wf_write_n(g, w, WF_V(c), rank == 1 ? WF_VALS(c) : WF_VALS(1, c));
    WF_FOR (g, k, 0, 2, 1) {
        WF_IF (g, guarded ? wf_and(wf_ge(i, 0), wf_lt(i, 4)) : wf_ge(i, -100)) {
            wf_vals at = rank == 1 ? WF_VALS(i) : WF_VALS(k, i);
            if (writes)
                wf_write_n(g, w, WF_V(3), at);
            wf_val v = writes ? wf_read_border_n(g, w, WF_BORDER_CLAMP, WF_V(0), at) : wf_read_n(g, w, at);
            wf_write(g, out, v, wf_index(g, 0));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_release(out);
    return wf_run(g);
}

static void test_debug(void **state)
{
    (void)state;
    REFUSED(ctx, look("taps", 1, false, -1, false), WF_ERR_BOUNDS,
            "wf_read: index -1 is outside the local array 'taps', whose length is 4, at point (0,)");
    REFUSED(ctx, look("taps", 1, true, 0, false), WF_ERR_BOUNDS,
            "wf_write: index 4 is outside the local array 'taps', whose length is 4, at point (4,)");
    REFUSED(
        ctx, look(NULL, 2, false, 0, false), WF_ERR_BOUNDS,
        "wf_read: index 4 is outside axis 1 of local array 1 of the recording, whose length is 4 there, at point (4,)");
    OK(ctx, look("taps", 1, true, -1, true));
    OK(ctx, look("taps", 2, false, 0, true));
}

/* Findings do not depend on the elements: all may be equal, written again, or equal to the value outside. The index
 * may be a value, or a number after a loop is unrolled. */
static wf_status look_at_equals(wf_dtype dtype, int initial, int how)
{
    bool writes = how & 1, counts = how & 2, graph = how & 4;
    wf_array *out = wf_full(ctx, dtype, WF_SHAPE(5), 0);
    wf_graph *g = wf_begin(ctx, .shape = graph ? WF_SCALAR : WF_SHAPE(5), .flags_on = WF_FLAG_DEBUG);
    wf_array *w = wf_local_array(g, "taps", dtype, WF_SHAPE(2, 4), wf_const(g, dtype, initial));
    wf_var last = wf_local(g, dtype, wf_const(g, dtype, initial));
    wf_val i = graph ? wf_iota(g, WF_SHAPE(5), 0) : wf_index(g, 0), k = i;
    if (counts)
        wf_for_(g, "here", &k, WF_V(0), WF_V(5), WF_V(1));
    if (writes)
        wf_write(g, w, wf_const(g, dtype, initial), 1, k);
    else
        wf_set(last, wf_read(g, w, 1, k));
    if (counts)
        wf_end_(g, "here");
    wf_val found = writes ? wf_read(g, w, 1, 2) : wf_get(last);
    wf_out(g, out, graph && counts ? wf_broadcast(found, WF_SHAPE(5)) : found);
    wf_release(out);
    return wf_run(g);
}

static void test_debug_of_equals(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F32, WF_BOOL, WF_BF16, WF_I64, WF_U8, WF_C64 };
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t)
        for (int initial = 0; initial < 2; ++initial)
            for (int how = 0; how < 8; ++how)
                REFUSED(ctx, look_at_equals(dtypes[t], initial, how), WF_ERR_BOUNDS,
                        how & 1 ? "wf_write: index 4 is outside axis 1 of the local array 'taps', whose length is 4"
                                : "wf_read: index 4 is outside axis 1 of the local array 'taps', whose length is 4");
}

/* An unrolled loop: the element read decides how often it runs, and has no other use. */
static void test_debug_of_conditions(void **state)
{
    (void)state;
    wf_array *out = wf_full(ctx, WF_I64, WF_SHAPE(3), 0);
    for (int turns = 3; turns < 5; ++turns) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3), .flags_on = WF_FLAG_DEBUG);
        wf_array *w = wf_local_array(g, "taps", WF_F32, WF_SHAPE(4), 1);
        wf_var k = wf_local(g, WF_I64, 0);
        WF_WHILE (g, wf_and(wf_lt(k, turns), wf_ne(wf_read(g, w, k), 7))) {
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_out(g, out, k);
        if (turns == 3)
            OK(ctx, wf_run(g));
        else
            REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "wf_read: index 4 is outside the local array 'taps'");
    }
    wf_release(out);
}

/* ---- mistakes ---- */
enum { MADE, SHAPE, DTYPE, NUMBER, NEGATIVE, REAL, RANK, ELEMENT, WHOLE, ATOMIC, LEFT, SECTION, GONE, JOIN };

static wf_status mistake(int which, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8)), *h = which == GONE ? wf_begin(ctx, .shape = WF_SHAPE(8)) : NULL;
    wf_array *w = wf_local_array(h ? h : g, "w", WF_F32,
                                 which == SHAPE  ? WF_SHAPE(257)
                                 : which == RANK ? WF_SHAPE(2, 2)
                                                 : WF_SHAPE(4),
                                 0);
    wf_val v = WF_V(1), i = wf_index(g, 0);
    if (which == DTYPE)
        wf_local_array(g, "w", WF_U8, WF_SHAPE(3), 300);
    else if (which == NUMBER)
        v = wf_read(g, w, 4);
    else if (which == NEGATIVE)
        wf_write(g, w, 1, -1);
    else if (which == REAL)
        v = wf_read(g, w, wf_cast(i, WF_F32));
    else if (which == RANK)
        v = wf_read(g, w, i);
    else if (which == ELEMENT)
        v = wf_in(g, w);
    else if (which == WHOLE)
        wf_out(g, w, 1);
    else if (which == ATOMIC)
        v = wf_atomic(g, WF_JOIN_ADD, w, 1, i);
    else if (which == JOIN)
        wf_accumulate(g, WF_JOIN_EXCH, w, 1, i);
    else if (which == GONE)
        v = wf_read(g, w, i);
    else if (which == LEFT) {
        wf_array *inner = NULL;
        WF_IF (g, wf_gt(i, 2)) {
            inner = wf_local_array(g, "inner", WF_F32, WF_SHAPE(4), 0);
        }
        WF_END(g);
        v = wf_read(g, inner, i);
    } else if (which == SECTION) {
        wf_section(g, WF_SECTION_INIT);
        wf_write(g, w, 1, 0);
        wf_section(g, WF_SECTION_CALL);
    }
    wf_out(g, out, v);
    wf_status status = wf_run(g);
    wf_drop(h);
    return status;
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(8));
    OK(ctx, mistake(MADE, out));
    REFUSED(ctx, mistake(SHAPE, out), WF_ERR_SHAPE, "wf_local_array: shape (257); a local array has 1 to 256 elements");
    REFUSED(ctx, mistake(DTYPE, out), WF_ERR_DTYPE, "wf_local_array: the number 300 does not fit u8");
    REFUSED(ctx, mistake(NUMBER, out), WF_ERR_BOUNDS,
            "wf_read: index 4 is outside the local array 'w', whose length is 4");
    REFUSED(ctx, mistake(NEGATIVE, out), WF_ERR_BOUNDS, "wf_write: index -1 is outside the local array 'w'");
    REFUSED(ctx, mistake(REAL, out), WF_ERR_DTYPE, "wf_read: index 0 is f32, not an integer");
    REFUSED(ctx, mistake(RANK, out), WF_ERR_ARG, "wf_read: 1 indices given for ");
    REFUSED(ctx, mistake(ELEMENT, out), WF_ERR_CONTRACT, "wf_in: a local array is read, written");
    REFUSED(ctx, mistake(WHOLE, out), WF_ERR_CONTRACT, "wf_out: a local array is read, written");
    REFUSED(ctx, mistake(ATOMIC, out), WF_ERR_CONTRACT, "wf_atomic: a local array is its point's alone");
    REFUSED(ctx, mistake(JOIN, out), WF_ERR_ARG, "wf_accumulate: there is no join");
    REFUSED(ctx, mistake(LEFT, out), WF_ERR_CONTRACT,
            "wf_read: the local array 'inner' was made in another section, or in a block that has ended");
    REFUSED(ctx, mistake(SECTION, out), WF_ERR_CONTRACT, "wf_write: the local array 'w' was made in another section");
    REFUSED(ctx, mistake(GONE, out), WF_ERR_ARG, "wf_read: a local array of another recording");
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_array *w = wf_local_array(g, "w", WF_F32, WF_SHAPE(4), 0);
    float x[4] = { 0 };
    REFUSED(ctx, wf_download(w, x, sizeof x), WF_ERR_ARG, "wf_download: a local array has no contents");
    wf_drop(g);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_index_dtypes),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_array_graph),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_written_out),
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_debug_of_equals),
        cmocka_unit_test(test_debug_of_conditions),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
