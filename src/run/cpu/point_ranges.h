/* point_ranges.h - the points of a stage that reads elements of other ranks, or joins values with them: each has the position of
 * an element, and the element or the value, in temporary arrays. Threads share the points in ranges.
 */
#ifndef WEFT_CPU_POINT_RANGES_H
#define WEFT_CPU_POINT_RANGES_H
#include "run/cpu/steps.h"
#include <string.h>

typedef struct wf__point_array {
    char *base;
    const int64_t *stride; /* along each loop */
    size_t size;
} wf__point_array;

typedef struct wf__points {
    const wf__stage *stage;
    wf__point_array at, value; /* positions; elements or values */
    const int64_t *lo, *hi;    /* the points of this rank, in loops */
    int64_t n;
    int64_t first, ranges; /* the number of the first range among those of all stages, and of ranges */
    int64_t range;         /* points of a range */
} wf__points;

/* The points of the stage that this rank runs, not cut into ranges yet. */
wf__points wf__points_of(const wf__run *run, const wf__stage *stage);
/* Cuts the points into ranges of `range`, of which the first has the number `first`. Returns the number behind the last. */
int64_t wf__points_cut(wf__points *p, int64_t first, int64_t range);

/* n points of a row, of which the first has this number in its range. at, value: of the first. */
typedef void wf__walk_row(void *user, int64_t first, int64_t n, const char *at, char *value);
/* Walks the points of a range in C order of the loops. */
void wf__points_walk(const wf__points *p, int64_t range, wf__walk_row *row, void *user);

/* Returns the number of point i of this rank among those of all ranks, in C order of the loops. */
uint64_t wf__point_number(const wf__points *p, int64_t i);

/* Bytes from point to point of a row. */
static inline int64_t wf__point_step(const wf__points *p, const wf__point_array *a)
{
    return a->stride[p->stage->lowered.rank - 1] * (int64_t)a->size;
}

/* Returns the position of a point; -1 = none. */
static inline int64_t wf__point_position(const char *at, size_t size)
{
    int32_t narrow;
    int64_t wide;
    if (size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}
#endif
