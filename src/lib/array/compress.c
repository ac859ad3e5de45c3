/* compress.c - the elements where a mask holds, in order. */
#include "array_internal.h"

/* Where each element goes, and how many there are; NULL: error. */
static wf_array *places(const wf_array *mask, int64_t *count)
{
    wf_context *ctx = wf_array_context(mask);
    int64_t n = wf_array_count(mask);
    void *data = NULL;
    *count = 0;
    wf_graph *g = wf_begin(ctx);
    wf_val on = wf_cast(wf_reshape(wf_ne(wf_in(g, mask), 0), WF_SHAPE(-1)), WF_I64);
    wf_array *after = wf__array_run(g, wf_keep(wf_scan(WF_ADD, on, 0, false, false)));
    if (after && n && wf_map(after, &data, NULL) == WF_OK)
        *count = ((const int64_t *)data)[n - 1];
    return after;
}

/* The values where the mask holds: those of `array`, or (NULL) linear indices. */
static wf_array *chosen(const wf_array *array, const wf_array *mask)
{
    int64_t count;
    wf_context *ctx = wf_array_context(mask);
    wf_array *after = mask ? places(mask, &count) : NULL;
    wf_array *out = after ? wf_empty(ctx, array ? wf_array_dtype(array) : WF_I64, WF_SHAPE(count)) : NULL;
    if (out) {
        wf_graph *g = wf_begin(ctx);
        wf_val place = wf_in(g, after), on = wf_reshape(wf_ne(wf_in(g, mask), 0), WF_SHAPE(-1));
        wf_val v = array ? wf_reshape(wf_in(g, array), WF_SHAPE(-1)) : wf_iota(g, wf_array_shape(after), 0);
        wf_write_if(g, on, out, v, wf_sub(place, 1));
        if (wf_run(g) != WF_OK) {
            wf_release(out);
            out = NULL;
        }
    }
    wf_release(after);
    return out;
}

wf_array *wf_array_where(const wf_array *mask) { return chosen(NULL, mask); }

wf_array *wf_array_compress(const wf_array *array, const wf_array *mask)
{
    wf_shape a = wf_array_shape(array), m = wf_array_shape(mask);
    if (!array || !mask || !wf__same_shape(&a, &m)) {
        if (mask)
            wf__array_fail(wf_array_context(mask), WF_ERR_SHAPE, "wf_array_compress: array and mask need one shape");
        return NULL;
    }
    return chosen(array, mask);
}
