/* collective.c - what all ranks of a group do together, by the transport's own functions or by messages.
 *
 * Barrier: in round k each rank sends an empty message to the rank 2^k ahead. After log2(n) rounds, messages lead from
 * every rank to every other.
 * Broadcast: along a binomial tree. Of many bytes, the root gives each rank a part, and all gather the parts: no rank
 * sends more than twice the bytes.
 * All-gather: rounds in which a rank passes on all that it has, which doubles (Bruck et al. 1997), or a ring around which
 * each piece goes. Of equal pieces, a rank sends as many bytes in both. Rounds are log2(n) messages, where the ring has n - 1;
 * but what a round sends lies in one piece of memory, so all bytes are packed and unpacked. The way is taken in which messages
 * and packing together take less time.
 * All-to-all: every rank exchanges with the ranks at distance 1, 2, 3, ..., some at a time. Nothing is sent for an empty
 * piece, which both ranks know.
 *
 * After a failure on the way of such a function, or of a message because a rank or the transport failed, other ranks may
 * still wait for messages of this rank. If this rank began another collective function, it would wait for theirs, and all
 * would wait for each other. So its collective functions fail from then on; once its program ends, so do the waits for it.
 */
#include "ranks/ranks.h"

/* A collective function of a transport takes this much in all; messages have no such limit. */
#define MOST_AT_ONCE ((size_t)1 << 30)
/* Packing and unpacking this number of bytes takes as long as a message: 1.5 us, if a core copies 11 GB in a second. Parts of
 * a broadcast have as many bytes at least. */
enum { MESSAGE_COST = 1 << 13 };

/* Whether the transport's own function is called. It has no limit of time, so it is not while a timeout is set. */
static bool by_transport(const wf_ranks *ranks, bool has_function) { return has_function && ranks->timeout == 0; }

/* Checks that the group can begin another collective function. */
static wf_status begin(wf_ranks *ranks, const char *doing)
{
    if (!ranks)
        return WF_ERR_ARG;
    if (!ranks->broken.status)
        return WF_OK;
    return wf__ranks_fail(ranks, doing, WF_ERR_BACKEND, "not after an earlier failure (%s)", ranks->broken.text);
}

/* Notes the result of a collective function that has begun. Returns `status`. */
static wf_status end(wf_ranks *ranks, wf_status status)
{
    if (status)
        wf__ranks_break(ranks);
    return status;
}

/* Waits for n > 0 requests, and frees them also if that fails. */
static wf_status finish(wf_ranks *ranks, const char *doing, wf_request **requests, size_t n)
{
    size_t index;
    wf_status status = wf__ranks_wait(ranks, doing, requests, n, WF_RANKS_ALL, &index);
    for (size_t i = 0; i < n; i++)
        wf_request_free(requests[i]);
    return status;
}

static wf_status exchange(wf_ranks *ranks, const char *doing, const void *out, size_t out_bytes, int to, void *in,
                          size_t in_bytes, int from, int tag)
{
    wf_request *both[2] = { NULL };
    wf_status status = wf__ranks_begin(ranks, doing, false, in, in_bytes, from, tag, &both[0]);
    if (!status)
        status = wf__ranks_begin(ranks, doing, true, (void *)out, out_bytes, to, tag, &both[1]);
    if (!status)
        return finish(ranks, doing, both, 2);
    wf_request_free(both[0]);
    return status;
}

static wf_status transfer(wf_ranks *ranks, const char *doing, bool sends, void *data, size_t bytes, int peer, int tag)
{
    wf_request *one = NULL;
    wf_status status = wf__ranks_begin(ranks, doing, sends, data, bytes, peer, tag, &one);
    return status ? status : finish(ranks, doing, &one, 1);
}

/* The rank at this distance ahead, for 0 <= by <= size; size - by leads to the rank as far back. */
static int ahead(const wf_ranks *ranks, int by) { return (ranks->rank + by) % ranks->size; }

wf_status wf_ranks_barrier(wf_ranks *ranks)
{
    const char *doing = "wf_ranks_barrier";
    wf_ranks_error error;
    wf_status status = begin(ranks, doing);
    if (status)
        return status;
    if (by_transport(ranks, ranks->ops->barrier))
        return end(ranks, wf__ranks_result(ranks, doing, ranks->ops->barrier(ranks->group, &error), &error));
    for (int by = 1; by < ranks->size && !status; by *= 2)
        status =
            exchange(ranks, doing, NULL, 0, ahead(ranks, by), NULL, 0, ahead(ranks, ranks->size - by), WF__TAG_BARRIER);
    return end(ranks, status);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static size_t piece_bytes(wf_pieces p, int i) { return p.bytes ? p.bytes[i] : p.each; }
static size_t piece_offset(wf_pieces p, int i) { return p.bytes ? p.offset[i] : (size_t)i * p.each; }

/* Checks a list of pieces, and sets *total to the sum of their bytes, and *last to where the last of them ends. */
static wf_status check_pieces(wf_ranks *ranks, const char *doing, wf_pieces p, const void *memory, size_t *total,
                              size_t *last)
{
    size_t sum = 0, end, most = 0;
    if ((p.bytes == NULL) != (p.offset == NULL))
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "pieces have bytes and offset, or neither");
    for (int i = 0; i < ranks->size; i++) {
        bool fits = p.bytes ? wf__add_size(p.offset[i], p.bytes[i], &end) : wf__mul_size((size_t)i + 1, p.each, &end);
        if (!fits || !wf__add_size(sum, piece_bytes(p, i), &sum))
            return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "piece %d ends beyond the memory of any machine", i);
        most = end > most ? end : most;
    }
    if (sum && !memory)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "memory for %zu bytes is NULL", sum);
    *total = sum;
    *last = most;
    return WF_OK;
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

/* ---- all-gather ------------------------------------------------------------------------------------------------- */

static wf_status gather_by_ring(wf_ranks *ranks, const char *doing, char *all, wf_pieces p)
{
    int next = ahead(ranks, 1), before = ahead(ranks, ranks->size - 1);
    wf_status status = WF_OK;
    for (int k = 0; k < ranks->size - 1 && !status; k++) {
        int out = ahead(ranks, ranks->size - k), in = ahead(ranks, ranks->size - k - 1);
        status = exchange(ranks, doing, all + piece_offset(p, out), piece_bytes(p, out), next,
                          all + piece_offset(p, in), piece_bytes(p, in), before, WF__TAG_ALL_GATHER);
    }
    return status;
}

/* Copies `count` pieces, from the piece of rank `first` on, to or from memory where they lie one after the other. */
static size_t pack(const wf_ranks *ranks, char *all, wf_pieces p, int first, int count, char *packed, bool unpack)
{
    size_t at = 0;
    for (int k = 0; k < count; k++) {
        int i = (first + k) % ranks->size;
        char *piece = all + piece_offset(p, i);
        copy(unpack ? piece : packed + at, unpack ? packed + at : piece, piece_bytes(p, i));
        at += piece_bytes(p, i);
    }
    return at;
}

static size_t sum_of(const wf_ranks *ranks, wf_pieces p, int first, int count)
{
    size_t sum = 0;
    for (int k = 0; k < count; k++)
        sum += piece_bytes(p, (first + k) % ranks->size);
    return sum;
}

/* A rank has the pieces of itself and of have - 1 ranks after it. It gives them to the rank `have` before it. */
static wf_status gather_by_doubling(wf_ranks *ranks, const char *doing, char *all, wf_pieces p, size_t total)
{
    wf_status status = WF_OK;
    char *packed = wf__alloc(2 * total + 1), *in = packed ? packed + total : NULL;
    if (!packed)
        return wf__ranks_fail(ranks, doing, WF_ERR_MEMORY, "no memory for %zu bytes", 2 * total);
    for (int have = 1; have < ranks->size && !status; have *= 2) {
        int more = have < ranks->size - have ? have : ranks->size - have, from = ahead(ranks, have);
        size_t bytes = pack(ranks, all, p, ranks->rank, more, packed, false);
        status = exchange(ranks, doing, packed, bytes, ahead(ranks, ranks->size - have), in,
                          sum_of(ranks, p, from, more), from, WF__TAG_ALL_GATHER);
        if (!status)
            pack(ranks, all, p, from, more, in, true);
    }
    wf__free(packed);
    return status;
}

static wf_status gather(wf_ranks *ranks, const char *doing, char *all, wf_pieces p, size_t total)
{
    size_t saved = (size_t)ranks->size - 1; /* messages that rounds save */
    for (int have = 1; have < ranks->size; have *= 2)
        saved--;
    return total < saved * MESSAGE_COST ? gather_by_doubling(ranks, doing, all, p, total)
                                        : gather_by_ring(ranks, doing, all, p);
}

wf_status wf_ranks_all_gather(wf_ranks *ranks, const void *mine, void *all, wf_pieces pieces)
{
    const char *doing = "wf_ranks_all_gather";
    wf_ranks_error error;
    size_t total, last;
    wf_status status = begin(ranks, doing);
    if (!status)
        status = check_pieces(ranks, doing, pieces, all, &total, &last);
    if (status)
        return status;
    size_t own = piece_bytes(pieces, ranks->rank);
    if (own && !mine)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "mine is NULL");
    if (!total)
        return WF_OK;
    if (own)
        copy((char *)all + piece_offset(pieces, ranks->rank), mine, own);
    if (last <= MOST_AT_ONCE && by_transport(ranks, ranks->ops->all_gather))
        status = wf__ranks_result(ranks, doing, ranks->ops->all_gather(ranks->group, all, pieces, &error), &error);
    else
        status = gather(ranks, doing, all, pieces, total);
    return end(ranks, status);
}

/* ---- broadcast -------------------------------------------------------------------------------------------------- */

/* Ranks count from the root here. Each receives from the rank without its lowest bit, and then sends to those that have
 * one lower bit more. */
static wf_status broadcast_by_tree(wf_ranks *ranks, const char *doing, void *data, size_t bytes, int root)
{
    int n = ranks->size, me = (ranks->rank - root + n) % n, bit = 1;
    wf_status status = WF_OK;
    while (bit < n && !(me & bit))
        bit *= 2;
    if (me)
        status = transfer(ranks, doing, false, data, bytes, (me - bit + root) % n, WF__TAG_BROADCAST);
    for (bit /= 2; bit && !status; bit /= 2)
        if (me + bit < n)
            status = transfer(ranks, doing, true, data, bytes, (me + bit + root) % n, WF__TAG_BROADCAST);
    return status;
}

/* The bytes are cut into equal parts, the last of which may be shorter or empty. */
static wf_status broadcast_by_parts(wf_ranks *ranks, const char *doing, char *data, size_t bytes, int root)
{
    int n = ranks->size;
    size_t part = (bytes - 1) / (size_t)n + 1;
    wf_status status = WF_OK;
    size_t *list = wf__alloc(2 * (size_t)n * sizeof *list), *length = list, *offset = list ? list + n : NULL;
    if (!list)
        return wf__ranks_fail(ranks, doing, WF_ERR_MEMORY, "no memory for a list of %d parts", n);
    for (int i = 0; i < n; i++) {
        size_t begin = part * (size_t)i;
        offset[i] = begin < bytes ? begin : bytes;
        length[i] = bytes - offset[i] < part ? bytes - offset[i] : part;
    }
    if (ranks->rank != root)
        status =
            transfer(ranks, doing, false, data + offset[ranks->rank], length[ranks->rank], root, WF__TAG_BROADCAST);
    else
        for (int i = 0; i < n && !status; i++)
            if (i != root)
                status = transfer(ranks, doing, true, data + offset[i], length[i], i, WF__TAG_BROADCAST);
    if (!status)
        status = gather(ranks, doing, data, (wf_pieces){ .bytes = length, .offset = offset }, bytes);
    wf__free(list);
    return status;
}

wf_status wf_ranks_broadcast(wf_ranks *ranks, void *data, size_t bytes, int root)
{
    const char *doing = "wf_ranks_broadcast";
    wf_ranks_error error;
    wf_status status = begin(ranks, doing);
    if (status)
        return status;
    if (root < 0 || root >= ranks->size)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "there is no rank %d", root);
    if (!data && bytes)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "data is NULL");
    if (!bytes || ranks->size == 1)
        return WF_OK;
    if (!by_transport(ranks, ranks->ops->broadcast))
        return end(ranks, bytes / (size_t)ranks->size < MESSAGE_COST || ranks->size == 2
                              ? broadcast_by_tree(ranks, doing, data, bytes, root)
                              : broadcast_by_parts(ranks, doing, data, bytes, root));
    for (size_t at = 0; at < bytes && !status; at += MOST_AT_ONCE) {
        size_t part = bytes - at < MOST_AT_ONCE ? bytes - at : MOST_AT_ONCE;
        status = ranks->ops->broadcast(ranks->group, (char *)data + at, part, root, &error);
    }
    return end(ranks, wf__ranks_result(ranks, doing, status, &error));
}

/* ---- all-to-all ------------------------------------------------------------------------------------------------- */

static wf_status all_to_all(wf_ranks *ranks, const char *doing, const char *out, wf_pieces op, char *in, wf_pieces ip)
{
    enum { AT_ONCE = 16 };
    wf_request *requests[2 * AT_ONCE];
    wf_status status = WF_OK;
    for (int begin = 1; begin < ranks->size && !status; begin += AT_ONCE) {
        int end = begin + AT_ONCE < ranks->size ? begin + AT_ONCE : ranks->size;
        size_t n = 0;
        for (int by = begin; by < end && !status; by++) {
            int from = ahead(ranks, ranks->size - by);
            if (!piece_bytes(ip, from))
                continue;
            status = wf__ranks_begin(ranks, doing, false, in + piece_offset(ip, from), piece_bytes(ip, from), from,
                                     WF__TAG_ALL_TO_ALL, &requests[n]);
            n += !status;
        }
        for (int by = begin; by < end && !status; by++) {
            int to = ahead(ranks, by);
            if (!piece_bytes(op, to))
                continue;
            status = wf__ranks_begin(ranks, doing, true, (char *)out + piece_offset(op, to), piece_bytes(op, to), to,
                                     WF__TAG_ALL_TO_ALL, &requests[n]);
            n += !status;
        }
        if (!status && n)
            status = finish(ranks, doing, requests, n);
        else
            while (n)
                wf_request_free(requests[--n]);
    }
    return status;
}

wf_status wf_ranks_all_to_all(wf_ranks *ranks, const void *out, wf_pieces out_pieces, void *in, wf_pieces in_pieces)
{
    const char *doing = "wf_ranks_all_to_all";
    wf_ranks_error error;
    size_t out_total, in_total, last;
    wf_status status = begin(ranks, doing);
    if (!status)
        status = check_pieces(ranks, doing, out_pieces, out, &out_total, &last);
    if (!status)
        status = check_pieces(ranks, doing, in_pieces, in, &in_total, &last);
    if (status)
        return status;
    size_t own = piece_bytes(out_pieces, ranks->rank);
    if (own != piece_bytes(in_pieces, ranks->rank))
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "the piece for itself has %zu bytes out, %zu in", own,
                              piece_bytes(in_pieces, ranks->rank));
    bool equal = !out_pieces.bytes && !in_pieces.bytes;
    if (equal && out_total <= MOST_AT_ONCE && by_transport(ranks, ranks->ops->all_to_all)) {
        if (!out_total)
            return WF_OK;
        status = ranks->ops->all_to_all(ranks->group, out, in, out_pieces.each, &error);
        return end(ranks, wf__ranks_result(ranks, doing, status, &error));
    }
    if (own)
        copy((char *)in + piece_offset(in_pieces, ranks->rank),
             (const char *)out + piece_offset(out_pieces, ranks->rank), own);
    return end(ranks, all_to_all(ranks, doing, out, out_pieces, in, in_pieces));
}
