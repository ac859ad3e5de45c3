/* second.c - reverse mode of what reverse mode has recorded for a loop that is kept.
 *
 * tape.c computes, from the adjoints b of the states after the loop and of its SCATTERs, which also stand for the stores and
 * accumulations of a loop that has been walked over, the contributions J^T b to its inputs z: the initial
 * values of the states, values from before the loop, and contents of arrays. Each of them is a DERIVED node. Its derivative
 * is not that of the two loops of tape.c, which would need tapes of tapes. If u are the adjoints of these contributions, then
 *
 *     <u, J^T b> = <J u, b>
 *
 * and J u is what forward mode computes, with directions u of the inputs: one loop, without a tape. It is the contribution to the
 * adjoint of b. The contributions to the inputs are those of reverse mode through that loop, with the adjoints b of J u.
 * They come from a tape again, so there are derivatives of any order.
 */
#include "ad/second.h"
#include "ad/copies.h"
#include "ad/forward.h"
#include "ad/turn.h"

typedef struct second {
    wf__sweep *s;
    wf__ir *ir;
    wf__ref loop;
    uint32_t states;
    wf__ref *initial;                  /* [states] directions of the initial values */
    wf__ref out[WF__MAX_OPERANDS];     /* results of the loop that have an adjoint: states, and SCATTERs */
    wf__ref adjoint[WF__MAX_OPERANDS]; /* theirs */
    wf__ref tangent[WF__MAX_OPERANDS]; /* theirs, in J u */
    uint32_t outs;
    wf__ref *input, *direction;
    bool *contents; /* [inputs] the input stands for the contents of its array */
    uint32_t inputs;
    uint8_t *varies; /* [objects] */
} second;

void wf__no_second(wf__sweep *s, const wf__node *n)
{
    wf__ir_fail_at(
        s->ir, n, WF_ERR_UNSUPPORTED,
        "%s: the derivative of a loop in reverse mode, where it stays a loop, has itself no derivative in "
        "reverse mode if the loop has more than %d variables on the way (accumulations and stores count twice), changes "
        "arrays whose extents are open, or was differentiated in forward mode since; say wf_jvp",
        s->task->function, WF__MAX_OPERANDS - WF__LOOP_ARGUMENTS);
}

/* Sets the loop and the adjoints after it from the arguments of an output. */
static bool set_loop(second *p, const wf__node *output)
{
    wf__ir *ir = p->ir;
    const uint32_t arguments = wf__tuple_len(ir, output->b);
    const wf__ref *argument = wf__tuple_at(ir, output->b);
    const wf__node *state = arguments < WF__LOOP_ARGUMENTS ? NULL : &ir->node[argument[1]];
    if (!state || state->op != WF__STATE || !wf__loop_end(ir, state->a)) {
        wf__no_second(p->s, output);
        return false;
    }
    p->loop = state->a;
    p->states = wf__loop_body(ir, p->loop) - (p->loop + 1);
    p->initial = wf__alloc0((p->states + 1) * sizeof *p->initial);
    p->varies = wf__alloc0(wf__objects_of(ir) + 1);
    p->contents = wf__alloc0(ir->n * sizeof *p->contents);
    p->input = wf__alloc0(2 * (size_t)ir->n * sizeof *p->input);
    if (!p->initial || !p->varies || !p->contents || !p->input) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", p->s->task->function);
        return false;
    }
    p->direction = p->input + ir->n;
    const uint64_t mask = wf__bits(&ir->node[wf__as_literal(ir, argument[2])]);
    uint32_t k = WF__LOOP_ARGUMENTS;
    for (uint32_t i = 0; i < p->states && k < arguments; ++i)
        if (mask >> i & 1) {
            p->out[p->outs] = p->loop + 1 + i;
            p->adjoint[p->outs++] = argument[k++];
        }
    for (; k + 1 < arguments; k += 2) {
        p->out[p->outs] = argument[k];
        p->adjoint[p->outs++] = argument[k + 1];
    }
    return true;
}

/* Takes the adjoints of the outputs from node r on, the directions. */
static void take_directions(second *p, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = p->ir;
    for (wf__ref q = r; q < p->s->route.n && (q == r || wf__same_call(ir, r, q)) && ir->status == WF_OK; ++q) {
        const wf__node n = ir->node[q];
        const wf__ref input = wf__tuple_at(ir, n.b)[0];
        a = q == r ? a : wf__take_sum(p->s, &p->s->node[q]);
        /* a value of its own: it may be one of the inputs, too, and is a constant here */
        wf__ref u = a.value ? wf__derived(ir, wf__masked(ir, a), 0, 0, 0) : 0;
        if (!u)
            continue;
        p->input[p->inputs] = input;
        if (n.d < p->states)
            p->initial[n.d] = u;
        else
            p->direction[p->inputs] = u;
        p->contents[p->inputs++] = n.d == WF__LOOP_CONTENTS;
    }
}

/* Records J u. Value numbering is off: the nodes of the loop are new ones, whose operands from before are values of the
 * recording. */
static bool record_tangents(second *p)
{
    wf__ir *ir = p->ir;
    wf__ad_task task = *p->s->task;
    task.out = p->out;
    task.outs = p->outs;
    task.wrt = p->input;
    task.seed = p->direction;
    task.wrts = p->inputs;
    if (!ir->arrays) /* of what points store nothing depends on the states alone */
        task.effects = task.derivative = NULL;
    const wf__numbering numbering = wf__stop_numbering(ir);
    bool ok = wf__forward_loop(ir, &task, p->loop, p->initial, p->contents, p->tangent);
    wf__resume_numbering(ir, numbering);
    return ok;
}

/* True if derivatives go to the array of a read. */
static bool is_wanted(const wf__sweep *s, const wf__node *load)
{
    const uint32_t object = wf__object_of(s->ir, load);
    return s->ir->arrays ? s->route.active.array[object] == WF__ACTIVE
                         : s->task->derivative && s->task->derivative[object];
}

/* Sets input[] to the values from before node `first` that the nodes from there on use and that the derivative follows, and
 * varies[] for the arrays that these nodes read. */
static void find_inputs(second *p, wf__ref first)
{
    wf__ir *ir = p->ir;
    wf__ref operand[WF__AD_OPERANDS];
    p->inputs = 0;
    for (wf__ref r = first; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__LOAD && is_wanted(p->s, n))
            p->varies[wf__object_of(ir, n)] = 1;
        for (uint32_t i = 0, count = wf__ad_operands(ir, r, false, operand); i < count; ++i) {
            bool is_new = operand[i] < first && operand[i] < p->s->route.n && wf__is_active(p->s, operand[i]);
            for (uint32_t k = 0; k < p->inputs && is_new; ++k)
                is_new = p->input[k] != operand[i];
            if (is_new)
                p->input[p->inputs++] = operand[i];
        }
    }
}

/* Walks back over the loop with the tangents, the nodes from `first` on. */
static void reverse_tangents(second *p, wf__ref first)
{
    wf__ir *ir = p->ir;
    wf__sweep *s = p->s,
              back = { .ir = ir, .walk = s->walk, .pointwise = s->pointwise, .on = s->on, .after = s->after };
    wf__ad_task task = *s->task;
    find_inputs(p, first);
    task.out = p->tangent;
    task.outs = 0;
    for (uint32_t i = 0; i < p->outs; ++i)
        if (p->tangent[i]) {
            p->tangent[task.outs] = p->tangent[i];
            p->adjoint[task.outs++] = p->adjoint[i];
        }
    task.wrt = p->input;
    task.wrts = p->inputs;
    task.varies = p->varies;
    back.task = &task;
    if (wf__find_route(ir, &task, first, &back.route) && wf__sweep_begin(&back)) {
        task.wrts = 0; /* the walk collects their adjoints, which none of them has alone */
        for (uint32_t i = 0; i < task.outs; ++i)
            wf__give(&back, p->tangent[i], (wf__adjoint){ .value = p->adjoint[i] }, wf__shape_of(ir, p->adjoint[i]));
        back.walk(&back, first, back.route.last);
        for (uint32_t k = 0; k < p->inputs; ++k)
            wf__add_part(s, &s->node[p->input[k]], wf__take_sum(&back, &back.node[p->input[k]]));
        for (uint32_t object = 0; object < back.route.objects && object < s->route.objects; ++object) {
            wf__add_part(s, &s->array[object], wf__take_sum(&back, &back.array[object]));
            wf__add_part(s, &s->element[object], wf__take_sum(&back, &back.element[object]));
        }
        wf__drop_effects(ir, back.route.last + 1, back.route.n);
    }
    wf__sweep_end(&back);
}

void wf__reverse_second(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    second p = { .s = s, .ir = ir };
    if (wf__same_call(ir, r - 1, r)) {
        wf__add_part(s, &s->node[r], a);
        return;
    }
    if (set_loop(&p, &n))
        take_directions(&p, r, a);
    const wf__ref first = ir->n;
    if (p.inputs && ir->status == WF_OK && record_tangents(&p)) {
        for (uint32_t i = 0; i < p.outs; ++i)
            if (p.tangent[i])
                wf__give(s, p.adjoint[i], (wf__adjoint){ .value = p.tangent[i] }, wf__shape_of(ir, p.adjoint[i]));
        reverse_tangents(&p, first);
    }
    wf__free(p.initial);
    wf__free(p.varies);
    wf__free(p.contents);
    wf__free(p.input);
}
