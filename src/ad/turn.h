/* turn.h - a loop that is kept as a loop, and copies of its body. */
#ifndef WEFT_AD_TURN_H
#define WEFT_AD_TURN_H
#include "ad/loops.h"

typedef struct wf__turn {
    wf__ir *ir;
    const wf__ad_task *of; /* the task of the whole */
    wf__ir in;             /* the recording as it was: nodes and lists that do not move */
    wf__ref *map;          /* [in.n] node -> its copy; nodes outside of the loop are their own */
    wf__region loop;
    wf__ref first;   /* state 0 */
    uint32_t states; /* their number */
    /* A node of the body without which a turn changes nothing, the test that a loop begins with: a point whose turn is one
     * of its own has true there. 0 = none; such a point then has a guard that is true. */
    wf__ref test;
    uint32_t guards; /* states that are guards */
    /* [outers] values on the route that are the same in all turns: those from before the loop that the body uses, and for
     * each array a read in the body of the point's own element. */
    wf__ref *outer;
    uint32_t outers;
    uint8_t *varies;        /* [objects] not 0: the body has reads of the array on the route */
    uint32_t *effects;      /* [objects] wf__ad_task.effects for walks over a turn */
    const wf__route *route; /* the one through the loop */
} wf__turn;
/* The task of a walk over a turn: like that of the whole, without results and wanted values. */
static inline wf__ad_task wf__turn_task(const wf__turn *turn)
{
    const wf__ad_task *whole = turn->of;
    return (wf__ad_task){ .function = whole->function,
                          .record = whole->record,
                          .user = whole->user,
                          .derivative = whole->derivative,
                          .effects = turn->effects,
                          .turn = true,
                          .forward = whole->forward };
}
/* False = out of memory: the ir has failed. */
bool wf__turn_begin(wf__ir *ir, const wf__ad_task *of, const wf__route *route, const wf__region *loop, wf__turn *out);
void wf__turn_free(wf__turn *turn); /* also after failure */
static inline const wf__node *wf__turn_state(const wf__turn *t, uint32_t i) { return &t->in.node[t->first + i]; }
/* Records the body once more, for states of these values. runs: true for the points whose turn it is; other points may have
 * any states, and get any results. The test, or the only guard, then has this value, which value[] gets, too. 0 = the states
 * decide. Returns the first node that may be a copy. */
wf__ref wf__turn_copy(wf__turn *turn, wf__ref *value, wf__ref runs);
/* In the last copy, true for the points whose turn it is. value: the states of the copy. */
wf__ref wf__turn_runs(const wf__turn *turn, const wf__ref *value);
wf__ref wf__turn_next(const wf__turn *turn, uint32_t i); /* in the last copy, the next value of a state */
/* True if an outer value is a read in the body. */
static inline bool wf__turn_reads(const wf__turn *turn, uint32_t k) { return turn->outer[k] > turn->loop.loop; }
/* Finds the route through the last copy, whose nodes begin at `first`: from its states, reads and outer values to the next
 * values of the states for which `active` is not 0, and to scattered values. value: those of the states. False: the
 * ir has failed. */
bool wf__turn_route(const wf__turn *turn, const wf__ref *value, const wf__ref *active, wf__ref first, wf__route *out);
#endif
