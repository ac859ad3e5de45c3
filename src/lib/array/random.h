/* random.h - random numbers of a distribution, as a function of uniform ones. */
#ifndef WEFT_ARRAY_RANDOM_H
#define WEFT_ARRAY_RANDOM_H
#include "array_internal.h"

/* Records the random number for the uniform number u, f64, 0 <= u < 1. The real result is converted to the array's
 * dtype. */
typedef wf_val wfl_of_unit(wf_graph *graph, wf_val u, const void *user);
/* The numbers u are those of wf_array_random_uniform(array of f64, random, 0, 1). */
wf_status wfl_array_random_mapped(wf_array *array, wf_random random, wfl_of_unit *of, const void *user);
/* Records word 0 of the counter random.first + at, `at` being u64; u32. */
wf_val wfl_random_word(wf_graph *graph, wf_random random, wf_val at);
#endif
