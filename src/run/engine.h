/* engine.h - what runs of plans share, one per context: threads, array memory, compiled code by key. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H
#include "plan/plan.h"
#include "run/cache/disk.h"
#include "run/cache/map.h"
#include "run/cache/target.h"
#include "run/memory/array_memory.h"
#include "run/stage.h"
#include "run/thread/pool.h"

typedef struct wf__engine wf__engine;

typedef struct wf__engine_config {
    int threads;
    const char *cache_dir;
    uint64_t cache_bytes;
    const wf__codegen_ops *codegen; /* NULL = no code generator: everything is interpreted */
    bool first_tier;                /* baseline code is compiled alone, also of loops, and stays */
    void (*log)(int level, const char *text, void *user);
    void *log_user;
    wf__observer observer;
    uint64_t memory_bytes;   /* see wf_config; 0 = arrays are in memory */
    const char *scratch_dir; /* see wf_config */
} wf__engine_config;

/* Makes an engine. Opens no library and starts no thread. NULL = out of memory. */
wf__engine *wf__engine_new(const wf__engine_config *config);
void wf__engine_free(wf__engine *engine);

wf__pool *wf__engine_pool(wf__engine *engine);
wf__mem_cache *wf__engine_memory(wf__engine *engine);
wf__disk *wf__engine_disk(wf__engine *engine);
void wf__engine_use_disk(wf__engine *engine, bool use);
const wf__target *wf__engine_target(const wf__engine *engine);
const char *wf__engine_llvm_path(wf__engine *engine); /* returns the library that is or would be opened; "" = none */
int wf__engine_llvm_major(wf__engine *engine, bool open); /* 0 = not open */
typedef struct wf__engine_counts {
    uint64_t compiled, memory_hits, disk_hits, evaluated;
} wf__engine_counts;
/* Returns the counts, after it has waited for the compilations beside the program (later.h). */
wf__engine_counts wf__engine_count(wf__engine *engine);

/* Returns the code of one body, used until wf__map_let_go; its value is a wf__executable. `how`: all options but the
 * target, which is the engine's. `instead`: options of other code that serves as well, if it exists; or NULL. `note`:
 * receives the source of the code; or NULL. NULL = no compiler, which is no error, or a compilation that failed, with
 * `error` set. */
wf__held *wf__engine_get_code(wf__engine *engine, const wf__ir *body, const wf__code_options *how,
                              const wf__code_options *instead, wf__note *note, wf__str *error);
/* As wf__engine_get_code, but compiles nothing: NULL = neither memory nor disk has the code. */
wf__held *wf__engine_find_code(wf__engine *engine, const wf__ir *body, const wf__code_options *how,
                               const wf__code_options *instead, wf__note *note);
bool wf__engine_may_compile(wf__engine *engine); /* false = everything is interpreted */
/* Sets the tile that code generation chooses. false = no code generator. */
bool wf__engine_tile(const wf__engine *engine, const wf__ir *body, const wf__code_options *how, int *rows, int *columns,
                     int *lanes);
void wf__engine_limit_code(wf__engine *engine, size_t idle_bytes); /* bounds the code that no plan uses, in bytes */
size_t wf__engine_count_code(wf__engine *engine); /* returns the number of kernels in memory, used or not */
/* Appends the LLVM IR or assembly of one body. false = failure, with `error` set. */
bool wf__engine_text(wf__engine *engine, const wf__ir *body, const wf__code_options *how, bool assembly, wf__str *out,
                     wf__str *error);
#endif
