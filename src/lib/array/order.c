/* order.c - sorting along an axis, of arrays of each kind. On a tape the order is a constant, by which elements are read. */
#include "keys.h"
#include "lines.h"
#include "weft/derivative.h"

typedef struct order {
    int axis;
    bool descending, indices;
    const char *function;
} order;

/* ---- distributed arrays ---- */
static wf_status sort_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    const order *o = l->user;
    (void)first;
    (void)count;
    return wfl_lines_put(l, y, wfl_sorted(x, o->axis, o->descending, o->indices, o->function));
}

static wf_array *distributed_sort(const wf_array *array, order o)
{
    wf_shape shape = wf_array_shape(array);
    wf_context *ctx = wf_array_context(array);
    if (!wfl_array_ordered(array, o.function) || !wfl_axis_of(ctx, &shape, &o.axis, o.function))
        return NULL;
    const wfl_lines l = { ctx, o.function, 1, { WF_AXES(o.axis) }, sort_block, NULL, &o };
    const wf_dtype dtype = o.indices ? WF_I64 : wf_array_dtype(array);
    if (!wf_dist_divides(wf_array_dist(array), o.axis) || wfl_axes_count(&shape, ~WF_AXES(o.axis)) != 1)
        return wfl_lines_new(&l, dtype, &shape, array);
    wf_array *out = wfl_result_beside(array, dtype, &shape);
    if (out && wfl_distributed_together(ctx, o.function, out, array) &&
        wfl_sort_ranks(out, array, o.descending, o.indices, o.function) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* ---- on a tape ---- */
static wf_status set_indices(void *user, wf_arrays in, wf_arrays out)
{
    const order *o = user;
    wf_array *index = wfl_sorted(in.at[0], o->axis, o->descending, true, o->function);
    wf_status status = index ? wf_array_assign(out.at[0], index) : wfl_array_error(wf_array_context(in.at[0]));
    wf_release(index);
    return status;
}

/* Indices have no derivative, so the rule needs none, and is done with its user's data after the call. */
static wf_array *taped_indices(const wf_array *array, int axis, bool descending, const char *function)
{
    order o = { axis, descending, true, function };
    const wf_array_rule rule = { .size = sizeof rule, .name = function, .call = set_indices, .user = &o };
    wf_shape shape = wf_array_shape(array);
    wf_array *index = wfl_array_beside(array, WF_I64, &shape), *from = (wf_array *)array; /* it is only read */
    if (index && wf_custom_arrays(wf_array_context(array), &rule, WF_ARRAYS(from), WF_ARRAYS(index)) == WF_OK)
        return index;
    wf_release(index);
    return NULL;
}

/* Reads the elements in their order, which the tape notes. */
static wf_array *taped_sort(const wf_array *array, int axis, bool descending, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    wf_val place[WF_MAX_RANK];
    if (!wfl_array_ordered(array, function) || !wfl_axis_of(wf_array_context(array), &shape, &axis, function))
        return NULL;
    wf_array *index = taped_indices(array, axis, descending, function);
    if (!index)
        return NULL;
    wf_graph *g = wfl_begin(wf_array_context(array), function);
    for (int d = 0; d < shape.rank; ++d)
        place[d] = d == axis ? wf_in(g, index) : wf_iota(g, shape, d);
    wf_array *out = wfl_array_run(g, wf_keep(wf_read_n(g, array, (wf_vals){ place, (size_t)shape.rank })));
    wf_release(index);
    return out;
}

wf_array *wf_array_sort(const wf_array *array, int axis, bool descending)
{
    const char *function = "wf_array_sort";
    return wf_array_dist(array) ? distributed_sort(array, (order){ axis, descending, false, function })
           : wf_is_taped(array) ? taped_sort(array, axis, descending, function)
                                : wfl_sorted(array, axis, descending, false, function);
}

wf_array *wf_array_argsort(const wf_array *array, int axis, bool descending)
{
    const char *function = "wf_array_argsort";
    return wf_array_dist(array) ? distributed_sort(array, (order){ axis, descending, true, function })
           : wf_is_taped(array) ? taped_indices(array, axis, descending, function)
                                : wfl_sorted(array, axis, descending, true, function);
}
