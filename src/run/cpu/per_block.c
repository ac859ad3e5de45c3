/* per_block.c - a step that runs several stages for one block, and then for the next (plan/space/block_boxes.c). Each
 * worker has memory for the scratch of its current block.
 */
#include "run/cpu/boxes.h"
#include "run/cpu/steps.h"

typedef struct per_block {
    wf__launch *launch; /* [workers][n] */
    int n, workers;     /* n: number of stages */
    uint32_t slots;     /* slots of all stages together */
    wf__mem *mem;       /* [workers][slots] */
    char *memory;       /* [workers][own->bytes] */
    const wf__own_memory *own;
} per_block;

/* Sets the addresses of the slots in the worker's memory. Their indices may count from the beginning of the space. */
static void set_scratch_mem(const wf__launch *l, int64_t block, char *own, wf__mem *mem)
{
    const wf__stage *stage = l->stage;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    bool known = false;
    for (uint32_t s = 0; s < stage->lowered.slot_n; ++s) {
        const wf__slot *slot = &stage->lowered.slot[s];
        int64_t elements = 0;
        if (!slot->shared)
            continue;
        for (int k = 0; k < slot->rank; ++k) {
            if (!slot->shift[k])
                continue;
            if (!known)
                wf__points_of_box(l, block, lo, hi);
            known = true;
            elements += lo[slot->shift[k] - 1] * mem[s].stride[k];
        }
        uintptr_t at = (uintptr_t)own + slot->shared - 1;
        mem[s].base = (char *)(at - (uintptr_t)elements * wf__size(slot->dtype));
    }
}

static void run_block(void *user, int64_t block, int worker)
{
    const per_block *c = user;
    wf__mem *mem = c->mem + (size_t)worker * c->slots;
    char *own = c->memory + (size_t)worker * c->own->bytes;
    memset(own, 0, c->own->zeroed);
    for (int k = 0; k < c->n; ++k) {
        const wf__launch *l = &c->launch[worker * c->n + k];
        set_scratch_mem(l, block, own, mem);
        wf__run_box(l, block, 0, worker);
        mem += l->stage->lowered.slot_n;
    }
}

/* Sets the launches of a worker, with slots of its own. */
static void init_worker(const per_block *c, int worker, char *const *base)
{
    wf__mem *mem = c->mem + (size_t)worker * c->slots;
    for (int k = 0; k < c->n; ++k) {
        wf__launch *l = &c->launch[worker * c->n + k];
        *l = c->launch[k];
        wf__stage_mem(l->stage, base, mem);
        l->call.mem = mem;
        mem += l->stage->lowered.slot_n;
    }
}

/* Sets the code of all stages, or the interpreter, which limits the step to one thread. */
static bool choose_codes(per_block *c, const wf__run *r, const wf__plan_step *step)
{
    bool ok = true;
    for (int k = 0; k < c->n && ok; ++k) {
        wf__launch *l = &c->launch[k];
        l->parallel = wf__is_parallel(l->engine, l->stage, &r->plan->stage[step->main], r->limits);
        ok = wf__choose_code(l, &r->plan->stage[step->first + (uint32_t)k], r->interpret, r->failure);
        if (ok && !l->entry) {
            c->workers = 1;
            l->scratch = wf__mem_alloc(l->engine->memory, wf__interp_scratch(l->interp));
            ok = l->scratch || wf__out_of_memory(r->failure, "the interpreter");
        }
    }
    return ok;
}

/* Runs all blocks. The notes are those of the step's stages, or NULL. */
static void run_blocks(per_block *c, const wf__run *r, int64_t blocks, wf__note *notes)
{
    if (c->workers > 1)
        wf__pool_run_on(r->engine->pool, c->workers, blocks, run_block, c);
    for (int64_t b = 0; b < blocks && c->workers == 1; ++b)
        run_block(c, b, 0);
    for (int k = 0; k < c->n && notes; ++k) {
        notes[k].ran = true;
        notes[k].fused = k > 0;
        notes[k].threads = c->workers;
    }
    atomic_fetch_add_explicit(&r->engine->evaluated, (uint64_t)c->n, memory_order_relaxed);
}

bool wf__run_per_block(const wf__run *r, const wf__plan_step *step)
{
    wf__engine *e = r->engine;
    const wf__own_memory *own = &r->plan->per_block.own;
    const wf__stage *stage = &r->plan->stage[step->first], *main = &r->plan->stage[step->main];
    wf__note *notes = r->notes ? &r->notes[step->first] : NULL;
    per_block c = { .n = (int)step->count,
                    .workers = wf__is_large(main, r->limits) ? wf__threads_of(e, r->limits) : 1,
                    .own = own };
    double start = notes ? wf__now() - wf__compile_seconds(notes, NULL) : 0;
    for (int k = 0; k < c.n; ++k)
        c.slots += stage[k].lowered.slot_n;
    c.launch = wf__alloc0((size_t)(c.workers * c.n) * sizeof *c.launch);
    c.mem = wf__alloc0(((size_t)c.workers * c.slots + 1) * sizeof *c.mem);
    size_t bytes = (size_t)c.workers * own->bytes;
    c.memory = c.launch && c.mem ? wf__mem_alloc(e->memory, bytes) : NULL;
    bool ok = c.memory || wf__out_of_memory(r->failure, "scratch");
    for (int k = 0; k < c.n && ok; ++k)
        c.launch[k] = (wf__launch){ .engine = e,
                                    .stage = &stage[k],
                                    .call = { .param = r->param, .extent = stage[k].extent },
                                    .note = notes ? notes + k : NULL };
    if (ok)
        init_worker(&c, 0, r->base);
    ok = ok && choose_codes(&c, r, step);
    for (int w = 1; w < c.workers && ok; ++w)
        init_worker(&c, w, r->base);
    if (ok)
        run_blocks(&c, r, stage->partition.boxes, notes);
    if (ok && notes)
        notes->run_s = wf__now() - wf__compile_seconds(notes, NULL) - start;
    for (int k = 0; k < c.n && c.memory; ++k)
        if (c.launch[k].scratch)
            wf__mem_free(e->memory, c.launch[k].scratch, wf__interp_scratch(c.launch[k].interp));
    wf__mem_free(e->memory, c.memory, bytes);
    wf__free(c.mem);
    wf__free(c.launch);
    return ok;
}
