/* test_beyond_32_bits.c - more than 2^31 points: positions, reductions over all axes and some, elements and updates.
 * The arrays need little memory, because they are broadcast views, or because there are none.
 *
 * ctest: threads
 */
#include "on_devices.h"

static const int64_t past = ((int64_t)1 << 31) + 37; /* extents of one axis */

static int64_t one_i64(wf_array *a)
{
    int64_t x = scalar_i64(a);
    wf_release(a);
    return x;
}

/* Positions beyond 2^31, each seen once: along one axis, and as a product of small extents. */
static void positions(wf_shape shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    wf_array *far = wf_empty(ctx, WF_I64, WF_SCALAR), *last = wf_empty(ctx, WF_I64, WF_SCALAR),
             *odd = wf_empty(ctx, WF_I64, WF_SCALAR);
    wf_graph *g = wf_begin(ctx, .shape = shape, .reduce = WF_ALL_AXES);
    wf_var beyond = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD), most = wf_reduced(g, WF_I64, -1, WF_JOIN_MAX),
           count = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
    wf_val at = wf_index(g, 0);
    for (int d = 1; d < shape.rank; ++d)
        at = wf_add(wf_mul(at, wf_extent(g, d)), wf_index(g, d));
    wf_inc(beyond, wf_shr(at, 31));
    wf_inc(count, wf_and(at, 1));
    wf_set(most, wf_max(most, at));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, far, beyond);
    wf_out(g, last, most);
    wf_out(g, odd, count);
    OK(ctx, wf_run(g));
    assert_int_equal(one_i64(far), n - ((int64_t)1 << 31));
    assert_int_equal(one_i64(last), n - 1);
    assert_int_equal(one_i64(odd), n / 2);
}

static void test_positions(void **state)
{
    (void)state;
    positions(WF_SHAPE(past));
    positions(WF_SHAPE(65536, 32769)); /* neither extent is large */
}

/* Elements that broadcast, over all axes. The sum does not fit into 32 bits, either. */
static void test_elements(void **state)
{
    (void)state;
    const int8_t three[] = { 1, 5, 100 };
    wf_array *a = array_of(ctx, WF_I8, WF_SHAPE(3, 1), three), *one = wf_full(ctx, WF_U8, WF_SHAPE(1), 2);
    wf_array *wide = wf_view_broadcast(one, WF_SHAPE(past / 2));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_cast(wf_in(g, a), WF_I32), wf_in(g, wide)); /* [3, 2^30 + 18] */
    wf_array *sum = wf_keep(wf_sum(v, WF_ALL_AXES)),
             *most = wf_keep(wf_cast(wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES), WF_I64));
    OK(ctx, wf_run(g));
    assert_int_equal(one_i64(sum), 106 * 2 * (past / 2));
    assert_int_equal(one_i64(most), 200);
    wf_release(a), wf_release(one), wf_release(wide);
}

/* The innermost axis reduced, and kept. */
static void test_axes(void **state)
{
    (void)state;
    const int8_t two[] = { 1, 3 };
    for (int lanes = 0; lanes < 2; ++lanes) {
        wf_array *a = array_of(ctx, WF_I8, lanes ? WF_SHAPE(1, 2) : WF_SHAPE(2, 1), two),
                 *wide = wf_view_broadcast(a, lanes ? WF_SHAPE(past / 2 + 20, 2) : WF_SHAPE(2, past));
        wf_axes axes = lanes ? WF_AXES(0) : WF_AXES(1);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, wide);
        wf_array *sum = wf_keep(wf_sum(v, axes));
        OK(ctx, wf_run(g));
        int64_t *x = contents(sum), n = lanes ? past / 2 + 20 : past;
        assert_true(x[0] == n && x[1] == 3 * n);
        free(x);
        wf_release(a), wf_release(wide), wf_release(sum);
    }
}

/* Points that write, read and update: only those beyond 2^31. */
static void test_updates(void **state)
{
    (void)state;
    const int64_t edge = (int64_t)1 << 31;
    wf_array *out = wf_full(ctx, WF_I64, WF_SHAPE(37), 0), *count = wf_full(ctx, WF_I64, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(past));
    wf_val i = wf_index(g, 0), from = wf_const_i64(g, WF_I64, edge), beyond = wf_ge(i, from);
    wf_accumulate_if(g, beyond, WF_JOIN_ADD, count, 1, 0);
    wf_write_if(g, beyond, out, i, wf_sub(i, from));
    OK(ctx, wf_run(g));
    int64_t *x = contents(out);
    for (int k = 0; k < 37; ++k)
        assert_true(x[k] == edge + k);
    free(x);
    x = contents(count);
    assert_int_equal(*x, 37);
    free(x);
    wf_release(out), wf_release(count);
}

/* Extents larger than those of a GPU launch along an axis. */
static void test_launch_limits(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 4, .dim = { 140000, 10, 10, 32 } },
                                       { .rank = 3, .dim = { 70001, 10, 32 } } };
    for (int k = 0; k < 2; ++k)
        for (wf_axes axes = 1; axes < (k ? 4 : 2); axes += 2) { /* the first axis, or it and the second */
            wf_array *one = wf_full(ctx, WF_I8, WF_SHAPE(1), 1), *wide = wf_view_broadcast(one, shapes[k]);
            wf_graph *g = wf_begin(ctx);
            wf_array *sum = wf_keep(wf_sum(wf_in(g, wide), axes));
            OK(ctx, wf_run(g));
            int64_t *x = contents(sum), want = shapes[k].dim[0] * (axes == 3 ? shapes[k].dim[1] : 1);
            for (int64_t i = 0; i < wf_array_count(sum); ++i)
                assert_int_equal(x[i], want);
            free(x);
            wf_release(one), wf_release(wide), wf_release(sum);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_positions), cmocka_unit_test(test_elements),
                                        cmocka_unit_test(test_axes), cmocka_unit_test(test_updates),
                                        cmocka_unit_test(test_launch_limits) };
    wf_context *probe = test_context(0, 1);
    bool compiles = test_compiles(probe); /* the interpreter would take minutes */
    wf_context_free(probe);
    return compiles ? cmocka_run_group_tests_name("cpu", tests, on_cpu, off) : 0;
}
