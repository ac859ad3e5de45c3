/* io.h - image and volume files as arrays. Built on weft.h only.
 *
 * Formats: MRC (modes 0, 1, 2, 4, 6, 12, 101), NPY, PNG (8 and 16 bit), TIFF (8/16/32-bit integers, f32, f64; none, LZW
 * and deflate; multi-page).
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum wf_format { WF_BY_NAME, WF_MRC, WF_NPY, WF_PNG, WF_TIFF } wf_format;

/* How values are stored in the file, beyond the array's own dtype. */
typedef enum wf_stored {
    WF_STORED_DEFAULT, /* on saving: the array's dtype if the format has it, else the nearest that holds it (documented at
                          wf_save) */
    WF_STORED_BOOL, WF_STORED_I8, WF_STORED_U8, WF_STORED_I16, WF_STORED_U16, WF_STORED_I32, WF_STORED_U32,
    WF_STORED_I64, WF_STORED_U64, WF_STORED_F16, WF_STORED_F32, WF_STORED_F64,
    WF_STORED_C64, /* pairs of f32 (MRC mode 4, NPY c8): loaded as f32 with a last axis of extent 2: re, im */
    WF_STORED_U4   /* MRC mode 101 */
} wf_stored;

typedef struct wf_meta {
    size_t size; /* sizeof(wf_meta), set by the caller */
    wf_format format;
    wf_stored stored;
    double spacing[3]; /* Angstrom per sample along z, y, x; 0: unknown */
    double origin[3];  /* Angstrom, z y x */
    bool is_stack;     /* the first axis counts images (or volumes, rank 4), it is not a z axis */
    bool lzw, deflate; /* TIFF compression: set by loading, obeyed by saving */
} wf_meta;

/* The whole file as a new array in C order: [h,w], [n,h,w], [d,h,w] or (stacks of volumes) [n,d,h,w]; NPY: its shape;
 * PNG with more than one channel: [h,w,c]. Single images load as [h,w]. The array's dtype is the stored one, except that
 * f16 becomes f32 and U4 becomes U8. Axis order: an MRC whose MAPC/MAPR/MAPS permute the axes is loaded so that axes are
 * z, y, x. Byte-swapped files are recognised. `meta` may be NULL. Synchronous. NULL on error: the context's message names
 * file, field and value. A file that claims more data than it has is an error before anything is allocated. */
WF_API wf_array *wf_load(wf_context *ctx, const char *path, wf_meta *meta);
/* Reads only the header: fills meta, dtype and shape (each may be NULL) as wf_load would give them. */
WF_API wf_status wf_probe(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape);
/* Writes atomically: a temporary file in the same folder, renamed over `path` when complete. meta NULL: format by suffix
 * (.mrc .mrcs .map .rec .st .ali, .npy, .png, .tif .tiff), no spacing. Values outside the stored range are clamped, NaN
 * becomes 0 for integers. MRC stores bool and u8 as mode 6 (u16), i8 as mode 0, i32 and larger and f64 as mode 2 (f32);
 * PNG stores integers of 8 and 16 bits, everything else is refused with a message that names `weft view`. Statistics (min,
 * max, mean, rms) of MRC headers are right. Any strides. */
WF_API wf_status wf_save(const wf_array *array, const char *path, const wf_meta *meta);

#ifdef __cplusplus
}
#endif
#endif
