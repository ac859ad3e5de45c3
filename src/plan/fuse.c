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

static bool meets(const wf__bind *bind, uint32_t a, uint32_t b)
{
    return a == b || wf__bind_overlap(&bind[a], &bind[b]) != WF__APART;
}

static bool are_apart(const wf__stage *stage, const wf__stage *next, const wf__bind *bind)
{
    for (uint32_t s = 0; s < stage->body.slot_n; ++s)
        for (uint32_t t = 0; t < next->body.slot_n; ++t)
            if ((stage->body.slot[s].written || next->body.slot[t].written) &&
                meets(bind, stage->mem[s].object, next->mem[t].object))
                return false;
    return true;
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

/* Expensive elements are computed before: with fewer threads, in larger pieces, nothing would be gained. */
static bool is_cheap(const wf__stage *stage)
{
    enum { CHEAP = 64, MANY = 1 << 20 };
    uint64_t points = (uint64_t)points_of(stage->body.rank, stage->extent);
    return points >= MANY || stage->work / points <= CHEAP;
}

/* May it run piece by piece, each piece by any thread, with a scan of the object? */
static bool goes_in_pieces(const wf__stage *stage, const wf__stage *scan)
{
    const wf__ir *body = &stage->body;
    bool good = !stage->scan.on && !stage->empty && !body->red_n && !stage->copies_n && !stage->updates &&
                body->slot_n <= WF__MOST_FUSED && is_cheap(stage);
    for (uint32_t s = 0; good && s < body->slot_n; ++s)
        good = stage->mem[s].object != scan->scan.to || walks_in_order(stage, s, &scan->space);
    return good;
}

static bool feeds_scan(const wf__stage *stage, const wf__stage *next, const wf__bind *bind)
{
    const wf__scan *scan = &next->scan;
    if (!scan->on || scan->from != scan->to || !goes_in_pieces(stage, next))
        return false;
    uint32_t found = 0;
    for (uint32_t s = 0; s < stage->body.slot_n; ++s) {
        bool target = stage->mem[s].object == scan->to;
        if (!target && meets(bind, stage->mem[s].object, scan->to))
            return false;
        found += target;
    }
    return found == 1;
}

static bool uses(const wf__stage *stage, uint32_t object)
{
    bool found = stage->scan.on && (stage->scan.from == object || stage->scan.to == object);
    for (uint32_t s = 0; !stage->scan.on && s < stage->body.slot_n; ++s)
        found = found || stage->mem[s].object == object;
    return found;
}

/* Is what slot s of the stage touches apart from what the user writes, or the same, element by element? */
static bool is_safe(const wf__stage *stage, uint32_t s, const wf__stage *user, const wf_shape *all,
                    const wf__bind *bind)
{
    for (uint32_t t = 0; t < user->body.slot_n; ++t) {
        uint32_t a = stage->mem[s].object, b = user->mem[t].object;
        bool alike = a == b && walks_in_order(stage, s, all) && walks_in_order(user, t, all);
        if ((stage->body.slot[s].written || user->body.slot[t].written) && meets(bind, a, b) && !alike)
            return false;
    }
    return true;
}

/* `feed`: the stage before the scan, if it is fused; else NULL. */
static bool follows_scan(const wf__plan *plan, const wf__stage *feed, uint32_t at, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[at], *user = stage + 1;
    const wf__scan *scan = &stage->scan;
    if (!scan->on || scan->to < plan->objects || !goes_in_pieces(user, stage) || !uses(user, scan->to))
        return false;
    for (uint32_t s = at + 2; s < plan->stage_n; ++s)
        if (uses(&plan->stage[s], scan->to))
            return false;
    for (uint32_t s = 0; feed && s < feed->body.slot_n; ++s)
        if (!is_safe(feed, s, user, &stage->space, bind))
            return false;
    for (int d = 0; d < stage->space.rank; ++d) /* the scan goes through both in C order */
        if (stage->space.dim[d] > 1 && scan->from_stride[d] != scan->to_stride[d])
            return false;
    for (uint32_t t = 0; t < user->body.slot_n; ++t) {
        uint32_t object = user->mem[t].object;
        bool alike = object == scan->from && walks_in_order(user, t, &stage->space);
        if (user->body.slot[t].written && (object == scan->to || (meets(bind, object, scan->from) && !alike)))
            return false;
    }
    return true;
}

bool wf__pass_fuse(wf__planning *p)
{
    wf__plan *plan = p->plan;
    const wf__bind *bind = p->all;
    for (uint32_t s = 0; s + 1 < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s], *next = &plan->stage[s + 1];
        bool fits = stage->reduce && stage->parts == 1 && !stage->empty && !next->empty && !next->scan.on &&
                    !next->body.red_n && !next->copies_n && !next->updates && !stage->copies_n &&
                    stage->body.red_n <= WF__MOST_FUSED && next->body.slot_n <= WF__MOST_FUSED &&
                    uses_results(stage, next) && walks_alike(stage, next) && are_apart(stage, next, bind);
        for (uint32_t i = s + 2; fits && i < plan->stage_n; ++i)
            fits = !uses_results(stage, &plan->stage[i]);
        stage->fused = fits;
        if (fits)
            next->long_rows = false; /* its boxes will be others */
        if (feeds_scan(stage, next, bind)) {
            stage->fused = true;
            stage->long_rows = stage->streams = false;
        }
        if (follows_scan(plan, s && stage[-1].fused ? stage - 1 : NULL, s, bind)) {
            stage->fused = true;
            next->long_rows = next->streams = false;
        }
    }
    return true;
}
