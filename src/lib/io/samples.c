/* samples.c - reads the values of a box of a file into an array, and gathers those of an array of any strides in a
 * file's order.
 *
 * Axes are merged first, so that loops run over lines that are as long as possible. Places of the file are read in
 * ascending order. Where lines of the file lie across
 * those of the array, blocks of several lines are moved in tiles that fit the cache.
 */
#include "io_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- where samples are ---- */

void wfl_io_layout_dense(wfl_io_layout *l)
{
    int64_t step = (int64_t)l->type->bytes;
    int d = l->rank - 1;
    if (l->type->stored == WF_STORED_U4) {
        l->step[d] = 0;
        step = (l->extent[d--] + 1) / 2;
    }
    for (; d >= 0; d--) {
        l->step[d] = step;
        if (!wfl_io_mul(step, l->extent[d], &step))
            step = INT64_MAX;
    }
}

int64_t wfl_io_layout_end(const wfl_io_layout *l)
{
    int64_t end = l->offset;
    bool packed = l->type->stored == WF_STORED_U4;
    if (l->rank == 0)
        return end + (int64_t)l->type->bytes;
    for (int d = 0; d < l->rank; d++)
        if (l->extent[d] == 0)
            return end;
    for (int d = 0; d < l->rank; d++)
        end += (l->extent[d] - 1) * l->step[d];
    return end + (packed ? (l->extent[l->rank - 1] + 1) / 2 : (int64_t)l->type->bytes);
}

void wfl_io_layout_c(wfl_io_layout *l, const wf_shape *shape)
{
    l->rank = 0;
    for (int d = 0; d < shape->rank; d++, l->rank++) {
        l->extent[d] = shape->dim[d];
        l->axis[d] = d;
    }
    if (l->type->parts > 1) {
        l->extent[l->rank] = l->type->parts;
        l->axis[l->rank++] = WFL_NO_AXIS;
    }
    wfl_io_layout_dense(l);
}

void wfl_io_layout_box(wfl_io_layout *l, const wf_shape *first, const wf_shape *count)
{
    int64_t stride[WF_MAX_RANK], elements = l->type->parts;
    for (int d = count->rank - 1; d >= 0; d--) {
        stride[d] = elements;
        elements *= count->dim[d];
    }
    l->odd = false;
    for (int d = 0; d < l->rank; d++) {
        int axis = l->axis[d];
        l->stride[d] = 1; /* the parts of a complex number; axes of extent 1 that the array does not have */
        if (axis == WFL_NO_AXIS)
            continue;
        bool packed = l->type->stored == WF_STORED_U4 && d == l->rank - 1;
        l->offset += packed ? first->dim[axis] / 2 : first->dim[axis] * l->step[d];
        l->odd = packed && first->dim[axis] % 2;
        l->extent[d] = count->dim[axis];
        l->stride[d] = stride[axis];
    }
}

/* Merges axes that follow each other without a gap both in the file and in the array, and drops axes of extent 1. The
 * last axis becomes one of samples that follow each other in the file. */
static void merge_axes(wfl_io_layout *l)
{
    int64_t bytes = (int64_t)l->type->bytes;
    bool packed = l->type->stored == WF_STORED_U4; /* the last axis stays: its lines are padded */
    int at = WF_MAX_RANK;                          /* the axes that are kept stand at the end of the list */
    wfl_io_layout m = *l;
    for (int d = l->rank - 1; d >= 0; d--) {
        bool line = packed && d == l->rank - 1, only = at == WF_MAX_RANK;
        if (l->extent[d] == 1 && !line)
            continue;
        if (only && !line && l->step[d] != bytes) { /* a line is a single sample */
            at--;
            m.extent[at] = m.stride[at] = 1;
            m.step[at] = bytes;
            only = false;
        }
        bool first_line = packed && at == WF_MAX_RANK - 1;
        if (!only && !first_line && l->step[d] == m.step[at] * m.extent[at] &&
            (l->stride[d] == m.stride[at] * m.extent[at] || m.extent[at] == 1)) {
            if (m.extent[at] == 1)
                m.stride[at] = l->stride[d];
            m.extent[at] *= l->extent[d];
        } else {
            at--;
            m.extent[at] = l->extent[d];
            m.stride[at] = l->stride[d];
            m.step[at] = l->step[d];
        }
    }
    if (at == WF_MAX_RANK) {
        at--;
        m.extent[at] = m.stride[at] = 1;
        m.step[at] = bytes;
    }
    l->rank = WF_MAX_RANK - at;
    for (int d = 0; d < l->rank; d++) {
        l->extent[d] = m.extent[at + d];
        l->stride[d] = m.stride[at + d];
        l->step[d] = m.step[at + d];
    }
}

/* ---- reading samples ---- */

/* A reader that reads ahead in pieces of up to IO_CHUNK, so that short lines do not make short reads. It reads over
 * gaps of up to GAP bytes, and nothing beyond `end`. */
typedef struct stream {
    wfl_io_reader *reader;
    uint8_t *buffer;
    int64_t at, end; /* the place of the buffer in the file; the end of the block of lines */
    size_t bytes;    /* in the buffer */
} stream;
enum { GAP = 16384 };

/* Returns the `bytes` bytes, at most IO_CHUNK, at an offset of the file, valid until the next call; NULL on error. */
static uint8_t *take_bytes(stream *s, int64_t offset, size_t bytes)
{
    int64_t have = s->at + (int64_t)s->bytes;
    if (offset >= s->at && offset + (int64_t)bytes <= have)
        return s->buffer + (offset - s->at);
    size_t kept = offset >= s->at && offset < have ? (size_t)(have - offset) : 0;
    memmove(s->buffer, s->buffer + (s->bytes - kept), kept);
    s->at = offset;
    s->bytes = kept;
    int64_t ahead = s->end - offset - (int64_t)kept;
    size_t room = IO_CHUNK - kept, part = ahead < (int64_t)room ? (size_t)ahead : room;
    if (wfl_io_read_at(s->reader, offset + (int64_t)kept, s->buffer + kept, part) != WF_OK)
        return NULL;
    s->bytes += part;
    return s->buffer;
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

/* Stores `lines` lines of `n` samples each, which lie `step` bytes apart, in tiles, so that the cache lines of a
 * transposed array stay in the cache. */
static void place_block(const wfl_io_layout *l, const uint8_t *from, int64_t step, int64_t lines, int64_t n, char *to)
{
    enum { TILE = 512 };
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    int64_t tile = lines > 1 && stride != 1 ? TILE : n;
    for (int64_t i = 0; i < n; i += tile) {
        int64_t part = n - i < tile ? n - i : tile;
        for (int64_t line = 0; line < lines; line++)
            wfl_io_scatter(l->type, from + line * step + i * bytes, part, to + line * line_step + i * stride * size,
                           stride);
    }
}

/* Reads one line of 4-bit values, which begins at `offset`. `unpacked`: room for IO_CHUNK values. */
static wf_status read_packed(stream *s, const wfl_io_layout *l, int64_t offset, uint8_t *unpacked, char *to)
{
    const int64_t chunk = (int64_t)IO_CHUNK / 2; /* even, so that two pieces share no byte */
    int64_t n = l->extent[l->rank - 1], stride = l->stride[l->rank - 1], odd = l->odd;
    for (int64_t i = 0; i < odd + n; i += chunk) { /* counted from the begin of the first byte */
        int64_t part = odd + n - i < chunk ? odd + n - i : chunk, skip = i ? 0 : odd;
        uint8_t *from = take_bytes(s, offset + i / 2, (size_t)(part + 1) / 2);
        if (!from)
            return WF_ERR_IO;
        wfl_io_unpack4(from, part, unpacked);
        place_block(l, unpacked + skip, 0, 1, part - skip, to + (i + skip - odd) * stride);
    }
    return WF_OK;
}

/* Reads the lines of one plane (the last two axes), which begins at `offset`, in batches that fit the buffer.
 * `unpacked`: room for 4-bit values. `run`: bytes of a line. `apart`: each line is a block of its own. */
static wf_status read_plane(stream *s, const wfl_io_layout *l, int64_t offset, int64_t run, bool apart,
                            uint8_t *unpacked, char *to)
{
    int64_t lines = l->rank > 1 ? l->extent[l->rank - 2] : 1, n = l->extent[l->rank - 1];
    int64_t step = l->rank > 1 ? l->step[l->rank - 2] : run;
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    const int64_t chunk = (int64_t)IO_CHUNK / bytes / 2; /* samples */
    int64_t batch = n < chunk && !unpacked && !apart && step <= (int64_t)IO_CHUNK / 2 ? chunk * bytes / step : 1;
    if (batch < 1)
        batch = 1;
    for (int64_t line = 0; line < lines; line += batch) {
        int64_t now = lines - line < batch ? lines - line : batch, place = offset + line * step;
        if (apart)
            s->end = place + run;
        if (unpacked) {
            wf_status status = read_packed(s, l, place, unpacked, to + line * line_step);
            if (status != WF_OK)
                return status;
            continue;
        }
        for (int64_t i = 0; i < n; i += chunk) {
            int64_t part = n - i < chunk ? n - i : chunk, span = (now - 1) * step + part * bytes;
            uint8_t *from = take_bytes(s, place + i * bytes, (size_t)span);
            if (!from)
                return WF_ERR_IO;
            if (l->swap)
                wfl_io_swap(from, span / bytes, l->type->bytes);
            place_block(l, from, step, now, part, to + line * line_step + i * stride * size);
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
    int64_t n = l.extent[l.rank - 1], run = packed ? (l.odd + n + 1) / 2 : n * (int64_t)l.type->bytes;
    int64_t block = run; /* bytes of a block of lines without large gaps: the axes from `level` on */
    int level = l.rank - 1;
    for (; level > 0 && l.step[level - 1] - block <= GAP; level--)
        block += l.step[level - 1] * (l.extent[level - 1] - 1);
    stream s = { .reader = reader, .buffer = buffer };
    int planes = l.rank > 2 ? l.rank - 2 : 0; /* number of axes outside the plane */
    int64_t index[WF_MAX_RANK] = { 0 }, place = 0, offset = l.offset;
    wf_status status;
    for (;;) {
        bool begins = true; /* a block of lines */
        for (int d = level; d < planes; d++)
            begins = begins && index[d] == 0;
        if (begins)
            s.end = offset + block;
        status = read_plane(&s, &l, offset, run, level == l.rank - 1, packed ? buffer + IO_CHUNK : NULL,
                            (char *)to + place * (int64_t)wf_dtype_size(l.type->dtype));
        if (status != WF_OK)
            break;
        int d = planes - 1;
        for (; d >= 0; d--) {
            place += l.stride[d];
            offset += l.step[d];
            if (++index[d] < l.extent[d])
                break;
            place -= l.stride[d] * l.extent[d];
            offset -= l.step[d] * l.extent[d];
            index[d] = 0;
        }
        if (d < 0)
            break;
    }
    free(buffer);
    return status;
}

/* ---- gathering an array ---- */

wf_status wfl_io_source_describe(wf_context *ctx, const char *path, wf_dtype dtype, const wf_shape *shape,
                                 wfl_io_source *source)
{
    *source = (wfl_io_source){ .ctx = ctx, .path = path, .dtype = dtype, .array_dtype = dtype, .shape = *shape };
    if (wf_dtype_kind(dtype) == WF_KIND_COMPLEX) {
        if (shape->rank == WF_MAX_RANK)
            return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "a complex array of %d axes (at most 7 can be saved)",
                               WF_MAX_RANK);
        source->dtype = wf_dtype_part(dtype);
        source->shape.dim[source->shape.rank++] = 2;
    }
    source->count = 1;
    for (int d = 0; d < source->shape.rank; d++)
        if (source->shape.dim[d] == 0)
            source->count = 0;
    for (int d = 0; d < source->shape.rank && source->count; d++)
        if (!wfl_io_mul(source->count, source->shape.dim[d], &source->count) || source->count > INT64_MAX / 16)
            return wfl_io_fail(ctx, path, WF_ERR_SHAPE, "the shape has 2^59 elements or more");
    return WF_OK;
}

wf_status wfl_io_source_open(const wf_array *array, const char *path, wfl_io_source *source)
{
    void *data = NULL;
    int64_t strides[WF_MAX_RANK] = { 0 };
    wf_shape shape = wf_array_shape(array);
    wf_dtype dtype = wf_array_dtype(array);
    wf_status status = wf_map(array, &data, strides);
    if (status == WF_OK)
        status = wfl_io_source_describe(wf_array_context(array), path, dtype, &shape, source);
    if (status != WF_OK)
        return status;
    source->data = data;
    int64_t size = (int64_t)wf_dtype_size(dtype);
    for (int d = 0; d < shape.rank; d++)
        strides[d] *= size;
    if (source->shape.rank > shape.rank) {
        size = (int64_t)wf_dtype_size(source->dtype);
        strides[shape.rank] = size;
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
