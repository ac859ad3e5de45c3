/* floats.h - the floating-point environment of the calling thread: rounding direction, flushing of subnormals to zero,
 * and exceptions that trap.
 *
 * Results of Weft do not depend on the environment of the caller, and each call leaves it unchanged. So Weft computes
 * with floats in the default environment: to nearest, no flushing, no traps. Threads of Weft start in the default
 * environment (wf__thread_start).
 *
 * Compilers may move operations on values in registers across these functions. So an operation on a parameter is in a
 * function of its own that is not inlined (WF__APART).
 */
#ifndef WEFT_FLOATS_H
#define WEFT_FLOATS_H
#include <stdint.h>

#define WF__APART __attribute__((noinline))

#if defined(__x86_64__)
/* MXCSR. Bits 0 .. 5 are the exceptions that have occurred; the other bits control. */
typedef uint32_t wf__floats;
#define WF__FLOATS_DEFAULT 0x1F80u
#define WF__FLOATS_OCCURRED 0x3Fu

/* Sets the default environment. Returns the caller's. */
static inline wf__floats wf__floats_begin(void)
{
    uint32_t saved, plain = WF__FLOATS_DEFAULT;
    __asm__ volatile("stmxcsr %0" : "=m"(saved) : : "memory");
    if ((saved & ~WF__FLOATS_OCCURRED) != WF__FLOATS_DEFAULT)
        __asm__ volatile("ldmxcsr %0" : : "m"(plain) : "memory");
    return saved;
}

/* Restores the caller's environment, with the exceptions that had occurred. A load costs less than a comparison with the
 * present state. */
static inline void wf__floats_end(wf__floats saved) { __asm__ volatile("ldmxcsr %0" : : "m"(saved) : "memory"); }

#elif defined(__aarch64__)
/* FPCR, which only controls. Exceptions that have occurred are in FPSR, which stays as it is. */
typedef uint64_t wf__floats;

static inline wf__floats wf__floats_begin(void)
{
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved) : : "memory");
    if (saved)
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return saved;
}

static inline void wf__floats_end(wf__floats saved)
{
    if (saved)
        __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}

#else
#include <fenv.h>
typedef fenv_t wf__floats;

static inline wf__floats wf__floats_begin(void)
{
    fenv_t saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void wf__floats_end(wf__floats saved) { fesetenv(&saved); }
#endif

#if defined(__x86_64__)
/* wf__floats and the control word of the x87 unit, whose rounding direction strtod and printf follow. Slower. */
typedef struct wf__all_floats {
    wf__floats vector;
    uint16_t x87;
} wf__all_floats;

static inline wf__all_floats wf__all_floats_begin(void)
{
    wf__all_floats saved = { .vector = wf__floats_begin() };
    uint16_t plain = 0x37F;
    __asm__ volatile("fnstcw %0" : "=m"(saved.x87) : : "memory");
    if (saved.x87 != plain)
        __asm__ volatile("fldcw %0" : : "m"(plain) : "memory");
    return saved;
}

static inline void wf__all_floats_end(wf__all_floats saved)
{
    __asm__ volatile("fldcw %0" : : "m"(saved.x87) : "memory");
    wf__floats_end(saved.vector);
}
#else
typedef wf__floats wf__all_floats;
static inline wf__all_floats wf__all_floats_begin(void) { return wf__floats_begin(); }
static inline void wf__all_floats_end(wf__all_floats saved) { wf__floats_end(saved); }
#endif
#endif
