/* test_io_distributed.c - files of distributed arrays have the bytes that wf_save writes of the whole array, and are loaded
 * block by block; what one rank cannot do fails on all. Ranks are threads.
 *
 * ctest: threads
 */
#include "test_io_util.h"
#include "weft/functions.h"

typedef struct job {
    const char *path, *same; /* the file of the ranks, and what wf_save has written */
    wf_shape shape;
    wf_dtype dtype;
    wf_meta meta;
    int grid; /* 0 = along the first axis; 1 = along the last; 2 = as wf_dist_make chooses */
    wf_status wanted;
    const char *message; /* part of it */
} job;

static wf_dist dist_of(const job *j, wf_ranks *ranks)
{
    wf_dist dist = { .ranks = 0 };
    wf_dist_options o = { .size = sizeof o };
    const int axis = j->grid == 1 ? j->shape.rank - 1 : 0;
    for (int d = 0; d < j->shape.rank; d++)
        o.grid[d] = d == axis ? wf_ranks_size(ranks) : 1;
    if (wf_dist_make(&j->shape, wf_ranks_size(ranks), j->grid == 2 ? NULL : &o, &dist) != WF_OK)
        fprintf(stderr, "no grid\n");
    return dist;
}

/* Values with some that are not finite, negative zeros, and large ones. */
static double number_at(int64_t i)
{
    return i % 97 == 5 ? (double)NAN : i % 89 == 3 ? (double)INFINITY : (double)(i * 7919 % 65521) / 64 - 100;
}

static wf_array *whole_array(wf_context *c, const job *j)
{
    wf_array *wide = wf_empty(c, WF_F64, j->shape);
    double *data = NULL;
    if (!wide || wf_map(wide, (void **)&data, NULL) != WF_OK)
        return NULL;
    for (int64_t i = 0; i < wf_array_count(wide); i++)
        data[i] = number_at(i);
    wf_array *out = wf_array_cast(wide, j->dtype);
    wf_release(wide);
    return out;
}

static wf_context *new_context(void)
{
    return wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
}

static wf_status save_and_load(wf_ranks *ranks, void *user)
{
    job *j = user;
    wf_context *c = new_context();
    wf_array *whole = whole_array(c, j), *again = NULL, *all = NULL;
    const wf_dist dist = dist_of(j, ranks);
    wf_array *a = wf_empty_distributed(c, j->dtype, ranks, &dist);
    wf_graph *g = wf_begin(c);
    wf_out(g, a, wf_in(g, whole));
    wf_status status = wf_run(g);
    if (status == WF_OK)
        status = wf_save_distributed(a, j->path, &j->meta);
    wf_meta meta = { .size = sizeof meta };
    if (status == WF_OK) {
        again = wf_load_distributed(c, j->path, ranks, j->grid ? &dist : NULL, &meta);
        all = again ? wf_array_collect(again) : NULL;
        wf_array *loaded = wf_load(c, j->path, NULL);
        status = all && loaded ? WF_OK : wf_last_status(c);
        void *x = NULL, *y = NULL;
        if (status == WF_OK && wf_map(all, &x, NULL) == WF_OK && wf_map(loaded, &y, NULL) == WF_OK &&
            (wf_array_dtype(all) != wf_array_dtype(loaded) ||
             memcmp(x, y, (size_t)wf_array_count(all) * wf_dtype_size(wf_array_dtype(all)))))
            status = wf_error(c, WF_ERR_CONTRACT, "the file is read as other values");
        wf_release(loaded);
    }
    wf_ranks_error e;
    wf_status known = wf_ranks_agree(ranks, status, status ? wf_last_message(c) : "", &e);
    if (known && e.rank == wf_ranks_rank(ranks) && !j->wanted)
        fprintf(stderr, "rank %d: %s\n", e.rank, e.text);
    if (j->wanted && (!status || !strstr(wf_last_message(c), j->message))) {
        fprintf(stderr, "rank %d: status %d, message '%s'\n", wf_ranks_rank(ranks), status, wf_last_message(c));
        known = WF_ERR_CONTRACT;
    }
    wf_release(whole);
    wf_release(again);
    wf_release(all);
    wf_release(a);
    wf_context_free(c);
    return known;
}

static void run(job *j, int ranks, uint64_t seed)
{
    wf_ranks_error e = { 0 };
    const wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    const wf_status status = wf_ranks_threads(ranks, save_and_load, j, &o, &e);
    if (status != j->wanted)
        fail_msg("%s on %d ranks, grid %d: rank %d: %s", j->path, ranks, j->grid, (int)e.rank, e.text);
}

static void files_have_the_bytes_of_one_process(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        wf_shape shape;
        wf_dtype dtype;
        wf_stored store_as;
    } files[] = {
        { "a.mrc", { .rank = 3, .dim = { 7, 30, 41 } }, WF_F32, 0 },
        { "b.mrc", { .rank = 2, .dim = { 5, 3 } }, WF_F32, 0 },
        { "c.mrcs", { .rank = 3, .dim = { 3, 50, 70 } }, WF_F64, WF_STORED_I16 },
        { "d.mrc", { .rank = 3, .dim = { 2, 45, 37 } }, WF_C64, 0 },
        { "e.mrc", { .rank = 3, .dim = { 4, 6, 9 } }, WF_U8, WF_STORED_U4 },
        { "f.npy", { .rank = 4, .dim = { 2, 3, 11, 13 } }, WF_F64, 0 },
        { "g.npy", { .rank = 1, .dim = { 5000 } }, WF_I32, 0 },
        { "h.npy", { .rank = 2, .dim = { 0, 5 } }, WF_F32, 0 },
        { "i.npy", { .rank = 2, .dim = { 40, 60 } }, WF_C128, 0 },
        { "j.png", { .rank = 2, .dim = { 20, 33 } }, WF_U16, 0 },
        { "k.mrc.gz", { .rank = 3, .dim = { 4, 20, 20 } }, WF_F32, 0 },
        { "l.mrc", { .rank = 3, .dim = { 6, 64, 64 } }, WF_F32, WF_STORED_F16 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char same[40], path[40];
        snprintf(same, sizeof same, "same-%s", files[i].path);
        snprintf(path, sizeof path, "%s", files[i].path);
        job j = { .path = path,
                  .same = same,
                  .shape = files[i].shape,
                  .dtype = files[i].dtype,
                  .meta = { .size = sizeof j.meta, .store_as = files[i].store_as, .spacing = { 2, 1.5, 1.25 } } };
        wf_array *whole = whole_array(ctx, &j);
        const wf_status saved = wf_save(whole, same, &j.meta);
        wf_release(whole);
        if (saved == WF_ERR_UNSUPPORTED) { /* there is no libpng, or no zlib */
            printf("%s\n", wf_last_message(ctx));
            wf_clear_error(ctx);
            continue;
        }
        assert_int_equal(saved, WF_OK);
        for (j.grid = 0; j.grid < 3; j.grid++)
            for (int ranks = 1; ranks <= 5; ranks++) {
                run(&j, ranks, ranks == 3 ? 5 : 0);
                assert_same_file(path, same);
                assert_int_equal(leftovers(), 0);
            }
    }
}

/* A file whose blocks of statistics lie across slabs, and slabs without a whole block. */
static void statistics_of_slabs(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 40; rows += 13)
        for (int64_t width = 100; width <= 1100; width += 500) {
            job j = { .path = "slabs.mrc",
                      .same = "same.mrc",
                      .shape = WF_SHAPE(rows, width),
                      .dtype = WF_F32,
                      .meta = { .size = sizeof j.meta } };
            wf_array *whole = whole_array(ctx, &j);
            assert_int_equal(wf_save(whole, j.same, &j.meta), WF_OK);
            wf_release(whole);
            for (int ranks = 1; ranks <= 8; ranks += 3) {
                run(&j, ranks, 0);
                assert_same_file(j.path, j.same);
            }
        }
}

static void one_rank_fails(void **state)
{
    (void)state;
    job j = { .path = "nowhere/a.mrc",
              .shape = WF_SHAPE(8, 8),
              .dtype = WF_F32,
              .meta = { .size = sizeof j.meta },
              .wanted = WF_ERR_IO,
              .message = "nowhere/a.mrc: " };
    run(&j, 3, 0);
    j.path = "a.mrc";
    j.shape = WF_SHAPE(2, 2, 2, 2, 2);
    j.wanted = WF_ERR_SHAPE;
    j.message = "MRC holds images";
    run(&j, 3, 0);
    j.path = "a.what";
    j.wanted = WF_ERR_UNSUPPORTED;
    j.message = "a.what: ";
    run(&j, 3, 0);
    assert_int_equal(leftovers(), 0);
}

static wf_status load_wrongly(wf_ranks *ranks, void *user)
{
    wf_context *c = new_context();
    const int rank = wf_ranks_rank(ranks), n = wf_ranks_size(ranks);
    wf_dist other;
    wf_status status = WF_OK;
    char text[4][200] = { "" };
    (void)user;
    wf_dist_make(&WF_SHAPE(9, 8), n, NULL, &other);
    const wf_array *none[4];
    none[0] = wf_load_distributed(c, "missing.npy", ranks, NULL, NULL);
    snprintf(text[0], sizeof text[0], "%s", wf_last_message(c));
    wf_clear_error(c);
    none[1] = wf_load_distributed(c, "there.npy", ranks, &other, NULL);
    snprintf(text[1], sizeof text[1], "%s", wf_last_message(c));
    wf_clear_error(c);
    none[2] = wf_load_distributed(c, rank == 1 ? "other.npy" : "there.npy", ranks, NULL, NULL);
    snprintf(text[2], sizeof text[2], "%s", wf_last_message(c));
    wf_clear_error(c);
    none[3] = wf_load_distributed(c, rank == 1 ? "missing.npy" : "there.npy", ranks, NULL, NULL);
    snprintf(text[3], sizeof text[3], "%s", wf_last_message(c));
    wf_clear_error(c);
    const char *parts[] = { "missing.npy: ", "is not one of the file's shape among",
                            "its shape, dtype or chunks are others on rank 0",
                            rank == 1 ? "missing.npy: " : "there.npy: rank 1: missing.npy: " };
    for (int k = 0; k < 4; k++)
        if (none[k] || !strstr(text[k], parts[k])) {
            fprintf(stderr, "rank %d: %s\n", rank, text[k]);
            status = WF_ERR_CONTRACT;
        }
    wf_array *plain = wf_full(c, WF_F32, WF_SHAPE(3), 1);
    if (wf_save_distributed(plain, "plain.npy", NULL) != WF_ERR_ARG ||
        wf_save_distributed(NULL, "x.npy", NULL) != WF_ERR_ARG || wf_load_distributed(c, "there.npy", NULL, NULL, NULL))
        status = WF_ERR_CONTRACT;
    wf_release(plain);
    wf_context_free(c);
    return status;
}

static void mistakes_are_named_on_all_ranks(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8, 8), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(8, 9), 1);
    assert_int_equal(wf_save(a, "there.npy", NULL), WF_OK);
    assert_int_equal(wf_save(b, "other.npy", NULL), WF_OK);
    wf_release(a);
    wf_release(b);
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(3, load_wrongly, NULL, NULL, &e) != WF_OK)
        fail_msg("rank %d: %s", (int)e.rank, e.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_the_bytes_of_one_process),
        cmocka_unit_test(statistics_of_slabs),
        cmocka_unit_test(one_rank_fails),
        cmocka_unit_test(mistakes_are_named_on_all_ranks),
    };
    return IO_TESTS(tests);
}
