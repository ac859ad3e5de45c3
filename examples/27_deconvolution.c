/* A blurred image is sharpened by gradient descent, in operator text: `grad` is the derivative of the squared difference
 * between the blurred guess and the image. */
#include <math.h>
#include <stdio.h>
#include <weft/text.h>
#include <weft/weft.h>

enum { H = 48, W = 56, STEPS = 300 };

#define BLUR(from, to, u)                                                                                           \
    u " = (" from "[y, x-2; mirror] + 4*" from "[y, x-1; mirror] + 6*" from " + 4*" from "[y, x+1; mirror] + " from \
      "[y, x+2; mirror]) / 16\n" to " = (" u "[y-2, x; mirror] + 4*" u "[y-1, x; mirror] + 6*" u " + 4*" u          \
      "[y+1, x; mirror] + " u "[y+2, x; mirror]) / 16\n"

static double distance(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < H * W; i++)
        sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
    return sqrt(sum / (H * W));
}

int main(void)
{
    static float sharp[H * W], blurred[H * W], result[H * W];
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            sharp[i * W + j] = (i / 8 + j / 8) % 2 && i > 7 && j > 7 ? 1.0f : 0.0f;
    wf_context *ctx = wf_context_new(NULL);
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *f = wf_like(a), *u = wf_like(a);
    wf_status status = wf_upload(a, sharp, sizeof sharp);
    if (status == WF_OK)
        status = wf_text(ctx, BLUR("a", "f", "rows") "u = f", a, f, u); /* the image to sharpen, also the first guess */
    if (status == WF_OK)
        status = wf_download(f, blurred, sizeof blurred);
    for (int k = 0; k < STEPS && status == WF_OK; k++)
        status = wf_text(ctx, BLUR("u", "guess", "rows") "L = sum((guess - f)**2) / 2\nu -= 1.5*grad(L, u)", u, f);
    if (status == WF_OK)
        status = wf_download(u, result, sizeof result);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    double before = distance(blurred, sharp), after = distance(result, sharp);
    printf("deconvolution: distance from the sharp image %.4f to %.4f\n", before, after);
    wf_release(a);
    wf_release(f);
    wf_release(u);
    wf_context_free(ctx);
    return status != WF_OK || !(after < 0.65 * before);
}
