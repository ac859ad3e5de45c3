/* test_ranks_accumulations.c - a launch that accumulates into elements of other ranks sends a record for each point with such an
 * element, and nothing else: a group that counts messages is compared with the indices. Where the rank that has an element runs
 * the point, nothing is sent.
 *
 * ctest: threads no_kernels
 */
#include "bench/mpi/counted.h"
#include "ranks_checks.h"
#include "weft_test.h"
#include <weft/dist.h>
#include <weft/distributed.h>

enum {
    N = 1000,      /* points */
    APART = 132,   /* elements for each point: more than 1 MiB in all */
    COLUMNS = 50,  /* of points where ranks divide columns */
    RECORD = 4 + 8 /* the number of an element in its slice, and an i64 or f64 */
};

/* Each `every`-th point has an element that is not its own; each third one joins nothing. */
typedef struct job {
    int every, values;      /* values: accumulations of a launch */
    bool floats, columns;   /* columns: points have two axes, of which ranks divide the second one */
    wf_dist dist, of_array; /* dist: of points */
} job;

static int64_t index_of(const job *j, int64_t x) { return x % j->every ? x : (x * 7919 + 13) % N; }

/* Returns the rank with an index along the last axis. */
static int owner_of(const wf_dist *dist, int64_t at)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    int rank = 0, last = dist->shape.rank - 1;
    for (wf_dist_range(dist, rank, lo, hi); at < lo[last] || at >= hi[last]; wf_dist_range(dist, rank, lo, hi))
        rank++;
    return rank;
}

/* Sums of floats where a rank's points do not follow each other have the number of the point besides. */
static int64_t record_of(const job *j) { return RECORD + (j->floats && j->columns ? 4 : 0); }

/* What a rank sends and receives besides what ranks agree on. */
static traffic expected(const job *j, int rank)
{
    static _Thread_local int64_t records[8][8];
    traffic t = { 0 };
    memset(records, 0, sizeof records);
    for (int64_t x = 0; x < N; x++)
        records[owner_of(&j->dist, j->columns ? x % COLUMNS : x)][owner_of(&j->of_array, index_of(j, x) * APART)] +=
            x % 3 != 0;
    for (int other = 0; other < j->dist.ranks; other++) {
        if (other == rank)
            continue;
        t.messages_out += records[rank][other] > 0;
        t.messages_in += records[other][rank] > 0;
        t.bytes_out += records[rank][other] * record_of(j) * j->values;
        t.bytes_in += records[other][rank] * record_of(j) * j->values;
    }
    return t;
}

static wf_val point(wf_graph *g, const job *j)
{
    return j->columns ? wf_add(wf_mul(wf_index(g, 0), COLUMNS), wf_index(g, 1)) : wf_index(g, 0);
}

/* Accumulates, and sets what this rank has sent and received for it. */
static bool accumulate(wf_context *ctx, const job *j, wf_ranks *ranks, const traffic *count, traffic *out)
{
    const wf_dtype dtype = j->floats ? WF_F64 : WF_I64;
    wf_array *h = wf_empty_distributed(ctx, dtype, ranks, &j->of_array);
    wf_array *at = wf_empty_distributed(ctx, WF_I64, ranks, &j->dist);
    wf_graph *g = wf_begin(ctx, .shape = j->dist.shape);
    wf_val x = point(g, j), far = wf_mod(wf_add(wf_mul(x, 7919), 13), N);
    wf_out(g, at, wf_mul(wf_select(wf_eq(wf_mod(x, j->every), 0), far, x), APART));
    bool ok = wf_run(g) == WF_OK && wf_array_fill(h, 0) == WF_OK;
    for (int turn = 0; turn < 2 && ok; turn++) { /* in the first one, ranks agree on the plan */
        const traffic before = *count;
        g = wf_begin(ctx, .shape = j->dist.shape);
        x = point(g, j);
        for (int k = 0; k < j->values; k++)
            wf_accumulate_if(g, wf_ne(wf_mod(x, 3), 0), WF_JOIN_ADD, h, wf_cast(wf_add(x, k), dtype),
                             wf_add(wf_in(g, at), k));
        ok = wf_run(g) == WF_OK;
        *out = traffic_less(count, &before);
    }
    static _Thread_local union {
        int64_t i64[N * APART];
        double f64[N * APART];
    } all, want;
    wf_array *whole = ok ? wf_array_collect(h) : NULL;
    ok = whole && wf_download(whole, &all, sizeof all) == WF_OK;
    memset(&want, 0, sizeof want);
    for (int64_t i = 0; i < N; i++)
        for (int k = 0; k < j->values; k++)
            want.i64[index_of(j, i) * APART + k] += i % 3 ? 2 * (i + k) : 0;
    for (int64_t i = 0; i < N * APART && j->floats; i++)
        want.f64[i] = (double)want.i64[i];
    ok = ok && !memcmp(&all, &want, sizeof all);
    wf_release(whole);
    wf_release(h);
    wf_release(at);
    return ok;
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user;
    job nothing = *j;
    nothing.every = N + 1; /* all elements but that of point 0, which joins nothing, are own ones */
    const int rank = wf_ranks_rank(ranks), n = wf_ranks_size(ranks);
    traffic count = { 0 }, least, got;
    wf_ranks *counting = NULL;
    CHECK_OK(counted_new(ranks, &count, &counting, NULL));
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    CHECK(ctx);
    bool ok = accumulate(ctx, &nothing, counting, &count, &least) && accumulate(ctx, j, counting, &count, &got);
    if (ok) {
        const traffic all = expected(j, rank), none = expected(&nothing, rank);
        const traffic more = traffic_less(&got, &least), want = traffic_less(&all, &none);
        ok = traffic_same("an accumulation", rank, &more, &want);
        /* counts of the slices of a block, at most 256 in all blocks, and whether ranks go on, twice */
        ok = ok && least.bytes_out - none.bytes_out <= (int64_t)n * (8 * j->values * 256 / n + 16) &&
             least.messages_out - none.messages_out <= 3 * ((int64_t)n - 1);
    }
    wf_context_free(ctx);
    wf_ranks_free(counting);
    return ok ? WF_OK : WF_ERR_CONTRACT;
}

static void records(void **state)
{
    (void)state;
    static const int every[] = { 1, 3, 250 };
    for (int k = 0; k < 8; k++)
        for (int ranks = 2; ranks <= 8; ranks++) {
            wf_ranks_error e = { 0 };
            job j = { .every = every[k % 3], .values = k < 6 ? 1 + k / 3 : 2, .floats = k > 4, .columns = k > 5 };
            const wf_dist_options columns = { .size = sizeof columns, .grid = { 1, ranks } };
            const wf_shape points = j.columns ? WF_SHAPE(N / COLUMNS, COLUMNS) : WF_SHAPE(N);
            assert_int_equal(wf_dist_make(&points, ranks, j.columns ? &columns : NULL, &j.dist), WF_OK);
            assert_int_equal(wf_dist_make(&WF_SHAPE((int64_t)N * APART), ranks, NULL, &j.of_array), WF_OK);
            if (wf_ranks_threads(ranks, on_rank, &j, NULL, &e) != WF_OK)
                fail_msg("%d ranks, every %d: rank %d: %s", ranks, j.every, (int)e.rank, e.text);
        }
}

/* At the points' own places, and one line for each row that a rank has. */
static wf_status own_places(wf_ranks *ranks, void *user)
{
    traffic count = { 0 };
    wf_ranks *counting = NULL;
    wf_dist of_points, of_lines;
    wf_dist_options rows = { .size = sizeof rows, .grid = { wf_ranks_size(ranks), 1 } };
    (void)user;
    CHECK_OK(counted_new(ranks, &count, &counting, NULL));
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    CHECK(ctx);
    CHECK_OK(wf_dist_make(&WF_SHAPE(40, 30), wf_ranks_size(ranks), &rows, &of_points));
    CHECK_OK(wf_dist_make(&WF_SHAPE(40, 5), wf_ranks_size(ranks), &rows, &of_lines));
    wf_array *a = wf_empty_distributed(ctx, WF_F32, counting, &of_points),
             *sums = wf_empty_distributed(ctx, WF_F32, counting, &of_points),
             *bins = wf_empty_distributed(ctx, WF_I32, counting, &of_lines);
    wf_array_fill(a, 2);
    wf_array_fill(sums, 1);
    wf_array_fill(bins, 0);
    traffic before = count;
    for (int turn = 0; turn < 3; turn++) { /* in the first two, ranks agree on the plan */
        before = count;
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40, 30));
        wf_val y = wf_index(g, 0), x = wf_index(g, 1), v = wf_in(g, a);
        wf_accumulate(g, WF_JOIN_ADD, sums, v, y, x);
        wf_accumulate(g, WF_JOIN_ADD, bins, 1, y, wf_mod(wf_cast(v, WF_I64), 5));
        CHECK_OK(wf_run(g));
    }
    const traffic sent = traffic_less(&count, &before), nothing = { 0 };
    const bool ok = traffic_same("own places", wf_ranks_rank(ranks), &sent, &nothing);
    wf_release(a);
    wf_release(sums);
    wf_release(bins);
    wf_context_free(ctx);
    wf_ranks_free(counting);
    return ok ? WF_OK : WF_ERR_CONTRACT;
}

static void own_elements(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks++)
        assert_int_equal(wf_ranks_threads(ranks, own_places, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(records), cmocka_unit_test(own_elements) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
