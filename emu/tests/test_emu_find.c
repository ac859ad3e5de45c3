/* test_emu_find.c - each detector of the PTX emulator reports a wrong kernel, with its lines and places, and reports
 * nothing for the corrected kernel.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

#define ENTRY(name) ".visible .entry " name "(.param .u64 a, .param .u64 b)\n{\n"
/* %r1: thread in the grid, %r2: block, %r4: thread in the block; %rd1, %rd2: a and b; %rd3, %rd4: elements of 4 bytes */
#define START                                                                                               \
    ".reg .pred %p<10>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<20>;\n"     \
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r1, %r2, %r3, %r4;\n" \
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\ncvta.to.global.u64 %rd1, %rd1;\n"                    \
    "cvta.to.global.u64 %rd2, %rd2;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd3, %rd1, %rd5;\nadd.s64 %rd4, %rd2, %rd5;\n"
#define KERNEL(body) PTX_HEAD(80) ENTRY("k") START body "ret;\n}\n"

static uint32_t zeros[1024];
static CUresult run_text(const char *text, unsigned grid, unsigned block, bool written, size_t bytes)
{
    CUdeviceptr a = emu_upload(written ? zeros : NULL, bytes), b = emu_upload(zeros, sizeof zeros);
    return emu_run(text, "k", grid, block, 0, 2, (uint64_t)a, (uint64_t)b);
}
#define FINE(text, grid, block) CU(run_text(text, grid, block, true, 4096))
#define WRONG(text, grid, block, status, n, ...) \
    emu_found(run_text(text, grid, block, true, 4096), status, n, __VA_ARGS__)

static void bounds(void **state)
{
    (void)state;
    static const char load[] = KERNEL("ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd4], %r5;\n");
    CU(run_text(load, 1, 64, true, 256));
    emu_found(run_text(load, 1, 65, true, 256), CUDA_ERROR_ILLEGAL_ADDRESS, 4, "line 22: ld.global.u32 %r5, [%rd3];",
              "block (0,0,0) thread (64,0,0)", "0 bytes past the end of device memory", "of 256 bytes");
    static const char vector[] = KERNEL(
        "mul.wide.u32 %rd6, %r1, 16;\nadd.s64 %rd7, %rd1, %rd6;\nld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd7];\n");
    emu_found(run_text(vector, 1, 17, true, 264), CUDA_ERROR_ILLEGAL_ADDRESS, 1,
              "beyond its end with the last 8 bytes");
    static const char null[] = KERNEL("mov.u64 %rd6, 0;\nst.global.u32 [%rd6+8], %r1;\n");
    WRONG(null, 1, 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1, "write of 4 bytes at global address 0x8");
    /* every call returns the error of the context until the context is destroyed */
    CU_IS(run_text(null, 1, 1, true, 4096), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr p;
    CU_IS(cu.cuMemAlloc_v2(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(cu.cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    emu_reset();
    CU(cu.cuMemAlloc_v2(&p, 16));
}

static void after_free(void **state)
{
    (void)state;
    static const char load[] = KERNEL("ld.global.u32 %r5, [%rd3];\n");
    CUdeviceptr a = emu_upload(zeros, 64), b = emu_upload(zeros, 64);
    CU(cu.cuMemFree_v2(a));
    emu_found(emu_run(load, "k", 1, 1, 0, 2, (uint64_t)a, (uint64_t)b), CUDA_ERROR_ILLEGAL_ADDRESS, 2, "freed before",
              "of 64 bytes");
}

static void shared_bounds(void **state)
{
    (void)state;
#define SHARED(offset)                                                                                             \
    KERNEL(".shared .align 4 .b8 x[64];\n.shared .align 4 .b8 y[64];\nmov.u32 %r5, x;\nst.shared.u32 [%r5+" offset \
           "], %r4;\nst.shared.u32 [y], %r4;\n")
    FINE(SHARED("60"), 1, 1);
    WRONG(SHARED("64"), 1, 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1, "byte 64 of shared variable 'x' of 64 bytes");
    static const char local[] = KERNEL(".local .align 4 .b8 x[64];\nmov.u64 %rd6, x;\nst.local.u32 [%rd6+64], %r4;\n");
    WRONG(local, 1, 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1, "local address 0x40");
}

static void misaligned(void **state)
{
    (void)state;
    WRONG(KERNEL("ld.global.u32 %r5, [%rd1+2];\n"), 1, 1, CUDA_ERROR_MISALIGNED_ADDRESS, 1,
          "read of 4 bytes at misaligned address");
    WRONG(KERNEL("ld.global.v2.u32 {%r5, %r6}, [%rd1+4];\n"), 1, 1, CUDA_ERROR_MISALIGNED_ADDRESS, 1,
          "read of 8 bytes");
    WRONG(KERNEL("red.global.add.u64 [%rd1+4], 1;\n"), 1, 1, CUDA_ERROR_MISALIGNED_ADDRESS, 1, "atomic operation");
}

static void constants(void **state)
{
    (void)state;
#define TABLE(body) PTX_HEAD(80) ".const .align 4 .u32 c[2] = {1, 2};\n" ENTRY("k") START body "ret;\n}\n"
    FINE(TABLE("ld.const.u32 %r5, [c+4];\n"), 1, 1);
    WRONG(TABLE("mov.u64 %rd6, c;\nst.global.u32 [%rd6], 1;\n"), 1, 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1, "constant 'c'");
    WRONG(TABLE("ld.const.u32 %r5, [%rd1];\n"), 1, 1, CUDA_ERROR_INVALID_ADDRESS_SPACE, 1, "not in constant memory");
}

static void unwritten(void **state)
{
    (void)state;
    static const char load[] = KERNEL("ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd4], %r5;\n");
    emu_found(run_text(load, 1, 1, false, 64), CUDA_ERROR_LAUNCH_FAILED, 2, "nothing has written",
              "0 bytes into device memory");
    FINE(KERNEL("st.global.u32 [%rd3], 5;\nld.global.u32 %r5, [%rd3];\n"), 2, 32);
    WRONG(KERNEL(".shared .u32 x;\nld.shared.u32 %r5, [x];\n"), 1, 1, CUDA_ERROR_LAUNCH_FAILED, 1,
          "shared variable 'x'");
    WRONG(KERNEL(".local .align 4 .b8 x[8];\nst.local.u16 [x], 1;\nld.local.u32 %r5, [x];\n"), 1, 1,
          CUDA_ERROR_LAUNCH_FAILED, 1, "local memory");
    /* a copy of unwritten bytes is unwritten, too */
    CUdeviceptr a = emu_upload(NULL, 64), b = emu_upload(zeros, 64);
    CU(cu.cuMemsetD8_v2(a, 1, 4));
    CU(cu.cuMemcpyDtoD_v2(b, a, 64));
    CU(emu_run(load, "k", 1, 1, 0, 2, (uint64_t)b, (uint64_t)a));
    emu_found(emu_run(load, "k", 1, 2, 0, 2, (uint64_t)b, (uint64_t)a), CUDA_ERROR_LAUNCH_FAILED, 2,
              "nothing has written", "thread (1,0,0)");
    WRONG(KERNEL("add.u32 %r5, %r6, 1;\n"), 1, 1, CUDA_ERROR_LAUNCH_FAILED, 2, "register that was never written",
          "add.u32 %r5, %r6, 1;");
    WRONG(KERNEL("setp.eq.u32 %p1, %r4, 0;\n@%p1 mov.u32 %r6, 1;\nadd.u32 %r5, %r6, 1;\n"), 1, 2,
          CUDA_ERROR_LAUNCH_FAILED, 1, "thread (1,0,0)");
}

static void races(void **state)
{
    (void)state;
#define EXCHANGE(between)                                                                                                                  \
    KERNEL(                                                                                                                                \
        ".shared .align 4 .b8 x[256];\nshl.b32 %r5, %r4, 2;\nmov.u32 %r6, x;\nadd.u32 %r7, %r6, %r5;\nst.shared.u32 [%r7], %r4;\n" between \
        "xor.b32 %r8, %r5, 4;\nadd.u32 %r8, %r6, %r8;\nld.shared.u32 %r9, [%r8];\nst.global.u32 [%rd4], %r9;\n")
    FINE(EXCHANGE("bar.sync 0;\n"), 2, 64);
    FINE(EXCHANGE("bar.warp.sync -1;\n"), 2, 64); /* neighbours are in one warp */
    WRONG(EXCHANGE(""), 2, 64, CUDA_ERROR_LAUNCH_FAILED, 4, "data race: this read", "ld.shared.u32 %r9, [%r8];",
          "st.shared.u32 [%r7], %r4;", "earlier write");
    /* a read and a later write of another warp */
    static const char later[] = KERNEL(
        ".shared .u32 x;\nsetp.ge.u32 %p1, %r4, 32;\n@%p1 st.shared.u32 [x], 1;\nbar.sync 0;\nld.shared.u32 %r5, [x];\n"
        "setp.eq.u32 %p2, %r4, 40;\n@%p2 st.shared.u32 [x], 2;\n");
    WRONG(later, 1, 64, CUDA_ERROR_LAUNCH_FAILED, 2, "this write", "earlier read");
    /* all threads write one element: the same value is fine, different ones are not */
    FINE(KERNEL("st.global.u32 [%rd2], 7;\n"), 2, 64);
    WRONG(KERNEL("st.global.u32 [%rd2], %r1;\n"), 1, 2, CUDA_ERROR_LAUNCH_FAILED, 2, "this write", "thread (0,0,0)");
    WRONG(KERNEL("st.global.u32 [%rd2], %r2;\n"), 2, 1, CUDA_ERROR_LAUNCH_FAILED, 2, "block (1,0,0)", "block (0,0,0)");
    /* bytes of one word */
    static const char bytes[] = KERNEL(
        "cvt.u64.u32 %rd6, %r1;\nadd.s64 %rd7, %rd2, %rd6;\nst.global.u8 [%rd7], %r1;\nld.global.u8 %r6, [%rd7];\n");
    FINE(bytes, 2, 64);
    /* atomics race with plain accesses only */
    FINE(KERNEL("red.global.add.u32 [%rd2], 1;\natom.global.max.u32 %r5, [%rd2], %r1;\n"), 4, 64);
    WRONG(KERNEL("red.global.add.u32 [%rd2], 1;\nld.global.u32 %r5, [%rd2];\n"), 1, 64, CUDA_ERROR_LAUNCH_FAILED, 2,
          "this read", "earlier atomic operation");
    FINE(KERNEL("red.global.add.u32 [%rd2], 1;\nld.volatile.global.u32 %r5, [%rd2];\n"), 2, 64);
    /* a swap of one byte of a word, with plain reads of another byte, and of the same byte */
#define SWAP_BESIDE(byte)                                                                                  \
    KERNEL("setp.eq.u32 %p1, %r4, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0x100;\nld.global.u8 %r8, [%rd2+" byte \
           "];\n@%p1 atom.global.cas.b32 %r5, [%rd2], %r6, %r7;\n")
    FINE(SWAP_BESIDE("0"), 1, 64);
    FINE(SWAP_BESIDE("2"), 1, 64);
    WRONG(SWAP_BESIDE("1"), 1, 64, CUDA_ERROR_LAUNCH_FAILED, 2, "this atomic operation", "earlier read");
    /* the strong read before a swap, with writes of a part of the word, and of the whole word */
#define READ_BESIDE(type) \
    KERNEL("setp.eq.u32 %p1, %r4, 0;\nld.volatile.global.b32 %r5, [%rd2];\n@%p1 st.global." type " [%rd2], %r4;\n")
    FINE(READ_BESIDE("u8"), 1, 64);
    WRONG(READ_BESIDE("u32"), 1, 64, CUDA_ERROR_LAUNCH_FAILED, 2, "this write", "earlier read");
}

static void waiting(void **state)
{
    (void)state;
    /* half a warp at a barrier, the other half at another */
    WRONG(KERNEL("setp.lt.u32 %p1, %r4, 16;\n@%p1 bra A;\nbar.sync 1;\nbra END;\nA:\nbar.sync 0;\nEND:\n"), 1, 32,
          CUDA_ERROR_LAUNCH_FAILED, 2, "a divergent barrier", "lanes 0x0000ffff wait for the other lanes");
    /* two warps wait at different barriers */
    WRONG(KERNEL("setp.lt.u32 %p1, %r4, 32;\n@%p1 bra A;\nbar.sync 1;\nbra END;\nA:\nbar.sync 0;\nEND:\n"), 1, 64,
          CUDA_ERROR_LAUNCH_TIMEOUT, 3, "deadlock", "at barrier 0, where 32 of 64 threads are", "at barrier 1");
    /* a shuffle whose mask names lanes that wait elsewhere */
    WRONG(
        KERNEL(
            "setp.lt.u32 %p1, %r4, 16;\n@%p1 bra A;\nbar.warp.sync -1;\nbra END;\nA:\nshfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\nEND:\n"),
        1, 32, CUDA_ERROR_LAUNCH_TIMEOUT, 2, "deadlock", "wait for lanes 0xffffffff");
    /* the same with correct masks */
    FINE(
        KERNEL(
            "setp.lt.u32 %p1, %r4, 16;\n@%p1 bra A;\nbar.warp.sync 0xffff0000;\nbra END;\nA:\nshfl.sync.idx.b32 %r5, %r4, 0, 31, 0xffff;\nEND:\n"),
        1, 32);
    WRONG(KERNEL("vote.sync.ballot.b32 %r5, 1, 0xfffffffe;\n"), 1, 32, CUDA_ERROR_LAUNCH_FAILED, 1,
          "does not name the lane itself");
    /* barriers do not wait for ended lanes */
    FINE(KERNEL("setp.ge.u32 %p1, %r4, 20;\n@%p1 ret;\nbar.sync 0;\nbar.warp.sync -1;\n"), 1, 64);
    WRONG(KERNEL("setp.lt.u32 %p1, %r4, 16;\n@%p1 bra.uni A;\nA:\n"), 1, 32, CUDA_ERROR_LAUNCH_FAILED, 1, "bra.uni");
    WRONG(KERNEL("setp.eq.u32 %p1, %r4, 3;\n@%p1 trap;\n"), 1, 32, CUDA_ERROR_LAUNCH_FAILED, 2, "trap",
          "thread (3,0,0)");
}

static void refused(void **state)
{
    (void)state;
    emu_refused(KERNEL("add.u33 %r5, %r4, 1;\n"), "line 22");
    emu_refused(KERNEL("frobnicate.u32 %r5, %r4;\n"), "does not know the instruction 'frobnicate'");
    emu_refused(KERNEL("add.u32 %r5, %rd1, 1;\n"), "register '%rd1' is of type .b64");
    emu_refused(KERNEL("add.f32 %f1, %f2, 1;\n"), "integer literal");
    emu_refused(KERNEL("add.sat.u32 %r5, %r4, 1;\n"), "type .u32 is not allowed");
    emu_refused(KERNEL("bra NOWHERE;\n"), "label 'NOWHERE' is not defined");
    emu_refused(KERNEL("L:\nL:\n"), "defined twice");
    emu_refused(KERNEL("mov.u32 %q, 1;\n"), "'%q' is not declared");
    emu_refused(KERNEL("cvt.f32.f64 %f1, %rd1;\n"), "needs a rounding modifier");
    emu_refused(KERNEL("ld.global.v3.u32 {%r5, %r6, %r7}, [%rd1];\n"), "modifier '.v3'");
    emu_refused(KERNEL("add.u32 %r5, %r4;\n"), "operands");
    emu_refused(KERNEL("mad.lo.u32 %r5, %tid.x, 2, 3;\n"), "special registers");
    emu_refused(KERNEL("{\n"), "has no end");
    emu_refused(PTX_HEAD(70) ".global .b64 far[1000000000];\n", "more than 256 MiB of variables");
    emu_refused(PTX_HEAD(70) ".global .b8 a[200000000];\n.const .b8 b[200000000];\n", "more than 256 MiB of variables");
    emu_refused(PTX_HEAD(70) ENTRY("k") START "redux.sync.add.u32 %r5, %r4, -1;\nret;\n}\n", "needs sm_80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),     cmocka_unit_test(after_free), cmocka_unit_test(shared_bounds),
        cmocka_unit_test(misaligned), cmocka_unit_test(constants),  cmocka_unit_test(unwritten),
        cmocka_unit_test(races),      cmocka_unit_test(waiting),    cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
