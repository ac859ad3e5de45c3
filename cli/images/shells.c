/* shells.c - weft radial: averages over shells; weft fsc: the correlation of two volumes or images by resolution. Both
 * print a table or draw a plot. */
#include "../common/plot.h"
#include "images.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLUE = 0x1f5fa8, ORANGE = 0xd06010, GREY = 0x888888 };

/* Curves over the shells of an image. */
typedef struct curves {
    const image *image;
    int64_t shells;
    double *value; /* [shells] */
    bool real;     /* shells are radii in pixels, not frequencies */
} curves;

/* The smallest extent above 1, which the shells count. */
static double shell_extent(const image *i)
{
    wf_spectrum s = image_spectrum(i);
    int64_t n = 0;
    for (int d = 0; d < s.rank; d++)
        if (s.size[d] > 1 && (!n || s.size[d] < n))
            n = s.size[d];
    return n ? (double)n : 1;
}

/* Resolution of a shell in Angstrom, or in pixels if the pixel size is unknown; infinity for shell 0. */
static double shell_resolution(const image *i, double shell)
{
    double pixel = i->pixel[2] > 0 ? i->pixel[2] : 1;
    return shell > 0 ? shell_extent(i) * pixel / shell : INFINITY;
}

static const char *unit_of(const image *i) { return i->pixel[2] > 0 ? "A" : "px"; }

static void print_curve(const curves *c, const char *name)
{
    if (c->real)
        printf("# radius (px)  %s\n", name);
    else
        printf("# shell  resolution (%s)  %s\n", unit_of(c->image), name);
    for (int64_t k = 0; k < c->shells; k++)
        if (c->real)
            printf("%lld %.9g\n", (long long)k, c->value[k]);
        else
            printf("%lld %.6g %.9g\n", (long long)k, shell_resolution(c->image, (double)k), c->value[k]);
}

/* A plot of the curve, which the caller frees. */
static plot *plot_of(const curves *c, const char *title, const char *name)
{
    plot *p = allocate(1, sizeof *p);
    int every = (int)(c->shells / PLOT_POINTS) + 1;
    double pixel = c->image->pixel[2] > 0 ? c->image->pixel[2] : 1, low = INFINITY, high = -INFINITY;
    p->title = title;
    p->y_unit = "";
    p->x_title = c->real ? "radius (px)" : c->image->pixel[2] > 0 ? "resolution (A)" : "resolution (px)";
    p->linear = true;
    p->reciprocal = !c->real;
    p->charts = p->series = 1;
    p->name[0] = name;
    p->colour[0] = BLUE;
    for (int64_t k = 0; k < c->shells; k += every) {
        p->x[p->points] = c->real ? (double)k : (double)k / (shell_extent(c->image) * pixel);
        p->chart[0].y[0][p->points++] = c->value[k];
        if (k < 2 + c->shells / 40 || !isfinite(c->value[k]) || c->real)
            continue; /* the first shells of power spectra dwarf the others */
        low = c->value[k] < low ? c->value[k] : low;
        high = c->value[k] > high ? c->value[k] : high;
    }
    if (high > low) {
        p->low = low;
        p->high = high;
    }
    return p;
}

/* Adds a horizontal line. */
static void add_level(plot *p, double y, const char *name, unsigned colour)
{
    int s = p->series++;
    p->name[s] = name;
    p->colour[s] = colour;
    p->dashed[s] = true;
    for (int k = 0; k < p->points; k++)
        p->chart[0].y[s][k] = k == 0 || k == p->points - 1 ? y : NAN;
}

/* A message if shells are no resolutions, as axes have different pixel sizes. Returns an exit code. */
static int check_shells(const image *i) { return need_even_pixels(i, "a shell of one resolution"); }

static int check_plot(const job *j)
{
    if (j->out && !has_suffix(j->out, ".svg") && !has_suffix(j->out, ".png"))
        return misused(j->a.command, "-o %s: the plot is a picture; give a name that ends in .svg or .png", j->out);
    return EXIT_OK;
}

/* Sets c->value to the mean of curves [batch..., shells]; releases the array. Returns an exit code. */
static int take_curve(job *j, curves *c, wf_array *found)
{
    wf_array *rows = found ? wf_view_reshape(found, WF_SHAPE(-1, c->shells)) : NULL;
    wf_array *mean = rows ? wf_array_mean(rows, WF_AXES(0) | WF_DROP_AXES) : NULL;
    c->value = allocate((size_t)c->shells, sizeof *c->value);
    bool ok = mean && wf_download(mean, c->value, (size_t)c->shells * sizeof *c->value) == WF_OK;
    wf_release(found);
    wf_release(rows);
    wf_release(mean);
    return ok ? EXIT_OK : failed_in(j->ctx);
}

/* ---- radial ---- */
const char help_radial[] =
    "  weft radial micrograph.mrc                       the power spectrum by resolution, as a table\n"
    "  weft radial micrograph.mrc --log -o power.svg    drawn, in decibels\n"
    "  weft radial particle.mrc --values -o profile.png the mean value by distance from the centre\n\n"
    "The mean over shells of |F|^2, the Fourier transform's squared size divided by the number of pixels, or of the\n"
    "values. Of a stack it is the mean of all images. Lines of the table: shell, resolution, value.\n\n"
    "  --values               the mean of the values over circles or spheres around n/2\n"
    "  --log                  10 log10 of the mean\n"
    "  -o FILE                a plot, SVG or PNG, in place of the table\n" INPUT_HELP;

enum { VALUES = IMAGE_OWN, LOG };
static const option radial_options[] = {
    IMAGE_OPTIONS, { "values", 0, false }, { "log", 0, false }, { NULL, 0, false }
};

static int find_radial(job *j, curves *c)
{
    wf_spectrum s = image_spectrum(c->image);
    wf_array *data = c->image->data, *found = NULL;
    c->shells = wf_shell_count(&s);
    if (c->real) {
        s.layout = WF_LAYOUT_FC;
        return take_curve(j, c, wf_radial_average(data, &s));
    }
    wf_array *spectrum = wf_fft_r2c(data, image_axes(data, c->image->rank), WF_FFT_ORTHO);
    found = spectrum ? wf_radial_average(spectrum, &s) : NULL;
    wf_release(spectrum);
    return take_curve(j, c, found);
}

int run_radial(const command *self, int argc, char **argv)
{
    job j = job_of(self, radial_options, argc, argv, 1);
    image in = { .rank = 0 };
    curves c = { .image = &in };
    bool decibels = false;
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        c.real = c.real || o == VALUES;
        decibels = decibels || o == LOG;
    }
    int result = check_plot(&j);
    if (result != EXIT_OK || (result = job_begin(&j, 1, false)) != EXIT_OK)
        return job_end(&j, result);
    result = job_load(&j, 0, &in);
    if (result == EXIT_OK && !c.real)
        result = check_shells(&in);
    if (result == EXIT_OK)
        result = find_radial(&j, &c);
    for (int64_t k = 0; k < c.shells && decibels && result == EXIT_OK; k++)
        c.value[k] = 10 * log10(c.value[k]);
    const char *name = c.real ? "mean" : decibels ? "power (dB)" : "power";
    progress_end();
    if (result == EXIT_OK && j.out) {
        plot *p = plot_of(&c, in.path, name);
        result = plot_save(j.ctx, p, j.out);
        free(p);
    } else if (result == EXIT_OK) {
        print_curve(&c, name);
    }
    wf_release(in.data);
    free(c.value);
    return job_end(&j, result);
}

/* ---- fsc ---- */
const char help_fsc[] =
    "  weft fsc half1.mrc half2.mrc\n"
    "  weft fsc half1.mrc half2.mrc --mask mask.mrc -o fsc.svg\n"
    "  weft fsc map.mrc model.mrc --threshold 0.5\n"
    "  weft fsc odd.mrc even.mrc                        images: the Fourier ring correlation\n\n"
    "Prints the resolution at which the Fourier shell correlation falls below the threshold, then a table: shell,\n"
    "resolution, correlation. Of stacks it is the mean of all pairs.\n\n"
    "  --mask FILE            both are multiplied by it before\n"
    "  --threshold T          (default: 0.143)\n"
    "  -o FILE                a plot, SVG or PNG, in place of the table\n" INPUT_HELP;

enum { MASK = IMAGE_OWN, THRESHOLD };
static const option fsc_options[] = {
    IMAGE_OPTIONS, { "mask", 0, true }, { "threshold", 0, true }, { NULL, 0, false }
};

/* The shell, between two, at which the curve first falls below t; -1 = it does not. */
static double crossing(const curves *c, double t)
{
    for (int64_t k = 1; k < c->shells; k++)
        if (c->value[k] < t) {
            double before = k > 1 ? c->value[k - 1] : 1;
            return before > t ? (double)(k - 1) + (before - t) / (before - c->value[k]) : (double)k;
        }
    return -1;
}

/* A message unless the mask is of one image or volume, or of all. Returns an exit code. */
static int check_mask(const image *a, const image *mask)
{
    wf_shape s = wf_array_shape(a->data), m = wf_array_shape(mask->data);
    size_t skipped = m.rank == a->rank && s.rank > m.rank ? (size_t)(s.rank - m.rank) : 0;
    if (m.rank == s.rank - (int)skipped && memcmp(s.dim + skipped, m.dim, (size_t)m.rank * sizeof *m.dim) == 0)
        return EXIT_OK;
    return same_shape(a, mask);
}

static int multiply(job *j, image *i, const image *mask)
{
    wf_graph *g = wf_begin(j->ctx);
    wf_out(g, i->data, wf_mul(wf_in(g, i->data), wf_in(g, mask->data)));
    return wf_run(g) == WF_OK ? EXIT_OK : failed_in(j->ctx);
}

static int find_fsc(job *j, curves *c, image *a, image *b, const char *mask_path)
{
    image mask = { .rank = 0 };
    int result = same_shape(a, b);
    if (result == EXIT_OK)
        result = same_pixels(a, b);
    if (result == EXIT_OK)
        result = check_shells(a);
    if (result == EXIT_OK && mask_path) {
        result = job_load_path(j, mask_path, &mask);
        if (result == EXIT_OK)
            result = check_mask(a, &mask);
        if (result == EXIT_OK)
            result = same_pixels(a, &mask);
        if (result == EXIT_OK)
            result = multiply(j, a, &mask);
        if (result == EXIT_OK)
            result = multiply(j, b, &mask);
        wf_release(mask.data);
    }
    if (result != EXIT_OK)
        return result;
    wf_spectrum s = image_spectrum(a);
    wf_axes axes = image_axes(a->data, a->rank);
    wf_array *x = wf_fft_r2c(a->data, axes, WF_FFT_BACKWARD), *y = wf_fft_r2c(b->data, axes, WF_FFT_BACKWARD);
    wf_array *found = x && y ? wf_fsc(x, y, &s) : NULL;
    wf_release(x);
    wf_release(y);
    c->shells = wf_shell_count(&s);
    return take_curve(j, c, found);
}

static int show_fsc(job *j, const curves *c, double threshold)
{
    double shell = crossing(c, threshold);
    char *level = append(NULL, "%g", threshold);
    int result = EXIT_OK;
    if (shell >= 0)
        printf("%sresolution %.4g %s at FSC %s\n", j->out ? "" : "# ", shell_resolution(c->image, shell),
               unit_of(c->image), level);
    else
        printf("%sthe FSC stays above %s up to %.4g %s\n", j->out ? "" : "# ", level,
               shell_resolution(c->image, (double)c->shells - 1), unit_of(c->image));
    if (j->out) {
        plot *p = plot_of(c, "Fourier shell correlation", c->image->rank == 2 ? "FRC" : "FSC");
        p->low = -0.1;
        p->high = 1;
        add_level(p, threshold, level, ORANGE);
        add_level(p, 0, "0", GREY);
        result = plot_save(j->ctx, p, j->out);
        free(p);
    } else {
        print_curve(c, c->image->rank == 2 ? "FRC" : "FSC");
    }
    free(level);
    return result;
}

int run_fsc(const command *self, int argc, char **argv)
{
    job j = job_of(self, fsc_options, argc, argv, 2);
    image a = { .rank = 0 }, b = { .rank = 0 };
    curves c = { .image = &a };
    const char *mask = NULL;
    double threshold = 0.143;
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == MASK)
            mask = j.a.value;
        if (o == THRESHOLD && (!parse_real(j.a.value, &threshold) || threshold <= -1 || threshold >= 1))
            return misused(self, "--threshold %s: give a correlation between -1 and 1", j.a.value);
    }
    int result = check_plot(&j);
    if (result != EXIT_OK || (result = job_begin(&j, 2, false)) != EXIT_OK)
        return job_end(&j, result);
    result = job_load(&j, 0, &a);
    if (result == EXIT_OK)
        result = job_load(&j, 1, &b);
    if (result == EXIT_OK)
        result = find_fsc(&j, &c, &a, &b, mask);
    progress_end();
    if (result == EXIT_OK)
        result = show_fsc(&j, &c, threshold);
    wf_release(a.data);
    wf_release(b.data);
    free(c.value);
    return job_end(&j, result);
}
