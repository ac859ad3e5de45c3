/* fft.h - the Fourier transform of weft sample. */
#ifndef WEFT_CLI_FFT_H
#define WEFT_CLI_FFT_H
#include <stdbool.h>

/* Transforms rows x columns complex numbers (re, im) in place; both extents are powers of two. The inverse divides by
 * their product. false: out of memory. */
bool fft_2d(float *data, int rows, int columns, bool inverse);
#endif
