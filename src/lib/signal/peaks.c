/* peaks.c - the largest elements of maps, refined between elements.
 *
 * One peak of each map is the largest element, found on the map's device. Of more peaks the candidates are the elements
 * that no neighbour exceeds; these are few, and the host chooses among them, from the largest on.
 */
#include "maps.h"
#include <math.h>

/* A search of peaks in a batch of maps. */
typedef struct search {
    const char *function;
    wf_context *ctx;
    wf_peak_search how;
    wf_shape shape; /* of the maps */
    int rank, batch;
    int64_t maps, count; /* `count`: elements of a map */
} search;

static wf_val extent(const search *s, wf_graph *g, int d) { return wf_const_i64(g, WF_I64, s->shape.dim[d]); }

/* Returns the coordinate of index `at` along axis d: a lag, which is negative beyond the middle, or the index. */
static wf_val coordinate(const search *s, wf_graph *g, wf_val at, int d)
{
    if (s->how.places)
        return at;
    wf_val far = wf_ge(at, wf_const_i64(g, WF_I64, (s->shape.dim[d] + 1) / 2));
    return wf_select(far, wf_sub(at, extent(s, g, d)), at);
}

/* ---- where peaks may be ---- */
static bool is_limited(const search *s)
{
    for (int d = 0; d < s->rank; ++d)
        if (s->how.max_lag[d] > 0)
            return true;
    return false;
}

/* Returns the maps as floats, with -infinity outside of the ellipsoid of largest lags; NULL: error. */
static wf_array *searched(const search *s, const wf_array *map)
{
    wf_dtype t = wf_array_dtype(map), to = wfl_is_float_dtype(t) ? t : WF_F64;
    if (!is_limited(s))
        return to == t ? wf_retain(map) : wf_array_cast(map, to);
    wf_array *out = wfl_array_beside(map, to, &s->shape);
    if (!out || !wf_array_count(out))
        return out;
    wf_graph *g =
        wfl_begin(s->ctx, s->function, .shape = s->shape, .device = wfl_on_gpu(map) ? wf_array_device(map) : 0);
    wf_val sum = wf_const(g, WF_F64, 0);
    static const char *const names[] = { "lag0", "lag1", "lag2" };
    for (int d = 0; d < s->rank; ++d)
        if (s->how.max_lag[d] > 0) {
            int axis = s->batch + d;
            wf_val at = coordinate(s, g, wf_index(g, axis), axis);
            if (s->how.places)
                at = wf_sub(at, wf_const_i64(g, WF_I64, s->shape.dim[axis] / 2));
            wf_val part = wf_div(wf_cast(at, WF_F64), wf_param(g, names[d], WF_F64, s->how.max_lag[d]));
            sum = wf_add(sum, wf_mul(part, part));
        }
    wf_val v = wf_cast(wf_in(g, map), to);
    wf_out(g, out, wf_select(wf_le(sum, 1), v, wf_const(g, to, -INFINITY)));
    return wfl_array_run(g, out);
}

/* Returns, as i64 [batch..., 1], where each map is largest: its linear index. */
static wf_array *largest(const search *s, const wf_array *map)
{
    wf_shape flat = s->shape;
    flat.rank = s->batch + 1;
    flat.dim[s->batch] = s->count;
    wf_array *packed = wf_array_contiguous((wf_array *)map), *lines = packed ? wf_view_reshape(packed, flat) : NULL;
    wf_array *place = lines ? wf_array_argmax(lines, 1u << s->batch) : NULL;
    wf_release(packed);
    wf_release(lines);
    return place;
}

/* Returns bools: the elements that exceed all neighbours, or equal those that come later. */
static wf_array *candidates(const search *s, const wf_array *map)
{
    wf_array *out = wfl_array_beside(map, WF_BOOL, &s->shape);
    if (!out || !wf_array_count(out))
        return out;
    wf_dtype t = wf_array_dtype(map);
    wf_graph *g =
        wfl_begin(s->ctx, s->function, .shape = s->shape, .device = wfl_on_gpu(map) ? wf_array_device(map) : 0);
    wf_val v = wf_in(g, map), least = wf_const(g, t, -INFINITY), is = wf_gt(v, least);
    wf_border border = s->how.places ? WF_BORDER_VALUE : WF_BORDER_PERIODIC;
    for (int n = 0; n < (s->rank == 3 ? 27 : s->rank == 2 ? 9 : 3); ++n) {
        wf_val index[WF_MAX_RANK], later = { { 0, NULL } };
        int64_t step[3];
        bool other = false, is_real = true;
        for (int d = s->rank - 1, rest = n; d >= 0; --d, rest /= 3)
            step[d] = rest % 3 - 1;
        for (int d = 0; d < s->shape.rank; ++d) {
            int64_t by = d < s->batch ? 0 : step[d - s->batch];
            wf_val i = wf_index(g, d), end = wf_const_i64(g, WF_I64, by < 0 ? 0 : s->shape.dim[d] - 1);
            index[d] = by ? wf_add(i, wf_const_i64(g, WF_I64, by)) : i;
            if (by && !other) /* where an axis wraps, the order along it is the other way */
                later = by < 0 ? wf_eq(i, end) : wf_ne(i, end);
            other = other || by;
            is_real = is_real && (!by || s->shape.dim[d] > 1);
        }
        if (!other || !is_real)
            continue;
        wf_val beside = wf_read_border_n(g, map, border, least, (wf_vals){ index, (size_t)s->shape.rank });
        is = wf_and(is, wf_or(wf_gt(v, beside), wf_and(wf_eq(v, beside), later)));
    }
    wf_out(g, out, is);
    return wfl_array_run(g, out);
}

/* ---- the choice among candidates ---- */
typedef struct candidate {
    double value;
    int64_t place; /* linear index in the map */
} candidate;

static bool exceeds(const candidate *a, const candidate *b)
{
    return a->value > b->value || (a->value == b->value && a->place < b->place);
}

/* Moves element i of a heap of n, whose root exceeds all others, down to where it belongs. */
static void sink(candidate *heap, int64_t n, int64_t i)
{
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && exceeds(&heap[child + 1], &heap[child]))
            ++child;
        if (!exceeds(&heap[child], &heap[i]))
            return;
        candidate moved = heap[i];
        heap[i] = heap[child];
        heap[child] = moved;
        i = child;
    }
}

static double squared_distance(const search *s, int64_t a, int64_t b)
{
    double sum = 0;
    for (int d = s->shape.rank - 1; d >= s->batch; --d) {
        int64_t n = s->shape.dim[d], apart = a % n - b % n;
        apart = apart < 0 ? -apart : apart;
        if (!s->how.places && n - apart < apart)
            apart = n - apart;
        sum += (double)apart * (double)apart;
        a /= n;
        b /= n;
    }
    return sum;
}

/* Chooses among n candidates, which become a heap; the rest of `chosen` stays. */
static void choose(const search *s, candidate *heap, int64_t n, int64_t *chosen)
{
    double least = s->how.min_distance * s->how.min_distance;
    int64_t found = 0;
    for (int64_t i = n / 2 - 1; i >= 0; --i)
        sink(heap, n, i);
    while (n && found < s->how.count) {
        bool far = true;
        for (int64_t i = 0; i < found && far; ++i)
            far = squared_distance(s, heap[0].place, chosen[i]) >= least;
        if (far)
            chosen[found++] = heap[0].place;
        heap[0] = heap[--n];
        sink(heap, n, 0);
    }
}

/* Chooses peaks of each map from n candidates: their values, and ascending linear indices in all maps. */
static void choose_all(const search *s, candidate *room, const double *value, const int64_t *index, int64_t n,
                       int64_t *chosen)
{
    for (int64_t i = 0; i < s->maps * s->how.count; ++i)
        chosen[i] = -1;
    for (int64_t first = 0, end; first < n; first = end) {
        int64_t map = index[first] / s->count;
        for (end = first; end < n && index[end] / s->count == map; ++end)
            room[end - first] = (candidate){ value[end], index[end] % s->count };
        choose(s, room, end - first, chosen + map * s->how.count);
    }
}

/* Returns, as i64 [batch..., count], the linear indices of peaks in each map; -1: there are no more. */
static wf_array *chosen(const search *s, const wf_array *map)
{
    wf_shape shape = s->shape;
    wf_freeze_refuse(wf_array_context(map), "wf_correlate_peaks", "the processor chooses the peaks");
    shape.rank = s->batch + 1;
    shape.dim[s->batch] = s->how.count;
    wf_array *is = candidates(s, map), *index = is ? wf_array_where(is) : NULL,
             *of = index ? wf_array_compress(map, is) : NULL, *value = of ? wf_array_cast(of, WF_F64) : NULL,
             *out = value ? wfl_array_beside(map, WF_I64, &shape) : NULL;
    wf_array *room[4] = { NULL };
    int64_t n = wf_array_count(value), of_out = s->maps * s->how.count;
    void *at[4];
    const size_t size[] = { sizeof(int64_t), sizeof(double), sizeof(candidate), sizeof(int64_t) };
    const int64_t many[] = { n, n, n, of_out };
    bool ok = out != NULL;
    for (int i = 0; i < 4 && ok; ++i)
        ok = (room[i] = wfl_array_scratch(s->ctx, many[i], size[i], &at[i])) != NULL;
    ok = ok && wf_download(index, at[0], (size_t)n * sizeof(int64_t)) == WF_OK &&
         wf_download(value, at[1], (size_t)n * sizeof(double)) == WF_OK;
    if (ok) {
        choose_all(s, at[2], at[1], at[0], n, at[3]);
        ok = wf_upload(out, at[3], (size_t)of_out * sizeof(int64_t)) == WF_OK;
    }
    for (int i = 0; i < 4; ++i)
        wf_release(room[i]);
    wf_array *given[] = { is, index, of, value };
    for (int i = 0; i < 4; ++i)
        wf_release(given[i]);
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}

/* ---- between elements ---- */
/* The surroundings of a peak. */
typedef struct peak {
    const search *s;
    wf_graph *g;
    const wf_array *map;
    wf_val at[WF_MAX_RANK]; /* indices of the element */
    wf_val fits[3];         /* along this axis there are two neighbours */
    wf_val middle, before[3], after[3];
    wf_val logarithms; /* bool: elements are replaced by their logarithms */
} peak;

static wf_val element(const peak *p, int axis, int step, int other, int other_step)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < p->s->shape.rank; ++d) {
        int64_t by = d == p->s->batch + axis ? step : d == p->s->batch + other ? other_step : 0;
        index[d] = by ? wf_add(p->at[d], wf_const_i64(p->g, WF_I64, by)) : p->at[d];
    }
    wf_border border = p->s->how.places ? WF_BORDER_CLAMP : WF_BORDER_PERIODIC;
    wf_val none = wf_const(p->g, wf_array_dtype(p->map), 0);
    wf_vals all = { index, (size_t)p->s->shape.rank };
    return wf_cast(wf_read_border_n(p->g, p->map, border, none, all), WF_F64);
}

static wf_val scaled(const peak *p, wf_val v)
{
    return p->s->how.fit == WF_PEAK_GAUSSIAN ? wf_select(p->logarithms, wf_log(v), v) : v;
}

static void look_around(peak *p)
{
    const search *s = p->s;
    p->middle = element(p, 0, 0, -1, 0);
    p->logarithms = wf_gt(p->middle, 0);
    for (int d = 0; d < s->rank; ++d) {
        wf_val at = p->at[s->batch + d];
        p->before[d] = element(p, d, -1, -1, 0);
        p->after[d] = element(p, d, 1, -1, 0);
        p->fits[d] = wf_const(p->g, WF_BOOL, s->shape.dim[s->batch + d] > 2);
        if (s->how.places)
            p->fits[d] = wf_and(p->fits[d], wf_and(wf_gt(at, 0), wf_lt(at, wf_sub(extent(s, p->g, s->batch + d), 1))));
        wf_val positive = wf_and(wf_gt(p->before[d], 0), wf_gt(p->after[d], 0));
        p->logarithms = wf_and(p->logarithms, wf_or(positive, wf_not(p->fits[d])));
    }
    for (int d = 0; d < s->rank; ++d) {
        p->before[d] = scaled(p, p->before[d]);
        p->after[d] = scaled(p, p->after[d]);
    }
    p->middle = scaled(p, p->middle);
}

static wf_val slope(const peak *p, int d) { return wf_mul(wf_sub(p->after[d], p->before[d]), 0.5); }
static wf_val bend(const peak *p, int d) { return wf_sub(wf_add(p->before[d], p->after[d]), wf_mul(p->middle, 2)); }

/* Sets offsets to those of the parabolas along the axes that have a top at most an element away, and to 0 along others:
 * the largest element within the limits need not be a peak. Returns the value at the top. */
static wf_val by_parabolas(const peak *p, wf_val *offset)
{
    wf_val top = p->middle;
    for (int d = 0; d < p->s->rank; ++d) {
        wf_val near = wf_le(wf_abs(slope(p, d)), wf_neg(bend(p, d)));
        wf_val round = wf_and(wf_and(wf_lt(bend(p, d), 0), near), p->fits[d]);
        offset[d] = wf_select(round, wf_neg(wf_div(slope(p, d), bend(p, d))), 0);
        top = wf_add(top, wf_select(round, wf_mul(wf_mul(slope(p, d), offset[d]), 0.5), 0));
    }
    return top;
}

/* The same of the quadratic form of all second differences, where it has a top at most an element away; elsewhere
 * offsets and `top` stay. Solves A offset = slope, A being minus the second differences, by A = L D L'. */
static wf_val by_form(const peak *p, wf_val *offset, wf_val top)
{
    int n = p->s->rank;
    wf_val a[3][3], d[3], l[3][3], y[3], x[3], good = wf_const(p->g, WF_BOOL, 1), sum = p->middle;
    for (int i = 0; i < n; ++i) {
        a[i][i] = wf_select(p->fits[i], wf_neg(bend(p, i)), 1);
        y[i] = wf_select(p->fits[i], slope(p, i), 0);
        for (int j = 0; j < i; ++j) {
            wf_val same = wf_add(element(p, i, 1, j, 1), element(p, i, -1, j, -1));
            wf_val cross = wf_sub(wf_add(element(p, i, 1, j, -1), element(p, i, -1, j, 1)), same);
            a[i][j] = wf_select(wf_and(p->fits[i], p->fits[j]), wf_mul(cross, 0.25), 0);
        }
    }
    for (int i = 0; i < n; ++i) {
        d[i] = a[i][i];
        for (int j = 0; j < i; ++j) {
            wf_val v = a[i][j];
            for (int k = 0; k < j; ++k)
                v = wf_sub(v, wf_mul(wf_mul(l[i][k], l[j][k]), d[k]));
            l[i][j] = wf_div(v, d[j]);
            d[i] = wf_sub(d[i], wf_mul(v, l[i][j]));
            y[i] = wf_sub(y[i], wf_mul(l[i][j], y[j]));
        }
        good = wf_and(good, wf_gt(d[i], 0));
    }
    for (int i = n - 1; i >= 0; --i) {
        x[i] = wf_div(y[i], d[i]);
        for (int j = i + 1; j < n; ++j)
            x[i] = wf_sub(x[i], wf_mul(l[j][i], x[j]));
        good = wf_and(good, wf_le(wf_abs(x[i]), 1));
    }
    for (int i = 0; i < n; ++i) {
        sum = wf_add(sum, wf_mul(wf_select(p->fits[i], wf_mul(slope(p, i), x[i]), 0), 0.5));
        offset[i] = wf_select(good, x[i], offset[i]);
    }
    return wf_select(good, sum, top);
}

/* Writes coordinates and value of each peak to `peaks`. */
static wf_status record_peaks(const search *s, wf_array *peaks, const wf_array *map, const wf_array *place)
{
    wf_shape space = wf_array_shape(place);
    wf_graph *g = wfl_begin(s->ctx, s->function, .shape = space, .indexed = true);
    peak p = { .s = s, .g = g, .map = map };
    wf_val given = wf_in(g, place), missing = wf_lt(given, 0), rest = wf_max(given, 0), to[WF_MAX_RANK], offset[3];
    for (int d = 0; d < s->batch; ++d)
        to[d] = p.at[d] = wf_index(g, d);
    to[s->batch] = wf_index(g, s->batch);
    for (int d = s->shape.rank - 1; d >= s->batch; --d) {
        p.at[d] = wf_mod(rest, extent(s, g, d));
        rest = wf_idiv(rest, extent(s, g, d));
    }
    wf_val top, nan = wf_const(g, WF_F64, NAN);
    if (s->how.fit == WF_PEAK_WHOLE) {
        top = element(&p, 0, 0, -1, 0);
        for (int d = 0; d < s->rank; ++d)
            offset[d] = wf_const(g, WF_F64, 0);
    } else {
        look_around(&p);
        top = by_parabolas(&p, offset);
        if (s->how.fit == WF_PEAK_QUADRATIC && s->rank > 1)
            top = by_form(&p, offset, top);
        if (s->how.fit == WF_PEAK_GAUSSIAN)
            top = wf_select(p.logarithms, wf_exp(top), top);
    }
    wf_vals where = { to, (size_t)s->batch + 2 };
    for (int d = 0; d < s->rank; ++d) {
        wf_val whole = wf_cast(coordinate(s, g, p.at[s->batch + d], s->batch + d), WF_F64);
        to[s->batch + 1] = wf_const_i64(g, WF_I64, d);
        wf_write_n(g, peaks, wf_select(missing, nan, wf_add(whole, offset[d])), where);
    }
    to[s->batch + 1] = wf_const_i64(g, WF_I64, s->rank);
    wf_write_n(g, peaks, wf_select(missing, nan, top), where);
    return wf_run(g);
}

/* Checks the arguments; false: error. */
static bool begin(search *s, const wf_array *map, int rank, const wf_peak_search *how, const char *function)
{
    *s = (search){ .function = function, .ctx = wf_array_context(map), .rank = rank };
    if (!map || !wfl_map_axes(map, rank, function) || !wfl_array_whole(map, function))
        return false;
    if (how)
        s->how = *how;
    s->how.count += s->how.count == 0;
    s->shape = wf_array_shape(map);
    s->batch = s->shape.rank - rank;
    s->maps = s->count = 1;
    for (int d = 0; d < s->shape.rank; ++d)
        *(d < s->batch ? &s->maps : &s->count) *= s->shape.dim[d];
    const char *what = NULL;
    double value = 0;
    if (s->how.count < 0 || s->how.count > INT32_MAX) {
        what = "count";
        value = (double)s->how.count;
    } else if ((unsigned)s->how.fit > WF_PEAK_WHOLE) {
        what = "fit";
        value = (double)s->how.fit;
    } else if (!(s->how.min_distance >= 0)) {
        what = "min_distance";
        value = s->how.min_distance;
    }
    for (int d = 0; d < rank && !what; ++d)
        if (!(s->how.max_lag[d] >= 0)) {
            what = "max_lag";
            value = s->how.max_lag[d];
        }
    if (what)
        wfl_array_fail(s->ctx, WF_ERR_ARG, "%s: search.%s is %g, which is not possible", function, what, value);
    else if (s->maps && !s->count) {
        what = "shape";
        wfl_array_fail(s->ctx, WF_ERR_SHAPE, "%s: the maps have no elements", function);
    }
    return !what;
}

/* Returns f64 [batch..., count, rank + 1]. */
static wf_array *peaks_of(const search *s, const wf_array *map)
{
    wf_shape shape = s->shape;
    shape.rank = s->batch + 2;
    if (shape.rank > WF_MAX_RANK) {
        wfl_array_fail(s->ctx, WF_ERR_SHAPE, "%s: the result would have rank %d, above %d", s->function,
                       (int)shape.rank, WF_MAX_RANK);
        return NULL;
    }
    shape.dim[s->batch] = s->how.count;
    shape.dim[s->batch + 1] = s->rank + 1;
    wf_array *peaks = wfl_array_beside(map, WF_F64, &shape);
    if (!peaks || !wf_array_count(peaks))
        return peaks;
    wf_array *in = searched(s, map), *place = !in ? NULL : s->how.count == 1 ? largest(s, in) : chosen(s, in);
    if (!place || record_peaks(s, peaks, map, place) != WF_OK) {
        wf_release(peaks);
        peaks = NULL;
    }
    wf_release(in);
    wf_release(place);
    return peaks;
}

wf_array *wf_correlate_peaks(const wf_array *map, int rank, const wf_peak_search *how)
{
    search s;
    return begin(&s, map, rank, how, "wf_correlate_peaks") ? peaks_of(&s, map) : NULL;
}

/* All axes of the batch are one, since arrays have no axis for both `count` and a batch of WF_MAX_RANK - 1 axes. */
wf_array *wf_correlate_peak(const wf_array *map, int rank)
{
    search s;
    if (!begin(&s, map, rank, NULL, "wf_correlate_peak"))
        return NULL;
    wf_shape one = { .rank = rank + 1, .dim = { s.maps } }, out = s.shape;
    for (int d = 0; d < rank; ++d)
        one.dim[1 + d] = s.shape.dim[s.batch + d];
    out.rank = s.batch + 1;
    out.dim[s.batch] = rank + 1;
    s.shape = one;
    s.batch = 1;
    wf_array *packed = wf_array_contiguous((wf_array *)map), *maps = packed ? wf_view_reshape(packed, one) : NULL;
    wf_array *peaks = maps ? peaks_of(&s, maps) : NULL, *result = peaks ? wf_view_reshape(peaks, out) : NULL;
    wf_array *spent[] = { packed, maps, peaks };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
    return result;
}
