/* tape_linear.h - derivatives of linear functions of an array on a tape, beside their values for other arrays. The
 * derivative of a sum of results with weights by an element is that sum for an array with a 1 there and zeros elsewhere. Of
 * a function with a constant besides, it is the difference from the sum for zeros.
 */
#ifndef WEFT_TAPE_LINEAR_H
#define WEFT_TAPE_LINEAR_H
#include "close_numbers.h"
#include "weft/derivative.h"

enum { MOST_NUMBERS = 700 };

typedef struct function {
    const char *name;
    wf_array *(*of)(const wf_array *x);
    wf_shape shape;
    bool complex; /* x is */
} function;

/* The loss sum(Re(conj(weight) y)), with weights that depend on the place. */
static inline wf_array *loss_of(const wf_array *y)
{
    const wf_shape shape = wf_array_shape(y);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, (wf_array *)y), at = wf_const(g, WF_F64, 0.5);
    for (int d = 0; d < shape.rank; ++d)
        at = wf_add(wf_mul(at, 3.7), wf_cast(wf_iota(g, shape, d), WF_F64));
    wf_val term = wf_mul(wf_real(v), wf_sin(at));
    if (wf_dtype_kind(wf_array_dtype(y)) == WF_KIND_COMPLEX)
        term = wf_add(term, wf_mul(wf_imag(v), wf_cos(at)));
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, term, WF_ALL_AXES));
    OK(ctx, wf_run(g));
    return loss;
}

static inline double loss_number(const function *f, const wf_array *x)
{
    wf_array *y = f->of(x);
    if (!y)
        fail_msg("%s: %s", f->name, wf_last_message(ctx));
    wf_array *loss = loss_of(y);
    const double value = scalar_f64(loss);
    RELEASE(y, loss);
    return value;
}

static inline wf_dtype dtype_of_function(const function *f, wf_dtype real)
{
    return !f->complex ? real : real == WF_F64 ? WF_C128 : real == WF_F16 ? WF_C32 : WF_C64;
}

/* An array of the function's shape with these numbers: elements, or their parts. */
static inline wf_array *argument_of(const function *f, wf_dtype real, const double *number)
{
    wf_array *wide = array_of(ctx, f->complex ? WF_C128 : WF_F64, f->shape, number);
    wf_array *x = wf_array_cast(wide, dtype_of_function(f, real));
    wf_release(wide);
    return x;
}

/* The derivatives at x by all elements, or by their parts, on a tape. free() them. */
static inline double *derivatives_at(const function *f, wf_array *x)
{
    wf_array *grad = wf_like(x);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_array *y = f->of(x);
    if (!y)
        fail_msg("%s: %s", f->name, wf_last_message(ctx));
    assert_true(wf_is_taped(y));
    wf_array *loss = loss_of(y);
    if (wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)) != WF_OK)
        fail_msg("%s: %s", f->name, wf_last_message(ctx));
    wf_tape_free(tape);
    wf_array *wide = wf_array_cast(grad, f->complex ? WF_C128 : WF_F64);
    double *got = contents(wide);
    RELEASE(grad, y, loss, wide);
    return got;
}

/* Those at 0. */
static inline double *derivatives_of(const function *f, wf_dtype real)
{
    wf_array *x = wf_full(ctx, dtype_of_function(f, real), f->shape, 0);
    double *got = derivatives_at(f, x);
    RELEASE(x);
    return got;
}

static inline int numbers_in(const function *f)
{
    int n = f->complex ? 2 : 1;
    for (int d = 0; d < f->shape.rank; ++d)
        n *= (int)f->shape.dim[d];
    return n;
}

/* The rounding of a sum of some terms. */
static inline double rounding_in(wf_dtype real)
{
    return real == WF_F64 ? 1e-12 : real == WF_F32 ? 1e-5 : real == WF_F16 ? 2e-3 : 2e-2;
}

/* Compares all derivatives with the losses of unit arrays. */
static inline void differentiate(const function *f, wf_dtype real)
{
    const int n = numbers_in(f);
    double unit[MOST_NUMBERS] = { 0 };
    assert_in_range(n, 1, MOST_NUMBERS);
    wf_array *zeros = argument_of(f, real, unit);
    const double at_zero = loss_number(f, zeros);
    double *got = derivatives_of(f, real);
    for (int i = 0; i < n; ++i) {
        unit[i] = 1;
        wf_array *x = argument_of(f, real, unit);
        unit[i] = 0;
        const double want = loss_number(f, x) - at_zero;
        if (!(fabs(got[i] - want) <= rounding_in(real) * n))
            fail_msg("%s: the derivative by number %d is %.15g and should be %.15g", f->name, i, got[i], want);
        wf_release(x);
    }
    wf_release(zeros);
    free(got);
}

/* Compares the derivative along one direction, that of an array of numbers between -1 and 1, with the loss there: for
 * arrays with too many elements for as many losses. */
static inline void differentiate_along(const function *f, wf_dtype real)
{
    const int n = numbers_in(f);
    double *number = calloc((size_t)n, sizeof *number), along = 0, size = 0;
    uint64_t seed = 1;
    assert_non_null(number);
    wf_array *zeros = argument_of(f, real, number);
    for (int i = 0; i < n; ++i)
        number[i] = (double)(float)test_random_number(&seed);
    wf_array *x = argument_of(f, real, number);
    const double want = loss_number(f, x) - loss_number(f, zeros);
    double *got = derivatives_of(f, real);
    for (int i = 0; i < n; ++i) {
        along += got[i] * number[i];
        size += fabs(got[i] * number[i]);
    }
    if (!(fabs(along - want) <= rounding_in(real) * size))
        fail_msg("%s: the derivative along an array is %.15g and should be %.15g", f->name, along, want);
    RELEASE(zeros, x);
    free(number);
    free(got);
}
#endif
