/* update_element.c - updates one element in memory, plainly or atomically, or a vector of distinct elements. */
#include "codegen/update.h"

static LLVMTypeRef bits_type(wf__gen *g, unsigned dtype)
{
    return g->L->IntTypeInContext(g->context, 8 * wf__size(dtype));
}

static val as_bits(wf__gen *g, unsigned dtype, val in_memory) { return g_bits(g, in_memory, bits_type(g, dtype)); }

val wf__join_values(wf__gen *g, unsigned join, unsigned dtype, int w, val old, val value)
{
    unsigned with = wf__update_dtype(dtype, join);
    val x[3] = { wf__from_memory(g, dtype, w, old), value, NULL };
    if (with != dtype)
        x[0] = wf__gen_cast(g, with, dtype, w, x[0]);
    val r = wf__gen_op(g, wf__join_op((wf_join)join), with, w, x, NULL);
    if (with != dtype)
        r = wf__gen_cast(g, dtype, with, w, r);
    return wf__to_memory(g, dtype, w, r);
}

val wf__load_element(wf__gen *g, unsigned dtype, val p)
{
    val v = g_load(g, wf__gen_memory_type(g, dtype, 1), p);
    g->L->SetAlignment(v, wf__align(dtype));
    return v;
}

void wf__store_element(wf__gen *g, unsigned dtype, val p, val v)
{
    g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(dtype));
}

/* Makes the function old update(p, value): a loop of compare and exchange that ends when no other thread interferes.
 * There is one function for each join and dtype. */
static val make_updater(wf__gen *g, unsigned join, unsigned dtype)
{
    unsigned with = wf__update_dtype(dtype, join);
    LLVMTypeRef bits = bits_type(g, dtype), memory = wf__gen_memory_type(g, dtype, 1);
    LLVMTypeRef params[2] = { g->ptr, wf__gen_type(g, with, 1) };
    bb back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "update", bits, params, 2, true);
    g->function = f;
    bb entry = wf__gen_bb(g, "update"), again = wf__gen_bb(g, "again"), done = wf__gen_bb(g, "done");
    val p = g->L->GetParam(f, 0);
    wf__gen_at(g, entry);
    val first = g_load(g, bits, p);
    g->L->BuildBr(g->b, again);
    wf__gen_at(g, again);
    val old = g->L->BuildPhi(g->b, bits, "");
    val new = as_bits(g, dtype, wf__join_values(g, join, dtype, 1, g_bits(g, old, memory), g->L->GetParam(f, 1)));
    val pair = g->L->BuildAtomicCmpXchg(g->b, p, old, new, LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, 0);
    val now = g->L->BuildExtractValue(g->b, pair, 0, "");
    g->L->BuildCondBr(g->b, g->L->BuildExtractValue(g->b, pair, 1, ""), done, again);
    g->L->AddIncoming(old, (val[]){ first, now }, (bb[]){ entry, again }, 2);
    wf__gen_at(g, done);
    g->L->BuildRet(g->b, old);
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* LLVM's operation for a join that processors do atomically; -1 = none. */
static int native_operation(unsigned join, unsigned dtype)
{
    if (join == WF_JOIN_EXCH)
        return LLVMAtomicRMWBinOpXchg;
    if (!wf__is_int(dtype))
        return -1;
    return join == WF_JOIN_ADD   ? LLVMAtomicRMWBinOpAdd
           : join == WF_JOIN_AND ? LLVMAtomicRMWBinOpAnd
           : join == WF_JOIN_OR  ? LLVMAtomicRMWBinOpOr
           : join == WF_JOIN_XOR ? LLVMAtomicRMWBinOpXor
                                 : -1;
}

val wf__update_atomically(wf__gen *g, unsigned join, unsigned dtype, val p, val value)
{
    int op = native_operation(join, dtype);
    val old;
    if (op >= 0) {
        val bits = as_bits(g, dtype, wf__to_memory(g, dtype, 1, value));
        old = g->L->BuildAtomicRMW(g->b, op, p, bits, LLVMAtomicOrderingMonotonic, 0);
    } else {
        val *f = &g->updater[dtype][join], args[2] = { p, value };
        if (!*f)
            *f = make_updater(g, join, dtype);
        old = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*f), *f, args, 2, "");
        g->L->SetInstructionCallConv(old, LLVMFastCallConv);
    }
    return g_bits(g, old, wf__gen_memory_type(g, dtype, 1));
}

val wf__update_element(wf__gen *g, unsigned join, unsigned dtype, val p, val value)
{
    val old = wf__load_element(g, dtype, p);
    wf__store_element(g, dtype, p,
                      join == WF_JOIN_EXCH ? wf__to_memory(g, dtype, 1, value)
                                           : wf__join_values(g, join, dtype, 1, old, value));
    return old;
}

val wf__exchange_element(wf__gen *g, bool plain, unsigned dtype, val p, val expected, val desired)
{
    val want = as_bits(g, dtype, wf__to_memory(g, dtype, 1, expected));
    val new = as_bits(g, dtype, wf__to_memory(g, dtype, 1, desired));
    val old;
    if (plain) {
        old = as_bits(g, dtype, wf__load_element(g, dtype, p));
        val put = g_select(g, g_icmp(g, LLVMIntEQ, old, want), new, old);
        g->L->SetAlignment(g->L->BuildStore(g->b, put, p), wf__align(dtype));
    } else {
        val pair =
            g->L->BuildAtomicCmpXchg(g->b, p, want, new, LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, 0);
        old = g->L->BuildExtractValue(g->b, pair, 0, "");
    }
    return g_bits(g, old, wf__gen_memory_type(g, dtype, 1));
}

void wf__update_parts(const wf__update_op *u, val p, val value)
{
    wf__gen *g = u->in->g;
    unsigned part = wf__part_dtype(u->dtype), size = wf__size(part), with = wf__update_dtype(part, u->join);
    LLVMTypeRef narrow = bits_type(g, part);
    for (unsigned k = 0; k < 2; k++) {
        LLVMTypeRef whole = g->L->TypeOf(value);
        val bits = k ? g->L->BuildLShr(g->b, value, g->L->ConstInt(whole, 8 * size, 0), "") : value;
        val x = g_bits(g, g->L->BuildTrunc(g->b, bits, narrow, ""), wf__gen_type(g, part, 1));
        x = with != part ? wf__gen_cast(g, with, part, 1, x) : x;
        val at = k ? g_gep(g, g->i8, p, g_i64(g, size)) : p;
        (u->plain ? wf__update_element : wf__update_atomically)(g, u->join, part, at, x);
    }
}

val wf__select_neutral(const wf__update_op *u, val mask, val v)
{
    wf__gen *g = u->in->g;
    uint64_t bits = wf__join_neutral((wf_join)u->join, u->with);
    return mask ? g_select(g, mask, v, wf__gen_const(g, u->with, g->width, bits)) : v;
}

void wf__update_vector(const wf__update_op *u, const wf__address *at)
{
    wf__instance *in = u->in;
    wf__gen *g = in->g;
    unsigned held = u->dtype == WF_BOOL ? WF_U8 : u->dtype;
    val zero = wf__gen_const(g, held, g->width, 0);
    val old = wf__load_vector(g, u->dtype, at, u->mask, zero, u->mask ? wf__get_dummy(in->kernel) : NULL);
    val new = wf__join_values(g, u->join, u->dtype, g->width, old, wf__get_vector(in, u->value));
    wf__store_vector(in, u->dtype, at, u->mask, new);
}
