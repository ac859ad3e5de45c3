/* watch.c - findings of debug mode: indices outside, elements that two points write, NaNs stored, outputs left unset. */
#include "run/watch.h"
#include <math.h>

enum { MOST_ELEMENTS = 1 << 27 }; /* of an array whose writers are kept */

static void span(const wf__slot *slot, const wf__mem *mem, int64_t *first, int64_t *last)
{
    *first = *last = 0;
    for (int d = 0; d < slot->rank; ++d) {
        int64_t reach = mem->dim[d] > 0 ? (mem->dim[d] - 1) * mem->stride[d] : 0;
        *(reach < 0 ? first : last) += reach;
    }
}

bool wf__watch_begin(wf__watch *w, const wf__stage *stage, const wf__mem *mem)
{
    const wf__ir *body = &stage->body;
    *w = (wf__watch){ .stage = stage, .nan = body->flags & WF_TRAP_NAN };
    w->slot = wf__alloc0((body->slot_n + 1) * sizeof *w->slot);
    for (wf__ref r = 1; w->slot && r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        bool watched = n->op == WF__STORE || wf__is_alone(n);
        wf__watch_slot *s = &w->slot[watched ? n->a : 0];
        if (!watched || s->writer)
            continue;
        span(&body->slot[n->a], &mem[n->a], &s->first, &s->last);
        if (s->last - s->first >= MOST_ELEMENTS)
            continue;
        s->writer = wf__alloc0((size_t)(s->last - s->first + 1) * sizeof *s->writer);
        if (!s->writer) {
            wf__watch_end(w);
            return false;
        }
    }
    return w->slot != NULL;
}

void wf__watch_end(wf__watch *w)
{
    for (uint32_t s = 0; w->slot && s < w->stage->body.slot_n; ++s)
        wf__free(w->slot[s].writer);
    wf__free(w->slot);
    wf__str_free(&w->text);
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

static void add_array(const wf__watch *w, wf__str *out, uint32_t slot)
{
    const wf__mem_layout *layout = &w->stage->mem[slot];
    const wf__slot *s = &w->stage->body.slot[slot];
    wf__bind b = { .dtype = s->dtype, .rank = s->rank, .number = layout->number };
    char text[WF__CALLED];
    b.name = wf__label_of(&w->stage->body, wf__array_ref(slot));
    memcpy(b.dim, layout->dim, sizeof b.dim);
    wf__str_add(out, wf__called(&b, s->scratch ? "scratch of the recording" : "a temporary of the recording", text));
}

static int64_t number_of(const wf__watch *w, const int64_t *point)
{
    int64_t at = 0;
    for (int d = 0; d < w->stage->body.rank; ++d)
        at = at * w->stage->extent[d] + point[d];
    return at;
}

static void add_point(const wf__watch *w, wf__str *out, int64_t number)
{
    int64_t point[WF_MAX_RANK];
    for (int d = w->stage->body.rank - 1; d >= 0; --d) {
        point[d] = number % w->stage->extent[d];
        number /= w->stage->extent[d];
    }
    add_tuple(out, point, w->stage->body.rank);
}

/* What the user calls what is read, or written. */
static const char *name_of(const wf__watch *w, const wf__node *n)
{
    const wf__ir *body = &w->stage->body;
    bool value = n->op == WF__STORE || n->op == WF__ACCUM || n->op == WF__ATOMIC;
    return wf__label_of(body, value ? n->c : (wf__ref)(n - body->node));
}

/* ---- findings ---- */
static bool is_first(wf__watch *w, wf_status status)
{
    if (w->status != WF_OK)
        return false;
    w->status = status;
    return true;
}

void wf__watch_outside(wf__watch *w, const wf__node *n, const int64_t *index, const int64_t *point)
{
    if (!is_first(w, WF_ERR_BOUNDS))
        return;
    const char *what = n->op == WF__LOAD    ? "wf_read"
                       : n->op == WF__STORE ? "wf_write"
                       : n->op == WF__ACCUM ? "wf_accumulate"
                                            : "wf_atomic";
    const char *name = name_of(w, n);
    wf__str_add(&w->text, what);
    if (name)
        wf__str_addf(&w->text, "%s'%s'", n->op == WF__LOAD ? " " : " of ", name);
    wf__str_add(&w->text, ": index ");
    add_tuple(&w->text, index, w->stage->body.slot[n->a].rank);
    wf__str_add(&w->text, " is outside ");
    add_array(w, &w->text, n->a);
    wf__str_add(&w->text, ", at point ");
    add_tuple(&w->text, point, w->stage->body.rank);
}

void wf__watch_local(wf__watch *w, const wf__node *n, int64_t index, const int64_t *point)
{
    if (!is_first(w, WF_ERR_BOUNDS))
        return;
    const char *name = wf__label_of(&w->stage->body, (wf__ref)(n - w->stage->body.node));
    wf__str_addf(&w->text, "%s: index %lld is outside ", n->aux ? "wf_write" : "wf_read", (long long)index);
    if (n->d >> 16)
        wf__str_addf(&w->text, "axis %u of ", (unsigned)(n->d >> 16));
    if (name)
        wf__str_addf(&w->text, "the local array '%s'", name);
    else
        wf__str_addf(&w->text, "local array %u of the recording", (unsigned)(n->d & 0xffff) + 1);
    wf__str_addf(&w->text, ", whose length is %u%s, at point ", (unsigned)n->c, n->d >> 16 ? " there" : "");
    add_tuple(&w->text, point, w->stage->body.rank);
}

static bool is_nan(unsigned dtype, const void *value)
{
    double x = 0;
    if (!wf__is_float(dtype))
        return false;
    wf__eval_cast(WF_F64, dtype, &x, value, 1);
    return isnan(x);
}

void wf__watch_same(wf__watch *w, const wf__node *n, uint64_t writer, const int64_t *point)
{
    if (!is_first(w, WF_ERR_CONTRACT))
        return;
    wf__str_add(&w->text, "two points, ");
    add_point(w, &w->text, (int64_t)writer - 1);
    wf__str_add(&w->text, " and ");
    add_tuple(&w->text, point, w->stage->body.rank);
    wf__str_add(&w->text, ", write the same element of ");
    add_array(w, &w->text, n->a);
    wf__str_add(&w->text, n->op == WF__STORE ? "; say wf_accumulate, or write different ones"
                                             : " by wf_accumulate, which is told that none do (WF_NO_CONFLICT)");
}

void wf__watch_nan(wf__watch *w, const wf__node *n, const int64_t *point)
{
    if (!is_first(w, WF_ERR_ARG))
        return;
    const char *name = name_of(w, n);
    wf__str_add(&w->text, "a NaN");
    if (name)
        wf__str_addf(&w->text, ", '%s',", name);
    wf__str_add(&w->text, " is stored in ");
    add_array(w, &w->text, n->a);
    wf__str_add(&w->text, ", by point ");
    add_tuple(&w->text, point, w->stage->body.rank);
}

bool wf__watch_store(wf__watch *w, const wf__node *n, int64_t offset, const void *value, const int64_t *point)
{
    wf__watch_slot *s = &w->slot[n->a];
    uint64_t me = (uint64_t)number_of(w, point) + 1;
    uint64_t *writer = s->writer && offset >= s->first && offset <= s->last ? &s->writer[offset - s->first] : NULL;
    if (writer && *writer && *writer != me && !w->stage->body.red_n)
        wf__watch_same(w, n, *writer, point);
    if (w->nan && n->op == WF__STORE && is_nan(n->dtype, value))
        wf__watch_nan(w, n, point);
    if (writer)
        *writer = me;
    return w->status == WF_OK;
}

bool wf__watch_unset(const wf__watch *w, wf__str *out)
{
    const wf__ir *body = &w->stage->body;
    for (wf__ref r = 1; r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        const wf__watch_slot *s = &w->slot[n->op == WF__STORE ? n->a : 0];
        if (n->op != WF__STORE || !n->d || !body->slot[n->a].element || body->slot[n->a].read || !s->writer)
            continue;
        int64_t points = 1, set = 0;
        for (int d = 0; d < body->rank; ++d)
            points *= w->stage->extent[d];
        for (int64_t i = 0; i <= s->last - s->first; ++i)
            set += s->writer[i] != 0;
        if (set >= points)
            continue;
        wf__str_addf(out, "%lld of %lld elements were left as they were in ", (long long)(points - set),
                     (long long)points);
        add_array(w, out, n->a);
        wf__str_add(out, ", an output that is set under a condition");
        return true;
    }
    return false;
}
