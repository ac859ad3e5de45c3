/* driver_module.c - modules, functions, linking. Images are PTX text. The image that cuLinkComplete returns is PTX text
 * too, so that programs can keep linked images on disk.
 */
#include <stdio.h>
#include "emu/driver.h"

enum { MAX_PTX_VERSION = 900 };

void wfe_module_drop(CUmodule module)
{
    emu_driver *d = &wfe_driver;
    for (uint32_t i = 0; i < d->heap.n; i++)
        if (d->heap.list[i]->at && d->heap.list[i]->owner == module) {
            d->heap.list[i]->name = NULL;
            wfe_heap_drop(&d->heap, d->heap.list[i]);
        }
    for (struct CUfunc_st *f = module->functions, *next; f; f = next) {
        next = f->next;
        wfe_free_handle(f);
    }
    wfe_module_free(module->m);
    wfe_free_handle(module);
}

/* Allocates the variables, and adds their addresses to initial values and instructions. */
static bool place_variables(CUmodule module)
{
    emu_module *m = module->m;
    for (uint32_t i = 0; i < m->n_vars; i++) {
        emu_var *v = &m->vars[i];
        if (v->space == EMU_SHARED || v->is_extern || !v->size)
            continue;
        emu_memory *at = wfe_heap_add(&wfe_driver.heap, v->size, EMU_MEM_MODULE, module->context->device, NULL);
        if (!at)
            return false;
        memcpy(at->at, v->image, (size_t)v->size);
        wf__free(at->written);
        at->written = NULL;
        at->owner = module;
        at->name = v->name;
        at->constant = v->space == EMU_CONST;
        v->address = at->base;
    }
    for (uint32_t i = 0; i < m->n_vars; i++) {
        const emu_var *v = &m->vars[i];
        emu_memory *at = v->n_fixes ? wfe_heap_find(&wfe_driver.heap, v->address) : NULL;
        for (uint32_t k = 0; at && k < v->n_fixes; k++) {
            uint64_t address = m->vars[v->fixes[3 * k + 1]].address + v->fixes[3 * k + 2];
            memcpy(at->at + v->fixes[3 * k], &address, sizeof address);
        }
    }
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        emu_func *f = m->funcs[i];
        for (uint32_t k = 0; k < f->n_code; k++)
            if (f->code[k].symbol)
                f->code[k].offset += (int64_t)m->vars[f->code[k].callee].address;
    }
    return true;
}

static void write_log(unsigned n, const int *options, void **values, int which, const char *text)
{
    char *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == which)
            buffer = values[i];
        if (options[i] == which + 1)
            size = (size_t)(uintptr_t)values[i];
    }
    if (!buffer || !size)
        return;
    snprintf(buffer, size, "%s", text);
    for (unsigned i = 0; i < n; i++)
        if (options[i] == which + 1)
            values[i] = (void *)(uintptr_t)(strlen(buffer) + (*text != 0));
}

static CUresult check_image(const char *text, wf__str *why)
{
    if (!memcmp(text,
                "\x7f"
                "ELF",
                4) ||
        !memcmp(text, "\x50\xed\x55\xba", 4)) {
        wf__str_add(why, "the emulator loads PTX only, no machine code");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return CUDA_SUCCESS;
}

static CUresult load_module(CUcontext context, const char *text, CUmodule *out, wf__str *why)
{
    CUresult status = check_image(text, why);
    if (status != CUDA_SUCCESS)
        return status;
    CUmodule module = wf__alloc0(sizeof *module);
    emu_module *m = module ? wfe_parse(text, strlen(text)) : NULL;
    if (!m || !wfe_keep_handle(module, EMU_OBJ_MODULE)) {
        wfe_module_free(m);
        wf__free(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->m = m;
    module->context = context;
    if (m->error.at) {
        wf__str_addf(why, "ptx %s", wf__str_get(&m->error));
        status = CUDA_ERROR_INVALID_PTX;
    } else if (m->version > MAX_PTX_VERSION) {
        wf__str_addf(why, "PTX version %u.%u is newer than this driver's", m->version / 100, m->version % 100);
        status = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    } else if ((int)m->target > wfe_driver.sm) {
        wf__str_addf(why, "the target sm_%u is newer than the device, sm_%d", m->target, wfe_driver.sm);
        status = CUDA_ERROR_NO_BINARY_FOR_GPU;
    } else if (!place_variables(module)) {
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (status != CUDA_SUCCESS)
        wfe_module_drop(module);
    else
        *out = module;
    return status;
}

EMU_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, const int *options,
                                       void **values)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    wf__str why = { 0 };
    if (status == CUDA_SUCCESS)
        status = module && image && (!n || (options && values)) ? load_module(c, image, module, &why)
                                                                : CUDA_ERROR_INVALID_VALUE;
    if (why.at)
        wfe_set_report(why.at);
    if (image && module) {
        write_log(n, options, values, CU_JIT_ERROR_LOG_BUFFER, wf__str_get(&why));
        write_log(n, options, values, CU_JIT_INFO_LOG_BUFFER, "");
    }
    wf__str_free(&why);
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}
EMU_EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    if (!wfe_known(module, EMU_OBJ_MODULE))
        return wfe_leave(status == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : status);
    if (status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        return wfe_leave(status);
    wfe_module_drop(module);
    return wfe_leave(status);
}

EMU_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    if (!function || !name || !wfe_known(module, EMU_OBJ_MODULE))
        return wfe_leave(!function || !name ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    for (struct CUfunc_st *f = module->functions; f; f = f->next) {
        if (!strcmp(f->func->name, name)) {
            *function = f;
            return wfe_leave(CUDA_SUCCESS);
        }
    }
    for (uint32_t i = 0; i < module->m->n_funcs; i++) {
        emu_func *func = module->m->funcs[i];
        if (!func->entry || strcmp(func->name, name) != 0)
            continue;
        struct CUfunc_st *f = wfe_new_handle(sizeof *f, EMU_OBJ_FUNCTION);
        if (!f)
            return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
        uint32_t fixed = func->static_bytes + module->m->static_bytes;
        *f = (struct CUfunc_st){ module, func, fixed < EMU_MAX_STATIC ? EMU_MAX_STATIC - fixed : 0, module->functions };
        module->functions = f;
        *function = f;
        return wfe_leave(CUDA_SUCCESS);
    }
    return wfe_leave(CUDA_ERROR_NOT_FOUND);
}

EMU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!name || !wfe_known(module, EMU_OBJ_MODULE)))
        status = name ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    for (uint32_t i = 0; i < module->m->n_vars; i++) {
        const emu_var *v = &module->m->vars[i];
        if (v->space == EMU_SHARED || strcmp(v->name, name) != 0)
            continue;
        if (address)
            *address = v->address;
        if (bytes)
            *bytes = (size_t)v->size;
        return wfe_leave(CUDA_SUCCESS);
    }
    return wfe_leave(CUDA_ERROR_NOT_FOUND);
}

/* ---- functions ---- */
static uint32_t fixed_shared(const struct CUfunc_st *f) { return f->func->static_bytes + f->module->m->static_bytes; }

EMU_EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!value || !wfe_known(f, EMU_OBJ_FUNCTION))
        return wfe_leave(value ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    const emu_module *m = f->module->m;
    uint64_t constant = 0;
    for (uint32_t i = 0; i < m->n_vars; i++)
        constant += m->vars[i].space == EMU_CONST ? m->vars[i].size : 0;
    int values[] = { (int)f->func->max_threads,
                     (int)fixed_shared(f),
                     (int)constant,
                     (int)f->func->local_bytes,
                     32,
                     (int)(m->version / 100 * 10 + m->version % 100),
                     wfe_driver.sm,
                     0,
                     (int)f->dynamic,
                     -1 };
    if (attribute < 0 || attribute > 15)
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    *value = attribute < (int)WF__COUNT(values) ? values[attribute] : 0;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
    wf__mutex_lock(&wfe_driver.lock);
    CUresult status = CUDA_SUCCESS;
    if (!wfe_known(f, EMU_OBJ_FUNCTION))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || (uint32_t)value + fixed_shared(f) > EMU_MAX_SHARED)
            status = CUDA_ERROR_INVALID_VALUE;
        else
            f->dynamic = (uint32_t)value;
    } else if (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        status = CUDA_ERROR_INVALID_VALUE;
    }
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, int config)
{
    (void)config;
    wf__mutex_lock(&wfe_driver.lock);
    return wfe_leave(wfe_known(f, EMU_OBJ_FUNCTION) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
EMU_EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction f)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!module || !wfe_known(f, EMU_OBJ_FUNCTION))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    *module = f->module;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuFuncGetName(const char **name, CUfunction f)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!name || !wfe_known(f, EMU_OBJ_FUNCTION))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    *name = f->func->name;
    return wfe_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f, int block_size,
                                                                         size_t dynamic, unsigned flags)
{
    (void)flags;
    wf__mutex_lock(&wfe_driver.lock);
    if (!blocks || block_size < 1 || block_size > EMU_MAX_THREADS)
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    if (!wfe_known(f, EMU_OBJ_FUNCTION))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    size_t threads = (size_t)(block_size + EMU_LANES - 1) / EMU_LANES * EMU_LANES;
    size_t n = EMU_THREADS_PER_SM / threads, shared = fixed_shared(f) + dynamic + 1024;
    n = n > EMU_BLOCKS_PER_SM ? EMU_BLOCKS_PER_SM : n;
    n = (size_t)(228 << 10) / shared < n ? (size_t)(228 << 10) / shared : n;
    *blocks = dynamic > f->dynamic || (uint32_t)block_size > f->func->max_threads ? 0 : (int)n;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int block_size,
                                                                size_t dynamic)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block_size, dynamic, 0);
}
EMU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, CUoccupancyB2DSize need,
                                                     size_t dynamic, int limit)
{
    int best = 0, most = limit > 0 && limit < EMU_MAX_THREADS ? limit : EMU_MAX_THREADS;
    if (!grid || !block)
        return CUDA_ERROR_INVALID_VALUE;
    for (int size = (most + EMU_LANES - 1) / EMU_LANES * EMU_LANES; size > 0; size -= EMU_LANES) {
        int threads = size > most ? most : size, n = 0;
        CUresult status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, threads, need ? need(threads) : dynamic);
        if (status != CUDA_SUCCESS)
            return status;
        if (n * threads > best) {
            best = n * threads;
            *block = threads;
            *grid = n * EMU_SMS;
        }
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- linking ---- */
EMU_EXPORT CUresult cuLinkCreate_v2(unsigned n, const int *options, void **values, CUlinkState *state)
{
    (void)n, (void)options, (void)values;
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && !state)
        status = CUDA_ERROR_INVALID_VALUE;
    CUlinkState s = status == CUDA_SUCCESS ? wfe_new_handle(sizeof *s, EMU_OBJ_LINK) : NULL;
    if (status == CUDA_SUCCESS && !s)
        status = CUDA_ERROR_OUT_OF_MEMORY;
    if (status == CUDA_SUCCESS)
        *state = s;
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuLinkAddData_v2(CUlinkState s, int type, void *data, size_t size, const char *name, unsigned n,
                                     const int *options, void **values)
{
    (void)name, (void)n, (void)options, (void)values;
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(s, EMU_OBJ_LINK) || !data)
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    if (type != 1 || s->text.at) /* only CU_JIT_INPUT_PTX, and only one input */
        return wfe_leave(CUDA_ERROR_NOT_SUPPORTED);
    emu_module *m = wfe_parse(data, size);
    if (!m)
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    CUresult status = m->error.at ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
    if (m->error.at)
        wfe_set_report(m->error.at);
    wfe_module_free(m);
    if (status == CUDA_SUCCESS)
        wf__str_addn(&s->text, data, strnlen(data, size));
    return wfe_leave(s->text.failed ? CUDA_ERROR_OUT_OF_MEMORY : status);
}
EMU_EXPORT CUresult cuLinkComplete(CUlinkState s, void **image, size_t *size)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(s, EMU_OBJ_LINK) || !s->text.at)
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    if (image)
        *image = s->text.at;
    if (size)
        *size = s->text.len + 1;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuLinkDestroy(CUlinkState s)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(s, EMU_OBJ_LINK))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    wf__str_free(&s->text);
    wfe_free_handle(s);
    return wfe_leave(CUDA_SUCCESS);
}
