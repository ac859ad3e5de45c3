/* ranks.c - groups: making, splitting, agreement on errors, counters. */
#include "ranks/ranks.h"
#include <stdio.h>
#include <stdlib.h>

int wf_ranks_rank(const wf_ranks *ranks) { return ranks ? ranks->rank : -1; }

int wf_ranks_size(const wf_ranks *ranks) { return ranks ? ranks->size : 0; }

const char *wf_ranks_library(const wf_ranks *ranks) { return ranks ? ranks->library : ""; }

const char *wf_ranks_host(const wf_ranks *ranks, int rank)
{
    return ranks && rank >= 0 && rank < ranks->size ? ranks->host[rank] : "";
}

const char *wf_ranks_message(const wf_ranks *ranks) { return ranks ? ranks->error.text : ""; }

wf_status wf_ranks_set_timeout(wf_ranks *ranks, double seconds)
{
    if (!ranks)
        return WF_ERR_ARG;
    if (!(seconds >= 0 && seconds < 1e9))
        return wf__ranks_fail(ranks, "wf_ranks_set_timeout", WF_ERR_ARG, "%g is no number of seconds", seconds);
    ranks->timeout = seconds;
    return WF_OK;
}

double wf_ranks_get_timeout(const wf_ranks *ranks) { return ranks ? ranks->timeout : 0; }

/* ---- making and freeing ----------------------------------------------------------------------------------------- */

static bool complete(const wf_ranks_ops *ops, const wf_ranks_group *group)
{
    return ops && group && ops->size == sizeof *ops && group->size == sizeof *group && ops->start && ops->wait &&
           ops->drop && ops->split && ops->counter_new && ops->counter_add && ops->counter_free && ops->abort &&
           ops->close && group->ranks > 0 && group->rank >= 0 && group->rank < group->ranks;
}

/* Frees the memory of a group, but not what its transport has. */
static void release(wf_ranks *ranks)
{
    wf__ranks_free_spare(ranks);
    wf__free(ranks->library);
    wf__free(ranks->host);
    wf__free(ranks->status);
    wf__free(ranks);
}

wf_status wf_ranks_new(const wf_ranks_ops *ops, const wf_ranks_group *group, wf_ranks **out, wf_ranks_error *error)
{
    if (!complete(ops, group) || !out)
        return wf__ranks_error_set(error, WF_ERR_ARG,
                                   "wf_ranks_new: the transport's table or group is not complete, or of "
                                   "another version");
    wf_ranks *ranks = wf__alloc0(sizeof *ranks);
    if (ranks) {
        ranks->ops = ops;
        ranks->group = group->group;
        ranks->rank = group->rank;
        ranks->size = group->ranks;
        ranks->library = wf__strdup(group->library ? group->library : "");
        ranks->host = wf__alloc0((size_t)group->ranks * sizeof *ranks->host);
        ranks->status = wf__alloc((size_t)group->ranks * sizeof *ranks->status);
    }
    if (!ranks || !ranks->library || !ranks->host || !ranks->status) {
        if (ranks)
            release(ranks);
        return wf__ranks_error_set(error, WF_ERR_MEMORY, "wf_ranks_new: no memory for a group of %d ranks",
                                   (int)group->ranks);
    }
    char *own = ranks->host[ranks->rank];
    snprintf(own, WF__HOST_BYTES, "%s", group->host ? group->host : "");
    wf_status status = wf_ranks_all_gather(ranks, own, ranks->host, (wf_pieces){ .each = WF__HOST_BYTES });
    if (status) {
        if (error)
            *error = ranks->error;
        release(ranks);
        return status;
    }
    *out = ranks;
    return WF_OK;
}

void wf_ranks_free(wf_ranks *ranks)
{
    if (!ranks)
        return;
    ranks->ops->close(ranks->group);
    release(ranks);
}

void wf_ranks_abort(wf_ranks *ranks, int code, const char *text)
{
    if (!ranks)
        return;
    text = text ? text : "";
    if (ranks->abort)
        ranks->abort(text, ranks->abort_user);
    ranks->ops->abort(ranks->group, code, text);
}

/* ---- splitting -------------------------------------------------------------------------------------------------- */

typedef struct place {
    int32_t colour, key, rank;
} place;

static int by_key(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->key != q->key ? (p->key > q->key) - (p->key < q->key) : p->rank - q->rank;
}

/* Sets the members of the caller's new group; `places` and `member` have room for all ranks. */
static void find_members(const wf_ranks *ranks, place *places, int32_t *member, wf_ranks_parts *parts)
{
    int32_t colour = places[ranks->rank].colour, n = 0;
    for (int i = 0; i < ranks->size; i++)
        if (places[i].colour == colour && colour >= 0)
            places[n++] = places[i];
    qsort(places, (size_t)n, sizeof *places, by_key);
    for (int i = 0; i < n; i++) {
        member[i] = places[i].rank;
        if (member[i] == ranks->rank)
            parts->rank = i;
    }
    parts->n = n;
}

/* Makes the group of these members; *out becomes NULL on ranks that take no part. */
static wf_status make_part(wf_ranks *ranks, const wf_ranks_parts *parts, wf_ranks **out, wf_ranks_error *error)
{
    wf_ranks_group group = { 0 };
    wf_ranks *made = NULL;
    wf_status status = ranks->ops->split(ranks->group, parts, &group, error);
    if (!status && parts->n) {
        status = wf_ranks_new(ranks->ops, &group, &made, error);
        if (status) {
            ranks->ops->close(group.group);
        } else {
            made->timeout = ranks->timeout;
            made->abort = ranks->abort;
            made->abort_user = ranks->abort_user;
        }
    }
    if (!status)
        *out = made;
    return status;
}

wf_status wf_ranks_split(wf_ranks *ranks, int colour, int key, wf_ranks **out)
{
    const char *doing = "wf_ranks_split";
    if (!ranks)
        return WF_ERR_ARG;
    if (!out)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "out is NULL");
    size_t n = (size_t)ranks->size;
    place *places = wf__alloc(n * (sizeof *places + sizeof(int32_t)));
    /* The others would wait for a rank without memory, so all agree first. */
    wf_status status = wf_ranks_agree(ranks, places ? WF_OK : WF_ERR_MEMORY, "no memory to split", NULL);
    if (status) {
        wf__free(places);
        return status;
    }
    wf_ranks_parts parts = { .colour = colour, .key = key, .member = (int32_t *)(places + n), .number = ranks->made };
    wf_ranks_error error;
    place mine = { colour, key, ranks->rank };
    status = wf_ranks_all_gather(ranks, &mine, places, (wf_pieces){ .each = sizeof mine });
    if (!status) {
        ranks->made++;
        find_members(ranks, places, (int32_t *)(places + n), &parts);
        status = wf__ranks_result(ranks, doing, make_part(ranks, &parts, out, &error), &error);
    }
    wf__free(places);
    return status;
}

/* ---- agreement -------------------------------------------------------------------------------------------------- */

wf_status wf_ranks_agree(wf_ranks *ranks, wf_status status, const char *text, wf_ranks_error *error)
{
    int32_t mine = (int32_t)status;
    int first = 0;
    if (!ranks)
        return WF_ERR_ARG;
    wf_status failed = wf_ranks_all_gather(ranks, &mine, ranks->status, (wf_pieces){ .each = sizeof mine });
    while (!failed && first < ranks->size && ranks->status[first] == WF_OK)
        first++;
    wf_ranks_error found = { .rank = first };
    if (!failed && first < ranks->size) {
        found.status = (wf_status)ranks->status[first];
        if (first == ranks->rank)
            snprintf(found.text, sizeof found.text, "%s", text ? text : "");
        failed = wf_ranks_broadcast(ranks, found.text, sizeof found.text, first);
    }
    if (failed == WF_ERR_MEMORY) /* the others would go on without this rank, or wait for it */
        wf_ranks_abort(ranks, EXIT_FAILURE, wf_ranks_message(ranks));
    if (failed) {
        if (error)
            *error = ranks->error;
        return failed;
    }
    if (found.status)
        ranks->error = found;
    if (error)
        *error = found.status ? found : (wf_ranks_error){ .rank = -1 };
    return found.status;
}

/* ---- counters --------------------------------------------------------------------------------------------------- */

struct wf_counter {
    wf_ranks *ranks;
    void *made;
};

wf_status wf_counter_new(wf_ranks *ranks, wf_counter **out)
{
    const char *doing = "wf_counter_new";
    wf_ranks_error error;
    if (!ranks)
        return WF_ERR_ARG;
    if (!out)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "out is NULL");
    wf_counter *counter = wf__alloc0(sizeof *counter);
    wf_status status = wf_ranks_agree(ranks, counter ? WF_OK : WF_ERR_MEMORY, "no memory for a counter", NULL);
    if (!status) {
        counter->ranks = ranks;
        status = ranks->ops->counter_new(ranks->group, ranks->made++, &counter->made, &error);
        wf__ranks_result(ranks, doing, status, &error);
    }
    if (status)
        wf__free(counter);
    else
        *out = counter;
    return status;
}

wf_status wf_counter_add(wf_counter *counter, int64_t more, int64_t *before)
{
    wf_ranks_error error;
    if (!counter || !before)
        return WF_ERR_ARG;
    wf_ranks *ranks = counter->ranks;
    wf_status status = ranks->ops->counter_add(ranks->group, counter->made, more, before, &error);
    return wf__ranks_result(ranks, "wf_counter_add", status, &error);
}

void wf_counter_free(wf_counter *counter)
{
    if (!counter)
        return;
    counter->ranks->ops->counter_free(counter->ranks->group, counter->made);
    wf__free(counter);
}
