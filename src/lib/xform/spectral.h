/* spectral.h - reads of and sums into spectra, for the functions of arrays that know positions in elements: exact for
 * rotations that permute the axes. */
#ifndef WEFT_XFORM_SPECTRAL_H
#define WEFT_XFORM_SPECTRAL_H
#include "xform_internal.h"
#include "lib/signal/spectra.h"
#include <stdio.h>

/* As wf_spectrum_read and wf_spectrum_splat; if `elements`, positions are k n instead of k. */
wf_val wfl_spectrum_read(wf_graph *graph, const wf_array *array, const wf_spectrum *spectrum, const wf_interp *how,
                         wf_vals at, bool elements);
void wfl_spectrum_splat(wf_graph *graph, wf_array *array, wf_array *weights, const wf_spectrum *spectrum,
                        const wf_interp *how, wf_val value, wf_val weight, wf_vals at, bool elements);
/* Returns true where the frequency k, in cycles/pixel and of this dtype, is up to the cutoff. */
wf_val wfl_within_cutoff(wf_graph *graph, wf_vals k, wf_dtype dtype, double cutoff);
/* False, with an error that calls it `name`, if *how is not valid for spectra. */
bool wfl_spectral_interp_known(wf_context *ctx, const wf_interp *how, const char *function, const char *name);
#endif
