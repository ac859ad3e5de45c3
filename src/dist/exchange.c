/* exchange.c - elements that ranks read from the blocks of others. All ranks know what each of them needs, so no rank asks:
 * each sends what others need of its block. A message has the sender's status, then all elements that go from one rank to
 * another one.
 *
 * What a rank needs may lie outside of the array, by less than its extent, where periodic borders continue the array
 * (plan/distribute/images.c). Such elements are those of a copy of the array beside it, whose blocks are shifted by the
 * extent. A rank that needs copies of its own block sends them to itself. */
#include "dist/dist.h"

enum { HEADER = 16, MOST_EXCHANGES = 16 };

typedef struct piece {
    wf__box box;                /* where the receiver has the elements */
    int64_t shift[WF_MAX_RANK]; /* of the box from the sender's elements */
    size_t offset;              /* in the memory of the message, where they lie in C order */
} piece;

typedef struct message {
    uint32_t first, count; /* pieces */
    char *memory;          /* status, then the pieces */
    bool sends;
} message;

struct wf__exchange {
    wf__exchange *next;
    wf__needs *need;
    piece *piece;
    uint32_t piece_n, piece_cap;
    message *message;     /* [n] */
    wf_request **request; /* [n] prepared */
    uint32_t n, message_cap, request_cap;
    wf_status polled; /* the failure of a message that was polled for */
};

/* ---- making an exchange ---- */
static void free_exchange(wf__exchange *e)
{
    for (size_t i = 0; i < e->n; ++i) {
        wf_request_free(e->request[i]);
        wf__free(e->message[i].memory);
    }
    wf__needs_release(e->need);
    wf__free(e->piece);
    wf__free(e->message);
    wf__free(e->request);
    wf__free(e);
}

void wf__exchanges_free(wf__exchange *first)
{
    for (wf__exchange *next; first; first = next) {
        next = first->next;
        free_exchange(first);
    }
}

/* Adds the pieces of what a rank needs in a box that lie in a block and in the copies of this block. */
static bool add_pieces(const wf_array *a, wf__exchange *e, const wf__box *need, const wf__box *block, bool is_own,
                       size_t *bytes)
{
    const int rank = a->shape.rank;
    int from[WF_MAX_RANK], to[WF_MAX_RANK], copy[WF_MAX_RANK]; /* copies along each axis, in extents from the array */
    for (int d = 0; d < rank; ++d) {
        copy[d] = from[d] = need->lo[d] < 0 ? -1 : 0;
        to[d] = need->hi[d] > a->shape.dim[d] ? 1 : 0;
    }
    for (int d = 0; d >= 0;) {
        piece p = { .offset = *bytes };
        wf__box moved = *block;
        bool is_array = true;
        for (int k = 0; k < rank; ++k) {
            p.shift[k] = copy[k] * a->shape.dim[k];
            moved.lo[k] += p.shift[k];
            moved.hi[k] += p.shift[k];
            is_array = is_array && !copy[k];
        }
        p.box = wf__box_meet(need, &moved, rank);
        if (!wf__box_is_empty(&p.box, rank) && !(is_own && is_array)) {
            if (!wf__grow(&e->piece, &e->piece_cap, e->piece_n + 1, sizeof *e->piece))
                return false;
            e->piece[e->piece_n++] = p;
            *bytes += wf__box_elements(&p.box, rank) * wf_dtype_size(a->dtype);
        }
        for (d = rank - 1; d >= 0 && ++copy[d] > to[d]; --d)
            copy[d] = from[d];
    }
    return true;
}

/* Adds the message with what rank `of` needs of a block, if it needs anything of it. */
static bool add_message(const wf_array *a, wf__exchange *e, int of, const wf__box *block, int peer, int tag, bool sends)
{
    wf_ranks *ranks = a->distributed->ranks;
    message m = { .first = e->piece_n, .sends = sends };
    wf_request *request = NULL;
    size_t bytes = HEADER;
    uint32_t n;
    const wf__box *need = wf__needs_of(e->need, of, &n);
    for (uint32_t i = 0; i < n; ++i)
        if (!add_pieces(a, e, &need[i], block, peer == wf_ranks_rank(ranks), &bytes))
            return false;
    m.count = e->piece_n - m.first;
    if (!m.count)
        return true;
    if (!wf__grow(&e->message, &e->message_cap, e->n + 1, sizeof *e->message) ||
        !wf__grow(&e->request, &e->request_cap, e->n + 1, sizeof(wf_request *)))
        return false;
    m.memory = wf__alloc0(bytes);
    wf_status status = !m.memory ? WF_ERR_MEMORY
                       : sends   ? wf_ranks_prepare_send(ranks, m.memory, bytes, peer, tag, &request)
                                 : wf_ranks_prepare_receive(ranks, m.memory, bytes, peer, tag, &request);
    if (status != WF_OK) {
        wf__free(m.memory);
        return false;
    }
    e->message[e->n] = m;
    e->request[e->n++] = request;
    return true;
}

static wf__exchange *make(const wf_array *a, wf__needs *need)
{
    const wf__distributed *d = a->distributed;
    const int me = wf_ranks_rank(d->ranks), tag = (int)(d->group->exchanges++ % WF__TAG_CARRIES);
    wf__exchange *e = wf__alloc0(sizeof *e);
    bool ok = e != NULL;
    if (ok)
        e->need = wf__needs_retain(need);
    for (int r = 0; ok && r < need->ranks; ++r) {
        wf__box theirs = wf__block_of(a, r);
        ok = add_message(a, e, me, &theirs, r, tag, false) && add_message(a, e, r, &d->block, r, tag, true);
    }
    if (ok || !e)
        return e;
    free_exchange(e);
    return NULL;
}

/* True if a rank needs elements that are not in its block. */
static bool any_needed(const wf_array *a, const wf__needs *need)
{
    for (int r = 0; r < need->ranks; ++r) {
        const wf__box block = wf__block_of(a, r);
        uint32_t n;
        const wf__box *box = wf__needs_of(need, r, &n);
        for (uint32_t i = 0; i < n; ++i)
            if (!wf__box_within(&box[i], &block, a->shape.rank))
                return true;
    }
    return false;
}

wf__exchange *wf__exchange_for(wf_array *a, wf__needs *need, bool *made)
{
    wf__distributed *d = a->distributed;
    *made = false;
    if (!any_needed(a, need))
        return NULL;
    int n = 0;
    for (wf__exchange **at = &d->exchange, *e; (e = *at); at = &e->next, ++n) {
        if (wf__needs_equal(e->need, need)) {
            wf__needs *old = e->need; /* the next launch of this plan finds the same needs */
            e->need = wf__needs_retain(need);
            wf__needs_release(old);
            *at = e->next;
            e->next = d->exchange;
            return d->exchange = e;
        }
        if (n + 1 == MOST_EXCHANGES) { /* the oldest one leaves */
            *at = NULL;
            d->fresh = d->fresh == e ? NULL : d->fresh;
            free_exchange(e);
            break;
        }
    }
    *made = true;
    wf__exchange *e = make(a, need);
    if (e) {
        e->next = d->exchange;
        d->exchange = e;
    }
    return e;
}

void wf__exchange_drop(wf_array *a, wf__exchange *e)
{
    wf__distributed *d = a->distributed;
    for (wf__exchange **at = &d->exchange; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    d->fresh = d->fresh == e ? NULL : d->fresh;
    free_exchange(e);
}

bool wf__exchange_is_fresh(const wf_array *a, const wf__exchange *e)
{
    const wf__distributed *d = a->distributed;
    return d->fresh && !d->views && wf__needs_within(e->need, d->fresh->need);
}

/* ---- an exchange ---- */
wf_status wf__exchange_begin(const wf_array *a, wf__exchange *e, wf_status status)
{
    const size_t size = wf_dtype_size(a->dtype);
    const int rank = a->shape.rank;
    int64_t stride[WF_MAX_RANK], mine = (int64_t)status;
    for (size_t i = 0; i < e->n; ++i) {
        const message *m = &e->message[i];
        if (!m->sends)
            continue;
        memcpy(m->memory, &mine, sizeof mine);
        for (const piece *p = e->piece + m->first; status == WF_OK && p < e->piece + m->first + m->count; ++p)
            wf__box_copy(&p->box, rank, size, wf__elements_shifted(wf__elements_of(a), p->shift, rank, size),
                         wf__elements_packed(m->memory + p->offset, &p->box, rank, size, stride));
    }
    e->polled = WF_OK;
    return e->n ? wf_request_start(e->request, e->n) : WF_OK;
}

bool wf__exchange_poll(wf__exchange *e)
{
    for (size_t i = 0; i < e->n; ++i) {
        bool done = true;
        if (e->request[i]->active && e->polled == WF_OK)
            e->polled = wf_request_test(&e->request[i], &done);
        if (!done)
            return true;
    }
    return false;
}

wf_status wf__exchange_end(wf__exchange *e, wf_array *to, int *failed)
{
    int64_t stride[WF_MAX_RANK], theirs;
    *failed = -1;
    wf_status status = e->n && e->polled == WF_OK ? wf_request_wait_all(e->request, e->n) : e->polled;
    for (size_t i = 0; status == WF_OK && i < e->n; ++i) {
        const message *m = &e->message[i];
        if (m->sends)
            continue;
        memcpy(&theirs, m->memory, sizeof theirs);
        if (theirs != WF_OK) {
            *failed = e->request[i]->peer;
            return (wf_status)theirs;
        }
        if (!to)
            continue;
        const size_t size = wf_dtype_size(to->dtype);
        const int rank = to->shape.rank;
        for (const piece *p = e->piece + m->first; p < e->piece + m->first + m->count; ++p)
            wf__box_copy(&p->box, rank, size, wf__elements_packed(m->memory + p->offset, &p->box, rank, size, stride),
                         wf__elements_of(to));
    }
    return status;
}
