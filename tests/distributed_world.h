/* distributed_world.h - what runs a case on one process and on several ranks, makes its arrays, and compares its results
 * (distributed_world.c). A case records the same for all; alone, its arrays are ordinary ones.
 */
#ifndef WEFT_TEST_DISTRIBUTED_WORLD_H
#define WEFT_TEST_DISTRIBUTED_WORLD_H
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

enum { DISTRIBUTED_RESULTS = 512 };
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
/* Runs the case alone and on ranks, which are threads, and compares. *e: of the first failure. */
wf_status distributed_compare(distributed_run *run, int ranks, wf_ranks_error *e);

/* Does so with n cases, and fails the test where results differ. With a sanitizer each case runs in some of the ways that a test
 * asks for. */
void distributed_check(const distributed_case *cases, size_t n, int ranks, int threads, int cut, wf_device device,
                       wf__fence fence);

/* On 1 to 8 ranks, and on 4 ranks with each cut, by the interpreter. */
void distributed_check_cuts(const distributed_case *cases, size_t n);

/* ---- for cases: arrays are distributed as the run says ---- */
bool world_failed(distributed_world *w); /* notes the first error */
void world_run(distributed_world *w, wf_graph *g);
/* One element that each rank has, as an array of this rank. */
wf_array *world_single(distributed_world *w, wf_dtype dtype, int rank);
/* An array whose elements are the same for each world; not distributed. */
wf_array *world_whole(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed);
wf_array *world_filled(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed); /* the same, distributed */
wf_array *world_empty(distributed_world *w, wf_dtype dtype, wf_shape shape); /* elements are not initialized */
/* The last two, where each rank has the whole of these axes. */
wf_array *world_empty_along(distributed_world *w, wf_dtype dtype, wf_shape shape, wf_axes whole);
wf_array *world_filled_along(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed, wf_axes whole);
/* Notes or compares the contents of a result, and releases it. */
void world_result(distributed_world *w, wf_array *a);
/* Makes NaN of what this rank has memory for besides its block, unless that was fetched since the array was written. A float
 * that a launch reads there without fetching it makes a result differ. */
void world_spoil(distributed_world *w, wf_array *a);
wf_array *world_divided(distributed_world *w, wf_array *a); /* fails unless the array is distributed over the ranks */

/* ---- indices ---- */
/* Integers from 0 to n - 1 in an array that each rank has, or that is distributed. */
wf_array *world_positions(distributed_world *w, wf_shape shape, int n, wf_axes whole, bool distributed);
/* The indices of an array at a point of a space with its axes, along one of them another index. */
wf_vals indices_at_point(wf_graph *g, wf_val index[WF_MAX_RANK], int rank, int along, wf_val other);
/* The same in a space without that axis. */
wf_vals indices_on_line(wf_graph *g, wf_val index[WF_MAX_RANK], int rank, int along, wf_val other);
wf_shape shape_without(wf_shape shape, int axis);
/* The index along an axis to which each line of points along it is permuted, each line in another way. The extent is no
 * multiple of 7. */
wf_val permuted_index(wf_graph *g, wf_shape shape, int along);
#endif
