/* request.c - messages: begin, start again, test, wait.
 *
 * A request is one block, the message and the transport's own bytes after it. Blocks are kept for the next messages of the
 * group, so that a message needs no allocation.
 */
#include "ranks/ranks.h"
#include "base/os.h"

/* ---- making and freeing ----------------------------------------------------------------------------------------- */

static wf_request *new_request(wf_ranks *ranks)
{
    size_t bytes = sizeof(wf_request) + ranks->ops->request_bytes;
    wf_request *r = ranks->spare;
    if (!r)
        return wf__alloc0(bytes);
    ranks->spare = r->data;
    return memset(r, 0, bytes);
}

void wf_request_free(wf_request *request)
{
    if (!request)
        return;
    wf_ranks *ranks = request->ranks;
    ranks->ops->drop(ranks->group, request);
    request->data = ranks->spare;
    ranks->spare = request;
}

void wf__ranks_free_spare(wf_ranks *ranks)
{
    for (wf_request *r = ranks->spare, *next; r; r = next) {
        next = r->data;
        wf__free(r);
    }
    ranks->spare = NULL;
}

static wf_status make(wf_ranks *ranks, const char *doing, bool prepared, bool sends, void *data, size_t bytes, int peer,
                      int tag, wf_request **out)
{
    if (peer < 0 || peer >= ranks->size)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "there is no rank %d", peer);
    if ((!data && bytes) || !out)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "%s is NULL", out ? "data" : "out");
    wf_request *r = new_request(ranks);
    if (!r)
        return wf__ranks_fail(ranks, doing, WF_ERR_MEMORY, "no memory for a request");
    *r = (wf_request){
        .ranks = ranks, .data = data, .bytes = bytes, .peer = peer, .tag = tag, .sends = sends, .prepared = prepared
    };
    *out = r;
    return WF_OK;
}

static wf_status start(const char *doing, wf_request *request)
{
    wf_ranks *ranks = request->ranks;
    wf_ranks_error error;
    wf_status status = ranks->ops->start(ranks->group, request, &error);
    request->active = status == WF_OK;
    return wf__ranks_result(ranks, doing, status, &error);
}

wf_status wf__ranks_begin(wf_ranks *ranks, const char *doing, bool sends, void *data, size_t bytes, int peer, int tag,
                          wf_request **out)
{
    wf_request *r;
    wf_status status = make(ranks, doing, false, sends, data, bytes, peer, tag, out ? &r : NULL);
    if (status)
        return status;
    status = start(doing, r);
    if (status)
        wf_request_free(r);
    else
        *out = r;
    return status;
}

static wf_status check_tag(wf_ranks *ranks, const char *doing, int tag)
{
    if (!ranks)
        return WF_ERR_ARG;
    if (tag < 0 || tag > WF_TAG_MAX)
        return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "the tag is %d, not from 0 to %d", tag, WF_TAG_MAX);
    return WF_OK;
}

wf_status wf_ranks_send(wf_ranks *ranks, const void *data, size_t bytes, int to, int tag, wf_request **out)
{
    wf_status status = check_tag(ranks, "wf_ranks_send", tag);
    return status ? status : wf__ranks_begin(ranks, "wf_ranks_send", true, (void *)data, bytes, to, tag, out);
}

wf_status wf_ranks_receive(wf_ranks *ranks, void *data, size_t bytes, int from, int tag, wf_request **out)
{
    wf_status status = check_tag(ranks, "wf_ranks_receive", tag);
    return status ? status : wf__ranks_begin(ranks, "wf_ranks_receive", false, data, bytes, from, tag, out);
}

wf_status wf_ranks_prepare_send(wf_ranks *ranks, const void *data, size_t bytes, int to, int tag, wf_request **out)
{
    const char *doing = "wf_ranks_prepare_send";
    wf_status status = check_tag(ranks, doing, tag);
    return status ? status : make(ranks, doing, true, true, (void *)data, bytes, to, tag, out);
}

wf_status wf_ranks_prepare_receive(wf_ranks *ranks, void *data, size_t bytes, int from, int tag, wf_request **out)
{
    const char *doing = "wf_ranks_prepare_receive";
    wf_status status = check_tag(ranks, doing, tag);
    return status ? status : make(ranks, doing, true, false, data, bytes, from, tag, out);
}

wf_status wf_request_start(wf_request *const *requests, size_t n)
{
    const char *doing = "wf_request_start";
    if (!requests && n)
        return WF_ERR_ARG;
    for (size_t i = 0; i < n; i++) {
        wf_request *r = requests[i];
        if (!r)
            return WF_ERR_ARG;
        if (!r->prepared)
            return wf__ranks_fail(r->ranks, doing, WF_ERR_ARG, "request %zu is not a prepared one", i);
        if (r->active)
            return wf__ranks_fail(r->ranks, doing, WF_ERR_ARG, "request %zu is on its way", i);
        wf_status status = start(doing, r);
        if (status)
            return status;
    }
    return WF_OK;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static bool any_active(wf_request *const *requests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (requests[i] && requests[i]->active)
            return true;
    return false;
}

static wf_status timed_out(wf_ranks *ranks, const char *doing, wf_request *const *requests, size_t n)
{
    enum { NAMED = 3 };
    wf__str text = { 0 };
    size_t active = 0;
    for (size_t i = 0; i < n; i++) {
        if (!requests[i]->active || active++ >= NAMED)
            continue;
        wf__str_add(&text, active > 1 ? "; " : "");
        wf__ranks_describe(&text, requests[i]);
        wf__str_addf(&text, " (%s)", ranks->host[requests[i]->peer]);
    }
    if (active > NAMED)
        wf__str_addf(&text, "; and %zu more", active - NAMED);
    wf__ranks_fail(ranks, doing, WF_ERR_BACKEND, "nothing came for %g s of waiting for %s", ranks->timeout,
                   wf__str_get(&text));
    wf__str_free(&text);
    return WF_ERR_BACKEND;
}

/* Waits; fails if no request is done for `timeout` seconds. */
static wf_status wait_with_timeout(wf_ranks *ranks, const char *doing, wf_request *const *requests, size_t n,
                                   wf_ranks_how how, size_t *index)
{
    wf_ranks_error error;
    double last = wf__now();
    for (;;) {
        wf_status status = ranks->ops->wait(ranks->group, requests, n, WF_RANKS_TEST, doing, index, &error);
        if (status)
            return wf__ranks_result(ranks, doing, status, &error);
        if (*index < n) {
            if (how == WF_RANKS_ANY || !any_active(requests, n))
                return WF_OK;
            last = wf__now();
            continue;
        }
        if (wf__now() - last > ranks->timeout)
            return timed_out(ranks, doing, requests, n);
        wf__yield();
    }
}

wf_status wf__ranks_wait(wf_ranks *ranks, const char *doing, wf_request **requests, size_t n, wf_ranks_how how,
                         size_t *index)
{
    wf_ranks_error error;
    if (ranks->timeout > 0 && how != WF_RANKS_TEST)
        return wait_with_timeout(ranks, doing, requests, n, how, index);
    wf_status status = ranks->ops->wait(ranks->group, requests, n, how, doing, index, &error);
    return wf__ranks_result(ranks, doing, status, &error);
}

/* Frees requests that are done and will not be started again. */
static void retire(wf_request **request)
{
    if (!*request || (*request)->active || (*request)->prepared)
        return;
    wf_request_free(*request);
    *request = NULL;
}

/* Waits for those of n requests that are active. *index: as in the transport's function, in the given order. */
static wf_status wait_for(const char *doing, wf_request **requests, size_t n, wf_ranks_how how, size_t *index)
{
    enum { FEW = 16 };
    wf_request *few[FEW], **active = few;
    wf_ranks *ranks = NULL;
    size_t count = 0, at = 0;
    if (!requests && n)
        return WF_ERR_ARG;
    for (size_t i = 0; i < n; i++)
        if (requests[i] && requests[i]->active) {
            count++;
            if (ranks && requests[i]->ranks != ranks)
                return wf__ranks_fail(ranks, doing, WF_ERR_ARG, "request %zu belongs to another group", i);
            ranks = requests[i]->ranks;
        }
    *index = n;
    if (!count)
        return WF_OK;
    if (count > FEW)
        active = wf__alloc(count * sizeof *active);
    if (!active)
        return wf__ranks_fail(ranks, doing, WF_ERR_MEMORY, "no memory to wait for %zu requests", count);
    count = 0;
    for (size_t i = 0; i < n; i++)
        if (requests[i] && requests[i]->active)
            active[count++] = requests[i];
    wf_status status = wf__ranks_wait(ranks, doing, active, count, how, &at);
    for (size_t i = 0; i < n && !status && how != WF_RANKS_ALL && at < count; i++)
        if (requests[i] == active[at])
            *index = i;
    if (active != few)
        wf__free(active);
    for (size_t i = 0; i < n; i++)
        retire(&requests[i]);
    return status;
}

wf_status wf_request_test(wf_request **request, bool *done)
{
    size_t index;
    if (!request || !done)
        return WF_ERR_ARG;
    wf_status status = wait_for("wf_request_test", request, 1, WF_RANKS_TEST, &index);
    if (!status)
        *done = !any_active(request, 1);
    return status;
}

wf_status wf_request_wait(wf_request **request)
{
    size_t index;
    return request ? wait_for("wf_request_wait", request, 1, WF_RANKS_ALL, &index) : WF_ERR_ARG;
}

wf_status wf_request_wait_all(wf_request **requests, size_t n)
{
    size_t index;
    return wait_for("wf_request_wait_all", requests, n, WF_RANKS_ALL, &index);
}

wf_status wf_request_wait_any(wf_request **requests, size_t n, size_t *index)
{
    size_t at = n;
    if (!index)
        return WF_ERR_ARG;
    wf_status status = wait_for("wf_request_wait_any", requests, n, WF_RANKS_ANY, &at);
    if (!status)
        *index = at;
    return status;
}
