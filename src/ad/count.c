/* count.c - counts the turns of loops by computing, turn after turn, those values that constants determine. */
#include "ad/count.h"

typedef struct counter {
    const wf__ir *ir;
    wf__ref loop;   /* the outermost loop: the arrays begin with it */
    uint8_t *known; /* [nodes of the loop] */
    uint64_t *bits;
    uint32_t nodes, most; /* computed so far; at most */
    wf__ref goes_on;      /* next value of the only guard of the innermost loop; 0 = there are several */
    bool exact;
} counter;

/* Sets *bits to the value of a node that is known. */
static bool look(const counter *c, wf__ref r, uint64_t *bits)
{
    if (r > c->loop) {
        *bits = c->bits[r - c->loop];
        return c->known[r - c->loop];
    }
    const wf__node *n = &c->ir->node[wf__as_literal(c->ir, r)];
    *bits = wf__bits(n);
    return n->op == WF__CONST;
}

static void set(counter *c, wf__ref r, bool known, uint64_t bits)
{
    c->known[r - c->loop] = known;
    c->bits[r - c->loop] = bits;
}

/* The value of an operation that one operand decides. Where points decide whether they go on, those that do are followed:
 * others make fewer turns. */
static bool is_decided(counter *c, const wf__node *n, uint64_t *out)
{
    enum { DEPTH = 6 };
    uint64_t a, b;
    bool has_a = look(c, n->a, &a), has_b = look(c, n->b, &b);
    if (n->op == WF__OP_select && has_a)
        return look(c, a ? n->b : n->c, out);
    if (n->op == WF__OP_select && c->goes_on && wf__is_conjunct(c->ir, c->goes_on, n->a, DEPTH)) {
        c->exact = false;
        return look(c, n->b, out);
    }
    if (n->dtype != WF_BOOL || (n->op != WF__OP_and && n->op != WF__OP_or))
        return false;
    *out = n->op == WF__OP_or;
    return (has_a && a == *out) || (has_b && b == *out);
}

static void compute(counter *c, wf__ref r)
{
    const wf__node *n = &c->ir->node[r];
    const wf__ref operand[3] = { n->a, n->b, n->c };
    uint64_t x[3] = { 0 }, out = n->op == WF__CONST ? wf__bits(n) : 0;
    bool known = wf__has_bits(c->ir, n), decided = known && is_decided(c, n, &out);
    for (unsigned i = 0, arity = known ? wf__arity(n->op) : 0; i < arity && known && !decided; ++i)
        known = look(c, operand[i], &x[i]);
    if (known && !decided)
        out = wf__eval_bits(c->ir, n, x);
    set(c, r, known || n->op == WF__CONST, out);
}

/* Counts the turns of a loop, and leaves the last values of its states. */
static bool count(counter *c, wf__ref loop, uint32_t *turns)
{
    const wf__ir *ir = c->ir;
    const wf__ref body = wf__loop_body(ir, loop), end = wf__loop_end(ir, loop);
    const wf__ref around = c->goes_on;
    uint64_t bits;
    uint32_t guards = 0;
    c->goes_on = 0;
    for (wf__ref s = loop + 1; s < body; ++s)
        guards += ir->node[s].aux != 0;
    for (wf__ref r = end; guards == 1 && ir->node[--r].op == WF__NEXT;)
        if (ir->node[ir->node[r].a].aux)
            c->goes_on = ir->node[r].b;
    for (wf__ref s = loop + 1; s < body; ++s) {
        bool known = look(c, ir->node[s].b, &bits);
        set(c, s, known, bits);
    }
    for (*turns = 0;; ++*turns) {
        bool goes_on = false;
        for (wf__ref s = loop + 1; s < body; ++s)
            goes_on = goes_on || (ir->node[s].aux && !(look(c, s, &bits) && !bits));
        if (!goes_on) {
            for (wf__ref s = loop + 1; s < body && !c->exact; ++s) /* of points that left earlier they may differ */
                set(c, s, false, 0);
            c->goes_on = around;
            return true;
        }
        for (wf__ref r = body; r < end; ++r) {
            uint32_t inner;
            if (++c->nodes > c->most)
                return false;
            if (ir->node[r].op == WF__LOOP) {
                if (!count(c, r, &inner))
                    return false;
                r = wf__loop_end(ir, r);
            } else if (ir->node[r].op == WF__NEXT) {
                bool known = look(c, ir->node[r].b, &bits);
                set(c, r, known, bits);
            } else
                compute(c, r);
        }
        for (wf__ref r = end; ir->node[--r].op == WF__NEXT;) {
            bool known = look(c, r, &bits);
            set(c, ir->node[r].a, known, bits);
        }
    }
}

bool wf__count_turns(const wf__ir *ir, wf__ref loop, uint32_t most, wf__turns *out)
{
    const size_t nodes = wf__loop_end(ir, loop) - loop + 1;
    counter c = { .ir = ir, .loop = loop, .most = most, .exact = true };
    c.known = wf__alloc0(nodes);
    c.bits = wf__alloc0(nodes * sizeof *c.bits);
    bool ok = c.known && c.bits;
    *out = (wf__turns){ 0 };
    if (ok) {
        out->known = count(&c, loop, &out->turns);
        out->nodes = c.nodes;
        out->exact = c.exact;
    }
    wf__free(c.known);
    wf__free(c.bits);
    return ok;
}
