/* outputs.c - what a loop that is kept contributes to the adjoints of its inputs: of the initial values of its states, of
 * values from before it, and of contents of arrays. Each contribution is a DERIVED node, an output of the loop's adjoint, which
 * names the loop and all that the adjoint begins with, so that second.c finds its derivative. SCATTERs stand for what the
 * loop stores and accumulates.
 */
#include "ad/outputs.h"

typedef struct arguments {
    wf__ref at[WF__MAX_OPERANDS]; /* the first one is that of each output */
    uint32_t n;                   /* 0 = the outputs have no such derivative */
} arguments;

static bool add_pair(arguments *a, wf__ref scatter, wf__ref adjoint)
{
    const bool fits = a->n + 2 <= WF__MAX_OPERANDS;
    if (fits) {
        a->at[a->n++] = scatter;
        a->at[a->n++] = adjoint;
    }
    return fits;
}

static const wf_shape one_element = { .rank = 1, .dim = { 1 } };

/* Returns the literal 0 before the loop, which is the index of the element of an array of rank 0; 0 = there is none. */
static wf__ref zero_before(const wf__ir *ir, wf__ref loop)
{
    wf__ref r = loop;
    while (--r && !(ir->node[r].op == WF__CONST && ir->node[r].dtype == WF_I64 && !wf__bits(&ir->node[r]) &&
                    !ir->node[r].shape && !wf__is_closed(ir, r)))
        ;
    return r;
}

/* True for an effect on an array on the way that a SCATTER can stand for. */
static bool is_scatter(const wf__turn *turn, wf__ref r)
{
    const wf__ir *in = &turn->in;
    const wf__node *n = &in->node[r];
    return wf__op_is_store(n->op) && turn->effects[wf__object_of(in, n)] &&
           (n->b || zero_before(in, turn->loop.loop)) && wf__shape_known(turn->ir, turn->ir->slot[n->a].shape);
}

/* Returns the adjoint, after the loop, of what an effect that a SCATTER stands for has changed; 0 = it is 0. */
static wf__ref adjoint_of_scatter(const wf__sweep *s, const wf__node *effect)
{
    const wf__ref after = s->after[wf__object_of(s->ir, effect)];
    return after && !effect->b ? wf__reshaped(s->ir, after, &one_element) : after;
}

void wf__replace_effects(const wf__turn *turn)
{
    wf__ir *ir = turn->ir;
    for (wf__ref r = turn->loop.loop; r < turn->loop.end && ir->status == WF_OK; ++r) {
        const wf__node n = ir->node[r];
        if (!is_scatter(turn, r))
            continue;
        const wf__ref zero = zero_before(ir, turn->loop.loop);
        const uint32_t tuple = n.b ? n.b : wf__tuple(ir, &zero, 1);
        const uint32_t shape = n.b ? ir->slot[n.a].shape : wf__shape_id(ir, &one_element);
        if (ir->status == WF_OK)
            ir->node[r] = wf__scatter_node(ir, WF_JOIN_ADD, n.c, shape, tuple, n.d);
    }
}

static arguments find_arguments(const wf__outputs *o)
{
    const wf__sweep *s = o->s;
    const wf__turn *turn = o->turn;
    wf__ir *ir = s->ir;
    arguments a = { .at = { 0, turn->first }, .n = WF__LOOP_ARGUMENTS };
    uint32_t mask = 0;
    bool able = !s->pointwise && !s->task->derivative && turn->states <= WF__LOOP_STATES;
    for (uint32_t i = 0; i < turn->states && able; ++i) {
        if (!o->last[i])
            continue;
        able = a.n < WF__MAX_OPERANDS;
        if (able)
            a.at[a.n++] = o->last[i];
        mask |= 1u << i;
    }
    for (uint32_t k = 0; k < o->scatters && able; ++k)
        able = add_pair(&a, o->scatter[k], o->scattered[k]);
    for (wf__ref r = turn->loop.loop; r < turn->loop.end && s->after && able; ++r) {
        const wf__node *e = &turn->in.node[r];
        if (!wf__op_is_store(e->op) || !s->after[wf__object_of(ir, e)])
            continue;
        able = is_scatter(turn, r) && add_pair(&a, r, adjoint_of_scatter(s, e));
    }
    a.at[2] = wf__const_bits(ir, WF_U32, mask);
    a.n = able ? a.n : 0;
    return a;
}

/* Returns a contribution to the adjoint of an input as an output. */
static wf__ref output(wf__ir *ir, arguments *a, wf__ref value, wf__ref input, uint32_t number)
{
    if (!a->n || !input || ir->status != WF_OK)
        return value;
    a->at[0] = input;
    return wf__derived(ir, value, wf__tuple(ir, a->at, a->n), WF__LOOP_RULE, number);
}

/* Returns a value that stands for the contents of an array; 0 = none. */
static wf__ref contents_of(const wf__ir *ir, uint32_t object)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__is_contents(ir, r) && !wf__is_closed(ir, r) && wf__object_of(ir, &ir->node[r]) == object)
            return r;
    return 0;
}

/* The SCATTERs of the walk among the contributions to an input become outputs. */
static void output_scatters(const wf__outputs *o, arguments *a, const wf__sum *list, wf__ref input, uint32_t number)
{
    wf__sweep *s = o->s;
    for (uint32_t i = list->first; i && s->ir->status == WF_OK; i = s->part[i].next) {
        wf__ref *value = &s->part[i].adjoint.value;
        if (*value > o->walk && s->ir->node[*value].op == WF__SCATTER)
            *value = output(s->ir, a, *value, input, number);
    }
}

void wf__give_outputs(const wf__outputs *o)
{
    wf__sweep *s = o->s;
    wf__ir *ir = s->ir;
    const wf__turn *turn = o->turn;
    arguments a = find_arguments(o);
    for (uint32_t i = 0; i < turn->states && ir->status == WF_OK; ++i) {
        const wf__ref initial = wf__turn_state(turn, i)->b;
        if (!o->adjoint[i] || !wf__is_active(s, initial))
            continue;
        wf__ref value = output(ir, &a, o->adjoint[i], initial, i);
        wf__give(s, initial, (wf__adjoint){ .value = value }, wf__shape_of(ir, value));
    }
    for (uint32_t k = 0; k < turn->outers && ir->status == WF_OK; ++k) {
        const wf__ref r = turn->outer[k];
        if (!o->sum[k])
            continue;
        if (wf__turn_reads(turn, k)) {
            const wf__ref of = contents_of(ir, wf__object_of(ir, &turn->in.node[r]));
            wf__ref value = output(ir, &a, o->sum[k], of, WF__LOOP_CONTENTS);
            wf__add_part(s, wf__outer_sum(turn, s, k), (wf__adjoint){ .value = value });
        } else {
            wf__ref value = output(ir, &a, o->sum[k], r, WF__LOOP_VALUE);
            wf__give(s, r, (wf__adjoint){ .value = value }, wf__shape_of(ir, value));
        }
    }
    for (uint32_t object = 0; object < s->route.objects && a.n; ++object)
        if (s->array[object].first)
            output_scatters(o, &a, &s->array[object], contents_of(ir, object), WF__LOOP_CONTENTS);
    for (uint32_t k = 0; k < turn->outers && a.n; ++k)
        if (!wf__turn_reads(turn, k))
            output_scatters(o, &a, &s->node[turn->outer[k]], turn->outer[k], WF__LOOP_VALUE);
}
