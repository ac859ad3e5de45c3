/* graph_memory.h - for fuzz_graph.c: elements, reads, positions, stores, accumulation. */
#ifndef WEFT_GRAPH_MEMORY_H
#define WEFT_GRAPH_MEMORY_H
#include "graph_values.h"

/* True if array k can be read anywhere. In an index space, written memory can be read only at the point's own element.
 */
static bool readable(const recorder *r, int k)
{
    const fz_buffer *b = &r->set.buffer[r->set.array[k].buffer];
    return !indexed(r) || !b->writer || (b->writer == k + 1);
}

/* In a block of whole arrays points take different paths. There one array alone accesses a buffer that is written, and
 * element by element. */
static bool may_load(recorder *r, int k, bool whole)
{
    int b = r->set.array[k].buffer;
    if (!in_whole_block(r))
        return true;
    if (r->use[b].writer && !(whole && r->use[b].writer == k + 1))
        return false;
    r->use[b].by = whole && (!r->use[b].by || r->use[b].by == k + 1) ? k + 1 : -1;
    return true;
}

static bool may_store(recorder *r, int k, int writer) /* k + 1, or -join */
{
    int b = r->set.array[k].buffer;
    bool alone = !r->use[b].by || (writer > 0 && r->use[b].by == k + 1);
    if (r->calls)
        return false;
    if (!in_whole_block(r))
        return true;
    if (!alone || (r->use[b].writer && r->use[b].writer != writer) ||
        (writer > 0 && !fz_same_shape(&r->set.array[k].shape, &r->set.space)))
        return false;
    r->use[b].writer = writer;
    return true;
}

/* Returns the element of array k that belongs to this point, by NumPy's rule. */
static wf_val own_element(recorder *r, int k)
{
    const fz_array *a = &r->set.array[k];
    wf_val index[WF_MAX_RANK];
    if (r->how != POINTS)
        return wf_in(r->g, source(r, k));
    for (int d = 0; d < a->shape.rank; ++d)
        index[d] =
            a->shape.dim[d] == 1 ? wf_const(r->g, WF_I64, 0) : position(r, d + r->set.space.rank - a->shape.rank);
    return wf_read_n(r->g, source(r, k), (wf_vals){ index, (size_t)a->shape.rank });
}

/* Returns the array for a write, which makes no value. The values that atomic operations return are kept as results. */
static wf_array *written(recorder *r, int k)
{
    uint32_t reads = r->reads;
    wf_array *a = named(r, k);
    r->reads = reads;
    r->written |= 1u << r->set.array[k].buffer;
    return a;
}

/* Sets `index` to the place where each write to array k goes. */
static void own_place(recorder *r, int k, wf_val *index)
{
    const fz_array *a = &r->set.array[k];
    for (int d = 0; d < a->shape.rank; ++d)
        index[d] = wf_add(position(r, d), (double)a->offset[d]);
}

static void add_element(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    /* A function that no lane calls is not recorded, so its reads take no part in the shape. */
    if (!readable(r, k) || !a->fits || (r->calls && r->set.kind == KIND_ELEMENTS_REDUCE) || !may_load(r, k, true))
        return;
    if (indexed(r) && r->set.buffer[a->buffer].writer) {
        wf_val index[WF_MAX_RANK];
        own_place(r, k, index);
        emit(r, wf_read_n(r->g, source(r, k), (wf_vals){ index, (size_t)a->shape.rank }), (wf_shape){ 0 });
        return;
    }
    r->set.buffer[a->buffer].read = true;
    emit(r, own_element(r, k), indexed(r) || r->set.kind == KIND_ELEMENTS_REDUCE ? (wf_shape){ 0 } : a->shape);
}

static void add_read(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (!readable(r, k) || r->set.buffer[a->buffer].writer || a->shape.rank == 0 || !may_load(r, k, false))
        return;
    r->set.buffer[a->buffer].read = true;
    wf_border border = (wf_border)take(r, WF__BORDERS);
    wf_val index[WF_MAX_RANK];
    wf_shape shape = { 0 };
    for (int d = 0; d < a->shape.rank; ++d) {
        unsigned form = take(r, 4);
        if (indexed(r) && r->set.space.rank && form < 3) {
            int axis = form == 0 ? (int)take(r, (unsigned)r->set.space.rank) : d % r->set.space.rank;
            index[d] = wf_add(position(r, axis), (double)take(r, 7) - 3);
        } else
            index[d] = operand(r, any_dtype(r, WF__T_INT), false, &shape);
        if (border == WF_BORDER_NONE) {
            if (a->shape.dim[d] == 0)
                return;
            index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), extent_of(r, k, d));
        }
    }
    wf_vals at = { index, (size_t)a->shape.rank };
    wf_val other = { { 0, NULL } };
    if (border == WF_BORDER_VALUE)
        other = operand(r, a->dtype, true, &shape);
    emit(r, wf_read_border_n(r->g, source(r, k), border, other, at), shape);
}

static void add_position(recorder *r)
{
    const wf_shape *s = &r->set.space;
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (take(r, 4) == 0 && a->shape.rank)
        emit(r, wf_dim(r->g, named(r, k), (int)take(r, (unsigned)a->shape.rank)), (wf_shape){ 0 });
    else if (s->rank && indexed(r)) {
        int axis = (int)take(r, (unsigned)s->rank);
        if (take(r, 3))
            emit(r, position(r, axis), (wf_shape){ 0 });
        else
            emit(r, r->how == POINTS ? wf_const(r->g, WF_I64, (double)s->dim[axis]) : wf_extent(r->g, axis),
                 (wf_shape){ 0 });
    } else if (s->rank && r->set.kind == KIND_ARRAYS && !open_arrays(r)) {
        const wf_shape *of = take(r, 2) && a->fits && a->shape.rank ? &a->shape : s;
        emit(r, wf_iota(r->g, *of, (int)take(r, (unsigned)of->rank)), *of);
    }
}

static void add_store(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays), i = pick(r);
    fz_array *a = &r->set.array[k];
    fz_buffer *b = &r->set.buffer[a->buffer];
    if (r->set.kind == KIND_ELEMENTS_REDUCE || r->set.kind == KIND_SPACE_REDUCE)
        return;
    if (!indexed(r)) {
        wf_shape both = a->shape;
        if (r->pool[i].shape.rank > a->shape.rank || !fz_broadcast(&both, &r->pool[i].shape) ||
            !fz_same_shape(&both, &a->shape) || !may_store(r, k, k + 1))
            return;
        wf_out(r->g, written(r, k), cast_to(use(r, i), a->dtype));
        if (r->how == EAGER) {
            check(r, wf_run(r->g));
            begin(r);
        }
        return;
    }
    if ((b->writer && b->writer != k + 1) || !a->full || (r->loops && !b->writer) || !may_store(r, k, k + 1))
        return;
    wf_array *target = named(r, k);
    wf_val index[WF_MAX_RANK];
    own_place(r, k, index);
    bool element = a->same && take(r, 2);
    if (element && r->how != POINTS)
        wf_out(r->g, target, cast_to(use(r, i), a->dtype));
    else
        wf_write_n(r->g, target, cast_to(use(r, i), a->dtype), (wf_vals){ index, (size_t)a->shape.rank });
    b->writer = k + 1;
}

/* Records joins whose order is not visible. In an index space the order of the points is open, so each buffer has one
 * kind of join, and nothing else accesses it afterwards. */
static void add_accumulate(recorder *r)
{
    static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    fz_buffer *b = &r->set.buffer[a->buffer];
    wf_join join = (wf_join)(WF_JOIN_ADD + take(r, 7));
    wf_mode mode = modes[take(r, 4)];
    bool ordered = wf__is_float(a->dtype) && (join == WF_JOIN_ADD || join == WF_JOIN_MUL);
    bool reduces = r->set.kind == KIND_ELEMENTS_REDUCE || r->set.kind == KIND_SPACE_REDUCE;
    wf_shape shape = { 0 };
    wf_val index[WF_MAX_RANK], on = { { 1, NULL } };
    if (reduces || !wf__updates(join, a->dtype) || wf__is_complex(a->dtype) || ordered ||
        (indexed(r) && b->writer && b->writer != -(int)join))
        return;
    for (int d = 0; d < a->shape.rank; ++d) {
        if (a->shape.dim[d] == 0)
            return;
        unsigned form = take(r, 3);
        if (form && indexed(r) && r->set.space.rank)
            index[d] = position(r, (int)take(r, (unsigned)r->set.space.rank));
        else
            index[d] = operand(r, any_dtype(r, WF__T_INT), false, &shape);
        index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), extent_of(r, k, d));
    }
    if (!may_store(r, k, -(int)join))
        return;
    if (take(r, 2))
        on = operand(r, WF_BOOL, false, &shape);
    wf_val v = cast_to(operand(r, a->dtype, false, &shape), a->dtype);
    wf_accumulate_if_n(r->g, on, join, mode, written(r, k), v, (wf_vals){ index, (size_t)a->shape.rank });
    b->writer = indexed(r) ? -(int)join : b->writer;
    if (r->how == EAGER) {
        check(r, wf_run(r->g));
        begin(r);
    }
}

/* ---- atomic operations whose result is used ---- */
/* True if array k can be updated: reads see the current contents, so no other point may read it. */
static bool may_update(const recorder *r, int k)
{
    const fz_array *a = &r->set.array[k];
    const fz_buffer *b = &r->set.buffer[a->buffer];
    return !wf__is_complex(a->dtype) && fz_points(&a->shape) > 0 && (!indexed(r) || !b->read);
}

static bool any_update(recorder *r, wf_dtype t, wf_join *join)
{
    *join = (wf_join)(WF_JOIN_ADD + take(r, 9));
    return *join == WF_JOIN_EXCH || (*join == WF_JOIN_INC ? t < WF_F16 && t != WF_BOOL : wf__updates(*join, t));
}

/* Records atomic operations on the point's own element, or on all elements of an array, and uses the old values. */
static void add_own_atomic(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays), i = pick(r);
    const fz_array *a = &r->set.array[k];
    fz_buffer *b = &r->set.buffer[a->buffer];
    wf_join join;
    wf_val index[WF_MAX_RANK];
    wf_vals at = { index, (size_t)a->shape.rank };
    wf_shape both = a->shape, shape = indexed(r) ? (wf_shape){ 0 } : a->shape;
    bool swaps = take(r, 4) == 0, space = indexed(r);
    if (!any_update(r, a->dtype, &join) || !may_update(r, k) ||
        (!space && (r->blocks || !a->shape.rank || open_arrays(r))))
        return;
    if (space && ((b->writer && b->writer != k + 1) || !a->full || (r->loops && !b->writer)))
        return;
    if (!space && !(fz_broadcast(&both, &r->pool[i].shape) && fz_same_shape(&both, &a->shape)))
        i = 0;
    if (space)
        own_place(r, k, index);
    for (int d = 0; d < a->shape.rank && !space; ++d)
        index[d] = wf_iota(r->g, a->shape, d);
    wf_val v = cast_to(use(r, i), a->dtype);
    wf_val old = swaps ? wf_cas_n(r->g, written(r, k), without_nan(v), wf_const(r->g, a->dtype, 1), at)
                       : wf_atomic_n(r->g, join, written(r, k), v, at);
    b->writer = space ? k + 1 : b->writer;
    emit(r, old, shape);
}

/* Lets all points update one element. The old value that one point gets is open; the set of all old values is not, if
 * all points do the same. */
static void add_meeting(recorder *r)
{
    static const wf_join order_free[] = { WF_JOIN_ADD, WF_JOIN_XOR, WF_JOIN_MAX };
    int k = (int)take(r, (unsigned)r->set.arrays), m = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k], *sum = &r->set.array[m];
    fz_buffer *b = &r->set.buffer[a->buffer], *into = &r->set.buffer[sum->buffer];
    wf_join join, all = order_free[take(r, 3)];
    wf_val first[WF_MAX_RANK], on;
    wf_shape shape = { 0 };
    if (!any_update(r, a->dtype, &join) || !may_update(r, k) || b == into || b->writer || sum->dtype >= WF_F16 ||
        sum->dtype == WF_BOOL || fz_points(&sum->shape) == 0 || (into->writer && into->writer != -(int)all))
        return;
    for (int d = 0; d < WF_MAX_RANK; ++d)
        first[d] = wf_const(r->g, WF_I64, 0);
    on = operand(r, WF_BOOL, false, &shape);
    wf_val by = wf_cast(wf_const(r->g, WF_I32, 1 + (double)take(r, 3)), a->dtype);
    wf_val old = wf_atomic_if_n(r->g, on, join, named(r, k), by, (wf_vals){ first, (size_t)a->shape.rank });
    wf_accumulate_if_n(r->g, on, all, WF_MODE_AUTO, named(r, m), cast_to(old, sum->dtype),
                       (wf_vals){ first, (size_t)sum->shape.rank });
    b->writer = -1000; /* no other array may use the buffer */
    into->writer = -(int)all;
}

static void add_atomic(recorder *r)
{
    bool meet = take(r, 2);
    if (r->calls || r->set.kind == KIND_ELEMENTS_REDUCE || r->set.kind == KIND_SPACE_REDUCE)
        return;
    if (meet && indexed(r))
        add_meeting(r);
    else
        add_own_atomic(r);
}
#endif
