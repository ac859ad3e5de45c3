/* thread_ids.c - ids of threads and blocks, and their numbers. On the CPU a block has one thread with one point at a
 * time, even in vector code: the id of a thread is 0 and the size of a block 1, as C numbers, so code for other
 * threads folds away. On a GPU both are nodes (plan/space/thread_block.c). Ids of blocks and sizes of the grid are
 * nodes on every device. */
#include "record/record.h"

static bool inside(wf_graph *g, int axis, const char *function)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return false;
    int rank = g->program.rec.space.rank;
    if (g->program.rec.options.kind != WF__SPACE)
        wf__poison(g, WF_ERR_ARG, "%s: only in a recording with an index space; say wf_begin(ctx, .shape = ...)",
                   function);
    else if (axis < -1 || axis >= rank)
        wf__poison(g, WF_ERR_ARG, "%s: axis %d is out of range for rank %d; -1 is the linear one", function, axis,
                   rank);
    return wf__graph_ir(g)->status == WF_OK;
}

/* Returns the id of the thread, or the block size if `count`. Threads exist in sections that run for points or once
 * a block; other sections see id 0 and size 1. */
static wf_val thread(wf_graph *g, int axis, bool count, const char *function)
{
    if (!inside(g, axis, function))
        return (wf_val){ { 0, NULL } };
    if (g->section == WF_SECTION_POST || g->section == WF_SECTION_JOIN || !wf__decides_gpu(g))
        return (wf_val){ { count, NULL } };
    return wf__value(g, wf__thread_of(wf__graph_ir(g), axis < 0 ? WF_MAX_RANK : axis, count));
}

bool wf__decides_gpu(wf_graph *g)
{
    g->program.placed = true;
    return wf__is_gpu(g->program.device);
}

bool wf_is_gpu(wf_graph *g) { return g && wf__decides_gpu(g); }
wf_val wf_thread_id(wf_graph *g, int axis) { return thread(g, axis, false, "wf_thread_id"); }
wf_val wf_block_size(wf_graph *g, int axis) { return thread(g, axis, true, "wf_block_size"); }

/* ---- blocks ---- */
/* True if the grid of blocks extends along the axis. */
static bool has_blocks(const wf_graph *g, int axis)
{
    return g->program.rec.block.rank || (g->reducing && !(g->program.rec.options.reduce >> axis & 1));
}

static wf__ref i64(wf__ir *ir, int64_t x) { return wf__const_bits(ir, WF_I64, (uint64_t)x); }

static wf__ref grid_along(wf_graph *g, int axis)
{
    wf__ir *ir = wf__graph_ir(g);
    if (!has_blocks(g, axis))
        return i64(ir, 1);
    wf__ref n = wf__extent(ir, axis);
    int64_t block = g->program.rec.block.rank ? g->program.rec.block.dim[axis] : 1;
    if (block == 1)
        return n;
    wf__ref whole = wf__op2(ir, WF__OP_idiv, n, i64(ir, block));
    wf__ref rest = wf__op2(ir, WF__OP_sub, n, wf__op2(ir, WF__OP_mul, whole, i64(ir, block)));
    return wf__op2(ir, WF__OP_add, whole, wf__op2(ir, WF__OP_min, rest, i64(ir, 1)));
}

/* Returns the index of the block along an axis. In sections that run once a block, the grid of blocks is the space. */
static wf__ref block_along(wf_graph *g, int axis)
{
    wf__ir *ir = wf__graph_ir(g);
    if (!has_blocks(g, axis))
        return i64(ir, 0);
    wf__ref at = wf__index(ir, axis);
    int64_t block = g->program.rec.block.rank && g->section == WF_SECTION_CALL ? g->program.rec.block.dim[axis] : 1;
    return block == 1 ? at : wf__op2(ir, WF__OP_idiv, at, i64(ir, block));
}

wf__ref wf__block_index(wf_graph *g, int axis)
{
    wf__ir *ir = wf__graph_ir(g);
    if (axis >= 0)
        return block_along(g, axis);
    wf__ref at = i64(ir, 0);
    for (int d = 0; d < g->program.rec.space.rank; ++d)
        if (has_blocks(g, d)) {
            at = wf__op2(ir, WF__OP_mul, at, grid_along(g, d));
            at = wf__op2(ir, WF__OP_add, at, block_along(g, d));
        }
    return at;
}

static bool about_blocks(wf_graph *g, int axis, const char *function)
{
    if (!inside(g, axis, function))
        return false;
    if (g->section == WF_SECTION_JOIN)
        wf__poison(g, WF_ERR_CONTRACT, "%s: not in section WF_SECTION_JOIN", function);
    return g->section != WF_SECTION_JOIN;
}

wf_val wf_block_id(wf_graph *g, int axis)
{
    return about_blocks(g, axis, "wf_block_id") ? wf__value(g, wf__block_index(g, axis)) : wf__no_value(g);
}

wf_val wf_grid_size(wf_graph *g, int axis)
{
    if (!about_blocks(g, axis, "wf_grid_size"))
        return wf__no_value(g);
    if (axis >= 0)
        return wf__value(g, grid_along(g, axis));
    wf__ref n = i64(wf__graph_ir(g), 1);
    for (int d = 0; d < g->program.rec.space.rank; ++d)
        n = wf__op2(wf__graph_ir(g), WF__OP_mul, n, grid_along(g, d));
    return wf__value(g, n);
}

void wf_barrier(wf_graph *g)
{
    if (!inside(g, -1, "wf_barrier"))
        return;
    if (wf__lanes_on(g))
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_barrier: inside a condition or loop, which not all threads of a block may reach");
    else if (g->section != WF_SECTION_POST && g->section != WF_SECTION_JOIN && wf__decides_gpu(g))
        wf__barrier(wf__graph_ir(g), 0);
}
