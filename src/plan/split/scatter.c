/* scatter.c - SCATTERs of an array graph: accumulations into a temporary, which starts with neutral elements. */
#include "plan/split/split.h"

/* What changes nothing by the join of a SCATTER. */
static wf__ref neutral(wf__ir *ir, const wf__node *scatter)
{
    const wf_join join = wf__scatter_join(scatter);
    if (join == WF_JOIN_ADD || wf__is_complex(scatter->dtype))
        return wf__const_f64(ir, scatter->dtype, join == WF_JOIN_MUL ? 1 : 0);
    return wf__const_bits(ir, scatter->dtype, wf__join_neutral(join, scatter->dtype));
}

bool wf__split_points(splitter *s, wf__ref r, wf_shape *out)
{
    const wf__node *n = &s->ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = n->op == WF__SCATTER ? wf__operands(s->ir, n, operand) : 0;
    *out = count ? (wf_shape){ 0 } : s->shape[r];
    for (uint32_t i = 0; i < count; ++i)
        if (!wf__broadcast(out, &s->shape[operand[i]], out))
            return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE,
                                    "wf_scatter: the value and its indices do not broadcast");
    return true;
}

/* True if the accumulation may join a group that is there already, from `bound` on, which no group with the temporary
 * precedes. A group that keeps axes of a reduction has a layout for these, not for accumulating. */
static bool joins_earlier(const splitter *s, uint32_t bound, const wf_shape *points, const wf_shape *shape)
{
    const uint32_t g = wf__split_find(s, bound, points, 0);
    return g < s->group_n && wf__split_find(s, 0, shape, 0) >= g &&
           (!s->group[g].reduce_n || wf__has_one_point(&s->shape[s->group[g].reduce[0]]));
}

bool wf__split_begin_scatter(splitter *s, wf__ref r, uint32_t *bound)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *shape = &s->shape[r];
    uint32_t temp = s->result[r] = wf__plan_add_temp(s->plan, n->dtype, shape), g = 0;
    wf_shape points;
    if (temp == UINT32_MAX || !wf__split_points(s, r, &points))
        return false;
    /* In front: local memory keeps a block in the group of another one, and what is accumulated may have a group already. */
    if (s->in || joins_earlier(s, *bound, &points, shape)) {
        if (!wf__group_add(s, 0, shape))
            return false;
        ++*bound;
    } else
        g = wf__split_choose(s, 0, shape, 0);
    if (g == UINT32_MAX || !wf__split_store(s, &s->group[g], temp, n, shape->rank, neutral(&s->group[g].ir, n)))
        return false;
    *bound = *bound > g ? *bound : g + 1;
    return true;
}

bool wf__split_place_scatter(splitter *s, wf__ref root, uint32_t bound)
{
    wf_shape points;
    if (!wf__split_points(s, root, &points) || !wf__split_begin_scatter(s, root, &bound))
        return false;
    uint32_t g = wf__split_choose(s, bound, &points, 0);
    g = g == UINT32_MAX ? g : wf__split_record(s, g);
    if (g == UINT32_MAX)
        return false;
    group *to = &s->group[g];
    pending accum;
    s->home[root] = g;
    if (!wf__split_scatter(s, to, root, &accum) ||
        !wf__grow(&to->store, &to->store_cap, to->store_n + 1, sizeof *to->store))
        return wf__plan_no_memory(s->plan);
    to->store[to->store_n++] = accum;
    return wf__split_note_loads(s, g);
}
