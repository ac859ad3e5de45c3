/* kernel_emitter.h - the LLVM function of one kernel: what is emitted once, around and before all loops.
 *
 * Every part of the loops needs addresses, strides, extents, parameters and room on the stack. The kernel emitter loads
 * each of them when it is first needed, at the top of the function, and hands out the same LLVM value afterwards. The
 * instances of the body (instance.h) share one kernel emitter.
 */
#ifndef WEFT_KERNEL_EMITTER_H
#define WEFT_KERNEL_EMITTER_H
#include "codegen/gen.h"

typedef struct wf__slot_values {
    val base, stride[WF_MAX_RANK] /* bytes */, dim[WF_MAX_RANK];
} wf__slot_values;

typedef struct wf__kernel_emitter {
    wf__gen *g;
    const wf__ir *body;
    int rank, rows, columns; /* points of an INTERIOR tile */
    int instances;           /* vectors that hold the accumulators of one reduction */
    uint32_t stores;         /* STORE nodes of the body */

    val call, acc;                                          /* parameters of the function */
    val lo[WF_MAX_RANK], hi[WF_MAX_RANK];                   /* the box to compute */
    val interior_lo[WF_MAX_RANK], interior_hi[WF_MAX_RANK]; /* the box in which INTERIOR is right; NULL = no bound */
    int64_t narrow_limit;                                   /* lane indices below it fit INTERIOR's 32-bit arithmetic */
    bb entry, top;                                          /* first basic block; level 0 */
    bb level[WF_MAX_RANK];                                  /* the shared levels 0 .. rank-2 */
    val never_room;                                         /* see wf__cut_block; NULL = no block was cut so far */

    /* kernel_emitter.c: values loaded so far; NULL = not loaded yet */
    wf__slot_values *slot;
    val extent[WF_MAX_RANK];
    val memory, params;
    val dummy;            /* stack bytes that inactive lanes may read and write */
    val table, constants; /* the table of constants in memory, 64 bits each, and its address */
    val *constant;        /* the entries of the table */
    uint32_t constant_n, constant_cap;
    uint32_t *constant_at, constant_mask; /* hash table: 1 + the place of an entry, 0 = none */

    /* emit_reduce.c */
    val *accumulator; /* stack array of each reduction, `instances` vectors; unused if the lane axis is kept */
    val *result;      /* address of each reduction's results; only if axes are kept */

    /* emit_update.c */
    val lane_spill[3]; /* stack room for vectors of 16-byte elements, read lane by lane; NULL = none yet */
    int serial_lanes;  /* lanes whose updates are written out one after the other so far */
} wf__kernel_emitter;

/* ---- loaded once, at level 0 ---- */
val wf__load_base(wf__kernel_emitter *kernel, uint32_t slot);
val wf__load_stride(wf__kernel_emitter *kernel, uint32_t slot, int axis); /* bytes */
val wf__load_dim(wf__kernel_emitter *kernel, uint32_t slot, int axis);
val wf__load_extent(wf__kernel_emitter *kernel, int axis);
/* ---- loaded at the current position ---- */
val wf__load_param(wf__kernel_emitter *kernel, uint32_t number, unsigned dtype);
val wf__load_constant(wf__kernel_emitter *kernel, unsigned dtype, uint64_t bits);
/* Defines the table of constants. Called once, at the end. Returns false when out of memory. */
bool wf__fill_constants(wf__kernel_emitter *kernel);
/* ---- stack ---- */
val wf__add_alloca(wf__kernel_emitter *kernel, LLVMTypeRef type);
val wf__get_dummy(wf__kernel_emitter *kernel); /* as large as the largest element or record */
/* ---- blocks ---- */
/* Ends the current basic block and continues in a new one, which LLVM neither joins to it nor moves `kept` into: in
 * between is a branch that is never taken, to a place that stores these values and returns. LLVM does not know that. */
void wf__cut_block(wf__kernel_emitter *kernel, const val *kept, uint32_t n);

static inline bool wf__keeps_lane(const wf__kernel_emitter *kernel)
{
    return kernel->body->red_n && kernel->body->kept_lane;
}
#endif
