/* test_io_gzip.c - MRC and NPY files that are compressed by gzip: written and read, in several members, damaged in every
 * place, larger than they say, without zlib.
 *
 * ctest: no_kernels
 */
#include "test_io_mrc_util.h"
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static bool no_zlib;

void *dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    if (no_zlib && name && strstr(name, "libz."))
        return NULL;
    if (!next) {
        void *found = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&next, &found, sizeof next);
    }
    return next(name, flags);
}

/* np.save of np.arange(6, dtype='<i2').reshape(2, 3) * 1000 - 2000, compressed by Python's gzip: as a whole, and as two
 * members of 50 and 90 bytes, followed by 9 zeros. */
static const uint8_t whole[] = { 31,  139, 8,   0,   0,   0,   0,   0,   2,   3,   155, 236, 23,  234, 27,  16,  201,
                                 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 105,
                                 164, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,
                                 18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  70,
                                 58,  10,  198, 154, 58,  10,  181, 10,  100, 3,   46,  131, 31,  18,  127, 24,  24,
                                 94,  48,  95,  96,  223, 193, 13,  0,   65,  195, 14,  225, 140, 0,   0,   0 };
static const uint8_t members[] = { 31,  139, 8,   0,   0,   0,   0,   0,   2,   3,   155, 236, 23,  234, 27,  16,  201,
                                   200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 105,
                                   164, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,
                                   18,  119, 75,  204, 41,  78,  213, 1,   0,   185, 37,  183, 48,  50,  0,   0,   0,
                                   31,  139, 8,   0,   0,   0,   0,   0,   4,   3,   83,  80,  47,  206, 72,  44,  72,
                                   85,  183, 82,  208, 48,  210, 81,  48,  214, 212, 81,  168, 85,  32,  27,  112, 25,
                                   252, 144, 248, 195, 192, 240, 130, 249, 2,   251, 14,  110, 0,   179, 13,  154, 168,
                                   90,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0 };

/* Writes the bytes as a gzip file of blocks that are not compressed. */
static void write_stored(const char *path, const uint8_t *bytes, size_t n)
{
    uint8_t *all = malloc(n + n / 65535 * 5 + 64), *to = all;
    uint32_t sum = 0xffffffffu;
    assert_non_null(all);
    memcpy(to, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    to += 10;
    size_t at = 0;
    do {
        size_t part = n - at < 65535 ? n - at : 65535;
        *to++ = at + part == n;
        *to++ = (uint8_t)part;
        *to++ = (uint8_t)(part >> 8);
        *to++ = (uint8_t)~part;
        *to++ = (uint8_t)(~part >> 8);
        memcpy(to, bytes + at, part);
        to += part;
        at += part;
    } while (at < n);
    for (size_t i = 0; i < n; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    sum = ~sum;
    for (int i = 0; i < 4; i++)
        *to++ = (uint8_t)(sum >> 8 * i);
    for (int i = 0; i < 4; i++)
        *to++ = (uint8_t)(n >> 8 * i);
    write_file(path, all, (size_t)(to - all));
    free(all);
}

static wf_array *expected(void)
{
    static const int16_t values[6] = { -2000, -1000, 0, 1000, 2000, 3000 };
    wf_array *a = wf_empty_with(ctx, WF_I16, SHAPE(2, 3), NULL);
    assert_int_equal(wf_upload(a, values, sizeof values), WF_OK);
    return a;
}

/* Without zlib files are refused, and nothing is written. This test comes first, before zlib is open. */
static void test_no_zlib(void **state)
{
    (void)state;
    wf_array *array = make(WF_I16, SHAPE(4, 5));
    no_zlib = true;
    write_file("a.npy.gz", whole, sizeof whole);
    assert_refused("a.npy.gz", "gzip files need the library libz.");
    save_refused(array, "b.mrc.gz", NULL, "gzip files need the library libz.");
    assert_int_not_equal(access("b.mrc.gz", F_OK), 0);
    no_zlib = false;
    wf_release(load("a.npy.gz", NULL));
    wf_release(array);
}

static void test_known(void **state)
{
    (void)state;
    wf_array *right = expected();
    static const char *const paths[] = { "a.npy.gz", "a.gz", "a.npy", "a" }; /* the content decides */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        write_file(paths[i], whole, sizeof whole);
        wf_array *a = load(paths[i], NULL), *b;
        assert_same_values(a, right);
        write_file(paths[i], members, sizeof members);
        b = load(paths[i], NULL);
        assert_same_values(b, right);
        wf_release(a);
        wf_release(b);
    }
    wf_release(right);
}

/* What is written is a gzip file, and is read as the plain file is, facts of the header included. */
static void test_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *packed;
        wf_stored stored;
    } files[] = { { "a.mrc", "a.mrc.gz", 0 },
                  { "b.map", "b.MAP.GZ", 0 },
                  { "c.mrcs", "c.mrcs.gz", WF_STORED_I16 },
                  { "d.mrc", "d.mrc.gz", WF_STORED_U4 },
                  { "e.npy", "e.npy.gz", WF_STORED_F64 } };
    for (size_t large = 0; large < 2; large++)
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            wf_array *array = make(WF_F32, large ? SHAPE(3, 401, 307) : SHAPE(2, 5, 3));
            wf_meta meta = { .size = sizeof meta, .store_as = files[i].stored, .spacing = { 1.5, 2.5, 3.5 } };
            wf_meta plain = meta, packed = meta;
            save(array, files[i].plain, &meta);
            save(array, files[i].packed, &meta);
            wf_array *a = load(files[i].plain, &plain), *b = load(files[i].packed, &packed);
            assert_same_values(b, a);
            assert_memory_equal(&plain, &packed, sizeof plain);
            assert_true(packed.is_stack == (i == 2));
            size_t n, m;
            uint8_t *bytes = read_file(files[i].packed, &n);
            assert_memory_equal(bytes, "\x1f\x8b\x08", 3);
            free(bytes);
            free(read_file(files[i].plain, &m));
            if (large)
                assert_true(n < m);
            wf_release(array);
            wf_release(a);
            wf_release(b);
        }
    wf_format format = WF_FORMAT_BY_NAME;
    assert_int_equal(wf_format_named(ctx, "x.map.gz", &format), WF_OK);
    assert_int_equal(format, WF_FORMAT_MRC);
    wf_array *array = make(WF_U8, SHAPE(3, 4));
    save_refused(array, "x.png.gz", NULL, "the suffix names no format");
    save_refused(array, "x.gz", NULL, "the suffix names no format");
    save_refused(array, ".gz", NULL, "the suffix names no format");
    wf_release(array);
}

/* Reading that goes back in the file: axes in another order, Fortran order, an extended header that is copied. */
static void test_orders(void **state)
{
    (void)state;
    enum { W = 70, H = 50, D = 30 };
    uint8_t *bytes = calloc(1, 1024 + 800 + 4 * W * H * D);
    assert_non_null(bytes);
    make_header(bytes, W, H, D, 2);
    put_i(bytes, MAPC, 3);
    put_i(bytes, MAPC + 8, 1);
    put_i(bytes, NSYMBT, 800);
    memset(bytes + 1024, 'x', 800);
    for (int i = 0; i < W * H * D; i++)
        put_f(bytes, 1824 + 4 * (size_t)i, i % 1013);
    write_file("t.mrc", bytes, 1824 + 4 * W * H * D);
    write_stored("t.mrc.gz", bytes, 1824 + 4 * W * H * D);
    wf_array *a = load("t.mrc", NULL), *b = load("t.mrc.gz", NULL);
    assert_same_values(b, a);
    wf_release(a);
    wf_meta meta = { .size = sizeof meta };
    a = load("t.mrc.gz", &meta);
    assert_int_equal(meta.extended_bytes, 800);
    meta.extended_from = "t.mrc.gz";
    save(a, "u.mrc.gz", &meta);
    wf_release(load("u.mrc.gz", &meta));
    assert_int_equal(meta.extended_bytes, 800);
    wf_release(a);
    wf_release(b);
    free(bytes);
}

static void test_damaged(void **state)
{
    (void)state;
    uint8_t bytes[sizeof members + 8];
    for (size_t n = 0; n < sizeof whole; n++) {
        write_file("cut.npy.gz", whole, n);
        assert_refused("cut.npy.gz", n == 0             ? "the file is empty"
                                     : n < 3            ? "NPY"
                                     : n < sizeof whole ? "gzip: the file ends inside of the compressed data"
                                                        : "");
    }
    for (size_t i = sizeof whole - 8; i < sizeof whole; i++) {
        memcpy(bytes, whole, sizeof whole);
        bytes[i] ^= 1;
        write_file("sum.npy.gz", bytes, sizeof whole);
        assert_refused("sum.npy.gz", i < sizeof whole - 4 ? "incorrect data check" : "incorrect length check");
    }
    for (size_t i = 3; i < sizeof whole; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bytes, whole, sizeof whole);
            bytes[i] ^= (uint8_t)(1 << bit);
            survives("damage.npy.gz", bytes, sizeof whole);
        }
    memcpy(bytes, members, sizeof members);
    memcpy(bytes + sizeof members, "tail", 4);
    write_file("tail.npy.gz", bytes, sizeof members + 4);
    assert_refused("tail.npy.gz", "other bytes follow the compressed data");
    memcpy(bytes, whole, sizeof whole);
    bytes[sizeof whole] = 0x1f; /* the begin of a member that is cut */
    write_file("tail.npy.gz", bytes, sizeof whole + 1);
    assert_refused("tail.npy.gz", "the file ends inside of the compressed data");
}

/* Files whose contents do not fit what their headers say. */
static void test_lengths(void **state)
{
    (void)state;
    uint8_t head[1024], all[1024 + 16] = { 0 };
    make_header(head, 2, 2, 1, 2);
    memcpy(all, head, 1024);
    write_stored("a.mrc.gz", all, 1024 + 15);
    assert_refused("a.mrc.gz", "the unpacked file ends at byte 1039");
    write_stored("a.mrc.gz", all, 1024 + 16);
    wf_release(load("a.mrc.gz", NULL));
    write_stored("a.mrc.gz", all, 500);
    assert_refused("a.mrc.gz", "the unpacked file ends at byte 500");
    put_i(all, NX, 1 << 14);
    put_i(all, NY, 1 << 14);
    write_stored("a.mrc.gz", all, sizeof all);
    assert_refused("a.mrc.gz", "that is 1073741824 bytes of data, but the compressed file holds at most");
    write_stored("p.png.gz", (const uint8_t *)"\x89PNG\r\n\x1a\n\0\0\0\0", 12);
    assert_refused("p.png.gz", "the file is PNG compressed by gzip: unpack it first");
    write_stored("t.txt.gz", (const uint8_t *)"text text text", 14);
    assert_refused("t.txt.gz", "neither the content nor the suffix is of a known format");

    /* a short array, followed by a member of 64 MB of zeros, which takes 64 KB */
    wf_array *zeros = wf_empty_with(ctx, WF_U8, SHAPE(64 << 20), NULL);
    void *data;
    assert_int_equal(wf_map(zeros, &data, NULL), WF_OK);
    memset(data, 0, 64 << 20);
    save(zeros, "z.npy.gz", NULL);
    size_t n;
    uint8_t *bytes = read_file("z.npy.gz", &n), *bomb = malloc(sizeof whole + n);
    assert_non_null(bomb);
    assert_true(n < 1 << 20);
    memcpy(bomb, whole, sizeof whole);
    memcpy(bomb + sizeof whole, bytes, n);
    write_file("bomb.npy.gz", bomb, sizeof whole + n);
    assert_refused("bomb.npy.gz", "the data goes on for more than 1 MiB behind what the header describes");
    free(bytes);
    free(bomb);
    wf_release(zeros);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit old, new;
    wf_array *array = make(WF_F32, SHAPE(100, 100));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    new = old;
    int refused = 0;
    for (size_t limit = 0; limit < 42000; limit += 997)
        for (int there = 0; there < 2; there++) {
            remove("f.mrc.gz");
            if (there)
                write_file("f.mrc.gz", "precious", 8);
            new.rlim_cur = limit;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &new), 0);
            wf_status status = wf_save(array, "f.mrc.gz", NULL);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
            assert_int_equal(leftovers(), 0);
            if (status != WF_OK) {
                refused++;
                assert_error("f.mrc.gz", "cannot write: file too large");
                assert_int_equal(access("f.mrc.gz", F_OK), there ? 0 : -1);
            } else {
                wf_array *again = load("f.mrc.gz", NULL);
                assert_same_values(again, array);
                wf_release(again);
            }
        }
    signal(SIGXFSZ, handler);
    assert_in_range(refused, 20, 84);
    wf_release(array);
}

static void test_permissions(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(4, 4));
    struct stat info;
    save(array, "m.mrc.gz", NULL);
    assert_int_equal(chmod("m.mrc.gz", 0640), 0);
    save(array, "m.mrc.gz", NULL);
    assert_int_equal(stat("m.mrc.gz", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    wf_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_zlib),   cmocka_unit_test(test_known),       cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_orders),    cmocka_unit_test(test_damaged),     cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_permissions),
    };
    return IO_TESTS(tests);
}
