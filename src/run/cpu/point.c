/* point.c - stages of one point with a few plain operations, such as those that store a sum.
 *
 * The interpreter (run/interp) prepares scratch for chunks of lanes, which takes longer than such a stage. Here the nodes
 * are walked one after another, with a number for each. Meanings come from where the interpreter has them (wf__eval_node);
 * loops, masks, borders, indices and reductions are left to it.
 */
#include "run/cpu/boxes.h"
#include "run/cpu/steps.h"

enum { MOST_NODES = 32 };

/* True for nodes that run_nodes knows. Values have at most 8 bytes. */
static bool is_plain(const wf__ir *ir, const wf__node *n)
{
    wf__ref operand[WF__MAX_OPERANDS];
    bool plain = wf__size(n->dtype) <= sizeof(uint64_t);
    switch ((wf__op)n->op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__INDEX:
        return plain;
    case WF__LOAD:
        return plain && ir->slot[n->a].element && n->aux == WF_BORDER_NONE && !wf__when(ir, n);
    case WF__STORE:
        return ir->slot[n->a].element && !n->d;
    default:
        for (uint32_t i = 0, count = wf__operands(ir, n, operand); i < count; ++i)
            plain = plain && !wf__is_complex(wf__dtype(ir, operand[i]));
        return plain && wf__op_is_pure(n->op) && !wf__is_complex(n->dtype);
    }
}

static void run_nodes(const wf__ir *ir, const wf__mem *mem, const uint64_t *param)
{
    uint64_t value[MOST_NODES];
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        switch ((wf__op)n->op) {
        case WF__CONST:
            value[r] = wf__bits(n);
            break;
        case WF__PARAM:
            value[r] = param[n->a];
            break;
        case WF__INDEX:
            value[r] = 0;
            break;
        case WF__LOAD:
            memcpy(&value[r], mem[n->a].base, wf__size(n->dtype));
            break;
        case WF__STORE:
            memcpy(mem[n->a].base, &value[n->c], wf__size(ir->slot[n->a].dtype));
            break;
        default:
            wf__eval_node(n, wf__dtype(ir, wf__last_operand(n)), &value[r], &value[n->a], &value[n->b], &value[n->c],
                          1);
            break;
        }
    }
}

bool wf__run_point(const wf__run *r, wf__stage *stage, wf__note *note)
{
    enum { SLOTS = 8 };
    const wf__ir *ir = &stage->lowered;
    wf__mem mem[SLOTS];
    bool plain = !stage->empty && wf__is_little_point(stage) && !ir->red_n && !ir->loops && !stage->copies.n &&
                 ir->n <= MOST_NODES && ir->slot_n <= SLOTS && !(ir->flags & WF_FLAG_DEBUG);
    for (wf__ref k = 1; plain && k < ir->n; ++k)
        plain = is_plain(ir, &ir->node[k]);
    if (!plain)
        return false;
    double start = note ? wf__now() : 0;
    wf__stage_mem(stage, r->base, mem);
    run_nodes(ir, mem, r->param);
    if (note) {
        note->ran = true;
        note->code = WF_CODE_NONE;
        note->threads = 1;
        note->run_s = wf__now() - start;
    }
    atomic_fetch_add_explicit(&r->engine->evaluated, 1, memory_order_relaxed);
    return true;
}
