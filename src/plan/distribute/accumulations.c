/* accumulations.c - accumulations into arrays that ranks divide. Which rank has the element that a point joins a value with
 * follows from indices, which may come from memory. There are three ways:
 *
 *   - OWN: along all axes that ranks divide, the index is a point's own plus a number. Then the rank that has the element runs
 *     the point, as it does for a store, and joins the value itself
 *   - WHOLE: the array is small. All ranks accumulate into a temporary array that each of them has whole, as they do into
 *     ordinary arrays (tallies.c). A stage after that joins it with the array, each rank its block
 *   - SENT: the stage stores the position of the element, numbered in C order of the array, and the value, in temporary arrays
 *     with an element for each point; -1 where the point joins nothing. A stage of its own sends both to the rank that has
 *     the element, which joins them (wf__gathered). Its body stands for that. The runner exchanges the values of all these
 *     stages at once (src/plan/schedule.c, src/run/cpu/scatter.c)
 *
 * A store at any index along an axis that ranks divide is SENT as well: its values replace elements.
 *
 * Where a stage accumulates into arrays that each rank has, WHOLE or ordinary ones, and also does other things, these become
 * a stage of their own, as each rank runs its share of the points for the former and what elements need for the latter.
 *
 * WHOLE has the bits of one process for sums and products of floats, too. With SENT, each element is joined with the values of
 * one such accumulation in the order of the points, then with those of the next one. OWN is for joins that give the same bits in
 * any order, and for points that each have an element of their own. The choice depends on the recording, shapes and
 * distributions alone, so all ranks decide alike.
 *
 * On one process, where the shape is to decide the order of sums (wf__orders_by_shape), those that ranks would send become SENT
 * as well: that is the order for any number of threads.
 */
#include "ir/cost.h"
#include "ir/pass/pass.h"
#include "plan/dependence.h"
#include "plan/distribute/distribute.h"

typedef enum way { NONE, OWN, WHOLE, SENT } way;

typedef struct accumulations {
    wf__planning *p;
    uint32_t s;
    wf__stage *stage;
    uint8_t *way; /* [nodes] */
    uint8_t *
        divided; /* [nodes] accumulations into arrays that ranks divide, and stores that are SENT; on one process, sums that are SENT */
    uint8_t *meets; /* [nodes] their order decides the bits */
    wf_axes others; /* axes along which other accesses divide the points */
    uint32_t *at,
        *value;     /* [nodes] WHOLE: the temporary array, and its slot in the new body; SENT: positions and values */
    wf__ref *block; /* [nodes] wf__find_blocks */
} accumulations;

/* ---- which way ---- */
static bool divides(const wf__planning *p, uint32_t object, uint8_t cut[WF_MAX_RANK])
{
    uint32_t grid;
    return wf__object_cut(p, object, cut, &grid);
}

/* True if there are ranks that may have parts of arrays. A single rank is as one process. */
static bool has_others(const wf__planning *p) { return wf__has_ranks(p) && p->rec->group->ranks > 1; }

/* True for an accumulation into an array of which ranks have parts. One with a single index along the axes that the grid divides
 * is part of the first rank's block, and empty on others. */
static bool is_divided(const wf__planning *p, const wf__ir *ir, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    return n->op == WF__ACCUM && wf__is_distributed(p, ir->slot[n->a].object);
}

/* True if nothing else in the stage changes memory of the array of node n. */
static bool is_alone(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    const wf__ir *ir = &stage->recorded;
    uint32_t changes = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        changes +=
            wf__op_is_store(ir->node[r].op) &&
            wf__object_overlap(p->plan, p->all, ir->slot[ir->node[r].a].object, ir->slot[n->a].object) != WF__APART;
    return changes == 1;
}

/* True if no two points join values with one element by node n. */
static bool is_distinct(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    const int rank = p->all[stage->recorded.slot[n->a].object].rank;
    const wf__places places = wf__places_of_store(p, stage, n);
    bool seen[WF_MAX_RANK] = { false }, all = true;
    for (int k = 0; k < rank; ++k)
        if (places.axis[k] >= 0)
            seen[places.axis[k]] = true;
    for (int d = 0; d < stage->space.rank; ++d)
        all = all && (seen[d] || stage->space.dim[d] < 2);
    return all || wf__node_mode(n) == WF__MODE_NO_CONFLICT;
}

/* True if each element is joined with the value of one point at most. */
static bool is_apart(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    return is_distinct(p, stage, n) && is_alone(p, stage, n);
}

static bool has_any_order(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    return wf__any_order(p->all[stage->recorded.slot[n->a].object].dtype, wf__node_join(n));
}

bool wf__joins_own(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    const uint32_t object = stage->recorded.slot[n->a].object;
    uint8_t cut[WF_MAX_RANK];
    if (!wf__is_distributed(p, object) || !divides(p, object, cut))
        return false;
    const wf__places places = wf__places_of_store(p, stage, n);
    for (int k = 0; k < p->all[object].rank; ++k)
        if (cut[k] && places.axis[k] < 0)
            return false;
    return has_any_order(p, stage, n) || is_apart(p, stage, n);
}

/* True for accumulations that share a temporary array: those into one array by one join, where its order does not matter, or
 * which have a private copy together on one process. Others are joined with the array one after the other, as their copies are
 * there. */
static bool share_array(const wf__ir *ir, wf__ref a, wf__ref b)
{
    const wf__node *n = &ir->node[a], *m = &ir->node[b];
    return ir->slot[n->a].object == ir->slot[m->a].object && wf__node_join(n) == wf__node_join(m) &&
           (wf__any_order(n->dtype, wf__node_join(n)) || wf__are_parts(ir, n, m));
}

static double bytes_of(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    const wf__bind *b = &p->all[stage->recorded.slot[n->a].object];
    double bytes = wf__size(wf__update_dtype(b->dtype, wf__node_join(n)));
    for (int d = 0; d < b->rank; ++d)
        bytes *= (double)b->dim[d];
    return bytes;
}

/* True if ranks send and get fewer bytes by an array that each has whole than by values with numbers of elements. */
static bool is_smaller(const accumulations *a, wf__ref r)
{
    const wf__ir *ir = &a->stage->recorded;
    const wf__node *n = &ir->node[r];
    const double ranks = a->p->rec->group->ranks;
    double values = 0;
    for (wf__ref q = 1; q < ir->n; ++q)
        if (a->divided[q] && share_array(ir, r, q))
            values += (double)wf__turns_of(ir, q);
    for (int d = 0; d < a->stage->space.rank; ++d)
        values *= (double)a->stage->space.dim[d];
    const double each = (double)(sizeof(uint32_t) + wf__size(wf__update_dtype(n->dtype, wf__node_join(n))));
    return ranks * bytes_of(a->p, a->stage, n) <= values / ranks * each;
}

/* True if ranks would divide the points along other axes, too, were it not for the rank that has the element of node n. */
static bool divides_otherwise(const accumulations *a, const wf__node *n)
{
    const uint32_t object = a->stage->recorded.slot[n->a].object;
    const wf__places places = wf__places_of_store(a->p, a->stage, n);
    uint8_t cut[WF_MAX_RANK];
    wf_axes along = 0;
    divides(a->p, object, cut);
    for (int k = 0; k < a->p->all[object].rank; ++k)
        if (cut[k])
            along |= (wf_axes)1 << places.axis[k];
    return a->others & ~along;
}

/* Returns the way of an accumulation. NONE = there is none, with *why. */
static way choose(const accumulations *a, wf__ref r, const char **why)
{
    const wf__ir *ir = &a->stage->recorded;
    const wf__node *n = &ir->node[r];
    const bool any_order = has_any_order(a->p, a->stage, n), turns = wf__turns_end(ir, r) != 0;
    if (wf__joins_own(a->p, a->stage, n) && (turns || !divides_otherwise(a, n)))
        return OWN;
    if (bytes_of(a->p, a->stage, n) <= WF__REPRODUCED_BYTES || (any_order && is_smaller(a, r)))
        return WHOLE;
    *why =
        any_order
            ? "is accumulated into in a loop, at indices that ranks do not know before they run, and is too large for a "
              "copy that each of them has: it may have 1 MiB, and more where there are many values for each element"
            : "is accumulated into in a loop, and is too large for the copies that give sums and products of floats "
              "an order that all ranks share: it may have 1 MiB";
    return turns ? NONE : SENT;
}

/* True for sums and products of floats where points meet, in an order that depends on more than each element's values. */
static bool may_meet(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    return !has_any_order(p, stage, n) && !is_apart(p, stage, n);
}

/* True for sums on one process that are joined in the order of points. */
static bool is_sorted(const wf__planning *p, const wf__stage *stage, wf__ref r)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    return n->op == WF__ACCUM && wf__node_mode(n) != WF__MODE_DIRECT && wf__node_mode(n) != WF__MODE_LOCAL &&
           !wf__turns_end(ir, r) && may_meet(p, stage, n) && bytes_of(p, stage, n) > WF__REPRODUCED_BYTES &&
           !wf__bind_repeats(&p->all[ir->slot[n->a].object]);
}

/* True for sums and products of floats where points meet and arrays have private copies: their order follows from all arrays of
 * the stage that have such copies. */
static bool is_ordered(const accumulations *a, wf__ref r)
{
    const wf__node *n = &a->stage->recorded.node[r];
    return ((a->divided[r] && a->way[r] != SENT) || wf__is_tally(a->p, &a->stage->recorded, n)) &&
           may_meet(a->p, a->stage, n);
}

/* Where there are such sums, all arrays that have copies on one process become WHOLE, so that the order is that of one process. */
static bool keep_order(accumulations *a)
{
    static const char with_sums[] =
        "is accumulated into, in one stage with sums or products of floats, whose order depends on it, and is too large for "
        "a copy that each rank has: make it two launches";
    const wf__ir *ir = &a->stage->recorded;
    bool ordered = false, meet = false; /* meet: points meet within one of them */
    for (wf__ref r = 1; r < ir->n; ++r) {
        ordered = ordered || is_ordered(a, r);
        meet = meet || (is_ordered(a, r) && !is_distinct(a->p, a->stage, &ir->node[r]));
    }
    for (wf__ref r = 1; r < ir->n && ordered; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__STORE || (a->way[r] == SENT && may_meet(a->p, a->stage, n)))
            continue; /* it has no copies on one process either */
        if ((a->way[r] == OWN || a->way[r] == SENT) && !is_apart(a->p, a->stage, n))
            a->way[r] = bytes_of(a->p, a->stage, n) <= WF__REPRODUCED_BYTES ? WHOLE : NONE;
        if (a->divided[r] && !a->way[r])
            return wf__fail_store(a->p, a->stage, r, with_sums);
        if (a->divided[r] && meet && is_distinct(a->p, a->stage, n) && !is_alone(a->p, a->stage, n))
            return wf__fail_store(
                a->p, a->stage, r,
                "is accumulated into twice, in one stage with sums or products of floats, whose order "
                "depends on it: make it two launches");
    }
    return true;
}

/* ---- the stage ---- */
/* Makes the temporary arrays of node r. Accumulations by one join share an array that each rank has whole. */
static bool add_temps(accumulations *a, wf__ref r)
{
    const wf__ir *ir = &a->stage->recorded;
    const wf__bind array = a->p->all[ir->slot[ir->node[r].a].object];
    const unsigned join = wf__node_join(&ir->node[r]);
    const unsigned dtype = ir->node[r].op == WF__ACCUM ? wf__update_dtype(array.dtype, join) : array.dtype;
    const wf_shape shape = wf__bind_shape(&array);
    if (a->way[r] == SENT) {
        a->at[r] = wf__plan_add_temp(a->p->plan, wf__position_dtype(&array), &a->stage->space);
        a->value[r] = wf__plan_add_temp(a->p->plan, dtype, &a->stage->space);
        return a->at[r] != UINT32_MAX && a->value[r] != UINT32_MAX && wf__planning_bind(a->p);
    }
    for (wf__ref q = 1; q < r; ++q)
        if (a->way[q] == WHOLE && share_array(ir, q, r)) {
            a->at[r] = a->at[q];
            return true;
        }
    a->at[r] = wf__plan_add_temp(a->p->plan, dtype, &shape);
    if (a->at[r] == UINT32_MAX || !wf__planning_bind(a->p))
        return false;
    a->p->plan->temp[a->at[r] - a->p->plan->objects].tally = (uint8_t)(1 + join);
    a->p->all[a->at[r]].name = array.name; /* for messages */
    a->p->all[a->at[r]].number = array.number;
    return true;
}

/* Returns the slot of a temporary with an element for each point. */
static uint32_t temp_slot(const accumulations *a, wf__ir *ir, uint32_t object)
{
    return wf__slot_new(ir, a->p->all[object].dtype, a->stage->space.rank, true, object);
}

/* Returns the slot of the array that each rank has whole. */
static uint32_t whole_slot(accumulations *a, wf__ref r, wf__ir *out)
{
    const wf__bind *b = &a->p->all[a->at[r]];
    for (uint32_t s = 0; s < out->slot_n; ++s)
        if (out->slot[s].object == a->at[r])
            return s;
    return wf__slot_new(out, b->dtype, b->rank, false, a->at[r]);
}

/* Stores the position and the value of an accumulation that is sent. In a condition around it the position is -1 before. */
static void store_sent(const accumulations *a, wf__ref r, const wf__ref *map, wf__ir *out)
{
    const wf__ir *in = &a->stage->recorded;
    const wf__node *n = &in->node[r];
    const wf__bind *b = &a->p->all[in->slot[n->a].object];
    const unsigned dtype = a->p->all[a->at[r]].dtype;
    wf__ref at = wf__const_bits(out, WF_I64, 0);
    for (int k = 0; k < b->rank; ++k) {
        const wf__ref extent = wf__const_bits(out, WF_I64, (uint64_t)b->dim[k]);
        const wf__ref index = wf__cast(out, map[wf__tuple_at(in, n->b)[k]], WF_I64);
        at = wf__op2(out, WF__OP_add, wf__op2(out, WF__OP_mul, at, extent), index);
    }
    if (n->d)
        at = wf__op3(out, WF__OP_select, map[n->d], at, wf__const_bits(out, WF_I64, UINT64_MAX));
    wf__store(out, temp_slot(a, out, a->at[r]), 0, wf__cast(out, at, dtype), 0);
    wf__store(out, temp_slot(a, out, a->value[r]), 0, map[n->c], 0);
}

static wf__ref visit(wf__rewriter *w, wf__ref r)
{
    accumulations *a = w->user;
    const wf__node *n = &w->in->node[r];
    switch (a->way[r]) {
    case WHOLE:
        wf__accum(w->out, whole_slot(a, r, w->out), wf__copy_tuple(w->in, n->b, w->map, w->out), wf__node_join(n),
                  wf__node_mode(n), w->map[n->c], n->d ? w->map[n->d] : 0);
        return 0;
    case SENT:
        store_sent(a, r, w->map, w->out);
        return 0;
    default:
        return wf__copy_node(w->in, r, w->map, w->out);
    }
}

/* Records the stage without the accumulations that other stages do. */
static bool record_rest(accumulations *a, wf__ir *out)
{
    wf__rewriter w = { .in = &a->stage->recorded, .out = out, .visit = visit, .user = a };
    bool ok = wf__pass_begin(w.in, out);
    for (uint32_t s = 0; ok && s < out->slot_n; ++s)
        out->slot[s].written = false; /* stores set it */
    for (wf__ref r = 1; ok && r < w.in->n; ++r)
        if (a->way[r] == SENT && a->block[r]) {
            const unsigned dtype = a->p->all[a->at[r]].dtype;
            const wf__ref none = wf__cast(out, wf__const_bits(out, WF_I64, UINT64_MAX), dtype);
            wf__store(out, temp_slot(a, out, a->at[r]), 0, none, 0);
            ok = out->status == WF_OK;
        }
    return ok && wf__rewrite_nodes(&w);
}

/* Divides the points of a stage that touches no array which ranks divide as the object is divided: ranks send the values of its
 * points in any case. */
static bool divide_points(accumulations *a, uint32_t object)
{
    wf__division *division = &a->stage->division;
    const wf__division before = *division;
    const wf__ir *ir = &a->stage->recorded;
    uint8_t cut[WF_MAX_RANK];
    if (!wf__find_cuts(a->p, a->s, NULL))
        return false;
    bool others = division->axes || ir->red_n;
    *division = before;
    for (wf__ref q = 1; q < ir->n && !others; ++q)
        others = wf__op_is_store(ir->node[q].op) && ir->slot[ir->node[q].a].object < a->p->plan->objects;
    if (others)
        return true;
    divides(a->p, object, cut);
    int d = 0;
    for (int k = 0; k < a->p->all[object].rank; ++k) {
        if (!cut[k])
            continue;
        while (d < a->stage->space.rank && a->stage->space.dim[d] < 2)
            ++d;
        if (d == a->stage->space.rank)
            break;
        division->axes |= (wf_axes)1 << d;
        division->along[d++] = cut[k];
        division->grid = object;
    }
    return true;
}

/* ---- stages after it ---- */
static bool put_stage(accumulations *a, uint32_t at, const wf_shape *space, wf__ir *body, wf__gathered *gather)
{
    wf__stage *stage = wf__plan_add_stage(a->p->plan, at);
    a->stage = &a->p->plan->stage[a->s];
    if (!stage)
        return false;
    stage->space = *space;
    stage->recorded = *body;
    stage->gather = gather;
    *body = (wf__ir){ 0 };
    return true;
}

/* Records the body that stands for the exchange of an accumulation: in = the stage before it was recorded without that. */
static void record_sent(const accumulations *a, const wf__ir *in, wf__ref r, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    const wf__bind *b = &a->p->all[in->slot[n->a].object];
    wf__ref index[WF_MAX_RANK];
    wf__ir_init(out, a->stage->space.rank, in->flags);
    const uint32_t to = wf__slot_new(out, b->dtype, b->rank, false, in->slot[n->a].object);
    const uint32_t at_slot = temp_slot(a, out, a->at[r]), value_slot = temp_slot(a, out, a->value[r]);
    if (out->status != WF_OK)
        return;
    wf__ref at = wf__cast(out, wf__load(out, at_slot, 0, WF_BORDER_NONE, 0), WF_I64);
    const wf__ref some = wf__index_op(out, WF__OP_ge, at, 0);
    for (int k = b->rank - 1; k > 0; --k) {
        index[k] = wf__index_op(out, WF__OP_mod, at, b->dim[k]);
        at = wf__index_op(out, WF__OP_idiv, at, b->dim[k]);
    }
    index[0] = at;
    const wf__ref value = wf__load(out, value_slot, 0, WF_BORDER_NONE, 0);
    const uint32_t tuple = wf__tuple(out, index, (uint32_t)b->rank);
    if (n->op == WF__ACCUM)
        wf__accum(out, to, tuple, wf__node_join(n), WF__MODE_DIRECT, value, some);
    else
        wf__store(out, to, tuple, value, some);
}

/* Records the join of an array that each rank has whole with the array of node r. */
static void record_whole(const accumulations *a, const wf__ir *in, wf__ref r, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    const wf__bind *b = &a->p->all[in->slot[n->a].object], *whole = &a->p->all[a->at[r]];
    wf__ir_init(out, b->rank, in->flags);
    const uint32_t to = wf__slot_new(out, b->dtype, b->rank, true, in->slot[n->a].object);
    const uint32_t from = wf__slot_new(out, whole->dtype, b->rank, true, a->at[r]);
    if (out->status != WF_OK)
        return;
    const wf__ref before = wf__cast(out, wf__load(out, to, 0, WF_BORDER_NONE, 0), whole->dtype);
    const wf__ref after =
        wf__op2(out, wf__join_op((wf_join)wf__node_join(n)), before, wf__load(out, from, 0, WF_BORDER_NONE, 0));
    wf__store(out, to, 0, wf__cast(out, after, b->dtype), 0);
}

/* Puts the stages for node r behind stage `at`. in: the stage as it was. Returns the last one; 0 = failure. */
static uint32_t put_after(accumulations *a, const wf__ir *in, wf__ref r, uint32_t at)
{
    const uint32_t object = in->slot[in->node[r].a].object;
    const wf_shape shape = a->way[r] == SENT ? a->stage->space : wf__bind_shape(&a->p->all[object]);
    wf__gathered *gather = NULL;
    wf__ir body;
    if (a->way[r] == SENT) {
        if (!(gather = wf__gathered_new(a->p, object))) {
            wf__plan_no_memory(a->p->plan);
            return 0;
        }
        gather->at = a->at[r];
        gather->to = a->value[r];
        gather->joins = true;
        gather->stores = in->node[r].op == WF__STORE;
        gather->join = gather->stores ? 0 : (uint8_t)wf__node_join(&in->node[r]);
        gather->in_order = a->meets[r];
        record_sent(a, in, r, &body);
    } else
        record_whole(a, in, r, &body);
    bool ok = body.status == WF_OK;
    if (!ok)
        wf__plan_fail_in(a->p->plan, &body);
    ok = ok && put_stage(a, at + 1, &shape, &body, gather);
    wf__ir_free(&body);
    if (ok)
        return at + 1;
    wf__free(gather);
    return 0;
}

/* Records the stage again, and puts the stages after it that complete its accumulations. */
static bool divide(accumulations *a)
{
    wf__plan *plan = a->p->plan;
    wf__ir rest, old;
    if (!record_rest(a, &rest)) {
        wf__plan_fail_in(plan, &rest);
        wf__ir_free(&rest);
        return false;
    }
    old = a->stage->recorded;
    a->stage->recorded = rest;
    uint32_t last = a->s;
    bool ok = true;
    for (way now = WHOLE; now <= SENT; ++now) /* all that is sent is sent at once */
        for (wf__ref r = 1; ok && r < old.n; ++r) {
            bool first = a->way[r] == now;
            for (wf__ref q = 1; q < r && first && now == WHOLE; ++q)
                first = a->way[q] != WHOLE || !share_array(&old, q, r);
            if (!first)
                continue;
            if (now == SENT && has_others(a->p))
                ok = divide_points(a, old.slot[old.node[r].a].object);
            ok = ok && (last = put_after(a, &old, r, last)) != 0;
        }
    wf__ir_free(&old);
    if (ok)
        wf__plan_because(
            plan, "accumulations", "the %u stages after stage %u join what it accumulates with elements %s",
            (unsigned)(last - a->s), (unsigned)a->s, has_others(a->p) ? "that ranks divide" : "in the order of points");
    return ok;
}

/* Finds the axes along which other accesses than accumulations into divided arrays divide the points. */
static bool find_others(accumulations *a)
{
    const wf__division before = a->stage->division;
    const bool ok = wf__find_cuts(a->p, a->s, a->divided);
    a->others = a->stage->division.axes;
    a->stage->division = before;
    return ok;
}

/* Chooses the way of each accumulation. *any: other stages complete some of them. */
static bool choose_all(accumulations *a, bool *any)
{
    wf__ir *ir = &a->stage->recorded;
    *any = false;
    wf__find_blocks(ir, a->block);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const char *why = NULL;
        if (!a->divided[r])
            continue;
        a->way[r] = (uint8_t)(has_others(a->p) && ir->node[r].op == WF__ACCUM ? choose(a, r, &why) : SENT);
        if (a->way[r] == NONE)
            return wf__fail_store(a->p, a->stage, r, why);
    }
    if (has_others(a->p) && !keep_order(a))
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        *any = *any || a->way[r] > OWN;
        if (a->way[r] == OWN) { /* the memory of a block has no private copies */
            const unsigned mode = is_apart(a->p, a->stage, &ir->node[r]) ? WF__MODE_NO_CONFLICT : WF__MODE_DIRECT;
            ir->node[r].aux = (uint8_t)(wf__node_join(&ir->node[r]) | mode << 4);
        } else if (a->way[r] && !add_temps(a, r))
            return false;
    }
    return true;
}

/* True for a store at any index along an axis that ranks divide, which is alone in the stage: no order decides the result, as no
 * two points store one element. */
static bool is_sent_store(const wf__planning *p, const wf__stage *stage, wf__ref r)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    return n->op == WF__STORE && n->b && wf__is_distributed(p, ir->slot[n->a].object) &&
           wf__places_of_store(p, stage, n).unknown >= 0 && !wf__turns_end(ir, r) && is_alone(p, stage, n);
}

/* True for what the pass replaces, or leaves to the rank that has the element. */
static bool counts(const wf__planning *p, const wf__stage *stage, wf__ref r)
{
    if (!has_others(p))
        return is_sorted(p, stage, r);
    return is_divided(p, &stage->recorded, r) || is_sent_store(p, stage, r);
}

bool wf__pass_accumulations(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    const size_t n = stage->recorded.n;
    bool any = false;
    if (stage->scan.on || stage->gather || p->rec->block.rank)
        return true;
    if (!has_others(p) &&
        ((!wf__has_ranks(p) && !wf__orders_by_shape(&stage->recorded)) || /* cuts.c sets the flag later */
         stage->recorded.flags & WF_FLAG_DEBUG))
        return true;
    for (wf__ref r = 1; r < n; ++r)
        any = any || counts(p, stage, r);
    if (!any)
        return true;
    accumulations a = { .p = p, .s = s, .stage = stage };
    a.way = wf__alloc0(3 * n);
    a.at = wf__alloc0(3 * n * sizeof *a.at);
    bool ok = (a.way && a.at) || wf__plan_no_memory(p->plan);
    if (ok) {
        a.divided = a.way + n;
        a.meets = a.divided + n;
        a.value = a.at + n;
        a.block = a.value + n;
        for (wf__ref r = 1; r < n; ++r)
            if (counts(p, stage, r)) {
                a.divided[r] = true;
                a.meets[r] = stage->recorded.node[r].op == WF__ACCUM && may_meet(p, stage, &stage->recorded.node[r]);
            }
        ok = find_others(&a) && choose_all(&a, &any) && (!any || divide(&a));
        ok = ok && (!has_others(p) || wf__part_tallies(p, s));
    }
    wf__free(a.way);
    wf__free(a.at);
    return ok;
}
