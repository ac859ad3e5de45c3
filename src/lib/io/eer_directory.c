/* eer_directory.c - the directories of EER files, which are those of TIFF and BigTIFF in either byte order: where each
 * frame's bits are, and how they are to be read. Pages of other compressions, such as a sum of all frames, are left
 * out.
 */
#include "eer.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_WIDTH = 256,
    TAG_HEIGHT = 257,
    TAG_COMPRESSION = 259,
    TAG_OFFSETS = 273,
    TAG_BYTES = 279,
    TAG_METADATA = 65001,
    TAG_SKIP = 65007,
    TAG_ACROSS = 65008,
    TAG_DOWN = 65009,
    MOST_ENTRIES = 4096,
    MOST_METADATA = 1 << 20
};

typedef struct tiff {
    wfl_io_reader *reader;
    bool big_endian, big; /* big: BigTIFF */
    int64_t page;         /* from 1, for messages */
    int64_t bytes;        /* of all directories so far */
    int64_t metadata;     /* bytes that were read of metadata */
    bool quiet;           /* failures set no error */
} tiff;

/* The values of one tag: `count` numbers of `size` bytes at `at`. */
typedef struct field {
    int size;
    int64_t count, at;
    bool inside;    /* the values are in the entry */
    uint64_t first; /* the first of them */
} field;

typedef struct directory {
    field width, height, compression, offsets, bytes, metadata, skip, across, down;
} directory;

static uint64_t number(const tiff *t, const uint8_t *at, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * (t->big_endian ? size - 1 - i : i);
    return value;
}

static wf_status fail(const tiff *t, wf_status status, const char *format, ...) IO_PRINTF(3, 4);
static wf_status fail(const tiff *t, wf_status status, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return t->quiet
               ? status
               : wfl_io_fail(t->reader->ctx, t->reader->path, status, "EER page %lld: %s", (long long)t->page, text);
}

static wf_status bad(const tiff *t, const char *name, long long value, const char *must)
{
    return fail(t, WF_ERR_IO, "field %s is %lld (must be %s)", name, value, must);
}

static wf_status read_at(const tiff *t, int64_t at, void *to, size_t bytes)
{
    if (!t->quiet)
        return wfl_io_read_at(t->reader, at, to, bytes);
    return wfl_io_pread(t->reader->fd, at, to, bytes) == (int64_t)bytes ? WF_OK : WF_ERR_IO;
}

/* Bytes of a value by its type; 0: no type of integers or text. */
static int size_of_type(uint64_t type)
{
    static const int sizes[] = { [1] = 1, [2] = 1, [3] = 2, [4] = 4, [7] = 1, [13] = 4, [16] = 8, [18] = 8 };
    return type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

/* The place that a directory has for a tag; NULL: it is not needed. */
static field *place_of(directory *d, uint64_t tag)
{
    switch (tag) {
    case TAG_WIDTH:
        return &d->width;
    case TAG_HEIGHT:
        return &d->height;
    case TAG_COMPRESSION:
        return &d->compression;
    case TAG_OFFSETS:
        return &d->offsets;
    case TAG_BYTES:
        return &d->bytes;
    case TAG_METADATA:
        return &d->metadata;
    case TAG_SKIP:
        return &d->skip;
    case TAG_ACROSS:
        return &d->across;
    case TAG_DOWN:
        return &d->down;
    default:
        return NULL;
    }
}

/* Takes an entry, which is at `place` in the file. */
static void take_entry(const tiff *t, const uint8_t *entry, int64_t place, directory *d)
{
    int wide = t->big ? 8 : 4, head = t->big ? 12 : 8;
    field *f = place_of(d, number(t, entry, 2));
    int size = size_of_type(number(t, entry + 2, 2));
    uint64_t count = number(t, entry + 4, wide), at = number(t, entry + head, wide);
    if (!f || !size || count < 1 || count > INT64_MAX / 8)
        return;
    *f = (field){ .size = size, .count = (int64_t)count, .inside = count * (uint64_t)size <= (uint64_t)wide };
    f->at = f->inside ? place + head : at <= INT64_MAX ? (int64_t)at : INT64_MAX;
    if (f->inside)
        f->first = number(t, entry + head, size);
}

/* Reads the header and the place of the first directory. */
static wf_status read_header(tiff *t, int64_t *next)
{
    uint8_t head[16];
    wf_status status = read_at(t, 0, head, 8);
    if (status != WF_OK)
        return status;
    t->big_endian = head[0] == 'M';
    uint64_t version = number(t, head + 2, 2);
    t->big = version == 43;
    if (memcmp(head, "II", 2) != 0 && memcmp(head, "MM", 2) != 0)
        return fail(t, WF_ERR_IO, "the file does not begin as a TIFF file");
    if (version != 42 && version != 43)
        return fail(t, WF_ERR_IO, "version %d of TIFF (must be 42 or 43)", (int)version);
    if (t->big)
        status = read_at(t, 8, head + 8, 8);
    uint64_t at = number(t, head + (t->big ? 8 : 4), t->big ? 8 : 4);
    *next = at <= INT64_MAX ? (int64_t)at : INT64_MAX;
    return status;
}

/* Reads the directory at *next, which becomes the place of the one after it; 0: it is the last. */
static wf_status read_directory(tiff *t, int64_t *next, directory *d)
{
    uint8_t head[8];
    int64_t at = *next;
    int wide = t->big ? 8 : 2, entry_bytes = t->big ? 20 : 12, end = t->big ? 8 : 4;
    *d = (directory){ 0 };
    if (at > t->reader->size - wide)
        return fail(t, WF_ERR_IO, "its directory is at byte %lld (the file has %lld)", (long long)at,
                    (long long)t->reader->size);
    wf_status status = read_at(t, at, head, (size_t)wide);
    if (status != WF_OK)
        return status;
    uint64_t entries = number(t, head, wide);
    if (entries > MOST_ENTRIES)
        return bad(t, "count of the directory", (long long)entries, "at most 4096");
    size_t bytes = (size_t)entries * (size_t)entry_bytes + (size_t)end;
    t->bytes += wide + (int64_t)bytes;
    if (t->bytes > t->reader->size) /* else a chain of directories that overlap would take quadratic time */
        return fail(t, WF_ERR_IO, "the directories have %lld bytes up to this one, but the file has %lld",
                    (long long)t->bytes, (long long)t->reader->size);
    uint8_t *all = malloc(bytes);
    if (!all)
        return fail(t, WF_ERR_MEMORY, "out of memory: %zu bytes", bytes);
    status = read_at(t, at + wide, all, bytes);
    for (uint64_t i = 0; i < entries && status == WF_OK; i++)
        take_entry(t, all + i * (uint64_t)entry_bytes, at + wide + (int64_t)i * entry_bytes, d);
    if (status == WF_OK) {
        uint64_t after = number(t, all + bytes - end, end);
        *next = after <= INT64_MAX ? (int64_t)after : INT64_MAX;
    }
    free(all);
    return status;
}

static bool is_frame(const directory *d)
{
    return d->compression.inside && d->compression.first >= EER_FIRST && d->compression.first <= EER_LAST;
}

/* Returns a number of a directory; `otherwise`, if there is none. */
static int64_t value_of(const field *f, int64_t otherwise)
{
    return f->inside && f->first <= INT64_MAX ? (int64_t)f->first : otherwise;
}

static wf_status read_code(const tiff *t, const directory *d, wfl_eer_code *code)
{
    int64_t version = value_of(&d->compression, 0);
    int64_t skip = version == EER_LAST ? value_of(&d->skip, 7) : version == EER_FIRST ? 8 : 7;
    int64_t across = version == EER_LAST ? value_of(&d->across, 2) : 2;
    int64_t down = version == EER_LAST ? value_of(&d->down, 2) : 2;
    int64_t width = value_of(&d->width, 0), height = value_of(&d->height, 0);
    if (width < 1 || width > 1 << 20)
        return bad(t, "ImageWidth", width, "1..2^20");
    if (height < 1 || height > 1 << 20)
        return bad(t, "ImageLength", height, "1..2^20");
    if (skip < 2 || skip > 16)
        return bad(t, "65007, bits of a skip,", skip, "2..16");
    if (across < 1 || across > 8)
        return bad(t, "65008, bits across a pixel,", across, "1..8");
    if (down < 1 || down > 8)
        return bad(t, "65009, bits down a pixel,", down, "1..8");
    *code = (wfl_eer_code){ .width = width,
                            .height = height,
                            .skip = (int)skip,
                            .across = (int)across,
                            .down = (int)down,
                            .padded = version == EER_FIRST };
    return WF_OK;
}

/* Reads number i of a field, whose name is for messages. */
static wf_status read_number(const tiff *t, const field *f, const char *name, int64_t i, int64_t *out)
{
    uint8_t bytes[8];
    uint64_t value = f->first;
    int64_t last = t->reader->size - f->size;
    if (f->at > last || i > (last - f->at) / f->size)
        return bad(t, name, (long long)f->at, "a place inside of the file");
    if (i > 0 || !f->inside) {
        wf_status status = read_at(t, f->at + i * f->size, bytes, (size_t)f->size);
        if (status != WF_OK)
            return status;
        value = number(t, bytes, f->size);
    }
    *out = value <= INT64_MAX ? (int64_t)value : INT64_MAX;
    return WF_OK;
}

/* Makes *memory, an array of *cap elements of `size` bytes, longer if it has no element `index`. */
static wf_status reach(const tiff *t, void *memory, int64_t *cap, int64_t index, size_t size)
{
    if (index < *cap)
        return WF_OK;
    int64_t more = 2 * index + 64;
    wf_status status = wfl_io_resize(t->reader->ctx, t->reader->path, memory, more, size);
    if (status == WF_OK)
        *cap = more;
    return status;
}

static wf_status add_frame(const tiff *t, const directory *d, wfl_eer_file *file)
{
    if (d->offsets.count < 1 || d->offsets.count != d->bytes.count)
        return bad(t, "StripOffsets, count of,", d->offsets.count, "that of StripByteCounts, at least 1");
    if (d->offsets.count > t->reader->size - file->strips) /* else pages that share one list would multiply it */
        return bad(t, "StripOffsets, count of,", d->offsets.count, "what the file can hold");
    wf_status status = reach(t, &file->first, &file->frames_cap, file->frames + 1, sizeof *file->first);
    if (status != WF_OK)
        return status;
    file->first[file->frames] = file->strips;
    for (int64_t i = 0; i < d->offsets.count && status == WF_OK; i++) {
        wfl_eer_strip s = { 0 };
        status = read_number(t, &d->offsets, "StripOffsets", i, &s.offset);
        if (status == WF_OK)
            status = read_number(t, &d->bytes, "StripByteCounts", i, &s.bytes);
        if (status == WF_OK && (s.offset > t->reader->size || s.bytes > t->reader->size - s.offset))
            return fail(t, WF_ERR_IO, "%lld bytes at byte %lld are not inside of the file, which has %lld",
                        (long long)s.bytes, (long long)s.offset, (long long)t->reader->size);
        if (status == WF_OK)
            status = reach(t, &file->strip, &file->strips_cap, file->strips, sizeof *file->strip);
        if (status == WF_OK)
            file->strip[file->strips++] = s;
    }
    file->first[++file->frames] = file->strips;
    return status;
}

/* Reads the size of the detector's pixels from the metadata, XML with an item in metres. What is not understood is no
 * error, and neither is more metadata than the file has bytes, which pages that share them would make; the rest is left
 * out. */
static wf_status read_pixel(tiff *t, const directory *d, double *pixel)
{
    static const char name[] = "sensorPixelSize.width\"";
    const field *f = &d->metadata;
    if (f->size != 1 || f->count > MOST_METADATA || f->at > t->reader->size - f->count ||
        f->count > t->reader->size - t->metadata)
        return WF_OK;
    t->metadata += f->count;
    char *text = malloc((size_t)f->count + 1);
    if (!text)
        return wfl_io_fail_memory(t->reader->ctx, t->reader->path, f->count);
    wf_status status = read_at(t, f->at, text, (size_t)f->count);
    text[status == WF_OK ? f->count : 0] = 0;
    const char *item = strstr(text, name), *value = item ? strchr(item, '>') : NULL;
    double metres = 0;
    if (value)
        value += 1 + strspn(value + 1, " \t\r\n");
    if (value && wfl_io_real(value, strspn(value, "0123456789+-.eE"), &metres) && metres > 1e-12 && metres < 1e-6)
        *pixel = metres * 1e10;
    free(text);
    return status;
}

static wf_status take_directory(tiff *t, const directory *d, wfl_eer_file *file)
{
    wfl_eer_code code = { 0 };
    wf_status status = WF_OK;
    if (d->metadata.count && file->pixel <= 0)
        status = read_pixel(t, d, &file->pixel);
    if (status != WF_OK || !is_frame(d))
        return status;
    status = read_code(t, d, &code);
    if (status == WF_OK && !file->frames)
        file->code = code;
    if (status == WF_OK &&
        (code.width != file->code.width || code.height != file->code.height || code.skip != file->code.skip ||
         code.across != file->code.across || code.down != file->code.down || code.padded != file->code.padded))
        return fail(t, WF_ERR_UNSUPPORTED,
                    "it is %lld x %lld in codes of %d bits, but the first is %lld x %lld in codes of "
                    "%d bits (frames must agree)",
                    (long long)code.height, (long long)code.width, code.skip + code.across + code.down,
                    (long long)file->code.height, (long long)file->code.width,
                    file->code.skip + file->code.across + file->code.down);
    return status == WF_OK ? add_frame(t, d, file) : status;
}

wf_status wfl_eer_directories(wfl_io_reader *reader, wfl_eer_file *file)
{
    tiff t = { .reader = reader };
    directory d;
    int64_t next = 0, mark = 0, steps = 0, limit = 1;
    wf_status status = read_header(&t, &next);
    while (status == WF_OK && next) {
        t.page++;
        int64_t place = next;
        status = read_directory(&t, &next, &d);
        if (status == WF_OK)
            status = take_directory(&t, &d, file);
        if (status == WF_OK && next && (next == mark || next == place))
            status = bad(&t, "offset of the next page", (long long)next, "that of no page before");
        if (++steps == limit) { /* every circle contains a mark, sooner or later */
            mark = place;
            steps = 0;
            limit *= 2;
        }
    }
    if (status == WF_OK && !file->frames)
        status = wfl_io_fail(reader->ctx, reader->path, WF_ERR_IO, "EER: the file has no frames");
    return status;
}

bool wfl_eer_is(wfl_io_reader *reader)
{
    tiff t = { .reader = reader, .quiet = true };
    directory d = { 0 };
    int64_t next = 0;
    if (reader->gzip)
        return false;
    bool read = read_header(&t, &next) == WF_OK && next && read_directory(&t, &next, &d) == WF_OK;
    return read && is_frame(&d);
}
