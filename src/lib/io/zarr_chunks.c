/* zarr_chunks.c - stores an array of Zarr, version 3, in a folder: a file of metadata, and one for each chunk that was
 * written.
 *
 * A chunk that is written in parts is read and written once more for each, and packed at the end. A chunk that is written
 * once, as a whole, may be packed at once.
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

int wfl_zarr_write_file(const char *path, const void *from, size_t bytes, bool durable)
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

static void choose_chunks(wfl_zarr_store *s)
{
    int rank = s->shape.rank, axes = rank < 2 ? rank : s->images ? 2 : 3;
    int64_t most = axes == 1 ? LINE : axes == 2 ? SQUARE : CUBE;
    s->values = 1;
    for (int d = 0; d < rank; d++) {
        int64_t extent = d < rank - axes ? 1 : s->shape.dim[d] < most ? s->shape.dim[d] : most;
        s->chunk[d] = extent ? extent : 1;
        s->values *= s->chunk[d];
    }
}

wf_status wfl_zarr_store_open(wfl_zarr_store *s, const char *folder)
{
    choose_chunks(s);
    int64_t bytes = s->values * (int64_t)s->type->bytes * s->type->parts;
    size_t n = strlen(folder) + 1;
    s->folder = malloc(n);
    s->path = malloc(n + ZARR_NAME);
    s->samples = malloc((size_t)bytes);
    if (!s->folder || !s->path || !s->samples)
        return wfl_io_fail_memory(s->ctx, s->target, bytes);
    memcpy(s->folder, folder, n);
    return WF_OK;
}

void wfl_zarr_store_close(wfl_zarr_store *s)
{
    free(s->folder);
    free(s->path);
    free(s->samples);
    s->folder = s->path = NULL;
    s->samples = NULL;
}

/* Appends "[1, 2]". */
static void put_extents(char *text, size_t cap, const int64_t *extent, int rank)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, cap - n, "[");
    for (int d = 0; d < rank; d++)
        n += (size_t)snprintf(text + n, cap - n, "%s%lld", d ? ", " : "", (long long)extent[d]);
    snprintf(text + n, cap - n, "]");
}

int wfl_zarr_store_begin(wfl_zarr_store *s)
{
    enum { CAP = 2048 };
    char text[CAP], codec[128] = "";
    const char *name = "";
    for (int i = 0; i < ZARR_TYPES; i++)
        if (wfl_zarr_types[i].stored == s->type->stored)
            name = wfl_zarr_types[i].v3;
    snprintf(text, CAP,
             "{\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"data_type\": \"%s\",\n  \"shape\": ", name);
    put_extents(text, CAP, s->shape.dim, s->shape.rank);
    strcat(text, ",\n  \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": ");
    put_extents(text, CAP, s->chunk, s->shape.rank);
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
    for (int d = 0; s->names[d]; d++) {
        n = strlen(text);
        snprintf(text + n, CAP - n, "%s\"%c\"", d ? ", " : ",\n  \"dimension_names\": [", s->names[d]);
    }
    strcat(text, s->names[0] ? "]\n}\n" : "\n}\n");
    sprintf(s->path, "%s/zarr.json", s->folder);
    return wfl_zarr_write_file(s->path, text, strlen(text), s->durable);
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
static int read_chunk(wfl_zarr_store *s, size_t bytes)
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
static int pack_file(wfl_zarr_store *s)
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
    if (!code && s->durable && fsync(to) != 0 && errno != EINVAL)
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
static int write_chunk(wfl_zarr_store *s, const wfl_io_source *source, const wf_shape *first, const int64_t *index)
{
    int parts = s->type->parts, rank = s->shape.rank, last = rank - 1;
    size_t bytes = (size_t)(s->values * parts) * s->type->bytes;
    int64_t low[WF_MAX_RANK] = { 0 }, count[WF_MAX_RANK] = { 0 }, at[WF_MAX_RANK] = { 0 };
    bool whole = true;
    for (int d = 0; d < rank; d++) {
        int64_t begin = index[d] * s->chunk[d], end = first->dim[d] + source->shape.dim[d];
        int64_t next = begin + s->chunk[d] < s->shape.dim[d] ? begin + s->chunk[d] : s->shape.dim[d];
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
    code = wfl_zarr_write_file(s->path, s->samples, bytes, s->durable && !s->packer->pack);
    return !code && s->packs && s->packer->pack ? pack_file(s) : code;
}

int wfl_zarr_store_write(wfl_zarr_store *s, const wfl_io_source *source, const wf_shape *first)
{
    int64_t index[WF_MAX_RANK] = { 0 };
    int rank = s->shape.rank;
    if (source->count == 0)
        return 0;
    for (int d = 0; d < rank; d++)
        index[d] = first->dim[d] / s->chunk[d];
    for (int d = 0; d >= 0;) {
        int code = write_chunk(s, source, first, index);
        if (code)
            return code;
        for (d = rank - 1; d >= 0; d--) {
            if (++index[d] <= (first->dim[d] + source->shape.dim[d] - 1) / s->chunk[d])
                break;
            index[d] = first->dim[d] / s->chunk[d];
        }
    }
    return 0;
}

/* The names of the files are collected first, since files that appear may be listed. */
int wfl_zarr_store_pack(wfl_zarr_store *s)
{
    struct dirent **names = NULL;
    int n = s->packer->pack ? scandir(s->folder, &names, NULL, NULL) : 0, code = n < 0 ? errno : 0;
    for (int i = 0; i < n; i++) {
        if (!code && names[i]->d_name[0] == 'c') {
            sprintf(s->path, "%s/%.*s", s->folder, ZARR_NAME - 2, names[i]->d_name);
            code = pack_file(s);
        }
        free(names[i]);
    }
    free(names);
    return code;
}
