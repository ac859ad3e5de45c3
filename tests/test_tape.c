/* test_tape.c - derivatives through sequences of launches.
 *
 * ctest: devices threads
 */
#include "close_numbers.h"
#include "weft/functions.h"

/* x *= x in place; an operator over an index space; a sum: y_i = x_i^2 + x_(i+1)^2, L = sum y_i^3. */
static void launches(void **state)
{
    (void)state;
    const double x0[4] = { 1, -2, 3, 0.5 };
    double s[5] = { 0 }, y[4], want[4];
    for (int i = 0; i < 4; ++i)
        s[i] = x0[i] * x0[i];
    for (int i = 0; i < 4; ++i)
        y[i] = s[i] + s[i + 1];
    for (int i = 0; i < 4; ++i)
        want[i] = 2 * x0[i] * (3 * y[i] * y[i] + (i ? 3 * y[i - 1] * y[i - 1] : 0));
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(4), x0), *mid = wf_like(x), *grad = wf_like(x);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    assert_non_null(tape);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, x, wf_mul(wf_in(g, x), wf_in(g, x)));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .shape = WF_SHAPE(4));
    wf_out(g, mid, wf_add(wf_in(g, x), wf_read_or(g, x, 0, wf_add(wf_index(g, 0), 1))));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_val v = wf_in(g, mid);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(v, wf_mul(v, v)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    for (int again = 0; again < 2; ++again) {
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
        expect_close_and_release(wf_retain(grad), want, 1e-12);
        wf_tape_end(tape);
    }
    wf_tape_free(tape);
    wf_array *const used[] = { x, mid, grad, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* A loop of the program over launches of one compiled kernel, with a parameter: x <- x + h x (1 - x). */
static void loop_of_the_program(void **state)
{
    (void)state;
    enum { STEPS = 20 };
    const double x0[3] = { 0.1, 0.5, 2 };
    double want[3];
    for (int k = 0; k < 3; ++k) {
        double x = x0[k], d = 1;
        for (int i = 0; i < STEPS; ++i) {
            d *= 1 + 0.1 * (1 - 2 * x);
            x += 0.1 * x * (1 - x);
        }
        want[k] = d;
    }
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(3), x0), *grad = wf_like(x);
    wf_graph *g = wf_begin(ctx);
    wf_val h = wf_param(g, "h", WF_F64, 0.1), v = wf_in(g, x);
    wf_out(g, x, wf_add(v, wf_mul(h, wf_mul(v, wf_sub(1, v)))));
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    for (int i = 0; i < STEPS; ++i)
        OK(ctx, wf_launch(kernel, WF_NO_ARGS));
    wf_array *copy = wf_copy(x);
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_in(g, copy), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect_close_and_release(wf_retain(grad), want, 1e-12);
    wf_tape_free(tape);
    wf_kernel_free(kernel);
    wf_array *const used[] = { x, copy, grad, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Functions of the library are sequences of launches; what does not depend has the derivative 0. */
static void library(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(2, 3), (const double[]){ 1, 2, 3, 4, 5, 6 });
    wf_array *other = wf_full(ctx, WF_F64, WF_SHAPE(2), 1), *grad = wf_like(x), *none = wf_like(other);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x, other));
    wf_array *turned = wf_array_permute(x, (const int[]){ 1, 0 });
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, turned);
    wf_array *loss =
        wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_slice(v, 0, 0, 2, 1), wf_slice(v, 0, 0, 2, 1)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x, other), WF_ARRAYS(grad, none)));
    expect_close_and_release(wf_retain(grad), (const double[]){ 2, 4, 0, 8, 10, 0 }, 1e-12);
    expect_close_and_release(wf_retain(none), (const double[]){ 0, 0 }, 1e-12);
    wf_tape_free(tape);
    wf_array *const used[] = { x, other, grad, none, turned, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Views share the derivatives of their memory: a row is doubled in place, and a transposed view is read. */
static void views(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(2, 2), (const double[]){ 1, 2, 3, 4 }), *grad = wf_like(x);
    wf_array *row = wf_view_at(x, 0, 1), *turned = wf_view_permute(x, (const int[]){ 1, 0 });
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, row, wf_mul(wf_in(g, row), 2));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_in(g, turned), wf_in(g, x)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect_close_and_release(wf_retain(grad), (const double[]){ 2, 12, 8, 32 }, 1e-12);
    wf_tape_free(tape);
    wf_array *const used[] = { x, grad, row, turned, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Views that repeat elements: an element gets the sum. As operands of an array graph, of an operator over an index space and
 * of a function of the library; y = x_j^2 + x_j (j + 1) + x_i, for i = 0 .. 2 and j = 0 .. 3. */
static void repeated_elements(void **state)
{
    (void)state;
    static const double x0[4] = { 1, -2, 3, 0.5 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(4), x0), *y = wf_full(ctx, WF_F64, WF_SHAPE(3, 4), 0),
             *grad = wf_like(x);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_array *rows = wf_view_broadcast(x, WF_SHAPE(3, 4)), *some = wf_view_slice(x, 0, 0, 3, 1);
    wf_array *column = wf_view_reshape(some, WF_SHAPE(3, 1)), *columns = wf_view_broadcast(column, WF_SHAPE(3, 4));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, y, wf_mul(wf_in(g, rows), wf_in(g, rows)));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .shape = WF_SHAPE(3, 4));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_out(g, y, wf_add(wf_in(g, y), wf_mul(wf_read(g, rows, i, j), wf_add(wf_cast(j, WF_F64), 1))));
    OK(ctx, wf_run(g));
    wf_array *last = wf_array_sum(columns, WF_ALL_AXES);
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_add(total(wf_in(g, y)), wf_reshape(wf_in(g, last), WF_SHAPE(1, 1))));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    double want[4], all[12];
    for (int k = 0; k < 12; ++k)
        all[k] = want[k % 4] = 3 * (2 * x0[k % 4] + k % 4 + 1) + (k % 4 < 3 ? 4 : 0);
    expect_close(grad, want, 1e-12);
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(rows), WF_ARRAYS(y))); /* of each place, that of its element */
    expect_close(y, all, 1e-12);
    wf_tape_free(tape);
    RELEASE(x, y, grad, rows, some, column, columns, last, loss);
}

static void refused(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(4), (const double[]){ 1, 2, 3, 4 }), *grad = wf_like(x);
    wf_array *sum = wf_full(ctx, WF_F64, WF_SHAPE(1), 0), *i = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    assert_null(wf_tape_begin(ctx, WF_ARRAYS(i)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "no derivatives");
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    assert_null(wf_tape_begin(ctx, WF_ARRAYS(x)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "has a tape");
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4));
    wf_array *block = wf_scratch(g, WF_F64, WF_SHAPE(1), false);
    wf_section(g, WF_SECTION_INIT);
    wf_write(g, block, wf_read(g, x, wf_const(g, WF_I64, 0)), wf_const(g, WF_I64, 0));
    wf_section(g, WF_SECTION_CALL);
    wf_accumulate(g, WF_JOIN_ADD, sum, wf_read(g, block, wf_const(g, WF_I64, 0)), wf_const(g, WF_I64, 0));
    OK(ctx, wf_run(g));
    REFUSED(ctx, wf_tape_grad(tape, sum, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_UNSUPPORTED, "has WF_SECTION_INIT");
    REFUSED(ctx, wf_tape_grad(tape, x, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_SHAPE, "one real number");
    wf_tape_free(tape);
    tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_array *part = wf_view_slice(x, 0, 0, 2, 1);
    g = wf_begin(ctx);
    wf_out(g, part, wf_mul(wf_slice(wf_in(g, x), 0, 1, 3, 1), 2));
    OK(ctx, wf_run(g));
    REFUSED(ctx, wf_tape_grad(tape, sum, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_UNSUPPORTED, "one view of an array");
    wf_tape_free(tape);
    tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_upload(x, (const double[]){ 1, 2, 3, 4 }, 4 * sizeof(double)));
    REFUSED(ctx, wf_tape_grad(tape, sum, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_UNSUPPORTED, "wf_upload of an array");
    wf_tape_free(tape);
    wf_array *const used[] = { x, grad, sum, i, part };
    for (size_t k = 0; k < sizeof used / sizeof *used; ++k)
        wf_release(used[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches), cmocka_unit_test(loop_of_the_program),
        cmocka_unit_test(library),  cmocka_unit_test(views),
        cmocka_unit_test(refused),  cmocka_unit_test(repeated_elements),
    };
    return RUN_ON_ALL(tests);
}
