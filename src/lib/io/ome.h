/* ome.h - OME-Zarr: groups that list the levels of an image, with the sizes of their samples (OME-NGFF). */
#ifndef WEFT_IO_OME_H
#define WEFT_IO_OME_H
#include "io_internal.h"

enum { OME_PATH = 128, ZARR_METADATA = 1 << 24 /* the most bytes of a file of metadata */ };

typedef struct wfl_ome_level {
    char path[OME_PATH]; /* of the level in its group; "": the folder is no such group, or does not list the level */
    int rank;            /* of the list of axes; 0: there is none */
    double spacing[3];   /* Angstrom along z, y, x; 0: unknown */
    double origin[3];    /* of the first sample, Angstrom */
    bool is_stack;       /* the first axis is none in space */
} wfl_ome_level;

/* Finds a level in the metadata of the group `folder` by its path; NULL: the first. What is missing or not understood is
 * no error. */
wf_status wfl_ome_find(wf_context *ctx, const char *folder, const char *level, wfl_ome_level *out);
#endif
