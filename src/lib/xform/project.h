/* project.h - checks that slices and projections share. */
#ifndef WEFT_XFORM_PROJECT_H
#define WEFT_XFORM_PROJECT_H
#include "weft/project.h"
#include "xform_internal.h"

/* False, with an error, unless `rotations` is real, [n, axes, axes], and `shifts` NULL or real, [n, axes - 1]. */
bool wfl_rotations_fit(const wf_array *rotations, const wf_array *shifts, int axes, const char *function);
#endif
