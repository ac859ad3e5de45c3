/* scan.c - cumulative sums. */
#include "array_internal.h"

wf_array *wf_array_cumsum(const wf_array *array, int axis, bool exclusive)
{
    wf_shape shape = wf_array_shape(array);
    if (!array || !wfl_axis_of(wf_array_context(array), &shape, &axis, "wf_array_cumsum"))
        return NULL;
    wf_graph *g = wfl_begin(wf_array_context(array), __func__);
    return wfl_array_run(g, wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, array), axis, exclusive, false)));
}
