/* A lazy array program: forces between pairs of particles. Gathers of records, accumulations with a mode, views of
 * values and a sum that is fused with what feeds it, and then the statistics of the kernels that ran. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

/* position: f32 [n, 4]; pair: i32 [m, 2] -> f32 [n, 4], and the energy: f32 [1] */
static wf_array *forces(wf_context *ctx, const wf_array *position, const wf_array *pair, wf_array **energy)
{
    wf_array *force = wf_full(ctx, WF_F32, wf_array_shape(position), 0);
    wf_graph *g = wf_begin(ctx, .name = "forces");
    wf_val p = wf_in(g, pair), a = wf_slice(p, 1, 0, 1, 1), b = wf_slice(p, 1, 1, 2, 1), d[3], r2 = WF_V(0);
    for (int c = 0; c < 3; ++c) { /* consecutive c: a packet */
        d[c] = wf_sub(wf_read(g, position, b, c), wf_read(g, position, a, c));
        r2 = wf_fma(d[c], d[c], r2);
    }
    wf_val w = wf_rcp(wf_mul(r2, wf_sqrt(r2)));
    for (int c = 0; c < 3; ++c) {
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, force, wf_mul(w, d[c]), a, c); /* private copies */
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, force, wf_neg(wf_mul(w, d[c])), b, c);
    }
    *energy = wf_keep(wf_reshape(wf_sum(wf_rsqrt(r2), WF_ALL_AXES), WF_SHAPE(1)));
    if (wf_run(g) == WF_OK)
        return force;
    wf_release(force);
    return NULL;
}

static void print_kernels(wf_context *ctx)
{
    wf_kernel_info info[8] = { { .size = sizeof *info } };
    size_t n = wf_history(ctx, info, 8);
    for (size_t k = 0; k < n; ++k)
        printf("%s, kernel %d of %d: %u operations, %s, %.1f us\n", info[k].name, info[k].stage + 1, info[k].stages,
               info[k].ops, info[k].code == WF_CODE_COMPILED ? "compiled" : "not compiled again", 1e6 * info[k].run_s);
}

int main(void)
{
    enum { N = 500, M = 4 * N };
    static float position[N][4], force[N][4];
    static double want[N][3];
    static int32_t pair[M][2];
    double want_energy = 0;
    for (int i = 0; i < N; ++i)
        for (int c = 0; c < 3; ++c)
            position[i][c] = (float)((i * 7919LL >> 3 * c) % 97) + (float)i / N;
    for (int k = 0; k < M; ++k) {
        int a = pair[k][0] = k % N, b = pair[k][1] = (k % N + 1 + k / N * 17) % N;
        double d[3], r2 = 0;
        for (int c = 0; c < 3; ++c) {
            d[c] = (double)position[b][c] - (double)position[a][c];
            r2 += d[c] * d[c];
        }
        for (int c = 0; c < 3; ++c) {
            want[a][c] += d[c] / (r2 * sqrt(r2));
            want[b][c] -= d[c] / (r2 * sqrt(r2));
        }
        want_energy += 1 / sqrt(r2);
    }
    wf_context *ctx = wf_context_new(NULL);
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_array *x = wf_wrap(ctx, position, WF_F32, WF_SHAPE(N, 4), NULL, NULL);
    wf_array *p = wf_wrap(ctx, pair, WF_I32, WF_SHAPE(M, 2), NULL, NULL), *energy = NULL;
    wf_array *f = forces(ctx, x, p, &energy);
    float sum = 0;
    double worst = 0;
    bool ok = f && wf_download(f, force, sizeof force) == WF_OK && wf_download(energy, &sum, sizeof sum) == WF_OK;
    if (!ok)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    for (int i = 0; i < N; ++i)
        for (int c = 0; c < 3; ++c)
            worst = fmax(worst, fabs((double)force[i][c] - want[i][c]) / (1 + fabs(want[i][c])));
    print_kernels(ctx);
    printf("forces: %d pairs, energy %.6g, largest error %.1e\n", M, (double)sum, worst);
    ok = ok && worst < 1e-4 && fabs((double)sum / want_energy - 1) < 1e-5;
    wf_release(x);
    wf_release(p);
    wf_release(f);
    wf_release(energy);
    wf_context_free(ctx);
    return !ok;
}
