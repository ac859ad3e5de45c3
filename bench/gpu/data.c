/* data.c - inputs, made on the device, and their elements on the host. */
#include "gpu.h"

wf_array *gpu_empty(gpu_case *c, wf_dtype dtype, wf_shape shape)
{
    return gpu_keep(c, wf_empty(c->b->ctx, dtype, shape));
}

wf_array *gpu_numbers(gpu_case *c, int64_t n)
{
    wf_array *a = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_graph *g = wf_begin(c->b->ctx, .device = c->b->device);
    wf_out(g, a, wf_mod(wf_iota(g, WF_SHAPE(n), 0), GPU_PERIOD));
    gpu_ok(c, wf_run(g));
    return a;
}

double gpu_same(const gpu_case *c, int64_t i)
{
    (void)c;
    return gpu_number(i);
}

wf_kernel *gpu_copying(gpu_case *c)
{
    wf_graph *g = GPU_RECORD(c, .name = "copy");
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_out(g, out, wf_in(g, a));
    return wf_compile(g);
}

double gpu_number(int64_t i) { return (double)(i % GPU_PERIOD); }

double gpu_sum(int64_t first, int64_t step, int64_t count)
{
    int64_t whole = GPU_PERIOD * (GPU_PERIOD - 1) / 2, sum = 0;
    if (step % GPU_PERIOD == 0)
        return (double)(count * (first % GPU_PERIOD));
    for (int64_t k = 0; k < count % GPU_PERIOD; ++k) /* the period is a prime: GPU_PERIOD steps visit all numbers */
        sum += (first + k * step) % GPU_PERIOD;
    return (double)(count / GPU_PERIOD * whole + sum);
}

/* A pseudo-random permutation of the 32-bit numbers: the finalizer of MurmurHash3. */
uint32_t gpu_random_at(int64_t i, uint32_t salt)
{
    uint32_t h = (uint32_t)i + salt;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

wf_array *gpu_random(gpu_case *c, int64_t n, uint32_t salt)
{
    wf_array *a = gpu_empty(c, WF_U32, WF_SHAPE(n));
    wf_graph *g = wf_begin(c->b->ctx, .device = c->b->device);
    wf_val h = wf_add(wf_cast(wf_iota(g, WF_SHAPE(n), 0), WF_U32), wf_const(g, WF_U32, salt));
    h = wf_mul(wf_xor(h, wf_shr(h, 16)), wf_const(g, WF_U32, 0x85ebca6bu));
    h = wf_mul(wf_xor(h, wf_shr(h, 13)), wf_const(g, WF_U32, 0xc2b2ae35u));
    wf_out(g, a, wf_xor(h, wf_shr(h, 16)));
    gpu_ok(c, wf_run(g));
    return a;
}

void *gpu_at(const gpu_case *c, wf_array *array)
{
    void *at = NULL;
    if (c->b->driver && array)
        wf_map_device(array, &at, NULL);
    return at;
}
