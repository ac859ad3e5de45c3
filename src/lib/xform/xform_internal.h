/* xform_internal.h - what the geometric functions share. Order: taps; interpolate, spectral and the functions of values;
 * spline; the functions of arrays. */
#ifndef WEFT_XFORM_INTERNAL_H
#define WEFT_XFORM_INTERNAL_H
#include "weft/xform.h"
#include "lib/array/array_internal.h"

enum { WFL_MOST_POSITIONS = 3, WFL_MOST_TAPS = 8, WFL_LAST_INTERPOLATION = WF_INTERPOLATE_KAISER6 };

/* The elements of one axis around a position, and their weights. */
typedef struct wfl_taps {
    wf_val index[WFL_MOST_TAPS], weight[WFL_MOST_TAPS]; /* WF_INTERPOLATE_NEAREST has no weight */
} wfl_taps;
/* Returns the number of elements along an axis. */
int wfl_taps_of(wf_interpolation how);
/* Returns the position as a value of f32 or f64; numbers and integers become f64. */
wf_val wfl_position(wf_graph *g, wf_val position);
/* Sets *taps for a position; weights have the dtype t, f32 or f64. */
void wfl_taps_at(wf_graph *g, wf_interpolation how, wf_dtype t, wf_val position, wfl_taps *taps);
/* A value in parts; `im` counts for complex elements only. */
typedef struct wfl_parts {
    wf_val re, im;
} wfl_parts;
/* How elements around a position are read. */
typedef struct wfl_reader {
    wf_interpolation interpolation;
    bool complex;
    wf_val *index;                       /* of the axes with positions, set before each read */
    wf_val (*read)(const void *sampler); /* the element at `index` */
    const void *sampler;
} wfl_reader;
/* Returns the sum of the elements times their weights over all combinations of the taps of so many axes, at most 3. */
wfl_parts wfl_read_around(const wfl_reader *r, const wfl_taps *axis, int axes);
/* Returns the Fourier transform of the kernel, whose weights are those of wfl_taps_at, at u cycles per element. */
double wfl_kernel_transform(wf_interpolation how, double u);

/* Poisons the graph with a formatted message. */
void wfl_xform_fail(wf_graph *graph, wf_status status, const char *format, ...) ARRAY_PRINTF(3, 4);
/* Returns the border mode with the default in place of WF_BORDER_NONE. */
static inline wf_border wfl_border_of(wf_border border) { return border ? border : WF_BORDER_VALUE; }
/* True if weights for elements of this dtype are f64. */
bool wfl_weights_wide(wf_dtype t);
/* Returns the dtype of interpolated elements: that of weights, complex for complex elements. */
wf_dtype wfl_interpolated_dtype(wf_dtype t);
/* Returns the dtype of a transformed array: x's own, but that of interpolated elements for integers and bools. */
wf_dtype wfl_transformed_dtype(wf_dtype t);
/* Returns the dtype of positions that a matrix gives: f32 for f32 and narrower floats, else f64. */
wf_dtype wfl_positions_dtype(const wf_array *matrix);
/* Sets the indices of the batch for an array with `own` such axes of a batch of `all`; an axis of extent 1 has 0. */
void wfl_batch_indices(wf_graph *g, const wf_array *a, int own, int all, wf_val *index);
/* Returns the rotations of a point group of the last `axes` axes as an array [n, axes, axes] beside x. NULL: an error. */
wf_array *wfl_group_rotations(const wf_array *x, const char *symmetry, int axes, const char *function);
/* False, with an error, if *how is not valid for an array with this number of axes with positions. */
bool wfl_interp_known(wf_context *ctx, const wf_interp *how, const char *function);
/* Returns x, retained, or its coefficients if *how interpolates B-splines and x has none yet. */
wf_array *wfl_coefficients(const wf_array *x, const wf_interp *how, int axes);
#endif
