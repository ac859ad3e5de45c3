/* output.c - whether a result can be written to a path, before the work begins. */
#include "cli.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The absolute path after all links, also of a file that does not exist yet. NULL if its folder does not exist. The
 * caller frees it. */
static char *whole_path(const char *path)
{
    enum { LINKS = 40 };
    char *at = append(NULL, "%s", path), *whole = NULL, target[PATH_MAX];
    for (int i = 0; i < LINKS; i++) {
        const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
        char *folder = slash ? append(NULL, "%.*s/", (int)(slash - at), at) : append(NULL, "."),
             *real = realpath(folder, NULL);
        free(folder);
        free(whole);
        whole = real ? append(NULL, "%s/%s", real, name) : NULL;
        ssize_t n = whole ? readlink(whole, target, sizeof target - 1) : -1;
        if (n > 0) {
            target[n] = 0;
            free(at);
            at = *target == '/' ? append(NULL, "%s", target) : append(NULL, "%s/%s", real, target);
        }
        free(real);
        if (n <= 0)
            break;
    }
    free(at);
    return whole;
}

bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    char *whole_a = whole_path(a), *whole_b = whole_path(b);
    bool same = strcmp(a, b) == 0 || (whole_a && whole_b && strcmp(whole_a, whole_b) == 0);
    free(whole_a);
    free(whole_b);
    return same;
}

/* The reason why wf_save would fail at this path, as far as file attributes tell; else NULL. Shortens the path. */
static const char *unwritable(char *whole)
{
    struct stat info;
    bool there = stat(whole, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return "this is a folder";
    if (there && !S_ISREG(info.st_mode))
        return "this is not a regular file";
    if (there && access(whole, W_OK) != 0)
        return "the file may not be written";
    strrchr(whole, '/')[1] = 0; /* wf_save makes a new file in the folder, then renames it */
    return access(whole, W_OK | X_OK) != 0 ? "the folder may not be written" : NULL;
}

int check_output(const arguments *a, wf_context *ctx, const char *path, wf_format only)
{
    wf_format format = WF_FORMAT_BY_NAME;
    if (strcmp(path, "-") == 0)
        return misused(a->command, "-o -: results go to files, not to standard output");
    wf_status status = wf_format_named(ctx, path, &format);
    if (only && format != only)
        return misused(a->command, "-o %s: the picture is a PNG; give a name that ends in .png", path);
    if (status != WF_OK)
        return misused(a->command, "-o %s", wf_last_message(ctx));
    char *whole = whole_path(path);
    if (!whole)
        return failed("-o %s: the folder does not exist, or cannot be entered", path);
    const char *problem = unwritable(whole);
    free(whole);
    return problem ? failed("-o %s: %s", path, problem) : EXIT_OK;
}

bool has_channels(wf_format format)
{
    switch (format) { /* no default: compilers find a missing format */
    case WF_FORMAT_PNG:
    case WF_FORMAT_TIFF:
        return true;
    case WF_FORMAT_BY_NAME:
    case WF_FORMAT_MRC:
    case WF_FORMAT_NPY:
        break;
    }
    return false;
}
