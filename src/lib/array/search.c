/* search.c - places in a sorted array: a binary search in which all elements take the same number of steps, so that the
 * lanes of a vector stay together.
 */
#include "array_internal.h"

/* a stands before b in a sorted array. NaNs are last. */
static wf_val before(wf_val a, wf_val b, bool floats)
{
    wf_val less = wf_lt(a, b);
    return floats ? wf_or(less, wf_and(wf_isnan(b), wf_not(wf_isnan(a)))) : less;
}

/* Records the search for one element: the number of elements of `sorted`, of extent 1 or more, that stand before it.
 * Steps are powers of two from the largest that is at most the extent. */
static wf_val place_of(wf_graph *g, const wf_array *sorted, wf_val value, bool right)
{
    const wf_dtype t = wf_array_count(sorted) < 1 << 30 ? WF_I32 : WF_I64;
    const bool floats = wfl_is_float_dtype(wf_array_dtype(sorted)) || wfl_is_float_dtype(wf_val_dtype(value));
    int most = 0;
    while (wf_array_count(sorted) >> most > 1)
        ++most;
    wf_val n = wf_cast(wf_dim(g, sorted, 0), t), bit, first = wf_param(g, "bit", t, most);
    wf_var place = wf_local(g, t, 0);
    WF_FOR (g, bit, first, wf_const_i64(g, t, -1), -1) {
        wf_val next = wf_add(place, wf_shl(wf_const_i64(g, t, 1), bit)), at = wf_sub(wf_min(next, n), 1);
        wf_val element = wf_read(g, sorted, at);
        wf_val passed = right ? wf_not(before(value, element, floats)) : before(element, value, floats);
        wf_set(place, wf_select(wf_and(wf_le(next, n), passed), next, place));
    }
    WF_END(g);
    return wf_cast(place, WF_I64);
}

wf_array *wf_array_searchsorted(const wf_array *sorted, const wf_array *values, bool right)
{
    wf_shape line = wf_array_shape(sorted), shape = wf_array_shape(values), space = shape;
    wf_context *ctx = wf_array_context(sorted ? sorted : values);
    if (!sorted || !values) {
        wfl_array_fail(ctx, WF_ERR_ARG, "wf_array_searchsorted: sorted or values is NULL");
        return NULL;
    }
    if (!wfl_array_ordered(sorted, __func__) || !wfl_array_ordered(values, __func__) ||
        !wfl_array_whole(sorted, __func__))
        return NULL;
    if (line.rank != 1) {
        wfl_array_fail(ctx, WF_ERR_SHAPE, "wf_array_searchsorted: the sorted array has rank %d, not 1", (int)line.rank);
        return NULL;
    }
    if (!wfl_array_together(sorted, values, __func__))
        return NULL;
    if (!line.dim[0]) {
        wf_array *zeros = wfl_result_beside(values, WF_I64, &shape);
        if (!zeros || wf_array_fill(zeros, 0) == WF_OK)
            return zeros;
        wf_release(zeros);
        return NULL;
    }
    const bool as_line = shape.rank == 0; /* an index space has axes */
    if (as_line)
        space = WF_SHAPE(1);
    wf_array *out = wfl_result_beside(values, WF_I64, &shape);
    wf_array *from =
        as_line ? wf_view_reshape((wf_array *)(uintptr_t)values, space) : wf_retain((wf_array *)(uintptr_t)values);
    wf_array *to = !out ? NULL : as_line ? wf_view_reshape(out, space) : wf_retain(out);
    wf_graph *g = from && to ? wfl_begin(ctx, __func__, .shape = space, .flags_off = WF_FLAG_FAST_MATH) : NULL;
    if (g) {
        wf_out(g, to, place_of(g, sorted, wf_in(g, from), right));
        out = wfl_array_run(g, out);
    } else {
        wf_release(out);
        out = NULL;
    }
    wf_release(from);
    wf_release(to);
    return out;
}
