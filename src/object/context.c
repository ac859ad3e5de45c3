/* context.c - what all objects need of their context: its errors, references to it, and its settings. Contexts are made
 * and freed in launch/context.c. */
#include "object/object.h"
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
struct wf__thread_error {
    wf__thread_error *next;
    uint64_t thread; /* number of the thread (wf__this_thread) */
    wf_status status;
    char text[1024];
};

/* Numbers threads in the order of their first call. A number is never used again, so no thread gets the error of one
 * that has ended. */
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
    ctx->services->on_error(ctx, status, text);
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

const char *wf_last_message(const wf_context *ctx)
{
    if (!ctx)
        return status_text(WF_ERR_MEMORY);
    wf_context *c = (wf_context *)ctx;
    wf__mutex_lock(&c->lock);
    const wf__thread_error *e = find_error(ctx);
    wf__mutex_unlock(&c->lock);
    return e ? e->text : "";
}

wf_status wf_last_status(const wf_context *ctx)
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

void wf_clear_error(wf_context *ctx)
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

void wf__errors_free(wf_context *ctx)
{
    while (ctx->errors) {
        wf__thread_error *e = ctx->errors;
        ctx->errors = e->next;
        wf__free(e);
    }
}

/* ---- objects of libraries ---- */
typedef struct wf__kept {
    struct wf__kept *next;
    const void *key;
    void *object;
    void (*release)(void *object);
} wf__kept;

static void *find_kept(const wf_context *ctx, const void *key) /* under the lock */
{
    for (const wf__kept *k = ctx->kept; k; k = k->next)
        if (k->key == key)
            return k->object;
    return NULL;
}

void *wf_context_object(wf_context *ctx, const void *key, void *(*make)(wf_context *ctx), void (*release)(void *object))
{
    if (!ctx || !make || !release)
        return NULL;
    wf__mutex_lock(&ctx->lock);
    void *found = find_kept(ctx, key);
    bool owned = ctx->owned;
    wf__mutex_unlock(&ctx->lock);
    if (found || !owned)
        return found;
    wf__kept *mine = wf__alloc0(sizeof *mine);
    void *object = mine ? make(ctx) : NULL;
    if (!object) {
        wf__free(mine);
        return NULL;
    }
    *mine = (wf__kept){ .key = key, .object = object, .release = release };
    wf__mutex_lock(&ctx->lock);
    found = find_kept(ctx, key); /* another thread may have been faster */
    bool keeps = !found && ctx->owned;
    if (keeps) {
        mine->next = ctx->kept;
        ctx->kept = mine;
    }
    wf__mutex_unlock(&ctx->lock);
    if (keeps)
        return object;
    release(object);
    wf__free(mine);
    return found;
}

void wf__kept_free(wf_context *ctx)
{
    wf__mutex_lock(&ctx->lock);
    wf__kept *list = ctx->kept;
    ctx->kept = NULL;
    ctx->owned = false;
    wf__mutex_unlock(&ctx->lock);
    while (list) {
        wf__kept *k = list;
        list = k->next;
        k->release(k->object);
        wf__free(k);
    }
}

/* ---- references ---- */
void wf__context_retain(wf_context *ctx) { atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed); }

void wf__context_release(wf_context *ctx)
{
    if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) == 1)
        ctx->services->free(ctx);
}

/* ---- settings ---- */
void wf_set_expand_bytes(wf_context *ctx, uint64_t bytes)
{
    if (ctx)
        atomic_store(&ctx->expand_bytes, bytes);
}

uint64_t wf_get_expand_bytes(const wf_context *ctx) { return ctx ? atomic_load(&ctx->expand_bytes) : 0; }

uint32_t wf_get_flags(const wf_context *ctx) { return ctx ? atomic_load(&ctx->flags) & ~(uint32_t)WF__FREEZING : 0; }
