/* exchange.c - elements that ranks read from the blocks of others. All ranks know what each of them needs, so no rank asks:
 * each sends what others need of its block. A message has the sender's status, then the elements.
 *
 * What a rank needs may lie outside of the array, by less than its extent, where periodic borders continue the array
 * (plan/distribute/images.c). Such elements are those of a copy of the array beside it, whose blocks are shifted by the
 * extent. A rank that needs copies of its own block sends them to itself. */
#include "dist/dist.h"

enum { HEADER = 16, MOST_EXCHANGES = 16 };

typedef struct message {
    wf__box box;                /* where the receiver has the elements */
    int64_t shift[WF_MAX_RANK]; /* of the box from the sender's elements */
    char *memory;               /* status, then elements in C order */
    bool sends;
} message;

struct wf__exchange {
    wf__exchange *next;
    wf__box *need; /* [ranks] */
    int ranks;
    message *message;     /* [n] */
    wf_request **request; /* [n] prepared */
    size_t n, cap;
};

/* ---- making an exchange ---- */
static void free_exchange(wf__exchange *e)
{
    for (size_t i = 0; i < e->n; ++i) {
        wf_request_free(e->request[i]);
        wf__free(e->message[i].memory);
    }
    wf__free(e->need);
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

static bool add_message(const wf_array *a, wf__exchange *e, message m, int peer, int tag)
{
    const wf__distributed *d = a->distributed;
    const size_t bytes = HEADER + wf__box_elements(&m.box, a->shape.rank) * wf_dtype_size(a->dtype);
    size_t cap = e->cap;
    if (e->n == e->cap) {
        cap = cap ? 2 * cap : 8;
        message *more = wf__realloc(e->message, cap * sizeof *more);
        e->message = more ? more : e->message;
        wf_request **requests = more ? wf__realloc(e->request, cap * sizeof(wf_request *)) : NULL;
        if (!requests)
            return false;
        e->request = requests;
        e->cap = cap;
    }
    wf_request *request = NULL;
    m.memory = wf__alloc0(bytes);
    wf_status status = !m.memory ? WF_ERR_MEMORY
                       : m.sends ? wf_ranks_prepare_send(d->ranks, m.memory, bytes, peer, tag, &request)
                                 : wf_ranks_prepare_receive(d->ranks, m.memory, bytes, peer, tag, &request);
    if (status != WF_OK) {
        wf__free(m.memory);
        return false;
    }
    e->message[e->n] = m;
    e->request[e->n++] = request;
    return true;
}

/* Adds the messages with what a rank needs of a block and of the copies of this block. */
static bool add_messages(const wf_array *a, wf__exchange *e, const wf__box *need, const wf__box *block, int peer,
                         int tag, bool sends)
{
    const int rank = a->shape.rank;
    const bool is_own = peer == wf_ranks_rank(a->distributed->ranks);
    int from[WF_MAX_RANK], to[WF_MAX_RANK], copy[WF_MAX_RANK]; /* copies along each axis, in extents from the array */
    for (int d = 0; d < rank; ++d) {
        copy[d] = from[d] = need->lo[d] < 0 ? -1 : 0;
        to[d] = need->hi[d] > a->shape.dim[d] ? 1 : 0;
    }
    for (int d = 0; d >= 0;) {
        message m = { .sends = sends };
        wf__box moved = *block;
        bool is_array = true;
        for (int k = 0; k < rank; ++k) {
            m.shift[k] = copy[k] * a->shape.dim[k];
            moved.lo[k] += m.shift[k];
            moved.hi[k] += m.shift[k];
            is_array = is_array && !copy[k];
        }
        m.box = wf__box_meet(need, &moved, rank);
        if (!wf__box_is_empty(&m.box, rank) && !(is_own && is_array) && !add_message(a, e, m, peer, tag))
            return false;
        for (d = rank - 1; d >= 0 && ++copy[d] > to[d]; --d)
            copy[d] = from[d];
    }
    return true;
}

static wf__exchange *make(const wf_array *a, const wf__box *need)
{
    const wf__distributed *d = a->distributed;
    int ranks = wf_ranks_size(d->ranks), me = wf_ranks_rank(d->ranks);
    int tag = (int)(d->group->exchanges++ % WF__TAG_CARRIES);
    wf__exchange *e = wf__alloc0(sizeof *e);
    bool ok = e && (e->need = wf__alloc((size_t)ranks * sizeof *e->need));
    if (ok) {
        memcpy(e->need, need, (size_t)ranks * sizeof *need);
        e->ranks = ranks;
    }
    for (int r = 0; ok && r < ranks; ++r) {
        wf__box theirs = wf__block_of(a, r);
        ok = add_messages(a, e, &need[me], &theirs, r, tag, false) &&
             add_messages(a, e, &need[r], &d->block, r, tag, true);
    }
    if (ok || !e)
        return e;
    free_exchange(e);
    return NULL;
}

wf__exchange *wf__exchange_for(wf_array *a, const wf__box *need, bool *made)
{
    wf__distributed *d = a->distributed;
    const int rank = a->shape.rank, ranks = wf_ranks_size(d->ranks);
    bool any = false;
    *made = false;
    for (int r = 0; r < ranks && !any; ++r) {
        wf__box block = wf__block_of(a, r);
        any = !wf__box_within(&need[r], &block, rank);
    }
    if (!any)
        return NULL;
    int n = 0;
    for (wf__exchange **at = &d->exchange, *e; (e = *at); at = &e->next, ++n) {
        if (memcmp(e->need, need, (size_t)ranks * sizeof *need) == 0) {
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
    bool all = d->fresh && !d->views;
    for (int r = 0; all && r < e->ranks; ++r)
        all = wf__box_within(&e->need[r], &d->fresh->need[r], a->shape.rank);
    return all;
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
        if (status == WF_OK)
            wf__box_copy(&m->box, rank, size, wf__elements_shifted(wf__elements_of(a), m->shift, rank, size),
                         wf__elements_packed(m->memory + HEADER, &m->box, rank, size, stride));
    }
    return e->n ? wf_request_start(e->request, e->n) : WF_OK;
}

wf_status wf__exchange_end(wf__exchange *e, wf_array *to, int *failed)
{
    int64_t stride[WF_MAX_RANK], theirs;
    *failed = -1;
    wf_status status = e->n ? wf_request_wait_all(e->request, e->n) : WF_OK;
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
        wf__box_copy(&m->box, to->shape.rank, size,
                     wf__elements_packed(m->memory + HEADER, &m->box, to->shape.rank, size, stride),
                     wf__elements_of(to));
    }
    return status;
}
