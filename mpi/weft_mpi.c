/* weft_mpi.c - ranks that are processes of an MPI job: the transport that wf_ranks_open_mpi opens, built with the mpicc of
 * one MPI.
 *
 * MPI 3.0 has all functions that are used here. A message consists of messages of MPI of at most WEFT_MPI_PART bytes each,
 * because MPI counts in int. The communicators are Weft's own and have a handler that returns errors as codes.
 */
#include "ranks/mpi.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_MPI_PART
#define WEFT_MPI_PART ((size_t)1 << 30)
#endif

typedef struct group {
    MPI_Comm comm;
    bool finalize; /* MPI was started for this group */
    char library[128], host[MPI_MAX_PROCESSOR_NAME];
} group;

/* The transport's own bytes of a message: the requests of MPI for its parts. */
typedef struct parts {
    MPI_Request one;
    MPI_Request *request; /* n of them; &one if n is 1 */
    MPI_Status *status;   /* n of them; NULL if n is 1 */
    int n;
    bool prepared; /* the requests are persistent ones, which exist also while no message is on its way */
} parts;

static parts *parts_of(wf_request *request) { return (parts *)(request + 1); }

static wf_status fail(wf_ranks_error *error, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    snprintf(error->text, sizeof error->text, "%s: %s", what, text);
    return WF_ERR_BACKEND;
}

static wf_status check(int code, const char *what, wf_ranks_error *error)
{
    return code == MPI_SUCCESS ? WF_OK : fail(error, what, code);
}

static wf_status no_memory(wf_ranks_error *error)
{
    snprintf(error->text, sizeof error->text, "no memory");
    return WF_ERR_MEMORY;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static bool make_parts(wf_request *r)
{
    parts *p = parts_of(r);
    if (p->n)
        return true;
    size_t n = r->bytes ? (r->bytes - 1) / WEFT_MPI_PART + 1 : 1;
    p->one = MPI_REQUEST_NULL;
    p->request = &p->one;
    if (n > 1) {
        p->request = malloc(n * sizeof *p->request);
        p->status = malloc(n * sizeof *p->status);
    }
    if (!p->request || (n > 1 && !p->status)) {
        free(p->request);
        free(p->status);
        p->status = NULL;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        p->request[i] = MPI_REQUEST_NULL;
    p->n = (int)n;
    return true;
}

static int begin_part(const group *g, const wf_request *r, size_t at, MPI_Request *out)
{
    char *data = r->bytes ? (char *)r->data + at : NULL;
    int bytes = (int)(r->bytes - at < WEFT_MPI_PART ? r->bytes - at : WEFT_MPI_PART);
    if (r->prepared)
        return r->sends ? MPI_Send_init(data, bytes, MPI_BYTE, r->peer, r->tag, g->comm, out)
                        : MPI_Recv_init(data, bytes, MPI_BYTE, r->peer, r->tag, g->comm, out);
    return r->sends ? MPI_Isend(data, bytes, MPI_BYTE, r->peer, r->tag, g->comm, out)
                    : MPI_Irecv(data, bytes, MPI_BYTE, r->peer, r->tag, g->comm, out);
}

static wf_status start(void *user, wf_request *r, wf_ranks_error *error)
{
    parts *p = parts_of(r);
    int code = MPI_SUCCESS;
    if (!make_parts(r))
        return no_memory(error);
    for (int i = 0; i < p->n && !p->prepared && code == MPI_SUCCESS; i++)
        code = begin_part(user, r, (size_t)i * WEFT_MPI_PART, &p->request[i]);
    if (code != MPI_SUCCESS)
        return fail(error, r->sends ? "MPI_Isend" : "MPI_Irecv", code);
    p->prepared = r->prepared;
    return r->prepared ? check(MPI_Startall(p->n, p->request), "MPI_Startall", error) : WF_OK;
}

/* Ends a message whose parts are done: the statuses say how many bytes came, the code whether something went wrong. */
static wf_status end_message(wf_request *r, const MPI_Status *status, int code, wf_ranks_error *error)
{
    const parts *p = parts_of(r);
    size_t got = 0;
    int class = MPI_SUCCESS;
    r->active = false;
    for (int i = 0; i < p->n && code == MPI_ERR_IN_STATUS; i++)
        if (status[i].MPI_ERROR != MPI_SUCCESS && status[i].MPI_ERROR != MPI_ERR_PENDING)
            code = status[i].MPI_ERROR;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE)
        return fail(error, "waiting for a message", code);
    for (int i = 0; i < p->n && !r->sends && class == MPI_SUCCESS; i++) {
        int bytes = 0;
        MPI_Get_count(&status[i], MPI_BYTE, &bytes);
        got += (size_t)bytes;
    }
    if (r->sends || (class == MPI_SUCCESS && got == r->bytes))
        return WF_OK;
    if (class == MPI_ERR_TRUNCATE)
        snprintf(error->text, sizeof error->text, "the message from rank %d, tag %d, has more than %zu bytes",
                 (int)r->peer, (int)r->tag, r->bytes);
    else
        snprintf(error->text, sizeof error->text, "the message from rank %d, tag %d, has %zu bytes, not %zu",
                 (int)r->peer, (int)r->tag, got, r->bytes);
    return WF_ERR_CONTRACT;
}

/* Waits, or asks, for one message. */
static wf_status one(wf_request *r, bool block, wf_ranks_error *error)
{
    parts *p = parts_of(r);
    MPI_Status single, *status = p->n > 1 ? p->status : &single;
    int done = 1, code;
    if (p->n > 1)
        code = block ? MPI_Waitall(p->n, p->request, status) : MPI_Testall(p->n, p->request, &done, status);
    else
        code = block ? MPI_Wait(p->request, status) : MPI_Test(p->request, &done, status);
    return code != MPI_SUCCESS || done ? end_message(r, status, code, error) : WF_OK;
}

/* A wait for one message moves all others, too, so that they can be waited for in turn. */
static wf_status wait(void *user, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                      size_t *index, wf_ranks_error *error)
{
    (void)user, (void)doing;
    *index = n;
    if (how == WF_RANKS_ALL) {
        for (size_t i = 0; i < n; i++) {
            wf_status status = requests[i]->active ? one(requests[i], true, error) : WF_OK;
            if (status)
                return status;
        }
        return WF_OK;
    }
    do
        for (size_t i = 0; i < n; i++) {
            if (!requests[i]->active)
                continue;
            wf_status status = one(requests[i], false, error);
            if (status)
                return status;
            if (!requests[i]->active) {
                *index = i;
                return WF_OK;
            }
        }
    while (how == WF_RANKS_ANY);
    return WF_OK;
}

static void drop(void *user, wf_request *r)
{
    (void)user;
    parts *p = parts_of(r);
    for (int i = 0; i < p->n; i++) {
        if (p->request[i] == MPI_REQUEST_NULL)
            continue;
        if (r->active && !r->sends && MPI_Cancel(&p->request[i]) == MPI_SUCCESS)
            MPI_Wait(&p->request[i], MPI_STATUS_IGNORE);
        if (p->request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&p->request[i]);
    }
    if (p->n > 1) {
        free(p->request);
        free(p->status);
    }
    p->n = 0;
}

/* ---- all ranks -------------------------------------------------------------------------------------------------- */

static wf_status barrier(void *user, wf_ranks_error *error)
{
    return check(MPI_Barrier(((group *)user)->comm), "MPI_Barrier", error);
}

static wf_status broadcast(void *user, void *data, size_t bytes, int root, wf_ranks_error *error)
{
    return check(MPI_Bcast(data, (int)bytes, MPI_BYTE, root, ((group *)user)->comm), "MPI_Bcast", error);
}

static wf_status all_gather(void *user, void *all, wf_pieces pieces, wf_ranks_error *error)
{
    MPI_Comm comm = ((group *)user)->comm;
    int n = 0;
    if (!pieces.bytes)
        return check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, all, (int)pieces.each, MPI_BYTE, comm), "MPI_Allgather",
                     error);
    MPI_Comm_size(comm, &n);
    int *bytes = malloc(2 * (size_t)n * sizeof *bytes), *offset = bytes ? bytes + n : NULL;
    if (!bytes)
        return no_memory(error);
    for (int i = 0; i < n; i++) {
        bytes[i] = (int)pieces.bytes[i];
        offset[i] = (int)pieces.offset[i];
    }
    int code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, bytes, offset, MPI_BYTE, comm);
    free(bytes);
    return check(code, "MPI_Allgatherv", error);
}

static wf_status all_to_all(void *user, const void *out, void *in, size_t each, wf_ranks_error *error)
{
    return check(MPI_Alltoall(out, (int)each, MPI_BYTE, in, (int)each, MPI_BYTE, ((group *)user)->comm), "MPI_Alltoall",
                 error);
}

/* ---- counters: a number in the memory of rank 0 ----------------------------------------------------------------- */

typedef struct counter {
    MPI_Win window;
} counter;

static wf_status counter_new(void *user, uint32_t number, void **out, wf_ranks_error *error)
{
    group *g = user;
    (void)number;
    int rank = 0;
    int64_t *value = NULL;
    counter *c = malloc(sizeof *c);
    if (!c)
        return no_memory(error);
    MPI_Comm_rank(g->comm, &rank);
    int code = MPI_Win_allocate(rank ? 0 : sizeof *value, sizeof *value, MPI_INFO_NULL, g->comm, &value, &c->window);
    if (code == MPI_SUCCESS) {
        MPI_Win_set_errhandler(c->window, MPI_ERRORS_RETURN);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c->window);
            *value = 0;
            MPI_Win_unlock(0, c->window);
        }
        code = MPI_Barrier(g->comm);
    }
    if (code == MPI_SUCCESS)
        code = MPI_Win_lock_all(0, c->window);
    if (code != MPI_SUCCESS) {
        free(c);
        return fail(error, "a window for a counter", code);
    }
    *out = c;
    return WF_OK;
}

static wf_status counter_add(void *user, void *made, int64_t more, int64_t *before, wf_ranks_error *error)
{
    (void)user;
    counter *c = made;
    int64_t was = 0;
    int code = MPI_Fetch_and_op(&more, &was, MPI_INT64_T, 0, 0, MPI_SUM, c->window);
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(0, c->window);
    if (code == MPI_SUCCESS)
        *before = was;
    return check(code, "MPI_Fetch_and_op", error);
}

static void counter_free(void *user, void *made)
{
    (void)user;
    counter *c = made;
    MPI_Win_unlock_all(c->window);
    MPI_Win_free(&c->window);
    free(c);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

/* From "MPICH Version:\t4.0.2\nMPICH Release date:..." to "MPICH 4.0.2", and from "Open MPI v4.1.4, package: ..." to
 * "Open MPI v4.1.4". */
static void name_library(char *out, size_t cap)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    size_t n = 0;
    MPI_Get_library_version(text, &length);
    char *version = strstr(text, " Version:");
    if (version)
        memmove(version, version + strlen(" Version:"), strlen(version + strlen(" Version:")) + 1);
    for (const char *c = text; *c && *c != '\n' && *c != ',' && n + 1 < cap; c++) {
        bool blank = *c == '\t' || *c == ' ';
        if (!blank || (n && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *c;
    }
    out[n] = 0;
}

/* Makes a group of a communicator, which it then owns. */
static group *new_group(MPI_Comm comm, bool finalize, wf_ranks_group *out)
{
    group *g = calloc(1, sizeof *g);
    int length = 0;
    if (!g)
        return NULL;
    g->comm = comm;
    g->finalize = finalize;
    name_library(g->library, sizeof g->library);
    MPI_Get_processor_name(g->host, &length);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    *out = (wf_ranks_group){ .size = sizeof *out, .group = g, .library = g->library, .host = g->host };
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    out->rank = rank;
    out->ranks = size;
    return g;
}

static wf_status split(void *user, const wf_ranks_parts *into, wf_ranks_group *out, wf_ranks_error *error)
{
    group *g = user;
    MPI_Comm comm = MPI_COMM_NULL;
    int code = MPI_Comm_split(g->comm, into->colour < 0 ? MPI_UNDEFINED : into->colour, into->key, &comm);
    if (code != MPI_SUCCESS)
        return fail(error, "MPI_Comm_split", code);
    return comm == MPI_COMM_NULL || new_group(comm, false, out) ? WF_OK : no_memory(error);
}

static void close_group(void *user)
{
    group *g = user;
    MPI_Comm_free(&g->comm);
    if (g->finalize)
        MPI_Finalize();
    free(g);
}

static void end_job(void *user, int code, const char *text)
{
    (void)text;
    MPI_Abort(((group *)user)->comm, code);
}

static const wf_ranks_ops ops = {
    .size = sizeof ops,
    .request_bytes = sizeof(parts),
    .start = start,
    .wait = wait,
    .drop = drop,
    .split = split,
    .counter_new = counter_new,
    .counter_add = counter_add,
    .counter_free = counter_free,
    .abort = end_job,
    .close = close_group,
    .barrier = barrier,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .all_to_all = all_to_all,
};

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static wf_status refuse(wf_ranks_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
    return WF_ERR_UNSUPPORTED;
}

/* Starts MPI, or checks that the program has started it for this thread. */
static wf_status start_mpi(bool *started, int *level, wf_ranks_error *error)
{
    int on = 0, over = 0, main_thread = 0;
    wf_status status = WF_OK;
    MPI_Initialized(&on);
    MPI_Finalized(&over);
    if (over)
        return refuse(error, "MPI was used before and is finalized; it cannot be started twice");
    *started = !on;
    if (!on) {
        status = check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, level), "MPI_Init_thread", error);
        /* MPICH asks these handlers about errors that it finds while it waits. */
        if (!status) {
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        }
        return status;
    }
    MPI_Query_thread(level);
    MPI_Is_thread_main(&main_thread);
    if (*level < MPI_THREAD_SERIALIZED && !main_thread)
        return refuse(error, "the program has started MPI for another thread than this one");
    return WF_OK;
}

WF_API wf_status weft_mpi_open(const void *communicator, wf__mpi_opened *out, wf_ranks_error *error);
wf_status weft_mpi_open(const void *communicator, wf__mpi_opened *out, wf_ranks_error *error)
{
    bool started = false;
    int level = MPI_THREAD_SINGLE;
    MPI_Comm comm = MPI_COMM_WORLD, own = MPI_COMM_NULL;
    if (out->size != sizeof *out)
        return refuse(error, "it belongs to another version of Weft");
    wf_status status = start_mpi(&started, &level, error);
    if (status)
        return status;
    if (communicator)
        memcpy(&comm, communicator, sizeof comm);
    status = check(MPI_Comm_dup(comm, &own), "MPI_Comm_dup", error);
    if (!status && !new_group(own, started, &out->group))
        status = no_memory(error);
    if (status) {
        if (started)
            MPI_Finalize();
        return status;
    }
    out->ops = &ops;
    snprintf(out->threads, sizeof out->threads, "%s",
             level == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
             : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
             : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                              : "MPI_THREAD_SINGLE");
    return WF_OK;
}
