/* driver_launch.c - launches. A kernel runs when it is launched. The context keeps a failure of the kernel, and later
 * calls return it, as hardware does with an asynchronous failure.
 */
#include "emu/driver.h"
#include <stdio.h>

static CUresult copy_params(const emu_func *f, void **params, void **extra, uint8_t *out)
{
    const uint8_t *buffer = NULL;
    size_t size = 0;
    for (void **e = extra; e && e[0]; e += 2) { /* 1 = buffer, 2 = address of its size */
        if ((uintptr_t)e[0] == 1)
            buffer = e[1];
        else if ((uintptr_t)e[0] == 2)
            memcpy(&size, e[1], sizeof size);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (buffer) {
        if (size < f->param_bytes || params)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out, buffer, f->param_bytes);
        return CUDA_SUCCESS;
    }
    if (f->n_params && !params)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (!params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + f->params[i].at, params[i], (size_t)f->params[i].size);
    }
    return CUDA_SUCCESS;
}

static CUresult check_shape(const struct CUfunc_st *f, const emu_launch *l)
{
    static const uint32_t most_grid[3] = { INT32_MAX, 65535, 65535 }, most_block[3] = { 1024, 1024, 64 };
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || l->grid[i] > most_grid[i] || !l->block[i] || l->block[i] > most_block[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (f->func->req[0] && l->block[i] != f->func->req[i])
            return CUDA_ERROR_INVALID_VALUE;
        threads *= l->block[i];
    }
    if (threads > f->func->max_threads || l->dynamic_bytes > f->dynamic)
        return CUDA_ERROR_INVALID_VALUE;
    int blocks = EMU_THREADS_PER_SM / (int)((threads + EMU_LANES - 1) / EMU_LANES * EMU_LANES) * EMU_SMS;
    if (l->cooperative && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > (uint64_t)blocks)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

static CUresult code_of(emu_fault fault)
{
    switch (fault) {
    case EMU_FAULT_NONE:
        return CUDA_SUCCESS;
    case EMU_FAULT_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EMU_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EMU_FAULT_SPACE:
        return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case EMU_FAULT_STACK:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case EMU_FAULT_DEADLOCK:
    case EMU_FAULT_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static _Thread_local char launch_name[64];
EMU_EXPORT void weftEmuName(const char *name) { snprintf(launch_name, sizeof launch_name, "%s", name ? name : ""); }

/* Runs the kernel and checks its order with earlier operations. */
static void run_ordered(CUcontext c, emu_launch *l, CUstream stream)
{
    char what[160];
    snprintf(what, sizeof what, "kernel '%.80s'%s%s%s", l->func->name, *launch_name ? " of '" : "", launch_name,
             *launch_name ? "'" : "");
    emu_op *op = wfe_op_begin(c, stream, what, "writes");
    l->touched = op ? &op->touched : NULL;
    c->error = code_of(wfe_run(l));
    if (c->error == CUDA_SUCCESS)
        wfe_op_end(op, false);
    else
        wfe_op_drop(op);
}

CUresult wfe_run_kernel(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, const uint8_t *params)
{
    emu_driver *d = &wfe_driver;
    wf__str report = { 0 };
    l->module = f->module->m;
    l->func = f->func;
    l->heap = &d->heap;
    l->device = c->device;
    l->peers = c->peers;
    l->params = params;
    l->find = d->find;
    l->limit = d->limit;
    l->id = ++d->launches;
    l->report = &report;
    run_ordered(c, l, stream);
    d->instructions += l->instructions;
    if (report.at)
        wfe_set_report(report.at);
    wf__str_free(&report);
    return CUDA_SUCCESS;
}

static CUresult run_or_capture(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, void **params, void **extra)
{
    bool captured = wfe_known(stream, EMU_OBJ_STREAM) && stream->capture;
    CUresult status = check_shape(f, l);
    if (status == CUDA_SUCCESS && !captured)
        status = wfe_use_stream(c, stream, CUDA_SUCCESS);
    if (status != CUDA_SUCCESS)
        return status;
    uint8_t *values = wf__alloc0(f->func->param_bytes + 1u);
    if (!values)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = copy_params(f->func, params, extra, values);
    if (status == CUDA_SUCCESS)
        status = captured ? wfe_capture_kernel(stream, f, l, values) : wfe_run_kernel(c, f, l, stream, values);
    wf__free(values);
    return status;
}

static CUresult launch_kernel(CUfunction f, emu_launch *l, CUstream stream, void **params, void **extra)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!wfe_known(f, EMU_OBJ_FUNCTION) || !wfe_is_stream_of(stream, c)))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS && f->module->context != c)
        status = CUDA_ERROR_INVALID_CONTEXT;
    return wfe_leave(status == CUDA_SUCCESS ? run_or_capture(c, f, l, stream, params, extra) : status);
}
EMU_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic, CUstream stream, void **params, void **extra)
{
    emu_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = dynamic };
    return launch_kernel(f, &l, stream, params, extra);
}
EMU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                              unsigned by, unsigned bz, unsigned dynamic, CUstream stream,
                                              void **params)
{
    emu_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = dynamic, .cooperative = true };
    return launch_kernel(f, &l, stream, params, NULL);
}
EMU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if (c->numAttrs)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                          c->sharedMemBytes, c->hStream, params, extra);
}
