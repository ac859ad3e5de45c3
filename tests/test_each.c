/* test_each.c - journals and locks of a farm: torn and damaged lines, merging, dead processes, takeovers with another
 * process at every step between, and processes that are killed at every step.
 *
 * WEFT_TEST_KILLS sets the number of processes that are killed at random (default 60).
 *
 * ctest: threads no_kernels
 */
#include "test_io_util.h"
#include "each/each.h"
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- calls of the library that a test looks at: something happens before the n-th link, or the process dies ---- */
static void (*before_link)(void);
static int calls_left = -1; /* links and removals until the process is killed; -1 = it is not */

static void count_call(void)
{
    if (calls_left >= 0 && calls_left-- == 0)
        kill(getpid(), SIGKILL);
}

int linkat(int from, const char *name, int to, const char *another, int flags)
{
    void (*now)(void) = before_link;
    before_link = NULL;
    count_call();
    if (now)
        now();
    int result = (int)syscall(SYS_linkat, from, name, to, another, flags), error = errno;
    count_call();
    errno = error;
    return result;
}

static int64_t flushed; /* bytes of the file that fsync has last flushed */

int fsync(int fd)
{
    struct stat s;
    flushed = fstat(fd, &s) == 0 ? (int64_t)s.st_size : -1;
    return (int)syscall(SYS_fsync, fd);
}

int unlinkat(int dir, const char *name, int flags)
{
    count_call();
    int result = (int)syscall(SYS_unlinkat, dir, name, flags), error = errno;
    count_call();
    errno = error;
    return result;
}

/* ---- helpers ---- */

static wf__each_journal open_journal(bool begin)
{
    wf__each_journal j;
    assert_int_equal(wf__journal_open(ctx, "j", 300, true, &j), WF_OK);
    assert_int_equal(wf__journal_read(&j, ctx), WF_OK);
    if (begin)
        assert_int_equal(wf__journal_begin(&j, ctx), WF_OK);
    return j;
}

static wf__each_record record_of(uint64_t id) { return (wf__each_record){ id, 2, 3, 4 + id, 5, 6, (int64_t)id }; }

static void note(wf__each_journal *j, uint64_t id)
{
    wf__each_record r = record_of(id);
    assert_int_equal(wf__journal_note(j, ctx, &r, 0.5, "a name"), WF_OK);
}

static bool knows(const wf__each_journal *j, uint64_t id)
{
    wf__each_record r = record_of(id);
    const wf__each_record *found = wf__journal_find(j, id, NULL);
    return found && memcmp(found, &r, sizeof r) == 0;
}

/* Makes the journal of another process, under `name`, with some text after its first line. */
static void make_journal(const char *name, const wf__each_owner *owner, const char *text)
{
    wf__str line = { 0 };
    wf__each_owner_line(&line, owner, "host");
    wf__str_add(&line, text);
    write_file(name, line.at, line.len);
    wf__str_free(&line);
}

/* A process of this machine that has ended. */
static wf__each_owner dead_owner(uint64_t nonce)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (wf__each_owner){ .nonce = nonce, .host = wf__host_id(), .start = 1, .process = child };
}

/* How many names in the folder contain `part`. */
static int entries(const char *part)
{
    int n = 0;
    DIR *dir = opendir("j");
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, part) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

static int new_journals(void **state)
{
    (void)state;
    before_link = NULL;
    calls_left = -1;
    return system("rm -rf j && mkdir j") == 0 ? 0 : -1;
}

/* ---- lines ---- */

static void test_lines(void **state)
{
    (void)state;
    wf__each_owner owner = { .nonce = 0xfedcba9876543210u, .host = 7, .start = 8, .process = 123 }, o;
    wf__each_record record = { UINT64_MAX, 1, 2, 3, 4, 5, INT64_MAX }, r;
    wf__str text = { 0 };
    wf__each_owner_line(&text, &owner, "name\twith\nlines");
    size_t first = text.len;
    wf__each_record_line(&text, &record, 1.25, "out/a\tb\nc.mrc");
    size_t second = text.len - first;
    assert_ptr_equal(memchr(text.at, '\n', text.len), text.at + first - 1);
    assert_ptr_equal(memchr(text.at + first, '\n', second), text.at + text.len - 1);
    assert_true(wf__each_read_owner(text.at, first - 1, &o));
    assert_memory_equal(&o, &owner, sizeof o);
    assert_true(wf__each_read_record(text.at + first, second - 1, &r));
    assert_memory_equal(&r, &record, sizeof r);
    assert_false(wf__each_read_record(text.at, first - 1, &r));
    assert_false(wf__each_read_owner(text.at + first, second - 1, &o));
    /* any part of a line, and any line with one byte changed, is no line */
    for (size_t n = 0; n + 1 < second; n++)
        assert_false(wf__each_read_record(text.at + first, n, &r));
    for (size_t i = 0; i + 1 < second; i++) {
        text.at[first + i] ^= 1;
        assert_false(wf__each_read_record(text.at + first, second - 1, &r));
        text.at[first + i] ^= 1;
    }
    assert_memory_equal(&r, &record, sizeof r);
    wf__str_free(&text);
}

/* ---- journals ---- */

static void test_reading(void **state)
{
    (void)state;
    wf__each_journal a = open_journal(true), b = open_journal(true);
    note(&a, 1);
    assert_true(knows(&a, 1));
    assert_false(knows(&b, 1));
    assert_int_equal(wf__journal_read(&b, ctx), WF_OK);
    assert_true(knows(&b, 1));
    for (uint64_t id = 2; id < 500; id++)
        note(&a, id);
    assert_int_equal(wf__journal_read(&b, ctx), WF_OK);
    for (uint64_t id = 1; id < 500; id++)
        assert_true(knows(&b, id));
    /* two records of one item: the last one first */
    wf__each_record other = record_of(9);
    other.task = 77;
    assert_int_equal(wf__journal_note(&a, ctx, &other, 1, ""), WF_OK);
    const wf__each_record *found = wf__journal_find(&a, 9, NULL);
    assert_memory_equal(found, &other, sizeof other);
    found = wf__journal_find(&a, 9, found);
    assert_int_equal(found->task, 2);
    assert_null(wf__journal_find(&a, 9, found));
    assert_null(wf__journal_find(&a, 500, NULL));
    wf__journal_close(&a);
    wf__journal_close(&b); /* has no records */
    assert_int_equal(entries(".journal"), 1);
}

/* The first line is on the disk before a lock can be a name of the file. */
static void test_first_line(void **state)
{
    (void)state;
    flushed = 0;
    wf__each_journal j = open_journal(true);
    wf__each_lock lock;
    wf__each_owner owner;
    int64_t mtime;
    assert_true(flushed > 40);
    assert_int_equal(wf__lock_take(&j, 1, &lock), WF__EACH_MINE);
    assert_true(wf__journal_owner(&j, "0000000000000001.lock", &owner, &mtime));
    assert_int_equal(owner.nonce, j.owner.nonce);
    wf__lock_release(&j, &lock);
    wf__journal_close(&j);
}

static void test_damaged(void **state)
{
    (void)state;
    wf__str text = { 0 };
    for (uint64_t id = 1; id <= 4; id++) {
        wf__each_record r = record_of(id);
        size_t from = text.len;
        wf__each_record_line(&text, &r, 1, "x");
        if (id == 2)
            text.at[from + 7] ^= 1;
        if (id == 3)
            wf__str_add(&text, "\n\ngarbage without a checksum\n");
    }
    text.len -= 5; /* the last line is torn */
    text.at[text.len] = 0;
    wf__each_owner owner = dead_owner(5);
    make_journal("j/a.journal", &owner, text.at);
    make_journal("j/b.journal", &owner, "");
    write_file("j/c.journal", "no first line", 13);
    assert_int_equal(mkdir("j/d.journal", 0777), 0);
    assert_int_equal(symlink("/dev/zero", "j/e.journal"), 0);
    wf__each_journal j = open_journal(false);
    assert_true(knows(&j, 1));
    assert_false(knows(&j, 2));
    assert_true(knows(&j, 3));
    assert_false(knows(&j, 4));
    wf__journal_close(&j);
    wf__str_free(&text);
}

static void test_merging(void **state)
{
    (void)state;
    wf__each_journal alive = open_journal(true);
    note(&alive, 50);
    const uint64_t other_machine = 99;
    for (uint64_t k = 0; k < 6; k++) {
        char name[32];
        wf__str text = { 0 };
        for (uint64_t id = k; id < k + 3; id++) {
            wf__each_record r = record_of(id);
            wf__each_record_line(&text, &r, 1, "x");
        }
        wf__each_record again = record_of(52); /* an item that was done five times */
        again.when += (int64_t)(k + 2) % 5;
        if (k < 5)
            wf__each_record_line(&text, &again, 1, "x");
        snprintf(name, sizeof name, "j/k%d.journal", (int)k);
        wf__each_owner owner = dead_owner(k + 1);
        owner.host = k == 5 ? other_machine : owner.host;
        make_journal(name, &owner, text.at);
        wf__str_free(&text);
    }
    write_file("j/" WF__TEMP_PREFIX "old", "x", 1); /* of processes that were killed while they wrote */
    write_file("j/" WF__TEMP_PREFIX "new", "x", 1);
    const struct timespec long_ago[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
    assert_int_equal(utimensat(AT_FDCWD, "j/" WF__TEMP_PREFIX "old", long_ago, 0), 0);
    wf__each_journal reader = open_journal(false), j = open_journal(false);
    note(&alive, 51);
    assert_int_equal(wf__journal_merge(&j, ctx), WF_OK);
    assert_int_equal(entries(".journal"), 3); /* the merged one, that of a living process, that of another machine */
    assert_int_equal(entries(WF__TEMP_PREFIX), 1);
    assert_int_equal(access("j/" WF__TEMP_PREFIX "new", F_OK), 0);
    assert_int_equal(access("j/k5.journal", F_OK), 0);
    assert_int_equal(wf__journal_merge(&j, ctx), WF_OK);
    wf__each_journal after = open_journal(false);
    for (uint64_t id = 0; id < 8; id++)
        assert_true(knows(&after, id));
    assert_true(knows(&after, 50) && knows(&after, 51));
    assert_int_equal(after.record_count, 11); /* each once */
    /* of several records of an item the latest one is kept */
    const wf__each_record *kept = wf__journal_find(&after, 52, NULL);
    assert_non_null(kept);
    assert_int_equal(kept->when, 52 + 4);
    /* a reader that listed the files before goes on with the merged one */
    assert_int_equal(wf__journal_read(&reader, ctx), WF_OK);
    assert_true(knows(&reader, 51));
    assert_int_equal(reader.record_count, 15); /* with those that it had read before */
    wf__journal_close(&after);
    wf__journal_close(&alive);
    wf__journal_close(&reader);
    wf__journal_close(&j);
}

static void test_full_disk(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    wf__each_journal j = open_journal(true);
    note(&j, 1);
    int own = j.own;
    j.own = open("/dev/full", O_RDWR);
    wf__each_record r = record_of(2);
    assert_int_equal(wf__journal_note(&j, ctx, &r, 1, "x"), WF_ERR_IO);
    assert_non_null(strstr(wf_last_message(ctx), "j: cannot write the journal: "));
    wf_clear_error(ctx);
    close(j.own);
    j.own = own;
    note(&j, 3);
    wf__journal_close(&j);
    j = open_journal(false);
    assert_true(knows(&j, 1) && !knows(&j, 2) && knows(&j, 3));
    wf__journal_close(&j);
}

/* ---- locks ---- */

static void test_one_holder(void **state)
{
    (void)state;
    wf__each_journal a = open_journal(true), b = open_journal(true);
    wf__each_lock la, lb, other;
    assert_int_equal(wf__lock_take(&a, 1, &la), WF__EACH_MINE);
    assert_int_equal(wf__lock_take(&b, 1, &lb), WF__EACH_TAKEN);
    assert_int_equal(wf__lock_take(&b, 2, &other), WF__EACH_MINE);
    wf__lock_release(&a, &la);
    assert_int_equal(wf__lock_take(&b, 1, &lb), WF__EACH_MINE);
    wf__lock_release(&b, &lb);
    wf__lock_release(&b, &other);
    assert_int_equal(entries(".lock"), 0);
    wf__journal_close(&a);
    wf__journal_close(&b);
}

enum { ITEM = 0x1234 };
static const char base_name[] = "j/0000000000001234.lock";

/* Item ITEM is locked by a process that has ended, and by `more` others after it. */
static void lock_by_dead(int more)
{
    char name[64];
    snprintf(name, sizeof name, "%s", base_name);
    for (int k = 0; k <= more; k++) {
        wf__each_owner owner = dead_owner(0x100 + (uint64_t)k);
        make_journal(name, &owner, "");
        snprintf(name, sizeof name, "j/0000000000001234.%016x.lock", 0x100 + k);
    }
}

static void test_takeover(void **state)
{
    (void)state;
    for (int more = 0; more < 4; more++) {
        wf__each_journal a = open_journal(true), b = open_journal(true);
        wf__each_lock la, lb;
        lock_by_dead(more);
        assert_int_equal(wf__lock_take(&a, ITEM, &la), WF__EACH_MINE);
        assert_int_equal(wf__lock_take(&b, ITEM, &lb), WF__EACH_TAKEN);
        wf__lock_release(&a, &la);
        assert_int_equal(entries(".lock"), 0);
        assert_int_equal(wf__lock_take(&b, ITEM, &lb), WF__EACH_MINE);
        wf__lock_release(&b, &lb);
        assert_int_equal(entries(".lock"), 0);
        wf__journal_close(&a);
        wf__journal_close(&b);
    }
}

static void *sleep_on(void *user)
{
    sleep(100);
    return user;
}

static void test_liveness(void **state)
{
    (void)state;
    wf__each_journal j = open_journal(true);
    wf__each_owner self = j.owner, owner;
    int64_t now = wf__wall_clock(), old = now - (int64_t)310e9, recent = now - (int64_t)200e9;
    assert_true(self.start != 0 && wf__process_alive(getpid(), self.start));
    assert_false(wf__journal_is_dead(&j, &self, old, 300)); /* alive, however old its journal */
    owner = self;
    owner.start++; /* another process had this number */
    assert_true(wf__journal_is_dead(&j, &owner, now, 300));
    owner = dead_owner(1);
    assert_true(wf__journal_is_dead(&j, &owner, now, 300));
    owner.host ^= 1; /* of another machine */
    assert_false(wf__journal_is_dead(&j, &owner, recent, 300));
    assert_true(wf__journal_is_dead(&j, &owner, old, 300));
    owner = self;
    owner.start = 0; /* a system that does not tell when processes begin */
    assert_false(wf__journal_is_dead(&j, &owner, recent, 300));
    assert_true(wf__journal_is_dead(&j, &owner, old, 300));
    /* a process that has ended, but that its parent has not waited for */
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    uint64_t start = wf__process_start(child);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(kill(child, 0), 0);
    assert_false(wf__process_alive(child, start));
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* one whose first thread has ended */
    child = fork();
    if (child == 0) {
        pthread_t other;
        pthread_create(&other, NULL, sleep_on, NULL);
        pthread_exit(NULL);
    }
    char path[64], state_of_child = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < 1000 && state_of_child != 'Z'; i++) {
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d %*s %c", &state_of_child), 1);
        fclose(f);
        usleep(1000);
    }
    assert_int_equal(state_of_child, 'Z');
    assert_true(wf__process_alive(child, wf__process_start(child)));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    wf__journal_close(&j);
}

/* The lock of another machine: kept while it is renewed, taken over later; the process that lost it leaves it alone. */
static void test_other_machine(void **state)
{
    (void)state;
    wf__each_journal far = open_journal(true), j = open_journal(true), k = open_journal(true);
    wf__each_lock lost, lock, other;
    assert_int_equal(wf__lock_take(&far, ITEM, &lost), WF__EACH_MINE);
    j.host = k.host = 77; /* j and k are not on the machine of `far` */
    const struct timespec silent[2] = { { .tv_sec = time(NULL) - 1000 }, { .tv_sec = time(NULL) - 1000 } };
    assert_int_equal(futimens(far.own, silent), 0);
    assert_true(wf__touch_fd(far.own)); /* renewed */
    assert_int_equal(wf__lock_take(&j, ITEM, &lock), WF__EACH_TAKEN);
    assert_int_equal(futimens(far.own, silent), 0);
    assert_int_equal(wf__lock_take(&j, ITEM, &lock), WF__EACH_MINE);
    wf__lock_release(&far, &lost); /* the other machine goes on */
    assert_int_equal(wf__lock_take(&k, ITEM, &other), WF__EACH_TAKEN);
    wf__lock_release(&j, &lock);
    assert_int_equal(entries(".lock"), 0);
    assert_int_equal(wf__lock_take(&k, ITEM, &other), WF__EACH_MINE);
    wf__lock_release(&far, &lost);
    assert_int_equal(entries(".lock"), 1);
    wf__lock_release(&k, &other);
    wf__journal_close(&far);
    wf__journal_close(&j);
    wf__journal_close(&k);
}

/* ---- another process between the look at a dead lock and the link ---- */
static wf__each_journal one, two;
static wf__each_lock lock_one, lock_two;
static bool one_holds, two_holds;

static void one_takes(void)
{
    assert_int_equal(wf__lock_take(&one, ITEM, &lock_one), WF__EACH_MINE);
    one_holds = true;
}
static void one_does_it(void)
{
    one_takes();
    wf__lock_release(&one, &lock_one);
    one_holds = false;
}
static void two_follows(void)
{
    one_does_it();
    assert_int_equal(wf__lock_take(&two, ITEM, &lock_two), WF__EACH_MINE);
    two_holds = true;
}
static void both_do_it(void)
{
    two_follows();
    wf__lock_release(&two, &lock_two);
    two_holds = false;
}

static void test_between(void **state)
{
    (void)state;
    static void (*const hooks[])(void) = { one_takes, one_does_it, two_follows, both_do_it };
    for (size_t h = 0; h < 4; h++)
        for (int more = 0; more < 3; more++) {
            wf__each_journal slow = open_journal(true);
            wf__each_lock lock;
            one = open_journal(true);
            two = open_journal(true);
            one_holds = two_holds = false;
            lock_by_dead(more);
            before_link = hooks[h];
            wf__each_claim claim = wf__lock_take(&slow, ITEM, &lock);
            assert_null(before_link);
            assert_int_equal(claim, one_holds || two_holds ? WF__EACH_TAKEN : WF__EACH_MINE);
            if (one_holds) {
                assert_int_equal(wf__lock_take(&two, ITEM, &lock_two), WF__EACH_TAKEN);
                wf__lock_release(&one, &lock_one);
            } else if (two_holds) {
                assert_int_equal(wf__lock_take(&one, ITEM, &lock_one), WF__EACH_TAKEN);
                assert_int_equal(entries(".lock"), 1); /* the slow process left nothing */
                wf__lock_release(&two, &lock_two);
            } else {
                assert_int_equal(wf__lock_take(&one, ITEM, &lock_one), WF__EACH_TAKEN);
                wf__lock_release(&slow, &lock);
            }
            assert_int_equal(entries(".lock"), 0);
            wf__journal_close(&slow);
            wf__journal_close(&one);
            wf__journal_close(&two);
        }
}

/* A process dies before or after each call with which it takes over and gives back; the next one gets the item, and
 * cleaning leaves nothing. */
static void test_killed_at_each_call(void **state)
{
    (void)state;
    int died = 0;
    for (int more = 0; more < 3; more++)
        for (int n = 0;; n++) {
            new_journals(NULL);
            lock_by_dead(more);
            pid_t child = fork();
            if (child == 0) {
                wf__each_journal j = open_journal(true);
                wf__each_lock lock;
                calls_left = n;
                if (wf__lock_take(&j, ITEM, &lock) != WF__EACH_MINE)
                    _exit(2);
                wf__lock_release(&j, &lock);
                _exit(0);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
            wf__each_journal j = open_journal(true), other = open_journal(true);
            wf__each_lock lock, second;
            assert_int_equal(wf__lock_take(&j, ITEM, &lock), WF__EACH_MINE);
            assert_int_equal(wf__lock_take(&other, ITEM, &second), WF__EACH_TAKEN);
            wf__lock_clean(&other);
            assert_int_equal(wf__lock_take(&other, ITEM, &second), WF__EACH_TAKEN);
            wf__lock_release(&j, &lock);
            wf__lock_clean(&other);
            assert_int_equal(entries(".lock"), 0);
            wf__journal_close(&j);
            wf__journal_close(&other);
            if (WIFEXITED(status))
                break;
            died++;
        }
    assert_int_equal(died, 2 * (3 + 4 + 5)); /* a link, and the removal of it and of each dead name */
}

/* ---- processes that take items at random, many of which are killed ---- */
static void take_forever(unsigned seed, pid_t parent)
{
    enum { ITEMS = 3 };
    wf__each_journal j = open_journal(true);
    while (getppid() == parent) {
        seed = seed * 1664525u + 1013904223u;
        uint64_t id = 1 + (seed >> 16) % ITEMS;
        wf__each_lock lock;
        char name[16];
        if (wf__lock_take(&j, id, &lock) != WF__EACH_MINE)
            continue;
        snprintf(name, sizeof name, "held%d", (int)id);
        int fd = open(name, O_RDWR | O_CREAT, 0666);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) /* the system gives this back when a process dies */
            _exit(3);                                    /* another process holds the item, too */
        usleep((seed >> 20) % 200);
        close(fd);
        wf__lock_release(&j, &lock);
    }
    _exit(4);
}

static void test_random_kills(void **state)
{
    (void)state;
    enum { PROCESSES = 5 };
    const char *given = getenv("WEFT_TEST_KILLS");
    int kills = given ? atoi(given) : 60;
    pid_t child[PROCESSES] = { 0 }, parent = getpid();
    unsigned seed = 1;
    for (int n = 0; n < kills + PROCESSES; n++) {
        int k = n % PROCESSES, status;
        if (child[k]) {
            seed = seed * 1664525u + 1013904223u;
            usleep((seed >> 16) % 3000);
            kill(child[k], SIGKILL);
            assert_int_equal(waitpid(child[k], &status, 0), child[k]);
            assert_true(WIFSIGNALED(status));
        }
        child[k] = fork();
        if (child[k] == 0)
            take_forever((unsigned)n, parent);
    }
    for (int k = 0; k < PROCESSES; k++) {
        int status;
        kill(child[k], SIGKILL);
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        assert_true(WIFSIGNALED(status));
    }
    wf__each_journal j = open_journal(true);
    wf__lock_clean(&j);
    wf__lock_clean(&j);
    assert_int_equal(entries(".lock"), 0);
    wf__journal_close(&j);
}

static int leave(void **state) { return system("rm -rf j held*") == 0 ? leave_folder(state) : -1; }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines, new_journals),
        cmocka_unit_test_setup(test_reading, new_journals),
        cmocka_unit_test_setup(test_first_line, new_journals),
        cmocka_unit_test_setup(test_damaged, new_journals),
        cmocka_unit_test_setup(test_merging, new_journals),
        cmocka_unit_test_setup(test_full_disk, new_journals),
        cmocka_unit_test_setup(test_one_holder, new_journals),
        cmocka_unit_test_setup(test_takeover, new_journals),
        cmocka_unit_test_setup(test_liveness, new_journals),
        cmocka_unit_test_setup(test_other_machine, new_journals),
        cmocka_unit_test_setup(test_between, new_journals),
        cmocka_unit_test_setup(test_killed_at_each_call, new_journals),
        cmocka_unit_test_setup(test_random_kills, new_journals),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave);
}
