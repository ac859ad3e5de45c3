/* llvm_find.h - which LLVM libraries there are, without opening any: a warm start needs no more than their names. */
#ifndef WEFT_LLVM_FIND_H
#define WEFT_LLVM_FIND_H
#include "base/base.h"

enum { WF__LLVM_MIN = 15, WF__LLVM_MAX = 22 };
typedef struct wf__llvm_library {
    char *path;    /* from wf__alloc; links are not resolved: that would take as long as loading a kernel */
    int major;     /* as its name says; 0: it does not say */
    uint64_t size; /* of the file; with mtime it tells two builds apart */
    int64_t mtime_ns;
    uint64_t device, inode; /* which file it is, by whatever path */
} wf__llvm_library;

typedef struct wf__llvm_list {
    wf__llvm_library *at; /* in the order to try: 19 to 22, then 18 and older */
    uint32_t n, cap;
} wf__llvm_list;

/* WEFT_LLVM in the environment, if set and not empty, is the only candidate ("none": there is no candidate); else the
 * usual names in the usual folders. Stops at the first `most` (each look costs a microsecond). False without memory; an
 * empty list is no failure. */
bool wf__llvm_find(wf__llvm_list *out, uint32_t most);
void wf__llvm_list_free(wf__llvm_list *list);
/* Why wf__llvm_find found none. A literal, or made in `text`. */
const char *wf__llvm_missing(char *text, size_t cap);
#endif
