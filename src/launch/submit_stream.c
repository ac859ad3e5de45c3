/* submit_stream.c - launches in a stream. The calling thread checks and plans a launch, and copies what it needs. The
 * queued work holds its plan and its arrays, and needs neither the recording nor the kernel. The stream's thread
 * compiles code and allocates temporaries. For the queue, work is complete once it has been submitted to the GPU,
 * since the GPU runs what the host submits later after it. */
#include "launch/launch.h"
#include <stdio.h>

typedef struct launch {
    wf__work work;
    wf__plan_entry *plan;
    wf__launch_note note;
    wf__limits limits;
    bool interpret;
    const char *name, *where; /* name of the recording (NULL = none), and its place for messages */
    uint32_t array_n, kept_n;
    wf_array **array, **kept; /* retained */
    bool *written;            /* [array_n] */
    wf__buffer **pinned;      /* [array_n]: buffers that are pinned (wf__arrays_begin) */
    wf__gpu_use **use;        /* [array_n]: uses of the buffers by work on a GPU */
    char **base;
    uint64_t *param;
} launch;

static void *part(char **at, size_t bytes)
{
    void *p = *at;
    *at += (bytes + 7) & ~(size_t)7;
    return p;
}

/* Makes a launch in one piece of memory. NULL = out of memory. */
static launch *new_launch(const wf__request *r)
{
    const wf__program *p = r->program;
    wf__str where = { 0 };
    wf__add_where(p, &where);
    size_t name = p->name ? strlen(p->name) + 1 : 0, n = p->object_n;
    size_t bytes = sizeof(launch) + n * (4 * sizeof(void *) + 1) + r->kept_n * sizeof(void *) +
                   p->param_n * sizeof *r->param + name + where.len + 32;
    launch *q = wf__alloc(bytes);
    if (!q) {
        wf__str_free(&where);
        return NULL;
    }
    *q = (launch){
        .interpret = p->device == WF_INTERP, .limits = r->limits, .array_n = p->object_n, .kept_n = r->kept_n
    };
    char *at = (char *)(q + 1);
    q->array = part(&at, n * sizeof *q->array);
    q->kept = part(&at, q->kept_n * sizeof *q->kept);
    q->base = part(&at, n * sizeof *q->base);
    q->pinned = part(&at, n * sizeof(wf__buffer *));
    q->use = part(&at, n * sizeof(wf__gpu_use *));
    q->param = part(&at, p->param_n * sizeof *q->param);
    q->written = part(&at, n);
    q->name = p->name ? memcpy(part(&at, name), p->name, name) : NULL;
    q->where = memcpy(part(&at, where.len + 1), wf__str_get(&where), where.len + 1);
    wf__str_free(&where);
    for (uint32_t i = 0; i < q->array_n; ++i) {
        q->array[i] = wf_retain(r->arrays[i]);
        q->written[i] = wf__program_writes(p, i);
    }
    for (uint32_t i = 0; i < q->kept_n; ++i)
        q->kept[i] = wf_retain(r->kept[i]);
    for (uint32_t i = 0; i < p->param_n; ++i)
        q->param[i] = r->param[i];
    return q;
}

static void free_launch(wf_context *ctx, launch *q)
{
    for (uint32_t i = 0; i < q->array_n; ++i)
        wf_release(q->array[i]);
    for (uint32_t i = 0; i < q->kept_n; ++i)
        wf_release(q->kept[i]);
    wf__plan_release(ctx, q->plan);
    wf__free(q->note.stage);
    wf__free(q);
}

/* Marks the buffers as in use until let_go. */
static void hold(const launch *q)
{
    for (uint32_t i = 0; i < q->array_n; ++i)
        atomic_fetch_add(&q->array[i]->buffer->pending, 1);
    for (uint32_t i = 0; i < q->kept_n; ++i)
        atomic_fetch_add(&q->kept[i]->buffer->computing, 1);
}

static void let_go(wf_context *ctx, const launch *q)
{
    for (uint32_t i = 0; i < q->kept_n; ++i)
        atomic_fetch_sub(&q->kept[i]->buffer->computing, 1);
    for (uint32_t i = 0; i < q->array_n; ++i)
        atomic_fetch_sub(&q->array[i]->buffer->pending, 1);
    wf__arrays_end(ctx, q->array_n, q->pinned);
    wf__progress_made(&ctx->progress);
}

/* Marks written arrays as sound after a complete run, else as lost, or as never computed if a recording kept them. */
static void mark_outputs(const launch *q, bool whole)
{
    for (uint32_t i = 0; i < q->array_n; ++i) {
        int sound = WF__SOUND;
        if (q->written[i] && whole)
            atomic_store(&q->array[i]->buffer->fault, WF__SOUND);
        else if (q->written[i])
            atomic_compare_exchange_strong(&q->array[i]->buffer->fault, &sound, WF__LOST);
    }
    for (uint32_t i = 0; i < q->kept_n; ++i)
        atomic_store(&q->kept[i]->buffer->fault, whole ? WF__SOUND : WF__NOT_COMPUTED);
}

static void run(wf__work *work, bool dropped)
{
    launch *q = (launch *)work;
    wf_context *ctx = work->stream->ctx;
    wf__failure failure = { 0 };
    wf__gpu_on on = work->stream->cuda;
    on.use = q->use;
    bool done = !dropped && wf__execute_plan(ctx, on, &q->plan->plan, q->name, q->where, q->base, q->param, &q->limits,
                                             q->interpret, q->note.stage, &failure);
    if (!dropped)
        wf__note_run(ctx, q->plan, &q->note);
    if (!done && !dropped) {
        wf__str text = { 0 };
        wf__str_addf(&text, "%s%s", wf__str_get(&failure.text), q->where);
        wf__stream_fail(work, failure.status, wf__str_get(&text));
        wf__str_free(&text);
    }
    wf__str_free(&failure.text);
    mark_outputs(q, done);
    let_go(ctx, q);
    free_launch(ctx, q);
}

/* Makes a launch whose memory does not move until the work is done. NULL = failure, in *status. */
static launch *begin(wf_context *ctx, const wf__request *r, wf_status *status)
{
    launch *q = new_launch(r);
    if (!q) {
        *status = wf__error(ctx, WF_ERR_MEMORY, "out of memory for a launch");
        return NULL;
    }
    if (!wf__arrays_begin(ctx, q->array, q->array_n, q->written, q->pinned, "a launch")) {
        *status = WF_ERR_MEMORY;
        free_launch(ctx, q);
        return NULL;
    }
    for (uint32_t i = 0; i < q->array_n; ++i) {
        q->base[i] = q->array[i]->base;
        q->use[i] = &q->array[i]->buffer->use;
    }
    q->work.run = run;
    hold(q);
    return q;
}

wf_status wf__request_queue(wf_context *ctx, const wf__request *r)
{
    wf_status status = wf__request_arrays(ctx, r, false);
    launch *q = status == WF_OK ? begin(ctx, r, &status) : NULL;
    if (!q)
        return status;
    wf__plan_entry *plan = q->plan = wf__request_plan(ctx, r, &q->note, &status);
    if (plan) {
        atomic_fetch_add(&plan->users, 1); /* the work may be done and freed at once */
        status = wf__stream_put(r->stream, &q->work, r->kernel ? "wf_launch" : "wf_run");
        if (status == WF_OK)
            wf__freeze_note(ctx, r->program, plan, r->arrays, r->param);
        wf__plan_release(ctx, plan);
    }
    if (status != WF_OK) {
        let_go(ctx, q);
        free_launch(ctx, q);
    }
    for (uint32_t i = 0; status == WF_OK && i < r->kept_n; ++i)
        atomic_store(&r->kept[i]->state, WF_STATE_READY); /* readers wait for the queued work */
    if (status == WF_OK)
        wf__note_written(r);
    return status;
}
