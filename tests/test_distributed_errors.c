/* test_distributed_errors.c - what distributed arrays refuse, ranks that do not fit each other, and memory that fails on one
 * rank: every rank gets an error or a result, and none waits for ever.
 *
 * ctest: threads first_tier no_llvm
 */
#include "base/base.h"
#include "weft/distributed.h"
#include "weft_test.h"

typedef struct rank { /* what a test does on each rank */
    wf_context *ctx;
    wf_ranks *ranks;
    int me, n;
    wf_array *a, *b; /* f32 (24, 20) */
} rank;

typedef struct test {
    void (*run)(rank *r, struct test *t);
    wf_status status[8]; /* of each rank */
    char text[8][1200];
    int k; /* number of the case */
} test;

static wf_array *distributed(rank *r, wf_dtype dtype, wf_shape shape)
{
    wf_dist dist;
    return wf_dist_make(&shape, r->n, NULL, &dist) == WF_OK ? wf_empty_distributed(r->ctx, dtype, r->ranks, &dist)
                                                            : NULL;
}

static void fill(rank *r, wf_array *a)
{
    wf_shape shape = wf_array_shape(a);
    wf_graph *g = wf_begin(r->ctx, .shape = shape);
    wf_out(g, a, wf_add(wf_mul(wf_index(g, 0), 100), wf_index(g, 1)));
    wf_run(g);
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    test *t = user;
    rank r = { .ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1 }), .ranks = ranks };
    r.me = wf_ranks_rank(ranks);
    r.n = wf_ranks_size(ranks);
    r.a = distributed(&r, WF_F32, WF_SHAPE(24, 20));
    r.b = distributed(&r, WF_F32, WF_SHAPE(24, 20));
    fill(&r, r.a);
    t->run(&r, t);
    t->status[r.me] = wf_last_status(r.ctx);
    snprintf(t->text[r.me], sizeof t->text[r.me], "%s", wf_last_message(r.ctx));
    wf_release(r.a);
    wf_release(r.b);
    wf_context_free(r.ctx);
    return WF_OK;
}

static void start(test *t, int n, uint64_t seed)
{
    wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(n, on_rank, t, &o, &e) != WF_OK)
        fail_msg("case %d: rank %d: %s", t->k, (int)e.rank, e.text);
}

/* All ranks have the status, and messages that contain `part`. */
static void expect(void (*run)(rank *r, test *t), int k, wf_status status, const char *part)
{
    test t = { .run = run, .k = k };
    start(&t, 3, 0);
    for (int r = 0; r < 3; ++r)
        if (t.status[r] != status || !strstr(t.text[r], part))
            fail_msg("case %d, rank %d: %s: %s", k, r, wf_status_name(t.status[r]), t.text[r]);
}

/* ---- what is refused ---- */
enum { REFUSED = 12 };
static const char *const refused[REFUSED] = {
    "as the launch also writes it: distribute it",
    "sums and products of floats need WF_MODE_AUTO or WF_MODE_EXPAND",
    "has all elements on each rank",
    "is a scan of a distributed array",
    "which ranks divide, by an index that is not a point's own plus a number, beside other changes of it",
    "is distributed, so that",
    "with blocks",
    "streams do not know",
    "is too large for the copies",
    "at the points' own places in a loop",
    "in a stage that also reduces: make it two launches",
    "in a stage that also reduces: make it two launches",
};

static void record_refused(rank *r, test *t)
{
    wf_array *own = wf_empty(r->ctx, WF_F32, WF_SHAPE(24, 20)), *at = wf_full(r->ctx, WF_I32, WF_SHAPE(24, 20), 3);
    wf_array *large = wf_full(r->ctx, WF_F32, WF_SHAPE(300000), 0), *line = wf_empty(r->ctx, WF_F32, WF_SHAPE(24, 1)),
             *total = wf_empty(r->ctx, WF_F32, WF_SHAPE(1, 1));
    wf_var sum;
    wf_val i;
    wf_stream *stream = t->k == 7 ? wf_stream_new(r->ctx, WF_CPU) : NULL;
    wf_graph *g = t->k == 7   ? wf_begin(r->ctx, .stream = stream)
                  : t->k == 3 ? wf_begin(r->ctx)
                  : t->k >= 10
                      ? wf_begin(r->ctx, .shape = WF_SHAPE(24, 20), .reduce = t->k == 10 ? WF_AXES(1) : WF_ALL_AXES)
                  : t->k == 6 ? wf_begin(r->ctx, .shape = WF_SHAPE(24, 20), .block = WF_SHAPE(4, 4))
                              : wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    switch (t->k) {
    case 0:
        WF_FOR (g, i, 0, 3, 1) { /* in each turn, of what the one before has written */
            wf_write(g, r->b, wf_add(wf_read(g, r->b, wf_in(g, at), wf_index(g, 1)), 1), wf_index(g, 0),
                     wf_index(g, 1));
        }
        WF_END(g);
        break;
    case 1:
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_DIRECT, own, wf_in(g, r->a), 0, 0);
        break;
    case 2:
        wf_out(g, own, wf_in(g, r->a));
        break;
    case 3:
        wf_out(g, own, wf_scan(WF_JOIN_ADD, wf_in(g, r->a), 0, false, false));
        break;
    case 4:
        wf_write(g, r->b, wf_in(g, r->a), wf_in(g, at), wf_index(g, 1));
        wf_write(g, r->b, 1, wf_index(g, 0), wf_index(g, 1));
        break;
    case 5:
        wf_download(r->a, &(float){ 0 }, sizeof(float));
        break;
    case 8:
        wf_accumulate(g, WF_JOIN_ADD, large, wf_in(g, r->a), wf_mod(wf_index(g, 0), 7));
        break;
    case 9:
        WF_FOR (g, i, 0, 1000, 1) {
            wf_accumulate(g, WF_JOIN_ADD, own, wf_in(g, r->a), wf_index(g, 0), wf_index(g, 1));
        }
        WF_END(g);
        break;
    case 10:
    case 11:
        sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
        wf_inc(sum, wf_in(g, r->a));
        wf_accumulate(g, WF_JOIN_ADD, own, wf_in(g, r->a), wf_index(g, 0), 0);
        wf_section(g, WF_SECTION_POST);
        wf_out(g, t->k == 10 ? line : total, sum);
        break;
    default:
        wf_out(g, r->b, wf_in(g, r->a));
    }
    wf_run(g);
    wf_release(large);
    wf_release(line);
    wf_release(total);
    wf_stream_free(stream);
    wf_release(own);
    wf_release(at);
}

static void refusals(void **state)
{
    (void)state;
    for (int k = 0; k < REFUSED; ++k)
        expect(record_refused, k, k == 5 ? WF_ERR_ARG : WF_ERR_UNSUPPORTED, refused[k]);
}

/* Indices that ranks do not know, along axis 0, which they divide. Blocks of columns, which the message says, help. */
enum { UNKNOWN = 3, HELPED = 2 };

static void record_unknown(rank *r, test *t)
{
    wf_dist columns;
    wf_dist_options o = { .size = sizeof o, .grid = { 1, r->n } };
    wf_dist_make(&WF_SHAPE(24, 20), r->n, &o, &columns);
    wf_array *across[2], *at = wf_full(r->ctx, WF_I32, WF_SHAPE(24, 20), 3);
    for (int k = 0; k < 2; ++k)
        across[k] = wf_empty_distributed(r->ctx, WF_F32, r->ranks, &columns);
    wf_array_redistribute(across[0], r->a);
    wf_graph *g = t->k ? wf_begin(r->ctx, .shape = WF_SHAPE(24, 20)) : wf_begin(r->ctx, .shape = WF_SHAPE(20));
    wf_val k;
    wf_var row;
    switch (t->k) {
    case 0: /* of a space that ranks do not divide */
        WF_FOR (g, k, 0, 24, 1) {
            wf_write(g, r->b, wf_cast(k, WF_F32), k, wf_index(g, 0));
            WF_END(g);
        }
        break;
    case 1: /* in a loop */
        row = wf_local(g, WF_I64, 5);
        WF_FOR (g, k, 0, 3, 1) {
            wf_set(row, wf_cast(wf_read(g, r->a, row, 0), WF_I64));
            WF_END(g);
        }
        wf_out(g, r->b, wf_cast(row, WF_F32));
        break;
    default:
        wf_write(g, across[1], wf_read(g, across[0], wf_in(g, at), wf_index(g, 1)), wf_sub(23, wf_index(g, 0)),
                 wf_index(g, 1));
    }
    wf_run(g);
    for (int i = 0; i < 2; ++i)
        wf_release(across[i]);
    wf_release(at);
}

static void unknown_indices(void **state)
{
    (void)state;
    static const char *const part[UNKNOWN] = { "is stored to along axis 0, which ranks divide",
                                               "as the index varies in a loop", "" };
    for (int k = 0; k < UNKNOWN; ++k) {
        expect(record_unknown, k, k == HELPED ? WF_OK : WF_ERR_UNSUPPORTED, part[k]);
        if (k < HELPED)
            expect(record_unknown, k, WF_ERR_UNSUPPORTED, "the whole axis (wf_array_redistribute)");
    }
}

static void make_wrong(rank *r, test *t)
{
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(4, 4), t->k == 0 ? 2 : 3, NULL, &dist);
    wf_release(wf_empty_distributed(r->ctx, t->k == 1 ? WF_NONE : WF_F32, t->k == 2 ? NULL : r->ranks, &dist));
}

static void wrong_arguments(void **state)
{
    (void)state;
    expect(make_wrong, 0, WF_ERR_ARG, "the distribution is for 2 ranks, the group has 3");
    expect(make_wrong, 1, WF_ERR_ARG, "dtype none");
    expect(make_wrong, 2, WF_ERR_ARG, "ranks is NULL");
}

/* ---- ranks that differ ---- */
static void launch_different(rank *r, test *t)
{
    wf_graph *g = wf_begin(r->ctx);
    double number = r->me == 1 ? 2 : 1;
    if (t->k == 0)
        wf_out(g, r->b, wf_mul(wf_in(g, r->a), number));
    else
        wf_out(g, r->b, wf_slice(wf_in(g, r->a), 0, 0, WF_END_INDEX, 1));
    if (t->k == 1 && r->me == 2)
        wf_out(g, r->a, 0);
    wf_run(g);
}

static void different_recordings(void **state)
{
    (void)state;
    expect(launch_different, 0, WF_ERR_CONTRACT, "launch different recordings");
    expect(launch_different, 1, WF_ERR_CONTRACT, "launch different recordings");
}

/* ---- views of blocks ---- */
static void view_blocks(rank *r, test *t)
{
    wf_array *block = wf_array_block(r->a);
    wf_graph *g = wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    wf_out(g, r->b, wf_read_border(g, r->a, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 1), wf_index(g, 1)));
    if (t->k == 1)
        wf_release(block);
    wf_run(g);
    if (t->k == 0)
        wf_release(block);
}

static void views(void **state)
{
    (void)state;
    test t = { .run = view_blocks, .k = 1 };
    expect(view_blocks, 0, WF_ERR_ARG, "views of this rank's block exist");
    start(&t, 3, 0);
    for (int r = 0; r < 3; ++r)
        assert_int_equal(t.status[r], WF_OK);
}

/* After its end a view lets the memory grow, and what was written through it is fetched. */
static void end_blocks(rank *r, test *t)
{
    (void)t;
    wf_array *block = wf_array_block(r->a), *second = wf_array_block(r->a);
    wf_array_fill(block, r->me + 1);
    if (wf_array_block_end(r->a, second) != WF_OK || wf_array_block_end(r->a, block) != WF_OK)
        return;
    wf_graph *g = wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    wf_out(g, r->b, wf_read_border(g, r->a, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 1), wf_index(g, 1)));
    if (wf_run(g) != WF_OK)
        return;
    wf_array *all = wf_array_collect(r->b);
    float *x = NULL;
    bool same = all && wf_map(all, (void **)&x, NULL) == WF_OK;
    for (int64_t i = 0; same && i < 24 * 20; ++i) {
        const int64_t at[WF_MAX_RANK] = { i / 20 < 23 ? i / 20 + 1 : 23, i % 20 };
        same = x[i] == (float)(wf_dist_owner(wf_array_dist(r->a), at) + 1);
    }
    wf_release(all);
    if (!same)
        wf_error(r->ctx, WF_ERR_CONTRACT, "the blocks are not those that were written");
}

static void end_wrongly(rank *r, test *t)
{
    wf_array *block = wf_array_block(r->a), *more = wf_retain(block);
    if (t->k == 0)
        wf_array_block_end(r->b, block);
    else
        wf_array_block_end(r->a, block); /* which `more` still holds */
    wf_release(more);
    if (t->k == 0)
        wf_release(block);
}

static void ended_views(void **state)
{
    (void)state;
    test t = { .run = end_blocks };
    start(&t, 3, 0);
    for (int r = 0; r < 3; ++r)
        if (t.status[r] != WF_OK)
            fail_msg("rank %d: %s", r, t.text[r]);
    expect(end_wrongly, 0, WF_ERR_ARG, "wf_array_block_end: this is no view of the array's block");
    expect(end_wrongly, 1, WF_ERR_ARG, "wf_array_block_end: other references to the block exist");
}

/* ---- memory that fails on one rank ---- */
#ifdef WEFT_DEBUG_CHECKS /* else allocations cannot be made to fail */
typedef struct failing {
    int rank;   /* whose memory fails */
    long after; /* allocation */
    int launch; /* number of the launch in which it fails */
    bool happened, failed;
    float sum; /* of the launches without a failure */
} failing;

enum { LAUNCHES = 4 };

/* Sums of a filter of a, with temporaries that are read with neighbours, a scan, and a kept array; the largest elements of
 * columns, by accumulation; the elements of a in other blocks; those of rows in reversed order, at indices from memory; and a
 * column, in a result with one axis. */
static wf_status filter(rank *r, wf_array *sum, wf_array *most, wf_array *across, wf_array *rows)
{
    wf_graph *g = wf_begin(r->ctx);
    wf_val v = wf_in(g, r->a), near = wf_add(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1));
    wf_out(g, sum, wf_sum(wf_exp(wf_mul(near, wf_div(1, wf_sum(v, WF_ALL_AXES)))), WF_ALL_AXES));
    wf_out(g, r->b, wf_scan(WF_JOIN_ADD, wf_mul(v, 2), 0, false, false));
    wf_array *kept = wf_keep(wf_sub(v, 1));
    wf_status status = wf_run(g);
    wf_release(kept);
    g = wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    wf_accumulate(g, WF_JOIN_MAX, most, wf_in(g, r->a), wf_index(g, 1));
    const wf_status second = wf_run(g);
    g = wf_begin(r->ctx);
    wf_out(g, across, wf_in(g, r->a));
    const wf_status third = wf_run(g);
    g = wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    wf_out(g, rows, wf_read(g, r->a, wf_cast(wf_sub(23, wf_div(wf_in(g, r->a), 100)), WF_I64), wf_index(g, 1)));
    const wf_status fourth = wf_run(g);
    g = wf_begin(r->ctx, .shape = WF_SHAPE(24));
    wf_val column = wf_read(g, r->a, wf_index(g, 0), 7);
    wf_array *other = wf_empty_beside(r->ctx, WF_F32, WF_SHAPE(24), .graph = g, .value = column);
    wf_out(g, other, column);
    const wf_status fifth = wf_run(g);
    wf_release(other);
    return status != WF_OK   ? status
           : second != WF_OK ? second
           : third != WF_OK  ? third
           : fourth != WF_OK ? fourth
                             : fifth;
}

/* True if the requested failure has happened. */
static bool failure_happened(void)
{
    for (int i = 0; i < 100000; ++i)
        if (wf__alloc_fails())
            return false;
    return true;
}

static wf_status launch_with_failure(wf_ranks *ranks, void *user)
{
    failing *f = user;
    rank r = { .ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP }),
               .ranks = ranks };
    r.me = wf_ranks_rank(ranks);
    r.n = wf_ranks_size(ranks);
    r.a = distributed(&r, WF_F32, WF_SHAPE(24, 20));
    r.b = distributed(&r, WF_F32, WF_SHAPE(24, 20));
    wf_array *sum = wf_full(r.ctx, WF_F32, WF_SHAPE(1, 1), 0), *most = wf_full(r.ctx, WF_F32, WF_SHAPE(20), 0);
    wf_dist columns;
    wf_dist_make(&WF_SHAPE(24, 20), r.n, &(wf_dist_options){ .size = sizeof(wf_dist_options), .grid = { 1 } },
                 &columns);
    wf_array *across = wf_empty_distributed(r.ctx, WF_F32, ranks, &columns);
    wf_array *rows = distributed(&r, WF_F32, WF_SHAPE(24, 20));
    fill(&r, r.a);
    wf_status status = wf_last_status(r.ctx);
    for (int k = 0; k < LAUNCHES && status != WF_ERR_BACKEND; ++k) {
        bool fails = k == f->launch && r.me == f->rank;
        wf_clear_error(r.ctx);
        if (fails)
            wf__alloc_fail_after(f->after);
        status = filter(&r, sum, most, across, rows);
        if (fails) {
            f->happened = failure_happened();
            wf__alloc_fail_after(-1);
            f->failed = status != WF_OK;
        }
    }
    float got = 0, largest[20];
    if (status == WF_OK && wf_download(sum, &got, sizeof got) == WF_OK && f->rank >= 0 && got != f->sum)
        status = WF_ERR_CONTRACT;
    if (status == WF_OK && (wf_download(most, largest, sizeof largest) != WF_OK || largest[7] != 23 * 100 + 7))
        status = WF_ERR_CONTRACT;
    float element[24][20];
    wf_array *all = status == WF_OK ? wf_array_collect(across) : NULL;
    if (status == WF_OK && (wf_download(all, element, sizeof element) != WF_OK || element[5][13] != 5 * 100 + 13))
        status = WF_ERR_CONTRACT;
    wf_release(all);
    all = status == WF_OK ? wf_array_collect(rows) : NULL; /* x / 100 of row 5, column 13 is 5.13 */
    if (status == WF_OK && (wf_download(all, element, sizeof element) != WF_OK || element[5][13] != 17 * 100 + 13))
        status = WF_ERR_CONTRACT;
    wf_release(all);
    all = status == WF_OK ? wf_array_collect(r.b) : NULL;
    if (status == WF_OK &&
        (wf_download(all, element, sizeof element) != WF_OK || element[20][13] != 2 * 21 * (1000 + 13)))
        status = WF_ERR_CONTRACT;
    wf_release(all);
    if (f->rank < 0 && r.me == 0)
        f->sum = got;
    wf_release(r.a);
    wf_release(r.b);
    wf_release(sum);
    wf_release(most);
    wf_release(across);
    wf_release(rows);
    wf_context_free(r.ctx);
    return status;
}

/* Launches after the failure are right on all ranks, unless the failure has ended the group. */
static void memory_fails(void **state)
{
    (void)state;
    const long step = TEST_RACES ? 11 : TEST_EVERY;
    long failures = 0, ended = 0;
    failing none = { .rank = -1 };
    assert_int_equal(wf_ranks_threads(3, launch_with_failure, &none, NULL, NULL), WF_OK);
    for (int launch = 0; launch < LAUNCHES - 1; launch += 2)
        for (int me = 0; me < 3; ++me) {
            bool more = true;
            for (long after = 0; more; after += step) {
                failing f = { .rank = me, .after = after, .launch = launch, .sum = none.sum };
                wf_ranks_threads_options o = { .size = sizeof o, .seed = 1 + (uint64_t)after };
                wf_ranks_error e = { 0 };
                wf_status status = wf_ranks_threads(3, launch_with_failure, &f, &o, &e);
                more = f.happened;
                failures += f.failed;
                ended += status == WF_ERR_BACKEND;
                if (status != WF_OK && status != WF_ERR_BACKEND)
                    fail_msg("launch %d, rank %d, allocation %ld: %s: rank %d: %s", launch, me, after,
                             wf_status_name(status), (int)e.rank, e.text);
            }
        }
    assert_true(failures > 100 / step);
    assert_true(ended < failures / 7);
}

/* ---- elements that were not received ---- */
typedef struct lacking {
    long after; /* allocation of rank 1 that fails */
    bool happened;
    int lacks[3]; /* launches of a rank that miss elements which an earlier one should have fetched */
} lacking;

/* b[i, j] = a[i + 1, j] + across[i, j], in the last row a[i, j] + across[i, j]. Ranks have rows of a, and columns of
 * `across`, which each launch needs memory for. */
static wf_status read_both(rank *r, wf_array *across)
{
    wf_graph *g = wf_begin(r->ctx, .shape = WF_SHAPE(24, 20));
    wf_val below = wf_read_border(g, r->a, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 1), wf_index(g, 1));
    wf_out(g, r->b, wf_add(below, wf_in(g, across)));
    return wf_run(g);
}

static bool is_sum(const wf_array *b)
{
    wf_array *all = wf_array_collect(b);
    float element[24][20];
    bool right = all && wf_download(all, element, sizeof element) == WF_OK;
    for (int i = 0; i < 24 && right; ++i)
        for (int j = 0; j < 20 && right; ++j)
            right = element[i][j] == (float)((i < 23 ? i + 1 : i) * 100 + j + i * 100 + j);
    wf_release(all);
    return right;
}

static wf_status launch_known(wf_ranks *ranks, void *user)
{
    lacking *f = user;
    rank r = { .ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP }),
               .ranks = ranks };
    r.me = wf_ranks_rank(ranks);
    r.n = wf_ranks_size(ranks);
    wf_dist rows, columns;
    wf_dist_options o = { .size = sizeof o, .grid = { r.n, 1 } };
    wf_dist_make(&WF_SHAPE(24, 20), r.n, &o, &rows);
    o.grid[0] = 1, o.grid[1] = r.n;
    wf_dist_make(&WF_SHAPE(24, 20), r.n, &o, &columns);
    r.a = wf_empty_distributed(r.ctx, WF_F32, ranks, &rows);
    r.b = wf_empty_distributed(r.ctx, WF_F32, ranks, &rows);
    wf_array *across = wf_empty_distributed(r.ctx, WF_F32, ranks, &columns);
    fill(&r, r.a);
    fill(&r, across);
    wf_status status = read_both(&r, across);
    fill(&r, r.a); /* what other ranks have of it is stale */
    if (r.me == 1)
        wf__alloc_fail_after(f->after);
    read_both(&r, across);
    if (r.me == 1) {
        f->happened = failure_happened();
        wf__alloc_fail_after(-1);
    }
    wf_clear_error(r.ctx);
    const wf_status second = read_both(&r, across);
    bool lacks = second == WF_ERR_MEMORY && strstr(wf_last_message(r.ctx), "has left this rank without");
    f->lacks[r.me] += lacks;
    bool right = second == WF_OK ? is_sum(r.b) : second == WF_ERR_MEMORY;
    wf_clear_error(r.ctx);
    fill(&r, r.a); /* what is written is fetched */
    right = read_both(&r, across) == WF_OK && is_sum(r.b) && right;
    wf_release(r.a);
    wf_release(r.b);
    wf_release(across);
    wf_context_free(r.ctx);
    if (wf_ranks_barrier(ranks) != WF_OK) /* the failure has ended the group */
        return WF_ERR_BACKEND;
    return status == WF_OK && right ? WF_OK : WF_ERR_CONTRACT;
}

/* A later launch fails, too, or fetches the elements; no launch goes on with elements that were not received. */
static void elements_that_were_not_received(void **state)
{
    (void)state;
    lacking f = { .happened = true };
    for (; f.happened; ++f.after) {
        wf_ranks_error e = { 0 };
        const wf_status status = wf_ranks_threads(3, launch_known, &f, NULL, &e);
        if (status != WF_OK && status != WF_ERR_BACKEND)
            fail_msg("allocation %ld: rank %d: %s: %s", f.after, (int)e.rank, wf_status_name(status), e.text);
    }
    assert_true(f.lacks[0] > 0);
    assert_true(f.lacks[1] > 0);
}
#endif

/* ---- work that one rank cancels ---- */
static bool says_yes(void *user) { return *(const bool *)user; }

/* Work that takes a while, which rank 1 cancels. The next launch is right. */
static wf_status cancel(wf_ranks *ranks, void *user)
{
    test *t = user;
    const int me = wf_ranks_rank(ranks);
    const wf_shape shape = WF_SHAPE(4096, 64);
    bool cancels = me == 1;
    wf_config config = { .size = sizeof config, .threads = 1, .poll = says_yes, .poll_user = &cancels };
    wf_dist dist;
    wf_context *ctx = wf_context_new(&config);
    wf_dist_make(&shape, 3, NULL, &dist);
    wf_array *a = wf_empty_distributed(ctx, WF_F64, ranks, &dist), *sums = wf_full(ctx, WF_F64, WF_SHAPE(5), 0),
             *counts = wf_full(ctx, WF_I64, WF_SHAPE(5), 0), *total = wf_empty(ctx, WF_F64, WF_SHAPE(1, 1)),
             *b = wf_empty_distributed(ctx, WF_F64, ranks, &dist);
    wf_array_fill(a, 2);
    wf_graph *g = t->k == 1 ? wf_begin(ctx, .shape = shape, .reduce = WF_ALL_AXES) : wf_begin(ctx, .shape = shape);
    wf_var sum = t->k == 1 ? wf_reduced(g, WF_F64, 0, WF_JOIN_ADD) : wf_local(g, WF_F64, 0);
    wf_var x = wf_local(g, WF_F64, wf_in(g, a));
    wf_val i;
    WF_FOR (g, i, 0, test_compiles(ctx) ? 3000 : 800, 1) {
        (void)i;
        wf_set(x, wf_sqrt(wf_add(x, 1)));
    }
    WF_END(g);
    wf_val at = wf_mod(wf_index(g, 1), 5);
    if (t->k == 3) /* all ranks ask each other for elements */
        wf_out(g, b, wf_read(g, a, wf_cast(x, WF_I64), wf_index(g, 1)));
    else if (t->k == 0)
        wf_accumulate(g, WF_JOIN_ADD, sums, wf_get(x), at);
    else if (t->k == 2)
        wf_accumulate(g, WF_JOIN_ADD, counts, wf_cast(x, WF_I64), at);
    else {
        wf_inc(sum, wf_get(x));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, total, sum);
    }
    t->status[me] = wf_run(g);
    snprintf(t->text[me], sizeof t->text[me], "%s", wf_last_message(ctx));
    wf_clear_error(ctx);
    cancels = false;
    g = wf_begin(ctx, .shape = shape);
    wf_accumulate(g, WF_JOIN_ADD, counts, 1, wf_mod(wf_index(g, 1), 5));
    wf_accumulate(g, WF_JOIN_ADD, sums, wf_in(g, a), wf_mod(wf_index(g, 1), 5));
    wf_status status = wf_run(g);
    double all[5];
    if (status == WF_OK && (wf_download(sums, all, sizeof all) != WF_OK || all[1] != 4096 * 13 * 2))
        status = WF_ERR_CONTRACT; /* what is cancelled has added nothing */
    wf_release(a);
    wf_release(b);
    wf_release(sums);
    wf_release(counts);
    wf_release(total);
    wf_context_free(ctx);
    return status;
}

static void cancelled_work(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        test t = { .k = k };
        wf_ranks_error e = { 0 };
        if (wf_ranks_threads(3, cancel, &t, NULL, &e) != WF_OK)
            fail_msg("case %d: rank %d: %s", k, (int)e.rank, e.text);
        for (int r = 0; r < 3; ++r)
            if (t.status[r] != WF_ERR_CANCELLED || (r != 1 && !strstr(t.text[r], "rank 1")))
                fail_msg("case %d, rank %d: %s: %s", k, r, wf_status_name(t.status[r]), t.text[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_work),       cmocka_unit_test(refusals),
        cmocka_unit_test(unknown_indices),      cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(different_recordings), cmocka_unit_test(views),
        cmocka_unit_test(ended_views),
#ifdef WEFT_DEBUG_CHECKS
        cmocka_unit_test(memory_fails),         cmocka_unit_test(elements_that_were_not_received),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
