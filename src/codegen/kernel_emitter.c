/* kernel_emitter.c - the arguments of a kernel: addresses, strides, extents and parameters. Each is loaded before the
 * loops, at the first demand, and only once. Also its constants in memory and its stack.
 */
#include "codegen/kernel_emitter.h"

static val load_field(wf__kernel_emitter *kernel, val base, size_t offset, LLVMTypeRef type)
{
    wf__gen *g = kernel->g;
    val p = offset ? g_gep(g, g->i8, base, g_i64(g, (int64_t)offset)) : base;
    return g_load(g, type, p);
}

/* Moves to level 0. Returns the block to go back to. */
static bb enter_top(wf__kernel_emitter *kernel)
{
    bb now = kernel->g->L->GetInsertBlock(kernel->g->b);
    wf__gen_at(kernel->g, kernel->top);
    return now;
}

static val load_slots(wf__kernel_emitter *kernel)
{
    if (!kernel->memory)
        kernel->memory = load_field(kernel, kernel->call, offsetof(wf__call, mem), kernel->g->ptr);
    return kernel->memory;
}

val wf__load_base(wf__kernel_emitter *kernel, uint32_t slot)
{
    wf__slot_values *s = &kernel->slot[slot];
    if (!s->base) {
        bb back = enter_top(kernel);
        s->base =
            load_field(kernel, load_slots(kernel), slot * sizeof(wf__mem) + offsetof(wf__mem, base), kernel->g->ptr);
        wf__gen_at(kernel->g, back);
    }
    return s->base;
}

val wf__load_stride(wf__kernel_emitter *kernel, uint32_t slot, int axis)
{
    wf__slot_values *s = &kernel->slot[slot];
    if (!s->stride[axis]) {
        wf__gen *g = kernel->g;
        bb back = enter_top(kernel);
        size_t at = slot * sizeof(wf__mem) + offsetof(wf__mem, stride) + (size_t)axis * sizeof(int64_t);
        s->stride[axis] = g_mul(g, load_field(kernel, load_slots(kernel), at, g->i64),
                                g_i64(g, wf__size(kernel->body->slot[slot].dtype)));
        wf__gen_at(g, back);
    }
    return s->stride[axis];
}

val wf__load_dim(wf__kernel_emitter *kernel, uint32_t slot, int axis)
{
    wf__slot_values *s = &kernel->slot[slot];
    if (!s->dim[axis]) {
        bb back = enter_top(kernel);
        size_t at = slot * sizeof(wf__mem) + offsetof(wf__mem, dim) + (size_t)axis * sizeof(int64_t);
        s->dim[axis] = load_field(kernel, load_slots(kernel), at, kernel->g->i64);
        wf__gen_at(kernel->g, back);
    }
    return s->dim[axis];
}

val wf__load_extent(wf__kernel_emitter *kernel, int axis)
{
    if (!kernel->extent[axis]) {
        bb back = enter_top(kernel);
        val all = load_field(kernel, kernel->call, offsetof(wf__call, extent), kernel->g->ptr);
        kernel->extent[axis] = load_field(kernel, all, (size_t)axis * sizeof(int64_t), kernel->g->i64);
        wf__gen_at(kernel->g, back);
    }
    return kernel->extent[axis];
}

val wf__load_param(wf__kernel_emitter *kernel, uint32_t number, unsigned dtype)
{
    wf__gen *g = kernel->g;
    if (!kernel->params) {
        bb back = enter_top(kernel);
        kernel->params = load_field(kernel, kernel->call, offsetof(wf__call, param), g->ptr);
        wf__gen_at(g, back);
    }
    val v = load_field(kernel, kernel->params, number * sizeof(uint64_t), wf__gen_memory_type(g, dtype, 1));
    return dtype == WF_BOOL ? g_icmp(g, LLVMIntNE, v, g->L->ConstInt(g->i8, 0, 0)) : v;
}

/* The address of the table, plus a 0 that LLVM cannot see through. The memory is still constant, so loads need no
 * order. But LLVM does not know that a load stays inside the table, so it does not hoist the load out of the loop,
 * where too many constants would fill the registers. */
static val table_address(wf__gen *g, val table) { return g_gep(g, g->i8, table, wf__gen_opaque_zero(g)); }

/* Finds the place of a value in the table, or gives it the next one. Returns the capacity if the table is full. */
static uint32_t place_of_constant(wf__kernel_emitter *kernel, val value, uint64_t bits)
{
    if (!kernel->constant_cap)
        return 0;
    uint32_t h = (uint32_t)wf__hash64(&bits, sizeof bits, 0) & kernel->constant_mask;
    for (; kernel->constant_at[h]; h = (h + 1) & kernel->constant_mask)
        if (kernel->constant[kernel->constant_at[h] - 1] == value)
            return kernel->constant_at[h] - 1;
    if (kernel->constant_n == kernel->constant_cap)
        return kernel->constant_cap;
    kernel->constant[kernel->constant_n] = value;
    kernel->constant_at[h] = ++kernel->constant_n;
    return kernel->constant_n - 1;
}

/* A vector constant costs LLVM more time than any instruction. A scalar in memory, broadcast by the instruction that
 * uses it, runs as fast and compiles much faster. */
val wf__load_constant(wf__kernel_emitter *kernel, unsigned dtype, uint64_t bits)
{
    wf__gen *g = kernel->g;
    if (!kernel->table) {
        uint32_t most = 1;
        for (uint32_t i = 1; i < kernel->body->n; i++)
            most += kernel->body->node[i].op == WF__CONST;
        kernel->table = g->L->AddGlobal(g->module, g->L->ArrayType(g->i64, most), "constants");
        g->L->SetLinkage(kernel->table, LLVMInternalLinkage);
        g->L->SetGlobalConstant(kernel->table, 1);
        uint32_t size = 2;
        while (size < 2 * most)
            size *= 2;
        kernel->constant = wf__alloc(most * sizeof *kernel->constant);
        kernel->constant_at = wf__alloc0(size * sizeof *kernel->constant_at);
        kernel->constant_mask = size - 1;
        kernel->constant_cap = kernel->constant && kernel->constant_at ? most : 0;
    }
    if (!kernel->constants) {
        bb back = enter_top(kernel);
        kernel->constants = table_address(g, kernel->table);
        wf__gen_at(g, back);
    }
    uint32_t i = place_of_constant(kernel, g->L->ConstInt(g->i64, bits, 0), bits);
    if (i == kernel->constant_cap) /* a tile may have more index constants than the body */
        return wf__gen_const(g, dtype, 1, bits);
    return g_load(g, wf__gen_type(g, dtype, 1), g_gep(g, g->i64, kernel->constants, g_i64(g, i)));
}

bool wf__fill_constants(wf__kernel_emitter *kernel)
{
    wf__gen *g = kernel->g;
    if (!kernel->table)
        return true;
    while (kernel->constant_n < kernel->constant_cap)
        kernel->constant[kernel->constant_n++] = g->L->ConstInt(g->i64, 0, 0);
    g->L->SetInitializer(kernel->table, g->L->ConstArray(g->i64, kernel->constant, kernel->constant_n));
    return kernel->constant_n > 0; /* false if there was no memory for the entries */
}

val wf__add_alloca(wf__kernel_emitter *kernel, LLVMTypeRef type)
{
    wf__gen *g = kernel->g;
    bb back = g->L->GetInsertBlock(g->b);
    wf__gen_at(g, kernel->entry);
    val room = g->L->BuildAlloca(g->b, type, "");
    wf__gen_at(g, back);
    return room;
}

val wf__get_dummy(wf__kernel_emitter *kernel)
{
    unsigned bytes = 16; /* of the largest element */
    if (kernel->dummy)
        return kernel->dummy;
    for (uint32_t s = 0; s < kernel->body->slot_n; s++) {
        unsigned record = kernel->body->slot[s].record * wf__size(kernel->body->slot[s].dtype);
        bytes = record > bytes ? record : bytes;
    }
    return kernel->dummy = wf__add_alloca(kernel, kernel->g->L->ArrayType(kernel->g->i64, (bytes + 7) / 8));
}

/* ---- blocks ---- */
/* A store of each value, in front of a return. Volatile, so that each stays. */
static bb emit_never(wf__kernel_emitter *kernel, const val *kept, uint32_t n)
{
    wf__gen *g = kernel->g;
    bb back = g->L->GetInsertBlock(g->b), never = wf__gen_bb(g, "never");
    if (!kernel->never_room) /* for a vector of the largest elements */
        kernel->never_room = wf__add_alloca(kernel, g->L->ArrayType(g->i64, (unsigned)g->width * 2));
    wf__gen_at(g, never);
    for (uint32_t i = 0; i < n; i++) {
        val store = g->L->BuildStore(g->b, kept[i], kernel->never_room);
        g->L->SetAlignment(store, 1);
        g->L->SetVolatile(store, 1);
    }
    g->L->BuildRetVoid(g->b);
    wf__gen_at(g, back);
    return never;
}

void wf__cut_block(wf__kernel_emitter *kernel, const val *kept, uint32_t n)
{
    wf__gen *g = kernel->g;
    bb next = wf__gen_bb(g, "next"), never = emit_never(kernel, kept, n);
    val taken = g_icmp(g, LLVMIntNE, wf__gen_opaque_zero(g), g_i64(g, 0));
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, taken, never, next));
    wf__gen_at(g, next);
}
