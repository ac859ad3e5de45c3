/* hand_stream.cu - copies, arithmetic on elements, a transposition, a loop, small kernels. */
#include "hand_cuda.h"
#include <cub/device/device_transform.cuh>

enum { THREADS = 256 };

template <typename T>
static const T *in(const hand_args *a, int k)
{
    return static_cast<const T *>(a->in[k]);
}
template <typename T>
static T *out(const hand_args *a, int k)
{
    return static_cast<T *>(a->out[k]);
}

/* A thread copies 16 bytes at a time, with `turns` loads in flight. */
template <int turns>
__global__ void copy16(const float4 *__restrict__ x, float4 *__restrict__ y, int64_t n)
{
    int64_t first = static_cast<int64_t>(blockIdx.x) * THREADS * turns + threadIdx.x;
    float4 v[turns];
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n)
            v[k] = __ldcs(x + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n)
            __stcs(y + first + k * THREADS, v[k]);
}

template <int turns>
static int copy(const hand_args *a)
{
    int64_t n = a->n / 4;
    copy16<turns><<<hand_up(n, THREADS * turns), THREADS, 0, hand_stream>>>(in<float4>(a, 0), out<float4>(a, 0), n);
    return cudaGetLastError();
}

/* A thread copies 4 bytes at a time. */
template <int turns>
__global__ void copy4(const float *__restrict__ x, float *__restrict__ y, int64_t n)
{
    int64_t first = static_cast<int64_t>(blockIdx.x) * THREADS * turns + threadIdx.x;
    float v[turns];
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n)
            v[k] = x[first + k * THREADS];
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n)
            y[first + k * THREADS] = v[k];
}

template <int turns>
static int copy_odd(const hand_args *a)
{
    copy4<turns><<<hand_up(a->n, THREADS * turns), THREADS, 0, hand_stream>>>(in<float>(a, 0), out<float>(a, 0), a->n);
    return cudaGetLastError();
}

template <int turns>
__global__ void triad16(const float4 *__restrict__ x, const float4 *__restrict__ y, float4 *__restrict__ z, int64_t n)
{
    int64_t first = static_cast<int64_t>(blockIdx.x) * THREADS * turns + threadIdx.x;
    float4 v[turns], w[turns];
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n) {
            v[k] = __ldcs(x + first + k * THREADS);
            w[k] = __ldcs(y + first + k * THREADS);
        }
#pragma unroll
    for (int k = 0; k < turns; ++k)
        if (first + k * THREADS < n)
            __stcs(z + first + k * THREADS,
                   make_float4(2 * v[k].x + w[k].x, 2 * v[k].y + w[k].y, 2 * v[k].z + w[k].z, 2 * v[k].w + w[k].w));
}

template <int turns>
static int triad(const hand_args *a)
{
    int64_t n = a->n / 4;
    triad16<turns><<<hand_up(n, THREADS * turns), THREADS, 0, hand_stream>>>(in<float4>(a, 0), in<float4>(a, 1),
                                                                             out<float4>(a, 0), n);
    return cudaGetLastError();
}

static __device__ float wave(float x, float a, float b) { return cosf(x / a + b) + expf(-x * x) * sqrtf(x); }

__global__ void math16(const float4 *__restrict__ x, float4 *__restrict__ y, int64_t n, float a, float b)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) {
        float4 v = __ldcs(x + i);
        __stcs(y + i, make_float4(wave(v.x, a, b), wave(v.y, a, b), wave(v.z, a, b), wave(v.w, a, b)));
    }
}

static int math(const hand_args *a)
{
    int64_t n = a->n / 4;
    math16<<<hand_up(n, THREADS), THREADS, 0, hand_stream>>>(in<float4>(a, 0), out<float4>(a, 0), n, 1.5f, 0.3f);
    return cudaGetLastError();
}

/* Transposes tiles of `size` x `size` in shared memory, whose rows have one more element against bank conflicts. */
template <int size>
__global__ void turn(const float *__restrict__ x, float *__restrict__ y, int64_t side)
{
    __shared__ float tile[size][size + 1];
    int64_t left = static_cast<int64_t>(blockIdx.x) * size, top = static_cast<int64_t>(blockIdx.y) * size;
    for (int k = threadIdx.y; k < size; k += blockDim.y)
        for (int j = threadIdx.x; j < size; j += 32)
            if (top + k < side && left + j < side)
                tile[k][j] = x[(top + k) * side + left + j];
    __syncthreads();
    for (int k = threadIdx.y; k < size; k += blockDim.y)
        for (int j = threadIdx.x; j < size; j += 32)
            if (left + k < side && top + j < side)
                y[(left + k) * side + top + j] = tile[j][k];
}

template <int size>
static int transpose(const hand_args *a)
{
    unsigned tiles = static_cast<unsigned>(hand_up(a->side, size));
    turn<size><<<dim3(tiles, tiles), dim3(32, 8), 0, hand_stream>>>(in<float>(a, 0), out<float>(a, 0), a->side);
    return cudaGetLastError();
}

__global__ void escape(int *count, int side, int limit, float scale)
{
    int j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    int i = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    if (i >= side || j >= side)
        return;
    float cx = fmaf(static_cast<float>(j), scale, -2.0f), cy = fmaf(static_cast<float>(i), scale, -1.3f), x = 0, y = 0;
    int n = 0;
    for (; n < limit && x * x + y * y <= 4; ++n) {
        float t = x * x - y * y + cx;
        y = fmaf(x * 2, y, cy);
        x = t;
    }
    count[static_cast<int64_t>(i) * side + j] = n;
}

template <int wide, int high>
static int mandelbrot(const hand_args *a)
{
    int side = static_cast<int>(a->side);
    dim3 grid(static_cast<unsigned>(hand_up(side, wide)), static_cast<unsigned>(hand_up(side, high)));
    escape<<<grid, dim3(wide, high), 0, hand_stream>>>(out<int>(a, 0), side, static_cast<int>(a->m),
                                                       2.6f / static_cast<float>(side));
    return cudaGetLastError();
}

__global__ void ten_of(const float *x, const float *y, const float *z, float *to, int n)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n)
        return;
    float v = x[i];
    for (int k = 0; k < 5; ++k)
        v = v * y[i] + z[i];
    to[i] = v;
}

static int ten(const hand_args *a)
{
    int n = static_cast<int>(a->n);
    ten_of<<<(n + 127) / 128, 128, 0, hand_stream>>>(in<float>(a, 0), in<float>(a, 1), in<float>(a, 2),
                                                     out<float>(a, 0), n);
    return cudaGetLastError();
}

/* For CUB's element-wise function, which chooses bulk copies into shared memory or vectors. */
struct same {
    __device__ float operator()(float x) const { return x; }
};
struct twice_and {
    __device__ float operator()(float x, float y) const { return 2 * x + y; }
};
static int cub_copy(const hand_args *a)
{
    return cub::DeviceTransform::Transform(in<float>(a, 0), out<float>(a, 0), a->n, same{}, hand_stream);
}
static int cub_triad(const hand_args *a)
{
    return cub::DeviceTransform::Transform(::cuda::std::make_tuple(in<float>(a, 0), in<float>(a, 1)), out<float>(a, 0),
                                           a->n, twice_and{}, hand_stream);
}

const hand_way hand_stream_ways[] = {
    { "copy", "16 bytes a thread", copy<1> },
    { "copy", "4 x 16 bytes a thread", copy<4> },
    { "copy", "CUB", cub_copy },
    { "copy_odd", "4 x 4 bytes a thread", copy_odd<4> },
    { "copy_odd", "8 x 4 bytes a thread", copy_odd<8> },
    { "triad", "16 bytes a thread", triad<1> },
    { "triad", "2 x 16 bytes a thread", triad<2> },
    { "triad", "CUB", cub_triad },
    { "math", "16 bytes a thread", math },
    { "transpose", "tiles of 32", transpose<32> },
    { "transpose", "tiles of 64", transpose<64> },
    { "mandelbrot", "blocks of 32 x 8", mandelbrot<32, 8> },
    { "mandelbrot", "blocks of 8 x 8", mandelbrot<8, 8> },
    { "launch", "", copy_odd<1> },
    { "ten", "", ten },
    {},
};
