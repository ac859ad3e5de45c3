/* lines.h - functions along axes, of distributed arrays. In each step of such a function, every rank has whole lines along
 * some axes, and calls the function of ordinary arrays for its block. Between steps the array is cut in another way. */
#ifndef WEFT_ARRAY_LINES_H
#define WEFT_ARRAY_LINES_H
#include "array_internal.h"
#include "weft/distributed.h"

typedef struct wfl_lines {
    wf_context *ctx;
    const char *function;
    int steps;
    wf_axes axes[WF_MAX_RANK]; /* that must be whole in a step */
    /* Runs `count` steps, from `first` on, of a rank's block: x into y, which lie in C order and may be one array. y has
     * elements. */
    wf_status (*run)(const struct wfl_lines *l, wf_array *y, wf_array *x, int first, int count);
    /* Sets the dtype and shape of the whole array after `done` steps. NULL: those of the result. */
    void (*between)(const struct wfl_lines *l, int done, wf_dtype *dtype, wf_shape *shape);
    const void *user;
} wfl_lines;

/* Copies what `run` has made of a block, and consumes it. NULL: the context's error is returned. */
wf_status wfl_lines_put(const wfl_lines *l, wf_array *y, wf_array *result);
/* Collective: runs all steps, from x into y, which are distributed over one group. Ranks fail together. */
wf_status wfl_lines_run(const wfl_lines *l, wf_array *y, const wf_array *x);
/* Collective: the same into a new array, which is distributed over x's grid. NULL: an error. */
wf_array *wfl_lines_new(const wfl_lines *l, wf_dtype dtype, const wf_shape *shape, const wf_array *x);

/* False, with an error, unless both arrays are distributed over one group, and launches are neither queued nor noted. */
bool wfl_distributed_together(wf_context *ctx, const char *function, const wf_array *y, const wf_array *x);
/* True if both cut an array into the same blocks. */
bool wfl_same_dist(const wf_dist *a, const wf_dist *b);
/* How an array of this shape, with as many axes as x, is cut over the ranks of x, which do not divide these axes: as x is, if
 * that does. */
wf_dist wfl_dist_whole(const wf_array *x, const wf_shape *shape, wf_axes axes);
/* Collective: an array with the elements of another one of the same shape, cut as `as`: itself, or a copy. NULL: an error. */
wf_array *wfl_cut_as(const wf_array *array, const wf_array *as);
/* Collective: a new array that is cut so that ranks do not divide these axes. */
wf_array *wfl_distributed_whole(const wf_array *x, wf_dtype dtype, const wf_shape *shape, wf_axes axes);
#endif
