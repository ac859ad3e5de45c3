/* test_accumulate_modes.c - accumulation without collisions, which the caller declares by WF_MODE_NO_CONFLICT, and the
 * bound on private copies (wf_set_expand_bytes). Both decide how Weft accumulates; the results stay the same. */
#include "accumulate.h"

static wf_kernel_info info[8] = { { .size = sizeof *info } };

static int with_history(wf_device device, int threads)
{
    ctx = test_context(device, threads);
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    return 0;
}
static int cpu(void **state) { return (void)state, with_history(WF_CPU, 3); }
static int interpreter(void **state) { return (void)state, with_history(WF_INTERP, 1); }
static int emulator(void **state) { return (void)state, with_history(WF_GPU_EMU(0), 1); }
static int gpu(void **state) { return (void)state, with_history(WF_GPU(0), 1); }

static size_t ran(void) { return wf_history(ctx, info, 8); }

/* At most one point adds to each element of `target`, [n]: point i to element step * i mod n. */
static void check_apart(wf_join join, wf_dtype t, int64_t n, bool arrays)
{
    enum { STEP = 37, FIRST = 5 };
    int64_t *first = calloc((size_t)n, sizeof *first), *by = calloc((size_t)n, sizeof *by);
    for (int64_t i = 0; i < n; ++i) {
        first[i] = number(join, t, (uint64_t)(FIRST + i));
        by[i] = number(join, t, (uint64_t)(i * i + 3 * i));
    }
    wf_array *target[2], *value = converted(array_of(ctx, WF_I64, WF_SHAPE(n), by), t);
    for (int plain = 0; plain < 2; ++plain) { /* without the mode, and with it */
        target[plain] = converted(array_of(ctx, WF_I64, WF_SHAPE(n), first), t);
        wf_graph *g = arrays ? wf_begin(ctx) : wf_begin(ctx, .shape = WF_SHAPE(n));
        wf_val i = arrays ? wf_iota(g, WF_SHAPE(n), 0) : wf_index(g, 0), at = wf_mod(wf_mul(i, STEP), (double)n);
        wf_accumulate_if_mode(g, wf_ne(wf_mod(i, 3), 0), join, plain ? WF_MODE_NO_CONFLICT : WF_MODE_DIRECT,
                              target[plain], wf_in(g, value), at);
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->mode, plain ? WF_MODE_NO_CONFLICT : WF_MODE_DIRECT);
        assert_int_equal(info->copies, 0);
    }
    void *a = contents(target[0]), *b = contents(target[1]);
    assert_memory_equal(a, b, (size_t)n * wf_dtype_size(t));
    free(a), free(b), free(first), free(by);
    wf_release(target[0]), wf_release(target[1]), wf_release(value);
}

static void test_no_conflict(void **state)
{
    (void)state;
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX,
                                     WF_JOIN_AND, WF_JOIN_OR,  WF_JOIN_XOR };
    for (size_t j = 0; j < sizeof joins / sizeof *joins; ++j)
        for (int t = 0; t < TEST_DTYPES; t += TEST_EVERY)
            if (joinable(joins[j], test_dtypes[t])) {
                check_apart(joins[j], test_dtypes[t], sized(1013, 131), false);
                check_apart(joins[j], test_dtypes[t], 61, true);
            }
    check_apart(WF_JOIN_ADD, WF_F32, sized(200003, 501), false);
}

/* Which way is taken where the indices of all points differ anyway, and where another accumulation shares elements with
 * this one. */
static void test_chosen_ways(void **state)
{
    (void)state;
    enum { N = 1000 };
    for (int both = 0; both < 2; ++both) {
        wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0);
        wf_accumulate_mode(g, WF_JOIN_ADD, both ? WF_MODE_NO_CONFLICT : WF_MODE_AUTO, a, i, i);
        if (both)
            wf_accumulate(g, WF_JOIN_ADD, a, 1, wf_idiv(i, 2));
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->mode == WF_MODE_NO_CONFLICT, !both);
        int32_t *got = contents(a);
        for (int k = 0; k < N; ++k)
            assert_int_equal(got[k], k + (both && k < N / 2 ? 2 : 0));
        free(got);
        wf_release(a);
    }
}

/* Sums, an exchange and what is read at (at, i mod 3) of arrays of shape (1, 3): `at` is 0, looked up or literally.
 * The size of the kernel. */
static uint32_t at_one_place(bool looked_up, bool arrays, wf_mode mode, wf_array *index, int32_t got[9])
{
    enum { N = 1000 };
    static const int32_t table[] = { 7, 20, 100 };
    wf_array *read = array_of(ctx, WF_I32, WF_SHAPE(1, 3), table), *sums = wf_full(ctx, WF_I32, WF_SHAPE(1, 3), 0),
             *last = wf_full(ctx, WF_I32, WF_SHAPE(1, 3), -1), *out = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    wf_graph *g = arrays ? wf_begin(ctx) : wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = arrays ? wf_iota(g, WF_SHAPE(N), 0) : wf_index(g, 0), k = wf_cast(wf_mod(i, 3), WF_I32),
           at = looked_up ? wf_in(g, index) : wf_const(g, WF_I32, 0);
    wf_val value = wf_add(wf_read(g, read, at, k), wf_read_border(g, read, WF_BORDER_MIRROR, 0, wf_sub(at, 5), k));
    wf_write_if(g, wf_eq(i, 500), last, value, at, k);
    wf_accumulate_if_mode(g, wf_lt(i, 900), WF_JOIN_ADD, mode, sums, value, at, k);
    wf_out(g, out, value);
    ran();
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 1);
    int32_t *x = contents(sums), *y = contents(last), *z = contents(out);
    for (int n = 0; n < 3; ++n)
        got[n] = x[n], got[3 + n] = y[n], got[6 + n] = z[n + N / 2];
    free(x), free(y), free(z);
    wf_release(read), wf_release(sums), wf_release(last), wf_release(out);
    return info->nodes;
}

/* Along an axis of one element an index can only be 0. The value that it is computed from is not even read. */
static void test_axis_of_one(void **state)
{
    (void)state;
    wf_array *index = wf_full(ctx, WF_I32, WF_SHAPE(1000), 0);
    for (wf_mode mode = WF_MODE_AUTO; mode <= WF_MODE_EXPAND; ++mode)
        for (int arrays = 0; arrays < 2; ++arrays) {
            int32_t got[9], want[9];
            uint32_t size = at_one_place(true, arrays, mode, index, got);
            assert_int_equal(size, at_one_place(false, arrays, mode, index, want));
            assert_memory_equal(got, want, sizeof got);
            const int32_t known[] = { 4200, 12000, 60000, -1, -1, 200, 200, 14, 40 };
            assert_memory_equal(got, known, sizeof got);
        }
    wf_array *one = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    wf_release(index);
    index = wf_full(ctx, WF_I32, WF_SHAPE(1000), 1);
    wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG);
    wf_accumulate(g, WF_JOIN_ADD, one, 1, wf_in(g, index));
    if (is_on_gpu())
        wf_drop(g);
    else
        REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "index (1,) is outside");
    wf_release(index), wf_release(one);
}

/* Accumulates 2^16 points into an array of `bins` f32, in this mode. Returns how many copies were made. */
static int copies_of(wf_mode mode, int64_t bins)
{
    const int64_t n = sized(1 << 16, 1 << 11);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(bins), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_accumulate_mode(g, WF_JOIN_ADD, mode, a, 1, wf_mod(wf_mul(wf_index(g, 0), 7919), (double)bins));
    ran();
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 1);
    float *got = contents(a), sum = 0;
    for (int64_t k = 0; k < bins; ++k)
        sum += got[k];
    assert_true(sum == (float)n);
    free(got);
    wf_release(a);
    return info->copies;
}

static void test_expand_bytes(void **state)
{
    (void)state;
    enum { BINS = 1 << 10 };
    assert_int_equal(wf_get_expand_bytes(ctx), (uint64_t)1 << 30);
    int free_copies = copies_of(WF_MODE_EXPAND, BINS);
    assert_true(free_copies > 0);
    wf_set_expand_bytes(ctx, 10 * BINS * sizeof(float)); /* few copies of an array that is as spread out as this one */
    assert_int_equal(wf_get_expand_bytes(ctx), 10 * BINS * sizeof(float));
    int few = copies_of(WF_MODE_EXPAND, BINS);
    assert_true(is_on_gpu() ? few == free_copies /* in shared memory */ : few > 0 && few <= 10 && few < free_copies);
    assert_int_equal(copies_of(WF_MODE_AUTO, BINS) > 0, !is_on_gpu());
    wf_set_expand_bytes(ctx, 2 * BINS * sizeof(float) - 1);
    assert_int_equal(copies_of(WF_MODE_EXPAND, BINS), 0);
    assert_int_equal(info->mode, WF_MODE_DIRECT);
    wf_set_expand_bytes(ctx, 0);
    assert_int_equal(copies_of(WF_MODE_AUTO, 1), 0);
    wf_graph *g = wf_begin(ctx); /* evaluated, too */
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2), 0);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, a, 1, wf_mod(wf_iota(g, WF_SHAPE(100), 0), 2));
    ran();
    OK(ctx, wf_eval(g));
    assert_int_equal(ran(), 1);
    assert_int_equal(info->copies, 0);
    wf_drop(g);
    wf_release(a);
    wf_set_expand_bytes(ctx, (uint64_t)1 << 30);
    assert_int_equal(copies_of(WF_MODE_EXPAND, BINS), free_copies);
    wf_set_expand_bytes(NULL, 1);
    assert_int_equal(wf_get_expand_bytes(NULL), 0);
}

/* A copy for each block of threads, which then do several blocks' points: of one array, any strides, or of two. */
static void check_blocks(wf_dtype t, wf_mode mode, int64_t rows, int64_t columns, int32_t threads, int copies)
{
    const int64_t n = sized(1 << 17, 1 << 13);
    wf_array *a = wf_full(ctx, t, WF_SHAPE(columns, rows), 3), *turned = wf_view_permute(a, (const int[]){ 1, 0 });
    wf_array *b = wf_full(ctx, WF_I32, WF_SHAPE(2), -1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n / 64, 64), .block_threads = threads);
    wf_val i = wf_add(wf_mul(wf_index(g, 0), 64), wf_index(g, 1));
    wf_val key = wf_mod(wf_mul(i, 7919), (double)(rows * columns + 1)); /* no point has the last one */
    wf_accumulate_if_mode(g, wf_lt(key, (double)(rows * columns)), WF_JOIN_ADD, mode, turned, 2,
                          wf_idiv(key, (double)columns), wf_mod(key, (double)columns));
    wf_accumulate_mode(g, WF_JOIN_MAX, copies ? mode : (int)WF_MODE_DIRECT, b, key, wf_mod(key, 2));
    ran();
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 1);
    assert_int_equal(info->mode, copies ? WF_MODE_EXPAND : WF_MODE_DIRECT);
    assert_int_equal(info->copies > 0, copies > 0);
    assert_true(info->copies <= copies);
    wf_array *whole = as(turned, WF_I64);
    int64_t *got = contents(whole), *want = calloc((size_t)(rows * columns + 1), sizeof *want);
    int32_t *most = contents(b), want_most[2] = { -1, -1 };
    for (int64_t k = 0; k < n; ++k) {
        int64_t at = k * 7919 % (rows * columns + 1);
        want[at] += 2;
        want_most[at % 2] = at > want_most[at % 2] ? (int32_t)at : want_most[at % 2];
    }
    for (int64_t k = 0; k < rows * columns; ++k)
        assert_int_equal(got[k], want[k] + 3);
    for (int k = 0; k < 2; ++k)
        assert_int_equal(most[k], want_most[k]);
    free(got), free(want), free(most);
    wf_release(a), wf_release(b), wf_release(turned), wf_release(whole);
}

static void test_blocks_of_threads(void **state)
{
    (void)state;
    const int most = (int)sized(1 << 17, 1 << 13) / 32;
    if (!is_on_gpu())
        skip();
    check_blocks(WF_U32, WF_MODE_AUTO, 2, 3, 32, most);
    check_blocks(WF_I32, WF_MODE_AUTO, 5, 1, 0, most);
    check_blocks(WF_F32, WF_MODE_AUTO, 3, 2, 32, most);
    check_blocks(WF_F32, WF_MODE_EXPAND, 7, 11, 32, most);
    check_blocks(WF_I64, WF_MODE_EXPAND, 3, 50, 64, most);
    check_blocks(WF_I16, WF_MODE_EXPAND, 3, 11, 0, most);
    check_blocks(WF_I32, WF_MODE_DIRECT, 5, 3, 0, 0);
    check_blocks(WF_F64, WF_MODE_EXPAND, 100, 1000, 0, 0); /* does not fit */
}

/* With WF_MODE_NO_CONFLICT the parts of a record are one kernel; accumulations that may share an element are not. */
static void test_parts_together(void **state)
{
    (void)state;
    for (int meets = 0; meets < 2; ++meets) {
        wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(300, 4), 1);
        int32_t *x = contents(a);
        free(x);
        ran();
        wf_graph *g = wf_begin(ctx);
        wf_val i = wf_iota(g, WF_SHAPE(300), 0);
        for (int k = 0; k < 3; ++k)
            wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_NO_CONFLICT, a, k + 2, meets && k ? wf_xor(i, 1) : i,
                               meets ? 0 : k);
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), meets ? 3 : 1);
        x = contents(a);
        for (int e = 0; e < 1200; ++e)
            assert_int_equal(x[e], meets ? (e % 4 ? 1 : 10) : e % 4 == 3 ? 1 : 3 + e % 4);
        free(x);
        wf_release(a);
    }
}

/* ---- so many accumulations in one recording that loops over lanes are no longer unrolled ---- */
enum { TIMES = 40, MANY_BINS = 8 };

static void many(wf_dtype t, wf_mode mode, bool masked)
{
    int64_t n = sized(200, 40), want[TIMES][MANY_BINS] = { { 0 } };
    wf_array *out = wf_full(ctx, t, WF_SHAPE(TIMES, MANY_BINS), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val at = wf_index(g, 0);
    for (int k = 0; k < TIMES; ++k) { /* bin and number of point i: both change from one to the next */
        wf_val bin = wf_and(wf_add(wf_mul(at, k), k), MANY_BINS - 1), value = wf_sub(wf_and(wf_add(at, k), 3), 1);
        wf_val of_all = t == WF_C64 ? wf_complex(wf_cast(value, WF_F32), k) : wf_cast(value, t);
        if (masked)
            wf_accumulate_if_mode(g, wf_eq(wf_and(at, 3), k & 3), WF_JOIN_ADD, mode, out, of_all, k, bin);
        else
            wf_accumulate_mode(g, WF_JOIN_ADD, mode, out, of_all, k, bin);
        for (int64_t i = 0; i < n; ++i)
            want[k][(i * k + k) % MANY_BINS] += masked && i % 4 != k % 4 ? 0 : (i + k) % 4 - 1;
    }
    OK(ctx, wf_run(g));
    wf_graph *all = wf_begin(ctx);
    wf_val got = wf_in(all, out);
    wf_array *whole = wf_keep(wf_cast(t == WF_C64 ? wf_real(got) : got, WF_I64));
    OK(ctx, wf_run(all));
    int64_t *x = contents(whole);
    for (int k = 0; k < TIMES * MANY_BINS; ++k)
        if (x[k] != (&want[0][0])[k])
            fail_msg("%s, mode %x, element %d: %lld", wf_dtype_name(t), (unsigned)mode, k, (long long)x[k]);
    free(x);
    wf_release(whole);
    wf_release(out);
}

static void test_many_in_one_recording(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_I16, WF_I64, WF_F32, WF_C64 };
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t += TEST_EVERY)
        for (int masked = 0; masked < 2; ++masked)
            for (int expand = 0; expand < 2; ++expand)
                many(dtypes[t], expand ? WF_MODE_EXPAND : WF_MODE_DIRECT, masked);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_many_in_one_recording),
                                        cmocka_unit_test(test_parts_together),
                                        cmocka_unit_test(test_no_conflict),
                                        cmocka_unit_test(test_chosen_ways),
                                        cmocka_unit_test(test_expand_bytes),
                                        cmocka_unit_test(test_blocks_of_threads),
                                        cmocka_unit_test(test_axis_of_one) };
    return RUN_ON("cpu", tests, cpu) + RUN_ON("interp", tests, interpreter) + RUN_ON("cuda-emu", tests, emulator) +
           RUN_ON("cuda:0", tests, gpu);
}
