/* traced.h - functions of values, which record into the graph of their operands.
 * For index spaces and array graphs. Mistakes poison the graph. Threads: the thread that records.
 * Reference: docs/reference/traced.md */
#ifndef WF_TRACED_H
#define WF_TRACED_H
#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- random numbers ---------------------------------------------------------------------------------------------
 * A generator is two values of u64: each point has its own, and a draw gives the next state, without memory.
 * In a loop keep the state in a variable.
 * Source: PCG32 (O'Neill 2014, pcg-random.org: XSH-RR), the same sequence as pcg32_random_r. */
typedef struct wf_pcg32 {
    wf_val state, increment; /* u64; the increment is odd */
} wf_pcg32;
/* A generator, as pcg32_srandom_r(seed, stream), both converted to u64.
 * Example: wf_pcg32 rng = wf_pcg32_seed(g, 42, wf_index(g, 0)); */
WF_API wf_pcg32 wf_pcg32_seed(wf_graph *graph, wf_val seed, wf_val stream);
/* The next number, u32. NULL: NaN, which fits no integer. Cost: about 9 operations. */
WF_API wf_val wf_pcg32_u32(wf_pcg32 *rng);
/* The next number, f32: 0 <= x < 1, a multiple of 2^-24. */
WF_API wf_val wf_pcg32_f32(wf_pcg32 *rng);
/* The next number, f64: 0 <= x < 1, a multiple of 2^-53, from two draws, the first one the upper half. */
WF_API wf_val wf_pcg32_f64(wf_pcg32 *rng);
/* The generator after `n` more numbers, converted to u64, so that -1 is one step back.
 * Cost: 64 steps of a few operations for a value, three operations for a number. Source: Brown's method. */
WF_API wf_pcg32 wf_pcg32_advance(wf_pcg32 rng, wf_val n);

/* ---- logarithms ------------------------------------------------------------------------------------------------- */
/* log(e^a + e^b), computed without overflow. Dtypes: real; the result is a float. It has derivatives everywhere, also for
 * infinite and equal operands. */
WF_API wf_val wf_logaddexp(wf_val a, wf_val b);

/* ---- textures ---------------------------------------------------------------------------------------------------
 * An array read between its elements. */
typedef enum wf_filter {
    WF_FILTER_NEAREST,
    WF_FILTER_LINEAR,
    WF_FILTER_CUBIC /* cubic B-spline: smooth to the second derivative; it does not go through the elements */
} wf_filter;
typedef struct wf_texture {
    const wf_array *array; /* 1 to 3 axes of positions and, if `channels` is not 0, one of at least so many channels */
    int32_t channels;      /* 0: without such an axis, one channel; up to 64 */
    wf_filter filter;
    wf_border wrap; /* what lies outside; 0 = WF_BORDER_CLAMP. WF_BORDER_VALUE: 0 lies outside */
    bool pixels;    /* element k is at k; else positions are relative, as Dr.Jit's: element k of n at (k + 0.5) / n */
} wf_texture;
/* Sets out[c], for each channel, to the texture at the position: one value for each axis, in the order (y, x).
 * Dtypes: f64 if positions or array are, else f32; not complex.
 * Errors: every position is allowed; NaN reads some element.
 * Cost: 1 element, 2 or 4 along each axis, for nearest, linear and cubic.
 * Example: wf_texture_read(g, &(wf_texture){ image, 3, WF_FILTER_LINEAR }, WF_VALS(v, u), rgb); */
WF_API void wf_texture_read(wf_graph *graph, const wf_texture *texture, wf_vals position, wf_val *out);

#ifdef __cplusplus
}
#else
#define wf_pcg32_seed(graph, seed, stream) wf_pcg32_seed(graph, WF_V(seed), WF_V(stream))
#define wf_logaddexp(a, b) wf_logaddexp(WF_V(a), WF_V(b))
#define wf_pcg32_advance(rng, n) wf_pcg32_advance(rng, WF_V(n))
#endif
#endif
