/* operands.c - see operands.h. What a rank does not have of a distributed operand is copied to an array of which each rank's
 * block is what that rank needs. Elements that several ranks need are several times in this array, along axes of their own, and
 * are fetched by a launch.
 */
#include "operands.h"
#include "lines.h"
#include "weft/derivative.h"

/* Sets how an array is distributed of which each block is what a rank needs for its block of c. Axes of the operand are counted
 * from the last one, as those of c; k is the axis along which each rank needs all of it. repeated: axes along which all ranks
 * need the same element. Returns the number of axes that were inserted before k. */
static int find_parts(const wf_shape *shape, const wf_dist *c, int k, wf_dist *dist, wf_axes *repeated)
{
    const int first = c->shape.rank - shape->rank, inserted = c->grid[k] > 1;
    *dist = *c;
    *repeated = 0;
    dist->shape.rank += inserted;
    for (int d = c->shape.rank; d-- > k;) {
        const int to = d + inserted;
        dist->shape.dim[to] = shape->dim[d - first];
        dist->grid[to] = d == k ? 1 : c->grid[d];
        dist->unit[to] = d == k ? 1 : c->unit[d];
    }
    if (inserted) {
        dist->shape.dim[k] = dist->grid[k] = c->grid[k];
        dist->unit[k] = 1;
    }
    for (int d = 0; d < k; ++d) {
        const int64_t extent = d < first ? 1 : shape->dim[d - first];
        if (extent == c->shape.dim[d])
            continue;
        *repeated |= 1u << d;
        dist->shape.dim[d] = c->grid[d];
        dist->unit[d] = 1;
    }
    return inserted;
}

/* Returns an array of the parts of x, cut so. NULL: an error, the same on all ranks. */
static wf_array *fetch_parts(const char *function, const wf_array *x, const wf_dist *dist, int k, int inserted,
                             wf_axes repeated)
{
    wf_context *ctx = wf_array_context(x);
    const int rank = wf_array_shape(x).rank, first = dist->shape.rank - inserted - rank;
    wf_array *parts = wf_empty_distributed(ctx, wf_array_dtype(x), wf_array_ranks(x), dist);
    if (!parts)
        return NULL;
    const wf_shape own = wf_array_shape(x);
    if (!inserted && wfl_same_shape(&dist->shape, &own)) {
        if (wf_array_redistribute(parts, x) == WF_OK)
            return parts;
        wf_release(parts);
        return NULL;
    }
    wf_graph *g = wfl_begin(ctx, function, .shape = dist->shape);
    wf_val index[WF_MAX_RANK];
    for (int i = 0; i < rank; ++i) {
        const int d = first + i;
        index[i] = repeated >> d & 1 ? wf_const_i64(g, WF_I64, 0) : wf_index(g, d < k ? d : d + inserted);
    }
    wf_out(g, parts, wf_read_n(g, x, (wf_vals){ index, (size_t)rank }));
    return wfl_array_run(g, parts);
}

/* Returns a view of what this rank needs of an array that it has all of. */
static wf_array *part_of_ordinary(const wf_array *x, const wf_array *c, const wf_dist *dist, int k)
{
    wf_shape shape = wf_array_shape(x);
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], offset[WF_MAX_RANK] = { 0 };
    wf_dist_range(dist, wf_ranks_rank(wf_array_ranks(c)), lo, hi);
    for (int i = 0; i < shape.rank; ++i) {
        const int d = dist->shape.rank - shape.rank + i;
        if (d == k || shape.dim[i] != dist->shape.dim[d])
            continue;
        offset[i] = lo[d];
        shape.dim[i] = hi[d] - lo[d];
    }
    return wfl_array_part(x, &shape, offset);
}

bool wfl_operand_fits(const char *function, const wf_array *x, const wf_array *c)
{
    wf_context *ctx = wf_array_context(c);
    if (wf_array_dist(x))
        return wfl_distributed_together(ctx, function, c, x);
    if (wf_is_taped(x))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: tapes do not know distributed arrays", function);
    return !wf_is_taped(x);
}

bool wfl_operand_fetch(wfl_operand *o, const char *function, const wf_array *x, const wf_array *c, const wf_dist *dist,
                       int k)
{
    const wf_shape shape = wf_array_shape(x);
    if (!wf_array_dist(x)) {
        o->view = part_of_ordinary(x, c, dist, k);
        return true;
    }
    wf_dist parts;
    wf_axes repeated;
    if (shape.rank == WF_MAX_RANK && dist->grid[k] > 1) {
        wfl_array_fail(
            wf_array_context(x), WF_ERR_UNSUPPORTED,
            "%s: the operands have %d axes, and ranks divide axis %d of the result, so that there is no axis "
            "left for what several ranks need (wf_array_redistribute)",
            function, WF_MAX_RANK, k);
        return false;
    }
    const int inserted = find_parts(&shape, dist, k, &parts, &repeated);
    o->owner = !repeated && wfl_same_dist(&parts, wf_array_dist(x))
                   ? wf_retain(x)
                   : fetch_parts(function, x, &parts, k, inserted, repeated);
    o->part = inserted ? k : -1;
    return o->owner != NULL;
}

void wfl_operand_begin(wfl_operand *o)
{
    if (!o->owner)
        return;
    o->block = wf_array_block(o->owner);
    o->view = !o->block ? NULL : o->part >= 0 ? wf_view_at(o->block, o->part, 0) : wf_retain(o->block);
    o->began = true;
}

bool wfl_operand_end(wfl_operand *o)
{
    wf_release(o->view);
    const bool ended = !o->began || wf_array_block_end(o->owner, o->block) == WF_OK;
    wf_release(o->owner);
    return ended;
}
