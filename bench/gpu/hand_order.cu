/* hand_order.cu - cumulative sums and sorting. */
#include "hand_cuda.h"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

static const float *from(const hand_args *a) { return static_cast<const float *>(a->in[0]); }
static float *to(const hand_args *a) { return static_cast<float *>(a->out[0]); }

struct widen {
    __device__ double operator()(float x) const { return x; }
};
struct square {
    __device__ float operator()(float x) const { return x * x; }
};
struct root {
    __device__ float operator()(float x) const { return sqrtf(x); }
};

static int scan(const hand_args *a) { return HAND_CUB(cub::DeviceScan::InclusiveSum, from(a), to(a), a->n); }
static int scan_f64(const hand_args *a)
{
    auto wide = thrust::make_transform_iterator(from(a), widen{});
    return HAND_CUB(cub::DeviceScan::InclusiveSum, wide, to(a), a->n);
}

static int scan_norm(const hand_args *a)
{
    auto squares = thrust::make_transform_iterator(from(a), square{});
    return HAND_CUB(cub::DeviceScan::InclusiveSum, squares, thrust::make_transform_output_iterator(to(a), root{}), a->n);
}

static int sort(const hand_args *a)
{
    size_t bytes = 0;
    cudaError_t error = cub::DeviceRadixSort::SortKeys(nullptr, bytes, from(a), to(a), a->n, 0, 32, hand_stream);
    void *room = error == cudaSuccess ? hand_room(bytes) : nullptr;
    if (!room)
        return error != cudaSuccess ? error : cudaErrorMemoryAllocation;
    return cub::DeviceRadixSort::SortKeys(room, bytes, from(a), to(a), a->n, 0, 32, hand_stream);
}

const hand_way hand_order_ways[] = {
    { "scan", "CUB in f32", scan },
    { "scan", "CUB in f64", scan_f64 },
    { "scan_norm", "CUB in f32, transformed on the way", scan_norm },
    { "sort", "CUB radix sort", sort },
    {},
};
