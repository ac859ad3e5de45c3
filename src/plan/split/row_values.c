/* row_values.c - values that several passes over rows would compute again. The first pass stores them instead, as the
 * passes run row by row, so that the stored row is in the cache (plan/rows.c).
 *
 * A reduction that keeps rows ends a pass: what depends on its result belongs to a later one. A softmax, for example,
 * needs exp(x - max) for the sum, and again for the quotient.
 */
#include "ir/cost.h"
#include "plan/split/split.h"

enum { MOST_PASSES = 32, MOST_COST = 1 << 20 };

typedef struct again {
    uint32_t *passes; /* [nodes] a bit for each pass that computes the node */
    uint32_t *cost;   /* [nodes] to compute it once more */
    uint8_t *pass;    /* [nodes] the pass after which the value is known */
} again;

/* True for reductions of rows to fewer elements, if rows are short and the whole is large. */
static bool ends_pass(const splitter *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *shape = &s->shape[n->a];
    int64_t points;
    if (n->op != WF__REDUCE || n->c & 1 || shape->rank < 2 || !wf__shape_count(shape, &points) || points < 1)
        return false;
    const int64_t bytes = points * wf__size(s->ir->node[n->a].dtype), rows = shape->dim[0];
    return rows >= WF__MOST_PARTS_OF_STAGE && bytes / rows <= WF__ROWS_BYTES / 4 && bytes >= WF__ROWS_LEAST_BYTES;
}

/* True if a value's own place in each row of memory is that of the point: no views, no indices, arrays in C order. */
static bool is_in_rows(const splitter *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    if (n->op != WF__LOAD)
        return n->op != WF__VIEW && n->op != WF__IOTA;
    const wf__bind *b = &s->bind[s->ir->slot[n->a].object];
    int64_t span = 1;
    for (int d = 1; d < b->rank; ++d) {
        if (b->stride[d] < 0)
            return false;
        span += b->stride[d] * (b->dim[d] - 1);
    }
    return !n->b && (b->rank < 2 || b->rank < s->shape[r].rank || b->stride[0] >= span);
}

static void find_passes(const splitter *s, again *a, bool *any)
{
    const wf__ir *ir = s->ir;
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; r < ir->n; ++r) {
        for (uint32_t count = wf__operands(ir, &ir->node[r], operand), i = 0; s->live[r] && i < count; ++i)
            a->pass[r] = a->pass[operand[i]] > a->pass[r] ? a->pass[operand[i]] : a->pass[r];
        if (s->live[r] && ends_pass(s, r) && a->pass[r] + 1 < MOST_PASSES) {
            ++a->pass[r];
            *any = true;
        }
    }
    for (wf__ref r = ir->n - 1; r >= 1; --r) {
        const wf__node *n = &ir->node[r];
        const uint32_t count = s->live[r] ? wf__operands(ir, n, operand) : 0;
        for (uint32_t i = 0; i < count; ++i) {
            const bool ends = wf__has_result(s, r) || wf__op_is_effect(n->op);
            a->passes[operand[i]] |=
                ends ? UINT32_C(1) << (a->pass[r] - (ends_pass(s, r) && a->pass[r])) : a->passes[r];
        }
    }
}

bool wf__store_row_values(splitter *s)
{
    const wf__ir *ir = s->ir;
    wf__ref operand[WF__MAX_OPERANDS];
    bool any = false;
    if (s->plan->target != WF__PROCESSOR || ir->loops)
        return true;
    again a = { .passes = wf__alloc0(ir->n * (2 * sizeof *a.passes + 1)) };
    if (!a.passes)
        return false;
    a.cost = a.passes + ir->n;
    a.pass = (uint8_t *)(a.cost + ir->n);
    find_passes(s, &a, &any);
    for (wf__ref r = 1; any && r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        const bool known = wf__has_result(s, r);
        const uint32_t count = known || !s->live[r] ? 0 : wf__operands(ir, n, operand);
        a.cost[r] = known ? 0 : is_in_rows(s, r) ? wf__cost_of(n)->recompute : MOST_COST;
        for (uint32_t i = 0; i < count; ++i)
            a.cost[r] += a.cost[operand[i]];
        a.cost[r] = a.cost[r] < MOST_COST ? a.cost[r] : MOST_COST;
        int64_t points;
        const uint32_t passes = a.passes[r];
        if (!s->live[r] || !wf__op_is_pure(n->op) || !(passes & (passes - 1)) || a.cost[r] < WF__WORTH_STORING_ROWS ||
            a.cost[r] == MOST_COST || !wf__shape_count(&s->shape[r], &points) || s->shape[r].rank < 2 ||
            points * wf__size(n->dtype) < WF__ROWS_LEAST_BYTES)
            continue;
        wf__plan_because(s->plan, "split", "%%%u is stored, because several passes over rows use it, at a cost of %u",
                         (unsigned)r, (unsigned)a.cost[r]);
        s->stored[r] = 1;
        a.cost[r] = 0;
    }
    wf__free(a.passes);
    return true;
}
