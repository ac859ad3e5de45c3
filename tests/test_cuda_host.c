/* test_cuda_host.c - a host program that uses CUDA itself, beside Weft: here through the PTX emulator's driver API. Its memory
 * as arrays, and arrays' addresses for its kernels.
 */
#include "emu_test.h"
#include "weft_test.h"

#define GPU WF_GPU_EMU(0)
static wf_context *ctx;
static CUcontext primary;

static int on(void **state)
{
    if (emu_open(state))
        return -1;
    ctx = test_context(GPU, 1);
    return cu.cuCtxGetCurrent(&primary) != CUDA_SUCCESS;
}

static int off(void **state)
{
    wf_context_free(ctx);
    return emu_close(state);
}

/* The program's own context is current after each test, as before. */
static int still_current(void **state)
{
    (void)state;
    CUcontext now = NULL;
    CU(cu.cuCtxGetCurrent(&now));
    return now != primary;
}

static void count(void *user) { ++*(int *)user; }
static void *host(CUdeviceptr at) { return (void *)(uintptr_t)at; }

static wf_array *wrapped(CUdeviceptr at, wf_dtype dtype, wf_shape shape, int *released)
{
    wf_array *a = wf_wrap(ctx, host(at), dtype, shape, released ? count : NULL, released, .device = GPU);
    if (!a)
        print_error("%s\n", wf_message(ctx));
    assert_non_null(a);
    assert_int_equal(wf_array_device(a), GPU);
    return a;
}

/* a = a * 2 + add */
static void change(wf_array *a, wf_val add(wf_graph *g))
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_mul(wf_in(g, a), 2), add(g)));
    OK(ctx, wf_run(g));
}
static wf_val one(wf_graph *g) { return wf_const(g, WF_F32, 1); }

static void expect_at(CUdeviceptr at, const float *want, size_t n)
{
    float got[64];
    emu_download(got, at, n * sizeof *got);
    for (size_t i = 0; i < n; ++i)
        assert_true(got[i] == want[i]);
}

/* ---- memory of the program ---- */
static void test_wrap(void **state)
{
    (void)state;
    const float x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    int released = 0;
    wf_array *a = wrapped(at, WF_F32, WF_SHAPE(3, 4), &released), *row = wf_view_at(a, 0, 1);
    change(row, one);
    expect_at(at, (float[]){ 0, 1, 2, 3, 9, 11, 13, 15, 8, 9, 10, 11 }, 12);
    OK(ctx, wf_upload(row, x, 4 * sizeof *x));
    expect_at(at, (float[]){ 0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11 }, 12);
    wf_array *copy = wf_copy(row); /* memory of its own, at once: nobody sees what the program writes */
    CU(cu.cuMemsetD32_v2(at + 16, 0x40000000, 4));
    EXPECT_F32(row, 2, 2, 2, 2);
    EXPECT_F32(copy, 0, 1, 2, 3);
    wf_release(a), wf_release(copy);
    assert_int_equal(released, 0);
    wf_release(row);
    assert_int_equal(released, 1);
    CU(cu.cuMemFree_v2(at));
}

/* Backwards, with gaps, from the middle of an allocation; addresses that are not those of wide accesses. */
static void test_strides(void **state)
{
    (void)state;
    float x[40], want[40];
    for (int i = 0; i < 40; ++i)
        want[i] = x[i] = (float)i;
    CUdeviceptr at = emu_upload(x, sizeof x);
    const int64_t back[] = { 8, -2 };
    wf_array *a = wf_wrap(ctx, host(at + 4 * 15), WF_F32, WF_SHAPE(3, 4), NULL, NULL, .device = GPU, .strides = back);
    wf_array *odd = wrapped(at + 4, WF_F32, WF_SHAPE(7), NULL);
    change(a, one);
    change(odd, one);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
            want[15 + 8 * i - 2 * j] = want[15 + 8 * i - 2 * j] * 2 + 1;
    for (int i = 1; i < 8; ++i)
        want[i] = want[i] * 2 + 1;
    expect_at(at, want, 40);
    EXPECT_F32(a, want[15], want[13], want[11], want[9], want[23], want[21], want[19], want[17], want[31], want[29],
               want[27], want[25]);
    wf_release(a), wf_release(odd);
    CU(cu.cuMemFree_v2(at));
}

/* Arrays that overlap are found to, by their addresses, as on the processor. */
static void test_overlap(void **state)
{
    (void)state;
    float x[20], want[20];
    for (int i = 0; i < 20; ++i)
        want[i] = x[i] = (float)i;
    CUdeviceptr at = emu_upload(x, sizeof x);
    wf_array *from = wrapped(at, WF_F32, WF_SHAPE(19), NULL), *to = wrapped(at + 4, WF_F32, WF_SHAPE(19), NULL);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, to, wf_mul(wf_in(g, from), 3));
    OK(ctx, wf_run(g));
    for (int i = 19; i > 0; --i)
        want[i] = want[i - 1] * 3;
    expect_at(at, want, 20);
    wf_release(from), wf_release(to);
    CU(cu.cuMemFree_v2(at));
}

static void refused(CUdeviceptr at, wf_dtype dtype, int64_t n, wf_status status, const char *what)
{
    int released = 0;
    assert_null(wf_wrap(ctx, host(at), dtype, WF_SHAPE(n), count, &released, .device = GPU));
    REFUSED(ctx, wf_check(ctx), status, what);
    assert_int_equal(released, 1);
}

static void test_refused(void **state)
{
    (void)state;
    float here[4] = { 0 };
    CUdeviceptr at = emu_upload(NULL, 64), other;
    CUcontext second, own;
    refused(at, WF_F32, 17, WF_ERR_ARG, "of cuda-emu:0 has less than the 68 bytes that the array spans");
    refused(at + 2, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is not aligned for f32");
    refused(0, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is NULL");
    refused((CUdeviceptr)(uintptr_t)here, WF_F32, 4, WF_ERR_ARG, "cuda-emu:0 can reach: the driver does not know it");
    refused(at + 64, WF_F32, 1, WF_ERR_ARG, "the driver does not know it");
    CU(cu.cuDevicePrimaryCtxRetain(&second, 1));
    CU(cu.cuCtxPushCurrent_v2(second));
    other = emu_upload(NULL, 64);
    CU(cu.cuCtxPopCurrent_v2(NULL));
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "no memory that cuda-emu:0 can reach: it is that of device 1");
    wf_array *there = wf_wrap(ctx, host(other), WF_F32, WF_SHAPE(4), NULL, NULL, .device = WF_GPU_EMU(1));
    assert_non_null(there);
    wf_release(there);
    CU(cu.cuDevicePrimaryCtxRelease_v2(1));
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    other = emu_upload(NULL, 64);
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "it belongs to another CUDA context than the device's primary one");
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuMemFree_v2(at));
    at = emu_upload(NULL, 64); /* no elements: nothing is asked */
    CU(cu.cuMemFree_v2(at));
    wf_release(wrapped(at, WF_F32, WF_SHAPE(0, 3), NULL));
}

/* Memory that the driver has everywhere. */
static void test_shared_with_host(void **state)
{
    (void)state;
    void *pinned;
    CUdeviceptr managed;
    CU(cu.cuMemHostAlloc(&pinned, 32, 0));
    CU(cu.cuMemAllocManaged(&managed, 32, 1));
    float *all[2] = { pinned, host(managed) };
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < 8; ++i)
            all[k][i] = (float)i;
        wf_array *a = wrapped((CUdeviceptr)(uintptr_t)all[k], WF_F32, WF_SHAPE(8), NULL);
        change(a, one);
        OK(ctx, wf_sync(ctx));
        for (int i = 0; i < 8; ++i)
            assert_true(all[k][i] == (float)(2 * i + 1));
        wf_release(a);
    }
    CU(cu.cuMemFreeHost(pinned));
    CU(cu.cuMemFree_v2(managed));
}

/* ---- arrays for the program ---- */
static const char doubling[] =
    PTX_HEAD(80) ".visible .entry twice(.param .u64 at)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<2>;\n.reg .f32 %f<2>;\n"
                 "ld.param.u64 %d1, [at];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d1, %d2;\n"
                 "ld.global.f32 %f1, [%d3];\nadd.f32 %f1, %f1, %f1;\nst.global.f32 [%d3], %f1;\nret;\n}\n";

static void test_map_device(void **state)
{
    (void)state;
    wf_array *a = wf_arange(ctx, WF_F32, 12, 0, 1), *copy = wf_copy(a);
    wf_array *view = wf_view_slice(a, 0, 11, WF_END_INDEX, -3), *cpu = wf_copy_to(a, WF_CPU);
    void *at = NULL, *part = NULL, *rest = NULL;
    int64_t stride = 0;
    REFUSED(ctx, wf_map(a, &at, NULL), WF_ERR_DEVICE, "wf_map_device");
    REFUSED(ctx, wf_map_device(cpu, &at, NULL), WF_ERR_DEVICE, "wf_map_device: the array is in the processor's memory");
    REFUSED(ctx, wf_map_device(a, NULL, NULL), WF_ERR_ARG, "data is NULL");
    assert_null(at);
    OK(ctx, wf_map_device(a, &at, &stride));
    assert_int_equal(stride, 1);
    OK(ctx, wf_map_device(view, &part, &stride));
    assert_int_equal(stride, -3);
    assert_ptr_equal(part, (char *)at + 44);
    OK(ctx, wf_map_device(copy, &rest, NULL));
    assert_ptr_not_equal(rest, at);
    CU(emu_run(doubling, "twice", 1, 12, 0, 1, (uint64_t)(uintptr_t)at));
    EXPECT_F32(a, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    EXPECT_F32(view, 22, 16, 10, 4);
    EXPECT_F32(copy, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    wf_release(a), wf_release(copy), wf_release(view), wf_release(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_wrap, still_current),
        cmocka_unit_test_teardown(test_strides, still_current),
        cmocka_unit_test_teardown(test_overlap, still_current),
        cmocka_unit_test_teardown(test_refused, still_current),
        cmocka_unit_test_teardown(test_shared_with_host, still_current),
        cmocka_unit_test_teardown(test_map_device, still_current),
    };
    if (!getenv("WEFT_CUDA_EMU")) {
        print_message("WEFT_CUDA_EMU names no emulator: nothing to test\n");
        return 0;
    }
    setenv("WEFT_EMU_DEVICES", "2", 1);
    return cmocka_run_group_tests(tests, on, off);
}
