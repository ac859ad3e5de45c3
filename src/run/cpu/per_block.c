/* per_block.c - a step that runs several stages for one block, and then for the next (plan/space/block_boxes.c). Each
 * worker has memory for the scratch of its current block.
 */
#include "run/cpu/stages.h"

typedef struct per_block {
    wf__launch *launch; /* [workers][n] */
    int n, workers;     /* n: stages */
    uint32_t slots;     /* of all stages */
    wf__mem *mem;       /* [workers][slots] */
    char *memory;       /* [workers][own->bytes] */
    const wf__own_memory *own;
} per_block;

/* Sets the addresses of the slots in the worker's memory. Their indices may count from the beginning of the space. */
static void set_scratch_mem(const wf__stage *stage, int64_t block, char *own, wf__mem *mem)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    wf__points_of_box(stage, block, lo, hi);
    for (uint32_t s = 0; s < stage->body.slot_n; ++s) {
        const wf__slot *slot = &stage->body.slot[s];
        int64_t elements = 0;
        if (!slot->shared)
            continue;
        for (int k = 0; k < slot->rank; ++k)
            elements += slot->shift[k] ? lo[slot->shift[k] - 1] * mem[s].stride[k] : 0;
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
        set_scratch_mem(l->stage, block, own, mem);
        wf__run_box(l, block, 0, worker);
        mem += l->stage->body.slot_n;
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
        mem += l->stage->body.slot_n;
    }
}

/* Sets the code of all stages, or the interpreter, which limits the step to one thread. */
static bool choose_codes(per_block *c, wf__stage *stage, const wf__limits *limits, bool interpret, wf__failure *f)
{
    bool ok = true;
    for (int k = 0; k < c->n && ok; ++k) {
        wf__launch *l = &c->launch[k];
        l->parallel = wf__is_parallel(l->engine, l->stage, limits);
        ok = wf__choose_code(l, stage + k, interpret, f);
        if (ok && !l->entry) {
            c->workers = 1;
            l->scratch = wf__mem_alloc(l->engine->memory, wf__interp_scratch(l->interp));
            ok = l->scratch || wf__out_of_memory(f, "the interpreter");
        }
    }
    return ok;
}

bool wf__run_per_block(wf__engine *e, const wf__plan *plan, wf__stage *stage, char *const *base, uint64_t *param,
                       const wf__limits *limits, bool interpret, wf__note *notes, wf__failure *f)
{
    per_block c = { .n = stage->chain,
                    .workers = wf__is_large(stage, limits) ? wf__threads_of(e, limits) : 1,
                    .own = &plan->own };
    double start = notes ? wf__now() + wf__compiling(notes, NULL) : 0;
    for (int k = 0; k < c.n; ++k)
        c.slots += stage[k].body.slot_n;
    c.launch = wf__alloc0((size_t)(c.workers * c.n) * sizeof *c.launch);
    c.mem = wf__alloc0(((size_t)c.workers * c.slots + 1) * sizeof *c.mem);
    size_t bytes = (size_t)c.workers * plan->own.bytes;
    c.memory = c.launch && c.mem ? wf__mem_alloc(e->memory, bytes) : NULL;
    bool ok = c.memory || wf__out_of_memory(f, "scratch");
    for (int k = 0; k < c.n && ok; ++k)
        c.launch[k] = (wf__launch){ .engine = e,
                                    .stage = &stage[k],
                                    .call = { .param = param, .extent = stage[k].extent },
                                    .note = notes ? notes + k : NULL };
    if (ok)
        init_worker(&c, 0, base);
    ok = ok && choose_codes(&c, stage, limits, interpret, f);
    for (int w = 1; w < c.workers && ok; ++w)
        init_worker(&c, w, base);
    if (ok && c.workers > 1)
        wf__pool_run_on(e->pool, c.workers, stage->blocks, run_block, &c);
    for (int64_t b = 0; b < stage->blocks && ok && c.workers == 1; ++b)
        run_block(&c, b, 0);
    for (int k = 0; k < c.n && ok && notes; ++k) {
        notes[k].ran = true;
        notes[k].fused = k > 0;
        notes[k].threads = c.workers;
    }
    if (ok && notes)
        notes->run_s = wf__now() + wf__compiling(notes, NULL) - start;
    if (ok)
        atomic_fetch_add_explicit(&e->evaluated, (uint64_t)c.n, memory_order_relaxed);
    for (int k = 0; k < c.n && c.memory; ++k)
        if (c.launch[k].scratch)
            wf__mem_free(e->memory, c.launch[k].scratch, wf__interp_scratch(c.launch[k].interp));
    wf__mem_free(e->memory, c.memory, bytes);
    wf__free(c.mem);
    wf__free(c.launch);
    return ok;
}
