/* rows_window.c - the 11 x 11 convolution with an array of weights, zero outside: by index, and by windows in the scratch
 * memory of a block. */
#include "gpu.h"
#include "../kernels.h"

enum { K = CONV_K, HALO = CONV_HALO };

static float weight(int64_t k) { return (float)(k * 31 % 17 + 1) / 17; }

static double convolved(const gpu_case *c, int64_t i)
{
    int64_t side = c->m, y = i / side, x = i % side;
    double sum = 0;
    for (int64_t k = 0; k < (int64_t)K * K; ++k) {
        int64_t at_y = y + k / K - HALO, at_x = x + k % K - HALO;
        if (at_y >= 0 && at_y < side && at_x >= 0 && at_x < side)
            sum += gpu_number(at_y * side + at_x) * (double)weight(k);
    }
    return sum;
}

typedef struct images {
    wf_array *img, *ker, *out; /* formals */
} images;

static images formals(wf_graph *g)
{
    return (images){ wf_formal(g, "img", WF_F32, 2), wf_formal(g, "ker", WF_F32, 2), wf_formal(g, "out", WF_F32, 2) };
}

static wf_kernel *by_index(gpu_case *c)
{
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(c->m, c->m), .name = "convolve");
    const images a = formals(g);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), sum = wf_const(g, WF_F32, 0);
    for (int k = 0; k < K * K; ++k)
        sum = wf_fma(wf_read_or(g, a.img, 0, wf_add(y, k / K - HALO), wf_add(x, k % K - HALO)),
                     wf_read(g, a.ker, k / K, k % K), sum);
    wf_write(g, a.out, sum, y, x);
    return wf_compile(g);
}

/* A block has 32 points along x and `high` along y. Each point computes `rows` pixels, `high` apart along y. A value that
 * several of them use is read from scratch once. */
static wf_kernel *in_scratch(gpu_case *c, int high, int rows)
{
    enum { WIDE = 32 };
    int block = high * rows, tall = block + K - 1, wide = WIDE + K - 1;
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE((c->m + rows - 1) / rows, c->m), .block = WF_SHAPE(high, WIDE),
                             .name = "convolve in scratch");
    const images a = formals(g);
    wf_array *tile = wf_scratch(g, WF_F32, WF_SHAPE(tall, wide), false);
    wf_val ty = wf_thread_id(g, 0), tx = wf_thread_id(g, 1), ly, lx;
    wf_val top = wf_mul(wf_block_id(g, 0), block), left = wf_mul(wf_block_id(g, 1), WIDE);
    WF_FOR (g, ly, ty, tall, wf_block_size(g, 0)) {
        WF_FOR (g, lx, tx, wide, wf_block_size(g, 1)) {
            wf_val pixel = wf_read_or(g, a.img, 0, wf_add(wf_sub(top, HALO), ly), wf_add(wf_sub(left, HALO), lx));
            wf_write(g, tile, pixel, ly, lx);
        }
        WF_END(g);
    }
    WF_END(g);
    wf_barrier(g);
    wf_val first = wf_mul(ty, rows), x = wf_add(left, tx);
    for (int r = 0; r < rows; ++r) {
        wf_val sum = wf_const(g, WF_F32, 0), y = wf_add(wf_add(top, first), r);
        for (int k = 0; k < K * K; ++k)
            sum = wf_fma(wf_read(g, tile, wf_add(first, r + k / K), wf_add(tx, k % K)), wf_read(g, a.ker, k / K, k % K),
                         sum);
        wf_write_if(g, wf_lt(y, (double)c->m), a.out, sum, y, x);
    }
    return wf_compile(g);
}

static void convolution(gpu_case *c)
{
    float weights[K * K];
    int64_t side = c->m = c->b->side < 8192 ? c->b->side : 8192;
    wf_array *flat = gpu_numbers(c, side * side), *out = gpu_empty(c, WF_F32, WF_SHAPE(side, side));
    wf_array *img = gpu_keep(c, wf_view_reshape(flat, WF_SHAPE(side, side)));
    wf_array *ker = gpu_empty(c, WF_F32, WF_SHAPE(K, K));
    for (int k = 0; k < K * K; ++k)
        weights[k] = weight(k);
    gpu_ok(c, wf_upload(ker, weights, sizeof weights));
    if (c->row->of) {
        gpu_launches(c, "a pixel a thread", in_scratch(c, 8, 1), WF_NAMED(img, ker, out));
        gpu_launches(c, "4 pixels a thread", in_scratch(c, 8, 4), WF_NAMED(img, ker, out));
    } else
        gpu_launches(c, "", by_index(c), WF_NAMED(img, ker, out));
    gpu_by_hand(c, "convolution",
                (hand_args){ .in = { gpu_at(c, img), gpu_at(c, ker) }, .out = { gpu_at(c, out) }, .side = side });
    c->result = out;
    c->expected = convolved;
    c->looked_at = 1 << 19;
    c->bytes = 8 * (double)(side * side);
}

const gpu_row gpu_window_rows[] = {
    { "conv_index", "11 x 11 convolution by index, 8192 x 8192", GPU_OF_HAND, 2, convolution, 0 },
    { "conv_scratch", "the same by windows in scratch", GPU_OF_HAND, 1.2, convolution, 1 },
    { 0 },
};
