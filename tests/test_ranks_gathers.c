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

enum {
    N = 1000,    /* points */
    HEADER = 16, /* of a message with neighbours' elements */
    BITS = 64,   /* elements of a word of a bitmap */
    WORD = 16    /* bytes that a word of a bitmap takes on the rank that asks */
};

/* Each `every`-th point reads at an index that is not its own, the same one in runs of `run` points. */
typedef struct job {
    int every, run;
    enum {
        ANY,
        WITHIN,
        NEAR
    } bounds; /* of the index in the recording: those of the array; two elements from the point */
    int loads; /* 1, or LOADS: the second reads the array elsewhere, the others another array, one of them in a condition */
    int apart; /* elements from one index to the next one, so the array has so many for each point */
    wf_dist dist, of_array;
} job;
enum { LOADS = 4 };

static int64_t index_of(const job *j, int64_t x) { return x % j->every ? x : (x / j->run * 7919 + 13) % N; }

/* The element that a load reads at a point; -1 = none. */
static int64_t element_of(const job *j, int load, int64_t x)
{
    if (load == 3 && x % 3)
        return -1;
    return (index_of(j, x) + (load ? 7 : 0)) % N * j->apart;
}

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

/* The words and elements by which one rank asks another. */
typedef struct question {
    int64_t words, elements;
} question;

static bool is_dense(const job *j, int rank, int loads)
{
    int64_t lo, hi, bitmaps = 0;
    for (int r = 0; r < j->dist.ranks; r++)
        if (r != rank) {
            wf_dist_range(&j->of_array, r, &lo, &hi);
            bitmaps += ((hi - lo) / BITS + 1) * WORD;
        }
    wf_dist_range(&j->dist, rank, &lo, &hi);
    return bitmaps <= (hi - lo) * loads * (int64_t)sizeof(int64_t);
}

/* What rank `from` asks rank `to` for, of the array of some of the loads. */
static question question_of(const job *j, int from, int to, int first, int loads)
{
    static _Thread_local bool wanted[N];
    int64_t lo, hi, begin, end, all = 0, list = 0, least = INT64_MAX, most = -1;
    wf_dist_range(&j->dist, from, &lo, &hi);
    wf_dist_range(&j->of_array, to, &begin, &end);
    memset(wanted, 0, sizeof wanted);
    for (int load = first; load < first + loads; load++)
        for (int64_t x = lo, last = -1; x < hi; x++) {
            const int64_t at = element_of(j, load, x);
            if (at < begin || at >= end)
                continue;
            list += at != last; /* in a list, equal ones one after the other are asked for once */
            last = at;
            all += !wanted[at / j->apart];
            wanted[at / j->apart] = true;
            least = at - begin < least ? at - begin : least;
            most = at - begin > most ? at - begin : most;
        }
    const int64_t span = all ? most / BITS - least / BITS + 1 : 0;
    if (!is_dense(j, from, loads) && span * WORD > list * (int64_t)sizeof(int64_t))
        return (question){ list, list };
    return (question){ span < all ? span : all, all };
}

/* What a rank sends and receives besides what ranks agree on: numbers of elements, elements, and their messages. */
static traffic expected(const job *j, int rank)
{
    traffic t = { 0 };
    for (int from = 0; from < j->dist.ranks; from++)
        for (int to = 0; to < j->dist.ranks; to++) { /* rank `from` asks rank `to` */
            if (from == to)
                continue;
            const question a = question_of(j, from, to, 0, j->loads == 1 ? 1 : 2);
            const question b = j->loads == 1 ? (question){ 0 } : question_of(j, from, to, 2, 2);
            const int64_t asked = 8 * (a.words + b.words), given = 4 * a.elements + 8 * b.elements;
            t.messages_out += (from == rank || to == rank) && asked;
            t.messages_in += (from == rank || to == rank) && asked;
            t.bytes_out += from == rank ? asked : to == rank ? given : 0;
            t.bytes_in += from == rank ? given : to == rank ? asked : 0;
        }
    return t;
}

/* Records what a job reads of arrays whose element i is 3 i, and i. */
static wf_val read_value(const job *j, wf_graph *g, wf_array *a, wf_array *b, wf_val at, wf_val after)
{
    const wf_val scaled = wf_mul(bounded_value(j, g, at), j->apart), first = wf_read(g, a, scaled);
    if (j->loads == 1)
        return first;
    const wf_val next = wf_mul(after, j->apart);
    wf_var sum = wf_local(g, WF_F64, wf_add(wf_add(first, wf_read(g, a, next)), wf_read(g, b, next)));
    WF_IF (g, wf_eq(wf_mod(wf_index(g, 0), 3), 0)) {
        wf_set(sum, wf_add(sum, wf_read(g, b, next)));
        WF_END(g);
    }
    return wf_cast(sum, WF_F32);
}

static float value_of(const job *j, int64_t x)
{
    int64_t sum = 3 * bounded_index(j, x) * j->apart;
    for (int load = 1; load < j->loads; load++)
        if (element_of(j, load, x) >= 0)
            sum += element_of(j, load, x) * (load == 1 ? 3 : 1);
    return (float)sum;
}

/* Runs the gather of a[i[x]], and sets what this rank has sent and received for it. */
static bool gather(wf_context *ctx, const job *j, wf_ranks *ranks, const traffic *count, traffic *out)
{
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &j->of_array);
    wf_array *b = wf_empty_distributed(ctx, WF_F64, ranks, &j->of_array);
    wf_array *at = wf_empty_distributed(ctx, WF_I64, ranks, &j->dist);
    wf_array *after = wf_empty_distributed(ctx, WF_I64, ranks, &j->dist);
    wf_array *got = wf_empty_distributed(ctx, WF_F32, ranks, &j->dist);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val x = wf_index(g, 0), far = wf_mod(wf_add(wf_mul(wf_idiv(x, j->run), 7919), 13), N);
    const wf_val index = wf_select(wf_eq(wf_mod(x, j->every), 0), far, x);
    wf_out(g, at, index);
    wf_out(g, after, wf_mod(wf_add(index, 7), N));
    bool ok = wf_run(g) == WF_OK;
    for (int turn = 0; turn < 2 && ok; turn++) { /* in the first one, ranks agree on the plan */
        g = wf_begin(ctx, .shape = WF_SHAPE(j->of_array.shape.dim[0]));
        wf_out(g, a, wf_cast(wf_mul(wf_index(g, 0), 3), WF_F32));
        wf_out(g, b, wf_cast(wf_index(g, 0), WF_F64));
        ok = wf_run(g) == WF_OK;
        const traffic before = *count;
        g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_out(g, got, read_value(j, g, a, b, wf_in(g, at), wf_in(g, after)));
        ok = ok && wf_run(g) == WF_OK;
        *out = traffic_less(count, &before);
    }
    float all[N];
    wf_array *whole = ok ? wf_array_collect(got) : NULL;
    ok = whole && wf_download(whole, all, sizeof all) == WF_OK;
    for (int64_t k = 0; k < N && ok; k++)
        ok = all[k] == value_of(j, k);
    wf_release(whole);
    wf_release(a);
    wf_release(b);
    wf_release(at);
    wf_release(after);
    wf_release(got);
    return ok;
}

/* True if a rank has got two elements of each neighbour. */
static bool is_near(int rank, int ranks, const traffic *got)
{
    const int neighbours = (rank > 0) + (rank + 1 < ranks);
    traffic want = *got;
    want.messages_in = neighbours;
    want.bytes_in = neighbours * (HEADER + 2 * (int64_t)sizeof(float));
    return traffic_same("neighbours", rank, got, &want);
}

/* True if a rank has sent and received what a gather needs. least: traffic of the job `nothing`, which reads own elements. */
static bool is_gathered(int rank, int ranks, const job *j, const traffic *got, const job *nothing, const traffic *least)
{
    const traffic all = expected(j, rank), none = expected(nothing, rank);
    const traffic more = traffic_less(got, least), want = traffic_less(&all, &none);
    const bool ok = traffic_same("a gather", rank, &more, &want);
    const int64_t counts = 24 * (j->loads == 1 ? 1 : 2); /* of each array, and whether ranks go on, twice */
    return ok && least->bytes_out - none.bytes_out <= (counts + 16) * ranks &&
           least->messages_out - none.messages_out <= 3 * ((int64_t)ranks - 1);
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user;
    job nothing = *j;
    nothing.every = N + 1;
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
    j.loads = j.loads ? j.loads : 1;
    j.apart = j.apart ? j.apart : 1;
    assert_int_equal(wf_dist_make(&WF_SHAPE(N), ranks, NULL, &j.dist), WF_OK);
    assert_int_equal(wf_dist_make(&WF_SHAPE((int64_t)N * j.apart), ranks, NULL, &j.of_array), WF_OK);
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

/* Loads that depend on no other one exchange at once, and ask for an element that several of them read once. */
static void several_loads(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks++)
        for (int every = 1; every <= 50; every += 49)
            on_ranks(ranks, (job){ .every = every, .run = 1, .loads = LOADS });
}

/* Elements that are far apart are asked for by a list, and those of a block that are near each other by a bitmap of that part. */
static void lists(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks += 3) {
        on_ranks(ranks, (job){ .every = 1, .run = 2, .apart = 50 });
        on_ranks(ranks, (job){ .every = 2, .run = 3, .apart = 50 });
    }
    on_ranks(8, (job){ .every = 100, .run = 1, .loads = LOADS, .apart = 10 });
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

/* Positions that take more than 32 bits, in an array of which little is ever touched. */
static wf_status read_far(wf_ranks *ranks, void *user)
{
    const int64_t past = ((int64_t)1 << 31) + N;
    wf_dist far, near;
    (void)user;
    CHECK_OK(wf_dist_make(&WF_SHAPE(past), wf_ranks_size(ranks), NULL, &far));
    CHECK_OK(wf_dist_make(&WF_SHAPE(N), wf_ranks_size(ranks), NULL, &near));
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    CHECK(ctx);
    wf_array *a = wf_empty_distributed(ctx, WF_U8, ranks, &far), *at = wf_empty_distributed(ctx, WF_I64, ranks, &near);
    wf_array *got = wf_empty_distributed(ctx, WF_U8, ranks, &near);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_out(g, at, wf_sub((double)(past - 1), wf_index(g, 0)));
    CHECK_OK(wf_run(g));
    uint8_t all[N];
    for (int k = 0; k < N; k++)
        all[k] = (uint8_t)(k % 251);
    wf_array *block = wf_array_block(a), *last = wf_view_slice(block, 0, -N, WF_END_INDEX, 1);
    CHECK_OK(wf_upload(last, all, sizeof all)); /* the last elements of each block */
    wf_release(last);
    CHECK_OK(wf_array_block_end(a, block));
    g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_out(g, got, wf_read(g, a, wf_in(g, at)));
    CHECK_OK(wf_run(g));
    wf_array *whole = wf_array_collect(got);
    bool ok = whole && wf_download(whole, all, sizeof all) == WF_OK;
    for (int64_t k = 0; k < N && ok; k++)
        ok = all[k] == (N - 1 - k) % 251;
    wf_release(whole);
    wf_release(a);
    wf_release(at);
    wf_release(got);
    wf_context_free(ctx);
    return ok ? WF_OK : WF_ERR_CONTRACT;
}

static void far_positions(void **state)
{
    (void)state;
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(2, read_far, NULL, NULL, &e) != WF_OK)
        fail_msg("rank %d: %s", (int)e.rank, e.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gathers), cmocka_unit_test(several_loads),
                                        cmocka_unit_test(lists), cmocka_unit_test(bounded),
                                        cmocka_unit_test(far_positions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
