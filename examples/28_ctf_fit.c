/* The defocus and astigmatism of a microscope are fitted to a power spectrum by Gauss-Newton steps: wf_jvp differentiates
 * wf_ctf_value with respect to each parameter, wf_grad the squared residuals. */
#include <math.h>
#include <stdio.h>
#include <weft/signal.h>
#include <weft/weft.h>

enum { N = 96, PARAMETERS = 3, STEPS = 20 };

/* The squared CTF at N x N frequencies up to 0.1/Angstrom; p[3]: defocus, astigmatism and its angle. */
static wf_val power(wf_graph *g, wf_val p)
{
    wf_val gy = wf_mul(wf_sub(wf_cast(wf_iota(g, WF_SHAPE(N, N), 0), WF_F64), N / 2), 0.2 / N);
    wf_val gx = wf_mul(wf_sub(wf_cast(wf_iota(g, WF_SHAPE(N, N), 1), WF_F64), N / 2), 0.2 / N);
    wf_ctf ctf = { .voltage = WF_V(300.0),
                   .cs = WF_V(2.7),
                   .amplitude = WF_V(0.1),
                   .defocus = wf_slice(p, 0, 0, 1, 1),
                   .astigmatism = wf_slice(p, 0, 1, 2, 1),
                   .angle = wf_slice(p, 0, 2, 3, 1) };
    wf_val value = wf_ctf_value(&ctf, gy, gx);
    return wf_mul(value, value);
}

static wf_status simulate(wf_context *ctx, wf_array *parameters, wf_array *measured)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, measured, power(g, wf_in(g, parameters)));
    return wf_run(g);
}

/* normal[9] = the products of the Jacobian's columns; slope[3] = the derivative of half the squared residuals. */
static wf_status equations(wf_context *ctx, wf_array *parameters, wf_array *measured, wf_array *normal, wf_array *slope)
{
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_in(g, parameters), axis = wf_iota(g, WF_SHAPE(PARAMETERS), 0), column[PARAMETERS], along;
    wf_val residual = wf_sub(power(g, p), wf_in(g, measured)), sum[PARAMETERS * PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++)
        wf_jvp(WF_VALS(residual), WF_VALS(p), WF_VALS(wf_cast(wf_eq(axis, k), WF_F64)), &column[k]);
    wf_grad(wf_mul(0.5, wf_sum(wf_mul(residual, residual), WF_ALL_AXES)), WF_VALS(p), &along);
    for (int k = 0; k < PARAMETERS * PARAMETERS; k++)
        sum[k] = wf_reshape(wf_sum(wf_mul(column[k / PARAMETERS], column[k % PARAMETERS]), WF_ALL_AXES), WF_SHAPE(1));
    wf_out(g, normal, wf_concat_n((wf_vals){ sum, PARAMETERS * PARAMETERS }, 0));
    wf_out(g, slope, along);
    return wf_run(g);
}

static double determinant(const double *m)
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* Subtracts the solution of normal x = slope from p, by Cramer's rule. */
static void step(double *p, const double *normal, const double *slope)
{
    for (int k = 0; k < PARAMETERS; k++) {
        double m[9];
        for (int i = 0; i < 9; i++)
            m[i] = i % 3 == k ? slope[i / 3] : normal[i];
        p[k] -= determinant(m) / determinant(normal);
    }
}

int main(void)
{
    const double truth[PARAMETERS] = { 1.6, 0.15, 0.5 };
    double p[PARAMETERS] = { 1.5, 0.1, 0.3 }, normal[9], slope[PARAMETERS];
    wf_context *ctx = wf_context_new(NULL);
    wf_array *parameters = wf_empty(ctx, WF_F64, WF_SHAPE(PARAMETERS)),
             *measured = wf_empty(ctx, WF_F64, WF_SHAPE(N, N));
    wf_array *products = wf_empty(ctx, WF_F64, WF_SHAPE(9)), *along = wf_like(parameters);
    wf_status status = wf_upload(parameters, truth, sizeof truth);
    if (status == WF_OK)
        status = simulate(ctx, parameters, measured);
    for (int k = 0; k < STEPS && status == WF_OK; k++) {
        status = wf_upload(parameters, p, sizeof p);
        if (status == WF_OK)
            status = equations(ctx, parameters, measured, products, along);
        if (status == WF_OK)
            status = wf_download(products, normal, sizeof normal);
        if (status == WF_OK)
            status = wf_download(along, slope, sizeof slope);
        if (status == WF_OK)
            step(p, normal, slope);
    }
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("CTF: defocus %.6f, astigmatism %.6f micrometres at %.6f radians; should be %g, %g, %g\n", p[0], p[1], p[2],
           truth[0], truth[1], truth[2]);
    wf_release(parameters);
    wf_release(measured);
    wf_release(products);
    wf_release(along);
    wf_context_free(ctx);
    bool wrong = status != WF_OK;
    for (int k = 0; k < PARAMETERS; k++)
        wrong = wrong || !(fabs(p[k] - truth[k]) < 1e-6);
    return wrong;
}
