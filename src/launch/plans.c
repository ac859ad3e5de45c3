/* plans.c - the plans of a context, by recording and layouts, under the context's lock. The table is bounded: the least
 * recently used plans leave first. A plan that has left lives on while it has users.
 */
#include "launch/launch.h"

enum { MOST_PLANS = 4096, MOST_BYTES = 64 << 20 };

static void free_entry(wf_context *ctx, wf__plan_entry *e)
{
    wf__plan_free(&e->plan, e->plan.target == WF__GPU ? wf__gpu_free_stage_code : wf__cpu_free_stage_code, ctx->engine);
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
typedef struct key {
    const wf__str *recording;
    const wf__piece *layouts;
} key;

static bool has_key(const wf__lru_entry *entry, const void *wanted)
{
    const wf__plan_entry *e = (const wf__plan_entry *)entry;
    const key *k = wanted;
    size_t len = k->recording->len;
    return e->recording_len == len && e->key_len == len + k->layouts->n && !memcmp(e->key, k->recording->at, len) &&
           !memcmp(e->key + len, k->layouts->at, k->layouts->n);
}

static wf__plan_entry *find_entry(const wf__plan_table *t, uint64_t hash, const key *k)
{
    return (wf__plan_entry *)wf__lru_find(&t->lru, hash, has_key, k);
}

static void release_all(wf_context *ctx, wf__lru_entry *removed)
{
    for (wf__lru_entry *next; removed; removed = next) {
        next = removed->chain;
        wf__plan_release(ctx, (wf__plan_entry *)removed);
    }
}

void wf__plans_free(wf_context *ctx) { release_all(ctx, wf__lru_empty(&ctx->launcher->plans.lru)); }

/* ---- making a plan ---- */
static size_t ir_bytes(const wf__ir *ir)
{
    return ir->node_cap * sizeof *ir->node + ir->table_cap * sizeof *ir->table + ir->tuple_cap * sizeof *ir->tuple +
           ir->tuple_table_size * sizeof *ir->tuple_table + ir->slot_cap * sizeof *ir->slot +
           ir->shape_cap * sizeof *ir->shape;
}

/* Returns the approximate memory of an entry. Each stage counts 4096 bytes for its code. */
static size_t entry_bytes(const wf__plan_entry *e)
{
    size_t bytes = sizeof *e + e->key_len;
    for (uint32_t s = 0; s < e->plan.stage_n; ++s) {
        const wf__stage *stage = &e->plan.stage[s];
        bytes += sizeof *stage + ir_bytes(&stage->recorded) + ir_bytes(&stage->lowered) +
                 stage->lowered.slot_n * sizeof *stage->mem + 4096;
    }
    return bytes;
}

static bool make_plan(wf_context *ctx, wf__plan *plan, const wf__program *p, wf_array *const *arrays,
                      const wf_shape *space, const wf__group *group, const wf__pass_log *log)
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
    rec.group = group;
    rec.log = log;
    rec.why = log ? &why : NULL;
    const wf__gpu *gpu = wf__is_gpu(p->device) ? wf__gpu_of(ctx, "wf_run", p->device) : NULL;
    rec.shared_memory = gpu ? wf__gpu_shared_memory(gpu) : 0;
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
    if (!make_plan(ctx, &plan, p, arrays, &p->rec.space, NULL, log))
        status = wf__program_error(ctx, p, plan.status, plan.error, plan.section, &plan.about);
    wf__plan_free(&plan, NULL, NULL);
    return status;
}

static wf__plan_entry *make_entry(wf_context *ctx, const wf__program *p, wf_array *const *arrays, const wf_shape *space,
                                  const wf__group *group, const key *k, wf_status *status)
{
    const wf__str *recording = k->recording;
    const wf__piece *layouts = k->layouts;
    wf__plan_entry *e = wf__alloc0(sizeof *e);
    if (e)
        e->key = wf__alloc(recording->len + layouts->n);
    if (!e || !e->key) {
        wf__free(e);
        *status = wf__error(ctx, WF_ERR_MEMORY, "out of memory for a plan");
        return NULL;
    }
    e->recording_len = recording->len;
    e->key_len = recording->len + layouts->n;
    memcpy(e->key, recording->at, recording->len);
    memcpy(e->key + recording->len, layouts->at, layouts->n);
    atomic_init(&e->users, 1);
    if (make_plan(ctx, &e->plan, p, arrays, space, group, NULL))
        return e;
    *status = wf__program_error(ctx, p, e->plan.status, e->plan.error, e->plan.section, &e->plan.about);
    free_entry(ctx, e);
    return NULL;
}

/* ---- why a plan was made ---- */
static uint64_t label_of(const wf__program *p) { return p->name ? wf__hash64(p->name, strlen(p->name), 1) : 0; }

/* Returns the difference of the recording from the most similar plan as a text. That is a plan of the same recording
 * for other arrays, else the latest one of the same label, else the latest one with a key of the same length. NULL =
 * no log and no history, or no such plan. */
static char *explain(wf_context *ctx, const wf__program *p, const key *k)
{
    enum { MOST = 512 };
    const wf__str *recording = k->recording;
    if (!ctx->log && !wf__has_history(ctx))
        return NULL;
    uint64_t label = label_of(p);
    const wf__plan_entry *best = NULL;
    int best_rank = 0, left = MOST;
    wf__str text = { 0 };
    wf__mutex_lock(&ctx->lock);
    const wf__lru_entry *at = ctx->launcher->plans.lru.newest;
    for (; at && best_rank < 3 && left-- > 0; at = at->older) {
        const wf__plan_entry *e = (const wf__plan_entry *)at;
        bool like = e->recording_len == recording->len;
        bool same = like && !memcmp(e->key, recording->at, recording->len);
        int rank = same ? 3 : label && e->label == label ? 2 : like && !label && !e->label;
        if (rank > best_rank) {
            best_rank = rank;
            best = e;
        }
    }
    bool known = best && wf__why_another(best, p, recording, k->layouts, &text);
    wf__mutex_unlock(&ctx->lock);
    if (!known || text.failed)
        wf__str_free(&text);
    return text.at;
}

wf__plan_entry *wf__plan_look_up(wf_context *ctx, const wf__program *p, const wf__str *recording,
                                 const wf__piece *layouts, wf_array *const *arrays, const wf_shape *space,
                                 const wf__group *group, bool *made, wf_status *status)
{
    wf__plan_table *t = &ctx->launcher->plans;
    const key k = { recording, layouts };
    uint64_t hash = wf__hash64(layouts->at, layouts->n, wf__hash64(recording->at, recording->len, 0));
    wf__mutex_lock(&ctx->lock);
    wf__plan_entry *e = find_entry(t, hash, &k);
    if (e) {
        atomic_fetch_add(&e->users, 1);
        if (&e->lru != t->lru.newest) {
            wf__lru_delist(&t->lru, &e->lru);
            wf__lru_enlist(&t->lru, &e->lru);
        }
    }
    wf__mutex_unlock(&ctx->lock);
    if (e)
        return e;
    e = make_entry(ctx, p, arrays, space, group, &k, status);
    if (!e)
        return NULL;
    *made = true;
    e->label = label_of(p);
    e->why = explain(ctx, p, &k);
    wf__lru_entry *removed = NULL;
    wf__mutex_lock(&ctx->lock);
    if (!find_entry(t, hash, &k) && wf__lru_add(&t->lru, &e->lru, hash)) { /* else only this launch uses e */
        e->lru.bytes = entry_bytes(e);
        wf__lru_enlist(&t->lru, &e->lru);
        atomic_fetch_add(&e->users, 1);
        removed = wf__lru_shrink(&t->lru, t->most_bytes ? t->most_bytes : MOST_BYTES, MOST_PLANS);
    }
    wf__mutex_unlock(&ctx->lock);
    release_all(ctx, removed);
    return e;
}
