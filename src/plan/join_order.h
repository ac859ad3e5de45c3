/* join_order.h - the order in which the values of a stage's parts are joined: a binary tree, which all ranks follow. The parts
 * form a grid. A range of parts is halved along its longest axis; of equal axes, along the first. The second half gets the odd
 * part.
 *
 * Partial results of reductions are a grid of one axis, in C order of the parts; GPUs have the same tree (src/ptx/join.c).
 * Private copies are a grid with an axis for each loop. The parts of a subtree are then neighbours along all axes, so that the
 * copies of a rank, whose boxes form a block, join to few. */
#ifndef WEFT_PLAN_JOIN_ORDER_H
#define WEFT_PLAN_JOIN_ORDER_H
#include "plan/plan.h"

typedef struct wf__part_grid {
    int axes;
    int64_t n[WF_MAX_RANK]; /* parts along each loop; 1 = a loop that is kept */
} wf__part_grid;

/* The parts of a stage that reduces or that has a copy for each box, along each loop. */
static inline wf__part_grid wf__parts_of(const wf__stage *stage)
{
    wf__part_grid grid = { .axes = stage->lowered.rank };
    for (int d = 0; d < grid.axes; ++d) {
        const int64_t size = stage->partition.box[d];
        grid.n[d] = wf__keeps_loop(&stage->lowered, d) ? 1 : (stage->extent[d] + size - 1) / size;
    }
    return grid;
}

/* n parts as a grid of one axis. */
static inline wf__part_grid wf__in_line(int64_t n) { return (wf__part_grid){ .axes = 1, .n = { n } }; }

static inline wf__box wf__all_parts(const wf__part_grid *grid)
{
    wf__box all = { { 0 }, { 0 } };
    memcpy(all.hi, grid->n, sizeof all.hi);
    return all;
}

/* The number of a part in C order. */
static inline int64_t wf__part_number(const wf__part_grid *grid, const int64_t *at)
{
    int64_t number = 0;
    for (int d = 0; d < grid->axes; ++d)
        number = number * grid->n[d] + at[d];
    return number;
}

/* Returns the axis along which a range of parts is halved. -1 = it is one part. */
static inline int wf__halved_axis(const wf__part_grid *grid, const wf__box *range)
{
    int axis = -1;
    int64_t most = 1;
    for (int d = 0; d < grid->axes; ++d)
        if (range->hi[d] - range->lo[d] > most) {
            most = range->hi[d] - range->lo[d];
            axis = d;
        }
    return axis;
}

/* Returns where the second half of a range begins along an axis. */
static inline int64_t wf__second_half(const wf__box *range, int axis)
{
    return range->lo[axis] + (range->hi[axis] - range->lo[axis]) / 2;
}
#endif
