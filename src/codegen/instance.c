/* instance.c - the analysis of one instance before its first node is emitted: which nodes are live, at which level each
 * is computed, and whether constants and masks of border tests are so many that they live in memory.
 */
#include "codegen/instance.h"
#include "ir/pass/pass.h"

bool wf__tuple_varies(const wf__ir *ir, const wf__vary *vary, uint32_t tuple)
{
    for (uint32_t k = 0; k < wf__tuple_len(ir, tuple); ++k)
        if (vary[wf__tuple_at(ir, tuple)[k]].kind == WF__VARYING)
            return true;
    return false;
}

bool wf__is_prefetch(const wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    return in->kind == WF__PREFETCH && n->op == WF__LOAD && wf__tuple_varies(in->ir, in->vary, n->b);
}

static void mark_effects(wf__instance *in)
{
    for (uint32_t i = 1; i < in->ir->n; i++) {
        in->live[i] = wf__op_is_effect(in->ir->node[i].op) || wf__is_prefetch(in, i);
    }
    wf__mark_live(in->ir, in->live);
}

/* Counts the uniform values that vector operations use, and marks them in `wanted`. Each occupies a register during the
 * inner loop. */
static uint32_t count_uniform_vectors(const wf__instance *in, uint8_t *wanted)
{
    const wf__ir *ir = in->ir;
    uint32_t n = 0;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *node = &ir->node[i];
        if (!in->live[i] || in->vary[i].kind != WF__VARYING)
            continue;
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(ir, node, operand);
        for (uint32_t k = 0; k < count; k++) {
            wf__ref r = operand[k];
            bool value = wf__op_is_pure(node->op) || node->op == WF__COLD || r == node->c;
            if (!value || in->vary[r].kind != WF__UNIFORM || ir->node[r].op == WF__CONST || wanted[r])
                continue;
            wanted[r] = 1;
            n++;
        }
    }
    return n;
}

/* Takes the levels from the analysis, with two exceptions. If uniform values would fill the registers, uniform loads
 * and parameters stay in the inner loop, where the processor broadcasts them from memory. In INTERIOR a uniform load
 * comes after the test of the row: it may be a load with a border mode, whose own test was removed. */
static bool set_levels(wf__instance *in)
{
    const wf__ir *ir = in->ir;
    const uint8_t rank = (uint8_t)in->kernel->rank;
    uint8_t *wanted = wf__alloc0(ir->n);
    if (!wanted)
        return false;
    bool many = count_uniform_vectors(in, wanted) > WF__MOST_UNIFORM_VECTORS;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        uint8_t level = in->vary[i].level;
        if (in->vary[i].kind == WF__UNIFORM) {
            if (n->op == WF__LOAD && in->kind != WF__BORDER && level < rank - 1)
                level = (uint8_t)(rank - 1);
            if (many && wanted[i] && (n->op == WF__LOAD || n->op == WF__PARAM))
                level = rank;
            wf__ref operand[WF__MAX_OPERANDS];
            uint32_t count = wf__operands(ir, n, operand);
            for (uint32_t k = 0; k < count; k++)
                if (in->level[operand[k]] > level)
                    level = in->level[operand[k]];
        }
        in->level[i] = level;
    }
    wf__free(wanted);
    return true;
}

static uint32_t count_constants(const wf__instance *in)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < in->ir->n; i++)
        n += in->live[i] && in->ir->node[i].op == WF__CONST && in->ir->node[i].dtype != WF_I64;
    return n;
}

bool wf__init_instance(wf__instance *in, wf__kernel_emitter *kernel, const wf__ir *ir, wf__instance_kind kind)
{
    *in = (wf__instance){ .kernel = kernel, .g = kernel->g, .ir = ir, .kind = kind };
    size_t n = ir->n;
    in->vary = wf__alloc(n * sizeof *in->vary);
    in->level = wf__alloc0(n);
    in->live = wf__alloc0(n);
    in->common = wf__alloc0(n);
    in->scalar = wf__alloc0(n * sizeof *in->scalar);
    in->vector = wf__alloc0(n * sizeof *in->vector);
    in->rare = wf__alloc0(n * sizeof *in->rare);
    in->place = wf__alloc0(n * sizeof *in->place);
    in->order = wf__alloc(n * sizeof *in->order);
    size_t accumulators = (size_t)ir->red_n * (size_t)kernel->instances + 1;
    in->red.current = wf__alloc0(accumulators * sizeof *in->red.current);
    in->red.phi = wf__alloc0(accumulators * sizeof *in->red.phi);
    in->red.row = wf__alloc0((ir->red_n + 1) * sizeof *in->red.row);
    if (!in->vary || !in->level || !in->live || !in->common || !in->scalar || !in->vector || !in->rare || !in->place ||
        !in->order || !in->red.current || !in->red.phi || !in->red.row)
        return false;
    wf__analyse(ir, in->vary);
    wf__mark_common_memory(ir, in->vary, in->common);
    mark_effects(in);
    if (!set_levels(in))
        return false;
    uint32_t bordered = 0;
    for (uint32_t i = 1; i < ir->n; i++) {
        if (in->live[i] && in->level[i] == kernel->rank && in->vary[i].kind != WF__AFFINE)
            in->order[in->order_n++] = i;
        bordered += ir->node[i].op == WF__LOAD && ir->node[i].aux != WF_BORDER_NONE;
    }
    in->spills_masks = bordered > WF__MOST_MASKED_LOADS;
    in->constants_in_memory = count_constants(in) > WF__MOST_HELD_CONSTANTS;
    return true;
}

void wf__free_instance(wf__instance *in)
{
    wf__free(in->vary);
    wf__free(in->level);
    wf__free(in->live);
    wf__free(in->common);
    wf__free(in->scalar);
    wf__free(in->vector);
    wf__free(in->rare);
    wf__free(in->place);
    wf__free(in->order);
    wf__free(in->red.current);
    wf__free(in->red.phi);
    wf__free(in->red.row);
    wf__free(in->cache.value);
    wf__free(in->loops.made);
    wf__free(in->packets.all);
    wf__free(in->packets.of);
}
