/* loop.c - records loops, and closes their bodies when they end.
 *
 * A condition is a loop that runs once at most. States are the only values that leave a loop. Value numbering finds the
 * nodes of a body inside the body only, because elsewhere they may not have been computed.
 */
#include "ir/ir.h"

/* Forgets the last stores, because a turn of a loop may lie between them and later loads. */
static void forget_stores(wf__ir *ir)
{
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        ++ir->slot[s].epoch;
        ir->slot[s].last_store = 0;
    }
}

wf__ref wf__loop(wf__ir *ir, bool once)
{
    wf__node n = { .op = WF__LOOP, .dtype = WF_BOOL, .aux = once };
    wf__ref r = wf__append(ir, &n);
    ir->loops += r != 0;
    forget_stores(ir);
    return r;
}

wf__ref wf__state(wf__ir *ir, wf__ref loop, wf__ref initial, bool guard)
{
    if (ir->status != WF_OK || !loop || !initial)
        return 0;
    const wf__node *from = &ir->node[initial];
    wf__node n = { .op = WF__STATE, .dtype = from->dtype, .aux = guard, .a = loop, .b = initial };
    n.shape = ir->arrays ? from->shape : 0;
    return wf__append(ir, &n);
}

void wf__next(wf__ir *ir, wf__ref state, wf__ref value)
{
    if (ir->status != WF_OK || !state || !value)
        return;
    wf__node n = { .op = WF__NEXT, .dtype = ir->node[state].dtype, .a = state, .b = value };
    wf__append(ir, &n);
}

/* ---- shapes of array graphs ---- */
static bool widen(wf__ir *ir, wf__ref r, wf__ref by)
{
    const wf__node *n = &ir->node[r];
    uint32_t shape = wf__broadcast_id(ir, n, n->shape, ir->node[by].shape);
    bool wider = ir->status == WF_OK && shape != n->shape;
    if (wider)
        ir->node[r].shape = shape;
    return wider;
}

static bool fits_into(const wf_shape *have, const wf_shape *want)
{
    wf_shape both;
    bool ok = wf__broadcast(have, want, &both) && both.rank == want->rank;
    for (int d = 0; ok && d < both.rank; ++d)
        ok = both.dim[d] == want->dim[d] || want->dim[d] < 0;
    return ok;
}

/* True if `next` leaves its variable unchanged, and the variable's shape does not fit the guard's. */
static bool is_left_alone(const wf__ir *ir, wf__ref next, wf__ref guard)
{
    const wf__node *n = &ir->node[next];
    wf_shape both;
    return n->a == n->b && !wf__broadcast(&ir->shape[ir->node[n->a].shape], &ir->shape[ir->node[guard].shape], &both);
}

static void fail_to_fit(wf__ir *ir, const wf__node *n, const wf_shape *grown)
{
    char have[160], want[160];
    wf_shape_text(grown, have, sizeof have);
    wf_shape_text(&ir->shape[n->shape], want, sizeof want);
    wf__ir_fail_at(ir, n, WF_ERR_SHAPE, "%s: what is assigned, or its lanes, grows to shape %s, beyond the array's, %s",
                   wf__function_of(n), have, want);
}

/* Updates the shape of node r, whose operands may have grown. Returns true if a shape changed. */
static bool widen_node(wf__ir *ir, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    bool wider = false;
    if (n->op == WF__NEXT)
        return widen(ir, n->a, n->b);
    if (n->op == WF__END) {
        for (wf__ref guard = n->a + 1; ir->node[guard].op == WF__STATE; ++guard)
            for (wf__ref next = r - 1; ir->node[guard].aux && ir->node[next].op == WF__NEXT; --next)
                if (!is_left_alone(ir, next, guard))
                    wider |= widen(ir, ir->node[next].a, guard);
        return wider;
    }
    if (n->op == WF__SCATTER) /* its shape is that of the array */
        return false;
    bool element = (n->op == WF__LOAD || n->op == WF__STORE) && !n->b; /* these have the array's shape */
    bool grows = element && ir->slot[n->a].grows;
    uint32_t count = wf__operands(ir, n, operand);
    for (uint32_t i = n->op == WF__VIEW && n->aux == WF__VIEW_GATHER; i < count;
         ++i) /* the value of a gather comes first */
        if (!element || grows)
            wider |= widen(ir, r, operand[i]);
        else if (!fits_into(&ir->shape[ir->node[operand[i]].shape], &ir->shape[n->shape]))
            fail_to_fit(ir, n, &ir->shape[ir->node[operand[i]].shape]);
    if (grows) {
        wf__slot *s = &ir->slot[n->a];
        s->shape = n->shape;
        s->rank = (uint8_t)ir->shape[n->shape].rank;
    }
    return wider;
}

/* Widens the states of a loop to the shapes of all their values and of the guards. Nodes that depend on the states,
 * recorded with the shape of their initial values, are widened, too. */
static void widen_states(wf__ir *ir, wf__ref loop, wf__ref end)
{
    for (bool wider = true; wider && ir->status == WF_OK;) {
        wider = false;
        for (wf__ref r = loop + 1; r <= end && ir->status == WF_OK; ++r)
            wider |= widen_node(ir, r);
    }
}

void wf__end(wf__ir *ir, wf__ref loop)
{
    wf__node n = { .op = WF__END, .dtype = WF_BOOL, .a = loop };
    wf__ref end = loop ? wf__append(ir, &n) : 0;
    if (end && ir->arrays)
        widen_states(ir, loop, end);
    if (end)
        wf__close_range(ir, wf__loop_body(ir, loop), end);
    forget_stores(ir);
}

void wf__barrier(wf__ir *ir, unsigned section)
{
    wf__node n = { .op = WF__BARRIER, .dtype = WF_BOOL, .aux = (uint8_t)section };
    wf__ref r = wf__append(ir, &n);
    forget_stores(ir);
    if (r && section)
        wf__close_range(ir, 1, r);
}

bool wf__is_conjunct(const wf__ir *ir, wf__ref whole, wf__ref part, int depth)
{
    const wf__node *n = &ir->node[whole];
    return whole == part ||
           (n->op == WF__OP_and && n->dtype == WF_BOOL && depth &&
            (wf__is_conjunct(ir, n->a, part, depth - 1) || wf__is_conjunct(ir, n->b, part, depth - 1)));
}

void wf__find_blocks(const wf__ir *ir, wf__ref *block)
{
    wf__ref loop = 0;
    for (wf__ref r = 0; r < ir->n; ++r) {
        if (!loop && ir->node[r].op == WF__LOOP)
            loop = r;
        block[r] = loop;
        if (loop && ir->node[r].op == WF__END && ir->node[r].a == loop)
            loop = 0;
    }
}

wf__ref wf__loop_body(const wf__ir *ir, wf__ref loop)
{
    wf__ref r = loop + 1;
    while (r < ir->n && ir->node[r].op == WF__STATE && ir->node[r].a == loop)
        ++r;
    return r;
}

wf__ref wf__loop_end(const wf__ir *ir, wf__ref loop)
{
    for (wf__ref r = loop + 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__END && ir->node[r].a == loop)
            return r;
    return 0;
}

wf__ref wf__turns_end(const wf__ir *ir, wf__ref r)
{
    for (wf__ref q = 1; ir->loops && q < r; ++q) {
        wf__ref end = ir->node[q].op == WF__LOOP && !ir->node[q].aux ? wf__loop_end(ir, q) : q;
        if (end > r)
            return end;
        q = end;
    }
    return 0;
}

/* ---- liveness ---- */
static bool mark(uint8_t *live, wf__ref r, bool keep)
{
    if (!keep || live[r])
        return false;
    live[r] = 1;
    return true;
}

bool wf__mark_loops(const wf__ir *ir, uint8_t *live, wf__ref first, wf__ref last)
{
    wf__ref around[WF__MOST_NESTED + 1] = { 0 };
    uint32_t depth = 0;
    bool changed = false;
    for (wf__ref r = first; r <= last; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__STATE)
            changed |= mark(live, r, n->aux && live[n->a]);
        else if (n->op == WF__NEXT || n->op == WF__END)
            changed |= mark(live, r, live[n->a]);
        if (live[r] && depth)
            changed |= mark(live, around[depth], true);
        if (n->op == WF__LOOP && depth < WF__MOST_NESTED)
            around[++depth] = r;
        else if (n->op == WF__END && depth)
            --depth;
    }
    return changed;
}
