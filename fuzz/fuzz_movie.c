/* fuzz_movie.c - takes any bytes as a movie, an EER file or a stack of images, and adds and corrects its frames as the
 * last four bytes say. wf_movie_open gives a file or an error that names the movie or the gain. Images are the sums of
 * the frames, which are read by themselves, times or by the gain; a box holds the values of the whole.
 */
#include "fuzz_files.h"
#include "weft/functions.h"
#include "weft/io.h"

enum { OPTIONS = 4 };
/* The bits of the second byte of the options; the others choose the factor. */
enum { GAIN = 1, DIVIDE = 2, COARSE = 4, BY_NAME = 8, ITSELF = 16 };
static char path[96], gain[96], estimated[96];

static void leave(void)
{
    unlink(path);
    unlink(gain);
    unlink(estimated);
    leave_folder();
}

static void enter(void)
{
    enter_folder("movie", leave);
    snprintf(path, sizeof path, "%s/movie.mrcs", folder);
    snprintf(gain, sizeof gain, "%s/reference.npy", folder);
    snprintf(estimated, sizeof estimated, "%s/reference.gain", folder);
}

static int64_t count_of(wf_shape s)
{
    int64_t n = 1;
    for (int d = 0; d < s.rank; d++)
        n *= s.dim[d];
    return n;
}

static float gain_at(int64_t i) { return (float)(i % 7) * 0.25f; }

/* Writes a gain of height x width pixels. */
static void write_gain(const char *name, int64_t height, int64_t width)
{
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(height, width));
    void *values;
    if (!a || wf_map(a, &values, NULL) != WF_OK)
        abort();
    for (int64_t i = 0; i < height * width; i++)
        ((float *)values)[i] = gain_at(i);
    wf_meta meta = { .size = sizeof meta, .format = WF_FORMAT_TIFF };
    require(wf_save(a, name, &meta) == WF_OK, "the gain cannot be saved");
    wf_release(a);
}

/* Opens the movie. Without one there is an error that names a file. */
static wf_file *open_movie(const wf_movie *how, wf_dtype *dtype, wf_shape *shape)
{
    wf_meta meta = { .size = sizeof meta };
    wf_file *f = wf_movie_open(ctx, path, how, &meta, dtype, shape);
    if (!f)
        require(wf_last_status(ctx) != WF_OK && strstr(wf_last_message(ctx), folder),
                "an error without status or file");
    wf_clear_error(ctx);
    return f;
}

/* Reads a box as doubles, which the caller frees. NULL: there was an error, which named a file. */
static double *read_box(wf_file *f, wf_shape first, wf_shape box)
{
    wf_array *a = wf_file_read(f, first, box), *wide = a ? wf_array_cast(a, WF_F64) : NULL;
    double *values = NULL;
    if (wide) {
        size_t bytes = (size_t)wf_array_count(wide) * sizeof *values;
        values = malloc(bytes ? bytes : 1);
        require(values && wf_download(wide, values, bytes) == WF_OK, "no values");
    } else {
        require(wf_last_status(ctx) != WF_OK && strstr(wf_last_message(ctx), folder), "a box without status or file");
    }
    wf_clear_error(ctx);
    wf_release(a);
    wf_release(wide);
    return values;
}

static bool same(double a, double b) { return a == b || (a != a && b != b); }

/* Compares images with the sums of frames, which have `shape`. f32: frames and sums are rounded to floats. */
static void check_sums(const double *image, const double *frames, wf_shape images, wf_shape shape, const wf_movie *how,
                       bool f32, int64_t scale, bool divide)
{
    int64_t pixels = images.dim[images.rank - 2] * images.dim[images.rank - 1], width = images.dim[images.rank - 1];
    int64_t n = images.rank == 3 ? images.dim[0] : 1, group = shape.rank == 3 && how->group ? how->group : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < pixels; p++) {
            double sum = frames[i * group * pixels + p];
            sum = f32 ? (double)(float)sum : sum;
            for (int64_t k = 1; k < group; k++) {
                double more = frames[(i * group + k) * pixels + p];
                sum = f32 ? (double)((float)sum + (float)more) : sum + more;
            }
            if (how->gain) {
                double g = (double)gain_at(p / width / scale * (width / scale) + p % width / scale);
                sum *= !divide ? g : g != 0 ? 1 / g : 0;
                sum = f32 ? (double)(float)sum : sum;
            }
            require(same(image[i * pixels + p], sum), "an image is not the sum of its frames");
        }
}

/* Compares a box of the images, which `choice` selects, with the whole. */
static void check_box(wf_file *f, const double *whole, wf_shape shape, uint32_t choice)
{
    wf_shape first = { .rank = shape.rank }, box = { .rank = shape.rank };
    for (int d = 0; d < shape.rank; d++) {
        box.dim[d] = 1 + (int64_t)(choice % (uint32_t)shape.dim[d]);
        choice = choice * 1664525u + 1013904223u;
        first.dim[d] = (int64_t)(choice >> 8) % (shape.dim[d] - box.dim[d] + 1);
        choice = choice * 1664525u + 1013904223u;
    }
    double *part = read_box(f, first, box);
    for (int64_t i = 0; part && whole && i < count_of(box); i++) {
        int64_t place = 0, step = 1, rest = i;
        for (int d = shape.rank - 1; d >= 0; d--) {
            place += (first.dim[d] + rest % box.dim[d]) * step;
            rest /= box.dim[d];
            step *= shape.dim[d];
        }
        require(same(whole[place], part[i]), "a box has other values");
    }
    require(part || !whole, "a box cannot be read");
    free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx)
        enter();
    if (size < OPTIONS || size > MOST)
        return 0;
    const uint8_t *o = data + size - OPTIONS;
    write_bytes(path, data, size - OPTIONS);
    wf_movie how = { .size = sizeof how, .factor = o[1] >> 5 };
    wf_dtype dtype = WF_NONE, frame_dtype = WF_NONE;
    wf_shape shape = { 0 }, frame_shape = { 0 };
    /* the frames by themselves, with the pixels that are asked for */
    wf_file *frames = open_movie(&how, &frame_dtype, &frame_shape);
    bool gained = (o[1] & GAIN) && frames && frame_shape.rank >= 2 && count_of(frame_shape) > 0;
    int64_t scale = gained && (o[1] & COARSE) && how.factor > 1 ? how.factor : 1;
    how.group = o[0];
    how.divide = o[1] & DIVIDE;
    if (gained) {
        int64_t height = frame_shape.dim[frame_shape.rank - 2], width = frame_shape.dim[frame_shape.rank - 1];
        how.gain = o[1] & ITSELF ? path : o[1] & BY_NAME ? estimated : gain;
        if (!(o[1] & ITSELF) && height * width < MOST)
            write_gain(how.gain, height / scale, width / scale);
    }
    wf_file *movie = open_movie(&how, &dtype, &shape);
    if (movie && count_of(shape) > 0) {
        bool small = frames && count_of(frame_shape) <= MOST;
        double *all = small ? read_box(frames, (wf_shape){ .rank = frame_shape.rank }, frame_shape) : NULL;
        double *images = small ? read_box(movie, (wf_shape){ .rank = shape.rank }, shape) : NULL;
        bool exact = frame_dtype != WF_I64 && frame_dtype != WF_U64; /* doubles hold the values */
        if (all && images && exact && !(o[1] & ITSELF && gained))
            check_sums(images, all, shape, frame_shape, &how, dtype == WF_F32, scale,
                       how.divide || how.gain == estimated);
        if (images)
            check_box(movie, images, shape, (uint32_t)o[2] << 8 | o[3]);
        free(all);
        free(images);
    }
    wf_file_free(movie);
    wf_file_free(frames);
    return 0;
}
