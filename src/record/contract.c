/* contract.c - checks what a reducing recording does with its reduced variables. Lanes accumulate separately and are
 * joined afterwards, in an unspecified order. So in WF_SECTION_CALL a reduced variable may only be joined with values
 * that depend on no reduced variable. Overwriting, storing or testing its partial value has no meaning. Variables with
 * a custom join may be combined with each other in any way. */
#include "record/record.h"

enum { WF__RED_NONE = 0 }; /* other values: reduction + 1 */
enum { PLAIN = 1, CUSTOM = 2 };

typedef struct contract {
    const wf__ir *ir;
    uint8_t *tainted; /* [node] bits: depends on a PLAIN variable (join of the table), on a CUSTOM one */
    uint32_t *joined; /* [node] (first) reduction + 1 of a variable joined with untainted values only; else 0 */
    uint32_t *pair;   /* [reduction] complex product: real part's reduction + 1, for both parts; else 0 */
} contract;

static bool join_allows(const contract *c, uint32_t k, unsigned op, unsigned alternative, wf_join of)
{
    unsigned join = c->ir->red[k].join;
    return op == wf__join_op((wf_join)join) || (op == alternative && join == (unsigned)of);
}

/* Returns the complex product of which the node is a linear combination with untainted factors, or WF__RED_NONE. Each
 * part of a product is such a combination of its former parts. */
static uint32_t linear(const contract *c, const wf__node *n)
{
    const uint32_t a = c->joined[n->a], b = c->joined[n->b];
    const uint32_t times = b && !c->tainted[n->a] ? b : a && !c->tainted[n->b] ? a : WF__RED_NONE;
    switch (n->op) {
    case WF__OP_neg:
        return a;
    case WF__OP_mul:
        return times;
    case WF__OP_add:
    case WF__OP_sub:
        return a == b ? a : WF__RED_NONE;
    case WF__OP_fma:
        return times == c->joined[n->c] ? times : WF__RED_NONE;
    default:
        return WF__RED_NONE;
    }
}

static uint32_t joined_by(const contract *c, const wf__node *n)
{
    if (n->op == WF__RED)
        return c->pair[n->a] ? c->pair[n->a] : n->a + 1;
    if (n->op == WF__STATE)
        return c->joined[n->b];
    if (!wf__op_is_pure(n->op))
        return WF__RED_NONE;
    const unsigned arity = wf__arity(n->op);
    const uint32_t a = c->joined[n->a], b = arity > 1 ? c->joined[n->b] : 0, x = arity > 2 ? c->joined[n->c] : 0;
    const bool ta = c->tainted[n->a], tb = arity > 1 && c->tainted[n->b];
    const uint32_t any = a ? a : b ? b : x;
    const bool product = any && c->pair[any - 1];
    if (product && n->op != WF__OP_select && !wf__op_is_parts(n->op))
        return linear(c, n);
    switch (n->op) {
    case WF__OP_complex: /* the real part stands for the variable */
        return b == a + !product ? a : WF__RED_NONE;
    case WF__OP_real:
        return a;
    case WF__OP_imag:
        return a ? a + !product : WF__RED_NONE;
    case WF__OP_select:
        return b == x && !ta ? b : WF__RED_NONE;
    case WF__OP_fma:
        return x && !ta && !tb && c->ir->red[x - 1].join == WF_JOIN_ADD ? x : WF__RED_NONE;
    case WF__OP_neg:
        return a && c->ir->red[a - 1].join == WF_JOIN_MUL ? a : WF__RED_NONE; /* a folded * -1 */
    case WF__OP_not:
        return a && c->ir->red[a - 1].join == WF_JOIN_XOR ? a : WF__RED_NONE; /* a folded ^ ones */
    default:
        break;
    }
    if (arity != 2)
        return WF__RED_NONE;
    if (a && !tb && join_allows(c, a - 1, n->op, WF__OP_sub, WF_JOIN_ADD))
        return a;
    return b && !ta && join_allows(c, b - 1, n->op, 0, WF_JOIN_ADD) ? b : WF__RED_NONE;
}

/* True if r is an absorbing constant of the join: all ones for OR, 0 for AND and for integer products. */
static bool swallows(const wf__ir *ir, uint32_t k, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    const wf__reduction *red = &ir->red[k];
    if (n->op != WF__CONST)
        return false;
    if (red->join == WF_JOIN_OR)
        return wf__bits(n) == wf__join_neutral(WF_JOIN_AND, red->dtype);
    return wf__bits(n) == 0 && (red->join == WF_JOIN_AND || (red->join == WF_JOIN_MUL && !wf__is_float(red->dtype)));
}

static bool check_node(const contract *c, const wf__node *n)
{
    const wf__ir *ir = c->ir;
    if (n->op == WF__SETRED && c->pair[n->a])
        return c->joined[n->c] == c->pair[n->a];
    if (n->op == WF__SETRED && ir->red[n->a].join == WF_JOIN_CUSTOM)
        return !(c->tainted[n->c] & PLAIN);
    if (n->op == WF__SETRED)
        return c->joined[n->c] == n->a + 1 || swallows(ir, n->a, n->c);
    if (n->op == WF__NEXT) {
        uint32_t k = c->joined[n->a];
        if (c->tainted[n->a] & CUSTOM)
            return !(c->tainted[n->b] & PLAIN);
        return k ? c->joined[n->b] == k || swallows(ir, k - 1, n->b) : !c->tainted[n->b];
    }
    if (n->op != WF__STORE && !wf__op_is_update(n->op))
        return true;
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(ir, n, operand);
    for (uint32_t i = 0; i < count; ++i)
        if (c->tainted[operand[i]])
            return false;
    return true;
}

static bool begin(contract *c, const wf_graph *g)
{
    const wf__ir *ir = &g->program.rec.ir;
    *c = (contract){ .ir = ir,
                     .tainted = wf__alloc0(ir->n),
                     .joined = wf__alloc0(ir->n * sizeof *c->joined),
                     .pair = wf__alloc0(ir->red_n * sizeof *c->pair) };
    for (uint32_t i = 0; c->pair && i < g->var_n; ++i) {
        const wf__variable *var = &g->var[i];
        if (var->red >= 0 && wf__is_complex(var->dtype) && var->join == WF_JOIN_MUL)
            c->pair[var->red] = c->pair[var->red + 1] = (uint32_t)var->red + 1;
    }
    return c->tainted && c->joined && c->pair;
}

void wf__check_reductions(wf_graph *g)
{
    wf__ir *ir = &g->program.rec.ir;
    if (!ir->red_n || ir->status != WF_OK)
        return;
    contract c;
    if (!begin(&c, g))
        wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording");
    for (wf__ref r = 1; r < ir->n && ir->status == WF_OK; ++r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(ir, n, operand);
        if (n->op == WF__RED)
            c.tainted[r] = ir->red[n->a].join == WF_JOIN_CUSTOM && !c.pair[n->a] ? CUSTOM : PLAIN;
        for (uint32_t i = 0; i < count; ++i)
            c.tainted[r] |= c.tainted[operand[i]];
        if (c.tainted[r] & PLAIN && !wf__op_is_effect(n->op) && n->op != WF__NEXT)
            c.joined[r] = joined_by(&c, n);
        if (!check_node(&c, n))
            wf__ir_fail_at(
                ir, n, WF_ERR_CONTRACT,
                wf__op_is_store(n->op)
                    ? "a reduced variable is stored before it is complete; store it in section WF_SECTION_POST"
                    : "a reduced variable must be joined, by the join it was made with and in its own dtype, with "
                      "values that depend on no reduced variable: x = join(x, value), or wf_inc");
    }
    wf__free(c.tainted);
    wf__free(c.joined);
    wf__free(c.pair);
}

static void refuse_write(wf_graph *g, wf__ref accum)
{
    wf__ir *ir = &g->program.rec.ir;
    char called[WF__CALLED];
    const wf_array *a = g->program.object[ir->slot[ir->node[accum].a].object].array;
    wf__ir_fail_at(ir, &ir->node[accum], WF_ERR_CONTRACT,
                   "wf_accumulate: %s is accumulated into and written in one index space; use two recordings",
                   wf__array_called(&g->program, a, a, called));
}

/* Fails an index space that accumulates into an array and also writes it. Other arrays may turn out to share memory at
 * the launch; the plan checks those (plan/space/space.c). */
void wf__check_accumulation(wf_graph *g)
{
    const wf__ir *ir = &g->program.rec.ir;
    if (!g->accumulates || g->program.rec.options.kind != WF__SPACE)
        return;
    for (wf__ref q = 1; q < ir->n && ir->status == WF_OK; ++q)
        for (wf__ref r = 1; r < ir->n && ir->node[q].op == WF__ACCUM && ir->status == WF_OK; ++r) {
            if (ir->node[r].op != WF__STORE)
                continue;
            uint32_t into = ir->slot[ir->node[q].a].object, to = ir->slot[ir->node[r].a].object;
            const wf_array *a = g->program.object[into].array, *b = g->program.object[to].array;
            if (into == to || (a->buffer && b->buffer && wf__array_may_meet(a, b)))
                refuse_write(g, q);
        }
}
