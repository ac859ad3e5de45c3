/* algebra.c - see algebra.h. */
#include "algebra.h"

wfl_algebra wfl_mat_begin(wf_arrays in, const char *function)
{
    return (wfl_algebra){ .ctx = wf_array_context(in.at[0]), .function = function };
}

wf_status wfl_mat_end(wfl_algebra *l)
{
    while (l->n > 0)
        wf_release(l->made[--l->n]);
    return l->failed ? wfl_array_error(l->ctx) : WF_OK;
}

wf_array *wfl_mat_made(wfl_algebra *l, wf_array *x)
{
    if (!x || l->n == WFL_MOST_MADE) {
        l->failed = true;
        wf_release(x);
        return NULL;
    }
    return l->made[l->n++] = x;
}

wf_graph *wfl_mat_graph(const wfl_algebra *l) { return wfl_begin(l->ctx, l->function); }
wf_array *wfl_mat_value(wfl_algebra *l, wf_graph *g, wf_val v) { return wfl_mat_made(l, wfl_array_run(g, wf_keep(v))); }

static bool is_complex(const wf_array *x) { return wfl_is_complex_dtype(wf_array_dtype(x)); }

/* ---- matrices ---- */
wf_array *wfl_mat_turned(wfl_algebra *l, wf_array *x)
{
    int axes[WF_MAX_RANK];
    if (l->failed)
        return NULL;
    const int rank = wf_array_shape(x).rank;
    for (int d = 0; d < rank; ++d)
        axes[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    wf_array *view = wfl_mat_made(l, wf_view_permute(x, axes));
    if (!view || !is_complex(x))
        return view;
    wf_graph *g = wfl_mat_graph(l);
    return wfl_mat_value(l, g, wf_conj(wf_in(g, view)));
}

wf_array *wfl_mat_product(wfl_algebra *l, wf_array *x, wf_array *y)
{
    return l->failed ? NULL : wfl_mat_made(l, wf_array_matmul(x, y));
}

wf_array *wfl_mat_sum(wfl_algebra *l, wf_array *x, double factor, wf_array *y)
{
    if (l->failed)
        return NULL;
    wf_graph *g = wfl_mat_graph(l);
    return wfl_mat_value(
        l, g, wf_add(wf_in(g, x), wf_mul(wf_in(g, y), wf_const(g, wf_dtype_part(wf_array_dtype(y)), factor))));
}

wf_val wfl_mat_below(wf_graph *g, wf_shape s) { return wf_gt(wf_iota(g, s, s.rank - 2), wf_iota(g, s, s.rank - 1)); }

wf_val wfl_mat_diagonal(wf_graph *g, wf_shape s) { return wf_eq(wf_iota(g, s, s.rank - 2), wf_iota(g, s, s.rank - 1)); }

wf_val wfl_mat_lower_half(wf_graph *g, const wf_array *x, wf_val v)
{
    const wf_dtype dtype = wf_array_dtype(x);
    const wf_shape s = wf_array_shape(x);
    wf_val half = wf_mul(v, wf_const(g, wf_dtype_part(dtype), 0.5));
    return wf_select(wfl_mat_below(g, s), v, wf_select(wfl_mat_diagonal(g, s), half, wf_const(g, dtype, 0)));
}

wf_val wfl_mat_beside(wf_graph *g, const wf_array *x, bool rows)
{
    wf_shape s = wf_array_shape(x);
    const int64_t n = s.dim[s.rank - 1];
    s.dim[s.rank - 1] = rows ? n : 1;
    s.dim[s.rank++] = rows ? 1 : n;
    return wf_reshape(wf_in(g, x), s);
}

wf_array *wfl_mat_lower_part(wfl_algebra *l, wf_array *x)
{
    wf_array *y = wfl_mat_turned(l, x);
    if (l->failed)
        return NULL;
    wf_graph *g = wfl_mat_graph(l);
    return wfl_mat_value(l, g, wfl_mat_lower_half(g, x, wf_add(wf_in(g, x), wf_in(g, y))));
}

void wfl_mat_give(wfl_algebra *l, wf_array *grad, wf_array *x)
{
    if (!grad || l->failed)
        return;
    wf_shape to = wf_array_shape(grad), from = wf_array_shape(x);
    const int more = from.rank - to.rank;
    wf_axes repeated = 0;
    for (int d = 0; d < from.rank; ++d)
        repeated |= d < more || (to.dim[d - more] == 1 && from.dim[d] != 1) ? 1u << d : 0;
    wf_graph *g = wfl_mat_graph(l);
    wf_val v = wf_in(g, x);
    if (is_complex(x) && !is_complex(grad))
        v = wf_real(v);
    if (repeated)
        v = wf_reduce(WF_JOIN_ADD, v, repeated);
    wf_out(g, grad, wf_cast(wf_reshape(v, to), wf_array_dtype(grad)));
    l->failed = wf_run(g) != WF_OK;
}
