/* zarr.h - the two halves of Zarr: zarr_write.c makes arrays, zarr.c reads them and has the row of the table of formats. */
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

wf_status wfl_zarr_create(wfl_io_output *out);
wf_status wfl_zarr_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
wf_status wfl_zarr_finish(wfl_io_output *out, wf_status status);
#endif
