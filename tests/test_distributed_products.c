/* test_distributed_products.c - products of distributed arrays of matrices have the bits of one process, for any number of
 * ranks and any grid, and are distributed by the rule for results. Ranks are threads, each with a context of its own.
 *
 * ctest: threads first_tier
 */
#include "distributed_world.h"
#include "weft/functions.h"
#include "weft_test.h"
#include <stdlib.h>

static wf_array *matrix(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed, bool whole)
{
    return whole ? world_whole(w, dtype, shape, seed) : world_filled(w, dtype, shape, seed);
}

/* Multiplies arrays of which both, the first, or the second one are distributed; the results of the first two cases must be. */
static void multiply(distributed_world *w, wf_dtype dtype, wf_shape a, wf_shape b)
{
    for (int k = 0; k < 3; ++k) {
        wf_array *x = matrix(w, dtype, a, 3, k == 2), *y = matrix(w, dtype, b, 4, k == 1);
        world_result(w, world_divided(w, wf_array_matmul(x, y)));
        wf_release(x);
        wf_release(y);
    }
}

static void matrices(distributed_world *w)
{
    multiply(w, WF_F32, WF_SHAPE(13, 17), WF_SHAPE(17, 70));
    multiply(w, WF_F64, WF_SHAPE(40, 9), WF_SHAPE(9, 5));
    multiply(w, WF_I32, WF_SHAPE(11, 6), WF_SHAPE(6, 12));
    multiply(w, WF_F16, WF_SHAPE(7, 8), WF_SHAPE(8, 7));
}

static void batches(distributed_world *w)
{
    multiply(w, WF_F32, WF_SHAPE(5, 6, 7), WF_SHAPE(5, 7, 9));
    multiply(w, WF_F32, WF_SHAPE(6, 7), WF_SHAPE(5, 7, 9));
    multiply(w, WF_F64, WF_SHAPE(1, 6, 7), WF_SHAPE(4, 7, 9));
    multiply(w, WF_F32, WF_SHAPE(3, 1, 6, 4), WF_SHAPE(1, 5, 4, 8));
}

/* Blocks of one row or one column add up as the whole product does. Some ranks have no block. */
static void few_rows(distributed_world *w)
{
    multiply(w, WF_F32, WF_SHAPE(4, 300), WF_SHAPE(300, 3));
    multiply(w, WF_F32, WF_SHAPE(2, 31), WF_SHAPE(31, 2));
    multiply(w, WF_F32, WF_SHAPE(3, 1), WF_SHAPE(1, 8));
}

static void nothing(distributed_world *w)
{
    multiply(w, WF_F32, WF_SHAPE(4, 0), WF_SHAPE(0, 3));
    multiply(w, WF_F32, WF_SHAPE(0, 5), WF_SHAPE(5, 3));
}

static void vectors(distributed_world *w)
{
    static const wf_shape shapes[][2] = {
        { { .rank = 2, .dim = { 30, 50 } }, { .rank = 2, .dim = { 50, 1 } } },
        { { .rank = 2, .dim = { 1, 50 } }, { .rank = 2, .dim = { 50, 30 } } },
        { { .rank = 2, .dim = { 1, 300 } }, { .rank = 2, .dim = { 300, 1 } } },
        { { .rank = 3, .dim = { 4, 6, 20 } }, { .rank = 3, .dim = { 4, 20, 1 } } },
        { { .rank = 2, .dim = { 6, 20 } }, { .rank = 3, .dim = { 4, 20, 1 } } },
        { { .rank = 3, .dim = { 4, 1, 20 } }, { .rank = 2, .dim = { 20, 6 } } },
    };
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_I16 };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int k = 0; k < 3; ++k) {
            wf_array *x = matrix(w, dtypes[i % 3], shapes[i][0], 5, k == 2),
                     *y = matrix(w, dtypes[i % 3], shapes[i][1], 6, k == 1);
            world_result(w, wf_array_matmul(x, y));
            wf_release(x);
            wf_release(y);
        }
}

/* Rows that ranks divide, by a vector that they divide, too. */
static void divided_rows(distributed_world *w)
{
    wf_array *a = world_filled_along(w, WF_F32, WF_SHAPE(40, 25), 7, WF_AXES(1)),
             *x = world_filled_along(w, WF_F32, WF_SHAPE(25, 1), 8, WF_AXES(1)),
             *b = world_filled_along(w, WF_F32, WF_SHAPE(25, 30), 9, WF_AXES(0)), *c = wf_array_matmul(a, b);
    const wf_dist *dist = wf_array_dist(c);
    if (w->ranks && w->status == WF_OK && (!dist || wf_dist_divides(dist, 1))) {
        w->status = WF_ERR_CONTRACT;
        snprintf(w->text, sizeof w->text, "the product is not divided as the rows of the first matrix");
    }
    world_result(w, c);
    world_result(w, world_divided(w, wf_array_matmul(a, x)));
    wf_release(a);
    wf_release(b);
    wf_release(x);
}

static void complex_numbers(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(9, 12), 10), *b = world_filled(w, WF_F32, WF_SHAPE(12, 8), 11);
    wf_array *p = wf_array_cast(a, WF_C64), *q = wf_array_cast(b, WF_C64);
    world_result(w, world_divided(w, wf_array_matmul(p, q)));
    world_result(w, world_divided(w, wf_array_matmul(a, q))); /* of two dtypes */
    world_result(w, wf_array_dot(p, p, WF_AXES(1)));
    world_result(w, wf_array_dot(a, a, WF_ALL_AXES | WF_DROP_AXES));
    wf_array *all[] = { a, b, p, q };
    for (int k = 0; k < 4; ++k)
        wf_release(all[k]);
}

/* What has been fetched for one product is not taken for the next one, after the array was written. */
static void written_between(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(12, 12), 12);
    for (int k = 0; k < 3; ++k) {
        wf_array *c = wf_array_matmul(a, a);
        wf_graph *g = wf_begin(w->ctx);
        wf_out(g, a, wf_add(wf_mul(wf_in(g, c), 0.01), wf_in(g, a)));
        world_run(w, g);
        world_result(w, c);
        world_spoil(w, a);
    }
    world_result(w, a);
}

static const distributed_case cases[] = {
    { "matrices", matrices },
    { "batches", batches },
    { "few rows", few_rows },
    { "nothing", nothing },
    { "vectors", vectors },
    { "divided rows", divided_rows },
    { "complex numbers", complex_numbers },
    { "written between", written_between },
};

enum { CASES = sizeof cases / sizeof *cases };

static void ranks_and_grids(void **state)
{
    (void)state;
    distributed_check_cuts(cases, CASES);
}

static void compiled_code(void **state)
{
    (void)state;
    distributed_check(cases, CASES, 4, 1, 3, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(cases, CASES, 3, 2, 0, WF_CPU, WF__FENCE_BEHIND);
}

/* ---- refusals ---- */
static wf_status refuse(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(12, 5), wf_ranks_size(ranks), NULL, &dist);
    wf_array *x = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
    wf_array_fill(x, 1);
    bool right = !wf_array_matmul(x, x) && wf_last_status(ctx) == WF_ERR_SHAPE;
    wf_clear_error(ctx);
    const wf_shape most = { .rank = WF_MAX_RANK, .dim = { 1, 1, 1, 1, 1, 1, 4, 4 } };
    wf_dist_options o = { .size = sizeof o, .grid = { 1, 1, 1, 1, 1, 1, 1, wf_ranks_size(ranks) } };
    wf_dist_make(&most, wf_ranks_size(ranks), &o, &dist);
    wf_array *deep = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
    wf_array_fill(deep, 1);
    right = right && !wf_array_matmul(deep, deep) && wf_last_status(ctx) == WF_ERR_UNSUPPORTED &&
            strstr(wf_last_message(ctx), "8 axes");
    if (!right)
        fprintf(stderr, "%s: %s\n", wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
    wf_release(x);
    wf_release(deep);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void refusals(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    setenv("WEFT_BLAS", "none", 1); /* a BLAS may add in another order in blocks */
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_and_grids), cmocka_unit_test(compiled_code),
                                        cmocka_unit_test(refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
