/* frame.c - what a kernel reads from its arguments: addresses, strides, extents, parameters; each loaded once, before
 * the loops, when it is first asked for.
 */
#include "codegen/body.h"

static val field(wf__frame *f, val base, size_t offset, LLVMTypeRef type)
{
    wf__gen *g = f->g;
    val p = offset ? g_gep(g, g->i8, base, g_i64(g, (int64_t)offset)) : base;
    return g_load(g, type, p);
}

/* Emits at level 0, then goes back. */
static block go_top(wf__frame *f)
{
    block now = f->g->L->GetInsertBlock(f->g->b);
    wf__gen_at(f->g, f->top);
    return now;
}

static val memory(wf__frame *f)
{
    if (!f->memory)
        f->memory = field(f, f->call, offsetof(wf__call, mem), f->g->ptr);
    return f->memory;
}

val wf__frame_base(wf__frame *f, uint32_t slot)
{
    wf__slot_code *s = &f->slot[slot];
    if (!s->base) {
        block back = go_top(f);
        s->base = field(f, memory(f), slot * sizeof(wf__mem) + offsetof(wf__mem, base), f->g->ptr);
        wf__gen_at(f->g, back);
    }
    return s->base;
}

val wf__frame_stride(wf__frame *f, uint32_t slot, int axis)
{
    wf__slot_code *s = &f->slot[slot];
    if (!s->stride[axis]) {
        wf__gen *g = f->g;
        block back = go_top(f);
        size_t at = slot * sizeof(wf__mem) + offsetof(wf__mem, stride) + (size_t)axis * sizeof(int64_t);
        s->stride[axis] = g_mul(g, field(f, memory(f), at, g->i64), g_i64(g, wf__size(f->body->slot[slot].dtype)));
        wf__gen_at(g, back);
    }
    return s->stride[axis];
}

val wf__frame_dim(wf__frame *f, uint32_t slot, int axis)
{
    wf__slot_code *s = &f->slot[slot];
    if (!s->dim[axis]) {
        block back = go_top(f);
        size_t at = slot * sizeof(wf__mem) + offsetof(wf__mem, dim) + (size_t)axis * sizeof(int64_t);
        s->dim[axis] = field(f, memory(f), at, f->g->i64);
        wf__gen_at(f->g, back);
    }
    return s->dim[axis];
}

val wf__frame_extent(wf__frame *f, int axis)
{
    if (!f->extent[axis]) {
        block back = go_top(f);
        val all = field(f, f->call, offsetof(wf__call, extent), f->g->ptr);
        f->extent[axis] = field(f, all, (size_t)axis * sizeof(int64_t), f->g->i64);
        wf__gen_at(f->g, back);
    }
    return f->extent[axis];
}

val wf__frame_param(wf__frame *f, uint32_t number, unsigned dtype)
{
    wf__gen *g = f->g;
    if (!f->params) {
        block back = go_top(f);
        f->params = field(f, f->call, offsetof(wf__call, param), g->ptr);
        wf__gen_at(g, back);
    }
    val v = field(f, f->params, number * sizeof(uint64_t), wf__gen_memory_type(g, dtype, 1));
    return dtype == WF_BOOL ? g_icmp(g, LLVMIntNE, v, g->L->ConstInt(g->i8, 0, 0)) : v;
}

/* The address of a table of constants plus 0, as LLVM does not know. It sees constants, so that loads need no order,
 * but not that they are inside the table: it would take them out of the loop, to find then that there are no
 * registers for so many. */
static val table_address(wf__gen *g, val table)
{
    LLVMTypeRef type = g->L->FunctionType(g->i64, &g->i64, 1, 0);
    val same = g->L->GetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0), zero = g_i64(g, 0);
    return g_gep(g, g->i8, table, g->L->BuildCall2(g->b, type, same, &zero, 1, ""));
}

/* LLVM makes a vector constant from its lanes, which takes it longer than any instruction; a scalar in memory that is
 * broadcast by the instruction that uses it is as fast to run and much faster to compile. */
val wf__frame_constant(wf__frame *f, unsigned dtype, uint64_t bits)
{
    wf__gen *g = f->g;
    if (!f->table) {
        uint32_t most = 1;
        for (uint32_t i = 1; i < f->body->n; i++)
            most += f->body->node[i].op == WF__CONST;
        f->table = g->L->AddGlobal(g->module, g->L->ArrayType(g->i64, most), "constants");
        g->L->SetLinkage(f->table, LLVMInternalLinkage);
        g->L->SetGlobalConstant(f->table, 1);
        f->constant = wf__alloc(most * sizeof *f->constant);
        f->constant_cap = f->constant ? most : 0;
    }
    if (!f->constants) {
        block back = go_top(f);
        f->constants = table_address(g, f->table);
        wf__gen_at(g, back);
    }
    val value = g->L->ConstInt(g->i64, bits, 0);
    uint32_t i = 0;
    while (i < f->constant_n && f->constant[i] != value)
        i++;
    if (i == f->constant_cap) /* index constants of a tile may be more than the body's */
        return wf__gen_const(g, dtype, 1, bits);
    if (i == f->constant_n)
        f->constant[f->constant_n++] = value;
    return g_load(g, wf__gen_type(g, dtype, 1), g_gep(g, g->i64, f->constants, g_i64(g, i)));
}

bool wf__frame_finish(wf__frame *f)
{
    wf__gen *g = f->g;
    if (!f->table)
        return true;
    while (f->constant_n < f->constant_cap)
        f->constant[f->constant_n++] = g->L->ConstInt(g->i64, 0, 0);
    g->L->SetInitializer(f->table, g->L->ConstArray(g->i64, f->constant, f->constant_n));
    return f->constant_n > 0; /* false: no memory for them */
}

val wf__frame_room(wf__frame *f, LLVMTypeRef type)
{
    wf__gen *g = f->g;
    block back = g->L->GetInsertBlock(g->b);
    wf__gen_at(g, f->entry);
    val room = g->L->BuildAlloca(g->b, type, "");
    wf__gen_at(g, back);
    return room;
}

val wf__frame_nowhere(wf__frame *f)
{
    unsigned bytes = 16; /* of the largest element, or record */
    if (f->nowhere)
        return f->nowhere;
    for (uint32_t s = 0; s < f->body->slot_n; s++) {
        unsigned record = f->body->slot[s].record * wf__size(f->body->slot[s].dtype);
        bytes = record > bytes ? record : bytes;
    }
    return f->nowhere = wf__frame_room(f, f->g->L->ArrayType(f->g->i64, (bytes + 7) / 8));
}
