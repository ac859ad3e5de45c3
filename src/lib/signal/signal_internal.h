/* signal_internal.h - what the functions of signal.h share. They stand on the public headers only. */
#ifndef WEFT_SIGNAL_INTERNAL_H
#define WEFT_SIGNAL_INTERNAL_H
#include "lib/array/array_internal.h"
#include "weft/signal.h"

enum { WFL_SPECTRUM_AXES = 3, WFL_SIGNAL_TEXT = 256 };

/* Returns false, with the reason in `text`, for a description that no spectrum has. */
bool wfl_spectrum_valid(const wf_spectrum *s, const char *function, char text[WFL_SIGNAL_TEXT]);
/* Returns the extent of an array along an axis of the spectrum. */
static inline int64_t wfl_spectrum_extent(const wf_spectrum *s, int axis)
{
    bool half = s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC;
    return half && axis == s->rank - 1 ? s->size[axis] / 2 + 1 : s->size[axis];
}

/* Returns k n, the frequency at an index in whole numbers, i64. */
wf_val wfl_signed_index(wf_graph *g, const wf_spectrum *s, int axis, wf_val index);
/* Returns the first graph among n values; NULL if all are numbers. */
wf_graph *wfl_graph_of(const wf_val *v, int n);
/* Returns a result of a mistake: poison of the graph, or NaN without one. */
wf_val wfl_no_value(wf_graph *g);
/* Returns false, and poisons the graph, for a number below `least`, or equal to it unless `equal`. True for values. */
bool wfl_number_from(wf_graph *g, const char *function, const char *argument, wf_val v, double least, bool equal);
/* Converts a value; a number stays as it is. */
static inline wf_val wfl_as(wf_val v, wf_dtype t) { return wf_val_number(v, NULL, NULL) ? v : wf_cast(v, t); }

/* wf_phase_shift and wf_ctf_value with results of the part dtype t. */
wf_val wfl_phase_shift_as(wf_graph *g, wf_vals shift, wf_vals k, wf_dtype t);
wf_val wfl_ctf_as(const wf_ctf *c, wf_val gy, wf_val gx, wf_dtype t);
#endif
