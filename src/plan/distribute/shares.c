/* shares.c - the points of a stage as ranks divide them: each point is in the share of one rank. */
#include "plan/distribute/distribute.h"

/* Returns what the window of a stage is a multiple of along an axis, so that it is one of whole boxes along loops that are
 * reduced, since these fix the order of joins, and of groups of lanes where lanes are joined. Of several axes in one loop,
 * ranks divide the outermost. */
static int64_t unit_of(const wf__stage *stage, int axis)
{
    const wf__division *division = &stage->division;
    int loop = 0, lane = stage->lowered.rank - 1;
    while (loop <= lane && division->first[loop] != axis)
        ++loop;
    if (loop > lane || !(stage->lowered.red_n || division->tallies || division->joins_copies))
        return 1;
    bool reduced =
        division->joins_copies || (stage->lowered.red_n && (!stage->reduce.axes || stage->reduce.axes >> axis & 1));
    int64_t points = reduced ? stage->partition.box[loop] : loop == lane ? WF__LANES : 1, inner = division->inner[loop];
    for (int64_t k = 1; k <= points; ++k)
        if (k * inner % points == 0)
            return k;
    return points;
}

static int64_t up(int64_t x, int64_t unit, int64_t n) { return wf__least((x + unit - 1) / unit * unit, n); }

void wf__find_share(const wf__planning *p, const wf__stage *stage, int rank, wf__box *out)
{
    const wf__division *division = &stage->division;
    bool divides = false; /* ranks have different points */
    *out = wf__whole_space(stage);
    for (int d = 0; d < stage->space.rank; ++d)
        divides = divides || division->along[d];
    if (!divides) { /* one rank computes everything */
        out->hi[0] = rank ? 0 : out->hi[0];
        return;
    }
    const wf_dist *grid = p->bind[division->grid].dist;
    wf_dist dist = *grid;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    int32_t at[WF_MAX_RANK];
    uint32_t used = 0;
    wf_dist_place(grid, rank, at);
    for (int d = 0; d < stage->space.rank; ++d) {
        int k = division->along[d] - 1;
        if (k < 0)
            continue;
        used |= 1u << k;
        if (dist.shape.dim[k] != stage->space.dim[d]) { /* in proportion */
            dist.shape.dim[k] = stage->space.dim[d];
            dist.unit[k] = 1;
        }
        wf_dist_range(&dist, rank, lo, hi);
        out->lo[d] = up(lo[k], unit_of(stage, d), stage->space.dim[d]);
        out->hi[d] = up(hi[k], unit_of(stage, d), stage->space.dim[d]);
    }
    for (int k = 0; k < grid->shape.rank; ++k) /* of ranks with the same points, the first one computes them */
        if (!(used >> k & 1) && at[k])
            out->hi[0] = out->lo[0];
}

void wf__widen_to_units(const wf__stage *stage, wf__box *points)
{
    for (int d = 0; d < stage->space.rank; ++d) {
        int64_t unit = unit_of(stage, d);
        points->lo[d] = points->lo[d] / unit * unit;
        points->hi[d] = up(points->hi[d], unit, stage->space.dim[d]);
    }
}
