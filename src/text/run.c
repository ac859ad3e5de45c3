/* run.c - runs a parsed operator text: its parts one after the other, each as a recording of its own. What a later part
 * needs becomes an array at the end of a part.
 */
#include "text/record.h"

/* ---- recordings ---- */

wf_graph *wf__text_begin(wf_context *ctx, wf__recorder *r, bool points, const wf_space *options)
{
    wf_space space = { .size = sizeof space };
    if (!wf__take_options(&space, sizeof space, options))
        return r->graph = wf_begin_with(ctx, options); /* its graph has the message */
    wf_shape shape;
    wf_graph *graph = r->graph = wf_begin_with(ctx, &space);
    if (!points || !graph || space.indexed || space.shape.rank > 0 || !wf__text_space(r, &shape))
        return graph; /* it has the message if the search fails */
    wf_drop(graph);
    space.shape = shape;
    space.indexed = true;
    return r->graph = wf_begin_with(ctx, &space);
}

static bool is_fine(const wf__recorder *r) { return !r->failed && wf_graph_status(r->graph) == WF_OK; }

static void begin_part(wf_context *ctx, wf__recorder *r, bool points)
{
    wf__text_begin(ctx, r, points, &(wf_space){ .size = sizeof(wf_space), .device = r->device });
}

/* ---- results ---- */

/* True for a number with a dtype: f32(5). */
static bool is_literal(wf_val v) { return wf_val_shape(v).rank == 0 && wf_val_is_constant(v); }

/* Returns the value of a name as an array, which the run computes. */
static wf_array *keep_value(wf__recorder *r, const wf__text_name *name)
{
    wf__tval v = name->value;
    if (name->stored)
        return wf_retain(name->whole);
    if (!wf_val_number(v.v, NULL, NULL) && !(r->fits && r->common.rank && is_literal(v.v)))
        return wf_keep(v.v);
    wf_array *array = wf_empty(wf_graph_context(r->graph), wf__text_result_dtype(r, v), r->common,
                               .device = wf__text_result_device(r));
    wf_out(r->graph, array, v.v); /* each element is this number */
    return array;
}

/* Makes r->made[w] the value of wanted name `w`. The recording fails if no statement assigns the name. */
static void make_result(wf__recorder *r, size_t w)
{
    const char *name = r->want[w];
    for (uint32_t i = 0; i < r->name_n && !r->indexed; i++) {
        if (!wf__text_is(r->text, r->name[i].at, r->name[i].len, name))
            continue;
        wf_release(r->made[w]);
        r->made[w] = keep_value(r, &r->name[i]);
        wf_label_array(r->graph, r->made[w], name);
        return;
    }
    if (r->made[w])
        return;
    wf__str s = { 0 };
    wf__str_addf(&s, "no statement assigns '%s'", name);
    wf_fail(r->graph, WF_ERR_SYNTAX, wf__str_get(&s));
    wf__str_free(&s);
}

static void make_results(wf__recorder *r)
{
    for (size_t w = 0; w < r->want_n && is_fine(r); w++)
        make_result(r, w);
}

static void release_results(wf__recorder *r, size_t n)
{
    for (size_t w = 0; w < n; w++) {
        wf_release(r->made[w]);
        r->made[w] = NULL;
    }
}

/* Begins without results. False, and the first recording is going to fail, if a wanted name is NULL. */
static bool clear_results(wf__recorder *r)
{
    bool named = true;
    for (size_t w = 0; w < r->want_n; w++) {
        r->made[w] = NULL;
        named = named && r->want[w];
    }
    if (!named) {
        r->want = NULL;
        r->want_n = 0;
    }
    return named;
}

/* ---- what later parts need ---- */

/* True if a statement from `first` on has the name, or it is the name of a result. */
static bool is_needed(const wf__recorder *r, const wf__text_name *name, uint32_t first)
{
    return wf__text_wanted(r, name->at, name->len) >= 0 ||
           wf__text_has_name(r->text, first, r->text->stmt_n, name, true);
}

static void store_name(wf__recorder *r, wf__text_name *n)
{
    bool typed = n->dtype != WF_NONE && !n->constant;
    wf_val v = typed ? wf_get(n->value.v.h) : n->value.v;
    wf_array *array = NULL;
    if (!typed && wf_val_number(v, NULL, NULL))
        return; /* a number belongs to no recording */
    if (r->indexed) {
        array = wf__text_space_array(r, v, wf_val_dtype(v));
        wf_out(r->graph, array, v);
    } else {
        array = wf__text_keep(r, v);
    }
    wf__text_check(r, n->at);
    if (!wf__text_hold(r, n->whole, n->at))
        return wf_release(array);
    n->whole = array;
    n->stored = n->own = true;
    wf__text_label(r, n);
}

/* Makes arrays of the values that statements from `first` on need. */
static void store_names(wf__recorder *r, uint32_t first)
{
    for (uint32_t i = 0; i < r->name_n && !r->failed; i++) {
        wf__text_name *n = &r->name[i];
        if (n->array) {
            n->array = NULL;
            n->gone = true;
        }
        if (!n->gone && !n->stored && is_needed(r, n, first))
            store_name(r, n);
    }
}

/* A program changes the elements of results in memory. So wanted names of earlier parts that this part assigns become
 * arrays in r->made. */
static void adopt_results(wf__recorder *r)
{
    const wf__text *t = r->text;
    for (uint32_t i = 0; i < r->name_n;) {
        wf__text_name *n = &r->name[i];
        int w = wf__text_wanted(r, n->at, n->len);
        bool assigned = false;
        for (uint32_t k = r->first; k < r->end && !assigned; k++)
            assigned = (t->stmt[k].kind == WF__STMT_ASSIGN || t->stmt[k].kind == WF__STMT_WRITE) &&
                       wf__text_same(t, t->stmt[k].at, t->stmt[k].len, n->at, n->len);
        if (w < 0 || !n->stored || n->dtype != WF_NONE || !assigned) {
            i++;
            continue;
        }
        wf_release(r->made[w]);
        r->made[w] = n->whole;
        memmove(n, n + 1, (--r->name_n - i) * sizeof *n);
        r->visible = r->name_n;
    }
}

/* ---- parts ---- */

/* Runs the recording, or prepares it. Recordings of no statements, which only make arrays of results, do not count. */
static wf_status finish(wf_context *ctx, wf__recorder *r, bool counts)
{
    if (!r->prepares)
        return wf_run(r->graph);
    wf_kernel *kernel = wf_compile(r->graph);
    if (!kernel)
        return wf_last_status(ctx) != WF_OK ? wf_last_status(ctx) : WF_ERR_MEMORY;
    if (counts && r->before == 0)
        r->kernel = kernel;
    else
        wf_kernel_free(kernel);
    r->before -= counts && r->before > 0;
    return WF_OK;
}

/* Computes the functions of whole arrays that stand in a part of points. */
static wf_status run_calls(wf_context *ctx, wf__recorder *r)
{
    begin_part(ctx, r, false);
    if (r->graph && wf__text_enter(r))
        wf__text_compute_calls(r);
    return finish(ctx, r, true);
}

static wf_status run_part(wf_context *ctx, wf__recorder *r, uint32_t number)
{
    wf__text_part part = r->part[number];
    wf_status status = WF_OK;
    r->first = part.first;
    r->end = part.end;
    if (part.points)
        adopt_results(r);
    if (part.points && wf__text_has_calls(r))
        status = run_calls(ctx, r);
    if (status != WF_OK || r->kernel)
        return status;
    begin_part(ctx, r, part.points);
    if (is_fine(r))
        wf__text_record(r);
    if (number + 1 == r->part_n)
        make_results(r);
    else if (is_fine(r))
        store_names(r, part.end);
    if (is_fine(r))
        wf__text_note_written(r);
    status = finish(ctx, r, part.first < part.end);
    wf__text_end_part(r);
    return status;
}

/* Cuts the text. False: r->graph is a recording that has failed, or NULL without memory. */
static bool find_parts(wf_context *ctx, wf__recorder *r, bool named, const char *function)
{
    const wf__text *t = r->text;
    if (named && t->status == WF_OK && !t->program && wf__text_cut(r))
        return true;
    r->failed = false;
    begin_part(ctx, r, false); /* receives the message */
    if (!r->graph)
        return false;
    if (!named) {
        wf__str s = { 0 };
        wf__str_addf(&s, "%s: a wanted name is NULL", function);
        wf_fail(r->graph, WF_ERR_ARG, wf__str_get(&s));
        wf__str_free(&s);
    } else if (t->status != WF_OK) {
        wf__text_mistake(r, t->status, t->error_at, "%s", t->error);
    } else if (wf__text_cut(r)) {
        wf_drop(r->graph);
        return true;
    }
    return false;
}

wf_status wf__text_run(wf_context *ctx, wf__recorder *r, const char *function)
{
    size_t n = r->want_n;
    r->runs = true;
    r->older_error = ctx && wf_last_status(ctx) != WF_OK;
    bool cut = find_parts(ctx, r, clear_results(r), function);
    wf_status status = cut ? WF_OK : wf_run(r->graph);
    for (uint32_t i = 0; i < r->part_n && cut && status == WF_OK; i++)
        status = run_part(ctx, r, i);
    if (status != WF_OK && n)
        release_results(r, n);
    wf__text_recorder_free(r);
    return status;
}

wf_kernel *wf__text_prepare_part(wf_context *ctx, wf__recorder *r, const char *function)
{
    size_t n = r->want_n;
    bool last = false, cut = find_parts(ctx, r, clear_results(r), function);
    wf_status status = cut ? WF_OK : wf_run(r->graph);
    for (uint32_t i = 0; i < r->part_n && cut && status == WF_OK && !r->kernel; i++) {
        status = run_part(ctx, r, i);
        last = r->kernel && i + 1 == r->part_n;
    }
    uint32_t rest = r->part_n - 1;
    if (r->kernel && !last && r->part[rest].first == r->part[rest].end && r->end == r->part[rest].first) {
        status = run_part(ctx, r, rest);
        last = status == WF_OK;
    }
    if (!r->kernel || !last)
        release_results(r, n);
    wf__text_recorder_free(r);
    return r->kernel;
}

wf_kernel *wf__text_prepare(wf_context *ctx, wf__recorder *r, const char *function)
{
    size_t n = r->want_n;
    bool cut = find_parts(ctx, r, clear_results(r), function);
    if (cut) {
        begin_part(ctx, r, r->text->program);
        if (is_fine(r))
            wf__text_record(r);
        make_results(r);
    }
    wf_kernel *kernel = wf_compile(r->graph);
    if (!kernel && n)
        release_results(r, n);
    wf__text_recorder_free(r);
    return kernel;
}
