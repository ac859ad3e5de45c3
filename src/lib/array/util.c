/* util.c - messages, dtypes, shapes and masks of axes for the array functions. */
#include "array_internal.h"
#include "weft/distributed.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wf_status wfl_array_fail(wf_context *ctx, wf_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return wf_error(ctx, status, text);
}

wf_status wfl_array_error(const wf_context *ctx)
{
    wf_status status = wf_last_status(ctx);
    return status == WF_OK ? WF_ERR_MEMORY : status;
}

bool wfl_border_known(wf_context *ctx, wf_border border, const char *function)
{
    if ((unsigned)border <= WF_BORDER_REFLECT)
        return true;
    wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no border mode %d", function, (int)border);
    return false;
}

bool wfl_array_known(const wf_array *array, const char *function)
{
    if (!array || wf_array_state(array) != WF_STATE_FORMAL)
        return true;
    wfl_array_fail(wf_array_context(array), WF_ERR_ARG, "%s: a formal or scratch has no contents outside a recording",
                   function);
    return false;
}

bool wfl_is_list(wf_graph *graph, wf_vals list, const char *function)
{
    if (list.at || !list.n)
        return true;
    char text[96];
    snprintf(text, sizeof text, "%s: a list of %zu entries is NULL", function, list.n);
    wf_fail(graph, WF_ERR_ARG, text);
    return false;
}

bool wfl_array_whole(const wf_array *array, const char *function)
{
    if (!wf_array_dist(array))
        return true;
    wfl_array_fail(wf_array_context(array), WF_ERR_ARG,
                   "%s: an array is distributed, and all of its elements are needed on each rank (wf_array_collect)",
                   function);
    return false;
}

bool wfl_last_axes_whole(const wf_array *array, int n, const char *function)
{
    const wf_dist *dist = wf_array_dist(array);
    int d = dist ? dist->shape.rank - n : 0;
    while (dist && d < dist->shape.rank && !wf_dist_divides(dist, d))
        ++d;
    if (!dist || d == dist->shape.rank)
        return true;
    wfl_array_fail(wf_array_context(array), WF_ERR_UNSUPPORTED,
                   "%s: ranks divide axis %d, along which each rank needs all elements (wf_array_redistribute)",
                   function, d);
    return false;
}

wf_dtype wfl_mean_dtype(wf_dtype t) { return t < WF_F16 ? WF_F64 : t; }

wf_dtype wfl_work_dtype(wf_dtype t) { return t == WF_F16 || t == WF_BF16 ? WF_F32 : t == WF_C32 ? WF_C64 : t; }

bool wfl_same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

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

bool wfl_have_one_shape(const wf_array *a, const wf_array *b, const char *function)
{
    wf_shape one = wf_array_shape(a), other = wf_array_shape(b);
    char first[96], second[96];
    if (wfl_same_shape(&one, &other))
        return true;
    wf_shape_text(&one, first, sizeof first);
    wf_shape_text(&other, second, sizeof second);
    wfl_array_fail(wf_array_context(a), WF_ERR_SHAPE, "%s: `a` is %s, but `b` is %s", function, first, second);
    return false;
}

int64_t wfl_axes_count(const wf_shape *shape, wf_axes axes)
{
    int64_t n = 1;
    for (int d = 0; d < shape->rank; ++d)
        n *= axes >> d & 1 ? shape->dim[d] : 1;
    return n;
}

bool wfl_axes_of(wf_context *ctx, const wf_shape *shape, wf_axes *axes, bool *drop, const char *function)
{
    wf_axes mask = *axes & ~WF_DROP_AXES;
    *drop = (*axes & WF_DROP_AXES) != 0;
    *axes = mask & ((1u << shape->rank) - 1);
    if (!shape->rank || mask == WF_ALL_AXES)
        return true;
    if (!mask)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: the mask names no axis; say WF_AXES(...)", function);
    else if (mask >> shape->rank)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: the mask 0x%x names axes beyond the array's rank %d", function,
                       (unsigned)mask, (int)shape->rank);
    return mask && !(mask >> shape->rank);
}

bool wfl_axis_of(wf_context *ctx, const wf_shape *shape, int *axis, const char *function)
{
    int given = *axis;
    *axis += given < 0 ? shape->rank : 0;
    if (*axis >= 0 && *axis < shape->rank)
        return true;
    wfl_array_fail(ctx, WF_ERR_ARG, "%s: axis %d is out of range for rank %d", function, given, (int)shape->rank);
    return false;
}

wf_array *wfl_collected(wf_array *array)
{
    wf_array *all = wf_array_collect(array);
    wf_release(array);
    return all;
}

void wfl_end_group(const wf_array *array)
{
    if (wf_array_ranks(array) && wf_last_status(wf_array_context(array)) == WF_ERR_MEMORY)
        wf_ranks_abort(wf_array_ranks(array), EXIT_FAILURE, wf_last_message(wf_array_context(array)));
}

wf_array *wfl_array_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape)
{
    wf_array *out = wf_empty(wf_array_context(array), dtype, *shape, .device = wf_array_device(array));
    if (!out)
        wfl_end_group(array);
    return out;
}

bool wfl_array_together(const wf_array *a, const wf_array *b, const char *function)
{
    if (wf_array_device(a) == wf_array_device(b))
        return true;
    wf_graph *g = wfl_begin(wf_array_context(a), function); /* which has the message */
    wf_in(g, a);
    wf_in(g, b);
    return wf_run(g) == WF_OK;
}

void wfl_array_by_host(const wf_array *array, const char *function)
{
    if (array && !wfl_on_gpu(array))
        wf_freeze_refuse(wf_array_context(array), function,
                         "on the processor and in the interpreter it is work of the host, not launches");
}

wf_array *wfl_array_scratch(wf_context *ctx, int64_t n, size_t size, void **data)
{
    wf_array *memory = wf_empty(ctx, WF_U8, WF_SHAPE(n, (int64_t)size), .device = WF_CPU); /* checks the product */
    if (memory && wf_map(memory, data, NULL) == WF_OK)
        return memory;
    wf_release(memory);
    return NULL;
}
