/* reduction.h - what the reductions of the library share: a checked mask, a recording, values in f64. */
#ifndef WEFT_ARRAY_REDUCTION_H
#define WEFT_ARRAY_REDUCTION_H
#include "array_internal.h"

/* What a reduction is about. */
typedef struct wf__reduction {
    wf_context *ctx;
    wf_graph *g;
    wf_shape shape;
    wf_axes axes;
    bool drop;
    int64_t n; /* elements that become one */
} wf__reduction;

/* Checks the axes and begins an array graph; false, with an error. */
bool wf__reduction_begin(wf__reduction *r, const wf_array *array, wf_axes axes, const char *function);
/* Likewise of a shape. */
bool wf__reduction_begin_shape(wf__reduction *r, wf_context *ctx, const wf_shape *shape, wf_axes axes,
                               const char *function);
/* Consumes the graph: `v` as an array, without the axes that are to be dropped. */
wf_array *wf__reduction_end(wf__reduction *r, wf_val v);
/* Likewise two kept arrays: both, or NULLs. */
wf_status wf__reduction_end_two(wf__reduction *r, wf_array *out[2]);

wf_val wf__wide(wf_val v);                            /* as f64, or c128 */
wf_val wf__square(wf_val v);                          /* |v|^2 */
wf_dtype wf__real_dtype(const wf_array *array);       /* of what is real and computed like a mean */
wf_val wf__mean_of(const wf__reduction *r, wf_val v); /* v is wide */
wf_val wf__norm_of(const wf__reduction *r, wf_val v, wf_norm norm);
wf_val wf__extreme_of(const wf__reduction *r, wf_val v, bool largest);

typedef struct wf__moments {
    wf_val mean, squares; /* sum of |x - mean|^2 */
} wf__moments;
wf__moments wf__moments_of(const wf__reduction *r, const wf_array *array);
/* squares / (n - ddof), or NaN. */
wf_val wf__variance_of(const wf__reduction *r, const wf__moments *m, double ddof);
#endif
