/* tallies.c - arrays that each rank has, and that ranks accumulate into: each rank runs its share of the points, and then all
 * ranks join what they have. Where joins give the same bits in any order, each rank joins the values of its points in the
 * array itself. Sums and products of floats have an order, which the shape decides: each box of points has a private copy of
 * the array, and ranks join the copies of all boxes in the order of one process. */
#include "plan/dependence.h"
#include "plan/distribute/distribute.h"

bool wf__fail_store(wf__planning *p, const wf__stage *stage, wf__ref r, const char *why)
{
    const wf__node *n = &stage->recorded.node[r];
    char called[WF__CALLED];
    return wf__plan_fail_at(p->plan, WF_SECTION_CALL, &stage->recorded, r, WF_ERR_UNSUPPORTED, "%s: %s %s",
                            wf__function_of(n), wf__bind_called(&p->all[stage->recorded.slot[n->a].object], called),
                            why);
}

bool wf__is_tally(const wf__planning *p, const wf__ir *ir, const wf__node *n)
{
    return n->op == WF__ACCUM && !wf__has_regions(p, ir->slot[n->a].object);
}

/* True if the stage does something else with memory of the object than joins like this one. */
static bool is_used_otherwise(const wf__planning *p, const wf__stage *stage, uint32_t object, unsigned join)
{
    const wf__ir *ir = &stage->recorded;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (!wf__op_is_access(n->op))
            continue;
        const uint32_t other = ir->slot[n->a].object;
        if (other == object ? n->op != WF__ACCUM || wf__node_join(n) != join
                            : wf__object_overlap(p->plan, p->all, other, object) != WF__APART)
            return true;
    }
    return false;
}

/* How a stage accumulates into an object. */
typedef struct updating {
    bool itself; /* some code updates the array itself */
    bool copies; /* some code updates private copies */
    bool atomic; /* some of the former does so by atomic operations, where points may meet */
} updating;

static updating updating_of(const wf__stage *stage, uint32_t object)
{
    const wf__ir *ir = &stage->lowered;
    updating out = { .itself = false };
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__ACCUM || ir->slot[n->a].object != object)
            continue;
        const bool copies = ir->slot[n->a].spread;
        out.copies = out.copies || copies;
        out.itself = out.itself || !copies;
        out.atomic = out.atomic || (!copies && wf__node_mode(n) != WF__MODE_EXPAND);
    }
    return out;
}

/* Fails unless the order of joins of floats is the same for any number of ranks. */
static bool check_order(wf__planning *p, const wf__stage *stage, wf__ref r, const updating *how)
{
    const unsigned mode = wf__node_mode(&stage->recorded.node[r]);
    if (stage->empty)
        return true;
    if (mode == WF__MODE_DIRECT || mode == WF__MODE_LOCAL)
        return wf__fail_store(p, stage, r,
                              "is accumulated into by ranks, and sums and products of floats need WF_MODE_AUTO or "
                              "WF_MODE_EXPAND for an order that all ranks share");
    if (how->atomic || (how->copies && !stage->copies.groups))
        return wf__fail_store(
            p, stage, r,
            "is accumulated into by ranks, and is too large for the copies that give sums and products "
            "of floats an order that all ranks share: it may have 1 MiB, and less with a small wf_set_expand_bytes");
    if (how->itself && stage->lowered.loops)
        return wf__fail_store(p, stage, r,
                              "is accumulated into by ranks, at the points' own places in a loop, which adds to the "
                              "elements before in another order than ranks do: add up in a variable of the loop");
    if (how->copies && stage->copies.per != WF__PER_BOX)
        return wf__fail_store(p, stage, r,
                              "is accumulated into by ranks, which give sums and products of floats an order of their "
                              "own, in a stage that also reduces: make it two launches");
    return true;
}

/* Adds the tally of node r, unless it is there. */
static bool add_tally(wf__planning *p, wf__stage *stage, wf__ref r)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    const wf__bind *b = &p->all[ir->slot[n->a].object];
    wf__tally t = {
        .object = ir->slot[n->a].object, .dtype = b->dtype, .join = (uint8_t)wf__node_join(n), .elements = 1
    };
    const updating how = updating_of(stage, t.object);
    if (!wf__any_order(b->dtype, t.join) && !check_order(p, stage, r, &how))
        return false;
    if (!wf__is_c_order(b->dim, b->stride, b->rank))
        return wf__fail_store(p, stage, r, "is accumulated into by ranks, and is not in C order without gaps");
    if (is_used_otherwise(p, stage, t.object, t.join))
        return wf__fail_store(p, stage, r, "is accumulated into by ranks, and the same stage uses it in another way");
    for (int d = 0; d < b->rank; ++d)
        t.elements *= (size_t)b->dim[d];
    /* Other copies than those of boxes are joined with the array on their rank, as code does that updates it itself. */
    const bool in_copies = how.copies && stage->copies.per == WF__PER_BOX;
    stage->division.joins_copies = stage->division.joins_copies || in_copies;
    if (in_copies && !how.itself)
        return true;
    for (uint32_t k = 0; k < stage->division.tallies; ++k)
        if (stage->division.tally[k].object == t.object)
            return true;
    stage->division.tally[stage->division.tallies++] = t;
    return true;
}

bool wf__find_tallies(wf__planning *p)
{
    for (uint32_t s = 0; s < p->plan->stage_n; ++s) {
        wf__stage *stage = &p->plan->stage[s];
        const wf__ir *ir = &stage->recorded;
        uint32_t most = 0;
        for (wf__ref r = 1; r < ir->n && stage->division.axes && !stage->scan.on; ++r)
            most += wf__is_tally(p, ir, &ir->node[r]);
        if (most && !(stage->division.tally = wf__alloc(most * sizeof *stage->division.tally)))
            return wf__plan_no_memory(p->plan);
        for (wf__ref r = 1; r < ir->n && most; ++r)
            if (wf__is_tally(p, ir, &ir->node[r]) && !add_tally(p, stage, r))
                return false;
    }
    return true;
}
