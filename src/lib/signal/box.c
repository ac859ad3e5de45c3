/* box.c - sums, minima and maxima over boxes: uniform filters and flat morphology. They go along one axis after the
 * other. A long line of L elements is made of some joined lines of about L/n elements each and, in sums, a rest of
 * fewer than n; the shorter lines are a pass of their own, made in the same way. So a point costs about 2 sqrt(L) or
 * fewer joins, and no sum is a difference of others. Without borders, along axes before the last one, a point costs 2
 * joins (by_halves).
 */
#include "window.h"

typedef enum box_join { SUM, LEAST, LARGEST } box_join;

typedef struct box {
    wfl_window w;
    box_join join;
    wf_dtype dtype;          /* of joined elements */
    const wf_array *squared; /* elements of this array are squared when they are read */
} box;

/* Up to so many elements are joined by one pass: reading and writing the array once more costs as much. */
enum { ONE_PASS = 20, MOST_LINES = 16 };

static wf_val join(const box *b, wf_val x, wf_val y)
{
    if (b->join == SUM)
        return wf_add(x, y);
    if (b->dtype == WF_BOOL)
        return b->join == LEAST ? wf_and(x, y) : wf_or(x, y);
    return b->join == LEAST ? wf_min(x, y) : wf_max(x, y);
}

/* Returns how many joins a line takes in all, and by how many shorter lines: *lines; 1: by its elements. */
static int64_t plan(const box *b, int64_t length, int64_t *lines)
{
    int64_t least = length, other;
    *lines = 1;
    for (int64_t n = 2; length > ONE_PASS && n <= MOST_LINES; ++n) {
        int64_t joins =
            b->join == SUM ? n + length % n + plan(b, length / n, &other) : n + plan(b, (length + n - 1) / n, &other);
        if (joins < least) {
            least = joins;
            *lines = n;
        }
    }
    return least;
}

/* Joins n elements along the axis, `step` from each other, the first `first` from the point; the last at `last`. */
static wf_val join_line(const box *b, const wfl_slide *s, int axis, int64_t n, int64_t first, int64_t step,
                        int64_t last)
{
    int64_t offset[WF_MAX_RANK] = { 0 };
    wf_val v = { { 0, NULL } };
    for (int64_t i = 0; i < n; ++i) {
        offset[axis] = first + i * step < last ? first + i * step : last;
        wf_val x = wfl_slide_read(s, offset);
        x = s->x == b->squared ? wf_mul(x, x) : x;
        v = i ? join(b, v, x) : x;
    }
    return v;
}

/* ---- sums by halves, without borders ----
 * Blocks of as many elements as a line has: a line is the end of one block and the beginning of the next. The ends are
 * added backwards, the beginnings forwards, so that an element costs two additions. Points go along the axis, which is
 * not the last one, whose elements are lanes. Source: van Herk, Pattern Recognition Letters 13 (1992) 517. */
enum { HALVES = 12 }; /* the least number of elements for which two passes are faster */

/* A recording with a point for each block; elements of x and of the array of ends are read at `base` + i. */
typedef struct halves {
    wfl_slide s;
    int axis;
    wf_val base, count; /* the block's first element; how many of its elements begin a line */
} halves;

static halves begin_halves(const box *b, const wf_array *x, int axis, int64_t length, int64_t first, wf_shape shape)
{
    int64_t extent = shape.dim[axis];
    shape.dim[axis] = (extent + length - 1) / length;
    halves h = { .s = wfl_slide_begin(&b->w, x, shape, b->dtype), .axis = axis };
    wf_graph *g = h.s.g;
    wf_val size = wf_const_i64(g, WF_I64, length);
    h.base = wf_mul(wf_index(g, axis), size);
    h.count = wf_min(size, wf_sub(wf_const_i64(g, WF_I64, extent), h.base));
    h.s.index[axis] = wf_add(h.base, wf_const_i64(g, WF_I64, b->w.origin[axis] + first));
    return h;
}

static wf_val read_at(const box *b, const halves *h, wf_val i)
{
    const int64_t none[WF_MAX_RANK] = { 0 };
    wfl_slide s = h->s;
    s.index[h->axis] = wf_add(s.index[h->axis], i);
    wf_val v = wfl_slide_read(&s, none);
    return s.x == b->squared ? wf_mul(v, v) : v;
}

/* The place of element i of the block in a result. */
static wf_vals place_of(const halves *h, wf_val i, wf_val *index)
{
    for (int d = 0; d < h->s.rank; ++d)
        index[d] = d == h->axis ? wf_add(h->base, i) : wf_index(h->s.g, d);
    return (wf_vals){ index, (size_t)h->s.rank };
}

/* Makes the sums from each element to the end of its block. */
static wf_array *ends(const box *b, const wf_array *x, int axis, int64_t length, int64_t first, const wf_shape *shape)
{
    wf_array *out = wfl_result_beside(x, b->dtype, shape);
    if (!out)
        return NULL;
    halves h = begin_halves(b, x, axis, length, first, *shape);
    wf_graph *g = h.s.g;
    wf_val i, index[WF_MAX_RANK], before = wf_const_i64(g, WF_I64, -1), last = wf_const_i64(g, WF_I64, length - 1);
    wf_var sum = wf_local(g, b->dtype, read_at(b, &h, last));
    WF_FOR (g, i, wf_sub(last, 1), wf_sub(h.count, 1), -1) /* lines that begin there are not wanted */
        wf_set(sum, wf_add(wf_get(sum), read_at(b, &h, i)));
    WF_END(g);
    WF_IF (g, wf_eq(h.count, wf_add(last, 1)))
        wf_write_n(g, out, wf_get(sum), place_of(&h, last, index));
    WF_END(g);
    WF_FOR (g, i, wf_min(wf_sub(h.count, 1), wf_sub(last, 1)), before, -1) {
        wf_set(sum, wf_add(wf_get(sum), read_at(b, &h, i)));
        wf_write_n(g, out, wf_get(sum), place_of(&h, i, index));
    }
    WF_END(g);
    return wfl_array_run(g, out);
}

/* Returns the element of a result. */
static wf_val finished(wf_val v, double divisor, wf_dtype to)
{
    return divisor != 0 ? wf_div(wf_cast(v, wfl_work_dtype(to)), divisor) : v;
}

static wf_array *by_halves(const box *b, const wf_array *x, int axis, int64_t length, int64_t first,
                           const wf_shape *shape, double divisor, wf_dtype to)
{
    wf_array *end = ends(b, x, axis, length, first, shape), *out = end ? wfl_result_beside(x, to, shape) : NULL;
    if (!out) {
        wf_release(end);
        return NULL;
    }
    halves h = begin_halves(b, x, axis, length, first, *shape);
    wf_graph *g = h.s.g;
    wf_val i, index[WF_MAX_RANK], one = wf_const_i64(g, WF_I64, 1), zero = wf_const_i64(g, WF_I64, 0);
    wf_val before = wf_const_i64(g, WF_I64, length - 1);
    wf_val whole = wf_read_n(g, end, place_of(&h, zero, index));
    wf_write_n(g, out, finished(whole, divisor, to), place_of(&h, zero, index));
    wf_var sum = wf_local(g, b->dtype, 0);
    WF_FOR (g, i, one, h.count, 1) {
        wf_set(sum, wf_add(wf_get(sum), read_at(b, &h, wf_add(before, i))));
        wf_val v = wf_add(wf_read_n(g, end, place_of(&h, i, index)), wf_get(sum));
        wf_write_n(g, out, finished(v, divisor, to), place_of(&h, i, index));
    }
    WF_END(g);
    out = wfl_array_run(g, out);
    wf_release(end);
    return out;
}

/* Joins the lines of `length` elements along the axis that begin at i + first, for i below `extent`. Sums are divided
 * by `divisor`, unless that is 0. */
static wf_array *lines(const box *b, const wf_array *x, int axis, int64_t length, int64_t first, int64_t extent,
                       double divisor, wf_dtype to)
{
    int64_t n;
    if (b->join == SUM && axis < wf_array_shape(x).rank - 1 && length >= HALVES && !b->w.border) {
        wf_shape along = wf_array_shape(x);
        along.dim[axis] = extent;
        return by_halves(b, x, axis, length, first, &along, divisor, to);
    }
    plan(b, length, &n);
    int64_t part = b->join == SUM ? length / n : (length + n - 1) / n, rest = b->join == SUM ? length % n : 0;
    wf_array *parts = n == 1 ? NULL : lines(b, x, axis, part, first, extent + length - rest - part, 0, b->dtype);
    wf_shape shape = wf_array_shape(x);
    shape.dim[axis] = extent;
    wf_array *out = n == 1 || parts ? wfl_result_beside(x, to, &shape) : NULL;
    if (!out) {
        wf_release(parts);
        return NULL;
    }
    wfl_slide s = wfl_slide_begin(&b->w, x, shape, b->dtype);
    wf_val v;
    if (n == 1)
        v = join_line(b, &s, axis, length, first, 1, first + length - 1);
    else {
        wfl_slide of_parts = s;
        of_parts.x = parts;
        of_parts.border = WF_BORDER_NONE;
        v = join_line(b, &of_parts, axis, n, 0, part, length - rest - part);
        if (rest)
            v = wf_add(v, join_line(b, &s, axis, rest, first + length - rest, 1, first + length - 1));
    }
    wf_out(s.g, out, finished(v, divisor, to));
    out = wfl_array_run(s.g, out);
    wf_release(parts);
    return out;
}

/* Joins the elements of the window around each element of x. */
static wf_array *boxes(box *b, const wf_array *x, double divisor, wf_dtype to)
{
    int last = -1;
    for (int d = 0; d < b->w.shape.rank; ++d)
        last = b->w.size[d] > 1 ? d : last;
    if (last < 0 || !wf_array_count(x))
        return wf_array_cast(x, to);
    wf_array *from = wf_retain(x);
    for (int d = 0; from && d <= last; ++d)
        if (b->w.size[d] > 1) {
            wf_array *next = lines(b, from, d, b->w.size[d], -b->w.before[d], b->w.shape.dim[d],
                                   d == last ? divisor : 0, d == last ? to : b->dtype);
            wf_release(from);
            from = next;
            if (b->join == SUM)
                b->w.outside *= (double)b->w.size[d];
        }
    return from;
}

/* Returns the dtype of sums of n elements of dtype t, which is i32 where all sums fit into it. */
static wf_dtype sum_dtype(wf_dtype t, int64_t n)
{
    bool small = t < WF_F16 && wf_dtype_size(t) <= 2 && n < INT64_C(1) << (31 - 8 * wf_dtype_size(t));
    return small ? WF_I32 : wfl_work_dtype(wfl_mean_dtype(t));
}

wf_array *wf_uniform_filter(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    box b = { .join = SUM };
    if (!wfl_window_over(&b.w, x, axes, border, outside, "wf_uniform_filter") ||
        !wfl_window_set_all(&b.w, wf_array_context(x), size))
        return NULL;
    wf_dtype t = wf_array_dtype(x);
    double n = 1;
    for (int d = 0; d < b.w.shape.rank; ++d)
        n *= (double)b.w.size[d];
    b.dtype = sum_dtype(t, wfl_window_count(&b.w));
    return boxes(&b, x, n, wfl_mean_dtype(t));
}

wf_array *wfl_box_means(const wf_array *x, const int64_t *size, wf_axes axes, bool squares)
{
    box b = { .join = SUM, .dtype = WF_F64, .squared = squares ? x : NULL };
    if (!wfl_window_over(&b.w, x, axes, WF_BORDER_NONE, 0, "wf_match_template") ||
        !wfl_window_set_all(&b.w, wf_array_context(x), size))
        return NULL;
    if (wfl_window_count(&b.w) > 1) {
        b.w.border = WF_BORDER_NONE;
        for (int d = 0; d < b.w.shape.rank; ++d) {
            b.w.before[d] = 0;
            b.w.shape.dim[d] -= b.w.size[d] - 1;
        }
        return boxes(&b, x, (double)wfl_window_count(&b.w), WF_F64);
    }
    wf_graph *g = wfl_begin(wf_array_context(x), "wf_match_template");
    wf_val v = wf_cast(wf_in(g, x), WF_F64);
    wf_array *out = wf_keep(squares ? wf_mul(v, v) : v);
    return wfl_array_run(g, out);
}

static wf_array *extreme(const wf_array *x, box_join how, const int64_t *size, wf_axes axes, wf_border border,
                         double outside, const char *function)
{
    box b = { .join = how, .dtype = wf_array_dtype(x) };
    if (!wfl_window_over(&b.w, x, axes, border, outside, function) || !wfl_array_ordered(x, function) ||
        !wfl_window_set_all(&b.w, wf_array_context(x), size))
        return NULL;
    if (how == LARGEST)
        wfl_window_mirror(&b.w);
    return boxes(&b, x, 0, b.dtype);
}

wf_array *wf_erode(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    return extreme(x, LEAST, size, axes, border, outside, "wf_erode");
}

wf_array *wf_dilate(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    return extreme(x, LARGEST, size, axes, border, outside, "wf_dilate");
}

wf_array *wf_morphology_open(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    wf_array *eroded = extreme(x, LEAST, size, axes, border, outside, "wf_morphology_open");
    wf_array *out = eroded ? extreme(eroded, LARGEST, size, axes, border, outside, "wf_morphology_open") : NULL;
    wf_release(eroded);
    return out;
}

wf_array *wf_morphology_close(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside)
{
    wf_array *dilated = extreme(x, LARGEST, size, axes, border, outside, "wf_morphology_close");
    wf_array *out = dilated ? extreme(dilated, LEAST, size, axes, border, outside, "wf_morphology_close") : NULL;
    wf_release(dilated);
    return out;
}
