/* base.h - what every room of the library stands on: checked sizes, allocation, growable arrays, text, hashing.
 *
 * Nothing here aborts or prints. Functions that can fail return false or NULL and leave their arguments as they were.
 */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WF__COUNT(array) (sizeof(array) / sizeof *(array))
#define WF__UNUSED(x) ((void)(x))

#if defined(__GNUC__)
#define WF__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define WF__PRINTF(fmt, args)
#endif

/* An assertion finds our own bugs, never bad input. On in debug builds only. */
#ifdef WEFT_DEBUG_CHECKS
#include <assert.h>
#define WF__ASSERT(x) assert(x)
#else
#define WF__ASSERT(x) ((void)0)
#endif

/* ---- sizes: false on overflow, *out untouched ---- */
bool wf__mul_size(size_t a, size_t b, size_t *out);
bool wf__add_size(size_t a, size_t b, size_t *out);
bool wf__mul_i64(int64_t a, int64_t b, int64_t *out);

/* ---- memory: malloc's contract; NULL when it runs out. In debug builds a test can make the n-th call of the calling
 * thread fail (n >= 0; -1: never), to prove that every path survives it. ---- */
void *wf__alloc(size_t bytes);
void *wf__alloc0(size_t bytes);
void *wf__realloc(void *p, size_t bytes);
void wf__free(void *p);
char *wf__strdup(const char *s);
void wf__alloc_fail_after(long n); /* no effect outside debug builds */
bool wf__alloc_fails(void);        /* asked by other allocators of ours: does this call fail? */

/* Makes room for `need` elements in *at, at least doubling. */
bool wf__grow(void *at_pointer, uint32_t *cap, uint32_t need, size_t element);

/* ---- text builder: appends never fail visibly; `failed` is set when memory ran out ---- */
typedef struct wf__str {
    char *at; /* always terminated once anything was appended; NULL before */
    size_t len, cap;
    bool failed;
} wf__str;
bool wf__str_reserve(wf__str *s, size_t more); /* room for so many bytes more; false: failed */
void wf__str_add(wf__str *s, const char *text);
void wf__str_addn(wf__str *s, const char *text, size_t n);
void wf__str_addf(wf__str *s, const char *format, ...) WF__PRINTF(2, 3);
void wf__str_addv(wf__str *s, const char *format, va_list args);
void wf__str_free(wf__str *s);             /* leaves an empty builder */
const char *wf__str_get(const wf__str *s); /* "" when empty */

/* ---- hashing (xxHash) ---- */
uint64_t wf__hash64(const void *data, size_t bytes, uint64_t seed);
typedef struct wf__hash128 {
    uint64_t lo, hi;
} wf__hash128;
wf__hash128 wf__hash_128(const void *data, size_t bytes);
static inline uint32_t wf__mix32(uint64_t x)
{
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    return (uint32_t)x;
}
#endif
