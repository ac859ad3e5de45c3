/* distributed_world.c - see distributed_world.h. */
#include "distributed_world.h"
#include "dist/dist.h"
#include "run/engine.h"
#include "weft_test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool world_failed(distributed_world *w)
{
    if (w->status == WF_OK && wf_last_status(w->ctx) != WF_OK) {
        w->status = wf_last_status(w->ctx);
        snprintf(w->text, sizeof w->text, "%s", wf_last_message(w->ctx));
    }
    return w->status != WF_OK;
}

void world_run(distributed_world *w, wf_graph *g)
{
    wf_run(g);
    world_failed(w);
}

static wf_dist dist_of(distributed_world *w, wf_shape shape, wf_axes whole)
{
    wf_dist dist = { .shape = shape };
    wf_dist_options options = { .size = sizeof options };
    int ranks = wf_ranks_size(w->ranks), first = 0, last = shape.rank - 1, cut = w->run->cut;
    while (whole >> first & 1)
        ++first;
    while (last > first && whole >> last & 1)
        --last;
    for (int d = 0; d < shape.rank; ++d)
        if (whole >> d & 1 || cut == 1 || cut == 2)
            options.grid[d] = (cut == 1 && d == first) || (cut == 2 && d == last) ? ranks : 1;
    if (cut == 3 && last > first && ranks % 2 == 0)
        options.grid[last] = 2;
    if (wf_dist_make(&shape, ranks, &options, &dist) != WF_OK)
        wf_dist_make(&shape, ranks, NULL, &dist);
    return dist;
}

wf_array *world_empty_along(distributed_world *w, wf_dtype dtype, wf_shape shape, wf_axes whole)
{
    if (!w->ranks)
        return wf_empty(w->ctx, dtype, shape);
    wf_dist dist = dist_of(w, shape, whole);
    return wf_empty_distributed(w->ctx, dtype, w->ranks, &dist);
}

wf_array *world_empty(distributed_world *w, wf_dtype dtype, wf_shape shape)
{
    return world_empty_along(w, dtype, shape, 0);
}

wf_array *world_single(distributed_world *w, wf_dtype dtype, int rank)
{
    wf_shape shape = { .rank = rank };
    for (int d = 0; d < rank; ++d)
        shape.dim[d] = 1;
    return wf_full(w->ctx, dtype, shape, 0);
}

wf_array *world_whole(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty(w->ctx, dtype, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val at = wf_cast(0, WF_I64);
    for (int d = 0; d < shape.rank; ++d)
        at = wf_add(wf_mul(at, wf_extent(g, d)), wf_index(g, d));
    wf_val x = wf_mod(wf_add(wf_mul(at, 7919), 104729 * (double)seed), 65521);
    x = wf_mod(wf_mul(x, x), 65521);
    wf_out(g, a, dtype == WF_I32 ? wf_sub(x, 30000) : wf_sub(wf_div(wf_cast(x, WF_F64), 4999), 6.3));
    world_run(w, g);
    return a;
}

wf_array *world_filled_along(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed, wf_axes whole)
{
    wf_array *from = world_whole(w, dtype, shape, seed), *to = world_empty_along(w, dtype, shape, whole);
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, to, wf_in(g, from));
    world_run(w, g);
    wf_release(from);
    return to;
}

wf_array *world_filled(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    return world_filled_along(w, dtype, shape, seed, 0);
}

void world_result(distributed_world *w, wf_array *a)
{
    int k = w->results++;
    wf_array *all = NULL;
    if (!world_failed(w))
        all = wf_array_dist(a) ? wf_array_collect(a) : wf_retain(a);
    wf_release(a);
    if (world_failed(w) || !all)
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

void world_spoil(distributed_world *w, wf_array *a)
{
    const wf__distributed *d = a ? a->distributed : NULL;
    const int rank = d ? a->shape.rank : 0;
    const size_t size = d ? wf_dtype_size(a->dtype) : 0;
    int64_t stride[WF_MAX_RANK];
    if (!d || d->fresh || w->status != WF_OK)
        return;
    char *kept = malloc(wf__box_elements(&d->block, rank) * size + 1);
    if (!kept)
        return;
    const wf__elements packed = wf__elements_packed(kept, &d->block, rank, size, stride);
    wf__box_copy(&d->block, rank, size, wf__elements_of(a), packed);
    memset(a->buffer->data, 0xff, wf__box_elements(&d->held, rank) * size);
    wf__box_copy(&d->block, rank, size, packed, wf__elements_of(a));
    free(kept);
}

wf_array *world_divided(distributed_world *w, wf_array *a)
{
    if (a && w->ranks && !wf_array_dist(a) && w->status == WF_OK) {
        w->status = WF_ERR_CONTRACT;
        snprintf(w->text, sizeof w->text, "result %d is not distributed", w->results);
    }
    return a;
}

/* ---- indices ---- */
wf_array *world_positions(distributed_world *w, wf_shape shape, int n, wf_axes whole, bool distributed)
{
    wf_array *at = distributed ? world_filled_along(w, WF_I32, shape, 31, whole) : world_whole(w, WF_I32, shape, 32);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, at, wf_mod(wf_add(wf_in(g, at), 30000), n));
    world_run(w, g);
    return at;
}

wf_vals indices_at_point(wf_graph *g, wf_val index[WF_MAX_RANK], int rank, int along, wf_val other)
{
    for (int d = 0; d < rank; ++d)
        index[d] = d == along ? other : wf_index(g, d);
    return (wf_vals){ index, (size_t)rank };
}

wf_vals indices_on_line(wf_graph *g, wf_val index[WF_MAX_RANK], int rank, int along, wf_val other)
{
    for (int d = 0; d < rank; ++d)
        index[d] = d == along ? other : wf_index(g, d < along ? d : d - 1);
    return (wf_vals){ index, (size_t)rank };
}

wf_shape shape_without(wf_shape shape, int axis)
{
    wf_shape s = { .rank = shape.rank - 1 };
    for (int d = 0; d < s.rank; ++d)
        s.dim[d] = shape.dim[d < axis ? d : d + 1];
    return s;
}

wf_val permuted_index(wf_graph *g, wf_shape shape, int along)
{
    wf_val at = wf_cast(0, WF_I64);
    for (int d = 0; d < shape.rank; ++d)
        at = wf_add(at, wf_mul(wf_index(g, d), d == along ? 7 : 1));
    return wf_mod(at, wf_extent(g, along));
}

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
    world_failed(w);
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

void distributed_check(const distributed_case *cases, size_t n, int ranks, int threads, int cut, wf_device device,
                       wf__fence fence)
{
    static unsigned number;
    for (size_t k = 0; k < n; ++k) {
        if (test_choice(number++, TEST_EVERY))
            continue;
        distributed_run run = { .it = &cases[k], .threads = threads, .cut = cut, .device = device, .fence = fence };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        const wf_status status = wf_ranks_threads(ranks, distributed_on_rank, &run, NULL, &e);
        distributed_end(&run);
        if (status != WF_OK)
            fail_msg("%s on %d ranks, %d threads, cut %d: rank %d: %s", cases[k].name, ranks, threads, cut, (int)e.rank,
                     e.text);
    }
}

void distributed_check_cuts(const distributed_case *cases, size_t n)
{
    for (int ranks = 1; ranks <= 8; ++ranks)
        distributed_check(cases, n, ranks, 1, 0, WF_INTERP, WF__FENCE_BEHIND);
    for (int cut = 1; cut <= 3; ++cut)
        distributed_check(cases, n, 4, 1, cut, WF_INTERP, WF__FENCE_BEHIND);
}
