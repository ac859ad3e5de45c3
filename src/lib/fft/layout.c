/* layout.c - spectra in other orders and of other extents: centred, cropped and padded. */
#include "lib/array/array_internal.h"
#include "weft/fft.h"

wf_array *wf_fft_shift(const wf_array *x, wf_axes axes, bool inverse)
{
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(x);
    bool drop;
    int64_t offset[WF_MAX_RANK] = { 0 };
    if (!x || !wfl_array_known(x, __func__) || !wfl_axes_of(ctx, &shape, &axes, &drop, __func__))
        return NULL;
    for (int d = 0; d < shape.rank; ++d)
        if (axes >> d & 1)
            offset[d] = inverse ? shape.dim[d] / 2 : (shape.dim[d] + 1) / 2;
    return wf_array_extract(x, shape, offset, WF_BORDER_PERIODIC, 0);
}

/* ---- extents ---- */
typedef struct resizing {
    wf_graph *g;
    const wf_array *x;
    int rank, axis;
    wf_axes axes;     /* of the transform */
    int64_t from, to; /* logical extents along the axis, which differ */
    bool half;        /* the axis has the frequencies from 0 on alone */
    wf_shape shape;   /* of x */
    wf_val index[WF_MAX_RANK];
} resizing;

static wf_val read_at(const resizing *r, wf_val k)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < r->rank; ++d)
        index[d] = d == r->axis ? k : r->index[d];
    return wf_read_n(r->g, r->x, (wf_vals){ index, (size_t)r->rank });
}

/* The element of the opposite frequency, in a half spectrum. */
static wf_val read_opposite(const resizing *r, wf_val k)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < r->rank; ++d) {
        wf_val i = r->index[d], n = WF_V((double)r->shape.dim[d]);
        bool mirrored = d != r->axis && r->axes >> d & 1;
        index[d] = d == r->axis ? k : mirrored ? wf_select(wf_eq(i, 0), 0, wf_sub(n, i)) : i;
    }
    return wf_conj(wf_read_n(r->g, r->x, (wf_vals){ index, (size_t)r->rank }));
}

/* The element of the resized spectrum. An even extent has one element for two opposite frequencies: it is split in two
 * where there is room for both, and is their sum where there is not. */
static wf_val resized(const resizing *r)
{
    wf_val k = r->index[r->axis], zero = wf_const(r->g, wf_array_dtype(r->x), 0);
    int64_t least = r->from < r->to ? r->from : r->to, middle = least / 2;
    bool crops = r->to < r->from, even = least % 2 == 0;
    wf_val negative = wf_gt(k, (double)((r->to - 1) / 2)); /* of a whole axis */
    wf_val frequency = r->half ? k : wf_select(negative, wf_sub(k, (double)r->to), k), size = wf_abs(frequency);
    wf_val there = wf_le(size, (double)middle), ends = wf_and(even, wf_eq(size, (double)middle));
    wf_val source = wf_select(there, frequency, 0);
    if (!r->half)
        source = wf_select(wf_lt(source, 0), wf_add(source, (double)r->from), source);
    wf_val v = read_at(r, source);
    if (even && !crops)
        v = wf_select(ends, wf_mul(v, 0.5), v);
    if (even && crops) {
        wf_val at = WF_V((double)middle);
        v = wf_select(ends, wf_add(v, r->half ? read_opposite(r, at) : read_at(r, at)), v);
    }
    return wf_select(there, v, zero);
}

/* Resizes one axis and scales. Consumes x. */
static wf_array *resize_axis(resizing *r, wf_array *x, double scale, const char *function)
{
    r->x = x;
    r->shape = wf_array_shape(x);
    wf_shape shape = r->shape;
    shape.dim[r->axis] = r->half ? r->to / 2 + 1 : r->to;
    wf_array *out = wfl_result_beside(x, wf_array_dtype(x), &shape);
    r->g = wfl_begin(wf_array_context(x), function, .shape = shape);
    for (int d = 0; d < r->rank; ++d)
        r->index[d] = wf_index(r->g, d);
    wf_val v = resized(r);
    if (out)
        wf_out(r->g, out, wf_mul(v, scale));
    wf_status status = wfl_run_into(r->g, out);
    wf_release(x);
    if (status == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* Sets *half: the last of the axes has half of the frequencies. False, with an error: the spectrum has another shape. */
static bool fits(const wf_array *spectrum, const wf_shape *from, const wf_shape *to, wf_axes axes, int last, bool *half,
                 const char *function)
{
    wf_shape shape = wf_array_shape(spectrum);
    bool same = from->rank == shape.rank && to->rank == shape.rank;
    *half = same && shape.dim[last] != from->dim[last];
    for (int d = 0; d < shape.rank && same; ++d) {
        int64_t extent = d == last && *half ? from->dim[d] / 2 + 1 : from->dim[d];
        same =
            shape.dim[d] == extent && (axes >> d & 1 ? from->dim[d] > 0 && to->dim[d] > 0 : from->dim[d] == to->dim[d]);
    }
    if (same)
        return true;
    char a[160], b[160], c[160];
    wf_shape_text(&shape, a, sizeof a);
    wf_shape_text(from, b, sizeof b);
    wf_shape_text(to, c, sizeof c);
    wfl_array_fail(wf_array_context(spectrum), WF_ERR_SHAPE, "%s: a spectrum %s of %s cannot become one of %s",
                   function, a, b, c);
    return false;
}

wf_array *wf_fft_resize(const wf_array *spectrum, wf_shape from, wf_shape to, wf_axes axes)
{
    wf_context *ctx = wf_array_context(spectrum);
    wf_shape shape = wf_array_shape(spectrum);
    bool drop, half;
    int last = 0;
    if (!spectrum || !wfl_array_known(spectrum, __func__) || !wfl_axes_of(ctx, &shape, &axes, &drop, __func__))
        return NULL;
    if (!wfl_is_complex_dtype(wf_array_dtype(spectrum))) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "wf_fft_resize: the spectrum is real");
        return NULL;
    }
    for (int d = 0; d < shape.rank; ++d)
        last = axes >> d & 1 ? d : last;
    if (!fits(spectrum, &from, &to, axes, last, &half, __func__))
        return NULL;
    wf_array *x = wf_retain(spectrum);
    bool copied = false;
    for (int d = shape.rank - 1; d >= 0 && x; --d) /* the half axis first, while opposite frequencies are there */
        if (axes >> d & 1 && from.dim[d] != to.dim[d]) {
            resizing r = { .rank = shape.rank,
                           .axis = d,
                           .axes = axes,
                           .from = from.dim[d],
                           .to = to.dim[d],
                           .half = half && d == last };
            x = resize_axis(&r, x, (double)to.dim[d] / (double)from.dim[d], __func__);
            copied = true;
        }
    if (copied || !x)
        return x;
    wf_release(x);
    return wf_array_copy(spectrum);
}
