/* box.c - sums, minima and maxima over boxes: uniform filters and flat morphology. They go along one axis after the
 * other. A long line of L elements is made of some joined lines of about L/n elements each and, in sums, a rest of
 * fewer than n; the shorter lines are a pass of their own, made in the same way. So a point costs about 2 sqrt(L) or
 * fewer joins, and no sum is a difference of others.
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

/* Joins the lines of `length` elements along the axis that begin at i + first, for i below `extent`. Sums are divided
 * by `divisor`, unless that is 0. */
static wf_array *lines(const box *b, const wf_array *x, int axis, int64_t length, int64_t first, int64_t extent,
                       double divisor, wf_dtype to)
{
    int64_t n;
    plan(b, length, &n);
    int64_t part = b->join == SUM ? length / n : (length + n - 1) / n, rest = b->join == SUM ? length % n : 0;
    wf_array *parts = n == 1 ? NULL : lines(b, x, axis, part, first, extent + length - rest - part, 0, b->dtype);
    wf_shape shape = wf_array_shape(x);
    shape.dim[axis] = extent;
    wf_array *out = n == 1 || parts ? wfl_array_beside(x, to, &shape) : NULL;
    if (!out) {
        wf_release(parts);
        return NULL;
    }
    wfl_slide s = wfl_slide_begin(&b->w, x, out, b->dtype);
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
    if (divisor != 0)
        v = wf_div(wf_cast(v, wfl_window_dtype(to)), divisor);
    wf_out(s.g, out, v);
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
    return small ? WF_I32 : wfl_window_dtype(wfl_mean_dtype(t));
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
    for (int d = 0; how == LARGEST && d < b.w.shape.rank; ++d)
        b.w.before[d] = (b.w.size[d] - 1) / 2;
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
