/* hand_window.cu - the 11 x 11 convolution, zero outside. Shared memory holds the window of a block, registers 4 columns
 * and some rows of results for each thread, so that all rows of results use a row of the window after one read. */
#include "hand_cuda.h"

enum { K = 11, HALO = K / 2, ACROSS = 32, WIDE = 4 * ACROSS, PITCH = WIDE + 12 }; /* of which 138 columns are used */

__constant__ float weights[K * K];

template <int rows, int down>
__global__ void __launch_bounds__(ACROSS *down) convolve(const float *__restrict__ x, float *__restrict__ y, int side)
{
    constexpr int high = rows * down;
    __shared__ __align__(16) float tile[high + K - 1][PITCH];
    int left = static_cast<int>(blockIdx.x) * WIDE, top = static_cast<int>(blockIdx.y) * high;
    for (int k = static_cast<int>(threadIdx.y); k < high + K - 1; k += down) {
        int from = top + k - HALO;
        bool inside = from >= 0 && from < side;
        const float *row = x + static_cast<int64_t>(from) * side;
        for (int j = static_cast<int>(threadIdx.x); j < PITCH; j += ACROSS) {
            int at = left + j - HALO;
            tile[k][j] = inside && at >= 0 && at < side ? row[at] : 0;
        }
    }
    __syncthreads();
    int first = static_cast<int>(threadIdx.y) * rows, column = static_cast<int>(threadIdx.x) * 4;
    float sum[rows][4] = {};
#pragma unroll
    for (int k = 0; k < rows + K - 1; ++k) {
        float v[16];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            *reinterpret_cast<float4 *>(v + 4 * j) =
                *reinterpret_cast<const float4 *>(&tile[first + k][column + 4 * j]);
#pragma unroll
        for (int r = 0; r < rows; ++r)
            if (k >= r && k - r < K) {
#pragma unroll
                for (int j = 0; j < K; ++j)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        sum[r][i] = fmaf(v[i + j], weights[(k - r) * K + j], sum[r][i]);
            }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (top + first + r < side && left + column + i < side)
                y[static_cast<int64_t>(top + first + r) * side + left + column + i] = sum[r][i];
}

template <int rows, int down>
static int convolution(const hand_args *a)
{
    int side = static_cast<int>(a->side);
    cudaError_t error =
        cudaMemcpyToSymbolAsync(weights, a->in[1], sizeof weights, 0, cudaMemcpyDeviceToDevice, hand_stream);
    if (error != cudaSuccess)
        return error;
    dim3 grid(static_cast<unsigned>(hand_up(side, WIDE)), static_cast<unsigned>(hand_up(side, rows * down)));
    convolve<rows, down><<<grid, dim3(ACROSS, down), 0, hand_stream>>>(static_cast<const float *>(a->in[0]),
                                                                       static_cast<float *>(a->out[0]), side);
    return cudaGetLastError();
}

const hand_way hand_window_ways[] = {
    { "convolution", "4 x 2 pixels a thread", convolution<2, 8> },
    { "convolution", "4 x 4 pixels a thread", convolution<4, 8> },
    { "convolution", "4 x 8 pixels a thread", convolution<8, 4> },
    {},
};
