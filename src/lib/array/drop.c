/* drop.c - results without the axes that a function has reduced. */
#include "array_internal.h"
#include "weft/distributed.h"

static wf_shape shape_without(const wf_shape *shape, wf_axes axes)
{
    wf_shape kept = { .rank = 0 };
    for (int d = 0; d < shape->rank; ++d)
        if (!(axes >> d & 1))
            kept.dim[kept.rank++] = shape->dim[d];
    return kept;
}

/* Copies this rank's block into that of an array with other extents but the same elements. */
static bool copy_block(wf_array *to, wf_array *from)
{
    wf_array *in = wf_array_block(from), *out = wf_array_block(to);
    wf_array *view = in && out ? wf_view_reshape(in, wf_array_shape(out)) : NULL;
    bool ok = view && wf_array_assign(out, view) == WF_OK;
    wf_release(view);
    ok = wf_array_block_end(to, out) == WF_OK && ok;
    return wf_array_block_end(from, in) == WF_OK && ok;
}

/* Returns the elements of a distributed array in one without axes along which it is not cut. */
static wf_array *divided_without_axes(wf_array *array, wf_axes axes)
{
    const wf_shape old = wf_array_shape(array), shape = shape_without(&old, axes);
    const wf_array *from = array;
    wf_array *out = wf_empty_beside(wf_array_context(array), wf_array_dtype(array), shape, .operand = &from,
                                    .operands = 1, .reduced = axes | WF_DROP_AXES);
    if (out && !copy_block(out, array)) {
        wf_release(out);
        out = NULL;
    }
    return wfl_agreed(array, NULL, out);
}

wf_array *wfl_without_axes(wf_array *array, wf_axes axes)
{
    const wf_dist *dist = wf_array_dist(array);
    bool cut = false, divided = false; /* along these axes; along others */
    for (int d = 0; dist && d < dist->shape.rank; ++d) {
        cut = cut || (axes >> d & 1 && dist->grid[d] > 1);
        divided = divided || (!(axes >> d & 1) && dist->grid[d] > 1);
    }
    if (dist && (cut || !divided))
        array = wfl_collected(array);
    const wf_shape shape = wf_array_shape(array);
    wf_array *out = !array                 ? NULL
                    : wf_array_dist(array) ? divided_without_axes(array, axes)
                                           : wf_view_reshape(array, shape_without(&shape, axes));
    wf_release(array);
    return out;
}
