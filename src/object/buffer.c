/* buffer.c - memory of arrays, reference-counted: the processor's, a GPU's, or shared by both. */
#include "object/object.h"

wf__buffer *wf__buffer_new(wf_context *ctx, size_t bytes)
{
    wf__buffer *b = wf__alloc0(sizeof *b);
    if (b && bytes)
        b->data = wf__mem_alloc(wf__engine_memory(ctx->engine), bytes);
    if (!b || (bytes && !b->data)) {
        wf__free(b);
        return NULL;
    }
    atomic_init(&b->refs, 1);
    b->bytes = bytes;
    b->id = wf__new_array_id(ctx);
    return b;
}

wf__buffer *wf__buffer_on_gpu(wf_context *ctx, wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    wf__buffer *b = wf__buffer_new(ctx, 0);
    if (!b)
        return NULL;
    b->gpu = gpu;
    b->bytes = bytes;
    b->data = wf__gpu_alloc(gpu, bytes, &b->use, f);
    if (b->data)
        return b;
    wf__free(b);
    return NULL;
}

typedef struct shared { /* memory of a GPU's driver that the processor reaches */
    wf__gpu *gpu;
    char *at;
    bool managed;
} shared;

static void free_shared(void *user)
{
    shared *s = user;
    wf__gpu_free_shared(s->gpu, s->at, s->managed);
    wf__free(s);
}

wf__buffer *wf__buffer_shared(wf_context *ctx, wf__gpu *gpu, bool managed, size_t bytes, wf__failure *f)
{
    shared *s = wf__alloc0(sizeof *s);
    wf__buffer *b = s ? wf__buffer_new(ctx, 0) : NULL;
    char *at = b ? wf__gpu_alloc_shared(gpu, bytes, managed, f) : NULL;
    if (!at) {
        wf__free(s);
        wf__free(b);
        return NULL;
    }
    *s = (shared){ gpu, at, managed };
    b->data = at;
    b->release = free_shared;
    b->user = s;
    return b;
}

void wf__buffer_release(wf_context *ctx, wf__buffer *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->bytes && b->gpu)
        wf__gpu_free(b->gpu, b->data, b->bytes, b->use);
    else if (b->bytes)
        wf__mem_free(wf__engine_memory(ctx->engine), b->data, b->bytes);
    else if (b->release) {
        if (b->gpu) /* launches may be under way */
            wf__gpu_drain(b->gpu);
        b->release(b->user);
    }
    wf__free(b);
}

wf__buffer *wf__buffer_of(wf_context *ctx, wf__buffer *like, const char *from, size_t bytes)
{
    wf__failure ignored = { 0 };
    wf__buffer *b = like->gpu ? wf__buffer_on_gpu(ctx, like->gpu, bytes, &ignored) : wf__buffer_new(ctx, bytes);
    if (b && !b->gpu && bytes)
        memcpy(b->data, from, bytes);
    else if (b && b->gpu && !wf__gpu_copy(b->gpu, b->data, &b->use, from, &like->use, bytes, &ignored)) {
        wf__buffer_release(ctx, b);
        b = NULL;
    }
    wf__str_free(&ignored.text);
    return b;
}
