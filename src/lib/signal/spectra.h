/* spectra.h - checks of arrays that hold spectra. */
#ifndef WEFT_SIGNAL_SPECTRA_H
#define WEFT_SIGNAL_SPECTRA_H
#include "signal_internal.h"

/* Returns false, with an error, unless the last axes of the array are those of a valid spectrum. */
bool wfl_spectrum_last(const wf_array *a, const wf_spectrum *s, const char *function, const char *argument);
/* Returns false, with an error, unless the array is a vector of `last` elements, or has one for each batch of `shape`,
 * whose last `rank` axes are those of a spectrum. */
bool wfl_spectrum_batch(const wf_array *a, const wf_shape *shape, int rank, int64_t last, const char *function,
                        const char *argument);
/* shell.c: the extent n of a valid spectrum by which shells are counted: the smallest above 1, or 1. */
int64_t wfl_shell_extent(const wf_spectrum *s);
#endif
