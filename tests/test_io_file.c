/* test_io_file.c - what all formats share: files appear whole or not at all, permissions, links, full disks,
 * recognition of formats, wrong arguments.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"
#include <signal.h>
#include <sys/resource.h>
#include "base/base.h"
#include "lib/io/foreign.h"

/* One name for each wf_format, in its order. */
static const char *const names[] = { "f.mrc", "f.npy", "f.png", "f.tif" };
enum { NAMES = sizeof names / sizeof *names };

static unsigned mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return (unsigned)info.st_mode & 07777;
}

static void test_missing(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir.mrc", 0755), 0);
    assert_int_equal(mkfifo("pipe.mrc", 0644), 0);
    write_file("empty.npy", "", 0);
    write_file("plain.mrc", "x", 1);
    assert_refused("none.mrc", "no such file");
    assert_refused("none/f.mrc", "no such file");
    assert_refused("dir.mrc", "is a directory");
    assert_refused("pipe.mrc", "not a regular file"); /* and does not wait */
    assert_refused("empty.npy", "the file is empty");
    assert_refused("plain.mrc/f.mrc", "a part of the path is not a directory");
    assert_refused("/dev/null", "not a regular file");
    char path[400];
    memset(path, 'a', 300);
    strcpy(path + 300, ".mrc");
    assert_refused(path, "file name too long");
    if (geteuid() != 0) {
        write_file("secret.mrc", "x", 1);
        assert_int_equal(chmod("secret.mrc", 0), 0);
        assert_refused("secret.mrc", "permission denied");
    }
}

static void test_recognised(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(5, 7));
    for (int i = 0; i < NAMES; i++) {
        static const char *const others[] = { "x.mrc", "x.npy", "x.png", "x.TIFF", "x.dat", "x" };
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            save(array, names[i], NULL);
            assert_int_equal(rename(names[i], others[k]), 0);
            wf_meta meta = { .size = sizeof meta };
            wf_array *loaded = load(others[k], &meta); /* content before suffix */
            assert_int_equal((int)meta.format, i + 1);
            assert_same_values(loaded, array);
            wf_release(loaded);
        }
        /* a name that says nothing: meta.format decides; a name that says something wins */
        wf_meta meta = { .size = sizeof meta, .format = (wf_format)(i + 1) };
        save(array, "y.dat", &meta);
        wf_release(load("y.dat", &meta));
        assert_int_equal((int)meta.format, i + 1);
        save(array, "y.npy", &meta);
        wf_release(load("y.npy", &meta));
        assert_int_equal(meta.format, WF_FORMAT_NPY);
    }
    static const struct {
        const char *path;
        wf_format format;
    } named[] = { { "no/such/a.mrcs", WF_FORMAT_MRC },
                  { "a.NPY", WF_FORMAT_NPY },
                  { "a.png", WF_FORMAT_PNG },
                  { "a.b.tiff", WF_FORMAT_TIFF } };
    wf_format format = WF_FORMAT_BY_NAME;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        assert_int_equal(wf_format_named(ctx, named[i].path, &format), WF_OK);
        assert_int_equal(format, named[i].format);
    }
    assert_string_equal(wf_format_name(WF_FORMAT_TIFF), "TIFF");
    assert_true(!wf_format_name(WF_FORMAT_BY_NAME) && !wf_format_name((wf_format)(WF_FORMAT_ZARR + 1)));
    assert_string_equal(wf_stored_name(WF_STORED_U4), "u4");
    assert_true(!wf_stored_name(WF_STORED_DEFAULT) && !wf_stored_name((wf_stored)(WF_STORED_U4 + 1)));
    assert_int_equal(wf_format_named(ctx, "x.tiif", &format), WF_ERR_UNSUPPORTED);
    assert_int_equal(format, WF_FORMAT_TIFF);
    assert_non_null(strstr(wf_last_message(ctx), "x.tiif: the suffix names no format (known: .mrc"));
    wf_clear_error(ctx);
    assert_int_equal(wf_format_named(ctx, NULL, &format), WF_ERR_ARG);
    wf_clear_error(ctx);
    assert_int_equal(wf_format_named(ctx, "x.png", NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    save_refused(array, "x.dat2", NULL, "the suffix names no format (known: .mrc");
    save_refused(array, "mrc", NULL, "the suffix names no format");
    save_refused(array, "./.mrc", NULL, "the suffix names no format");
    write_file("text.txt", "hello, this is some text", 24);
    assert_refused("text.txt", "neither the content nor the suffix is of a known format (.mrc");
    write_file("map.xz",
               "\xfd"
               "7zXZ\0\0\0",
               8);
    assert_refused("map.xz", "the file is compressed by xz: unpack it first");
    write_file("packed.map",
               "\xfd"
               "7zXZ\0\0\0",
               8); /* under the suffix of a format that has no mark */
    assert_refused("packed.map", "the file is compressed by xz");
    write_file("arrays.npz", "PK\3\4", 4);
    assert_refused("arrays.npz", "the file is a ZIP archive, as .npz is one");
    wf_release(array);
}

/* ---- files appear whole or not at all ---- */

static void test_replaces(void **state)
{
    (void)state;
    wf_array *small = make(WF_U8, SHAPE(2, 3)), *large = make(WF_U8, SHAPE(200, 300));
    for (int i = 0; i < NAMES; i++)
        for (int round = 0; round < 4; round++) {
            wf_array *array = round % 2 ? small : large;
            wf_meta meta = { .size = sizeof meta, .durable = round > 1 };
            save(array, names[i], &meta);
            wf_array *loaded = load(names[i], NULL);
            assert_same_values(loaded, array);
            /* a loaded array does not depend on the file */
            save(loaded, names[i], NULL);
            wf_release(loaded);
        }
    wf_release(small);
    wf_release(large);
}

/* A disk that is full after `limit` bytes: writes fail, or are short and fail then. */
static void with_file_limit(size_t limit, wf_array *array, const char *path, const wf_meta *meta)
{
    struct rlimit old, new;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    new = old;
    new.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &new), 0);
    wf_status status = wf_save(array, path, meta);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, WF_ERR_IO);
    assert_error(path, "cannot write: file too large");
    assert_int_equal(leftovers(), 0);
}

static void test_full_disk(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(3, 300, 500)), *image = make(WF_U8, SHAPE(300, 500));
    static const size_t limits[] = { 0, 1, 100, 1024, 1500, 10000 };
    for (int i = 0; i < NAMES; i++)
        for (int compressed = 0; compressed < (i == 3 ? 2 : 1); compressed++)
            for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
                wf_array *source = i == 2 ? image : array;
                wf_meta meta = { .size = sizeof meta, .deflate = compressed };
                if (limits[k] > 2000 && (i == 2 || compressed))
                    continue; /* it may fit */
                if (limits[k] > 500 && i == 2)
                    continue;
                remove(names[i]);
                with_file_limit(limits[k], source, names[i], &meta);
                assert_int_not_equal(access(names[i], F_OK), 0);
                /* a file that was there is untouched */
                write_file(names[i], "precious", 8);
                with_file_limit(limits[k], source, names[i], &meta);
                size_t n;
                uint8_t *bytes = read_file(names[i], &n);
                assert_int_equal(n, 8);
                assert_memory_equal(bytes, "precious", 8);
                free(bytes);
                remove(names[i]);
            }
    wf_release(array);
    wf_release(image);
}

static void test_targets_refused(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(2, 3));
    wf_meta mrc = { .size = sizeof mrc, .format = WF_FORMAT_MRC };
    assert_int_equal(mkdir("d.mrc", 0755), 0);
    assert_int_equal(mkfifo("p.mrc", 0644), 0);
    write_file("notdir", "x", 1);
    save_refused(array, "d.mrc", NULL, "is a directory");
    save_refused(array, "d.mrc/", &mrc, "is a directory");
    assert_int_equal(mkfifo("p.mrc.gz", 0644), 0);
    save_refused(array, "p.mrc.gz", NULL, "not a regular file");
    save_refused(array, "p.mrc", NULL, "not a regular file");
    save_refused(array, "/dev/null", &mrc, "not a regular file");
    save_refused(array, "none/f.mrc", NULL, "no such file");
    save_refused(array, "notdir/f.mrc", NULL, "is not a directory");
    if (geteuid() != 0) {
        assert_int_equal(mkdir("locked", 0555), 0);
        save_refused(array, "locked/f.mrc", NULL, "permission denied");
        write_file("readonly.mrc", "x", 1);
        assert_int_equal(chmod("readonly.mrc", 0444), 0);
        save_refused(array, "readonly.mrc", NULL, "permission denied");
    }
    wf_release(array);
}

static void test_permissions(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(2, 3));
    mode_t mask = umask(027);
    save(array, "new.mrc", NULL);
    assert_int_equal(mode_of("new.mrc"), 0640);
    assert_int_equal(chmod("new.mrc", 0604), 0);
    save(array, "new.mrc", NULL); /* a file that exists keeps its own */
    assert_int_equal(mode_of("new.mrc"), 0604);
    umask(mask);
    wf_release(array);
}

static void test_links(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(2, 3));
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    write_file("elsewhere/real.mrc", "old", 3);
    assert_int_equal(symlink("elsewhere/real.mrc", "link.mrc"), 0);
    save(array, "link.mrc", NULL);
    struct stat info;
    assert_int_equal(lstat("link.mrc", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    wf_array *loaded = load("elsewhere/real.mrc", NULL);
    assert_same_values(loaded, array);
    wf_release(loaded);
    /* links to where nothing is yet, one of them in another folder: the file appears there */
    assert_int_equal(symlink("elsewhere/new.mrc", "broken.mrc"), 0);
    assert_int_equal(symlink("../nowhere.mrc", "elsewhere/new.mrc"), 0);
    save(array, "broken.mrc", NULL);
    assert_int_equal(lstat("broken.mrc", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    loaded = load("nowhere.mrc", NULL);
    assert_same_values(loaded, array);
    wf_release(loaded);
    remove("nowhere.mrc");
    remove("elsewhere/new.mrc");
    /* links in a circle, and to a missing folder */
    assert_int_equal(symlink("circle.mrc", "circle.mrc"), 0);
    assert_int_equal(wf_save(array, "circle.mrc", NULL), WF_ERR_IO);
    assert_error("circle.mrc", "cannot write: too many symbolic links");
    assert_int_equal(symlink("no-folder/new.mrc", "lost.mrc"), 0);
    assert_int_equal(wf_save(array, "lost.mrc", NULL), WF_ERR_IO);
    assert_error("lost.mrc", "cannot write: no such file or directory");
    assert_int_equal(lstat("lost.mrc", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(leftovers(), 0);
    /* a folder given by an absolute path */
    char path[4200], here[4096];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s/elsewhere/abs.mrc", here);
    save(array, path, NULL);
    wf_release(load("elsewhere/abs.mrc", NULL));
    remove("elsewhere/abs.mrc");
    remove("elsewhere/real.mrc");
    wf_release(array);
}

/* ---- arguments ---- */

static void test_arguments(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(2, 3));
    assert_int_equal(wf_save(NULL, "a.mrc", NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    assert_int_equal(wf_save(array, NULL, NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    assert_int_equal(wf_save(array, "", NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    assert_null(wf_load(ctx, NULL, NULL));
    wf_clear_error(ctx);
    assert_null(wf_load(NULL, "a.mrc", NULL));
    assert_int_equal(wf_probe(NULL, "a.mrc", NULL, NULL, NULL), WF_ERR_ARG);
    wf_meta unset = { 0 };
    save_refused(array, "a.mrc", &unset, "meta.size is 0");
    save(array, "a.mrc", NULL);
    assert_null(wf_load(ctx, "a.mrc", &unset));
    assert_error("a.mrc", "meta.size is 0");
    assert_int_equal(wf_probe(ctx, "a.mrc", NULL, NULL, NULL), WF_OK);
    /* a program built with a shorter wf_meta */
    wf_meta older = { .size = offsetof(wf_meta, origin), .origin = { 5, 5, 5 } };
    wf_release(load("a.mrc", NULL));
    wf_array *loaded = wf_load(ctx, "a.mrc", &older);
    assert_non_null(loaded);
    assert_int_equal(older.size, offsetof(wf_meta, origin));
    assert_int_equal(older.format, WF_FORMAT_MRC);
    assert_true(older.origin[0] == 5);
    save(loaded, "b.mrc", &older);
    wf_release(loaded);
    /* a text that could harm a terminal */
    assert_null(wf_load(ctx, "\x1b[2J.mrc", NULL));
    assert_error("?[2J.mrc", "no such file");
    wf_release(array);
}

/* The library's n-th allocation fails (in debug builds): an error, nothing leaked, nothing left behind. */
static void test_out_of_memory(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(20, 30));
    for (int i = 0; i < NAMES; i++) {
        save(array, names[i], NULL);
        for (long n = 0; n < 8; n++) {
            wf__alloc_fail_after(n);
            wf_array *loaded = wf_load(ctx, names[i], NULL);
            wf_status saved = wf_save(array, names[i], NULL);
            wf__alloc_fail_after(-1);
            if (!loaded) {
                assert_int_equal(wf_last_status(ctx), WF_ERR_MEMORY);
                if (strncmp(wf_last_message(ctx), names[i], strlen(names[i])) != 0)
                    fail_msg("allocation %ld: no file is named: %s", n, wf_last_message(ctx));
            }
            wf_clear_error(ctx);
            wf_release(loaded);
            assert_true(saved == WF_OK || saved == WF_ERR_MEMORY);
            assert_int_equal(leftovers(), 0);
        }
        wf_release(load(names[i], NULL));
    }
    wf_release(array);
}

/* If the library of a format is missing, or does not match its header, the error names it. The next call tries
 * again. */
static void test_no_library(void **state)
{
    (void)state;
    double (*cosine)(double) = NULL, (*absent)(double) = NULL;
    const wfl_foreign_function two[] = { { "cos", &cosine }, { "weft_has_no_such_function", &absent } };
    wfl_foreign none = { { "libweft-not-installed.so.9" }, .format = "TEST", .function = two, .functions = 2 };
    wfl_foreign other = { { "libweft-not-installed.so.9", "libm.so.6" }, "TEST", two, 2, .ready = false };
    for (int again = 0; again < 2; again++) {
        assert_int_equal(wfl_foreign_open(&none, ctx, "a.tst"), WF_ERR_UNSUPPORTED);
        assert_non_null(strstr(wf_last_message(ctx), "a.tst"));
        assert_non_null(strstr(wf_last_message(ctx), "TEST files need the library libweft-not-installed.so.9"));
        wf_clear_error(ctx);
        assert_int_equal(wfl_foreign_open(&other, ctx, "a.tst"), WF_ERR_UNSUPPORTED);
        assert_non_null(strstr(wf_last_message(ctx), "TEST files need the library libweft-not-installed.so.9, and "
                                                     "libm.so.6 has no function weft_has_no_such_function"));
        wf_clear_error(ctx);
    }
    other.functions = 1;
    assert_int_equal(wfl_foreign_open(&other, ctx, "a.tst"), WF_OK);
    assert_true(cosine && cosine(0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),    cmocka_unit_test(test_recognised),      cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_full_disk),  cmocka_unit_test(test_targets_refused), cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_links),      cmocka_unit_test(test_arguments),       cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_no_library),
    };
    return IO_TESTS(tests);
}
