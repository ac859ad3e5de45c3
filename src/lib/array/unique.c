/* unique.c - different elements, and elements repeated by counts: results whose sizes are read back. */
#include "array_internal.h"

/* ---- different elements ---- */
/* Elements in ascending order: equal ones are neighbours, the first of them in memory is the first one. */
typedef struct runs {
    wf_array *line;  /* the elements, [n] */
    wf_array *order; /* i64 [n]: where the sorted elements are in `line` */
    wf_array *rank;  /* i64 [n]: the number of the run that a sorted element belongs to */
    wf_array *start; /* i64: where runs begin */
} runs;

static void free_runs(runs *r)
{
    wf_array *all[] = { r->line, r->order, r->rank, r->start };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* Returns the contiguous elements as a line, -0 as +0, which is equal to it. */
static wf_array *line_of(const wf_array *array, const char *function)
{
    wf_graph *g = wfl_begin(wf_array_context(array), function, .flags_off = WF_FLAG_FAST_MATH);
    wf_val v = wf_reshape(wf_in(g, array), WF_SHAPE(wf_array_count(array)));
    return wfl_array_run(g, wf_keep(wfl_is_float_dtype(wf_array_dtype(array)) ? wf_add(v, 0) : v));
}

static bool find_runs(const wf_array *array, const char *function, runs *r)
{
    const int64_t n = wf_array_count(array);
    wf_array *begins = NULL;
    r->line = line_of(array, function);
    r->order = r->line ? wf_array_argsort(r->line, 0, false) : NULL;
    if (!r->order)
        return false;
    wf_graph *g = wfl_begin(wf_array_context(array), function, .flags_off = WF_FLAG_FAST_MATH);
    wf_val v = wf_gather(wf_in(g, r->line), wf_in(g, r->order)),
           one = wf_broadcast(wf_const(g, WF_BOOL, 1), WF_SHAPE(1));
    if (n > 1)
        one = wf_concat(0, one, wf_ne(wf_slice(v, 0, 1, n, 1), wf_slice(v, 0, 0, n - 1, 1)));
    wf_val begin = n ? one : wf_ne(v, v);
    begins = wf_keep(begin);
    r->rank = wf_keep(wf_sub(wf_scan(WF_JOIN_ADD, wf_cast(begin, WF_I64), 0, false, false), 1));
    if (wf_run(g) == WF_OK)
        r->start = wf_array_where(begins);
    wf_release(begins);
    return r->start != NULL;
}

wf_status wf_array_unique(const wf_array *array, wf_array **values, wf_array **first, wf_array **inverse,
                          wf_array **counts)
{
    wf_context *ctx = wf_array_context(array);
    const wf_shape shape = wf_array_shape(array);
    const int64_t n = wf_array_count(array);
    runs r = { 0 };
    wf_array *v = NULL, *f = NULL, *i = NULL, *c = NULL;
    if (!array)
        return WF_ERR_ARG;
    if (!wfl_array_ordered(array, __func__) || !wfl_array_whole(array, __func__))
        return wfl_array_error(ctx);
    wf_freeze_refuse(ctx, __func__, "the number of elements is read back, and decides a shape");
    bool done = find_runs(array, __func__, &r) && (!inverse || (i = wfl_array_beside(array, WF_I64, &shape)) != NULL);
    wf_array *line = done && i ? wf_view_reshape(i, WF_SHAPE(n)) : NULL;
    if (done && (line || !i)) {
        wf_graph *g = wfl_begin(ctx, __func__);
        wf_val start = wf_in(g, r.start), place = wf_gather(wf_in(g, r.order), start);
        const int64_t m = wf_array_count(r.start);
        f = first ? wf_keep(place) : NULL;
        v = values ? wf_keep(wf_gather(wf_in(g, r.line), place)) : NULL;
        if (counts) {
            wf_val end = wf_broadcast(wf_const_i64(g, WF_I64, n), WF_SHAPE(m ? 1 : 0));
            c = wf_keep(wf_sub(m > 1 ? wf_concat(0, wf_slice(start, 0, 1, m, 1), end) : end, start));
        }
        if (i)
            wf_write(g, line, wf_in(g, r.rank), wf_in(g, r.order));
        done = wf_run(g) == WF_OK;
    } else {
        done = false;
    }
    wf_array *made[] = { v, f, i, c };
    wf_array **out[] = { values, first, inverse, counts };
    for (size_t k = 0; k < sizeof made / sizeof *made; ++k)
        if (done && out[k])
            *out[k] = made[k];
        else
            wf_release(made[k]);
    wf_release(line);
    free_runs(&r);
    return done ? WF_OK : wfl_array_error(ctx);
}

/* ---- repetition by counts ---- */
/* Sets *total to the sum of the counts, whose running sums are `ends`. False, with an error: one of them is negative, or the
 * sum is beyond all shapes. Running sums wrap; so a sum in f64, whose rounding is small beside MOST, decides. */
static bool total_of(const wf_array *counts, wf_array *ends, int64_t *total, const char *function)
{
    static const double MOST = 9.2e18; /* below 2^63 */
    wf_context *ctx = wf_array_context(counts);
    wf_graph *g = wfl_begin(ctx, function);
    wf_val all = wf_in(g, counts);
    wf_array *lowest = wf_keep(wf_cast(wf_reduce(WF_JOIN_MIN, all, WF_ALL_AXES), WF_I64)),
             *about = wf_keep(wf_reduce(WF_JOIN_ADD, wf_cast(all, WF_F64), WF_ALL_AXES)),
             *last = wf_view_at(ends, 0, -1);
    int64_t least = 0, sum = 0;
    double size = 0;
    bool read = wf_run(g) == WF_OK && last && wf_download(lowest, &least, sizeof least) == WF_OK &&
                wf_download(about, &size, sizeof size) == WF_OK && wf_download(last, &sum, sizeof sum) == WF_OK;
    wf_release(lowest);
    wf_release(about);
    wf_release(last);
    if (read && size >= MOST)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: the counts add up to about %.3g, more than an array can have elements",
                       function, size);
    else if (read && least < 0)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: the count %lld is negative", function, (long long)least);
    *total = sum;
    return read && least >= 0 && size < MOST;
}

/* Returns i64 [total]: for each element of the result the place of its original, which is the number of ends up to it. */
static wf_array *places_of(const wf_array *ends, int64_t total, const char *function)
{
    wf_graph *g = wfl_begin(wf_array_context(ends), function);
    wf_array *line = wfl_array_beside(ends, WF_I64, &WF_SHAPE(total));
    wf_out(g, line, wf_iota(g, WF_SHAPE(total), 0));
    line = wfl_array_run(g, line);
    wf_array *places = line ? wf_array_searchsorted(ends, line, true) : NULL;
    wf_release(line);
    return places;
}

static wf_array *taken(const wf_array *array, int axis, const wf_array *places, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    shape.dim[axis] = wf_array_count(places);
    wf_array *out = wfl_array_beside(array, wf_array_dtype(array), &shape);
    if (!out)
        return NULL;
    wf_graph *g = wfl_begin(wf_array_context(array), function, .shape = shape);
    wf_val at[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        at[d] = wf_index(g, d);
    at[axis] = wf_read(g, places, at[axis]);
    wf_out(g, out, wf_read_n(g, array, (wf_vals){ at, (size_t)shape.rank }));
    return wfl_array_run(g, out);
}

wf_array *wf_array_repeat_counts(const wf_array *array, int axis, const wf_array *counts)
{
    wf_context *ctx = wf_array_context(array ? array : counts);
    wf_shape shape = wf_array_shape(array), line = wf_array_shape(counts);
    int64_t total = 0;
    if (!array || !counts) {
        wfl_array_fail(ctx, WF_ERR_ARG, "wf_array_repeat_counts: array or counts is NULL");
        return NULL;
    }
    if (!wfl_array_known(array, __func__) || !wfl_array_known(counts, __func__) || !wfl_array_whole(counts, __func__) ||
        !wfl_axis_of(ctx, &shape, &axis, __func__))
        return NULL;
    const wf_kind kind = wf_dtype_kind(wf_array_dtype(counts));
    if (kind != WF_KIND_SIGNED && kind != WF_KIND_UNSIGNED) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "wf_array_repeat_counts: counts are integers, not %s",
                       wf_dtype_name(wf_array_dtype(counts)));
        return NULL;
    }
    if (line.rank != 1 || line.dim[0] != shape.dim[axis]) {
        wfl_array_fail(ctx, WF_ERR_SHAPE,
                       "wf_array_repeat_counts: needs one count for each of the %lld elements along "
                       "axis %d",
                       (long long)shape.dim[axis], axis);
        return NULL;
    }
    if (!wfl_array_together(array, counts, __func__))
        return NULL;
    wf_freeze_refuse(ctx, __func__, "the number of elements is read back, and decides a shape");
    wf_array *wide = wf_array_cast(counts, WF_I64), *out = NULL;
    wf_array *ends = wide ? wf_array_cumsum(wide, 0, false) : NULL;
    if (ends && (!line.dim[0] || total_of(counts, ends, &total, __func__))) {
        wf_array *places = places_of(ends, total, __func__);
        out = places ? taken(array, axis, places, __func__) : NULL;
        wf_release(places);
    }
    wf_release(wide);
    wf_release(ends);
    return out;
}
