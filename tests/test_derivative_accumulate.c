/* test_derivative_accumulate.c - derivatives of accumulations by sum, minimum, maximum and product, with respect to the values
 * and to the contents from before, in reverse and forward mode and on a tape; accesses that have no derivative.
 *
 * ctest: devices
 */
#include "close_numbers.h"

enum { VALUES = 6, ELEMENTS = 3 };

static void expect(const char *what, wf_array *a, const double *want)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(got[i] - want[i]) <= 1e-13 * fabs(want[i])))
            fail_msg("%s: element %d is %.17g, not %.17g", what, (int)i, got[i], want[i]);
    free(got);
    wf_release(a);
}

typedef struct row {
    const char *name;
    wf_join join;
    bool some; /* only values that are not 5 */
    double target[ELEMENTS], values[VALUES], to_target[ELEMENTS], to_values[VALUES];
} row;
static const row rows[] = {
    /* upstream 1, 10, 100; places 0, 0, 1, 1, 2, 2 */
    { "sum", WF_JOIN_ADD, false, { 2, 4, 6 }, { 1, 3, 5, 3, 0, 0 }, { 1, 10, 100 }, { 1, 1, 10, 10, 100, 100 } },
    { "max", WF_JOIN_MAX, false, { 2, 4, 6 }, { 1, 3, 5, 3, 0, 0 }, { 0, 0, 100 }, { 0, 1, 10, 0, 0, 0 } },
    { "max, ties",
      WF_JOIN_MAX,
      false,
      { 3, 4, 0 },
      { 3, 3, 6, 6, -1, 0 },
      { 1. / 3, 0, 50 },
      { 1. / 3, 1. / 3, 5, 5, 0, 50 } },
    { "some max", WF_JOIN_MAX, true, { 2, 4, 6 }, { 1, 3, 5, 3, 0, 0 }, { 0, 10, 100 }, { 0, 1, 0, 0, 0, 0 } },
    { "min", WF_JOIN_MIN, false, { 2, 4, 6 }, { 1, 3, 5, 3, 0, 0 }, { 0, 0, 0 }, { 1, 0, 0, 10, 50, 50 } },
    { "product",
      WF_JOIN_MUL,
      false,
      { 2, 4, 6 },
      { 1, 3, 5, 3, 7, 0.5 },
      { 3, 150, 350 },
      { 6, 2, 120, 200, 300, 4200 } },
    { "product, zeros", WF_JOIN_MUL, false, { 2, 0, 0 }, { 0, 3, 5, 3, 0, 7 }, { 0, 150, 0 }, { 6, 0, 0, 0, 0, 0 } },
    { "product, tiny",
      WF_JOIN_MUL,
      false,
      { 1e-200, 1e300, 1 },
      { 1e-200, 1e300, 1e-200, 1e-200, 1, 1 },
      { 1e100, 0, 100 },
      { 1e100, 0, 1e101, 1e101, 100, 100 } },
    { "some product",
      WF_JOIN_MUL,
      true,
      { 2, 4, 6 },
      { 1, 3, 5, 3, 7, 0.5 },
      { 3, 30, 350 },
      { 6, 2, 0, 40, 300, 4200 } },
};

static wf_array *target, *values, *places, *upstream;

static void begin(const row *r)
{
    target = array_of(ctx, WF_F64, WF_SHAPE(ELEMENTS), r->target);
    values = array_of(ctx, WF_F64, WF_SHAPE(VALUES), r->values);
    places = array_of(ctx, WF_I32, WF_SHAPE(VALUES), ((const int32_t[]){ 0, 0, 1, 1, 2, 2 }));
    upstream = array_of(ctx, WF_F64, WF_SHAPE(ELEMENTS), ((const double[]){ 1, 10, 100 }));
}

static void end(void)
{
    wf_release(target);
    wf_release(values);
    wf_release(places);
    wf_release(upstream);
}

static void record(wf_graph *g, const row *r, wf_val v, wf_val at)
{
    if (r->some)
        wf_accumulate_if(g, wf_ne(v, 5), r->join, target, v, at);
    else
        wf_accumulate(g, r->join, target, v, at);
}

static void in_graphs(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const row *r = &rows[k];
        wf_val d[2], along;
        begin(r);
        wf_graph *g = wf_begin(ctx);
        wf_val t = wf_in(g, target), v = wf_in(g, values), weights = wf_in(g, upstream);
        record(g, r, v, wf_in(g, places));
        wf_val loss = total(wf_mul(wf_in(g, target), weights));
        wf_grad(loss, WF_VALS(t, v), d);
        wf_array *back[2] = { wf_keep(d[0]), wf_keep(d[1]) }, *forward[ELEMENTS + VALUES];
        for (int i = 0; i < ELEMENTS + VALUES; ++i) {
            wf_val direction = wf_cast(
                wf_eq(wf_iota(g, WF_SHAPE(i < ELEMENTS ? ELEMENTS : VALUES), 0), i < ELEMENTS ? i : i - ELEMENTS),
                WF_F64);
            wf_jvp(WF_VALS(loss), WF_VALS(i < ELEMENTS ? t : v), WF_VALS(direction), &along);
            forward[i] = wf_keep(along);
        }
        OK(ctx, wf_run(g));
        expect(r->name, back[0], r->to_target);
        expect(r->name, back[1], r->to_values);
        for (int i = 0; i < ELEMENTS + VALUES; ++i)
            expect(r->name, forward[i], i < ELEMENTS ? &r->to_target[i] : &r->to_values[i - ELEMENTS]);
        end();
    }
}

/* The contents from before are not read by the program; values alone are wanted; and a tape has the launch. */
static void without_a_read(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        for (int tape = 0; tape < 2; ++tape) {
            const row *r = &rows[k];
            wf_val d;
            begin(r);
            wf_array *to_values = wf_like(values), *to_target = wf_like(target), *loss = NULL;
            wf_tape *t = tape ? wf_tape_begin(ctx, WF_ARRAYS(values, target)) : NULL;
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_in(g, values);
            record(g, r, v, wf_in(g, places));
            if (!tape) {
                wf_grad(total(wf_mul(wf_in(g, target), wf_in(g, upstream))), WF_VALS(v), &d);
                wf_out(g, to_values, d);
            }
            OK(ctx, wf_run(g));
            if (tape) {
                g = wf_begin(ctx);
                loss = wf_keep(total(wf_mul(wf_in(g, target), wf_in(g, upstream))));
                OK(ctx, wf_run(g));
                OK(ctx, wf_tape_grad(t, loss, WF_ARRAYS(values, target), WF_ARRAYS(to_values, to_target)));
                expect(r->name, wf_retain(to_target), r->to_target);
                wf_release(loss);
                wf_tape_free(t);
            }
            expect(r->name, to_values, r->to_values);
            wf_release(to_target);
            end();
        }
}

static wf_graph *in_space(const row *r)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(VALUES));
    record(g, r, wf_in(g, values), wf_in(g, places));
    return g;
}

static wf_array *basis(int64_t n, int64_t i)
{
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(n), 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_cast(wf_eq(wf_iota(g, WF_SHAPE(n), 0), (double)i), WF_F64));
    OK(ctx, wf_run(g));
    return a;
}

/* Operators over an index space, alone and on a tape. */
static void in_spaces(void **state)
{
    (void)state;
    for (size_t k = 1; k < sizeof rows / sizeof *rows; ++k) {
        const row *r = &rows[k];
        begin(r);
        wf_array *to_values = wf_like(values), *to_target = wf_like(target);
        OK(ctx, wf_adjoint(in_space(r), WF_ARRAYS(target), WF_ARRAYS(upstream), WF_ARRAYS(values, target),
                           WF_ARRAYS(to_values, to_target)));
        expect(r->name, wf_retain(to_values), r->to_values);
        expect(r->name, wf_retain(to_target), r->to_target);
        wf_array *alone = wf_full(ctx, WF_F64, WF_SHAPE(VALUES), 7);
        OK(ctx, wf_adjoint(in_space(r), WF_ARRAYS(target), WF_ARRAYS(upstream), WF_ARRAYS(values), WF_ARRAYS(alone)));
        expect(r->name, alone, r->to_values);
        for (int i = 0; i < ELEMENTS + VALUES; ++i) {
            wf_array *dt = basis(ELEMENTS, i), *dv = basis(VALUES, i - ELEMENTS), *along = wf_like(target);
            OK(ctx, wf_tangent(in_space(r), WF_ARRAYS(values, target), WF_ARRAYS(dv, dt), WF_ARRAYS(target),
                               WF_ARRAYS(along)));
            double *got = contents(along), *up = contents(upstream), sum = 0;
            for (int j = 0; j < ELEMENTS; ++j)
                sum += got[j] * up[j];
            const double want = i < ELEMENTS ? r->to_target[i] : r->to_values[i - ELEMENTS];
            assert_true(fabs(sum - want) <= 1e-13 * fabs(want));
            free(got), free(up);
            wf_release(dt), wf_release(dv), wf_release(along);
        }
        expect(r->name, wf_retain(target), r->target); /* the operator has not run */
        wf_tape *t = wf_tape_begin(ctx, WF_ARRAYS(values, target));
        OK(ctx, wf_run(in_space(r)));
        wf_graph *g = wf_begin(ctx);
        wf_array *loss = wf_keep(total(wf_mul(wf_in(g, target), wf_in(g, upstream))));
        OK(ctx, wf_run(g));
        OK(ctx, wf_tape_grad(t, loss, WF_ARRAYS(values, target), WF_ARRAYS(to_values, to_target)));
        expect(r->name, to_values, r->to_values);
        expect(r->name, to_target, r->to_target);
        wf_tape_free(t);
        wf_release(loss);
        end();
    }
}

/* Beside other outputs, in a condition and in an operator that reduces: z_j = max over i of x_ij^2 at place j / 2, where
 * x_ij > 0, the product of all x_ij at one place of rank 0, and the sums of rows. */
static void with_others(void **state)
{
    (void)state;
    enum { H = 2, W = 4 };
    static const double x0[H * W] = { 1, -9, 3, 2, 2, 2, -1, 3 };
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), x0), *z = wf_full(ctx, WF_F64, WF_SHAPE(2), 0);
    wf_array *all = wf_full(ctx, WF_F64, WF_SHAPE(1), 0.5), *sums = wf_full(ctx, WF_F64, WF_SHAPE(H), 0);
    wf_array *up_z = array_of(ctx, WF_F64, WF_SHAPE(2), ((const double[]){ 1, 10 }));
    wf_array *up_sums = array_of(ctx, WF_F64, WF_SHAPE(H), ((const double[]){ 100, 200 }));
    wf_array *up_all = wf_full(ctx, WF_F64, WF_SHAPE(1), 1000), *grad = wf_like(x), *by_all = wf_like(all);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_AXES(1));
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val v = wf_in(g, x);
    wf_inc(sum, v);
    WF_IF (g, wf_gt(v, 0)) {
        wf_accumulate(g, WF_JOIN_MAX, z, wf_mul(v, v), wf_idiv(wf_index(g, 1), 2));
    }
    WF_END(g);
    wf_accumulate(g, WF_JOIN_MUL, all, v, wf_const(g, WF_I64, 0));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, sums, sum);
    OK(ctx, wf_adjoint(g, WF_ARRAYS(z, all, sums), WF_ARRAYS(up_z, up_all, up_sums), WF_ARRAYS(x, all),
                       WF_ARRAYS(grad, by_all)));
    double product = 1, want[H * W];
    for (int i = 0; i < H * W; ++i)
        product *= x0[i];
    for (int i = 0; i < H * W; ++i)
        want[i] = 1000 * 0.5 * product / x0[i] + (i < W ? 100 : 200);
    want[4] += 2; /* half of 2 * 2 each */
    want[5] += 2;
    want[2] += 30; /* half of 10 * 2 * 3 each */
    want[7] += 30;
    expect("x", grad, want);
    product *= 1000;
    expect("all", by_all, &product);
    wf_array *const used[] = { x, z, all, sums, up_z, up_sums, up_all };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* The second derivative of a product of two is 1, by each of them. */
static void twice(void **state)
{
    (void)state;
    static const row pairs = { "twice", WF_JOIN_MUL, false, { 2, 4, 6 }, { 1, 3, 5, 3, 7, 0.5 }, { 0 }, { 0 } };
    wf_val first, second;
    begin(&pairs);
    wf_graph *g = wf_begin(ctx);
    wf_val t = wf_in(g, target), v = wf_in(g, values);
    record(g, &pairs, v, wf_in(g, places));
    wf_grad(total(wf_in(g, target)), WF_VALS(t), &first);
    wf_grad(total(wf_mul(first, wf_in(g, upstream))), WF_VALS(v), &second);
    wf_array *out = wf_keep(second);
    OK(ctx, wf_run(g));
    expect("twice", out, ((const double[]){ 3, 1, 30, 50, 50, 700 }));
    end();
}

static void refused(void **state)
{
    (void)state;
    wf_val d;
    begin(&rows[0]);
    for (int k = 0; k < 3; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, values), at = wf_in(g, places), was = v;
        if (k == 0)
            was = wf_cas(g, target, v, 3, at);
        else
            was = wf_atomic(g, WF_JOIN_ADD, target, v, at);
        wf_grad(total(k < 2 ? was : wf_in(g, target)), WF_VALS(v), &d);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED,
                k ? "wf_grad: wf_atomic has no derivative" : "wf_grad: wf_cas has no derivative");
        g = wf_begin(ctx);
        v = wf_in(g, values);
        was = wf_atomic(g, WF_JOIN_ADD, target, v, wf_in(g, places));
        wf_jvp(WF_VALS(was), WF_VALS(v), WF_VALS(1), &d);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_jvp: wf_atomic has no derivative");
        g = wf_begin(ctx, .shape = WF_SHAPE(VALUES));
        v = wf_in(g, values);
        was = wf_atomic(g, WF_JOIN_ADD, target, v, wf_in(g, places));
        wf_grad(wf_mul(was, v), WF_VALS(v), &d);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_atomic has no derivative");
    }
    wf_graph *g = wf_begin(ctx); /* what the program does not follow does not matter */
    wf_val v = wf_in(g, values);
    wf_val was = wf_atomic(g, WF_JOIN_ADD, target, wf_stop(v), wf_in(g, places));
    wf_grad(total(wf_mul(wf_mul(was, 0), v)), WF_VALS(v), &d);
    wf_array *out = wf_keep(d);
    OK(ctx, wf_run(g));
    expect("stopped", out, ((const double[]){ 0, 0, 0, 0, 0, 0 }));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_graphs),   cmocka_unit_test(without_a_read), cmocka_unit_test(in_spaces),
        cmocka_unit_test(with_others), cmocka_unit_test(twice),          cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
