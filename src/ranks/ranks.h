/* ranks.h - the inside of groups of ranks.
 *
 * A group sends its messages by a transport, which is a table of functions (wf_ranks_ops): bytes between two ranks, a
 * counter, groups of groups. This folder has what is the same for all transports, the transport between threads, and the
 * search for the one over MPI (mpi/weft_mpi.c). Files call each other in this order:
 *
 *   error <- request <- collective <- ranks <- {threads, mpi}
 *
 * dist.c, blocks of indices for ranks, stands alone.
 */
#ifndef WEFT_RANKS_INTERNAL_H
#define WEFT_RANKS_INTERNAL_H
#include "base/base.h"
#include "weft/ranks.h"

enum { WF__HOST_BYTES = 64 };

struct wf_ranks {
    const wf_ranks_ops *ops;
    void *group;
    int rank, size;
    double timeout;                              /* seconds; 0 = none */
    void (*abort)(const char *text, void *user); /* before wf_ranks_abort ends the job; NULL = none */
    void *abort_user;
    uint32_t made; /* groups and counters that were made of this one; the same on all ranks */
    char *library;
    char (*host)[WF__HOST_BYTES]; /* of each rank */
    int32_t *status;              /* of each rank, for wf_ranks_agree */
    wf_request *spare;            /* unused requests, linked by `data` */
    wf_ranks_error error;         /* of the latest call that failed */
    wf_ranks_error broken;        /* the failure after which no collective function can begin; WF_OK = none */
};

/* Tags of messages that collectives send. Messages between two ranks stay in order, so one tag for each is enough. */
enum { WF__TAG_BARRIER = WF_TAG_MAX + 1, WF__TAG_BROADCAST, WF__TAG_ALL_GATHER, WF__TAG_ALL_TO_ALL };

/* ---- error.c ---- */
/* Sets an error that belongs to no rank. Returns `status`. */
wf_status wf__ranks_error_set(wf_ranks_error *error, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
/* Makes this the group's message, with the caller's rank and the public function in front. Returns `status`. */
wf_status wf__ranks_fail(wf_ranks *ranks, const char *doing, wf_status status, const char *format, ...)
    WF__PRINTF(4, 5);
/* Likewise for the result of a function of the transport; does nothing if that is WF_OK. Returns `status`. A failure of
 * a rank or of the transport breaks the group. */
wf_status wf__ranks_result(wf_ranks *ranks, const char *doing, wf_status status, const wf_ranks_error *error);
/* From now on collective functions of the group fail, with the message of the latest failure. */
void wf__ranks_break(wf_ranks *ranks);
/* Appends what a request waits for, such as "a message of 8 bytes from rank 1, tag 3". */
void wf__ranks_describe(wf__str *out, const wf_request *request);

/* ---- request.c ---- */
/* Begins a message with any tag. */
wf_status wf__ranks_begin(wf_ranks *ranks, const char *doing, bool sends, void *data, size_t bytes, int peer, int tag,
                          wf_request **out);
/* Waits for requests of this group: at least one is active. */
wf_status wf__ranks_wait(wf_ranks *ranks, const char *doing, wf_request **requests, size_t n, wf_ranks_how how,
                         size_t *index);
void wf__ranks_free_spare(wf_ranks *ranks);
#endif
