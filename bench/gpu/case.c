/* case.c - what a case owns, its first error, and its contenders. */
#include "gpu.h"
#include <stdlib.h>
#include <string.h>

bool gpu_fail(gpu_case *c, const char *why)
{
    if (!c->error[0])
        snprintf(c->error, sizeof c->error, "%s", why);
    return false;
}

bool gpu_ok(gpu_case *c, wf_status status)
{
    if (status != WF_OK) {
        gpu_fail(c, wf_last_message(c->b->ctx));
        wf_clear_error(c->b->ctx);
    }
    return status == WF_OK;
}

wf_array *gpu_keep(gpu_case *c, wf_array *array)
{
    if (c->kept_n == GPU_KEPT)
        abort();
    if (!array)
        gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_MEMORY);
    return c->kept[c->kept_n++] = array;
}

static gpu_contender *add(gpu_case *c, const char *who, const char *how)
{
    if (c->n == GPU_CONTENDERS)
        abort();
    gpu_contender *x = &c->at[c->n++];
    x->who = who;
    x->how = how;
    return x;
}

static void add_launches(gpu_case *c, const char *who, const char *how, wf_kernel *kernel, wf_args args)
{
    gpu_contender *x = add(c, who, how);
    if (!kernel)
        gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_ARG);
    x->kernel = kernel;
    x->args = args.n;
    for (size_t i = 0; i < args.n && i < GPU_ARGS; ++i)
        x->arg[i] = args.at[i];
}

void gpu_launches(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args)
{
    add_launches(c, "weft", how, kernel, args);
}
void gpu_aside(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args)
{
    add_launches(c, "aside", how, kernel, args);
}
void gpu_calls(gpu_case *c, const char *how, bool (*call)(gpu_case *c)) { add(c, "weft", how)->call = call; }
void gpu_figures(gpu_case *c, const char *how, double (*figure)(gpu_case *c)) { add(c, "weft", how)->figure = figure; }

void gpu_by_hand(gpu_case *c, const char *row, hand_args args)
{
    for (const hand_way *way = c->b->hand ? c->b->hand->way : NULL; way && way->row; ++way)
        if (!strcmp(way->row, row)) {
            gpu_contender *x = add(c, "hand", way->how);
            x->way = way;
            x->to = args;
        }
}

void gpu_by_driver(gpu_case *c, hand_args args)
{
    if (c->b->driver)
        add(c, "driver", "cuMemcpyDtoDAsync")->to = args;
}
