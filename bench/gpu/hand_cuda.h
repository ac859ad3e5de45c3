/* hand_cuda.h - declarations that the files of the CUDA library share. */
#ifndef BENCH_GPU_HAND_CUDA_H
#define BENCH_GPU_HAND_CUDA_H
#include "hand.h"
#include <cuda_runtime.h>

extern cudaStream_t hand_stream; /* of all work */
int hand_processors();           /* of the device */
void *hand_room(size_t bytes);   /* device memory for temporaries, kept and shared by all calls */

static inline int64_t hand_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* The ways of each file; the last one has row == nullptr. */
extern const hand_way hand_stream_ways[], hand_reduce_ways[], hand_order_ways[], hand_index_ways[], hand_window_ways[];

/* Calls a CUB function twice, the first time for the size of its temporaries: HAND_CUB(cub::DeviceReduce::Sum, in, out,
 * n). The value is the CUDA error. */
#define HAND_CUB(function, ...)                                                                    \
    [&]() -> int {                                                                                 \
        size_t bytes = 0;                                                                          \
        cudaError_t error = function(nullptr, bytes, __VA_ARGS__, hand_stream);                    \
        if (error != cudaSuccess)                                                                  \
            return error;                                                                          \
        void *room = hand_room(bytes);                                                             \
        return room ? function(room, bytes, __VA_ARGS__, hand_stream) : cudaErrorMemoryAllocation; \
    }()
#endif
