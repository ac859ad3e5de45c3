/* distributed_random.c - random recordings of distributed arrays. */
#include "distributed_cases.h"

static int64_t below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

static wf_shape random_shape(uint64_t *state)
{
    static const int64_t extents[] = { 1, 2, 3, 5, 8, 17, 33, 64, 100 };
    wf_shape shape = { .rank = 1 + (int)below(state, 3) };
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = extents[below(state, shape.rank == 3 ? 7 : 9)];
    return shape;
}

/* An element of an array at an index near the point. */
static wf_val near_point(wf_graph *g, wf_array *a, uint64_t *state)
{
    wf_val index[WF_MAX_RANK];
    int rank = wf_array_shape(a).rank;
    for (int d = 0; d < rank; ++d) {
        index[d] = wf_index(g, d);
        if (below(state, 2))
            index[d] = wf_add(index[d], (double)(below(state, 7) - 3));
        if (!below(state, 8))
            index[d] = wf_sub(wf_sub(wf_extent(g, d), 1), index[d]);
        if (!below(state, 8))
            index[d] = wf_idiv(index[d], (double)(1 + below(state, 3)));
    }
    wf_border border = (wf_border)(WF_BORDER_VALUE + below(state, 5));
    return wf_read_border_n(g, a, border, wf_const(g, WF_F32, 0.25), (wf_vals){ index, (size_t)rank });
}

/* ---- an axis that each rank has the whole of, and gathers along any ---- */
/* Elements at indices from memory along the axis, near the point along the others. */
static void random_gather(distributed_world *w, wf_array **a, wf_array *at, wf_shape shape, int along, uint64_t *state)
{
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val v = wf_in(g, a[below(state, 3)]), index[WF_MAX_RANK];
    for (int64_t k = below(state, 3); k >= 0; --k) {
        wf_val i = wf_in(g, at);
        if (!below(state, 3))
            i = wf_add(wf_sub(i, wf_index(g, along)), (double)below(state, 3));
        wf_vals place = indices_at_point(g, index, shape.rank, along, i);
        for (int d = 0; d < shape.rank; ++d)
            if (d != along && below(state, 2))
                index[d] = wf_add(index[d], (double)(below(state, 5) - 2));
        const wf_border border = (wf_border)(WF_BORDER_VALUE + below(state, 5));
        const wf_array *from = a[below(state, 3)];
        v = wf_add(wf_mul(v, 0.5), wf_read_border_n(g, from, border, wf_const(g, WF_F32, 0.25), place));
    }
    wf_out(g, a[below(state, 3)], v);
    world_run(w, g);
}

/* Each point stores to another index along the axis. */
static void random_store(distributed_world *w, wf_array **a, wf_shape shape, int along, uint64_t *state)
{
    const int64_t to = below(state, 3), from = to + 1 + below(state, 2);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val v = wf_add(wf_in(g, a[from % 3]), near_point(g, a[from % 3], state)), index[WF_MAX_RANK];
    wf_val i = permuted_index(g, shape, along);
    if (below(state, 2))
        i = wf_sub(wf_sub(wf_extent(g, along), 1), wf_index(g, along));
    const wf_vals place = indices_at_point(g, index, shape.rank, along, i);
    if (below(state, 2))
        wf_write_n(g, a[to], v, place);
    else
        wf_write_if_n(g, wf_gt(v, 0), a[to], v, place);
    world_run(w, g);
}

/* Each element along the axis from the one before it, or after it, and from others near it. */
static void random_recurrence(distributed_world *w, wf_array **a, wf_shape shape, int along, uint64_t *state)
{
    const int64_t to = below(state, 3), from = to + 1 + below(state, 2);
    const int n = (int)shape.dim[along];
    const bool backwards = below(state, 2);
    wf_graph *g = wf_begin(w->ctx, .shape = shape_without(shape, along));
    wf_val index[WF_MAX_RANK], k;
    WF_FOR (g, k, 1, n, 1) {
        wf_val i = backwards ? wf_sub(n - 1, k) : k, v = wf_const(g, WF_F32, 0);
        for (int d = 0; d < shape.rank; ++d) {
            wf_vals near = indices_on_line(g, index, shape.rank, along, i);
            index[d] = wf_add(index[d], (double)(below(state, 5) - 2));
            v = wf_add(v, wf_read_border_n(g, a[from % 3], WF_BORDER_CLAMP, wf_const(g, WF_F32, 0), near));
        }
        wf_val before =
            wf_read_n(g, a[to], indices_on_line(g, index, shape.rank, along, wf_add(i, backwards ? 1 : -1)));
        v = wf_add(v, wf_mul(before, 0.5));
        if (below(state, 2))
            v = wf_sub(v, wf_read_n(g, a[to], indices_on_line(g, index, shape.rank, along, i)));
        wf_write_n(g, a[to], v, indices_on_line(g, index, shape.rank, along, i));
        WF_END(g);
    }
    world_run(w, g);
}

static void random_by_index(distributed_world *w, wf_array **a, wf_array *at, wf_shape shape, int along,
                            uint64_t *state)
{
    switch (below(state, 3)) {
    case 0:
        random_gather(w, a, at, shape, along, state);
        break;
    case 1:
        random_store(w, a, shape, along, state);
        break;
    default:
        random_recurrence(w, a, shape, along, state);
    }
}

/* ---- others ---- */
/* A star of elements around the point, of another width along each axis, with one border mode. */
static wf_val star(wf_graph *g, wf_array *a, uint64_t *state)
{
    const int rank = wf_array_shape(a).rank;
    const wf_border border = (wf_border)(WF_BORDER_VALUE + below(state, 5));
    wf_val v = wf_in(g, a), index[WF_MAX_RANK];
    for (int along = 0; along < rank; ++along) {
        const int64_t width = below(state, 4);
        for (int64_t k = -width; k <= width; ++k) {
            for (int d = 0; d < rank; ++d)
                index[d] = d == along ? wf_add(wf_index(g, d), (double)k) : wf_index(g, d);
            const wf_vals place = { index, (size_t)rank };
            v = wf_add(wf_mul(v, 0.5), wf_read_border_n(g, a, border, wf_const(g, WF_F32, 0.25), place));
        }
    }
    return v;
}

static void random_space(distributed_world *w, wf_array **a, wf_shape shape, uint64_t *state)
{
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val v = wf_in(g, a[below(state, 3)]);
    for (int64_t k = below(state, 4); k >= 0; --k) {
        wf_array *from = a[below(state, 3)];
        v = wf_add(wf_mul(v, 0.5), below(state, 3) ? near_point(g, from, state) : star(g, from, state));
    }
    wf_out(g, a[below(state, 3)], v);
    if (below(state, 2))
        wf_out(g, a[below(state, 3)], wf_sub(v, 1));
    world_run(w, g);
}

/* Each element and the one before it along an axis; the first one twice. */
static wf_val with_neighbours(wf_graph *g, wf_val v, wf_array *a, wf_shape shape, int axis)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = d == axis ? wf_max(wf_sub(wf_iota(g, shape, d), 1), 0) : wf_iota(g, shape, d);
    return wf_add(v, wf_read_n(g, a, (wf_vals){ index, (size_t)shape.rank }));
}

/* Values at indices from memory along an axis. */
static wf_val gathered(wf_graph *g, wf_val v, wf_array *at, wf_shape shape, int along)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = d == along ? wf_in(g, at) : wf_iota(g, shape, d);
    return wf_gather_n(v, (wf_vals){ index, (size_t)shape.rank });
}

/* at: indices along an axis; NULL = there is none. */
static void random_graph(distributed_world *w, wf_array **a, wf_array *at, wf_array *total, wf_shape shape, int along,
                         uint64_t *state)
{
    wf_graph *g = wf_begin(w->ctx);
    wf_val v[3];
    for (int k = 0; k < 3; ++k)
        v[k] = wf_in(g, a[k]);
    for (int64_t k = 1 + below(state, 4); k > 0; --k) {
        int64_t to = below(state, 3), from = below(state, 3);
        switch (below(state, at ? 6 : 5)) {
        case 0:
            v[to] = wf_add(v[to], wf_mul(v[from], 0.75));
            break;
        case 1:
            v[to] = wf_sub(v[to], wf_sum(v[from], (wf_axes)(1 + below(state, (1 << shape.rank) - 1))));
            break;
        case 2:
            v[to] = wf_sqrt(wf_abs(v[from]));
            break;
        case 3:
            v[to] = wf_scan(below(state, 2) ? WF_JOIN_ADD : WF_JOIN_MAX, v[from], (int)below(state, shape.rank),
                            below(state, 2), below(state, 2));
            break;
        case 4:
            v[to] = with_neighbours(g, v[to], a[from], shape, (int)below(state, shape.rank));
            break;
        default:
            v[to] = wf_add(v[to], gathered(g, v[from], at, shape, along));
        }
    }
    wf_out(g, a[below(state, 3)], v[below(state, 3)]);
    wf_out(g, total, wf_sum(v[below(state, 3)], WF_ALL_AXES));
    world_run(w, g);
}

/* ---- results with another number of axes ---- */
/* An element of an array at the point of a space without one of its axes, or with one more. */
static wf_val at_other_point(wf_graph *g, wf_array *a, int along, bool more, uint64_t *state)
{
    const wf_shape shape = wf_array_shape(a);
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = more         ? wf_index(g, d < along ? d : d + 1)
                   : d == along ? wf_cast((double)below(state, shape.dim[d]), WF_I64)
                                : wf_index(g, d < along ? d : d - 1);
    const int last = shape.rank - 1;
    if (below(state, 3) == 0)
        index[last] = wf_sub(wf_sub((double)shape.dim[last], 1), wf_cast(index[last], WF_I64));
    if (below(state, 2))
        index[0] = wf_add(index[0], (double)(below(state, 5) - 2));
    return wf_read_border_n(g, a, (wf_border)(WF_BORDER_VALUE + below(state, 5)), wf_const(g, WF_F32, 0.25),
                            (wf_vals){ index, (size_t)shape.rank });
}

static void random_result(distributed_world *w, wf_array **a, wf_shape shape, uint64_t *state)
{
    const bool more = shape.rank == 1 || below(state, 2);
    const int along = (int)below(state, shape.rank);
    wf_shape other = shape_without(shape, along);
    if (more) {
        other = (wf_shape){ .rank = shape.rank + 1 };
        for (int d = 0; d < other.rank; ++d)
            other.dim[d] = d == along ? 1 + below(state, 6) : shape.dim[d < along ? d : d - 1];
    }
    wf_graph *g = wf_begin(w->ctx, .shape = other);
    wf_val v = at_other_point(g, a[below(state, 3)], along, more, state);
    for (int64_t k = below(state, 3); k > 0; --k)
        v = wf_add(wf_mul(v, 0.5), at_other_point(g, a[below(state, 3)], along, more, state));
    wf_array *out = wf_empty_beside(w->ctx, WF_F32, other, .graph = g, .value = v);
    wf_out(g, out, v);
    world_run(w, g);
    g = wf_begin(w->ctx); /* from there to further numbers of axes */
    v = wf_in(g, out);
    wf_array *line = wf_keep(wf_reshape(wf_add(v, 1), WF_SHAPE(wf_array_count(out))));
    const int axis = (int)below(state, other.rank);
    wf_array *sum = wf_keep(wf_reshape(wf_sum(v, (wf_axes)1 << axis), shape_without(other, axis)));
    world_run(w, g);
    world_result(w, world_divided(w, out));
    world_result(w, world_divided(w, line));
    world_result(w, sum);
}

static void random_case(distributed_world *w)
{
    uint64_t state = w->run->seed;
    wf_shape shape = random_shape(&state);
    const int along = below(&state, 4) ? (int)below(&state, shape.rank) : -1;
    const wf_axes whole = along < 0 || shape.rank == 1 || below(&state, 2) ? 0 : (wf_axes)1 << along;
    wf_array *a[3], *total = world_single(w, WF_F32, shape.rank), *at = NULL;
    for (int k = 0; k < 3; ++k)
        a[k] = world_filled_along(w, WF_F32, shape, w->run->seed + (uint64_t)k, whole);
    if (along >= 0)
        at = world_positions(w, shape, (int)shape.dim[along], whole, below(&state, 2));
    for (int64_t k = 1 + below(&state, 4); k > 0 && w->status == WF_OK; --k) {
        for (int i = 0; i < 3; ++i)
            world_spoil(w, a[i]);
        if (whole && below(&state, 2))
            random_by_index(w, a, at, shape, along, &state);
        else if (at && below(&state, 2))
            random_gather(w, a, at, shape, along, &state);
        else if (!below(&state, 4))
            random_result(w, a, shape, &state);
        else if (below(&state, 2))
            random_space(w, a, shape, &state);
        else
            random_graph(w, a, at, total, shape, along, &state);
    }
    for (int k = 0; k < 3; ++k)
        world_result(w, a[k]);
    wf_release(at);
    world_result(w, total);
}
const distributed_case distributed_random = { "random", random_case };
