/* common.c - messages, command lines, contexts, small text: what every command needs. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- messages ---- */

int failed(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    progress_end();
    fputs("weft: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_FAILED;
}

int misused(const command *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "weft %s: ", c->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nweft help %s shows examples\n", c->name);
    va_end(args);
    return EXIT_USAGE;
}

int failed_in(wf_context *ctx)
{
    const char *message = wf_last_message(ctx);
    return failed("%s", *message ? message : wf_status_name(wf_last_status(ctx)));
}

/* ---- command lines ---- */

enum { MOST_CLI_THREADS = 4096 };
static const option shared_options[] = {
    { "device", 0, true }, { "threads", 0, true }, { "fast-math", 0, false }, { "help", 'h', false }, { NULL, 0, false }
};

static int match(const option *options, const char *text, size_t len, bool letter)
{
    for (int i = 0; options[i].name; i++) {
        bool same = letter ? options[i].letter == *text
                           : strlen(options[i].name) == len && strncmp(options[i].name, text, len) == 0;
        if (same)
            return i;
    }
    return -1;
}

static int bad(const arguments *a, const char *what, const char *text)
{
    misused(a->command, "%s: %s", text, what);
    return ARG_BAD;
}

/* Takes the value of option `o` that is spelled `text`: what follows '=' or the letter, or the next argument. */
static bool take_value(arguments *a, const option *o, const char *text, const char *attached)
{
    a->value = attached;
    if (!o->takes_value) {
        if (attached)
            bad(a, "takes no value", text);
        return !attached;
    }
    if (!attached && a->at == a->argc) {
        bad(a, "needs a value", text);
        return false;
    }
    if (!attached)
        a->value = a->argv[a->at++];
    return true;
}

static int shared_option(arguments *a, int i)
{
    long n;
    switch (i) {
    case 0:
        a->device = a->value;
        break;
    case 1:
        if (!parse_int(a->value, 0, MOST_CLI_THREADS, &n)) {
            misused(a->command, "--threads %s: not a number of threads", a->value);
            return ARG_BAD;
        }
        a->threads = (int)n;
        break;
    case 2:
        a->fast_math = true;
        break;
    default:
        printf("weft %s - %s\n\n%s", a->command->name, a->command->summary, a->command->help);
        return ARG_HELP;
    }
    return next_argument(a);
}

int next_argument(arguments *a)
{
    if (a->at == 0)
        a->at = 1;
    if (a->at >= a->argc)
        return ARG_END;
    const char *text = a->argv[a->at++];
    a->value = text;
    if (a->operands_only || text[0] != '-' || text[1] == 0)
        return ARG_OPERAND;
    if (strcmp(text, "--") == 0) {
        a->operands_only = true;
        return next_argument(a);
    }
    bool letter = text[1] != '-';
    const char *name = text + (letter ? 1 : 2), *equals = letter ? NULL : strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const char *attached = letter ? (name[1] ? name + 1 : NULL) : equals ? equals + 1 : NULL;
    int own = match(a->options, name, len, letter), shared = own < 0 ? match(shared_options, name, len, letter) : -1;
    const option *o = own >= 0 ? &a->options[own] : shared >= 0 ? &shared_options[shared] : NULL;
    if (a->text_wanted && letter && (!o || (attached && !o->takes_value)))
        return ARG_OPERAND; /* "-a * 2" */
    if (a->text_wanted && !o && !is_name(name, 1))
        return ARG_OPERAND; /* "--(a)" */
    if (!o)
        return bad(a,
                   a->text_wanted ? "no such option (a text that begins like this comes after --)" : "no such option",
                   text);
    if (!take_value(a, o, text, attached))
        return ARG_BAD;
    return own >= 0 ? own : shared_option(a, shared);
}

bool parse_int(const char *text, long low, long high, long *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno == ERANGE || n < low || n > high)
        return false;
    *out = n;
    return true;
}

bool parse_real(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

number_kind parse_number(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end)
        return NUMBER_NONE;
    if (isinf(v) && !strpbrk(text, "iI"))
        return NUMBER_TOO_LARGE;
    *out = v;
    return NUMBER;
}

bool parse_two(const char *text, double *a, double *b)
{
    char *end, first[64];
    const char *comma = strchr(text, ',');
    if (!comma || (size_t)(comma - text) >= sizeof first)
        return false;
    memcpy(first, text, (size_t)(comma - text));
    first[comma - text] = 0;
    double u = strtod(first, &end);
    if (end == first || *end || !isfinite(u) || !parse_real(comma + 1, b))
        return false;
    *a = u;
    return true;
}

bool parse_shape(const char *text, wf_shape *out)
{
    wf_shape s = { .rank = 0 };
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || n < 1 || errno == ERANGE || s.rank == WF_MAX_RANK || (*end && *end != ','))
            return false;
        s.dim[s.rank++] = n;
        at = end;
        if (!*at)
            break;
    }
    *out = s;
    return true;
}

bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return len > 0;
}

/* ---- files to write ---- */

/* With all links followed, also to a file that is not there yet; NULL if there is no folder for it. */
static char *whole_path(const char *path)
{
    enum { LINKS = 40 };
    char *at = append(NULL, "%s", path), *whole = NULL, target[PATH_MAX];
    for (int i = 0; i < LINKS; i++) {
        const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
        char *folder = slash ? append(NULL, "%.*s/", (int)(slash - at), at) : append(NULL, "."),
             *real = realpath(folder, NULL);
        free(folder);
        free(whole);
        whole = real ? append(NULL, "%s/%s", real, name) : NULL;
        ssize_t n = whole ? readlink(whole, target, sizeof target - 1) : -1;
        if (n > 0) {
            target[n] = 0;
            free(at);
            at = *target == '/' ? append(NULL, "%s", target) : append(NULL, "%s/%s", real, target);
        }
        free(real);
        if (n <= 0)
            break;
    }
    free(at);
    return whole;
}

bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    char *whole_a = whole_path(a), *whole_b = whole_path(b);
    bool same = strcmp(a, b) == 0 || (whole_a && whole_b && strcmp(whole_a, whole_b) == 0);
    free(whole_a);
    free(whole_b);
    return same;
}

/* Why wf_save would refuse to write there, as far as it can be told before; NULL: nothing is known. */
static const char *unwritable(char *whole)
{
    struct stat info;
    bool there = stat(whole, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return "this is a folder";
    if (there && !S_ISREG(info.st_mode))
        return "this is not a regular file";
    if (there && access(whole, W_OK) != 0)
        return "the file may not be written";
    strrchr(whole, '/')[1] = 0; /* files are made under another name, and renamed */
    return access(whole, W_OK | X_OK) != 0 ? "the folder may not be written" : NULL;
}

int check_output(const arguments *a, wf_context *ctx, const char *path, wf_format only)
{
    wf_format format = WF_FORMAT_BY_NAME;
    if (strcmp(path, "-") == 0)
        return misused(a->command, "-o -: results go to files, not to standard output");
    wf_status status = wf_format_named(ctx, path, &format);
    if (only && format != only)
        return misused(a->command, "-o %s: give a .png", path);
    if (status != WF_OK)
        return misused(a->command, "-o %s", wf_last_message(ctx));
    char *whole = whole_path(path);
    if (!whole)
        return failed("-o %s: there is no such folder, or no way to it", path);
    const char *problem = unwritable(whole);
    free(whole);
    return problem ? failed("-o %s: %s", path, problem) : EXIT_OK;
}

wf_dtype parse_dtype(const char *text)
{
    for (int t = WF_BOOL; t <= WF_C128; t++)
        if (strcmp(text, wf_dtype_name((wf_dtype)t)) == 0)
            return (wf_dtype)t;
    return WF_NONE;
}

wf_stored parse_stored(const char *text)
{
    for (int s = WF_STORED_DEFAULT + 1; wf_stored_name((wf_stored)s); s++)
        if (strcmp(text, wf_stored_name((wf_stored)s)) == 0)
            return (wf_stored)s;
    return WF_STORED_DEFAULT;
}

int no_such_stored(const command *c, const char *text)
{
    char *names = NULL;
    for (int s = WF_STORED_DEFAULT + 1; wf_stored_name((wf_stored)s); s++)
        names = append(names, "%s%s", names ? " " : "", wf_stored_name((wf_stored)s));
    misused(c, "--dtype %s: no such type in files; there are %s", text, names);
    free(names);
    return EXIT_USAGE;
}

/* ---- context, memory, text ---- */

static void print_log(int level, const char *text, void *user)
{
    (void)user;
    if (level <= 1)
        fprintf(stderr, "weft: warning: %s\n", text);
}

/* The library takes what is no number for "all cores". */
static bool bad_environment(const arguments *a)
{
    long n;
    const char *threads = getenv("WEFT_THREADS");
    if (!threads || !*threads || parse_int(threads, 0, MOST_CLI_THREADS, &n))
        return false;
    misused(a->command, "WEFT_THREADS is '%s', in the environment: not a number of threads", threads);
    return true;
}

wf_context *open_context(const arguments *a)
{
    if (bad_environment(a))
        return NULL;
    wf_config config = { .size = sizeof config, .threads = a->threads, .log = print_log };
    if (a->fast_math)
        config.flags_on = WF_FLAG_FAST_MATH;
    if (a->history)
        config.flags_on |= WF_FLAG_HISTORY;
    if (a->device)
        config.device = wf_device_named(a->device);
    if (a->device && !config.device) {
        misused(a->command, "--device %s: the devices are cpu, interp, cuda:0 and cuda-emu", a->device);
        return NULL;
    }
    if (a->host_only && config.device >= WF_GPU(0)) {
        misused(a->command, "--device %s: this command works on cpu and interp only", a->device);
        return NULL;
    }
    wf_context *ctx = wf_context_new(&config);
    if (!ctx)
        failed("%s", wf_last_message(NULL));
    return ctx;
}

void *allocate(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        exit(failed("out of memory"));
    return p;
}

const char *shape_text(wf_shape shape, char buf[static 256])
{
    size_t at = 0;
    if (shape.rank == 0)
        return "scalar";
    for (int d = 0; d < shape.rank; d++)
        at += (size_t)snprintf(buf + at, 256 - at, "%s%lld", d ? " x " : "", (long long)shape.dim[d]);
    return buf;
}

char *append(char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t n = text ? strlen(text) : 0;
    char *joined = realloc(text, n + (size_t)(more > 0 ? more : 0) + 1);
    if (!joined)
        exit(failed("out of memory"));
    va_start(args, format);
    vsnprintf(joined + n, (size_t)more + 1, format, args);
    va_end(args);
    return joined;
}
