/* traced.h - functions of values: they record into the graph of their operands, in index spaces and in array graphs
 * alike (where values are arrays and broadcast), and are written on the recording interface alone. Mistakes poison the
 * graph, as everywhere while recording. From the thread that records.
 */
#ifndef WF_TRACED_H
#define WF_TRACED_H
#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- random numbers ---------------------------------------------------------------------------------------------
 * PCG32 (O'Neill 2014, pcg-random.org: XSH-RR, 64 bits of state, 32 of output; the same sequence as pcg32_random_r).
 * A generator is two values of u64: each point has its own, and drawing gives the next state, no memory is touched.
 * In a loop keep the state in a variable: wf_var s = wf_local(g, WF_U64, rng.state); in the body rng.state =
 * wf_get(s), draw, wf_set(s, rng.state). Beside it there is Philox for whole arrays (wf_array_random_bits). */
typedef struct wf_pcg32 {
    wf_val state, increment; /* u64; the increment is odd */
} wf_pcg32;
/* pcg32_srandom_r(seed, stream), both converted to u64; generators of different streams differ in sequence. The
 * usual way for many points: a common seed and the point's number as stream.
 *     wf_pcg32 rng = wf_pcg32_seed(g, 42, wf_index(g, 0)); */
WF_API wf_pcg32 wf_pcg32_seed(wf_graph *graph, wf_val seed, wf_val stream);
/* The next number, u32. About 9 operations on 32 and 64 bits. NULL: NaN, which fits nothing. */
WF_API wf_val wf_pcg32_u32(wf_pcg32 *rng);
/* f32, 0 <= x < 1, a multiple of 2^-24; f64 of 2^-53, from two numbers, the first one the upper half. */
WF_API wf_val wf_pcg32_f32(wf_pcg32 *rng);
WF_API wf_val wf_pcg32_f64(wf_pcg32 *rng);
/* The generator after `n` more numbers (converted to u64, so -1 is one step back), by Brown's method: 64 steps of a few
 * operations where n is a value, a multiplication and an addition where it is a number. */
WF_API wf_pcg32 wf_pcg32_advance(wf_pcg32 rng, wf_val n);

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
    wf_border wrap; /* WF_BORDER_PERIODIC (repeat), _CLAMP, _MIRROR, _REFLECT, or _VALUE: 0 outside; 0 is _CLAMP */
    bool pixels;    /* element k is at k; else positions are relative, as Dr.Jit's: element k of n at (k + 0.5) / n */
} wf_texture;
/* out[c], for each channel: the texture at the position, one value for each axis of positions, in the array's order
 * (y, x). Positions of f64, or an f64 array, are computed with in f64, all else in f32, to which integers are
 * converted and which is what out is, too; complex arrays are refused. Every position is right, however far outside (NaN: some element). One
 * element is read for each point with WF_FILTER_NEAREST, 2 along each axis with WF_FILTER_LINEAR, 4 with
 * WF_FILTER_CUBIC; the channels of an element lie side by side in C order and are read as one vector (WF_FLAG_PACKETS).
 * WF_FILTER_LINEAR: a (1 - t) + b t along the last axis first.
 *     wf_val rgb[3];
 *     wf_texture_read(g, &(wf_texture){ image, 3, WF_FILTER_LINEAR }, WF_VALS(v, u), rgb); */
WF_API void wf_texture_read(wf_graph *graph, const wf_texture *texture, wf_vals position, wf_val *out);

#ifdef __cplusplus
}
#else
#define wf_pcg32_seed(graph, seed, stream) wf_pcg32_seed(graph, WF_V(seed), WF_V(stream))
#define wf_pcg32_advance(rng, n) wf_pcg32_advance(rng, WF_V(n))
#endif
#endif
