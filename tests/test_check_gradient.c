/* test_check_gradient.c - wf_check_gradient: gradients that agree with differences and some that do not, of recorded losses,
 * of functions and through a tape; what is compared, and by how much it differs.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/optimize.h"

enum { H = 2, W = 3 };
static const float X[H * W] = { 0.5f, -1, 2, 0.25f, -0.75f, 1.5f };
static const float Z[2 * W] = { 1, 2, -0.5f, 0.25f, 3, -1 };

typedef struct heard {
    int directions[2], elements[2], imaginary, differing;
    double gradient[2][2 * H * W]; /* by element; of the second array by its parts */
} heard;

static void listen(void *user, const wf_gradient_finding *f)
{
    heard *h = user;
    h->differing += f->differs;
    h->imaginary += f->imaginary;
    if (f->element < 0) {
        ++h->directions[f->array];
        assert_true(fabs(f->forward - f->gradient) <= 1e-10 * (1 + fabs(f->gradient)));
    } else {
        ++h->elements[f->array];
        assert_true(isnan(f->forward));
        h->gradient[f->array][f->array ? 2 * f->element + f->imaginary : f->element] = f->gradient;
    }
}

/* sum(x^3) + sum(|z|^2), of f32 and c64: parameters are wide. */
static wf_val smooth(wf_graph *g, const wf_val *params, void *user)
{
    (void)g;
    (void)user;
    assert_int_equal(wf_val_dtype(params[0]), WF_F64);
    assert_int_equal(wf_val_dtype(params[1]), WF_C128);
    wf_val size = wf_abs(params[1]);
    return wf_add(total(wf_mul(params[0], wf_mul(params[0], params[0]))), total(wf_mul(size, size)));
}

static void agreement(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(H, W), X), *z = array_of(ctx, WF_C64, WF_SHAPE(W), Z);
    wf_gradient_finding worst = { .size = sizeof worst };
    heard h = { .imaginary = 0 };
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(x, z), smooth, NULL, &worst, .each = listen, .user = &h));
    assert_false(worst.differs);
    assert_true(worst.beyond <= 0);
    assert_int_equal(h.differing, 0);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(h.directions[k], 2);
        assert_int_equal(h.elements[k], 6);
    }
    assert_int_equal(h.imaginary, W);
    for (int i = 0; i < H * W; ++i) {
        assert_true(fabs(h.gradient[0][i] - 3.0 * X[i] * X[i]) < 1e-12);
        assert_true(fabs(h.gradient[1][i] - 2.0 * Z[i]) < 1e-12);
    }
    float now[H * W];
    OK(ctx, wf_download(x, now, sizeof now));
    assert_memory_equal(now, X, sizeof now);
    wf_release(x);
    wf_release(z);
}

/* The value x^2 with the derivative of x^3, where *user says so. */
static wf_val crooked(wf_graph *g, const wf_val *params, void *user)
{
    wf_val x = params[1], y = wf_mul(x, x);
    (void)g;
    return wf_add(total(*(bool *)user ? wf_replace_gradient(y, wf_mul(y, x)) : y), total(params[0]));
}

static void difference(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(H, W), X), *y = wf_full(ctx, WF_F32, WF_SHAPE(2), 5);
    wf_gradient_finding worst = { .size = sizeof worst };
    bool wrong = true;
    heard h = { .imaginary = 0 };
    OK(ctx,
       wf_check_gradient(ctx, WF_ARRAYS(y, x), crooked, &wrong, &worst, .directions = 1, .each = listen, .user = &h));
    assert_true(worst.differs);
    assert_int_equal(worst.array, 1);
    assert_int_equal(h.differing, 7); /* a direction and all elements, of which none is 0 or 2/3 */
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(y, x), crooked, &wrong, &worst, .directions = 1, .elements = 3));
    assert_true(worst.differs);
    if (worst.element >= 0) {
        double at = X[worst.element];
        assert_true(fabs(worst.gradient - 3 * at * at) < 1e-9 && fabs(worst.difference - 2 * at) < 1e-6);
    }
    wrong = false;
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(y, x), crooked, &wrong, &worst));
    assert_false(worst.differs);
    wf_release(x);
    wf_release(y);
}

/* Of one element, what differs is known in words. */
static wf_val of_one(wf_graph *g, const wf_val *params, void *user)
{
    (void)g;
    (void)user;
    return total(wf_mul(wf_stop(wf_slice(params[0], 1, 2, 3, 1)), 3));
}

static void words(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(H, W), X);
    wf_gradient_finding worst = { .size = sizeof worst };
    heard h = { .imaginary = 0 };
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), of_one, NULL, &worst, .directions = 1, .each = listen, .user = &h));
    assert_int_equal(h.differing, 3); /* a direction, and elements (0, 2) and (1, 2) */
    assert_true(worst.differs);
    if (worst.element >= 0)
        assert_non_null(strstr(worst.text, worst.element == 2 ? "array 0, element (0, 2): the derivative is 0, and by "
                                                                "differences 3"
                                                              : "array 0, element (1, 2): the derivative is 0, and by "
                                                                "differences 3"));
    else
        assert_non_null(strstr(worst.text, "array 0, along a direction: the derivative is 0, and by differences"));
    wf_release(x);
}

/* ---- functions ---- */
typedef struct program {
    double slope; /* what is added to the forward derivative */
} program;

static wf_status square(wf_arrays params, wf_array **loss)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, params.at[0]);
    *loss = wf_keep(total(wf_mul(x, x)));
    return wf_run(g);
}

static wf_status program_loss(void *user, wf_arrays params, double *loss)
{
    wf_array *out;
    (void)user;
    wf_status status = square(params, &out);
    *loss = status == WF_OK ? scalar_f64(out) : 0;
    wf_release(out);
    return status;
}

static wf_status program_gradient(void *user, wf_arrays params, wf_arrays grads)
{
    wf_array *loss;
    (void)user;
    wf_tape *tape = wf_tape_begin(ctx, params);
    wf_status status = square(params, &loss);
    wf_tape_end(tape);
    if (status == WF_OK)
        status = wf_tape_grad(tape, loss, params, grads);
    wf_tape_free(tape);
    wf_release(loss);
    return status;
}

static wf_status program_tangent(void *user, wf_arrays params, size_t which, const wf_array *direction, double *slope)
{
    const program *p = user;
    double *x = contents(params.at[which]), sum = 0;
    wf_array *copy = wf_copy(direction);
    double *u = contents(copy);
    for (int i = 0; i < H * W; ++i)
        sum += 2 * x[i] * u[i];
    *slope = sum + p->slope;
    free(x);
    free(u);
    wf_release(copy);
    return WF_OK;
}

static void functions(void **state)
{
    (void)state;
    const wf_gradient_functions all = { program_loss, program_gradient, program_tangent };
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(H, W), X);
    wf_gradient_finding worst = { .size = sizeof worst };
    program p = { .slope = 0 };
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), NULL, &p, &worst, .functions = &all));
    assert_false(worst.differs);
    p.slope = 1e-3;
    OK(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), NULL, &p, &worst, .functions = &all));
    assert_true(worst.differs && worst.element < 0);
    assert_non_null(strstr(worst.text, "and in forward mode"));
    wf_release(x);
}

static wf_val several(wf_graph *g, const wf_val *params, void *user)
{
    (void)g;
    (void)user;
    return params[0];
}

static void refused(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F32, WF_SHAPE(H, W), X), *i = wf_full(ctx, WF_I32, WF_SHAPE(2), 1);
    REFUSED(ctx, wf_check_gradient(ctx, WF_ARRAYS(x, i), smooth, NULL, NULL), WF_ERR_DTYPE, "array 1 is i32");
    REFUSED(ctx, wf_check_gradient(ctx, WF_NO_ARRAYS, smooth, NULL, NULL), WF_ERR_ARG, "1 to 64 arrays");
    REFUSED(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), NULL, NULL, NULL), WF_ERR_ARG, "`functions`");
    REFUSED(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), several, NULL, NULL), WF_ERR_SHAPE,
            "the loss has several elements");
    REFUSED(ctx, wf_check_gradient(ctx, WF_ARRAYS(x), several, NULL, NULL, .tolerance = -1), WF_ERR_ARG, "`tolerance`");
    wf_release(x);
    wf_release(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement), cmocka_unit_test(difference), cmocka_unit_test(words),
        cmocka_unit_test(functions), cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
