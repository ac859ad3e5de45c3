/* The ready-made array functions: a noisy stack of images, normalised one by one, summarised and sorted. */
#include <stdio.h>
#include "weft/functions.h"

int main(void)
{
    wf_context *ctx = wf_context_new(NULL);
    wf_array *stack = wf_empty(ctx, WF_F32, WF_SHAPE(8, 64, 64));
    wf_status status = wf_array_random_normal(stack, (wf_random){ .seed = 42 }, 100, 15);

    wf_array *clean = wf_array_normalize(stack, WF_NORMALIZE_MEAN_STD, WF_AXES(1, 2)); /* each image by itself */
    wf_array *mean = wf_array_mean(clean, WF_ALL_AXES | WF_DROP_AXES);
    wf_array *peak = wf_array_argmax(clean, WF_AXES(1, 2) | WF_DROP_AXES); /* [8]: linear index in the image */
    wf_array *median = wf_array_median(clean, WF_AXES(0) | WF_DROP_AXES);  /* [64, 64] */
    wf_array *padded = wf_array_resize(median, (int64_t[]){ 4, 4 }, (int64_t[]){ 4, 4 }, WF_BORDER_MIRROR, 0);
    wf_array *product = wf_array_matmul(padded, padded); /* [72, 72] */

    float value = 1;
    int64_t at[8] = { 0 };
    if (status == WF_OK)
        status = wf_download(mean, &value, sizeof value);
    if (status == WF_OK)
        status = wf_download(peak, at, sizeof at);
    if (status == WF_OK && product)
        printf("mean %.1f, first peak at row %d, column %d\n", (double)value, (int)(at[0] / 64), (int)(at[0] % 64));
    else
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    bool ok = status == WF_OK && product && value < 1e-3f && value > -1e-3f;
    wf_array *all[] = { stack, clean, mean, peak, median, padded, product };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
    wf_context_free(ctx);
    return ok ? 0 : 1;
}
