/* fuzz_zarr.c - takes any bytes as the metadata of a Zarr array, up to a byte of 0, and a chunk: wf_probe gives a shape
 * or an error that names the folder, and a small box at the beginning can be read or gives an error. The array itself
 * may be as large as the metadata say, so it is not read.
 */
#include <sys/stat.h>
#include "fuzz_files.h"
#include "weft/io.h"

enum { FILES = 7 };
/* metadata of versions 2 and 3, and the chunk under the names that it may have */
static const char *const files[FILES] = { ".zarray", "zarr.json", "0", "0.0", "c.0", "c/0", "0.0.0" };
static char names[FILES][96];

static void leave(void)
{
    char inner[96];
    for (int i = 0; i < FILES; i++)
        unlink(names[i]);
    snprintf(inner, sizeof inner, "%s/c", folder);
    rmdir(inner);
    leave_folder();
}

static void enter(void)
{
    char inner[96];
    enter_folder("zarr", leave);
    snprintf(inner, sizeof inner, "%s/c", folder);
    if (mkdir(inner, 0700) != 0)
        abort();
    for (int i = 0; i < FILES; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
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
