/* emit_op_float.c - operations on floats, special values included. No fast-math flag is set, and nothing is
 * reassociated.
 *
 * a < b ? a : b is one instruction on x86, which returns b if either is NaN or both are zeros. The exact rules for NaN
 * and signed zeros are built from it. Whole registers get this instruction by name, because LLVM is slow to find it.
 */
#include "codegen/gen.h"
#include <stdio.h>

static LLVMTypeRef int_lane(wf__gen *g, unsigned dtype) { return dtype == WF_F32 ? g->i32 : g->i64; }

/* The lanes from .. from + n - 1. */
static val get_lanes(wf__gen *g, val v, int from, int n)
{
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)), wf__gen_iota(g, g->i32, n, from, 1), "");
}

typedef val on_register(wf__gen *g, int op, unsigned dtype, int w, val a, val b);

/* Applies `f` to whole registers. Returns NULL if a and b do not fill one or two registers, or if `f` returns NULL. */
static val by_registers(wf__gen *g, on_register *f, int op, unsigned dtype, int w, val a, val b)
{
    int lanes = g->options->target->vector_bits / (8 * (int)wf__size(dtype));
    if (g->isa > WF__ISA_SSE42 || (w != lanes && w != 2 * lanes))
        return NULL;
    if (w == lanes)
        return f(g, op, dtype, w, a, b);
    val low = f(g, op, dtype, lanes, get_lanes(g, a, 0, lanes), get_lanes(g, b, 0, lanes));
    val high = low ? f(g, op, dtype, lanes, get_lanes(g, a, lanes, lanes), get_lanes(g, b, lanes, lanes)) : NULL;
    return high ? g->L->BuildShuffleVector(g->b, low, high, wf__gen_iota(g, g->i32, w, 0, 1), "") : NULL;
}

/* op: 0 = a < b ? a : b, 1 = a > b ? a : b. */
static val pick_register(wf__gen *g, int op, unsigned dtype, int w, val a, val b)
{
    char name[48];
    bool wide = g->isa == WF__ISA_AVX512;
    const char *set = wide ? "avx512" : g->isa == WF__ISA_AVX2 ? "avx" : dtype == WF_F32 ? "sse" : "sse2";
    const char *size = wide ? ".512" : g->isa == WF__ISA_AVX2 ? ".256" : "";
    snprintf(name, sizeof name, "llvm.x86.%s.%s.%s%s", set, op ? "max" : "min", dtype == WF_F32 ? "ps" : "pd", size);
    val args[3] = { a, b, g_i32(g, 4) };
    WF__UNUSED(w);
    return wf__gen_has(g, name) ? wf__gen_call(g, name, NULL, 0, args, wide ? 3 : 2) : NULL;
}

static val emit_min_max(wf__gen *g, bool want_min, unsigned dtype, int w, val a, val b)
{
    val r = by_registers(g, pick_register, !want_min, dtype, w, a, b);
    return r ? r : g_select(g, g_fcmp(g, want_min ? LLVMRealOLT : LLVMRealOGT, a, b), a, b);
}

/* AVX-512's minimum (op 0) or maximum (op 1) that orders zeros and ignores a quiet NaN. */
static val range_register(wf__gen *g, int op, unsigned dtype, int w, val a, val b)
{
    const char *name = dtype == WF_F32 ? "llvm.x86.avx512.mask.range.ps.512" : "llvm.x86.avx512.mask.range.pd.512";
    LLVMTypeRef mask = g->L->IntTypeInContext(g->context, (unsigned)w);
    val args[6] = {
        a, b, g_i32(g, 4 + op), g->L->ConstNull(g->L->TypeOf(a)), g->L->ConstInt(mask, UINT64_MAX, 0), g_i32(g, 4)
    };
    if (g->isa != WF__ISA_AVX512 || !wf__gen_has(g, name))
        return NULL;
    return wf__gen_call(g, name, NULL, 0, args, 6);
}

static val emit_bitwise(wf__gen *g, bool want_or, unsigned dtype, int w, val a, val b)
{
    LLVMTypeRef bits = wf__gen_wide(g, int_lane(g, dtype), w), type = wf__gen_type(g, dtype, w);
    val x = g_bits(g, a, bits), y = g_bits(g, b, bits);
    return g_bits(g, want_or ? g_or(g, x, y) : g_and(g, x, y), type);
}

typedef enum constant_class { UNKNOWN, NUMBER, PLUS_ZERO, MINUS_ZERO, NOT_A_NUMBER } constant_class;

static constant_class classify_constant(unsigned dtype, const uint64_t *bits)
{
    if (!bits)
        return UNKNOWN;
    uint64_t sign = dtype == WF_F32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
    uint64_t magnitude = *bits & (sign - 1), inf = dtype == WF_F32 ? 0x7f800000u : (uint64_t)0x7ff << 52;
    if (magnitude > inf)
        return NOT_A_NUMBER;
    return magnitude ? NUMBER : *bits & sign ? MINUS_ZERO : PLUS_ZERO;
}

/* The result is NaN if either operand is; -0 < +0. Let p = pick(a, b) and q = pick(b, a). For two zeros, p and q are
 * one of them each, so `or` keeps a minus sign and `and` drops it. For two other numbers p = q. With a NaN, p or q is
 * NaN. */
static val min_max(wf__gen *g, bool want_min, unsigned dtype, int w, val a, val b, const uint64_t *known_b)
{
    switch (classify_constant(dtype, known_b)) {
    case NUMBER:
        return emit_min_max(g, want_min, dtype, w, b, a);
    case PLUS_ZERO:
        if (want_min)
            return emit_min_max(g, true, dtype, w, b, a);
        break;
    case MINUS_ZERO:
        if (!want_min)
            return emit_min_max(g, false, dtype, w, b, a);
        break;
    default:
        break;
    }
    val range = by_registers(g, range_register, !want_min, dtype, w, a, b);
    if (range)
        return g_select(g, g_fcmp(g, LLVMRealUNO, a, b), g->L->BuildFAdd(g->b, a, b, ""), range);
    val p = emit_min_max(g, want_min, dtype, w, a, b), q = emit_min_max(g, want_min, dtype, w, b, a);
    if (want_min)
        return emit_bitwise(g, true, dtype, w, p, q); /* a NaN or'ed with anything is a NaN */
    val both = emit_bitwise(g, false, dtype, w, p, q);
    return g_select(g, g_fcmp(g, LLVMRealUNO, a, b), g->L->BuildFAdd(g->b, a, b, ""), both);
}

/* Ignores a NaN. */
static val fmin_fmax(wf__gen *g, bool want_min, unsigned dtype, int w, val a, val b, const uint64_t *known_b)
{
    if (classify_constant(dtype, known_b) == NUMBER)
        return emit_min_max(g, want_min, dtype, w, a, b);
    val both = by_registers(g, range_register, !want_min, dtype, w, a, b);
    if (!both)
        both = emit_bitwise(g, want_min, dtype, w, emit_min_max(g, want_min, dtype, w, a, b),
                            emit_min_max(g, want_min, dtype, w, b, a));
    both = g_select(g, g_fcmp(g, LLVMRealUNO, a, a), b, both);
    return g_select(g, g_fcmp(g, LLVMRealUNO, b, b), a, both);
}

static val classify_op(wf__gen *g, unsigned op, unsigned dtype, int w, val a)
{
    if (op == WF__OP_isnan)
        return g_fcmp(g, LLVMRealUNO, a, a);
    val magnitude = wf__gen_call1(g, "llvm.fabs", a);
    val inf = wf__gen_const(g, dtype, w, dtype == WF_F32 ? 0x7f800000u : (uint64_t)0x7ff << 52);
    return g_fcmp(g, op == WF__OP_isinf ? LLVMRealOEQ : LLVMRealOLT, magnitude, inf);
}

static val fma_op(wf__gen *g, val a, val b, val c)
{
    val args[3] = { a, b, c };
    LLVMTypeRef type = g->L->TypeOf(a);
    return wf__gen_call(g, "llvm.fma", &type, 1, args, 3);
}

val wf__gen_float_op(wf__gen *g, unsigned op, unsigned dtype, int w, const val x[3], const uint64_t *const known[3])
{
    val a = x[0], b = x[1];
    const uint64_t *known_b = known ? known[1] : NULL;
    switch (op) {
    case WF__OP_neg:
        return g->L->BuildFNeg(g->b, a, "");
    case WF__OP_abs:
        return wf__gen_call1(g, "llvm.fabs", a);
    case WF__OP_sqrt:
        return wf__gen_call1(g, "llvm.sqrt", a);
    case WF__OP_floor:
        return wf__gen_call1(g, "llvm.floor", a);
    case WF__OP_ceil:
        return wf__gen_call1(g, "llvm.ceil", a);
    case WF__OP_round:
        return wf__gen_call1(g, "llvm.rint", a);
    case WF__OP_trunc:
        return wf__gen_call1(g, "llvm.trunc", a);
    case WF__OP_isnan:
    case WF__OP_isinf:
    case WF__OP_isfinite:
        return classify_op(g, op, dtype, w, a);
    case WF__OP_add:
        return g->L->BuildFAdd(g->b, a, b, "");
    case WF__OP_sub:
        return g->L->BuildFSub(g->b, a, b, "");
    case WF__OP_mul:
        return g->L->BuildFMul(g->b, a, b, "");
    case WF__OP_div:
        return g->L->BuildFDiv(g->b, a, b, "");
    case WF__OP_min:
        return min_max(g, true, dtype, w, a, b, known_b);
    case WF__OP_max:
        return min_max(g, false, dtype, w, a, b, known_b);
    case WF__OP_fmin:
        return fmin_fmax(g, true, dtype, w, a, b, known_b);
    case WF__OP_fmax:
        return fmin_fmax(g, false, dtype, w, a, b, known_b);
    case WF__OP_copysign:
        return wf__gen_call2(g, "llvm.copysign", a, b);
    case WF__OP_fma:
        return fma_op(g, a, b, x[2]);
    default:
        return NULL;
    }
}
