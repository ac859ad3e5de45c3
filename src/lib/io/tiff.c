/* tiff.c - TIFF and BigTIFF through libtiff: strips and tiles, several pages, several samples per pixel.
 *
 * libtiff reads and writes through our bounded reader and atomic writer. Its messages are kept (the first one) instead
 * of printed. All pages are examined before the array is allocated: they must agree, and their size is compared with
 * the length of the file at the best ratio their compression can reach. Needs libtiff 4.5 (error handlers and memory
 * limits per file).
 */
#include "foreign.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

typedef struct job {
    wf__io_reader *reader; /* or */
    wf__io_writer *writer;
    wf_context *ctx;
    const char *path;
    TIFF *tif;
    char text[192]; /* libtiff's first message */
} job;

/* What pages must agree in. */
typedef struct page {
    uint32_t width, height;
    uint16_t samples, bits, format;
    const wf__io_type *type;
} page;

typedef struct file_info {
    page first;
    int64_t pages;     /* without thumbnails and masks */
    double needed;     /* bytes the file must have at least to hold them */
    double spacing[2]; /* y, x */
    bool lzw, deflate;
} file_info;

/* The compressions that are read, and bytes that come out of one byte at most. LZW: a table of 4096 strings, the
 * longest of 3838 bytes, in codes of 12 bits. PackBits: 128 from 2. */
static const struct {
    uint16_t id;
    double ratio;
} compressions[] = { { COMPRESSION_NONE, 1 },
                     { COMPRESSION_LZW, 2600 },
                     { COMPRESSION_DEFLATE, 1032 },
                     { COMPRESSION_ADOBE_DEFLATE, 1032 },
                     { COMPRESSION_PACKBITS, 64 } };
enum { COMPRESSIONS = sizeof compressions / sizeof *compressions };

static bool tiff_match(const uint8_t *head, size_t bytes)
{
    static const char *const marks[4] = { "II\x2a\0", "MM\0\x2a", "II\x2b\0", "MM\0\x2b" };
    for (int i = 0; i < 4; i++)
        if (bytes >= 8 && memcmp(head, marks[i], 4) == 0)
            return true;
    return false;
}

/* ---- libtiff's functions ---- */

/* clang-format off */
#define FUNCTIONS(F) \
    F(ClientOpenExt) F(Close) F(ComputeStrip) F(ComputeTile) F(CurrentDirectory) F(GetField) \
    F(GetFieldDefaulted) F(IsTiled) F(LastDirectory) F(OpenOptionsAlloc) F(OpenOptionsFree) \
    F(OpenOptionsSetErrorHandlerExtR) F(OpenOptionsSetMaxSingleMemAlloc) F(OpenOptionsSetWarningHandlerExtR) \
    F(ReadDirectory) F(ReadEncodedStrip) F(ReadEncodedTile) F(SetDirectory) F(SetField) F(WriteDirectory) \
    F(WriteEncodedStrip)
/* clang-format on */
static struct {
#define F(name) __typeof__(TIFF##name) *name;
    FUNCTIONS(F)
#undef F
} libtiff;
static const wf__foreign_function functions[] = {
#define F(name) { "TIFF" #name, &libtiff.name },
    FUNCTIONS(F)
#undef F
};
static wf__foreign library = { .soname = WEFT_TIFF_SONAME,
                               .format = "TIFF",
                               .function = functions,
                               .functions = sizeof functions / sizeof *functions };

/* ---- libtiff's callbacks ---- */

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t bytes)
{
    job *j = handle;
    if (bytes < 0)
        return -1;
    return (tmsize_t)(j->reader ? wf__io_read_some(j->reader, to, (size_t)bytes)
                                : wf__io_read_back(j->writer, to, (size_t)bytes));
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t bytes)
{
    job *j = handle;
    if (!j->writer || bytes < 0)
        return -1;
    return wf__io_write(j->writer, from, (size_t)bytes) ? bytes : -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    job *j = handle;
    int64_t *pos = j->reader ? &j->reader->pos : &j->writer->pos;
    int64_t size = j->reader ? j->reader->size : j->writer->size;
    uint64_t base = whence == SEEK_CUR ? (uint64_t)*pos : whence == SEEK_END ? (uint64_t)size : 0;
    uint64_t target = base + offset; /* negative offsets wrap */
    if (target > (uint64_t)INT64_MAX)
        return (toff_t)-1;
    *pos = (int64_t)target;
    return target;
}

static toff_t on_size(thandle_t handle)
{
    job *j = handle;
    return (toff_t)(j->reader ? j->reader->size : j->writer->size);
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static int on_error(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    job *j = user;
    (void)tif;
    (void)module;
    if (!j->text[0])
        vsnprintf(j->text, sizeof j->text, format, args);
    return 1; /* handled: nothing is printed */
}

static int on_warning(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    (void)tif;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static wf_status fail_libtiff(const job *j, const char *doing)
{
    if (j->writer && j->writer->code)
        return WF_ERR_IO; /* wf__io_finish has a better message */
    const char *text = j->text[0] ? j->text : "unknown error";
    size_t n = strlen(j->path);
    if (strncmp(text, j->path, n) == 0 && text[n] == ':')
        text += n + 1 + (text[n + 1] == ' '); /* some of libtiff's messages name the file, as ours do */
    return wf__io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF: %s: %s", doing, text);
}

/* `limit`: of a single allocation inside libtiff. */
static wf_status open_tiff(job *j, const char *mode, int64_t limit)
{
    wf_status status = wf__foreign_open(&library, j->ctx, j->path);
    if (status != WF_OK)
        return status;
    TIFFOpenOptions *options = libtiff.OpenOptionsAlloc();
    if (!options)
        return wf__io_fail_memory(j->ctx, j->path, 0);
    libtiff.OpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)limit);
    libtiff.OpenOptionsSetErrorHandlerExtR(options, on_error, j);
    libtiff.OpenOptionsSetWarningHandlerExtR(options, on_warning, j);
    j->tif =
        libtiff.ClientOpenExt(j->path, mode, j, on_read, on_write, on_seek, on_close, on_size, NULL, NULL, options);
    libtiff.OpenOptionsFree(options);
    return j->tif ? WF_OK : fail_libtiff(j, "cannot open");
}

/* ---- examining pages ---- */

static wf_stored stored_of(uint16_t format, uint16_t bits)
{
    static const wf_stored unsigned_types[4] = { WF_STORED_U8, WF_STORED_U16, WF_STORED_U32, WF_STORED_U64 };
    static const wf_stored signed_types[4] = { WF_STORED_I8, WF_STORED_I16, WF_STORED_I32, WF_STORED_I64 };
    static const wf_stored float_types[4] = { WF_STORED_DEFAULT, WF_STORED_F16, WF_STORED_F32, WF_STORED_F64 };
    int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    if (size < 0)
        return WF_STORED_DEFAULT;
    return format == SAMPLEFORMAT_INT      ? signed_types[size]
           : format == SAMPLEFORMAT_IEEEFP ? float_types[size]
                                           : unsigned_types[size];
}

static wf_status bad_field(const job *j, int64_t number, const char *field, long long value, const char *must)
{
    return wf__io_fail(j->ctx, j->path, WF_ERR_UNSUPPORTED, "TIFF page %lld: field %s is %lld (must be %s)",
                       (long long)number, field, value, must);
}

/* The current directory; `number` from 1. *ratio is that of its compression. */
static wf_status read_page(const job *j, int64_t number, page *p, double *ratio)
{
    uint16_t compression = COMPRESSION_NONE, photometric = PHOTOMETRIC_MINISBLACK;
    *p = (page){ .bits = 1, .samples = 1, .format = SAMPLEFORMAT_UINT };
    libtiff.GetField(j->tif, TIFFTAG_IMAGEWIDTH, &p->width);
    libtiff.GetField(j->tif, TIFFTAG_IMAGELENGTH, &p->height);
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_SAMPLESPERPIXEL, &p->samples);
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_BITSPERSAMPLE, &p->bits);
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_SAMPLEFORMAT, &p->format);
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_COMPRESSION, &compression);
    libtiff.GetField(j->tif, TIFFTAG_PHOTOMETRIC, &photometric);
    if (p->width < 1 || p->width > INT32_MAX)
        return bad_field(j, number, "ImageWidth", p->width, "1..2^31-1");
    if (p->height < 1 || p->height > INT32_MAX)
        return bad_field(j, number, "ImageLength", p->height, "1..2^31-1");
    if (p->samples < 1)
        return bad_field(j, number, "SamplesPerPixel", p->samples, "at least 1");
    *ratio = 0;
    for (int i = 0; i < COMPRESSIONS; i++)
        if (compressions[i].id == compression)
            *ratio = compressions[i].ratio;
    if (*ratio < 1)
        return bad_field(j, number, "Compression", compression,
                         "1, 5, 8, 32946 or 32773: none, LZW, deflate, PackBits");
    if (photometric == PHOTOMETRIC_PALETTE || photometric == PHOTOMETRIC_YCBCR)
        return bad_field(j, number, "PhotometricInterpretation", photometric, "grey or RGB, not a palette or YCbCr");
    if (p->format == SAMPLEFORMAT_VOID)
        p->format = SAMPLEFORMAT_UINT;
    if (p->format < SAMPLEFORMAT_UINT || p->format > SAMPLEFORMAT_IEEEFP)
        return bad_field(j, number, "SampleFormat", p->format, "1, 2 or 3: unsigned, signed, float");
    p->type = wf__io_type_of(stored_of(p->format, p->bits));
    if (!p->type)
        return bad_field(j, number, "BitsPerSample", p->bits,
                         p->format == SAMPLEFORMAT_IEEEFP ? "16, 32 or 64 for floats" : "8, 16, 32 or 64");
    return WF_OK;
}

static wf_status compare_pages(const job *j, int64_t number, const page *first, const page *p)
{
    if (p->width == first->width && p->height == first->height && p->samples == first->samples &&
        p->type == first->type)
        return WF_OK;
    return wf__io_fail(j->ctx, j->path, WF_ERR_UNSUPPORTED,
                       "TIFF page %lld is %u x %u x %u of %s, but the first is %u x %u x %u of %s (height x width x "
                       "samples; pages must agree)",
                       (long long)number, p->height, p->width, p->samples, p->type->name, first->height, first->width,
                       first->samples, first->type->name);
}

/* Thumbnails and transparency masks are no pages. */
static bool is_page(const job *j)
{
    uint32_t kind = 0;
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_SUBFILETYPE, &kind);
    return !(kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK));
}

/* Angstrom per pixel from resolutions in pixels per centimetre. Inches are what programs write without knowing. */
static void read_spacing(const job *j, file_info *info)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    bool known = libtiff.GetField(j->tif, TIFFTAG_XRESOLUTION, &x) && libtiff.GetField(j->tif, TIFFTAG_YRESOLUTION, &y);
    if (!known || unit != RESUNIT_CENTIMETER || !(x > 0 && x < 1e30f && y > 0 && y < 1e30f))
        return;
    info->spacing[0] = 1e8 / (double)y;
    info->spacing[1] = 1e8 / (double)x;
}

/* Goes to directory `number`, the next one; from 1, after opening. */
static wf_status next_directory(const job *j, int64_t number)
{
    if (libtiff.ReadDirectory(j->tif))
        return WF_OK;
    if (!j->text[0] && number == 1) /* what libtiff finds too plain to explain */
        return wf__io_fail(j->ctx, j->path, WF_ERR_IO,
                           "TIFF header: the offset of the first directory (IFD) is 0: there is no image");
    if (!j->text[0])
        return wf__io_fail(j->ctx, j->path, WF_ERR_IO,
                           "TIFF directory (IFD) %lld: the offset of the next one is that of one before: a loop",
                           (long long)number - 1);
    uint32_t width = 0, height = 0; /* as far as they were read */
    uint16_t bits = 1;
    char doing[128];
    libtiff.GetField(j->tif, TIFFTAG_IMAGEWIDTH, &width);
    libtiff.GetField(j->tif, TIFFTAG_IMAGELENGTH, &height);
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_BITSPERSAMPLE, &bits);
    snprintf(doing, sizeof doing, "cannot read a page (ImageWidth is %u, ImageLength is %u, BitsPerSample is %u)",
             width, height, bits);
    return fail_libtiff(j, doing);
}

/* All pages; libtiff itself refuses directories that form a loop. */
static wf_status examine(job *j, file_info *info)
{
    *info = (file_info){ 0 };
    for (int64_t number = 1;; number++) {
        if (is_page(j)) {
            page p;
            double ratio;
            wf_status status = read_page(j, number, &p, &ratio);
            if (status == WF_OK && info->pages)
                status = compare_pages(j, number, &info->first, &p);
            if (status != WF_OK)
                return status;
            if (!info->pages) {
                uint16_t compression = COMPRESSION_NONE;
                libtiff.GetFieldDefaulted(j->tif, TIFFTAG_COMPRESSION, &compression);
                info->first = p;
                info->lzw = compression == COMPRESSION_LZW;
                info->deflate = compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE;
                read_spacing(j, info);
            }
            info->pages++;
            info->needed += (double)p.width * p.height * p.samples * (double)p.type->bytes / ratio;
            if (info->needed > (double)j->reader->size)
                return wf__io_fail(j->ctx, j->path, WF_ERR_IO,
                                   "TIFF page %lld: ImageWidth x ImageLength is %u x %u: a file of %lld bytes cannot "
                                   "hold that many pixels",
                                   (long long)number, p.width, p.height, (long long)j->reader->size);
        }
        if (libtiff.LastDirectory(j->tif))
            break;
        wf_status status = next_directory(j, number + 1);
        if (status != WF_OK)
            return status;
    }
    if (!info->pages)
        return wf__io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF: the file holds only thumbnails and masks");
    return WF_OK;
}

static void describe(const file_info *info, wf__io_image *image)
{
    const page *p = &info->first;
    wf_shape *shape = &image->shape;
    image->dtype = p->type->dtype;
    image->meta.stored = p->type->stored;
    image->meta.lzw = info->lzw;
    image->meta.deflate = info->deflate;
    image->meta.is_stack = info->pages > 1;
    image->meta.spacing[1] = info->spacing[0];
    image->meta.spacing[2] = info->spacing[1];
    if (info->pages > 1)
        shape->dim[shape->rank++] = info->pages;
    shape->dim[shape->rank++] = p->height;
    shape->dim[shape->rank++] = p->width;
    if (p->samples > 1)
        shape->dim[shape->rank++] = p->samples;
}

/* ---- reading pixels ---- */

/* A strip or tile: where it lies in the page, and what it holds. */
typedef struct block {
    uint32_t x, y, width, height; /* inside the page */
    uint32_t line;                /* pixels in a line of the block */
    uint16_t plane, samples;      /* of a line; plane: the first of them */
} block;

static void place_block(const page *p, const block *b, const char *from, char *to)
{
    int64_t size = (int64_t)wf_dtype_size(p->type->dtype), stride = b->samples == p->samples ? 1 : p->samples;
    int64_t line = (int64_t)b->line * b->samples * (int64_t)p->type->bytes;
    for (uint32_t row = 0; row < b->height; row++) {
        int64_t place = (((int64_t)b->y + row) * p->width + b->x) * p->samples + b->plane;
        wf__io_scatter(p->type, from + row * line, (int64_t)b->width * b->samples, to + place * size, stride);
    }
}

/* The current page into memory of [height, width, samples]. `limit`: of the buffer for one strip or tile. */
static wf_status read_pixels(job *j, const page *p, int64_t number, double limit, char *to)
{
    uint16_t planar = PLANARCONFIG_CONTIG;
    libtiff.GetFieldDefaulted(j->tif, TIFFTAG_PLANARCONFIG, &planar);
    uint16_t planes = planar == PLANARCONFIG_SEPARATE ? p->samples : 1;
    bool tiled = libtiff.IsTiled(j->tif) != 0;
    uint32_t width = p->width, height = p->height;
    if (tiled) {
        libtiff.GetField(j->tif, TIFFTAG_TILEWIDTH, &width);
        libtiff.GetField(j->tif, TIFFTAG_TILELENGTH, &height);
    } else {
        libtiff.GetFieldDefaulted(j->tif, TIFFTAG_ROWSPERSTRIP, &height);
        if (height > p->height)
            height = p->height;
    }
    block b = { .line = width, .samples = (uint16_t)(p->samples / planes) };
    double bytes = (double)width * height * b.samples * (double)p->type->bytes;
    if (width < 1 || height < 1 || bytes > limit)
        return wf__io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF page %lld: a %s of %u x %u pixels (must fit the file)",
                           (long long)number, tiled ? "tile" : "strip", width, height);
    void *buffer = malloc((size_t)bytes);
    if (!buffer)
        return wf__io_fail_memory(j->ctx, j->path, (int64_t)bytes);
    wf_status status = WF_OK;
    for (b.plane = 0; b.plane < planes && status == WF_OK; b.plane++)
        for (uint64_t y = 0; y < p->height && status == WF_OK; y += height)
            for (uint64_t x = 0; x < p->width && status == WF_OK; x += width) {
                b.x = (uint32_t)x;
                b.y = (uint32_t)y;
                b.width = p->width - b.x < width ? p->width - b.x : width;
                b.height = p->height - b.y < height ? p->height - b.y : height;
                uint32_t rows = tiled ? height : b.height; /* a tile is always whole */
                tmsize_t wanted = (tmsize_t)width * rows * b.samples * (tmsize_t)p->type->bytes;
                tmsize_t got =
                    tiled
                        ? libtiff.ReadEncodedTile(j->tif, libtiff.ComputeTile(j->tif, b.x, b.y, 0, b.plane), buffer,
                                                  wanted)
                        : libtiff.ReadEncodedStrip(j->tif, libtiff.ComputeStrip(j->tif, b.y, b.plane), buffer, wanted);
                if (got != wanted) {
                    char doing[64];
                    snprintf(doing, sizeof doing, "page %lld, row %u", (long long)number, b.y);
                    status = fail_libtiff(j, doing);
                } else {
                    place_block(p, &b, buffer, to);
                }
            }
    free(buffer);
    return status;
}

static wf_status read_all(job *j, const file_info *info, char *to)
{
    const page *p = &info->first;
    size_t bytes = (size_t)p->width * p->height * p->samples * wf_dtype_size(p->type->dtype);
    if (libtiff.CurrentDirectory(j->tif) != 0 && !libtiff.SetDirectory(j->tif, 0))
        return fail_libtiff(j, "cannot return to the first page");
    int64_t number = 1;
    for (int64_t done = 0; done < info->pages; number++) {
        if (is_page(j)) {
            page now;
            double ratio;
            wf_status status = read_page(j, number, &now, &ratio);
            if (status == WF_OK)
                status = compare_pages(j, number, p, &now);
            if (status == WF_OK)
                status = read_pixels(j, p, number, ratio * (double)j->reader->size, to);
            if (status != WF_OK)
                return status;
            to += bytes;
            done++;
        }
        wf_status status = done < info->pages ? next_directory(j, number + 1) : WF_OK;
        if (status != WF_OK)
            return status;
    }
    return WF_OK;
}

static wf_status begin(job *j, wf__io_reader *r, wf__io_image *image, file_info *info)
{
    *j = (job){ .reader = r, .ctx = r->ctx, .path = r->path };
    wf_status status = open_tiff(j, "rmh", ((int64_t)16 << 20) + (r->size < INT64_MAX / 8 ? 4 * r->size : r->size));
    if (status == WF_OK)
        status = next_directory(j, 1);
    if (status == WF_OK)
        status = examine(j, info);
    if (status == WF_OK)
        describe(info, image);
    return status;
}

static wf_status tiff_probe(wf__io_reader *r, wf__io_image *image)
{
    job j;
    file_info info;
    wf_status status = begin(&j, r, image, &info);
    if (j.tif)
        libtiff.Close(j.tif);
    return status;
}

static wf_array *tiff_load(wf__io_reader *r, wf__io_image *image)
{
    job j;
    file_info info;
    void *data;
    wf_array *array = NULL;
    if (begin(&j, r, image, &info) == WF_OK)
        array = wf__io_new_array(r, image, &data);
    if (array && read_all(&j, &info, data) != WF_OK) {
        wf_release(array);
        array = NULL;
    }
    if (j.tif)
        libtiff.Close(j.tif);
    return array;
}

/* ---- saving ---- */

typedef struct pages {
    int64_t count;
    uint32_t height, width;
    uint16_t samples;
    const wf__io_type *type;
} pages;

static wf_status shape_to_pages(const wf__io_source *source, const wf_meta *meta, pages *p)
{
    const wf_shape *s = &source->shape;
    int64_t last = s->rank ? s->dim[s->rank - 1] : 0;
    bool channels = s->rank >= 3 && last >= 2 && last <= 4 && (s->rank == 4 || !meta->is_stack);
    if (s->rank < 2 || s->rank > 4 || (s->rank == 4 && !channels))
        return wf__io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "TIFF holds pages, [h,w], [n,h,w] or [n,h,w,c] with c from 2 to 4; this array has rank %d%s",
                           s->rank, s->rank == 4 ? " and another last extent" : "");
    int h = s->rank - 2 - channels;
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] < 1 || s->dim[d] > INT32_MAX)
            return wf__io_fail(source->ctx, source->path, WF_ERR_SHAPE, "extent %lld of axis %d (TIFF holds 1..2^31-1)",
                               (long long)s->dim[d], d);
    p->count = h > 0 ? s->dim[0] : 1;
    p->height = (uint32_t)s->dim[h];
    p->width = (uint32_t)s->dim[h + 1];
    p->samples = (uint16_t)(channels ? last : 1);
    if ((int64_t)p->width > IO_MAX_ROW / (p->samples * (int64_t)p->type->bytes))
        return wf__io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED, "rows of %u pixels are too long for TIFF",
                           p->width);
    return WF_OK;
}

static void set_page_fields(TIFF *tif, const pages *p, const wf_meta *meta, int64_t number, uint32_t strip_rows)
{
    wf_dtype dtype = p->type->dtype;
    bool is_float = dtype == WF_F16 || dtype == WF_F32 || dtype == WF_F64;
    bool is_signed = dtype == WF_I8 || dtype == WF_I16 || dtype == WF_I32 || dtype == WF_I64;
    libtiff.SetField(tif, TIFFTAG_IMAGEWIDTH, p->width);
    libtiff.SetField(tif, TIFFTAG_IMAGELENGTH, p->height);
    libtiff.SetField(tif, TIFFTAG_BITSPERSAMPLE, (int)(8 * p->type->bytes));
    libtiff.SetField(tif, TIFFTAG_SAMPLESPERPIXEL, (int)p->samples);
    libtiff.SetField(tif, TIFFTAG_SAMPLEFORMAT,
                     is_float    ? SAMPLEFORMAT_IEEEFP
                     : is_signed ? SAMPLEFORMAT_INT
                                 : SAMPLEFORMAT_UINT);
    libtiff.SetField(tif, TIFFTAG_PHOTOMETRIC, p->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    libtiff.SetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    libtiff.SetField(tif, TIFFTAG_ROWSPERSTRIP, strip_rows);
    if (p->samples == 2 || p->samples == 4) {
        uint16_t extra = EXTRASAMPLE_UNASSALPHA;
        libtiff.SetField(tif, TIFFTAG_EXTRASAMPLES, 1, &extra);
    }
    libtiff.SetField(tif, TIFFTAG_COMPRESSION,
                     meta->deflate ? COMPRESSION_ADOBE_DEFLATE
                     : meta->lzw   ? COMPRESSION_LZW
                                   : COMPRESSION_NONE);
    /* Differences of neighbours compress better; for floats few other programs could undo it. */
    if ((meta->deflate || meta->lzw) && !is_float)
        libtiff.SetField(tif, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    if (p->count > 1) {
        libtiff.SetField(tif, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        if (p->count <= UINT16_MAX)
            libtiff.SetField(tif, TIFFTAG_PAGENUMBER, (int)number, (int)p->count);
    }
    if (meta->spacing[1] > 0 && meta->spacing[2] > 0) {
        libtiff.SetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
        libtiff.SetField(tif, TIFFTAG_XRESOLUTION, 1e8 / meta->spacing[2]);
        libtiff.SetField(tif, TIFFTAG_YRESOLUTION, 1e8 / meta->spacing[1]);
    }
    char software[64];
    snprintf(software, sizeof software, "Weft %s", wf_version());
    libtiff.SetField(tif, TIFFTAG_SOFTWARE, software);
}

static wf_status write_pages(job *j, const wf__io_source *source, const pages *p, const wf_meta *meta, void *buffer,
                             uint32_t strip_rows)
{
    int64_t row = (int64_t)p->width * p->samples;
    for (int64_t n = 0; n < p->count; n++) {
        set_page_fields(j->tif, p, meta, n, strip_rows);
        for (uint32_t y = 0, strip = 0; y < p->height; y += strip_rows, strip++) {
            uint32_t rows = p->height - y < strip_rows ? p->height - y : strip_rows;
            wf__io_gather(source, (n * p->height + y) * row, rows * row, p->type, buffer);
            if (libtiff.WriteEncodedStrip(j->tif, strip, buffer, (tmsize_t)(rows * row * (int64_t)p->type->bytes)) < 0)
                return WF_ERR_IO;
        }
        if (!libtiff.WriteDirectory(j->tif))
            return WF_ERR_IO;
    }
    return WF_OK;
}

/* Offsets in a TIFF have 32 bits. Compression may fail to compress: LZW then grows by up to a half. */
static bool needs_bigtiff(const pages *p, const wf_meta *meta, int64_t strip_rows)
{
    double page_bytes = (double)p->height * p->width * p->samples * (double)p->type->bytes;
    double directory = 1024 + 16.0 * ((double)p->height / (double)strip_rows + 1);
    return (double)p->count * (page_bytes * (meta->lzw || meta->deflate ? 1.5 : 1.0) + directory) > 4.0e9;
}

static wf_status tiff_save(const wf__io_source *source, const wf_meta *meta)
{
    pages p = { 0 };
    int rank;
    uint32_t held = IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) | IO_BIT(U32) | IO_BIT(I64) |
                    IO_BIT(U64) | IO_BIT(F16) | IO_BIT(F32) | IO_BIT(F64);
    wf_status status =
        wf__io_choose_type(source, meta, "TIFF", held, held, source->dtype == WF_BF16 ? WF_STORED_F32 : WF_STORED_U8,
                           " (it stores i8 to u64, f16, f32, f64)", &p.type, &rank);
    if (status == WF_OK)
        status = shape_to_pages(source, meta, &p);
    if (status != WF_OK)
        return status;

    int64_t row_bytes = (int64_t)p.width * p.samples * (int64_t)p.type->bytes;
    int64_t strip_rows = (int64_t)(IO_CHUNK / 4) / row_bytes;
    strip_rows = strip_rows < 1 ? 1 : strip_rows > p.height ? p.height : strip_rows;
    void *buffer = malloc((size_t)(strip_rows * row_bytes));
    if (!buffer)
        return wf__io_fail_memory(source->ctx, source->path, strip_rows * row_bytes);
    wf__io_writer writer;
    status = wf__io_create(source->ctx, source->path, meta, &writer);
    if (status == WF_OK) {
        job j = { .writer = &writer, .ctx = source->ctx, .path = source->path };
        status = open_tiff(&j, needs_bigtiff(&p, meta, strip_rows) ? "w8" : "w", 0);
        if (status == WF_OK)
            status = write_pages(&j, source, &p, meta, buffer, (uint32_t)strip_rows);
        if (status != WF_OK)
            fail_libtiff(&j, "cannot write");
        if (j.tif)
            libtiff.Close(j.tif);
        status = wf__io_finish(&writer, status);
    }
    free(buffer);
    return status;
}

const wf__io_format wf__io_tiff = { .format = WF_TIFF,
                                    .name = "TIFF",
                                    .suffixes = { ".tif", ".tiff" },
                                    .match = tiff_match,
                                    .probe = tiff_probe,
                                    .load = tiff_load,
                                    .save = tiff_save };
