/* emit_op.c - the pure operations of the op table on integers, bools and complex numbers; those on floats are in
 * emit_op_float.c, casts in emit_cast.c. Each operation has the meaning that the table gives it, for every operand:
 * nothing traps, and no result is undefined.
 */
#include "codegen/gen.h"

static LLVMTypeRef lane_type(wf__gen *g, unsigned dtype) { return wf__gen_type(g, dtype, 1); }

static val emit_compare(wf__gen *g, unsigned op, unsigned dtype, val a, val b)
{
    static const struct {
        int real, is_signed, is_unsigned;
    } table[] = {
        [WF__OP_eq - WF__OP_eq] = { LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ },
        [WF__OP_ne - WF__OP_eq] = { LLVMRealUNE, LLVMIntNE, LLVMIntNE },
        [WF__OP_lt - WF__OP_eq] = { LLVMRealOLT, LLVMIntSLT, LLVMIntULT },
        [WF__OP_le - WF__OP_eq] = { LLVMRealOLE, LLVMIntSLE, LLVMIntULE },
        [WF__OP_gt - WF__OP_eq] = { LLVMRealOGT, LLVMIntSGT, LLVMIntUGT },
        [WF__OP_ge - WF__OP_eq] = { LLVMRealOGE, LLVMIntSGE, LLVMIntUGE },
    };
    unsigned i = op - WF__OP_eq;
    if (wf__is_float(dtype))
        return g_fcmp(g, table[i].real, a, b);
    return g_icmp(g, wf__is_signed(dtype) ? table[i].is_signed : table[i].is_unsigned, a, b);
}

/* The upper half of the product of two 64-bit integers, from four products of halves. */
static val mulhi64(wf__gen *g, bool is_signed, int w, val a, val b)
{
    val low = wf__gen_int(g, g->i64, w, 0xffffffffu), half = wf__gen_int(g, g->i64, w, 32);
    val a0 = g_and(g, a, low), a1 = g->L->BuildLShr(g->b, a, half, "");
    val b0 = g_and(g, b, low), b1 = g->L->BuildLShr(g->b, b, half, "");
    val mid = g_add(g, g_mul(g, a1, b0), g->L->BuildLShr(g->b, g_mul(g, a0, b0), half, ""));
    val more = g_add(g, g_mul(g, a0, b1), g_and(g, mid, low));
    val high = g_add(g, g_add(g, g_mul(g, a1, b1), g->L->BuildLShr(g->b, mid, half, "")),
                     g->L->BuildLShr(g->b, more, half, ""));
    if (!is_signed)
        return high;
    val last = wf__gen_int(g, g->i64, w, 63);
    val fix =
        g_add(g, g_and(g, g->L->BuildAShr(g->b, a, last, ""), b), g_and(g, g->L->BuildAShr(g->b, b, last, ""), a));
    return g_sub(g, high, fix);
}

static val emit_mulhi(wf__gen *g, unsigned dtype, int w, val a, val b)
{
    unsigned bits = 8 * wf__size(dtype);
    bool is_signed = wf__is_signed(dtype);
    if (bits == 64)
        return mulhi64(g, is_signed, w, a, b);
    LLVMTypeRef narrow = wf__gen_type(g, dtype, w), scalar = bits == 8 ? g->i16 : bits == 16 ? g->i32 : g->i64;
    LLVMTypeRef wide = wf__gen_wide(g, scalar, w);
    val x = is_signed ? g->L->BuildSExt(g->b, a, wide, "") : g->L->BuildZExt(g->b, a, wide, "");
    val y = is_signed ? g->L->BuildSExt(g->b, b, wide, "") : g->L->BuildZExt(g->b, b, wide, "");
    return g->L->BuildTrunc(g->b, g->L->BuildLShr(g->b, g_mul(g, x, y), wf__gen_int(g, scalar, w, bits), ""), narrow,
                            "");
}

/* Shifts by the width or more give 0, or the sign. The amount is unsigned. */
static val emit_shift(wf__gen *g, unsigned op, unsigned dtype, int w, val a, val b, const uint64_t *known)
{
    unsigned bits = 8 * wf__size(dtype);
    LLVMTypeRef lane = lane_type(g, dtype);
    val last = wf__gen_int(g, lane, w, bits - 1), zero = wf__gen_int(g, lane, w, 0);
    bool arithmetic = op == WF__OP_shr && wf__is_signed(dtype);
    if (known) {
        uint64_t n = bits < 64 ? *known & (((uint64_t)1 << bits) - 1) : *known;
        if (n >= bits && !arithmetic)
            return zero;
        val amount =
            n >= bits ? last : wf__gen_int(g, lane, w, n); /* a constant of its own: b may be loaded from memory */
        return arithmetic         ? g->L->BuildAShr(g->b, a, amount, "")
               : op == WF__OP_shr ? g->L->BuildLShr(g->b, a, amount, "")
                                  : g->L->BuildShl(g->b, a, amount, "");
    }
    val fits = g_icmp(g, LLVMIntULE, b, last);
    val amount = g_select(g, fits, b, last);
    if (arithmetic)
        return g->L->BuildAShr(g->b, a, amount, "");
    val moved = op == WF__OP_shr ? g->L->BuildLShr(g->b, a, amount, "") : g->L->BuildShl(g->b, a, amount, "");
    return g_select(g, fits, moved, zero);
}

static val emit_rotate(wf__gen *g, const char *funnel, val a, val b)
{
    LLVMTypeRef type = g->L->TypeOf(a);
    val args[3] = { a, a, b };
    return wf__gen_call(g, funnel, &type, 1, args, 3);
}

static val count_bits(wf__gen *g, unsigned op, val a)
{
    val args[2] = { a, g->L->ConstInt(g->i1, 0, 0) };
    LLVMTypeRef type = g->L->TypeOf(a);
    if (op == WF__OP_popcount)
        return wf__gen_call1(g, "llvm.ctpop", a);
    return wf__gen_call(g, op == WF__OP_clz ? "llvm.ctlz" : "llvm.cttz", &type, 1, args, 2);
}

/* a / b in floats wide enough to be exact, since processors divide vectors of floats only. */
static val divide_by_floats(wf__gen *g, unsigned dtype, int w, val a, val b)
{
    LLVMTypeRef real = wf__gen_wide(g, wf__size(dtype) == 4 ? g->f64 : g->f32, w);
    LLVMTypeRef whole = wf__gen_type(g, dtype, w), i32 = wf__gen_wide(g, g->i32, w);
    bool is_signed = wf__is_signed(dtype);
    if (wf__size(dtype) < 4) {
        a = is_signed ? g->L->BuildSExt(g->b, a, i32, "") : g->L->BuildZExt(g->b, a, i32, "");
        b = is_signed ? g->L->BuildSExt(g->b, b, i32, "") : g->L->BuildZExt(g->b, b, i32, "");
        is_signed = true;
    }
    val x = is_signed ? g->L->BuildSIToFP(g->b, a, real, "") : g->L->BuildUIToFP(g->b, a, real, "");
    val y = is_signed ? g->L->BuildSIToFP(g->b, b, real, "") : g->L->BuildUIToFP(g->b, b, real, "");
    val q = g->L->BuildFDiv(g->b, x, y, "");
    q = is_signed ? g->L->BuildFPToSI(g->b, q, i32, "") : g->L->BuildFPToUI(g->b, q, i32, "");
    return wf__size(dtype) < 4 ? g->L->BuildTrunc(g->b, q, whole, "") : q;
}

static val plain_divide(wf__gen *g, unsigned op, unsigned dtype, val a, val b)
{
    if (wf__is_signed(dtype))
        return op == WF__OP_idiv ? g->L->BuildSDiv(g->b, a, b, "") : g->L->BuildSRem(g->b, a, b, "");
    return op == WF__OP_idiv ? g->L->BuildUDiv(g->b, a, b, "") : g->L->BuildURem(g->b, a, b, "");
}

/* Division by 0 gives 0; division by -1 wraps. Both divisors are replaced by 1 before, and the results afterwards. */
static val emit_divide(wf__gen *g, unsigned op, unsigned dtype, int w, val a, val b, const uint64_t *known)
{
    LLVMTypeRef lane = lane_type(g, dtype);
    unsigned bits = 8 * wf__size(dtype);
    uint64_t all = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    val zero = wf__gen_int(g, lane, w, 0), one = wf__gen_int(g, lane, w, 1), minus = wf__gen_int(g, lane, w, all);
    if (known && (*known & all) != 0 && !(wf__is_signed(dtype) && (*known & all) == all))
        return plain_divide(g, op, dtype, a, b);
    val by_zero = g_icmp(g, LLVMIntEQ, b, zero), by_minus = NULL, odd = by_zero;
    if (wf__is_signed(dtype)) {
        by_minus = g_icmp(g, LLVMIntEQ, b, minus);
        odd = g_or(g, by_zero, by_minus);
    }
    val safe = g_select(g, odd, one, b), q;
    if (w > 1 && bits < 64) {
        q = divide_by_floats(g, dtype, w, a, safe);
        if (op == WF__OP_mod)
            q = g_sub(g, a, g_mul(g, q, safe));
    } else {
        q = plain_divide(g, op, dtype, a, safe); /* x % 1 = 0 is right for both divisors */
    }
    if (op == WF__OP_mod)
        return q;
    if (by_minus)
        q = g_select(g, by_minus, g_sub(g, zero, a), q);
    return g_select(g, by_zero, zero, q);
}

static val int_min_max(wf__gen *g, bool want_min, unsigned dtype, val a, val b)
{
    int p = wf__is_signed(dtype) ? (want_min ? LLVMIntSLT : LLVMIntSGT) : (want_min ? LLVMIntULT : LLVMIntUGT);
    return g_select(g, g_icmp(g, p, a, b), a, b);
}

static val int_op(wf__gen *g, unsigned op, unsigned dtype, int w, const val x[3], const uint64_t *const known[3])
{
    LLVMTypeRef lane = lane_type(g, dtype);
    val zero = wf__gen_int(g, lane, w, 0), a = x[0], b = x[1];
    switch (op) {
    case WF__OP_neg:
        return g_sub(g, zero, a);
    case WF__OP_abs:
        return wf__is_signed(dtype) ? g_select(g, g_icmp(g, LLVMIntSLT, a, zero), g_sub(g, zero, a), a) : a;
    case WF__OP_not:
        return g_xor(g, a, wf__gen_int(g, lane, w, UINT64_MAX));
    case WF__OP_floor:
    case WF__OP_ceil:
    case WF__OP_round:
    case WF__OP_trunc:
        return a;
    case WF__OP_isnan:
    case WF__OP_isinf:
        return wf__gen_int(g, g->i1, w, 0);
    case WF__OP_isfinite:
        return wf__gen_int(g, g->i1, w, 1);
    case WF__OP_popcount:
    case WF__OP_clz:
    case WF__OP_ctz:
        return count_bits(g, op, a);
    case WF__OP_brev:
        return wf__gen_call1(g, "llvm.bitreverse", a);
    case WF__OP_add:
        return g_add(g, a, b);
    case WF__OP_sub:
        return g_sub(g, a, b);
    case WF__OP_mul:
        return g_mul(g, a, b);
    case WF__OP_mulhi:
        return emit_mulhi(g, dtype, w, a, b);
    case WF__OP_idiv:
    case WF__OP_mod:
        return emit_divide(g, op, dtype, w, a, b, known ? known[1] : NULL);
    case WF__OP_min:
    case WF__OP_fmin:
        return int_min_max(g, true, dtype, a, b);
    case WF__OP_max:
    case WF__OP_fmax:
        return int_min_max(g, false, dtype, a, b);
    case WF__OP_and:
        return g_and(g, a, b);
    case WF__OP_or:
        return g_or(g, a, b);
    case WF__OP_xor:
        return g_xor(g, a, b);
    case WF__OP_shl:
    case WF__OP_shr:
        return emit_shift(g, op, dtype, w, a, b, known ? known[1] : NULL);
    case WF__OP_rotl:
        return emit_rotate(g, "llvm.fshl", a, b);
    case WF__OP_rotr:
        return emit_rotate(g, "llvm.fshr", a, b);
    case WF__OP_fma:
        return g_add(g, g_mul(g, a, b), x[2]);
    default:
        return NULL;
    }
}

/* Lane l of a complex vector is lanes 2l and 2l + 1 of a vector of parts. */
static val take_part(wf__gen *g, bool second, unsigned dtype, int w, val z)
{
    LLVMTypeRef lane = wf__gen_type(g, wf__part_dtype(dtype), 1);
    val all = g_bits(g, z, g->L->VectorType(lane, 2 * (unsigned)w));
    if (w == 1)
        return g->L->BuildExtractElement(g->b, all, g_i32(g, second), "");
    return g->L->BuildShuffleVector(g->b, all, g->L->GetPoison(g->L->TypeOf(all)),
                                    wf__gen_iota(g, g->i32, w, second, 2), "");
}

static val join_parts(wf__gen *g, unsigned dtype, int w, val re, val im)
{
    LLVMTypeRef lane = wf__gen_type(g, dtype, 1), whole = wf__gen_type(g, wf__complex_dtype(dtype), w);
    if (w == 1) {
        val all = g->L->BuildInsertElement(g->b, g->L->GetPoison(g->L->VectorType(lane, 2)), re, g_i32(g, 0), "");
        return g_bits(g, g->L->BuildInsertElement(g->b, all, im, g_i32(g, 1), ""), whole);
    }
    val order[2 * WF__LANES];
    for (int i = 0; i < w; i++) {
        order[2 * i] = g_i32(g, i);
        order[2 * i + 1] = g_i32(g, w + i);
    }
    val mask = g->L->ConstVector(order, 2 * (unsigned)w);
    return g_bits(g, g->L->BuildShuffleVector(g->b, re, im, mask, ""), whole);
}

val wf__gen_op(wf__gen *g, unsigned op, unsigned dtype, int w, const val x[3], const uint64_t *const known[3])
{
    val r = NULL;
    if (op == WF__OP_real || op == WF__OP_imag)
        return take_part(g, op == WF__OP_imag, dtype, w, x[0]);
    if (op == WF__OP_complex)
        return join_parts(g, dtype, w, x[0], x[1]);
    if (op >= WF__OP_eq && op <= WF__OP_ge)
        r = emit_compare(g, op, dtype, x[0], x[1]);
    else if (op == WF__OP_select)
        r = g_select(g, x[0], x[1], x[2]);
    else if (wf__is_float(dtype))
        r = wf__gen_float_op(g, op, dtype, w, x, known);
    else
        r = int_op(g, op, dtype, w, x, known);
    if (r)
        return r;
    wf__gen_fail(g, "code generator: no code for %s", wf__op_table[op].name);
    return x[0];
}

static val gen_table_op(wf__gen *g, const wf__ir *ir, const wf__node *n, int w, const val x[3])
{
    const wf__ref operand[3] = { n->a, n->b, n->c };
    uint64_t bits[3];
    const uint64_t *known[3] = { NULL };
    for (unsigned i = 0; i < wf__arity(n->op); i++)
        if (wf__at(ir, operand[i])->op == WF__CONST) {
            bits[i] = wf__bits(wf__at(ir, operand[i]));
            known[i] = &bits[i];
        }
    return wf__gen_op(g, n->op, wf__dtype(ir, n->op == WF__OP_select ? n->c : n->a), w, x, known);
}

val wf__gen_pure(wf__gen *g, const wf__ir *ir, const wf__node *n, int w, const val x[3])
{
    switch ((wf__op)n->op) {
    case WF__CAST:
        return wf__gen_cast(g, n->dtype, wf__dtype(ir, n->a), w, x[0]);
    case WF__CHECK:
        return x[1];
    case WF__BITCAST:
        return g_bits(g, x[0], wf__gen_type(g, n->dtype, w));
#include "ir/case_ops.def"
        return gen_table_op(g, ir, n, w, x);
#include "ir/case_not_pure.def"
        break;
    }
    wf__gen_fail(g, "code generator: %s computes nothing", wf__op_table[n->op].name);
    return x[0];
}

/* The values of a node's operands. */
static void get_operands(const wf__node *n, const val *value, val x[3])
{
    const wf__ref operand[3] = { n->a, n->b, n->c };
    unsigned arity = wf__arity(n->op);
    for (unsigned i = 0; i < 3; i++)
        x[i] = i < arity ? value[operand[i]] : NULL;
}

void wf__gen_pure_nodes(wf__gen *g, const wf__ir *ir, const val *arg, int w, val *value)
{
    val x[3];
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        if (n->op == WF__CONST) {
            value[i] = wf__gen_const(g, n->dtype, w, wf__bits(n));
        } else if (n->op == WF__ARG) {
            value[i] = arg[n->a];
        } else if (wf__op_is_pure(n->op)) {
            get_operands(n, value, x);
            value[i] = wf__gen_pure(g, ir, n, w, x);
        } else if (n->op != WF__NOP && n->op != WF__SETRED) {
            wf__gen_fail(g, "code generator: %s in a cold path or a join", wf__op_table[n->op].name);
        }
    }
}
