/* driver_entry.c - the ends of the library: functions by name, and what happens when the library is closed. */
#include "emu/driver.h"

typedef void (*entry)(void);
static const struct {
    const char *name;
    entry fn;
} entries[] = {
#define WEFT_CUDA_FUNCTION(name, arguments) { #name, (entry)name },
#include "emu/cuda_functions.def"
#undef WEFT_CUDA_FUNCTION
};

/* Finds the newest version of a name: cuMemAlloc is cuMemAlloc_v2. */
EMU_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    if (!symbol || !out)
        return CUDA_ERROR_INVALID_VALUE;
    size_t n = strlen(symbol), best = WF__COUNT(entries);
    for (size_t i = 0; i < WF__COUNT(entries); i++) {
        const char *rest = strncmp(entries[i].name, symbol, n) == 0 ? entries[i].name + n : NULL;
        if (rest && (!*rest || (rest[0] == '_' && rest[1] == 'v' && !rest[3])))
            best = i; /* the table lists versions in ascending order */
    }
    *out = NULL;
    if (status)
        *status = best == WF__COUNT(entries); /* 1 = not found */
    if (best == WF__COUNT(entries))
        return CUDA_ERROR_NOT_FOUND;
    memcpy(out, &entries[best].fn, sizeof *out);
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}

/* Frees everything that is left, when the library is closed or the program ends. */
__attribute__((destructor)) static void leave_for_good(void)
{
    emu_driver *d = &wfe_driver;
    for (uint32_t i = d->n_handles; i-- > 0;) {
        if (d->handles[i].kind != EMU_OBJ_CONTEXT)
            continue;
        wfe_context_drop(d->handles[i].at);
        i = d->n_handles;
    }
    for (uint32_t i = 0; i < d->n_handles; i++) {
        emu_handle h = d->handles[i];
        if (h.kind == EMU_OBJ_LINK)
            wf__str_free(&((CUlinkState)h.at)->text);
        if (h.kind == EMU_OBJ_GRAPH || h.kind == EMU_OBJ_EXEC)
            wfe_graph_drop(h.at, h.kind);
        else
            wf__free(h.at);
    }
    wfe_heap_free(&d->heap);
    wfe_order_free(&d->order);
    wf__free(d->handles);
    wf__str_free(&d->report);
    *d = (emu_driver){ .lock = WF__MUTEX_INIT };
}
