/* joiner.h - partial results of reductions, joined on the host. */
#ifndef WEFT_JOINER_H
#define WEFT_JOINER_H
#include "ir/ir.h"

/* Bytes of scratch that wf__join_pairs needs for these reductions; 16-byte aligned. */
size_t wf__join_scratch(const wf__ir *body);
/* For i < n: mine(k)[i] = join(mine(k)[i], other(k)[i]) for every reduction k of the body, by its join or all custom
 * ones together by body->joiner. `at`: [2 * red_n], the arrays of mine, then those of other; packed, of the
 * reductions' dtypes. */
void wf__join_pairs(const wf__ir *body, void *const *at, size_t n, void *scratch);
#endif
