/* test_emu_run.c - whole kernels on the PTX emulator: grids, shared memory, barriers, shuffles, votes, atomics,
 * divergence, calls. The detectors report nothing.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

#define ENTRY(name, params) ".visible .entry " name "(" params ")\n{\n"
#define U64(name) ".param .u64 " name
#define REGS \
    ".reg .pred %p<10>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<20>;\n.reg .f64 %fd<20>;\n"
/* %r1: index of the thread in the grid, %rd1 and %rd2: pointers a and b, %rd3 = a + 4 index, %rd4 = b + 4 index */
#define START                                                                                                   \
    REGS                                                                                                        \
        "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r1, %r2, %r3, %r4;\n" \
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\ncvta.to.global.u64 %rd1, %rd1;\n"                    \
        "cvta.to.global.u64 %rd2, %rd2;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd3, %rd1, %rd5;\nadd.s64 %rd4, %rd2, %rd5;\n"
#define KERNEL(name, body) PTX_HEAD(80) ENTRY(name, U64("a") ", " U64("b")) START body "}\n"

enum { N = 1000, BLOCK = 128, GRID = (N + BLOCK - 1) / BLOCK };

/* b[i] = 2 a[i] + 1 for i < 1000 */
static void elements(void **state)
{
    (void)state;
    static const char text[] =
        KERNEL("twice", "setp.ge.u32 %p1, %r1, 1000;\n@%p1 bra DONE;\n"
                        "ld.global.f32 %f1, [%rd3];\nfma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n"
                        "st.global.f32 [%rd4], %f2;\nDONE:\nret;\n");
    float a[N], b[N];
    for (int i = 0; i < N; i++)
        a[i] = (float)i;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(NULL, sizeof b);
    CU(emu_run(text, "twice", GRID, BLOCK, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(b, y, sizeof b);
    for (int i = 0; i < N; i++)
        assert_true(b[i] == (float)(2 * i + 1));
    CU(cu.cuMemFree_v2(x));
    CU(cu.cuMemFree_v2(y));
}

#define TREE(barrier)                                                                                                                \
    ".shared .align 4 .b8 part[1024];\n"                                                                                             \
    "ld.global.u32 %r5, [%rd3];\nshl.b32 %r6, %r4, 2;\nmov.u32 %r7, part;\nadd.u32 %r8, %r7, %r6;\nst.shared.u32 [%r8], %r5;\n"      \
    "mov.u32 %r9, 128;\nLOOP:\n" barrier "setp.ge.u32 %p1, %r4, %r9;\n@%p1 bra SKIP;\n"                                              \
    "shl.b32 %r10, %r9, 2;\nadd.u32 %r11, %r8, %r10;\nld.shared.u32 %r12, [%r11];\nld.shared.u32 %r13, [%r8];\n"                     \
    "add.u32 %r14, %r12, %r13;\nst.shared.u32 [%r8], %r14;\nSKIP:\nshr.u32 %r9, %r9, 1;\nsetp.ne.u32 %p2, %r9, 0;\n@%p2 bra LOOP;\n" \
    "setp.ne.u32 %p3, %r4, 0;\n@%p3 bra DONE;\nld.shared.u32 %r15, [part];\nmul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd2, %rd6;\n" \
    "st.global.u32 [%rd7], %r15;\nDONE:\nret;\n"

static void tree(void **state)
{
    (void)state;
    static const char good[] = KERNEL("tree", TREE("bar.sync 0;\n")), bad[] = KERNEL("tree", TREE(""));
    uint32_t a[1024], sums[4];
    for (uint32_t i = 0; i < 1024; i++)
        a[i] = i * i;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(NULL, sizeof sums);
    CU(emu_run(good, "tree", 4, 256, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(sums, y, sizeof sums);
    for (uint32_t b = 0; b < 4; b++) {
        uint32_t want = 0;
        for (uint32_t i = 0; i < 256; i++)
            want += a[b * 256 + i];
        assert_int_equal(sums[b], want);
    }
    /* without the barrier: a race, or memory that the other warps have not written yet */
    CUresult status = emu_run(bad, "tree", 4, 256, 0, 2, (uint64_t)x, (uint64_t)y);
    emu_found(status, CUDA_ERROR_LAUNCH_FAILED, 2, "kernel 'tree'", "ld.shared.u32");
}

/* The sum of a warp by shuffles, then one atomic per warp. */
static void warp_sum(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        "warps", "ld.global.u32 %r5, [%rd3];\nmov.u32 %r6, 16;\nLOOP:\nshfl.sync.bfly.b32 %r7|%p1, %r5, %r6, 31, -1;\n"
                 "add.u32 %r5, %r5, %r7;\nshr.u32 %r6, %r6, 1;\nsetp.ne.u32 %p2, %r6, 0;\n@%p2 bra LOOP;\n"
                 "mov.u32 %r8, %laneid;\nsetp.eq.u32 %p3, %r8, 0;\n@%p3 red.global.add.u32 [%rd2], %r5;\nret;\n");
    uint32_t a[512], sum = 0, want = 0;
    for (uint32_t i = 0; i < 512; i++)
        want += a[i] = 3 * i + 1;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(&sum, sizeof sum);
    CU(emu_run(text, "warps", 4, 128, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(&sum, y, sizeof sum);
    assert_int_equal(sum, want);
}

/* A histogram in shared memory, added to global memory; dynamic shared memory. */
static void histogram(void **state)
{
    (void)state;
    static const char text[] =
        PTX_HEAD(80) ".extern .shared .align 4 .b8 bins[];\n" ENTRY("count", U64("a") ", " U64("b")) START
        "shl.b32 %r6, %r4, 2;\nmov.u32 %r7, bins;\nadd.u32 %r8, %r7, %r6;\nsetp.lt.u32 %p1, %r4, 16;\n@%p1 st.shared.u32 [%r8], 0;\n"
        "bar.sync 0;\nld.global.u32 %r9, [%rd3];\nand.b32 %r10, %r9, 15;\nshl.b32 %r10, %r10, 2;\nadd.u32 %r11, %r7, %r10;\n"
        "atom.shared.add.u32 %r12, [%r11], 1;\nbarrier.sync 0;\n@!%p1 bra DONE;\nld.shared.u32 %r13, [%r8];\ncvt.u64.u32 %rd6, %r6;\n"
        "add.s64 %rd7, %rd2, %rd6;\nred.global.add.u32 [%rd7], %r13;\nDONE:\nret;\n}\n";
    uint32_t a[1024], bins[16] = { 0 }, want[16] = { 0 };
    for (uint32_t i = 0; i < 1024; i++) {
        a[i] = i * 2654435761u >> 13;
        want[a[i] & 15]++;
    }
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(bins, sizeof bins);
    CU(emu_run(text, "count", 4, 256, 64, 2, (uint64_t)x, (uint64_t)y));
    emu_download(bins, y, sizeof bins);
    assert_memory_equal(bins, want, sizeof want);
}

/* Collatz steps: lanes leave the loop at different times; afterwards all 32 vote. */
static void divergent_loop(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        "steps",
        "add.u32 %r5, %r1, 1;\nmov.u32 %r6, 0;\nLOOP:\nsetp.eq.u32 %p1, %r5, 1;\n@%p1 bra DONE;\nadd.u32 %r6, %r6, 1;\n"
        "and.b32 %r7, %r5, 1;\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra EVEN;\nmad.lo.u32 %r5, %r5, 3, 1;\nbra LOOP;\n"
        "EVEN:\nshr.u32 %r5, %r5, 1;\nbra.uni LOOP;\nDONE:\nactivemask.b32 %r9;\nvote.sync.ballot.b32 %r8, %p1, 0xffffffff;\n"
        "st.global.u32 [%rd4], %r6;\nst.global.u32 [%rd3], %r8;\nret;\n");
    uint32_t steps[64], votes[64];
    CUdeviceptr x = emu_upload(NULL, sizeof votes), y = emu_upload(NULL, sizeof steps);
    CU(emu_run(text, "steps", 2, 32, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(votes, x, sizeof votes);
    emu_download(steps, y, sizeof steps);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t n = 0;
        for (uint64_t k = i + 1; k != 1; k = k & 1 ? 3 * k + 1 : k / 2)
            n++;
        assert_int_equal(steps[i], n);
        assert_int_equal(votes[i], 0xffffffffu);
    }
}

/* Lanes of one warp wait for a lock that another lane of the warp holds: independent thread scheduling. */
static void spin_lock(void **state)
{
    (void)state;
    static const char text[] =
        KERNEL("locked",
               "LOOP:\natom.acquire.gpu.global.cas.b32 %r5, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra LOOP;\n"
               "ld.global.u32 %r6, [%rd2];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd2], %r6;\n"
               "atom.release.gpu.global.exch.b32 %r7, [%rd1], 0;\nret;\n");
    uint32_t lock = 0, count = 0;
    CUdeviceptr x = emu_upload(&lock, 4), y = emu_upload(&count, 4);
    CU(emu_run(text, "locked", 3, 64, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(&count, y, 4);
    assert_int_equal(count, 192);
}

/* The last block to arrive sums the results of all blocks: fence, atomic, fence. */
#define LAST(fence)                                                                                                                 \
    ".shared .u32 last;\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra MEET;\nmul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd2, %rd6;\n"         \
    "add.u32 %r5, %r2, 1;\nst.global.u32 [%rd7], %r5;\n" fence                                                                      \
    "atom.global.inc.u32 %r6, [%rd1], 7;\nst.shared.u32 [last], %r6;\nMEET:\nbar.sync 0;\nld.shared.u32 %r7, [last];\n"             \
    "setp.ne.u32 %p2, %r7, 7;\n@%p2 bra DONE;\n" fence "setp.ne.u32 %p3, %r4, 5;\n@%p3 bra DONE;\n"                                 \
    "mov.u32 %r8, 0;\nmov.u32 %r9, 0;\nLOOP:\nmul.wide.u32 %rd8, %r9, 4;\nadd.s64 %rd9, %rd2, %rd8;\nld.global.u32 %r10, [%rd9];\n" \
    "add.u32 %r8, %r8, %r10;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, 8;\n@%p4 bra LOOP;\nst.global.u32 [%rd1+4], %r8;\nDONE:\nret;\n"
static void last_block(void **state)
{
    (void)state;
    static const char good[] = KERNEL("finish", LAST("membar.gl;\n")), bad[] = KERNEL("finish", LAST(""));
    uint32_t control[2] = { 0, 0 };
    CUdeviceptr x = emu_upload(control, sizeof control), y = emu_upload(NULL, 32);
    CU(emu_run(good, "finish", 8, 32, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(control, x, sizeof control);
    assert_int_equal(control[1], 36);
    CUresult status = emu_run(bad, "finish", 8, 32, 0, 2, (uint64_t)x, (uint64_t)y);
    emu_found(status, CUDA_ERROR_LAUNCH_FAILED, 3, "data race", "ld.global.u32 %r10", "st.global.u32 [%rd7]");
}

/* Two blocks that wait for each other. */
static void blocks_wait(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        "meet",
        "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra DONE;\nfence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [%rd1], 1;\n"
        "LOOP:\nld.relaxed.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, 5;\n@%p2 bra LOOP;\nfence.acq_rel.gpu;\n"
        "st.global.u32 [%rd4], %r5;\nDONE:\nret;\n");
    uint32_t n = 0, got[5];
    CUdeviceptr x = emu_upload(&n, 4), y = emu_upload(NULL, sizeof got);
    CU(emu_run(text, "meet", 5, 1, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(got, y, sizeof got);
    for (int i = 0; i < 5; i++)
        assert_int_equal(got[i], 5);
}

/* A recursive function with parameters in registers and one with parameters in memory. */
static void calls(void **state)
{
    (void)state;
    static const char text[] = PTX_HEAD(
        80) ".func (.reg .u32 out) fact(.reg .u32 n)\n{\n.reg .pred %p<2>;\n.reg .u32 %r<4>;\nsetp.le.u32 %p1, n, 1;\n@%p1 bra ONE;\n"
            "sub.u32 %r1, n, 1;\ncall (%r2), fact, (%r1);\nmul.lo.u32 out, %r2, n;\nret;\nONE:\nmov.u32 out, 1;\nret;\n}\n"
            ".func (.param .b32 out) twice(.param .b32 x)\n{\n.reg .u32 %r<4>;\nld.param.u32 %r1, [x];\nadd.u32 %r2, %r1, %r1;\n"
            "st.param.b32 [out], %r2;\nret;\n}\n" ENTRY("calls", U64("a") ", " U64("b")) START
        "add.u32 %r5, %r1, 1;\ncall (%r6), fact, (%r5);\n{\n.param .b32 arg;\n.param .b32 res;\nst.param.b32 [arg], %r6;\n"
        "call.uni (res), twice, (arg);\nld.param.b32 %r7, [res];\n}\nst.global.u32 [%rd4], %r7;\nret;\n}\n";
    uint32_t got[10], want = 1;
    CUdeviceptr x = emu_upload(NULL, 4), y = emu_upload(NULL, sizeof got);
    CU(emu_run(text, "calls", 1, 10, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(got, y, sizeof got);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(got[i], 2 * (want *= i + 1));
}

/* Vectors, constants, tables of a module, local memory, branch tables. */
static void memory(void **state)
{
    (void)state;
    static const char good[] = PTX_HEAD(
        80) ".const .align 4 .u32 squares[4] = {0, 1, 4, 9};\n.visible .global .align 4 .f32 table[2] = {1.5, 0f40000000};\n"
            ".global .align 8 .u64 pointer = generic(table);\n" ENTRY("mix", U64("a") ", " U64("b")) START
        ".local .align 16 .b8 stack[32];\n.reg .b64 %s;\n"
        "mul.wide.u32 %rd6, %r1, 16;\nadd.s64 %rd7, %rd1, %rd6;\nld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd7];\n"
        "mov.u64 %s, stack;\nst.local.v2.u32 [%s+8], {%r5, %r6};\nst.local.v2.u32 [stack], {%r7, %r8};\n"
        "and.b32 %r9, %r1, 3;\nld.local.u32 %r10, [stack+4];\nmul.wide.u32 %rd8, %r9, 4;\nmov.u64 %rd9, squares;\nadd.s64 %rd9, %rd9, %rd8;\n"
        "ld.const.u32 %r11, [%rd9];\nadd.u32 %r12, %r10, %r11;\nld.global.u64 %rd10, [pointer];\nld.f32 %f1, [%rd10+4];\n"
        "cvt.rzi.u32.f32 %r13, %f1;\nadd.u32 %r12, %r12, %r13;\n"
        "T: .branchtargets A, B, C, A;\nbrx.idx %r9, T;\nA:\nadd.u32 %r12, %r12, 1000;\nbra END;\nB:\nadd.u32 %r12, %r12, 2000;\nbra END;\n"
        "C:\nadd.u32 %r12, %r12, 3000;\nEND:\ncvta.local.u64 %rd11, %s;\nld.u32 %r14, [%rd11+12];\nadd.u32 %r12, %r12, %r14;\n"
        "st.global.u32 [%rd4], %r12;\nret;\n}\n";
    uint32_t a[4 * 8], got[8], bonus[] = { 1000, 2000, 3000, 1000 };
    for (uint32_t i = 0; i < 32; i++)
        a[i] = 100 * i;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(NULL, sizeof got);
    CU(emu_run(good, "mix", 1, 8, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(got, y, sizeof got);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(got[i], a[4 * i + 3] + (i & 3) * (i & 3) + 2 + bonus[i & 3] + a[4 * i + 1]);
}

/* Named barriers: producers arrive, consumers wait. */
static void named_barriers(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        "pipe",
        ".shared .align 4 .b8 box[128];\nmov.u32 %r5, box;\nmov.u32 %r6, %laneid;\nshl.b32 %r6, %r6, 2;\nadd.u32 %r7, %r5, %r6;\n"
        "setp.ge.u32 %p1, %r4, 32;\n@%p1 bra TAKE;\nld.global.u32 %r8, [%rd3];\nst.shared.u32 [%r7], %r8;\nbar.arrive 1, 64;\nbra DONE;\n"
        "TAKE:\nbar.sync 1, 64;\nld.shared.u32 %r9, [%r7];\nst.global.u32 [%rd4], %r9;\nDONE:\n"
        "setp.lt.u32 %p2, %r4, 40;\nbar.red.popc.u32 %r10, 0, %p2;\nbar.red.and.pred %p3, 2, %p2;\nselp.u32 %r11, 1, 0, %p3;\n"
        "add.u32 %r10, %r10, %r11;\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 st.global.u32 [%rd2], %r10;\nret;\n");
    uint32_t a[32], got[64];
    for (uint32_t i = 0; i < 32; i++)
        a[i] = 7 * i;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(NULL, sizeof got);
    CU(emu_run(text, "pipe", 1, 64, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(got, y, sizeof got);
    assert_int_equal(got[0], 40);
    assert_memory_equal(got + 32, a, sizeof a);
}

/* Asynchronous copies, which arrive when the thread waits for them. */
static void async_copies(void **state)
{
    (void)state;
#define ASYNC(wait)                                                                                                                   \
    ".shared .align 16 .b8 box[512];\nmov.u32 %r5, box;\nshl.b32 %r6, %r4, 4;\nadd.u32 %r7, %r5, %r6;\nmul.wide.u32 %rd6, %r4, 16;\n" \
    "add.s64 %rd7, %rd1, %rd6;\ncp.async.cg.shared.global [%r7], [%rd7], 16;\ncp.async.commit_group;\n" wait                          \
    "ld.shared.u32 %r8, [%r7+12];\nst.global.u32 [%rd4], %r8;\nret;\n"
    static const char good[] = KERNEL("fetch", ASYNC("cp.async.wait_group 0;\n")),
                      bad[] = KERNEL("fetch", ASYNC("cp.async.wait_group 1;\n"));
    uint32_t a[128], got[32];
    for (uint32_t i = 0; i < 128; i++)
        a[i] = i + 1;
    CUdeviceptr x = emu_upload(a, sizeof a), y = emu_upload(NULL, sizeof got);
    CU(emu_run(good, "fetch", 1, 32, 0, 2, (uint64_t)x, (uint64_t)y));
    emu_download(got, y, sizeof got);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(got[i], 4 * i + 4);
    CUresult status = emu_run(bad, "fetch", 1, 32, 0, 2, (uint64_t)x, (uint64_t)y);
    emu_found(status, CUDA_ERROR_LAUNCH_FAILED, 2, "nothing has written", "shared variable 'box'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements),   cmocka_unit_test(tree),           cmocka_unit_test(warp_sum),
        cmocka_unit_test(histogram),  cmocka_unit_test(divergent_loop), cmocka_unit_test(spin_lock),
        cmocka_unit_test(last_block), cmocka_unit_test(blocks_wait),    cmocka_unit_test(calls),
        cmocka_unit_test(memory),     cmocka_unit_test(named_barriers), cmocka_unit_test(async_copies),
    };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
