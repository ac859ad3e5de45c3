/* indices.c - the bounds of indices over a box of points, as far as ranks know them before they run. */
#include "ir/analyse/ranges.h"
#include "plan/distribute/distribute.h"

typedef struct place { /* a stage and points of it */
    const wf__planning *p;
    const wf__stage *stage;
    const wf__box *points;
} place;

static wf__range of_leaf(const void *user, const wf__node *n)
{
    const place *at = user;
    const wf__group *group = at->p->rec->group;
    int64_t x;
    switch (n->op) {
    case WF__INDEX:
        return wf__range_of_points(at->points, (int)n->a);
    case WF__EXTENT:
        x = at->stage->space.dim[n->a];
        return (wf__range){ x, x, true };
    case WF__DIM:
        x = at->p->all[at->stage->recorded.slot[n->a].object].dim[n->b];
        return (wf__range){ x, x, true };
    case WF__PARAM:
        if (n->a >= at->p->plan->params || !wf__is_int(n->dtype)) /* a result of a reduction, or a number of a block */
            return (wf__range){ 0 };
        memcpy(&x, &group->param[n->a], sizeof x);
        x = n->dtype == WF_I64   ? x
            : n->dtype == WF_I32 ? (int32_t)x
            : n->dtype == WF_I16 ? (int16_t)x
            : n->dtype == WF_I8  ? (int8_t)x
            : n->dtype == WF_U16 ? (uint16_t)x
                                 : (uint8_t)x;
        return (wf__range){ x, x, true };
    default:
        return (wf__range){ 0 };
    }
}

bool wf__find_ranges(const wf__planning *p, const wf__stage *stage, const wf__box *points, wf__range *range)
{
    const wf__ir *ir = &stage->recorded;
    const place at = { .p = p, .stage = stage, .points = points };
    const wf__range_leaves leaves = { .of = of_leaf,
                                      .user = &at,
                                      .least = -(INT64_C(1) << 62),
                                      .most = INT64_C(1) << 62,
                                      .counters = true,
                                      .limits = true };
    memset(range, 0, ir->n * sizeof *range);
    return wf__ranges(ir, &leaves, range) || wf__plan_no_memory(p->plan);
}
