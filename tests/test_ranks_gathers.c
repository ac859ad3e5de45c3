/* test_ranks_gathers.c - a launch that reads at indices from memory gets the elements that other ranks have, and nothing
 * else: a group that counts messages is compared with the indices, one by one.
 *
 * ctest: threads no_kernels
 */
#include "bench/mpi/counted.h"
#include "ranks_checks.h"
#include "weft_test.h"
#include <weft/dist.h>
#include <weft/distributed.h>

enum { N = 1000, HEADER = 16 }; /* of a message with neighbours' elements */

/* Each `every`-th point reads at an index that is not its own, the same one in runs of `run` points. */
typedef struct job {
    int every, run;
    enum {
        ANY,
        WITHIN,
        NEAR
    } bounds; /* of the index in the recording: those of the array; two elements from the point */
    wf_dist dist;
} job;

static int64_t index_of(const job *j, int64_t x) { return x % j->every ? x : (x / j->run * 7919 + 13) % N; }

/* The index that the recording makes of this one. */
static int64_t bounded_index(const job *j, int64_t x)
{
    const int64_t far = index_of(j, x) - x;
    return j->bounds != NEAR ? x + far : x + (far < -2 ? -2 : far > 2 ? 2 : far);
}
static wf_val bounded_value(const job *j, wf_graph *g, wf_val at)
{
    const wf_val x = wf_index(g, 0);
    return j->bounds == NEAR ? wf_add(x, wf_clamp(wf_sub(at, x), -2, 2)) : j->bounds == WITHIN ? wf_mod(at, N) : at;
}

/* What a rank sends and receives besides what ranks agree on: positions, elements and their messages. */
static traffic expected(const job *j, int rank)
{
    traffic t = { 0 };
    for (int from = 0; from < j->dist.ranks; from++)
        for (int to = 0; to < j->dist.ranks; to++) { /* rank `from` asks rank `to` */
            int64_t lo, hi, n = 0, last = -1;
            wf_dist_range(&j->dist, from, &lo, &hi);
            for (int64_t x = lo; x < hi; x++) {
                const int64_t at = index_of(j, x);
                if (from == to || wf_dist_owner(&j->dist, &at) != to)
                    continue;
                n += at != last; /* equal ones one after the other are asked for once */
                last = at;
            }
            const int64_t asked = 8 * n, given = 4 * n;
            t.messages_out += (from == rank || to == rank) && n;
            t.messages_in += (from == rank || to == rank) && n;
            t.bytes_out += from == rank ? asked : to == rank ? given : 0;
            t.bytes_in += from == rank ? given : to == rank ? asked : 0;
        }
    return t;
}

/* Runs the gather of a[i[x]], and sets what this rank has sent and received for it. */
static bool gather(wf_context *ctx, const job *j, wf_ranks *ranks, const traffic *count, traffic *out)
{
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &j->dist);
    wf_array *at = wf_empty_distributed(ctx, WF_I64, ranks, &j->dist);
    wf_array *got = wf_empty_distributed(ctx, WF_F32, ranks, &j->dist);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val x = wf_index(g, 0), far = wf_mod(wf_add(wf_mul(wf_idiv(x, j->run), 7919), 13), N);
    wf_out(g, at, wf_select(wf_eq(wf_mod(x, j->every), 0), far, x));
    bool ok = wf_run(g) == WF_OK;
    for (int turn = 0; turn < 2 && ok; turn++) { /* in the first one, ranks agree on the plan */
        g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_out(g, a, wf_cast(wf_mul(wf_index(g, 0), 3), WF_F32));
        ok = wf_run(g) == WF_OK;
        const traffic before = *count;
        g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_out(g, got, wf_read(g, a, bounded_value(j, g, wf_in(g, at))));
        ok = ok && wf_run(g) == WF_OK;
        *out = (traffic){ count->messages_out - before.messages_out, count->bytes_out - before.bytes_out,
                          count->messages_in - before.messages_in, count->bytes_in - before.bytes_in };
    }
    float all[N];
    wf_array *whole = ok ? wf_array_collect(got) : NULL;
    ok = whole && wf_download(whole, all, sizeof all) == WF_OK;
    for (int64_t k = 0; k < N && ok; k++)
        ok = all[k] == (float)(3 * bounded_index(j, k));
    wf_release(whole);
    wf_release(a);
    wf_release(at);
    wf_release(got);
    return ok;
}

static bool same(const char *what, int rank, int64_t got, int64_t want)
{
    if (got != want)
        fprintf(stderr, "%s: rank %d: %lld, expected %lld\n", what, rank, (long long)got, (long long)want);
    return got == want;
}

/* True if a rank has got two elements of each neighbour. */
static bool is_near(int rank, int ranks, const traffic *got)
{
    const int neighbours = (rank > 0) + (rank + 1 < ranks);
    return same("messages in", rank, got->messages_in, neighbours) &&
           same("bytes in", rank, got->bytes_in, neighbours * (HEADER + 2 * (int64_t)sizeof(float)));
}

/* True if a rank has sent and received what a gather needs. least: traffic of the job `nothing`, which reads own elements. */
static bool is_gathered(int rank, int ranks, const job *j, const traffic *got, const job *nothing, const traffic *least)
{
    const traffic more = expected(j, rank), none = expected(nothing, rank);
    bool ok =
        same("messages out", rank, got->messages_out - least->messages_out, more.messages_out - none.messages_out);
    ok = same("bytes out", rank, got->bytes_out - least->bytes_out, more.bytes_out - none.bytes_out) && ok;
    ok = same("messages in", rank, got->messages_in - least->messages_in, more.messages_in - none.messages_in) && ok;
    ok = same("bytes in", rank, got->bytes_in - least->bytes_in, more.bytes_in - none.bytes_in) && ok;
    return ok && least->bytes_out - none.bytes_out <= 40 * ranks; /* counts, and whether ranks go on */
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user, nothing = { .every = N + 1, .run = 1, .bounds = j->bounds, .dist = j->dist };
    const int rank = wf_ranks_rank(ranks), n = wf_ranks_size(ranks);
    traffic count = { 0 }, least, got;
    wf_ranks *counting = NULL;
    CHECK_OK(counted_new(ranks, &count, &counting, NULL));
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    CHECK(ctx);
    bool ok = gather(ctx, &nothing, counting, &count, &least) && gather(ctx, j, counting, &count, &got);
    ok = ok && (j->bounds == NEAR ? is_near(rank, n, &got) : is_gathered(rank, n, j, &got, &nothing, &least));
    wf_context_free(ctx);
    wf_ranks_free(counting);
    return ok ? WF_OK : WF_ERR_CONTRACT;
}

static void on_ranks(int ranks, job j)
{
    wf_ranks_error e = { 0 };
    assert_int_equal(wf_dist_make(&WF_SHAPE(N), ranks, NULL, &j.dist), WF_OK);
    if (wf_ranks_threads(ranks, on_rank, &j, NULL, &e) != WF_OK)
        fail_msg("%d ranks, every %d: rank %d: %s", ranks, j.every, (int)e.rank, e.text);
}

static void gathers(void **state)
{
    (void)state;
    static const int every[] = { 1, 3, 250 };
    for (size_t k = 0; k < sizeof every / sizeof *every; k++)
        for (int ranks = 2; ranks <= 8; ranks++)
            on_ranks(ranks, (job){ .every = every[k], .run = 1 + (int)k * 4 });
}

/* Indices with bounds: elements near the point are fetched as those of other neighbours. Of four ranks, each would need more
 * memory for the array than for 12 bytes of each of its points. */
static void bounded(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks += 2)
        on_ranks(ranks, (job){ .every = 3, .run = 1, .bounds = NEAR });
    for (int ranks = 4; ranks <= 8; ranks += 2)
        on_ranks(ranks, (job){ .every = 3, .run = 1, .bounds = WITHIN });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gathers), cmocka_unit_test(bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
