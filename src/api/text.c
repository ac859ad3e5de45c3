/* text.c - operator text as recording calls. Walks the tree in order, so every operand is recorded before its user, and
 * adds to whatever goes wrong the place in the text. Public interface: the end of weft.h; the language: docs/text.md.
 */
#include "api/text_record.h"
#include "api/api.h"
#include <stdio.h>

enum { MAX_ASSIGNED = 4096 };

/* ---- mistakes ---- */

static wf__tval poison_of(const wf__recorder *r)
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
    return poison_of(r);
}

/* The part of the recording that has failed, or NULL. */
static wf__ir *failed_part(wf_graph *graph)
{
    wf__recording *rec = &graph->program.rec;
    return rec->ir.status != WF_OK ? &rec->ir : rec->post.status != WF_OK ? &rec->post : NULL;
}

/* After recording what stands at `at`: did it work? If not, the message gets the place. */
static void check(wf__recorder *r, uint32_t at)
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
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s of a whole array: not inside an index space",
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
    if (wf__text_assigned(r, node->at, node->len))
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
        return poison_of(r);
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
    return poison_of(r);
}

/* ---- statements ---- */

static void assign(wf__recorder *r, const wf__assign *s)
{
    const wf_arg *arg = wf__text_arg(r, s->at, s->len);
    wf__tval value = r->value[s->value];
    if (arg && arg->kind == 1 && !wf__text_wanted(r, s->at, s->len)) {
        wf_out(r->graph, arg->as.array, value.v);
        check(r, s->at);
        return;
    }
    wf__text_name *name = wf__text_assigned(r, s->at, s->len);
    if (!name && r->name_n == MAX_ASSIGNED) {
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, s->at, "more than %d names are assigned", (int)MAX_ASSIGNED);
        return;
    }
    if (!name && !wf__grow(&r->name, &r->name_cap, r->name_n + 1, sizeof *r->name)) {
        wf__text_mistake(r, WF_ERR_MEMORY, s->at, "out of memory");
        return;
    }
    if (!name)
        name = &r->name[r->name_n++];
    *name = (wf__text_name){ s->at, s->len, value };
}

/* Records everything; `values` of r->text stay in r->value. */
static void record(wf__recorder *r)
{
    const wf__text *t = r->text;
    r->indexed = wf_graph_indexed(r->graph);
    r->convert.graph = r->graph;
    r->value = wf__alloc0(t->n * sizeof *r->value);
    if (!r->value) {
        wf__text_mistake(r, WF_ERR_MEMORY, 0, "out of memory");
        return;
    }
    wf__text_common_shape(r);
    for (uint32_t i = 1, s = 0; s < t->assign_n && !r->failed; s++) {
        for (; i <= t->assign[s].value && !r->failed; i++) {
            r->value[i] = evaluate(r, &t->node[i]);
            if (!r->failed && r->convert.why[0])
                wf__text_mistake(r, WF_ERR_DTYPE, t->node[i].at, "%s", r->convert.why);
            check(r, t->node[i].at);
        }
        if (!t->expression && !r->failed)
            assign(r, &t->assign[s]);
    }
}

static void recorder_free(wf__recorder *r)
{
    wf__free(r->value);
    wf__free(r->name);
}

/* Parses, and fails the graph if the text is not well formed. */
static bool parse(wf_graph *graph, wf__text *t, const char *text, bool expression)
{
    if (wf__text_parse(t, text ? text : "", expression))
        return true;
    wf__recorder r = { .graph = graph, .text = t };
    wf__text_mistake(&r, t->status, t->error_at, "%s", t->error);
    return false;
}

static wf_graph *begin(wf_context *ctx, wf_device device)
{
    return wf_begin_with(ctx, &(wf_space){ .size = sizeof(wf_space), .device = device });
}

/* ---- the public interface ---- */

wf_val wf_expr_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    wf_val result = poison_of(&r).v;
    if (!graph || failed_part(graph))
        return result;
    if (parse(graph, &t, text, true))
        record(&r);
    if (!r.failed && t.assign_n == 1)
        result = r.value[t.assign[0].value].v;
    recorder_free(&r);
    wf__text_free(&t);
    return result;
}

void wf_text_record_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    if (!graph || failed_part(graph))
        return;
    if (wf_graph_indexed(graph)) {
        wf_fail(graph, WF_ERR_CONTRACT, "operator text with statements needs an array graph; wf_expr works everywhere");
        return;
    }
    if (parse(graph, &t, text, false))
        record(&r);
    recorder_free(&r);
    wf__text_free(&t);
}

wf_status wf_text_n(wf_context *ctx, const char *text, wf_args args)
{
    wf_graph *graph = begin(ctx, 0);
    wf_text_record_n(graph, text, args);
    return wf_run(graph);
}

/* The value assigned to a wanted name, as an array that is ready after the run. */
static wf_array *keep(wf__recorder *r, const char *name, wf_device device)
{
    for (uint32_t i = 0; i < r->name_n; i++) {
        wf__tval v = r->name[i].value;
        if (!wf__text_is(r->text, r->name[i].at, r->name[i].len, name))
            continue;
        if (!wf__tval_is_number(v))
            return wf_keep(v.v);
        wf_dtype t = r->shaped ? r->convert.real : WF_F64;
        wf_array *array = wf_empty(wf_graph_context(r->graph), t, r->common, .device = device);
        wf_out(r->graph, array, v.v); /* everywhere the same number */
        return array;
    }
    wf__str s = { 0 };
    wf__str_addf(&s, "no statement assigns '%s'", name);
    wf_fail(r->graph, WF_ERR_SYNTAX, wf__str_get(&s));
    wf__str_free(&s);
    return NULL;
}

wf_status wf_text_create(wf_context *ctx, const char *text, wf_args args, wf_device device, const char *const *want,
                         size_t n, wf_array **out)
{
    wf_graph *graph = begin(ctx, device);
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args, .want = want, .want_n = n };
    for (size_t i = 0; i < n; i++) {
        out[i] = NULL;
        if (!want[i]) {
            wf_fail(graph, WF_ERR_ARG, "wf_text_create: a wanted name is NULL");
            r.want_n = i;
        }
    }
    if (!graph)
        return wf_run(graph);
    if (parse(graph, &t, text, false) && r.want_n == n)
        record(&r);
    for (size_t i = 0; i < n && !r.failed && r.want_n == n; i++)
        if (t.status == WF_OK)
            out[i] = keep(&r, want[i], device);
    recorder_free(&r);
    wf__text_free(&t);
    wf_status status = wf_run(graph);
    for (size_t i = 0; i < n && status != WF_OK; i++) {
        wf_release(out[i]);
        out[i] = NULL;
    }
    return status;
}

bool wf_text_target(wf_context *ctx, const char *text, size_t i, char *buf, size_t cap)
{
    wf__text t;
    bool found = wf__text_parse(&t, text ? text : "", false) && i < t.assign_n;
    WF__UNUSED(ctx);
    if (found && cap > 0) {
        size_t n = t.assign[i].len < cap ? t.assign[i].len : cap - 1;
        memcpy(buf, t.src + t.assign[i].at, n);
        buf[n] = 0;
    }
    wf__text_free(&t);
    return found;
}
