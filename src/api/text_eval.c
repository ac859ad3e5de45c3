/* text_eval.c - the nodes of operator text as recording calls. Walks the trees in order, so every operand is recorded
 * before its user, and adds to whatever goes wrong the place in the text.
 */
#include "api/text_record.h"
#include "api/api.h"
#include <stdio.h>

/* ---- mistakes ---- */

wf__tval wf__text_poison(const wf__recorder *r)
{
    wf__tval a = { .real = false };
    a.v.h.graph = r->graph;
    return a;
}

wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...)
{
    wf__str s = { 0 };
    va_list args;
    va_start(args, format);
    wf__str_addv(&s, format, args);
    va_end(args);
    wf__text_caret(r->text, at, &s);
    if (r->graph) /* wf_fail would cut it short */
        wf__ir_fail(wf__graph_ir(r->graph), s.failed ? WF_ERR_MEMORY : status, "%s",
                    s.failed ? "out of memory" : wf__str_get(&s));
    wf__str_free(&s);
    r->failed = true;
    return wf__text_poison(r);
}

/* The part of the recording that has failed, or NULL. */
static wf__ir *failed_part(wf_graph *graph)
{
    wf__recording *rec = &graph->program.rec;
    return rec->ir.status != WF_OK ? &rec->ir : rec->post.status != WF_OK ? &rec->post : NULL;
}

void wf__text_check(wf__recorder *r, uint32_t at)
{
    wf__ir *part = r->failed ? NULL : failed_part(r->graph);
    if (!part)
        return;
    wf__str s = { 0 };
    wf__text_caret(r->text, at, &s);
    size_t n = strlen(part->error);
    snprintf(part->error + n, sizeof part->error - n, "%s", wf__str_get(&s));
    wf__str_free(&s);
    r->failed = true;
}

/* ---- reductions: whole arrays, or along some of their axes ---- */

static wf_val fold_mean(wf_val v, wf_axes axes)
{
    double n = 1;
    wf_shape shape = wf_val_shape(v);
    for (int d = 0; d < shape.rank; d++)
        n *= axes >> d & 1 ? (double)shape.dim[d] : 1;
    return wf_div(wf_reduce(WF_ADD, v, axes), n);
}

/* The axes that a reduction names; all if it names none. false: there are not so many. */
static bool fold_axes(const wf__tree *node, int rank, wf_axes *axes)
{
    *axes = node->b || node->c ? node->b : WF_ALL_AXES;
    for (int k = 0; k < WF_MAX_RANK; k++)
        if (node->c >> k & 1) {
            if (k >= rank)
                return false;
            *axes |= 1u << (rank - 1 - k);
        }
    return !wf__axes_beyond(*axes, rank);
}

static wf__tval fold(wf__recorder *r, wf__text_fold kind, const wf__tree *node, wf__tval a)
{
    if (r->indexed)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s of a whole array: not in an index space (typed locals, blocks, "
                                "writes by index); let a text before this one compute it",
                                (int)node->len, r->text->src + node->at);
    if (wf__tval_is_number(a))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s of a number: it needs an array", (int)node->len,
                                r->text->src + node->at);
    wf_shape shape = wf_val_shape(a.v);
    wf_axes axes;
    if (!fold_axes(node, shape.rank, &axes))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s of axes that an array of rank %d does not have",
                                (int)node->len, r->text->src + node->at, (int)shape.rank);
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0 && axes >> d & 1 && (kind == WF__FOLD_MEAN || kind == WF__FOLD_STD))
            return wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at, "%.*s of a formal array, whose extents are open",
                                    (int)node->len, r->text->src + node->at);
    wf_dtype t = wf_val_dtype(a.v);
    bool logic = kind == WF__FOLD_ANY || kind == WF__FOLD_ALL, moments = kind == WF__FOLD_MEAN || kind == WF__FOLD_STD;
    if (logic && t != WF_BOOL)
        a.v = wf_ne(a.v, 0);
    if (!logic && t == WF_BOOL)
        a.v = wf_cast(a.v, WF_I32);
    if (kind == WF__FOLD_STD && wf__is_complex(t))
        return wf__text_mistake(r, WF_ERR_DTYPE, node->at,
                                "std of complex numbers: say sqrt(mean(abs(a - mean(a))**2))");
    if (moments && !wf__is_complex(t) && t != WF_F32 && t != WF_F64)
        a.v = wf_cast(a.v, wf__is_half(t) ? WF_F32 : WF_F64);
    switch (kind) {
    case WF__FOLD_SUM:
        return wf__tval_node(wf_reduce(WF_ADD, a.v, axes));
    case WF__FOLD_PROD:
        return wf__tval_node(wf_reduce(WF_MUL, a.v, axes));
    case WF__FOLD_MIN:
        return wf__tval_node(wf_reduce(WF_MIN, a.v, axes));
    case WF__FOLD_MAX:
        return wf__tval_node(wf_reduce(WF_MAX, a.v, axes));
    case WF__FOLD_ANY:
        return wf__tval_node(wf_reduce(WF_OR, a.v, axes));
    case WF__FOLD_ALL:
        return wf__tval_node(wf_reduce(WF_AND, a.v, axes));
    case WF__FOLD_MEAN:
        return wf__tval_node(fold_mean(a.v, axes));
    default:
        break;
    }
    wf_val off = wf_sub(a.v, fold_mean(a.v, axes));
    return wf__tval_node(wf_sqrt(fold_mean(wf_mul(off, off), axes)));
}

/* ---- nodes of the tree ---- */

static wf__tval call(wf__recorder *r, const wf__tree *node)
{
    const char *name = r->text->src + node->at;
    wf_dtype cast = wf__text_dtype_named(name, node->len);
    wf__text_fold kind = wf__text_fold_named(name, node->len, node->n);
    int f = wf__tval_function(name, node->len);
    if (cast == WF_NONE && kind == WF__FOLD_NONE && f < 0)
        return wf__text_unknown(r, node, true);
    int arity = cast != WF_NONE || kind != WF__FOLD_NONE ? 1 : wf__tval_arity(f);
    if ((int)node->n != arity)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s takes %d %s, not %u", (int)node->len, name, arity,
                                arity == 1 ? "argument" : "arguments", node->n);
    if ((node->b || node->c) && kind == WF__FOLD_NONE)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s has no axes: only reductions (sum, mean, ...) do",
                                (int)node->len, name);
    wf__tval args[3];
    for (uint32_t i = 0; i < node->n; i++)
        args[i] = r->value[r->text->list[node->a + i]];
    if (cast != WF_NONE)
        return wf__tval_cast(&r->convert, args[0], cast);
    if (kind != WF__FOLD_NONE)
        return fold(r, kind, node, args[0]);
    return wf__tval_call(&r->convert, f, args);
}

/* a[y-1, x]: fewer indices than axes stand for the last ones. */
static wf__tval read_at(wf__recorder *r, const wf__tree *node)
{
    const wf__text *t = r->text;
    const wf_arg *arg = wf__text_arg(r, node->at, node->len);
    int len = node->len < 40 ? (int)node->len : 40;
    const char *name = t->src + node->at;
    int w = r->made ? wf__text_wanted(r, node->at, node->len) : -1;
    if (wf__text_assigned(r, node->at, node->len) || (w >= 0 && r->made[w]))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is computed here: neighbours need an array that exists (an argument)", len, name);
    if (!arg)
        return wf__text_unknown(r, node, wf__tval_function(name, node->len) >= 0);
    if (arg->kind != 1)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is no array: it has no neighbours", len, name);
    wf_shape shape = wf_array_shape(arg->as.array);
    if ((int)node->n > shape.rank)
        return wf__text_mistake(r, WF_ERR_SHAPE, node->at, "%.*s has %d %s, %u indices are given", len, name,
                                (int)shape.rank, shape.rank == 1 ? "axis" : "axes", node->n);
    wf_val index[WF_MAX_RANK];
    int own = shape.rank - (int)node->n;
    for (int k = 0; k < shape.rank && !r->failed; k++) {
        wf__tval i;
        if (k >= own)
            i = wf__tval_integer(&r->convert, r->value[t->list[node->a + (uint32_t)(k - own)]]);
        else if (shape.dim[k] == 1)
            i = wf__tval_number(0, false); /* broadcast */
        else
            i = wf__text_own_index(r, node->at, shape.rank - k);
        index[k] = i.v;
    }
    if (r->failed || r->convert.why[0])
        return wf__text_poison(r);
    wf__tval outside = node->b ? r->value[node->b] : wf__tval_number(0, false);
    if (wf__tval_is_number(outside) && outside.real && !wf__is_float(wf_array_dtype(arg->as.array)) &&
        !wf__is_complex(wf_array_dtype(arg->as.array)))
        return wf__text_mistake(r, WF_ERR_DTYPE, node->at, "the value outside is not a whole number, %.*s is %s", len,
                                name, wf_dtype_name(wf_array_dtype(arg->as.array)));
    return wf__tval_node(wf_read_border_n(r->graph, arg->as.array, (wf_border)node->border, outside.v,
                                          (wf_vals){ index, (size_t)shape.rank }));
}

static wf__tval literal(wf__recorder *r, const wf__literal *n)
{
    if (!n->big)
        return wf__tval_number(n->value, n->real);
    wf_dtype t = n->bits > INT64_MAX ? WF_U64 : WF_I64;
    return wf__tval_node(wf_const_i64(r->graph, t, (int64_t)n->bits));
}

static wf__tval evaluate(wf__recorder *r, const wf__tree *node)
{
    wf__tctx *c = &r->convert;
    switch ((wf__tree_kind)node->kind) {
    case WF__TREE_NUMBER:
        return literal(r, &node->number);
    case WF__TREE_NAME:
        return wf__text_lookup(r, node);
    case WF__TREE_CALL:
        return call(r, node);
    case WF__TREE_READ:
        return read_at(r, node);
    case WF__TREE_UNARY:
        return wf__tval_unary(c, node->op, r->value[node->a]);
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
        r->value[i] = evaluate(r, &t->node[i]);
        if (!r->failed && r->convert.why[0])
            wf__text_mistake(r, WF_ERR_DTYPE, t->node[i].at, "%s", r->convert.why);
        wf__text_check(r, t->node[i].at);
    }
}
