/* project.c - weft project: images of a volume seen from given or evenly spread directions. */
#include "ewald.h"
#include "views.h"
#include <math.h>
#include <stdlib.h>

const char help_project[] =
    "  weft project vol.map --rotate 30,45,60 --order relion -o view.mrc\n"
    "  weft project vol.map --count 100 -o views.mrcs     directions spread evenly over the sphere\n"
    "  weft project vol.map --angles views.txt -o again.mrcs\n"
    "  weft project vol.map --angles run_data.star -o again.mrcs\n\n"
    "Sums of the volume along z after it is rotated about n/2, as weft transform rotates.\n\n"
    "  --rotate A,B,C         angles in degrees, in the order of --order\n"
    "  --order ORDER          zyz (the default), zxz, xyz, ..., relion, eman2, dynamo, imod\n"
    "  --count N              N directions of a spiral over the sphere; prints their angles (--order zyz)\n"
    "  --angles FILE          an image for each line, in the order of the lines: a number, three angles in the order of\n"
    "                         --order and, perhaps, where the centre lies, y x in pixels, as for weft reconstruct; or for\n"
    "                         each row of a STAR file with rlnAngleRot, rlnAngleTilt and rlnAnglePsi, by its origin\n"
    "  --interpolation HOW    nearest, linear (the default), cubic, bspline, lanczos4, lanczos6, lanczos8\n\n"
    "With --defocus the projections are images as a microscope makes them, by the volume's Fourier transform:\n" DEFOCUS_HELP
        MICROSCOPE_HELP
    "  --ewald SIDE           of a thick volume, by the Ewald sphere: 1: what lies at higher z after the rotation has more\n"
    "                         underfocus by its distance from the centre; -1: less\n" IMAGE_HELP;

enum { ROTATE = IMAGE_OWN, ORDER, COUNT, ANGLES, HOW, DEFOCUS, EWALD = DEFOCUS + OPTICS_COUNT };
static const option options[] = { IMAGE_OPTIONS,        { "rotate", 0, true }, { "order", 0, true },
                                  { "count", 0, true }, { "angles", 0, true }, { "interpolation", 0, true },
                                  OPTICS_OPTIONS,       { "ewald", 0, true },  { NULL, 0, false } };

/* How images are made: as sums along rays, or by a microscope. */
typedef struct projection {
    wf_interp how;
    double ctf[WF_CTF_MEMBERS], ewald;
    bool interpolated, focused; /* --interpolation and --defocus were given */
    int optics;                 /* the last option that needs --defocus; 0: there was none */
} projection;

/* Sets the angles of directions in equal areas, along a spiral. */
static void spread(direction *to, int64_t n)
{
    const double golden = 180 * (3 - sqrt(5)), degrees = 180 / PI;
    for (int64_t i = 0; i < n; i++) {
        to[i].angle[0] = fmod(golden * (double)i, 360);
        to[i].angle[1] = acos(1 - (2 * (double)i + 1) / (double)n) * degrees;
    }
}

static int project(job *j, image *in, wf_euler order, const direction *to, int64_t n, bool stack, const projection *p)
{
    double *m = allocate((size_t)n * 9, sizeof *m), *shift = allocate((size_t)n * 2, sizeof *shift);
    bool ok = true, moved = false;
    for (int64_t i = 0; i < n && ok; i++) {
        double turn[9]; /* of the volume; its inverse takes an image's positions to the volume's */
        ok = euler_matrix(j->ctx, order, to[i].angle, turn);
        for (int k = 0; k < 9 && ok; k++)
            m[9 * i + k] = turn[k % 3 * 3 + k / 3];
        for (int d = 0; d < 2; d++) {
            shift[2 * i + d] = to[i].shift[d];
            moved = moved || to[i].shift[d] != 0;
        }
    }
    wf_array *rotations = ok ? array_of(j->ctx, WF_F64, WF_SHAPE(n, 3, 3), m) : NULL, *out = NULL, *one = NULL;
    wf_array *shifts = moved ? array_of(j->ctx, WF_F64, WF_SHAPE(n, 2), shift) : NULL;
    progress_begin("projecting");
    if (rotations && (shifts || !moved))
        out = p->focused ? ewald_project(in->data, rotations, p->ctf, in->pixel[2], p->ewald)
                         : wf_project(in->data, WF_SCALAR, rotations, shifts, &p->how);
    if (out && !stack) {
        one = wf_view_at(out, 0, 0);
        wf_release(out);
        out = one;
    }
    wf_release(rotations);
    wf_release(shifts);
    free(m);
    free(shift);
    in->meta.is_stack = stack;
    in->meta.extended_from = NULL;
    int result = job_save(j, out, in);
    progress_end();
    for (int64_t i = 0; i < n && stack && result == EXIT_OK; i++) {
        printf("%lld %.3f %.3f %.3f", (long long)i, to[i].angle[0], to[i].angle[1], to[i].angle[2]);
        if (moved)
            printf(" %.3f %.3f", to[i].shift[0], to[i].shift[1]);
        putchar('\n');
    }
    return result;
}

static bool is_star(const char *path) { return has_suffix(path, ".star") || has_suffix(path, ".star.gz"); }

/* Reads the directions that the command line names: --rotate, --count or --angles. Returns an exit code. */
static int read_views(job *j, const image *in, const char *angles, direction **to, int64_t *n, wf_euler *order)
{
    if (!angles) {
        if (*n > 0)
            spread(*to = allocate((size_t)*n, sizeof **to), *n);
        return EXIT_OK;
    }
    if (!is_star(angles))
        return read_directions(angles, to, n);
    *order = WF_EULER_RELION;
    return read_star_directions(j, angles, in->pixel[2], to, n);
}

int run_project(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    projection p = { .how = { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_VALUE },
                     .ctf = { OPTICS_DEFAULTS, [CTF_SCALE] = 1 } };
    wf_euler order = WF_EULER_ZYZ;
    direction given = { .line = 0 }, *to = NULL;
    const char *angles = NULL;
    int64_t n = 0;
    bool rotate = false, ordered = false;
    long count = 0;
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == ROTATE && parse_list(j.a.value, given.angle, 3) != 3)
            return misused(self, "--rotate %s: give three angles in degrees", j.a.value);
        if (o == ORDER && parse_order(&j, j.a.value, &order) != EXIT_OK)
            return EXIT_USAGE;
        if (o == COUNT && !parse_int(j.a.value, 1, 1 << 24, &count))
            return misused(self, "--count %s: give a number of directions", j.a.value);
        if (o == HOW && take_interpolation(&j, &p.how, 0, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
        if (o >= DEFOCUS && o < EWALD && take_optics(&j, p.ctf, o - DEFOCUS, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
        if (o == EWALD && take_ewald(&j, j.a.value, &p.ewald) != EXIT_OK)
            return EXIT_USAGE;
        p.focused = p.focused || o == DEFOCUS;
        p.optics = o > DEFOCUS ? o : p.optics;
        p.interpolated = p.interpolated || o == HOW;
        rotate = rotate || o == ROTATE;
        ordered = ordered || o == ORDER;
        angles = o == ANGLES ? j.a.value : angles;
    }
    if (rotate + (count > 0) + (angles != NULL) != 1)
        return misused(self, "give --rotate, --count or --angles, one of them");
    if (count && ordered)
        return misused(self, "--order is for --rotate and --angles; the angles of --count are zyz");
    if (angles && ordered && is_star(angles))
        return misused(self, "--order is for lists; the angles of STAR files are those of relion");
    if (p.optics && !p.focused)
        return misused(self, "--%s is for --defocus", options[p.optics].name);
    if (p.focused && p.interpolated)
        return misused(self, "--interpolation is for projections without --defocus");
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK && wf_array_shape(in.data).rank != 3)
        result = failed("%s: a volume has 3 axes, and this has %d", in.path, (int)wf_array_shape(in.data).rank);
    if (result == EXIT_OK && in.rank != 3)
        result = failed("%s: a stack of images is no volume; --volume says that it is one", in.path);
    if (result == EXIT_OK && p.focused && !(in.pixel[2] > 0))
        result = misused(self, "the pixel size of %s is unknown; --pixel gives it", in.path);
    if (result == EXIT_OK)
        result = need_even_pixels(&in, "a rotation");
    n = count;
    if (result == EXIT_OK)
        result = read_views(&j, &in, angles, &to, &n, &order);
    for (int64_t i = 0; i < n && p.focused && to && result == EXIT_OK; i++)
        if (to[i].shift[0] != 0 || to[i].shift[1] != 0)
            result = failed("%s: image %lld, from 0, is not centred, as images of --defocus are", angles, (long long)i);
    if (result == EXIT_OK)
        result = rotate ? project(&j, &in, order, &given, 1, false, &p) : project(&j, &in, order, to, n, true, &p);
    free(to);
    wf_release(in.data);
    return job_end(&j, result);
}
