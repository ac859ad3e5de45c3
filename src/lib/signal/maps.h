/* maps.h - what functions of maps share: arrays whose last axes are those of an image or volume. */
#ifndef WEFT_SIGNAL_MAPS_H
#define WEFT_SIGNAL_MAPS_H
#include "signal_internal.h"

/* Returns the mask of the last `rank` axes of a real array; 0, with an error: rank is not 1 to 3, or above that of the
 * array, or the array is complex. */
wf_axes wfl_map_axes(const wf_array *a, int rank, const char *function);
#endif
