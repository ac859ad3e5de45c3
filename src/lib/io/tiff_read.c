/* tiff_read.c - reads TIFF files into arrays: strips and tiles, several pages, several samples per pixel.
 *
 * All pages are examined before the array is allocated: they must agree, and their size is compared with the length of
 * the file at the best ratio their compression can reach. OME-XML in the description of the first page says which pages
 * are the sections of a volume, and how large pixels are.
 */
#include "tiff.h"
#include "ome_xml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The properties in which all pages must agree. */
typedef struct page {
    uint32_t width, height;
    uint16_t samples, bits, format;
    const wfl_io_type *type;
} page;

typedef struct file_info {
    page first;
    int64_t pages;     /* number of pages, without thumbnails and masks */
    double needed;     /* least length of a file that can hold the pages, in bytes */
    double spacing[3]; /* z, y, x */
    int64_t depth;     /* sections of a volume, which follow each other; 1: the pages are images */
    int64_t described; /* pages, by the description; 0: there is none */
    bool lzw, deflate;
} file_info;

/* The compressions that are read, and the largest ratio of each. LZW: codes of 12 bits for at most 3838 bytes.
 * PackBits: 128 bytes from 2. */
static const struct {
    uint16_t id;
    double ratio;
} compressions[] = { { COMPRESSION_NONE, 1 },
                     { COMPRESSION_LZW, 2600 },
                     { COMPRESSION_DEFLATE, 1032 },
                     { COMPRESSION_ADOBE_DEFLATE, 1032 },
                     { COMPRESSION_PACKBITS, 64 } };
enum { COMPRESSIONS = sizeof compressions / sizeof *compressions };

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

static wf_status bad_field(const wfl_tiff_job *j, int64_t number, const char *field, long long value, const char *must)
{
    return wfl_io_fail(j->ctx, j->path, WF_ERR_UNSUPPORTED, "TIFF page %lld: field %s is %lld (must be %s)",
                       (long long)number, field, value, must);
}

/* Reads the current directory, page `number` (from 1). *ratio becomes the ratio of its compression. */
static wf_status read_page(const wfl_tiff_job *j, int64_t number, page *p, double *ratio)
{
    uint16_t compression = COMPRESSION_NONE, photometric = PHOTOMETRIC_MINISBLACK;
    *p = (page){ .bits = 1, .samples = 1, .format = SAMPLEFORMAT_UINT };
    wfl_tiff.GetField(j->tif, TIFFTAG_IMAGEWIDTH, &p->width);
    wfl_tiff.GetField(j->tif, TIFFTAG_IMAGELENGTH, &p->height);
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_SAMPLESPERPIXEL, &p->samples);
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_BITSPERSAMPLE, &p->bits);
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_SAMPLEFORMAT, &p->format);
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_COMPRESSION, &compression);
    wfl_tiff.GetField(j->tif, TIFFTAG_PHOTOMETRIC, &photometric);
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
    p->type = wfl_io_type_of(stored_of(p->format, p->bits));
    if (!p->type)
        return bad_field(j, number, "BitsPerSample", p->bits,
                         p->format == SAMPLEFORMAT_IEEEFP ? "16, 32 or 64 for floats" : "8, 16, 32 or 64");
    return WF_OK;
}

static wf_status compare_pages(const wfl_tiff_job *j, int64_t number, const page *first, const page *p)
{
    if (p->width == first->width && p->height == first->height && p->samples == first->samples &&
        p->type == first->type)
        return WF_OK;
    return wfl_io_fail(j->ctx, j->path, WF_ERR_UNSUPPORTED,
                       "TIFF page %lld is %u x %u x %u of %s, but the first is %u x %u x %u of %s (height x width x "
                       "samples; pages must agree)",
                       (long long)number, p->height, p->width, p->samples, p->type->name, first->height, first->width,
                       first->samples, first->type->name);
}

/* True unless the directory is a thumbnail or a transparency mask. */
static bool is_page(const wfl_tiff_job *j)
{
    uint32_t kind = 0;
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_SUBFILETYPE, &kind);
    return !(kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK));
}

/* Computes Angstrom per pixel from a resolution in pixels per centimetre, unless the description has them. A resolution in
 * inches is ignored: programs write it by default. */
static void read_spacing(const wfl_tiff_job *j, file_info *info)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;
    if (info->spacing[1] > 0 && info->spacing[2] > 0)
        return;
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_RESOLUTIONUNIT, &unit);
    bool known =
        wfl_tiff.GetField(j->tif, TIFFTAG_XRESOLUTION, &x) && wfl_tiff.GetField(j->tif, TIFFTAG_YRESOLUTION, &y);
    if (!known || unit != RESUNIT_CENTIMETER || !(x > 0 && x < 1e30f && y > 0 && y < 1e30f))
        return;
    info->spacing[1] = 1e8 / (double)y;
    info->spacing[2] = 1e8 / (double)x;
}

/* Takes what the first page says in OME-XML. */
static void read_description(const wfl_tiff_job *j, file_info *info)
{
    const char *text = NULL;
    wfl_ome_pixels ome;
    info->depth = 1;
    if (!wfl_tiff.GetField(j->tif, TIFFTAG_IMAGEDESCRIPTION, &text) || !text ||
        !wfl_ome_xml_read(text, info->first.samples, &ome) || !wfl_io_mul(ome.depth, ome.count, &info->described))
        return;
    memcpy(info->spacing, ome.spacing, sizeof info->spacing);
    info->depth = ome.count > 1 && info->first.samples > 1 ? 1 : ome.depth;
}

/* Reads the next directory, which is number `number`, from 1. */
static wf_status next_directory(wfl_tiff_job *j, int64_t number)
{
    /* libtiff may fail before it forgets the fields of the previous directory. Messages must not report these. */
    if (number > 1) {
        wfl_tiff.SetField(j->tif, TIFFTAG_IMAGEWIDTH, (uint32_t)0);
        wfl_tiff.SetField(j->tif, TIFFTAG_IMAGELENGTH, (uint32_t)0);
    }
    if (wfl_tiff.ReadDirectory(j->tif)) {
        j->text[0] = 0; /* a message about a field that libtiff ignored would not explain a later failure */
        return wfl_io_read_status(j->reader); /* libtiff ignores some fields that it could not read */
    }
    if (j->reader->code)
        return wfl_io_read_status(j->reader);
    if (!j->text[0] && number == 1) /* libtiff gives no message for this */
        return wfl_io_fail(j->ctx, j->path, WF_ERR_IO,
                           "TIFF header: the offset of the first directory (IFD) is 0: there is no image");
    if (!j->text[0])
        return wfl_io_fail(j->ctx, j->path, WF_ERR_IO,
                           "TIFF directory (IFD) %lld: the offset of the next one is that of one before: a loop",
                           (long long)number - 1);
    uint32_t width = 0, height = 0; /* 0 if they were not read */
    uint16_t bits = 1;
    char doing[128];
    wfl_tiff.GetField(j->tif, TIFFTAG_IMAGEWIDTH, &width);
    wfl_tiff.GetField(j->tif, TIFFTAG_IMAGELENGTH, &height);
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_BITSPERSAMPLE, &bits);
    if (width || height)
        snprintf(doing, sizeof doing,
                 "cannot read page %lld (ImageWidth is %u, ImageLength is %u, BitsPerSample is %u)", (long long)number,
                 width, height, bits);
    else
        snprintf(doing, sizeof doing, "cannot read the directory (IFD) of page %lld", (long long)number);
    return wfl_tiff_fail(j, doing);
}

/* Reads the directories of all pages; libtiff refuses directories that form a loop. */
static wf_status examine_pages(wfl_tiff_job *j, file_info *info)
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
                wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_COMPRESSION, &compression);
                info->first = p;
                info->lzw = compression == COMPRESSION_LZW;
                info->deflate = compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE;
                read_description(j, info);
                read_spacing(j, info);
            }
            info->pages++;
            info->needed += (double)p.width * p.height * p.samples * (double)p.type->bytes / ratio;
            if (info->needed > (double)j->reader->size)
                return wfl_io_fail(j->ctx, j->path, WF_ERR_IO,
                                   "TIFF page %lld: ImageWidth x ImageLength is %u x %u: a file of %lld bytes cannot "
                                   "hold that many pixels",
                                   (long long)number, p.width, p.height, (long long)j->reader->size);
        }
        if (wfl_tiff.LastDirectory(j->tif))
            break;
        wf_status status = next_directory(j, number + 1);
        if (status != WF_OK)
            return status;
    }
    if (!info->pages)
        return wfl_io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF: the file holds only thumbnails and masks");
    if (info->described != info->pages)
        info->depth = 1; /* the description is of other pages */
    return WF_OK;
}

static void describe(const file_info *info, wfl_io_image *image)
{
    const page *p = &info->first;
    wf_shape *shape = &image->shape;
    image->dtype = p->type->dtype;
    image->meta.stored = p->type->stored;
    image->meta.lzw = info->lzw;
    image->meta.deflate = info->deflate;
    image->meta.is_stack = info->pages > info->depth;
    memcpy(image->meta.spacing, info->spacing, sizeof info->spacing);
    if (info->pages > info->depth)
        shape->dim[shape->rank++] = info->pages / info->depth;
    if (info->depth > 1)
        shape->dim[shape->rank++] = info->depth;
    shape->dim[shape->rank++] = p->height;
    shape->dim[shape->rank++] = p->width;
    if (p->samples > 1) {
        shape->dim[shape->rank++] = p->samples;
        image->meta.channels = p->samples;
    }
}

/* ---- reading pixels ---- */

/* A box of one page, and the memory that it is read to, in C order. */
typedef struct target {
    int64_t x, y, sample; /* the first */
    int64_t width, height, samples;
    char *to;
} target;

/* A strip or tile: its place in the page, and its contents. */
typedef struct block {
    uint32_t x, y, width, height; /* inside the page */
    uint32_t line;                /* pixels in a line of the block */
    uint16_t plane, samples;      /* samples: of a line; plane: the number of the first sample */
} block;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Stores what the block and the target have in common. */
static void place_block(const page *p, const block *b, const target *t, const char *from)
{
    int64_t size = (int64_t)wf_dtype_size(p->type->dtype), bytes = (int64_t)p->type->bytes;
    int64_t line = (int64_t)b->line * b->samples;
    int64_t y0 = most(b->y, t->y), y1 = least((int64_t)b->y + b->height, t->y + t->height);
    int64_t x0 = most(b->x, t->x), x1 = least((int64_t)b->x + b->width, t->x + t->width);
    int64_t s0 = most(b->plane, t->sample), s1 = least((int64_t)b->plane + b->samples, t->sample + t->samples);
    bool whole = b->samples == t->samples; /* then the samples of a line follow each other in both */
    int64_t n = whole ? (x1 - x0) * b->samples : s1 - s0, stride = 1;
    for (int64_t y = y0; y < y1 && x0 < x1 && s0 < s1; y++)
        for (int64_t x = x0; x < x1; x += whole ? x1 - x0 : 1) {
            int64_t at = (y - b->y) * line + (x - b->x) * b->samples + (s0 - b->plane);
            int64_t place = ((y - t->y) * t->width + (x - t->x)) * t->samples + (s0 - t->sample);
            wfl_io_scatter(p->type, from + at * bytes, n, t->to + place * size, stride);
        }
}

/* Reads a box of the current page. `limit`: bytes of the buffer for one strip or tile. */
static wf_status read_pixels(wfl_tiff_job *j, const page *p, int64_t number, double limit, const target *t)
{
    uint16_t planar = PLANARCONFIG_CONTIG;
    wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_PLANARCONFIG, &planar);
    uint16_t planes = planar == PLANARCONFIG_SEPARATE ? p->samples : 1;
    bool tiled = wfl_tiff.IsTiled(j->tif) != 0;
    uint32_t width = p->width, height = p->height;
    if (tiled) {
        wfl_tiff.GetField(j->tif, TIFFTAG_TILEWIDTH, &width);
        wfl_tiff.GetField(j->tif, TIFFTAG_TILELENGTH, &height);
    } else {
        wfl_tiff.GetFieldDefaulted(j->tif, TIFFTAG_ROWSPERSTRIP, &height);
        if (height > p->height)
            height = p->height;
    }
    block b = { .line = width, .samples = (uint16_t)(p->samples / planes) };
    double bytes = (double)width * height * b.samples * (double)p->type->bytes;
    if (width < 1 || height < 1 || bytes > limit)
        return wfl_io_fail(j->ctx, j->path, WF_ERR_IO, "TIFF page %lld: a %s of %u x %u pixels (must fit the file)",
                           (long long)number, tiled ? "tile" : "strip", width, height);
    void *buffer = malloc((size_t)bytes);
    if (!buffer)
        return wfl_io_fail_memory(j->ctx, j->path, (int64_t)bytes);
    wf_status status = WF_OK;
    for (b.plane = 0; b.plane < planes && status == WF_OK; b.plane++)
        for (int64_t y = t->y / height * height; y < t->y + t->height && status == WF_OK; y += height)
            for (int64_t x = t->x / width * width; x < t->x + t->width && status == WF_OK; x += width) {
                if (planes > 1 && (b.plane < t->sample || b.plane >= t->sample + t->samples))
                    continue;
                b.x = (uint32_t)x;
                b.y = (uint32_t)y;
                b.width = p->width - b.x < width ? p->width - b.x : width;
                b.height = p->height - b.y < height ? p->height - b.y : height;
                uint32_t rows = tiled ? height : b.height; /* a tile is always whole */
                tmsize_t wanted = (tmsize_t)width * rows * b.samples * (tmsize_t)p->type->bytes;
                uint32_t index = tiled ? wfl_tiff.ComputeTile(j->tif, b.x, b.y, 0, b.plane)
                                       : wfl_tiff.ComputeStrip(j->tif, b.y, b.plane);
                if (wfl_tiff.GetStrileOffset(j->tif, index) == 0) { /* libtiff would take the header for samples */
                    status = wfl_io_fail(j->ctx, j->path, WF_ERR_IO,
                                         "TIFF page %lld: field %s is 0, or too short, at %s %u: there is no data",
                                         (long long)number, tiled ? "TileOffsets" : "StripOffsets",
                                         tiled ? "tile" : "strip", index);
                    break;
                }
                tmsize_t got = tiled ? wfl_tiff.ReadEncodedTile(j->tif, index, buffer, wanted)
                                     : wfl_tiff.ReadEncodedStrip(j->tif, index, buffer, wanted);
                if (got != wanted) {
                    char doing[64];
                    snprintf(doing, sizeof doing, "page %lld, row %u", (long long)number, b.y);
                    status = wfl_tiff_fail(j, doing);
                } else {
                    place_block(p, &b, t, buffer);
                }
            }
    free(buffer);
    return status;
}

/* A file that is open: libtiff is at directory `number`, from 1, which is page `page` of the pages that are no
 * thumbnails, from 0, or comes before it. */
typedef struct tiff_file {
    wfl_tiff_job job;
    file_info info;
    int64_t number, page;
} tiff_file;

/* Goes to the given page and checks it again. *ratio becomes the ratio of its compression. */
static wf_status go_to_page(tiff_file *f, int64_t wanted, double *ratio)
{
    wfl_tiff_job *j = &f->job;
    if (f->number < 1 || wanted < f->page) {
        if (wfl_tiff.CurrentDirectory(j->tif) != 0 && !wfl_tiff.SetDirectory(j->tif, 0))
            return wfl_tiff_fail(j, "cannot return to the first page");
        f->number = 1;
        f->page = 0;
    }
    while (f->page < wanted || !is_page(j)) {
        bool counts = is_page(j);
        wf_status status = next_directory(j, f->number + 1);
        if (status != WF_OK) {
            f->number = 0;
            return status;
        }
        f->number++;
        f->page += counts;
    }
    page now;
    wf_status status = read_page(j, f->number, &now, ratio);
    return status == WF_OK ? compare_pages(j, f->number, &f->info.first, &now) : status;
}

wf_status wfl_tiff_open_file(wfl_io_input *in)
{
    tiff_file *f = in->state = calloc(1, sizeof *f);
    wfl_io_reader *r = &in->reader;
    if (!f)
        return wfl_io_fail_memory(r->ctx, r->path, (int64_t)sizeof *f);
    f->job = (wfl_tiff_job){ .reader = r, .ctx = r->ctx, .path = r->path };
    wf_status status =
        wfl_tiff_open(&f->job, "rmh", ((int64_t)16 << 20) + (r->size < INT64_MAX / 8 ? 4 * r->size : r->size));
    if (status == WF_OK)
        status = next_directory(&f->job, 1);
    if (status == WF_OK)
        status = examine_pages(&f->job, &f->info);
    if (status == WF_OK)
        describe(&f->info, &in->image);
    return status;
}

wf_status wfl_tiff_read_box(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to)
{
    tiff_file *f = in->state;
    const page *p = &f->info.first;
    int stacks = f->info.pages > f->info.depth, axis = stacks + (f->info.depth > 1); /* axis: of rows */
    target t = { .y = first->dim[axis], .height = count->dim[axis], .x = first->dim[axis + 1], .to = to };
    t.width = count->dim[axis + 1];
    t.sample = p->samples > 1 ? first->dim[axis + 2] : 0;
    t.samples = p->samples > 1 ? count->dim[axis + 2] : 1;
    int64_t volumes = stacks ? count->dim[0] : 1, sections = f->info.depth > 1 ? count->dim[stacks] : 1;
    int64_t begin = (stacks ? first->dim[0] : 0) * f->info.depth + (f->info.depth > 1 ? first->dim[stacks] : 0);
    f->job.reader->code = 0;
    f->job.text[0] = 0;
    for (int64_t k = 0; k < volumes * sections; k++) {
        double ratio = 0;
        wf_status status = go_to_page(f, begin + k / sections * f->info.depth + k % sections, &ratio);
        if (status == WF_OK)
            status = read_pixels(&f->job, p, f->number, ratio * (double)f->job.reader->size, &t);
        if (status != WF_OK)
            return status;
        t.to += (size_t)(t.width * t.height * t.samples) * wf_dtype_size(p->type->dtype);
    }
    return wfl_io_read_status(f->job.reader);
}

void wfl_tiff_close_file(wfl_io_input *in)
{
    tiff_file *f = in->state;
    if (f)
        wfl_tiff_close(&f->job);
    free(f);
}
