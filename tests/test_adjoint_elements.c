/* test_adjoint_elements.c - adjoints of recordings of elements, beside closed forms: alone, in a frozen sequence, and
 * through a tape.
 *
 * ctest: devices
 */
#include "close_numbers.h"

enum { H = 5, W = 7 };

/* y = sin(x) row + p exp(x / 4), with a row of weights. */
static wf_graph *pointwise(wf_array *x, wf_array *row, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .elements = true);
    wf_val v = wf_in(g, x), p = wf_param(g, "p", WF_F64, 1.5);
    wf_out(g, y, wf_add(wf_mul(wf_sin(v), wf_in(g, row)), wf_mul(p, wf_exp(wf_div(v, 4)))));
    return g;
}

typedef struct numbers {
    double x[H * W], row[W], v[H * W], gx[H * W], grow[W];
} numbers;

/* The gradients of the sum of v * y. */
static numbers example(uint64_t random)
{
    numbers n = { .grow = { 0 } };
    for (int i = 0; i < H * W; ++i) {
        n.x[i] = (float)test_random_number(&random);
        n.v[i] = (float)test_random_number(&random);
    }
    for (int i = 0; i < W; ++i)
        n.row[i] = (float)test_random_number(&random);
    for (int i = 0; i < H * W; ++i) {
        n.gx[i] = n.v[i] * (cos(n.x[i]) * n.row[i % W] + 1.5 / 4 * exp(n.x[i] / 4));
        n.grow[i % W] += n.v[i] * sin(n.x[i]);
    }
    return n;
}

static void alone(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        const wf_dtype t = k ? WF_F64 : WF_F32;
        const numbers n = example(1);
        wf_array *x = array_as(t, WF_SHAPE(H, W), n.x), *row = array_as(t, WF_SHAPE(W), n.row);
        wf_array *v = array_as(t, WF_SHAPE(H, W), n.v), *y = wf_like(x), *gx = wf_like(x), *grow = wf_like(row);
        OK(ctx, wf_adjoint(pointwise(x, row, y), WF_ARRAYS(y), WF_ARRAYS(v), WF_ARRAYS(x, row), WF_ARRAYS(gx, grow)));
        expect_close(gx, n.gx, rounding_of(gx));
        expect_close(grow, n.grow, rounding_of(grow));
        /* forward mode, in the direction (v, 0), times 1 */
        OK(ctx, wf_tangent(pointwise(x, row, y), WF_ARRAYS(x), WF_ARRAYS(v), WF_ARRAYS(y), WF_ARRAYS(gx)));
        expect_close(gx, n.gx, rounding_of(gx));
        wf_array *const used[] = { x, row, v, y, gx, grow };
        for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
            wf_release(used[i]);
    }
}

/* A frozen adjoint is replayed with other contents. */
static void frozen(void **state)
{
    (void)state;
    const numbers n = example(2), other = example(3);
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), n.x), *row = array_of(ctx, WF_F64, WF_SHAPE(W), n.row);
    wf_array *v = array_of(ctx, WF_F64, WF_SHAPE(H, W), n.v), *y = wf_like(x), *gx = wf_like(x), *grow = wf_like(row);
    wf_array *x2 = array_of(ctx, WF_F64, WF_SHAPE(H, W), other.x),
             *row2 = array_of(ctx, WF_F64, WF_SHAPE(W), other.row);
    wf_array *v2 = array_of(ctx, WF_F64, WF_SHAPE(H, W), other.v);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x, row, v)));
    OK(ctx, wf_adjoint(pointwise(x, row, y), WF_ARRAYS(y), WF_ARRAYS(v), WF_ARRAYS(x, row), WF_ARRAYS(gx, grow)));
    wf_frozen *sequence = wf_freeze_end(ctx);
    assert_non_null(sequence);
    expect_close(gx, n.gx, rounding_of(gx));
    OK(ctx, wf_frozen_replay(sequence, WF_ARRAYS(x2, row2, v2)));
    expect_close(gx, other.gx, rounding_of(gx));
    expect_close(grow, other.grow, rounding_of(grow));
    wf_frozen_free(sequence);
    wf_array *const used[] = { x, row, v, y, gx, grow, x2, row2, v2 };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* A tape over a run and over launches of a prepared kernel: L = sum v y, where y is squared twice in place. */
static void through_a_tape(void **state)
{
    (void)state;
    const numbers n = example(4);
    double gx[H * W], grow[W] = { 0 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), n.x), *row = array_of(ctx, WF_F64, WF_SHAPE(W), n.row);
    wf_array *v = array_of(ctx, WF_F64, WF_SHAPE(H, W), n.v), *y = wf_like(x), *z = wf_like(x), *q = wf_like(x);
    wf_array *dx = wf_like(x), *drow = wf_like(row), *other = wf_like(x);
    for (int i = 0; i < H * W; ++i) {
        double s = sin(n.x[i]) * n.row[i % W] + 1.5 * exp(n.x[i] / 4), slope = n.v[i] * 4 * s * s * s;
        gx[i] = slope * (cos(n.x[i]) * n.row[i % W] + 1.5 / 4 * exp(n.x[i] / 4));
        grow[i % W] += slope * sin(n.x[i]);
    }
    wf_graph *g = wf_begin(ctx, .elements = true);
    wf_val e = wf_in(g, y);
    wf_out(g, z, wf_mul(e, e));
    wf_kernel *square = wf_compile(g);
    assert_non_null(square);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x, row));
    OK(ctx, wf_run(pointwise(x, row, y)));
    OK(ctx, wf_launch(square, WF_NO_ARGS));
    g = wf_begin(ctx, .elements = true);
    e = wf_in(g, z);
    wf_out(g, q, wf_mul(e, e));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_sum(wf_mul(wf_in(g, q), wf_in(g, v)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x, row), WF_ARRAYS(dx, drow)));
    expect_close(dx, gx, rounding_of(dx));
    expect_close(drow, grow, rounding_of(drow));
    wf_tape_free(tape);
    wf_kernel_free(square);
    wf_array *const used[] = { x, row, v, y, z, q, dx, drow, other, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static void refused(void **state)
{
    (void)state;
    wf_array *x = wf_full(ctx, WF_F64, WF_SHAPE(4), 1), *three = wf_full(ctx, WF_F64, WF_SHAPE(3), 1), *y = wf_like(x);
    wf_array *grad = wf_like(x);
    wf_graph *g = wf_begin(ctx, .elements = true);
    wf_out(g, y, wf_mul(wf_in(g, x), wf_in(g, three)));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_SHAPE,
            "do not broadcast");
    wf_array *const used[] = { x, three, y, grad };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(frozen),
        cmocka_unit_test(through_a_tape),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
