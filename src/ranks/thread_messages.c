/* thread_messages.c - the table of functions of ranks that are threads. See threads.h. */
#include "ranks/threads.h"

static wf_status enter(thread_group *g, wf_ranks_error *error)
{
    wf__mutex_lock(&g->world->lock);
    wf_status status = wf__world_enter(g->world, world_rank(g), error);
    if (status)
        wf__mutex_unlock(&g->world->lock);
    return status;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* A send that is done at once: the letter is a copy. NULL = the message waits for its receive. */
static letter *copy_of(world *w, const wf_request *request, const letter *l)
{
    enum { COPIED = 1 << 16 };
    if (!w->turns || request->bytes > COPIED || wf__world_random(w) % 2)
        return NULL;
    letter *copy = wf__alloc(sizeof *copy + request->bytes);
    if (!copy)
        return NULL;
    *copy = *l;
    copy->request = NULL;
    copy->data = copy + 1;
    if (request->bytes)
        memcpy(copy + 1, request->data, request->bytes);
    return copy;
}

static wf_status start(void *group, wf_request *request, wf_ranks_error *error)
{
    thread_group *g = group;
    world *w = g->world;
    wf_status status = enter(g, error);
    if (status)
        return status;
    letter *l = letter_of(request);
    int me = world_rank(g), peer = g->member[request->peer];
    *l = (letter){ .request = request,
                   .group = g->id,
                   .data = request->data,
                   .bytes = request->bytes,
                   .from = request->sends ? me : peer,
                   .to = request->sends ? peer : me,
                   .tag = request->tag };
    letter *copy = request->sends ? copy_of(w, request, l) : NULL;
    if (copy)
        l->state = LETTER_DONE;
    wf__world_post(w, copy ? copy : l);
    wf__mutex_unlock(&w->lock);
    return WF_OK;
}

static void drop(void *group, wf_request *request)
{
    thread_group *g = group;
    if (!request->active)
        return;
    wf__mutex_lock(&g->world->lock);
    wf__world_forget(g->world, letter_of(request), true);
    wf__mutex_unlock(&g->world->lock);
}

/* Ends a request that is done. */
static wf_status end_request(wf_request *request, wf_ranks_error *error)
{
    letter *l = letter_of(request);
    request->active = false;
    l->state = LETTER_IDLE;
    if (l->status == WF_ERR_CONTRACT)
        return wf__ranks_error_set(error, l->status, "the message from rank %d, tag %d, has %zu bytes, not %zu",
                                   (int)request->peer, (int)request->tag, l->sent, request->bytes);
    if (l->status)
        return wf__ranks_error_set(error, l->status, "rank %d has gone before its message was done",
                                   (int)request->peer);
    return WF_OK;
}

/* Returns one of the requests that are done; n = none. With a seed any of them, as on a real network. Sets *open to the
 * number of requests that are active and not done. */
static size_t find_done(world *w, wf_request *const *requests, size_t n, size_t *open)
{
    size_t done = 0, found = n;
    *open = 0;
    for (size_t i = 0; i < n; i++) {
        if (!requests[i]->active)
            continue;
        if (letter_of(requests[i])->state != LETTER_DONE) {
            ++*open;
            continue;
        }
        if (found == n || (w->turns && wf__world_random(w) % (done + 1) == 0))
            found = i;
        done++;
    }
    return found;
}

/* Fails if the wait can never end because ranks are gone: with WF_RANKS_ALL if one request can never be done, else if none
 * of them can. */
static wf_status check_peers(const world *w, const thread_group *g, wf_request *const *requests, size_t n,
                             wf_ranks_how how, wf_ranks_error *error)
{
    const wf_request *hopeless = NULL;
    if (w->ended)
        return wf__ranks_error_set(error, w->ended, "%s", w->text);
    for (size_t i = 0; i < n; i++) {
        wf_request *r = requests[i];
        if (!r->active || letter_of(r)->state == LETTER_DONE)
            continue;
        if (w->rank[g->member[r->peer]].gone && letter_of(r)->state != LETTER_MATCHED)
            hopeless = hopeless ? hopeless : r;
        else if (how != WF_RANKS_ALL)
            return WF_OK;
    }
    if (!hopeless)
        return WF_OK;
    wf__str text = { 0 };
    wf__ranks_describe(&text, hopeless);
    wf__ranks_error_set(error, WF_ERR_BACKEND, "waiting for %s, but that rank %s", wf__str_get(&text),
                        w->rank[g->member[hopeless->peer]].gone);
    wf__str_free(&text);
    return WF_ERR_BACKEND;
}

static wf_status wait(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                      size_t *index, wf_ranks_error *error)
{
    thread_group *g = group;
    world *w = g->world;
    wf_status status = enter(g, error);
    if (status)
        return status;
    size_t found, open;
    for (;;) {
        found = find_done(w, requests, n, &open);
        if (how == WF_RANKS_ALL ? open == 0 : found < n)
            break;
        status = check_peers(w, g, requests, n, how, error);
        if (status || how == WF_RANKS_TEST)
            break;
        wf__world_block(w, world_rank(g), requests, n, doing);
    }
    if (!status && how != WF_RANKS_ALL) {
        if (found < n)
            status = end_request(requests[found], error);
        *index = found;
    }
    for (size_t i = 0; i < n && !status && how == WF_RANKS_ALL; i++)
        if (requests[i]->active)
            status = end_request(requests[i], error);
    wf__mutex_unlock(&w->lock);
    return status;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

wf_ranks_group wf__thread_group(thread_group *g)
{
    return (wf_ranks_group){ .size = sizeof(wf_ranks_group),
                             .group = g,
                             .rank = g->rank,
                             .ranks = g->n,
                             .library = "threads",
                             .host = g->world->host };
}

static wf_status split(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error)
{
    thread_group *g = group;
    if (!parts->n)
        return WF_OK;
    thread_group *made = wf__alloc(sizeof *made + (size_t)parts->n * sizeof *made->member);
    if (!made)
        return wf__ranks_error_set(error, WF_ERR_MEMORY, "no memory for a group of %d ranks", (int)parts->n);
    /* All members compute the same number, which no other group has. */
    uint64_t id[3] = { g->id, parts->number, (uint64_t)(uint32_t)parts->colour };
    *made = (thread_group){ .world = g->world, .id = wf__hash64(id, sizeof id, 0), .rank = parts->rank, .n = parts->n };
    for (int i = 0; i < parts->n; i++)
        made->member[i] = g->member[parts->member[i]];
    *out = wf__thread_group(made);
    return WF_OK;
}

static void close_group(void *group) { wf__free(group); }

static void abort_all(void *group, int code, const char *text)
{
    thread_group *g = group;
    wf__str why = { 0 };
    wf__mutex_lock(&g->world->lock);
    wf__str_addf(&why, "rank %d has aborted with code %d: %s", world_rank(g), code, text);
    wf__world_end(g->world, WF_ERR_BACKEND, wf__str_get(&why));
    wf__mutex_unlock(&g->world->lock);
    wf__str_free(&why);
}

/* ---- counters --------------------------------------------------------------------------------------------------- */

static wf_status counter_new(void *group, uint32_t number, void **counter, wf_ranks_error *error)
{
    thread_group *g = group;
    world *w = g->world;
    wf_status status = enter(g, error);
    if (status)
        return status;
    shared_counter *c = w->counters;
    while (c && !(c->group == g->id && c->number == number))
        c = c->next;
    if (!c && (c = wf__alloc(sizeof *c)) != NULL) {
        *c = (shared_counter){ .next = w->counters, .group = g->id, .number = number };
        w->counters = c;
    }
    if (c)
        *counter = c;
    else
        status = wf__ranks_error_set(error, WF_ERR_MEMORY, "no memory for a counter");
    wf__mutex_unlock(&w->lock);
    return status;
}

static wf_status counter_add(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *error)
{
    thread_group *g = group;
    shared_counter *c = counter;
    wf_status status = enter(g, error);
    if (status)
        return status;
    *before = c->value;
    c->value = (int64_t)((uint64_t)c->value + (uint64_t)more);
    wf__mutex_unlock(&g->world->lock);
    return WF_OK;
}

/* The world frees its counters: a rank that is late may still come to make one. */
static void counter_free(void *group, void *counter)
{
    WF__UNUSED(group);
    WF__UNUSED(counter);
}

const wf_ranks_ops wf__thread_ops = {
    .size = sizeof(wf_ranks_ops),
    .request_bytes = sizeof(letter),
    .start = start,
    .wait = wait,
    .drop = drop,
    .split = split,
    .counter_new = counter_new,
    .counter_add = counter_add,
    .counter_free = counter_free,
    .abort = abort_all,
    .close = close_group,
};
