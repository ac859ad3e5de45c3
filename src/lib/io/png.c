/* png.c - PNG images through libpng.
 *
 * libpng is set to give whole bytes: it expands palettes and transparent colours, scales grey of fewer than 8 bits, and
 * gives 16 bits in the machine's order. It skips texts, profiles and whatever else the pixels do not need, since it
 * would allocate as many bytes as such a chunk claims to have, up to 2 GiB. It reports errors through on_error, which
 * calls longjmp. So every function that calls setjmp keeps its state in a struct `job` and changes no local variable
 * afterwards.
 */
#include "foreign.h"
#include "png_api.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deflate cannot expand beyond 1032:1. */
#define MAX_RATIO 1032

static const uint8_t signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };

typedef struct job {
    wfl_io_reader *reader;
    wfl_io_writer *writer;
    png_structp png;
    png_infop info;
    jmp_buf jump;   /* the target of on_error */
    char text[128]; /* libpng's message */
    wfl_io_image *image;
    uint8_t *rows; /* the array's memory */
    size_t row_bytes;
    bool is_written;
    const wfl_io_source *source;
    const wfl_io_type *type;
    uint32_t width, height;
    int channels, passes;
} job;

static bool png_match(const uint8_t *head, size_t bytes) { return bytes >= 8 && memcmp(head, signature, 8) == 0; }

/* ---- libpng's functions ---- */

static struct wfl_png_functions libpng;
static const wfl_foreign_function functions[] = {
#define WFL_FUNCTION(result, name, parameters) { "png_" #name, &libpng.name },
#define WFL_CONSTANT(name, value)
#include "png_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
};
static wfl_foreign library = { .soname = { "libpng16.so.16" },
                               .format = "PNG",
                               .function = functions,
                               .functions = sizeof functions / sizeof *functions };

/* ---- libpng's callbacks ---- */

static _Noreturn void on_error(png_structp png, const char *text)
{
    job *j = libpng.get_error_ptr(png);
    snprintf(j->text, sizeof j->text, "%s", text);
    longjmp(j->jump, 1);
}

static void on_warning(png_structp png, const char *text)
{
    (void)png;
    (void)text;
}

static void on_read(png_structp png, uint8_t *to, size_t bytes)
{
    job *j = libpng.get_io_ptr(png);
    if (wfl_io_read_some(j->reader, to, bytes) != (int64_t)bytes)
        libpng.error(png, j->reader->code ? "cannot read" : "the file ends in the middle of a chunk");
}

static void on_write(png_structp png, uint8_t *from, size_t bytes)
{
    job *j = libpng.get_io_ptr(png);
    if (!wfl_io_write(j->writer, from, bytes))
        libpng.error(png, "cannot write");
}

static void on_flush(png_structp png) { (void)png; }

/* ---- loading ---- */

static wf_status fail_reading(const job *j)
{
    wf_status status = wfl_io_read_status(j->reader);
    return status == WF_OK ? wfl_io_fail(j->reader->ctx, j->reader->path, WF_ERR_IO, "PNG: %s", j->text) : status;
}

static wf_status bad_field(const wfl_io_reader *r, const char *field, long long value, const char *must)
{
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "PNG header field %s is %lld (must be %s)", field, value, must);
}

static bool depth_fits_colour(unsigned depth, unsigned colour)
{
    bool small = depth == 1 || depth == 2 || depth == 4;
    if (depth != 8 && depth != 16 && !small)
        return false;
    if (colour == PNG_COLOR_TYPE_GRAY)
        return true;
    if (colour == PNG_COLOR_TYPE_PALETTE)
        return depth != 16;
    return !small;
}

static int64_t big_endian(const uint8_t *b)
{
    return (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
}

/* Checks the header before libpng does: libpng's messages name no values, and it does not know the file's length. */
static wf_status check_header(wfl_io_reader *r)
{
    uint8_t head[33]; /* signature; length, type, 13 bytes of data and checksum of IHDR */
    if (r->size < (int64_t)sizeof head)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "PNG header is cut: the file has %lld bytes",
                           (long long)r->size);
    wf_status status = wfl_io_read_at(r, 0, head, sizeof head);
    if (status != WF_OK)
        return status;
    if (!png_match(head, 8) || memcmp(head + 8, "\0\0\0\15IHDR", 8) != 0)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "not a PNG file: it does not begin with a PNG header");
    int64_t width = big_endian(head + 16), height = big_endian(head + 20);
    unsigned depth = head[24], colour = head[25];
    if (width < 1 || width > INT32_MAX)
        return bad_field(r, "width", width, "1..2^31-1");
    if (height < 1 || height > INT32_MAX)
        return bad_field(r, "height", height, "1..2^31-1");
    if (colour > 6 || colour == 1 || colour == 5)
        return bad_field(r, "colour type", colour, "0, 2, 3, 4 or 6");
    if (!depth_fits_colour(depth, colour))
        return bad_field(r, "bit depth", depth, "one that fits the colour type");
    if (head[26] != 0)
        return bad_field(r, "compression method", head[26], "0");
    if (head[27] != 0)
        return bad_field(r, "filter method", head[27], "0");
    if (head[28] > 1)
        return bad_field(r, "interlace method", head[28], "0 or 1");
    static const uint8_t channels[7] = { 1, 0, 3, 1, 2, 0, 4 };
    int64_t line = (width * channels[colour] * depth + 7) / 8, bytes;
    if (!wfl_io_mul(line, height, &bytes) || bytes / MAX_RATIO > r->size)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO,
                           "PNG header fields width and height are %lld and %lld: a file of %lld bytes cannot hold "
                           "that many pixels",
                           (long long)width, (long long)height, (long long)r->size);
    return WF_OK;
}

/* Reads up to the image data and sets the transformations. */
static bool read_info(job *j)
{
    if (setjmp(j->jump))
        return false;
    libpng.set_read_fn(j->png, j, on_read);
    libpng.set_user_limits(j->png, 0x7fffffff, 0x7fffffff);
    libpng.set_keep_unknown_chunks(j->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* only IHDR, PLTE, tRNS, IDAT, IEND */
    libpng.read_info(j->png, j->info);
    libpng.set_expand(j->png); /* palette, small grey, transparent colours */
    if (wfl_io_little_endian())
        libpng.set_swap(j->png);
    j->passes = libpng.set_interlace_handling(j->png);
    libpng.read_update_info(j->png, j->info);
    j->width = libpng.get_image_width(j->png, j->info);
    j->height = libpng.get_image_height(j->png, j->info);
    j->channels = libpng.get_channels(j->png, j->info);
    j->row_bytes = libpng.get_rowbytes(j->png, j->info);
    bool deep = libpng.get_bit_depth(j->png, j->info) == 16;
    j->type = wfl_io_type_of(deep ? WF_STORED_U16 : WF_STORED_U8);
    return true;
}

/* Reads straight into the array, whose rows have the form of libpng's. */
static bool read_rows(job *j)
{
    if (setjmp(j->jump))
        return false;
    for (int pass = 0; pass < j->passes; pass++)
        for (uint32_t y = 0; y < j->height; y++)
            libpng.read_row(j->png, j->rows + y * j->row_bytes, NULL);
    libpng.read_end(j->png, NULL);
    return true;
}

static wf_status begin_png(job *j)
{
    wf_status status = check_header(j->reader);
    if (status != WF_OK)
        return status;
    status = wfl_foreign_open(&library, j->reader->ctx, j->reader->path);
    if (status != WF_OK)
        return status;
    j->png = libpng.create_read_struct(PNG_LIBPNG_VER_STRING, j, on_error, on_warning);
    if (j->png)
        j->info = libpng.create_info_struct(j->png);
    if (!j->info)
        return wfl_io_fail_memory(j->reader->ctx, j->reader->path, 0);
    if (!read_info(j))
        return fail_reading(j);
    wfl_io_image *image = j->image;
    image->dtype = j->type->dtype;
    image->meta.stored = j->type->stored;
    image->shape = (wf_shape){ .rank = j->channels > 1 ? 3 : 2, .dim = { j->height, j->width, j->channels } };
    image->meta.channels = j->channels > 1 ? j->channels : 0;
    if (j->channels == 1)
        image->shape.dim[2] = 0;
    size_t expected = (size_t)j->width * (size_t)j->channels * j->type->bytes;
    if (j->row_bytes != expected)
        return wfl_io_fail(j->reader->ctx, j->reader->path, WF_ERR_IO, "PNG: rows have %zu bytes instead of %zu",
                           j->row_bytes, expected);
    return WF_OK;
}

static void end_png(job *j)
{
    if (j->png)
        libpng.destroy_read_struct(&j->png, &j->info, NULL);
}

static wf_status png_open(wfl_io_input *in)
{
    job j = { .reader = &in->reader, .image = &in->image };
    wf_status status = begin_png(&j);
    end_png(&j);
    return status;
}

/* Copies the box of a whole picture. */
static void copy_box(const job *j, const wf_shape *first, const wf_shape *count, const uint8_t *from, uint8_t *to)
{
    bool channels = count->rank == 3;
    size_t part = j->type->bytes, pixel = part * (size_t)j->channels;
    size_t parts = part * (size_t)(channels ? count->dim[2] : 1);
    from += (size_t)first->dim[0] * j->row_bytes + (size_t)first->dim[1] * pixel;
    from += channels ? (size_t)first->dim[2] * part : 0;
    for (int64_t y = 0; y < count->dim[0]; y++, from += j->row_bytes)
        for (int64_t x = 0; x < count->dim[1]; x++, to += parts)
            memcpy(to, from + (size_t)x * pixel, parts);
}

/* Decodes the whole picture, also for a part of it. */
static wf_status png_read(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to)
{
    wfl_io_image image = { 0 };
    job j = { .reader = &in->reader, .image = &image };
    uint8_t *all = NULL;
    in->reader.pos = 0;
    wf_status status = begin_png(&j);
    if (status == WF_OK && memcmp(&image.shape, count, sizeof *count) != 0) {
        size_t bytes = j.row_bytes * (size_t)j.height;
        all = malloc(bytes);
        if (!all)
            status = wfl_io_fail_memory(in->reader.ctx, in->reader.path, (int64_t)bytes);
    }
    j.rows = all ? all : to;
    if (status == WF_OK && !read_rows(&j))
        status = fail_reading(&j);
    if (status == WF_OK && all)
        copy_box(&j, first, count, all, to);
    end_png(&j);
    free(all);
    return status;
}

/* ---- saving ---- */

static bool write_image(job *j)
{
    static const int colours[5] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                    PNG_COLOR_TYPE_RGB_ALPHA };
    if (setjmp(j->jump))
        return false;
    libpng.set_write_fn(j->png, j, on_write, on_flush);
    libpng.set_user_limits(j->png, 0x7fffffff, 0x7fffffff);
    int depth = j->type->stored == WF_STORED_BOOL ? 1 : 8 * (int)j->type->bytes;
    libpng.set_IHDR(j->png, j->info, j->width, j->height, depth, colours[j->channels], PNG_INTERLACE_NONE,
                    PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    libpng.write_info(j->png, j->info);
    if (depth == 1)
        libpng.set_packing(j->png);
    if (depth == 16 && wfl_io_little_endian())
        libpng.set_swap(j->png);
    int64_t samples = (int64_t)j->width * j->channels;
    for (uint32_t y = 0; y < j->height; y++) {
        wfl_io_gather(j->source, (int64_t)y * samples, samples, j->type, j->rows);
        libpng.write_row(j->png, j->rows);
    }
    libpng.write_end(j->png, NULL);
    return true;
}

static wf_status check_shape(const wfl_io_source *source, const wfl_io_type *type, job *j)
{
    const wf_shape *s = &source->shape;
    int64_t channels = s->rank == 3 ? s->dim[2] : 1;
    if ((s->rank != 2 && s->rank != 3) || channels < 1 || channels > 4)
        return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "PNG holds one image, [h,w] or [h,w,c] with c from 1 to 4; this array has rank %d%s "
                           "(`weft view` shows stacks and volumes)",
                           s->rank, s->rank == 3 ? " and another last extent" : "");
    for (int d = 0; d < 2; d++)
        if (s->dim[d] < 1 || s->dim[d] > INT32_MAX)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE, "extent %lld of axis %d (PNG holds 1..2^31-1)",
                               (long long)s->dim[d], d);
    if (s->dim[1] > IO_MAX_ROW / (channels * (int64_t)type->bytes))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED, "rows of %lld pixels are too long for PNG",
                           (long long)s->dim[1]);
    if (type->stored == WF_STORED_BOOL && channels > 1)
        return wfl_io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED,
                           "PNG stores bool as black and white, of one channel, not %d", (int)channels);
    j->width = (uint32_t)s->dim[1];
    j->height = (uint32_t)s->dim[0];
    j->channels = (int)channels;
    return WF_OK;
}

static wf_status png_create(wfl_io_output *out)
{
    const wfl_io_source *what = &out->what;
    job *j = out->state = calloc(1, sizeof *j);
    if (!j)
        return wfl_io_fail_memory(what->ctx, what->path, (int64_t)sizeof *j);
    int rank;
    uint32_t held = IO_BIT(BOOL) | IO_BIT(U8) | IO_BIT(U16);
    wf_status status = wfl_io_choose_type(what, &out->meta, "PNG", held, held, WF_STORED_DEFAULT,
                                          ", only u8, u16 and bool: convert it, or use `weft view`, which stretches "
                                          "the contrast",
                                          &j->type, &rank);
    if (status == WF_OK)
        status = check_shape(what, j->type, j);
    if (status == WF_OK)
        status = wfl_foreign_open(&library, what->ctx, what->path);
    if (status != WF_OK)
        return status;
    j->writer = &out->writer;
    size_t row = (size_t)j->width * (size_t)j->channels * j->type->bytes;
    j->rows = malloc(row);
    j->png = libpng.create_write_struct(PNG_LIBPNG_VER_STRING, j, on_error, on_warning);
    if (j->png)
        j->info = libpng.create_info_struct(j->png);
    return j->rows && j->info ? wfl_io_output_create(out) : wfl_io_fail_memory(what->ctx, what->path, (int64_t)row);
}

static wf_status png_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    job *j = out->state;
    (void)first; /* zeros, of a whole picture */
    if (source->count != out->what.count || j->is_written)
        return wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_UNSUPPORTED,
                           "%lld of %lld values: PNG files are written as a whole, once", (long long)source->count,
                           (long long)out->what.count);
    j->source = source;
    j->is_written = true;
    if (write_image(j) || j->writer->code)
        return WF_OK; /* wfl_io_finish reports a failed write */
    return wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_IO, "PNG: %s", j->text);
}

static wf_status png_finish(wfl_io_output *out, wf_status status)
{
    job *j = out->state;
    if (!j)
        return status;
    if (status == WF_OK && !j->is_written)
        status = wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_ARG, "no picture was written");
    if (j->png)
        libpng.destroy_write_struct(&j->png, &j->info);
    free(j->rows);
    free(j);
    return status;
}

const wfl_io_format wfl_io_png = { .format = WF_FORMAT_PNG,
                                   .name = "PNG",
                                   .suffixes = { ".png" },
                                   .match = png_match,
                                   .open = png_open,
                                   .read = png_read,
                                   .create = png_create,
                                   .write = png_write,
                                   .finish = png_finish };
