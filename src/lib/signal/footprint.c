/* footprint.c - flat morphology over footprints of any form. A footprint is a set of runs along the last of its axes.
 * The join of a run of L elements is that of two runs of 2^k elements, its first and its last ones; runs of 2^k are
 * made from those of 2^(k-1) in one pass over the array. So a disc of diameter d costs about 2 d joins and log2(d)
 * passes.
 */
#include "footprint.h"

/* ---- the footprint ---- */
static bool fits(const wfl_window *w, const wf_array *x, const wf_array *footprint)
{
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(footprint);
    int axes = 0;
    for (int d = 0; d < w->shape.rank; ++d)
        axes += (int)(w->axes >> d & 1);
    if (!footprint || wfl_is_complex_dtype(wf_array_dtype(footprint))) {
        wfl_array_fail(ctx, footprint ? WF_ERR_DTYPE : WF_ERR_ARG, "%s: `footprint` is %s", w->function,
                       footprint ? "complex" : "NULL");
        return false;
    }
    if (!wfl_array_known(footprint, w->function) || !wfl_array_whole(footprint, w->function) ||
        !wfl_array_together(x, footprint, w->function))
        return false;
    if (shape.rank == axes)
        return true;
    wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `footprint` has %d axes, but the filter goes along %d", w->function,
                   (int)shape.rank, axes);
    return false;
}

/* Reads the footprint, of the window's extents. */
static bool take(wfl_window *w, wfl_footprint *f, const wf_array *x, const wf_array *footprint)
{
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = { .rank = w->shape.rank };
    void *data;
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = w->size[d];
    wf_graph *g = wfl_begin(ctx, w->function);
    wf_array *in = wf_keep(wf_reshape(wf_ne(wf_in(g, footprint), 0), shape));
    f->array = wfl_array_run(g, in);
    f->here = f->array ? wf_copy_to(f->array, WF_CPU) : NULL;
    if (!f->here || wf_map(f->here, &data, NULL) != WF_OK) {
        wfl_end_group(x);
        return false;
    }
    f->in = data;
    for (int64_t i = 0; i < wf_array_count(f->here); ++i)
        f->count += f->in[i];
    if (!f->count)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: all elements of `footprint` are 0", w->function);
    return f->count;
}

bool wfl_footprint_over(wfl_window *w, wfl_footprint *f, const wf_array *x, const wf_array *footprint, wf_axes axes,
                        wf_border border, double outside, const char *function)
{
    *f = (wfl_footprint){ .count = 0 };
    if (!wfl_window_over(w, x, axes, border, outside, function) || !wfl_array_ordered(x, function) ||
        !fits(w, x, footprint))
        return false;
    wf_freeze_refuse(wf_array_context(x), function, "the footprint is read by the processor");
    wf_shape shape = wf_array_shape(footprint);
    return wfl_window_set_all(w, wf_array_context(x), shape.dim) && take(w, f, x, footprint);
}

void wfl_footprint_release(wfl_footprint *f)
{
    wf_release(f->array);
    wf_release(f->here);
}

/* ---- morphology ---- */
enum { MOST_POWERS = 31, MOST_READS = 128 };

typedef struct shape_filter {
    wfl_window w; /* over the padded array */
    const wfl_footprint *f;
    bool largest;
    int axis;                     /* of the runs */
    wf_array *power[MOST_POWERS]; /* joins of 2^k elements along the axis */
    wf_array *out;
    wfl_slide s; /* the open recording; s.g is NULL if there is none */
    wf_val joined;
    int reads;  /* of the open recording */
    bool begun; /* `out` holds the join of earlier runs */
} shape_filter;

static wf_val join(const shape_filter *m, wf_val x, wf_val y)
{
    if (wf_array_dtype(m->out) == WF_BOOL)
        return m->largest ? wf_or(x, y) : wf_and(x, y);
    return m->largest ? wf_max(x, y) : wf_min(x, y);
}

/* Makes the joins of 2^k elements from those of half as many; false: error. */
static bool double_runs(shape_filter *m, int k)
{
    int64_t half = INT64_C(1) << (k - 1), offset[WF_MAX_RANK] = { 0 };
    const wf_array *from = m->power[k - 1];
    wf_shape shape = wf_array_shape(from);
    shape.dim[m->axis] -= half;
    wf_array *to = wfl_result_beside(from, wf_array_dtype(from), &shape);
    if (!to)
        return false;
    wfl_slide s = wfl_slide_begin(&(wfl_window){ .function = m->w.function }, from, shape, wf_array_dtype(from));
    wf_val first = wfl_slide_read(&s, offset);
    offset[m->axis] = half;
    wf_out(s.g, to, join(m, first, wfl_slide_read(&s, offset)));
    m->power[k] = wfl_array_run(s.g, to);
    return m->power[k] != NULL;
}

/* Runs the open recording. */
static bool flush(shape_filter *m)
{
    if (!m->s.g)
        return true;
    wf_graph *g = m->s.g;
    if (m->begun)
        m->joined = join(m, m->joined, wf_in(g, m->out));
    wf_out(g, m->out, m->joined);
    m->s.g = NULL;
    m->begun = true;
    m->reads = 0;
    return wfl_run_into(g, m->out) == WF_OK;
}

/* Joins the run of n elements that begins at these places of the window. */
static bool add_run(shape_filter *m, const int64_t *at, int64_t n)
{
    int k = 0;
    int64_t offset[WF_MAX_RANK];
    while (n >> (k + 1))
        ++k;
    if (m->reads >= MOST_READS && !flush(m))
        return false;
    if (!m->s.g)
        m->s = wfl_slide_begin(&m->w, m->power[0], m->w.shape, wf_array_dtype(m->out));
    if (!m->s.g) {
        wfl_end_group(m->out);
        return false;
    }
    for (int d = 0; d < m->s.rank; ++d)
        offset[d] = at[d] - m->w.before[d];
    m->s.x = m->power[k];
    wf_val first = wfl_slide_read(&m->s, offset);
    m->joined = m->reads ? join(m, m->joined, first) : first;
    offset[m->axis] += n - (INT64_C(1) << k);
    m->joined = join(m, m->joined, wfl_slide_read(&m->s, offset));
    m->reads += 2;
    return true;
}

/* Steps through the window's lines along the axis of the runs. */
static bool next_line(const wfl_window *w, int axis, int64_t *at)
{
    int64_t size[WF_MAX_RANK];
    for (int d = 0; d < w->shape.rank; ++d)
        size[d] = d == axis ? 1 : w->size[d];
    return wfl_window_next(size, w->shape.rank, at);
}

/* True if the element of the footprint counts; footprints of dilation are mirrored. */
static bool counts(const shape_filter *m, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < m->w.shape.rank; ++d)
        i = i * m->w.size[d] + (m->largest ? m->w.size[d] - 1 - at[d] : at[d]);
    return m->f->in[i];
}

/* Steps to the first run after the one of *n elements at `at`; both are 0 before the first run. False: there is none. */
static bool next_run(const shape_filter *m, int64_t *at, int64_t *n)
{
    int64_t *i = &at[m->axis], extent = m->w.size[m->axis];
    *i += *n;
    do {
        while (*i < extent && !counts(m, at))
            ++*i;
        for (*n = 0; *i < extent && counts(m, at); ++*i)
            ++*n;
        *i -= *n;
    } while (!*n && (*i = 0, next_line(&m->w, m->axis, at)));
    return *n;
}

static bool add_runs(shape_filter *m)
{
    int64_t at[WF_MAX_RANK] = { 0 }, start[WF_MAX_RANK] = { 0 }, n = 0, longest = 0;
    while (next_run(m, at, &n))
        longest = n > longest ? n : longest;
    for (int k = 1; longest >> k; ++k)
        if (!double_runs(m, k))
            return false;
    while (next_run(m, start, &n))
        if (!add_run(m, start, n))
            return false;
    return flush(m);
}

/* Erodes or dilates. */
static wf_array *by_runs(const wf_array *x, const wfl_window *w, const wfl_footprint *f, bool largest)
{
    shape_filter m = { .w = *w, .f = f, .largest = largest, .axis = w->shape.rank - 1 };
    m.out = wfl_result_beside(x, wf_array_dtype(x), &w->shape);
    if (!m.out || !wf_array_count(m.out))
        return m.out;
    if (!m.w.shape.rank)
        return wf_array_assign(m.out, x) == WF_OK ? m.out : (wf_release(m.out), NULL);
    while (m.axis && m.w.size[m.axis] == 1)
        --m.axis;
    if (largest)
        wfl_window_mirror(&m.w);
    m.power[0] = wfl_window_pad(&m.w, x);
    bool well = m.power[0] && add_runs(&m);
    wf_drop(m.s.g);
    for (int k = 0; k < MOST_POWERS; ++k)
        wf_release(m.power[k]);
    if (well)
        return m.out;
    wf_release(m.out);
    return NULL;
}

wf_array *wf_morphology(const wf_array *x, wf_morph how, const wf_array *footprint, wf_axes axes, wf_border border,
                        double outside)
{
    static const char name[] = "wf_morphology";
    if (x && (unsigned)how > WF_MORPH_CLOSE) {
        wfl_array_fail(wf_array_context(x), WF_ERR_ARG, "%s: `how` is %d, which is no wf_morph", name, (int)how);
        return NULL;
    }
    wfl_window w;
    wfl_footprint f;
    wf_array *first = NULL, *out = NULL;
    if (wfl_footprint_over(&w, &f, x, footprint, axes, border, outside, name)) {
        first = by_runs(x, &w, &f, how == WF_MORPH_DILATE || how == WF_MORPH_CLOSE);
        if (how == WF_MORPH_OPEN || how == WF_MORPH_CLOSE)
            out = first ? by_runs(first, &w, &f, how == WF_MORPH_OPEN) : NULL;
        else
            out = wf_retain(first);
    }
    wf_release(first);
    wfl_footprint_release(&f);
    return out;
}
