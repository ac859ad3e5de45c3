/* run.h - a running grid: thread blocks, warps, lanes, and the shadow state that finds mistakes.
 *
 * Every lane has its own program counter (independent thread scheduling). Lanes at one place run together as a group.
 * Of several groups, the one in the deepest call runs first, and among these the one at the lowest place: so lanes
 * reconverge where their branches join. A group that has run long while others were ready gives way to them, because
 * no lane may starve (section "Independent Thread Scheduling" of the programming guide).
 *
 * The files form layers; each calls only those before it: report.c; race.c; spans.c; heap.c; access.c, lanes.c; sync.c;
 * warp.c; launch.c.
 */
#ifndef WEFT_EMU_RUN_H
#define WEFT_EMU_RUN_H
#include "emu/emu.h"

typedef struct emu_frame { /* the caller of a function: function, instruction, first row, local memory */
    uint32_t func, pc, base, local;
} emu_frame;

typedef struct emu_copy { /* a pending cp.async */
    uint32_t to, bytes, lane;
    uint8_t data[16];
    bool committed;
    uint32_t group, line;
} emu_copy;

/* AT_SYNC: waits for lanes of its membermask; AT_ALIGN: at an aligned barrier, for the rest of its warp; AT_BAR: at a
 * barrier of the block. */
enum { EMU_READY, EMU_AT_SYNC, EMU_AT_ALIGN, EMU_AT_BAR };
typedef struct emu_warp {
    uint32_t index, live, blocked; /* live: mask of lanes that have not ended; blocked: those of them that wait */
    uint64_t *regs;                /* rows of EMU_LANES values */
    uint32_t *defined;             /* per row: mask of lanes that have written it */
    uint32_t cap_rows;
    uint64_t special[EMU_SR_COUNT * EMU_LANES];
    uint32_t func[EMU_LANES], pc[EMU_LANES], base[EMU_LANES], local[EMU_LANES], depth[EMU_LANES];
    uint32_t waits_for[EMU_LANES]; /* membermask or number of the barrier */
    uint8_t state[EMU_LANES];
    uint64_t turn[EMU_LANES]; /* emu_run.clock when the lane last ran */
    emu_frame *frames;        /* [depth][lane] */
    uint32_t cap_frames;
    uint8_t *locals; /* [lane][local_bytes] */
    uint64_t *locals_written;
    emu_copy *copies;
    uint32_t n_copies, cap_copies, copy_group[EMU_LANES];
    uint32_t sync_all;          /* time of the last warp barrier of all lanes */
    uint32_t (*met)[EMU_LANES]; /* [lane][other]: time before which the accesses of `other` are ordered before those of
                                   `lane`; NULL = no barrier of some of the lanes yet */
} emu_warp;

typedef struct emu_barrier {
    uint32_t expected, arrived; /* numbers of threads; expected: 0 = all threads that have not ended */
    uint32_t *lanes;            /* per warp: mask of waiting lanes; then, per warp: mask of arrived lanes */
    uint32_t popc, line;
    bool all, any;
} emu_barrier;

typedef struct emu_acquired {               /* a strong read of `location` when that had `count` releases */
    uint32_t thread, time, location, count; /* time: of the fence after the read; UINT32_MAX = no fence yet */
    uint32_t read;                          /* time of the read */
} emu_acquired;
typedef struct emu_block {
    uint32_t id, coord[3], n_warps, threads, live;
    emu_warp *warps;
    uint8_t *shared[EMU_SEGMENTS];
    uint8_t *shared_state[EMU_SEGMENTS]; /* per byte: 0 = no variable, 1 = never written, 2 = written */
    uint32_t shared_size[EMU_SEGMENTS];
    emu_page **pages[EMU_SEGMENTS];
    emu_barrier barriers[EMU_BARRIERS];
    uint32_t time, sync_all; /* synchronisations so far, and the time of the last barrier of all threads */
    uint32_t *warps_met; /* [warp][other]: time of the last barrier of both; NULL = all barriers were of all threads */
    uint32_t *fenced;    /* per thread: time of its last fence; NULL = no fence yet */
    uint8_t *fence_scope;
    uint64_t serial;
    emu_acquired *acquired;
    uint32_t n_acquired, cap_acquired;
    uint32_t *newest; /* per thread: 1 + its newest entry in `acquired`, 0 = none; NULL = none of any thread */
    bool done;
} emu_block;

typedef struct emu_races emu_races;
typedef struct emu_run {
    emu_launch *l;
    const emu_module *m;
    emu_block *b;
    emu_warp *w;
    emu_fault fault;
    /* the running group: lanes and their common place */
    const emu_func *f;
    const emu_inst *code;
    const uint32_t *ops;
    uint32_t active, pc, base, local, depth, func;
    const uint64_t *rows[3]; /* registers, constants, special registers: EMU_ROW_... >> 30 */
    emu_memory *hit;         /* allocation of the last global access; NULL = none */
    emu_races *races;
    uint32_t local_bytes, reg_rows;
    uint64_t clock, steps, effort; /* groups chosen; instructions; instructions weighted so that spinning counts more */
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

/* report.c: records a fault and its text. Only the first fault of a launch counts. */
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
/* Checks the access of a lane to memory shadowed by `pages`. `same`: a write that does not change the memory. */
void wfe_check_race(emu_run *r, const emu_inst *in, emu_page ***pages, uint64_t size, uint64_t at, unsigned bytes,
                    uint32_t lane, unsigned access, bool same, uint64_t address);
void wfe_begin_accesses(emu_run *r, const emu_inst *in); /* precedes the accesses of an instruction */
void wfe_race_warp_barrier(emu_run *r, emu_warp *w, uint32_t lanes);
void wfe_race_barrier(emu_run *r, const uint32_t *lanes_of_warps); /* NULL = all threads of the block */
/* A strong access: a write releases with the fence before it, a read acquires with the fence after it. */
void wfe_race_strong(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t address, bool writes, bool reads);
void wfe_race_fence(emu_run *r, const emu_inst *in, uint32_t mask);

/* sync.c. True: the lanes of `mask` go on. False: they wait, or there is a fault. */
bool wfe_warp_op(emu_run *r, const emu_inst *in, uint32_t mask);
bool wfe_bar(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_lanes_ended(emu_run *r); /* releases lanes that waited for the ended ones */
void wfe_report_deadlock(emu_run *r);

/* lanes.c */
bool wfe_same_place(const emu_warp *w, uint32_t a, uint32_t b); /* same instruction and frame */
void wfe_select_lane(emu_run *r, uint32_t lane);                /* makes the lane's place the current one */
void wfe_update_rows(emu_run *r); /* sets the pointers of the current frame; needed after wfe_warp_rows */
bool wfe_warp_rows(emu_run *r, emu_warp *w, uint32_t rows);                          /* makes room */
void wfe_block_lanes(emu_run *r, const emu_inst *in, uint32_t mask, unsigned state); /* they wait here */
void wfe_release_lanes(emu_warp *w, uint32_t lanes); /* they go on at the next instruction */
void wfe_check_sources(emu_run *r, const emu_inst *in, uint32_t mask);
void wfe_mark_defined(emu_run *r, const emu_inst *in, uint32_t mask);

/* warp.c */
bool wfe_run_warp(emu_run *r, emu_warp *w, uint32_t steps); /* true if a lane moved */
#endif
