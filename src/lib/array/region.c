/* region.c - permuted copies, extraction and insertion of regions, borders, tiles. */
#include "array_internal.h"
#include "weft/distributed.h"

#define FAR ((int64_t)1 << 52) /* offsets are exact as C numbers */

enum { LARGE = 1 << 22 };

/* The same for a distributed array. */
static wf_array *permute_distributed(const wf_array *array, const int *axes)
{
    const wf_shape whole = wf_array_shape(array);
    wf_shape shape = whole;
    wf_axis_slice slice[WF_MAX_RANK];
    wf_axes named = 0;
    for (int d = 0; axes && d < whole.rank; ++d) {
        if (axes[d] < 0 || axes[d] >= whole.rank)
            continue;
        named |= 1u << axes[d];
        shape.dim[d] = whole.dim[axes[d]];
        slice[axes[d]] = (wf_axis_slice){ .step = 1, .along = d };
    }
    if (named == (1u << whole.rank) - 1)
        return wf_array_slice(array, shape, slice);
    wfl_array_fail(wf_array_context(array), WF_ERR_ARG, "wf_array_permute: axes must name each of the %d axes once",
                   (int)whole.rank);
    return NULL;
}

wf_array *wf_array_permute(const wf_array *array, const int *axes)
{
    if (wf_array_dist(array))
        return permute_distributed(array, axes);
    wf_array *view = array ? wf_view_permute((wf_array *)array, axes) : NULL; /* the view is only read */
    wf_array *out = view ? wf_array_copy(view) : NULL;
    wf_release(view);
    return out;
}

wf_array *wfl_array_part(const wf_array *array, const wf_shape *shape, const int64_t *offset)
{
    wf_array *view = wf_retain(array);
    for (int d = 0; view && d < shape->rank; ++d) {
        wf_array *next = wf_view_slice(view, d, offset[d], offset[d] + shape->dim[d], 1);
        wf_release(view);
        view = next;
    }
    return view;
}

static bool inside(const wf_shape *whole, const wf_shape *shape, const int64_t *offset)
{
    for (int d = 0; d < whole->rank; ++d)
        if (offset[d] < 0 || offset[d] > whole->dim[d] || shape->dim[d] > whole->dim[d] - offset[d])
            return false;
    return true;
}

static bool is_empty(const wf_shape *shape) { return wfl_axes_count(shape, WF_ALL_AXES) == 0; }

static wf_array *extract(const wf_array *array, const wf_shape *shape, const int64_t *offset, wf_border border,
                         double value, const char *function)
{
    wf_context *ctx = wf_array_context(array);
    wf_shape whole = wf_array_shape(array);
    if (!wfl_border_known(ctx, border, function))
        return NULL;
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] < 0 || offset[d] > FAR || offset[d] < -FAR) {
            wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: the region has extent %lld at %lld along axis %d", function,
                           (long long)shape->dim[d], (long long)offset[d], d);
            return NULL;
        }
    if (inside(&whole, shape, offset) && !wf_array_dist(array)) {
        wf_array *view = wfl_array_part(array, shape, offset), *out = view ? wf_array_copy(view) : NULL;
        wf_release(view);
        return out;
    }
    if (border == WF_BORDER_NONE && !is_empty(shape) && !inside(&whole, shape, offset)) {
        wfl_array_fail(ctx, WF_ERR_BOUNDS, "%s: the region is not inside the array; give a border", function);
        return NULL;
    }
    wf_dtype t = wf_array_dtype(array);
    wf_array *out = wfl_result_beside(array, t, shape);
    if (!out || is_empty(shape))
        return out;
    if (is_empty(&whole) && border != WF_BORDER_VALUE) {
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: the array is empty, so only WF_BORDER_VALUE gives values", function);
        wf_release(out);
        return NULL;
    }
    wf_graph *g = wfl_begin(ctx, function, .shape = *shape);
    wf_val index[WF_MAX_RANK];
    /* With constant offsets the inner part of a region needs no tests, but each place needs a kernel: this pays for
     * large regions. */
    bool constant = wfl_axes_count(shape, WF_ALL_AXES) >= LARGE;
    for (int d = 0; d < shape->rank; ++d) {
        static const char *const names[WF_MAX_RANK] = { "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7" };
        wf_val at = constant ? wf_const_i64(g, WF_I64, offset[d]) : wf_param(g, names[d], WF_I64, (double)offset[d]);
        index[d] = wf_add(wf_index(g, d), at);
    }
    wf_val outside = border == WF_BORDER_VALUE ? wf_const(g, t, value) : (wf_val){ { 0, NULL } };
    wf_out(g, out, (wf_read_border_n)(g, array, border, outside, (wf_vals){ index, (size_t)shape->rank }));
    return wfl_array_run(g, out);
}

wf_array *wf_array_extract(const wf_array *array, wf_shape shape, const int64_t *offset, wf_border border, double value)
{
    if (!array || !wfl_array_known(array, "wf_array_extract"))
        return NULL;
    if (shape.rank != wf_array_shape(array).rank || (shape.rank && !offset)) {
        wfl_array_fail(wf_array_context(array), WF_ERR_SHAPE,
                       "wf_array_extract: the region has rank %d and %s offset, the array rank %d", (int)shape.rank,
                       offset ? "an" : "no", (int)wf_array_shape(array).rank);
        return NULL;
    }
    return extract(array, &shape, offset, border, value, "wf_array_extract");
}

/* Writes the elements from `from` on to those from `to` on, by index. */
static wf_status write_part(wf_array *array, const wf_array *region, const wf_shape *shape, const int64_t *to,
                            const int64_t *from)
{
    wf_graph *g = wfl_begin(wf_array_context(array), "wf_array_insert", .shape = *shape);
    wf_val place[WF_MAX_RANK], source[WF_MAX_RANK];
    for (int d = 0; d < shape->rank; ++d) {
        place[d] = wf_add(wf_index(g, d), wf_const_i64(g, WF_I64, to[d]));
        source[d] = wf_add(wf_index(g, d), wf_const_i64(g, WF_I64, from[d]));
    }
    const size_t rank = (size_t)shape->rank;
    wf_val v = wf_read_n(g, region, (wf_vals){ source, rank });
    wf_write_n(g, array, wf_cast(v, wf_array_dtype(array)), (wf_vals){ place, rank });
    return wfl_run_into(g, array);
}

wf_status wf_array_insert(wf_array *array, const wf_array *region, const int64_t *offset)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx || !wfl_array_known(array, "wf_array_insert") || !wfl_array_known(region, "wf_array_insert"))
        return WF_ERR_ARG;
    wf_shape whole = wf_array_shape(array), shape = wf_array_shape(region), common = { .rank = whole.rank };
    if (!region || shape.rank != whole.rank || (whole.rank && !offset))
        return wfl_array_fail(ctx, region ? WF_ERR_SHAPE : WF_ERR_ARG,
                              "wf_array_insert: needs a region of the array's rank, %d, and an offset",
                              (int)whole.rank);
    if (!wfl_array_together(array, region, "wf_array_insert") ||
        !(wf_array_dist(array) || wfl_array_whole(region, "wf_array_insert")))
        return wfl_array_error(ctx);
    int64_t to[WF_MAX_RANK], from[WF_MAX_RANK];
    for (int d = 0; d < whole.rank; ++d) {
        int64_t lo = offset[d] > 0 ? offset[d] : 0;
        int64_t hi = offset[d] > whole.dim[d] - shape.dim[d] ? whole.dim[d] : offset[d] + shape.dim[d];
        if (offset[d] < -shape.dim[d] || hi <= lo)
            return WF_OK; /* no part of the region is inside */
        to[d] = lo;
        from[d] = lo - offset[d];
        common.dim[d] = hi - lo;
    }
    if (wf_array_dist(array)) {
        wf_array *source = region == array ? wf_array_copy(region) : wf_retain(region);
        wf_status status = source ? write_part(array, source, &common, to, from) : wfl_array_error(ctx);
        wf_release(source);
        return status;
    }
    wf_array *target = wfl_array_part(array, &common, to),
             *source = target ? wfl_array_part(region, &common, from) : NULL;
    wf_status status = source ? wf_array_assign(target, source) : wfl_array_error(ctx);
    wf_release(target);
    wf_release(source);
    return status;
}

wf_array *wf_array_resize(const wf_array *array, const int64_t *before, const int64_t *after, wf_border border,
                          double value)
{
    if (!array || !wfl_array_known(array, "wf_array_resize"))
        return NULL;
    wf_shape shape = wf_array_shape(array);
    int64_t offset[WF_MAX_RANK] = { 0 };
    for (int d = 0; d < shape.rank; ++d) {
        int64_t b = before ? before[d] : 0, a = after ? after[d] : 0, most = INT64_MAX / 4;
        bool sane = b < most && b > -most && a < most && a > -most && shape.dim[d] < most;
        offset[d] = -b;
        shape.dim[d] = sane ? shape.dim[d] + b + a : -1;
        if (shape.dim[d] < 0) {
            wfl_array_fail(wf_array_context(array), WF_ERR_SHAPE,
                           "wf_array_resize: nothing is left of axis %d, or too much is added", d);
            return NULL;
        }
    }
    return extract(array, &shape, offset, border, value, "wf_array_resize");
}

wf_array *wf_array_tile(const wf_array *array, const int64_t *times)
{
    if (!array || !wfl_array_known(array, "wf_array_tile"))
        return NULL;
    wf_context *ctx = wf_array_context(array);
    wf_shape shape = wf_array_shape(array);
    const int64_t offset[WF_MAX_RANK] = { 0 };
    for (int d = 0; d < shape.rank; ++d) {
        if (times && times[d] >= 0 && shape.dim[d] && times[d] > INT64_MAX / shape.dim[d]) {
            wfl_array_fail(ctx, WF_ERR_SHAPE, "wf_array_tile: %lld times the %lld elements along axis %d are too many",
                           (long long)times[d], (long long)shape.dim[d], d);
            return NULL;
        }
        if (!times || times[d] < 0) {
            wfl_array_fail(ctx, WF_ERR_ARG, "wf_array_tile: needs a number of times for each axis, 0 or more");
            return NULL;
        }
        shape.dim[d] *= times[d];
    }
    return extract(array, &shape, offset, WF_BORDER_PERIODIC, 0, "wf_array_tile");
}

wf_array *wf_array_repeat(const wf_array *array, int axis, int64_t times)
{
    wf_context *ctx = wf_array_context(array);
    wf_shape shape = wf_array_shape(array);
    if (!ctx || !wfl_array_known(array, "wf_array_repeat") || !wfl_axis_of(ctx, &shape, &axis, "wf_array_repeat"))
        return NULL;
    if (times < 0 || (shape.dim[axis] && times > INT64_MAX / shape.dim[axis])) {
        wfl_array_fail(ctx, WF_ERR_ARG,
                       "wf_array_repeat: %lld times (must not be negative, nor make more than 2^63 - 1 elements)",
                       (long long)times);
        return NULL;
    }
    shape.dim[axis] *= times;
    wf_array *out = wfl_result_beside(array, wf_array_dtype(array), &shape);
    if (!out || is_empty(&shape))
        return out;
    wf_graph *g = wfl_begin(ctx, __func__, .shape = shape);
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = wf_index(g, d);
    index[axis] = wf_idiv(index[axis], wf_const_i64(g, WF_I64, times));
    wf_out(g, out, wf_read_n(g, array, (wf_vals){ index, (size_t)shape.rank }));
    return wfl_array_run(g, out);
}
