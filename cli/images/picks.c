/* picks.c - the places of particles in STAR files. */
#include "picks.h"
#include "weft/star.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FARTHEST = 1e9; /* from the origin of a micrograph, in pixels */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void free_picks(picks *p)
{
    wf_star_free(p->from);
    free(p->at);
    free(p->row);
}

/* The first table with coordinates; -1: none. */
static int find_coordinates(const wf_star *s)
{
    for (int t = 0; t < wf_star_tables(s); t++)
        if (wf_star_has(s, t, "rlnCoordinateX") && wf_star_has(s, t, "rlnCoordinateY"))
            return t;
    return -1;
}

/* Sets places d of all rows to the values of a column. */
static bool read_column(const wf_star *s, int table, const char *column, int d, picks *all)
{
    double *values = allocate((size_t)all->n + 1, sizeof *values);
    wf_array *array = wf_star_values(s, table, column, WF_F64);
    bool ok = array && wf_download(array, values, (size_t)all->n * sizeof *values) == WF_OK;
    for (int64_t i = 0; i < all->n; i++)
        all->at[3 * i + d] = values[i];
    wf_release(array);
    free(values);
    return ok;
}

/* Keeps the rows of the micrograph. */
static int keep_rows(const wf_star *s, int table, const char *path, const char *micrograph, picks *p)
{
    static const char by[] = "rlnMicrographName";
    const char *const *name = wf_star_has(s, table, by) ? wf_star_texts(s, table, by) : NULL;
    int64_t rows = p->n, same = 0;
    while (name && same < rows && strcmp(name[same], name[0]) == 0)
        same++;
    if (same == rows)
        name = NULL; /* there is nothing to choose */
    p->n = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double *at = p->at + 3 * i;
        if (name && strcmp(last_part(name[i]), last_part(micrograph)) != 0)
            continue;
        if (!(fabs(at[0]) < FARTHEST && fabs(at[1]) < FARTHEST))
            return failed("%s: row %lld has the coordinates %g %g (y x)", path, (long long)i, at[0], at[1]);
        p->row[p->n] = i;
        memmove(p->at + 3 * p->n++, at, 3 * sizeof *at);
    }
    return p->n ? EXIT_OK
                : failed("%s: no particle%s%s", path, name ? " has the rlnMicrographName " : "",
                         name ? last_part(micrograph) : "");
}

int read_picks(wf_context *ctx, const char *path, const char *micrograph, picks *out)
{
    static const char score[] = "rlnAutopickFigureOfMerit";
    wf_star *s = wf_star_load(ctx, path);
    int table = s ? find_coordinates(s) : -1, result = EXIT_FAILED;
    out->from = s;
    out->table = table;
    if (s && table < 0)
        failed("%s: no table has rlnCoordinateX and rlnCoordinateY", path);
    if (table >= 0) {
        out->n = wf_star_rows(s, table);
        out->at = allocate((size_t)out->n * 3 + 1, sizeof *out->at);
        out->row = allocate((size_t)out->n + 1, sizeof *out->row);
        out->scored = wf_star_has(s, table, score);
        if (read_column(s, table, "rlnCoordinateY", 0, out) && read_column(s, table, "rlnCoordinateX", 1, out) &&
            (!out->scored || read_column(s, table, score, 2, out)))
            result = keep_rows(s, table, path, micrograph, out);
    }
    if (wf_last_status(ctx) != WF_OK)
        return failed_in(ctx);
    return result;
}

/* Sets a column to places d of the picks. */
static bool set_numbers(wf_context *ctx, wf_star *s, int table, const char *column, const picks *p, int d)
{
    double *values = allocate((size_t)p->n + 1, sizeof *values);
    wf_array *array = wf_empty(ctx, WF_F64, WF_SHAPE(p->n));
    for (int64_t i = 0; i < p->n; i++)
        values[i] = p->at[3 * i + d];
    bool ok = array && wf_upload(array, values, (size_t)p->n * sizeof *values) == WF_OK &&
              wf_star_set(s, table, column, array) == WF_OK;
    wf_release(array);
    free(values);
    return ok;
}

/* Sets a column to one text, or with `number` to NNNNNN@text, from 1. */
static bool set_text(wf_star *s, int table, const char *column, int64_t rows, const char *text, bool number)
{
    char **all = allocate((size_t)rows + 1, sizeof *all);
    for (int64_t i = 0; i < rows; i++)
        all[i] = number ? append(NULL, "%06lld@%s", (long long)i + 1, text) : append(NULL, "%s", text);
    bool ok = wf_star_set_texts(s, table, column, (const char *const *)all) == WF_OK;
    for (int64_t i = 0; i < rows; i++)
        free(all[i]);
    free(all);
    return ok;
}

/* Copies columns of a table to one of `rows` rows: row[i] of them, or all rows if that is NULL. Columns that are in `but`
 * are left out. */
static bool copy_columns(const wf_star *from, int table, const int64_t *row, int64_t rows, const char *const *but,
                         wf_star *to, int into)
{
    const char **text = allocate((size_t)rows + 1, sizeof *text);
    bool ok = true;
    for (int c = 0; c < wf_star_columns(from, table) && ok; c++) {
        const char *name = wf_star_column(from, table, c);
        const char *const *all = wf_star_texts(from, table, name);
        bool out = false;
        for (const char *const *b = but; *b; b++)
            out = out || strcmp(*b, name) == 0;
        for (int64_t i = 0; i < rows && all; i++)
            text[i] = all[row ? row[i] : i];
        ok = all && (out || wf_star_set_texts(to, into, name, text) == WF_OK);
    }
    free(text);
    return ok;
}

/* Adds the table of optics groups: that of the file that the places come from, or one group. Sets *groups if there is one. */
static bool add_optics(wf_star *s, const picks *p, const char *stack, long box, double pixel, bool *groups)
{
    static const char *const images[] = { "rlnImagePixelSize", "rlnImageSize", "rlnImageDimensionality", NULL };
    static const char *const none[] = { NULL };
    static const char micrograph[] = "rlnMicrographPixelSize";
    const int old = p->from ? wf_star_find(p->from, "optics") : -1;
    char size[32], angstrom[NUMBER_CAP];
    const char *of_images = pixel > 0 ? real_text(pixel, 9, angstrom) : NULL;
    *groups = old >= 0 || pixel > 0;
    if (!*groups)
        return true;
    const int64_t rows = old >= 0 ? wf_star_rows(p->from, old) : 1;
    int t = wf_star_add(s, "optics", rows);
    snprintf(size, sizeof size, "%ld", box);
    if (t < 0 || (old >= 0 && !copy_columns(p->from, old, NULL, rows, stack ? images : none, s, t)))
        return false;
    if (old < 0 && !(set_text(s, t, "rlnOpticsGroupName", 1, "opticsGroup1", false) &&
                     set_text(s, t, "rlnOpticsGroup", 1, "1", false)))
        return false;
    if (!wf_star_has(s, t, micrograph) && of_images && !set_text(s, t, micrograph, rows, of_images, false))
        return false;
    if (!stack)
        return true;
    bool ok = !of_images || set_text(s, t, images[0], rows, of_images, false);
    if (!of_images && old >= 0 && wf_star_has(p->from, old, micrograph))
        ok = wf_star_set_texts(s, t, images[0], wf_star_texts(p->from, old, micrograph)) == WF_OK;
    return ok && set_text(s, t, images[1], rows, size, false) && set_text(s, t, images[2], rows, "2", false);
}

/* Adds what the places are known by, as columns of table t. */
static bool set_places(wf_context *ctx, wf_star *s, int t, const picks *p, const char *stack)
{
    const char *but[] = { stack ? "rlnImageName" : NULL, NULL };
    if (p->from)
        return copy_columns(p->from, p->table, p->row, p->n, but, s, t);
    return set_numbers(ctx, s, t, "rlnCoordinateX", p, 1) && set_numbers(ctx, s, t, "rlnCoordinateY", p, 0) &&
           (!p->scored || set_numbers(ctx, s, t, "rlnAutopickFigureOfMerit", p, 2));
}

int write_picks(wf_context *ctx, const char *path, const picks *p, const char *micrograph, const char *stack, long box,
                double pixel)
{
    wf_star *s = wf_star_new(ctx);
    bool groups = false, ok = s && add_optics(s, p, stack, box, pixel, &groups);
    int t = ok ? wf_star_add(s, "particles", p->n) : -1;
    ok = t >= 0 && set_places(ctx, s, t, p, stack) &&
         (wf_star_has(s, t, "rlnMicrographName") || set_text(s, t, "rlnMicrographName", p->n, micrograph, false)) &&
         (!stack || set_text(s, t, "rlnImageName", p->n, stack, true)) &&
         (!groups || wf_star_has(s, t, "rlnOpticsGroup") || set_text(s, t, "rlnOpticsGroup", p->n, "1", false)) &&
         wf_star_save(s, path) == WF_OK;
    wf_star_free(s);
    return ok ? EXIT_OK : failed_in(ctx);
}
