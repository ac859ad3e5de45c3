/* floats.h - the default floating-point environment, for computations of the libraries on the host. Recordings and
 * launches set it themselves (src/base/floats.h, which the libraries cannot include).
 *
 * Compilers may move operations on values in registers across these functions. So such an operation is in a function of
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
