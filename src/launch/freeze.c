/* freeze.c - notes a sequence of launches while it runs, so that replay.c can run it again with other inputs, without a
 * recording, key or plan.
 *
 * This file decides what can be frozen. While a thread notes, its callers pass on each launch (wf__freeze_note), each
 * access of contents by the host (wf__freeze_host), each operation that cannot be frozen (wf_freeze_refuse) and
 * each error (wf__freeze_failed). wf_freeze_end reports the first that does not fit.
 */
#include "launch/frozen.h"
#include <stdio.h>

/* ---- the sequence ---- */
int64_t wf__frozen_distance(const wf_array *a, const wf_array *b)
{
    if (!wf__array_may_meet(a, b))
        return WF__FROZEN_APART;
    wf__mutex_lock(&a->ctx->share_lock); /* a write to a copy may move both */
    int64_t way = (int64_t)((uintptr_t)a->base - (uintptr_t)b->base);
    wf__mutex_unlock(&a->ctx->share_lock);
    return way;
}

/* ---- noting ---- */
/* Returns the place of this thread's sequence in the list, or the end of the list. Under the lock. */
static wf_frozen **find(wf_context *ctx)
{
    wf_frozen **at = &ctx->launcher->freezing;
    while (*at && !wf__thread_is_this((*at)->thread))
        at = &(*at)->next;
    return at;
}

/* Returns the sequence that the calling thread notes launches in; NULL = none. */
static wf_frozen *noting(wf_context *ctx)
{
    if (!wf__is_freezing(ctx))
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_frozen *f = *find(ctx); /* only this thread changes the sequence */
    wf__mutex_unlock(&ctx->lock);
    return f;
}

bool wf__freezes(wf_context *ctx) { return noting(ctx) != NULL; }

bool wf_is_freezing(wf_context *ctx) { return ctx && wf__freezes(ctx); }

static void free_step(wf_context *ctx, wf__frozen_step *s)
{
    wf__plan_release(ctx, s->plan);
    wf__prepared_free(&s->call);
    wf__free(s->name);
    wf__str_free(&s->where);
    wf__free(s->array);
    wf__free(s->written);
    wf__free(s->param);
    wf__free(s->base);
}

void wf__frozen_drop_aliases(wf_frozen *f)
{
    for (uint32_t i = 0; i < f->alias_n; ++i) {
        wf_release(f->array[f->alias[i].number]);
        f->array[f->alias[i].number] = NULL;
    }
}

/* Frees the state that only noting needs. */
static void end_noting(wf_frozen *f)
{
    wf__frozen_drop_aliases(f);
    for (uint32_t i = 0; i < f->inputs; ++i)
        wf_release(f->array[i]);
    for (uint32_t i = 0; i < f->filled_n; ++i)
        wf_release(f->filled[i]);
    wf__free(f->filled);
    f->filled = NULL;
    f->filled_n = 0;
}

void wf_frozen_free(wf_frozen *f)
{
    if (!f)
        return;
    wf_context *ctx = f->ctx;
    for (uint32_t i = 0; i < f->step_n; ++i)
        free_step(ctx, &f->step[i]);
    for (uint32_t i = f->inputs; i < f->array_n; ++i)
        wf_release(f->array[i]);
    wf__free(f->step);
    wf__free(f->array);
    wf__free(f->id);
    wf__free(f->expected);
    wf__free(f->apart);
    wf__free(f->alias);
    wf__mutex_free(&f->lock);
    wf__free(f);
    wf__context_release(ctx);
}

static void fail(wf_frozen *f, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
static void fail(wf_frozen *f, wf_status status, const char *format, ...)
{
    va_list args;
    if (f->status != WF_OK)
        return;
    f->status = status;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

static void no_memory(wf_frozen *f) { fail(f, WF_ERR_MEMORY, "out of memory for a frozen sequence"); }

void wf__freeze_failed(wf_context *ctx, wf_status status, const char *text)
{
    wf_frozen *f = noting(ctx);
    if (f)
        fail(f, status, "wf_freeze_end: nothing is frozen, as a call in between failed: %s", text);
}

wf_status wf_freeze_begin(wf_context *ctx, wf_arrays inputs)
{
    if (!ctx)
        return WF_ERR_ARG;
    if (!wf__is_given(ctx, inputs.at, inputs.n, "wf_freeze_begin"))
        return WF_ERR_ARG;
    for (size_t i = 0; i < inputs.n; ++i) {
        if (!inputs.at[i] || inputs.at[i]->ctx != ctx)
            return wf__error(ctx, WF_ERR_ARG, "wf_freeze_begin: input %u is %s", (unsigned)i,
                             inputs.at[i] ? "another context's" : "NULL");
        if (!wf__array_usable(inputs.at[i], "wf_freeze_begin"))
            return wf_last_status(ctx);
    }
    wf_frozen *f = wf__alloc0(sizeof *f);
    uint32_t n = (uint32_t)inputs.n;
    bool ok = f && wf__grow(&f->array, &f->array_cap, n + 1, sizeof(wf_array *));
    if (ok) {
        f->id = wf__alloc0((n + 1) * sizeof *f->id);
        f->expected = wf__alloc0((n + 1) * sizeof *f->expected);
        f->apart = wf__alloc(wf__frozen_pair(n + 1, 0) * sizeof *f->apart + 1);
    }
    if (!ok || !f->id || !f->expected || !f->apart || !wf__mutex_init(&f->lock)) {
        if (f) {
            wf__free(f->array);
            wf__free(f->id);
            wf__free(f->expected);
            wf__free(f->apart);
        }
        wf__free(f);
        return wf__error(ctx, WF_ERR_MEMORY, "out of memory for a frozen sequence");
    }
    f->ctx = ctx;
    wf__context_retain(ctx);
    f->thread = wf__thread_this();
    for (uint32_t i = 0; i < n; ++i)
        f->array[i] = wf_retain(inputs.at[i]);
    f->array_n = f->inputs = n;
    for (uint32_t i = 0; i < n; ++i)
        f->expected[i] = (wf__frozen_input){ .dtype = inputs.at[i]->dtype,
                                             .shape = inputs.at[i]->shape,
                                             .device = inputs.at[i]->device };
    for (uint32_t i = 1; i < n; ++i)
        for (uint32_t j = 0; j < i; ++j)
            f->apart[wf__frozen_pair(i, j)] = wf__frozen_distance(inputs.at[i], inputs.at[j]);
    wf__mutex_lock(&ctx->lock);
    bool nested = *find(ctx) != NULL;
    if (!nested) {
        f->next = ctx->launcher->freezing;
        ctx->launcher->freezing = f;
        atomic_fetch_or(&ctx->flags, WF__FREEZING);
    }
    wf__mutex_unlock(&ctx->lock);
    if (!nested)
        return WF_OK;
    end_noting(f);
    wf_frozen_free(f);
    return wf__error(ctx, WF_ERR_ARG, "wf_freeze_begin: this thread is freezing a sequence already");
}

void wf__freeze_abandon(wf_context *ctx)
{
    while (ctx->launcher->freezing) {
        wf_frozen *f = ctx->launcher->freezing;
        ctx->launcher->freezing = f->next;
        if (ctx->log)
            ctx->log(1, "a sequence begun by wf_freeze_begin was never ended (wf_freeze_end)", ctx->log_user);
        end_noting(f);
        wf_frozen_free(f);
    }
    atomic_fetch_and(&ctx->flags, ~(uint32_t)WF__FREEZING);
}

/* Notes that the array to be added to the table is a view of an input. False = it is not, or it reaches further. */
static bool note_alias(wf_frozen *f, const wf_array *a, uint32_t input)
{
    const wf_array *of = f->array[input];
    wf__frozen_alias v = { f->array_n, input, 0, a->dtype, a->shape, { 0 }, a->read_only };
    memcpy(v.stride, a->stride, sizeof v.stride);
    wf__mutex_lock(&f->ctx->share_lock); /* a write to a copy may move both */
    bool inside = a->buffer == of->buffer && a->lo >= of->lo && a->hi <= of->hi;
    v.offset = inside ? a->base - of->base : 0;
    wf__mutex_unlock(&f->ctx->share_lock);
    if (!inside)
        return false;
    if (!wf__grow(&f->alias, &f->alias_cap, f->alias_n + 1, sizeof *f->alias)) {
        no_memory(f);
        return true;
    }
    f->alias[f->alias_n++] = v;
    f->expected[input].viewed = true;
    memcpy(f->expected[input].stride, of->stride, sizeof of->stride);
    return true;
}

/* Returns the number of an array in the table, added if it is new; UINT32_MAX = the sequence cannot be frozen. */
static uint32_t number_of(wf_frozen *f, wf_array *a, const char *name)
{
    for (uint32_t i = 0; i < f->array_n; ++i)
        if (f->array[i] == a)
            return i;
    if (!wf__grow(&f->array, &f->array_cap, f->array_n + 1, sizeof(wf_array *))) {
        no_memory(f);
        return UINT32_MAX;
    }
    uint32_t of = f->inputs;
    bool found = false;
    for (uint32_t i = 0; i < f->inputs && !found; ++i)
        if (wf__array_may_meet(f->array[i], a)) {
            of = i;
            found = note_alias(f, a, i);
        }
    if (of < f->inputs && !found)
        fail(f, WF_ERR_UNSUPPORTED,
             "wf_freeze_end: launch %u%s%s%s uses an array that has memory of input %u and more; make it an input, too",
             (unsigned)f->step_n, name ? " ('" : "", name ? name : "", name ? "')" : "", (unsigned)of);
    if (f->status != WF_OK)
        return UINT32_MAX;
    f->array[f->array_n] = wf_retain(a);
    return f->array_n++;
}

/* Fails if the launch changes an array that the host has filled since noting began, since a replay would not restore
 * the contents. */
static void check_filled(wf_frozen *f, const wf_array *written)
{
    for (uint32_t i = 0; i < f->filled_n; ++i)
        if (wf__array_may_meet(f->filled[i], written))
            fail(f, WF_ERR_UNSUPPORTED,
                 "wf_freeze_end: launch %u changes an array that the host had access to since wf_freeze_begin (by "
                 "wf_map, wf_upload, ...), and a replay would not restore it; do that before wf_freeze_begin",
                 (unsigned)f->step_n);
}

/* Notes that the launch writes an array, of this number in the table. */
static void note_written(wf_frozen *f, uint32_t number, const wf_array *a)
{
    check_filled(f, a);
    for (uint32_t i = 0; i < f->alias_n; ++i)
        if (f->alias[i].number == number)
            f->expected[f->alias[i].input].written = true;
    if (number < f->inputs)
        f->expected[number].written = true;
}

static void note(wf_frozen *f, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays, const uint64_t *param)
{
    uint32_t n = p->object_n;
    if (!wf__grow(&f->step, &f->step_cap, f->step_n + 1, sizeof *f->step)) {
        no_memory(f);
        return;
    }
    wf__frozen_step *s = &f->step[f->step_n];
    *s = (wf__frozen_step){ .interpret = p->device == WF_INTERP };
    if (wf__is_gpu(p->device))
        s->gpu = wf__gpu_of(f->ctx, "wf_freeze_end", p->device); /* the launch has opened the GPU */
    s->array = wf__alloc((n + 1) * sizeof *s->array);
    s->written = wf__alloc(n + 1);
    s->param = wf__alloc((p->param_n + 1) * sizeof *s->param);
    s->base = wf__alloc0((n + 1) * sizeof(char *));
    s->name = p->name ? wf__strdup(p->name) : NULL;
    wf__add_where(p, &s->where);
    ++f->step_n;
    if (!s->array || !s->written || !s->param || !s->base || (p->name && !s->name)) {
        no_memory(f);
        return;
    }
    s->plan = e;
    atomic_fetch_add(&e->users, 1);
    if (p->param_n)
        memcpy(s->param, param, p->param_n * sizeof *param);
    for (uint32_t i = 0; i < n && f->status == WF_OK; ++i) {
        s->array[i] = number_of(f, arrays[i], s->name);
        s->written[i] = wf__program_writes(p, i);
        if (s->written[i] && f->status == WF_OK)
            note_written(f, s->array[i], arrays[i]);
    }
}

void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param)
{
    wf_frozen *f = noting(ctx);
    if (f && f->status == WF_OK)
        note(f, p, e, arrays, param);
}

/* ---- accesses of the host between launches ---- */
/* True if an input or a launch's output may meet the array in memory; with `reads`, also if an array that a launch
 * reads may. */
static bool is_used(const wf_frozen *f, const wf_array *a, bool reads)
{
    bool used = false;
    for (uint32_t i = 0; i < f->inputs && !used; ++i)
        used = wf__array_may_meet(f->array[i], a);
    for (uint32_t k = 0; k < f->step_n && !used; ++k) {
        const wf__frozen_step *s = &f->step[k];
        for (uint32_t i = 0; i < s->plan->plan.objects && !used; ++i)
            used = (reads || s->written[i]) && wf__array_may_meet(f->array[s->array[i]], a);
    }
    return used;
}

void wf__freeze_host(const wf_array *a, bool fills, const char *function)
{
    wf_frozen *f = noting(a->ctx);
    if (!f || f->status != WF_OK)
        return;
    if (is_used(f, a, fills)) {
        const char *to = fills ? "gives the host access to" : "reads";
        fail(f, WF_ERR_UNSUPPORTED,
             "wf_freeze_end: %s cannot be in a frozen sequence: it %s contents on which the sequence depends, and a "
             "replay would not do that again; do it before wf_freeze_begin or after wf_freeze_end",
             function, to);
    } else if (fills && !wf__grow(&f->filled, &f->filled_cap, f->filled_n + 1, sizeof(wf_array *)))
        no_memory(f);
    else if (fills)
        f->filled[f->filled_n++] = wf_retain((wf_array *)(uintptr_t)a);
}

void wf_freeze_refuse(wf_context *ctx, const char *function, const char *why)
{
    wf_frozen *f = ctx ? noting(ctx) : NULL;
    if (f)
        fail(f, WF_ERR_UNSUPPORTED, "wf_freeze_end: %s cannot be in a frozen sequence%s%s", function ? function : "",
             why ? ": " : "", why ? why : "");
}

wf_frozen *wf_freeze_end(wf_context *ctx)
{
    if (!ctx)
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_frozen **at = find(ctx), *f = *at;
    if (f)
        *at = f->next;
    if (!ctx->launcher->freezing)
        atomic_fetch_and(&ctx->flags, ~(uint32_t)WF__FREEZING);
    wf__mutex_unlock(&ctx->lock);
    if (f)
        end_noting(f);
    if (!f)
        wf__error(ctx, WF_ERR_ARG, "wf_freeze_end: this thread is not freezing anything");
    else if (f->status != WF_OK) {
        wf__error(ctx, f->status, "%s", f->text);
        wf_frozen_free(f);
        f = NULL;
    }
    return f;
}
