/* warp.c - arrays read at positions that are given by an array, or are polar; means of blocks. */
#include "lib/array/lines.h"
#include "xform_internal.h"
#include <math.h>

/* False, with an error: the positions do not belong to x. */
static bool positions_fit(const wf_array *x, const wf_array *positions)
{
    static const char function[] = "wf_warp";
    wf_context *ctx = wf_array_context(x);
    wf_shape s = wf_array_shape(x), p = wf_array_shape(positions);
    int axes = p.rank > 0 && p.dim[0] >= 1 && p.dim[0] <= WFL_MOST_POSITIONS ? (int)p.dim[0] : 0;
    char text[2][96];
    wf_shape_text(&s, text[0], sizeof text[0]);
    wf_shape_text(&p, text[1], sizeof text[1]);
    if (wfl_is_complex_dtype(wf_array_dtype(positions))) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `positions` is %s; it must be real", function,
                       wf_dtype_name(wf_array_dtype(positions)));
        return false;
    }
    bool fit = axes && s.rank >= axes && p.rank - 1 >= s.rank - axes;
    for (int d = 0; fit && d < s.rank - axes; ++d)
        fit = s.dim[d] == 1 || s.dim[d] == p.dim[d + 1];
    if (!fit)
        wfl_array_fail(
            ctx, WF_ERR_SHAPE,
            "%s: `positions` is %s, `x` is %s; needed are 1 to 3 axes' positions, then x's other axes, then any",
            function, text[1], text[0]);
    return fit;
}

wf_array *wf_warp(const wf_array *x, const wf_array *positions, const wf_interp *how)
{
    static const char function[] = "wf_warp";
    wf_context *ctx = wf_array_context(x ? x : positions);
    if (!x || !positions) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, x ? "positions" : "x");
        return NULL;
    }
    if (!wfl_array_known(x, function) || !wfl_array_known(positions, function) ||
        !wfl_interp_known(ctx, how, function) || !positions_fit(x, positions))
        return NULL;
    wf_shape p = wf_array_shape(positions), out = { .rank = p.rank - 1 };
    int axes = (int)p.dim[0], batch = wf_array_shape(x).rank - axes;
    for (int d = 0; d < out.rank; ++d)
        out.dim[d] = p.dim[d + 1];
    wf_array *source = wfl_coefficients(x, how, axes);
    wf_array *y = source ? wf_empty_like(x, wfl_transformed_dtype(wf_array_dtype(x)), out) : NULL;
    if (y) {
        wf_graph *g = wfl_begin(ctx, function, .shape = out, .indexed = true);
        wf_val at[WF_MAX_RANK], index[WF_MAX_RANK];
        wf_interp with = *how;
        with.axes = axes;
        wfl_batch_indices(g, x, batch, batch, index);
        for (int d = 0; d < out.rank; ++d)
            at[d + 1] = wf_index(g, d);
        for (int d = 0; d < axes; ++d) {
            at[0] = wf_const_i64(g, WF_I64, d);
            index[batch + d] = wf_read_n(g, positions, (wf_vals){ at, (size_t)p.rank });
        }
        wf_out(g, y, wf_interpolate(g, source, &with, (wf_vals){ index, (size_t)(batch + axes) }));
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    return y;
}

/* Fills in what is 0 in *map by the defaults for an image of h x w. False, with an error: it describes no grid. */
static bool complete(wf_context *ctx, wf_polar_grid *map, int64_t h, int64_t w)
{
    static const char function[] = "wf_to_polar";
    if (!map->centered) {
        map->center[0] = (double)(h / 2);
        map->center[1] = (double)(w / 2);
    }
    double y = map->center[0], x = map->center[1];
    if (map->last_radius == 0)
        map->last_radius = fmin(fmin(y, (double)h - 1 - y), fmin(x, (double)w - 1 - x));
    if (map->first_angle == 0 && map->last_angle == 0)
        map->last_angle = 6.283185307179586;
    if (map->angles < 1 || map->radii < 1)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: %lld angles and %lld radii; there must be 1 or more", function,
                       (long long)map->angles, (long long)map->radii);
    else if (map->logarithmic && !(map->first_radius > 0 && map->last_radius > 0))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: radii from %g to %g have no logarithms", function, map->first_radius,
                       map->last_radius);
    else
        return true;
    return false;
}

static void record_polar(wf_graph *g, wf_array *y, const wf_array *x, const wf_polar_grid *map, const wf_interp *how)
{
    int batch = wf_array_shape(x).rank - 2;
    wf_dtype as = WF_F64;
    double steps = map->radii > 1 ? (double)(map->radii - 1) : 1, turn = map->last_angle - map->first_angle;
    double from = map->logarithmic ? log(map->first_radius) : map->first_radius;
    double to = map->logarithmic ? log(map->last_radius) : map->last_radius;
    wf_val index[WF_MAX_RANK], i = wf_cast(wf_index(g, batch), as), j = wf_cast(wf_index(g, batch + 1), as);
    wf_val angle = wf_add(wf_mul(i, wf_param(g, "step", as, turn / (double)map->angles)),
                          wf_param(g, "first", as, map->first_angle));
    wf_val radius =
        wf_add(wf_mul(j, wf_param(g, "radius_step", as, (to - from) / steps)), wf_param(g, "from", as, from));
    radius = map->logarithmic ? wf_exp(radius) : radius;
    wfl_batch_indices(g, x, batch, batch, index);
    index[batch] = wf_add(wf_mul(radius, wf_sin(angle)), wf_param(g, "y", as, map->center[0]));
    index[batch + 1] = wf_add(wf_mul(radius, wf_cos(angle)), wf_param(g, "x", as, map->center[1]));
    wf_interp with = *how;
    with.axes = 2;
    wf_out(g, y, wf_interpolate(g, x, &with, (wf_vals){ index, (size_t)batch + 2 }));
}

wf_array *wf_to_polar(const wf_array *x, const wf_polar_grid *grid, const wf_interp *how)
{
    static const char function[] = "wf_to_polar";
    wf_context *ctx = wf_array_context(x);
    wf_shape out = wf_array_shape(x);
    if (!x || !grid || out.rank < 2) {
        if (x)
            wfl_array_fail(ctx, grid ? WF_ERR_SHAPE : WF_ERR_ARG,
                           grid ? "%s: `x` has rank %d; images have 2 axes" : "%s: `grid` is NULL", function,
                           (int)out.rank);
        return NULL;
    }
    wf_polar_grid map = *grid;
    if (!wfl_array_known(x, function) || !wfl_interp_known(ctx, how, function) ||
        !complete(ctx, &map, out.dim[out.rank - 2], out.dim[out.rank - 1]))
        return NULL;
    out.dim[out.rank - 2] = map.angles;
    out.dim[out.rank - 1] = map.radii;
    wf_array *source = wfl_coefficients(x, how, 2);
    wf_array *y = source ? wf_empty_like(x, wfl_transformed_dtype(wf_array_dtype(x)), out) : NULL;
    if (y) {
        wf_graph *g = wfl_begin(ctx, function, .shape = out);
        record_polar(g, y, source, &map, how);
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    return y;
}

/* ---- means of blocks ---- */
/* Returns the means of k neighbours along axes, which all fit beside the rank. */
static wf_array *bin_axes(const wf_array *x, int64_t k, wf_axes axes)
{
    wf_shape shape = wf_array_shape(x), split = { .rank = 0 };
    wf_array *cut = wf_retain(x);
    wf_axes inner = 0;
    for (int d = 0; d < shape.rank && cut; ++d) {
        int64_t n = axes >> d & 1 ? shape.dim[d] / k : shape.dim[d];
        split.dim[split.rank++] = n;
        if (!(axes >> d & 1))
            continue;
        inner |= 1u << split.rank;
        split.dim[split.rank++] = k;
        wf_array *part = wf_view_slice(cut, d, 0, n * k, 1);
        wf_release(cut);
        cut = part;
    }
    wf_array *blocks = cut ? wf_view_reshape(cut, split) : NULL;
    wf_array *means = blocks ? wf_array_mean(blocks, inner | WF_DROP_AXES) : NULL;
    wf_release(cut);
    wf_release(blocks);
    return means;
}

/* What bins consist of: the elements of x in whole bins, none of which ranks divide. */
static wf_array *whole_bins(const wf_array *x, int64_t k, wf_axes axes)
{
    wf_context *ctx = wf_array_context(x);
    wf_dist dist = *wf_array_dist(x);
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < dist.shape.rank; ++d)
        if (axes >> d & 1) {
            const bool divided = wf_dist_divides(&dist, d);
            const int64_t n = dist.shape.dim[d] / k * k;
            dist.shape.dim[d] = n;
            dist.unit[d] = divided ? k : n > 0 ? n : 1;
        }
    wf_array *to = wf_empty_distributed(ctx, wf_array_dtype(x), wf_array_ranks(x), &dist);
    if (!to)
        return NULL;
    wf_graph *g = wfl_begin(ctx, "wf_bin", .shape = dist.shape);
    for (int d = 0; d < dist.shape.rank; ++d)
        index[d] = wf_index(g, d);
    wf_out(g, to, wf_read_n(g, x, (wf_vals){ index, (size_t)dist.shape.rank }));
    return wfl_array_run(g, to);
}

typedef struct bins {
    int64_t k;
    wf_axes axes;
} bins;

static wf_status bin_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    const bins *b = l->user;
    (void)first;
    (void)count;
    wf_array *means = wf_bin(x, b->k, b->axes);
    wf_status status = means ? wf_array_assign(y, means) : wfl_array_error(l->ctx);
    wf_release(means);
    return status;
}

static wf_array *bin_distributed(const wf_array *x, int64_t k, wf_axes axes)
{
    const bins b = { k, axes };
    const wfl_lines l = { wf_array_context(x), "wf_bin", 1, { 0 }, bin_block, NULL, &b };
    wf_array *whole = whole_bins(x, k, axes), *y = NULL;
    if (whole) {
        wf_shape shape = wf_array_shape(whole);
        for (int d = 0; d < shape.rank; ++d)
            shape.dim[d] /= axes >> d & 1 ? k : 1;
        y = wfl_lines_new(&l, wfl_mean_dtype(wf_array_dtype(x)), &shape, whole);
    }
    wf_release(whole);
    return y;
}

wf_array *wf_bin(const wf_array *x, int64_t k, wf_axes axes)
{
    static const char function[] = "wf_bin";
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(x);
    bool drop;
    if (!x || !wfl_array_known(x, function) || !wfl_axes_of(ctx, &shape, &axes, &drop, function))
        return NULL;
    if (k < 1 || (shape.rank == WF_MAX_RANK && axes)) {
        wfl_array_fail(ctx, k < 1 ? WF_ERR_ARG : WF_ERR_SHAPE, "%s: %s is %lld; %s", function,
                       k < 1 ? "`k`" : "x's rank", k < 1 ? (long long)k : (long long)shape.rank,
                       k < 1 ? "it must be 1 or more" : "7 is the highest");
        return NULL;
    }
    if (wf_array_dist(x) && axes)
        return bin_distributed(x, k, axes);
    wf_array *y = axes ? NULL : wf_copy(x);
    for (int room = WF_MAX_RANK - shape.rank; axes;) {
        wf_axes now = 0;
        for (int d = 0, n = 0; d < shape.rank && n < room; ++d)
            if (axes >> d & 1) {
                now |= 1u << d;
                ++n;
            }
        wf_array *next = bin_axes(y ? y : x, k, now);
        wf_release(y);
        if (!next)
            return NULL;
        y = next;
        axes &= ~now;
    }
    return y;
}
