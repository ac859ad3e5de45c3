/* again.h - records the nodes of a recording again, in a graph and on other arrays; recordings that are kept for that. */
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

typedef struct wf__recorded { /* a recording, without its arrays */
    wf__ir ir, join, post;    /* WF_SECTION_CALL, WF_SECTION_JOIN and WF_SECTION_POST */
    uint64_t *initial;        /* [ir.red_n] */
    wf_axes reduce;
    uint8_t kind; /* wf__kind_of_graph */
    wf_shape space;
    wf_device device;
    char *name;
    wf__named_param *param;
    uint32_t param_n;
} wf__recorded;
/* Keeps a program. param: bits of its parameters; NULL = those that they have at first. False = out of memory;
 * wf__recorded_free is to be called in either case. */
bool wf__recorded_keep(const wf__program *p, const wf_shape *space, const uint64_t *param, wf__recorded *out);
void wf__recorded_free(wf__recorded *k);
/* Begins a recording of its kind, with its parameters. */
wf_graph *wf__recorded_begin(wf_context *ctx, const wf__recorded *k);
/* Records it there, on the arrays `to`, by its objects. */
void wf__recorded_again(const wf__recorded *k, wf_graph *g, wf_array *const *to, const char *function);
#endif
