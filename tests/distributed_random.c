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

static void random_space(distributed_world *w, wf_array **a, wf_shape shape, uint64_t *state)
{
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val v = wf_in(g, a[below(state, 3)]);
    for (int64_t k = below(state, 4); k >= 0; --k)
        v = wf_add(wf_mul(v, 0.5), near_point(g, a[below(state, 3)], state));
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

static void random_graph(distributed_world *w, wf_array **a, wf_array *total, wf_shape shape, uint64_t *state)
{
    wf_graph *g = wf_begin(w->ctx);
    wf_val v[3];
    for (int k = 0; k < 3; ++k)
        v[k] = wf_in(g, a[k]);
    for (int64_t k = 1 + below(state, 4); k > 0; --k) {
        int64_t to = below(state, 3), from = below(state, 3);
        switch (below(state, 5)) {
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
        default:
            v[to] = with_neighbours(g, v[to], a[from], shape, (int)below(state, shape.rank));
        }
    }
    wf_out(g, a[below(state, 3)], v[below(state, 3)]);
    wf_out(g, total, wf_sum(v[below(state, 3)], WF_ALL_AXES));
    world_run(w, g);
}

static void random_case(distributed_world *w)
{
    uint64_t state = w->run->seed;
    wf_shape shape = random_shape(&state);
    wf_array *a[3], *total = world_single(w, WF_F32, shape.rank);
    for (int k = 0; k < 3; ++k)
        a[k] = world_filled(w, WF_F32, shape, w->run->seed + (uint64_t)k);
    for (int64_t k = 1 + below(&state, 3); k > 0 && w->status == WF_OK; --k)
        if (below(&state, 2))
            random_space(w, a, shape, &state);
        else
            random_graph(w, a, total, shape, &state);
    for (int k = 0; k < 3; ++k)
        world_result(w, a[k]);
    world_result(w, total);
}
const distributed_case distributed_random = { "random", random_case };
