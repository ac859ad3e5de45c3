/* compress.c - the elements where a mask holds, in order. */
#include "array_internal.h"

/* Returns the elements of `array` where the mask holds; for NULL, their linear indices. */
static wf_array *chosen(const wf_array *array, const wf_array *mask, const char *function)
{
    wf_context *ctx = wf_array_context(mask);
    if (!ctx)
        return NULL;
    wf_freeze_refuse(ctx, function, "the number of elements is read back, and decides a shape");
    wf_graph *g = wfl_begin(ctx, function);
    wf_val on = wf_ne(wf_in(g, mask), 0);
    const wf_shape line = WF_SHAPE(wf_array_count(mask));
    wf_val v = array ? wf_in(g, array) : wf_iota(g, line, 0);
    wf_array *out = wf_compress(v, array ? on : wf_reshape(on, line));
    wf_status status = out ? WF_OK : wf_run(g); /* reports the error */
    if (out)
        wf_drop(g);
    else if (status == WF_OK)
        wfl_array_fail(ctx, WF_ERR_MEMORY, "wf_array_compress: out of memory");
    return out;
}

wf_array *wf_array_where(const wf_array *mask) { return chosen(NULL, mask, "wf_array_where"); }

wf_array *wf_array_compress(const wf_array *array, const wf_array *mask)
{
    wf_shape a = wf_array_shape(array), m = wf_array_shape(mask);
    if (!array || !mask || !wfl_same_shape(&a, &m)) {
        bool both = array && mask;
        wfl_array_fail(wf_array_context(mask ? mask : array), both ? WF_ERR_SHAPE : WF_ERR_ARG, "wf_array_compress: %s",
                       both ? "array and mask must have one shape" : "array or mask is NULL");
        return NULL;
    }
    return chosen(array, mask, "wf_array_compress");
}
