/* linear_index.c - takes an affine index apart into lane index * coefficient + uniform terms + constant. */
#include "codegen/instance.h"

enum { MOST_DEPTH = 12 };

/* Adds scale * r to *out. */
static void add_scaled(const wf__instance *in, wf__ref r, int64_t scale, wf__linear *out, int depth)
{
    const wf__node *n = wf__at(in->ir, r);
    int64_t k;
    if (depth > MOST_DEPTH) {
        out->failed = true;
    } else if (n->op == WF__CONST) {
        if (!wf__mul_i64(scale, (int64_t)wf__bits(n), &k) || __builtin_add_overflow(out->constant, k, &out->constant))
            out->failed = true;
    } else if (n->op == WF__INDEX && (int)n->a == in->kernel->rank - 1) {
        out->failed |= __builtin_add_overflow(out->coef, scale, &out->coef);
    } else if (n->op == WF__OP_add && n->dtype == WF_I64) {
        add_scaled(in, n->a, scale, out, depth + 1);
        add_scaled(in, n->b, scale, out, depth + 1);
    } else if (n->op == WF__OP_sub && n->dtype == WF_I64 && scale != INT64_MIN) {
        add_scaled(in, n->a, scale, out, depth + 1);
        add_scaled(in, n->b, -scale, out, depth + 1);
    } else if (n->op == WF__OP_mul && wf__at(in->ir, n->b)->op == WF__CONST &&
               wf__mul_i64(scale, (int64_t)wf__bits(wf__at(in->ir, n->b)), &k)) {
        add_scaled(in, n->a, k, out, depth + 1);
    } else if (in->vary[r].kind == WF__UNIFORM && out->n < (int)WF__COUNT(out->term)) {
        out->term[out->n] = r;
        out->scale[out->n++] = scale;
    } else {
        out->failed = true;
    }
}

wf__linear wf__split_index(const wf__instance *in, wf__ref r)
{
    wf__linear l = { 0 };
    add_scaled(in, r, 1, &l, 0);
    return l;
}

bool wf__match_lane_index(const wf__instance *in, wf__ref r, int64_t *coef, int64_t *constant)
{
    if (in->vary[r].kind != WF__AFFINE)
        return false;
    wf__linear l = wf__split_index(in, r);
    *coef = l.coef;
    *constant = l.constant;
    return !l.failed && !l.n;
}
