/* distributed.c - transforms of distributed arrays, as functions along axes (lines.h). Axes are transformed in the order of
 * one process. The way of an axis depends on the whole array (wfl_plan.whole), so ranks compute the bits of one process.
 */
#include "lib/array/lines.h"
#include "transform.h"

typedef struct job {
    const wfl_whole *w;
    wfl_plan plan;  /* of the blocks */
    wf_shape shape; /* of the whole x */
} job;

static wf_status transform_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    const job *j = l->user;
    const bool is_first = first == 0, is_last = first + count == l->steps, to_real = j->w->kind == WFL_FFT_C2R;
    wfl_whole part = { &j->plan, WFL_FFT_C2C, 0, is_last ? j->w->scale : 1 };
    if (to_real ? is_last : is_first)
        part.kind = j->w->kind;
    for (int k = first; k < first + count; ++k)
        part.axes |= l->axes[k];
    return wfl_run_whole(&part, y, x);
}

static void between(const wfl_lines *l, int done, wf_dtype *dtype, wf_shape *shape)
{
    const job *j = l->user;
    (void)done;
    if (j->w->kind != WFL_FFT_C2R)
        return;
    *dtype = wfl_complex_dtype(j->plan.part);
    *shape = j->shape;
}

wf_status wfl_run_distributed(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    const int last = wfl_last_of(w->axes);
    const bool to_real = w->kind == WFL_FFT_C2R;
    job j = { .w = w, .plan = *w->plan, .shape = wf_array_shape(x) };
    wfl_lines l = { .ctx = j.plan.ctx, .function = j.plan.function, .run = transform_block, .between = between };
    l.user = &j;
    j.plan.whole = w->kind == WFL_FFT_R2C ? wf_array_shape(y) : j.shape;
    for (int d = last - to_real; d >= 0; --d)
        if (w->axes >> d & 1)
            l.axes[l.steps++] = WF_AXES(d);
    if (to_real)
        l.axes[l.steps++] = WF_AXES(last);
    return wfl_lines_run(&l, y, x);
}
