/* message.c - messages on standard error, memory and growing text. */
#include "common.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_silent;

void stay_silent(void) { is_silent = true; }

int failed(const char *format, ...)
{
    va_list args;
    if (is_silent)
        return EXIT_FAILED;
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
    if (is_silent)
        return EXIT_USAGE;
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

void print_help(const command *c) { printf("weft %s - %s\n\n%s", c->name, c->summary, c->help); }

void *allocate(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        exit(failed("out of memory"));
    return p;
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
