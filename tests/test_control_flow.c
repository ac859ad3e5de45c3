/* test_control_flow.c - conditions and loops in index spaces: nested, left early, with reads, writes and reductions
 * inside; errors. Results are those of plain C on the processor and in the interpreter, for sizes that leave tails.
 *
 * ctest: devices baseline
 */
#include "nested_loops.h"
#include "on_devices.h"

enum { SIZES = 5 };
static const int64_t sizes[SIZES] = { 1, 7, 64, 333, 4099 };

static wf_array *ramp(wf_dtype dtype, int64_t n) { return wf_array_arange(ctx, dtype, n, 0, 1); }

/* Runs the recording and compares each element of an i32 array with what `want` returns for its index. */
static void expect_i32(wf_graph *g, wf_array *out, int32_t (*want)(int64_t i))
{
    OK(ctx, wf_run(g));
    int32_t *x = contents(out);
    for (int64_t i = 0; i < wf_array_count(out); ++i)
        if (x[i] != want(i))
            fail_msg("at %lld: %d instead of %d", (long long)i, (int)x[i], (int)want(i));
    free(x);
    wf_release(out);
}

static int32_t collatz(int64_t i)
{
    int32_t steps = 0;
    for (int64_t x = i + 1; x > 1; x = x & 1 ? 3 * x + 1 : x >> 1)
        ++steps;
    return steps;
}

static void test_while(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s) {
        wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(sizes[s]));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(sizes[s]));
        wf_var x = wf_local(g, WF_I64, wf_add(wf_index(g, 0), 1)), steps = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_gt(x, 1)) {
            WF_IF (g, wf_eq(wf_and(x, 1), 0)) {
                wf_set(x, wf_shr(x, 1));
            }
            WF_ELSE(g) { wf_set(x, wf_add(wf_mul(x, 3), 1)); }
            WF_END(g);
            wf_inc(steps, 1);
        }
        WF_END(g);
        wf_out(g, out, steps);
        expect_i32(g, out, collatz);
    }
}

static int32_t escape_at(int64_t i, float step)
{
    float cx = fmaf((float)(i % 61), step, -2), cy = fmaf((float)(i / 61), step, -1), x = 0, y = 0;
    int32_t n = 0;
    while (n < 50 && x * x + y * y <= 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        ++n;
    }
    return n;
}
static int32_t escape(int64_t i) { return escape_at(i, 0.04f); }

static void test_mandelbrot(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(37, 61));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(37, 61));
    wf_val cx = wf_fma(wf_cast(wf_index(g, 1), WF_F32), 0.04f, -2),
           cy = wf_fma(wf_cast(wf_index(g, 0), WF_F32), 0.04f, -1);
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, 50), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val t = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_expr(g, "2*x*y + cy", WF_NAMED(x, y, cy)));
        wf_set(x, t);
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_out(g, out, n);
    expect_i32(g, out, escape);
}

/* Loops in loops, left by break and continue from within conditions. */
static int32_t nested(int64_t i) { return nested_loops(i, i); }

static void test_nested(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s) {
        wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(sizes[s]));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(sizes[s]));
        wf_val i = wf_cast(wf_index(g, 0), WF_I32);
        wf_var sum = record_nested_loops(g, i);
        wf_out(g, out, sum);
        expect_i32(g, out, nested);
    }
}

/* A loop with known bounds is unrolled; one whose bound is a parameter is a real loop, and so is one without the
 * optimisation. All read neighbours by index, only where a condition allows it. */
static void run_window(wf_array *in, wf_array *out, int64_t radius, bool known, uint32_t off)
{
    int64_t n = wf_array_count(in);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n), .flags_off = off);
    wf_val r = known ? (wf_val){ { (double)radius, NULL } } : wf_param(g, "r", WF_I64, (double)radius);
    wf_val i = wf_index(g, 0), k, last = wf_sub(wf_extent(g, 0), 1);
    wf_var sum = wf_local(g, WF_F32, 0);
    WF_FOR (g, k, wf_neg(r), wf_add(r, 1), 1) {
        wf_val at = wf_add(i, k);
        WF_IF (g, wf_and(wf_ge(at, 0), wf_le(at, last))) {
            wf_inc(sum, wf_mul(wf_read(g, in, at), wf_cast(wf_add(k, 10), WF_F32)));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_out(g, out, sum);
    OK(ctx, wf_run(g));
}

static void test_window(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s)
        for (int way = 0; way < 4; ++way) {
            int64_t n = sizes[s], radius = 3;
            wf_array *in = ramp(WF_F32, n), *out = wf_empty(ctx, WF_F32, WF_SHAPE(n));
            run_window(in, out, radius, way & 1, way & 2 ? WF_FLAG_LOOP_OPT : 0);
            float *x = contents(out);
            for (int64_t i = 0; i < n; ++i) {
                float want = 0;
                for (int64_t k = -radius; k <= radius; ++k)
                    if (i + k >= 0 && i + k < n)
                        want += (float)(i + k) * (float)(k + 10);
                assert_true(x[i] == want);
            }
            free(x);
            wf_release(in);
            wf_release(out);
        }
}

/* Writes inside conditions and loops: only active lanes write, and a point reads in the next turn what it wrote. */
static int32_t written(int64_t i) { return i % 3 == 0 ? (int32_t)(7 * (i % 5)) : -1; }

static void test_writes(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s)
        for (int flags = 0; flags < 2; ++flags) {
            wf_array *out = wf_full(ctx, WF_I32, WF_SHAPE(sizes[s]), -1);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(sizes[s]), .flags_off = flags ? WF_FLAG_LOOP_OPT : 0);
            wf_val i = wf_index(g, 0), k;
            WF_IF (g, wf_eq(wf_mod(i, 3), 0)) {
                wf_write(g, out, 0, i);
                WF_FOR (g, k, 0, wf_mod(i, 5), 1) {
                    wf_write(g, out, wf_add(wf_read(g, out, i), 7), i);
                }
                WF_END(g);
            }
            WF_END(g);
            expect_i32(g, out, written);
        }
}

/* Conditions that are the same for all points, on a parameter and on an outer index. */
static void test_uniform(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(6, 77)), *in = ramp(WF_F64, 77);
    for (int scale = 0; scale < 2; ++scale) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6, 77));
        wf_val y = wf_index(g, 0), x = wf_index(g, 1), on = wf_param(g, "scale", WF_I32, scale);
        wf_var v = wf_local(g, WF_F64, wf_read(g, in, x)), turns = wf_local(g, WF_I64, 0);
        WF_IF (g, wf_eq(on, 1)) {
            wf_set(v, wf_exp(wf_sin(wf_mul(v, 0.01))));
        }
        WF_ELSE(g)
        {
            WF_LOOP(g)
            {
                WF_IF (g, wf_ge(turns, y)) {
                    wf_break(g);
                }
                WF_END(g);
                wf_set(v, wf_add(wf_mul(v, 0.5), 1));
                wf_inc(turns, 1);
            }
            WF_END(g);
        }
        WF_END(g);
        wf_out(g, out, v);
        OK(ctx, wf_run(g));
        double *got = contents(out);
        for (int i = 0; i < 6 * 77; ++i) {
            double want = i % 77;
            for (int t = 0; t < i / 77 && !scale; ++t)
                want = want * 0.5 + 1;
            if (scale)
                assert_true(fabs(got[i] - exp(sin(want * 0.01))) < 1e-14);
            else
                assert_true(got[i] == want);
        }
        free(got);
    }
    wf_release(in);
    wf_release(out);
}

/* Reduced variables in blocks. */
static void test_reduced(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s) {
        int64_t n = sizes[s], want_sum = 0, want_most = -1;
        wf_array *sum = wf_empty(ctx, WF_I64, WF_SHAPE(1)), *most = wf_empty(ctx, WF_I64, WF_SHAPE(1));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n), .reduce = WF_ALL_AXES);
        wf_var total = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD), top = wf_reduced(g, WF_I64, -1, WF_JOIN_MAX);
        wf_val i = wf_index(g, 0), k;
        WF_FOR (g, k, 0, wf_mod(i, 7), 1) {
            WF_IF (g, wf_eq(k, 4)) {
                wf_continue(g);
            }
            WF_END(g);
            wf_inc(total, wf_mul(k, i));
            wf_set(top, wf_max(top, wf_xor(i, k)));
        }
        WF_END(g);
        wf_section(g, WF_SECTION_POST);
        wf_out(g, sum, total);
        wf_out(g, most, top);
        OK(ctx, wf_run(g));
        for (int64_t a = 0; a < n; ++a)
            for (int64_t b = 0; b < a % 7; ++b)
                if (b != 4) {
                    want_sum += a * b;
                    want_most = (a ^ b) > want_most ? (a ^ b) : want_most;
                }
        int64_t *x = contents(sum), *y = contents(most);
        assert_true(*x == want_sum && *y == want_most);
        free(x);
        free(y);
        wf_release(sum);
        wf_release(most);
    }
}

/* Two states that swap, an unused state, and one that never changes. */
static int32_t fibonacci(int64_t i)
{
    uint32_t a = 0, b = 1;
    for (int64_t k = 0; k < i % 40; ++k) {
        uint32_t t = a;
        a = b;
        b += t;
    }
    return (int32_t)(a + 3);
}

static void test_states(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; ++s) {
        wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(sizes[s]));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(sizes[s]));
        wf_var a = wf_local(g, WF_U32, 0), b = wf_local(g, WF_U32, 1), unused = wf_local(g, WF_F32, 1);
        wf_var fixed = wf_local(g, WF_U32, 3);
        wf_val k;
        WF_FOR (g, k, 0, wf_mod(wf_index(g, 0), 40), 1) {
            wf_val t = wf_get(a);
            wf_set(a, b);
            wf_set(b, wf_add(b, t));
            wf_set(unused, wf_exp(unused));
            wf_set(fixed, fixed);
        }
        WF_END(g);
        wf_out(g, out, wf_cast(wf_add(a, fixed), WF_I32));
        expect_i32(g, out, fibonacci);
    }
}

/* Every dtype goes through a loop. */
static void test_dtypes_in_loops(void **state)
{
    (void)state;
    for (int d = 0; d < TEST_DTYPES; ++d) {
        wf_dtype t = test_dtypes[d];
        int64_t n = 101;
        wf_array *in = wf_full(ctx, t, WF_SHAPE(n), 1), *out = wf_empty(ctx, t, WF_SHAPE(n));
        wf_array *times = wf_empty(ctx, WF_I32, WF_SHAPE(n));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
        wf_var v = wf_local(g, t, 0), turns = wf_local(g, WF_I32, 0);
        wf_val k;
        WF_FOR (g, k, 0, wf_add(wf_mod(wf_index(g, 0), 4), 1), 1) {
            wf_set(v, t == WF_BOOL ? wf_in(g, in) : wf_add(v, wf_in(g, in)));
            wf_inc(turns, 1);
        }
        WF_END(g);
        wf_out(g, out, v);
        wf_out(g, times, turns);
        OK(ctx, wf_run(g));
        wf_array *back = NULL;
        g = wf_begin(ctx);
        back = wf_keep(wf_cast(wf_in(g, out), WF_F64));
        OK(ctx, wf_run(g));
        double *x = contents(back);
        int32_t *c = contents(times);
        for (int64_t i = 0; i < n; ++i) {
            assert_true(c[i] == i % 4 + 1);
            assert_true(x[i] == (t == WF_BOOL ? 1 : (double)(i % 4 + 1)));
        }
        free(x);
        free(c);
        wf_release(in);
        wf_release(out);
        wf_release(times);
        wf_release(back);
    }
}

static void test_complex_state(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_C64, WF_SHAPE(50));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(50));
    wf_var z = wf_local(g, WF_C64, 1);
    wf_val k;
    WF_FOR (g, k, 0, wf_index(g, 0), 1) {
        wf_set(z, wf_mul(z, wf_const_complex(g, WF_C64, 0, 1)));
    }
    WF_END(g);
    wf_out(g, out, z);
    OK(ctx, wf_run(g));
    float(*x)[2] = contents(out);
    static const float want[4][2] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
    for (int i = 0; i < 50; ++i)
        assert_true(x[i][0] == want[i % 4][0] && x[i][1] == want[i % 4][1]);
    free(x);
    wf_release(out);
}

/* The handle of the CPU: one thread, one point at a time, known while recording. */
static int32_t one_pass(int64_t i) { return (int32_t)(3 * i); }

static void test_handle(void **state)
{
    (void)state;
    if (is_on_gpu())
        skip(); /* test_thread_blocks has the handle of GPUs */
    wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(100));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100));
    wf_val k;
    wf_var sum = wf_local(g, WF_I32, 0);
    assert_false(wf_is_gpu(g));
    WF_FOR (g, k, wf_thread_id(g, 0), 3, wf_block_size(g, -1)) {
        wf_inc(sum, wf_index(g, 0));
    }
    WF_END(g);
    wf_barrier(g);
    wf_out(g, out, sum);
    expect_i32(g, out, one_pass);
    g = wf_begin(ctx, .shape = WF_SHAPE(100));
    WF_IF (g, wf_eq(wf_index(g, 0), 1)) {
        wf_barrier(g);
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_barrier");
    g = wf_begin(ctx, .shape = WF_SHAPE(100));
    wf_thread_id(g, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 1");
}

/* ---- mistakes ---- */
static void test_mistakes(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(8));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8));
    WF_IF (g, wf_eq(wf_index(g, 0), 1)) {
        wf_write(g, out, 1, wf_index(g, 0));
    }
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "test_control_flow.c:");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "no block is open");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    WF_LOOP(g) { wf_break(g); }
    WF_ELSE(g) {}
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "WF_ELSE");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_while_(g, WF_HERE, wf_lt(wf_index(g, 0), 3));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "WF_WHILE: there is no loop around");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_for_(g, WF_HERE, NULL, WF_V(0), WF_V(4), WF_V(1)); /* a counter that the caller does not want */
    wf_write(g, out, 1, wf_index(g, 0));
    WF_END(g);
    OK(ctx, wf_run(g));

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_break(g);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "no loop around");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_val inside = { { 0, NULL } };
    WF_IF (g, wf_gt(wf_index(g, 0), 1)) {
        inside = wf_mul(wf_index(g, 0), 2);
    }
    WF_END(g);
    wf_out(g, out, inside);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "block that has ended");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_var local = { 0, NULL };
    WF_IF (g, wf_gt(wf_index(g, 0), 1)) {
        local = wf_local(g, WF_I32, 2);
    }
    WF_END(g);
    wf_out(g, out, local);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "block that has ended");

    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_val i;
    WF_FOR (g, i, 0, 2.5, 1) {
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "2.5");

    g = wf_begin(ctx, .shape = WF_SHAPE(8), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
    WF_IF (g, wf_gt(wf_index(g, 0), 2)) {
        wf_set(sum, 0);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, sum);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "joined");
    wf_release(out);
}

/* A store to an element by index, then one to the same element without index, then a read by index. No pass may give
 * the first value to the read, even after loops, which make it forget what memory holds. */
static void test_two_ways_to_one_element(void **state)
{
    (void)state;
    for (int turns = 0; turns < 3; ++turns)
        for (int loops = 0; loops < 3; ++loops) {
            wf_array *a = wf_array_arange(ctx, WF_I32, 5, 100, 1), *b = wf_full(ctx, WF_I32, WF_SHAPE(5), 0);
            int32_t x[5], y[5];
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5));
            wf_val i = wf_index(g, 0), k;
            wf_var sum = wf_local(g, WF_I32, 0);
            for (int l = 0; l < loops; ++l) {
                WF_FOR (g, k, 0, wf_param(g, "turns", WF_I32, turns), 1) {
                    wf_inc(sum, k);
                    wf_read(g, a, i); /* unused */
                }
                WF_END(g);
            }
            wf_write(g, a, -1, i);
            wf_out(g, a, wf_add(i, 7));
            wf_write(g, a, wf_add(wf_read(g, a, i), 1), i);
            wf_out(g, b, sum);
            OK(ctx, wf_run(g));
            OK(ctx, wf_download(a, x, sizeof x));
            OK(ctx, wf_download(b, y, sizeof y));
            for (int e = 0; e < 5; ++e)
                assert_true(x[e] == e + 8 && y[e] == loops * (turns * (turns - 1) / 2));
            wf_release(a), wf_release(b);
        }
}

/* All points, and then some of them again: in one kernel, and through an unrolled loop. */
static void test_points_run_again(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_U8, WF_I16, WF_F32, WF_F64, WF_C64 };
    for (int t = 0; t < 5; ++t)
        for (int way = 0; way < 4; ++way) {
            enum { N = 203 };
            wf_array *in = wf_array_arange(ctx, WF_I32, N, 0, 1), *a = wf_full(ctx, types[t], WF_SHAPE(N), 99);
            wf_graph *g = way & 1 ? wf_begin(ctx) : wf_begin(ctx, .shape = WF_SHAPE(N));
            wf_val v = wf_in(g, in), k, low = wf_mod(v, 100), some = wf_eq(wf_mod(v, 3), 1);
            if (way & 2) {
                WF_FOR (g, k, 0, 2, 1) {
                    wf_out(g, a, wf_cast(low, types[t]));
                }
                WF_END(g);
            } else {
                wf_out(g, a, wf_cast(low, types[t]));
            }
            WF_IF (g, some) {
                wf_out(g, a, wf_cast(wf_add(low, 1), types[t]));
            }
            WF_END(g);
            OK(ctx, wf_run(g));
            g = wf_begin(ctx);
            wf_val is = types[t] == WF_C64 ? wf_real(wf_in(g, a)) : wf_in(g, a);
            wf_array *whole = wf_keep(wf_cast(is, WF_I32));
            OK(ctx, wf_run(g));
            int32_t *x = contents(whole);
            for (int i = 0; i < N; ++i)
                assert_int_equal(x[i], i % 100 + (i % 3 == 1));
            free(x);
            wf_release(in), wf_release(a), wf_release(whole);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_run_again),
        cmocka_unit_test(test_two_ways_to_one_element),
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_mandelbrot),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_dtypes_in_loops),
        cmocka_unit_test(test_complex_state),
        cmocka_unit_test(test_handle),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
