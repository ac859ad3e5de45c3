/* scan.c - cumulative sums and products. */
#include "array_internal.h"

/* Returns a new array of c128 whose elements are those of `from`, or with `factor` the products of these and the elements
 * `by` places before them along the axis, which count as 1 where there are none; without it the latter alone. */
static wf_array *shifted(const wf_array *from, int axis, int64_t by, bool factor, const char *function)
{
    const wf_shape shape = wf_array_shape(from);
    wf_array *out = wfl_result_beside(from, WF_C128, &shape);
    if (!out)
        return NULL;
    wf_graph *g = wfl_begin(wf_array_context(from), function, .shape = shape);
    wf_val at[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        at[d] = wf_index(g, d);
    at[axis] = wf_sub(at[axis], wf_param(g, "by", WF_I64, (double)by));
    wf_val there = wf_ge(at[axis], 0), v = wf_cast(wf_in(g, from), WF_C128);
    wf_val before = wf_cast(wf_read_or_n(g, from, WF_V(1), (wf_vals){ at, (size_t)shape.rank }), WF_C128);
    wf_out(g, out, factor ? wf_select(there, wf_mul(v, before), v) : before);
    return wfl_array_run(g, out);
}

/* Products of complex numbers, which wf_scan lacks: after the step s, element i is the product of the last 2s elements up
 * to i. Source: Hillis, Steele: Data parallel algorithms (1986). */
static wf_array *complex_products(const wf_array *array, int axis, bool exclusive, const char *function)
{
    const int64_t n = wf_array_shape(array).dim[axis];
    wf_array *all = exclusive ? shifted(array, axis, 1, false, function) : wf_array_cast(array, WF_C128);
    for (int64_t s = 1; s < n && all; s *= 2) {
        wf_array *more = shifted(all, axis, s, true, function);
        wf_release(all);
        all = more;
    }
    wf_array *out = all ? wf_array_cast(all, wf_array_dtype(array)) : NULL;
    wf_release(all);
    return out;
}

static wf_array *scanned(const wf_array *array, wf_join join, int axis, bool exclusive, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    if (!array || !wfl_axis_of(wf_array_context(array), &shape, &axis, function))
        return NULL;
    if (join == WF_JOIN_MUL && wfl_is_complex_dtype(wf_array_dtype(array)))
        return wfl_array_known(array, function) ? complex_products(array, axis, exclusive, function) : NULL;
    wf_graph *g = wfl_begin(wf_array_context(array), function);
    return wfl_kept(g, array, wf_scan(join, wf_in(g, array), axis, exclusive, false));
}

wf_array *wf_array_cumsum(const wf_array *array, int axis, bool exclusive)
{
    return scanned(array, WF_JOIN_ADD, axis, exclusive, __func__);
}

wf_array *wf_array_cumprod(const wf_array *array, int axis, bool exclusive)
{
    return scanned(array, WF_JOIN_MUL, axis, exclusive, __func__);
}
