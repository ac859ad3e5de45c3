/* hand.h - the library of CUDA kernels written by hand, and of CUB's, which weft-bench-gpu opens. bench/gpu/build_hand
 * builds it by nvcc. The kernels work on Weft's arrays: addresses in the memory of the device's primary context.
 */
#ifndef BENCH_GPU_HAND_H
#define BENCH_GPU_HAND_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The data of a row. in, out: arrays in the order of the row's functions; n: elements; side: of a square, or the length of
 * a row; m: targets, bins or records. */
typedef struct hand_args {
    const void *in[3];
    void *out[2];
    int64_t n, side, m;
} hand_args;

/* One way to do a row. call: queues the work on the device. Returns the CUDA error, 0 = none, HAND_CANNOT = not for these
 * sizes. */
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

/* The exported symbol: const hand_library *weft_hand_library(void) */
#define HAND_SYMBOL "weft_hand_library"
const hand_library *weft_hand_library(void);

#ifdef __cplusplus
}
#endif
#endif
