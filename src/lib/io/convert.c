/* convert.c - samples between files and arrays: byte order, half floats, packed values, strides, statistics.
 *
 * Values move unchanged where the stored type is the array's dtype. Everything else goes through f64, which holds every
 * value of every dtype but the largest 64-bit integers; those are handled apart where it can matter (i64 <-> u64).
 */
#include "io_internal.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- half floats ---- */

float wf__io_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
    float subnormal = (float)fraction * 0x1p-24f, value;
    uint32_t bits;
    memcpy(&bits, &subnormal, 4);
    if (exponent)
        bits = (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
    bits |= sign;
    memcpy(&value, &bits, 4);
    return value;
}

uint16_t wf__io_f32_to_f16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu, half;
    if (x > 0x7f800000u) {
        half = 0x7e00u; /* NaN */
    } else if (x == 0x7f800000u) {
        half = 0x7c00u; /* infinity */
    } else if (x >= 0x477ff000u) {
        half = 0x7bffu; /* from 65520 on rounding would give infinity */
    } else if (x >= 0x38800000u) {
        half = (x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13;
    } else if (x > 0x33000000u) { /* a multiple of 2^-24, rounded */
        uint32_t fraction = (x & 0x7fffffu) | 0x800000u, shift = 126u - (x >> 23);
        half = (fraction + (1u << (shift - 1)) - 1u + (fraction >> shift & 1u)) >> shift;
    } else {
        half = 0; /* at most half of the smallest subnormal */
    }
    return (uint16_t)(sign | half);
}

/* Finite values stay finite. */
static float to_f32(double x)
{
    return isinf(x) || fabs(x) <= (double)FLT_MAX || x != x ? (float)x : x > 0 ? FLT_MAX : -FLT_MAX;
}

/* Rounding twice, to f32 and then to f16, is rounding once if the first goes to odd: an inexact result has its last bit
 * set, so that it never looks like a tie (Boldo and Melquiond, "When double rounding is odd"). */
uint16_t wf__io_f64_to_f16(double value)
{
    float narrow = to_f32(value);
    if (fabsf(narrow) >= 65520)
        return wf__io_f32_to_f16(narrow);
    if ((double)narrow != value && value == value) {
        uint32_t bits;
        memcpy(&bits, &narrow, 4);
        if (fabs((double)narrow) > fabs(value))
            bits--;
        bits |= 1u;
        memcpy(&narrow, &bits, 4);
    }
    return wf__io_f32_to_f16(narrow);
}

/* ---- bytes and half bytes ---- */

void wf__io_swap(void *data, int64_t count, size_t bytes)
{
    uint8_t *p = data;
    if (bytes == 2)
        for (int64_t i = 0; i < count; i++) {
            uint16_t x;
            memcpy(&x, p + 2 * i, 2);
            x = (uint16_t)(x << 8 | x >> 8);
            memcpy(p + 2 * i, &x, 2);
        }
    if (bytes == 4)
        for (int64_t i = 0; i < count; i++) {
            uint32_t x;
            memcpy(&x, p + 4 * i, 4);
            x = x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
            memcpy(p + 4 * i, &x, 4);
        }
    if (bytes == 8)
        for (int64_t i = 0; i < count; i++) {
            uint64_t x;
            memcpy(&x, p + 8 * i, 8);
            x = (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
            x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
            x = x << 32 | x >> 32;
            memcpy(p + 8 * i, &x, 8);
        }
}

void wf__io_pack4(const uint8_t *from, int64_t count, uint8_t *to)
{
    for (int64_t i = 0; i < count / 2; i++)
        to[i] = (uint8_t)((from[2 * i] & 15u) | (from[2 * i + 1] & 15u) << 4);
    if (count % 2)
        to[count / 2] = from[count - 1] & 15u;
}

void wf__io_unpack4(const uint8_t *from, int64_t count, uint8_t *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (uint8_t)((i % 2 ? from[i / 2] >> 4 : from[i / 2]) & 15);
}

/* ---- strided copies ---- */

/* Elements of `bytes` bytes, from and to addresses that lie the given number of bytes apart. */
static void copy_strided(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t count, size_t bytes)
{
    if (from_step == (int64_t)bytes && to_step == (int64_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    switch (bytes) { /* constant sizes become plain moves */
    case 1:
        for (int64_t i = 0; i < count; i++)
            to[i * to_step] = from[i * from_step];
        break;
    case 2:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 2);
        break;
    case 4:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 4);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 8);
        break;
    }
}

void wf__io_scatter(const wf__io_type *type, const void *from, int64_t count, void *to, int64_t stride)
{
    const uint8_t *bytes = from;
    if (count <= 0)
        return;
    if (type->stored == WF_STORED_F16) {
        float *out = to;
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, bytes + 2 * i, 2);
            out[i * stride] = wf__io_f16_to_f32(half);
        }
    } else if (type->stored == WF_STORED_BOOL) {
        uint8_t *out = to;
        for (int64_t i = 0; i < count; i++)
            out[i * stride] = bytes[i] != 0;
    } else {
        copy_strided(from, (int64_t)type->bytes, to, stride * (int64_t)type->bytes, count, type->bytes);
    }
}

/* ---- reading samples ---- */

void wf__io_layout_c(wf__io_layout *layout, const wf_shape *shape)
{
    layout->rank = shape->rank;
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        layout->extent[d] = shape->dim[d];
        layout->stride[d] = stride;
        stride *= shape->dim[d];
    }
}

/* Merges axes that follow each other without a gap in the array as they do in the file, and drops those of extent 1. */
static void merge_axes(wf__io_layout *l)
{
    int kept = 0;
    bool lines = l->type->stored == WF_STORED_U4; /* the last axis stays, its lines are padded */
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

/* Reads ahead in pieces of IO_CHUNK, so that short lines do not become short reads. */
typedef struct stream {
    wf__io_reader *reader;
    int64_t at, left; /* what was not yet read from the file */
    uint8_t *buffer;
    size_t begin, end;
} stream;

/* The next `bytes` (at most IO_CHUNK) bytes, valid until the next call; NULL on error. */
static uint8_t *take(stream *s, size_t bytes)
{
    if (s->end - s->begin < bytes) {
        memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
        size_t room = IO_CHUNK - s->end;
        size_t part = s->left < (int64_t)room ? (size_t)s->left : room;
        if (wf__io_read_at(s->reader, s->at, s->buffer + s->end, part) != WF_OK)
            return NULL;
        s->at += (int64_t)part;
        s->left -= (int64_t)part;
        s->end += part;
        if (s->end - s->begin < bytes) {
            wf__io_fail(s->reader->ctx, s->reader->path, WF_ERR_IO, "the file ends in the middle of its data");
            return NULL;
        }
    }
    uint8_t *got = s->buffer + s->begin;
    s->begin += bytes;
    return got;
}

/* One contiguous run of unchanged samples: straight into the array. */
static wf_status read_direct(wf__io_reader *reader, const wf__io_layout *l, void *to)
{
    int64_t bytes = l->extent[0] * (int64_t)l->type->bytes;
    const int64_t part_max = l->swap ? (int64_t)IO_CHUNK / 4 : (int64_t)1 << 28; /* swapped while still in the cache */
    for (int64_t done = 0; done < bytes;) {
        int64_t part = bytes - done < part_max ? bytes - done : part_max;
        wf_status status = wf__io_read_at(reader, l->offset + done, (char *)to + done, (size_t)part);
        if (status != WF_OK)
            return status;
        if (l->swap)
            wf__io_swap((char *)to + done, part / (int64_t)l->type->bytes, l->type->bytes);
        done += part;
    }
    return WF_OK;
}

/* `lines` lines of `n` samples each; tiles keep the cache lines of a transposed array in the cache. */
static void place_block(const wf__io_layout *l, const uint8_t *from, int64_t lines, int64_t n, char *to)
{
    enum { TILE = 512 };
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    int64_t tile = lines > 1 && stride != 1 ? TILE : n;
    for (int64_t i = 0; i < n; i += tile) {
        int64_t part = n - i < tile ? n - i : tile;
        for (int64_t line = 0; line < lines; line++)
            wf__io_scatter(l->type, from + (line * n + i) * bytes, part, to + line * line_step + i * stride * size,
                           stride);
    }
}

/* The lines of one plane (the last two axes), in batches that fit the buffer. `nibbles`: room for unpacked lines. */
static wf_status read_plane(stream *s, const wf__io_layout *l, uint8_t *nibbles, char *to)
{
    int64_t lines = l->rank > 1 ? l->extent[l->rank - 2] : 1, n = l->extent[l->rank - 1];
    int64_t size = (int64_t)wf_dtype_size(l->type->dtype), bytes = (int64_t)l->type->bytes;
    int64_t line_step = l->rank > 1 ? l->stride[l->rank - 2] * size : 0, stride = l->stride[l->rank - 1];
    const int64_t chunk = (int64_t)IO_CHUNK / bytes / 2; /* samples; even, so that no byte of U4 is shared */
    int64_t batch = n < chunk && !nibbles ? chunk / n : 1;
    for (int64_t line = 0; line < lines; line += batch) {
        int64_t now = lines - line < batch ? lines - line : batch;
        for (int64_t i = 0; i < n; i += chunk) {
            int64_t part = n - i < chunk ? n - i : chunk;
            uint8_t *from = take(s, (size_t)(nibbles ? (part + 1) / 2 : now * part * bytes));
            if (!from)
                return WF_ERR_IO;
            if (nibbles) {
                wf__io_unpack4(from, part, nibbles);
                from = nibbles;
            }
            if (l->swap)
                wf__io_swap(from, now * part, l->type->bytes);
            place_block(l, from, now, part, to + line * line_step + i * stride * size);
        }
    }
    return WF_OK;
}

wf_status wf__io_read_samples(wf__io_reader *reader, const wf__io_layout *given, void *to)
{
    wf__io_layout l = *given;
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
        return wf__io_fail_memory(reader->ctx, reader->path, (int64_t)IO_CHUNK);
    stream s = { .reader = reader, .at = l.offset, .buffer = buffer };
    s.left = reader->size - l.offset;
    int planes = l.rank > 2 ? l.rank - 2 : 0; /* axes outside the plane */
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

wf_status wf__io_source_open(const wf_array *array, const char *path, wf__io_source *source)
{
    void *data = NULL;
    int64_t strides[WF_MAX_RANK] = { 0 };
    *source = (wf__io_source){ .ctx = wf_array_context(array),
                               .path = path,
                               .dtype = wf_array_dtype(array),
                               .shape = wf_array_shape(array),
                               .count = wf_array_count(array) };
    wf_status status = wf_map(array, &data, strides);
    if (status != WF_OK)
        return status;
    source->data = data;
    int64_t size = (int64_t)wf_dtype_size(source->dtype);
    for (int d = 0; d < source->shape.rank; d++) {
        int64_t extent = source->shape.dim[d], step = strides[d] * size;
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

#define AS_F64(T)                   \
    for (int64_t i = 0; i < n; i++) \
    to[i] = (double)*(const T *)(const void *)(from + i * step)

static void load_f64(wf_dtype dtype, const char *from, int64_t step, int64_t n, double *to)
{
    switch (dtype) {
    case WF_BOOL:
    case WF_U8:
        AS_F64(uint8_t);
        break;
    case WF_I8:
        AS_F64(int8_t);
        break;
    case WF_I16:
        AS_F64(int16_t);
        break;
    case WF_U16:
        AS_F64(uint16_t);
        break;
    case WF_I32:
        AS_F64(int32_t);
        break;
    case WF_U32:
        AS_F64(uint32_t);
        break;
    case WF_I64:
        AS_F64(int64_t);
        break;
    case WF_U64:
        AS_F64(uint64_t);
        break;
    case WF_F32:
        AS_F64(float);
        break;
    default:
        AS_F64(double);
        break;
    }
}

/* Rounded to nearest, ties to even; clamped; NaN is 0. `low` and `high` are exact in f64. */
static double to_range(double x, double low, double high)
{
    return x != x ? 0 : x < low ? low : x > high ? high : rint(x);
}

static int64_t to_i64(double x) { return x >= 0x1p63 ? INT64_MAX : (int64_t)to_range(x, -0x1p63, 0x1p63); }

static uint64_t to_u64(double x) { return x >= 0x1p64 ? UINT64_MAX : (uint64_t)to_range(x, 0, 0x1p64); }

#define FROM_F64(T, value)                                           \
    for (int64_t i = 0; i < n; i++) {                                \
        T x_ = (T)(value);                                           \
        memcpy((char *)to + i * (int64_t)sizeof x_, &x_, sizeof x_); \
    }

static void store_f64(const double *x, int64_t n, wf_stored stored, void *to)
{
    switch (stored) {
    case WF_STORED_BOOL:
        FROM_F64(uint8_t, x[i] == x[i] && x[i] != 0);
        break;
    case WF_STORED_I8:
        FROM_F64(int8_t, to_range(x[i], INT8_MIN, INT8_MAX));
        break;
    case WF_STORED_U8:
        FROM_F64(uint8_t, to_range(x[i], 0, UINT8_MAX));
        break;
    case WF_STORED_I16:
        FROM_F64(int16_t, to_range(x[i], INT16_MIN, INT16_MAX));
        break;
    case WF_STORED_U16:
        FROM_F64(uint16_t, to_range(x[i], 0, UINT16_MAX));
        break;
    case WF_STORED_I32:
        FROM_F64(int32_t, to_range(x[i], INT32_MIN, INT32_MAX));
        break;
    case WF_STORED_U32:
        FROM_F64(uint32_t, to_range(x[i], 0, UINT32_MAX));
        break;
    case WF_STORED_I64:
        FROM_F64(int64_t, to_i64(x[i]));
        break;
    case WF_STORED_U64:
        FROM_F64(uint64_t, to_u64(x[i]));
        break;
    case WF_STORED_F16:
        FROM_F64(uint16_t, wf__io_f64_to_f16(x[i]));
        break;
    case WF_STORED_F32:
    case WF_STORED_C64:
        FROM_F64(float, to_f32(x[i]));
        break;
    case WF_STORED_U4:
        FROM_F64(uint8_t, to_range(x[i], 0, 15));
        break;
    default:
        FROM_F64(double, x[i]);
        break;
    }
}

/* i64 to u64 and back: the only clamped conversions that f64 cannot carry. */
static void clamp_64(wf_dtype dtype, const char *from, int64_t step, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, from + i * step, 8);
        if (x > (uint64_t)INT64_MAX)
            x = dtype == WF_I64 ? 0 : (uint64_t)INT64_MAX;
        memcpy((char *)to + 8 * i, &x, 8);
    }
}

static void convert_line(const wf__io_source *source, const char *from, int64_t step, int64_t n,
                         const wf__io_type *type, char *to)
{
    enum { BLOCK = 512 };
    double block[BLOCK];
    bool same =
        source->dtype == type->dtype && type->bytes == wf_dtype_size(source->dtype) && type->stored != WF_STORED_U4;
    bool bytes_as_such = source->dtype == WF_BOOL && type->stored == WF_STORED_U8;
    if (same || bytes_as_such) {
        copy_strided(from, step, to, (int64_t)type->bytes, n, type->bytes);
    } else if ((source->dtype == WF_I64 || source->dtype == WF_U64) &&
               (type->stored == WF_STORED_I64 || type->stored == WF_STORED_U64)) {
        clamp_64(source->dtype, from, step, n, to);
    } else {
        for (int64_t i = 0; i < n; i += BLOCK) {
            int64_t part = n - i < BLOCK ? n - i : BLOCK;
            load_f64(source->dtype, from + i * step, step, part, block);
            store_f64(block, part, type->stored, to + i * (int64_t)type->bytes);
        }
    }
}

void wf__io_gather(const wf__io_source *source, int64_t first, int64_t count, const wf__io_type *type, void *to)
{
    if (count <= 0)
        return;
    int64_t index[WF_MAX_RANK], last = source->rank - 1, rest = first, line = 0; /* line: offset in bytes */
    for (int64_t d = last; d >= 0; d--) {
        index[d] = rest % source->extent[d];
        rest /= source->extent[d];
        line += index[d] * source->step[d];
    }
    char *out = to;
    while (count > 0) {
        int64_t n = source->extent[last] - index[last];
        if (n > count)
            n = count;
        convert_line(source, source->data + line, source->step[last], n, type, out);
        out += n * (int64_t)type->bytes;
        count -= n;
        line += (n - source->extent[last]) * source->step[last]; /* back to the start of the next line */
        index[last] = 0;
        for (int64_t d = last - 1; d >= 0; d--) {
            line += source->step[d];
            if (++index[d] < source->extent[d])
                break;
            line -= source->step[d] * source->extent[d];
            index[d] = 0;
        }
    }
}

/* ---- statistics ---- */

static void stored_to_f64(const wf__io_type *type, const char *from, int64_t n, double *to)
{
    if (type->stored == WF_STORED_F16)
        for (int64_t i = 0; i < n; i++) {
            uint16_t half;
            memcpy(&half, from + 2 * i, 2);
            to[i] = (double)wf__io_f16_to_f32(half);
        }
    else
        load_f64(type->dtype, from, (int64_t)type->bytes, n, to);
}

void wf__io_stats_add(wf__io_stats *stats, const wf__io_type *type, const void *values, int64_t count)
{
    enum { BLOCK = 1024 };
    double x[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int64_t part = count - at < BLOCK ? count - at : BLOCK, n = 0;
        stored_to_f64(type, (const char *)values + at * (int64_t)type->bytes, part, x);
        for (int64_t i = 0; i < part; i++) {
            x[n] = x[i];
            n += x[i] - x[i] == 0; /* only finite values stay */
        }
        if (!n)
            continue;
        double low = x[0], high = x[0], sum = 0, m2 = 0;
        for (int64_t i = 0; i < n; i++) {
            low = x[i] < low ? x[i] : low;
            high = x[i] > high ? x[i] : high;
            sum += x[i];
        }
        double mean = sum / (double)n;
        for (int64_t i = 0; i < n; i++)
            m2 += (x[i] - mean) * (x[i] - mean);
        /* Blocks are joined by Chan, Golub and LeVeque's update, which does not cancel. */
        double before = (double)stats->count, after = before + (double)n, delta = mean - stats->mean;
        stats->min = stats->count && stats->min < low ? stats->min : low;
        stats->max = stats->count && stats->max > high ? stats->max : high;
        stats->mean += delta * (double)n / after;
        stats->m2 += m2 + delta * delta * before * (double)n / after;
        stats->count += n;
    }
}
