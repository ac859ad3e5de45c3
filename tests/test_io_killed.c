/* test_io_killed.c - a process that is killed while it writes, and a disk that becomes full, leave the old file or the
 * new one, never a part; what a killed process leaves beside the file is gone after the next save. With file systems that
 * have files without a name (O_TMPFILE) and, by an open() of this program's own, with those that do not.
 *
 * WEFT_TEST_KILLS sets the number of processes that are killed in each case.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool no_nameless; /* open() refuses O_TMPFILE, as NFS does */
static long full_after;  /* bytes that pwrite() writes before the disk is full; -1 = no limit */

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (no_nameless && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    if (full_after >= 0 && bytes > (size_t)full_after)
        bytes = (size_t)full_after;
    if (full_after >= 0)
        full_after -= (long)bytes;
    if (bytes == 0) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, from, bytes, at);
}

enum { SIDE = 96 };
static const char *const names[] = { "k.mrc", "k.npy", "k.tif", "k.png", "k.mrc.gz" };
enum { NAMES = sizeof names / sizeof *names };

static wf_array *full(uint8_t value)
{
    wf_array *a = wf_empty(ctx, WF_U8, SHAPE(SIDE, SIDE));
    void *data;
    int64_t strides[WF_MAX_RANK];
    assert_int_equal(wf_map(a, &data, strides), WF_OK);
    memset(data, value, SIDE * SIDE);
    return a;
}

/* Saves a picture of ones and a picture of twos in turn, until the process is killed. `anew`: without replacing a file.
 */
static void save_forever(const char *path, bool anew, int ready)
{
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U8 };
    wf_array *a[2] = { full(1), full(2) };
    for (int i = 0;; i++) {
        if (anew)
            unlink(path);
        if (wf_save(a[i % 2], path, &meta) != WF_OK)
            _exit(1);
        if (i == 0 && write(ready, "x", 1) != 1)
            _exit(1);
    }
}

static void assert_whole(const char *path, bool may_be_missing)
{
    if (may_be_missing && access(path, F_OK) != 0)
        return;
    wf_array *a = load(path, NULL);
    assert_shape(wf_array_shape(a), SHAPE(SIDE, SIDE));
    double first = value_at(a, 0);
    assert_true(first == 1 || first == 2);
    for (int64_t i = 0; i < SIDE * SIDE; i++)
        assert_true(value_at(a, i) == first);
    wf_release(a);
}

static void kill_writers(const char *path, bool anew, int kills, int *left)
{
    unsigned random = 1;
    for (int i = 0; i < kills; i++) {
        int ready[2], status;
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            save_forever(path, anew, ready[1]);
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        random = random * 1664525u + 1013904223u;
        usleep((random >> 16) % 2000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_whole(path, anew);
        *left += leftovers();
        assert_true(leftovers() <= 1); /* each writer removes what the one before it left */
    }
}

static void test_killed(void **state)
{
    (void)state;
    const char *given = getenv("WEFT_TEST_KILLS");
    int kills = given ? atoi(given) : 8, left[2] = { 0 };
    for (int mode = 0; mode < 4; mode++)
        for (int i = 0; i < NAMES; i++) {
            no_nameless = mode / 2;
            kill_writers(names[i], mode % 2, kills, &left[mode / 2]);
            wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U8 };
            wf_array *a = full(1);
            save(a, names[i], &meta);
            if (mode % 2) /* the first save made a new file; only a replacement uses a name where files need none */
                save(a, names[i], &meta);
            wf_release(a);
            assert_int_equal(leftovers(), 0);
        }
    no_nameless = false;
    print_message("%d killed; files left: %d with O_TMPFILE, %d without\n", 4 * NAMES * kills, left[0], left[1]);
}

/* The files of living writers stay. */
static void test_living_writers(void **state)
{
    (void)state;
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U8 };
    wf_array *a = full(1);
    no_nameless = true;
    save(a, "a.npy", &meta);
    int writers = 12;
    pid_t child[12];
    for (int i = 0; i < writers; i++) {
        char path[16];
        snprintf(path, sizeof path, "w%d.npy", i);
        child[i] = fork();
        if (child[i] == 0) {
            for (int k = 0; k < 40; k++)
                if (wf_save(a, path, &meta) != WF_OK || wf_save(a, "same.npy", &meta) != WF_OK)
                    _exit(1);
            _exit(0);
        }
    }
    for (int i = 0; i < writers; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    assert_whole("same.npy", false);
    assert_int_equal(leftovers(), 0);
    no_nameless = false;
    wf_release(a);
}

static void test_full_disk(void **state)
{
    (void)state;
    wf_array *old = full(1), *new = full(2);
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U8 };
    int refused = 0;
    for (int mode = 0; mode < 4; mode++)
        for (int i = 0; i < NAMES; i++)
            for (long limit = 0; limit < 2 * SIDE * SIDE; limit = 2 * limit + 1) {
                bool there = mode % 2;
                no_nameless = mode / 2;
                unlink(names[i]);
                if (there)
                    save(old, names[i], &meta);
                full_after = limit;
                wf_status status = wf_save(new, names[i], &meta);
                full_after = -1;
                refused += status != WF_OK;
                assert_int_equal(leftovers(), 0);
                if (status != WF_OK) {
                    assert_int_equal(status, WF_ERR_IO);
                    assert_error(names[i], "no space left on device");
                    assert_int_equal(access(names[i], F_OK), there ? 0 : -1);
                }
                assert_whole(names[i], !there);
            }
    assert_true(refused > 100);
    no_nameless = false;
    wf_release(old);
    wf_release(new);
}

int main(void)
{
    full_after = -1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed), cmocka_unit_test(test_living_writers),
                                        cmocka_unit_test(test_full_disk) };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
