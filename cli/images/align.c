/* align.c - weft align: the frames of a movie moved onto each other and added, each frequency weighted by the dose.
 *
 * Frames are compared by spectra cropped to --resolution, of copies that clean() has prepared: each with the sum of all
 * others, moved by the shifts found so far and tapered, until no shift changes by more than STEADY pixels. The frames that
 * are added are as they were read. */
#include "images.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char help_align[] =
    "  weft align movie.mrcs -o sum.mrc\n"
    "  weft align movie.tif --gain gain.mrc --dose 1.2 -o sum.mrc > shifts.txt\n"
    "  weft align movie.mrcs --dose 0.8 --voltage 200 --bin 2 -o sum.mrc\n"
    "  weft align movie.eer --gain ref.gain --group 30 --dose 0.04 -o sum.mrc\n\n"
    "Finds the drift of each frame by correlation with the sum of the others, to fractions of a pixel, and adds the moved\n"
    "frames. Prints a line for each frame: its number, and the shift in pixels (y x) that was taken away; the first frame\n"
    "has shift 0 0. Frames are read one by one, so that a movie may be larger than memory. Copies are compared, in which values\n"
    "further than six standard deviations from the mean, as of dead columns and hot pixels, are replaced by the mean and the\n"
    "edges fall to 0; the frames that are added stay as they are.\n\n" MOVIE_HELP
    "  --dose D               electrons/A^2 of a frame of the file: each frame is weighted by w = exp(-D' / 2c), D' the dose\n"
    "                         received after it, c = 0.245 r^-1.665 + 2.81 the critical dose of the frequency r (Grant and\n"
    "                         Grigorieff), and the sum times sqrt(frames / sum of w^2), so that noise keeps its strength\n"
    "  --pre-dose D           received before the first frame (default: 0)\n"
    "  --voltage KV           300 (the default), or 200: critical doses are 0.8 times as large\n"
    "  --bin B                the sum has pixels B times as large, by Fourier cropping\n"
    "  --resolution R         the finest waves that are compared: Angstrom, or as 8px (default: 6px, or 8)\n"
    "  --bfactor B            damps them, in square pixels of the comparison (default: 30)\n"
    "  --max-shift N          of a frame against its neighbours' sum, in pixels (default: a tenth of the extent)\n"
    "  --no-align             adds the frames as they are\n" IMAGE_HELP;

enum {
    MOVIE = IMAGE_OWN,
    DOSE = MOVIE + MOVIE_COUNT,
    PRE_DOSE,
    VOLTAGE,
    BIN,
    RESOLUTION,
    BFACTOR,
    MAX_SHIFT,
    NO_ALIGN
};
static const option options[] = { IMAGE_OPTIONS,
                                  MOVIE_OPTIONS,
                                  { "dose", 0, true },
                                  { "pre-dose", 0, true },
                                  { "voltage", 0, true },
                                  { "bin", 0, true },
                                  { "resolution", 0, true },
                                  { "bfactor", 0, true },
                                  { "max-shift", 0, true },
                                  { "no-align", 0, false },
                                  { NULL, 0, false } };
enum { MOST_ROUNDS = 20 };
static const double STEADY = 0.02;

typedef struct align {
    job *j;
    const char *resolution;
    wf_movie how;
    double dose, pre_dose, voltage, bin, bfactor, max_shift;
    bool still;
    image movie; /* without data */
    wf_file *file;
    wf_shape shape;
    bool wide; /* frames are f64, else f32 */
    int64_t frames;
    double *shift; /* [frames, 2]: where each frame's content lies, in pixels of the movie */
} align;

/* ---- one frame ---- */
/* A frame as f32 or f64; the caller releases it. */
static wf_array *frame_of(const align *a, int64_t i)
{
    wf_shape offset = { .rank = 3, .dim = { i } }, one = a->shape;
    one.dim[0] = 1;
    wf_array *frame = wf_file_read(a->file, offset, one), *real = frame ? to_floats(a->j->ctx, frame) : NULL;
    wf_array *view = real ? wf_view_at(real, 0, 0) : NULL;
    wf_release(frame);
    wf_release(real);
    return view;
}

static wf_shape frame_shape(const align *a) { return WF_SHAPE(a->shape.dim[1], a->shape.dim[2]); }

/* The half spectrum of a frame, cropped to a shape; the caller releases it. `compared`: clean() prepares the frame
 * before. */
static wf_array *spectrum_of(const align *a, int64_t i, wf_shape to, bool compared)
{
    wf_array *frame = frame_of(a, i);
    bool ok = frame && (!compared || clean(frame));
    wf_array *whole = ok ? wf_fft_r2c(frame, WF_AXES(0, 1), WF_FFT_BACKWARD) : NULL;
    wf_array *part = whole ? wf_fft_resize(whole, frame_shape(a), to, WF_AXES(0, 1)) : NULL;
    wf_release(frame);
    wf_release(whole);
    return part;
}

/* ---- comparison ---- */
typedef struct comparison {
    wf_shape shape;    /* of the cropped frames */
    double scale[2];   /* pixels of the movie to theirs */
    wf_array *spectra; /* [frames, h, w/2 + 1] */
    wf_array *shifts;  /* f64 [frames, 2], in their pixels, as wf_spectrum_shift takes them: away from the drift */
    wf_spectrum layout;
} comparison;

/* The even extent that holds waves down to `period` pixels. */
static int64_t cropped(int64_t n, double period)
{
    int64_t m = 2 * (int64_t)ceil((double)n / period);
    m = wf_fft_fast_size(m < 16 ? 16 : m, true);
    return m < n ? m : n;
}

static bool open_comparison(const align *a, comparison *c, double frequency)
{
    wf_shape s = frame_shape(a);
    double pixel = pixel_along(&a->movie, 1), period = 1 / (frequency * pixel);
    c->shape = WF_SHAPE(cropped(s.dim[0], period), cropped(s.dim[1], period));
    for (int d = 0; d < 2; d++) {
        c->scale[d] = (double)c->shape.dim[d] / (double)s.dim[d];
        c->layout.size[d] = c->shape.dim[d];
    }
    c->layout.rank = 2;
    wf_shape all = WF_SHAPE(a->frames, c->shape.dim[0], c->shape.dim[1] / 2 + 1);
    c->spectra = wf_empty(a->j->ctx, a->wide ? WF_C128 : WF_C64, all);
    c->shifts = wf_full(a->j->ctx, WF_F64, WF_SHAPE(a->frames, 2), 0);
    bool ok = c->spectra && c->shifts;
    for (int64_t i = 0; i < a->frames && ok; i++) {
        progress_part(0.5 * (double)i / (double)a->frames);
        wf_array *from = spectrum_of(a, i, c->shape, true), *to = wf_view_at(c->spectra, 0, i);
        ok = from && to && wf_array_assign(to, from) == WF_OK;
        wf_release(from);
        wf_release(to);
    }
    return ok;
}

static void close_comparison(comparison *c)
{
    wf_release(c->spectra);
    wf_release(c->shifts);
}

/* The spectra of all frames, moved by c->shifts and then tapered, so that the edges of all lie at the same place of the
 * content and draw no shift to 0; the caller releases them. */
static wf_array *moved_spectra(const comparison *c)
{
    wf_array *moved = wf_array_copy(c->spectra), *frames = NULL, *out = NULL;
    if (moved && wf_spectrum_shift(moved, moved, &c->layout, c->shifts) == WF_OK)
        frames = wf_fft_c2r(moved, c->shape.dim[1], WF_AXES(1, 2), WF_FFT_BACKWARD);
    if (frames && taper(frames))
        out = wf_fft_r2c(frames, WF_AXES(1, 2), WF_FFT_BACKWARD);
    wf_release(moved);
    wf_release(frames);
    return out;
}

/* The maps [frames, h, w] of the correlation of each moved frame with the sum of all others. */
static wf_array *correlate(const align *a, const comparison *c, double bfactor)
{
    wf_context *ctx = a->j->ctx;
    wf_shape shape = wf_array_shape(c->spectra);
    wf_array *moved = moved_spectra(c), *sum = moved ? wf_array_sum(moved, WF_AXES(0)) : NULL, *map = NULL;
    if (!sum) {
        wf_release(moved);
        return NULL;
    }
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, moved), others = wf_sub(wf_in(g, sum), x);
    wf_val k = wf_freq_norm(g, &c->layout, WF_VALS(wf_iota(g, shape, 1), wf_iota(g, shape, 2)));
    wf_val damped = wf_exp(wf_mul(wf_mul(k, k), -0.5 * bfactor)), zero = wf_eq(k, 0);
    wf_out(g, moved, wf_mul(wf_mul(x, wf_conj(others)), wf_select(zero, 0, damped)));
    if (wf_run(g) == WF_OK)
        map = wf_fft_c2r(moved, c->shape.dim[1], WF_AXES(1, 2), WF_FFT_BACKWARD);
    wf_release(moved);
    wf_release(sum);
    return map;
}

/* Sets all but the lags up to `most` pixels of the movie to the smallest value. */
static bool limit(const align *a, const comparison *c, wf_array *map, const double most[2])
{
    wf_shape shape = wf_array_shape(map);
    wf_array *low = wf_array_min(map, WF_AXES(1, 2));
    wf_graph *g = wf_begin(a->j->ctx);
    wf_val far = WF_V(0);
    for (int d = 0; d < 2; d++) {
        wf_val i = wf_iota(g, shape, 1 + d), lag = wf_min(i, wf_sub((double)c->shape.dim[d], i));
        wf_val beyond = wf_gt(lag, ceil(most[d] * c->scale[d]));
        far = d ? wf_or(far, beyond) : beyond;
    }
    if (low)
        wf_out(g, map, wf_select(far, wf_in(g, low), wf_in(g, map)));
    bool ok = wf_run(g) == WF_OK && low;
    wf_release(low);
    return ok;
}

/* One round: adds to the shifts what the maps say. Sets *change to the largest change, in pixels of the comparison. */
static bool improve(align *a, comparison *c, double *moved, double *change)
{
    wf_shape s = frame_shape(a);
    size_t n = (size_t)a->frames;
    double most[2];
    for (int d = 0; d < 2; d++)
        most[d] = a->max_shift > 0 ? a->max_shift : 0.1 * (double)s.dim[d];
    wf_array *map = correlate(a, c, a->bfactor), *peak = NULL;
    double *found = allocate(n * 3, sizeof *found), mean[2] = { 0, 0 };
    bool ok = map && limit(a, c, map, most) && (peak = wf_correlate_peak(map, 2)) &&
              wf_download(peak, found, n * 3 * sizeof *found) == WF_OK;
    *change = 0;
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < 2; d++)
            mean[d] += found[3 * i + (size_t)d] / (double)n;
    for (size_t i = 0; i < n && ok; i++)
        for (int d = 0; d < 2; d++) {
            double step = found[3 * i + (size_t)d] - mean[d];
            moved[2 * i + (size_t)d] -= step;
            *change = fmax(*change, fabs(step));
        }
    ok = ok && wf_upload(c->shifts, moved, 2 * n * sizeof *moved) == WF_OK;
    wf_release(map);
    wf_release(peak);
    free(found);
    return ok;
}

/* Sets a->shift. Returns an exit code. */
static int find_shifts(align *a)
{
    comparison c = { .spectra = NULL };
    double frequency, change = 0, *moved = allocate((size_t)a->frames * 2, sizeof *moved);
    const char *text = a->resolution ? a->resolution : a->movie.pixel[2] > 0 ? "8" : "6px";
    int result = parse_period(a->j, &a->movie, "resolution", text, &frequency);
    bool ok = result == EXIT_OK && open_comparison(a, &c, frequency);
    for (int round = 0; round < MOST_ROUNDS && ok; round++) {
        progress_part(0.5 + 0.25 * round / MOST_ROUNDS);
        ok = improve(a, &c, moved, &change);
        if (change < STEADY)
            break;
    }
    for (int64_t i = 0; i < a->frames && ok; i++)
        for (int d = 0; d < 2; d++)
            a->shift[2 * i + d] = (moved[d] - moved[2 * i + d]) / c.scale[d];
    close_comparison(&c);
    free(moved);
    return result != EXIT_OK || ok ? result : failed_in(a->j->ctx);
}

/* ---- sum ---- */
/* Adds frame i, moved back and weighted, to `sum`, and its squared weights to `squares`, unless that is NULL. */
static bool add_frame(const align *a, int64_t i, const wf_spectrum *layout, wf_array *sum, wf_array *squares)
{
    wf_array *x = spectrum_of(a, i, WF_SHAPE(layout->size[0], layout->size[1]), false);
    if (!x)
        return false;
    wf_shape shape = wf_array_shape(x), from = frame_shape(a);
    wf_graph *g = wf_begin(a->j->ctx);
    wf_val k[2], back[2], r = WF_V(0);
    for (int d = 0; d < 2; d++) {
        double ratio = (double)layout->size[d] / (double)from.dim[d];
        wf_val along;
        k[d] = wf_freq(g, layout, d, wf_iota(g, shape, d));
        back[d] = wf_const(g, WF_F64, -a->shift[2 * i + d] * ratio);
        along = wf_mul(k[d], ratio / pixel_along(&a->movie, d));
        r = d ? wf_hypot(r, along) : along;
    }
    wf_val v = wf_mul(wf_in(g, x), wf_phase_shift(g, (wf_vals){ back, 2 }, (wf_vals){ k, 2 }));
    if (a->dose > 0) {
        double received = a->pre_dose + a->dose * (double)(i + 1);
        wf_val weight = wf_dose_weight(r, received, a->voltage < 250 ? 0.8 : 1);
        v = wf_mul(v, weight);
        wf_out(g, squares, wf_add(wf_in(g, squares), wf_mul(weight, weight)));
    }
    wf_out(g, sum, wf_add(wf_in(g, sum), v));
    bool ok = wf_run(g) == WF_OK;
    wf_release(x);
    return ok;
}

/* The sum of all frames; the caller releases it. */
static wf_array *add_frames(const align *a)
{
    wf_context *ctx = a->j->ctx;
    wf_shape from = frame_shape(a), to = from;
    for (int d = 0; d < 2; d++)
        if (a->bin != 1)
            to.dim[d] = 2 * (int64_t)fmax(floor(0.5 * (double)from.dim[d] / a->bin + 0.5), 1);
    bool wide = a->wide, ok;
    wf_spectrum layout = { .dtype = WF_F64, .rank = 2, .size = { to.dim[0], to.dim[1] } };
    wf_shape half = WF_SHAPE(to.dim[0], to.dim[1] / 2 + 1);
    wf_array *sum = wf_full(ctx, wide ? WF_C128 : WF_C64, half, 0), *out = NULL;
    wf_array *squares = a->dose > 0 ? wf_full(ctx, wide ? WF_F64 : WF_F32, half, 0) : NULL;
    ok = sum && (squares || !(a->dose > 0));
    for (int64_t i = 0; i < a->frames && ok; i++) {
        progress_part(0.75 + 0.25 * (double)i / (double)a->frames);
        ok = add_frame(a, i, &layout, sum, squares);
    }
    if (ok && squares) { /* noise keeps its strength at every frequency */
        wf_graph *g = wf_begin(ctx);
        wf_out(g, sum, wf_mul(wf_in(g, sum), wf_sqrt(wf_div((double)a->frames, wf_in(g, squares)))));
        ok = wf_run(g) == WF_OK;
    }
    if (ok)
        out = wf_fft_c2r(sum, to.dim[1], WF_AXES(0, 1), WF_FFT_BACKWARD);
    wf_release(sum);
    wf_release(squares);
    return out;
}

/* ---- the command ---- */
static int open_movie(align *a)
{
    wf_dtype t = WF_NONE;
    a->how.size = sizeof a->how;
    progress_begin("aligning");
    int result = job_open_movie(a->j, a->j->in[0], &a->how, &a->movie, &a->file, &t, &a->shape);
    if (result != EXIT_OK)
        return result;
    if (a->shape.rank != 3)
        return failed("%s: a movie has frames, rows and columns; this has %d axes", a->movie.path, (int)a->shape.rank);
    a->wide = floats_are_wide(t);
    a->frames = a->shape.dim[0];
    a->dose *= a->how.group > 1 ? (double)a->how.group : 1;
    a->shift = allocate((size_t)a->frames * 2, sizeof *a->shift);
    if (a->dose > 0 && !(a->movie.pixel[2] > 0))
        return misused(a->j->a.command, "--dose: the pixel size of %s is unknown; --pixel gives it", a->movie.path);
    return EXIT_OK;
}

static int align_movie(align *a)
{
    int result = open_movie(a);
    if (result == EXIT_OK && !a->still && a->frames > 1)
        result = find_shifts(a);
    wf_array *sum = result == EXIT_OK ? add_frames(a) : NULL;
    if (result != EXIT_OK)
        return result;
    image facts_of = a->movie;
    wf_shape from = frame_shape(a), to = wf_array_shape(sum);
    facts_of.meta.is_stack = false;
    facts_of.meta.extended_from = NULL;
    for (int d = 0; d < 2 && sum; d++)
        scale_spacing(&facts_of, d, (double)from.dim[d] / (double)to.dim[d]);
    result = job_save(a->j, sum, &facts_of);
    progress_end();
    for (int64_t i = 0; i < a->frames && result == EXIT_OK; i++)
        printf("%lld %.3f %.3f\n", (long long)i, a->shift[2 * i] + 0.0, a->shift[2 * i + 1] + 0.0);
    return result;
}

static int take_option(align *a, int o, const char *text)
{
    const command *self = a->j->a.command;
    struct {
        int o;
        double *value, least;
        const char *what;
    } numbers[] = { { DOSE, &a->dose, 0, "electrons/A^2 of a frame" },
                    { PRE_DOSE, &a->pre_dose, 0, "electrons/A^2" },
                    { VOLTAGE, &a->voltage, 1, "kV" },
                    { BIN, &a->bin, 1, "a factor from 1 on" },
                    { BFACTOR, &a->bfactor, 0, "a number from 0 on" },
                    { MAX_SHIFT, &a->max_shift, 0, "pixels" } };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (numbers[k].o == o)
            return parse_real(text, numbers[k].value) && *numbers[k].value >= numbers[k].least
                       ? EXIT_OK
                       : misused(self, "--%s %s: give %s", options[o].name, text, numbers[k].what);
    if (o >= MOVIE && o < DOSE)
        return take_movie(self, &a->how, o - MOVIE, text);
    if (o == RESOLUTION)
        a->resolution = text;
    else
        a->still = true;
    return EXIT_OK;
}

int run_align(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    align a = { .j = &j, .voltage = 300, .bin = 1, .bfactor = 30 };
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (take_option(&a, o, j.a.value) != EXIT_OK)
            return EXIT_USAGE;
    }
    j.facts.stack = !j.facts.volume;
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = align_movie(&a);
    wf_file_free(a.file);
    free(a.shift);
    return job_end(&j, result);
}
