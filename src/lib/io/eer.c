/* eer.c - EER files, movies of Falcon cameras, as stacks of counts: electrons are added up in pixels of the detector,
 * or of a half or a quarter of their size, over as many frames as an image has.
 *
 * Source: the documentation of the format by Thermo Fisher Scientific, versions 2 and 3.
 */
#include "eer.h"
#include <stdlib.h>
#include <string.h>

static bool eer_match(const uint8_t *head, size_t bytes)
{
    static const char *const marks[4] = { "II\x2a\0", "MM\0\x2a", "II\x2b\0", "MM\0\x2b" };
    for (int i = 0; i < 4; i++)
        if (bytes >= 8 && memcmp(head, marks[i], 4) == 0)
            return true;
    return false;
}

/* ---- the header ---- */

/* Fails if the frames have more pixels than their bits can stand for, so that a short file takes little memory. */
static wf_status check_length(const wfl_io_reader *r, const wfl_eer_file *f)
{
    double codes = (double)f->code.width * (double)f->code.height / (double)(1 << f->code.skip);
    double needed = (double)f->frames * codes * f->code.skip / 8;
    if (needed <= (double)r->size)
        return WF_OK;
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO,
                       "EER: %lld frames of %lld x %lld pixels: a file of %lld bytes cannot hold that many",
                       (long long)f->frames, (long long)f->code.height, (long long)f->code.width, (long long)r->size);
}

static wf_status eer_open(wfl_io_input *in)
{
    wfl_io_reader *r = &in->reader;
    wfl_eer_file *f = in->state = calloc(1, sizeof *f);
    if (!f)
        return wfl_io_fail_memory(r->ctx, r->path, (int64_t)sizeof *f);
    wf_status status = wfl_eer_directories(r, f);
    if (status == WF_OK)
        status = check_length(r, f);
    if (status != WF_OK)
        return status;
    f->group = in->group ? in->group : 1;
    f->factor = in->factor ? in->factor : 1;
    in->grouped = true;
    int most = f->code.across < f->code.down ? 1 << f->code.across : 1 << f->code.down;
    if (f->factor > most)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_ARG, "movie.factor is %d (the file has %d pixels along one)",
                           f->factor, most);
    if (f->group > f->frames || f->group > UINT16_MAX)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_ARG, "movie.group is %lld (the file has %lld frames; at most 65535)",
                           (long long)f->group, (long long)f->frames);
    const wfl_io_type *type = wfl_io_type_of(f->group <= UINT8_MAX ? WF_STORED_U8 : WF_STORED_U16);
    in->image.dtype = type->dtype;
    in->image.meta.stored = type->stored;
    in->image.meta.is_stack = true;
    in->image.meta.spacing[1] = in->image.meta.spacing[2] = f->pixel / f->factor;
    in->image.shape = WF_SHAPE(f->frames / f->group, f->code.height * f->factor, f->code.width * f->factor);
    return WF_OK;
}

/* ---- decoding ---- */

/* The eight bytes from `at` on as a number, the first byte lowest. */
static inline uint64_t eight_bytes(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* A box of an image, in C order. */
typedef struct box {
    int64_t y, x, height, width; /* in pixels of the image */
    void *to;
    bool wide; /* u16, else u8 */
} box;

static inline void count(const box *b, int64_t y, int64_t x)
{
    y -= b->y;
    x -= b->x;
    if (y < 0 || y >= b->height || x < 0 || x >= b->width)
        return;
    if (b->wide)
        ((uint16_t *)b->to)[y * b->width + x]++;
    else
        ((uint8_t *)b->to)[y * b->width + x]++;
}

static int log2_of(int factor) { return factor < 2 ? 0 : 1 + log2_of(factor / 2); }

/* Adds the electrons of a frame, whose bits are followed by EER_PADDING bytes. Returns false if they go beyond the last
 * pixel. The bits of a frame may end before its last pixel. */
static bool decode(const wfl_eer_code *c, int factor, const uint8_t *bits, int64_t bytes, const box *b)
{
    const int fine = log2_of(factor), places = c->across + c->down;
    const uint64_t none = ((uint64_t)1 << c->skip) - 1, across = ((uint64_t)1 << c->across) - 1,
                   down = ((uint64_t)1 << c->down) - 1;
    /* places count from the middle of a pixel, in two's complement */
    const uint64_t middle_x = (uint64_t)1 << (c->across - 1), middle_y = (uint64_t)1 << (c->down - 1);
    const int64_t pixels = c->width * c->height, end = 8 * bytes, below = b->y + b->height;
    int64_t pixel = 0, row = 0, row_begin = 0;
    for (int64_t at = 0; at + c->skip <= end;) {
        uint64_t code = eight_bytes(bits + at / 8) >> at % 8, skip = code & none;
        pixel += (int64_t)skip;
        if (pixel >= pixels)
            return pixel == pixels;
        if (skip == none) {
            at += c->skip + (c->padded ? places : 0);
            continue;
        }
        if (at + c->skip + places > end)
            return true;
        at += c->skip + places;
        code >>= c->skip;
        while (pixel - row_begin >= c->width) {
            row_begin += c->width;
            row++;
        }
        if (row * factor >= below)
            return true;
        uint64_t x = ((code & across) ^ middle_x) >> (c->across - fine);
        uint64_t y = ((code >> c->across & down) ^ middle_y) >> (c->down - fine);
        count(b, row * factor + (int64_t)y, (pixel - row_begin) * factor + (int64_t)x);
        pixel++;
    }
    return true;
}

/* Returns the most bytes that a frame can need: a code for each pixel, and one for the end. */
static int64_t most_bytes(const wfl_eer_code *c)
{
    return ((c->width * c->height + 1) * (c->skip + c->across + c->down) + 7) / 8;
}

/* Reads the bits of a frame to f->bits, but for bits that no pixel is left for. */
static wf_status read_bits(wfl_io_reader *r, wfl_eer_file *f, int64_t frame, int64_t *bytes)
{
    int64_t first = f->first[frame], end = f->first[frame + 1], total = 0;
    for (int64_t i = first; i < end; i++) {
        if (f->strip[i].bytes > r->size - total)
            return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "EER frame %lld: its strips are longer than the file",
                               (long long)frame);
        total += f->strip[i].bytes;
    }
    int64_t most = most_bytes(&f->code);
    if (total > most)
        total = most;
    if (total + EER_PADDING > f->bits_cap) {
        wf_status status = wfl_io_resize(r->ctx, r->path, &f->bits, total + EER_PADDING, 1);
        if (status != WF_OK)
            return status;
        f->bits_cap = total + EER_PADDING;
    }
    *bytes = 0;
    for (int64_t i = first; i < end && *bytes < total; i++) {
        int64_t part = f->strip[i].bytes < total - *bytes ? f->strip[i].bytes : total - *bytes;
        wf_status status = wfl_io_read_at(r, f->strip[i].offset, f->bits + *bytes, (size_t)part);
        if (status != WF_OK)
            return status;
        *bytes += part;
    }
    memset(f->bits + *bytes, 0, EER_PADDING);
    return WF_OK;
}

static wf_status eer_read(wfl_io_input *in, const wf_shape *first, const wf_shape *shape, void *to)
{
    wfl_eer_file *f = in->state;
    wfl_io_reader *r = &in->reader;
    size_t size = wf_dtype_size(in->image.dtype), image = (size_t)(shape->dim[1] * shape->dim[2]) * size;
    box b = { first->dim[1], first->dim[2], shape->dim[1], shape->dim[2], to, size == 2 };
    memset(to, 0, (size_t)shape->dim[0] * image);
    for (int64_t i = 0; i < shape->dim[0]; i++) {
        for (int64_t k = 0; k < f->group; k++) {
            int64_t bytes = 0, frame = (first->dim[0] + i) * f->group + k;
            wf_status status = read_bits(r, f, frame, &bytes);
            if (status != WF_OK)
                return status;
            if (!decode(&f->code, f->factor, f->bits, bytes, &b))
                return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "EER frame %lld: its electrons go beyond the last pixel",
                                   (long long)frame);
        }
        b.to = (char *)b.to + image;
    }
    return WF_OK;
}

static void eer_close(wfl_io_input *in)
{
    wfl_eer_file *f = in->state;
    if (f) {
        free(f->first);
        free(f->strip);
        free(f->bits);
    }
    free(f);
}

const wfl_io_format wfl_io_eer = { .format = WF_FORMAT_EER,
                                   .name = "EER",
                                   .suffixes = { ".eer" },
                                   .match = eer_match,
                                   .open = eer_open,
                                   .read = eer_read,
                                   .close = eer_close };
