/* pass_kernel.h - the code of a pass. pass_shape.c says what follows from its description, and pass_kernel.c records and
 * compiles the kernel, both without memory of what was compiled before: pass.c keeps kernels and launches them. */
#ifndef WEFT_FFT_PASS_KERNEL_H
#define WEFT_FFT_PASS_KERNEL_H
#include "pass.h"

enum { WFL_MOST_CHUNK = 16 };

/* ---- pass_shape.c ---- */
/* True for WFL_FFT_UNTANGLE and WFL_FFT_TANGLE, whose kernels have x and y [lines, elements]. */
bool wfl_pass_is_tangled(const wfl_pass *pass);
/* Elements of a row that are moved at once, at most WFL_MOST_CHUNK. */
int32_t wfl_pass_chunk(wf_dtype dtype);
/* Elements of a line in x and in y. */
int32_t wfl_pass_elements_in(const wfl_pass *pass);
int32_t wfl_pass_elements_out(const wfl_pass *pass);
/* True if lines need scratch for elements in natural order (wfl_line.other). */
bool wfl_pass_needs_other(const wfl_pass *pass);
/* Pairs of that scratch. */
int32_t wfl_other_room(const wfl_lengths *lengths);
/* The largest radix that is a loop, which is as many pairs of scratch; 0 = there is none. */
int32_t wfl_largest_looped(const wfl_radices *radices);

/* ---- pass_kernel.c ---- */
/* Compiles a pass. lanes: wfl_pass_lanes. filter: of a filtered pass, else NULL. The kernel's arguments, of which a pass
 * has some:
 *
 *     y, x                 [outer, n, inner]; columns of known number: [outer, n * inner], as pairs of real elements
 *                          [outer, n * inner / 2, 2]; rows: whole chunks, [outer, inner, n / chunk, chunk]
 *     y_rest, x_rest       elements of rows after the last chunk, [outer, inner, n % chunk]
 *     table                part [2 pairs] (wfl_table); tangled passes: part [n / 2 + 1, 2], roots
 *     twist                part [n * 2 * pass.twist]: for each k the real parts of all lines, then the imaginary ones
 *     start                complex [n]
 *     fft scale, fft first wfl_with
 *
 * NULL: the context's error is set. */
wf_kernel *wfl_pass_compile(wf_context *ctx, const wfl_pass *pass, int32_t lanes, const wfl_table *at,
                            const wfl_filter *filter, const char *function);
#endif
