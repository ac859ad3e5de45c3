/* A whole program: reads an MRC file, normalises it to mean 0 and standard deviation 1, writes it. One check reports
 * every error.
 *
 *     17_mrc in.mrc out.mrc
 *     17_mrc                  makes an input, and tests itself
 */
#include "weft/io.h"
#include <math.h>
#include <stdio.h>

static wf_status standardise(wf_context *ctx, const char *from, const char *to)
{
    wf_meta meta = { .size = sizeof meta };
    wf_array *stack = wf_load(ctx, from, &meta); /* NULL on error; the calls below then do nothing */
    double n = (double)wf_array_count(stack);

    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_cast(wf_in(g, stack), WF_F32), d = wf_sub(x, wf_div(wf_sum(x, WF_ALL_AXES), n));
    wf_val variance = wf_div(wf_sum(wf_mul(d, d), WF_ALL_AXES), n);
    wf_array *out = wf_keep(wf_div(d, wf_sqrt(variance)));
    wf_status status = wf_run(g);
    if (status == WF_OK)
        status = wf_save(out, to, &meta);
    wf_release(out);
    wf_release(stack);
    return status;
}

enum { N = 3, H = 24, W = 31, COUNT = N * H * W };

static wf_status make_input(wf_context *ctx, const char *path)
{
    wf_array *line = wf_array_arange(ctx, WF_F32, COUNT, 0, 1), *stack = wf_view_reshape(line, WF_SHAPE(N, H, W));
    wf_meta meta = { .size = sizeof meta, .is_stack = true, .spacing = { 1.25, 1.25, 1.25 } };
    wf_status status = wf_text(ctx, "stack = 100 + 7*sin(0.1*stack) + 0.001*stack", stack);
    if (status == WF_OK)
        status = wf_save(stack, path, &meta);
    wf_release(stack);
    wf_release(line);
    return status;
}

/* Sets *good to 1 if values, shape and meta data of the file are right, else to 0. */
static wf_status test_output(wf_context *ctx, const char *path, int *good)
{
    static float value[COUNT];
    double sum = 0, squares = 0;
    wf_meta meta = { .size = sizeof meta };
    wf_array *out = wf_load(ctx, path, &meta);
    wf_shape s = wf_array_shape(out);
    wf_status status = wf_download(out, value, sizeof value);
    for (int i = 0; i < COUNT; ++i) {
        sum += (double)value[i];
        squares += (double)value[i] * (double)value[i];
    }
    double mean = sum / (double)COUNT, variance = squares / (double)COUNT;
    *good = status == WF_OK && s.rank == 3 && s.dim[0] == N && s.dim[1] == H && s.dim[2] == W;
    *good = *good && fabs(mean) < 1e-5 && fabs(variance - 1) < 1e-4;
    *good = *good && fabs(meta.spacing[2] - 1.25) < 1e-6 && meta.is_stack;
    printf("mrc: mean %.2g, variance %.6f, %.2f Angstrom a pixel: %s\n", mean, variance, meta.spacing[2],
           *good ? "right" : "wrong");
    wf_release(out);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: %s in.mrc out.mrc\n", argv[0]);
        return 2;
    }
    int good = 1;
    const char *from = argc == 3 ? argv[1] : "17_mrc_in.mrcs", *to = argc == 3 ? argv[2] : "17_mrc_out.mrcs";
    wf_context *ctx = wf_context_new(NULL);
    wf_status status = argc == 1 ? make_input(ctx, from) : WF_OK;
    if (status == WF_OK)
        status = standardise(ctx, from, to);
    if (status == WF_OK && argc == 1) {
        status = test_output(ctx, to, &good);
        remove(from);
        remove(to);
    }
    if (status != WF_OK)
        fprintf(stderr, "%s: %s\n", argv[0], wf_last_message(ctx));
    wf_context_free(ctx);
    return !(status == WF_OK && good);
}
