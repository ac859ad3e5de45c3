/* extreme.c - the smallest and largest elements and their places, each in one pass. */
#include "reduction.h"
#include <math.h>

/* Checks the axes, and that the elements have an order and that there are some. */
static bool check_extreme(wfl_reduction *r, const wf_array *array, wf_axes axes, const char *function)
{
    *r = (wfl_reduction){ .ctx = wf_array_context(array), .shape = wf_array_shape(array), .axes = axes };
    if (!wfl_array_ordered(array, function) || !wfl_axes_of(r->ctx, &r->shape, &r->axes, &r->drop, function))
        return false;
    r->n = wfl_axes_count(&r->shape, r->axes);
    if (!r->n)
        wfl_array_fail(r->ctx, WF_ERR_SHAPE, "%s: there are no elements along these axes", function);
    return r->n;
}

static wf_array *reduce_extreme(const wf_array *array, wf_axes axes, bool largest, const char *function)
{
    wfl_reduction r;
    if (!check_extreme(&r, array, axes, function))
        return NULL;
    r.g = wfl_begin(r.ctx, function);
    return wfl_reduction_end(&r, wfl_extreme_of(&r, wf_in(r.g, array), largest));
}

wf_array *wf_array_min(const wf_array *array, wf_axes axes)
{
    return reduce_extreme(array, axes, false, "wf_array_min");
}
wf_array *wf_array_max(const wf_array *array, wf_axes axes)
{
    return reduce_extreme(array, axes, true, "wf_array_max");
}

wf_status wf_array_min_max(const wf_array *array, wf_axes axes, wf_array **min, wf_array **max)
{
    wfl_reduction r;
    if (!min || !max)
        return wfl_array_fail(wf_array_context(array), WF_ERR_ARG, "wf_array_min_max: min or max is NULL");
    *min = *max = NULL;
    if (!check_extreme(&r, array, axes, "wf_array_min_max"))
        return array ? wfl_array_error(r.ctx) : WF_ERR_ARG;
    r.g = wfl_begin(r.ctx, __func__);
    wf_val v = wf_in(r.g, array);
    wf_array *both[2] = { wf_keep(wfl_extreme_of(&r, v, false)), wf_keep(wfl_extreme_of(&r, v, true)) };
    wf_status status = wfl_reduction_end_two(&r, both);
    *min = both[0];
    *max = both[1];
    return status;
}

/* ---- places ----
 * A custom join keeps the best element so far and its place. Both begin as the worst element at a place behind all
 * others, which any element beats or ties with at an earlier place. */
static wf_dtype compared_as(wf_dtype t)
{
    switch (t) {
    case WF_U32:
    case WF_I64:
    case WF_U64:
    case WF_F64:
        return t;
    case WF_F16:
    case WF_BF16:
    case WF_F32:
        return WF_F32;
    default:
        return WF_I32;
    }
}

static wf_val worst_value(wf_graph *g, wf_dtype t, bool largest)
{
    switch (t) {
    case WF_I32:
        return wf_const_i64(g, t, largest ? INT32_MIN : INT32_MAX);
    case WF_U32:
        return wf_const_i64(g, t, largest ? 0 : UINT32_MAX);
    case WF_I64:
        return wf_const_i64(g, t, largest ? INT64_MIN : INT64_MAX);
    case WF_U64:
        return wf_const_i64(g, t, largest ? 0 : -1);
    default:
        return wf_const(g, t, largest ? -(double)INFINITY : (double)INFINITY);
    }
}

static void consider_element(wf_var best, wf_var at, wf_val x, wf_val place, bool largest)
{
    wf_val old = wf_get(best), old_place = wf_get(at);
    wf_val better = largest ? wf_gt(x, old) : wf_lt(x, old), equal = wf_eq(x, old);
    if (wfl_is_float_dtype(wf_val_dtype(x))) {
        wf_val nan = wf_isnan(x), old_nan = wf_isnan(old);
        better = wf_or(better, wf_and(nan, wf_not(old_nan)));
        equal = wf_or(equal, wf_and(nan, old_nan));
    }
    better = wf_or(better, wf_and(equal, wf_lt(place, old_place)));
    wf_set(best, wf_select(better, x, old));
    wf_set(at, wf_select(better, place, old_place));
}

/* Returns the linear index of the point within the reduced axes. */
static wf_val place_of(const wfl_reduction *r, wf_dtype dtype)
{
    wf_val at = wf_const(r->g, WF_I64, 0);
    for (int d = 0; d < r->shape.rank; ++d)
        if (r->axes >> d & 1)
            at = wf_add(wf_mul(at, wf_const_i64(r->g, WF_I64, r->shape.dim[d])), wf_index(r->g, d));
    return wf_cast(at, dtype);
}

static wf_array *find_place(const wf_array *array, wf_axes axes, bool largest, const char *function)
{
    wfl_reduction r;
    if (!check_extreme(&r, array, axes, function))
        return NULL;
    wf_shape kept = r.shape;
    for (int d = 0; d < kept.rank; ++d)
        kept.dim[d] = r.axes >> d & 1 ? 1 : kept.dim[d];
    if (!kept.rank)
        return wfl_array_zeros_beside(array, WF_I64, &kept);
    wf_array *out = wf_empty_like(array, WF_I64, kept);
    if (!out)
        return NULL;
    wf_dtype t = compared_as(wf_array_dtype(array)), short_place = r.n <= INT32_MAX ? WF_I32 : WF_I64;
    r.g = wfl_begin(r.ctx, function, .shape = r.shape, .reduce = r.axes);
    wf_val last = wf_const_i64(r.g, short_place, short_place == WF_I32 ? INT32_MAX : INT64_MAX);
    wf_var best = wf_reduced(r.g, t, worst_value(r.g, t, largest), WF_JOIN_CUSTOM),
           at = wf_reduced(r.g, short_place, last, WF_JOIN_CUSTOM);
    consider_element(best, at, wf_cast(wf_in(r.g, array), t), place_of(&r, short_place), largest);
    wf_section(r.g, WF_SECTION_JOIN);
    consider_element(best, at, wf_get(wf_other(best)), wf_get(wf_other(at)), largest);
    wf_section(r.g, WF_SECTION_POST);
    wf_out(r.g, out, at);
    out = wfl_array_run(r.g, out);
    return r.drop ? wfl_without_axes(out, r.axes) : out;
}

wf_array *wf_array_argmin(const wf_array *array, wf_axes axes)
{
    return find_place(array, axes, false, "wf_array_argmin");
}
wf_array *wf_array_argmax(const wf_array *array, wf_axes axes)
{
    return find_place(array, axes, true, "wf_array_argmax");
}
