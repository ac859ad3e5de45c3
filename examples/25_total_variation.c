/* An image is freed of noise by gradient descent: the loss is the squared distance from the noisy image plus the total
 * variation, the sum of the lengths of all differences between neighbours, and wf_grad gives its derivative. */
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { H = 64, W = 80, STEPS = 200 };

static float noise(unsigned *state) /* roughly normal, deviation 1 */
{
    float sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (float)((*state = *state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    return sum - 6;
}

static double distance(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < H * W; i++)
        sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
    return sqrt(sum / (H * W));
}

/* u - 0.05 times the derivative of the loss becomes the new u; loss[1] is the loss before. */
static wf_status descend(wf_context *ctx, wf_array *u, wf_array *noisy, wf_array *loss)
{
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, u), far = wf_sub(v, wf_in(g, noisy)), slope;
    wf_val corner = wf_slice(wf_slice(v, 0, 0, H - 1, 1), 1, 0, W - 1, 1);
    wf_val below = wf_slice(wf_slice(v, 0, 1, H, 1), 1, 0, W - 1, 1);
    wf_val right = wf_slice(wf_slice(v, 0, 0, H - 1, 1), 1, 1, W, 1);
    wf_val dy = wf_sub(below, corner), dx = wf_sub(right, corner);
    wf_val length = wf_sqrt(wf_add(wf_add(wf_mul(dy, dy), wf_mul(dx, dx)), 1e-3));
    wf_val total = wf_add(wf_mul(0.5, wf_sum(wf_mul(far, far), WF_ALL_AXES)), wf_mul(0.3, wf_sum(length, WF_ALL_AXES)));
    wf_grad(total, WF_VALS(v), &slope);
    wf_out(g, loss, total);
    wf_out(g, u, wf_sub(v, wf_mul(0.05, slope)));
    return wf_run(g);
}

int main(void)
{
    static float clean[H * W], noisy[H * W], result[H * W];
    unsigned state = 1;
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            float disc = hypotf((float)i - 24, (float)j - 30) < 15 ? 1.0f : 0.0f;
            clean[i * W + j] = disc + (i > 36 && i < 56 && j > 44 && j < 70 ? 0.6f : 0.0f);
            noisy[i * W + j] = clean[i * W + j] + 0.25f * noise(&state);
        }
    wf_context *ctx = wf_context_new(NULL);
    wf_array *f = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *u = wf_like(f), *loss = wf_empty(ctx, WF_F32, WF_SHAPE(1, 1));
    wf_status status = wf_upload(f, noisy, sizeof noisy);
    if (status == WF_OK)
        status = wf_upload(u, noisy, sizeof noisy);
    float first = 0, last = 0;
    for (int k = 0; k < STEPS && status == WF_OK; k++) {
        status = descend(ctx, u, f, loss);
        if (k == 0 && status == WF_OK)
            status = wf_download(loss, &first, sizeof first);
    }
    if (status == WF_OK)
        status = wf_download(loss, &last, sizeof last);
    if (status == WF_OK)
        status = wf_download(u, result, sizeof result);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    double before = distance(noisy, clean), after = distance(result, clean);
    printf("total variation: loss %.1f to %.1f, distance from the image without noise %.3f to %.3f\n", (double)first,
           (double)last, before, after);
    wf_release(f);
    wf_release(u);
    wf_release(loss);
    wf_context_free(ctx);
    return status != WF_OK || !(last < 0.7f * first) || !(after < 0.45 * before);
}
