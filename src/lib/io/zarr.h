/* zarr.h - the two halves of Zarr: zarr_write.c makes arrays, zarr.c reads them and has the format's functions for the
 * table of io.c. */
#ifndef WEFT_IO_ZARR_H
#define WEFT_IO_ZARR_H
#include "io_internal.h"

/* Names of types in version 2, without the byte order, and in version 3. */
typedef struct wfl_zarr_type {
    const char *v2, *v3;
    wf_stored stored;
} wfl_zarr_type;
enum { ZARR_TYPES = 14 };
extern const wfl_zarr_type wfl_zarr_types[ZARR_TYPES];

/* The longest name of a file in the folder of an array, with the slash before it and the 0 after it. */
enum { ZARR_NAME = 32 * (WF_MAX_RANK + 1) };
/* Writes the path of a chunk by its indices to `path`, which is ZARR_NAME bytes longer than the folder: "folder/c/0/1",
 * or without `prefix` "folder/0.1". */
void wfl_zarr_name_chunk(char *path, const char *folder, bool prefix, char separator, const int64_t *index, int rank);

wf_status wfl_zarr_create(wfl_io_output *out);
wf_status wfl_zarr_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
void wfl_zarr_unit(const wfl_io_output *out, int64_t *unit);
wf_status wfl_zarr_finish(wfl_io_output *out, wf_status status);
#endif
