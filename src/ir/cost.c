/* cost.c - costs of the cost classes of nodes (node.def, ops.def), and sums over recordings. */
#include "ir/cost.h"
#include "ir/thresholds.h"

static const uint8_t class_of_op[WF__OP_COUNT] = {
#define WF_NODE(NAME, name, function, computes, where, cost, ...) [WF__##NAME] = WF__COST_##cost,
#include "ir/node.def"
#undef WF_NODE
#define WF_OP(name, arity, types, result, flags, cost, ...) [WF__OP_##name] = WF__COST_##cost,
#include "ir/ops.def"
#undef WF_OP
};

enum { NEVER = WF__NEVER_MASKED };
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }
static const wf__cost cost_of_class[WF__COST_CLASSES][2] = {
/* [0]: other dtypes; [1]: floats */
#define WF_COST(name, recompute, masked, code, work, cycles, instructions, is_long, doc)    \
    [WF__COST_##name] = { { recompute, masked, code, work, cycles, instructions, is_long }, \
                          { recompute, masked, code, work, cycles, instructions, is_long } },
#define WF_COST_BY_DTYPE(name, others, floats, doc) [WF__COST_##name] = { ROW others, ROW floats },
#include "ir/cost.def"
#undef WF_COST
#undef WF_COST_BY_DTYPE
};

wf__cost_class wf__cost_class_of(const wf__node *n)
{
    return n->op == WF__LOAD && n->b ? WF__COST_LOAD_AT : (wf__cost_class)class_of_op[n->op];
}

const wf__cost *wf__cost_of(const wf__node *n) { return &cost_of_class[wf__cost_class_of(n)][wf__is_float(n->dtype)]; }

unsigned wf__code_apart(const wf__node *access)
{
    enum { MOVED = 8, MOVED_IN_BRANCHES = 64 }; /* bytes and words take a branch for each lane */
    return wf__size(access->dtype) < 4 ? MOVED_IN_BRANCHES : MOVED;
}

unsigned wf__cost_bytes(const wf__node *n) { return wf__op_is_access(n->op) ? wf__size(n->dtype) : 0; }

uint32_t wf__cost_recompute_on_gpu(const wf__node *n)
{
    return wf__cost_of(n)->recompute * (wf__size(n->dtype) > 4 ? 2u : 1u);
}

uint32_t wf__cost_recompute_of_all(const wf__ir *ir)
{
    uint32_t cost = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        cost += wf__cost_of(&ir->node[r])->recompute;
    return cost;
}

/* Returns how often nodes behind `n` run at a point, if n itself runs `times` times. */
static uint64_t turns_behind(const wf__ir *ir, const wf__node *n, uint64_t times)
{
    if (n->op == WF__LOOP && !n->aux && times < WF__TURNS_OF_LOOP * WF__TURNS_OF_LOOP)
        return times * WF__TURNS_OF_LOOP;
    if (n->op == WF__END && !ir->node[n->a].aux && times > 1)
        return times / WF__TURNS_OF_LOOP;
    return times;
}

uint64_t wf__turns_of(const wf__ir *ir, wf__ref r)
{
    uint64_t times = 1;
    for (wf__ref q = 1; q < r; ++q)
        times = turns_behind(ir, &ir->node[q], times);
    return times;
}

uint64_t wf__work_of_point(const wf__ir *ir)
{
    uint64_t work = 0, times = 1;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        times = turns_behind(ir, n, times);
        work += times * wf__cost_of(n)->work;
    }
    return work;
}
