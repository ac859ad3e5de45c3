/* lockstep.c - makes loop variables uniform that are equal in all running lanes, and lets others run free.
 *
 * A loop goes on while any lane does, and its body steps variables for the lanes that run. A counter that begins with
 * the same value in all lanes and takes the same steps is equal in all running lanes. Lanes that have left keep theirs:
 *
 *     while (n < 256 && x*x + y*y < 4) { ...; n = n + 1; }        n = select(runs, n + 1, n)
 *
 * Such a state gets a uniform twin, which steps in all lanes, without a select: twin = twin + 1. The twin replaces the
 * state where only running lanes matter: its tests are scalars, and elements that it indexes are read once for all
 * lanes. The state itself remains for the value that a lane leaves with. Without a use of that value the state is dead.
 *
 * Other states get a twin that is not uniform, if the loop has no accesses and neither the code after the loop nor the
 * other lanes use the state. Such a twin steps in all lanes, too: in lanes that have left, its values are never used. So
 * the next turn does not wait for the guard of this one.
 *
 * The select of a counter that remains steps the counter itself where the step is an addition. A step of the twin would
 * be moved from a scalar to a vector in each turn.
 *
 * A lane runs where the loop's guard is true. A value "stops" if it is false in all other lanes: the guard, or an `and`
 * with a value that stops. Where such a value is the condition of a select or an access, other lanes do not matter.
 */
#include "ir/pass/pass.h"

/* Results of the analysis of a node. */
typedef struct known {
    uint64_t all;            /* one bit for each loop around the node, by depth: all lanes matter */
    uint64_t off;            /* the same: the node's condition stops */
    wf__ref next;            /* of a state: its NEXT */
    wf__ref twin, own;       /* of a state, in the copy; in the analysis twin is 1 for one that may have a twin */
    wf__ref keeps;           /* of a select that is the next value of a state: the state; else 0 */
    uint8_t depth;           /* of a state that gets a twin: number of loops around it, its own included; else 0 */
    bool free;               /* of a state that gets a twin: the twin runs free */
    bool kept;               /* of a state: a lane that has left needs its value */
    bool stops, goes, alike; /* of the loop under analysis */
} known;

typedef struct lockstep {
    const wf__ir *ir;
    wf__vary *vary; /* [node] */
    known *of;      /* [node] */
    bool found;
} lockstep;

/* ---- one loop ---- */
typedef struct part {                      /* of a recording */
    wf__ref loop, guard, body, first, end; /* first: of the NEXTs */
    unsigned depth;
} part;

static bool stops(const lockstep *l, const part *p, wf__ref r)
{
    const wf__node *n = &l->ir->node[r];
    switch (n->op) {
    case WF__CONST:
        return n->dtype == WF_BOOL && !wf__bits(n);
    case WF__OP_and:
        return n->dtype == WF_BOOL && (l->of[n->a].stops || l->of[n->b].stops);
    case WF__OP_select:
        return n->dtype == WF_BOOL && l->of[n->c].stops && (l->of[n->a].stops || l->of[n->b].stops);
    case WF__STATE: /* of an inner loop; find_stops checks that its NEXT stops, too */
        return r == p->guard || (r > p->body && n->aux && l->of[n->b].stops);
    default:
        return false;
    }
}

/* Finds the values that stop. False if an inner loop has a guard that may become true where this loop's is false. */
static bool find_stops(lockstep *l, const part *p)
{
    for (wf__ref r = 1; r < p->end; ++r)
        l->of[r].stops = r < p->loop ? l->ir->node[r].op == WF__CONST && stops(l, p, r) : stops(l, p, r);
    for (wf__ref r = p->body; r < p->first; ++r) {
        const wf__node *n = &l->ir->node[r];
        if (n->op == WF__NEXT && l->of[n->a].stops && !l->of[n->b].stops)
            return false;
    }
    return true;
}

static void matter(lockstep *l, const part *p, wf__ref r) { l->of[r].all |= (uint64_t)1 << p->depth; }

static bool matters(const lockstep *l, const part *p, wf__ref r) { return l->of[r].all >> p->depth & 1; }

static wf__ref when_of(const wf__ir *ir, const wf__node *n)
{
    return n->op == WF__LOAD ? wf__when(ir, n) : wf__op_is_store(n->op) || n->op == WF__PUT ? n->d : 0;
}

/* True if a select or an access whose condition is false uses this operand. */
static bool is_looked_at(const wf__ir *ir, const wf__node *n, wf__ref operand)
{
    if (n->op == WF__OP_select)
        return operand == n->a || operand == n->c;
    return operand == when_of(ir, n) || (n->op == WF__LOAD && operand == wf__otherwise(ir, n));
}

/* Marks the operands of r that matter in lanes that do not run. */
static void mark_operands(lockstep *l, const part *p, wf__ref r)
{
    const wf__ir *ir = l->ir;
    const wf__node *n = &ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS], when = n->op == WF__OP_select ? n->a : when_of(ir, n);
    uint32_t count = wf__operands(ir, n, operand);
    bool off = when && l->of[when].stops;
    if (off)
        l->of[r].off |= (uint64_t)1 << p->depth;
    if (n->op == WF__STATE || n->op == WF__NEXT || (wf__op_is_effect(n->op) && !off))
        matter(l, p, r);
    if (n->op == WF__OP_and && n->dtype == WF_BOOL && matters(l, p, r) && (l->of[n->a].stops || l->of[n->b].stops)) {
        matter(l, p, l->of[n->a].stops ? n->a : n->b);
        return;
    }
    for (uint32_t i = 0; i < count; ++i)
        if (off ? is_looked_at(ir, n, operand[i]) : matters(l, p, r))
            matter(l, p, operand[i]);
}

/* Marks the values that are true in every lane that goes on. */
static void find_goes(lockstep *l, const part *p)
{
    for (wf__ref r = 1; r < l->ir->n; ++r)
        l->of[r].goes = false;
    l->of[l->ir->node[l->of[p->guard].next].b].goes = true;
    for (wf__ref r = p->first; r-- > 1;) {
        const wf__node *n = &l->ir->node[r];
        if (l->of[r].goes && n->op == WF__OP_and && n->dtype == WF_BOOL)
            l->of[n->a].goes = l->of[n->b].goes = true;
    }
}

/* Returns the next value of a state in all lanes that go on; 0 = no single such value. */
static wf__ref step_of(const lockstep *l, wf__ref state)
{
    const wf__node *next = &l->ir->node[l->of[state].next], *value = &l->ir->node[next->b];
    bool steps = value->op == WF__OP_select && value->c == state;
    return steps && l->of[value->a].goes ? value->b : 0;
}

/* Finds the values that are equal in all running lanes, provided that the states that may have a twin are. */
static void find_alike(lockstep *l, const part *p)
{
    for (wf__ref r = 1; r < p->first; ++r) {
        const wf__node *n = &l->ir->node[r];
        l->of[r].alike = l->vary[r].kind == WF__UNIFORM || (r > p->loop && r < p->body && l->of[r].twin);
        if (l->of[r].alike || r < p->body || !wf__op_is_pure(n->op) || matters(l, p, r))
            continue;
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(l->ir, n, operand);
        l->of[r].alike = true;
        for (uint32_t i = 0; i < count; ++i)
            l->of[r].alike &= l->of[operand[i]].alike;
    }
}

/* True if node r uses the operand in running lanes only. */
static bool runs_only(const lockstep *l, unsigned depth, wf__ref r, wf__ref operand)
{
    return !(l->of[r].all >> depth & 1) ||
           (l->of[r].off >> depth & 1 && !is_looked_at(l->ir, &l->ir->node[r], operand));
}

/* True if running lanes use a state for more than its own step. */
static bool is_used(const lockstep *l, const part *p, wf__ref state, wf__ref step)
{
    for (wf__ref r = p->body; r < p->first; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = r != step ? wf__operands(l->ir, &l->ir->node[r], operand) : 0;
        for (uint32_t i = 0; i < count; ++i)
            if (operand[i] == state && runs_only(l, p->depth, r, state))
                return true;
    }
    return false;
}

/* True if the nodes of the body compute, without accesses, rare paths and inner loops. */
static bool only_computes(const wf__ir *ir, const part *p)
{
    for (wf__ref r = p->body; r < p->first; ++r)
        switch (ir->node[r].op) {
        case WF__CONST:
        case WF__PARAM:
        case WF__INDEX:
        case WF__EXTENT:
        case WF__DIM:
            break;
        default:
            if (!wf__op_is_pure(ir->node[r].op))
                return false;
        }
    return true;
}

/* Marks the states whose values are used after a lane has left: by code after the loop, or by nodes that all lanes need,
 * except the select that keeps the value. */
static void find_kept(lockstep *l, const part *p)
{
    for (wf__ref r = p->body; r < l->ir->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(l->ir, &l->ir->node[r], operand);
        for (uint32_t i = 0; i < count; ++i) {
            wf__ref x = operand[i], s = l->of[x].keeps;
            if (s && r != l->of[s].next)
                l->of[s].kept = true; /* another node uses the select */
            bool state = x > p->loop && x < p->body && r != l->of[x].next && l->of[r].keeps != x;
            if (state && (r > p->end || !runs_only(l, p->depth, r, x)))
                l->of[x].kept = true;
        }
    }
}

static void find_free(lockstep *l, const part *p)
{
    if (!only_computes(l->ir, p))
        return;
    find_kept(l, p);
    for (wf__ref s = p->loop + 1; s < p->body; ++s)
        if (l->of[s].next && s != p->guard && !l->of[s].twin && l->vary[s].kind == WF__VARYING && step_of(l, s) &&
            !l->of[s].kept)
            l->of[s].twin = l->of[s].free = true;
}

static void find_twins(lockstep *l, const part *p)
{
    find_goes(l, p);
    for (wf__ref r = p->end; r-- > p->body;)
        mark_operands(l, p, r);
    for (wf__ref s = p->loop + 1; s < p->body; ++s)
        if (l->of[s].next && step_of(l, s))
            l->of[l->ir->node[l->of[s].next].b].keeps = s;
    for (wf__ref s = p->loop + 1; s < p->body; ++s) {
        wf__ref step = l->of[s].next && s != p->guard && l->vary[s].kind == WF__VARYING &&
                               l->vary[l->ir->node[s].b].kind == WF__UNIFORM
                           ? step_of(l, s)
                           : 0;
        l->of[s].twin = step && is_used(l, p, s, step);
    }
    for (bool changed = true; changed;) {
        changed = false;
        find_alike(l, p);
        for (wf__ref s = p->loop + 1; s < p->body; ++s)
            if (l->of[s].twin && !l->of[step_of(l, s)].alike) {
                l->of[s].twin = 0;
                changed = true;
            }
    }
    find_free(l, p);
    for (wf__ref s = p->loop + 1; s < p->body; ++s)
        if (l->of[s].twin) {
            l->of[s].depth = (uint8_t)(p->depth + 1);
            l->found = true;
        }
}

static void look_at(lockstep *l, wf__ref loop, unsigned depth)
{
    const wf__ir *ir = l->ir;
    part p = { .loop = loop, .body = wf__loop_body(ir, loop), .end = wf__loop_end(ir, loop), .depth = depth };
    p.first = p.end;
    while (ir->node[p.first - 1].op == WF__NEXT)
        --p.first;
    for (wf__ref s = loop + 1; s < p.body; ++s)
        if (ir->node[s].aux) {
            if (p.guard) /* a lane has left where all are false */
                return;
            p.guard = s;
        }
    if (p.guard && l->vary[p.guard].kind == WF__VARYING && l->of[p.guard].next && find_stops(l, &p))
        find_twins(l, &p);
}

static void look_at_loops(lockstep *l)
{
    unsigned depth = 0;
    for (wf__ref r = 1; r < l->ir->n; ++r) {
        const wf__node *n = &l->ir->node[r];
        if (n->op == WF__NEXT)
            l->of[n->a].next = r;
    }
    for (wf__ref r = 1; r < l->ir->n; ++r) {
        const wf__node *n = &l->ir->node[r];
        if (n->op == WF__LOOP && !n->aux)
            look_at(l, r, depth);
        depth += n->op == WF__LOOP;
        depth -= n->op == WF__END;
    }
}

/* ---- the copy ---- */
typedef struct copying {
    const lockstep *l;
    wf__ir *out;
    wf__ref *map;                  /* [node] its copy; of a state: itself or its twin */
    wf__ref open[WF__MOST_NESTED]; /* loops around */
    unsigned depth;
} copying;

static bool takes_twin(const copying *c, wf__ref r, wf__ref state)
{
    unsigned depth = c->l->of[state].depth;
    bool inside = depth && depth <= c->depth && c->open[depth - 1] == c->l->ir->node[state].a;
    return inside && runs_only(c->l, depth - 1, r, state);
}

static void choose_operands(copying *c, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(c->l->ir, &c->l->ir->node[r], operand);
    for (uint32_t i = 0; i < count; ++i)
        if (c->l->of[operand[i]].depth)
            c->map[operand[i]] = takes_twin(c, r, operand[i]) ? c->l->of[operand[i]].twin : c->l->of[operand[i]].own;
}

/* Records a state's NEXT, and that of its twin, whose next value is the step. */
static void copy_next(copying *c, const wf__node *next)
{
    const lockstep *l = c->l;
    wf__ref step = l->ir->node[next->b].b;
    wf__next(c->out, c->l->of[next->a].own, l->of[next->b].depth ? c->l->of[next->b].own : c->map[next->b]);
    if (l->of[next->a].depth)
        wf__next(c->out, l->of[next->a].twin, l->of[step].depth ? l->of[step].twin : c->map[step]);
}

/* True if the step of a state is the sum or difference of the state and a uniform value. */
static bool is_addition(const lockstep *l, wf__ref state, wf__ref step)
{
    const wf__node *n = &l->ir->node[step];
    wf__ref other = n->a == state ? n->b : n->a;
    return (n->op == WF__OP_add || n->op == WF__OP_sub) && (n->a == state || n->b == state) &&
           l->vary[other].kind == WF__UNIFORM;
}

/* Copies the select that keeps the value of a state. The step of a counter is copied again, on the counter itself. */
static wf__ref copy_select(copying *c, const wf__rewriter *w, wf__ref r)
{
    const lockstep *l = c->l;
    wf__ref state = l->of[r].keeps, step = state ? l->ir->node[r].b : 0;
    if (!state || !l->of[state].depth || l->of[state].free || !is_addition(l, state, step))
        return wf__copy_node(w->in, r, w->map, w->out);
    wf__ref was = c->map[state], of_twin = c->map[step];
    c->map[state] = l->of[state].own;
    c->map[step] = wf__copy_node(w->in, step, w->map, w->out);
    wf__ref copy = wf__copy_node(w->in, r, w->map, w->out);
    c->map[step] = of_twin;
    c->map[state] = was;
    return copy;
}

static wf__ref copy_twice(wf__rewriter *w, wf__ref r)
{
    copying *c = w->user;
    const lockstep *l = c->l;
    const wf__node *n = &w->in->node[r];
    if (n->op == WF__NEXT) {
        copy_next(c, n);
        return w->map[r];
    }
    c->depth -= n->op == WF__END;
    choose_operands(c, r);
    l->of[r].own = w->map[r] = copy_select(c, w, r);
    if (l->of[r].depth) {
        l->of[r].twin = wf__state(w->out, w->map[n->a], w->map[n->b], false);
        w->out->in_lockstep += !l->of[r].free;
    }
    if (n->op == WF__LOOP)
        c->open[c->depth++] = r;
    return w->map[r];
}

static bool find(lockstep *l)
{
    size_t n = l->ir->n;
    l->vary = wf__alloc(n * sizeof *l->vary);
    l->of = wf__alloc0(n * sizeof *l->of);
    if (!l->vary || !l->of)
        return false;
    wf__analyse(l->ir, l->vary);
    look_at_loops(l);
    return true;
}

static bool copy_with_twins(const lockstep *l, wf__ir *out)
{
    copying c = { .l = l, .out = out };
    wf__rewriter w = { .in = l->ir, .out = out, .visit = copy_twice, .user = &c };
    c.map = w.map = wf__alloc0(l->ir->n * sizeof *c.map);
    bool ok = c.map && wf__rewrite_nodes(&w);
    wf__free(c.map);
    return ok;
}

bool wf__pass_lockstep(wf__ir *ir)
{
    if (!ir->loops || !(ir->flags & WF_FLAG_LOOP_OPT) || ir->flags & WF__KEEP_DEAD)
        return true;
    lockstep l = { .ir = ir };
    wf__ir out = { 0 };
    bool ok = find(&l), copied = false;
    if (ok && l.found) {
        copied = wf__pass_begin(ir, &out);
        ok = copied && copy_with_twins(&l, &out);
    }
    wf__free(l.vary);
    wf__free(l.of);
    if (ok && !copied)
        return true;
    if (!ok)
        wf__ir_fail(&out, WF_ERR_MEMORY, "out of memory while rewriting a recording");
    wf__ir_free(ir);
    *ir = out;
    ok = out.status == WF_OK && wf__pass_drop_unused(ir);
    ir->unused = out.unused; /* states that twins replace are no unused variables of the recording */
    return ok;
}
