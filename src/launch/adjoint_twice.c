/* adjoint_twice.c - derivatives of operators on a tape. In forward mode the tape notes the launch, whose recording can be
 * differentiated. In reverse mode it notes one step in place of the launches. If u are the derivatives of the loss with respect
 * to the results J^T b, where b are the upstream arrays, then
 *
 *     <u, J^T b> = <J u, b>
 *
 * and J u is what forward mode computes, by one kernel with directions u. It is what b get. What the operator's arrays get is
 * the adjoint of that kernel, with upstream arrays b.
 */
#include "launch/adjoint.h"
#include "launch/tape.h"
#include "base/floats.h"

typedef struct step {  /* rule.user of a call of wf_adjoint; the tape's */
    wf__recorded kept; /* the operator */
    wf_context *ctx;
    uint32_t objects, outs, wrts;
    wf_array **array; /* [objects] arrays of the operator, of which those that it does not read have no contents here */
    wf_array **out;   /* [outs] */
    wf_array **wrt;   /* [wrts] */
    uint32_t *input;  /* [objects] 1 + the number of the rule's input; 0 = it is none */
    uint32_t inputs;  /* of these; the upstream arrays follow */
    wf__derive derive; /* lists are those of the call, and gone after it */
    wf_graph *graph;   /* likewise */
} step;

static void release_all(wf_array **list, uint32_t n)
{
    for (uint32_t i = 0; list && i < n; ++i)
        wf_release(list[i]);
    wf__free(list);
}

static void release(void *user)
{
    step *s = user;
    wf__recorded_free(&s->kept);
    release_all(s->array, s->objects);
    release_all(s->out, s->outs);
    release_all(s->wrt, s->wrts);
    wf__free(s->input);
    wf__free(s);
}

/* ---- the derivative of the step ---- */
typedef struct work {            /* lists of arrays, in one block */
    wf_array **to;               /* [objects] the operator's arrays as they were */
    wf_array **out;              /* [outs] */
    wf_array **wrt;              /* [wrts] */
    wf_array **tangent;          /* [outs] J u */
    wf_array **wanted, **result; /* [inputs] */
    wf_array **stored, **seed;   /* [outs] the tangents that the kernel stores, and their upstream arrays */
} work;

/* Returns the array that stands for one of the operator's. */
static wf_array *as_it_was(const step *s, const work *w, wf_array *array)
{
    for (uint32_t i = 0; i < s->objects; ++i)
        if (s->array[i] == array)
            return w->to[i];
    return array;
}

/* Sets the tangents to what they are where the operator stores nothing. */
static wf_status begin_tangents(const step *s, const work *w, wf_arrays in, wf_arrays upstream, wf_arrays grads)
{
    wf_graph *g = wf_begin_with(s->ctx, NULL);
    for (uint32_t k = 0; k < s->outs; ++k) {
        const wf_array *b = in.at[s->inputs + k];
        wf_array *to = grads.at[s->inputs + k];
        w->tangent[k] = to ? wf_retain(to) : wf_like(b);
        wf_val v = { { 0, NULL } };
        for (uint32_t i = 0; i < s->wrts; ++i)
            if (s->wrt[i] == s->out[k])
                v = wf_in(g, upstream.at[i]);
        if (w->tangent[k])
            (wf_out)(g, w->tangent[k], v);
        else
            wf__poison(g, wf_last_status(s->ctx), "wf_tape_grad: no memory for derivatives");
    }
    return wf_run(g);
}

typedef struct request { /* wf__derive_by gives its first member to the work */
    wf__derive d;
    wf_graph *kernel;
} request;

static wf_status record_kernel(wf_graph *graph, const wf__derive *d)
{
    request *r = (request *)d;
    r->kernel = wf__tangent_kernel(graph, d);
    return r->kernel ? WF_OK : wf_last_status(graph->ctx);
}

/* Records the kernel that computes J u. NULL: the context's error is set. */
static wf_graph *tangent_kernel(const step *s, const work *w, wf_arrays upstream)
{
    wf_graph *g = wf__recorded_begin(s->ctx, &s->kept);
    wf__recorded_again(&s->kept, g, w->to, "wf_tape_grad");
    request r = { .d = { .function = "wf_tape_grad",
                         .outs = { w->out, s->outs },
                         .wrt = { w->wrt, s->wrts },
                         .seeds = upstream,
                         .results = { w->tangent, s->outs } } };
    if (!g || wf__derive_by(g, &r.d, record_kernel) != WF_OK)
        return NULL;
    return r.kernel;
}

/* True if the kernel stores the array. */
static bool is_stored(const wf_graph *kernel, const wf_array *array)
{
    const wf__program *p = &kernel->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array == array)
            return wf__program_writes(p, i);
    return false;
}

/* Runs the adjoint of the kernel. */
static wf_status back_through_kernel(const step *s, const work *w, wf_arrays in, wf_arrays upstream, wf_arrays grads)
{
    wf__derive d = { .function = "wf_tape_grad", .reverse = true };
    d.outs.at = w->stored;
    d.seeds.at = w->seed;
    d.wrt.at = w->wanted;
    d.results.at = w->result;
    for (uint32_t i = 0; i < s->objects; ++i)
        if (s->input[i] && grads.at[s->input[i] - 1]) {
            w->wanted[d.wrt.n++] = w->to[i];
            w->result[d.results.n++] = grads.at[s->input[i] - 1];
        }
    wf_graph *kernel = d.wrt.n ? tangent_kernel(s, w, upstream) : NULL;
    for (uint32_t k = 0; k < s->outs && kernel; ++k)
        if (is_stored(kernel, w->tangent[k])) {
            w->stored[d.outs.n++] = w->tangent[k];
            w->seed[d.seeds.n++] = in.at[s->inputs + k];
        }
    if (!kernel)
        return d.wrt.n ? wf_last_status(s->ctx) : WF_OK;
    if (d.outs.n)
        return wf__derive_by(kernel, &d, wf__derive_run);
    const wf_status status = wf__graph_finish(kernel); /* nothing depends on the arrays */
    wf__graph_retire(kernel);
    return status;
}

static wf_status differentiate(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    const step *s = user;
    const size_t n = s->objects + 4 * (size_t)s->outs + s->wrts + 2 * (size_t)s->inputs + 1;
    wf_array **room = wf__alloc0(n * sizeof(wf_array *));
    (void)out;
    if (!room)
        return wf__error(s->ctx, WF_ERR_MEMORY, "wf_tape_grad: out of memory");
    work w = { .to = room };
    w.out = w.to + s->objects;
    w.tangent = w.out + s->outs;
    w.stored = w.tangent + s->outs;
    w.seed = w.stored + s->outs;
    w.wrt = w.seed + s->outs;
    w.wanted = w.wrt + s->wrts;
    w.result = w.wanted + s->inputs;
    bool by_upstream = false;
    for (uint32_t i = 0; i < s->objects; ++i)
        w.to[i] = s->input[i] ? in.at[s->input[i] - 1] : s->array[i];
    for (uint32_t k = 0; k < s->outs; ++k) {
        w.out[k] = as_it_was(s, &w, s->out[k]);
        by_upstream = by_upstream || grads.at[s->inputs + k];
    }
    for (uint32_t i = 0; i < s->wrts; ++i)
        w.wrt[i] = as_it_was(s, &w, s->wrt[i]);
    wf_status status = begin_tangents(s, &w, in, upstream, grads);
    if (status == WF_OK && by_upstream) {
        wf_graph *kernel = tangent_kernel(s, &w, upstream);
        status = kernel ? wf_run(kernel) : wf_last_status(s->ctx);
    }
    if (status == WF_OK)
        status = back_through_kernel(s, &w, in, upstream, grads);
    for (uint32_t k = 0; k < s->outs; ++k)
        wf_release(w.tangent[k]);
    wf__free(room);
    return status;
}

/* ---- the step ---- */
static bool reads(const wf__ir *ir, uint32_t object)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__LOAD && ir->slot[ir->node[r].a].object == object)
            return true;
    return false;
}

static bool retain_all(wf_array *const *from, size_t n, wf_array ***to, uint32_t *count)
{
    *to = wf__alloc0((n + 1) * sizeof **to);
    for (size_t i = 0; *to && i < n; ++i)
        (*to)[i] = wf_retain(from[i]);
    *count = *to ? (uint32_t)n : 0;
    return *to != NULL;
}

/* Returns rule.user for the derivative of a graph; NULL = out of memory. */
static step *make(wf_graph *graph, const wf__derive *d)
{
    const wf__program *p = &graph->program;
    step *s = wf__alloc0(sizeof *s);
    if (!s)
        return NULL;
    s->ctx = graph->ctx;
    s->graph = graph;
    s->derive = *d;
    s->array = wf__alloc0((p->object_n + 1) * sizeof(wf_array *));
    s->input = wf__alloc0((p->object_n + 1) * sizeof *s->input);
    bool ok = s->array && s->input && wf__recorded_keep(p, &p->rec.space, NULL, &s->kept);
    ok = ok && retain_all(d->outs.at, d->outs.n, &s->out, &s->outs);
    ok = ok && retain_all(d->wrt.at, d->wrt.n, &s->wrt, &s->wrts);
    for (uint32_t i = 0; ok && i < p->object_n; ++i, ++s->objects) {
        s->array[i] = wf_retain(p->object[i].array);
        s->input[i] = reads(&p->rec.ir, i) ? ++s->inputs : 0;
    }
    if (ok)
        return s;
    release(s);
    return NULL;
}

static wf_status call(void *user, wf_arrays in, wf_arrays out)
{
    const step *s = user;
    (void)in;
    (void)out;
    return wf__derive_run(s->graph, &s->derive);
}

/* Runs the derivative in reverse mode as a step of the tape. */
static wf_status note(wf_graph *graph, const wf__derive *d)
{
    wf_context *ctx = graph->ctx;
    step *s = make(graph, d);
    wf_array **in = s ? wf__alloc0((s->inputs + d->seeds.n + 1) * sizeof(wf_array *)) : NULL;
    if (!in) {
        if (s)
            release(s);
        return wf__error(ctx, WF_ERR_MEMORY, "%s: out of memory", d->function);
    }
    for (uint32_t i = 0; i < s->objects; ++i)
        if (s->input[i])
            in[s->input[i] - 1] = s->array[i];
    for (size_t k = 0; k < d->seeds.n; ++k)
        in[s->inputs + k] = d->seeds.at[k];
    const wf_array_rule rule = {
        .size = sizeof rule, .name = d->function, .call = call, .vjp = differentiate, .user = s
    };
    wf_status status = wf__call_rule(ctx, &rule, release, (wf_arrays){ in, s->inputs + d->seeds.n }, d->results);
    wf__free(in);
    return status;
}

wf_status wf__derive_operator(wf_graph *graph, const wf__derive *d)
{
    if (!graph)
        return WF_ERR_MEMORY;
    return wf__derive_by(graph, d, d->reverse && wf__tapes(graph->ctx) ? note : wf__derive_run);
}
