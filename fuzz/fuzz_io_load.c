/* fuzz_io_load.c - takes any bytes as an image file. wf_load and wf_probe must agree, and give an array or an error
 * that names the file. A loaded array can be saved, and is the same when loaded again.
 *
 * The content decides the format, so the files of the corpus are plain files. Bytes without a known mark are tried with
 * the suffix of each format.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "weft/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES = 5 };
static const char *const suffixes[NAMES] = { "mrc", "mrcs", "npy", "png", "tif" };
static wf_context *ctx;
static char folder[64], names[NAMES][96], copy[96];

static void leave(void)
{
    for (int i = 0; i < NAMES; i++)
        unlink(names[i]);
    unlink(copy);
    rmdir(folder);
    wf_context_free(ctx);
}

static void enter(void)
{
    snprintf(folder, sizeof folder, "%s/weft-fuzz-io-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ctx = wf_context_new(&(wf_config){
        .size = sizeof(wf_config), .device = WF_INTERP, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE });
    if (!ctx || !mkdtemp(folder))
        abort();
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "%s/f.%s", folder, suffixes[i]);
    snprintf(copy, sizeof copy, "%s/copy.npy", folder);
    atexit(leave);
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s; message: %s\n", what, wf_last_message(ctx));
    abort();
}

/* Saves and loads the array, and compares. */
static void check_copy(const wf_array *array)
{
    wf_dtype dtype = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array);
    require(wf_save(array, copy, NULL) == WF_OK, "cannot be saved");
    wf_array *again = wf_load(ctx, copy, NULL);
    require(again != NULL, "cannot be loaded again");
    wf_shape other = wf_array_shape(again);
    require(wf_array_dtype(again) == dtype && memcmp(&other, &shape, sizeof shape) == 0, "another dtype or shape");
    void *a, *b;
    require(wf_map(array, &a, NULL) == WF_OK && wf_map(again, &b, NULL) == WF_OK, "no memory");
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(dtype);
    require(bytes == 0 || memcmp(a, b, bytes) == 0, "other values");
    wf_release(again);
}

static bool load(const char *name)
{
    wf_meta meta = { .size = sizeof meta }, probed = meta;
    wf_dtype dtype = WF_NONE;
    wf_shape shape = { 0 };
    wf_array *array = wf_load(ctx, name, &meta);
    if (!array)
        require(wf_last_status(ctx) != WF_OK && strstr(wf_last_message(ctx), name), "an error without status or file");
    wf_clear_error(ctx);
    wf_status status = wf_probe(ctx, name, &probed, &dtype, &shape);
    if (array) {
        wf_shape loaded = wf_array_shape(array);
        require(status == WF_OK && dtype == wf_array_dtype(array), "wf_probe disagrees about the dtype");
        require(memcmp(&shape, &loaded, sizeof shape) == 0, "wf_probe disagrees about the shape");
        require(memcmp(&meta, &probed, sizeof meta) == 0, "wf_probe disagrees about the meta data");
        if (wf_array_count(array) < 65536)
            check_copy(array);
        wf_save(array, name, &meta); /* an error is allowed, a crash is not */
    }
    wf_clear_error(ctx);
    wf_release(array);
    return array != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx)
        enter();
    if (size > 65536)
        return 0;
    bool loaded = false;
    for (int i = (int)(size % 2); i < NAMES && !loaded; i += i == 0 ? 2 : 1) {
        FILE *file = fopen(names[i], "wb");
        if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
            abort();
        loaded = load(names[i]);
    }
    return 0;
}
