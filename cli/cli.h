/* cli.h - what the commands of the tool share. The tool uses the public headers of the library only.
 *
 * Exit codes: 0 done, 1 the work failed (a file, a computation), 2 the command line makes no sense. Results go to
 * standard output, everything else to standard error.
 */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H
#include "weft/io.h"
#include "weft/weft.h"
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *name, *summary;
    const char *help;                                              /* begins with examples */
    int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the command's name */
} command;
extern const command commands[]; /* ends with a NULL name */

#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))
int failed(const char *format, ...) PRINTF_LIKE(1, 2);                    /* "weft: ..."; returns EXIT_FAILED */
int misused(const command *c, const char *format, ...) PRINTF_LIKE(2, 3); /* with a pointer to help; EXIT_USAGE */
int failed_in(wf_context *ctx);                                           /* the context's message; EXIT_FAILED */

/* ---- command lines ---- */
typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* or 0 */
    bool takes_value;
} option;
typedef struct arguments {
    const command *command;
    const option *options; /* ends with a NULL name */
    int argc, at;
    char **argv;
    const char *value; /* of the option; the operand itself */
    bool operands_only, has_value;
    bool text_wanted; /* set by commands until they have it: what begins with '-' and is no option is an operand */
    /* options that every command that computes understands; taken here */
    const char *device;
    int threads;
    bool fast_math;
    bool history, host_only; /* set by commands before open_context; host_only: no GPU */
} arguments;
enum { ARG_END = -1, ARG_OPERAND = -2, ARG_BAD = -3, ARG_HELP = -4 };
/* Index into options, or one of the above. After ARG_BAD (a message was printed) return EXIT_USAGE; after ARG_HELP (the
 * help was printed) EXIT_OK. Options may stand anywhere: --name value, --name=value, -n value, -nvalue. */
int next_argument(arguments *a);
static inline int ended(int argument) { return argument == ARG_BAD ? EXIT_USAGE : EXIT_OK; }
bool parse_int(const char *text, long low, long high, long *out);
bool parse_real(const char *text, double *out); /* whole text; finite */
typedef enum number_kind { NUMBER_NONE, NUMBER, NUMBER_TOO_LARGE } number_kind;
number_kind parse_number(const char *text, double *out); /* whole text; "nan" and "-inf" are numbers */
bool parse_two(const char *text, double *a, double *b);  /* "1,2.5" */
/* "512,512"; extents of at least 1 */
bool parse_shape(const char *text, wf_shape *out);
bool is_name(const char *text, size_t len);             /* as operator text spells names */
wf_dtype parse_dtype(const char *text);                 /* WF_NONE: none of that name */
wf_stored parse_stored(const char *text);               /* WF_STORED_DEFAULT: none of that name */
int no_such_stored(const command *c, const char *text); /* for --dtype; EXIT_USAGE */
bool same_file(const char *a, const char *b);           /* also if there is none yet */
/* EXIT_OK: `path` is one for wf_save, of format `only` if that is not 0, where a file can be written. Else a message was
 * printed. */
int check_output(const arguments *a, wf_context *ctx, const char *path, wf_format only);

/* ---- context, memory, text ---- */
wf_context *open_context(const arguments *a);                 /* NULL: a message was printed */
void *allocate(size_t n, size_t size);                        /* zeroed; ends the program when there is no memory */
const char *shape_text(wf_shape shape, char buf[static 256]); /* "512 x 512" */
char *append(char *text, const char *format, ...)
    PRINTF_LIKE(2, 3); /* frees `text` (may be NULL), returns the longer one */

enum { NUMBER_CAP = 32, STATISTICS_CAP = 5 * NUMBER_CAP };
const char *real_text(double v, int digits, char buf[static NUMBER_CAP]); /* as "%.*g"; "nan" without a sign */
/* With the fewest digits that read back as the same value of dtype `t` (complex: of its parts). */
const char *shortest_text(double v, wf_dtype t, char buf[static NUMBER_CAP]);
bool print_values(wf_context *ctx, const wf_array *a); /* all of them, as a line; false: the context has the message */
/* Of i64 or u64: the lowest and the highest value, exactly. */
bool whole_extremes(wf_context *ctx, const wf_array *a, char low[static NUMBER_CAP], char high[static NUMBER_CAP]);

/* With WF_FLAG_HISTORY: the kernels that ran since the last time, as a table (history.c). */
void print_history(wf_context *ctx, FILE *out);

/* ---- time ---- */
double seconds(void); /* monotonic */
/* On a terminal, work that lasts longer than a second shows what it does and for how long. */
void progress_begin(const char *what);
void progress_part(double fraction); /* 0 to 1; if known */
void progress_end(void);

/* ---- images ---- */
/* Lowest, highest, and moments of the finite values; one pass, by a reduction. */
typedef struct statistics {
    double min, max, mean, std;
    int64_t count, finite;
} statistics;
bool compute_statistics(wf_context *ctx, const wf_array *a, statistics *out); /* of complex values: of their abs */
/* "min 0  max 1  mean 0.5  std 0.1", with `gap` between them */
const char *statistics_text(const statistics *s, const char *gap, char buf[static STATISTICS_CAP]);
wf_array *magnitude(wf_context *ctx, const wf_array *a); /* new array of absolute values */
wf_array *to_floats(wf_context *ctx, const wf_array *a); /* of f32, f64 where that holds more; new, in C order */

/* ---- random numbers: the same on every machine ---- */
typedef struct random_state {
    uint64_t s[4];
    double spare;
    bool has_spare;
} random_state;
void random_seed(random_state *r, uint64_t seed);
uint64_t random_bits(random_state *r);
double random_uniform(random_state *r); /* [0, 1) */
double random_normal(random_state *r);

/* ---- fft.c ---- */
/* In place, complex (re, im) pairs, row by row then column by column; n and m are powers of two. Forward: exp(-i...),
 * unscaled; inverse: divided by n*m. */
bool fft_2d(float *data, int rows, int columns, bool inverse);

/* ---- the commands ---- */
int run_calc(const command *, int argc, char **argv);
int run_stats(const command *, int argc, char **argv);
int run_view(const command *, int argc, char **argv);
int run_info(const command *, int argc, char **argv);
int run_dump(const command *, int argc, char **argv);
int run_sample(const command *, int argc, char **argv);
int run_bench(const command *, int argc, char **argv);
extern const char help_calc[], help_stats[], help_view[], help_info[], help_dump[], help_sample[], help_bench[];
#endif
