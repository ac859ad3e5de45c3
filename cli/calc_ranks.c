/* calc_ranks.c - weft calc among the processes that mpirun has started: large arrays are distributed over them, and the
 * first one speaks for all. */
#include "calc.h"
#include <stdio.h>
#include <string.h>

enum { MUCH_SMALLER = 16 }; /* times fewer elements than the largest input: each rank has all of them */

static bool wants_to_be_alone(int argc, char **argv)
{
    bool alone = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        alone = alone || strcmp(argv[i], "--alone") == 0;
    return alone;
}

/* A number of all words of the command line (FNV-1a). */
static uint64_t number_of(int argc, char **argv)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < argc; i++)
        for (size_t k = 0; k <= strlen(argv[i]); k++)
            h = (h ^ (unsigned char)argv[i][k]) * 1099511628211u;
    return h;
}

/* Prints the failure of another rank. Returns the exit code. */
static int told(const calc *c, wf_status status, const wf_ranks_error *error)
{
    if (status == WF_OK)
        return EXIT_OK;
    return error->rank < 0 ? failed("%s", wf_ranks_message(c->ranks)) : failed("rank %d: %s", error->rank, error->text);
}

/* Prints why this rank ends the job; ranks after the first one, which are silent otherwise, do so, too. */
static void print_abort(const char *text, void *user)
{
    const calc *c = user;
    if (c->ranks)
        fprintf(stderr, "weft: rank %d ends the job: %s\n", wf_ranks_rank(c->ranks), text);
    else
        fprintf(stderr, "weft: %s\n", text);
}

int ranks_begin(calc *c, int argc, char **argv)
{
    wf_ranks_error error;
    wf_ranks_mpi_options options = { .size = sizeof options, .abort = print_abort, .abort_user = c };
    if (wf_ranks_launched() < 2 || wants_to_be_alone(argc, argv))
        return -1;
    if (wf_ranks_open_mpi(&options, &c->ranks, &error) != WF_OK)
        return failed("%s; with --alone each process computes by itself", error.text);
    if (wf_ranks_rank(c->ranks) > 0) {
        stay_silent();
        if (!freopen("/dev/null", "w", stdout))
            return EXIT_FAILED;
    }
    const uint64_t own = number_of(argc, argv);
    uint64_t first = own;
    wf_status status = wf_ranks_broadcast(c->ranks, &first, sizeof first, 0);
    if (status == WF_OK)
        status = wf_ranks_agree(c->ranks, first == own ? WF_OK : WF_ERR_CONTRACT,
                                "the command line is another one than that of rank 0; with --alone each process "
                                "computes by itself",
                                &error);
    else
        error.rank = -1;
    return status == WF_OK ? -1 : told(c, status, &error);
}

int ranks_agree(const calc *c, int result)
{
    wf_ranks_error error;
    if (!c->ranks)
        return result;
    const char *text = result == EXIT_OK ? "" : c->ctx ? wf_last_message(c->ctx) : "it could not begin";
    const wf_status all =
        wf_ranks_agree(c->ranks, result == EXIT_OK ? WF_OK : WF_ERR_IO, *text ? text : "it failed", &error);
    return result == EXIT_OK ? told(c, all, &error) : result;
}

static double elements(const wf_shape *shape)
{
    double n = 1;
    for (int d = 0; d < shape->rank; d++)
        n *= (double)shape->dim[d];
    return n;
}

wf_status ranks_largest(const calc *c, double *largest)
{
    *largest = 0;
    for (size_t i = 0; i < c->args; i++) {
        wf_shape shape;
        if (!c->path[i])
            continue;
        if (wf_probe(c->ctx, c->path[i], NULL, NULL, &shape) != WF_OK)
            return wf_last_status(c->ctx);
        const double n = elements(&shape);
        *largest = n > *largest ? n : *largest;
    }
    return WF_OK;
}

wf_array *ranks_load(const calc *c, const char *path, double largest, wf_meta *meta)
{
    wf_shape shape;
    if (wf_probe(c->ctx, path, NULL, NULL, &shape) != WF_OK)
        return NULL;
    const bool small = !shape.rank || elements(&shape) < largest / MUCH_SMALLER;
    return small ? wf_load(c->ctx, path, meta) : wf_load_distributed(c->ctx, path, c->ranks, NULL, meta);
}

wf_status ranks_save(const calc *c, const wf_array *result, const char *path, const wf_meta *meta)
{
    if (wf_array_dist(result))
        return wf_save_distributed(result, path, meta);
    return wf_ranks_rank(c->ranks) ? WF_OK : wf_save(result, path, meta);
}

void ranks_end(calc *c)
{
    wf_ranks_free(c->ranks);
    c->ranks = NULL;
}
