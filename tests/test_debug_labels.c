/* test_debug_labels.c - debug mode names values, arrays and formals as the user does. */
#include "on_devices.h"

static int debugging(void **state) { return (void)state, in_debug_mode(0, NULL); }

/* Returns a recording of an index space that reads beyond the end, with these labels (NULL = none). */
static wf_graph *shifted(const wf_array *a, wf_array *out, const char *array, const char *value)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val own = wf_in(g, a), next = wf_read(g, a, wf_add(wf_index(g, 0), 1));
    if (array)
        wf_label(own, array);
    if (value)
        wf_label(next, value);
    wf_out(g, out, wf_sub(next, own));
    return g;
}

static void test_reads(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 6, 0, 1), *out = wf_like(a);
    REFUSED(ctx, wf_run(shifted(a, out, NULL, NULL)), WF_ERR_BOUNDS, "wf_read: index (6,) is outside array 1 of");
    REFUSED(ctx, wf_run(shifted(a, out, "pixels", NULL)), WF_ERR_BOUNDS,
            "wf_read: index (6,) is outside 'pixels' (f32 of shape (6))");
    REFUSED(ctx, wf_run(shifted(a, out, NULL, "right")), WF_ERR_BOUNDS,
            "wf_read 'right': index (6,) is outside array 1");
    /* equal but for the labels, which plans in debug mode keep apart */
    REFUSED(ctx, wf_run(shifted(a, out, "row", "next")), WF_ERR_BOUNDS,
            "wf_read 'next': index (6,) is outside 'row' (f32 of shape (6))");
    wf_graph *g = wf_begin(ctx); /* whole arrays */
    wf_val v = wf_label(wf_in(g, a), "levels");
    wf_out(g, out, wf_add(wf_label(wf_gather(v, wf_add(wf_iota(g, WF_SHAPE(6), 0), 2)), "ahead"), 1));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "wf_read 'ahead': index (6,) is outside 'levels' (f32 of shape (6))");
    wf_release(a), wf_release(out);
}

static void test_writes(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 6, -1, 1), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val root = wf_label(wf_sqrt(wf_in(g, a)), "root");
    wf_write(g, out, root, wf_sub(wf_index(g, 0), 1));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "wf_write of 'root': index (-1,) is outside array");
    g = wf_begin(ctx, .flags_on = WF_FLAG_TRAP_NAN);
    wf_label(wf_in(g, out), "roots");
    wf_out(g, out, wf_label(wf_sqrt(wf_in(g, a)), "root"));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "a NaN, 'root', is stored in 'roots' (f32 of shape (6)), by");
    g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_accumulate(g, WF_JOIN_ADD, out, wf_label(wf_exp(wf_in(g, a)), "weight"), wf_add(wf_index(g, 0), 5));
    REFUSED(ctx, wf_run(g), WF_ERR_BOUNDS, "wf_accumulate of 'weight': index (6,) is outside");
    wf_release(a), wf_release(out);
}

static void test_formals(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 6, -1, 1), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_write(g, wf_formal(g, "target", WF_F32, 1), wf_read(g, wf_formal(g, "source", WF_F32, 1), wf_index(g, 0)),
             wf_idiv(wf_index(g, 0), 2));
    wf_kernel *k = wf_compile(g);
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("source", a), WF_ARG("target", out))), WF_ERR_CONTRACT,
            "write the same element of 'target' (");
    wf_array *few = wf_view_slice(a, 0, 0, 3, 1);
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("source", few), WF_ARG("target", out))), WF_ERR_BOUNDS,
            "index (3,) is outside 'source' (");
    wf_kernel_free(k);
    wf_release(few), wf_release(a), wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reads), cmocka_unit_test(test_writes),
                                        cmocka_unit_test(test_formals) };
    return cmocka_run_group_tests(tests, debugging, off);
}
