/* active.c - marks the nodes between the wanted values and the results. Nothing is recorded for any other node. */
#include "ad/active.h"
#include "ad/rule.h"

uint32_t wf__objects_of(const wf__ir *ir)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        n = ir->slot[s].object + 1 > n ? ir->slot[s].object + 1 : n;
    return n;
}

void wf__no_derivative(wf__ir *ir, const wf__ad_task *task, const wf__node *n, const char *why)
{
    wf__ir_fail_at(ir, n, WF_ERR_UNSUPPORTED, "%s: %s has no derivative%s", task->function, wf__function_of(n), why);
}

/* True if the node has a derivative with respect to its operands. */
static bool is_smooth(const wf__node *n)
{
    if (n->op == WF__NEXT || n->op == WF__STORE || n->op == WF__ACCUM)
        return true;
    if (!wf__has_adjoint(n->dtype) || n->op == WF__BITCAST)
        return false;
    return n->op < WF__NODES || wf__rule_of(n->op)->class != WF__RULE_STEP;
}

bool wf__same_call(const wf__ir *ir, wf__ref first, wf__ref second)
{
    const wf__node *a = &ir->node[first], *b = &ir->node[second];
    if (a->op != WF__DERIVED || b->op != WF__DERIVED || !a->c || a->c != b->c)
        return false;
    if (!wf__is_of_loop(a))
        return a->b == b->b && a->d < b->d;
    const uint32_t n = wf__tuple_len(ir, a->b);
    return n && n == wf__tuple_len(ir, b->b) &&
           !memcmp(wf__tuple_at(ir, a->b) + 1, wf__tuple_at(ir, b->b) + 1, (n - 1) * sizeof(wf__ref));
}

/* The adjoint of a loop depends on the adjoints that it begins with, and on all that the states depend on. */
static uint32_t operands_of_loop(const wf__ir *ir, const wf__node *n, wf__ref *operand)
{
    const uint32_t arguments = wf__tuple_len(ir, n->b);
    if (arguments < WF__LOOP_ARGUMENTS)
        return 0;
    const wf__ref *argument = wf__tuple_at(ir, n->b), state = argument[1];
    uint32_t count = 0;
    for (uint32_t k = WF__LOOP_ARGUMENTS; k < arguments; ++k)
        operand[count++] = argument[k];
    if (ir->node[state].op != WF__STATE) /* the loop was written out */
        operand[count++] = state;
    else
        for (wf__ref s = ir->node[state].a + 1; ir->node[s].op == WF__STATE && count < WF__AD_OPERANDS; ++s)
            operand[count++] = s;
    return count;
}

uint32_t wf__ad_operands(const wf__ir *ir, wf__ref r, bool forward, wf__ref operand[WF__AD_OPERANDS])
{
    const wf__node *node = &ir->node[r];
    const wf__whole *whole = wf__whole_of(ir, r);
    uint32_t n = 0;
    if (wf__is_of_loop(node) && forward) {
        operand[0] = node->a;
        return 1;
    }
    if (wf__is_of_loop(node))
        return operands_of_loop(ir, node, operand);
    if (wf__has_terms(node))
        return wf__term_operands(ir, r, operand);
    if (node->op == WF__DERIVED) {
        for (; n < wf__tuple_len(ir, node->b); ++n)
            operand[n] = wf__tuple_at(ir, node->b)[n];
        return n;
    }
    if (!whole)
        return wf__operands(ir, node, operand);
    for (unsigned k = 0; k < 4; ++k)
        if (whole->part[k / 2][k % 2])
            operand[n++] = whole->part[k / 2][k % 2];
    return n;
}

/* Marks what depends on the wanted values. Returns true if there are new marks. */
static bool spread_up(const wf__ir *ir, const wf__ad_task *task, wf__activity *active, wf__ref first, wf__ref last)
{
    wf__ref operand[WF__AD_OPERANDS];
    bool any = false;
    for (wf__ref r = first; r <= last; ++r) {
        const wf__node *n = &ir->node[r];
        bool varies = ir->arrays && n->op == WF__LOAD && active->array[wf__object_of(ir, n)] & WF__VARIES;
        varies = varies || (n->op == WF__LOAD && task->varies && task->varies[wf__object_of(ir, n)]);
        if (active->node[r] & WF__VARIES || !is_smooth(n))
            continue;
        uint32_t count = wf__ad_operands(ir, r, task->forward, operand);
        for (uint32_t i = 0; i < count; ++i)
            varies = varies || (active->node[operand[i]] & WF__VARIES && wf__has_adjoint(wf__dtype(ir, operand[i])));
        if (!varies)
            continue;
        any = true;
        active->node[r] |= WF__VARIES;
        if (n->op == WF__NEXT)
            active->node[n->a] |= WF__VARIES;
        if (wf__op_is_store(n->op))
            active->array[wf__object_of(ir, n)] |= WF__VARIES;
    }
    return any;
}

/* Marks what the results depend on, by operations that have derivatives. Returns true if there are new marks. */
static bool spread_down(const wf__ir *ir, const wf__ad_task *task, wf__activity *active, const wf__loops *loops,
                        wf__ref first, wf__ref last)
{
    wf__ref operand[WF__AD_OPERANDS];
    bool any = false;
    for (wf__ref r = last; r >= first; --r) {
        const wf__node *n = &ir->node[r];
        bool counts = active->node[r] & WF__COUNTS;
        if (n->op == WF__NEXT)
            counts = active->node[n->a] & WF__COUNTS;
        else if (wf__op_is_store(n->op))
            counts = counts || (ir->arrays && active->array[wf__object_of(ir, n)] & WF__COUNTS) ||
                     (task->effects && task->effects[wf__object_of(ir, n)]);
        if (!counts)
            continue;
        any = any || !(active->node[r] & WF__COUNTS);
        active->node[r] |= WF__COUNTS;
        if (!is_smooth(n))
            continue;
        wf__ref final = wf__final(loops, r);
        any = any || (final && !(active->node[final] & WF__COUNTS));
        active->node[final] |= final ? WF__COUNTS : 0;
        if (ir->arrays && n->op == WF__LOAD && !(active->array[wf__object_of(ir, n)] & WF__COUNTS)) {
            active->array[wf__object_of(ir, n)] |= WF__COUNTS;
            any = true;
        }
        active->node[r - 1] |= wf__same_call(ir, r - 1, r) ? WF__COUNTS : 0; /* the first output stands for all */
        uint32_t count = wf__ad_operands(ir, r, task->forward, operand);
        for (uint32_t i = 0; i < count; ++i) {
            any = any || (operand[i] >= r && !(active->node[operand[i]] & WF__COUNTS));
            active->node[operand[i]] |= WF__COUNTS;
        }
    }
    return any;
}

bool wf__find_active(wf__ir *ir, const wf__ad_task *task, const wf__loops *loops, wf__activity *out)
{
    uint32_t objects = wf__objects_of(ir);
    *out = (wf__activity){ .node = wf__alloc0((size_t)ir->n + objects + 1) };
    if (!out->node) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", task->function);
        return false;
    }
    out->array = out->node + ir->n;
    for (uint32_t i = 0; i < task->wrts; ++i) {
        const wf__ref r = task->wrt[i];
        out->node[r] |= WF__VARIES;
        if (wf__is_contents(ir, r))
            out->array[wf__object_of(ir, &ir->node[r])] |= WF__VARIES;
    }
    for (uint32_t i = 0; i < task->outs; ++i)
        out->node[task->out[i]] |= WF__COUNTS;
    /* The values of a loop's turn depend on those of the turn before; memory is read after it was changed. */
    while (spread_up(ir, task, out, 1, ir->n - 1) && (ir->loops || objects))
        ;
    while (spread_down(ir, task, out, loops, 1, ir->n - 1) && (ir->loops || objects))
        ;
    return true;
}

static const wf__node *access_to(const wf__ir *ir, uint32_t slot)
{
    wf__ref r = 1;
    while (r + 1 < ir->n && !(wf__op_names_slot(ir->node[r].op) && ir->node[r].a == slot))
        ++r;
    return &ir->node[r];
}

bool wf__check_shared(wf__ir *ir, const wf__ad_task *task, const wf__activity *active)
{
    for (uint32_t s = 0; s < ir->slot_n && task->share && ir->arrays; ++s)
        for (uint32_t t = 0; t < ir->slot_n; ++t) {
            const uint32_t a = ir->slot[s].object, b = ir->slot[t].object;
            bool passes = active->array[a] & WF__VARIES && active->array[b] & WF__COUNTS;
            passes = passes || (active->array[a] == WF__ACTIVE && ir->slot[t].written);
            if (a != b && passes && task->share(task->user, a, b)) {
                wf__ir_fail_at(ir, access_to(ir, t), WF_ERR_UNSUPPORTED,
                               "%s: the derivative passes through memory that two arrays share; use one of them, and "
                               "slices of its value",
                               task->function);
                return false;
            }
        }
    return true;
}

void wf__activity_free(wf__activity *active)
{
    wf__free(active->node);
    *active = (wf__activity){ 0 };
}

/* Marks arrays that share memory with one that depends on the wanted values. Returns true if there are new marks. */
static bool spread_over_memory(const wf__ir *ir, const wf__ad_task *task, wf__activity *active)
{
    bool any = false;
    for (uint32_t s = 0; s < ir->slot_n && task->share && ir->arrays; ++s)
        for (uint32_t t = 0; t < ir->slot_n; ++t) {
            const uint32_t a = ir->slot[s].object, b = ir->slot[t].object;
            if (active->array[a] & WF__VARIES && !(active->array[b] & WF__VARIES) && task->share(task->user, a, b)) {
                active->array[b] |= WF__VARIES;
                any = true;
            }
        }
    return any;
}

bool wf__ad_depends(wf__ir *ir, const wf__ad_task *task)
{
    wf__activity active;
    bool depends = false;
    if (!wf__find_active(ir, task, NULL, &active))
        return false;
    while (spread_over_memory(ir, task, &active))
        while (spread_up(ir, task, &active, 1, ir->n - 1))
            ;
    for (uint32_t i = 0; i < task->outs; ++i)
        depends = depends || active.node[task->out[i]] & WF__VARIES;
    wf__activity_free(&active);
    return depends;
}
