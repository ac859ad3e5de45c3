/* ranks.h - groups of ranks: processes, or threads of one process, that run the same program and exchange bytes.
 * Errors: each function returns a status; wf_ranks_message says which rank and operation failed, and why.
 * Threads: one thread uses a group and what belongs to it.
 * Reference: docs/reference/ranks.md */
#ifndef WF_RANKS_H
#define WF_RANKS_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wf_ranks wf_ranks;
typedef struct wf_request wf_request;
typedef struct wf_counter wf_counter;

/* An error, the rank that has it, and its text; filled by the library. */
typedef struct wf_ranks_error {
    wf_status status;
    int32_t rank; /* -1: it belongs to no rank */
    char text[1000];
} wf_ranks_error;

/* ---- groups ----------------------------------------------------------------------------------------------------- */
/* The caller's number in the group, from 0; -1 for NULL. */
WF_API int wf_ranks_rank(const wf_ranks *ranks);
/* The number of ranks of the group; 0 for NULL. */
WF_API int wf_ranks_size(const wf_ranks *ranks);
/* Name and version of what connects the ranks, such as "Open MPI v4.1.4"; "" for NULL.
 * Owns: borrowed from the group. */
WF_API const char *wf_ranks_library(const wf_ranks *ranks);
/* The name of the machine of a rank, cut to 63 bytes; "" for a rank that the group does not have.
 * Owns: borrowed from the group. */
WF_API const char *wf_ranks_host(const wf_ranks *ranks, int rank);
/* The message of the latest call with this group that failed; "" if none has. Owns: borrowed until the next call. */
WF_API const char *wf_ranks_message(const wf_ranks *ranks);
/* Sets how long a call may wait without any of its messages being done, in seconds; 0, as at first: without end.
 * Errors: a call that waits longer fails with WF_ERR_BACKEND; its message says what this rank waits for.
 * Groups that are split off later inherit it. WF_ERR_ARG: not a number of seconds. */
WF_API wf_status wf_ranks_set_timeout(wf_ranks *ranks, double seconds);
/* What was set, also by the environment's WEFT_MPI_TIMEOUT; 0 for NULL. */
WF_API double wf_ranks_get_timeout(const wf_ranks *ranks);
/* Collective: ranks that give the same colour form a group, numbered by key, then by their old number.
 * A negative colour takes no part, and *out becomes NULL.
 * Owns: the caller frees the group, before the one that it was split from. */
WF_API wf_status wf_ranks_split(wf_ranks *ranks, int colour, int key, wf_ranks **out);
/* Frees a group; NULL is a no-op. Collective for groups of processes. Requests and counters must be freed before. */
WF_API void wf_ranks_free(wf_ranks *ranks);
/* Ends the work of all ranks. Processes are ended, with this exit code, after wf_ranks_mpi_options.abort got the text;
 * calls of ranks that are threads fail from then on with this text. */
WF_API void wf_ranks_abort(wf_ranks *ranks, int code, const char *text);

/* ---- messages ---------------------------------------------------------------------------------------------------
 * A message has a number of bytes that both sides name, and a tag. Messages from one rank to another that have the same
 * tag are received in the order in which they are sent. A send may be done only when the other side receives. */
#define WF_TAG_MAX 16383 /* tags are from 0 to this */
/* Begin to send or to receive, and return at once. *out is for wf_request_wait and its kin, which free it.
 * The memory must stay, and not be written (send) or used (receive), until the request is done.
 * Errors: WF_ERR_CONTRACT, when the request is waited for: the message has another number of bytes. */
WF_API wf_status wf_ranks_send(wf_ranks *ranks, const void *data, size_t bytes, int to, int tag, wf_request **out);
WF_API wf_status wf_ranks_receive(wf_ranks *ranks, void *data, size_t bytes, int from, int tag, wf_request **out);
/* The same for messages that are repeated: wf_request_start begins, any number of times, and the request stays.
 * Owns: the caller frees the request. */
WF_API wf_status wf_ranks_prepare_send(wf_ranks *ranks, const void *data, size_t bytes, int to, int tag,
                                       wf_request **out);
WF_API wf_status wf_ranks_prepare_receive(wf_ranks *ranks, void *data, size_t bytes, int from, int tag,
                                          wf_request **out);
/* Begins n prepared messages, none of which may be on its way. */
WF_API wf_status wf_request_start(wf_request *const *requests, size_t n);
/* Sets *done to whether the request is done, without waiting; gives the library time to move messages.
 * A request of wf_ranks_send and wf_ranks_receive that is done is freed, and *request becomes NULL. True for NULL. */
WF_API wf_status wf_request_test(wf_request **request, bool *done);
/* Waits until the request is done; likewise. */
WF_API wf_status wf_request_wait(wf_request **request);
/* Waits until n requests of one group are done. NULL entries, and prepared ones that are not started, are done. */
WF_API wf_status wf_request_wait_all(wf_request **requests, size_t n);
/* Waits until one more of n requests of one group is done, and sets *index to it; to n if none is on its way. */
WF_API wf_status wf_request_wait_any(wf_request **requests, size_t n, size_t *index);
/* Frees a request, also one that is not done, whose message may then be lost. NULL is a no-op. */
WF_API void wf_request_free(wf_request *request);

/* ---- all ranks of a group call these, in the same order --------------------------------------------------------- */
/* Errors: after one of them has failed on its way, all fail at once on that rank (WF_ERR_BACKEND). */

/* Waits until all ranks have come here. */
WF_API wf_status wf_ranks_barrier(wf_ranks *ranks);
/* Copies the bytes of rank `root` to all others. */
WF_API wf_status wf_ranks_broadcast(wf_ranks *ranks, void *data, size_t bytes, int root);
/* One piece of memory for each rank: all have `each` bytes and lie one after the other, or their numbers of bytes and
 * their offsets are listed. */
typedef struct wf_pieces {
    size_t each;
    const size_t *bytes, *offset; /* NULL: by `each` */
} wf_pieces;
/* Collects a piece of each rank on all ranks, which give the same `pieces`. The caller's is at `mine`, which may be its
 * place in `all`. */
WF_API wf_status wf_ranks_all_gather(wf_ranks *ranks, const void *mine, void *all, wf_pieces pieces);
/* Sends piece i of `out` to rank i, and receives piece i of `in` from rank i. The memory must not overlap.
 * Either all ranks give lists of pieces, or none. */
WF_API wf_status wf_ranks_all_to_all(wf_ranks *ranks, const void *out, wf_pieces out_pieces, void *in,
                                     wf_pieces in_pieces);
/* All ranks learn the error of the lowest rank that has one; WF_OK: none has. A rank without memory to take part ends the
 * group.
 * Returns that status on all ranks. `error` (may be NULL) gets it with rank and text; `text` is copied; NULL: "".
 * Example: status = wf_ranks_agree(ranks, status, "no such file", &error); */
WF_API wf_status wf_ranks_agree(wf_ranks *ranks, wf_status status, const char *text, wf_ranks_error *error);

/* ---- a number that all ranks share, for dynamic balance --------------------------------------------------------- */
/* Collective: a new counter, 0 at first. Owns: the caller frees it. */
WF_API wf_status wf_counter_new(wf_ranks *ranks, wf_counter **out);
/* Adds `more` and sets *before to what the counter was, atomically. Not collective. */
WF_API wf_status wf_counter_add(wf_counter *counter, int64_t more, int64_t *before);
/* Collective; NULL is a no-op. */
WF_API void wf_counter_free(wf_counter *counter);

/* ---- ranks that are threads ------------------------------------------------------------------------------------- */
typedef struct wf_ranks_threads_options {
    size_t size; /* sizeof(wf_ranks_threads_options) */
    /* 0: the threads run at once. Else one at a time, in an order that depends on the seed alone, and messages take
     * times that depend on it; a program then does the same each time. */
    uint64_t seed;
    int32_t lost_rank;   /* with lost_after: this rank is lost at its call number lost_after, for tests */
    uint32_t lost_after; /* 0: never */
} wf_ranks_threads_options;
/* Runs function(ranks, user) on n threads, each of which is one rank, and returns when all have returned: the status of
 * the rank that failed first, with rank and text in `error` (may be NULL). `options` may be NULL.
 * Errors: a rank that has returned, or is lost, makes waits for it fail (WF_ERR_BACKEND); so does a rank that aborts.
 * WF_ERR_CONTRACT: all ranks wait for each other; the text says who waits for whom.
 * Owns: the function borrows its group. */
WF_API wf_status wf_ranks_threads(int n, wf_status (*function)(wf_ranks *ranks, void *user), void *user,
                                  const wf_ranks_threads_options *options, wf_ranks_error *error);

/* ---- ranks that are processes of an MPI job --------------------------------------------------------------------- */
typedef struct wf_ranks_mpi_options {
    size_t size; /* sizeof(wf_ranks_mpi_options) */
    /* Address of the MPI_Comm whose ranks form the group, which is duplicated; NULL: MPI_COMM_WORLD. */
    const void *communicator;
    const char *library; /* in place of the environment's WEFT_MPI; NULL: that */
    /* Called for each step of the search, with one line of text without an end of line. May be NULL. */
    void (*log)(const char *text, void *user);
    void *log_user;
    /* Called by wf_ranks_abort before it ends the job, on the rank that aborts, with the text that says why. Groups that
     * are split off inherit it. May be NULL. */
    void (*abort)(const char *text, void *user);
    void *abort_user; /* stays valid as long as the groups */
} wf_ranks_mpi_options;
/* Collective: a group of the processes that mpirun has started. Opens the library libweft_mpi-* for their MPI, and starts
 * MPI if the program has not (MPI_THREAD_FUNNELED); wf_ranks_free then ends it, once for all.
 * Errors: WF_ERR_UNSUPPORTED: no library, or another MPI than the launcher's, which then would see one rank alone.
 * Without a launcher: one rank. `options` and `error` may be NULL. Owns: the caller frees the group, at the end. */
WF_API wf_status wf_ranks_open_mpi(const wf_ranks_mpi_options *options, wf_ranks **out, wf_ranks_error *error);

/* The number of ranks that a launcher of MPI says it has started, by the variables that it sets; 1: there is none.
 * Threads: from any thread. */
WF_API int wf_ranks_launched(void);

/* ---- transports: what connects ranks is a table of functions, which a program may give ------------------------------
 * Every function that returns a status writes error->text on failure. The caller checks all arguments. */
/* A message. The transport's own `request_bytes` bytes, zero at first and aligned for pointers, are at `request + 1`. */
struct wf_request {
    wf_ranks *ranks; /* for the library */
    void *data;
    size_t bytes;
    int32_t peer, tag; /* tag: from 0 to 32767 */
    bool sends;        /* data is only read */
    bool prepared;     /* it will be started again */
    bool active;       /* started, and not yet done; set after start, cleared by wait */
};
typedef enum wf_ranks_how {
    WF_RANKS_ALL,  /* wait until all active requests are done */
    WF_RANKS_ANY,  /* wait until one is done; the others stay active even if they are, too */
    WF_RANKS_TEST, /* likewise, but do not wait */
    WF_RANKS_HOW_INT32 = 0x7fffffff
} wf_ranks_how;
/* A group, as its transport describes it. */
typedef struct wf_ranks_group {
    size_t size; /* sizeof(wf_ranks_group) */
    void *group; /* the first argument of the transport's functions */
    int32_t rank, ranks;
    const char *library, *host; /* copied; for wf_ranks_library and wf_ranks_host */
} wf_ranks_group;
/* How ranks split: the transport may use either the colour and key, or the list of members. */
typedef struct wf_ranks_parts {
    int32_t colour, key; /* colour < 0: this rank takes no part; n is 0 */
    const int32_t *member;
    int32_t n, rank; /* the members in the new order, and the caller's place among them */
    uint32_t number; /* the same on all ranks: how many groups and counters this one has made before */
} wf_ranks_parts;
typedef struct wf_ranks_ops {
    size_t size; /* sizeof(wf_ranks_ops) */
    size_t request_bytes;
    wf_status (*start)(void *group, wf_request *request, wf_ranks_error *error);
    /* n > 0 requests, at least one active. `doing`: the public function, for messages. Clears `active` of what is
     * done; ANY and TEST: of one request alone, and set *index to it, or to n. */
    wf_status (*wait)(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                      size_t *index, wf_ranks_error *error);
    void (*drop)(void *group, wf_request *request); /* frees what the transport has for it; it may be active */
    wf_status (*split)(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error);
    /* number: as in wf_ranks_parts */
    wf_status (*counter_new)(void *group, uint32_t number, void **counter, wf_ranks_error *error);
    wf_status (*counter_add)(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *error);
    void (*counter_free)(void *group, void *counter);
    void (*abort)(void *group, int code, const char *text);
    void (*close)(void *group);
    /* Collective functions, for at most 1 GiB of memory. The library builds those that are NULL of messages, and all of
     * them while a timeout is set. */
    wf_status (*barrier)(void *group, wf_ranks_error *error);
    wf_status (*broadcast)(void *group, void *data, size_t bytes, int root, wf_ranks_error *error);
    wf_status (*all_gather)(void *group, void *all, wf_pieces pieces, wf_ranks_error *error); /* mine is in its place */
    wf_status (*all_to_all)(void *group, const void *out, void *in, size_t each, wf_ranks_error *error);
} wf_ranks_ops;
/* Collective: makes a group that uses this transport.
 * Owns: *out owns group->group, which wf_ranks_free closes; on failure the caller keeps it. `ops` is borrowed.
 * Errors: WF_ERR_ARG: a size of another version, a missing function. */
WF_API wf_status wf_ranks_new(const wf_ranks_ops *ops, const wf_ranks_group *group, wf_ranks **out,
                              wf_ranks_error *error);

#ifdef __cplusplus
}
#endif
#endif
