/* host.c - host operators: a C function that cannot be traced gets runs of contiguous elements, in parallel. Operands
 * that are not contiguous along a run are packed before the call and unpacked after it.
 */
#include "launch/launch.h"
#include <stdio.h>

enum { MOST = 32, RUN = 4096 /* elements of a packed run */, MOST_RUN = 1 << 16, LONG = 1024 };

typedef struct operand {
    const wf_array *array;
    int64_t stride[WF_MAX_RANK]; /* bytes between neighbours; 0 = the element repeats */
    size_t size;                 /* bytes of an element */
} operand;

typedef struct host {
    wf_context *ctx;
    void (*fn)(const wf_chunk *, void *);
    void *user;
    operand op[MOST]; /* inputs, then outputs */
    uint32_t n, n_in;
    wf_shape space;              /* common shape of the operands, with axes merged (merge_axes) */
    int64_t points, run, pieces; /* pieces: runs of a row of the last axis; 0 = runs span rows, all packed */
    _Atomic bool no_memory;
} host;

static wf_status refuse(host *h, wf_status status, const char *role, uint32_t i, const char *what)
{
    return wf__error(h->ctx, status, "wf_host_apply: %s %u %s", role, (unsigned)i, what);
}

static wf_status misfit(host *h, const char *role, uint32_t i, const wf_shape *shape, const char *how)
{
    char have[160], want[160];
    wf_shape_text(shape, have, sizeof have);
    wf_shape_text(&h->space, want, sizeof want);
    return wf__error(h->ctx, WF_ERR_SHAPE, "wf_host_apply: %s %u has shape %s, %s %s", role, (unsigned)i, have, how,
                     want);
}

/* ---- checks ---- */
static wf_status check_array(host *h, const wf_array *a, bool out, uint32_t i)
{
    const char *role = out ? "output" : "input";
    if (!a)
        return refuse(h, WF_ERR_ARG, role, i, "is NULL");
    if (a->ctx != h->ctx)
        return refuse(h, WF_ERR_ARG, role, i, "belongs to another context");
    char where[48];
    snprintf(where, sizeof where, "wf_host_apply: %s %u", role, (unsigned)i);
    if (!wf__array_holds(a, where))
        return WF_ERR_ARG;
    if (!wf__array_evaluate(a, NULL))
        return wf_last_status(h->ctx);
    wf__array_wait(a);
    if (wf_array_state(a) != WF_STATE_READY)
        return refuse(h, WF_ERR_ARG, role, i, "has no contents: its recording has not run");
    if (!wf__array_arrived(a, "wf_host_apply"))
        return WF_ERR_ARG;
    if (out && a->read_only)
        return refuse(h, WF_ERR_ARG, role, i, "is " WF__READ_ONLY);
    return WF_OK;
}

static wf_status find_space(host *h, wf_arrays in, wf_arrays out)
{
    const wf_arrays *from = out.n ? &out : &in;
    h->space = from->n ? from->at[0]->shape : (wf_shape){ .rank = 1 };
    for (size_t i = 1; i < from->n; ++i) {
        const wf_shape *s = &from->at[i]->shape;
        if (out.n ? !wf__same_shape(s, &h->space) : !wf__broadcast(&h->space, s, &h->space))
            return misfit(h, out.n ? "output" : "input", (uint32_t)i, s,
                          out.n ? "but that of the outputs before it is" : "which does not broadcast with");
    }
    for (uint32_t i = 0; i < h->n; ++i) {
        const wf_shape *s = &h->op[i].array->shape;
        wf_shape both;
        bool fits = wf__broadcast(&h->space, s, &both) && wf__same_shape(&both, &h->space);
        if (!fits)
            return misfit(h, "input", i, s, "which does not broadcast to that of the outputs,");
        int skip = h->space.rank - s->rank;
        h->op[i].size = wf_dtype_size(h->op[i].array->dtype);
        for (int d = 0; d < s->rank; ++d)
            h->op[i].stride[d + skip] = s->dim[d] == 1 ? 0 : h->op[i].array->stride[d] * (int64_t)h->op[i].size;
    }
    return WF_OK;
}

static wf_status check_outputs(host *h)
{
    for (uint32_t i = h->n_in; i < h->n; ++i)
        for (uint32_t j = h->n_in; j < i; ++j)
            if (wf__array_overlap(h->op[i].array, h->op[j].array) != WF__APART)
                return refuse(h, WF_ERR_ARG, "output", i - h->n_in, "overlaps another output");
    return WF_OK;
}

/* Replaces each input that overlaps an output, except one that equals the output, by a copy. The caller releases the
 * copies. */
static wf_status copy_overlapping(host *h, wf_array **copy)
{
    for (uint32_t i = 0; i < h->n_in; ++i)
        for (uint32_t o = h->n_in; o < h->n && !copy[i]; ++o) {
            const wf_array *a = h->op[i].array;
            bool same = a->shape.rank == h->space.rank; /* else it is repeated */
            for (int d = 0; same && d < a->shape.rank; ++d)
                same = a->shape.dim[d] == h->space.dim[d];
            wf__overlap meeting = wf__array_overlap(a, h->op[o].array);
            if (meeting == WF__APART || (meeting == WF__SAME && same))
                continue;
            wf_graph *g = wf_begin_with(h->ctx, NULL);
            copy[i] = (wf_keep)(wf_in(g, a));
            wf_status status = wf_run(g);
            if (status != WF_OK || !wf__array_arrived(copy[i], "wf_host_apply"))
                return status != WF_OK ? status : WF_ERR_ARG;
            h->op[i].array = copy[i];
            int skip = h->space.rank - a->shape.rank;
            for (int d = 0; d < a->shape.rank; ++d)
                h->op[i].stride[d + skip] = a->shape.dim[d] == 1 ? 0 : copy[i]->stride[d] * (int64_t)h->op[i].size;
        }
    return WF_OK;
}

/* ---- runs ---- */
/* Merges neighbouring axes that are contiguous in every operand, and drops axes of extent 1. Their order stays. */
static void merge_axes(host *h)
{
    wf_shape *s = &h->space;
    int kept = 0;
    for (int d = 0; d < s->rank; ++d) {
        if (s->dim[d] == 1)
            continue;
        bool joins = kept > 0;
        for (uint32_t i = 0; joins && i < h->n; ++i)
            joins = h->op[i].stride[kept - 1] == h->op[i].stride[d] * s->dim[d];
        int to = joins ? kept - 1 : kept++;
        s->dim[to] = joins ? s->dim[to] * s->dim[d] : s->dim[d];
        for (uint32_t i = 0; i < h->n; ++i)
            h->op[i].stride[to] = h->op[i].stride[d];
    }
    if (!kept) {
        s->dim[kept++] = 1;
        for (uint32_t i = 0; i < h->n; ++i)
            h->op[i].stride[0] = 0;
    }
    s->rank = kept;
}

static bool contiguous(const host *h, uint32_t i)
{
    int last = h->space.rank - 1;
    return h->op[i].stride[last] == (int64_t)h->op[i].size || h->space.dim[last] == 1;
}

/* Moves n elements from the point `first` on between an operand and packed memory. */
static void move(const host *h, uint32_t i, int64_t first, int64_t n, char *packed, bool pack)
{
    const operand *op = &h->op[i];
    int last = h->space.rank - 1;
    while (n > 0) {
        int64_t rest = first, offset = 0, at = first % h->space.dim[last];
        for (int d = last; d >= 0; --d) {
            offset += rest % h->space.dim[d] * op->stride[d];
            rest /= h->space.dim[d];
        }
        int64_t part = h->space.dim[last] - at < n ? h->space.dim[last] - at : n;
        char *p = op->array->base + offset;
        for (int64_t k = 0; k < part; ++k, p += op->stride[last], packed += op->size)
            memcpy(pack ? packed : p, pack ? p : packed, op->size);
        first += part;
        n -= part;
    }
}

static char *address(const host *h, uint32_t i, int64_t first)
{
    char *p = h->op[i].array->base;
    for (int d = h->space.rank - 1; d >= 0; --d) {
        p += first % h->space.dim[d] * h->op[i].stride[d];
        first /= h->space.dim[d];
    }
    return p;
}

static void do_run(void *user, int64_t block, int worker)
{
    host *h = user;
    int64_t row = h->space.dim[h->space.rank - 1], first = block * h->run, n;
    void *at[MOST];
    char *own[MOST] = { NULL };
    if (h->pieces) {
        int64_t begin = block % h->pieces * h->run;
        first = block / h->pieces * row + begin;
        n = row - begin < h->run ? row - begin : h->run;
    } else
        n = h->points - first < h->run ? h->points - first : h->run;
    bool ok = true;
    for (uint32_t i = 0; i < h->n && ok; ++i) {
        if (h->pieces && contiguous(h, i)) {
            at[i] = address(h, i, first);
            continue;
        }
        at[i] = own[i] = wf__alloc((size_t)n * h->op[i].size);
        ok = own[i] != NULL;
        if (ok)
            move(h, i, first, n, own[i], true); /* outputs too, since the function may leave elements unset */
    }
    if (ok) {
        wf_chunk chunk = { .n = n,
                           .n_in = (int32_t)h->n_in,
                           .n_out = (int32_t)(h->n - h->n_in),
                           .in = (const void *const *)at,
                           .out = at + h->n_in,
                           .first = first,
                           .thread = worker };
        h->fn(&chunk, h->user);
        for (uint32_t i = h->n_in; i < h->n; ++i)
            if (own[i])
                move(h, i, first, n, own[i], false);
    } else
        atomic_store(&h->no_memory, true);
    for (uint32_t i = 0; i < h->n; ++i)
        wf__free(own[i]);
}

/* Calls the function with all elements. False: the program has cancelled that. */
static bool run_all(host *h)
{
    int64_t row = h->space.dim[h->space.rank - 1];
    h->points = 1;
    for (int d = 0; d < h->space.rank; ++d)
        h->points *= h->space.dim[d];
    bool all_packed = row < LONG && h->points > row;
    int64_t threads = wf_get_threads(h->ctx), share = (h->points + 4 * threads - 1) / (4 * threads);
    h->run = all_packed || share < RUN ? RUN : share < MOST_RUN ? share : MOST_RUN;
    h->pieces = all_packed ? 0 : (row + h->run - 1) / h->run;
    int64_t blocks = all_packed ? (h->points + h->run - 1) / h->run : h->points / row * h->pieces;
    wf__pool_begin_work();
    wf__pool_run(wf__engine_pool(h->ctx->engine), blocks, do_run, h);
    wf__pool_finish_work(wf__engine_pool(h->ctx->engine));
    return !wf__pool_end_work();
}

/* ---- arrays of GPUs ---- */
static bool any_on_gpu(const host *h)
{
    bool any = false;
    for (uint32_t i = 0; i < h->n; ++i)
        any = any || wf__is_gpu(h->op[i].array->device);
    return any;
}

/* Applies the function to copies on the processor, and writes the outputs back. */
static wf_status apply_to_copies(host *h)
{
    wf_array *copy[MOST] = { NULL };
    wf_status status = check_outputs(h);
    for (uint32_t i = 0; i < h->n && status == WF_OK; ++i) {
        copy[i] = wf__is_gpu(h->op[i].array->device) ? wf_copy_to(h->op[i].array, WF_CPU) : wf_retain(h->op[i].array);
        if (!copy[i]) /* without memory, the context may have no error */
            status = wf_last_status(h->ctx) != WF_OK ? wf_last_status(h->ctx) : WF_ERR_MEMORY;
    }
    if (status == WF_OK)
        status = wf_host_apply(h->ctx, (wf_arrays){ copy, h->n_in }, (wf_arrays){ copy + h->n_in, h->n - h->n_in },
                               h->fn, h->user);
    for (uint32_t i = h->n_in; i < h->n && status == WF_OK; ++i)
        if (copy[i] != h->op[i].array)
            status = wf_upload((wf_array *)h->op[i].array, copy[i]->base,
                               (size_t)wf_array_count(copy[i]) * wf_dtype_size(copy[i]->dtype));
    for (uint32_t i = 0; i < h->n; ++i)
        wf_release(copy[i]);
    return status;
}

wf_status wf_host_apply(wf_context *ctx, wf_arrays in, wf_arrays out, void (*fn)(const wf_chunk *chunk, void *user),
                        void *user)
{
    if (!ctx)
        return WF_ERR_ARG;
    host h = { .ctx = ctx, .fn = fn, .user = user, .n_in = (uint32_t)in.n };
    if (!fn || in.n + out.n > MOST)
        return wf__error(ctx, WF_ERR_ARG, "wf_host_apply: needs a function and at most %d arrays", (int)MOST);
    if (!wf__is_given(ctx, in.at, in.n, "wf_host_apply") || !wf__is_given(ctx, out.at, out.n, "wf_host_apply"))
        return WF_ERR_ARG;
    for (size_t i = 0; i < in.n + out.n; ++i) {
        bool is_out = i >= in.n;
        const wf_array *a = is_out ? out.at[i - in.n] : in.at[i];
        wf_status status = check_array(&h, a, is_out, (uint32_t)(is_out ? i - in.n : i));
        if (status != WF_OK)
            return status;
        h.op[h.n++] = (operand){ .array = a };
    }
    for (uint32_t i = 0; i < h.n; ++i) {
        wf__freeze_host(h.op[i].array, i >= h.n_in, "wf_host_apply");
        wf__tape_host(h.op[i].array, "wf_host_apply");
    }
    if (any_on_gpu(&h))
        return apply_to_copies(&h);
    wf_array *copy[MOST] = { NULL }, *array[MOST];
    wf__buffer *pinned[MOST];
    bool written[MOST];
    for (uint32_t i = 0; i < h.n; ++i) {
        array[i] = (wf_array *)h.op[i].array;
        written[i] = i >= h.n_in;
    }
    if (!wf__arrays_begin(ctx, array, h.n, written, pinned, "wf_host_apply"))
        return WF_ERR_MEMORY;
    wf_status status = find_space(&h, in, out);
    if (status == WF_OK)
        status = check_outputs(&h);
    if (status == WF_OK)
        status = copy_overlapping(&h, copy);
    bool empty = false;
    for (int d = 0; d < h.space.rank; ++d)
        empty = empty || h.space.dim[d] == 0;
    if (status == WF_OK && !empty && h.n) {
        merge_axes(&h);
        if (!run_all(&h))
            status = wf__error(ctx, WF_ERR_CANCELLED, "wf_host_apply: the program has cancelled the work");
        if (atomic_load(&h.no_memory))
            status = wf__error(ctx, WF_ERR_MEMORY,
                               "wf_host_apply: out of memory for runs of %lld elements; some were not done",
                               (long long)h.run);
    }
    for (uint32_t i = 0; i < h.n_in; ++i)
        wf_release(copy[i]);
    wf__arrays_end(ctx, h.n, pinned);
    return status;
}
