/* mask.c - weft mask: images and volumes inside a shape with a soft edge. */
#include "images.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char help_mask[] =
    "  weft mask vol.map --sphere 40 --edge 6 -o masked.map\n"
    "  weft mask particles.mrcs --sphere 90A --outside mean -o masked.mrcs\n"
    "  weft mask vol.map --cylinder 30,50 --only -o mask.map\n"
    "  weft mask image.tif --box 100,60 --invert -o hole.tif\n\n"
    "Multiplies by 1 inside the shape, 0 outside, and a cosine between, which begins at the surface.\n"
    "Lengths are in pixels, or with A in Angstrom, along each axis by its own pixel size.\n\n"
    "  --sphere R             a ball; a disc of images\n"
    "  --ellipsoid RZ,RY,RX   radii along the axes; RY,RX of images\n"
    "  --box HZ,HY,HX         half extents along the axes; HY,HX of images\n"
    "  --cylinder R,H         around the z axis, 2 H long\n"
    "  --edge W               width of the edge (default: 5 pixels)\n"
    "  --center Y,X or Z,Y,X  in pixels (default: n/2, rounded down)\n"
    "  --invert               the outside is kept\n"
    "  --outside V            what replaces the outside: a value (default: 0), or mean, of each image\n"
    "  --only                 writes the mask itself\n" IMAGE_HELP;

/* Shapes are in the order of wf_mask_shape. */
enum { SPHERE = IMAGE_OWN, ELLIPSOID, BOX, CYLINDER, EDGE, CENTER, INVERT, OUTSIDE, ONLY };
static const option options[] = { IMAGE_OPTIONS,         { "sphere", 0, true },   { "ellipsoid", 0, true },
                                  { "box", 0, true },    { "cylinder", 0, true }, { "edge", 0, true },
                                  { "center", 0, true }, { "invert", 0, false },  { "outside", 0, true },
                                  { "only", 0, false },  { NULL, 0, false } };

typedef struct mask {
    wf_mask of;
    const char *shape, *lengths, *edge, *center; /* as on the command line; NULL = not given */
    bool only, mean;
    double outside;
} mask;

static int read_shape(const job *j, mask *m, const image *in)
{
    wf_mask_shape shape = m->of.shape;
    int wanted = shape == WF_MASK_SPHERE ? 1 : shape == WF_MASK_CYLINDER ? 2 : in->rank;
    if (shape == WF_MASK_CYLINDER && in->rank == 2)
        return misused(j->a.command, "--cylinder is for volumes, and %s has images", in->path);
    /* The pixel size of each length: the radius of a ball is measured along x, a cylinder has a radius and a height. */
    const double of_ball[1] = { in->pixel[2] }, of_cylinder[2] = { in->pixel[2], in->pixel[0] };
    const double *pixel = shape == WF_MASK_SPHERE     ? of_ball
                          : shape == WF_MASK_CYLINDER ? of_cylinder
                                                      : in->pixel + 3 - in->rank;
    int found = parse_lengths(m->lengths, pixel, m->of.length, wanted);
    double least = INFINITY;
    for (int d = 0; d < found; d++)
        least = fmin(least, m->of.length[d]);
    if (found != wanted || !(shape == WF_MASK_ELLIPSOID ? least > 0 : least >= 0))
        return misused(j->a.command,
                       "--%s %s: give %d length%s from 0 on in pixels, or with A in Angstrom (of a known pixel size)",
                       m->shape, m->lengths, wanted, wanted == 1 ? "" : "s");
    if (m->edge && (parse_lengths(m->edge, of_ball, &m->of.edge, 1) != 1 || m->of.edge < 0))
        return misused(j->a.command, "--edge %s: give a width in pixels, or with A in Angstrom (of a known pixel size)",
                       m->edge);
    if (m->edge && in_angstrom(m->edge) && need_even_pixels(in, "--edge in Angstrom") != EXIT_OK)
        return EXIT_FAILED;
    if (shape == WF_MASK_CYLINDER && in_angstrom(m->lengths) && fabs(in->pixel[1] / in->pixel[2] - 1) > 0.01)
        return need_even_pixels(in, "--cylinder in Angstrom");
    if (shape == WF_MASK_SPHERE && in_angstrom(m->lengths) && least > 0 && !even_pixels(in, 1e-6)) {
        m->of.shape = WF_MASK_ELLIPSOID; /* a ball in Angstrom */
        for (int d = in->rank - 1; d >= 0; d--)
            m->of.length[d] = m->of.length[0] * in->pixel[2] / in->pixel[3 - in->rank + d];
    }
    m->of.axes = in->rank;
    m->of.centered = true;
    return read_center(j, in, m->center, m->of.center);
}

/* The image inside the mask, or the mask. */
static wf_array *apply(const mask *m, const image *in)
{
    wf_context *ctx = wf_array_context(in->data);
    wf_dtype t = wf_array_dtype(in->data);
    wf_array *out = wf_full(ctx, t, wf_array_shape(in->data), 0), *outside = NULL;
    if (m->mean)
        outside = wf_array_mean(in->data, image_axes(in->data, in->rank));
    else if (m->outside != 0)
        outside = wf_full(ctx, t, WF_SCALAR, m->outside);
    bool known = outside || (!m->mean && m->outside == 0);
    bool done = out && known && wf_mask_apply(out, m->only ? NULL : in->data, &m->of, outside) == WF_OK;
    wf_release(outside);
    if (done)
        return out;
    wf_release(out);
    return NULL;
}

static int take_option(const job *j, mask *m, int o, const char *text)
{
    switch (o) {
    case SPHERE:
    case ELLIPSOID:
    case BOX:
    case CYLINDER:
        if (m->shape)
            return misused(j->a.command, "--%s or --%s, not both", m->shape, options[o].name);
        m->shape = options[o].name;
        m->of.shape = (wf_mask_shape)(WF_MASK_SPHERE + (o - SPHERE));
        m->lengths = text;
        break;
    case EDGE:
        m->edge = text;
        break;
    case CENTER:
        m->center = text;
        break;
    case INVERT:
        m->of.invert = true;
        break;
    case OUTSIDE:
        m->mean = strcmp(text, "mean") == 0;
        if (!m->mean && !parse_real(text, &m->outside))
            return misused(j->a.command, "--outside %s: a value, or mean", text);
        break;
    default:
        m->only = true;
        break;
    }
    return EXIT_OK;
}

int run_mask(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    mask m = { .of = { .edge = 5 } };
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_option(&j, &m, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    if (!m.shape)
        return misused(self, "no shape: --sphere, --ellipsoid, --box or --cylinder");
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK)
        result = read_shape(&j, &m, &in);
    if (result == EXIT_OK)
        result = job_save(&j, apply(&m, &in), &in);
    wf_release(in.data);
    return job_end(&j, result);
}
