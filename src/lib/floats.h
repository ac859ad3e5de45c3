/* floats.h - the default floating-point environment for what the libraries compute on the host themselves. Recordings
 * and launches see to it on their own (src/base/floats.h).
 *
 * Compilers may move operations on values in registers across these functions. So an operation belongs into a function of
 * its own that is not inlined (WFL_APART). */
#ifndef WEFT_LIB_FLOATS_H
#define WEFT_LIB_FLOATS_H
#include <fenv.h>

#define WFL_APART __attribute__((noinline))

static inline void wfl_floats_begin(fenv_t *saved)
{
    fegetenv(saved);
    fesetenv(FE_DFL_ENV);
}

static inline void wfl_floats_end(const fenv_t *saved) { fesetenv(saved); }
#endif
