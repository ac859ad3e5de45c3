/* test_debug.c - debug mode: the mistakes that it finds, how it names them, and that correct programs compute the same
 * results with it. */
#include "on_devices.h"
#include <weft/functions.h>

static char logged[512];

static void keep_log(int level, const char *text, void *user)
{
    (void)level, (void)user;
    snprintf(logged, sizeof logged, "%s", text);
}

static int debug_cpu(void **state) { return (void)state, in_debug_mode(WF_CPU, keep_log); }
static int debug_emulator(void **state) { return (void)state, in_debug_mode(WF_GPU_EMU(0), keep_log); }
static int debug_gpu(void **state) { return (void)state, in_debug_mode(WF_GPU(0), keep_log); }

/* On a GPU any of several findings may be named; the emulator visits points in order. */
static const char *in_order(const char *text) { return wf_context_device(ctx) == WF_GPU(0) ? "" : text; }

static void expect_all(wf_array *a, float want)
{
    float *x = contents(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        assert_true(x[i] == want);
    free(x);
}

static void test_bounds(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 7), 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(4, 7), 5);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4, 7), .name = "shifted");
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_out(g, out, wf_read(g, a, i, wf_add(j, 2)));
    EXPECT(ctx, WF_OK, WF_OK);
    wf_status status = wf_run(g);
    assert_int_equal(status, WF_ERR_BOUNDS);
    assert_non_null(strstr(wf_last_message(ctx), in_order("wf_read: index (0, 7) is outside array 1")));
    assert_int_equal(strncmp(wf_last_message(ctx), "wf_read: index (", 16), 0);
    assert_non_null(strstr(wf_last_message(ctx), " [in shifted begun at "));
    assert_non_null(strstr(wf_last_message(ctx), "f32 of shape (4, 7)"));
    assert_non_null(strstr(wf_last_message(ctx), in_order("at point (0, 5)")));
    wf_clear_error(ctx);

    g = wf_begin(ctx, .shape = WF_SHAPE(4, 7));
    wf_write(g, out, 1, wf_sub(wf_index(g, 0), 1), wf_index(g, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, in_order("wf_write: index (-1, 0) is outside"));

    g = wf_begin(ctx, .shape = WF_SHAPE(9));
    wf_accumulate(g, WF_JOIN_ADD, out, 1, wf_index(g, 0), 0);
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, in_order("wf_accumulate: index (4, 0)"));

    g = wf_begin(ctx); /* gather */
    wf_array *kept = wf_keep(wf_read(g, a, wf_iota(g, WF_SHAPE(5), 0), 0));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "index (4, 0)");
    wf_release(kept);

    g = wf_begin(ctx, .shape = WF_SHAPE(4, 7)); /* border modes, and reads that no point makes */
    i = wf_index(g, 0), j = wf_index(g, 1);
    wf_var v = wf_local(g, WF_F32, wf_read_or(g, a, 1, wf_sub(i, 3), wf_add(j, 90)));
    WF_IF (g, wf_lt(j, 5)) {
        wf_set(v, wf_read(g, a, i, wf_add(j, 2)));
    }
    WF_END(g);
    wf_out(g, out, v);
    OK(ctx, wf_run(g));
    expect_all(out, 1);
    wf_release(a), wf_release(out);
}

static void test_same_element(void **state)
{
    (void)state;
    wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(10), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(20));
    wf_write(g, out, 1, wf_idiv(wf_index(g, 0), 2));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, in_order("two points, (0,) and (1,), write the same element of array 1"));

    g = wf_begin(ctx, .shape = WF_SHAPE(20)); /* the same point twice is fine, and so is accumulation */
    wf_val i = wf_index(g, 0);
    WF_IF (g, wf_lt(i, 10)) {
        wf_write(g, out, 1, i);
        wf_write(g, out, 2, i);
    }
    WF_END(g);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .shape = WF_SHAPE(20));
    wf_accumulate(g, WF_JOIN_ADD, out, 1, wf_idiv(wf_index(g, 0), 2));
    OK(ctx, wf_run(g));
    expect_all(out, 4);

    g = wf_begin(ctx, .shape = WF_SHAPE(10)); /* without index, and by index */
    wf_out(g, out, 1);
    wf_write(g, out, 2, wf_mod(wf_add(wf_index(g, 0), 1), 10));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "write the same element of array 1");

    wf_array *few = wf_view_slice(out, 0, 7, 1, -2), *some = wf_view_slice(out, 0, 2, 5, 1); /* 7 5 3, 2 3 4 */
    for (int meet = 0; meet < 2; ++meet) { /* two arrays, one element of which is the same memory */
        g = wf_begin(ctx, .shape = WF_SHAPE(3));
        i = wf_index(g, 0);
        wf_write(g, few, 1, i);
        wf_write(g, some, 2, meet ? i : wf_mod(wf_mul(i, 2), 3));
        if (meet)
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "write the same element of array ");
        else
            OK(ctx, wf_run(g)); /* by the same point */
    }
    wf_release(few), wf_release(some);
    wf_release(out);
}

/* Elements of every size, forwards and backwards from the middle of their array; one pair of points writes the same
 * element. */
static void test_same_element_of_views(void **state)
{
    (void)state;
    const wf_dtype dtypes[] = { WF_BOOL, WF_F16, WF_I32, WF_F64, WF_C128 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k) {
        wf_array *all = wf_full(ctx, dtypes[k], WF_SHAPE(6, 8), 0), *row = wf_view_slice(all, 0, 1, 4, 1);
        wf_array *back = wf_view_slice(row, 1, 6, 0, -2);
        for (int meet = 0; meet < 2; ++meet) {
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3, 3));
            wf_val i = wf_index(g, 0), j = wf_index(g, 1), other = wf_select(wf_eq(i, meet ? 2 : 9), 0, j);
            wf_write(g, back, 1, wf_select(wf_eq(j, 2), i, wf_sub(2, i)), wf_select(wf_eq(j, 1), other, j));
            wf_status status = wf_run(g);
            if (!meet)
                OK(ctx, status);
            else
                REFUSED(ctx, status, WF_ERR_CONTRACT,
                        in_order("two points, (2, 0) and (2, 1), write the same element of array 1"));
        }
        wf_release(all), wf_release(row), wf_release(back);
    }
}

/* Where reads are in loops and reductions, and indices in 64 bits. */
static void test_bounds_elsewhere(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(40), 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(5), 7);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5));
    wf_val i = wf_index(g, 0);
    wf_var sum = wf_local(g, WF_F32, 0), k = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(k, 9)) {
        wf_set(sum, wf_add(sum, wf_read(g, a, wf_add(wf_mul(i, 8), k))));
        wf_set(k, wf_add(k, 1));
    }
    WF_END(g);
    wf_out(g, out, sum);
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS,
            "wf_read: index (40,) is outside array 1 of the recording (in order of first "
            "use; f32 of shape (40)), at point (4,)");

    wf_array *total = wf_full(ctx, WF_F64, (wf_shape){ .rank = 0 }, 3);
    g = wf_begin(ctx, .shape = WF_SHAPE(40), .reduce = WF_ALL_AXES);
    wf_var all = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_set(all, wf_add(all, wf_cast(wf_read(g, a, wf_mul(wf_index(g, 0), (int64_t)1 << 33)), WF_F64)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, total, all);
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, in_order("wf_read: index (8589934592,) is outside"));
    assert_true(scalar_f64(total) == 3);
    wf_release(a), wf_release(out), wf_release(total);
}

/* Scratch has no number, and does not change the numbers of the arrays after it. */
static void test_numbers(void **state)
{
    (void)state;
    for (int fault = 0; fault < 2; ++fault) {
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(5), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(7), 2);
        wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(20), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(20), .block = WF_SHAPE(10));
        wf_val i = wf_index(g, 0), v = wf_read(g, a, wf_mod(i, 5));
        wf_array *sums = wf_scratch(g, WF_F32, WF_SHAPE(3), true);
        wf_section(g, WF_SECTION_INIT);
        wf_write(g, sums, 1, fault ? 3 : 0);
        wf_section(g, WF_SECTION_CALL);
        wf_write(g, out, wf_add(wf_read(g, sums, 0), wf_add(v, wf_read(g, b, fault ? wf_mod(i, 7) : i))), i);
        REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS,
                fault ? "scratch of the recording (f32 of shape ("
                      : "outside array 2 of the recording (in order of first use; f32 of shape (7))");
        wf_release(a), wf_release(b), wf_release(out);
    }
}

/* Scratch of blocks, which on a GPU are blocks of threads: its indices are checked, too. */
static void test_scratch(void **state)
{
    (void)state;
    for (int fault = 0; fault < 3; ++fault) {
        wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(25), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(25), .block = WF_SHAPE(10), .name = "turned");
        wf_array *tile = wf_scratch(g, WF_I64, WF_SHAPE(10), true); /* a fault leaves no element unwritten */
        wf_val i = wf_index(g, 0), at = wf_sub(i, wf_mul(wf_block_id(g, 0), 10)), v = i;
        wf_write(g, tile, i, fault == 1 ? wf_add(at, 1) : at);
        if (wf_is_gpu(g)) {
            wf_barrier(g);
            v = wf_read(g, tile, wf_sub(wf_sub(wf_block_size(g, 0), 1), at));
        }
        wf_write(g, out, v, fault == 2 ? wf_idiv(i, 12) : i);
        wf_status status = wf_run(g);
        if (fault == 1)
            REFUSED(ctx, status, WF_ERR_BOUNDS, /* wherever it is: in memory of all blocks, or of each block's own */
                    "wf_write: index (10,) is outside scratch of the recording (i64 of shape (10))");
        else if (fault == 2)
            REFUSED(ctx, status, WF_ERR_CONTRACT, in_order("two points, (0,) and (1,), write the same element of"));
        else {
            OK(ctx, status);
            float *x = contents(out);
            for (int k = 0; k < 25; ++k) {
                int begin = k / 10 * 10, end = begin + 10 < 25 ? begin + 10 : 25;
                assert_true(x[k] == (float)(is_on_gpu() ? begin + end - 1 - k : k));
            }
            free(x);
        }
        wf_release(out);
    }
}

static void test_nan_and_unset(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 6, -2, 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(6), 9);
    wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_TRAP_NAN);
    wf_out(g, out, wf_sqrt(wf_in(g, a)));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "a NaN is stored in array");
    g = wf_begin(ctx);
    wf_out(g, out, wf_sqrt(wf_in(g, a)));
    OK(ctx, wf_run(g));
    const wf_dtype floats[] = { WF_F16, WF_BF16, WF_F64 };
    for (int k = 0; k < 3; ++k) {
        wf_array *to = wf_empty(ctx, floats[k], WF_SHAPE(6));
        g = wf_begin(ctx, .flags_on = WF_FLAG_TRAP_NAN);
        wf_out(g, to, wf_select(wf_eq(wf_in(g, a), 1), wf_const(g, WF_F32, NAN), wf_in(g, a)));
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, "of shape (6)), by point (3,)");
        g = wf_begin(ctx, .flags_on = WF_FLAG_TRAP_NAN);
        wf_out(g, to, wf_in(g, a));
        OK(ctx, wf_run(g));
        wf_release(to);
    }

    logged[0] = 0;
    g = wf_begin(ctx, .elements = true);
    wf_val v = wf_in(g, a);
    WF_IF (g, wf_gt(v, 0)) {
        wf_out(g, out, v);
    }
    WF_END(g);
    OK(ctx, wf_run(g));
    assert_non_null(strstr(logged, "3 of 6 elements were left as they were"));
    assert_non_null(strstr(logged, "test_debug.c"));
    wf_release(a), wf_release(out);
}

/* NaN that is accumulated, exchanged or a part of a complex number. */
static void test_other_nans(void **state)
{
    (void)state;
    const wf_dtype floats[] = { WF_F16, WF_F32, WF_F64 }, complex[] = { WF_C32, WF_C64, WF_C128 };
    wf_array *a = wf_array_arange(ctx, WF_F32, 6, 0, 1);
    for (int k = 0; k < 3; ++k)
        for (int way = 0; way < 6; ++way) {
            wf_array *to = wf_full(ctx, way < 4 ? floats[k] : complex[k], WF_SHAPE(6), 1);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6), .flags_on = WF_FLAG_TRAP_NAN);
            wf_val i = wf_index(g, 0), v = wf_select(wf_eq(wf_in(g, a), 4), wf_const(g, WF_F32, NAN), 1);
            wf_val w = wf_cast(v, floats[k]);
            if (way == 0)
                wf_accumulate(g, WF_JOIN_ADD, to, v, i);
            else if (way == 1)
                wf_atomic(g, WF_JOIN_MAX, to, w, i);
            else if (way == 2)
                wf_atomic(g, WF_JOIN_EXCH, to, w, i);
            else if (way == 3)
                wf_cas(g, to, wf_cast(1, floats[k]), w, i);
            else if (way == 4)
                wf_out(g, to, wf_complex(v, 0));
            else
                wf_accumulate(g, WF_JOIN_ADD, to, wf_complex(wf_const(g, WF_F32, 0), v), i);
            REFUSED(ctx, wf_run(g), WF_ERR_ARG, "of shape (6)), by point (4,)");
            g = wf_begin(ctx, .shape = WF_SHAPE(6), .flags_on = WF_FLAG_TRAP_NAN);
            wf_atomic(g, WF_JOIN_INC, way < 4 ? to : a, wf_const(g, WF_F32, NAN), wf_index(g, 0)); /* not checked */
            if (way >= 4)
                wf_out(g, to, 2);
            OK(ctx, wf_run(g));
            wf_release(to);
            if (way >= 4) {
                wf_release(a);
                a = wf_array_arange(ctx, WF_F32, 6, 0, 1);
            }
        }
    wf_release(a);
}

/* In index spaces, indices of unused reads are checked; in array graphs unused reads are not computed. */
static void test_unused_reads(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 7), 1), *row = wf_full(ctx, WF_F32, WF_SHAPE(4), 5);
    enum { POINT, IN_BLOCK, OFF, SECTION, LOCAL, LAZY, WAYS };
    for (int way = 0; way < WAYS; ++way) {
        wf_axes reduce = way == SECTION ? WF_AXES(1) : 0;
        wf_graph *g = way == LAZY      ? wf_begin(ctx)
                      : way == SECTION ? wf_begin(ctx, .shape = WF_SHAPE(4, 7), .reduce = reduce)
                                       : wf_begin(ctx, .shape = WF_SHAPE(4));
        wf_val i = way == LAZY ? wf_iota(g, WF_SHAPE(4), 0) : wf_index(g, 0), j = wf_add(i, 4);
        if (way == SECTION) {
            wf_section(g, WF_SECTION_INIT);
            i = wf_index(g, 0), j = wf_add(i, 4);
        }
        if (way == LOCAL)
            wf_read(g, wf_local_array(g, "window", WF_F32, WF_SHAPE(7), 2), j);
        else if (way == IN_BLOCK || way == OFF) {
            WF_IF (g, way == OFF ? wf_lt(i, 3) : wf_gt(i, 2)) {
                wf_read(g, a, i, j);
            }
            WF_END(g);
        } else
            wf_read(g, a, i, j);
        if (way == SECTION) {
            wf_array *sum = wf_scratch(g, WF_F32, WF_SHAPE(1), true);
            wf_section(g, WF_SECTION_CALL);
            wf_accumulate(g, WF_JOIN_ADD, sum, 1, 0);
            wf_section(g, WF_SECTION_DEINIT);
            wf_write(g, row, wf_read(g, sum, 0), wf_index(g, 0));
        } else
            wf_out(g, row, 6);
        if (way == OFF || way == LAZY)
            OK(ctx, wf_run(g));
        else
            REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS,
                    way == LOCAL ? "wf_read: index 7 is outside the local array 'window'"
                                 : "wf_read: index (3, 7) is outside array ");
    }
    wf_release(a), wf_release(row);
}

/* Views, reductions and kernels compute the same as without. */
static void test_same_results(void **state)
{
    (void)state;
    wf_context *plain = test_context(WF_CPU, 2), *both[2] = { ctx, plain };
    double got[2][40] = { { 0 } };
    for (int k = 0; k < 2; ++k) {
        int order[] = { 1, 0 };
        wf_array *flat = wf_array_arange(both[k], WF_F64, 1 * 8 * 5, 1, 0.25),
                 *a = wf_view_reshape(flat, WF_SHAPE(8, 5));
        wf_array *b = wf_view_permute(a, order), *back = wf_view_slice(b, 0, -1, WF_END_INDEX, -1);
        wf_array *rows = wf_empty(both[k], WF_F64, WF_SHAPE(5, 1)), *out = wf_empty(both[k], WF_F64, WF_SHAPE(5, 8));
        wf_graph *g = wf_begin(both[k]);
        wf_val v = wf_in(g, back), sum = wf_sum(v, WF_AXES(1));
        wf_out(g, rows, sum);
        wf_out(g, out, wf_mul(v, wf_exp(wf_div(sum, 100))));
        OK(both[k], wf_run(g));
        OK(both[k], wf_download(out, got[k], sizeof got[k]));
        wf_release(flat), wf_release(a), wf_release(b), wf_release(back), wf_release(rows), wf_release(out);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    wf_context_free(plain);
}

/* Accumulations of every mode: with debug mode as many points add to an element as without. */
static void test_accumulations(void **state)
{
    (void)state;
    static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };
    enum { POINTS = 2048, BINS = 3 };
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
        wf_array *counts = wf_full(ctx, WF_I32, WF_SHAPE(BINS), 5), *most = wf_full(ctx, WF_F32, WF_SHAPE(BINS), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_index(g, 0), bin = wf_mod(i, BINS);
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], counts, 1, bin);
        wf_accumulate_mode(g, WF_JOIN_MAX, modes[m], most, wf_cast(i, WF_F32), bin);
        OK(ctx, wf_run(g));
        int32_t got[BINS];
        float largest[BINS];
        OK(ctx, wf_download(counts, got, sizeof got));
        OK(ctx, wf_download(most, largest, sizeof largest));
        for (int k = 0; k < BINS; ++k) {
            assert_int_equal(got[k], 5 + (POINTS - k + BINS - 1) / BINS);
            assert_true(largest[k] == (float)(POINTS - 1 - (POINTS - 1 - k) % BINS));
        }
        wf_release(counts), wf_release(most);
    }
}

/* Points that share an element despite WF_MODE_NO_CONFLICT are found; no finding where they share none. */
static void test_no_conflict(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_I32, WF_F16, WF_C64, WF_U8 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k)
        for (int meet = 0; meet < 2; ++meet) {
            wf_array *a = wf_full(ctx, dtypes[k], WF_SHAPE(8), 0);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8), .name = "apart");
            wf_val i = wf_index(g, 0), at = meet ? wf_idiv(i, 2) : wf_xor(i, 5), n;
            WF_FOR (g, n, 0, 3, 1) { /* a point may add to its element again */
                wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_NO_CONFLICT, a, 1, at);
            }
            WF_END(g);
            if (meet) {
                REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT,
                        in_order("two points, (0,) and (1,), write the same element of array 1"));
                wf_release(a);
                continue;
            }
            OK(ctx, wf_run(g));
            wf_array *wide = wf_array_cast(a, WF_C128);
            double *got = contents(wide);
            for (int x = 0; x < 16; ++x)
                assert_true(got[x] == (x % 2 ? 0 : 3));
            free(got);
            wf_release(wide), wf_release(a);
        }
}

/* Accumulations of whole arrays run one after the other, so points of both may share an element. */
static void test_no_conflict_twice(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(8), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(8), 0);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_NO_CONFLICT, a, 1, i);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_NO_CONFLICT, a, i, wf_xor(i, 1));
    wf_accumulate(g, WF_JOIN_ADD, a, 1, wf_idiv(i, 4));
    OK(ctx, wf_run(g));
    int32_t *got = contents(a);
    for (int k = 0; k < 8; ++k)
        assert_int_equal(got[k], 1 + (k ^ 1) + (k < 2 ? 4 : 0));
    free(got);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_conflict_twice),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bounds_elsewhere),
        cmocka_unit_test(test_same_element),
        cmocka_unit_test(test_same_element_of_views),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nan_and_unset),
        cmocka_unit_test(test_same_results),
        cmocka_unit_test(test_accumulations),
        cmocka_unit_test(test_other_nans),
        cmocka_unit_test(test_unused_reads),
        cmocka_unit_test(test_no_conflict),
    };
    return RUN_ON("cpu", tests, debug_cpu) + RUN_ON("cuda-emu", tests, debug_emulator) +
           RUN_ON("cuda:0", tests, debug_gpu);
}
