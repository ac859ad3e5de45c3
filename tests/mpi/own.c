/* own.c - a program that uses MPI itself: ranks of half of its processes, by a communicator of its own. Weft finds the MPI
 * in the process, whatever WEFT_MPI says, and leaves MPI running.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <weft/ranks.h>

#define CHECK(x)                                                    \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            MPI_Abort(MPI_COMM_WORLD, 1);                           \
        }                                                           \
    } while (0)

static void log_line(const char *text, void *user)
{
    if (strstr(text, "in the process"))
        snprintf(user, 200, "%s", text);
}

int main(int argc, char **argv)
{
    int me, n, value, level;
    char found[200] = "";
    MPI_Comm half;
    wf_ranks *ranks = NULL;
    wf_ranks_error e = { 0 };
    wf_ranks_mpi_options o = { .size = sizeof o, .communicator = &half, .log = log_line, .log_user = found };
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    for (int again = 0; again < 2; again++) { /* MPI is not ended by the first */
        if (wf_ranks_open_mpi(&o, &ranks, &e) != WF_OK)
            fprintf(stderr, "%s\n", e.text);
        CHECK(ranks && strstr(found, "in the process"));
        int of_half, in_half;
        MPI_Comm_size(half, &of_half);
        MPI_Comm_rank(half, &in_half);
        CHECK(wf_ranks_size(ranks) == of_half && wf_ranks_rank(ranks) == in_half && of_half == (n + 1 - me % 2) / 2);
        /* a message of the program's with the same ranks and tag stays apart */
        int out = 1000 + me, next = (in_half + 1) % of_half, before = (in_half + of_half - 1) % of_half, got = 0;
        wf_request *both[2];
        MPI_Request own;
        MPI_Isend(&out, 1, MPI_INT, next, 6, half, &own);
        value = me;
        CHECK(wf_ranks_send(ranks, &value, sizeof value, next, 6, &both[0]) == WF_OK);
        CHECK(wf_ranks_receive(ranks, &got, sizeof got, before, 6, &both[1]) == WF_OK);
        CHECK(wf_request_wait_all(both, 2) == WF_OK && got < 1000 && got % 2 == me % 2);
        int received = 0;
        MPI_Recv(&received, 1, MPI_INT, before, 6, half, MPI_STATUS_IGNORE);
        MPI_Wait(&own, MPI_STATUS_IGNORE);
        CHECK(received == 1000 + got);
        wf_ranks_free(ranks);
        ranks = NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&half);
    MPI_Finalize();
    CHECK(wf_ranks_open_mpi(NULL, &ranks, &e) == WF_ERR_UNSUPPORTED && strstr(e.text, "finalized"));
    return 0;
}
