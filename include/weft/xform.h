/* xform.h - interpolation, rotations and shapes as functions of values; geometric transforms of arrays.
 * Positions and matrices are in the order of the axes (z, y, x). Element k of an axis is at coordinate k.
 * Functions of values: as those of traced.h. Functions of arrays: Owns, Errors, Threads, Waits as in functions.h.
 * Reference: docs/reference/xform.md */
#ifndef WF_XFORM_H
#define WF_XFORM_H
#include "weft/functions.h"
#include "weft/signal.h" /* wf_soft_edge */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- interpolation ---------------------------------------------------------------------------------------------- */
typedef enum wf_interpolation {
    WF_INTERPOLATE_NEAREST, /* halves go up */
    WF_INTERPOLATE_LINEAR,
    WF_INTERPOLATE_CUBIC,    /* Keys' with a = -1/2 (Catmull-Rom) */
    WF_INTERPOLATE_BSPLINE,  /* cubic B-spline; the elements are coefficients (wf_spline_filter) */
    WF_INTERPOLATE_LANCZOS4, /* windowed sinc of 4, 6 or 8 elements along each axis, the weights' sum made 1 */
    WF_INTERPOLATE_LANCZOS6,
    WF_INTERPOLATE_LANCZOS8,
    WF_INTERPOLATE_KAISER4, /* Kaiser-Bessel window of 4 or 6 elements, for spectra of padded images: it does not go */
    WF_INTERPOLATE_KAISER6  /* through the elements, and wf_correct_gridding corrects the image */
} wf_interpolation;
typedef struct wf_interp {
    wf_interpolation interpolation;
    wf_border border; /* what lies outside; 0 = WF_BORDER_VALUE */
    double outside;   /* the value of WF_BORDER_VALUE */
    /* Axes at the end that have positions, 1 to 3; the others have an index each. 0 = as the function says. */
    int32_t axes;
    bool prefiltered; /* functions of arrays: B-spline coefficients are in the array; false = they are computed */
} wf_interp;
/* The array at a position: one value for each axis; of an axis without positions (see `axes`; 0 = none) an index.
 * Dtypes: coordinates keep theirs; sums are f64 for arrays of f64, c128 and integers of 32 and 64 bits, else f32.
 * Cost: 1, 2, 4, 4, 4, 6, 8, 4 or 6 elements along each axis.
 * Example: wf_val v = wf_interpolate(g, img, &(wf_interp){ .interpolation = WF_INTERPOLATE_CUBIC }, WF_VALS(y, x)); */
WF_API wf_val wf_interpolate(wf_graph *graph, const wf_array *array, const wf_interp *how, wf_vals position);
/* The transpose of wf_interpolate: adds `value`, times its weight, to each element that would be read.
 * What lies outside by WF_BORDER_VALUE gets nothing.
 * Dtypes: arrays of floats and complex numbers. Aliasing: as wf_accumulate_n.
 * Example: wf_splat(g, volume, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR }, v, WF_VALS(z, y, x)); */
WF_API void wf_splat(wf_graph *graph, wf_array *array, const wf_interp *how, wf_val value, wf_vals position);

/* ---- spectra between their elements ------------------------------------------------------------------------------ */
/* A spectrum at a frequency in cycles/pixel: one value for each axis; of an axis before them an index. Half layouts are
 * spectra of real images: the missing half is the conjugate of the other. The image's center is at element 0.
 * Borders: WF_BORDER_VALUE: 0 beyond Nyquist, which counts on both sides; WF_BORDER_PERIODIC; no others.
 * Dtypes: floats and complex numbers; as wf_interpolate.
 * Example: wf_val f = wf_spectrum_read(g, volume, &half, &how, WF_VALS(kz, ky, kx)); */
WF_API wf_val wf_spectrum_read(wf_graph *graph, const wf_array *array, const wf_spectrum *spectrum,
                               const wf_interp *how, wf_vals at);
/* The transpose: adds `value` to the elements around a frequency, each times its weight, and, in half layouts, its
 * conjugate around the opposite frequency. `weights`, floats of the array's shape, gets `weight` likewise; may be NULL.
 * Aliasing: as wf_accumulate_n. */
WF_API void wf_spectrum_splat(wf_graph *graph, wf_array *array, wf_array *weights, const wf_spectrum *spectrum,
                              const wf_interp *how, wf_val value, wf_val weight, wf_vals at);

/* ---- rotations -------------------------------------------------------------------------------------------------- */
/* Axes of three right-handed rotations, which turn with the object (intrinsic) or stay (| WF_EULER_EXTRINSIC). */
typedef enum wf_euler {
    WF_EULER_XYX,
    WF_EULER_XZX,
    WF_EULER_YXY,
    WF_EULER_YZY,
    WF_EULER_ZXZ,
    WF_EULER_ZYZ,
    WF_EULER_XYZ,
    WF_EULER_XZY,
    WF_EULER_YXZ,
    WF_EULER_YZX,
    WF_EULER_ZXY,
    WF_EULER_ZYX,
    WF_EULER_EXTRINSIC = 16,
    WF_EULER_RELION = 32, /* rlnAngleRot, Tilt, Psi: takes the reference into the particle's frame */
    WF_EULER_EMAN2,       /* az, alt, phi: the same */
    WF_EULER_DYNAMO,      /* tdrot, tilt, narot: the same */
    WF_EULER_IMOD         /* slicer angles about x, y, z: applied about z, then y, then x */
} wf_euler;
/* The 3x3 matrix `m`, row by row, that rotates positions (z, y, x); angles in radians, first axis first.
 * Errors: WF_ERR_ARG: an unknown order.
 * Example: wf_euler_matrix(g, WF_EULER_ZYZ, rot, tilt, psi, m); */
WF_API void wf_euler_matrix(wf_graph *graph, wf_euler order, wf_val first, wf_val second, wf_val third, wf_val m[9]);

/* The matrix `m`, 2 x 2 by rows in the order (y, x), that stretches by `major` along the direction at `angle`, in
 * radians from x towards y, and by `minor` across it, such as of anisotropic magnification. It is symmetric. */
WF_API void wf_stretch_matrix(wf_graph *graph, wf_val major, wf_val minor, wf_val angle, wf_val m[4]);

/* ---- shapes -----------------------------------------------------------------------------------------------------
 * Signed distances from a surface around the origin, negative inside. Positions have 1 to 3 coordinates.
 * Example: wf_val mask = wf_soft_edge(wf_sdf_sphere(g, WF_VALS(z, y, x), 40), 6); */
WF_API wf_val wf_sdf_sphere(wf_graph *graph, wf_vals position, wf_val radius);
/* Radii along the axes, as many as coordinates. The distance is right on the surface and to first order near it. */
WF_API wf_val wf_sdf_ellipsoid(wf_graph *graph, wf_vals position, wf_vals radii);
/* Half of the extents along the axes, as many as coordinates. */
WF_API wf_val wf_sdf_box(wf_graph *graph, wf_vals position, wf_vals half);
/* A cylinder along the first of 2 or 3 axes, of 2 * half elements. */
WF_API wf_val wf_sdf_cylinder(wf_graph *graph, wf_vals position, wf_val radius, wf_val half);
/* The inside of a shape, with a soft edge. */
typedef enum wf_mask_shape {
    WF_MASK_SPHERE,    /* length: the radius */
    WF_MASK_ELLIPSOID, /* the radii along the axes */
    WF_MASK_BOX,       /* half of the extents along the axes */
    WF_MASK_CYLINDER   /* the radius, and half of the length along the first of 2 or 3 axes */
} wf_mask_shape;
typedef struct wf_mask {
    wf_mask_shape shape;
    int32_t axes;           /* the last ones, 1 to 3; those before are a batch; 0 = all */
    double length[3], edge; /* elements; wf_soft_edge: 1 inside, 0 from `edge` beyond the surface on */
    double center[3];       /* a coordinate for each axis, if `centered`; else n/2, integer division */
    const double *rotation; /* [axes, axes]: takes positions about the center to those of the shape; NULL: none */
    bool centered, invert;  /* invert: 1 - the mask */
} wf_mask;
/* out = outside + mask (x - outside). x NULL: out = mask; outside NULL: 0, else broadcast to x.
 * Shapes: x and out have one. Dtypes: weights are f64 if out's are 64 bits wide, else f32. Aliasing: `out` may be x.
 * Example: wf_mask_apply(img, img, &(wf_mask){ WF_MASK_SPHERE, .length = { 40 }, .edge = 6 }, NULL); */
WF_API wf_status wf_mask_apply(wf_array *out, const wf_array *x, const wf_mask *mask, const wf_array *outside);

/* ---- arrays ------------------------------------------------------------------------------------------------------ */
/* The coefficients of the cubic B-spline through the elements, along axes: wf_interpolate of them, with the same
 * border, has the elements' values at their places. WF_BORDER_NONE is WF_BORDER_VALUE, with `outside`.
 * Dtypes: f64 or c128 for f64, c128 and integers of 32 and 64 bits, else f32 or c64.
 * Cost: two passes along each axis. */
WF_API wf_array *wf_spline_filter(const wf_array *x, wf_axes axes, wf_border border, double outside);
/* out[p] = x at (inverse p): `inverse` is [..., d, d + 1], real, and takes output positions (z, y, x, 1) to those in x,
 * for the last d = 1 to 3 axes. x and `inverse` broadcast along the axes before.
 * Shapes: the broadcast batch, then `shape` (of rank d; rank 0: as x).
 * Dtypes: x's, but integers: f32, from 32 bits on f64; positions in the dtype of `inverse`, integers in f64.
 * Example: wf_array *turned = wf_transform(img, WF_SCALAR, inverse, &how); */
WF_API wf_array *wf_transform(const wf_array *x, wf_shape shape, const wf_array *inverse, const wf_interp *how);
/* out[i, ...] = x at positions[:, i, ...], a coordinate for each of the last d axes of x; `positions` is [d, ...].
 * Shapes: those of `positions` without the first axis, which begin with x's other axes (extent 1 there: repeated).
 * Dtypes: as wf_transform. Example: wf_array *warped = wf_warp(img, field, &how); */
WF_API wf_array *wf_warp(const wf_array *x, const wf_array *positions, const wf_interp *how);

/* A grid of polar coordinates: angle i of n is first + i (last - first) / n, radii include first and last. */
typedef struct wf_polar_grid {
    int64_t angles, radii;            /* extents of the result's last axes */
    double first_radius, last_radius; /* last: 0 = of the largest circle around the center that is inside */
    double first_angle, last_angle;   /* radians, from x towards y; both 0 = a full turn */
    double center[2];                 /* (y, x), if `centered`; else (h/2, w/2), integer divisions */
    bool centered, logarithmic;       /* logarithmic: radii are equidistant in their logarithm */
} wf_polar_grid;
/* x at polar coordinates of its last two axes: y = cy + r sin(angle), x = cx + r cos(angle).
 * Shapes: [..., angles, radii]. Dtypes: as wf_transform; positions in f64. */
WF_API wf_array *wf_to_polar(const wf_array *x, const wf_polar_grid *grid, const wf_interp *how);
/* Which elements of x and of the result are at one place, with n and m elements along an axis. */
typedef enum wf_zoom_grid {
    WF_ZOOM_PIXELS,  /* the outer edges: i of the result is at (i + 1/2) n/m - 1/2. scipy.ndimage.zoom's grid_mode */
    WF_ZOOM_ENDS,    /* the first and last elements: i (n - 1)/(m - 1). scipy.ndimage.zoom's default */
    WF_ZOOM_CENTERS, /* the elements n/2 and m/2, integer divisions: n/2 + (i - m/2) n/m */
    WF_ZOOM_ORIGINS  /* the first elements: i n/m, as Fourier cropping and padding */
} wf_zoom_grid;
/* x with other extents along its last shape.rank = 1 to 3 axes, between its elements. To shrink, elements between are
 * left out, not averaged: smooth before, or see wf_bin and wf_fft_resize.
 * Dtypes: as wf_transform; positions in f64, rounded once.
 * Example: wf_array *large = wf_zoom(img, WF_SHAPE(2 * h, 2 * w), WF_ZOOM_PIXELS, &cubic); */
WF_API wf_array *wf_zoom(const wf_array *x, wf_shape shape, wf_zoom_grid grid, const wf_interp *how);
/* Means of blocks of k neighbours along axes; what is left at the end of an axis is dropped.
 * Dtypes: as wf_array_mean. Shapes: extents n / k along the axes; rank 7 at most.
 * Example: wf_array *half = wf_bin(img, 2, WF_ALL_AXES); */
WF_API wf_array *wf_bin(const wf_array *x, int64_t k, wf_axes axes);
/* The average over the rotations of a point group of the last 2 or 3 `axes`, about `center` (a coordinate for each;
 * NULL: n/2, integer division): "C5" (about z), "D7" (2-fold about x), "T", "O", "I" (2-fold about z, y, x; 3-fold
 * about x = y = z).
 * Dtypes: as wf_transform; positions in f64.
 * Errors: WF_ERR_ARG: no such group, such as "D2" in two dimensions; above 512-fold. */
WF_API wf_array *wf_symmetrize(const wf_array *x, const char *symmetry, int axes, const double *center,
                               const wf_interp *how);
/* A helix about z: each unit is the one before, turned by `twist` and moved by `rise`. */
typedef struct wf_helix {
    double rise;     /* > 0, in elements, or in Angstrom if `pixel` is given */
    double twist;    /* degrees, from x towards y; above 0 for right-handed helices */
    double pixel;    /* its size in Angstrom; 0 = `rise` is in elements */
    double fraction; /* the part of z around the center that is averaged, up to 1; 0 = 0.3 */
    int32_t cyclic;  /* each unit is also n-fold about z; 0 = 1 */
} wf_helix;
/* The average over the units of a helix, of the last 3 axes of x, about z through `center` (z, y, x; NULL: n/2): each
 * element takes from all units that the helix moves into the central part. So the whole of z is made from that part.
 * Dtypes: as wf_symmetrize. Errors: WF_ERR_ARG: the central part is shorter than the rise.
 * Cost: one interpolation for each unit in the central part, and each of its rotations. */
WF_API wf_array *wf_symmetrize_helix(const wf_array *x, const wf_helix *helix, const double *center,
                                     const wf_interp *how);

/* ---- spectra of arrays -------------------------------------------------------------------------------------------
 * out(k) = x at (inverse k), times exp(-2 pi i shift . k): the spectra of images with their centers at element 0 that are
 * rotated, then moved by shifts, in pixels. `inverse`, real [..., rank, rank], takes frequencies of the result, (z, y, x)
 * in cycles/pixel, to those of x; shifts: real [..., rank]; NULL: none. All broadcast along the axes before.
 * cutoff: the result is 0 beyond this frequency, in cycles/pixel; 0 = there is none. `how` as of wf_spectrum_read.
 * Shapes: the broadcast batch, then the spectrum. Dtypes: x's, complex; without shifts floats, too. */
WF_API wf_array *wf_transform_spectrum(const wf_array *x, const wf_spectrum *spectrum, const wf_array *inverse,
                                       const wf_array *shifts, const wf_interp *how, double cutoff);
/* The average over the rotations of a point group, named as of wf_symmetrize: the spectrum of the symmetrised images,
 * whose centers are at element 0. Spectra have 2 or 3 axes. Dtypes: x's, complex or floats. */
WF_API wf_array *wf_symmetrize_spectrum(const wf_array *x, const wf_spectrum *spectrum, const char *symmetry,
                                        const wf_interp *how);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_splat(g, a, how, v, position) wf_splat(g, a, how, WF_V(v), position)
#define wf_spectrum_splat(g, a, weights, spectrum, how, v, weight, at) \
    wf_spectrum_splat(g, a, weights, spectrum, how, WF_V(v), WF_V(weight), at)
#define wf_euler_matrix(g, order, first, second, third, m) \
    wf_euler_matrix(g, order, WF_V(first), WF_V(second), WF_V(third), m)
#define wf_stretch_matrix(graph, major, minor, angle, m) \
    wf_stretch_matrix(graph, WF_V(major), WF_V(minor), WF_V(angle), m)
#define wf_sdf_sphere(g, position, radius) wf_sdf_sphere(g, position, WF_V(radius))
#define wf_sdf_cylinder(g, position, radius, half) wf_sdf_cylinder(g, position, WF_V(radius), WF_V(half))
#endif
#endif
