/* compare.h - a job of two ranks, and times of two ways of doing the same there. Rounds of both ways take turns, so that other load of the
 * machine affects both. */
#ifndef WEFT_BENCH_MPI_COMPARE_H
#define WEFT_BENCH_MPI_COMPARE_H
#include <mpi.h>
#include <stdbool.h>
#include <weft/ranks.h>

/* Ends the job with a message if what was to be done failed. */
void must(bool ok, const char *what);

/* Begins a job of two ranks over MPI, and ends it. */
void begin_ranks(int *argc, char ***argv, MPI_Comm *comm, int *me, wf_ranks **ranks);
void end_ranks(MPI_Comm *comm, wf_ranks *ranks);

typedef void bench_way(void *user);
typedef struct comparison {
    double plain, own;       /* medians of microseconds for one call */
    double ratio, low, high; /* own / plain of neighbouring rounds: the median, and the range that holds half of them */
} comparison;
/* Times both ways, called by all ranks of `comm` alike; a round takes about `round_us`. */
comparison compare_ways(bench_way *plain, bench_way *own, void *user, MPI_Comm comm, double round_us);
#endif
