/* Parameters of a differential equation fitted to data: hares h and lynxes l, h' = a h - b h l, l' = c h l - d l
 * (Lotka and Volterra). 64 steps of Runge and Kutta are recorded one by one; wf_minimize differentiates through them. */
#include "weft/optimize.h"
#include <math.h>
#include <stdio.h>

enum { STEPS = 64 };
static const double length = 0.125; /* of a step */

static void slope(const wf_val *p, const wf_val *y, wf_val *out)
{
    wf_val both = wf_mul(y[0], y[1]);
    out[0] = wf_sub(wf_mul(p[0], y[0]), wf_mul(p[1], both));
    out[1] = wf_sub(wf_mul(p[2], both), wf_mul(p[3], y[1]));
}

static void step(const wf_val *p, wf_val *y) /* the classical method of order 4 */
{
    static const double at[4] = { 0, 0.5, 0.5, 1 }, weight[4] = { 1, 2, 2, 1 };
    wf_val k[2] = { y[0], y[1] }, sum[2] = { y[0], y[1] };
    for (int i = 0; i < 4; ++i) {
        wf_val here[2] = { y[0], y[1] };
        for (int j = 0; i && j < 2; ++j)
            here[j] = wf_add(y[j], wf_mul(k[j], at[i] * length));
        slope(p, here, k);
        for (int j = 0; j < 2; ++j)
            sum[j] = wf_add(sum[j], wf_mul(k[j], weight[i] * length / 6));
    }
    y[0] = sum[0];
    y[1] = sum[1];
}

/* The squared distance to the data, [STEPS, 2], of the path from the start (4, 2); parameters are logarithms, so that a, b,
 * c, d stay positive. */
static wf_val distance(wf_graph *g, const wf_val *params, void *user)
{
    wf_val data = wf_in(g, user), p[4], y[2] = { wf_const(g, WF_F64, 4), wf_const(g, WF_F64, 2) }, sum = WF_V(0);
    for (int i = 0; i < 4; ++i)
        p[i] = wf_exp(wf_slice(params[0], 0, i, i + 1, 1));
    for (int t = 0; t < STEPS; ++t) {
        step(p, y);
        for (int j = 0; j < 2; ++j) {
            wf_val seen = wf_reshape(wf_slice(wf_slice(data, 0, t, t + 1, 1), 1, j, j + 1, 1), WF_SHAPE(1));
            wf_val d = wf_sub(y[j], seen);
            sum = wf_add(sum, wf_mul(d, d));
        }
    }
    return sum;
}

/* The data: the same equation by small steps of its own. */
static void observe(const double *p, double data[STEPS][2])
{
    double h = 4, l = 2, dt = length / 1000;
    for (int t = 0; t < STEPS; ++t) {
        for (int i = 0; i < 1000; ++i) { /* the midpoint rule */
            double mh = h + dt / 2 * (p[0] * h - p[1] * h * l), ml = l + dt / 2 * (p[2] * h * l - p[3] * l);
            h += dt * (p[0] * mh - p[1] * mh * ml);
            l += dt * (p[2] * mh * ml - p[3] * ml);
        }
        data[t][0] = h;
        data[t][1] = l;
    }
}

int main(void)
{
    static const double truth[4] = { 1.1, 0.4, 0.1, 0.4 };
    static double data[STEPS][2];
    double found[4] = { 0, -1.2, -2, -1.2 }; /* logarithms of a guess */
    observe(truth, data);

    wf_context *ctx = wf_context_new(NULL);
    wf_array *seen = wf_wrap(ctx, data, WF_F64, WF_SHAPE(STEPS, 2), NULL, NULL);
    wf_array *p = wf_wrap(ctx, found, WF_F64, WF_SHAPE(4), NULL, NULL);
    wf_minimum end = { .size = sizeof end };
    wf_status status = wf_minimize(ctx, WF_ARRAYS(p), distance, seen, &end, .iterations = 200);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    int wrong = status != WF_OK;
    for (int i = 0; i < 4 && !wrong; ++i)
        wrong += fabs(exp(found[i]) - truth[i]) > 1e-3;
    printf("fit: %.4f %.4f %.4f %.4f after %d steps, %d evaluations, distance %.2g\n", exp(found[0]), exp(found[1]),
           exp(found[2]), exp(found[3]), (int)end.iterations, (int)end.evaluations, end.loss);
    wf_release(seen);
    wf_release(p);
    wf_context_free(ctx);
    return wrong != 0;
}
