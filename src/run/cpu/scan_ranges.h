/* scan_ranges.h - stages that run range by range with a scan, while the elements are in the cache: the producer of the
 * scanned elements and the consumer of the result.
 */
#ifndef WEFT_SCAN_RANGES_H
#define WEFT_SCAN_RANGES_H
#include "plan/plan.h"

typedef struct wf__ranged {
    const wf__stage *stage; /* whose loops are the axes of the scanned array in C order (plan/schedule.c) */
    uint32_t object;        /* the scanned array */
    wf__entry *entry;
    wf__call call;
} wf__ranged;

/* Runs the stage on the elements first .. end - 1, in C order. base: the address that element 0 of the array would
 * have. Any thread may call. */
void wf__run_range(const wf__ranged *ranged, char *base, int64_t first, int64_t end);
#endif
