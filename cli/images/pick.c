/* pick.c - weft pick: particles found by templates, and cut out. */
#include "picks.h"
#include <math.h>
#include <stdlib.h>

const char help_pick[] =
    "  weft pick micrograph.mrc template.mrc --count 200\n"
    "  weft pick micrograph.mrc views.mrcs --rotations 36 --invert --threshold 0.3 -o particles.mrcs --box 96\n"
    "  weft pick micrograph.mrc views.mrcs --star picks.star\n"
    "  weft pick micrograph.mrc --coordinates picks.star --box 96 -o particles.mrcs --star particles.star\n\n"
    "Finds the places where the normalised cross-correlation with the template, or the best of a stack of templates, is\n"
    "largest. Prints for each its centre in pixels (y x) and its correlation, the best first. Both files have pixels of\n"
    "one size. With --coordinates the places are those of a STAR file, and there are no templates.\n\n"
    "  --rotations N          each template turned in the plane by N angles of 360/N degrees (default: 1)\n"
    "  --invert               the particles are dark where the templates are bright\n"
    "  --count N              the most that are wanted (default: 100)\n"
    "  --distance D           of two centres, in pixels (default: half of the template)\n"
    "  --threshold T          the least correlation (default: 0.2)\n"
    "  --box N                pixels of the images of -o (default: as the template); what lies outside is mirrored\n"
    "  -o FILE                a stack of the particles\n"
    "  --star FILE            a STAR file of the places: rlnCoordinateX, rlnCoordinateY, rlnAutopickFigureOfMerit,\n"
    "                         rlnMicrographName; with -o rlnImageName; with --coordinates all columns of that file\n"
    "  --coordinates FILE     a STAR file with rlnCoordinateX and rlnCoordinateY; if it names several micrographs, the\n"
    "                         rows of this one; --box gives the size of the images\n"
    "  --dtype TYPE           the type of values in the file: u8 i16 u16 f16 f32 ...; rounded, cut to the range\n"
    "  --pixel A              the pixel size in Angstrom, in place of that of the file\n"
    "  --device NAME          where to compute: cpu, interp, cuda:0, cuda-emu\n"
    "  --threads N            0: all cores (the default)\n";

enum { COUNT = IMAGE_OWN, DISTANCE, THRESHOLD, BOX, ROTATIONS, INVERT, STAR, COORDINATES };
static const option options[] = { IMAGE_OPTIONS,
                                  { "count", 0, true },
                                  { "distance", 0, true },
                                  { "threshold", 0, true },
                                  { "box", 0, true },
                                  { "rotations", 0, true },
                                  { "invert", 0, false },
                                  { "star", 0, true },
                                  { "coordinates", 0, true },
                                  { NULL, 0, false } };

typedef struct pick {
    long count, box, rotations;
    double distance, threshold;
    bool invert;
    const char *star, *coordinates;
    picks found; /* of centres n/2 */
} pick;

/* Replaces templates [h, w] or [k, h, w] by all their rotations in the plane, [n k, h, w]. */
static bool rotate(const pick *p, image *templates)
{
    wf_shape t = wf_array_shape(templates->data);
    wf_array *all = turned_images(templates->data, p->rotations);
    wf_array *flat = all ? wf_view_reshape(all, WF_SHAPE(-1, t.dim[t.rank - 2], t.dim[t.rank - 1])) : NULL;
    wf_release(all);
    if (flat) {
        wf_release(templates->data);
        templates->data = flat;
    }
    return flat != NULL;
}

/* The largest score of all templates at each place. */
static wf_array *best_scores(const wf_array *micrograph, const wf_array *templates)
{
    wf_array *scores = wf_match_template(micrograph, templates, NULL, 2), *best = NULL;
    if (!scores || wf_array_shape(scores).rank == 2)
        return scores;
    best = wf_array_max(scores, WF_AXES(0) | WF_DROP_AXES);
    wf_release(scores);
    return best;
}

static int find(job *j, pick *p, const image *micrograph, const image *templates)
{
    wf_shape t = wf_array_shape(templates->data);
    int64_t size[2] = { t.dim[t.rank - 2], t.dim[t.rank - 1] };
    double distance = p->distance > 0 ? p->distance : 0.5 * (double)(size[0] < size[1] ? size[0] : size[1]);
    wf_array *scores = best_scores(micrograph->data, templates->data);
    wf_peak_search search = { .count = p->count, .min_distance = distance, .fit = WF_PEAK_WHOLE, .places = true };
    wf_array *peaks = scores ? wf_correlate_peaks(scores, 2, &search) : NULL;
    double *at = p->found.at = allocate((size_t)p->count * 3, sizeof *at);
    bool ok = peaks && wf_download(peaks, at, (size_t)p->count * 3 * sizeof *at) == WF_OK;
    wf_release(scores);
    wf_release(peaks);
    if (!ok)
        return failed_in(j->ctx);
    int64_t n = 0;
    for (; n < p->count && at[3 * n + 2] >= p->threshold; n++)
        for (int d = 0; d < 2; d++)
            at[3 * n + d] += (double)(size[d] / 2);
    p->found.n = n;
    p->found.scored = true;
    return EXIT_OK;
}

/* Cuts boxes around the centres. */
static int cut(job *j, const pick *p, image *micrograph, const int64_t size[2])
{
    int64_t n = p->found.n, *at = allocate((size_t)n * 2, sizeof *at);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 2; d++)
            at[2 * i + d] = (int64_t)floor(p->found.at[3 * i + d] + 0.5) - size[d] / 2;
    wf_array *offsets = wf_empty(j->ctx, WF_I64, WF_SHAPE(n, 2)), *out = NULL;
    if (offsets && wf_upload(offsets, at, (size_t)n * 2 * sizeof *at) == WF_OK)
        out = wf_array_extract_regions(micrograph->data, WF_SHAPE(size[0], size[1]), offsets, WF_BORDER_MIRROR, 0);
    wf_release(offsets);
    free(at);
    micrograph->meta.is_stack = true;
    micrograph->meta.extended_from = NULL;
    return job_save(j, out, micrograph);
}

/* Finds places by templates, whose size becomes *size unless --box gives it. */
static int find_by_templates(job *j, pick *p, const image *micrograph, int64_t size[2])
{
    image templates = { .rank = 0 };
    int result = job_load(j, 1, &templates);
    if (result != EXIT_OK)
        return result;
    wf_shape t = wf_array_shape(templates.data);
    if (same_pixels(micrograph, &templates) != EXIT_OK)
        result = EXIT_FAILED;
    else if (t.rank > 3)
        result = failed("%s: templates are an image or a stack", templates.path);
    else if (p->rotations > 1 && need_even_pixels(&templates, "a rotation") != EXIT_OK)
        result = EXIT_FAILED;
    else if ((p->invert && !negate(templates.data)) || (p->rotations > 1 && !rotate(p, &templates)))
        result = failed_in(j->ctx);
    for (int d = 0; d < 2 && !p->box; d++)
        size[d] = t.dim[t.rank - 2 + d];
    if (result == EXIT_OK)
        result = find(j, p, micrograph, &templates);
    wf_release(templates.data);
    return result;
}

static void print_picks(const picks *found)
{
    for (int64_t i = 0; i < found->n; i++) {
        const double *at = found->at + 3 * i;
        if (found->scored)
            printf("%.0f %.0f %.4f\n", at[0], at[1], at[2]);
        else
            printf("%.0f %.0f\n", at[0], at[1]);
    }
}

static int pick_particles(job *j, pick *p)
{
    image micrograph = { .rank = 0 };
    int64_t size[2] = { p->box, p->box };
    int result = job_load(j, 0, &micrograph);
    if (result == EXIT_OK && wf_array_shape(micrograph.data).rank != 2)
        result = failed("%s: one micrograph at a time, and this has %d axes", micrograph.path,
                        (int)wf_array_shape(micrograph.data).rank);
    if (result == EXIT_OK && p->coordinates)
        result = read_picks(j->ctx, p->coordinates, micrograph.path, &p->found);
    else if (result == EXIT_OK)
        result = find_by_templates(j, p, &micrograph, size);
    const bool none = !p->found.n;
    if (result == EXIT_OK && j->out && !none)
        result = cut(j, p, &micrograph, size);
    if (result == EXIT_OK && p->star)
        result = write_picks(j->ctx, p->star, &p->found, micrograph.path, none ? NULL : j->out, (long)size[1],
                             micrograph.pixel[2]);
    progress_end();
    if (result == EXIT_OK && none)
        fprintf(stderr, "weft: %s: no place has a correlation of %g%s%s\n", micrograph.path, p->threshold,
                j->out ? "; nothing is written to " : "", j->out ? j->out : "");
    if (result == EXIT_OK)
        print_picks(&p->found);
    wf_release(micrograph.data);
    return result;
}

int run_pick(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 2);
    pick p = { .count = 100, .threshold = 0.2 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == COUNT && !parse_int(j.a.value, 1, 1 << 20, &p.count))
            return misused(self, "--count %s: give a number of particles", j.a.value);
        if (o == DISTANCE && (!parse_real(j.a.value, &p.distance) || p.distance <= 0))
            return misused(self, "--distance %s: give pixels", j.a.value);
        if (o == THRESHOLD && (!parse_real(j.a.value, &p.threshold) || fabs(p.threshold) > 1))
            return misused(self, "--threshold %s: give a correlation from -1 to 1", j.a.value);
        if (o == BOX && !parse_int(j.a.value, 1, 1 << 15, &p.box))
            return misused(self, "--box %s: give pixels", j.a.value);
        if (o == ROTATIONS && !parse_int(j.a.value, 1, 3600, &p.rotations))
            return misused(self, "--rotations %s: give a number of angles", j.a.value);
        p.invert = p.invert || o == INVERT;
        p.star = o == STAR ? j.a.value : p.star;
        p.coordinates = o == COORDINATES ? j.a.value : p.coordinates;
    }
    if (p.coordinates && j.ins > 1)
        return misused(self, "--coordinates: the places are known, and '%s' is not needed", j.in[1]);
    if (p.coordinates && j.out && !p.box)
        return misused(self, "--coordinates: --box gives the size of the images of -o");
    int result = job_begin(&j, p.coordinates ? 1 : 2, j.out != NULL);
    if (result == EXIT_OK)
        result = pick_particles(&j, &p);
    free_picks(&p.found);
    return job_end(&j, result);
}
