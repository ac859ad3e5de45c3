/* memo.c - memos of kernels: what a launch found out of its arrays, for later launches with the same ones. */
#include "launch/launch.h"

void wf__memo_free(wf_context *ctx, wf__memo *m)
{
    wf__plan_release(ctx, m->entry);
    wf__prepared_free(&m->call);
}

static bool lock_memo(wf__hold *h)
{
    return !atomic_load_explicit(&h->held, memory_order_relaxed) &&
           !atomic_exchange_explicit(&h->held, true, memory_order_acquire);
}

void wf__memo_unlock(wf__hold *h) { atomic_store_explicit(&h->held, false, memory_order_release); }

static uint64_t memo_tag(wf_array *const *arrays, uint32_t n, const wf_shape *space)
{
    uint64_t tag = 1;
    for (uint32_t i = 0; i < n; ++i)
        tag = (tag << 9 | tag >> 55) + arrays[i]->id;
    for (int d = 0; d < space->rank; ++d)
        tag = (tag << 9 | tag >> 55) + (uint64_t)space->dim[d];
    return tag ? tag : 1;
}

static bool memo_fits(const wf__memo *m, wf_array *const *arrays, uint32_t n, const wf_shape *space)
{
    uint64_t differ = m->entry == NULL;
    for (uint32_t i = 0; i < n; ++i)
        differ |= m->id[i] ^ arrays[i]->id;
    for (int d = 0; d < space->rank; ++d)
        differ |= (uint64_t)m->dim[d] ^ (uint64_t)space->dim[d];
    return !differ;
}

/* Returns a hash of ids and space; 0 = launches with so many arrays, or of no kernel, have no memo. */
static uint64_t tag_of(const wf_kernel *k, wf_array *const *arrays, const wf_shape *space)
{
    return k && k->program.object_n <= WF__MEMO_ARRAYS ? memo_tag(arrays, k->program.object_n, space) : 0;
}

wf__hold *wf__memo_find(wf_kernel *k, wf_array *const *arrays, const wf_shape *space)
{
    const uint64_t tag = tag_of(k, arrays, space);
    for (int i = 0; i < WF__MEMOS && tag; ++i) {
        wf__hold *h = &k->hold[i];
        if (atomic_load_explicit(&h->tag, memory_order_relaxed) != tag || !lock_memo(h))
            continue;
        if (memo_fits(&k->memo[i], arrays, k->program.object_n, space))
            return h;
        wf__memo_unlock(h);
    }
    return NULL;
}

void wf__memo_fill(wf_kernel *k, wf_array *const *arrays, const wf_shape *space, wf__plan_entry *e)
{
    const uint64_t tag = tag_of(k, arrays, space);
    if (!tag || wf__is_noted(k->ctx))
        return;
    uint32_t at = atomic_fetch_add_explicit(&k->next_memo, 1, memory_order_relaxed) % WF__MEMOS;
    wf__hold *h = &k->hold[at];
    wf__memo *m = &k->memo[at];
    if (!lock_memo(h))
        return;
    wf__plan_entry *old = m->entry;
    m->entry = e;
    atomic_fetch_add(&e->users, 1);
    char *base[WF__MEMO_ARRAYS];
    m->stale = 0;
    for (uint32_t i = 0; i < k->program.object_n; ++i) {
        m->id[i] = arrays[i]->id;
        base[i] = arrays[i]->base;
        m->stale |= arrays[i]->distributed && wf__program_writes(&k->program, i) ? 1u << i : 0;
    }
    memcpy(m->dim, space->dim, (size_t)space->rank * sizeof *space->dim);
    m->call.entry = NULL;
    if (k->program.device != WF_INTERP && !wf__is_gpu(k->program.device))
        wf__cpu_prepare(k->ctx->engine, &e->plan, base, &m->call);
    atomic_store_explicit(&h->tag, tag, memory_order_relaxed);
    wf__memo_unlock(h);
    wf__plan_release(k->ctx, old);
}

void wf__memo_run(wf_kernel *k, wf__hold *h, const uint64_t *param, const wf__limits *limits)
{
    h->turned = !h->turned;
    wf__cpu_run_prepared(k->ctx->engine, &wf__memo_of(k, h)->call, param, limits, h->turned);
}

bool wf__launch_again(wf_kernel *k, wf_array *const *arrays, const uint64_t *param, const wf_shape *space)
{
    if (k->kept_n || atomic_load_explicit(&k->ctx->streaming, memory_order_acquire) || wf__is_noted(k->ctx) ||
        wf__sharing(k->ctx))
        return false;
    wf__hold *hold = wf__memo_find(k, arrays, space);
    const wf__memo *memo = hold ? wf__memo_of(k, hold) : NULL;
    bool done = memo && memo->call.entry;
    if (done)
        wf__memo_run(k, hold, param, &k->program.limits);
    for (uint32_t i = 0; done && memo->stale >> i; ++i)
        if (memo->stale >> i & 1)
            arrays[i]->distributed->fresh = NULL;
    if (hold)
        wf__memo_unlock(hold);
    return done;
}
