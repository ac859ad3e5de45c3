/* inline_views.c - computes values at other places than the point's own.
 *
 * A view of a value needs no memory: the nodes of the value are recorded again with other indices, so that slices,
 * permutations, reshapes and gathers of pure values cost no temporary. Indices that are affine in the point's own,
 * or become affine in contiguous memory, make element slots with strides of their own (wf__slot_view), as fast as
 * views of arrays. Other indices make loads by index.
 *
 * A value that views would compute too often goes to a temporary, and the views are of this temporary. Examples are
 * tiles, repetitions, and many shifted copies of an expensive value.
 */
#include "ir/cost.h"
#include "plan/split/places.h"

/* ---- values worth a temporary ---- */
enum { MOST_COST = 1 << 20 };

static double points_of(const wf_shape *shape)
{
    double n = 1;
    for (int d = 0; d < shape->rank; ++d)
        n *= (double)shape->dim[d];
    return n;
}

/* Sets seen[] to the number of points at which each value is needed: once each point of the value for all users that
 * are no views, and the points of each view. (If users that are no views counted one by one, the number would double
 * with each step of a chain that uses a value and a gather of it.) */
static void count_wanted(const splitter *s, double *seen)
{
    const wf__ir *ir = s->ir;
    for (wf__ref r = 1; r < ir->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = s->live[r] ? wf__operands(ir, &ir->node[r], operand) : 0;
        for (uint32_t i = ir->node[r].op == WF__VIEW; i < count; ++i)
            seen[operand[i]] = points_of(&s->shape[operand[i]]);
    }
    for (wf__ref r = 1; r < ir->n; ++r)
        if (s->live[r] && ir->node[r].op == WF__VIEW)
            seen[ir->node[r].a] += points_of(&s->shape[r]);
}

/* The places, relative to the point, at which a value is needed. */
typedef struct wanted {
    uint32_t id; /* equal ids = the same places; OWN = the point's own alone */
    uint32_t n;  /* number of places; 0 = none */
} wanted;
enum { OWN = 1 };

static void want_at(wanted *value, wanted by, uint32_t *ids)
{
    if (!value->n || value->id == by.id) {
        *value = value->n ? *value : by;
        return;
    }
    uint32_t sum = value->n + by.n;
    *value = (wanted){ ++*ids, sum < MOST_COST ? sum : MOST_COST };
}

static bool is_viewable(const splitter *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    return wf__op_is_pure(n->op) || n->op == WF__VIEW || (n->op == WF__LOAD && n->b);
}

/* Marks values as stored that would be recorded at too many places. If a value and a gather of it are both used, all
 * its operands are needed at twice as many places, however cheap they are. */
static void bound_places(splitter *s)
{
    const wf__ir *ir = s->ir;
    wanted *at = wf__alloc0(ir->n * sizeof *at);
    uint32_t ids = OWN;
    for (wf__ref r = at ? ir->n - 1 : 0; r >= 1; --r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        if (!s->live[r])
            continue;
        bool blocked = s->block && s->block[r];
        if (at[r].n > WF__MOST_PLACES && is_viewable(s, r) && !blocked && !wf__has_one_point(&s->shape[r])) {
            wf__plan_because(s->plan, "split", "%%%u is stored, because its views would inline it %u times",
                             (unsigned)r, (unsigned)at[r].n);
            s->stored[r] = 1;
        }
        if (!at[r].n || blocked || s->stored[r] || !is_viewable(s, r))
            at[r] = (wanted){ OWN, 1 };
        uint32_t count = wf__operands(ir, n, operand);
        for (uint32_t i = 0; i < count; ++i)
            want_at(&at[operand[i]], n->op == WF__VIEW && i == 0 ? (wanted){ ++ids, at[r].n } : at[r], &ids);
    }
    wf__free(at);
}

/* The cost of a value is the sum over its tree of operands. A node that is used twice counts twice. That is too
 * much, but such a value is not cheap either. */
void wf__choose_stored(splitter *s)
{
    const wf__ir *ir = s->ir;
    bool any = false;
    for (wf__ref r = 1; r < ir->n && !any; ++r)
        any = s->live[r] && ir->node[r].op == WF__VIEW;
    s->views = any;
    uint32_t *cost = any ? wf__alloc0(ir->n * sizeof *cost) : NULL;
    double *seen = any ? wf__alloc0(ir->n * sizeof *seen) : NULL; /* [nodes] points at which the value is needed */
    if (cost && seen)
        count_wanted(s, seen);
    for (wf__ref r = 1; cost && seen && r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        bool nothing = wf__has_result(s, r) || n->op == WF__STATE; /* a STATE counts as its value after the block */
        uint32_t count = nothing ? 0 : wf__operands(ir, n, operand);
        cost[r] = nothing ? 0 : wf__cost_of(n)->recompute;
        for (uint32_t i = 0; i < count; ++i)
            cost[r] += s->stored[operand[i]] ? 0 : cost[operand[i]];
        cost[r] = cost[r] < MOST_COST ? cost[r] : MOST_COST;
        double more = seen[r] - points_of(&s->shape[r]);
        if (is_viewable(s, r) && more > 0 && more * cost[r] > WF__WORTH_STORING * points_of(&s->shape[r]) &&
            !wf__has_one_point(&s->shape[r])) {
            wf__plan_because(
                s->plan, "split",
                "%%%u is stored, because its views would compute it at %.0f more points, each at a cost of %u",
                (unsigned)r, more, (unsigned)cost[r]);
            s->stored[r] = 1;
        }
    }
    wf__free(cost);
    wf__free(seen);
    if (any)
        bound_places(s);
}

/* ---- frames ---- */
static wf__recorded *find(group *g, wf__ref node, uint32_t frame)
{
    uint32_t mask = g->recorded_size - 1, i = wf__mix32((uint64_t)node << 32 | frame) & mask;
    while (g->recorded[i].value && (g->recorded[i].node != node || g->recorded[i].frame != frame))
        i = (i + 1) & mask;
    return &g->recorded[i];
}

bool wf__remember(splitter *s, group *g, wf__ref node, uint32_t frame, wf__ref value)
{
    if (2 * g->recorded_n >= g->recorded_size) {
        uint32_t old = g->recorded_size, size = old ? 2 * old : 64;
        wf__recorded *was = g->recorded, *table = wf__alloc0(size * sizeof *table);
        if (!table)
            return wf__plan_no_memory(s->plan);
        g->recorded = table;
        g->recorded_size = size;
        for (uint32_t i = 0; i < old; ++i)
            if (was[i].value)
                *find(g, was[i].node, was[i].frame) = was[i];
        wf__free(was);
    }
    wf__recorded *e = find(g, node, frame);
    g->recorded_n += !e->value;
    *e = (wf__recorded){ node, frame, s->era, value };
    return true;
}

/* Returns the node that r at a frame is recorded as, if later nodes can use it; else 0. */
static wf__ref known(const splitter *s, group *g, wf__ref r, uint32_t frame)
{
    bool anew = s->cone[r] & WF__ANEW;
    wf__ref value = 0;
    if (!frame && !anew)
        value = g->map[r];
    else if (g->recorded_size) {
        const wf__recorded *e = find(g, r, frame);
        value = !anew || e->era == s->era ? e->value : 0;
    }
    return wf__usable(g, value);
}

static bool same_lines(const wf__frame *a, const wf__frame *b)
{
    bool same = true;
    for (int k = 0; k < a->rank; ++k)
        same = same && a->at[k].line == b->at[k].line && a->at[k].div == b->at[k].div && a->at[k].mod == b->at[k].mod;
    return same;
}

/* Returns the number of a frame; 0 = failure. */
static uint32_t frame_number(splitter *s, group *g, const wf__frame *f)
{
    wf__ref refs[WF_MAX_RANK];
    for (int k = 0; k < f->rank; ++k)
        refs[k] = f->at[k].index;
    uint32_t tuple = wf__tuple(&g->ir, refs, (uint32_t)f->rank);
    if (g->ir.status != WF_OK) {
        wf__plan_fail_in(s->plan, &g->ir);
        return 0;
    }
    const wf__recorded *e = g->recorded_size ? find(g, 0, tuple) : NULL;
    uint32_t first = e ? e->value : 0;
    for (uint32_t i = first; i; i = g->frame[i].next)
        if (same_lines(&g->frame[i], f))
            return i;
    uint32_t number = g->frame_n ? g->frame_n : 1;
    if (!wf__grow(&g->frame, &g->frame_cap, number + 1, sizeof *g->frame)) {
        wf__plan_no_memory(s->plan);
        return 0;
    }
    g->frame[number] = *f;
    g->frame[number].next = first;
    g->frame_n = number + 1;
    return wf__remember(s, g, 0, tuple, number) ? number : 0;
}

/* Sets explicit indices of a node of that shape at a frame. */
static void places(const splitter *s, group *g, wf__ref r, uint32_t frame, wf__place *at)
{
    const wf_shape *shape = &s->shape[r];
    for (int k = 0; k < shape->rank; ++k) {
        if (frame)
            at[k] = g->frame[frame].at[k];
        else
            at[k] = (wf__place){ .index = shape->dim[k] == 1 ? wf__const_bits(&g->ir, WF_I64, 0)
                                                             : wf__index(&g->ir, k + g->shape.rank - shape->rank) };
    }
}

/* Returns the frame of an operand of a node at a frame, by broadcasting. */
static bool operand_frame(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref operand, uint32_t *out)
{
    const wf_shape *own = &s->shape[r], *shape = &s->shape[operand];
    *out = 0;
    if (!frame || wf__has_one_point(shape))
        return true;
    bool same = own->rank == shape->rank;
    wf__frame f = { .rank = shape->rank };
    for (int k = 0; k < shape->rank; ++k) {
        bool one = shape->dim[k] == 1;
        f.at[k] = g->frame[frame].at[k + own->rank - shape->rank];
        same = same && (!one || own->dim[k] == 1);
        if (one)
            f.at[k] = (wf__place){ .index = wf__const_bits(&g->ir, WF_I64, 0) };
    }
    *out = same ? frame : frame_number(s, g, &f);
    return *out != 0;
}

/* ---- views ---- */
/* Sets *out to the frame at which a view needs its source. map[] has the view's recorded operands. For a GATHER with
 * a value for indices out of range, sets *inside to the condition that the indices are in range (0 = always). */
static bool source_frame(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, uint32_t *out,
                         wf__ref *inside)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *in = &s->shape[n->a];
    wf__frame f = { .rank = in->rank };
    *out = 0;
    *inside = 0;
    if (n->aux == WF__VIEW_GATHER) {
        for (int k = 0; k < in->rank; ++k) {
            wf__ref index = map[wf__tuple_at(s->ir, n->b)[k]];
            f.at[k].index = n->c ? wf__index_clamped(g, index, in->dim[k], inside) : index;
        }
    } else {
        places(s, g, r, frame, f.at);
        wf__through_view(s, g, r, f.at);
    }
    if (wf__has_one_point(in))
        return true;
    *out = frame_number(s, g, &f);
    return *out != 0;
}

/* True for a view without elements. The node recorded for such a view is never computed. A reshape of nothing may
 * have no indices. */
static bool stands_for_nothing(const splitter *s, wf__ref view) { return !wf__has_points(&s->shape[view]); }

static wf__ref nothing_of(wf__ir *ir, unsigned dtype)
{
    unsigned part = wf__part_dtype(dtype);
    wf__ref zero = wf__const_bits(ir, part ? part : dtype, 0);
    return part ? wf__complex(ir, zero, zero) : zero;
}

bool wf__record_view(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out)
{
    const wf__node *n = &s->ir->node[r];
    uint32_t source;
    wf__ref inside;
    if (stands_for_nothing(s, r)) {
        *out = nothing_of(&g->ir, n->dtype);
        return true;
    }
    if (n->c && !wf__has_points(&s->shape[n->a])) {
        *out = map[n->c];
        return true;
    }
    if (!source_frame(s, g, r, frame, map, &source, &inside))
        return false;
    *out = known(s, g, n->a, source);
    if (inside)
        *out = wf__op3(&g->ir, WF__OP_select, inside, *out, map[n->c]);
    return true;
}

/* ---- recording at a frame ---- */
typedef struct task {
    wf__ref node;
    uint32_t frame;
} task;

typedef struct work {
    task *at;
    uint32_t n, cap;
} work;

static bool want(splitter *s, group *g, work *w, wf__ref node, uint32_t frame, bool *ready)
{
    if (known(s, g, node, frame))
        return true;
    *ready = false;
    if (!wf__grow(&w->at, &w->cap, w->n + 1, sizeof *w->at))
        return wf__plan_no_memory(s->plan);
    w->at[w->n++] = (task){ node, frame };
    return true;
}

/* Adds the operands of a task that are not recorded yet to the list. If there are none, sets *ready, and s->at[] to
 * the operands. */
static bool prepare(splitter *s, group *g, work *w, task t, bool *ready)
{
    const wf__node *n = &s->ir->node[t.node];
    wf__ref operand[WF__MAX_OPERANDS], at[WF__MAX_OPERANDS];
    bool nothing = wf__is_cut(s, t.node);
    uint32_t count = nothing ? 0 : wf__operands(s->ir, n, operand), first = n->op == WF__VIEW, frame;
    *ready = true;
    for (uint32_t i = first; i < count; ++i) {
        if (!operand_frame(s, g, t.node, t.frame, operand[i], &frame) || !want(s, g, w, operand[i], frame, ready))
            return false;
        at[i] = known(s, g, operand[i], frame);
    }
    if (!*ready)
        return true;
    for (uint32_t i = first; i < count; ++i)
        s->at[operand[i]] = at[i];
    wf__ref inside;
    if (n->op != WF__VIEW || nothing || stands_for_nothing(s, t.node) || (n->c && !wf__has_points(&s->shape[n->a])))
        return true;
    return source_frame(s, g, t.node, t.frame, s->at, &frame, &inside) && want(s, g, w, n->a, frame, ready);
}

static bool record_all(splitter *s, group *g, work *w)
{
    while (w->n) {
        task t = w->at[w->n - 1];
        bool ready = true;
        wf__ref value;
        if (known(s, g, t.node, t.frame)) {
            --w->n;
            continue;
        }
        if (!prepare(s, g, w, t, &ready))
            return false;
        if (!ready)
            continue;
        if (!wf__group_record(s, g, t.node, t.frame, s->at, &value))
            return false;
        if (g->ir.status != WF_OK || !value) {
            wf__plan_fail(s->plan, g->ir.status != WF_OK ? g->ir.status : WF_ERR_BACKEND, "%s", g->ir.error);
            return false;
        }
        if (!t.frame)
            g->map[t.node] = value;
        if (!wf__remember(s, g, t.node, t.frame, value))
            return false;
        --w->n;
    }
    return true;
}

bool wf__record_at(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out)
{
    work w = { 0 };
    bool ready, ok = true;
    if (!known(s, g, r, frame))
        ok = want(s, g, &w, r, frame, &ready) && record_all(s, g, &w);
    if (ok)
        *out = known(s, g, r, frame);
    wf__free(w.at);
    return ok;
}

/* ---- elements ---- */
/* Sets the strides of an object. Returns false if they are not known yet: the loops of a reduction's stage decide
 * how its results lie in memory; and with distributed arrays, since all ranks make the same stages, but have their elements with
 * strides of their own. */
static bool strides_of(const splitter *s, uint32_t object, const wf_shape *shape, int64_t *stride)
{
    if (s->rec->group)
        return false;
    if (object < s->plan->objects) {
        memcpy(stride, s->bind[object].stride, sizeof s->bind[object].stride);
        return true;
    }
    for (wf__ref r = 1; r < s->ir->n; ++r)
        if (s->ir->node[r].op == WF__REDUCE && s->home[r] != UINT32_MAX &&
            (s->result[r] == object || (wf__is_complex(s->ir->node[r].dtype) && s->result[r] + 1 == object)))
            return false;
    memcpy(stride, s->plan->temp[object - s->plan->objects].stride, (size_t)shape->rank * sizeof *stride);
    return true;
}

/* Merges the indices of axes that are contiguous in memory into one index, along the innermost of these axes. */
static void merge_places(splitter *s, group *g, uint32_t object, const wf_shape *shape, wf__place *at)
{
    int64_t stride[WF_MAX_RANK];
    int last = -1;
    bool lines = false;
    for (int k = 0; k < shape->rank; ++k)
        lines = lines || at[k].line;
    if (!lines || !strides_of(s, object, shape, stride))
        return;
    int64_t extent = 1;
    for (int k = shape->rank - 1; k >= 0; --k) {
        if (shape->dim[k] == 1)
            continue;
        if (last >= 0 && stride[k] == stride[last] * extent && wf__place_absorb(g, &at[k], &at[last])) {
            at[k] = (wf__place){ .index = wf__const_bits(&g->ir, WF_I64, 0) };
        } else {
            last = k;
            extent = 1;
        }
        extent *= shape->dim[k];
    }
}

static bool view_of(splitter *s, group *g, const wf__place *at, const wf_shape *shape, wf__slot_view *v)
{
    bool ok = !(s->ir->flags & WF_FLAG_DEBUG); /* debug mode checks indices */
    for (int k = 0; ok && k < shape->rank; ++k) {
        wf__affine a;
        ok = wf__index_affine(g, at[k].index, &a);
        v->start[k] = a.start;
        memcpy(v->step[k], a.step, sizeof a.step);
        for (int d = 0; d < WF_MAX_RANK; ++d) /* axes of one point take no step */
            if (d >= g->shape.rank || g->shape.dim[d] <= 1)
                v->step[k][d] = 0;
    }
    return ok;
}

/* Sets v->slot to the group's slot for these elements of an object. Different elements have different slots. */
static bool view_slot(splitter *s, group *g, uint32_t object, unsigned dtype, int rank, wf__slot_view *v)
{
    for (uint32_t i = 0; i < g->view_n; ++i) {
        const wf__slot_view *have = &g->view[i];
        v->slot = have->slot;
        if (g->ir.slot[have->slot].object == object && !memcmp(have, v, sizeof *v))
            return true;
    }
    v->slot = wf__slot_new(&g->ir, dtype, rank, true, object);
    if (g->ir.status != WF_OK || !wf__grow(&g->view, &g->view_cap, g->view_n + 1, sizeof *g->view))
        return wf__plan_no_memory(s->plan);
    g->view[g->view_n++] = *v;
    return true;
}

/* True if the elements are those at the points' own places. */
static bool at_home(const group *g, const wf_shape *shape, const wf__slot_view *v)
{
    int skip = g->shape.rank - shape->rank;
    for (int k = 0; k < shape->rank; ++k)
        for (int d = 0; d < g->shape.rank; ++d)
            if (v->start[k] || v->step[k][d] != (d == k + skip && shape->dim[k] > 1) ||
                (d == k + skip && shape->dim[k] != g->shape.dim[d] && shape->dim[k] != 1))
                return false;
    return skip >= 0;
}

bool wf__load_at(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                 wf__ref *out)
{
    wf__place at[WF_MAX_RANK];
    wf__slot_view v;
    uint32_t slot;
    memset(&v, 0, sizeof v);
    memcpy(at, g->frame[frame].at, sizeof at);
    merge_places(s, g, object, shape, at);
    if (view_of(s, g, at, shape, &v)) {
        if (at_home(g, shape, &v)) {
            if (!wf__split_slot(s, g, object, false, dtype, shape->rank, &v.slot))
                return false;
        } else if (!view_slot(s, g, object, dtype, shape->rank, &v))
            return false;
        char name[WF__OBJECT_NAME];
        wf__plan_because(s->plan, "split", "%s is read through slot %u %s",
                         wf__plan_object_name(s->plan, s->bind, object, name), (unsigned)v.slot,
                         at_home(g, shape, &v) ? "element by element, because its indices are those of the point"
                                               : "with the strides of a view, because its indices are affine");
        *out = wf__load(&g->ir, v.slot, 0, WF_BORDER_NONE, 0);
        return true;
    }
    wf__ref refs[WF_MAX_RANK];
    for (int k = 0; k < shape->rank; ++k)
        refs[k] = g->frame[frame].at[k].index;
    if (!wf__split_slot(s, g, object, true, dtype, shape->rank, &slot))
        return false;
    char name[WF__OBJECT_NAME];
    wf__plan_because(s->plan, "split", "%s is read by index, because its indices are not affine",
                     wf__plan_object_name(s->plan, s->bind, object, name));
    *out = wf__load(&g->ir, slot, wf__tuple(&g->ir, refs, (uint32_t)shape->rank), WF_BORDER_NONE, 0);
    return true;
}
