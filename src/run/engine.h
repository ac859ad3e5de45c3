/* engine.h - what runs plans: threads, array memory, compiled code by key, the choice of backend. One per context. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H
#include "plan/plan.h"
#include "ptx/ptx.h"
#include "run/cache/disk.h"
#include "run/cache/map.h"
#include "run/memory/array_memory.h"
#include "run/note.h"
#include "run/thread/pool.h"
#include "run/cache/target.h"

typedef struct wf__engine wf__engine;

typedef struct wf__engine_config {
    int threads;
    const char *cache_dir;
    uint64_t cache_bytes;
    const wf__codegen_ops *codegen; /* NULL: none, everything is interpreted */
    void (*log)(int level, const char *text, void *user);
    void *log_user;
} wf__engine_config;

wf__engine *
wf__engine_new(const wf__engine_config *config); /* NULL without memory. Opens no library, starts no thread */
void wf__engine_free(wf__engine *engine);

wf__pool *wf__engine_pool(wf__engine *engine);
wf__mem_cache *wf__engine_memory(wf__engine *engine);
wf__disk *wf__engine_disk(wf__engine *engine);
void wf__engine_use_disk(wf__engine *engine, bool use);
const wf__target *wf__engine_target(const wf__engine *engine);
const char *wf__engine_llvm_path(wf__engine *engine);     /* the library that is or would be opened; "" if none */
int wf__engine_llvm_major(wf__engine *engine, bool open); /* 0: not open */
typedef struct wf__engine_counts {
    uint64_t compiled, memory_hits, disk_hits, evaluated;
} wf__engine_counts;
wf__engine_counts wf__engine_count(const wf__engine *engine);

/* How many threads a launch may use; what is computed does not depend on it. */
typedef struct wf__limits {
    int32_t threads;       /* at most; 0: all there are */
    int64_t serial_below;  /* points below which one thread does a kernel; 0: decided by the work they are */
    int32_t block_threads; /* of a GPU; 0: by occupancy */
} wf__limits;

static inline bool wf__is_block_threads(int32_t n) { return !n || (n >= 32 && n <= 256 && !(n & (n - 1))); }

/* Runs a plan: base[objects] are the addresses of elements [0, ..., 0]; param[params] the values. `interpret`: by
 * the interpreter, on this thread. Synchronous; from any thread. false: status and error say why; arrays may then be
 * half-written only if memory ran out between stages. */
typedef struct wf__failure {
    wf_status status;
    wf__str text;
    wf__str warning; /* of work that did not fail: what debug mode has to say */
} wf__failure;
/* `notes`: one for each stage, zeroed, or NULL. */
bool wf__engine_run(wf__engine *engine, wf__plan *plan, char *const *base, const uint64_t *param,
                    const wf__limits *limits, bool interpret, wf__note *notes, wf__failure *failure);

/* A launch of a plan that is one kernel, in one box on the calling thread or in boxes that any threads may do: everything
 * but the parameters. */
typedef struct wf__prepared {
    wf__entry *entry; /* NULL: not such a plan, or not compiled yet */
    wf__call call;
    int64_t blocks, each, least; /* for all threads, of so many points of the axis; of one call. 0: one box */
    int axis;
    wf__mem *mem; /* call.mem; kept for the next use of this struct */
    uint32_t mem_cap;
} wf__prepared;
/* For a plan that has run with these addresses; the plan must outlive `out`. */
void wf__prepare(wf__plan *plan, char *const *base, wf__prepared *out);
/* entry is not NULL; serial_below is 0. `turned` is to change from one run of it to the next: see wf__several. */
void wf__engine_run_prepared(wf__engine *engine, wf__prepared *prepared, const uint64_t *param,
                             const wf__limits *limits, bool turned);
void wf__prepared_free(wf__prepared *prepared);
void wf__engine_free_stage_code(void *engine, void *code); /* for wf__plan_free */

/* The code of one body, in use until wf__engine_free_stage_code. `how`: all but the target, which is the engine's.
 * `instead`: of other code that will do, if there is some; or NULL. Returns NULL: no compiler (not an error), or it
 * failed on this body (reported in `error`). */
wf__held *wf__engine_code(wf__engine *engine, const wf__ir *body, const wf__code_options *how,
                          const wf__code_options *instead, wf__note *note,
                          wf__str *error); /* note: where it came from, if not NULL */
/* The tile that code generation chooses; false: there is no code generator. */
bool wf__engine_tile(const wf__engine *engine, const wf__ir *body, const wf__code_options *how, int *rows, int *columns,
                     int *lanes);
/* How much code is kept that no plan uses, in bytes; how many kernels there are, used or not. */
void wf__engine_limit_code(wf__engine *engine, size_t idle_bytes);
size_t wf__engine_count_code(wf__engine *engine);
/* LLVM IR or assembly of one body. */
bool wf__engine_text(wf__engine *engine, const wf__ir *body, const wf__code_options *how, bool assembly, wf__str *out,
                     wf__str *error);
/* PTX of one stage, for GPUs of compute capability arch/10 and later; `join`: of the kernel that joins what it
 * gives, if there is one. */
wf_status wf__engine_ptx(const wf__plan *plan, const wf__stage *stage, int arch, bool join, wf__str *out,
                         wf__str *error);
#endif
