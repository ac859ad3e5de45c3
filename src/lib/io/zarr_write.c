/* zarr_write.c - saves arrays as Zarr, version 3, in folders: a file of metadata, and one for each chunk that was
 * written.
 *
 * The folder has a temporary name beside its own, ".weft-<number>.zarr.tmp", until it is complete. The folder of a
 * process that is killed stays. A chunk that is written in parts is read and written once more for each. Chunks are
 * packed at the end. Several processes write chunks of one folder, which the first of them makes and gives its name; a
 * chunk is then written and packed at once, whole. A name that ends with .ome.zarr makes a group of OME-NGFF 0.5
 * (ngff.openmicroscopy.org), whose metadata say how large samples are, with the array as its one level, "0".
 */
#include "zarr.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const wfl_zarr_type wfl_zarr_types[ZARR_TYPES] = {
    { "b1", "bool", WF_STORED_BOOL },     { "i1", "int8", WF_STORED_I8 },         { "u1", "uint8", WF_STORED_U8 },
    { "i2", "int16", WF_STORED_I16 },     { "u2", "uint16", WF_STORED_U16 },      { "i4", "int32", WF_STORED_I32 },
    { "u4", "uint32", WF_STORED_U32 },    { "i8", "int64", WF_STORED_I64 },       { "u8", "uint64", WF_STORED_U64 },
    { "f2", "float16", WF_STORED_F16 },   { "f4", "float32", WF_STORED_F32 },     { "f8", "float64", WF_STORED_F64 },
    { "c8", "complex64", WF_STORED_C64 }, { "c16", "complex128", WF_STORED_C128 }
};

/* Extents of chunks along axes of lines, images and volumes; along axes before them they are 1. */
enum { LINE = 1 << 20, SQUARE = 1024, CUBE = 128 };
enum { TEMP_NAME = 48 };

/* A way to pack chunks: its name and configuration in the metadata, and what packs a file. */
typedef struct packer {
    const char *name;
    int level;
    const char *rest;                            /* of the configuration, after the level */
    int (*pack)(int from, int64_t size, int to); /* NULL: chunks stay as they are */
} packer;
static const packer plain = { .name = NULL };
static const packer gzip = { "gzip", WFL_GZIP_LEVEL, "", wfl_gzip_pack };
static const packer zstd = { "zstd", WFL_ZSTD_LEVEL, ", \"checksum\": false", wfl_codec_pack };

typedef struct store {
    char *temp;   /* the folder that appears */
    char *folder; /* of the array: the same, or the level in it */
    bool ome;
    char *path; /* of a file in it; ZARR_NAME bytes longer than the folder */
    const wfl_io_type *type;
    int rank; /* without the axis of complex parts */
    int64_t chunk[WF_MAX_RANK];
    int64_t values;   /* of a chunk */
    uint8_t *samples; /* of a chunk */
    const packer *packer;
} store;

/* ---- the folder ---- */

/* Makes a folder with a name that is free, beside `path`. Returns 0 or an errno. */
static int make_folder(store *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0, code = EEXIST;
    for (unsigned attempt = 0; attempt < 64 && code == EEXIST; attempt++) {
        sprintf(s->temp, "%.*s.weft-%016llx.zarr.tmp", folder, path,
                (unsigned long long)wfl_io_random_number(s, attempt));
        code = mkdir(s->temp, 0777) == 0 ? 0 : errno;
    }
    if (code) {
        s->temp[0] = 0;
        return code;
    }
    sprintf(s->folder, "%s%s", s->temp, s->ome ? "/0" : "");
    return s->ome && mkdir(s->folder, 0777) != 0 ? errno : 0;
}

/* Removes a folder with files. Another process of a group that has ended may still write some. */
static void remove_files(const char *folder)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        DIR *dir = opendir(folder);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            unlinkat(dirfd(dir), entry->d_name, 0);
        if (dir)
            closedir(dir);
        if (rmdir(folder) == 0 || (errno != ENOTEMPTY && errno != EEXIST))
            return;
    }
}

static void remove_folder(const store *s)
{
    if (s->ome && s->folder[0])
        remove_files(s->folder);
    if (s->temp[0])
        remove_files(s->temp);
}

/* Writes a file of the folder at once. Returns 0 or an errno. */
static int write_file(const char *path, const void *from, size_t bytes, bool durable)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    size_t written;
    int code = wfl_io_pwrite(fd, 0, from, bytes, &written);
    if (!code && durable && fsync(fd) != 0 && errno != EINVAL)
        code = errno;
    if (close(fd) != 0 && !code && errno != EINTR)
        code = errno;
    return code;
}

/* ---- metadata ---- */

/* Appends "[1, 2]". */
static void put_extents(char *text, size_t cap, const int64_t *extent, int rank)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, cap - n, "[");
    for (int d = 0; d < rank; d++)
        n += (size_t)snprintf(text + n, cap - n, "%s%lld", d ? ", " : "", (long long)extent[d]);
    snprintf(text + n, cap - n, "]");
}

/* What an axis of an image of OME-NGFF is: "t", or the place in "zyx". Complex parts are no axis. */
static int axis_in_space(const wfl_io_output *out, const store *s, int d)
{
    return d == 0 && (s->rank == 4 || (s->rank == 3 && out->meta.is_stack)) ? -1 : d + 3 - s->rank;
}

/* Appends the name of an axis. */
static void put_axis_name(char *text, size_t cap, int place)
{
    size_t n = strlen(text);
    snprintf(text + n, cap - n, "\"%c\"", place < 0 ? 't' : "zyx"[place]);
}

/* Appends the sizes of samples, or the place of the first, along all axes. An axis without a unit has samples of 1. */
static void put_transformation(char *text, size_t cap, const wfl_io_output *out, const store *s, bool translation)
{
    const char *kind = translation ? "translation" : "scale";
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, cap - n, "%s{\"type\": \"%s\", \"%s\": [", translation ? ", " : "", kind, kind);
    for (int d = 0; d < s->rank; d++) {
        int place = axis_in_space(out, s, d);
        bool known = place >= 0 && out->meta.spacing[place] > 0;
        char number[IO_REAL];
        wfl_io_print_real(!known        ? !translation
                          : translation ? out->meta.origin[place]
                                        : out->meta.spacing[place],
                          15, 17, number);
        n += (size_t)snprintf(text + n, cap - n, "%s%s", d ? ", " : "", number);
    }
    snprintf(text + n, cap - n, "]}");
}

/* Writes the metadata of a group with one level. */
static int write_group(const wfl_io_output *out, store *s)
{
    enum { CAP = 2048 };
    char text[CAP];
    bool shifted = false;
    snprintf(
        text, CAP,
        "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {\"ome\": {\"version\": \"0.5\", "
        "\"multiscales\": [{\"axes\": [");
    for (int d = 0; d < s->rank; d++) {
        int place = axis_in_space(out, s, d);
        bool known = place >= 0 && out->meta.spacing[place] > 0;
        strcat(text, d ? ", {\"name\": " : "{\"name\": ");
        put_axis_name(text, CAP, place);
        strcat(text, place < 0 ? ", \"type\": \"time\"}"
                     : known   ? ", \"type\": \"space\", \"unit\": \"angstrom\"}"
                               : ", \"type\": \"space\"}");
        shifted = shifted || (known && out->meta.origin[place] != 0);
    }
    strcat(text, "], \"datasets\": [{\"path\": \"0\", \"coordinateTransformations\": [");
    put_transformation(text, CAP, out, s, false);
    if (shifted)
        put_transformation(text, CAP, out, s, true);
    strcat(text, "]}]}]}}\n}\n");
    sprintf(s->path, "%s/zarr.json", s->temp);
    return write_file(s->path, text, strlen(text), out->meta.durable);
}

static int write_metadata(const wfl_io_output *out, store *s)
{
    enum { CAP = 2048 };
    char text[CAP], codec[128] = "";
    const char *name = "";
    for (int i = 0; i < ZARR_TYPES; i++)
        if (wfl_zarr_types[i].stored == s->type->stored)
            name = wfl_zarr_types[i].v3;
    snprintf(text, CAP,
             "{\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"data_type\": \"%s\",\n  \"shape\": ", name);
    put_extents(text, CAP, out->what.shape.dim, s->rank);
    strcat(text, ",\n  \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": ");
    put_extents(text, CAP, s->chunk, s->rank);
    size_t n = strlen(text);
    if (s->packer->pack)
        snprintf(codec, sizeof codec, ", {\"name\": \"%s\", \"configuration\": {\"level\": %d%s}}", s->packer->name,
                 s->packer->level, s->packer->rest);
    snprintf(text + n, CAP - n,
             "}},\n  \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \".\"}},\n"
             "  \"fill_value\": %s,\n  \"codecs\": [{\"name\": \"bytes\"%s%s%s}%s],\n  \"attributes\": {}",
             s->type->stored == WF_STORED_BOOL                ? "false"
             : s->type->parts > 1                             ? "[0.0, 0.0]"
             : wf_dtype_kind(s->type->dtype) == WF_KIND_FLOAT ? "0.0"
                                                              : "0",
             s->type->bytes > 1 ? ", \"configuration\": {\"endian\": \"" : "",
             s->type->bytes == 1      ? ""
             : wfl_io_little_endian() ? "little"
                                      : "big",
             s->type->bytes > 1 ? "\"}" : "", codec);
    for (int d = 0; d < s->rank && s->ome; d++) {
        strcat(text, d ? ", " : ",\n  \"dimension_names\": [");
        put_axis_name(text, CAP, axis_in_space(out, s, d));
    }
    strcat(text, s->ome ? "]\n}\n" : "\n}\n");
    sprintf(s->path, "%s/zarr.json", s->folder);
    return write_file(s->path, text, strlen(text), out->meta.durable);
}

/* ---- the file of an array ---- */

static wf_status choose_chunks(const wfl_io_output *out, store *s)
{
    const wf_shape *shape = &out->what.shape;
    bool images = s->rank == 2 || (s->rank == 3 && out->meta.is_stack);
    int axes = s->rank < 2 ? s->rank : images ? 2 : 3;
    int64_t most = axes == 1 ? LINE : axes == 2 ? SQUARE : CUBE, bytes = (int64_t)s->type->bytes * s->type->parts;
    s->values = 1;
    for (int d = 0; d < s->rank; d++) {
        int64_t extent = d < s->rank - axes ? 1 : shape->dim[d] < most ? shape->dim[d] : most;
        s->chunk[d] = extent ? extent : 1;
        s->values *= s->chunk[d];
    }
    s->samples = malloc((size_t)(s->values * bytes));
    return s->samples ? WF_OK : wfl_io_fail_memory(out->what.ctx, out->what.path, s->values * bytes);
}

/* Makes the folder with its metadata, or joins that of another process. */
static wf_status begin(wfl_io_output *out, store *s)
{
    const char *path = out->what.path;
    struct stat info;
    if (out->join) {
        strcpy(s->temp, out->join);
        sprintf(s->folder, "%s%s", s->temp, s->ome ? "/0" : "");
        if (stat(s->folder, &info) == 0)
            return WF_OK;
        return wfl_io_fail(out->what.ctx, path, WF_ERR_IO, "cannot write a part: %s: %s", s->folder,
                           wfl_io_errno_text(errno));
    }
    if (lstat(path, &info) == 0)
        return wfl_io_fail(out->what.ctx, path, WF_ERR_IO,
                           "cannot write: there is a %s of this name, which is not replaced",
                           S_ISDIR(info.st_mode) ? "folder" : "file");
    int code = make_folder(s, path);
    if (!code && s->ome)
        code = write_group(out, s);
    if (!code)
        code = write_metadata(out, s);
    out->folder = s->temp;
    return code ? wfl_io_fail_errno(out->what.ctx, path, "write", code) : WF_OK;
}

wf_status wfl_zarr_create(wfl_io_output *out)
{
    const uint32_t all = IO_BIT(BOOL) | IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) |
                         IO_BIT(U32) | IO_BIT(I64) | IO_BIT(U64) | IO_BIT(F16) | IO_BIT(F32) | IO_BIT(F64) |
                         IO_BIT(C64) | IO_BIT(C128);
    wf_context *ctx = out->what.ctx;
    const char *path = out->what.path;
    size_t n = strlen(out->join ? out->join : path);
    store *s = out->state = calloc(1, sizeof *s);
    if (!s)
        return wfl_io_fail_memory(ctx, path, (int64_t)sizeof *s);
    s->ome = wfl_io_suffix_is(path, ".ome.zarr");
    s->temp = calloc(n + TEMP_NAME, 1);
    s->folder = calloc(n + TEMP_NAME + 2, 1);
    s->path = malloc(n + TEMP_NAME + 2 + ZARR_NAME);
    if (!s->temp || !s->folder || !s->path)
        return wfl_io_fail_memory(ctx, path, (int64_t)n);
    wf_status status =
        wfl_io_choose_type(&out->what, &out->meta, "Zarr", all, all, WF_STORED_F32, "", &s->type, &s->rank);
    if (status == WF_OK && s->ome && (s->rank < 2 || s->rank > 4))
        status = wfl_io_fail(ctx, path, WF_ERR_SHAPE,
                             "OME-Zarr holds [h,w], [n,h,w], [d,h,w] or [n,d,h,w]; this array has rank %d", s->rank);
    s->packer = out->meta.zstd ? &zstd : out->meta.deflate ? &gzip : &plain;
    if (status == WF_OK && s->packer == &gzip)
        status = wfl_gzip_library(ctx, path);
    if (status == WF_OK && s->packer == &zstd)
        status = wfl_codec_library(ctx, path, WFL_PACKED_ZSTD);
    if (status == WF_OK)
        status = choose_chunks(out, s);
    return status == WF_OK ? begin(out, s) : status;
}

void wfl_zarr_unit(const wfl_io_output *out, int64_t *unit)
{
    const store *s = out->state;
    for (int d = 0; d < out->what.shape.rank; d++)
        unit[d] = d < s->rank ? s->chunk[d] : out->what.shape.dim[d];
}

/* ---- chunks ---- */

void wfl_zarr_name_chunk(char *path, const char *folder, bool prefix, char separator, const int64_t *index, int rank)
{
    size_t n = (size_t)sprintf(path, "%s/%s", folder, prefix ? "c" : rank ? "" : "0");
    for (int d = 0; d < rank; d++) {
        if (d > 0 || prefix)
            path[n++] = separator;
        n += (size_t)sprintf(path + n, "%lld", (long long)index[d]);
    }
}

/* Reads the chunk, or sets it to 0 if it has no file yet. Returns 0 or an errno. */
static int read_chunk(store *s, size_t bytes)
{
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return errno;
    int64_t got = fd < 0 ? 0 : wfl_io_pread(fd, 0, s->samples, bytes);
    int code = got < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (!code)
        memset(s->samples + got, 0, bytes - (size_t)got);
    return code;
}

/* Packs the file s->path of the folder. Returns 0 or an errno. */
static int pack_file(store *s, bool durable)
{
    struct stat info;
    const char *name = s->path + strlen(s->folder) + 1;
    char packed[ZARR_NAME + 8];
    int from = open(s->path, O_RDONLY | O_CLOEXEC), to = -1, code = 0;
    snprintf(packed, sizeof packed, "%.*s.packed", ZARR_NAME - 2, name);
    int folder = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from >= 0 && folder >= 0 && fstat(from, &info) == 0)
        to = openat(folder, packed, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    code = to < 0 ? errno : s->packer->pack(from, (int64_t)info.st_size, to);
    if (!code && durable && fsync(to) != 0 && errno != EINVAL)
        code = errno;
    if (to >= 0 && close(to) != 0 && !code && errno != EINTR)
        code = errno;
    if (!code && renameat(folder, packed, folder, name) != 0)
        code = errno;
    if (from >= 0)
        close(from);
    if (folder >= 0)
        close(folder);
    return code;
}

/* Stores what the source, at `first` in the array, and the chunk have in common. */
static int write_chunk(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first, const int64_t *index)
{
    store *s = out->state;
    int parts = s->type->parts, rank = s->rank, last = rank - 1;
    size_t bytes = (size_t)(s->values * parts) * s->type->bytes;
    int64_t low[WF_MAX_RANK] = { 0 }, count[WF_MAX_RANK] = { 0 }, at[WF_MAX_RANK] = { 0 };
    bool whole = true;
    for (int d = 0; d < rank; d++) {
        int64_t begin = index[d] * s->chunk[d], end = first->dim[d] + source->shape.dim[d];
        int64_t next = begin + s->chunk[d] < out->what.shape.dim[d] ? begin + s->chunk[d] : out->what.shape.dim[d];
        low[d] = begin > first->dim[d] ? begin : first->dim[d];
        count[d] = (end < next ? end : next) - low[d];
        whole = whole && low[d] == begin && low[d] + count[d] == next;
    }
    wfl_zarr_name_chunk(s->path, s->folder, true, '.', index, rank);
    int code = whole ? 0 : read_chunk(s, bytes);
    if (code)
        return code;
    if (whole)
        memset(s->samples, 0, bytes);
    int64_t width = rank ? count[last] : 1;
    for (int d = rank ? 0 : -1; d >= -1;) {
        int64_t from = 0, to = 0;
        for (int k = 0; k < rank; k++) {
            from = from * source->shape.dim[k] + low[k] + at[k] - first->dim[k];
            to = to * s->chunk[k] + low[k] + at[k] - index[k] * s->chunk[k];
        }
        wfl_io_gather(source, from * parts, width * parts, s->type, s->samples + (size_t)(to * parts) * s->type->bytes);
        for (d = last - 1; d >= 0 && ++at[d] == count[d]; d--)
            at[d] = 0;
        if (d < 0)
            break;
    }
    code = write_file(s->path, s->samples, bytes, out->meta.durable && !s->packer->pack);
    return !code && out->shared && s->packer->pack ? pack_file(s, out->meta.durable) : code;
}

wf_status wfl_zarr_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    store *s = out->state;
    int64_t index[WF_MAX_RANK] = { 0 };
    if (source->count == 0)
        return WF_OK;
    for (int d = 0; d < s->rank; d++)
        index[d] = first->dim[d] / s->chunk[d];
    for (int d = 0; d >= 0;) {
        int code = write_chunk(out, source, first, index);
        if (code)
            return wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code);
        for (d = s->rank - 1; d >= 0; d--) {
            if (++index[d] <= (first->dim[d] + source->shape.dim[d] - 1) / s->chunk[d])
                break;
            index[d] = first->dim[d] / s->chunk[d];
        }
    }
    const int code = out->join && out->meta.durable ? wfl_io_flush_folder(s->folder) : 0;
    return code ? wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code) : WF_OK;
}

/* ---- the end ---- */

/* Packs all chunks. The names are collected first, since files that appear may be listed. Returns 0 or an errno. */
static int pack_all(store *s, bool durable)
{
    struct dirent **names;
    int n = scandir(s->folder, &names, NULL, NULL), code = n < 0 ? errno : 0;
    for (int i = 0; i < n; i++) {
        if (!code && names[i]->d_name[0] == 'c') {
            sprintf(s->path, "%s/%.*s", s->folder, ZARR_NAME - 2, names[i]->d_name);
            code = pack_file(s, durable);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return code;
}

/* Gives the folder its name. Returns 0 or an errno. */
static int appear(const wfl_io_output *out, const store *s)
{
    const bool durable = out->meta.durable;
    int code = durable ? wfl_io_flush_folder(s->folder) : 0;
    if (!code && durable && s->ome)
        code = wfl_io_flush_folder(s->temp);
    if (!code && rename(s->temp, out->what.path) != 0)
        code = errno;
    return !code && durable ? wfl_io_flush_name(out->what.path) : code;
}

wf_status wfl_zarr_finish(wfl_io_output *out, wf_status status)
{
    store *s = out->state;
    if (!s)
        return status;
    if (status == WF_OK) {
        int code = s->packer->pack && !out->shared ? pack_all(s, out->meta.durable) : 0;
        if (!code)
            code = appear(out, s);
        if (code)
            status = wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code);
    }
    if (status != WF_OK && s->temp && s->folder && !out->join)
        remove_folder(s);
    free(s->temp);
    free(s->folder);
    free(s->path);
    free(s->samples);
    free(s);
    out->state = NULL;
    return status;
}
