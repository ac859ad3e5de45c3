/* accumulate.c - chooses, for every accumulation of a stage, how points that meet in one element are kept apart.
 *
 *   alone     the index differs from point to point: nobody meets (mode EXPAND, on the array itself)
 *   EXPAND    private copies of the array, joined with it after the stage by the run layer. Code is a plain
 *             read-modify-write. Small arrays are spread: neighbouring lanes have elements of their own even within a copy,
 *             so that an addition does not wait for the one before it
 *   DIRECT, LOCAL   atomic operations
 *
 * All of this depends on shapes and layouts only, so that the order in which floats are joined does.
 */
#include "plan/accumulate.h"

enum {
    SPREAD_BYTES = 16 << 10,  /* of a copy, spread over lanes whose indices vary */
    SPREAD_UNIFORM = 1 << 20, /* the same where all lanes of a vector meet, which would be a chain otherwise */
    SPREAD_POINTS = 4,        /* for each element of a spread copy */
    ELEMENTS_PER_POINT = 4,   /* of a copy: beyond, atomic operations cost less than copies */
    GROUP_BYTES = 8 << 20,    /* of all copies, as a rule */
    FEW_GROUPS = 16,
    MOST_GROUPS = 64,
    REPRODUCED = 1 << 20, /* bytes of an array: up to this, the copies are as many for any number of threads */
};
static const uint64_t most_copy = (uint64_t)1 << 29; /* bytes: offsets in a copy are 32-bit numbers */

static bool no_memory(wf__plan *plan)
{
    wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
    return false;
}

/* Can two indices name the same memory? Also where it cannot be excluded simply. */
static bool repeats(const wf__bind *b)
{
    int axis[WF_MAX_RANK], n = 0;
    for (int d = 0; d < b->rank; ++d) {
        if (b->dim[d] < 2)
            continue;
        int at = n++;
        for (; at > 0 && llabs(b->stride[axis[at - 1]]) > llabs(b->stride[d]); --at)
            axis[at] = axis[at - 1];
        axis[at] = d;
    }
    int64_t reach = 0;
    for (int k = 0; k < n; ++k) {
        int64_t step = llabs(b->stride[axis[k]]), far;
        if (step <= reach || !wf__mul_i64(step, b->dim[axis[k]] - 1, &far))
            return true;
        reach += far;
    }
    return false;
}

/* Is the index another one for every point: does each loop axis stand in it, plus a constant? */
static bool differs(const wf__stage *stage, const wf__ir *ir, const wf__node *n)
{
    bool seen[WF_MAX_RANK] = { false };
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
        int axis;
        int64_t offset;
        if (wf__as_offset(ir, wf__tuple_at(ir, n->b)[k], &axis, &offset) && axis >= 0)
            seen[axis] = true;
    }
    for (int d = 0; d < ir->rank; ++d)
        if (!seen[d] && stage->extent[d] > 1)
            return false;
    return true;
}

typedef struct target {
    const wf__bind *bind;
    bool shared; /* other nodes change the same memory */
    bool atomic; /* some of them atomically */
    bool repeats;
    uint64_t elements, points;
} target;

static target look(const wf__stage *stage, const wf__ir *ir, wf__ref r, const wf__bind *bind)
{
    const wf__node *n = &ir->node[r];
    target t = { .bind = &bind[ir->slot[n->a].object], .elements = 1, .points = 1 };
    for (wf__ref q = 1; q < ir->n; ++q) {
        const wf__node *m = &ir->node[q];
        if (q == r || !wf__op_is_effect(m->op) || m->op == WF__SETRED || ir->slot[m->a].spread)
            continue;
        const wf__bind *other = &bind[ir->slot[m->a].object];
        if (other != t.bind && (!other->base || !t.bind->base || wf__bind_overlap(other, t.bind) == WF__APART))
            continue;
        t.shared = true;
        t.atomic = t.atomic || m->op != WF__ACCUM;
    }
    t.repeats = repeats(t.bind);
    for (int d = 0; d < t.bind->rank; ++d)
        t.elements *= (uint64_t)t.bind->dim[d];
    for (int d = 0; d < ir->rank; ++d)
        t.points *= (uint64_t)stage->extent[d];
    return t;
}

static unsigned spread_of(const target *t, const wf__ir *ir, const wf__vary *vary, const wf__node *n, bool exact)
{
    wf__kind kind = WF__UNIFORM;
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
        const wf__vary *v = &vary[wf__tuple_at(ir, n->b)[k]];
        kind = v->kind > kind ? (wf__kind)v->kind : kind;
    }
    if (kind == WF__AFFINE || (kind == WF__UNIFORM && exact) || wf__is_complex(n->dtype) ||
        t->bind->rank == WF_MAX_RANK)
        return 1;
    uint64_t most = kind == WF__UNIFORM ? SPREAD_UNIFORM : SPREAD_BYTES;
    uint64_t bytes = t->elements * wf__size(wf__update_dtype(n->dtype, WF_ADD));
    unsigned spread = WF__MOST_SPREAD;
    while (spread > 1 && (bytes * spread > most || t->points < SPREAD_POINTS * t->elements * spread))
        spread /= 2;
    return kind == WF__UNIFORM && spread < WF__MOST_SPREAD ? 1 : spread; /* vectors of neighbours or nothing */
}

/* Integers do not mind the order, nor do minima and maxima. */
static bool is_exact(unsigned join, unsigned t)
{
    return !(wf__is_float(t) || wf__is_complex(t)) || join == WF_MIN || join == WF_MAX;
}

/* The index and, behind it, that along the lane axis, which layout records before anything else. */
static uint32_t with_lane(wf__ir *ir, uint32_t tuple)
{
    wf__ref refs[WF_MAX_RANK], lane = 1;
    uint32_t n = wf__tuple_len(ir, tuple);
    while (ir->node[lane].op != WF__INDEX || ir->node[lane].a + 1 != (uint32_t)ir->rank)
        ++lane;
    memcpy(refs, wf__tuple_at(ir, tuple), n * sizeof *refs);
    refs[n] = lane;
    return wf__tuple(ir, refs, n + 1);
}

/* The node's own slot, private memory in the shape of the target. */
static bool add_private(wf__plan *plan, wf__stage *stage, wf__ir *ir, wf__ref r, const target *t, unsigned spread)
{
    uint32_t old = ir->node[r].a, slots = ir->slot_n;
    unsigned join = wf__node_join(&ir->node[r]), dtype = wf__update_dtype(ir->node[r].dtype, join);
    wf__mem_layout *mem = wf__realloc(stage->mem, (slots + 1) * sizeof *mem);
    if (!mem)
        return no_memory(plan);
    stage->mem = mem;
    wf__private *copies = wf__realloc(stage->copies, (stage->copies_n + 1) * sizeof *copies);
    if (!copies)
        return no_memory(plan);
    stage->copies = copies;
    uint32_t slot = wf__slot_new(ir, dtype, t->bind->rank + (spread > 1), false, ir->slot[old].object);
    uint32_t tuple = spread > 1 ? with_lane(ir, ir->node[r].b) : ir->node[r].b;
    if (ir->status != WF_OK)
        return no_memory(plan);
    wf__private *p = &copies[stage->copies_n++];
    *p = (wf__private){ .slot = slot,
                        .target = old,
                        .join = (uint8_t)join,
                        .spread = (uint8_t)spread,
                        .exact = is_exact(join, ir->node[r].dtype),
                        .elements = t->elements };
    mem[slot] = mem[old];
    int64_t stride = spread;
    bool same = spread == 1 && dtype == ir->slot[old].dtype && t->elements;
    for (int d = t->bind->rank - 1; d >= 0; --d) {
        same = same && (t->bind->dim[d] == 1 || t->bind->stride[d] == stride);
        mem[slot].stride[d] = stride;
        ir->slot[slot].step[d] = stride == 1 ? WF__STEP_UNIT : WF__STEP_ANY;
        stride *= t->bind->dim[d] > 0 ? t->bind->dim[d] : 1;
    }
    if (spread > 1) {
        mem[slot].stride[t->bind->rank] = 1;
        mem[slot].dim[t->bind->rank] = spread;
        ir->slot[slot].step[t->bind->rank] = WF__STEP_UNIT;
    }
    p->direct = same && !t->shared;
    ir->slot[slot].spread = (uint8_t)spread;
    ir->slot[slot].read = ir->slot[slot].written = true;
    ir->node[r].a = slot;
    ir->node[r].b = tuple;
    ir->node[r].dtype = (uint8_t)dtype;
    return true;
}

static bool resolve(wf__plan *plan, wf__stage *stage, wf__ir *ir, wf__ref r, const wf__vary *vary, const wf__bind *bind)
{
    wf__node *n = &ir->node[r];
    const target t = look(stage, ir, r, bind);
    unsigned mode = wf__node_mode(n), join = wf__node_join(n);
    uint64_t bytes = t.elements * wf__size(n->dtype);
    bool apart = !t.shared && !t.repeats && differs(stage, ir, n);
    if (apart)
        mode = WF__MODE_EXPAND;
    else if (t.atomic || t.repeats)
        mode = mode == WF__MODE_LOCAL ? mode : WF__MODE_DIRECT;
    else if (mode == WF__MODE_AUTO)
        mode = ELEMENTS_PER_POINT * t.points >= t.elements ? WF__MODE_EXPAND : WF__MODE_DIRECT;
    if (!apart && mode == WF__MODE_EXPAND && bytes > most_copy)
        mode = WF__MODE_DIRECT;
    n->aux = (uint8_t)(join | mode << 4);
    stage->updates = stage->updates || mode != WF__MODE_EXPAND;
    if (mode != WF__MODE_EXPAND || apart)
        return true;
    return add_private(plan, stage, ir, r, &t, spread_of(&t, ir, vary, n, is_exact(join, n->dtype)));
}

/* How many copies there are where order counts, each for a range of blocks. */
static void choose_groups(wf__stage *stage, const wf__ir *ir)
{
    uint64_t bytes = 1, largest = 0, elements = 1, points = 1;
    bool exact = true;
    for (uint32_t i = 0; i < stage->copies_n; ++i) {
        const wf__private *p = &stage->copies[i];
        exact = exact && p->exact;
        uint64_t array = p->elements * wf__size(ir->slot[p->target].dtype);
        largest = array > largest ? array : largest;
        bytes += p->elements * p->spread * wf__size(ir->slot[p->slot].dtype);
        elements = p->elements * p->spread > elements ? p->elements * p->spread : elements;
    }
    for (int d = 0; d < ir->rank; ++d)
        points *= (uint64_t)stage->extent[d];
    stage->groups = 0;
    stage->in_order = !exact;
    if (exact || largest > REPRODUCED)
        return;
    uint64_t n = GROUP_BYTES / bytes, most = wf__copies_worth(points, elements);
    n = n < FEW_GROUPS ? FEW_GROUPS : n > MOST_GROUPS ? MOST_GROUPS : n;
    stage->groups = (uint32_t)(n < most ? n : most);
}

bool wf__plan_accumulate(wf__plan *plan, wf__stage *stage, wf__ir *ir, const wf__bind *bind)
{
    bool any = false, ok = true;
    for (wf__ref r = 1; r < ir->n; ++r) {
        any = any || ir->node[r].op == WF__ACCUM;
        stage->updates = stage->updates || ir->node[r].op == WF__ATOMIC || ir->node[r].op == WF__CAS;
    }
    if (!any || ir->flags & WF_DEBUG) /* there the array itself is watched */
        return true;
    wf__vary *vary = wf__alloc(ir->n * sizeof *vary);
    if (!vary)
        return no_memory(plan);
    wf__analyse(ir, vary);
    uint32_t n = ir->n;
    for (wf__ref r = 1; r < n && ok; ++r)
        if (ir->node[r].op == WF__ACCUM)
            ok = resolve(plan, stage, ir, r, vary, bind);
    wf__free(vary);
    if (ok)
        choose_groups(stage, ir);
    return ok;
}
