/* transform.c - arrays read at positions that are computed from the index: affine transforms. */
#include "xform_internal.h"
#include <string.h>

bool wfl_batch_broadcast(const wf_shape *a, int keep_a, const wf_shape *b, int keep_b, wf_shape *batch)
{
    int na = a->rank - keep_a, nb = b->rank - keep_b;
    wf_shape all = { .rank = na > nb ? na : nb };
    for (int d = 0; d < all.rank; ++d) {
        int64_t x = d < all.rank - na ? 1 : a->dim[d - (all.rank - na)];
        int64_t y = d < all.rank - nb ? 1 : b->dim[d - (all.rank - nb)];
        if (x != y && x != 1 && y != 1)
            return false;
        all.dim[d] = x == 1 ? y : x;
    }
    *batch = all;
    return true;
}

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
    wf_array *y = source ? wfl_array_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &out) : NULL;
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
