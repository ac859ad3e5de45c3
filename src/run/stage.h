/* stage.h - what running a stage takes on any device: limits, the memory of slots and temporaries. */
#ifndef WEFT_STAGE_H
#define WEFT_STAGE_H
#include "plan/plan.h"
#include "run/note.h"

/* Limits on the threads of a launch. Results do not depend on them. */
typedef struct wf__limits {
    int32_t threads;       /* most threads; 0 = all of the context */
    int64_t serial_below;  /* a kernel with fewer points runs on one thread; 0 = decided by its work */
    int32_t block_threads; /* threads of a GPU's block; 0 = by occupancy */
} wf__limits;

typedef struct wf__parcels { /* one piece of memory for each rank */
    void *at;
    size_t each;                  /* bytes of all of them, which lie one after the other, or */
    const size_t *bytes, *offset; /* [ranks]; NULL = by `each` */
} wf__parcels;

/* Elements of other ranks that are on their way to this one while a plan runs (launch/distribute.c). Only the thread that
 * launches calls the functions. */
typedef struct wf__arrivals {
    bool pending;             /* the plan has not waited for them */
    void (*poll)(void *user); /* lets messages make progress */
    /* Waits for the elements, and writes them to their arrays. Returns false, with the failure set, if they cannot come, or
     * if a failure was set before. */
    bool (*wait)(void *user, wf__failure *failure);
    void *user;
} wf__arrivals;

/* The ranks that run a plan with distributed arrays together, for joins of their results. Collective: all ranks call the
 * same functions in the same order. */
typedef struct wf__others {
    int rank, ranks;
    /* Sets all[r] to what rank r gives. Returns false, with the failure set, if the ranks cannot reach each other. */
    bool (*agree)(void *user, int64_t mine, int64_t *all, wf__failure *failure);
    /* Every rank gives bytes[rank] bytes at its place all + offset[rank], and gets those of all others. */
    bool (*gather)(void *user, void *all, const size_t *bytes, const size_t *offset, wf__failure *failure);
    /* Every rank gives piece r of `out` to rank r, and gets piece r of `in` from it. */
    bool (*all_to_all)(void *user, const wf__parcels *out, const wf__parcels *in, wf__failure *failure);
    /* Send bytes to a rank, and receive them from one, which both wait for. A failure ends the group. */
    bool (*send)(void *user, int to, const void *data, size_t bytes, wf__failure *failure);
    bool (*receive)(void *user, int from, void *data, size_t bytes, wf__failure *failure);
    void *user;
    wf__arrivals *arrivals; /* NULL = none */
} wf__others;

static inline bool wf__is_block_threads(int32_t n) { return !n || (n >= 32 && n <= 256 && !(n & (n - 1))); }

/* True for a stage of one point that the processor interprets although there is a compiler, until it has run often. */
static inline bool wf__is_little_point(const wf__stage *stage)
{
    return stage->lowered.rank == 1 && stage->extent[0] == 1 && stage->partition.boxes == 1 &&
           (!stage->lowered.loops || stage->partition.work < WF__POINT_WORK);
}

void wf__set_out_of_memory(wf__failure *failure, const char *what);
/* True, with the failure set, if the program has cancelled the work of this thread. What was computed so far is then not
 * complete, so it must not be used: an index may be anything. */
bool wf__is_cancelled(wf__failure *failure);
/* Sets the failure, and returns false. */
static inline bool wf__out_of_memory(wf__failure *failure, const char *what)
{
    wf__set_out_of_memory(failure, what);
    return false;
}
/* Sets the memory of a stage's slots. base: addresses of all objects. */
void wf__stage_mem(const wf__stage *stage, char *const *base, wf__mem *mem);
size_t wf__temp_bytes(const wf__temp *temp); /* bytes of a temporary; SIZE_MAX = overflow */
#endif
