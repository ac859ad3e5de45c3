/* sample.c - weft sample: computes the images that an electron microscope would record of the specimen.
 *
 * The model (weak phase object; Kirkland, Advanced Computing in Electron Microscopy, 2010, chapters 2 and 3):
 *   phase     sigma_e * projected potential of the particles, plus white noise of the ice
 *   transfer  chi = pi lambda df k^2 - pi/2 Cs lambda^3 k^4;  T = 2 (sqrt(1-A^2) sin chi + A cos chi) exp(-B k^2 / 4)
 *   counts    Poisson of dose * pixel^2 * (1 - T applied to the phase) * ice thickness, in electrons
 * Images are padded to a power of two, transformed, multiplied by T (operator text), and transformed back.
 */
#include "../cli.h"
#include "fft.h"
#include "specimen.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_sample[] =
    "  weft sample -o micrograph.mrc                        2048 x 2048, 1.5 A per pixel\n"
    "  weft sample -o micrograph.mrc --size 4096 --pixel 0.8 --defocus 1.2 --carbon\n"
    "  weft sample -o particles.mrcs --stack 200 --box 160\n"
    "  weft sample -o particle.mrc --volume --box 128\n\n"
    "Makes a micrograph of many particles in ice, or a stack of images of single particles, or the particle as a volume.\n"
    "The particle is a barrel-shaped protein of 115 x 115 x 150 Angstrom, in random directions. Images have the phase\n"
    "contrast of an electron microscope, and the noise of ice and of counted electrons. The same seed gives the same\n"
    "image.\n\n"
    "  -o FILE                .mrc (with the pixel size), .mrcs, .npy or .tif; `weft view` then makes a PNG\n"
    "  --size N               side of the micrograph in pixels, 64 to 4096 (default 2048)\n"
    "  --particles N          number of particles in the micrograph (default: in proportion to its area)\n"
    "  --stack N              a stack of N single particles, each centred, with a defocus within 0.2 um of --defocus\n"
    "  --volume               a volume: the potential of the particle, in volts\n"
    "  --box N                side of a particle's image or volume (default: 1.5 times the particle)\n"
    "  --pixel A              Angstrom per pixel (default 1.5)\n"
    "  --defocus UM           micrometres, positive is underfocus (default 1.5)\n"
    "  --voltage KV           acceleration of the electrons (default 300)\n"
    "  --cs MM                spherical aberration (default 2.7)\n"
    "  --contrast A           amplitude contrast (default 0.07)\n"
    "  --bfactor B            fall of the contrast towards high frequencies, Angstrom^2 (default 60)\n"
    "  --dose D               electrons per square Angstrom (default 40); 0: no noise\n"
    "  --carbon               the micrograph shows the edge of the carbon film\n"
    "  --seed N               number that selects the random values (default 1)\n";

enum { OUT, SIZE_, PARTICLES, STACK, VOLUME, BOX, PIXEL, DEFOCUS, VOLTAGE, CS, CONTRAST, BFACTOR, DOSE, CARBON, SEED };
static const option options[] = { { "output", 'o', true }, { "size", 0, true },     { "particles", 0, true },
                                  { "stack", 0, true },    { "volume", 0, false },  { "box", 0, true },
                                  { "pixel", 0, true },    { "defocus", 0, true },  { "voltage", 0, true },
                                  { "cs", 0, true },       { "contrast", 0, true }, { "bfactor", 0, true },
                                  { "dose", 0, true },     { "carbon", 0, false },  { "seed", 0, true },
                                  { NULL, 0, false } };

typedef struct sample {
    const command *self;
    wf_context *ctx;
    const char *path;
    long size, particles, stack, box, seed;
    double pixel, defocus, voltage, cs, contrast, bfactor, dose; /* as on the command line */
    bool volume, carbon;
    random_state random;
    specimen specimen;
} sample;

static const char *take_option(sample *s, int o, const char *text)
{
    const struct {
        int option;
        double *value, low, high;
        const char *expected;
    } reals[] = { { PIXEL, &s->pixel, 0.2, 20, "0.2 to 20 Angstrom" },
                  { DEFOCUS, &s->defocus, -20, 20, "-20 to 20 um" },
                  { VOLTAGE, &s->voltage, 20, 1500, "20 to 1500 kV" },
                  { CS, &s->cs, 0, 20, "0 to 20 mm" },
                  { CONTRAST, &s->contrast, 0, 1, "0 to 1" },
                  { BFACTOR, &s->bfactor, 0, 5000, "0 to 5000 square Angstrom" },
                  { DOSE, &s->dose, 0, 10000, "0 to 10000 electrons per square Angstrom" } };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (reals[i].option == o)
            return parse_real(text, reals[i].value) && *reals[i].value >= reals[i].low &&
                           *reals[i].value <= reals[i].high
                       ? NULL
                       : reals[i].expected;
    switch (o) {
    case OUT:
        s->path = text;
        return NULL;
    case SIZE_:
        return parse_int(text, 64, 4096, &s->size) ? NULL : "64 to 4096 pixels";
    case PARTICLES:
        return parse_int(text, 0, 100000, &s->particles) ? NULL : "0 to 100000 particles";
    case STACK:
        return parse_int(text, 1, 100000, &s->stack) ? NULL : "1 to 100000 images";
    case BOX:
        return parse_int(text, 16, 1024, &s->box) ? NULL : "16 to 1024 pixels";
    case VOLUME:
        s->volume = true;
        return NULL;
    case CARBON:
        s->carbon = true;
        return NULL;
    default:
        return parse_int(text, 0, LONG_MAX, &s->seed) ? NULL : "a whole number, 0 or more";
    }
}

/* ---- the microscope ---- */

static double wavelength(double volts) /* Angstrom, relativistic */
{
    return 12.2642598 / sqrt(volts * (1 + 0.978475e-6 * volts));
}

/* Phase per V * Angstrom. */
static double interaction(double volts)
{
    const double rest = 510998.95069; /* eV */
    return 2 * PI / (wavelength(volts) * volts) * (rest + volts) / (2 * rest + volts);
}

static int power_of_two(long n)
{
    int p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* The transfer function of m images, [m, p, p], at the frequencies of a transform; defocus: [m, 1, 1] in Angstrom. */
static wf_array *transfer_function(sample *s, int64_t m, int64_t p, const wf_array *defocus)
{
    static const char text[] = "ky = (y < ny/2 ? y : y - ny) / (ny * pixel)\n"
                               "kx = (x < nx/2 ? x : x - nx) / (nx * pixel)\n"
                               "k2 = kx*kx + ky*ky\n"
                               "chi = pi * lambda * defocus * k2 - pi/2 * cs * lambda**3 * k2*k2\n"
                               "t = 2 * (w * sin(chi) + a * cos(chi)) * exp(-b/4 * k2)";
    wf_array *t = wf_empty(s->ctx, WF_F32, WF_SHAPE(m, p, p));
    double lambda = wavelength(1e3 * s->voltage);
    wf_args args = WF_ARGS(WF_ARG("t", t), WF_ARG("defocus", defocus), WF_ARG("pixel", s->pixel),
                           WF_ARG("lambda", lambda), WF_ARG("cs", 1e7 * s->cs), WF_ARG("a", s->contrast),
                           WF_ARG("w", sqrt(1 - s->contrast * s->contrast)), WF_ARG("b", s->bfactor));
    if (wf_text_n(s->ctx, text, args) == WF_OK)
        return t;
    wf_release(t);
    return NULL;
}

static void transform(float *data, int64_t m, int p, bool inverse)
{
    size_t each = 2 * (size_t)p * (size_t)p;
    for (int64_t i = 0; i < m; i++)
        if (!fft_2d(data + (size_t)i * each, p, p, inverse))
            exit(failed("out of memory"));
}

/* Applies the transfer function to m images [m, p, p, 2], in place. false: the context has the error. */
static bool transfer(sample *s, wf_array *images, const wf_array *defocus)
{
    wf_shape shape = wf_array_shape(images);
    int64_t m = shape.dim[0], p = shape.dim[1];
    void *data;
    wf_array *t = transfer_function(s, m, p, defocus), *by = t ? wf_view_reshape(t, WF_SHAPE(m, p, p, 1)) : NULL;
    bool ok = by && wf_map(images, &data, NULL) == WF_OK;
    if (ok)
        transform(data, m, (int)p, false);
    ok = ok && wf_text(s->ctx, "images *= by", images, by) == WF_OK;
    if (ok)
        transform(data, m, (int)p, true);
    wf_release(by);
    wf_release(t);
    return ok;
}

/* ---- specimen support, noise and detector ---- */

typedef struct field {                   /* carbon film and ice of a micrograph */
    double cx, cy, radius;               /* hole in the film, in pixels; radius 0 = no film */
    double slope_x, slope_y, wave[3][4]; /* terms of the thickness of the ice */
} field;

static void field_init(field *f, sample *s, bool film)
{
    random_state *r = &s->random;
    double angle = 2 * PI * random_uniform(r), n = (double)s->size;
    *f = (field){ .slope_x = 0.05 * cos(angle), .slope_y = 0.05 * sin(angle) };
    for (int i = 0; i < 3; i++) {
        double direction = 2 * PI * random_uniform(r), waves = (1 + i) * PI;
        f->wave[i][0] = 0.02 * random_uniform(r);
        f->wave[i][1] = waves * cos(direction);
        f->wave[i][2] = waves * sin(direction);
        f->wave[i][3] = 2 * PI * random_uniform(r);
    }
    f->radius = film ? 1.1 * n : 0;
    f->cx = -0.05 * n;
    f->cy = 0.3 * n;
}

static bool on_carbon(const field *f, double y, double x)
{
    double dy = y - f->cy, dx = x - f->cx,
           wobble = 1 + 0.004 * sin(9 * atan2(dy, dx)) + 0.002 * sin(31 * atan2(dy, dx));
    return f->radius > 0 && dx * dx + dy * dy > f->radius * f->radius * wobble * wobble;
}

static double thickness(const field *f, double v, double u) /* of the ice, as relative brightness; -1/2 <= u, v < 1/2 */
{
    double t = 1 + f->slope_x * u + f->slope_y * v;
    for (int i = 0; i < 3; i++)
        t += f->wave[i][0] * cos(f->wave[i][1] * u + f->wave[i][2] * v + f->wave[i][3]);
    return t;
}

/* Counts electrons in n x n pixels of the image [p][p][2] at `from`. */
static void detect(sample *s, const field *f, const float *from, int p, int64_t n, float *to)
{
    double flux = s->dose > 0 ? s->dose * s->pixel * s->pixel : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double lambda = flux * (1 - (double)from[2 * (i * p + j)]);
            if (f) {
                lambda *= thickness(f, (double)i / (double)n - 0.5, (double)j / (double)n - 0.5);
                if (on_carbon(f, (double)i, (double)j))
                    lambda *= 0.84;
            }
            if (lambda < 0)
                lambda = 0;
            double count = s->dose > 0 ? floor(lambda + sqrt(lambda) * random_normal(&s->random) + 0.5) : lambda;
            to[i * n + j] = (float)(count > 0 ? count : 0);
        }
}

/* Adds the phase noise of ice and film to the real parts of [p][p][2]. */
static void add_ice(sample *s, const field *f, float *image, int p)
{
    if (s->dose <= 0)
        return;
    double noise = 0.05 / s->pixel;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            double amount = f && on_carbon(f, i, j) ? 3 * noise : noise;
            image[2 * ((size_t)i * (size_t)p + (size_t)j)] += (float)(amount * random_normal(&s->random));
        }
}

static void scale_phase(float *image, int p, double by)
{
    for (size_t i = 0; i < (size_t)p * (size_t)p; i++)
        image[2 * i] *= (float)by;
}

/* Finds places where particles touch neither each other nor the film. Returns their number, which is below `wanted` if
 * there is no room. */
static long scatter(sample *s, const field *f, long wanted, double (*place)[2])
{
    double distance = 1.0 * SPECIMEN_DIAMETER / s->pixel, margin = 0.25 * distance, n = (double)s->size;
    long found = 0;
    for (long tries = 0; found < wanted && tries < 200 * wanted; tries++) {
        double y = margin + (n - 2 * margin) * random_uniform(&s->random),
               x = margin + (n - 2 * margin) * random_uniform(&s->random);
        bool free_place = !on_carbon(f, y, x);
        for (long i = 0; i < found && free_place; i++) {
            double dy = y - place[i][0], dx = x - place[i][1];
            free_place = dy * dy + dx * dx > distance * distance;
        }
        if (!free_place)
            continue;
        place[found][0] = y;
        place[found++][1] = x;
    }
    return found;
}

/* ---- the three kinds of output ---- */

static wf_array *zeros(sample *s, wf_shape shape, float **data)
{
    void *at = NULL;
    wf_array *a = wf_full(s->ctx, WF_F32, shape, 0);
    if (wf_map(a, &at, NULL) != WF_OK) {
        wf_release(a);
        return NULL;
    }
    *data = at;
    return a;
}

static wf_array *micrograph(sample *s)
{
    int p = power_of_two(s->size);
    float *image = NULL, *counts = NULL;
    wf_array *images = zeros(s, WF_SHAPE(1, p, p, 2), &image), *out = zeros(s, WF_SHAPE(s->size, s->size), &counts);
    wf_array *defocus = wf_full(s->ctx, WF_F64, WF_SHAPE(1, 1, 1), 1e4 * s->defocus);
    bool ok = images && out && defocus;
    field f;
    field_init(&f, s, s->carbon);
    double side = (double)s->size * s->pixel / SPECIMEN_DIAMETER;
    long wanted = s->particles >= 0 ? s->particles : (long)(0.42 * side * side + 0.5);
    double(*place)[2] = allocate((size_t)wanted + 1, sizeof *place);
    long found = scatter(s, &f, wanted, place);
    if (s->particles > found)
        fprintf(stderr, "weft: room for %ld particles only\n", found);
    for (long i = 0; i < found && ok; i++) {
        specimen_project(&s->specimen, &s->random, image, s->size, s->size, 2 * p, 2, place[i][0], place[i][1],
                         s->pixel);
        progress_part(0.4 * (double)i / (double)found);
    }
    free(place);
    if (ok) {
        scale_phase(image, p, interaction(1e3 * s->voltage));
        add_ice(s, &f, image, p);
        progress_part(0.5);
        ok = transfer(s, images, defocus);
        progress_part(0.8);
    }
    if (ok)
        detect(s, &f, image, p, s->size, counts);
    wf_release(images);
    wf_release(defocus);
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}

static wf_array *stack(sample *s)
{
    enum { CHUNK = 32 };
    int p = power_of_two(s->box + s->box / 2);
    float *counts = NULL;
    wf_array *out = zeros(s, WF_SHAPE(s->stack, s->box, s->box), &counts);
    bool ok = out != NULL;
    for (long first = 0; first < s->stack && ok; first += CHUNK) {
        long m = s->stack - first < CHUNK ? s->stack - first : CHUNK;
        float *image = NULL;
        void *df = NULL;
        wf_array *images = zeros(s, WF_SHAPE(m, p, p, 2), &image),
                 *defocus = wf_empty(s->ctx, WF_F64, WF_SHAPE(m, 1, 1));
        ok = images && wf_map(defocus, &df, NULL) == WF_OK;
        size_t each = 2 * (size_t)p * (size_t)p;
        for (long i = 0; i < m && ok; i++) {
            float *at = image + (size_t)i * each;
            double y = (double)s->box / 2 + random_normal(&s->random),
                   x = (double)s->box / 2 + random_normal(&s->random);
            ((double *)df)[i] = 1e4 * (s->defocus + 0.4 * (random_uniform(&s->random) - 0.5));
            specimen_project(&s->specimen, &s->random, at, s->box, s->box, 2 * p, 2, y, x, s->pixel);
            scale_phase(at, p, interaction(1e3 * s->voltage));
            add_ice(s, NULL, at, p);
        }
        ok = ok && transfer(s, images, defocus);
        for (long i = 0; i < m && ok; i++)
            detect(s, NULL, image + (size_t)i * each, p, s->box, counts + (first + i) * s->box * s->box);
        wf_release(images);
        wf_release(defocus);
        progress_part((double)(first + m) / (double)s->stack);
    }
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}

static wf_array *volume(sample *s)
{
    float *data = NULL;
    wf_array *out = zeros(s, WF_SHAPE(s->box, s->box, s->box), &data);
    if (out)
        specimen_fill(&s->specimen, data, s->box, s->pixel);
    return out;
}

static int make(sample *s)
{
    random_seed(&s->random, (uint64_t)s->seed);
    specimen_init(&s->specimen, &s->random);
    progress_begin("imaging");
    wf_array *a = s->volume ? volume(s) : s->stack ? stack(s) : micrograph(s);
    progress_end();
    specimen_free(&s->specimen);
    wf_meta meta = { .size = sizeof meta, .is_stack = s->stack > 0, .spacing = { s->pixel, s->pixel, s->pixel } };
    int result = a && wf_save(a, s->path, &meta) == WF_OK ? EXIT_OK : failed_in(s->ctx);
    wf_release(a);
    return result;
}

int run_sample(const command *self, int argc, char **argv)
{
    sample s = { .self = self,
                 .size = 2048,
                 .particles = -1,
                 .seed = 1,
                 .pixel = 1.5,
                 .defocus = 1.5,
                 .voltage = 300,
                 .cs = 2.7,
                 .contrast = 0.07,
                 .bfactor = 60,
                 .dose = 40 };
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    for (int o = next_argument(&a); o != ARG_END; o = next_argument(&a)) {
        if (o == ARG_OPERAND)
            return misused(self, "'%s': the name of the output comes after -o", a.value);
        if (o < 0)
            return ended(o);
        const char *text = a.value, *expected = take_option(&s, o, text);
        if (expected)
            return misused(self, "--%s %s: give %s", options[o].name, text, expected);
    }
    if (!s.path)
        return misused(self, "no output: -o FILE names it");
    if (s.volume && s.stack)
        return misused(self, "--volume or --stack, not both");
    if (!s.box)
        s.box = 2 * (long)(0.75 * SPECIMEN_DIAMETER / s.pixel + 0.5);
    if (s.box < 16)
        s.box = 16;
    a.host_only = true;
    s.ctx = open_context(&a);
    if (!s.ctx)
        return EXIT_USAGE;
    int result = check_output(&a, s.ctx, s.path, 0);
    wf_format format;
    if (result == EXIT_OK && wf_format_named(s.ctx, s.path, &format) == WF_OK && format == WF_FORMAT_PNG)
        result = misused(self, "-o %s: PNG cannot store f32: give a .mrc, .npy or .tif; weft view makes a PNG of it",
                         s.path);
    if (result == EXIT_OK)
        result = make(&s);
    wf_context_free(s.ctx);
    return result;
}
