/* memory.c - loads and stores of nodes: their addresses, borders and conditions.
 *
 * Offsets are counted in elements, in 32 bits if the indices are narrow. With WF_BORDER_VALUE a load outside the array
 * is predicated off and keeps its preset value; the other border modes map the index into the array first.
 */
#include "ptx/gen.h"

typedef struct place { /* the element that a node accesses */
    gen *g;
    const wf__node *n;
    const wf__slot *slot;
    val offset;           /* sum of the terms so far; V_NONE = no term */
    int64_t fixed;        /* constant part of the offset, in elements */
    val ok;               /* predicate of the access; V_NONE = always */
    bool narrow, watched; /* watched: debug mode reports an index outside */
} place;

static unsigned index_dtype(bool narrow) { return narrow ? WF_I32 : WF_I64; }

static void add_condition(place *p, val when)
{
    gen *g = p->g;
    if (p->ok.kind == V_NONE) {
        p->ok = when;
        return;
    }
    val r = wf__ptx_reg(g, V_P);
    EMIT(g, "and.pred $0, $1, $2", r, p->ok, when);
    p->ok = r;
}

static val in_range(const place *p, val i, val dim)
{
    val r = wf__ptx_reg(p->g, V_P);
    EMIT(p->g, p->narrow ? "setp.lt.u32 $0, $1, $2" : "setp.lt.u64 $0, $1, $2", r, i, dim);
    return r;
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
/* Maps index i along an axis of extent n as border_index (src/run/interp/memory.c) does. The result is arbitrary if
 * n is 0. */
static val apply_border(const place *p, val i, val n)
{
    gen *g = p->g;
    unsigned t = index_dtype(p->narrow), mode = p->n->aux;
    val type = wf__ptx_type(t), bits = wf__ptx_bits(t), r = wf__ptx_new(g, t), last = wf__ptx_new(g, t);
    EMIT(g, "sub.$1 $0, $2, 1", last, type, n);
    if (mode == WF_BORDER_CLAMP) {
        EMIT(g, "max.$1 $0, $2, 0", r, type, i);
        EMIT(g, "min.$1 $0, $0, $2", r, type, last);
        return r;
    }
    val inside = in_range(p, i, n), done = wf__ptx_new_label(g), period = wf__ptx_new(g, t), less = wf__ptx_reg(g, V_P);
    val other = wf__ptx_new(g, t), folded = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.$1 $0, $2", r, bits, i);
    EMIT(g, "@$0 bra $1", inside, done);
    EMIT(g,
         mode == WF_BORDER_MIRROR    ? "shl.$1 $0, $2, 1"
         : mode == WF_BORDER_REFLECT ? "shl.$1 $0, $3, 1"
                                     : "mov.$1 $0, $2",
         period, bits, n, last);
    EMIT(g, "max.$1 $0, $0, 1", period, type); /* extent 1: index 0 */
    EMIT(g, "rem.$1 $0, $0, $2", r, type, period);
    EMIT(g, "setp.lt.$1 $0, $2, 0", less, type, r);
    EMIT(g, "@$2 add.$1 $0, $0, $3", r, type, less, period);
    if (mode != WF_BORDER_PERIODIC) {
        EMIT(g, "sub.$1 $0, $2, $3", other, type, period, r);
        if (mode == WF_BORDER_MIRROR)
            EMIT(g, "sub.$1 $0, $0, 1", other, type);
        EMIT(g, "setp.ge.$1 $0, $2, $3", folded, type, r, n);
        EMIT(g, "@$2 mov.$1 $0, $3", r, bits, folded, other);
    }
    wf__ptx_place_label(g, done);
    return r;
}

/* offset += i * stride, along axis k. */
static void add_term(place *p, int k, val i)
{
    gen *g = p->g;
    val type = wf__ptx_type(index_dtype(p->narrow)), r = wf__ptx_new(g, index_dtype(p->narrow));
    wf__step step = (wf__step)p->slot->step[k];
    bool first = p->offset.kind == V_NONE;
    if (step == WF__STEP_ZERO)
        return;
    if (step == WF__STEP_UNIT && first) {
        p->offset = i;
        return;
    }
    if (step == WF__STEP_UNIT)
        EMIT(g, "add.$1 $0, $2, $3", r, type, p->offset, i);
    else if (step == WF__STEP_BACK)
        EMIT(g, "sub.$1 $0, $2, $3", r, type, first ? v_int(0) : p->offset, i);
    else {
        val stride = wf__ptx_field_value(g, WF__PTX_STRIDE, p->n->a, k, p->narrow);
        if (first)
            EMIT(g, "mul.lo.$1 $0, $2, $3", r, type, i, stride);
        else
            EMIT(g, "mad.lo.$1 $0, $2, $3, $4", r, type, i, stride, p->offset);
    }
    p->offset = r;
}

/* Moves a constant summand of an index along a unit step to `fixed`, which becomes part of the access's address. */
static bool split_constant(place *p, int k, wf__ref i, val *rest)
{
    int axis;
    int64_t offset;
    wf__step step = (wf__step)p->slot->step[k];
    enum { MOST = 1 << 20 };
    if ((step != WF__STEP_UNIT && step != WF__STEP_BACK) || p->narrow != p->g->options->narrow ||
        !wf__as_offset(p->g->ir, i, &axis, &offset) || axis < 0 || offset > MOST || offset < -MOST)
        return false;
    p->fixed += step == WF__STEP_UNIT ? offset : -offset;
    *rest = p->g->index[axis];
    return true;
}

static void add_axis(place *p, int k, wf__ref i)
{
    gen *g = p->g;
    bool load = p->n->op == WF__LOAD, border = load && p->n->aux != WF_BORDER_NONE;
    val x;
    if (border) {
        val dim = wf__ptx_field_value(g, WF__PTX_DIM, p->n->a, k, p->narrow);
        x = p->narrow ? wf__ptx_as_is(g, i) : wf__ptx_use(g, i);
        if (p->n->aux == WF_BORDER_VALUE)
            add_condition(p, in_range(p, x, dim));
        else {
            val some = wf__ptx_reg(g, V_P);
            EMIT(g, p->narrow ? "setp.gt.s32 $0, $1, 0" : "setp.gt.s64 $0, $1, 0", some, dim);
            add_condition(p, some);
            x = apply_border(p, x, dim);
            add_term(p, k, x);
            return;
        }
    }
    if (p->watched)
        add_condition(p, in_range(p, p->narrow ? wf__ptx_as_is(g, i) : wf__ptx_use(g, i),
                                  wf__ptx_field_value(g, WF__PTX_DIM, p->n->a, k, p->narrow)));
    if (!split_constant(p, k, i, &x))
        x = p->narrow ? wf__ptx_as_is(g, i) : wf__ptx_use(g, i);
    add_term(p, k, x);
}

val wf__ptx_address(gen *g, const wf__node *n, val *ok)
{
    place p = { .g = g, .n = n, .slot = &g->ir->slot[n->a], .narrow = g->options->narrow };
    uint32_t rank = wf__tuple_len(g->ir, n->b), size = wf__size(p.slot->dtype);
    if (p.slot->spread > 1)
        wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "private copies of an array, spread over lanes, on a GPU");
    for (uint32_t k = 0; k < rank; ++k)
        p.narrow = p.narrow && wf__ptx_uses_narrow(g, wf__tuple_at(g->ir, n->b)[k]);
    wf__ref when = n->op == WF__LOAD ? wf__when(g->ir, n) : n->d;
    val on = { 0 };
    if (when)
        on = wf__ptx_as_is(g, when);
    p.watched = wf__ptx_watches(g) && !p.slot->element && (n->op != WF__LOAD || n->aux == WF_BORDER_NONE);
    for (uint32_t k = 0; k < rank; ++k)
        add_axis(&p, (int)k, wf__tuple_at(g->ir, n->b)[k]);
    if (p.watched && p.ok.kind != V_NONE)
        wf__ptx_watch_index(g, n, on, p.ok);
    if (on.kind != V_NONE)
        add_condition(&p, on);
    uint32_t at = p.slot->shared;
    val base = at ? wf__ptx_shared(g) : wf__ptx_field_value(g, WF__PTX_BASE, n->a, 0, false), r = wf__ptx_reg(g, V_D);
    int64_t bytes = p.fixed * size + (at ? at - 1 : 0);
    *ok = p.ok;
    if (p.offset.kind == V_NONE)
        EMIT(g, "add.s64 $0, $1, $2", r, base, v_int(bytes));
    else {
        EMIT(g, p.narrow ? "mad.wide.s32 $0, $1, $2, $3" : "mad.lo.s64 $0, $1, $2, $3", r, p.offset, v_int(size), base);
        if (bytes)
            EMIT(g, "add.s64 $0, $0, $1", r, v_int(bytes));
    }
    return r;
}

/* True if the kernel updates memory of the slot by atomic operations. */
static bool is_updated(const wf__ir *ir, const wf__slot *slot)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__slot *to = wf__op_is_update(ir->node[r].op) ? &ir->slot[ir->node[r].a] : NULL;
        if (to && (to->object == slot->object || (to->may_alias && slot->may_alias)))
            return true;
    }
    return false;
}

const char *wf__ptx_read_space(const wf__ir *ir, const wf__slot *slot)
{
    if (!slot->written && !slot->may_alias)
        return slot->shared ? "shared" : "global.nc"; /* read-only while the kernel runs */
    if (is_updated(ir, slot))                         /* a strong read, ordered with the atomic operations */
        return slot->shared ? "volatile.shared" : "volatile.global";
    return wf__ptx_space(slot);
}

wf__ptx_pair wf__ptx_load_begin(gen *g, wf__ref r, val ok)
{
    const wf__node *n = wf__at(g->ir, r);
    unsigned t = n->dtype;
    bool pair = wf__is_complex(t);
    val re, im = { 0 };
    re = t == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, t);
    if (pair)
        im = wf__ptx_new(g, t);
    if (ok.kind != V_NONE) {
        unsigned part = pair ? wf__part_dtype(t) : t;
        val type = v_text(t == WF_BOOL ? "b32" : wf__ptx_bits(part).text);
        val other = n->c ? wf__ptx_use(g, n->c) : v_int(0), more = n->c && pair ? g->node[n->c].more : v_int(0);
        if (t == WF_BOOL && n->c)
            EMIT(g, "selp.b32 $0, 1, 0, $1", re, other);
        else
            EMIT(g, "mov.$1 $0, $2", re, type, other);
        if (pair)
            EMIT(g, "mov.$1 $0, $2", im, type, more);
    }
    return (wf__ptx_pair){ re, im };
}

void wf__ptx_load_end(gen *g, wf__ref r, wf__ptx_pair read)
{
    if (wf__dtype(g->ir, r) == WF_BOOL) {
        val p = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.ne.s32 $0, $1, 0", p, read.re);
        read.re = p;
    }
    g->node[r].v = read.re;
    g->node[r].more = read.im;
}

void wf__ptx_load(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    val ok, address = wf__ptx_address(g, n, &ok);
    wf__ptx_pair read = wf__ptx_load_begin(g, r, ok);
    const char *space = wf__ptx_read_space(g->ir, &g->ir->slot[n->a]);
    wf__ptx_load_element(g, n->dtype, address, space, ok, read.re, read.im);
    wf__ptx_load_end(g, r, read);
}

void wf__ptx_store(gen *g, const wf__node *n)
{
    val ok, address = wf__ptx_address(g, n, &ok), re = wf__ptx_use(g, n->c), im = { 0 };
    if (wf__is_complex(n->dtype))
        im = g->node[n->c].more;
    if (wf__ptx_watches(g))
        ok = wf__ptx_watch_store(g, n, address, ok, re, im);
    wf__ptx_store_element(g, n->dtype, address, wf__ptx_space(&g->ir->slot[n->a]), ok, re, im);
}
