/* test_launch_options.c - options of one call: the number of threads, the least number of points for several threads,
 * boxes as blocks; and what the handle says about blocks. Threads change no result.
 *
 * ctest: devices threads
 */
#include "on_devices.h"

static wf_array *zeros(wf_dtype dtype, wf_shape shape) { return wf_full(ctx, dtype, shape, 0); }

static bool holds_i64(wf_array *a, const int64_t *want, int64_t n)
{
    int64_t *got = contents(a);
    bool same = wf_array_count(a) == n && !memcmp(got, want, (size_t)n * sizeof *got);
    free(got);
    wf_release(a);
    return same;
}

/* Four points are one block, or four blocks with different ids. */
static void test_hook_counts(void **state)
{
    (void)state;
    for (int64_t size = 0; size <= 4; ++size) {
        wf_array *n = zeros(WF_I64, WF_SHAPE(3)), *before = zeros(WF_I64, WF_SHAPE(4)),
                 *after = zeros(WF_I64, WF_SHAPE(4));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4), .block = { .rank = size ? 1 : 0, .dim = { size } });
        wf_section(g, WF_SECTION_INIT);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 0);
        wf_accumulate(g, WF_JOIN_ADD, before, wf_add(wf_block_id(g, -1), 1), wf_block_id(g, 0));
        wf_section(g, WF_SECTION_CALL);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 1);
        wf_section(g, WF_SECTION_DEINIT);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 2);
        wf_accumulate(g, WF_JOIN_ADD, after, wf_grid_size(g, 0), wf_block_id(g, 0));
        OK(ctx, wf_run(g));
        int64_t blocks = size ? (4 + size - 1) / size : 1, ids[4] = { 0 }, sizes[4] = { 0 };
        for (int64_t i = 0; i < blocks; ++i)
            ids[i] = i + 1, sizes[i] = blocks;
        assert_true(holds_i64(n, (const int64_t[]){ blocks, 4, blocks }, 3));
        assert_true(holds_i64(before, ids, 4));
        assert_true(holds_i64(after, sizes, 4));
    }
}

/* Operators over elements cannot distinguish blocks, but the shape must fit all the same (see test_refused). */
static void twice(const wf_site *s) { wf_set(s->out[0], wf_mul(s->in[0], 2)); }

static void test_blocks_of_elements(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_I64, WF_SHAPE(6, 1), 4), *b = zeros(WF_I64, WF_SHAPE(6, 5));
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = twice), .block = WF_SHAPE(4, 2)));
    int64_t eights[30];
    for (int i = 0; i < 30; ++i)
        eights[i] = 8;
    assert_true(holds_i64(b, eights, 30));
    wf_release(a);
}

/* Ids and sizes along each axis, and linear, at every point; edges are cut. */
static void test_ids(void **state)
{
    (void)state;
    enum { H = 5, W = 7, BH = 2, BW = 3, GH = 3, GW = 3 };
    for (int boxes = 0; boxes < 2; ++boxes) {
        wf_array *id[3], *size[3];
        wf_shape block = { .rank = boxes ? 2 : 0, .dim = { BH, BW } };
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = block);
        wf_val i = wf_index(g, 0), j = wf_index(g, 1);
        for (int axis = -1; axis < 2; ++axis) {
            id[axis + 1] = zeros(WF_I64, WF_SHAPE(H, W));
            size[axis + 1] = zeros(WF_I64, WF_SHAPE(H, W));
            wf_write(g, id[axis + 1], wf_block_id(g, axis), i, j);
            wf_write(g, size[axis + 1], wf_grid_size(g, axis), i, j);
        }
        OK(ctx, wf_run(g));
        int64_t want[6][H * W];
        for (int k = 0; k < H * W; ++k) {
            int64_t y = boxes ? k / W / BH : 0, x = boxes ? k % W / BW : 0, h = boxes ? GH : 1, w = boxes ? GW : 1;
            want[0][k] = y * w + x, want[1][k] = y, want[2][k] = x;
            want[3][k] = h * w, want[4][k] = h, want[5][k] = w;
        }
        for (int k = 0; k < 3; ++k) {
            assert_true(holds_i64(id[k], want[k], H * W));
            assert_true(holds_i64(size[k], want[3 + k], H * W));
        }
    }
}

/* Each box has memory of its own: sums of boxes. */
static void test_scratch(void **state)
{
    (void)state;
    enum { H = 50, W = 70, BH = 16, BW = 32, GH = 4, GW = 3 };
    wf_array *out = zeros(WF_I64, WF_SHAPE(GH, GW));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(BH, BW));
    wf_array *mine = wf_scratch(g, WF_I64, WF_SHAPE(2), false);
    wf_section(g, WF_SECTION_INIT);
    wf_write(g, mine, wf_block_id(g, -1), 0);
    wf_write(g, mine, 0, 1);
    wf_section(g, WF_SECTION_CALL);
    wf_accumulate(g, WF_JOIN_ADD, mine, wf_add(wf_mul(wf_index(g, 0), W), wf_index(g, 1)), 1);
    wf_section(g, WF_SECTION_DEINIT);
    wf_write(g, out, wf_add(wf_mul(wf_read(g, mine, 1), 100), wf_read(g, mine, 0)), wf_block_id(g, 0),
             wf_block_id(g, 1));
    assert_int_equal(wf_array_shape(mine).dim[0], GH * GW);
    OK(ctx, wf_run(g));
    int64_t want[GH * GW] = { 0 };
    for (int k = 0; k < H * W; ++k)
        want[k / W / BH * GW + k % W / BW] += 100 * k;
    for (int b = 0; b < GH * GW; ++b)
        want[b] += b;
    assert_true(holds_i64(out, want, GH * GW));
}

/* One block for each whole or started box. */
static void test_scratch_of_edges(void **state)
{
    (void)state;
    static const int64_t blocks[][2] = { { 31, 2 }, { 32, 2 }, { 33, 3 }, { 1, 1 } };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(blocks[i][0]), .block = WF_SHAPE(16));
        wf_array *mine = wf_scratch(g, WF_I64, WF_SHAPE(2), false);
        assert_int_equal(wf_array_shape(mine).dim[0], blocks[i][1]);
        wf_drop(g);
    }
}

/* A program that was compiled with an older version of the header passes a shorter struct. */
static void test_shorter_options(void **state)
{
    (void)state;
    wf_array *out = zeros(WF_I64, WF_SHAPE(4));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4));
    wf_write(g, out, wf_add(wf_index(g, 0), 1), wf_index(g, 0));
    wf_kernel *k = wf_compile(g);
    wf_launch_opts opts = { .shape = WF_SHAPE(2), .stream = (wf_stream *)(uintptr_t)64, .threads = -1 };
    opts.size = offsetof(wf_launch_opts, stream);
    OK(ctx, wf_launch_with(k, WF_NO_ARGS, &opts));
    wf_kernel_free(k);
    assert_true(holds_i64(out, (const int64_t[]){ 1, 2, 0, 0 }, 4));
}

/* Reductions: kept axes are the grid, in every section. */
static void test_ids_of_reductions(void **state)
{
    (void)state;
    enum { N = 3, H = 4, W = 6 };
    wf_array *at[4], *sum = zeros(WF_I64, WF_SHAPE(N, W));
    for (int i = 0; i < 4; ++i)
        at[i] = zeros(WF_I64, WF_SHAPE(N, W));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N, H, W), .reduce = WF_AXES(1));
    static const wf_section_id section[] = { WF_SECTION_INIT, WF_SECTION_CALL, WF_SECTION_DEINIT };
    wf_var total = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
    for (int k = 0; k < 3; ++k) {
        wf_section(g, section[k]);
        wf_val id =
            wf_add(wf_mul(wf_block_id(g, -1), 1000), wf_add(wf_mul(wf_block_id(g, 1), 100), wf_grid_size(g, 1)));
        wf_accumulate(g, WF_JOIN_MAX, at[k], wf_add(id, wf_mul(wf_grid_size(g, -1), 10)), wf_block_id(g, 0),
                      wf_block_id(g, 2));
        if (section[k] == WF_SECTION_CALL)
            wf_inc(total, 1);
    }
    wf_section(g, WF_SECTION_POST);
    wf_out(g, at[3],
           wf_add(wf_mul(wf_block_id(g, -1), 1000), wf_add(wf_grid_size(g, 1), wf_mul(wf_grid_size(g, -1), 10))));
    wf_out(g, sum, total);
    OK(ctx, wf_run(g));
    int64_t want[N * W], four[N * W];
    for (int k = 0; k < N * W; ++k)
        want[k] = k * 1000 + 1 + 10 * N * W, four[k] = H;
    for (int k = 0; k < 4; ++k)
        assert_true(holds_i64(at[k], want, N * W));
    assert_true(holds_i64(sum, four, N * W));
}

/* ---- threads ---- */
static int threads_used(wf_context *own)
{
    wf_kernel_info info = { .size = sizeof info };
    return wf_history(own, &info, 1) == 1 ? info.threads : -1;
}

static void test_threads(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    wf_config config = { .size = sizeof config, .threads = 4, .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_HISTORY };
    wf_context *own = wf_context_new(&config);
    bool compiled = false;
    float first = 0;
    const struct {
        int32_t threads;
        int64_t serial_below;
        int used;
    } way[] = { { 0, 0, 4 }, { 1, 0, 1 }, { 2, 0, 2 }, { 3, 1, 3 }, { 9, N, 4 }, { 0, N + 1, 1 } };
    wf_array *a = wf_array_arange(own, WF_F32, N, 0, 0.001), *b = wf_like(a), *x = a, *y = b;
    wf_graph *g = wf_begin(own, .threads = 2);
    wf_array *from = wf_formal(g, "x", WF_F32, 1), *to = wf_formal(g, "y", WF_F32, 1);
    wf_out(g, to, wf_sqrt(wf_in(g, from)));
    wf_kernel *k = wf_compile(g);
    wf_history(own, &(wf_kernel_info){ .size = sizeof(wf_kernel_info) }, 1);
    for (size_t i = 0; i < sizeof way / sizeof *way; ++i) {
        g = wf_begin(own, .threads = way[i].threads, .serial_below = way[i].serial_below);
        wf_array *sum = wf_keep(wf_sum(wf_sqrt(wf_in(g, a)), WF_ALL_AXES));
        OK(own, wf_run(g));
        float s;
        OK(own, wf_download(sum, &s, sizeof s));
        wf_release(sum);
        wf_kernel_info info[4] = { { .size = sizeof *info } };
        size_t n = wf_history(own, info, 4);
        assert_true(n > 0);
        int most = 0;
        for (size_t j = 0; j < n; ++j) {
            most = info[j].threads > most ? info[j].threads : most;
            compiled = compiled || (info[j].code != WF_CODE_NONE && info[j].lanes > 0);
        }
        if (compiled)
            assert_int_equal(most, way[i].used);
        assert_true(i == 0 || !memcmp(&s, &first, sizeof s));
        first = s;
        OK(own, wf_launch(k, WF_NAMED(x, y), .threads = way[i].threads, .serial_below = way[i].serial_below));
        int used = threads_used(own), want = way[i].threads || way[i].used == 1 ? way[i].used : 2;
        if (compiled)
            assert_int_equal(used, want);
    }
    wf_kernel_free(k);
    wf_release(a);
    wf_release(b);
    wf_context_free(own);
}

/* Kernels without history, too: the short paths of a launch must obey the options. */
static void test_small_kernels(void **state)
{
    (void)state;
    wf_array *x = wf_array_arange(ctx, WF_F32, 3000, 0, 1), *y = wf_like(x);
    wf_graph *g = wf_begin(ctx);
    wf_array *from = wf_formal(g, "x", WF_F32, 1), *to = wf_formal(g, "y", WF_F32, 1);
    wf_out(g, to, wf_add(wf_in(g, from), 1));
    wf_kernel *k = wf_compile(g);
    for (int i = 0; i < 6; ++i)
        OK(ctx, wf_launch(k, WF_NAMED(x, y), .threads = i % 3, .serial_below = i));
    float *got = contents(y);
    for (int i = 0; i < 3000; ++i)
        assert_true(got[i] == (float)(i + 1));
    free(got);
    wf_kernel_free(k);
    wf_release(x);
    wf_release(y);
}

/* Any number of threads in the blocks of a GPU gives the same results; other devices ignore it. */
static void test_block_threads(void **state)
{
    (void)state;
    const uint32_t flags = wf_get_flags(ctx);
    wf_array *x = wf_array_arange(ctx, WF_F32, 70 * 301, 0, 0.37), *m = wf_view_reshape(x, WF_SHAPE(70, 301));
    wf_kernel_info info[8] = { { .size = sizeof *info } };
    float *first = NULL;
    wf_set_flags(ctx, flags | WF_FLAG_HISTORY, 0);
    for (int32_t n = 16; n <= 256; n *= 2) {
        wf_graph *g = wf_begin(ctx, .block_threads = n == 16 ? 0 : n);
        wf_val v = wf_sqrt(wf_in(g, m)), sums = wf_sum(v, WF_AXES(1)), all = wf_sum(wf_sum(v, WF_AXES(0)), WF_AXES(1));
        wf_array *r = wf_keep(wf_sub(v, wf_add(sums, all)));
        wf_history(ctx, info, 8);
        OK(ctx, wf_run(g));
        size_t kernels = wf_history(ctx, info, 8);
        for (size_t i = 0; i < kernels && n > 16 && wf_array_device(r) == WF_GPU_EMU(0);
             ++i) /* a fused one has no block */
            assert_true(info[i].fused == !info[i].threads && info[i].threads <= n);
        for (size_t i = 0; i < kernels && i < 8; ++i)
            assert_true(info[i].run_s >= 0 && info[i].run_s < 600); /* times of the clock are more, mostly */
        float *got = contents(r);
        if (first)
            assert_memory_equal(got, first, 70 * 301 * sizeof *got);
        wf_release(r);
        free(first);
        first = got;
    }
    free(first);
    wf_set_flags(ctx, flags, WF_FLAG_HISTORY & ~flags);
    wf_release(m);
    wf_release(x);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, WF_SHAPE(4, 4)), *y = a;
    wf_graph *g = wf_begin(ctx, .threads = -1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".threads");
    g = wf_begin(ctx, .serial_below = -1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".serial_below");
    g = wf_begin(ctx, .block_threads = 48);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".block_threads");
    g = wf_begin(ctx, .shape = WF_SHAPE(4, 4), .block = WF_SHAPE(4));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".block");
    g = wf_begin(ctx, .shape = WF_SHAPE(4, 4), .block = WF_SHAPE(4, 0));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".block");
    g = wf_begin(ctx, .block = WF_SHAPE(4));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".block");
    g = wf_begin(ctx, .shape = WF_SHAPE(4, 4), .block = WF_SHAPE(4, 1), .reduce = WF_AXES(0));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, ".block");
    g = wf_begin(ctx, .elements = true, .block = WF_SHAPE(4));
    wf_out(g, a, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "wf_begin: .block, (4), has 1 axes, the operands' shape (4, 4) has 2");
    g = wf_begin(ctx, .elements = true, .block = WF_SHAPE(4, 4));
    assert_null(wf_scratch(g, WF_F32, WF_SHAPE(1), true));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "index space");
    g = wf_begin(ctx);
    wf_block_id(g, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_block_id");
    g = wf_begin(ctx, .shape = WF_SHAPE(4));
    wf_grid_size(g, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_grid_size: axis 1 is out of range");
    g = wf_begin(ctx);
    wf_out(g, wf_formal(g, "y", WF_F32, 2), 1);
    wf_kernel *k = wf_compile(g);
    REFUSED(ctx, wf_launch(k, WF_NAMED(y), .threads = -2), WF_ERR_ARG, "negative");
    REFUSED(ctx, wf_launch(k, WF_NAMED(y), .block_threads = 512), WF_ERR_ARG, "block_threads");
    wf_kernel_free(k);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hook_counts),
                                        cmocka_unit_test(test_blocks_of_elements),
                                        cmocka_unit_test(test_ids),
                                        cmocka_unit_test(test_scratch),
                                        cmocka_unit_test(test_scratch_of_edges),
                                        cmocka_unit_test(test_shorter_options),
                                        cmocka_unit_test(test_ids_of_reductions),
                                        cmocka_unit_test(test_threads),
                                        cmocka_unit_test(test_small_kernels),
                                        cmocka_unit_test(test_block_threads),
                                        cmocka_unit_test(test_refused) };
    return RUN_ON_ALL(tests);
}
