/* test_accumulate_modes.c - accumulation where no points meet, as the caller says (WF_NO_CONFLICT), and the bound on
 * private copies (wf_set_expand_bytes): which way is taken, with the same results.
 */
#include "accumulate.h"

static wf_kernel_info info[8] = { { .size = sizeof *info } };

static int with_history(wf_device device, int threads)
{
    ctx = test_context(device, threads);
    wf_set_flags(ctx, WF_HISTORY, 0);
    return 0;
}
static int cpu(void **state) { return (void)state, with_history(WF_CPU, 3); }
static int interpreter(void **state) { return (void)state, with_history(WF_INTERP, 1); }
static int emulator(void **state) { return (void)state, with_history(WF_GPU_EMU(0), 1); }
static int gpu(void **state) { return (void)state, with_history(WF_GPU(0), 1); }

static size_t ran(void) { return wf_history(ctx, info, 8); }

/* Every element of `target`, [n], is met by one point at most: element step * i mod n. */
static void check_apart(wf_join join, wf_dtype t, int64_t n, bool arrays)
{
    enum { STEP = 37, FIRST = 5 };
    int64_t *first = calloc((size_t)n, sizeof *first), *by = calloc((size_t)n, sizeof *by);
    for (int64_t i = 0; i < n; ++i) {
        first[i] = number(join, t, (uint64_t)(FIRST + i));
        by[i] = number(join, t, (uint64_t)(i * i + 3 * i));
    }
    wf_array *target[2], *value = converted(array_of(ctx, WF_I64, WF_SHAPE(n), by), t);
    for (int plain = 0; plain < 2; ++plain) { /* the way that was tried before, and this one */
        target[plain] = converted(array_of(ctx, WF_I64, WF_SHAPE(n), first), t);
        wf_graph *g = arrays ? wf_begin(ctx) : wf_begin(ctx, .shape = WF_SHAPE(n));
        wf_val i = arrays ? wf_iota(g, WF_SHAPE(n), 0) : wf_index(g, 0), at = wf_mod(wf_mul(i, STEP), (double)n);
        wf_accumulate_if(g, wf_ne(wf_mod(i, 3), 0), (int)join | (int)(plain ? WF_NO_CONFLICT : WF_DIRECT),
                         target[plain], wf_in(g, value), at);
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->mode, plain ? WF_NO_CONFLICT : WF_DIRECT);
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
    static const wf_join joins[] = { WF_ADD, WF_MUL, WF_MIN, WF_MAX, WF_AND, WF_OR, WF_XOR };
    for (size_t j = 0; j < sizeof joins / sizeof *joins; ++j)
        for (int t = 0; t < TEST_DTYPES; t += TEST_EVERY)
            if (joinable(joins[j], test_dtypes[t])) {
                check_apart(joins[j], test_dtypes[t], sized(1013, 131), false);
                check_apart(joins[j], test_dtypes[t], 61, true);
            }
    check_apart(WF_ADD, WF_F32, sized(200003, 501), false);
}

/* Where the index is another one for every point anyway; where another accumulation meets this one. */
static void test_what_is_done(void **state)
{
    (void)state;
    enum { N = 1000 };
    for (int both = 0; both < 2; ++both) {
        wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0);
        wf_accumulate(g, WF_ADD | (both ? WF_NO_CONFLICT : WF_AUTO), a, i, i);
        if (both)
            wf_accumulate(g, WF_ADD, a, 1, wf_idiv(i, 2));
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->mode == WF_NO_CONFLICT, !both);
        int32_t *got = contents(a);
        for (int k = 0; k < N; ++k)
            assert_int_equal(got[k], k + (both && k < N / 2 ? 2 : 0));
        free(got);
        wf_release(a);
    }
}

/* An array of `bins` f32 that 2^16 points meet in, in that mode; how many copies were made. */
static int copies_of(int mode, int64_t bins)
{
    const int64_t n = sized(1 << 16, 1 << 11);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(bins), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_accumulate(g, WF_ADD | mode, a, 1, wf_mod(wf_mul(wf_index(g, 0), 7919), (double)bins));
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
    int free_copies = copies_of(WF_EXPAND, BINS);
    assert_int_equal(free_copies > 0, !is_on_gpu());
    wf_set_expand_bytes(ctx, 10 * BINS * sizeof(float)); /* as spread as the array is, that is few */
    assert_int_equal(wf_get_expand_bytes(ctx), 10 * BINS * sizeof(float));
    int few = copies_of(WF_EXPAND, BINS);
    assert_true(is_on_gpu() ? few == 0 : few > 0 && few <= 10 && few < free_copies);
    assert_int_equal(copies_of(WF_AUTO, BINS) > 0, !is_on_gpu());
    wf_set_expand_bytes(ctx, 2 * BINS * sizeof(float) - 1);
    assert_int_equal(copies_of(WF_EXPAND, BINS), 0);
    assert_int_equal(info->mode, WF_DIRECT);
    wf_set_expand_bytes(ctx, 0);
    assert_int_equal(copies_of(WF_AUTO, 1), 0);
    wf_graph *g = wf_begin(ctx); /* evaluated, too */
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2), 0);
    wf_accumulate(g, WF_ADD | WF_EXPAND, a, 1, wf_mod(wf_iota(g, WF_SHAPE(100), 0), 2));
    ran();
    OK(ctx, wf_eval(g));
    assert_int_equal(ran(), 1);
    assert_int_equal(info->copies, 0);
    wf_drop(g);
    wf_release(a);
    wf_set_expand_bytes(ctx, (uint64_t)1 << 30);
    assert_int_equal(copies_of(WF_EXPAND, BINS), free_copies);
    wf_set_expand_bytes(NULL, 1);
    assert_int_equal(wf_get_expand_bytes(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_conflict), cmocka_unit_test(test_what_is_done),
                                        cmocka_unit_test(test_expand_bytes) };
    return RUN_ON("cpu", tests, cpu) + RUN_ON("interp", tests, interpreter) + RUN_ON("cuda-emu", tests, emulator) +
           RUN_ON("cuda:0", tests, gpu);
}
