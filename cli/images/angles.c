/* angles.c - directions of images: lists of lines, and the columns of STAR files. */
#include "views.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads up to `most` numbers between blanks. Returns how many the line has; -1: something else stands in it. */
static int read_numbers(const char *line, const char *end, double *out, int most)
{
    int n = 0;
    while (line < end && n <= most) {
        while (line < end && isspace((unsigned char)*line))
            line++;
        if (line == end)
            break;
        char *after;
        double x = strtod(line, &after);
        if (after == line || after > end || n == most || !isfinite(x))
            return -1;
        out[n++] = x;
        line = after;
    }
    return n;
}

int read_directions(const char *path, direction **out, int64_t *n)
{
    char *owned = NULL;
    const char *line = NULL;
    int64_t room = 1;
    int result = read_text(path, &owned, &line);
    for (const char *c = line; result == EXIT_OK && *c; c++)
        room += *c == '\n';
    *n = 0;
    *out = result == EXIT_OK ? allocate((size_t)room, sizeof **out) : NULL;
    for (int number = 1; result == EXIT_OK && *line; number++) {
        const char *end = line + strcspn(line, "\n");
        double x[6];
        int count = *line == '#' ? 0 : read_numbers(line, end, x, 6);
        if (count && ((count != 4 && count != 6) || x[0] < 0 || x[0] != floor(x[0])))
            result = failed("%s: line %d: give the number of an image, three angles and, perhaps, a shift y x", path,
                            number);
        else if (count)
            (*out)[(*n)++] = (direction){ .line = number,
                                          .image = x[0],
                                          .angle = { x[1], x[2], x[3] },
                                          .shift = { count == 6 ? x[4] : 0, count == 6 ? x[5] : 0 } };
        line = *end ? end + 1 : end;
    }
    free(owned);
    return result != EXIT_OK || *n ? result : failed("%s: no angles", path);
}

/* Sets a number of each row, of which `first` is that of the first one, to a column times `factor`. A table without the
 * column leaves it. False: the context has the error. */
static bool take_column(const wf_star *s, int table, const char *column, double factor, double *first)
{
    const int64_t n = wf_star_rows(s, table);
    if (!wf_star_has(s, table, column))
        return true;
    double *values = allocate((size_t)n + 1, sizeof *values);
    wf_array *array = wf_star_values(s, table, column, WF_F64);
    bool ok = array && wf_download(array, values, (size_t)n * sizeof *values) == WF_OK;
    for (int64_t i = 0; i < n && ok; i++)
        *(double *)((char *)first + (size_t)i * sizeof(direction)) = values[i] * factor;
    wf_release(array);
    free(values);
    return ok;
}

int read_star_directions(job *j, const char *path, double pixel, direction **out, int64_t *n)
{
    wf_star *s = wf_star_load(j->ctx, path);
    int table = -1;
    *out = NULL;
    *n = 0;
    for (int t = 0; s && t < wf_star_tables(s) && table < 0; t++)
        if (wf_star_has(s, t, "rlnAngleRot") && wf_star_has(s, t, "rlnAngleTilt") && wf_star_has(s, t, "rlnAnglePsi"))
            table = t;
    int result = s ? EXIT_OK : failed_in(j->ctx);
    if (s && table < 0)
        result = failed("%s: no table has rlnAngleRot, rlnAngleTilt and rlnAnglePsi", path);
    else if (s && wf_star_has(s, table, "rlnOriginXAngst") && !(pixel > 0))
        result = failed("%s: rlnOriginXAngst is in Angstrom, and the pixel size of the volume is unknown; --pixel "
                        "gives it",
                        path);
    else if (s && !wf_star_rows(s, table))
        result = failed("%s: no angles", path);
    if (result == EXIT_OK) {
        *n = wf_star_rows(s, table);
        direction *rows = *out = allocate((size_t)*n, sizeof *rows);
        bool ok = take_column(s, table, "rlnAngleRot", 1, &rows->angle[0]) &&
                  take_column(s, table, "rlnAngleTilt", 1, &rows->angle[1]) &&
                  take_column(s, table, "rlnAnglePsi", 1, &rows->angle[2]) &&
                  take_column(s, table, "rlnOriginY", -1, &rows->shift[0]) &&
                  take_column(s, table, "rlnOriginX", -1, &rows->shift[1]) &&
                  take_column(s, table, "rlnOriginYAngst", -1 / pixel, &rows->shift[0]) &&
                  take_column(s, table, "rlnOriginXAngst", -1 / pixel, &rows->shift[1]);
        result = ok ? EXIT_OK : failed_in(j->ctx);
    }
    for (int64_t i = 0; i < *n && result == EXIT_OK; i++) {
        const direction *d = *out + i;
        if (!isfinite(d->angle[0] + d->angle[1] + d->angle[2] + d->shift[0] + d->shift[1]))
            result = failed("%s: row %lld: an angle or an origin is unknown", path, (long long)i + 1);
    }
    wf_star_free(s);
    return result;
}
