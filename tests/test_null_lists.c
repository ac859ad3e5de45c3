/* test_null_lists.c - NULL in place of a list with entries, and of a buffer, is an error.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/derivative.h"
#include "weft/text.h"
#include "weft/xform.h"

static void do_nothing(const wf_site *s) { (void)s; }
static void do_nothing_here(const wf_chunk *chunk, void *user) { (void)chunk, (void)user; }

/* NULL in place of a list with entries, and of a buffer with room. */
static void test_null_lists(void **state)
{
    (void)state;
    const wf_vals vals = { NULL, 2 };
    const wf_arrays arrays = { NULL, 2 };
    const wf_args args = { NULL, 2 };
    const wf_vars vars = { NULL, 2 };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 4), 1);
    const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_val out[2];
    for (int k = 0; k < 12; ++k) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4, 4));
        wf_val x = wf_in(g, a);
        switch (k) {
        case 0:
            wf_read_n(g, a, vals);
            break;
        case 1:
            wf_write_n(g, a, x, vals);
            break;
        case 2:
            wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, a, x, vals);
            break;
        case 3:
            wf_call_(g, "here", (wf_function){ do_nothing, NULL }, vals, WF_NO_VARS);
            break;
        case 4:
            wf_call_(g, "here", (wf_function){ do_nothing, NULL }, WF_NO_VALS, vars);
            break;
        case 5:
            wf_switch_(g, "here", wf_index(g, 0), (wf_functions){ NULL, 2 }, WF_NO_VALS, WF_NO_VARS);
            break;
        case 6:
            wf_grad_n(x, vals, out);
            break;
        case 7:
            wf_vjp_n(WF_VALS(x), WF_VALS(x), WF_VALS(x, x), NULL);
            break;
        case 8:
            wf_jvp_n(WF_VALS(x), WF_VALS(x, x), vals, out);
            break;
        case 9:
            wf_expr_n(g, "x + 1", args);
            break;
        case 10:
            wf_interpolate(g, a, &linear, vals);
            break;
        default:
            wf_sdf_sphere(g, vals, x);
            break;
        }
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, ": a list of 2 entries is NULL");
    }
    const wf_op nothing = { .size = sizeof nothing, .call = do_nothing };
    REFUSED(ctx, wf_apply_with(ctx, arrays, WF_ARRAYS(a), &nothing, NULL), WF_ERR_ARG,
            "wf_apply: a list of 2 entries is NULL");
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(a), arrays, do_nothing_here, NULL), WF_ERR_ARG, "wf_host_apply: a list");
    REFUSED(ctx, wf_freeze_begin(ctx, arrays), WF_ERR_ARG, "wf_freeze_begin: a list");
    REFUSED(ctx, wf_text_n(ctx, "y = 1", args), WF_ERR_ARG, "wf_text: a list");
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_mul(wf_in(g, a), 2));
    wf_kernel *k = wf_compile(g);
    REFUSED(ctx, wf_launch(k, args), WF_ERR_ARG, "wf_launch: a list");
    REFUSED(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, NULL, 10, NULL), WF_ERR_ARG,
            "wf_kernel_dump: buf is NULL");
    wf_kernel_free(k);
    const wf_array_rule rule = { .size = sizeof rule };
    REFUSED(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(a), arrays), WF_ERR_ARG, "wf_custom_arrays: a list");
    assert_null(wf_tape_begin(ctx, arrays));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_tape_begin: a list");
    wf_array *loss = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(loss));
    REFUSED(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(loss), (wf_arrays){ NULL, 1 }), WF_ERR_ARG, "wf_tape_grad: a list");
    wf_tape_free(tape);
    wf_release(loss);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_null_lists) };
    return RUN_ON_ALL(tests);
}
