/* test_distributed.c - recordings of distributed arrays: any number of ranks and any grid give the bits of one process
 * that has all elements. Ranks are threads, each with a context of its own.
 *
 * ctest: threads
 */
#include "distributed_cases.h"
#include "weft_test.h"

static void check(int ranks, int threads, uint64_t seed, int cut)
{
    for (const distributed_case *c = distributed_cases; c->name; ++c) {
        distributed_run run = { .it = c, .threads = threads, .cut = cut };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
        wf_status status = wf_ranks_threads(ranks, distributed_on_rank, &run, &o, &e);
        distributed_end(&run);
        if (status != WF_OK)
            fail_msg("%s on %d ranks, %d threads, cut %d: rank %d: %s", c->name, ranks, threads, cut, (int)e.rank,
                     e.text);
    }
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 3, 4, 6, 8 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i)
        check(ranks[i], 1, 0, 0);
}

static void other_grids(void **state)
{
    (void)state;
    for (int cut = 1; cut <= 3; ++cut)
        check(4, 1, 0, cut);
}

static void several_threads(void **state)
{
    (void)state;
    check(2, 2, 0, 0);
}

static void in_turns(void **state)
{
    (void)state;
    check(3, 1, 77, 0);
}

static void random_recordings(void **state)
{
    (void)state;
    const char *count = getenv("WEFT_TEST_ROUNDS");
    long rounds = count ? atol(count) : 60;
    for (long k = 1; k <= rounds; k += TEST_EVERY) {
        distributed_run run = { .it = &distributed_random,
                                .threads = 1 + (int)(k % 2),
                                .cut = (int)(k % 4),
                                .seed = (uint64_t)k,
                                .device = k % 3 ? WF_INTERP : WF_CPU };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        wf_status status = wf_ranks_threads(1 + (int)(k % 5), distributed_on_rank, &run, NULL, &e);
        distributed_end(&run);
        if (status != WF_OK)
            fail_msg("seed %ld: rank %d: %s", k, (int)e.rank, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks), cmocka_unit_test(other_grids),
        cmocka_unit_test(several_threads),     cmocka_unit_test(in_turns),
        cmocka_unit_test(random_recordings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
