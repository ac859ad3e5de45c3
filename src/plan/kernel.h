/* kernel.h - what a backend gets: one lowered recording ("body") with its layout, and the calling convention.
 *
 * A body is a wf__ir with these promises: rank >= 1 loop axes, outermost first, the last one is the lane axis; only
 * nodes CONST PARAM INDEX EXTENT DIM LOAD STORE ACCUM ATOMIC CAS RED SETRED COLD CAST BITCAST and pure ops, none that
 * wf__expands (so that f16 and bf16 values are only loaded, stored, selected, bitcast, joined, and cast from and to
 * f32; complex ones only loaded, stored, taken apart and joined); every tuple is explicit (none is 0, but for updates
 * of slots of rank 0) and its refs are i64; slot steps are filled in. `element` slots have one stride per loop axis.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H
#include "ir/ir.h"
#include "ir/thresholds.h"

/* Reductions: lane j of a row (j: its index along the lane axis) accumulates in virtual accumulator j % WF__LANES,
 * in ascending order of j within a row and of rows within a box; at the end of the box accumulators are joined
 * pairwise, k with k + s for s = WF__LANES/2, ..., 1. Boxes begin and end on multiples of WF__LANES along the lane
 * axis (but for the end of the space). So the bits depend on the shape alone, not on the vector width or number of
 * threads. Every backend keeps this order exactly.
 *
 * Reductions may keep axes: the outermost body.kept loop axes and, with kept_lane, the lane axis. Then acc[k] is the
 * address of reduction k's results: an array of its dtype, one element for each point of the kept axes of the whole
 * space, in C order.
 *   - The lane axis is reduced: what is said above holds for each point of the kept axes, which outer loops run over; its
 *     joined value is stored.
 *   - kept_lane: results are accumulators. Each point's element is read, joined and written, in ascending order of the
 *     reduced loop axes; the caller has put neutral elements there before the box runs. */
enum { WF__LANES = 32 };

typedef struct wf__mem {
    char *base;                  /* element [0, ..., 0] */
    int64_t stride[WF_MAX_RANK]; /* in elements, per index axis */
    int64_t dim[WF_MAX_RANK];
} wf__mem;

typedef struct wf__call {
    const wf__mem *mem;      /* one per slot */
    const uint64_t *param;   /* one per parameter: the value in its low bytes */
    const int64_t *extent;   /* of each loop axis of the whole space */
    struct wf__watch *watch; /* the interpreter's, in debug mode (src/run/debug/watch.h); else NULL */
} wf__call;

/* Runs the points lo[d] <= index[d] < hi[d]. acc: one entry per reduction, out: the box's joined value in the low
 * bytes, starting from the join's neutral element; with kept axes in: where the results are. */
typedef void wf__entry(const wf__call *call, const int64_t *lo, const int64_t *hi, uint64_t *acc);

/* Updates (ACCUM, ATOMIC, CAS). What other threads may change at the same moment is changed atomically, unless
 * `alone` is asked for. ACCUM of mode EXPAND: nobody else is there, and the lanes of a row come one after the other in
 * ascending order, rows in order, too. So the bits in private memory depend on the order of boxes alone. */

/* Private memory of one ACCUM, or of those that differ in a constant last index: copies in C order, spread times as
 * long, of the body slot's dtype, that begin with the join's neutral element and are joined with the target once all
 * points are done. */
typedef struct wf__private {
    uint32_t slot, target; /* slots of the body: its own, and the array's */
    uint8_t join, spread;
    uint8_t together; /* elements that stay side by side where copies are spread: 1, or those of the last axis */
    uint8_t updates;  /* ACCUMs */
    bool exact;       /* no order of joining can be told from another */
    bool direct;      /* one of the copies may be the array itself */
    uint64_t elements;
} wf__private;

/* Memory of a block alone: slot.shared says where in it a slot's begins. */
typedef struct wf__own_memory {
    uint32_t bytes, zeroed; /* those that are 0 at first come first */
} wf__own_memory;

/* Bodies whose blocks are blocks of threads of a GPU (team.c): nodes THREAD, BARRIER, and slots in shared memory. Two
 * barriers part the body into what runs before the points of a block (indices are those of its first point), for each
 * of them, and after them. Sections that do not ask for a thread are done by one. */
enum {
    WF__TEAM_MEMORY = 48 << 10
}; /* bytes that threads of a block share on every GPU, without more being asked for */
typedef struct wf__team {
    int threads; /* of a block; 0: there are none */
    int axis;    /* along which threads go where they have several points */
    bool single; /* no thread has more than one point, so that barriers may stand between points */
    wf__own_memory own;
} wf__team;

/* Target of code generation. Widest first. */
typedef enum wf__isa { WF__ISA_AVX512, WF__ISA_AVX2, WF__ISA_SSE42, WF__ISA_NEON, WF__ISA_NONE } wf__isa;
typedef struct wf__target {
    wf__isa isa;
    int vector_bits;
    const char *name;     /* "avx512" */
    const char *cpu;      /* for LLVM: "x86-64-v4", ... */
    const char *features; /* for LLVM: "+fma,...", may be "" */
    const char *triple;   /* "x86_64-unknown-linux-gnu" */
} wf__target;

/* What `long_rows` promises: a box has LONG_ROW points along the lane axis or more, whose extent is at most
 * LONGEST_ROW. No step of an inner loop is longer than LONG_ROW, unless options.columns says so. */
enum { WF__LONGEST_ROW = 1 << 24 };
typedef struct wf__code_options {
    const wf__target *target;
    /* Stream the stores of WF__STEP_UNIT slots that are of elements, or `rows`, past the cache: addresses are 64-byte
     * aligned in every row at multiples of the vector width; ends with a store fence. */
    bool nontemporal;
    bool long_rows;    /* no box is empty; each has enough points along the lane axis, which is not too long */
    int rows_at_once;  /* worth doing: of bodies with kept_lane if they are light, and of crossed ones; 0: unknown */
    bool alone;        /* no other thread runs this stage: updates need not be atomic */
    bool baseline;     /* to be made fast rather than to be fast: half the time to compile, up to twice as slow */
    int rows, columns; /* tile of points per step of the inner loop; 0: chosen by cost */
} wf__code_options;

typedef struct wf__bytes {
    unsigned char *at; /* from wf__alloc */
    size_t n;
} wf__bytes;

/* The code generator, behind a table so that a build without LLVM is the same build with one folder missing. All
 * functions may be called from any thread at once. */
typedef struct wf__codegen wf__codegen;
typedef struct wf__codegen_ops {
    /* Opens the LLVM library at `path`. false: `error` says why. */
    bool (*open)(wf__codegen **out, const char *path, wf__str *error);
    int (*major)(const wf__codegen *); /* version */
    /* A relocatable ELF object that defines `wf_kernel` (a wf__entry). */
    bool (*object)(wf__codegen *, const wf__ir *body, const wf__code_options *, wf__bytes *out, wf__str *error);
    /* Text of the LLVM IR or assembly of the same. */
    bool (*text)(wf__codegen *, const wf__ir *body, const wf__code_options *, bool assembly, wf__str *out,
                 wf__str *error);
    void (*free)(wf__codegen *);
    /* The tile of points and the lanes of a vector that `object` would choose; needs no LLVM. */
    bool (*tile)(const wf__ir *body, const wf__code_options *, int *rows, int *columns, int *lanes);
} wf__codegen_ops;
extern const wf__codegen_ops wf__llvm; /* src/codegen */
/* The interpreter: the same contract as wf__entry, for any body. Prepared once per body, which must outlive it; run
 * from any thread, each with `scratch` of wf__interp_scratch bytes, 64-byte aligned. */
typedef struct wf__interp wf__interp;
wf__interp *wf__interp_new(const wf__ir *body, wf__str *error); /* NULL: without memory, or an unusable cold body */
void wf__interp_free(wf__interp *);
size_t wf__interp_scratch(const wf__interp *);
void wf__interp_run(const wf__interp *, void *scratch, const wf__call *call, const int64_t *lo, const int64_t *hi,
                    uint64_t *acc);

/* A body copied for a tile of rows x columns points: point (r, c) is index[row axis] + r, index[lane axis] +
 * c*width; loads that meet merge by value numbering. Border modes become WF_BORDER_NONE when `interior`. Reductions:
 * column c uses instance c % (WF__LANES / width); with kept_lane instance c, in all rows. `in_turn`: a column is whole
 * before the next one begins, instead of one node for all of them. */
bool wf__tile(const wf__ir *body, int rows, int columns, int width, bool interior, bool in_turn, wf__ir *out);
#endif
