/* graph_views.h - for fuzz_graph.c: values made of the elements of others, and scans. */
#ifndef WEFT_GRAPH_VIEWS_H
#define WEFT_GRAPH_VIEWS_H
#include "graph_reduce.h"

static wf_val sliced(recorder *r, int i, wf_shape *shape)
{
    int axis = (int)take(r, (unsigned)shape->rank);
    int64_t n = shape->dim[axis], start = (int64_t)take(r, (unsigned)(2 * n + 3)) - n - 1,
            stop = take(r, 3) ? (int64_t)take(r, (unsigned)(2 * n + 3)) - n - 1 : WF_END_INDEX,
            step = (int64_t)take(r, 6) - 3;
    step += step >= 0;
    if (take(r, 3) == 0) /* the usual case: the first elements */
        start = 0, step = 1;
    shape->dim[axis] = wf__slice_range(n, &(int64_t){ start }, stop, step);
    return wf_slice(use(r, i), axis, start, stop, step);
}

static wf_val permuted(recorder *r, int i, wf_shape *shape)
{
    int axes[WF_MAX_RANK];
    wf_shape was = *shape;
    for (int d = 0; d < shape->rank; ++d) {
        int at = (int)take(r, (unsigned)d + 1);
        axes[d] = axes[at];
        axes[at] = d;
    }
    for (int d = 0; d < shape->rank; ++d)
        shape->dim[d] = was.dim[axes[d]];
    return wf_permute(use(r, i), axes);
}

/* Reshapes value i, whose number of elements is cut into up to four factors. */
static wf_val reshaped(recorder *r, int i, wf_shape *shape)
{
    int64_t left = fz_points(shape);
    wf_shape to = { 0 };
    for (int d = take(r, 3) ? 0 : 3; d < 3; ++d) { /* often one axis for all elements */
        int64_t factor = 1 + (int64_t)take(r, 6);
        if (left % factor == 0) {
            to.dim[to.rank++] = factor;
            left /= factor;
        }
    }
    to.dim[to.rank++] = left;
    *shape = to;
    if (take(r, 2) && fz_points(shape))
        to.dim[take(r, (unsigned)to.rank)] = -1;
    return wf_reshape(use(r, i), to);
}

/* Returns value i with a known shape: formals leave extents open, and a reshape fixes them. */
static wf_val of_known_shape(recorder *r, int i) { return wf_reshape(use(r, i), r->pool[i].shape); }

static wf_val widened(recorder *r, int i, wf_shape *shape)
{
    wf_val v = of_known_shape(r, i);
    if (shape->rank < WF_MAX_RANK && take(r, 2)) {
        memmove(shape->dim + 1, shape->dim, sizeof shape->dim - sizeof *shape->dim);
        shape->dim[0] = (int64_t)take(r, 4);
        ++shape->rank;
    }
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] == 1)
            shape->dim[d] = (int64_t)take(r, 5);
    return wf_broadcast(v, *shape);
}

static wf_val repeated(recorder *r, int i, wf_shape *shape, bool whole)
{
    wf_shape times = { .rank = shape->rank };
    int axis = (int)take(r, (unsigned)shape->rank);
    for (int d = 0; d < shape->rank; ++d) {
        times.dim[d] = whole || d == axis ? (int64_t)take(r, 4) : 1;
        shape->dim[d] *= times.dim[d];
    }
    return whole ? wf_tile(use(r, i), times) : wf_repeat(use(r, i), axis, times.dim[axis]);
}

static wf_val gathered(recorder *r, int i, wf_shape *shape)
{
    wf_shape was = *shape;
    wf_val index[WF_MAX_RANK], other = { { 0, NULL } };
    bool borders = take(r, 2) || open_arrays(r);
    *shape = (wf_shape){ 0 };
    for (int d = 0; d < was.rank; ++d) {
        index[d] = operand(r, any_dtype(r, WF__T_INT), false, shape);
        if (!borders)
            index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), (double)(was.dim[d] ? was.dim[d] : 1));
        else if (take(r, 2))
            index[d] = wf_sub(wf_and(cast_to(index[d], WF_I64), 7), 1);
    }
    if (!borders)
        return wf_gather_n(use(r, i), (wf_vals){ index, (size_t)was.rank });
    other = operand(r, r->pool[i].dtype, true, shape);
    return wf_gather_or_n(use(r, i), other, (wf_vals){ index, (size_t)was.rank });
}

/* Records a scan of value i, if that join applies to it. */
static void scan_of(recorder *r, int i, wf_join join, int axis)
{
    bool exclusive = take(r, 2), reversed = take(r, 2);
    emit(r, wf_scan(join, use(r, i), axis, exclusive, reversed), r->pool[i].shape);
}

static bool is_scanned(const recorder *r, int i, wf_join join)
{
    wf_dtype t = r->pool[i].dtype;
    bool sums = join == WF_JOIN_ADD || join == WF_JOIN_MUL, pairs = wf__is_complex(t) && join == WF_JOIN_ADD;
    return r->set.kind == KIND_ARRAYS && !in_whole_block(r) && r->pool[i].shape.rank &&
           (pairs || joins(join, sums && t == WF_BOOL ? WF_I64 : t));
}

/* Records scans, block reductions and concatenations. */
static void add_scan(recorder *r)
{
    int i = pick(r), axis;
    wf_join join = (wf_join)(WF_JOIN_ADD + take(r, 7));
    wf_shape shape = r->pool[i].shape;
    unsigned form = take(r, open_arrays(r) ? 2 : 4);
    bool pairs = wf__is_complex(r->pool[i].dtype) && join == WF_JOIN_ADD;
    if (!is_scanned(r, i, join))
        return;
    axis = (int)take(r, (unsigned)shape.rank);
    if (form < 2)
        scan_of(r, i, join, axis);
    else if (form == 2 && !pairs) {
        int64_t block = 1 + (int64_t)take(r, 7), *last = &shape.dim[shape.rank - 1];
        wf_val v = exact(r, join, of_known_shape(r, i));
        *last = (*last + block - 1) / block;
        if (shape.rank < WF_MAX_RANK)
            emit(r, wf_block_reduce(join, v, block), shape);
    } else if (form == 3) {
        shape.dim[axis] *= 2;
        if (few_points(&shape))
            emit(r, wf_concat(axis, of_known_shape(r, i), wf_reverse(of_known_shape(r, i), axis)), shape);
    }
}

static void add_view(recorder *r)
{
    int i = pick(r);
    unsigned kind = take(r, 8);
    wf_shape shape = r->pool[i].shape;
    wf_val v;
    if (open_arrays(r))
        kind = 7;
    if (r->set.kind != KIND_ARRAYS || in_whole_block(r) || !shape.rank || (kind >= 6 && !fz_points(&shape)))
        return;
    switch (kind) {
    case 0:
    case 1:
        v = sliced(r, i, &shape);
        break;
    case 2:
        v = permuted(r, i, &shape);
        break;
    case 3:
        v = reshaped(r, i, &shape);
        break;
    case 4:
        v = widened(r, i, &shape);
        break;
    case 5:
    case 6:
        v = repeated(r, i, &shape, kind == 5);
        break;
    default:
        v = gathered(r, i, &shape);
    }
    if (few_points(&shape))
        emit(r, v, shape);
}
#endif
