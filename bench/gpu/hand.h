/* hand.h - CUDA kernels written by hand, and CUB's, as a library that weft-bench-gpu opens (bench/gpu/build_hand makes
 * it, with nvcc). They work on Weft's arrays: addresses in the memory of the device's primary context.
 */
#ifndef BENCH_GPU_HAND_H
#define BENCH_GPU_HAND_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What a row works on. in and out: as the row's functions say; n: elements; side: of a square, or length of a row;
 * m: targets, bins, records. */
typedef struct hand_args {
    const void *in[3];
    void *out[2];
    int64_t n, side, m;
} hand_args;

/* One way to do a row. call: gives work to the device; the CUDA error, 0 for none, HAND_CANNOT where it is no way for
 * these sizes. */
#define HAND_CANNOT (-1)
typedef struct hand_way {
    const char *row, *how;
    int (*call)(const hand_args *args);
} hand_way;

typedef struct hand_library {
    const char *made; /* "CUDA 13.0, CUB 3.0.1, sm_90" */
    int (*open)(int device);
    int (*wait)(void);
    const char *(*error)(int code);
    hand_way way[96]; /* ends with row == NULL */
} hand_library;

/* The one symbol: const hand_library *weft_hand_library(void) */
#define HAND_SYMBOL "weft_hand_library"
const hand_library *weft_hand_library(void);

#ifdef __cplusplus
}
#endif
#endif
