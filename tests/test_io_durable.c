/* test_io_durable.c - with meta.durable a file of each format is flushed to the disk before it gets its name, and its folder
 * afterwards; without it nothing is flushed.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"
#include "zarr_store.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the calls of the library, in their order: d, f = flushes a folder, a file; n = gives a name ---- */
static char calls[4096];
static size_t calls_n;

static void note(char call)
{
    if (calls_n + 1 < sizeof calls)
        calls[calls_n++] = call;
}

int fsync(int fd)
{
    struct stat s;
    if (fstat(fd, &s) == 0)
        note(S_ISDIR(s.st_mode) ? 'd' : 'f');
    return (int)syscall(SYS_fsync, fd);
}

int linkat(int from, const char *name, int to, const char *another, int flags)
{
    int result = (int)syscall(SYS_linkat, from, name, to, another, flags);
    if (result == 0)
        note('n');
    return result;
}

int rename(const char *from, const char *to)
{
    int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (result == 0)
        note('n');
    return result;
}

static const char *const names[] = { "a.mrc", "a.npy", "a.tif", "a.png", "a.mrc.gz", "b/a.mrc", "a.ome.tif" };
enum { NAMES = sizeof names / sizeof *names };

/* The calls of saving the file. */
static const char *saved(wf_array *a, const char *name, bool durable, bool deflate)
{
    memset(calls, 0, sizeof calls);
    calls_n = 0;
    save(a, name, &(wf_meta){ .size = sizeof(wf_meta), .durable = durable, .deflate = deflate });
    return calls;
}

/* A new file, and one that replaces another one, which may have a temporary name for a moment. */
static void files(void **state)
{
    (void)state;
    wf_array *a = make(WF_U8, SHAPE(20, 30));
    assert_int_equal(mkdir("b", 0777), 0);
    for (int i = 0; i < NAMES; i++) {
        assert_string_equal(saved(a, names[i], true, false), "fnd");
        const char *done = saved(a, names[i], true, false);
        assert_true(!strcmp(done, "fnnd") || !strcmp(done, "fnd"));
        done = saved(a, names[i], false, false);
        assert_true(!strcmp(done, "nn") || !strcmp(done, "n"));
        remove(names[i]);
    }
    remove("b");
    wf_release(a);
}

/* Each file of the folder, the names in it, and the name of the folder. */
static void folders(void **state)
{
    (void)state;
    wf_array *a = make(WF_U8, SHAPE(20, 30));
    for (int deflate = 0; deflate < 2; deflate++) {
        const char *done = saved(a, "a.zarr", true, deflate);
        assert_true(strspn(done, "f") >= 2);
        assert_string_equal(done + strspn(done, "f"), "dnd");
        remove_store();
        assert_string_equal(saved(a, "a.zarr", false, deflate), "n");
        remove_store();
    }
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(files), cmocka_unit_test(folders) };
    return IO_TESTS(tests);
}
