/* array.c - distributed arrays: making them, their memory, their blocks. */
#include "dist/dist.h"

static bool right_dist(wf_context *ctx, const wf_ranks *ranks, const wf_dist *dist)
{
    int64_t count, product = 1;
    char text[256];
    for (int d = 0; d < dist->shape.rank && d < WF_MAX_RANK; ++d)
        product *= dist->grid[d];
    if (!ranks)
        wf__error(ctx, WF_ERR_ARG, "wf_empty_distributed: ranks is NULL");
    else if (dist->ranks != wf_ranks_size(ranks) || product != dist->ranks)
        wf__error(ctx, WF_ERR_ARG, "wf_empty_distributed: the distribution is for %d ranks, the group has %d",
                  (int)dist->ranks, wf_ranks_size(ranks));
    else if (dist->shape.rank < 0 || dist->shape.rank > WF_MAX_RANK || !wf__shape_count(&dist->shape, &count)) {
        wf_shape_text(&dist->shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "wf_empty_distributed: shape %s has a negative extent or too many elements", text);
    } else
        return true;
    return false;
}

/* Returns memory for the elements of a box, without contents; NULL = there is none. */
static wf__buffer *new_memory(const wf_array *a, const wf__box *held)
{
    size_t bytes;
    if (!wf__mul_size(wf__box_elements(held, a->shape.rank), wf_dtype_size(a->dtype), &bytes))
        return NULL;
    return wf__buffer_new(a->ctx, bytes ? bytes : 1);
}

static wf_status fail_memory(const wf_array *a, const wf__box *held)
{
    return wf__error(a->ctx, WF_ERR_MEMORY,
                     "out of memory for this rank's elements of a distributed array (%llu of %llu bytes each)",
                     (unsigned long long)wf__box_elements(held, a->shape.rank),
                     (unsigned long long)wf_dtype_size(a->dtype));
}

static void use_memory(wf_array *a, wf__buffer *buffer, const wf__box *held)
{
    int64_t origin = wf__box_strides(held, a->shape.rank, a->stride);
    const size_t size = wf_dtype_size(a->dtype), bytes = wf__box_elements(held, a->shape.rank) * size;
    a->distributed->held = *held;
    a->buffer = buffer;
    a->base = (char *)((uintptr_t)buffer->data + (uintptr_t)origin * size);
    a->lo = buffer->data;
    a->hi = buffer->data + (bytes ? bytes : 1); /* it overlaps itself on all ranks, which plan alike */
}

bool wf__distributed_hold(wf_array *a, const wf__box *box, wf_status *status)
{
    wf__distributed *d = a->distributed;
    const int rank = a->shape.rank;
    if (wf__box_within(box, &d->held, rank))
        return true;
    if (atomic_load(&a->buffer->refs) > 1 || atomic_load(&a->buffer->exposed)) {
        *status = wf__error(a->ctx, WF_ERR_ARG,
                            "the launch needs memory for elements of other ranks, but views of this rank's "
                            "block exist (wf_array_block), so that the memory cannot grow");
        return false;
    }
    wf__box held = wf__box_hull(&d->held, box, rank);
    wf__buffer *old = a->buffer, *buffer = new_memory(a, &held);
    *status = buffer ? WF_OK : fail_memory(a, &held);
    if (!buffer)
        return false;
    const wf__box before = d->held;
    int64_t stride[WF_MAX_RANK];
    memcpy(stride, a->stride, sizeof stride);
    const wf__elements from = { (uintptr_t)a->base, stride };
    use_memory(a, buffer, &held);
    wf__box_copy(&before, rank, wf_dtype_size(a->dtype), from, wf__elements_of(a));
    a->id = wf__new_array_id(a->ctx);
    wf__buffer_release(a->ctx, old);
    return true;
}

void wf__distributed_free(wf_context *ctx, wf__distributed *d)
{
    wf__exchanges_free(d->exchange);
    if (d->group)
        wf__dist_group_release(ctx, d->group);
    atomic_fetch_sub(&ctx->distributed, 1);
    wf__free(d);
}

/* Makes a distributed array. part: the elements that it has memory for; NULL = the rank's block. `later`: it may have no
 * memory yet. */
static wf_array *make(wf_context *ctx, wf_dtype dtype, wf_ranks *ranks, const wf_dist *dist, const wf__box *part,
                      bool later)
{
    wf_array *a = wf__array_handle(ctx, dtype, &dist->shape);
    wf__distributed *d = a ? wf__alloc0(sizeof *d) : NULL;
    if (!d) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for a distributed array");
        if (a)
            wf__array_drop_handle(a);
        return NULL;
    }
    atomic_fetch_add(&ctx->distributed, 1);
    d->ranks = ranks;
    d->dist = *dist;
    wf_dist_range(dist, wf_ranks_rank(ranks), d->block.lo, d->block.hi);
    d->group = wf__dist_group_get(ctx, ranks);
    a->distributed = d;
    wf__box held = part ? *part : d->block;
    wf__buffer *buffer = d->group ? new_memory(a, &held) : NULL;
    if (!buffer && d->group && later && dist->shape.rank) {
        memcpy(held.hi, held.lo, sizeof held.hi);
        buffer = new_memory(a, &held);
    }
    if (buffer) {
        use_memory(a, buffer, &held);
        return a;
    }
    fail_memory(a, &held);
    wf__distributed_free(ctx, d);
    wf__array_drop_handle(a);
    return NULL;
}

wf_array *wf_empty_distributed(wf_context *ctx, wf_dtype dtype, wf_ranks *ranks, const wf_dist *dist)
{
    if (!ctx || !dist) {
        if (ctx)
            wf__error(ctx, WF_ERR_ARG, "wf_empty_distributed: dist is NULL");
        return NULL;
    }
    if (!wf__computable(dtype)) {
        wf__error(ctx, WF_ERR_ARG, "wf_empty_distributed: there are no arrays of dtype %s", wf_dtype_name(dtype));
        return NULL;
    }
    if (!right_dist(ctx, ranks, dist))
        return NULL;
    wf_array *a = make(ctx, dtype, ranks, dist, NULL, false);
    wf_ranks_error error;
    if (wf_ranks_agree(ranks, a ? WF_OK : WF_ERR_MEMORY, "out of memory for its block", &error) == WF_OK)
        return a;
    wf__error(ctx, error.status, "wf_empty_distributed: rank %d: %s", (int)error.rank, error.text);
    wf_release(a);
    return NULL;
}

wf_array *wf__distributed_like(const wf_array *like, wf_dtype dtype, const wf_dist *dist)
{
    return make(like->ctx, dtype, like->distributed->ranks, dist, NULL, true);
}

wf_array *wf__distributed_part(const wf_array *a, const wf__box *box)
{
    return make(a->ctx, a->dtype, a->distributed->ranks, &a->distributed->dist, box, false);
}

void wf__distributed_copy_own(const wf_array *a, wf_array *part)
{
    const wf__box own = wf__box_meet(&a->distributed->block, &part->distributed->held, a->shape.rank);
    wf__box_copy(&own, a->shape.rank, wf_dtype_size(a->dtype), wf__elements_of(a), wf__elements_of(part));
}

const wf_dist *wf_array_dist(const wf_array *a) { return a && a->distributed ? &a->distributed->dist : NULL; }
wf_ranks *wf_array_ranks(const wf_array *a) { return a && a->distributed ? a->distributed->ranks : NULL; }

static bool is_distributed(const wf_array *a, const char *function)
{
    if (a && !a->distributed)
        wf__error(a->ctx, WF_ERR_ARG, "%s: the array is not distributed", function);
    return a && a->distributed;
}

wf_array *wf_array_block(wf_array *a)
{
    wf_status status;
    if (!is_distributed(a, "wf_array_block") || !wf__array_computed(a, "wf_array_block"))
        return NULL;
    wf__distributed *d = a->distributed;
    ++d->views;
    if (!wf__distributed_hold(a, &d->block, &status))
        return NULL;
    wf_array *v = wf__array_handle(a->ctx, a->dtype, &a->shape);
    if (!v)
        return NULL;
    memcpy(v->stride, a->stride, sizeof a->stride);
    wf__view_begin(v, a);
    uintptr_t base = (uintptr_t)v->base;
    for (int k = 0; k < a->shape.rank; ++k) {
        v->shape.dim[k] = d->block.hi[k] - d->block.lo[k];
        base += (uintptr_t)(d->block.lo[k] * a->stride[k]) * wf_dtype_size(a->dtype);
    }
    v->base = wf__box_is_empty(&d->block, a->shape.rank) ? a->buffer->data : (char *)base;
    return wf__view_end(v);
}

wf_status wf_array_block_end(wf_array *a, wf_array *block)
{
    const char *function = "wf_array_block_end";
    if (!is_distributed(a, function))
        return WF_ERR_ARG;
    wf__distributed *d = a->distributed;
    if (block == a || (block && block->buffer != a->buffer) || !d->views)
        return wf__error(a->ctx, WF_ERR_ARG, "%s: this is no view of the array's block", function);
    wf_release(block);
    d->fresh = NULL;
    if (d->views == 1 && atomic_load(&a->buffer->refs) > 1)
        return wf__error(a->ctx, WF_ERR_ARG, "%s: other references to the block exist", function);
    if (!--d->views)
        atomic_store(&a->buffer->exposed, false);
    return WF_OK;
}

/* ---- all elements on every rank ---- */
static bool gather(const wf_array *a, wf_array *to, char *all, size_t *bytes, size_t *offset)
{
    const wf__distributed *d = a->distributed;
    const int rank = a->shape.rank, ranks = wf_ranks_size(d->ranks), me = wf_ranks_rank(d->ranks);
    const size_t size = wf_dtype_size(a->dtype);
    wf_status status = WF_OK;
    for (int turn = 0; turn < 2 && status == WF_OK; ++turn) {
        size_t total = 0;
        for (int r = 0; r < ranks; ++r) {
            const wf__box block = wf__block_of(a, r);
            int64_t stride[WF_MAX_RANK];
            bytes[r] = wf__box_elements(&block, rank) * size;
            offset[r] = total;
            const wf__elements packed = wf__elements_packed(all + total, &block, rank, size, stride);
            if (turn)
                wf__box_copy(&block, rank, size, packed, wf__elements_of(to));
            else if (r == me)
                wf__box_copy(&block, rank, size, wf__elements_of(a), packed);
            total += bytes[r];
        }
        if (!turn)
            status =
                wf_ranks_all_gather(d->ranks, all + offset[me], all, (wf_pieces){ .bytes = bytes, .offset = offset });
    }
    if (status != WF_OK)
        wf__error(a->ctx, status, "wf_array_collect: %s", wf_ranks_message(d->ranks));
    return status == WF_OK;
}

wf_array *wf_array_collect(const wf_array *a)
{
    if (a && !a->distributed)
        return wf_retain((wf_array *)a);
    if (!is_distributed(a, "wf_array_collect") || !wf__array_computed(a, "wf_array_collect"))
        return NULL;
    const wf__distributed *d = a->distributed;
    const size_t ranks = (size_t)wf_ranks_size(d->ranks);
    wf_ranks_error error;
    wf_status held;
    wf_array *to = NULL;
    if (wf__distributed_hold((wf_array *)a, &d->block, &held))
        to = wf__array_make(a->ctx, "wf_array_collect", a->dtype, &a->shape, NULL, WF_CPU);
    char *all = to ? wf__alloc((size_t)wf_array_count(a) * wf_dtype_size(a->dtype) + 1) : NULL;
    size_t *bytes = all ? wf__alloc(2 * ranks * sizeof *bytes) : NULL;
    bool ok = false;
    if (wf_ranks_agree(d->ranks, bytes ? WF_OK : WF_ERR_MEMORY, "out of memory for all elements", &error) == WF_OK)
        ok = gather(a, to, all, bytes, bytes + ranks);
    else
        wf__error(a->ctx, error.status, "wf_array_collect: rank %d: %s", (int)error.rank, error.text);
    wf__free(bytes);
    wf__free(all);
    if (ok)
        return to;
    wf_release(to);
    return NULL;
}
