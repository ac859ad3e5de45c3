/* test_ranks_model.c - the messages and bytes of each rank in a launch with distributed arrays are those of the model of
 * bench/mpi, which knows shapes and grids alone. A group whose transport gives its messages to another group counts them.
 *
 * ctest: threads no_kernels
 */
#include "bench/mpi/model.h"
#include "ranks_checks.h"
#include "weft_test.h"
#include <stdlib.h>

static void compare(const model_case *c, wf_shape shape, int ranks)
{
    wf_dist dist;
    wf_ranks_error e;
    double work;
    traffic *model = calloc((size_t)ranks, sizeof *model), *counted = calloc((size_t)ranks, sizeof *counted);
    assert_non_null(model);
    assert_non_null(counted);
    assert_int_equal(model_dist(c, shape, ranks, &dist), WF_OK);
    assert_int_equal(model_predict(c, &dist, model, &work), WF_OK);
    if (model_count(c, &dist, WF_INTERP, counted, &e) != WF_OK)
        fail_msg("%s on %d ranks: rank %d: %s", c->name, ranks, (int)e.rank, e.text);
    for (int r = 0; r < ranks; r++)
        if (model[r].messages_out != counted[r].messages_out || model[r].bytes_out != counted[r].bytes_out ||
            model[r].messages_in != counted[r].messages_in || model[r].bytes_in != counted[r].bytes_in)
            fail_msg(
                "%s, rank %d of %d: %lld, %lld messages and %lld, %lld bytes out and in; the model has %lld, %lld and "
                "%lld, %lld",
                c->name, r, ranks, (long long)counted[r].messages_out, (long long)counted[r].messages_in,
                (long long)counted[r].bytes_out, (long long)counted[r].bytes_in, (long long)model[r].messages_out,
                (long long)model[r].messages_in, (long long)model[r].bytes_out, (long long)model[r].bytes_in);
    free(model);
    free(counted);
}

static void compare_all(wf_shape shape, int ranks)
{
    for (int i = 0; i < model_case_count; i++)
        compare(&model_cases[i], shape, ranks);
}

static void one_and_two_ranks(void **state)
{
    (void)state;
    compare_all(WF_SHAPE(5, 6, 32), 1);
    compare_all(WF_SHAPE(9, 20, 64), 2);
}

static void eight_ranks(void **state)
{
    (void)state;
    compare_all(WF_SHAPE(16, 24, 64), 8);
    compare_all(WF_SHAPE(19, 7, 96), 8);
    compare_all(WF_SHAPE(3, 40, 64), 8); /* more ranks than slabs */
}

static void odd_numbers_of_ranks(void **state)
{
    (void)state;
    compare_all(WF_SHAPE(10, 11, 64), 5);
    compare_all(WF_SHAPE(27, 28, 96), 27);
}

/* Ranks have many runs of consecutive boxes. */
static void sums_of_long_rows(void **state)
{
    (void)state;
    for (int i = 0; i < model_case_count; i++)
        if (model_cases[i].kind == MODEL_SUM) {
            compare(&model_cases[i], WF_SHAPE(16, 64, 1024), 8);
            compare(&model_cases[i], WF_SHAPE(5, 40, 1500), 6);
        }
}

/* Groups and counters of the group that counts are those of the other one. */
static wf_status check_all(wf_ranks *ranks, void *user)
{
    traffic count = { 0 };
    wf_ranks *counting = NULL;
    wf_ranks_error error;
    (void)user;
    wf_status status = counted_new(ranks, &count, &counting, &error);
    for (const named_check *c = rank_checks; c->name && status == WF_OK; c++)
        status = c->check(counting, NULL);
    wf_ranks_free(counting);
    return status;
}

static void counting_group(void **state)
{
    (void)state;
    wf_ranks_error e = { 0 };
    for (int n = 1; n <= 5; n++)
        if (wf_ranks_threads(n, check_all, NULL, NULL, &e) != WF_OK)
            fail_msg("%d ranks: rank %d: %s", n, (int)e.rank, e.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_and_two_ranks), cmocka_unit_test(eight_ranks),    cmocka_unit_test(odd_numbers_of_ranks),
        cmocka_unit_test(sums_of_long_rows), cmocka_unit_test(counting_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
