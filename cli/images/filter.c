/* filter.c - weft filter: images and volumes multiplied by functions of frequency. */
#include "images.h"
#include <stdlib.h>
#include <string.h>

const char help_filter[] =
    "  weft filter micrograph.mrc --lowpass 20 -o smooth.mrc\n"
    "  weft filter vol.map --highpass 200 --lowpass 8 -o band.map\n"
    "  weft filter particles.mrcs --lowpass 15,10 --normalize -o clean.mrcs\n"
    "  weft filter map.mrc --bfactor -80 --lowpass 3.2 -o sharp.mrc\n"
    "  weft filter image.tif --blur 2 -o blurred.tif\n\n"
    "Multiplies the Fourier transform of each image or volume by all factors given. Edges wrap.\n"
    "R is a resolution in Angstrom, or with px in pixels: 8px is a wave of 8 pixels.\n\n"
    "  --lowpass R            keeps what is coarser than R; the cosine edge is --edge wide\n"
    "  --lowpass R,S          keeps what is coarser than R, nothing finer than S\n"
    "  --highpass R, R,S      keeps what is finer than R, nothing coarser than S\n"
    "  --edge N               width of edges in Fourier pixels (default: 2)\n"
    "  --gaussian R           exp(-k^2 R^2 / 2), k the frequency\n"
    "  --butterworth R,ORDER  1/sqrt(1 + (k R)^(2 ORDER))\n"
    "  --bfactor B            exp(-B k^2 / 4), B in Angstrom^2: negative sharpens, as in map sharpening\n"
    "  --blur S               a Gaussian of standard deviation S pixels\n"
    "  --invert               then changes the sign\n"
    "  --normalize            then gives each image mean 0 and standard deviation 1\n" IMAGE_HELP;

enum { LOWPASS = IMAGE_OWN, HIGHPASS, EDGE, GAUSSIAN, BUTTERWORTH, BFACTOR, BLUR, INVERT, NORMALIZE };
static const option options[] = {
    IMAGE_OPTIONS,           { "lowpass", 0, true },     { "highpass", 0, true }, { "edge", 0, true },
    { "gaussian", 0, true }, { "butterworth", 0, true }, { "bfactor", 0, true },  { "blur", 0, true },
    { "invert", 0, false },  { "normalize", 0, false },  { NULL, 0, false }
};

typedef struct filter {
    const char *lowpass, *highpass, *gaussian, *butterworth; /* as on the command line; NULL = not given */
    double edge, bfactor, blur, order;
    bool has_bfactor, invert, normalize;
    const image *image;
    /* in the unit of image_frequency: where edges begin and end */
    double low[2], high[2], sigma, cutoff;
} filter;

/* The factor at a frequency. */
static wf_val respond(wf_graph *g, wf_vals k, void *user)
{
    const filter *f = user;
    wf_val r = image_frequency(f->image, k), factor = wf_const(g, WF_F32, f->invert ? -1 : 1);
    if (f->lowpass)
        factor = wf_mul(factor, wf_lowpass(r, f->low[0], f->low[1] - f->low[0]));
    if (f->highpass)
        factor = wf_mul(factor, wf_highpass(r, f->high[0], f->high[0] - f->high[1]));
    if (f->gaussian)
        factor = wf_mul(factor, wf_gaussian(r, f->sigma));
    if (f->butterworth)
        factor = wf_mul(factor, wf_butterworth(r, f->cutoff, f->order));
    if (f->has_bfactor)
        factor = wf_mul(factor, wf_bfactor(r, -f->bfactor));
    if (f->blur > 0)
        factor = wf_mul(factor, wf_gaussian(vector_length(k), 0.5 / PI / f->blur));
    return factor;
}

/* Reads "R" or "R,S" as where the edge begins and ends. `sign`: 1, the end is finer; -1, it is coarser. */
static int read_edge(const job *j, const filter *f, const char *name, const char *text, int sign, double at[2])
{
    const char *comma = strchr(text, ',');
    char *first = append(NULL, "%.*s", comma ? (int)(comma - text) : (int)strlen(text), text);
    int result = parse_period(j, f->image, name, first, &at[0]);
    free(first);
    if (result != EXIT_OK)
        return result;
    if (comma) {
        result = parse_period(j, f->image, name, comma + 1, &at[1]);
        if (result == EXIT_OK && sign * (at[1] - at[0]) < 0)
            return misused(j->a.command, "--%s %s: the second resolution must be the %s one", name, text,
                           sign > 0 ? "finer" : "coarser");
        return result;
    }
    wf_spectrum s = image_spectrum(f->image);
    double step = 0; /* of the coarsest axis */
    for (int d = 0; d < s.rank; d++)
        if (s.size[d] > 1 && 1 / ((double)s.size[d] * pixel_along(f->image, d)) > step)
            step = 1 / ((double)s.size[d] * pixel_along(f->image, d));
    at[1] = at[0] + sign * f->edge * step;
    at[1] = at[1] > 0 ? at[1] : 0;
    return EXIT_OK;
}

/* Turns resolutions into frequencies, which needs the pixel size of the file. */
static int read_periods(const job *j, filter *f)
{
    int result = EXIT_OK;
    if (f->lowpass)
        result = read_edge(j, f, "lowpass", f->lowpass, 1, f->low);
    if (f->highpass && result == EXIT_OK)
        result = read_edge(j, f, "highpass", f->highpass, -1, f->high);
    if (f->gaussian && result == EXIT_OK)
        result = parse_period(j, f->image, "gaussian", f->gaussian, &f->sigma);
    if (f->butterworth && result == EXIT_OK) {
        const char *comma = strchr(f->butterworth, ',');
        char *period = append(NULL, "%.*s", comma ? (int)(comma - f->butterworth) : 0, f->butterworth);
        result =
            comma && parse_real(comma + 1, &f->order) && f->order > 0
                ? parse_period(j, f->image, "butterworth", period, &f->cutoff)
                : misused(j->a.command, "--butterworth %s: give a resolution and an order, as 20,4", f->butterworth);
        free(period);
    }
    if (f->has_bfactor && result == EXIT_OK && !(f->image->pixel[2] > 0))
        result = misused(j->a.command, "--bfactor: the pixel size of %s is unknown; --pixel gives it", f->image->path);
    return result;
}

static int take_option(const job *j, filter *f, int o, const char *text)
{
    switch (o) {
    case LOWPASS:
        f->lowpass = text;
        break;
    case HIGHPASS:
        f->highpass = text;
        break;
    case GAUSSIAN:
        f->gaussian = text;
        break;
    case BUTTERWORTH:
        f->butterworth = text;
        break;
    case EDGE:
        if (!parse_real(text, &f->edge) || f->edge < 0)
            return misused(j->a.command, "--edge %s: give a width in Fourier pixels", text);
        break;
    case BFACTOR:
        f->has_bfactor = true;
        if (!parse_real(text, &f->bfactor))
            return misused(j->a.command, "--bfactor %s: give a number of Angstrom^2", text);
        break;
    case BLUR:
        if (!parse_real(text, &f->blur) || f->blur <= 0)
            return misused(j->a.command, "--blur %s: give a standard deviation in pixels", text);
        break;
    case INVERT:
        f->invert = true;
        break;
    default:
        f->normalize = true;
        break;
    }
    return EXIT_OK;
}

int run_filter(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    filter f = { .edge = 2 };
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_option(&j, &f, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    bool fourier = f.lowpass || f.highpass || f.gaussian || f.butterworth || f.has_bfactor || f.blur > 0;
    if (!fourier && !f.invert && !f.normalize)
        return misused(self, "no filter: --lowpass, --highpass, --gaussian, --blur, ...");
    f.image = &in;
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK)
        result = read_periods(&j, &f);
    if (result == EXIT_OK && (fourier || f.invert) && wf_image_filter(in.data, in.data, in.rank, respond, &f) != WF_OK)
        result = failed_in(j.ctx);
    wf_array *out = in.data;
    if (result == EXIT_OK && f.normalize) {
        out = wf_array_normalize(in.data, WF_NORMALIZE_MEAN_STD, image_axes(in.data, in.rank));
        wf_release(in.data);
    }
    if (result == EXIT_OK)
        result = job_save(&j, out, &in);
    else
        wf_release(out);
    return job_end(&j, result);
}
