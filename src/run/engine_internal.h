/* engine_internal.h - the state of an engine, for the folders of src/run. */
#ifndef WEFT_ENGINE_INTERNAL_H
#define WEFT_ENGINE_INTERNAL_H
#include "base/os.h"
#include "run/engine.h"
#include "run/memory/loader.h"
#include "run/thread/queue.h"
#include <stdatomic.h>

typedef struct wf__executable {
    wf__code *code;
    wf__entry *entry;
    bool baseline;
    _Atomic uint64_t work; /* of all runs of baseline code, in all plans that use it; unit: wf__partition.work */
} wf__executable;

enum { WF__MOST_GPUS = 64 };
struct wf__engine {
    wf__pool *pool;
    wf__mem_cache *memory;
    wf__disk *disk;
    wf__map *code; /* key -> wf__executable */
    const wf__target *target;
    wf__processor processor;
    const wf__codegen_ops *codegen_ops;
    wf__mutex lock; /* guards the fields up to `watchpoints`, and the code of stages */
    bool has_lock, has_later_progress, searched, open_failed;
    bool first_tier; /* see wf__engine_config */
    wf__codegen *codegen;
    char *llvm_path;
    uint64_t llvm_identity;
    struct wf__cuda *cuda[2]; /* the driver's and the emulator's; NULL = not open */
    struct wf__gpu *gpu[2][WF__MOST_GPUS];
    void (*close_gpus)(struct wf__engine *engine); /* set with the first driver; NULL = none is open */
    struct wf__watchpoint *watchpoints;            /* debug/watchpoint.h */
    wf__queue *later;      /* compilations beside the program (later.c), under the lock; NULL = no thread yet */
    int64_t later_process; /* the process of this queue */
    wf__progress later_progress;
    _Atomic int waiting;                /* compilations that are queued or run */
    _Atomic bool closing;               /* no launch will use code any more */
    _Atomic bool use_disk, warned_disk; /* warned_disk: the log has the reason why the disk keeps no code */
    _Atomic uint64_t compiled, memory_hits, disk_hits, evaluated;
    void (*log)(int level, const char *text, void *user);
    void *log_user;
};

void wf__engine_log(wf__engine *e, int level, const char *text);
/* Stores an object on disk, if the engine uses the disk. The first failure goes to the log. */
void wf__engine_keep(wf__engine *e, const wf__str *key, const void *object, size_t bytes);
#endif
