/* test_derivatives_values.c - derivatives of values whose numbers are known: conventions of docs/derivatives.md, slopes
 * that are infinite, products with zeros, scans, borders, stores, casts, second derivatives, empty arrays.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { MOST = 16 };
typedef wf_val formula(wf_graph *g, wf_val x, wf_array *a); /* of the contents x of array a */

static void expect(wf_array *a, const double *want, double tolerance, int line)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]) ||
              fabs(got[i] - want[i]) <= tolerance * fabs(want[i])))
            fail_msg("line %d: element %d is %.17g and should be %.17g", line, (int)i, got[i], want[i]);
    free(got);
    wf_release(a);
}

/* Compares the gradient of the sum of the formula's elements. */
static void gradient_is(formula *f, wf_shape shape, const double *x, const double *want, int line)
{
    wf_array *a = array_of(ctx, WF_F64, shape, x);
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_grad(total(f(g, v, a)), WF_VALS(v), &gradient);
    wf_array *out = wf_keep(gradient);
    OK(ctx, wf_run(g));
    expect(out, want, 1e-13, line);
    wf_release(a);
}
#define LIST(...) ((const double[]){ __VA_ARGS__ })
#define GRADIENT(f, shape, x, want) gradient_is(f, shape, x, want, __LINE__)
#define FORMULA(name, value)                               \
    static wf_val name(wf_graph *g, wf_val x, wf_array *a) \
    {                                                      \
        (void)g, (void)x, (void)a;                         \
        return value;                                      \
    }

/* ---- slopes that are infinite or undefined ---- */
FORMULA(root, wf_sqrt(x))
FORMULA(no_root, wf_mul(wf_sqrt(x), wf_const(g, WF_F64, 0)))
FORMULA(some_roots, wf_select(wf_gt(x, 0), wf_sqrt(x), 0))
FORMULA(some_logs, wf_select(wf_gt(x, 0), wf_log(x), 0))
FORMULA(some_quotients, wf_select(wf_gt(x, 0), wf_div(x, x), 0))
FORMULA(some_rcps, wf_select(wf_gt(x, 0), wf_add(wf_rcp(x), wf_rsqrt(x)), 0))
FORMULA(some_powers, wf_select(wf_gt(x, 0), wf_pow(x, 0.5), 0))
FORMULA(some_angles, wf_select(wf_lt(wf_abs(x), 1), wf_asin(x), 0))
FORMULA(some_infinities, wf_select(wf_gt(x, 0), x, wf_mul(x, INFINITY)))
FORMULA(some_nothings, wf_select(wf_gt(x, 0), x, wf_mul(x, wf_div(wf_sub(x, x), wf_sub(x, x)))))
static void slopes(void **state)
{
    (void)state;
    const double x[] = { 4, 0, -0.0, -1 };
    GRADIENT(root, WF_SHAPE(2), x, LIST(0.25, INFINITY));
    GRADIENT(no_root, WF_SHAPE(2), x, LIST(0, 0));
    GRADIENT(some_roots, WF_SHAPE(4), x, LIST(0.25, 0, 0, 0));
    GRADIENT(some_logs, WF_SHAPE(4), x, LIST(0.25, 0, 0, 0));
    GRADIENT(some_quotients, WF_SHAPE(4), x, LIST(0, 0, 0, 0));
    GRADIENT(some_rcps, WF_SHAPE(4), x, LIST(-0.0625 - 0.0625, 0, 0, 0));
    GRADIENT(some_powers, WF_SHAPE(4), x, LIST(0.25, 0, 0, 0));
    GRADIENT(some_angles, WF_SHAPE(4), LIST(0, 1, -1, 3), LIST(1, 0, 0, 0));
    GRADIENT(some_infinities, WF_SHAPE(4), x, LIST(1, INFINITY, INFINITY, INFINITY));
    GRADIENT(some_nothings, WF_SHAPE(1), x, LIST(1));
}

/* ---- ties ---- */
FORMULA(largest, wf_reduce(WF_JOIN_MAX, x, WF_AXES(0)))
FORMULA(smallest, wf_reduce(WF_JOIN_MIN, x, WF_AXES(0)))
FORMULA(larger_of_one, wf_max(x, x))
FORMULA(fraction, wf_sub(x, wf_floor(x)))
static void ties(void **state)
{
    (void)state;
    GRADIENT(largest, WF_SHAPE(5), LIST(1, 2, 8, 5, 8), LIST(0, 0, 0.5, 0, 0.5));
    GRADIENT(smallest, WF_SHAPE(4), LIST(1, 1, 1, 1), LIST(0.25, 0.25, 0.25, 0.25));
    GRADIENT(largest, WF_SHAPE(3), LIST(1, NAN, 2), LIST(0, 1, 0));
    GRADIENT(larger_of_one, WF_SHAPE(2), LIST(-1, 3), LIST(1, 1));
    GRADIENT(fraction, WF_SHAPE(3), LIST(-1.5, 2, 3.25), LIST(1, 1, 1));
}

/* ---- joins ---- */
FORMULA(product, wf_reduce(WF_JOIN_MUL, x, WF_AXES(0)))
FORMULA(products, wf_scan(WF_JOIN_MUL, x, 0, false, false))
FORMULA(products_before, wf_scan(WF_JOIN_MUL, x, 0, true, true))
FORMULA(weighted_sums, wf_mul(wf_scan(WF_JOIN_ADD, x, 0, false, false), wf_add(wf_iota(g, WF_SHAPE(4), 0), 1)))
FORMULA(sums_before, wf_mul(wf_scan(WF_JOIN_ADD, x, 0, true, false), wf_add(wf_iota(g, WF_SHAPE(4), 0), 1)))
FORMULA(maxima, wf_scan(WF_JOIN_MAX, x, 0, false, false))
FORMULA(log_sum_exp, wf_log(total(wf_exp(x))))
FORMULA(safe_log_sum_exp, wf_add(wf_log(total(wf_exp(wf_sub(x, wf_reduce(WF_JOIN_MAX, x, WF_AXES(0)))))),
                                 wf_reduce(WF_JOIN_MAX, x, WF_AXES(0))))
static void joins(void **state)
{
    (void)state;
    GRADIENT(product, WF_SHAPE(3), LIST(2, 0, 4), LIST(0, 8, 0));
    GRADIENT(product, WF_SHAPE(3), LIST(0, 0, 3), LIST(0, 0, 0));
    GRADIENT(product, WF_SHAPE(4), LIST(1, 2, 5, 8), LIST(80, 40, 16, 10));
    GRADIENT(product, WF_SHAPE(2), LIST(1e-200, 1e-200), LIST(1e-200, 1e-200));
    GRADIENT(product, WF_SHAPE(3), LIST(1e-200, 1e-200, 1e300), LIST(1e100, 1e100, 0));
    GRADIENT(products, WF_SHAPE(3), LIST(2, 0, 4), LIST(1, 10, 0));
    GRADIENT(products, WF_SHAPE(4), LIST(0, 0, 3, 1), LIST(1, 0, 0, 0));
    GRADIENT(products_before, WF_SHAPE(3), LIST(2, 0, 4), LIST(0, 4, 1));
    GRADIENT(weighted_sums, WF_SHAPE(4), LIST(1, 2, 3, 4), LIST(10, 9, 7, 4));
    GRADIENT(sums_before, WF_SHAPE(4), LIST(1, 2, 3, 4), LIST(9, 7, 4, 0));
    GRADIENT(maxima, WF_SHAPE(6), LIST(1, 3, 2, 3, 5, 4), LIST(1, 3, 0, 0, 2, 0));
    GRADIENT(log_sum_exp, WF_SHAPE(3), LIST(0, -INFINITY, 0), LIST(0.5, 0, 0.5));
    GRADIENT(safe_log_sum_exp, WF_SHAPE(4), LIST(1000, 1000, 1000, 1000), LIST(0.25, 0.25, 0.25, 0.25));
}

/* ---- elements by index ---- */
FORMULA(diagonal, wf_mul(2, wf_read(g, a, wf_iota(g, WF_SHAPE(3), 0), wf_iota(g, WF_SHAPE(3), 0))))
FORMULA(every_second, wf_read(g, a, wf_mul(wf_iota(g, WF_SHAPE(3), 0), 2)))
FORMULA(each_twice, wf_mul(wf_read(g, a, wf_idiv(wf_iota(g, WF_SHAPE(6), 0), 2)), wf_iota(g, WF_SHAPE(6), 0)))
FORMULA(sevens, wf_mul(wf_concat(0, x, wf_reverse(wf_slice(x, 0, 1, 3, 1), 0)), 7))
/* Seven reads from 3 before the array on, weighted by 1 to 64. */
#define WINDOW(mode)                                                             \
    wf_mul(wf_read_border(g, a, mode, 5, wf_sub(wf_iota(g, WF_SHAPE(7), 0), 3)), \
           wf_exp2(wf_cast(wf_iota(g, WF_SHAPE(7), 0), WF_F64)))
FORMULA(with_value, WINDOW(WF_BORDER_VALUE))
FORMULA(clamped, WINDOW(WF_BORDER_CLAMP))
FORMULA(wrapped, WINDOW(WF_BORDER_PERIODIC))
FORMULA(mirrored, WINDOW(WF_BORDER_MIRROR))
FORMULA(reflected, WINDOW(WF_BORDER_REFLECT))
static void elements(void **state)
{
    (void)state;
    const double x[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    GRADIENT(diagonal, WF_SHAPE(3, 3), x, LIST(2, 0, 0, 0, 2, 0, 0, 0, 2));
    GRADIENT(every_second, WF_SHAPE(5), x, LIST(1, 0, 1, 0, 1));
    GRADIENT(each_twice, WF_SHAPE(3), x, LIST(1, 5, 9));
    GRADIENT(sevens, WF_SHAPE(3), x, LIST(7, 14, 14));
    GRADIENT(with_value, WF_SHAPE(2), x, LIST(8, 16));
    GRADIENT(clamped, WF_SHAPE(2), x, LIST(15, 112));
    GRADIENT(wrapped, WF_SHAPE(2), x, LIST(2 + 8 + 32, 1 + 4 + 16 + 64));
    /* places -3..3 of (a, b): mirrored b b a | a b | b a ..., reflected b a b | a b | a b */
    GRADIENT(mirrored, WF_SHAPE(2), x, LIST(4 + 8 + 64, 1 + 2 + 16 + 32));
    GRADIENT(reflected, WF_SHAPE(2), x, LIST(2 + 8 + 32, 1 + 4 + 16 + 64));
    GRADIENT(wrapped, WF_SHAPE(1), x, LIST(127));
}

/* ---- memory ---- */
/* Two stores to an element: the last one has the derivative. Where a store has a condition, the old value keeps its. */
static void stores(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(3), LIST(1, 2, 3)),
             *b = array_of(ctx, WF_F64, WF_SHAPE(3), LIST(4, 5, 6));
    wf_array *c = array_of(ctx, WF_F64, WF_SHAPE(3), LIST(7, 8, 9));
    wf_val d[3];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b), z = wf_in(g, c), i = wf_iota(g, WF_SHAPE(3), 0);
    wf_write(g, a, wf_mul(y, 10), i);
    wf_write_if(g, wf_lt(z, 9), a, wf_mul(z, 100), i);
    wf_grad(total(wf_mul(wf_in(g, a), wf_add(i, 1))), WF_VALS(x, y, z), d);
    wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST(0, 0, 0), 0, __LINE__);
    expect(out[1], LIST(0, 0, 30), 0, __LINE__);
    expect(out[2], LIST(100, 200, 0), 0, __LINE__);
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

/* x *= x: the derivative is by the array as it was. One array that is wanted twice has both derivatives, and an
 * evaluation before changes nothing. */
static void in_place(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(3), LIST(1, 2, 3));
    wf_val d[3];
    wf_graph *g = wf_begin(ctx);
    wf_array *other = wf_keep(wf_add(wf_in(g, a), 1));
    OK(ctx, wf_eval(g));
    wf_val x = wf_in(g, a), again = wf_in(g, a);
    wf_out(g, a, wf_mul(x, x));
    wf_val after = wf_in(g, a);
    wf_grad(total(wf_mul(after, after)), WF_VALS(x, again, after), d);
    wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST(4, 32, 108), 0, __LINE__);
    expect(out[1], LIST(4, 32, 108), 0, __LINE__);
    expect(out[2], LIST(2, 8, 18), 0, __LINE__);
    wf_release(other);
    wf_release(a);
}

/* Arrays that share memory are refused where a derivative passes from one to the other; parts that lie apart, and a copy
 * on write, are not. */
static void shared_memory(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(4), LIST(1, 2, 3, 4)), *copy = wf_copy(a);
    wf_array *left = wf_view_slice(a, 0, 0, 2, 1), *right = wf_view_slice(a, 0, 2, 4, 1);
    wf_val d[3], x;
    wf_graph *g = wf_begin(ctx);
    wf_grad(total(wf_in(g, left)), WF_VALS(wf_in(g, a)), d);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "memory that two arrays share");
    for (int constant = 0; constant < 2; ++constant) {
        g = wf_begin(ctx);
        x = wf_in(g, a);
        wf_out(g, right, constant ? wf_const(g, WF_F64, 5) : wf_mul(wf_in(g, right), 10));
        wf_jvp(WF_VALS(total(wf_in(g, a))), WF_VALS(x), WF_VALS(1), d);
        REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "memory that two arrays share");
    }
    g = wf_begin(ctx);
    wf_val parts[] = { wf_in(g, left), wf_in(g, right), wf_in(g, copy) };
    wf_grad(total(wf_mul(wf_mul(parts[0], parts[1]), wf_slice(parts[2], 0, 0, 2, 1))), ((wf_vals){ parts, 3 }), d);
    wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST(3, 8), 0, __LINE__);
    expect(out[1], LIST(1, 4), 0, __LINE__);
    expect(out[2], LIST(3, 8, 0, 0), 0, __LINE__);
    wf_array *all[] = { a, copy, left, right };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* ---- dtypes ---- */
static void casts(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(1, 0.1));
    wf_val d[3];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), half = wf_cast(x, WF_F16);
    wf_grad(total(wf_cast(wf_cast(x, WF_F32), WF_F64)), WF_VALS(x), &d[0]);
    wf_grad(total(wf_mul(half, half)), WF_VALS(half), &d[1]);
    wf_grad(total(wf_cast(wf_cast(x, WF_I32), WF_F64)), WF_VALS(x), &d[2]);
    assert_int_equal(wf_val_dtype(d[0]), WF_F64);
    assert_int_equal(wf_val_dtype(d[1]), WF_F32);
    wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST(1, 1), 0, __LINE__);
    expect(out[1], LIST(2, 2 * 0x1.998p-4), 0, __LINE__);
    expect(out[2], LIST(0, 0), 0, __LINE__);
    wf_release(a);
}

/* A number that is broadcast to many points collects their derivatives without losing small ones. */
static void many_points(void **state)
{
    (void)state;
    const int64_t n = sized(1 << 20, 1 << 10);
    wf_array *s = array_of(ctx, WF_F32, WF_SCALAR, (const float[]){ 3 });
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, s), i = wf_cast(wf_mod(wf_iota(g, WF_SHAPE(n), 0), 4), WF_F32);
    wf_grad(total(wf_mul(x, wf_add(wf_mul(i, 0.1f), 0.7f))), WF_VALS(x), &gradient);
    wf_array *out = wf_keep(gradient);
    OK(ctx, wf_run(g));
    expect(out, LIST(0.85 * (double)n), 1e-6, __LINE__);
    wf_release(s);
}

/* ---- second derivatives ---- */
/* Levels are not confused: the derivative of x times (that of x y^2 by y, at y = x) is 6 x^2. */
static void levels(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(2, -3));
    wf_val inner, outer;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_add(x, wf_sub(wf_iota(g, WF_SHAPE(2), 0), wf_iota(g, WF_SHAPE(2), 0)));
    wf_val own = wf_mul(x, 1.5), square = wf_mul(x, wf_mul(own, own));
    wf_grad(total(square), WF_VALS(own), &inner); /* 2 x own = 3 x^2 */
    wf_grad(total(wf_mul(y, inner)), WF_VALS(x), &outer);
    wf_array *out = wf_keep(outer);
    OK(ctx, wf_run(g));
    expect(out, LIST(36, 81), 1e-13, __LINE__);
    wf_release(a);
}

/* The Hessian of Rosenbrock's function (1 - a)^2 + 100 (b - a^2)^2 times a vector; and of a maximum, which is 0. */
static void hessians(void **state)
{
    (void)state;
    const double a = -1.25, b = 0.5, u = 0.75, v = -2;
    wf_array *p = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(a, b)), *q = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(u, v));
    wf_val gradient, product_of_hessian, flat, none;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, p), first = wf_slice(x, 0, 0, 1, 1), second = wf_slice(x, 0, 1, 2, 1);
    wf_val one = wf_sub(1, first), two = wf_sub(second, wf_mul(first, first));
    wf_grad(wf_add(wf_mul(one, one), wf_mul(100, wf_mul(two, two))), WF_VALS(x), &gradient);
    wf_jvp(WF_VALS(gradient), WF_VALS(x), WF_VALS(wf_in(g, q)), &product_of_hessian);
    wf_grad(wf_reduce(WF_JOIN_MAX, x, WF_ALL_AXES), WF_VALS(x), &flat);
    wf_jvp(WF_VALS(flat), WF_VALS(x), WF_VALS(1), &none);
    wf_array *out[] = { wf_keep(product_of_hessian), wf_keep(none) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST((2 - 400 * b + 1200 * a * a) * u - 400 * a * v, -400 * a * u + 200 * v), 1e-12, __LINE__);
    expect(out[1], LIST(0, 0), 0, __LINE__);
    wf_release(p);
    wf_release(q);
}

/* ---- what does not depend; shapes without elements ---- */
static void independent(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(1, 2)), *b = array_of(ctx, WF_F64, WF_SHAPE(2), LIST(3, 4));
    wf_val d[3];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b), stopped = wf_stop(wf_mul(x, x));
    assert_true(wf_depends(wf_mul(x, y), WF_VALS(y)));
    assert_false(wf_depends(wf_mul(x, x), WF_VALS(y)));
    assert_false(wf_depends(stopped, WF_VALS(x)));
    wf_array *part = wf_view_slice(a, 0, 0, 1, 1);
    assert_true(wf_depends(wf_exp(wf_in(g, part)), WF_VALS(x)));
    assert_false(wf_depends(wf_exp(wf_in(g, part)), WF_VALS(y)));
    wf_release(part);
    wf_grad(total(wf_add(wf_mul(stopped, x), wf_mul(x, x))), WF_VALS(x, y), d);
    /* the value of one and the derivative of another */
    wf_val z = wf_add(wf_mul(x, 5), wf_stop(wf_sub(wf_exp(x), wf_mul(x, 5))));
    wf_grad(total(z), WF_VALS(x), &d[2]);
    wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]), wf_keep(z) };
    OK(ctx, wf_run(g));
    expect(out[0], LIST(1 + 2, 4 + 4), 0, __LINE__);
    expect(out[1], LIST(0, 0), 0, __LINE__);
    expect(out[2], LIST(5, 5), 0, __LINE__);
    expect(out[3], LIST(exp(1), exp(2)), 1e-15, __LINE__);
    wf_release(a);
    wf_release(b);
}

static void few_elements(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; ++rank) { /* the loss has the shape () or (1, 1) */
        wf_array *empty = wf_empty(ctx, WF_F64, WF_SHAPE(0, 3)), *s = array_of(ctx, WF_F64, WF_SCALAR, LIST(3));
        wf_val d[2];
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, empty), y = wf_in(g, s);
        wf_val loss = wf_add(wf_mul(y, y), wf_reshape(total(wf_mul(wf_exp(x), y)), WF_SCALAR));
        loss = rank ? wf_reshape(loss, WF_SHAPE(1, 1)) : loss;
        wf_grad(loss, WF_VALS(x, y), d);
        wf_array *out[] = { wf_keep(d[0]), wf_keep(d[1]) };
        OK(ctx, wf_run(g));
        assert_int_equal(wf_array_count(out[0]), 0);
        expect(out[0], NULL, 0, __LINE__);
        expect(out[1], LIST(6), 0, __LINE__);
        wf_release(empty);
        wf_release(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),       cmocka_unit_test(ties),        cmocka_unit_test(joins),
        cmocka_unit_test(elements),     cmocka_unit_test(stores),      cmocka_unit_test(in_place),
        cmocka_unit_test(casts),        cmocka_unit_test(many_points), cmocka_unit_test(shared_memory),
        cmocka_unit_test(levels),       cmocka_unit_test(hessians),    cmocka_unit_test(independent),
        cmocka_unit_test(few_elements),
    };
    return RUN_ON_ALL(tests);
}
