/* common.h - what the tool and the program behind `weft bench` (bench/cli) share: messages, command lines, contexts, time
 * and random numbers. Both use the public headers of the library only.
 *
 * Exit codes: 0 done, 1 the work failed (a file, a computation), 2 the command line makes no sense. Results go to
 * standard output, everything else to standard error.
 */
#ifndef WEFT_CLI_COMMON_H
#define WEFT_CLI_COMMON_H
#include "weft/weft.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PI 3.14159265358979323846

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *name, *summary;
    const char *help; /* begins with examples */
    int (*run)(const struct command *self, int argc,
               char **argv); /* argv[0] is the command's name; returns exit code */
} command;

/* ---- message.c ---- */
#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))
/* Prints "weft: ..." and returns EXIT_FAILED. */
int failed(const char *format, ...) PRINTF_LIKE(1, 2);
/* Prints "weft COMMAND: ..." and where to find help; returns EXIT_USAGE. */
int misused(const command *c, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints the last error of the context; returns EXIT_FAILED. */
int failed_in(wf_context *ctx);
/* From now on these functions print nothing. */
void stay_silent(void);
void print_help(const command *c);
/* Zeroed memory for n items of `size` bytes; ends the program if there is none. Owned by the caller: free(). */
void *allocate(size_t n, size_t size);
/* Appends to `text` (NULL: to nothing), which it frees. Returns the longer text; owned by the caller: free(). */
char *append(char *text, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- arguments.c ---- */
typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* 0 = none */
    bool takes_value;
} option;
typedef struct arguments {
    /* set by the command before the first call of next_argument */
    const command *command;
    const option *options; /* of the command; ends with a NULL name */
    int argc;
    char **argv;
    /* true until the command has its text: a word with '-' that is no option is an operand */
    bool text_wanted;
    /* state of next_argument */
    int at;
    bool operands_only; /* after "--" */
    bool has_text;      /* the command has a text: all operands after it are inputs, name=... */
    const char *value;  /* of the last option, or the last operand */
    /* options of all commands that compute */
    const char *device;
    int threads;
    bool fast_math;
    /* set by the command before open_context */
    bool history;             /* WF_FLAG_HISTORY */
    bool host_only;           /* a GPU is refused */
    bool order_by_shape;      /* WF_FLAG_ORDER_BY_SHAPE */
    uint64_t memory_bytes;    /* as in wf_config */
    bool silent;              /* warnings of the library are not printed */
    bool (*poll)(void *user); /* as in wf_config, without `user`; NULL: no calls */
} arguments;
enum { MOST_CLI_THREADS = 1024 }; /* for --threads and WEFT_THREADS; the library starts no more */
enum { ARG_END = -1, ARG_OPERAND = -2, ARG_BAD = -3, ARG_HELP = -4 };
/* The next option of the command, as an index into `options`, or one of the above. Options may stand anywhere, as
 * --name value, --name=value, -n value, -nvalue or -n=value. ARG_BAD and ARG_HELP have printed their text: return ended(). */
int next_argument(arguments *a);
static inline int ended(int argument) { return argument == ARG_BAD ? EXIT_USAGE : EXIT_OK; }
bool parse_int(const char *text, long low, long high, long *out); /* the whole text is a number of the range */
bool is_name(const char *text, size_t len);                       /* a name of operator text */
bool has_suffix(const char *text, const char *suffix);            /* in any letter case, and something before it */

/* ---- context.c ---- */
/* NULL after a message. The caller frees the context. */
wf_context *open_context(const arguments *a);

/* ---- progress.c ---- */
double seconds(void); /* monotonic clock */
/* On a terminal, work that takes longer than a second shows its name and its time. */
void progress_begin(const char *name);
void progress_part(double done); /* 0 to 1; shown instead of the time alone */
void progress_end(void);

/* ---- random.c: the same numbers on every machine ---- */
typedef struct random_state {
    uint64_t s[4];
    double spare; /* second value of the last pair of random_normal */
    bool has_spare;
} random_state;
void random_seed(random_state *r, uint64_t seed);
uint64_t random_bits(random_state *r);
double random_uniform(random_state *r); /* [0, 1) */
double random_normal(random_state *r);  /* mean 0, standard deviation 1 */

/* ---- bench_help.c ---- */
extern const char summary_bench[], help_bench[];
#endif
