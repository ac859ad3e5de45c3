/* ordinary.c - stages that change arrays of which each rank has all elements, and also what ranks divide. Of the latter, each
 * rank runs the points that its elements need. Of stores to the former it runs all points, and of accumulations into them its
 * share of the points. So the stores to ordinary arrays become a stage of their own, over the same points, before or after the
 * rest, and so do the accumulations where a stage also accumulates into what ranks divide (accumulations.c). Which one comes first follows from what each of them reads that the other one stores; if
 * neither order gives what the recording does, the stage stays as it is, and the pass over regions refuses it.
 */
#include "ir/pass/pass.h"
#include "plan/dependence.h"
#include "plan/distribute/distribute.h"

typedef bool picks(const wf__planning *p, const wf__ir *ir, wf__ref r);

typedef struct parting {
    wf__planning *p;
    uint32_t s;
    picks *pick;       /* true for what becomes a stage of its own */
    uint8_t *ordinary; /* [nodes] what is picked, changes of ordinary arrays, and what that needs */
    uint8_t *rest;     /* [nodes] all other effects, and what they need */
} parting;

static const wf__stage *stage_of(const parting *c) { return &c->p->plan->stage[c->s]; }

static bool is_ordinary(const wf__planning *p, const wf__ir *ir, wf__ref r)
{
    return ir->node[r].op == WF__STORE && !wf__has_regions(p, ir->slot[ir->node[r].a].object);
}

static bool is_tally(const wf__planning *p, const wf__ir *ir, wf__ref r) { return wf__is_tally(p, ir, &ir->node[r]); }

/* Marks both parts. Returns whether the stage has both. */
static bool mark(parting *c)
{
    const wf__ir *ir = &stage_of(c)->recorded;
    bool ordinary = false, rest = false;
    memset(c->ordinary, 0, ir->n);
    memset(c->rest, 0, ir->n);
    wf__mark_effects(ir, c->rest);
    for (wf__ref r = 1; r < ir->n; ++r) {
        if (!c->rest[r])
            continue;
        c->ordinary[r] = c->pick(c->p, ir, r);
        c->rest[r] = !c->ordinary[r];
        ordinary = ordinary || c->ordinary[r];
        rest = rest || c->rest[r];
    }
    wf__mark_live(ir, c->ordinary);
    wf__mark_live(ir, c->rest);
    return ordinary && rest;
}

/* True if ranks divide the points of the stage. *ok = false: out of memory. */
static bool divides(const parting *c, bool *ok)
{
    wf__stage *stage = &c->p->plan->stage[c->s];
    const wf__division before = stage->division;
    *ok = wf__find_cuts(c->p, c->s, NULL);
    const bool any = stage->division.axes != 0;
    stage->division = before;
    return any;
}

/* True if node w writes memory that node r accesses. */
static bool meet(const parting *c, wf__ref r, wf__ref w)
{
    const wf__ir *ir = &stage_of(c)->recorded;
    const wf__node *access = &ir->node[r], *store = &ir->node[w];
    return wf__op_is_access(access->op) && wf__object_overlap(c->p->plan, c->p->all, ir->slot[access->a].object,
                                                              ir->slot[store->a].object) != WF__APART;
}

/* True if all that `first` does may run before all that `second` does: what one of them reads and the other one writes comes in
 * this order in the recording, too. In loops it may come in both. */
static bool may_precede(const parting *c, const uint8_t *first, const uint8_t *second)
{
    const wf__ir *ir = &stage_of(c)->recorded;
    for (wf__ref w = 1; w < ir->n; ++w)
        for (wf__ref r = 1; r < ir->n && wf__op_is_store(ir->node[w].op); ++r) {
            const bool read_first = first[r] && second[w] && !first[w];
            const bool read_second = second[r] && first[w] && !second[w];
            if ((read_first || read_second) && (ir->loops || (read_first ? r > w : r < w)) && meet(c, r, w))
                return false;
        }
    return true;
}

/* Records a part of the stage. */
static bool record(const parting *c, const uint8_t *live, wf__ir *out)
{
    wf__rewriter w = { .in = &stage_of(c)->recorded, .out = out, .live = live };
    bool ok = wf__pass_begin(w.in, out);
    for (uint32_t k = 0; ok && k < out->slot_n; ++k)
        out->slot[k].written = false; /* stores set it */
    if (live == c->ordinary) {
        out->red_n = 0;
        out->joiner = NULL;
    }
    ok = ok && wf__rewrite_nodes(&w);
    if (!ok) {
        wf__plan_fail_in(c->p->plan, out);
        wf__ir_free(out);
    }
    return ok;
}

/* Makes the stores to ordinary arrays a stage, before the rest or after it. */
static bool divide(parting *c, bool before)
{
    wf__plan *plan = c->p->plan;
    wf__ir ordinary, rest;
    if (!record(c, c->ordinary, &ordinary))
        return false;
    if (!record(c, c->rest, &rest)) {
        wf__ir_free(&ordinary);
        return false;
    }
    const uint32_t at = before ? c->s : c->s + 1;
    wf__stage *stage = wf__plan_add_stage(plan, at);
    if (!stage) {
        wf__ir_free(&ordinary);
        wf__ir_free(&rest);
        return false;
    }
    wf__stage *old = &plan->stage[before ? at + 1 : at - 1];
    stage->space = old->space;
    stage->recorded = ordinary;
    wf__ir_free(&old->recorded);
    old->recorded = rest;
    if (!wf__share_views(stage, old))
        return wf__plan_no_memory(plan);
    if (c->pick == is_ordinary)
        wf__plan_because(
            plan, "ordinary-arrays",
            "stage %u stores the arrays of which each rank has all elements, and runs all points on each rank",
            (unsigned)at);
    else
        wf__plan_because(plan, "accumulations",
                         "stage %u accumulates into arrays that each rank has, each its share of the points",
                         (unsigned)at);
    return true;
}

/* Makes what is picked a stage of its own, if that may be. */
static bool part(wf__planning *p, uint32_t s, picks *pick)
{
    const wf__stage *stage = &p->plan->stage[s];
    const wf__ir *ir = &stage->recorded;
    bool any = false, ok = true;
    for (wf__ref r = 1; r < ir->n && !stage->scan.on && !stage->gather && !p->rec->block.rank; ++r)
        any = any || pick(p, ir, r);
    if (!any)
        return true;
    parting c = { .p = p, .s = s, .pick = pick, .ordinary = wf__alloc(2 * (size_t)ir->n) };
    if (!c.ordinary)
        return wf__plan_no_memory(p->plan);
    c.rest = c.ordinary + ir->n;
    if (mark(&c) && divides(&c, &ok)) {
        const bool before = may_precede(&c, c.ordinary, c.rest);
        if (before || may_precede(&c, c.rest, c.ordinary))
            ok = divide(&c, before);
    }
    wf__free(c.ordinary);
    return ok;
}

bool wf__pass_ordinary_arrays(wf__planning *p, uint32_t s) { return part(p, s, is_ordinary); }

bool wf__part_tallies(wf__planning *p, uint32_t s)
{
    const wf__ir *ir = &p->plan->stage[s].recorded;
    bool ordered = false; /* with reductions, sums of floats have another order than without them */
    for (wf__ref r = 1; r < ir->n && ir->red_n; ++r)
        ordered = ordered || (is_tally(p, ir, r) && !wf__any_order(ir->node[r].dtype, wf__node_join(&ir->node[r])));
    return ordered || part(p, s, is_tally);
}
