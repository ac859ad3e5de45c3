/* launch.c - runs the stages of a plan: addresses in, blocks out to the pool, reductions joined in a fixed order. */
#include "run/engine_internal.h"

enum { FEW = 8, PARALLEL_WORK = 1 << 18 };

/* What a stage needs to run, made at its first run: stage->code. Entries are set once and never change. */
typedef struct stage_code {
    _Atomic(wf__entry *) entry[2]; /* plain, non-temporal */
    wf__held *held[2];             /* theirs; under the engine's lock */
    _Atomic bool no_entry[2];      /* the compiler cannot: interpret */
    _Atomic(wf__interp *) interp;
} stage_code;

typedef struct launch { /* one stage in flight */
    wf__engine *engine;
    const wf__stage *stage;
    wf__entry *entry; /* NULL: interpret */
    const wf__interp *interp;
    void *scratch;
    wf__call call;
    uint64_t *partial; /* [blocks][reductions] */
} launch;

static bool out_of_memory(wf__failure *f, const char *what)
{
    f->status = WF_ERR_MEMORY;
    wf__str_addf(&f->text, "out of memory for %s", what);
    return false;
}

void wf__engine_free_stage_code(void *engine, void *code)
{
    stage_code *c = code;
    for (int i = 0; i < 2; ++i)
        wf__map_let_go(((wf__engine *)engine)->code, c->held[i]);
    wf__interp_free(atomic_load(&c->interp));
    wf__free(c);
}

static stage_code *code_of(wf__engine *e, wf__stage *stage)
{
    stage_code *c = atomic_load_explicit(&stage->code, memory_order_acquire);
    if (c)
        return c;
    wf__mutex_lock(&e->lock);
    c = atomic_load(&stage->code);
    if (!c && (c = wf__alloc0(sizeof *c)))
        atomic_store_explicit(&stage->code, (void *)c, memory_order_release);
    wf__mutex_unlock(&e->lock);
    return c;
}

static wf__entry *entry_of(wf__engine *e, const wf__stage *stage, stage_code *c, bool nontemporal)
{
    wf__entry *entry = atomic_load_explicit(&c->entry[nontemporal], memory_order_acquire);
    if (entry || atomic_load(&c->no_entry[nontemporal]))
        return entry;
    wf__str error = { 0 };
    wf__code_options how = { .nontemporal = nontemporal, .long_rows = stage->long_rows && !nontemporal };
    wf__held *held = wf__engine_code(e, &stage->body, &how, &error), *double_held = held;
    entry = held ? wf__engine_entry(held) : NULL;
    if (entry) {
        wf__mutex_lock(&e->lock);
        if (!c->held[nontemporal]) {
            c->held[nontemporal] = held;
            double_held = NULL;
        }
        entry = wf__engine_entry(c->held[nontemporal]); /* another thread's may be another copy of the code */
        wf__mutex_unlock(&e->lock);
        wf__map_let_go(e->code, double_held);
        atomic_store_explicit(&c->entry[nontemporal], entry, memory_order_release);
    } else
        atomic_store(&c->no_entry[nontemporal], true);
    if (error.len) {
        wf__str text = { 0 };
        wf__str_addf(&text, "compiling a kernel failed (%s); it is interpreted instead", wf__str_get(&error));
        wf__engine_log(e, 1, wf__str_get(&text));
        wf__str_free(&text);
    }
    wf__str_free(&error);
    return entry;
}

static const wf__interp *interp_of(wf__engine *e, const wf__stage *stage, stage_code *c, wf__failure *f)
{
    wf__interp *interp = atomic_load_explicit(&c->interp, memory_order_acquire);
    if (interp)
        return interp;
    wf__mutex_lock(&e->lock);
    interp = atomic_load(&c->interp);
    if (!interp && (interp = wf__interp_new(&stage->body, &f->text)))
        atomic_store_explicit(&c->interp, interp, memory_order_release);
    wf__mutex_unlock(&e->lock);
    if (!interp)
        f->status = WF_ERR_MEMORY;
    return interp;
}

/* ---- blocks ---- */
static void run_box(const launch *l, const int64_t *lo, const int64_t *hi, uint64_t *acc)
{
    if (l->entry)
        l->entry(&l->call, lo, hi, acc);
    else
        wf__interp_run(l->interp, l->scratch, &l->call, lo, hi, acc);
}

static void run_block(void *user, int64_t block, int worker)
{
    const launch *l = user;
    const wf__stage *stage = l->stage;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], rest = block;
    WF__UNUSED(worker);
    for (int d = stage->body.rank - 1; d >= 0; --d) {
        int64_t count = (stage->extent[d] + stage->block[d] - 1) / stage->block[d];
        lo[d] = rest % count * stage->block[d];
        rest /= count;
        hi[d] = lo[d] + stage->block[d] < stage->extent[d] ? lo[d] + stage->block[d] : stage->extent[d];
    }
    run_box(l, lo, hi, l->partial ? l->partial + (size_t)block * stage->body.red_n : NULL);
}

static const int64_t origin[WF_MAX_RANK];

static bool is_large(const wf__stage *stage) { return stage->blocks > 1 && stage->work >= PARALLEL_WORK; }

static void run_blocks(launch *l)
{
    const wf__stage *stage = l->stage;
    if (l->entry && is_large(stage))
        wf__pool_run(l->engine->pool, stage->blocks, run_block, l);
    else if (stage->body.red_n)
        for (int64_t b = 0; b < stage->blocks; ++b)
            run_block(l, b, 0);
    else
        run_box(l, origin, stage->extent, NULL);
}

/* ---- reductions: partial results pairwise, then the initial value, always in the same order ---- */
static uint64_t join(const wf__reduction *red, uint64_t a, uint64_t b)
{
    uint64_t out = 0;
    wf__eval(wf__join_op((wf_join)red->join), red->dtype, &out, &a, &b, &a, 1);
    return out;
}

static uint64_t join_range(const wf__stage *stage, const uint64_t *partial, uint32_t k, int64_t lo, int64_t hi)
{
    if (hi - lo == 1)
        return partial[(size_t)lo * stage->body.red_n + k];
    int64_t mid = lo + (hi - lo) / 2;
    return join(&stage->body.red[k], join_range(stage, partial, k, lo, mid), join_range(stage, partial, k, mid, hi));
}

static void join_partials(const launch *l, uint64_t *result)
{
    const wf__stage *stage = l->stage;
    for (uint32_t k = 0; k < stage->body.red_n; ++k) {
        result[k] = stage->initial[k];
        if (!stage->empty)
            result[k] =
                join(&stage->body.red[k], stage->initial[k], join_range(stage, l->partial, k, 0, stage->blocks));
    }
}

/* ---- one stage ---- */
/* Do the addresses allow stores past the cache? Those of output rows must be aligned, and nothing written may be read. */
static bool may_stream(const wf__stage *stage, const wf__mem *mem)
{
    const wf__ir *body = &stage->body;
    bool any = false;
    for (uint32_t s = 0; s < body->slot_n; ++s) {
        const wf__slot *slot = &body->slot[s];
        if (!slot->written)
            continue;
        if (slot->read || !slot->element || slot->step[slot->rank - 1] != WF__STEP_UNIT)
            return false;
        any = true;
        uintptr_t bits = (uintptr_t)mem[s].base;
        for (int d = 0; d + 1 < slot->rank; ++d)
            bits |= (uintptr_t)mem[s].stride[d] * wf__size(slot->dtype);
        if (bits & 63)
            return false;
        for (uint32_t t = 0; t < body->slot_n; ++t)
            if (t != s && body->slot[t].read && mem[t].base == mem[s].base)
                return false;
    }
    return any;
}

static bool choose_code(launch *l, wf__stage *stage, bool interpret, wf__failure *f)
{
    stage_code *code = code_of(l->engine, stage);
    if (!code)
        return out_of_memory(f, "a launch");
    bool one_point = stage->blocks == 1 && stage->body.rank == 1 && stage->extent[0] == 1;
    if (!interpret && !one_point)
        l->entry = entry_of(l->engine, stage, code, stage->streams && may_stream(stage, l->call.mem));
    if (l->entry)
        return true;
    l->interp = interp_of(l->engine, stage, code, f);
    return l->interp != NULL;
}

static void fill_mem(const wf__stage *stage, char *const *base, wf__mem *mem)
{
    for (uint32_t s = 0; s < stage->body.slot_n; ++s) {
        const wf__mem_layout *layout = &stage->mem[s];
        mem[s].base = base[layout->object];
        if (layout->offset && !stage->empty)
            mem[s].base += layout->offset * (int64_t)wf__size(stage->body.slot[s].dtype);
        for (int d = 0; d < stage->body.slot[s].rank; ++d) {
            mem[s].stride[d] = layout->stride[d];
            mem[s].dim[d] = layout->dim[d];
        }
    }
}

static bool run_stage(wf__engine *e, wf__stage *stage, char *const *base, uint64_t *param, uint64_t *result,
                      bool interpret, wf__failure *f)
{
    wf__mem few[FEW], *mem = few;
    launch l = { .engine = e, .stage = stage, .call = { .param = param, .extent = stage->extent } };
    uint32_t slots = stage->body.slot_n;
    size_t partial_bytes = (size_t)stage->blocks * stage->body.red_n * sizeof(uint64_t), scratch_bytes = 0;
    bool ok = true;
    if (slots > FEW && !(mem = wf__alloc(slots * sizeof *mem)))
        return out_of_memory(f, "a launch");
    fill_mem(stage, base, mem);
    l.call.mem = mem;
    if (!stage->empty) {
        ok = choose_code(&l, stage, interpret, f);
        if (ok && partial_bytes && !(l.partial = wf__mem_alloc(e->memory, partial_bytes)))
            ok = out_of_memory(f, "partial results");
        if (ok && !l.entry) {
            scratch_bytes = wf__interp_scratch(l.interp);
            if (!(l.scratch = wf__mem_alloc(e->memory, scratch_bytes)))
                ok = out_of_memory(f, "the interpreter");
        }
        if (ok)
            run_blocks(&l);
        atomic_fetch_add_explicit(&e->evaluated, 1, memory_order_relaxed);
    }
    if (ok && stage->body.red_n)
        join_partials(&l, result);
    wf__mem_free(e->memory, l.partial, partial_bytes);
    wf__mem_free(e->memory, l.scratch, scratch_bytes);
    if (mem != few)
        wf__free(mem);
    return ok;
}

/* ---- the plan ---- */
static size_t temp_bytes(const wf__temp *t)
{
    size_t bytes = wf__size(t->dtype);
    for (int d = 0; d < t->shape.rank; ++d)
        if (!wf__mul_size(bytes, (size_t)t->shape.dim[d], &bytes))
            return SIZE_MAX;
    return bytes;
}

bool wf__engine_run(wf__engine *e, wf__plan *plan, char *const *given, const uint64_t *param, bool interpret,
                    wf__failure *failure)
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
        ok = out_of_memory(failure, "a launch");
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->params)
        memcpy(all, param, plan->params * sizeof *all);
    for (; ok && temps < plan->temp_n; ++temps) {
        size_t bytes = temp_bytes(&plan->temp[temps]);
        base[plan->objects + temps] = bytes == SIZE_MAX ? NULL : wf__mem_alloc(e->memory, bytes);
        if (!base[plan->objects + temps]) {
            out_of_memory(failure, "a temporary array");
            ok = false;
            break;
        }
    }
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s)
        ok = run_stage(e, &plan->stage[s], base, all, all + plan->params, interpret, failure);
    while (temps-- > 0 && base)
        wf__mem_free(e->memory, base[plan->objects + temps], temp_bytes(&plan->temp[temps]));
    if (base != small_base)
        wf__free(base);
    if (all != small_param)
        wf__free(all);
    return ok;
}

/* ---- the same again ---- */
void wf__prepare(wf__plan *plan, char *const *base, wf__prepared *out)
{
    wf__stage *stage = plan->stage;
    out->entry = NULL;
    if (plan->stage_n != 1 || plan->temp_n || stage->empty || stage->body.red_n || is_large(stage))
        return;
    const stage_code *code = atomic_load_explicit(&stage->code, memory_order_acquire);
    if (!code || !wf__grow(&out->mem, &out->mem_cap, stage->body.slot_n, sizeof *out->mem))
        return;
    fill_mem(stage, base, out->mem);
    out->call = (wf__call){ .mem = out->mem, .extent = stage->extent };
    out->extent = stage->extent;
    bool nontemporal = stage->streams && may_stream(stage, out->mem);
    out->entry = atomic_load_explicit(&code->entry[nontemporal], memory_order_acquire);
}

void wf__engine_run_prepared(wf__engine *e, wf__prepared *p, const uint64_t *param)
{
    p->call.param = param;
    p->entry(&p->call, origin, p->extent, NULL);
    atomic_fetch_add_explicit(&e->evaluated, 1, memory_order_relaxed);
}

void wf__prepared_free(wf__prepared *p)
{
    wf__free(p->mem);
    *p = (wf__prepared){ 0 };
}
