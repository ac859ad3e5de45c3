/* view_values.c - values of array graphs that consist of elements of other values: slices, permutations, reshapes,
 * repetitions, gathers. No element is moved: an operation on such a value computes the elements that it needs
 * (src/plan/split/inline_views.c). */
#include "record/record.h"
#include <math.h>

wf__ref wf__whole_value(wf_val v, const char *function, const char *elsewhere, const char *block)
{
    wf_graph *g = wf__graph_of(v);
    bool number;
    if (!wf__is_recording(g))
        return 0;
    if (g->program.rec.options.kind != WF__ARRAYS) {
        wf__poison(g, WF_ERR_ARG, "%s: only in array graphs%s", function, elsewhere);
        return 0;
    }
    wf__ref r = wf__resolve(g, v, function, &number);
    return r && wf__no_block(g, function, block) ? r : 0;
}

static wf__ref value_of(wf_val v, const char *function)
{
    return wf__whole_value(v, function, "; in an index space say wf_read with other indices",
                           "make it before or after it");
}

static const wf_shape *shape_of(wf_val v, wf__ref r)
{
    const wf__ir *ir = wf__graph_ir(v.h.graph);
    return &ir->shape[wf__shape_of(ir, r)];
}

static bool axis_of(wf_val v, wf__ref r, int *axis, const char *function)
{
    int given = *axis, rank = shape_of(v, r)->rank;
    *axis += *axis < 0 ? rank : 0;
    if (*axis >= 0 && *axis < rank)
        return true;
    wf__poison(v.h.graph, WF_ERR_ARG, "%s: axis %d is out of range for rank %d", function, given, rank);
    return false;
}

static wf_val view(wf_val v, wf__ref r, unsigned kind, const int64_t *numbers, int n)
{
    return wf__value(v.h.graph, wf__view(wf__graph_ir(v.h.graph), kind, numbers, (uint32_t)n, r));
}

/* Returns poison for a value, and a number unchanged. */
static wf_val nothing(wf_val v) { return wf__graph_of(v) ? wf__no_value(v.h.graph) : v; }

wf_val(wf_slice)(wf_val v, int axis, int64_t start, int64_t stop, int64_t step)
{
    wf__ref r = value_of(v, "wf_slice");
    if (!r || !axis_of(v, r, &axis, "wf_slice"))
        return nothing(v);
    if (step == 0) {
        wf__poison(v.h.graph, WF_ERR_ARG, "wf_slice: step is 0");
        return nothing(v);
    }
    const int64_t numbers[] = { axis, start, stop, step };
    return view(v, r, WF__VIEW_SLICE, numbers, 4);
}

wf_val(wf_reverse)(wf_val v, int axis)
{
    wf__ref r = value_of(v, "wf_reverse");
    if (!r || !axis_of(v, r, &axis, "wf_reverse"))
        return nothing(v);
    const int64_t numbers[] = { axis, -1, WF_END_INDEX, -1 };
    return view(v, r, WF__VIEW_SLICE, numbers, 4);
}

wf_val(wf_permute)(wf_val v, const int *axes)
{
    wf__ref r = value_of(v, "wf_permute");
    if (!r)
        return nothing(v);
    int64_t numbers[WF_MAX_RANK];
    const wf_shape *shape = shape_of(v, r);
    for (int d = 0; d < shape->rank; ++d)
        numbers[d] = axes ? axes[d] : -1;
    if (!wf__view_fits(WF__VIEW_PERMUTE, numbers, (uint32_t)shape->rank, shape)) {
        wf__poison(v.h.graph, WF_ERR_ARG, "wf_permute: axes must name each of the %d axes once", (int)shape->rank);
        return nothing(v);
    }
    return view(v, r, WF__VIEW_PERMUTE, numbers, shape->rank);
}

/* Returns a view with the given shape; poison if the value does not fit. `want` completes the message. */
static wf_val with_shape(wf_val v, unsigned kind, const wf_shape *shape, const char *function, const char *want)
{
    wf__ref r = value_of(v, function);
    if (!r)
        return nothing(v);
    wf_shape out;
    bool ranked = shape->rank >= 0 && shape->rank <= WF_MAX_RANK;
    uint32_t n = ranked ? (uint32_t)shape->rank : 0;
    const wf_shape *in = shape_of(v, r);
    bool fits = ranked && wf__view_fits(kind, shape->dim, n, in);
    if (fits && wf__view_shape(kind, shape->dim, n, in, &out))
        return view(v, r, kind, shape->dim, shape->rank);
    if (fits && kind == WF__VIEW_TILE)
        want = "would have too many elements by";
    char from[160], to[160] = "that shape";
    wf_shape_text(in, from, sizeof from);
    if (ranked)
        wf_shape_text(shape, to, sizeof to);
    wf__poison(v.h.graph, WF_ERR_SHAPE, "%s: a value of shape %s %s %s", function, from, want, to);
    return nothing(v);
}

wf_val(wf_reshape)(wf_val v, wf_shape shape)
{
    return with_shape(v, WF__VIEW_RESHAPE, &shape, "wf_reshape", "does not have the elements of");
}

wf_val(wf_broadcast)(wf_val v, wf_shape shape)
{
    return with_shape(v, WF__VIEW_BROADCAST, &shape, "wf_broadcast", "does not broadcast to");
}

wf_val(wf_tile)(wf_val v, wf_shape times)
{
    return with_shape(v, WF__VIEW_TILE, &times, "wf_tile", "needs one count of at least 0 for each axis, not");
}

wf_val(wf_repeat)(wf_val v, int axis, int64_t times)
{
    wf__ref r = value_of(v, "wf_repeat");
    if (!r || !axis_of(v, r, &axis, "wf_repeat"))
        return nothing(v);
    if (times < 0) {
        wf__poison(v.h.graph, WF_ERR_ARG, "wf_repeat: elements cannot be repeated %lld times", (long long)times);
        return nothing(v);
    }
    const int64_t numbers[] = { axis, times }, extent = shape_of(v, r)->dim[axis];
    int64_t all;
    if (extent > 0 && !wf__mul_i64(extent, times, &all)) {
        wf__poison(v.h.graph, WF_ERR_SHAPE, "wf_repeat: %lld elements are too many to be repeated %lld times",
                   (long long)extent, (long long)times);
        return nothing(v);
    }
    return view(v, r, WF__VIEW_REPEAT, numbers, 2);
}

/* ---- by index ---- */
static bool has_extent_0(wf_val v)
{
    wf_shape s = wf_val_shape(v);
    bool none = false;
    for (int d = 0; d < s.rank; ++d)
        none = none || s.dim[d] == 0;
    return none;
}

static wf_val gather(wf_val v, wf_val other, bool borders, wf_vals index, const char *function)
{
    wf_graph *g = v.h.graph;
    wf__ref r = value_of(v, function), outside = 0;
    uint32_t tuple;
    if (!r || !wf__index_tuple(g, index, (size_t)shape_of(v, r)->rank, borders, function, &tuple))
        return nothing(v);
    wf__ir *ir = wf__graph_ir(g);
    const wf_shape *in = shape_of(v, r);
    if (in->rank == 0)
        return v;
    bool nowhere = false; /* there are no indices, so no element is read */
    for (size_t k = 0; k < index.n; ++k)
        nowhere = nowhere || has_extent_0(index.at[k]);
    if (!borders && !nowhere && has_extent_0(v)) {
        wf__poison(g, WF_ERR_BOUNDS, "%s: the value has no elements", function);
        return nothing(v);
    }
    if (borders) {
        outside = wf__converted(g, other, wf__dtype(ir, r), function);
        if (!outside)
            return nothing(v);
    }
    return wf__value(g, wf__gather(ir, r, tuple, outside));
}

wf_val wf_gather_n(wf_val v, wf_vals index) { return gather(v, (wf_val){ { 0, NULL } }, false, index, "wf_gather"); }

wf_val wf_gather_or_n(wf_val v, wf_val other, wf_vals index) { return gather(v, other, true, index, "wf_gather_or"); }

wf_val wf_scatter_n(wf_val v, wf_shape shape, wf_vals index)
{
    wf__ref r = value_of(v, "wf_scatter");
    int64_t count;
    uint32_t tuple;
    if (!r)
        return nothing(v);
    wf_graph *g = v.h.graph;
    wf__ir *ir = wf__graph_ir(g);
    const unsigned t = wf__dtype(ir, r);
    if (!wf__shape_count(&shape, &count) || shape.rank == 0) {
        char text[160];
        wf__bad_shape_text(&shape, text, sizeof text);
        wf__poison(g, WF_ERR_SHAPE, "wf_scatter: there are no arrays of shape %s to index", text);
    } else if (!wf__updates(WF_JOIN_ADD, t) || wf__is_half(t))
        wf__poison(g, WF_ERR_DTYPE, "wf_scatter: not for %s; cast first", wf_dtype_name((wf_dtype)t));
    if (!wf__is_recording(g) || !wf__index_tuple(g, index, (size_t)shape.rank, false, "wf_scatter", &tuple))
        return nothing(v);
    return wf__value(g, wf__scatter(ir, r, wf__shape_id(ir, &shape), tuple, 0));
}

/* ---- concatenation ---- */
/* Returns the recording of the values; NULL = all are numbers. Fails the recording if a value belongs to another
 * one. */
static wf_graph *common_graph(wf_vals values, const char *function)
{
    wf_graph *g = NULL;
    bool number;
    for (size_t i = 0; values.at && i < values.n && !g; ++i)
        g = wf__graph_of(values.at[i]);
    for (size_t i = 0; i < values.n && wf__is_recording(g); ++i)
        wf__resolve(g, values.at[i], function, &number);
    return g;
}

/* Returns the element of v at the indices, where the index along `axis` counts from `first` and is clamped. */
static wf_val element_of(wf_val v, const wf_val *at, int rank, int axis, int64_t first)
{
    wf_val index[WF_MAX_RANK];
    const int64_t n = wf_val_shape(v).dim[axis];
    memcpy(index, at, (size_t)rank * sizeof *at);
    index[axis] = wf_max(wf_min(wf_sub(at[axis], (double)first), (double)(n - 1)), 0);
    return wf_gather_n(v, (wf_vals){ index, (size_t)rank });
}

static bool joins_on(wf_graph *g, wf_val a, wf_val b, int axis)
{
    wf_shape x = wf_val_shape(a), y = wf_val_shape(b);
    wf_dtype s = wf_val_dtype(a), t = wf_val_dtype(b);
    char left[160], right[160];
    bool fits = x.rank == y.rank;
    for (int d = 0; fits && d < x.rank; ++d)
        fits = x.dim[d] >= 0 && y.dim[d] >= 0 && (d == axis || x.dim[d] == y.dim[d]);
    wf_shape_text(&x, left, sizeof left);
    wf_shape_text(&y, right, sizeof right);
    if (wf__is_recording(g) && s != t)
        wf__poison(g, WF_ERR_DTYPE, "wf_concat: %s meets %s; cast one of them", wf_dtype_name(s), wf_dtype_name(t));
    else if (axis < 0 || axis >= x.rank)
        wf__poison(g, WF_ERR_SHAPE, "wf_concat: axis %d is out of range for rank %d", axis, (int)x.rank);
    else if (!fits)
        wf__poison(g, WF_ERR_SHAPE, "wf_concat: %s and %s need known extents, the same but along axis %d", left, right,
                   axis);
    else if (x.dim[axis] > INT64_MAX - y.dim[axis])
        wf__poison(g, WF_ERR_SHAPE, "wf_concat: %s and %s have too many elements together", left, right);
    return wf__is_recording(g);
}

static wf_val concat(wf_val a, wf_val b, int axis)
{
    wf_graph *g = wf__graph_of(a);
    wf_shape x = wf_val_shape(a), y = wf_val_shape(b), out = x;
    if (!joins_on(g, a, b, axis))
        return wf__no_value(g);
    if (x.dim[axis] == 0 || y.dim[axis] == 0)
        return x.dim[axis] ? a : b;
    wf_val at[WF_MAX_RANK];
    out.dim[axis] += y.dim[axis];
    for (int d = 0; d < out.rank; ++d) {
        wf_shape one = out;
        for (int k = 0; k < out.rank; ++k)
            one.dim[k] = k == d ? out.dim[d] : 1;
        at[d] = wf_iota(g, one, d);
    }
    wf_val first = wf_lt(at[axis], (double)x.dim[axis]), of_a = element_of(a, at, out.rank, axis, 0);
    return wf_select(first, of_a, element_of(b, at, out.rank, axis, x.dim[axis]));
}

wf_val wf_concat_n(wf_vals values, int axis)
{
    wf_graph *g = common_graph(values, "wf_concat");
    if (!values.at)
        values.n = 0; /* a NULL list has no value, which would name a recording */
    wf_val all = values.n ? values.at[0] : (wf_val){ { 0, NULL } };
    if (g && !wf__graph_of(all))
        wf__poison(g, WF_ERR_SHAPE, "wf_concat: a number has no axes");
    if (values.n > 1 && !wf__is_recording(g))
        return g ? wf__no_value(g) : (wf_val){ { NAN, NULL } };
    int rank = wf_val_shape(all).rank;
    for (size_t i = 1; i < values.n; ++i)
        all = concat(all, values.at[i], axis < 0 ? axis + rank : axis);
    return all;
}

/* ---- grids ---- */
void wf_meshgrid_n(wf_vals vectors, wf_val *out)
{
    wf_graph *g = common_graph(vectors, "wf_meshgrid");
    wf_shape all = { .rank = (int32_t)vectors.n };
    if (!vectors.at || !wf__is_list(g, out, vectors.n, "wf_meshgrid")) {
        for (size_t k = 0; k < vectors.n && out; ++k)
            out[k] = (wf_val){ { NAN, NULL } };
        return;
    }
    bool fits = vectors.n <= WF_MAX_RANK;
    for (size_t k = 0; fits && k < vectors.n; ++k) {
        wf_shape shape = wf_val_shape(vectors.at[k]);
        fits = wf__graph_of(vectors.at[k]) && shape.rank == 1 && shape.dim[0] >= 0;
        all.dim[k] = shape.dim[0];
    }
    if (!fits)
        wf__poison(g, WF_ERR_SHAPE, "wf_meshgrid: needs up to %d values of rank 1 whose extents are known",
                   WF_MAX_RANK);
    for (size_t k = 0; k < vectors.n; ++k) {
        wf_shape one = all;
        for (size_t d = 0; fits && d < vectors.n; ++d)
            one.dim[d] = d == k ? all.dim[d] : 1;
        out[k] = fits ? (wf_broadcast)((wf_reshape)(vectors.at[k], one), all) : g ? wf__no_value(g) : vectors.at[k];
    }
}

wf_val wf_linspace(wf_graph *g, wf_dtype dtype, int64_t n, double first, double last)
{
    if (wf__is_recording(g) && g->program.rec.options.kind != WF__ARRAYS)
        wf__poison(g, WF_ERR_ARG, "wf_linspace: only in array graphs; in an index space compute it from wf_index");
    else if (n < 0)
        wf__poison(g, WF_ERR_SHAPE, "wf_linspace: there are no arrays of %lld elements", (long long)n);
    wf_val i = wf_cast(wf_iota(g, (wf_shape){ .rank = 1, .dim = { n } }, 0), WF_F64);
    wf_val step = n > 1 ? wf_div(wf_sub(last, first), (double)(n - 1)) : (wf_val){ { 0, NULL } };
    return wf_cast(wf_add(wf_mul(i, step), first), dtype);
}
