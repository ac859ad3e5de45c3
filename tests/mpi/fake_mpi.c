/* fake_mpi.c - a library such as libweft_mpi-*.so, for test_ranks_open: one rank, and no MPI. */
#include "ranks/mpi.h"
#include <stdio.h>
#include <string.h>

WF_API int fake_mpi_closed, fake_mpi_aborted;
int fake_mpi_closed;  /* how many groups were closed */
int fake_mpi_aborted; /* the code of the latest abort */

static wf_status none(wf_ranks_error *error)
{
    snprintf(error->text, sizeof error->text, "this library sends nothing");
    return WF_ERR_UNSUPPORTED;
}

static wf_status start(void *group, wf_request *request, wf_ranks_error *error)
{
    (void)group, (void)request;
    return none(error);
}

static wf_status wait(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                      size_t *index, wf_ranks_error *error)
{
    (void)group, (void)requests, (void)n, (void)how, (void)doing, (void)index;
    return none(error);
}

static void drop(void *group, wf_request *request) { (void)group, (void)request; }

static wf_status split(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error)
{
    (void)group, (void)parts, (void)error;
    *out = (wf_ranks_group){ .size = sizeof *out, .ranks = 1, .library = "Fake 7.5", .host = "somewhere" };
    return WF_OK;
}

static wf_status counter_new(void *group, uint32_t number, void **counter, wf_ranks_error *error)
{
    (void)group, (void)number, (void)counter;
    return none(error);
}

static wf_status counter_add(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *error)
{
    (void)group, (void)counter, (void)more, (void)before;
    return none(error);
}

static void counter_free(void *group, void *counter) { (void)group, (void)counter; }
static void end_job(void *group, int code, const char *text)
{
    (void)group, (void)text;
    fake_mpi_aborted = code;
}

static void close_group(void *group)
{
    (void)group;
    fake_mpi_closed++;
}

static const wf_ranks_ops ops = { .size = sizeof ops,
                                  .start = start,
                                  .wait = wait,
                                  .drop = drop,
                                  .split = split,
                                  .counter_new = counter_new,
                                  .counter_add = counter_add,
                                  .counter_free = counter_free,
                                  .abort = end_job,
                                  .close = close_group };

/* The communicator is a text: "broken" is refused. */
WF_API wf_status weft_mpi_open(const void *communicator, wf__mpi_opened *out, wf_ranks_error *error);
wf_status weft_mpi_open(const void *communicator, wf__mpi_opened *out, wf_ranks_error *error)
{
    if (out->size != sizeof *out || (communicator && strcmp(communicator, "broken") == 0)) {
        snprintf(error->text, sizeof error->text, "the communicator is broken");
        return WF_ERR_BACKEND;
    }
    out->ops = &ops;
    out->group = (wf_ranks_group){ .size = sizeof out->group, .ranks = 1, .library = "Fake 7.5", .host = "somewhere" };
    snprintf(out->threads, sizeof out->threads, "MPI_THREAD_SINGLE");
    return WF_OK;
}
