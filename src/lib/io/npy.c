/* npy.c - NumPy's .npy files, versions 1.0, 2.0 and 3.0.
 *
 * A file is "\x93NUMPY", two bytes of version, the length of a header (2 or 4 bytes, little-endian), the header (a
 * Python dictionary literal with the keys descr, fortran_order and shape), and the samples. The header is parsed
 * strictly: it accepts what numpy.save writes, and evaluates nothing. Reference:
 * numpy.org/doc/stable/reference/generated/numpy.lib.format.
 */
#include "io_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 65536, TEXT = 40 };

/* Kind and size of a descr, and the stored type. */
static const struct {
    char descr[4];
    wf_stored stored;
} descrs[] = { { "b1", WF_STORED_BOOL }, { "i1", WF_STORED_I8 },   { "u1", WF_STORED_U8 },  { "i2", WF_STORED_I16 },
               { "u2", WF_STORED_U16 },  { "i4", WF_STORED_I32 },  { "u4", WF_STORED_U32 }, { "i8", WF_STORED_I64 },
               { "u8", WF_STORED_U64 },  { "f2", WF_STORED_F16 },  { "f4", WF_STORED_F32 }, { "f8", WF_STORED_F64 },
               { "c8", WF_STORED_C64 },  { "c16", WF_STORED_C128 } };
enum { DESCRS = sizeof descrs / sizeof *descrs };

typedef struct header {
    const wfl_io_type *type;
    bool swap, fortran;
    int rank; /* of the file, without the axis of complex parts */
    int64_t dim[WF_MAX_RANK];
    int64_t data_at;
} header;

static bool npy_match(const uint8_t *head, size_t bytes) { return bytes >= 8 && memcmp(head, "\x93NUMPY", 6) == 0; }

/* ---- the dictionary ---- */

typedef struct parser {
    const wfl_io_reader *reader;
    const char *at, *end;
} parser;

/* Fails with the text at the parser's place, cut. */
static wf_status unexpected(const parser *p, const char *wanted)
{
    char found[TEXT];
    size_t n = (size_t)(p->end - p->at) < sizeof found - 1 ? (size_t)(p->end - p->at) : sizeof found - 1;
    memcpy(found, p->at, n);
    found[n] = 0;
    return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_IO, "NPY header: expected %s, found \"%s\"", wanted,
                       found);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

/* Skips space, and takes `c` if it follows. */
static bool accept(parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool accept_word(parser *p, const char *word)
{
    size_t n = strlen(word);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* Reads 'text' or "text", without escapes. */
static bool parse_string(parser *p, char text[TEXT])
{
    skip_space(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return false;
    const char *start = p->at + 1;
    const char *stop = memchr(start, *p->at, (size_t)(p->end - start));
    if (!stop || stop - start >= TEXT)
        return false;
    memcpy(text, start, (size_t)(stop - start));
    text[stop - start] = 0;
    p->at = stop + 1;
    return true;
}

static wf_status parse_descr(parser *p, header *h)
{
    char text[TEXT];
    skip_space(p);
    if (p->at < p->end && *p->at == '[')
        return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_UNSUPPORTED,
                           "NPY header field descr is a structure, which is not supported");
    if (!parse_string(p, text))
        return unexpected(p, "a string for 'descr'");
    wf_stored stored = WF_STORED_DEFAULT;
    if (text[0] && strchr("<>|=", text[0]))
        for (int i = 0; i < DESCRS; i++)
            if (strcmp(text + 1, descrs[i].descr) == 0)
                stored = descrs[i].stored;
    h->type = wfl_io_type_of(stored);
    if (!h->type || (text[0] == '|' && h->type->bytes > 1))
        return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_UNSUPPORTED,
                           "NPY header field descr is '%s' (supported: < or > with b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 "
                           "c8 c16)",
                           text);
    h->swap = text[0] == (wfl_io_little_endian() ? '>' : '<');
    return WF_OK;
}

static wf_status parse_shape(parser *p, header *h)
{
    if (!accept(p, '('))
        return unexpected(p, "a tuple for 'shape'");
    h->rank = 0;
    bool comma = true;
    while (!accept(p, ')')) {
        if (!comma)
            return unexpected(p, "',' or ')' in 'shape'");
        if (p->at == p->end || *p->at < '0' || *p->at > '9')
            return unexpected(p, "an extent in 'shape'");
        int64_t value = 0;
        const char *start = p->at;
        for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
            if (!wfl_io_mul(value, 10, &value) || value > INT64_MAX - (*p->at - '0')) {
                p->at = start;
                return unexpected(p, "an extent below 2^63 in 'shape'");
            } else {
                value += *p->at - '0';
            }
        if (p->at < p->end && *p->at == 'L')
            p->at++; /* the L of Python 2's long integers */
        if (h->rank == WF_MAX_RANK)
            return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_UNSUPPORTED,
                               "NPY header field shape has more than %d axes", WF_MAX_RANK);
        h->dim[h->rank++] = value;
        comma = accept(p, ',');
    }
    return h->rank == 1 && !comma ? unexpected(p, "a tuple, not a number in parentheses, for 'shape'") : WF_OK;
}

static wf_status parse_bool(parser *p, bool *value)
{
    *value = accept_word(p, "True");
    return *value || accept_word(p, "False") ? WF_OK : unexpected(p, "True or False for 'fortran_order'");
}

static wf_status parse_dictionary(parser *p, header *h)
{
    static const char *const keys[3] = { "descr", "fortran_order", "shape" };
    bool seen[3] = { false }, comma = true;
    if (!accept(p, '{'))
        return unexpected(p, "'{'");
    while (!accept(p, '}')) {
        char text[TEXT];
        int key = 0;
        if (!comma || !parse_string(p, text))
            return unexpected(p, comma ? "a key" : "',' or '}'");
        while (key < 3 && strcmp(text, keys[key]) != 0)
            key++;
        if (key == 3 || seen[key])
            return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_IO, "NPY header: key '%s' is %s", text,
                               key == 3 ? "unknown" : "given twice");
        seen[key] = true;
        if (!accept(p, ':'))
            return unexpected(p, "':'");
        wf_status status = key == 0 ? parse_descr(p, h) : key == 1 ? parse_bool(p, &h->fortran) : parse_shape(p, h);
        if (status != WF_OK)
            return status;
        comma = accept(p, ',');
    }
    skip_space(p);
    if (p->at != p->end)
        return unexpected(p, "nothing after '}'");
    for (int key = 0; key < 3; key++)
        if (!seen[key])
            return wfl_io_fail(p->reader->ctx, p->reader->path, WF_ERR_IO, "NPY header: key '%s' is missing",
                               keys[key]);
    return WF_OK;
}

/* ---- header ---- */

static wf_status check_size(const wfl_io_reader *r, const header *h)
{
    int64_t present = r->size - h->data_at, bytes = (int64_t)h->type->bytes * h->type->parts;
    bool empty = false, fits = true;
    for (int d = 0; d < h->rank; d++) {
        if (h->dim[d] == 0)
            empty = true;
        else
            fits = fits && wfl_io_mul(bytes, h->dim[d], &bytes);
    }
    if (fits && (empty || bytes <= present))
        return WF_OK;
    char amount[32] = "more than 2^63";
    if (fits)
        snprintf(amount, sizeof amount, "%lld", (long long)bytes);
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "NPY header field shape asks for %s bytes of data, but %s %lld",
                       amount, wfl_io_holds(r), (long long)present);
}

static wf_status read_header(wfl_io_reader *r, header *h)
{
    uint8_t start[12];
    memset(h, 0, sizeof *h);
    if (r->size < 10)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "NPY header is cut: the file has %lld bytes",
                           (long long)r->size);
    wf_status status = wfl_io_read_at(r, 0, start, r->size < 12 ? 10 : 12);
    if (status != WF_OK)
        return status;
    if (!npy_match(start, 10))
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "not an NPY file: its signature is missing");
    int major = start[6];
    if (major < 1 || major > 3 || start[7] != 0 || (major > 1 && r->size < 12))
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "NPY version is %d.%d (must be 1.0, 2.0 or 3.0)", major,
                           start[7]);
    int64_t at = major == 1 ? 10 : 12, length = start[8] | start[9] << 8;
    if (major > 1)
        length |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    if (length > MAX_HEADER || length > r->size - at)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "NPY header length is %lld (must be 0..%lld)", (long long)length,
                           (long long)(r->size - at < MAX_HEADER ? r->size - at : MAX_HEADER));
    char *text = malloc((size_t)length + 1);
    if (!text)
        return wfl_io_fail_memory(r->ctx, r->path, length);
    status = wfl_io_read_at(r, at, text, (size_t)length);
    if (status == WF_OK) {
        parser p = { .reader = r, .at = text, .end = text + length };
        h->data_at = at + length;
        status = parse_dictionary(&p, h);
    }
    free(text);
    if (status == WF_OK && h->type->parts > 1 && h->rank == WF_MAX_RANK)
        status =
            wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                        "NPY header field shape has %d axes of complex values (at most %d)", h->rank, WF_MAX_RANK - 1);
    return status == WF_OK ? check_size(r, h) : status;
}

static void describe(const header *h, wfl_io_image *image)
{
    image->dtype = wfl_io_loaded_as(h->type);
    image->meta.stored = h->type->stored;
    image->shape = (wf_shape){ .rank = h->rank };
    memcpy(image->shape.dim, h->dim, sizeof h->dim);
}

static wf_status npy_open(wfl_io_input *in)
{
    header h;
    wf_status status = read_header(&in->reader, &h);
    if (status != WF_OK)
        return status;
    describe(&h, &in->image);
    wfl_io_layout *l = &in->layout;
    *l = (wfl_io_layout){ .type = h.type, .swap = h.swap, .offset = h.data_at };
    wfl_io_layout_c(l, &in->image.shape);
    if (h.fortran) { /* the first axis varies fastest; the parts of a complex number stay together */
        for (int d = 0; d < h.rank; d++) {
            l->axis[d] = h.rank - 1 - d;
            l->extent[d] = h.dim[l->axis[d]];
        }
        wfl_io_layout_dense(l);
    }
    return WF_OK;
}

/* ---- saving ---- */

/* Writes the dictionary, without spaces at its end. Returns its length. */
static size_t make_dictionary(const wf_shape *shape, const wfl_io_type *type, int rank, char text[400])
{
    const char *descr = "";
    for (int i = 0; i < DESCRS; i++)
        if (descrs[i].stored == type->stored)
            descr = descrs[i].descr;
    char order = type->bytes == 1 ? '|' : wfl_io_little_endian() ? '<' : '>';
    int used = snprintf(text, 100, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, descr);
    for (int d = 0; d < rank; d++)
        used += snprintf(text + used, 32, d ? ", %lld" : "%lld", (long long)shape->dim[d]);
    used += snprintf(text + used, 32, rank == 1 ? ",), }" : "), }");
    return (size_t)used;
}

/* Writes a header of version 1.0, after which the data begins at a multiple of 64, with room for a first extent of 20
 * digits, as NumPy does. Returns its length. */
static size_t make_header(const wfl_io_source *source, const wfl_io_type *type, int rank, char head[512])
{
    size_t used = 10 + make_dictionary(&source->shape, type, rank, head + 10), room = 20;
    for (int64_t n = rank ? source->shape.dim[0] : 0; n > 0 && room > 0; n /= 10)
        room--;
    size_t length = (used + room + 1 + 63) / 64 * 64;
    memset(head + used, ' ', length - used);
    head[length - 1] = '\n';
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)((length - 10) & 255);
    head[9] = (char)((length - 10) >> 8);
    return length;
}

static wf_status npy_create(wfl_io_output *out)
{
    const wfl_io_type *type;
    int rank;
    uint32_t allowed = 0;
    for (int i = 0; i < DESCRS; i++)
        allowed |= 1u << descrs[i].stored;
    wf_status status =
        wfl_io_choose_type(&out->what, &out->meta, "NPY", allowed, allowed, WF_STORED_F32, "", &type, &rank);
    if (status != WF_OK)
        return status;
    char head[512];
    wf_shape shape = out->what.shape;
    shape.rank = rank;
    out->layout = (wfl_io_layout){ .type = type, .offset = (int64_t)make_header(&out->what, type, rank, head) };
    wfl_io_layout_c(&out->layout, &shape);
    status = wfl_io_output_create(out);
    if (status == WF_OK)
        wfl_io_write(&out->writer, head, (size_t)out->layout.offset);
    return status;
}

static wf_status npy_grow(wfl_io_input *in, int64_t count, const wfl_io_stats *stats, uint8_t *head, size_t *bytes)
{
    wfl_io_reader *r = &in->reader;
    char text[400];
    wf_shape shape = in->image.shape;
    (void)stats;
    shape.dim[0] += count;
    size_t used = make_dictionary(&shape, in->layout.type, shape.rank, text), all = (size_t)in->layout.offset;
    wf_status status = wfl_io_read_at(r, 0, head, all);
    if (status != WF_OK)
        return status;
    size_t at = head[6] == 1 ? 10 : 12, room = all - at;
    if (used + 1 > room)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "NPY header length is %zu: it has no room for shape[0] = %lld: save the file anew", room,
                           (long long)shape.dim[0]);
    memset(head + at, ' ', room);
    memcpy(head + at, text, used);
    head[all - 1] = '\n';
    *bytes = all;
    return WF_OK;
}

const wfl_io_format wfl_io_npy = { .format = WF_FORMAT_NPY,
                                   .name = "NPY",
                                   .suffixes = { ".npy" },
                                   .gzip = true,
                                   .match = npy_match,
                                   .open = npy_open,
                                   .create = npy_create,
                                   .grow = npy_grow };
