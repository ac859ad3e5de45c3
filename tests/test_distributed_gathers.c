/* test_distributed_gathers.c - memory that fails on one rank of a gather from other ranks, or of an accumulation into elements of
 * other ranks: where the others wait for it, all ranks get the error. None waits for ever, and the next launch is right.
 *
 * ctest: threads no_kernels
 */
#include "base/base.h"
#include "weft/distributed.h"
#include "weft_test.h"

enum { N = 60, RANKS = 3, LARGE = (1 << 17) + 1, APART = 2000 }; /* LARGE elements take more than 1 MiB */
#ifdef WEFT_DEBUG_CHECKS
enum { FAILS = 1 };
#else /* allocations cannot be made to fail */
enum { FAILS = 0 };
#endif

typedef struct failing {
    bool joins; /* an accumulation, not a gather */
    int rank;   /* whose memory fails */
    int launch; /* 0: the first launch of the recording; 1: one that the ranks have agreed on */
    long after; /* allocation of this launch */
    bool happened;
    wf_status status[RANKS], next[RANKS]; /* of this launch, and of the one after it */
    char text[RANKS][300];
    bool right; /* of the results of the last launch */
} failing;

/* out[i] = a[N - 1 - i] + a[i / 2], at indices from memory */
static wf_status gather(wf_context *ctx, wf_array *a, wf_array *back, wf_array *half, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_out(g, out, wf_add(wf_read(g, a, wf_in(g, back)), wf_read(g, a, wf_in(g, half))));
    return wf_run(g);
}

/* large[APART * back[i]] = max(large[APART * back[i]], i) */
static wf_status accumulate(wf_context *ctx, wf_array *back, wf_array *large)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_accumulate(g, WF_JOIN_MAX, large, wf_index(g, 0), wf_mul(wf_in(g, back), APART));
    return wf_run(g);
}

static wf_status launch(const failing *f, wf_context *ctx, wf_array **a)
{
    return f->joins ? accumulate(ctx, a[1], a[4]) : gather(ctx, a[0], a[1], a[2], a[3]);
}

static void fill(wf_context *ctx, wf_array *a, int kind)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    wf_out(g, a, kind == 0 ? wf_mul(i, 10) : kind == 1 ? wf_sub(N - 1, i) : wf_idiv(i, 2));
    wf_run(g);
}

static bool is_right(const wf_array *out)
{
    int32_t got[N];
    wf_array *all = wf_array_collect(out);
    bool right = all && wf_download(all, got, sizeof got) == WF_OK;
    for (int i = 0; i < N && right; ++i)
        right = got[i] == 10 * (N - 1 - i) + 10 * (i / 2);
    wf_release(all);
    return right;
}

static bool is_joined(const wf_array *large)
{
    static _Thread_local int64_t got[LARGE];
    wf_array *all = wf_array_collect(large);
    bool right = all && wf_download(all, got, sizeof got) == WF_OK;
    for (int i = 0; i < LARGE && right; ++i)
        right = got[i] == (i % APART || i >= N * APART ? -1 : N - 1 - i / APART);
    wf_release(all);
    return right;
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    failing *f = user;
    const int me = wf_ranks_rank(ranks);
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist, of_large;
    wf_array *a[5];
    wf_dist_make(&WF_SHAPE(N), RANKS, NULL, &dist);
    wf_dist_make(&WF_SHAPE(LARGE), RANKS, NULL, &of_large);
    for (int k = 0; k < 5; ++k)
        a[k] = wf_empty_distributed(ctx, k < 4 ? WF_I32 : WF_I64, ranks, k < 4 ? &dist : &of_large);
    if (f->joins)
        wf_array_fill(a[4], -1);
    for (int k = 0; k < 3; ++k)
        fill(ctx, a[k], k);
    for (int k = 0; k < f->launch; ++k)
        launch(f, ctx, a);
    if (me == f->rank)
        wf__alloc_fail_after(f->after);
    f->status[me] = launch(f, ctx, a);
    if (me == f->rank) {
        f->happened = true;
        for (int i = 0; i < 100000 && f->happened; ++i)
            f->happened = !wf__alloc_fails();
        wf__alloc_fail_after(-1);
    }
    snprintf(f->text[me], sizeof f->text[me], "%.290s", wf_last_message(ctx));
    wf_clear_error(ctx);
    f->next[me] = launch(f, ctx, a);
    const bool right = f->next[me] == WF_OK && (f->joins ? is_joined(a[4]) : is_right(a[3]));
    if (me == 0)
        f->right = right;
    for (int k = 0; k < 5; ++k)
        wf_release(a[k]);
    wf_context_free(ctx);
    return WF_OK;
}

/* A rank without memory to record or for messages ends the group, which its message says. */
static bool has_ended(const failing *f)
{
    bool ended = false;
    for (int r = 0; r < RANKS; ++r)
        ended = ended || (f->status[r] == WF_ERR_BACKEND && strstr(f->text[r], "memory"));
    return ended;
}

static void fail_each(bool joins)
{
    int told = 0;
    for (int k = 0; k < 2 * RANKS; ++k) {
        const int me = k / 2;
        failing f = { .joins = joins, .rank = me, .launch = k % 2, .happened = true };
        for (; f.happened && (FAILS || !f.after); f.after += TEST_EVERY) {
            wf_ranks_threads_options o = { .size = sizeof o, .seed = 1 + (uint64_t)f.after };
            wf_ranks_threads(RANKS, on_rank, &f, &o, NULL);
            bool all_fail = true, known = true; /* known: as failures of memory, or not at all */
            for (int r = 0; r < RANKS; ++r) {
                all_fail = all_fail && f.status[r] == WF_ERR_MEMORY;
                known = known && (f.status[r] == WF_ERR_MEMORY || f.status[r] == WF_OK);
            }
            const bool within = strstr(f.text[me], "other ranks"); /* ranks wait for each other then */
            if (!has_ended(&f) && !(known && f.right && (all_fail || !within)))
                fail_msg("rank %d, launch %d, allocation %ld: %s, %s, %s, next %s: %s | %s | %s", me, f.launch, f.after,
                         wf_status_name(f.status[0]), wf_status_name(f.status[1]), wf_status_name(f.status[2]),
                         f.right ? "right" : "wrong", f.text[0], f.text[1], f.text[2]);
            told += within && !has_ended(&f);
        }
    }
    assert_true(told >= FAILS * RANKS * 10 / TEST_EVERY);
}

static void gathers(void **state)
{
    (void)state;
    fail_each(false);
}

static void accumulations(void **state)
{
    (void)state;
    fail_each(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gathers), cmocka_unit_test(accumulations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
