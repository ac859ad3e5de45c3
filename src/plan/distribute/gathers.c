/* gathers.c - loads by index along axes that ranks divide, at indices without bounds, such as those that are read from
 * memory. So are loads at indices from memory whose bounds reach along the whole axis, where ranks need less memory for what
 * their points read than for the array. Ranks cannot know before they run which elements such a load reads, so the stage with
 * it becomes several:
 *
 *   - a stage over the same points that stores the positions of the elements, numbered in C order of the array, after
 *     border modes; -1 where the load reads nothing. Loads in different loops or conditions have a stage each
 *   - a stage for each load, which gets the elements at these positions from the ranks that have them (wf__gathered). Its
 *     body stands for that: it reads the positions and writes the elements at the same points, so that all other passes
 *     see where ranks need both. The runner asks the other ranks instead of running it, for all these stages at once
 *     (src/plan/schedule.c, src/run/cpu/gather.c)
 *   - the stage itself, which loads the elements at its own points
 *
 * Where the index depends on another such load, the pass finds it in the stage itself again. Whether a load is a
 * gather follows from the recording, shapes and distributions alone, so all ranks decide alike.
 *
 * A load in a condition is one as well, for the points where the condition holds. In a loop its index must not vary.
 */
#include "ir/pass/pass.h"
#include "plan/dependence.h"
#include "plan/distribute/distribute.h"

typedef struct gathers {
    wf__planning *p;
    const wf__stage *stage;
    uint8_t *is;        /* [nodes] 1: a load that can be a gather */
    uint8_t *live;      /* [nodes] what the positions of all gathers depend on */
    uint8_t *mark;      /* [nodes] what the position of one depends on */
    wf__ref *map;       /* [nodes] of the recorded body, in a new one */
    wf__range *range;   /* [nodes] bounds at a single point */
    wf__ref *block;     /* [nodes] wf__find_blocks */
    wf__ref *load;      /* [n] gathers that this turn of the pass makes */
    uint32_t *at, *got; /* [n] temporaries: positions, elements */
    uint32_t n;
    wf__ref around; /* the loop or condition around the gathers whose positions are recorded; 0 = none */
} gathers;

/* ---- which loads are gathers ---- */
/* Sets the axes of an object along which ranks divide it. */
static bool divides(const wf__planning *p, uint32_t object, uint8_t cut[WF_MAX_RANK])
{
    uint32_t grid;
    return wf__object_cut(p, object, cut, &grid);
}

/* How far from a point the index of a load may be along the axes that ranks divide. */
typedef enum reach { NEAR, WHOLE_AXIS, UNKNOWN } reach;

static reach reach_of(const gathers *g, wf__ref r)
{
    const wf__ir *ir = &g->stage->recorded;
    const wf__node *n = &ir->node[r];
    uint8_t cut[WF_MAX_RANK];
    reach far = NEAR;
    if (n->op != WF__LOAD || !n->b || !divides(g->p, ir->slot[n->a].object, cut))
        return NEAR;
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
        const wf__range x = g->range[wf__tuple_at(ir, n->b)[k]];
        if (cut[k] && !x.known)
            return UNKNOWN;
        if (cut[k] && x.hi - x.lo >= g->p->all[ir->slot[n->a].object].dim[k] - 1)
            far = WHOLE_AXIS;
    }
    return far;
}

/* i32 where that has all of them, as less memory is walked then. */
unsigned wf__position_dtype(const wf__bind *b)
{
    int64_t elements = 1;
    for (int k = 0; k < b->rank; ++k)
        if (__builtin_mul_overflow(elements, b->dim[k], &elements))
            return WF_I64;
    return elements <= INT32_MAX ? WF_I32 : WF_I64;
}

/* True if a rank needs less memory for positions and elements of its points than for the whole array of a load, which all
 * loads of the array share. */
static bool is_smaller(const gathers *g, wf__ref r)
{
    const wf__ir *ir = &g->stage->recorded;
    const uint32_t object = ir->slot[ir->node[r].a].object;
    const wf_shape shape = wf__bind_shape(&g->p->all[object]);
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    wf__object_cut(g->p, object, cut, &grid);
    const double size = (double)wf__size(ir->node[r].dtype), ranks = g->p->bind[grid].dist->ranks;
    double points = 0, elements = 1; /* of all loads; of the array */
    for (wf__ref i = 1; i < ir->n; ++i)
        points += g->live[i] && reach_of(g, i) != NEAR && ir->slot[ir->node[i].a].object == object;
    for (int d = 0; d < g->stage->space.rank; ++d)
        points *= (double)g->stage->space.dim[d];
    for (int d = 0; d < shape.rank; ++d)
        elements *= (double)shape.dim[d];
    return points * (size + (double)wf__size(wf__position_dtype(&g->p->all[object]))) < ranks * elements * size;
}

static bool reads_memory(const wf__ir *ir, const uint8_t *mark)
{
    for (wf__ref i = 1; i < ir->n; ++i)
        if (mark[i] && ir->node[i].op == WF__LOAD)
            return true;
    return false;
}

/* True if the stage writes memory of the object. */
static bool writes(const wf__planning *p, const wf__stage *stage, uint32_t object)
{
    bool any = false;
    for (uint32_t s = 0; s < stage->recorded.slot_n; ++s) {
        const wf__slot *slot = &stage->recorded.slot[s];
        any = any || (slot->written && wf__object_overlap(p->plan, p->all, object, slot->object) != WF__APART);
    }
    return any;
}

/* True if the loop or condition lies around node r. */
static bool is_around(const wf__ir *ir, wf__ref loop, wf__ref r) { return loop < r && r < wf__loop_end(ir, loop); }

/* Spreads marks to all that marked nodes depend on where load r stands. In a condition around the load, a variable is the
 * value that it had before. Returns false if they depend on a variable of a loop around it. */
static bool spread(const wf__ir *ir, wf__ref r, const wf__ref *block, uint8_t *live)
{
    const wf__ref outer = block[r] ? block[r] : r; /* loops before it are whole */
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref i = r; i-- > 1;) {
        const wf__node *n = &ir->node[i];
        const bool varies = n->op == WF__STATE && i > outer;
        if (!live[i])
            continue;
        if (varies && !(is_around(ir, n->a, r) && ir->node[n->a].aux))
            return false;
        const uint32_t count = varies ? 0 : wf__operands(ir, n, operand);
        live[varies ? n->b : i] = 1;
        for (uint32_t k = 0; k < count; ++k)
            live[operand[k]] = 1;
    }
    while (ir->loops && wf__mark_loops(ir, live, 1, outer - 1))
        for (wf__ref i = outer; i-- > 1;)
            for (uint32_t k = 0, count = live[i] ? wf__operands(ir, &ir->node[i], operand) : 0; k < count; ++k)
                live[operand[k]] = 1;
    return true;
}

/* True if the condition of a load is known where its position is computed; else the position is computed in any case. */
static bool has_condition(const wf__ir *ir, wf__ref r, const wf__ref *block, uint8_t *live)
{
    const wf__ref when = wf__when(ir, &ir->node[r]);
    memset(live, 0, ir->n);
    live[when] = 1;
    return when && spread(ir, r, block, live);
}

/* Sets live[] to all that the position of a load depends on. Returns false if that varies in a loop around it. */
static bool mark_position(const wf__ir *ir, wf__ref r, const wf__ref *block, uint8_t *live)
{
    const wf__node *n = &ir->node[r];
    const bool conditional = has_condition(ir, r, block, live);
    memset(live, 0, ir->n);
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k)
        live[wf__tuple_at(ir, n->b)[k]] = 1;
    if (conditional)
        live[wf__when(ir, n)] = 1;
    return spread(ir, r, block, live);
}

/* Returns why load r cannot be a gather; NULL = it can. block: of wf__find_blocks; live: room for [nodes]. */
static const char *why_not(const wf__planning *p, const wf__stage *stage, wf__ref r, const wf__ref *block,
                           uint8_t *live)
{
    const wf__ir *ir = &stage->recorded;
    const uint32_t object = ir->slot[ir->node[r].a].object;
    uint8_t cut[WF_MAX_RANK];
    divides(p, object, cut);
    for (int k = 0; k < p->all[object].rank; ++k)
        if (cut[k] == WF__CUT)
            return "ranks have parts of it that follow no grid";
    if (writes(p, stage, object))
        return "the launch also writes it";
    if (!mark_position(ir, r, block, live))
        return "the index varies in a loop";
    for (wf__ref i = 1; i < ir->n; ++i) {
        const wf__node *n = &ir->node[i];
        const bool changes = wf__op_is_effect(n->op) || n->op == WF__RED;
        if (live[i] && (changes || (n->op == WF__LOAD && writes(p, stage, ir->slot[n->a].object))))
            return "the index depends on what the launch writes or joins";
    }
    return NULL;
}

const char *wf__why_not_gathered(const wf__planning *p, const wf__stage *stage, wf__ref r)
{
    const char *why = "there is no memory to gather it";
    wf__ref *block = wf__alloc(stage->recorded.n * sizeof *block);
    uint8_t *live = wf__alloc(stage->recorded.n);
    if (block && live) {
        wf__find_blocks(&stage->recorded, block);
        why = why_not(p, stage, r, block, live);
    }
    wf__free(block);
    wf__free(live);
    return why;
}

/* Marks the gathers of a stage. Returns whether there are any. */
static bool find(gathers *g)
{
    const wf__ir *ir = &g->stage->recorded;
    bool any = false;
    wf__find_blocks(ir, g->block);
    memset(g->live, 0, ir->n);
    wf__mark_effects(ir, g->live);
    wf__mark_live(ir, g->live);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const reach far = g->live[r] ? reach_of(g, r) : NEAR;
        g->is[r] = far != NEAR && !why_not(g->p, g->stage, r, g->block, g->mark) &&
                   (far == UNKNOWN || (reads_memory(ir, g->mark) && is_smaller(g, r)));
        any = any || g->is[r];
    }
    return any;
}

/* Chooses the gathers whose positions depend on no other one. */
static void choose(gathers *g)
{
    const wf__ir *ir = &g->stage->recorded;
    for (wf__ref r = 1; r < ir->n; ++r) {
        if (!g->is[r])
            continue;
        bool alone = true;
        mark_position(ir, r, g->block, g->mark);
        for (wf__ref i = 1; i < ir->n; ++i)
            alone = alone && !(g->mark[i] && g->is[i]);
        if (alone)
            g->load[g->n++] = r;
    }
}

/* ---- bodies ---- */
/* Returns the slot of a temporary with an element for each point. */
static uint32_t temp_slot(const gathers *g, wf__ir *ir, uint32_t object)
{
    return wf__slot_new(ir, g->p->plan->temp[object - g->p->plan->objects].dtype, g->stage->space.rank, true, object);
}

/* Returns the position of the element that load r reads. */
static wf__ref position(gathers *g, wf__ref r, wf__ir *out)
{
    const wf__ir *in = &g->stage->recorded;
    const wf__node *n = &in->node[r];
    const wf__bind *b = &g->p->all[in->slot[n->a].object];
    const wf__ref nothing = wf__const_bits(out, WF_I64, UINT64_MAX);
    wf__ref extent[WF_MAX_RANK], inside, at = wf__const_bits(out, WF_I64, 0);
    uint32_t tuple;
    bool empty = false;
    for (int k = 0; k < b->rank; ++k) {
        extent[k] = wf__const_bits(out, WF_I64, (uint64_t)b->dim[k]);
        empty = empty || !b->dim[k];
    }
    if (empty ||
        !wf__elements_read(out, wf__copy_tuple(in, n->b, g->map, out), (wf_border)n->aux, extent, &tuple, &inside))
        return nothing;
    for (int k = 0; k < b->rank; ++k)
        at = wf__op2(out, WF__OP_add, wf__op2(out, WF__OP_mul, at, extent[k]), wf__tuple_at(out, tuple)[k]);
    if (has_condition(in, r, g->block, g->mark))
        inside = wf__both(out, inside, g->map[wf__when(in, n)]);
    return inside ? wf__op3(out, WF__OP_select, inside, at, nothing) : at;
}

/* Records what positions depend on. A variable of a condition around the gathers is the value that it had before. */
static wf__ref visit_position(wf__rewriter *w, wf__ref r)
{
    const gathers *g = w->user;
    return g->around && r > g->around && w->in->node[r].op == WF__STATE ? w->map[w->in->node[r].b]
                                                                        : wf__copy_node(w->in, r, w->map, w->out);
}

/* Marks what the positions of the gathers in one loop or condition, or in none, depend on. */
static void mark_positions(gathers *g)
{
    const wf__ir *ir = &g->stage->recorded;
    memset(g->live, 0, ir->n);
    for (uint32_t k = 0; k < g->n; ++k) {
        if (g->block[g->load[k]] != g->around)
            continue;
        mark_position(ir, g->load[k], g->block, g->mark);
        for (wf__ref i = 1; i < ir->n; ++i)
            g->live[i] |= g->mark[i];
    }
}

/* Records the stage that stores these positions. */
static bool record_positions(gathers *g, wf__ir *out)
{
    wf__rewriter w = {
        .in = &g->stage->recorded, .out = out, .visit = visit_position, .user = g, .live = g->live, .map = g->map
    };
    bool ok = wf__pass_begin(w.in, out);
    mark_positions(g);
    out->red_n = 0;
    for (uint32_t s = 0; s < out->slot_n; ++s)
        out->slot[s].written = false;
    memset(g->map, 0, w.in->n * sizeof *g->map);
    ok = ok && wf__rewrite_nodes(&w);
    for (uint32_t k = 0; ok && k < g->n; ++k) {
        const wf__ref r = g->load[k];
        if (g->block[r] != g->around)
            continue;
        const unsigned dtype = wf__position_dtype(&g->p->all[w.in->slot[w.in->node[r].a].object]);
        wf__store(out, temp_slot(g, out, g->at[k]), 0, wf__cast(out, position(g, r, out), dtype), 0);
        ok = out->status == WF_OK;
    }
    return ok;
}

/* Records the body that stands for a gather. */
static bool record_gather(const gathers *g, uint32_t k, wf__ir *out)
{
    const unsigned dtype = g->p->plan->temp[g->got[k] - g->p->plan->objects].dtype;
    wf__ir_init(out, g->stage->space.rank, g->stage->recorded.flags);
    const uint32_t at = temp_slot(g, out, g->at[k]), got = temp_slot(g, out, g->got[k]);
    if (out->status == WF_OK)
        wf__store(out, got, 0, wf__cast(out, wf__load(out, at, 0, WF_BORDER_NONE, 0), dtype), 0);
    return out->status == WF_OK;
}

/* Records the element of a gather in place of the load, or what that gives where it reads nothing. */
static wf__ref visit(wf__rewriter *w, wf__ref r)
{
    const gathers *g = w->user;
    const wf__node *n = &w->in->node[r];
    uint32_t k = 0;
    while (k < g->n && g->load[k] != r)
        ++k;
    if (k == g->n)
        return wf__copy_node(w->in, r, w->map, w->out);
    const wf__ref other = wf__otherwise(w->in, n);
    wf__ref got = wf__load(w->out, temp_slot(g, w->out, g->got[k]), 0, WF_BORDER_NONE, 0);
    if (!other || wf__is_const(w->in, other, 0) || w->out->status != WF_OK)
        return got; /* 0 where nothing is read, too */
    wf__ref at = wf__cast(w->out, wf__load(w->out, temp_slot(g, w->out, g->at[k]), 0, WF_BORDER_NONE, 0), WF_I64);
    return wf__op3(w->out, WF__OP_select, wf__index_op(w->out, WF__OP_lt, at, 0), w->map[other], got);
}

static bool record_rest(gathers *g, wf__ir *out)
{
    wf__rewriter w = { .in = &g->stage->recorded, .out = out, .visit = visit, .user = g };
    return wf__pass_begin(w.in, out) && wf__rewrite_nodes(&w);
}

/* ---- stages ---- */
static bool add_temps(gathers *g)
{
    const wf__ir *ir = &g->stage->recorded;
    bool ok = true;
    for (uint32_t k = 0; ok && k < g->n; ++k) {
        const wf__bind *from = &g->p->all[ir->slot[ir->node[g->load[k]].a].object];
        g->at[k] = wf__plan_add_temp(g->p->plan, wf__position_dtype(from), &g->stage->space);
        g->got[k] = wf__plan_add_temp(g->p->plan, ir->node[g->load[k]].dtype, &g->stage->space);
        ok = g->at[k] != UINT32_MAX && g->got[k] != UINT32_MAX;
    }
    return ok;
}

/* Notes the blocks along axis d of the array, which an axis of the grid divides. begin: memory for their first indices. Returns
 * the memory after them. */
static int64_t *set_blocks(wf__gathered *out, int d, wf_dist dist, int axis, int64_t *begin)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    out->begin[d] = begin;
    out->places[d] = dist.grid[axis];
    out->weight[d] = 1;
    for (int k = axis + 1; k < dist.shape.rank; ++k)
        out->weight[d] *= dist.grid[k];
    if (dist.shape.dim[axis] != out->shape.dim[d]) { /* in proportion */
        dist.shape.dim[axis] = out->shape.dim[d];
        dist.unit[axis] = 1;
    }
    for (int32_t place = 0; place < out->places[d]; ++place) {
        wf_dist_range(&dist, place * out->weight[d], lo, hi);
        begin[place] = lo[axis];
        begin[place + 1] = hi[axis];
    }
    return begin + out->places[d] + 1;
}

wf__gathered *wf__gathered_new(const wf__planning *p, uint32_t from)
{
    const wf__bind *b = &p->all[from];
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    const wf_dist *dist = wf__object_cut(p, from, cut, &grid) ? p->bind[grid].dist : NULL;
    size_t n = 0;
    for (int d = 0; d < b->rank; ++d)
        n += cut[d] ? (size_t)dist->grid[cut[d] - 1] + 1 : 0;
    wf__gathered *out = wf__alloc0(sizeof *out + n * sizeof *out->index);
    if (!out)
        return NULL;
    out->from = from;
    out->shape = wf__bind_shape(b);
    int64_t *index = out->index;
    for (int d = 0; d < b->rank; ++d)
        if (cut[d])
            index = set_blocks(out, d, *dist, cut[d] - 1, index);
    return out;
}

/* Returns where the elements of load k come from. NULL = out of memory. */
static wf__gathered *new_gather(const gathers *g, uint32_t k)
{
    const wf__ir *ir = &g->stage->recorded;
    wf__gathered *out = wf__gathered_new(g->p, ir->slot[ir->node[g->load[k]].a].object);
    if (out) {
        out->at = g->at[k];
        out->to = g->got[k];
    }
    return out;
}

wf__box wf__gathered_block(const wf__gathered *g, int rank)
{
    wf__box own = { { 0 }, { 0 } };
    int first = 0; /* of the ranks with these elements, which gives them */
    memcpy(own.hi, g->shape.dim, sizeof own.hi);
    for (int d = 0; d < g->shape.rank; ++d) {
        if (!g->begin[d])
            continue;
        const int32_t place = rank / g->weight[d] % g->places[d];
        own.lo[d] = g->begin[d][place];
        own.hi[d] = g->begin[d][place + 1];
        first += place * g->weight[d];
    }
    if (first != rank)
        own.hi[0] = own.lo[0];
    return own;
}

void wf__gather_in_place(wf__plan *plan, uint32_t s)
{
    const uint32_t at = plan->stage[s].gather->at;
    const wf__temp *from = &plan->temp[at - plan->objects];
    wf__temp *to = &plan->temp[plan->stage[s].gather->to - plan->objects];
    const size_t axes = (size_t)to->shape.rank;
    bool fits = wf__size(from->dtype) == wf__size(to->dtype) && from->in_part == to->in_part &&
                from->origin == to->origin && !memcmp(from->stride, to->stride, axes * sizeof *to->stride);
    if (fits && to->in_part)
        fits = !memcmp(from->held.lo, to->held.lo, axes * sizeof *to->held.lo) &&
               !memcmp(from->held.hi, to->held.hi, axes * sizeof *to->held.hi);
    for (uint32_t k = s + 1; k < plan->stage_n; ++k)
        for (uint32_t i = 0; i < plan->stage[k].recorded.slot_n; ++i)
            fits = fits && plan->stage[k].recorded.slot[i].object != at;
    to->takes = fits ? at + 1 : 0;
}

/* Makes stage s of a new body over the same points, divided likewise. */
static wf__stage *put_stage(gathers *g, uint32_t s, const wf__stage *like, wf__ir *body)
{
    const wf__stage old = *like;
    wf__stage *stage = wf__plan_add_stage(g->p->plan, s);
    if (!stage)
        return NULL;
    stage->space = old.space;
    stage->division.axes = old.division.axes;
    stage->division.grid = old.division.grid;
    memcpy(stage->division.along, old.division.along, sizeof stage->division.along);
    stage->recorded = *body;
    *body = (wf__ir){ 0 };
    return stage;
}

bool wf__share_views(wf__stage *stage, const wf__stage *with)
{
    stage->dropped = with->dropped;
    if (!with->view_n)
        return true;
    stage->view = wf__alloc(with->view_n * sizeof *stage->view);
    if (!stage->view)
        return false;
    memcpy(stage->view, with->view, with->view_n * sizeof *stage->view);
    stage->view_n = with->view_n;
    return true;
}

static bool fail_in(const gathers *g, wf__ir *ir)
{
    wf__plan_fail_in(g->p->plan, ir);
    wf__ir_free(ir);
    return false;
}

/* Puts the stages that store positions before stage s, one for each loop or condition that gathers stand in. Returns the number
 * of stage s from then on; 0 = failure. */
static uint32_t put_positions(gathers *g, uint32_t s)
{
    wf__plan *plan = g->p->plan;
    wf__ir body;
    for (uint32_t k = 0; k < g->n; ++k) {
        uint32_t before = 0;
        g->around = g->block[g->load[k]];
        while (g->block[g->load[before]] != g->around)
            ++before;
        if (before < k)
            continue; /* its position is stored with that one's */
        if (!record_positions(g, &body)) {
            fail_in(g, &body);
            return 0;
        }
        wf__stage *stage = put_stage(g, s, &plan->stage[s], &body);
        wf__ir_free(&body);
        g->stage = &plan->stage[++s];
        if (!stage || !wf__share_views(stage, g->stage)) {
            wf__plan_no_memory(plan);
            return 0;
        }
    }
    return s;
}

/* Puts the new stages before stage s, and takes the loads out of that one. */
static bool divide(gathers *g, uint32_t s)
{
    wf__plan *plan = g->p->plan;
    wf__ir rest, body;
    if ((s = put_positions(g, s)) == 0)
        return false;
    for (uint32_t k = 0; k < g->n; ++k) {
        if (!record_gather(g, k, &body))
            return fail_in(g, &body);
        wf__stage *stage = put_stage(g, s, &plan->stage[s], &body);
        wf__ir_free(&body);
        g->stage = &plan->stage[++s];
        if (!stage || !(stage->gather = new_gather(g, k)))
            return wf__plan_no_memory(plan);
    }
    if (!record_rest(g, &rest))
        return fail_in(g, &rest);
    wf__ir_free(&plan->stage[s].recorded);
    plan->stage[s].recorded = rest;
    wf__plan_because(
        plan, "gathers",
        "the %u stages before stage %u get elements for it from the ranks that have them, because it reads "
        "at indices that have no bounds",
        (unsigned)g->n, (unsigned)s);
    return true;
}

static bool begin(gathers *g)
{
    const size_t n = g->stage->recorded.n;
    g->is = wf__alloc0(3 * n);
    g->map = wf__alloc(3 * n * sizeof *g->map);
    g->range = wf__alloc(n * sizeof *g->range);
    g->at = wf__alloc(2 * n * sizeof *g->at);
    if (!g->is || !g->map || !g->range || !g->at)
        return wf__plan_no_memory(g->p->plan);
    g->live = g->is + n;
    g->mark = g->live + n;
    g->block = g->map + n;
    g->load = g->block + n;
    g->got = g->at + n;
    wf__box point = { { 0 }, { 0 } };
    for (int d = 0; d < g->stage->space.rank; ++d)
        point.hi[d] = 1;
    return wf__find_ranges(g->p, g->stage, &point, g->range);
}

static void end(gathers *g)
{
    wf__free(g->is);
    wf__free(g->map);
    wf__free(g->range);
    wf__free(g->at);
}

bool wf__pass_gathers(wf__planning *p, uint32_t s)
{
    const wf__stage *stage = &p->plan->stage[s];
    const wf__ir *ir = &stage->recorded;
    gathers g = { .p = p, .stage = stage };
    uint8_t cut[WF_MAX_RANK];
    bool any = false;
    for (wf__ref r = 1; r < ir->n && !stage->scan.on && !p->rec->block.rank; ++r)
        any = any || (ir->node[r].op == WF__LOAD && ir->node[r].b && divides(p, ir->slot[ir->node[r].a].object, cut));
    if (!any)
        return true;
    bool ok = begin(&g);
    if (ok && find(&g)) {
        choose(&g);
        ok = wf__find_cuts(p, s, g.is) && add_temps(&g) && divide(&g, s);
    }
    end(&g);
    return ok;
}
