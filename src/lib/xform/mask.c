/* mask.c - arrays multiplied by the mask of a shape (shapes.c) with a soft edge. */
#include "xform_internal.h"

static const char function[] = "wf_mask_apply";

/* Returns the number of lengths that a shape has. */
static int lengths_of(const wf_mask *mask, int axes)
{
    return mask->shape == WF_MASK_SPHERE ? 1 : mask->shape == WF_MASK_CYLINDER ? 2 : axes;
}

/* False, with an error: the mask is none of arrays of this shape. */
static bool usable(wf_context *ctx, const wf_mask *mask, const wf_shape *shape, int *axes)
{
    if (!mask) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `mask` is NULL", function);
        return false;
    }
    if ((unsigned)mask->shape > WF_MASK_CYLINDER) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no shape %d", function, (int)mask->shape);
        return false;
    }
    *axes = mask->axes ? mask->axes : shape->rank;
    int least = mask->shape == WF_MASK_CYLINDER ? 2 : 1;
    if (*axes < least || *axes > WFL_MOST_POSITIONS || *axes > shape->rank) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: the mask has %d axes; %d to 3 of the array's %d are possible", function,
                       *axes, least, (int)shape->rank);
        return false;
    }
    if (!(mask->edge >= 0)) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: mask.edge is %g; it may not be negative", function, mask->edge);
        return false;
    }
    for (int d = 0; d < lengths_of(mask, *axes); ++d)
        if (!(mask->length[d] >= 0) || (mask->shape == WF_MASK_ELLIPSOID && mask->length[d] == 0)) {
            wfl_array_fail(ctx, WF_ERR_ARG, "%s: mask.length[%d] is %g; it must be %s 0", function, d, mask->length[d],
                           mask->shape == WF_MASK_ELLIPSOID ? "above" : "at least");
            return false;
        }
    return true;
}

/* Returns the signed distance of the points of an array graph from the surface, of the dtype t. */
static wf_val distance(wf_graph *g, const wf_mask *mask, const wf_shape *shape, int axes, wf_dtype t)
{
    static const char *const names[2][3] = { { "c0", "c1", "c2" }, { "l0", "l1", "l2" } };
    static const char *const entries[3][3] = { { "r00", "r01", "r02" },
                                               { "r10", "r11", "r12" },
                                               { "r20", "r21", "r22" } };
    wf_val from[WFL_MOST_POSITIONS], at[WFL_MOST_POSITIONS], length[WFL_MOST_POSITIONS];
    int before = shape->rank - axes;
    for (int d = 0; d < axes; ++d) {
        double center = mask->centered ? mask->center[d] : (double)(shape->dim[before + d] / 2);
        wf_val i = wf_cast(wf_iota(g, *shape, before + d), WF_F64); /* rounded once, after the subtraction */
        from[d] = wf_cast(wf_sub(i, wf_param(g, names[0][d], WF_F64, center)), t);
        length[d] = wf_param(g, names[1][d], t, d < lengths_of(mask, axes) ? mask->length[d] : 0);
    }
    for (int d = 0; d < axes; ++d) {
        at[d] = from[d];
        for (int e = 0; e < axes && mask->rotation; ++e) {
            wf_val term = wf_mul(from[e], wf_param(g, entries[d][e], t, mask->rotation[d * axes + e]));
            at[d] = e ? wf_add(at[d], term) : term;
        }
    }
    wf_vals position = { at, (size_t)axes };
    switch (mask->shape) {
    case WF_MASK_ELLIPSOID:
        return wf_sdf_ellipsoid(g, position, (wf_vals){ length, (size_t)axes });
    case WF_MASK_BOX:
        return wf_sdf_box(g, position, (wf_vals){ length, (size_t)axes });
    case WF_MASK_CYLINDER:
        return wf_sdf_cylinder(g, position, length[0], length[1]);
    default:
        return wf_sdf_sphere(g, position, length[0]);
    }
}

wf_status wf_mask_apply(wf_array *out, const wf_array *x, const wf_mask *mask, const wf_array *outside)
{
    wf_context *ctx = wf_array_context(out);
    wf_shape shape = wf_array_shape(out), other = x ? wf_array_shape(x) : shape;
    int axes;
    if (!out)
        return wfl_array_fail(wf_array_context(x), WF_ERR_ARG, "%s: `out` is NULL", function);
    if (!wfl_array_known(out, function) || !wfl_array_known(x, function) || !wfl_array_known(outside, function) ||
        !usable(ctx, mask, &shape, &axes))
        return wfl_array_error(ctx);
    if (!wfl_same_shape(&other, &shape)) {
        char text[2][96];
        wf_shape_text(&other, text[0], sizeof text[0]);
        wf_shape_text(&shape, text[1], sizeof text[1]);
        return wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `x` is %s, but `out` is %s", function, text[0], text[1]);
    }
    wf_dtype t = wf_dtype_part(wf_array_dtype(out)) == WF_F64 ? WF_F64 : WF_F32;
    wf_graph *g = wfl_begin(ctx, function, .device = wfl_on_gpu(out) ? wf_array_device(out) : 0);
    wf_val weight = wf_soft_edge(distance(g, mask, &shape, axes, t), wf_param(g, "edge", t, mask->edge)), v = weight;
    if (mask->invert)
        v = weight = wf_sub(1, weight);
    if (x && outside) {
        wf_val beyond = wf_in(g, outside);
        v = wf_add(beyond, wf_mul(weight, wf_sub(wf_in(g, x), beyond)));
    } else if (x)
        v = wf_mul(weight, wf_in(g, x));
    wf_out(g, out, v);
    return wf_run(g);
}
