/* control.c - opens and closes blocks (conditions and loops) while recording. Both branches of a condition are
 * recorded, so C variables set in a block are always initialised. The set of lanes that take part is a value like any
 * other.
 *
 * Each block is a LOOP of the IR; a condition is a LOOP that runs at most once. Its states are the variables that
 * exist when the block begins. Each block has two hidden variables: `guard` holds the lanes that take the next turn,
 * `on` the lanes that take part now. Writes to memory, and to variables from outside the block, take place where `on`
 * holds.
 */
#include "record/block.h"
#include <stdio.h>

#define EVERYTHING (~(uint64_t)0) /* all bits of wf_graph.surely_set */

static wf__ref and_with(wf__ir *ir, wf__ref a, wf__ref b) { return a ? wf__op2(ir, WF__OP_and, a, b) : b; }

static wf__ref without(wf__ir *ir, wf__ref a, wf__ref b)
{
    return wf__op2(ir, WF__OP_and, a, wf__op1(ir, WF__OP_not, b));
}

static uint32_t hidden(wf_graph *g, unsigned dtype, wf__ref value)
{
    wf__variable v = { .dtype = (uint8_t)dtype, .red = -1 };
    *wf__holds(g, &v) = value;
    wf_var var = wf__new_variable(g, v);
    return var.num < 0 ? wf__variable_number(g, var.num) : 0;
}

/* ---- beginning and ending ---- */
static void save_state(wf_graph *g, uint32_t var, wf__ref loop, bool guard)
{
    wf__ir *ir = wf__graph_ir(g);
    wf__variable *v = &g->var[var];
    wf__ref now = *wf__holds(g, v), s = now && !wf__is_closed(ir, now) ? wf__state(ir, loop, now, guard) : 0;
    if (!wf__grow(&g->state, &g->state_cap, g->state_n + 1, sizeof *g->state)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a block");
        return;
    }
    g->state[g->state_n++] = s;
    if (s)
        *wf__holds(g, v) = s;
}

/* Opens a block for the lanes where `guard` holds. NULL after poisoning. */
static wf__block *open_block(wf_graph *g, block_kind kind, const char *here, wf__ref guard)
{
    wf__ir *ir = wf__graph_ir(g);
    if (g->block_n == WF__MOST_NESTED)
        wf__poison(g, WF_ERR_UNSUPPORTED, "blocks are nested deeper than %d (at %s)", (int)WF__MOST_NESTED, here);
    else if (!wf__grow(&g->block, &g->block_cap, g->block_n + 1, sizeof *g->block))
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a block");
    uint32_t guard_var = wf__is_recording(g) ? hidden(g, WF_BOOL, guard) : 0;
    if (!wf__is_recording(g))
        return NULL;
    wf__block b = { .kind = kind, .here = here, .vars = g->var_n, .states = g->state_n, .guard = guard_var };
    b.loop = wf__loop(ir, kind == IF || kind == ELSE);
    for (uint32_t i = 0; i < b.vars && wf__is_recording(g); ++i)
        save_state(g, i, b.loop, i == guard_var);
    if (!wf__is_recording(g))
        return NULL;
    b.on = hidden(g, WF_BOOL, *wf__holds(g, &g->var[guard_var]));
    b.set_before = g->surely_set;
    g->block[g->block_n++] = b;
    return wf__innermost(g);
}

/* Returns what a variable holds after the block: its value from before, if no turn changes it. */
static wf__ref after_block(const wf__ir *ir, wf__ref next, wf__ref state)
{
    return next == state && ir->status == WF_OK ? ir->node[state].b : state;
}

static void add_place(wf__ir *ir, const wf__block *b)
{
    size_t n = strlen(ir->error);
    snprintf(ir->error + n, sizeof ir->error - n, ", in the block opened at %s", b->here ? b->here : "?");
}

static void close_block(wf_graph *g)
{
    wf__ir *ir = wf__graph_ir(g);
    wf__block *b = wf__innermost(g);
    WF__ASSERT(b);
    const wf__ref *state = g->state + b->states;
    for (uint32_t i = 0; i < b->vars; ++i)
        if (state[i])
            wf__next(ir, state[i], *wf__holds(g, &g->var[i]));
    bool was_ok = ir->status == WF_OK;
    wf__end(ir, b->loop);
    if (was_ok && ir->status != WF_OK) /* a state and its next value do not fit */
        add_place(ir, b);
    if (ir->arrays && ir->flags & WF_FLAG_DEBUG)
        wf__shown_grow(g);
    for (uint32_t i = 0; i < g->var_n; ++i)
        if (i >= b->vars || state[i])
            *wf__holds(g, &g->var[i]) = i < b->vars ? after_block(ir, *wf__holds(g, &g->var[i]), state[i]) : 0;
    *wf__holds(g, &g->var[b->guard]) = 0; /* not used after the block */
    g->state_n = b->states;
    --g->block_n;
}

/* True if a block may begin in the current section. False after poisoning. */
bool wf__may_branch(wf_graph *g, const char *function)
{
    if (!wf__is_recording(g))
        return false;
    if (g->section != WF_SECTION_POST && g->section != WF_SECTION_JOIN)
        return true;
    wf__poison(g, WF_ERR_UNSUPPORTED, "%s: no control flow in sections WF_SECTION_JOIN and WF_SECTION_POST", function);
    return false;
}

/* ---- conditions ---- */
wf__ref wf__open_condition(wf_graph *g, const char *here, wf__ref lanes)
{
    wf__block *b = open_block(g, ELSE, here, lanes); /* an ELSE, as no other branch follows */
    return b ? b->loop : 0;
}

bool wf_if_(wf_graph *g, const char *here, wf_val cond)
{
    wf__ref c = wf__may_branch(g, "WF_IF") ? wf__truth(g, cond, "WF_IF") : 0;
    wf__block *b = c ? open_block(g, IF, here, and_with(wf__graph_ir(g), wf__lanes_on(g), c)) : NULL;
    if (b)
        b->condition = c;
    return true;
}

bool wf_else_(wf_graph *g, const char *here)
{
    if (!wf__is_recording(g))
        return true;
    wf__ir *ir = wf__graph_ir(g);
    wf__block *b = wf__innermost(g);
    if (!b || b->kind != IF) {
        wf__poison(g, WF_ERR_CONTRACT, "WF_ELSE at %s: there is no WF_IF that it belongs to%s%s", here,
                   b ? "; the innermost block is that of " : "", b ? b->here : "");
        return true;
    }
    wf__ref c = b->condition;
    uint64_t set = g->surely_set;
    g->surely_set = b->set_before;
    *wf__holds(g, &g->var[b->guard]) = wf__const_bits(ir, WF_BOOL, 0);
    close_block(g);
    wf__ref on = wf__lanes_on(g);
    b = open_block(g, ELSE, here, on ? without(ir, on, c) : wf__op1(ir, WF__OP_not, c));
    if (b)
        b->set_then = set;
    return true;
}

/* ---- loops ---- */
bool wf_loop_(wf_graph *g, const char *here)
{
    if (!wf__may_branch(g, "WF_LOOP"))
        return true;
    wf__ref on = wf__lanes_on(g);
    wf__block *b = open_block(g, LOOP, here, on ? on : wf__const_bits(wf__graph_ir(g), WF_BOOL, 1));
    if (b)
        b->set_left = EVERYTHING;
    return true;
}

/* Ends the current turn of the innermost loop for `lanes`. Unless `again`, they leave the loop, too. */
static void leave(wf_graph *g, wf__ref lanes, bool again, const char *function)
{
    wf__ir *ir = wf__graph_ir(g);
    uint32_t k = g->block_n;
    while (k && g->block[k - 1].kind != LOOP && g->block[k - 1].kind != FOR)
        --k;
    if (!k) {
        wf__poison(g, WF_ERR_CONTRACT, "%s: there is no loop around", function);
        return;
    }
    for (uint32_t i = k - 1; i < g->block_n; ++i) {
        wf__variable *on = &g->var[g->block[i].on];
        *wf__holds(g, on) = without(ir, *wf__holds(g, on), lanes);
    }
    wf__variable *guard = &g->var[g->block[k - 1].guard];
    if (again)
        return;
    *wf__holds(g, guard) = without(ir, *wf__holds(g, guard), lanes);
    g->block[k - 1].set_left &= g->surely_set;
}

/* Records a break or continue. On its path no lane runs the code behind it, so every output counts as set there. */
static void leave_for_good(wf_graph *g, bool again, const char *function)
{
    if (!wf__may_branch(g, function))
        return;
    leave(g, g->block_n ? wf__lanes_on(g) : 0, again, function);
    g->surely_set = EVERYTHING;
}

bool wf_while_(wf_graph *g, const char *here, wf_val cond)
{
    (void)here;
    wf__ref c = wf__may_branch(g, "WF_WHILE") ? wf__truth(g, cond, "WF_WHILE") : 0;
    if (c)
        leave(g, g->block_n ? without(wf__graph_ir(g), wf__lanes_on(g), c) : 0, false, "WF_WHILE");
    return true;
}

void wf_break(wf_graph *g) { leave_for_good(g, false, "wf_break"); }
void wf_continue(wf_graph *g) { leave_for_good(g, true, "wf_continue"); }

/* Returns the lanes that take a turn with counter i. */
static wf__ref in_bounds(wf__ir *ir, wf__ref i, wf__ref hi, wf__ref step)
{
    wf__ref zero = wf__const_bits(ir, wf__dtype(ir, step), 0), up = wf__op2(ir, WF__OP_gt, step, zero);
    wf__ref below = wf__op2(ir, WF__OP_lt, i, hi);
    if (!wf__is_signed(wf__dtype(ir, step)))
        return wf__op2(ir, WF__OP_and, up, below);
    wf__ref above = wf__op2(ir, WF__OP_lt, step, zero);
    above = wf__op2(ir, WF__OP_and, above, wf__op2(ir, WF__OP_gt, i, hi));
    return wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_and, up, below), above);
}

/* Returns the dtype of a counter: that of the first bound that is a value, or i64 if all are numbers. */
static unsigned counter_dtype(wf_graph *g, const wf_val *bound, unsigned n)
{
    for (unsigned i = 0; i < n; ++i) {
        wf_dtype t = wf_val_dtype(bound[i]);
        if (t == WF_NONE || wf__is_int(t)) {
            if (t != WF_NONE)
                return t;
            continue;
        }
        wf__poison(g, WF_ERR_DTYPE, "WF_FOR: a bound is %s, not an integer", wf_dtype_name(t));
        return WF_I64;
    }
    return WF_I64;
}

bool wf_for_(wf_graph *g, const char *here, wf_val *i, wf_val lo, wf_val hi, wf_val step)
{
    wf_val ignored;
    i = i ? i : &ignored;
    *i = (wf_val){ { 0, g } };
    if (!wf__may_branch(g, "WF_FOR"))
        return true;
    wf__ir *ir = wf__graph_ir(g);
    unsigned t = counter_dtype(g, (const wf_val[]){ hi, lo, step }, 3);
    wf__ref first = wf__converted(g, lo, t, "WF_FOR"), last = wf__converted(g, hi, t, "WF_FOR");
    wf__ref by = wf__converted(g, step, t, "WF_FOR");
    if (by && wf__is_const(ir, by, 0))
        wf__poison(g, WF_ERR_ARG, "WF_FOR: the step is 0");
    if (!first || !last || !by || !wf__is_recording(g))
        return true;
    if (wf__size(t) < wf__size(WF_I32)) { /* i32 also holds the counter one step after the last turn */
        first = wf__cast(ir, first, WF_I32);
        last = wf__cast(ir, last, WF_I32);
        by = wf__cast(ir, by, WF_I32);
    }
    uint32_t counter = hidden(g, wf__dtype(ir, first), first);
    wf__ref on = wf__lanes_on(g);
    wf__block *b = open_block(g, FOR, here, and_with(ir, on, in_bounds(ir, first, last, by)));
    if (!b)
        return true;
    b->counter = counter;
    b->hi = last;
    b->step = by;
    *i = wf__value(g, wf__cast(ir, *wf__holds(g, &g->var[counter]), t));
    return true;
}

static void next_turn(wf_graph *g, const wf__block *b)
{
    wf__ir *ir = wf__graph_ir(g);
    wf__variable *i = &g->var[b->counter], *guard = &g->var[b->guard];
    *wf__holds(g, i) = wf__op2(ir, WF__OP_add, *wf__holds(g, i), b->step);
    wf__ref more = in_bounds(ir, *wf__holds(g, i), b->hi, b->step);
    *wf__holds(g, guard) = wf__op2(ir, WF__OP_and, *wf__holds(g, guard), more);
}

void wf_end_(wf_graph *g, const char *here)
{
    if (!wf__is_recording(g))
        return;
    const wf__block *b = wf__innermost(g);
    if (!b) {
        wf__poison(g, WF_ERR_CONTRACT, "WF_END at %s: no block is open", here);
        return;
    }
    if (b->kind == FOR)
        next_turn(g, b);
    else if (b->kind != LOOP)
        *wf__holds(g, &g->var[b->guard]) = wf__const_bits(wf__graph_ir(g), WF_BOOL, 0);
    g->surely_set = b->kind == LOOP ? b->set_left : b->set_before | (b->kind == ELSE ? b->set_then & g->surely_set : 0);
    close_block(g);
}

void wf__check_blocks(wf_graph *g)
{
    const wf__block *b = wf__innermost(g);
    if (b)
        wf__poison(g, WF_ERR_CONTRACT,
                   "the block opened at %s was not closed: WF_END is missing, or a C break, continue or return left it",
                   b->here ? b->here : "?");
}
