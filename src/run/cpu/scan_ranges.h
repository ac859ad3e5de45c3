/* scan_ranges.h - stages that run range by range with a scan: the one that computes what is scanned, the one that uses the
 * result. In between, the elements are in the cache.
 */
#ifndef WEFT_RUN_FEED_H
#define WEFT_RUN_FEED_H
#include "plan/plan.h"

typedef struct wf__feed {
    const wf__stage *stage; /* its loops are the scanned array's axes in C order (wf__plan_fuse) */
    uint32_t object;        /* that array */
    wf__entry *entry;
    wf__call call;
} wf__feed;

/* Does the elements first .. end - 1, in C order; element 0 of the array would be at `base`. From any thread. */
void wf__feed_run(const wf__feed *feed, char *base, int64_t first, int64_t end);
#endif
