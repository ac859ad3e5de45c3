/* os_library.c - dynamic libraries. */
#include "base/os.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static void add_dl_error(wf__str *error)
{
    const char *why = dlerror();
    if (error)
        wf__str_add(error, why ? why : "unknown error of the dynamic linker");
}

static void *open_library(const char *name, bool global, wf__str *error)
{
    void *library = dlopen(name, RTLD_LAZY | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library)
        add_dl_error(error);
    return library;
}

void *wf__dl_open(const char *name, wf__str *error) { return open_library(name, false, error); }

void *wf__dl_open_global(const char *name, wf__str *error) { return open_library(name, true, error); }

bool wf__dl_is_open(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (library)
        dlclose(library); /* gives back the reference that the call has added */
    return library != NULL;
}

#ifndef WEFT_LIB_FOLDER
#define WEFT_LIB_FOLDER "../lib/"
#endif

void *wf__dl_open_own(const char *name, bool global, wf__str *error)
{
    const char *const below[] = { "", WEFT_LIB_FOLDER }; /* relative to the folder of this code */
    wf__str own = { 0 }, path = { 0 };
    void *library = NULL;
    bool known = wf__dl_own_folder(&own);
    for (size_t i = 0; i < WF__COUNT(below) && known && !library; i++) {
        wf__str_free(&path);
        wf__str_addf(&path, "%s%s%s", wf__str_get(&own), below[i], name);
        if (path.failed)
            break;
        library = open_library(wf__str_get(&path), global, error);
        if (!library && error)
            wf__str_add(error, "; ");
    }
    if (error)
        error->failed = error->failed || own.failed || path.failed;
    wf__str_free(&own);
    wf__str_free(&path);
    return library ? library : open_library(name, global, error);
}

void *wf__dl_symbol(void *library, const char *name, wf__str *error)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        add_dl_error(error);
    return symbol;
}

void wf__dl_close(void *library)
{
    if (library)
        dlclose(library);
}

bool wf__dl_own_folder(wf__str *out)
{
    static const char here;
    Dl_info info = { 0 };
    char path[PATH_MAX] = "";
    if (dladdr(&here, &info) && info.dli_fname && *info.dli_fname == '/')
        snprintf(path, sizeof path, "%s", info.dli_fname);
    else { /* for the program itself, dladdr may return the name by which it was started */
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        path[n > 0 ? n : 0] = 0;
    }
    char *last = strrchr(path, '/');
    if (!last)
        return false;
    last[1] = 0;
    wf__str_add(out, path);
    return !out->failed;
}
