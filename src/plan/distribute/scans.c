/* scans.c - the elements that each rank scans.
 *
 * Where ranks divide the scanned axis, each scans its share, and the ranks along the axis pass carries on, each to the
 * next one. A part of a scan (wf__scan_part) that several ranks share is scanned by each of them from its beginning, so
 * that the bits do not depend on the ranks. If a rank needs other elements than these, as for a stencil of the result,
 * each rank scans everything from the beginning of the axis to the last element that it needs.
 */
#include "plan/distribute/distribute.h"

bool wf__divides_scan(const wf__stage *stage)
{
    bool any = true;
    for (int d = 0; d < stage->space.rank; ++d)
        any = any && stage->space.dim[d] > 0;
    return any && stage->scan.on && stage->division.along[stage->scan.axis];
}

/* Widens points so that they begin with a part of the scan, or with the axis. */
static void widen_to_begin(const wf__stage *stage, bool of_axis, wf__box *points)
{
    const wf__scan *scan = &stage->scan;
    const int64_t n = stage->space.dim[scan->axis];
    const int64_t part = of_axis ? n : wf__scan_part(&stage->space, scan->axis);
    int64_t *lo = &points->lo[scan->axis], *hi = &points->hi[scan->axis];
    if (scan->reversed)
        *hi = n - (n - *hi) / part * part;
    else
        *lo = *lo / part * part;
}

bool wf__scan_points(const wf__planning *p, const wf__stage *stage, int rank, const wf__box *need, wf__box *points)
{
    const int axes = stage->space.rank;
    *points = (wf__box){ { 0 }, { 0 } };
    if (stage->scan.shared)
        wf__find_share(p, stage, rank, points);
    else if (need)
        *points = *need;
    if (!wf__box_is_empty(points, axes))
        widen_to_begin(stage, !stage->scan.shared, points);
    return !need || wf__box_within(need, points, axes);
}

/* True if the shares have the same points along all axes but the scanned one. */
static bool beside(const wf__stage *stage, const wf__box *a, const wf__box *b)
{
    bool same = !wf__box_is_empty(a, stage->space.rank) && !wf__box_is_empty(b, stage->space.rank);
    for (int d = 0; d < stage->space.rank; ++d)
        same = same && (d == stage->scan.axis || (a->lo[d] == b->lo[d] && a->hi[d] == b->hi[d]));
    return same;
}

void wf__scan_neighbours(const wf__planning *p, wf__stage *stage)
{
    const wf__group *group = p->rec->group;
    wf__scan *scan = &stage->scan;
    const int axis = scan->axis;
    wf__box own, other;
    wf__find_share(p, stage, group->rank, &own);
    scan->before = scan->after = WF__NO_RANK;
    for (int r = 0; r < group->ranks; ++r) {
        wf__find_share(p, stage, r, &other);
        if (!beside(stage, &own, &other))
            continue;
        if (other.hi[axis] == own.lo[axis])
            *(scan->reversed ? &scan->after : &scan->before) = r;
        else if (other.lo[axis] == own.hi[axis])
            *(scan->reversed ? &scan->before : &scan->after) = r;
    }
}
