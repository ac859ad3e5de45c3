/* plans.c - the plans of a context, by recording and layouts. Bounded: a new one makes those leave that were not asked
 * for the longest, and a plan that has left lives on while somebody uses it. All under the context's lock.
 */
#include "launch/launch.h"

enum { MOST_PLANS = 4096, MOST_BYTES = 64 << 20 };

static void free_entry(wf_context *ctx, wf__plan_entry *e)
{
    wf__plan_free(&e->plan, e->plan.target == WF__GPU ? wf__gpu_free_stage_code : wf__engine_free_stage_code,
                  ctx->engine);
    wf__free(e->key);
    wf__free(e->why);
    wf__free(e);
}

void wf__plan_release(wf_context *ctx, wf__plan_entry *e)
{
    if (e && atomic_fetch_sub(&e->users, 1) == 1)
        free_entry(ctx, e);
}

/* ---- the table ---- */
static wf__plan_entry **place_of(const wf__plan_table *t, uint64_t hash)
{
    return &t->place[(uint32_t)hash & (t->places - 1)];
}

static wf__plan_entry *find(const wf__plan_table *t, uint64_t hash, const wf__str *recording, const wf__piece *layouts)
{
    wf__plan_entry *e = t->places ? *place_of(t, hash) : NULL;
    while (e &&
           (e->hash != hash || e->recording_len != recording->len || e->key_len != recording->len + layouts->n ||
            memcmp(e->key, recording->at, recording->len) || memcmp(e->key + recording->len, layouts->at, layouts->n)))
        e = e->chain;
    return e;
}

static void delist(wf__plan_table *t, wf__plan_entry *e)
{
    *(e->newer ? &e->newer->older : &t->newest) = e->older;
    *(e->older ? &e->older->newer : &t->oldest) = e->newer;
}

static void enlist(wf__plan_table *t, wf__plan_entry *e)
{
    e->newer = NULL;
    e->older = t->newest;
    *(e->older ? &e->older->newer : &t->oldest) = e;
    t->newest = e;
}

static void take_out(wf__plan_table *t, wf__plan_entry *e)
{
    wf__plan_entry **at = place_of(t, e->hash);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    delist(t, e);
    --t->n;
    t->bytes -= e->bytes;
}

static bool grow_table(wf__plan_table *t)
{
    if (t->n < t->places)
        return true;
    uint32_t old_places = t->places, places = old_places ? 2 * old_places : 64;
    wf__plan_entry **old = t->place, **place = wf__alloc0(places * sizeof(wf__plan_entry *));
    if (!place)
        return false;
    t->place = place;
    t->places = places;
    for (uint32_t i = 0; i < old_places; ++i)
        for (wf__plan_entry *e = old[i], *next; e; e = next) {
            next = e->chain;
            e->chain = *place_of(t, e->hash);
            *place_of(t, e->hash) = e;
        }
    wf__free(old);
    return true;
}

/* Those that must leave, chained. */
static wf__plan_entry *shrink(wf__plan_table *t)
{
    wf__plan_entry *out = NULL;
    size_t most = t->most_bytes ? t->most_bytes : MOST_BYTES;
    while (t->bytes > most || t->n > MOST_PLANS) {
        wf__plan_entry *e = t->oldest;
        take_out(t, e);
        e->chain = out;
        out = e;
    }
    return out;
}

static void release_all(wf_context *ctx, wf__plan_entry *gone)
{
    for (wf__plan_entry *next; gone; gone = next) {
        next = gone->chain;
        wf__plan_release(ctx, gone);
    }
}

void wf__plans_free(wf_context *ctx)
{
    wf__plan_table *t = &ctx->launcher->plans;
    while (t->oldest) {
        wf__plan_entry *e = t->oldest;
        take_out(t, e);
        wf__plan_release(ctx, e);
    }
    wf__free(t->place);
}

/* ---- making one ---- */
static size_t ir_bytes(const wf__ir *ir)
{
    return ir->node_cap * sizeof *ir->node + ir->table_cap * sizeof *ir->table + ir->tuple_cap * sizeof *ir->tuple +
           ir->tuple_table_size * sizeof *ir->tuple_table + ir->slot_cap * sizeof *ir->slot +
           ir->shape_cap * sizeof *ir->shape;
}

/* What an entry holds in memory, code aside, of which a page at least is counted. */
static size_t entry_bytes(const wf__plan_entry *e)
{
    size_t bytes = sizeof *e + e->key_len;
    for (uint32_t s = 0; s < e->plan.stage_n; ++s) {
        const wf__stage *stage = &e->plan.stage[s];
        bytes += sizeof *stage + ir_bytes(&stage->proto) + ir_bytes(&stage->body) +
                 stage->body.slot_n * sizeof *stage->mem + 4096;
    }
    return bytes;
}

static bool make_plan(wf_context *ctx, wf__plan *plan, const wf__program *p, wf_array *const *arrays,
                      const wf_shape *space, const wf__pass_log *log)
{
    wf__str why = { 0 };
    wf__bind *bind = wf__alloc0((p->object_n + 1) * sizeof *bind);
    if (!bind) {
        wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory for a plan");
        return false;
    }
    for (uint32_t i = 0; i < p->object_n; ++i)
        wf__array_bind(arrays[i], &bind[i]);
    wf__name_arrays(p, bind);
    wf__recording rec = p->rec;
    rec.space = *space;
    rec.log = log;
    rec.why = log ? &why : NULL;
    const wf__gpu *gpu = wf__is_gpu(p->device) ? wf__gpu_of(ctx, "wf_run", p->device) : NULL;
    rec.team_memory = gpu ? wf__gpu_team_memory(gpu) : 0;
    bool ok = wf__plan_make(plan, &rec, bind);
    if (ok && log && log->after && !strcmp(log->after, WF__FINISHED))
        wf__plan_print(plan, bind, log->out);
    wf__free(bind);
    wf__str_free(&why);
    return ok;
}

wf_status wf__plan_log(wf_context *ctx, const wf__program *p, wf_array *const *arrays, const wf__pass_log *log)
{
    wf__plan plan = { 0 };
    wf_status status = WF_OK;
    if (!make_plan(ctx, &plan, p, arrays, &p->rec.space, log))
        status = wf__program_error(ctx, p, plan.status, plan.error, plan.section, &plan.about);
    wf__plan_free(&plan, NULL, NULL);
    return status;
}

static wf__plan_entry *make_entry(wf_context *ctx, const wf__program *p, wf_array *const *arrays, const wf_shape *space,
                                  uint64_t hash, const wf__str *recording, const wf__piece *layouts, wf_status *status)
{
    wf__plan_entry *e = wf__alloc0(sizeof *e);
    if (e)
        e->key = wf__alloc(recording->len + layouts->n);
    if (!e || !e->key) {
        wf__free(e);
        *status = wf__error(ctx, WF_ERR_MEMORY, "out of memory for a plan");
        return NULL;
    }
    e->hash = hash;
    e->recording_len = recording->len;
    e->key_len = recording->len + layouts->n;
    memcpy(e->key, recording->at, recording->len);
    memcpy(e->key + recording->len, layouts->at, layouts->n);
    atomic_init(&e->users, 1);
    if (make_plan(ctx, &e->plan, p, arrays, space, NULL))
        return e;
    *status = wf__program_error(ctx, p, e->plan.status, e->plan.error, e->plan.section, &e->plan.about);
    free_entry(ctx, e);
    return NULL;
}

/* ---- why there is no plan ---- */
static uint64_t label_of(const wf__program *p) { return p->name ? wf__hash64(p->name, strlen(p->name), 1) : 0; }

/* In what the recording differs from the one most like it: the same recording for other arrays, else the latest one
 * of the same label, else the latest one with as many nodes. NULL: nobody listens, or there is none. */
static char *explain(wf_context *ctx, const wf__program *p, const wf__str *recording, const wf__piece *layouts)
{
    enum { MOST = 512 };
    wf__plan_table *t = &ctx->launcher->plans;
    if (!ctx->log && !wf__has_history(ctx))
        return NULL;
    uint64_t label = label_of(p);
    const wf__plan_entry *best = NULL;
    int best_rank = 0, left = MOST;
    wf__str text = { 0 };
    wf__mutex_lock(&ctx->lock);
    for (const wf__plan_entry *e = t->newest; e && best_rank < 3 && left-- > 0; e = e->older) {
        bool like = e->recording_len == recording->len;
        bool same = like && !memcmp(e->key, recording->at, recording->len);
        int rank = same ? 3 : label && e->label == label ? 2 : like && !label && !e->label;
        if (rank > best_rank) {
            best_rank = rank;
            best = e;
        }
    }
    bool known = best && wf__why_another(best, p, recording, layouts, &text);
    wf__mutex_unlock(&ctx->lock);
    if (!known || text.failed)
        wf__str_free(&text);
    return text.at;
}

wf__plan_entry *wf__plan_look_up(wf_context *ctx, const wf__program *p, const wf__str *recording,
                                 const wf__piece *layouts, wf_array *const *arrays, const wf_shape *space, bool *made,
                                 wf_status *status)
{
    wf__plan_table *t = &ctx->launcher->plans;
    uint64_t hash = wf__hash64(layouts->at, layouts->n, wf__hash64(recording->at, recording->len, 0));
    wf__mutex_lock(&ctx->lock);
    wf__plan_entry *e = find(t, hash, recording, layouts), *gone = NULL;
    if (e) {
        atomic_fetch_add(&e->users, 1);
        if (e != t->newest) {
            delist(t, e);
            enlist(t, e);
        }
    }
    wf__mutex_unlock(&ctx->lock);
    if (e)
        return e;
    e = make_entry(ctx, p, arrays, space, hash, recording, layouts, status);
    if (!e)
        return NULL;
    *made = true;
    e->label = label_of(p);
    e->why = explain(ctx, p, recording, layouts);
    wf__mutex_lock(&ctx->lock);
    if (!find(t, hash, recording, layouts) && grow_table(t)) { /* else ours serves this launch only */
        e->bytes = entry_bytes(e);
        e->chain = *place_of(t, hash);
        *place_of(t, hash) = e;
        enlist(t, e);
        atomic_fetch_add(&e->users, 1);
        ++t->n;
        t->bytes += e->bytes;
        gone = shrink(t);
    }
    wf__mutex_unlock(&ctx->lock);
    release_all(ctx, gone);
    return e;
}
