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
    int table = find_coordinates(s), result = EXIT_FAILED;
    if (s && table < 0)
        failed("%s: no table has rlnCoordinateX and rlnCoordinateY", path);
    if (table >= 0) {
        out->n = wf_star_rows(s, table);
        out->at = allocate((size_t)out->n * 3 + 1, sizeof *out->at);
        out->scored = wf_star_has(s, table, score);
        if (read_column(s, table, "rlnCoordinateY", 0, out) && read_column(s, table, "rlnCoordinateX", 1, out) &&
            (!out->scored || read_column(s, table, score, 2, out)))
            result = keep_rows(s, table, path, micrograph, out);
    }
    wf_star_free(s);
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

static bool add_optics(wf_star *s, const char *stack, long box, double pixel)
{
    char size[32], angstrom[NUMBER_CAP];
    int t = wf_star_add(s, "optics", 1);
    snprintf(size, sizeof size, "%ld", box);
    return t >= 0 && set_text(s, t, "rlnOpticsGroupName", 1, "opticsGroup1", false) &&
           set_text(s, t, "rlnOpticsGroup", 1, "1", false) &&
           set_text(s, t, stack ? "rlnImagePixelSize" : "rlnMicrographPixelSize", 1, real_text(pixel, 9, angstrom),
                    false) &&
           (!stack || (set_text(s, t, "rlnImageSize", 1, size, false) &&
                       set_text(s, t, "rlnImageDimensionality", 1, "2", false)));
}

int write_picks(wf_context *ctx, const char *path, const picks *p, const char *micrograph, const char *stack, long box,
                double pixel)
{
    wf_star *s = wf_star_new(ctx);
    bool ok = s && (!(pixel > 0) || add_optics(s, stack, box, pixel));
    int t = ok ? wf_star_add(s, "particles", p->n) : -1;
    ok = t >= 0 && set_numbers(ctx, s, t, "rlnCoordinateX", p, 1) && set_numbers(ctx, s, t, "rlnCoordinateY", p, 0) &&
         (!p->scored || set_numbers(ctx, s, t, "rlnAutopickFigureOfMerit", p, 2)) &&
         set_text(s, t, "rlnMicrographName", p->n, micrograph, false) &&
         (!stack || set_text(s, t, "rlnImageName", p->n, stack, true)) &&
         (!(pixel > 0) || set_text(s, t, "rlnOpticsGroup", p->n, "1", false)) && wf_star_save(s, path) == WF_OK;
    wf_star_free(s);
    return ok ? EXIT_OK : failed_in(ctx);
}
