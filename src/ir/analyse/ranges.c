/* ranges.c - see ranges.h. One walk over the nodes, from operands to results. */
#include "ir/analyse/ranges.h"

static const wf__range unknown;

static wf__range from_to(int64_t lo, int64_t hi) { return (wf__range){ lo, hi, true }; }

static wf__range hull_of(wf__range a, wf__range b)
{
    return (wf__range){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.known && b.known };
}

static wf__range least_of(wf__range a, wf__range b)
{
    return from_to(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
}

static wf__range greatest_of(wf__range a, wf__range b)
{
    return from_to(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static wf__range of_dtype(unsigned dtype)
{
    switch (dtype) {
    case WF_BOOL:
        return from_to(0, 1);
    case WF_I8:
        return from_to(INT8_MIN, INT8_MAX);
    case WF_U8:
        return from_to(0, UINT8_MAX);
    case WF_I16:
        return from_to(INT16_MIN, INT16_MAX);
    case WF_U16:
        return from_to(0, UINT16_MAX);
    case WF_I32:
        return from_to(INT32_MIN, INT32_MAX);
    default:
        return unknown;
    }
}

static wf__range of_products(wf__range a, wf__range b)
{
    int64_t p[4];
    if (!wf__mul_i64(a.lo, b.lo, &p[0]) || !wf__mul_i64(a.lo, b.hi, &p[1]) || !wf__mul_i64(a.hi, b.lo, &p[2]) ||
        !wf__mul_i64(a.hi, b.hi, &p[3]))
        return unknown;
    wf__range r = from_to(p[0], p[0]);
    for (int i = 1; i < 4; ++i)
        r = hull_of(r, from_to(p[i], p[i]));
    return r;
}

/* Bounds of min(max(x, low), high) and max(min(x, high), low) of any integer x; the operands are in any order. */
static wf__range of_min_and_max(const wf__ir *ir, const wf__node *n, const wf__range *of)
{
    const bool is_min = n->op == WF__OP_min;
    const wf__ref outer = of[n->a].known ? n->a : n->b;
    const wf__node *inner = &ir->node[outer == n->a ? n->b : n->a];
    if (!of[outer].known || inner->op != (is_min ? WF__OP_max : WF__OP_min))
        return unknown;
    const wf__range limit = of[of[inner->a].known ? inner->a : inner->b];
    if (!limit.known)
        return unknown;
    const wf__range least = least_of(limit, of[outer]), greatest = greatest_of(limit, of[outer]);
    return is_min ? from_to(least.lo, of[outer].hi) : from_to(of[outer].lo, greatest.hi);
}

/* Bounds of what a remainder or a clamped value of any integer may be. */
static wf__range of_limits(const wf__ir *ir, const wf__node *n, const wf__range *of)
{
    const wf__range b = wf__arity(n->op) > 1 ? of[n->b] : unknown;
    switch (n->op) {
    case WF__OP_min:
    case WF__OP_max:
        return of_min_and_max(ir, n, of);
    case WF__OP_clamp:
        return b.known && of[n->c].known ? from_to(b.lo < of[n->c].lo ? b.lo : of[n->c].lo, of[n->c].hi) : unknown;
    case WF__OP_floor_mod:
        return b.known && b.lo > 0 ? from_to(0, b.hi - 1) : unknown;
    case WF__OP_mod:
        return b.known && b.lo > 0 ? from_to(1 - b.hi, b.hi - 1) : unknown;
    default:
        return unknown;
    }
}

/* Bounds of known ranges lie within +-2^62, so that sums of two do not overflow. */
static wf__range of_op(const wf__node *n, const wf__range *of)
{
    wf__range a = of[n->a], b = wf__arity(n->op) > 1 ? of[n->b] : unknown;
    bool both = a.known && b.known;
    switch (n->op) {
    case WF__OP_neg:
        return a.known ? from_to(-a.hi, -a.lo) : unknown;
    case WF__OP_add:
        return both ? from_to(a.lo + b.lo, a.hi + b.hi) : unknown;
    case WF__OP_sub:
        return both ? from_to(a.lo - b.hi, a.hi - b.lo) : unknown;
    case WF__OP_mul:
        return both ? of_products(a, b) : unknown;
    case WF__OP_shr: /* also divisions by constants */
        return both && a.lo >= 0 && b.lo >= 0 && b.hi < 63 ? from_to(a.lo >> b.hi, a.hi >> b.lo) : unknown;
    case WF__OP_min:
        return both ? least_of(a, b) : unknown;
    case WF__OP_max:
        return both ? greatest_of(a, b) : unknown;
    case WF__OP_clamp:
        return both && of[n->c].known ? least_of(greatest_of(a, b), of[n->c]) : unknown;
    case WF__OP_select:
        return b.known && of[n->c].known ? hull_of(b, of[n->c]) : unknown;
    case WF__OP_idiv:
        return !both || b.lo <= 0 ? unknown : a.lo >= 0 ? from_to(a.lo / b.hi, a.hi / b.lo) : hull_of(a, from_to(0, 0));
    case WF__OP_floor_mod:
        if (!both || b.lo <= 0)
            return unknown;
        return a.lo >= 0 && a.hi < b.lo ? a : from_to(0, b.hi - 1);
    case WF__OP_mod:
        if (!both || b.lo <= 0)
            return unknown;
        if (a.lo < 0)
            return hull_of(a, from_to(0, 0));
        return a.hi < b.lo ? a : from_to(0, a.hi < b.hi - 1 ? a.hi : b.hi - 1);
    default:
        return unknown;
    }
}

/* ---- counters of loops ---- */
/* Returns the value that x is less than, or at most where *reached is set, wherever the condition holds; 0 = none is found. */
static wf__ref bound_of(const wf__ir *ir, wf__ref condition, wf__ref x, int depth, bool *reached)
{
    const wf__node *n = &ir->node[condition];
    if (n->op == WF__OP_and && depth) {
        wf__ref bound = bound_of(ir, n->a, x, depth - 1, reached);
        return bound ? bound : bound_of(ir, n->b, x, depth - 1, reached);
    }
    *reached = n->op == WF__OP_le || n->op == WF__OP_ge;
    if (n->op == WF__OP_lt || n->op == WF__OP_le)
        return n->a == x ? n->b : 0;
    return (n->op == WF__OP_gt || n->op == WF__OP_ge) && n->b == x ? n->a : 0;
}

/* True if a node after the loop uses the state, whose value there is the last one. */
static bool is_used_after(const wf__ir *ir, wf__ref state)
{
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = wf__loop_end(ir, ir->node[state].a) + 1; r < ir->n; ++r)
        for (uint32_t i = 0, n = wf__operands(ir, &ir->node[r], operand); i < n; ++i)
            if (operand[i] == state)
                return true;
    return false;
}

/* Sets *x to the value of a constant index, or of a constant of 32 bits. */
static bool is_constant(const wf__node *n, int64_t *x)
{
    const int64_t bits = (int64_t)wf__bits(n);
    *x = n->dtype == WF_I32 ? (int32_t)bits : bits;
    return n->op == WF__CONST && (n->dtype == WF_I64 || n->dtype == WF_I32);
}

/* Returns the bounds of a state that counts up from its initial value by a positive step while it is below a bound. A
 * guard of the loop tests the next value, or the step is taken where a condition on the state holds. next: [nodes] the NEXT
 * of a STATE. */
static wf__range of_counter(const wf__ir *ir, wf__ref state, const wf__ref *next, const wf__range *of)
{
    enum { DEPTH = 4 };
    wf__ref then = next[state] ? ir->node[next[state]].b : 0, bound = 0;
    const wf__range first = of[ir->node[state].b];
    const wf__node *more = &ir->node[then];
    const bool selects = more->op == WF__OP_select && more->c == state;
    bool reached = false;
    if (then == state) /* it never changes */
        return first;
    if (selects) {
        bound = bound_of(ir, more->a, state, DEPTH, &reached);
        more = &ir->node[more->b];
    }
    for (wf__ref s = ir->node[state].a + 1; !selects && !bound && ir->node[s].op == WF__STATE; ++s)
        if (ir->node[s].aux && next[s])
            bound = bound_of(ir, ir->node[next[s]].b, then, DEPTH, &reached);
    if (!first.known || !bound || more->op != WF__OP_add || (more->a != state && more->b != state))
        return unknown;
    /* The step and the bound may be nodes of the body, which come later: of these, constants alone have bounds. */
    const wf__node *by = &ir->node[more->a == state ? more->b : more->a];
    int64_t step, limit, last;
    if (!is_constant(by, &step) || step <= 0)
        return unknown;
    if (!is_constant(&ir->node[bound], &limit)) {
        if (!of[bound].known)
            return unknown;
        limit = of[bound].hi;
    }
    if (__builtin_add_overflow(limit, (int64_t)reached, &limit))
        return unknown;
    if (ir->node[state].dtype != WF_I64 && limit > INT32_MAX - step) /* the counter may wrap */
        return unknown;
    if (__builtin_add_overflow(limit, selects || is_used_after(ir, state) ? step - 1 : -1, &last))
        return unknown;
    return from_to(first.lo, first.hi > last ? first.hi : last);
}

static wf__range of_node(const wf__ir *ir, wf__ref r, const wf__range_leaves *leaves, const wf__ref *next,
                         const wf__range *of)
{
    const wf__node *n = &ir->node[r];
    int64_t x;
    switch (n->op) {
    case WF__CONST:
        return is_constant(n, &x) ? from_to(x, x) : unknown;
    case WF__THREAD:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__DIM:
    case WF__PARAM:
        return n->dtype == WF_I64 || of_dtype(n->dtype).known ? leaves->of(leaves->user, n) : unknown;
    case WF__CAST:
        if (n->dtype != WF_I64)
            return unknown;
        return of[n->a].known || !leaves->dtypes ? of[n->a] : of_dtype(wf__dtype(ir, n->a));
    case WF__STATE:
        return next ? of_counter(ir, r, next, of) : unknown;
    default:
        if (n->dtype != WF_I64 || !wf__op_is_pure(n->op))
            return unknown;
        const wf__range exact = of_op(n, of);
        return exact.known || !leaves->limits ? exact : of_limits(ir, n, of);
    }
}

bool wf__ranges(const wf__ir *ir, const wf__range_leaves *leaves, wf__range *of)
{
    wf__ref *next = NULL;
    if (leaves->counters && ir->loops) {
        if (!(next = wf__alloc0(ir->n * sizeof *next)))
            return false;
        for (wf__ref r = 1; r < ir->n; ++r)
            if (ir->node[r].op == WF__NEXT)
                next[ir->node[r].a] = r;
    }
    for (wf__ref r = 1; r < ir->n; ++r) {
        wf__range x = of_node(ir, r, leaves, next, of);
        if (x.known && x.lo >= leaves->least && x.hi <= leaves->most)
            of[r] = x;
    }
    wf__free(next);
    return true;
}
