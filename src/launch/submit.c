/* submit.c - runs a request on this thread, or queues it in its stream. */
#include "launch/launch.h"

/* Marks the arrays that the request has written as sound: they are complete again after an earlier failure. */
static void note_whole(const wf__request *r)
{
    for (uint32_t i = 0; i < r->program->object_n; ++i)
        if (atomic_load(&r->arrays[i]->buffer->fault) != WF__SOUND && wf__program_writes(r->program, i))
            atomic_store(&r->arrays[i]->buffer->fault, WF__SOUND);
}

static void note_kept(const wf__request *r)
{
    for (uint32_t i = 0; i < r->kept_n; ++i) {
        atomic_store(&r->kept[i]->buffer->fault, WF__SOUND);
        atomic_store(&r->kept[i]->state, WF_STATE_READY);
    }
}

/* Runs a request while there are copies on write. */
static wf_status run_sharing(wf_context *ctx, const wf__request *r)
{
    const wf__program *p = r->program;
    wf_status status = WF_ERR_MEMORY;
    uint32_t n = p->object_n;
    wf__buffer **pinned = wf__alloc((n + 1) * sizeof(wf__buffer *));
    bool *written = wf__alloc(n + 1);
    if (!pinned || !written)
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for a launch");
    else {
        for (uint32_t i = 0; i < n; ++i)
            written[i] = wf__program_writes(p, i);
        if (wf__arrays_begin(ctx, r->arrays, n, written, pinned, p->name ? p->name : "a launch"))
            status = wf__request_run(ctx, r);
        wf__arrays_end(ctx, n, pinned);
    }
    wf__free(pinned);
    wf__free(written);
    return status;
}

wf_status wf__submit(wf_context *ctx, const wf__request *r)
{
    if (wf__is_taping(ctx))
        wf__tape_note(ctx, r);
    wf_status status = WF_OK;
    wf__request given;
    bool streaming = atomic_load_explicit(&ctx->streaming, memory_order_acquire);
    if (streaming) {
        given = *r;
        r = &given;
        if (!given.stream)
            given.stream = wf__stream_current(ctx, r->program->device);
        if (given.stream && given.stream->queue)
            return wf__has_distributed(ctx, r) ? wf__request_distributed(ctx, r) : wf__request_queue(ctx, r);
        status = wf__request_arrays(ctx, r, true);
        if (status != WF_OK)
            return status;
    }
    status = wf__sharing(ctx) ? run_sharing(ctx, r) : wf__request_run(ctx, r);
    if (status == WF_OK && streaming)
        note_whole(r);
    if (status == WF_OK && r->kept_n)
        note_kept(r);
    if (status == WF_OK)
        wf__note_written(r);
    return status;
}
