/* steps.c - runs the steps of a plan on the processor. What runs together is decided in the plan (plan/schedule.c). */
#include "run/cpu/steps.h"
#include "run/cpu/boxes.h"
#include "run/cpu/gather.h"
#include "run/cpu/join_ranks.h"
#include "run/cpu/scan.h"
#include "run/cpu/scatter.h"
#include "run/cpu/stage_code.h"

/* ---- scans ---- */
/* Sets the code of a stage that runs range by range with a scan. Returns false if there is no code. */
static bool choose_ranged(const wf__run *r, uint32_t s, uint32_t object, wf__mem *mem, wf__ranged *out)
{
    wf__stage *stage = &r->plan->stage[s];
    if (r->interpret)
        return false;
    wf__stage_mem(stage, r->base, mem);
    wf__variant which = wf__stage_variant(stage, mem, wf__is_parallel(r->engine, stage, stage, r->limits));
    wf__note *note = r->notes ? &r->notes[s] : NULL;
    *out = (wf__ranged){ .stage = stage,
                         .object = object,
                         .entry = which == WF__VARIANTS ? NULL : wf__stage_entry(r->engine, stage, which, note),
                         .call = { .mem = mem, .param = r->param, .extent = stage->extent } };
    return out->entry != NULL;
}

/* Runs the scan with its producer and its consumer, each of which may be NULL. */
static bool run_parts(const wf__run *r, const wf__plan_step *step, const wf__ranged *producer,
                      const wf__ranged *consumer)
{
    wf__engine *e = r->engine;
    int threads = r->interpret ? 1 : wf__threads_of(e, r->limits), others = (producer != NULL) + (consumer != NULL);
    wf__note *note = r->notes ? &r->notes[producer ? step->producer : step->main] : NULL;
    double start = note ? wf__now() : 0;
    if (!wf__scan_run(e->pool, e->memory, threads, &r->plan->stage[step->main], r->base, producer, consumer, r->others,
                      r->failure))
        return false;
    for (int k = 0; k <= others && note; ++k) {
        note[k].ran = true;
        note[k].threads = threads;
        note[k].fused = k > 0;
    }
    if (note) {
        r->notes[step->main].code = WF_CODE_LIBRARY;
        note->run_s = wf__now() - start;
    }
    atomic_fetch_add_explicit(&e->evaluated, (uint64_t)others, memory_order_relaxed);
    return true;
}

/* Runs a scan. A producer or consumer without compiled code runs as a kernel of its own. */
static bool run_scan(const wf__run *r, const wf__plan_step *step)
{
    wf__mem mem[2][WF__MOST_FUSED];
    wf__ranged producer, consumer;
    uint32_t object = r->plan->stage[step->main].scan.to;
    bool has_producer = step->producer != WF__NO_STAGE, has_consumer = step->consumer != WF__NO_STAGE;
    bool produces = has_producer && choose_ranged(r, step->producer, object, mem[0], &producer);
    if (has_producer && !produces && !wf__run_kernel(r, step->producer, WF__NO_STAGE, NULL))
        return false;
    bool consumes = has_consumer && choose_ranged(r, step->consumer, object, mem[1], &consumer);
    return run_parts(r, step, produces ? &producer : NULL, consumes ? &consumer : NULL) &&
           (!has_consumer || consumes || wf__run_kernel(r, step->consumer, WF__NO_STAGE, NULL));
}

/* Runs a reduction. A consumer runs as a kernel of its own if it, or the reduction, has no compiled code. */
static bool run_reduction(const wf__run *r, const wf__plan_step *step)
{
    bool consumed = false;
    return wf__run_kernel(r, step->main, step->consumer, &consumed) &&
           (consumed || step->consumer == WF__NO_STAGE || wf__run_kernel(r, step->consumer, WF__NO_STAGE, NULL));
}

/* ---- code of a new plan ---- */
typedef struct ahead { /* stages without code */
    wf__engine *engine;
    wf__plan *plan;
    wf__note *notes;
    uint32_t *stage;
    uint8_t *which;
} ahead;

static void compile_one(void *user, int64_t i, int worker)
{
    const ahead *a = user;
    uint32_t s = a->stage[i];
    WF__UNUSED(worker);
    wf__stage_entry(a->engine, &a->plan->stage[s], (wf__variant)a->which[i], a->notes ? &a->notes[s] : NULL);
}

/* Returns the stage whose size decides on the threads of stage s. */
static const wf__stage *main_of(const wf__plan *plan, uint32_t s)
{
    const wf__plan_step *step = wf__step_of(plan, s);
    return &plan->stage[step->kind == WF__STEP_PER_BLOCK || step->kind == WF__STEP_ROWS ? step->main : s];
}

/* Compiles the stages of a plan that runs for the first time, on all threads. A stage whose code is still missing
 * afterwards compiles it when it runs. */
static void compile_ahead(const wf__run *r)
{
    wf__engine *e = r->engine;
    wf__plan *plan = r->plan;
    if (plan->stage_n < 2 || r->interpret || atomic_exchange(&plan->has_run, true))
        return;
    uint32_t n = 0, slots = 0;
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        slots = plan->stage[s].lowered.slot_n > slots ? plan->stage[s].lowered.slot_n : slots;
    ahead a = { .engine = e, .plan = plan, .notes = r->notes };
    wf__mem *mem = wf__alloc((slots + 1) * sizeof *mem);
    a.stage = wf__alloc(plan->stage_n * (sizeof *a.stage + 1));
    a.which = a.stage ? (uint8_t *)(a.stage + plan->stage_n) : NULL;
    for (uint32_t s = 0; mem && a.stage && s < plan->stage_n; ++s) {
        const wf__stage *stage = &plan->stage[s];
        if (stage->empty || stage->scan.on || stage->gather || (!r->notes && wf__stage_interprets_first(stage)))
            continue;
        wf__stage_mem(stage, r->base, mem);
        wf__variant which = wf__stage_variant(stage, mem, wf__is_parallel(e, stage, main_of(plan, s), r->limits));
        if (which == WF__VARIANTS)
            continue;
        a.stage[n] = s;
        a.which[n++] = (uint8_t)which;
    }
    if (n > 1)
        wf__pool_run_on(e->pool, wf__threads_of(e, r->limits), n, compile_one, &a);
    wf__free(a.stage);
    wf__free(mem);
}

/* ---- the plan ---- */
static bool run_step(const wf__run *r, const wf__plan_step *step)
{
    switch (step->kind) {
    case WF__STEP_MAP:
        return wf__run_kernel(r, step->main, WF__NO_STAGE, NULL);
    case WF__STEP_REDUCE:
        return run_reduction(r, step);
    case WF__STEP_GATHER:
        return wf__run_gather(r, step);
    case WF__STEP_SCATTER:
        return wf__run_scatter(r, step);
    case WF__STEP_SCAN:
        return run_scan(r, step);
    case WF__STEP_PER_BLOCK:
        return wf__run_per_block(r, step);
    case WF__STEP_ROWS:
        return wf__run_rows(r, step);
    }
    return false;
}

/* Of a temporary that this rank has in part, and of an image, element [0, ..., 0] may lie outside of the memory. */
static void move_base(const wf__temp *temp, char **base)
{
    *base = (char *)((uintptr_t)*base + (uintptr_t)(temp->origin * (int64_t)wf__size(temp->dtype)));
}

static char *begin_of(const wf__temp *temp, char *base)
{
    return (char *)((uintptr_t)base - (uintptr_t)(temp->origin * (int64_t)wf__size(temp->dtype)));
}

static void clear_tally(const wf__temp *temp, char *base)
{
    wf__fill_neutral(temp->tally - 1u, base, temp->dtype, wf__temp_bytes(temp) / wf__size(temp->dtype));
}

static bool joins_ranks(const wf__run *r, uint32_t step)
{
    return wf__waits_for_ranks(&r->plan->stage[r->plan->step[step].main]);
}

/* Tells the failure to the ranks that wait for this one in the next join, from step `next` on. */
static void tell_others(const wf__run *r, uint32_t next)
{
    while (next < r->plan->step_n && !joins_ranks(r, next))
        ++next;
    if (next < r->plan->step_n)
        wf__join_failed(r->others, r->failure);
}

bool wf__cpu_run(wf__engine *e, wf__plan *plan, char *const *given, const uint64_t *param, const wf__limits *limits,
                 const wf__others *others, bool interpret, wf__note *notes, wf__failure *failure)
{
    enum { SMALL = 16 };
    char *small_base[SMALL], **base = small_base;
    uint64_t small_param[SMALL], *all = small_param;
    uint32_t objects = plan->objects + plan->temp_n, params = plan->params + plan->most_reds, temps = 0;
    bool ok = failure->status == WF_OK; /* else other ranks are told alone */
    if (objects > SMALL)
        base = wf__alloc(objects * sizeof *base);
    if (params > SMALL)
        all = wf__alloc(params * sizeof *all);
    if (ok && (!base || !all))
        ok = wf__out_of_memory(failure, "a launch");
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->params)
        memcpy(all, param, plan->params * sizeof *all);
    for (; ok && temps < plan->temp_n; ++temps) {
        size_t bytes = wf__temp_bytes(&plan->temp[temps]);
        const uint32_t other = plan->temp[temps].image_of ? plan->temp[temps].image_of : plan->temp[temps].takes;
        base[plan->objects + temps] = other ? base[other - 1] : NULL;
        if (plan->temp[temps].image_of)
            move_base(&plan->temp[temps], &base[plan->objects + temps]);
        if (plan->temp[temps].no_storage || plan->temp[temps].takes)
            continue;
        base[plan->objects + temps] = bytes == SIZE_MAX ? NULL : wf__mem_alloc(e->memory, bytes);
        if (!base[plan->objects + temps]) {
            wf__out_of_memory(failure, "a temporary array");
            wf__mem_reason(e->memory, &failure->text);
            ok = false;
            break;
        }
        if (plan->temp[temps].in_part)
            move_base(&plan->temp[temps], &base[plan->objects + temps]);
        if (plan->temp[temps].tally)
            clear_tally(&plan->temp[temps], base[plan->objects + temps]);
    }
    const wf__run r = { e, plan, base, all, limits, others, interpret, notes, failure };
    if (ok)
        compile_ahead(&r);
    wf__pool_begin_work();
    uint32_t next = 0; /* step */
    while (ok && next < plan->step_n) {
        wf__pool_begin_step(next, plan->step_n);
        const wf__plan_step *step = &plan->step[next];
        const bool ready =
            (step->kind == WF__STEP_MAP && wf__runs_before_arrival(&r, &plan->stage[step->main])) || wf__arrive(&r);
        ok = ready && run_step(&r, step);
        if (!ok && ready && joins_ranks(&r, next))
            next = plan->step_n; /* the step has told other ranks */
        next += ok;
        ok = ok && !wf__is_cancelled(failure);
    }
    ok = wf__arrive(&r) && ok;
    if (others && !ok)
        tell_others(&r, next);
    wf__pool_finish_work(e->pool);
    ok = ok && !wf__is_cancelled(failure);
    wf__pool_end_work();
    while (temps-- > 0 && base) {
        const wf__temp *temp = &plan->temp[temps];
        char *at = base[plan->objects + temps];
        if (temp->image_of || temp->takes)
            continue;
        wf__mem_free(e->memory, temp->in_part ? begin_of(temp, at) : at, wf__temp_bytes(temp));
    }
    if (base != small_base)
        wf__free(base);
    if (all != small_param)
        wf__free(all);
    return ok;
}
