/* test_io_append.c - arrays appended to MRC stacks and NPY arrays: the file is the one of all values, also after a full
 * disk, killed processes and processes that append at once.
 *
 * ctest: no_kernels
 */
#include "test_io_mrc_util.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void append(const wf_array *array, const char *path)
{
    if (wf_append(array, path, NULL) != WF_OK)
        fail_msg("wf_append: %s", wf_last_message(ctx));
    assert_int_equal(leftovers(), 0);
}

static void refuse(const wf_array *array, const char *path, wf_status status, const char *text)
{
    size_t n, m;
    uint8_t *before = read_file(path, &n);
    assert_int_equal(wf_append(array, path, NULL), status);
    assert_error(path, text);
    uint8_t *after = read_file(path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
}

/* Images of one array, appended one by one and several at once, give the file of the whole array. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *path, *whole;
        wf_dtype dtype;
        wf_stored stored;
    } files[] = { { "a.mrcs", "w.mrcs", WF_F32, 0 },
                  { "b.mrcs", "w.mrcs", WF_I16, 0 },
                  { "c.mrc", "w.mrc", WF_F32, WF_STORED_F16 },
                  { "d.mrc", "w.mrc", WF_U8, WF_STORED_U4 },
                  { "e.npy", "w.npy", WF_F64, 0 },
                  { "f.npy", "w.npy", WF_U8, 0 } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        wf_array *all = make(files[i].dtype, SHAPE(6, 31, 17));
        wf_meta meta = { .size = sizeof meta, .store_as = files[i].stored, .is_stack = true };
        save(all, files[i].whole, &meta);
        wf_array *right = load(files[i].whole, NULL);
        for (int64_t at = 0; at < 6;) {
            int64_t n = at == 1 ? 3 : 1;
            wf_array *part = n == 1 ? wf_view_at(all, 0, at) : wf_view_slice(all, 0, at, at + n, 1);
            assert_non_null(part);
            assert_int_equal(wf_append(part, files[i].path, &meta), WF_OK);
            wf_release(part);
            at += n;
        }
        wf_meta loaded = { .size = sizeof loaded };
        wf_array *got = load(files[i].path, &loaded);
        assert_same_values(got, right);
        if (i < 4) {
            size_t n, m;
            uint8_t *x = read_file(files[i].path, &n), *y = read_file(files[i].whole, &m);
            assert_true(loaded.is_stack);
            assert_int_equal(n, m);
            for (size_t at = DMIN; at <= DMEAN; at += 4)
                assert_true(fabs(get_f(x, at) - get_f(y, at)) < 1e-5);
            assert_true(fabs(get_f(x, RMS) - get_f(y, RMS)) < 1e-5 * get_f(y, RMS));
            assert_int_equal(get_i(x, NZ), 6);
            assert_memory_equal(x + 1024, y + 1024, n - 1024);
            free(x);
            free(y);
        }
        wf_release(got);
        wf_release(right);
        wf_release(all);
    }
}

/* The type of the file stays; numbers of one axis; a hundred appends of an NPY file. */
static void test_others(void **state)
{
    (void)state;
    wf_array *bytes = make(WF_U8, SHAPE(3, 4)), *reals = make(WF_F64, SHAPE(3, 4)), *line = make(WF_F32, SHAPE(5));
    append(bytes, "t.npy");
    for (int i = 0; i < 120; i++)
        append(reals, "t.npy");
    wf_meta meta = { .size = sizeof meta };
    wf_array *got = load("t.npy", &meta);
    assert_int_equal(meta.stored, WF_STORED_U8);
    assert_shape(wf_array_shape(got), SHAPE(121, 3, 4));
    assert_true(value_at(got, 120 * 12 + 3) == fmax(0, value_at(reals, 3)));
    wf_release(got);
    append(line, "l.npy");
    append(line, "l.npy");
    got = load("l.npy", NULL);
    assert_shape(wf_array_shape(got), SHAPE(10));
    assert_true(value_at(got, 7) == value_at(line, 2));
    wf_release(got);
    /* bytes that a killed process wrote after the samples are overwritten */
    append(bytes, "k.mrcs");
    size_t n, m;
    uint8_t *file = read_file("k.mrcs", &n), longer[4096] = { 0 };
    memcpy(longer, file, n);
    memset(longer + n, 7, 500);
    write_file("k.mrcs", longer, n + 500);
    append(bytes, "k.mrcs");
    free(read_file("k.mrcs", &m));
    assert_int_equal(m, n + 24); /* u16 */
    free(file);
    wf_release(bytes), wf_release(reals), wf_release(line);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *image = make(WF_F32, SHAPE(4, 5)), *volume = make(WF_F32, SHAPE(3, 4, 5)),
             *other = make(WF_F32, SHAPE(5, 5));
    save(volume, "v.mrc", NULL);
    refuse(image, "v.mrc", WF_ERR_UNSUPPORTED, "the file holds a volume, not a stack: MRC header field ISPG is 1");
    append(image, "r.mrcs");
    refuse(other, "r.mrcs", WF_ERR_SHAPE, "all extents but the first must agree");
    save(volume, "z.mrc.gz", NULL);
    refuse(image, "z.mrc.gz", WF_ERR_UNSUPPORTED, "nothing can be appended to a MRC file in gzip");
    save(volume, "p.tif", NULL);
    refuse(image, "p.tif", WF_ERR_UNSUPPORTED, "nothing can be appended to a TIFF file");
    uint8_t head[1024], data[80] = { 0 };
    make_header(head, 5, 4, 1, 2);
    put_i(head, MAPC, 2);
    put_i(head, MAPC + 4, 1);
    write_mrc("m.mrcs", head, data, sizeof data);
    refuse(image, "m.mrcs", WF_ERR_UNSUPPORTED, "the file has another order of axes");
    char npy[128 + 4];
    memset(npy, ' ', sizeof npy);
    memcpy(npy, "\x93NUMPY\x01\x00\x76\x00", 10);
    npy[10 + snprintf(npy + 10, 100, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }")] = ' ';
    write_file("o.npy", npy, sizeof npy);
    wf_array *one = make(WF_F32, SHAPE(1));
    refuse(one, "o.npy", WF_ERR_UNSUPPORTED, "the file has another byte order");
    int used = snprintf(npy + 10, 100, "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }");
    npy[8] = (char)(used + 1); /* no room for a digit more */
    npy[10 + used] = '\n';
    write_file("full.npy", npy, 10 + (size_t)used + 1 + 36);
    refuse(one, "full.npy", WF_ERR_UNSUPPORTED, "NPY header length is 58: it has no room for shape[0] = 10");
    assert_int_equal(wf_append(image, "no/folder.mrcs", NULL), WF_ERR_IO);
    assert_error("no/folder.mrcs", "no such file or directory");
    wf_release(image), wf_release(volume), wf_release(other), wf_release(one);
}

static void test_full_disk(void **state)
{
    (void)state;
    wf_array *image = make(WF_F32, SHAPE(40, 50));
    struct rlimit old, new;
    static const char *const paths[] = { "disk.mrcs", "disk.npy" };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    new = old;
    for (int i = 0; i < 2; i++) {
        append(image, paths[i]);
        struct stat info;
        assert_int_equal(stat(paths[i], &info), 0);
        for (int k = 0; k < 3; k++) {
            new.rlim_cur = (rlim_t)info.st_size + (rlim_t)k * 3000;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &new), 0);
            size_t n, m;
            uint8_t *before = read_file(paths[i], &n), *after;
            assert_int_equal(wf_append(image, paths[i], NULL), WF_ERR_IO);
            assert_error(paths[i], "cannot write: file too large");
            after = read_file(paths[i], &m);
            assert_int_equal(n, m);
            assert_memory_equal(before, after, n);
            free(before);
            free(after);
        }
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    }
    signal(SIGXFSZ, handler);
    wf_release(image);
}

/* Processes that append at once lose nothing, also when the file does not exist yet; one that is killed leaves a file
 * of whole images. */
static void test_processes(void **state)
{
    (void)state;
    enum { WRITERS = 6, EACH = 25 };
    wf_array *image = make(WF_F32, SHAPE(20, 30));
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        for (int k = 0; child[i] == 0; k++)
            if (k == EACH)
                _exit(0);
            else if (wf_append(image, "many.mrcs", NULL) != WF_OK) {
                fprintf(stderr, "%s\n", wf_last_message(ctx));
                _exit(1);
            }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    wf_array *got = load("many.mrcs", NULL);
    assert_shape(wf_array_shape(got), SHAPE(WRITERS * EACH, 20, 30));
    for (int64_t i = 0; i < wf_array_count(got); i += 7)
        assert_true(value_at(got, i) == value_at(image, i % 600));
    wf_release(got);
    for (int kill_after = 0; kill_after < 12; kill_after++) {
        pid_t victim = fork();
        assert_true(victim >= 0);
        while (victim == 0)
            if (wf_append(image, "killed.npy", NULL) != WF_OK)
                _exit(1);
        usleep(500 + (unsigned)kill_after * 300);
        kill(victim, SIGKILL);
        assert_int_equal(waitpid(victim, NULL, 0), victim);
        append(image, "killed.npy");
        got = load("killed.npy", NULL);
        int64_t n = wf_array_count(got);
        for (int64_t i = n > 1800 ? n - 1800 : 0; i < n; i++)
            assert_true(value_at(got, i) == value_at(image, i % 600));
        wf_release(got);
    }
    wf_release(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_others),
                                        cmocka_unit_test(test_refused), cmocka_unit_test(test_full_disk),
                                        cmocka_unit_test(test_processes) };
    return IO_TESTS(tests);
}
