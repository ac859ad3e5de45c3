/* ctf.c - weft ctf: contrast transfer functions, drawn, found in images, and corrected. */
#include "images.h"
#include <math.h>
#include <stdlib.h>

const char help_ctf[] =
    "  weft ctf micrograph.mrc --fit                          prints defocus, astigmatism, angle, correlation\n"
    "  weft ctf micrograph.mrc --defocus 1.5 -o flipped.mrc   phases flipped where the CTF is negative\n"
    "  weft ctf particles.mrcs --fit --wiener 0.1 -o corrected.mrcs\n"
    "  weft ctf views.mrcs --defocus 1.2,0.05,30 --multiply -o imaged.mrcs\n"
    "  weft ctf --size 512 --pixel 1.2 --defocus 1.5 -o ctf.mrc      the function itself, frequency 0 in the middle\n\n" DEFOCUS_HELP
    "  --fit                  finds these from the power spectrum, for each image\n"
    "  --range LOW,HIGH       defoci of the search (default: 0.2,5)\n"
    "  --astigmatism A        the largest of the search (default: 0.1; 0: none)\n"
    "  --resolution LOW,HIGH  of the search, in Angstrom (default: 30, and 5 or 2.4 pixels)\n"
    "  --window N             pixels of the power spectrum's windows (default: 512, or the image)\n" MICROSCOPE_HELP
    "  --phase DEG            shift of a phase plate\n"
    "What is done, one of these:\n"
    "  --flip                 changes the sign where the CTF is negative (the default)\n"
    "  --multiply             multiplies by the CTF\n"
    "  --wiener S             multiplies by CTF / (CTF^2 + S), S the noise over the signal\n"
    "  --size N               an image of the function, N pixels wide, without a file; with --multiply its square\n" IMAGE_HELP;

enum {
    DEFOCUS = IMAGE_OWN,
    FIT = DEFOCUS + OPTICS_COUNT,
    RANGE,
    ASTIGMATISM,
    RESOLUTION,
    WINDOW,
    PHASE,
    FLIP,
    MULTIPLY,
    WIENER,
    SIZE
};
static const option options[] = { IMAGE_OPTIONS,
                                  OPTICS_OPTIONS,
                                  { "fit", 0, false },
                                  { "range", 0, true },
                                  { "astigmatism", 0, true },
                                  { "resolution", 0, true },
                                  { "window", 0, true },
                                  { "phase", 0, true },
                                  { "flip", 0, false },
                                  { "multiply", 0, false },
                                  { "wiener", 0, true },
                                  { "size", 0, true },
                                  { NULL, 0, false } };
static const double degrees = PI / 180;

typedef struct correction {
    wf_ctf_search search;
    double ctf[WF_CTF_MEMBERS];
    double wiener;
    long window, size;
    int how; /* FLIP, MULTIPLY or WIENER */
    bool given, fit;
    const image *image;
} correction;

static wf_val value_at(const correction *c, wf_val gy, wf_val gx)
{
    wf_ctf ctf = { .voltage = WF_V(c->ctf[CTF_VOLTAGE]),
                   .cs = WF_V(c->ctf[CTF_CS]),
                   .amplitude = WF_V(c->ctf[CTF_AMPLITUDE]),
                   .phase_shift = WF_V(c->ctf[CTF_PHASE_SHIFT]),
                   .defocus = WF_V(c->ctf[CTF_DEFOCUS]),
                   .astigmatism = WF_V(c->ctf[CTF_ASTIGMATISM]),
                   .angle = WF_V(c->ctf[CTF_ANGLE]) };
    return wf_ctf_value(&ctf, gy, gx);
}

static wf_val respond(wf_graph *g, wf_vals k, void *user)
{
    const correction *c = user;
    (void)g;
    wf_val v = value_at(c, wf_div(k.at[0], pixel_along(c->image, 0)), wf_div(k.at[1], pixel_along(c->image, 1)));
    switch (c->how) {
    case MULTIPLY:
        return v;
    case WIENER:
        return wf_div(v, wf_add(wf_mul(v, v), c->wiener));
    default:
        return wf_select(wf_lt(v, 0), wf_const(v.h.graph, WF_F32, -1), 1);
    }
}

/* ---- search ---- */
/* Sets `found` [images, 4] to what the search finds. */
static int find(job *j, correction *c, double *found)
{
    const image *in = c->image;
    wf_spectrum s = image_spectrum(in);
    int64_t least = s.size[0] < s.size[1] ? s.size[0] : s.size[1], n = image_count(in->data, 2);
    int64_t window = c->window && c->window < least ? c->window : least < 512 ? least : c->window ? c->window : 512;
    window = least < window ? least : window;
    c->search.pixel = in->pixel[2];
    c->search.voltage = c->ctf[CTF_VOLTAGE];
    c->search.cs = c->ctf[CTF_CS];
    c->search.amplitude = c->ctf[CTF_AMPLITUDE];
    c->search.phase_shift = c->ctf[CTF_PHASE_SHIFT];
    wf_array *power = wf_power_spectrum(in->data, window), *fit = power ? wf_ctf_fit(power, &c->search) : NULL;
    bool ok = fit && wf_download(fit, found, (size_t)n * 4 * sizeof *found) == WF_OK;
    wf_release(power);
    wf_release(fit);
    return ok ? EXIT_OK : failed_in(j->ctx);
}

/* Corrects each image by its own function, in place. */
static int correct(job *j, correction *c, image *in, const double *found)
{
    int64_t n = image_count(in->data, 2);
    wf_spectrum s = image_spectrum(in);
    wf_array *flat = wf_view_reshape(in->data, WF_SHAPE(-1, s.size[0], s.size[1]));
    bool ok = flat != NULL;
    for (int64_t i = 0; i < (found ? n : 1) && ok; i++) {
        image one = *in;
        for (int k = 0; k < 3 && found; k++)
            c->ctf[CTF_DEFOCUS + k] = found[4 * i + k];
        one.data = found ? wf_view_at(flat, 0, i) : wf_retain(in->data);
        ok = one.data && wf_image_filter(one.data, one.data, one.rank, respond, c) == WF_OK;
        wf_release(one.data);
    }
    wf_release(flat);
    return ok ? job_save(j, wf_retain(in->data), in) : failed_in(j->ctx);
}

static int work_on_file(job *j, correction *c)
{
    image in = { .rank = 0 };
    int result = job_load(j, 0, &in);
    double *found = NULL;
    c->image = &in;
    if (result == EXIT_OK && in.rank != 2)
        result =
            failed("%s: the CTF is that of images, and this is a volume; --stack says that it is a stack", in.path);
    if (result == EXIT_OK && !(in.pixel[2] > 0))
        result = misused(j->a.command, "the pixel size of %s is unknown; --pixel gives it", in.path);
    if (result == EXIT_OK && c->fit)
        result = need_even_pixels(&in, "--fit");
    int64_t n = result == EXIT_OK ? image_count(in.data, 2) : 0;
    if (result == EXIT_OK && c->fit) {
        found = allocate((size_t)n * 4, sizeof *found);
        result = find(j, c, found);
    }
    if (result == EXIT_OK && j->out)
        result = correct(j, c, &in, found);
    progress_end();
    for (int64_t i = 0; i < n && found && result == EXIT_OK; i++) {
        const double *f = found + 4 * i;
        printf("%lld  defocus %.4f um  astigmatism %.4f um  angle %.1f deg  correlation %.3f\n", (long long)i, f[0],
               f[1], f[2] / degrees, f[3]);
    }
    wf_release(in.data);
    free(found);
    return result;
}

/* An image of the function, or of its square. */
static int draw_function(job *j, const correction *c)
{
    const double *pixel = j->facts.spacing;
    wf_shape shape = WF_SHAPE(c->size, c->size);
    wf_spectrum s = { .layout = WF_LAYOUT_FC, .dtype = WF_F64, .rank = 2, .size = { c->size, c->size } };
    image none = { .meta = { .size = sizeof none.meta } };
    wf_array *out = wf_full(j->ctx, WF_F32, shape, 0);
    wf_graph *g = wf_begin(j->ctx);
    wf_val y = wf_freq(g, &s, 0, wf_iota(g, shape, 0)), x = wf_freq(g, &s, 1, wf_iota(g, shape, 1));
    wf_val v = value_at(c, wf_div(y, pixel[1]), wf_div(x, pixel[2]));
    if (out)
        wf_out(g, out, c->how == MULTIPLY ? wf_mul(v, v) : v);
    bool ok = wf_run(g) == WF_OK && out;
    if (!ok) {
        wf_release(out);
        out = NULL;
    }
    return job_save(j, out, &none);
}

/* ---- command line ---- */
static int take_option(const job *j, correction *c, int o, const char *text)
{
    const command *self = j->a.command;
    wf_ctf_search *s = &c->search;
    struct {
        int o;
        double *value, least, most;
    } numbers[] = { { ASTIGMATISM, &s->astigmatism, 0, 10 },
                    { PHASE, &c->ctf[CTF_PHASE_SHIFT], -360, 360 },
                    { WIENER, &c->wiener, 1e-9, 1e9 } };
    if (o == FLIP || o == MULTIPLY || o == WIENER) {
        if (c->how && c->how != o)
            return misused(self, "--%s or --%s, not both", options[c->how].name, options[o].name);
        c->how = o;
    }
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (numbers[k].o == o && (!parse_real(text, numbers[k].value) || *numbers[k].value < numbers[k].least ||
                                  *numbers[k].value > numbers[k].most))
            return misused(self, "--%s %s: give a number from %g to %g", options[o].name, text, numbers[k].least,
                           numbers[k].most);
    if (o >= DEFOCUS && o < FIT) {
        c->given = c->given || o == DEFOCUS;
        return take_optics(j, c->ctf, o - DEFOCUS, text);
    }
    switch (o) {
    case FIT:
        c->fit = true;
        break;
    case PHASE:
        c->ctf[CTF_PHASE_SHIFT] *= degrees;
        break;
    case RANGE:
        return parse_two(text, &s->least, &s->most) && s->least < s->most
                   ? EXIT_OK
                   : misused(self, "--range %s: give two defoci in micrometres, as 0.5,3", text);
    case RESOLUTION:
        return parse_two(text, &s->low, &s->high) && s->low > s->high && s->high > 0
                   ? EXIT_OK
                   : misused(self, "--resolution %s: give two resolutions in Angstrom, as 30,5", text);
    case WINDOW:
        return parse_int(text, 16, 1 << 14, &c->window) ? EXIT_OK
                                                        : misused(self, "--window %s: give pixels, from 16", text);
    case SIZE:
        return parse_int(text, 1, 1 << 15, &c->size) ? EXIT_OK : misused(self, "--size %s: give pixels", text);
    default:
        break;
    }
    return EXIT_OK;
}

int run_ctf(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    correction c = { .search = { .astigmatism = 0.1 }, .ctf = { OPTICS_DEFAULTS } };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_option(&j, &c, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    if (c.given == c.fit)
        return misused(self, c.fit ? "--defocus or --fit, not both" : "no defocus: --defocus gives it, --fit finds it");
    if (c.size && (j.ins || c.fit))
        return misused(self, "--size is for the function of --defocus, without a file");
    if (c.size && !(j.facts.spacing[0] > 0))
        return misused(self, "--size: --pixel gives the pixel size");
    int result = job_begin(&j, c.size ? 0 : 1, c.given || j.out);
    if (result == EXIT_OK)
        result = c.size ? draw_function(&j, &c) : work_on_file(&j, &c);
    return job_end(&j, result);
}
