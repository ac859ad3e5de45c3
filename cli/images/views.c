/* views.c - images of particles with their directions, from lists of angles and from STAR files. */
#include "views.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_room(views *v, int64_t n)
{
    v->image = allocate((size_t)n, sizeof *v->image);
    v->matrix = allocate((size_t)n * 9, sizeof *v->matrix);
    v->shift = allocate((size_t)n * 2, sizeof *v->shift);
    v->file = allocate((size_t)n, sizeof *v->file);
}

void free_views(views *v)
{
    wf_file_free(v->open);
    wf_star_free(v->star);
    free(v->image);
    free(v->matrix);
    free(v->shift);
    free(v->ctf);
    free(v->file);
    *v = (views){ .n = 0 };
}

/* Adds the direction of an image whose volume is turned by these angles. */
static int add_view(const job *j, views *v, wf_euler order, const double angles[3], const double shift[2])
{
    double turn[9]; /* of the volume; its inverse takes an image's positions to the volume's */
    if (!euler_matrix(j->ctx, order, angles, turn))
        return failed_in(j->ctx);
    for (int k = 0; k < 9; k++)
        v->matrix[9 * v->n + k] = turn[k % 3 * 3 + k / 3];
    memcpy(v->shift + 2 * v->n, shift, 2 * sizeof *shift);
    v->n++;
    return EXIT_OK;
}

/* ---- images ---- */

/* The path of a file that a STAR file names, which is relative to the working directory, the folder of the STAR file or a
 * folder above it. Returns the first of them that is there, or the name itself; the caller frees it. */
static char *path_of(const views *v, const char *name)
{
    char *path = append(NULL, "%s", name);
    char *folder = v->star && *name != '/' && access(name, F_OK) != 0 ? realpath(v->source, NULL) : NULL;
    for (char *slash; folder && (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        char *other = append(NULL, "%s/%s", folder, name);
        if (access(other, F_OK) == 0) {
            free(path);
            path = other;
            break;
        }
        free(other);
    }
    free(folder);
    return path;
}

/* Opens a stack; `about`, if it is wanted, gets the facts of the file. */
static int open_stack(job *j, views *v, const char *name, image *about)
{
    wf_shape s;
    image one;
    char *path = path_of(v, name);
    wf_file_free(v->open);
    v->open = NULL;
    int result = job_open_movie(j, path, NULL, &one, &v->open, NULL, &s);
    if (result == EXIT_OK && s.dim[s.rank - 1] != s.dim[s.rank - 2])
        result = failed("%s: images of %lld x %lld pixels; give square ones", path, (long long)s.dim[s.rank - 2],
                        (long long)s.dim[s.rank - 1]);
    if (result == EXIT_OK && v->size && s.dim[s.rank - 1] != v->size)
        result = failed("%s: images of %lld pixels a side; those before have %lld", path, (long long)s.dim[s.rank - 1],
                        (long long)v->size);
    free(path);
    if (result != EXIT_OK)
        return result;
    v->name = name;
    v->images = s.rank == 3 ? s.dim[0] : 1;
    v->size = s.dim[s.rank - 1];
    if (about) {
        *about = one;
        about->path = name;
    }
    return EXIT_OK;
}

/* Sets `to` [count, n, n] to images, from `number` on, of the file that is open. */
static bool load_run(const views *v, int64_t number, int64_t count, wf_array *to)
{
    wf_array *part = v->images == 1 ? wf_file_read(v->open, WF_SHAPE(0, 0), WF_SHAPE(v->size, v->size))
                                    : wf_file_read(v->open, WF_SHAPE(number, 0, 0), WF_SHAPE(count, v->size, v->size));
    bool ok = part && wf_array_assign(to, part) == WF_OK;
    wf_release(part);
    return ok;
}

wf_array *load_views(job *j, views *v, int64_t first, int64_t count)
{
    wf_array *all = wf_empty(j->ctx, WF_F32, WF_SHAPE(count, v->size, v->size));
    int result = all ? EXIT_OK : failed_in(j->ctx);
    for (int64_t i = first, n; i < first + count && result == EXIT_OK; i += n) {
        n = 1; /* images that lie one after another are read at once */
        while (i + n < first + count && v->file[i + n] == v->file[i] && v->image[i + n] == v->image[i] + n)
            n++;
        if (!v->open || strcmp(v->name, v->file[i]) != 0)
            result = open_stack(j, v, v->file[i], NULL);
        if (result == EXIT_OK && v->image[i] + n > v->images)
            result = failed("%s: there are %lld images, and %s has image %lld of them", v->name, (long long)v->images,
                            v->source, (long long)(v->image[i] + n));
        wf_array *part = result == EXIT_OK ? wf_view_slice(all, 0, i - first, i - first + n, 1) : NULL;
        if (result == EXIT_OK && !(part && load_run(v, v->image[i], n, part)))
            result = failed_in(j->ctx);
        wf_release(part);
    }
    if (result == EXIT_OK)
        return all;
    wf_release(all);
    return NULL;
}

/* ---- lists ---- */

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

static int take_direction(const job *j, views *v, wf_euler order, const direction *d)
{
    if (d->image >= (double)v->images)
        return failed("%s: line %d: there are %lld images, counted from 0, and this is image %.0f", v->source, d->line,
                      (long long)v->images, d->image);
    if (v->n == v->images)
        return failed("%s: line %d: more lines than images", v->source, d->line);
    v->image[v->n] = (int64_t)d->image;
    v->file[v->n] = v->name;
    return add_view(j, v, order, d->angle, d->shift);
}

int read_list(job *j, const char *path, wf_euler order, const char *stack, views *v, image *out)
{
    direction *list = NULL;
    int64_t n = 0;
    *v = (views){ .source = path };
    int result = open_stack(j, v, stack, out);
    if (result == EXIT_OK)
        result = read_directions(path, &list, &n);
    if (result == EXIT_OK)
        make_room(v, v->images);
    for (int64_t i = 0; i < n && result == EXIT_OK; i++)
        result = take_direction(j, v, order, &list[i]);
    free(list);
    return result;
}

/* ---- STAR files ---- */

typedef struct particles { /* a table of a STAR file, and the optics groups of its rows */
    job *j;
    wf_star *star;
    int table, optics; /* -1: there is none */
    int64_t rows;
} particles;

static const char GROUP[] = "rlnOpticsGroup";

/* True if the rows have the column, themselves or by their optics groups. */
static bool has_column(const particles *p, const char *column)
{
    return wf_star_has(p->star, p->table, column) ||
           (p->optics >= 0 && wf_star_has(p->star, p->table, GROUP) && wf_star_has(p->star, p->optics, column));
}

/* Sets out[i * step] to each row's value of a column times `factor`. Rows without the column keep theirs. */
static int read_column(const particles *p, const char *column, double factor, double *out, int step)
{
    if (!has_column(p, column))
        return EXIT_OK;
    double *values = allocate((size_t)p->rows + 1, sizeof *values);
    wf_array *array = wf_star_has(p->star, p->table, column)
                          ? wf_star_values(p->star, p->table, column, WF_F64)
                          : wf_star_join(p->star, p->table, GROUP, p->optics, column, WF_F64);
    bool ok = array && wf_download(array, values, (size_t)p->rows * sizeof *values) == WF_OK;
    for (int64_t i = 0; i < p->rows && ok; i++)
        out[i * step] = values[i] * factor;
    wf_release(array);
    free(values);
    return ok ? EXIT_OK : failed_in(p->j->ctx);
}

typedef struct row {  /* what a row says */
    double angle[3];  /* rot, tilt, psi in degrees */
    double origin[2]; /* y, x, which move the particle to the centre: in pixels, */
    double moved[2];  /* and in Angstrom */
    double pixel;     /* Angstrom */
    double detector;  /* of a pixel, micrometres */
    double magnification, subset, premultiplied;
    double u, v; /* defoci in micrometres */
    double ctf[WF_CTF_MEMBERS];
} row;

static int read_rows(const particles *p, row *r)
{
    const struct {
        const char *column;
        double factor, *to;
    } columns[] = { { "rlnAngleRot", 1, &r->angle[0] },
                    { "rlnAngleTilt", 1, &r->angle[1] },
                    { "rlnAnglePsi", 1, &r->angle[2] },
                    { "rlnOriginY", 1, &r->origin[0] },
                    { "rlnOriginX", 1, &r->origin[1] },
                    { "rlnOriginYAngst", 1, &r->moved[0] },
                    { "rlnOriginXAngst", 1, &r->moved[1] },
                    { "rlnImagePixelSize", 1, &r->pixel },
                    { "rlnDetectorPixelSize", 1, &r->detector },
                    { "rlnMagnification", 1, &r->magnification },
                    { "rlnRandomSubset", 1, &r->subset },
                    { "rlnCtfDataAreCtfPremultiplied", 1, &r->premultiplied },
                    { "rlnDefocusU", 1e-4, &r->u },
                    { "rlnDefocusV", 1e-4, &r->v },
                    { "rlnVoltage", 1, &r->ctf[CTF_VOLTAGE] },
                    { "rlnSphericalAberration", 1, &r->ctf[CTF_CS] },
                    { "rlnAmplitudeContrast", 1, &r->ctf[CTF_AMPLITUDE] },
                    { "rlnDefocusAngle", PI / 180, &r->ctf[CTF_ANGLE] },
                    { "rlnPhaseShift", PI / 180, &r->ctf[CTF_PHASE_SHIFT] },
                    { "rlnCtfBfactor", -1, &r->ctf[CTF_BFACTOR] },
                    { "rlnCtfScalefactor", 1, &r->ctf[CTF_SCALE] } };
    int result = EXIT_OK;
    for (int64_t i = 0; i < p->rows; i++)
        r[i] = (row){ .ctf[CTF_SCALE] = 1 };
    for (size_t k = 0; k < sizeof columns / sizeof *columns && result == EXIT_OK; k++)
        result = read_column(p, columns[k].column, columns[k].factor, columns[k].to, sizeof *r / sizeof(double));
    for (int64_t i = 0; i < p->rows; i++) {
        r[i].ctf[CTF_DEFOCUS] = (r[i].u + r[i].v) / 2;
        r[i].ctf[CTF_ASTIGMATISM] = (r[i].u - r[i].v) / 2;
    }
    return result;
}

/* Shifts are where the particle lies; origins move it to the centre. */
static int read_rows_of_directions(const particles *p, double pixel, direction *to)
{
    const double angstrom = -1 / pixel;
    const struct {
        const char *column;
        double factor, *to;
    } columns[] = { { "rlnAngleRot", 1, &to->angle[0] },           { "rlnAngleTilt", 1, &to->angle[1] },
                    { "rlnAnglePsi", 1, &to->angle[2] },           { "rlnOriginY", -1, &to->shift[0] },
                    { "rlnOriginX", -1, &to->shift[1] },           { "rlnOriginYAngst", angstrom, &to->shift[0] },
                    { "rlnOriginXAngst", angstrom, &to->shift[1] } };
    int result = EXIT_OK;
    for (size_t k = 0; k < sizeof columns / sizeof *columns && result == EXIT_OK; k++)
        result = read_column(p, columns[k].column, columns[k].factor, columns[k].to, sizeof *to / sizeof(double));
    return result;
}

int read_star_directions(job *j, const char *path, double pixel, direction **out, int64_t *n)
{
    particles p = { .j = j, .star = wf_star_load(j->ctx, path), .table = -1 };
    *out = NULL;
    *n = 0;
    if (!p.star)
        return failed_in(j->ctx);
    p.optics = wf_star_find(p.star, "optics");
    for (int t = 0; t < wf_star_tables(p.star) && p.table < 0; t++)
        if (wf_star_has(p.star, t, "rlnAngleRot") && wf_star_has(p.star, t, "rlnAngleTilt") &&
            wf_star_has(p.star, t, "rlnAnglePsi"))
            p.table = t;
    int result = EXIT_OK;
    p.rows = p.table < 0 ? 0 : wf_star_rows(p.star, p.table);
    if (p.table < 0)
        result = failed("%s: no table has rlnAngleRot, rlnAngleTilt and rlnAnglePsi", path);
    else if (!p.rows)
        result = failed("%s: no angles", path);
    else if (has_column(&p, "rlnOriginXAngst") && !(pixel > 0))
        result = failed("%s: rlnOriginXAngst is in Angstrom, and the pixel size of the volume is unknown; --pixel "
                        "gives it",
                        path);
    if (result == EXIT_OK) {
        *out = allocate((size_t)p.rows, sizeof **out);
        *n = p.rows;
        result = read_rows_of_directions(&p, pixel, *out);
    }
    for (int64_t i = 0; i < *n && result == EXIT_OK; i++) {
        const direction *d = *out + i;
        if (!isfinite(d->angle[0] + d->angle[1] + d->angle[2] + d->shift[0] + d->shift[1]))
            result = failed("%s: row %lld: an angle or an origin is unknown", path, (long long)i + 1);
    }
    wf_star_free(p.star);
    return result;
}

/* The pixel size of all rows; 0: unknown. */
static int read_pixel(const particles *p, const row *r, views *v)
{
    bool old = !has_column(p, "rlnImagePixelSize") && has_column(p, "rlnMagnification");
    for (int64_t i = 0; i < p->rows; i++) {
        double pixel = old ? 1e4 * r[i].detector / r[i].magnification : r[i].pixel;
        if (i > 0 && !(fabs(pixel - v->pixel) <= 1e-6 * v->pixel))
            return failed("%s: particles of two pixel sizes, %g and %g Angstrom", v->source, v->pixel, pixel);
        v->pixel = pixel;
    }
    return EXIT_OK;
}

/* Columns whose absence or presence would make the volume wrong. */
static int check_columns(const particles *p, const views *v)
{
    static const char *const needed[] = { "rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi" };
    static const char *const optics[] = { "rlnDefocusV", "rlnVoltage", "rlnSphericalAberration",
                                          "rlnAmplitudeContrast" };
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
        if (!has_column(p, needed[k]))
            return failed("%s: the table with rlnImageName has no %s", v->source, needed[k]);
    for (size_t k = 0; k < sizeof optics / sizeof *optics && has_column(p, "rlnDefocusU"); k++)
        if (!has_column(p, optics[k]))
            return failed("%s: there is rlnDefocusU and no %s", v->source, optics[k]);
    return EXIT_OK;
}

/* True if a row's value of a column is another number than `neutral`, or a list with a number that is not 0. */
static bool matters(const particles *p, const char *column, double neutral)
{
    const int table = wf_star_has(p->star, p->table, column) ? p->table : p->optics;
    const char *const *text = has_column(p, column) ? wf_star_texts(p->star, table, column) : NULL;
    const int64_t rows = wf_star_rows(p->star, table);
    bool any = false;
    for (int64_t i = 0; text && i < rows; i++)
        any = any || (*text[i] == '[' ? strpbrk(text[i], "123456789") != NULL : atof(text[i]) != neutral);
    return any;
}

/* Names what the file says of its images and nothing here corrects. */
static void warn_of_rest(const particles *p, const views *v)
{
    static const struct {
        const char *column;
        double neutral;
    } rest[] = { { "rlnBeamTiltX", 0 }, { "rlnBeamTiltY", 0 }, { "rlnOddZernike", 0 }, { "rlnEvenZernike", 0 },
                 { "rlnMagMat00", 1 },  { "rlnMagMat01", 0 },  { "rlnMagMat10", 0 },   { "rlnMagMat11", 1 } };
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
        if (matters(p, rest[k].column, rest[k].neutral))
            fprintf(stderr, "weft: warning: %s: %s is not corrected\n", v->source, rest[k].column);
}

/* Reads "000012@stack.mrcs", counted from 1, or the name of a file with one image. */
static int read_name(const char *text, views *v)
{
    const char *at = strchr(text, '@');
    long number = 1;
    char *digits = append(NULL, "%.*s", at ? (int)(at - text) : 0, text);
    bool ok = !at || parse_int(digits, 1, 1 << 30, &number);
    free(digits);
    if (!ok)
        return failed("%s: rlnImageName %s: give the number of an image, from 1, and its file: 12@stack.mrcs",
                      v->source, text);
    v->image[v->n] = number - 1;
    v->file[v->n] = at ? at + 1 : text;
    if (v->n > 0 && strcmp(v->file[v->n], v->file[v->n - 1]) == 0)
        v->file[v->n] = v->file[v->n - 1]; /* one pointer for one file */
    return EXIT_OK;
}

static int take_row(const particles *p, const row *r, int64_t i, const char *name, views *v)
{
    double to_pixels = has_column(p, "rlnOriginXAngst") ? 1 / v->pixel : 0, shift[2];
    for (int d = 0; d < 2; d++)
        shift[d] = to_pixels > 0 ? -r->moved[d] * to_pixels : -r->origin[d];
    double sum = shift[0] + shift[1];
    for (int d = 0; d < 3; d++)
        sum += r->angle[d];
    for (int d = 0; d < WF_CTF_MEMBERS && v->ctf; d++)
        sum += v->ctf[v->n * WF_CTF_MEMBERS + d] = r->ctf[d];
    if (!isfinite(sum))
        return failed("%s: particle %lld, %s: an angle, an origin or a member of its CTF is unknown", v->source,
                      (long long)i + 1, name);
    for (int k = 0; k < OPTICS_LIMITS && v->ctf; k++) {
        const optics_limit *l = &optics_limits[k];
        double value = r->ctf[l->member];
        if (!(value >= l->least && value <= l->most))
            return failed("%s: particle %lld, %s: %s is %g, and must be from %g to %g", v->source, (long long)i + 1,
                          name, l->column, value, l->least, l->most);
    }
    int result = read_name(name, v);
    return result == EXIT_OK ? add_view(p->j, v, WF_EULER_RELION, r->angle, shift) : result;
}

static int take_rows(const particles *p, int subset, views *v)
{
    const char *const *name = wf_star_texts(p->star, p->table, "rlnImageName");
    row *r = allocate((size_t)p->rows + 1, sizeof *r);
    int result = name ? check_columns(p, v) : failed_in(p->j->ctx);
    if (result == EXIT_OK && subset && !has_column(p, "rlnRandomSubset"))
        result = failed("%s: there is no rlnRandomSubset", v->source);
    if (result == EXIT_OK)
        result = read_rows(p, r);
    if (result == EXIT_OK)
        result = read_pixel(p, r, v);
    if (result == EXIT_OK && !(v->pixel > 0) && has_column(p, "rlnOriginXAngst"))
        result = failed("%s: there is rlnOriginXAngst and no rlnImagePixelSize", v->source);
    make_room(v, p->rows + 1);
    if (has_column(p, "rlnDefocusU"))
        v->ctf = allocate((size_t)p->rows * WF_CTF_MEMBERS + 1, sizeof *v->ctf);
    for (int64_t i = 0; i < p->rows && result == EXIT_OK; i++) {
        bool multiplied = r[i].premultiplied != 0;
        if (subset && r[i].subset != subset)
            continue;
        if (v->n > 0 && multiplied != v->premultiplied)
            result = failed("%s: only some of the images are multiplied by their CTF", v->source);
        v->premultiplied = multiplied;
        if (result == EXIT_OK)
            result = take_row(p, &r[i], i, name[i], v);
    }
    free(r);
    if (result == EXIT_OK && !v->n)
        return failed(subset ? "%s: no particle has the rlnRandomSubset %d" : "%s: there are no particles", v->source,
                      subset);
    return result;
}

int read_particles(job *j, const char *path, int subset, views *v, image *out)
{
    *v = (views){ .source = path, .star = wf_star_load(j->ctx, path) };
    if (!v->star)
        return failed_in(j->ctx);
    particles p = { .j = j, .star = v->star, .table = -1, .optics = wf_star_find(v->star, "optics") };
    for (int t = 0; t < wf_star_tables(v->star) && p.table < 0; t++)
        if (wf_star_has(v->star, t, "rlnImageName"))
            p.table = t;
    if (p.table < 0)
        return failed("%s: no table has rlnImageName", path);
    p.rows = wf_star_rows(v->star, p.table);
    int result = take_rows(&p, subset, v);
    if (result == EXIT_OK)
        warn_of_rest(&p, v);
    if (result == EXIT_OK)
        result = open_stack(j, v, v->file[0], out);
    if (result == EXIT_OK && v->pixel > 0 && !(j->facts.spacing[0] > 0))
        for (int d = 0; d < 3; d++)
            out->pixel[d] = out->meta.spacing[d] = v->pixel;
    if (result == EXIT_OK)
        v->pixel = out->pixel[2];
    return result;
}
