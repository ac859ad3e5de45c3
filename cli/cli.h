/* cli.h - what the commands of the tool share beside common/common.h. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H
#include "common/common.h"
#include "weft/io.h"
#include "weft/star.h"
#include <stdio.h>

/* ---- parse.c: values of options and operands. Each takes the whole text ---- */
bool parse_real(const char *text, double *out); /* finite */
typedef enum number_kind { NUMBER_NONE, NUMBER, NUMBER_TOO_LARGE } number_kind;
number_kind parse_number(const char *text, double *out); /* "nan" and "-inf" are numbers */
bool parse_two(const char *text, double *a, double *b);  /* "1,2.5" */
/* Reads up to `most` finite numbers, separated by commas. Returns how many; 0 = the text has another form. */
int parse_list(const char *text, double *out, int most);
bool parse_count(const char *text, int64_t *out); /* a whole number above 0 */
/* A number of bytes, as 2G: K, M, G and T are powers of 1024. */
bool parse_bytes(const char *text, int64_t *out);
bool parse_shape(const char *text, wf_shape *out); /* "512,512"; extents are at least 1 */
/* Reads "1.2", "1.2,1.3" (y, x) or "2,1.2,1.2" (z, y, x) as the spacing along z, y, x. One number is that of all axes;
 * without z, it is that of y. */
bool parse_spacing(const char *text, double out[3]);
/* Reads the text of a file, which the caller frees by free(*owned), also after an error. Returns an exit code. */
int read_text(const char *path, char **owned, const char **text);
/* Likewise of an open file, of `most` bytes at most, whose name in messages is `shown`. */
int read_stream(FILE *f, const char *shown, size_t most, char **owned, char **text);
wf_dtype parse_dtype(const char *text);   /* WF_NONE = no such dtype */
wf_stored parse_stored(const char *text); /* WF_STORED_DEFAULT = no such type in files */

/* ---- output.c ---- */
/* True if both paths name one file, which need not exist yet. */
bool same_file(const char *a, const char *b);
/* EXIT_OK if wf_save can write to `path`; otherwise prints why not. `only`: the one format allowed, 0 = any. */
int check_output(const arguments *a, wf_context *ctx, const char *path, wf_format only);
/* Prints a warning if the file, which wf_save has written without a type in `meta`, has other numbers than the array:
 * integers that f32 cannot hold, or infinities in place of large floats. */
void warn_of_changes(wf_context *ctx, const wf_array *array, const char *path, const wf_meta *meta);

/* What options of a command say of the files that it writes. */
typedef struct facts {
    wf_stored store_as;
    double spacing[3]; /* along z, y, x, in Angstrom; 0 = not given */
    double origin[3];  /* likewise */
    int origin_axes;   /* the last ones of them that are given: 0, 2 or 3 */
    bool stack, volume;
    bool pyramid;     /* OME-Zarr gets levels */
    int32_t coarsest; /* the greatest extent of the last of them; 0 = not given */
} facts;
/* The options of facts, for tables of options, and their numbers after the first of them. */
#define FACT(name, has_value) \
    {                         \
        name, 0, has_value    \
    }
#define FACT_OPTIONS                                                                                               \
    FACT("dtype", true), FACT("pixel", true), FACT("stack", false), FACT("volume", false), FACT("pyramid", false), \
        FACT("coarsest", true), FACT("origin", true)
enum { FACT_DTYPE, FACT_PIXEL, FACT_STACK, FACT_VOLUME, FACT_PYRAMID, FACT_COARSEST, FACT_ORIGIN, FACT_COUNT };
/* The help of the last three. */
#define STORED_HELP                                                                                                  \
    "  --pyramid              OME-Zarr (.ome.zarr) gets levels, each of means of 2 x 2 (2 x 2 x 2) samples of the\n" \
    "                         one before, until no axis of an image or volume has more than 256 samples\n"           \
    "  --coarsest N           likewise, until no axis has more than N samples\n"                                     \
    "  --origin Z,Y,X         where the first sample of the result lies, in Angstrom, or Y,X; MRC and OME-Zarr\n"
/* Takes one option. Returns an exit code. */
int take_fact(const command *self, facts *f, int fact, const char *text);
/* Returns EXIT_OK if a file of this name can hold what was given; otherwise prints why not. */
int check_facts(const command *self, wf_context *ctx, const facts *f, const char *path);
/* Changes what is to be saved by what was given. */
void apply_facts(const facts *f, wf_meta *meta);
/* Those parts of it: an origin that follows from NSTART follows the spacing, too; an origin that was given replaces both. */
void set_spacing(wf_meta *meta, const double spacing[3]);
void apply_origin(const facts *f, wf_meta *meta);

/* The options of movies, for tables of options, and their numbers after the first of them. */
#define MOVIE_OPTIONS                                                                               \
    { "gain", 0, true }, { "divide", 0, false }, { "gain-rot", 0, true }, { "gain-flip", 0, true }, \
        { "group", 0, true },                                                                       \
    {                                                                                               \
        "upsample", 0, true                                                                         \
    }
enum { MOVIE_GAIN, MOVIE_DIVIDE, MOVIE_GAIN_ROTATION, MOVIE_GAIN_FLIP, MOVIE_GROUP, MOVIE_UPSAMPLE, MOVIE_COUNT };
#define MOVIE_HELP                                                                                                   \
    "  --gain FILE            frames are multiplied by it, or, if its name ends with .gain, divided\n"               \
    "  --divide               frames are divided by the gain\n"                                                      \
    "  --gain-rot N           the gain is turned by N quarters, clockwise where its first row is at the top\n"       \
    "  --gain-flip N          after that it is turned upside down (1) or left to right (2), as by RELION's option\n" \
    "  --group N              each N frames are added to one; what is left at the end is dropped\n"                  \
    "  --upsample N           EER: 2 or 4 pixels along one of the detector (default: 1)\n"
/* Takes one option. Returns an exit code. */
int take_movie(const command *self, wf_movie *m, int which, const char *text);

/* The axes of one image or volume among those of an array of 2 to 4: 2 for images and stacks of them, else 3. */
int image_rank(wf_shape shape, bool stack);

/* ---- print.c: values as text ---- */
enum { NUMBER_CAP = 32, STATISTICS_CAP = 5 * NUMBER_CAP };
const char *shape_text(wf_shape shape, char buf[static 256]);             /* "512 x 512" */
const char *real_text(double v, int digits, char buf[static NUMBER_CAP]); /* as "%.*g"; "nan" without a sign */
/* With the fewest digits that read back as the same value of dtype `t` (complex: of its parts). */
const char *shortest_text(double v, wf_dtype t, char buf[static NUMBER_CAP]);
/* Prints all values as one line. false: the context has the error. */
bool print_values(wf_context *ctx, const wf_array *a);
/* The lowest and the highest value of an i64 or u64 array, exactly. false: the context has the error. */
bool whole_extremes(wf_context *ctx, const wf_array *a, char low[static NUMBER_CAP], char high[static NUMBER_CAP]);

/* ---- history.c ---- */
/* Prints the kernels that ran since the last call, as a table. The context needs WF_FLAG_HISTORY. */
void print_history(wf_context *ctx, FILE *out);

/* ---- statistics.c ---- */
typedef struct statistics {
    double min, max, mean, std; /* of the finite values */
    int64_t count, finite;
} statistics;
/* Complex values count by their absolute value. false: the context has the error. */
bool compute_statistics(wf_context *ctx, const wf_array *a, statistics *out);
/* "min 0  max 1  mean 0.5  std 0.1", with `gap` between the four. */
const char *statistics_text(const statistics *s, const char *gap, char buf[static STATISTICS_CAP]);
/* New arrays; the caller releases them. NULL: the context has the error. */
wf_array *magnitude(wf_context *ctx, const wf_array *a); /* absolute values */
wf_array *to_floats(wf_context *ctx, const wf_array *a); /* f32 or f64; in C order */
bool floats_are_wide(wf_dtype dtype);                    /* to_floats gives f64: f32 has too few digits */

/* ---- star.c ---- */
void print_star(const wf_star *star, const char *path); /* tables and columns */

/* ---- the commands ---- */
int run_calc(const command *, int argc, char **argv);
int run_each(const command *, int argc, char **argv);
int run_stats(const command *, int argc, char **argv);
int run_view(const command *, int argc, char **argv);
int run_info(const command *, int argc, char **argv);
int run_dump(const command *, int argc, char **argv);
int run_check(const command *, int argc, char **argv);
int run_sample(const command *, int argc, char **argv);
int run_star(const command *, int argc, char **argv);
int run_bench(const command *, int argc, char **argv);
/* those of images/ */
int run_filter(const command *, int argc, char **argv);
int run_ctf(const command *, int argc, char **argv);
int run_transform(const command *, int argc, char **argv);
int run_bin(const command *, int argc, char **argv);
int run_radial(const command *, int argc, char **argv);
int run_fsc(const command *, int argc, char **argv);
int run_correlate(const command *, int argc, char **argv);
int run_symmetrize(const command *, int argc, char **argv);
int run_mask(const command *, int argc, char **argv);
int run_project(const command *, int argc, char **argv);
int run_pick(const command *, int argc, char **argv);
int run_average(const command *, int argc, char **argv);
int run_reconstruct(const command *, int argc, char **argv);
int run_convert(const command *, int argc, char **argv);
int run_align(const command *, int argc, char **argv);
extern const char help_filter[], help_ctf[], help_transform[], help_bin[], help_radial[], help_fsc[], help_correlate[],
    help_symmetrize[], help_mask[], help_convert[], help_align[], help_project[], help_pick[], help_average[],
    help_reconstruct[];
extern const char help_calc[], help_each[], help_stats[], help_view[], help_info[], help_dump[], help_check[],
    help_sample[], help_star[];
#endif
