/* test_ranks.c - groups of ranks, by threads that run at once and by threads that take turns.
 *
 * ctest: threads no_kernels
 */
#include "ranks_checks.h"
#include "weft_test.h"

static void run(const named_check *c, int n, uint64_t seed)
{
    wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(n, c->check, NULL, &o, &e) != WF_OK)
        fail_msg("%s with %d ranks, seed %d: rank %d: %s", c->name, n, (int)seed, (int)e.rank, e.text);
}

static void at_once(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n += n > 2 && TEST_RACES ? 3 : 1)
        for (const named_check *c = rank_checks; c->name; c++)
            run(c, n, 0);
}

static void in_turns(void **state)
{
    (void)state;
    for (int n = TEST_RACES ? 5 : 1; n <= 9; n += TEST_RACES ? 3 : 1)
        for (const named_check *c = rank_checks; c->name; c++)
            run(c, n, (uint64_t)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(at_once), cmocka_unit_test(in_turns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
