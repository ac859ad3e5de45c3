/* foreign.c - opens the libraries behind PNG, TIFF and gzip. */
#include "foreign.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static wf_status open_locked(wfl_foreign *library, wf_context *ctx, const char *path)
{
    void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();
    if (!handle)
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "%s files need the library %s: %s", library->format,
                           library->soname, why ? why : "it cannot be opened");
    for (size_t i = 0; i < library->functions; i++) {
        void *symbol = dlsym(handle, library->function[i].name);
        if (!symbol) {
            dlclose(handle);
            return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "%s files need a library %s that has %s", library->format,
                               library->soname, library->function[i].name);
        }
        memcpy(library->function[i].pointer, &symbol, sizeof symbol);
    }
    atomic_store_explicit(&library->ready, true, memory_order_release);
    return WF_OK;
}

wf_status wfl_foreign_open(wfl_foreign *library, wf_context *ctx, const char *path)
{
    if (atomic_load_explicit(&library->ready, memory_order_acquire))
        return WF_OK;
    pthread_mutex_lock(&lock);
    wf_status status = atomic_load(&library->ready) ? WF_OK : open_locked(library, ctx, path);
    pthread_mutex_unlock(&lock);
    return status;
}
