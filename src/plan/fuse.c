/* fuse.c - a stage that uses the results of a reduction, element by element, may run box by box right after it: then the
 * results need not go through memory. Possible where the next stage walks the same points in the same order, alone uses
 * the results, and no box of one stage touches what another box of the other one writes.
 */
#include "plan/plan.h"

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

void wf__plan_fuse(wf__plan *plan, const wf__bind *bind)
{
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
    }
}
