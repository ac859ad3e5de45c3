/* merge.c - loops that compute the same variables.
 *
 * The derivative of a loop begins with a loop that computes the same variables once more, and saves them on the way. Where
 * both are in one body, the results of the later loop serve for both, and the earlier one goes. What depends on the earlier
 * one is computed after the later one.
 *
 * Two variables are the same if they begin with the same value, and if their next values are the same functions of the same
 * variables. So all pairs that begin alike are supposed to be the same at first, and a pair whose next values differ is
 * dropped, until none is. Both loops turn equally often if each guard of one is a guard of the other.
 */
#include "ir/pass/pass.h"

enum { MOST_STATES = 64 }; /* of a loop */
enum { MOST_STEPS = 64 };  /* of the comparisons of two loops, for each node of the body */
enum { MOST_DEPTH = 500 }; /* operands of operands that a comparison follows: it calls itself for each */

typedef struct region {
    wf__ref loop, body, end; /* states are loop + 1 .. body - 1 */
} region;

typedef struct merger {
    const wf__ir *ir;
    region a, b;       /* the earlier loop and the later one */
    uint64_t *same;    /* [states of a] a bit for each state of b */
    wf__ref *next;     /* [nodes] of a state: its next value */
    wf__ref *equal;    /* [nodes] of a value of a: one of b that is the same, if the pairs are; 0 = not known */
    uint8_t *late;     /* [nodes] 1 = depends on the earlier loop */
    uint8_t *late_red; /* [reductions] 1 = its accumulator does */
    uint64_t steps;    /* that are left of MOST_STEPS */
    int depth;
} merger;

static region region_of(const wf__ir *ir, wf__ref loop)
{
    return (region){ loop, wf__loop_body(ir, loop), wf__loop_end(ir, loop) };
}

static bool is_state(const region *r, wf__ref n) { return n > r->loop && n < r->body; }

/* True for a load of memory that the body does not change: it gives the same value wherever it is. */
static bool reads_constant(const wf__ir *ir, const wf__node *n)
{
    return n->op == WF__LOAD && !ir->slot[n->a].written && !ir->slot[n->a].may_alias;
}

/* True if the loop has variables and computes, and does nothing else. */
static bool only_computes(const wf__ir *ir, const region *r)
{
    for (wf__ref n = r->loop + 1; n < r->end; ++n) {
        const unsigned op = ir->node[n].op;
        if (op != WF__STATE && op != WF__NEXT && op != WF__CONST && op != WF__NOP && !wf__op_is_pure(op) &&
            !reads_constant(ir, &ir->node[n]))
            return false;
        if (op == WF__STATE && wf__local_of(ir, n))
            return false;
    }
    return r->body - r->loop - 1 <= MOST_STATES;
}

static bool are_equal(merger *m, wf__ref a, wf__ref b);

static bool have_equal_operands(merger *m, const wf__node *x, const wf__node *y)
{
    wf__ref p[WF__MAX_OPERANDS], q[WF__MAX_OPERANDS];
    const uint32_t n = wf__operands(m->ir, x, p);
    bool same = n == wf__operands(m->ir, y, q);
    for (uint32_t i = 0; i < n && same; ++i)
        same = are_equal(m, p[i], q[i]);
    if (!same && n == 2 && wf__op_table[x->op].flags & WF__COMM) /* recording has put them in an order of its own */
        same = are_equal(m, p[0], q[1]) && are_equal(m, p[1], q[0]);
    return same;
}

/* True if value a, which the earlier loop uses, is value b, which the later one uses, in each turn. */
static bool are_equal(merger *m, wf__ref a, wf__ref b)
{
    const wf__node *x = &m->ir->node[a], *y = &m->ir->node[b];
    if (a == b) /* the later loop does not depend on the earlier one */
        return true;
    if (is_state(&m->a, a) || is_state(&m->b, b))
        return is_state(&m->a, a) && is_state(&m->b, b) && m->same[a - m->a.loop - 1] >> (b - m->b.loop - 1) & 1;
    if (m->equal[a] == b)
        return true;
    if (x->op != y->op || x->dtype != y->dtype || x->aux != y->aux || !m->steps || m->depth == MOST_DEPTH)
        return false;
    --m->steps;
    ++m->depth;
    bool same = false;
    if (x->op == WF__CONST)
        same = wf__bits(x) == wf__bits(y);
    else if (wf__op_is_pure(x->op))
        same = have_equal_operands(m, x, y);
    else if (reads_constant(m->ir, x))
        same = x->a == y->a && !x->b == !y->b && !x->c == !y->c && !x->when == !y->when && have_equal_operands(m, x, y);
    --m->depth;
    if (same)
        m->equal[a] = b;
    return same;
}

/* Finds the pairs of variables that are the same. */
static void find_pairs(merger *m)
{
    const wf__node *node = m->ir->node;
    memset(m->same, 0, MOST_STATES * sizeof *m->same);
    for (wf__ref s = m->a.loop + 1; s < m->a.body; ++s)
        for (wf__ref t = m->b.loop + 1; t < m->b.body; ++t) {
            const bool first = node[s].dtype == node[t].dtype && node[s].aux == node[t].aux &&
                               !wf__local_of(m->ir, t) && are_equal(m, node[s].b, node[t].b);
            m->same[s - m->a.loop - 1] |= (uint64_t)first << (t - m->b.loop - 1);
        }
    for (bool changed = true; changed;) {
        changed = false;
        memset(m->equal, 0, m->ir->n * sizeof *m->equal);
        for (wf__ref s = m->a.loop + 1; s < m->a.body; ++s)
            for (wf__ref t = m->b.loop + 1; t < m->b.body; ++t) {
                uint64_t *pairs = &m->same[s - m->a.loop - 1], pair = (uint64_t)1 << (t - m->b.loop - 1);
                if (!(*pairs & pair) || are_equal(m, m->next[s], m->next[t]))
                    continue;
                *pairs &= ~pair;
                changed = true;
            }
    }
}

static bool turn_equally(const merger *m)
{
    const wf__node *node = m->ir->node;
    uint64_t guards = 0, found = 0;
    for (wf__ref t = m->b.loop + 1; t < m->b.body; ++t)
        guards |= (uint64_t)(node[t].aux != 0) << (t - m->b.loop - 1);
    for (wf__ref s = m->a.loop + 1; s < m->a.body; ++s) {
        if (node[s].aux && !m->same[s - m->a.loop - 1])
            return false;
        found |= node[s].aux ? m->same[s - m->a.loop - 1] : 0;
    }
    return node[m->a.loop].aux == node[m->b.loop].aux && (found & guards) == guards;
}

/* Marks what depends on the earlier loop, up to the end of the later one. False if some of it cannot be computed after
 * that: a part of a loop, or an effect. Also false if there is a barrier, after which a section may run for other
 * points. */
static bool find_late(merger *m)
{
    const wf__ir *ir = m->ir;
    wf__ref operand[WF__MAX_OPERANDS];
    memset(m->late, 0, ir->n);
    memset(m->late_red, 0, ir->red_n);
    int depth = 0; /* of loops */
    for (wf__ref r = m->a.end + 1; r <= m->b.end; ++r) {
        const wf__node *n = &ir->node[r];
        const bool red = n->op == WF__RED || n->op == WF__SETRED;
        bool late = red && m->late_red[n->a];
        depth += (n->op == WF__LOOP) - (n->op == WF__END);
        for (uint32_t i = 0, count = wf__operands(ir, n, operand); i < count && !late; ++i)
            late = m->late[operand[i]] || (operand[i] >= m->a.loop && operand[i] <= m->a.end);
        if (n->op == WF__BARRIER || (late && (depth || !(red || wf__op_is_pure(n->op)))))
            return false;
        m->late[r] = late;
        if (late && red)
            m->late_red[n->a] = 1;
    }
    return true;
}

/* True if each variable of the earlier loop that is used after it is one of the later loop, too. */
static bool has_results(const merger *m)
{
    const wf__ir *ir = m->ir;
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = m->a.end + 1; r < ir->n; ++r)
        for (uint32_t i = 0, count = wf__operands(ir, &ir->node[r], operand); i < count; ++i)
            if (operand[i] > m->a.loop && operand[i] < m->a.end &&
                !(is_state(&m->a, operand[i]) && m->same[operand[i] - m->a.loop - 1]))
                return false;
    return true;
}

/* Records the body without the earlier loop. map: [nodes], zeros. */
static bool leave_out(const merger *m, wf__ref *map, wf__ir *out)
{
    const wf__ir *in = m->ir;
    wf__rewriter w = { .in = in, .out = out, .map = map };
    if (!wf__pass_begin(in, out))
        return false;
    wf__rewrite_range(&w, 1, m->a.loop);
    for (wf__ref r = m->a.end + 1; r <= m->b.end; ++r)
        if (!m->late[r])
            wf__rewrite_range(&w, r, r + 1);
    for (wf__ref s = m->a.loop + 1; s < m->a.body; ++s) {
        const uint64_t pairs = m->same[s - m->a.loop - 1];
        map[s] = pairs ? map[m->b.loop + 1 + (wf__ref)__builtin_ctzll(pairs)] : 0;
    }
    for (wf__ref r = m->a.end + 1; r <= m->b.end; ++r)
        if (m->late[r])
            wf__rewrite_range(&w, r, r + 1);
    wf__rewrite_range(&w, m->b.end + 1, in->n);
    return out->status == WF_OK;
}

/* Finds two loops that are in no other one, of which the later can do without the earlier. */
static bool find_loops(merger *m)
{
    const wf__ir *ir = m->ir;
    for (wf__ref a = 1; a < ir->n; ++a) {
        if (ir->node[a].op != WF__LOOP)
            continue;
        m->a = region_of(ir, a);
        const bool alone = only_computes(ir, &m->a);
        for (wf__ref b = m->a.end + 1; b < ir->n && alone; ++b) {
            if (ir->node[b].op != WF__LOOP)
                continue;
            m->b = region_of(ir, b);
            m->steps = (uint64_t)MOST_STEPS * ir->n;
            if (!find_late(m)) /* the node that prevents it is before all later loops, too */
                break;
            if (m->b.body - m->b.loop - 1 <= MOST_STATES) {
                find_pairs(m);
                if (turn_equally(m) && has_results(m))
                    return true;
            }
            b = m->b.end;
        }
        a = m->a.end;
    }
    return false;
}

bool wf__pass_merge_loops(wf__ir *ir)
{
    bool merged = ir->loops > 1 && ir->flags & WF_FLAG_LOOP_OPT;
    while (merged && ir->status == WF_OK) {
        uint64_t same[MOST_STATES];
        wf__ir before = *ir;
        const size_t n = before.n;
        merger m = { .ir = &before, .same = same };
        m.next = wf__alloc0(3 * n * sizeof *m.next);
        m.late = wf__alloc0(n + before.red_n);
        merged = m.next && m.late;
        if (!merged)
            wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory while loops were merged");
        else {
            m.equal = m.next + n;
            m.late_red = m.late + n;
            for (wf__ref r = 1; r < n; ++r)
                if (before.node[r].op == WF__NEXT)
                    m.next[before.node[r].a] = before.node[r].b;
            merged = find_loops(&m);
            if (merged) {
                leave_out(&m, m.equal + n, ir);
                wf__ir_free(&before);
            }
        }
        wf__free(m.next);
        wf__free(m.late);
    }
    return ir->status == WF_OK;
}
