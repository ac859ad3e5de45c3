/* watch.c - debug mode on a GPU: kernels write reports to device memory (ptx/watch.c), which are read after each
 * launch. Messages are those of the interpreter.
 */
#include "run/gpu/internal.h"
#include "run/debug/watch.h"

struct wf__gpu_watch {
    wf__gpu *gpu;
    const wf__stage *stage;
    wf__watch found;
    char *report;
    char **table; /* [slots]: tables of writers in device memory; NULL = not kept, or owned by another slot */
};

enum { REPORT_BYTES = 8 * WF__PTX_REPORT_WORDS };

static size_t table_bytes(const wf__gpu_watch *w, uint32_t slot)
{
    const wf__watch_slot *s = &w->found.slot[slot];
    return s->writer && s->table == slot ? (size_t)(s->last - s->first + 1) * sizeof *s->writer : 0;
}

static char *alloc_zeros(wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    char *at = wf__gpu_take(gpu, bytes, f);
    int result = at ? gpu->cuda->MemsetD8(wf__gpu_address(at), 0, bytes, gpu->now->stream) : 0;
    if (!at || wf__gpu_ok(gpu, "filling memory", result, f))
        return at;
    wf__gpu_give(gpu, at, bytes);
    return NULL;
}

wf__gpu_watch *wf__gpu_watch_begin(wf__gpu *gpu, const wf__stage *stage, const wf__mem *mem, wf__failure *f)
{
    wf__gpu_watch *w = wf__alloc0(sizeof *w);
    bool ok = w && wf__watch_begin(&w->found, NULL, stage, mem, f) &&
              (w->table = wf__alloc0((stage->lowered.slot_n + 1) * sizeof *w->table));
    if (!ok)
        wf__out_of_memory(f, "debug mode");
    if (w) {
        w->gpu = gpu;
        w->stage = stage;
    }
    ok = ok && (w->report = alloc_zeros(gpu, REPORT_BYTES, f));
    for (uint32_t s = 0; ok && s < stage->lowered.slot_n; ++s) {
        size_t bytes = table_bytes(w, s);
        ok = !bytes || (w->table[s] = alloc_zeros(gpu, bytes, f));
    }
    if (ok)
        return w;
    wf__gpu_watch_end(w);
    return NULL;
}

void wf__gpu_watch_end(wf__gpu_watch *w)
{
    if (!w)
        return;
    for (uint32_t s = 0; w->table && s < w->stage->lowered.slot_n; ++s)
        wf__gpu_give(w->gpu, w->table[s], table_bytes(w, s));
    wf__gpu_give(w->gpu, w->report, REPORT_BYTES);
    wf__free(w->table);
    wf__watch_end(&w->found);
    wf__free(w);
}

uint64_t wf__gpu_watch_field(const wf__gpu_watch *w, const wf__ptx_field *f)
{
    if (f->what == WF__PTX_REPORT)
        return wf__gpu_address(w->report);
    const char *table = w->table[w->found.slot[f->number].table];
    return table ? wf__gpu_address(table) - 8 * (uint64_t)w->found.slot[f->number].first : 0;
}

static bool fetch(const wf__gpu_watch *w, void *to, const char *from, size_t bytes)
{
    wf__failure *f = w->found.failure;
    wf__gpu *gpu = w->gpu;
    int result = gpu->cuda->MemcpyDtoH(to, wf__gpu_address(from), bytes, gpu->now->stream);
    return wf__gpu_ok(gpu, "debug mode", result, f) && wf__gpu_wait(gpu, "running a kernel", f);
}

/* True if the body has a store under a condition. */
static bool may_be_unset(const wf__ir *body)
{
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__STORE && body->node[r].d)
            return true;
    return false;
}

static bool look_for_unset(wf__gpu_watch *w)
{
    bool ok = true;
    for (uint32_t s = 0; ok && s < w->stage->lowered.slot_n; ++s)
        ok = !w->table[s] || fetch(w, w->found.slot[s].writer, w->table[s], table_bytes(w, s));
    if (ok)
        wf__watch_unset(&w->found, &w->found.failure->warning);
    return ok;
}

bool wf__gpu_watch_look(wf__gpu_watch *w)
{
    uint64_t word[WF__PTX_REPORT_WORDS];
    int64_t point[WF_MAX_RANK], index[WF_MAX_RANK];
    const wf__ir *body = &w->stage->lowered;
    if (!fetch(w, word, w->report, sizeof word))
        return false;
    uint32_t what = (uint32_t)word[WF__PTX_REPORT_WHAT];
    if (!what)
        return !may_be_unset(body) || look_for_unset(w);
    const wf__node *n = &body->node[word[WF__PTX_REPORT_NODE]];
    memcpy(point, word + WF__PTX_REPORT_POINT, sizeof point);
    memcpy(index, word + WF__PTX_REPORT_INDEX, sizeof index);
    if (what == WF__PTX_OUTSIDE)
        wf__watch_outside(&w->found, n, index, point);
    else if (what == WF__PTX_LOCAL)
        wf__watch_local(&w->found, n, (int64_t)word[WF__PTX_REPORT_OTHER], point);
    else if (what == WF__PTX_SAME)
        wf__watch_same(&w->found, n, word[WF__PTX_REPORT_OTHER], point);
    else
        wf__watch_nan(&w->found, n, point);
    return false;
}
