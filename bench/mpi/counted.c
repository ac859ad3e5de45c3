/* counted.c - see counted.h.
 *
 * Tags of a transport go up to 32767, of which the library uses those above WF_TAG_MAX for its own messages. A program may
 * use tags up to WF_TAG_MAX alone, so the other half goes through a second group of the same ranks. The requests of one wait
 * are all of one half, since collective functions wait for their own messages alone. */
#include "counted.h"
#include <stdio.h>
#include <stdlib.h>

enum { HALVES = 2, HALF = WF_TAG_MAX + 1 };

typedef struct counted {
    wf_ranks *half[HALVES]; /* by tag */
    bool owns_first;
    traffic *count;
} counted;

/* The request of the other group is in the bytes after this one. */
static wf_request **inner_of(wf_request *request) { return (wf_request **)(request + 1); }

/* Sets the text of a function of `ranks` that has failed. Returns `status`. */
static wf_status set_error(const wf_ranks *ranks, wf_status status, wf_ranks_error *error)
{
    if (status != WF_OK && error)
        snprintf(error->text, sizeof error->text, "%s", wf_ranks_message(ranks));
    return status;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static wf_status counted_start(void *group, wf_request *r, wf_ranks_error *error)
{
    const counted *g = group;
    wf_ranks *ranks = g->half[r->tag / HALF];
    const int tag = r->tag % HALF;
    traffic *count = g->count;
    wf_status status = r->sends ? wf_ranks_send(ranks, r->data, r->bytes, r->peer, tag, inner_of(r))
                                : wf_ranks_receive(ranks, r->data, r->bytes, r->peer, tag, inner_of(r));
    if (status != WF_OK)
        return set_error(ranks, status, error);
    *(r->sends ? &count->messages_out : &count->messages_in) += 1;
    *(r->sends ? &count->bytes_out : &count->bytes_in) += (int64_t)r->bytes;
    return WF_OK;
}

/* Tests requests, and sets *index to the first one that is done, or to n. */
static wf_status test_each(wf_request *const *requests, wf_request **inner, size_t n, size_t *index)
{
    wf_status status = WF_OK;
    *index = n;
    for (size_t i = 0; i < n && *index == n && status == WF_OK; i++) {
        bool done = false;
        if (requests[i]->active)
            status = wf_request_test(&inner[i], &done);
        *index = done ? i : n;
    }
    return status;
}

static wf_status counted_wait(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                              size_t *index, wf_ranks_error *error)
{
    const counted *g = group;
    wf_ranks *ranks = g->half[requests[0]->tag / HALF];
    wf_request **inner = malloc(n * sizeof(wf_request *));
    (void)doing; /* the other group's text names a function of its own */
    if (!inner) {
        snprintf(error->text, sizeof error->text, "no memory to wait for %zu requests", n);
        return WF_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        inner[i] = requests[i]->active ? *inner_of(requests[i]) : NULL;
    wf_status status = how == WF_RANKS_ALL   ? wf_request_wait_all(inner, n)
                       : how == WF_RANKS_ANY ? wf_request_wait_any(inner, n, index)
                                             : test_each(requests, inner, n, index);
    for (size_t i = 0; i < n; i++)
        if (requests[i]->active) {
            *inner_of(requests[i]) = inner[i];
            requests[i]->active = inner[i] != NULL;
        }
    free(inner);
    return set_error(ranks, status, error);
}

static void counted_drop(void *group, wf_request *r)
{
    (void)group;
    wf_request_free(*inner_of(r));
    *inner_of(r) = NULL;
}

/* ---- groups and counters ---------------------------------------------------------------------------------------- */

static void counted_close(void *group)
{
    counted *g = group;
    wf_ranks_free(g->half[1]);
    if (g->owns_first)
        wf_ranks_free(g->half[0]);
    free(g);
}

/* Collective: makes the second half. NULL: *status says why. */
static counted *new_group(wf_ranks *first, bool owns_first, traffic *count, wf_status *status)
{
    counted *g = malloc(sizeof *g);
    *status = wf_ranks_agree(first, g ? WF_OK : WF_ERR_MEMORY, "no memory for a group that counts", NULL);
    if (g)
        *g = (counted){ .half = { first, NULL }, .owns_first = owns_first, .count = count };
    if (*status == WF_OK)
        *status = wf_ranks_split(first, 0, wf_ranks_rank(first), &g->half[1]);
    if (*status == WF_OK)
        return g;
    free(g);
    return NULL;
}

static wf_ranks_group described(counted *g)
{
    const wf_ranks *ranks = g->half[0];
    return (wf_ranks_group){ .size = sizeof(wf_ranks_group),
                             .group = g,
                             .rank = wf_ranks_rank(ranks),
                             .ranks = wf_ranks_size(ranks),
                             .library = wf_ranks_library(ranks),
                             .host = wf_ranks_host(ranks, wf_ranks_rank(ranks)) };
}

static wf_status counted_split(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error)
{
    const counted *g = group;
    wf_ranks *part = NULL;
    wf_status status = wf_ranks_split(g->half[0], parts->colour, parts->key, &part);
    if (status != WF_OK)
        return set_error(g->half[0], status, error);
    if (!part)
        return WF_OK;
    counted *made = new_group(part, true, g->count, &status);
    if (made)
        *out = described(made);
    else {
        set_error(part, status, error);
        wf_ranks_free(part);
    }
    return status;
}

static wf_status counted_counter_new(void *group, uint32_t number, void **counter, wf_ranks_error *error)
{
    const counted *g = group;
    wf_counter *made = NULL;
    wf_status status = wf_counter_new(g->half[0], &made);
    (void)number;
    *counter = made;
    return set_error(g->half[0], status, error);
}

static wf_status counted_counter_add(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *error)
{
    const counted *g = group;
    return set_error(g->half[0], wf_counter_add(counter, more, before), error);
}

static void counted_counter_free(void *group, void *counter)
{
    (void)group;
    wf_counter_free(counter);
}

static void counted_abort(void *group, int code, const char *text)
{
    const counted *g = group;
    wf_ranks_abort(g->half[0], code, text);
}

static const wf_ranks_ops counted_ops = { .size = sizeof counted_ops,
                                          .request_bytes = sizeof(wf_request *),
                                          .start = counted_start,
                                          .wait = counted_wait,
                                          .drop = counted_drop,
                                          .split = counted_split,
                                          .counter_new = counted_counter_new,
                                          .counter_add = counted_counter_add,
                                          .counter_free = counted_counter_free,
                                          .abort = counted_abort,
                                          .close = counted_close };

wf_status counted_new(wf_ranks *ranks, traffic *count, wf_ranks **out, wf_ranks_error *error)
{
    wf_status status;
    counted *g = new_group(ranks, false, count, &status);
    if (!g)
        return set_error(ranks, status, error);
    const wf_ranks_group made = described(g);
    status = wf_ranks_new(&counted_ops, &made, out, error);
    if (status != WF_OK)
        counted_close(g);
    return status;
}

bool traffic_same(const char *what, int rank, const traffic *got, const traffic *want)
{
    const traffic less = traffic_less(got, want);
    if (!less.messages_out && !less.bytes_out && !less.messages_in && !less.bytes_in)
        return true;
    fprintf(stderr,
            "%s: rank %d: %lld, %lld messages and %lld, %lld bytes out and in; expected %lld, %lld and %lld, %lld\n",
            what, rank, (long long)got->messages_out, (long long)got->messages_in, (long long)got->bytes_out,
            (long long)got->bytes_in, (long long)want->messages_out, (long long)want->messages_in,
            (long long)want->bytes_out, (long long)want->bytes_in);
    return false;
}
