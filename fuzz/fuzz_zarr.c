/* fuzz_zarr.c - takes any bytes as the metadata of a Zarr array, up to a byte of 0, and a chunk: wf_probe gives a shape
 * or an error that names the folder, and a small box at the beginning can be read or gives an error. The array itself
 * may be as large as the metadata say, so it is not read. The bytes are also taken as the metadata of a group with the
 * levels of an image: the group, its levels and two small arrays in it can be read or give an error.
 */
#include <sys/stat.h>
#include "fuzz_files.h"
#include "weft/io.h"

enum { FILES = 11, ARRAY = 7, SMALLER, GROUP, LEVELS, FOLDERS = 2 };
/* metadata of versions 2 and 3, and the chunk under the names that it may have */
static const char *const files[FILES] = { ".zarray", "zarr.json", "0", "0.0", "c.0", "c/0", "0.0.0",
                                          /* two small arrays, and the metadata of the group that they are in */
                                          "c/.zarray", "d/.zarray", ".zgroup", ".zattrs" };
static const char *const inner_folders[FOLDERS] = { "c", "d" };
static const char array[] = "{\"zarr_format\": 2, \"shape\": [4, 6, 5], \"chunks\": [2, 3, 5], \"dtype\": \"|u1\", "
                            "\"order\": \"C\", \"filters\": null, \"compressor\": null, \"fill_value\": 1}";
static const char smaller[] = "{\"zarr_format\": 2, \"shape\": [4, 3, 2], \"chunks\": [4, 3, 2], \"dtype\": \"<u2\", "
                              "\"order\": \"C\", \"filters\": null, \"compressor\": null, \"fill_value\": 2}";
static char names[FILES][96];

static void leave(void)
{
    char inner[96];
    for (int i = 0; i < FILES; i++)
        unlink(names[i]);
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(inner, sizeof inner, "%s/%s", folder, inner_folders[i]);
        rmdir(inner);
    }
    leave_folder();
}

static void enter(void)
{
    char inner[96];
    enter_folder("zarr", leave);
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(inner, sizeof inner, "%s/%s", folder, inner_folders[i]);
        if (mkdir(inner, 0700) != 0)
            abort();
    }
    for (int i = 0; i < FILES; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
}

/* Opens what is in the folder `name`, and reads a small box of it. */
static void read_box(const char *name)
{
    wf_shape shape, first;
    wf_dtype dtype;
    wf_meta meta = { .size = sizeof meta };
    if (wf_probe(ctx, name, &meta, &dtype, &shape) != WF_OK) {
        require(strstr(wf_last_message(ctx), folder) != NULL, "an error without the folder");
        wf_clear_error(ctx);
        return;
    }
    for (int d = 0; d < 3; d++)
        require(meta.spacing[d] >= 0 && meta.origin[d] - meta.origin[d] == 0, "a spacing that is none");
    first = (wf_shape){ .rank = shape.rank };
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = shape.dim[d] < 3 ? shape.dim[d] : 3;
    wf_array *box = wf_load_region(ctx, name, first, shape, NULL);
    require(box ? wf_array_dtype(box) == dtype : wf_last_status(ctx) != WF_OK, "another dtype, or no error");
    wf_clear_error(ctx);
    wf_release(box);
}

/* Looks up the levels of the image in the folder, and reads a small box of each by its path. */
static void look_up_levels(void)
{
    enum { MOST_LEVELS = 8 };
    wf_meta meta = { .size = sizeof meta };
    const int levels = wf_probe(ctx, folder, &meta, NULL, NULL) == WF_OK ? meta.levels : 0;
    wf_clear_error(ctx);
    for (int k = 0; k < levels && k < MOST_LEVELS; k++) {
        char path[256];
        wf_shape shape, again;
        if (wf_probe_level(ctx, folder, k, &meta, NULL, &shape) != WF_OK) {
            require(k > 0 && strstr(wf_last_message(ctx), folder) != NULL,
                    "no first level, or an error without the folder");
            wf_clear_error(ctx);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, meta.level);
        require(meta.levels == levels && wf_probe(ctx, path, NULL, NULL, &again) == WF_OK && again.rank == shape.rank &&
                    memcmp(again.dim, shape.dim, (size_t)shape.rank * sizeof *shape.dim) == 0,
                "a level is another array by its path");
        read_box(path);
    }
    require(!levels || wf_probe_level(ctx, folder, levels, NULL, NULL, NULL) == WF_ERR_ARG, "a level after the last");
    wf_clear_error(ctx);
}

/* Takes the metadata as those of a group, in the file `name`. */
static void read_levels(const uint8_t *data, size_t size, const char *name)
{
    char level[96];
    snprintf(level, sizeof level, "%s/c", folder);
    unlink(names[0]);
    unlink(names[1]);
    write_bytes(names[ARRAY], (const uint8_t *)array, sizeof array - 1);
    write_bytes(names[SMALLER], (const uint8_t *)smaller, sizeof smaller - 1);
    write_bytes(names[GROUP], (const uint8_t *)"{}", 2);
    write_bytes(name, data, size);
    read_box(level);
    require(wf_probe(ctx, level, NULL, NULL, NULL) == WF_OK, "an array depends on the metadata of its group");
    read_box(folder);
    look_up_levels();
    unlink(names[ARRAY]);
    unlink(names[SMALLER]);
    unlink(names[GROUP]);
    unlink(names[LEVELS]);
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
        for (int i = 2; i < ARRAY; i++)
            if (chunk)
                write_bytes(names[i], zero + 1, chunk);
            else
                unlink(names[i]);
        read_box(folder);
    }
    read_levels(data, metadata, names[LEVELS]);
    read_levels(data, metadata, names[1]);
    return 0;
}
