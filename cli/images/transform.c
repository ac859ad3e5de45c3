/* transform.c - weft transform: images and volumes rotated, shifted and scaled; weft symmetrize: their averages over a
 * point group or a helix. */
#include "images.h"
#include <math.h>
#include <string.h>

const char help_transform[] =
    "  weft transform image.mrc --rotate 30 -o turned.mrc             degrees, from x towards y, about n/2\n"
    "  weft transform image.mrc --shift 2.5,-1 -o moved.mrc           pixels, y,x: content moves to higher y\n"
    "  weft transform vol.map --rotate 30,45,60 --order relion -o view.map\n"
    "  weft transform vol.map --scale 1.05 --interpolation lanczos8 -o scaled.map\n"
    "  weft transform image.mrc --shape 512,512 -o cropped.mrc        cropped or padded about the centre\n\n"
    "Scales, then rotates about the centre, then shifts, in one interpolation. Crops, pads, whole shifts and turns by\n"
    "right angles copy pixels. The origin of a crop is where its first pixel was. Pixels of different sizes along the axes\n"
    "cannot be rotated.\n\n"
    "  --rotate A             of images: the angle in degrees\n"
    "  --rotate A,B,C         of volumes: angles in degrees, in the order of --order\n"
    "  --order ORDER          zyz (the default), zxz, xyz, ... of axes that turn with the volume; relion (rot, tilt,\n"
    "                         psi), eman2 (az, alt, phi), dynamo (tdrot, tilt, narot), imod (x, y, z)\n"
    "  --shift Y,X or Z,Y,X   in pixels\n"
    "  --scale S              above 1 enlarges; the pixel size stays\n"
    "  --center Y,X or Z,Y,X  of rotation, in pixels (default: n/2, rounded down)\n"
    "  --shape Y,X or Z,Y,X   extents of the result; the centre comes to its centre\n" INTERPOLATION_HELP IMAGE_HELP;

enum { ROTATE = IMAGE_OWN, ORDER, SHIFT, SCALE, CENTER, SHAPE, HOW };
static const option options[] = { IMAGE_OPTIONS,        { "rotate", 0, true }, { "order", 0, true },
                                  { "shift", 0, true }, { "scale", 0, true },  { "center", 0, true },
                                  { "shape", 0, true }, INTERPOLATION_OPTIONS, { NULL, 0, false } };

typedef struct transform {
    const char *rotate, *shift, *center; /* as on the command line; NULL = not given */
    wf_euler order;
    wf_shape shape; /* rank 0 = that of the image */
    double scale;
    wf_interp how;
} transform;

/* The number, or the whole number that only the rounding of sines and cosines keeps it from being. */
static double unrounded(double v) { return fabs(v - round(v)) < 1e-15 ? round(v) : v; }

/* Sets m to the rotation of positions (z, y, x) or (y, x). */
static int read_rotation(const job *j, const transform *t, int rank, double *m)
{
    double angle[3] = { 0, 0, 0 };
    if (t->rotate && parse_list(t->rotate, angle, 3) != (rank == 2 ? 1 : 3))
        return misused(j->a.command, "--rotate %s: give %s in degrees", t->rotate,
                       rank == 2 ? "one angle" : "three angles");
    if (rank == 3)
        return euler_matrix(j->ctx, t->order, angle, m) ? EXIT_OK : failed_in(j->ctx);
    double a = angle[0] * (PI / 180);
    m[0] = m[3] = cos(a);
    m[1] = sin(a);
    m[2] = -sin(a);
    return EXIT_OK;
}

/* Sets `inverse` [rank, rank + 1] to what takes positions of the result to those of the image, and moves the image's origin
 * to the first sample of the result: the centre keeps its place. */
static int find_inverse(const job *j, const transform *t, image *in, double *inverse)
{
    int n = in->rank, result;
    double m[9], center[3], to[3], shift[3] = { 0, 0, 0 };
    if ((result = read_rotation(j, t, n, m)) != EXIT_OK || (result = read_center(j, in, t->center, center)) != EXIT_OK)
        return result;
    if (t->shift && parse_list(t->shift, shift, n) != n)
        return misused(j->a.command, "--shift %s: give %s in pixels", t->shift, n == 2 ? "y,x" : "z,y,x");
    for (int d = 0; d < n; d++) {
        to[d] = t->shape.rank ? (double)(t->shape.dim[d] / 2) : center[d];
        move_origin(in, d, center[d] - to[d]);
        to[d] += shift[d];
    }
    for (int d = 0; d < n; d++) {
        double *row = inverse + d * (n + 1);
        row[n] = center[d];
        for (int e = 0; e < n; e++) {
            row[e] = unrounded(m[e * n + d]) / t->scale;
            row[n] -= row[e] * to[e];
        }
    }
    return EXIT_OK;
}

/* Where all positions are those of pixels, the pixels are copied, which every interpolation comes to inside of the image.
 * A spline would mix what lies outside with the first pixels inside. */
static int transform_image(job *j, const transform *t, image *in)
{
    double inverse[12];
    wf_interp how = t->how;
    bool whole = true;
    int result = find_inverse(j, t, in, inverse);
    if (result == EXIT_OK && t->rotate)
        result = need_even_pixels(in, "a rotation");
    if (result != EXIT_OK)
        return result;
    for (int i = 0; i < in->rank * (in->rank + 1); i++)
        whole = whole && inverse[i] == floor(inverse[i]);
    if (whole)
        how.interpolation = WF_INTERPOLATE_NEAREST;
    wf_array *matrix = array_of(j->ctx, WF_F64, WF_SHAPE(in->rank, in->rank + 1), inverse);
    wf_array *out = matrix ? wf_transform(in->data, t->shape, matrix, &how) : NULL;
    wf_release(matrix);
    if (t->rotate || t->shift || t->scale != 1)
        drop_symmetry(in);
    return job_save(j, out, in);
}

static int take_option(const job *j, transform *t, int o, const char *text)
{
    switch (o) {
    case ROTATE:
        t->rotate = text;
        break;
    case ORDER:
        return parse_order(j, text, &t->order);
    case SHIFT:
        t->shift = text;
        break;
    case SCALE:
        if (!parse_real(text, &t->scale) || t->scale <= 0)
            return misused(j->a.command, "--scale %s: give a number above 0", text);
        break;
    case CENTER:
        t->center = text;
        break;
    case SHAPE:
        if (!parse_shape(text, &t->shape))
            return misused(j->a.command, "--shape %s: give extents as 512,512", text);
        break;
    default:
        return take_interpolation(j, &t->how, o - HOW, text);
    }
    return EXIT_OK;
}

int run_transform(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    transform t = { .order = WF_EULER_ZYZ,
                    .scale = 1,
                    .how = { .interpolation = WF_INTERPOLATE_BSPLINE, .border = WF_BORDER_VALUE } };
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_option(&j, &t, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK && t.shape.rank && t.shape.rank != in.rank)
        result =
            misused(self, "--shape: give %d extents, those of %s", in.rank, in.rank == 2 ? "an image" : "a volume");
    if (result == EXIT_OK)
        result = transform_image(&j, &t, &in);
    wf_release(in.data);
    return job_end(&j, result);
}

/* ---- symmetrize ---- */
const char help_symmetrize[] =
    "  weft symmetrize vol.map --symmetry D7 -o averaged.map\n"
    "  weft symmetrize class.mrc --symmetry C4 -o averaged.mrc\n"
    "  weft symmetrize filament.map --rise 4.75A --twist -1.2 -o averaged.map\n"
    "  weft symmetrize filament.map --rise 27.5A --twist -166.7 --symmetry C2 --part 0.5 -o averaged.map\n\n"
    "The average over the rotations of a point group about the centre, or over the units of a helix about z.\n\n"
    "  -s, --symmetry GROUP   C5 (about z), D7 (2-fold about x), T, O, I (2-fold about z, y, x); C alone for images\n"
    "                         and helices\n"
    "  --rise R               of a helix: from one unit to the next along z, in pixels, or with A in Angstrom\n"
    "  --twist T              the angle between them in degrees; above 0: right-handed\n"
    "  --part P               the middle part of z that is averaged, up to 1 (default: 0.3); the ends are made from it\n"
    "  --center Y,X or Z,Y,X  in pixels (default: n/2, rounded down)\n" INTERPOLATION_HELP IMAGE_HELP;

enum { SYMMETRY = IMAGE_OWN, RISE, TWIST, PART, MIDDLE, SYMMETRY_HOW };
static const option symmetry_options[] = { IMAGE_OPTIONS,         { "symmetry", 's', true }, { "rise", 0, true },
                                           { "twist", 0, true },  { "part", 0, true },       { "center", 0, true },
                                           INTERPOLATION_OPTIONS, { NULL, 0, false } };

typedef struct symmetry {
    const char *group, *rise, *middle; /* as on the command line; NULL = not given */
    wf_helix helix;
    bool twisted; /* --twist was given */
    wf_interp how;
} symmetry;

static int take_symmetry(const job *j, symmetry *s, int o, const char *text)
{
    switch (o) {
    case SYMMETRY:
        s->group = text;
        break;
    case RISE:
        s->rise = text;
        break;
    case TWIST:
        s->twisted = true;
        if (!parse_real(text, &s->helix.twist))
            return misused(j->a.command, "--twist %s: give an angle in degrees", text);
        break;
    case PART:
        if (!parse_real(text, &s->helix.fraction) || !(s->helix.fraction > 0 && s->helix.fraction <= 1))
            return misused(j->a.command, "--part %s: give a number above 0 and up to 1", text);
        break;
    case MIDDLE:
        s->middle = text;
        break;
    default:
        return take_interpolation(j, &s->how, o - SYMMETRY_HOW, text);
    }
    return EXIT_OK;
}

/* Checks which options were given. */
static int know_symmetry(const job *j, symmetry *s)
{
    if (!s->rise && (s->twisted || s->helix.fraction > 0))
        return misused(j->a.command, "--%s is of a helix; give --rise, too", s->twisted ? "twist" : "part");
    if (s->rise && !s->twisted)
        return misused(j->a.command, "--rise needs --twist");
    if (!s->rise && !s->group)
        return misused(j->a.command, "no symmetry: --symmetry C4, D7, T, O, I, or --rise and --twist of a helix");
    if (!s->rise || !s->group)
        return EXIT_OK;
    double n = 0;
    if (s->group[0] != 'C' || !parse_real(s->group + 1, &n) || n < 1 || n > 512 || n != floor(n))
        return misused(j->a.command, "--symmetry %s: of a helix only C and a number, up to 512", s->group);
    s->helix.cyclic = (int32_t)n;
    return EXIT_OK;
}

static int symmetrize_image(job *j, symmetry *s, const image *in)
{
    double center[3];
    int result = read_center(j, in, s->middle, center);
    if (result == EXIT_OK)
        result = need_even_pixels(in, "a rotation");
    if (result == EXIT_OK && s->group)
        result = check_group(j, s->group, in->rank);
    if (result != EXIT_OK)
        return result;
    if (!s->rise)
        return job_save(j, wf_symmetrize(in->data, s->group, in->rank, center, &s->how), in);
    if (in->rank != 3)
        return misused(j->a.command, "--rise is for volumes, and %s has images", in->path);
    if (parse_lengths(s->rise, in->pixel, &s->helix.rise, 1) != 1 || !(s->helix.rise > 0))
        return misused(j->a.command,
                       "--rise %s: give a length in pixels, or with A in Angstrom (of a known pixel size)", s->rise);
    return job_save(j, wf_symmetrize_helix(in->data, &s->helix, center, &s->how), in);
}

int run_symmetrize(const command *self, int argc, char **argv)
{
    job j = job_of(self, symmetry_options, argc, argv, 1);
    symmetry s = { .how = { .interpolation = WF_INTERPOLATE_BSPLINE, .border = WF_BORDER_VALUE } };
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_symmetry(&j, &s, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    if (know_symmetry(&j, &s) != EXIT_OK)
        return EXIT_USAGE;
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK)
        result = symmetrize_image(&j, &s, &in);
    wf_release(in.data);
    return job_end(&j, result);
}
