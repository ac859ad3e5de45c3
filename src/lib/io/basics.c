/* basics.c - the basics under all other files here: errors that name the file, checked products, suffixes, and the
 * array that a file is loaded into.
 */
#include "io_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

wf_status wfl_io_fail(wf_context *ctx, const char *path, wf_status status, const char *format, ...)
{
    char text[1536];
    int used = snprintf(text, sizeof text, "%.1000s: ", path);
    va_list args;
    va_start(args, format);
    if (used > 0)
        vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return wf_error(ctx, status, text);
}

wf_status wfl_io_fail_memory(wf_context *ctx, const char *path, int64_t bytes)
{
    return wfl_io_fail(ctx, path, WF_ERR_MEMORY, "out of memory: %lld bytes", (long long)bytes);
}

bool wfl_io_little_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

bool wfl_io_mul(int64_t a, int64_t b, int64_t *out)
{
    if (b != 0 && a > INT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

bool wfl_io_suffix_is(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    if (n <= m || path[n - m - 1] == '/')
        return false;
    for (size_t i = 0; i < m; i++)
        if (lower(path[n - m + i]) != suffix[i])
            return false;
    return true;
}

/* Puts the file's name before the context's message, which a function of the library has set. */
static void name_file(wf_context *ctx, const char *path)
{
    char text[512];
    wf_status status = wf_last_status(ctx);
    snprintf(text, sizeof text, "%s", wf_last_message(ctx));
    wf_clear_error(ctx);
    if (status != WF_OK)
        wfl_io_fail(ctx, path, status, "%s", text);
}

wf_array *wfl_io_new_array(wfl_io_reader *reader, const wfl_io_image *image, void **data)
{
    bool first = wf_last_status(reader->ctx) == WF_OK; /* else the context keeps an earlier error */
    wf_array *array = wf_empty(reader->ctx, image->dtype, image->shape, .device = WF_CPU);
    if (array && wf_map(array, data, NULL) == WF_OK)
        return array;
    if (first)
        name_file(reader->ctx, reader->path);
    wf_release(array);
    return NULL;
}
