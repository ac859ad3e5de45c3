/* images.h - what the commands share that work on images and volumes: their options, reading, writing, frequencies.
 *
 * A command calls job_next until ARG_END, job_begin, job_load, its work, job_save, and job_end in any case.
 * Axes before those of an image or volume are a batch. */
#ifndef WEFT_CLI_IMAGES_H
#define WEFT_CLI_IMAGES_H
#include "../cli.h"
#include "weft/fft.h"
#include "weft/functions.h"
#include "weft/signal.h"
#include "weft/xform.h"

enum { MOST_FILES = 3 };
typedef struct job {
    arguments a; /* set by the command: command, options, argc, argv */
    wf_context *ctx;
    facts facts;
    const char *in[MOST_FILES];
    int ins, most; /* files given; files the command takes */
    const char *out;
} job;

/* The first options of each command, and the number of the first one of its own. */
#define IMAGE_OPTIONS { "output", 'o', true }, FACT_OPTIONS
enum { IMAGE_OUT, IMAGE_FACT, IMAGE_OWN = IMAGE_FACT + FACT_COUNT };
/* The help of these options: those of the input and the computation, and all. */
#define INPUT_HELP                                                                                                       \
    "  --pixel A              the pixel size in Angstrom, in place of that of the file: 1.2, or y,x, or z,y,x\n"         \
    "  --stack, --volume      what the first of three axes is, if the file does not say it\n"                            \
    "  --device NAME          where to compute: cpu, interp, cuda:0 (an NVIDIA GPU), cuda-emu (emulated, with checks)\n" \
    "  --threads N            0: all cores (the default)\n"
#define IMAGE_HELP                                                                                                             \
    "  -o FILE                the result; the suffix selects MRC, NPY, TIFF, PNG or Zarr\n"                                    \
    "  --dtype TYPE           the type of values in the file: u8 i16 u16 f16 f32 ...; rounded, cut to the range\n" STORED_HELP \
        INPUT_HELP
static inline job job_of(const command *self, const option *options, int argc, char **argv, int most)
{
    return (job){ .a = { .command = self, .options = options, .argc = argc, .argv = argv }, .most = most };
}

/* Takes files and the first options. Returns the command's next option of its own, whose text is job->a.value, or
 * ARG_END; ARG_BAD or ARG_HELP after a message: the command returns ended(). */
int job_next(job *j);
/* Checks that there are at least `least` files, and an output if `output`; opens the context. Returns an exit code. */
int job_begin(job *j, int least, bool output);
int job_end(job *j, int result);

typedef struct image {
    wf_array *data; /* f32 or f64, in C order */
    wf_meta meta;
    const char *path;
    int rank;        /* 2: images, 3: volumes; axes before are a batch */
    double pixel[3]; /* Angstrom along z, y, x; 0 = unknown */
} image;
/* Reads file number i. Returns an exit code. */
int job_load(job *j, int i, image *out);
/* The same, of a file that an option names. */
int job_load_path(job *j, const char *path, image *out);
/* The message for an image with channels, its last axis. Returns an exit code. */
int refuse_channels(const char *path, wf_shape shape);
/* Opens a file to be read image by image; `out` gets no data. Returns an exit code; the caller frees *file. */
int job_open_movie(job *j, const char *path, const wf_movie *how, image *out, wf_file **file, wf_dtype *dtype,
                   wf_shape *shape);
/* Writes a result, which it releases, with the facts of the image that it comes from. Returns an exit code; NULL is an
 * error of the context. */
int job_save(job *j, wf_array *result, const image *from);
/* Multiplies the pixel size along axis d, from 0 to rank - 1, of what job_save writes. */
void scale_spacing(image *i, int d, double factor);
/* Moves the place of the first sample by that many pixels along axis d, of what job_save writes, which is no longer at the
 * place of the file in its cell. */
void move_origin(image *i, int d, double pixels);
/* The result has another orientation or form than the file: no place in the cell, and no records of its symmetry. */
void drop_symmetry(image *i);
/* A message unless both have one shape. Returns an exit code. */
int same_shape(const image *a, const image *b);

/* A message unless both have pixels of one size, to a hundredth, or one of them has an unknown size. Returns an exit
 * code. */
int same_pixels(const image *a, const image *b);

/* The last `rank` axes of an array. */
wf_axes image_axes(const wf_array *array, int rank);
/* The half spectrum of an image. */
wf_spectrum image_spectrum(const image *i);
/* The number of images or volumes of the array. */
int64_t image_count(const wf_array *array, int rank);
/* The image's axis d, from 0 to rank - 1: its pixel size, or 1 if that is unknown. */
double pixel_along(const image *i, int d);
/* The length of a vector. */
wf_val vector_length(wf_vals v);
/* The length of the frequency vector: in 1/Angstrom, or in 1/pixel if the pixel size is unknown. */
wf_val image_frequency(const image *i, wf_vals k);

/* Reads a period, "20" in Angstrom or "8px" in pixels, as a frequency in the unit of image_frequency. Returns an exit
 * code; the message names the option. */
int parse_period(const job *j, const image *i, const char *name, const char *text, double *frequency);
/* Reads up to `most` lengths in pixels, or with A in Angstrom, as pixels: number k is along an axis of pixel size pixel[k],
 * 0 = unknown. Returns how many; 0 = the text has another form, or a pixel size is unknown. */
int parse_lengths(const char *text, const double *pixel, double *out, int most);
/* True if a text of lengths is in Angstrom. */
bool in_angstrom(const char *text);
/* True if the pixels of an image have one size along its axes, to `most` of it. */
bool even_pixels(const image *i, double most);
/* A message unless the pixels have one size, to a hundredth. `what`: "a rotation". Returns an exit code. */
int need_even_pixels(const image *i, const char *what);

/* ---- options of geometry ---- */
/* Takes --interpolation and --border, which stand in that order, as options 0 and 1. Returns an exit code. */
int take_interpolation(const job *j, wf_interp *how, int o, const char *text);
#define INTERPOLATION_OPTIONS \
    { "interpolation", 0, true }, { "border", 0, true }
enum { INTERPOLATION_COUNT = 2 };
#define INTERPOLATION_HELP                                                                                   \
    "  --interpolation HOW    nearest, linear, cubic, bspline (the default), lanczos4, lanczos6, lanczos8\n" \
    "  --border HOW           what lies outside: a value (default: 0), clamp, mirror, reflect, periodic\n"
/* Reads a coordinate for each axis into `out`, or puts the centre n/2 there if `text` is NULL. Returns an exit code. */
int read_center(const job *j, const image *i, const char *text, double out[3]);
/* A message unless `group` names a point group of images (rank 2) or volumes. Returns an exit code. */
int check_group(const job *j, const char *group, int rank);
/* Reads the name of an order of Euler angles. Returns an exit code. */
int parse_order(const job *j, const char *text, wf_euler *out);
/* The matrix of Euler angles in degrees, which the library records. False: the context has the error. */
bool euler_matrix(wf_context *ctx, wf_euler order, const double degrees[3], double out[9]);
/* Returns a new array with these elements. NULL: the context has the error. */
wf_array *array_of(wf_context *ctx, wf_dtype dtype, wf_shape shape, const void *elements);
/* Sets rows [2, 3] for wf_transform: position p (y, x) of the result is read at center + shift + R (p - center), where R
 * turns by an angle in radians; R of the opposite angle turns images, as --rotate does. */
void turn_rows(double angle, const double center[2], const double shift[2], double rows[6]);
/* Images [h, w] or [k, h, w] turned in the plane, about n/2, by n angles of 360/n degrees: [n, k, h, w]. NULL: the context
 * has the error. */
wf_array *turned_images(wf_array *images, int64_t n);
/* Makes an image fit for comparison with others, which may have the same faults: values far from the mean are replaced by
 * it, and the mean is taken away. False: the context has the error. */
bool clean(wf_array *frame);
/* Lets images [..., h, w] fall to 0 at their edges. False: the context has the error. */
bool taper(wf_array *images);
/* Changes the sign of all elements. False: the context has the error. */
bool negate(wf_array *images);

/* ---- options of a microscope ---- */
/* The members of wf_ctf that commands know, in the order of wf_spectrum_ctf. */
enum {
    CTF_VOLTAGE,
    CTF_CS,
    CTF_AMPLITUDE,
    CTF_DEFOCUS,
    CTF_ASTIGMATISM,
    CTF_ANGLE,
    CTF_PHASE_SHIFT,
    CTF_BFACTOR,
    CTF_SCALE
};
/* What the members must be that --voltage, --cs and --amplitude give, and columns of STAR files. */
typedef struct optics_limit {
    const char *option, *column;
    int member;
    double least, most;
} optics_limit;
enum { OPTICS_LIMITS = 3 };
extern const optics_limit optics_limits[OPTICS_LIMITS];
/* Takes --defocus, --voltage, --cs and --amplitude, which stand in that order, as options 0 to 3. Returns an exit code. */
int take_optics(const job *j, double ctf[WF_CTF_MEMBERS], int o, const char *text);
#define OPTICS_OPTIONS \
    { "defocus", 0, true }, { "voltage", 0, true }, { "cs", 0, true }, { "amplitude", 0, true }
enum { OPTICS_COUNT = 4 };
#define OPTICS_DEFAULTS [CTF_VOLTAGE] = 300, [CTF_CS] = 2.7, [CTF_AMPLITUDE] = 0.1
#define DEFOCUS_HELP                                                                                                     \
    "  --defocus D[,A,DEG]    mean defocus and half the difference of the two in micrometres, positive is underfocus;\n" \
    "                         angle of the larger one in degrees, from x towards y\n"
#define MICROSCOPE_HELP                                              \
    "  --voltage KV           (default: 300)\n"                      \
    "  --cs MM                spherical aberration (default: 2.7)\n" \
    "  --amplitude A          amplitude contrast (default: 0.1)\n"
#endif
