/* watch.h - what debug mode looks for while a stage runs, in the interpreter or on a GPU. The first finding is kept;
 * the access that it is about does not take place. And what it shows on the way, in the interpreter (show.h).
 */
#ifndef WEFT_WATCH_H
#define WEFT_WATCH_H
#include "run/debug/show.h"

/* Slots that write memory which meets share one table of writers, that of the slot `table`. */
typedef struct wf__watch_slot {
    uint64_t *writer;    /* of each element of the table: 1 + the number of the point that wrote it; NULL: not kept */
    int64_t first, last; /* offsets, in elements of this slot, of the table's first and last one */
    int64_t lowest, highest; /* of those that are the slot's own */
    uint32_t table;
    wf__sight *sight; /* NULL: nothing is to be seen. Else writers are not kept */
} wf__watch_slot;

typedef struct wf__watch {
    const wf__stage *stage;
    wf__watch_slot *slot; /* [slots] */
    bool nan;             /* stored NaNs are findings */
    wf_status status;     /* of the first finding */
    wf__str text;
} wf__watch;

/* `engine` knows the sights; NULL: there are none. false: out of memory. */
bool wf__watch_begin(wf__watch *w, wf__engine *engine, const wf__stage *stage, const wf__mem *mem);
/* Adds an output that some points left as they were, if there is one. */
void wf__watch_unset(const wf__watch *w, wf__str *out);
void wf__watch_end(wf__watch *w);

/* An index of `index` is not inside the array of the access. */
void wf__watch_outside(wf__watch *w, const wf__node *n, const int64_t *index, const int64_t *point);
/* A CHECK does not hold. */
void wf__watch_local(wf__watch *w, const wf__node *n, int64_t index, const int64_t *point);
/* The findings of stores: `writer`, 1 + the number of its point, was there before; a NaN is stored. */
void wf__watch_same(wf__watch *w, const wf__node *n, uint64_t writer, const int64_t *point);
void wf__watch_nan(wf__watch *w, const wf__node *n, const int64_t *point);
/* A value that is stored or joined, and a store to `offset`; false: it must not take place. */
bool wf__watch_value(wf__watch *w, const wf__node *n, unsigned dtype, const void *value, const int64_t *point);
bool wf__watch_store(wf__watch *w, const wf__node *n, int64_t offset, const void *value, const int64_t *point);

/* Is there anything to be seen? At this node? */
bool wf__watch_has_sights(const wf__watch *w);
bool wf__watch_is_sight(const wf__watch *w, const wf__node *n);
/* Its store has taken place; false: the run is over, by a finding of that status. */
bool wf__watch_look(wf__watch *w, const wf__node *n);
/* There is not enough memory for all points of a box at once, or it would be more than `most` bytes. */
void wf__watch_no_memory(wf__watch *w, size_t most);
#endif
