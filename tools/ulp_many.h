/* ulp_many.h - reference values and errors of many f32 arguments at once: the inner loops of an exhaustive run of ulp. */
#ifndef ULP_MANY_H
#define ULP_MANY_H
#include <stddef.h>

/* y[i] = f(x[i]) in double, for arguments that are floats; true to some units of double's last place. */
typedef void ulp_many(const double *x, double *y, size_t n);
ulp_many *ulp_many_of(const char *function); /* NULL: ulp calls the function for one argument at a time */

/* error[i] = what sign * got[i] is off exact[i], in units of the last place of f32 (of size[i] where that is larger;
 * size may be NULL); HUGE_VALF where only one is NaN, or where a zero should be another one or none. Returns the
 * largest. */
float ulp_many_errors(const double *exact, const double *size, const float *got, float sign, float *error, size_t n);
#endif
