/* hand.cu - the library's table of ways, its stream and its memory for temporaries. */
#include "hand_cuda.h"
#include <cstdio>
#include <cub/version.cuh>

cudaStream_t hand_stream;
static int processors;
static void *room;
static size_t room_bytes;
static hand_library library;

int hand_processors() { return processors; }

void *hand_room(size_t bytes)
{
    if (bytes <= room_bytes && room)
        return room;
    cudaStreamSynchronize(hand_stream);
    cudaFree(room);
    room_bytes = bytes + 16;
    if (cudaMalloc(&room, room_bytes) != cudaSuccess) {
        room = nullptr;
        room_bytes = 0;
    }
    return room;
}

static int open_device(int device)
{
    cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&hand_stream, cudaStreamNonBlocking);
    return error;
}

static int wait() { return cudaStreamSynchronize(hand_stream); }
static const char *error_text(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

const hand_library *weft_hand_library(void)
{
    static char made[80];
    static const hand_way *const all[] = { hand_stream_ways, hand_reduce_ways, hand_order_ways, hand_index_ways,
                                           hand_window_ways };
    const size_t most = sizeof library.way / sizeof *library.way - 1;
    size_t n = 0;
    for (const hand_way *way : all)
        for (; way->row && n < most; ++way)
            library.way[n++] = *way;
    snprintf(made, sizeof made, "CUDA %d.%d, CUB %d.%d.%d", CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100,
             CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    library.made = made;
    library.open = open_device;
    library.wait = wait;
    library.error = error_text;
    return &library;
}
