/* rows.c - a step that runs several stages for some rows of their outermost loops, and then for the next rows
 * (plan/rows.c). Each worker has memory for the rows of arrays that only these stages use.
 */
#include "run/cpu/boxes.h"
#include "run/cpu/steps.h"

typedef struct rows {
    const wf__run *run;
    const wf__plan_step *step;
    wf__launch launch[WF__MOST_ROWS_STAGES];
    int64_t boxes[WF__MOST_ROWS_STAGES]; /* boxes of a piece */
    wf__mem *mem;                        /* [1 + workers][slots]: of all stages; the first are those of the launches */
    char *memory;                        /* [workers][step->own_bytes] */
    uint32_t slots, n;                   /* n: stages that have been set up */
    int workers;
} rows;

/* Sets the addresses of slots in the worker's memory, whose rows begin with row `first`. */
static void set_own_mem(const rows *c, const wf__stage *stage, int64_t first, int worker, wf__mem *mem)
{
    const wf__plan *plan = c->run->plan;
    char *own = c->memory + (size_t)worker * c->step->own_bytes;
    for (uint32_t s = 0; s < stage->lowered.slot_n; ++s) {
        const uint32_t object = stage->mem[s].object;
        const size_t at = object >= plan->objects ? plan->temp[object - plan->objects].own : 0;
        if (!at)
            continue;
        const int64_t points = stage->extent[0] / c->step->all_rows;
        const int64_t elements = first * points * mem[s].stride[0] - stage->mem[s].offset;
        mem[s].base =
            (char *)((uintptr_t)(own + at - 1) - (uintptr_t)elements * wf__size(stage->lowered.slot[s].dtype));
    }
}

static void run_piece(void *user, int64_t piece, int worker)
{
    const rows *c = user;
    wf__mem *mem = c->mem + (size_t)(1 + worker) * c->slots;
    for (uint32_t k = 0; k < c->n; ++k) {
        wf__launch l = c->launch[k];
        const int64_t all = l.stage->partition.boxes, first = piece * c->boxes[k], last = first + c->boxes[k];
        memcpy(mem, l.call.mem, l.stage->lowered.slot_n * sizeof *mem);
        set_own_mem(c, l.stage, piece * c->step->rows, worker, mem);
        l.call.mem = mem;
        for (int64_t box = first; box < last && box < all; ++box)
            wf__run_box(&l, box, worker, worker);
    }
}

/* Sets up the launch of stage k. Without compiled code, one thread interprets. */
static bool add_stage(rows *c, uint32_t k, wf__mem *mem)
{
    const wf__run *r = c->run;
    const wf__plan_step *step = c->step;
    wf__stage *stage = &r->plan->stage[step->first + k];
    wf__launch *l = &c->launch[k];
    const int64_t box = stage->partition.box[0], over = (stage->extent[0] + box - 1) / box;
    *l = (wf__launch){ .engine = r->engine,
                       .stage = stage,
                       .call = { .mem = mem, .param = r->param, .extent = stage->extent },
                       .note = r->notes ? &r->notes[step->first + k] : NULL };
    l->partials.stage = stage;
    l->parallel = wf__is_parallel(r->engine, stage, &r->plan->stage[step->main], r->limits);
    c->boxes[k] = step->rows * (stage->extent[0] / step->all_rows) / box * (stage->partition.boxes / over);
    c->n = k + 1;
    wf__stage_mem(stage, r->base, mem);
    if (!wf__choose_code(l, stage, r->interpret, r->failure))
        return false;
    if (!l->entry) {
        c->workers = 1;
        if (!(l->scratch = wf__mem_alloc(r->engine->memory, wf__interp_scratch(l->interp))))
            return wf__out_of_memory(r->failure, "the interpreter");
    }
    return wf__partials_begin(&l->partials, stage, r->engine->memory, r->base) ||
           wf__out_of_memory(r->failure, "partial results");
}

static void run_pieces(rows *c)
{
    const wf__run *r = c->run;
    const int64_t pieces = (c->step->all_rows + c->step->rows - 1) / c->step->rows;
    wf__note *notes = r->notes ? &r->notes[c->step->first] : NULL;
    if (c->workers > 1)
        wf__pool_run_on(r->engine->pool, c->workers, pieces, run_piece, c);
    for (int64_t piece = 0; piece < pieces && c->workers == 1; ++piece)
        run_piece(c, piece, 0);
    for (uint32_t k = 0; k < c->n; ++k) {
        if (c->launch[k].stage->lowered.red_n)
            wf__partials_finish(&c->launch[k].partials, r->param + r->plan->params);
        if (!notes)
            continue;
        notes[k].ran = true;
        notes[k].fused = k > 0;
        notes[k].threads = c->workers;
    }
    atomic_fetch_add_explicit(&r->engine->evaluated, c->n, memory_order_relaxed);
}

bool wf__run_rows(const wf__run *r, const wf__plan_step *step)
{
    const wf__stage *main = &r->plan->stage[step->main];
    wf__note *notes = r->notes ? &r->notes[step->first] : NULL;
    wf__mem_cache *memory = r->engine->memory;
    rows c = { .run = r, .step = step };
    c.workers = wf__is_large(main, r->limits) ? wf__threads_of(r->engine, r->limits) : 1;
    double start = notes ? wf__now() - wf__compile_seconds(notes, NULL) : 0;
    for (uint32_t k = 0; k < step->count; ++k)
        c.slots += r->plan->stage[step->first + k].lowered.slot_n;
    const size_t bytes = (size_t)c.workers * step->own_bytes + 1;
    c.mem = wf__alloc((size_t)(1 + c.workers) * c.slots * sizeof *c.mem);
    c.memory = c.mem ? wf__mem_alloc(memory, bytes) : NULL;
    bool ok = c.memory || wf__out_of_memory(r->failure, "rows of temporary arrays");
    wf__mem *mem = c.mem;
    for (uint32_t k = 0; k < step->count && ok; ++k) {
        ok = add_stage(&c, k, mem);
        mem += r->plan->stage[step->first + k].lowered.slot_n;
    }
    if (ok)
        run_pieces(&c);
    if (ok && notes)
        notes->run_s = wf__now() - wf__compile_seconds(notes, NULL) - start;
    for (uint32_t k = 0; k < c.n; ++k) {
        wf__partials_end(&c.launch[k].partials, memory);
        if (c.launch[k].scratch)
            wf__mem_free(memory, c.launch[k].scratch, wf__interp_scratch(c.launch[k].interp));
    }
    wf__mem_free(memory, c.memory, bytes);
    wf__free(c.mem);
    return ok;
}
