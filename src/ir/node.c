/* node.c - the tables that node.def makes: fields, and names of what they hold. Properties are in wf__op_table (ops.c). */
#include "ir/ir.h"

/* The nodes that compute are the last of node.def: wf__op_is_pure is one comparison. */
#define NO false
#define PURE(...) true
#define WF_NODE(NAME, name, function, computes, ...) \
    _Static_assert((WF__##NAME >= WF__CAST) == (computes), "nodes that compute stand at the end of node.def");
#include "ir/node.def"
#undef WF_NODE
#undef NO
#undef PURE

const char *const wf__join_names[] = {
#define X(join, name) [join] = name,
    WF__JOIN_LIST(X)
#undef X
};
const char *const wf__border_names[] = {
#define X(border, name) [border] = name,
    WF__BORDER_LIST(X)
#undef X
};
const char *const wf__mode_names[] = {
#define X(mode, name) [mode] = name,
    WF__MODE_LIST(X)
#undef X
};
const char *const wf__view_names[] = {
#define X(kind, name, function) [kind] = name,
    WF__VIEW_LIST(X)
#undef X
};
const char *const wf__step_names[] = {
#define X(step, name) [step] = name,
    WF__STEP_LIST(X)
#undef X
};

/* Never called. The switch has no default, so that compilers find a border mode that the list lacks. */
__attribute__((unused)) static void border_list_is_complete(wf_border border)
{
    switch (border) {
#define X(mode, name) case mode:
        WF__BORDER_LIST(X)
#undef X
        break;
    }
}

const char *const *wf__field_names(unsigned kind, unsigned *n)
{
    switch (kind) {
    case WF__JOIN_FIELD:
        *n = WF_JOIN_XOR + 1;
        return wf__join_names;
    case WF__UPDATE_JOIN_FIELD:
    case WF__SCATTER_JOIN_FIELD:
        *n = WF__JOINS;
        return wf__join_names;
    case WF__MODE_FIELD:
        *n = WF__MODES;
        return wf__mode_names;
    case WF__BORDER_FIELD:
        *n = WF__BORDERS;
        return wf__border_names;
    case WF__VIEW_KIND_FIELD:
        *n = WF__VIEWS;
        return wf__view_names;
    default:
        *n = 0;
        return NULL;
    }
}

/* ---- fields ---- */
const wf__field_info wf__field_table[] = {
#define X(kind, form, word, number, doc) [WF__##kind##_FIELD] = { #kind, word, doc, WF__FORM_##form, number },
    WF__FIELD_KINDS(X)
#undef X
};

const wf__field *wf__fields_of(unsigned op)
{
    static const wf__field structural[WF__NODES][WF__MOST_FIELDS + 1] = {
#define NONE
#define F(place, kind) { WF__AT_##place, WF__##kind##_FIELD },
#define WF_NODE(NAME, name, function, computes, where, cost, properties, fields, doc) [WF__##NAME] = { fields{ 0 } },
#include "ir/node.def"
#undef WF_NODE
#undef F
#undef NONE
    };
#define OPERAND(place)                    \
    {                                     \
        WF__AT_##place, WF__OPERAND_FIELD \
    }
    static const wf__field operands[][4] = { { { 0 } },
                                             { OPERAND(a), { 0 } },
                                             { OPERAND(a), OPERAND(b), { 0 } },
                                             { OPERAND(a), OPERAND(b), OPERAND(c), { 0 } } };
#undef OPERAND
    return op < WF__NODES ? structural[op] : operands[wf__arity(op)];
}

bool wf__op_names_slot(unsigned op) { return wf__fields_of(op)->kind == WF__SLOT_FIELD; }

uint32_t wf__field_of(const wf__ir *ir, const wf__node *n, unsigned at)
{
    switch ((wf__field_at)at) {
    case WF__AT_NONE:
        return 0;
    case WF__AT_a:
        return n->a;
    case WF__AT_b:
        return n->b;
    case WF__AT_c:
        return n->c;
    case WF__AT_d:
        return n->d;
    case WF__AT_aux:
        return n->aux;
    case WF__AT_join:
        return wf__node_join(n);
    case WF__AT_mode:
        return wf__node_mode(n);
    case WF__AT_otherwise:
        return wf__otherwise(ir, n);
    case WF__AT_when:
        return wf__when(ir, n);
    }
    return 0;
}

bool wf__has_field(const wf__ir *ir, const wf__node *n, unsigned at)
{
    if (at == WF__AT_otherwise)
        return !wf__when_is_c(ir, n);
    return at != WF__AT_when || !ir->arrays || wf__when_is_c(ir, n);
}

void wf__set_field(const wf__ir *ir, wf__node *n, unsigned at, uint32_t to)
{
    switch ((wf__field_at)at) {
    case WF__AT_NONE:
        break;
    case WF__AT_a:
        n->a = to;
        break;
    case WF__AT_b:
        n->b = to;
        break;
    case WF__AT_c:
        n->c = to;
        break;
    case WF__AT_d:
        n->d = to;
        break;
    case WF__AT_aux:
        n->aux = (uint8_t)to;
        break;
    case WF__AT_join:
        n->aux = (uint8_t)((n->aux & 0xf0) | to);
        break;
    case WF__AT_mode:
        n->aux = (uint8_t)((n->aux & 15) | to << 4);
        break;
    case WF__AT_otherwise:
    case WF__AT_when:
        if (wf__has_field(ir, n, at))
            *(at == WF__AT_otherwise || ir->arrays ? &n->c : &n->when) = to;
        break;
    }
}

/* ---- operands ---- */
/* Order: values, then the lists of indices. */
static uint32_t operands_by_fields(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS])
{
    uint32_t count = 0, tuple = 0;
    for (const wf__field *f = wf__fields_of(n->op); f->at; ++f) {
        unsigned form = wf__field_table[f->kind].form;
        if (form > WF__FORM_LIST)
            continue;
        uint32_t x = wf__field_of(ir, n, f->at);
        if (form != WF__FORM_LIST && x)
            out[count++] = x;
        else if (form == WF__FORM_LIST && f->kind != WF__PAIR_FIELD)
            tuple = x;
        for (uint32_t i = 0; f->kind == WF__PAIR_FIELD && i < wf__tuple_len(ir, x); ++i)
            out[count++] = wf__tuple_at(ir, x)[i];
    }
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        out[count++] = wf__tuple_at(ir, tuple)[i];
    return count;
}

uint32_t wf__operands(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS])
{
    const wf__op_info *op = &wf__op_table[n->op];
    if (!wf__op_is_pure(n->op))
        return op->refers ? operands_by_fields(ir, n, out) : 0;
    out[0] = n->a, out[1] = n->b, out[2] = n->c;
    return op->arity;
}

/* ---- names of functions ---- */
const char *wf__function_name(unsigned op) { return wf__op_table[op].function; }

const char *wf__function_of(const wf__node *n)
{
    static const char *const views[] = {
#define X(kind, name, function) [kind] = function,
        WF__VIEW_LIST(X)
#undef X
    };
    if (n->op == WF__VIEW && n->aux < WF__COUNT(views))
        return views[n->aux];
    if (n->op == WF__CHECK && n->aux)
        return "wf_write";
    bool element = (n->op == WF__LOAD || n->op == WF__STORE) && !n->b;
    return !element ? wf__function_name(n->op) : n->op == WF__LOAD ? "wf_in" : "wf_out";
}

int wf__op_named(const char *name, size_t len)
{
    for (int op = WF__NODES; op < WF__OP_COUNT; ++op) {
        const char *own = wf__op_table[op].name;
        if (len && *own == *name && !strncmp(own, name, len) && !own[len])
            return op;
    }
    return -1;
}
