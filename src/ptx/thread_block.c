/* thread_block.c - kernels in which a thread block does one block of points (plan/space/thread_block.c): the section
 * before the points, the points, the section after them, with barriers between. The sections see the indices of the
 * block's first point. Every thread that is left reaches every barrier, because threads without a point leave at the
 * start.
 */
#include "ir/pass/pass.h"
#include "ptx/gen.h"

/* The first barrier before that section from node r on; ir->n = none. */
static wf__ref find_barrier(const wf__ir *ir, wf__ref r, unsigned section)
{
    while (r < ir->n && (ir->node[r].op != WF__BARRIER || ir->node[r].aux != section))
        ++r;
    return r;
}

static bool has_node(const wf__ir *ir, wf__ref from, wf__ref to, bool threads)
{
    for (wf__ref r = from; r < to; ++r)
        if (threads ? ir->node[r].op == WF__THREAD : wf__is_needed(ir, &ir->node[r]))
            return true;
    return false;
}

static void emit_barrier(gen *g) { EMIT(g, "bar.sync $0", v_int(0)); }

/* Finds the bounds of this thread block's points, the number of its threads with work, and the number of this one. */
static void find_thread(gen *g, wf__ptx_span *s, val exit)
{
    const wf__thread_block *thread_block = &g->options->thread_block;
    int rank = g->ir->rank;
    val rest = wf__ptx_block_number(g), type = wf__ptx_index_type(g), size[WF_MAX_RANK], n = v_int(1);
    wf__ptx_find_box(g, &rest, 0, rank, s);
    for (int d = 0; d < rank; ++d) {
        val times = wf__ptx_new_index(g);
        size[d] = wf__ptx_new_index(g);
        EMIT(g, "sub.$1 $0, $2, $3", size[d], type, s->hi[d], s->lo[d]);
        EMIT(g, "mul.lo.$1 $0, $2, $3", times, type, size[d], n);
        n = times;
    }
    val tid = wf__ptx_special(g, "%tid.x"), count = wf__ptx_new_index(g);
    EMIT(g, "min.$1 $0, $2, $3", count, type, n, wf__ptx_special(g, "%ntid.x"));
    wf__ptx_leave_if(g, tid, count, exit);
    g->thread[WF_MAX_RANK][0] = tid;
    g->thread[WF_MAX_RANK][1] = count;
    val left = tid;
    for (int d = rank - 1; d >= 0; --d)
        if (thread_block->single) {
            g->thread[d][0] = d ? wf__ptx_take_digit(g, &left, size[d]) : left;
            g->thread[d][1] = size[d];
        } else {
            g->thread[d][0] = d == thread_block->axis ? tid : v_int(0);
            g->thread[d][1] = d == thread_block->axis ? count : v_int(1);
        }
}

static void zero_shared(gen *g)
{
    enum { STEP = 8 };
    val zeros = wf__ptx_reg(g, V_D), at = wf__ptx_reg(g, V_D);
    EMIT(g, "mov.b64 $0, $1", zeros, v_int(0));
    wf__ptx_loop t =
        wf__ptx_begin_loop(g, g->thread[WF_MAX_RANK][0], v_int(g->options->thread_block.own.zeroed / STEP));
    EMIT(g, g->options->narrow ? "mad.wide.u32 $0, $1, $2, $3" : "mad.lo.u64 $0, $1, $2, $3", at, t.i, v_int(STEP),
         wf__ptx_shared(g));
    EMIT(g, "st.shared.b64 [$0], $1", at, zeros);
    wf__ptx_end_loop(g, &t, g->thread[WF_MAX_RANK][1]);
}

/* A section that runs once per block of points: in one thread, unless it uses the numbers of threads. */
static void emit_once(gen *g, const wf__ptx_span *s, wf__ref from, wf__ref to)
{
    bool together = has_node(g->ir, from, to, true);
    val over = wf__ptx_new_label(g), other = wf__ptx_reg(g, V_P), type = wf__ptx_index_type(g);
    for (int d = 0; d < g->ir->rank; ++d)
        EMIT(g, "add.$1 $0, $2, 0", g->index[d], type, s->lo[d]);
    if (!together) {
        EMIT(g, "setp.ne.$1 $0, $2, 0", other, type, g->thread[WF_MAX_RANK][0]);
        EMIT(g, "@$0 bra $1", other, over);
    }
    wf__ptx_walk(g, from, to);
    wf__ptx_place_label(g, over);
    wf__ptx_forget(g, 0);
}

/* Sets the indices of point i of the block. */
static void set_indices(gen *g, const wf__ptx_span *s, val i)
{
    val type = wf__ptx_index_type(g);
    for (int d = g->ir->rank - 1; d >= 0; --d) {
        val digit = i, size = wf__ptx_new_index(g);
        if (d) {
            EMIT(g, "sub.$1 $0, $2, $3", size, type, s->hi[d], s->lo[d]);
            digit = wf__ptx_take_digit(g, &i, size);
        }
        EMIT(g, "add.$1 $0, $2, $3", g->index[d], type, s->lo[d], digit);
    }
}

static void emit_points(gen *g, const wf__ptx_span *s, wf__ref from, wf__ref to)
{
    val type = wf__ptx_index_type(g), n = v_int(1);
    if (g->options->thread_block.single) {
        for (int d = 0; d < g->ir->rank; ++d)
            EMIT(g, "add.$1 $0, $2, $3", g->index[d], type, s->lo[d], g->thread[d][0]);
        wf__ptx_walk(g, from, to);
    } else {
        for (int d = 0; d < g->ir->rank; ++d) {
            val size = wf__ptx_new_index(g), times = wf__ptx_new_index(g);
            EMIT(g, "sub.$1 $0, $2, $3", size, type, s->hi[d], s->lo[d]);
            EMIT(g, "mul.lo.$1 $0, $2, $3", times, type, size, n);
            n = times;
        }
        wf__ptx_loop t = wf__ptx_begin_loop(g, g->thread[WF_MAX_RANK][0], n);
        set_indices(g, s, t.i);
        wf__ptx_walk(g, from, to);
        wf__ptx_end_loop(g, &t, g->thread[WF_MAX_RANK][1]);
    }
    wf__ptx_forget(g, 0);
}

void wf__ptx_emit_thread_block(gen *g, val exit)
{
    const wf__ir *ir = g->ir;
    wf__ref before = find_barrier(ir, 1, 1), after = find_barrier(ir, before, 2);
    bool opens = has_node(ir, 1, before, false), closes = has_node(ir, after + 1, ir->n, false);
    wf__ptx_span s;
    find_thread(g, &s, exit);
    for (int d = 0; d < ir->rank; ++d)
        g->index[d] = wf__ptx_new_index(g);
    if (g->options->thread_block.own.zeroed)
        zero_shared(g);
    if (g->options->thread_block.own.zeroed && opens)
        emit_barrier(g);
    if (opens)
        emit_once(g, &s, 1, before);
    else
        wf__ptx_walk(g, 1, before); /* index nodes that the points use */
    if (opens || g->options->thread_block.own.zeroed)
        emit_barrier(g);
    emit_points(g, &s, before + 1, after);
    if (closes) {
        emit_barrier(g);
        emit_once(g, &s, after + 1, ir->n);
    }
}
