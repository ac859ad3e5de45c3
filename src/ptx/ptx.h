/* ptx.h - PTX text for NVIDIA GPUs from a lowered body, with the promises of plan/kernel.h. Needs no toolkit and no
 * LLVM.
 *
 * A kernel has one parameter, a block of 8-byte fields: addresses, strides, extents and parameters, as far as the code
 * needs them. The recipe beside the text says what each field holds.
 *
 * How points go to threads:
 *   - Without reductions: one thread a point, or `width` of them (vector.c). Threads along x are neighbours of the lane
 *     axis, along y rows. Blocks are numbered in one dimension: the tiles of a row first.
 *   - All axes reduced: one warp a box. Lane l of the warp is virtual accumulator l, which sees its points in the order
 *     of kernel.h; accumulators are joined by shuffles, k with k + 16, 8, ...
 *   - Some axes kept, the lane axis reduced: one warp for each kept point and part, or for several of them, likewise.
 *   - Teams (kernel.h): a block of threads a block of points, which threads take in turn, neighbours along the last axis.
 *     Threads that would have none in a block at an end leave at once: barriers wait for those that are there.
 *   - Private copies (private.c): as without reductions, but there are fewer blocks, which take turns.
 *   - The lane axis kept: one thread for each kept point and part; x goes along the lane axis.
 * What several boxes, or parts of the points of a kept one, give is joined by a second kernel (join.c). So reductions
 * have the same bits as on the processor.
 */
#ifndef WEFT_PTX_H
#define WEFT_PTX_H
#include "plan/kernel.h"

typedef enum wf__ptx_what {
    WF__PTX_BASE,    /* number: slot. Address of element [0, ..., 0] */
    WF__PTX_STRIDE,  /* number: slot, axis. In elements */
    WF__PTX_DIM,     /* number: slot, axis */
    WF__PTX_PARAM,   /* number: parameter */
    WF__PTX_EXTENT,  /* axis. Of a loop axis */
    WF__PTX_TILES,   /* blocks along the lane axis */
    WF__PTX_BLOCKS,  /* of points: tiles of all rows */
    WF__PTX_ROWS,    /* rows of points: of all outer axes; with the lane axis kept: of the kept ones, times parts */
    WF__PTX_BOX,     /* axis. Extent of a box */
    WF__PTX_BOXES,   /* axis. Boxes along it */
    WF__PTX_WARPS,   /* that have something to do */
    WF__PTX_KEPT,    /* points of the kept axes: cells; without such axes 1 */
    WF__PTX_RECORD,  /* number: slot, axis: so many elements. 1: every record begins at a multiple of their size */
    WF__PTX_ALIGNED, /* 1: points side by side may be read and written by one access (wide, below) */
    WF__PTX_RESULT,  /* number: reduction. Where results go: [parts][kept points]; all axes reduced: [boxes] */
    WF__PTX_REPORT,  /* debug mode: of WF__PTX_REPORT_WORDS words of 8 bytes, 0 at first */
    WF__PTX_WRITERS, /* debug mode, number: slot. Of words, 0 at first, one for each element: this is that of element
                        [0, ..., 0]; 0: they are not kept */
    WF__PTX_RESULTS, /* results that are parameters, 8 bytes for each */
    /* Of the kernel that joins; its blocks are numbered: tiles of cells first, then ranges of rows */
    WF__PTX_FROM,   /* what is joined: [reductions][rows][cells] */
    WF__PTX_PLANE,  /* bytes from one reduction to the next one there */
    WF__PTX_LINES,  /* rows */
    WF__PTX_RANGES, /* of rows, each of which becomes one; a power of two */
    WF__PTX_DEPTH   /* log2 of the ranges that threads have */
} wf__ptx_what;

/* Debug mode: what was found first, 0: nothing, and at which node, by which point; where two points write one
 * element, by which other one (1 + its number); the index outside. Point and index: as many words as there are axes. */
typedef enum wf__ptx_finding { WF__PTX_OUTSIDE = 1, WF__PTX_SAME, WF__PTX_NAN, WF__PTX_LOCAL } wf__ptx_finding;
enum {
    WF__PTX_REPORT_WHAT,
    WF__PTX_REPORT_NODE,
    WF__PTX_REPORT_OTHER,
    WF__PTX_REPORT_POINT,
    WF__PTX_REPORT_INDEX = WF__PTX_REPORT_POINT + WF_MAX_RANK,
    WF__PTX_REPORT_WORDS = WF__PTX_REPORT_INDEX + WF_MAX_RANK
};

typedef struct wf__ptx_field {
    uint8_t what, axis;
    uint16_t number;
} wf__ptx_field;

enum {
    WF__PTX_OF_POST = 1 << 15, /* in number: not of the body, but of options.post */
    WF__PTX_MOST_FIELDS = 512,
    WF__PTX_MOST_WIDE = 16,
    WF__PTX_OLDEST = 70
}; /* fields: 4 KiB of parameters; compute capability 7.0 */

typedef struct wf__ptx_options {
    int arch;    /* compute capability, times 10: 70, 75, 80, 86, 89, 90, 100, ... */
    int ptx;     /* the newest version that the driver knows, times 10, where something may depend on it */
    bool narrow; /* the promise of wf__ptx_is_narrow */
    wf__team team;
    /* Of reductions of all axes, in the kernel that makes the results: values to join them with; else NULL. */
    const uint64_t *initial;
    /* Then, too: a body of one point, with the results as parameters, that is done as soon as they are there; NULL:
     * none. */
    const wf__ir *post;
    /* Points of a row, the last axis, where that alone is reduced, in one part, and there are very many rows; 0: else. */
    int short_rows;
    uint32_t results; /* 1 + the first parameter that is a reduction's result, in the GPU's memory; 0: none is */
    int columns;      /* points of a thread, at most; 0: as many as fit into an access */
    bool join;        /* not the body's kernel, but the one that joins what that gave (join.c) */
    const wf__private *copies; /* that each block of threads has, in so many bytes of shared memory */
    uint32_t copies_n, private_bytes;
} wf__ptx_options;

typedef struct wf__ptx_code {
    wf__str text; /* of a module with the entry `weft_kernel` */
    wf__ptx_field field[WF__PTX_MOST_FIELDS];
    uint32_t fields;
    /* Points of a thread, neighbours along the lane axis, of kernels with one thread a point else. Beyond 1: slots
     * whose addresses, in every row, should be multiples of so many elements. */
    int width;
    uint16_t wide[WF__PTX_MOST_WIDE];
    uint32_t wide_n;
    int version; /* of PTX, times 10, if the compute capability's will not do; else 0 */
    int rows;    /* of reductions with a warp for each kept point: neighbours that a warp does at once */
} wf__ptx_code;

/* Is index arithmetic in 32 bits right for these arrays and extents? */
bool wf__ptx_is_narrow(const wf__ir *body, const wf__mem *mem, const int64_t *extent);
/* WF_OK, else `error` says why: WF_ERR_UNSUPPORTED (what, by name) or WF_ERR_MEMORY. `out` begins zeroed; freed
 * either way. */
wf_status wf__ptx_emit(const wf__ir *body, const wf__ptx_options *options, wf__ptx_code *out, wf__str *error);
/* The kernel that joins has blocks of x times y threads, powers of two, at most so many; x go along cells, y along
 * ranges, of which no thread has one of more than one row. */
int wf__ptx_join_threads(const wf__ir *body);
static inline void wf__ptx_free(wf__ptx_code *code) { wf__str_free(&code->text); }
#endif
