/* redistribute.c - copies between arrays that are cut into blocks in two ways. Each rank packs what others get of its block,
 * all ranks exchange these pieces at once, and each unpacks what it has got. Nothing is kept for a next copy.
 */
#include "dist/dist.h"

static const char *const function = "wf_array_redistribute";

typedef struct pieces {
    const wf_array *from;
    wf_array *to;
    int rank, ranks, me; /* rank: of the shape */
    size_t size;         /* bytes of an element */
    size_t *list;        /* [4 ranks] bytes and offsets of what goes out, and of what comes in */
    wf__buffer *out, *in;
    size_t out_bytes, in_bytes;
} pieces;

/* The elements that this rank sends to another one, or gets from it. */
static wf__box piece_of(const pieces *p, int other, bool sends)
{
    wf__box theirs = wf__block_of(sends ? p->to : p->from, other);
    return wf__box_meet(sends ? &p->from->distributed->block : &p->to->distributed->block, &theirs, p->rank);
}

static void list_pieces(pieces *p)
{
    const size_t n = (size_t)p->ranks;
    for (int r = 0; r < p->ranks; ++r) {
        wf__box out = piece_of(p, r, true), in = piece_of(p, r, false);
        size_t *at = p->list + r;
        at[0] = r == p->me ? 0 : wf__box_elements(&out, p->rank) * p->size;
        at[n] = p->out_bytes;
        at[2 * n] = r == p->me ? 0 : wf__box_elements(&in, p->rank) * p->size;
        at[3 * n] = p->in_bytes;
        p->out_bytes += at[0];
        p->in_bytes += at[2 * n];
    }
}

static void pack(const pieces *p)
{
    int64_t stride[WF_MAX_RANK];
    for (int r = 0; r < p->ranks; ++r) {
        const wf__box box = piece_of(p, r, true);
        if (r == p->me)
            wf__box_copy(&box, p->rank, p->size, wf__elements_of(p->from), wf__elements_of(p->to));
        else
            wf__box_copy(&box, p->rank, p->size, wf__elements_of(p->from),
                         wf__elements_packed(p->out->data + p->list[p->ranks + r], &box, p->rank, p->size, stride));
    }
}

static void unpack(const pieces *p)
{
    int64_t stride[WF_MAX_RANK];
    for (int r = 0; r < p->ranks; ++r) {
        const wf__box box = piece_of(p, r, false);
        if (r != p->me)
            wf__box_copy(&box, p->rank, p->size,
                         wf__elements_packed(p->in->data + p->list[3 * p->ranks + r], &box, p->rank, p->size, stride),
                         wf__elements_of(p->to));
    }
}

/* Makes the memory for all pieces, and that of the blocks. */
static wf_status prepare(pieces *p)
{
    wf_status status;
    wf_array *both[] = { (wf_array *)p->from, p->to };
    for (int k = 0; k < 2; ++k)
        if (!wf__distributed_hold(both[k], &both[k]->distributed->block, &status))
            return status;
    p->list = wf__alloc(4 * (size_t)p->ranks * sizeof *p->list);
    if (p->list) {
        list_pieces(p);
        p->out = wf__buffer_new(p->to->ctx, p->out_bytes + 1);
        p->in = wf__buffer_new(p->to->ctx, p->in_bytes + 1);
    }
    return p->out && p->in
               ? WF_OK
               : wf__error(p->to->ctx, WF_ERR_MEMORY, "%s: out of memory for %llu bytes that ranks exchange", function,
                           (unsigned long long)(p->out_bytes + p->in_bytes));
}

/* A rank without memory for its messages has not taken part, so it ends the group. */
static wf_status exchange(const pieces *p)
{
    wf_ranks *ranks = p->to->distributed->ranks;
    const size_t n = (size_t)p->ranks;
    pack(p);
    wf_status status =
        wf_ranks_all_to_all(ranks, p->out->data, (wf_pieces){ .bytes = p->list, .offset = p->list + n }, p->in->data,
                            (wf_pieces){ .bytes = p->list + 2 * n, .offset = p->list + 3 * n });
    if (status == WF_ERR_MEMORY)
        wf__dist_group_end(p->to, wf_ranks_message(ranks));
    if (status != WF_OK)
        return wf__error(p->to->ctx, status, "%s: %s", function, wf_ranks_message(ranks));
    unpack(p);
    return WF_OK;
}

/* Checks what is the same on all ranks. */
static wf_status check(const wf_array *to, const wf_array *from)
{
    char a[160], b[160];
    if (!to->distributed || !from->distributed)
        return wf__error(to->ctx, WF_ERR_ARG, "%s: %s array is not distributed", function,
                         to->distributed ? "the second" : "the first");
    if (to->distributed->group != from->distributed->group)
        return wf__error(to->ctx, WF_ERR_UNSUPPORTED, "%s: the arrays belong to two groups of ranks", function);
    if (to->dtype != from->dtype)
        return wf__error(to->ctx, WF_ERR_DTYPE, "%s: the arrays have dtypes %s and %s", function,
                         wf_dtype_name(to->dtype), wf_dtype_name(from->dtype));
    bool same = to->shape.rank == from->shape.rank;
    for (int d = 0; same && d < to->shape.rank; ++d)
        same = to->shape.dim[d] == from->shape.dim[d];
    if (same)
        return WF_OK;
    wf_shape_text(&to->shape, a, sizeof a);
    wf_shape_text(&from->shape, b, sizeof b);
    return wf__error(to->ctx, WF_ERR_SHAPE, "%s: the arrays have shapes %s and %s", function, a, b);
}

wf_status wf_array_redistribute(wf_array *to, const wf_array *from)
{
    if (!to || !from)
        return to ? wf__error(to->ctx, WF_ERR_ARG, "%s: an array is NULL", function) : WF_ERR_ARG;
    wf_status status = check(to, from);
    if (status != WF_OK || to == from)
        return status;
    if (!wf__array_computed(from, function) || !wf__array_computed(to, function))
        return wf_last_status(to->ctx);
    wf__distributed *d = to->distributed;
    pieces p = { .from = from,
                 .to = to,
                 .rank = to->shape.rank,
                 .ranks = wf_ranks_size(d->ranks),
                 .me = wf_ranks_rank(d->ranks),
                 .size = wf_dtype_size(to->dtype) };
    wf_ranks_error error;
    wf__array_wait(from);
    wf__array_wait(to);
    status = prepare(&p);
    const wf_status all = wf_ranks_agree(d->ranks, status, status == WF_OK ? "" : wf_last_message(to->ctx), &error);
    if (all == WF_OK) {
        d->fresh = NULL;
        status = exchange(&p);
    } else if (status == WF_OK) {
        status = wf__error(to->ctx, all, "%s: rank %d: %s", function, (int)error.rank, error.text);
    }
    wf__free(p.list);
    wf__buffer_release(to->ctx, p.out);
    wf__buffer_release(to->ctx, p.in);
    return status;
}
