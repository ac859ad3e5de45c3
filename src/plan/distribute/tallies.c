/* tallies.c - arrays that each rank has, and that ranks accumulate into: each rank runs its share of the points, and then all
 * ranks join what they have. That is possible where joins give the same bits in any order. */
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

static bool is_dense(const wf__bind *b)
{
    int64_t step = 1;
    bool dense = true;
    for (int d = b->rank - 1; d >= 0; --d) {
        dense = dense && (b->dim[d] <= 1 || b->stride[d] == step);
        step *= b->dim[d];
    }
    return dense;
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

/* Adds the tally of node r, unless it is there. */
static bool add_tally(wf__planning *p, wf__stage *stage, wf__ref r)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    const wf__bind *b = &p->all[ir->slot[n->a].object];
    wf__tally t = {
        .object = ir->slot[n->a].object, .dtype = b->dtype, .join = (uint8_t)wf__node_join(n), .elements = 1
    };
    if (!wf__any_order(b->dtype, t.join))
        return wf__fail_store(p, stage, r,
                              "is accumulated into in an order that depends on the ranks: all joins of integers, and "
                              "minima and maxima, are the same in any order");
    if (!is_dense(b))
        return wf__fail_store(p, stage, r, "is accumulated into by ranks, and is not in C order without gaps");
    if (is_used_otherwise(p, stage, t.object, t.join))
        return wf__fail_store(p, stage, r, "is accumulated into by ranks, and the same stage uses it in another way");
    for (int d = 0; d < b->rank; ++d)
        t.elements *= (size_t)b->dim[d];
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
