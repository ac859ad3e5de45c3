/* request.c - runs a request on this thread: finds its plan or makes it, and keeps a memo of what depends on the
 * arrays.
 */
#include "launch/launch.h"

enum { FEW = 12 };

/* Returns the plan of the kernel's latest launch, which the caller releases, if it fits these layouts; else NULL. */
static wf__plan_entry *same_as_last(wf_kernel *k, const wf__piece *layouts)
{
    wf__mutex_lock(&k->lock);
    wf__plan_entry *e = k->last;
    bool fits =
        e && e->key_len - e->recording_len == layouts->n && !memcmp(e->key + e->recording_len, layouts->at, layouts->n);
    if (fits)
        atomic_fetch_add(&e->users, 1);
    wf__mutex_unlock(&k->lock);
    return fits ? e : NULL;
}

static void remember(wf_kernel *k, wf__plan_entry *e)
{
    atomic_fetch_add(&e->users, 1);
    wf__mutex_lock(&k->lock);
    wf__plan_entry *old = k->last;
    k->last = e;
    wf__mutex_unlock(&k->lock);
    wf__plan_release(k->ctx, old);
}

/* Finds or makes the plan by the arrays' layouts. The caller releases it. NULL = failure, in *status. */
static wf__plan_entry *find_plan(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                                 wf_array *const *arrays, const wf_shape *space, wf_kernel *kernel, bool *made,
                                 wf_status *status)
{
    *made = false;
    uint64_t few[1 + WF_MAX_RANK + FEW * (2 + 2 * WF_MAX_RANK)], *words = few;
    if (p->object_n > FEW && !(words = wf__alloc(wf__most_layout_words(p->object_n) * sizeof *words))) {
        *status = wf__error(ctx, WF_ERR_MEMORY, "out of memory for a launch");
        return NULL;
    }
    wf__piece layouts = { words, wf__write_layouts(arrays, p->object_n, space, words) };
    wf__plan_entry *e = kernel ? same_as_last(kernel, &layouts) : NULL;
    if (!e) {
        e = wf__plan_look_up(ctx, p, recording_key, &layouts, arrays, space, NULL, made, status);
        if (e && kernel)
            remember(kernel, e);
    }
    if (words != few)
        wf__free(words);
    return e;
}

wf__plan_entry *wf__plan_for(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                             wf_array *const *arrays, wf_status *status)
{
    bool made;
    return find_plan(ctx, p, recording_key, arrays, &p->rec.space, NULL, &made, status);
}

/* ---- running ---- */
bool wf__execute_plan(wf_context *ctx, wf__gpu_on on, wf__plan *plan, const char *label, const char *where,
                      char *const *base, const uint64_t *param, const wf__limits *limits, bool interpret,
                      wf__note *notes, wf__failure *failure)
{
    bool ok = on.gpu ? wf__gpu_run(on, plan, label, base, param, limits, notes, failure)
                     : wf__cpu_run(ctx->engine, plan, base, param, limits, NULL, interpret, notes, failure);
    if (failure->warning.len && ctx->log) {
        wf__str_add(&failure->warning, where);
        ctx->log(1, wf__str_get(&failure->warning), ctx->log_user);
    }
    wf__str_free(&failure->warning);
    return ok;
}

/* Runs the plan with the request's addresses, and reports a failure. */
static wf_status execute_request(wf_context *ctx, const wf__request *r, wf__plan_entry *e, wf__note *notes)
{
    const wf__program *p = r->program;
    wf__failure failure = { 0 };
    wf__str where = { 0 };
    wf_status status = WF_OK;
    wf__gpu_on on = { .gpu = wf__is_gpu(p->device) ? wf__gpu_of(ctx, "wf_run", p->device) : NULL };
    if (wf__is_gpu(p->device) && !on.gpu)
        return wf_last_status(ctx);
    char *few_base[FEW], **base = few_base;
    wf__gpu_use *few_use[FEW], **use = few_use;
    bool many = p->object_n > FEW, cuda_stream = r->stream != NULL; /* wf__submit queues for Weft's own streams */
    if (many && (!(base = wf__alloc(p->object_n * sizeof *base)) ||
                 (cuda_stream && !(use = wf__alloc(p->object_n * sizeof(wf__gpu_use *)))))) {
        wf__free(base);
        return wf__error(ctx, WF_ERR_MEMORY, "out of memory for a launch");
    }
    for (uint32_t i = 0; i < p->object_n; ++i)
        base[i] = r->arrays[i]->base;
    if (cuda_stream) {
        for (uint32_t i = 0; i < p->object_n; ++i)
            use[i] = &r->arrays[i]->buffer->use;
        on = r->stream->cuda;
        on.use = use;
    }
    if (p->rec.ir.flags & WF_FLAG_DEBUG)
        wf__add_where(p, &where);
    if (!wf__execute_plan(ctx, on, &e->plan, p->name, wf__str_get(&where), base, r->param, &r->limits,
                          p->device == WF_INTERP, notes, &failure))
        status = wf__program_error(ctx, p, failure.status, wf__str_get(&failure.text), WF_SECTION_CALL, NULL);
    wf__str_free(&failure.text);
    wf__str_free(&where);
    if (use != few_use)
        wf__free(use);
    if (base != few_base)
        wf__free(base);
    return status;
}

/* True if the program loads elements of the object. */
static bool reads(const wf__program *p, uint32_t object)
{
    for (int k = 0; k < WF__SECTIONS; ++k) {
        const wf__ir *section = &p->rec.section[k];
        for (wf__ref r = 1; r < section->n; ++r) {
            const wf__node *n = &section->node[r];
            if (n->op == WF__LOAD && section->slot[n->a].object == object)
                return true;
        }
    }
    return false;
}

wf_status wf__request_arrays(wf_context *ctx, const wf__request *r, bool wait)
{
    for (uint32_t i = 0; i < r->program->object_n; ++i) {
        const wf_array *a = r->arrays[i];
        char called[WF__CALLED];
        if (wait)
            wf__array_wait(a);
        if (wf__array_promised(a) == WF_STATE_LAZY && !wf__program_writes(r->program, i) && reads(r->program, i))
            return wf__error(ctx, WF_ERR_ARG, "%s was never computed: queued work failed",
                             wf__array_called(r->program, r->program->object[i].array, a, called));
    }
    return WF_OK;
}

void wf__note_written(const wf__request *r)
{
    for (uint32_t i = 0; i < r->program->object_n; ++i)
        if (atomic_load(&r->arrays[i]->state) == WF_STATE_LAZY && wf__program_writes(r->program, i))
            atomic_store(&r->arrays[i]->state, WF_STATE_READY);
}

/* Prepares the note of a run for history and log. note->stage stays NULL if neither needs it. */
static bool begin_note(wf_context *ctx, const wf__request *r, const wf__plan_entry *e, bool made, double plan_s,
                       wf__launch_note *note)
{
    bool history = wf__has_history(ctx);
    if (!history && !(made && e->why && ctx->log))
        return true;
    if (!(note->stage = wf__alloc0((e->plan.stage_n + 1) * sizeof *note->stage)))
        return false;
    for (uint32_t s = 0; s < e->plan.stage_n; ++s)
        note->stage[s].explain = history;
    bool again = r->kernel && atomic_exchange(&r->kernel->noted, true);
    note->plan_hit = !made;
    note->record_s = again ? 0 : r->program->record_s;
    note->plan_s = plan_s;
    wf__history_describe(ctx, r->program, note);
    return true;
}

wf__plan_entry *wf__request_plan(wf_context *ctx, const wf__request *r, wf__launch_note *note, wf_status *status)
{
    bool history = wf__has_history(ctx), made;
    double start = history ? wf__now() : 0;
    wf__hold *hold = wf__is_noted(ctx) ? NULL : wf__memo_find(r->kernel, r->arrays, r->space);
    wf__plan_entry *e;
    *note = (wf__launch_note){ 0 };
    if (hold) {
        e = wf__memo_of(r->kernel, hold)->entry;
        atomic_fetch_add(&e->users, 1);
        wf__memo_unlock(hold);
        return e;
    }
    e = find_plan(ctx, r->program, r->recording_key, r->arrays, r->space, r->kernel, &made, status);
    if (!e || begin_note(ctx, r, e, made, history ? wf__now() - start : 0, note))
        return e;
    wf__plan_release(ctx, e);
    *status = wf__error(ctx, WF_ERR_MEMORY, "out of memory for the history");
    return NULL;
}

void wf__note_run(wf_context *ctx, const wf__plan_entry *e, wf__launch_note *note)
{
    if (note->stage)
        wf__history_add(ctx, e, note);
    wf__free(note->stage);
    note->stage = NULL;
}

wf_status wf__request_run(wf_context *ctx, const wf__request *r)
{
    wf_status status = WF_OK;
    if (wf__has_distributed(ctx, r))
        return wf__request_distributed(ctx, r);
    wf__hold *hold = wf__is_noted(ctx) ? NULL : wf__memo_find(r->kernel, r->arrays, r->space);
    const wf__memo *memo = hold ? wf__memo_of(r->kernel, hold) : NULL;
    if (memo && memo->call.entry && !r->limits.serial_below)
        wf__memo_run(r->kernel, hold, r->param, &r->limits);
    else {
        wf__launch_note note;
        note.stage = NULL;
        wf__plan_entry *e = memo ? memo->entry : wf__request_plan(ctx, r, &note, &status);
        if (e)
            status = execute_request(ctx, r, e, note.stage);
        if (e && !memo) {
            wf__note_run(ctx, e, &note);
            if (status == WF_OK)
                wf__freeze_note(ctx, r->program, e, r->arrays, r->param);
            if (status == WF_OK)
                wf__memo_fill(r->kernel, r->arrays, r->space, e);
            wf__plan_release(ctx, e);
        }
    }
    if (hold)
        wf__memo_unlock(hold);
    return status;
}
