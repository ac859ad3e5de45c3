/* again.h - records the nodes of a recording again, in a graph and on other arrays. */
#ifndef WEFT_AGAIN_H
#define WEFT_AGAIN_H
#include "launch/launch.h"

typedef struct wf__again {
    wf_graph *g;          /* records them in its current section */
    const wf__ir *in;     /* nodes of an index space, of elements, or of an array graph */
    wf_array *const *to;  /* arrays, by the objects of `in` */
    const char *function; /* for messages */
    wf__ref *map;         /* [in->n] node -> its copy; 0 = none */
    uint32_t *slot;       /* [in->slot_n] 1 + the slot in the graph; 0 = none was needed */
    wf__ir view;          /* `in`, with the slots of the graph */
} wf__again;

/* Begins copies. Without memory the graph fails. The caller calls wf__again_end. */
void wf__again_begin(wf__again *a);
void wf__again_end(wf__again *a);
/* Records node r, whose operands have copies, on the arrays `to`. */
void wf__again_node(wf__again *a, wf__ref r);
#endif
