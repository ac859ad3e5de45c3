/* zarr_read.c - reads arrays of Zarr, versions 2 and 3, in folders: chunks of one shape, each a file, which are stored as
 * they are or packed by gzip, zlib, zstd or blosc. A chunk without a file is full of the array's fill value.
 *
 * A box is read chunk by chunk, of plain chunks only what lies in it. References: the specifications at
 * zarr-specs.readthedocs.io.
 */
#include "zarr.h"
#include "json.h"
#include "ome.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME = 64 };

typedef struct zarr_array {
    char *folder, *metadata_path; /* metadata_path: also for messages */
    char *chunk_path;             /* of the chunk that is read; ZARR_NAME bytes longer than the folder */
    const wfl_io_type *type;
    bool swap, fortran;
    wfl_packing packing;
    bool prefix;    /* names of chunks begin with c */
    char separator; /* between the indices in them */
    int64_t chunk[WF_MAX_RANK];
    uint8_t fill[16]; /* a value, in the machine's byte order */
} zarr_array;

static wf_status bad(const wfl_io_input *in, const char *what, const char *value, const char *must)
{
    const char *shown = value ? value : "missing";
    size_t n = strcspn(shown, "\n,}]");
    char text[NAME];
    snprintf(text, sizeof text, "%.*s", (int)(n < NAME ? n : NAME - 1), shown);
    return wfl_io_fail(in->reader.ctx, in->reader.path, WF_ERR_UNSUPPORTED, "Zarr: %s is %s (must be %s)", what, text,
                       must);
}

/* ---- types ---- */

static wf_status read_type(const wfl_io_input *in, const char *value, bool v3, zarr_array *z)
{
    char text[NAME];
    if (wfl_json_text(value, text, sizeof text)) {
        bool little = wfl_io_little_endian(), ordered = strchr("<>|=", text[0]) != NULL && text[0];
        for (int i = 0; i < ZARR_TYPES; i++)
            if (v3 ? strcmp(text, wfl_zarr_types[i].v3) == 0 : ordered && strcmp(text + 1, wfl_zarr_types[i].v2) == 0)
                z->type = wfl_io_type_of(wfl_zarr_types[i].stored);
        if (!v3)
            z->swap = z->type && z->type->bytes > 1 && ((text[0] == '<' && !little) || (text[0] == '>' && little));
    }
    return z->type ? WF_OK : bad(in, v3 ? "data_type" : "dtype", value, "bool, an integer, a float or a complex type");
}

/* Reads an integer of 64 bits, of which f64 does not hold all. False: there is none, or it has more bits. */
static bool read_whole(const char *value, bool is_signed, uint64_t *out)
{
    if (!value || (*value == '-' && !is_signed))
        return false;
    char *end;
    errno = 0;
    *out = is_signed ? (uint64_t)strtoll(value, &end, 10) : strtoull(value, &end, 10);
    return end != value && errno == 0 && *end != '.' && *end != 'e' && *end != 'E';
}

/* Reads a fill value: a number, a bool, the name of a number that is not finite; of complex values a pair. Null: 0. */
static bool read_fill(const char *value, zarr_array *z)
{
    char text[NAME];
    double parts[2] = { 0, 0 };
    const char *part = wfl_json_first(value);
    int n = z->type->parts;
    for (int i = 0; i < n; i++) {
        const char *at = n == 1 || !part ? value : part;
        if (!at || wfl_json_is_null(at)) {
            parts[i] = 0;
        } else if (wfl_json_text(at, text, sizeof text)) {
            if (strcmp(text, "NaN") != 0 && strcmp(text, "Infinity") != 0 && strcmp(text, "-Infinity") != 0)
                return false;
            parts[i] = *text == 'N' ? (double)NAN : *text == 'I' ? (double)INFINITY : (double)-INFINITY;
        } else if (*at == 't' || *at == 'f') {
            parts[i] = *at == 't';
        } else if (!wfl_io_real(at, strspn(at, "0123456789+-.eE"), &parts[i])) {
            return false;
        }
        if (n == 2 && !part)
            break; /* one number: the real part */
        part = part ? wfl_json_next(part) : NULL;
    }
    uint64_t whole;
    bool is_signed = z->type->stored == WF_STORED_I64;
    if ((is_signed || z->type->stored == WF_STORED_U64) && read_whole(value, is_signed, &whole)) {
        memcpy(z->fill, &whole, sizeof whole);
        return true;
    }
    wfl_io_convert(WF_F64, (const char *)parts, (int64_t)sizeof(double), n, z->type, (char *)z->fill);
    return true;
}

/* ---- metadata ---- */

static wf_status read_extents(const wfl_io_input *in, const char *value, const char *what, int64_t least, int *rank,
                              int64_t *out)
{
    int n = 0;
    if (!value || *value != '[')
        return bad(in, what, value, "a list of numbers");
    for (const char *at = wfl_json_first(value); at; at = wfl_json_next(at), n++) {
        if (n == WF_MAX_RANK)
            return bad(in, what, value, "a list of at most 8 numbers");
        if (!wfl_json_integer(at, &out[n]) || out[n] < least)
            return bad(in, what, at, least ? "at least 1" : "a whole number");
    }
    *rank = n;
    return WF_OK;
}

static wf_status read_separator(const wfl_io_input *in, const char *value, char otherwise, zarr_array *z)
{
    char text[NAME];
    z->separator = otherwise;
    if (!value)
        return WF_OK;
    if (!wfl_json_text(value, text, sizeof text) || (strcmp(text, ".") != 0 && strcmp(text, "/") != 0))
        return bad(in, "the separator", value, "\".\" or \"/\"");
    z->separator = *text;
    return WF_OK;
}

/* Reads the compressor of version 2, or a codec that follows "bytes" in version 3. */
static wf_status read_packing(const wfl_io_input *in, const char *codec, const char *key, zarr_array *z)
{
    static const struct {
        const char *name;
        wfl_packing packing;
    } codecs[] = { { "gzip", WFL_PACKED_ZLIB },
                   { "zlib", WFL_PACKED_ZLIB },
                   { "zstd", WFL_PACKED_ZSTD },
                   { "blosc", WFL_PACKED_BLOSC } };
    static const char prefix[] = "numcodecs.";
    char text[NAME];
    const char *name = wfl_json_member(codec, key), *known = text;
    wfl_packing packing = WFL_PACKED_NOT;
    if (wfl_json_text(name, text, sizeof text)) {
        known += strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
        for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
            packing = strcmp(known, codecs[i].name) == 0 ? codecs[i].packing : packing;
    }
    if (packing == WFL_PACKED_NOT || z->packing != WFL_PACKED_NOT)
        return bad(in, "the codec", name ? name : codec, "gzip, zlib, zstd or blosc, once, or none");
    z->packing = packing;
    return WF_OK;
}

static wf_status read_v2(wfl_io_input *in, const char *json, zarr_array *z, int *ranks)
{
    char order[NAME] = "";
    const char *filters = wfl_json_member(json, "filters"), *compressor = wfl_json_member(json, "compressor");
    wf_status status = read_type(in, wfl_json_member(json, "dtype"), false, z);
    if (status == WF_OK)
        status = read_extents(in, wfl_json_member(json, "shape"), "shape", 0, &ranks[0], in->image.shape.dim);
    if (status == WF_OK)
        status = read_extents(in, wfl_json_member(json, "chunks"), "chunks", 1, &ranks[1], z->chunk);
    if (status == WF_OK)
        status = read_separator(in, wfl_json_member(json, "dimension_separator"), '.', z);
    if (status != WF_OK)
        return status;
    wfl_json_text(wfl_json_member(json, "order"), order, sizeof order);
    if (strcmp(order, "C") != 0 && strcmp(order, "F") != 0)
        return bad(in, "order", wfl_json_member(json, "order"), "\"C\" or \"F\"");
    z->fortran = *order == 'F';
    if (wfl_json_first(filters))
        return bad(in, "filters", wfl_json_member(wfl_json_first(filters), "id"), "none");
    return compressor && !wfl_json_is_null(compressor) ? read_packing(in, compressor, "id", z) : WF_OK;
}

/* A member of the configuration of a part of the metadata of version 3. */
static const char *configured(const char *part, const char *name)
{
    return wfl_json_member(wfl_json_member(part, "configuration"), name);
}

static wf_status read_codecs(const wfl_io_input *in, const char *codecs, zarr_array *z)
{
    char text[NAME];
    const char *first = wfl_json_first(codecs);
    if (!wfl_json_text(wfl_json_member(first, "name"), text, sizeof text) || strcmp(text, "bytes") != 0)
        return bad(in, "the codec", first ? wfl_json_member(first, "name") : NULL,
                   "bytes, followed by gzip, zstd, blosc or nothing");
    const char *endian = configured(first, "endian");
    if (z->type->bytes > 1) {
        if (!wfl_json_text(endian, text, sizeof text) || (strcmp(text, "little") != 0 && strcmp(text, "big") != 0))
            return bad(in, "endian of the codec bytes", endian, "\"little\" or \"big\"");
        z->swap = (*text == 'l') != wfl_io_little_endian();
    }
    for (const char *at = wfl_json_next(first); at; at = wfl_json_next(at)) {
        wf_status status = read_packing(in, at, "name", z);
        if (status != WF_OK)
            return status;
    }
    return WF_OK;
}

static wf_status read_v3(wfl_io_input *in, const char *json, zarr_array *z, int *ranks)
{
    char text[NAME] = "";
    const char *grid = wfl_json_member(json, "chunk_grid"), *keys = wfl_json_member(json, "chunk_key_encoding"),
               *others = wfl_json_member(json, "storage_transformers");
    wf_status status = read_type(in, wfl_json_member(json, "data_type"), true, z);
    if (status == WF_OK)
        status = read_extents(in, wfl_json_member(json, "shape"), "shape", 0, &ranks[0], in->image.shape.dim);
    if (status == WF_OK &&
        (!wfl_json_text(wfl_json_member(grid, "name"), text, sizeof text) || strcmp(text, "regular") != 0))
        status = bad(in, "chunk_grid", wfl_json_member(grid, "name"), "regular");
    if (status == WF_OK)
        status = read_extents(in, configured(grid, "chunk_shape"), "chunk_shape", 1, &ranks[1], z->chunk);
    if (status == WF_OK && wfl_json_first(others))
        status = bad(in, "storage_transformers", others, "none");
    if (status != WF_OK)
        return status;
    const char *encoding = wfl_json_member(keys, "name");
    if (!wfl_json_text(encoding, text, sizeof text) || (strcmp(text, "default") != 0 && strcmp(text, "v2") != 0))
        return bad(in, "chunk_key_encoding", encoding, "default or v2");
    z->prefix = *text == 'd';
    status = read_separator(in, configured(keys, "separator"), z->prefix ? '/' : '.', z);
    return status == WF_OK ? read_codecs(in, wfl_json_member(json, "codecs"), z) : status;
}

static wf_status read_metadata(wfl_io_input *in, const char *json, zarr_array *z)
{
    int64_t version = 0;
    int ranks[2] = { 0 };
    if (!wfl_json_integer(wfl_json_member(json, "zarr_format"), &version) || (version != 2 && version != 3))
        return bad(in, "zarr_format", wfl_json_member(json, "zarr_format"), "2 or 3");
    wf_status status = version == 2 ? read_v2(in, json, z, ranks) : read_v3(in, json, z, ranks);
    if (status != WF_OK)
        return status;
    if (ranks[0] != ranks[1])
        return wfl_io_fail(in->reader.ctx, in->reader.path, WF_ERR_IO, "Zarr: an array of %d axes has chunks of %d",
                           ranks[0], ranks[1]);
    if (ranks[0] + (z->type->parts > 1) > WF_MAX_RANK)
        return wfl_io_fail(in->reader.ctx, in->reader.path, WF_ERR_UNSUPPORTED, "Zarr: %d axes of complex values",
                           ranks[0]);
    int64_t bytes = (int64_t)z->type->bytes * z->type->parts, all = bytes;
    for (int d = 0; d < ranks[0]; d++)
        if (!wfl_io_mul(bytes, z->chunk[d], &bytes) || !wfl_io_mul(all, in->image.shape.dim[d] + 1, &all))
            return wfl_io_fail(in->reader.ctx, in->reader.path, WF_ERR_IO,
                               "Zarr: shape or chunks are beyond 2^63 bytes");
    const char *fill = wfl_json_member(json, "fill_value");
    if (!read_fill(fill, z))
        return bad(in, "fill_value", fill, "a number");
    in->image.shape.rank = ranks[0];
    if (z->packing != WFL_PACKED_NOT)
        memcpy(in->unit, z->chunk, (size_t)ranks[0] * sizeof *z->chunk);
    in->image.dtype = wfl_io_loaded_as(z->type);
    in->image.meta.stored = z->type->stored;
    return WF_OK;
}

static wf_status set_folder(wfl_io_input *in, const char *folder, const char *level, zarr_array *z)
{
    size_t n = strlen(folder) + strlen(level) + 2;
    char *metadata_path = malloc(n + 16), *chunk_path = malloc(n + ZARR_NAME), *copy = malloc(n);
    if (!metadata_path || !chunk_path || !copy) {
        free(metadata_path);
        free(chunk_path);
        free(copy);
        return wfl_io_fail_memory(in->reader.ctx, in->reader.path, (int64_t)n);
    }
    snprintf(copy, n, "%s%s%s", folder, *level ? "/" : "", level);
    free(z->metadata_path);
    free(z->chunk_path);
    free(z->folder);
    z->metadata_path = metadata_path;
    z->chunk_path = chunk_path;
    z->folder = copy;
    return WF_OK;
}

/* Finds the file of metadata of the array in z->folder. False: there is none. */
static bool find_metadata(zarr_array *z)
{
    static const char *const files[] = { "zarr.json", ".zarray", ".zgroup" };
    struct stat info;
    bool found = false;
    for (int i = 0; i < 3 && !found; i++) {
        sprintf(z->metadata_path, "%s/%s", z->folder, files[i]);
        found = stat(z->metadata_path, &info) == 0;
    }
    return found;
}

static bool is_group(const zarr_array *z, const char *json)
{
    char text[NAME] = "";
    return strcmp(z->metadata_path + strlen(z->folder), "/.zgroup") == 0 ||
           (wfl_json_text(wfl_json_member(json, "node_type"), text, sizeof text) && strcmp(text, "group") == 0);
}

/* Reads the metadata in z->folder as a new string of JSON. */
static wf_status read_json(wfl_io_input *in, const zarr_array *z, char **json)
{
    wf_context *ctx = in->reader.ctx;
    in->reader.path = z->metadata_path;
    wf_status status = wfl_io_read_text(ctx, z->metadata_path, ZARR_METADATA, json);
    const char *place = status == WF_OK ? wfl_json_check(*json) : NULL;
    return place ? wfl_io_fail(ctx, z->metadata_path, WF_ERR_IO, "byte %lld is no JSON", (long long)(place - *json))
                 : status;
}

/* Finds the level that the array is of an image, in the metadata of the folders above. */
static wf_status find_level(wfl_io_input *in, const zarr_array *z, wfl_ome_level *level)
{
    enum { FOLDERS = 2 };
    wf_status status = WF_OK;
    size_t n = strlen(z->folder);
    char *group = malloc(n + 2);
    if (!group)
        return wfl_io_fail_memory(in->reader.ctx, in->reader.path, (int64_t)n);
    while (n > 1 && z->folder[n - 1] == '/')
        n--;
    size_t at = n;
    for (int k = 0; k < FOLDERS && at > 0 && status == WF_OK && !*level->path; k++) {
        char name[OME_PATH];
        while (at > 0 && z->folder[at - 1] != '/')
            at--;
        if (n - at >= OME_PATH)
            break;
        snprintf(group, n + 2, "%.*s", at ? (int)at : 1, at ? z->folder : ".");
        snprintf(name, sizeof name, "%.*s", (int)(n - at), z->folder + at);
        status = wfl_ome_find(in->reader.ctx, group, name, 0, level);
        while (at > 0 && z->folder[at - 1] == '/')
            at--;
    }
    free(group);
    return status;
}

/* Goes from a group to level in->level of the image in it, and reads its metadata. */
static wf_status enter_group(wfl_io_input *in, zarr_array *z, char **json, wfl_ome_level *level)
{
    wf_context *ctx = in->reader.ctx;
    const int number = in->level;
    wf_status status = wfl_ome_find(ctx, z->folder, NULL, number, level);
    if (status == WF_OK && !level->levels)
        return bad(in, "the folder", "a group", "an array: name one of the folders in it");
    if (status == WF_OK && number >= level->levels)
        return wfl_io_fail(ctx, z->folder, WF_ERR_ARG, "level %d of an image with %d", number, level->levels);
    if (status == WF_OK && level->problem)
        return wfl_io_fail(ctx, z->folder, WF_ERR_IO, "level %d of the image %s", number, level->problem);
    if (status == WF_OK)
        status = set_folder(in, z->folder, level->path, z);
    if (status != WF_OK)
        return status;
    free(*json);
    *json = NULL;
    bool found = find_metadata(z);
    in->reader.path = found ? z->metadata_path : z->folder;
    if (!found)
        return wfl_io_fail(ctx, z->folder, WF_ERR_IO, "level %d of the image is not there", number);
    status = read_json(in, z, json);
    return status == WF_OK && is_group(z, *json) ? bad(in, "the folder", "a group", "an array") : status;
}

static void take_level(const wfl_ome_level *level, wfl_io_image *image)
{
    if (!*level->path || level->rank != image->shape.rank)
        return;
    memcpy(image->meta.spacing, level->spacing, sizeof level->spacing);
    memcpy(image->meta.origin, level->origin, sizeof level->origin);
    image->meta.is_stack = level->is_stack && image->shape.rank > 2;
}

/* Reads the metadata of the array, and what its group says of it. `is_in_group`: the path is that of the group. */
static wf_status read_array(wfl_io_input *in, zarr_array *z, const char *json, const wfl_ome_level *level,
                            bool is_in_group)
{
    const wf_status status = read_metadata(in, json, z);
    if (status != WF_OK)
        return status;
    if (is_in_group && level->rank && level->rank != in->image.shape.rank)
        return wfl_io_fail(in->reader.ctx, in->reader.path, WF_ERR_IO,
                           "level %d of the image has %d axes, and the metadata of the group list %d", in->level,
                           in->image.shape.rank, level->rank);
    take_level(level, &in->image);
    if (is_in_group) {
        in->image.meta.levels = level->levels;
        snprintf(in->image.meta.level, sizeof in->image.meta.level, "%s", level->path);
    }
    return WF_OK;
}

wf_status wfl_zarr_open(wfl_io_input *in)
{
    wf_context *ctx = in->reader.ctx;
    const char *path = in->reader.path;
    if (in->reader.fd >= 0)
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "Zarr: the file is no folder");
    zarr_array *z = in->state = calloc(1, sizeof *z);
    if (!z)
        return wfl_io_fail_memory(ctx, path, (int64_t)sizeof *z);
    z->packing = WFL_PACKED_NOT;
    wf_status status = set_folder(in, path, "", z);
    if (status != WF_OK)
        return status;
    if (!find_metadata(z))
        return wfl_io_fail(ctx, path, WF_ERR_IO, "cannot open: is a directory without zarr.json or .zarray");
    char *json = NULL;
    wfl_ome_level level = { 0 };
    status = read_json(in, z, &json);
    const bool in_group = status == WF_OK && is_group(z, json);
    if (status == WF_OK && !in_group && in->level)
        status = wfl_io_fail(ctx, path, WF_ERR_ARG, "level %d of an array, which is no group with levels", in->level);
    if (status == WF_OK)
        status = in_group ? enter_group(in, z, &json, &level) : find_level(in, z, &level);
    if (status == WF_OK)
        status = read_array(in, z, json, &level, in_group);
    free(json);
    return status;
}

void wfl_zarr_close(wfl_io_input *in)
{
    zarr_array *z = in->state;
    if (z) {
        free(z->folder);
        free(z->metadata_path);
        free(z->chunk_path);
    }
    free(z);
}

/* ---- chunks ---- */

/* What a chunk and the box that is read have in common: `first` in the chunk, `count`, and the memory of its first
 * element in an array of `stride` elements along each axis. */
typedef struct part {
    wf_shape first, count;
    char *to;
    const int64_t *stride;
} part;

static void fill_part(const zarr_array *z, const part *p)
{
    size_t size = z->type->bytes * (size_t)z->type->parts;
    int rank = p->count.rank;
    int64_t at[WF_MAX_RANK] = { 0 }, width = rank ? p->count.dim[rank - 1] : 1;
    for (;;) {
        char *line = p->to;
        for (int d = 0; d < rank - 1; d++)
            line += (size_t)(at[d] * p->stride[d]) * size;
        for (int64_t x = 0; x < width; x++)
            memcpy(line + (size_t)x * size, z->fill, size);
        int d = rank - 2;
        while (d >= 0 && ++at[d] == p->count.dim[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

static wf_status read_part(wf_context *ctx, zarr_array *z, const part *p)
{
    struct stat info;
    if (stat(z->chunk_path, &info) != 0 && errno == ENOENT) {
        fill_part(z, p);
        return WF_OK;
    }
    wfl_io_reader reader;
    wf_status status = wfl_io_open_packed(ctx, z->chunk_path, z->packing, &reader);
    if (status != WF_OK)
        return status;
    int rank = p->count.rank, parts = z->type->parts;
    wf_shape chunk = { .rank = rank };
    memcpy(chunk.dim, z->chunk, sizeof z->chunk);
    wfl_io_layout layout = { .type = z->type, .swap = z->swap };
    wfl_io_layout_c(&layout, &chunk);
    for (int d = 0; d < rank && z->fortran; d++) {
        layout.extent[d] = chunk.dim[rank - 1 - d];
        layout.axis[d] = rank - 1 - d;
    }
    wfl_io_layout_dense(&layout);
    if (wfl_io_layout_end(&layout) > reader.size)
        status = wfl_io_fail(ctx, z->chunk_path, WF_ERR_IO, "Zarr: a chunk has %lld bytes, and %s %lld",
                             (long long)wfl_io_layout_end(&layout), wfl_io_holds(&reader), (long long)reader.size);
    if (status == WF_OK)
        status = wfl_io_unpack(&reader, wfl_io_layout_end(&layout));
    wfl_io_layout_box(&layout, &p->first, &p->count);
    for (int d = 0; d < layout.rank; d++)
        if (layout.axis[d] != WFL_NO_AXIS)
            layout.stride[d] = p->stride[layout.axis[d]] * parts;
    if (status == WF_OK)
        status = wfl_io_read_samples(&reader, &layout, p->to);
    if (status == WF_OK && memcmp(p->count.dim, z->chunk, (size_t)rank * sizeof *z->chunk) == 0)
        status = wfl_io_read_end(&reader); /* all was read, so the checksum can be checked */
    wfl_io_close(&reader);
    return status;
}

wf_status wfl_zarr_read(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to)
{
    zarr_array *z = in->state;
    int rank = count->rank;
    size_t size = z->type->bytes * (size_t)z->type->parts;
    int64_t stride[WF_MAX_RANK + 1], index[WF_MAX_RANK] = { 0 }, n = 1;
    for (int d = rank - 1; d >= 0; n *= count->dim[d--]) {
        stride[d] = n;
        index[d] = first->dim[d] / z->chunk[d];
    }
    for (;;) {
        part p = { .first = { .rank = rank }, .count = { .rank = rank }, .to = to, .stride = stride };
        for (int d = 0; d < rank; d++) {
            int64_t begin = index[d] * z->chunk[d], low = begin > first->dim[d] ? begin : first->dim[d];
            int64_t end = first->dim[d] + count->dim[d], high = z->chunk[d] < end - begin ? begin + z->chunk[d] : end;
            p.first.dim[d] = low - begin;
            p.count.dim[d] = high - low;
            p.to += (size_t)((low - first->dim[d]) * stride[d]) * size;
        }
        wfl_zarr_name_chunk(z->chunk_path, z->folder, z->prefix, z->separator, index, rank);
        wf_status status = read_part(in->reader.ctx, z, &p);
        if (status != WF_OK)
            return status;
        int d = rank - 1;
        while (d >= 0 && ++index[d] > (first->dim[d] + count->dim[d] - 1) / z->chunk[d]) {
            index[d] = first->dim[d] / z->chunk[d];
            d--;
        }
        if (d < 0)
            return WF_OK;
    }
}
