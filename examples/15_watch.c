/* Debug mode shows a loop iteration by iteration: bisection for the angle at which cos(x) = c, for several c at
 * once. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

enum { N = 4 };

/* Prints the watched values. WF_OK lets the launch continue. */
static wf_status print(void *user, const wf_seen *seen)
{
    float value[N];
    bool on[N];
    wf_status status = wf_download(seen->value, value, sizeof value);
    if (status == WF_OK)
        status = wf_download(seen->lanes, on, sizeof on);
    printf("%s, turn %d:", seen->name, (int)seen->time);
    for (int i = 0; i < N && status == WF_OK; ++i)
        if (on[i])
            printf(" %7.4f", (double)value[i]);
        else
            printf("      --");
    printf("\n");
    *(int *)user = (int)seen->time + 1;
    return status;
}

static wf_status find_angles(wf_context *ctx, const wf_array *cosine, wf_array *angle, int *turns)
{
    wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG);
    wf_val c = wf_in(g, cosine), middle;
    wf_var lo = wf_local(g, WF_F32, 0), hi = wf_local(g, WF_F32, 3.1415927);
    WF_WHILE (g, wf_gt(wf_sub(hi, lo), wf_mul(0.01, wf_add(lo, 0.1)))) {
        middle = wf_mul(wf_add(lo, hi), 0.5);
        WF_IF (g, wf_gt(wf_cos(middle), c)) {
            wf_set(lo, middle);
        }
        WF_ELSE(g) { wf_set(hi, middle); }
        WF_END(g);
        wf_watch(g, "upper bound", hi, print, turns);
    }
    WF_END(g);
    wf_out(g, angle, wf_mul(wf_add(lo, hi), 0.5));
    return wf_run(g);
}

int main(void)
{
    float cosine[N] = { 0.99f, 0.5f, 0, -0.9f }, angle[N] = { 0 };
    int turns = 0;
    bool right = true;
    wf_context *ctx = wf_context_new(NULL);
    wf_array *in = wf_wrap(ctx, cosine, WF_F32, WF_SHAPE(N), NULL, NULL),
             *out = wf_wrap(ctx, angle, WF_F32, WF_SHAPE(N), NULL, NULL);
    wf_status status = find_angles(ctx, in, out, &turns);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    for (int i = 0; i < N; ++i)
        right = right && fabsf(angle[i] - acosf(cosine[i])) < 0.02f;
    wf_release(in), wf_release(out);
    wf_context_free(ctx);
    return !(status == WF_OK && right && turns > 5);
}
