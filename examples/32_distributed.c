/* Diffusion of heat in a cube that is divided among ranks. The operator is the one for a single process: the library finds
 * out which elements a rank needs of its neighbours, and fetches them. With `mpirun -n 4 32_distributed` four processes are the
 * ranks; alone two threads are, and the program prints the same. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/distributed.h>
#include <weft/weft.h>

enum { SIDE = 48, STEPS = 20 };

/* out = a + (sum of the six neighbours of a - 6 a) / 8, with insulating walls. */
static wf_kernel *record_step(wf_context *ctx)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE, SIDE));
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_F32, 3);
    wf_val i[3] = { wf_index(g, 0), wf_index(g, 1), wf_index(g, 2) }, sum = wf_mul(wf_in(g, a), -6);
    for (int axis = 0; axis < 3; ++axis)
        for (int side = -1; side <= 1; side += 2) {
            wf_val at[3] = { i[0], i[1], i[2] };
            at[axis] = wf_add(i[axis], side);
            sum = wf_add(sum, wf_read_border(g, a, WF_BORDER_CLAMP, 0, at[0], at[1], at[2]));
        }
    wf_out(g, out, wf_add(wf_in(g, a), wf_div(sum, 8)));
    return wf_compile(g);
}

static void print_sums(wf_context *ctx, wf_ranks *ranks, const wf_array *a, int step)
{
    wf_array *heat = wf_empty(ctx, WF_F64, WF_SHAPE(1, 1, 1)), *most = wf_empty(ctx, WF_F32, WF_SHAPE(1, 1, 1));
    float largest = 0;
    double sum = 0;
    wf_graph *g = wf_begin(ctx);
    wf_out(g, heat, wf_sum(wf_cast(wf_in(g, a), WF_F64), WF_ALL_AXES));
    wf_out(g, most, wf_reduce(WF_JOIN_MAX, wf_in(g, a), WF_ALL_AXES));
    wf_run(g); /* all ranks get the results */
    wf_download(heat, &sum, sizeof sum);
    wf_download(most, &largest, sizeof largest);
    if (wf_ranks_rank(ranks) == 0)
        printf("step %2d: heat %.6f, hottest %.6f\n", step, sum, largest);
    wf_release(heat);
    wf_release(most);
}

/* What each rank does. */
static wf_status diffuse(wf_ranks *ranks, void *user)
{
    const wf_shape cube = WF_SHAPE(SIDE, SIDE, SIDE);
    wf_dist dist;
    (void)user;
    wf_context *ctx = wf_context_new(NULL);
    wf_dist_make(&cube, wf_ranks_size(ranks), NULL, &dist);
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &dist),
             *out = wf_empty_distributed(ctx, WF_F32, ranks, &dist);

    wf_graph *g = wf_begin(ctx, .shape = cube); /* a hot corner */
    wf_val near = wf_lt(wf_add(wf_add(wf_index(g, 0), wf_index(g, 1)), wf_index(g, 2)), SIDE / 2);
    wf_out(g, a, wf_select(near, 100, 20));
    wf_run(g);
    wf_kernel *step = record_step(ctx);
    for (int k = 0; k < STEPS; ++k) {
        wf_launch(step, WF_NAMED(a, out));
        wf_array *t = a;
        a = out;
        out = t;
        if (k % 5 == 4)
            print_sums(ctx, ranks, a, k + 1);
    }
    wf_status status = wf_last_status(ctx);
    if (status != WF_OK) /* some errors are those of one rank alone */
        fprintf(stderr, "rank %d: %s\n", wf_ranks_rank(ranks), wf_last_message(ctx));
    wf_kernel_free(step);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
    return wf_ranks_agree(ranks, status, "the diffusion failed", NULL);
}

int main(void)
{
    wf_ranks *ranks = NULL;
    wf_ranks_error error = { 0 };
    wf_status status;
    if (wf_ranks_launched() == 1) {
        status = wf_ranks_threads(2, diffuse, NULL, NULL, &error);
    } else if ((status = wf_ranks_open_mpi(NULL, &ranks, &error)) == WF_OK) {
        status = diffuse(ranks, NULL);
        wf_ranks_free(ranks);
    }
    if (status != WF_OK)
        fprintf(stderr, "%s\n", error.text);
    return status == WF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
