/* test_io_memory_fails.c - STAR tables, Zarr arrays, groups of OME-Zarr with one level and several, OME-TIFF and movies with the first, second, ... allocation failing: the call
 * returns WF_ERR_MEMORY, or the result that it has with all memory; nothing leaks.
 *
 * Files are read and written by code that allocates by the C library, not by wf__alloc, which memory_fails.h makes fail.
 * So this program is linked with --wrap (cmake/WeftTests.cmake): the functions below stand for malloc, calloc and
 * realloc in all of Weft's code.
 *
 * ctest: failures
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include "eer_file.h"
#include "memory_fails.h"
#include "weft/functions.h"
#include "weft/io.h"
#include "weft/star.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes) { return wf__alloc_fails() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t size) { return wf__alloc_fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t bytes) { return wf__alloc_fails() ? NULL : __real_realloc(old, bytes); }

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Returns what to return for a failure: WF_OK counts as one if the context could not even keep the error. */
static wf_status failure(wf_context *ctx) { return wf_last_status(ctx) == WF_OK ? WF_ERR_MEMORY : wf_last_status(ctx); }

/* ---- STAR ---- */

static bool fill(wf_context *ctx, wf_star *s)
{
    static const char *const names[] = { "a b", "", "1@x.mrcs" };
    int optics = wf_star_add(s, "optics", WF_STAR_PAIRS), rows = wf_star_add(s, "particles", 3);
    wf_array *x = wf_array_iota(ctx, WF_F64, WF_SHAPE(3), NULL), *one = wf_array_iota(ctx, WF_I32, WF_SHAPE(1), NULL);
    bool ok = x && one && optics == 0 && rows == 1 && wf_star_set(s, 0, "rlnOpticsGroup", one) == WF_OK &&
              wf_star_set(s, 1, "rlnCoordinateX", x) == WF_OK &&
              wf_star_set_texts(s, 1, "rlnImageName", names) == WF_OK && wf_star_save(s, "fails.star") == WF_OK;
    wf_release(x);
    wf_release(one);
    return ok;
}

static wf_status tables(wf_context *ctx)
{
    double x[3] = { 0 };
    wf_star *s = wf_star_new(ctx);
    bool ok = s && fill(ctx, s);
    wf_star_free(s);
    s = ok ? wf_star_load(ctx, "fails.star") : NULL;
    wf_array *values = s ? wf_star_values(s, wf_star_find(s, "particles"), "rlnCoordinateX", WF_F64) : NULL;
    const char *const *texts = values ? wf_star_texts(s, 1, "rlnImageName") : NULL;
    ok = texts && wf_download(values, x, sizeof x) == WF_OK;
    if (ok)
        assert_true(x[0] == 0 && x[2] == 2 && strcmp(texts[0], "a b") == 0 && texts[1][0] == 0);
    wf_release(values);
    wf_star_free(s);
    return ok ? WF_OK : failure(ctx);
}

/* ---- Zarr ---- */

/* A group with one level, which is packed by gzip or zstd. */
static wf_status store_packed(wf_context *ctx, bool zstd)
{
    static const char group[] = "{\"multiscales\": [{\"axes\": [{\"name\": \"y\"}, {\"name\": \"x\"}], \"datasets\": "
                                "[{\"path\": \"0\"}]}]}";
    nftw("fails.zarr", remove_one, 8, FTW_DEPTH | FTW_PHYS);
    float v[35] = { 0 };
    wf_array *a = wf_array_iota(ctx, WF_F32, WF_SHAPE(5, 7), NULL);
    assert_int_equal(mkdir("fails.zarr", 0777), 0);
    for (int i = 0; i < 2; i++) {
        int fd = open(i ? "fails.zarr/.zattrs" : "fails.zarr/.zgroup", O_WRONLY | O_CREAT, 0666);
        assert_true(fd >= 0 && write(fd, i ? group : "{}", i ? sizeof group - 1 : 2) > 0 && close(fd) == 0);
    }
    bool ok =
        a && wf_save(a, "fails.zarr/0",
                     &(wf_meta){ .size = sizeof(wf_meta), .format = WF_FORMAT_ZARR, .deflate = !zstd, .zstd = zstd }) ==
                 WF_OK;
    wf_array *b = ok ? wf_load(ctx, "fails.zarr", NULL) : NULL;
    ok = b && wf_download(b, v, sizeof v) == WF_OK;
    if (ok)
        assert_true(v[0] == 0 && v[34] == 34);
    wf_release(a);
    wf_release(b);
    return ok ? WF_OK : failure(ctx);
}

static wf_status store(wf_context *ctx) { return store_packed(ctx, false); }
static wf_status store_zstd(wf_context *ctx) { return store_packed(ctx, true); }

/* ---- OME ---- */

/* Saves an array with everything that `meta` asks for, loads what `then` names, and compares element `at`. */
static wf_status save_image(wf_context *ctx, const char *path, const wf_meta *meta, const char *then, int64_t count,
                            int64_t at, double expected)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    float v[256] = { 0 };
    wf_array *a = wf_array_iota(ctx, WF_F32, WF_SHAPE(4, 6, 9), NULL);
    wf_array *b = a && wf_save(a, path, meta) == WF_OK ? wf_load(ctx, then, NULL) : NULL;
    const bool ok = b && wf_array_count(b) == count && wf_download(b, v, (size_t)count * sizeof *v) == WF_OK;
    if (ok)
        assert_true(v[at] == (float)expected);
    else
        assert_true(!b || wf_array_count(b) == count);
    wf_release(a);
    wf_release(b);
    return ok ? WF_OK : failure(ctx);
}

static wf_status group(wf_context *ctx)
{
    const wf_meta meta = { .size = sizeof meta, .spacing = { 2, 2, 2 } };
    return save_image(ctx, "fails.ome.zarr", &meta, "fails.ome.zarr", 216, 215, 215);
}

/* Levels 4 x 6 x 9 and 2 x 3 x 4. */
static wf_status pyramid(wf_context *ctx)
{
    const wf_meta meta = {
        .size = sizeof meta, .spacing = { 2, 2, 2 }, .pyramid = true, .coarsest = 5, .deflate = true
    };
    const wf_status status = save_image(ctx, "fails.ome.zarr", &meta, "fails.ome.zarr/1", 24, 0, 32);
    wf_meta probed = { .size = sizeof probed };
    wf_shape shape = { 0 };
    if (status != WF_OK)
        return status;
    if (wf_probe_level(ctx, "fails.ome.zarr", 1, &probed, NULL, &shape) != WF_OK)
        return failure(ctx);
    assert_true(probed.levels == 2 && probed.spacing[0] == 4 && probed.origin[2] == 1 && shape.dim[2] == 4);
    return WF_OK;
}

/* A group with levels that is written in two parts, of which chunks have elements of both. */
static wf_status pyramid_in_parts(wf_context *ctx)
{
    const wf_meta meta = { .size = sizeof meta, .pyramid = true, .coarsest = 5, .is_stack = true };
    nftw("fails.ome.zarr", remove_one, 8, FTW_DEPTH | FTW_PHYS);
    uint8_t v[24] = { 0 };
    wf_array *half = wf_full(ctx, WF_U8, WF_SHAPE(2, 3, 8), 7);
    wf_file *file = half ? wf_file_create(ctx, "fails.ome.zarr", WF_U8, WF_SHAPE(2, 6, 8), &meta) : NULL;
    bool ok = file && wf_file_write(file, half, WF_SHAPE(0, 0, 0)) == WF_OK &&
              wf_file_write(file, half, WF_SHAPE(0, 3, 0)) == WF_OK && wf_file_finish(file) == WF_OK;
    wf_file_free(file);
    wf_array *b = ok ? wf_load(ctx, "fails.ome.zarr/1", NULL) : NULL;
    ok = b && wf_array_count(b) == 24 && wf_download(b, v, 24) == WF_OK;
    if (ok)
        assert_true(v[0] == 7 && v[23] == 7);
    wf_release(half);
    wf_release(b);
    return ok ? WF_OK : failure(ctx);
}

static wf_status ome_tiff(wf_context *ctx)
{
    const wf_meta meta = { .size = sizeof meta, .spacing = { 2, 2, 2 } };
    return save_image(ctx, "fails.ome.tif", &meta, "fails.ome.tif", 216, 100, 100);
}

/* No folder or file with a temporary name is left. */
static void check_leftovers(void)
{
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, ".weft-", 6) == 0)
            fail_msg("%s is left", entry->d_name);
    closedir(dir);
}

/* ---- movies ---- */

static void write_movie(void)
{
    const electron e[] = { { 0, 1, 0, 0 }, { 2, 3, 1, 1 } };
    eer_writer w = { .height = 4, .width = 4, .compression = 65001 };
    eer_begin(&w);
    eer_frame(&w, e, 2);
    eer_frame(&w, e, 1);
    FILE *f = fopen("fails.eer", "wb");
    assert_true(f && fwrite(w.bytes, 1, w.used, f) == w.used && fclose(f) == 0);
    free(w.bytes);
}

static wf_status movie(wf_context *ctx)
{
    float v[16] = { 0 };
    wf_array *gain = wf_full(ctx, WF_F32, WF_SHAPE(4, 4), 3);
    bool ok = gain && wf_save(gain, "fails_gain.mrc", NULL) == WF_OK;
    wf_movie how = { .size = sizeof how, .gain = "fails_gain.mrc", .group = 2 };
    wf_file *m = ok ? wf_movie_open(ctx, "fails.eer", &how, NULL, NULL, NULL) : NULL;
    wf_array *sum = m ? wf_file_read(m, WF_SHAPE(0, 0, 0), WF_SHAPE(1, 4, 4)) : NULL;
    ok = sum && wf_download(sum, v, sizeof v) == WF_OK;
    if (ok)
        assert_true(v[1] == 6 && v[11] == 3 && v[0] == 0);
    wf_file_free(m);
    wf_release(gain);
    wf_release(sum);
    return ok ? WF_OK : failure(ctx);
}

int main(void)
{
    static const memory_case cases[] = {
        { "tables", tables, WF_INTERP, 1 },
        { "store", store, WF_INTERP, 1 },
        { "movie", movie, WF_INTERP, 1 },
        { "group", group, WF_INTERP, 1 },
        { "pyramid", pyramid, WF_INTERP, 1 },
        { "pyramid_in_parts", pyramid_in_parts, WF_INTERP, 3 },
        { "ome_tiff", ome_tiff, WF_INTERP, 1 },
        { "store_zstd", store_zstd, WF_INTERP, 1 }, /* the last one, for which a library may be missing */
    };
    bool has_zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) != NULL;
    if (!has_zstd)
        fprintf(stderr, "libzstd.so.1 is not installed: the case store_zstd is left out\n");
    write_movie();
    const int result = run_memory_cases(cases, WF__COUNT(cases) - !has_zstd, NULL);
    check_leftovers();
    return result;
}
