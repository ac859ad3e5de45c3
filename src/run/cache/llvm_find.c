/* llvm_find.c - see llvm_find.h. The search only calls stat, since opening a library takes long. */
#include "run/cache/llvm_find.h"
#include "base/os.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#if defined(__aarch64__)
#define MULTIARCH "/usr/lib/aarch64-linux-gnu"
#else
#define MULTIARCH "/usr/lib/x86_64-linux-gnu"
#endif

static const char *const folders[] = { MULTIARCH, "/usr/lib64", "/usr/lib", "/usr/local/lib64", "/usr/local/lib" };
/* %d = major version */
static const char *const own_folders[] = { "/usr/lib/llvm-%d/lib", "/usr/lib64/llvm%d/lib", "/usr/lib/llvm/%d/lib64",
                                           "/opt/homebrew/opt/llvm@%d/lib", "/usr/local/opt/llvm@%d/lib" };
/* Names in distributions: LLVM's own from 18 on, Debian's, LLVM's own before 18. The minor version is 1 from 18 on. */
static const char *const names[] = { "libLLVM.so.%d.1", "libLLVM-%d.so.1", "libLLVM-%d.so", "libLLVM.so.%d",
                                     "libLLVM.dylib" };

#ifndef WEFT_LIB_FOLDER
#define WEFT_LIB_FOLDER "../lib/"
#endif
/* Where the small LLVM is that tools/make_llvm links: in the folder of this code, in the Python package weft_llvm, which
 * stands beside the package weft, and in the folder of libraries beside an installed tool's. They begin at the folder of
 * this code. */
static const char *const small_folders[] = { "", "../weft_llvm/", WEFT_LIB_FOLDER };

static bool listed(const wf__llvm_list *list, const struct stat *st)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].device == (uint64_t)st->st_dev && list->at[i].inode == (uint64_t)st->st_ino)
            return true;
    return false;
}

/* Appends the file at `path`, if it exists and is not in the list. false = out of memory. */
static bool add_file(wf__llvm_list *list, const char *path, int major)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || listed(list, &st))
        return true;
    if (!wf__grow(&list->at, &list->cap, list->n + 1, sizeof *list->at))
        return false;
    char *copy = wf__strdup(path);
    if (!copy)
        return false;
    list->at[list->n++] = (wf__llvm_library){
        .path = copy,
        .major = major,
        .size = (uint64_t)st.st_size,
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        .device = (uint64_t)st.st_dev,
        .inode = (uint64_t)st.st_ino,
    };
    return true;
}

static bool add_folder(wf__llvm_list *list, const char *folder, int major, uint32_t most)
{
    for (size_t i = 0; list->n < most && i < WF__COUNT(names); i++) {
        char path[PATH_MAX], name[64];
        bool versioned = strchr(names[i], '%') != NULL;
        if (!versioned && !strstr(folder, "llvm"))
            continue; /* a name without a version */
        snprintf(name, sizeof name, names[i], major);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (!add_file(list, path, major))
            return false;
    }
    return true;
}

/* Returns the major version in a file's name: 19 for "libLLVM-19.so" and "libLLVM.so.19.1"; 0 = unknown. */
static int major_of(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    int major = 0;
    for (; *name; name++)
        if (*name >= '0' && *name <= '9') {
            major = atoi(name);
            break;
        }
    return major;
}

/* Versions in the order of preference: of the tested versions, 19 compiles fastest. */
static const uint8_t majors[] = { 19, 20, 21, 22, 18, 17, 16, 15 };

/* Sets which of small_folders exist: each would be asked for all versions. `own`: the folder of this code, "" = unknown. */
static void find_small_folders(const char *own, bool there[WF__COUNT(small_folders)])
{
    for (size_t i = 0; i < WF__COUNT(small_folders); i++) {
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s%s", own, small_folders[i]);
        there[i] = *own && stat(path, &st) == 0;
    }
}

/* Appends the small LLVM of one version, if it is there. */
static bool add_small(wf__llvm_list *list, const char *own, const bool *there, int major, uint32_t most)
{
    bool ok = true;
    for (size_t i = 0; ok && list->n < most && i < WF__COUNT(small_folders); i++) {
        char path[PATH_MAX];
        if (!there[i])
            continue;
        snprintf(path, sizeof path, "%s%slibweft_llvm.so.%d", own, small_folders[i], major);
        ok = add_file(list, path, major);
    }
    return ok;
}

/* Appends the other libraries of one version, until the list is full. */
static bool add_version(wf__llvm_list *list, int major, uint32_t most)
{
    bool ok = true;
    for (size_t i = 0; ok && list->n < most && i < WF__COUNT(folders); i++)
        ok = add_folder(list, folders[i], major, most);
    for (size_t i = 0; ok && list->n < most && i < WF__COUNT(own_folders); i++) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, own_folders[i], major);
        ok = add_folder(list, folder, major, most);
    }
    return ok;
}

/* Returns the version if `text` is a number such as "19", else 0. */
static int version_named(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && major <= WF__LLVM_MAX ? (int)major : 0;
}

bool wf__llvm_find(wf__llvm_list *out, uint32_t most)
{
    wf__llvm_list list = { 0 };
    wf__str own = { 0 };
    const char *forced = wf__getenv("WEFT_LLVM");
    wf__dl_own_folder(&own);
    bool ok = !own.failed, there[WF__COUNT(small_folders)];
    find_small_folders(wf__str_get(&own), there);
    if (forced) {
        char real[PATH_MAX];
        int major = version_named(forced);
        if (major >= WF__LLVM_MIN)
            ok = ok && add_small(&list, wf__str_get(&own), there, major, most) && add_version(&list, major, most);
        else if (strcmp(forced, "none") != 0)
            ok = ok && add_file(&list, forced, major_of(realpath(forced, real) ? real : forced));
    } else {
        for (size_t i = 0; ok && list.n < most && i < WF__COUNT(majors); i++)
            ok = add_small(&list, wf__str_get(&own), there, majors[i], most);
        for (size_t i = 0; ok && list.n < most && i < WF__COUNT(majors); i++)
            ok = add_version(&list, majors[i], most);
    }
    wf__str_free(&own);
    if (!ok) {
        wf__llvm_list_free(&list);
        return false;
    }
    *out = list;
    return true;
}

void wf__llvm_list_free(wf__llvm_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        wf__free(list->at[i].path);
    wf__free(list->at);
    *list = (wf__llvm_list){ 0 };
}

const char *wf__llvm_missing(char *text, size_t cap)
{
    struct stat st;
    const char *forced = wf__getenv("WEFT_LLVM");
    if (!forced)
        return "no LLVM library (15 to 22) was found; install one (Debian, Ubuntu: libllvm19; Python: weft-llvm) or set WEFT_LLVM";
    if (strcmp(forced, "none") == 0)
        return "WEFT_LLVM is none";
    if (strspn(forced, "0123456789") == strlen(forced) && stat(forced, &st)) {
        bool known = version_named(forced) >= WF__LLVM_MIN;
        snprintf(text, cap, "WEFT_LLVM is %s, %s", forced,
                 known ? "and no library of that version was found" : "but a version must be from 15 to 22");
        return text;
    }
    const char *what = stat(forced, &st)     ? "which is not there or cannot be reached"
                       : S_ISDIR(st.st_mode) ? "a folder, not an LLVM library"
                                             : "which is no LLVM library";
    snprintf(text, cap, "WEFT_LLVM names %s, %s", forced, what);
    return text;
}
