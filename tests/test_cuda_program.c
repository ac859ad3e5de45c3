/* test_cuda_program.c - memory shared with a host program that uses CUDA itself: its memory as arrays, addresses of
 * arrays for its kernels, memory that the processor reaches, too.
 *
 * ctest: gpu
 */
#include "cuda_program.h"

/* ---- memory of the program ---- */
static void test_wrap(void **state)
{
    (void)state;
    const float x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    int released = 0;
    wf_array *a = wrapped(at, WF_F32, WF_SHAPE(3, 4), &released), *row = wf_view_at(a, 0, 1);
    change(row, one);
    OK(ctx, wf_sync(ctx));
    expect_at(at, (float[]){ 0, 1, 2, 3, 9, 11, 13, 15, 8, 9, 10, 11 }, 12);
    OK(ctx, wf_upload(row, x, 4 * sizeof *x));
    expect_at(at, (float[]){ 0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11 }, 12);
    wf_array *copy = wf_copy(row); /* memory of its own at once, so that it does not see writes of the program */
    OK(ctx, wf_sync(ctx));
    CU(cu.cuMemsetD32_v2(at + 16, 0x40000000, 4));
    CU(cu.cuCtxSynchronize());
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
    OK(ctx, wf_sync(ctx));
    expect_at(at, want, 40);
    EXPECT_F32(a, want[15], want[13], want[11], want[9], want[23], want[21], want[19], want[17], want[31], want[29],
               want[27], want[25]);
    wf_release(a), wf_release(odd);
    CU(cu.cuMemFree_v2(at));
}

/* Arrays that overlap are recognised by their addresses, as on the processor. */
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
    OK(ctx, wf_sync(ctx));
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
    REFUSED(ctx, wf_last_status(ctx), status, what);
    assert_int_equal(released, 1);
}

static void test_refused(void **state)
{
    (void)state;
    float here[4] = { 0 };
    CUdeviceptr at = emu_upload(NULL, 64), other;
    CUcontext second, own;
    refused(at, WF_F32, 17, WF_ERR_ARG, "of cuda:0 has less than the 68 bytes that the array spans");
    refused(at + 2, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is not aligned for f32");
    refused(0, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is NULL");
    refused((CUdeviceptr)(uintptr_t)here, WF_F32, 4, WF_ERR_ARG, "cuda:0 can reach: the driver does not know it");
    refused(at + 64, WF_F32, 1, WF_ERR_ARG, "the driver does not know it");
    CU(cu.cuDevicePrimaryCtxRetain(&second, 1));
    CU(cu.cuCtxPushCurrent_v2(second));
    other = emu_upload(NULL, 64);
    CU(cu.cuCtxPopCurrent_v2(NULL));
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "no memory that cuda:0 can reach: it is that of device 1");
    wf_array *there = wf_wrap(ctx, host(other), WF_F32, WF_SHAPE(4), NULL, NULL, .device = WF_GPU(1));
    assert_non_null(there);
    wf_release(there);
    CU(cu.cuDevicePrimaryCtxRelease_v2(1));
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    other = emu_upload(NULL, 64);
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "it belongs to another CUDA context than the device's primary one");
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuMemFree_v2(at));
    at = emu_upload(NULL, 64); /* no elements: no check of the address */
    CU(cu.cuMemFree_v2(at));
    wf_release(wrapped(at, WF_F32, WF_SHAPE(0, 3), NULL));
}

/* Memory that the driver maps on host and GPU. */
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

/* The same memory made by Weft, for arrays of the processor and of the GPU. */
static void test_shared_memory(void **state)
{
    (void)state;
    const wf_memory kinds[] = { WF_MEMORY_PINNED, WF_MEMORY_MANAGED };
    const wf_device devices[] = { WF_CPU, GPU };
    const int64_t strides[] = { 1, 3 };
    for (int i = 0; i < 4; ++i) {
        wf_array *a =
            wf_empty(ctx, WF_F32, WF_SHAPE(3, 4), .memory = kinds[i / 2], .device = devices[i % 2], .strides = strides);
        assert_non_null(a);
        assert_int_equal(wf_array_device(a), devices[i % 2]);
        float *at = NULL, x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
        OK(ctx, wf_upload(a, x, sizeof x));
        OK(ctx, wf_map(a, (void **)&at, NULL));
        assert_true(at[0] == 0 && at[1] == 4 && at[3] == 1 && at[11] == 11);
        wf_array *there = wf_copy_to(a, GPU);
        EXPECT_F32(there, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        at[1] = 40;
        wf_graph *g = wf_begin(ctx, .device = devices[i % 2]);
        wf_out(g, a, wf_mul(wf_in(g, a), 2));
        OK(ctx, wf_run(g));
        OK(ctx, wf_sync(ctx));
        assert_true(at[0] == 0 && at[1] == 80 && at[3] == 2 && at[11] == 22);
        EXPECT_F32(a, 0, 2, 4, 6, 80, 10, 12, 14, 16, 18, 20, 22);
        wf_array *copy = wf_copy(a);
        at[0] = 7;
        EXPECT_F32(copy, 0, 2, 4, 6, 80, 10, 12, 14, 16, 18, 20, 22);
        wf_release(copy);
        wf_release(there);
        unsigned type;
        assert_int_equal(cu.cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)at), CUDA_SUCCESS);
        wf_release(a);
        assert_int_equal(cu.cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)at), CUDA_ERROR_INVALID_VALUE);
    }
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(3), .memory = (wf_memory)7));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_empty: there is no kind of memory 7");
    assert_null(wf_empty(ctx, WF_F64, WF_SHAPE(1 << 20, 1 << 18), .memory = WF_MEMORY_PINNED));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_MEMORY, "wf_empty: out of memory for f64 (1048576, 262144)");
    wf_array *plain = wf_empty(ctx, WF_F32, WF_SHAPE(3));
    void *at = NULL;
    REFUSED(ctx, wf_map(plain, &at, NULL), WF_ERR_DEVICE, "wf_map: the array is in the memory of cuda:0");
    wf_release(plain);
}

/* ---- arrays for the program ---- */
static void test_map_device(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 12, 0, 1), *copy = wf_copy(a);
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

/* ---- without memory ---- */
static void negate(const wf_chunk *c, void *user)
{
    (void)user;
    for (int64_t i = 0; i < c->n; ++i)
        ((float *)c->out[0])[i] = -((const float *)c->in[0])[i];
}

static wf_status all_of_it(wf_context *c)
{
    const float x[4] = { 1, 2, 3, 4 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    int released = 0;
    wf_array *a = wf_wrap(c, host(at), WF_F32, WF_SHAPE(4), count, &released, .device = GPU);
    wf_stream *s = a ? wf_stream_wrap(c, GPU, NULL) : NULL;
    wf_event *e = NULL;
    wf_status status = s ? WF_OK : missing(c);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(c, .stream = s, .flags_on = WF_FLAG_DEBUG);
        WF_IF (g, wf_gt(wf_in(g, a), 0)) {
            wf_out(g, a, wf_mul(wf_in(g, a), 2));
        }
        WF_END(g);
        status = g ? wf_run(g) : missing(c);
    }
    if (status == WF_OK) {
        e = wf_event_record(s);
        status = e ? wf_event_sync(e) : missing(c);
    }
    if (status == WF_OK)
        status = wf_host_apply(c, WF_ARRAYS(a), WF_ARRAYS(a), negate, NULL);
    if (status == WF_OK)
        expect_at(at, (float[]){ -2, -4, -6, -8 }, 4);
    wf_event_free(e);
    wf_stream_free(s);
    wf_release(a);
    assert_int_equal(released, 1);
    CU(cu.cuMemFree_v2(at));
    return status;
}

static void test_without_memory(void **state)
{
    memory_case all = { "a program that uses CUDA", all_of_it, WF_CPU, 1 };
    *state = &all;
    test_memory_case(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_wrap, still_current),
        cmocka_unit_test_teardown(test_strides, still_current),
        cmocka_unit_test_teardown(test_overlap, still_current),
        cmocka_unit_test_teardown(test_refused, still_current),
        cmocka_unit_test_teardown(test_shared_with_host, still_current),
        cmocka_unit_test_teardown(test_shared_memory, still_current),
        cmocka_unit_test_teardown(test_map_device, still_current),
        cmocka_unit_test_teardown(test_without_memory, still_current),
    };
    return RUN_BESIDE(tests);
}
