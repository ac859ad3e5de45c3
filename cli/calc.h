/* calc.h - operator text and its arguments, for the commands that take them: calc, each, check and dump. */
#ifndef WEFT_CLI_CALC_H
#define WEFT_CLI_CALC_H
#include "cli.h"

enum { MAX_INPUTS = 64, MAX_OUTPUTS = 16, NAME_CAP = 128 };

/* Returns the length of the name in "name=rest"; 0 = the text has another form. */
size_t name_before_equals(const char *text);
/* Copies the name of "name=rest", of `len` bytes, to name[n]. False, with a message, if an earlier name is the same. */
bool take_name(const command *self, const char *text, size_t len, char (*name)[NAME_CAP], size_t n);
/* Takes the argument "name=rest": copies its name to name[n], and returns the rest. NULL, with a message: it has another
 * form than `forms`, a list for the user, is given twice or is one too many. `of` is the text of the command. */
const char *take_argument(const command *self, const char *text, const char *forms, const char *of,
                          char (*name)[NAME_CAP], size_t n);
/* Sets *out to the argument `name` of a text that is a number; integers of 64 bits keep all digits. */
number_kind number_argument(const char *name, const char *text, wf_arg *out);
/* Returns an argument that gives a text its shape and that the text cannot name: one element, broadcast. The array is
 * NULL without memory. */
wf_arg shape_argument(wf_context *ctx, wf_shape shape);
/* True for an array of floats or complex numbers. */
bool has_derivative(const wf_arg *arg);
/* True if the last statement of the text assigns a name, so that another one may follow. */
bool ends_with_name(wf_context *ctx, const char *text);

/* ---- calc_mapped.c: files as the memory of arrays ---- */
/* Reports pages of mapped files that cannot be read or written. */
void watch_mapped_pages(void);
/* Returns the file as an array whose memory it is, or loads it if that is not possible. NULL: the context has the error. */
wf_array *map_input(wf_context *ctx, const char *path, wf_meta *meta);
/* A result whose memory is a file, which wf_file_finish makes appear. */
typedef struct mapped_result {
    wf_file *file; /* NULL = the result is saved */
    wf_array *array;
} mapped_result;
/* Begins the file of the result `name` of the text, as memory of an array of the result's dtype and shape. Both stay NULL
 * if that is not possible. Errors: in the context. */
wf_status map_result(wf_context *ctx, const char *text, wf_args args, const char *name, const char *path,
                     const wf_meta *meta, mapped_result *out);

/* ---- calc_ranks.c: the processes that mpirun has started compute together ---- */
typedef struct calc calc;
/* Joins the ranks of a launcher, if there are any; the first one speaks for all. Returns an exit code, or -1 = go on. */
int ranks_begin(calc *c, int argc, char **argv);
/* All ranks learn whether a step has failed on one. Returns the exit code; without ranks `result`. */
int ranks_agree(const calc *c, int result);
/* Finds the number of elements of the largest input file. */
wf_status ranks_largest(const calc *c, double *largest);
/* Loads a file as a distributed array, or as a whole one if it is much smaller than the largest input. */
wf_array *ranks_load(const calc *c, const char *path, double largest, wf_meta *meta);
/* Saves a result, which the first rank does alone if it is not distributed. */
wf_status ranks_save(const calc *c, const wf_array *result, const char *path, const wf_meta *meta);
void ranks_end(calc *c);

/* ---- calc_steps.c: a text with its inputs and results, step by step ---- */
typedef struct output {
    char name[NAME_CAP]; /* empty = the result assigned last */
    const char *path;
} output;

struct calc {
    const command *self;
    wf_context *ctx;
    const char *text, *file;
    char *owned_text;
    wf_arg arg[MAX_INPUTS + 1 + MAX_OUTPUTS];       /* of the command line, --shape, and results in mapped files */
    const char *path[MAX_INPUTS + 1 + MAX_OUTPUTS]; /* file of arg i; NULL for numbers and other arrays */
    char name[MAX_INPUTS][NAME_CAP];
    size_t args;
    output out[MAX_OUTPUTS];
    size_t outs;
    wf_array *result[MAX_OUTPUTS];
    mapped_result mapped[MAX_OUTPUTS];
    facts facts;
    wf_shape shape;  /* of --shape; rank 0 = not given */
    int64_t chunk;   /* images at a time; 0 = all */
    wf_meta meta;    /* of the first file */
    int64_t memory;  /* bytes of --memory; 0 = not given */
    bool durable;    /* results are flushed to the disk */
    wf_ranks *ranks; /* processes that compute together; NULL = this one alone */
    bool time, history;
};

/* The options that calc and each share, before their own. */
enum { CALC_OUT, CALC_FILE, CALC_FACT, CALC_SHAPE = CALC_FACT + FACT_COUNT, CALC_OPTION_COUNT };
#define CALC_OPTIONS \
    { "output", 'o', true }, { "file", 'f', true }, FACT_OPTIONS, { "shape", 0, true }
/* Takes what next_argument has returned: one of these options, or an operand. Returns an exit code, or -1 = go on. */
int calc_argument(calc *c, arguments *a, int argument);
int calc_check_text(const calc *c); /* fails unless there is one text; likewise */
/* Gives outputs without a name the result that the text assigns last. Returns an exit code. */
int calc_name_results(calc *c);
bool calc_add_shape(calc *c); /* makes the shape of --shape, if any, an argument. False: the context has the error */
/* Keeps the facts of the first file for results. */
void calc_keep_facts(calc *c, const char *path, const wf_meta *meta);
/* Loads the inputs that are files and are not loaded yet; computes; saves the results. With --memory, files are mapped,
 * and the inputs are released before results appear. Errors: in the context. */
wf_status calc_load(calc *c);
wf_status calc_compute(calc *c);
wf_status calc_save(calc *c);
/* Returns the facts of the first file for result number `i`. Along an axis on which its elements lie `step` samples of
 * the file apart, the spacing is that of the file times `step`. */
wf_meta calc_result_meta(const calc *c, size_t i);
void calc_release_input(calc *c, size_t i); /* an array; it is to be loaded again */
void calc_release(calc *c);                 /* results and inputs */
#endif
