/* distributed_cases.h - recordings that test programs run on one process and on several ranks (distributed_cases.c). */
#ifndef WEFT_TEST_DISTRIBUTED_CASES_H
#define WEFT_TEST_DISTRIBUTED_CASES_H
#include "run/memory/array_memory.h"
#include "weft/distributed.h"
#include "weft/weft.h"
#include <stdatomic.h>

typedef struct distributed_run distributed_run;
/* A process that runs a case: alone, or as one of several ranks. */
typedef struct distributed_world {
    wf_context *ctx;
    wf_ranks *ranks; /* NULL = alone */
    distributed_run *run;
    int results; /* number of results so far */
    wf_status status;
    char text[1200];
} distributed_world;

typedef struct distributed_case {
    const char *name;
    void (*record)(distributed_world *w);
} distributed_case;
extern const distributed_case distributed_cases[]; /* ends with a NULL name */
extern const distributed_case distributed_random;  /* a recording that the run's seed decides */

enum { DISTRIBUTED_RESULTS = 128 };
struct distributed_run {
    const distributed_case *it;
    int threads;
    int cut; /* how arrays are cut: 0 = as wf_dist_make does; 1 = along the first axis; 2 = the last; 3 = in halves */
    wf_device device;                /* 0 = WF_CPU */
    wf__fence fence;                 /* around the arrays of each process */
    bool loses;                      /* a rank is lost, so that errors are expected */
    atomic_int deadlocks;            /* ranks that ended because all were waiting for each other */
    uint64_t seed;                   /* of a random case */
    void *want[DISTRIBUTED_RESULTS]; /* results of one process */
    size_t bytes[DISTRIBUTED_RESULTS];
    int results;
};
void distributed_alone(distributed_run *run); /* sets run->want */
/* A function for wf_ranks_threads, with the run as `user`: fails where results differ from run->want. */
wf_status distributed_on_rank(wf_ranks *ranks, void *run);
void distributed_end(distributed_run *run);
#endif
