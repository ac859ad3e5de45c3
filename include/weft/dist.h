/* dist.h - how a range of n-d indices is cut into blocks, one for each rank of a grid of ranks. Geometry alone: it holds no
 * data and sends nothing.
 * Reference: docs/reference/dist.md */
#ifndef WF_DIST_H
#define WF_DIST_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A distribution, a plain value. Ranks are numbered in C order of their places in the grid. */
typedef struct wf_dist {
    wf_shape shape;            /* of all indices */
    int32_t grid[WF_MAX_RANK]; /* ranks along each axis; 1 beyond the shape's rank */
    int32_t ranks;             /* their product */
    int64_t unit[WF_MAX_RANK]; /* blocks begin at multiples of this */
} wf_dist;                     /* frozen */
typedef struct wf_dist_options {
    size_t size;               /* sizeof(wf_dist_options) */
    int32_t grid[WF_MAX_RANK]; /* ranks along an axis; 0: chosen */
    int64_t unit[WF_MAX_RANK]; /* 0: 1 */
    int64_t halo[WF_MAX_RANK]; /* elements that a block needs of its neighbours along an axis; all 0: 1 each */
} wf_dist_options;
/* Chooses the grid of n ranks, out of all, by these in order: most ranks have a block; the largest number of elements
 * that a rank needs of its neighbours is smallest; the largest block is smallest; the first axes are cut.
 * Errors: WF_ERR_ARG: no grid of n ranks has the given entries; a NULL, a negative number. `options` may be NULL.
 * Example: wf_dist_make(&WF_SHAPE(512, 512, 512), 8, NULL, &d); makes 2 x 2 x 2 blocks */
WF_API wf_status wf_dist_make(const wf_shape *shape, int n, const wf_dist_options *options, wf_dist *out);
/* With a NULL pointer the functions below change nothing and return -1 or false; wf_dist_resize returns *dist, or zeros. */
/* Sets place[d] to where the rank is in the grid, for each axis of the shape. */
WF_API void wf_dist_place(const wf_dist *dist, int rank, int32_t *place);
/* Sets the rank's block: indices lo[d] <= i < hi[d] of each axis. An axis without any: lo[d] == hi[d]. */
WF_API void wf_dist_range(const wf_dist *dist, int rank, int64_t *lo, int64_t *hi);
/* The rank whose block has this index, which must be inside of the shape. */
WF_API int wf_dist_owner(const wf_dist *dist, const int64_t *index);
/* The rank `step` places further along an axis; -1 beyond the grid, unless `periodic`, and if the shape has no such axis. */
WF_API int wf_dist_neighbour(const wf_dist *dist, int rank, int axis, int step, bool periodic);
/* True if several ranks have indices along the axis. */
WF_API bool wf_dist_divides(const wf_dist *dist, int axis);
/* The same grid for another shape of as many axes. Axes that ranks do not divide stay so; along other axes of a new extent
 * units are 1. */
WF_API wf_dist wf_dist_resize(const wf_dist *dist, const wf_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
