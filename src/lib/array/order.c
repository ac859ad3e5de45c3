/* order.c - sorting, medians and quantiles along axes: rows of keys (keys.h). */
#include "keys.h"
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool ordered(const wf_array *array, const char *function)
{
    if (!array || !wf__is_complex_dtype(wf_array_dtype(array)))
        return array != NULL;
    wf__array_fail(wf_array_context(array), WF_ERR_DTYPE, "%s: complex numbers have no order", function);
    return false;
}

typedef struct sorting {
    wf_dtype dtype;
    bool descending;
    int64_t *index; /* of the first row; NULL: the elements are sorted */
} sorting;

static void sort_row(const wf__rows *rows, int64_t row, void *scratch, void *user)
{
    const sorting *s = user;
    int64_t n = rows->length, *index = s->index ? s->index + row * n : NULL, *other_index = scratch;
    char *data = rows->data + (size_t)(row * n) * rows->size;
    void *keys = index ? other_index + n : scratch;
    int bits = 8 * (int)rows->size;
    wf__keys_of(s->dtype, s->descending, data, n, keys);
    if (wf__key_is_wide(s->dtype))
        wf__sort64(keys, (uint64_t *)keys + n, index, other_index, n, bits);
    else
        wf__sort32(keys, (uint32_t *)keys + n, index, other_index, n, bits);
    if (!index)
        wf__keys_to(s->dtype, s->descending, keys, n, data);
}

static wf_status sort_rows(const wf__rows *rows, sorting *s)
{
    size_t key = wf__key_is_wide(s->dtype) ? 8 : 4;
    wf_status status = WF_OK;
    if (rows->length < WF__LONG_ROW)
        return wf__rows_each(rows, (size_t)rows->length * (2 * key + (s->index ? 8 : 0)), sort_row, s);
    for (int64_t row = 0; row < rows->rows && status == WF_OK; ++row)
        status =
            wf__sort_long(rows->ctx, s->dtype, s->descending, rows->data + (size_t)(row * rows->length) * rows->size,
                          rows->length, s->index ? s->index + row * rows->length : NULL);
    return status;
}

static wf_array *sorted(const wf_array *array, int axis, bool descending, bool indices, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    wf_context *ctx = wf_array_context(array);
    wf__rows rows;
    if (!ordered(array, function) || !wf__array_on_host(array, function) ||
        !wf__axis_of(ctx, &shape, &axis, function) || !wf__rows_of(array, 1u << axis, wf_array_dtype(array), &rows))
        return NULL;
    sorting s = { .dtype = wf_array_dtype(array), .descending = descending };
    void *data = NULL;
    wf_array *out =
        indices ? wf_empty(ctx, WF_I64, wf_array_shape(rows.array), .device = WF_CPU) : wf_retain(rows.array);
    bool ok = out && (!indices || wf_map(out, &data, NULL) == WF_OK);
    s.index = data;
    ok = ok && sort_rows(&rows, &s) == WF_OK;
    if (ok)
        out = wf__rows_back(&rows, out);
    else
        wf_release(out);
    wf__rows_free(&rows);
    return ok ? out : NULL;
}

wf_array *wf_array_sort(const wf_array *array, int axis, bool descending)
{
    return sorted(array, axis, descending, false, "wf_array_sort");
}

wf_array *wf_array_argsort(const wf_array *array, int axis, bool descending)
{
    return sorted(array, axis, descending, true, "wf_array_argsort");
}

/* ---- quantiles ---- */
enum { MANY = 4 }; /* quantiles for which a row is sorted rather than searched */

typedef struct selection {
    wf_dtype dtype;
    const double *q;
    int64_t n;
    double *out; /* [n, rows] */
} selection;

static uint64_t key_at(const selection *s, const void *keys, int64_t i)
{
    return wf__key_is_wide(s->dtype) ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
}

static double pick(const selection *s, const void *keys, void *other, int64_t length, double q)
{
    double at = q * (double)(length - 1), low = floor(at);
    int64_t k = (int64_t)low;
    bool sorted = s->n >= MANY, wide = wf__key_is_wide(s->dtype);
    int bits = 8 * (int)wf_dtype_size(s->dtype);
    uint64_t key = sorted ? key_at(s, keys, k)
                   : wide ? wf__select64(keys, other, length, k, bits)
                          : wf__select32(keys, other, length, k, bits);
    double x = wf__key_value(s->dtype, key);
    if (at == low)
        return x;
    uint64_t next = sorted ? key_at(s, keys, k + 1)
                    : wide ? wf__next64(keys, length, k, key)
                           : wf__next32(keys, length, k, (uint32_t)key);
    double y = wf__key_value(s->dtype, next), t = at - low;
    if (x == y)
        return x; /* infinities too */
    return t == 0.5 ? x / 2 + y / 2 : t < 0.5 ? x + (y - x) * t : y - (y - x) * (1 - t);
}

/* NaN is the largest key. */
static bool any_nan(const selection *s, const void *keys, int64_t n)
{
    const uint64_t *wide = keys;
    const uint32_t *narrow = keys, nan = (uint32_t)(~(uint64_t)0 >> (64 - 8 * wf_dtype_size(s->dtype)));
    bool found = false;
    if (wf__key_is_wide(s->dtype))
        for (int64_t i = 0; i < n; ++i)
            found |= wide[i] == ~(uint64_t)0;
    else
        for (int64_t i = 0; i < n; ++i)
            found |= narrow[i] == nan;
    return found;
}

static void select_row(const wf__rows *rows, int64_t row, void *scratch, void *user)
{
    const selection *s = user;
    int64_t n = rows->length;
    bool wide = wf__key_is_wide(s->dtype);
    void *other = (char *)scratch + (size_t)n * (wide ? 8 : 4);
    wf__keys_of(s->dtype, false, rows->data + (size_t)(row * n) * rows->size, n, scratch);
    bool nan = wf__is_float_dtype(s->dtype) && any_nan(s, scratch, n);
    if (!nan && s->n >= MANY && wide)
        wf__sort64(scratch, other, NULL, NULL, n, 64);
    else if (!nan && s->n >= MANY)
        wf__sort32(scratch, other, NULL, NULL, n, 8 * (int)rows->size);
    for (int64_t i = 0; i < s->n; ++i)
        s->out[i * rows->rows + row] = nan ? (double)NAN : pick(s, scratch, other, n, s->q[i]);
}

/* The results as [n, kept axes, ones], or without the first or the last. */
static wf_array *quantiles(const wf_array *array, const double *q, int64_t n, bool one, wf_axes axes,
                           const char *function)
{
    wf_shape shape = wf_array_shape(array), result = { .rank = 0 };
    wf_context *ctx = wf_array_context(array);
    bool drop;
    if (!ordered(array, function) || !wf__axes_of(ctx, &shape, &axes, &drop, function))
        return NULL;
    if (!one)
        result.dim[result.rank++] = n;
    for (int d = 0; d < shape.rank; ++d)
        if (!drop || !(axes >> d & 1)) {
            if (result.rank == WF_MAX_RANK) {
                wf__array_fail(ctx, WF_ERR_SHAPE, "%s: the result has more than %d axes", function, WF_MAX_RANK);
                return NULL;
            }
            result.dim[result.rank++] = axes >> d & 1 ? 1 : shape.dim[d];
        }
    bool right = n >= 0 && (q || !n);
    for (int64_t i = 0; right && i < n; ++i)
        right = q[i] >= 0 && q[i] <= 1;
    if (!right) {
        wf__array_fail(ctx, WF_ERR_ARG, "%s: quantiles are from 0 to 1", function);
        return NULL;
    }
    wf__rows rows;
    selection s = { .dtype = wf_array_dtype(array), .q = q, .n = n };
    if (!wf__array_on_host(array, function) || !wf__rows_of(array, axes, s.dtype, &rows))
        return NULL;
    void *data = NULL;
    wf_array *out = NULL, *wide = wf_empty(ctx, WF_F64, result, .device = WF_CPU);
    wf_status status = wide ? wf_map(wide, &data, NULL) : WF_ERR_MEMORY;
    s.out = data;
    if (status == WF_OK && rows.length)
        status = wf__rows_each(&rows, (size_t)rows.length * (wf__key_is_wide(s.dtype) ? 16 : 8), select_row, &s);
    else if (status == WF_OK)
        status = wf_array_fill(wide, (double)NAN);
    wf_dtype t = wf__mean_dtype(s.dtype);
    if (status == WF_OK)
        out = t == WF_F64 ? wf_retain(wide) : wf_array_cast(wide, t);
    wf_release(wide);
    wf__rows_free(&rows);
    return out;
}

wf_array *wf_array_median(const wf_array *array, wf_axes axes)
{
    return quantiles(array, &(double){ 0.5 }, 1, true, axes, "wf_array_median");
}

wf_array *wf_array_quantile(const wf_array *array, double q, wf_axes axes)
{
    return quantiles(array, &q, 1, true, axes, "wf_array_quantile");
}

wf_array *wf_array_quantiles(const wf_array *array, const double *q, int64_t n, wf_axes axes)
{
    return quantiles(array, q, n, false, axes, "wf_array_quantiles");
}
