/* lines.c - see lines.h. Ranks agree after each step that can fail on one of them, so that all of them go on or none. */
#include "lines.h"
#include "weft/derivative.h"

bool wfl_distributed_together(wf_context *ctx, const char *function, const wf_array *y, const wf_array *x)
{
    if (!wf_array_dist(x) || !wf_array_dist(y))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: one array is distributed, the other is not", function);
    else if (wf_array_ranks(x) != wf_array_ranks(y))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: the arrays belong to two groups of ranks", function);
    else if (wf_get_stream(ctx, WF_CPU) || wf_is_freezing(ctx))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: %s do not know distributed arrays", function,
                       wf_is_freezing(ctx) ? "frozen sequences" : "streams");
    else if (wf_is_taped(x) || wf_is_taped(y))
        wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: tapes do not know distributed arrays", function);
    else
        return true;
    return false;
}

bool wfl_same_dist(const wf_dist *a, const wf_dist *b)
{
    bool same = wfl_same_shape(&a->shape, &b->shape);
    for (int d = 0; same && d < a->shape.rank; ++d)
        same = a->grid[d] == b->grid[d] && (a->grid[d] == 1 || a->unit[d] == b->unit[d]);
    return same;
}

/* ---- how an array is cut for the next steps ---- */
typedef struct choice {
    const wfl_lines *l;
    const wf_array *y;
    const wf_dist *from;
    int first; /* step */
    wf_dist dist, best;
    double cost, moved; /* of the best one */
} choice;

static bool is_whole(const wf_dist *dist, wf_axes axes)
{
    bool whole = true;
    for (int d = 0; d < dist->shape.rank; ++d)
        whole = whole && !(axes >> d & 1 && wf_dist_divides(dist, d));
    return whole;
}

/* Number of steps, from one on, whose axes are whole. */
static int steps_within(const wfl_lines *l, const wf_dist *dist, int first)
{
    int n = 0;
    while (first + n < l->steps && is_whole(dist, l->axes[first + n]))
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
 * for each step that is run so. */
static void consider(choice *c)
{
    const double pass = 1, exchange = 2;
    const int steps = steps_within(c->l, &c->dist, c->first);
    double block = 1;
    for (int d = 0; d < c->dist.shape.rank; ++d)
        block *= (double)((c->dist.shape.dim[d] + c->dist.grid[d] - 1) / c->dist.grid[d]);
    const wf_shape last = wf_array_shape(c->y);
    const wf_dist result = wf_dist_resize(&c->dist, &last);
    const bool stays = c->first + steps == c->l->steps && wfl_same_dist(&result, wf_array_dist(c->y));
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
    for (int g = c->l->axes[c->first] >> axis & 1 ? 1 : ranks; g > 0; --g)
        if (ranks % g == 0) {
            c->dist.grid[axis] = g;
            consider_grids(c, axis + 1, ranks / g);
        }
}

/* The distribution for a step. If there are no other axes than the step's, the first rank has all elements. */
static wf_dist choose(const wfl_lines *l, const wf_array *y, const wf_dist *from, int step)
{
    choice c = { .l = l, .y = y, .from = from, .first = step, .dist = *from, .cost = -1 };
    bool others = false;
    for (int d = 0; d < from->shape.rank; ++d)
        others = others || !(l->axes[step] >> d & 1);
    for (int d = 0; d < from->shape.rank; ++d)
        c.dist.unit[d] = others || from->shape.dim[d] < 1 ? 1 : from->shape.dim[d];
    if (!others)
        return c.dist;
    consider_grids(&c, 0, from->ranks);
    return c.best;
}

wf_dist wfl_dist_whole(const wf_array *x, const wf_shape *shape, wf_axes axes)
{
    const wfl_lines l = { .steps = 1, .axes = { axes } };
    const wf_dist dist = wf_dist_resize(wf_array_dist(x), shape);
    return is_whole(&dist, axes) ? dist : choose(&l, x, &dist, 0);
}

wf_array *wfl_distributed_whole(const wf_array *x, wf_dtype dtype, const wf_shape *shape, wf_axes axes)
{
    const wf_dist dist = wfl_dist_whole(x, shape, axes);
    return wf_empty_distributed(wf_array_context(x), dtype, wf_array_ranks(x), &dist);
}

wf_array *wfl_cut_as(const wf_array *array, const wf_array *as)
{
    if (wf_array_dist(array) && wfl_same_dist(wf_array_dist(array), wf_array_dist(as)))
        return wf_retain(array);
    wf_array *copy =
        wf_empty_distributed(wf_array_context(as), wf_array_dtype(array), wf_array_ranks(as), wf_array_dist(as));
    if (!copy || wf_array_assign(copy, array) == WF_OK)
        return copy;
    wf_release(copy);
    return NULL;
}

/* ---- steps ---- */
/* Replaces the array by a copy that is cut in another way. */
static wf_status move(const wfl_lines *l, wf_array **array, const wf_dist *dist)
{
    wf_array *to = wf_empty_distributed(l->ctx, wf_array_dtype(*array), wf_array_ranks(*array), dist);
    if (!to)
        return wfl_array_error(l->ctx);
    wf_status status = wf_array_redistribute(to, *array);
    wf_release(*array);
    *array = to;
    return status;
}

/* Runs steps of blocks, which may have gaps. */
static wf_status run_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    const wf_shape shape = wf_array_shape(y);
    const bool direct = wf_array_is_packed(y);
    wf_array *from = wf_array_contiguous(x);
    wf_array *to = direct ? wf_retain(y) : x == y ? wf_retain(from) : wfl_array_beside(y, wf_array_dtype(y), &shape);
    wf_status status = from && to ? l->run(l, to, from, first, count) : wfl_array_error(l->ctx);
    if (status == WF_OK && !direct)
        status = wf_array_assign(y, to);
    wf_release(from);
    wf_release(to);
    return status;
}

/* Runs `count` steps, from one on, of the blocks of x, in which the axes are whole. */
static wf_status run_blocks(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    wf_array *from = wf_array_block(x), *to = x == y ? from : wf_array_block(y);
    wf_status status = from && to ? WF_OK : wfl_array_error(l->ctx);
    if (status == WF_OK && wf_array_count(to))
        status = run_block(l, to, from, first, count);
    wf_status ended = x == y || !to ? WF_OK : wf_array_block_end(y, to);
    status = status == WF_OK ? ended : status;
    ended = from ? wf_array_block_end(x, from) : WF_OK;
    return wfl_ranks_agree(l->ctx, l->function, y, status == WF_OK ? ended : status);
}

/* Runs the next steps whose axes ranks do not divide, and replaces the array by their result, which may be y or memory that is
 * not x. Returns their number; 0: failure. */
static int do_steps(const wfl_lines *l, wf_array *y, const wf_array *x, wf_array **array, int first, wf_status *status)
{
    const wf_dist *dist = wf_array_dist(*array);
    const int count = steps_within(l, dist, first);
    const bool is_last = first + count == l->steps;
    wf_dtype dtype = wf_array_dtype(y);
    wf_shape shape = wf_array_shape(y);
    if (!is_last && l->between)
        l->between(l, first + count, &dtype, &shape);
    const wf_dist to_dist = wf_dist_resize(dist, &shape);
    wf_array *to = is_last && wfl_same_dist(&to_dist, wf_array_dist(y)) ? wf_retain(y)
                   : *array != x && wf_array_dtype(*array) == dtype && wfl_same_shape(&dist->shape, &shape)
                       ? wf_retain(*array)
                       : wf_empty_distributed(l->ctx, dtype, wf_array_ranks(y), &to_dist);
    *status = to ? run_blocks(l, to, *array, first, count) : wfl_array_error(l->ctx);
    if (to) {
        wf_release(*array);
        *array = to;
    }
    return *status == WF_OK ? count : 0;
}

wf_status wfl_lines_put(const wfl_lines *l, wf_array *y, wf_array *result)
{
    wf_status status = result ? wf_array_assign(y, result) : wfl_array_error(l->ctx);
    wf_release(result);
    return status;
}

wf_status wfl_lines_run(const wfl_lines *l, wf_array *y, const wf_array *x)
{
    if (!wfl_distributed_together(l->ctx, l->function, y, x))
        return wfl_array_error(l->ctx);
    wf_array *array = wf_retain(x);
    wf_status status = WF_OK;
    for (int step = 0; step < l->steps && status == WF_OK;) {
        if (!steps_within(l, wf_array_dist(array), step)) {
            const wf_dist dist = choose(l, y, wf_array_dist(array), step);
            status = move(l, &array, &dist);
        }
        if (status == WF_OK)
            step += do_steps(l, y, x, &array, step, &status);
    }
    if (status == WF_OK && array != y)
        status = wf_array_redistribute(y, array);
    wf_release(array);
    return status;
}

wf_array *wfl_lines_new(const wfl_lines *l, wf_dtype dtype, const wf_shape *shape, const wf_array *x)
{
    wf_array *y = wfl_result_beside(x, dtype, shape);
    if (!y || wfl_lines_run(l, y, x) == WF_OK)
        return y;
    wf_release(y);
    return NULL;
}
