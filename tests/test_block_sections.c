/* test_block_sections.c - sections that run once for each block (WF_SECTION_INIT, WF_SECTION_DEINIT) and memory of
 * blocks (wf_scratch): how often they run and with which indices, control flow, blocks over all axes and over some,
 * hooks, errors.
 *
 * ctest: devices threads
 */
#include "on_devices.h"

static int64_t counted(wf_array *a)
{
    int32_t *x = contents(a), n = *x;
    free(x);
    return n;
}

/* Once for a space without reductions, once for each point of the kept axes else. */
static void test_counts(void **state)
{
    (void)state;
    for (wf_axes reduce = 0; reduce < 4; ++reduce) {
        wf_array *n[3];
        for (int i = 0; i < 3; ++i)
            n[i] = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(30, 70), .reduce = reduce);
        wf_section(g, WF_SECTION_INIT);
        wf_accumulate(g, WF_JOIN_ADD, n[0], 1, 0);
        wf_section(g, WF_SECTION_CALL);
        wf_accumulate(g, WF_JOIN_ADD, n[1], 1, 0);
        wf_section(g, WF_SECTION_DEINIT);
        wf_accumulate(g, WF_JOIN_ADD, n[2], 1, 0);
        OK(ctx, wf_run(g));
        int64_t blocks = reduce == 0 || reduce == 3 ? 1 : reduce == 1 ? 70 : 30;
        assert_true(counted(n[0]) == blocks && counted(n[1]) == 2100 && counted(n[2]) == blocks);
        for (int i = 0; i < 3; ++i)
            wf_release(n[i]);
    }
}

/* The same over elements. The shape is that of the array that they are read from, known while recording or at the
 * launch. */
static void test_elements(void **state)
{
    (void)state;
    enum { H = 30, W = 70 };
    wf_array *ones = wf_full(ctx, WF_I32, WF_SHAPE(H, W), 1);
    for (wf_axes reduce = 0; reduce < 4; ++reduce)
        for (int formal = 0; formal < 2; ++formal) {
            bool one_block = reduce == 0 || reduce == 3;
            int32_t blocks = one_block ? 1 : reduce == 1 ? W : H, points = H * W / (reduce ? blocks : 1);
            wf_array *n = wf_full(ctx, WF_I32, WF_SHAPE(2), 0), *table = wf_full(ctx, WF_I32, WF_SHAPE(1), 4);
            wf_array *out = wf_full(ctx, WF_I32, reduce ? WF_SHAPE(blocks) : WF_SHAPE(H, W), 0);
            wf_graph *g = wf_begin(ctx, .elements = true, .reduce = reduce);
            const wf_array *in = formal ? wf_formal(g, "in", WF_I32, 2) : ones;
            wf_var sum = { 0, NULL };
            if (reduce)
                sum = wf_reduced(g, WF_I32, 0, WF_JOIN_ADD);
            wf_section(g, WF_SECTION_INIT);
            wf_accumulate(g, WF_JOIN_ADD, n, 1, 0);
            if (one_block)
                wf_write(g, table, 4, 0);
            wf_section(g, WF_SECTION_CALL);
            wf_val v = wf_add(wf_in(g, in), wf_read(g, table, 0));
            if (reduce)
                wf_inc(sum, v);
            else
                wf_out(g, out, v);
            wf_section(g, WF_SECTION_DEINIT);
            wf_accumulate(g, WF_JOIN_ADD, n, wf_read(g, table, 0), 1);
            if (reduce) {
                wf_section(g, WF_SECTION_POST);
                wf_out(g, out, sum);
            }
            if (formal) {
                wf_kernel *kernel = wf_compile(g);
                OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("in", ones))));
                wf_kernel_free(kernel);
            } else {
                OK(ctx, wf_run(g));
            }
            int32_t *counts = contents(n), *results = contents(out);
            assert_int_equal(counts[0], blocks);
            assert_int_equal(counts[1], 4 * blocks);
            for (int64_t i = 0; i < wf_array_count(out); ++i)
                assert_int_equal(results[i], reduce ? 5 * points : 5);
            free(counts);
            free(results);
            wf_release(n);
            wf_release(table);
            wf_release(out);
        }
    wf_release(ones);
}

/* A histogram of each row, in the memory of its block. */
static void test_histogram(void **state)
{
    (void)state;
    enum { N = 13, W = 777, BINS = 20 };
    float x[N * W];
    int32_t want[N * BINS] = { 0 };
    for (int i = 0; i < N * W; ++i) {
        x[i] = (float)(i * 7919 % 1000) / 1000;
        ++want[i / W * BINS + (int)(x[i] * BINS)];
    }
    for (int zeroed = 0; zeroed < 2; ++zeroed)
        for (int again = 0; again < 2; ++again) {
            wf_array *in = array_of(ctx, WF_F32, WF_SHAPE(N, W), x), *hist = wf_full(ctx, WF_I32, WF_SHAPE(N, BINS), 0);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N, W), .reduce = WF_AXES(1));
            wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(BINS), zeroed);
            wf_val i;
            if (!zeroed) {
                wf_section(g, WF_SECTION_INIT);
                WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
                    wf_write(g, mine, 0, i);
                }
                WF_END(g);
                wf_section(g, WF_SECTION_CALL);
            }
            wf_val bin = wf_cast(wf_mul(wf_in(g, in), BINS), WF_I32);
            wf_accumulate(g, WF_JOIN_ADD, mine, 1, wf_clamp(bin, 0, BINS - 1));
            wf_section(g, WF_SECTION_DEINIT);
            wf_barrier(g);
            WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
                WF_IF (g, wf_gt(wf_read(g, mine, i), 0)) {
                    wf_accumulate(g, WF_JOIN_ADD, hist, wf_read(g, mine, i), wf_index(g, 0), i);
                }
                WF_END(g);
            }
            WF_END(g);
            OK(ctx, wf_run(g));
            int32_t *got = contents(hist);
            assert_memory_equal(got, want, sizeof want);
            free(got);
            wf_release(in), wf_release(hist);
        }
}

/* A table made once, looked up by every point; variables and loops in both sections. */
static void test_table(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(9, 50)), *sum = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(9, 50));
    wf_array *table = wf_scratch(g, WF_F32, WF_SHAPE(16), false);
    wf_val k;
    wf_section(g, WF_SECTION_INIT);
    wf_var square = wf_local(g, WF_F32, 0);
    WF_FOR (g, k, 0, 16, 1) {
        wf_set(square, wf_cast(wf_mul(k, k), WF_F32));
        wf_write(g, table, square, k);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_CALL);
    wf_write(g, out, wf_read(g, table, wf_mod(wf_index(g, 1), 16)), wf_index(g, 0), wf_index(g, 1));
    wf_section(g, WF_SECTION_DEINIT);
    wf_var total = wf_local(g, WF_F32, 0);
    WF_FOR (g, k, 0, 16, 1) {
        wf_inc(total, wf_read(g, table, k));
    }
    WF_END(g);
    wf_write(g, sum, total, 0);
    OK(ctx, wf_run(g));
    float *x = contents(out), *y = contents(sum);
    for (int i = 0; i < 450; ++i)
        assert_true(x[i] == (float)(i % 50 % 16 * (i % 50 % 16)));
    assert_true(*y == 1240);
    free(x), free(y);
    wf_release(out), wf_release(sum);
}

/* Beside reduced variables, whose results WF_SECTION_POST gets as without blocks; and as hooks. */
struct arrays {
    wf_array *before, *after;
};
static void count_before(const wf_site *s)
{
    const struct arrays *a = s->user;
    wf_accumulate(s->graph, WF_JOIN_ADD, a->before, 1, s->index[0]);
}
static void count_after(const wf_site *s)
{
    const struct arrays *a = s->user;
    wf_accumulate(s->graph, WF_JOIN_ADD, a->after, wf_add(wf_read(s->graph, a->before, s->index[0]), 1), s->index[0]);
}
static void add_up(const wf_site *s) { wf_inc(s->reduced[0], wf_mul(s->index[1], 2)); }

static void test_hooks(void **state)
{
    (void)state;
    struct arrays a = { wf_full(ctx, WF_I32, WF_SHAPE(40), 0), wf_full(ctx, WF_I32, WF_SHAPE(40), 0) };
    wf_array *out = wf_empty(ctx, WF_I64, WF_SHAPE(40, 1));
    const wf_reduced_spec sum = { WF_I64, WF_JOIN_ADD, 0 };
    OK(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(out),
                     WF_OPERATOR(.init = count_before, .call = add_up, .deinit = count_after, .user = &a,
                                 .reduced = &sum, .n_reduced = 1),
                     .shape = WF_SHAPE(40, 100), .reduce = WF_AXES(1)));
    int64_t *x = contents(out);
    int32_t *before = contents(a.before), *after = contents(a.after);
    for (int i = 0; i < 40; ++i)
        assert_true(x[i] == 9900 && before[i] == 1 && after[i] == 2);
    free(x), free(before), free(after);
    wf_release(a.before), wf_release(a.after), wf_release(out);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_section(g, WF_SECTION_INIT);
    wf_index(g, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "once a block");
    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_section(g, WF_SECTION_DEINIT);
    wf_out(g, a, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "WF_SECTION_DEINIT");
    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_array *s = wf_scratch(g, WF_F32, WF_SHAPE(4), true);
    wf_in(g, s);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "by index");
    g = wf_begin(ctx, .shape = WF_SHAPE(8), .reduce = WF_ALL_AXES);
    s = wf_scratch(g, WF_F32, WF_SHAPE(4), true);
    wf_write(g, s, 1, 2, 3);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "2 indices given for scratch, which has 1 axes");
    g = wf_begin(ctx);
    assert_null(wf_scratch(g, WF_F32, WF_SHAPE(4), true));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_scratch");
    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_section(g, WF_SECTION_INIT);
    wf_section(g, WF_SECTION_CALL);
    wf_section(g, WF_SECTION_DEINIT);
    wf_write(g, a, 1, 0);
    wf_section(g, WF_SECTION_CALL);
    wf_section(g, WF_SECTION_DEINIT);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "once each");
    g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_val v = wf_index(g, 0);
    wf_section(g, WF_SECTION_DEINIT);
    wf_write(g, a, 1, v);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "another section");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts),    cmocka_unit_test(test_elements),
                                        cmocka_unit_test(test_histogram), cmocka_unit_test(test_table),
                                        cmocka_unit_test(test_hooks),     cmocka_unit_test(test_mistakes) };
    return RUN_ON_ALL(tests);
}
