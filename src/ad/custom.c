/* custom.c - derivatives that the program gives: DERIVED nodes, whose value stands for an output of a rule on some inputs.
 *
 * The outputs of one call of a rule are nodes side by side, so each user of one of them comes after all of them: the sweep
 * back has all their adjoints when it reaches the last one. It keeps them until the first one, where the rule's hook
 * records the derivatives with respect to the inputs.
 */
#include "ad/custom.h"
#include "ad/sweep.h"

bool wf__record_rule(wf__ir *ir, const wf__ad_task *task, wf__ref r, const wf__ref *seed, bool reverse, wf__ref *result)
{
    const wf__node n = ir->node[r];
    wf__ref in[WF__MAX_OPERANDS], out[WF__MAX_OPERANDS] = { 0 };
    if (n.c > ir->custom_n || !task->record) {
        wf__no_derivative(ir, task, &n, "");
        return false;
    }
    const wf__custom rule = ir->custom[n.c - 1];
    if (!(reverse ? rule.vjp : rule.jvp)) {
        wf__ir_fail_at(ir, &ir->node[r], WF_ERR_UNSUPPORTED, "%s: the rule '%s' has no .%s", task->function, rule.name,
                       reverse ? "vjp" : "jvp");
        return false;
    }
    wf__custom_call call = { .rule = &rule, .function = task->function, .in = in, .out = out, .seed = seed };
    call.reverse = reverse;
    call.ins = wf__tuple_len(ir, n.b);
    for (uint32_t k = 0; k < call.ins; ++k)
        in[k] = wf__tuple_at(ir, n.b)[k];
    for (wf__ref q = r; q == r || (q < ir->n && wf__same_call(ir, r, q)); ++q)
        out[ir->node[q].d] = q;
    return task->record(task->user, ir, &call, result) && ir->status == WF_OK;
}

static void reverse_rule(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    wf__ref seed[WF__MAX_OPERANDS] = { 0 }, grad[WF__MAX_OPERANDS] = { 0 };
    bool any = false;
    for (wf__ref q = r; q < s->route.n && (q == r || wf__same_call(ir, r, q)); ++q) {
        a = q == r ? a : wf__take_sum(s, &s->node[q]);
        if (!a.value || ir->status != WF_OK)
            continue;
        seed[ir->node[q].d] = wf__broadcast_to(ir, wf__masked(ir, a), wf__shape_of(ir, q));
        any = true;
    }
    if (!any || !wf__record_rule(ir, s->task, r, seed, true, grad))
        return;
    const uint32_t tuple = ir->node[r].b;
    for (uint32_t k = 0; k < wf__tuple_len(ir, tuple); ++k) {
        const wf__ref in = wf__tuple_at(ir, tuple)[k];
        wf_shape both; /* an input that broadcasts may have the derivatives of all its uses, to be added up */
        bool more = ir->arrays && grad[k] &&
                    wf__broadcast(&ir->shape[wf__shape_of(ir, grad[k])], &ir->shape[wf__shape_of(ir, in)], &both);
        wf__give(s, in, (wf__adjoint){ .value = grad[k] }, more ? wf__shape_id(ir, &both) : wf__shape_of(ir, in));
    }
}

static void reverse_terms(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    wf__term term[WF__MOST_TERMS];
    const uint32_t terms = a.value ? wf__terms_of(ir, r, term) : 0;
    for (uint32_t k = 0; k < terms; ++k) {
        wf__adjoint part = term[k].where ? wf__only_where(ir, a, term[k].where, true) : a;
        wf__ref factor = term[k].factor;
        if (factor && wf__is_complex(wf__dtype(ir, factor)))
            factor = wf__op1(ir, WF__OP_conj, factor);
        part.value = factor ? wf__op2(ir, WF__OP_mul, part.value, factor) : part.value;
        wf__give(s, term[k].of, part, wf__shape_of(ir, r));
    }
}

void wf__reverse_derived(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    const wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    if (wf__has_terms(&n))
        reverse_terms(s, r, a);
    else if (n.c && wf__same_call(ir, r - 1, r))
        wf__add_part(s, &s->node[r], a);
    else if (n.c)
        reverse_rule(s, r, a);
    else
        for (uint32_t k = 0; k < wf__tuple_len(ir, n.b); ++k)
            wf__give(s, wf__tuple_at(ir, n.b)[k], a, wf__shape_of(ir, r));
}
