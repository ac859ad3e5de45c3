/* each_items.c - lists of files, and the names of results that are made of them. */
#include "each.h"
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool names_paths(const char *value)
{
    struct stat info;
    return value[0] == '@' || (strpbrk(value, "*?[") && stat(value, &info) != 0);
}

/* `value` is "@" and the name of a file. */
static int read_lines(const command *self, const char *value, list *out)
{
    const char *path = value + 1;
    if (!*path)
        return misused(self, "@: the name of a file with a path on each line follows");
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f)
        return failed("%s: cannot open: %s", value, strerror(errno));
    char *text;
    int result = read_stream(f, value, SIZE_MAX / 2, &out->text, &text);
    if (!standard)
        fclose(f);
    if (result != EXIT_OK)
        return result;
    size_t lines = 1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    out->path = allocate(lines, sizeof *out->path);
    for (char *line = strtok(text, "\r\n"); line; line = strtok(NULL, "\r\n")) /* empty lines are none */
        out->path[out->count++] = line;
    return out->count ? EXIT_OK : failed("%s: no paths", value);
}

static int expand(const char *argument, const char *pattern, list *out)
{
    glob_t found;
    int result = glob(pattern, GLOB_ERR, NULL, &found);
    if (result == GLOB_NOMATCH)
        return failed("%s: no file has such a name", argument);
    if (result != 0)
        return failed("%s: cannot read the folder", argument);
    out->path = allocate(found.gl_pathc, sizeof *out->path);
    for (; out->count < found.gl_pathc; out->count++)
        out->path[out->count] = append(NULL, "%s", found.gl_pathv[out->count]);
    globfree(&found);
    return EXIT_OK;
}

int read_paths(const command *self, const char *text, const char *value, list *out)
{
    *out = (list){ 0 };
    return value[0] == '@' ? read_lines(self, value, out) : expand(text, value, out);
}

void free_paths(list *l)
{
    for (size_t i = 0; !l->text && i < l->count; i++)
        free(l->path[i]);
    free(l->path);
    free(l->text);
}

/* ---- names of results ---- */

/* Where the extension of a file name begins, with its point; of "a.mrc.gz" ".mrc.gz". At the end if there is none. */
static const char *extension(const char *name)
{
    const char *end = name + strlen(name), *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return end;
    if (strcmp(dot, ".gz") == 0) {
        const char *before = dot;
        while (before > name && before[-1] != '.')
            before--;
        if (before - 1 > name)
            return before - 1;
    }
    return dot;
}

char *fill_pattern(const command *self, const char *pattern, const char *path, size_t number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *ext = extension(name);
    char *out = append(NULL, "%s", "");
    for (const char *at = pattern; *at;) {
        size_t plain = strcspn(at, "{}"), word = at[plain] ? strcspn(at + plain, "}") : 0;
        out = append(out, "%.*s", (int)plain, at);
        at += plain;
        if (!*at)
            break;
        if (at[0] == at[1]) { /* {{ and }} stand for braces */
            out = append(out, "%c", *at);
            at += 2;
        } else if (strncmp(at, "{name}", 6) == 0) {
            out = append(out, "%.*s", (int)(ext - name), name);
            at += 6;
        } else if (strncmp(at, "{ext}", 5) == 0) {
            out = append(out, "%s", *ext ? ext + 1 : "");
            at += 5;
        } else if (strncmp(at, "{dir}", 5) == 0) {
            out = append(out, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
            at += 5;
        } else if (strncmp(at, "{number}", 8) == 0) {
            out = append(out, "%zu", number);
            at += 8;
        } else {
            misused(self, "-o %s: '%.*s': there are {name}, {ext}, {dir} and {number}; {{ is a brace", pattern,
                    (int)word + 1, at);
            free(out);
            return NULL;
        }
    }
    return out;
}
