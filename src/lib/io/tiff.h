/* tiff.h - what reading and writing of TIFF files share: libtiff's functions, and a file that is open in it. */
#ifndef WEFT_IO_TIFF_H
#define WEFT_IO_TIFF_H
#include "io_internal.h"
#include <tiffio.h>

/* libtiff's functions, without their prefix; filled by wf__tiff_open. */
/* clang-format off */
#define TIFF_FUNCTIONS(F) \
    F(ClientOpenExt) F(Close) F(ComputeStrip) F(ComputeTile) F(CurrentDirectory) F(GetField) \
    F(GetFieldDefaulted) F(GetStrileOffset) F(IsTiled) F(LastDirectory) F(OpenOptionsAlloc) F(OpenOptionsFree) \
    F(OpenOptionsSetErrorHandlerExtR) F(OpenOptionsSetMaxSingleMemAlloc) F(OpenOptionsSetWarningHandlerExtR) \
    F(ReadDirectory) F(ReadEncodedStrip) F(ReadEncodedTile) F(SetDirectory) F(SetField) F(WriteDirectory) \
    F(WriteEncodedStrip)
/* clang-format on */
struct wf__tiff_functions {
#define F(name) __typeof__(TIFF##name) *name;
    TIFF_FUNCTIONS(F)
#undef F
};
extern struct wf__tiff_functions wf__tiff;

/* A file that is open in libtiff. */
typedef struct wf__tiff_job {
    wf__io_reader *reader; /* or */
    wf__io_writer *writer;
    wf_context *ctx;
    const char *path;
    TIFF *tif;
    char text[192]; /* libtiff's first message about what it does now */
} wf__tiff_job;

/* Opens j->tif over the reader or the writer. `limit`: of a single allocation inside libtiff. */
wf_status wf__tiff_open(wf__tiff_job *j, const char *mode, int64_t limit);
void wf__tiff_close(wf__tiff_job *j); /* nothing, where it could not be opened */
/* The error that libtiff gave its first message for. */
wf_status wf__tiff_fail(const wf__tiff_job *j, const char *doing);

wf_status wf__tiff_probe(wf__io_reader *r, wf__io_image *image);
wf_array *wf__tiff_load(wf__io_reader *r, wf__io_image *image);
wf_status wf__tiff_save(const wf__io_source *source, const wf_meta *meta);
#endif
