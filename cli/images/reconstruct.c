/* reconstruct.c - weft reconstruct: a volume from images whose directions are known. */
#include "ewald.h"
#include "views.h"
#include "weft/text.h"
#include <string.h>

const char help_reconstruct[] =
    "  weft project vol.map --count 200 -o views.mrcs > views.txt\n"
    "  weft reconstruct views.mrcs --angles views.txt -o back.mrc\n"
    "  weft reconstruct run_data.star -o map.mrc\n"
    "  weft reconstruct run_data.star --subset 1 --symmetry D2 --resolution 6 -o half1.mrc\n\n"
    "The volume of which the images are projections: the transform of each image is inserted as a slice into that of the\n"
    "volume, and divided by the weights of all slices. Images are square.\n"
    "A STAR file has RELION's columns: rlnImageName, rlnAngleRot, rlnAngleTilt, rlnAnglePsi, and perhaps rlnOriginXAngst,\n"
    "rlnDefocusU, ..., of particles or their optics groups. With rlnDefocusU each slice is multiplied by its CTF and the\n"
    "weights are the squares of the CTFs, so that phases and amplitudes are corrected; tilt of the beam, aberrations of\n"
    "higher order and anisotropic magnification are not, and a warning names their columns. Stacks are looked for from the\n"
    "working directory, from that of the STAR file, and from those above it.\n\n"
    "  --angles FILE          without a STAR file: a line for each image, its number and three angles in degrees, as weft\n"
    "                         project prints them; then, if the image is not centred, its shift y x in pixels. Lines that\n"
    "                         begin with # are skipped. Images without a line are not used\n"
    "  --order ORDER          of --angles: zyz (the default), zxz, xyz, ..., relion, eman2, dynamo, imod\n"
    "  --no-ctf               the CTF is not corrected\n"
    "  --subset N             only particles of this rlnRandomSubset: 1 or 2\n"
    "  --symmetry GROUP       C5, D7, T, O, I: slices are inserted in all directions that it makes equal\n"
    "  --padding K            images are padded to K times their extent (default: 2)\n"
    "  --ewald SIDE           the curvature of the Ewald sphere is corrected, too: 1 if what lies at higher z, in the frame\n"
    "                         of an image, has more underfocus; -1 if it has less (volumes of the other hand)\n"
    "  --diameter A           of the particle, with --ewald (default: the images')\n"
    "  --resolution R         nothing finer than R Angstrom (8px: pixels) is inserted (default: two pixels)\n" IMAGE_HELP;

enum { ANGLES = IMAGE_OWN, ORDER, NO_CTF, SUBSET, SYMMETRY, PADDING, RESOLUTION, EWALD, DIAMETER };
static const option options[] = { IMAGE_OPTIONS,           { "angles", 0, true },     { "order", 0, true },
                                  { "no-ctf", 0, false },  { "subset", 0, true },     { "symmetry", 0, true },
                                  { "padding", 0, true },  { "resolution", 0, true }, { "ewald", 0, true },
                                  { "diameter", 0, true }, { NULL, 0, false } };

typedef struct reconstruction {
    job *j;
    views v;
    const char *angles, *resolution, *symmetry;
    wf_euler order;
    long padding, subset;
    double cutoff;          /* cycles/pixel */
    double ewald, diameter; /* ewald: 1, -1, or 0 = slices are planes; diameter: Angstrom */
    bool no_ctf;
} reconstruction;

/* The half spectra of images, padded, with their centres at element 0. */
static wf_array *spectra_of(wf_array *images, int64_t size)
{
    wf_context *ctx = wf_array_context(images);
    wf_shape s = wf_array_shape(images);
    wf_array *padded = wf_empty(ctx, WF_F32, WF_SHAPE(s.dim[0], size, size)), *spectra = NULL;
    const char *text = "half = idiv(nx, 2); dy = (y + half) % ny - half; dx = (x + half) % nx - half\n"
                       "padded = images[z, dy + center, dx + center]";
    wf_arg args[] = { WF_ARG("images", images), WF_ARG("padded", padded), WF_ARG("center", (double)(s.dim[1] / 2)) };
    if (padded && wf_text_n(ctx, text, (wf_args){ args, 3 }) == WF_OK)
        spectra = wf_fft_r2c(padded, WF_AXES(1, 2), WF_FFT_BACKWARD);
    wf_release(padded);
    return spectra;
}

/* Multiplies spectra by their transfer functions, whose squares are returned as weights. */
static wf_array *correct(const reconstruction *r, wf_array *spectra, const wf_array *members,
                         const wf_spectrum *spectrum)
{
    wf_array *weights = wf_empty(r->j->ctx, WF_F32, wf_array_shape(spectra));
    bool ok = weights && wf_spectrum_ctf(weights, NULL, spectrum, members, r->v.pixel) == WF_OK;
    if (ok) {
        wf_graph *g = wf_begin(r->j->ctx);
        wf_val ctf = wf_in(g, weights);
        if (!r->v.premultiplied)
            wf_out(g, spectra, wf_mul(wf_in(g, spectra), ctf));
        wf_out(g, weights, wf_mul(ctf, ctf));
        ok = wf_run(g) == WF_OK;
    }
    if (ok)
        return weights;
    wf_release(weights);
    return NULL;
}

/* Inserts spectra on both sides of the Ewald sphere; `members`: of their transfer functions. */
static bool insert_sides(const reconstruction *r, wf_array *spectra, const wf_array *members, const wf_slices *planes,
                         const wf_array *turns, const wf_array *shifts, wf_array *volume, wf_array *weights)
{
    ewald_sides sides;
    if (!ewald_divide(spectra, &planes->image, members, r->v.pixel, r->diameter, &sides))
        return false;
    wf_slices caps = *planes;
    caps.wavelength = r->ewald * wavelength_in_pixels(r->v.ctf[CTF_VOLTAGE], r->v.pixel);
    bool ok = wf_insert_slices(volume, weights, sides.upper, sides.weights, &caps, turns, shifts) == WF_OK;
    caps.wavelength = -caps.wavelength;
    ok = ok && wf_insert_slices(volume, weights, sides.lower, sides.weights, &caps, turns, shifts) == WF_OK;
    ewald_free(&sides);
    return ok;
}

/* Inserts `count` views into `volume` and their weights into `weights`. Returns an exit code. */
static int insert(reconstruction *r, int64_t first, int64_t count, const wf_slices *slices, wf_array *volume,
                  wf_array *weights)
{
    wf_context *ctx = r->j->ctx;
    wf_array *images = load_views(r->j, &r->v, first, count);
    if (!images)
        return EXIT_FAILED;
    bool corrected = r->v.ctf && !r->no_ctf;
    wf_array *spectra = spectra_of(images, slices->image.size[0]);
    wf_array *members =
        corrected ? array_of(ctx, WF_F64, WF_SHAPE(count, WF_CTF_MEMBERS), r->v.ctf + first * WF_CTF_MEMBERS) : NULL;
    wf_array *image_weights = spectra && members && r->ewald == 0 ? correct(r, spectra, members, &slices->image) : NULL;
    wf_array *turns = array_of(ctx, WF_F64, WF_SHAPE(count, 3, 3), r->v.matrix + 9 * first);
    wf_array *shifts = array_of(ctx, WF_F64, WF_SHAPE(count, 2), r->v.shift + 2 * first);
    bool ok = spectra && turns && shifts && (members || !corrected);
    if (ok && r->ewald != 0)
        ok = insert_sides(r, spectra, members, slices, turns, shifts, volume, weights);
    else
        ok = ok && (image_weights || !corrected) &&
             wf_insert_slices(volume, weights, spectra, image_weights, slices, turns, shifts) == WF_OK;
    wf_release(images);
    wf_release(spectra);
    wf_release(members);
    wf_release(image_weights);
    wf_release(turns);
    wf_release(shifts);
    return ok ? EXIT_OK : failed_in(ctx);
}

/* Replaces a spectrum by its average over the rotations of the point group. */
static bool symmetrize(wf_array **spectrum, const wf_slices *slices, const char *symmetry)
{
    wf_array *average = wf_symmetrize_spectrum(*spectrum, &slices->volume, symmetry, &slices->how);
    wf_release(*spectrum);
    *spectrum = average;
    return average != NULL;
}

/* The volume of n^3 elements: back from the spectrum, cropped and corrected for the interpolation. */
static wf_array *volume_of(const wf_array *spectrum, const wf_slices *slices, int64_t n)
{
    wf_context *ctx = wf_array_context(spectrum);
    wf_array *padded = wf_fft_c2r(spectrum, slices->volume.size[0], WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(n, n, n));
    wf_arg args[] = { WF_ARG("out", out), WF_ARG("padded", padded), WF_ARG("center", (double)(n / 2)) };
    bool ok =
        out && padded &&
        wf_text_n(ctx, "out = padded[z - center, y - center, x - center; periodic]", (wf_args){ args, 3 }) == WF_OK;
    wf_release(padded);
    if (ok && wf_correct_gridding(out, out, &slices->volume, slices->how.interpolation) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* The least weight that the sums are divided by: where there are fewer slices, what they say counts less. */
static double least_weight(const reconstruction *r) { return r->v.ctf && !r->no_ctf ? 0.1 : 1; }

static int reconstruct(reconstruction *r, image *stack)
{
    enum { AT_A_TIME = 64 }; /* padded images are large */
    wf_context *ctx = r->j->ctx;
    int64_t n = r->v.size, size = n * r->padding;
    wf_slices slices = { .volume = { WF_LAYOUT_H, WF_F32, 3, { size, size, size } },
                         .image = { WF_LAYOUT_H, WF_F32, 2, { size, size } },
                         .how = { .interpolation = WF_INTERPOLATE_LINEAR },
                         .cutoff = r->cutoff };
    wf_shape half = WF_SHAPE(size, size, size / 2 + 1);
    wf_array *volume = wf_full(ctx, WF_C64, half, 0), *weights = wf_full(ctx, WF_F32, half, 0), *out = NULL;
    int result = volume && weights ? EXIT_OK : failed_in(ctx);
    progress_begin("inserting");
    for (int64_t i = 0; i < r->v.n && result == EXIT_OK; i += AT_A_TIME) {
        int64_t count = r->v.n - i < AT_A_TIME ? r->v.n - i : AT_A_TIME;
        result = insert(r, i, count, &slices, volume, weights);
        progress_part((double)(i + count) / (double)r->v.n);
    }
    if (result == EXIT_OK) {
        progress_begin("transforming");
        bool ok =
            !r->symmetry || (symmetrize(&volume, &slices, r->symmetry) && symmetrize(&weights, &slices, r->symmetry));
        if (ok && wf_normalize_sums(volume, volume, weights, least_weight(r)) == WF_OK)
            out = volume_of(volume, &slices, n);
        stack->meta.is_stack = false;
        stack->meta.extended_from = NULL;
        stack->meta.spacing[0] = stack->meta.spacing[1];
        result = job_save(r->j, out, stack);
    }
    wf_release(volume);
    wf_release(weights);
    return result;
}

/* Reads the views that the command line names. Returns an exit code. */
static int read_views(reconstruction *r, image *stack)
{
    job *j = r->j;
    if (has_suffix(j->in[0], ".star") || has_suffix(j->in[0], ".star.gz"))
        return r->angles ? misused(j->a.command, "--angles: the STAR file has the angles")
                         : read_particles(j, j->in[0], (int)r->subset, &r->v, stack);
    if (!r->angles)
        return misused(j->a.command, "no angles: give a STAR file or --angles FILE");
    if (r->subset || r->no_ctf)
        return misused(j->a.command, "--%s is for STAR files", r->subset ? "subset" : "no-ctf");
    return read_list(j, r->angles, r->order, j->in[0], &r->v, stack);
}

/* Checks that the images can be divided into the sides of the Ewald sphere. Returns an exit code. */
static int check_ewald(reconstruction *r)
{
    const command *self = r->j->a.command;
    if (r->ewald == 0)
        return r->diameter > 0 ? misused(self, "--diameter is for --ewald") : EXIT_OK;
    if (!r->v.ctf || r->no_ctf)
        return misused(self, r->no_ctf
                                 ? "--ewald or --no-ctf, not both"
                                 : "--ewald: the images' CTFs are unknown; a STAR file with rlnDefocusU has them");
    if (r->v.premultiplied)
        return failed("%s: --ewald: the images are multiplied by their CTF, which loses the phases of both sides",
                      r->v.source);
    for (int64_t i = 1; i < r->v.n; i++)
        if (r->v.ctf[i * WF_CTF_MEMBERS + CTF_VOLTAGE] != r->v.ctf[CTF_VOLTAGE])
            return failed("%s: --ewald: particles of two voltages, %g and %g kV", r->v.source, r->v.ctf[CTF_VOLTAGE],
                          r->v.ctf[i * WF_CTF_MEMBERS + CTF_VOLTAGE]);
    if (!(r->diameter > 0))
        r->diameter = (double)r->v.size * r->v.pixel;
    return EXIT_OK;
}

int run_reconstruct(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    reconstruction r = { .j = &j, .order = WF_EULER_ZYZ, .padding = 2 };
    image stack = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == ORDER && parse_order(&j, j.a.value, &r.order) != EXIT_OK)
            return EXIT_USAGE;
        if (o == PADDING && !parse_int(j.a.value, 1, 4, &r.padding))
            return misused(self, "--padding %s: give a factor from 1 to 4", j.a.value);
        if (o == SUBSET && !parse_int(j.a.value, 1, 2, &r.subset))
            return misused(self, "--subset %s: give 1 or 2", j.a.value);
        if (o == EWALD && take_ewald(&j, j.a.value, &r.ewald) != EXIT_OK)
            return EXIT_USAGE;
        if (o == DIAMETER && (!parse_real(j.a.value, &r.diameter) || !(r.diameter > 0)))
            return misused(self, "--diameter %s: give Angstrom above 0", j.a.value);
        r.angles = o == ANGLES ? j.a.value : r.angles;
        r.symmetry = o == SYMMETRY ? j.a.value : r.symmetry;
        r.resolution = o == RESOLUTION ? j.a.value : r.resolution;
        r.no_ctf = r.no_ctf || o == NO_CTF;
    }
    int result = r.symmetry ? check_group(&j, r.symmetry, 3) : EXIT_OK;
    if (result == EXIT_OK)
        result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = read_views(&r, &stack);
    if (result == EXIT_OK && r.v.ctf && !r.no_ctf && !(r.v.pixel > 0))
        result = misused(self, "the pixel size of %s is unknown; --pixel gives it", stack.path);
    if (result == EXIT_OK)
        result = need_even_pixels(&stack, "a reconstruction");
    if (result == EXIT_OK)
        result = check_ewald(&r);
    if (result == EXIT_OK && r.resolution)
        result = parse_period(&j, &stack, "resolution", r.resolution, &r.cutoff);
    r.cutoff *= stack.pixel[2] > 0 ? stack.pixel[2] : 1;
    if (result == EXIT_OK && r.cutoff > 0.5)
        result = misused(self, "--resolution %s: finer than two pixels", r.resolution);
    if (result == EXIT_OK)
        result = reconstruct(&r, &stack);
    free_views(&r.v);
    return job_end(&j, result);
}
