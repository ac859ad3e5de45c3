/* io_internal.h - what the file formats share. Each of these uses only those before it: errors and small helpers
 * (basics.c), the types that files store (types.c), libraries that are opened when they are needed (foreign.c),
 * compressed files (gzip.c), packed chunks (codec.c), the bounded reader and the atomic writer (file.c), runs of samples
 * (convert.c), statistics of them (statistics.c), whole arrays of them (samples.c), what is common to all files that are
 * written (output.c), the formats, their table (io.c), movies (movie.c), files as memory (mapped.c), parts of files
 * (parts.c), levels of images (levels.c), files of distributed arrays (distributed.c), and files that grow (append.c). STAR tables have a header of
 * their own (star.h), and so have JSON (json.h), OME-Zarr (ome.h), OME-TIFF (ome_xml.h), the parts of Zarr (zarr.h)
 * and those of EER (eer.h).
 *
 * A new format is one file with the functions of wfl_io_format and one row in the table of io.c.
 */
#ifndef WEFT_IO_INTERNAL_H
#define WEFT_IO_INTERNAL_H
#include "weft/io.h"
#include "weft/weft.h"

#if defined(__GNUC__)
#define IO_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define IO_PRINTF(text, values)
#endif

/* The approximate size of buffers between files and arrays, in bytes; a multiple of 64. Fuzz targets are built with
 * short buffers, so that small files reach what happens at the ends of buffers. */
#ifdef WEFT_IO_CHUNK
#define IO_CHUNK ((size_t)WEFT_IO_CHUNK)
#else
#define IO_CHUNK ((size_t)1 << 20)
#endif
/* The longest row of pixels (PNG, TIFF) that is buffered as a whole, in bytes. */
#define IO_MAX_ROW ((int64_t)1 << 30)

/* ---- stored types --------------------------------------------------------------------------------------------- */

/* X(stored, name, bytes of a part, parts of a value, dtype that a part is loaded as). For U4 the bytes are those of the
 * unpacked value. */
#define IO_TYPES(X)                \
    X(BOOL, "bool", 1, 1, WF_BOOL) \
    X(I8, "i8", 1, 1, WF_I8)       \
    X(U8, "u8", 1, 1, WF_U8)       \
    X(I16, "i16", 2, 1, WF_I16)    \
    X(U16, "u16", 2, 1, WF_U16)    \
    X(I32, "i32", 4, 1, WF_I32)    \
    X(U32, "u32", 4, 1, WF_U32)    \
    X(I64, "i64", 8, 1, WF_I64)    \
    X(U64, "u64", 8, 1, WF_U64)    \
    X(F16, "f16", 2, 1, WF_F16)    \
    X(F32, "f32", 4, 1, WF_F32)    \
    X(F64, "f64", 8, 1, WF_F64)    \
    X(C64, "c64", 4, 2, WF_F32)    \
    X(C128, "c128", 8, 2, WF_F64)  \
    X(U4, "u4", 1, 1, WF_U8)

typedef struct wfl_io_type {
    wf_stored stored;
    const char *name;
    size_t bytes;
    int parts;
    wf_dtype dtype;
} wfl_io_type;

#define IO_BIT(name) (1u << WF_STORED_##name)
/* Returns the row of `stored`; NULL for WF_STORED_DEFAULT and values out of range. */
const wfl_io_type *wfl_io_type_of(wf_stored stored);
/* Returns the dtype that values are loaded as; for complex types that of the values, not of the parts. */
wf_dtype wfl_io_loaded_as(const wfl_io_type *type);
/* Returns the type that stores `dtype` unchanged; NULL for dtypes that no file has. */
const wfl_io_type *wfl_io_type_native(wf_dtype dtype);

/* ---- errors and small helpers ----------------------------------------------------------------------------------- */

/* Sets the context's error "path: text" and returns `status`. Bytes that are not printable become '?'. */
wf_status wfl_io_fail(wf_context *ctx, const char *path, wf_status status, const char *format, ...) IO_PRINTF(4, 5);
wf_status wfl_io_fail_memory(wf_context *ctx, const char *path, int64_t bytes);
/* Returns a text like "permission denied". Any thread may call it. */
const char *wfl_io_errno_text(int code);
bool wfl_io_little_endian(void);
/* Sets *out to a * b, for a, b >= 0; false on overflow. */
bool wfl_io_mul(int64_t a, int64_t b, int64_t *out);
/* Resizes the array that *memory, a pointer of any type, points to, to `count` elements of `size` bytes. On error, which
 * the context has, the array is as it was. */
wf_status wfl_io_resize(wf_context *ctx, const char *path, void *memory, int64_t count, size_t size);
/* Returns `size` bytes of zeros for an object that keeps a copy of its path, and that in *copy; NULL on error. */
void *wfl_io_new_object(wf_context *ctx, const char *path, size_t size, char **copy);
/* Returns a number that is unlikely to be in the name of a file yet. `owner`: an address of the caller's own. */
uint64_t wfl_io_random_number(const void *owner, unsigned attempt);
/* Reads `length` characters as a number, as strtod does in the C locale; the program's locale may have another decimal
 * point. False: there are other characters, or more than 255; *out is untouched. */
bool wfl_io_real(const char *text, size_t length, double *out);
/* Writes a number with the fewest digits, `least` to `most`, that read back as the same one, as in the C locale. With
 * `most` below 15 the number is an f32. */
enum { IO_REAL = 48 };
void wfl_io_print_real(double value, int least, int most, char buf[IO_REAL]);
/* True if the name ends with `suffix`, such as ".mrc", or that and ".gz". Letter case does not matter. */
bool wfl_io_suffix_is(const char *path, const char *suffix);
bool wfl_io_named_gzip(const char *path); /* the name ends with ".gz" */
/* Sets the context's error "path: cannot `what`: reason". */
wf_status wfl_io_fail_errno(wf_context *ctx, const char *path, const char *what, int code);
/* Reads at an offset of a file. Returns the number of bytes, fewer only at the end of the file; -1 with errno set. */
int64_t wfl_io_pread(int fd, int64_t offset, void *to, size_t bytes);
/* Writes all bytes at an offset of a file. Returns 0 or an errno; *written: how many were written. */
int wfl_io_pwrite(int fd, int64_t offset, const void *from, size_t bytes, size_t *written);

/* ---- compressed files ------------------------------------------------------------------------------------------- */

/* How a file is compressed as a whole. */
typedef enum wfl_packing {
    WFL_PACKED_BY_CONTENT, /* by gzip, if the first bytes say it */
    WFL_PACKED_NOT,
    WFL_PACKED_ZLIB, /* by gzip or zlib */
    WFL_PACKED_ZSTD, /* unpacked as a whole: wfl_io_unpack */
    WFL_PACKED_BLOSC /* likewise */
} wfl_packing;
/* The unpacked bytes of a file that is compressed by gzip or zlib. */
typedef struct wfl_gzip wfl_gzip;
/* If the file is compressed, opens *gzip over it, and sets *size, its length, to the greatest length that the unpacked
 * bytes can have. Else *gzip is NULL. */
wf_status wfl_gzip_open(wf_context *ctx, const char *path, int fd, wfl_packing packing, int64_t *size, wfl_gzip **gzip);
void wfl_gzip_close(wfl_gzip *gzip); /* NULL: does nothing */
/* Reads as wfl_io_pread does. Going back in the file begins anew at its start. -1: see wfl_gzip_fail. */
int64_t wfl_gzip_read(wfl_gzip *gzip, int64_t offset, void *to, size_t bytes);
/* Sets the error of the read that failed. */
wf_status wfl_gzip_fail(const wfl_gzip *gzip);
/* Reads what follows, which must be short, to check the checksum. */
wf_status wfl_gzip_end(wfl_gzip *gzip);
/* Opens the library of gzip. */
wf_status wfl_gzip_library(wf_context *ctx, const char *path);
/* Compresses the first `size` bytes of a file to another one, which is empty. The library must be open. Returns 0 or an
 * errno. */
int wfl_gzip_pack(int from, int64_t size, int to);
/* Makes maps up to a seventh longer than 6 does, in a quarter of the time; maps of noise take the same at all levels. */
enum { WFL_GZIP_LEVEL = 3 };

/* Opens the library of zstd or blosc. */
wf_status wfl_codec_library(wf_context *ctx, const char *path, wfl_packing packing);
/* Returns more bytes than so many packed ones can become. */
int64_t wfl_codec_most(int64_t bytes);
/* Unpacks a chunk, whose unpacked length must be `size`. The library must be open. `path`: for messages. */
wf_status wfl_codec_unpack(wf_context *ctx, const char *path, wfl_packing packing, const void *from, size_t bytes,
                           void *to, int64_t size);
/* Packs a file by zstd, as wfl_gzip_pack does. */
int wfl_codec_pack(int from, int64_t size, int to);
enum { WFL_ZSTD_LEVEL = 3 }; /* the usual one */

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct wfl_io_reader {
    wf_context *ctx;
    const char *path;
    int fd;
    wfl_gzip *gzip; /* NULL: a plain file */
    wfl_packing packing;
    int64_t packed;  /* bytes of a file of zstd or blosc; else 0 */
    uint8_t *memory; /* its unpacked bytes, after wfl_io_unpack; else NULL */
    int64_t size;    /* of a compressed file: the greatest length that the unpacked bytes can have */
    int64_t pos;     /* the place of wfl_io_read_some, which is for plain files only */
    int code;        /* errno of the first wfl_io_read_some that failed */
} wfl_io_reader;

/* Opens a regular file. Nothing to close on error. */
wf_status wfl_io_open(wf_context *ctx, const char *path, wfl_io_reader *reader);
wf_status wfl_io_open_packed(wf_context *ctx, const char *path, wfl_packing packing, wfl_io_reader *reader);
/* Unpacks a file of zstd or blosc, which must become `bytes` bytes, no more than reader->size. Reading follows. Other
 * files stay as they are. */
wf_status wfl_io_unpack(wfl_io_reader *reader, int64_t bytes);
void wfl_io_close(wfl_io_reader *reader);
/* Returns what messages say before a length that derives from reader->size: "the file holds". */
const char *wfl_io_holds(const wfl_io_reader *reader);
/* Reads up to `bytes` bytes at `offset`; fewer only at the end of the file. */
wf_status wfl_io_read_most(wfl_io_reader *reader, int64_t offset, void *to, size_t bytes, size_t *got);
/* Checks what can be checked only at the end of the file, after all values were read. */
wf_status wfl_io_read_end(wfl_io_reader *reader);
/* Reads `bytes` bytes at `offset`; fewer are an error. */
wf_status wfl_io_read_at(wfl_io_reader *reader, int64_t offset, void *to, size_t bytes);
/* Reads up to `bytes` bytes at reader->pos, which moves; fewer only at the end of the file. Returns their number, or -1
 * on error, with reader->code set and no message yet. */
int64_t wfl_io_read_some(wfl_io_reader *reader, void *to, size_t bytes);
/* Reads a file that is not compressed, of at most `most` bytes, as a new string, which the caller frees. */
wf_status wfl_io_read_text(wf_context *ctx, const char *path, int64_t most, char **text);
/* Reports the first failure of wfl_io_read_some; WF_OK: none has failed. */
wf_status wfl_io_read_status(const wfl_io_reader *reader);

/* The place of samples in a file and in an array: the file's axes, slowest first. */
enum { WFL_NO_AXIS = -1 };
typedef struct wfl_io_layout {
    const wfl_io_type *type;
    bool swap;      /* the byte order differs from the machine's */
    bool odd;       /* U4: lines begin in the high half of a byte */
    int64_t offset; /* of the first sample */
    int rank;
    int64_t extent[WF_MAX_RANK];
    int64_t step[WF_MAX_RANK];   /* in bytes of the file; 0 for the last axis of U4, whose lines start at whole bytes */
    int64_t stride[WF_MAX_RANK]; /* in elements (of complex values: in parts) of the array */
    int axis[WF_MAX_RANK];       /* of the array; WFL_NO_AXIS: parts, or an axis of extent 1 that the array lacks */
} wfl_io_layout;
/* Sets step[], for samples without gaps, from extent[]. */
void wfl_io_layout_dense(wfl_io_layout *layout);
/* Sets rank, extent[], axis[] and step[] for a file whose samples are in C order. Uses `type`. */
void wfl_io_layout_c(wfl_io_layout *layout, const wf_shape *shape);
/* Turns the layout of a whole file into that of the box of `count` elements at `first`, to be read into an array in C
 * order: sets stride[], offset, odd and extent[]. */
void wfl_io_layout_box(wfl_io_layout *layout, const wf_shape *first, const wf_shape *count);
/* Returns the place in the file at which the last sample of a dense layout ends. */
int64_t wfl_io_layout_end(const wfl_io_layout *layout);
wf_status wfl_io_read_samples(wfl_io_reader *reader, const wfl_io_layout *layout, void *to);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct wfl_io_writer {
    wf_context *ctx;
    const char *path; /* as the caller wrote it, for messages */
    char *target;     /* the file that appears, symbolic links resolved */
    char *temp;       /* in the same folder */
    bool durable;     /* the data is flushed to the disk at the end */
    bool named;       /* temp exists in the folder; else the file gets that name at the end */
    bool gzip;        /* wfl_io_finish compresses the file */
    bool exclusive;   /* the file replaces none */
    bool joined;      /* another process makes the file appear; target and temp are NULL */
    int fd;
    int64_t pos, size;
    int code; /* errno of the first failure */
} wfl_io_writer;

/* Opens a temporary file beside `path`. After success wfl_io_finish must follow. Uses meta->durable. */
wf_status wfl_io_create(wf_context *ctx, const char *path, const wf_meta *meta, wfl_io_writer *writer);
/* Gives the temporary file a name, writer->temp, so that other processes can join it. Returns 0 or an errno. */
int wfl_io_name(wfl_io_writer *writer);
/* Opens the temporary file `temp` of another process, to write a part of it; likewise. */
wf_status wfl_io_join(wf_context *ctx, const char *path, const char *temp, const wf_meta *meta, wfl_io_writer *writer);
/* Write or read back at writer->pos, which moves. False on failure, with writer->code set and no message yet. */
bool wfl_io_write(wfl_io_writer *writer, const void *from, size_t bytes);
int64_t wfl_io_read_back(wfl_io_writer *writer, void *to, size_t bytes);
/* Makes the file at least `size` bytes long, with zeros at the end. */
void wfl_io_extend(wfl_io_writer *writer, int64_t size);
/* With status WF_OK makes the file appear; otherwise, or if that fails, removes it. A joined file only gets what was written.
 * Frees the writer in any case. Reports a failed write (writer->code). Returns the final status. */
wf_status wfl_io_finish(wfl_io_writer *writer, wf_status status);
/* Flush the names in a folder to the disk, so that a file that appeared there survives a power failure: of the folder itself,
 * or of the one that has the path. Return 0 or an errno. */
int wfl_io_flush_folder(const char *folder);
int wfl_io_flush_name(const char *path);

/* ---- arrays to be saved ------------------------------------------------------------------------------------------ */

/* An array to be saved. Axes are merged where their strides allow it. A complex array appears as its parts, with a last
 * axis of extent 2. */
typedef struct wfl_io_source {
    wf_context *ctx;
    const char *path;
    wf_dtype dtype, array_dtype;
    wf_shape shape;   /* of the array */
    const char *data; /* element [0, ..., 0] */
    int64_t count;
    int rank; /* of the merged axes, >= 1 */
    int64_t extent[WF_MAX_RANK];
    int64_t step[WF_MAX_RANK]; /* in bytes */
} wfl_io_source;

wf_status wfl_io_source_open(const wf_array *array, const char *path, wfl_io_source *source);
/* Sets what of a source is known without an array: dtype, shape, count. */
wf_status wfl_io_source_describe(wf_context *ctx, const char *path, wf_dtype dtype, const wf_shape *shape,
                                 wfl_io_source *source);
/* Chooses the type to save as: meta->store_as, which must be among the bits of `allowed`; else the native type if it is
 * among those of `defaults`; else `fallback` (DEFAULT: an error). Sets *type, and *rank to the number of axes without
 * that of complex parts. `advice` ends the error's message. */
wf_status wfl_io_choose_type(const wfl_io_source *source, const wf_meta *meta, const char *format, uint32_t allowed,
                             uint32_t defaults, wf_stored fallback, const char *advice, const wfl_io_type **type,
                             int *rank);

/* ---- conversion ------------------------------------------------------------------------------------------------- */

/* Converts elements first, first + 1, ... (C order) of the source to parts of `type`; U4: one byte each. */
void wfl_io_gather(const wfl_io_source *source, int64_t first, int64_t count, const wfl_io_type *type, void *to);
/* Converts `n` elements that lie `step` bytes apart to parts of `type`; U4: one byte each. */
void wfl_io_convert(wf_dtype dtype, const char *from, int64_t step, int64_t n, const wfl_io_type *type, char *to);
/* Stores samples of a file, in the machine's byte order, as array elements `stride` elements apart; U4: one byte each.
 */
void wfl_io_scatter(const wfl_io_type *type, const void *from, int64_t count, void *to, int64_t stride);
/* Pack and unpack 4-bit values; the first is in the low half of a byte. */
void wfl_io_pack4(const uint8_t *from, int64_t count, uint8_t *to);
void wfl_io_unpack4(const uint8_t *from, int64_t count, uint8_t *to);
/* Reverses the bytes of each of `count` elements in place. */
void wfl_io_swap(void *data, int64_t count, size_t bytes);
float wfl_io_f16_to_f32(uint16_t half);
uint16_t wfl_io_f32_to_f16(float value);  /* nearest, ties to even; finite values stay finite */
uint16_t wfl_io_f64_to_f16(double value); /* likewise, rounded once */

/* Converts `n` elements that lie `step` bytes apart to f64, without parts of complex values. */
void wfl_io_load_f64(wf_dtype dtype, const char *from, int64_t step, int64_t n, double *to);

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* Running minimum, maximum, mean and sum of squared deviations of the finite values. */
typedef struct wfl_io_stats {
    int64_t count;
    double min, max, mean, m2;
} wfl_io_stats;
void wfl_io_stats_add(wfl_io_stats *stats, const wfl_io_type *type, const void *values, int64_t count);
/* Statistics of a run of values in the middle of a file. wfl_io_stats_add joins blocks of WFL_STATS_BLOCK values in the
 * order of the file, so the blocks of a run are kept, and its values before and after whole blocks. */
enum { WFL_STATS_BLOCK = 1024 };
typedef struct wfl_io_stats_part {
    int64_t at; /* the number of the next value of the file, and at first of the first one */
    bool begun; /* a block has begun: further values are not of `head` */
    wfl_io_stats *block;
    int64_t n, cap;
    int heads, tails;
    double head[WFL_STATS_BLOCK], tail[WFL_STATS_BLOCK];
} wfl_io_stats_part;
/* Adds the values that come next. False: out of memory. */
bool wfl_io_stats_collect(wfl_io_stats_part *part, const wfl_io_type *type, const void *values, int64_t count);
/* The statistics of all values up to one, and those values of them whose block is not whole. */
typedef struct wfl_io_stats_sum {
    wfl_io_stats stats;
    int64_t values;
    double value[WFL_STATS_BLOCK];
} wfl_io_stats_sum;
void wfl_io_stats_append(wfl_io_stats_sum *sum, const wfl_io_stats_part *part); /* of the values that come next */
void wfl_io_stats_end(wfl_io_stats_sum *sum);                                   /* there are no more values */

/* ---- formats ---------------------------------------------------------------------------------------------------- */

/* The contents of a header. `open` finds meta zeroed; io.c sets meta.format and meta.size afterwards. */
typedef struct wfl_io_image {
    wf_meta meta;
    wf_dtype dtype;
    wf_shape shape;
} wfl_io_image;

/* A file that is read. */
typedef struct wfl_io_input {
    wfl_io_reader reader;
    int64_t group; /* of movies: frames that are added to an image; 0: 1 */
    int factor;    /* of movies: pixels of an image along one of the detector; 0: 1 */
    bool grouped;  /* the format takes care of both */
    int level;     /* of an image in a group of Zarr */
    const struct wfl_io_format *format;
    wfl_io_image image;
    wfl_io_layout layout;      /* of the whole file, for formats without `read` */
    int64_t unit[WF_MAX_RANK]; /* extents of boxes of the array that are unpacked as wholes; 0: there are none */
    void *state;               /* of the format */
} wfl_io_input;

/* A file that is written. */
typedef struct wfl_io_output {
    wfl_io_source what; /* dtype and shape of the whole array; no data */
    wf_meta meta;
    const struct wfl_io_format *format;
    wfl_io_writer writer;
    bool is_open;            /* the writer is */
    uint8_t *buffer;         /* IO_CHUNK bytes */
    wfl_io_layout layout;    /* C order; for formats without `write` */
    wfl_io_stats *stats;     /* of the values stored; NULL: not wanted */
    int64_t next;            /* so many values were stored in order, and are in `stats` */
    const char *join;        /* the temporary file of the process that makes the file appear; NULL: this one does */
    bool shared;             /* several processes write: each part is written once, by one of them */
    const char *folder;      /* of formats whose files are folders: the temporary one, which is the format's */
    wfl_io_stats_part *part; /* in place of `stats`, for the values of a part that is stored in order */
    int steps;               /* of `derive` */
    void *state;             /* of the format */
} wfl_io_output;

typedef struct wfl_io_format {
    wf_format format;
    const char *name;
    const char *suffixes[8];                          /* NULL after the last, if there are fewer */
    bool gzip;                                        /* files may be compressed by gzip as a whole */
    bool (*match)(const uint8_t *head, size_t bytes); /* true if a file that begins like this is of the format */
    /* Reads the header and sets `image` and either `layout` or `state`. After an error `close` is called, too. */
    wf_status (*open)(wfl_io_input *in);
    /* Reads the box of `count` elements at `first` to memory in C order. NULL: wfl_io_read_samples does it. */
    wf_status (*read)(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to);
    void (*close)(wfl_io_input *in); /* frees `state`; NULL: there is none */
    /* Checks dtype and shape, sets `state` and, without `write`, the layout; then calls wfl_io_output_create and may
     * write. After an error `finish` is called, too. NULL: files of the format are only read. */
    wf_status (*create)(wfl_io_output *out);
    /* Stores an array at `first`. NULL: wfl_io_write_box does it. */
    wf_status (*write)(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
    /* Sets the extents of the boxes, along the axes of out->what, that one process stores as wholes if several write; boxes
     * begin at multiples of them. NULL, of a format with `write`: one process writes the file. */
    void (*unit)(const wfl_io_output *out, int64_t *unit);
    /* Makes part `part` of `parts` of what follows from the values that are stored, in step 1, 2, ... of out->steps, if
     * several processes write. All of them have ended the step before. With one process, or NULL, `finish` does it. */
    wf_status (*derive)(wfl_io_output *out, int step, int part, int parts);
    /* With status WF_OK completes the file. Frees `state`. Returns the status. NULL: there is nothing to do. */
    wf_status (*finish)(wfl_io_output *out, wf_status status);
    /* Sets the first *bytes bytes of a file, at most 12 + 65536, that gets `count` more images (elements along the first
     * axis), whose values have the given statistics. NULL: files of the format do not grow. */
    wf_status (*grow)(wfl_io_input *in, int64_t count, const wfl_io_stats *stats, uint8_t *head, size_t *bytes);
} wfl_io_format;
#define IO_HEAD_BYTES 216 /* bytes that `match` gets, if the file is that long */

/* Begins to write a file as `what` and `meta` describe it, or with `join` a part of the file of another process. Nothing to
 * close on error. */
wf_status wfl_io_output_open(const wfl_io_source *what, const wfl_io_format *format, const wf_meta *meta,
                             const char *join, wfl_io_output *out);
/* Lets other processes write parts of the file, too. Sets *temp to what they join. Returns 0 or an errno. */
int wfl_io_output_share(wfl_io_output *out, const char **temp);
/* Opens the writer; for `create`. */
wf_status wfl_io_output_create(wfl_io_output *out);
/* Stores an array at `first` (parts of complex values are an axis). Failed writes are reported by wfl_io_output_close.
 */
wf_status wfl_io_output_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
/* The same for formats without a function for that. */
wf_status wfl_io_write_box(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first);
/* Reads the file back for out->stats, unless all of it was written in order. */
wf_status wfl_io_output_stats(wfl_io_output *out);
/* With status WF_OK makes the file appear, unless another process does. Ends the writer in any case. Returns the final
 * status. */
wf_status wfl_io_output_close(wfl_io_output *out, wf_status status);

/* Returns a new array in C order, and its memory in *data; NULL on error, with a message that names the file. */
wf_array *wfl_io_new_array(wf_context *ctx, const char *path, wf_dtype dtype, wf_shape shape, void **data);

/* What functions with a path and a wf_meta check. */
wf_status wfl_io_check_arguments(wf_context *ctx, const char *path, const wf_meta *meta);
/* Returns the array, retained, or a copy of it in the processor's memory. */
static inline wf_array *wfl_io_on_processor(const wf_array *array)
{
    return wf_array_device(array) >= WF_GPU(0) ? wf_copy_to(array, WF_CPU) : wf_retain((wf_array *)array);
}
/* Checks what functions that save are given; copies meta and chooses the format. */
wf_status wfl_io_check_saving(wf_context *ctx, const char *path, const wf_meta *given, wf_meta *meta,
                              const wfl_io_format **format);
/* Copies the fields that both versions of wf_meta have: a newer one has more at its end. */
void wfl_io_copy_meta(wf_meta *to, size_t to_size, const wf_meta *from, size_t from_size);
/* Opens a file and reads its header. Nothing to close on error. `movie`: its group and factor count; NULL: none. */
wf_status wfl_io_input_open(wf_context *ctx, const char *path, const wf_movie *movie, wfl_io_input *in);
/* The same, of a level of the image in a group of Zarr. */
wf_status wfl_io_input_open_level(wf_context *ctx, const char *path, int level, wfl_io_input *in);
/* Reads a box to memory in C order. */
wf_status wfl_io_input_fill(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to);
void wfl_io_input_close(wfl_io_input *in);
/* Consumes an array in the processor's memory. Returns it on the context's default device; NULL unless `status` is
 * WF_OK. */
wf_array *wfl_io_filled(wf_array *array, wf_status status);
/* Reads a box into a new array on the context's default device; NULL on error. */
wf_array *wfl_io_input_read(wfl_io_input *in, const wf_shape *first, const wf_shape *count);

extern const wfl_io_format wfl_io_mrc, wfl_io_npy, wfl_io_png, wfl_io_tiff, wfl_io_eer, wfl_io_zarr;

/* ---- mapped files ----------------------------------------------------------------------------------------------- */

/* What a mapped file and its array share. */
typedef struct wfl_io_mapping wfl_io_mapping;
/* Return the samples of a file as an array, which is read-only for an input; NULL on error. The caller leaves *mapping,
 * which stays NULL for an array without elements. */
wf_array *wfl_io_map_input(wfl_io_input *in, wfl_io_mapping **mapping);
wf_array *wfl_io_map_output(wfl_io_output *out, wf_dtype dtype, const wf_shape *shape, wfl_io_mapping **mapping);
bool wfl_io_mapping_used(const wfl_io_mapping *mapping); /* the array is not freed */
void wfl_io_mapping_leave(wfl_io_mapping *mapping);      /* NULL: does nothing */

/* ---- movies ----------------------------------------------------------------------------------------------------- */

/* How the frames of a file become images: added in groups, multiplied by a gain. */
typedef struct wfl_movie wfl_movie;
/* Checks what is wanted of an open file. Nothing to close on error. */
wf_status wfl_movie_open(const wfl_io_input *in, const wf_movie *how, wfl_movie **out);
void wfl_movie_close(wfl_movie *movie); /* NULL: does nothing */
/* Changes dtype and shape of the file to those of its images. */
void wfl_movie_describe(const wfl_movie *movie, wf_dtype *dtype, wf_shape *shape);
/* Reads a box of the images to memory in C order. */
wf_status wfl_movie_read(wfl_movie *movie, wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to);
#endif
