/* order.c - missing order between streams: two operations of different streams use the same bytes, at least one of them
 * writes, and nothing orders the two. The emulator does all work at once, in the order of the calls, so no result shows
 * such a mistake.
 *
 * Vector clocks find it. Each stream is a line of time that counts its operations. The clock of a line says, for every
 * line, up to which operation that line is over before the next operation here. Events carry clocks from stream to
 * stream. The host has a clock too: an operation joins it when the host submits the operation, and a wait of the host
 * joins the clock of what it waits for. Memory remembers which operations have used which bytes, until the host has
 * waited for them.
 *
 * All threads of the host share one clock, because the emulator cannot see how they wait for each other. A query that
 * succeeds counts as a wait. Accesses of the host itself to pinned and managed memory are not seen, except copies, and
 * the freeing of such memory. Every reported mistake is real, but some are missed.
 */
#include "emu/driver.h"
#include "emu/run.h"
#include <stdio.h>

enum { HOST = 0 }; /* line of the host */
static const uint8_t kinds[EMU_TOUCHES] = { EMU_READ, EMU_WRITE, EMU_READ | EMU_WRITE | EMU_STRONG };

typedef struct spans {
    emu_span *list;
    uint32_t n, cap;
} spans;
static _Thread_local uint32_t thread;

/* ---- clocks ---- */
static emu_order *order(void) { return &wfe_driver.order; }

/* Ends the search when memory runs out. */
static void give_up(void) { order()->on = false; }

static uint64_t time_of(const emu_clock *c, uint32_t line) { return line < c->n ? c->time[line] : 0; }

static bool has_lines(emu_clock *c, uint32_t n)
{
    uint64_t *time = n <= c->n ? c->time : wf__realloc(c->time, n * sizeof *time);
    if (n <= c->n)
        return true;
    if (!time) {
        give_up();
        return false;
    }
    memset(time + c->n, 0, (n - c->n) * sizeof *time);
    *c = (emu_clock){ time, n };
    return true;
}

static void join_clocks(emu_clock *c, const emu_clock *with)
{
    for (uint32_t i = 0; has_lines(c, with->n) && i < with->n; i++)
        c->time[i] = c->time[i] > with->time[i] ? c->time[i] : with->time[i];
}

void wfe_clock_free(emu_clock *c)
{
    wf__free(c->time);
    *c = (emu_clock){ 0 };
}

/* ---- lines ---- */
static void free_line(emu_line *l)
{
    uint64_t now = l->now;
    wfe_clock_free(&l->clock);
    *l = (emu_line){ .now = now };
}

/* Takes the line of a destroyed stream whose work the host has waited for, or else appends one. */
static uint32_t new_line(emu_line like)
{
    emu_order *o = order();
    uint32_t i = HOST + 1;
    for (; i < o->n; i++) {
        emu_line *l = &o->lines[i];
        if (l->gone && time_of(&o->host, i) >= l->now)
            free_line(l);
        if (!l->context)
            break;
    }
    if (i >= o->n) {
        if (!wf__grow(&o->lines, &o->cap, i + 1, sizeof *o->lines)) {
            give_up();
            return HOST;
        }
        memset(o->lines + o->n, 0, (i + 1 - o->n) * sizeof *o->lines);
        o->n = i + 1;
    }
    like.now = o->lines[i].now;
    o->lines[i] = like;
    return i;
}

/* The line of a stream. Default streams get theirs at the first use. */
static uint32_t find_line(CUcontext c, CUstream stream)
{
    emu_order *o = order();
    if (wfe_known(stream, EMU_OBJ_STREAM))
        return stream->line;
    bool own = stream == CU_STREAM_PER_THREAD;
    if (own && !thread)
        thread = ++o->threads;
    emu_line like = { .context = c,
                      .stream = own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY,
                      .thread = own ? thread : 0,
                      .blocking = own };
    for (uint32_t i = HOST + 1; i < o->n; i++)
        if (o->lines[i].context == c && o->lines[i].stream == like.stream && o->lines[i].thread == like.thread)
            return i;
    return new_line(like);
}

/* The line of a stream, with its clock ready for the next operation: ordered after all that the host has waited for.
 * Section "Stream synchronization behavior" of the driver API: the legacy default stream and the blocking streams of
 * its context wait for each other. */
static emu_line *enter_line(CUcontext c, CUstream stream)
{
    emu_order *o = order();
    uint32_t at = find_line(c, stream);
    if (!o->on)
        return NULL;
    emu_line *l = &o->lines[at];
    join_clocks(&l->clock, &o->host);
    for (uint32_t i = HOST + 1; i < o->n; i++) {
        const emu_line *other = &o->lines[i];
        if (other->context == l->context &&
            (l->stream == CU_STREAM_LEGACY ? other->blocking : l->blocking && other->stream == CU_STREAM_LEGACY))
            join_clocks(&l->clock, &other->clock);
    }
    return l;
}

void wfe_order_stream(CUstream stream)
{
    if (order()->on)
        stream->line =
            new_line((emu_line){ .context = stream->context, .stream = stream, .blocking = !(stream->flags & 1) });
}
void wfe_order_stream_gone(CUstream stream)
{
    if (order()->on)
        order()->lines[stream->line].gone = true;
}
void wfe_order_context_gone(CUcontext c)
{
    emu_order *o = order();
    for (uint32_t i = HOST + 1; o->on && i < o->n; i++) {
        if (o->lines[i].context != c)
            continue;
        if (has_lines(&o->host, o->n))
            o->host.time[i] = o->lines[i].now;
        free_line(&o->lines[i]);
    }
}
void wfe_order_record(emu_clock *event, CUcontext c, CUstream stream)
{
    const emu_line *l = order()->on ? enter_line(c, stream) : NULL;
    if (!l)
        return;
    wfe_clock_free(event);
    join_clocks(event, &l->clock);
}
void wfe_order_wait(CUcontext c, CUstream stream, const emu_clock *event)
{
    emu_line *l = order()->on ? enter_line(c, stream) : NULL;
    if (l)
        join_clocks(&l->clock, event);
}
void wfe_order_host_waits(const emu_clock *event)
{
    if (order()->on)
        join_clocks(&order()->host, event);
}
void wfe_order_host_waits_for(CUcontext c, CUstream stream)
{
    const emu_line *l = order()->on ? enter_line(c, stream) : NULL;
    if (l)
        join_clocks(&order()->host, &l->clock);
}
void wfe_order_host_waits_for_all(CUcontext c)
{
    emu_order *o = order();
    for (uint32_t i = HOST + 1; o->on && i < o->n; i++)
        if (o->lines[i].context == c)
            join_clocks(&o->host, &o->lines[i].clock);
}
void wfe_order_free(emu_order *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        wfe_clock_free(&o->lines[i].clock);
    wf__free(o->lines);
    wfe_clock_free(&o->host);
    *o = (emu_order){ 0 };
}

/* ---- uses of memory by operations ---- */
/* True if the host has waited for the operation. */
static bool is_over(const emu_op *op) { return time_of(&order()->host, op->line) >= op->time; }

static bool is_before(const emu_op *old, const emu_op *op)
{
    return time_of(&order()->lines[op->line].clock, old->line) >= old->time;
}

static bool conflicts(unsigned a, unsigned b) { return ((a | b) & EMU_WRITE) && !(a & b & EMU_STRONG); }

/* True if everything that conflicts with b also conflicts with a. */
static bool covers(unsigned a, unsigned b)
{
    return (a & EMU_WRITE || !(b & EMU_WRITE)) && (!(a & EMU_STRONG) || b & EMU_STRONG);
}

static void report_missing_order(const emu_memory *m, uint64_t from, uint64_t to, emu_use now, emu_use before)
{
    emu_driver *d = &wfe_driver;
    wf__str text = { 0 };
    const emu_use *two[] = { &now, &before };
    const char *verb[2];
    for (int i = 0; i < 2; i++)
        verb[i] = two[i]->how & EMU_STRONG ? "updates" : two[i]->how & EMU_WRITE ? two[i]->op->verb : "reads";
    wf__str_addf(&text, "missing order: %s %s %llu bytes at 0x%llx: ", now.op->name, verb[0],
                 (unsigned long long)(to - from), (unsigned long long)(m->base + from));
    wfe_describe(&d->heap, m->base + from, to - from, &text);
    wf__str_addf(&text, "\n  %s %s them, and nothing orders the two\n", before.op->name, verb[1]);
    if (now.op->context->error == CUDA_SUCCESS)
        wfe_set_report(wf__str_get(&text));
    now.op->context->error = CUDA_ERROR_LAUNCH_FAILED;
    wf__str_free(&text);
}

static bool same_accesses(const emu_span *a, const emu_span *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->use[i].op == b->use[i].op && a->use[i].how == b->use[i].how;
    return same;
}

static void push_span(spans *out, const emu_span *s)
{
    emu_span *last = out->n ? &out->list[out->n - 1] : NULL;
    if (s->from >= s->to || !s->n)
        return;
    if (last && last->to == s->from && same_accesses(last, s)) {
        last->to = s->to;
        return;
    }
    if (!wf__grow(&out->list, &out->cap, out->n + 1, sizeof *out->list)) {
        give_up();
        return;
    }
    out->list[out->n++] = *s;
    for (uint32_t i = 0; i < s->n; i++)
        s->use[i].op->kept++;
}

/* Checks use `now` of a range against the uses of `old`, and appends the span to remember: `now`, and those uses of
 * `old` that `now` does not cover. */
static void add_use(const emu_memory *m, const emu_span *old, uint64_t from, uint64_t to, emu_use now, spans *out)
{
    emu_span s = { .from = from, .to = to };
    for (uint32_t i = 0; old && i < old->n; i++) {
        emu_use before = old->use[i];
        bool ordered = is_before(before.op, now.op);
        if (!ordered && conflicts(before.how, now.how) && now.op->context->error == CUDA_SUCCESS)
            report_missing_order(m, from, to, now, before);
        if (is_over(before.op) || (ordered && covers(now.how, before.how)))
            continue;
        s.use[s.n++] = before;
    }
    if (s.n == EMU_USES)
        memmove(s.use, s.use + 1, --s.n * sizeof *s.use);
    s.use[s.n++] = now;
    push_span(out, &s);
}

/* Adds a use of a range of bytes. *next is the next span of the memory, *rest the unprocessed part of the one
 * before. */
static void use_range(const emu_memory *m, uint64_t from, uint64_t to, emu_use now, uint32_t *next, emu_span *rest,
                      spans *out)
{
    while (from < to) {
        while (rest->to <= from && *next < m->n_spans) {
            push_span(out, rest);
            *rest = m->spans[(*next)++];
        }
        bool left = rest->to > from;
        if (!left || rest->from >= to) { /* no earlier use of these bytes */
            add_use(m, NULL, from, to, now, out);
            return;
        }
        if (rest->from > from) {
            add_use(m, NULL, from, rest->from, now, out);
            from = rest->from;
        }
        emu_span before = *rest;
        before.to = from;
        push_span(out, &before);
        uint64_t end = rest->to < to ? rest->to : to;
        add_use(m, rest, from, end, now, out);
        rest->from = from = end;
    }
}

/* Replaces spans first .. last - 1. */
static void replace_spans(emu_memory *m, uint32_t first, uint32_t last, const spans *with)
{
    uint32_t behind = m->n_spans - last, n = first + with->n + behind;
    if (!wf__grow(&m->spans, &m->cap_spans, n, sizeof *m->spans)) {
        wfe_release_spans(with->list, with->n);
        give_up();
        return;
    }
    wfe_release_spans(m->spans + first, last - first);
    if (behind)
        memmove(m->spans + first + with->n, m->spans + last, behind * sizeof *m->spans);
    if (with->n)
        memcpy(m->spans + first, with->list, with->n * sizeof *m->spans);
    m->n_spans = n;
}

/* Drops all uses that the host has waited for. add_use drops those of bytes that are used again; this call, made when
 * spans have doubled, bounds the others. */
static void drop_old_uses(emu_memory *m)
{
    enum { MANY = 64 };
    spans kept = { 0 };
    for (uint32_t i = 0; i < m->n_spans; i++) {
        emu_span s = m->spans[i];
        s.n = 0;
        for (uint32_t k = 0; k < m->spans[i].n; k++)
            if (!is_over(m->spans[i].use[k].op))
                s.use[s.n++] = m->spans[i].use[k];
        push_span(&kept, &s);
    }
    replace_spans(m, 0, m->n_spans, &kept);
    wf__free(kept.list);
    m->many_spans = 2 * m->n_spans + MANY;
}

/* The first span that ends at or beyond `from`. */
static uint32_t span_at(const emu_memory *m, uint64_t from)
{
    uint32_t low = 0, high = m->n_spans;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->spans[middle].to < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remember_touched(emu_memory *m, emu_op *op, unsigned touch)
{
    const uint64_t *bits = m->touched[touch];
    emu_use now = { op, kinds[touch] };
    spans out = { 0 };
    emu_span rest = { 0 };
    uint64_t end = m->touched_to, from = bits ? wfe_next_bit(bits, m->touched_from, end, false) : end;
    if (from == end)
        return;
    if (m->n_spans >= m->many_spans)
        drop_old_uses(m);
    uint32_t first = span_at(m, from), next = first;
    while (from < end) {
        uint64_t to = wfe_next_bit(bits, from, end, true);
        use_range(m, from, to, now, &next, &rest, &out);
        from = wfe_next_bit(bits, to, end, false);
    }
    push_span(&out, &rest);
    if (next < m->n_spans) /* push_span may merge it with the last one */
        push_span(&out, &m->spans[next++]);
    replace_spans(m, first, next, &out);
    wf__free(out.list);
}

/* ---- operations ---- */
static emu_op *new_op(CUcontext c, uint32_t line, const char *what, const char *verb)
{
    emu_order *o = order();
    emu_op *op = wf__alloc0(sizeof *op);
    if (!op || !has_lines(&o->lines[line].clock, o->n)) {
        give_up();
        wf__free(op);
        return NULL;
    }
    emu_line *l = &o->lines[line];
    *op = (emu_op){ .kept = 1, .line = line, .time = ++l->now, .number = ++o->operations, .context = c, .verb = verb };
    l->clock.time[line] = op->time;
    int n = snprintf(op->name, sizeof op->name, "%s (operation %llu, ", what, (unsigned long long)op->number);
    char *rest = op->name + (n < 0 ? 0 : n < (int)sizeof op->name ? n : (int)sizeof op->name - 1);
    size_t room = sizeof op->name - (size_t)(rest - op->name);
    if (line == HOST)
        snprintf(rest, room, "of the host)");
    else if (l->stream == CU_STREAM_LEGACY)
        snprintf(rest, room, "in the default stream)");
    else if (l->stream == CU_STREAM_PER_THREAD)
        snprintf(rest, room, "in the default stream of thread %u)", l->thread);
    else
        snprintf(rest, room, "in stream %p)", (void *)l->stream);
    return op;
}

emu_op *wfe_op_begin(CUcontext c, CUstream stream, const char *what, const char *verb)
{
    emu_order *o = order();
    const emu_line *l = o->on ? enter_line(c, stream) : NULL;
    return l ? new_op(c, (uint32_t)(l - o->lines), what, verb) : NULL;
}

emu_op *wfe_op_begin_host(CUcontext c, const char *what, const char *verb)
{
    emu_order *o = order();
    if (!o->on)
        return NULL;
    if (o->n == 0)
        new_line((emu_line){ 0 });
    if (!o->on)
        return NULL;
    join_clocks(&o->lines[HOST].clock, &o->host);
    emu_op *op = new_op(c, HOST, what, verb);
    if (op)
        join_clocks(&o->host, &o->lines[HOST].clock);
    return op;
}

void wfe_op_end(emu_op *op, bool waits)
{
    emu_order *o = order();
    if (!op)
        return;
    if (op->touched.failed)
        give_up();
    for (uint32_t k = 0; o->on && k < op->touched.n; k++)
        for (unsigned i = 0; o->on && i < EMU_TOUCHES; i++)
            remember_touched(op->touched.list[k], op, i);
    if (o->on && waits)
        join_clocks(&o->host, &o->lines[op->line].clock);
    wfe_op_drop(op);
}

void wfe_op_drop(emu_op *op)
{
    if (!op)
        return;
    wfe_clear_touched(op);
    wf__free(op->touched.list);
    op->touched = (emu_touched){ 0 };
    wfe_release_op(op);
}
