/* active.h - which nodes lie between the wanted values and the results. */
#ifndef WEFT_AD_ACTIVE_H
#define WEFT_AD_ACTIVE_H
#include "ad/ad.h"

enum {
    WF__VARIES = 1, /* the value depends on a wanted value, by operations that have derivatives */
    WF__COUNTS = 2, /* a result depends on the value */
    WF__ACTIVE = WF__VARIES | WF__COUNTS
};
typedef struct wf__activity {
    uint8_t *node;  /* [nodes] marks */
    uint8_t *array; /* [objects] marks of the memory of an array, at any time */
} wf__activity;

/* Marks the nodes that the ir has. In an array graph memory takes part: a read by index of a wanted array varies, and so
 * does what was stored. False = out of memory: the ir has failed. */
bool wf__find_active(wf__ir *ir, const wf__ad_task *task, wf__activity *out);
void wf__activity_free(wf__activity *active);
/* True if the node is an element-wise read of a whole array. */
static inline bool wf__reads_whole(const wf__node *n) { return n->op == WF__LOAD && !n->b; }
#endif
