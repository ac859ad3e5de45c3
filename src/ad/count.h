/* count.h - the number of turns of a loop, where constants of the recording determine it. */
#ifndef WEFT_AD_COUNT_H
#define WEFT_AD_COUNT_H
#include "ir/ir.h"

typedef struct wf__turns {
    bool known;     /* false: points decide, or there are more than `most` nodes */
    bool exact;     /* constants alone decide; else points may leave earlier */
    uint32_t turns; /* of the loop itself, at most */
    uint32_t nodes; /* of all turns, with those of the loops inside */
} wf__turns;
/* Counts the turns of the loop (or condition) by computing what constants determine, until there are more than `most`
 * nodes. False = out of memory. */
bool wf__count_turns(const wf__ir *ir, wf__ref loop, uint32_t most, wf__turns *out);
#endif
