/* prepared.c - launches of one kernel that need nothing but addresses and parameters: in one box on the calling thread,
 * or cut along one axis into boxes for all threads. */
#include "run/cpu/stages.h"
#include "run/stage.h"
#include "run/cpu/stage_code.h"

/* ---- cut along one axis ---- */
/* Consecutive blocks are one box. */
static void run_some(void *user, int64_t first, int64_t end, int worker)
{
    const wf__prepared *p = user;
    int64_t lo[WF_MAX_RANK] = { 0 }, hi[WF_MAX_RANK];
    (void)worker;
    memcpy(hi, p->call.extent, sizeof hi);
    lo[p->axis] = first * p->each;
    if (end < p->blocks)
        hi[p->axis] = end * p->each;
    p->entry(&p->call, lo, hi, NULL);
}

static void cut_slabs(const wf__stage *stage, wf__prepared *out)
{
    out->axis = stage->slabs;
    out->blocks = stage->blocks;
    out->each = stage->block[stage->slabs];
    out->least = wf__least_of_call(stage);
}

/* Its blocks, by all threads. */
static void share_slabs(wf__engine *e, const wf__limits *limits, const wf__prepared *p, bool turned)
{
    wf__pool_run_several(e->pool, wf__threads_of(e, limits), p->blocks,
                         &(wf__several){ p->least, WF__MOST_OF_CALL * p->least, turned }, run_some, (void *)p);
}

/* The stage's blocks; turned in every second run of whatever kernel, as nothing remembers this one's last. */
void wf__run_slabs(const wf__launch *l)
{
    wf__prepared p = { .entry = l->entry, .call = l->call };
    cut_slabs(l->stage, &p);
    share_slabs(l->engine, &(wf__limits){ .threads = l->threads }, &p,
                atomic_load_explicit(&l->engine->evaluated, memory_order_relaxed) & 1);
}

/* ---- the same again ---- */
void wf__cpu_prepare(wf__plan *plan, char *const *base, wf__prepared *out)
{
    wf__stage *stage = plan->stage;
    out->entry = NULL;
    bool shared = wf__is_large(stage, &(wf__limits){ 0 });
    if (plan->stage_n != 1 || plan->temp_n || stage->empty || stage->body.red_n || stage->copies_n || stage->boxed ||
        (shared && (stage->slabs < 0 || stage->updates)))
        return;
    if (!wf__grow(&out->mem, &out->mem_cap, stage->body.slot_n, sizeof *out->mem))
        return;
    wf__stage_mem(stage, base, out->mem);
    out->call = (wf__call){ .mem = out->mem, .extent = stage->extent };
    out->blocks = 0;
    if (shared)
        cut_slabs(stage, out);
    wf__variant which = wf__stage_variant(stage, out->mem, shared);
    out->entry = which == WF__VARIANTS ? NULL : wf__stage_ready_entry(stage, which);
}

void wf__cpu_run_prepared(wf__engine *e, wf__prepared *p, const uint64_t *param, const wf__limits *limits, bool turned)
{
    if (p->call.param != param) /* what workers have in their caches is left as it is */
        p->call.param = param;
    if (p->blocks)
        share_slabs(e, limits, p, turned);
    else
        p->entry(&p->call, (const int64_t[WF_MAX_RANK]){ 0 }, p->call.extent, NULL);
    atomic_fetch_add_explicit(&e->evaluated, 1, memory_order_relaxed);
}

void wf__prepared_free(wf__prepared *p)
{
    wf__free(p->mem);
    *p = (wf__prepared){ 0 };
}
