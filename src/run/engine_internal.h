/* engine_internal.h - the engine's state, shared by engine.c (code by key), stage_code.c (code of stages), show.c,
 * what runs stages (launch.h: launch.c, per_block.c, prepared.c) and GPUs (internal.h). */
#ifndef WEFT_ENGINE_INTERNAL_H
#define WEFT_ENGINE_INTERNAL_H
#include "base/os.h"
#include "run/gpu/cuda_api.h"
#include "run/engine.h"
#include "run/gpu/gpu.h"
#include "run/memory/loader.h"
#include <stdatomic.h>

typedef struct wf__executable {
    wf__code *code;
    wf__entry *entry;
    bool baseline;
    _Atomic uint64_t work; /* done with baseline code, by all plans that have it */
} wf__executable;

enum { WF__MOST_GPUS = 64 };
struct wf__engine {
    wf__pool *pool;
    wf__mem_cache *memory;
    wf__disk *disk;
    wf__map *code; /* key -> wf__executable */
    const wf__target *target;
    int rows_ahead; /* of a page, that the processor reads ahead side by side */
    const wf__codegen_ops *codegen_ops;
    wf__mutex lock; /* of what follows: finding and opening the compiler library, preparing stages */
    bool has_lock, searched, open_failed;
    wf__codegen *codegen;
    char *llvm_path;
    uint64_t llvm_identity;
    wf__cuda *cuda[2]; /* the machine's, the emulator's; NULL: not open */
    wf__gpu *gpu[2][WF__MOST_GPUS];
    struct wf__sight *sights;         /* show.h */
    _Atomic bool use_disk, told_disk; /* told_disk: the log knows that nothing is kept */
    _Atomic uint64_t compiled, memory_hits, disk_hits, evaluated;
    void (*log)(int level, const char *text, void *user);
    void *log_user;
};

void wf__engine_log(wf__engine *e, int level, const char *text);
/* Stores what was compiled on disk, if that is wanted. Where it cannot be, the log says so once. */
void wf__engine_keep(wf__engine *e, const wf__str *key, const wf__bytes *object);
#endif
