/* test_distributed_scatters.c - stores to distributed arrays at any index have the results of one process, for any number of
 * ranks and any grid. Ranks are threads, each with a context of its own.
 *
 * ctest: threads first_tier
 */
#include "distributed_world.h"
#include "weft/functions.h"
#include "weft_test.h"

enum { N = 6007, POINTS = 4000, ROWS = 37, COLUMNS = 41 }; /* primes but for POINTS */

/* Numbers from 0 to n - 1, all of them different, in memory. n: a prime of at least the points. */
static wf_array *permutation(distributed_world *w, int64_t points, int64_t n, int64_t step, bool distributed)
{
    wf_array *at = distributed ? world_empty(w, WF_I64, WF_SHAPE(points)) : wf_empty(w->ctx, WF_I64, WF_SHAPE(points));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(points));
    wf_out(g, at, wf_mod(wf_mul(wf_index(g, 0), (double)step), (double)n));
    world_run(w, g);
    return at;
}

static void dtypes(distributed_world *w)
{
    static const wf_dtype types[] = { WF_BOOL, WF_U8, WF_I16, WF_BF16, WF_F32, WF_F64, WF_C64, WF_C128 };
    for (size_t k = 0; k < WF__COUNT(types); ++k) {
        wf_array *a = world_filled(w, types[k], WF_SHAPE(N), 3), *x = world_filled(w, types[k], WF_SHAPE(POINTS), 4);
        wf_array *at = permutation(w, POINTS, N, 1009 + (int64_t)k, k % 2);
        for (int turn = 0; turn < 2; ++turn) {
            wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
            wf_val i = wf_in(g, at);
            wf_write(g, a, wf_in(g, x), turn ? wf_sub(N - 1, i) : i);
            world_run(w, g);
        }
        wf_release(at);
        wf_release(x);
        world_result(w, a);
    }
}

/* Along some of the axes, in another order of axes, and with points that have several values. */
static void axes(distributed_world *w)
{
    wf_array *x = world_filled(w, WF_F32, WF_SHAPE(ROWS, COLUMNS), 5);
    for (int k = 0; k < 6; ++k) {
        wf_array *row = permutation(w, ROWS, ROWS, 11, k % 2), *column = permutation(w, COLUMNS, COLUMNS, 17, k % 3);
        wf_array *a = world_filled(w, WF_F32, k < 4 ? WF_SHAPE(ROWS, COLUMNS) : WF_SHAPE(COLUMNS, ROWS, 2), 6);
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(ROWS, COLUMNS));
        wf_val y = wf_index(g, 0), z = wf_index(g, 1), v = wf_in(g, x);
        wf_val i = wf_read(g, row, y), j = wf_read(g, column, z);
        if (k < 4)
            wf_write(g, a, v, k % 2 ? i : y, k / 2 ? j : z);
        else
            wf_write(g, a, v, j, i, k % 2);
        world_run(w, g);
        wf_release(row);
        wf_release(column);
        world_result(w, a);
    }
    wf_release(x);
}

/* In conditions, beside other results, of values that are gathered, and of an array that the points read before. */
static void conditions(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(N), 7), *b = world_filled(w, WF_I32, WF_SHAPE(N), 8);
    wf_array *at = permutation(w, POINTS, N, 1013, true), *x = world_filled(w, WF_F32, WF_SHAPE(POINTS), 9);
    wf_array *out = world_empty(w, WF_F32, WF_SHAPE(POINTS));
    for (int turn = 0; turn < 2; ++turn) {
        world_spoil(w, a);
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_in(g, at), v = wf_in(g, x);
        WF_IF (g, wf_gt(v, turn)) {
            wf_write_if(g, wf_ne(wf_mod(i, 5), 3), a, wf_mul(v, 2), i);
            WF_ELSE(g) { wf_write(g, b, wf_cast(wf_floor(v), WF_I32), wf_sub(N - 1, i)); }
        }
        WF_END(g);
        wf_out(g, out, wf_read_border(g, x, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 3)));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
        wf_write(g, a, wf_add(wf_read(g, a, wf_in(g, at)), wf_read(g, out, wf_index(g, 0))), wf_in(g, at));
        wf_accumulate(g, WF_JOIN_ADD, b, 3, wf_mod(wf_in(g, at), 50));
        world_run(w, g);
    }
    world_result(w, a);
    world_result(w, b);
    world_result(w, out);
    wf_release(at);
    wf_release(x);
}

static const distributed_case cases[] = { { "dtypes", dtypes }, { "axes", axes }, { "conditions", conditions } };

static void ranks_and_grids(void **state)
{
    (void)state;
    distributed_check_cuts(cases, WF__COUNT(cases));
}

static void compiled_code(void **state)
{
    (void)state;
    distributed_check(cases, WF__COUNT(cases), 4, 1, 3, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(cases, WF__COUNT(cases), 3, 2, 2, WF_CPU, WF__FENCE_BEFORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_and_grids), cmocka_unit_test(compiled_code) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
