/* steps.c - runs the steps of a plan on a GPU, without waiting. A kernel joins the results of boxes or parts of a
 * reduction, in the processor's order. Results that later stages use as parameters stay in the GPU's memory.
 */
#include "run/gpu/launch.h"
#include <stdio.h>

/* ---- reductions ---- */
enum { CELL = sizeof(uint64_t) }; /* holds an element of any dtype that is reduced */

/* Sets the addresses of the final results. */
static void address_results(wf__gpu_launch *l, char *const *base)
{
    const wf__stage *stage = l->stage;
    for (uint32_t k = 0; k < stage->lowered.red_n; ++k)
        l->result[k] = stage->reduce.axes ? base[stage->reduce.result[k]] : l->results + (size_t)k * CELL;
}

/* Allocates `lines` of all cells, for a kernel to write and a later one to join. NULL = failure. */
static char *take_lines(wf__gpu_launch *l, int64_t lines, size_t *bytes)
{
    uint32_t n = l->stage->lowered.red_n;
    int64_t cells;
    size_t plane;
    if (!wf__mul_i64(lines, l->cells, &cells) || !wf__mul_size((size_t)cells, CELL, &plane) ||
        !wf__mul_size(plane, n, bytes)) {
        wf__out_of_memory(l->failure, "a launch");
        return NULL;
    }
    char *at = wf__gpu_take(l->gpu, *bytes, l->failure);
    for (uint32_t k = 0; at && k < n; ++k)
        l->result[k] = at + k * plane;
    return at;
}

/* Joins l->lines of all cells, at `from`, into the results. Repeats while there are too many lines for a thread
 * block. */
static bool join_lines(wf__gpu_launch *l, char *const *base, char *from, size_t bytes)
{
    for (bool ok = true, last = false; ok && !last;) {
        char *to = NULL;
        size_t more = 0;
        wf__gpu_shape_join(l);
        last = l->ranges == 1;
        l->from = from;
        l->plane = (size_t)l->lines * (size_t)l->cells * CELL;
        if (last)
            address_results(l, base);
        else
            ok = (to = take_lines(l, l->ranges, &more)) != NULL;
        ok = ok && wf__gpu_start_join(l);
        wf__gpu_give(l->gpu, from, bytes);
        from = to;
        bytes = more;
        l->lines = l->ranges;
        if (!ok) {
            wf__gpu_give(l->gpu, from, bytes);
            return false;
        }
    }
    return true;
}

static bool run_reduction(wf__gpu_launch *l, char *const *base)
{
    const wf__stage *stage = l->stage;
    size_t bytes = 0;
    char *from = NULL;
    l->cells = stage->reduce.axes ? stage->reduce.kept : 1;
    l->lines = stage->empty ? 0 : stage->reduce.axes ? stage->reduce.parts : stage->partition.boxes;
    if (!wf__joins_boxes(stage))
        address_results(l, base);
    else if (l->lines && !(from = take_lines(l, l->lines, &bytes)))
        return false;
    if (stage->empty || wf__gpu_start(l))
        return !wf__joins_boxes(stage) || join_lines(l, base, from, bytes);
    wf__gpu_give(l->gpu, from, bytes);
    return false;
}

/* ---- steps ---- */
static bool run_kernel(wf__gpu_launch *l, const wf__plan_step *step, char *const *base)
{
    switch (step->kind) {
    case WF__STEP_MAP:
        return wf__gpu_start(l);
    case WF__STEP_REDUCE:
        return run_reduction(l, base);
    case WF__STEP_GATHER:
    case WF__STEP_SCATTER:
    case WF__STEP_SCAN:
    case WF__STEP_ROWS:
    case WF__STEP_PER_BLOCK: /* only plans for the processor have these steps */
        break;
    }
    return false;
}

/* Runs the step's main stage, whose last kernel runs the consumer as well. */
static bool run_step(wf__gpu_launch *l, const wf__plan_step *step, char *const *base)
{
    const wf__stage *stage = l->stage;
    const wf__stage *consumer = step->consumer == WF__NO_STAGE ? NULL : &l->plan->stage[step->consumer];
    const wf__ir *body = &stage->lowered;
    uint32_t slots = body->slot_n + 1;
    wf__mem *mem = wf__alloc0((slots + (consumer ? consumer->lowered.slot_n : 0)) * sizeof *mem);
    l->result = wf__alloc0((body->red_n + 1) * sizeof *l->result);
    bool ok = (mem && l->result) || wf__out_of_memory(l->failure, "a launch");
    if (ok) {
        wf__stage_mem(stage, base, mem);
        if (consumer)
            wf__stage_mem(consumer, base, mem + slots);
        l->mem = mem;
        l->post = mem + slots;
        ok = wf__gpu_get_code(l) && run_kernel(l, step, base);
        if (ok)
            atomic_fetch_add_explicit(&l->gpu->engine->evaluated, step->count, memory_order_relaxed);
    }
    wf__free(mem);
    wf__free(l->result);
    return ok;
}

static bool has_no_work(const wf__stage *stage)
{
    return stage->empty && (stage->reduce.axes || !stage->lowered.red_n);
}

static bool run_steps(const wf__gpu_launch *all, wf__plan *plan, char *const *base, wf__note *notes)
{
    wf__failure *f = all->failure;
    bool ok = true;
    for (uint32_t i = 0; ok && i < plan->step_n; ++i) {
        const wf__plan_step *step = &plan->step[i];
        double start = notes ? wf__now() : 0;
        wf__gpu_launch l = *all;
        l.stage = &plan->stage[step->main];
        if (has_no_work(l.stage))
            continue;
        l.note = notes ? &notes[step->main] : NULL;
        ok = run_step(&l, step, base);
        if (ok && (notes || l.gpu->emulated)) /* an emulator's finding belongs to one stage */
            ok = wf__gpu_wait(l.gpu, "running a kernel", f);
        if (!ok && plan->stage_n > 1)
            wf__str_addf(&f->text, " (stage %u of %u)", step->main + 1, plan->stage_n);
        if (notes) {
            l.note->ran = true;
            l.note->run_s = wf__now() - start;
        }
        if (notes && step->consumer != WF__NO_STAGE)
            notes[step->consumer].ran = notes[step->consumer].fused = true;
    }
    return ok;
}

static void note_label(wf__gpu *gpu, const char *label)
{
    if (!gpu->emulated)
        snprintf(gpu->recent[gpu->recent_n++ % WF__GPU_RECENT], sizeof *gpu->recent, "%s", label ? label : "unnamed");
}

static void name_launches(const wf__gpu *gpu, const char *label)
{
    if (gpu->cuda->name)
        gpu->cuda->name(label);
}

bool wf__gpu_run(wf__gpu_on on, wf__plan *plan, const char *label, char *const *given, const uint64_t *param,
                 const wf__limits *limits, wf__note *notes, wf__failure *f)
{
    wf__gpu *gpu = on.gpu;
    uint32_t objects = plan->objects + plan->temp_n, temps = 0;
    char **base = wf__alloc0((objects + 1) * sizeof *base);
    size_t cells = plan->most_reds * CELL;
    wf__gpu_launch l = { .gpu = gpu, .plan = plan, .param = param, .limits = limits, .failure = f };
    bool ok = (base || wf__out_of_memory(f, "a launch")) && wf__gpu_begin_on(gpu, on.stream, f);
    bool begun = ok;
    if (ok && on.stream)
        ok = wf__gpu_use_memory(gpu, on.use, plan->objects, f);
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->most_reds)
        ok = (l.results = wf__gpu_take(gpu, cells, f)) != NULL;
    for (; ok && temps < plan->temp_n; ++temps) {
        if (plan->temp[temps].no_storage)
            continue;
        size_t bytes = wf__temp_bytes(&plan->temp[temps]);
        char *at = bytes == SIZE_MAX ? NULL : wf__gpu_take(gpu, bytes, f);
        base[plan->objects + temps] = at;
        if (!at)
            ok = bytes == SIZE_MAX ? wf__out_of_memory(f, "a launch") : false;
    }
    name_launches(gpu, label);
    ok = ok && run_steps(&l, plan, base, notes);
    name_launches(gpu, NULL);
    if (ok)
        note_label(gpu, label);
    if (begun) {
        wf__failure late = { 0 };
        if (!ok)
            wf__gpu_wait(gpu, "running a kernel", &late);
        wf__str_free(&late.text);
        for (uint32_t t = 0; t < plan->temp_n; ++t)
            wf__gpu_give(gpu, base[plan->objects + t], wf__temp_bytes(&plan->temp[t]));
        wf__gpu_give(gpu, l.results, cells);
        wf__gpu_end(gpu);
    }
    wf__free(base);
    return ok;
}
