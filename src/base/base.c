/* base.c - checked sizes, allocation, growable arrays, text building, hashing. */
#include "base/base.h"
#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

bool wf__mul_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

bool wf__add_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

bool wf__mul_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

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

char *wf__strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = wf__alloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

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

bool wf__str_reserve(wf__str *s, size_t more)
{
    size_t need;
    if (s->failed || !wf__add_size(s->len, more, &need) || !wf__add_size(need, 1, &need)) {
        s->failed = true;
        return false;
    }
    if (need <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap * 2 : 128;
    if (cap < need)
        cap = need;
    char *grown = wf__realloc(s->at, cap);
    if (!grown) {
        s->failed = true;
        return false;
    }
    s->at = grown;
    s->cap = cap;
    return true;
}

void wf__str_addn(wf__str *s, const char *text, size_t n)
{
    if (!wf__str_reserve(s, n))
        return;
    memcpy(s->at + s->len, text, n);
    s->len += n;
    s->at[s->len] = 0;
}

void wf__str_add(wf__str *s, const char *text) { wf__str_addn(s, text, strlen(text)); }

void wf__str_addv(wf__str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && wf__str_reserve(s, (size_t)n)) {
        vsnprintf(s->at + s->len, (size_t)n + 1, format, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void wf__str_addf(wf__str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wf__str_addv(s, format, args);
    va_end(args);
}

void wf__str_free(wf__str *s)
{
    wf__free(s->at);
    *s = (wf__str){ 0 };
}

const char *wf__str_get(const wf__str *s) { return s->at ? s->at : ""; }

uint64_t wf__hash64(const void *data, size_t bytes, uint64_t seed) { return XXH3_64bits_withSeed(data, bytes, seed); }

wf__hash128 wf__hash_128(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return (wf__hash128){ h.low64, h.high64 };
}
