/* spline.c - coefficients of cubic B-splines: along an axis the filter 6 / (p + 4 + 1/p), p a step of one element, as a
 * recurrence forwards and one backwards. Each point of the index space has a line.
 *
 * Elements are a matrix times the coefficients, which is symmetric, but for WF_BORDER_REFLECT: there it is if the first and
 * the last row are halved. So the adjoint of the filter is the filter itself or, of WF_BORDER_REFLECT, the filter of
 * elements of which the first and the last one are doubled, with results of which the first and the last one are halved.
 * A tape notes the filter as one step with this adjoint.
 */
#include "lib/array/lines.h"
#include "weft/derivative.h"
#include "xform_internal.h"
#include <string.h>

enum { FEW_LINES = 16 };                            /* fewer lines are filtered where they are */
static const double pole = -0.26794919243112270647; /* sqrt(3) - 2 */

typedef struct line {
    wf_graph *g;
    const wf_array *x; /* elements */
    wf_array *y;       /* results of the first recurrence, then coefficients */
    int rank, axis;
    wf_border border;
    wf_dtype dtype; /* of y */
    wf_val z, outside, n, index[WF_MAX_RANK];
} line;

static wf_val read_x(line *l, wf_val k, wf_border border)
{
    l->index[l->axis] = k;
    wf_dtype t = wf_array_dtype(l->x);
    wf_vals at = { l->index, (size_t)l->rank };
    wf_val v = border ? wf_read_border_n(l->g, l->x, border, wf_cast(l->outside, t), at) : wf_read_n(l->g, l->x, at);
    v = wf_cast(v, l->dtype);
    return wf_mul(l->border == WF_BORDER_VALUE ? wf_sub(v, l->outside) : v, 6);
}

static wf_val read_y(line *l, wf_val k, wf_border border)
{
    l->index[l->axis] = k;
    wf_vals at = { l->index, (size_t)l->rank };
    return border ? wf_read_border_n(l->g, l->y, border, wf_const(l->g, l->dtype, 0), at) : wf_read_n(l->g, l->y, at);
}

static void write_y(line *l, wf_val v, wf_val k)
{
    l->index[l->axis] = k;
    wf_write_n(l->g, l->y, v, (wf_vals){ l->index, (size_t)l->rank });
}

/* Returns the element at -1 - i, i >= 0, such that coefficients at -1 and n are 0: odd about both. */
static wf_val read_odd(line *l, wf_val i)
{
    wf_val period = wf_mul(wf_add(l->n, 1), 2), q = wf_mod(i, period), mirrored = wf_gt(q, l->n);
    wf_val k = wf_select(mirrored, wf_sub(wf_sub(period, 1), q), wf_sub(q, 1));
    wf_val v = read_x(l, k, WF_BORDER_VALUE);
    return wf_select(mirrored, v, wf_neg(v));
}

/* Returns the recurrence's value at -1. Terms further away than `reach` are below a rounding. */
static void begin_line(line *l, wf_var s, int reach)
{
    wf_val k;
    WF_FOR (l->g, k, -reach, 0, 1) {
        wf_val v = l->border == WF_BORDER_VALUE ? read_odd(l, wf_sub(-1, k)) : read_x(l, k, l->border);
        wf_set(s, wf_add(v, wf_mul(wf_get(s), l->z)));
    }
    WF_END(l->g);
}

/* Sets s to the last coefficient. */
static void turn_line(line *l, wf_var s, int reach)
{
    wf_val last = wf_sub(l->n, 1), y, k;
    switch (l->border) {
    case WF_BORDER_PERIODIC:
        wf_set(s, wf_const(l->g, l->dtype, 0));
        WF_FOR (l->g, k, wf_add(last, reach), wf_sub(last, 1), -1) {
            wf_set(s, wf_add(read_y(l, k, WF_BORDER_PERIODIC), wf_mul(wf_get(s), l->z)));
        }
        WF_END(l->g);
        wf_set(s, wf_mul(wf_get(s), -pole));
        break;
    case WF_BORDER_REFLECT:
        y = wf_add(wf_get(s), wf_mul(read_y(l, wf_sub(l->n, 2), WF_BORDER_REFLECT), l->z));
        wf_set(s, wf_mul(y, pole / (pole * pole - 1)));
        break;
    case WF_BORDER_VALUE:
        wf_set(s, wf_mul(wf_get(s), -pole));
        break;
    default:
        wf_set(s, wf_mul(wf_get(s), pole / (pole - 1)));
    }
}

static void record_line(line *l)
{
    int reach = wf_dtype_part(l->dtype) == WF_F64 ? 30 : 16;
    bool offset = l->border == WF_BORDER_VALUE;
    wf_val k;
    l->n = wf_dim(l->g, l->y, l->axis);
    wf_var s = wf_local(l->g, l->dtype, wf_const(l->g, l->dtype, 0));
    begin_line(l, s, reach);
    WF_FOR (l->g, k, wf_const_i64(l->g, WF_I64, 0), l->n, 1) {
        wf_set(s, wf_add(read_x(l, k, WF_BORDER_NONE), wf_mul(wf_get(s), l->z)));
        write_y(l, wf_get(s), k);
    }
    WF_END(l->g);
    turn_line(l, s, reach);
    write_y(l, offset ? wf_add(wf_get(s), l->outside) : wf_get(s), wf_sub(l->n, 1));
    WF_FOR (l->g, k, wf_sub(l->n, 2), wf_const_i64(l->g, WF_I64, -1), -1) {
        wf_set(s, wf_mul(wf_sub(wf_get(s), read_y(l, k, WF_BORDER_NONE)), l->z));
        write_y(l, offset ? wf_add(wf_get(s), l->outside) : wf_get(s), k);
    }
    WF_END(l->g);
}

/* Filters along an axis; y may be x. Neither is empty. */
static wf_status filter_axis(wf_array *y, const wf_array *x, int axis, wf_border border, double outside)
{
    wf_shape shape = wf_array_shape(y), lines = { .rank = shape.rank - 1 };
    for (int d = 0; d < lines.rank; ++d)
        lines.dim[d] = shape.dim[d + (d >= axis)];
    wf_graph *g = wfl_begin(wf_array_context(y), "wf_spline_filter", .shape = lines, .indexed = true);
    line l = { .g = g, .x = x, .y = y, .rank = shape.rank, .axis = axis, .border = border };
    l.dtype = wf_array_dtype(y);
    wf_dtype part = wf_dtype_part(l.dtype);
    l.z = wf_const(g, part, pole);
    l.outside = wf_param(g, "outside", part, outside);
    for (int d = 0; d < lines.rank; ++d)
        l.index[d + (d >= axis)] = wf_index(g, d);
    record_line(&l);
    return wf_run(g);
}

/* Filters along the last axis, in memory where lines lie side by side, as vectors run over lines. Rows of a multiple of
 * 4 KiB would meet in few sets of a cache, so they are longer there. */
static wf_status filter_rows(wf_array *y, const wf_array *x, wf_border border, double outside)
{
    enum { APART = 16, PAGE = 4096 };
    wf_shape shape = wf_array_shape(y);
    int rank = shape.rank, order[WF_MAX_RANK];
    int64_t lines = shape.dim[rank - 2];
    for (int d = 0; d < rank; ++d)
        order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    shape.dim[rank - 2] = shape.dim[rank - 1];
    shape.dim[rank - 1] = lines + (lines * (int64_t)wf_dtype_size(wf_array_dtype(y)) % PAGE ? 0 : APART);
    wf_array *memory = wfl_array_beside(y, wf_array_dtype(y), &shape);
    wf_array *columns = memory ? wf_view_slice(memory, rank - 1, 0, lines, 1) : NULL;
    wf_array *from = columns ? wf_view_permute((wf_array *)x, order) : NULL; /* the view is only read */
    wf_array *to = from ? wf_view_permute(y, order) : NULL;
    wf_status status = to ? wf_array_assign(columns, from) : wfl_array_error(wf_array_context(y));
    if (status == WF_OK)
        status = filter_axis(columns, columns, rank - 2, border, outside);
    if (status == WF_OK)
        status = wf_array_assign(to, columns);
    wf_array *spent[] = { memory, columns, from, to };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return status;
}

/* ---- several axes ---- */
typedef struct filter {
    wf_border border;
    double outside;
} filter;

/* Filters along axes, from the first one on. */
static wf_status filter_axes(const filter *f, wf_array *y, const wf_array *x, wf_axes axes)
{
    const wf_shape shape = wf_array_shape(y);
    const wf_array *from = x;
    wf_status status = WF_OK;
    bool filtered = false;
    for (int d = 0; d < shape.rank && status == WF_OK && wf_array_count(y); ++d)
        if (axes >> d & 1) {
            bool rows = d == shape.rank - 1 && d > 0 && shape.dim[d - 1] >= FEW_LINES;
            status =
                rows ? filter_rows(y, from, f->border, f->outside) : filter_axis(y, from, d, f->border, f->outside);
            from = y;
            filtered = true;
        }
    return status == WF_OK && !filtered ? wf_array_assign(y, x) : status;
}

static wf_status filter_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    wf_axes axes = 0;
    for (int k = first; k < first + count; ++k)
        axes |= l->axes[k];
    return filter_axes(l->user, y, x, axes);
}

/* ---- on a tape ---- */
enum { AXES, BORDER, OUTSIDE, NUMBERS }; /* of the rule */

static wf_status read_numbers(wf_arrays in, filter *f, wf_axes *axes)
{
    double number[NUMBERS];
    const wf_status status = wfl_noted_numbers(in, number, NUMBERS);
    if (status != WF_OK)
        return status;
    *axes = (wf_axes)number[AXES];
    *f = (filter){ (wf_border)number[BORDER], number[OUTSIDE] };
    return WF_OK;
}

static wf_status call(void *user, wf_arrays in, wf_arrays out)
{
    filter f;
    wf_axes axes;
    (void)user;
    const wf_status status = read_numbers(in, &f, &axes);
    return status == WF_OK ? filter_axes(&f, out.at[0], in.at[0], axes) : status;
}

/* y = x, whose first and last elements along each of the axes are multiplied. y may be x. */
static wf_status scale_ends(wf_array *y, const wf_array *x, wf_axes axes, double factor)
{
    const wf_shape shape = wf_array_shape(x);
    wf_graph *g = wfl_begin(wf_array_context(x), "wf_spline_filter");
    wf_val v = wf_in(g, x);
    for (int d = 0; d < shape.rank; ++d)
        if (axes >> d & 1) {
            wf_val k = wf_iota(g, shape, d);
            v = wf_select(wf_or(wf_eq(k, 0), wf_eq(k, (double)(shape.dim[d] - 1))), wf_mul(v, factor), v);
        }
    wf_out(g, y, v);
    return wf_run(g);
}

static wf_status differentiate(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    filter f;
    wf_axes axes;
    (void)user;
    (void)out;
    wf_array *of_x = grads.at[0];
    const wf_array *from = upstream.at[0];
    wf_status status = read_numbers(in, &f, &axes);
    if (status != WF_OK || !of_x)
        return status;
    f.outside = 0;
    if (f.border == WF_BORDER_REFLECT) {
        status = scale_ends(of_x, from, axes, 2);
        from = of_x;
    }
    if (status == WF_OK)
        status = filter_axes(&f, of_x, from, axes);
    return status == WF_OK && f.border == WF_BORDER_REFLECT ? scale_ends(of_x, of_x, axes, 0.5) : status;
}

static wf_status filter_on_tape(const filter *f, wf_array *y, const wf_array *x, wf_axes axes)
{
    const wf_array_rule rule = { .size = sizeof rule, .name = "wf_spline_filter", .call = call, .vjp = differentiate };
    const double number[NUMBERS] = { [AXES] = axes, [BORDER] = f->border, [OUTSIDE] = f->outside };
    return wfl_run_noted(&rule, y, x, number, NUMBERS);
}

wf_array *wf_spline_filter(const wf_array *x, wf_axes axes, wf_border border, double outside)
{
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(x);
    bool drop;
    if (!x || !wfl_array_known(x, "wf_spline_filter") || !wfl_border_known(ctx, border, "wf_spline_filter") ||
        !wfl_axes_of(ctx, &shape, &axes, &drop, "wf_spline_filter"))
        return NULL;
    /* At the place of an element the spline reads one coefficient on each side; both modes repeat the edge's there. */
    border = border == WF_BORDER_CLAMP ? WF_BORDER_MIRROR : wfl_border_of(border);
    if (border == WF_BORDER_VALUE && !wf_number_fits(outside, wf_array_dtype(x))) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "wf_spline_filter: `outside` is %g, which elements of %s cannot hold",
                       outside, wf_dtype_name(wf_array_dtype(x)));
        return NULL;
    }
    const filter f = { border, outside };
    const wf_dtype dtype = wfl_interpolated_dtype(wf_array_dtype(x));
    if (wf_array_dist(x) && axes) {
        wfl_lines l = { .ctx = ctx, .function = "wf_spline_filter", .run = filter_block, .user = &f };
        for (int d = 0; d < shape.rank; ++d)
            if (axes >> d & 1)
                l.axes[l.steps++] = WF_AXES(d);
        return wfl_lines_new(&l, dtype, &shape, x);
    }
    wf_array *y = wfl_result_beside(x, dtype, &shape);
    if (!y || (wf_is_taped(x) ? filter_on_tape : filter_axes)(&f, y, x, axes) == WF_OK)
        return y;
    wf_release(y);
    return NULL;
}

wf_array *wfl_coefficients(const wf_array *x, const wf_interp *how, int axes)
{
    if (how->interpolation != WF_INTERPOLATE_BSPLINE || how->prefiltered)
        return wf_retain(x);
    int rank = wf_array_shape(x).rank;
    return wf_spline_filter(x, ((1u << axes) - 1) << (rank - axes), how->border, how->outside);
}
