/* watch.c - see watch.h. */
#include "run/debug/watch.h"
#include <math.h>

enum { MOST_ELEMENTS = 1 << 27 }; /* most elements of an array whose writers are kept */

/* ---- writers ---- */
typedef struct region { /* memory that slots write; the first of them owns the region */
    uintptr_t lo, hi;
    unsigned size; /* bytes of an element; 0 = no slot writes */
} region;

static region written_region(const wf__stage *stage, uint32_t slot, const wf__mem *mem, wf__watch_slot *s)
{
    for (int d = 0; d < stage->lowered.slot[slot].rank; ++d) {
        int64_t reach = mem->dim[d] > 0 ? (mem->dim[d] - 1) * mem->stride[d] : 0;
        *(reach < 0 ? &s->lowest : &s->highest) += reach;
    }
    region r = { .size = wf__size(stage->lowered.slot[slot].dtype) };
    r.lo = (uintptr_t)mem->base + (uintptr_t)(s->lowest * (int64_t)r.size);
    r.hi = (uintptr_t)mem->base + (uintptr_t)((s->highest + 1) * (int64_t)r.size);
    return r;
}

static bool overlap(const region *a, const region *b)
{
    return a->size && a->size == b->size && a->lo < b->hi && b->lo < a->hi && (a->lo - b->lo) % a->size == 0;
}

/* Merges two regions that overlap into that of the first slot. false = no two regions overlap. */
static bool merge_regions(wf__watch_slot *slot, region *of, uint32_t n)
{
    for (uint32_t s = 0; s < n; ++s)
        for (uint32_t t = s + 1; t < n; ++t) {
            if (slot[s].table != s || slot[t].table != t || !overlap(&of[s], &of[t]))
                continue;
            of[s].lo = of[t].lo < of[s].lo ? of[t].lo : of[s].lo;
            of[s].hi = of[t].hi > of[s].hi ? of[t].hi : of[s].hi;
            for (uint32_t k = t; k < n; ++k)
                slot[k].table = slot[k].table == t ? s : slot[k].table;
            return true;
        }
    return false;
}

static bool make_tables(wf__watch *w, const wf__mem *mem, const region *of)
{
    for (uint32_t s = 0; s < w->stage->lowered.slot_n; ++s) {
        wf__watch_slot *slot = &w->slot[s];
        const region *r = &of[slot->table];
        uint64_t elements = r->size ? (r->hi - r->lo) / r->size : 0;
        if (!elements || elements > MOST_ELEMENTS)
            continue;
        slot->first = ((int64_t)r->lo - (int64_t)(uintptr_t)mem[s].base) / (int64_t)r->size;
        slot->last = slot->first + (int64_t)elements - 1;
        slot->writer = slot->table < s ? w->slot[slot->table].writer : wf__alloc0(elements * sizeof *slot->writer);
        if (!slot->writer)
            return false;
    }
    return true;
}

static void find_watchpoints(wf__watch *w, wf__engine *engine, const wf__mem *mem)
{
    for (uint32_t s = 0; s < w->stage->lowered.slot_n; ++s) {
        wf__watchpoint *watchpoint = w->stage->lowered.slot[s].written ? wf__watchpoint_at(engine, mem[s].base) : NULL;
        if (watchpoint)
            watchpoint->time = 0;
        w->slot[s].watchpoint = watchpoint;
    }
}

bool wf__watch_begin(wf__watch *w, wf__engine *engine, const wf__stage *stage, const wf__mem *mem, wf__failure *failure)
{
    const wf__ir *body = &stage->lowered;
    *w = (wf__watch){ .stage = stage, .nan = body->flags & WF_FLAG_TRAP_NAN, .failure = failure };
    w->slot = wf__alloc0((body->slot_n + 1) * sizeof *w->slot);
    region *of = wf__alloc0((body->slot_n + 1) * sizeof *of);
    for (uint32_t s = 0; w->slot && s < body->slot_n; ++s)
        w->slot[s].table = s;
    if (engine && w->slot)
        find_watchpoints(w, engine, mem);
    for (wf__ref r = 1; w->slot && of && r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        bool watched = (n->op == WF__STORE || wf__has_no_conflict(n)) && !w->slot[n->a].watchpoint;
        /* scratch of a thread block has no memory in `mem` */
        bool shared = watched && stage->thread_block.threads && body->slot[n->a].scratch;
        if (watched && !of[n->a].size && !shared)
            of[n->a] = written_region(stage, n->a, &mem[n->a], &w->slot[n->a]);
    }
    while (w->slot && of && merge_regions(w->slot, of, body->slot_n))
        continue;
    bool ok = w->slot && of && make_tables(w, mem, of);
    wf__free(of);
    if (!ok)
        wf__watch_end(w);
    return ok;
}

void wf__watch_end(wf__watch *w)
{
    for (uint32_t s = 0; w->slot && s < w->stage->lowered.slot_n; ++s)
        if (w->slot[s].table == s)
            wf__free(w->slot[s].writer);
    wf__free(w->slot);
    *w = (wf__watch){ 0 };
}

/* ---- text ---- */
static void add_tuple(wf__str *out, const int64_t *x, int n)
{
    wf__str_add(out, "(");
    for (int d = 0; d < n; ++d)
        wf__str_addf(out, d ? ", %lld" : "%lld", (long long)x[d]);
    wf__str_add(out, n == 1 ? ",)" : ")");
}

/* Returns the number of leading axes of scratch that select the block. Messages leave these out. */
static int leading_axes(const wf__slot *s) { return s->scratch && !s->shared ? s->scratch - 1 : 0; }

static void add_array(const wf__watch *w, wf__str *out, uint32_t slot)
{
    const wf__mem_layout *layout = &w->stage->mem[slot];
    const wf__slot *s = &w->stage->lowered.slot[slot];
    const int front = leading_axes(s);
    wf__bind b = { .dtype = s->dtype, .rank = (uint8_t)(s->rank - front), .number = layout->number };
    char text[WF__CALLED];
    b.name = wf__label_of(&w->stage->lowered, wf__array_ref(slot));
    memcpy(b.dim, layout->dim + front, (size_t)b.rank * sizeof *b.dim);
    wf__str_add(out, wf__called(&b, s->scratch ? "scratch of the recording" : "a temporary of the recording", text));
}

static int64_t number_of(const wf__watch *w, const int64_t *point)
{
    int64_t at = 0;
    for (int d = 0; d < w->stage->lowered.rank; ++d)
        at = at * w->stage->extent[d] + point[d];
    return at;
}

static void add_point(const wf__watch *w, wf__str *out, int64_t number)
{
    int64_t point[WF_MAX_RANK];
    for (int d = w->stage->lowered.rank - 1; d >= 0; --d) {
        point[d] = number % w->stage->extent[d];
        number /= w->stage->extent[d];
    }
    add_tuple(out, point, w->stage->lowered.rank);
}

/* Returns the program's name of the value that is read or written; NULL = none. */
static const char *name_of(const wf__watch *w, const wf__node *n)
{
    const wf__ir *body = &w->stage->lowered;
    bool value = n->op == WF__STORE || n->op == WF__ACCUM || n->op == WF__ATOMIC;
    return wf__label_of(body, value ? n->c : (wf__ref)(n - body->node));
}

/* ---- findings ---- */
/* Makes a finding the failure of the run. Returns where its text goes; NULL = there is an earlier finding. */
static wf__str *begin_finding(wf__watch *w, wf_status status)
{
    if (w->failure->status != WF_OK)
        return NULL;
    w->failure->status = status;
    return &w->failure->text;
}

void wf__watch_outside(wf__watch *w, const wf__node *n, const int64_t *index, const int64_t *point)
{
    wf__str *out = begin_finding(w, WF_ERR_BOUNDS);
    if (!out)
        return;
    const wf__slot *slot = &w->stage->lowered.slot[n->a];
    const int front = leading_axes(slot);
    const char *name = name_of(w, n);
    wf__str_add(out, wf__function_of(n));
    if (name)
        wf__str_addf(out, "%s'%s'", n->op == WF__LOAD ? " " : " of ", name);
    wf__str_add(out, ": index ");
    add_tuple(out, index + front, slot->rank - front);
    wf__str_add(out, " is outside ");
    add_array(w, out, n->a);
    wf__str_add(out, ", at point ");
    add_tuple(out, point, w->stage->lowered.rank);
}

void wf__watch_local(wf__watch *w, const wf__node *n, int64_t index, const int64_t *point)
{
    wf__str *out = begin_finding(w, WF_ERR_BOUNDS);
    if (!out)
        return;
    const char *name = wf__label_of(&w->stage->lowered, (wf__ref)(n - w->stage->lowered.node));
    wf__str_addf(out, "%s: index %lld is outside ", n->aux ? "wf_write" : "wf_read", (long long)index);
    if (n->d >> 16)
        wf__str_addf(out, "axis %u of ", (unsigned)(n->d >> 16));
    if (name)
        wf__str_addf(out, "the local array '%s'", name);
    else
        wf__str_addf(out, "local array %u of the recording", (unsigned)(n->d & 0xffff) + 1);
    wf__str_addf(out, ", whose length is %u%s, at point ", (unsigned)n->c, n->d >> 16 ? " there" : "");
    add_tuple(out, point, w->stage->lowered.rank);
}

static bool is_nan(unsigned dtype, const void *value)
{
    bool complex = wf__is_complex(dtype);
    unsigned part = complex ? wf__part_dtype(dtype) : dtype;
    double x[2] = { 0 };
    if (!wf__is_float(part))
        return false;
    wf__eval_cast(WF_F64, part, x, value, complex ? 2 : 1);
    return isnan(x[0]) || isnan(x[1]);
}

void wf__watch_same(wf__watch *w, const wf__node *n, uint64_t writer, const int64_t *point)
{
    wf__str *out = begin_finding(w, WF_ERR_CONTRACT);
    if (!out)
        return;
    wf__str_add(out, "two points, ");
    add_point(w, out, (int64_t)writer - 1);
    wf__str_add(out, " and ");
    add_tuple(out, point, w->stage->lowered.rank);
    wf__str_add(out, ", write the same element of ");
    add_array(w, out, n->a);
    wf__str_add(out, n->op == WF__STORE ? "; say wf_accumulate, or write different ones"
                                        : " by wf_accumulate, whose mode WF_MODE_NO_CONFLICT promises that no two do");
}

void wf__watch_nan(wf__watch *w, const wf__node *n, const int64_t *point)
{
    wf__str *out = begin_finding(w, WF_ERR_ARG);
    if (!out)
        return;
    const char *name = name_of(w, n);
    wf__str_add(out, "a NaN");
    if (name)
        wf__str_addf(out, ", '%s',", name);
    wf__str_add(out, " is stored in ");
    add_array(w, out, n->a);
    wf__str_add(out, ", by point ");
    add_tuple(out, point, w->stage->lowered.rank);
}

bool wf__watch_value(wf__watch *w, const wf__node *n, unsigned dtype, const void *value, const int64_t *point)
{
    if (w->nan && is_nan(dtype, value))
        wf__watch_nan(w, n, point);
    return w->failure->status == WF_OK;
}

bool wf__watch_store(wf__watch *w, const wf__node *n, int64_t offset, const void *value, const int64_t *point)
{
    wf__watch_slot *s = &w->slot[n->a];
    if (s->watchpoint) {
        s->watchpoint->on[offset] = 1;
        return true;
    }
    uint64_t me = (uint64_t)number_of(w, point) + 1;
    uint64_t *writer = s->writer && offset >= s->first && offset <= s->last ? &s->writer[offset - s->first] : NULL;
    if (writer && *writer && *writer != me && !w->stage->lowered.red_n)
        wf__watch_same(w, n, *writer, point);
    if (writer)
        *writer = me;
    return n->op == WF__STORE ? wf__watch_value(w, n, n->dtype, value, point) : w->failure->status == WF_OK;
}

void wf__watch_unset(const wf__watch *w, wf__str *out)
{
    const wf__ir *body = &w->stage->lowered;
    for (wf__ref r = 1; r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        const wf__watch_slot *s = &w->slot[n->op == WF__STORE ? n->a : 0];
        if (n->op != WF__STORE || !n->d || !body->slot[n->a].element || body->slot[n->a].read || !s->writer)
            continue;
        int64_t points = 1, set = 0;
        for (int d = 0; d < body->rank; ++d)
            points *= w->stage->extent[d];
        for (int64_t i = s->lowest; i <= s->highest; ++i)
            set += s->writer[i - s->first] != 0;
        if (set >= points)
            continue;
        wf__str_addf(out, "%s%lld of %lld elements were left as they were in ", out->len ? "; " : "",
                     (long long)(points - set), (long long)points);
        add_array(w, out, n->a);
        wf__str_add(out, ", an output that is set under a condition");
        return;
    }
}

/* ---- wf_watch ---- */
bool wf__watch_has_watchpoints(const wf__watch *w)
{
    bool any = false;
    for (uint32_t s = 0; s < w->stage->lowered.slot_n; ++s)
        any = any || w->slot[s].watchpoint;
    return any;
}

/* True if the store may run more than once: it is in a loop, or is a copy from an unrolled loop. */
static bool may_repeat(const wf__ir *ir, wf__ref r)
{
    bool turns = false;
    for (wf__ref q = 1; q < ir->n; ++q) {
        const wf__node *n = &ir->node[q];
        bool again = n->op == WF__STORE && n->a == ir->node[r].a && q != r;
        turns = turns || again || (q < r && n->op == WF__LOOP && !n->aux && r < wf__loop_end(ir, q));
    }
    return turns;
}

/* Calls the callback after a store. Returns false if the callback ended the run, which is a finding. */
static bool call_back(wf__watch *w, wf__watchpoint *watchpoint)
{
    int64_t stored = 0;
    for (int64_t i = 0; i < watchpoint->elements; ++i)
        stored += watchpoint->on[i];
    if (!stored)
        return true;
    wf_status status = watchpoint->look(watchpoint, stored);
    memset(watchpoint->on, 0, (size_t)watchpoint->elements);
    ++watchpoint->time;
    wf__str *out = status != WF_OK ? begin_finding(w, status) : NULL;
    if (out)
        wf__str_add(out, "wf_watch: the callback ended the run");
    return status == WF_OK;
}

bool wf__watch_show(wf__watch *w, wf__ref r, wf__shows which)
{
    const wf__ir *ir = &w->stage->lowered;
    const wf__node *n = &ir->node[r];
    wf__watchpoint *watchpoint = n->op == WF__STORE ? w->slot[n->a].watchpoint : NULL;
    bool shown = watchpoint && (which == WF__SHOWS_ALL || may_repeat(ir, r) == (which == WF__SHOWS_REPEATED));
    return !shown || call_back(w, watchpoint);
}

void wf__watch_no_memory(wf__watch *w, size_t most)
{
    wf__str *out = begin_finding(w, WF_ERR_MEMORY);
    if (out)
        wf__str_addf(out,
                     "wf_watch: no memory for all points to take their turns together, or more than %zu GiB would be "
                     "needed; give it fewer points",
                     most >> 30);
}
