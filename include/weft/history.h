/* history.h - the kernels of a context that ran, noted under WF_FLAG_HISTORY.
 * Reference: docs/reference/history.md */
#ifndef WF_HISTORY_H
#define WF_HISTORY_H
#include "weft/record.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Where the code of a kernel comes from. */
typedef enum wf_code_from {
    WF_CODE_NONE,     /* no code: the kernel is interpreted */
    WF_CODE_READY,    /* code that the plan held already */
    WF_CODE_MEMORY,   /* code made for another plan */
    WF_CODE_DISK,     /* code made by an earlier process */
    WF_CODE_COMPILED, /* code compiled for this run */
    WF_CODE_LIBRARY   /* code of the library itself: a scan */
} wf_code_from;
/* One kernel that ran. A launch is one kernel or several, its stages; facts of the launch stand in each of them,
 * its seconds in the first only. Operations include casts and reads, but not constants, indices and parameters. */
typedef struct wf_kernel_info {
    size_t size;     /* sizeof(wf_kernel_info), set by the caller in out[0] */
    char name[64];   /* label of the recording, cut; "" */
    char why[256];   /* difference from a similar plan or kernel, if a new one was made; "" = none */
    uint64_t launch; /* number of the launch in the context, from 1; gaps are launches forgotten or empty */
    uint64_t hash;   /* of the code and all that it depends on; 0: interpreted */
    wf_device device;
    int32_t stage, stages;                /* number of the stage, from 0; number of stages */
    uint32_t merged;                      /* functions of wf_switch that were equal to others */
    uint32_t ops, folded, numbered, dead; /* recorded; of these: constants or operands, equal to others, of no effect */
    uint32_t nodes;                       /* nodes of this kernel, lowered and with everything that code needs */
    bool plan_hit;                        /* the plan existed already */
    bool nontemporal;                     /* stores go past the cache */
    bool single_thread;                   /* one thread ran the kernel: updates are not atomic */
    bool baseline;                        /* compiled in little time, see WF_FLAG_TIERED */
    bool fused;                           /* ran box by box with the kernel before; its time is in that one's */
    wf_code_from code;
    int32_t threads;              /* threads that the kernel could use; on a GPU those of a block */
    int32_t rows, columns, lanes; /* points done at once: rows x columns of vectors of so many lanes; 0: unknown */
    wf_mode mode;   /* of accumulation: DIRECT, LOCAL, EXPAND or NO_CONFLICT; WF_MODE_AUTO: nothing accumulates */
    int32_t copies; /* private copies of arrays that the kernel accumulates into */
    int64_t points;
    double record_s, plan_s, compile_s, run_s;
    /* Of this kernel, by WF_FLAG_DEAD_CODE: effects that a later assignment hides, variables of loops without a use;
     * by WF_FLAG_LOOP_OPT: variables that no turn changes, loops written out and conditions whose body all lanes run,
     * counters that are equal in all running lanes. */
    uint32_t hidden, unused, invariant, written_out, in_lockstep;
} wf_kernel_info;
/* Copies the latest `cap` kernels since the last call, oldest first, forgets all, and returns how many it copied.
 * The latest 4096 at most. `out` NULL: only counts.
 * Threads: from any thread.
 * Cost: nothing without WF_FLAG_HISTORY; with it some microseconds a launch.
 * Example: wf_kernel_info info[64] = { { .size = sizeof *info } }; size_t n = wf_history(ctx, info, 64); */
WF_API size_t wf_history(wf_context *ctx, wf_kernel_info *out, size_t cap);

#ifdef __cplusplus
}
#endif
#endif
