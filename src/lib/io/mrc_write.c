/* mrc_write.c - writes MRC files: the header comes after the samples, as it has their statistics. An extended header is
 * copied from another file.
 */
#include "mrc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct geometry {
    int32_t n[3], m[3], start[3], ispg; /* x, y, z */
    double origin[3];                   /* x, y, z */
} geometry;

/* Keeps the place of an image or volume in its cell if the array has the extents that meta describes. */
static void place_in_cell(geometry *g, const wf_meta *meta, const int64_t *dim, int rank)
{
    bool same = true, only_start = true, zero = true, many = rank == 4;
    for (int d = 0; d < 3; d++) {
        same = same && meta->extent[d] == (rank == 2 && d == 0 ? 1 : dim[rank - 3 + d]);
        only_start = only_start && meta->origin[d] == meta->start[d] * meta->spacing[d];
        zero = zero && meta->origin[d] == 0;
    }
    if (!same)
        return;
    if (meta->space_group)
        g->ispg = meta->space_group + (many ? 400 : 0);
    for (int x = 0; x < 3; x++) {
        if (meta->cell[2 - x] && !(x == 2 && (many || g->ispg == 0))) /* MZ: of one volume of a stack; 1 for images */
            g->m[x] = meta->cell[2 - x];
        if (only_start || !zero) /* readers take an ORIGIN of zeros as NSTART */
            g->start[x] = meta->start[2 - x];
        if (only_start)
            g->origin[x] = 0;
    }
}

static wf_status shape_to_geometry(const wfl_io_source *source, const wf_meta *meta, int rank, geometry *g)
{
    const int64_t *dim = source->shape.dim;
    if (rank < 2 || rank > 4)
        return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "MRC holds images, volumes and stacks of them (rank 2 to 4); this array has rank %d", rank);
    int64_t depth = rank >= 3 ? dim[rank - 3] : 1, sections = depth;
    for (int d = 0; d < rank; d++)
        if (dim[d] < 1 || dim[d] > INT32_MAX)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE, "extent %lld of axis %d (MRC holds 1..2^31-1)",
                               (long long)dim[d], d);
    if (rank == 4 && (!wfl_io_mul(depth, dim[0], &sections) || sections > INT32_MAX))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "%lld volumes of %lld sections are more sections than MRC holds (2^31-1)", (long long)dim[0],
                           (long long)depth);
    bool stack = meta->is_stack || wfl_mrc_suffix_is_stack(source->path);
    g->n[0] = g->m[0] = (int32_t)dim[rank - 1];
    g->n[1] = g->m[1] = (int32_t)dim[rank - 2];
    g->n[2] = (int32_t)sections;
    g->ispg = rank == 2 ? 0 : rank == 4 ? 401 : stack ? 0 : 1;
    g->m[2] = g->ispg == 0 ? 1 : (int32_t)depth;
    for (int x = 0; x < 3; x++)
        g->origin[x] = meta->origin[2 - x];
    if (rank != 3 || !stack)
        place_in_cell(g, meta, dim, rank);
    return WF_OK;
}

static void put_i32(uint8_t *bytes, size_t at, int32_t value) { memcpy(bytes + at, &value, 4); }

static void put_f32(uint8_t *bytes, size_t at, double value)
{
    float narrow = (float)value;
    memcpy(bytes + at, &narrow, 4);
}

/* Writes the labels of meta and, once, Weft's own after them; if there are ten, it replaces the last one. */
static void put_labels(uint8_t *bytes, const wf_meta *meta)
{
    char own[LABEL_BYTES + 1], text[WF_MRC_LABELS][LABEL_BYTES + 1];
    int n = 0;
    snprintf(own, sizeof own, "Weft %s", wf_version());
    for (int i = 0; i < WF_MRC_LABELS; i++)
        if (*meta->labels[i])
            snprintf(text[n++], sizeof *text, "%.80s", meta->labels[i]);
    if (n == 0 || strcmp(text[n - 1], own) != 0) {
        n += n < WF_MRC_LABELS;
        memcpy(text[n - 1], own, sizeof own);
    }
    put_i32(bytes, AT_NLABL, n);
    for (int i = 0; i < n; i++) {
        uint8_t *to = bytes + AT_LABEL + LABEL_BYTES * (size_t)i;
        memset(to, ' ', LABEL_BYTES);
        memcpy(to, text[i], strlen(text[i]));
    }
}

/* Fills in a header, which is zero but for the fields of the extended header. */
static void fill_header(uint8_t bytes[HEADER_BYTES], const geometry *g, const wfl_io_type *type, const wf_meta *meta,
                        const wfl_io_stats *stats)
{
    for (int i = 0; i < MODES; i++)
        if (mrc_modes[i].stored == type->stored)
            put_i32(bytes, AT_MODE, mrc_modes[i].mode);
    for (size_t x = 0; x < 3; x++) {
        put_i32(bytes, AT_NX + 4 * x, g->n[x]);
        put_i32(bytes, AT_M + 4 * x, g->m[x]);
        put_f32(bytes, AT_CELLA + 4 * x, meta->spacing[2 - x] * g->m[x]);
        put_f32(bytes, AT_CELLB + 4 * x, meta->angles[x] > 0 ? meta->angles[x] : 90);
        put_i32(bytes, AT_NSTART + 4 * x, g->start[x]);
        put_i32(bytes, AT_MAPC + 4 * x, (int32_t)x + 1);
        put_f32(bytes, AT_ORIGIN + 4 * x, g->origin[x]);
    }
    /* If there are no finite values, or complex ones, max < min and a mean below both mean "not determined". */
    bool known = stats->count > 0;
    put_f32(bytes, AT_DMIN, known ? stats->min : 0);
    put_f32(bytes, AT_DMAX, known ? stats->max : -1);
    put_f32(bytes, AT_DMEAN, known ? stats->mean : -2);
    put_f32(bytes, AT_RMS, known ? sqrt(stats->m2 / (double)stats->count) : -1);
    put_i32(bytes, AT_ISPG, g->ispg);
    put_i32(bytes, AT_NVERSION, 20141);
    if (type->stored == WF_STORED_U8) {
        put_i32(bytes, AT_IMOD_STAMP, IMOD_STAMP);
        put_i32(bytes, AT_IMOD_FLAGS, IMOD_STANDARD_ORIGIN);
    }
    memcpy(bytes + AT_MAP, "MAP ", 4);
    static const uint8_t little[2] = { 0x44, 0x44 }, big[2] = { 0x11, 0x11 };
    memcpy(bytes + AT_MACHST, wfl_io_little_endian() ? little : big, 2);
    put_labels(bytes, meta);
}

/* ---- extended headers ---- */

/* The extended header that a saved file takes over from another one. */
typedef struct extended {
    wfl_io_reader from;
    wfl_mrc_header of; /* the header of that file */
    int32_t bytes;     /* 0 = none: `from` is not open */
    bool text;         /* it has no byte order */
} extended;

/* True if all bytes of the extended header are text, such as the symmetry operators of a crystal. */
static wf_status is_text(wfl_io_reader *r, int32_t bytes, uint8_t *buffer, bool *text)
{
    *text = true;
    for (int64_t at = 0; at < bytes && *text;) {
        size_t n = bytes - at < (int64_t)IO_CHUNK ? (size_t)(bytes - at) : IO_CHUNK;
        wf_status status = wfl_io_read_at(r, HEADER_BYTES + at, buffer, n);
        if (status != WF_OK)
            return status;
        for (size_t i = 0; i < n && *text; i++)
            *text = (buffer[i] >= ' ' && buffer[i] < 127) || buffer[i] == 0 || (buffer[i] >= '\t' && buffer[i] <= '\r');
        at += (int64_t)n;
    }
    return WF_OK;
}

/* Opens the file that meta->extended_from names, if its extended header fits the new file: the extents are the
 * same, and the numbers in it have the byte order and count the sections of the new file. Text depends on neither. */
static wf_status open_extended(const wfl_io_source *source, const wf_meta *meta, const geometry *g, int rank,
                               uint8_t *buffer, extended *e)
{
    *e = (extended){ 0 };
    if (!meta->extended_from)
        return WF_OK;
    wf_status status = wfl_io_open(source->ctx, meta->extended_from, &e->from);
    if (status != WF_OK)
        return status;
    status = wfl_mrc_read_header(&e->from, &e->of);
    const wfl_mrc_header *h = &e->of;
    bool same = status == WF_OK && (rank == 4) == (h->volumes > 0) && (rank != 4 || h->m[2] == g->m[2]),
         in_order = true;
    for (int i = 0; i < 3 && same; i++) {
        same = h->n[i] == g->n[h->axis[i]];
        in_order = in_order && h->axis[i] == i;
    }
    int32_t bytes = same ? wfl_mrc_i32(h, AT_NSYMBT) : 0;
    if (bytes)
        status = is_text(&e->from, bytes, buffer, &e->text);
    if (status == WF_OK && (e->text || (in_order && !h->swap)))
        e->bytes = bytes;
    if (!e->bytes)
        wfl_io_close(&e->from);
    return status;
}

/* Copies the extended header to the writer, and what the header says of it to `head`. Closes the file. */
static wf_status copy_extended(extended *e, wfl_io_writer *writer, uint8_t *buffer, uint8_t head[HEADER_BYTES])
{
    wf_status status = WF_OK;
    writer->pos = HEADER_BYTES;
    for (int64_t at = 0; at < e->bytes && status == WF_OK;) {
        size_t n = e->bytes - at < (int64_t)IO_CHUNK ? (size_t)(e->bytes - at) : IO_CHUNK;
        status = wfl_io_read_at(&e->from, HEADER_BYTES + at, buffer, n);
        if (status == WF_OK && !wfl_io_write(writer, buffer, n))
            break; /* wfl_io_finish reports it */
        at += (int64_t)n;
    }
    if (e->bytes) {
        put_i32(head, AT_NSYMBT, e->bytes);
        memcpy(head + AT_EXTTYP, e->of.bytes + AT_EXTTYP, 4);
        if (!e->of.swap)
            memcpy(head + AT_NINT, e->of.bytes + AT_NINT, 4);
        wfl_io_close(&e->from);
    }
    return status;
}

/* ---- the file ---- */

typedef struct mrc_output {
    geometry g;
    wfl_io_stats stats;
    uint8_t head[HEADER_BYTES];
} mrc_output;

wf_status wfl_mrc_create(wfl_io_output *out)
{
    const wfl_io_source *what = &out->what;
    const wfl_io_type *type;
    int rank;
    mrc_output *m = out->state = calloc(1, sizeof *m);
    if (!m)
        return wfl_io_fail_memory(what->ctx, what->path, (int64_t)sizeof *m);
    uint32_t allowed = 0;
    for (int i = 0; i < MODES; i++)
        allowed |= 1u << mrc_modes[i].stored;
    wf_status status = wfl_io_choose_type(
        what, &out->meta, "MRC", allowed, IO_BIT(I8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(F16) | IO_BIT(F32),
        what->dtype == WF_BOOL || what->dtype == WF_U8 ? WF_STORED_U16 : WF_STORED_F32,
        " (modes: i8, u8, i16, u16, f16, f32, c64, u4)", &type, &rank);
    if (status == WF_OK)
        status = shape_to_geometry(what, &out->meta, rank, &m->g);
    extended e = { 0 };
    if (status == WF_OK)
        status = open_extended(what, &out->meta, &m->g, rank, out->buffer, &e);
    if (status != WF_OK)
        return status;
    wf_shape shape = what->shape;
    shape.rank = rank;
    out->stats = &m->stats;
    out->layout = (wfl_io_layout){ .type = type, .offset = HEADER_BYTES + (int64_t)e.bytes };
    wfl_io_layout_c(&out->layout, &shape);
    status = wfl_io_output_create(out);
    if (status == WF_OK)
        return copy_extended(&e, &out->writer, out->buffer, m->head);
    if (e.bytes)
        wfl_io_close(&e.from);
    return status;
}

wf_status wfl_mrc_finish(wfl_io_output *out, wf_status status)
{
    mrc_output *m = out->state;
    if (status == WF_OK && !out->writer.code)
        status = wfl_io_output_stats(out);
    if (status == WF_OK && !out->writer.code) {
        fill_header(m->head, &m->g, out->layout.type, &out->meta, &m->stats);
        out->writer.pos = 0;
        wfl_io_write(&out->writer, m->head, HEADER_BYTES);
    }
    free(m);
    return status;
}

/* ---- a file that grows ---- */

/* Joins the statistics of the values in the file with those of the new ones. A header that says that its own are not
 * determined stays as it is. */
static void join_stats(const wfl_mrc_header *h, double before, const wfl_io_stats *stats, uint8_t *head)
{
    double min = wfl_mrc_f32(h, AT_DMIN), max = wfl_mrc_f32(h, AT_DMAX), mean = wfl_mrc_f32(h, AT_DMEAN);
    double rms = wfl_mrc_f32(h, AT_RMS), added = (double)stats->count;
    if (max < min || !stats->count)
        return;
    put_f32(head, AT_DMIN, stats->min < min ? stats->min : min);
    put_f32(head, AT_DMAX, stats->max > max ? stats->max : max);
    if (mean < min || mean > max)
        return;
    double all = before + added, apart = stats->mean - mean;
    put_f32(head, AT_DMEAN, mean + apart * added / all);
    if (rms >= 0)
        put_f32(head, AT_RMS, sqrt((before * rms * rms + stats->m2 + apart * apart * before * added / all) / all));
}

wf_status wfl_mrc_grow(wfl_io_input *in, int64_t count, const wfl_io_stats *stats, uint8_t *head, size_t *bytes)
{
    wfl_io_reader *r = &in->reader;
    wfl_mrc_header h;
    wf_status status = wfl_mrc_read_header(r, &h);
    if (status != WF_OK)
        return status;
    if (!h.stack && h.n[2] > 1)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "nothing can be appended: the file holds a volume, not a stack: MRC header field ISPG is %d "
                           "(0: a stack), and the suffix is not .mrcs, .st or .ali",
                           wfl_mrc_i32(&h, AT_ISPG));
    int64_t sections;
    bool fits = wfl_io_mul(count, h.volumes ? h.m[2] : 1, &sections) && sections <= INT32_MAX - h.n[2];
    if (!fits)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_SHAPE,
                           "%lld more images or volumes are more sections than MRC holds (NZ is %d, at most 2^31-1)",
                           (long long)count, h.n[2]);
    memcpy(head, h.bytes, HEADER_BYTES);
    int32_t nz = h.n[2] + (int32_t)sections;
    put_i32(head, AT_NZ, nz);
    if (!h.volumes && h.n[2] == 1) {
        put_i32(head, AT_ISPG, 0);               /* an image becomes a stack */
    } else if (!h.volumes && h.m[2] == h.n[2]) { /* a stack whose header says that z counts sections */
        put_i32(head, AT_M + 8, nz);
        put_f32(head, AT_CELLA + 8, wfl_mrc_f32(&h, AT_CELLA + 8) * nz / h.n[2]);
    }
    if (h.type->parts == 1)
        join_stats(&h, (double)h.n[0] * h.n[1] * h.n[2], stats, head);
    *bytes = HEADER_BYTES;
    return WF_OK;
}
