/* foreign.c - opens the libraries behind PNG, TIFF and gzip. */
#include "foreign.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the first function that the opened library lacks, or NULL after setting all pointers. */
static const char *find_functions(const wfl_foreign *library, void *handle)
{
    for (size_t i = 0; i < library->functions; i++) {
        void *symbol = dlsym(handle, library->function[i].name);
        if (!symbol)
            return library->function[i].name;
        memcpy(library->function[i].pointer, &symbol, sizeof symbol);
    }
    return NULL;
}

static wf_status open_locked(wfl_foreign *library, wf_context *ctx, const char *path)
{
    const char *found = NULL, *lacks = NULL;
    char why[256] = "";
    for (size_t i = 0; i < sizeof library->soname / sizeof *library->soname && library->soname[i]; i++) {
        void *handle = dlopen(library->soname[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *text = dlerror();
            if (!*why)
                snprintf(why, sizeof why, "%s", text ? text : "it cannot be opened");
            continue;
        }
        const char *missing = find_functions(library, handle);
        if (!missing) {
            atomic_store_explicit(&library->ready, true, memory_order_release);
            return WF_OK;
        }
        dlclose(handle);
        found = library->soname[i];
        lacks = missing;
    }
    if (found)
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "%s files need the library %s, and %s has no function %s",
                           library->format, library->soname[0], found, lacks);
    return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "%s files need the library %s: %s", library->format,
                       library->soname[0], why);
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
