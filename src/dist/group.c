/* group.c - groups of ranks over which arrays are distributed, and what their ranks agree on. */
#include "dist/dist.h"
#include <stdlib.h>

wf__dist_group *wf__dist_group_get(wf_context *ctx, wf_ranks *ranks)
{
    wf__mutex_lock(&ctx->lock);
    wf__dist_group *g = ctx->groups;
    while (g && g->ranks != ranks)
        g = g->next;
    if (!g && (g = wf__alloc0(sizeof *g))) {
        g->ranks = ranks;
        g->scratch = wf__alloc((size_t)wf_ranks_size(ranks) * 2 * sizeof(int64_t));
        if (g->scratch) {
            g->next = ctx->groups;
            ctx->groups = g;
        } else {
            wf__free(g);
            g = NULL;
        }
    }
    if (g)
        ++g->refs;
    wf__mutex_unlock(&ctx->lock);
    return g;
}

void wf__dist_group_release(wf_context *ctx, wf__dist_group *group)
{
    wf__mutex_lock(&ctx->lock);
    bool last = --group->refs == 0;
    for (wf__dist_group **at = &ctx->groups; last && *at; at = &(*at)->next)
        if (*at == group) {
            *at = group->next;
            break;
        }
    wf__mutex_unlock(&ctx->lock);
    if (!last)
        return;
    wf__free(group->agreed);
    wf__free(group->scratch);
    wf__free(group);
}

/* ---- launches that are agreed on ---- */
bool wf__dist_agreed(const wf__dist_group *group, uint64_t hash)
{
    for (size_t i = hash, n = 0; n < group->agreed_cap; ++n, ++i) {
        uint64_t at = group->agreed[i & (group->agreed_cap - 1)];
        if (at == hash || !at)
            return at == hash;
    }
    return false;
}

static void put(uint64_t *table, size_t cap, uint64_t hash)
{
    size_t i = hash & (cap - 1);
    while (table[i])
        i = (i + 1) & (cap - 1);
    table[i] = hash;
}

/* Makes room for one more hash. */
static bool reserve(wf__dist_group *g)
{
    enum { FIRST = 64 };
    if (2 * (g->agreed_n + 1) <= g->agreed_cap)
        return true;
    size_t cap = g->agreed_cap ? 2 * g->agreed_cap : FIRST;
    uint64_t *table = wf__alloc0(cap * sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < g->agreed_cap; ++i)
        if (g->agreed[i])
            put(table, cap, g->agreed[i]);
    wf__free(g->agreed);
    g->agreed = table;
    g->agreed_cap = cap;
    return true;
}

void wf__dist_group_end(const wf_array *a, const char *text)
{
    wf_ranks_abort(a->distributed->ranks, EXIT_FAILURE, text);
}

/* True if a collective operation is done. A rank without memory for its messages has not taken part, so it ends the group. */
static bool reached(const wf__dist_group *g, wf_status status, wf__failure *f)
{
    if (status == WF_ERR_MEMORY)
        wf_ranks_abort(g->ranks, EXIT_FAILURE, wf_ranks_message(g->ranks));
    if (status != WF_OK && f->status == WF_OK) {
        f->status = status;
        wf__str_add(&f->text, wf_ranks_message(g->ranks));
    }
    return status == WF_OK;
}

wf_status wf__dist_agree(wf__dist_group *g, uint64_t hash, wf_status status, const char *text, wf__failure *f)
{
    int ranks = wf_ranks_size(g->ranks);
    int64_t *all = g->scratch, mine[2] = { 0, 0 };
    if (status == WF_OK && !reserve(g)) {
        status = WF_ERR_MEMORY;
        text = "out of memory for a launch of distributed arrays";
    }
    mine[0] = (int64_t)status;
    memcpy(&mine[1], &hash, sizeof hash);
    if (!reached(g, wf_ranks_all_gather(g->ranks, mine, all, (wf_pieces){ .each = sizeof mine }), f))
        return f->status;
    bool failed = false;
    int other = -1;
    for (int r = 0; r < ranks; ++r) {
        failed = failed || all[2 * r] != WF_OK;
        other = other < 0 && all[2 * r + 1] != all[1] ? r : other;
    }
    if (failed) {
        wf_ranks_error error;
        wf_status first = wf_ranks_agree(g->ranks, status, text, &error);
        f->status = status != WF_OK ? status : first;
        if (!f->text.len && error.rank == wf_ranks_rank(g->ranks))
            wf__str_add(&f->text, error.text);
        else if (!f->text.len)
            wf__str_addf(&f->text, "rank %d: %s", (int)error.rank, error.text);
    } else if (other >= 0) {
        f->status = WF_ERR_CONTRACT;
        wf__str_addf(&f->text,
                     "ranks 0 and %d launch different recordings, shapes, distributions or numbers that indices "
                     "depend on",
                     other);
    } else if (!wf__dist_agreed(g, hash)) {
        put(g->agreed, g->agreed_cap, hash);
        ++g->agreed_n;
    }
    return f->status;
}

bool wf__dist_agree_on(void *group, int64_t mine, int64_t *all, wf__failure *f)
{
    const wf__dist_group *g = group;
    return reached(g, wf_ranks_all_gather(g->ranks, &mine, all, (wf_pieces){ .each = sizeof mine }), f);
}

bool wf__dist_gather(void *group, void *all, const size_t *bytes, const size_t *offset, wf__failure *f)
{
    const wf__dist_group *g = group;
    void *mine = (char *)all + offset[wf_ranks_rank(g->ranks)];
    return reached(g, wf_ranks_all_gather(g->ranks, mine, all, (wf_pieces){ .bytes = bytes, .offset = offset }), f);
}

static wf_pieces pieces_of(const wf__parcels *p)
{
    return (wf_pieces){ .each = p->each, .bytes = p->bytes, .offset = p->offset };
}

bool wf__dist_all_to_all(void *group, const wf__parcels *out, const wf__parcels *in, wf__failure *f)
{
    const wf__dist_group *g = group;
    return reached(g, wf_ranks_all_to_all(g->ranks, out->at, pieces_of(out), in->at, pieces_of(in)), f);
}

/* Waits for a message that the other rank waits for, too, so a failure ends the group. */
static bool passed(const wf__dist_group *g, wf_status status, wf_request *request, wf__failure *f)
{
    if (status == WF_OK)
        status = wf_request_wait(&request);
    if (status == WF_OK)
        return true;
    wf_request_free(request);
    wf_ranks_abort(g->ranks, EXIT_FAILURE, wf_ranks_message(g->ranks));
    f->status = status;
    wf__str_add(&f->text, wf_ranks_message(g->ranks));
    return false;
}

bool wf__dist_send(void *group, int to, const void *data, size_t bytes, wf__failure *f)
{
    const wf__dist_group *g = group;
    wf_request *request = NULL;
    wf_status status = wf_ranks_send(g->ranks, data, bytes, to, WF__TAG_CARRIES, &request);
    return passed(g, status, request, f);
}

bool wf__dist_receive(void *group, int from, void *data, size_t bytes, wf__failure *f)
{
    const wf__dist_group *g = group;
    wf_request *request = NULL;
    wf_status status = wf_ranks_receive(g->ranks, data, bytes, from, WF__TAG_CARRIES, &request);
    return passed(g, status, request, f);
}
