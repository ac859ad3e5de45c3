/* device.c - devices: their names, which there are, and what they are like. */
#include "object/object.h"
#include <stdio.h>

/* ---- names ---- */
/* Returns the number behind `head` in a name: 7 for ":7", 0 for nothing, -1 for anything else. */
static int numbered(const char *name, const char *head)
{
    size_t len = strlen(head);
    int n = 0;
    if (strncmp(name, head, len) || (name[len] && (name[len] != ':' || !name[len + 1])))
        return -1;
    const char *digit = name + len + 1;
    while (name[len] && *digit >= '0' && *digit <= '9' && n < 100)
        n = 10 * n + (*digit++ - '0');
    return name[len] && (*digit || n > 255) ? -1 : n;
}

wf_device wf_device_named(const char *name)
{
    if (!name)
        return 0;
    int gpu = numbered(name, "cuda"), emulated = numbered(name, "cuda-emu");
    return emulated >= 0             ? WF_GPU_EMU(emulated)
           : gpu >= 0                ? WF_GPU(gpu)
           : !strcmp(name, "cpu")    ? WF_CPU
           : !strcmp(name, "interp") ? WF_INTERP
                                     : 0;
}

const char *wf__device_name(wf_device device, char text[32])
{
    if (wf__is_gpu(device))
        snprintf(text, 32, "%s:%d", wf__is_emulated(device) ? "cuda-emu" : "cuda", wf__gpu_number(device));
    else
        snprintf(text, 32, "%s", device == WF_INTERP ? "interp" : "cpu");
    return text;
}

void wf__set_target(wf__recording *rec, wf_device device)
{
    wf__plan_options *o = &rec->options;
    bool gpu = wf__is_gpu(device), compiled = device == WF_CPU && !(rec->ir.flags & WF_FLAG_DEBUG);
    o->target = (uint8_t)(gpu ? WF__GPU : compiled ? WF__PROCESSOR : WF__INTERPRETER);
    o->gpu = (uint16_t)(gpu ? 1 + wf__gpu_number(device) : 0);
    o->emulated = gpu && wf__is_emulated(device);
}

wf__gpu *wf__gpu_of(wf_context *ctx, const char *function, wf_device device)
{
    wf__failure failure = { 0 };
    wf__gpu *gpu = wf__engine_gpu(ctx->engine, wf__gpu_number(device), wf__is_emulated(device), &failure);
    if (!gpu)
        wf__error(ctx, failure.status, "%s: %s", function, wf__str_get(&failure.text));
    wf__str_free(&failure.text);
    return gpu;
}

bool wf__device_known(wf_context *ctx, const char *function, wf_device device)
{
    if (wf__is_gpu(device))
        return wf__gpu_of(ctx, function, device);
    if (device == 0 || device == WF_CPU || device == WF_INTERP)
        return true;
    wf__error(ctx, WF_ERR_DEVICE, "%s: there is no device %d here", function, (int)device);
    return false;
}

/* ---- queries ---- */
int wf_device_count(wf_context *ctx, wf_device kind)
{
    wf__failure ignored = { 0 };
    int n = kind == WF_CPU || kind == WF_INTERP;
    if (ctx && wf__is_gpu(kind))
        n = wf__engine_gpu_count(ctx->engine, wf__is_emulated(kind), &ignored);
    wf__str_free(&ignored.text);
    return n;
}

static wf_status ask_gpu(wf_context *ctx, wf_device device, wf_device_info *out)
{
    wf__failure f = { 0 };
    wf__gpu_facts facts;
    wf_status status = WF_OK;
    wf__gpu *gpu = wf__engine_gpu(ctx->engine, wf__gpu_number(device), wf__is_emulated(device), &f);
    if (gpu && wf__gpu_ask(gpu, &facts, &f))
        *out = (wf_device_info){ .name = facts.model,
                                 .processors = facts.processors,
                                 .capability = facts.capability,
                                 .driver = facts.driver,
                                 .memory_bytes = facts.memory_bytes,
                                 .memory_free = facts.memory_free,
                                 .memory_kept = facts.memory_kept,
                                 .block_memory = facts.shared_memory };
    else
        status = wf__error(ctx, f.status, "wf_get_device_info: %s", wf__str_get(&f.text));
    wf__str_free(&f.text);
    return status;
}

wf_status wf_get_device_info(wf_context *ctx, wf_device device, wf_device_info *info)
{
    wf_device_info full = { 0 };
    wf_status status = WF_OK;
    if (!ctx || !info)
        return wf__error(ctx, WF_ERR_ARG, "wf_get_device_info: %s is NULL", ctx ? "info" : "ctx");
    if (info->size < sizeof info->size)
        return wf__error(ctx, WF_ERR_ARG, "wf_get_device_info: " WF__WRONG_SIZE);
    device = device ? device : ctx->device;
    if (wf__is_gpu(device))
        status = ask_gpu(ctx, device, &full);
    else if (device == WF_CPU || device == WF_INTERP) {
        wf__mem_stats stats;
        wf__mem_get_stats(wf__engine_memory(ctx->engine), &stats);
        full = (wf_device_info){ .name = device == WF_CPU ? wf__engine_target(ctx->engine)->name : "interp",
                                 .processors = wf__cpu_count(),
                                 .memory_bytes = wf__ram_bytes(),
                                 .memory_kept = stats.cached };
    } else
        status = wf__error(ctx, WF_ERR_DEVICE, "wf_get_device_info: there is no device %d here", (int)device);
    full.size = info->size;
    if (status == WF_OK)
        memcpy(info, &full, info->size < sizeof full ? info->size : sizeof full);
    return status;
}
