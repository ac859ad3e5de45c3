/* base.h - checked sizes, allocation, growable arrays, text and hashing, for all folders.
 *
 * No function aborts or prints. Functions that can fail return false or NULL and leave their arguments unchanged.
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

/* Assertions find bugs of the library, never bad input. Debug builds alone check them. */
#ifdef WEFT_DEBUG_CHECKS
#include <assert.h>
#define WF__ASSERT(x) assert(x)
#else
#define WF__ASSERT(x) ((void)0)
#endif

/* ---- sizes: an overflow returns false and leaves *out unchanged ---- */
static inline bool wf__mul_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
static inline bool wf__add_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
static inline bool wf__mul_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
/* True if the elements of an array lie in C order without gaps; also if there are none. */
static inline bool wf__is_c_order(const int64_t *dim, const int64_t *stride, int rank)
{
    int64_t expected = 1;
    bool packed = true;
    for (int d = rank - 1; d >= 0; --d) {
        packed = packed && (dim[d] < 2 || stride[d] == expected);
        expected *= dim[d];
    }
    return packed || !expected;
}

/* ---- memory (memory.c): the contract of malloc; NULL = out of memory. In debug builds, tests make the n-th call of the
 * calling thread fail (n >= 0; -1 = none), to prove that every path survives the failure. ---- */
void *wf__alloc(size_t bytes);
void *wf__alloc0(size_t bytes);
void *wf__realloc(void *p, size_t bytes);
void wf__free(void *p);
char *wf__strdup(const char *s);
void wf__alloc_fail_after(long n); /* no effect outside debug builds */
bool wf__alloc_fails(void);        /* for other allocators of the library: true if this call is to fail */

/* Makes room for `need` elements in *at; the capacity at least doubles. */
bool wf__grow(void *at_pointer, uint32_t *cap, uint32_t need, size_t element);

/* ---- text builder (text.c): an append without memory sets `failed`, and later appends do nothing ---- */
typedef struct wf__str {
    char *at; /* zero-terminated; NULL = nothing was appended */
    size_t len, cap;
    bool failed;
} wf__str;
bool wf__str_reserve(wf__str *s, size_t more); /* makes room for `more` further bytes; false = failed */
void wf__str_add(wf__str *s, const char *text);
void wf__str_addn(wf__str *s, const char *text, size_t n);
void wf__str_addf(wf__str *s, const char *format, ...) WF__PRINTF(2, 3);
void wf__str_addv(wf__str *s, const char *format, va_list args);
void wf__str_free(wf__str *s);             /* leaves an empty builder */
const char *wf__str_get(const wf__str *s); /* "" when empty */

/* ---- hashing (hash.c), by xxHash ---- */
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

/* ---- structs of options ---- */
#define WF__WRONG_SIZE "the size of a struct is wrong; set .size"
/* Copies a caller's struct, whose first member is its size, over the defaults in `to`. That of an older caller is shorter.
 * False, with `to` untouched, if the size is too small for itself, as where it was not set. True for NULL. */
static inline bool wf__take_options(void *to, size_t size, const void *from)
{
    size_t given = size;
    if (from)
        memcpy(&given, from, sizeof given);
    if (from && given >= sizeof given)
        memcpy(to, from, given < size ? given : size);
    return given >= sizeof given;
}

#endif
