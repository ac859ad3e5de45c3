/* bench_mpi.c - messages of weft/ranks.h beside the same messages by MPI, in one run of two ranks: bench/mpi/run.
 * A line of the table has the medians of the times of one message, and the median of the ratios of neighbouring rounds with
 * the range that holds half of them. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 3 };

typedef struct peer {
    wf_ranks *ranks;
    MPI_Comm comm;
    int me, other;
    size_t bytes;
    char *out, *in;
    wf_request *prepared[2];
    MPI_Request persistent[2];
} peer;

/* ---- one message there, one back: twice the time of one message ------------------------------------------------- */

static void mpi_there_and_back(void *user)
{
    peer *p = user;
    for (int turn = 0; turn < 2; turn++) {
        MPI_Request r;
        if (turn == p->me)
            MPI_Isend(p->out, (int)p->bytes, MPI_BYTE, p->other, TAG, p->comm, &r);
        else
            MPI_Irecv(p->in, (int)p->bytes, MPI_BYTE, p->other, TAG, p->comm, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

static void weft_there_and_back(void *user)
{
    peer *p = user;
    for (int turn = 0; turn < 2; turn++) {
        wf_request *r = NULL;
        wf_status status = turn == p->me ? wf_ranks_send(p->ranks, p->out, p->bytes, p->other, TAG, &r)
                                         : wf_ranks_receive(p->ranks, p->in, p->bytes, p->other, TAG, &r);
        must(!status && !wf_request_wait(&r), "a message");
    }
}

/* ---- both ways at once, prepared, as faces of blocks are exchanged ---------------------------------------------- */

static void mpi_exchange(void *user)
{
    peer *p = user;
    MPI_Status both[2];
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(2, p->persistent);
        MPI_Waitall(2, p->persistent, both); /* MPICH's header makes compilers warn of MPI_STATUSES_IGNORE */
    }
}

static void weft_exchange(void *user)
{
    peer *p = user;
    for (int turn = 0; turn < 2; turn++)
        must(!wf_request_start(p->prepared, 2) && !wf_request_wait_all(p->prepared, 2), "an exchange");
}

static void mpi_barriers(void *user)
{
    const peer *p = user;
    MPI_Barrier(p->comm);
    MPI_Barrier(p->comm);
}

static void weft_barriers(void *user)
{
    const peer *p = user;
    must(!wf_ranks_barrier(p->ranks) && !wf_ranks_barrier(p->ranks), "a barrier");
}

/* ---- measuring -------------------------------------------------------------------------------------------------- */

/* Both ways have two messages in a row. */
static void compare(const char *name, bench_way *plain, bench_way *weft, peer *p)
{
    const double round_us = 2000;
    comparison c = compare_ways(plain, weft, p, p->comm, round_us);
    double mpi = c.plain / 2, own = c.own / 2;
    if (p->me == 0)
        printf("| %s | %zu | %.2f | %.2f | %.2f | %.2f | %.2f (%.2f to %.2f) |\n", name, p->bytes, mpi, own,
               (double)p->bytes / mpi / 1e3, (double)p->bytes / own / 1e3, c.ratio, c.low, c.high);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = { 8, 8 << 10, 256 << 10, 1 << 20, 16 << 20 };
    peer p = { 0 };
    begin_ranks(&argc, &argv, &p.comm, &p.me, &p.ranks);
    p.other = 1 - p.me;
    if (p.me == 0)
        printf(
            "%s\n\n| | bytes | MPI, us | Weft, us | MPI, GB/s | Weft, GB/s | Weft / MPI |\n|---|---|---|---|---|---|---|\n",
            wf_ranks_library(p.ranks));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        p.bytes = sizes[s];
        p.out = malloc(p.bytes);
        p.in = malloc(p.bytes);
        must(p.out && p.in, "malloc");
        memset(p.out, 1, p.bytes);
        memset(p.in, 0, p.bytes);
        must(!wf_ranks_prepare_receive(p.ranks, p.in, p.bytes, p.other, TAG, &p.prepared[0]) &&
                 !wf_ranks_prepare_send(p.ranks, p.out, p.bytes, p.other, TAG, &p.prepared[1]),
             "a prepared message");
        MPI_Recv_init(p.in, (int)p.bytes, MPI_BYTE, p.other, TAG, p.comm, &p.persistent[0]);
        MPI_Send_init(p.out, (int)p.bytes, MPI_BYTE, p.other, TAG, p.comm, &p.persistent[1]);
        compare("there and back", mpi_there_and_back, weft_there_and_back, &p);
        compare("exchange", mpi_exchange, weft_exchange, &p);
        must(!memcmp(p.in, p.out, p.bytes), "the comparison of what came");
        for (int i = 0; i < 2; i++) {
            wf_request_free(p.prepared[i]);
            MPI_Request_free(&p.persistent[i]);
        }
        free(p.out);
        free(p.in);
    }
    p.bytes = 0;
    compare("barrier", mpi_barriers, weft_barriers, &p);
    end_ranks(&p.comm, p.ranks);
    return 0;
}
