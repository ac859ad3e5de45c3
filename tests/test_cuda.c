/* test_cuda.c - arrays and recordings on a GPU, which is the PTX emulator or the driver that WEFT_CUDA names: memory,
 * copies, where recordings run, the bits of the processor, errors. The tests named cuda_* run there, too.
 *
 * ctest: gpu
 */
#include "weft_test.h"

static wf_context *ctx; /* its default is the CPU */
static char driver[1024];

static int on(void **state)
{
    (void)state;
    ctx = test_context(WF_CPU, 2);
    return 0;
}

static int off(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

static wf_array *ramp(wf_device device, wf_dtype dtype, wf_shape shape)
{
    wf_array *a = wf_empty(ctx, dtype, shape, .device = device);
    if (!a)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(a);
    int64_t n = wf_array_count(a);
    wf_array *flat = wf_array_arange(ctx, dtype, n, -17, 0.37);
    void *x = contents(flat);
    OK(ctx, wf_upload(a, x, (size_t)n * wf_dtype_size(dtype)));
    free(x);
    wf_release(flat);
    return a;
}

static void same(wf_array *a, wf_array *b)
{
    assert_int_equal(wf_array_count(a), wf_array_count(b));
    assert_int_equal(wf_array_dtype(a), wf_array_dtype(b));
    void *x = contents(a), *y = contents(b);
    assert_int_equal(first_difference(wf_array_dtype(a), x, y, wf_array_count(a)), -1);
    free(x);
    free(y);
}

static void test_memory(void **state)
{
    (void)state;
    wf_array *a = ramp(WF_GPU(0), WF_F32, WF_SHAPE(4, 6)), *copy = wf_copy_to(a, WF_CPU), *like = wf_like(a);
    assert_int_equal(wf_array_device(a), WF_GPU(0));
    assert_int_equal(wf_array_device(copy), WF_CPU);
    assert_int_equal(wf_array_device(like), WF_GPU(0));
    same(a, copy);
    int turned[] = { 1, 0 };
    wf_array *view = wf_view_permute(a, turned), *part = wf_view_slice(view, 0, 4, 1, -2);
    wf_array *cview = wf_view_permute(copy, turned), *cpart = wf_view_slice(cview, 0, 4, 1, -2);
    assert_int_equal(wf_array_device(part), WF_GPU(0));
    same(part, cpart);
    const float some[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    OK(ctx, wf_upload(part, some, sizeof some)); /* strided, the rest stays */
    OK(ctx, wf_upload(cpart, some, sizeof some));
    same(a, copy);
    wf_array *back = wf_copy_to(cpart, WF_GPU(0)), *there = wf_copy_to(a, WF_GPU(0)),
             *again = wf_copy_to(part, WF_GPU(0));
    same(back, part);
    same(there, copy);
    same(again, cpart);
    assert_false(wf_shares(there, a));
    void *data;
    REFUSED(ctx, wf_map(a, &data, NULL), WF_ERR_DEVICE, "memory of cuda:0");
    wf_array *all[] = { a, copy, like, view, part, cview, cpart, back, there, again };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* A recording runs on the device of its operands; kept arrays lie there, too. */
static void test_where(void **state)
{
    (void)state;
    wf_array *a = ramp(WF_GPU(0), WF_F64, WF_SHAPE(100)), *b = ramp(WF_CPU, WF_F64, WF_SHAPE(100));
    wf_graph *g = wf_begin(ctx);
    wf_array *k = wf_keep(wf_sqrt(wf_abs(wf_in(g, a))));
    assert_int_equal(wf_array_device(k), WF_GPU(0));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_array *want = wf_keep(wf_sqrt(wf_abs(wf_in(g, b))));
    OK(ctx, wf_run(g));
    same(k, want);
    g = wf_begin(ctx);
    wf_val first = wf_in(g, a);
    wf_out(g, a, wf_add(first, wf_in(g, b)));
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE,
            "wf_in: array 2 of the recording (in order of first use; f64 of shape (100)) is in the memory of cpu");
    g = wf_begin(ctx, .device = WF_CPU);
    wf_out(g, b, wf_in(g, a));
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE,
            "wf_in: array 1 of the recording (in order of first use; f64 of shape (100)) is in the memory of cuda:0");
    wf_release(a);
    wf_release(b);
    wf_release(k);
    wf_release(want);
}

static wf_array *sums(wf_device device, wf_shape shape, wf_axes axes)
{
    wf_array *a = ramp(device, WF_F32, shape);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_sin(wf_in(g, a));
    wf_array *r =
        wf_keep(wf_add(wf_reduce(WF_JOIN_MUL, wf_add(1, wf_mul(v, 1e-3)), axes), wf_reduce(WF_JOIN_MAX, v, axes)));
    OK(ctx, wf_run(g));
    wf_release(a);
    return r;
}

/* Boxes and parts are joined in the order of the processor. */
static void test_same_bits(void **state)
{
    (void)state;
    static const struct {
        int64_t h, w;
        wf_axes axes;
    } some[] = { { 300, 1000, 3 }, { 400, 70, 1 }, { 3, 140000, 2 }, { 50, 33, 2 }, { 1, 1, 3 }, { 70, 1, 1 } };
    for (size_t i = 0; i < sizeof some / sizeof *some; ++i) {
        wf_shape shape = WF_SHAPE(some[i].h, some[i].w);
        wf_array *got = sums(WF_GPU(0), shape, some[i].axes), *want = sums(WF_CPU, shape, some[i].axes);
        same(got, want);
        wf_release(got);
        wf_release(want);
    }
}

static wf_array *scanned(wf_device device, wf_shape shape, int axis, bool exclusive, bool reversed)
{
    wf_array *a = ramp(device, WF_F32, shape);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_sin(wf_in(g, a)), s = wf_scan(WF_JOIN_ADD, v, axis, exclusive, reversed);
    wf_array *r = wf_keep(wf_add(s, wf_scan(WF_JOIN_MUL, wf_add(1, wf_mul(v, 1e-3)), axis, exclusive, reversed)));
    OK(ctx, wf_run(g));
    wf_release(a);
    return r;
}

/* Groups, parts and rows are joined in the order of the processor, also where the last ones are incomplete. */
static void test_scans(void **state)
{
    (void)state;
    static const struct {
        int64_t h, w;
        int axis;
    } some[] = { { 3, 7, 1 },     { 2, 8, 1 },     { 5, 1000, 1 }, { 1, 16384, 1 }, { 1, 16391, 1 },
                 { 2, 32768, 1 }, { 1, 33000, 1 }, { 600, 1, 0 },  { 30, 33, 0 },   { 1, 1, 1 } };
    for (size_t i = 0; i < sizeof some / sizeof *some; ++i)
        for (int how = 0; how < 4; ++how) {
            wf_shape shape = WF_SHAPE(some[i].h, some[i].w);
            wf_array *got = scanned(WF_GPU(0), shape, some[i].axis, how & 1, how & 2);
            wf_array *want = scanned(WF_CPU, shape, some[i].axis, how & 1, how & 2);
            same(got, want);
            wf_release(got);
            wf_release(want);
        }
}

static void test_kernels(void **state)
{
    (void)state;
    wf_array *a = ramp(WF_GPU(0), WF_I32, WF_SHAPE(5, 300)), *r = wf_like(a), *host = wf_copy_to(a, WF_CPU);
    wf_graph *g = wf_begin(ctx, .device = WF_GPU(0));
    wf_array *x = wf_formal(g, "x", WF_I32, 2), *y = wf_formal(g, "y", WF_I32, 2);
    wf_out(g, y, wf_add(wf_mul(wf_in(g, x), wf_param(g, "by", WF_I32, 3)), 1));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    for (int by = 3; by < 6; ++by) {
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a), WF_ARG("y", r), WF_ARG("by", by))));
        int32_t *got = contents(r), *from = contents(a);
        for (int i = 0; i < 1500; ++i)
            assert_int_equal(got[i], from[i] * by + 1);
        free(got);
        free(from);
    }
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", host), WF_ARG("y", r))), WF_ERR_DEVICE,
            "'x' is in the memory of cpu");
    wf_kernel_free(k);
    wf_release(a);
    wf_release(r);
    wf_release(host);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *a = ramp(WF_GPU(0), WF_F32, WF_SHAPE(8));
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(1), .device = WF_GPU(50)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "no cuda:50");
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    OK(ctx, wf_run(g));
    wf_frozen *frozen = wf_freeze_end(ctx);
    wf_array *host = wf_copy_to(a, WF_CPU);
    REFUSED(ctx, wf_frozen_replay(frozen, WF_ARRAYS(host)), WF_ERR_DEVICE,
            "is in the memory of cpu, was in that of cuda:0");
    wf_frozen_free(frozen);
    wf_release(host);
    wf_release(a);
    assert_int_equal(wf_device_named("cuda"), WF_GPU(0));
    assert_int_equal(wf_device_named("cuda:7"), WF_GPU(7));
    assert_int_equal(wf_device_named("cuda:"), 0);
    assert_int_equal(wf_device_named("cuda7"), 0);
}

static void test_queries(void **state)
{
    (void)state;
    wf_device_info gpu = { .size = sizeof gpu }, cpu = gpu, old = { .size = offsetof(wf_device_info, processors) };
    int n = wf_device_count(ctx, WF_GPU(3));
    assert_true(n >= 1);
    assert_int_equal(wf_device_count(ctx, WF_CPU), 1);
    assert_int_equal(wf_device_count(ctx, 99), 0);
    OK(ctx, wf_get_device_info(ctx, WF_GPU(0), &gpu));
    assert_true(*gpu.name && gpu.processors > 0 && gpu.capability >= 70 && gpu.driver >= 10000);
    assert_true(gpu.block_memory >= 48 << 10 && gpu.memory_free > 0 && gpu.memory_free <= gpu.memory_bytes);
    wf_array *a = wf_empty(ctx, WF_U8, WF_SHAPE(3 << 20), .device = WF_GPU(0));
    wf_release(a);
    uint64_t kept = gpu.memory_kept;
    OK(ctx, wf_get_device_info(ctx, WF_GPU(0), &gpu));
    assert_true(gpu.memory_kept >= kept + (3 << 20));
    OK(ctx, wf_get_device_info(ctx, WF_CPU, &cpu));
    assert_true(*cpu.name && cpu.processors >= 1 && cpu.memory_bytes > 0 && !cpu.capability && !cpu.block_memory);
    OK(ctx, wf_get_device_info(ctx, WF_GPU(0), &old));
    assert_true(!strcmp(old.name, gpu.name) && !old.processors);
    REFUSED(ctx, wf_get_device_info(ctx, WF_GPU(n), &gpu), WF_ERR_DEVICE, "this machine has");
    REFUSED(ctx, wf_get_device_info(ctx, 99, &gpu), WF_ERR_DEVICE, "wf_get_device_info: there is no device 99 here");
    REFUSED(ctx, wf_get_device_info(ctx, WF_CPU, NULL), WF_ERR_ARG, "info is NULL");
}

static void test_no_driver(void **state)
{
    (void)state;
    wf_context *other = test_context(0, 1);
    setenv("WEFT_CUDA", "/no/such/driver.so", 1);
    assert_null(wf_empty(other, WF_F32, WF_SHAPE(2), .device = WF_GPU(0)));
    REFUSED(other, wf_last_status(other), WF_ERR_DEVICE, "no NVIDIA driver was found");
    assert_int_equal(wf_device_count(other, WF_GPU(0)), 0);
    OK(other, wf_last_status(other));
    wf_device_info info = { .size = sizeof info };
    REFUSED(other, wf_get_device_info(other, WF_GPU(0), &info), WF_ERR_DEVICE, "no NVIDIA driver was found");
    assert_null(wf_empty(other, WF_F32, WF_SHAPE(2), .memory = WF_MEMORY_PINNED));
    REFUSED(other, wf_last_status(other), WF_ERR_DEVICE, "wf_empty: cuda:0: no NVIDIA driver was found");
    wf_graph *g = wf_begin(other, .device = WF_GPU(0));
    wf_keep(wf_const(g, WF_F32, 4));
    REFUSED(other, wf_run(g), WF_ERR_DEVICE, "no NVIDIA driver was found");
    wf_context_free(other);
    setenv("WEFT_CUDA", driver, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_where),     cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_scans),   cmocka_unit_test(test_kernels),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_queries), cmocka_unit_test(test_no_driver),
    };
    const char *own = getenv("WEFT_CUDA"), *emulator = getenv("WEFT_CUDA_EMU");
    if (!own && !emulator) {
        print_message("neither WEFT_CUDA nor WEFT_CUDA_EMU names a driver: nothing to test\n");
        return 0;
    }
    snprintf(driver, sizeof driver, "%s", own ? own : emulator);
    setenv("WEFT_CUDA", driver, 1);
    return cmocka_run_group_tests(tests, on, off);
}
