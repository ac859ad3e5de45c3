/* Two images are registered: the shift between them is found by Gauss-Newton steps. wf_jvp gives the columns of the
 * Jacobian of the residuals, a moved image minus the other, through an interpolated read; wf_grad gives their slope. */
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>
#include <weft/xform.h>

enum { N = 64, STEPS = 12 };

static double blobs(double y, double x)
{
    return exp(-(pow(y - 26, 2) + pow(x - 30, 2)) / 60) + 0.7 * exp(-(pow(y - 40, 2) / 30 + pow(x - 22, 2) / 90)) -
           0.5 * exp(-(pow(y - 36, 2) + pow(x - 44, 2)) / 40);
}

/* normal[5] = J0.J0, J0.J1, J1.J1 and the derivative of half the squared residuals with respect to shift[2]. */
static wf_status equations(wf_context *ctx, wf_array *moving, wf_array *fixed, wf_array *shift, wf_array *normal)
{
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_in(g, shift), axis = wf_iota(g, WF_SHAPE(2), 0), column[2], slope;
    wf_val y = wf_add(wf_cast(wf_iota(g, WF_SHAPE(N, N), 0), WF_F64), wf_slice(p, 0, 0, 1, 1));
    wf_val x = wf_add(wf_cast(wf_iota(g, WF_SHAPE(N, N), 1), WF_F64), wf_slice(p, 0, 1, 2, 1));
    wf_interp how = { .interpolation = WF_INTERPOLATE_CUBIC };
    wf_val moved = wf_interpolate(g, moving, &how, WF_VALS(y, x)), residual = wf_sub(moved, wf_in(g, fixed));
    for (int k = 0; k < 2; k++)
        wf_jvp(WF_VALS(residual), WF_VALS(p), WF_VALS(wf_cast(wf_eq(axis, k), WF_F64)), &column[k]);
    wf_grad(wf_mul(0.5, wf_sum(wf_mul(residual, residual), WF_ALL_AXES)), WF_VALS(p), &slope);
    wf_val sum[3];
    for (int k = 0; k < 3; k++)
        sum[k] = wf_reshape(wf_sum(wf_mul(column[k / 2], column[(k + 1) / 2]), WF_ALL_AXES), WF_SHAPE(1));
    wf_out(g, normal, wf_concat(0, sum[0], sum[1], sum[2], slope));
    return wf_run(g);
}

int main(void)
{
    static double fixed[N * N], moving[N * N];
    const double true_shift[2] = { 1.7, -2.3 };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            fixed[i * N + j] = blobs(i, j);
            moving[i * N + j] = blobs(i - true_shift[0], j - true_shift[1]);
        }
    wf_context *ctx = wf_context_new(NULL);
    wf_array *a = wf_empty(ctx, WF_F64, WF_SHAPE(N, N)), *b = wf_like(a);
    wf_array *shift = wf_full(ctx, WF_F64, WF_SHAPE(2), 0), *normal = wf_empty(ctx, WF_F64, WF_SHAPE(5));
    double p[2] = { 0, 0 }, n[5];
    wf_status status = wf_upload(a, moving, sizeof moving);
    if (status == WF_OK)
        status = wf_upload(b, fixed, sizeof fixed);
    for (int k = 0; k < STEPS && status == WF_OK; k++) {
        status = equations(ctx, a, b, shift, normal);
        if (status == WF_OK)
            status = wf_download(normal, n, sizeof n);
        double determinant = n[0] * n[2] - n[1] * n[1];
        p[0] -= (n[2] * n[3] - n[1] * n[4]) / determinant;
        p[1] -= (n[0] * n[4] - n[1] * n[3]) / determinant;
        if (status == WF_OK)
            status = wf_upload(shift, p, sizeof p);
    }
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("registration: shift (%.4f, %.4f), should be (%.1f, %.1f)\n", p[0], p[1], true_shift[0], true_shift[1]);
    wf_release(a);
    wf_release(b);
    wf_release(shift);
    wf_release(normal);
    wf_context_free(ctx);
    return status != WF_OK || !(fabs(p[0] - true_shift[0]) < 0.01) || !(fabs(p[1] - true_shift[1]) < 0.01);
}
