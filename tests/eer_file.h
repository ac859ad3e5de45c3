/* eer_file.h - writes EER files for tests: an encoder by the definition of the format, and directories of TIFF and
 * BigTIFF in either byte order. */
#ifndef WEFT_TEST_EER_FILE_H
#define WEFT_TEST_EER_FILE_H
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An electron: the pixel of the detector, and the place in it from 0, in parts of a pixel. Those of a frame are in the
 * order of their pixels, one for each at most. */
typedef struct electron {
    int y, x, part_y, part_x;
} electron;

typedef struct eer_writer {
    int height, width, compression; /* of compression 65002 also the following */
    int skip, across, down;
    int big, swap, strips; /* BigTIFF; the byte order is not this machine's (little-endian); strips of a frame */
    uint8_t *bytes;
    size_t used, cap;
    size_t link; /* where the place of the next directory is written */
} eer_writer;

static void eer_put(eer_writer *w, const void *from, size_t n)
{
    if (w->used + n > w->cap) {
        w->cap = 2 * (w->used + n);
        w->bytes = realloc(w->bytes, w->cap);
        assert(w->bytes);
    }
    memcpy(w->bytes + w->used, from, n);
    w->used += n;
}

static void eer_number(eer_writer *w, uint64_t value, int size)
{
    uint8_t b[8];
    for (int i = 0; i < size; i++)
        b[w->swap ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
    eer_put(w, b, (size_t)size);
}

static void eer_number_at(eer_writer *w, size_t at, uint64_t value, int size)
{
    size_t used = w->used;
    w->used = at;
    eer_number(w, value, size);
    w->used = used;
}

static inline void eer_begin(eer_writer *w)
{
    eer_put(w, w->swap ? "MM" : "II", 2);
    eer_number(w, w->big ? 43 : 42, 2);
    if (w->big) {
        eer_number(w, 8, 2);
        eer_number(w, 0, 2);
    }
    w->link = w->used;
    eer_number(w, 0, w->big ? 8 : 4);
}

/* A tag with one value, or with the place of several. type 3: u16, 4: u32, 7: bytes. */
static void eer_tag(eer_writer *w, int tag, int type, uint64_t count, uint64_t value)
{
    int wide = w->big ? 8 : 4, size = type == 3 ? 2 : type == 4 ? 4 : 1;
    int64_t bytes = (int64_t)count * size;
    eer_number(w, (uint64_t)tag, 2);
    eer_number(w, (uint64_t)type, 2);
    eer_number(w, count, wide);
    int value_bytes = bytes > wide ? wide : size;
    if (type == 4 && count == 2 && w->big) { /* both are here, the second above the first */
        eer_number(w, value & 0xffffffffu, 4);
        eer_number(w, value >> 32, 4);
        return;
    }
    eer_number(w, value, value_bytes);
    eer_put(w, (uint8_t[8]){ 0 }, (size_t)(wide - value_bytes));
}

/* Appends a page with these bits. */
static inline void eer_page(eer_writer *w, const uint8_t *bits, size_t bytes)
{
    static const char metadata[] =
        "<metadata><item name=\"sensorPixelSize.width\" unit=\"m\">7.5e-11</item></metadata>";
    size_t at = w->used, strips = w->strips > 1 ? (size_t)w->strips : 1;
    eer_put(w, bits, bytes);
    size_t offsets = w->used;
    for (size_t k = 0; k < strips; k++)
        eer_number(w, at + bytes * k / strips, 4);
    size_t counts = w->used;
    for (size_t k = 0; k < strips; k++)
        eer_number(w, bytes * (k + 1) / strips - bytes * k / strips, 4);
    size_t text = w->used;
    eer_put(w, metadata, sizeof metadata);
    eer_number_at(w, w->link, w->used, w->big ? 8 : 4);
    uint64_t first[2] = { at | (uint64_t)(at + bytes / 2) << 32, bytes / 2 | (uint64_t)(bytes - bytes / 2) << 32 };
    bool many = strips * 4 > (w->big ? 8u : 4u), two = strips == 2;
    int tags = w->compression == 65002 ? 9 : 6;
    eer_number(w, (uint64_t)tags, w->big ? 8 : 2);
    eer_tag(w, 256, 4, 1, (uint64_t)w->width);
    eer_tag(w, 257, 3, 1, (uint64_t)w->height);
    eer_tag(w, 259, 3, 1, (uint64_t)w->compression);
    eer_tag(w, 273, 4, strips, many ? offsets : two ? first[0] : at);
    eer_tag(w, 279, 4, strips, many ? counts : two ? first[1] : bytes);
    eer_tag(w, 65001, 7, sizeof metadata, text);
    if (w->compression == 65002) {
        eer_tag(w, 65007, 3, 1, (uint64_t)w->skip);
        eer_tag(w, 65008, 3, 1, (uint64_t)w->across);
        eer_tag(w, 65009, 3, 1, (uint64_t)w->down);
    }
    w->link = w->used;
    eer_number(w, 0, w->big ? 8 : 4);
}

/* Bits, the lowest of each byte first. */
typedef struct eer_bits {
    uint8_t *bytes;
    size_t n; /* bits */
} eer_bits;

static void eer_bits_put(eer_bits *b, unsigned value, int n)
{
    for (int i = 0; i < n; i++, b->n++)
        b->bytes[b->n / 8] |= (uint8_t)((value >> i & 1) << b->n % 8);
}

/* Appends a frame. */
static inline void eer_frame(eer_writer *w, const electron *e, int n)
{
    int skip = w->compression == 65002 ? w->skip : w->compression == 65001 ? 7 : 8;
    int across = w->compression == 65002 ? w->across : 2, down = w->compression == 65002 ? w->down : 2;
    unsigned all = (1u << skip) - 1;
    size_t most = ((size_t)w->width * (size_t)w->height / all + (size_t)n + 2) * (size_t)(skip + across + down) / 8 + 9;
    eer_bits b = { calloc(most, 1), 0 };
    assert(b.bytes);
    int pixel = 0;
    for (int i = 0; i <= n; i++) {
        int next = i < n ? e[i].y * w->width + e[i].x : w->height * w->width;
        assert(next >= pixel);
        unsigned gap = (unsigned)(next - pixel);
        for (; gap >= all; gap -= all) {
            eer_bits_put(&b, all, skip);
            if (w->compression == 65000)
                eer_bits_put(&b, 5, 4); /* means nothing */
        }
        eer_bits_put(&b, gap, skip);
        if (i < n) {
            /* in two's complement from the middle of the pixel */
            eer_bits_put(&b, (unsigned)(e[i].part_x - (1 << (across - 1))) & ((1u << across) - 1), across);
            eer_bits_put(&b, (unsigned)(e[i].part_y - (1 << (down - 1))) & ((1u << down) - 1), down);
        }
        pixel = next + 1;
    }
    eer_page(w, b.bytes, (b.n + 15) / 16 * 2);
    free(b.bytes);
}
#endif
