/* fuse.c - stages that run piece by piece with the one before, so that what they take is still in the cache.
 *
 * A stage that uses the results of a reduction, element by element, may run box by box right after it: then the
 * results need not go through memory. Possible where the next stage walks the same points in the same order, alone uses
 * the results, and no box of one stage touches what another box of the other one writes.
 *
 * A scan in place may have its elements computed part by part: where the stage before walks them in C order, and
 * touches nothing else of what the scan writes. A stage that alone uses the result of a scan, and walks it in C order,
 * may follow part by part, where it writes nothing that the others read later.
 */
#include "plan/passes.h"

static bool is_result(const wf__stage *stage, uint32_t object)
{
    for (uint32_t k = 0; k < stage->body.red_n; ++k)
        if (stage->result[k] == object)
            return true;
    return false;
}

static bool uses_results(const wf__stage *stage, const wf__stage *user)
{
    if (user->scan.on)
        return is_result(stage, user->scan.from);
    for (uint32_t s = 0; s < user->body.slot_n; ++s)
        if (is_result(stage, user->mem[s].object))
            return true;
    return false;
}

/* The loops over kept axes, outermost first. */
static int kept_extents(const wf__stage *stage, int64_t *out)
{
    int n = stage->body.kept;
    memcpy(out, stage->extent, (size_t)n * sizeof *out);
    if (stage->body.kept_lane)
        out[n++] = stage->extent[stage->body.rank - 1];
    return n;
}

/* Does the next stage walk the results as they lie: axis by axis, or as one row? */
static bool walks_alike(const wf__stage *stage, const wf__stage *next)
{
    int64_t extent[WF_MAX_RANK], stride = 1;
    int n = kept_extents(stage, extent), rank = next->body.rank;
    if (rank == 1 && next->extent[0] == stage->kept) {
        extent[0] = stage->kept;
        n = 1;
    }
    if (rank != n)
        return false;
    for (int d = n - 1; d >= 0; --d) {
        if (next->extent[d] != extent[d])
            return false;
        for (uint32_t s = 0; s < next->body.slot_n; ++s)
            if (is_result(stage, next->mem[s].object) &&
                (!next->body.slot[s].element || next->mem[s].stride[d] != stride || next->mem[s].offset))
                return false;
        stride *= extent[d];
    }
    return true;
}

static int64_t points_of(int rank, const int64_t *extent)
{
    int64_t points = 1;
    for (int d = 0; d < rank; ++d)
        points *= extent[d];
    return points;
}

/* Are the slot's elements all of a dense array, in C order of the loops? */
static bool walks_in_order(const wf__stage *stage, uint32_t slot, const wf_shape *all)
{
    const wf__mem_layout *mem = &stage->mem[slot];
    int64_t stride = 1;
    bool good = stage->body.slot[slot].element && mem->offset == 0;
    for (int d = stage->body.rank - 1; d >= 0; --d) {
        good = good && (mem->stride[d] == stride || stage->extent[d] == 1);
        stride *= stage->extent[d];
    }
    return good && stride == points_of(all->rank, all->dim);
}

/* Are the stage's points cheap enough, or numerous enough, to be computed in the pieces of a scan? */
static bool is_cheap(const wf__stage *stage)
{
    uint64_t points = (uint64_t)points_of(stage->body.rank, stage->extent);
    return points >= WF__FUSED_MANY || stage->work / points <= WF__FUSED_CHEAP;
}

/* Why it may not run piece by piece, each piece by any thread, with a scan of the object; NULL: it may. */
static const char *why_in_one(const wf__stage *stage, const wf__stage *scan)
{
    const wf__ir *body = &stage->body;
    if (stage->scan.on || stage->empty || body->red_n || stage->copies_n || stage->updates)
        return "it scans, reduces, accumulates or has no points";
    if (body->slot_n > WF__MOST_FUSED)
        return "it has too many slots";
    if (!is_cheap(stage))
        return "its elements are expensive";
    for (uint32_t s = 0; s < body->slot_n; ++s)
        if (stage->mem[s].object == scan->scan.to && !walks_in_order(stage, s, &scan->space))
            return "it does not walk the scan's elements in C order";
    return NULL;
}

static const char *why_not_feeding(const wf__plan *plan, const wf__stage *stage, const wf__stage *next,
                                   const wf__bind *bind)
{
    const wf__scan *scan = &next->scan;
    if (!scan->on || scan->from != scan->to)
        return "the scan is not in place";
    const char *why = why_in_one(stage, next);
    uint32_t found = 0;
    for (uint32_t s = 0; !why && s < stage->body.slot_n; ++s) {
        bool target = stage->mem[s].object == scan->to;
        if (!target && wf__object_overlap(plan, bind, stage->mem[s].object, scan->to) != WF__APART)
            why = "it touches other memory that the scan writes";
        found += target;
    }
    return why ? why : found != 1 ? "it does not compute what is scanned" : NULL;
}

static bool uses(const wf__stage *stage, uint32_t object)
{
    bool found = stage->scan.on && (stage->scan.from == object || stage->scan.to == object);
    for (uint32_t s = 0; !stage->scan.on && s < stage->body.slot_n; ++s)
        found = found || stage->mem[s].object == object;
    return found;
}

/* Is what slot s of the stage touches apart from what the user writes, or the same, element by element? */
static bool is_safe(const wf__plan *plan, const wf__stage *stage, uint32_t s, const wf__stage *user,
                    const wf_shape *all, const wf__bind *bind)
{
    for (uint32_t t = 0; t < user->body.slot_n; ++t) {
        uint32_t a = stage->mem[s].object, b = user->mem[t].object;
        bool alike = a == b && walks_in_order(stage, s, all) && walks_in_order(user, t, all);
        if ((stage->body.slot[s].written || user->body.slot[t].written) &&
            wf__object_overlap(plan, bind, a, b) != WF__APART && !alike)
            return false;
    }
    return true;
}

/* `feed`: the stage before the scan, if it is fused; else NULL. */
static const char *why_not_following(const wf__plan *plan, const wf__stage *feed, uint32_t at, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[at], *user = stage + 1;
    const wf__scan *scan = &stage->scan;
    if (!scan->on)
        return "there is no scan";
    if (scan->to < plan->objects)
        return "the result is an array of the recording";
    const char *why = why_in_one(user, stage);
    if (why)
        return why;
    if (!uses(user, scan->to))
        return "it does not use the result";
    for (uint32_t s = at + 2; s < plan->stage_n; ++s)
        if (uses(&plan->stage[s], scan->to))
            return "a later stage uses the result, too";
    for (uint32_t s = 0; feed && s < feed->body.slot_n; ++s)
        if (!is_safe(plan, feed, s, user, &stage->space, bind))
            return "it shares memory with the stage that feeds the scan";
    for (int d = 0; d < stage->space.rank; ++d) /* the scan goes through both in C order */
        if (stage->space.dim[d] > 1 && scan->from_stride[d] != scan->to_stride[d])
            return "the scan reads in another order than it writes";
    for (uint32_t t = 0; t < user->body.slot_n; ++t) {
        uint32_t object = user->mem[t].object;
        bool alike = object == scan->from && walks_in_order(user, t, &stage->space);
        if (user->body.slot[t].written &&
            (object == scan->to || (wf__object_overlap(plan, bind, object, scan->from) != WF__APART && !alike)))
            return "it writes what the scan reads";
    }
    return NULL;
}

/* Why the next stage may not follow a reduction that keeps axes box by box; NULL: it may. */
static const char *why_not_box_by_box(const wf__plan *plan, uint32_t at, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[at], *next = stage + 1;
    if (!stage->reduce)
        return "the first keeps no results";
    if (stage->parts != 1)
        return "the reduction is cut into parts";
    if (stage->empty || next->empty)
        return "there are no points";
    if (next->scan.on || next->body.red_n || next->copies_n || next->updates || stage->copies_n)
        return "one of them scans, accumulates or reduces again";
    if (stage->body.red_n > WF__MOST_FUSED || next->body.slot_n > WF__MOST_FUSED)
        return "there are too many reductions or slots";
    if (!uses_results(stage, next))
        return "it does not use the results";
    if (!walks_alike(stage, next))
        return "it walks other points than the results";
    if (!wf__stages_apart(plan, stage, next, bind))
        return "one writes what the other one touches";
    for (uint32_t i = at + 2; i < plan->stage_n; ++i)
        if (uses_results(stage, &plan->stage[i]))
            return "a later stage uses the results, too";
    return NULL;
}

/* Says why stage `at` is followed in this way, or not. */
static void explain(wf__plan *plan, uint32_t at, const char *how, const char *why_not)
{
    if (why_not)
        wf__plan_because(plan, "fuse", "stage %u does not follow %s: %s", (unsigned)at + 1, how, why_not);
    else
        wf__plan_because(plan, "fuse", "stage %u follows stage %u %s", (unsigned)at + 1, (unsigned)at, how);
}

bool wf__pass_fuse(wf__planning *p)
{
    wf__plan *plan = p->plan;
    const wf__bind *bind = p->all;
    for (uint32_t s = 0; s + 1 < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s], *next = &plan->stage[s + 1];
        const char *why_not = why_not_box_by_box(plan, s, bind);
        stage->fused = !why_not;
        if (stage->fused)
            next->long_rows = false; /* its boxes will be others */
        if (stage->reduce)
            explain(plan, s, "box by box", why_not);
        why_not = why_not_feeding(plan, stage, next, bind);
        if (!why_not) {
            stage->fused = true;
            stage->long_rows = stage->streams = false;
        }
        if (next->scan.on)
            explain(plan, s, "part by part as the scan that it feeds", why_not);
        why_not = why_not_following(plan, s && stage[-1].fused ? stage - 1 : NULL, s, bind);
        if (!why_not) {
            stage->fused = true;
            next->long_rows = next->streams = false;
        }
        if (stage->scan.on)
            explain(plan, s, "the scan part by part", why_not);
    }
    return true;
}
