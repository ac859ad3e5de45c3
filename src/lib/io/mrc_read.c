/* mrc_read.c - reads MRC files: checks the header, in either byte order, and interprets it; reads the samples in every
 * order of axes.
 */
#include "mrc.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool wfl_mrc_suffix_is_stack(const char *path)
{
    return wfl_io_suffix_is(path, ".mrcs") || wfl_io_suffix_is(path, ".st") || wfl_io_suffix_is(path, ".ali");
}

/* ---- reading the header ---- */

int32_t wfl_mrc_i32(const wfl_mrc_header *h, size_t at)
{
    int32_t value;
    memcpy(&value, h->bytes + at, 4);
    if (h->swap)
        wfl_io_swap(&value, 1, 4);
    return value;
}

double wfl_mrc_f32(const wfl_mrc_header *h, size_t at)
{
    float value;
    int32_t bits = wfl_mrc_i32(h, at);
    memcpy(&value, &bits, 4);
    return isfinite(value) ? (double)value : 0;
}

/* True for a mode of the format, including those that are not read here. */
static bool is_known_mode(int32_t mode)
{
    return (mode >= 0 && mode <= 4) || mode == 6 || mode == 7 || mode == 12 || mode == 16 || mode == 101;
}

/* Returns a score of how plausible the header is in this byte order. */
static int plausibility(wfl_mrc_header *h, bool swap)
{
    int score = 0;
    h->swap = swap;
    for (size_t i = 0; i < 3; i++) {
        int32_t extent = wfl_mrc_i32(h, AT_NX + 4 * i), map = wfl_mrc_i32(h, AT_MAPC + 4 * i);
        score += extent > 0 && extent < 1 << 24;
        score += map >= 0 && map <= 3;
    }
    return score + 4 * is_known_mode(wfl_mrc_i32(h, AT_MODE));
}

/* Takes the byte order of MACHST. If MACHST is unknown, or the mode makes no sense in its order, takes the order in
 * which the header is more plausible. */
static void find_byte_order(wfl_mrc_header *h)
{
    const uint8_t *stamp = h->bytes + AT_MACHST;
    bool stamp_little = stamp[0] == 0x44, stamp_big = stamp[0] == 0x11;
    bool swap = wfl_io_little_endian() ? stamp_big : stamp_little;
    h->swap = swap;
    if ((stamp_little || stamp_big) && is_known_mode(wfl_mrc_i32(h, AT_MODE)))
        return;
    int as_stamped = plausibility(h, swap), otherwise = plausibility(h, !swap);
    h->swap = otherwise > as_stamped ? !swap : swap;
}

static wf_status bad_field(const wfl_io_reader *r, const char *field, int64_t value, const char *must)
{
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "MRC header field %s is %lld (must be %s)", field, (long long)value,
                       must);
}

static wf_status read_mode(const wfl_io_reader *r, wfl_mrc_header *h)
{
    bool imod = wfl_mrc_i32(h, AT_IMOD_STAMP) == IMOD_STAMP;
    int32_t flags = imod ? wfl_mrc_i32(h, AT_IMOD_FLAGS) : IMOD_SIGNED;
    h->mode = wfl_mrc_i32(h, AT_MODE);
    if (!is_known_mode(h->mode))
        return bad_field(r, "MODE", h->mode, "0, 1, 2, 4, 6, 12 or 101");
    if (h->mode == 0 && (flags & IMOD_HALF_BYTES))
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "MRC header field IMODFLAGS is %d: mode 0 with two values in a byte is not supported",
                           flags);
    wf_stored stored = WF_STORED_DEFAULT;
    for (int i = 0; i < MODES; i++)
        if (mrc_modes[i].mode == h->mode && stored == WF_STORED_DEFAULT)
            stored = mrc_modes[i].stored;
    if (h->mode == 0 && !(flags & IMOD_SIGNED))
        stored = WF_STORED_U8;
    h->type = wfl_io_type_of(stored);
    if (!h->type)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "MRC header field MODE is %d, which is not supported (0, 1, 2, 4, 6, 12 and 101 are)",
                           h->mode);
    return WF_OK;
}

static wf_status read_axes(const wfl_io_reader *r, wfl_mrc_header *h)
{
    static const char *const names[3] = { "MAPC", "MAPR", "MAPS" };
    int32_t map[3];
    bool unset = true, seen[3] = { false };
    for (size_t i = 0; i < 3; i++) {
        map[i] = wfl_mrc_i32(h, AT_MAPC + 4 * i);
        unset = unset && map[i] == 0;
    }
    for (int i = 0; i < 3; i++) {
        if (unset)
            map[i] = i + 1; /* some old programs write 0 for all three */
        if (map[i] < 1 || map[i] > 3)
            return bad_field(r, names[i], map[i], "1, 2 or 3");
        if (seen[map[i] - 1])
            return bad_field(r, names[i], map[i], "another axis than the ones before it");
        seen[map[i] - 1] = true;
        h->axis[i] = map[i] - 1;
    }
    return WF_OK;
}

static wf_status read_stack(const wfl_io_reader *r, wfl_mrc_header *h)
{
    int32_t ispg = wfl_mrc_i32(h, AT_ISPG);
    bool sections_are_z = h->axis[2] == 2;
    h->volumes = 0;
    if (ispg >= 401 && ispg <= 630) {
        if (!sections_are_z)
            return bad_field(r, "MAPS", h->axis[2] + 1, "3 in a stack of volumes");
        if (h->m[2] < 1 || h->n[2] % h->m[2] != 0)
            return bad_field(r, "MZ", h->m[2], "a divisor of NZ in a stack of volumes (ISPG 401 to 630)");
        h->volumes = h->n[2] / h->m[2];
    }
    h->stack = h->volumes > 0 || (sections_are_z && h->n[2] > 1 && (ispg == 0 || wfl_mrc_suffix_is_stack(r->path)));
    return WF_OK;
}

/* Compares the size of the data with the length of the file, before anything is allocated. */
static wf_status check_size(wfl_io_reader *r, wfl_mrc_header *h)
{
    int32_t extended = wfl_mrc_i32(h, AT_NSYMBT);
    if (extended < 0 || extended > r->size - HEADER_BYTES)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO,
                           "MRC header field NSYMBT is %d (must be 0..%lld, what follows the header)", extended,
                           (long long)(r->size - HEADER_BYTES));
    h->data_at = HEADER_BYTES + (int64_t)extended;
    int64_t present = r->size - h->data_at;
    int64_t line = h->type->stored == WF_STORED_U4 ? ((int64_t)h->n[0] + 1) / 2
                                                   : (int64_t)h->n[0] * (int64_t)h->type->bytes * h->type->parts;
    int64_t needed = 0;
    bool fits = wfl_io_mul(line, h->n[1], &needed) && wfl_io_mul(needed, h->n[2], &needed);
    if (fits && needed <= present)
        return WF_OK;
    char amount[32] = "more than 2^63";
    if (fits)
        snprintf(amount, sizeof amount, "%lld", (long long)needed);
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO,
                       "MRC header fields NX, NY, NZ are %d, %d, %d in mode %d: that is %s bytes of data, "
                       "but %s %lld",
                       h->n[0], h->n[1], h->n[2], h->mode, amount, wfl_io_holds(r), (long long)present);
}

wf_status wfl_mrc_read_header(wfl_io_reader *r, wfl_mrc_header *h)
{
    static const char *const names[3] = { "NX", "NY", "NZ" };
    memset(h, 0, sizeof *h);
    if (r->size < HEADER_BYTES)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_IO,
                           "MRC header is cut: the file has %lld bytes (must be at least %d)", (long long)r->size,
                           HEADER_BYTES);
    wf_status status = wfl_io_read_at(r, 0, h->bytes, HEADER_BYTES);
    if (status != WF_OK)
        return status;
    find_byte_order(h);
    for (size_t i = 0; i < 3; i++) {
        h->n[i] = wfl_mrc_i32(h, AT_NX + 4 * i);
        h->m[i] = wfl_mrc_i32(h, AT_M + 4 * i);
        h->start[i] = wfl_mrc_i32(h, AT_NSTART + 4 * i);
    }
    status = read_mode(r, h);
    for (int i = 0; i < 3 && status == WF_OK; i++)
        if (h->n[i] < 1)
            status = bad_field(r, names[i], h->n[i], "1..2^31-1");
    if (status == WF_OK)
        status = read_axes(r, h);
    if (status == WF_OK)
        status = read_stack(r, h);
    if (status == WF_OK)
        status = check_size(r, h);
    return status;
}

/* ---- meaning of the header ---- */

/* Reads the labels below NLABL: printable text, without the spaces at its end. */
static void read_labels(const wfl_mrc_header *h, wf_meta *meta)
{
    int32_t labels = wfl_mrc_i32(h, AT_NLABL);
    for (int32_t i = 0; i < labels && i < WF_MRC_LABELS; i++) {
        const uint8_t *from = h->bytes + AT_LABEL + LABEL_BYTES * (size_t)i;
        char *to = meta->labels[i];
        size_t n = 0;
        for (size_t c = 0; c < LABEL_BYTES && from[c]; c++) {
            to[c] = from[c] < ' ' || from[c] == 127 ? ' ' : (char)from[c];
            if (to[c] != ' ')
                n = c + 1;
        }
        to[n] = 0;
    }
}

/* Reads the cell's angles and the volume's place in the cell. Values that make no sense stay 0. */
static void read_cell(const wfl_mrc_header *h, wf_meta *meta)
{
    for (size_t i = 0; i < 3; i++) {
        double angle = wfl_mrc_f32(h, AT_CELLB + 4 * i);
        meta->angles[i] = angle > 0 && angle < 180 ? angle : 0;
    }
    if (h->stack && !h->volumes)
        return;
    for (int file_axis = 0; file_axis < 3; file_axis++) {
        int x = h->axis[file_axis];
        meta->extent[2 - x] = h->volumes && x == 2 ? h->n[file_axis] / h->volumes : h->n[file_axis];
        meta->cell[2 - x] = h->m[x] > 0 ? h->m[x] : 0;
        meta->start[2 - x] = h->start[file_axis];
    }
    int32_t group = wfl_mrc_i32(h, AT_ISPG) - (h->volumes ? 400 : 0);
    meta->space_group = group >= 1 && group <= 230 ? group : 0;
}

static void read_geometry(const wfl_mrc_header *h, wf_meta *meta)
{
    double origin[3];
    bool imod_origin = wfl_mrc_i32(h, AT_IMOD_STAMP) == IMOD_STAMP && wfl_mrc_i32(h, AT_NVERSION) == 0 &&
                       !(wfl_mrc_i32(h, AT_IMOD_FLAGS) & IMOD_STANDARD_ORIGIN);
    for (size_t x = 0; x < 3; x++) {
        double cell = wfl_mrc_f32(h, AT_CELLA + 4 * x);
        meta->spacing[2 - x] = cell > 0 && h->m[x] > 0 ? cell / h->m[x] : 0;
        origin[x] = wfl_mrc_f32(h, AT_ORIGIN + 4 * x);
        if (imod_origin && origin[x] != 0)
            origin[x] = -origin[x];
    }
    bool given = origin[0] != 0 || origin[1] != 0 || origin[2] != 0;
    for (int file_axis = 0; file_axis < 3; file_axis++) {
        int x = h->axis[file_axis];
        meta->origin[2 - x] = given ? origin[x] : h->start[file_axis] * meta->spacing[2 - x];
    }
    meta->is_stack = h->stack;
    meta->stored = h->type->stored;
}

/* Sets the array's shape, and which of its axes each of the file's is: volumes, sections, rows, columns, parts. */
static void plan(const wfl_mrc_header *h, wfl_io_image *image, wfl_io_layout *layout)
{
    int64_t extent[3]; /* of x, y, z */
    for (int i = 0; i < 3; i++)
        extent[h->axis[i]] = h->n[i];
    wf_shape *shape = &image->shape;
    *shape = (wf_shape){ 0 };
    *layout = (wfl_io_layout){ .type = h->type, .swap = h->swap, .offset = h->data_at };
    if (h->volumes) {
        extent[2] /= h->volumes;
        shape->dim[shape->rank++] = h->volumes;
        layout->axis[layout->rank] = 0;
        layout->extent[layout->rank++] = h->volumes;
    }
    if (h->volumes || extent[2] > 1)
        shape->dim[shape->rank++] = extent[2];
    shape->dim[shape->rank++] = extent[1];
    shape->dim[shape->rank++] = extent[0];
    image->dtype = wfl_io_loaded_as(h->type);
    for (int i = 2; i >= 0; i--) {
        int x = h->axis[i];
        layout->axis[layout->rank] = shape->rank - 1 - x; /* -1 for z of an image */
        layout->extent[layout->rank++] = extent[x];
    }
    if (h->type->parts > 1) {
        layout->axis[layout->rank] = WFL_NO_AXIS;
        layout->extent[layout->rank++] = h->type->parts;
    }
    wfl_io_layout_dense(layout);
}

/* Reads the size and the type of the extended header. Bytes of the type that are not printable become spaces. */
static void read_extended(const wfl_mrc_header *h, wf_meta *meta)
{
    meta->extended_bytes = wfl_mrc_i32(h, AT_NSYMBT);
    for (int i = 0; i < 4 && meta->extended_bytes; i++) {
        uint8_t c = h->bytes[AT_EXTTYP + i];
        meta->extended_type[i] = c > ' ' && c < 127 ? (char)c : ' ';
    }
    for (int i = 3; i >= 0 && (meta->extended_type[i] == ' '); i--)
        meta->extended_type[i] = 0;
}

wf_status wfl_mrc_open(wfl_io_input *in)
{
    wfl_mrc_header h;
    wf_status status = wfl_mrc_read_header(&in->reader, &h);
    if (status != WF_OK)
        return status;
    plan(&h, &in->image, &in->layout);
    read_geometry(&h, &in->image.meta);
    read_cell(&h, &in->image.meta);
    read_labels(&h, &in->image.meta);
    read_extended(&h, &in->image.meta);
    return WF_OK;
}
