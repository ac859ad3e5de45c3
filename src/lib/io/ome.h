/* ome.h - OME-Zarr: groups that list the levels of an image, with the sizes of their samples (OME-NGFF). ome.c finds
 * levels in the metadata of a group, ome_write.c writes these metadata and makes the levels.
 */
#ifndef WEFT_IO_OME_H
#define WEFT_IO_OME_H
#include "zarr.h"

enum { OME_PATH = 128, ZARR_METADATA = 1 << 24 /* the most bytes of a file of metadata */ };

/* ---- reading ---- */

typedef struct wfl_ome_level {
    char path[OME_PATH]; /* of the level in its group; "": the folder is no such group, or does not list the level */
    int levels;          /* of the image; 0: the folder is no such group */
    const char *problem; /* what is wrong with the path of a level that was looked up by number; NULL: nothing */
    int rank;            /* of the list of axes; 0: there is none */
    double spacing[3];   /* Angstrom along z, y, x; 0: unknown */
    double origin[3];    /* of the first sample, Angstrom */
    bool is_stack;       /* the first axis is none in space */
} wfl_ome_level;

/* Finds a level in the metadata of the group `folder` by its path; NULL: level `number` of the first image. What is missing
 * or not understood is no error. */
wf_status wfl_ome_find(wf_context *ctx, const char *folder, const char *level, int number, wfl_ome_level *out);

/* ---- writing ---- */

/* An image that becomes a group. */
typedef struct wfl_ome_image {
    const wf_meta *meta;
    wf_shape shape; /* of level 0, without the axis of complex parts: 2 to 4 axes */
    int levels;
    bool durable;
} wfl_ome_image;

/* Describes the image, with the number of levels that meta->pyramid asks for. */
void wfl_ome_describe(const wf_meta *meta, const wf_shape *shape, wfl_ome_image *image);
/* Sets the shape of a level, and in names[] a letter for each axis. */
void wfl_ome_level_shape(const wfl_ome_image *image, int level, wf_shape *shape, char names[WF_MAX_RANK + 1]);
/* Writes the metadata of the group to a folder. */
wf_status wfl_ome_write_group(wf_context *ctx, const char *path, const wfl_ome_image *image, const char *folder);
/* Makes the chunks part, part + parts, ... of a level, whose store is open, of the array in the folder `from`, which is
 * the level before. */
wf_status wfl_ome_make_level(const wfl_ome_image *image, int level, const char *from, int part, int parts,
                             wfl_zarr_store *to);
#endif
