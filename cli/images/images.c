/* images.c - reads the command line and the files of the commands for images and volumes, and writes their results. */
#include "images.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int job_next(job *j)
{
    for (;;) {
        int o = next_argument(&j->a);
        const char *text = j->a.value;
        if (o == ARG_OPERAND && j->ins == j->most) {
            misused(j->a.command, "'%s': %s", text, j->most == 1 ? "one file at a time" : "too many files");
            return ARG_BAD;
        }
        if (o == ARG_OPERAND)
            j->in[j->ins++] = text;
        else if (o == IMAGE_OUT)
            j->out = text;
        else if (o >= IMAGE_FACT && o < IMAGE_OWN) {
            if (take_fact(j->a.command, &j->facts, o - IMAGE_FACT, text) != EXIT_OK)
                return ARG_BAD;
        } else
            return o;
    }
}

/* Facts that say how to read the input are no demands on the output. */
static int check_target(job *j)
{
    facts stored = { .store_as = j->facts.store_as,
                     .pyramid = j->facts.pyramid,
                     .coarsest = j->facts.coarsest,
                     .origin_axes = j->facts.origin_axes };
    int result = check_output(&j->a, j->ctx, j->out, 0);
    return result == EXIT_OK ? check_facts(j->a.command, j->ctx, &stored, j->out) : result;
}

int job_begin(job *j, int least, bool output)
{
    if (j->ins < least)
        return misused(j->a.command, j->ins ? "a second file is missing" : "no file");
    if (output && !j->out)
        return misused(j->a.command, "no output: -o FILE names the result");
    j->ctx = open_context(&j->a);
    if (!j->ctx)
        return EXIT_USAGE;
    return output ? check_target(j) : EXIT_OK;
}

int job_end(job *j, int result)
{
    progress_end();
    if (j->ctx)
        wf_context_free(j->ctx);
    return result;
}

/* Puts what the command line says in place of what the file says. */
static void apply_given(const job *j, image *out)
{
    apply_facts(&(facts){ .stack = j->facts.stack, .volume = j->facts.volume }, &out->meta);
    if (j->facts.spacing[0] > 0)
        set_spacing(&out->meta, j->facts.spacing);
    memcpy(out->pixel, out->meta.spacing, sizeof out->pixel);
}

int job_open_movie(job *j, const char *path, const wf_movie *how, image *out, wf_file **file, wf_dtype *dtype,
                   wf_shape *shape)
{
    *out = (image){ .meta = { .size = sizeof out->meta }, .path = path, .rank = 2 };
    *file = wf_movie_open(j->ctx, out->path, how, &out->meta, dtype, shape);
    if (!*file)
        return failed_in(j->ctx);
    apply_given(j, out);
    return EXIT_OK;
}

int job_load(job *j, int i, image *out) { return job_load_path(j, j->in[i], out); }

int refuse_channels(const char *path, wf_shape shape)
{
    char *extents = NULL, *index = NULL;
    const char *names[] = { "x", "y", "z" };
    for (int d = 0; d < shape.rank - 1; d++) {
        extents = append(extents, "%s%lld", d ? "," : "", (long long)shape.dim[d]);
        index = append(index, "%s, ", names[shape.rank - 2 - d]);
    }
    int result = failed("%s: the image has %lld channels, which are no axis in space. This takes the first one:\n"
                        "  weft calc 'a[%s0]' a='%s' --shape %s -o channel.mrc",
                        path, (long long)shape.dim[shape.rank - 1], index, path, extents);
    free(extents);
    free(index);
    return result;
}

int job_load_path(job *j, const char *path, image *out)
{
    *out = (image){ .meta = { .size = sizeof out->meta }, .path = path };
    progress_begin("reading");
    wf_array *a = wf_load(j->ctx, path, &out->meta);
    progress_begin("computing");
    if (!a)
        return failed_in(j->ctx);
    if (out->meta.extended_bytes)
        out->meta.extended_from = path;
    wf_shape shape = wf_array_shape(a);
    bool stack = (out->meta.is_stack || j->facts.stack) && !j->facts.volume;
    const char *problem = NULL;
    if (out->meta.channels) {
        wf_release(a);
        return refuse_channels(path, shape);
    }
    if (shape.rank < 2 || shape.rank > 4)
        problem = "images, stacks and volumes have 2 to 4 axes";
    else if (wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX)
        problem = "the values are complex; weft calc 'real(a)' or 'abs(a)' makes them real";
    else if (wf_array_count(a) == 0)
        problem = "the file has no values";
    out->data = problem ? NULL : to_floats(j->ctx, a);
    wf_release(a);
    if (problem)
        return failed("%s: %s", out->path, problem);
    if (!out->data)
        return failed_in(j->ctx);
    out->rank = image_rank(shape, stack);
    apply_given(j, out);
    return EXIT_OK;
}

int job_save(job *j, wf_array *result, const image *from)
{
    progress_begin("writing");
    wf_meta meta = from->meta;
    meta.store_as = j->facts.store_as;
    meta.pyramid = j->facts.pyramid;
    meta.coarsest = j->facts.coarsest;
    apply_origin(&j->facts, &meta);
    bool ok = result && wf_save(result, j->out, &meta) == WF_OK;
    wf_release(result);
    return ok ? EXIT_OK : failed_in(j->ctx);
}

void scale_spacing(image *i, int d, double factor)
{
    i->meta.spacing[3 - i->rank + d] *= factor;
    if (i->rank == 2 && d == 0)
        i->meta.spacing[0] *= factor; /* MRC files of images repeat that of y */
}

void move_origin(image *i, int d, double pixels)
{
    if (pixels == 0)
        return;
    i->meta.origin[3 - i->rank + d] += pixels * i->meta.spacing[3 - i->rank + d];
    memset(i->meta.extent, 0, sizeof i->meta.extent);
}

void drop_symmetry(image *i)
{
    memset(i->meta.extent, 0, sizeof i->meta.extent);
    i->meta.extended_from = NULL;
}

int same_shape(const image *a, const image *b)
{
    wf_shape s = wf_array_shape(a->data), t = wf_array_shape(b->data);
    char one[256], other[256];
    if (s.rank == t.rank && memcmp(s.dim, t.dim, (size_t)s.rank * sizeof *s.dim) == 0)
        return EXIT_OK;
    return failed("%s is %s and %s is %s", a->path, shape_text(s, one), b->path, shape_text(t, other));
}

int same_pixels(const image *a, const image *b)
{
    for (int d = 3 - (a->rank < b->rank ? a->rank : b->rank); d < 3; d++) {
        double p = a->pixel[d], q = b->pixel[d];
        if (p > 0 && q > 0 && fabs(p - q) > 0.01 * fmin(p, q))
            return failed("%s has pixels of %g Angstrom and %s of %g; weft bin --to A makes them equal, and --pixel A "
                          "says what both have",
                          a->path, p, b->path, q);
    }
    return EXIT_OK;
}

wf_axes image_axes(const wf_array *array, int rank)
{
    return ((1u << rank) - 1) << (wf_array_shape(array).rank - rank);
}

int64_t image_count(const wf_array *array, int rank)
{
    wf_shape s = wf_array_shape(array);
    int64_t n = 1;
    for (int d = 0; d < s.rank - rank; d++)
        n *= s.dim[d];
    return n;
}

wf_spectrum image_spectrum(const image *i)
{
    wf_shape s = wf_array_shape(i->data);
    wf_spectrum spectrum = { .layout = WF_LAYOUT_H, .dtype = WF_F32, .rank = i->rank };
    for (int d = 0; d < i->rank; d++)
        spectrum.size[d] = s.dim[s.rank - i->rank + d];
    return spectrum;
}

double pixel_along(const image *i, int d)
{
    double pixel = i->pixel[3 - i->rank + d];
    return pixel > 0 ? pixel : 1;
}

wf_val vector_length(wf_vals v)
{
    wf_val squares = wf_mul(v.at[0], v.at[0]);
    for (size_t d = 1; d < v.n; d++)
        squares = wf_add(squares, wf_mul(v.at[d], v.at[d]));
    return wf_sqrt(squares);
}

wf_val image_frequency(const image *i, wf_vals k)
{
    wf_val along[3];
    for (int d = 0; d < i->rank; d++)
        along[d] = wf_div(k.at[d], pixel_along(i, d));
    return vector_length((wf_vals){ along, (size_t)i->rank });
}

/* ---- numbers ---- */
bool in_angstrom(const char *text)
{
    size_t n = strlen(text);
    return n > 1 && text[n - 1] == 'A';
}

int parse_lengths(const char *text, const double *pixel, double *out, int most)
{
    bool angstrom = in_angstrom(text);
    char *numbers = append(NULL, "%.*s", (int)(strlen(text) - angstrom), text);
    int found = parse_list(numbers, out, most);
    free(numbers);
    for (int k = 0; k < found && angstrom; k++) {
        if (!(pixel[k] > 0))
            return 0;
        out[k] /= pixel[k];
    }
    return found;
}

bool even_pixels(const image *i, double most)
{
    double least = INFINITY, largest = 0;
    for (int d = 3 - i->rank; d < 3; d++) {
        least = fmin(least, i->pixel[d]);
        largest = fmax(largest, i->pixel[d]);
    }
    return !(largest > least * (1 + most));
}

int need_even_pixels(const image *i, const char *what)
{
    const double *p = i->pixel;
    if (even_pixels(i, 0.01))
        return EXIT_OK;
    char *sizes = i->rank == 2 ? append(NULL, "%g x %g", p[1], p[2]) : append(NULL, "%g x %g x %g", p[0], p[1], p[2]);
    int result = failed(
        "%s: pixels of %s Angstrom (%s): %s needs one size along all axes; weft bin --to A, with a small A, resamples",
        i->path, sizes, i->rank == 2 ? "y x" : "z y x", what);
    free(sizes);
    return result;
}

int parse_period(const job *j, const image *i, const char *name, const char *text, double *frequency)
{
    char *end;
    double period = strtod(text, &end), pixel = i->pixel[2];
    bool pixels = strcmp(end, "px") == 0;
    if (end == text || !(period > 0) || !isfinite(period) || (*end && !pixels))
        return misused(j->a.command, "--%s %s: give a resolution in Angstrom, as 20, or in pixels, as 8px", name, text);
    if (!pixels && !(pixel > 0))
        return misused(
            j->a.command,
            "--%s %s: the pixel size of %s is unknown; --pixel gives it, or the resolution is in pixels, as 8px", name,
            text, i->path);
    *frequency = pixels && pixel > 0 ? 1 / (period * pixel) : 1 / period;
    return EXIT_OK;
}

/* ---- a microscope ---- */
const optics_limit optics_limits[OPTICS_LIMITS] = { { "voltage", "rlnVoltage", CTF_VOLTAGE, 1, 3000 },
                                                    { "cs", "rlnSphericalAberration", CTF_CS, 0, 100 },
                                                    { "amplitude", "rlnAmplitudeContrast", CTF_AMPLITUDE, -1, 1 } };

int take_optics(const job *j, double ctf[WF_CTF_MEMBERS], int o, const char *text)
{
    if (o > 0) {
        const optics_limit *l = &optics_limits[o - 1];
        double *value = ctf + l->member;
        if (parse_real(text, value) && *value >= l->least && *value <= l->most)
            return EXIT_OK;
        return misused(j->a.command, "--%s %s: give a number from %g to %g", l->option, text, l->least, l->most);
    }
    double given[3] = { 0 };
    int n = parse_list(text, given, 3);
    if (n != 1 && n != 3)
        return misused(j->a.command, "--defocus %s: give micrometres, as 1.5 or 1.5,0.05,30", text);
    ctf[CTF_DEFOCUS] = given[0];
    ctf[CTF_ASTIGMATISM] = given[1];
    ctf[CTF_ANGLE] = given[2] * (PI / 180);
    return EXIT_OK;
}

/* ---- geometry ---- */
int take_interpolation(const job *j, wf_interp *how, int o, const char *text)
{
    static const char *const names[] = { "nearest", "linear", "cubic", "bspline", "lanczos4", "lanczos6", "lanczos8" };
    static const struct {
        const char *name;
        wf_border border;
    } borders[] = { { "clamp", WF_BORDER_CLAMP },
                    { "mirror", WF_BORDER_MIRROR },
                    { "reflect", WF_BORDER_REFLECT },
                    { "periodic", WF_BORDER_PERIODIC } };
    if (o == 0) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(text, names[k]) == 0) {
                how->interpolation = (wf_interpolation)k;
                return EXIT_OK;
            }
        return misused(j->a.command,
                       "--interpolation %s: nearest, linear, cubic, bspline, lanczos4, lanczos6 or lanczos8", text);
    }
    for (size_t k = 0; k < sizeof borders / sizeof *borders; k++)
        if (strcmp(text, borders[k].name) == 0) {
            how->border = borders[k].border;
            return EXIT_OK;
        }
    how->border = WF_BORDER_VALUE;
    return parse_real(text, &how->outside)
               ? EXIT_OK
               : misused(j->a.command, "--border %s: a value, clamp, mirror, reflect or periodic", text);
}

int read_center(const job *j, const image *i, const char *text, double out[3])
{
    wf_spectrum s = image_spectrum(i);
    for (int d = 0; d < i->rank && !text; d++)
        out[d] = (double)(s.size[d] / 2);
    if (text && parse_list(text, out, i->rank) != i->rank)
        return misused(j->a.command, "--center %s: give %s in pixels", text, i->rank == 2 ? "y,x" : "z,y,x");
    return EXIT_OK;
}

int check_group(const job *j, const char *group, int rank)
{
    long n;
    bool cyclic = *group == 'C', counted = cyclic || (*group == 'D' && rank == 3);
    if (counted ? parse_int(group + 1, 1, 1 << 20, &n) : rank == 3 && strchr("TOI", *group) && group[0] && !group[1])
        return EXIT_OK;
    return misused(j->a.command, "--symmetry %s: give %s", group,
                   rank == 3 ? "C4, D7, T, O or I" : "C and a number: these are images");
}

int parse_order(const job *j, const char *text, wf_euler *out)
{
    static const struct {
        const char *name;
        wf_euler order;
    } orders[] = { { "xyx", WF_EULER_XYX },       { "xzx", WF_EULER_XZX },     { "yxy", WF_EULER_YXY },
                   { "yzy", WF_EULER_YZY },       { "zxz", WF_EULER_ZXZ },     { "zyz", WF_EULER_ZYZ },
                   { "xyz", WF_EULER_XYZ },       { "xzy", WF_EULER_XZY },     { "yxz", WF_EULER_YXZ },
                   { "yzx", WF_EULER_YZX },       { "zxy", WF_EULER_ZXY },     { "zyx", WF_EULER_ZYX },
                   { "relion", WF_EULER_RELION }, { "eman2", WF_EULER_EMAN2 }, { "dynamo", WF_EULER_DYNAMO },
                   { "imod", WF_EULER_IMOD } };
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        if (strcmp(text, orders[k].name) == 0) {
            *out = orders[k].order;
            return EXIT_OK;
        }
    return misused(j->a.command, "--order %s: zyz, zxz, xyz, ..., relion, eman2, dynamo or imod", text);
}

bool euler_matrix(wf_context *ctx, wf_euler order, const double degrees[3], double out[9])
{
    wf_graph *g = wf_begin(ctx);
    wf_val angle[3], m[9];
    wf_array *element[9];
    bool ok = true;
    for (int k = 0; k < 3; k++)
        angle[k] = wf_const(g, WF_F64, degrees[k] * (PI / 180));
    wf_euler_matrix(g, order, angle[0], angle[1], angle[2], m);
    for (int k = 0; k < 9; k++) {
        element[k] = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
        ok = ok && element[k];
        if (element[k])
            wf_out(g, element[k], m[k]);
    }
    ok = wf_run(g) == WF_OK && ok;
    for (int k = 0; k < 9; k++) {
        ok = ok && wf_download(element[k], &out[k], sizeof out[k]) == WF_OK;
        wf_release(element[k]);
    }
    return ok;
}

wf_array *array_of(wf_context *ctx, wf_dtype dtype, wf_shape shape, const void *elements)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    if (a && wf_upload(a, elements, (size_t)wf_array_count(a) * wf_dtype_size(dtype)) == WF_OK)
        return a;
    wf_release(a);
    return NULL;
}

void turn_rows(double angle, const double center[2], const double shift[2], double rows[6])
{
    double c = cos(angle), s = sin(angle), y = center[0], x = center[1];
    double all[6] = { c, -s, y + shift[0] - c * y + s * x, s, c, x + shift[1] - s * y - c * x };
    memcpy(rows, all, sizeof all);
}

wf_array *turned_images(wf_array *images, int64_t n)
{
    wf_context *ctx = wf_array_context(images);
    wf_shape shape = wf_array_shape(images);
    int64_t h = shape.dim[shape.rank - 2], w = shape.dim[shape.rank - 1];
    double *m = allocate((size_t)n * 6, sizeof *m), center[2] = { (double)(h / 2), (double)(w / 2) };
    for (int64_t i = 0; i < n; i++)
        turn_rows(2 * PI * (double)i / (double)n, center, (double[2]){ 0 }, m + 6 * i);
    wf_interp how = { .interpolation = WF_INTERPOLATE_CUBIC, .border = WF_BORDER_CLAMP };
    wf_array *inverse = array_of(ctx, WF_F64, WF_SHAPE(n, 1, 2, 3), m), *out = NULL;
    wf_array *stack = wf_view_reshape(images, WF_SHAPE(1, -1, h, w));
    if (stack && inverse)
        out = wf_transform(stack, WF_SCALAR, inverse, &how);
    wf_release(inverse);
    wf_release(stack);
    free(m);
    return out;
}

bool negate(wf_array *images)
{
    wf_graph *g = wf_begin(wf_array_context(images));
    wf_out(g, images, wf_neg(wf_in(g, images)));
    return wf_run(g) == WF_OK;
}
