/* fortran.c - finds libraries with Fortran's interface. */
#include "fortran.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends "WHO WHAT" to the reasons, which are cut at the end of their memory. */
static void say(wfl_fortran *l, const char *who, const char *what)
{
    size_t n = strlen(l->why);
    snprintf(l->why + n, sizeof l->why - n, "%s%s%s", n ? "; " : "", who, what);
}

/* Sets the functions by their names, with what libraries put before and after these; false: none has all of them. */
static bool find_functions(wfl_fortran *l, void *handle)
{
    static const char *const around[][2] = { { "", "_" }, { "", "_64_" }, { "scipy_", "_" }, { "scipy_", "_64_" } };
    for (size_t p = 0; p < sizeof around / sizeof *around; ++p) {
        int i = 0;
        for (; l->routines[i]; ++i) {
            char name[32];
            snprintf(name, sizeof name, "%s%s%s", around[p][0], l->routines[i], around[p][1]);
            l->function[i] = dlsym(handle, name);
            if (!l->function[i])
                break;
        }
        if (!l->routines[i])
            return true;
    }
    return false;
}

static bool open_one(wfl_fortran *l, const char *name, bool usual)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        say(l, error ? error : name, error ? "" : " cannot be opened");
        return false;
    }
    if (usual && l->usable && !l->usable(handle, name))
        say(l, name, " is not used");
    else if (find_functions(l, handle))
        return true;
    else {
        char what[96];
        snprintf(what, sizeof what, " has no %s_, or not all of the others", l->routines[0]);
        say(l, name, what);
    }
    dlclose(handle);
    return false;
}

/* Returns the value of the variable; "" if it is unset, or in a set-user-id program, whose caller must not choose the
 * libraries that it loads. */
static const char *environment(const char *name)
{
#if defined(__GLIBC__)
    const char *value = secure_getenv(name);
#else
    const char *value = getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
    return value ? value : "";
}

static bool look(wfl_fortran *l)
{
    l->why[0] = 0;
    if (*(const char *)&(int){ 1 } != 1)
        say(l, "this machine is not little-endian", "");
    else if (!strcmp(l->name, "none"))
        say(l, l->variable, " is none");
    else if (l->name[0])
        return open_one(l, l->name, false);
    else
        for (int i = 0; l->usual[i]; ++i)
            if (open_one(l, l->usual[i], true))
                return true;
    return false;
}

bool wfl_fortran_find(wfl_fortran *l, void **functions, char why[WFL_FORTRAN_TEXT], bool *named)
{
    const char *wanted = environment(l->variable);
    pthread_mutex_lock(&l->lock);
    if (!l->tried || strncmp(l->name, wanted, sizeof l->name - 1) != 0) {
        l->tried = true;
        snprintf(l->name, sizeof l->name, "%s", wanted);
        l->found = look(l);
    }
    bool found = l->found;
    if (found)
        memcpy(functions, l->function, sizeof l->function);
    *named = l->name[0] && strcmp(l->name, "none") != 0;
    snprintf(why, WFL_FORTRAN_TEXT, "%s", l->why);
    pthread_mutex_unlock(&l->lock);
    return found;
}
