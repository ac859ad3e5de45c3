/* derivative.c - derivatives in operator text: grad(L, a, b), grad(u, a; seed) and tangent(u, a, da), by weft/derivative.h.
 *
 * A derivative follows operands within one recording. Values of earlier parts of the text, and of functions that are no
 * recordings (order.c, library.c), are arrays in it, which the derivative takes for constants. These arrays are noted as
 * sources, each with the place of its value in the text. If a result depends on a source whose value is made of a name
 * with respect to which the result is differentiated, the derivative would be wrong, and the text is refused.
 */
#include "text/record.h"

/* ---- sources ---- */

/* Marks the nodes from first to before last, except those whose derivatives are not used: the operands of stop(...) and
 * the first ones of replace_gradient(..., of). */
static void mark(const wf__text *t, bool *marked, uint32_t first, uint32_t last)
{
    for (uint32_t k = first; k < last; k++)
        marked[k] = true;
    for (uint32_t k = first; k < last; k++) {
        const wf__tree *node = &t->node[k];
        if (node->kind != WF__TREE_CALL || !node->n ||
            !(wf__text_is(t, node->at, node->len, "stop") || wf__text_is(t, node->at, node->len, "replace_gradient")))
            continue;
        const uint32_t value = t->list[node->a];
        for (uint32_t i = wf__text_first_node(t, value); i <= value; i++)
            marked[i] = false;
    }
}

static bool has_name(const wf__text *t, const bool *marked, uint32_t at, uint32_t len)
{
    for (uint32_t k = 1; k < t->n; k++)
        if (marked[k] && (t->node[k].kind == WF__TREE_NAME || t->node[k].kind == WF__TREE_READ) &&
            wf__text_same(t, t->node[k].at, t->node[k].len, at, len))
            return true;
    return false;
}

/* True if the value of the source is made of the name, also by way of other names. */
static bool is_made_of(wf__recorder *r, const wf__text_source *s, const wf__tree *name)
{
    const wf__text *t = r->text;
    const uint64_t most = 100000000; /* texts that would need a longer search are refused */
    if ((uint64_t)t->stmt_n * t->n > most)
        return true;
    bool *marked = wf__alloc0(t->n + t->stmt_n), *seen = marked ? marked + t->n : NULL, found = true;
    if (!marked) {
        wf__text_mistake(r, WF_ERR_MEMORY, name->at, "out of memory");
        return false;
    }
    mark(t, marked, s->first, s->last);
    while (found) { /* more than once, because statements of a loop use names that later ones assign */
        found = false;
        for (uint32_t i = s->end; i-- > 0;) {
            const wf__stmt *w = &t->stmt[i];
            if (seen[i] || !wf__stmt_assigns(w) ||
                !((s->first == s->last && wf__text_same(t, w->at, w->len, s->at, s->len)) ||
                  has_name(t, marked, w->at, w->len)))
                continue;
            uint32_t first = i;
            while (t->stmt[first].joined)
                first--;
            found = seen[i] = true;
            mark(t, marked, t->stmt[first].first, t->stmt[first].last);
        }
    }
    found = has_name(t, marked, name->at, name->len);
    wf__free(marked);
    return found;
}

/* Fails if the result depends on a source that is made of the name, whose value is `wrt`. */
static bool sees_all(wf__recorder *r, const wf__tree *call, wf_val result, const wf__tree *name, wf_val wrt)
{
    const wf__text *t = r->text;
    for (uint32_t i = 0; i < r->source_n && !r->failed; i++) {
        const wf__text_source *s = &r->source[i];
        wf_dtype dtype = wf_array_dtype(s->array);
        if (!wf__text_is_float(dtype) && !wf__text_is_complex(dtype))
            continue;
        wf_val array = wf_in(r->graph, s->array);
        if (array.h.num == wrt.h.num || !wf_depends(result, WF_VALS(array)) || !is_made_of(r, s, name))
            continue;
        int len = wf__text_shown(s->len), wrt_len = wf__text_shown(name->len);
        if (s->operand)
            wf__text_mistake(
                r, WF_ERR_UNSUPPORTED, call->at,
                "%.*s, which stands before, needs elements of a value between %.*s and the result, so that "
                "value is computed and the derivative does not see what it was made of: write %.*s before "
                "%.*s, or stop(...) around the value",
                len, t->src + s->at, wrt_len, t->src + name->at, (int)call->len, t->src + call->at, len,
                t->src + s->at);
        else
            wf__text_mistake(r, WF_ERR_UNSUPPORTED, call->at,
                             "%.*s is computed %s, and has no derivative with respect to %.*s; if it is meant as a "
                             "constant, write stop(...) around it",
                             len, t->src + s->at,
                             s->first == s->last ? "by a part of the text before this one"
                                                 : "before the recording goes on",
                             wrt_len, t->src + name->at);
    }
    wf__text_check(r, call->at);
    return !r->failed;
}

void wf__text_note_written(wf__recorder *r)
{
    const wf__text *t = r->text;
    for (uint32_t i = r->first; i < r->end && t->derives; i++) {
        const wf__stmt *s = &t->stmt[i];
        if (!wf__stmt_assigns(s))
            continue;
        const wf__text_name *assigned = wf__text_assigned(r, s->at, s->len);
        const wf_arg *arg = wf__text_arg(r, s->at, s->len);
        int w = r->made ? wf__text_wanted(r, s->at, s->len) : -1;
        const wf_array *array = assigned                           ? assigned->whole
                                : w >= 0                           ? r->made[w]
                                : arg && arg->kind == WF_ARG_ARRAY ? arg->as.array
                                                                   : NULL;
        wf__text_note(r, array, (wf__text_source){ .at = s->at, .len = s->len, .end = r->end });
    }
}

/* ---- operands ---- */

/* True for a value that has derivatives; false: r has the message. `variable`: the node is a name with respect to which
 * something is differentiated. */
static bool is_differentiable(wf__recorder *r, const wf__tree *node, wf__tval v, bool variable)
{
    const char *name = r->text->src + node->at;
    int len = wf__text_shown(node->len);
    if (wf__tval_is_number(v) || wf__text_is_pair(v.v)) {
        wf__text_mistake(r, WF_ERR_ARG, node->at,
                         "%.*s is a number here, which has no derivative; give it as an array of one element", len,
                         name);
        return false;
    }
    wf_dtype t = wf_val_dtype(v.v);
    if (!wf__text_is_float(t) && !wf__text_is_complex(t))
        wf__text_mistake(r, WF_ERR_DTYPE, node->at,
                         "%.*s is %s; only floats and complex numbers have derivatives: write %sf32(%s%.*s)", len, name,
                         wf_dtype_name(t), variable ? "before it u = " : "", variable ? "" : "...", variable ? len : 0,
                         name);
    return !r->failed;
}

/* True if `node` is a name whose value has derivatives; false: r has the message. */
static bool is_variable(wf__recorder *r, const wf__tree *call, const wf__tree *node, wf__tval v)
{
    if (node->kind != WF__TREE_NAME)
        wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                         "%.*s is with respect to names of values that the result was computed from: u = ...; L = ...; "
                         "g = grad(L, u)",
                         (int)call->len, r->text->src + call->at);
    return !r->failed && is_differentiable(r, node, v, true);
}

/* True for a real value of one element; false: r has the message. */
static bool is_loss(wf__recorder *r, const wf__tree *node, wf_val v)
{
    wf_shape shape = wf_val_shape(v);
    bool one = true;
    for (int d = 0; d < shape.rank; d++)
        one = one && shape.dim[d] == 1;
    char text[160];
    wf_shape_text(&shape, text, sizeof text);
    if (!one)
        wf__text_mistake(r, WF_ERR_SHAPE, node->at,
                         "grad of a result of shape %s, which must have one element: write sum(...), or the seed of "
                         "each element after a semicolon: grad(u, a; v)",
                         text);
    else if (wf__text_is_complex(wf_val_dtype(v)))
        wf__text_mistake(r, WF_ERR_DTYPE, node->at,
                         "grad of a complex number: write abs(...) or real(...), or a seed: grad(u, a; v)");
    return !r->failed;
}

/* ---- calls ---- */

static wf__tval derive_back(wf__recorder *r, uint32_t number, const wf__tval *args)
{
    const wf__text *t = r->text;
    const wf__tree *call = &t->node[number];
    uint32_t n = call->n - 1 - call->seeded, picks = 0;
    wf_val wrt[WF__TEXT_ARGUMENTS], out[WF__TEXT_ARGUMENTS];
    while (number + 1 + picks < t->n && t->node[number + 1 + picks].kind == WF__TREE_PICK)
        picks++;
    if (n == 0)
        return wf__text_mistake(r, WF_ERR_SYNTAX, call->at,
                                "grad needs the names with respect to which it differentiates: grad(L, a)");
    if (n != picks + 1)
        return wf__text_mistake(r, WF_ERR_SYNTAX, call->at,
                                "grad with respect to %u names gives as many values: a, b = grad(L, x, y)", n);
    const wf__tree *loss = &t->node[t->list[call->a]];
    if (!is_differentiable(r, loss, args[0], false) || (!call->seeded && !is_loss(r, loss, args[0].v)))
        return wf__text_poison(r);
    for (uint32_t i = 0; i < n; i++) {
        const wf__tree *node = &t->node[t->list[call->a + 1 + i]];
        wrt[i] = args[1 + i].v;
        if (!is_variable(r, call, node, args[1 + i]) || !sees_all(r, call, args[0].v, node, wrt[i]))
            return wf__text_poison(r);
        const wf_arg *arg = wf__text_arg(r, node->at, node->len);
        if (arg && arg->kind == WF_ARG_ARRAY)
            wf_label_array(r->graph, arg->as.array, arg->name);
    }
    wf_vals at = { wrt, n };
    if (call->seeded)
        wf_vjp_n((wf_vals){ &args[0].v, 1 }, (wf_vals){ &args[1 + n].v, 1 }, at, out);
    else
        wf_grad_n(args[0].v, at, out);
    for (uint32_t i = 1; i < n; i++)
        r->value[number + i] = wf__tval_node(out[i]);
    return wf__tval_node(out[0]);
}

static wf__tval derive_along(wf__recorder *r, uint32_t number, const wf__tval *args)
{
    const wf__text *t = r->text;
    const wf__tree *call = &t->node[number];
    uint32_t n = (call->n - 1) / 2;
    wf_val wrt[WF__TEXT_ARGUMENTS], direction[WF__TEXT_ARGUMENTS], out;
    if (call->n != 1 + 2 * n)
        return wf__text_mistake(r, WF_ERR_SYNTAX, call->at,
                                "each name needs the direction in which it changes: tangent(u, a, da, b, db)");
    if (!is_differentiable(r, &t->node[t->list[call->a]], args[0], false))
        return wf__text_poison(r);
    for (uint32_t i = 0; i < n; i++) {
        const wf__tree *node = &t->node[t->list[call->a + 1 + 2 * i]];
        wrt[i] = args[1 + 2 * i].v;
        direction[i] = args[2 + 2 * i].v;
        if (!is_variable(r, call, node, args[1 + 2 * i]) || !sees_all(r, call, args[0].v, node, wrt[i]))
            return wf__text_poison(r);
    }
    wf_jvp_n((wf_vals){ &args[0].v, 1 }, (wf_vals){ wrt, n }, (wf_vals){ direction, n }, &out);
    return wf__tval_node(out);
}

wf__tval wf__text_derive(wf__recorder *r, wf__text_fold kind, uint32_t node, const wf__tval *args)
{
    return kind == WF__FOLD_GRAD ? derive_back(r, node, args) : derive_along(r, node, args);
}
