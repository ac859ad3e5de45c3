/* footprint.h - windows of which some elements count, as a mask says. */
#ifndef WEFT_SIGNAL_FOOTPRINT_H
#define WEFT_SIGNAL_FOOTPRINT_H
#include "window.h"

typedef struct wfl_footprint {
    wf_array *array; /* bool, of the window's extents along all axes of x, beside x */
    wf_array *here;  /* the same in the processor's memory */
    const bool *in;  /* its elements, in C order */
    int64_t count;   /* how many elements count */
} wfl_footprint;

/* Checks the arguments of a filter over the elements of `footprint` that are not 0, and sets the window and *f. False:
 * error. The caller releases *f in both cases. */
bool wfl_footprint_over(wfl_window *w, wfl_footprint *f, const wf_array *x, const wf_array *footprint, wf_axes axes,
                        wf_border border, double outside, const char *function);
void wfl_footprint_release(wfl_footprint *f);
#endif
