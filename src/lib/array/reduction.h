/* reduction.h - what the reductions of the library share: a checked mask, a recording, values in f64. */
#ifndef WEFT_ARRAY_REDUCTION_H
#define WEFT_ARRAY_REDUCTION_H
#include "array_internal.h"

/* What a reduction is about. */
typedef struct wfl_reduction {
    wf_context *ctx;
    wf_graph *g;
    wf_shape shape;
    wf_axes axes;
    bool drop;
    int64_t n; /* elements that become one */
} wfl_reduction;

/* Checks the axes and begins an array graph; false, with an error. */
bool wfl_reduction_begin(wfl_reduction *r, const wf_array *array, wf_axes axes, const char *function);
/* Likewise of a shape. */
bool wfl_reduction_begin_shape(wfl_reduction *r, wf_context *ctx, const wf_shape *shape, wf_axes axes,
                               const char *function);
/* Consumes the graph: `v` as an array, without the axes that are to be dropped. */
wf_array *wfl_reduction_end(wfl_reduction *r, wf_val v);
/* Likewise two kept arrays: both, or NULLs. */
wf_status wfl_reduction_end_two(wfl_reduction *r, wf_array *out[2]);

wf_val wfl_wide(wf_val v);                            /* as f64, or c128 */
wf_val wfl_square(wf_val v);                          /* |v|^2 */
wf_dtype wfl_real_dtype(const wf_array *array);       /* of what is real and computed like a mean */
wf_val wfl_mean_of(const wfl_reduction *r, wf_val v); /* v is wide */
wf_val wfl_norm_of(const wfl_reduction *r, wf_val v, wf_norm norm);
wf_val wfl_extreme_of(const wfl_reduction *r, wf_val v, bool largest);

typedef struct wfl_moments {
    wf_val mean, squares; /* sum of |x - mean|^2 */
} wfl_moments;
wfl_moments wfl_moments_of(const wfl_reduction *r, const wf_array *array);
/* squares / (n - ddof), or NaN. */
wf_val wfl_variance_of(const wfl_reduction *r, const wfl_moments *m, double ddof);
#endif
