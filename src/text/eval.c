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
    int f = wf__tval_function(name, node->len);
    if (cast == WF_NONE && kind == WF__FOLD_NONE && f < 0)
        return wf__text_unknown(r, node, true);
    int arity = cast != WF_NONE || kind != WF__FOLD_NONE ? 1 : wf__tval_arity(f);
    if ((int)node->n != arity && !(wf__text_fold_has_ddof(kind) && node->n == 2))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s takes %d %s, not %u%s", (int)node->len, name, arity,
                                arity == 1 ? "argument" : "arguments", node->n,
                                kind != WF__FOLD_NONE && node->n ? "; axes follow a semicolon: (a; 0, -1)" : "");
    if ((node->b || node->c) && kind == WF__FOLD_NONE)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s has no axes: only reductions (sum, mean, ...) do",
                                (int)node->len, name);
    wf__tval args[3];
    for (uint32_t i = 0; i < node->n; i++)
        args[i] = r->value[r->text->list[node->a + i]];
    if (cast != WF_NONE)
        return wf__tval_cast(&r->convert, args[0], cast);
    if (kind != WF__FOLD_NONE)
        return wf__text_fold_value(r, kind, node, args);
    return wf__tval_call(&r->convert, f, args);
}

bool wf__text_indices(wf__recorder *r, uint32_t list, uint32_t n, wf__tval *out)
{
    for (uint32_t k = 0; k < n && !r->failed; k++) {
        uint32_t node = r->text->list[list + k];
        out[k] = wf__tval_integer(&r->convert, r->value[node]);
        if (r->convert.why[0])
            wf__text_mistake(r, WF_ERR_DTYPE, r->text->node[node].at, "%s", r->convert.why);
    }
    return !r->failed;
}

bool wf__text_as_many(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array, uint32_t n)
{
    int rank = wf_array_shape(array).rank;
    if ((int)n != rank)
        wf__text_mistake(r, WF_ERR_SHAPE, at, "%.*s has %d %s, %u %s given", wf__text_shown(len), r->text->src + at,
                         rank, rank == 1 ? "axis" : "axes", n, n == 1 ? "index is" : "indices are");
    return !r->failed;
}

/* The element of a local array. */
static wf__tval read_local(wf__recorder *r, const wf__tree *node, const wf_array *array)
{
    wf__tval at[WF_MAX_RANK];
    wf_val index[WF_MAX_RANK];
    if (!wf__text_as_many(r, node->at, node->len, array, node->n) || !wf__text_indices(r, node->a, node->n, at))
        return wf__text_poison(r);
    for (uint32_t k = 0; k < node->n; k++)
        index[k] = at[k].v;
    wf_vals where = { index, node->n };
    if (node->border == WF_BORDER_VALUE && !node->b) /* 0 outside; debug mode reports it */
        return wf__tval_node(wf_read_n(r->graph, array, where));
    wf_val outside = node->b ? r->value[node->b].v : wf__tval_number(0, false).v;
    return wf__tval_node(wf_read_border_n(r->graph, array, (wf_border)node->border, outside, where));
}

/* a[y-1, x]. If there are fewer indices than axes, they are those of the last axes. */
static wf__tval evaluate_read(wf__recorder *r, const wf__tree *node)
{
    const wf__text *t = r->text;
    const wf_arg *arg = wf__text_arg(r, node->at, node->len);
    int len = wf__text_shown(node->len);
    const char *name = t->src + node->at;
    int w = r->made ? wf__text_wanted(r, node->at, node->len) : -1;
    const wf__text_name *assigned = wf__text_assigned(r, node->at, node->len);
    if (assigned && assigned->array)
        return read_local(r, node, assigned->array);
    if (assigned || (w >= 0 && r->made[w]))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is computed here: only arrays that are arguments have neighbours", len, name);
    if (!arg)
        return wf__text_unknown(r, node, wf__tval_function(name, node->len) >= 0);
    if (arg->kind != 1)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is no array: it has no neighbours", len, name);
    if (!arg->as.array)
        return wf__text_mistake(r, WF_ERR_ARG, node->at, "%.*s: the array is NULL", len, name);
    wf_shape shape = wf_array_shape(arg->as.array);
    if ((int)node->n > shape.rank)
        return wf__text_mistake(r, WF_ERR_SHAPE, node->at, "%.*s has %d %s, %u indices are given", len, name,
                                (int)shape.rank, shape.rank == 1 ? "axis" : "axes", node->n);
    wf_val index[WF_MAX_RANK];
    int own = shape.rank - (int)node->n, space = r->space.rank;
    if (r->indexed && own > 0 && shape.rank > space)
        return wf__text_mistake(r, WF_ERR_SHAPE, node->at,
                                "%.*s has %d axes and the index space %d, so a point has no index along the first: "
                                "%d indices are needed, %u %s given",
                                len, name, (int)shape.rank, space, (int)shape.rank, node->n,
                                node->n == 1 ? "is" : "are");
    for (int k = 0; k < shape.rank && !r->failed; k++) {
        wf__tval i;
        if (k >= own)
            i = wf__tval_integer(&r->convert, r->value[t->list[node->a + (uint32_t)(k - own)]]);
        else if (shape.dim[k] == 1)
            i = wf__tval_number(0, false); /* the axis is broadcast */
        else
            i = wf__text_own_index(r, node->at, shape.rank - k);
        index[k] = i.v;
    }
    if (r->failed || r->convert.why[0])
        return wf__text_poison(r);
    wf__tval outside = node->b ? r->value[node->b] : wf__tval_number(0, false);
    if (wf__tval_is_number(outside) && outside.real && !wf__text_is_float(wf_array_dtype(arg->as.array)) &&
        !wf__text_is_complex(wf_array_dtype(arg->as.array)))
        return wf__text_mistake(r, WF_ERR_DTYPE, node->at, "the value outside is not a whole number, %.*s is %s", len,
                                name, wf_dtype_name(wf_array_dtype(arg->as.array)));
    return wf__tval_node(wf_read_border_n(r->graph, arg->as.array, (wf_border)node->border, outside.v,
                                          (wf_vals){ index, (size_t)shape.rank }));
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
        return evaluate_read(r, node);
    case WF__TREE_UNARY:
        return evaluate_unary(r, node);
    case WF__TREE_BINARY:
        return wf__tval_binary(c, node->op, r->value[node->a], r->value[node->b]);
    case WF__TREE_SELECT:
        return wf__tval_select(c, r->value[node->a], r->value[node->b], r->value[node->c]);
    case WF__TREE_NONE:
        break;
    }
    return wf__text_poison(r);
}

void wf__text_evaluate(wf__recorder *r, const wf__stmt *s)
{
    const wf__text *t = r->text;
    for (uint32_t i = s->first; i < s->last && !r->failed; i++) {
        r->value[i] = evaluate_node(r, &t->node[i]);
        if (!r->failed && r->convert.why[0])
            wf__text_mistake(r, WF_ERR_DTYPE, t->node[i].at, "%s", r->convert.why);
        wf__text_check(r, t->node[i].at);
    }
}
