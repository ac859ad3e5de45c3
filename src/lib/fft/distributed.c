/* distributed.c - transforms of distributed arrays.
 *
 * Axes are transformed in the order of one process. Ranks transform those axes of their blocks that they have whole, as one
 * transform of several axes. Then the array is cut in another way (wf_array_redistribute), such that the next axis is whole,
 * and so on. The way of an axis depends on the whole array (wfl_plan.whole), so ranks compute the bits of one process.
 *
 * Ranks agree after each step that can fail on one of them, so that all of them go on or none.
 */
#include "transform.h"
#include "weft/distributed.h"
#include "weft/kernel.h"
#include "weft/stream.h"

typedef struct job {
    const wfl_whole *w;
    wfl_plan plan; /* of the blocks */
    wf_ranks *ranks;
    int order[WF_MAX_RANK], n; /* axes, in the order in which they are transformed */
    const wf_array *x;
    wf_array *y;
} job;

wf_status wfl_ranks_agree(const wfl_plan *p, const wf_array *of, wf_status status)
{
    wf_ranks_error e;
    const wf_status all =
        wf_ranks_agree(wf_array_ranks(of), status, status == WF_OK ? "" : wf_last_message(p->ctx), &e);
    if (all != WF_OK && status == WF_OK)
        wfl_array_fail(p->ctx, all, "%s: rank %d: %s", p->function, (int)e.rank, e.text);
    return all;
}

bool wfl_distributed_together(const wfl_plan *p, const wf_array *y, const wf_array *x)
{
    wf_context *ctx = p->ctx;
    if (!wf_array_dist(x) || !wf_array_dist(y))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: one array is distributed, the other is not", p->function);
    else if (wf_array_ranks(x) != wf_array_ranks(y))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: the arrays belong to two groups of ranks", p->function);
    else if (wf_get_stream(ctx, WF_CPU) || wf_is_freezing(ctx))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: %s do not know distributed arrays", p->function,
                       wf_is_freezing(ctx) ? "frozen sequences" : "streams");
    else
        return true;
    return false;
}

/* True if no rank shares an axis with another one. */
static bool is_whole(const wf_dist *dist, int axis)
{
    return dist->grid[axis] == 1 || dist->unit[axis] >= dist->shape.dim[axis];
}

/* The same ranks along each axis, for another shape. Axes that are whole stay so. */
static wf_dist resized(const wf_dist *dist, const wf_shape *shape)
{
    wf_dist out = *dist;
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] != dist->shape.dim[d])
            out.unit[d] = is_whole(dist, d) ? shape->dim[d] : 1;
    out.shape = *shape;
    return out;
}

static bool same_dist(const wf_dist *a, const wf_dist *b)
{
    bool same = wfl_same_shape(&a->shape, &b->shape);
    for (int d = 0; same && d < a->shape.rank; ++d)
        same = a->grid[d] == b->grid[d] && a->unit[d] == b->unit[d];
    return same;
}

wf_array *wfl_distributed_beside(const wf_array *x, wf_dtype dtype, const wf_shape *shape)
{
    const wf_dist dist = resized(wf_array_dist(x), shape);
    return wf_empty_distributed(wf_array_context(x), dtype, wf_array_ranks(x), &dist);
}

bool wfl_undivided(const wfl_plan *p, const wf_array *x)
{
    if (!wf_array_dist(x))
        return true;
    wfl_array_fail(p->ctx, WF_ERR_UNSUPPORTED, "%s: the array is distributed; wf_array_collect has all its elements",
                   p->function);
    return false;
}

/* ---- how an array is cut for the next axes ---- */
typedef struct choice {
    const job *j;
    const wf_dist *from;
    int first; /* step */
    wf_dist dist, best;
    double cost, moved; /* of the best one */
} choice;

/* Number of steps, from one on, whose axes are whole. */
static int steps_within(const job *j, const wf_dist *dist, int first)
{
    int n = 0;
    while (first + n < j->n && is_whole(dist, j->order[first + n]))
        ++n;
    return n;
}

/* Elements that change their rank. */
static double moved(const wf_dist *from, const wf_dist *to)
{
    double all = 1, stay = 0;
    for (int d = 0; d < to->shape.rank; ++d)
        all *= (double)to->shape.dim[d];
    for (int r = 0; r < to->ranks; ++r) {
        int64_t lo[2][WF_MAX_RANK], hi[2][WF_MAX_RANK];
        double both = 1;
        wf_dist_range(from, r, lo[0], hi[0]);
        wf_dist_range(to, r, lo[1], hi[1]);
        for (int d = 0; d < to->shape.rank; ++d) {
            int64_t a = lo[0][d] > lo[1][d] ? lo[0][d] : lo[1][d], b = hi[0][d] < hi[1][d] ? hi[0][d] : hi[1][d];
            both *= b > a ? (double)(b - a) : 0;
        }
        stay += both;
    }
    return all - stay;
}

/* Keeps the distribution if it costs less than the best one: passes over the largest block and exchanges of its elements,
 * for each axis that is transformed so. */
static void consider(choice *c)
{
    const double pass = 1, exchange = 2;
    const job *j = c->j;
    const int steps = steps_within(j, &c->dist, c->first);
    double block = 1;
    for (int d = 0; d < c->dist.shape.rank; ++d)
        block *= (double)((c->dist.shape.dim[d] + c->dist.grid[d] - 1) / c->dist.grid[d]);
    const wf_shape last = wf_array_shape(j->y);
    const wf_dist result = resized(&c->dist, &last);
    const bool stays = c->first + steps == j->n && same_dist(&result, wf_array_dist(j->y));
    const double cost = block * (pass * steps + (stays ? 0 : exchange)) / steps;
    if (c->cost >= 0 && cost > c->cost)
        return;
    const double elements = moved(c->from, &c->dist);
    if (c->cost >= 0 && cost == c->cost && elements >= c->moved)
        return;
    c->best = c->dist;
    c->cost = cost;
    c->moved = elements;
}

/* Considers all grids with so many ranks along the axes from `axis` on. */
static void consider_grids(choice *c, int axis, int ranks)
{
    const int rank = c->dist.shape.rank;
    if (axis == rank) {
        if (ranks == 1)
            consider(c);
        return;
    }
    for (int g = axis == c->j->order[c->first] ? 1 : ranks; g > 0; --g)
        if (ranks % g == 0) {
            c->dist.grid[axis] = g;
            consider_grids(c, axis + 1, ranks / g);
        }
}

/* The distribution for a step. Lines of an array without other axes are the first rank's. */
static wf_dist choose(const job *j, const wf_dist *from, int step)
{
    choice c = { .j = j, .from = from, .first = step, .dist = *from, .cost = -1 };
    for (int d = 0; d < from->shape.rank; ++d)
        c.dist.unit[d] = 1;
    if (from->shape.rank == 1) {
        c.dist.unit[0] = from->shape.dim[0];
        return c.dist;
    }
    consider_grids(&c, 0, from->ranks);
    return c.best;
}

wf_array *wfl_distributed_whole(const wf_array *x, wf_dtype dtype, const wf_shape *shape, int axis)
{
    const job j = { .order = { axis }, .n = 1, .y = (wf_array *)x };
    wf_dist dist = resized(wf_array_dist(x), shape);
    if (!is_whole(&dist, axis))
        dist = choose(&j, &dist, 0);
    return wf_empty_distributed(wf_array_context(x), dtype, wf_array_ranks(x), &dist);
}

/* ---- steps ---- */
/* Replaces the array by a copy that is cut in another way. */
static wf_status move(const job *j, wf_array **array, const wf_dist *dist)
{
    wf_array *to = wf_empty_distributed(j->plan.ctx, wf_array_dtype(*array), j->ranks, dist);
    if (!to)
        return wfl_array_error(j->plan.ctx);
    wf_status status = wf_array_redistribute(to, *array);
    wf_release(*array);
    *array = to;
    return status;
}

/* Transforms views of blocks, which may have gaps. */
static wf_status transform_block(const wfl_whole *part, wf_array *y, wf_array *x)
{
    wf_shape shape = wf_array_shape(y);
    bool direct = wf_array_is_packed(y);
    wf_array *from = wf_array_contiguous(x);
    wf_array *to = direct ? wf_retain(y) : wfl_new_beside(y, wf_array_dtype(y), shape);
    wf_status status = from && to ? wfl_run_whole(part, to, from) : wfl_array_error(part->plan->ctx);
    if (status == WF_OK && !direct)
        status = wf_array_assign(y, to);
    wf_release(from);
    wf_release(to);
    return status;
}

/* Transforms `count` axes, from a step on, of blocks in which they are whole. */
static wf_status transform_blocks(const job *j, wf_array *y, wf_array *x, int first, int count)
{
    const bool is_first = first == 0, is_last = first + count == j->n, to_real = j->w->kind == WFL_FFT_C2R;
    wfl_whole part = { &j->plan, WFL_FFT_C2C, 0, is_last ? j->w->scale : 1 };
    if (to_real ? is_last : is_first)
        part.kind = j->w->kind;
    for (int k = first; k < first + count; ++k)
        part.axes |= (wf_axes)1 << j->order[k];
    wf_array *from = wf_array_block(x), *to = x == y ? from : wf_array_block(y);
    wf_status status = from && to ? WF_OK : wfl_array_error(j->plan.ctx);
    if (status == WF_OK && wf_array_count(from))
        status = transform_block(&part, to, from);
    wf_status ended = x == y ? WF_OK : wf_array_block_end(y, to);
    status = status == WF_OK ? ended : status;
    ended = wf_array_block_end(x, from);
    return wfl_ranks_agree(&j->plan, y, status == WF_OK ? ended : status);
}

/* Does as many steps as the array is whole for, and replaces the array by their result. Returns their number; 0: failure. */
static int do_steps(const job *j, wf_array **array, int first, wf_status *status)
{
    const wf_dist *dist = wf_array_dist(*array);
    const int count = steps_within(j, dist, first);
    const bool is_last = first + count == j->n;
    const wf_dtype dtype =
        is_last || j->w->kind != WFL_FFT_C2R ? wf_array_dtype(j->y) : wfl_complex_dtype(j->plan.part);
    const wf_shape shape = j->w->kind == WFL_FFT_C2R && !is_last ? wf_array_shape(j->x) : wf_array_shape(j->y);
    const wf_dist to_dist = resized(dist, &shape);
    wf_array *to = is_last && same_dist(&to_dist, wf_array_dist(j->y)) ? wf_retain(j->y)
                   : *array != j->x && wf_array_dtype(*array) == dtype && wfl_same_shape(&dist->shape, &shape)
                       ? wf_retain(*array)
                       : wf_empty_distributed(j->plan.ctx, dtype, j->ranks, &to_dist);
    *status = to ? transform_blocks(j, to, *array, first, count) : wfl_array_error(j->plan.ctx);
    if (to) {
        wf_release(*array);
        *array = to;
    }
    return *status == WF_OK ? count : 0;
}

static void set_order(job *j)
{
    const int last = wfl_last_of(j->w->axes);
    const bool to_real = j->w->kind == WFL_FFT_C2R;
    for (int d = last - to_real; d >= 0; --d)
        if (j->w->axes >> d & 1)
            j->order[j->n++] = d;
    if (to_real)
        j->order[j->n++] = last;
}

wf_status wfl_run_distributed(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    job j = { .w = w, .plan = *w->plan, .ranks = wf_array_ranks(y), .x = x, .y = y };
    if (!wfl_distributed_together(&j.plan, y, x))
        return wfl_array_error(j.plan.ctx);
    j.plan.whole = wf_array_shape(w->kind == WFL_FFT_R2C ? y : x);
    set_order(&j);
    wf_array *array = wf_retain(x);
    wf_status status = WF_OK;
    for (int step = 0; step < j.n && status == WF_OK;) {
        if (!steps_within(&j, wf_array_dist(array), step)) {
            const wf_dist dist = choose(&j, wf_array_dist(array), step);
            status = move(&j, &array, &dist);
        }
        if (status == WF_OK)
            step += do_steps(&j, &array, step, &status);
    }
    if (status == WF_OK && array != y)
        status = wf_array_redistribute(y, array);
    wf_release(array);
    return status;
}
