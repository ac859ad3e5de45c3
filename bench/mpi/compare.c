/* compare.c - see compare.h. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 41 };

void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void begin_ranks(int *argc, char ***argv, MPI_Comm *comm, int *me, wf_ranks **ranks)
{
    int level, n;
    wf_ranks_error e = { 0 };
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, comm);
    MPI_Comm_rank(*comm, me);
    MPI_Comm_size(*comm, &n);
    must(n == 2, "a job of two ranks");
    wf_ranks_mpi_options o = { .size = sizeof o, .communicator = comm };
    if (wf_ranks_open_mpi(&o, ranks, &e) != WF_OK)
        fprintf(stderr, "%s\n", e.text);
    must(*ranks != NULL, "wf_ranks_open_mpi");
}

void end_ranks(MPI_Comm *comm, wf_ranks *ranks)
{
    wf_ranks_free(ranks);
    MPI_Comm_free(comm);
    MPI_Finalize();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_part(double *sorted, double part) { return sorted[(int)(part * (ROUNDS - 1) + 0.5)]; }

static double time_of(bench_way *way, void *user, MPI_Comm comm, int repeat)
{
    MPI_Barrier(comm);
    double begin = MPI_Wtime();
    for (int i = 0; i < repeat; i++)
        way(user);
    return (MPI_Wtime() - begin) / repeat * 1e6;
}

comparison compare_ways(bench_way *plain, bench_way *own, void *user, MPI_Comm comm, double round_us)
{
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    time_of(plain, user, comm, 2);
    int repeat = (int)(round_us / (time_of(plain, user, comm, 2) + 0.1)) + 1;
    MPI_Bcast(&repeat, 1, MPI_INT, 0, comm);
    time_of(own, user, comm, repeat);
    for (int i = 0; i < ROUNDS; i++) {
        bool first = i % 2;
        if (first)
            b[i] = time_of(own, user, comm, repeat);
        a[i] = time_of(plain, user, comm, repeat);
        if (!first)
            b[i] = time_of(own, user, comm, repeat);
        ratio[i] = b[i] / a[i];
    }
    qsort(a, ROUNDS, sizeof *a, by_value);
    qsort(b, ROUNDS, sizeof *b, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    return (comparison){ at_part(a, 0.5), at_part(b, 0.5), at_part(ratio, 0.5), at_part(ratio, 0.25),
                         at_part(ratio, 0.75) };
}
