/* slice.c - elements of an array at regular distances along its axes, as copies, the writing of such elements, and copies of
 * another shape. It is done by index, so that the array may be distributed.
 */
#include "array_internal.h"
#include "weft/distributed.h"

/* False, with an error of `function`, unless the slices name elements of the array. */
static bool slices_fit(const wf_array *array, const wf_shape *shape, const wf_axis_slice *slices, const char *function)
{
    wf_context *ctx = wf_array_context(array);
    const wf_shape whole = wf_array_shape(array);
    if (shape->rank < 0 || shape->rank > WF_MAX_RANK || (whole.rank && !slices)) {
        wfl_array_fail(ctx, shape->rank < 0 || shape->rank > WF_MAX_RANK ? WF_ERR_SHAPE : WF_ERR_ARG,
                       "%s: needs a shape of up to %d axes, not %d, and a slice for each axis", function, WF_MAX_RANK,
                       (int)shape->rank);
        return false;
    }
    const bool empty = wfl_axes_count(shape, WF_ALL_AXES) == 0;
    for (int k = 0; k < whole.rank; ++k) {
        const wf_axis_slice s = slices[k];
        if (s.along < -1 || s.along >= shape->rank) {
            wfl_array_fail(ctx, WF_ERR_ARG, "%s: axis %d goes along axis %d of a shape of %d axes", function, k,
                           s.along, (int)shape->rank);
            return false;
        }
        const int64_t n = s.along < 0 ? 1 : shape->dim[s.along];
        int64_t last = 0;
        const bool far =
            n > 0 && (__builtin_mul_overflow(n - 1, s.step, &last) || __builtin_add_overflow(last, s.start, &last));
        if (!empty && (far || s.start < 0 || s.start >= whole.dim[k] || last < 0 || last >= whole.dim[k])) {
            wfl_array_fail(ctx, WF_ERR_BOUNDS, "%s: %lld elements from %lld on, by %lld, along axis %d of extent %lld",
                           function, (long long)n, (long long)s.start, (long long)s.step, k, (long long)whole.dim[k]);
            return false;
        }
    }
    return true;
}

/* Returns the element at these indices; of an array without axes its only one. */
static wf_val element(wf_graph *g, const wf_array *array, const wf_val *index)
{
    const int rank = wf_array_shape(array).rank;
    return rank ? wf_read_n(g, array, (wf_vals){ index, (size_t)rank }) : wf_in(g, array);
}

wf_array *wf_array_slice(const wf_array *array, wf_shape shape, const wf_axis_slice *slices)
{
    static const char *const names[WF_MAX_RANK] = { "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7" };
    if (!array || !wfl_array_known(array, __func__) || !slices_fit(array, &shape, slices, __func__))
        return NULL;
    wf_context *ctx = wf_array_context(array);
    const wf_dtype dtype = wf_array_dtype(array);
    const int rank = wf_array_shape(array).rank;
    int along[WF_MAX_RANK] = { 0 };
    for (int k = 0; k < rank; ++k)
        along[k] = slices[k].along;
    wf_array *out = wf_empty_beside(ctx, dtype, shape, .operand = &array, .operands = 1, .along = along,
                                    .device = wf_array_device(array));
    if (!out || wfl_axes_count(&shape, WF_ALL_AXES) == 0)
        return out;
    wf_graph *g = wfl_begin(ctx, __func__, .shape = shape);
    wf_val index[WF_MAX_RANK];
    for (int k = 0; k < rank; ++k) { /* a parameter: another place needs no other kernel */
        index[k] = wf_param(g, names[k], WF_I64, (double)slices[k].start);
        if (along[k] >= 0)
            index[k] = wf_add(index[k], wf_mul(wf_index(g, along[k]), wf_const_i64(g, WF_I64, slices[k].step)));
    }
    wf_out(g, out, element(g, array, index));
    return wfl_array_run(g, out);
}

/* Returns whether values broadcast to the shape; sets the extent of each of its axes in the values. */
static bool values_fit(const wf_array *values, const wf_shape *shape, int64_t extent[WF_MAX_RANK])
{
    const wf_shape own = wf_array_shape(values);
    const int more = own.rank - shape->rank; /* leading axes of the values, of extent 1 */
    bool fit = true;
    for (int d = 0; d < more; ++d)
        fit = fit && own.dim[d] == 1;
    for (int d = 0; d < shape->rank; ++d) {
        extent[d] = d + more < 0 ? 1 : own.dim[d + more];
        fit = fit && (extent[d] == 1 || extent[d] == shape->dim[d]);
    }
    if (!fit) {
        char from[96], to[96];
        wf_shape_text(&own, from, sizeof from);
        wf_shape_text(shape, to, sizeof to);
        wfl_array_fail(wf_array_context(values), WF_ERR_SHAPE, "wf_array_assign_slice: %s does not broadcast to %s",
                       from, to);
    }
    return fit;
}

/* Writes the values, which share no memory with the array. The points are those of the box around the elements, so that each one
 * writes at its own place plus a number. */
static wf_status write_slice(wf_array *array, const wf_shape *shape, const wf_axis_slice *slices,
                             const wf_array *values)
{
    int64_t extent[WF_MAX_RANK];
    if (!values_fit(values, shape, extent))
        return WF_ERR_SHAPE;
    wf_shape box = wf_array_shape(array);
    const wf_shape own = wf_array_shape(values);
    wf_val place[WF_MAX_RANK], at[WF_MAX_RANK], within = WF_V(true);
    bool gaps = false;
    for (int k = 0; k < box.rank; ++k) {
        const int64_t n = slices[k].along < 0 ? 1 : shape->dim[slices[k].along], step = slices[k].step;
        box.dim[k] = n > 1 ? (n - 1) * (step < 0 ? -step : step) + 1 : 1;
    }
    wf_graph *g = wfl_begin(wf_array_context(array), "wf_array_assign_slice", .shape = box);
    for (int d = 0; d < own.rank; ++d)
        at[d] = wf_const_i64(g, WF_I64, 0);
    for (int k = 0; k < box.rank; ++k) {
        const int d = slices[k].along, from = d + own.rank - shape->rank; /* axes of the shape, of the values */
        const int64_t n = d < 0 ? 1 : shape->dim[d], start = slices[k].start, step = n > 1 ? slices[k].step : 1;
        const int64_t by = step < 0 ? -step : step, first = step < 0 ? start + (n - 1) * step : start;
        const wf_val i = wf_index(g, k);
        place[k] = wf_add(i, wf_const_i64(g, WF_I64, first));
        wf_val turn = by > 1 ? wf_idiv(i, wf_const_i64(g, WF_I64, by)) : i;
        if (by > 1) {
            const wf_val hit = wf_eq(wf_mod(i, wf_const_i64(g, WF_I64, by)), wf_const_i64(g, WF_I64, 0));
            within = gaps ? wf_and(within, hit) : hit;
            gaps = true;
        }
        if (step < 0)
            turn = wf_sub(wf_const_i64(g, WF_I64, n - 1), turn);
        if (d >= 0 && from >= 0 && extent[d] > 1)
            at[from] = turn;
    }
    const wf_vals to = { place, (size_t)box.rank };
    const wf_val v = wf_cast(element(g, values, at), wf_array_dtype(array));
    if (!box.rank)
        wf_out(g, array, v);
    else if (gaps) {
        WF_IF (g, within) {
            wf_write_n(g, array, v, to);
            WF_END(g);
        }
    } else
        wf_write_n(g, array, v, to);
    return wfl_run_into(g, array);
}

wf_status wf_array_assign_slice(wf_array *array, wf_shape shape, const wf_axis_slice *slices, const wf_array *values)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx || !wfl_array_known(array, __func__) || !wfl_array_known(values, __func__))
        return WF_ERR_ARG;
    if (!values)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `values` is NULL", __func__);
    if (!slices_fit(array, &shape, slices, __func__))
        return wfl_array_error(ctx);
    if (wfl_is_complex_dtype(wf_array_dtype(values)) && !wfl_is_complex_dtype(wf_array_dtype(array)))
        return wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: complex numbers cannot be stored in a real array", __func__);
    if (wfl_axes_count(&shape, WF_ALL_AXES) == 0)
        return WF_OK;
    wf_array *from = wf_shares(array, values) || values == array ? wf_array_copy(values) : wf_retain(values);
    const wf_status status = from ? write_slice(array, &shape, slices, from) : wfl_array_error(ctx);
    wf_release(from);
    return status;
}

/* ---- another shape ---- */
/* Returns the places of the elements of a distributed array at the points of a shape, in C order. */
static void places_in_order(wf_graph *g, const wf_shape *shape, const wf_shape *whole, wf_val index[WF_MAX_RANK])
{
    wf_val linear = wf_const_i64(g, WF_I64, 0);
    for (int d = 0; d < shape->rank; ++d)
        linear = wf_add(wf_mul(linear, wf_const_i64(g, WF_I64, shape->dim[d])), wf_index(g, d));
    for (int k = whole->rank - 1; k > 0; --k) {
        const wf_val extent = wf_const_i64(g, WF_I64, whole->dim[k]);
        index[k] = wf_mod(linear, extent);
        linear = wf_idiv(linear, extent);
    }
    index[0] = linear;
}

/* Sets slices which give the elements of the array in the shape, if these differ in axes of extent 1 alone. */
static bool slices_of_shape(const wf_shape *whole, const wf_shape *shape, wf_axis_slice slice[WF_MAX_RANK])
{
    int d = 0;
    for (int k = 0; k < whole->rank; ++k) {
        slice[k] = (wf_axis_slice){ .step = 1, .along = -1 };
        if (whole->dim[k] == 1)
            continue;
        while (d < shape->rank && shape->dim[d] == 1)
            ++d;
        if (d == shape->rank || shape->dim[d] != whole->dim[k])
            return false;
        slice[k].along = d++;
    }
    for (; d < shape->rank; ++d)
        if (shape->dim[d] != 1)
            return false;
    return true;
}

static wf_array *reshape_distributed(const wf_array *array, const wf_shape *shape)
{
    const wf_shape whole = wf_array_shape(array);
    wf_axis_slice slice[WF_MAX_RANK];
    if (slices_of_shape(&whole, shape, slice))
        return wf_array_slice(array, *shape, slice);
    wf_context *ctx = wf_array_context(array);
    wf_array *out = wf_empty_beside(ctx, wf_array_dtype(array), *shape, .operand = &array, .operands = 1);
    if (!out || wfl_axes_count(shape, WF_ALL_AXES) == 0)
        return out;
    wf_graph *g = wfl_begin(ctx, "wf_array_reshape", .shape = *shape);
    wf_val index[WF_MAX_RANK];
    places_in_order(g, shape, &whole, index);
    wf_out(g, out, wf_read_n(g, array, (wf_vals){ index, (size_t)whole.rank }));
    return wfl_array_run(g, out);
}

/* Sets an extent of -1 of a shape to what the elements of the array give. False: they do not have the shape. */
static bool find_extent(const wf_shape *whole, wf_shape *shape)
{
    int64_t count = wfl_axes_count(whole, WF_ALL_AXES), others = 1;
    int open = -1;
    bool fits = shape->rank >= 0 && shape->rank <= WF_MAX_RANK;
    for (int d = 0; fits && d < shape->rank; ++d) {
        if (shape->dim[d] == -1) {
            fits = open < 0;
            open = d;
        } else
            fits = shape->dim[d] >= 0 && !__builtin_mul_overflow(others, shape->dim[d], &others);
    }
    if (!fits || open < 0)
        return fits && others == count;
    if (others == 0 || count % others)
        return false;
    shape->dim[open] = count / others;
    return true;
}

wf_array *wf_array_reshape(const wf_array *array, wf_shape shape)
{
    if (!array || !wfl_array_known(array, __func__))
        return NULL;
    const wf_shape whole = wf_array_shape(array);
    if (!find_extent(&whole, &shape)) {
        char from[96], to[96] = "that shape";
        wf_shape_text(&whole, from, sizeof from);
        if (shape.rank >= 0 && shape.rank <= WF_MAX_RANK)
            wf_shape_text(&shape, to, sizeof to);
        wfl_array_fail(wf_array_context(array), WF_ERR_SHAPE, "wf_array_reshape: %s does not have the elements of %s",
                       from, to);
        return NULL;
    }
    if (wf_array_dist(array))
        return reshape_distributed(array, &shape);
    wf_array *packed = wf_array_copy(array), *out = packed ? wf_view_reshape(packed, shape) : NULL;
    wf_release(packed);
    return out;
}
