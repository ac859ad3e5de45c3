/* rank.c - the element of a given rank in each window. Small windows are sorted by a network of comparisons, of which
 * only those that the result depends on are recorded. In larger ones the bits of the result's key are found one by one,
 * from the highest, by counting the smaller keys.
 */
#include "lib/array/keys.h"
#include "footprint.h"
#include <math.h>

/* Windows of up to SMALL elements are sorted by a network. So are those of up to NETWORK elements of arrays with at least
 * MANY elements, for which compiling it takes up to a second that the faster code earns back. */
enum { SMALL = 81, NETWORK = 256, MANY = 1 << 20 };

/* Orders two elements. A comparison and two selections are an instruction each; wf_min and wf_max, which order zeros
 * and NaN, take some of floats. */
static void exchange(wf_val *v, int a, int b)
{
    wf_val x = v[a], y = v[b];
    if (wfl_is_float_dtype(wf_val_dtype(x))) {
        wf_val less = wf_lt(x, y);
        v[a] = wf_select(less, x, y);
        v[b] = wf_select(less, y, x);
    } else {
        v[a] = wf_min(x, y);
        v[b] = wf_max(x, y);
    }
}

/* Batcher's odd-even merge sort of any number of elements. Source: Knuth, The Art of Computer Programming 3, 5.2.2 M.
 */
static void sort(wf_val *v, int n)
{
    for (int p = 1; p < n; p *= 2)
        for (int k = p; k; k /= 2)
            for (int j = k % p; j + k < n; j += 2 * k)
                for (int i = j; i < j + k && i + k < n; ++i)
                    if (i / (2 * p) == (i + k) / (2 * p))
                        exchange(v, i, i + k);
}

/* Returns NaN if `has` is true, else v. */
static wf_val or_nan(wf_graph *g, wf_val v, wf_val has) { return wf_select(has, wf_const(g, wf_val_dtype(v), NAN), v); }

static wf_array *by_network(const wf_array *x, const wfl_window *w, const wfl_footprint *f, int rank, wf_array *out)
{
    wf_dtype t = wf_array_dtype(x);
    wfl_slide s = wfl_slide_begin(w, x, w->shape, t == WF_BOOL ? WF_U8 : wfl_work_dtype(t));
    int64_t at[WF_MAX_RANK] = { 0 }, offset[WF_MAX_RANK];
    wf_val v[NETWORK], has = { { 0, NULL } };
    int n = 0;
    int64_t element = 0;
    do {
        if (f && !f->in[element++])
            continue;
        for (int d = 0; d < s.rank; ++d)
            offset[d] = at[d] - w->before[d];
        v[n] = wfl_slide_read(&s, offset);
        if (wfl_is_float_dtype(t)) {
            wf_val nan = wf_isnan(v[n]);
            has = n ? wf_or(has, nan) : nan;
        }
        ++n;
    } while (wfl_window_next(w->size, s.rank, at));
    sort(v, n);
    wf_out(s.g, out, wfl_is_float_dtype(t) ? or_nan(s.g, v[rank], has) : v[rank]);
    return wfl_array_run(s.g, out);
}

/* Returns the keys of the elements of x, on which borders have been put. Consumes it. */
static wf_array *keys_of(wf_array *x, const char *function)
{
    wf_dtype t = wf_array_dtype(x);
    wf_graph *g = wfl_begin(wf_array_context(x), function);
    wf_val v = wf_in(g, x);
    wf_array *keys = wf_keep(t == WF_BOOL ? wf_cast(v, WF_U32) : wfl_key_of(v, false));
    keys = wfl_array_run(g, keys);
    wf_release(x);
    return keys;
}

/* The window of larger ranks: its elements and, unless NULL, which of them count. */
typedef struct counted {
    const wfl_slide *s;
    const wfl_window *w;
    const wf_array *in;
} counted;

/* Adds to `found`, u32, how many keys of the point's window are below `limit`. Recurses along the axes from d on; step:
 * the place within the window. */
static void add_smaller(const counted *c, int d, wf_val *place, wf_val *step, wf_val limit, wf_var found)
{
    const wfl_slide *s = c->s;
    const wfl_window *w = c->w;
    static const char *const names[WF_MAX_RANK] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" };
    for (; d < s->rank && !(w->axes >> d & 1); ++d) {
        place[d] = s->index[d];
        step[d] = wf_const_i64(s->g, WF_I64, 0);
    }
    if (d == s->rank) {
        wf_val key = wf_read_n(s->g, s->x, (wf_vals){ place, (size_t)d }), less = wf_lt(key, limit);
        if (c->in)
            less = wf_and(less, wf_read_n(s->g, c->in, (wf_vals){ step, (size_t)d }));
        wf_inc(found, wf_cast(less, WF_U32));
        return;
    }
    wf_val i, n = wf_param(s->g, names[d], WF_I64, (double)w->size[d]);
    WF_FOR (s->g, i, wf_const_i64(s->g, WF_I64, 0), n, 1) {
        place[d] = wf_add(s->index[d], i);
        step[d] = i;
        add_smaller(c, d + 1, place, step, limit, found);
    }
    WF_END(s->g);
}

static wf_val smaller(const counted *c, wf_val limit)
{
    wf_val place[WF_MAX_RANK], step[WF_MAX_RANK];
    wf_var found = wf_local(c->s->g, WF_U32, wf_const(c->s->g, WF_U32, 0));
    add_smaller(c, 0, place, step, limit, found);
    return wf_get(found);
}

static wf_array *by_bits(const wf_array *x, const wfl_window *window, const wfl_footprint *f, int64_t rank,
                         wf_array *out)
{
    wf_dtype t = wf_array_dtype(x), key = wfl_key_dtype(t);
    wfl_window w = *window;
    wf_array *padded = wfl_window_pad(&w, x), *keys = padded ? keys_of(padded, w.function) : NULL;
    if (!keys) {
        wf_release(out);
        return NULL;
    }
    wfl_slide s = wfl_slide_begin(&(wfl_window){ .function = w.function }, keys, w.shape, key);
    counted c = { &s, &w, f ? f->array : NULL };
    wf_val bit, last = wf_param(s.g, "rank", WF_U32, (double)rank), one = wf_const(s.g, key, 1);
    wf_var found = wf_local(s.g, key, wf_const(s.g, key, 0));
    int64_t highest = (int64_t)wf_dtype_size(t) * 8 - 1;
    WF_FOR (s.g, bit, wf_const_i64(s.g, WF_I64, highest), wf_const_i64(s.g, WF_I64, -1), -1) {
        wf_val more = wf_or(wf_get(found), wf_shl(one, wf_cast(bit, key)));
        wf_set(found, wf_select(wf_le(smaller(&c, more), last), more, wf_get(found)));
    }
    WF_END(s.g);
    wf_val v = t == WF_BOOL ? wf_get(found) : wfl_element_of(wf_get(found), t, false);
    if (wfl_is_float_dtype(t)) {
        wf_val largest = wf_const_i64(s.g, key, (int64_t)wfl_largest_key(t));
        wf_val all = wf_param(s.g, "count", WF_U32, (double)(f ? f->count : wfl_window_count(&w)));
        v = or_nan(s.g, v, wf_lt(smaller(&c, largest), all));
    }
    wf_out(s.g, out, v);
    out = wfl_array_run(s.g, out);
    wf_release(keys);
    return out;
}

/* f: which elements count; NULL: all. */
static wf_array *rank_filter(const wf_array *x, const wfl_window *w, const wfl_footprint *f, int64_t rank)
{
    int64_t n = f ? f->count : wfl_window_count(w);
    if (n >= INT64_C(1) << 32) {
        wfl_array_fail(wf_array_context(x), WF_ERR_ARG, "%s: the window has 2^32 elements or more", w->function);
        return NULL;
    }
    if (rank < -n || rank >= n) {
        wfl_array_fail(wf_array_context(x), WF_ERR_ARG, "%s: `rank` is %lld, but the window has %lld elements",
                       w->function, (long long)rank, (long long)n);
        return NULL;
    }
    rank += rank < 0 ? n : 0;
    wf_array *out = wfl_result_beside(x, wf_array_dtype(x), &w->shape);
    if (!out || !wf_array_count(out))
        return out;
    bool network = n <= SMALL || (n <= NETWORK && wf_array_count(x) >= MANY);
    return network ? by_network(x, w, f, (int)rank, out) : by_bits(x, w, f, rank, out);
}

/* Checks the arguments; false: error. */
static bool window_of(wfl_window *w, const wf_array *x, const int64_t *size, wf_axes axes, wf_border border,
                      double outside, const char *function)
{
    return wfl_window_over(w, x, axes, border, outside, function) && wfl_array_ordered(x, function) &&
           wfl_window_set_all(w, wf_array_context(x), size);
}

wf_array *wf_rank_filter(const wf_array *x, int64_t rank, const int64_t *size, wf_axes axes, wf_border border,
                         double outside)
{
    wfl_window w;
    return window_of(&w, x, size, axes, border, outside, "wf_rank_filter") ? rank_filter(x, &w, NULL, rank) : NULL;
}

wf_array *wf_median_filter(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    wfl_window w;
    return window_of(&w, x, size, axes, border, outside, "wf_median_filter")
               ? rank_filter(x, &w, NULL, wfl_window_count(&w) / 2)
               : NULL;
}

wf_array *wf_rank_footprint(const wf_array *x, int64_t rank, const wf_array *footprint, wf_axes axes, wf_border border,
                            double outside)
{
    wfl_window w;
    wfl_footprint f;
    wf_array *out = NULL;
    if (wfl_footprint_over(&w, &f, x, footprint, axes, border, outside, "wf_rank_footprint"))
        out = rank_filter(x, &w, &f, rank);
    wfl_footprint_release(&f);
    return out;
}

wf_array *wf_median_footprint(const wf_array *x, const wf_array *footprint, wf_axes axes, wf_border border,
                              double outside)
{
    wfl_window w;
    wfl_footprint f;
    wf_array *out = NULL;
    if (wfl_footprint_over(&w, &f, x, footprint, axes, border, outside, "wf_median_footprint"))
        out = rank_filter(x, &w, &f, f.count / 2);
    wfl_footprint_release(&f);
    return out;
}
