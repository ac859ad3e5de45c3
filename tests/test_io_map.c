/* test_io_map.c - wf_file_map: files as the memory of arrays, read and written; arrays in files without names
 * (wf_config.memory_bytes).
 */
#include "test_io_mrc_util.h"
#include "weft/weft.h"
#include <signal.h>
#include <sys/resource.h>

static wf_array *map_path(const char *path)
{
    wf_file *file = wf_file_open(ctx, path, NULL, NULL, NULL);
    assert_non_null(file);
    wf_array *array = wf_file_map(file);
    wf_file_free(file); /* which the array may outlive */
    return array;
}

/* Fails unless the mapped file has the elements that wf_load gives. */
static void check_mapped(const char *path)
{
    wf_array *a = map_path(path), *b = load(path, NULL);
    if (!a)
        fail_msg("%s: %s", path, wf_last_message(ctx));
    assert_int_equal(wf_array_dtype(a), wf_array_dtype(b));
    assert_shape(wf_array_shape(a), wf_array_shape(b));
    size_t bytes = (size_t)wf_array_count(b) * wf_dtype_size(wf_array_dtype(b));
    char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    assert_int_equal(wf_download(a, x, bytes), WF_OK);
    assert_int_equal(wf_download(b, y, bytes), WF_OK);
    assert_memory_equal(x, y, bytes);
    free(x);
    free(y);
    wf_release(a);
    wf_release(b);
}

static void refuse_map(const char *path, const char *part)
{
    assert_null(map_path(path));
    assert_int_equal(wf_last_status(ctx), WF_ERR_UNSUPPORTED);
    assert_error(path, part);
}

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        wf_dtype dtype;
    } files[] = { { "a.mrc", WF_F32 }, { "b.mrcs", WF_I16 }, { "c.mrc", WF_U16 }, { "d.mrc", WF_F16 },
                  { "e.npy", WF_F64 }, { "f.npy", WF_BOOL }, { "g.npy", WF_I64 }, { "h.npy", WF_U8 } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        wf_array *a = make(files[i].dtype, SHAPE(3, 5, 7));
        save(a, files[i].path, NULL);
        wf_release(a);
        check_mapped(files[i].path);
    }
    wf_graph *g = wf_begin(ctx);
    wf_array *z = wf_keep(wf_complex(wf_cast(wf_iota(g, WF_SHAPE(12), 0), WF_F32), 3));
    assert_int_equal(wf_run(g), WF_OK);
    save(z, "z.npy", NULL);
    wf_array *square = wf_view_reshape(z, WF_SHAPE(3, 4));
    save(square, "z.mrc", NULL);
    wf_release(square);
    wf_release(z);
    check_mapped("z.npy");
    check_mapped("z.mrc");
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(3, 0, 2)), *one = make(WF_F32, (wf_shape){ .rank = 0 });
    save(none, "none.npy", NULL);
    save(one, "one.npy", NULL);
    check_mapped("none.npy");
    check_mapped("one.npy");
    wf_release(none);
    wf_release(one);
}

static void test_orders_of_axes(void **state)
{
    (void)state;
    static const int orders[][3] = { { 1, 2, 3 }, { 2, 1, 3 }, { 3, 1, 2 }, { 3, 2, 1 } };
    float data[24];
    for (int i = 0; i < 24; i++)
        data[i] = (float)i;
    for (int k = 0; k < 4; k++) {
        uint8_t head[1024];
        make_header(head, 4, 3, 2, 2);
        for (int axis = 0; axis < 3; axis++)
            put_i(head, 64 + 4 * (size_t)axis, orders[k][axis]);
        write_mrc("axes.mrc", head, data, sizeof data);
        check_mapped("axes.mrc");
    }
    char npy[128 + 24 * 8] = "\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': True, 'shape': (4, 3, 2), }";
    memset(npy + strlen(npy + 10) + 10, ' ', 128 - 11 - strlen(npy + 10));
    npy[127] = '\n';
    for (int i = 0; i < 24; i++)
        memcpy(npy + 128 + 8 * i, &(double){ i }, 8);
    write_file("fortran.npy", npy, sizeof npy);
    check_mapped("fortran.npy");
    npy[8] = 'r'; /* the header is 4 bytes shorter */
    write_file("odd.npy", npy, 124);
    FILE *more = fopen("odd.npy", "r+b");
    assert_non_null(more);
    fseek(more, 123, SEEK_SET);
    fputc('\n', more);
    fwrite(npy + 128, 8, 24, more);
    fclose(more);
    refuse_map("odd.npy", "begin at byte 124, which is no multiple of the 8 bytes of f64");
}

static void test_read_only(void **state)
{
    (void)state;
    wf_array *a = make(WF_F32, SHAPE(4, 6));
    save(a, "r.npy", NULL);
    wf_array *m = map_path("r.npy"), *row = wf_view_at(m, 0, 2);
    assert_true(wf_array_is_read_only(m) && wf_array_is_read_only(row));
    assert_false(wf_array_is_read_only(a) || wf_array_is_read_only(NULL));
    for (int k = 0; k < 2; k++) {
        wf_array *to = k ? row : m;
        wf_graph *g = wf_begin(ctx);
        wf_out(g, to, wf_const(g, WF_F32, 3));
        assert_int_equal(wf_run(g), WF_ERR_ARG);
        assert_error("wf_out", "read-only");
        float zero[24] = { 0 };
        assert_int_equal(wf_upload(to, zero, k ? 24 : 96), WF_ERR_ARG);
        assert_error("wf_upload", "read-only");
    }
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_sub(wf_in(g, m), wf_in(g, a)));
    assert_int_equal(wf_run(g), WF_OK);
    mapped s = map(sum);
    for (int i = 0; i < 24; i++)
        assert_true(mapped_value(&s, i) == 0);
    wf_release(sum);
    wf_release(m);
    wf_release(row);
    wf_release(a);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *a = make(WF_U8, SHAPE(4, 6));
    save(a, "a.tif", NULL);
    save(a, "a.mrc.gz", NULL);
    save(a, "a.npy.gz", NULL);
    save(a, "u4.mrc", &(wf_meta){ .size = sizeof(wf_meta), .store_as = WF_STORED_U4 });
    save(a, "short.npy", NULL);
    wf_release(a);
    refuse_map("a.tif", "TIFF cannot be mapped; MRC and NPY files can");
    refuse_map("a.mrc.gz", "a compressed file cannot be mapped");
    refuse_map("a.npy.gz", "a compressed file cannot be mapped");
    refuse_map("u4.mrc", "the file stores u8 as u4");
    uint8_t head[1024], data[24 * 4] = { 0 };
    make_header(head, 4, 3, 2, 2);
    swap_words(head, 256, 4);
    memcpy(head + 208, "MAP \x11\x11", 6);
    write_mrc("swapped.mrc", head, data, sizeof data);
    refuse_map("swapped.mrc", "the other byte order");
    wf_file *file = wf_file_open(ctx, "short.npy", NULL, NULL, NULL);
    assert_int_equal(truncate("short.npy", 140), 0);
    assert_null(wf_file_map(file));
    assert_error("short.npy", "ends before its samples do");
    wf_file_free(file);
    assert_null(wf_file_map(NULL));
    file = wf_movie_open(ctx, "a.tif", NULL, NULL, NULL, NULL);
    assert_null(wf_file_map(file));
    assert_error("a.tif", "images of a movie");
    wf_file_free(file);
    file = wf_file_create(ctx, "wide.mrc", WF_F64, SHAPE(3, 4), NULL);
    assert_null(wf_file_map(file));
    assert_error("wide.mrc", "stores f64 as f32");
    wf_file_free(file);
    file = wf_file_create(ctx, "a.png", WF_U8, SHAPE(3, 4), NULL);
    if (file) { /* else there is no libpng */
        assert_null(wf_file_map(file));
        assert_error("a.png", "PNG cannot be mapped");
    } else {
        wf_clear_error(ctx);
    }
    wf_file_free(file);
}

static void test_written(void **state)
{
    (void)state;
    static const char *const paths[] = { "w.mrc", "w.npy", "w.npy.gz" };
    for (int k = 0; k < 3; k++) {
        char other[40];
        snprintf(other, sizeof other, "saved-%s", paths[k]);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40, 50, 60));
        wf_val v = wf_cast(wf_add(wf_mul(wf_index(g, 0), 100), wf_sub(wf_index(g, 2), wf_index(g, 1))), WF_F32);
        wf_file *file = wf_file_create(ctx, paths[k], WF_F32, SHAPE(40, 50, 60), NULL);
        wf_array *m = wf_file_map(file), *a = wf_empty(ctx, WF_F32, WF_SHAPE(40, 50, 60));
        assert_non_null(m);
        assert_null(wf_file_map(file));
        assert_error(paths[k], "mapped already");
        wf_out(g, m, v);
        wf_out(g, a, v);
        assert_int_equal(wf_run(g), WF_OK);
        wf_array *view = wf_view_at(m, 0, 1);
        wf_release(m);
        assert_int_equal(wf_file_finish(file), WF_ERR_ARG);
        assert_error(paths[k], "or a view of it, is not released");
        wf_release(view);
        assert_int_equal(access(paths[k], F_OK), -1);
        assert_int_equal(wf_file_finish(file), WF_OK);
        assert_null(wf_file_map(file));
        assert_error(paths[k], "finished");
        wf_file_free(file);
        save(a, other, NULL);
        assert_same_file(paths[k], other);
        wf_release(a);
    }
    wf_file *file = wf_file_create(ctx, "part.npy", WF_I16, SHAPE(5, 4), NULL); /* written and mapped */
    wf_array *row = make(WF_I16, SHAPE(1, 4)), *m = wf_file_map(file);
    assert_int_equal(wf_file_write(file, row, SHAPE(3, 0)), WF_OK);
    mapped all = map(m);
    for (int i = 0; i < 20; i++)
        assert_true(mapped_value(&all, i) == (i / 4 == 3 ? pattern(WF_I16, i % 4) : 0));
    wf_release(m);
    assert_int_equal(wf_file_finish(file), WF_OK);
    wf_file_free(file);
    check_mapped("part.npy");
    wf_release(row);
    file = wf_file_create(ctx, "never.npy", WF_I16, SHAPE(5, 4), NULL);
    m = wf_file_map(file);
    wf_file_free(file); /* the array outlives it, and the file never appears */
    all = map(m);
    ((int16_t *)all.data)[19] = 3;
    wf_release(m);
    assert_int_equal(access("never.npy", F_OK), -1);
    file = wf_file_create(ctx, "none.npy", WF_F32, SHAPE(0, 4), NULL);
    m = wf_file_map(file);
    assert_int_equal(wf_array_count(m), 0);
    wf_release(m);
    assert_int_equal(wf_file_finish(file), WF_OK);
    wf_file_free(file);
    assert_int_equal(leftovers(), 0);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 1 << 20;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    wf_file *file = wf_file_create(ctx, "large.npy", WF_F32, SHAPE(1000, 1000), NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    wf_array *m = wf_file_map(file);
    wf_context *small =
        wf_context_new(&(wf_config){ .size = sizeof(wf_config), .memory_bytes = 1, .scratch_dir = "." });
    wf_array *a = wf_empty(small, WF_F32, WF_SHAPE(1000, 1000));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, old);
    assert_null(m);
    assert_int_equal(wf_last_status(ctx), WF_ERR_IO);
    assert_error("large.npy", "4000128 bytes on the disk");
    wf_file_free(file);
    assert_null(a);
    assert_int_equal(wf_last_status(small), WF_ERR_MEMORY);
    assert_non_null(strstr(wf_last_message(small), "(4000000 bytes); no file in .: "));
    wf_context_free(small);
}

/* Returns the kilobytes of the process that are no pages of files. */
static int64_t private_kilobytes(void)
{
    char line[256];
    int64_t n = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && n < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "RssAnon:", 8) == 0)
            n = atoll(line + 8);
    if (status)
        fclose(status);
    return n;
}

static void test_arrays_in_files(void **state)
{
    (void)state;
    enum { N = 8 << 20 }; /* 32 MiB of f32 */
    const int64_t before = private_kilobytes();
    if (before < 0)
        skip();
    wf_context *small = wf_context_new(
        &(wf_config){ .size = sizeof(wf_config), .memory_bytes = 8 << 20, .scratch_dir = ".", .threads = 2 });
    wf_array *kept[6];
    for (int k = 0; k < 6; k++) {
        wf_graph *g = wf_begin(small);
        wf_val v = k ? wf_in(g, kept[k - 1]) : wf_cast(wf_iota(g, WF_SHAPE(N), 0), WF_F32);
        kept[k] = wf_keep(wf_add(v, wf_div(wf_sum(v, WF_ALL_AXES), N)));
        assert_int_equal(wf_run(g), WF_OK);
    }
    /* The mean is (N - 1) / 2 at first, and doubles each time. */
    double mean = (N - 1) / 2.0;
    for (int k = 0; k < 6; k++) {
        float last;
        wf_array *end = wf_view_at(kept[k], 0, N - 1);
        assert_int_equal(wf_download(end, &last, sizeof last), WF_OK);
        mean *= 2;
        assert_true(fabs((double)last - (mean + (N - 1) / 2.0)) <= 1e-6 * mean);
        wf_release(end);
    }
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    assert_true(private_kilobytes() - before < 60 << 10); /* of 192 MiB */
#endif
    for (int k = 0; k < 6; k++)
        wf_release(kept[k]);
    wf_context_free(small);
    assert_int_equal(leftovers(), 0);
    small = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .memory_bytes = 1, .scratch_dir = "nowhere" });
    assert_null(wf_empty(small, WF_F32, WF_SHAPE(N)));
    assert_int_equal(wf_last_status(small), WF_ERR_MEMORY);
    assert_non_null(strstr(wf_last_message(small), "no file in nowhere: No such file or directory"));
    wf_context_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_orders_of_axes),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_arrays_in_files),
    };
    return IO_TESTS(tests);
}
