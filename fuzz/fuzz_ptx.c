/* fuzz_ptx.c - takes any bytes as PTX text. The emulator's reader must give a module, or an error that names a line. A
 * small grid of each kernel of a module then runs with a time limit; it ends with a status and, if it failed, a report.
 */
#include <stdlib.h>
#include "emu/emu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 4096, LIMIT = 20000 };

static void require(bool good)
{
    if (!good)
        abort();
}

/* Gives memory to the variables of the module, as the driver does. */
static void place(emu_heap *heap, emu_module *m)
{
    for (uint32_t i = 0; i < m->n_vars; i++) {
        emu_var *v = &m->vars[i];
        if (v->space == EMU_SHARED || v->is_extern || !v->size || v->size > BYTES)
            continue;
        emu_memory *at = wfe_heap_add(heap, v->size, EMU_MEM_MODULE, 0, NULL);
        require(at != NULL);
        at->constant = v->space == EMU_CONST;
        v->address = at->base;
    }
    for (uint32_t i = 0; i < m->n_funcs; i++)
        for (uint32_t k = 0; k < m->funcs[i]->n_code; k++)
            if (m->funcs[i]->code[k].symbol)
                m->funcs[i]->code[k].offset += (int64_t)m->vars[m->funcs[i]->code[k].callee].address;
}

static void run(emu_heap *heap, const emu_module *m, const emu_func *f, uint64_t address)
{
    wf__str report = { 0 };
    uint8_t *params = calloc(1, f->param_bytes + 1u);
    require(params != NULL);
    for (uint32_t i = 0; i + 8 <= f->param_bytes; i += 8)
        memcpy(params + i, &address, sizeof address);
    emu_launch l = { .module = m,
                     .func = f,
                     .heap = heap,
                     .grid = { 2, 1, 1 },
                     .block = { 40, 1, 1 },
                     .dynamic_bytes = 64,
                     .params = params,
                     .find = EMU_FIND_ALL,
                     .limit = LIMIT,
                     .id = 1,
                     .report = &report };
    emu_fault fault = wfe_run(&l);
    require((fault == EMU_FAULT_NONE) == (report.at == NULL));
    wf__str_free(&report);
    free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    emu_module *m = wfe_parse((const char *)data, size);
    if (!m)
        return 0;
    if (m->error.at) {
        require(!strncmp(m->error.at, "line ", 5));
        wfe_module_free(m);
        return 0;
    }
    emu_heap heap = { 0 };
    emu_memory *memory = wfe_heap_add(&heap, BYTES, EMU_MEM_DEVICE, 0, NULL);
    require(memory != NULL);
    wfe_mark_written(memory, 0, BYTES / 2);
    place(&heap, m);
    for (uint32_t i = 0; i < m->n_funcs; i++)
        if (m->funcs[i]->entry && m->funcs[i]->n_regs < 4096 && m->funcs[i]->local_bytes < 4096)
            run(&heap, m, m->funcs[i], memory->base);
    wfe_heap_free(&heap);
    wfe_module_free(m);
    return 0;
}
