/* view.c - other shapes over the same memory: slices, permutations, reshapes, broadcasts. No element moves. */
#include "object/object.h"

static wf_array *view_of(wf_array *a, const char *function)
{
    if (!wf__array_usable(a, function))
        return NULL;
    wf_array *v = wf__array_handle(a->ctx, a->dtype, &a->shape);
    if (!v)
        return NULL;
    memcpy(v->stride, a->stride, sizeof a->stride);
    v->device = a->device;
    v->read_only = a->read_only;
    wf__view_begin(v, a);
    return v;
}

static bool axis_ok(const wf_array *a, int *axis, const char *function)
{
    if (*axis < 0)
        *axis += a->shape.rank;
    if (*axis >= 0 && *axis < a->shape.rank)
        return true;
    wf__error(a->ctx, WF_ERR_ARG, "%s: axis is out of range for rank %d", function, (int)a->shape.rank);
    return false;
}

wf_array *wf_view_slice(wf_array *array, int axis, int64_t start, int64_t stop, int64_t step)
{
    if (!array || !wf__array_usable(array, "wf_view_slice") || !axis_ok(array, &axis, "wf_view_slice"))
        return NULL;
    if (step == 0) {
        wf__error(array->ctx, WF_ERR_ARG, "wf_view_slice: step is 0");
        return NULL;
    }
    int64_t count = wf__slice_range(array->shape.dim[axis], &start, stop, step);
    wf_array *v = view_of(array, "wf_view_slice");
    if (!v)
        return NULL;
    v->shape.dim[axis] = count;
    if (count > 0)
        v->base += start * v->stride[axis] * (int64_t)wf_dtype_size(v->dtype);
    if (count > 1)
        v->stride[axis] *= step;
    return wf__view_end(v);
}

wf_array *wf_view_at(wf_array *array, int axis, int64_t index)
{
    if (!array || !wf__array_usable(array, "wf_view_at") || !axis_ok(array, &axis, "wf_view_at"))
        return NULL;
    int64_t n = array->shape.dim[axis], i = index < 0 ? index + n : index;
    if (i < 0 || i >= n) {
        wf__error(array->ctx, WF_ERR_BOUNDS, "wf_view_at: index %lld is out of range for axis %d of extent %lld",
                  (long long)index, axis, (long long)n);
        return NULL;
    }
    wf_array *v = view_of(array, "wf_view_at");
    if (!v)
        return NULL;
    v->base += i * v->stride[axis] * (int64_t)wf_dtype_size(v->dtype);
    --v->shape.rank;
    for (int d = axis; d < v->shape.rank; ++d) {
        v->shape.dim[d] = v->shape.dim[d + 1];
        v->stride[d] = v->stride[d + 1];
    }
    v->shape.dim[v->shape.rank] = 0;
    return wf__view_end(v);
}

wf_array *wf_view_permute(wf_array *array, const int *axes)
{
    if (!array || !wf__array_usable(array, "wf_view_permute"))
        return NULL;
    unsigned seen = 0;
    for (int d = 0; axes && d < array->shape.rank; ++d)
        if (axes[d] >= 0 && axes[d] < array->shape.rank)
            seen |= 1u << axes[d];
    if (seen != (1u << array->shape.rank) - 1) {
        wf__error(array->ctx, WF_ERR_ARG, "wf_view_permute: axes must name each of the %d axes once",
                  (int)array->shape.rank);
        return NULL;
    }
    wf_array *v = view_of(array, "wf_view_permute");
    for (int d = 0; v && d < array->shape.rank; ++d) {
        v->shape.dim[d] = array->shape.dim[axes[d]];
        v->stride[d] = array->stride[axes[d]];
    }
    return v ? wf__view_end(v) : NULL;
}

/* Sets the strides of the new shape over the same memory. Walks groups of axes of equal size. False = the shape needs
 * a copy. */
static bool restride(const wf_array *a, const wf_shape *shape, int64_t *stride)
{
    int64_t dim[WF_MAX_RANK], old[WF_MAX_RANK];
    int n = 0, o = 0, s = 0;
    for (int d = 0; d < a->shape.rank; ++d)
        if (a->shape.dim[d] != 1) {
            dim[n] = a->shape.dim[d];
            old[n++] = a->stride[d];
        }
    while (o < n && s < shape->rank) {
        int o1 = o + 1, s1 = s + 1;
        int64_t po = dim[o], ps = shape->dim[s];
        while (po != ps) {
            if (po < ps && o1 < n)
                po *= dim[o1++];
            else if (s1 < shape->rank)
                ps *= shape->dim[s1++];
            else
                return false;
        }
        for (int k = o; k + 1 < o1; ++k)
            if (old[k] != old[k + 1] * dim[k + 1])
                return false;
        int64_t step = old[o1 - 1];
        for (int k = s1 - 1; k >= s; --k) {
            stride[k] = step;
            step *= shape->dim[k];
        }
        o = o1;
        s = s1;
    }
    for (; s < shape->rank; ++s)
        stride[s] = 1;
    return true;
}

/* Sets the error of a shape that the array has no view of. */
static void refuse_shape(const wf_array *array, const wf_shape *shape, bool fits)
{
    char from[256], to[256] = "that shape";
    wf_shape_text(&array->shape, from, sizeof from);
    if (shape->rank >= 0 && shape->rank <= WF_MAX_RANK)
        wf_shape_text(shape, to, sizeof to);
    if (fits)
        wf__error(array->ctx, WF_ERR_SHAPE, "wf_view_reshape: %s to %s would need a copy: the memory is not contiguous",
                  from, to);
    else
        wf__error(array->ctx, WF_ERR_SHAPE, "wf_view_reshape: %s does not have the elements of %s", from, to);
}

wf_array *wf_view_reshape(wf_array *array, wf_shape shape)
{
    if (!array || !wf__array_usable(array, "wf_view_reshape"))
        return NULL;
    int64_t stride[WF_MAX_RANK] = { 0 };
    bool ranked = shape.rank >= 0 && shape.rank <= WF_MAX_RANK,
         fits = ranked && wf__reshape_fits(&array->shape, &shape);
    bool empty = wf_array_count(array) == 0;
    if (!fits || (!empty && !restride(array, &shape, stride))) {
        refuse_shape(array, &shape, fits);
        return NULL;
    }
    if (empty)
        wf__c_order(&shape, stride);
    wf_array *v = view_of(array, "wf_view_reshape");
    if (v) {
        v->shape = shape;
        memcpy(v->stride, stride, sizeof stride);
        wf__view_end(v);
    }
    return v;
}

wf_array *wf_view_broadcast(wf_array *array, wf_shape shape)
{
    if (!array || !wf__array_usable(array, "wf_view_broadcast"))
        return NULL;
    wf_shape both = { 0 };
    int64_t count;
    bool ranked = shape.rank >= 0 && shape.rank <= WF_MAX_RANK, counted = wf__shape_count(&shape, &count);
    bool ok = counted && wf__broadcast(&array->shape, &shape, &both) && wf__same_shape(&both, &shape);
    if (!ok) {
        char from[256], to[256] = "that shape";
        wf_shape_text(&array->shape, from, sizeof from);
        if (ranked)
            wf_shape_text(&shape, to, sizeof to);
        if (ranked && !counted)
            wf__error(array->ctx, WF_ERR_SHAPE,
                      "wf_view_broadcast: shape %s has a negative extent or too many elements", to);
        else
            wf__error(array->ctx, WF_ERR_SHAPE, "wf_view_broadcast: %s does not broadcast to %s", from, to);
        return NULL;
    }
    wf_array *v = view_of(array, "wf_view_broadcast");
    if (!v)
        return NULL;
    int skip = shape.rank - array->shape.rank;
    for (int d = 0; d < shape.rank; ++d)
        v->stride[d] = d < skip || array->shape.dim[d - skip] != shape.dim[d] ? 0 : array->stride[d - skip];
    v->shape = shape;
    v->read_only = true;
    return wf__view_end(v);
}
