/* stages.c - runs the steps of a plan on the processor: fills in addresses, hands boxes to the pool, joins reductions in
 * a fixed order. */
#include "run/cpu/stages.h"
#include "run/cpu/scan.h"
#include "run/cpu/stage_code.h"
#include "run/debug/watch.h"

enum { FEW = 8 };

/* ---- boxes ---- */
/* Writes the parameters of a box that is a block: those of the launch, then the block's number along each axis. */
static void write_box_param(const wf__stage *stage, const uint64_t *param, const int64_t *lo, uint64_t *out)
{
    uint32_t first = stage->numbers - 1;
    memcpy(out, param, first * sizeof *out);
    for (int d = 0; d < stage->body.rank; ++d)
        out[first + (uint32_t)d] = (uint64_t)(lo[d] / stage->block[d]);
}

static void call_entry(const wf__launch *l, int64_t copy, const int64_t *lo, const int64_t *hi, uint64_t *acc)
{
    wf__call call = l->call;
    uint64_t param[WF__MOST_NUMBERED];
    if (l->copies)
        call.mem = wf__copies_use(l->copies, copy);
    if (l->stage->numbers) {
        write_box_param(l->stage, call.param, lo, param);
        call.param = param;
    }
    if (l->entry)
        l->entry(&call, lo, hi, acc);
    else
        wf__interp_run(l->interp, l->scratch, &call, lo, hi, acc);
}

/* The number of a point of the kept axes. */
static int64_t kept_point(const wf__stage *stage, const int64_t *index)
{
    int64_t at = 0;
    int lane = stage->body.rank - 1;
    for (int d = 0; d < stage->body.kept; ++d)
        at = at * stage->extent[d] + index[d];
    return stage->body.kept_lane ? at * stage->extent[lane] + index[lane] : at;
}

/* Sets the addresses of results such that a box whose kept points begin at `first` fills the worker's part of `kept`. */
static void redirect_results(const wf__launch *l, int worker, int64_t first, uint64_t *acc)
{
    for (uint32_t k = 0; k < l->stage->body.red_n; ++k) {
        char *room = l->kept + (size_t)worker * l->kept_bytes + l->at[k];
        acc[k] = (uint64_t)(uintptr_t)room - (uint64_t)first * wf__size(l->stage->body.red[k].dtype);
    }
}

/* Runs the consumer on the kept points of a box. */
static void run_consumer(const wf__launch *l, const int64_t *lo, const int64_t *hi, const uint64_t *acc)
{
    const wf__stage *stage = l->stage, *next = l->consumer->stage;
    wf__mem mem[WF__MOST_FUSED];
    wf__call call = l->consumer->call;
    int64_t from[WF_MAX_RANK], to[WF_MAX_RANK], last[WF_MAX_RANK];
    int kept = stage->body.kept, lane = stage->body.rank - 1;
    memcpy(mem, call.mem, next->body.slot_n * sizeof *mem);
    for (uint32_t s = 0; s < next->body.slot_n; ++s)
        for (uint32_t k = 0; k < stage->body.red_n; ++k)
            if (next->mem[s].object == stage->result[k])
                mem[s].base = (char *)(uintptr_t)acc[k];
    call.mem = mem;
    memcpy(from, lo, (size_t)kept * sizeof *lo);
    memcpy(to, hi, (size_t)kept * sizeof *hi);
    if (stage->body.kept_lane) {
        from[kept] = lo[lane];
        to[kept] = hi[lane];
    }
    if (next->body.rank == 1) { /* the kept points of a box are contiguous in its index space */
        for (int d = 0; d <= lane; ++d)
            last[d] = hi[d] - 1;
        from[0] = kept_point(stage, lo);
        to[0] = kept_point(stage, last) + 1;
    }
    l->consumer->entry(&call, from, to, NULL);
}

int64_t wf__points_of_box(const wf__stage *stage, int64_t box, int64_t *lo, int64_t *hi)
{
    int64_t part = 0, parts = 1;
    for (int d = stage->body.rank - 1; d >= 0; --d) {
        int64_t count = (stage->extent[d] + stage->block[d] - 1) / stage->block[d];
        lo[d] = box % count * stage->block[d];
        if (d >= stage->body.kept && !(stage->body.kept_lane && d == stage->body.rank - 1)) {
            part += box % count * parts;
            parts *= count;
        }
        box /= count;
        hi[d] = lo[d] + stage->block[d] < stage->extent[d] ? lo[d] + stage->block[d] : stage->extent[d];
    }
    return part;
}

void wf__run_box(const wf__launch *l, int64_t box, int64_t copy, int worker)
{
    const wf__stage *stage = l->stage;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], part = wf__points_of_box(stage, box, lo, hi);
    uint64_t kept[WF__MOST_FUSED];
    uint64_t *acc = l->partials.at;
    acc = acc ? acc + (size_t)(stage->reduce ? part : box) * stage->body.red_n : NULL;
    if (l->consumer)
        redirect_results(l, worker, kept_point(stage, lo), acc = kept);
    if (stage->reduce && stage->body.kept_lane)
        wf__partials_clear(stage, lo, hi, acc);
    call_entry(l, copy, lo, hi, acc);
    if (l->consumer)
        run_consumer(l, lo, hi, acc);
}

/* ---- boxes for the pool ---- */
static void run_one(void *user, int64_t box, int worker) { wf__run_box(user, box, worker, worker); }

static void run_range(void *user, int64_t first, int64_t end, int worker)
{
    for (int64_t box = first; box < end; ++box)
        wf__run_box(user, box, worker, worker);
}

/* Consecutive boxes that share a copy. */
static void run_group(void *user, int64_t group, int worker)
{
    const wf__launch *l = user;
    int64_t n = l->copies->n, boxes = l->stage->blocks, each = boxes / n, more = boxes % n;
    int64_t first = group * each + (group < more ? group : more), end = first + each + (group < more);
    for (int64_t box = first; box < end; ++box)
        wf__run_box(l, box, group, worker);
}

int wf__threads_of(const wf__engine *e, const wf__limits *limits)
{
    int threads = wf__pool_threads(e->pool);
    return limits->threads > 0 && limits->threads < threads ? limits->threads : threads;
}

bool wf__is_large(const wf__stage *stage, const wf__limits *limits)
{
    int64_t points = 1;
    stage += stage->chief; /* the operator's stage decides for a per-block step */
    for (int d = 0; limits->serial_below && d < stage->body.rank; ++d)
        points *= stage->extent[d];
    return stage->blocks > 1 &&
           (limits->serial_below ? points >= limits->serial_below : stage->work >= WF__PARALLEL_WORK);
}

bool wf__is_parallel(const wf__engine *e, const wf__stage *stage, const wf__limits *limits)
{
    return wf__is_large(stage, limits) && (!stage->updates || wf__threads_of(e, limits) > 1);
}

/* In a short run, a thread's part is one call: several calls would cost more than an uneven division among threads that
 * start at different times. The duration of loops is unknown, so boxes with loops are divided one by one. */
int64_t wf__least_of_call(const wf__stage *stage)
{
    uint64_t work = stage->work / (uint64_t)stage->blocks + 1;
    return stage->body.loops ? 1 : (int64_t)(WF__CALL_WORK / work) + 1;
}

static void run_parallel(wf__launch *l)
{
    const wf__stage *stage = l->stage;
    wf__pool *pool = l->engine->pool;
    int64_t least = wf__least_of_call(stage);
    if (l->consumer)
        wf__pool_run_on(pool, l->workers, stage->blocks, run_one, l);
    else if (l->copies && stage->in_order)
        wf__pool_run_on(pool, l->threads, l->copies->n, run_group, l);
    else if (l->copies)
        wf__pool_run_on(pool, (int)l->copies->n, stage->blocks, run_one, l);
    else if (stage->slabs >= 0)
        wf__run_slabs(l);
    else
        wf__pool_run_several(pool, l->threads, stage->blocks, &(wf__several){ least, WF__MOST_OF_CALL * least, false },
                             run_range, l);
}

/* Runs all boxes, on the pool or on the calling thread. */
static void run_boxes(wf__launch *l)
{
    const wf__stage *stage = l->stage;
    if (l->parallel && l->entry)
        run_parallel(l);
    else if (l->copies && stage->in_order)
        for (int64_t g = 0; g < l->copies->n; ++g)
            run_group(l, g, 0);
    else if (stage->body.red_n || stage->boxed)
        run_range(l, 0, stage->blocks, 0);
    else
        call_entry(l, 0, (const int64_t[WF_MAX_RANK]){ 0 }, stage->extent, NULL);
}

/* ---- one stage ---- */
bool wf__choose_code(wf__launch *l, wf__stage *stage, bool interpret, wf__failure *f)
{
    wf__variant which = interpret ? WF__VARIANTS : wf__stage_variant(stage, l->call.mem, l->parallel);
    if (which != WF__VARIANTS)
        l->entry = wf__stage_entry(l->engine, stage, which, l->note);
    if (l->entry)
        return true;
    if (l->note)
        l->note->code = WF_CODE_NONE;
    l->interp = wf__stage_interp(l->engine, stage, f);
    return l->interp != NULL;
}

/* Makes private copies: one for each group of the join order, or one for each worker. */
static bool make_copies(wf__launch *l, wf__copies *c, wf__failure *f)
{
    const wf__stage *stage = l->stage;
    int64_t workers = l->parallel && (l->entry || stage->in_order) ? l->threads : 1;
    int64_t wanted = stage->in_order && stage->groups ? stage->groups : workers;
    wanted = wanted < stage->blocks ? wanted : stage->blocks;
    if (!wf__copies_begin(c, l->engine->memory, stage, l->call.mem, wf__copies_most(stage, wanted)))
        return wf__out_of_memory(f, "private copies of an array");
    l->copies = c;
    return true;
}

/* Makes `next` the consumer of l's boxes, if both have compiled code. Returns false on failure alone. */
static bool fuse_consumer(wf__launch *l, wf__launch *consumer, wf__stage *next, char *const *base, wf__mem *mem,
                          wf__failure *f)
{
    const wf__stage *stage = l->stage;
    *consumer = (wf__launch){ .engine = l->engine, .stage = next, .note = l->note ? l->note + 1 : NULL };
    consumer->call = (wf__call){ .mem = mem, .param = l->call.param, .extent = next->extent };
    wf__stage_mem(next, base, mem);
    if (!l->entry)
        return true;
    if (!wf__choose_code(consumer, next, false, f))
        return false;
    if (!consumer->entry)
        return true;
    size_t points = 1;
    for (int d = 0; d < stage->body.rank; ++d)
        if (d < stage->body.kept || (stage->body.kept_lane && d == stage->body.rank - 1))
            points *= (size_t)stage->block[d];
    for (uint32_t k = 0; k < stage->body.red_n; ++k) {
        l->at[k] = l->kept_bytes;
        l->kept_bytes += (points * wf__size(stage->body.red[k].dtype) + 63) & ~(size_t)63;
    }
    l->workers = l->threads;
    l->kept = wf__mem_alloc(l->engine->memory, (size_t)l->workers * l->kept_bytes);
    if (!l->kept)
        return wf__out_of_memory(f, "partial results");
    l->consumer = consumer;
    return true;
}

static bool run_watched(wf__launch *l, wf__failure *f)
{
    wf__watch watch;
    if (!wf__watch_begin(&watch, l->engine, l->stage, l->call.mem))
        return wf__out_of_memory(f, "debug mode");
    l->call.watch = &watch;
    run_boxes(l);
    l->call.watch = NULL;
    bool ok = watch.status == WF_OK;
    if (!ok) {
        f->status = watch.status;
        wf__str_add(&f->text, wf__str_get(&watch.text));
    } else
        wf__watch_unset(&watch, &f->warning);
    wf__watch_end(&watch);
    return ok;
}

double wf__compiling(const wf__note *note, const wf__stage *next)
{
    return -note->compile_s - (next ? note[1].compile_s : 0);
}

/* Notes how the stage ran. `start`: the time of the start plus wf__compiling at that time. */
static void note_run(const wf__launch *l, const wf__stage *next, double start)
{
    wf__note *note = l->note;
    note->ran = true;
    note->threads = !l->parallel || !l->entry ? 1
                    : l->consumer             ? l->workers
                    : l->copies               ? (int)l->copies->n
                                              : l->threads;
    note->copies = l->copies ? (int)l->copies->n : 0;
    note->run_s = wf__now() + wf__compiling(note, next) - start;
    if (l->consumer) {
        note[1].ran = note[1].fused = true;
        note[1].threads = note->threads;
    }
}

/* Runs one stage. `next`: the following stage if it may be fused, else NULL; *both is set if it ran, too. */
static bool run_stage(wf__engine *e, wf__stage *stage, wf__stage *next, char *const *base, uint64_t *param,
                      uint64_t *result, const wf__limits *limits, bool interpret, bool *both, wf__note *note,
                      wf__failure *f)
{
    wf__mem few[FEW], *mem = few, next_mem[WF__MOST_FUSED];
    wf__launch l = { .engine = e, .stage = stage, .call = { .param = param, .extent = stage->extent }, .note = note },
               consumer;
    l.partials.stage = stage;
    double start = note ? wf__now() + wf__compiling(note, next) : 0;
    uint32_t slots = stage->body.slot_n;
    size_t scratch_bytes = 0;
    bool ok = true;
    if (slots > FEW && !(mem = wf__alloc(slots * sizeof *mem)))
        return wf__out_of_memory(f, "a launch");
    wf__stage_mem(stage, base, mem);
    l.call.mem = mem;
    wf__copies copies;
    l.threads = wf__threads_of(e, limits);
    l.parallel = wf__is_parallel(e, stage, limits);
    if (!stage->empty) {
        ok = wf__choose_code(&l, stage, interpret, f);
        if (ok && !wf__partials_begin(&l.partials, stage, e->memory, base))
            ok = wf__out_of_memory(f, "partial results");
        if (ok && !l.entry) {
            scratch_bytes = wf__interp_scratch(l.interp);
            if (!(l.scratch = wf__mem_alloc(e->memory, scratch_bytes)))
                ok = wf__out_of_memory(f, "the interpreter");
        }
        if (ok && stage->copies_n)
            ok = make_copies(&l, &copies, f);
        if (ok && next && !l.copies)
            ok = fuse_consumer(&l, &consumer, next, base, next_mem, f);
        if (ok && stage->body.flags & WF_FLAG_DEBUG)
            ok = run_watched(&l, f);
        else if (ok)
            run_boxes(&l);
        if (l.copies) {
            wf__copies_join(l.copies, e->pool, l.threads, mem);
            wf__copies_end(l.copies);
        }
        if (note)
            note_run(&l, next, start);
        *both = ok && l.consumer;
        atomic_fetch_add_explicit(&e->evaluated, 1 + *both, memory_order_relaxed);
    }
    if (ok && stage->body.red_n)
        wf__partials_finish(&l.partials, result);
    wf__partials_end(&l.partials, e->memory);
    wf__mem_free(e->memory, l.kept, (size_t)l.workers * l.kept_bytes);
    wf__mem_free(e->memory, l.scratch, scratch_bytes);
    if (mem != few)
        wf__free(mem);
    return ok;
}

/* ---- scans ---- */
/* Sets the code of a stage that runs range by range with a scan. Returns false if there is no code. */
static bool choose_ranged(wf__engine *e, wf__stage *stage, uint32_t object, char *const *base, const uint64_t *param,
                          wf__mem *mem, const wf__limits *limits, wf__note *note, wf__ranged *out)
{
    wf__stage_mem(stage, base, mem);
    wf__variant which = wf__stage_variant(stage, mem, wf__is_parallel(e, stage, limits));
    *out = (wf__ranged){ .stage = stage,
                         .object = object,
                         .entry = which == WF__VARIANTS ? NULL : wf__stage_entry(e, stage, which, note),
                         .call = { .mem = mem, .param = param, .extent = stage->extent } };
    return out->entry != NULL;
}

/* Runs a scan, with the fused stages before and after it as far as they have code. *more is set to the number of stages
 * that ran, less one; -1 = none ran, since the first stage is no scan and must run by itself. */
static bool run_scan(wf__engine *e, wf__stage *stage, char *const *base, const uint64_t *param,
                     const wf__limits *limits, bool interpret, int *more, wf__note *note, wf__failure *f)
{
    wf__mem mem[2][WF__MOST_FUSED];
    wf__ranged producer, consumer;
    bool produces = !stage->scan.on; /* the first stage produces the elements */
    wf__stage *scan = stage + produces;
    *more = -1;
    if (produces &&
        (interpret || !choose_ranged(e, stage, scan->scan.to, base, param, mem[0], limits, note, &producer)))
        return true;
    wf__note *consumer_note = note ? note + produces + 1 : NULL;
    bool consumes = scan->fused && !interpret &&
                    choose_ranged(e, scan + 1, scan->scan.to, base, param, mem[1], limits, consumer_note, &consumer);
    int threads = interpret ? 1 : wf__threads_of(e, limits);
    double start = note ? wf__now() : 0;
    if (!wf__scan_run(e->pool, e->memory, threads, scan, base, produces ? &producer : NULL,
                      consumes ? &consumer : NULL))
        return wf__out_of_memory(f, "a scan");
    *more = produces + consumes;
    for (int k = 0; k <= *more && note; ++k) {
        note[k].ran = true;
        note[k].threads = threads;
        note[k].fused = k > 0;
        note[k].code = k == produces ? WF_CODE_LIBRARY : note[k].code;
    }
    if (note)
        note->run_s = wf__now() - start;
    atomic_fetch_add_explicit(&e->evaluated, (uint64_t)*more, memory_order_relaxed);
    return true;
}

/* ---- the plan ---- */
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

/* Compiles the stages of a plan that runs for the first time, on all threads. A stage whose code is still missing
 * afterwards compiles it when it runs. */
static void compile_ahead(wf__engine *e, wf__plan *plan, char *const *base, const wf__limits *limits, bool interpret,
                          wf__note *notes)
{
    if (plan->stage_n < 2 || interpret || atomic_exchange(&plan->has_run, true))
        return;
    uint32_t n = 0, slots = 0;
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        slots = plan->stage[s].body.slot_n > slots ? plan->stage[s].body.slot_n : slots;
    ahead a = { .engine = e, .plan = plan, .notes = notes };
    wf__mem *mem = wf__alloc((slots + 1) * sizeof *mem);
    a.stage = wf__alloc(plan->stage_n * (sizeof *a.stage + 1));
    a.which = a.stage ? (uint8_t *)(a.stage + plan->stage_n) : NULL;
    for (uint32_t s = 0; mem && a.stage && s < plan->stage_n; ++s) {
        const wf__stage *stage = &plan->stage[s];
        if (stage->empty || stage->scan.on)
            continue;
        wf__stage_mem(stage, base, mem);
        wf__variant which = wf__stage_variant(stage, mem, wf__is_parallel(e, stage, limits));
        if (which == WF__VARIANTS)
            continue;
        a.stage[n] = s;
        a.which[n++] = (uint8_t)which;
    }
    if (n > 1)
        wf__pool_run_on(e->pool, wf__threads_of(e, limits), n, compile_one, &a);
    wf__free(a.stage);
    wf__free(mem);
}

bool wf__cpu_run(wf__engine *e, wf__plan *plan, char *const *given, const uint64_t *param, const wf__limits *limits,
                 bool interpret, wf__note *notes, wf__failure *failure)
{
    enum { SMALL = 16 };
    char *small_base[SMALL], **base = small_base;
    uint64_t small_param[SMALL], *all = small_param;
    uint32_t objects = plan->objects + plan->temp_n, params = plan->params + plan->most_reds, temps = 0;
    bool ok = true;
    if (objects > SMALL)
        base = wf__alloc(objects * sizeof *base);
    if (params > SMALL)
        all = wf__alloc(params * sizeof *all);
    if (!base || !all)
        ok = wf__out_of_memory(failure, "a launch");
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->params)
        memcpy(all, param, plan->params * sizeof *all);
    for (; ok && temps < plan->temp_n; ++temps) {
        size_t bytes = wf__temp_bytes(&plan->temp[temps]);
        base[plan->objects + temps] = NULL;
        if (plan->temp[temps].shared)
            continue;
        base[plan->objects + temps] = bytes == SIZE_MAX ? NULL : wf__mem_alloc(e->memory, bytes);
        if (!base[plan->objects + temps]) {
            wf__out_of_memory(failure, "a temporary array");
            ok = false;
            break;
        }
    }
    if (ok)
        compile_ahead(e, plan, base, limits, interpret, notes);
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        bool both = false, scans = stage->scan.on || (stage->fused && stage[1].scan.on);
        wf__note *note = notes ? &notes[s] : NULL;
        int more = -1;
        if (stage->chain) {
            ok = wf__run_per_block(e, plan, stage, base, all, limits, interpret, note, failure);
            s += (uint32_t)stage->chain - 1;
            continue;
        }
        if (scans)
            ok = run_scan(e, stage, base, all, limits, interpret, &more, note, failure);
        if (ok && more < 0)
            ok = run_stage(e, stage, stage->fused && !scans ? stage + 1 : NULL, base, all, all + plan->params, limits,
                           interpret, &both, note, failure);
        s += scans && more > 0 ? (uint32_t)more : both;
    }
    while (temps-- > 0 && base)
        wf__mem_free(e->memory, base[plan->objects + temps], wf__temp_bytes(&plan->temp[temps]));
    if (base != small_base)
        wf__free(base);
    if (all != small_param)
        wf__free(all);
    return ok;
}
