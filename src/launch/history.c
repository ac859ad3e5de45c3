/* history.c - the history of a context, with WF_FLAG_HISTORY: a ring of the kernels that ran last, with the sizes of
 * their recordings before and after planning, and the reason of each new compilation.
 */
#include "launch/launch.h"
#include "ir/pass/pass.h"
#include <stdio.h>

enum { MOST = 4096 };

struct wf__history {   /* guarded by the context's lock */
    uint64_t first, n; /* at[first % MOST] is the oldest of n */
    wf_kernel_info at[MOST];
};

/* ---- counts of a recording ---- */
static bool is_operation(const wf__node *n)
{
    return n->op == WF__LOAD || wf__op_is_pure(n->op) || wf__op_is_effect(n->op) || n->op == WF__REDUCE;
}

static void count_ir(const wf__ir *ir, wf_kernel_info *out)
{
    uint8_t *live = ir->n > 1 ? wf__alloc0(ir->n) : NULL;
    if (!live)
        return;
    wf__mark_effects(ir, live);
    wf__mark_live(ir, live);
    for (wf__ref r = 1; r < ir->n; ++r)
        if (is_operation(&ir->node[r])) {
            ++out->ops;
            out->dead += !live[r];
        }
    out->ops += ir->folded + ir->numbered;
    out->folded += ir->folded;
    out->numbered += ir->numbered;
    out->merged += ir->merged;
    wf__free(live);
}

static void count_recording(const wf__recording *rec, wf_kernel_info *out)
{
    for (int k = 0; k < WF__SECTIONS; ++k)
        count_ir(&rec->section[k], out);
}

/* ---- a stage ---- */
static wf_mode mode_of(const wf__stage *stage)
{
    static const wf_mode mode[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_NO_CONFLICT,
                                    WF_MODE_NO_CONFLICT };
    wf__ref r = 1;
    while (r < stage->lowered.n && stage->lowered.node[r].op != WF__ACCUM)
        ++r;
    if (r >= stage->lowered.n)
        return WF_MODE_AUTO;
    for (uint32_t k = 0; k < stage->copies.n; ++k)
        if (stage->copies.at[k].slot == stage->lowered.node[r].a)
            return WF_MODE_EXPAND;
    return mode[wf__node_mode(&stage->lowered.node[r])];
}

static int64_t points_of(const wf__stage *stage)
{
    int64_t points = 1;
    const int64_t *extent = stage->scan.on ? stage->space.dim : stage->extent;
    for (int d = 0; d < (stage->scan.on ? stage->space.rank : stage->lowered.rank); ++d)
        points *= extent[d];
    return points;
}

static void describe(const wf__stage *stage, const wf__note *note, wf_kernel_info *out)
{
    out->hash = note->code == WF_CODE_NONE ? 0 : note->hash;
    out->nodes = stage->lowered.n ? stage->lowered.n - 1 : 0;
    out->hidden = stage->lowered.hidden;
    out->unused = stage->lowered.unused;
    out->invariant = stage->lowered.invariant;
    out->written_out = stage->lowered.written_out;
    out->in_lockstep = stage->lowered.in_lockstep;
    out->nontemporal = note->nontemporal;
    out->single_thread = note->single_thread;
    out->baseline = note->baseline;
    out->fused = note->fused;
    out->code = note->code;
    out->threads = note->threads;
    out->rows = note->rows;
    out->columns = note->columns;
    out->lanes = note->lanes;
    out->mode = mode_of(stage);
    out->copies = note->copies;
    out->points = points_of(stage);
    out->compile_s = note->compile_s;
    out->run_s = note->run_s;
}

static void explain(const wf__plan_entry *e, bool plan_hit, const wf__note *note, wf_kernel_info *out)
{
    const char *plan = !plan_hit && e->why ? e->why : "";
    bool both = *plan && note->why[0];
    snprintf(out->why, sizeof out->why, "%s%s%s", plan, both ? "; " : "", note->why);
}

static void log_compilation(wf_context *ctx, const wf_kernel_info *info)
{
    char text[512];
    if (!ctx->log || info->code != WF_CODE_COMPILED || !info->why[0])
        return;
    snprintf(text, sizeof text, "%s%s%s was compiled again: %s", info->name[0] ? "'" : "a kernel", info->name,
             info->name[0] ? "'" : "", info->why);
    ctx->log(2, text, ctx->log_user);
}

static void push(wf_context *ctx, const wf_kernel_info *info) /* under the lock */
{
    wf__history *h = ctx->launcher->history;
    h->at[(h->first + h->n) % MOST] = *info;
    if (h->n < MOST)
        ++h->n;
    else
        ++h->first;
}

void wf__history_describe(wf_context *ctx, const wf__program *p, wf__launch_note *note)
{
    note->about = (wf_kernel_info){ .size = sizeof note->about, .device = p->device, .plan_hit = note->plan_hit };
    snprintf(note->about.name, sizeof note->about.name, "%s", p->name ? p->name : "");
    if (wf__has_history(ctx))
        count_recording(&p->rec, &note->about);
}

void wf__history_add(wf_context *ctx, const wf__plan_entry *e, const wf__launch_note *note)
{
    wf_kernel_info launch = note->about;
    bool keep = wf__has_history(ctx);
    launch.stages = (int32_t)e->plan.stage_n;
    wf__mutex_lock(&ctx->lock);
    launch.launch = ++ctx->launcher->launches;
    if (keep && !ctx->launcher->history)
        ctx->launcher->history = wf__alloc0(sizeof *ctx->launcher->history); /* without memory nothing is noted */
    wf__mutex_unlock(&ctx->lock);
    double record_s = note->record_s, plan_s = note->plan_s;
    for (uint32_t s = 0; s < e->plan.stage_n; ++s) {
        wf_kernel_info info = launch;
        if (!note->stage[s].ran)
            continue;
        info.stage = (int32_t)s;
        info.record_s = record_s;
        info.plan_s = plan_s;
        record_s = plan_s = 0;
        describe(&e->plan.stage[s], &note->stage[s], &info);
        explain(e, note->plan_hit, &note->stage[s], &info);
        wf__mutex_lock(&ctx->lock);
        if (keep && ctx->launcher->history)
            push(ctx, &info);
        wf__mutex_unlock(&ctx->lock);
        log_compilation(ctx, &info);
    }
}

size_t wf_history(wf_context *ctx, wf_kernel_info *out, size_t cap)
{
    if (!ctx)
        return 0;
    size_t size = out && cap ? out->size : 0, n = 0;
    if (out && cap && size < sizeof size) {
        wf__error(ctx, WF_ERR_ARG, "wf_history: " WF__WRONG_SIZE);
        return 0;
    }
    wf__mutex_lock(&ctx->lock);
    wf__history *h = ctx->launcher->history;
    if (h && !out)
        n = (size_t)h->n;
    else if (h && size) { /* an older caller's struct may be shorter */
        n = cap < h->n ? cap : (size_t)h->n;
        for (size_t i = 0; i < n; ++i) {
            wf_kernel_info *info = &h->at[(h->first + h->n - n + i) % MOST];
            info->size = size;
            memcpy((char *)out + i * size, info, size < sizeof *info ? size : sizeof *info);
        }
    }
    if (h && out)
        h->n = 0;
    wf__mutex_unlock(&ctx->lock);
    return n;
}
