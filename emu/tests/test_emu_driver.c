/* test_emu_driver.c - the driver API of the PTX emulator: devices, contexts, modules and their logs, memory, copies,
 * streams, events, refused launches.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

static const char text[] = PTX_HEAD(
    80) ".visible .global .align 4 .u32 table[4] = {1, 2, 3, 4};\n.extern .shared .align 4 .b8 scratch[];\n"
        ".visible .entry fill(.param .u64 at, .param .u32 value)\n.maxntid 256, 1, 1\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n"
        "ld.param.u64 %d1, [at];\nld.param.u32 %r1, [value];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\n"
        "st.global.u32 [%d3], %r1;\nret;\n}\n";

static void devices(void **state)
{
    (void)state;
    int count, value;
    char name[64];
    size_t bytes;
    const char *words;
    CU(cu.cuDeviceGetCount(&count));
    assert_true(count >= 1);
    CU(cu.cuDeviceGetName(name, sizeof name, 0));
    assert_non_null(strstr(name, "emulator"));
    CU(cu.cuDeviceGetAttribute(&value, 10, 0)); /* warp size */
    assert_int_equal(value, 32);
    CU(cu.cuDeviceGetAttribute(&value, 75, 0));
    assert_in_range(value, 7, 12);
    CU(cu.cuDeviceTotalMem_v2(&bytes, 0));
    assert_true(bytes > 0);
    CU_IS(cu.cuDeviceGetName(name, sizeof name, count), CUDA_ERROR_INVALID_DEVICE);
    CU(cu.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &words));
    assert_string_equal(words, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CU_IS(cu.cuGetErrorName((CUresult)12345, &words), CUDA_ERROR_INVALID_VALUE);
    void *entry;
    int found;
    CU(cu.cuGetProcAddress_v2("cuMemAlloc", &entry, 12000, 0, &found));
    assert_true(entry == *(void **)&cu.cuMemAlloc_v2 && found == 0);
    CU_IS(cu.cuGetProcAddress_v2("cuNoSuch", &entry, 12000, 0, &found), CUDA_ERROR_NOT_FOUND);
}

static void contexts(void **state)
{
    (void)state;
    CUcontext primary, mine, now;
    CUdevice device;
    CU(cu.cuCtxGetCurrent(&primary));
    CU(cu.cuCtxCreate_v2(&mine, 0, 0));
    CU(cu.cuCtxGetCurrent(&now));
    assert_ptr_equal(now, mine);
    CUdeviceptr p;
    CU(cu.cuMemAlloc_v2(&p, 64));
    CU(cu.cuCtxPushCurrent_v2(primary));
    CU(cu.cuCtxGetDevice(&device));
    assert_int_equal(device, 0);
    CU(cu.cuCtxPopCurrent_v2(&now));
    assert_ptr_equal(now, primary);
    CU(cu.cuCtxDestroy_v2(mine));
    CU(cu.cuCtxGetCurrent(&now));
    assert_ptr_equal(now, primary);
    CU_IS(cu.cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE); /* freed with its context */
    CU_IS(cu.cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
    CU(cu.cuCtxSetCurrent(NULL));
    CU_IS(cu.cuMemAlloc_v2(&p, 64), CUDA_ERROR_INVALID_CONTEXT);
    CU(cu.cuCtxSetCurrent(primary));
}

static void modules(void **state)
{
    (void)state;
    CUmodule module = emu_load(text), other;
    CUfunction f;
    CUdeviceptr at;
    size_t bytes;
    uint32_t table[4];
    int value;
    CU_IS(cu.cuModuleGetFunction(&f, module, "none"), CUDA_ERROR_NOT_FOUND);
    CU(cu.cuModuleGetFunction(&f, module, "fill"));
    CU(cu.cuModuleGetGlobal_v2(&at, &bytes, module, "table"));
    assert_int_equal(bytes, sizeof table);
    emu_download(table, at, sizeof table);
    assert_int_equal(table[3], 4);
    CU(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    assert_int_equal(value, 256);
    CU(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 0));
    assert_in_range(value, 1, 32);
    int grid, block;
    CU(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    assert_in_range(block, 32, 256);
    char log[256] = "";
    int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)sizeof log };
    CU_IS(cu.cuModuleLoadDataEx(&other, PTX_HEAD(80) ".visible .entry k()\n{\nwrong.u32;\n}\n", 2, options, values),
          CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "line 6"));
    assert_non_null(strstr(log, "'wrong'"));
    CU_IS(cu.cuModuleLoadData(&other, PTX_HEAD(120)), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CU_IS(cu.cuModuleLoadData(&other, "\x7f"
                                      "ELF...."),
          CUDA_ERROR_NO_BINARY_FOR_GPU);
    /* linked images load again */
    CUlinkState link;
    void *image;
    CU(cu.cuLinkCreate_v2(0, NULL, NULL, &link));
    CU(cu.cuLinkAddData_v2(link, 1, (void *)(uintptr_t)text, sizeof text, "a", 0, NULL, NULL));
    CU(cu.cuLinkComplete(link, &image, &bytes));
    CU(cu.cuModuleLoadData(&other, image));
    CU(cu.cuLinkDestroy(link));
    CU(cu.cuModuleUnload(other));
    CU(cu.cuModuleUnload(module));
    CU_IS(cu.cuModuleGetFunction(&f, module, "fill"), CUDA_ERROR_INVALID_HANDLE);
}

static void launches(void **state)
{
    (void)state;
    CUmodule module = emu_load(text);
    CUfunction f = emu_function(module, "fill");
    uint32_t got[64], value = 77;
    CUdeviceptr at = emu_upload(NULL, sizeof got);
    void *params[] = { &at, &value };
    CU_IS(cu.cuLaunchKernel(f, 1, 1, 1, 257, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuLaunchKernel(f, 1, 70000, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 100000, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    CU(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 100000, NULL, params, NULL));
    CU_IS(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000), CUDA_ERROR_INVALID_VALUE);
    /* parameters as one buffer: 8 bytes of pointer, 4 of value */
    uint8_t buffer[12];
    size_t size = sizeof buffer;
    value = 5;
    memcpy(buffer, &at, 8);
    memcpy(buffer + 8, &value, 4);
    void *extra[] = { (void *)1, buffer, (void *)2, &size, NULL };
    CU(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    emu_download(got, at, sizeof got);
    assert_int_equal(got[63], 5);
    CU(cu.cuModuleUnload(module));
}

static void memory(void **state)
{
    (void)state;
    size_t left, total, after, bytes;
    CUdeviceptr p, base;
    CU(cu.cuMemGetInfo_v2(&left, &total));
    CU_IS(cu.cuMemAlloc_v2(&p, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    CU(cu.cuMemAlloc_v2(&p, 1000));
    CU(cu.cuMemGetInfo_v2(&after, NULL));
    assert_true(after <= left - 1000);
    CU(cu.cuMemGetAddressRange_v2(&base, &bytes, p + 500));
    assert_true(base == p && bytes == 1000);
    unsigned type;
    CU(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 10));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    CUcontext owner, now;
    int device = -1;
    unsigned managed = 9;
    size_t range = 0;
    CU(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p + 999));
    CU(cu.cuCtxGetCurrent(&now));
    assert_ptr_equal(owner, now);
    CU(cu.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p + 10));
    assert_int_equal(device, 0);
    CU(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    assert_int_equal(managed, 0);
    CU(cu.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 999));
    CU(cu.cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 999));
    assert_true(base == p && range == 1000);
    CU_IS(cu.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p - 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 1000), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuMemFree_v2(p + 8), CUDA_ERROR_INVALID_VALUE);
    CU(cu.cuMemFree_v2(p));
    CU_IS(cu.cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    void *host;
    CU(cu.cuMemHostAlloc(&host, 4096, 0));
    memset(host, 1, 4096);
    CU(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    CU(cu.cuMemFreeHost(host));
    CU_IS(cu.cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    CU(cu.cuMemAllocManaged(&p, 64, 1));
    ((int *)(uintptr_t)p)[3] = 9; /* the host may access managed memory */
    CU(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p + 63));
    assert_int_equal(managed, 1);
    CU(cu.cuMemFree_v2(p));
    CU(cu.cuMemAllocAsync(&p, 64, NULL));
    CU(cu.cuMemFreeAsync(p, NULL));
    CUmemoryPool pool;
    uint64_t keep = 1 << 20, got = 0;
    CU(cu.cuDeviceGetDefaultMemPool(&pool, 0));
    CU(cu.cuMemPoolSetAttribute(pool, 4, &keep));
    CU(cu.cuMemPoolGetAttribute(pool, 4, &got));
    assert_true(got == keep);
}

static void copies(void **state)
{
    (void)state;
    uint16_t a[4][6], b[3][2], c[24];
    for (int i = 0; i < 24; i++)
        (&a[0][0])[i] = (uint16_t)i;
    CUdeviceptr p = emu_upload(a, sizeof a);
    CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = p,
                          .srcPitch = 12,
                          .srcXInBytes = 4,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = b,
                          .dstPitch = 4,
                          .WidthInBytes = 4,
                          .Height = 3 };
    CU(cu.cuMemcpy2D_v2(&box));
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 2; x++)
            assert_int_equal(b[y][x], a[y + 1][x + 2]);
    box.Height = 4;
    CU_IS(cu.cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE); /* beyond the end */
    CU(cu.cuMemsetD16_v2(p + 2, 0xabcd, 3));
    emu_download(c, p, sizeof c);
    assert_true(c[0] == 0 && c[1] == 0xabcd && c[3] == 0xabcd && c[4] == 4);
    CU_IS(cu.cuMemsetD32_v2(p + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuMemcpyHtoD_v2(p + 40, a, 16), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu.cuMemcpyDtoH_v2(c, 64, 8), CUDA_ERROR_INVALID_VALUE);
    CU(cu.cuMemFree_v2(p));
}

static void called(void *user) { ++*(int *)user; }
static void streams(void **state)
{
    (void)state;
    CUstream s;
    CUevent start, end;
    float ms = -1;
    int calls = 0;
    CU(cu.cuStreamCreate(&s, 1));
    CU(cu.cuEventCreate(&start, 0));
    CU(cu.cuEventCreate(&end, 0));
    CU_IS(cu.cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    CU(cu.cuEventRecord(start, s));
    CU(cu.cuLaunchHostFunc(s, called, &calls));
    CU(cu.cuEventRecord(end, s));
    CU(cu.cuStreamWaitEvent(s, end, 0));
    CU(cu.cuEventSynchronize(end));
    CU(cu.cuStreamSynchronize(s));
    CU(cu.cuStreamQuery(s));
    assert_int_equal(calls, 1);
    CU(cu.cuEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0);
    /* A stream of another context: launches and events of this context are refused there, waiting is not. */
    CUcontext here, own, whose;
    CUstream other;
    CUevent there, untimed;
    CUmodule module = emu_load(text);
    CUdeviceptr at = emu_upload(NULL, 4);
    uint32_t value = 1;
    CU(cu.cuCtxGetCurrent(&here));
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    CU(cu.cuStreamCreate(&other, 0));
    CU(cu.cuEventCreate(&there, 0));
    CU(cu.cuEventRecord(there, other));
    CU(cu.cuStreamGetCtx(NULL, &whose));
    assert_ptr_equal(whose, own);
    CU(cu.cuCtxPopCurrent_v2(NULL));
    CU(cu.cuStreamGetCtx(other, &whose));
    assert_ptr_equal(whose, own);
    CU(cu.cuStreamGetCtx(s, &whose));
    assert_ptr_equal(whose, here);
    CU_IS(cu.cuStreamGetCtx((CUstream)&ms, &whose), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu.cuEventRecord(start, other), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu.cuEventElapsedTime(&ms, start, there), CUDA_ERROR_INVALID_HANDLE);
    CU(cu.cuStreamWaitEvent(s, there, 0));
    CU_IS(cu.cuLaunchKernel(emu_function(module, "fill"), 1, 1, 1, 1, 1, 1, 0, other, (void *[]){ &at, &value }, NULL),
          CUDA_ERROR_INVALID_HANDLE);
    CU(cu.cuEventCreate(&untimed, 2));
    CU(cu.cuEventRecord(untimed, s));
    CU(cu.cuEventSynchronize(untimed));
    CU_IS(cu.cuEventElapsedTime(&ms, untimed, end), CUDA_ERROR_INVALID_HANDLE);
    CU(cu.cuEventDestroy_v2(untimed));
    CU(cu.cuModuleUnload(module));
    CU(cu.cuMemFree_v2(at));
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuEventDestroy_v2(start));
    CU(cu.cuEventDestroy_v2(end));
    CU(cu.cuStreamDestroy_v2(s));
    CU_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu.cuEventQuery(end), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices), cmocka_unit_test(contexts), cmocka_unit_test(modules), cmocka_unit_test(launches),
        cmocka_unit_test(memory),  cmocka_unit_test(copies),   cmocka_unit_test(streams),
    };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
