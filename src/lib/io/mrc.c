/* mrc.c - MRC files: the CCP4/EMDB map format, its MRC2014 revision and IMOD's additions.
 *
 * A file is a header of 1024 bytes, an extended header of NSYMBT bytes (only copied), and the sections. Column, row and
 * section are the file's axes; MAPC, MAPR and MAPS say which of x, y, z each of them is.
 * References: Cheng et al. 2015, J. Struct. Biol. 192, 146 (MRC2014); ccpem.ac.uk/mrc_format/mrc2014.php;
 * bio3d.colorado.edu/imod/doc/mrc_format.txt.
 */
#include "io_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 1024, LABEL_BYTES = 80, IMOD_STAMP = 1146047817 };
enum { IMOD_SIGNED = 1, IMOD_STANDARD_ORIGIN = 4, IMOD_HALF_BYTES = 16 };
/* Offsets of fields. */
enum {
    AT_NX = 0,
    AT_NY = 4,
    AT_NZ = 8,
    AT_MODE = 12,
    AT_NSTART = 16,
    AT_M = 28,
    AT_CELLA = 40,
    AT_CELLB = 52,
    AT_MAPC = 64,
    AT_MAPR = 68,
    AT_MAPS = 72,
    AT_DMIN = 76,
    AT_DMAX = 80,
    AT_DMEAN = 84,
    AT_ISPG = 88,
    AT_NSYMBT = 92,
    AT_EXTTYP = 104,
    AT_NVERSION = 108,
    AT_NINT = 128, /* with NREAL: two i16 that describe the sections of an extended header */
    AT_IMOD_STAMP = 152,
    AT_IMOD_FLAGS = 156,
    AT_ORIGIN = 196,
    AT_MAP = 208,
    AT_MACHST = 212,
    AT_RMS = 216,
    AT_NLABL = 220,
    AT_LABEL = 224
};

/* Modes that are read and written. U8 is mode 0 with an IMOD stamp. */
static const struct {
    wf_stored stored;
    int32_t mode;
} modes[] = { { WF_STORED_I8, 0 },  { WF_STORED_U8, 0 },  { WF_STORED_I16, 1 },  { WF_STORED_F32, 2 },
              { WF_STORED_C64, 4 }, { WF_STORED_U16, 6 }, { WF_STORED_F16, 12 }, { WF_STORED_U4, 101 } };
enum { MODES = sizeof modes / sizeof *modes };

typedef struct header {
    uint8_t bytes[HEADER_BYTES];
    bool swap;
    int32_t n[3], m[3], start[3]; /* n, start: of column, row, section; m: of x, y, z */
    int axis[3];                  /* of column, row, section: 0 x, 1 y, 2 z */
    int32_t mode, volumes;        /* volumes > 0: a stack of so many volumes */
    bool stack;                   /* the sections are images */
    int64_t data_at;
    const wfl_io_type *type;
} header;

static bool suffix_is_stack(const char *path)
{
    return wfl_io_suffix_is(path, ".mrcs") || wfl_io_suffix_is(path, ".st") || wfl_io_suffix_is(path, ".ali");
}

static bool mrc_match(const uint8_t *head, size_t bytes)
{
    return bytes >= AT_MAP + 4 && memcmp(head + AT_MAP, "MAP", 3) == 0;
}

/* ---- reading the header ---- */

static int32_t get_i32(const header *h, size_t at)
{
    int32_t value;
    memcpy(&value, h->bytes + at, 4);
    if (h->swap)
        wfl_io_swap(&value, 1, 4);
    return value;
}

/* Returns a field as f64; 0 for NaN and infinities, which damaged headers hold. */
static double get_f32(const header *h, size_t at)
{
    float value;
    int32_t bits = get_i32(h, at);
    memcpy(&value, &bits, 4);
    return isfinite(value) ? (double)value : 0;
}

/* True for a mode of the format, including those that are not read here. */
static bool is_known_mode(int32_t mode)
{
    return (mode >= 0 && mode <= 4) || mode == 6 || mode == 7 || mode == 12 || mode == 16 || mode == 101;
}

/* Returns a score of how plausible the header is in this byte order. */
static int plausibility(header *h, bool swap)
{
    int score = 0;
    h->swap = swap;
    for (size_t i = 0; i < 3; i++) {
        int32_t extent = get_i32(h, AT_NX + 4 * i), map = get_i32(h, AT_MAPC + 4 * i);
        score += extent > 0 && extent < 1 << 24;
        score += map >= 0 && map <= 3;
    }
    return score + 4 * is_known_mode(get_i32(h, AT_MODE));
}

/* Takes the byte order of MACHST. If MACHST is unknown, or the mode makes no sense in its order, takes the order in
 * which the header is more plausible. */
static void find_byte_order(header *h)
{
    const uint8_t *stamp = h->bytes + AT_MACHST;
    bool stamp_little = stamp[0] == 0x44, stamp_big = stamp[0] == 0x11;
    bool swap = wfl_io_little_endian() ? stamp_big : stamp_little;
    h->swap = swap;
    if ((stamp_little || stamp_big) && is_known_mode(get_i32(h, AT_MODE)))
        return;
    int as_stamped = plausibility(h, swap), otherwise = plausibility(h, !swap);
    h->swap = otherwise > as_stamped ? !swap : swap;
}

static wf_status bad_field(const wfl_io_reader *r, const char *field, int64_t value, const char *must)
{
    return wfl_io_fail(r->ctx, r->path, WF_ERR_IO, "MRC header field %s is %lld (must be %s)", field, (long long)value,
                       must);
}

static wf_status read_mode(const wfl_io_reader *r, header *h)
{
    bool imod = get_i32(h, AT_IMOD_STAMP) == IMOD_STAMP;
    int32_t flags = imod ? get_i32(h, AT_IMOD_FLAGS) : IMOD_SIGNED;
    h->mode = get_i32(h, AT_MODE);
    if (!is_known_mode(h->mode))
        return bad_field(r, "MODE", h->mode, "0, 1, 2, 4, 6, 12 or 101");
    if (h->mode == 0 && (flags & IMOD_HALF_BYTES))
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "MRC header field IMODFLAGS is %d: mode 0 with two values in a byte is not supported",
                           flags);
    wf_stored stored = WF_STORED_DEFAULT;
    for (int i = 0; i < MODES; i++)
        if (modes[i].mode == h->mode && stored == WF_STORED_DEFAULT)
            stored = modes[i].stored;
    if (h->mode == 0 && !(flags & IMOD_SIGNED))
        stored = WF_STORED_U8;
    h->type = wfl_io_type_of(stored);
    if (!h->type)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "MRC header field MODE is %d, which is not supported (0, 1, 2, 4, 6, 12 and 101 are)",
                           h->mode);
    return WF_OK;
}

static wf_status read_axes(const wfl_io_reader *r, header *h)
{
    static const char *const names[3] = { "MAPC", "MAPR", "MAPS" };
    int32_t map[3];
    bool unset = true, seen[3] = { false };
    for (size_t i = 0; i < 3; i++) {
        map[i] = get_i32(h, AT_MAPC + 4 * i);
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

static wf_status read_stack(const wfl_io_reader *r, header *h)
{
    int32_t ispg = get_i32(h, AT_ISPG);
    bool sections_are_z = h->axis[2] == 2;
    h->volumes = 0;
    if (ispg >= 401 && ispg <= 630) {
        if (!sections_are_z)
            return bad_field(r, "MAPS", h->axis[2] + 1, "3 in a stack of volumes");
        if (h->m[2] < 1 || h->n[2] % h->m[2] != 0)
            return bad_field(r, "MZ", h->m[2], "a divisor of NZ in a stack of volumes (ISPG 401 to 630)");
        h->volumes = h->n[2] / h->m[2];
    }
    h->stack = h->volumes > 0 || (sections_are_z && h->n[2] > 1 && (ispg == 0 || suffix_is_stack(r->path)));
    return WF_OK;
}

/* Compares the size of the data with the length of the file, before anything is allocated. */
static wf_status check_size(wfl_io_reader *r, header *h)
{
    int32_t extended = get_i32(h, AT_NSYMBT);
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
                       "but the file holds %lld",
                       h->n[0], h->n[1], h->n[2], h->mode, amount, (long long)present);
}

static wf_status read_header(wfl_io_reader *r, header *h)
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
        h->n[i] = get_i32(h, AT_NX + 4 * i);
        h->m[i] = get_i32(h, AT_M + 4 * i);
        h->start[i] = get_i32(h, AT_NSTART + 4 * i);
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

/* ---- what the header means ---- */

/* Reads the labels below NLABL: printable text, without the spaces at its end. */
static void read_labels(const header *h, wf_meta *meta)
{
    int32_t labels = get_i32(h, AT_NLABL);
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
static void read_cell(const header *h, wf_meta *meta)
{
    for (size_t i = 0; i < 3; i++) {
        double angle = get_f32(h, AT_CELLB + 4 * i);
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
    int32_t group = get_i32(h, AT_ISPG) - (h->volumes ? 400 : 0);
    meta->space_group = group >= 1 && group <= 230 ? group : 0;
}

static void read_geometry(const header *h, wf_meta *meta)
{
    double origin[3];
    bool imod_origin = get_i32(h, AT_IMOD_STAMP) == IMOD_STAMP && get_i32(h, AT_NVERSION) == 0 &&
                       !(get_i32(h, AT_IMOD_FLAGS) & IMOD_STANDARD_ORIGIN);
    for (size_t x = 0; x < 3; x++) {
        double cell = get_f32(h, AT_CELLA + 4 * x);
        meta->spacing[2 - x] = cell > 0 && h->m[x] > 0 ? cell / h->m[x] : 0;
        origin[x] = get_f32(h, AT_ORIGIN + 4 * x);
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

/* Sets the array's shape, and the stride of each of the file's axes (sections, rows, columns, parts) in it. */
static void plan(const header *h, wfl_io_image *image, wfl_io_layout *layout)
{
    int parts = h->type->parts;
    int64_t extent[3], stride[3], step = parts; /* of x, y, z */
    for (int i = 0; i < 3; i++)
        extent[h->axis[i]] = h->n[i];
    for (int x = 0; x < 3; x++) {
        stride[x] = step;
        step *= extent[x];
    }
    wf_shape *shape = &image->shape;
    *shape = (wf_shape){ 0 };
    if (h->volumes) {
        shape->dim[shape->rank++] = h->volumes;
        shape->dim[shape->rank++] = extent[2] / h->volumes;
    } else if (extent[2] > 1) {
        shape->dim[shape->rank++] = extent[2];
    }
    shape->dim[shape->rank++] = extent[1];
    shape->dim[shape->rank++] = extent[0];
    image->dtype = wfl_io_loaded_as(h->type);

    *layout = (wfl_io_layout){ .type = h->type, .swap = h->swap, .offset = h->data_at, .rank = 3 };
    for (int i = 0; i < 3; i++) {
        layout->extent[2 - i] = h->n[i];
        layout->stride[2 - i] = stride[h->axis[i]];
    }
    if (parts > 1) {
        layout->extent[3] = parts;
        layout->stride[3] = 1;
        layout->rank = 4;
    }
}

/* Reads the size and the type of the extended header. Bytes of the type that are not printable become spaces. */
static void read_extended(const header *h, wf_meta *meta)
{
    meta->extended_bytes = get_i32(h, AT_NSYMBT);
    for (int i = 0; i < 4 && meta->extended_bytes; i++) {
        uint8_t c = h->bytes[AT_EXTTYP + i];
        meta->extended_type[i] = c > ' ' && c < 127 ? (char)c : ' ';
    }
    for (int i = 3; i >= 0 && (meta->extended_type[i] == ' '); i--)
        meta->extended_type[i] = 0;
}

static wf_status examine(wfl_io_reader *r, wfl_io_image *image, wfl_io_layout *layout)
{
    header h;
    wf_status status = read_header(r, &h);
    if (status != WF_OK)
        return status;
    plan(&h, image, layout);
    read_geometry(&h, &image->meta);
    read_cell(&h, &image->meta);
    read_labels(&h, &image->meta);
    read_extended(&h, &image->meta);
    return WF_OK;
}

static wf_status mrc_probe(wfl_io_reader *r, wfl_io_image *image)
{
    wfl_io_layout layout;
    return examine(r, image, &layout);
}

static wf_array *mrc_load(wfl_io_reader *r, wfl_io_image *image)
{
    wfl_io_layout layout;
    void *data;
    if (examine(r, image, &layout) != WF_OK)
        return NULL;
    wf_array *array = wfl_io_new_array(r, image, &data);
    if (array && wfl_io_read_samples(r, &layout, data) != WF_OK) {
        wf_release(array);
        array = NULL;
    }
    return array;
}

/* ---- saving ---- */

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
    bool stack = meta->is_stack || suffix_is_stack(source->path);
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
        if (modes[i].stored == type->stored)
            put_i32(bytes, AT_MODE, modes[i].mode);
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

/* Writes the samples in pieces, and adds up the statistics of the stored values. */
static bool write_samples(wfl_io_writer *writer, const wfl_io_source *source, const wfl_io_type *type, int64_t width,
                          uint8_t *buffer, wfl_io_stats *stats)
{
    bool packed = type->stored == WF_STORED_U4;
    int64_t chunk = (int64_t)(IO_CHUNK / type->bytes);
    for (int64_t at = 0; at < source->count;) {
        int64_t n = source->count - at < chunk ? source->count - at : chunk;
        if (packed && n > width - at % width)
            n = width - at % width; /* each line starts at a whole byte */
        wfl_io_gather(source, at, n, type, buffer);
        if (type->parts == 1)
            wfl_io_stats_add(stats, type, buffer, n);
        if (packed)
            wfl_io_pack4(buffer, n, buffer);
        if (!wfl_io_write(writer, buffer, packed ? (size_t)(n + 1) / 2 : (size_t)n * type->bytes))
            return false;
        at += n;
    }
    return true;
}

/* ---- extended headers ---- */

/* The extended header that a saved file takes over from another one. */
typedef struct extended {
    wfl_io_reader from;
    header of;     /* the header of that file */
    int32_t bytes; /* 0 = none: `from` is not open */
    bool text;     /* it has no byte order */
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

/* Opens the file that meta->extended_from names, if its extended header belongs into the new file: the extents are the
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
    status = read_header(&e->from, &e->of);
    const header *h = &e->of;
    bool same = status == WF_OK && (rank == 4) == (h->volumes > 0) && (rank != 4 || h->m[2] == g->m[2]),
         in_order = true;
    for (int i = 0; i < 3 && same; i++) {
        same = h->n[i] == g->n[h->axis[i]];
        in_order = in_order && h->axis[i] == i;
    }
    int32_t bytes = same ? get_i32(h, AT_NSYMBT) : 0;
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

static wf_status mrc_save(const wfl_io_source *source, const wf_meta *meta)
{
    const wfl_io_type *type;
    int rank;
    geometry g = { 0 };
    uint32_t allowed = 0;
    for (int i = 0; i < MODES; i++)
        allowed |= 1u << modes[i].stored;
    wf_status status = wfl_io_choose_type(
        source, meta, "MRC", allowed, IO_BIT(I8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(F16) | IO_BIT(F32),
        source->dtype == WF_BOOL || source->dtype == WF_U8 ? WF_STORED_U16 : WF_STORED_F32,
        " (modes: i8, u8, i16, u16, f16, f32, c64, u4)", &type, &rank);
    if (status == WF_OK)
        status = shape_to_geometry(source, meta, rank, &g);
    if (status != WF_OK)
        return status;
    uint8_t *buffer = malloc(IO_CHUNK), head[HEADER_BYTES];
    if (!buffer)
        return wfl_io_fail_memory(source->ctx, source->path, (int64_t)IO_CHUNK);
    extended e;
    wfl_io_writer writer;
    status = open_extended(source, meta, &g, rank, buffer, &e);
    if (status == WF_OK) {
        status = wfl_io_create(source->ctx, source->path, meta, &writer);
        if (status != WF_OK && e.bytes)
            wfl_io_close(&e.from);
    }
    if (status == WF_OK) {
        wfl_io_stats stats = { 0 };
        memset(head, 0, HEADER_BYTES);
        status = copy_extended(&e, &writer, buffer, head);
        if (status == WF_OK && write_samples(&writer, source, type, g.n[0], buffer, &stats)) {
            fill_header(head, &g, type, meta, &stats);
            writer.pos = 0;
            wfl_io_write(&writer, head, HEADER_BYTES);
        }
        status = wfl_io_finish(&writer, status);
    }
    free(buffer);
    return status;
}

const wfl_io_format wfl_io_mrc = { .format = WF_FORMAT_MRC,
                                   .name = "MRC",
                                   .suffixes = { ".mrc", ".mrcs", ".map", ".rec", ".st", ".ali", ".ccp4" },
                                   .match = mrc_match,
                                   .probe = mrc_probe,
                                   .load = mrc_load,
                                   .save = mrc_save };
