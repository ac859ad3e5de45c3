/* test_emu_ops.c - every instruction group of the PTX emulator on special values, against results derived by
 * hand from the PTX manual. Sections are those of "Parallel Thread Execution ISA", chapter "Instruction Set".
 *
 * A row is one instruction and its cases. %h1..4, %r1..4, %d1..4, %f1..4, %e1..4, %p1..4 hold the inputs as 16, 32 and
 * 64 bits, f32, f64 and predicate (bit 0). One of %h0, %r0, %d0, %f0, %e0, %p0, the kind that the row names, holds the
 * result.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

typedef struct row {
    const char *inst;
    char out;
    int n;
    uint64_t cases[8][5]; /* four inputs, the result */
} row;

#define F1 0x3f800000u
#define F2 0x40000000u
#define FN1 0xbf800000u
#define FINF 0x7f800000u
#define FNINF 0xff800000u
#define FNAN 0x7fffffffu
#define NEG 0x80000000u
#define D1 0x3ff0000000000000u
#define DNAN 0x7ff8000000000000u
#define M1 0xffffffffffffffffu

static const row rows[] = {
    /* "Integer Arithmetic Instructions" */
    { "add.u16 %h0, %h1, %h2;", 'h', 2, { { 0xffff, 1, 0, 0, 0 }, { 0x7fff, 1, 0, 0, 0x8000 } } },
    { "add.s32 %r0, %r1, %r2;", 'r', 2, { { 0x7fffffff, 1, 0, 0, NEG }, { 5, M1, 0, 0, 4 } } },
    { "add.sat.s32 %r0, %r1, %r2;",
      'r',
      3,
      { { 0x7fffffff, 1, 0, 0, 0x7fffffff }, { NEG, M1, 0, 0, NEG }, { 3, 4, 0, 0, 7 } } },
    { "sub.u64 %d0, %d1, %d2;", 'd', 2, { { 0, 1, 0, 0, M1 }, { 9, 4, 0, 0, 5 } } },
    { "sub.sat.s32 %r0, %r1, %r2;", 'r', 1, { { NEG, 1, 0, 0, NEG } } },
    { "mul.lo.s32 %r0, %r1, %r2;", 'r', 2, { { 0x10000, 0x10000, 0, 0, 0 }, { M1, 7, 0, 0, 0xfffffff9u } } },
    { "mul.hi.u32 %r0, %r1, %r2;", 'r', 2, { { 0xffffffff, 0xffffffff, 0, 0, 0xfffffffe }, { NEG, 2, 0, 0, 1 } } },
    { "mul.hi.s32 %r0, %r1, %r2;", 'r', 2, { { 0xffffffff, 0xffffffff, 0, 0, 0 }, { NEG, 2, 0, 0, 0xffffffff } } },
    { "mul.hi.u64 %d0, %d1, %d2;", 'd', 1, { { M1, M1, 0, 0, M1 - 1 } } },
    { "mul.hi.s64 %d0, %d1, %d2;", 'd', 1, { { M1, 5, 0, 0, M1 } } },
    { "mul.hi.s16 %h0, %h1, %h2;", 'h', 1, { { 0x8000, 2, 0, 0, 0xffff } } },
    { "mul.wide.u16 %r0, %h1, %h2;", 'r', 1, { { 0xffff, 0xffff, 0, 0, 0xfffe0001u } } },
    { "mul.wide.s16 %r0, %h1, %h2;", 'r', 1, { { 0xffff, 3, 0, 0, 0xfffffffdu } } },
    { "mul.wide.u32 %d0, %r1, %r2;", 'd', 1, { { 0xffffffff, 0xffffffff, 0, 0, 0xfffffffe00000001u } } },
    { "mul.wide.s32 %d0, %r1, %r2;", 'd', 1, { { 0xffffffff, 3, 0, 0, M1 - 2 } } },
    { "mad.lo.u32 %r0, %r1, %r2, %r3;", 'r', 1, { { 6, 7, 0xffffffff, 0, 41 } } },
    { "mad.hi.s32 %r0, %r1, %r2, %r3;", 'r', 1, { { NEG, 2, 1, 0, 0 } } },
    { "mad.hi.sat.s32 %r0, %r1, %r2, %r3;", 'r', 1, { { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0, 0x7fffffff } } },
    { "mad.wide.u32 %d0, %r1, %r2, %d3;", 'd', 1, { { 0xffffffff, 2, 3, 0, 0x200000001u } } },
    { "mad.wide.s16 %r0, %h1, %h2, %r3;", 'r', 1, { { 0x8000, 0x8000, 1, 0, 0x40000001 } } },
    { "mul24.lo.u32 %r0, %r1, %r2;", 'r', 1, { { 0xff000003u, 5, 0, 0, 15 } } },
    { "mul24.hi.s32 %r0, %r1, %r2;", 'r', 1, { { 0x800000, 0x100, 0, 0, 0xffff8000u } } },
    { "sad.u32 %r0, %r1, %r2, %r3;", 'r', 2, { { 3, 10, 100, 0, 107 }, { M1, 0, 1, 0, 0 } } },
    { "sad.s32 %r0, %r1, %r2, %r3;", 'r', 1, { { M1, 2, 1, 0, 4 } } },
    { "div.u32 %r0, %r1, %r2;", 'r', 1, { { 0xffffffff, 10, 0, 0, 429496729 } } },
    { "div.s32 %r0, %r1, %r2;",
      'r',
      3,
      { { (uint64_t)-7, 2, 0, 0, 0xfffffffdu }, { NEG, M1, 0, 0, NEG }, { 7, (uint64_t)-2, 0, 0, 0xfffffffdu } } },
    { "div.s64 %d0, %d1, %d2;", 'd', 1, { { (uint64_t)-9, 4, 0, 0, M1 - 1 } } },
    { "rem.s32 %r0, %r1, %r2;",
      'r',
      3,
      { { (uint64_t)-7, 2, 0, 0, 0xffffffffu }, { 7, (uint64_t)-2, 0, 0, 1 }, { NEG, M1, 0, 0, 0 } } },
    { "rem.u64 %d0, %d1, %d2;", 'd', 1, { { M1, 10, 0, 0, 5 } } },
    { "abs.s32 %r0, %r1;", 'r', 2, { { (uint64_t)-5, 0, 0, 0, 5 }, { NEG, 0, 0, 0, NEG } } },
    { "abs.s16 %h0, %h1;", 'h', 1, { { 0xfffe, 0, 0, 0, 2 } } },
    { "neg.s64 %d0, %d1;", 'd', 1, { { 1, 0, 0, 0, M1 } } },
    { "min.s32 %r0, %r1, %r2;", 'r', 1, { { M1, 1, 0, 0, 0xffffffffu } } },
    { "min.u32 %r0, %r1, %r2;", 'r', 1, { { M1, 1, 0, 0, 1 } } },
    { "max.s16 %h0, %h1, %h2;", 'h', 1, { { 0x8000, 3, 0, 0, 3 } } },
    { "max.u64 %d0, %d1, %d2;", 'd', 1, { { M1, 1, 0, 0, M1 } } },
    { "max.relu.s32 %r0, %r1, %r2;", 'r', 1, { { M1, M1 - 3, 0, 0, 0 } } },
    { "popc.b32 %r0, %r1;", 'r', 1, { { 0xf0f0f0f0u, 0, 0, 0, 16 } } },
    { "popc.b64 %r0, %d1;", 'r', 1, { { M1, 0, 0, 0, 64 } } },
    { "clz.b32 %r0, %r1;", 'r', 3, { { 0, 0, 0, 0, 32 }, { 1, 0, 0, 0, 31 }, { NEG, 0, 0, 0, 0 } } },
    { "clz.b64 %r0, %d1;", 'r', 2, { { 0, 0, 0, 0, 64 }, { 1, 0, 0, 0, 63 } } },
    { "bfind.u32 %r0, %r1;", 'r', 2, { { 0, 0, 0, 0, 0xffffffffu }, { 0x500, 0, 0, 0, 10 } } },
    { "bfind.s32 %r0, %r1;", 'r', 2, { { M1, 0, 0, 0, 0xffffffffu }, { 0xfffffff0u, 0, 0, 0, 3 } } },
    { "bfind.shiftamt.u32 %r0, %r1;", 'r', 1, { { 0x500, 0, 0, 0, 21 } } },
    { "brev.b32 %r0, %r1;", 'r', 1, { { 0x12345678u, 0, 0, 0, 0x1e6a2c48u } } },
    { "brev.b64 %d0, %d1;", 'd', 1, { { 1, 0, 0, 0, 0x8000000000000000u } } },
    { "fns.b32 %r0, %r1, %r2, %r3;",
      'r',
      3,
      { { 0xa4, 0, 2, 0, 5 }, { 0xa4, 7, (uint64_t)-2, 0, 5 }, { 0xa4, 0, 9, 0, 0xffffffffu } } },
    /* bfe: "sbit = a[min(pos+len-1, msb)]"; bits beyond the operand are the sign */
    { "bfe.u32 %r0, %r1, %r2, %r3;",
      'r',
      3,
      { { 0xabcd1234u, 8, 8, 0, 0x12 }, { 0xabcd1234u, 28, 8, 0, 0xa }, { M1, 3, 0, 0, 0 } } },
    { "bfe.s32 %r0, %r1, %r2, %r3;",
      'r',
      3,
      { { 0xabcd1234u, 24, 8, 0, 0xffffffabu }, { 0x70, 4, 3, 0, 0xffffffffu }, { NEG, 31, 9, 0, 0xffffffffu } } },
    { "bfe.s64 %d0, %d1, %r2, %r3;", 'd', 1, { { 0x8000000000000000u, 60, 4, 0, M1 - 7 } } },
    { "bfi.b32 %r0, %r1, %r2, %r3, %r4;",
      'r',
      3,
      { { 0xff, 0, 4, 4, 0xf0 }, { 0, M1, 28, 9, 0x0fffffffu }, { 7, 9, 40, 3, 9 } } },
    { "bfi.b64 %d0, %d1, %d2, %r3, %r4;", 'd', 1, { { 0xab, 0, 56, 8, 0xab00000000000000u } } },
    { "dp4a.s32.s32 %r0, %r1, %r2, %r3;", 'r', 1, { { 0xff020304u, 0x01010101u, 10, 0, 18 } } },
    { "dp4a.u32.u32 %r0, %r1, %r2, %r3;", 'r', 1, { { 0xff020304u, 0x01010101u, 10, 0, 274 } } },
    /* "Logic and Shift Instructions": shift amounts above the width are clamped to it */
    { "and.b32 %r0, %r1, %r2;", 'r', 1, { { 0xff00ff00u, 0x0ff00ff0u, 0, 0, 0x0f000f00u } } },
    { "or.b64 %d0, %d1, %d2;", 'd', 1, { { 1ull << 40, 2, 0, 0, (1ull << 40) | 2 } } },
    { "xor.b16 %h0, %h1, %h2;", 'h', 1, { { 0xffff, 0xff, 0, 0, 0xff00 } } },
    { "not.b32 %r0, %r1;", 'r', 1, { { 0, 0, 0, 0, 0xffffffffu } } },
    { "cnot.b32 %r0, %r1;", 'r', 2, { { 0, 0, 0, 0, 1 }, { 5, 0, 0, 0, 0 } } },
    { "xor.pred %p0, %p1, %p2;", 'p', 2, { { 1, 1, 0, 0, 0 }, { 1, 0, 0, 0, 1 } } },
    { "not.pred %p0, %p1;", 'p', 2, { { 1, 0, 0, 0, 0 }, { 0, 0, 0, 0, 1 } } },
    { "shl.b32 %r0, %r1, %r2;", 'r', 3, { { 3, 31, 0, 0, NEG }, { 3, 32, 0, 0, 0 }, { 3, 0x100000000u, 0, 0, 3 } } },
    { "shl.b16 %h0, %h1, %r2;", 'h', 2, { { 3, 15, 0, 0, 0x8000 }, { 3, 16, 0, 0, 0 } } },
    { "shr.u32 %r0, %r1, %r2;", 'r', 2, { { NEG, 31, 0, 0, 1 }, { M1, 40, 0, 0, 0 } } },
    { "shr.s32 %r0, %r1, %r2;", 'r', 2, { { NEG, 31, 0, 0, 0xffffffffu }, { NEG, 99, 0, 0, 0xffffffffu } } },
    { "shr.s64 %d0, %d1, %r2;", 'd', 1, { { M1 << 8, 8, 0, 0, M1 } } },
    { "shr.b64 %d0, %d1, %r2;", 'd', 1, { { M1, 60, 0, 0, 15 } } },
    { "shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
      'r',
      2,
      { { 0x12345678, 0x9abcdef0u, 8, 0, 0xbcdef012u }, { 1, 2, 32, 0, 2 } } },
    { "shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 'r', 1, { { 0x12345678, 0x9abcdef0u, 8, 0, 0xf0123456u } } },
    { "shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 'r', 1, { { 1, 2, 40, 0, 2 } } },
    { "shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 'r', 1, { { 1, 2, 40, 0, 1 } } },
    /* lop3: immLut = F(0xF0, 0xCC, 0xAA); a ^ b ^ c is 0x96, a ? b : c is 0xCA */
    { "lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 'r', 1, { { 0xff, 0x0f, 0x33, 0, 0xc3 } } },
    { "lop3.b32 %r0, %r1, %r2, %r3, 0xCA;", 'r', 1, { { 0xf0, 0xaa, 0x55, 0, 0xa5 } } },
    { "prmt.b32 %r0, %r1, %r2, %r3;",
      'r',
      3,
      { { 0x33221100, 0x77665544, 0x7531, 0, 0x77553311 },
        { 0x80, 0, 0x0008, 0, 0x808080ffu },
        { 0x33221100, 0x77665544, 0x0123, 0, 0x00112233 } } },
    { "prmt.b32.f4e %r0, %r1, %r2, %r3;", 'r', 1, { { 0x33221100, 0x77665544, 1, 0, 0x44332211 } } },
    { "prmt.b32.ecl %r0, %r1, %r2, %r3;", 'r', 1, { { 0x33221100, 0, 2, 0, 0x33222222 } } },
    /* "Comparison and Selection Instructions" */
    { "setp.lt.s32 %p0, %r1, %r2;", 'p', 2, { { M1, 0, 0, 0, 1 }, { 0, M1, 0, 0, 0 } } },
    { "setp.lo.u32 %p0, %r1, %r2;", 'p', 1, { { M1, 0, 0, 0, 0 } } },
    { "setp.hs.u64 %p0, %d1, %d2;", 'p', 1, { { M1, 0, 0, 0, 1 } } },
    { "setp.eq.b16 %p0, %h1, %h2;", 'p', 1, { { 0x10005, 5, 0, 0, 1 } } },
    { "setp.eq.f32 %p0, %f1, %f2;", 'p', 3, { { FNAN, FNAN, 0, 0, 0 }, { 0, NEG, 0, 0, 1 }, { F1, F1, 0, 0, 1 } } },
    { "setp.ne.f32 %p0, %f1, %f2;", 'p', 2, { { FNAN, F1, 0, 0, 0 }, { F2, F1, 0, 0, 1 } } },
    { "setp.neu.f32 %p0, %f1, %f2;", 'p', 2, { { FNAN, F1, 0, 0, 1 }, { F1, F1, 0, 0, 0 } } },
    { "setp.ltu.f64 %p0, %e1, %e2;", 'p', 2, { { DNAN, D1, 0, 0, 1 }, { D1, D1, 0, 0, 0 } } },
    { "setp.num.f32 %p0, %f1, %f2;", 'p', 2, { { FNAN, F1, 0, 0, 0 }, { F1, F1, 0, 0, 1 } } },
    { "setp.nan.f32 %p0, %f1, %f2;", 'p', 1, { { FNAN, F1, 0, 0, 1 } } },
    { "setp.gt.ftz.f32 %p0, %f1, %f2;", 'p', 1, { { 1, 0, 0, 0, 0 } } },
    { "setp.gt.f32 %p0, %f1, %f2;", 'p', 1, { { 1, 0, 0, 0, 1 } } },
    { "setp.lt.and.s32 %p0|%p3, %r1, %r2, %p4;", 'p', 2, { { 1, 2, 0, 1, 1 }, { 1, 2, 0, 0, 0 } } },
    { "setp.lt.or.s32 %p3|%p0, %r1, %r2, !%p4;", 'p', 2, { { 1, 2, 0, 0, 1 }, { 1, 2, 0, 1, 0 } } },
    { "setp.lt.f16 %p0, %h1, %h2;", 'p', 2, { { 0x3c00, 0x4000, 0, 0, 1 }, { 0x7e00, 0x4000, 0, 0, 0 } } },
    { "set.gt.u32.s32 %r0, %r1, %r2;", 'r', 2, { { 2, 1, 0, 0, 0xffffffffu }, { 1, 2, 0, 0, 0 } } },
    { "set.gt.f32.f32 %f0, %f1, %f2;", 'f', 1, { { F2, F1, 0, 0, F1 } } },
    { "selp.b32 %r0, %r1, %r2, %p3;", 'r', 2, { { 5, 6, 1, 0, 5 }, { 5, 6, 0, 0, 6 } } },
    { "selp.f64 %e0, %e1, %e2, %p3;", 'e', 1, { { D1, DNAN, 0, 0, DNAN } } },
    { "slct.u32.s32 %r0, %r1, %r2, %r3;", 'r', 2, { { 5, 6, 0, 0, 5 }, { 5, 6, M1, 0, 6 } } },
    { "slct.f32.f32 %f0, %f1, %f2, %f3;",
      'f',
      3,
      { { F1, F2, NEG, 0, F1 }, { F1, F2, FNAN, 0, F2 }, { F1, F2, FN1, 0, F2 } } },
    /* "Floating-Point Instructions": 1 + 2^-24 lies half way; a NaN of f32 is 0x7fffffff */
    { "add.rn.f32 %f0, %f1, %f2;",
      'f',
      4,
      { { F1, 0x33800000, 0, 0, F1 },
        { 0x3f800001, 0x33800000, 0, 0, 0x3f800002 },
        { FINF, FNINF, 0, 0, FNAN },
        { NEG, NEG, 0, 0, NEG } } },
    { "add.rz.f32 %f0, %f1, %f2;",
      'f',
      2,
      { { 0x3f800001, 0x33800000, 0, 0, 0x3f800001 }, { 0x7f7fffff, 0x7f7fffff, 0, 0, 0x7f7fffff } } },
    { "add.rm.f32 %f0, %f1, %f2;", 'f', 2, { { F1, 0xb3000000u, 0, 0, 0x3f7fffff }, { F1, FN1, 0, 0, NEG } } },
    { "add.rp.f32 %f0, %f1, %f2;", 'f', 1, { { F1, 0x33000000, 0, 0, 0x3f800001 } } },
    { "add.ftz.f32 %f0, %f1, %f2;", 'f', 2, { { 1, 0x80000001u, 0, 0, 0 }, { 0x80000001u, NEG, 0, 0, NEG } } },
    { "add.sat.f32 %f0, %f1, %f2;", 'f', 3, { { F1, F1, 0, 0, F1 }, { FN1, 0, 0, 0, 0 }, { FNAN, F1, 0, 0, 0 } } },
    { "sub.f64 %e0, %e1, %e2;", 'e', 1, { { D1, D1, 0, 0, 0 } } },
    { "sub.rm.f64 %e0, %e1, %e2;", 'e', 1, { { D1, D1, 0, 0, 0x8000000000000000u } } },
    { "mul.rp.f32 %f0, %f1, %f2;", 'f', 1, { { 0x3f800001, 0x3f800001, 0, 0, 0x3f800003 } } },
    { "mul.f32 %f0, %f1, %f2;", 'f', 2, { { 0x00800000, 0x3f000000, 0, 0, 0x00400000 }, { 0, FINF, 0, 0, FNAN } } },
    { "mul.ftz.f32 %f0, %f1, %f2;", 'f', 1, { { 0x80800000u, 0x3f000000, 0, 0, NEG } } },
    { "fma.rn.f32 %f0, %f1, %f2, %f3;", 'f', 1, { { 0x3f800001, 0x3f800001, 0xbf800002u, 0, 0x28800000 } } },
    { "fma.rz.f64 %e0, %e1, %e2, %e3;",
      'e',
      1,
      { { 0x3ff0000000000001u, 0x3ff0000000000001u, 0xbff0000000000002u, 0, 0x3970000000000000u } } },
    { "mad.rn.f32 %f0, %f1, %f2, %f3;", 'f', 1, { { F2, F2, F1, 0, 0x40a00000 } } },
    { "div.rn.f32 %f0, %f1, %f2;",
      'f',
      3,
      { { F1, 0x40400000, 0, 0, 0x3eaaaaab }, { F1, 0, 0, 0, FINF }, { 0, 0, 0, 0, FNAN } } },
    { "div.rz.f32 %f0, %f1, %f2;", 'f', 1, { { F1, 0x40400000, 0, 0, 0x3eaaaaaa } } },
    { "div.rp.f64 %e0, %e1, %e2;", 'e', 1, { { D1, 0x4008000000000000u, 0, 0, 0x3fd5555555555556u } } },
    { "div.full.f32 %f0, %f1, %f2;", 'f', 1, { { F1, F2, 0, 0, 0x3f000000 } } },
    /* div.approx: "for 2^126 < |b| < 2^128 ... if a is infinity, NaN, otherwise 0" */
    { "div.approx.f32 %f0, %f1, %f2;",
      'f',
      3,
      { { F2, F1, 0, 0, F2 }, { F1, 0x7f000001, 0, 0, 0 }, { FINF, 0x7f000001, 0, 0, FNAN } } },
    { "rcp.rn.f32 %f0, %f1;", 'f', 2, { { 0x40400000, 0, 0, 0, 0x3eaaaaab }, { NEG, 0, 0, 0, FNINF } } },
    { "rcp.approx.ftz.f32 %f0, %f1;", 'f', 2, { { F2, 0, 0, 0, 0x3f000000 }, { 1, 0, 0, 0, FINF } } },
    { "rcp.rm.f64 %e0, %e1;", 'e', 1, { { 0x4008000000000000u, 0, 0, 0, 0x3fd5555555555555u } } },
    { "rcp.approx.ftz.f64 %e0, %e1;", 'e', 1, { { 0x4000000000000000u, 0, 0, 0, 0x3fe0000000000000u } } },
    { "sqrt.rn.f32 %f0, %f1;", 'f', 3, { { F2, 0, 0, 0, 0x3fb504f3 }, { NEG, 0, 0, 0, NEG }, { FN1, 0, 0, 0, FNAN } } },
    { "sqrt.rp.f32 %f0, %f1;", 'f', 1, { { F2, 0, 0, 0, 0x3fb504f4 } } },
    { "sqrt.rn.f64 %e0, %e1;", 'e', 1, { { 0x4000000000000000u, 0, 0, 0, 0x3ff6a09e667f3bcdu } } },
    { "rsqrt.approx.f32 %f0, %f1;",
      'f',
      4,
      { { 0x40800000, 0, 0, 0, 0x3f000000 }, { 0, 0, 0, 0, FINF }, { NEG, 0, 0, 0, FNINF }, { FINF, 0, 0, 0, 0 } } },
    { "ex2.approx.f32 %f0, %f1;",
      'f',
      4,
      { { 0x40400000, 0, 0, 0, 0x41000000 },
        { FNINF, 0, 0, 0, 0 },
        { NEG, 0, 0, 0, F1 },
        { 0xc30c0000u, 0, 0, 0, 0x200 } } },
    { "ex2.approx.ftz.f32 %f0, %f1;", 'f', 1, { { 0xc30c0000u, 0, 0, 0, 0 } } },
    { "lg2.approx.f32 %f0, %f1;",
      'f',
      4,
      { { 0x41000000, 0, 0, 0, 0x40400000 },
        { NEG, 0, 0, 0, FNINF },
        { FN1, 0, 0, 0, FNAN },
        { 1, 0, 0, 0, 0xc3150000u } } },
    { "sin.approx.f32 %f0, %f1;", 'f', 2, { { NEG, 0, 0, 0, NEG }, { FINF, 0, 0, 0, FNAN } } },
    { "cos.approx.f32 %f0, %f1;", 'f', 1, { { 0, 0, 0, 0, F1 } } },
    { "tanh.approx.f32 %f0, %f1;", 'f', 2, { { FINF, 0, 0, 0, F1 }, { FNINF, 0, 0, 0, FN1 } } },
    { "abs.f32 %f0, %f1;", 'f', 1, { { FN1, 0, 0, 0, F1 } } },
    { "abs.ftz.f32 %f0, %f1;", 'f', 1, { { 0x80000001u, 0, 0, 0, 0 } } },
    { "neg.f64 %e0, %e1;", 'e', 1, { { D1, 0, 0, 0, 0xbff0000000000000u } } },
    /* min, max: "If both inputs are NaN, the result is canonical NaN"; -0.0 < +0.0 */
    { "min.f32 %f0, %f1, %f2;",
      'f',
      4,
      { { 0, NEG, 0, 0, NEG }, { NEG, 0, 0, 0, NEG }, { FNAN, F1, 0, 0, F1 }, { FNAN, FNAN, 0, 0, FNAN } } },
    { "max.f32 %f0, %f1, %f2;", 'f', 3, { { 0, NEG, 0, 0, 0 }, { NEG, 0, 0, 0, 0 }, { F1, FNAN, 0, 0, F1 } } },
    { "max.NaN.f32 %f0, %f1, %f2;", 'f', 2, { { F1, FNAN, 0, 0, FNAN }, { F1, F2, 0, 0, F2 } } },
    { "min.xorsign.abs.f32 %f0, %f1, %f2;", 'f', 1, { { 0xc0000000u, F1, 0, 0, FN1 } } },
    { "max.f64 %e0, %e1, %e2;", 'e', 1, { { DNAN, D1, 0, 0, D1 } } },
    { "copysign.f32 %f0, %f1, %f2;", 'f', 1, { { NEG, F2, 0, 0, 0xc0000000u } } },
    { "testp.finite.f32 %p0, %f1;", 'p', 2, { { FINF, 0, 0, 0, 0 }, { F1, 0, 0, 0, 1 } } },
    { "testp.infinite.f64 %p0, %e1;", 'p', 1, { { 0xfff0000000000000u, 0, 0, 0, 1 } } },
    { "testp.notanumber.f32 %p0, %f1;", 'p', 2, { { FNAN, 0, 0, 0, 1 }, { FINF, 0, 0, 0, 0 } } },
    { "testp.subnormal.f32 %p0, %f1;", 'p', 2, { { 1, 0, 0, 0, 1 }, { 0, 0, 0, 0, 0 } } },
    { "testp.normal.f32 %p0, %f1;", 'p', 2, { { 1, 0, 0, 0, 0 }, { F1, 0, 0, 0, 1 } } },
    /* "Half Precision Floating-Point Instructions": 0x3c00 is 1, 0x6400 is 1024, 0x7bff is 65504 */
    { "add.f16 %h0, %h1, %h2;",
      'h',
      4,
      { { 0x3c00, 0x3c00, 0, 0, 0x4000 },
        { 0x7bff, 0x7bff, 0, 0, 0x7c00 },
        { 0x6800, 0x3c00, 0, 0, 0x6800 },
        { 1, 1, 0, 0, 2 } } },
    { "add.ftz.f16 %h0, %h1, %h2;", 'h', 1, { { 1, 1, 0, 0, 0 } } },
    { "add.sat.f16 %h0, %h1, %h2;", 'h', 1, { { 0x3c00, 0x3c00, 0, 0, 0x3c00 } } },
    { "mul.f16x2 %r0, %r1, %r2;", 'r', 1, { { 0x40003c00, 0x42004000, 0, 0, 0x46004000 } } },
    { "sub.f16x2 %r0, %r1, %r2;", 'r', 1, { { 0x40003c00, 0x3c003c00, 0, 0, 0x3c000000 } } },
    { "fma.rn.f16 %h0, %h1, %h2, %h3;",
      'h',
      2,
      { { 0x3c01, 0x3c01, 0xbc02, 0, 0x0010 }, { 0x4000, 0x4200, 0x3c00, 0, 0x4700 } } },
    { "fma.rn.relu.f16 %h0, %h1, %h2, %h3;", 'h', 1, { { 0xbc00, 0x3c00, 0, 0, 0 } } },
    { "fma.rn.bf16 %h0, %h1, %h2, %h3;", 'h', 1, { { 0x3f80, 0x4000, 0x3f80, 0, 0x4040 } } },
    { "fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 'r', 1, { { 0x3f803f80, 0x40003f80, 0x3f800000, 0, 0x40403f80 } } },
    { "add.bf16 %h0, %h1, %h2;", 'h', 2, { { 0x4380, 0x3f80, 0, 0, 0x4380 }, { 0x4380, 0x4040, 0, 0, 0x4382 } } },
    { "neg.f16 %h0, %h1;", 'h', 1, { { 0x3c00, 0, 0, 0, 0xbc00 } } },
    { "abs.bf16x2 %r0, %r1;", 'r', 1, { { 0xbf80bf80u, 0, 0, 0, 0x3f803f80 } } },
    { "min.f16 %h0, %h1, %h2;", 'h', 2, { { 0x8000, 0, 0, 0, 0x8000 }, { 0x7e00, 0x3c00, 0, 0, 0x3c00 } } },
    { "max.NaN.bf16 %h0, %h1, %h2;", 'h', 1, { { 0x7fc0, 0x3f80, 0, 0, 0x7fff } } },
    { "ex2.approx.f16 %h0, %h1;", 'h', 1, { { 0x4200, 0, 0, 0, 0x4800 } } },
    { "tanh.approx.bf16 %h0, %h1;", 'h', 1, { { 0x7f80, 0, 0, 0, 0x3f80 } } },
    /* "cvt": .rni to the nearest even; out of range clamps; NaN to 0, or for f64 and 64 bits to the highest bit */
    { "cvt.rni.s32.f32 %r0, %f1;",
      'r',
      5,
      { { 0x40200000, 0, 0, 0, 2 },
        { 0x40600000, 0, 0, 0, 4 },
        { FNAN, 0, 0, 0, 0 },
        { 0x4f800000, 0, 0, 0, 0x7fffffff },
        { FNINF, 0, 0, 0, NEG } } },
    { "cvt.rzi.u32.f32 %r0, %f1;",
      'r',
      3,
      { { FN1, 0, 0, 0, 0 }, { 0x403fffff, 0, 0, 0, 2 }, { FINF, 0, 0, 0, 0xffffffffu } } },
    { "cvt.rmi.s32.f32 %r0, %f1;", 'r', 1, { { 0xbf000000u, 0, 0, 0, 0xffffffffu } } },
    { "cvt.rpi.s32.f32 %r0, %f1;", 'r', 2, { { 0x3f000000, 0, 0, 0, 1 }, { 0xbf000000u, 0, 0, 0, 0 } } },
    { "cvt.rzi.s64.f32 %d0, %f1;", 'd', 1, { { FNAN, 0, 0, 0, 0x8000000000000000u } } },
    { "cvt.rzi.u64.f64 %d0, %e1;",
      'd',
      2,
      { { DNAN, 0, 0, 0, 0x8000000000000000u }, { 0x43f0000000000000u, 0, 0, 0, M1 } } },
    { "cvt.rzi.s32.f64 %r0, %e1;", 'r', 1, { { DNAN, 0, 0, 0, NEG } } },
    { "cvt.rzi.s16.f32 %h0, %f1;", 'h', 1, { { 0x47800000, 0, 0, 0, 0x7fff } } },
    { "cvt.rzi.s8.f32 %r0, %f1;", 'r', 2, { { 0x43480000, 0, 0, 0, 127 }, { 0xc3480000u, 0, 0, 0, 0xffffff80u } } },
    { "cvt.rni.f32.f32 %f0, %f1;", 'f', 2, { { 0x40200000, 0, 0, 0, F2 }, { 0xbe800000u, 0, 0, 0, NEG } } },
    { "cvt.rpi.f64.f64 %e0, %e1;", 'e', 1, { { 0x3fe0000000000000u, 0, 0, 0, D1 } } },
    { "cvt.rn.f32.s32 %f0, %r1;", 'f', 2, { { 16777217, 0, 0, 0, 0x4b800000 }, { M1, 0, 0, 0, FN1 } } },
    { "cvt.rp.f32.u32 %f0, %r1;", 'f', 1, { { 16777217, 0, 0, 0, 0x4b800001 } } },
    { "cvt.rn.f32.u64 %f0, %d1;", 'f', 1, { { M1, 0, 0, 0, 0x5f800000 } } },
    { "cvt.rz.f64.s64 %e0, %d1;", 'e', 1, { { 0x7fffffffffffffffu, 0, 0, 0, 0x43dfffffffffffffu } } },
    { "cvt.rn.f16.s32 %h0, %r1;", 'h', 2, { { 2049, 0, 0, 0, 0x6800 }, { 70000, 0, 0, 0, 0x7c00 } } },
    { "cvt.rn.f32.f64 %f0, %e1;",
      'f',
      3,
      { { 0x3ff0000010000000u, 0, 0, 0, F1 },
        { 0x3ff0000030000000u, 0, 0, 0, 0x3f800002 },
        { 0x7fefffffffffffffu, 0, 0, 0, FINF } } },
    { "cvt.rz.f32.f64 %f0, %e1;", 'f', 1, { { 0x7fefffffffffffffu, 0, 0, 0, 0x7f7fffff } } },
    { "cvt.f64.f32 %e0, %f1;", 'e', 2, { { 1, 0, 0, 0, 0x36a0000000000000u }, { F1, 0, 0, 0, D1 } } },
    { "cvt.ftz.f64.f32 %e0, %f1;", 'e', 1, { { 1, 0, 0, 0, 0 } } },
    { "cvt.sat.f32.f32 %f0, %f1;",
      'f',
      3,
      { { F2, 0, 0, 0, F1 }, { FNAN, 0, 0, 0, 0 }, { 0x3f000000, 0, 0, 0, 0x3f000000 } } },
    { "cvt.rn.f16.f32 %h0, %f1;",
      'h',
      4,
      { { 0x477ff000, 0, 0, 0, 0x7c00 },
        { 0x477fefff, 0, 0, 0, 0x7bff },
        { 0x33000000, 0, 0, 0, 0 },
        { 0x33000001, 0, 0, 0, 1 } } },
    { "cvt.f32.f16 %f0, %h1;",
      'f',
      3,
      { { 1, 0, 0, 0, 0x33800000 }, { 0x7c00, 0, 0, 0, FINF }, { 0xfe00, 0, 0, 0, FNAN } } },
    { "cvt.rn.bf16.f32 %h0, %f1;",
      'h',
      3,
      { { 0x3f808000, 0, 0, 0, 0x3f80 }, { 0x3f818000, 0, 0, 0, 0x3f82 }, { 0x7f7fffff, 0, 0, 0, 0x7f80 } } },
    { "cvt.f32.bf16 %f0, %h1;", 'f', 1, { { 0x4049, 0, 0, 0, 0x40490000 } } },
    { "cvt.rn.f16x2.f32 %r0, %f1, %f2;", 'r', 1, { { F1, F2, 0, 0, 0x3c004000 } } },
    { "cvt.rn.relu.bf16x2.f32 %r0, %f1, %f2;", 'r', 1, { { FN1, F2, 0, 0, 0x4000 } } },
    { "cvt.s32.s8 %r0, %r1;", 'r', 2, { { 0x80, 0, 0, 0, 0xffffff80u }, { 0x17f, 0, 0, 0, 0x7f } } },
    { "cvt.u32.u8 %r0, %r1;", 'r', 1, { { 0xfff, 0, 0, 0, 0xff } } },
    { "cvt.u64.u32 %d0, %r1;", 'd', 1, { { M1, 0, 0, 0, 0xffffffffu } } },
    { "cvt.s64.s32 %d0, %r1;", 'd', 1, { { NEG, 0, 0, 0, 0xffffffff80000000u } } },
    { "cvt.u16.u32 %h0, %r1;", 'h', 1, { { 0x12345, 0, 0, 0, 0x2345 } } },
    { "cvt.sat.u8.s32 %r0, %r1;", 'r', 2, { { M1, 0, 0, 0, 0 }, { 300, 0, 0, 0, 255 } } },
    { "cvt.sat.s16.s32 %h0, %r1;", 'h', 1, { { 0xffff0000u, 0, 0, 0, 0x8000 } } },
    { "cvt.s8.s32 %r0, %r1;", 'r', 1, { { 0x180, 0, 0, 0, 0xffffff80u } } },
    /* "mov": packing and unpacking, the first element lowest */
    { "mov.b32 %r0, {%h1, %h2};", 'r', 1, { { 0x1111, 0x2222, 0, 0, 0x22221111 } } },
    { "mov.b64 %d0, {%r1, %r2};", 'd', 1, { { 1, 2, 0, 0, 0x200000001u } } },
    { "mov.b64 %d0, {%h1, %h2, %h3, %h4};", 'd', 1, { { 1, 2, 3, 4, 0x0004000300020001u } } },
    { "mov.b64 {%r3, %r0}, %d1;", 'r', 1, { { 0x500000001u, 0, 0, 0, 5 } } },
    { "mov.b32 {%h0, _}, %r1;", 'h', 1, { { 0x50001, 0, 0, 0, 1 } } },
    { "mov.f32 %f0, 0f7F800000;", 'f', 1, { { 0, 0, 0, 0, FINF } } },
    { "mov.f32 %f0, -1.5;", 'f', 1, { { 0, 0, 0, 0, 0xbfc00000u } } },
    { "mov.f64 %e0, 0dBFF0000000000000;", 'e', 1, { { 0, 0, 0, 0, 0xbff0000000000000u } } },
    { "mov.u32 %r0, 0b101;", 'r', 1, { { 0, 0, 0, 0, 5 } } },
    { "mov.u32 %r0, 017;", 'r', 1, { { 0, 0, 0, 0, 15 } } },
    { "mov.s64 %d0, -2;", 'd', 1, { { 0, 0, 0, 0, M1 - 1 } } },
    { "mov.u32 %r0, WARP_SZ;", 'r', 1, { { 0, 0, 0, 0, 32 } } },
};
enum { ROWS = sizeof rows / sizeof *rows };

static char *module_text(void)
{
    size_t size = 1 << 20, n = 0;
    char *text = malloc(size);
    assert_non_null(text);
    n += (size_t)snprintf(text, size, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int i = 0; i < ROWS; i++) {
        static const char *const ends[][2] = { { "h", "cvt.u64.u16 %d0, %h0;" },
                                               { "r", "cvt.u64.u32 %d0, %r0;" },
                                               { "d", "" },
                                               { "f", "mov.b32 %r0, %f0;\ncvt.u64.u32 %d0, %r0;" },
                                               { "e", "mov.b64 %d0, %e0;" },
                                               { "p", "selp.u64 %d0, 1, 0, %p0;" } };
        const char *end = "";
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            if (ends[k][0][0] == rows[i].out)
                end = ends[k][1];
        n += (size_t)snprintf(
            text + n, size - n,
            ".visible .entry op%d(.param .u64 in, .param .u64 out)\n{\n.reg .pred %%p<5>;\n.reg .b16 %%h<5>;\n"
            ".reg .b32 %%r<5>;\n.reg .b64 %%d<5>, %%a, %%b, %%c;\n.reg .f32 %%f<5>;\n.reg .f64 %%e<5>;\n.reg .u32 %%t;\n"
            "ld.param.u64 %%a, [in];\nld.param.u64 %%b, [out];\nmov.u32 %%t, %%tid.x;\nmul.wide.u32 %%c, %%t, 32;\n"
            "add.u64 %%a, %%a, %%c;\nmul.wide.u32 %%c, %%t, 8;\nadd.u64 %%b, %%b, %%c;\n",
            i);
        for (int k = 1; k <= 4; k++)
            n += (size_t)snprintf(
                text + n, size - n,
                "ld.global.u64 %%d%d, [%%a+%d];\ncvt.u32.u64 %%r%d, %%d%d;\ncvt.u16.u64 %%h%d, %%d%d;\nmov.b32 %%f%d, %%r%d;\n"
                "mov.b64 %%e%d, %%d%d;\nand.b32 %%r0, %%r%d, 1;\nsetp.ne.u32 %%p%d, %%r0, 0;\n",
                k, 8 * k - 8, k, k, k, k, k, k, k, k, k, k);
        n += (size_t)snprintf(text + n, size - n, "%s\n%s\nst.global.u64 [%%b], %%d0;\nret;\n}\n", rows[i].inst, end);
    }
    return text;
}

static void operations(void **state)
{
    (void)state;
    char *text = module_text();
    CUmodule module = emu_load(text);
    CUdeviceptr in = emu_upload(NULL, 8 * 32), out = emu_upload(NULL, 8 * 8);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        char name[16];
        uint64_t inputs[8][4] = { { 0 } }, got[8];
        for (int k = 0; k < rows[i].n; k++)
            memcpy(inputs[k], rows[i].cases[k], sizeof inputs[k]);
        CU(cu.cuMemcpyHtoD_v2(in, inputs, sizeof inputs));
        snprintf(name, sizeof name, "op%d", i);
        void *params[] = { &in, &out };
        CU(cu.cuLaunchKernel(emu_function(module, name), 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
        CU(cu.cuCtxSynchronize());
        emu_download(got, out, sizeof got);
        for (int k = 0; k < rows[i].n; k++) {
            if (got[k] == rows[i].cases[k][4])
                continue;
            print_error("%s of 0x%llx 0x%llx 0x%llx 0x%llx: 0x%llx instead of 0x%llx\n", rows[i].inst,
                        (unsigned long long)inputs[k][0], (unsigned long long)inputs[k][1],
                        (unsigned long long)inputs[k][2], (unsigned long long)inputs[k][3], (unsigned long long)got[k],
                        (unsigned long long)rows[i].cases[k][4]);
            wrong++;
        }
    }
    CU(cu.cuModuleUnload(module));
    free(text);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(operations) };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
