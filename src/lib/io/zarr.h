/* zarr.h - the parts of Zarr: zarr_read.c reads arrays, zarr_chunks.c stores the chunks of one, ome_write.c (ome.h) makes
 * the metadata and the levels of a group, zarr_write.c has what is common to both that are written, and zarr.c the
 * format's entry in the table of io.c.
 */
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

/* ---- reading ---- */
wf_status wfl_zarr_open(wfl_io_input *in);
wf_status wfl_zarr_read(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to);
void wfl_zarr_close(wfl_io_input *in);

/* ---- the chunks of an array that is written ---- */

/* A way to pack chunks: its name and configuration in the metadata, and what packs a file. */
typedef struct wfl_zarr_packer {
    const char *name;
    int level;
    const char *rest;                            /* of the configuration, after the level */
    int (*pack)(int from, int64_t size, int to); /* NULL: chunks stay as they are */
} wfl_zarr_packer;

/* An array that is written to a folder. The caller sets what stands before `folder`. */
typedef struct wfl_zarr_store {
    wf_context *ctx;
    const char *target; /* the path that the caller of the library gave, for messages */
    const wfl_io_type *type;
    wf_shape shape;              /* without the axis of complex parts */
    char names[WF_MAX_RANK + 1]; /* a letter for each axis; "": axes have no names */
    bool images;                 /* the last two axes are those of an image, the ones before count images */
    const wfl_zarr_packer *packer;
    bool packs; /* chunks are packed when they are written, which happens once, as a whole */
    bool durable;
    char *folder;
    char *path; /* of a file in the folder */
    int64_t chunk[WF_MAX_RANK];
    int64_t values;   /* of a chunk */
    uint8_t *samples; /* of a chunk */
} wfl_zarr_store;

/* Chooses the chunks and allocates memory. The caller closes the store, also after an error. */
wf_status wfl_zarr_store_open(wfl_zarr_store *s, const char *folder);
/* Writes the metadata to the folder, which exists. Returns 0 or an errno. */
int wfl_zarr_store_begin(wfl_zarr_store *s);
/* Stores a part of the array that begins at `first`. Returns 0 or an errno. */
int wfl_zarr_store_write(wfl_zarr_store *s, const wfl_io_source *source, const wf_shape *first);
/* Packs all chunks, which were written without it. Returns 0 or an errno. */
int wfl_zarr_store_pack(wfl_zarr_store *s);
void wfl_zarr_store_close(wfl_zarr_store *s);
/* Writes a file at once. Returns 0 or an errno. */
int wfl_zarr_write_file(const char *path, const void *from, size_t bytes, bool durable);

/* ---- writing ---- */
wf_status wfl_zarr_create(wfl_io_output *out);
wf_status wfl_zarr_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
void wfl_zarr_unit(const wfl_io_output *out, int64_t *unit);
wf_status wfl_zarr_derive(wfl_io_output *out, int step, int part, int parts);
wf_status wfl_zarr_finish(wfl_io_output *out, wf_status status);
#endif
