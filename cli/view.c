/* view.c - weft view: reads the command line, cuts a file into 2-d panels, and saves the picture that picture.c draws.
 */
#include "picture.h"
#include "weft/fft.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_view[] =
    "  weft view micrograph.mrc -o micrograph.png\n"
    "  weft view vol.map -o slices.png                  central slices along z, y and x\n"
    "  weft view vol.map --slice z=20 -o z20.png\n"
    "  weft view particles.mrcs -o montage.png --images 0:50 --columns 10\n"
    "  weft view image.npy -o image.png --range 0,255 --scale 1\n"
    "  weft view weak.mrc -o weak.png --sigma 2 --invert --gamma 0.8\n"
    "  weft view micrograph.mrc -o rings.png --spectrum\n\n"
    "The picture is a PNG: FILE.png. PNG and TIFF images with channels stay in colour; alpha is shown as it is.\n\n"
    "  --spectrum             the logarithm of the power spectrum, with frequency 0 in the middle\n\n"
    "Contrast, one of these three:\n"
    "  --percentiles LO,HI    black and white are these percentiles of the values (default: 0.5,99.5)\n"
    "  --range LO,HI          black and white are these values\n"
    "  --sigma S              black and white are mean - S*std and mean + S*std\n"
    "and, with each of them:\n"
    "  --each                 each image of a montage has its own black and white\n"
    "  --gamma G              out = in ** G, of values from 0 (black) to 1 (white); below 1 brightens\n"
    "  --invert               low values are white\n"
    "Parts of stacks and volumes:\n"
    "  --slice z,y,x          sections of a volume across these axes, each at its centre, or at an index: z=20,y=0\n"
    "  --images A:B           images A to B - 1 of a stack (default: the first 100)\n"
    "  --columns N            columns of the montage\n"
    "  --stack, --volume      what the first axis is, if the file does not say it\n"
    "Size:\n"
    "  --scale S              0.5, 0.33, 0.25, ...: a pixel is the mean of 2 x 2, 3 x 3, 4 x 4, ...; 2, 3, ...: enlarges\n"
    "  --size N               longest side of the picture; larger images are averaged (default: 2048)\n"
    "                         Pixels at the right and lower edge that do not fill a square are not shown.\n"
    "  --device cpu|interp    where to compute\n"
    "  --threads N            0: all cores (the default)\n";

enum {
    OUT,
    PERCENTILES,
    RANGE,
    SIGMA,
    EACH,
    GAMMA,
    INVERT,
    SLICE,
    IMAGES,
    COLUMNS,
    STACK,
    VOLUME,
    SCALE,
    SIZE,
    SPECTRUM
};
static const option options[] = { { "output", 'o', true }, { "percentiles", 0, true }, { "range", 0, true },
                                  { "sigma", 0, true },    { "each", 0, false },       { "gamma", 0, true },
                                  { "invert", 0, false },  { "slice", 0, true },       { "images", 0, true },
                                  { "columns", 0, true },  { "stack", 0, false },      { "volume", 0, false },
                                  { "scale", 0, true },    { "size", 0, true },        { "spectrum", 0, false },
                                  { NULL, 0, false } };

typedef struct view {
    const command *self;
    wf_context *ctx;
    const char *in, *out;
    contrast look;
    layout plan;
    int slice_axis[3], slices; /* 0: x, 1: y, 2: z */
    long slice_at[3];          /* index; -1 = the centre */
    long first, last;          /* images of a stack, without `last`; 0 = not given */
    int kind;                  /* STACK or VOLUME; 0 = as the file says */
    int contrast;              /* PERCENTILES, RANGE or SIGMA; 0 = not given */
    bool sliced;               /* true if --slice is given */
    bool spectrum;
    char problem[128]; /* a message that has numbers in it */
} view;

/* Reads "z,y=3". */
static bool parse_slices(view *v, const char *text)
{
    for (v->slices = 0; v->slices < 3; v->slices++) {
        const char *axes = "xyz", *axis = *text ? strchr(axes, *text) : NULL;
        if (!axis)
            return false;
        v->slice_axis[v->slices] = (int)(axis - axes);
        v->slice_at[v->slices] = -1;
        text++;
        if (*text == '=') {
            char *end;
            long at = strtol(text + 1, &end, 10);
            if (end == text + 1 || at < 0)
                return false;
            v->slice_at[v->slices] = at;
            text = end;
        }
        if (*text == 0) {
            v->slices++;
            return true;
        }
        if (*text++ != ',')
            return false;
    }
    return false;
}

static bool parse_images(view *v, const char *text)
{
    char *end;
    v->first = strtol(text, &end, 10);
    if (end == text || v->first < 0 || v->first == LONG_MAX) /* first + 1 must be a long, too */
        return false;
    v->last = v->first + 1;
    if (*end == 0)
        return true;
    if (*end != ':')
        return false;
    return parse_int(end + 1, v->first + 1, LONG_MAX, &v->last);
}

static const char *take_option(view *v, int o, const char *text)
{
    contrast *k = &v->look;
    double s;
    if (o == PERCENTILES || o == RANGE || o == SIGMA)
        v->contrast = o;
    switch (o) {
    case OUT:
        v->out = text;
        return NULL;
    case PERCENTILES:
        k->mode = CONTRAST_PERCENTILES;
        return parse_two(text, &k->low, &k->high) && k->low >= 0 && k->low < k->high && k->high <= 100
                   ? NULL
                   : "two percentages";
    case RANGE:
        k->mode = CONTRAST_RANGE;
        return parse_two(text, &k->low, &k->high) && k->low != k->high ? NULL : "two values";
    case SIGMA:
        k->mode = CONTRAST_SIGMA;
        return parse_real(text, &k->high) && k->high > 0 ? NULL : "a positive number";
    case EACH:
        k->each = true;
        return NULL;
    case GAMMA:
        return parse_real(text, &k->gamma) && k->gamma > 0 ? NULL : "a positive number";
    case INVERT:
        k->invert = true;
        return NULL;
    case SLICE:
        v->sliced = true;
        return parse_slices(v, text) ? NULL : "axes as z,y=10";
    case IMAGES:
        return parse_images(v, text) ? NULL : "images as 0:50";
    case COLUMNS:
        return parse_int(text, 1, 1000, &v->plan.columns) ? NULL : "a number of columns";
    case SPECTRUM:
        v->spectrum = true;
        return NULL;
    case STACK:
    case VOLUME:
        v->kind = o;
        return NULL;
    case SCALE:
        if (!parse_real(text, &s) || s <= 0 || s > 16 || (s > 1 && s != (int)s))
            return "a factor below 1, or a whole one up to 16";
        if (s < 1 && fabs(1 / s - round(1 / s)) > 0.03 / s)
            return "one over a whole number, as 0.5, 0.33 or 0.25";
        v->plan.shrink = s < 1e-6 ? 1000000 : s < 1 ? (int)(1 / s + 0.5) : 1;
        v->plan.enlarge = s < 1 ? 1 : (int)(s + 0.5);
        return NULL;
    default:
        return parse_int(text, 16, 32768, &v->plan.size) ? NULL : "pixels, from 16";
    }
}

static int read_arguments(view *v, arguments *a)
{
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        if (o == ARG_OPERAND) {
            if (v->in)
                return misused(v->self, "one file at a time; '%s' is a second", a->value);
            v->in = a->value;
        } else if (o < 0) {
            return ended(o);
        } else {
            int look = v->contrast, kind = v->kind;
            const char *text = a->value, *expected = take_option(v, o, text);
            if (expected)
                return misused(v->self, "--%s %s: give %s", options[o].name, text, expected);
            if (look && look != v->contrast)
                return misused(v->self, "--%s or --%s, not both", options[look].name, options[o].name);
            if (kind && kind != v->kind)
                return misused(v->self, "--stack or --volume, not both");
        }
    }
    if (!v->in)
        return misused(v->self, "no file");
    if (!v->out)
        return misused(v->self, "no output: -o FILE.png names the picture");
    if (same_file(v->in, v->out))
        return misused(v->self, "-o %s: the picture would replace the file that is shown", v->out);
    return -1;
}

/* ---- panels ---- */

static PRINTF_LIKE(2, 3) const char *problem_of(view *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(v->problem, sizeof v->problem, format, args);
    va_end(args);
    return v->problem;
}

static const char *take_slices(view *v, const wf_array *a, panels *p)
{
    wf_shape shape = wf_array_shape(a);
    for (int i = 0; i < v->slices; i++) {
        int axis = shape.rank - 1 - v->slice_axis[i];
        int64_t n = shape.dim[axis], at = v->slice_at[i] < 0 ? n / 2 : v->slice_at[i];
        if (at >= n)
            return problem_of(v, "--slice %c=%lld: the volume has %lld sections there, 0 to %lld",
                              "xyz"[v->slice_axis[i]], (long long)at, (long long)n, (long long)n - 1);
        if (!panels_add(p, wf_view_at((wf_array *)a, axis, at)))
            return "";
    }
    return NULL;
}

/* Adds an image as one panel, or as a panel for each channel. Owns the reference of the image. */
static bool add_image(panels *p, wf_array *image)
{
    if (!p->channels)
        return panels_add(p, image);
    bool ok = image != NULL;
    for (int c = 0; c < p->channels && ok; c++)
        ok = panels_add(p, wf_view_at(image, 2, c));
    wf_release(image);
    return ok;
}

static const char *take_images(view *v, wf_array *a, panels *p)
{
    enum { DEFAULT_IMAGES = 100 };
    int64_t n = wf_array_shape(a).dim[0], last = v->last ? v->last : v->first + DEFAULT_IMAGES;
    if (v->first >= n)
        return problem_of(v, "--images %ld: the stack has %lld images, 0 to %lld", v->first, (long long)n,
                          (long long)n - 1);
    for (int64_t i = v->first; i < last && i < n; i++)
        if (!add_image(p, wf_view_at(a, 0, i)))
            return "";
    if (!v->last && n > DEFAULT_IMAGES)
        fprintf(stderr, "weft: the first %d of %lld images; --images 0:%lld shows all\n", DEFAULT_IMAGES, (long long)n,
                (long long)n);
    return NULL;
}

/* Number of channels of images in colour or with alpha; 0 = the last axis has no channels. */
static int find_channels(const view *v, wf_shape shape, const wf_meta *meta)
{
    bool pages = shape.rank == 4;
    int64_t last = shape.rank ? shape.dim[shape.rank - 1] : 0;
    if (!meta->channels || last > 4)
        return 0;
    return !v->kind || (pages && v->kind == STACK) ? (int)last : 0;
}

/* A message if --images or --slice does not fit the file, else NULL. */
static const char *check_parts(const view *v, int rank, bool stack, bool colour)
{
    bool pages = colour && rank == 4;
    if (v->last && rank != 4 && (rank != 3 || !stack))
        return rank == 3 ? "--images is for stacks, and this is none; --stack says that it is one"
                         : "--images is for stacks, and this is none";
    if (v->sliced && (pages || (rank == 3 && stack)))
        return "--slice is for volumes, and this is a stack; --volume says that it is one";
    if (v->sliced && rank != 4 && (rank != 3 || colour))
        return "--slice is for volumes, and this is an image";
    return NULL;
}

static bool is_stack(const view *v, const wf_meta *meta) { return v->kind ? v->kind == STACK : meta->is_stack; }

/* Adds the 2-d parts of the file as views. Returns NULL or a message; "" = the context has the error. */
static const char *take_panels(view *v, wf_array *a, const wf_meta *meta, panels *p)
{
    wf_shape shape = wf_array_shape(a);
    bool stack = is_stack(v, meta);
    if (wf_array_count(a) == 0)
        return "the file has no values";
    p->channels = find_channels(v, shape, meta);
    const char *problem = check_parts(v, shape.rank, stack, p->channels > 0);
    if (problem)
        return problem;
    if (shape.rank == 1) {
        wf_array *row = wf_view_reshape(a, WF_SHAPE(1, shape.dim[0]));
        return panels_add(p, row) ? NULL : "";
    }
    if (shape.rank == 2 || (shape.rank == 3 && p->channels))
        return add_image(p, wf_retain(a)) ? NULL : "";
    if (shape.rank == 4 && !p->channels) { /* the first volume of a stack */
        if (v->first >= shape.dim[0])
            return problem_of(v, "--images %ld: the stack has %lld volumes, 0 to %lld", v->first,
                              (long long)shape.dim[0], (long long)shape.dim[0] - 1);
        wf_array *first = wf_view_at(a, 0, v->first);
        problem = first ? take_slices(v, first, p) : "";
        wf_release(first);
        return problem;
    }
    if (shape.rank != 3 && shape.rank != 4)
        return "images, stacks and volumes have 2 to 4 axes";
    if (stack)
        return take_images(v, a, p);
    return take_slices(v, a, p);
}

/* log |F|^2 of each image or volume, with frequency 0 at n/2. Releases the array; NULL: the context has the error. */
static wf_array *log_power(view *v, wf_array *a, const wf_meta *meta)
{
    wf_shape shape = wf_array_shape(a);
    int rank = image_rank(shape, is_stack(v, meta));
    rank = rank < shape.rank ? rank : shape.rank; /* a line has one axis */
    wf_axes axes = ((1u << rank) - 1) << (shape.rank - rank);
    const char *want[] = { "p" };
    wf_array *f = wf_fft_c2c(a, axes, false, WF_FFT_ORTHO), *p = NULL, *centred = NULL;
    if (f && wf_text_create(v->ctx, "m = abs(f); p = log(max(m*m, 1e-30))", WF_ARGS(WF_ARG("f", f)), 0, want, 1, &p) ==
                 WF_OK)
        centred = wf_fft_shift(p, axes, false);
    wf_release(a);
    wf_release(f);
    wf_release(p);
    return centred;
}

static int show(view *v)
{
    wf_meta meta = { .size = sizeof meta };
    panels p = { .ctx = v->ctx };
    progress_begin("reading");
    wf_array *a = wf_load(v->ctx, v->in, &meta);
    if (a && v->spectrum && (wf_array_count(a) == 0 || find_channels(v, wf_array_shape(a), &meta))) {
        wf_release(a);
        return failed("%s: --spectrum is for images of one channel that have values", v->in);
    }
    if (a && v->spectrum)
        a = log_power(v, a, &meta);
    if (a && wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX) {
        wf_array *size = magnitude(v->ctx, a);
        wf_release(a);
        a = size;
    }
    if (!a)
        return failed_in(v->ctx);
    progress_begin("drawing");
    const char *problem = take_panels(v, a, &meta, &p);
    wf_release(a);
    wf_array *picture = problem ? NULL : draw(&p, &v->plan, &v->look);
    panels_free(&p);
    int result = EXIT_OK;
    if (problem && *problem)
        result = failed("%s: %s", v->in, problem);
    else if (!picture || wf_save(picture, v->out, NULL) != WF_OK)
        result = failed_in(v->ctx);
    progress_end();
    wf_release(picture);
    return result;
}

int run_view(const command *self, int argc, char **argv)
{
    view v = { .self = self,
               .look = { .mode = CONTRAST_PERCENTILES, .low = 0.5, .high = 99.5, .gamma = 1 },
               .slices = 3,
               .slice_axis = { 2, 1, 0 },
               .slice_at = { -1, -1, -1 } };
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    int result = read_arguments(&v, &a);
    if (result >= 0)
        return result;
    a.host_only = true;
    v.ctx = open_context(&a);
    if (!v.ctx)
        return EXIT_USAGE;
    result = check_output(&a, v.ctx, v.out, WF_FORMAT_PNG);
    if (result == EXIT_OK)
        result = show(&v);
    wf_context_free(v.ctx);
    return result;
}
