/* reconstruct.c - weft reconstruct: a volume from images whose directions are known. */
#include "images.h"
#include "weft/project.h"
#include "weft/text.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char help_reconstruct[] =
    "  weft project vol.map --count 200 -o views.mrcs > views.txt\n"
    "  weft reconstruct views.mrcs --angles views.txt -o back.mrc\n"
    "  weft reconstruct particles.mrcs --angles refined.txt --order relion -o map.mrc\n\n"
    "The volume of which the images are projections: the transform of each image is inserted as a slice into that of the\n"
    "volume, and divided by the weights of all slices. Images are square.\n\n"
    "  --angles FILE          a line for each image: its number and three angles in degrees, as weft project prints them;\n"
    "                         then, if the image is not centred, its shift y x in pixels. Lines that begin with # are\n"
    "                         skipped. Images without a line are not used\n"
    "  --order ORDER          zyz (the default), zxz, xyz, ..., relion, eman2, dynamo, imod\n"
    "  --padding K            images are padded to K times their extent (default: 2)\n"
    "  --resolution R         nothing finer than R Angstrom (8px: pixels) is inserted (default: two pixels)\n" IMAGE_HELP;

enum { ANGLES = IMAGE_OWN, ORDER, PADDING, RESOLUTION };
static const option options[] = { IMAGE_OPTIONS,          { "angles", 0, true },     { "order", 0, true },
                                  { "padding", 0, true }, { "resolution", 0, true }, { NULL, 0, false } };

typedef struct reconstruction {
    const char *angles, *resolution;
    wf_euler order;
    long padding;
    double cutoff;          /* cycles/pixel */
    int64_t *image;         /* [n]: numbers of the images that have angles */
    double *matrix, *shift; /* [n, 3, 3], [n, 2] */
    int64_t n;
} reconstruction;

/* ---- angles ---- */

/* Reads "number a b c [y x]". Returns how many numbers the line has; -1: something else stands in it. */
static int read_numbers(const char *line, const char *end, double *out, int most)
{
    int n = 0;
    while (line < end && n <= most) {
        while (line < end && isspace((unsigned char)*line))
            line++;
        if (line == end)
            break;
        char *after;
        double v = strtod(line, &after);
        if (after == line || after > end || n == most || !isfinite(v))
            return -1;
        out[n++] = v;
        line = after;
    }
    return n;
}

static int take_line(const job *j, reconstruction *r, int number, const double *v, int n, int64_t images)
{
    if ((n != 4 && n != 6) || v[0] < 0 || v[0] != floor(v[0]))
        return failed("%s: line %d: give the number of an image, three angles and, perhaps, a shift y x", r->angles,
                      number);
    if (v[0] >= (double)images)
        return failed("%s: line %d: there are %lld images, counted from 0, and this is image %.0f", r->angles, number,
                      (long long)images, v[0]);
    if (r->n == images)
        return failed("%s: line %d: more lines than images", r->angles, number);
    double turn[9]; /* of the volume; its inverse takes an image's positions to the volume's */
    if (!euler_matrix(j->ctx, r->order, v + 1, turn))
        return failed_in(j->ctx);
    for (int k = 0; k < 9; k++)
        r->matrix[9 * r->n + k] = turn[k % 3 * 3 + k / 3];
    for (int d = 0; d < 2; d++)
        r->shift[2 * r->n + d] = n == 6 ? v[4 + d] : 0;
    r->image[r->n++] = (int64_t)v[0];
    return EXIT_OK;
}

static int read_angles(const job *j, reconstruction *r, int64_t images)
{
    char *owned = NULL;
    const char *line = NULL;
    int result = read_text(r->angles, &owned, &line);
    r->image = allocate((size_t)images, sizeof *r->image);
    r->matrix = allocate((size_t)images * 9, sizeof *r->matrix);
    r->shift = allocate((size_t)images * 2, sizeof *r->shift);
    for (int number = 1; result == EXIT_OK && *line; number++) {
        const char *end = line + strcspn(line, "\n");
        double v[6];
        int n = *line == '#' ? 0 : read_numbers(line, end, v, 6);
        if (n != 0)
            result = take_line(j, r, number, v, n, images);
        line = *end ? end + 1 : end;
    }
    free(owned);
    if (result == EXIT_OK && !r->n)
        return failed("%s: no angles", r->angles);
    return result;
}

/* ---- reconstruction ---- */

/* The half spectra of images `first` to `first + count`, padded, with their centres at element 0. */
static wf_array *slices_of(const reconstruction *r, const wf_array *stack, int64_t first, int64_t count, int64_t size)
{
    wf_context *ctx = wf_array_context(stack);
    wf_array *which = array_of(ctx, WF_I64, WF_SHAPE(count), r->image + first);
    wf_array *padded = wf_empty(ctx, WF_F32, WF_SHAPE(count, size, size)), *spectra = NULL;
    const char *text = "half = idiv(nx, 2); dy = (y + half) % ny - half; dx = (x + half) % nx - half\n"
                       "padded = stack[which[z], dy + center, dx + center]";
    wf_arg args[] = { WF_ARG("stack", stack), WF_ARG("which", which), WF_ARG("padded", padded),
                      WF_ARG("center", (double)(wf_array_shape(stack).dim[1] / 2)) };
    if (which && padded && wf_text_n(ctx, text, (wf_args){ args, 4 }) == WF_OK)
        spectra = wf_fft_r2c(padded, WF_AXES(1, 2), WF_FFT_BACKWARD);
    wf_release(which);
    wf_release(padded);
    return spectra;
}

/* Inserts all images into `volume` and their weights into `weights`, some at a time, since padded images are large. */
static bool insert(const reconstruction *r, const wf_array *stack, const wf_slices *slices, wf_array *volume,
                   wf_array *weights)
{
    enum { AT_A_TIME = 64 };
    wf_context *ctx = wf_array_context(stack);
    bool ok = true;
    for (int64_t i = 0; i < r->n && ok; i += AT_A_TIME) {
        int64_t count = r->n - i < AT_A_TIME ? r->n - i : AT_A_TIME;
        wf_array *images = slices_of(r, stack, i, count, slices->image.size[0]);
        wf_array *turns = array_of(ctx, WF_F64, WF_SHAPE(count, 3, 3), r->matrix + 9 * i);
        wf_array *shifts = array_of(ctx, WF_F64, WF_SHAPE(count, 2), r->shift + 2 * i);
        ok = images && turns && shifts &&
             wf_insert_slices(volume, weights, images, NULL, slices, turns, shifts) == WF_OK;
        wf_release(images);
        wf_release(turns);
        wf_release(shifts);
        progress_part((double)(i + count) / (double)r->n);
    }
    return ok;
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

static int reconstruct(job *j, const reconstruction *r, image *in)
{
    int64_t n = wf_array_shape(in->data).dim[1], size = n * r->padding;
    wf_slices slices = { .volume = { WF_LAYOUT_H, WF_F32, 3, { size, size, size } },
                         .image = { WF_LAYOUT_H, WF_F32, 2, { size, size } },
                         .how = { .interpolation = WF_INTERPOLATE_LINEAR },
                         .cutoff = r->cutoff };
    wf_shape half = WF_SHAPE(size, size, size / 2 + 1);
    wf_array *volume = wf_full(j->ctx, WF_C64, half, 0), *weights = wf_full(j->ctx, WF_F32, half, 0), *out = NULL;
    progress_begin("inserting");
    if (volume && weights && insert(r, in->data, &slices, volume, weights) &&
        wf_normalize_sums(volume, volume, weights, 1) == WF_OK) {
        progress_begin("transforming");
        out = volume_of(volume, &slices, n);
    }
    wf_release(volume);
    wf_release(weights);
    in->meta.is_stack = false;
    in->meta.extended_from = NULL;
    in->meta.spacing[0] = in->meta.spacing[1];
    return job_save(j, out, in);
}

int run_reconstruct(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    reconstruction r = { .order = WF_EULER_ZYZ, .padding = 2 };
    image in = { .rank = 0 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == ORDER && parse_order(&j, j.a.value, &r.order) != EXIT_OK)
            return EXIT_USAGE;
        if (o == PADDING && !parse_int(j.a.value, 1, 4, &r.padding))
            return misused(self, "--padding %s: give a factor from 1 to 4", j.a.value);
        r.angles = o == ANGLES ? j.a.value : r.angles;
        r.resolution = o == RESOLUTION ? j.a.value : r.resolution;
    }
    if (!r.angles)
        return misused(self, "no angles: --angles FILE");
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    wf_shape s = result == EXIT_OK ? wf_array_shape(in.data) : WF_SCALAR;
    if (result == EXIT_OK && (s.rank != 3 || s.dim[1] != s.dim[2]))
        result = failed("%s: give a stack of square images", in.path);
    if (result == EXIT_OK && r.resolution)
        result = parse_period(&j, &in, "resolution", r.resolution, &r.cutoff);
    r.cutoff *= in.pixel[2] > 0 ? in.pixel[2] : 1;
    if (result == EXIT_OK && r.cutoff > 0.5)
        result = misused(self, "--resolution %s: finer than two pixels", r.resolution);
    if (result == EXIT_OK)
        result = read_angles(&j, &r, s.dim[0]);
    if (result == EXIT_OK)
        result = reconstruct(&j, &r, &in);
    wf_release(in.data);
    free(r.image);
    free(r.matrix);
    free(r.shift);
    return job_end(&j, result);
}
