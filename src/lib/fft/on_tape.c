/* on_tape.c - the transform of an axis on a tape, whose passes have no derivative: tapes note a rule in place of them.
 *
 * The adjoint of a transform is the one with the opposite sign and the same scale. Of the transforms between real elements
 * and a half spectrum it is the other one, where each element of the spectrum that stands for two counts twice, or half:
 *
 *     x[j] = c[0] Re X[0] + ... + c[k] Re(X[k] exp(2 pi i j k / n)) + ...    c = 1 for k = 0 and k = n/2, else 2
 */
#include "transform.h"

/* What a rule needs besides its arrays. It is an array as well, since it has to live as long as the tape. */
enum { KIND, INVERSE, LENGTH, OUTER, INNER, SCALE, PART, NUMBERS };

static wf_array *numbers_of(const wfl_axis_pass *a)
{
    const double number[NUMBERS] = {
        [KIND] = a->kind,           [INVERSE] = a->plan->inverse, [LENGTH] = (double)a->n, [OUTER] = (double)a->outer,
        [INNER] = (double)a->inner, [SCALE] = a->scale,           [PART] = a->plan->part
    };
    wf_array *array = wf_empty(a->plan->ctx, WF_F64, WF_SHAPE(NUMBERS));
    if (array && wf_upload(array, number, sizeof number) != WF_OK) {
        wf_release(array);
        array = NULL;
    }
    return array;
}

/* Describes the transform that the numbers are of. */
static wf_status read_numbers(const wf_array *array, wfl_plan *plan, wfl_axis_pass *a)
{
    double number[NUMBERS];
    const wf_status status = wf_download(array, number, sizeof number);
    if (status != WF_OK)
        return status;
    *plan = (wfl_plan){ .ctx = wf_array_context(array),
                        .function = "wf_fft",
                        .inverse = number[INVERSE] != 0,
                        .part = (wf_dtype)number[PART] };
    *a = (wfl_axis_pass){ .plan = plan,
                          .kind = (wfl_fft_kind)number[KIND],
                          .n = (int64_t)number[LENGTH],
                          .outer = (int64_t)number[OUTER],
                          .inner = (int64_t)number[INNER],
                          .scale = number[SCALE] };
    return WF_OK;
}

static wf_status transform(void *user, wf_arrays in, wf_arrays out)
{
    wfl_plan plan;
    wfl_axis_pass a;
    (void)user;
    const wf_status status = read_numbers(in.at[1], &plan, &a);
    return status == WF_OK ? wfl_transform_axis_untaped(&a, out.at[0], in.at[0]) : status;
}

/* to = the half spectrum `from`, where elements that stand for two are multiplied. n: the length of the lines in space. */
static wf_status multiply_pairs(const wfl_plan *p, wf_array *to, const wf_array *from, int64_t n, double factor)
{
    const wf_shape shape = wf_array_shape(from);
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val k = wf_iota(g, shape, 1), v = wf_in(g, from);
    wf_val one = wf_or(wf_eq(k, 0), wf_eq(wf_mul(k, 2), (double)n));
    wf_out(g, to, wf_select(one, v, wf_mul(v, factor)));
    return wf_run(g);
}

/* to = the real parts. */
static wf_status take_real(const wfl_plan *p, wf_array *to, const wf_array *from)
{
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_out(g, to, wf_real(wf_in(g, from)));
    return wf_run(g);
}

/* Sets the derivative with respect to x from that with respect to y, where `a` is the transform back. */
static wf_status transform_back(const wfl_axis_pass *a, const wf_array *of_y, wf_array *of_x)
{
    const wfl_plan *p = a->plan;
    if (a->kind == WFL_FFT_R2C) {
        const wf_status status = wfl_transform_axis_untaped(a, of_x, of_y);
        return status == WF_OK ? multiply_pairs(p, of_x, of_x, a->n, 2) : status;
    }
    if (a->kind == WFL_FFT_C2C && wfl_is_complex_dtype(wf_array_dtype(of_x)))
        return wfl_transform_axis_untaped(a, of_x, of_y);
    wf_array *between = wfl_new_beside(of_y, wfl_complex_dtype(p->part), wf_array_shape(of_y));
    wf_status status = between ? WF_OK : wfl_array_error(p->ctx);
    if (between && a->kind == WFL_FFT_C2R) {
        status = multiply_pairs(p, between, of_y, a->n, 0.5);
        status = status == WF_OK ? wfl_transform_axis_untaped(a, of_x, between) : status;
    } else if (between) {
        status = wfl_transform_axis_untaped(a, between, of_y);
        status = status == WF_OK ? take_real(p, of_x, between) : status;
    }
    wf_release(between);
    return status;
}

static wf_status differentiate(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    static const wfl_fft_kind back[] = {
        [WFL_FFT_C2C] = WFL_FFT_C2C, [WFL_FFT_R2C] = WFL_FFT_C2R, [WFL_FFT_C2R] = WFL_FFT_R2C
    };
    wfl_plan plan;
    wfl_axis_pass a;
    (void)user;
    (void)out;
    wf_status status = read_numbers(in.at[1], &plan, &a);
    if (status != WF_OK || !grads.at[0])
        return status;
    a.kind = back[a.kind];
    plan.inverse = !plan.inverse;
    return transform_back(&a, upstream.at[0], grads.at[0]);
}

wf_status wfl_transform_axis(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    if (a->kind == WFL_FFT_CHIRP || !wfl_is_taped(y, x))
        return wfl_transform_axis_untaped(a, y, x);
    const wf_array_rule rule = {
        .size = sizeof rule, .name = a->plan->function, .call = transform, .vjp = differentiate
    };
    wf_array *numbers = numbers_of(a);
    wf_status status = numbers ? wf_custom_arrays(a->plan->ctx, &rule, WF_ARRAYS((wf_array *)x, numbers), WF_ARRAYS(y))
                               : wfl_array_error(a->plan->ctx);
    wf_release(numbers);
    return status;
}
