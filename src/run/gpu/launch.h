/* launch.h - the kernels of a stage on a GPU (launch.c): code, parameters, grid. Calls stand between begin and end
 * (internal.h).
 */
#ifndef WEFT_GPU_LAUNCH_H
#define WEFT_GPU_LAUNCH_H
#include "run/gpu/internal.h"

typedef struct wf__gpu_kernel_code {
    wf__ptx_code ptx;
    wf__held *module; /* NULL = there is no such kernel */
} wf__gpu_kernel_code;
typedef struct wf__gpu_code { /* stage->code */
    wf__gpu_kernel_code body, join;
} wf__gpu_code;

typedef struct wf__gpu_launch {
    wf__gpu *gpu;
    const wf__plan *plan;
    wf__stage *stage;
    const wf__gpu_code *code;
    const wf__mem *mem, *post; /* slots of the stage, and of its consumer */
    const uint64_t *param;
    const wf__limits *limits;
    wf__note *note; /* or NULL */
    wf__failure *failure;
    char *results;    /* 8 bytes for each reduction of all axes: parameters of later stages */
    char **result;    /* [reductions]: addresses to which a kernel writes the results */
    const char *from; /* the input of a join: [reductions][lines][cells] */
    size_t plane;     /* bytes of one reduction in `from` */
    int64_t cells;    /* points of the kept axes; 1 without kept axes */
    int64_t lines;    /* boxes, or parts, that are joined for each cell */
    int64_t ranges;   /* ranges of lines; each becomes a line of the next join */
    int64_t tiles, rows, warps;
    int64_t blocks; /* thread blocks, where a thread has one point or adjacent ones */
    int depth;
    wf__gpu_watch *watch; /* in debug mode; else NULL */
    unsigned block_x, block_y;
} wf__gpu_launch;

/* Sets l->code. */
bool wf__gpu_get_code(wf__gpu_launch *l);
bool wf__gpu_start(wf__gpu_launch *l);
/* Sets the grid of a join, and l->ranges. More than one range needs a further join. */
void wf__gpu_shape_join(wf__gpu_launch *l);
bool wf__gpu_start_join(wf__gpu_launch *l);
#endif
