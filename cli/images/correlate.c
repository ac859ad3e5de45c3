/* correlate.c - weft correlate: where one image fits onto another. */
#include "images.h"
#include <stdlib.h>

const char help_correlate[] =
    "  weft correlate a.mrc b.mrc                       prints the shift of a against b, and the correlation there\n"
    "  weft correlate stack.mrcs reference.mrc          of each image of a stack\n"
    "  weft correlate a.mrc b.mrc --mutual -o map.mrc   and stores the map, with shift 0 at n/2\n\n"
    "Prints a line for each image: its number, the shift in pixels (y x, or z y x) that moves the second file onto the\n"
    "first, and the correlation there. Conventional correlations are coefficients, from -1 to 1: the images are given\n"
    "mean 0 and standard deviation 1 before. Edges wrap.\n\n"
    "  --phase, --mutual      every frequency has size 1, or the square root of its size\n"
    "  --lowpass R            leaves out what is finer than R, in Angstrom or as 8px\n" IMAGE_HELP;

enum { PHASE = IMAGE_OWN, MUTUAL, LOWPASS };
static const option options[] = {
    IMAGE_OPTIONS, { "phase", 0, false }, { "mutual", 0, false }, { "lowpass", 0, true }, { NULL, 0, false }
};

typedef struct lowpass {
    const image *image;
    double cutoff;
} lowpass;

static wf_val respond(wf_graph *g, wf_vals k, void *user)
{
    const lowpass *l = user;
    (void)g;
    return wf_lowpass(image_frequency(l->image, k), l->cutoff, 0.1 * l->cutoff);
}

/* Gives each image mean 0 and standard deviation 1. */
static bool standardise(image *i)
{
    wf_array *scaled = wf_array_normalize(i->data, WF_NORMALIZE_MEAN_STD, image_axes(i->data, i->rank));
    wf_release(i->data);
    i->data = scaled;
    return scaled != NULL;
}

/* Repeats the one image of b for each of a. */
static int match(image *a, image *b)
{
    if (image_count(b->data, b->rank) == 1 && image_count(a->data, a->rank) > 1 && a->rank == b->rank) {
        wf_shape one = wf_array_shape(b->data), all = wf_array_shape(a->data);
        for (int d = 1; d <= a->rank; d++)
            all.dim[all.rank - d] = one.dim[one.rank - d];
        wf_array *view = wf_view_broadcast(b->data, all), *copy = view ? wf_array_copy(view) : NULL;
        wf_release(view);
        wf_release(b->data);
        b->data = copy;
        if (!copy)
            return failed_in(wf_array_context(a->data));
    }
    return same_shape(a, b);
}

static int print_peaks(job *j, const wf_array *map, int rank, double scale)
{
    int64_t n = image_count(map, rank);
    double *peak = allocate((size_t)n * (size_t)(rank + 1), sizeof *peak);
    wf_array *found = wf_correlate_peak(map, rank);
    bool ok = found && wf_download(found, peak, (size_t)n * (size_t)(rank + 1) * sizeof *peak) == WF_OK;
    progress_end();
    for (int64_t i = 0; i < n && ok; i++) {
        printf("%lld", (long long)i);
        for (int d = 0; d < rank; d++)
            printf(" %.3f", peak[i * (rank + 1) + d] + 0.0);
        printf(" %.6g\n", peak[i * (rank + 1) + rank] * scale);
    }
    wf_release(found);
    free(peak);
    return ok ? EXIT_OK : failed_in(j->ctx);
}

static int correlate(job *j, image *a, image *b, wf_correlation how, const char *resolution)
{
    lowpass l = { .image = a };
    double pixels = 1;
    int result = match(a, b);
    if (result == EXIT_OK)
        result = same_pixels(a, b);
    if (result == EXIT_OK && resolution)
        result = parse_period(j, a, "lowpass", resolution, &l.cutoff);
    if (result != EXIT_OK)
        return result;
    bool ok = !resolution || (wf_image_filter(a->data, a->data, a->rank, respond, &l) == WF_OK &&
                              wf_image_filter(b->data, b->data, b->rank, respond, &l) == WF_OK);
    ok = ok && standardise(a) && standardise(b);
    wf_array *map = ok ? wf_correlate_map(a->data, b->data, a->rank, how) : NULL;
    if (!map)
        return failed_in(j->ctx);
    wf_spectrum s = image_spectrum(a);
    for (int d = 0; d < s.rank; d++)
        pixels *= (double)s.size[d];
    result = print_peaks(j, map, a->rank, how == WF_CORRELATION_CONVENTIONAL ? 1 / pixels : 1);
    if (result == EXIT_OK && j->out)
        result = job_save(j, wf_fft_shift(map, image_axes(map, a->rank), false), a);
    wf_release(map);
    return result;
}

int run_correlate(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 2);
    image a = { .rank = 0 }, b = { .rank = 0 };
    wf_correlation how = WF_CORRELATION_CONVENTIONAL;
    const char *resolution = NULL;
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == LOWPASS)
            resolution = j.a.value;
        else if (how != WF_CORRELATION_CONVENTIONAL)
            return misused(self, "--phase or --mutual, not both");
        else
            how = o == PHASE ? WF_CORRELATION_PHASE : WF_CORRELATION_MUTUAL;
    }
    int result = job_begin(&j, 2, j.out != NULL);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &a);
    if (result == EXIT_OK)
        result = job_load(&j, 1, &b);
    if (result == EXIT_OK)
        result = correlate(&j, &a, &b, how, resolution);
    wf_release(a.data);
    wf_release(b.data);
    return job_end(&j, result);
}
