/* watch.h - the checks of debug mode while a stage runs, in the interpreter or on a GPU. The first finding is kept, and
 * its access does not happen. In the interpreter, also the calls of wf_watch (watchpoint.h).
 */
#ifndef WEFT_WATCH_H
#define WEFT_WATCH_H
#include "run/debug/watchpoint.h"

/* Slots that write overlapping memory share one table of writers. */
typedef struct wf__watch_slot {
    uint64_t *writer;    /* for each element of the table, 1 + the number of the point that wrote it; NULL = not kept */
    int64_t first, last; /* offsets of the table's first and last element, in elements of this slot */
    int64_t lowest, highest;    /* offsets of the slot's own first and last element */
    uint32_t table;             /* the slot that owns the table */
    wf__watchpoint *watchpoint; /* the array, if wf_watch shows it, which has no table of writers; else NULL */
} wf__watch_slot;

typedef struct wf__watch {
    const wf__stage *stage;
    wf__watch_slot *slot; /* [slots] */
    bool nan;             /* stored NaNs are findings */
    wf__failure *failure; /* failure of the run, which the first finding becomes */
} wf__watch;

/* Stores after which the callback of wf_watch runs. A store may repeat if it is in a loop, or is a copy from an
 * unrolled loop. */
typedef enum wf__shows { WF__SHOWS_NONE, WF__SHOWS_ALL, WF__SHOWS_REPEATED, WF__SHOWS_SINGLE } wf__shows;

/* Begins the checks of a stage. engine: holds the list of watchpoints; NULL = no wf_watch. false = out of memory. */
bool wf__watch_begin(wf__watch *w, wf__engine *engine, const wf__stage *stage, const wf__mem *mem,
                     wf__failure *failure);
/* Appends a text about an output that some points left unset, if there is one. */
void wf__watch_unset(const wf__watch *w, wf__str *out);
void wf__watch_end(wf__watch *w);

/* Each of the functions up to wf__watch_nan reports a finding. `index` is outside the array of the access. */
void wf__watch_outside(wf__watch *w, const wf__node *n, const int64_t *index, const int64_t *point);
/* The index of a local array is outside. */
void wf__watch_local(wf__watch *w, const wf__node *n, int64_t index, const int64_t *point);
/* Of stores: another point has written the element (writer: 1 + its number); the value is a NaN. */
void wf__watch_same(wf__watch *w, const wf__node *n, uint64_t writer, const int64_t *point);
void wf__watch_nan(wf__watch *w, const wf__node *n, const int64_t *point);
/* Check a value that is stored or joined, and a store to `offset`. false = the access must not happen. */
bool wf__watch_value(wf__watch *w, const wf__node *n, unsigned dtype, const void *value, const int64_t *point);
bool wf__watch_store(wf__watch *w, const wf__node *n, int64_t offset, const void *value, const int64_t *point);

/* True if wf_watch shows an array that the stage stores to. */
bool wf__watch_has_watchpoints(const wf__watch *w);
/* Calls the callback of wf_watch if node r is a store that `which` names. Returns false if the callback ended the run,
 * which is a finding. */
bool wf__watch_show(wf__watch *w, wf__ref r, wf__shows which);
/* Reports a finding: the points of a box need more memory than there is, or more than `most` bytes. */
void wf__watch_no_memory(wf__watch *w, size_t most);
#endif
