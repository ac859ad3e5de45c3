/* quantile.c - medians and quantiles along axes. A quantile lies between two elements, which are found as keys
 * (keys.h): by selection in rows of the processor's memory, by sorting rows of a GPU's, by counting in lines that ranks
 * divide. A recording interpolates between them. On a tape rows are sorted by wf_array_sort, which has a derivative.
 */
#include "keys.h"
#include "../floats.h"
#include "lines.h"
#include "rows.h"
#include "weft/derivative.h"
#include <math.h>

enum { MANY = 4 }; /* from so many quantiles on, a row is sorted rather than searched */

typedef struct selection {
    wf_context *ctx;
    wf_device device;
    wf_dtype dtype;
    bool wide;
    int64_t n;             /* number of quantiles */
    wf_array *at, *part;   /* [n, 1], i64 and f64: quantile i is `part` of the way from element `at` to the next one */
    const int64_t *rank;   /* the elements of `at` */
    const double *between; /* the elements of `part` */
    void *low, *high;      /* [n, rows]: the keys of the two elements */
} selection;

static void store_key(const selection *s, void *keys, int64_t i, uint64_t key)
{
    if (s->wide)
        ((uint64_t *)keys)[i] = key;
    else
        ((uint32_t *)keys)[i] = (uint32_t)key;
}

static uint64_t key_at(const selection *s, const void *keys, int64_t i)
{
    return s->wide ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
}

/* Stores the two keys of quantile i of a row as element `to` of the results. */
static void pick_keys(const selection *s, const void *keys, void *other, int64_t length, int64_t i, int64_t to)
{
    int64_t k = s->rank[i];
    bool sorted = s->n >= MANY;
    int bits = 8 * (int)wf_dtype_size(s->dtype);
    uint64_t key = sorted    ? key_at(s, keys, k)
                   : s->wide ? wfl_select64(keys, other, length, k, bits)
                             : wfl_select32(keys, other, length, k, bits);
    uint64_t next = !(s->between[i] > 0) ? key
                    : sorted             ? key_at(s, keys, k + 1)
                    : s->wide            ? wfl_next64(keys, length, k, key)
                                         : wfl_next32(keys, length, k, (uint32_t)key);
    store_key(s, s->low, to, key);
    store_key(s, s->high, to, next);
}

/* True if there is a NaN, which is the largest key. */
static bool any_nan(const selection *s, const void *keys, int64_t n)
{
    const uint64_t *wide = keys;
    const uint32_t *narrow = keys, nan = (uint32_t)wfl_largest_key(s->dtype);
    bool found = false;
    if (s->wide)
        for (int64_t i = 0; i < n; ++i)
            found |= wide[i] == ~(uint64_t)0;
    else
        for (int64_t i = 0; i < n; ++i)
            found |= narrow[i] == nan;
    return found;
}

static void select_row(const wfl_rows *rows, int64_t row, void *scratch, void *user)
{
    const selection *s = user;
    int64_t n = rows->length;
    void *other = (char *)scratch + (size_t)n * (s->wide ? 8 : 4);
    wfl_keys_of(s->dtype, false, rows->data + (size_t)(row * n) * rows->size, n, scratch);
    bool nan = wfl_is_float_dtype(s->dtype) && any_nan(s, scratch, n);
    if (!nan && s->n >= MANY && s->wide)
        wfl_sort64(scratch, other, NULL, NULL, n, 64);
    else if (!nan && s->n >= MANY)
        wfl_sort32(scratch, other, NULL, NULL, n, 8 * (int)rows->size);
    for (int64_t i = 0; i < s->n; ++i) {
        int64_t to = i * rows->rows + row;
        if (nan) {
            store_key(s, s->low, to, wfl_largest_key(s->dtype));
            store_key(s, s->high, to, wfl_largest_key(s->dtype));
        } else
            pick_keys(s, scratch, other, n, i, to);
    }
}

/* Returns the quantiles between the elements x and y, in f64. */
static wf_val between_elements(const selection *s, wf_graph *g, wf_val x, wf_val y)
{
    wf_val t = wf_in(g, s->part), way = wf_sub(y, x);
    wf_val nearer = wf_select(wf_lt(t, 0.5), wf_add(x, wf_mul(way, t)), wf_sub(y, wf_mul(way, wf_sub(1, t))));
    wf_val between = wf_select(wf_eq(t, 0.5), wf_add(wf_div(x, 2), wf_div(y, 2)), nearer);
    /* equal elements may be infinite: their difference is NaN */
    return wf_select(wf_or(wf_eq(t, 0), wf_eq(x, y)), x, between);
}

static wf_val interpolated(const selection *s, wf_graph *g, wf_val low, wf_val high)
{
    wf_val x = wf_cast(wfl_element_of(low, s->dtype, false), WF_F64);
    return between_elements(s, g, x, wf_cast(wfl_element_of(high, s->dtype, false), WF_F64));
}

/* Makes the two arrays [n, rows] of keys, which the caller releases. */
static bool begin_keys(selection *s, int64_t rows, wf_array *keys[2])
{
    void *data[2] = { NULL };
    for (int k = 0; k < 2; ++k) {
        keys[k] = wf_empty(s->ctx, wfl_key_dtype(s->dtype), WF_SHAPE(s->n, rows), .device = WF_CPU);
        if (keys[k] && wf_map(keys[k], &data[k], NULL) != WF_OK)
            data[k] = NULL;
    }
    s->low = data[0];
    s->high = data[1];
    return s->low && s->high;
}

/* Records the quantiles of rows in the processor's memory. */
static bool record_selected(selection *s, const wfl_rows *rows, wf_graph *g, wf_val *value)
{
    wf_array *keys[2];
    bool ok = begin_keys(s, rows->rows, keys);
    ok = ok && wfl_rows_each(rows, (size_t)rows->length * (s->wide ? 16 : 8), select_row, s) == WF_OK;
    if (ok)
        *value = interpolated(s, g, wf_in(g, keys[0]), wf_in(g, keys[1]));
    wf_release(keys[0]);
    wf_release(keys[1]);
    return ok;
}

/* Likewise of rows of keys in a GPU's memory. */
static bool record_sorted(const selection *s, const wfl_rows *rows, wf_graph *g, wf_val *value)
{
    wf_array *keys = wf_view_reshape(rows->array, WF_SHAPE(rows->rows, rows->length));
    wf_array *sorted = keys ? wfl_sort_gpu(keys, 8 * (int)wf_dtype_size(s->dtype), false) : NULL;
    if (!sorted)
        return false;
    wf_val row = wf_iota(g, WF_SHAPE(s->n, rows->rows), 1), k = wf_in(g, s->at);
    wf_val last = wf_param(g, "last", WF_I64, (double)(rows->length - 1));
    wf_val low = wf_read(g, sorted, row, k), high = wf_read(g, sorted, row, wf_min(wf_add(k, 1), last));
    if (wfl_is_float_dtype(s->dtype)) { /* where there is one, the last is NaN */
        wf_val nan = wf_const_i64(g, wfl_key_dtype(s->dtype), (int64_t)wfl_largest_key(s->dtype));
        low = wf_select(wf_eq(wf_read(g, sorted, row, last), nan), nan, low);
    }
    *value = interpolated(s, g, low, high);
    wf_release(sorted);
    return true;
}

/* Where quantiles of `length` elements lie: `at` and `part`. */
static WFL_APART bool place_quantiles(selection *s, const double *q, int64_t length)
{
    void *rank = NULL, *between = NULL;
    wf_array *at = wf_empty(s->ctx, WF_I64, WF_SHAPE(s->n, 1), .device = WF_CPU);
    wf_array *part = wf_empty(s->ctx, WF_F64, WF_SHAPE(s->n, 1), .device = WF_CPU);
    bool ok = at && part && wf_map(at, &rank, NULL) == WF_OK && wf_map(part, &between, NULL) == WF_OK;
    for (int64_t i = 0; ok && i < s->n; ++i) {
        double place = q[i] * (double)(length - 1), low = floor(place);
        ((int64_t *)rank)[i] = (int64_t)low;
        ((double *)between)[i] = place - low;
    }
    bool copied = ok && s->device >= WF_GPU(0);
    s->at = ok ? copied ? wf_copy_to(at, s->device) : wf_retain(at) : NULL;
    s->part = ok ? copied ? wf_copy_to(part, s->device) : wf_retain(part) : NULL;
    s->rank = rank;
    s->between = between;
    wf_release(at);
    wf_release(part);
    return s->at && s->part;
}

/* Returns the elements of rows [rows, length] in ascending order, by launches and rules that a tape notes. */
static wf_array *taped_rows(const wf_array *array, wf_axes axes, int64_t rows, int64_t length)
{
    wf_shape shape = wf_array_shape(array);
    int from[WF_MAX_RANK], n = 0;
    for (int of_rows = 0; of_rows < 2; ++of_rows)
        for (int d = 0; d < shape.rank; ++d)
            if ((int)(axes >> d & 1) == of_rows)
                from[n++] = d;
    wf_array *turned = wf_array_permute(array, from);
    wf_array *lines = turned ? wf_view_reshape(turned, WF_SHAPE(rows, length)) : NULL;
    wf_array *sorted = lines ? wf_array_sort(lines, 1, false) : NULL;
    wf_release(lines);
    wf_release(turned);
    return sorted;
}

/* Records the quantiles of sorted rows. Each has the derivative of a linear interpolation, also between equal
 * elements. */
static wf_val of_sorted(const selection *s, wf_graph *g, const wf_array *sorted, int64_t rows, int64_t length)
{
    wf_val row = wf_iota(g, WF_SHAPE(s->n, rows), 1), k = wf_in(g, s->at), t = wf_in(g, s->part);
    wf_val last = wf_const_i64(g, WF_I64, length - 1);
    wf_val x = wf_cast(wf_read(g, sorted, row, k), WF_F64);
    wf_val y = wf_cast(wf_read(g, sorted, row, wf_min(wf_add(k, 1), last)), WF_F64);
    wf_val top = wf_cast(wf_read(g, sorted, row, last), WF_F64), line = wf_add(wf_mul(x, wf_sub(1, t)), wf_mul(y, t));
    wf_val value = wf_replace_gradient(between_elements(s, g, x, y), line);
    return wf_select(wf_ne(top, top), wf_stop(top), value); /* where there is a NaN, the last is one */
}

static wf_status find_taped(selection *s, const wf_array *array, wf_axes axes, const double *q, wf_array *out)
{
    wf_shape shape = wf_array_shape(array);
    const int64_t length = wfl_axes_count(&shape, axes), rows = wfl_axes_count(&shape, ~axes);
    wf_array *sorted = taped_rows(array, axes, rows, length), *to = wf_view_reshape(out, WF_SHAPE(s->n, rows));
    fenv_t floats;
    wfl_floats_begin(&floats);
    bool ok = sorted && to && place_quantiles(s, q, length);
    wfl_floats_end(&floats);
    wf_graph *g = ok ? wfl_begin(s->ctx, "wf_array_quantiles", .flags_off = WF_FLAG_FAST_MATH) : NULL;
    if (ok)
        wf_out(g, to, of_sorted(s, g, sorted, rows, length));
    wf_status status = ok ? wf_run(g) : wfl_array_error(s->ctx);
    wf_array *all[] = { sorted, to, s->at, s->part };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    return status;
}

/* Computes the quantiles of all rows into `out`, [n, rows] in C order. */
static wf_status find_quantiles(selection *s, const wf_array *array, wf_axes axes, const double *q, wf_array *out)
{
    bool gpu = s->device >= WF_GPU(0);
    wfl_rows rows;
    if (wf_is_taped(array))
        return find_taped(s, array, axes, q, out);
    if (!(gpu ? wfl_rows_of_keys(array, axes, false, &rows) : wfl_rows_of(array, axes, s->dtype, &rows)))
        return wfl_array_error(s->ctx);
    wf_array *to = wf_view_reshape(out, WF_SHAPE(s->n, rows.rows));
    wf_graph *g = wfl_begin(s->ctx, NULL, .flags_off = WF_FLAG_FAST_MATH);
    wf_val value;
    fenv_t floats;
    wfl_floats_begin(&floats);
    bool placed = to && place_quantiles(s, q, rows.length);
    wfl_floats_end(&floats);
    bool ok = placed && (gpu ? record_sorted(s, &rows, g, &value) : record_selected(s, &rows, g, &value));
    if (ok)
        wf_out(g, to, value);
    wf_status status = ok ? wf_run(g) : wfl_array_error(s->ctx);
    if (!ok)
        wf_drop(g);
    wf_array *all[] = { to, s->at, s->part };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    wfl_rows_free(&rows);
    return status;
}

/* ---- distributed arrays ---- */
static wf_array *quantiles(const wf_array *array, const double *q, int64_t n, bool one, wf_axes axes,
                           const char *function);

static bool is_divided(const wf_dist *dist, wf_axes axes)
{
    bool divided = false;
    for (int d = 0; d < dist->shape.rank; ++d)
        divided = divided || (axes >> d & 1 && dist->grid[d] > 1);
    return divided;
}

/* Finds the keys of lines that ranks divide, into arrays [n, rows] that each rank has. */
static wf_status count_keys(selection *s, const wf_array *array, wf_axes axes, int64_t rows, const char *function)
{
    const size_t n = (size_t)(s->n * rows);
    uint64_t *low = NULL, *high = NULL;
    void *data = NULL;
    wf_array *both = wfl_array_scratch(s->ctx, s->n * rows, 2 * sizeof *low, &data);
    wf_status status = wfl_ranks_agree(s->ctx, function, array, both ? WF_OK : wfl_array_error(s->ctx));
    if (status == WF_OK) {
        low = data;
        high = low + n;
        status = wfl_select_ranks(array, axes, s->n, s->rank, s->between, low, high, function);
    }
    for (size_t i = 0; status == WF_OK && i < n; ++i) {
        store_key(s, s->low, (int64_t)i, low[i]);
        store_key(s, s->high, (int64_t)i, high[i]);
    }
    wf_release(both);
    return status;
}

/* Computes quantiles of lines that ranks divide into `out`, which each rank has. Ranks fail together. */
static wf_status find_counted(const wf_array *array, wf_axes axes, const double *q, int64_t n, wf_array *out,
                              const char *function)
{
    selection of_array = { .ctx = wf_array_context(array), .dtype = wf_array_dtype(array), .n = n }, *s = &of_array;
    const wf_shape shape = wf_array_shape(array);
    if (!wf_array_count(array) || !n)
        return wf_array_fill(out, (double)NAN);
    s->device = WF_CPU;
    s->wide = wfl_key_is_wide(s->dtype);
    const int64_t length = wfl_axes_count(&shape, axes), rows = wfl_axes_count(&shape, ~axes);
    wf_array *keys[2] = { NULL }, *to = wf_view_reshape(out, WF_SHAPE(s->n, rows));
    fenv_t floats;
    wfl_floats_begin(&floats);
    bool ok = begin_keys(s, rows, keys) && to && place_quantiles(s, q, length);
    wfl_floats_end(&floats);
    wf_status status = wfl_ranks_agree(s->ctx, function, array, ok ? WF_OK : wfl_array_error(s->ctx));
    if (status == WF_OK)
        status = count_keys(s, array, axes, rows, function);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(s->ctx, NULL, .flags_off = WF_FLAG_FAST_MATH);
        wf_out(g, to, interpolated(s, g, wf_in(g, keys[0]), wf_in(g, keys[1])));
        status = wfl_ranks_agree(s->ctx, function, array, wf_run(g));
    }
    wf_array *all[] = { keys[0], keys[1], to, s->at, s->part };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
    return status;
}

/* Writes the quantiles of a rank's lines, which are whole, into its block of the result. */
static wf_status find_block(wf_array *out, wf_array *lines, const double *q, int64_t n, bool one, wf_axes axes,
                            const char *function)
{
    wf_array *x = wf_array_block(lines), *y = wf_array_block(out), *part = NULL;
    wf_status status = x && y ? WF_OK : wfl_array_error(wf_array_context(out));
    if (status == WF_OK && wf_array_count(y)) {
        part = quantiles(x, q, n, one, axes, function);
        status = part ? wf_array_assign(y, part) : wfl_array_error(wf_array_context(out));
    }
    wf_release(part);
    wf_status ended = wf_array_block_end(out, y);
    status = status == WF_OK ? ended : status;
    ended = wf_array_block_end(lines, x);
    return wfl_ranks_agree(wf_array_context(out), function, out, status == WF_OK ? ended : status);
}

/* Returns the array cut such that each rank has whole lines. */
static wf_array *whole_lines(const wf_array *array, wf_axes axes)
{
    const wf_dist *from = wf_array_dist(array);
    wf_dist_options o = { .size = sizeof o };
    wf_dist dist;
    for (int d = 0; d < from->shape.rank; ++d)
        o.grid[d] = axes >> d & 1;
    wf_dist_make(&from->shape, from->ranks, &o, &dist);
    wf_array *lines =
        wf_empty_distributed(wf_array_context(array), wf_array_dtype(array), wf_array_ranks(array), &dist);
    if (!lines || wf_array_redistribute(lines, array) == WF_OK)
        return lines;
    wf_release(lines);
    return NULL;
}

/* Returns an array for quantiles of whole lines, cut as these are. axes: with WF_DROP_AXES. */
static wf_array *new_result(const wf_array *lines, const wf_shape *result, bool one, wf_axes axes)
{
    const wf_dist *from = wf_array_dist(lines);
    wf_dist dist = { .shape = *result, .ranks = from->ranks };
    int n = one ? 0 : 1;
    for (int d = 0; d < WF_MAX_RANK; ++d) {
        dist.grid[d] = 1;
        dist.unit[d] = 1;
    }
    for (int d = 0; d < from->shape.rank; ++d)
        if (!(axes & WF_DROP_AXES) || !(axes >> d & 1)) {
            dist.grid[n] = from->grid[d];
            dist.unit[n++] = from->unit[d];
        }
    return wf_empty_distributed(wf_array_context(lines), wfl_mean_dtype(wf_array_dtype(lines)), wf_array_ranks(lines),
                                &dist);
}

/* True if quantiles of lines are an ordinary array, as the results of other reductions are: ranks divide no axis that is left,
 * or all axes are reduced. axes: with WF_DROP_AXES. */
static bool is_on_each(const wf_array *lines, const wf_array *out, wf_axes axes)
{
    const bool all = !(~axes & ((1u << wf_array_shape(lines).rank) - 1));
    return all || (axes & WF_DROP_AXES && !is_divided(wf_array_dist(out), WF_ALL_AXES));
}

/* Returns quantiles of lines, whose shape is `result`: an array that is distributed, too, or one that each rank has if ranks
 * divide one of the axes. Where there are fewer lines than ranks, no rank gets a whole line. axes: with WF_DROP_AXES. */
static wf_array *distributed_quantiles(const wf_array *array, const double *q, int64_t n, bool one, wf_axes axes,
                                       const wf_shape *result, const char *function)
{
    wf_context *ctx = wf_array_context(array);
    const wf_dist *dist = wf_array_dist(array);
    const bool divided = is_divided(dist, axes);
    const bool few = wfl_axes_count(&dist->shape, ~axes) < dist->ranks;
    if (!wfl_distributed_together(ctx, function, array, array))
        return NULL;
    wf_array *out = NULL, *lines = NULL;
    wf_status status;
    if (divided && (few || !wf_array_count(array))) {
        out = wfl_array_beside(array, wfl_mean_dtype(wf_array_dtype(array)), result);
        status = out ? find_counted(array, axes & ~WF_DROP_AXES, q, n, out, function) : WF_ERR_MEMORY;
    } else {
        lines = divided ? whole_lines(array, axes) : wf_retain(array);
        out = lines ? new_result(lines, result, one, axes) : NULL;
        status = out ? find_block(out, lines, q, n, one, axes, function) : wfl_array_error(ctx);
        if (status == WF_OK && (divided || is_on_each(lines, out, axes)))
            out = wfl_collected(out);
    }
    wf_release(lines);
    if (status == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* ---- functions ---- */
/* Returns the results as [n, kept axes, ones]; without n if there is one quantile, without the ones if axes are
 * dropped. */
static wf_array *quantiles(const wf_array *array, const double *q, int64_t n, bool one, wf_axes axes,
                           const char *function)
{
    wf_shape shape = wf_array_shape(array), result = { .rank = 0 };
    wf_context *ctx = wf_array_context(array);
    bool drop;
    wfl_array_by_host(array, function);
    if (!wfl_array_ordered(array, function) || !wfl_axes_of(ctx, &shape, &axes, &drop, function))
        return NULL;
    if (!one)
        result.dim[result.rank++] = n;
    for (int d = 0; d < shape.rank; ++d)
        if (!drop || !(axes >> d & 1)) {
            if (result.rank == WF_MAX_RANK) {
                wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: the result has more than %d axes", function, WF_MAX_RANK);
                return NULL;
            }
            result.dim[result.rank++] = axes >> d & 1 ? 1 : shape.dim[d];
        }
    if (n < 0 || (n && !q)) {
        wfl_array_fail(ctx, WF_ERR_ARG,
                       n < 0 ? "%s: `n` is %lld; it must be 0 or more" : "%s: `q`, of %lld quantiles, is NULL",
                       function, (long long)n);
        return NULL;
    }
    bool right = true;
    for (int64_t i = 0; i < n; ++i)
        right = right && q[i] >= 0 && q[i] <= 1;
    if (!right) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: quantiles are from 0 to 1", function);
        return NULL;
    }
    if (wf_array_dist(array))
        return distributed_quantiles(array, q, n, one, axes | (drop ? WF_DROP_AXES : 0), &result, function);
    selection s = { .ctx = ctx, .device = wf_array_device(array), .dtype = wf_array_dtype(array), .n = n };
    s.wide = wfl_key_is_wide(s.dtype);
    wf_array *out = wfl_array_beside(array, wfl_mean_dtype(s.dtype), &result);
    wf_status status = out ? WF_OK : WF_ERR_MEMORY;
    if (out && wf_array_count(out))
        status = wf_array_count(array) ? find_quantiles(&s, array, axes, q, out) : wf_array_fill(out, (double)NAN);
    if (status == WF_OK)
        return out;
    wf_release(out);
    return NULL;
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
