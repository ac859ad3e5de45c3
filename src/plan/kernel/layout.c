/* layout.c - turns a stage into loops. Orders the axes of its space by the strides of what it touches, drops axes of extent
 * 1, walks reversed axes from their other end, and merges axes that are contiguous in memory. Gives every element access
 * its address: one index for each loop axis.
 */
#include "ir/pass/pass.h"
#include "plan/passes.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct access { /* an array's strides along the axes of the space */
    bool element, store;
    int64_t stride[WF_MAX_RANK];
} access;

typedef struct layout {
    wf__plan *plan;
    wf__stage *stage;
    const wf_shape *space;
    const wf__bind *bind;
    access *at;
    uint32_t access_n;
    bool index_used[WF_MAX_RANK];
    int order[WF_MAX_RANK]; /* kept axes, outermost first */
    int kept;
    bool by_shape;                          /* the order of points depends on extents alone */
    bool ranks;                             /* ranks run the stage together */
    int loop_of[WF_MAX_RANK];               /* axis -> loop axis, -1: dropped */
    int64_t (*element_stride)[WF_MAX_RANK]; /* [slot][space axis], element slots */
    int64_t *offset;                        /* [slot] of the first point, element slots */
} layout;

bool wf__orders_by_shape(const wf__ir *ir)
{
    if (!(ir->flags & WF_FLAG_ORDER_BY_SHAPE))
        return false;
    for (uint32_t k = 0; k < ir->red_n; ++k)
        if (ir->red[k].join == WF_JOIN_CUSTOM || !wf__any_order(ir->red[k].dtype, ir->red[k].join))
            return true;
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__ACCUM && !wf__any_order(ir->node[r].dtype, wf__node_join(&ir->node[r])))
            return true;
    return false;
}

static bool misfit(layout *l, const wf__slot *slot, const char *how)
{
    const wf__bind *b = &l->bind[slot->object];
    char want[160], called[WF__CALLED];
    wf_shape_text(l->space, want, sizeof want);
    return wf__plan_fail_element(l->plan, slot->object, slot->written, WF_ERR_SHAPE, "%s: %s %s the space %s%s",
                                 slot->written ? "wf_out" : "wf_in", wf__bind_called(b, called), how, want,
                                 slot->written ? " it is written over" : "");
}

static bool written_repeated(layout *l, uint32_t object, int axis)
{
    char called[WF__CALLED];
    return wf__plan_fail_element(l->plan, object, true, WF_ERR_ARG,
                                 "wf_out: %s is written, but its axis %d repeats one element (stride 0)",
                                 wf__bind_called(&l->bind[object], called), axis);
}

int wf__aligned_axes(const wf__stage *stage, int rank, int axes[WF_MAX_RANK])
{
    bool drops = rank < stage->space.rank; /* an array of a smaller rank may lack the reduced axes */
    int axis = rank;
    for (int d = stage->space.rank - 1; d >= 0; --d)
        axes[d] = drops && stage->dropped >> d & 1 ? -1 : axis > 0 ? --axis : -1;
    return axis;
}

/* Sets the strides of an array along the axes of the space, by NumPy's rule: aligned on the right, extent 1 repeats. */
static bool broadcast_strides(layout *l, uint32_t slot, int64_t *out)
{
    const wf__slot *s = &l->stage->recorded.slot[slot];
    const wf__bind *b = &l->bind[s->object];
    bool nothing = false; /* there are no elements */
    for (int k = 0; k < b->rank; ++k)
        nothing = nothing || b->dim[k] == 0;
    int axes[WF_MAX_RANK], axis = wf__aligned_axes(l->stage, b->rank, axes);
    for (int k = 0; k < axis; ++k)
        if (b->dim[k] != 1)
            return misfit(l, s, "has more axes than");
    for (int d = 0; d < l->space->rank; ++d) {
        int64_t n = axes[d] < 0 ? 1 : b->dim[axes[d]], stride = axes[d] < 0 ? 0 : b->stride[axes[d]];
        if (n != l->space->dim[d] && (n != 1 || s->written))
            return misfit(l, s, "does not fit");
        out[d] = n == 1 ? 0 : stride;
        if (s->written && n > 1 && stride == 0 && !nothing)
            return written_repeated(l, s->object, axes[d]);
    }
    return true;
}

/* Sets the strides of a slot with a view. */
static void view_strides(layout *l, const wf__slot_view *v)
{
    const wf__bind *b = &l->bind[l->stage->recorded.slot[v->slot].object];
    int64_t *out = l->element_stride[v->slot];
    memset(out, 0, sizeof *l->element_stride);
    for (int k = 0; k < b->rank; ++k) {
        l->offset[v->slot] += v->start[k] * b->stride[k];
        for (int d = 0; d < l->space->rank; ++d)
            out[d] += v->step[k][d] * b->stride[k];
    }
}

/* Marks indices that are used as values. Indices that addressed slots with views are dead here. */
static bool find_indices(layout *l)
{
    const wf__ir *ir = &l->stage->recorded;
    uint8_t *live = l->stage->view_n ? wf__alloc0(ir->n) : NULL;
    if (l->stage->view_n && !live)
        return wf__plan_no_memory(l->plan);
    if (live) {
        wf__mark_effects(ir, live);
        wf__mark_live(ir, live);
    }
    for (wf__ref r = 1; r < ir->n; ++r)
        if ((ir->node[r].op == WF__INDEX || ir->node[r].op == WF__EXTENT) && (!live || live[r]))
            l->index_used[ir->node[r].a] = true;
    wf__free(live);
    return true;
}

static bool collect(layout *l)
{
    const wf__ir *ir = &l->stage->recorded;
    uint32_t accesses = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        accesses += wf__op_is_access(ir->node[r].op);
    l->at = wf__alloc0((accesses + 1) * sizeof *l->at);
    l->element_stride = wf__alloc0((ir->slot_n + 1) * sizeof *l->element_stride);
    l->offset = wf__alloc0((ir->slot_n + 1) * sizeof *l->offset);
    if (!l->at || !l->element_stride || !l->offset)
        return wf__plan_no_memory(l->plan);
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        const wf__slot_view *v = wf__view_of(l->stage->view, l->stage->view_n, s);
        if (v)
            view_strides(l, v);
        else if (ir->slot[s].element && !broadcast_strides(l, s, l->element_stride[s]))
            return false;
    }
    if (!find_indices(l))
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (!wf__op_is_access(n->op))
            continue;
        access *a = &l->at[l->access_n++];
        a->store = n->op == WF__STORE;
        a->element = !n->b && l->stage->recorded.slot[n->a].element;
        if (a->element)
            memcpy(a->stride, l->element_stride[n->a], sizeof a->stride);
        for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
            int axis;
            int64_t offset;
            if (wf__as_offset(ir, wf__tuple_at(ir, n->b)[k], &axis, &offset) && axis >= 0)
                a->stride[axis] += l->bind[ir->slot[n->a].object].stride[k];
        }
    }
    return true;
}

/* True if loops are the recorded axes: in debug mode, which names points, and where boxes are blocks. */
static bool as_recorded(const layout *l)
{
    return l->stage->thread_block.threads || l->stage->partition.one_box_per_block ||
           l->stage->recorded.flags & WF_FLAG_DEBUG || (l->stage->gather && l->stage->gather->in_order);
}

/* True if memory must not decide on the order of points. */
static bool keeps_order(const layout *l) { return l->by_shape || as_recorded(l); }

/* An axis along which memory only ever steps back is walked from its other end: reversed views run as fast as
 * others. Not where the index is a value, nor in reductions, whose order depends on the shape alone, nor where ranks
 * divide the points. */
static void flip_axes(layout *l)
{
    const wf__ir *ir = &l->stage->recorded;
    for (int d = 0; d < l->space->rank && !ir->red_n && !keeps_order(l) && !l->ranks; ++d) {
        bool back = false, forth = l->index_used[d] || l->space->dim[d] < 2;
        for (uint32_t s = 0; s < ir->slot_n; ++s) {
            back = back || l->element_stride[s][d] < 0;
            forth = forth || l->element_stride[s][d] > 0;
        }
        if (back && !forth)
            wf__plan_because(l->plan, "layout",
                             "stage %u walks axis %d backwards, because strides along it are negative",
                             wf__stage_number(l->plan, l->stage), d);
        for (uint32_t s = 0; s < ir->slot_n && back && !forth; ++s) {
            l->offset[s] += (l->space->dim[d] - 1) * l->element_stride[s][d];
            l->element_stride[s][d] = -l->element_stride[s][d];
        }
        for (uint32_t i = 0; i < l->access_n && back && !forth; ++i)
            l->at[i].stride[d] = -l->at[i].stride[d];
    }
}

/* True if axis p should run inside of axis q. The first access with different strides along the two decides, stores
 * before loads. */
static bool inner(const layout *l, int p, int q)
{
    for (int pass = 0; pass < 2; ++pass)
        for (uint32_t i = 0; i < l->access_n; ++i) {
            const access *a = &l->at[i];
            int64_t x = a->stride[p] < 0 ? -a->stride[p] : a->stride[p],
                    y = a->stride[q] < 0 ? -a->stride[q] : a->stride[q];
            if (a->store == (pass == 0) && x && y && x != y)
                return x < y;
        }
    return p > q;
}

static bool reduced(const layout *l, int axis) { return l->stage->reduce.axes >> axis & 1; }

static void order_axes(layout *l)
{
    for (int d = 0; d < l->space->rank; ++d) {
        l->loop_of[d] = -1;
        if (l->space->dim[d] == 1 && !as_recorded(l))
            continue;
        int at = l->kept++;
        while (at > 0 && !keeps_order(l) && inner(l, l->order[at - 1], d)) {
            l->order[at] = l->order[at - 1];
            --at;
        }
        l->order[at] = d;
    }
}

/* Orders the loops of a transposition. If neighbours in an array's memory lie along another axis than the innermost
 * one, this axis becomes the second innermost. */
static void order_crossing(layout *l)
{
    int lane = l->kept - 1, across = -1;
    for (uint32_t s = 0; s < l->stage->recorded.slot_n && lane > 0 && !as_recorded(l); ++s)
        for (int k = 0; k < lane && across < 0 && l->stage->recorded.slot[s].element; ++k)
            if (l->element_stride[s][l->order[k]] == 1 && l->space->dim[l->order[k]] > 1 &&
                llabs(l->element_stride[s][l->order[lane]]) > 1)
                across = k;
    if (across < 0)
        return;
    int axis = l->order[across];
    if (across != lane - 1)
        wf__plan_because(
            l->plan, "layout",
            "axis %d of stage %u becomes the second innermost loop, because an array is contiguous along it", axis,
            wf__stage_number(l->plan, l->stage));
    for (int k = across; k < lane - 1; ++k)
        l->order[k] = l->order[k + 1];
    l->order[lane - 1] = axis;
}

/* True if one step along axis p is the same as all steps along axis q, for every access, and each rank runs the points
 * of all indices along q. */
static bool mergeable(const layout *l, int p, int q)
{
    if (keeps_order(l) || l->index_used[p] || l->index_used[q] || reduced(l, p) != reduced(l, q) ||
        l->stage->division.axes >> q & 1)
        return false;
    for (uint32_t i = 0; i < l->access_n; ++i)
        if (l->at[i].stride[p] != l->at[i].stride[q] * l->space->dim[q])
            return false;
    return true;
}

/* Returns the first of the axes order[first .. last] that are contiguous in memory. */
static int run_start(const layout *l, int last, int64_t *points)
{
    int first = last;
    *points = l->space->dim[l->order[last]];
    while (first > 0 && mergeable(l, l->order[first - 1], l->order[first]))
        *points *= l->space->dim[l->order[--first]];
    return first;
}

/* Chooses the run of axes that lanes go along, if reductions keep some axes: the innermost run that fills vectors. A
 * run of reduced axes needs more points, because lanes are joined for each point of the kept axes. Returns the start
 * of the run, and sets its end. */
static int lane_run(const layout *l, int *end)
{
    int64_t most = -1;
    int first = 0;
    *end = l->kept - 1;
    for (int last = l->kept - 1; last >= 0;) {
        int64_t points;
        int start = run_start(l, last, &points);
        bool good = points >= (reduced(l, l->order[last]) ? WF__LANES_WORTH_JOINING : WF__LANES_THAT_FILL);
        if (good || points > most) {
            most = points;
            first = start;
            *end = last;
        }
        if (good)
            break;
        last = start - 1;
    }
    return first;
}

/* Moves the innermost axis that fills vectors, or the longest one, to the lanes. */
static void order_by_shape(layout *l)
{
    int end, start = lane_run(l, &end), axis = l->order[start];
    WF__ASSERT(start == end);
    for (int k = start; k < l->kept - 1; ++k)
        l->order[k] = l->order[k + 1];
    l->order[l->kept - 1] = axis;
}

/* Orders the axes of a reduction that keeps axes: kept axes outside, reduced axes inside, and innermost those that
 * lanes go along. */
static void order_reduction(layout *l)
{
    int end, start = l->kept ? lane_run(l, &end) : 0, n = 0, order[WF_MAX_RANK];
    for (int pass = 0; pass < 3 && l->kept; ++pass)
        for (int k = 0; k < l->kept; ++k) {
            bool lane = k >= start && k <= end;
            if (pass == (lane ? 2 : reduced(l, l->order[k])))
                order[n++] = l->order[k];
        }
    memcpy(l->order, order, (size_t)n * sizeof *order);
    if (l->kept)
        wf__plan_because(
            l->plan, "layout",
            "lanes of stage %u run along %s axis %d, because its run of axes is the innermost with enough points, "
            "or the longest",
            wf__stage_number(l->plan, l->stage), reduced(l, order[n - 1]) ? "the reduced" : "the kept", order[n - 1]);
    /* Results lie in memory in the order of the loops. */
    int64_t stride[WF_MAX_RANK] = { 0 }, points = 1;
    for (int k = l->kept - 1; k >= 0; --k)
        if (!reduced(l, l->order[k])) {
            stride[l->order[k]] = points;
            points *= l->space->dim[l->order[k]];
        }
    l->stage->reduce.kept = points;
    for (uint32_t k = 0; k < l->stage->recorded.red_n; ++k)
        memcpy(l->plan->temp[l->stage->reduce.result[k] - l->plan->objects].stride, stride, sizeof stride);
}

/* Returns the innermost run of reduced axes if it is short, and kept axes lie between it and others; else 0. In the
 * order of memory, accumulators would be joined too often. Any other order reads memory in pieces. So a stage of its
 * own reduces this run first. */
static wf_axes inner_axes(const layout *l)
{
    int64_t points = 1, run = 1;
    int end = 0, start = l->kept ? lane_run(l, &end) : 0;
    wf_axes inner = 0;
    bool parted = false, others = false;
    for (int k = 0; k < l->kept; ++k)
        points *= l->space->dim[l->order[k]];
    if (points < WF__MANY_REDUCED_POINTS || end != l->kept - 1 || !reduced(l, l->order[end]))
        return 0;
    for (int k = end; k >= 0; --k) {
        int axis = l->order[k];
        parted = parted || !reduced(l, axis);
        others = others || (parted && reduced(l, axis));
        if (k >= start) {
            inner |= 1u << axis;
            run *= l->space->dim[axis];
        }
    }
    return others && run < WF__SHORT_REDUCED_RUN ? inner : 0;
}

static void merge_axes(layout *l)
{
    int rank = 0;
    int64_t *extent = l->stage->extent;
    wf__division *division = &l->stage->division;
    for (int k = 0; k < l->kept; ++k) {
        int axis = l->order[k];
        if (rank > 0 && mergeable(l, l->order[k - 1], axis)) {
            wf__plan_because(
                l->plan, "layout",
                "axes %d and %d of stage %u become one loop, because every access is contiguous across them",
                l->order[k - 1], axis, wf__stage_number(l->plan, l->stage));
            extent[rank - 1] *= l->space->dim[axis];
            division->inner[rank - 1] *= l->space->dim[axis];
            /* The stride of a merged loop is that of its inner axis. */
            for (int d = 0; d < l->space->rank; ++d)
                if (l->loop_of[d] == rank - 1)
                    l->loop_of[d] = -1;
        } else {
            division->first[rank] = (int8_t)axis;
            division->inner[rank] = 1;
            extent[rank++] = l->space->dim[axis];
        }
        l->loop_of[axis] = rank - 1;
    }
    if (rank == 0) {
        division->first[0] = -1;
        extent[rank++] = 1;
    }
    for (int d = 0; d < WF_MAX_RANK; ++d)
        division->loop_of[d] = (int8_t)l->loop_of[d];
    l->kept = rank;
}

/* Sets the loop axes that reductions keep. */
static void note_kept(const layout *l, wf__ir *body)
{
    bool is_reduced[WF_MAX_RANK] = { false };
    for (int d = 0; d < l->space->rank; ++d)
        if (l->loop_of[d] >= 0)
            is_reduced[l->loop_of[d]] = reduced(l, d);
    int lane = l->kept - 1;
    while (body->kept < lane && !is_reduced[body->kept])
        ++body->kept;
    body->kept_lane = !is_reduced[lane];
}

/* ---- the body ---- */
static uint8_t step_of(int64_t stride)
{
    return stride == 0 ? WF__STEP_ZERO : stride == 1 ? WF__STEP_UNIT : stride == -1 ? WF__STEP_BACK : WF__STEP_ANY;
}

static void lay_memory(const layout *l, uint32_t s)
{
    const wf__slot *slot = &l->stage->recorded.slot[s];
    const wf__bind *b = &l->bind[slot->object];
    wf__mem_layout *mem = &l->stage->mem[s];
    mem->object = slot->object;
    mem->offset = l->offset[s];
    memcpy(mem->stride, b->stride, sizeof mem->stride);
    memcpy(mem->dim, b->dim, sizeof mem->dim);
    if (!slot->element)
        return;
    memset(mem->stride, 0, sizeof mem->stride);
    for (int d = 0; d < l->space->rank; ++d)
        if (l->loop_of[d] >= 0)
            mem->stride[l->loop_of[d]] = l->element_stride[s][d];
    memcpy(mem->dim, l->stage->extent, sizeof mem->dim);
}

static void lay_slots(layout *l, wf__ir *out)
{
    const wf__ir *in = &l->stage->recorded;
    for (uint32_t s = 0; s < in->slot_n; ++s) {
        wf__slot *slot = &out->slot[s];
        const wf__mem_layout *mem = &l->stage->mem[s];
        lay_memory(l, s);
        if (slot->element)
            slot->rank = (uint8_t)l->kept;
        for (int k = slot->scratch - 1; !slot->element && slot->scratch && k < slot->rank; ++k)
            slot->stride[k] = mem->stride[k] <= INT32_MAX ? (int32_t)mem->stride[k] : 0; /* independent of the space */
        for (int k = 0; k < slot->rank; ++k)
            slot->step[k] = step_of(mem->stride[k]);
        if (slot->element) /* unit steps matter along the lane axis, and where they cross it */
            for (int k = 0; k < slot->rank - 1; ++k) {
                bool crosses = k == slot->rank - 2 && slot->step[k] == WF__STEP_UNIT &&
                               slot->step[k + 1] == WF__STEP_ANY && !in->red_n && in->flags & WF_FLAG_PACKETS;
                if (slot->step[k] != WF__STEP_ZERO && !crosses)
                    slot->step[k] = WF__STEP_ANY;
            }
    }
}

/* Marks slots that may alias another slot, if one of the two is written. */
static void find_meetings(const layout *l, wf__ir *out)
{
    for (uint32_t s = 0; s < out->slot_n; ++s)
        for (uint32_t t = 0; t < s; ++t) {
            const wf__slot *a = &out->slot[s], *b = &out->slot[t];
            bool meet = wf__object_overlap(l->plan, l->bind, a->object, b->object) != WF__APART;
            if (meet && (a->written || b->written))
                out->slot[s].may_alias = out->slot[t].may_alias = true;
        }
}

/* Returns the index tuple of an access. The index along an axis of one element is 0, because any other is out of
 * range. Debug mode keeps all indices, to check them. */
static uint32_t lay_index(const layout *l, const wf__node *n, const wf__ref *map, wf__ir *out)
{
    const wf__ir *in = &l->stage->recorded;
    const int64_t *dim = l->bind[in->slot[n->a].object].dim;
    bool known = !(in->flags & WF_FLAG_DEBUG || (n->op == WF__LOAD && n->aux == WF_BORDER_VALUE));
    wf__ref index[WF_MAX_RANK];
    uint32_t rank = wf__tuple_len(in, n->b);
    for (uint32_t k = 0; k < rank; ++k)
        index[k] = known && dim[k] == 1 ? wf__const_bits(out, WF_I64, 0) : map[wf__tuple_at(in, n->b)[k]];
    return wf__tuple(out, index, rank);
}

typedef struct laying {
    const layout *l;
    uint32_t everywhere; /* the index of an element access: tuple of the loop axes */
} laying;

static wf__ref lay_node(wf__rewriter *w, wf__ref r)
{
    const laying *how = w->user;
    const layout *l = how->l;
    wf__ir *out = w->out;
    const wf__node *n = &w->in->node[r];
    switch ((wf__op)n->op) {
    case WF__INDEX:
        return l->loop_of[n->a] < 0 ? wf__const_bits(out, WF_I64, 0) : wf__index(out, l->loop_of[n->a]);
    case WF__EXTENT:
        return l->loop_of[n->a] < 0 ? wf__const_bits(out, WF_I64, 1) : wf__extent(out, l->loop_of[n->a]);
    case WF__LOAD:
        if (n->b)
            break;
        if (out->slot[n->a].epoch != n->d) {
            out->slot[n->a].epoch = n->d;
            out->slot[n->a].last_store = 0;
        }
        return wf__load_when(out, n->a, how->everywhere, WF_BORDER_NONE, 0, w->map[n->when]);
    case WF__STORE:
        if (n->b)
            break;
        wf__store_again(out, n, how->everywhere, w->map[n->c], n->d ? w->map[n->d] : 0);
        return 0;
    case WF__NOP:
    case WF__CONST:
    case WF__PARAM:
    case WF__DIM:
    case WF__ARG:
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
    case WF__RED:
    case WF__SETRED:
    case WF__COLD:
    case WF__LOOP:
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
    case WF__THREAD:
    case WF__BARRIER:
    case WF__DERIVED: /* not in plans */
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
#include "ir/case_graphs.def"
#include "ir/case_pure.def"
        break;
    }
    return wf__op_is_access(n->op) ? wf__copy_access(w->in, r, lay_index(l, n, w->map, out), w->map, out)
                                   : wf__copy_node(w->in, r, w->map, out);
}

/* Sets `lowered` to the recorded body over loop axes, and `mem` to the layouts of its slots. */
static bool lay_body(layout *l)
{
    const wf__ir *in = &l->stage->recorded;
    wf__ir *laid = &l->stage->lowered;
    wf__ir_init(laid, l->kept, in->flags | WF_FLAG_VALUE_NUMBERING);
    laid->hidden = in->hidden;
    wf__ir_reserve(laid, in->n + WF_MAX_RANK);
    l->stage->mem = wf__alloc0((in->slot_n + 1) * sizeof *l->stage->mem);
    bool ok = l->stage->mem && wf__copy_tables(in, laid);
    if (ok && l->stage->reduce.axes)
        note_kept(l, laid);
    if (ok) {
        lay_slots(l, laid);
        find_meetings(l, laid);
        wf__ref index[WF_MAX_RANK];
        for (int k = 0; k < l->kept; ++k)
            index[k] = wf__index(laid, k);
        laying how = { .l = l, .everywhere = wf__tuple(laid, index, (uint32_t)l->kept) };
        ok = wf__rewrite_nodes(&(wf__rewriter){ .in = in, .out = laid, .visit = lay_node, .user = &how });
    }
    return ok || wf__plan_fail_in(l->plan, laid);
}

/* Returns false, and sets the plan's error, if the stage has too many points to count. A stage with an extent of 0 has no
 * points, however large the other extents are. */
static bool check_points_of_stage(layout *l)
{
    int64_t points = 1;
    bool fits = true;
    for (int d = 0; d < l->space->rank; ++d) {
        if (l->space->dim[d] == 0)
            return true;
        fits = fits && wf__mul_i64(points, l->space->dim[d], &points);
    }
    if (!fits) {
        char text[160];
        wf_shape_text(l->space, text, sizeof text);
        wf__plan_fail(l->plan, WF_ERR_SHAPE, "the recording's operands broadcast to %s, which has too many points",
                      text);
    }
    return fits;
}

static bool begin(layout *l, wf__plan *plan, wf__stage *stage, const wf__bind *bind)
{
    *l = (layout){ .plan = plan, .stage = stage, .space = &stage->space, .bind = bind };
    l->ranks = plan->recorded && plan->recorded->group;
    l->by_shape = wf__orders_by_shape(&stage->recorded) || (l->ranks && stage->recorded.red_n);
    return check_points_of_stage(l) && collect(l);
}

static void done(layout *l)
{
    wf__free(l->at);
    wf__free(l->element_stride);
    wf__free(l->offset);
}

wf_axes wf__plan_inner_axes(wf__plan *plan, wf__stage *stage, const wf__bind *bind)
{
    layout l;
    bool ok = begin(&l, plan, stage, bind);
    if (ok)
        order_axes(&l);
    wf_axes inner = ok ? inner_axes(&l) : 0;
    done(&l);
    return inner;
}

bool wf__lay_memory_again(wf__plan *plan, wf__stage *stage, const wf__bind *bind)
{
    layout l;
    bool ok = begin(&l, plan, stage, bind);
    for (int d = 0; d < stage->space.rank; ++d)
        l.loop_of[d] = stage->division.loop_of[d];
    for (uint32_t s = 0; ok && s < stage->recorded.slot_n; ++s)
        lay_memory(&l, s);
    done(&l);
    return ok;
}

/* Explains the loops, if they are not simply the axes. */
static void explain_order(const layout *l)
{
    char text[WF_MAX_RANK * 4 + 1] = "";
    bool other = l->kept < l->space->rank;
    unsigned number = wf__stage_number(l->plan, l->stage);
    for (int k = 0, n = 0; k < l->kept; ++k) {
        n += snprintf(text + n, sizeof text - (size_t)n, " %d", l->order[k]);
        other = other || l->order[k] != k;
    }
    if (as_recorded(l))
        wf__plan_explain(l->plan, "layout", "loops of stage %u stay as recorded, because %s depend on their order",
                         number, l->stage->gather ? "sums of floats" : "blocks or debug mode");
    else if (l->by_shape)
        wf__plan_explain(
            l->plan, "layout",
            l->kept ? "loops of stage %u are axes%s, by extents alone, because WF_FLAG_ORDER_BY_SHAPE is on, or "
                      "ranks join its results"
                    : "stage %u has no loop axes, because it has one point%s",
            number, text);
    else if (other)
        wf__plan_explain(l->plan, "layout",
                         l->kept
                             ? "loops of stage %u are axes%s, in order of falling strides and without axes of extent 1"
                             : "stage %u has no loop axes, because it has one point%s",
                         number, text);
}

bool wf__pass_layout(wf__planning *p, uint32_t s)
{
    wf__plan *plan = p->plan;
    wf__stage *stage = &plan->stage[s];
    if (stage->scan.on)
        return true;
    layout l;
    bool ok = begin(&l, plan, stage, p->all);
    if (ok) {
        flip_axes(&l);
        order_axes(&l);
        if (stage->reduce.axes)
            order_reduction(&l);
        else if (l.by_shape && l.kept && !as_recorded(&l))
            order_by_shape(&l);
        else if (!stage->recorded.red_n)
            order_crossing(&l);
        if (plan->why)
            explain_order(&l);
        merge_axes(&l);
        ok = lay_body(&l);
    }
    /* The loops decide the strides of results. */
    for (uint32_t k = 0; ok && stage->reduce.axes && k < stage->lowered.red_n; ++k)
        wf__temp_bind(&plan->temp[stage->reduce.result[k] - plan->objects], &p->all[stage->reduce.result[k]]);
    done(&l);
    return ok;
}
