/* io.h - image and volume files as arrays. Built on weft.h only.
 *
 * Formats: MRC (modes 0, 1, 2, 4, 6, 12, 101), NPY (1.0 to 3.0), PNG (1 to 16 bit, grey, colour, palette), TIFF and
 * BigTIFF (8, 16, 32 and 64 bit integers, f16, f32, f64; none, LZW, deflate, PackBits; strips and tiles; multi-page).
 *
 * All functions are synchronous and may be called from any thread. Files are untrusted input: a truncated or hostile
 * header is an error that names file, field and value, and nothing is allocated that the length of the file does not
 * account for (compressed data: at the highest ratio its method can reach).
 */
#ifndef WF_IO_H
#define WF_IO_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum wf_format { WF_FORMAT_BY_NAME, WF_FORMAT_MRC, WF_FORMAT_NPY, WF_FORMAT_PNG, WF_FORMAT_TIFF } wf_format;

/* How values are stored in a file. */
typedef enum wf_stored {
    WF_STORED_DEFAULT, /* the array's dtype if the format has it, else what wf_save documents */
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

/* Beside the values. A zeroed struct with `size` set is right for both directions; what wf_load filled in may be given
 * to wf_save as it is, even if the array was computed from the loaded one or the file is of another format. */
typedef struct wf_meta {
    size_t size;        /* sizeof(wf_meta), set by the caller */
    wf_format format;   /* loading: the file's format. Saving: used only if the suffix of the path names no format */
    wf_stored stored;   /* loading: the type of the values in the file. Saving: not used */
    wf_stored store_as; /* saving: the type wanted; values are converted. Loading: WF_STORED_DEFAULT */
    double spacing[3];  /* Angstrom per sample along z, y, x; 0: unknown. MRC; TIFF: y and x, if the unit is cm */
    double origin[3];   /* Angstrom, z y x. MRC */
    bool is_stack;      /* the first axis counts images (or volumes, rank 4), it is not a z axis */
    bool lzw, deflate;  /* TIFF compression (both on saving: deflate) */
    bool durable;       /* saving: flush to the disk, so that the file survives a power failure; may be slow */
    /* MRC: what else the header says. */
    double angles[3]; /* alpha, beta, gamma of the cell in degrees; 0: unknown, saved as 90 */
    char labels[WF_MRC_LABELS]
               [81]; /* the file's history; "" is skipped. Saving adds Weft's own, in place of the last */
    /* MRC, but for stacks of images: where the samples lie in a crystal's unit cell. Saved only with an array of these
     * extents, z y x (1 y x: an image), which are the file's. Zeroed: an image or volume that is its own cell. */
    int32_t extent[3];
    int32_t cell[3];     /* samples of the cell along z, y, x: MZ, MY, MX */
    int32_t start[3];    /* the first sample's place in the cell, z y x: NSTART. `origin` is what it amounts to, unless
                          * the file has an ORIGIN of its own; saved as NSTART alone while that is so */
    int32_t space_group; /* 1 to 230: ISPG, of stacks of volumes ISPG - 400; 0: unknown, saved as 1 */
} wf_meta;

/* The whole file as a new array in C order: [h,w], [n,h,w], [d,h,w] or (stacks of volumes) [n,d,h,w]; NPY: its shape;
 * PNG and TIFF with c > 1 channels: [h,w,c] or (several pages) [n,h,w,c].
 * Single images load as [h,w].
 *
 * The format is recognised by content, else by suffix (see wf_save). The dtype is the stored one, except that
 * U4 becomes u8.
 *   MRC: either byte order. MAPC/MAPR/MAPS are honoured: axes are z, y, x in memory whatever their order in the file.
 *     Stacks: ISPG 0, or a suffix .mrcs .st .ali; ISPG 401 to 630: [n,d,h,w]. Mode 0 is i8, but u8 where an IMOD stamp
 *     says so. The origin is ORIGIN, or, where that is zero, NXSTART.. times the spacing.
 *   NPY: either byte order, C and Fortran order, dtypes b1 i1-i8 u1-u8 f2 f4 f8 c8 c16, rank up to 8; complex ones up
 *     to 7.
 *   PNG: u8, or u16 for 16 bit. Palettes become RGB(A); grey of 1, 2 and 4 bits is scaled to 0..255; a transparent
 *     colour becomes an alpha channel.
 *   TIFF: pages become the first axis and must agree in size and type; thumbnails and masks are skipped. Samples are
 *     given as stored. Palettes, YCbCr and other compressions are refused.
 *
 * `meta` may be NULL; it is untouched on failure. NULL on error; release the array when done. */
WF_API wf_array *wf_load(wf_context *ctx, const char *path, wf_meta *meta);

/* Reads only the header: fills meta, dtype and shape (each may be NULL, all untouched on failure) as wf_load would give
 * them. Also checks that the file is as long as its header claims. */
WF_API wf_status wf_probe(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape);

/* Writes `array` (any strides, of any of the dtypes) to a file that appears whole or not at all: a temporary file in
 * the same folder is renamed over `path` when complete. Failure leaves nothing behind, nor does the end of the process
 * where the file system has files without a name (as Linux's own). A file that exists keeps its permissions; a symbolic
 * link is followed, also to where nothing is yet. What is not a regular file (a device, a pipe) is refused.
 *
 * The suffix of `path` names the format: .mrc .mrcs .map .rec .st .ali .ccp4, .npy, .png, .tif .tiff; with another
 * suffix meta->format does. Values are converted to the stored type: rounded to nearest (ties to even) and clamped to
 * its range; NaN becomes 0 for integers; infinities and NaN stay in floats; as bool, what is neither 0 nor NaN is true.
 * Without meta->store_as that type is
 *   MRC: i8 mode 0, i16 mode 1, bool u8 u16 mode 6, f16 mode 12, complex mode 4, everything else mode 2 (f32). Of
 *     `store_as`, U8 is mode 0 with an IMOD stamp, C64 mode 4 (of a real array: its last axis is real, imaginary), U4
 *     mode 101. Rank 2 to 4; rank 3 is a volume unless meta->is_stack or the suffix is .mrcs .st .ali; rank 4 is a
 *     stack of volumes. DMIN, DMAX, DMEAN and RMS are those of the finite values stored. Axes are saved in the order x,
 *     y, z; extended headers are not kept.
 *   NPY: the array's dtype; bf16, which it does not have, as f32, c32 as c64. Complex arrays up to rank 7.
 *   PNG: u8 and u16; bool as 1 bit, black and white. [h,w], or [h,w,c] with c <= 4: grey, grey + alpha, RGB, RGBA.
 *     Other dtypes are refused unless `store_as` asks for U8 or U16; `weft view` stretches their contrast.
 *   TIFF: the array's dtype, bool as u8, bf16 as f32. [h,w]; [n,h,w] as n pages; [n,h,w,c] with c from 2 to 4. A rank
 *     3 whose last extent is 2, 3 or 4 and which is not meta->is_stack is one page of channels, as wf_load gave it.
 *     BigTIFF beyond 4 GB.
 * `meta` may be NULL: all defaults. */
WF_API wf_status wf_save(const wf_array *array, const char *path, const wf_meta *meta);

/* The format that the suffix of `path` names, as wf_save would choose it. The file need not exist, and is not opened.
 * WF_ERR_UNSUPPORTED, with a message that lists the suffixes, if it names none; *format is untouched then. */
WF_API wf_status wf_format_named(wf_context *ctx, const char *path, wf_format *format);

/* "MRC", "u16". NULL: WF_FORMAT_BY_NAME, WF_STORED_DEFAULT, and numbers beyond the last. From any thread. */
WF_API const char *wf_format_name(wf_format format);
WF_API const char *wf_stored_name(wf_stored stored);

#ifdef __cplusplus
}
#endif
#endif
