/* fuzz_zarr.c - takes any bytes as the metadata of a Zarr array, up to a byte of 0, and a chunk: wf_probe gives a shape
 * or an error that names the folder, and a small box at the begin can be read or gives an error. The array itself may be
 * as large as the metadata says, so it is not read.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "weft/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 65536, FILES = 7 };
/* metadata of versions 2 and 3, and the chunk under the names that it may have */
static const char *const files[FILES] = { ".zarray", "zarr.json", "0", "0.0", "c.0", "c/0", "0.0.0" };
static wf_context *ctx;
static char folder[64], names[FILES][96];

static void leave(void)
{
    char inner[96];
    for (int i = 0; i < FILES; i++)
        unlink(names[i]);
    snprintf(inner, sizeof inner, "%s/c", folder);
    rmdir(inner);
    rmdir(folder);
    wf_context_free(ctx);
}

static void enter(void)
{
    char inner[96];
    snprintf(folder, sizeof folder, "%s/weft-fuzz-zarr-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ctx = wf_context_new(&(wf_config){
        .size = sizeof(wf_config), .device = WF_INTERP, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE });
    if (!ctx || !mkdtemp(folder))
        abort();
    snprintf(inner, sizeof inner, "%s/c", folder);
    if (mkdir(inner, 0700) != 0)
        abort();
    for (int i = 0; i < FILES; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
    atexit(leave);
}

static void write_bytes(const char *path, const uint8_t *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0)
        abort();
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s; message: %s\n", what, wf_last_message(ctx));
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx)
        enter();
    if (size > MOST)
        return 0;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t metadata = zero ? (size_t)(zero - data) : size, chunk = zero ? size - metadata - 1 : 0;
    for (int version = 0; version < 2; version++) {
        write_bytes(names[version], data, metadata);
        unlink(names[1 - version]);
        for (int i = 2; i < FILES; i++)
            if (chunk)
                write_bytes(names[i], zero + 1, chunk);
            else
                unlink(names[i]);
        wf_shape shape, first;
        wf_dtype dtype;
        if (wf_probe(ctx, folder, NULL, &dtype, &shape) != WF_OK) {
            require(strstr(wf_last_message(ctx), folder) != NULL, "an error without the folder");
            wf_clear_error(ctx);
            continue;
        }
        first = (wf_shape){ .rank = shape.rank };
        for (int d = 0; d < shape.rank; d++)
            shape.dim[d] = shape.dim[d] < 3 ? shape.dim[d] : 3;
        wf_array *box = wf_load_region(ctx, folder, first, shape, NULL);
        require(box ? wf_array_dtype(box) == dtype : wf_last_status(ctx) != WF_OK, "another dtype, or no error");
        wf_clear_error(ctx);
        wf_release(box);
    }
    return 0;
}
