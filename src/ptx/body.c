/* body.c - walks the nodes of a body in order and emits each. Loops and cold paths become branches that each thread
 * takes on its own. Values that depend on parameters, extents and constants alone go to the head of the kernel, before
 * any loop. */
#include "ptx/gen.h"

static val copy_value(gen *g, unsigned dtype, val v)
{
    val r = wf__ptx_new(g, dtype);
    EMIT(g, "mov.$1 $0, $2", r, wf__ptx_bits(dtype), v);
    return r;
}

/* ---- pure operations ---- */
static bool is_narrow_op(const gen *g, const wf__node *n, unsigned dtype)
{
    unsigned arity = wf__arity(n->op);
    const wf__ref x[3] = { n->a, n->b, n->c };
    bool compares = n->op >= WF__OP_eq && n->op <= WF__OP_ge;
    if (dtype != WF_I64)
        return false;
    for (unsigned i = 0; i < arity; ++i)
        if (wf__dtype(g->ir, x[i]) == WF_I64 && !g->node[x[i]].narrow)
            return false;
    return compares || n->dtype == WF_I64;
}

static void select_complex(gen *g, wf__ref r, unsigned part, const val x[3])
{
    const wf__node *n = wf__at(g->ir, r);
    g->node[r].v = wf__ptx_select(g, part, x[0], x[1], x[2]);
    g->node[r].more = wf__ptx_select(g, part, x[0], g->node[n->b].more, g->node[n->c].more);
}

static void emit_pure(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    unsigned arity = wf__arity(n->op);
    const wf__ref from[3] = { n->a, n->b, n->c };
    unsigned dtype = wf__dtype(g->ir, wf__last_operand(n));
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
                                 : n->op != WF__BITCAST && is_narrow_op(g, n, dtype) && (narrow || n->dtype != WF_I64);
    for (unsigned i = 0; i < arity; ++i)
        x[i] = low ? g->node[from[i]].v : wf__ptx_use(g, from[i]);
    dtype = low ? WF_I32 : dtype;
    switch ((wf__op)n->op) {
    case WF__CAST:
        g->node[r].v = wf__ptx_cast(g, narrow ? WF_I32 : n->dtype, dtype, x[0]);
        break;
    case WF__BITCAST:
        g->node[r].v = wf__ptx_bitcast(g, n->dtype, dtype, x[0]);
        break;
#include "ir/case_ops.def"
        if (n->op == WF__OP_select && wf__is_complex(dtype))
            select_complex(g, r, wf__part_dtype(dtype), x);
        else
            g->node[r].v = wf__ptx_op(g, n->op, dtype, x);
        break;
    case WF__CHECK: /* emit_check */
#include "ir/case_not_pure.def"
        break;
    }
    g->out = out;
}

static void emit_check(gen *g, wf__ref r)
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

/* Gives node r new registers with the value of node `from`. */
static void copy_node(gen *g, wf__ref r, wf__ref from)
{
    unsigned t = g->ir->node[r].dtype;
    bool pair = wf__is_complex(t);
    g->node[r].v = copy_value(g, pair ? wf__part_dtype(t) : t, wf__ptx_use(g, from));
    if (pair)
        g->node[r].more = copy_value(g, wf__part_dtype(t), g->node[from].more);
}

static void open_loop(gen *g, wf__ref r, loop *l)
{
    const wf__ir *ir = g->ir;
    val on = { 0 };
    *l = (loop){ .at = r, .again = wf__ptx_new_label(g), .done = wf__ptx_new_label(g) };
    for (wf__ref s = r + 1; ir->node[s].op == WF__STATE; ++s)
        if (!wf__local_of(ir, s))
            copy_node(g, s, ir->node[s].b);
    wf__ptx_place_label(g, l->again);
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
    else /* no state keeps the loop running */
        EMIT(g, "bra $0", l->done);
}

static void close_loop(gen *g, wf__ref end, const loop *l)
{
    const wf__ir *ir = g->ir;
    wf__ref first = end;
    while (ir->node[first - 1].op == WF__NEXT)
        --first;
    for (wf__ref n = first; n < end; ++n) /* states change together, after all next values are read */
        if (!wf__local_of(ir, ir->node[n].a))
            copy_node(g, n, ir->node[n].b);
    for (wf__ref n = first; n < end; ++n) {
        wf__ref state = ir->node[n].a;
        if (wf__local_of(ir, state))
            continue;
        EMIT(g, "mov.$1 $0, $2", g->node[state].v, wf__ptx_bits(ir->node[n].dtype), g->node[n].v);
        if (wf__is_complex(ir->node[n].dtype))
            EMIT(g, "mov.$1 $0, $2", g->node[state].more, wf__ptx_bits(ir->node[n].dtype), g->node[n].more);
    }
    if (!ir->node[l->at].aux)
        EMIT(g, "bra $0", l->again);
    wf__ptx_place_label(g, l->done);
    wf__ptx_forget(g, l->widened);
}

/* ---- other bodies ---- */
typedef struct saved_body {
    wf__ir ir;
    const wf__ir *old;
    void *node;
    uint32_t *widened, widened_n;
    const val *arg;
    bool inner;
} saved_body;

/* Switches to another IR, called with these arguments. False = out of memory. leave_body follows in either case. */
static bool enter_body(gen *g, const wf__ir *ir, const val *arg, saved_body *o)
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

static void leave_body(gen *g, const saved_body *o)
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

static void emit_cold(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    const wf__ir *ir = g->ir;
    wf__ref args[MOST_ARGS] = { 0 };
    val given[MOST_ARGS];
    uint32_t count = wf__tuple_len(ir, n->d);
    saved_body o;
    val result = copy_value(g, n->dtype, wf__ptx_use(g, n->b)), over = wf__ptx_new_label(g);
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
        if (enter_body(g, &o.ir, given, &o)) {
            wf__ptx_walk(g, 1, g->ir->n);
            EMIT(g, "mov.$1 $0, $2", result, wf__ptx_bits(n->dtype), wf__ptx_use(g, slow));
        }
        leave_body(g, &o);
    }
    wf__ptx_place_label(g, over);
    wf__ir_free(&o.ir);
    g->node[r].v = result;
}

void wf__ptx_join_accumulators(gen *g, const val *others)
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
    saved_body o;
    if (!arg) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    memcpy(arg, g->acc, body->red_n * sizeof *arg);
    memcpy(arg + body->red_n, others, body->red_n * sizeof *arg);
    if (enter_body(g, body->joiner, arg, &o)) {
        const wf__ir *ir = g->ir;
        wf__ptx_walk(g, 1, g->ir->n);
        for (wf__ref r = 1; r < ir->n; ++r) /* every join reads the accumulators before any of them changes */
            if (ir->node[r].op == WF__SETRED)
                g->node[r].v = copy_value(g, ir->node[r].dtype, wf__ptx_use(g, ir->node[r].c));
        for (wf__ref r = 1; r < ir->n; ++r)
            if (ir->node[r].op == WF__SETRED)
                EMIT(g, "mov.$1 $0, $2", g->acc[ir->node[r].a], wf__ptx_bits(ir->node[r].dtype), g->node[r].v);
    }
    leave_body(g, &o);
    wf__free(arg);
}

/* ---- nodes ---- */
void wf__ptx_emit_post(gen *g, val leads)
{
    const wf__ir *ir = g->options->post;
    val over = wf__ptx_new_label(g), index[WF_MAX_RANK];
    saved_body o;
    memcpy(index, g->index, sizeof index);
    EMIT(g, "@!$0 bra $1", leads, over);
    for (int d = 0; d < ir->rank; ++d) {
        g->index[d] = wf__ptx_new_index(g);
        EMIT(g, "mov.$1 $0, 0", g->index[d], wf__ptx_bits(wf__ptx_index_dtype(g)));
    }
    if (enter_body(g, ir, NULL, &o)) {
        g->post = true;
        wf__ptx_walk(g, 1, ir->n);
        g->post = false;
    }
    leave_body(g, &o);
    memcpy(g->index, index, sizeof index);
    wf__ptx_place_label(g, over);
}

static void emit_structural(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    switch ((wf__op)n->op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__EXTENT:
    case WF__DIM:
        wf__ptx_set_leaf(g, r);
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
        if (!wf__ptx_emit_wide(g, r))
            wf__ptx_load(g, r);
        break;
    case WF__STORE:
        if (!wf__ptx_emit_wide(g, r))
            wf__ptx_store(g, n);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        wf__ptx_update(g, r);
        break;
    case WF__RED: /* a copy: the accumulator may change before a use of this node */
        g->node[r].v = copy_value(g, n->dtype, g->acc[n->a]);
        break;
    case WF__SETRED:
        if (!g->inner) /* wf__ptx_join_accumulators handles those of a joiner */
            EMIT(g, g->mask.kind == V_NONE ? "mov.$1 $0, $2" : "@$3 mov.$1 $0, $2", g->acc[n->a],
                 wf__ptx_bits(n->dtype), wf__ptx_use(g, n->c), g->mask);
        break;
    case WF__COLD:
        emit_cold(g, r);
        break;
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
        wf__ptx_local(g, r);
        break;
    case WF__NOP:
    case WF__LOOP: /* wf__ptx_walk emits loops and what computes */
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
    case WF__DERIVED: /* not in plans */
#include "ir/case_graphs.def"
#include "ir/case_pure.def"
        break;
    }
}

void wf__ptx_walk(gen *g, wf__ref from, wf__ref to)
{
    loop open[WF__MOST_NESTED + 1];
    int depth = 0;
    for (wf__ref r = from; r < to && wf__ptx_is_sound(g); ++r) {
        unsigned op = g->ir->node[r].op;
        if (op == WF__LOOP)
            open_loop(g, r, &open[depth++]);
        else if (op == WF__END) {
            WF__ASSERT(depth > 0);
            close_loop(g, r, &open[--depth]);
        } else if (op == WF__STATE || op == WF__NEXT || op == WF__NOP || g->node[r].in_head)
            continue; /* open_loop, close_loop or an earlier walk has emitted it */
        else if (op == WF__CHECK)
            emit_check(g, r);
        else if (wf__op_is_pure(op))
            emit_pure(g, r);
        else if (!wf__ptx_emit_packet(g, r))
            emit_structural(g, r);
    }
}
