/* test_lazy_values.c - values of lazy recordings: known numbers stay known, effects that change nothing vanish, values
 * of one scope are invalid in another, masks of nested gathers combine, and errors leave values as they were. */
#include "with_history.h"

static wf_kernel_info info[16] = { { .size = sizeof *info } };

/* Runs the recording, and returns the number of its kernels. */
static size_t kernels_of(wf_graph *g)
{
    wf_history(ctx, info, 16);
    OK(ctx, wf_run(g));
    return wf_history(ctx, info, 16);
}

static wf_array *line(wf_dtype dtype, int64_t n) { return wf_array_arange(ctx, dtype, n, 0, 1); }

static void test_literals(void **state)
{
    (void)state;
    wf_array *out = line(WF_F32, 9);
    for (int fold = 0; fold < 2; ++fold) {
        wf_graph *g = wf_begin(ctx, .flags_off = fold ? 0 : WF_FLAG_FOLD);
        wf_val x = wf_mul(wf_add(wf_const(g, WF_F32, 2), wf_const(g, WF_F32, 3)), wf_sqrt(wf_const(g, WF_F32, 16)));
        wf_out(g, out, x);
        assert_int_equal(kernels_of(g), 1);
        assert_int_equal(info->folded, fold ? 3 : 0);
        EXPECT_F32(out, 20, 20, 20, 20, 20, 20, 20, 20, 20);
    }
    wf_release(out);
}

/* A literal of any shape is a value like others, but has no memory. */
static void test_literals_with_a_shape(void **state)
{
    (void)state;
    wf_array *a = line(WF_F32, 4), *rows = NULL, *all = NULL;
    wf_graph *g = wf_begin(ctx);
    wf_val two = wf_broadcast(wf_const(g, WF_F32, 2), WF_SHAPE(3, 4));
    assert_int_equal(wf_val_shape(two).dim[0], 3);
    rows = wf_keep(wf_sum(wf_mul(two, wf_in(g, a)), WF_AXES(1)));
    all = wf_keep(two);
    OK(ctx, wf_run(g));
    EXPECT_F32(rows, 12, 12, 12);
    EXPECT_F32(all, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
    wf_release(a), wf_release(rows), wf_release(all);
}

/* Literals with a shape stay literals, whatever is made of them, and are numbers beside values of that shape. */
static void test_literals_stay_literals(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(2, 2), (const int32_t[]){ 1, -2, 3, 4 }),
             *out = wf_empty(ctx, WF_F32, WF_SHAPE(2, 2)), *kept = NULL;
    static const int folded[2][4] = { { 0, 0, 0, 0 }, { 4, 2, 3, 1 } };
    uint32_t nodes[4];
    for (int fold = 0; fold < 2; ++fold)
        for (int how = 0; how < 4; ++how) {
            wf_graph *g = wf_begin(ctx, .flags_off = fold ? 0 : WF_FLAG_FOLD);
            wf_val v = wf_in(g, a), two = wf_broadcast(wf_const(g, WF_I32, 2), WF_SHAPE(1, 2)), x;
            switch (how) {
            case 0: /* of literals, and views of them */
                x = wf_reverse(wf_mul(two, wf_broadcast(wf_const(g, WF_I32, 3), WF_SHAPE(2, 1))), 1);
                x = wf_sqrt(wf_add(wf_cast(x, WF_F32), 19));
                break;
            case 1: /* no array is read */
                x = wf_add(wf_cast(wf_sub(v, v), WF_F32), wf_cast(wf_iota(g, WF_SHAPE(2, 2), 1), WF_F32));
                break;
            case 2: /* changes nothing */
                x = wf_mul(wf_add(v, wf_sub(two, 2)), wf_broadcast(wf_const(g, WF_I32, 1), WF_SHAPE(2, 2)));
                break;
            default: /* the larger shape stays */
                x = wf_mul(wf_slice(v, 0, 0, 1, 1), wf_broadcast(wf_sub(two, 1), WF_SHAPE(2, 2)));
                break;
            }
            assert_int_equal(wf_val_shape(x).dim[0], 2);
            wf_out(g, out, x);
            assert_int_equal(kernels_of(g), 1);
            assert_int_equal(info->folded, folded[fold][how]);
            nodes[how] = info->nodes;
            switch (how) {
            case 0:
                EXPECT_F32(out, 5, 5, 5, 5);
                break;
            case 1:
                EXPECT_F32(out, 0, 1, 0, 1);
                break;
            case 2:
                EXPECT_F32(out, 1, -2, 3, 4);
                break;
            default:
                EXPECT_F32(out, 1, -2, 1, -2);
                break;
            }
        }
    assert_true(nodes[0] < nodes[1]);
    wf_graph *g = wf_begin(ctx); /* as a condition of effects, too */
    wf_val none = wf_broadcast(wf_const(g, WF_BOOL, 0), WF_SHAPE(2, 2)),
           zero = wf_broadcast(wf_const(g, WF_I32, 0), WF_SHAPE(2));
    wf_write_if(g, none, a, 7, 0, 1);
    wf_accumulate(g, WF_JOIN_ADD, a, zero, 0, 1);
    assert_int_equal(kernels_of(g), 0);
    g = wf_begin(ctx); /* in a block */
    wf_var v = wf_local(g, WF_I32, wf_in(g, a));
    WF_IF (g, wf_gt(v, 0)) {
        wf_set(v, wf_sub(v, v));
    }
    WF_END(g);
    kept = wf_keep(wf_cast(v, WF_F32));
    OK(ctx, wf_run(g));
    EXPECT_F32(kept, 0, -2, 0, 0);
    wf_release(a), wf_release(out), wf_release(kept);
}

/* Effects that cannot change anything make no kernel. */
static void test_effects_vanish(void **state)
{
    (void)state;
    wf_array *h = array_of(ctx, WF_F32, WF_SHAPE(4), (const float[]){ -0.0f, NAN, -INFINITY, 3 }),
             *at = line(WF_I32, 4);
    for (int how = 0; how < 5; ++how)
        for (int fold = 0; fold < 2; ++fold) {
            wf_graph *g = wf_begin(ctx, .flags_off = fold ? 0 : WF_FLAG_FOLD);
            wf_val i = wf_in(g, at);
            if (how == 0)
                wf_write_if(g, wf_const(g, WF_BOOL, 0), h, 1, i);
            else if (how == 1)
                wf_accumulate_if(g, wf_const(g, WF_BOOL, 0), WF_JOIN_ADD, h, 1, i);
            else if (how == 2)
                wf_accumulate(g, WF_JOIN_ADD, h, -0.0, i);
            else if (how == 3)
                wf_accumulate(g, WF_JOIN_MAX, h, -INFINITY, i);
            else
                wf_accumulate(g, WF_JOIN_MUL, h, 1, i);
            assert_int_equal(kernels_of(g), !fold && how >= 2);
            EXPECT_F32(h, -0.0f, NAN, -INFINITY, 3);
        }
    wf_graph *g = wf_begin(ctx); /* this literal is no neutral element */
    wf_accumulate(g, WF_JOIN_ADD, h, 0, wf_in(g, at));
    assert_int_equal(kernels_of(g), 1);
    EXPECT_F32(h, 0, NAN, -INFINITY, 3);
    g = wf_begin(ctx);
    wf_accumulate_if(g, wf_const(g, WF_BOOL, 1), WF_JOIN_ADD, h, 2, wf_in(g, at));
    assert_int_equal(kernels_of(g), 1);
    EXPECT_F32(h, 2, NAN, -INFINITY, 5);
    wf_array *n = line(WF_I64, 4);
    g = wf_begin(ctx);
    wf_accumulate(g, WF_JOIN_ADD, n, 0, wf_in(g, at));
    wf_accumulate(g, WF_JOIN_AND, n, -1, wf_in(g, at));
    assert_int_equal(kernels_of(g), 0);
    wf_release(h), wf_release(at), wf_release(n);
}

static void test_dropped_graphs_run_nothing(void **state)
{
    (void)state;
    wf_array *h = line(WF_F32, 4);
    wf_history(ctx, info, 16);
    wf_graph *g = wf_begin(ctx);
    wf_write(g, h, 7, wf_iota(g, WF_SHAPE(4), 0));
    wf_drop(g);
    assert_int_equal(wf_history(ctx, info, 16), 0);
    EXPECT_F32(h, 0, 1, 2, 3);
    wf_release(h);
}

/* The same expression in a block, in its sibling and after both. */
static void test_scopes(void **state)
{
    (void)state;
    wf_array *a = line(WF_F32, 4), *b = NULL, *c = NULL;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), k;
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0);
    WF_IF (g, wf_gt(v, 1)) {
        wf_set(x, wf_sqrt(wf_add(v, 1)));
    }
    WF_ELSE(g) { wf_set(x, wf_neg(wf_sqrt(wf_add(1, v)))); }
    WF_END(g);
    WF_FOR (g, k, 0, 3, 1) {
        wf_inc(y, wf_sqrt(wf_add(v, 1)));
    }
    WF_END(g);
    b = wf_keep(wf_mul(x, wf_sqrt(wf_add(v, 1))));
    c = wf_keep(wf_mul(y, wf_sqrt(wf_add(1, v))));
    OK(ctx, wf_run(g));
    float *got = contents(b), *thrice = contents(c);
    for (int i = 0; i < 4; ++i) {
        assert_true(fabsf(fabsf(got[i]) - (float)(i + 1)) < 1e-5f && (got[i] > 0) == (i > 1));
        assert_true(fabsf(thrice[i] - (float)(3 * (i + 1))) < 1e-5f);
    }
    free(got), free(thrice);
    wf_release(a), wf_release(b), wf_release(c);
}

/* An element exists if it lies inside for both gathers. Outside it has the value of the gather that left the array,
 * also if a loop exchanges them. */
static void test_masked_gathers(void **state)
{
    (void)state;
    wf_array *a = line(WF_F32, 6), *twice = NULL, *looped = NULL;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_add(wf_in(g, a), 10), i = wf_iota(g, WF_SHAPE(6), 0), k;
    wf_val inner = wf_gather_or(v, -1, wf_sub(i, 2)); /* -1 -1 10 11 12 13 */
    wf_val outer = wf_gather_or(inner, -2, wf_sub(wf_mul(i, 2), 2));
    twice = wf_keep(outer); /* -2 -1 10 12 -2 -2 */
    wf_var sum = wf_local(g, WF_F32, 0), at = wf_local(g, WF_I64, i);
    WF_FOR (g, k, 0, 3, 1) {
        wf_inc(sum, wf_read_or(g, a, 0, wf_get(at)));
        wf_inc(at, 2);
    }
    WF_END(g);
    looped = wf_keep(sum);
    OK(ctx, wf_run(g));
    EXPECT_F32(twice, -2, -1, 10, 12, -2, -2);
    EXPECT_F32(looped, 6, 9, 6, 8, 4, 5);
    wf_release(a), wf_release(twice), wf_release(looped);
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0));
    g = wf_begin(ctx);
    wf_keep(wf_gather(wf_mul(wf_in(g, none), 2), wf_iota(g, WF_SHAPE(3), 0)));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "no elements");
    g = wf_begin(ctx);
    wf_array *zeros = wf_keep(wf_gather_or(wf_mul(wf_in(g, none), 2), 0, wf_iota(g, WF_SHAPE(3), 0)));
    OK(ctx, wf_run(g));
    EXPECT_F32(zeros, 0, 0, 0);
    wf_release(none), wf_release(zeros);
}

/* A failed evaluation changes nothing: arrays and values stay what they were. */
static void test_mistakes_change_nothing(void **state)
{
    (void)state;
    wf_array *a = line(WF_F32, 3), *b = line(WF_F32, 4);
    wf_graph *g = wf_begin(ctx);
    WF_IF (g, wf_gt(wf_in(g, a), 1)) {
        wf_out(g, a, 9);
        wf_out(g, a, wf_add(wf_in(g, a), wf_in(g, b)));
    }
    WF_END(g);
    wf_status status = wf_run(g);
    assert_int_equal(status, WF_ERR_SHAPE);
    assert_non_null(strstr(wf_last_message(ctx), "(3)"));
    assert_non_null(strstr(wf_last_message(ctx), "(4)"));
    wf_clear_error(ctx);
    EXPECT_F32(a, 0, 1, 2);
    wf_release(a), wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_literals_with_a_shape),
        cmocka_unit_test(test_literals_stay_literals),
        cmocka_unit_test(test_effects_vanish),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_dropped_graphs_run_nothing),
        cmocka_unit_test(test_masked_gathers),
        cmocka_unit_test(test_mistakes_change_nothing),
    };
    return RUN_WITH_HISTORY(tests);
}
