/* test_reduce.c - reductions of every join and dtype beside plain C, with the same bits for any number of threads and
 * in the interpreter: several at once, empty arrays, initial values joined once, WF_SECTION_POST, sums fused with
 * their operands.
 *
 * ctest: devices driver threads values
 */
#include "on_devices.h"
#include "ir/ir.h"
#include "test_eval.h"

static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX,
                                 WF_JOIN_AND, WF_JOIN_OR,  WF_JOIN_XOR };
enum { JOINS = sizeof joins / sizeof *joins };

static bool joinable(wf_join join, wf_dtype t) { return wf__types_allow(wf__op_table[wf__join_op(join)].types, t); }

static void *random_elements(wf_dtype t, int64_t n, uint64_t seed)
{
    char *data = malloc((size_t)n * wf_dtype_size(t) + 1);
    assert_non_null(data);
    for (int64_t i = 0; i < n; ++i) {
        uint64_t bits = test_random(&seed), out = 0;
        double x = (double)(int64_t)(bits >> 40) / 1024 - 5000;
        if (t == WF_BOOL)
            out = bits & 1;
        else if (t >= WF_F16)
            wf__eval_cast(t, WF_F64, &out, &x, 1);
        else
            out = bits;
        memcpy(data + (size_t)i * wf_dtype_size(t), &out, wf_dtype_size(t));
    }
    return data;
}

/* Reduced one after the other; exact for all but sums and products of floats. */
static uint64_t in_order(wf_join join, wf_dtype t, const char *data, int64_t n)
{
    uint64_t acc = wf__join_neutral(join, t);
    for (int64_t i = 0; i < n; ++i) {
        uint64_t x = 0;
        memcpy(&x, data + (size_t)i * wf_dtype_size(t), wf_dtype_size(t));
        acc = test_eval(wf__join_op(join), t, acc, x, x);
    }
    return acc;
}

static void test_every_join(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 31, 33, 1000, 70001 };
    for (int k = 0; k < TEST_DTYPES; ++k)
        for (int j = k % TEST_EVERY; j < JOINS; j += TEST_EVERY)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
                wf_dtype t = test_dtypes[k];
                bool inexact = t >= WF_F16 && joins[j] <= WF_JOIN_MUL;
                if (!joinable(joins[j], t) || inexact)
                    continue;
                char *data = random_elements(t, sizes[s], (uint64_t)k + 7);
                wf_array *a = array_of(ctx, t, WF_SHAPE(sizes[s]), data), *out = wf_empty(ctx, t, WF_SCALAR);
                wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
                wf_var x = wf_reduced(g, t, wf_const(g, t, 1), joins[j]);
                wf_val v = wf_in(g, a), now = wf_get(x);
                wf_set(x, joins[j] == WF_JOIN_ADD   ? wf_add(now, v)
                          : joins[j] == WF_JOIN_MUL ? wf_mul(v, now)
                          : joins[j] == WF_JOIN_MIN ? wf_min(now, v)
                          : joins[j] == WF_JOIN_MAX ? wf_max(v, now)
                          : joins[j] == WF_JOIN_AND ? wf_and(now, v)
                          : joins[j] == WF_JOIN_OR  ? wf_or(v, now)
                                                    : wf_xor(now, v));
                wf_section(g, WF_SECTION_POST);
                wf_out(g, out, x);
                OK(ctx, wf_run(g));
                uint64_t all = in_order(joins[j], t, data, sizes[s]), one = 0, got = 0;
                const double unit = 1;
                wf__eval_cast(t, WF_F64, &one, &unit, 1);
                uint64_t want = test_eval(wf__join_op(joins[j]), t, one, all, one);
                OK(ctx, wf_download(out, &got, wf_dtype_size(t)));
                assert_true(same_element(t, &want, &got));
                free(data);
                RELEASE(a, out);
            }
}

/* wf_reduce: sums and products widen, the others keep the dtype. */
static void test_reduce_dtypes(void **state)
{
    (void)state;
    const uint8_t bytes[] = { 200, 100, 255, 1 };
    wf_array *u = array_of(ctx, WF_U8, WF_SHAPE(2, 2), bytes);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, u);
    wf_val sum = wf_sum(v, WF_ALL_AXES), signs = wf_sum(wf_cast(v, WF_I8), WF_ALL_AXES);
    wf_val trues = wf_sum(wf_gt(v, 100), WF_ALL_AXES), most = wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES);
    assert_int_equal(wf_val_dtype(sum), WF_U64);
    assert_int_equal(wf_val_dtype(signs), WF_I64);
    assert_int_equal(wf_val_dtype(trues), WF_I64);
    assert_int_equal(wf_val_dtype(most), WF_U8);
    assert_int_equal(wf_val_shape(sum).rank, 2);
    assert_int_equal(wf_val_shape(sum).dim[0], 1);
    wf_array *a = wf_keep(wf_cast(sum, WF_F32)), *b = wf_keep(wf_cast(signs, WF_F32)),
             *c = wf_keep(wf_cast(trues, WF_F32));
    wf_array *d = wf_keep(wf_cast(most, WF_F32)), *e = wf_keep(wf_cast(wf_reduce(WF_JOIN_MUL, v, WF_ALL_AXES), WF_F32));
    wf_array *any = wf_keep(wf_reduce(WF_JOIN_OR, wf_gt(v, 254), WF_ALL_AXES)),
             *every = wf_keep(wf_reduce(WF_JOIN_AND, wf_gt(v, 1), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 556);
    EXPECT_F32(b, -56 + 100 - 1 + 1);
    EXPECT_F32(c, 2);
    EXPECT_F32(d, 255);
    EXPECT_F32(e, 5100000);
    uint8_t *p = contents(any), *q = contents(every);
    assert_true(p[0] == 1 && q[0] == 0);
    free(p);
    free(q);
    RELEASE(u, a, b, c, d, e, any, every);
}

/* f32 sums are rounded once: 2^24 ones and a half. */
static void test_f32_sums_are_exact(void **state)
{
    (void)state;
    enum { N = 100000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    double want = 0;
    for (int i = 0; i < N; ++i)
        want += x[i] = 16777216.f + (float)(2 * (i % 5)) + (i == 7 ? 2 : 0); /* all sums fit f64 */
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), x);
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_sum(wf_in(g, a), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    EXPECT_F32(sum, (float)want);
    free(x);
    RELEASE(a, sum);
}

/* Mean and variance in one graph: operations on a sum run after it, arrays are read again, and nothing is stored in
 * between. */
static void test_dependent_sums(void **state)
{
    (void)state;
    enum { N = 40000 };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *norm = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), mean = wf_div(wf_sum(v, WF_ALL_AXES), N), d = wf_sub(v, mean);
    wf_val var = wf_div(wf_sum(wf_mul(d, d), WF_ALL_AXES), N);
    wf_out(g, norm, wf_div(d, wf_sqrt(var)));
    wf_array *m = wf_keep(mean), *s = wf_keep(var);
    OK(ctx, wf_run(g));
    EXPECT_F32(m, (N - 1) / 2.f);
    float *x = contents(s), *y = contents(norm);
    double want = ((double)N * N - 1) / 12;
    assert_true(fabs(x[0] - want) < 1e-6 * want);
    assert_true(fabs(y[0] + sqrt(3)) < 1e-3 && y[0] == -y[N - 1]);
    free(x);
    free(y);
    RELEASE(a, norm, m, s);
}

/* ---- the same bits ---- */
static void float_sums(wf_array *const *a, wf_device device, double *out)
{
    wf_array *total = wf_empty(ctx, WF_F64, WF_SCALAR, .device = device);
    wf_array *product = wf_empty(ctx, WF_F64, WF_SCALAR, .device = device);
    wf_array *kept[4];
    int n = 0;
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx, .device = device);
        kept[n++] = wf_keep(wf_cast(wf_sum(wf_in(g, a[k]), WF_ALL_AXES), WF_F64));
        kept[n++] =
            wf_keep(wf_cast(wf_reduce(WF_JOIN_MUL, wf_add(1, wf_mul(wf_in(g, a[k]), 1e-9)), WF_ALL_AXES), WF_F64));
        OK(ctx, wf_run(g));
    }
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(7, 30011), .reduce = WF_ALL_AXES, .device = device);
    wf_var s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD), p = wf_reduced(g, WF_F64, 1, WF_JOIN_MUL);
    wf_val i = wf_cast(wf_index(g, 0), WF_F32), j = wf_cast(wf_index(g, 1), WF_F32);
    wf_val x = wf_sub(wf_mul(wf_add(i, 0.3), j), 1000);
    wf_inc(s, x);
    wf_set(p, wf_mul(p, wf_add(1, wf_mul(wf_cast(x, WF_F64), 1e-9))));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, total, s);
    wf_out(g, product, p);
    OK(ctx, wf_run(g));
    for (int k = 0; k < 4; ++k) {
        double *y = contents(kept[k]);
        out[k] = y[0];
        free(y);
        wf_release(kept[k]);
    }
    out[4] = scalar_f64(total);
    out[5] = scalar_f64(product);
    RELEASE(total, product);
}

static void test_same_bits(void **state)
{
    (void)state;
    enum { H = 37, W = 9001 };
    void *x = random_elements(WF_F32, (int64_t)H * W, 1), *y = random_elements(WF_F64, (int64_t)H * W, 2);
    wf_array *flat = array_of(ctx, WF_F32, WF_SHAPE(H, W), x), *b = array_of(ctx, WF_F64, WF_SHAPE(H, W), y);
    wf_array *cut = wf_view_slice(flat, 1, 3, W - 5, 1); /* rows that do not merge into one loop */
    wf_array *a[2] = { cut, b }, *here[2] = { wf_copy_to(cut, WF_CPU), wf_copy_to(b, WF_CPU) };
    double want[6], got[6];
    int threads = wf_get_threads(ctx);
    float_sums(here, WF_INTERP, want);
    if (is_on_gpu()) {
        float_sums(a, wf_context_device(ctx), got);
        assert_memory_equal(want, got, sizeof want);
    }
    for (int n = 1; n <= 4; ++n) {
        wf_set_threads(ctx, n);
        assert_int_equal(wf_get_threads(ctx), n);
        for (int again = 0; again < 3; ++again) {
            float_sums(here, WF_CPU, got);
            assert_memory_equal(want, got, sizeof want);
        }
    }
    wf_set_threads(ctx, threads);
    free(x);
    free(y);
    RELEASE(flat, b, cut, here[0], here[1]);
}

/* ---- initial values, empty arrays, post ---- */
static double reduced_over(int64_t n, wf_join join, double initial)
{
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(n), 2), *out = wf_full(ctx, WF_F64, WF_SHAPE(1), -77);
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var x = wf_reduced(g, WF_F64, initial, join);
    wf_val v = wf_in(g, a);
    wf_set(x, join == WF_JOIN_ADD   ? wf_add(x, v)
              : join == WF_JOIN_MUL ? wf_mul(x, v)
              : join == WF_JOIN_MIN ? wf_min(x, v)
                                    : wf_max(x, v));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, x);
    OK(ctx, wf_run(g));
    double *p = contents(out), r = *p;
    free(p);
    RELEASE(a, out);
    return r;
}

static void test_initial_values(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 3, 64, 5000, 300000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        assert_true(reduced_over(sizes[s], WF_JOIN_ADD, 1000) ==
                    1000 + 2 * (double)sizes[s]); /* once, not once per block */
        assert_true(reduced_over(sizes[s], WF_JOIN_MIN, 1) == 1);
        assert_true(reduced_over(sizes[s], WF_JOIN_MIN, 10) == 2);
        assert_true(reduced_over(sizes[s], WF_JOIN_MAX, 10) == 10);
    }
    assert_true(reduced_over(10, WF_JOIN_MUL, 3) == 3072);
    assert_true(reduced_over(0, WF_JOIN_ADD, 5) == 5);
    assert_true(reduced_over(0, WF_JOIN_MUL, 5) == 5);
    assert_true(reduced_over(0, WF_JOIN_MIN, 5) == 5);
}

static void test_empty_arrays(void **state)
{
    (void)state;
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(4, 0));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, none);
    wf_array *sum = wf_keep(wf_sum(v, WF_ALL_AXES)), *product = wf_keep(wf_reduce(WF_JOIN_MUL, v, WF_ALL_AXES));
    wf_array *low = wf_keep(wf_reduce(WF_JOIN_MIN, v, WF_ALL_AXES)),
             *high = wf_keep(wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES));
    wf_array *count = wf_keep(wf_cast(wf_sum(wf_cast(v, WF_I32), WF_ALL_AXES), WF_F32));
    OK(ctx, wf_run(g));
    EXPECT_F32(sum, 0);
    EXPECT_F32(product, 1);
    EXPECT_F32(low, INFINITY);
    EXPECT_F32(high, -INFINITY);
    EXPECT_F32(count, 0);
    RELEASE(none, sum, product, low, high, count);
}

static void test_negative_zero(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(100), -0.0);
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_sum(wf_in(g, a), WF_ALL_AXES)),
             *low = wf_keep(wf_reduce(WF_JOIN_MIN, wf_in(g, a), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    double *x = contents(sum), *y = contents(low);
    assert_true(signbit(*x) && signbit(*y)); /* -0 + -0 is -0 */
    free(x);
    free(y);
    RELEASE(a, sum, low);
}

static void test_nan_spreads(void **state)
{
    (void)state;
    for (int at = 0; at < 200; at += 67) {
        float x[200];
        for (int i = 0; i < 200; ++i)
            x[i] = i == at ? NAN : (float)i;
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(200), x);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a);
        wf_array *sum = wf_keep(wf_sum(v, WF_ALL_AXES)), *low = wf_keep(wf_reduce(WF_JOIN_MIN, v, WF_ALL_AXES));
        wf_array *high = wf_keep(wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES));
        OK(ctx, wf_run(g));
        EXPECT_F32(sum, NAN);
        EXPECT_F32(low, NAN);
        EXPECT_F32(high, NAN);
        RELEASE(a, sum, low, high);
    }
}

static void test_several_at_once_and_post(void **state)
{
    (void)state;
    enum { N = 5001 };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, -100, 1), *b = wf_array_arange(ctx, WF_I16, N, 0, 1),
             *scaled = wf_like(a);
    wf_array *out[5];
    for (int k = 0; k < 5; ++k)
        out[k] = wf_empty(ctx, WF_F64, WF_SCALAR);
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_param(g, "gain", WF_F64, 2); /* declared here, used in both sections */
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD), low = wf_reduced(g, WF_F32, INFINITY, WF_JOIN_MIN);
    wf_var high = wf_reduced(g, WF_F32, -INFINITY, WF_JOIN_MAX), hits = wf_reduced(g, WF_I32, 0, WF_JOIN_ADD);
    wf_var bits = wf_reduced(g, WF_I16, 0, WF_JOIN_OR);
    wf_val v = wf_in(g, a);
    wf_inc(sum, v);
    wf_set(low, wf_min(low, v));
    wf_set(high, wf_max(v, high));
    wf_inc(hits, wf_select(wf_gt(v, 0), wf_const(g, WF_I32, 1), 0));
    wf_inc(hits, wf_cast(wf_lt(v, -50), WF_I32)); /* twice in one lane */
    wf_set(bits, wf_or(bits, wf_in(g, b)));
    wf_out(g, scaled, wf_mul(v, 2)); /* elements are written on the way */
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out[0], wf_mul(sum, wf_param(g, "gain", WF_F64, 2)));
    wf_out(g, out[1], low);
    wf_out(g, out[2], wf_sub(high, low));
    wf_out(g, out[3], hits);
    wf_var local = wf_local(g, WF_F64, bits);
    wf_inc(local, 0.5);
    wf_out(g, out[4], local);
    OK(ctx, wf_run(g));
    assert_true(scalar_f64(out[0]) == 2 * (N * (N - 1) / 2 - 100.0 * N));
    assert_true(scalar_f64(out[1]) == -100);
    assert_true(scalar_f64(out[2]) == N - 1);
    assert_true(scalar_f64(out[3]) == N - 101 + 50);
    assert_true(scalar_f64(out[4]) == 8191.5);
    float *x = contents(scaled);
    assert_true(x[0] == -200 && x[N - 1] == 2 * (N - 101));
    free(x);
    release_all(out, 5);
    RELEASE(a, b, scaled);
}

/* An index space that reduces elements read by index, over shapes that do not merge into one loop. */
static void test_space(void **state)
{
    (void)state;
    enum { H = 61, W = 77 };
    wf_array *a = wf_empty(ctx, WF_I32, WF_SHAPE(H, W)), *out = wf_empty(ctx, WF_I64, WF_SCALAR);
    int32_t *x = malloc(sizeof *x * H * W);
    assert_non_null(x);
    for (int i = 0; i < H * W; ++i)
        x[i] = i * 7919 % 1000 - 500;
    OK(ctx, wf_upload(a, x, sizeof *x * H * W));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_I64, 10, WF_JOIN_ADD);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), right = wf_read_or(g, a, 0, i, wf_add(j, 1));
    wf_inc(sum, wf_mul(wf_cast(wf_read(g, a, i, j), WF_I64), right));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, sum);
    OK(ctx, wf_run(g));
    int64_t want = 10;
    for (int r = 0; r < H; ++r)
        for (int c = 0; c + 1 < W; ++c)
            want += (int64_t)x[r * W + c] * x[r * W + c + 1];
    assert_true(scalar_i64(out) == want);
    free(x);
    RELEASE(a, out);
}

static void test_fused_difference(void **state)
{
    (void)state;
    enum { N = 123457 };
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 0.25), *b = wf_array_arange(ctx, WF_F32, N, 3, 0.25);
    wf_graph *g = wf_begin(ctx);
    wf_val d = wf_sub(wf_in(g, a), wf_in(g, b));
    wf_array *sum = wf_keep(wf_sum(wf_mul(d, d), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    EXPECT_F32(sum, 9 * N);
    RELEASE(a, b, sum);
}

static void test_refused_reductions(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 3), 1), *s = wf_empty(ctx, WF_F32, WF_SCALAR),
             *v = wf_empty(ctx, WF_F32, WF_SHAPE(3));
    wf_graph *g = wf_begin(ctx);
    wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, ".reduce");
    for (int custom = 0; custom < 2; ++custom) {
        g = wf_begin(ctx, .reduce = WF_ALL_AXES);
        wf_reduced(g, custom ? (wf_dtype)99 : WF_NONE, 0, custom ? WF_JOIN_CUSTOM : WF_JOIN_ADD);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_reduced: dtype");
    }
    g = wf_begin(ctx);
    wf_reduce(WF_JOIN_AND, wf_in(g, a), WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "and does not reduce f32");
    g = wf_begin(ctx);
    wf_reduce(WF_JOIN_CUSTOM, wf_in(g, a), WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "no join");
    g = wf_begin(ctx);
    wf_reduce((wf_join)99, wf_in(g, a), WF_ALL_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "no join");
    g = wf_begin(ctx);
    wf_section(g, WF_SECTION_POST);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, ".reduce");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_reduced(g, WF_F32, wf_in(g, a), WF_JOIN_ADD);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "constant");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_val x = wf_in(g, a);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, s, x);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "section");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var local = wf_local(g, WF_F32, 1);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, s, local);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "only reduced ones cross");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(sum, wf_in(g, a));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, v, sum);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(3)");
    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(sum, wf_in(g, a));
    wf_inc(sum, wf_in(g, v));
    wf_inc(sum, wf_in(g, wf_array_count(a) ? a : v));
    wf_section(g, WF_SECTION_POST);
    wf_read(g, v, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "WF_SECTION_POST");
    RELEASE(a, s, v);
}

/* A reduced variable must be joined with something: anything else has no meaning over many lanes. */
static void assigned(int how, bool accepted)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(10), 1), *s = wf_empty(ctx, WF_F32, WF_SCALAR);
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var x = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD), y = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_val v = wf_in(g, a);
    wf_inc(y, v);
    switch (how) {
    case 0:
        wf_set(x, wf_add(v, x));
        break;
    case 1:
        wf_set(x, wf_add(wf_add(x, v), v));
        break;
    case 2:
        wf_set(x, wf_select(wf_gt(v, 0), wf_add(x, v), x));
        break;
    case 3:
        wf_set(x, wf_fma(v, v, x));
        break;
    case 4:
        wf_set(x, v);
        break;
    case 5:
        wf_set(x, wf_mul(x, v));
        break;
    case 6:
        wf_set(x, wf_add(x, x));
        break;
    case 7:
        wf_set(x, wf_add(v, y));
        break;
    case 8:
        wf_set(x, wf_sub(v, x));
        break;
    case 9:
        wf_set(x, wf_add(v, wf_mul(x, 2)));
        break;
    case 10:
        wf_out(g, a, x);
        break;
    default:
        wf_set(x, wf_select(wf_gt(x, 0), wf_add(x, v), x));
    }
    wf_section(g, WF_SECTION_POST);
    wf_out(g, s, x);
    if (accepted) {
        OK(ctx, wf_run(g));
        EXPECT_F32(s, how == 1 ? 20 : 10);
    } else
        REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "reduced variable");
    RELEASE(a, s);
}

/* A number is a value of one element without axes. */
static void test_numbers(void **state)
{
    (void)state;
    double sum = 0, scan = 0, blocks = 0;
    assert_true(wf_val_number(wf_sum(3, WF_ALL_AXES), &sum, NULL) && sum == 3);
    assert_true(wf_val_number(wf_scan(WF_JOIN_ADD, 3, 0, false, false), &scan, NULL) && scan != scan);
    assert_true(wf_val_number(wf_block_reduce(WF_JOIN_ADD, 3, 2), &blocks, NULL) && blocks != blocks);
}

static void test_misused_variables(void **state)
{
    (void)state;
    for (int how = 0; how < 12; ++how)
        assigned(how, how < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_join),
        cmocka_unit_test(test_reduce_dtypes),
        cmocka_unit_test(test_f32_sums_are_exact),
        cmocka_unit_test(test_dependent_sums),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_empty_arrays),
        cmocka_unit_test(test_negative_zero),
        cmocka_unit_test(test_nan_spreads),
        cmocka_unit_test(test_several_at_once_and_post),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_fused_difference),
        cmocka_unit_test(test_refused_reductions),
        cmocka_unit_test(test_misused_variables),
        cmocka_unit_test(test_numbers),
    };
    return RUN_ON_ALL(tests);
}
