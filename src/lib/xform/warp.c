/* warp.c - arrays read at positions that are given by an array, or are polar; means of blocks. */
#include "weft/distributed.h"
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
        !wfl_interp_known(ctx, how, function) || !positions_fit(x, positions) ||
        !(wf_array_dist(x) || wfl_array_whole(positions, function)))
        return NULL;
    wf_shape p = wf_array_shape(positions), out = { .rank = p.rank - 1 };
    int axes = (int)p.dim[0], batch = wf_array_shape(x).rank - axes;
    for (int d = 0; d < out.rank; ++d)
        out.dim[d] = p.dim[d + 1];
    wf_array *source = wfl_coefficients(x, how, axes);
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &out) : NULL;
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
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &out) : NULL;
    if (y) {
        wf_graph *g = wfl_begin(ctx, function, .shape = out);
        record_polar(g, y, source, &map, how);
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    return y;
}

/* ---- means of blocks ---- */
/* Beyond, a reduction is faster, as its lanes run along memory; distributed arrays have no views for it. */
enum { MOST_LOOPED = 4 };

typedef struct bins {
    wf_graph *g;
    const wf_array *x;
    int rank;
    int64_t k;
    wf_axes axes;
    wf_val at[WF_MAX_RANK];
    wf_var sum;
} bins;

/* Records loops along the axes from d on, and adds the elements of a bin. */
static void add_elements(bins *b, int d)
{
    wf_val i;
    for (; d < b->rank && !(b->axes >> d & 1); ++d)
        b->at[d] = wf_index(b->g, d);
    if (d == b->rank) {
        wf_val v = wf_read_n(b->g, b->x, (wf_vals){ b->at, (size_t)b->rank });
        wf_set(b->sum, wf_add(wf_get(b->sum), wf_cast(v, wf_val_dtype(wf_get(b->sum)))));
        return;
    }
    WF_FOR (b->g, i, wf_const_i64(b->g, WF_I64, 0), wf_const_i64(b->g, WF_I64, b->k), 1) {
        b->at[d] = wf_add(wf_mul(wf_index(b->g, d), wf_const_i64(b->g, WF_I64, b->k)), i);
        add_elements(b, d + 1);
    }
    WF_END(b->g);
}

/* Returns the means of k neighbours along axes. Each point of the result adds its elements in C order. */
static wf_array *bin_by_loops(const wf_array *x, int64_t k, wf_axes axes)
{
    const wf_dtype mean = wfl_mean_dtype(wf_array_dtype(x)), wide = wfl_is_complex_dtype(mean) ? WF_C128 : WF_F64;
    wf_shape shape = wf_array_shape(x);
    double count = 1;
    for (int d = 0; d < shape.rank; ++d)
        if (axes >> d & 1) {
            shape.dim[d] /= k;
            count *= (double)k;
        }
    wf_array *y = wfl_result_beside(x, mean, &shape);
    if (!y || !wf_array_count(y))
        return y;
    wf_graph *g = wfl_begin(wf_array_context(x), "wf_bin", .shape = shape);
    bins b = { .g = g, .x = x, .rank = shape.rank, .k = k, .axes = axes };
    b.sum = wf_local(g, wide, wf_const(g, wide, 0));
    add_elements(&b, 0);
    wf_out(g, y, wf_cast(wf_div(wf_get(b.sum), count), mean));
    return wfl_array_run(g, y);
}

/* Returns the means of k neighbours along axes, which all fit beside the rank, by a reduction. */
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
    int64_t longest = 0;
    for (int d = 0; d < shape.rank; ++d)
        longest = axes >> d & 1 && shape.dim[d] > longest ? shape.dim[d] : longest;
    k = k - 1 > longest ? longest + 1 : k; /* no bin is full either way, and larger ones are beyond all shapes */
    if (axes && (k <= MOST_LOOPED || wf_array_dist(x)))
        return bin_by_loops(x, k, axes);
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
