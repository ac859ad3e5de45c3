/* context.c - making and freeing contexts. The one file that joins the code generator to the engine: a build without
 * LLVM is the same build with the folder src/codegen missing. */
#include "dist/dist.h"
#include "launch/launch.h"
#include <stdio.h>

typedef struct whole {  /* one allocation */
    wf_context context; /* the first member */
    wf__graphs graphs;
    wf__launcher launcher;
} whole;

/* ---- life ---- */
/* Returns the number that the environment names; 0 = unset, or no number up to `most`, which is a warning. */
static uint64_t number_from_environment(const wf_config *config, const char *name, uint64_t most)
{
    uint64_t n = 0;
    const char *wrong = NULL;
    if (wf__getenv_number(name, most, &n, &wrong) || !wrong || !config->log)
        return n;
    char text[256];
    snprintf(text, sizeof text,
             "%s is '%.100s' in the environment, which is no number from 0 to %llu; it counts as unset", name, wrong,
             (unsigned long long)most);
    config->log(1, text, config->log_user);
    return 0;
}

/* True if the environment names these tiers. */
static bool tiers_are(const char *value)
{
    const char *text = wf__getenv("WEFT_TIERED");
    return text && !strcmp(text, value);
}

/* Returns the flags of what comes before code that is compiled for good: 0 = neither, 1 or first = baseline code. */
static uint32_t tiers_from_environment(void)
{
    return tiers_are("0")                         ? 0
           : tiers_are("1") || tiers_are("first") ? WF_FLAG_TIERED
                                                  : WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST;
}

static wf__engine *new_engine(const wf_config *config)
{
    const int threads =
        config->threads > 0 ? config->threads : (int)number_from_environment(config, "WEFT_THREADS", WF__POOL_MAX);
    wf__engine_config c = { .threads = threads,
                            .cache_dir = config->cache_dir,
                            .first_tier = tiers_are("first"),
                            .cache_bytes = config->cache_bytes ? config->cache_bytes
                                                               : number_from_environment(config, "WEFT_CACHE_BYTES",
                                                                                         WF__DISK_MOST_BYTES),
                            .log = config->log,
                            .log_user = config->log_user,
                            .observer = { config->poll, config->poll_user, config->progress, config->progress_user },
                            .memory_bytes = config->memory_bytes,
                            .scratch_dir = config->scratch_dir };
#ifdef WEFT_WITH_LLVM
    c.codegen = &wf__llvm;
#endif
    return wf__engine_new(&c);
}

static void free_context(wf_context *ctx)
{
    while (ctx->graphs->spare) {
        wf_graph *g = ctx->graphs->spare;
        ctx->graphs->spare = g->next;
        wf__graph_free(g);
    }
    wf__plans_free(ctx);
    wf__free(ctx->launcher->history);
    wf__engine_free(ctx->engine);
    wf__errors_free(ctx);
    wf__streams_forget(ctx);
    wf__progress_free(&ctx->progress);
    wf__mutex_free(&ctx->lock);
    wf__mutex_free(&ctx->share_lock);
    wf__cond_free(&ctx->unread);
    wf__free((whole *)ctx);
}

static void host_access(const wf_array *array, wf__host_access access, const char *function)
{
    wf__freeze_host(array, access == WF__HOST_WRITES || access == WF__HOST_MAPS, function);
    if (access == WF__HOST_WRITES || access == WF__HOST_MOVES)
        wf__tape_host(array, function);
}

static const wf__services services = {
    .free = free_context,
    .evaluate = wf_eval,
    .copy = wf__copy_by_launch,
    .copy_into = wf__copy_into_by_launch,
    .free_shown = wf__shown_free,
    .free_distributed = wf__distributed_free,
    .beside_operands = wf__dist_beside_operands,
    .beside_group = wf__dist_beside_group,
    .like_distributed = wf__distributed_like,
    .end_group = wf__dist_group_end,
    .run_part = wf__run_part,
    .stream_misfit = wf__stream_misfit,
    .stream_device = wf__stream_device,
    .copies = wf__copies_by_launch,
    .on_host_access = host_access,
    .on_error = wf__freeze_failed,
};

wf_context *wf_context_new(const wf_config *config)
{
    wf_config given = { .size = sizeof given };
    const bool taken = wf__take_options(&given, sizeof given, config);
    whole *w = wf__alloc0(sizeof *w);
    if (!w)
        return NULL;
    wf_context *ctx = &w->context;
    ctx->services = &services;
    ctx->graphs = &w->graphs;
    ctx->launcher = &w->launcher;
    atomic_init(&ctx->refs, 1);
    ctx->owned = true;
    ctx->device = given.device == WF_INTERP || wf__is_gpu(given.device) ? given.device : WF_CPU;
    ctx->log = given.log;
    ctx->log_user = given.log_user;
    bool locked = wf__mutex_init(&ctx->lock) && wf__mutex_init(&ctx->share_lock) && wf__cond_init(&ctx->unread);
    ctx->engine = locked ? new_engine(&given) : NULL;
    bool progress = ctx->engine && wf__progress_init(&ctx->progress, wf__pool_cores(wf__engine_pool(ctx->engine)) > 1);
    if (!progress) {
        wf__engine_free(ctx->engine);
        if (locked) {
            wf__mutex_free(&ctx->lock);
            wf__mutex_free(&ctx->share_lock);
            wf__cond_free(&ctx->unread);
        }
        wf__free(w);
        return NULL;
    }
    atomic_init(&ctx->flags, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | WF_FLAG_LOOP_OPT | WF_FLAG_PACKETS |
                                 WF_FLAG_CALL_OPT | WF_FLAG_DEAD_CODE | tiers_from_environment());
    wf_set_expand_bytes(ctx, WF__EXPAND_BYTES);
    wf_set_flags(ctx, given.flags_on, given.flags_off);
    if (given.device && given.device != ctx->device)
        wf__error(ctx, WF_ERR_DEVICE, "wf_context_new: there is no device %d; it is WF_CPU", (int)given.device);
    if (!taken)
        wf__error(ctx, WF_ERR_ARG, "wf_context_new: " WF__WRONG_SIZE);
    return ctx;
}

void wf_context_free(wf_context *ctx)
{
    if (!ctx)
        return;
    wf__streams_wait(ctx);
    while (ctx->graphs->open) {
        wf_graph *g = ctx->graphs->open;
        if (ctx->log) {
            char text[512];
            snprintf(text, sizeof text, "a recording begun at %s was never run",
                     g->here ? g->here : "an unknown place");
            ctx->log(1, text, ctx->log_user);
        }
        wf__graph_retire(g);
    }
    wf__freeze_abandon(ctx);
    wf__kept_free(ctx);
    wf__context_release(ctx);
}

/* ---- settings ---- */
int wf_get_threads(const wf_context *ctx) { return ctx ? wf__pool_threads(wf__engine_pool(ctx->engine)) : 0; }
void wf_set_threads(wf_context *ctx, int threads)
{
    if (!ctx)
        return;
    wf__streams_wait(ctx);
    wf__pool_set_threads(wf__engine_pool(ctx->engine), threads);
}

void wf_set_flags(wf_context *ctx, uint32_t on, uint32_t off)
{
    if (!ctx)
        return;
    atomic_fetch_or(&ctx->flags, on & ~(uint32_t)WF__FREEZING);
    atomic_fetch_and(&ctx->flags, ~off | WF__FREEZING);
    wf__engine_use_disk(ctx->engine, !(wf_get_flags(ctx) & WF_FLAG_NO_DISK_CACHE));
}

wf_status wf_get_info(wf_context *ctx, bool open_llvm, wf_info *info)
{
    if (!ctx || !info)
        return wf__error(ctx, WF_ERR_ARG, "wf_get_info: %s is NULL", ctx ? "info" : "ctx");
    if (info->size < sizeof info->size)
        return wf__error(ctx, WF_ERR_ARG, "wf_get_info: " WF__WRONG_SIZE);
    const wf__target *target = wf__engine_target(ctx->engine);
    wf__engine_counts count = { 0 };
    wf__disk *disk = wf__engine_disk(ctx->engine);
    wf__disk_stats stats = { 0 };
    if (info->size > offsetof(wf_info, cache_bytes)) { /* looks at all files, and waits for compilations */
        wf__disk_get_stats(disk, &stats);
        count = wf__engine_count(ctx->engine);
    }
    wf_info full = { .size = info->size,
                     .isa = target->name,
                     .vector_bits = target->vector_bits,
                     .threads = wf_get_threads(ctx),
                     .llvm_path = wf__engine_llvm_path(ctx->engine),
                     .llvm_major = wf__engine_llvm_major(ctx->engine, open_llvm),
                     .cache_dir = wf__disk_dir(disk),
                     .cache_problem = wf__disk_problem(disk),
                     .cache_bytes = stats.bytes,
                     .cache_entries = stats.entries,
                     .compiled = count.compiled,
                     .memory_hits = count.memory_hits,
                     .disk_hits = count.disk_hits,
                     .evaluated = count.evaluated };
    memcpy(info, &full, info->size < sizeof full ? info->size : sizeof full);
    return WF_OK;
}
