/* llvm_find.h - finding LLVM libraries without opening them: a start with cached code needs only their names. */
#ifndef WEFT_LLVM_FIND_H
#define WEFT_LLVM_FIND_H
#include "base/base.h"

enum { WF__LLVM_MIN = 15, WF__LLVM_MAX = 22 };
typedef struct wf__llvm_library {
    char *path;    /* path, from wf__alloc; links are not resolved */
    int major;     /* version by the file's name; 0 = unknown */
    uint64_t size; /* bytes of the file; size and mtime_ns distinguish builds */
    int64_t mtime_ns;
    uint64_t device, inode; /* the file's identity */
} wf__llvm_library;

typedef struct wf__llvm_list {
    wf__llvm_library *at; /* libraries in the order of preference, see wf__llvm_find */
    uint32_t n, cap;
} wf__llvm_list;

/* Finds at most `most` libraries. WEFT_LLVM, if set and not empty, is the path of the only candidate, or a version such
 * as "19", to which the search is then limited, or "none". Else the candidates are libweft_llvm beside this code, then
 * the usual names in the usual folders; in both groups 19 to 22 come before 18 and older. false = out of memory; an
 * empty list is no failure. */
bool wf__llvm_find(wf__llvm_list *out, uint32_t most);
void wf__llvm_list_free(wf__llvm_list *list);
/* Returns the reason why wf__llvm_find found no library: a literal, or a text in `text`. */
const char *wf__llvm_missing(char *text, size_t cap);
#endif
