/* launch.h - the kernels of a stage on a GPU (gpu/launch.c): their code, what their parameters hold, their grid.
 * The GPU is the caller's (internal.h: begin and end).
 */
#ifndef WEFT_GPU_LAUNCH_H
#define WEFT_GPU_LAUNCH_H
#include "run/gpu/internal.h"

typedef struct wf__gpu_kernel_code {
    wf__ptx_code ptx;
    wf__held *module; /* NULL: there is no such kernel */
} wf__gpu_kernel_code;
typedef struct wf__gpu_code { /* stage->code */
    wf__gpu_kernel_code body, join;
} wf__gpu_code;

typedef struct wf__gpu_launch {
    wf__gpu *gpu;
    const wf__plan *plan;
    wf__stage *stage;
    const wf__gpu_code *code;
    const wf__mem *mem, *post; /* post: of wf__gpu_post's stage */
    const uint64_t *param;
    const wf__limits *limits;
    wf__note *note; /* or NULL */
    wf__failure *failure;
    char *results;    /* of reductions of all axes, 8 bytes each: parameters of the stages that follow */
    char **result;    /* of reductions: where a kernel puts what they come to */
    const char *from; /* what a kernel joins: [reductions][lines][cells] */
    size_t plane;     /* bytes of a reduction there */
    int64_t cells;    /* points of kept axes; 1 if there are none */
    int64_t lines;    /* boxes, or parts: what a cell is joined from */
    int64_t ranges;   /* that lines are cut into; each becomes a line of the next join */
    int64_t tiles, rows, warps;
    int64_t blocks; /* of points, where threads have one each, or neighbours */
    int depth;
    wf__gpu_watch *watch; /* of debug mode; else NULL */
    unsigned block_x, block_y;
} wf__gpu_launch;

/* What the boxes or parts of a stage give has to be joined, or there are none and the initial values are the results. */
bool wf__gpu_joins(const wf__stage *stage);
/* How the kernel of a stage, or the one that joins, is to be generated; for a driver of that version (0: the newest). */
wf__ptx_options wf__gpu_options(const wf__plan *plan, const wf__stage *stage, const wf__mem *mem, int arch, int driver,
                                bool join);
/* Sets l->code. */
bool wf__gpu_get_code(wf__gpu_launch *l);
bool wf__gpu_start(wf__gpu_launch *l);
/* The join's; sets ranges. A pass more where these are not 1. */
void wf__gpu_shape_join(wf__gpu_launch *l);
bool wf__gpu_start_join(wf__gpu_launch *l);
#endif
