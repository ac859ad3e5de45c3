/* reduce.c - kernels of reductions: a warp or a thread accumulates its points in the order of kernel.h, joins the
 * lanes, and stores the results. ptx.h says how points go to threads.
 */
#include "ptx/gen.h"

static void begin_accumulators(gen *g)
{
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        const wf__reduction *red = &g->ir->red[k];
        g->acc[k] = wf__ptx_new(g, red->dtype);
        EMIT(g, "mov.$1 $0, $2", g->acc[k], wf__ptx_bits(red->dtype), wf__ptx_const(g, red->dtype, wf__red_start(red)));
    }
}

/* Loops over the reduced axes up to end - 1, and then, if a warp does the points, along the lane axis. */
typedef struct nest {
    gen *g;
    const wf__ptx_span *s;
    int end;
    val lane;      /* number of the thread's lane; V_NONE = the lane axis is kept */
    int many, few; /* points that an iteration unrolls: within a row, and at the end of it */
} nest;

/* Unrolled points have their loads in flight together: only the accumulation waits for the point before. */
static void choose_turns(nest *n)
{
    const wf__ir *ir = n->g->ir;
    bool plain = !(ir->flags & WF_FLAG_DEBUG);
    for (wf__ref r = 1; r < ir->n; ++r) {
        unsigned op = ir->node[r].op;
        plain = plain && op != WF__LOOP && op != WF__COLD && (op == WF__SETRED || !wf__op_is_effect(op));
    }
    n->many = !plain || ir->n > WF__GPU_MEDIUM_BODY ? 1
              : ir->n > WF__GPU_LIGHT_BODY          ? 4
              : ir->n > WF__GPU_TINY_BODY           ? 8
                                                    : 16;
    n->few = !plain || ir->n > WF__GPU_LIGHT_BODY ? 1 : 4;
}

/* Emits points at, at + step, ... If masked, points beyond the end repeat the last one and leave accumulators alone. */
static void emit_points(const nest *n, int axis, val at, int step, int count, bool masked)
{
    gen *g = n->g;
    val type = wf__ptx_index_type(g), none = { 0 };
    for (int i = 0; i < count; ++i) {
        val here = i ? wf__ptx_new_index(g) : at;
        if (i)
            EMIT(g, "add.$1 $0, $2, $3", here, type, at, v_int(i * step));
        g->index[axis] = here;
        if (masked) {
            val last = wf__ptx_new_index(g);
            g->mask = wf__ptx_reg(g, V_P);
            EMIT(g, "setp.lt.$1 $0, $2, $3", g->mask, type, here, n->s->hi[axis]);
            EMIT(g, "sub.$1 $0, $2, 1", last, type, n->s->hi[axis]);
            EMIT(g, "min.$1 $0, $0, $2", last, type, here);
            g->index[axis] = last;
        }
        wf__ptx_walk(g, 1, g->ir->n);
        wf__ptx_forget(g, 0);
        g->mask = none;
    }
}

/* A loop along an axis, from `row` on, of iterations of `count` points. `row` is the same in all threads of a warp.
 * `rest`: up to the end of the row; else only as long as whole iterations fit. */
static void loop_points(const nest *n, int axis, val row, int count, bool rest)
{
    gen *g = n->g;
    bool lanes = n->lane.kind != V_NONE, alone = rest && count == 1;
    int step = lanes ? WF__LANES : 1;
    val type = wf__ptx_index_type(g), p = wf__ptx_reg(g, V_P), hi = n->s->hi[axis], far = wf__ptx_new_index(g),
        at = row;
    val again = wf__ptx_new_label(g), done = wf__ptx_new_label(g), over = wf__ptx_new_label(g);
    wf__ptx_place_label(g, again);
    if (rest)
        EMIT(g, "setp.ge.$1 $0, $2, $3", p, type, row, hi);
    else {
        EMIT(g, "add.$1 $0, $2, $3", far, type, row, v_int(count * step));
        EMIT(g, "setp.gt.$1 $0, $2, $3", p, type, far, hi);
    }
    EMIT(g, "@$0 bra $1", p, done);
    if (lanes) {
        at = wf__ptx_new_index(g);
        EMIT(g, "add.$1 $0, $2, $3", at, type, row, n->lane);
    }
    if (lanes && alone) {
        EMIT(g, "setp.ge.$1 $0, $2, $3", p, type, at, hi);
        EMIT(g, "@$0 bra $1", p, over);
    }
    emit_points(n, axis, at, step, count, rest && !alone);
    wf__ptx_place_label(g, over);
    EMIT(g, "add.$1 $0, $0, $2", row, type, v_int(count * step));
    EMIT(g, "bra $0", again);
    wf__ptx_place_label(g, done);
}

static void loop_rows(const nest *n, int d)
{
    gen *g = n->g;
    bool lanes = n->lane.kind != V_NONE;
    if (d == n->end && !lanes) {
        wf__ptx_walk(g, 1, g->ir->n);
        wf__ptx_forget(g, 0);
        return;
    }
    val row = wf__ptx_new_index(g), again = wf__ptx_new_label(g), done = wf__ptx_new_label(g), p = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.$1 $0, $2", row, wf__ptx_bits(wf__ptx_index_dtype(g)), n->s->lo[d]);
    if (d + !lanes == n->end) {
        if (n->many > 1)
            loop_points(n, d, row, n->many, false);
        loop_points(n, d, row, n->few, true);
        return;
    }
    g->index[d] = row;
    wf__ptx_place_label(g, again);
    EMIT(g, "setp.ge.$1 $0, $2, $3", p, wf__ptx_index_type(g), row, n->s->hi[d]);
    EMIT(g, "@$0 bra $1", p, done);
    loop_rows(n, d + 1);
    EMIT(g, "add.$1 $0, $0, 1", row, wf__ptx_index_type(g));
    EMIT(g, "bra $0", again);
    wf__ptx_place_label(g, done);
}

static void join_lanes(gen *g)
{
    uint32_t n = g->ir->red_n;
    val *other = wf__alloc(n * sizeof *other);
    if (!other) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    for (int s = WF__LANES / 2; s; s /= 2) {
        for (uint32_t k = 0; k < n; ++k)
            other[k] = wf__ptx_from_lane(g, g->ir->red[k].dtype, g->acc[k], "down", v_int(s), v_int(-1));
        wf__ptx_join_accumulators(g, other);
    }
    wf__free(other);
}

static void join_initial(gen *g)
{
    for (uint32_t k = 0; g->options->initial && k < g->ir->red_n; ++k)
        g->acc[k] = wf__ptx_with_initial(g, k, g->acc[k]);
}

/* Stores the results as number `cell`, in threads where `when` holds, which also do options->post. */
static void store_results(gen *g, val cell, val when)
{
    join_initial(g);
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        unsigned t = g->ir->red[k].dtype;
        val base = wf__ptx_field_value(g, WF__PTX_RESULT, k, 0, false), at = wf__ptx_reg(g, V_D), none = { 0 };
        EMIT(g, g->options->narrow ? "mad.wide.u32 $0, $1, $2, $3" : "mad.lo.u64 $0, $1, $2, $3", at, cell,
             v_int(wf__size(t)), base);
        wf__ptx_store_element(g, t, at, "global", when, g->acc[k], none);
    }
    if (g->options->post)
        wf__ptx_emit_post(g, when);
}

static val cell_number(gen *g, val part, val point)
{
    val cell = wf__ptx_new_index(g);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", cell, wf__ptx_index_type(g), part, wf__ptx_index_field(g, WF__PTX_KEPT, 0),
         point);
    return cell;
}

/* ---- short rows ---- */
static int steps_per_row(const gen *g) { return (g->options->short_rows + WF__LANES - 1) / WF__LANES; }

static int choose_rows(gen *g)
{
    nest n = { .g = g };
    choose_turns(&n);
    return g->options->short_rows && n.few > 1 ? WF__GPU_STEPS_OF_ROWS / steps_per_row(g) : 1;
}

/* A warp does several kept points without branches, so that the loads of all of them are in flight together. */
static void reduce_short_rows(gen *g, val first, val lane)
{
    const wf__ir *ir = g->ir;
    int last = ir->rank - 1;
    uint32_t n = ir->red_n;
    val type = wf__ptx_index_type(g), items = wf__ptx_index_field(g, WF__PTX_WARPS, 0), most = wf__ptx_new_index(g);
    val *all = g->acc, *acc = wf__alloc((size_t)g->code->rows * n * sizeof *acc), cell[8];
    wf__ptx_span s = { 0 };
    if (!acc) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    s.hi[last] = wf__ptx_index_field(g, WF__PTX_EXTENT, last);
    nest loops = { .g = g, .s = &s, .end = last, .lane = lane };
    EMIT(g, "sub.$1 $0, $2, 1", most, type, items);
    for (int r = 0; r < g->code->rows; ++r) {
        val point = wf__ptx_new_index(g);
        cell[r] = wf__ptx_new_index(g);
        EMIT(g, "add.$1 $0, $2, $3", cell[r], type, first, v_int(r));
        EMIT(g, "min.$1 $0, $2, $3", point, type, cell[r], most);
        wf__ptx_outer_indices(g, point, 0, ir->kept);
        g->acc = acc + (size_t)r * n;
        begin_accumulators(g);
        emit_points(&loops, last, lane, WF__LANES, steps_per_row(g), true);
    }
    for (int r = 0; r < g->code->rows; ++r) {
        val leads = wf__ptx_reg(g, V_P);
        g->acc = acc + (size_t)r * n;
        join_lanes(g);
        EMIT(g, "setp.eq.$1 $0, $2, 0", leads, type, lane);
        EMIT(g, "setp.lt.and.$1 $0, $2, $3, $0", leads, type, cell[r], items);
        store_results(g, cell[r], leads);
    }
    g->acc = all;
    wf__free(acc);
}

/* The lane axis is reduced: a warp per box, or per kept point and part. */
void wf__ptx_reduce_by_warps(gen *g, val exit)
{
    const wf__ir *ir = g->ir;
    int last = ir->rank - 1;
    wf__ptx_span s;
    g->code->rows = choose_rows(g);
    val tid = wf__ptx_special(g, "%tid.x"), warp = wf__ptx_new_index(g), lane = wf__ptx_new_index(g),
        half = wf__ptx_new_index(g);
    val leads = wf__ptx_reg(g, V_P), in_block = wf__ptx_special(g, "%ntid.x");
    EMIT(g, "shr.$1 $0, $2, 5", half, wf__ptx_index_type(g), in_block);
    EMIT(g, "shr.$1 $0, $2, 5", warp, wf__ptx_index_type(g), tid);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $0", warp, wf__ptx_index_type(g), wf__ptx_block_number(g), half);
    EMIT(g, "mul.lo.$1 $0, $0, $2", warp, wf__ptx_index_type(g), v_int(g->code->rows));
    wf__ptx_leave_if(g, warp, wf__ptx_index_field(g, WF__PTX_WARPS, 0), exit);
    EMIT(g, "and.$1 $0, $2, 31", lane, wf__ptx_bits(wf__ptx_index_dtype(g)), tid);
    if (g->code->rows > 1) {
        reduce_short_rows(g, warp, lane);
        return;
    }
    val point = warp, part = wf__ptx_find_box(g, &point, ir->kept, ir->rank, &s),
        cell = ir->kept ? cell_number(g, part, point) : warp;
    wf__ptx_outer_indices(g, point, 0, ir->kept);
    begin_accumulators(g);
    nest n = { .g = g, .s = &s, .end = last, .lane = lane };
    choose_turns(&n);
    loop_rows(&n, ir->kept);
    join_lanes(g);
    EMIT(g, "setp.eq.$1 $0, $2, 0", leads, wf__ptx_index_type(g), lane);
    store_results(g, cell, leads);
}

/* The lane axis is kept: a thread per kept point and part. */
void wf__ptx_reduce_by_threads(gen *g, val exit)
{
    const wf__ir *ir = g->ir;
    int last = ir->rank - 1;
    wf__ptx_span s;
    val tile, point = wf__ptx_row_and_tile(g, true, wf__ptx_block_number(g), exit, &tile);
    wf__ptx_find_lane(g, tile, exit);
    val part = wf__ptx_find_box(g, &point, ir->kept, last, &s), number = wf__ptx_new_index(g);
    val none = { 0 };
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", number, wf__ptx_index_type(g), point,
         wf__ptx_index_field(g, WF__PTX_EXTENT, last), g->index[last]);
    wf__ptx_outer_indices(g, point, 0, ir->kept);
    begin_accumulators(g);
    nest n = { .g = g, .s = &s, .end = last };
    choose_turns(&n);
    loop_rows(&n, ir->kept);
    store_results(g, cell_number(g, part, number), none);
}
