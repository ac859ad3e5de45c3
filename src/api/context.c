/* context.c - contexts and errors. The one file that joins the code generator to the engine: a build without
 * LLVM is the same build with the folder src/codegen missing. */
#include "api/api.h"
#include <stdio.h>

const char *wf_status_name(wf_status status)
{
    switch (status) {
    case WF_OK:
        return "WF_OK";
#define X(name, code, text) \
    case code:              \
        return "WF_ERR_" #name;
        WF_STATUS_MAP(X)
#undef X
    default:
        return "WF_ERR_UNKNOWN";
    }
}

static const char *status_text(wf_status status)
{
    switch (status) {
#define X(name, code, text) \
    case code:              \
        return text;
        WF_STATUS_MAP(X)
#undef X
    default:
        return "";
    }
}

wf_device wf_context_device(const wf_context *ctx) { return ctx ? ctx->device : 0; }

/* ---- errors: the first of each thread ---- */
/* An error that a thread leaves behind never becomes another's. */
uint64_t wf__this_thread(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t mine;
    if (!mine)
        mine = atomic_fetch_add(&threads, 1) + 1;
    return mine;
}

static wf__thread_error *find_error(const wf_context *ctx) /* under the lock */
{
    for (wf__thread_error *e = ctx->errors; e; e = e->next)
        if (e->thread == wf__this_thread())
            return e;
    return NULL;
}

static wf_status set_error(wf_context *ctx, wf_status status, const char *text)
{
    if (!ctx || status == WF_OK)
        return status;
    if (!text || !*text)
        text = status_text(status);
    wf__freeze_failed(ctx, status, text);
    wf__mutex_lock(&ctx->lock);
    wf__thread_error *e = find_error(ctx);
    if (!e && (e = wf__alloc0(sizeof *e))) {
        e->thread = wf__this_thread();
        e->next = ctx->errors;
        ctx->errors = e;
    }
    if (e && e->status == WF_OK) {
        e->status = status;
        snprintf(e->text, sizeof e->text, "%s", text);
    }
    wf__mutex_unlock(&ctx->lock);
    return status;
}

wf_status wf_error(wf_context *ctx, wf_status status, const char *text) { return set_error(ctx, status, text); }

wf_status wf__error(wf_context *ctx, wf_status status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return set_error(ctx, status, text);
}

const char *wf_message(const wf_context *ctx)
{
    if (!ctx)
        return status_text(WF_ERR_MEMORY);
    wf_context *c = (wf_context *)ctx;
    wf__mutex_lock(&c->lock);
    const wf__thread_error *e = find_error(ctx);
    wf__mutex_unlock(&c->lock);
    return e ? e->text : "";
}

wf_status wf_check(const wf_context *ctx)
{
    if (!ctx)
        return WF_ERR_MEMORY;
    wf_context *c = (wf_context *)ctx;
    wf__mutex_lock(&c->lock);
    const wf__thread_error *e = find_error(ctx);
    wf_status status = e ? e->status : WF_OK;
    wf__mutex_unlock(&c->lock);
    return status;
}

void wf_clear(wf_context *ctx)
{
    if (!ctx)
        return;
    wf__mutex_lock(&ctx->lock);
    wf__thread_error *e = find_error(ctx);
    if (e) {
        e->status = WF_OK;
        e->text[0] = 0;
    }
    wf__mutex_unlock(&ctx->lock);
}

/* ---- life ---- */
static int threads_from_environment(void)
{
    const char *text = wf__getenv("WEFT_THREADS");
    int n = 0;
    while (text && *text >= '0' && *text <= '9' && n < WF__POOL_MAX)
        n = 10 * n + (*text++ - '0');
    return text && !*text ? n : 0;
}

static bool tiers_from_environment(void)
{
    const char *text = wf__getenv("WEFT_TIERED");
    return !text || strcmp(text, "0") != 0;
}

static wf__engine *new_engine(const wf_config *config)
{
    wf__engine_config c = { .threads = config->threads > 0 ? config->threads : threads_from_environment(),
                            .cache_dir = config->cache_dir,
                            .cache_bytes = config->cache_bytes,
                            .log = config->log,
                            .log_user = config->log_user };
#ifdef WEFT_WITH_LLVM
    c.codegen = &wf__llvm;
#endif
    return wf__engine_new(&c);
}

wf_context *wf_context_new(const wf_config *config)
{
    wf_config none = { .size = sizeof none }, given = none;
    if (config) /* an older caller's struct may be shorter */
        memcpy(&given, config, config->size < sizeof given ? config->size : sizeof given);
    wf_context *ctx = wf__alloc0(sizeof *ctx);
    if (!ctx)
        return NULL;
    atomic_init(&ctx->refs, 1);
    ctx->device = given.device == WF_INTERP || wf__is_gpu(given.device) ? given.device : WF_CPU;
    ctx->log = given.log;
    ctx->log_user = given.log_user;
    bool locked = wf__mutex_init(&ctx->lock) && wf__mutex_init(&ctx->share_lock) && wf__cond_init(&ctx->unread);
    bool progress = wf__progress_init(&ctx->progress);
    ctx->engine = locked && progress ? new_engine(&given) : NULL;
    if (!ctx->engine) {
        if (locked) {
            wf__mutex_free(&ctx->lock);
            wf__mutex_free(&ctx->share_lock);
            wf__cond_free(&ctx->unread);
        }
        if (progress)
            wf__progress_free(&ctx->progress);
        wf__free(ctx);
        return NULL;
    }
    atomic_init(&ctx->flags, WF_FOLD | WF_VALUE_NUMBERING | WF_LOOP_OPT | WF_PACKETS | WF_CALL_OPT | WF_DEAD_CODE |
                                 (tiers_from_environment() ? WF_TIERED : 0u));
    wf_set_expand_bytes(ctx, WF__EXPAND_BYTES);
    wf_set_flags(ctx, given.flags_on, given.flags_off);
    if (given.device && given.device != ctx->device)
        wf__error(ctx, WF_ERR_DEVICE, "wf_context_new: there is no device %d; it is WF_CPU", (int)given.device);
    return ctx;
}

void wf__context_retain(wf_context *ctx) { atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed); }

void wf__context_release(wf_context *ctx)
{
    if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (ctx->spare) {
        wf_graph *g = ctx->spare;
        ctx->spare = g->next;
        wf__graph_free(g);
    }
    wf__plans_free(ctx);
    wf__free(ctx->history);
    wf__engine_free(ctx->engine);
    while (ctx->errors) {
        wf__thread_error *e = ctx->errors;
        ctx->errors = e->next;
        wf__free(e);
    }
    wf__streams_forget(ctx);
    wf__progress_free(&ctx->progress);
    wf__mutex_free(&ctx->lock);
    wf__mutex_free(&ctx->share_lock);
    wf__cond_free(&ctx->unread);
    wf__free(ctx);
}

void wf_context_free(wf_context *ctx)
{
    if (!ctx)
        return;
    wf__streams_wait(ctx);
    while (ctx->open) {
        wf_graph *g = ctx->open;
        if (ctx->log) {
            char text[512];
            snprintf(text, sizeof text, "a recording begun at %s was never run",
                     g->here ? g->here : "an unknown place");
            ctx->log(1, text, ctx->log_user);
        }
        wf_drop(g);
    }
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

void wf_set_expand_bytes(wf_context *ctx, uint64_t bytes)
{
    if (ctx)
        atomic_store(&ctx->expand_bytes, bytes);
}

uint64_t wf_get_expand_bytes(const wf_context *ctx) { return ctx ? atomic_load(&ctx->expand_bytes) : 0; }

void wf_set_flags(wf_context *ctx, uint32_t on, uint32_t off)
{
    if (!ctx)
        return;
    atomic_fetch_or(&ctx->flags, on & ~(uint32_t)WF__FREEZING);
    atomic_fetch_and(&ctx->flags, ~off | WF__FREEZING);
    wf__engine_use_disk(ctx->engine, !(wf_get_flags(ctx) & WF_NO_DISK_CACHE));
}

uint32_t wf_get_flags(const wf_context *ctx) { return ctx ? atomic_load(&ctx->flags) & ~(uint32_t)WF__FREEZING : 0; }

wf_status wf_get_info(wf_context *ctx, bool open_llvm, wf_info *info)
{
    if (!ctx || !info)
        return wf__error(ctx, WF_ERR_ARG, "wf_get_info: %s is NULL", ctx ? "info" : "ctx");
    const wf__target *target = wf__engine_target(ctx->engine);
    wf__engine_counts count = wf__engine_count(ctx->engine);
    wf__disk *disk = wf__engine_disk(ctx->engine);
    wf__disk_stats stats = { 0 };
    wf__disk_get_stats(disk, &stats);
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
