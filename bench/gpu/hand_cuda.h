/* hand_cuda.h - what the files of the CUDA library share. */
#ifndef BENCH_GPU_HAND_CUDA_H
#define BENCH_GPU_HAND_CUDA_H
#include "hand.h"
#include <cuda_runtime.h>

extern cudaStream_t hand_stream; /* all work goes there */
int hand_processors();           /* of the device */
void *hand_room(size_t bytes);   /* device memory that stays; the same for all */

static inline int64_t hand_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* The ways of each file; end with row == nullptr. */
extern const hand_way hand_stream_ways[], hand_reduce_ways[], hand_order_ways[], hand_index_ways[], hand_window_ways[];

/* A CUB function, asked for its room first: HAND_CUB(cub::DeviceReduce::Sum, in, out, n) is the error. */
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
