/* graph_reduce.h - for fuzz_graph.c: reductions, and what outlives the recording. */
#ifndef WEFT_GRAPH_REDUCE_H
#define WEFT_GRAPH_REDUCE_H
#include "graph_values.h"

/* Values whose sums and products are exact in any order: small integers, and signs. */
static wf_val exact(recorder *r, wf_join join, wf_val v)
{
    wf_dtype t = wf_val_dtype(v);
    if (t < WF_F16 || (join != WF_ADD && join != WF_MUL))
        return v;
    if (take(r, 8) == 0) {
        r->inexact = true;
        return v;
    }
    return join == WF_ADD ? wf_cast(wf_cast(v, WF_I8), t)
                          : wf_copysign(wf_cast(wf_const(r->g, WF_F32, 1), t), without_nan(v));
}

static bool joins(wf_join join, wf_dtype t) { return wf__types_allow(wf__op_table[wf__join_op(join)].types, t); }

/* All axes, or some. */
static wf_axes any_axes(recorder *r, int rank)
{
    return rank && take(r, 3) ? 1 + take(r, (1u << rank) - 1) : WF_ALL_AXES;
}

static void add_reduce(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || r->blocks)
        return;
    int i = pick(r);
    wf_join join = (wf_join)(WF_ADD + take(r, 7));
    wf_dtype t = r->pool[i].dtype;
    bool sums = join == WF_ADD || join == WF_MUL;
    bool pairs = wf__is_complex(t) && join == WF_ADD;
    if (!pairs && !joins(join, sums && t == WF_BOOL ? WF_I64 : t))
        return;
    wf_shape shape = r->pool[i].shape;
    wf_val v = use(r, i);
    if (pairs) {
        wf_val re = exact(r, join, wf_real(v));
        v = wf_complex(re, exact(r, join, wf_imag(v)));
    } else
        v = exact(r, join, v);
    wf_axes axes = any_axes(r, shape.rank);
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = axes >> d & 1 ? 1 : shape.dim[d];
    emit(r, wf_reduce(join, v, axes), shape);
}

static void keep(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || r->kept_n == MOST_KEPT)
        return;
    int i = pick(r);
    if (r->how == KERNEL) {
        char name[16];
        snprintf(name, sizeof name, "k%d", r->kept_n);
        r->kept[r->kept_n] = wf_empty_with(r->ctx, r->pool[i].dtype, r->pool[i].shape, NULL);
        r->kept_formal[r->kept_n] = wf_formal(r->g, name, r->pool[i].dtype, r->pool[i].shape.rank);
        wf_out(r->g, r->kept_formal[r->kept_n++], use(r, i));
    } else if (r->how == EAGER)
        r->kept[r->kept_n++] = wf_retain(r->pool[i].now);
    else
        r->kept[r->kept_n++] = wf_keep(use(r, i));
}

static bool some_axes(const recorder *r) { return r->set.kind == KIND_SPACE_REDUCE && r->set.reduce != WF_ALL_AXES; }

/* Of results: reduced axes are of extent 1, or dropped. */
static wf_shape kept_shape(const recorder *r, bool drop)
{
    wf_shape shape = { 0 };
    for (int d = 0; d < r->set.space.rank; ++d)
        if (!(r->set.reduce >> d & 1))
            shape.dim[shape.rank++] = r->set.space.dim[d];
        else if (!drop)
            shape.dim[shape.rank++] = 1;
    return shape;
}

static wf_val add_kept_index(recorder *r, wf_val v, wf_dtype t)
{
    int axis = (int)take(r, (unsigned)r->set.space.rank);
    wf_val at = r->set.reduce >> axis & 1 ? wf_extent(r->g, axis) : wf_index(r->g, axis);
    return t == WF_BOOL ? wf_xor(v, wf_cast(wf_and(at, 1), t)) : wf_add(v, wf_cast(at, t));
}

/* Reducing graphs: some reductions of some values, then results into arrays. */
static void reduce_all(recorder *r)
{
    wf_var red[4];
    wf_dtype t[4];
    unsigned n = 1 + take(r, 4);
    for (unsigned k = 0; k < n; ++k) {
        wf_join join = (wf_join)(WF_ADD + take(r, 7));
        t[k] = any_dtype(r, wf__op_table[wf__join_op(join)].types);
        wf_shape shape = { 0 };
        wf_val v = exact(r, join, operand(r, t[k], false, &shape));
        red[k] = wf_reduced(r->g, t[k], (double)take(r, 2), join);
        wf_val now = { red[k] };
        fz_function f = functions[wf__join_op(join)];
        wf_set(red[k], take(r, 2) ? f.f2(now, v) : f.f2(v, now));
    }
    wf_section(r->g, WF_POST);
    for (unsigned k = 0; k < n && r->kept_n < MOST_KEPT; ++k) {
        wf_shape shape = { .rank = (int)take(r, 2), .dim = { 1 } };
        if (some_axes(r))
            shape = kept_shape(r, shape.rank == 0);
        wf_array *out = r->kept[r->kept_n] = wf_empty_with(r->ctx, t[k], shape, NULL);
        if (r->how == KERNEL) {
            char name[16];
            snprintf(name, sizeof name, "k%d", r->kept_n);
            out = r->kept_formal[r->kept_n] = wf_formal(r->g, name, t[k], wf_array_shape(out).rank);
        }
        ++r->kept_n;
        wf_val v = wf_get(red[k]);
        if (some_axes(r) && indexed(r) && take(r, 2))
            v = add_kept_index(r, v, t[k]);
        wf_out(r->g, out, t[k] != WF_BOOL && take(r, 2) ? wf_add(v, wf_cast(wf_get(red[0]), t[k])) : v);
    }
}
#endif
