/* verify.c - checks every invariant that ir.h states. Debug builds run the checks between passes of planning; the
 * parser always runs them. */
#include "ir/ir.h"

typedef struct checker {
    const wf__ir *ir;
    wf__str *error;
    wf__ref at;
    wf__ir closed;                 /* only its list of bodies that have ended */
    wf__ref open[WF__MOST_NESTED]; /* the LOOPs around the node */
    uint32_t depth;
} checker;

static bool bad(const checker *c, const char *what)
{
    wf__str_addf(c->error, "node %%%u (%s): %s", (unsigned)c->at, wf__op_table[c->ir->node[c->at].op].name, what);
    return false;
}

/* True if r is a valid operand: an earlier node that has a value. */
static bool value(const checker *c, wf__ref r)
{
    if (!r || r >= c->at)
        return bad(c, "an operand is not an earlier node");
    unsigned op = c->ir->node[r].op;
    if (wf__is_closed(&c->closed, r) && op != WF__SCATTER) /* as wf__is_hidden */
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

/* ---- one field ---- */
static bool check_bits(const checker *c, const wf__node *n)
{
    unsigned bits = n->dtype == WF_BOOL ? 1 : 8 * wf__size(n->dtype);
    if (wf__is_complex(n->dtype))
        return bad(c, "a complex constant");
    return bits == 64 || wf__bits(n) >> bits == 0 || bad(c, "a constant wider than its dtype");
}

static bool check_values(const checker *c, uint32_t tuple)
{
    if (tuple >= c->ir->tuple_n)
        return bad(c, "unknown list");
    for (uint32_t i = 0; i < wf__tuple_len(c->ir, tuple); ++i)
        if (!value(c, wf__tuple_at(c->ir, tuple)[i]))
            return false;
    return true;
}

static bool check_pair(const checker *c, const wf__node *n, uint32_t tuple)
{
    const wf__ir *ir = c->ir;
    return (tuple && tuple < ir->tuple_n - 2 && wf__tuple_len(ir, tuple) == 2 && wf__size(n->dtype) <= 8 &&
            value_of(c, wf__tuple_at(ir, tuple)[0], n->dtype) && value_of(c, wf__tuple_at(ir, tuple)[1], n->dtype)) ||
           bad(c, "a pair of values");
}

static bool check_slot(const checker *c, const wf__node *n, uint32_t slot)
{
    if (slot >= c->ir->slot_n)
        return bad(c, "unknown slot");
    return !wf__op_is_access(n->op) || n->dtype == c->ir->slot[slot].dtype || bad(c, "dtype differs from the slot's");
}

static bool check_update_join(const checker *c, const wf__node *n, unsigned join)
{
    bool moves = n->op == WF__ATOMIC && join == WF_JOIN_EXCH && wf__size(n->dtype) <= 8;
    return moves || (wf__updates(join, n->dtype) && !(n->op == WF__ATOMIC && wf__is_complex(n->dtype))) ||
           bad(c, "a join that its dtype does not have");
}

static int64_t rank_of_value(const checker *c, const wf__node *n)
{
    return n->a < c->at ? c->ir->shape[c->ir->node[n->a].shape].rank : 0;
}

/* Checks a field alone, and together with the fields in front of it in the row. */
static bool check_field(const checker *c, const wf__node *n, wf__field f)
{
    const wf__ir *ir = c->ir;
    const uint32_t x = wf__field_of(ir, n, f.at), most = wf__field_table[f.kind].number;
    const bool i64 = n->dtype == WF_I64;
    switch ((wf__field_kind)f.kind) {
    case WF__BITS_FIELD:
        return check_bits(c, n);
    case WF__HIGH_BITS_FIELD: /* checked with BITS */
    case WF__EPOCH_FIELD:
    case WF__STORED_EPOCH_FIELD:
    case WF__NUMBER_FIELD:
        return true;
    case WF__VALUE_FIELD:
        return value_of(c, x, n->dtype);
    case WF__OPERAND_FIELD:
        return value(c, x);
    case WF__TEST_FIELD:
        return value_of(c, x, WF_BOOL);
    case WF__JOINED_FIELD:
        return value_of(c, x, wf__update_dtype(n->dtype, wf__node_join(n)));
    case WF__STATE_FIELD:
        return value(c, x) && (ir->node[x].op == WF__STATE || bad(c, "not a state"));
    case WF__OTHER_FIELD:
        return !x || value_of(c, x, n->dtype);
    case WF__CONDITION_FIELD:
        return !x || value_of(c, x, WF_BOOL);
    case WF__INDICES_FIELD:
        return check_tuple(c, x, ir->slot[n->a].rank);
    case WF__NUMBERS_FIELD: /* check_view */
    case WF__ARGUMENTS_FIELD:
        return check_values(c, x);
    case WF__PAIR_FIELD:
        return check_pair(c, n, x);
    case WF__LOOP_FIELD:
        return (x && x < c->at && ir->node[x].op == WF__LOOP) || bad(c, "no loop of this number");
    case WF__SLOT_FIELD:
        return check_slot(c, n, x);
    case WF__PARAMETER_FIELD:
        return (x < ir->param_n && ir->param[x] == n->dtype) || bad(c, "unknown parameter");
    case WF__AXIS_FIELD:
        return (i64 && (int64_t)x < ir->rank) || bad(c, "axis out of range");
    case WF__SLOT_AXIS_FIELD:
        return (i64 && x < ir->slot[n->a].rank) || bad(c, "axis out of range");
    case WF__SHAPE_AXIS_FIELD:
        return (i64 && (int64_t)x < ir->shape[n->shape].rank) || bad(c, "axis out of range");
    case WF__THREAD_AXIS_FIELD:
        return (i64 && ((int64_t)x < ir->rank || x == WF_MAX_RANK)) || bad(c, "axis out of range");
    case WF__VALUE_AXIS_FIELD:
        return (int64_t)x < rank_of_value(c, n) || bad(c, "axis out of range");
    case WF__AXES_FIELD:
        return (uint64_t)x >> rank_of_value(c, n) == 0 || bad(c, "axes out of range");
    case WF__ELEMENTS_FIELD:
        return (x && x <= WF__MOST_LOCAL && !(x & (x - 1))) || bad(c, "no power of two");
    case WF__LOCAL_FIELD:
        return value_of(c, x, n->dtype) && (wf__local_of(ir, x) || bad(c, "not local memory"));
    case WF__ELEMENT_FIELD:
        return value_of(c, x, WF_U32);
    case WF__COLD_BODY_FIELD:
        return (x != WF__COLD_NONE && x < WF__COLD_COUNT) || bad(c, "unknown body");
    case WF__REDUCTION_FIELD:
        return (x < ir->red_n && ir->red[x].dtype == n->dtype) || bad(c, "unknown reduction");
    case WF__INSTANCE_FIELD:
        return x < ir->red[n->a].instances || bad(c, "unknown reduction");
    case WF__ARGUMENT_FIELD:
    case WF__COUNT_FIELD:
    case WF__SECTION_FIELD:
        return x < most || bad(c, "a number out of range");
    case WF__JOIN_FIELD:
        return (x >= WF_JOIN_ADD && x <= WF_JOIN_XOR) || bad(c, "operands");
    case WF__SCATTER_JOIN_FIELD:
        return x == 0 || (x >= WF_JOIN_MUL && x <= WF_JOIN_MAX && !wf__is_complex(n->dtype)) || bad(c, "a join");
    case WF__UPDATE_JOIN_FIELD:
        return check_update_join(c, n, x);
    case WF__MODE_FIELD:
        return x < WF__MODES || bad(c, "unknown mode");
    case WF__BORDER_FIELD:
        return x < WF__BORDERS || bad(c, "border");
    case WF__VIEW_KIND_FIELD:
        return x < WF__VIEWS || bad(c, "unknown kind");
    case WF__ONCE_FIELD:
    case WF__GUARD_FIELD:
    case WF__WRITES_FIELD:
    case WF__EXCLUSIVE_FIELD:
    case WF__REVERSED_FIELD: /* check_fields rejects other bits */
        return true;
    }
    return bad(c, "unknown field");
}

/* Checks that the fields of the row have valid values, and that all others are 0. */
static bool check_fields(const checker *c, const wf__node *n)
{
    wf__node rest = *n;
    if (!(wf__op_table[n->op].where & (c->ir->arrays ? WF__IN_GRAPHS : WF__IN_BODIES)))
        return bad(c, c->ir->arrays ? "not in array graphs" : "only in array graphs");
    for (const wf__field *f = wf__fields_of(n->op); f->at; ++f) {
        bool flag = wf__field_table[f->kind].form == WF__FORM_FLAG;
        if (!check_field(c, n, *f))
            return false;
        wf__set_field(c->ir, &rest, f->at, flag ? rest.aux & ~(uint32_t)wf__field_table[f->kind].number : 0);
    }
    bool when = n->op == WF__LOAD && !c->ir->arrays; /* `when` shares its place with the shape */
    return !(rest.a | rest.b | rest.c | rest.d | rest.aux | (when ? rest.when : 0)) || bad(c, "a field it has not");
}

/* ---- fields together ---- */
static bool check_update(const checker *c, const wf__node *n)
{
    const wf__slot *s = &c->ir->slot[n->a];
    if (!n->b && s->rank)
        return bad(c, "an index is missing");
    bool shared = s->shared || wf__node_mode(n) == WF__MODE_EXPAND;
    return !s->spread || (n->op == WF__ACCUM && shared) || bad(c, "private memory");
}

static bool check_pure(const checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    const wf__op_info *info = &wf__op_table[n->op];
    const wf__ref refs[3] = { n->a, n->b, n->c };
    unsigned arity = wf__arity(n->op), last = wf__dtype(ir, wf__last_operand(n));
    if (wf__op_is_parts(n->op)) {
        bool pair = n->op == WF__OP_complex;
        unsigned whole = pair ? n->dtype : last, own = wf__part_dtype(whole);
        return (own && (pair ? last == own && wf__dtype(ir, n->a) == own : n->dtype == own)) || bad(c, "parts");
    }
    if (!wf__types_allow(info->types, last) || n->dtype != (info->to_bool ? WF_BOOL : last))
        return bad(c, "dtype");
    bool first_bool = info->types == WF__T_FIRST_BOOL;
    for (unsigned i = 0; i < arity; ++i)
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
        return true;
    case WF__STATE:
        if (n->a != inner || !(c->at - 1 == inner || before->op == WF__STATE) || (n->aux && n->dtype != WF_BOOL))
            return bad(c, "not a state of the loop that begins here");
        return n->b < inner || bad(c, "an initial value of the loop's own");
    case WF__NEXT:
        if (ir->node[n->a].a != inner)
            return bad(c, "not of a state of this loop");
        if (ir->node[inner].aux && ir->node[n->a].aux && !wf__is_const(ir, n->b, 0))
            return bad(c, "a condition that goes on");
        return n->dtype == ir->node[n->a].dtype || bad(c, "dtype differs from the state's");
    default: /* END */
        if (!inner || n->a != inner || (before->op != WF__NEXT))
            return bad(c, "no loop of this number ends here");
        --c->depth;
        wf__close_range(&c->closed, wf__loop_body(ir, inner), c->at);
        c->error->failed |= c->closed.status != WF_OK;
        return c->closed.status == WF_OK || bad(c, "out of memory");
    }
}

/* Checks that every state has one NEXT, and that every loop has guards among its states. */
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
    if (n->c && n->aux != WF__VIEW_GATHER)
        return bad(c, "a value outside, but no indices");
    const wf_shape *in = &ir->shape[ir->node[n->a].shape];
    if (n->aux == WF__VIEW_GATHER)
        return n->b ? check_tuple(c, n->b, (uint32_t)in->rank) : bad(c, "as many indices as the value has axes");
    if (!check_tuple(c, n->b, wf__tuple_len(ir, n->b)))
        return bad(c, "its numbers");
    for (uint32_t i = 0; i < wf__tuple_len(ir, n->b); ++i)
        if (ir->node[wf__tuple_at(ir, n->b)[i]].op != WF__CONST)
            return bad(c, "its numbers must be constants");
    int64_t numbers[WF__MAX_OPERANDS];
    uint32_t count = wf__tuple_len(ir, n->b) <= WF_MAX_RANK ? wf__view_numbers(ir, n, numbers) : UINT32_MAX;
    return count <= WF_MAX_RANK && wf__view_fits(n->aux, numbers, count, in) ? true : bad(c, "its numbers");
}

/* Checks the fields of a node, each valid alone, against each other and against the nodes around. */
static bool check_together(checker *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    switch ((wf__op)n->op) {
    case WF__NOP:
    case WF__CONST:
    case WF__PARAM:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__DIM:
    case WF__ARG:
    case WF__LOAD:
    case WF__STORE:
    case WF__RED:
    case WF__SETRED:
    case WF__COLD:
    case WF__IOTA:
    case WF__SCAN:
    case WF__THREAD:
    case WF__BARRIER:
    case WF__DERIVED:
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
        return true;
    case WF__CHECK:
        return n->dtype == WF_I64 || bad(c, "dtype");
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        return check_update(c, n);
    case WF__LOOP:
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
        return check_loop(c, n);
    case WF__REDUCE:
        return !wf__is_complex(n->dtype) || n->b == WF_JOIN_MUL || bad(c, "operands");
    case WF__VIEW:
        return check_view(c, n);
    case WF__SCATTER:
        return wf__updates(WF_JOIN_ADD, n->dtype) && !wf__is_half(n->dtype) && n->b
                   ? check_tuple(c, n->b, (uint32_t)ir->shape[n->shape].rank)
                   : bad(c, "dtype or indices");
    case WF__CAST:
        return (!wf__is_complex(n->dtype) && !wf__is_complex(wf__dtype(ir, n->a))) || bad(c, "dtype");
    case WF__BITCAST:
        return (wf__size(wf__dtype(ir, n->a)) == wf__size(n->dtype) && wf__dtype(ir, n->a) != WF_BOOL &&
                n->dtype != WF_BOOL) ||
               bad(c, "sizes differ");
#include "ir/case_ops.def"
        return check_pure(c, n);
    }
    return bad(c, "unknown node");
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
    return check_fields(c, n) && check_together(c, n);
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
