/* tiff_library.c - libtiff over the bounded reader and the atomic writer.
 *
 * libtiff's first message about a file is kept, and nothing is printed. libtiff must be 4.5 or later: older versions
 * have no error handlers and memory limits of a file's own. The name libtiff.so.5 stands for these; it is tried for a
 * message that tells what it lacks.
 */
#include "tiff.h"
#include "foreign.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct wfl_tiff_functions wfl_tiff;
static const wfl_foreign_function functions[] = {
#define WFL_FUNCTION(result, name, parameters) { "TIFF" #name, &wfl_tiff.name },
#define WFL_CONSTANT(name, value)
#include "tiff_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
};
static wfl_foreign library = { .soname = { "libtiff.so.6", "libtiff.so.5" },
                               .format = "TIFF",
                               .function = functions,
                               .functions = sizeof functions / sizeof *functions };

/* ---- libtiff's callbacks ---- */

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t bytes)
{
    wfl_tiff_job *j = handle;
    if (bytes < 0)
        return -1;
    int64_t got =
        j->reader ? wfl_io_read_some(j->reader, to, (size_t)bytes) : wfl_io_read_back(j->writer, to, (size_t)bytes);
    return got > 0 ? (tmsize_t)got : 0; /* for -1 libtiff would write in front of its buffer */
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t bytes)
{
    wfl_tiff_job *j = handle;
    if (!j->writer || bytes < 0)
        return -1;
    return wfl_io_write(j->writer, from, (size_t)bytes) ? bytes : -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    wfl_tiff_job *j = handle;
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
    wfl_tiff_job *j = handle;
    return (toff_t)(j->reader ? j->reader->size : j->writer->size);
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static int on_error(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    wfl_tiff_job *j = user;
    (void)tif;
    (void)module;
    bool harmless = strstr(format, "tag is not read from file") != NULL; /* libtiff goes on without it */
    if (!j->text[0] && !harmless)
        vsnprintf(j->text, sizeof j->text, format, args);
    return 1; /* 1: handled, so libtiff prints nothing */
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

wf_status wfl_tiff_fail(const wfl_tiff_job *j, const char *doing)
{
    if (j->writer && j->writer->code)
        return WF_ERR_IO; /* wfl_io_finish has a better message */
    if (j->reader && j->reader->code)
        return wfl_io_read_status(j->reader);
    const char *text = j->text[0] ? j->text : "unknown error";
    size_t n = strlen(j->path);
    if (strncmp(text, j->path, n) == 0 && text[n] == ':')
        text += n + 1 + (text[n + 1] == ' '); /* some of libtiff's messages name the file, as ours do */
    return wfl_io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF: %s: %s", doing, text);
}

wf_status wfl_tiff_open(wfl_tiff_job *j, const char *mode, int64_t limit)
{
    wf_status status = wfl_foreign_open(&library, j->ctx, j->path);
    if (status != WF_OK)
        return status;
    TIFFOpenOptions *options = wfl_tiff.OpenOptionsAlloc();
    if (!options)
        return wfl_io_fail_memory(j->ctx, j->path, 0);
    wfl_tiff.OpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)limit);
    wfl_tiff.OpenOptionsSetErrorHandlerExtR(options, on_error, j);
    wfl_tiff.OpenOptionsSetWarningHandlerExtR(options, on_warning, j);
    j->tif =
        wfl_tiff.ClientOpenExt(j->path, mode, j, on_read, on_write, on_seek, on_close, on_size, NULL, NULL, options);
    wfl_tiff.OpenOptionsFree(options);
    return j->tif ? WF_OK : wfl_tiff_fail(j, "cannot open");
}

void wfl_tiff_close(wfl_tiff_job *j)
{
    if (j->tif)
        wfl_tiff.Close(j->tif);
}
