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

static inline void remove_tree(const char *path) { nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS); }
static inline void remove_store(void) { remove_tree("a.zarr"); }

/* Makes the folders before the last part of a path. */
static inline void make_folders(const char *path)
{
    char part[256];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}

/* Two folders have the same files, and the same bytes in them. */
static inline void assert_same_tree(const char *a, const char *b)
{
    const char *folders[2] = { a, b };
    int entries[2] = { 0 };
    for (int k = 0; k < 2; k++) {
        DIR *dir = opendir(folders[k]);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
            char x[256], y[256];
            struct stat info;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            entries[k]++;
            if (k)
                continue;
            snprintf(x, sizeof x, "%s/%.100s", a, entry->d_name);
            snprintf(y, sizeof y, "%s/%.100s", b, entry->d_name);
            assert_int_equal(stat(x, &info), 0);
            if (S_ISDIR(info.st_mode))
                assert_same_tree(x, y);
            else
                assert_same_file(x, y);
        }
        closedir(dir);
    }
    assert_int_equal(entries[0], entries[1]);
}

static inline void write_text(const char *path, const char *text)
{
    make_folders(path);
    write_file(path, text, strlen(text));
}
#endif
