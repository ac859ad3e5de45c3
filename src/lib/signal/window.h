/* window.h - windows that slide over an array: each element of a result is made of those around one place. */
#ifndef WEFT_SIGNAL_WINDOW_H
#define WEFT_SIGNAL_WINDOW_H
#include "signal_internal.h"

/* A checked window: `size` elements along each axis (1 along axes that are not filtered), `before` of them before the
 * element that they belong to. */
typedef struct wfl_window {
    const char *function;
    wf_shape shape; /* of the array */
    wf_axes axes;
    int64_t size[WF_MAX_RANK], before[WF_MAX_RANK];
    wf_border border; /* WF_BORDER_NONE: the array is padded */
    double outside;
    int64_t origin[WF_MAX_RANK]; /* where the element that belongs to element 0 of a result lies in the array */
} wfl_window;

/* Checks the arguments that window filters share, and sets all of *w but sizes, which become 1. False: error. */
bool wfl_window_over(wfl_window *w, const wf_array *x, wf_axes axes, wf_border border, double outside,
                     const char *function);
/* Sets the size along an axis, with size/2 elements before. False, with an error: out of range. */
bool wfl_window_set(wfl_window *w, wf_context *ctx, int axis, int64_t size);
/* Sets the sizes from a list with one for each axis of w->axes. */
bool wfl_window_set_all(wfl_window *w, wf_context *ctx, const int64_t *size);
/* Makes *w the mirrored window: as many elements before the own one as were after it. */
void wfl_window_mirror(wfl_window *w);
/* Returns the number of elements of the window; INT64_MAX if they are more. */
int64_t wfl_window_count(const wfl_window *w);
/* Returns x with the borders that the window needs. Makes *w the window over this array, which has no borders. */
wf_array *wfl_window_pad(wfl_window *w, const wf_array *x);

/* Windows of more elements than this are read by loops, of a padded copy: compiling them element by element would take
 * longer, and their elements leave no registers. */
enum { WFL_WINDOW_WRITTEN = 64 };

/* A recording whose points read elements around their own places. */
typedef struct wfl_slide {
    wf_graph *g;
    const wf_array *x;
    wf_dtype dtype; /* of what is read */
    wf_border border;
    wf_val outside, index[WF_MAX_RANK]; /* `outside` is of x's dtype; the index is that of the point's own element */
    int rank;
} wfl_slide;

/* Begins a recording of points of this shape. Of the window it takes function, border, `outside` and origin. */
wfl_slide wfl_slide_begin(const wfl_window *w, const wf_array *x, wf_shape shape, wf_dtype dtype);
/* Returns the element at these distances from the point's own one. */
wf_val wfl_slide_read(const wfl_slide *s, const int64_t *offset);
/* Steps through the elements of a window of extents `size` in C order; at first *at is all 0. False after the last. */
bool wfl_window_next(const int64_t *size, int rank, int64_t *at);

/* box.c: the means of the windows of x, or of its squares, that lie inside, in f64. Along the axes, extents become
 * n - size + 1. */
wf_array *wfl_box_means(const wf_array *x, const int64_t *size, wf_axes axes, bool squares);
#endif
