/* joiner.h - joining partial results of reductions on the processor. */
#ifndef WEFT_JOINER_H
#define WEFT_JOINER_H
#include "ir/ir.h"

/* Returns the bytes of scratch, 16-byte aligned, that wf__join_pairs needs for these reductions. */
size_t wf__join_scratch(const wf__ir *body);
/* Joins pairs: for i < n and every reduction k of the body, a(k)[i] = join(a(k)[i], b(k)[i]). body->joiner does all
 * custom joins at once. at: [2 * red_n], the packed arrays a(k), then b(k), of the reductions' dtypes. */
void wf__join_pairs(const wf__ir *body, void *const *at, size_t n, void *scratch);
#endif
