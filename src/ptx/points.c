/* points.c - kernels without reductions: the points of a thread. A thread has one point, or several neighbours
 * (columns) along the lane axis whose elements vector.c moves by one access per array.
 *
 * A thread with columns first loads them all, then computes them one by one, then stores them all. The launch says
 * whether arrays are aligned for wide accesses. If not, a thread's columns lie a thread block apart, so that the
 * threads of a warp still access neighbours, and each column has an access of its own. Threads at the end of a row,
 * with fewer points than columns, do them one after the other.
 */
#include "ptx/gen.h"

/* Emits all loads, or all stores: one access for all columns, or if `apart` one per column. `at`: the indices of the
 * columns along the last axis. */
static void move_columns(gen *g, unsigned op, const val *at, bool apart)
{
    const wf__ir *ir = g->ir;
    for (int column = 0; column < (apart ? g->width : 1); ++column) {
        g->index[ir->rank - 1] = at[column];
        for (wf__ref r = 1; r < ir->n; ++r)
            if (ir->node[r].op == WF__INDEX)
                wf__ptx_walk(g, r, r + 1);
            else if (ir->node[r].op == op && wf__ptx_is_wide(ir, &ir->node[r]))
                wf__ptx_move_columns(g, r, column, apart ? 1 : g->width);
        wf__ptx_forget(g, 0);
    }
}

/* g->index[last] is the first column. The others follow at distances of `step`; V_NONE = neighbours in aligned
 * memory. */
static void emit_together(gen *g, val step)
{
    bool apart = step.kind != V_NONE;
    int last = g->ir->rank - 1;
    val at[WF__PTX_MOST_COLUMNS] = { g->index[last] }, type = wf__ptx_index_type(g);
    g->wide = wf__alloc0(g->ir->n * WF__PTX_MOST_COLUMNS * sizeof *g->wide);
    if (!g->wide) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    for (int i = 1; i < g->width; ++i) {
        at[i] = wf__ptx_new_index(g);
        EMIT(g, "add.$1 $0, $2, $3", at[i], type, apart ? at[i - 1] : at[0], apart ? step : v_int(i));
    }
    move_columns(g, WF__LOAD, at, apart);
    for (g->column = 0; g->column < g->width; ++g->column) {
        g->index[last] = at[g->column];
        wf__ptx_walk(g, 1, g->ir->n);
        wf__ptx_forget(g, 0);
    }
    move_columns(g, WF__STORE, at, apart);
    g->index[last] = at[0];
    wf__free(g->wide);
    g->wide = NULL;
}

static void emit_one_by_one(gen *g, val step, val exit)
{
    int last = g->ir->rank - 1;
    val again = wf__ptx_new_label(g), type = wf__ptx_index_type(g), turn = wf__ptx_reg(g, V_R),
        more = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.b32 $0, $1", turn, v_int(g->width));
    wf__ptx_place_label(g, again);
    wf__ptx_walk(g, 1, g->ir->n);
    wf__ptx_forget(g, 0);
    EMIT(g, "add.$1 $0, $0, $2", g->index[last], type, step);
    wf__ptx_leave_if(g, g->index[last], wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    EMIT(g, "sub.u32 $0, $0, 1", turn);
    EMIT(g, "setp.ne.s32 $0, $1, 0", more, turn);
    EMIT(g, "@$0 bra $1", more, again);
}

static void emit_columns(gen *g, val tile, val exit)
{
    int last = g->ir->rank - 1;
    val type = wf__ptx_index_type(g), aligned = wf__ptx_reg(g, V_P), fits = wf__ptx_reg(g, V_P);
    val flag = wf__ptx_field_value(g, WF__PTX_ALIGNED, 0, 0, true), single = wf__ptx_new_label(g),
        ends = wf__ptx_new_label(g);
    val threads = wf__ptx_special(g, "%ntid.x"), tid = wf__ptx_special(g, "%tid.x"), first = wf__ptx_new_index(g);
    val step = wf__ptx_new_index(g), far = wf__ptx_new_index(g), at = wf__ptx_new_index(g);
    EMIT(g, "setp.ne.s32 $0, $1, 0", aligned, flag);
    EMIT(g, "mul.lo.$1 $0, $2, $3", first, type, tile, threads);
    EMIT(g, "mul.lo.$1 $0, $0, $2", first, type, v_int(g->width));
    EMIT(g, "mul.lo.$1 $0, $2, $3", at, type, tid, v_int(g->width));
    EMIT(g, "selp.$1 $0, $2, $3, $4", at, type, at, tid, aligned);
    EMIT(g, "selp.$1 $0, 1, $2, $3", step, type, threads, aligned);
    EMIT(g, "add.$1 $0, $0, $2", first, type, at);
    wf__ptx_leave_if(g, first, wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    g->index[last] = first;
    EMIT(g, "add.$1 $0, $2, $3", far, type, first, v_int(g->width));
    EMIT(g, "setp.le.$1 $0, $2, $3", fits, type, far, wf__ptx_index_field(g, WF__PTX_EXTENT, last));
    EMIT(g, "and.pred $0, $0, $1", fits, aligned);
    EMIT(g, "@!$0 bra $1", fits, single);
    emit_together(g, (val){ 0 });
    EMIT(g, "bra $0", exit);
    wf__ptx_place_label(g, single);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", far, type, step, v_int(g->width - 1), first);
    EMIT(g, "setp.lt.$1 $0, $2, $3", fits, type, far, wf__ptx_index_field(g, WF__PTX_EXTENT, last));
    EMIT(g, "@!$0 bra $1", fits, ends);
    emit_together(g, step);
    EMIT(g, "bra $0", exit);
    wf__ptx_place_label(g, ends);
    emit_one_by_one(g, step, exit);
}

void wf__ptx_emit_points(gen *g, val block, val exit)
{
    int rank = g->ir->rank;
    val tile, row = wf__ptx_row_and_tile(g, rank > 1, block, exit, &tile);
    if (g->width == 1)
        wf__ptx_find_lane(g, tile, exit);
    wf__ptx_outer_indices(g, row, 0, rank - 1);
    if (g->width > 1)
        emit_columns(g, tile, exit);
    else
        wf__ptx_walk(g, 1, g->ir->n);
}
