/* verify.c - checks every invariant that ir.h states. Debug builds run it at the stations of planning (plan.c); the
 * parser runs it always. */
#include "ir/pass/pass.h"

typedef struct checker {
    const wf__ir *ir;
    wf__str *error;
    wf__ref at;
    wf__ir closed;                 /* only its list of bodies that have ended */
    wf__ref open[WF__MOST_NESTED]; /* loops around */
    uint32_t depth;
} checker;

static bool bad(const checker *c, const char *what)
{
    wf__str_addf(c->error, "node %%%u (%s): %s", (unsigned)c->at, wf__op_table[c->ir->node[c->at].op].name, what);
    return false;
}

/* An operand: an earlier node that has a value. */
static bool value(const checker *c, wf__ref r)
{
    if (!r || r >= c->at)
        return bad(c, "an operand is not an earlier node");
    unsigned op = c->ir->node[r].op;
    if (wf__is_closed(&c->closed, r))
        return bad(c, "an operand belongs to a loop that has ended");
    return wf__op_has_value(op) || bad(c, "an operand has no value");
}

static bool value_of(const checker *c, wf__ref r, unsigned dtype)
{
    return value(c, r) && (c->ir->node[r].dtype == dtype || bad(c, "an operand's dtype"));
}

static bool check_tuple(const checker *c, uint32_t tuple, uint32_t want)
{
    const wf__ir *ir = c->ir;
    if (tuple >= ir->tuple_n && tuple)
        return bad(c, "unknown index list");
    if (tuple && wf__tuple_len(ir, tuple) != want)
        return bad(c, "as many indices as the array has axes");
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i) {
        wf__ref r = wf__tuple_at(ir, tuple)[i];
        if (!value(c, r))
            return false;
        if (ir->node[r].dtype != WF_I64)
            return bad(c, "indices must be i64");
    }
    return true;
}

static bool check_memory(const checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    if (n->a >= ir->slot_n)
        return bad(c, "unknown slot");
    const wf__slot *s = &ir->slot[n->a];
    if (n->op == WF__DIM)
        return (n->b < s->rank && n->dtype == WF_I64) || bad(c, "axis out of range");
    if (n->dtype != s->dtype)
        return bad(c, "dtype differs from the slot's");
    if (!check_tuple(c, n->b, s->rank))
        return false;
    if (n->op == WF__LOAD)
        return (n->aux < WF__BORDERS || bad(c, "border")) && (!wf__otherwise(ir, n) || value_of(c, n->c, n->dtype)) &&
               (!wf__when(ir, n) || value_of(c, wf__when(ir, n), WF_BOOL));
    return value_of(c, n->c, n->dtype) && (!n->d || value_of(c, n->d, WF_BOOL));
}

static bool check_update(const checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    if (n->a >= ir->slot_n)
        return bad(c, "unknown slot");
    const wf__slot *s = &ir->slot[n->a];
    if (n->dtype != s->dtype)
        return bad(c, "dtype differs from the slot's");
    if (!n->b && s->rank)
        return bad(c, "an index is missing");
    if (!check_tuple(c, n->b, s->rank) || (n->d && !value_of(c, n->d, WF_BOOL)))
        return false;
    if (s->spread && (n->op != WF__ACCUM || (!s->shared && wf__node_mode(n) != WF__MODE_EXPAND)))
        return bad(c, "private memory");
    if (n->op == WF__CAS)
        return (n->c && n->c < ir->tuple_n - 2 && wf__tuple_len(ir, n->c) == 2 && wf__size(n->dtype) <= 8 &&
                value_of(c, wf__tuple_at(ir, n->c)[0], n->dtype) && value_of(c, wf__tuple_at(ir, n->c)[1], n->dtype)) ||
               bad(c, "a pair of values");
    unsigned join = wf__node_join(n), mode = wf__node_mode(n);
    bool moves = n->op == WF__ATOMIC && join == WF_JOIN_EXCH && wf__size(n->dtype) <= 8;
    if (mode > (n->op == WF__ACCUM ? WF__MODE_ALONE : 0) || (!moves && !wf__updates(join, n->dtype)) ||
        (n->op == WF__ATOMIC && !moves && wf__is_complex(n->dtype)))
        return bad(c, "a join that its dtype does not have");
    return value_of(c, n->c, wf__update_dtype(n->dtype, join));
}

static bool check_pure(const checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    const wf__op_info *info = &wf__op_table[n->op];
    const wf__ref refs[3] = { n->a, n->b, n->c };
    for (unsigned i = 0; i < info->arity; ++i)
        if (!value(c, refs[i]))
            return false;
    unsigned last = ir->node[refs[info->arity - 1]].dtype;
    if (n->op == WF__CAST)
        return !wf__is_complex(n->dtype) && !wf__is_complex(last) ? true : bad(c, "dtype");
    if (wf__op_is_parts(n->op)) {
        bool pair = n->op == WF__OP_complex;
        unsigned whole = pair ? n->dtype : last, own = wf__part_dtype(whole);
        return (own && (pair ? last == own && wf__dtype(ir, n->a) == own : n->dtype == own)) || bad(c, "parts");
    }
    if (n->op == WF__CHECK)
        return (wf__dtype(ir, n->a) == WF_BOOL && last == WF_I64 && n->dtype == WF_I64 && n->aux <= 1) ||
               bad(c, "operands");
    if (n->op == WF__BITCAST)
        return (wf__size(last) == wf__size(n->dtype) && last != WF_BOOL && n->dtype != WF_BOOL) ||
               bad(c, "sizes differ");
    if (!wf__types_allow(info->types, last) || n->dtype != (info->to_bool ? WF_BOOL : last))
        return bad(c, "dtype");
    bool first_bool = info->types == WF__T_FIRST_BOOL;
    for (unsigned i = 0; i < info->arity; ++i)
        if (ir->node[refs[i]].dtype != (first_bool && i == 0 ? WF_BOOL : last))
            return bad(c, "operand dtypes differ");
    return true;
}

static bool check_loop(checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    wf__ref inner = c->depth ? c->open[c->depth - 1] : 0;
    const wf__node *before = &ir->node[c->at - 1];
    switch (n->op) {
    case WF__LOOP:
        if (c->depth == WF__MOST_NESTED)
            return bad(c, "loops are nested too deep");
        c->open[c->depth++] = c->at;
        return n->aux <= 1 || bad(c, "unknown kind");
    case WF__STATE:
        if (n->a != inner || !(c->at - 1 == inner || before->op == WF__STATE) || (n->aux && n->dtype != WF_BOOL))
            return bad(c, "not a state of the loop that begins here");
        return value_of(c, n->b, n->dtype) && (n->b < inner || bad(c, "an initial value of the loop's own"));
    case WF__NEXT:
        if (n->a >= c->at || ir->node[n->a].op != WF__STATE || ir->node[n->a].a != inner)
            return bad(c, "not of a state of this loop");
        if (ir->node[inner].aux && ir->node[n->a].aux && !wf__is_const(ir, n->b, 0))
            return bad(c, "a condition that goes on");
        return value_of(c, n->b, n->dtype) && n->dtype == ir->node[n->a].dtype;
    default: /* END */
        if (!inner || n->a != inner || (before->op != WF__NEXT))
            return bad(c, "no loop of this number ends here");
        --c->depth;
        wf__close_range(&c->closed, wf__loop_body(ir, inner), c->at);
        c->error->failed |= c->closed.status != WF_OK;
        return c->closed.status == WF_OK || bad(c, "out of memory");
    }
}

/* Every state has one NEXT, and the loop's guards are among them. */
static bool check_nexts(const checker *c)
{
    const wf__ir *ir = c->ir;
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__LOOP) {
            wf__ref end = wf__loop_end(ir, r), first = end;
            bool guard = false;
            while (ir->node[first - 1].op == WF__NEXT)
                --first;
            if (end - first != wf__loop_body(ir, r) - r - 1)
                return bad(c, "states and next values differ in number");
            for (wf__ref s = r + 1; s < wf__loop_body(ir, r); ++s) {
                uint32_t nexts = 0;
                guard = guard || ir->node[s].aux;
                for (wf__ref q = first; q < end; ++q)
                    nexts += ir->node[q].a == s;
                if (nexts != 1)
                    return bad(c, "a state needs one next value");
            }
            if (!guard)
                return bad(c, "a loop without a guard");
        }
    return true;
}

static bool check_view(const checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    if (!ir->arrays || n->aux > WF__VIEW_GATHER || (n->c && n->aux != WF__VIEW_GATHER))
        return bad(c, "unknown kind");
    if (!value_of(c, n->a, n->dtype) || (n->c && !value_of(c, n->c, n->dtype)))
        return false;
    const wf_shape *in = &ir->shape[ir->node[n->a].shape];
    if (n->aux == WF__VIEW_GATHER)
        return n->b ? check_tuple(c, n->b, (uint32_t)in->rank) : bad(c, "as many indices as the value has axes");
    if (n->b >= ir->tuple_n || !check_tuple(c, n->b, wf__tuple_len(ir, n->b)))
        return bad(c, "its numbers");
    for (uint32_t i = 0; i < wf__tuple_len(ir, n->b); ++i)
        if (ir->node[wf__tuple_at(ir, n->b)[i]].op != WF__CONST)
            return bad(c, "its numbers must be constants");
    int64_t numbers[WF__MAX_OPERANDS];
    uint32_t count = wf__tuple_len(ir, n->b) <= WF_MAX_RANK ? wf__view_numbers(ir, n, numbers) : UINT32_MAX;
    return count <= WF_MAX_RANK && wf__view_fits(n->aux, numbers, count, in) ? true : bad(c, "its numbers");
}

static bool check_structural(checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    if (wf__is_loop_op(n->op))
        return check_loop(c, n);
    switch (n->op) {
    case WF__NOP:
        return true;
    case WF__CONST: {
        unsigned bits = n->dtype == WF_BOOL ? 1 : 8 * wf__size(n->dtype);
        return wf__is_complex(n->dtype)
                   ? bad(c, "a complex constant")
                   : bits == 64 || wf__bits(n) >> bits == 0 || bad(c, "a constant wider than its dtype");
    }
    case WF__PARAM:
        return (n->a < ir->param_n && ir->param[n->a] == n->dtype) || bad(c, "unknown parameter");
    case WF__INDEX:
    case WF__EXTENT:
        return (n->dtype == WF_I64 && (int64_t)n->a < ir->rank) || bad(c, "axis out of range");
    case WF__THREAD:
        return (n->dtype == WF_I64 && n->aux <= 1 && ((int64_t)n->a < ir->rank || n->a == WF_MAX_RANK)) ||
               bad(c, "axis out of range");
    case WF__BARRIER:
        return n->aux <= 2 || bad(c, "section");
    case WF__IOTA:
        return (n->dtype == WF_I64 && ir->arrays && n->shape < ir->shape_n &&
                (int64_t)n->a < ir->shape[n->shape].rank) ||
               bad(c, "axis out of range");
    case WF__ARG:
        return n->a < 8 || bad(c, "argument out of range");
    case WF__DIM:
    case WF__LOAD:
    case WF__STORE:
        return check_memory(c, n);
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        return check_update(c, n);
    case WF__RED:
    case WF__SETRED:
        if (n->a >= ir->red_n || ir->red[n->a].dtype != n->dtype || n->b >= ir->red[n->a].instances)
            return bad(c, "unknown reduction");
        return n->op == WF__RED || value_of(c, n->c, n->dtype);
    case WF__VIEW:
        return check_view(c, n);
    case WF__SCAN:
        if (!ir->arrays || n->b < WF_JOIN_ADD || n->b > WF_JOIN_XOR || n->aux > (WF__EXCLUSIVE | WF__REVERSED))
            return bad(c, "operands");
        return value_of(c, n->a, n->dtype) &&
               (n->c < (uint32_t)ir->shape[ir->node[n->a].shape].rank || bad(c, "axis out of range"));
    case WF__REDUCE:
        if (!ir->arrays || n->b < WF_JOIN_ADD || n->b > WF_JOIN_XOR ||
            (wf__is_complex(n->dtype) && n->b != WF_JOIN_MUL))
            return bad(c, "operands");
        return value_of(c, n->a, n->dtype) &&
               (n->c >> ir->shape[ir->node[n->a].shape].rank == 0 || bad(c, "axes out of range"));
    case WF__COLD:
        if (!value_of(c, n->a, WF_BOOL) || !value_of(c, n->b, n->dtype))
            return false;
        if (n->d >= ir->tuple_n || n->c == WF__COLD_NONE || n->c >= WF__COLD_COUNT)
            return bad(c, "unknown body");
        for (uint32_t i = 0; i < wf__tuple_len(ir, n->d); ++i)
            if (!value(c, wf__tuple_at(ir, n->d)[i]))
                return false;
        return true;
    default:
        return bad(c, "unknown node");
    }
}

static bool check_reductions(const wf__ir *ir, wf__str *error)
{
    if (ir->kept && ir->kept >= ir->rank) {
        wf__str_add(error, "no axis is reduced");
        return false;
    }
    for (uint32_t k = 0; k < ir->red_n; ++k) {
        unsigned op = wf__join_op((wf_join)ir->red[k].join);
        bool custom = ir->red[k].join == WF_JOIN_CUSTOM && ir->joiner;
        bool fits = custom || (op && wf__types_allow(wf__op_table[op].types, ir->red[k].dtype));
        if (!fits || wf__is_half(ir->red[k].dtype) || wf__is_complex(ir->red[k].dtype)) {
            wf__str_addf(error, "reduction %u: a join that its dtype does not have", (unsigned)k);
            return false;
        }
    }
    return true;
}

static bool check_node(checker *c)
{
    const wf__ir *ir = c->ir;
    const wf__node *n = &ir->node[c->at];
    if (n->op != WF__NOP && !wf__computable((wf_dtype)n->dtype))
        return bad(c, "dtype");
    bool predicate = n->op == WF__LOAD && !ir->arrays;
    if (!predicate && (n->shape >= ir->shape_n || (n->shape && !ir->arrays)))
        return bad(c, "shape");
    return wf__op_is_pure(n->op) ? check_pure(c, n) : check_structural(c, n);
}

bool wf__verify(const wf__ir *ir, wf__str *error)
{
    checker c = { .ir = ir, .error = error };
    if (ir->status != WF_OK) {
        wf__str_add(error, ir->error);
        return false;
    }
    bool ok = check_reductions(ir, error);
    for (c.at = 1; ok && c.at < ir->n; ++c.at) {
        if (ir->node[c.at].op >= WF__OP_COUNT) {
            c.at = 0;
            ok = bad(&c, "unknown operation");
            break;
        }
        ok = check_node(&c);
    }
    if (ok && c.depth) {
        c.at = c.open[c.depth - 1];
        ok = bad(&c, "a loop that does not end");
    }
    if (ok && ir->loops) {
        c.at = 1;
        ok = check_nexts(&c);
    }
    wf__free(c.closed.closed);
    return ok;
}
