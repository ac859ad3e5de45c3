/* beside.c - how a result is distributed that is computed from distributed arrays. */
#include "dist/dist.h"

/* Returns the distribution of an operand without these of its axes. */
static wf_dist without_axes(const wf_dist *dist, wf_axes axes)
{
    wf_dist out = { .shape = { .rank = 0 }, .ranks = 1 };
    for (int d = 0; d < dist->shape.rank; ++d) {
        if (axes >> d & 1)
            continue;
        const int k = out.shape.rank++;
        out.shape.dim[k] = dist->shape.dim[d];
        out.grid[k] = dist->grid[d];
        out.unit[k] = dist->unit[d];
        out.ranks *= dist->grid[d];
    }
    for (int k = out.shape.rank; k < WF_MAX_RANK; ++k) {
        out.grid[k] = 1;
        out.unit[k] = 1;
    }
    return out;
}

/* True if no axis that the grid divides has a single index in the shape alone. */
static bool divides(const wf_dist *dist, const wf_shape *shape)
{
    bool all = dist->shape.rank == shape->rank;
    for (int d = 0; all && d < shape->rank; ++d)
        all = dist->grid[d] == 1 || shape->dim[d] == dist->shape.dim[d] || shape->dim[d] > 1;
    return all;
}

bool wf__dist_beside_operands(const wf_array *const *operand, size_t n, wf_axes dropped, const wf_shape *shape,
                              wf__beside *out)
{
    const int rank = shape->rank + __builtin_popcount(dropped); /* of the space */
    bool same = false;
    *out = (wf__beside){ .like = NULL };
    for (size_t i = 0; i < n && !same; ++i) {
        const wf_array *a = operand[i];
        if (!a || !a->distributed)
            continue;
        const wf_dist dist =
            without_axes(&a->distributed->dist, a->shape.rank < rank ? dropped >> (rank - a->shape.rank) : dropped);
        if (dist.ranks != a->distributed->dist.ranks || !divides(&dist, shape))
            continue;
        same = wf__same_shape(&dist.shape, shape);
        if (same || !out->like)
            *out = (wf__beside){ .like = a, .dist = wf_dist_resize(&dist, shape) };
    }
    return out->like != NULL;
}

void wf__dist_beside_group(const wf_array *operand, const int along[WF_MAX_RANK], const wf_shape *shape,
                           wf__beside *out)
{
    wf_dist_options options = { .size = sizeof options };
    *out = (wf__beside){ .like = NULL };
    if (!operand || !shape->rank)
        return;
    const wf_dist *dist = &operand->distributed->dist;
    for (int k = 0; k < dist->shape.rank; ++k) {
        const int d = along[k];
        if (dist->grid[k] == 1 || d < 0 || d >= shape->rank || shape->dim[d] <= 1 || options.grid[d])
            continue;
        options.grid[d] = dist->grid[k];
        options.unit[d] = shape->dim[d] == dist->shape.dim[k] ? dist->unit[k] : 1;
    }
    if (wf_dist_make(shape, dist->ranks, &options, &out->dist) == WF_OK ||
        wf_dist_make(shape, dist->ranks, NULL, &out->dist) == WF_OK)
        out->like = operand;
}
