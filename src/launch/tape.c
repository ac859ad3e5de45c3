/* tape.c - notes the launches of a thread for derivatives through all of them.
 *
 * While a thread has a tape, its launches run as usual, and those that compute with a watched array, or with what was
 * computed from one, are noted: the recording, and the arrays that it reads as they are then. Copies on write make that
 * free until an array is changed.
 *
 * Views of one array share its memory, so derivatives belong to memory: each piece of memory that a noted launch uses
 * gets one array of derivatives, of which the derivative of a view is a view (tape_grad.c).
 */
#include "ad/ad.h"
#include "launch/tape.h"
#include <stdio.h>

static void fail(wf_tape *t, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
static void fail(wf_tape *t, wf_status status, const char *format, ...)
{
    va_list args;
    if (t->status != WF_OK)
        return;
    t->status = status;
    va_start(args, format);
    vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
}

/* ---- noting ---- */
static wf_tape *taping(wf_context *ctx)
{
    if (!wf__is_taping(ctx))
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_tape *t = ctx->launcher->taping;
    while (t && !(wf__thread_is_this(t->thread) && t->noting))
        t = t->next;
    wf__mutex_unlock(&ctx->lock);
    return t && !t->busy ? t : NULL;
}

bool wf__tapes(wf_context *ctx) { return taping(ctx) != NULL; }
bool wf__copies_by_launch(wf_context *ctx) { return wf__freezes(ctx) || wf__tapes(ctx); }

uint32_t wf__tape_memory_of(wf_tape *t, const wf_array *a, int64_t *at)
{
    const int64_t size = (int64_t)wf_dtype_size(a->dtype);
    uint32_t found = 0;
    wf__mutex_lock(&a->ctx->share_lock); /* a write to a copy may move both */
    for (uint32_t i = 0; i < t->memory_n && !found; ++i) {
        const wf_array *of = t->memory[i].array;
        if (a != of && (a->buffer != of->buffer || a->group != of->group))
            continue;
        found = i + 1;
        *at = t->memory[i].first + (a->base - of->base) / size;
        if (a->dtype != of->dtype || (a->base - of->base) % size)
            fail(t, WF_ERR_UNSUPPORTED,
                 "views of another dtype of an array that is differentiated cannot be on a tape");
    }
    wf__mutex_unlock(&a->ctx->share_lock);
    return found;
}

/* Adds the memory of an array to those that depend on a watched one. */
static uint32_t add_memory(wf_tape *t, wf_array *a, int64_t *at)
{
    uint32_t found = wf__tape_memory_of(t, a, at);
    if (found)
        return found;
    if (!wf__grow(&t->memory, &t->memory_cap, t->memory_n + 1, sizeof *t->memory)) {
        fail(t, WF_ERR_MEMORY, "out of memory for a tape");
        return 0;
    }
    const int64_t size = (int64_t)wf_dtype_size(a->dtype);
    wf__mutex_lock(&a->ctx->share_lock);
    const bool whole = a->buffer->bytes && a->buffer->data;
    const char *start = whole ? a->buffer->data : a->lo;
    const int64_t bytes = whole ? (int64_t)a->buffer->bytes : a->hi - a->lo;
    *at = (a->base - start) / size;
    t->memory[t->memory_n++] = (wf__tape_memory){ .array = wf_retain(a), .first = *at, .count = bytes / size };
    wf__mutex_unlock(&a->ctx->share_lock);
    return t->memory_n;
}

static void free_noted(wf__noted *s)
{
    for (uint32_t i = s->ins; s->after && i < s->n; ++i)
        wf_release(s->after[i - s->ins]);
    wf__free(s->after);
    for (uint32_t i = 0; i < s->n; ++i) {
        wf_release(s->array ? s->array[i] : NULL);
        wf_release(s->before ? s->before[i] : NULL);
    }
    if (s->release)
        s->release(s->rule.user);
    wf__recorded_free(&s->kept);
    wf__free(s->array);
    wf__free(s->before);
    wf__free(s->memory);
    wf__free(s->at);
    wf__free(s->varies);
    wf__free(s->stored);
}

/* Sets what a program does with one of its arrays, in any of its sections. */
static void find_uses(const wf__program *p, uint32_t object, bool *reads, bool *stores)
{
    *reads = *stores = false;
    for (int k = 0; k < WF__SECTIONS; ++k) {
        const wf__ir *ir = &p->rec.section[k];
        for (wf__ref r = 1; r < ir->n; ++r) {
            const unsigned op = ir->node[r].op;
            if (!wf__op_names_slot(op) || ir->slot[ir->node[r].a].object != object)
                continue;
            *stores = *stores || wf__op_is_store(op);
            *reads = *reads || wf__op_gives_element(op) || wf__op_is_update(op);
        }
    }
}

/* Makes the lists of a note of n arrays. False = out of memory. */
static bool make_lists(wf__noted *s, uint32_t n)
{
    s->array = wf__alloc0((n + 1) * sizeof *s->array);
    s->before = wf__alloc0((n + 1) * sizeof *s->before);
    s->memory = wf__alloc0((n + 1) * sizeof *s->memory);
    s->at = wf__alloc0((n + 1) * sizeof *s->at);
    s->varies = wf__alloc0(n + 1);
    s->stored = wf__alloc0(n + 1);
    bool ok = s->array && s->before && s->memory && s->at && s->varies && s->stored;
    s->n = ok ? n : 0;
    return ok;
}

static void find_memory(wf_tape *t, wf__noted *s)
{
    for (uint32_t i = 0; i < s->n; ++i) {
        s->memory[i] = wf__has_adjoint(s->array[i]->dtype) ? wf__tape_memory_of(t, s->array[i], &s->at[i]) : 0;
        s->varies[i] = s->memory[i] != 0;
    }
}

/* Fills a note. False = out of memory. */
static bool fill(wf_tape *t, wf__noted *s, const wf__request *r)
{
    const wf__program *p = r->program;
    if (!wf__recorded_keep(p, r->space, r->param, &s->kept) || !make_lists(s, p->object_n))
        return false;
    for (uint32_t i = 0; i < s->n; ++i)
        s->array[i] = wf_retain(r->arrays[i]);
    s->blocks = p->rec.init.n > 1 || p->rec.deinit.n > 1;
    for (uint32_t i = 0; i < s->n; ++i)
        s->blocks = s->blocks || s->array[i]->scratch;
    for (uint32_t i = 0; i < s->n; ++i) {
        bool reads;
        find_uses(p, i, &reads, &s->stored[i]);
        if (reads && !s->blocks && !(s->before[i] = wf_copy(s->array[i])))
            return false;
    }
    find_memory(t, s);
    return true;
}

/* True if the launch reads or changes an array that depends on a watched one. */
static bool concerns(wf_tape *t, const wf__request *r, bool *reads)
{
    bool any = false;
    *reads = false;
    for (uint32_t i = 0; i < r->program->object_n; ++i) {
        bool read, stores;
        int64_t at;
        if (!wf__has_adjoint(r->arrays[i]->dtype) || !wf__tape_memory_of(t, r->arrays[i], &at))
            continue;
        find_uses(r->program, i, &read, &stores);
        any = true;
        *reads = *reads || read;
    }
    return any;
}

/* An array that a launch stores must not meet another one that it uses, whose contents it would change. */
static void check_overlaps(wf_tape *t, const wf__noted *s)
{
    for (uint32_t i = 0; i < s->n; ++i)
        for (uint32_t k = 0; s->stored[i] && s->memory[i] && k < s->n; ++k)
            if (i != k && s->memory[k] == s->memory[i] && wf__array_may_meet(s->array[i], s->array[k]) &&
                !(s->rule.size && s->array[i] == s->array[k]))
                fail(
                    t, WF_ERR_UNSUPPORTED,
                    "%s stores into one view of an array and uses another one that meets it, which cannot be on a tape; "
                    "a copy in place of the view that is read can",
                    s->kept.name ? s->kept.name : "a launch");
}

void wf__tape_note(wf_context *ctx, const wf__request *r)
{
    wf_tape *t = taping(ctx);
    bool reads;
    if (!t || t->status != WF_OK || !concerns(t, r, &reads) || t->status != WF_OK)
        return;
    t->busy = true; /* snapshots may be launches */
    if (!wf__grow(&t->step, &t->step_cap, t->step_n + 1, sizeof *t->step))
        fail(t, WF_ERR_MEMORY, "out of memory for a tape");
    else {
        wf__noted *s = &t->step[t->step_n++];
        *s = (wf__noted){ .n = 0 };
        if (!fill(t, s, r))
            fail(t, WF_ERR_MEMORY, "out of memory for a tape");
        for (uint32_t i = 0; reads && i < s->n; ++i)
            if (s->stored[i] && !s->memory[i] && !s->array[i]->scratch && wf__has_adjoint(s->array[i]->dtype))
                s->memory[i] = add_memory(t, s->array[i], &s->at[i]);
        check_overlaps(t, s);
    }
    t->busy = false;
}

/* ---- rules for arrays ---- */
/* Returns a note of a call, to be completed after it; NULL = it is not to be noted. */
static wf__noted *begin_rule(wf_tape *t, const wf_array_rule *rule, void (*release_user)(void *user), wf_arrays in,
                             wf_arrays out)
{
    bool any = false;
    int64_t at;
    for (size_t i = 0; i < in.n + out.n; ++i) {
        const wf_array *a = i < in.n ? in.at[i] : out.at[i - in.n];
        any = any || (wf__has_adjoint(a->dtype) && wf__tape_memory_of(t, a, &at));
    }
    if (!any || t->status != WF_OK)
        return NULL;
    if (!wf__grow(&t->step, &t->step_cap, t->step_n + 1, sizeof *t->step)) {
        fail(t, WF_ERR_MEMORY, "out of memory for a tape");
        return NULL;
    }
    wf__noted *s = &t->step[t->step_n++];
    *s = (wf__noted){ .rule = *rule, .ins = (uint32_t)in.n, .release = release_user };
    s->rule.size = sizeof s->rule;
    s->kept.name = wf__strdup(rule->name);
    bool ok = make_lists(s, (uint32_t)(in.n + out.n)) && s->kept.name;
    s->after = wf__alloc0((out.n + 1) * sizeof *s->after);
    for (uint32_t i = 0; ok && i < s->n; ++i) {
        s->array[i] = wf_retain(i < in.n ? in.at[i] : out.at[i - in.n]);
        s->stored[i] = i >= in.n;
        ok = i >= in.n || (s->before[i] = wf_copy(s->array[i]));
    }
    if (!ok || !s->after)
        fail(t, WF_ERR_MEMORY, "out of memory for a tape");
    else
        find_memory(t, s);
    return s;
}

static void end_rule(wf_tape *t, wf__noted *s)
{
    bool reads = false;
    for (uint32_t i = 0; i < s->ins && t->status == WF_OK; ++i)
        reads = reads || s->varies[i];
    for (uint32_t i = s->ins; i < s->n && t->status == WF_OK; ++i) {
        if (!(s->after[i - s->ins] = wf_copy(s->array[i])))
            fail(t, WF_ERR_MEMORY, "out of memory for a tape");
        if (reads && !s->memory[i] && wf__has_adjoint(s->array[i]->dtype))
            s->memory[i] = add_memory(t, s->array[i], &s->at[i]);
    }
    if (t->status == WF_OK)
        check_overlaps(t, s);
}

wf_status wf__call_rule(wf_context *ctx, const wf_array_rule *rule, void (*release)(void *user), wf_arrays in,
                        wf_arrays out)
{
    wf_tape *t = taping(ctx);
    const uint32_t steps = t ? t->step_n : 0;
    if (t)
        t->busy = true; /* what the rule does by launches is not noted */
    bool noted = t && begin_rule(t, rule, release, in, out);
    if (t)
        t->busy = noted;
    wf_status status = rule->call(rule->user, in, out);
    if (noted) {
        wf__noted *s = &t->step[steps];
        if (status == WF_OK)
            end_rule(t, s);
        else
            fail(t, status, "%s failed", rule->name);
        s->rule.name = s->kept.name;
        t->busy = false;
    } else if (release)
        release(rule->user);
    return status;
}

wf_status wf_custom_arrays(wf_context *ctx, const wf_array_rule *given, wf_arrays in, wf_arrays out)
{
    wf_array_rule rule = { .size = sizeof rule };
    if (!ctx)
        return WF_ERR_ARG;
    if (!wf__take_options(&rule, sizeof rule, given))
        return wf__error(ctx, WF_ERR_ARG, "wf_custom_arrays: " WF__WRONG_SIZE);
    rule.name = rule.name ? rule.name : "wf_custom_arrays";
    if (!wf__is_given(ctx, in.at, in.n, rule.name) || !wf__is_given(ctx, out.at, out.n, rule.name))
        return WF_ERR_ARG;
    if (!rule.call || !out.n)
        return wf__error(ctx, WF_ERR_ARG, "wf_custom_arrays: %s", rule.call ? "no outputs" : "the rule has no .call");
    for (size_t i = 0; i < in.n + out.n; ++i) {
        const wf_array *a = i < in.n ? in.at[i] : out.at[i - in.n];
        if (!a || a->ctx != ctx || a->name)
            return wf__error(ctx, WF_ERR_ARG, "%s: %s %zu is %s", rule.name, i < in.n ? "input" : "output",
                             i < in.n ? i : i - in.n,
                             !a              ? "NULL"
                             : a->ctx != ctx ? "another context's"
                                             : "a formal");
    }
    return wf__call_rule(ctx, &rule, NULL, in, out);
}

void wf__tape_host(const wf_array *a, const char *function)
{
    wf_tape *t = taping(a->ctx);
    int64_t at;
    if (t && wf__tape_memory_of(t, a, &at))
        fail(
            t, WF_ERR_UNSUPPORTED,
            "%s of an array that depends on a watched one has no derivative; wf_copy what is read as a constant before "
            "wf_tape_begin, or call it after wf_tape_end",
            function);
}

bool wf_is_taped(const wf_array *a)
{
    wf_tape *t = a ? taping(a->ctx) : NULL;
    int64_t at;
    return t && wf__has_adjoint(a->dtype) && wf__tape_memory_of(t, a, &at);
}

bool wf_is_taping(wf_context *ctx) { return ctx && wf__tapes(ctx); }

/* ---- life ---- */
wf_tape *wf_tape_begin(wf_context *ctx, wf_arrays watched)
{
    if (!ctx || !wf__is_given(ctx, watched.at, watched.n, "wf_tape_begin"))
        return NULL;
    if (wf__tapes(ctx)) {
        wf__error(ctx, WF_ERR_ARG, "wf_tape_begin: this thread has a tape that notes already");
        return NULL;
    }
    for (size_t i = 0; i < watched.n; ++i)
        if (!watched.at[i] || watched.at[i]->ctx != ctx || !wf__has_adjoint(watched.at[i]->dtype)) {
            wf__error(ctx, WF_ERR_ARG, "wf_tape_begin: array %zu is %s", i,
                      !watched.at[i]              ? "NULL"
                      : watched.at[i]->ctx != ctx ? "another context's"
                                                  : "of a dtype that has no derivatives");
            return NULL;
        }
    wf_tape *t = wf__alloc0(sizeof *t);
    if (!t) {
        wf__error(ctx, WF_ERR_MEMORY, "wf_tape_begin: out of memory");
        return NULL;
    }
    t->ctx = ctx;
    t->thread = wf__thread_this();
    t->noting = true;
    wf__context_retain(ctx);
    int64_t at;
    for (size_t i = 0; i < watched.n; ++i) {
        const uint32_t m = add_memory(t, watched.at[i], &at);
        if (m)
            t->memory[m - 1].watched = true;
    }
    wf__mutex_lock(&ctx->lock);
    t->next = ctx->launcher->taping;
    ctx->launcher->taping = t;
    atomic_fetch_or(&ctx->flags, WF__TAPING);
    wf__mutex_unlock(&ctx->lock);
    return t;
}

void wf_tape_end(wf_tape *t)
{
    if (!t || !t->noting)
        return;
    wf_context *ctx = t->ctx;
    wf__mutex_lock(&ctx->lock);
    wf_tape **at = &ctx->launcher->taping;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->noting = false;
    if (!ctx->launcher->taping)
        atomic_fetch_and(&ctx->flags, ~(uint32_t)WF__TAPING);
    wf__mutex_unlock(&ctx->lock);
}

void wf_tape_free(wf_tape *t)
{
    if (!t)
        return;
    wf_tape_end(t);
    for (uint32_t i = 0; i < t->step_n; ++i)
        free_noted(&t->step[i]);
    for (uint32_t i = 0; i < t->memory_n; ++i)
        wf_release(t->memory[i].array);
    wf__free(t->step);
    wf__free(t->memory);
    wf__context_release(t->ctx);
    wf__free(t);
}
