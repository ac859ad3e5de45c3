/* ptx.h - PTX text for NVIDIA GPUs from a lowered body that keeps the promises of plan/kernel.h. It needs no toolkit
 * and no LLVM.
 *
 * A kernel has one parameter: an array of 8-byte fields with the addresses, strides, extents and parameters that its
 * code uses. wf__ptx_code.field, the recipe beside the text, says what the launch stores in each field.
 *
 * Points go to threads in one of these ways:
 *   - No reductions: a thread does one point, or `width` neighbouring points (vector.c). x runs along the lane axis, y
 *     along rows. Thread blocks are numbered in one dimension: the tiles of a row first.
 *   - All axes reduced: a warp does one box. Lane l is virtual accumulator l, which gets its points in the order of
 *     kernel.h. Shuffles then join accumulator k with k + 16, k + 8, ...
 *   - Some axes kept, the lane axis reduced: a warp does one kept point and part, or several of them, in the same way.
 *   - The lane axis kept: a thread does one kept point and part. x runs along the lane axis.
 *   - Sections (thread_block.c): a thread block does one block of points. Its threads divide the points among them,
 *     neighbours along the last axis. At the end of the space, threads without a point leave before the first barrier.
 *   - Private copies (private.c): as without reductions, but with fewer thread blocks, each of which does several
 *     blocks of points.
 * A second kernel (join.c) joins the results of boxes, and those of parts of a kept point, in the processor's order.
 * So reductions have the processor's bits.
 */
#ifndef WEFT_PTX_H
#define WEFT_PTX_H
#include "plan/kernel.h"

typedef enum wf__ptx_what {
    WF__PTX_BASE,    /* number: slot. Address of element [0, ..., 0] */
    WF__PTX_STRIDE,  /* number: slot; axis. Stride in elements */
    WF__PTX_DIM,     /* number: slot; axis. Extent of the array */
    WF__PTX_PARAM,   /* number: parameter. Its value */
    WF__PTX_EXTENT,  /* axis. Extent of the loop axis */
    WF__PTX_TILES,   /* thread blocks along the lane axis */
    WF__PTX_BLOCKS,  /* blocks of points: tiles of all rows */
    WF__PTX_ROWS,    /* rows of points over all outer axes; with the lane axis kept: over the kept axes, times parts */
    WF__PTX_BOX,     /* axis. Extent of a box */
    WF__PTX_BOXES,   /* axis. Boxes along the axis */
    WF__PTX_WARPS,   /* warps with work */
    WF__PTX_KEPT,    /* cells, points of the kept axes; without kept axes 1 */
    WF__PTX_RECORD,  /* number: slot; axis: elements per access. 1 = every record begins at a multiple of their size */
    WF__PTX_ALIGNED, /* 1 = one access may read or write neighbouring points (`wide` below) */
    WF__PTX_RESULT,  /* number: reduction. Address of the results: [parts][cells]; all axes reduced: [boxes] */
    WF__PTX_REPORT,  /* debug mode: address of WF__PTX_REPORT_WORDS words of 8 bytes, initially 0 */
    WF__PTX_WRITERS, /* debug mode, number: slot. Address of the word of element [0, ..., 0], in a table of one word
                        per element, initially 0. 0 = no table */
    WF__PTX_RESULTS, /* address of the results that are parameters, 8 bytes each */
    /* The joining kernel. Its thread blocks are numbered: tiles of cells first, then ranges of rows. */
    WF__PTX_FROM,   /* address of the values to join: [reductions][rows][cells] */
    WF__PTX_PLANE,  /* bytes from one reduction's values to the next one's */
    WF__PTX_LINES,  /* rows */
    WF__PTX_RANGES, /* ranges of rows, each joined into one row; a power of two */
    WF__PTX_DEPTH   /* log2 of the number of ranges that single threads have */
} wf__ptx_what;

/* Debug mode: the first finding. The report holds its kind (0 = none), the node, and the point. OTHER is 1 + the
 * number of the other point that wrote the same element. INDEX is the index outside. POINT and INDEX have one word per
 * axis. */
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
    WF__PTX_OF_POST = 1 << 15, /* flag in `number`: the field belongs to options.post, not to the body */
    WF__PTX_MOST_FIELDS = 512,
    WF__PTX_MOST_WIDE = 16,
    WF__PTX_OLDEST = 70
}; /* MOST_FIELDS: 4 KiB of parameters; OLDEST: compute capability 7.0 */

typedef struct wf__ptx_options {
    int arch;    /* compute capability, times 10: 70, 75, 80, 86, 89, 90, 100, ... */
    int ptx;     /* newest PTX version that the driver knows, times 10 */
    bool narrow; /* result of wf__ptx_is_narrow */
    wf__thread_block thread_block;
    /* Initial values of reductions of all axes, in the kernel that makes the final results; else NULL. */
    const uint64_t *initial;
    /* A body of one point that uses the final results as parameters, appended to the kernel that makes them; NULL =
     * none. */
    const wf__ir *post;
    /* Extent of the last axis, if that axis alone is reduced, in one part, and rows are very many; else 0. */
    int short_rows;
    uint32_t results;          /* 1 + first parameter that is a reduction's result in the GPU's memory; 0 = none */
    int columns;               /* most points per thread; 0 = as many as fit into one access */
    bool join;                 /* emit the kernel that joins the body's results (join.c), not the body's own */
    const wf__private *copies; /* private copies of each thread block, in `private_bytes` of shared memory */
    uint32_t copies_n, private_bytes;
} wf__ptx_options;

typedef struct wf__ptx_code {
    wf__str text; /* module with the entry `weft_kernel` */
    wf__ptx_field field[WF__PTX_MOST_FIELDS];
    uint32_t fields;
    int width; /* points per thread, neighbours along the lane axis; 1 in kernels of other kinds */
    /* With width > 1, the slots of wide accesses: WF__PTX_ALIGNED requires that the addresses of all their rows are
     * multiples of `width` elements. */
    uint16_t wide[WF__PTX_MOST_WIDE];
    uint32_t wide_n;
    int version; /* required PTX version, times 10; 0 = the one of the compute capability */
    int rows;    /* reductions with a warp per kept point: neighbouring points that a warp does at once */
} wf__ptx_code;

/* True if index arithmetic in 32 bits cannot overflow for these arrays and extents. */
bool wf__ptx_is_narrow(const wf__ir *body, const wf__mem *mem, const int64_t *extent);
/* Emits a kernel. Returns false and sets the failure, WF_ERR_UNSUPPORTED or WF_ERR_MEMORY. The caller zeroes `out`
 * first and frees it in either case. */
bool wf__ptx_emit(const wf__ir *body, const wf__ptx_options *options, wf__ptx_code *out, wf__failure *failure);
/* The most threads of a block of the joining kernel. A block has x times y threads, both powers of two: x along cells,
 * y along ranges of at most one row each. */
int wf__ptx_join_threads(const wf__ir *body);
static inline void wf__ptx_free(wf__ptx_code *code) { wf__str_free(&code->text); }
#endif
