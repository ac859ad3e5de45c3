/* eval.c - the nodes of operator text as recording calls. The trees are walked in order, so every operand is recorded
 * before its user. To each error, whoever finds it, the place in the text is added.
 */
#include "text/record.h"

/* ---- nodes of the tree ---- */

static wf__tval evaluate_call(wf__recorder *r, const wf__tree *node)
{
    const char *name = r->text->src + node->at;
    wf_dtype cast = wf__text_dtype_named(name, node->len);
    wf__text_fold kind = wf__text_fold_named(name, node->len, node->n);
    bool whole = kind != WF__FOLD_NONE;
    bool stop = wf__text_is(r->text, node->at, node->len, "stop");
    bool replace = wf__text_is(r->text, node->at, node->len, "replace_gradient");
    int f = wf__tval_function(name, node->len);
    if (cast == WF_NONE && !whole && !stop && !replace && f < 0)
        return wf__text_unknown(r, node, true);
    int least = replace ? 2 : cast != WF_NONE || whole || stop ? 1 : wf__tval_arity(f), most = least;
    bool derivative = kind == WF__FOLD_GRAD || kind == WF__FOLD_TANGENT;
    if (whole ? !wf__text_fold_takes(name, node->len, node->n, &least, &most) : (int)node->n != least)
        return wf__text_mistake(
            r, WF_ERR_SYNTAX, node->at, "%.*s takes %d%s%.0d argument%s, not %u%s", (int)node->len, name, least,
            most > least ? " to " : "", most > least ? most : 0, most == 1 ? "" : "s", node->n,
            whole && node->n && !derivative && wf__text_library_has_axes(kind) ? "; axes follow a semicolon: (a; 0, -1)"
                                                                               : "");
    if ((node->b || node->c) && (!whole || derivative))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s has no axes: only functions of whole arrays (sum, mean, ...) do", (int)node->len,
                                name);
    wf__tval args[WF__TEXT_ARGUMENTS];
    for (uint32_t i = 0; i < node->n; i++)
        args[i] = r->value[r->text->list[node->a + i]];
    if (cast != WF_NONE)
        return wf__tval_cast(&r->convert, args[0], cast);
    if (stop)
        return (wf__tval){ wf_stop(args[0].v), args[0].real };
    if (replace)
        return (wf__tval){ wf_replace_gradient(args[0].v, args[1].v), args[0].real };
    if (derivative)
        return wf__text_derive(r, kind, (uint32_t)(node - r->text->node), args);
    if (whole)
        return wf__text_fold_value(r, kind, node, args);
    return wf__tval_call(&r->convert, f, args);
}

static wf__tval evaluate_literal(wf__recorder *r, const wf__literal *n)
{
    if (!n->big)
        return wf__tval_number(n->value, n->real);
    wf_dtype t = n->bits > INT64_MAX ? WF_U64 : WF_I64;
    return wf__tval_node(wf_const_i64(r->graph, t, (int64_t)n->bits));
}

/* Takes a sign and a number together: -9223372036854775808 is an i64, but 9223372036854775808 alone is a u64. */
static wf__tval evaluate_unary(wf__recorder *r, const wf__tree *node)
{
    const wf__tree *operand = &r->text->node[node->a];
    const wf__literal *n = &operand->number;
    uint64_t smallest = (uint64_t)INT64_MAX + 1;
    if (node->op != '-' || operand->kind != WF__TREE_NUMBER || !n->big || n->bits < smallest)
        return wf__tval_unary(&r->convert, node->op, r->value[node->a]);
    if (n->bits > smallest)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "-%llu is less than an i64 can hold: write it with a point",
                                (unsigned long long)n->bits);
    return wf__tval_node(wf_const_i64(r->graph, WF_I64, INT64_MIN));
}

static wf__tval evaluate_node(wf__recorder *r, const wf__tree *node)
{
    wf__tctx *c = &r->convert;
    switch ((wf__tree_kind)node->kind) {
    case WF__TREE_NUMBER:
        return evaluate_literal(r, &node->number);
    case WF__TREE_NAME:
        return wf__text_lookup(r, node);
    case WF__TREE_CALL:
        return evaluate_call(r, node);
    case WF__TREE_READ:
        return wf__text_read(r, node);
    case WF__TREE_UNARY:
        return evaluate_unary(r, node);
    case WF__TREE_BINARY:
        return wf__tval_binary(c, node->op, r->value[node->a], r->value[node->b]);
    case WF__TREE_SELECT:
        return wf__tval_select(c, r->value[node->a], r->value[node->b], r->value[node->c]);
    case WF__TREE_PICK:
        return r->value[node - r->text->node];
    case WF__TREE_NONE:
        break;
    }
    return wf__text_poison(r);
}

void wf__text_evaluate(wf__recorder *r, const wf__stmt *s)
{
    const wf__text *t = r->text;
    for (uint32_t i = s->first; i < s->last && !r->failed; i++) {
        const wf__text_ready *ready = wf__text_ready_at(r, i);
        if (ready)
            i = ready->node;
        r->value[i] =
            ready ? wf__text_element(r, t->node[i].at, t->node[i].len, ready->array) : evaluate_node(r, &t->node[i]);
        if (!r->failed && r->convert.why[0])
            wf__text_mistake(r, WF_ERR_DTYPE, t->node[i].at, "%s", r->convert.why);
        wf__text_check(r, t->node[i].at);
    }
}
