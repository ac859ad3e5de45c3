/* ranks_random.h - random programs of messages and collective functions, with a model that goes through the program step by
 * step: run by threads (test_ranks_random) and over MPI (mpi/program.c).
 *
 * All ranks go through one list of steps. A step waits only for what earlier steps have begun, so a program cannot come
 * to a standstill. A rank's state is a hash of all that it has received; what it sends depends on its state.
 */
#ifndef WEFT_TESTS_RANKS_RANDOM_H
#define WEFT_TESTS_RANKS_RANDOM_H
#include <weft/ranks.h>

enum { MOST_RANKS = 9, MOST_STEPS = 60, MOST_OPEN = 2 * MOST_STEPS };

typedef enum step_kind {
    MESSAGE,   /* of `bytes` from rank a to rank b */
    WAIT_ALL,  /* rank a waits for all that it has begun */
    WAIT_ONE,  /* rank a waits for its request number b */
    TEST_ONE,  /* likewise, by asking */
    WAIT_EACH, /* rank a waits for all, in the order in which they are done */
    BARRIER,
    BROADCAST, /* of `bytes` from rank a */
    ALL_GATHER,
    ALL_TO_ALL,
    AGREE,   /* rank a has an error if tag is odd */
    COUNTER, /* all add */
    SPLIT,   /* into b groups; each gathers */
    KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    int a, b, tag;
    size_t bytes;
    bool prepared;
} step;

typedef struct random_ranks {
    int n, steps;
    step step[MOST_STEPS];
    uint64_t state[MOST_RANKS]; /* of the model at the end */
} random_ranks;

uint64_t random_ranks_draw(uint64_t *random, uint64_t below);
/* Makes the program of a seed, for n ranks (0: that depends on the seed), and runs the model. */
void random_ranks_make(random_ranks *program, uint64_t seed, int n);
/* What each rank does: WF_ERR_BOUNDS if its state at the end is not the model's. user: the program. */
wf_status random_ranks_run(wf_ranks *ranks, void *user);
#endif
