/* private.c - kernels whose thread blocks accumulate into private copies, in shared memory, of arrays that all points
 * update. A thread block fills its copies with the neutral element, does its points, and joins each element that has
 * changed with the array by one atomic operation. Atomic operations in shared memory are cheaper and conflict less.
 * The launch (run/gpu/launch.c) takes fewer thread blocks than points would fill, and each does several blocks of
 * points, so that filling and joining cost little.
 */
#include "ptx/gen.h"

static val element_address(gen *g, val i, unsigned size, val base, int64_t bytes)
{
    val r = wf__ptx_reg(g, V_D);
    EMIT(g, g->options->narrow ? "mad.wide.s32 $0, $1, $2, $3" : "mad.lo.s64 $0, $1, $2, $3", r, i, v_int(size), base);
    if (bytes)
        EMIT(g, "add.s64 $0, $0, $1", r, v_int(bytes));
    return r;
}

/* The address of element i of the copy. */
static val copy_address(gen *g, const wf__private *p, val i)
{
    const wf__slot *slot = &g->ir->slot[p->slot];
    return element_address(g, i, wf__size(slot->dtype), wf__ptx_shared(g), slot->shared - 1);
}

/* The address of element i of the array, which may have any strides. */
static val array_address(gen *g, const wf__private *p, val i)
{
    const wf__slot *slot = &g->ir->slot[p->target];
    val type = v_text(g->options->narrow ? "s32" : "s64"), offset = wf__ptx_new_index(g);
    EMIT(g, "sub.$1 $0, $2, $2", offset, type, i);
    for (int d = slot->rank - 1; d >= 0; --d) {
        bool narrow = g->options->narrow;
        val digit = d ? wf__ptx_take_digit(g, &i, wf__ptx_field_value(g, WF__PTX_DIM, p->target, d, narrow)) : i;
        EMIT(g, "mad.lo.$1 $0, $2, $3, $0", offset, type, digit,
             wf__ptx_field_value(g, WF__PTX_STRIDE, p->target, d, narrow));
    }
    return element_address(g, offset, wf__size(slot->dtype), wf__ptx_field_value(g, WF__PTX_BASE, p->target, 0, false),
                           0);
}

static uint64_t neutral_bits(const wf__private *p, unsigned dtype)
{
    unsigned part = wf__part_dtype(dtype);
    return wf__join_neutral((wf_join)p->join, part ? part : dtype);
}

/* Fills whole words, because small elements are updated by words. */
static void fill_copy(gen *g, const wf__private *p)
{
    unsigned t = g->ir->slot[p->slot].dtype, part = wf__part_dtype(t), size = wf__size(t), word = 4;
    uint64_t n = size < word ? (p->elements * size + word - 1) / word * (word / size) : p->elements;
    val none = { 0 }, neutral = wf__ptx_const(g, part ? part : t, neutral_bits(p, t));
    wf__ptx_loop loop = wf__ptx_begin_loop(g, g->thread[WF_MAX_RANK][0], v_int((int64_t)n));
    wf__ptx_store_element(g, t, copy_address(g, p, loop.i), "shared", none, neutral, part ? neutral : none);
    wf__ptx_end_loop(g, &loop, g->thread[WF_MAX_RANK][1]);
}

static void join_copy(gen *g, const wf__private *p)
{
    unsigned t = g->ir->slot[p->slot].dtype, size = wf__size(t);
    bool pair = wf__is_complex(t);
    val none = { 0 }, re = t == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, t), im = pair ? wf__ptx_new(g, t) : none;
    wf__ptx_loop loop = wf__ptx_begin_loop(g, g->thread[WF_MAX_RANK][0], v_int((int64_t)p->elements));
    wf__ptx_load_element(g, t, copy_address(g, p, loop.i), "shared", none, re, im);
    if (!pair && size >= 4) {
        uint64_t bits = neutral_bits(p, t);
        val same = wf__ptx_reg(g, V_P);
        EMIT(g, size == 8 ? "setp.eq.s64 $0, $1, $2" : "setp.eq.s32 $0, $1, $2", same, re,
             v_int(size == 8 ? (int64_t)bits : (int32_t)bits));
        EMIT(g, "@$0 bra $1", same, loop.next);
    }
    if (t == WF_BOOL) {
        val on = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.ne.s32 $0, $1, 0", on, re);
        re = on;
    }
    wf__ptx_join_element(g, p->join, g->ir->slot[p->target].dtype, array_address(g, p, loop.i), re, im);
    wf__ptx_end_loop(g, &loop, g->thread[WF_MAX_RANK][1]);
}

void wf__ptx_emit_private(gen *g)
{
    const wf__ptx_options *how = g->options;
    val x = wf__ptx_special(g, "%ntid.x"), number = wf__ptx_new_index(g), count = wf__ptx_new_index(g);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", number, wf__ptx_index_type(g), wf__ptx_special(g, "%tid.y"), x,
         wf__ptx_special(g, "%tid.x"));
    EMIT(g, "mul.lo.$1 $0, $2, $3", count, wf__ptx_index_type(g), wf__ptx_special(g, "%ntid.y"), x);
    g->thread[WF_MAX_RANK][0] = number;
    g->thread[WF_MAX_RANK][1] = count;
    for (uint32_t i = 0; i < how->copies_n; ++i)
        fill_copy(g, &how->copies[i]);
    EMIT(g, "bar.sync $0", v_int(0));
    val first = wf__ptx_special(g, "%ctaid.x"), all = wf__ptx_special(g, "%nctaid.x");
    wf__ptx_loop blocks = wf__ptx_begin_loop(g, first, wf__ptx_index_field(g, WF__PTX_BLOCKS, 0));
    wf__ptx_emit_points(g, blocks.i, blocks.next);
    wf__ptx_forget(g, 0);
    wf__ptx_end_loop(g, &blocks, all);
    EMIT(g, "bar.sync $0", v_int(0));
    for (uint32_t i = 0; i < how->copies_n; ++i)
        join_copy(g, &how->copies[i]);
}
