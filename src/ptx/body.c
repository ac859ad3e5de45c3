/* body.c - walks the nodes of a body in order. Loops and cold paths are branches that each thread takes for itself.
 * What only depends on parameters, extents and constants goes to the head of the kernel, before any loop. */
#include "ptx/gen.h"

/* ---- values ---- */
bool wf__ptx_uses_narrow(const gen *g, wf__ref r) { return g->node[r].narrow; }

val wf__ptx_use(gen *g, wf__ref r)
{
    val v = g->node[r].v;
    if (!g->node[r].narrow || v.kind != V_R)
        return v;
    if (g->node[r].more.kind == V_NONE) {
        wf__str *out = g->out;
        val wide = wf__ptx_reg(g, V_D);
        if (g->node[r].in_head)
            g->out = &g->head;
        else
            g->widened[g->widened_n++] = r;
        EMIT(g, "cvt.s64.s32 $0, $1", wide, v);
        g->out = out;
        g->node[r].more = wide;
    }
    return g->node[r].more;
}

/* What was widened since there were n: not known any more. */
void wf__ptx_forget(gen *g, uint32_t n)
{
    while (g->widened_n > n)
        g->node[g->widened[--g->widened_n]].more = (val){ 0 };
}

static val copied(gen *g, unsigned dtype, val v)
{
    val r = wf__ptx_new(g, dtype);
    EMIT(g, "mov.$1 $0, $2", r, wf__ptx_bits(dtype), v);
    return r;
}

/* ---- pure operations ---- */
static bool narrows(const gen *g, const wf__node *n, unsigned dtype)
{
    unsigned arity = wf__op_table[n->op].arity;
    const wf__ref x[3] = { n->a, n->b, n->c };
    bool compares = n->op >= WF__OP_eq && n->op <= WF__OP_ge;
    if (dtype != WF_I64)
        return false;
    for (unsigned i = 0; i < arity; ++i)
        if (wf__dtype(g->ir, x[i]) == WF_I64 && !g->node[x[i]].narrow)
            return false;
    return compares || n->dtype == WF_I64;
}

static void pure(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    unsigned arity = n->op == WF__CAST || n->op == WF__BITCAST ? 1 : wf__op_table[n->op].arity;
    const wf__ref from[3] = { n->a, n->b, n->c };
    unsigned dtype = wf__dtype(g->ir, from[arity - 1]);
    bool head = true, narrow = g->node[r].narrow;
    val x[3];
    for (unsigned i = 0; i < arity; ++i)
        head = head && g->node[from[i]].in_head;
    wf__str *out = g->out;
    if (head)
        g->out = &g->head;
    g->node[r].in_head = head;
    if (n->op == WF__OP_complex || n->op == WF__OP_real || n->op == WF__OP_imag) {
        g->node[r].v = n->op == WF__OP_imag ? g->node[n->a].more : wf__ptx_use(g, n->a);
        g->node[r].more = n->op == WF__OP_complex ? wf__ptx_use(g, n->b) : (val){ 0 };
        g->out = out;
        return;
    }
    bool low = n->op == WF__CAST ? dtype == WF_I64 && g->node[n->a].narrow
                                 : n->op != WF__BITCAST && narrows(g, n, dtype) && (narrow || n->dtype != WF_I64);
    for (unsigned i = 0; i < arity; ++i)
        x[i] = low ? g->node[from[i]].v : wf__ptx_use(g, from[i]);
    dtype = low ? WF_I32 : dtype;
    if (n->op == WF__CAST)
        g->node[r].v = wf__ptx_cast(g, narrow ? WF_I32 : n->dtype, dtype, x[0]);
    else if (n->op == WF__BITCAST)
        g->node[r].v = wf__ptx_bitcast(g, n->dtype, dtype, x[0]);
    else if (n->op == WF__OP_select && wf__is_complex(dtype)) {
        unsigned part = wf__part_dtype(dtype);
        g->node[r].v = wf__ptx_select(g, part, x[0], x[1], x[2]);
        g->node[r].more = wf__ptx_select(g, part, x[0], g->node[n->b].more, g->node[n->c].more);
    } else
        g->node[r].v = wf__ptx_op(g, n->op, dtype, x);
    g->out = out;
}

static void check(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    if (wf__ptx_watches(g))
        wf__ptx_watch_local(g, n);
    g->node[r].v = wf__ptx_use(g, n->b);
}

/* ---- loops ---- */
typedef struct loop {
    wf__ref at;
    val again, done;
    uint32_t widened;
} loop;

/* Registers of its own for node r, with what node `from` holds. */
static void copy_node(gen *g, wf__ref r, wf__ref from)
{
    unsigned t = g->ir->node[r].dtype;
    bool pair = wf__is_complex(t);
    g->node[r].v = copied(g, pair ? wf__part_dtype(t) : t, wf__ptx_use(g, from));
    if (pair)
        g->node[r].more = copied(g, wf__part_dtype(t), g->node[from].more);
}

static void open_loop(gen *g, wf__ref r, loop *l)
{
    const wf__ir *ir = g->ir;
    val on = { 0 };
    *l = (loop){ .at = r, .again = wf__ptx_new_label(g), .done = wf__ptx_new_label(g) };
    for (wf__ref s = r + 1; ir->node[s].op == WF__STATE; ++s)
        copy_node(g, s, ir->node[s].b);
    wf__ptx_label(g, l->again);
    l->widened = g->widened_n;
    for (wf__ref s = r + 1; ir->node[s].op == WF__STATE; ++s) {
        if (!ir->node[s].aux)
            continue;
        val any = g->node[s].v;
        if (on.kind != V_NONE) {
            any = wf__ptx_reg(g, V_P);
            EMIT(g, "or.pred $0, $1, $2", any, on, g->node[s].v);
        }
        on = any;
    }
    if (on.kind != V_NONE)
        EMIT(g, "@!$0 bra $1", on, l->done);
    else /* nothing makes it go on */
        EMIT(g, "bra $0", l->done);
}

static void close_loop(gen *g, wf__ref end, const loop *l)
{
    const wf__ir *ir = g->ir;
    wf__ref first = end;
    while (ir->node[first - 1].op == WF__NEXT)
        --first;
    for (wf__ref n = first; n < end; ++n) /* all take place together */
        copy_node(g, n, ir->node[n].b);
    for (wf__ref n = first; n < end; ++n) {
        wf__ref state = ir->node[n].a;
        EMIT(g, "mov.$1 $0, $2", g->node[state].v, wf__ptx_bits(ir->node[n].dtype), g->node[n].v);
        if (wf__is_complex(ir->node[n].dtype))
            EMIT(g, "mov.$1 $0, $2", g->node[state].more, wf__ptx_bits(ir->node[n].dtype), g->node[n].more);
    }
    if (!ir->node[l->at].aux)
        EMIT(g, "bra $0", l->again);
    wf__ptx_label(g, l->done);
    wf__ptx_forget(g, l->widened);
}

/* ---- other bodies ---- */
typedef struct other {
    wf__ir ir;
    const wf__ir *old;
    void *node;
    uint32_t *widened, widened_n;
    const val *arg;
    bool inner;
} other;

/* Goes on in another ir, whose arguments are these. */
static bool enter(gen *g, const wf__ir *ir, const val *arg, other *o)
{
    o->old = g->ir;
    o->node = g->node;
    o->widened = g->widened;
    o->widened_n = g->widened_n;
    o->arg = g->arg;
    o->inner = g->inner;
    g->node = wf__alloc0(ir->n * sizeof *g->node);
    g->widened = wf__alloc0(ir->n * sizeof *g->widened);
    g->widened_n = 0;
    g->ir = ir;
    g->arg = arg;
    g->inner = true;
    if (!g->node || !g->widened)
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
    return g->node && g->widened;
}

static void leave(gen *g, const other *o)
{
    wf__free(g->node);
    wf__free(g->widened);
    g->ir = o->old;
    g->node = o->node;
    g->widened = o->widened;
    g->widened_n = o->widened_n;
    g->arg = o->arg;
    g->inner = o->inner;
}

enum { MOST_ARGS = 8 };

static void cold(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    const wf__ir *ir = g->ir;
    wf__ref args[MOST_ARGS] = { 0 };
    val given[MOST_ARGS];
    uint32_t count = wf__tuple_len(ir, n->d);
    other o;
    val result = copied(g, n->dtype, wf__ptx_use(g, n->b)), over = wf__ptx_new_label(g);
    wf__ir_init(&o.ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (uint32_t i = 0; i < count && i < MOST_ARGS; ++i) {
        args[i] = wf__arg(&o.ir, i, wf__dtype(ir, wf__tuple_at(ir, n->d)[i]));
        given[i] = wf__ptx_use(g, wf__tuple_at(ir, n->d)[i]);
    }
    wf__ref slow = wf__cold_body(&o.ir, (wf__cold_id)n->c, args, count);
    EMIT(g, "@!$0 bra $1", wf__ptx_as_is(g, n->a), over);
    if (!slow)
        wf__ptx_fail(g, o.ir.status ? o.ir.status : WF_ERR_MEMORY, "%s",
                     o.ir.error[0] ? o.ir.error : "a cold path could not be built");
    else {
        if (enter(g, &o.ir, given, &o)) {
            wf__ptx_walk(g, 1, g->ir->n);
            EMIT(g, "mov.$1 $0, $2", result, wf__ptx_bits(n->dtype), wf__ptx_use(g, slow));
        }
        leave(g, &o);
    }
    wf__ptx_label(g, over);
    wf__ir_free(&o.ir);
    g->node[r].v = result;
}

void wf__ptx_join(gen *g, const val *others)
{
    const wf__ir *body = g->ir;
    for (uint32_t k = 0; k < body->red_n; ++k) {
        const wf__reduction *red = &body->red[k];
        if (red->join == WF_JOIN_CUSTOM)
            continue;
        val x[3] = { g->acc[k], others[k], others[k] };
        EMIT(g, "mov.$1 $0, $2", g->acc[k], wf__ptx_bits(red->dtype),
             wf__ptx_op(g, wf__join_op((wf_join)red->join), red->dtype, x));
    }
    if (!body->joiner)
        return;
    val *arg = wf__alloc(2 * body->red_n * sizeof *arg);
    other o;
    if (!arg) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    memcpy(arg, g->acc, body->red_n * sizeof *arg);
    memcpy(arg + body->red_n, others, body->red_n * sizeof *arg);
    if (enter(g, body->joiner, arg, &o)) {
        const wf__ir *ir = g->ir;
        wf__ptx_walk(g, 1, g->ir->n);
        for (wf__ref r = 1; r < ir->n; ++r) /* what is joined reads all accumulators as they were */
            if (ir->node[r].op == WF__SETRED)
                g->node[r].v = copied(g, ir->node[r].dtype, wf__ptx_use(g, ir->node[r].c));
        for (wf__ref r = 1; r < ir->n; ++r)
            if (ir->node[r].op == WF__SETRED)
                EMIT(g, "mov.$1 $0, $2", g->acc[ir->node[r].a], wf__ptx_bits(ir->node[r].dtype), g->node[r].v);
    }
    leave(g, &o);
    wf__free(arg);
}

/* ---- nodes ---- */
void wf__ptx_post(gen *g, val leads)
{
    const wf__ir *ir = g->options->post;
    val over = wf__ptx_new_label(g), index[WF_MAX_RANK];
    other o;
    memcpy(index, g->index, sizeof index);
    EMIT(g, "@!$0 bra $1", leads, over);
    for (int d = 0; d < ir->rank; ++d) {
        g->index[d] = wf__ptx_new_index(g);
        EMIT(g, "mov.$1 $0, 0", g->index[d], wf__ptx_bits(wf__ptx_index_dtype(g)));
    }
    if (enter(g, ir, NULL, &o)) {
        g->post = true;
        wf__ptx_walk(g, 1, ir->n);
        g->post = false;
    }
    leave(g, &o);
    memcpy(g->index, index, sizeof index);
    wf__ptx_label(g, over);
}

/* A parameter that an earlier kernel has computed. */
static val result(gen *g, const wf__node *n)
{
    val at = wf__ptx_reg(g, V_D), none = { 0 },
        v = n->dtype == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, n->dtype);
    int64_t k = (int64_t)n->a + 1 - g->options->results;
    EMIT(g, "add.u64 $0, $1, $2", at, wf__ptx_field_value(g, WF__PTX_RESULTS, 0, 0, false), v_int(8 * k));
    wf__ptx_load_element(g, n->dtype, at, "global", none, v, none);
    if (n->dtype != WF_BOOL)
        return v;
    val p = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.ne.s32 $0, $1, 0", p, v);
    return p;
}

/* Of a value that is there before the kernel's code. */
static void leaf(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    bool later = n->op == WF__PARAM && g->options->results && n->a + 1 >= g->options->results;
    if (later && g->post) {
        g->node[r].v = g->acc[n->a + 1 - g->options->results];
        return;
    }
    wf__str *out = g->out;
    bool low = g->node[r].narrow;
    g->out = &g->head;
    g->node[r].in_head = true;
    if (n->op == WF__CONST)
        g->node[r].v = wf__ptx_const(g, n->dtype, wf__bits(n));
    else if (n->op == WF__EXTENT)
        g->node[r].v = wf__ptx_field_value(g, WF__PTX_EXTENT, 0, (int)n->a, low);
    else if (n->op == WF__DIM)
        g->node[r].v = wf__ptx_field_value(g, WF__PTX_DIM, n->a, (int)n->b, low);
    else if (later)
        g->node[r].v = result(g, n);
    else { /* a parameter: its value in the low bytes */
        val v = wf__ptx_field_value(g, WF__PTX_PARAM, n->a, 0, !wf__ptx_wide(n->dtype));
        wf__ptx_kind kind = wf__ptx_class(n->dtype);
        if (kind == V_H || kind == V_P) {
            g->node[r].v = wf__ptx_reg(g, kind);
            if (kind == V_P)
                EMIT(g, "and.b32 $0, $0, 255", v);
            EMIT(g, kind == V_H ? "cvt.u16.u32 $0, $1" : "setp.ne.s32 $0, $1, 0", g->node[r].v, v);
        } else
            g->node[r].v = v;
        wf__ptx_normalise(g, n->dtype, v);
    }
    g->out = out;
}

static void structural(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    switch (n->op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__EXTENT:
    case WF__DIM:
        leaf(g, r);
        break;
    case WF__INDEX:
        g->node[r].v = g->index[n->a];
        g->node[r].narrow = g->options->narrow;
        break;
    case WF__THREAD:
        g->node[r].v = g->thread[n->a][n->aux];
        g->node[r].narrow = g->options->narrow;
        break;
    case WF__BARRIER:
        EMIT(g, "bar.sync $0", v_int(0));
        break;
    case WF__ARG:
        g->node[r].v = g->arg[n->a];
        break;
    case WF__LOAD:
        if (!wf__ptx_wide_node(g, r))
            wf__ptx_load(g, r);
        break;
    case WF__STORE:
        if (!wf__ptx_wide_node(g, r))
            wf__ptx_store(g, n);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        wf__ptx_update(g, r);
        break;
    case WF__RED: /* what it holds now: another one may be set to that after it was set itself */
        g->node[r].v = copied(g, n->dtype, g->acc[n->a]);
        break;
    case WF__SETRED:
        if (!g->inner) /* a joiner's come at its end */
            EMIT(g, g->mask.kind == V_NONE ? "mov.$1 $0, $2" : "@$3 mov.$1 $0, $2", g->acc[n->a],
                 wf__ptx_bits(n->dtype), wf__ptx_use(g, n->c), g->mask);
        break;
    case WF__COLD:
        cold(g, r);
        break;
    default:
        break;
    }
}

void wf__ptx_walk(gen *g, wf__ref from, wf__ref to)
{
    loop open[WF__MOST_NESTED + 1];
    int depth = 0;
    for (wf__ref r = from; r < to && g->status == WF_OK; ++r) {
        unsigned op = g->ir->node[r].op;
        if (op == WF__LOOP)
            open_loop(g, r, &open[depth++]);
        else if (op == WF__END)
            close_loop(g, r, &open[--depth]);
        else if (op == WF__STATE || op == WF__NEXT || op == WF__NOP || g->node[r].in_head)
            continue; /* or it is there from an earlier walk */
        else if (op == WF__CHECK)
            check(g, r);
        else if (wf__op_is_pure(op))
            pure(g, r);
        else if (!wf__ptx_packet_node(g, r))
            structural(g, r);
    }
}
