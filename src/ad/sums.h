/* sums.h - array graphs: accumulations of a block by minimum, maximum or product as sums. */
#ifndef WEFT_AD_SUMS_H
#define WEFT_AD_SUMS_H
#include "ad/active.h"

typedef struct wf__sums { /* of one derivative; zeros but for the first two */
    const wf__activity *active;
    const char *function;
    struct { /* the elements of an array after a block, where accumulations have become sums */
        uint32_t object;
        wf__ref end, value;
    } * known;
    uint32_t known_n, known_cap;
} wf__sums; /* the caller frees `known` */

/* Records the nodes from `first` on once more, which compute what a block does, with sums that have the derivatives of what
 * they accumulate by minimum, maximum or product into arrays on the way. Sets *map to an array: node -> its copy, or the
 * node itself outside of them; NULL = nothing is recorded, as there is no such accumulation. Returns the first node
 * that is on the way; before it stand nodes that compute constants. */
wf__ref wf__record_sums(wf__sums *s, wf__ir *ir, const wf__region *block, wf__ref first, wf__ref **map);
/* True if there is such an accumulation among the nodes first..end - 1. */
bool wf__has_join_updates(const wf__ir *ir, wf__ref first, wf__ref end, const wf__activity *active);
#endif
