/* average.c - weft average: images of particles turned and moved onto references, and averaged for each of them. */
#include "images.h"
#include "weft/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char help_average[] =
    "  weft average particles.mrcs views.mrcs -o averages.mrcs\n"
    "  weft average particles.mrcs views.mrcs --rotations 72 --iterations 5 --invert -o averages.mrcs > classes.txt\n\n"
    "Finds for each particle the reference, rotation in the plane and shift that correlate best, averages the particles\n"
    "of each reference, and takes the averages as references of the next iteration. Prints for each particle its number,\n"
    "the reference, the rotation in degrees, the shift y x in pixels, and the correlation, which is at most 1: the\n"
    "reference, rotated and then shifted as by weft transform, is the particle. Images of both files have one shape.\n\n"
    "  --rotations N          rotations of 360/N degrees are tried (default: 36)\n"
    "  --iterations N         (default: 3)\n"
    "  --max-shift D          in pixels (default: an eighth of the image)\n"
    "  --radius R             of the disc that is compared, in pixels (default: half of the image)\n"
    "  --invert               the particles are dark where the references are bright\n" IMAGE_HELP;

enum { ROTATIONS = IMAGE_OWN, ITERATIONS, MAX_SHIFT, RADIUS, INVERT };
static const option options[] = {
    IMAGE_OPTIONS,         { "rotations", 0, true }, { "iterations", 0, true }, { "max-shift", 0, true },
    { "radius", 0, true }, { "invert", 0, false },   { NULL, 0, false }
};

typedef struct place { /* of a particle */
    int64_t reference;
    double angle, shift[2], score; /* degrees; pixels */
} place;

typedef struct averaging {
    wf_context *ctx;
    wf_array *particles;  /* [n, h, w], each of mean 0 and deviation 1 */
    wf_array *references; /* [k, h, w] */
    int64_t n, k, h, w;
    long rotations, iterations;
    double max_shift, radius;
    bool invert;
    place *found; /* [n] */
} averaging;

/* ---- comparison ---- */

/* The half spectra [rotations, k, ...] of all rotations of the references, within the disc, of mean 0 and norm 1. */
static wf_array *turned_spectra(const averaging *a)
{
    wf_array *turned = turned_images(a->references, a->rotations), *spectra = NULL;
    const char *text = "m = clamp(radius + 0.5 - sqrt((x - idiv(nx, 2))**2 + (y - idiv(ny, 2))**2), 0, 1)\n"
                       "t = t - sum(m*t; -2, -1) / sum(m; -2, -1); t = m*t\n"
                       "t = t / max(sqrt(sum(t*t; -2, -1)), 1e-20)";
    wf_arg args[] = { WF_ARG("t", turned), WF_ARG("radius", a->radius) };
    if (turned && wf_text_n(a->ctx, text, (wf_args){ args, 2 }) == WF_OK)
        spectra = wf_fft_r2c(turned, WF_AXES(2, 3), WF_FFT_BACKWARD);
    wf_release(turned);
    return spectra;
}

/* The correlation maps [rotations, k, h, w] of a particle [1, h, w] with all turned references. */
static wf_array *maps_of(const averaging *a, const wf_array *particle, const wf_array *spectra)
{
    wf_array *spectrum = wf_fft_r2c(particle, WF_AXES(1, 2), WF_FFT_BACKWARD), *products = NULL, *maps = NULL;
    if (spectrum) {
        wf_graph *g = wf_begin(a->ctx);
        products = wf_keep(wf_mul(wf_in(g, spectrum), wf_conj(wf_in(g, spectra))));
        if (wf_run(g) == WF_OK)
            maps = wf_fft_c2r(products, a->w, WF_AXES(2, 3), WF_FFT_BACKWARD);
    }
    wf_release(spectrum);
    wf_release(products);
    return maps;
}

/* Finds the place of particle i, that of the largest of all correlations. peaks: [rotations * k, 3]. */
static bool compare(averaging *a, int64_t i, const wf_array *spectra, double *peaks)
{
    int64_t count = a->rotations * a->k;
    wf_peak_search search = { .max_lag = { a->max_shift, a->max_shift } };
    wf_array *particle = wf_view_slice(a->particles, 0, i, i + 1, 1);
    wf_array *maps = particle ? maps_of(a, particle, spectra) : NULL;
    wf_array *found = maps ? wf_correlate_peaks(maps, 2, &search) : NULL;
    bool ok = found && wf_download(found, peaks, (size_t)count * 3 * sizeof *peaks) == WF_OK;
    for (int64_t t = 0; t < count && ok; t++) {
        double score = peaks[3 * t + 2] / sqrt((double)(a->h * a->w));
        if (t == 0 || score > a->found[i].score)
            a->found[i] = (place){
                t % a->k, 360.0 * (double)(t / a->k) / (double)a->rotations, { peaks[3 * t], peaks[3 * t + 1] }, score
            };
    }
    wf_release(particle);
    wf_release(maps);
    wf_release(found);
    return ok;
}

/* ---- averages ---- */

/* The particles, moved back and turned back onto the references. */
static wf_array *aligned(const averaging *a)
{
    double *m = allocate((size_t)a->n * 6, sizeof *m), center[2] = { (double)(a->h / 2), (double)(a->w / 2) };
    for (int64_t i = 0; i < a->n; i++)
        turn_rows(-a->found[i].angle * (PI / 180), center, a->found[i].shift, m + 6 * i);
    wf_interp how = { .interpolation = WF_INTERPOLATE_CUBIC, .border = WF_BORDER_CLAMP };
    wf_array *inverse = array_of(a->ctx, WF_F64, WF_SHAPE(a->n, 2, 3), m);
    wf_array *out = inverse ? wf_transform(a->particles, WF_SCALAR, inverse, &how) : NULL;
    wf_release(inverse);
    free(m);
    return out;
}

/* Replaces the references by the averages of their particles; one without particles becomes 0. */
static bool average(averaging *a)
{
    float *weight = allocate((size_t)(a->k * a->n), sizeof *weight);
    double *count = allocate((size_t)a->k, sizeof *count);
    for (int64_t i = 0; i < a->n; i++)
        count[a->found[i].reference]++;
    for (int64_t i = 0; i < a->n; i++)
        weight[a->found[i].reference * a->n + i] = (float)(1 / count[a->found[i].reference]);
    wf_array *turned = aligned(a), *flat = NULL, *sums = NULL, *averages = NULL;
    wf_array *weights = array_of(a->ctx, WF_F32, WF_SHAPE(a->k, a->n), weight);
    if (turned)
        flat = wf_view_reshape(turned, WF_SHAPE(a->n, a->h * a->w));
    if (flat && weights)
        sums = wf_array_matmul(weights, flat);
    if (sums)
        averages = wf_view_reshape(sums, WF_SHAPE(a->k, a->h, a->w));
    wf_release(turned);
    wf_release(flat);
    wf_release(weights);
    wf_release(sums);
    free(weight);
    free(count);
    if (averages) {
        wf_release(a->references);
        a->references = averages;
    }
    return averages != NULL;
}

static bool iterate(averaging *a)
{
    double *peaks = allocate((size_t)(a->rotations * a->k) * 3, sizeof *peaks);
    bool ok = true;
    for (long t = 0; t < a->iterations && ok; t++) {
        wf_array *spectra = turned_spectra(a);
        ok = spectra != NULL;
        for (int64_t i = 0; i < a->n && ok; i++) {
            ok = compare(a, i, spectra, peaks);
            progress_part(((double)t + (double)(i + 1) / (double)a->n) / (double)a->iterations);
        }
        wf_release(spectra);
        ok = ok && average(a);
    }
    free(peaks);
    return ok;
}

/* ---- the command ---- */

/* Returns a stack [n, h, w] of the image or stack. */
static wf_array *as_stack(const image *i)
{
    wf_shape s = wf_array_shape(i->data);
    return wf_view_reshape(i->data, WF_SHAPE(-1, s.dim[s.rank - 2], s.dim[s.rank - 1]));
}

static int average_particles(job *j, averaging *a, image *particles, image *references)
{
    wf_shape p = wf_array_shape(particles->data), r = wf_array_shape(references->data);
    a->ctx = j->ctx;
    a->h = p.dim[p.rank - 2];
    a->w = p.dim[p.rank - 1];
    if (r.dim[r.rank - 2] != a->h || r.dim[r.rank - 1] != a->w)
        return failed("%s has images of %lld x %lld and %s of %lld x %lld", particles->path, (long long)a->h,
                      (long long)a->w, references->path, (long long)r.dim[r.rank - 2], (long long)r.dim[r.rank - 1]);
    if (same_pixels(particles, references) != EXIT_OK)
        return EXIT_FAILED;
    double least = (double)(a->h < a->w ? a->h : a->w);
    a->max_shift = a->max_shift > 0 ? a->max_shift : fmax(1, floor(least / 8));
    a->radius = a->radius > 0 ? a->radius : floor(least / 2) - 1;
    wf_array *stack = as_stack(particles);
    a->references = as_stack(references);
    if (stack)
        a->particles = wf_array_normalize(stack, WF_NORMALIZE_MEAN_STD, WF_AXES(1, 2));
    wf_release(stack);
    if (!a->particles || !a->references || (a->invert && !negate(a->references)))
        return failed_in(j->ctx);
    a->n = wf_array_shape(a->particles).dim[0];
    a->k = wf_array_shape(a->references).dim[0];
    a->found = allocate((size_t)a->n, sizeof *a->found);
    progress_begin("averaging");
    bool ok = iterate(a);
    particles->meta.is_stack = true;
    particles->meta.extended_from = NULL;
    int result = job_save(j, ok ? wf_retain(a->references) : NULL, particles);
    progress_end();
    for (int64_t i = 0; i < a->n && result == EXIT_OK; i++)
        printf("%lld %lld %.3f %.3f %.3f %.4f\n", (long long)i, (long long)a->found[i].reference, a->found[i].angle,
               a->found[i].shift[0] + 0.0, a->found[i].shift[1] + 0.0, a->found[i].score);
    return result;
}

int run_average(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 2);
    averaging a = { .rotations = 36, .iterations = 3 };
    image particles = { .rank = 0 }, references = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == ROTATIONS && !parse_int(j.a.value, 1, 3600, &a.rotations))
            return misused(self, "--rotations %s: give a number of angles", j.a.value);
        if (o == ITERATIONS && !parse_int(j.a.value, 1, 1000, &a.iterations))
            return misused(self, "--iterations %s: give a number", j.a.value);
        if (o == MAX_SHIFT && (!parse_real(j.a.value, &a.max_shift) || a.max_shift <= 0))
            return misused(self, "--max-shift %s: give pixels", j.a.value);
        if (o == RADIUS && (!parse_real(j.a.value, &a.radius) || a.radius <= 0))
            return misused(self, "--radius %s: give pixels", j.a.value);
        a.invert = a.invert || o == INVERT;
    }
    int result = job_begin(&j, 2, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &particles);
    if (result == EXIT_OK)
        result = job_load(&j, 1, &references);
    if (result == EXIT_OK && (particles.rank != 2 || references.rank != 2))
        result = failed("%s: give stacks of images", particles.rank != 2 ? particles.path : references.path);
    if (result == EXIT_OK)
        result = need_even_pixels(&particles, "a rotation");
    if (result == EXIT_OK)
        result = average_particles(&j, &a, &particles, &references);
    wf_release(particles.data);
    wf_release(references.data);
    wf_release(a.particles);
    wf_release(a.references);
    free(a.found);
    return job_end(&j, result);
}
