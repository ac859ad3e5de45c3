/* project.h - projections of volumes, by slices through the center of their spectra and in real space, and their
 * transposes, for reconstruction. Also of images, whose projections are lines.
 * Rotations are real arrays [n, d, d], d = 3 (or 2), for positions (z, y, x) relative to the centers, n/2: they take
 * positions in a projection, whose first coordinate is 0, to positions in the volume. The projection is along the axis
 * that they take the first axis to. Shifts are real, [n, d - 1], in pixels, of the projections; NULL: none.
 * Owns, Errors, Threads, Waits as in functions.h. Reference: docs/reference/project.md */
#ifndef WF_PROJECT_H
#define WF_PROJECT_H
#include "weft/xform.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- central slices ---------------------------------------------------------------------------------------------- */
typedef struct wf_slices {
    wf_spectrum volume; /* .rank is 3 (or 2); a volume that is padded has larger .size than the images */
    wf_spectrum image;  /* .rank is one less */
    wf_interp how;      /* as of wf_spectrum_read */
    double cutoff;      /* slices are 0 beyond this frequency, in cycles/pixel, and not inserted; 0 = 0.5 */
    /* Insertion: 0 = each element of a slice is added around its frequency. Else each element of the volume gets from
     * each slice, at a distance z up to `window` cycles/pixel, sinc(z / sinc) times a Blackman window. */
    double window, sinc; /* sinc: 0 = 1 / the largest extent of the volume */
    /* Of the electrons, in pixels: slices are caps of the Ewald sphere, at +z, about wavelength |k|^2 / 2; below 0 of
     * its other side, at -z. 0 = planes. */
    double wavelength;
} wf_slices;
/* [n, ...]: slices of the spectrum `volume` through frequency 0, moved by `shifts`. Dtypes: complex. */
WF_API wf_array *wf_extract_slices(const wf_array *volume, const wf_slices *slices, const wf_array *rotations,
                                   const wf_array *shifts);
/* Adds slices [n, ...] to the spectrum `volume`, and their weights to `weights`, real, of its shape, or NULL; slices are
 * moved back by `shifts`. image_weights: real, [n] or as `images`; NULL: 1. It weighs `weights` only.
 * The transpose of wf_extract_slices, if `window` is 0.
 * Errors: WF_ERR_ARG: one spectrum is half and the other full; `window` with rotations that are none. */
WF_API wf_status wf_insert_slices(wf_array *volume, wf_array *weights, const wf_array *images,
                                  const wf_array *image_weights, const wf_slices *slices, const wf_array *rotations,
                                  const wf_array *shifts);
/* out = sums / weights, where a weight below `least` counts as `least` (0: the sum stays 0 where the weight is).
 * Shapes: one. Aliasing: `out` may be `sums`. */
WF_API wf_status wf_normalize_sums(wf_array *out, const wf_array *sums, const wf_array *weights, double least);
/* Divides images by the Fourier transform of the interpolation, prod over axes of c((i - n/2) / size), of their last
 * `rank` axes: before their spectrum, of these sizes, is interpolated, or after values were added to it.
 * Example: c of WF_INTERPOLATE_LINEAR is sinc^2. Aliasing: `out` may be x. Errors: WF_ERR_SHAPE: n is above the size. */
WF_API wf_status wf_correct_gridding(wf_array *out, const wf_array *x, const wf_spectrum *spectrum,
                                     wf_interpolation interpolation);

/* ---- real space --------------------------------------------------------------------------------------------------
 * [n, shape] (rank 0: the volume's last extents): sums of the volume, interpolated, at points one element apart along
 * rays through it; outside it is 0. Integer volumes: as wf_transform. B-splines: coefficients, as of wf_transform.
 * Example: wf_array *sinogram = wf_project(img, WF_SCALAR, rotations, NULL, &linear); [n, 2, 2] for an image */
WF_API wf_array *wf_project(const wf_array *volume, wf_shape shape, const wf_array *rotations, const wf_array *shifts,
                            const wf_interp *how);
/* The transpose: adds the images [n, ...] to the volume along their rays; to coefficients of B-splines.
 * Aliasing: as wf_accumulate_n. */
WF_API wf_status wf_back_project(wf_array *volume, const wf_array *images, const wf_array *rotations,
                                 const wf_array *shifts, const wf_interp *how);

#ifdef __cplusplus
}
#endif
#endif
