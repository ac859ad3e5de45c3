/* zarr_store.h - folders of Zarr for tests: "a.zarr" is made by hand and removed. */
#ifndef WEFT_TEST_ZARR_STORE_H
#define WEFT_TEST_ZARR_STORE_H
#include "test_io_util.h"
#include <ftw.h>

static inline int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void remove_store(void) { nftw("a.zarr", remove_one, 8, FTW_DEPTH | FTW_PHYS); }

/* Makes the folders before the last part of a path. */
static inline void make_folders(const char *path)
{
    char part[256];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}

static inline void write_text(const char *path, const char *text)
{
    make_folders(path);
    write_file(path, text, strlen(text));
}
#endif
