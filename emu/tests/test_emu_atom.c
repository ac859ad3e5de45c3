/* test_emu_atom.c - atomic operations of the PTX emulator and operations between lanes, against the pseudo code of the
 * PTX manual: sections "atom", "red", "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync".
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

#define REGS \
    ".reg .pred %p<5>;\n.reg .b16 %h<5>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<5>;\n.reg .f64 %e<5>;\n"

/* One thread. %d1 points to the word; %d2..4, %r2..4, %h2..4, %f2, %e2 are operands; register 0 of a kind gets the old
 * value. */
typedef struct row {
    const char *inst;
    uint64_t before, b, c, after, old; /* old: low 64 bits of the result */
    char out;
} row;
static const row rows[] = {
    { "atom.global.and.b32 %r0, [%d1], %r2;", 0xff0f, 0x0fff, 0, 0x0f0f, 0xff0f, 'r' },
    { "atom.global.or.b64 %d0, [%d1], %d2;", 1, 1ull << 50, 0, (1ull << 50) | 1, 1, 'd' },
    { "atom.global.xor.b32 %r0, [%d1], %r2;", 5, 3, 0, 6, 5, 'r' },
    { "atom.global.cas.b32 %r0, [%d1], %r2, %r3;", 5, 5, 9, 9, 5, 'r' },
    { "atom.global.cas.b32 %r0, [%d1], %r2, %r3;", 5, 6, 9, 5, 5, 'r' },
    { "atom.global.cas.b16 %h0, [%d1], %h2, %h3;", 0x10005, 5, 9, 0x10009, 5, 'h' },
    { "atom.global.cas.b64 %d0, [%d1], %d2, %d3;", UINT64_MAX, UINT64_MAX, 1, 1, UINT64_MAX, 'd' },
    { "atom.global.exch.b64 %d0, [%d1], %d2;", 3, 4, 0, 4, 3, 'd' },
    { "atom.global.add.u32 %r0, [%d1], %r2;", 0xffffffff, 2, 0, 1, 0xffffffff, 'r' },
    { "atom.global.add.s32 %r0, [%d1], -1;", 0, 0, 0, 0xffffffff, 0, 'r' },
    { "atom.global.add.u64 %d0, [%d1], %d2;", 0xffffffff, 1, 0, 0x100000000, 0xffffffff, 'd' },
    { "atom.global.add.f32 %f0, [%d1], %f2;", 0x3f800000, 0x40000000, 0, 0x40400000, 0x3f800000, 'f' },
    { "atom.global.add.f32 %f0, [%d1], %f2;", 1, 1, 0, 2, 1, 'f' }, /* subnormals stay */
    { "atom.global.add.f64 %e0, [%d1], %e2;", 0x3ff0000000000000, 0x3ff0000000000000, 0, 0x4000000000000000,
      0x3ff0000000000000, 'e' },
    { "atom.global.add.noftz.f16 %h0, [%d1], %h2;", 0x3c00, 0x3c00, 0, 0x4000, 0x3c00, 'h' },
    { "atom.global.add.noftz.f16x2 %r0, [%d1], %r2;", 0x3c003c00, 0x3c004000, 0, 0x40004200, 0x3c003c00, 'r' },
    { "atom.global.add.noftz.bf16x2 %r0, [%d1], %r2;", 0x3f803f80, 0x3f804000, 0, 0x40004040, 0x3f803f80, 'r' },
    { "atom.global.inc.u32 %r0, [%d1], %r2;", 7, 7, 0, 0, 7, 'r' }, /* "(r >= s) ? 0 : r+1" */
    { "atom.global.inc.u32 %r0, [%d1], %r2;", 6, 7, 0, 7, 6, 'r' },
    { "atom.global.dec.u32 %r0, [%d1], %r2;", 0, 7, 0, 7, 0, 'r' }, /* "((r == 0) || (r > s)) ? s : r-1" */
    { "atom.global.dec.u32 %r0, [%d1], %r2;", 9, 7, 0, 7, 9, 'r' },
    { "atom.global.min.s32 %r0, [%d1], %r2;", 1, 0xffffffff, 0, 0xffffffff, 1, 'r' },
    { "atom.global.min.u32 %r0, [%d1], %r2;", 1, 0xffffffff, 0, 1, 1, 'r' },
    { "atom.global.max.s64 %d0, [%d1], %d2;", UINT64_MAX, 5, 0, 5, UINT64_MAX, 'd' },
    { "atom.global.max.u64 %d0, [%d1], %d2;", UINT64_MAX, 5, 0, UINT64_MAX, UINT64_MAX, 'd' },
    { "atom.acq_rel.gpu.global.add.u32 %r0, [%d1], 1;", 1, 0, 0, 2, 1, 'r' },
    { "atom.relaxed.sys.add.u32 %r0, [%d1], 1;", 1, 0, 0, 2, 1, 'r' },
    { "red.global.add.u32 [%d1], %r2;\nmov.u32 %r0, 0;", 1, 2, 0, 3, 0, 'r' },
    { "red.relaxed.gpu.global.max.u64 [%d1], %d2;\nmov.u32 %r0, 0;", 1, 2, 0, 2, 0, 'r' },
};

static void atomics(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const char kinds[] = "hrdfe";
        static const char *const ends[] = { "cvt.u64.u16 %d0, %h0;", "cvt.u64.u32 %d0, %r0;", "",
                                            "mov.b32 %r0, %f0;\ncvt.u64.u32 %d0, %r0;", "mov.b64 %d0, %e0;" };
        char text[2048];
        snprintf(
            text, sizeof text,
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 at, .param .u64 b, .param .u64 c)\n{\n%s"
            "ld.param.u64 %%d1, [at];\nld.param.u64 %%d2, [b];\nld.param.u64 %%d3, [c];\ncvt.u32.u64 %%r2, %%d2;\ncvt.u32.u64 %%r3, %%d3;\n"
            "cvt.u16.u64 %%h2, %%d2;\ncvt.u16.u64 %%h3, %%d3;\nmov.b32 %%f2, %%r2;\nmov.b64 %%e2, %%d2;\n%s\n%s\nst.global.u64 [%%d1+8], %%d0;\nret;\n}\n",
            REGS, rows[i].inst, ends[strchr(kinds, rows[i].out) - kinds]);
        uint64_t words[2] = { rows[i].before, 0 };
        CUdeviceptr at = emu_upload(words, sizeof words);
        CU(emu_run(text, "k", 1, 1, 0, 3, (uint64_t)at, rows[i].b, rows[i].c));
        emu_download(words, at, sizeof words);
        CU(cu.cuMemFree_v2(at));
        if (words[0] != rows[i].after || words[1] != rows[i].old)
            fail_msg("%s: 0x%llx and 0x%llx", rows[i].inst, (unsigned long long)words[0], (unsigned long long)words[1]);
    }
}

/* Compare-and-swap of 128 bits. */
static void wide(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 at)\n{\n.reg .b128 %q<4>;\n" REGS
        "ld.param.u64 %d1, [at];\nmov.u64 %d2, 1;\nmov.u64 %d3, 2;\nmov.b128 %q1, {%d2, %d3};\nmov.b128 %q2, {%d3, %d2};\n"
        "atom.global.cas.b128 %q3, [%d1], %q1, %q2;\nmov.b128 {%d4, %d5}, %q3;\nst.global.v2.u64 [%d1+16], {%d4, %d5};\nret;\n}\n";
    uint64_t words[4] = { 1, 2, 0, 0 };
    CUdeviceptr at = emu_upload(words, sizeof words);
    CU(emu_run(text, "k", 1, 1, 0, 1, (uint64_t)at));
    emu_download(words, at, sizeof words);
    assert_true(words[0] == 2 && words[1] == 1 && words[2] == 1 && words[3] == 2);
}

/* In every lane %r1 is the number of the lane and %r2 its value, 3 * lane. The kernel stores %r0. */
static void warp(const char *body, uint32_t out[32])
{
    char text[2048];
    snprintf(
        text, sizeof text,
        PTX_HEAD(
            90) ".visible .entry k(.param .u64 at)\n{\n.reg .pred %%p<5>;\n.reg .b32 %%r<9>;\n.reg .b64 %%d<9>;\n"
                "ld.param.u64 %%d1, [at];\nmov.u32 %%r1, %%tid.x;\nmul.lo.u32 %%r2, %%r1, 3;\n%s\nmul.wide.u32 %%d2, %%r1, 4;\nadd.u64 %%d1, %%d1, %%d2;\n"
                "st.global.u32 [%%d1], %%r0;\nret;\n}\n",
        body);
    CUdeviceptr at = emu_upload(NULL, 128);
    CU(emu_run(text, "k", 1, 32, 0, 1, (uint64_t)at));
    emu_download(out, at, 128);
    CU(cu.cuMemFree_v2(at));
}
#define WARP(body, expression)                                           \
    do {                                                                 \
        uint32_t out[32];                                                \
        warp(body, out);                                                 \
        for (uint32_t lane = 0; lane < 32; lane++)                       \
            if (out[lane] != (uint32_t)(expression))                     \
                fail_msg("%s: lane %u has 0x%x", body, lane, out[lane]); \
    } while (0)

static void shuffles(void **state)
{
    (void)state;
    WARP("shfl.sync.up.b32 %r0, %r2, 1, 0, -1;", 3 * (lane ? lane - 1 : 0));
    WARP("shfl.sync.down.b32 %r0, %r2, 4, 31, -1;", 3 * (lane + 4 < 32 ? lane + 4 : lane));
    WARP("shfl.sync.bfly.b32 %r0, %r2, 5, 31, -1;", 3 * (lane ^ 5));
    WARP("shfl.sync.idx.b32 %r0, %r2, 7, 31, -1;", 21);
    /* segments of 8 lanes: c is (32 - 8) << 8 | 31, or | 0 for up */
    WARP("shfl.sync.up.b32 %r0, %r2, 3, 0x1800, -1;", 3 * ((lane & 7) >= 3 ? lane - 3 : lane));
    WARP("shfl.sync.down.b32 %r0, %r2, 3, 0x181f, -1;", 3 * ((lane & 7) + 3 < 8 ? lane + 3 : lane));
    WARP("shfl.sync.idx.b32 %r0, %r2, 2, 0x181f, -1;", 3 * ((lane & 24) + 2));
    WARP("shfl.sync.down.b32 %r3|%p1, %r2, 4, 31, -1;\nselp.u32 %r0, 1, 0, %p1;", lane + 4 < 32);
    WARP("shfl.sync.up.b32 %r3|%p1, %r2, 4, 0, -1;\nselp.u32 %r0, 1, 0, %p1;", lane >= 4);
}

static void votes(void **state)
{
    (void)state;
    WARP("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r0, %p1, -1;", 0x1f);
    WARP("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r0, !%p1, -1;", 0xffffffe0);
    WARP("setp.lt.u32 %p1, %r1, 5;\nvote.sync.any.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;", 1);
    WARP("setp.lt.u32 %p1, %r1, 5;\nvote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;", 0);
    WARP("setp.lt.u32 %p1, %r1, 50;\nvote.sync.uni.pred %p2, !%p1, -1;\nselp.u32 %r0, 1, 0, %p2;", 1);
    WARP("and.b32 %r3, %r1, 3;\nmatch.any.sync.b32 %r0, %r3, -1;", 0x11111111u << (lane & 3));
    WARP("mov.u64 %d3, 5;\nmatch.all.sync.b64 %r0|%p1, %d3, -1;", 0xffffffff);
    WARP("match.all.sync.b32 %r3|%p1, %r1, -1;\nselp.u32 %r0, 1, %r3, %p1;", 0);
    WARP("redux.sync.add.u32 %r0, %r2, -1;", 3 * 31 * 16);
    WARP("redux.sync.max.s32 %r0, %r2, -1;", 93);
    WARP("sub.u32 %r3, %r1, 4;\nredux.sync.min.s32 %r0, %r3, -1;", -4);
    WARP("redux.sync.xor.b32 %r0, %r1, -1;", 0);
    WARP("redux.sync.or.b32 %r0, %r1, -1;", 31);
    WARP("elect.sync %r3|%p1, -1;\nselp.u32 %r0, 1, 0, %p1;", lane == 0);
    WARP("setp.ge.u32 %p1, %r1, 8;\nmov.u32 %r0, 0;\n@%p1 bra SKIP;\nactivemask.b32 %r0;\nSKIP:\n",
         lane < 8 ? 0xff : 0);
}

/* Section "match.sync" ("mask of threads whose value is the same"), then "redux.sync" by these masks: each group of
 * lanes, which are not neighbours, reduces its own values. */
static void groups(void **state)
{
    (void)state;
    WARP("and.b32 %r3, %r1, 3;\ncvt.u64.u32 %d3, %r3;\nmatch.any.sync.b64 %r4, %d3, 0xffffffff;\n"
         "redux.sync.add.u32 %r0, %r2, %r4;",
         3 * (8 * (lane & 3) + 4 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7)));
    WARP("setp.ge.u32 %p1, %r1, 20;\nmov.u32 %r0, 7;\n@%p1 bra SKIP;\nshr.u32 %r3, %r1, 3;\nactivemask.b32 %r5;\n"
         "match.any.sync.b32 %r4, %r3, %r5;\nredux.sync.max.u32 %r0, %r2, %r4;\nSKIP:\n",
         lane >= 20 ? 7 : 3 * (lane >= 16 ? 19 : (lane | 7)));
    /* one lane decides for all: "vote.sync", .any */
    WARP("setp.eq.u32 %p1, %r1, 9;\nvote.sync.any.pred %p2, %p1, 0xffffffff;\nselp.u32 %r0, 5, 6, %p2;", 5);
    WARP("mov.u32 %r3, %lanemask_gt;\npopc.b32 %r0, %r3;", 31 - lane);
    WARP("mov.u32 %r3, %lanemask_gt;\nbrev.b32 %r4, %r3;\nclz.b32 %r0, %r4;", lane + 1); /* the next lane; none: 32 */
}

/* Barriers do not wait for ended threads: section "barrier", of threads "that have not exited". */
static void barrier_of_the_rest(void **state)
{
    (void)state;
    static const char text[] = PTX_HEAD(
        80) ".visible .entry k(.param .u64 at)\n{\n.shared .align 4 .b8 x[256];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %d<5>;\n"
            "ld.param.u64 %d1, [at];\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 40;\n@%p1 bra END;\n"
            "mov.u32 %r2, x;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\n"
            "sub.u32 %r5, 156, %r3;\nadd.u32 %r5, %r5, %r2;\nld.shared.u32 %r6, [%r5];\ncvt.u64.u32 %d2, %r3;\nadd.u64 %d1, %d1, %d2;\n"
            "st.global.u32 [%d1], %r6;\nEND:\nret;\n}\n";
    uint32_t out[40];
    CUdeviceptr at = emu_upload(NULL, sizeof out);
    CU(emu_run(text, "k", 1, 64, 0, 1, (uint64_t)at));
    emu_download(out, at, sizeof out);
    CU(cu.cuMemFree_v2(at));
    for (uint32_t i = 0; i < 40; ++i)
        assert_int_equal(out[i], 39 - i);
}

/* Sections "ld" and "st", .v2 and .v4 of every size: element i is at offset i times its size. Wider registers extend small
 * elements by their sign or by zeros. */
static void vectors(void **state)
{
    (void)state;
    static const char text[] = PTX_HEAD(
        80) ".visible .entry k(.param .u64 at)\n{\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [at];\n"
            "ld.global.v4.s8 {%r1, %r2, %r3, %r4}, [%d1];\nst.global.v4.b32 [%d1+16], {%r4, %r3, %r2, %r1};\n"
            "ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%d1+8];\nst.global.v4.b16 [%d1+32], {%h2, %h1, %h4, %h3};\n"
            "ld.global.v2.b64 {%d2, %d3}, [%d1];\nst.global.v2.b64 [%d1+48], {%d3, %d2};\n"
            "ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [%d1];\nst.global.v4.u8 [%d1+40], {%r4, %r3, %r2, %r1};\nst.global.b32 [%d1+44], %r2;\nret;\n}\n";
    static const uint8_t in[16] = { 1, 0xff, 3, 0x80, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    uint8_t out[64];
    static const uint8_t want[48] = { 0x80, 0xff, 0xff, 0xff, 3,  0,  0,  0,  0xff, 0xff, 0xff, 0xff, 1,    0, 0, 0,
                                      11,   12,   9,    10,   15, 16, 13, 14, 0x80, 3,    0xff, 1,    0xff, 0, 0, 0,
                                      9,    10,   11,   12,   13, 14, 15, 16, 1,    0xff, 3,    0x80, 5,    6, 7, 8 };
    memset(out, 0, sizeof out);
    memcpy(out, in, sizeof in);
    CUdeviceptr at = emu_upload(out, sizeof out);
    CU(emu_run(text, "k", 1, 1, 0, 1, (uint64_t)at));
    emu_download(out, at, sizeof out);
    CU(cu.cuMemFree_v2(at));
    assert_memory_equal(out + 16, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(atomics),  cmocka_unit_test(wide),
                                        cmocka_unit_test(shuffles), cmocka_unit_test(votes),
                                        cmocka_unit_test(groups),   cmocka_unit_test(barrier_of_the_rest),
                                        cmocka_unit_test(vectors) };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
