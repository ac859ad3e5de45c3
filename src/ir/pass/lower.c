/* lower.c - lowers a recording for backends: expands operations, drops dead nodes and dead stores, simplifies loops.
 *
 * Loops: a state that no turn changes is its initial value; dead states go; a loop that never runs goes; one whose
 * number of turns is known and small is written out, and so is a condition whose body is cheaper than a branch. The
 * builder folds the result, and the next sweep finds further cases.
 */
#include "ir/cost.h"
#include "ir/pass/pass.h"
#include "ir/thresholds.h"

enum { MOST_SWEEPS = 16 };

static wf__ref lower_node(wf__rewriter *w, wf__ref r)
{
    const wf__ir *in = w->in;
    const wf__node *n = &in->node[r];
    if (!wf__op_is_pure(n->op))
        return wf__copy_node(in, r, w->map, w->out);
    wf__ref fast = in->flags & WF_FLAG_FAST_MATH ? wf__fast(in, r, w->map, w->out) : 0;
    if (fast) {
        wf__copy_label(in, r, w->out, fast);
        return fast;
    }
    const wf__ref operand[3] = { n->a, n->b, n->c };
    unsigned arity = wf__arity(n->op);
    if (!wf__expands(n->op, wf__dtype(in, wf__last_operand(n)), n->dtype))
        return wf__copy_node(in, r, w->map, w->out);
    wf__ref x[3] = { 0 };
    for (unsigned i = 0; i < arity; ++i)
        x[i] = w->map[operand[i]];
    wf__ref expanded = wf__expand(w->out, n->op, n->dtype, x);
    wf__copy_label(in, r, w->out, expanded);
    return expanded;
}

/* ---- loops ---- */
typedef struct code {
    uint64_t size;  /* in nodes of the cheapest kind */
    uint64_t apart; /* vectors of memory whose lanes are apart: a vector takes some instructions for each lane */
} code;

typedef struct loops {
    const wf__ir *in;
    wf__ir *out;
    const uint8_t *live;
    wf__visit *visit; /* visits nodes that belong to no loop's frame */
    wf__rewriter *rewriter;
    wf__ref *map;   /* [node] the rewriter's */
    wf__ref *next;  /* [state]: its NEXT */
    uint8_t *known; /* [node]: scratch of count_turns */
    uint8_t *fate;  /* [node]: STAYS, MELTS or FIXED, if the loop is written out */
    uint64_t *bits;
    wf__vary *vary;  /* [node] */
    uint8_t *stored; /* [slot]: scratch of next_turn */
    code all;        /* of the whole body, including the loops written out so far */
} loops;

static bool known_outside(const loops *w, wf__ref r, uint64_t *bits)
{
    const wf__node *n = &w->out->node[w->map[r]];
    *bits = wf__bits(n);
    return n->op == WF__CONST;
}

static bool evaluate(loops *w, wf__ref loop, wf__ref r)
{
    const wf__ir *in = w->in;
    const wf__node *n = &in->node[r];
    const wf__ref operand[3] = { n->a, n->b, n->c };
    uint64_t x[3] = { 0 };
    if (n->op == WF__CONST) {
        w->bits[r] = wf__bits(n);
        return true;
    }
    if (!wf__has_bits(in, n))
        return false;
    for (unsigned i = 0, arity = wf__arity(n->op); i < arity; ++i) {
        wf__ref a = operand[i];
        if (a < loop ? !known_outside(w, a, &x[i]) : !w->known[a])
            return false;
        if (a > loop)
            x[i] = w->bits[a];
    }
    if (n->op == WF__CHECK && !x[0]) /* the check must remain, so that its error is reported */
        return false;
    w->bits[r] = wf__eval_bits(in, n, x);
    return true;
}

/* True if the lanes of an access may be at different places that are not side by side. */
static bool is_scattered(const loops *w, const wf__node *n)
{
    const wf__slot *slot = &w->in->slot[n->a];
    for (uint32_t k = 0; k < wf__tuple_len(w->in, n->b); ++k) {
        const wf__vary *v = &w->vary[wf__tuple_at(w->in, n->b)[k]];
        bool beside = v->kind == WF__AFFINE && v->coef == 1 && slot->step[k] == WF__STEP_UNIT;
        if (v->kind != WF__UNIFORM && slot->step[k] != WF__STEP_ZERO && !beside)
            return true;
    }
    return false;
}

/* Returns the code of the live nodes of a range. A reduction over the lane axis computes the vectors of all its accumulators
 * in one step. */
static code code_of(const loops *w, const uint8_t *fate, wf__ref from, wf__ref to)
{
    enum { VECTORS_OF_ACCUMULATORS = 4 };
    const uint64_t vectors = w->in->red_n && !w->in->kept_lane ? VECTORS_OF_ACCUMULATORS : 1;
    code c = { 0 };
    for (wf__ref r = from; r < to; ++r) {
        const wf__node *n = &w->in->node[r];
        if (!w->live[r] || (fate && fate[r]))
            continue;
        const bool apart = (n->op == WF__LOAD || n->op == WF__STORE) && is_scattered(w, n);
        c.size += apart ? wf__code_apart(n) : wf__cost_of(n)->code;
        c.apart += apart ? vectors : 0;
    }
    return c;
}

/* Returns the code of the body with so many turns of a loop more. */
static code with_turns(const loops *w, code turn, int turns)
{
    return (code){ w->all.size + (uint64_t)turns * turn.size, w->all.apart + (uint64_t)turns * turn.apart };
}

/* Estimated fate of a node if its loop is written out. FIXED: becomes a constant. */
enum { STAYS, MELTS, FIXED }; /* MELTS: folds into its operands in most turns */

static unsigned fate_of(const loops *w, wf__ref loop, wf__ref r)
{
    const wf__node *n = &w->in->node[r];
    const wf__ref operand[3] = { n->a, n->b, n->c };
    unsigned arity = wf__arity(n->op), least = FIXED, most = STAYS, first = STAYS;
    if (!wf__op_is_pure(n->op))
        return n->op == WF__CONST ? FIXED : STAYS;
    for (unsigned i = 0; i < arity; ++i) {
        uint64_t bits;
        unsigned fate = operand[i] > loop ? w->fate[operand[i]] : known_outside(w, operand[i], &bits) ? FIXED : STAYS;
        least = fate < least ? fate : least;
        most = fate > most ? fate : most;
        first = i ? first : fate;
    }
    bool logic = n->dtype == WF_BOOL && (n->op == WF__OP_and || n->op == WF__OP_or);
    bool melts = n->op == WF__OP_select ? first != STAYS : logic && most != STAYS;
    return least == FIXED ? FIXED : melts ? MELTS : STAYS;
}

/* Finds the fates of all nodes of a body, inner loops included. A state is FIXED if its initial and all its next
 * values are. */
static void find_fates(loops *w, wf__ref loop, wf__ref body, wf__ref end)
{
    const wf__ir *in = w->in;
    uint64_t bits;
    for (wf__ref r = loop + 1; r < end; ++r)
        w->fate[r] = in->node[r].op == WF__STATE ? FIXED : STAYS;
    for (wf__ref s = loop + 1; s < body; ++s)
        w->fate[s] = known_outside(w, in->node[s].b, &bits) ? FIXED : STAYS;
    for (bool changed = true; changed;) {
        changed = false;
        for (wf__ref r = body; r < end; ++r) {
            const wf__node *n = &in->node[r];
            bool carries = n->op == WF__STATE || n->op == WF__NEXT;
            unsigned from = !carries                        ? STAYS
                            : n->b > loop                   ? w->fate[n->b]
                            : known_outside(w, n->b, &bits) ? FIXED
                                                            : STAYS;
            if (!carries)
                w->fate[r] = (uint8_t)fate_of(w, loop, r);
            else if (w->fate[n->op == WF__STATE ? r : n->a] == FIXED && from != FIXED) {
                w->fate[n->op == WF__STATE ? r : n->a] = STAYS;
                changed = true;
            }
        }
    }
    for (wf__ref r = body; r < end; ++r) { /* a state that mostly keeps its value goes */
        const wf__node *n = &in->node[r];
        bool goes = n->op == WF__NEXT && (n->b == n->a || (n->b > loop && w->fate[n->b]));
        if (goes && n->a > body)
            w->fate[r] = w->fate[n->a] = FIXED;
        else if (goes)
            w->fate[r] = FIXED;
    }
}

static bool accesses_scratch(const loops *w, wf__ref body, wf__ref end)
{
    for (wf__ref r = body; r < end; ++r) {
        const wf__node *n = &w->in->node[r];
        if ((n->op == WF__STORE || n->op == WF__LOAD) && w->live[r] && w->in->slot[n->a].scratch)
            return true;
    }
    return false;
}

/* True if a turn puts or gets elements of local memory. Written out, these stay accesses to memory. */
static bool has_local_memory(const loops *w, wf__ref body, wf__ref end)
{
    for (wf__ref r = body; r < end; ++r)
        if ((w->in->node[r].op == WF__PUT || w->in->node[r].op == WF__GET) && w->live[r])
            return true;
    return false;
}

/* Returns the number of turns if constants determine it; -1 = they do not, or writing out the loop takes too much
 * code. *turn: the code of a turn. */
static int count_turns(loops *w, wf__ref loop, wf__ref body, wf__ref end, code *turn)
{
    const wf__ir *in = w->in;
    if (has_local_memory(w, body, end) && !in->node[loop].aux)
        return -1;
    find_fates(w, loop, body, end);
    *turn = code_of(w, w->fate, body, end);
    bool scratch = turn->size >= WF__LONG_TURN && accesses_scratch(w, body, end);
    uint64_t most = scratch ? WF__MOST_SCRATCH_WRITTEN : WF__MOST_CODE_WRITTEN;
    for (wf__ref s = loop + 1; s < body; ++s)
        w->known[s] = w->live[s] && known_outside(w, in->node[s].b, &w->bits[s]);
    for (int turns = 0; turns <= WF__MOST_TURNS_WRITTEN; ++turns) {
        const code all = with_turns(w, *turn, turns);
        if (turns > 1 && (all.size > most || (turn->apart && all.apart > WF__MOST_APART_WRITTEN)))
            return -1;
        bool runs = false;
        for (wf__ref s = loop + 1; s < body; ++s)
            if (in->node[s].aux) {
                if (!w->known[s])
                    return -1;
                runs = runs || w->bits[s];
            }
        if (!runs || (turns && in->node[loop].aux))
            return turns;
        for (wf__ref r = body; r < end; ++r)
            w->known[r] = w->live[r] && evaluate(w, loop, r);
        /* All new values are found before a state changes, so that no NEXT reads the new value of another state. */
        for (wf__ref r = end; in->node[--r].op == WF__NEXT;) {
            w->known[r] = in->node[r].b < loop ? known_outside(w, in->node[r].b, &w->bits[r]) : w->known[in->node[r].b];
            if (in->node[r].b > loop)
                w->bits[r] = w->bits[in->node[r].b];
        }
        for (wf__ref r = end; in->node[--r].op == WF__NEXT;) {
            w->known[in->node[r].a] = w->known[r];
            w->bits[in->node[r].a] = w->bits[r];
        }
    }
    return -1;
}

/* True if computing the body of a condition for all lanes is cheaper than a branch. */
static bool is_cheap(const loops *w, wf__ref body, wf__ref end)
{
    uint32_t cost = 0;
    for (wf__ref r = body; r < end && cost <= WF__MOST_MASKED; ++r) {
        unsigned masked = w->live[r] ? wf__cost_of(&w->in->node[r])->masked : 0;
        if (masked == WF__NEVER_MASKED)
            return false;
        cost += masked;
    }
    return cost <= WF__MOST_MASKED;
}

/* Begins another turn: the epochs of memory that the last turn may have changed become later, so that its loads are
 * not found again. */
static void next_turn(loops *w, wf__ref body, wf__ref end)
{
    const wf__ir *in = w->in;
    uint32_t least = UINT32_MAX, most = 0;
    bool aliased = false;
    memset(w->stored, 0, in->slot_n);
    for (wf__ref r = body; r < end; ++r) {
        const wf__node *n = &in->node[r];
        bool stores = wf__op_is_store(n->op);
        uint32_t epoch = n->op == WF__STORE ? n->aux : n->d;
        if (!w->live[r] || (!stores && n->op != WF__LOAD))
            continue;
        if (stores) {
            w->stored[n->a] = true;
            aliased = aliased || in->slot[n->a].may_alias;
        }
        if (!wf__op_is_update(n->op)) {
            least = epoch < least ? epoch : least;
            most = epoch > most ? epoch : most;
        }
    }
    for (uint32_t s = 0; s < in->slot_n && least <= most; ++s)
        if (w->stored[s] || (aliased && in->slot[s].may_alias))
            w->out->slot[s].later += most - least + 1;
}

/* Records the body `turns` times, one copy after the other. */
static void write_out(loops *w, wf__ref loop, wf__ref body, wf__ref end, int turns)
{
    const wf__ir *in = w->in;
    wf__ref first = end;
    while (in->node[first - 1].op == WF__NEXT)
        --first;
    for (wf__ref s = loop + 1; s < body; ++s)
        w->map[s] = w->map[in->node[s].b];
    for (int t = 0; t < turns && w->out->status == WF_OK; ++t) {
        if (t)
            next_turn(w, body, first);
        wf__rewrite_range(w->rewriter, body, first);
        for (wf__ref r = first; r < end; ++r) /* all states change together */
            w->map[r] = w->map[in->node[r].b];
        for (wf__ref r = first; r < end; ++r)
            w->map[in->node[r].a] = w->map[r];
    }
}

static bool is_invariant(const loops *w, wf__ref state)
{
    return !w->in->node[state].aux && w->next[state] && w->in->node[w->next[state]].b == state;
}

static void keep_loop(loops *w, wf__ref loop, wf__ref body, wf__ref end)
{
    const wf__ir *in = w->in;
    bool simple = in->flags & WF_FLAG_LOOP_OPT;
    w->map[loop] = wf__loop(w->out, in->node[loop].aux);
    for (wf__ref s = loop + 1; s < body; ++s) {
        bool same = simple && is_invariant(w, s);
        w->out->unused += !w->live[s];
        w->out->invariant += w->live[s] && same;
        if (w->live[s])
            w->map[s] =
                same ? w->map[in->node[s].b] : wf__state(w->out, w->map[loop], w->map[in->node[s].b], in->node[s].aux);
    }
    wf__ref first = end;
    while (in->node[first - 1].op == WF__NEXT)
        --first;
    wf__rewrite_range(w->rewriter, body, first);
    for (wf__ref r = first; r < end; ++r)
        if (w->live[r] && !(simple && is_invariant(w, in->node[r].a)))
            wf__next(w->out, w->map[in->node[r].a], w->map[in->node[r].b]);
    wf__end(w->out, w->map[loop]);
}

/* Returns the loop's END. */
static wf__ref copy_loop(loops *w, wf__ref loop)
{
    wf__ref body = wf__loop_body(w->in, loop), end = wf__loop_end(w->in, loop);
    int turns = -1;
    code turn = { 0 };
    if (w->in->flags & WF_FLAG_LOOP_OPT && w->in->flags & WF_FLAG_FOLD) {
        turns = count_turns(w, loop, body, end, &turn);
        if (turns < 0 && w->in->node[loop].aux && is_cheap(w, body, end))
            turns = 1;
    }
    w->out->written_out += turns >= 0;
    if (turns > 1)
        w->all = with_turns(w, turn, turns);
    if (turns >= 0)
        write_out(w, loop, body, end, turns);
    else
        keep_loop(w, loop, body, end);
    return end;
}

static wf__ref visit_live(wf__rewriter *rewriter, wf__ref r)
{
    loops *w = rewriter->user;
    if (rewriter->in->node[r].op != WF__LOOP)
        return w->visit(rewriter, r);
    wf__ref end = copy_loop(w, r);
    rewriter->next = end + 1;
    return rewriter->map[r];
}

/* ---- sweeps ---- */
/* Records the live nodes of `in` again, each by `visit`. */
static bool rewrite_live(const wf__ir *in, wf__ir *out, const uint8_t *live, wf__visit *visit)
{
    uint32_t n = in->loops ? in->n : 1;
    loops w = { .in = in, .out = out, .live = live, .visit = visit };
    wf__rewriter rewriter = { .in = in, .out = out, .visit = visit_live, .user = &w, .live = live };
    w.rewriter = &rewriter;
    w.map = rewriter.map = wf__alloc0(in->n * sizeof *w.map);
    w.next = wf__alloc0(n * sizeof *w.next);
    w.known = wf__alloc0(n);
    w.fate = wf__alloc0(n);
    w.bits = wf__alloc0(n * sizeof *w.bits);
    w.vary = wf__alloc0(n * sizeof *w.vary);
    w.stored = wf__alloc0(in->slot_n + 1);
    if (w.map && w.next && w.known && w.fate && w.bits && w.vary && w.stored) {
        if (in->loops) {
            wf__analyse(in, w.vary);
            w.all = code_of(&w, NULL, 1, n);
        }
        for (wf__ref r = 1; r < n; ++r)
            if (in->node[r].op == WF__NEXT)
                w.next[in->node[r].a] = r;
        wf__rewrite_nodes(&rewriter);
    } else
        wf__ir_fail(out, WF_ERR_MEMORY, "out of memory while rewriting a recording");
    wf__free(w.map);
    wf__free(w.next);
    wf__free(w.known);
    wf__free(w.fate);
    wf__free(w.bits);
    wf__free(w.vary);
    wf__free(w.stored);
    return out->status == WF_OK;
}

static void mark(const wf__ir *ir, uint8_t *live)
{
    if (ir->flags & WF__KEEP_DEAD) {
        memset(live, 1, ir->n);
        return;
    }
    wf__mark_effects(ir, live);
    wf__mark_live(ir, live);
}

static wf__ref copy_again(wf__rewriter *w, wf__ref r) { return wf__copy_node(w->in, r, w->map, w->out); }

static uint32_t hidden_stores(const wf__ir *ir, const uint8_t *live)
{
    uint32_t n = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        n += ir->node[r].op == WF__STORE && !live[r];
    return n;
}

bool wf__pass_begin(const wf__ir *in, wf__ir *out)
{
    wf__ir_init(out, in->rank, in->flags | WF_FLAG_VALUE_NUMBERING);
    wf__ir_reserve(out, in->n);
    out->hidden = in->hidden;
    out->unused = in->unused;
    out->invariant = in->invariant;
    out->written_out = in->written_out;
    out->in_lockstep = in->in_lockstep;
    return wf__copy_tables(in, out);
}

static bool sweep(const wf__ir *in, wf__ir *out, wf__visit *visit)
{
    bool ok = wf__pass_begin(in, out);
    uint8_t *live = wf__alloc0(in->n);
    if (!live)
        wf__ir_fail(out, WF_ERR_MEMORY, "out of memory while rewriting a recording");
    if (ok && live) {
        mark(in, live);
        out->hidden += hidden_stores(in, live);
        ok = rewrite_live(in, out, live, visit);
    }
    wf__free(live);
    return ok && out->status == WF_OK;
}

/* True if every node is live: a sweep would drop nothing. */
static bool all_live(const wf__ir *ir)
{
    uint8_t *live = wf__alloc0(ir->n);
    bool all = live != NULL;
    if (live) {
        mark(ir, live);
        for (wf__ref r = 1; r < ir->n && all; ++r)
            all = live[r];
    }
    wf__free(live);
    return all;
}

/* True if a state is left that no turn changes, and loops may be simplified. */
static bool has_invariant(const wf__ir *ir)
{
    for (wf__ref r = 1; ir->loops && r < ir->n; ++r)
        if (ir->node[r].op == WF__NEXT && ir->node[r].a == ir->node[r].b && !ir->node[ir->node[r].a].aux)
            return ir->flags & WF_FLAG_LOOP_OPT;
    return false;
}

/* Drops unused nodes, in place, until a sweep changes nothing. changed: the IR has changed since the last sweep. */
static bool to_fixpoint(wf__ir *ir, bool changed)
{
    bool ok = true;
    for (int turn = 0; ok && turn < MOST_SWEEPS && (changed || !all_live(ir) || has_invariant(ir)); ++turn) {
        wf__ir before = *ir;
        ok = sweep(&before, ir, copy_again);
        changed = ir->loops && ir->n != before.n;
        wf__ir_free(&before);
    }
    return ok;
}

bool wf__pass_drop_unused(wf__ir *ir) { return to_fixpoint(ir, false); }

bool wf__pass_lower(const wf__ir *in, wf__ir *out)
{
    /* Drops the nodes that expansion left unused. A loop with fewer states may become one to write out. */
    return sweep(in, out, lower_node) && to_fixpoint(out, in->loops && out->n != in->n);
}

/* True if lowering would only copy. */
static bool is_lowered(const wf__ir *ir)
{
    if (ir->flags & WF_FLAG_FAST_MATH || !(ir->flags & WF_FLAG_VALUE_NUMBERING) || ir->loops)
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (wf__op_is_pure(n->op) && wf__expands(n->op, wf__dtype(ir, wf__last_operand(n)), n->dtype))
            return false;
    }
    return all_live(ir);
}

bool wf__pass_lower_in_place(wf__ir *ir)
{
    if (is_lowered(ir))
        return true;
    wf__ir before = *ir;
    bool ok = wf__pass_lower(&before, ir);
    wf__ir_free(&before);
    return ok;
}
