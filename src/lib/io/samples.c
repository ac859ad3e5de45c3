/* samples.c - reads the values of a whole file into an array, and gathers those of an array of any strides in a file's
 * order.
 *
 * Axes are merged first, so that loops run over lines that are as long as possible. Where lines of the file lie across
 * those of the array, blocks of several lines are moved in tiles that fit the cache.
 */
#include "io_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading samples ---- */

void wfl_io_layout_c(wfl_io_layout *layout, const wf_shape *shape)
{
    layout->rank = shape->rank;
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        layout->extent[d] = shape->dim[d];
        layout->stride[d] = stride;
        stride *= shape->dim[d];
    }
}

/* Merges axes that follow each other without a gap in the array, as they do in the file. Drops axes of extent 1. */
static void merge_axes(wfl_io_layout *l)
{
    int kept = 0;
    bool lines = l->type->stored == WF_STORED_U4; /* the last axis stays: its lines are padded */
    for (int d = 0; d < l->rank; d++) {
        bool last_line = lines && d == l->rank - 1;
        if (l->extent[d] == 1 && !last_line)
            continue;
        bool joins = kept > 0 && !last_line && l->stride[kept - 1] == l->stride[d] * l->extent[d];
        if (!joins)
            kept++;
        l->extent[kept - 1] = joins ? l->extent[kept - 1] * l->extent[d] : l->extent[d];
        l->stride[kept - 1] = l->stride[d];
    }
    if (!kept) {
        l->extent[0] = l->stride[0] = 1;
        kept = 1;
    }
    l->rank = kept;
}

/* A reader that reads ahead in pieces of IO_CHUNK, so that short lines do not make short reads. */
typedef struct stream {
    wfl_io_reader *reader;
    int64_t at, left; /* the bytes not yet read from the file */
    uint8_t *buffer;
    size_t begin, end;
} stream;

/* Returns the next `bytes` bytes, at most IO_CHUNK, valid until the next call; NULL on error. */
static uint8_t *take_bytes(stream *s, size_t bytes)
{
    if (s->end - s->begin < bytes) {
        memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
        size_t room = IO_CHUNK - s->end;
        size_t part = s->left < (int64_t)room ? (size_t)s->left : room;
        if (wfl_io_read_at(s->reader, s->at, s->buffer + s->end, part) != WF_OK)
            return NULL;
        s->at += (int64_t)part;
        s->left -= (int64_t)part;
        s->end += part;
        if (s->end - s->begin < bytes) {
            wfl_io_fail(s->reader->ctx, s->reader->path, WF_ERR_IO, "the file ends in the middle of its data");
            return NULL;
        }
    }
    uint8_t *got = s->buffer + s->begin;
    s->begin += bytes;
    return got;
}

/* Reads one contiguous run of samples that need no conversion straight into the array. */
static wf_status read_direct(wfl_io_reader *reader, const wfl_io_layout *l, void *to)
{
    int64_t bytes = l->extent[0] * (int64_t)l->type->bytes;
    const int64_t part_max = l->swap ? (int64_t)IO_CHUNK / 4 : (int64_t)1 << 28; /* swapped while still in the cache */
    for (int64_t done = 0; done < bytes;) {
        int64_t part = bytes - done < part_max ? bytes - done : part_max;
        wf_status status = wfl_io_read_at(reader, l->offset + done, (char *)to + done, (size_t)part);
        if (status != WF_OK)
            return status;
        if (l->swap)
            wfl_io_swap((char *)to + done, part / (int64_t)l->type->bytes, l->type->bytes);
        done += part;
    }
    return WF_OK;
}

/* Stores `lines` lines of `n` samples each, in tiles, so that the cache lines of a transposed array stay in the cache.
 */
static void place_block(const wfl_io_layout *l, const uint8_t *from, int64_t lines, int64_t n, char *to)
{
    enum { TILE = 512 };
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    int64_t tile = lines > 1 && stride != 1 ? TILE : n;
    for (int64_t i = 0; i < n; i += tile) {
        int64_t part = n - i < tile ? n - i : tile;
        for (int64_t line = 0; line < lines; line++)
            wfl_io_scatter(l->type, from + (line * n + i) * bytes, part, to + line * line_step + i * stride * size,
                           stride);
    }
}

/* Reads the lines of one plane (the last two axes), in batches that fit the buffer. `nibbles`: room for unpacked lines.
 */
static wf_status read_plane(stream *s, const wfl_io_layout *l, uint8_t *nibbles, char *to)
{
    int64_t lines = l->rank > 1 ? l->extent[l->rank - 2] : 1, n = l->extent[l->rank - 1];
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    const int64_t chunk = (int64_t)IO_CHUNK / bytes / 2; /* samples; even, so that two batches of U4 share no byte */
    int64_t batch = n < chunk && !nibbles ? chunk / n : 1;
    for (int64_t line = 0; line < lines; line += batch) {
        int64_t now = lines - line < batch ? lines - line : batch;
        for (int64_t i = 0; i < n; i += chunk) {
            int64_t part = n - i < chunk ? n - i : chunk;
            uint8_t *from = take_bytes(s, (size_t)(nibbles ? (part + 1) / 2 : now * part * bytes));
            if (!from)
                return WF_ERR_IO;
            if (nibbles) {
                wfl_io_unpack4(from, part, nibbles);
                from = nibbles;
            }
            if (l->swap)
                wfl_io_swap(from, now * part, l->type->bytes);
            place_block(l, from, now, part, to + line * line_step + i * stride * size);
        }
    }
    return WF_OK;
}

wf_status wfl_io_read_samples(wfl_io_reader *reader, const wfl_io_layout *given, void *to)
{
    wfl_io_layout l = *given;
    for (int d = 0; d < l.rank; d++)
        if (l.extent[d] == 0)
            return WF_OK;
    merge_axes(&l);
    bool packed = l.type->stored == WF_STORED_U4;
    if (l.rank == 1 && l.stride[0] == 1 && !packed && l.type->bytes == wf_dtype_size(l.type->dtype) &&
        l.type->stored != WF_STORED_BOOL)
        return read_direct(reader, &l, to);

    uint8_t *buffer = malloc(packed ? 2 * IO_CHUNK : IO_CHUNK);
    if (!buffer)
        return wfl_io_fail_memory(reader->ctx, reader->path, (int64_t)IO_CHUNK);
    stream s = { .reader = reader, .at = l.offset, .buffer = buffer };
    s.left = reader->size - l.offset;
    int planes = l.rank > 2 ? l.rank - 2 : 0; /* number of axes outside the plane */
    int64_t index[WF_MAX_RANK] = { 0 }, place = 0;
    wf_status status;
    for (;;) {
        status = read_plane(&s, &l, packed ? buffer + IO_CHUNK : NULL,
                            (char *)to + place * (int64_t)wf_dtype_size(l.type->dtype));
        if (status != WF_OK)
            break;
        int d = planes - 1;
        for (; d >= 0; d--) {
            place += l.stride[d];
            if (++index[d] < l.extent[d])
                break;
            place -= l.stride[d] * l.extent[d];
            index[d] = 0;
        }
        if (d < 0)
            break;
    }
    free(buffer);
    return status;
}

/* ---- gathering an array ---- */

wf_status wfl_io_source_open(const wf_array *array, const char *path, wfl_io_source *source)
{
    void *data = NULL;
    int64_t strides[WF_MAX_RANK] = { 0 };
    *source = (wfl_io_source){ .ctx = wf_array_context(array),
                               .path = path,
                               .dtype = wf_array_dtype(array),
                               .array_dtype = wf_array_dtype(array),
                               .shape = wf_array_shape(array),
                               .count = wf_array_count(array) };
    wf_status status = wf_map(array, &data, strides);
    if (status != WF_OK)
        return status;
    source->data = data;
    int64_t size = (int64_t)wf_dtype_size(source->dtype);
    for (int d = 0; d < source->shape.rank; d++)
        strides[d] *= size;
    if (wf_dtype_kind(source->dtype) == WF_KIND_COMPLEX) {
        if (source->shape.rank == WF_MAX_RANK)
            return wfl_io_fail(source->ctx, path, WF_ERR_UNSUPPORTED,
                               "a complex array of %d axes (at most 7 can be saved)", WF_MAX_RANK);
        source->dtype = wf_dtype_part(source->dtype);
        size = (int64_t)wf_dtype_size(source->dtype);
        strides[source->shape.rank] = size;
        source->shape.dim[source->shape.rank++] = 2;
        source->count *= 2;
    }
    for (int d = 0; d < source->shape.rank; d++) {
        int64_t extent = source->shape.dim[d], step = strides[d];
        if (extent == 1)
            continue;
        int last = source->rank - 1;
        if (last >= 0 && source->step[last] == step * extent) {
            source->extent[last] *= extent;
            source->step[last] = step;
        } else {
            source->extent[source->rank] = extent;
            source->step[source->rank++] = step;
        }
    }
    if (source->rank == 0) {
        source->rank = 1;
        source->extent[0] = 1;
        source->step[0] = size;
    }
    return WF_OK;
}

/* The place of wfl_io_gather in the array. */
typedef struct cursor {
    int64_t index[WF_MAX_RANK], line; /* line: offset in bytes */
} cursor;

/* Moves past `n` elements of the last axis or, if `lines` > 1, past so many whole lines of one plane. */
static void advance(const wfl_io_source *source, cursor *c, int64_t n, int64_t lines)
{
    int last = source->rank - 1;
    c->index[last] += n;
    c->line += n * source->step[last];
    if (c->index[last] < source->extent[last])
        return;
    c->line -= source->extent[last] * source->step[last];
    c->index[last] = 0;
    for (int d = last - 1; d >= 0; d--) {
        c->index[d] += lines;
        c->line += lines * source->step[d];
        if (c->index[d] < source->extent[d])
            return;
        c->line -= source->step[d] * source->extent[d];
        c->index[d] = 0;
        lines = 1;
    }
}

/* Gathers whole lines, of which neighbours lie nearer in memory than the elements of one. Tiles let the next lines use
 * what a line brings into the cache. */
static void gather_tiles(const wfl_io_source *source, int64_t at, int64_t lines, const wfl_io_type *type, char *to)
{
    enum { TILE = 64 };
    int last = source->rank - 1;
    int64_t n = source->extent[last], step = source->step[last];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = n - i < TILE ? n - i : TILE;
        for (int64_t line = 0; line < lines; line++)
            wfl_io_convert(source->dtype, source->data + at + line * source->step[last - 1] + i * step, step, part,
                           type, to + (line * n + i) * (int64_t)type->bytes);
    }
}

void wfl_io_gather(const wfl_io_source *source, int64_t first, int64_t count, const wfl_io_type *type, void *to)
{
    if (count <= 0)
        return;
    cursor c = { .line = 0 };
    int last = source->rank - 1;
    int64_t rest = first, extent = source->extent[last], step = source->step[last];
    for (int d = last; d >= 0; d--) {
        c.index[d] = rest % source->extent[d];
        rest /= source->extent[d];
        c.line += c.index[d] * source->step[d];
    }
    bool transposed = last > 0 && llabs(source->step[last - 1]) < llabs(step);
    char *out = to;
    while (count > 0) {
        int64_t lines = transposed && c.index[last] == 0 ? count / extent : 0, n = extent - c.index[last];
        if (lines > 1) {
            int64_t left = source->extent[last - 1] - c.index[last - 1];
            lines = lines < left ? lines : left;
            gather_tiles(source, c.line, lines, type, out);
        } else {
            lines = 1;
            n = n < count ? n : count;
            wfl_io_convert(source->dtype, source->data + c.line, step, n, type, out);
        }
        out += lines * n * (int64_t)type->bytes;
        count -= lines * n;
        advance(source, &c, n, lines);
    }
}
