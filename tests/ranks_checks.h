/* ranks_checks.h - what every transport must do, as functions that ranks run: by threads (test_ranks) and over MPI
 * (mpi/program.c).
 */
#ifndef WEFT_TESTS_RANKS_CHECKS_H
#define WEFT_TESTS_RANKS_CHECKS_H
#include <weft/ranks.h>
#include <stdio.h>

/* Prints what does not hold, and ends the rank: cmocka's assertions are for the main thread alone. */
#define CHECK(x)                                                                                                      \
    do {                                                                                                              \
        if (!(x)) {                                                                                                   \
            fprintf(stderr, "%s:%d: rank %d of %d: %s; last message: %s\n", __FILE__, __LINE__, wf_ranks_rank(ranks), \
                    wf_ranks_size(ranks), #x, wf_ranks_message(ranks));                                               \
            return WF_ERR_BOUNDS;                                                                                     \
        }                                                                                                             \
    } while (0)
#define CHECK_OK(call) CHECK((call) == WF_OK)

typedef wf_status rank_check(wf_ranks *ranks, void *user);
typedef struct named_check {
    const char *name;
    rank_check *check;
} named_check;

extern const named_check rank_checks[]; /* ends with NULL */
#endif
