/* distributed_cases.h - recordings that test programs run on one process and on several ranks (distributed_cases.c,
 * distributed_by_index.c, distributed_gathers.c, distributed_neighbours.c, distributed_results.c, distributed_random.c). */
#ifndef WEFT_TEST_DISTRIBUTED_CASES_H
#define WEFT_TEST_DISTRIBUTED_CASES_H
#include "distributed_world.h"

extern const distributed_case distributed_cases[]; /* ends with a NULL name */
extern const distributed_case distributed_random;  /* a recording that the run's seed decides */
/* ---- distributed_by_index.c ---- */
void distributed_gathers(distributed_world *w);
void distributed_recurrences(distributed_world *w);
void distributed_stores(distributed_world *w);
/* ---- distributed_gathers.c ---- */
void distributed_gathers_of_ranks(distributed_world *w);
/* ---- distributed_neighbours.c ---- */
void distributed_stars(distributed_world *w);
void distributed_sets(distributed_world *w);
/* ---- distributed_results.c ---- */
void distributed_results(distributed_world *w);
#endif
