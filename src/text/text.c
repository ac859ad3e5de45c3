/* text.c - the public functions of operator text (weft/text.h). docs/text.md describes the language. */
#include "text/record.h"
#include <stdio.h>

/* Parses the text. False, and the recording has failed, if the text is not well formed. */
static bool parse_text(wf_graph *graph, wf__text *t, const char *text, bool expression)
{
    if (wf__text_parse(t, text ? text : "", expression))
        return true;
    wf__recorder r = { .graph = graph, .text = t };
    wf__text_mistake(&r, t->status, t->error_at, "%s", t->error);
    return false;
}

/* ---- the public interface ---- */

/* True unless a list of arguments is NULL; else false, with an error. */
static bool has_args(wf_context *ctx, wf_graph *graph, wf_args args, const char *function)
{
    char text[96];
    if (args.at || !args.n)
        return true;
    snprintf(text, sizeof text, "%s: a list of %zu entries is NULL", function, args.n);
    if (graph)
        wf_fail(graph, WF_ERR_ARG, text);
    else
        wf_error(ctx, WF_ERR_ARG, text);
    return false;
}

wf_val wf_expr_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    wf_val result = { { 0, graph } };
    if (!graph || wf_graph_status(graph) != WF_OK || !has_args(NULL, graph, args, "wf_expr"))
        return result;
    bool parsed = parse_text(graph, &t, text, true);
    if (parsed)
        wf__text_record(&r);
    if (parsed && !r.failed)
        result = r.value[t.stmt[0].value].v;
    wf__text_recorder_free(&r);
    wf__text_free(&t);
    return result;
}

void wf_text_record_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    if (!graph || wf_graph_status(graph) != WF_OK || !has_args(NULL, graph, args, "wf_text_record"))
        return;
    if (parse_text(graph, &t, text, false))
        wf__text_record(&r);
    wf__text_recorder_free(&r);
    wf__text_free(&t);
}

wf_graph *wf_text_begin(wf_context *ctx, const char *text, wf_args args, const wf_space *options)
{
    wf__text t;
    if (!has_args(ctx, NULL, args, "wf_text_begin"))
        return NULL;
    wf__recorder r = { .text = &t, .args = args };
    bool parsed = wf__text_parse(&t, text ? text : "", false);
    wf_graph *graph = wf__text_begin(ctx, &r, parsed && t.program, options);
    wf__text_recorder_free(&r);
    wf__text_free(&t);
    return graph;
}

wf_status wf_text_n(wf_context *ctx, const char *text, wf_args args)
{
    wf__text t;
    if (!has_args(ctx, NULL, args, "wf_text"))
        return WF_ERR_ARG;
    wf__recorder r = { .text = &t, .args = args };
    wf__text_parse(&t, text ? text : "", false);
    wf_status status = wf__text_run(ctx, &r, "wf_text");
    wf__text_free(&t);
    return status;
}

wf_status wf_text_create(wf_context *ctx, const char *text, wf_args args, wf_device device, const char *const *want,
                         size_t n, wf_array **out)
{
    wf__text t;
    if (!has_args(ctx, NULL, args, "wf_text_create"))
        return WF_ERR_ARG;
    wf__recorder r = { .text = &t, .args = args, .want = want, .want_n = n, .made = out, .device = device };
    wf__text_parse(&t, text ? text : "", false);
    wf_status status = wf__text_run(ctx, &r, "wf_text_create");
    wf__text_free(&t);
    return status;
}

wf_kernel *wf_text_compile(wf_context *ctx, const char *text, wf_args args, wf_device device, const char *const *want,
                           size_t n, wf_array **out)
{
    wf__text t;
    if (!has_args(ctx, NULL, args, "wf_text_compile"))
        return NULL;
    wf__recorder r = { .text = &t, .args = args, .want = want, .want_n = n, .made = out, .device = device };
    r.prepares = true;
    wf__text_parse(&t, text ? text : "", false);
    wf_kernel *kernel = wf__text_prepare(ctx, &r, "wf_text_compile");
    wf__text_free(&t);
    return kernel;
}

wf_kernel *wf_text_compile_part(wf_context *ctx, const char *text, wf_args args, wf_device device,
                                const char *const *want, size_t n, size_t part, wf_array **out)
{
    wf__text t;
    if (!has_args(ctx, NULL, args, "wf_text_compile_part"))
        return NULL;
    wf__recorder r = { .text = &t, .args = args, .want = want, .want_n = n, .made = out, .device = device };
    r.prepares = true;
    r.before = part;
    wf__text_parse(&t, text ? text : "", false);
    wf_kernel *kernel = wf__text_prepare_part(ctx, &r, "wf_text_compile_part");
    wf__text_free(&t);
    return kernel;
}

/* ---- the names of results ---- */

typedef struct scopes { /* the typed locals that are visible at a statement */
    const wf__text *text;
    const wf__stmt **local;
    int *depth;
    uint32_t n;
    int level;
} scopes;

/* Returns the number of blocks around the declaration of the name; -1 if it is not declared. */
static int depth_of(const scopes *c, const wf__stmt *name)
{
    for (uint32_t i = c->n; i-- > 0;)
        if (wf__text_same(c->text, c->local[i]->at, c->local[i]->len, name->at, name->len))
            return c->depth[i];
    return -1;
}

static void declare_local(scopes *c, const wf__stmt *s)
{
    c->local[c->n] = s;
    c->depth[c->n++] = c->level;
}

/* True if the statement assigns to a name that may be a result. A variable of a block is none. */
static bool is_target(scopes *c, const wf__stmt *s)
{
    c->level += wf__stmt_opens(s);
    if (s->kind == WF__STMT_END)
        while (c->n && c->depth[c->n - 1] > c->level)
            c->n--;
    if (s->kind == WF__STMT_FOR && s->step > (uint32_t)(s - c->text->stmt) + 1 &&
        (s[1].kind == WF__STMT_LOCAL || depth_of(c, s + 1) < 0))
        declare_local(c, s + 1); /* the counter, declared without a type as well */
    if (s->kind == WF__STMT_LOCAL)
        declare_local(c, s);
    return wf__stmt_assigns(s) && depth_of(c, s) <= 0;
}

/* Returns the statement of target `number`, or of the last target if there are fewer; with a name, the first target of
 * that name. *passed counts the targets before it. */
static const wf__stmt *find_target(const wf__text *t, size_t number, const char *name, size_t *passed)
{
    uint32_t most = t->locals + 1;
    for (uint32_t i = 0; i < t->stmt_n; i++)
        most += t->stmt[i].kind == WF__STMT_FOR;
    scopes c = { .text = t, .local = wf__alloc0(most * sizeof *c.local), .depth = wf__alloc0(most * sizeof *c.depth) };
    const wf__stmt *found = NULL;
    bool done = false;
    *passed = 0;
    for (uint32_t i = 0; i < t->stmt_n && !done && c.local && c.depth; i++) {
        const wf__stmt *s = &t->stmt[i];
        if (is_target(&c, s) && (!name || wf__text_is(t, s->at, s->len, name))) {
            found = s;
            done = name || (*passed)++ == number;
        }
        if (s->kind == WF__STMT_FOR)
            i = s->body - 1;
    }
    wf__free(c.local);
    wf__free(c.depth);
    return found;
}

bool wf_text_target(wf_context *ctx, const char *text, size_t i, char *buf, size_t cap)
{
    wf__text t;
    size_t passed = 0;
    WF__UNUSED(ctx);
    const wf__stmt *s = wf__text_parse(&t, text ? text : "", false) ? find_target(&t, i, NULL, &passed) : NULL;
    if (i != WF_LAST_TARGET && passed <= i)
        s = NULL;
    if (s && cap > 0) {
        size_t n = s->len < cap ? s->len : cap - 1;
        memcpy(buf, t.src + s->at, n);
        buf[n] = 0;
    }
    wf__text_free(&t);
    return s != NULL;
}

bool wf_text_assigns(wf_context *ctx, const char *text, const char *name)
{
    wf__text t;
    size_t passed;
    WF__UNUSED(ctx);
    bool found = wf__text_parse(&t, text ? text : "", false) && name && find_target(&t, 0, name, &passed);
    wf__text_free(&t);
    return found;
}
