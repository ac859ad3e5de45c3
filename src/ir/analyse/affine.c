/* affine.c - finds values that are sums of multiples of a point's indices, by following their operands. */
#include "ir/analyse/affine.h"

bool wf__growth(unsigned op, int64_t x, int64_t y, const int64_t *a, const int64_t *b, int64_t *out)
{
    switch (op) {
    case WF__OP_neg:
        return !__builtin_sub_overflow((int64_t)0, x, out);
    case WF__OP_add:
        return !__builtin_add_overflow(x, y, out);
    case WF__OP_sub:
        return !__builtin_sub_overflow(x, y, out);
    case WF__OP_mul:
        return b ? wf__mul_i64(x, *b, out) : a && wf__mul_i64(y, *a, out);
    case WF__OP_shl:
        return b && *b >= 0 && *b < 62 && wf__mul_i64(x, (int64_t)1 << *b, out);
    default:
        return false;
    }
}

bool wf__affine_add(wf__affine *to, const wf__affine *x, int64_t m)
{
    int64_t t;
    bool ok = wf__mul_i64(x->start, m, &t) && !__builtin_add_overflow(to->start, t, &to->start);
    for (int d = 0; ok && d < WF_MAX_RANK; ++d)
        ok = wf__mul_i64(x->step[d], m, &t) && !__builtin_add_overflow(to->step[d], t, &to->step[d]) &&
             wf__mul_i64(x->number[d], m, &t) && !__builtin_add_overflow(to->number[d], t, &to->number[d]);
    return ok;
}

static bool is_start_alone(const wf__affine *x)
{
    wf__affine alone = { .start = x->start };
    return !memcmp(&alone, x, sizeof alone);
}

bool wf__as_affine(const wf__ir *ir, wf__ref r, uint32_t numbers, int depth, wf__affine *out)
{
    const wf__node *n = &ir->node[r];
    wf__affine x, y;
    *out = (wf__affine){ 0 };
    if (n->dtype != WF_I64)
        return false;
    switch (n->op) {
    case WF__CONST:
        out->start = (int64_t)wf__bits(n);
        return true;
    case WF__INDEX:
        out->step[n->a] = 1;
        return true;
    case WF__PARAM:
        if (!numbers || n->a < numbers - 1)
            return false;
        out->number[n->a - (numbers - 1)] = 1;
        return true;
    case WF__OP_add:
    case WF__OP_sub:
    case WF__OP_mul:
        if (!depth || !wf__as_affine(ir, n->a, numbers, depth - 1, &x) ||
            !wf__as_affine(ir, n->b, numbers, depth - 1, &y))
            return false;
        break;
    default:
        return false;
    }
    if (n->op != WF__OP_mul)
        return wf__affine_add(out, &x, 1) && wf__affine_add(out, &y, n->op == WF__OP_add ? 1 : -1);
    if (is_start_alone(&y))
        return wf__affine_add(out, &x, y.start);
    return is_start_alone(&x) && wf__affine_add(out, &y, x.start);
}

enum { MOST_DEPTH = 8 };

bool wf__as_shifted(const wf__ir *ir, wf__ref r, int *axis, wf__affine *out)
{
    *axis = -1;
    if (!wf__as_affine(ir, r, 0, MOST_DEPTH, out))
        return false;
    for (int d = 0; d < WF_MAX_RANK; ++d)
        *axis = out->step[d] ? d : *axis;
    return *axis < 0 || out->step[*axis] > 0;
}

bool wf__as_offset(const wf__ir *ir, wf__ref r, int *axis, int64_t *offset)
{
    wf__affine x;
    int along = -1;
    if (!wf__as_affine(ir, r, 0, MOST_DEPTH, &x))
        return false;
    for (int d = 0; d < WF_MAX_RANK; ++d) {
        if (x.step[d] && (x.step[d] != 1 || along >= 0))
            return false;
        along = x.step[d] ? d : along;
    }
    *axis = along;
    *offset = x.start;
    return true;
}
