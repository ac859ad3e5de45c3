/* threads.h - ranks that are threads of one process: the inside of the transport that wf_ranks_threads uses.
 *
 * All ranks share a world under one lock. A message is matched with its receive as soon as both are there, in the order
 * in which they were begun. It is delivered, which is when bytes are copied, at once; or, if the world takes turns, at a
 * time of the world's clock that is drawn from the seed. A world that takes turns lets one thread run at a time. At each
 * call of a function of the transport it draws which thread goes on, so that all depends on the seed alone.
 *
 * A rank that cannot go on is blocked. If all are, and no message is on its way, that is a deadlock: each wait fails with
 * a text that says who waits for whom.
 *
 *   world <- messages <- threads
 */
#ifndef WEFT_RANKS_THREADS_H
#define WEFT_RANKS_THREADS_H
#include "base/os.h"
#include "ranks/ranks.h"

typedef struct letter letter;
/* One side of a message: a send or a receive that has begun. */
struct letter {
    letter *next; /* in the queue of unmatched letters of the receiving rank, or in the list of those on the way */
    wf_request *request; /* NULL: the send is done, and the bytes are a copy that follows this struct */
    letter *other;       /* matched: of the send, the receive, and the other way around */
    uint64_t group;
    const void *data;
    size_t bytes;
    uint64_t when; /* of a send on the way: when it is delivered */
    int32_t from, to, tag;
    enum { LETTER_IDLE, LETTER_QUEUED, LETTER_MATCHED, LETTER_DONE } state;
    wf_status status; /* of a receive that is done */
    size_t sent;      /* of a receive that is done: bytes of the message */
};

typedef struct thread_rank {
    wf__cond wake;
    bool running, blocked;
    bool begun;               /* the program's function was called */
    const char *gone;         /* "has returned" or "is lost"; NULL: neither */
    uint32_t calls;           /* of functions of the transport since `begun` */
    letter *sends, *receives; /* unmatched ones to this rank, oldest first */
    /* what it is blocked in */
    const char *doing;
    wf_request *const *requests;
    size_t n;
} thread_rank;

typedef struct shared_counter shared_counter;
struct shared_counter {
    shared_counter *next;
    uint64_t group;
    uint32_t number;
    int64_t value;
};

typedef struct world {
    wf__mutex lock;
    int n, live, blocked; /* ranks; threads that run; ranks that are blocked */
    int turn;             /* the rank that may run; with a seed */
    bool turns;
    uint64_t random, clock;
    int lost_rank;
    uint32_t lost_after;
    letter *on_the_way; /* sends, in any order */
    shared_counter *counters;
    thread_rank *rank;
    char host[WF__HOST_BYTES];
    wf_status ended; /* not WF_OK: all calls fail with `text` */
    char text[900];
} world;

typedef struct thread_group {
    world *world;
    uint64_t id;
    int rank, n;
    int32_t member[]; /* ranks of the world */
} thread_group;

static inline int world_rank(const thread_group *g) { return g->member[g->rank]; }
static inline letter *letter_of(wf_request *request) { return (letter *)(request + 1); }

/* ---- thread_world.c: the caller holds the lock, and is the rank `me` ---- */
uint64_t wf__world_random(world *w);
/* Begins a call of a function of the transport: other ranks may go first, and this one may be lost here. */
wf_status wf__world_enter(world *w, int me, wf_ranks_error *error);
/* Blocks the rank until something has happened to one of its requests or to a rank. */
void wf__world_block(world *w, int me, wf_request *const *requests, size_t n, const char *doing);
void wf__world_wait_turn(world *w, int me); /* returns at once in a world without turns */
/* Delivers what is due, and draws which rank goes on. In a deadlock it makes all calls fail first. */
void wf__world_pass_turn(world *w);
void wf__world_wake(world *w, int rank);
void wf__world_wake_all(world *w);
/* Makes all calls fail from now on. */
void wf__world_end(world *w, wf_status status, const char *text);
/* The rank is gone: its unfinished messages are dropped. */
void wf__world_leave(world *w, int me, const char *gone);
/* Takes a letter out of where it is; one that is on its way is delivered or dropped. */
void wf__world_forget(world *w, letter *l, bool deliver);
/* Matches a letter that has just begun with the oldest that fits, or keeps it. */
void wf__world_post(world *w, letter *l);

/* ---- thread_messages.c ---- */
extern const wf_ranks_ops wf__thread_ops;
wf_ranks_group wf__thread_group(thread_group *g); /* describes the group to the library */
#endif
