/* zarr_write.c - saves arrays as Zarr, version 3: a folder of an array, or, if the name ends with .ome.zarr, a group of
 * OME-NGFF 0.5 with the levels of an image in the folders "0", "1", ..., of which the array is the first.
 *
 * The folder has a temporary name beside its own, ".weft-<number>.zarr.tmp", until it is complete. The folder of a
 * process that is killed stays. Several processes write chunks of one folder, which the first of them makes and gives its
 * name; a chunk is then written and packed at once, whole. Further levels are made at the end, one after the other.
 */
#include "ome.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest name of a temporary folder, and of a level in it, with their slashes and the 0 after them. */
enum { TEMP_NAME = 48, LEVEL_NAME = 16 };

static const wfl_zarr_packer plain = { .name = NULL };
static const wfl_zarr_packer gzip = { "gzip", WFL_GZIP_LEVEL, "", wfl_gzip_pack };
static const wfl_zarr_packer zstd = { "zstd", WFL_ZSTD_LEVEL, ", \"checksum\": false", wfl_codec_pack };

typedef struct state {
    char *temp; /* the folder that appears */
    bool ome;
    wfl_ome_image image;  /* of a group */
    wfl_zarr_store array; /* what is stored: the array, or level 0 */
} state;

/* ---- the folder ---- */

/* Sets the path of the folder of a level, or of the array. */
static void name_folder(const state *s, int level, char *path)
{
    if (s->ome)
        sprintf(path, "%s/%d", s->temp, level);
    else
        strcpy(path, s->temp);
}

/* Returns room for such a path as a new string; NULL on error. */
static char *new_folder_name(const wfl_io_output *out)
{
    const state *s = out->state;
    const size_t n = strlen(s->temp) + LEVEL_NAME;
    char *path = malloc(n);
    if (!path)
        wfl_io_fail_memory(out->what.ctx, out->what.path, (int64_t)n);
    return path;
}

/* Makes a folder with a name that is free, beside `path`. Returns 0 or an errno. */
static int make_folder(state *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0, code = EEXIST;
    for (unsigned attempt = 0; attempt < 64 && code == EEXIST; attempt++) {
        sprintf(s->temp, "%.*s.weft-%016llx.zarr.tmp", folder, path,
                (unsigned long long)wfl_io_random_number(s, attempt));
        code = mkdir(s->temp, 0777) == 0 ? 0 : errno;
    }
    if (code)
        s->temp[0] = 0;
    return code;
}

/* Removes the files and folders in a folder, of which no folder has folders. */
static void remove_entries(int folder)
{
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (!dir && folder >= 0)
        close(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0 || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        const int inner = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            remove_entries(inner);
        unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
}

/* Removes a folder with all in it. Another process of a group that has ended may still write files. */
static void remove_folder(const char *folder)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        remove_entries(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (rmdir(folder) == 0 || (errno != ENOTEMPTY && errno != EEXIST))
            return;
    }
}

/* ---- the arrays ---- */

/* Opens a store for a level, or for the array. The caller closes it, also after an error. */
static wf_status open_level(const wfl_io_output *out, int level, wfl_zarr_store *to)
{
    const state *s = out->state;
    *to = s->array;
    to->folder = to->path = NULL;
    to->samples = NULL;
    if (s->ome)
        wfl_ome_level_shape(&s->image, level, &to->shape, to->names);
    char *folder = new_folder_name(out);
    if (!folder)
        return WF_ERR_MEMORY;
    name_folder(s, level, folder);
    const wf_status status = wfl_zarr_store_open(to, folder);
    free(folder);
    return status;
}

/* Makes the folder of a level, or of the array, with its metadata. */
static wf_status make_level(const wfl_io_output *out, int level)
{
    const state *s = out->state;
    wfl_zarr_store to;
    wf_status status = open_level(out, level, &to);
    int code = status == WF_OK && s->ome && mkdir(to.folder, 0777) != 0 ? errno : 0;
    if (status == WF_OK && !code)
        code = wfl_zarr_store_begin(&to);
    wfl_zarr_store_close(&to);
    return code ? wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code) : status;
}

/* Makes the folder with its metadata, or joins that of another process. */
static wf_status begin(wfl_io_output *out)
{
    state *s = out->state;
    const char *path = out->what.path;
    struct stat info;
    if (out->join) {
        strcpy(s->temp, out->join);
        const wf_status status = open_level(out, 0, &s->array);
        if (status != WF_OK || stat(s->array.folder, &info) == 0)
            return status;
        return wfl_io_fail(out->what.ctx, path, WF_ERR_IO, "cannot write a part: %s: %s", s->array.folder,
                           wfl_io_errno_text(errno));
    }
    if (lstat(path, &info) == 0)
        return wfl_io_fail(out->what.ctx, path, WF_ERR_IO,
                           "cannot write: there is a %s of this name, which is not replaced",
                           S_ISDIR(info.st_mode) ? "folder" : "file");
    const int code = make_folder(s, path);
    if (code)
        return wfl_io_fail_errno(out->what.ctx, path, "write", code);
    out->folder = s->temp;
    wf_status status = s->ome ? wfl_ome_write_group(out->what.ctx, path, &s->image, s->temp) : WF_OK;
    for (int k = 0; k <= out->steps && status == WF_OK; k++)
        status = make_level(out, k);
    return status == WF_OK ? open_level(out, 0, &s->array) : status;
}

wf_status wfl_zarr_create(wfl_io_output *out)
{
    const uint32_t all = IO_BIT(BOOL) | IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) |
                         IO_BIT(U32) | IO_BIT(I64) | IO_BIT(U64) | IO_BIT(F16) | IO_BIT(F32) | IO_BIT(F64) |
                         IO_BIT(C64) | IO_BIT(C128);
    wf_context *ctx = out->what.ctx;
    const char *path = out->what.path;
    const size_t n = strlen(out->join ? out->join : path);
    state *s = out->state = calloc(1, sizeof *s);
    if (!s)
        return wfl_io_fail_memory(ctx, path, (int64_t)sizeof *s);
    s->ome = wfl_io_suffix_is(path, ".ome.zarr");
    s->temp = calloc(n + TEMP_NAME, 1);
    if (!s->temp)
        return wfl_io_fail_memory(ctx, path, (int64_t)n);
    int rank = 0;
    wfl_zarr_store *a = &s->array;
    *a = (wfl_zarr_store){ .ctx = ctx, .target = path, .shape = out->what.shape, .durable = out->meta.durable };
    wf_status status = wfl_io_choose_type(&out->what, &out->meta, "Zarr", all, all, WF_STORED_F32, "", &a->type, &rank);
    if (status == WF_OK && s->ome && (rank < 2 || rank > 4))
        status = wfl_io_fail(ctx, path, WF_ERR_SHAPE,
                             "OME-Zarr holds [h,w], [n,h,w], [d,h,w] or [n,d,h,w]; this array has rank %d", rank);
    a->packer = out->meta.zstd ? &zstd : out->meta.deflate ? &gzip : &plain;
    if (status == WF_OK && a->packer == &gzip)
        status = wfl_gzip_library(ctx, path);
    if (status == WF_OK && a->packer == &zstd)
        status = wfl_codec_library(ctx, path, WFL_PACKED_ZSTD);
    if (status != WF_OK)
        return status;
    a->shape.rank = rank;
    a->images = rank == 2 || (rank == 3 && out->meta.is_stack);
    if (s->ome) {
        wfl_ome_describe(&out->meta, &a->shape, &s->image);
        out->steps = s->image.levels - 1;
    }
    return begin(out);
}

void wfl_zarr_unit(const wfl_io_output *out, int64_t *unit)
{
    const wfl_zarr_store *a = &((const state *)out->state)->array;
    for (int d = 0; d < out->what.shape.rank; d++)
        unit[d] = d < a->shape.rank ? a->chunk[d] : out->what.shape.dim[d];
}

wf_status wfl_zarr_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    state *s = out->state;
    s->array.packs = out->shared;
    int code = wfl_zarr_store_write(&s->array, source, first);
    if (!code && source->count && out->join && out->meta.durable)
        code = wfl_io_flush_folder(s->array.folder);
    return code ? wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code) : WF_OK;
}

wf_status wfl_zarr_derive(wfl_io_output *out, int step, int part, int parts)
{
    const state *s = out->state;
    wfl_zarr_store to;
    char *from = new_folder_name(out);
    if (!from)
        return WF_ERR_MEMORY;
    name_folder(s, step - 1, from);
    wf_status status = open_level(out, step, &to);
    to.packs = true;
    if (status == WF_OK)
        status = wfl_ome_make_level(&s->image, step, from, part, parts, &to);
    const int code = status == WF_OK && out->meta.durable ? wfl_io_flush_folder(to.folder) : 0;
    wfl_zarr_store_close(&to);
    free(from);
    return code ? wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code) : status;
}

/* ---- the end ---- */

/* Gives the folder its name. Returns 0 or an errno. */
static int appear(const wfl_io_output *out, const state *s)
{
    const bool durable = out->meta.durable;
    int code = durable ? wfl_io_flush_folder(s->array.folder) : 0;
    if (!code && durable && s->ome)
        code = wfl_io_flush_folder(s->temp);
    if (!code && rename(s->temp, out->what.path) != 0)
        code = errno;
    return !code && durable ? wfl_io_flush_name(out->what.path) : code;
}

wf_status wfl_zarr_finish(wfl_io_output *out, wf_status status)
{
    state *s = out->state;
    if (!s)
        return status;
    int code = status == WF_OK && !out->shared ? wfl_zarr_store_pack(&s->array) : 0;
    for (int k = 1; k <= out->steps && status == WF_OK && !code && !out->shared; k++)
        status = wfl_zarr_derive(out, k, 0, 1);
    if (status == WF_OK && !code)
        code = appear(out, s);
    if (code)
        status = wfl_io_fail_errno(out->what.ctx, out->what.path, "write", code);
    if (status != WF_OK && s->temp && s->temp[0] && !out->join)
        remove_folder(s->temp);
    wfl_zarr_store_close(&s->array);
    free(s->temp);
    free(s);
    out->state = NULL;
    return status;
}
