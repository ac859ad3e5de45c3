/* distributed_cases.c - see distributed_cases.h. */
#include "distributed_cases.h"
#include "object/object.h"
#include "run/engine.h"
#include "weft/functions.h"
#include "weft/signal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a world ---- */
static bool failed(distributed_world *w)
{
    if (w->status == WF_OK && wf_last_status(w->ctx) != WF_OK) {
        w->status = wf_last_status(w->ctx);
        snprintf(w->text, sizeof w->text, "%s", wf_last_message(w->ctx));
    }
    return w->status != WF_OK;
}

static void run(distributed_world *w, wf_graph *g)
{
    wf_run(g);
    failed(w);
}

static wf_dist dist_of(distributed_world *w, wf_shape shape)
{
    wf_dist dist = { .shape = shape };
    wf_dist_options options = { .size = sizeof options };
    int ranks = wf_ranks_size(w->ranks), last = shape.rank - 1, cut = w->run->cut;
    for (int d = 0; d < shape.rank; ++d)
        options.grid[d] = cut == 1 && d == 0 ? ranks : cut == 2 && d == last ? ranks : cut == 1 || cut == 2 ? 1 : 0;
    if (cut == 3 && shape.rank > 1 && ranks % 2 == 0)
        options.grid[last] = 2;
    if (wf_dist_make(&shape, ranks, &options, &dist) != WF_OK)
        wf_dist_make(&shape, ranks, NULL, &dist);
    return dist;
}

static wf_array *empty(distributed_world *w, wf_dtype dtype, wf_shape shape)
{
    if (!w->ranks)
        return wf_empty(w->ctx, dtype, shape);
    wf_dist dist = dist_of(w, shape);
    return wf_empty_distributed(w->ctx, dtype, w->ranks, &dist);
}

/* One element that each rank has, as an array of this rank. */
static wf_array *single(distributed_world *w, wf_dtype dtype, int rank)
{
    wf_shape shape = { .rank = rank };
    for (int d = 0; d < rank; ++d)
        shape.dim[d] = 1;
    return wf_full(w->ctx, dtype, shape, 0);
}

/* An array whose elements are the same for each world; not distributed. */
static wf_array *whole(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty(w->ctx, dtype, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val at = wf_cast(0, WF_I64);
    for (int d = 0; d < shape.rank; ++d)
        at = wf_add(wf_mul(at, wf_extent(g, d)), wf_index(g, d));
    wf_val x = wf_mod(wf_add(wf_mul(at, 7919), 104729 * (double)seed), 65521);
    x = wf_mod(wf_mul(x, x), 65521);
    wf_out(g, a, dtype == WF_I32 ? wf_sub(x, 30000) : wf_sub(wf_div(wf_cast(x, WF_F64), 4999), 6.3));
    run(w, g);
    return a;
}

static wf_array *filled(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *from = whole(w, dtype, shape, seed), *to = empty(w, dtype, shape);
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, to, wf_in(g, from));
    run(w, g);
    wf_release(from);
    return to;
}

/* Notes or compares the contents of a result, and releases it. */
static void result(distributed_world *w, wf_array *a)
{
    int k = w->results++;
    wf_array *all = NULL;
    if (!failed(w))
        all = wf_array_dist(a) ? wf_array_collect(a) : wf_retain(a);
    wf_release(a);
    if (failed(w) || !all)
        return;
    size_t bytes = (size_t)wf_array_count(all) * wf_dtype_size(wf_array_dtype(all));
    void *data = malloc(bytes + 1);
    if (data && wf_download(all, data, bytes) == WF_OK) {
        if (!w->ranks) {
            w->run->want[k] = data;
            w->run->bytes[k] = bytes;
            data = NULL;
        } else if (bytes != w->run->bytes[k] || memcmp(data, w->run->want[k], bytes)) {
            size_t at = 0;
            while (at < bytes && ((char *)data)[at] == ((char *)w->run->want[k])[at])
                ++at;
            w->status = WF_ERR_CONTRACT;
            snprintf(w->text, sizeof w->text, "result %d differs at byte %zu of %zu", k, at, bytes);
        }
    }
    free(data);
    wf_release(all);
}

/* ---- cases ---- */
static void elements(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 37, 53 } },    { .rank = 1, .dim = { 1000 } },
                                       { .rank = 3, .dim = { 5, 1, 64 } },  { .rank = 2, .dim = { 3, 2 } },
                                       { .rank = 3, .dim = { 9, 10, 11 } }, { .rank = 2, .dim = { 0, 5 } },
                                       { .rank = 4, .dim = { 2, 3, 4, 5 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        wf_array *a = filled(w, WF_F32, shapes[i], 1), *b = filled(w, WF_F32, shapes[i], 2);
        wf_array *out = empty(w, WF_F32, shapes[i]);
        wf_graph *g = wf_begin(w->ctx);
        wf_out(g, out, wf_sqrt(wf_abs(wf_add(wf_mul(wf_in(g, a), wf_in(g, b)), wf_param(g, "p", WF_F32, 0.75)))));
        run(w, g);
        wf_release(a);
        wf_release(b);
        result(w, out);
    }
}

static void sums(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 300, 257 } },
                                       { .rank = 1, .dim = { 100001 } },
                                       { .rank = 3, .dim = { 40, 30, 50 } },
                                       { .rank = 2, .dim = { 5, 7000 } },
                                       { .rank = 2, .dim = { 7000, 5 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        wf_array *a = filled(w, WF_F32, shapes[i], 3);
        wf_array *out[3] = { single(w, WF_F32, shapes[i].rank), single(w, WF_F64, shapes[i].rank),
                             single(w, WF_F32, shapes[i].rank) };
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_in(g, a);
        wf_out(g, out[0], wf_sum(v, WF_ALL_AXES));
        wf_out(g, out[1], wf_sum(wf_mul(wf_cast(v, WF_F64), v), WF_ALL_AXES));
        wf_out(g, out[2], wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES));
        run(w, g);
        wf_release(a);
        for (int k = 0; k < 3; ++k)
            result(w, out[k]);
    }
}

static void stencil(distributed_world *w, wf_border border, wf_shape shape, int radius)
{
    wf_array *a = filled(w, WF_F32, shape, 4), *out = empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), sum = wf_cast(0, WF_F32);
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius + 1; ++dx)
            sum = wf_add(
                sum, wf_mul(wf_read_border(g, a, border, 0.5, wf_add(y, dy), wf_add(x, dx)), 1.0 / (3 + dx + 7 * dy)));
    wf_write(g, out, sum, y, x);
    run(w, g);
    wf_release(a);
    result(w, out);
}

static void borders(distributed_world *w)
{
    for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border) {
        stencil(w, (wf_border)border, WF_SHAPE(33, 47), 1);
        stencil(w, (wf_border)border, WF_SHAPE(6, 5), 2);
        stencil(w, (wf_border)border, WF_SHAPE(3, 40), 4);
        /* with periodic borders, ranks read copies of their own blocks */
        stencil(w, (wf_border)border, WF_SHAPE(3, 3), 3);
    }
}

/* A mean, the deviations from it, and a filter of these: temporaries are read with neighbours. */
static void program(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(61, 45);
    wf_array *a = filled(w, WF_F32, shape, 5), *out = empty(w, WF_F32, shape), *sum = single(w, WF_F32, 2);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a), flat = wf_sub(v, wf_div(wf_sum(v, WF_ALL_AXES), 61 * 45));
    wf_val root = wf_sqrt(wf_abs(wf_exp(wf_mul(flat, 0.1))));
    wf_out(g, out, root);
    wf_out(g, sum, wf_sum(root, WF_ALL_AXES));
    run(w, g);
    wf_array *inner = empty(w, WF_F32, WF_SHAPE(59, 43)), *total = single(w, WF_F64, 2);
    g = wf_begin(w->ctx);
    v = wf_in(g, out);
    flat = wf_sub(v, wf_div(wf_sum(v, WF_AXES(0)), 61));
    wf_val near = wf_cast(0, WF_F32);
    for (int k = 0; k < 9; ++k)
        near = wf_add(
            near, wf_mul(wf_slice(wf_slice(wf_exp(flat), 0, k / 3, k / 3 + 59, 1), 1, k % 3, k % 3 + 43, 1), k + 1));
    wf_out(g, inner, near);
    wf_out(g, total, wf_sum(wf_cast(near, WF_F64), WF_ALL_AXES));
    run(w, g);
    wf_release(a);
    result(w, out);
    result(w, sum);
    result(w, inner);
    result(w, total);
}

/* Steps of diffusion, of which each reads what the step before has written. */
static void steps(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(20, 21, 22);
    wf_array *a = filled(w, WF_F64, shape, 6), *b = empty(w, WF_F64, shape), *norm = single(w, WF_F64, 3);
    for (int step = 0; step < 4 && w->status == WF_OK; ++step) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val i[3] = { wf_index(g, 0), wf_index(g, 1), wf_index(g, 2) }, sum = wf_mul(wf_in(g, a), -6);
        for (int d = 0; d < 3; ++d)
            for (int side = -1; side <= 1; side += 2)
                sum =
                    wf_add(sum, wf_read_border(g, a, WF_BORDER_CLAMP, 0, d == 0 ? wf_add(i[0], side) : i[0],
                                               d == 1 ? wf_add(i[1], side) : i[1], d == 2 ? wf_add(i[2], side) : i[2]));
        wf_out(g, b, wf_add(wf_in(g, a), wf_mul(sum, 0.1)));
        run(w, g);
        wf_array *t = a;
        a = b;
        b = t;
    }
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, norm, wf_dot(wf_in(g, a), wf_in(g, b)));
    run(w, g);
    wf_release(b);
    result(w, a);
    result(w, norm);
}

/* Records of which each point reads a part, so that a rank may have no more of them. */
static void records(distributed_world *w)
{
    static const int parts[][3] = { { 0, 1, 2 }, { 0, 2, 2 }, { 1, 2, 4 }, { 4, 5, 6 } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        for (int length = parts[i][2] + 1; length <= parts[i][2] + 5; length++) {
            wf_array *a = filled(w, WF_F32, WF_SHAPE(64, length), 8), *out = empty(w, WF_F32, WF_SHAPE(64));
            wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(64));
            wf_val y = wf_index(g, 0), sum = wf_read(g, a, y, parts[i][0]);
            for (int k = 1; k < 3; ++k)
                sum = wf_add(wf_mul(sum, 0.75), wf_read(g, a, y, parts[i][k]));
            wf_out(g, out, sum);
            run(w, g);
            wf_release(a);
            result(w, out);
        }
}

static void axes(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 70, 90 } },
                                       { .rank = 3, .dim = { 12, 35, 20 } },
                                       { .rank = 2, .dim = { 2, 4000 } },
                                       { .rank = 2, .dim = { 4000, 2 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (wf_axes mask = 1; mask < (wf_axes)1 << shapes[i].rank; ++mask) {
            wf_shape kept = shapes[i];
            for (int d = 0; d < kept.rank; ++d)
                kept.dim[d] = mask >> d & 1 ? 1 : kept.dim[d];
            wf_array *a = filled(w, WF_F32, shapes[i], 7);
            wf_array *spread = empty(w, WF_F32, kept), *back = empty(w, WF_F32, shapes[i]);
            wf_graph *g = wf_begin(w->ctx);
            wf_val v = wf_in(g, a), sum = wf_sum(v, mask);
            wf_out(g, spread, sum);
            wf_out(g, back, wf_div(v, wf_add(wf_abs(sum), 1)));
            run(w, g);
            wf_release(a);
            result(w, spread);
            result(w, back);
        }
}

static void in_place(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(40, 31);
    wf_array *a = filled(w, WF_F32, shape, 8);
    for (int k = 0; k < 3; ++k) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val y = wf_index(g, 0), x = wf_index(g, 1);
        wf_out(g, a,
               wf_add(wf_read_border(g, a, WF_BORDER_MIRROR, 0, wf_sub(y, 2), x),
                      wf_mul(wf_read_border(g, a, WF_BORDER_CLAMP, 0, y, wf_add(x, 3)), 0.5)));
        run(w, g);
    }
    result(w, a);
}

static void other_indices(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(40, 60);
    wf_array *a = filled(w, WF_F32, shape, 9), *half = empty(w, WF_F32, WF_SHAPE(20, 30));
    wf_array *turned = empty(w, WF_F32, WF_SHAPE(60, 40)), *product = empty(w, WF_F64, WF_SHAPE(40, 40));
    wf_array *moved = empty(w, WF_F32, shape), *back = empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(20, 30));
    wf_val y = wf_mul(wf_index(g, 0), 2), x = wf_mul(wf_index(g, 1), 2);
    wf_out(g, half, wf_add(wf_read(g, a, y, x), wf_read(g, a, wf_add(y, 1), wf_add(x, 1))));
    run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(60, 40));
    wf_out(g, turned, wf_read(g, a, wf_index(g, 1), wf_index(g, 0)));
    run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(40, 40));
    wf_var sum = wf_local(g, WF_F64, 0);
    wf_val k;
    WF_FOR (g, k, 0, 60, 1) {
        wf_inc(sum, wf_mul(wf_cast(wf_read(g, a, wf_index(g, 0), k), WF_F64), wf_read(g, turned, k, wf_index(g, 1))));
        WF_END(g);
    }
    wf_out(g, product, wf_get(sum));
    run(w, g);
    wf_array *after = empty(w, WF_F32, shape);
    g = wf_begin(w->ctx, .shape = shape);
    wf_var step = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(wf_get(step), 5)) {
        wf_inc(step, 2);
        WF_END(g);
    }
    wf_out(g, after, wf_read_or(g, a, -1, wf_add(wf_index(g, 0), wf_get(step)), wf_index(g, 1)));
    run(w, g);
    g = wf_begin(w->ctx, .shape = shape);
    wf_val shift = wf_param(g, "shift", WF_I32, 3);
    wf_out(g, moved, wf_read_or(g, a, -1, wf_add(wf_index(g, 0), shift), wf_sub(wf_index(g, 1), shift)));
    run(w, g);
    g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, back, wf_read(g, a, wf_sub(39, wf_index(g, 0)), wf_idiv(wf_index(g, 1), 2)));
    run(w, g);
    wf_release(a);
    result(w, half);
    result(w, turned);
    result(w, product);
    result(w, moved);
    result(w, after);
    result(w, back);
}

/* ---- random recordings ---- */
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
    run(w, g);
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
    run(w, g);
}

static void random_case(distributed_world *w)
{
    uint64_t state = w->run->seed;
    wf_shape shape = random_shape(&state);
    wf_array *a[3], *total = single(w, WF_F32, shape.rank);
    for (int k = 0; k < 3; ++k)
        a[k] = filled(w, WF_F32, shape, w->run->seed + (uint64_t)k);
    for (int64_t k = 1 + below(&state, 3); k > 0 && w->status == WF_OK; --k)
        if (below(&state, 2))
            random_space(w, a, shape, &state);
        else
            random_graph(w, a, total, shape, &state);
    for (int k = 0; k < 3; ++k)
        result(w, a[k]);
    result(w, total);
}
const distributed_case distributed_random = { "random", random_case };

/* Kernels whose numbers change from launch to launch: those that indices depend on, and others. */
static void numbers(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(48, 20);
    wf_array *a = filled(w, WF_F32, shape, 10), *out = empty(w, WF_F32, shape), *gathered = empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_add(wf_index(g, 0), wf_param(g, "move", WF_I64, 0));
    wf_out(g, out, wf_mul(wf_read_or(g, a, -1, y, wf_index(g, 1)), wf_param(g, "scale", WF_F32, 1)));
    wf_kernel *by_index = wf_compile(g);
    g = wf_begin(w->ctx);
    wf_val row = wf_min(wf_max(wf_add(wf_iota(g, shape, 0), wf_param(g, "move", WF_I64, 0)), 0), 47);
    wf_out(g, gathered, wf_gather(wf_mul(wf_in(g, a), 2), row, wf_iota(g, shape, 1)));
    wf_kernel *by_gather = wf_compile(g);
    for (int k = 0; k < 4 && w->status == WF_OK; ++k) {
        int move = k * k - 4, scale = k;
        wf_launch(by_index, WF_NAMED(move, scale));
        move = 5 * k - 7;
        wf_launch(by_gather, WF_NAMED(move));
        failed(w);
        result(w, wf_retain(out));
        result(w, wf_retain(gathered));
    }
    wf_kernel_free(by_index);
    wf_kernel_free(by_gather);
    wf_release(a);
    wf_release(out);
    wf_release(gathered);
}

/* Arrays that each rank has, and that ranks accumulate into: integers, extremes and bits, once and again. */
static void tallies(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(57, 64);
    wf_array *a = filled(w, WF_F32, shape, 21), *total = wf_full(w->ctx, WF_F64, WF_SHAPE(1, 1), 0);
    wf_array *counts = wf_full(w->ctx, WF_U32, WF_SHAPE(10), 3), *most = wf_full(w->ctx, WF_F32, WF_SHAPE(64), -1),
             *seen = wf_full(w->ctx, WF_BOOL, WF_SHAPE(5, 7), 0), *large = wf_full(w->ctx, WF_I16, WF_SHAPE(70000), 1);
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val v = wf_in(g, a), y = wf_index(g, 0), x = wf_index(g, 1);
        wf_val bin = wf_clamp(wf_cast(wf_floor(wf_mul(v, 0.5)), WF_I64), 0, 9);
        wf_accumulate(g, WF_JOIN_ADD, counts, 1, bin);
        wf_accumulate(g, WF_JOIN_MAX, most, v, x);
        wf_accumulate(g, WF_JOIN_OR, seen, wf_gt(v, 5), wf_mod(y, 5), wf_mod(x, 7));
        wf_accumulate(g, WF_JOIN_ADD, large, wf_cast(y, WF_I16), wf_add(wf_mul(y, 1100), x));
        run(w, g);
        g = wf_begin(w->ctx, .shape = shape, .reduce = WF_ALL_AXES); /* a reduction joins, too */
        wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
        v = wf_in(g, a);
        wf_inc(sum, wf_cast(v, WF_F64));
        wf_accumulate(g, WF_JOIN_ADD, counts, 2, wf_clamp(wf_cast(wf_mul(v, v), WF_I64), 0, 9));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, total, sum);
        run(w, g);
    }
    wf_shape large_shape = WF_SHAPE(24, 64, 41); /* boxes and private copies, along axes that are one loop */
    wf_array *b = filled(w, WF_F32, large_shape, 22);
    wf_graph *g = wf_begin(w->ctx, .shape = large_shape);
    wf_accumulate(g, WF_JOIN_ADD, counts, 1, wf_clamp(wf_cast(wf_in(g, b), WF_I64), 0, 9));
    run(w, g);
    wf_release(b);
    result(w, counts);
    result(w, most);
    result(w, seen);
    result(w, large);
    result(w, total);
    result(w, wf_array_histogram(a, 16, -7, 9));
    const char *want[] = { "h" };
    wf_array *made[1] = { NULL };
    wf_text_create(w->ctx, "global i32 h[20] = 0; h[clamp(i64(a) + 10, 0, 19)]++", WF_NAMED(a), 0, want, 1, made);
    failed(w);
    result(w, made[0]);
    wf_release(a);
}

/* Fails unless the array is distributed in each world of ranks. */
static wf_array *divided(distributed_world *w, wf_array *a)
{
    if (a && w->ranks && !wf_array_dist(a) && w->status == WF_OK) {
        w->status = WF_ERR_CONTRACT;
        snprintf(w->text, sizeof w->text, "result %d is not distributed", w->results);
    }
    return a;
}

/* Values that recordings keep: of the shape of a distributed array, of another one, and reduced ones. */
static void kept(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(41, 30);
    wf_array *a = filled(w, WF_F32, shape, 11);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a), mean = wf_div(wf_sum(v, WF_ALL_AXES), 41 * 30);
    wf_array *n = wf_keep(wf_sub(v, mean)), *sum = wf_keep(wf_sum(wf_mul(v, v), WF_ALL_AXES));
    run(w, g);
    for (int k = 0; k < 3 && w->status == WF_OK; ++k) { /* lazy arrays that other recordings read */
        g = wf_begin(w->ctx);
        wf_val y = wf_min(wf_add(wf_iota(g, shape, 0), (double)(k + 1)), 40), x = wf_iota(g, shape, 1);
        wf_array *moved = wf_keep(wf_read(g, n, y, x));
        wf_graph *next = wf_begin(w->ctx);
        wf_array *twice = divided(w, wf_keep(wf_mul(wf_in(next, moved), wf_cast(2, WF_F64))));
        run(w, next);
        run(w, g);
        result(w, divided(w, moved));
        result(w, twice);
    }
    g = wf_begin(w->ctx);
    const wf_shape small = WF_SHAPE(20, 15);
    wf_val y = wf_mul(wf_iota(g, small, 0), 2), x = wf_mul(wf_iota(g, small, 1), 2);
    wf_array *binned = wf_keep(wf_add(wf_read(g, n, y, x), wf_read(g, n, wf_add(y, 1), x)));
    wf_array *columns = wf_keep(wf_sum(wf_in(g, n), WF_AXES(0)));
    run(w, g);
    result(w, divided(w, binned));
    result(w, columns);
    result(w, n);
    result(w, sum);
    wf_release(a);
}

/* Text and functions of arrays, which make their results. */
static void functions(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(33, 64);
    wf_array *a = filled(w, WF_F32, shape, 12), *made[2] = { NULL };
    const char *want[] = { "out", "s" };
    wf_text_create(w->ctx,
                   "n = (a - mean(a)) / std(a); out = (n[y, x-1; clamp] + 2*n + n[y-1, x; mirror]) / 4; s = sum(out)",
                   WF_NAMED(a), 0, want, 2, made);
    failed(w);
    result(w, divided(w, made[0]));
    result(w, made[1]);
    result(w, divided(w, wf_array_copy(a)));
    result(w, divided(w, wf_array_cast(a, WF_I32)));
    result(w, divided(w, wf_gaussian_filter(a, (double[]){ 1.5, 0.75 }, WF_AXES(0, 1), WF_BORDER_CLAMP, 0)));
    result(w, divided(w, wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES)));
    result(w, divided(w, wf_array_resize(a, (int64_t[]){ 2, -3 }, (int64_t[]){ 1, 4 }, WF_BORDER_REFLECT, 0)));
    result(w, wf_array_max(a, WF_ALL_AXES));
    wf_array *like = divided(w, wf_like(a));
    wf_array_fill(like, 0.5);
    result(w, like);
    wf_release(a);
}

/* ---- scans ---- */
static const wf_shape scanned[] = { { .rank = 1, .dim = { 100003 } },       { .rank = 1, .dim = { 29 } },
                                    { .rank = 2, .dim = { 700, 37 } },      { .rank = 2, .dim = { 3, 20011 } },
                                    { .rank = 3, .dim = { 40, 30, 50 } },   { .rank = 3, .dim = { 1500, 1, 1 } },
                                    { .rank = 3, .dim = { 2, 900, 2 } },    { .rank = 2, .dim = { 0, 5 } },
                                    { .rank = 4, .dim = { 2, 3, 70, 16 } }, { .rank = 2, .dim = { 9000, 2 } },
                                    { .rank = 1, .dim = { 1 << 16 } } };

/* One scan of a whole array, along each axis. */
static void scans(distributed_world *w)
{
    static const struct {
        wf_dtype dtype;
        wf_join join;
        bool exclusive, reversed;
    } ways[] = { { WF_F32, WF_JOIN_ADD, false, false },
                 { WF_F32, WF_JOIN_ADD, true, true },
                 { WF_F64, WF_JOIN_MAX, true, false },
                 { WF_I32, WF_JOIN_MUL, false, true } };
    for (size_t i = 0; i < sizeof scanned / sizeof *scanned; ++i)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
            wf_array *a = filled(w, ways[k].dtype, scanned[i], 21);
            for (int axis = 0; axis < scanned[i].rank; ++axis) {
                wf_array *out = empty(w, ways[k].dtype, scanned[i]);
                wf_graph *g = wf_begin(w->ctx);
                wf_out(g, out, wf_scan(ways[k].join, wf_in(g, a), axis, ways[k].exclusive, ways[k].reversed));
                run(w, g);
                result(w, out);
            }
            wf_release(a);
        }
}

/* Scans in place, of values, of arrays that each rank has, of scans; results with neighbours, and in several launches. */
static void scans_within(distributed_world *w)
{
    for (size_t i = 0; i < sizeof scanned / sizeof *scanned; ++i) {
        wf_shape shape = scanned[i];
        int last = shape.rank - 1;
        int64_t n = shape.dim[0];
        wf_array *a = filled(w, WF_F32, shape, 22), *b = empty(w, WF_F32, shape), *c = empty(w, WF_F32, shape);
        wf_array *own = whole(w, WF_F32, shape, 23), *near = empty(w, WF_F32, shape),
                 *sum = single(w, WF_F32, shape.rank);
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 0.5), 0, false, false);
        wf_out(g, b, wf_add(v, wf_in(g, a)));
        wf_out(
            g, c,
            wf_scan(WF_JOIN_MIN, wf_sub(v, wf_scan(WF_JOIN_ADD, wf_in(g, own), last, true, true)), last, false, false));
        wf_out(g, sum, wf_sum(v, WF_ALL_AXES));
        run(w, g);
        result(w, wf_retain(b));
        result(w, sum);
        g = wf_begin(w->ctx);
        wf_out(g, b, wf_scan(WF_JOIN_ADD, wf_in(g, b), 0, false, true)); /* in place */
        v = wf_scan(WF_JOIN_ADD, wf_in(g, c), 0, false, false);
        if (n > 2) /* beside each element, the one before it */
            v = wf_sub(v, wf_concat(0, wf_slice(v, 0, 0, 1, 1), wf_slice(v, 0, 0, n - 1, 1)));
        wf_out(g, near, v);
        run(w, g);
        wf_release(a);
        wf_release(own);
        result(w, b);
        result(w, c);
        result(w, near);
    }
}

const distributed_case distributed_cases[] = {
    { "elements", elements }, { "sums", sums },         { "borders", borders },
    { "program", program },   { "steps", steps },       { "records", records },
    { "axes", axes },         { "in_place", in_place }, { "indices", other_indices },
    { "numbers", numbers },   { "kept", kept },         { "functions", functions },
    { "tallies", tallies },   { "scans", scans },       { "scans_within", scans_within },
    { NULL, NULL },
};

/* ---- runs ---- */
static wf_status run_case(distributed_run *r, wf_ranks *ranks, distributed_world *w)
{
    *w = (distributed_world){ .ranks = ranks, .run = r };
    w->ctx = wf_context_new(&(wf_config){
        .size = sizeof(wf_config), .threads = r->threads, .device = r->device, .flags_on = WF_FLAG_ORDER_BY_SHAPE });
    if (!w->ctx)
        return WF_ERR_MEMORY;
    wf__mem_fence(wf__engine_memory(w->ctx->engine), r->fence);
    r->it->record(w);
    failed(w);
    wf_context_free(w->ctx);
    return w->status;
}

void distributed_alone(distributed_run *r)
{
    distributed_world w;
    if (run_case(r, NULL, &w) != WF_OK)
        fprintf(stderr, "%s alone: %s\n", r->it->name, w.text);
    r->results = w.results;
}

wf_status distributed_on_rank(wf_ranks *ranks, void *user)
{
    distributed_run *r = user;
    distributed_world w;
    wf_status status = run_case(r, ranks, &w);
    wf_ranks_error e;
    status = wf_ranks_agree(ranks, status, w.text, &e);
    if (strstr(w.text, "wait for each other") || (status != WF_OK && strstr(e.text, "wait for each other")))
        atomic_fetch_add(&r->deadlocks, 1);
    if (status != WF_OK && e.rank == wf_ranks_rank(ranks) && !r->loses)
        fprintf(stderr, "%s: rank %d: %s\n", r->it->name, (int)e.rank, e.text);
    return status;
}

void distributed_end(distributed_run *r)
{
    for (int k = 0; k < DISTRIBUTED_RESULTS; ++k) {
        free(r->want[k]);
        r->want[k] = NULL;
    }
}
