/* hand_index.cu - histograms, sums by key, records. */
#include "hand_cuda.h"
#include <cub/device/device_histogram.cuh>

enum { BINS = 128, THREADS = 256, MANY = 1024, SHARED = 200 * 1024 };

/* ---- histograms ---------------------------------------------------------------------------------------------------- */

static __device__ int bin_of(float x) { return static_cast<int>((x + 1) * 0.5f * BINS); }

/* A block counts part blockIdx.x of row blockIdx.y in `copies` private histograms; warp w uses histogram w % copies. */
template <int copies>
__global__ void count_rows(const float4 *__restrict__ x, int64_t width, int *histogram)
{
    __shared__ int count[copies][BINS];
    for (int k = threadIdx.x; k < copies * BINS; k += THREADS)
        count[k / BINS][k % BINS] = 0;
    __syncthreads();
    const float4 *row = x + blockIdx.y * width;
    int *mine = count[threadIdx.x / 32 % copies];
    int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    for (; i + step < width; i += 2 * step) {
        float4 v = __ldcs(row + i), w = __ldcs(row + i + step);
        atomicAdd(mine + bin_of(v.x), 1), atomicAdd(mine + bin_of(v.y), 1), atomicAdd(mine + bin_of(v.z), 1);
        atomicAdd(mine + bin_of(v.w), 1), atomicAdd(mine + bin_of(w.x), 1), atomicAdd(mine + bin_of(w.y), 1);
        atomicAdd(mine + bin_of(w.z), 1), atomicAdd(mine + bin_of(w.w), 1);
    }
    for (; i < width; i += step) {
        float4 v = __ldcs(row + i);
        atomicAdd(mine + bin_of(v.x), 1), atomicAdd(mine + bin_of(v.y), 1), atomicAdd(mine + bin_of(v.z), 1);
        atomicAdd(mine + bin_of(v.w), 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < BINS; k += THREADS) {
        int sum = 0;
        for (int j = 0; j < copies; ++j)
            sum += count[j][k];
        atomicAdd(histogram + blockIdx.y * BINS + k, sum);
    }
}

/* width: a multiple of 4 */
template <int copies>
static int histogram(const hand_args *a)
{
    int64_t parts = hand_up(static_cast<int64_t>(hand_processors()) * 8, a->m), width = a->side / 4;
    count_rows<copies><<<dim3(static_cast<unsigned>(parts), static_cast<unsigned>(a->m)), THREADS, 0, hand_stream>>>(
        static_cast<const float4 *>(a->in[0]), width, static_cast<int *>(a->out[0]));
    return cudaGetLastError();
}

static int cub_histogram(const hand_args *a)
{
    return HAND_CUB(cub::DeviceHistogram::HistogramEven, static_cast<const float *>(a->in[0]),
                    static_cast<int *>(a->out[0]), BINS + 1, -1.0f, 1.0f, a->n);
}

/* ---- sums by key: of ones (u32), or of values (f32) ---------------------------------------------------------------- */

struct ones {
    using type = unsigned;
    __device__ unsigned operator()(int64_t) const { return 1; }
};
struct values {
    using type = float;
    const float *at;
    __device__ float operator()(int64_t i) const { return __ldcs(at + i); }
};
static ones values_of(const hand_args *, unsigned) { return {}; }
static values values_of(const hand_args *a, float) { return { static_cast<const float *>(a->in[1]) }; }

/* Each thread adds for 4 keys. */
template <typename V>
__global__ void add_direct(const uint4 *__restrict__ keys, V v, typename V::type *out, int64_t n)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n)
        return;
    uint4 k = __ldcs(keys + i);
    atomicAdd(out + k.x, v(4 * i)), atomicAdd(out + k.y, v(4 * i + 1));
    atomicAdd(out + k.z, v(4 * i + 2)), atomicAdd(out + k.w, v(4 * i + 3));
}

/* The sum over the lanes `peers` of a warp, which have the same key; one of them adds the sum. */
static __device__ unsigned joined(unsigned peers, unsigned) { return static_cast<unsigned>(__popc(peers)); }
static __device__ float joined(unsigned peers, float mine)
{
    float sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane) { /* broadcasts the value of each lane */
        float other = __shfl_sync(0xffffffffu, mine, static_cast<int>(lane));
        sum += peers >> lane & 1 ? other : 0;
    }
    return sum;
}

template <typename V>
__global__ void add_by_warp(const unsigned *__restrict__ keys, V v, typename V::type *out, int64_t n)
{
    int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i - threadIdx.x % 32 < n; i += step) {
        bool in = i < n;
        unsigned key = in ? __ldcs(keys + i) : 0xffffffffu, peers = __match_any_sync(0xffffffffu, key);
        typename V::type sum = joined(peers, in ? v(i) : typename V::type(0));
        if (in && static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(peers)) - 1)
            atomicAdd(out + key, sum);
    }
}

/* A private array for each block; `copies` interleaved ones if it is small, so that neighbouring lanes use different ones. */
template <typename V>
__global__ void add_in_shared(const uint4 *__restrict__ keys, V v, typename V::type *out, int64_t n, int m, int copies)
{
    extern __shared__ unsigned room[];
    auto *mine = reinterpret_cast<typename V::type *>(room);
    for (int k = threadIdx.x; k < m * copies; k += MANY)
        mine[k] = 0;
    __syncthreads();
    unsigned by = static_cast<unsigned>(copies), lane = threadIdx.x % by;
    int64_t step = static_cast<int64_t>(gridDim.x) * MANY;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * MANY + threadIdx.x; i < n; i += step) {
        uint4 k = __ldcs(keys + i);
        atomicAdd(mine + k.x * by + lane, v(4 * i)), atomicAdd(mine + k.y * by + lane, v(4 * i + 1));
        atomicAdd(mine + k.z * by + lane, v(4 * i + 2)), atomicAdd(mine + k.w * by + lane, v(4 * i + 3));
    }
    __syncthreads();
    for (int k = threadIdx.x; k < m; k += MANY) {
        typename V::type sum = 0;
        for (int j = 0; j < copies; ++j)
            sum += mine[k * copies + (j + threadIdx.x) % copies];
        if (sum != 0)
            atomicAdd(out + k, sum);
    }
}

template <typename T>
static int direct(const hand_args *a)
{
    int64_t n = a->n / 4;
    add_direct<<<hand_up(n, THREADS), THREADS, 0, hand_stream>>>(static_cast<const uint4 *>(a->in[0]),
                                                                 values_of(a, T()), static_cast<T *>(a->out[0]), n);
    return cudaGetLastError();
}

template <typename T>
static int by_warp(const hand_args *a)
{
    add_by_warp<<<hand_processors() * 8, THREADS, 0, hand_stream>>>(
        static_cast<const unsigned *>(a->in[0]), values_of(a, T()), static_cast<T *>(a->out[0]), a->n);
    return cudaGetLastError();
}

template <typename T>
static int in_shared_of(const hand_args *a, int copies)
{
    auto v = values_of(a, T());
    auto *kernel = add_in_shared<decltype(v)>;
    int64_t bytes = a->m * copies * 4;
    if (bytes > SHARED)
        return HAND_CANNOT;
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    if (error != cudaSuccess)
        return error;
    int64_t blocks = hand_processors() * (bytes > SHARED / 2 ? 1 : 2);
    kernel<<<blocks, MANY, static_cast<size_t>(bytes), hand_stream>>>(
        static_cast<const uint4 *>(a->in[0]), v, static_cast<T *>(a->out[0]), a->n / 4, static_cast<int>(a->m), copies);
    return cudaGetLastError();
}
template <typename T>
static int in_shared(const hand_args *a)
{
    return in_shared_of<T>(a, 1);
}
template <typename T>
static int by_lane(const hand_args *a)
{
    int copies = 32;
    while (copies > 1 && a->m * copies * 4 > SHARED / 2)
        copies /= 2;
    return copies > 1 ? in_shared_of<T>(a, copies) : HAND_CANNOT;
}

/* ---- records of four f32 -------------------------------------------------------------------------------------------- */

__global__ void move(const float4 *__restrict__ x, const unsigned *__restrict__ places, float4 *y, int64_t n, bool to)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n && to)
        y[places[i]] = x[i];
    else if (i < n)
        y[i] = x[places[i]];
}

__global__ void add_records(const float4 *__restrict__ x, const unsigned *__restrict__ places, float4 *y, int64_t n)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n)
        return;
    float4 v = x[i];
#if __CUDA_ARCH__ >= 900
    atomicAdd(y + places[i], v);
#else
    float *at = reinterpret_cast<float *>(y + places[i]);
    atomicAdd(at, v.x), atomicAdd(at + 1, v.y), atomicAdd(at + 2, v.z), atomicAdd(at + 3, v.w);
#endif
}

template <bool to>
static int records(const hand_args *a)
{
    move<<<hand_up(a->n, THREADS), THREADS, 0, hand_stream>>>(static_cast<const float4 *>(a->in[0]),
                                                              static_cast<const unsigned *>(a->in[1]),
                                                              static_cast<float4 *>(a->out[0]), a->n, to);
    return cudaGetLastError();
}
static int records_added(const hand_args *a)
{
    add_records<<<hand_up(a->n, THREADS), THREADS, 0, hand_stream>>>(static_cast<const float4 *>(a->in[0]),
                                                                     static_cast<const unsigned *>(a->in[1]),
                                                                     static_cast<float4 *>(a->out[0]), a->n);
    return cudaGetLastError();
}

const hand_way hand_index_ways[] = {
    { "histogram", "a block's in shared memory", histogram<1> },
    { "histogram", "a warp's in shared memory", histogram<THREADS / 32> },
    { "histogram", "CUB", cub_histogram },
    { "histogram_rows", "a block's in shared memory", histogram<1> },
    { "histogram_rows", "a warp's in shared memory", histogram<THREADS / 32> },
    { "scatter_u32", "direct", direct<unsigned> },
    { "scatter_u32", "joined in warps", by_warp<unsigned> },
    { "scatter_u32", "a block's in shared memory", in_shared<unsigned> },
    { "scatter_u32", "a lane's in shared memory", by_lane<unsigned> },
    { "scatter_f32", "direct", direct<float> },
    { "scatter_f32", "joined in warps", by_warp<float> },
    { "scatter_f32", "a block's in shared memory", in_shared<float> },
    { "scatter_f32", "a lane's in shared memory", by_lane<float> },
    { "gather_records", "16 bytes a thread", records<false> },
    { "scatter_records", "16 bytes a thread", records<true> },
    { "add_records", "16 bytes at once", records_added },
    {},
};
