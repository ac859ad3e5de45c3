/* run.c - finished recordings become runs or kernels, and the services that src/object and src/record need for it. */
#include "launch/launch.h"
#include "base/floats.h"

static wf_status run_part(wf_graph *g, const wf__program *part, wf_array *const *arrays, const uint64_t *param)
{
    g->key.len = 0;
    g->key.failed = false; /* an earlier recording's key may have failed */
    wf__program_key(part, &g->key);
    if (g->key.failed)
        return wf__cannot_begin(g->ctx, part, "out of memory for a launch");
    return wf__submit(g->ctx, &(wf__request){ .program = part,
                                              .recording_key = &g->key,
                                              .arrays = arrays,
                                              .param = param,
                                              .space = &part->rec.space,
                                              .kept = g->kept,
                                              .kept_n = g->kept_n,
                                              .stream = g->stream,
                                              .limits = part->limits });
}

static wf_status run(wf_graph *g)
{
    wf_status status = wf__graph_finish(g);
    if (status == WF_OK && !wf__graph_launchable(g, "wf_run"))
        status = WF_ERR_ARG;
    if (status == WF_OK && g->evaluated)
        status = wf__graph_evaluate(g);
    else if (status == WF_OK) {
        const wf__program *p = &g->program;
        wf__bound b;
        wf__drop_unseen(g, false);
        if (!wf__bound_begin(&b, p))
            status = wf__cannot_begin(g->ctx, p, "out of memory for a launch");
        for (uint32_t i = 0; status == WF_OK && i < p->object_n; ++i)
            b.arrays[i] = p->object[i].array;
        for (uint32_t i = 0; status == WF_OK && i < p->param_n; ++i)
            b.param[i] = p->param[i].initial;
        if (status == WF_OK)
            status = run_part(g, p, b.arrays, b.param);
        wf__bound_end(&b);
    }
    wf__graph_retire(g);
    return status;
}

wf_status wf_run(wf_graph *g)
{
    if (!g)
        return WF_ERR_ARG;
    if (!wf__may_end(g, "wf_run"))
        return WF_ERR_CONTRACT;
    wf__floats floats = wf__floats_begin();
    wf_status status = run(g);
    wf__floats_end(floats);
    return status;
}

/* Turns off the interpreter and baseline code, since a kernel usually runs often. */
static void compile_for_good(wf__recording *rec)
{
    for (int k = 0; k < WF__SECTIONS; ++k)
        rec->section[k].flags &= ~(uint32_t)(WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST);
}

wf_kernel *wf_compile(wf_graph *g)
{
    if (!g || !wf__may_end(g, "wf_compile"))
        return NULL;
    wf_kernel *k = wf__graph_finish(g) == WF_OK ? wf__alloc0(sizeof *k) : NULL;
    if (k && wf__mutex_init(&k->lock)) {
        k->ctx = g->ctx;
        wf__context_retain(k->ctx);
        k->program = g->program;
        k->program.here = NULL; /* the kernel may outlive the text */
        compile_for_good(&k->program.rec);
        g->program = (wf__program){ 0 };
        for (uint32_t i = 0; i < k->program.object_n; ++i)
            if (k->program.object[i].array->name) /* a formal; other arrays may be in use by other threads */
                k->program.object[i].array->graph = NULL;
        k->kept = g->kept;
        k->kept_n = g->kept_n;
        for (uint32_t i = 0; i < k->kept_n; ++i)
            k->kept[i]->graph = NULL;
        g->kept = NULL;
        g->kept_n = g->kept_cap = 0;
        wf__program_key(&k->program, &k->recording_key);
        if (k->recording_key.failed || !wf__kernel_sockets(k)) {
            wf__error(k->ctx, WF_ERR_MEMORY, "out of memory for a kernel");
            wf_kernel_free(k);
            k = NULL;
        }
    } else if (k || g->program.rec.ir.status == WF_OK) {
        wf__error(g->ctx, WF_ERR_MEMORY, "out of memory for a kernel");
        wf__free(k);
        k = NULL;
    }
    wf__graph_retire(g);
    return k;
}

/* ---- services (object.h) ---- */
wf_status wf__run_part(wf_graph *g, const wf__program *part, wf_array *const *arrays, const uint64_t *param)
{
    wf__floats floats = wf__floats_begin(); /* an evaluation may be the caller */
    wf_status status = run_part(g, part, arrays, param);
    wf__floats_end(floats);
    return status;
}

wf_array *wf__copy_by_launch(const wf_array *a)
{
    wf_graph *g = wf_begin_with(a->ctx, NULL);
    wf_array *copy = (wf_keep)(wf_in(g, a));
    if (wf_run(g) == WF_OK)
        return copy;
    wf_release(copy);
    return NULL;
}

bool wf__copy_into_by_launch(const wf_array *from, wf_array *to)
{
    wf_graph *g = wf_begin_with(from->ctx, NULL);
    wf_out(g, to, wf_in(g, from));
    return wf_run(g) == WF_OK;
}
