/* test_ranks_random.c - random programs of messages and collective functions (ranks_random.h), run by threads in random
 * orders and by threads at once, against their model. With a rank that is lost on the way, they end with an error, and do
 * not hang.
 *
 * WEFT_RANDOM_RANKS=COUNT[,FIRST]: this many programs, from this one on.
 *
 * ctest: threads no_kernels
 */
#include "ranks_random.h"
#include "weft_test.h"

static uint64_t first = 1, count = 1000 / TEST_EVERY;

static void right(void **state)
{
    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        random_ranks p;
        random_ranks_make(&p, seed, 0);
        wf_ranks_threads_options o = { .size = sizeof o, .seed = seed % 4 ? seed : 0 };
        wf_ranks_error e;
        if (wf_ranks_threads(p.n, random_ranks_run, &p, &o, &e) != WF_OK)
            fail_msg("program %llu: rank %d: %s", (unsigned long long)seed, (int)e.rank, e.text);
    }
}

static void lost(void **state)
{
    (void)state;
    uint64_t random = first, failures = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        random_ranks p;
        random_ranks_make(&p, seed, 0);
        wf_ranks_threads_options o = { .size = sizeof o,
                                       .seed = seed % 4 ? seed : 0,
                                       .lost_rank = (int)random_ranks_draw(&random, (uint64_t)p.n),
                                       .lost_after = 1 + (uint32_t)random_ranks_draw(&random, 60) };
        wf_ranks_error e;
        wf_status status = wf_ranks_threads(p.n, random_ranks_run, &p, &o, &e);
        if (status != WF_OK && status != WF_ERR_BACKEND)
            fail_msg("program %llu: rank %d: %s: %s", (unsigned long long)seed, (int)e.rank, wf_status_name(status),
                     e.text);
        failures += status == WF_ERR_BACKEND;
    }
    assert_true(failures > count / 2);
}

static wf_status note_turns(wf_ranks *ranks, void *user)
{
    wf_counter *counter;
    int64_t *order = user, before = 0;
    wf_status status = wf_counter_new(ranks, &counter);
    if (status)
        return status;
    for (int i = 0; i < 10 && !wf_counter_add(counter, 1, &before); i++)
        order[before] = wf_ranks_rank(ranks);
    wf_counter_free(counter);
    return WF_OK;
}

/* A seed gives the same order each time, and another seed another one. */
static void order_by_seed(void **state)
{
    (void)state;
    int64_t order[2][40];
    int different = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t *mine = order[seed % 2], again[40];
        wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
        assert_int_equal(wf_ranks_threads(4, note_turns, mine, &o, NULL), WF_OK);
        assert_int_equal(wf_ranks_threads(4, note_turns, again, &o, NULL), WF_OK);
        assert_memory_equal(mine, again, sizeof again);
        different += seed > 1 && memcmp(order[0], order[1], sizeof again) != 0;
    }
    assert_int_equal(different, 19);
}

int main(void)
{
    const char *given = getenv("WEFT_RANDOM_RANKS");
    if (given) {
        char *rest;
        count = strtoull(given, &rest, 10);
        first = *rest == ',' ? strtoull(rest + 1, NULL, 10) : 1;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(right), cmocka_unit_test(lost),
                                        cmocka_unit_test(order_by_seed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
