/* hand_reduce.cu - sums over all axes and over some, the largest element, the variance. */
#include "hand_cuda.h"
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { THREADS = 256 };

static const float *from(const hand_args *a) { return static_cast<const float *>(a->in[0]); }
static float *to(const hand_args *a) { return static_cast<float *>(a->out[0]); }

struct widen {
    __device__ double operator()(float x) const { return x; }
};
static auto wide(const hand_args *a) { return thrust::make_transform_iterator(from(a), widen{}); }

static int cub_sum(const hand_args *a) { return HAND_CUB(cub::DeviceReduce::Sum, from(a), to(a), a->n); }
static int cub_sum_f64(const hand_args *a) { return HAND_CUB(cub::DeviceReduce::Sum, wide(a), to(a), a->n); }

/* Rows of equal length */
struct row_start {
    int64_t width;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * width; }
};
static int cub_rows(const hand_args *a)
{
    auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), row_start{ a->side });
    return HAND_CUB(cub::DeviceSegmentedReduce::Sum, from(a), to(a), a->m, starts, starts + 1);
}

/* The sum of a block's threads, in thread 0. */
static __device__ double block_sum(double v)
{
    __shared__ double part[THREADS / 32];
    for (int k = 16; k; k /= 2)
        v += __shfl_down_sync(0xffffffffu, v, k);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < THREADS / 32)
        v = part[threadIdx.x];
    for (int k = THREADS / 64; k; k /= 2)
        v += __shfl_down_sync(0xffffffffu, v, k, THREADS / 32);
    __syncthreads();
    return v;
}

/* Sums part blockIdx.x of row blockIdx.y. A thread has four loads of 16 bytes in flight; four values are added in f32, then
 * in f64. */
__global__ void rows_of(const float4 *__restrict__ x, int64_t width, float *sums, double *parts)
{
    const float4 *row = x + blockIdx.y * width;
    int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    double sum = 0;
    for (; i + 3 * step < width; i += 4 * step) {
        float4 a = __ldcs(row + i), b = __ldcs(row + i + step), c = __ldcs(row + i + 2 * step),
               d = __ldcs(row + i + 3 * step);
        sum += (a.x + a.y + a.z + a.w) + (b.x + b.y + b.z + b.w);
        sum += (c.x + c.y + c.z + c.w) + (d.x + d.y + d.z + d.w);
    }
    for (; i < width; i += step) {
        float4 a = __ldcs(row + i);
        sum += a.x + a.y + a.z + a.w;
    }
    sum = block_sum(sum);
    if (threadIdx.x)
        return;
    if (gridDim.x == 1)
        sums[blockIdx.y] = static_cast<float>(sum);
    else
        parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void join_parts(const double *parts, int count, float *sums)
{
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += parts[static_cast<int64_t>(blockIdx.x) * count + i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = static_cast<float>(sum);
}

/* width: a multiple of 4 */
static int sum_in_rows(const hand_args *a, int64_t rows, int64_t width)
{
    int64_t blocks = hand_up(static_cast<int64_t>(hand_processors()) * 16, rows), most = hand_up(width / 4, THREADS);
    unsigned parts = static_cast<unsigned>(blocks < most ? blocks : most);
    auto *room = static_cast<double *>(hand_room(sizeof(double) * parts * static_cast<size_t>(rows)));
    if (!room)
        return cudaErrorMemoryAllocation;
    rows_of<<<dim3(parts, static_cast<unsigned>(rows)), THREADS, 0, hand_stream>>>(
        reinterpret_cast<const float4 *>(from(a)), width / 4, to(a), room);
    if (parts > 1)
        join_parts<<<static_cast<unsigned>(rows), THREADS, 0, hand_stream>>>(room, static_cast<int>(parts), to(a));
    return cudaGetLastError();
}
static int rows(const hand_args *a) { return sum_in_rows(a, a->m, a->side); }
static int all(const hand_args *a) { return sum_in_rows(a, 1, a->n); }

/* Sums four columns from 4 * threadIdx.x on, in every blockDim.y-th row from `first` on. Loads of eight rows are in flight
 * and added in f32. */
__global__ void columns_of(const float4 *__restrict__ x, int64_t height, int64_t wide, int64_t high, double *parts)
{
    __shared__ double4_16a joined[THREADS];
    int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    int64_t first = static_cast<int64_t>(blockIdx.y) * high, end = first + high < height ? first + high : height;
    double4_16a sum = { 0, 0, 0, 0 };
    const float4 *at = x + column;
    int64_t y = first + threadIdx.y, step = blockDim.y;
    for (; column < wide && y + 7 * step < end; y += 8 * step) {
        float4 v[8], few = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < 8; ++k)
            v[k] = __ldcs(at + (y + k * step) * wide);
#pragma unroll
        for (int k = 0; k < 8; ++k)
            few.x += v[k].x, few.y += v[k].y, few.z += v[k].z, few.w += v[k].w;
        sum.x += few.x, sum.y += few.y, sum.z += few.z, sum.w += few.w;
    }
    for (; column < wide && y < end; y += step) {
        float4 v = __ldcs(at + y * wide);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    joined[threadIdx.y * blockDim.x + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || column >= wide)
        return;
    for (unsigned k = 1; k < blockDim.y; ++k) {
        double4_16a v = joined[k * blockDim.x + threadIdx.x];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    double *part = parts + (blockIdx.y * wide + column) * 4;
    part[0] = sum.x, part[1] = sum.y, part[2] = sum.z, part[3] = sum.w;
}

__global__ void join_columns(const double *parts, int64_t wide, int count, float *sums)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    double sum = 0;
    if (i >= wide)
        return;
    for (int k = 0; k < count; ++k)
        sum += parts[k * wide + i];
    sums[i] = static_cast<float>(sum);
}

/* a->side, the columns: a multiple of 4 */
static int columns(const hand_args *a)
{
    int64_t wide = a->side / 4, across = wide < 32 ? wide : 32;
    int64_t blocks = hand_up(wide, across), bands = hand_up(static_cast<int64_t>(hand_processors()) * 16, blocks);
    int64_t high = hand_up(a->m, bands);
    bands = hand_up(a->m, high);
    auto *room = static_cast<double *>(hand_room(sizeof(double) * static_cast<size_t>(bands * a->side)));
    if (!room)
        return cudaErrorMemoryAllocation;
    dim3 block(static_cast<unsigned>(across), static_cast<unsigned>(THREADS / across));
    columns_of<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(bands)), block, 0, hand_stream>>>(
        reinterpret_cast<const float4 *>(from(a)), a->m, wide, high, room);
    join_columns<<<hand_up(a->side, 64), 64, 0, hand_stream>>>(room, a->side, static_cast<int>(bands), to(a));
    return cudaGetLastError();
}

static int argmax(const hand_args *a)
{
    return HAND_CUB(cub::DeviceReduce::ArgMax, from(a), static_cast<float *>(a->out[1]),
                    static_cast<int64_t *>(a->out[0]), a->n);
}

struct moments {
    double sum, squares;
};
struct power {
    __host__ __device__ moments operator()(float x) const
    {
        double v = x;
        return { v, v * v };
    }
};
struct add {
    __host__ __device__ moments operator()(const moments &x, const moments &y) const
    {
        return { x.sum + y.sum, x.squares + y.squares };
    }
};
__global__ void finish(const moments *all, double n, float *variance)
{
    double mean = all->sum / n;
    *variance = static_cast<float>(all->squares / n - mean * mean);
}
static int variance(const hand_args *a)
{
    static moments *all;
    if (!all && cudaMalloc(&all, sizeof *all) != cudaSuccess)
        return cudaErrorMemoryAllocation;
    int error = HAND_CUB(cub::DeviceReduce::TransformReduce, from(a), all, a->n, add{}, power{}, moments{ 0, 0 });
    if (error)
        return error;
    finish<<<1, 1, 0, hand_stream>>>(all, static_cast<double>(a->n), to(a));
    return cudaGetLastError();
}

const hand_way hand_reduce_ways[] = {
    { "sum", "CUB in f32", cub_sum },
    { "sum", "CUB in f64", cub_sum_f64 },
    { "sum", "16 bytes a thread, in f64", all },
    { "sum_rows", "CUB in f32", cub_rows },
    { "sum_rows", "16 bytes a thread, in f64", rows },
    { "sum_columns", "16 bytes a thread, in f64", columns },
    { "sum_tall", "16 bytes a thread, in f64", columns },
    { "sum_long", "CUB in f32", cub_rows },
    { "sum_long", "16 bytes a thread, in f64", rows },
    { "argmax", "CUB", argmax },
    { "variance", "CUB in f64", variance },
    {},
};
