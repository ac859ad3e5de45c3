/* tiff.c - TIFF and BigTIFF through libtiff: the format, and the library over our bounded reader and atomic writer.
 *
 * Its messages are kept (the first one) instead of printed. Needs libtiff 4.5 (error handlers and memory limits per
 * file). tiff_read.c and tiff_write.c know what is in a file.
 */
#include "tiff.h"
#include "foreign.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct wf__tiff_functions wf__tiff;
static const wf__foreign_function functions[] = {
#define F(name) { "TIFF" #name, &wf__tiff.name },
    TIFF_FUNCTIONS(F)
#undef F
};
static wf__foreign library = { .soname = WEFT_TIFF_SONAME,
                               .format = "TIFF",
                               .function = functions,
                               .functions = sizeof functions / sizeof *functions };

/* ---- libtiff's callbacks ---- */

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t bytes)
{
    wf__tiff_job *j = handle;
    if (bytes < 0)
        return -1;
    return (tmsize_t)(j->reader ? wf__io_read_some(j->reader, to, (size_t)bytes)
                                : wf__io_read_back(j->writer, to, (size_t)bytes));
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t bytes)
{
    wf__tiff_job *j = handle;
    if (!j->writer || bytes < 0)
        return -1;
    return wf__io_write(j->writer, from, (size_t)bytes) ? bytes : -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    wf__tiff_job *j = handle;
    int64_t *pos = j->reader ? &j->reader->pos : &j->writer->pos;
    int64_t size = j->reader ? j->reader->size : j->writer->size;
    uint64_t base = whence == SEEK_CUR ? (uint64_t)*pos : whence == SEEK_END ? (uint64_t)size : 0;
    uint64_t target = base + offset; /* negative offsets wrap */
    if (target > (uint64_t)INT64_MAX)
        return (toff_t)-1;
    *pos = (int64_t)target;
    return target;
}

static toff_t on_size(thandle_t handle)
{
    wf__tiff_job *j = handle;
    return (toff_t)(j->reader ? j->reader->size : j->writer->size);
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static int on_error(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    wf__tiff_job *j = user;
    (void)tif;
    (void)module;
    bool harmless = strstr(format, "tag is not read from file") != NULL; /* libtiff goes on without it */
    if (!j->text[0] && !harmless)
        vsnprintf(j->text, sizeof j->text, format, args);
    return 1; /* handled: nothing is printed */
}

static int on_warning(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    (void)tif;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

/* ---- a file ---- */

wf_status wf__tiff_fail(const wf__tiff_job *j, const char *doing)
{
    if (j->writer && j->writer->code)
        return WF_ERR_IO; /* wf__io_finish has a better message */
    const char *text = j->text[0] ? j->text : "unknown error";
    size_t n = strlen(j->path);
    if (strncmp(text, j->path, n) == 0 && text[n] == ':')
        text += n + 1 + (text[n + 1] == ' '); /* some of libtiff's messages name the file, as ours do */
    return wf__io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF: %s: %s", doing, text);
}

wf_status wf__tiff_open(wf__tiff_job *j, const char *mode, int64_t limit)
{
    wf_status status = wf__foreign_open(&library, j->ctx, j->path);
    if (status != WF_OK)
        return status;
    TIFFOpenOptions *options = wf__tiff.OpenOptionsAlloc();
    if (!options)
        return wf__io_fail_memory(j->ctx, j->path, 0);
    wf__tiff.OpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)limit);
    wf__tiff.OpenOptionsSetErrorHandlerExtR(options, on_error, j);
    wf__tiff.OpenOptionsSetWarningHandlerExtR(options, on_warning, j);
    j->tif =
        wf__tiff.ClientOpenExt(j->path, mode, j, on_read, on_write, on_seek, on_close, on_size, NULL, NULL, options);
    wf__tiff.OpenOptionsFree(options);
    return j->tif ? WF_OK : wf__tiff_fail(j, "cannot open");
}

void wf__tiff_close(wf__tiff_job *j)
{
    if (j->tif)
        wf__tiff.Close(j->tif);
}

/* ---- the format ---- */

static bool tiff_match(const uint8_t *head, size_t bytes)
{
    static const char *const marks[4] = { "II\x2a\0", "MM\0\x2a", "II\x2b\0", "MM\0\x2b" };
    for (int i = 0; i < 4; i++)
        if (bytes >= 8 && memcmp(head, marks[i], 4) == 0)
            return true;
    return false;
}

const wf__io_format wf__io_tiff = { .format = WF_TIFF,
                                    .name = "TIFF",
                                    .suffixes = { ".tif", ".tiff" },
                                    .match = tiff_match,
                                    .probe = wf__tiff_probe,
                                    .load = wf__tiff_load,
                                    .save = wf__tiff_save };
