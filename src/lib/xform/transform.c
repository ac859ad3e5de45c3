/* transform.c - arrays read at positions that are computed from the index: affine transforms, other extents. */
#include "xform_internal.h"
#include <math.h>

void wfl_batch_indices(wf_graph *g, const wf_array *a, int own, int all, wf_val *index)
{
    wf_shape shape = wf_array_shape(a);
    for (int d = 0; d < own; ++d)
        index[d] = shape.dim[d] == 1 ? wf_const_i64(g, WF_I64, 0) : wf_index(g, all - own + d);
}

typedef struct job {
    const wf_array *x, *inverse;
    wf_interp how;
    int axes, batch;
} job;

static void record_transform(wf_graph *g, wf_array *y, const job *j)
{
    wf_val at[WF_MAX_RANK + 2], position[WF_MAX_RANK];
    int own = wf_array_shape(j->inverse).rank - 2;
    wf_dtype as = wfl_positions_dtype(j->inverse);
    wfl_batch_indices(g, j->inverse, own, j->batch, at);
    int before = wf_array_shape(j->x).rank - j->axes;
    wfl_batch_indices(g, j->x, before, j->batch, position);
    for (int d = 0; d < j->axes; ++d) {
        wf_val sum = { { 0, g } };
        for (int e = j->axes; e >= 0; --e) {
            at[own] = wf_const_i64(g, WF_I64, d);
            at[own + 1] = wf_const_i64(g, WF_I64, e);
            wf_val m = wf_cast(wf_read_n(g, j->inverse, (wf_vals){ at, (size_t)own + 2 }), as);
            sum = e == j->axes ? m : wf_add(sum, wf_mul(m, wf_cast(wf_index(g, j->batch + e), as)));
        }
        position[before + d] = sum;
    }
    wf_out(g, y, wf_interpolate(g, j->x, &j->how, (wf_vals){ position, (size_t)(before + j->axes) }));
}

/* Sets the output's shape, and the job's axes. False, with an error. */
static bool output_shape(job *j, wf_shape shape, wf_shape *out, const char *function)
{
    wf_context *ctx = wf_array_context(j->x);
    wf_shape x = wf_array_shape(j->x), m = wf_array_shape(j->inverse);
    char text[2][96];
    wf_shape_text(&x, text[0], sizeof text[0]);
    wf_shape_text(&m, text[1], sizeof text[1]);
    j->axes = m.rank >= 2 ? (int)m.dim[m.rank - 2] : 0;
    if (m.rank < 2 || j->axes < 1 || j->axes > WFL_MOST_POSITIONS || m.dim[m.rank - 1] != j->axes + 1)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `inverse` is %s; its last axes are 1 x 2, 2 x 3 or 3 x 4", function,
                       text[1]);
    else if (wfl_is_complex_dtype(wf_array_dtype(j->inverse)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `inverse` is %s; it must be real", function,
                       wf_dtype_name(wf_array_dtype(j->inverse)));
    else if (x.rank < j->axes)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `inverse` is %s, for %d axes; `x` is %s", function, text[1], j->axes,
                       text[0]);
    else if (shape.rank && shape.rank != j->axes)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `shape` has rank %d, but `inverse` is for %d axes", function,
                       (int)shape.rank, j->axes);
    else if (!wfl_batch_broadcast(&x, j->axes, &m, 2, out) || out->rank + j->axes > WF_MAX_RANK)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: the batches of `x`, %s, and `inverse`, %s, do not broadcast", function,
                       text[0], text[1]);
    else {
        j->batch = out->rank;
        for (int d = 0; d < j->axes; ++d)
            out->dim[out->rank++] = shape.rank ? shape.dim[d] : x.dim[x.rank - j->axes + d];
        return true;
    }
    return false;
}

wf_array *wf_transform(const wf_array *x, wf_shape shape, const wf_array *inverse, const wf_interp *how)
{
    static const char function[] = "wf_transform";
    wf_context *ctx = wf_array_context(x ? x : inverse);
    if (!x || !inverse) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, x ? "inverse" : "x");
        return NULL;
    }
    wf_shape out;
    job j = { .x = x, .inverse = inverse };
    if (!wfl_array_known(x, function) || !wfl_array_known(inverse, function) || !wfl_interp_known(ctx, how, function) ||
        !output_shape(&j, shape, &out, function))
        return NULL;
    wf_array *source = wfl_coefficients(x, how, j.axes);
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &out) : NULL;
    if (y) {
        wf_graph *g = wfl_begin(ctx, function, .shape = out);
        j.x = source;
        j.how = *how;
        j.how.axes = j.axes;
        record_transform(g, y, &j);
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    return y;
}

/* ---- other extents ---- */
/* Returns the position in n elements of element i of m, along axis d. A quotient of whole numbers is rounded once. */
static wf_val zoomed(wf_graph *g, wf_zoom_grid grid, int d, wf_val i, int64_t n, int64_t m)
{
    static const char *const names[WFL_MOST_POSITIONS][4] = { { "factor0", "offset0", "divisor0", "base0" },
                                                              { "factor1", "offset1", "divisor1", "base1" },
                                                              { "factor2", "offset2", "divisor2", "base2" } };
    double from = (double)n, to = (double)m, half = floor(to / 2);
    const double maps[][4] = { [WF_ZOOM_PIXELS] = { 2 * from, from - to, 2 * to, 0 }, /* (2 i + 1) n - m over 2 m */
                               [WF_ZOOM_ENDS] = { from - 1, 0, to > 1 ? to - 1 : 1, 0 },
                               [WF_ZOOM_CENTERS] = { from, -half * from, to, floor(from / 2) },
                               [WF_ZOOM_ORIGINS] = { from, 0, to, 0 } };
    wf_val map[4]; /* (i factor + offset) / divisor + base */
    for (int k = 0; k < 4; ++k)
        map[k] = wf_param(g, names[d][k], WF_F64, maps[grid][k]);
    return wf_add(wf_div(wf_add(wf_mul(i, map[0]), map[1]), map[2]), map[3]);
}

/* Sets *out to x's shape with other last extents. False, with an error: there is no such result. */
static bool zoomed_shape(const wf_array *x, const wf_shape *shape, wf_zoom_grid grid, wf_shape *out)
{
    static const char function[] = "wf_zoom";
    wf_context *ctx = wf_array_context(x);
    *out = wf_array_shape(x);
    if ((unsigned)grid > WF_ZOOM_ORIGINS) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no grid %d", function, (int)grid);
        return false;
    }
    if (shape->rank < 1 || shape->rank > WFL_MOST_POSITIONS || shape->rank > out->rank) {
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `shape` has rank %d; 1 to 3 of x's %d axes are possible", function,
                       (int)shape->rank, (int)out->rank);
        return false;
    }
    for (int d = 0; d < shape->rank; ++d) {
        int64_t *n = &out->dim[out->rank - shape->rank + d];
        if (shape->dim[d] < 0 || (*n == 0 && shape->dim[d] > 0)) {
            wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: shape.dim[%d] is %lld, and x has %lld elements there", function, d,
                           (long long)shape->dim[d], (long long)*n);
            return false;
        }
        *n = shape->dim[d];
    }
    return true;
}

wf_array *wf_zoom(const wf_array *x, wf_shape shape, wf_zoom_grid grid, const wf_interp *how)
{
    static const char function[] = "wf_zoom";
    wf_context *ctx = wf_array_context(x);
    wf_shape out, old = wf_array_shape(x);
    if (!x || !wfl_array_known(x, function) || !wfl_interp_known(ctx, how, function) ||
        !zoomed_shape(x, &shape, grid, &out))
        return NULL;
    int axes = shape.rank, batch = out.rank - axes;
    wf_array *source = wfl_coefficients(x, how, axes);
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &out) : NULL;
    if (y) {
        wf_graph *g = wfl_begin(ctx, function, .shape = out);
        wf_val index[WF_MAX_RANK];
        wf_interp with = *how;
        with.axes = axes;
        for (int d = 0; d < out.rank; ++d) {
            wf_val i = wf_index(g, d);
            index[d] = d < batch ? i : zoomed(g, grid, d - batch, wf_cast(i, WF_F64), old.dim[d], out.dim[d]);
        }
        wf_out(g, y, wf_interpolate(g, source, &with, (wf_vals){ index, (size_t)out.rank }));
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    return y;
}
