/* memory.c - allocation, growable arrays. */
#include "base/base.h"
#include <stdlib.h>

#ifdef WEFT_DEBUG_CHECKS
static _Thread_local long fail_after = -1;
void wf__alloc_fail_after(long n) { fail_after = n; }
bool wf__alloc_fails(void)
{
    if (fail_after < 0)
        return false;
    return fail_after-- == 0;
}
#else
void wf__alloc_fail_after(long n) { WF__UNUSED(n); }
bool wf__alloc_fails(void) { return false; }
#endif

void *wf__alloc(size_t bytes) { return wf__alloc_fails() ? NULL : malloc(bytes ? bytes : 1); }
void *wf__alloc0(size_t bytes) { return wf__alloc_fails() ? NULL : calloc(1, bytes ? bytes : 1); }
void *wf__realloc(void *p, size_t bytes) { return wf__alloc_fails() ? NULL : realloc(p, bytes ? bytes : 1); }
void wf__free(void *p) { free(p); }

bool wf__grow(void *at_pointer, uint32_t *cap, uint32_t need, size_t element)
{
    if (need <= *cap)
        return true;
    uint64_t wanted = *cap ? 2 * (uint64_t)*cap : 16;
    if (wanted < need)
        wanted = need;
    size_t bytes;
    if (wanted > UINT32_MAX || !wf__mul_size((size_t)wanted, element, &bytes))
        return false;
    void *old;
    memcpy(&old, at_pointer, sizeof old);
    void *grown = wf__realloc(old, bytes);
    if (!grown)
        return false;
    memcpy(at_pointer, &grown, sizeof grown);
    *cap = (uint32_t)wanted;
    return true;
}
