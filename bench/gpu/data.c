/* data.c - inputs that are made on the device, and results that are looked at on the host. */
#include "gpu.h"
#include <math.h>
#include <stdlib.h>

wf_array *gpu_keep(gpu_case *c, wf_array *array)
{
    if (c->kept_n == GPU_KEPT)
        abort();
    if (!array)
        gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_MEMORY);
    return c->kept[c->kept_n++] = array;
}

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
    for (int64_t k = 0; k < count % GPU_PERIOD; ++k) /* the period is a prime: steps go through all numbers */
        sum += (first + k * step) % GPU_PERIOD;
    return (double)(count / GPU_PERIOD * whole + sum);
}

/* A permutation of the 32-bit numbers that looks like chance (the finalizer of MurmurHash3). */
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

static double value(wf_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case WF_F32:
        return (double)((const float *)data)[i];
    case WF_I32:
        return (double)((const int32_t *)data)[i];
    case WF_U32:
        return (double)((const uint32_t *)data)[i];
    case WF_I64:
        return (double)((const int64_t *)data)[i];
    default:
        return NAN;
    }
}

typedef struct looking {
    const wf_array *flat;
    wf_dtype dtype;
    void *data; /* room for a part */
    int64_t wrong, seen;
    char first[160]; /* what is wrong */
} looking;

static void look(gpu_case *c, looking *l, int64_t start, int64_t count)
{
    wf_array *part = wf_view_slice((wf_array *)l->flat, 0, start, start + count, 1);
    if (gpu_ok(c, wf_download(part, l->data, (size_t)count * wf_dtype_size(l->dtype))))
        for (int64_t i = 0; i < count; ++i, ++l->seen) {
            double want = c->expected(c, start + i), got = value(l->dtype, l->data, i);
            if (!(fabs(got - want) <= c->tolerance * (1 + fabs(want))) && !l->wrong++)
                snprintf(l->first, sizeof l->first, "element %lld is %.9g, not %.9g", (long long)(start + i), got,
                         want);
        }
    wf_release(part);
}

bool gpu_right(gpu_case *c)
{
    enum { PARTS = 64 };
    wf_array *result = c->made ? c->made : c->result;
    int64_t n = wf_array_count(result), most = c->looked_at ? c->looked_at : 1 << 22;
    int64_t part = n <= most ? n : most / PARTS, parts = n <= most ? 1 : PARTS;
    wf_array *flat = wf_view_reshape(result, WF_SHAPE(n));
    looking l = { .flat = flat, .dtype = wf_array_dtype(result) };
    l.data = malloc((size_t)part * wf_dtype_size(l.dtype) + 1);
    for (int64_t k = 0; l.data && k < parts && !c->error[0]; ++k)
        look(c, &l, parts == 1 ? 0 : (n - part) / (parts - 1) * k, part);
    free(l.data);
    wf_release(flat);
    if (!c->error[0] && (l.seen < part * parts || (double)l.wrong > c->allowed * (double)l.seen)) {
        char why[224];
        snprintf(why, sizeof why, "%lld of %lld are wrong: %s", (long long)l.wrong, (long long)l.seen, l.first);
        gpu_fail(c, why);
    }
    return !c->error[0];
}
