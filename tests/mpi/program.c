/* program.c - what tests/mpi/run.sh starts by mpirun: a program of ranks over MPI that links no MPI itself.
 *
 *   program checks [TIMEOUT]   what every transport must do (ranks_checks.h), with a timeout if there is one
 *   program random COUNT       random programs (ranks_random.h); one message names the first whose results differ
 *   program distributed        recordings of distributed arrays (distributed_cases.h)
 *   program die                the last rank is killed while the others wait for it
 *   program abort              the last rank aborts with code 9
 *   program hang               rank 0 waits for a message that never comes; the others are somewhere else
 *   program size N             there are N ranks
 */
#include "../distributed_cases.h"
#include "../ranks_checks.h"
#include "../ranks_random.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static wf_status checks(wf_ranks *ranks)
{
    wf_status status = WF_OK;
    for (const named_check *c = rank_checks; c->name && !status; c++)
        status = c->check(ranks, NULL);
    return status;
}

static wf_status random_programs(wf_ranks *ranks, int count)
{
    for (int seed = 1; seed <= count; seed++) {
        random_ranks p;
        char text[40];
        snprintf(text, sizeof text, "random program %d", seed);
        random_ranks_make(&p, (uint64_t)seed, wf_ranks_size(ranks));
        wf_status status = wf_ranks_agree(ranks, random_ranks_run(ranks, &p), text, NULL);
        if (status)
            return status;
    }
    return WF_OK;
}

static wf_status distributed(wf_ranks *ranks)
{
    wf_status status = WF_OK;
    for (const distributed_case *c = distributed_cases; c->name && !status; c++) {
        distributed_run run = { .it = c, .threads = 1, .device = WF_INTERP };
        distributed_alone(&run);
        status = distributed_on_rank(ranks, &run);
        distributed_end(&run);
    }
    return status;
}

static wf_status stop(wf_ranks *ranks, bool die)
{
    if (wf_ranks_rank(ranks) == wf_ranks_size(ranks) - 1) {
        if (die)
            kill(getpid(), SIGKILL);
        wf_ranks_abort(ranks, 9, "the test aborts");
    }
    return wf_ranks_barrier(ranks);
}

static wf_status hang(wf_ranks *ranks)
{
    int32_t in;
    wf_request *r;
    if (wf_ranks_rank(ranks) != 0)
        return wf_ranks_barrier(ranks);
    CHECK_OK(wf_ranks_receive(ranks, &in, sizeof in, 1, 77, &r));
    wf_status status = wf_request_wait(&r);
    wf_request_free(r);
    return status;
}

static void print_abort(const char *text, void *user) { fprintf(user, "%s\n", text); }

int main(int argc, char **argv)
{
    const wf_ranks_mpi_options options = { .size = sizeof options, .abort = print_abort, .abort_user = stderr };
    wf_ranks *ranks = NULL;
    wf_ranks_error e = { 0 };
    const char *what = argc > 1 ? argv[1] : "";
    wf_status status = wf_ranks_open_mpi(&options, &ranks, &e);
    if (status) {
        fprintf(stderr, "%s\n", e.text);
        return 3;
    }
    if (!strcmp(what, "checks")) {
        status = wf_ranks_set_timeout(ranks, argc > 2 ? atof(argv[2]) : 0);
        status = status ? status : checks(ranks);
    } else if (!strcmp(what, "die") || !strcmp(what, "abort"))
        status = stop(ranks, *what == 'd');
    else if (!strcmp(what, "random"))
        status = random_programs(ranks, argc > 2 ? atoi(argv[2]) : 1);
    else if (!strcmp(what, "distributed"))
        status = distributed(ranks);
    else if (!strcmp(what, "hang"))
        status = hang(ranks);
    else if (wf_ranks_size(ranks) != atoi(argc > 2 ? argv[2] : "0"))
        status = WF_ERR_SHAPE;
    if (status) {
        wf_ranks_abort(ranks, 5, wf_ranks_message(ranks));
    }
    wf_ranks_free(ranks);
    return 0;
}
