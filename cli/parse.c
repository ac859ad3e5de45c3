/* parse.c - reads the values of options and operands: numbers, shapes, dtypes, files of text. */
#include "cli.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parse_real(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

number_kind parse_number(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end)
        return NUMBER_NONE;
    if (isinf(v) && !strpbrk(text, "iI"))
        return NUMBER_TOO_LARGE;
    *out = v;
    return NUMBER;
}

bool parse_two(const char *text, double *a, double *b)
{
    char *end, first[64];
    const char *comma = strchr(text, ',');
    if (!comma || (size_t)(comma - text) >= sizeof first)
        return false;
    memcpy(first, text, (size_t)(comma - text));
    first[comma - text] = 0;
    double u = strtod(first, &end);
    if (end == first || *end || !isfinite(u) || !parse_real(comma + 1, b))
        return false;
    *a = u;
    return true;
}

int parse_list(const char *text, double *out, int most)
{
    for (int n = 0; n < most; n++) {
        char *end;
        out[n] = strtod(text, &end);
        if (end == text || !isfinite(out[n]) || (*end && *end != ','))
            return 0;
        if (!*end)
            return n + 1;
        text = end + 1;
    }
    return 0;
}

bool parse_spacing(const char *text, double out[3])
{
    double v[3];
    int n = 0;
    for (const char *at = text;; at++) {
        char *end;
        if (n == 3)
            return false;
        v[n] = strtod(at, &end);
        if (end == at || !isfinite(v[n]) || v[n] <= 0 || (*end && *end != ','))
            return false;
        n++;
        at = end;
        if (!*at)
            break;
    }
    for (int d = 0; d < 3; d++)
        out[d] = n == 1 ? v[0] : d < 3 - n ? v[0] : v[d - (3 - n)];
    return true;
}

bool parse_shape(const char *text, wf_shape *out)
{
    wf_shape s = { .rank = 0 };
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || n < 1 || errno == ERANGE || s.rank == WF_MAX_RANK || (*end && *end != ','))
            return false;
        s.dim[s.rank++] = n;
        at = end;
        if (!*at)
            break;
    }
    *out = s;
    return true;
}

bool parse_count(const char *text, int64_t *out)
{
    wf_shape s;
    if (!parse_shape(text, &s) || s.rank != 1)
        return false;
    *out = s.dim[0];
    return true;
}

bool parse_bytes(const char *text, int64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    double bytes = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        bytes *= 1024;
    if (end == text || (*end && (!unit || end[1])) || !(bytes >= 1 && bytes < 0x1p63))
        return false;
    *out = (int64_t)bytes;
    return true;
}

wf_dtype parse_dtype(const char *text)
{
    for (int t = WF_BOOL; wf_dtype_size((wf_dtype)t); t++)
        if (strcmp(text, wf_dtype_name((wf_dtype)t)) == 0)
            return (wf_dtype)t;
    return WF_NONE;
}

wf_stored parse_stored(const char *text)
{
    for (int s = WF_STORED_DEFAULT + 1; wf_stored_name((wf_stored)s); s++)
        if (strcmp(text, wf_stored_name((wf_stored)s)) == 0)
            return (wf_stored)s;
    return WF_STORED_DEFAULT;
}

/* Reads an open file to its end, at most `most` bytes; *n: how many. The caller frees them, and a 0 comes after them. */
static char *read_to_end(FILE *f, size_t most, size_t *n)
{
    size_t cap = most < 1 << 16 ? most : 1 << 16, got;
    char *all = allocate(cap + 1, 1);
    *n = 0;
    while ((got = fread(all + *n, 1, cap - *n, f)) > 0) {
        *n += got;
        if (*n == cap && cap < most) {
            cap = cap < most / 2 ? 2 * cap : most;
            char *more = allocate(cap + 1, 1);
            memcpy(more, all, *n);
            free(all);
            all = more;
        }
    }
    return all;
}

int read_stream(FILE *f, const char *shown, size_t most, char **owned, char **text)
{
    size_t n;
    char *all = read_to_end(f, most, &n);
    *owned = all;
    *text = all + (strncmp(all, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0); /* a byte order mark */
    if (ferror(f))
        return failed("%s: cannot read: %s", shown, strerror(errno));
    if (!feof(f))
        return failed("%s: not a text of at most %zu bytes", shown, most);
    if (strlen(all) != n)
        return failed("%s: a NUL byte at offset %zu; a text is UTF-8", shown, strlen(all));
    return EXIT_OK;
}

int read_text(const char *path, char **owned, const char **text)
{
    enum { MAX_BYTES = 1 << 24 };
    FILE *f = fopen(path, "rb");
    if (!f)
        return failed("%s: cannot open: %s", path, strerror(errno));
    char *at;
    int result = read_stream(f, path, MAX_BYTES, owned, &at);
    *text = at;
    fclose(f);
    return result;
}
