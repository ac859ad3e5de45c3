/* tiff.h - libtiff's functions and a file that is open in it, for reading and writing TIFF files. */
#ifndef WEFT_IO_TIFF_H
#define WEFT_IO_TIFF_H
#include "io_internal.h"
#include "tiff_api.h"

/* libtiff's functions, without their prefix; filled by wfl_tiff_open. */
extern struct wfl_tiff_functions wfl_tiff;

/* A file that is open in libtiff. */
typedef struct wfl_tiff_job {
    wfl_io_reader *reader; /* NULL: the file is written */
    wfl_io_writer *writer;
    wf_context *ctx;
    const char *path;
    TIFF *tif;
    char text[192]; /* libtiff's first message since it was emptied */
} wfl_tiff_job;

/* Opens j->tif over the reader or the writer. `limit`: bytes of a single allocation inside libtiff; 0 = none. */
wf_status wfl_tiff_open(wfl_tiff_job *j, const char *mode, int64_t limit);
void wfl_tiff_close(wfl_tiff_job *j); /* j->tif NULL: does nothing */
/* Fails with libtiff's first message. */
wf_status wfl_tiff_fail(const wfl_tiff_job *j, const char *doing);

/* True if the name of a file says OME-TIFF. */
static inline bool wfl_is_ome_tiff(const char *path)
{
    return wfl_io_suffix_is(path, ".ome.tif") || wfl_io_suffix_is(path, ".ome.tiff");
}

wf_status wfl_tiff_open_file(wfl_io_input *in);
wf_status wfl_tiff_read_box(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to);
void wfl_tiff_close_file(wfl_io_input *in);
wf_status wfl_tiff_create(wfl_io_output *out);
wf_status wfl_tiff_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
wf_status wfl_tiff_finish(wfl_io_output *out, wf_status status);
#endif
