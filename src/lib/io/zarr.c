/* zarr.c - the entry of Zarr in the table of formats. */
#include "zarr.h"

static bool zarr_match(const uint8_t *head, size_t bytes)
{
    (void)head;
    (void)bytes;
    return false; /* folders have no bytes */
}

const wfl_io_format wfl_io_zarr = { .format = WF_FORMAT_ZARR,
                                    .name = "Zarr",
                                    .suffixes = { ".zarr" },
                                    .match = zarr_match,
                                    .open = wfl_zarr_open,
                                    .read = wfl_zarr_read,
                                    .close = wfl_zarr_close,
                                    .create = wfl_zarr_create,
                                    .write = wfl_zarr_write,
                                    .unit = wfl_zarr_unit,
                                    .derive = wfl_zarr_derive,
                                    .finish = wfl_zarr_finish };
