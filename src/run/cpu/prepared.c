/* prepared.c - launches of one kernel that need only addresses and parameters: in one box on the calling thread, or in
 * slabs, cut along one axis, on all threads. */
#include "run/cpu/boxes.h"
#include "run/cpu/stage_code.h"

/* ---- slabs ---- */
/* Runs consecutive slabs as one box. */
static void run_range(void *user, int64_t first, int64_t end, int worker)
{
    const wf__prepared *p = user;
    int64_t lo[WF_MAX_RANK] = { 0 }, hi[WF_MAX_RANK];
    (void)worker;
    memcpy(hi, p->call.extent, sizeof hi);
    lo[p->axis] = first * p->each;
    if (end < p->slabs)
        hi[p->axis] = end * p->each;
    p->entry(&p->call, lo, hi, NULL);
}

static void cut_slabs(const wf__stage *stage, wf__prepared *out)
{
    out->axis = stage->partition.slabs;
    out->slabs = stage->partition.boxes;
    out->each = stage->partition.box[stage->partition.slabs];
    out->least = wf__least_of_call(stage);
}

static void run_slabs(wf__engine *e, const wf__limits *limits, const wf__prepared *p, bool turned)
{
    wf__pool_run_several(e->pool, wf__threads_of(e, limits), p->slabs,
                         &(wf__several){ p->least, WF__MOST_OF_CALL * p->least, turned }, run_range, (void *)p);
}

/* The direction alternates with the number of kernels that the engine has run, since the stage keeps no record of its
 * last run. */
void wf__run_slabs(const wf__launch *l)
{
    wf__prepared p = { .entry = l->entry, .call = l->call };
    cut_slabs(l->stage, &p);
    run_slabs(l->engine, &(wf__limits){ .threads = l->threads }, &p,
              atomic_load_explicit(&l->engine->evaluated, memory_order_relaxed) & 1);
}

/* ---- prepared launches ---- */
void wf__cpu_prepare(const wf__engine *e, wf__plan *plan, char *const *base, wf__prepared *out)
{
    wf__stage *stage = plan->stage;
    out->entry = NULL;
    bool shared = plan->stage_n == 1 && wf__is_large(stage, &(wf__limits){ 0 });
    /* A launch that can be cancelled has a status, which prepared ones have not. */
    if (plan->stage_n != 1 || plan->temp_n || stage->empty || stage->lowered.red_n || stage->copies.n ||
        stage->partition.one_box_per_block || wf__waits_for_ranks(stage) || !wf__own_boxes(stage) ||
        (shared && (stage->partition.slabs < 0 || stage->promises.updates || wf__pool_is_observed(e->pool))))
        return;
    if (!wf__grow(&out->mem, &out->mem_cap, stage->lowered.slot_n, sizeof *out->mem))
        return;
    wf__stage_mem(stage, base, out->mem);
    out->call = (wf__call){ .mem = out->mem, .extent = stage->extent };
    out->lo = wf__own_begin(stage);
    out->hi = wf__own_end(stage);
    out->slabs = 0;
    if (shared)
        cut_slabs(stage, out);
    wf__variant which = wf__stage_variant(stage, out->mem, shared);
    out->entry = which == WF__VARIANTS ? NULL : wf__stage_ready_entry(stage, which);
}

void wf__cpu_run_prepared(wf__engine *e, wf__prepared *p, const uint64_t *param, const wf__limits *limits, bool turned)
{
    if (p->call.param != param) /* an unchanged cache line stays valid for the workers */
        p->call.param = param;
    if (p->slabs)
        run_slabs(e, limits, p, turned);
    else
        p->entry(&p->call, p->lo, p->hi, NULL);
    atomic_fetch_add_explicit(&e->evaluated, 1, memory_order_relaxed);
}

void wf__prepared_free(wf__prepared *p)
{
    wf__free(p->mem);
    *p = (wf__prepared){ 0 };
}
