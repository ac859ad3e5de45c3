/* text.c - the public functions of operator text (weft/text.h). docs/text.md describes the language. */
#include "text/record.h"

/* Parses the text. False, and the recording has failed, if the text is not well formed. */
static bool parse_text(wf_graph *graph, wf__text *t, const char *text, bool expression)
{
    if (wf__text_parse(t, text ? text : "", expression))
        return true;
    wf__recorder r = { .graph = graph, .text = t };
    wf__text_mistake(&r, t->status, t->error_at, "%s", t->error);
    return false;
}

static bool has_failed(const wf_graph *graph) { return wf_graph_status(graph) != WF_OK; }

/* Returns the recording that a parsed text needs. It has failed if the text needs an index space and none is found. */
static wf_graph *begin_recording(wf_context *ctx, wf__recorder *r, const wf_space *options)
{
    wf_space space = { .size = sizeof space };
    if (options)
        memcpy(&space, options, options->size < sizeof space ? options->size : sizeof space);
    if (!r->text->program || r->text->status != WF_OK || space.indexed || space.shape.rank > 0)
        return wf_begin_with(ctx, &space);
    wf_shape shape;
    wf__recorder search = { .text = r->text, .args = r->args, .want = r->want, .want_n = r->want_n };
    wf_graph *graph = wf_begin_with(ctx, &space); /* receives the message if the search fails */
    search.graph = graph;
    if (!graph || !wf__text_space(&search, &shape))
        return graph;
    wf_drop(graph);
    space.shape = shape;
    space.indexed = true;
    return wf_begin_with(ctx, &space);
}

/* ---- the public interface ---- */

wf_val wf_expr_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    wf_val result = { { 0, graph } };
    if (!graph || has_failed(graph))
        return result;
    if (parse_text(graph, &t, text, true))
        wf__text_record(&r);
    if (!r.failed && t.stmt_n == 1)
        result = r.value[t.stmt[0].value].v;
    wf__text_recorder_free(&r);
    wf__text_free(&t);
    return result;
}

void wf_text_record_n(wf_graph *graph, const char *text, wf_args args)
{
    wf__text t;
    wf__recorder r = { .graph = graph, .text = &t, .args = args };
    if (!graph || has_failed(graph))
        return;
    if (parse_text(graph, &t, text, false))
        wf__text_record(&r);
    wf__text_recorder_free(&r);
    wf__text_free(&t);
}

wf_graph *wf_text_begin(wf_context *ctx, const char *text, wf_args args, const wf_space *options)
{
    wf__text t;
    wf__recorder r = { .text = &t, .args = args };
    wf__text_parse(&t, text ? text : "", false);
    wf_graph *graph = begin_recording(ctx, &r, options);
    wf__text_free(&t);
    return graph;
}

wf_status wf_text_n(wf_context *ctx, const char *text, wf_args args)
{
    wf_graph *graph = wf_text_begin(ctx, text, args, NULL);
    wf_text_record_n(graph, text, args);
    return wf_run(graph);
}

/* True for a number with a dtype: f32(5). */
static bool is_literal(wf_val v) { return wf_val_shape(v).rank == 0 && wf_val_is_constant(v); }

/* Returns the value assigned to a wanted name as an array, which the run computes. NULL, and the recording has failed,
 * if no statement assigns the name. */
static wf_array *keep_result(wf__recorder *r, size_t w)
{
    const char *name = r->want[w];
    if (r->made[w])
        return r->made[w];
    for (uint32_t i = 0; i < r->name_n && !r->indexed; i++) {
        wf__tval v = r->name[i].value;
        if (!wf__text_is(r->text, r->name[i].at, r->name[i].len, name))
            continue;
        if (!wf_val_number(v.v, NULL, NULL) && !(r->fits && r->common.rank && is_literal(v.v)))
            return wf_keep(v.v);
        wf_array *array = wf_empty(wf_graph_context(r->graph), wf__text_result_dtype(r, v), r->common,
                                   .device = wf__text_result_device(r));
        wf_out(r->graph, array, v.v); /* each element is this number */
        return array;
    }
    wf__str s = { 0 };
    wf__str_addf(&s, "no statement assigns '%s'", name);
    wf_fail(r->graph, WF_ERR_SYNTAX, wf__str_get(&s));
    wf__str_free(&s);
    return NULL;
}

/* Records the text, with results as new arrays, into the recording that it needs. NULL only without memory. */
static wf_graph *record_results(wf_context *ctx, const char *text, wf__recorder *r, wf_array **out,
                                const char *function)
{
    wf__text t;
    size_t missing = 0, n = r->want_n;
    r->text = &t;
    r->made = out;
    for (size_t i = 0; i < n; i++) {
        out[i] = NULL;
        missing += !r->want[i];
    }
    if (missing) {
        r->want = NULL;
        r->want_n = 0;
    }
    bool parsed = wf__text_parse(&t, text ? text : "", false);
    wf_graph *graph = r->graph = begin_recording(ctx, r, &(wf_space){ .size = sizeof(wf_space), .device = r->device });
    if (missing) {
        wf__str s = { 0 };
        wf__str_addf(&s, "%s: a wanted name is NULL", function);
        wf_fail(graph, WF_ERR_ARG, wf__str_get(&s));
        wf__str_free(&s);
    }
    if (graph && !parsed)
        wf__text_mistake(r, t.status, t.error_at, "%s", t.error);
    else if (graph && !has_failed(graph))
        wf__text_record(r);
    for (size_t i = 0; i < n && graph && !r->failed && !has_failed(graph); i++)
        out[i] = keep_result(r, i);
    wf__text_recorder_free(r);
    wf__text_free(&t);
    return graph;
}

static void release_all(wf_array **out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wf_release(out[i]);
        out[i] = NULL;
    }
}

wf_status wf_text_create(wf_context *ctx, const char *text, wf_args args, wf_device device, const char *const *want,
                         size_t n, wf_array **out)
{
    wf__recorder r = { .args = args, .want = want, .want_n = n, .device = device };
    wf_status status = wf_run(record_results(ctx, text, &r, out, "wf_text_create"));
    if (status != WF_OK)
        release_all(out, n);
    return status;
}

wf_kernel *wf_text_compile(wf_context *ctx, const char *text, wf_args args, wf_device device, const char *const *want,
                           size_t n, wf_array **out)
{
    wf__recorder r = { .args = args, .want = want, .want_n = n, .device = device, .prepares = true };
    wf_kernel *kernel = wf_compile(record_results(ctx, text, &r, out, "wf_text_compile"));
    if (!kernel)
        release_all(out, n);
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
    return (s->kind == WF__STMT_ASSIGN || s->kind == WF__STMT_WRITE || s->kind == WF__STMT_LOCAL) &&
           depth_of(c, s) <= 0;
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
