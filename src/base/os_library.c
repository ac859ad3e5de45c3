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

void *wf__dl_open(const char *name, wf__str *error)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        add_dl_error(error);
    return library;
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
