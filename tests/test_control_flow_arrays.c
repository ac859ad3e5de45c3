/* test_control_flow_arrays.c - conditions and loops over whole arrays: shapes that broadcast and grow, memory in
 * blocks, states that are unused or have other shapes, errors.
 *
 * ctest: devices baseline
 */
#include "launch/launch.h"
#include "nested_loops.h"
#include "on_devices.h"

enum { SIZES = 4 };
static const int64_t sizes[SIZES] = { 1, 17, 333, 4099 };

static wf_array *ramp(wf_dtype dtype, int64_t n, double first) { return wf_array_arange(ctx, dtype, n, first, 1); }

static void expect_i32_shape(wf_array *a, const int32_t *want, int64_t n)
{
    assert_non_null(a);
    assert_int_equal(wf_array_count(a), n);
    int32_t *x = contents(a);
    for (int64_t i = 0; i < n; ++i)
        if (x[i] != want[i])
            fail_msg("at %lld: %d instead of %d", (long long)i, (int)x[i], (int)want[i]);
    free(x);
    wf_release(a);
}

/* Kernels run so far. */
static uint64_t kernels(void)
{
    wf_info info = { .size = sizeof info };
    wf_get_info(ctx, false, &info);
    return info.evaluated;
}

/* ---- Collatz: three states of which two are used, one of them scalar at first ---- */
static void test_collatz(void **state)
{
    (void)state;
    wf_array *start = ramp(WF_I64, 10000, 1);
    wf_graph *g = wf_begin(ctx);
    wf_var x = wf_local(g, WF_I64, wf_in(g, start)), steps = wf_local(g, WF_I32, 0), fixed = wf_local(g, WF_I32, 7);
    WF_WHILE (g, wf_gt(x, 1)) {
        WF_IF (g, wf_eq(wf_and(x, 1), 0)) {
            wf_set(x, wf_shr(x, 1));
        }
        WF_ELSE(g) { wf_set(x, wf_add(wf_mul(x, 3), 1)); }
        WF_END(g);
        wf_inc(steps, 1);
        wf_set(fixed, fixed);
    }
    WF_END(g);
    assert_int_equal(wf_val_shape(wf_get(steps)).rank, 1); /* it has grown */
    assert_int_equal(wf_val_shape(wf_get(steps)).dim[0], 10000);
    /* a state that no turn changes stays the same value */
    const wf__ir *ir = wf__graph_ir(g);
    assert_int_equal(ir->node[wf__node_of(g, wf_get(fixed).h.num)].op, WF__CONST);
    wf_array *each = wf_keep(steps), *sum = wf_keep(wf_sum(steps, WF_ALL_AXES));
    OK(ctx, wf_run(g));
    int64_t total = 0;
    OK(ctx, wf_download(sum, &total, sizeof total));
    assert_int_equal(total, 849666);
    int32_t *n = contents(each);
    assert_true(n[0] == 0 && n[1] == 1 && n[26] == 111);
    free(n);
    wf_release(start);
    wf_release(each);
    wf_release(sum);
}

/* ---- Mandelbrot: states of shapes [h, w], from [h, 1] and [1, w] and scalars ---- */
static void test_broadcast(void **state)
{
    (void)state;
    enum { H = 37, W = 61 };
    wf_array *re = wf_array_arange(ctx, WF_F32, W, -2, 0.04), *im = wf_array_arange(ctx, WF_F32, H, -1, 0.04);
    wf_array *column = wf_view_reshape(im, WF_SHAPE(H, 1));
    int32_t want[H * W];
    float *cr = contents(re), *ci = contents(im);
    for (int i = 0; i < H * W; ++i) {
        float x = 0, y = 0, t;
        for (want[i] = 0; want[i] < 50 && x * x + y * y <= 4; ++want[i], x = t) {
            t = x * x - y * y + cr[i % W];
            y = 2 * x * y + ci[i / W];
        }
    }
    free(cr);
    free(ci);
    uint64_t before = kernels();
    wf_graph *g = wf_begin(ctx);
    wf_val cx = wf_in(g, re), cy = wf_in(g, column);
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, 50), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val t = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_add(wf_mul(wf_mul(2, x), y), cy));
        wf_set(x, t);
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_array *out = wf_keep(n), *twice = wf_keep(wf_mul(n, 2));
    assert_int_equal(wf_array_shape(out).rank, 2);
    OK(ctx, wf_run(g));
    assert_int_equal(kernels() - before, 1); /* with its producers and consumers */
    expect_i32_shape(out, want, H * W);
    wf_release(twice);
    wf_release(re);
    wf_release(im);
    wf_release(column);
}

/* ---- loops in loops, left by break and continue from within conditions ---- */
static void test_nested(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s) {
        int32_t *want = malloc((size_t)sizes[s] * sizeof *want);
        for (int64_t i = 0; i < sizes[s]; ++i)
            want[i] = nested_loops(i, i);
        wf_graph *g = wf_begin(ctx, .flags_off = s & 1 ? WF_FLAG_LOOP_OPT : 0);
        wf_val i = wf_cast(wf_iota(g, WF_SHAPE(sizes[s]), 0), WF_I32);
        wf_var sum = record_nested_loops(g, i);
        wf_array *out = wf_keep(sum);
        OK(ctx, wf_run(g));
        expect_i32_shape(out, want, sizes[s]);
        free(want);
    }
}

/* ---- no turns, by condition or by a constant; a condition that is false keeps the values ---- */
static void test_no_turns(void **state)
{
    (void)state;
    wf_array *in = ramp(WF_I32, 100, 0);
    int32_t want[100];
    for (int way = 0; way < 4; ++way) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, in), k;
        wf_var x = wf_local(g, WF_I32, v);
        switch (way) {
        case 0:
            WF_WHILE (g, 0) {
                wf_inc(x, 1);
            }
            WF_END(g);
            break;
        case 1:
            WF_WHILE (g, wf_lt(v, -1)) {
                wf_inc(x, 1);
            }
            WF_END(g);
            break;
        case 2:
            WF_FOR (g, k, 5, 5, 1) {
                wf_inc(x, k);
            }
            WF_END(g);
            break;
        default:
            WF_IF (g, wf_gt(v, 1000)) {
                wf_set(x, wf_mul(v, v));
            }
            WF_END(g);
        }
        wf_array *out = wf_keep(x);
        OK(ctx, wf_run(g));
        for (int i = 0; i < 100; ++i)
            want[i] = i;
        expect_i32_shape(out, want, 100);
    }
    wf_release(in);
}

/* ---- conditions that are scalars ---- */
static void test_uniform(void **state)
{
    (void)state;
    wf_array *in = ramp(WF_F64, 333, 0), *turns = wf_full(ctx, WF_I32, WF_SCALAR, 3);
    for (int scale = 0; scale < 2; ++scale) {
        wf_graph *g = wf_begin(ctx);
        wf_var v = wf_local(g, WF_F64, wf_in(g, in)), done = wf_local(g, WF_I32, 0);
        wf_val k;
        WF_IF (g, wf_eq(wf_param(g, "scale", WF_I32, scale), 1)) {
            wf_set(v, wf_mul(v, 2));
        }
        WF_ELSE(g)
        {
            WF_FOR (g, k, 0, wf_in(g, turns), 1) {
                wf_set(v, wf_add(wf_mul(v, 0.5), wf_cast(k, WF_F64)));
                wf_inc(done, 1);
            }
            WF_END(g);
        }
        WF_END(g);
        assert_int_equal(wf_val_shape(wf_get(done)).rank, 0); /* no turn depends on an element */
        wf_array *out = wf_keep(v), *count = wf_keep(done);
        OK(ctx, wf_run(g));
        double *x = contents(out);
        for (int i = 0; i < 333; ++i)
            assert_true(x[i] == (scale ? 2.0 * i : ((0.5 * i) * 0.5 + 1) * 0.5 + 2));
        free(x);
        wf_release(out);
        const int32_t want = scale ? 0 : 3;
        expect_i32_shape(count, &want, 1);
    }
    wf_release(in);
    wf_release(turns);
}

/* ---- memory: gathers whose index is right for active lanes only; scatters and sums, once ---- */
static void test_gather_and_accumulate(void **state)
{
    (void)state;
    enum { N = 1000, BINS = 16 };
    wf_array *table = ramp(WF_I32, 50, 100), *seen = wf_full(ctx, WF_I32, WF_SHAPE(BINS), 0);
    wf_array *last = wf_full(ctx, WF_I32, WF_SHAPE(N), -1);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0), k;
    wf_var sum = wf_local(g, WF_I32, 0);
    WF_FOR (g, k, 0, wf_mod(i, 7), 1) {
        wf_val at = wf_add(i, wf_mul(k, 3));
        WF_IF (g, wf_lt(at, 50)) {
            wf_inc(sum, wf_read(g, table, at)); /* most lanes are far outside */
        }
        WF_END(g);
        wf_accumulate(g, WF_JOIN_ADD, seen, 1, wf_mod(wf_add(i, k), BINS));
        wf_write(g, last, wf_cast(k, WF_I32), wf_sub(N - 1, i));
    }
    WF_END(g);
    wf_array *out = wf_keep(sum), *all = wf_keep(wf_sum(sum, WF_ALL_AXES)),
             *wide = wf_keep(wf_add(sum, wf_iota(g, WF_SHAPE(3, N), 0))); /* these do not run the loop again */
    wf_array *later = wf_keep(wf_in(g, seen));
    OK(ctx, wf_run(g));
    int32_t want[N] = { 0 }, bins[BINS] = { 0 }, ends[N];
    int64_t total = 0, got = 0;
    for (int a = 0; a < N; ++a) {
        ends[N - 1 - a] = a % 7 - 1;
        for (int b = 0; b < a % 7; ++b) {
            want[a] += a + 3 * b < 50 ? 100 + a + 3 * b : 0;
            ++bins[(a + b) % BINS];
        }
        total += want[a];
    }
    OK(ctx, wf_download(all, &got, sizeof got));
    assert_int_equal(got, total);
    int64_t *w = contents(wide);
    for (int a = 0; a < 3 * N; ++a)
        assert_int_equal(w[a], want[a % N] + a / N);
    free(w);
    expect_i32_shape(out, want, N);
    expect_i32_shape(later, bins, BINS);
    expect_i32_shape(seen, bins, BINS);
    expect_i32_shape(last, ends, N);
    wf_release(all);
    wf_release(wide);
    wf_release(table);
}

/* In place and by condition. A read before a block sees the old contents, a read after it the new ones. */
static void test_memory_order(void **state)
{
    (void)state;
    enum { N = 257 };
    wf_array *a = ramp(WF_I32, N, 0), *b = ramp(WF_I32, N, 0);
    wf_array *back = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);
    wf_graph *g = wf_begin(ctx);
    wf_val old = wf_in(g, a), mirrored = wf_in(g, back), i = wf_iota(g, WF_SHAPE(N), 0), k;
    wf_val there = wf_read(g, b, wf_sub(N - 1, i));
    WF_IF (g, wf_eq(wf_mod(i, 3), 0)) {
        wf_out(g, a, wf_add(mirrored, 1000));                      /* reads a reversed view of itself */
        wf_write(g, b, wf_read(g, b, wf_mod(wf_add(i, 1), N)), i); /* the old neighbour */
        WF_FOR (g, k, 0, 4, 1) {
            wf_out(g, a, wf_add(wf_in(g, a), 1)); /* each turn sees the one before */
        }
        WF_END(g);
    }
    WF_END(g);
    wf_array *was = wf_keep(wf_add(old, there)), *is = wf_keep(wf_sub(wf_in(g, a), old)), *copy = wf_keep(wf_in(g, b));
    OK(ctx, wf_run(g));
    int32_t before[N], change[N], now[N], next[N];
    for (int n = 0; n < N; ++n) {
        before[n] = n + N - 1 - n;
        now[n] = n % 3 ? n : N - 1 - n + 1004;
        change[n] = now[n] - n;
        next[n] = n % 3 ? n : (n + 1) % N;
    }
    expect_i32_shape(was, before, N);
    expect_i32_shape(is, change, N);
    expect_i32_shape(copy, next, N);
    expect_i32_shape(a, now, N);
    expect_i32_shape(b, next, N);
    wf_release(back);
}

/* Each lane that wants a slot gets one, each slot once: the result of an atomic operation leaves the loop as a
 * state. */
static void test_atomics(void **state)
{
    (void)state;
    enum { N = 501 };
    wf_array *next = wf_full(ctx, WF_I64, WF_SHAPE(1), 0), *in = ramp(WF_I64, N, 0);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, in);
    wf_var slot = wf_local(g, WF_I64, -1);
    WF_IF (g, wf_eq(wf_mod(v, 5), 2)) {
        wf_set(slot, wf_atomic(g, WF_JOIN_INC, next, 0, 0));
    }
    WF_END(g);
    wf_array *mine = wf_keep(slot), *sum = wf_keep(wf_sum(slot, WF_ALL_AXES));
    OK(ctx, wf_run(g));
    bool taken[N] = { false };
    int64_t *x = contents(mine), total = 0, want = 0;
    for (int i = 0; i < N; ++i) {
        want += x[i];
        if (i % 5 != 2)
            assert_int_equal(x[i], -1);
        else {
            assert_true(x[i] >= 0 && x[i] < 100 && !taken[x[i]]);
            taken[x[i]] = true;
        }
    }
    OK(ctx, wf_download(sum, &total, sizeof total));
    assert_int_equal(total, want);
    free(x);
    wf_release(mine);
    wf_release(sum);
    wf_release(next);
    wf_release(in);
}

/* ---- states of two shapes, and results in later stages ---- */
static void test_two_shapes(void **state)
{
    (void)state;
    wf_array *rows = ramp(WF_F64, 5, 1), *columns = ramp(WF_F64, 300, 1), *tall = wf_view_reshape(rows, WF_SHAPE(5, 1));
    wf_graph *g = wf_begin(ctx);
    wf_val r = wf_in(g, tall), c = wf_in(g, columns), k;
    wf_var a = wf_local(g, WF_F64, r), both = wf_local(g, WF_F64, 0), count = wf_local(g, WF_F64, 0);
    WF_FOR (g, k, 0, 6, 1) {
        wf_set(a, wf_add(a, r));
        wf_set(both, wf_add(wf_mul(a, c), both));
        wf_inc(count, 2);
    }
    WF_END(g);
    wf_array *x = wf_keep(a), *y = wf_keep(both), *n = wf_keep(count);
    wf_array *share = wf_keep(wf_div(both, wf_sum(both, WF_ALL_AXES)));
    OK(ctx, wf_run(g));
    double *xs = contents(x), *ys = contents(y), *shares = contents(share), total = 0;
    assert_true(wf_array_count(x) == 5 && wf_array_count(n) == 1 && scalar_f64(n) == 12);
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 300; ++j) {
            assert_true(xs[i] == 7.0 * (i + 1));
            assert_true(ys[i * 300 + j] == 27.0 * (i + 1) * (j + 1));
            total += ys[i * 300 + j];
        }
    for (int i = 0; i < 1500; ++i)
        assert_true(shares[i] == ys[i] / total);
    free(xs);
    free(ys);
    free(shares);
    wf_array *all[] = { rows, columns, tall, x, y, n, share };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* A loop whose result starts another one; every dtype. */
static void test_every_dtype(void **state)
{
    (void)state;
    for (int d = 0; d < TEST_DTYPES; ++d) {
        wf_dtype t = test_dtypes[d];
        wf_array *in = wf_full(ctx, t, WF_SHAPE(101), 1);
        wf_graph *g = wf_begin(ctx);
        wf_val i = wf_iota(g, WF_SHAPE(101), 0), k;
        wf_var v = wf_local(g, t, 0);
        for (int again = 0; again < 2; ++again) {
            WF_FOR (g, k, 0, wf_mod(i, 4), 1) {
                wf_set(v, t == WF_BOOL ? wf_in(g, in) : wf_add(v, wf_in(g, in)));
            }
            WF_END(g);
        }
        wf_array *out = wf_keep(wf_cast(v, WF_F64));
        uint64_t before = kernels();
        OK(ctx, wf_run(g));
        assert_int_equal(kernels() - before, 1);
        double *x = contents(out);
        for (int j = 0; j < 101; ++j)
            assert_true(x[j] == (t == WF_BOOL ? j % 4 > 0 : 2.0 * (j % 4)));
        free(x);
        wf_release(in);
        wf_release(out);
    }
    wf_graph *g = wf_begin(ctx);
    wf_var z = wf_local(g, WF_C64, 1);
    wf_val k;
    WF_FOR (g, k, 0, wf_iota(g, WF_SHAPE(50), 0), 1) {
        wf_set(z, wf_mul(z, wf_const_complex(g, WF_C64, 0, 1)));
    }
    WF_END(g);
    wf_array *out = wf_keep(z);
    OK(ctx, wf_run(g));
    float(*x)[2] = contents(out);
    static const float want[4][2] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
    for (int i = 0; i < 50; ++i)
        assert_true(x[i][0] == want[i % 4][0] && x[i][1] == want[i % 4][1]);
    free(x);
    wf_release(out);
}

/* ---- code of unused states is removed ---- */
static void test_unused_states(void **state)
{
    (void)state;
    wf_array *in = ramp(WF_F32, 64, 0);
    for (int both = 0; both < 2; ++both) {
        wf_graph *g = wf_begin(ctx);
        wf_array *out = wf_formal(g, "out", WF_F32, 1), *other = wf_formal(g, "other", WF_F32, 1);
        wf_var a = wf_local(g, WF_F32, wf_in(g, in)), b = wf_local(g, WF_F32, 1);
        wf_val k;
        WF_FOR (g, k, 0, wf_cast(wf_in(g, in), WF_I32), 1) {
            wf_set(a, wf_mul(a, 0.5f));
            wf_set(b, wf_sqrt(wf_add(b, a)));
        }
        WF_END(g);
        wf_out(g, out, a);
        if (both)
            wf_out(g, other, b);
        wf_kernel *kernel = wf_compile(g);
        assert_non_null(kernel);
        wf_array *x = wf_like(in), *y = wf_like(in);
        static char text[1 << 16];
        size_t n;
        wf_args args = WF_ARGS(WF_ARG("out", x), WF_ARG("other", y));
        OK(ctx, wf_launch(kernel, args));
        OK(ctx, wf_kernel_dump(kernel, args, WF_DUMP_KERNELS, text, sizeof text, &n));
        assert_true((strstr(text, "sqrt") != NULL) == both);
        float *got = contents(x);
        for (int i = 0; i < 64; ++i)
            assert_true(got[i] == ldexpf((float)i, -i));
        free(got);
        wf_kernel_free(kernel);
        wf_release(x);
        wf_release(y);
    }
    wf_release(in);
}

/* Without WF_FLAG_DEAD_CODE unused values are computed, too; results are the same. */
static void test_dead_code(void **state)
{
    (void)state;
    wf_array *in = ramp(WF_F32, 64, 0);
    for (int off = 0; off < 2; ++off) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(64), .flags_off = off ? WF_FLAG_DEAD_CODE : 0);
        wf_array *out = wf_formal(g, "out", WF_F32, 1);
        wf_val i = wf_index(g, 0), v = wf_read(g, in, i), k;
        wf_var a = wf_local(g, WF_F32, v), b = wf_local(g, WF_F32, 1);
        WF_FOR (g, k, 0, wf_mod(i, 5), 1) {
            wf_inc(a, 1);
            wf_set(b, wf_sqrt(wf_add(b, a)));
        }
        WF_END(g);
        wf_write(g, out, 7, i);
        wf_write(g, out, a, i);
        wf_kernel *kernel = wf_compile(g);
        assert_non_null(kernel);
        wf_array *x = wf_like(in);
        static char text[1 << 16];
        size_t n;
        wf_args args = WF_ARGS(WF_ARG("out", x));
        OK(ctx, wf_launch(kernel, args));
        OK(ctx, wf_kernel_dump(kernel, args, WF_DUMP_KERNELS, text, sizeof text, &n));
        const char *lowered = strstr(text, "lower");
        assert_non_null(lowered);
        assert_true((strstr(lowered, "sqrt") != NULL) == off);
        float *got = contents(x);
        for (int j = 0; j < 64; ++j)
            assert_true(got[j] == (float)(j + j % 5));
        free(got);
        wf_kernel_free(kernel);
        wf_release(x);
    }
    wf_release(in);
}

/* ---- as a kernel: extents are known at launch ---- */
static void test_formals(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *in = wf_formal(g, "in", WF_I32, 1), *out = wf_formal(g, "out", WF_I32, 1);
    wf_val v = wf_in(g, in), k;
    wf_var n = wf_local(g, WF_I32, 1);
    WF_FOR (g, k, 0, wf_mod(v, 5), 1) {
        wf_set(n, wf_mul(n, 3));
    }
    WF_END(g);
    wf_out(g, out, n);
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    for (int s = 0; s < SIZES; ++s) {
        wf_array *x = ramp(WF_I32, sizes[s], 0), *y = wf_like(x);
        OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("in", x), WF_ARG("out", y))));
        static const int32_t power[5] = { 1, 3, 9, 27, 81 };
        int32_t *got = contents(y);
        for (int64_t i = 0; i < sizes[s]; ++i)
            assert_int_equal(got[i], power[i % 5]);
        free(got);
        wf_release(x);
        wf_release(y);
    }
    wf_array *x = ramp(WF_I32, 10, 0), *y = ramp(WF_I32, 11, 0);
    REFUSED(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("in", x), WF_ARG("out", y))), WF_ERR_SHAPE, "(10)");
    wf_release(x);
    wf_release(y);
    wf_kernel_free(kernel);
}

/* ---- errors: they name the line, and nothing has run ---- */
static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = ramp(WF_I32, 10, 0), *b = ramp(WF_I32, 7, 0), *square = wf_full(ctx, WF_I32, WF_SHAPE(10, 10), 1);
    int32_t untouched[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, 5);
    wf_var x = wf_local(g, WF_I32, wf_in(g, a));
    WF_WHILE (g, wf_gt(x, 1)) {
        wf_set(x, wf_in(g, b));
    }
    WF_END(g);
    REFUSED(
        ctx, wf_run(g), WF_ERR_SHAPE,
        "wf_set: a value of shape (7), a variable of shape (10) and lanes of shape (10) do not broadcast, in the block");

    g = wf_begin(ctx); /* fits at first, but not after it has grown */
    wf_var one = wf_local(g, WF_I32, 0), two = wf_local(g, WF_I32, 0);
    wf_val k;
    WF_FOR (g, k, 0, 3, 1) {
        wf_set(two, wf_add(one, wf_in(g, b)));
        wf_set(one, wf_in(g, a));
    }
    WF_END(g);
    wf_out(g, a, one);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "test_control_flow_arrays.c:");

    g = wf_begin(ctx);
    WF_IF (g, wf_gt(wf_in(g, square), 0)) {
        wf_out(g, a, 1); /* ten points for each element */
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "(10, 10)");

    g = wf_begin(ctx);
    WF_IF (g, wf_gt(wf_in(g, a), 0)) {
        wf_release(wf_keep(wf_in(g, a)));
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_keep: not inside a block");

    g = wf_begin(ctx);
    x = wf_local(g, WF_I64, 0);
    WF_IF (g, wf_gt(wf_in(g, a), 0)) {
        wf_set(x, wf_sum(wf_in(g, a), WF_ALL_AXES));
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_reduce: not inside a block");

    g = wf_begin(ctx); /* effects of two shapes on the same array */
    WF_IF (g, wf_param(g, "on", WF_BOOL, 1)) {
        wf_out(g, a, 4);
        wf_out(g, square, wf_in(g, a));
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "another shape");

    wf_array *left = wf_view_slice(a, 0, 0, 9, 1), *right = wf_view_slice(a, 0, 1, 10, 1);
    g = wf_begin(ctx);
    WF_FOR (g, k, 0, 3, 1) {
        wf_out(g, left, wf_in(g, right));
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "in a loop");

    g = wf_begin(ctx); /* the context stays usable */
    wf_array *fine = wf_keep(wf_in(g, a));
    OK(ctx, wf_run(g));
    expect_i32_shape(fine, untouched, 10);
    wf_release(left);
    wf_release(right);
    wf_release(a);
    wf_release(b);
    wf_release(square);
}

/* A variable whose shape differs from that of a block keeps its value before and after the block. */
static void test_unrelated(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_var row = wf_local(g, WF_I32, wf_iota(g, WF_SHAPE(3), 0)), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(n, wf_iota(g, WF_SHAPE(5), 0))) {
        WF_IF (g, wf_lt(n, 2)) {
            wf_inc(n, 1);
        }
        WF_ELSE(g) { wf_inc(n, 3); }
        WF_END(g);
    }
    WF_END(g);
    wf_inc(row, 7);
    wf_array *left = wf_keep(row), *turns = wf_keep(n);
    OK(ctx, wf_run(g));
    const int32_t rows[] = { 7, 8, 9 }, counts[] = { 0, 1, 2, 5, 5 };
    int32_t got[5];
    OK(ctx, wf_download(left, got, sizeof rows));
    assert_memory_equal(got, rows, sizeof rows);
    OK(ctx, wf_download(turns, got, sizeof counts));
    assert_memory_equal(got, counts, sizeof counts);
    wf_release(left);
    wf_release(turns);
}

/* Blocks of unrelated lanes, evaluated in between in every possible way: a block keeps nothing of variables that it
 * does not use. */
static void test_unrelated_evaluated(void **state)
{
    (void)state;
    for (int how = 0; how < 4; ++how) {
        wf_array *a = ramp(WF_I32, 3, 0), *b = ramp(WF_I32, 6, 0);
        wf_graph *g = wf_begin(ctx), *other = NULL;
        wf_var x = wf_local(g, WF_I32, wf_in(g, a));
        wf_var y = wf_local(g, WF_I32, how == 1 ? wf_block_reduce(WF_JOIN_ADD, wf_in(g, b), 3) : wf_in(g, b));
        WF_IF (g, wf_gt(x, 1)) {
            wf_set(x, 10);
        }
        WF_END(g);
        WF_IF (g, wf_gt(y, 4)) {
            wf_set(y, wf_mul(y, 20));
        }
        WF_END(g);
        wf_array *kept_x = wf_keep(x), *kept_y = wf_keep(y), *more = NULL;
        if (how < 2) {
            OK(ctx, wf_eval(g));
        } else if (how == 2) {
            more = wf_compress(x, wf_gt(x, 0));
            expect_i32_shape(more, (int32_t[]){ 1, 10 }, 2);
        } else {
            other = wf_begin(ctx);
            more = wf_keep(wf_add(wf_in(other, kept_x), 1));
            OK(ctx, wf_run(other));
            expect_i32_shape(more, (int32_t[]){ 1, 2, 11 }, 3);
        }
        expect_i32_shape(kept_x, (int32_t[]){ 0, 1, 10 }, 3);
        if (how == 1)
            expect_i32_shape(kept_y, (int32_t[]){ 3, 240 }, 2);
        else
            expect_i32_shape(kept_y, (int32_t[]){ 0, 1, 2, 3, 4, 100 }, 6);
        wf_array *after = wf_keep(wf_add(y, 1));
        OK(ctx, wf_run(g));
        if (how == 1)
            expect_i32_shape(after, (int32_t[]){ 4, 241 }, 2);
        else
            expect_i32_shape(after, (int32_t[]){ 1, 2, 3, 4, 5, 101 }, 6);
        wf_release(a);
        wf_release(b);
    }
}

static int on_debug(void **state)
{
    (void)state;
    ctx = test_context(WF_CPU, 1);
    wf_set_flags(ctx, WF_FLAG_DEBUG, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collatz),       cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_nested),        cmocka_unit_test(test_no_turns),
        cmocka_unit_test(test_uniform),       cmocka_unit_test(test_gather_and_accumulate),
        cmocka_unit_test(test_memory_order),  cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_two_shapes),    cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_unused_states), cmocka_unit_test(test_dead_code),
        cmocka_unit_test(test_formals),       cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_unrelated),     cmocka_unit_test(test_unrelated_evaluated),
    };
    return RUN_ON_ALL(tests) + cmocka_run_group_tests_name("debug", tests, on_debug, off);
}
