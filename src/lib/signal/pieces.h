/* pieces.h - convolution through Fourier transforms, of the whole array and of pieces of it. */
#ifndef WEFT_SIGNAL_PIECES_H
#define WEFT_SIGNAL_PIECES_H
#include "window.h"

/* Along each axis of the kernel: the elements of a result that a piece has, and those that are transformed for it. */
typedef struct wfl_pieces {
    int64_t own[WF_MAX_RANK];
    wf_shape whole; /* along other axes the array's extent */
} wfl_pieces;

typedef enum wfl_convolve_way { WFL_BY_SUMS, WFL_BY_FFT, WFL_IN_PIECES } wfl_convolve_way;
/* Chooses what takes the least time: sums over the kernel's elements for each element of the result, transforms of the
 * whole array, or of pieces, which *p then describes. */
wfl_convolve_way wfl_convolve_choose(const wf_array *x, const wfl_window *w, wf_dtype dtype, wfl_pieces *p);
/* x, which is not empty, times the kernel, w->size, through transforms of pieces. */
wf_array *wfl_convolve_in_pieces(const wf_array *x, const wf_array *kernel, const wfl_window *w, const wfl_pieces *p,
                                 wf_dtype dtype, wf_dtype to);

/* ---- convolve_fft.c ---- */
/* Nanoseconds of one core for an f32 of a large array, measured on a processor with vectors of 64 bytes: to copy it, and
 * to transform it there and back along an axis. f64 takes twice as long for all of it. */
#define WFL_FFT_OF_COPIES 1.5
#define WFL_FFT_OF_AXIS 5
/* The time for each element of the result through transforms of the whole array; infinity: it is too large. */
double wfl_convolve_fft_cost(const wfl_window *w, wf_dtype dtype);
/* x times the kernel, w->size, through transforms of the whole array. */
wf_array *wfl_convolve_by_fft(const wf_array *x, const wf_array *kernel, const wfl_window *w, wf_dtype dtype,
                              wf_dtype to);
/* The spectrum of the kernel continued by zeros to these extents, of the rank of the window's axes; half
 * of it if it is real. */
wf_array *wfl_kernel_spectrum(const wfl_window *w, const wf_array *kernel, const wf_shape *extents, wf_dtype dtype);
/* Convolves along the axes in place, as if the array were periodic, with the kernel of this spectrum. */
wf_status wfl_convolve_cyclic(wf_array *x, wf_axes axes, const wf_array *spectrum, const char *function);
#endif
