/* kernel.h - what a backend gets: a lowered recording ("body") with its layout, and the calling convention.
 *
 * A body is a wf__ir with these promises:
 *   - There are rank >= 1 loop axes, outermost first. The last one is the lane axis.
 *   - Nodes are CONST PARAM INDEX EXTENT DIM LOAD STORE ACCUM ATOMIC CAS RED SETRED COLD CAST BITCAST and pure ops that do
 *     not wf__expand. So f16 and bf16 values are only loaded, stored, selected, bitcast, joined, and cast from and to f32.
 *     Complex values are only loaded, stored, taken apart and joined.
 *   - Every tuple is explicit, with i64 refs. Tuple 0 occurs only in updates of slots of rank 0.
 *   - Slot steps are filled in. `element` slots have one stride per loop axis.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H
#include "ir/ir.h"
#include "ir/thresholds.h"

/* Reductions: lane j of a row, with index j along the lane axis, accumulates in virtual accumulator j % WF__LANES, in
 * ascending order of j within a row and of rows within a box. At the end of the box accumulators are joined pairwise, k
 * with k + s for s = WF__LANES/2, ..., 1. Boxes begin and end on multiples of WF__LANES along the lane axis, or at the
 * end of the space. So the bits depend on the shape alone, not on the vector width or number of threads. Every backend
 * keeps this order exactly.
 *
 * Reductions may keep axes: the outermost body.kept loop axes and, with kept_lane, the lane axis. Then acc[k] is the
 * address of reduction k's results: an array of its dtype, with one element for each point of the kept axes of the whole
 * space, in C order.
 *   - If the lane axis is reduced, outer loops run over the points of the kept axes. Each point is reduced in the order
 *     above, and its joined value is stored.
 *   - With kept_lane, results are accumulators. Each point's element is read, joined and written, in ascending order of
 *     the reduced loop axes. The caller writes neutral elements before the box runs. */
enum { WF__LANES = 32 };

typedef struct wf__mem {
    char *base;                  /* address of element [0, ..., 0] */
    int64_t stride[WF_MAX_RANK]; /* elements between neighbours along each index axis */
    int64_t dim[WF_MAX_RANK];    /* extents */
} wf__mem;

typedef struct wf__call {
    const wf__mem *mem;      /* [slots] memory */
    const uint64_t *param;   /* [parameters] values, in the low bytes */
    const int64_t *extent;   /* [loop axes] extents of the whole space */
    struct wf__watch *watch; /* checks of the interpreter in debug mode (src/run/debug/watch.h); else NULL */
} wf__call;

/* Runs the points lo[d] <= index[d] < hi[d]. acc: [reductions], receives the box's joined values in the low bytes,
 * starting from the join's neutral element. With kept axes, acc has the addresses of results instead. */
typedef void wf__entry(const wf__call *call, const int64_t *lo, const int64_t *hi, uint64_t *acc);

/* Updates (ACCUM, ATOMIC, CAS) are atomic, unless the code option `single_thread` is set. ACCUM of mode EXPAND updates
 * memory of this thread only, in ascending order of lanes and rows. So the bits in private memory depend on the order
 * of boxes alone. */

/* Private memory of all ACCUMs that update an array in one way: copies in C order, spread times as long, of the body
 * slot's dtype. Copies begin with the join's neutral element, and are joined with the target after all
 * points. */
typedef struct wf__private {
    uint32_t slot, target; /* slots of the body: of the copies, and of the array */
    uint8_t join, spread;
    uint8_t together;  /* elements that stay neighbours where copies are spread: 1, or those of the last axis */
    uint8_t updates;   /* number of ACCUMs */
    bool exact;        /* every order of joining gives the same bits */
    bool direct;       /* one of the copies may be the array itself */
    uint64_t elements; /* elements of the array */
} wf__private;
/* Returns the bytes of a copy, with one more spread element, to which inactive lanes write. */
static inline size_t wf__copy_bytes(const wf__private *p, unsigned dtype)
{
    enum { LINE = 128 }; /* two cache lines: the processor fetches them in pairs */
    return (((size_t)p->elements + 1) * p->spread * wf__size(dtype) + 2 * LINE) / LINE * LINE;
}

/* Memory of one block: slot.shared is 1 + the offset of a slot in it. */
typedef struct wf__own_memory {
    uint32_t bytes;  /* size */
    uint32_t zeroed; /* bytes at the beginning that start as 0 */
} wf__own_memory;

/* Bodies whose blocks are thread blocks of a GPU (space/thread_block.c), with nodes THREAD and BARRIER, and slots in shared
 * memory. Two barriers divide the body into three sections: before the points of a block, with the indices of its first
 * point, for each point, and after the points. A single thread runs sections without THREAD nodes. */
enum { WF__SHARED_MEMORY = 48 << 10 }; /* shared memory of a thread block on every GPU without an option, in bytes */
typedef struct wf__thread_block {
    int threads;        /* threads of a block; 0 = no thread blocks */
    int axis;           /* axis along which threads go, if they have several points */
    bool single;        /* each thread has at most one point, so that barriers may stand among its nodes */
    wf__own_memory own; /* shared memory */
} wf__thread_block;

/* The failure of a backend or of a run, all zero at first. The owner makes it the context's error, and frees the
 * texts. */
typedef struct wf__failure {
    wf_status status; /* status of the first failure; WF_OK = none */
    wf__str text;     /* reason of the failure */
    wf__str warning;  /* findings of debug mode in a run that did not fail */
} wf__failure;

/* Target of code generation. Widest first. */
typedef enum wf__isa { WF__ISA_AVX512, WF__ISA_AVX2, WF__ISA_SSE42, WF__ISA_NEON, WF__ISA_NONE } wf__isa;
typedef struct wf__target {
    wf__isa isa;
    int vector_bits;
    const char *name;     /* for example "avx512" */
    const char *cpu;      /* for LLVM: "x86-64-v4", ... */
    const char *features; /* for LLVM: "+fma,...", or "" */
    const char *triple;   /* "x86_64-unknown-linux-gnu" */
} wf__target;

/* `long_rows` promises that each box has at least WF__LONG_ROW points along the lane axis, and that the extent of this
 * axis is at most WF__LONGEST_ROW. No step of an inner loop is longer than WF__LONG_ROW, except by options.columns. */
enum { WF__LONGEST_ROW = 1 << 24 };
typedef struct wf__code_options {
    const wf__target *target;
    /* Stores past the cache to WF__STEP_UNIT slots with `element` or `rows`. The caller promises that their addresses are
     * 64-byte aligned in every row at multiples of the vector width. The kernel ends with a store fence. */
    bool nontemporal;
    bool long_rows;       /* boxes are not empty, and have rows as above */
    uint8_t row_points;   /* points that each box has along the lane axis; 0 = unknown, or more than WF__LANES */
    int rows_at_once;     /* rows of a tile, for light bodies with kept_lane and for transpositions; 0 = unknown */
    bool single_thread;   /* no other thread runs this stage, so that updates need not be atomic */
    bool baseline;        /* fast compilation, of slower code */
    uint8_t vector_units; /* vector operations that the processor begins in a cycle; 0 = unknown */
    int rows, columns;    /* the tile of points of a step of the inner loop; 0 = chosen by cost */
} wf__code_options;

/* The code generator, as a table of functions, so that a build without LLVM is the same build with one folder missing.
 * Any threads may call all functions at the same time. */
typedef struct wf__codegen wf__codegen;
typedef enum wf__product {
    WF__OBJECT, /* a relocatable ELF object that defines `wf_kernel` (a wf__entry) */
    WF__ASSEMBLY,
    WF__LLVM_IR
} wf__product;
typedef struct wf__codegen_ops {
    /* Opens the LLVM library at `path`. Returns false and sets `error` on failure. */
    bool (*open)(wf__codegen **out, const char *path, wf__str *error);
    int (*major)(const wf__codegen *); /* version */
    /* Appends the code of a body. Returns false and sets `error` on failure. */
    bool (*compile)(wf__codegen *, const wf__ir *body, const wf__code_options *, wf__product what, wf__str *out,
                    wf__str *error);
    void (*free)(wf__codegen *);
    /* The tile of points and the lanes of a vector that `compile` would choose; needs no LLVM. */
    bool (*tile)(const wf__ir *body, const wf__code_options *, int *rows, int *columns, int *lanes);
} wf__codegen_ops;
extern const wf__codegen_ops wf__llvm; /* src/codegen */
/* The interpreter, with the contract of wf__entry for any body. The body must outlive it. Any threads may run it, each with
 * `scratch` of wf__interp_scratch bytes, 64-byte aligned. */
typedef struct wf__interp wf__interp;
wf__interp *wf__interp_new(const wf__ir *body, wf__str *error); /* NULL = out of memory, or an unusable cold body */
void wf__interp_free(wf__interp *);
size_t wf__interp_scratch(const wf__interp *);
void wf__interp_run(const wf__interp *, void *scratch, const wf__call *call, const int64_t *lo, const int64_t *hi,
                    uint64_t *acc);

/* Copies a body for a tile of rows x columns points. Point (r, c) has index[row axis] + r and index[lane axis] + c*width.
 * Value numbering merges loads of the same element. With `interior`, border modes become WF_BORDER_NONE. Column c uses
 * instance c % (WF__LANES / width) of reductions; with kept_lane, instance c in all rows. With `in_turn`, the copy has all
 * nodes of a column before those of the next one, instead of each node for all columns. */
bool wf__tile(const wf__ir *body, int rows, int columns, int width, bool interior, bool in_turn, wf__ir *out);
#endif
