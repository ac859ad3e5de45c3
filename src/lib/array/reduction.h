/* reduction.h - the frame of all reductions: a checked mask of axes, a recording, and values in f64. */
#ifndef WEFT_ARRAY_REDUCTION_H
#define WEFT_ARRAY_REDUCTION_H
#include "array_internal.h"

/* A reduction that is being recorded. */
typedef struct wfl_reduction {
    wf_context *ctx;
    const wf_array *of; /* an array that is reduced */
    wf_graph *g;
    wf_shape shape;
    wf_axes axes;
    bool drop;
    int64_t n; /* number of elements that become one */
} wfl_reduction;

/* Checks the axes and begins an array graph; false, with an error, if the axes are wrong. */
bool wfl_reduction_begin(wfl_reduction *r, const wf_array *array, wf_axes axes, const char *function);
/* The same for values of this shape, which are computed from the array and others. */
bool wfl_reduction_begin_shape(wfl_reduction *r, const wf_array *of, const wf_shape *shape, wf_axes axes,
                               const char *function);
/* Runs and consumes the graph, on all ranks of a distributed array. Returns `v` as an array, without the axes that are to be
 * dropped. */
wf_array *wfl_reduction_end(wfl_reduction *r, wf_val v);
/* The same for two kept arrays; on an error both become NULL. */
wf_status wfl_reduction_end_two(wfl_reduction *r, wf_array *out[2]);

wf_val wfl_wide(wf_val v);                            /* as f64, or c128 */
wf_val wfl_square(wf_val v);                          /* |v|^2 */
wf_dtype wfl_real_dtype(const wf_array *array);       /* of a real result that is computed as means are */
wf_val wfl_mean_of(const wfl_reduction *r, wf_val v); /* v is wide */
wf_val wfl_norm_of(const wfl_reduction *r, wf_val v, wf_norm norm);
wf_val wfl_extreme_of(const wfl_reduction *r, wf_val v, bool largest);

typedef struct wfl_moments {
    wf_val mean, squares; /* sum of |x - mean|^2 */
} wfl_moments;
wfl_moments wfl_moments_of(const wfl_reduction *r, const wf_array *array);
/* Returns squares / (n - ddof); NaN unless n > ddof. */
wf_val wfl_variance_of(const wfl_reduction *r, const wfl_moments *m, double ddof);
#endif
