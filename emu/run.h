/* run.h - a grid while it runs: blocks, warps, lanes with a place of their own, and the shadows that find mistakes.
 *
 * Every lane has its own place in the code (independent thread scheduling). Lanes at one place run together, as a
 * group; of several groups the deepest call and then the lowest place goes first, which makes lanes meet again where
 * their branches join, and a group that has run long while others could, waits for them (section "Independent Thread
 * Scheduling" of the programming guide: no lane starves).
 */
#ifndef WEFT_EMU_RUN_H
#define WEFT_EMU_RUN_H
#include "emu/emu.h"

typedef struct emu_frame { /* where a call returns to */
    uint32_t func, pc, base, local;
} emu_frame;

typedef struct emu_copy { /* of cp.async, not done yet */
    uint32_t to, bytes, lane;
    uint8_t data[16];
    bool committed;
    uint32_t group, line;
} emu_copy;

enum { EMU_READY, EMU_AT_SYNC, EMU_AT_ALIGN, EMU_AT_BAR }; /* ALIGN: for the other lanes of the warp, at a barrier */
typedef struct emu_warp {
    uint32_t index, live, blocked; /* lanes that have not ended; of them those that wait */
    uint64_t *regs;
    uint32_t *defined; /* lanes per row */
    uint32_t cap_rows;
    uint64_t special[EMU_SR_COUNT * EMU_LANES];
    uint32_t func[EMU_LANES], pc[EMU_LANES], base[EMU_LANES], local[EMU_LANES], depth[EMU_LANES];
    uint32_t waits_for[EMU_LANES]; /* membermask, or number of the barrier */
    uint8_t state[EMU_LANES];
    uint64_t turn[EMU_LANES]; /* when it last ran */
    emu_frame *frames;        /* [depth][lane] */
    uint32_t cap_frames;
    uint8_t *locals; /* [lane][local_bytes] */
    uint64_t *locals_written;
    emu_copy *copies;
    uint32_t n_copies, cap_copies, copy_group[EMU_LANES];
    uint32_t sync_all;          /* time of the last warp barrier of all lanes */
    uint32_t (*met)[EMU_LANES]; /* [lane][other]: time up to which this lane knows what the other did; NULL: never */
} emu_warp;

typedef struct emu_barrier {
    uint32_t expected, arrived; /* expected 0: every thread that has not ended */
    uint32_t *lanes;            /* per warp: those that wait; then those that arrived */
    uint32_t popc, line;
    bool all, any;
} emu_barrier;

typedef struct emu_acquired { /* what a thread has learned by reading `location` when it had `count` releases */
    uint32_t thread, time, location, count; /* time: of the fence after the read; UINT32_MAX before it */
    uint32_t read;                          /* time of the read */
} emu_acquired;
typedef struct emu_block {
    uint32_t id, coord[3], n_warps, threads, live;
    emu_warp *warps;
    uint8_t *shared[EMU_SEGMENTS], *shared_state[EMU_SEGMENTS]; /* 0 no variable, 1 never written, 2 written */
    uint32_t shared_size[EMU_SEGMENTS];
    emu_page **pages[EMU_SEGMENTS];
    emu_barrier barriers[EMU_BARRIERS];
    uint32_t time, sync_all; /* synchronisations so far; the last barrier of all threads */
    uint32_t *warps_met;     /* [warp][other]: time of the last barrier of both; NULL: none of a part of the block */
    uint32_t *fenced;        /* per thread, time of its last fence; NULL: none */
    uint8_t *fence_scope;
    uint64_t serial;
    emu_acquired *acquired;
    uint32_t n_acquired, cap_acquired;
    uint32_t *newest; /* per thread: 1 + its newest entry there; NULL: none */
    bool done;
} emu_block;

typedef struct emu_races emu_races;
typedef struct emu_run {
    emu_launch *l;
    const emu_module *m;
    emu_block *b;
    emu_warp *w;
    emu_fault fault;
    /* the group that runs */
    const emu_func *f;
    const emu_inst *code;
    const uint32_t *ops;
    uint32_t active, pc, base, local, depth, func;
    const uint64_t *rows[3];
    emu_memory *hit;
    emu_races *races;
    uint32_t local_bytes, reg_rows;
    uint64_t clock, steps, effort; /* effort: steps, of which strong accesses count more: who spins gives way sooner */
} emu_run;

static inline const uint64_t *emu_row(const emu_run *r, uint32_t operand)
{
    return r->rows[operand >> 30] + (size_t)(operand & 0x3fffffffu) * EMU_LANES;
}
static inline uint64_t *emu_out(const emu_run *r, uint32_t operand)
{
    return r->w->regs + ((size_t)r->base + operand) * EMU_LANES;
}
#define EMU_EACH(mask, lane)                                                                                   \
    for (uint32_t left_##lane = (mask), lane; left_##lane && (lane = (uint32_t)__builtin_ctz(left_##lane), 1); \
         left_##lane &= left_##lane - 1)

/* report.c: records the fault once; what comes first counts. */
void wfe_report(emu_run *r, emu_fault fault, const emu_inst *in, uint32_t lane, const char *format, ...)
    WF__PRINTF(5, 6);
void wfe_add_line(wf__str *out, const emu_module *m, uint32_t line);
void wfe_add_thread(const emu_run *r, wf__str *out, const uint32_t block[3], uint32_t thread);

/* access.c */
void wfe_load(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_store(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_atomic(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_copy_async(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_copy_commit(emu_run *r, uint32_t mask);
void wfe_copy_wait(emu_run *r, const emu_inst *in, uint32_t mask);

/* race.c */
typedef enum emu_access { EMU_READ = 1, EMU_WRITE = 2, EMU_STRONG = 4 } emu_access;
bool wfe_races_new(emu_run *r);
void wfe_races_free(emu_run *r);
void wfe_pages_free(emu_page **pages, uint64_t bytes);
/* The access of a lane to memory behind `pages`; `same`: a write of what is there already. */
void wfe_race(emu_run *r, const emu_inst *in, emu_page ***pages, uint64_t size, uint64_t at, unsigned bytes,
              uint32_t lane, unsigned access, bool same, uint64_t address);
void wfe_race_context(emu_run *r, const emu_inst *in); /* before the accesses of an instruction */
void wfe_race_meet(emu_run *r, emu_warp *w, uint32_t lanes);
void wfe_race_barrier(emu_run *r, const uint32_t *lanes_of_warps); /* NULL: all threads of the block */
/* A strong access: it may release what a fence before it covers, and acquire with a fence after it. */
void wfe_race_order(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t address, bool writes, bool reads);
void wfe_race_fence(emu_run *r, const emu_inst *in, uint32_t mask);

/* sync.c: true: the lanes of `mask` go on; false: they wait, or something went wrong */
bool wfe_warp_op(emu_run *r, const emu_inst *in, uint32_t mask);
bool wfe_bar(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_lanes_ended(emu_run *r); /* what waited for them may go on */
void wfe_stuck(emu_run *r);       /* no lane of the block can go on: reports why */

/* warp.c */
bool wfe_together(const emu_warp *w, uint32_t a, uint32_t b); /* at one place, in one frame */
void wfe_point(emu_run *r, uint32_t lane);                    /* r is where this lane is */
bool wfe_run_warp(emu_run *r, emu_warp *w, uint32_t steps);   /* did any lane move? */
bool wfe_warp_rows(emu_run *r, emu_warp *w, uint32_t rows);
void wfe_park(emu_run *r, const emu_inst *in, uint32_t mask, unsigned state); /* at the current instruction */
void wfe_release(emu_warp *w, uint32_t lanes);                                /* they go on after it */
void wfe_check_sources(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_define(emu_run *r, const emu_inst *in, uint32_t mask);
#endif
