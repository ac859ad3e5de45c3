/* test_thread_blocks.c - blocks that are blocks of threads: scratch that threads share, barriers, the number of a
 * thread and of all threads, sections that run once for each block. On the processor a thread is a block, and the same
 * recordings give the same results. What GPUs refuse.
 *
 * ctest: devices gpu
 */
#include "on_devices.h"
#include "ptxas.h"

/* Runs a recording; on a GPU prepared, and assembled for others. */
static void run(wf_graph *g, const char *name)
{
    if (!is_on_gpu()) {
        OK(ctx, wf_run(g));
        return;
    }
    wf_kernel *k = ptxas_compile(ctx, g, name, (const int[]){ 70, 80, 90, 0 }, NULL, NULL);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    wf_kernel_free(k);
}

/* Each element comes from another thread of its block, through scratch: every block is reversed, also incomplete
 * ones. */
static void test_reversed_blocks(void **state)
{
    (void)state;
    enum { H = 21, W = 37, BH = 4, BW = 16 };
    int32_t x[H * W], want[H * W];
    for (int i = 0; i < H * W; ++i)
        x[i] = i * 7;
    wf_array *in = array_of(ctx, WF_I32, WF_SHAPE(H, W), x), *out = wf_like(in), *ids = wf_like(in);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(BH, BW));
    wf_val y = wf_index(g, 0), v = wf_in(g, in);
    if (wf_is_gpu(g)) {
        wf_array *tile = wf_scratch(g, WF_I32, WF_SHAPE(BH, BW), false);
        wf_val ty = wf_thread_id(g, 0), tx = wf_thread_id(g, 1), h = wf_block_size(g, 0), w = wf_block_size(g, 1);
        wf_write(g, tile, v, ty, tx);
        wf_barrier(g);
        v = wf_read(g, tile, wf_sub(wf_sub(h, 1), ty), wf_sub(wf_sub(w, 1), tx));
    }
    wf_out(g, out, v);
    wf_write(g, ids, wf_cast(wf_add(wf_mul(wf_block_size(g, -1), 1000), wf_thread_id(g, -1)), WF_I32), y,
             wf_index(g, 1));
    run(g, "turned");
    int32_t *got = contents(out), *id = contents(ids);
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j) {
            int y0 = i / BH * BH, x0 = j / BW * BW, h = y0 + BH < H ? BH : H - y0, w = x0 + BW < W ? BW : W - x0;
            int from = is_on_gpu() ? (y0 + h - 1 - (i - y0)) * W + x0 + w - 1 - (j - x0) : i * W + j;
            want[i * W + j] = x[from];
            assert_int_equal(id[i * W + j], is_on_gpu() ? h * w * 1000 + (i - y0) * w + j - x0 : 1000);
        }
    assert_memory_equal(got, want, sizeof want);
    free(got), free(id);
    wf_release(in), wf_release(out), wf_release(ids);
}

/* Updates of scratch of every dtype, from all points of blocks of different sizes; zeroed, or begun by all threads. */
static void joined(wf_dtype t, wf_join join, int64_t box, bool zeroed)
{
    enum { N = 700, BINS = 5 };
    bool real = t >= WF_F16;
    wf_array *in = wf_empty(ctx, t, WF_SHAPE(N));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, in, wf_cast(wf_add(wf_mod(wf_iota(g, WF_SHAPE(N), 0), 3), real || t == WF_BOOL ? 0 : 1), t));
    OK(ctx, wf_run(g));
    int64_t blocks = (N + box - 1) / box;
    wf_array *out = wf_empty(ctx, t, WF_SHAPE(blocks, BINS));
    g = wf_begin(ctx, .shape = WF_SHAPE(N), .block = WF_SHAPE(box));
    wf_array *mine = wf_scratch(g, t, WF_SHAPE(BINS), zeroed), *first = wf_scratch(g, WF_U8, WF_SHAPE(3), !zeroed);
    wf_val i;
    if (!zeroed) {
        wf_section(g, WF_SECTION_INIT);
        WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
            wf_write(g, mine, wf_const(g, t, 0), i);
        }
        WF_END(g);
        wf_section(g, WF_SECTION_CALL);
    }
    wf_accumulate(g, join, mine, wf_in(g, in), wf_mod(wf_index(g, 0), BINS));
    if (!zeroed)
        wf_accumulate(g, WF_JOIN_OR, first, 2, 1);
    wf_section(g, WF_SECTION_DEINIT);
    WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
        wf_val v = wf_read(g, mine, i);
        if (!zeroed)
            v = wf_select(wf_eq(wf_read(g, first, 1), 2), v, wf_const(g, t, 1));
        wf_write(g, out, v, wf_block_id(g, 0), i);
    }
    WF_END(g);
    run(g, "updates");
    wf_array *wide = wf_empty(ctx, WF_F64, WF_SHAPE(blocks, BINS));
    g = wf_begin(ctx);
    wf_out(g, wide, wf_in(g, out));
    OK(ctx, wf_run(g));
    double *got = contents(wide);
    for (int64_t b = 0; b < blocks; ++b)
        for (int k = 0; k < BINS; ++k) {
            int64_t sum = 0, most = 0, bits = 0;
            for (int64_t n = b * box; n < (b + 1) * box && n < N; ++n) {
                int64_t x = n % 3 + (real || t == WF_BOOL ? 0 : 1);
                x = t == WF_BOOL ? x != 0 : x;
                if (n % BINS != k)
                    continue;
                sum += x;
                most = x > most ? x : most;
                bits ^= x;
            }
            double want = (double)(join == WF_JOIN_ADD ? sum : join == WF_JOIN_MAX ? most : bits);
            if (join == WF_JOIN_ADD && t == WF_I8)
                want = (int8_t)sum;
            if (join == WF_JOIN_ADD && t == WF_U8)
                want = (uint8_t)sum;
            if (got[b * BINS + k] != want) {
                print_error("%s, join %d, blocks of %d, %d: %g instead of %g\n", wf_dtype_name(t), (int)join, (int)box,
                            (int)zeroed, got[b * BINS + k], want);
                fail();
            }
        }
    free(got);
    wf_release(in), wf_release(out), wf_release(wide);
}

static void test_updates(void **state)
{
    (void)state;
    static const int64_t box[] = { 7, 64, 200, 3000 };
    for (int i = 0; i < TEST_DTYPES; ++i)
        for (int z = 0; z < 2; ++z) {
            wf_dtype t = test_dtypes[i];
            if (t != WF_BOOL) {
                joined(t, WF_JOIN_ADD, box[(i + z) % 4], z);
                joined(t, WF_JOIN_MAX, box[(i + z + 1) % 4], z);
            }
            if (t < WF_F16)
                joined(t, WF_JOIN_XOR, box[(i + z + 2) % 4], z);
        }
}

/* Blocks of more points than threads; scratch that fits every GPU, scratch that needs an opt-in (the emulated GPU
 * has as much as a Hopper), and more scratch than a block can share. */
static void test_large(void **state)
{
    (void)state;
    enum { H = 100, W = 90, B = 48 };
    static const int sizes[] = { 16, 20000, 70000 };
    for (int size = 0; size < 3; ++size) {
        int bins = sizes[size];
        wf_array *out = wf_full(ctx, WF_I32, WF_SHAPE(3, 2, 16), -1);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(B, B));
        wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(bins), true);
        wf_val i, n = wf_add(wf_mul(wf_index(g, 0), W), wf_index(g, 1));
        wf_accumulate(g, WF_JOIN_ADD, mine, 1, wf_add(wf_mod(n, 16), bins - 16));
        wf_section(g, WF_SECTION_DEINIT);
        WF_FOR (g, i, wf_thread_id(g, 1), 16, wf_block_size(g, 1)) {
            wf_write(g, out, wf_read(g, mine, wf_add(i, bins - 16)), wf_block_id(g, 0), wf_block_id(g, 1), i);
        }
        WF_END(g);
        if (wf_context_device(ctx) >= WF_GPU_EMU(0)) {
            wf_kernel *k = ptxas_compile(ctx, g, "large", (const int[]){ 70, 80, 90, 0 }, NULL, NULL);
            char text[20000];
            size_t length;
            OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_PTX, text, sizeof text, &length));
            assert_int_equal(strstr(text, ".extern .shared") != NULL, size == 1);
            assert_int_equal(strstr(text, "weft_shared") != NULL, size < 2);
            OK(ctx, wf_launch(k, WF_NO_ARGS));
            wf_kernel_free(k);
        } else
            run(g, "large");
        int32_t *got = contents(out), want[3 * 2 * 16] = { 0 };
        for (int k = 0; k < H * W; ++k)
            ++want[(k / W / B * 2 + k % W / B) * 16 + k % 16];
        assert_memory_equal(got, want, sizeof want);
        free(got);
        wf_release(out);
    }
}

/* Old values, exchanges and swaps in scratch; the points of a row are its block. */
static void test_atomic(void **state)
{
    (void)state;
    enum { N = 6, W = 300 };
    wf_array *seen = wf_full(ctx, WF_I32, WF_SHAPE(N, W), 0), *won = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N, W), .reduce = WF_AXES(1));
    wf_array *count = wf_scratch(g, WF_I32, WF_SHAPE(1), true), *owner = wf_scratch(g, WF_U16, WF_SHAPE(2), true);
    wf_val row = wf_index(g, 0);
    wf_val ticket = wf_atomic(g, WF_JOIN_ADD, count, 1, 0), free_ = wf_cas(g, owner, wf_const(g, WF_U16, 0), 7, 1);
    wf_accumulate(g, WF_JOIN_ADD, seen, 1, row, ticket);
    wf_accumulate(g, WF_JOIN_ADD, won, wf_cast(wf_eq(free_, 0), WF_I32), row);
    run(g, "atomic");
    int32_t *x = contents(seen), *y = contents(won);
    for (int i = 0; i < N * W; ++i)
        assert_int_equal(x[i], 1);
    for (int i = 0; i < N; ++i)
        assert_int_equal(y[i], 1);
    free(x), free(y);
    wf_release(seen), wf_release(won);
}

/* Sections that read results of other blocks: blocks have one thread, and run one section after the other. */
static void test_sections_apart(void **state)
{
    (void)state;
    enum { N = 500 };
    wf_array *sum = wf_full(ctx, WF_I32, WF_SHAPE(1), 0), *out = wf_full(ctx, WF_I32, WF_SHAPE(8), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .block = WF_SHAPE(64));
    wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(1), true);
    wf_accumulate(g, WF_JOIN_ADD, mine, 1, 0);
    wf_accumulate(g, WF_JOIN_ADD, sum, 1, 0);
    wf_section(g, WF_SECTION_DEINIT);
    wf_barrier(g);
    wf_val all = wf_mul(wf_block_size(g, -1), wf_add(wf_read(g, sum, 0), wf_read(g, mine, 0)));
    wf_write(g, out, wf_cast(wf_add(all, wf_thread_id(g, -1)), WF_I32), wf_block_id(g, 0));
    run(g, "parted");
    int32_t *x = contents(out);
    for (int b = 0; b < 8; ++b)
        assert_int_equal(x[b], N + (b < 7 ? 64 : N - 7 * 64));
    free(x);
    wf_release(sum), wf_release(out);
}

static void refused(wf_shape space, wf_shape block, wf_axes reduce, const char *part)
{
    wf_array *a = wf_full(ctx, WF_F32, space, 0);
    wf_graph *g = wf_begin(ctx, .shape = space, .block = block, .reduce = reduce);
    wf_barrier(g);
    wf_out(g, a, 1);
    if (is_on_gpu())
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, part);
    else
        OK(ctx, wf_run(g));
    wf_release(a);
}

static void test_refused(void **state)
{
    (void)state;
    refused(WF_SHAPE(50), (wf_shape){ 0 }, 0, "all points are one block");
    refused(WF_SHAPE(5000), WF_SHAPE(2000), 0, "more than 1024 points");
    refused(WF_SHAPE(3, 5000), (wf_shape){ 0 }, WF_AXES(1), "more than 1024 points");
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8), .block = WF_SHAPE(4));
    WF_IF (g, wf_gt(wf_index(g, 0), 2)) {
        wf_barrier(g);
    }
    WF_END(g);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "inside a condition or loop");
    if (is_on_gpu()) { /* the device is fixed once it has been queried */
        wf_array *host = wf_empty(ctx, WF_F32, WF_SHAPE(8), .device = WF_CPU);
        g = wf_begin(ctx, .shape = WF_SHAPE(8));
        assert_true(wf_is_gpu(g));
        wf_out(g, host, 1);
        REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "in the memory of cpu");
        wf_release(host);
    }
    wf_release(a);
}

static void test_assembled(void **state)
{
    (void)state;
    if (!is_on_gpu() || !ptxas_found())
        skip();
    ptxas_check(70, 70);
    ptxas_check(80, 80);
    ptxas_check(90, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reversed_blocks), cmocka_unit_test(test_updates),
                                        cmocka_unit_test(test_large),           cmocka_unit_test(test_atomic),
                                        cmocka_unit_test(test_sections_apart),  cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_assembled) };
    int failed = RUN_ON_ALL(tests);
    ptxas_forget();
    return failed;
}
