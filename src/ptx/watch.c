/* watch.c - debug mode: kernels check every index, and that no two points write one element. With WF_FLAG_TRAP_NAN they
 * check for NaNs, too. The first finding claims the report in device memory by a compare-and-swap and describes itself
 * there; the host turns the report into text (run/gpu/watch.c). An access with a finding does not take place.
 */
#include "ptx/gen.h"

/* Words have 8 bytes; ptx.h lists them. */
static void put_word(gen *g, val report, int word, val v)
{
    EMIT(g, "st.global.b64 [$0+$1], $2", report, v_int(8 * (int64_t)word), wf__ptx_in_register(g, WF_I64, v));
}

static val emit_coordinate(gen *g, int d)
{
    if (g->index[d].kind != V_R)
        return g->index[d];
    val wide = wf__ptx_reg(g, V_D);
    EMIT(g, "cvt.u64.u32 $0, $1", wide, g->index[d]);
    return wide;
}

/* Reports a finding of the threads that execute this code. */
static void emit_report(gen *g, const wf__node *n, wf__ptx_finding what, val other)
{
    val at = wf__ptx_field_value(g, WF__PTX_REPORT, 0, 0, false), taken = wf__ptx_reg(g, V_P);
    val was = wf__ptx_reg(g, V_R), none = wf__ptx_reg(g, V_R), mine = wf__ptx_reg(g, V_R), over = wf__ptx_new_label(g);
    uint32_t widened = g->widened_n;
    EMIT(g, "mov.b32 $0, 0", none);
    EMIT(g, "mov.b32 $0, $1", mine, v_int(what));
    EMIT(g, "atom.global.cas.b32 $0, [$1], $2, $3", was, at, none, mine);
    EMIT(g, "setp.ne.s32 $0, $1, 0", taken, was);
    EMIT(g, "@$0 bra $1", taken, over);
    put_word(g, at, WF__PTX_REPORT_NODE, v_int(n - g->ir->node));
    put_word(g, at, WF__PTX_REPORT_OTHER, other);
    for (int d = 0; d < g->ir->rank; ++d)
        put_word(g, at, WF__PTX_REPORT_POINT + d, emit_coordinate(g, d));
    for (uint32_t k = 0; what == WF__PTX_OUTSIDE && k < wf__tuple_len(g->ir, n->b); ++k)
        put_word(g, at, WF__PTX_REPORT_INDEX + (int)k, wf__ptx_use(g, wf__tuple_at(g->ir, n->b)[k]));
    wf__ptx_forget(g, widened);
    wf__ptx_place_label(g, over);
}

bool wf__ptx_watches(const gen *g) { return g->ir->flags & WF_FLAG_DEBUG && !g->inner; }

void wf__ptx_watch_index(gen *g, const wf__node *n, val when, val inside)
{
    val over = wf__ptx_new_label(g);
    if (when.kind != V_NONE)
        EMIT(g, "@!$0 bra $1", when, over);
    EMIT(g, "@$0 bra $1", inside, over);
    emit_report(g, n, WF__PTX_OUTSIDE, v_int(0));
    wf__ptx_place_label(g, over);
}

void wf__ptx_watch_local(gen *g, const wf__node *n)
{
    val over = wf__ptx_new_label(g), index = wf__ptx_use(g, n->b);
    EMIT(g, "@$0 bra $1", wf__ptx_in_register(g, WF_BOOL, wf__ptx_use(g, n->a)), over);
    emit_report(g, n, WF__PTX_LOCAL, index);
    wf__ptx_place_label(g, over);
}

/* ---- stores ---- */
/* 1 + the number of the current point. */
static val point_number(gen *g)
{
    val me = wf__ptx_reg(g, V_D);
    EMIT(g, "mov.b64 $0, $1", me, emit_coordinate(g, 0));
    for (int d = 1; d < g->ir->rank; ++d)
        EMIT(g, "mad.lo.u64 $0, $0, $1, $2", me, wf__ptx_field_value(g, WF__PTX_EXTENT, 0, d, false),
             emit_coordinate(g, d));
    EMIT(g, "add.u64 $0, $0, 1", me);
    return me;
}

static void watch_part(gen *g, const wf__node *n, unsigned dtype, val x, val good, val over)
{
    val fine = wf__ptx_new_label(g), nan = wf__ptx_reg(g, V_P);
    bool half = wf__is_half(dtype);
    x = half ? wf__ptx_cast(g, WF_F32, dtype, x) : wf__ptx_in_register(g, dtype, x);
    EMIT(g, "setp.nan.$1 $0, $2, $2", nan, wf__ptx_type(half ? WF_F32 : dtype), x);
    EMIT(g, "@!$0 bra $1", nan, fine);
    emit_report(g, n, WF__PTX_NAN, v_int(0));
    EMIT(g, "not.pred $0, $0", good);
    EMIT(g, "bra $0", over);
    wf__ptx_place_label(g, fine);
}

/* Checks both parts of a complex value. */
static void watch_nan(gen *g, const wf__node *n, unsigned dtype, val re, val im, val good, val over)
{
    bool pair = wf__is_complex(dtype);
    unsigned part = pair ? wf__part_dtype(dtype) : dtype;
    if (!(g->ir->flags & WF_FLAG_TRAP_NAN) || !wf__is_float(part))
        return;
    watch_part(g, n, part, re, good, over);
    if (pair)
        watch_part(g, n, part, im, good, over);
}

/* A new predicate equal to `when`. Threads where it does not hold branch to `over`. */
static val begin_check(gen *g, val when, val over)
{
    val good = wf__ptx_reg(g, V_P), none = wf__ptx_reg(g, V_R);
    if (when.kind != V_NONE) {
        EMIT(g, "mov.pred $0, $1", good, when);
        EMIT(g, "@!$0 bra $1", good, over);
        return good;
    }
    EMIT(g, "mov.b32 $0, 0", none);
    EMIT(g, "setp.eq.s32 $0, $1, 0", good, none);
    return good;
}

static void watch_writers(gen *g, const wf__node *n, val address, val good, val over)
{
    val table = wf__ptx_field_value(g, WF__PTX_WRITERS, n->a, 0, false), none = wf__ptx_reg(g, V_P);
    val at = wf__ptx_reg(g, V_D), was = wf__ptx_reg(g, V_D), me = point_number(g);
    int shift = 0;
    while (wf__size(g->ir->slot[n->a].dtype) >> shift > 1)
        ++shift;
    EMIT(g, "setp.eq.s64 $0, $1, 0", none, table);
    EMIT(g, "@$0 bra $1", none, over);
    EMIT(g, "sub.s64 $0, $1, $2", at, address, wf__ptx_field_value(g, WF__PTX_BASE, n->a, 0, false));
    EMIT(g, "shr.s64 $0, $0, $1", at, v_int(shift));
    EMIT(g, "shl.b64 $0, $0, 3", at);
    EMIT(g, "add.s64 $0, $0, $1", at, table);
    EMIT(g, "atom.global.exch.b64 $0, [$1], $2", was, at, me);
    if (g->ir->red_n) /* several points write one element by design */
        return;
    val another = wf__ptx_reg(g, V_P), written = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.ne.s64 $0, $1, 0", written, was);
    EMIT(g, "setp.ne.s64 $0, $1, $2", another, was, me);
    EMIT(g, "and.pred $0, $0, $1", another, written);
    EMIT(g, "@!$0 bra $1", another, over);
    emit_report(g, n, WF__PTX_SAME, was);
    EMIT(g, "not.pred $0, $0", good);
}

val wf__ptx_watch_store(gen *g, const wf__node *n, val address, val when, val re, val im)
{
    val over = wf__ptx_new_label(g), good = begin_check(g, when, over);
    if (n->op == WF__STORE)
        watch_nan(g, n, n->dtype, re, im, good, over);
    if (!g->options->thread_block.threads ||
        !g->ir->slot[n->a].scratch) /* threads may reuse scratch between barriers */
        watch_writers(g, n, address, good, over);
    wf__ptx_place_label(g, over);
    return good;
}

val wf__ptx_watch_update(gen *g, const wf__node *n, unsigned dtype, val when, val re, val im)
{
    val over = wf__ptx_new_label(g), good = begin_check(g, when, over);
    watch_nan(g, n, dtype, re, im, good, over);
    wf__ptx_place_label(g, over);
    return good;
}
