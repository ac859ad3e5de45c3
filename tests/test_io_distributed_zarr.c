/* test_io_distributed_zarr.c - Zarr arrays of ranks, which are threads: stores have the bytes that wf_save writes of the whole
 * array, with shapes that ranks and chunks do not divide; a rank reads the chunks that its block touches, and no others; a call
 * of the system or an allocation that fails on one rank fails on all, and leaves nothing behind.
 *
 * The program is linked with --wrap (cmake/WeftTests.cmake), as test_io_memory_fails is.
 *
 * ctest: threads no_kernels
 */
#include "test_every.h"
#include "zarr_store.h"
#include <errno.h>
#include <sys/syscall.h>
#include "weft/functions.h"

/* ---- calls of a thread that fail ---- */
typedef enum kind { NOTHING, SYSTEM, MEMORY } kind;
static _Thread_local kind armed;
static _Thread_local long calls_left; /* of the armed kind, until the one that fails; below 0: it has failed */
static _Thread_local bool has_name;   /* the store is there, and only its name is flushed to the disk */

static bool fails(kind what) { return armed == what && calls_left >= 0 && calls_left-- == 0; }

static bool system_fails(void)
{
    if (!fails(SYSTEM))
        return false;
    errno = ENOSPC;
    return true;
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    return system_fails() ? -1 : syscall(SYS_pwrite64, fd, from, bytes, at);
}

int mkdir(const char *path, mode_t mode)
{
    return system_fails() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int rename(const char *from, const char *to)
{
    if (system_fails())
        return -1;
    const int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    has_name = result == 0;
    return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return system_fails() ? -1 : (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}

static _Thread_local int flushed[2]; /* files and folders */

int fsync(int fd)
{
    struct stat info;
    if (!has_name && system_fails())
        return -1;
    flushed[fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)]++;
    return (int)syscall(SYS_fsync, fd);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes) { return fails(MEMORY) ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t size) { return fails(MEMORY) ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t bytes) { return fails(MEMORY) ? NULL : __real_realloc(old, bytes); }

/* ---- arrays of ranks ---- */

enum { RANKS = 8 };
typedef enum cut { FIRST_AXIS, LAST_AXIS, CHOSEN, CUTS } cut;

typedef struct job {
    const char *path;
    mapped values; /* of all ranks */
    wf_meta meta;
    cut cut;
    kind kind; /* what fails, */
    int rank;  /* on which rank, */
    long at;   /* after so many calls */
    bool happened;
    int flushed[RANKS][2];
    wf_status status[RANKS];
    char message[RANKS][400];
} job;

static wf_context *new_context(void)
{
    return wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
}

static wf_status dist_of(const job *j, wf_ranks *ranks, wf_dist *dist)
{
    wf_dist_options o = { .size = sizeof o };
    const int n = wf_ranks_size(ranks), axis = j->cut == LAST_AXIS ? j->values.shape.rank - 1 : 0;
    for (int d = 0; d < j->values.shape.rank; d++)
        o.grid[d] = d == axis ? n : 1;
    return wf_dist_make(&j->values.shape, n, j->cut == CHOSEN ? NULL : &o, dist);
}

/* Copies the values to a rank's block, or compares them with it. False: they differ. */
static bool visit_block(const mapped *all, wf_ranks *ranks, wf_array *a, bool set)
{
    const wf_dist *dist = wf_array_dist(a);
    const size_t size = wf_dtype_size(all->dtype);
    const int rank = all->shape.rank;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], stride[WF_MAX_RANK], at[WF_MAX_RANK];
    char *data;
    wf_array *block = wf_array_block(a);
    bool same = block && wf_map(block, (void **)&data, stride) == WF_OK;
    wf_dist_range(dist, wf_ranks_rank(ranks), lo, hi);
    const bool rows = same && rank > 0 && stride[rank - 1] == 1 && all->strides[rank - 1] == 1;
    const int64_t run = rows ? hi[rank - 1] - lo[rank - 1] : 1; /* elements that are adjacent in both */
    bool more = same;
    for (int d = 0; d < rank; d++) {
        at[d] = lo[d];
        more = more && lo[d] < hi[d];
    }
    while (more && same) {
        int64_t from = 0, to = 0;
        for (int d = 0; d < rank; d++) {
            from += at[d] * all->strides[d];
            to += (at[d] - lo[d]) * stride[d];
        }
        char *mine = data + (size_t)to * size;
        const char *right = (const char *)all->data + (size_t)from * size;
        if (set)
            memcpy(mine, right, (size_t)run * size);
        else
            same = memcmp(mine, right, (size_t)run * size) == 0;
        int d = rank - 1;
        while (d >= 0 && (at[d] += d == rank - 1 ? run : 1) == hi[d]) {
            at[d] = lo[d];
            d--;
        }
        more = d >= 0;
    }
    return wf_array_block_end(a, block) == WF_OK && same;
}

static void note(job *j, wf_ranks *ranks, wf_context *c, wf_status status)
{
    const int rank = wf_ranks_rank(ranks);
    j->status[rank] = status;
    snprintf(j->message[rank], sizeof j->message[rank], "%s", status == WF_OK ? "" : wf_last_message(c));
}

static wf_status save_blocks(wf_ranks *ranks, void *user)
{
    job *j = user;
    wf_context *c = new_context();
    wf_dist dist;
    wf_status status = dist_of(j, ranks, &dist);
    wf_array *a = status == WF_OK ? wf_empty_distributed(c, j->values.dtype, ranks, &dist) : NULL;
    if (!a || !visit_block(&j->values, ranks, a, true)) {
        wf_ranks_abort(ranks, 1, "the test cannot begin");
        status = WF_ERR_CONTRACT;
    }
    if (status == WF_OK) {
        armed = wf_ranks_rank(ranks) == j->rank ? j->kind : NOTHING;
        calls_left = j->at;
        status = wf_save_distributed(a, j->path, &j->meta);
        if (armed != NOTHING)
            j->happened = calls_left < 0;
        armed = NOTHING;
    }
    memcpy(j->flushed[wf_ranks_rank(ranks)], flushed, sizeof flushed);
    note(j, ranks, c, status);
    wf_release(a);
    wf_context_free(c);
    return status;
}

static wf_status load_blocks(wf_ranks *ranks, void *user)
{
    job *j = user;
    wf_context *c = new_context();
    wf_dist dist;
    wf_meta meta = { .size = sizeof meta };
    wf_status status = dist_of(j, ranks, &dist);
    wf_array *a = status == WF_OK ? wf_load_distributed(c, j->path, ranks, &dist, &meta) : NULL;
    if (!a)
        status = wf_last_status(c);
    else if (wf_array_dtype(a) != j->values.dtype || !visit_block(&j->values, ranks, a, false) ||
             meta.format != WF_FORMAT_ZARR || memcmp(meta.spacing, j->meta.spacing, sizeof meta.spacing) != 0)
        status = wf_error(c, WF_ERR_CONTRACT, "the block has other values, or the array other facts");
    note(j, ranks, c, status);
    wf_release(a);
    wf_context_free(c);
    return status;
}

static void run(wf_status (*function)(wf_ranks *, void *), job *j, int ranks, uint64_t seed)
{
    wf_ranks_error e = { 0 };
    const wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    if (wf_ranks_threads(ranks, function, j, &o, &e) != WF_OK)
        fail_msg("%s on %d ranks, cut %d: rank %d: %s", j->path, ranks, (int)j->cut, (int)e.rank, e.text);
}

/* An array of real or complex values. */
static wf_array *make_any(wf_dtype dtype, wf_shape shape)
{
    if (wf_dtype_kind(dtype) != WF_KIND_COMPLEX)
        return make(dtype, shape);
    wf_array *array = wf_empty(ctx, dtype, shape);
    void *data;
    assert_non_null(array);
    assert_int_equal(wf_map(array, &data, NULL), WF_OK);
    for (int64_t i = 0; i < 2 * wf_array_count(array); i++)
        set_element(dtype == WF_C64 ? WF_F32 : WF_F64, data, i, pattern(WF_F32, i));
    return array;
}

/* ---- stores ---- */

static void stores_have_the_bytes_of_one_process(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        wf_shape shape;
        wf_dtype dtype;
        wf_stored store_as;
        bool is_stack, deflate, zstd;
        int32_t coarsest; /* of levels; 0: there are none */
    } stores[] = {
        { "a.zarr", { .rank = 3, .dim = { 3, 1030, 300 } }, WF_I16, 0, true, false, false, 0 },
        { "b.zarr", { .rank = 3, .dim = { 131, 150, 129 } }, WF_U8, 0, false, false, false, 0 },
        { "c.zarr", { .rank = 1, .dim = { 2100000 } }, WF_U8, 0, false, false, false, 0 },
        { "d.zarr", { .rank = 2, .dim = { 3, 2 } }, WF_F64, 0, false, false, false, 0 },
        { "e.zarr", { .rank = 2, .dim = { 0, 5 } }, WF_F32, 0, false, false, false, 0 },
        { "f.zarr", { .rank = 2, .dim = { 5, 1031 } }, WF_C64, 0, false, false, false, 0 },
        { "g.zarr", { .rank = 3, .dim = { 1030, 5, 2 } }, WF_F32, WF_STORED_C64, false, false, false, 0 },
        { "h.zarr", { .rank = 4, .dim = { 3, 2, 130, 7 } }, WF_BF16, 0, false, false, false, 0 },
        { "i.zarr", { .rank = 2, .dim = { 1500, 7 } }, WF_F64, WF_STORED_U8, false, true, false, 0 },
        { "j.zarr", { .rank = 3, .dim = { 7, 19, 1100 } }, WF_F32, 0, true, false, true, 0 },
        { "k.ome.zarr", { .rank = 3, .dim = { 5, 12, 1031 } }, WF_F32, 0, true, true, false, 0 },
        { "l.ome.zarr", { .rank = 3, .dim = { 5, 12, 2061 } }, WF_I16, 0, true, true, false, 200 },
        { "m.ome.zarr", { .rank = 3, .dim = { 20, 150, 270 } }, WF_U8, 0, false, false, false, 20 },
    };
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        const bool ome = strstr(stores[i].path, ".ome.") != NULL;
        job j = { .path = stores[i].path, .meta = { .size = sizeof j.meta, .store_as = stores[i].store_as } };
        j.meta.is_stack = stores[i].is_stack;
        j.meta.deflate = stores[i].deflate;
        j.meta.zstd = stores[i].zstd;
        j.meta.pyramid = stores[i].coarsest > 0;
        j.meta.coarsest = stores[i].coarsest;
        if (ome)
            j.meta.spacing[1] = j.meta.spacing[2] = 1.5;
        const char *same = ome ? "same.ome.zarr" : "same.zarr";
        wf_array *whole = make_any(stores[i].dtype, stores[i].shape);
        const wf_status saved = wf_save(whole, same, &j.meta);
        if (saved == WF_ERR_UNSUPPORTED) { /* there is no zlib, or no libzstd */
            print_message("%s\n", wf_last_message(ctx));
            wf_clear_error(ctx);
            wf_release(whole);
            continue;
        }
        assert_int_equal(saved, WF_OK);
        wf_array *loaded = load(same, NULL);
        job again = j;
        j.values = map(whole);
        again.values = map(loaded);
        for (int ranks = 1; ranks <= RANKS; ranks += ranks < 5 && !TEST_RACES ? 1 : 3)
            for (int how = 0; how < CUTS; how++) {
                j.cut = (cut)how;
                run(save_blocks, &j, ranks, ranks == 3 ? 7 : 0);
                assert_same_tree(j.path, same);
                assert_int_equal(leftovers(), 0);
                again.cut = again.values.shape.rank == j.values.shape.rank ? j.cut : FIRST_AXIS;
                run(load_blocks, &again, ranks, 0);
                remove_tree(j.path);
            }
        wf_release(loaded);
        wf_release(whole);
        remove_tree(same);
    }
}

/* ---- what a rank reads ---- */

/* A store of version 2 in Fortran order, big-endian, with chunks of 3 x 4 of which [1, 1] has no file. */
static void write_by_hand(uint16_t *all)
{
    write_text("a.zarr/.zarray",
               "{\"zarr_format\": 2, \"shape\": [7, 10], \"chunks\": [3, 4], \"dtype\": \">u2\", \"order\": \"F\",\n"
               "\"filters\": null, \"compressor\": null, \"fill_value\": 77}");
    for (int64_t c = 0; c < 9; c++) {
        char path[32];
        uint8_t bytes[24] = { 0 };
        for (int64_t k = 0; k < 12; k++) {
            const int64_t y = c / 3 * 3 + k % 3, x = c % 3 * 4 + k / 3;
            const uint16_t v = (uint16_t)(c == 4 ? 77 : 1000 * y + x);
            if (y < 7 && x < 10)
                all[y * 10 + x] = v;
            bytes[2 * k] = (uint8_t)(v >> 8);
            bytes[2 * k + 1] = (uint8_t)v;
        }
        snprintf(path, sizeof path, "a.zarr/%d.%d", (int)(c / 3), (int)(c % 3));
        if (c != 4)
            write_file(path, bytes, sizeof bytes);
    }
}

/* A rank with a damaged chunk fails, and all ranks name that rank: the first one whose block has elements of the chunk. */
static void ranks_read_their_chunks(void **state)
{
    (void)state;
    uint16_t all[70] = { 0 };
    job j = { .path = "a.zarr", .meta = { .size = sizeof j.meta } };
    remove_store();
    write_by_hand(all);
    j.values = (mapped){ .dtype = WF_U16, .shape = WF_SHAPE(7, 10), .data = all, .strides = { 10, 1 } };
    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int how = 0; how < CUTS; how++) {
            j.cut = (cut)how;
            run(load_blocks, &j, ranks, 0);
        }
    /* blocks of three ranks: rows 0 to 2, 3 and 4, 5 and 6; columns 0 to 3, 4 to 6, 7 to 9 */
    static const struct {
        const char *chunk;
        int rank[2]; /* the first that reads it, of rows and of columns */
    } damaged[] = { { "a.zarr/0.0", { 0, 0 } },
                    { "a.zarr/1.0", { 1, 0 } },
                    { "a.zarr/2.2", { 2, 2 } },
                    { "a.zarr/0.1", { 0, 1 } },
                    { "a.zarr/1.2", { 1, 2 } } };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_by_hand(all);
        write_file(damaged[i].chunk, "short", 5);
        for (int how = FIRST_AXIS; how <= LAST_AXIS; how++) {
            wf_ranks_error e;
            const int first = damaged[i].rank[how];
            char text[64];
            snprintf(text, sizeof text, "rank %d: %s: Zarr: a chunk has 24 bytes", first, damaged[i].chunk);
            j.cut = (cut)how;
            assert_int_equal(wf_ranks_threads(3, load_blocks, &j, NULL, &e), WF_ERR_IO);
            for (int r = 0; r < 3; r++)
                if (j.status[r] != WF_ERR_IO || !strstr(j.message[r], strstr(text, "a.zarr/")) ||
                    (r < first && !strstr(j.message[r], text)) || (r == first && strstr(j.message[r], "rank ")))
                    fail_msg("%s, cut %d: rank %d says: %s", damaged[i].chunk, how, r, j.message[r]);
        }
    }
    remove_store();
}

typedef struct blocks {
    const char *path;
    int64_t lo[RANKS][3], hi[RANKS][3];
} blocks;

static wf_status note_block(wf_ranks *ranks, void *user)
{
    blocks *b = user;
    wf_context *c = new_context();
    wf_array *a = wf_load_distributed(c, b->path, ranks, NULL, NULL);
    const wf_status status = a ? WF_OK : wf_last_status(c);
    const int rank = wf_ranks_rank(ranks);
    if (a)
        wf_dist_range(wf_array_dist(a), rank, b->lo[rank], b->hi[rank]);
    wf_release(a);
    wf_context_free(c);
    return status;
}

/* Packed chunks, of 128 elements along an axis, lie in one block each, unless blocks were uneven then. */
static void packed_chunks_have_one_reader(void **state)
{
    (void)state;
    static const struct {
        wf_shape shape;
        bool packed;
        int ranks, rank;
        int64_t lo[3], hi[3]; /* of that rank */
    } cases[] = {
        { { .rank = 3, .dim = { 370, 4, 3 } }, true, 3, 1, { 128, 0, 0 }, { 256, 4, 3 } },
        { { .rank = 3, .dim = { 370, 4, 3 } }, false, 3, 1, { 124, 0, 0 }, { 247, 4, 3 } },
        { { .rank = 3, .dim = { 300, 4, 3 } }, true, 3, 1, { 100, 0, 0 }, { 200, 4, 3 } },
        { { .rank = 3, .dim = { 5, 500, 256 } }, true, 4, 1, { 0, 128, 0 }, { 5, 256, 256 } },
        { { .rank = 3, .dim = { 5, 500, 256 } }, false, 4, 1, { 2, 0, 0 }, { 3, 500, 256 } },
        { { .rank = 3, .dim = { 5, 500, 256 } }, true, 5, 1, { 1, 0, 0 }, { 2, 500, 256 } },
    };
    wf_array *one = make(WF_U8, SHAPE(1));
    const wf_status packs = wf_save(one, "a.zarr", &(wf_meta){ .size = sizeof(wf_meta), .deflate = true });
    wf_release(one);
    if (packs != WF_OK) { /* there is no zlib */
        print_message("skipped: %s\n", wf_last_message(ctx));
        wf_clear_error(ctx);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blocks b = { .path = "a.zarr" };
        wf_ranks_error e;
        wf_array *whole = make(WF_U8, cases[i].shape);
        remove_store();
        save(whole, "a.zarr", &(wf_meta){ .size = sizeof(wf_meta), .deflate = cases[i].packed });
        wf_release(whole);
        if (wf_ranks_threads(cases[i].ranks, note_block, &b, NULL, &e) != WF_OK)
            fail_msg("rank %d: %s", (int)e.rank, e.text);
        assert_memory_equal(b.lo[cases[i].rank], cases[i].lo, sizeof cases[i].lo);
        assert_memory_equal(b.hi[cases[i].rank], cases[i].hi, sizeof cases[i].hi);
    }
    remove_store();
}

/* Rank 1 sees a store whose shape and dtype are those that the others see, but whose chunks are packed. */
static wf_status load_another(wf_ranks *ranks, void *user)
{
    job *j = user;
    wf_context *c = new_context();
    wf_array *a = wf_load_distributed(c, wf_ranks_rank(ranks) == 1 ? "b.zarr" : "a.zarr", ranks, NULL, NULL);
    const wf_status status = a ? WF_OK : wf_last_status(c);
    note(j, ranks, c, status);
    wf_release(a);
    wf_context_free(c);
    return status;
}

static void ranks_see_one_store(void **state)
{
    (void)state;
    job j = { .path = "a.zarr" };
    wf_array *a = make(WF_U8, SHAPE(9, 8));
    wf_meta meta = { .size = sizeof meta };
    save(a, "a.zarr", &meta);
    meta.deflate = true;
    if (wf_save(a, "b.zarr", &meta) == WF_OK) {
        assert_int_equal(wf_ranks_threads(3, load_another, &j, NULL, NULL), WF_ERR_CONTRACT);
        assert_non_null(strstr(j.message[1], "b.zarr: its shape, dtype or chunks are others on rank 0"));
        assert_non_null(strstr(j.message[2], "rank 1: b.zarr: "));
    } else { /* there is no zlib */
        print_message("skipped: %s\n", wf_last_message(ctx));
        wf_clear_error(ctx);
    }
    wf_release(a);
    remove_store();
    remove_tree("b.zarr");
}

/* ---- failures ---- */

/* Lets call after call of a rank fail. Returns how many failed. */
static int fail_each(job *j, int ranks, kind what)
{
    int failed = 0;
    j->kind = what;
    for (j->rank = 0; j->rank < ranks; j->rank++) {
        j->happened = true;
        for (j->at = 0; j->happened; j->at++) {
            char name[16];
            wf_ranks_error e = { 0 };
            snprintf(name, sizeof name, "rank %d: ", j->rank);
            j->happened = false;
            const wf_status status = wf_ranks_threads(ranks, save_blocks, j, NULL, &e);
            assert_int_equal(leftovers(), 0);
            struct stat info;
            const bool there = stat(j->path, &info) == 0, ended = status == WF_ERR_BACKEND;
            if (there != (status == WF_OK) || (status != WF_OK) != j->happened) {
                if (!(what == MEMORY && status == WF_OK)) /* what needed the memory may do without */
                    fail_msg("call %ld fails on rank %d: status %d, %s", j->at, j->rank, (int)status, e.text);
            }
            for (int r = 0; r < ranks && status != WF_OK; r++) {
                const bool told = r == j->rank || strstr(j->message[r], name) || j->status[r] == WF_ERR_BACKEND;
                if (j->status[r] == WF_OK || (!told && !ended))
                    fail_msg("call %ld fails on rank %d: rank %d has status %d, says: %s", j->at, j->rank, r,
                             (int)j->status[r], j->message[r]);
            }
            failed += j->happened;
            remove_tree(j->path);
        }
    }
    return failed;
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    wf_array *whole = make(WF_F32, SHAPE(6, 20, 30));
    job j = { .path = "out.zarr", .values = map(whole), .meta = { .size = sizeof j.meta, .is_stack = true } };
    for (int how = 0; how < 5; how++) {
        j.path = how >= 3 ? "out.ome.zarr" : "out.zarr";
        j.cut = how % 2 ? LAST_AXIS : FIRST_AXIS;
        j.meta.deflate = how >= 2;
        j.meta.durable = how >= 1;
        j.meta.pyramid = how == 4;
        j.meta.coarsest = 16; /* two levels */
        const int calls = fail_each(&j, 3, SYSTEM);
        print_message("%s: %d calls of the system fail\n", j.path, calls);
        assert_true(calls >= 9); /* a folder, its metadata, 6 chunks, a name */
    }
    j.meta.durable = false; /* flushing takes long */
    print_message("%d allocations fail\n", fail_each(&j, 3, MEMORY));
    wf_release(whole);
}

/* With meta.durable each rank flushes its chunks, and their names in the folder. */
static void ranks_flush(void **state)
{
    (void)state;
    wf_array *whole = make(WF_F32, SHAPE(6, 20, 30));
    job j = { .path = "out.zarr", .values = map(whole), .meta = { .size = sizeof j.meta, .is_stack = true } };
    for (int how = 0; how < 4; how++) {
        const bool durable = how % 2;
        j.meta.durable = durable;
        j.meta.deflate = how / 2;
        run(save_blocks, &j, 3, 0);
        for (int r = 0; r < 3; r++) { /* the first rank has also the metadata, and the folder of the store */
            assert_int_equal(j.flushed[r][0], durable ? 2 + (r == 0) : 0);
            assert_int_equal(j.flushed[r][1], durable ? 1 + (r == 0) : 0);
        }
        remove_tree(j.path);
    }
    wf_release(whole);
}

/* A store that exists stays as it is. */
static void stores_are_not_replaced(void **state)
{
    (void)state;
    wf_array *whole = make(WF_F32, SHAPE(6, 20, 30)), *other = make(WF_I16, SHAPE(4, 4));
    job j = { .path = "out.zarr", .values = map(whole), .meta = { .size = sizeof j.meta } };
    save(other, "out.zarr", NULL);
    save(other, "same.zarr", NULL);
    wf_ranks_error e;
    assert_int_equal(wf_ranks_threads(4, save_blocks, &j, NULL, &e), WF_ERR_IO);
    for (int r = 0; r < 4; r++)
        assert_non_null(strstr(j.message[r], "there is a folder of this name, which is not replaced"));
    assert_non_null(strstr(j.message[3], "rank 0: out.zarr: "));
    assert_same_tree("out.zarr", "same.zarr");
    assert_int_equal(leftovers(), 0);
    remove_tree("out.zarr");
    remove_tree("same.zarr");
    wf_release(whole);
    wf_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_have_the_bytes_of_one_process),
        cmocka_unit_test(ranks_read_their_chunks),
        cmocka_unit_test(packed_chunks_have_one_reader),
        cmocka_unit_test(ranks_see_one_store),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(ranks_flush),
        cmocka_unit_test(stores_are_not_replaced),
    };
    return IO_TESTS(tests);
}
