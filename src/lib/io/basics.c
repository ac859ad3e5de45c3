/* basics.c - the basics under all other files here: errors that name the file, checked products, suffixes, whole
 * transfers of bytes, and the array that a file is loaded into.
 */
#include "io_internal.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRANSFER ((size_t)1 << 30) /* some systems transfer at most 2 GiB in one call */

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

wf_status wfl_io_resize(wf_context *ctx, const char *path, void *memory, int64_t count, size_t size)
{
    void *old, *more = NULL;
    int64_t bytes = INT64_MAX;
    memcpy(&old, memory, sizeof old);
    if (wfl_io_mul(count, (int64_t)size, &bytes))
        more = realloc(old, (size_t)bytes);
    if (!more)
        return wfl_io_fail_memory(ctx, path, bytes);
    memcpy(memory, &more, sizeof more);
    return WF_OK;
}

void *wfl_io_new_object(wf_context *ctx, const char *path, size_t size, char **copy)
{
    void *object = calloc(1, size);
    *copy = object ? strdup(path) : NULL;
    if (*copy)
        return object;
    wfl_io_fail_memory(ctx, path, (int64_t)size);
    free(object);
    return NULL;
}

bool wfl_io_real(const char *text, size_t length, double *out)
{
    enum { MOST_DIGITS = 255 };
    char buf[MOST_DIGITS + 8];
    const char *point = localeconv()->decimal_point;
    size_t n = 0;
    if (length > MOST_DIGITS || strlen(point) > 4)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char *put = text[i] == '.' ? point : text + i;
        size_t part = text[i] == '.' ? strlen(point) : 1;
        if (n + part >= sizeof buf || (text[i] != '.' && strchr(point, text[i])))
            return false;
        memcpy(buf + n, put, part);
        n += part;
    }
    buf[n] = 0;
    char *end;
    double value = strtod(buf, &end);
    if (end == buf || *end)
        return false;
    *out = value;
    return true;
}

void wfl_io_print_real(double value, int least, int most, char buf[static IO_REAL])
{
    if (!isfinite(value)) {
        snprintf(buf, IO_REAL, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = least; digits <= most; digits++) {
        snprintf(buf, IO_REAL, "%.*g", digits, value);
        double again = strtod(buf, NULL);
        if (most >= 15 ? again == value : (float)again == (float)value)
            break;
    }
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") != 0 ? strstr(buf, point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

bool wfl_io_named_gzip(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && path[n - 3] == '.' && lower(path[n - 2]) == 'g' && lower(path[n - 1]) == 'z';
}

bool wfl_io_suffix_is(const char *path, const char *suffix)
{
    size_t n = strlen(path) - (wfl_io_named_gzip(path) ? 3 : 0), m = strlen(suffix);
    if (n <= m || path[n - m - 1] == '/')
        return false;
    for (size_t i = 0; i < m; i++)
        if (lower(path[n - m + i]) != suffix[i])
            return false;
    return true;
}

const char *wfl_io_errno_text(int code)
{
    switch (code) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case EDQUOT:
        return "disk quota exceeded";
    case EEXIST:
        return "the file exists";
    case EFBIG:
        return "file too large";
    case EIO:
        return "input/output error";
    case EISDIR:
        return "is a directory";
    case ELOOP:
        return "too many symbolic links";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case ENAMETOOLONG:
        return "file name too long";
    case ENODEV:
    case ENXIO:
        return "not a regular file";
    case ENOENT:
        return "no such file or directory";
    case ENOMEM:
        return "out of memory";
    case ENOSPC:
        return "no space left on device";
    case ENOTDIR:
        return "a part of the path is not a directory";
    case EROFS:
        return "read-only file system";
    case ETXTBSY:
        return "the file is being executed";
    default:
        return "system error";
    }
}

wf_status wfl_io_fail_errno(wf_context *ctx, const char *path, const char *what, int code)
{
    return wfl_io_fail(ctx, path, code == ENOMEM ? WF_ERR_MEMORY : WF_ERR_IO, "cannot %s: %s (errno %d)", what,
                       wfl_io_errno_text(code), code);
}

int64_t wfl_io_pread(int fd, int64_t offset, void *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        size_t part = bytes - done < MAX_TRANSFER ? bytes - done : MAX_TRANSFER;
        ssize_t n = pread(fd, (char *)to + done, part, (off_t)(offset + (int64_t)done));
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int wfl_io_pwrite(int fd, int64_t offset, const void *from, size_t bytes, size_t *written)
{
    *written = 0;
    while (*written < bytes) {
        size_t part = bytes - *written < MAX_TRANSFER ? bytes - *written : MAX_TRANSFER;
        ssize_t n = pwrite(fd, (const char *)from + *written, part, (off_t)(offset + (int64_t)*written));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        *written += (size_t)n;
    }
    return 0;
}

uint64_t wfl_io_random_number(const void *owner, unsigned attempt)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid() << 40;
    return (id ^ (uint64_t)(uintptr_t)owner ^ attempt) * 0x9E3779B97F4A7C15u;
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

wf_array *wfl_io_new_array(wf_context *ctx, const char *path, wf_dtype dtype, wf_shape shape, void **data)
{
    bool first = wf_last_status(ctx) == WF_OK; /* else the context keeps an earlier error */
    wf_array *array = wf_empty(ctx, dtype, shape, .device = WF_CPU);
    if (array && wf_map(array, data, NULL) == WF_OK)
        return array;
    if (first)
        name_file(ctx, path);
    wf_release(array);
    return NULL;
}
