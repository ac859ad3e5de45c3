/* test_disk_cache.c - compiled objects on disk: damaged files, foreign files, bounds, full and read-only disks,
 * several processes.
 *
 * ctest: threads
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "run/cache/disk.h"

/* ---- disk: every test has a folder of its own ---- */

static char folder[128];

static int new_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft-test-cache-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[400];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s'; rm -rf '%s'", folder, folder);
    return system(command) == 0 ? 0 : -1;
}

static char *entry_path(const void *key, size_t key_len)
{
    static char path[256];
    wf__hash128 h = wf__hash_128(key, key_len);
    snprintf(path, sizeof path, "%s/%016llx%016llx.weft", folder, (unsigned long long)h.hi, (unsigned long long)h.lo);
    return path;
}

static void write_file(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static bool loads(wf__disk *d, const void *key, size_t key_len, const void *object, size_t n)
{
    wf__bytes got = { 0 };
    if (!wf__disk_load(d, key, key_len, &got))
        return false;
    assert_int_equal(got.n, n);
    assert_memory_equal(got.at, object, n);
    wf__free(got.at);
    return true;
}

static void test_disk_round_trip(void **state)
{
    (void)state;
    char dir[160];
    snprintf(dir, sizeof dir, "%s/a/b//c", folder);
    wf__disk *d = wf__disk_open(dir, 0);
    assert_string_equal(wf__disk_dir(d), dir);
    assert_false(loads(d, "k", 1, "", 0));
    assert_int_equal(access(dir, F_OK), -1); /* a lookup makes no folder */
    unsigned char object[5000];
    for (size_t i = 0; i < sizeof object; i++)
        object[i] = (unsigned char)(i * i);
    assert_true(wf__disk_store(d, "k", 1, object, sizeof object));
    assert_true(wf__disk_store(d, "kk", 2, object, 1));
    assert_true(wf__disk_store(d, "", 0, object, 2));
    assert_true(wf__disk_store(d, "k", 1, object, 4000)); /* replaces */
    assert_true(loads(d, "k", 1, object, 4000));
    assert_false(wf__disk_store(d, "empty", 5, object, 0));
    wf__disk_close(d);
    d = wf__disk_open(dir, 0);
    assert_true(loads(d, "k", 1, object, 4000));
    assert_true(loads(d, "kk", 2, object, 1));
    assert_true(loads(d, "", 0, object, 2));
    assert_false(loads(d, "kkk", 3, object, 1));
    wf__disk_stats stats;
    wf__disk_get_stats(d, &stats);
    assert_int_equal(stats.entries, 3);
    assert_int_equal(stats.bytes, 3 * 4096);
    assert_int_equal(stats.hits, 3);
    assert_int_equal(stats.misses, 1);
    assert_string_equal(wf__disk_problem(d), "");
    struct stat s;
    assert_int_equal(stat(dir, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    char other[200];
    snprintf(other, sizeof other, "%s/precious.txt", dir);
    write_file(other, "x", 1);
    wf__disk_clear(d);
    wf__disk_get_stats(d, &stats);
    assert_int_equal(stats.entries, 0);
    assert_int_equal(access(other, F_OK), 0);
    wf__disk_close(d);
    wf__disk_close(NULL);
}

/* Every byte flipped, every truncation, trailing bytes: a miss; and the next store repairs it. */
static void test_disk_damage(void **state)
{
    (void)state;
    static const char key[] = "some key", object[] = "an object of forty-two bytes, more or less";
    wf__disk *d = wf__disk_open(folder, 0);
    assert_true(wf__disk_store(d, key, sizeof key, object, sizeof object));
    char *path = entry_path(key, sizeof key);
    unsigned char whole[512], broken[512];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_int_equal(n, 32 + sizeof key + sizeof object + 16);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(broken, whole, n);
            broken[i] = (unsigned char)(broken[i] ^ 1u << bit);
            write_file(path, broken, n);
            assert_false(loads(d, key, sizeof key, object, sizeof object));
        }
    for (size_t i = 0; i < n; i++) {
        write_file(path, whole, i);
        assert_false(loads(d, key, sizeof key, object, sizeof object));
    }
    memcpy(broken, whole, n);
    broken[n] = 0;
    write_file(path, broken, n + 1);
    assert_false(loads(d, key, sizeof key, object, sizeof object));
    assert_true(wf__disk_store(d, key, sizeof key, object, sizeof object));
    assert_true(loads(d, key, sizeof key, object, sizeof object));
    wf__disk_close(d);
}

/* Headers with false sizes and correct checksums. */
static void test_disk_false_headers(void **state)
{
    (void)state;
    static const uint64_t lies[] = {
        0, 1, 2, 3, 4, 5, 100, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 40, UINT64_MAX
    };
    wf__disk *d = wf__disk_open(folder, 0);
    for (size_t a = 0; a < WF__COUNT(lies); a++)
        for (size_t b = 0; b < WF__COUNT(lies); b++) {
            if (lies[a] == 3 && lies[b] == 4)
                continue;
            struct {
                char magic[8];
                uint32_t format, order;
                uint64_t key_len, object_len;
                char key[3], object[4], sum[16];
                char pad;
            } file = { .format = 1, .order = 0x01020304, .key_len = lies[a], .object_len = lies[b] };
            memcpy(file.magic, "WEFTOBJ\n", 8);
            memcpy(file.key, "key", 3);
            wf__hash128 sum = wf__hash_128(&file, 39);
            memcpy(file.sum, &sum, 16);
            write_file(entry_path("key", 3), &file, 55);
            wf__bytes got;
            assert_false(wf__disk_load(d, "key", 3, &got));
        }
    wf__disk_close(d);
}

static void test_disk_foreign(void **state)
{
    (void)state;
    wf__disk *d = wf__disk_open(folder, 0);
    char target[200];
    snprintf(target, sizeof target, "%s/target", folder);
    assert_true(wf__disk_store(d, "k", 1, "object", 6));
    char *path = entry_path("k", 1);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0); /* right bytes, but a link */
    assert_false(loads(d, "k", 1, "object", 6));
    assert_true(wf__disk_store(d, "k", 1, "object", 6)); /* replaces the link, not its target */
    assert_true(loads(d, "k", 1, "object", 6));
    assert_int_equal(chmod(path, 0666), 0); /* other users could have written it */
    assert_false(loads(d, "k", 1, "object", 6));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* must not block */
    assert_false(loads(d, "k", 1, "object", 6));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(loads(d, "k", 1, "object", 6));
    assert_false(wf__disk_store(d, "k", 1, "object", 6));
    assert_int_equal(rmdir(path), 0);
    /* An entry of another key under this name. */
    assert_true(wf__disk_store(d, "other", 5, "object", 6));
    char from[256];
    snprintf(from, sizeof from, "%s", entry_path("other", 5));
    assert_int_equal(rename(from, entry_path("k", 1)), 0);
    assert_false(loads(d, "k", 1, "object", 6));
    /* A huge sparse file: refused by its size. */
    write_file(entry_path("k", 1), "x", 1);
    assert_int_equal(truncate(entry_path("k", 1), (off_t)1 << 40), 0);
    assert_false(loads(d, "k", 1, "object", 6));
    if (geteuid() == 0) { /* another user's file */
        assert_true(wf__disk_store(d, "k", 1, "object", 6));
        assert_int_equal(chown(entry_path("k", 1), 12345, 12345), 0);
        assert_false(loads(d, "k", 1, "object", 6));
    }
    wf__disk_close(d);
}

enum { BOUND = 400 * 4096 };

static void check_bound(wf__disk *d)
{
    static unsigned char object[4000];
    wf__disk_stats stats;
    for (int i = 0; i < 1500; i++) {
        assert_true(wf__disk_store(d, &i, sizeof i, object, sizeof object));
        if (i % 50 == 0) {
            wf__disk_get_stats(d, &stats);
            assert_true(stats.bytes <= BOUND);
        }
    }
    wf__disk_get_stats(d, &stats);
    assert_true(stats.bytes <= BOUND && stats.bytes > BOUND / 2);
    int last = 1499, first = 0;
    assert_true(loads(d, &last, sizeof last, object, sizeof object)); /* the oldest went, the newest stayed */
    assert_false(loads(d, &first, sizeof first, object, sizeof object));
    static unsigned char large[BOUND / 8];
    assert_false(wf__disk_store(d, "large", 5, large, sizeof large)); /* would evict too much */
    wf__disk_clear(d);
    wf__disk_close(d);
}

static void test_disk_bound(void **state)
{
    (void)state;
    check_bound(wf__disk_open(folder, BOUND));
    char text[32];
    snprintf(text, sizeof text, "%d", BOUND);
    assert_int_equal(setenv("WEFT_CACHE_BYTES", text, 1), 0);
    check_bound(wf__disk_open(folder, 0));
    const char *const wrong[] = { "", "0", "1638400x", "-1638400", "99999999999999999999999" };
    static unsigned char large[BOUND / 8]; /* the default bound has room for it */
    for (size_t i = 0; i < WF__COUNT(wrong); i++) {
        assert_int_equal(setenv("WEFT_CACHE_BYTES", wrong[i], 1), 0);
        wf__disk *d = wf__disk_open(folder, 0);
        assert_true(wf__disk_store(d, "large", 5, large, sizeof large));
        wf__disk_close(d);
    }
    assert_int_equal(unsetenv("WEFT_CACHE_BYTES"), 0);
}

static int64_t mtime_of(const char *path)
{
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return s.st_mtime;
}

static void age(const char *path, int seconds)
{
    struct timespec t[2] = { { .tv_sec = wf__wall_clock() / 1000000000 - seconds }, { 0 } };
    t[1] = t[0];
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void test_disk_stamps(void **state)
{
    (void)state;
    wf__disk *d = wf__disk_open(folder, 0);
    assert_true(wf__disk_store(d, "k", 1, "object", 6));
    char *path = entry_path("k", 1);
    int64_t now = wf__wall_clock() / 1000000000;
    age(path, 600);
    assert_true(loads(d, "k", 1, "object", 6));
    assert_true(mtime_of(path) < now - 500); /* recent enough: not stamped again */
    age(path, 7200);
    assert_true(loads(d, "k", 1, "object", 6));
    assert_true(mtime_of(path) > now - 10);
    age(path, -7200); /* from the future */
    assert_true(loads(d, "k", 1, "object", 6));
    assert_true(mtime_of(path) < now + 100);
    wf__disk_close(d);
}

/* Recently used entries survive; temporary files of ended processes are removed. */
static void test_disk_least_recent_goes(void **state)
{
    (void)state;
    wf__disk *d = wf__disk_open(folder, 64 * 4096);
    static unsigned char object[4000];
    for (int i = 0; i < 40; i++) {
        assert_true(wf__disk_store(d, &i, sizeof i, object, sizeof object));
        age(entry_path(&i, sizeof i), 100000 - i);
    }
    char temp[200], young[200];
    snprintf(temp, sizeof temp, "%s/" WF__TEMP_PREFIX "1-2", folder);
    snprintf(young, sizeof young, "%s/" WF__TEMP_PREFIX "3-4", folder);
    write_file(temp, "x", 1);
    write_file(young, "x", 1);
    age(temp, 7200);
    int used = 0, unused = 1;
    assert_true(loads(d, &used, sizeof used, object, sizeof object)); /* the oldest, but now used */
    for (int i = 40; i < 70; i++)
        assert_true(wf__disk_store(d, &i, sizeof i, object, sizeof object));
    assert_true(loads(d, &used, sizeof used, object, sizeof object));
    assert_false(loads(d, &unused, sizeof unused, object, sizeof object));
    assert_int_equal(access(temp, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    wf__disk_close(d);
}

/* As an ordinary user even when the tests run as root, for whom nothing is read-only. */
static void as_user(void (*check)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        check();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

#define CHECK(x)                                            \
    do                                                      \
        if (!(x)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x); \
            _exit(1);                                       \
        }                                                   \
    while (0)

static void read_only_check(void)
{
    wf__disk *d = wf__disk_open(folder, 0);
    wf__bytes got;
    CHECK(!wf__disk_load(d, "k", 1, &got));
    CHECK(!wf__disk_store(d, "k", 1, "object", 6));
    CHECK(!wf__disk_store(d, "k", 1, "object", 6));
    CHECK(strstr(wf__disk_problem(d), "ermission"));
    wf__disk_stats stats;
    wf__disk_get_stats(d, &stats);
    CHECK(stats.entries == 0);
    wf__disk_clear(d);
    wf__disk_close(d);
    char below[200];
    snprintf(below, sizeof below, "%s/below/it", folder);
    d = wf__disk_open(below, 0);
    CHECK(!wf__disk_load(d, "k", 1, &got));
    CHECK(!wf__disk_store(d, "k", 1, "object", 6));
    CHECK(*wf__disk_problem(d));
    wf__disk_close(d);
}

/* An unwritable folder is noticed before anything is stored. */
static void unwritable_check(void)
{
    wf__disk *d = wf__disk_open(folder, 0);
    wf__disk_stats stats;
    wf__disk_get_stats(d, &stats);
    CHECK(strstr(wf__disk_problem(d), "cannot be written"));
    wf__disk_close(d);
    char below[200], expected[240];
    snprintf(below, sizeof below, "%s/below//it/", folder);
    d = wf__disk_open(below, 0);
    wf__disk_get_stats(d, &stats);
    snprintf(expected, sizeof expected, "the folder cannot be made in %s: Permission denied", folder);
    CHECK(!strcmp(wf__disk_problem(d), expected));
    wf__disk_close(d);
    unsetenv("WEFT_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/", 1); /* of root */
    d = wf__disk_open(NULL, 0);
    wf__disk_get_stats(d, &stats);
    CHECK(!strcmp(wf__disk_problem(d), "the folder is not made, because HOME is no folder of this user"));
    wf__disk_close(d);
}

static void test_disk_read_only(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0555), 0);
    as_user(read_only_check);
    as_user(unwritable_check);
    assert_int_equal(chmod(folder, 0000), 0); /* not even readable */
    as_user(read_only_check);
}

static void test_disk_no_folder(void **state)
{
    (void)state;
    char file[200], below[256];
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(below, sizeof below, "%s/file/below", folder);
    write_file(file, "x", 1);
    const char *dirs[] = { file, below, "/proc/no/such", "/dev/null" };
    for (size_t i = 0; i < WF__COUNT(dirs); i++) {
        wf__disk *d = wf__disk_open(dirs[i], 0);
        wf__bytes got;
        assert_false(wf__disk_load(d, "k", 1, &got));
        assert_false(wf__disk_store(d, "k", 1, "object", 6));
        assert_string_not_equal(wf__disk_problem(d), "");
        assert_false(wf__disk_load(d, "k", 1, &got));
        wf__disk_close(d);
    }
}

static void test_disk_default_folder(void **state)
{
    (void)state;
    char expected[256], *old[3];
    const char *names[] = { "WEFT_CACHE", "XDG_CACHE_HOME", "HOME" };
    for (int i = 0; i < 3; i++) {
        old[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    wf__disk *d = wf__disk_open(NULL, 0);
    assert_string_equal(wf__disk_dir(d), "");
    assert_string_not_equal(wf__disk_problem(d), "");
    wf__bytes got;
    assert_false(wf__disk_load(d, "k", 1, &got));
    assert_false(wf__disk_store(d, "k", 1, "object", 6));
    wf__disk_close(d);
    const char *tails[] = { "", "/weft", "/.cache/weft" };
    for (int i = 2; i >= 0; i--) {
        setenv(names[i], folder, 1);
        snprintf(expected, sizeof expected, "%s%s", folder, tails[i]);
        d = wf__disk_open(NULL, 0);
        assert_string_equal(wf__disk_dir(d), expected);
        assert_true(wf__disk_store(d, "k", 1, "object", 6));
        wf__disk_close(d);
    }
    unsetenv("WEFT_CACHE");
    setenv("XDG_CACHE_HOME", "relative", 1);
    d = wf__disk_open(NULL, 0);
    snprintf(expected, sizeof expected, "%s/.cache/weft", folder);
    assert_string_equal(wf__disk_dir(d), expected);
    wf__disk_close(d);
    for (int i = 0; i < 3; i++) {
        old[i] ? setenv(names[i], old[i], 1) : unsetenv(names[i]);
        free(old[i]);
    }
}

static int files_in_folder(void)
{
    char command[200];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *p = popen(command, "r");
    int n = -1;
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void full_disk_check(void)
{
    struct rlimit limit = { 1000, 1000 };
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    signal(SIGXFSZ, SIG_DFL); /* which would end the process */
    static unsigned char object[50000];
    wf__disk *d = wf__disk_open(folder, 0);
    for (int i = 0; i < 10; i++) {
        CHECK(!wf__disk_store(d, "large", 5, object, sizeof object));
        wf__bytes got;
        CHECK(!wf__disk_load(d, "large", 5, &got));
    }
    CHECK(*wf__disk_problem(d));
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    sigset_t xfsz;
    sigemptyset(&xfsz);
    sigaddset(&xfsz, SIGXFSZ);
    CHECK(sigprocmask(SIG_BLOCK, &xfsz, NULL) == 0 && raise(SIGXFSZ) == 0); /* a signal of the program's own stays */
    for (size_t n = 1; n <= sizeof object; n += sizeof object - 1) {
        int dir = wf__dir_open(folder);
        CHECK(wf__publish(dir, "own", &(wf__piece){ object, n }, 1, 0600, false) == (n == 1));
        CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ));
        CHECK(wf__unlink(dir, "own") == (n == 1));
        wf__fd_close(dir);
    }
    wf__disk_close(d);
}

static void test_disk_full(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    as_user(full_disk_check);
    assert_int_equal(files_in_folder(), 0); /* no incomplete files stay */
}

/* Several processes store and load the same few keys, and clear and evict meanwhile. */
static void process_check(unsigned seed)
{
    enum { N = 3000 };
    wf__disk *d = wf__disk_open(folder, 40 * 4096);
    unsigned char object[N];
    for (int i = 0; i < 400; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = seed >> 26;
        memset(object, (int)key, sizeof object);
        if (seed >> 10 & 1) {
            CHECK(wf__disk_store(d, &key, sizeof key, object, sizeof object));
        } else {
            wf__bytes got;
            if (wf__disk_load(d, &key, sizeof key, &got)) {
                CHECK(got.n == N && !memcmp(got.at, object, N));
                wf__free(got.at);
            }
        }
        if (i % 100 == 99)
            wf__disk_clear(d);
    }
    wf__disk_close(d);
}

static void test_disk_processes(void **state)
{
    (void)state;
    pid_t child[4];
    for (unsigned i = 0; i < 4; i++)
        if ((child[i] = fork()) == 0) {
            process_check(i * 7919);
            _exit(0);
        }
    for (int i = 0; i < 4; i++) {
        int status = -1;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
}

static void *thread_check(void *user)
{
    wf__disk *d = user;
    intptr_t good = 1;
    for (unsigned i = 0; i < 300; i++) {
        unsigned key = i * 37 % 23;
        unsigned char object[100];
        memset(object, (int)key, sizeof object);
        wf__disk_store(d, &key, sizeof key, object, sizeof object);
        wf__bytes got;
        if (wf__disk_load(d, &key, sizeof key, &got)) {
            good &= got.n == sizeof object && !memcmp(got.at, object, sizeof object);
            wf__free(got.at);
        }
        good &= *wf__disk_problem(d) == 0;
    }
    return (void *)good;
}

static void test_disk_threads(void **state)
{
    (void)state;
    wf__disk *d = wf__disk_open(folder, 10 * 4096 * 8);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_check, d), 0);
    for (size_t i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    wf__disk_close(d);
}

static void test_disk_out_of_memory(void **state)
{
    (void)state;
#ifdef WEFT_DEBUG_CHECKS
    for (long n = 0; n < 6; n++) {
        wf__alloc_fail_after(n);
        wf__disk *d = wf__disk_open(folder, 0);
        wf__bytes got;
        if (d) {
            wf__disk_store(d, "k", 1, "object", 6);
            if (wf__disk_load(d, "k", 1, &got)) {
                assert_memory_equal(got.at, "object", 6);
                wf__free(got.at);
            }
        }
        wf__alloc_fail_after(-1);
        wf__disk_close(d);
    }
#endif
}

static void test_publish(void **state)
{
    (void)state;
    assert_false(wf__make_dirs(""));
    assert_true(wf__make_dirs(folder));
    assert_true(wf__owns(folder));
    assert_false(wf__owns("/no/such/file"));
    wf__piece pieces[] = { { "ab", 2 }, { "", 0 }, { "c", 1 } };
    int dir = wf__dir_open(folder);
    assert_true(wf__publish(dir, "pieces", pieces, 3, 0600, true));
    wf__dir_entry info;
    int fd = wf__open_own(dir, "pieces", &info);
    char text[4] = "";
    assert_true(fd >= 0 && info.size == 3 && wf__read_exact(fd, text, 3));
    assert_string_equal(text, "abc");
    assert_false(wf__read_exact(fd, text, 1));
    wf__fd_close(fd);
    assert_true(wf__unlink(dir, "pieces"));
    const unsigned modes[] = { 0600, 0666 };
    mode_t mask = umask(022);
    for (int k = 0; k < 2; k++) {
        struct stat file;
        assert_true(wf__publish(dir, "mode", pieces, 1, modes[k], false));
        assert_int_equal(fstatat(dir, "mode", &file, 0), 0);
        assert_int_equal(file.st_mode & 0777, modes[k] & ~022u);
        assert_true(wf__unlink(dir, "mode"));
    }
    umask(mask);
    assert_false(wf__publish(dir, "no/such", pieces, 3, 0600, false));
    wf__fd_close(dir);
}

static void test_nearest_folder(void **state)
{
    (void)state;
    char path[200], nearest[200], cwd[200];
    assert_true(wf__dirs_possible(folder, nearest, sizeof nearest));
    assert_string_equal(nearest, folder);
    static const char *const below[] = { "/a", "/a/", "//a//b", "/a/b/c//" };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s", folder, below[i]);
        assert_true(wf__dirs_possible(path, nearest, sizeof nearest));
        assert_string_equal(nearest, folder);
        assert_false(wf__dirs_possible(path, nearest, strlen(path))); /* the final 0 has no room */
        assert_int_equal(errno, ENAMETOOLONG);
        assert_true(wf__dirs_possible(path, nearest, strlen(path) + 1));
    }
    wf__dirs_possible("/no-such-folder-of-weft", nearest, sizeof nearest);
    assert_string_equal(nearest, "/");
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(folder), 0);
    assert_true(wf__dirs_possible("no/such", nearest, sizeof nearest));
    assert_string_equal(nearest, ".");
    assert_true(wf__make_dirs("no/such/one")); /* none of the three exists */
    assert_int_equal(access("no/such/one", W_OK | X_OK), 0);
    assert_int_equal(rmdir("no/such/one") | rmdir("no/such") | rmdir("no"), 0);
    assert_int_equal(chdir(cwd), 0);
    assert_false(wf__dirs_possible("", nearest, sizeof nearest));
    assert_int_equal(errno, ENOENT);
}

#define DISK_TEST(f) cmocka_unit_test_setup_teardown(f, new_folder, remove_folder)
int main(void)
{
    const struct CMUnitTest tests[] = {
        DISK_TEST(test_publish),
        DISK_TEST(test_disk_round_trip),
        DISK_TEST(test_disk_damage),
        DISK_TEST(test_disk_false_headers),
        DISK_TEST(test_disk_foreign),
        DISK_TEST(test_disk_bound),
        DISK_TEST(test_disk_stamps),
        DISK_TEST(test_disk_least_recent_goes),
        DISK_TEST(test_disk_read_only),
        DISK_TEST(test_disk_no_folder),
        DISK_TEST(test_disk_default_folder),
        DISK_TEST(test_disk_full),
        DISK_TEST(test_disk_processes),
        DISK_TEST(test_disk_threads),
        DISK_TEST(test_disk_out_of_memory),
        DISK_TEST(test_nearest_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
