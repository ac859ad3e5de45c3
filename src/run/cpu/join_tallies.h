/* join_tallies.h - joins arrays that ranks accumulate into (join_tallies.c). */
#ifndef WEFT_JOIN_TALLIES_H
#define WEFT_JOIN_TALLIES_H
#include "run/cpu/join_ranks.h"

typedef struct wf__tallies {
    const wf__stage *stage;
    const wf__others *others;
    wf__mem_cache *memory;
    char *const *base;      /* of objects */
    char *before;           /* the elements before the stage, one tally after the other; NULL = not begun */
    char *all;              /* a part of an array, of each rank */
    size_t *bytes, *offset; /* [ranks] pieces of `all` */
    size_t sum;             /* bytes of `before` */
} wf__tallies;
/* Keeps the elements of the stage's tallies, and sets them to what joins leave alone. Returns false without memory. */
bool wf__tallies_begin(wf__tallies *t, const wf__stage *stage, const wf__others *others, wf__mem_cache *memory,
                       char *const *base);
/* Joins what all ranks have accumulated, and the elements before. Collective; `ok`: this rank has run its points. `told`: all
 * ranks know that already. Returns false on all ranks, with the failure set, if one has failed. */
bool wf__tallies_join(wf__tallies *t, const wf__others *others, bool ok, bool told, wf__failure *failure);
void wf__tallies_end(wf__tallies *t);
#endif
