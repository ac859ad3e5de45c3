/* test_emu_switch.c - the environment variables of the PTX emulator: checks, devices, memory, endless loops.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

#define KERNEL(body)                                                                                      \
    PTX_HEAD(80)                                                                                          \
    ".visible .entry k(.param .u64 at)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\nld.param.u64 %d1, [at];\n" \
    "mov.u32 %r1, %tid.x;\n" body "ret;\n}\n"

static int open_switched(void **state)
{
    setenv("WEFT_EMU", "uninit", 1);
    setenv("WEFT_EMU_DEVICES", "2", 1);
    setenv("WEFT_EMU_MEMORY", "1", 1);
    setenv("WEFT_EMU_LIMIT", "100000", 1);
    setenv("WEFT_EMU_SM", "86", 1);
    return emu_open(state);
}

static void finders(void **state)
{
    (void)state;
    uint32_t zero = 0;
    CUdeviceptr at = emu_upload(&zero, 4);
    CU(emu_run(KERNEL("st.global.u32 [%d1], %r1;\n"), "k", 1, 64, 0, 1, (uint64_t)at)); /* a race */
    CU(emu_run(KERNEL("add.u32 %r2, %r3, 1;\n"), "k", 1, 64, 0, 1, (uint64_t)at));      /* an unset register */
    CUdeviceptr fresh = emu_upload(NULL, 4);
    emu_found(emu_run(KERNEL("ld.global.u32 %r2, [%d1];\n"), "k", 1, 1, 0, 1, (uint64_t)fresh),
              CUDA_ERROR_LAUNCH_FAILED, 1, "nothing has written");
}

static void endless(void **state)
{
    (void)state;
    emu_found(emu_run(KERNEL("L:\nbra L;\n"), "k", 1, 1, 0, 1, (uint64_t)0), CUDA_ERROR_LAUNCH_TIMEOUT, 1,
              "more than 100000 instructions");
}

static void two_devices(void **state)
{
    (void)state;
    int n, can;
    size_t bytes;
    CU(cu.cuDeviceGetCount(&n));
    assert_int_equal(n, 2);
    CU(cu.cuDeviceTotalMem_v2(&bytes, 1));
    assert_int_equal(bytes, 1 << 20);
    CU(cu.cuDeviceGetAttribute(&n, 76, 0));
    assert_int_equal(n, 6);
    CUcontext here, there;
    CUdeviceptr p;
    uint32_t x = 7;
    CU(cu.cuCtxGetCurrent(&here));
    CU(cu.cuDevicePrimaryCtxRetain(&there, 1));
    CU(cu.cuCtxPushCurrent_v2(there));
    CU_IS(cu.cuMemAlloc_v2(&p, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    p = emu_upload(&x, 4);
    CU(cu.cuCtxPopCurrent_v2(NULL));
    CU(cu.cuDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    static const char text[] = KERNEL("ld.global.u32 %r2, [%d1];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%d1], %r2;\n");
    CU(cu.cuCtxEnablePeerAccess(there, 0));
    CU(emu_run(text, "k", 1, 1, 0, 1, (uint64_t)p));
    emu_download(&x, p, 4);
    assert_int_equal(x, 8);
    CU(cu.cuCtxDisablePeerAccess(there));
    emu_found(emu_run(text, "k", 1, 1, 0, 1, (uint64_t)p), CUDA_ERROR_ILLEGAL_ADDRESS, 1, "memory of device 1");
    CU(cu.cuDevicePrimaryCtxRelease_v2(1));
    (void)here;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(finders), cmocka_unit_test(endless),
                                        cmocka_unit_test(two_devices) };
    return cmocka_run_group_tests(tests, open_switched, emu_close);
}
