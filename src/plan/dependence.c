/* dependence.c - decides whether two arrays, two accesses of a body, or two stages may touch the same memory.
 *
 * Arrays are compared by the bytes that they span. Two of them are apart, the same, or overlap in some other way,
 * which is not examined further. Points of an index space have no order, so the question within a body is whether an
 * access is at the point's own element.
 */
#include "plan/plan.h"
#include <stdlib.h>

/* ---- arrays ---- */
wf__overlap wf__bind_meeting(const wf__bind *a, const wf__bind *b)
{
    if (a->lo == a->hi || b->lo == b->hi)
        return WF__APART;
    if (a->base != b->base || a->dtype != b->dtype || a->rank != b->rank)
        return WF__PARTIAL;
    for (int d = 0; d < a->rank; ++d)
        if (a->dim[d] != b->dim[d] || (a->dim[d] > 1 && a->stride[d] != b->stride[d]))
            return WF__PARTIAL;
    return WF__SAME;
}

bool wf__bind_repeats(const wf__bind *b)
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

wf__overlap wf__object_overlap(const wf__plan *plan, const wf__bind *bind, uint32_t a, uint32_t b)
{
    if (a == b)
        return WF__SAME; /* scratch has no address yet */
    return a >= plan->objects || b >= plan->objects ? WF__APART : wf__bind_overlap(&bind[a], &bind[b]);
}

/* True if the two share no byte though their spans overlap, such as even and odd elements. */
static bool interleave(const wf__bind *a, const wf__bind *b)
{
    const wf__bind *of[] = { a, b };
    uint64_t step = 0, size = wf__size(a->dtype);
    if (size != wf__size(b->dtype))
        return false;
    for (int k = 0; k < 2; ++k)
        for (int d = 0; d < of[k]->rank; ++d) {
            uint64_t x = of[k]->stride[d] < 0 ? -(uint64_t)of[k]->stride[d] : (uint64_t)of[k]->stride[d];
            for (x = of[k]->dim[d] > 1 ? x * size : 0; x;) { /* the greatest common divisor */
                uint64_t rest = step % x;
                step = x;
                x = rest;
            }
        }
    uint64_t apart = a->base > b->base ? (uint64_t)(a->base - b->base) : (uint64_t)(b->base - a->base);
    return step && apart % step >= size && step - apart % step >= size;
}

/* ---- accesses of one body ---- */
bool wf__last_constant(const wf__ir *ir, uint32_t tuple, int64_t *out)
{
    uint32_t n = wf__tuple_len(ir, tuple);
    if (n < 2 || wf__at(ir, wf__tuple_at(ir, tuple)[n - 1])->op != WF__CONST)
        return false;
    *out = (int64_t)wf__bits(wf__at(ir, wf__tuple_at(ir, tuple)[n - 1]));
    return true;
}

bool wf__are_parts(const wf__ir *ir, const wf__node *n, const wf__node *m)
{
    int64_t a, b;
    if (n->a != m->a || !wf__last_constant(ir, n->b, &a) || !wf__last_constant(ir, m->b, &b) || a == b)
        return false;
    size_t before = (wf__tuple_len(ir, n->b) - 1) * sizeof(wf__ref);
    return memcmp(wf__tuple_at(ir, n->b), wf__tuple_at(ir, m->b), before) == 0;
}

static wf__bind bind_of(const wf__memory_order *m, uint32_t object)
{
    wf__bind b;
    if (object < m->plan->objects)
        return m->bind[object];
    wf__temp_bind(&m->plan->temp[object - m->plan->objects], &b);
    return b;
}

/* True if the access touches the point's own element of an array of the space's shape. */
static bool at_own_element(const wf__memory_order *m, const wf__ir *ir, const wf__node *n)
{
    if (!n->b)
        return true;
    const wf__bind b = bind_of(m, ir->slot[n->a].object);
    if (b.rank != m->space->rank || memcmp(b.dim, m->space->dim, b.rank * sizeof *b.dim) ||
        (n->op == WF__LOAD && n->aux != WF_BORDER_NONE))
        return false;
    for (uint32_t k = 0; k < b.rank; ++k) {
        const wf__node *index = &ir->node[wf__tuple_at(ir, n->b)[k]];
        if (index->op != WF__INDEX || index->a != k)
            return false;
    }
    return true;
}

bool wf__reads_other_points(const wf__memory_order *m, const wf__ir *ir, wf__ref r)
{
    const wf__node *load = &ir->node[r];
    uint32_t source = ir->slot[load->a].object;
    wf__ref last = wf__turns_end(ir, r); /* a store further down the loop precedes the load of the next turn */
    bool elsewhere = false;
    if (last < r)
        last = r;
    for (wf__ref q = 1; q < ir->n; ++q) {
        const wf__node *store = &ir->node[q];
        bool atomic = store->op == WF__ATOMIC || store->op == WF__CAS;
        if (store->op != WF__STORE && store->op != WF__ACCUM && !atomic)
            continue;
        wf__overlap meet = wf__object_overlap(m->plan, m->bind, ir->slot[store->a].object, source);
        if (meet != WF__APART && store->op == WF__ACCUM)
            return true;
        if (meet != WF__APART && q < last)
            return false;
        if (atomic) /* effects of atomic operations are visible at once: no copy */
            continue;
        bool same = store->b == load->b || (at_own_element(m, ir, store) && at_own_element(m, ir, load));
        elsewhere = elsewhere || meet == WF__PARTIAL || (meet == WF__SAME && !same);
    }
    return elsewhere;
}

bool wf__reads_what_points_write(const wf__memory_order *m, const wf__ir *ir, wf__ref r)
{
    const wf__node *load = &ir->node[r];
    wf__ref last = wf__turns_end(ir, r);
    for (wf__ref q = 1; q < ir->n && (q < r || q < last); ++q) {
        const wf__node *store = &ir->node[q];
        if (store->op != WF__STORE ||
            wf__object_overlap(m->plan, m->bind, ir->slot[store->a].object, ir->slot[load->a].object) == WF__APART)
            continue;
        if (store->b != load->b && !(at_own_element(m, ir, store) && at_own_element(m, ir, load)))
            return true;
    }
    return false;
}

bool wf__overwrites_output(const wf__memory_order *m, const wf__ir *ir, wf__ref q)
{
    const wf__node *store = &ir->node[q];
    const wf__bind *b = &m->bind[ir->slot[store->a].object];
    if (store->op != WF__STORE || store->b || store->d)
        return false;
    bool meets = false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__LOAD && n->op != WF__STORE)
            continue;
        if (ir->slot[n->a].object >= m->plan->objects)
            continue;
        const wf__bind *other = &m->bind[ir->slot[n->a].object];
        if (r > q && wf__bind_overlap(b, other) != WF__APART)
            return false; /* a later access sees the assigned elements */
        meets = meets || (r < q && n->op == WF__STORE && !n->b && wf__bind_overlap(b, other) == WF__PARTIAL &&
                          !interleave(b, other));
    }
    return meets;
}

/* ---- stages ---- */
const wf__slot_view *wf__view_of(const wf__slot_view *view, uint32_t n, uint32_t slot)
{
    for (uint32_t v = 0; v < n; ++v)
        if (view[v].slot == slot)
            return &view[v];
    return NULL;
}

bool wf__owns_element(const wf__stage *stage, uint32_t slot, const wf__bind *bind)
{
    const wf__slot *s = &stage->recorded.slot[slot];
    const wf__bind *b = &bind[s->object];
    const wf_shape *space = &stage->space;
    bool own = s->element && !wf__view_of(stage->view, stage->view_n, slot) && b->rank == space->rank;
    for (int d = 0; own && d < space->rank; ++d)
        own = b->dim[d] == space->dim[d] && (b->stride[d] || b->dim[d] == 1);
    return own;
}

bool wf__may_change_places(const wf__plan *plan, const wf__stage *stage, const wf__stage *reader, const wf__bind *bind)
{
    const wf__ir *ir = &stage->recorded, *other = &reader->recorded;
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        for (uint32_t t = 0; ir->slot[s].written && t < other->slot_n; ++t) {
            uint32_t a = ir->slot[s].object, b = other->slot[t].object;
            wf__overlap o = wf__object_overlap(plan, bind, a, b);
            bool alike = o == WF__SAME && wf__owns_element(stage, s, bind) && wf__owns_element(reader, t, bind);
            if (o != WF__APART && !alike)
                return false;
        }
    return true;
}

bool wf__stages_apart(const wf__plan *plan, const wf__stage *stage, const wf__stage *next, const wf__bind *bind)
{
    for (uint32_t s = 0; s < stage->lowered.slot_n; ++s)
        for (uint32_t t = 0; t < next->lowered.slot_n; ++t)
            if ((stage->lowered.slot[s].written || next->lowered.slot[t].written) &&
                wf__object_overlap(plan, bind, stage->mem[s].object, next->mem[t].object) != WF__APART)
                return false;
    return true;
}
