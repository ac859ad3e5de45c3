/* on_tape.c - transforms on a tape, where their passes have no derivative: the tape notes a rule in place of them.
 *
 * The adjoint of a transform is the one with the opposite sign and the same scale. Of the transforms between real elements
 * and a half spectrum it is the other one, where each element of the spectrum that stands for two counts twice, or half:
 *
 *     x[j] = c[0] Re X[0] + ... + c[k] Re(X[k] exp(2 pi i j k / n)) + ...    c = 1 for k = 0 and k = n/2, else 2
 */
#include "transform.h"

/* The numbers of a rule. */
enum { KIND, INVERSE, AXES, SCALE, PART, NUMBERS };

/* Describes the transform that the inputs of a rule are of. */
static wf_status read_numbers(wf_arrays in, wfl_plan *plan, wfl_whole *w)
{
    double number[NUMBERS];
    const wf_status status = wfl_noted_numbers(in, number, NUMBERS);
    if (status != WF_OK)
        return status;
    *plan = (wfl_plan){ .ctx = wf_array_context(in.at[0]),
                        .function = "wf_fft",
                        .inverse = number[INVERSE] != 0,
                        .part = (wf_dtype)number[PART] };
    *w = (wfl_whole){ plan, (wfl_fft_kind)number[KIND], (wf_axes)number[AXES], number[SCALE] };
    return WF_OK;
}

static wf_status transform(void *user, wf_arrays in, wf_arrays out)
{
    wfl_plan plan;
    wfl_whole w;
    (void)user;
    const wf_status status = read_numbers(in, &plan, &w);
    return status == WF_OK ? wfl_run_repeated(&w, out.at[0], in.at[0]) : status;
}

/* to = the half spectrum `from`, where elements that stand for two are multiplied. n: the length of the lines in space. */
static wf_status multiply_pairs(const wfl_whole *w, wf_array *to, const wf_array *from, int64_t n, double factor)
{
    const wf_shape shape = wf_array_shape(from);
    wf_graph *g = wfl_begin(w->plan->ctx, w->plan->function);
    wf_val k = wf_iota(g, shape, wfl_last_of(w->axes)), v = wf_in(g, from);
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

/* Sets the derivative with respect to x from that with respect to y, where `w` is the transform back. */
static wf_status transform_back(const wfl_whole *w, const wf_array *of_y, wf_array *of_x)
{
    const wfl_plan *p = w->plan;
    const int last = wfl_last_of(w->axes);
    if (w->kind == WFL_FFT_R2C) {
        const wf_status status = wfl_run_repeated(w, of_x, of_y);
        return status == WF_OK ? multiply_pairs(w, of_x, of_x, wf_array_shape(of_y).dim[last], 2) : status;
    }
    if (w->kind == WFL_FFT_C2C && wfl_is_complex_dtype(wf_array_dtype(of_x)))
        return wfl_run_repeated(w, of_x, of_y);
    wf_array *between = wfl_new_beside(of_y, wfl_complex_dtype(p->part), wf_array_shape(of_y));
    wf_status status = between ? WF_OK : wfl_array_error(p->ctx);
    if (between && w->kind == WFL_FFT_C2R) {
        status = multiply_pairs(w, between, of_y, wf_array_shape(of_x).dim[last], 0.5);
        status = status == WF_OK ? wfl_run_repeated(w, of_x, between) : status;
    } else if (between) {
        status = wfl_run_repeated(w, between, of_y);
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
    wfl_whole w;
    (void)user;
    (void)out;
    wf_status status = read_numbers(in, &plan, &w);
    if (status != WF_OK || !grads.at[0])
        return status;
    w.kind = back[w.kind];
    plan.inverse = !plan.inverse;
    return transform_back(&w, upstream.at[0], grads.at[0]);
}

wf_status wfl_run_on_tape(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    const wf_array_rule rule = {
        .size = sizeof rule, .name = w->plan->function, .call = transform, .vjp = differentiate
    };
    const double number[NUMBERS] = {
        [KIND] = w->kind, [INVERSE] = w->plan->inverse, [AXES] = w->axes, [SCALE] = w->scale, [PART] = w->plan->part
    };
    return wfl_run_noted(&rule, y, x, number, NUMBERS);
}
