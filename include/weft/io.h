/* io.h - image and volume files as arrays: MRC and NPY, also in gzip, PNG, TIFF and BigTIFF; Zarr folders; EER movies,
 * which are only read.
 * Errors: a truncated or hostile header names file, field and value; no memory beyond what the length (Zarr: the shape)
 * allows.
 * Threads: from any thread. Waits: synchronous.
 * Reference: docs/reference/io.md */
#ifndef WF_IO_H
#define WF_IO_H
#include "weft/distributed.h"
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum wf_format {
    WF_FORMAT_BY_NAME,
    WF_FORMAT_MRC,
    WF_FORMAT_NPY,
    WF_FORMAT_PNG,
    WF_FORMAT_TIFF,
    WF_FORMAT_EER,
    WF_FORMAT_ZARR
} wf_format;

/* How values are stored in a file. */
typedef enum wf_stored {
    WF_STORED_DEFAULT, /* the array's dtype if the format has it, else the type that the reference of wf_save names */
    WF_STORED_BOOL,
    WF_STORED_I8,
    WF_STORED_U8,
    WF_STORED_I16,
    WF_STORED_U16,
    WF_STORED_I32,
    WF_STORED_U32,
    WF_STORED_I64,
    WF_STORED_U64,
    WF_STORED_F16,
    WF_STORED_F32,
    WF_STORED_F64,
    WF_STORED_C64,  /* pairs of f32: MRC mode 4, NPY c8 */
    WF_STORED_C128, /* pairs of f64: NPY c16 */
    WF_STORED_U4    /* MRC mode 101: u8, 0 to 15 */
} wf_stored;

enum { WF_MRC_LABELS = 10 };

/* Facts beside the values. A zeroed struct with `size` set is right for both directions.
 * A struct that wf_load has filled in may be given to wf_save unchanged, for any array and format. */
typedef struct wf_meta {
    size_t size;        /* sizeof(wf_meta), set by the caller */
    wf_format format;   /* loading: the file's format. Saving: used only if the suffix of the path names no format */
    wf_stored stored;   /* loading: the type of the values in the file. Saving: not used */
    wf_stored store_as; /* saving: the type wanted; values are converted. Loading: WF_STORED_DEFAULT */
    double spacing[3];  /* Angstrom per sample along z, y, x; 0: unknown. MRC, OME; TIFF: y, x, if the unit is cm */
    double origin[3];   /* Angstrom, z y x. MRC, OME-Zarr */
    bool is_stack;      /* the first axis counts images (or volumes, rank 4), it is not a z axis */
    bool lzw, deflate;  /* TIFF compression (both on saving: deflate); saving Zarr: deflate packs chunks by gzip */
    bool zstd;          /* saving Zarr: packs chunks by zstd, also with deflate */
    bool durable;       /* saving: flush to the disk, so that the file survives a power failure; may be slow */
    /* MRC: other facts of the header. */
    double angles[3]; /* alpha, beta, gamma of the cell in degrees; 0: unknown, saved as 90 */
    /* The file's history; "" is skipped. Saving adds Weft's own, in place of the last. */
    char labels[WF_MRC_LABELS][81];
    /* MRC, but for stacks of images: where the samples lie in a crystal's unit cell. Saved only with an array of these
     * extents, z y x (1 y x: an image), which are the file's. Zeroed: an image or volume that is its own cell. */
    int32_t extent[3];
    int32_t cell[3];     /* samples of the cell along z, y, x: MZ, MY, MX */
    int32_t start[3];    /* the first sample's place in the cell, z y x: NSTART. `origin` follows from it, unless the
                          * file has an ORIGIN of its own; saved as NSTART alone while `origin` follows from it */
    int32_t space_group; /* 1 to 230: ISPG, of stacks of volumes ISPG - 400; 0: unknown, saved as 1 */
    /* MRC: the extended header, which is not loaded. */
    int32_t extended_bytes; /* loading: its size */
    char extended_type[5];  /* loading: EXTTYP, such as "SERI"; "" if the file does not say it */
    /* Saving: the MRC file whose extended header is copied if the extents are the same; NULL: none. Loading: NULL. */
    const char *extended_from;
    int32_t channels; /* loading PNG, TIFF: so many samples of a pixel are the last axis, else 0. Saving: not used */
    /* OME-Zarr: an image may have levels, each with half as many samples along the axes in space as the level before. */
    bool pyramid;     /* saving: levels are added until no axis in space has more than `coarsest` samples */
    int32_t coarsest; /* saving: 0: 256 */
    int32_t levels;   /* loading a group: the number of levels, else 0. Saving: not used */
    char level[128];  /* loading a group: the path in it of the level that is loaded, else "". Saving: not used */
} wf_meta;

/* Loads a file as a new array in C order: [h,w], [n,h,w], [d,h,w], [n,d,h,w]; with c > 1 channels [..,h,w,c].
 * The format is recognised by content, also in gzip, else by suffix. `meta` may be NULL; it is untouched on failure.
 * Dtypes: the stored one, except that U4 becomes u8.
 * Owns: the caller releases the array.
 * Errors: NULL.
 * Example: wf_array *volume = wf_load(ctx, "volume.mrc", NULL); */
WF_API wf_array *wf_load(wf_context *ctx, const char *path, wf_meta *meta);

/* Reads only the header: fills meta, dtype and shape (each may be NULL) as wf_load would.
 * Errors: also a file shorter than its header claims (in gzip: than it can be); the results are untouched. */
WF_API wf_status wf_probe(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape);

/* Does what wf_probe does for a level of an image of OME-Zarr; `path`: its group. Level 0 is what wf_load loads; the path of
 * a level is that of the group, a slash, and meta->level.
 * Errors: also WF_ERR_ARG: there is no such level; a level with more samples along an axis than the one before.
 * Example: wf_status status = wf_probe_level(ctx, "tomogram.ome.zarr", 1, &meta, NULL, &shape); */
WF_API wf_status wf_probe_level(wf_context *ctx, const char *path, int32_t level, wf_meta *meta, wf_dtype *dtype,
                                wf_shape *shape);

/* Writes `array` to a file that appears whole or not at all. The suffix of `path`, else meta->format, names the format.
 * Dtypes: converted to meta->store_as, else to the nearest type of the format: rounded to nearest and clamped.
 * Errors: failure leaves nothing behind; a path that is not a regular file is refused.
 * `meta` may be NULL: all defaults. The reference lists the types and shapes of each format. */
WF_API wf_status wf_save(const wf_array *array, const char *path, const wf_meta *meta);

/* Appends an image, or several (a first axis more), to an MRC stack, or elements along the first axis to an NPY array, in
 * place. Converts to the file's type. Without a file writes one, as wf_save; meta (may be NULL) is used for that only.
 * Errors: after an error the file is as it was. WF_ERR_SHAPE; WF_ERR_UNSUPPORTED: a volume, gzip, another byte order.
 * Threads, processes: calls for one file wait for each other.
 * Example: for (int i = 0; i < n; i++) wf_append(image[i], "particles.mrcs", NULL); */
WF_API wf_status wf_append(const wf_array *array, const char *path, const wf_meta *meta);

/* Loads the box of `shape` elements at `offset` of what wf_load gives. Reads little of what lies outside of it.
 * Errors: NULL: as wf_load; WF_ERR_SHAPE: another rank, or a box that is not inside of the file.
 * Owns, Dtypes, meta: as wf_load.
 * Example: wf_array *a = wf_load_region(ctx, "movie.mrc", WF_SHAPE(3, 0, 0), WF_SHAPE(1, 4092, 5760), NULL); */
WF_API wf_array *wf_load_region(wf_context *ctx, const char *path, wf_shape offset, wf_shape shape, wf_meta *meta);

/* A file that is read or written in parts, so that it may be larger than memory. Used by one thread at a time. */
typedef struct wf_file wf_file;

/* Opens a file for wf_file_read and fills meta, dtype and shape (each may be NULL) as wf_probe does.
 * Owns: the caller frees it (wf_file_free) before the context.
 * Errors: NULL, as wf_load. */
WF_API wf_file *wf_file_open(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape);
/* Loads the box of `shape` elements at `offset` as a new array, which the caller releases.
 * Cost: MRC, NPY: what is read lies in the box or close to it; in gzip from the start on, or from where the last read
 * ended if it lies before the box. TIFF: the strips and tiles that the box touches. PNG: all.
 * Errors: NULL; WF_ERR_SHAPE: another rank, or a box that is not inside of the file. */
WF_API wf_array *wf_file_read(wf_file *file, wf_shape offset, wf_shape shape);

/* How the frames of a movie become images. A zeroed struct with `size` set: as they are in the file. */
typedef struct wf_movie {
    size_t size;      /* sizeof(wf_movie), set by the caller */
    const char *gain; /* the file of an image that frames are multiplied by; NULL: none */
    bool divide;      /* frames are divided by the gain, and are 0 where it is 0; always if its name ends with .gain */
    int32_t factor;   /* EER: pixels of an image along a pixel of the detector: 1, 2, 4, ...; 0: 1 */
    int64_t group;    /* frames that are added to an image; the last ones that fill no group are left out; 0: 1 */
    /* The gain is turned by quarters, clockwise where its first row is drawn at the top, then flipped: 1 = upside down,
     * 2 = left to right; as by RELION's --gain_rot and --gain_flip. */
    int32_t gain_rotation, gain_flip;
} wf_movie;
/* Opens a movie, a stack of images of any format or one image, for wf_file_read. `how` may be NULL.
 * Dtypes: with a gain or sums f32 (f64 of f64); EER: u8, sums of more than 255 frames u16; with a gain f32.
 * Errors: NULL: as wf_file_open; WF_ERR_SHAPE: a gain that has neither the images' extents nor, EER, the detector's.
 * Cost: as wf_file_read of the movie; the last box of the gain is kept.
 * Example: wf_file *m = wf_movie_open(ctx, "m.eer", &(wf_movie){ sizeof(wf_movie), .group = 40 }, NULL, NULL, &shape); */
WF_API wf_file *wf_movie_open(wf_context *ctx, const char *path, const wf_movie *how, wf_meta *meta, wf_dtype *dtype,
                              wf_shape *shape);

/* Begins a file as wf_save would write it for an array of this dtype and shape. What is never written is zero.
 * Owns: the caller frees it (wf_file_free) before the context.
 * Errors: NULL, as wf_save. */
WF_API wf_file *wf_file_create(wf_context *ctx, const char *path, wf_dtype dtype, wf_shape shape, const wf_meta *meta);
/* Stores an array, of the file's dtype, at `offset`. MRC, NPY, Zarr: any box; TIFF: whole pages, in order; PNG: all at
 * once.
 * Errors: WF_ERR_SHAPE, WF_ERR_DTYPE, WF_ERR_UNSUPPORTED (such parts); wf_file_finish reports a full disk. */
WF_API wf_status wf_file_write(wf_file *file, const wf_array *array, wf_shape offset);
/* The samples of a file as the memory of an array, which the system reads and writes page by page: an array may be larger
 * than memory. Of an opened file the array is read-only; of a created one it sets the samples, which are 0 at first.
 * Owns: the caller releases the array, which may outlive an opened file, and before wf_file_finish of a created one.
 * Errors: NULL: WF_ERR_UNSUPPORTED: only MRC and NPY, plain, whose samples need no conversion; WF_ERR_IO: a full disk.
 * Aliasing: another program that shortens the file ends this one (SIGBUS). */
WF_API wf_array *wf_file_map(wf_file *file);
/* Makes a created file appear, as wf_save does. Only wf_file_free may follow. */
WF_API wf_status wf_file_finish(wf_file *file);
/* Closes a file; a created one that is not finished never appears. NULL: does nothing. */
WF_API void wf_file_free(wf_file *file);

/* ---- distributed arrays: all ranks of the group call these, in the same order ---------------------------------------- */
/* Loads a file as a new distributed array. Each rank reads its block, so all ranks reach the file. `dist` NULL: the first
 * axis is divided, or several if it has few elements, of Zarr at packed chunks, as the reference says.
 * Owns, Dtypes, meta: as wf_load; the group is borrowed until the array is released.
 * Errors: NULL, on all ranks: as wf_load on any; WF_ERR_SHAPE: the distribution is one of another shape; WF_ERR_CONTRACT:
 * ranks see other files.
 * Cost: as wf_load_region of the block: in gzip each rank unpacks what lies before it. */
WF_API wf_array *wf_load_distributed(wf_context *ctx, const char *path, wf_ranks *ranks, const wf_dist *dist,
                                     wf_meta *meta);
/* Writes a distributed array to a file that appears whole or not at all, with the bytes that wf_save writes of the whole
 * array. MRC, NPY, Zarr: ranks write their parts of the file at once, so all reach its folder. Other formats, gzip and U4:
 * the first rank gets all elements, and writes them.
 * Dtypes, meta: as wf_save. Errors: on all ranks, as wf_save on any; WF_ERR_ARG: the array is not distributed.
 * Cost: unless the blocks are slabs (Zarr: consist of whole chunks), a copy of the array that is cut so. */
WF_API wf_status wf_save_distributed(const wf_array *array, const char *path, const wf_meta *meta);

/* Gives the format that the suffix of `path` names, as wf_save would choose it. Opens nothing.
 * Errors: WF_ERR_UNSUPPORTED, with a message that lists the suffixes; *format is untouched. */
WF_API wf_status wf_format_named(wf_context *ctx, const char *path, wf_format *format);

/* A name such as "MRC". NULL: WF_FORMAT_BY_NAME and numbers past the last one. Threads: from any thread. */
WF_API const char *wf_format_name(wf_format format);
/* A name such as "u16". NULL: WF_STORED_DEFAULT and numbers past the last one. Threads: from any thread. */
WF_API const char *wf_stored_name(wf_stored stored);

#ifdef __cplusplus
}
#endif
#endif
