/* parts.c - sums of contributions to adjoints, and the points that take part. */
#include "ad/sweep.h"

bool wf__sweep_begin(wf__sweep *s)
{
    s->part_n = 1;
    s->node = wf__alloc0((s->route.n + 2 * (size_t)s->route.objects + 1) * sizeof *s->node);
    if (!s->node) {
        wf__ir_fail(s->ir, WF_ERR_MEMORY, "%s: out of memory", s->task->function);
        return false;
    }
    s->array = s->node + s->route.n;
    s->element = s->array + s->route.objects;
    return true;
}

void wf__sweep_end(wf__sweep *s)
{
    wf__route_free(&s->route);
    wf__free(s->node);
    wf__free(s->part);
}

void wf__add_part(wf__sweep *s, wf__sum *sum, wf__adjoint adjoint)
{
    if (!adjoint.value || s->ir->status != WF_OK)
        return;
    if (!wf__grow(&s->part, &s->part_cap, s->part_n + 1, sizeof *s->part)) {
        wf__ir_fail(s->ir, WF_ERR_MEMORY, "%s: out of memory", s->task->function);
        return;
    }
    s->part[s->part_n] = (wf__part){ .adjoint = adjoint };
    if (sum->last)
        s->part[sum->last].next = s->part_n;
    else
        sum->first = s->part_n;
    sum->last = s->part_n++;
}

wf__ref wf__masked(wf__ir *ir, wf__adjoint a)
{
    if (!a.mask || !a.value)
        return a.value;
    return wf__op3(ir, WF__OP_select, a.mask, a.value, wf__const_f64(ir, wf__dtype(ir, a.value), 0));
}

wf__adjoint wf__take_sum(wf__sweep *s, wf__sum *sum)
{
    const wf__sum list = *sum;
    *sum = (wf__sum){ 0 };
    if (!list.first || s->ir->status != WF_OK)
        return (wf__adjoint){ 0 };
    const wf__part *part = s->part;
    wf__adjoint total = part[list.first].adjoint;
    bool same = true;
    for (uint32_t i = part[list.first].next; i; i = part[i].next)
        same = same && part[i].adjoint.mask == total.mask;
    if (!same)
        total.value = wf__masked(s->ir, total);
    for (uint32_t i = part[list.first].next; i; i = part[i].next) {
        const wf__adjoint *a = &part[i].adjoint;
        total.value = wf__op2(s->ir, WF__OP_add, total.value, same ? a->value : wf__masked(s->ir, *a));
        if (!same)
            total.mask = total.mask && a->mask ? wf__op2(s->ir, WF__OP_or, total.mask, a->mask) : 0;
    }
    return total;
}

wf__adjoint wf__only_where(wf__ir *ir, wf__adjoint a, wf__ref condition, bool holds)
{
    if (!a.value || ir->status != WF_OK)
        return (wf__adjoint){ 0 };
    if (!holds)
        condition = wf__op1(ir, WF__OP_not, condition);
    a.mask = wf__both(ir, a.mask, condition);
    if (wf__is_const(ir, wf__as_literal(ir, a.mask), 1))
        a.mask = 0;
    else if (wf__is_const(ir, wf__as_literal(ir, a.mask), 0))
        a.value = a.mask = 0;
    return a;
}

/* Returns the value in the dtype of derivatives of the operand. */
static wf__ref in_dtype_of(wf__ir *ir, wf__ref value, wf__ref operand)
{
    unsigned t = wf__adjoint_dtype(wf__dtype(ir, operand));
    if (wf__is_complex(wf__dtype(ir, value)) && !wf__is_complex(t))
        value = wf__real(ir, value);
    return value ? wf__cast(ir, value, t) : 0;
}

void wf__give(wf__sweep *s, wf__ref operand, wf__adjoint a, uint32_t points)
{
    if (!a.value || !wf__is_active(s, operand) || s->ir->status != WF_OK)
        return;
    a.value = in_dtype_of(s->ir, a.value, operand);
    const uint32_t own = wf__shape_of(s->ir, operand);
    if (s->ir->arrays && own != points && !s->pointwise) {
        wf__ref value = wf__masked(s->ir, a);
        a = (wf__adjoint){ .value = wf__sum_to(s->ir, value, points, own, s->task->function) };
    }
    wf__add_part(s, &s->node[operand], a);
}
