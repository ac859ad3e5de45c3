/* data.c - inputs. Random numbers are a function of stream and index, so that they can be filled in parallel and made
 * again wherever a reference value is needed. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

float bench_random(uint64_t stream, uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + stream * 0xd1b54a32d192ed03u; /* splitmix64's finaliser */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (float)(x >> 40) * 0x1p-24f;
}

typedef struct fill {
    bench_stream *s;
    float low, high;
} fill;

static void fill_part(void *arg, int part, int parts)
{
    const fill *f = arg;
    int64_t lo, hi;
    bench_part(f->s->n, 16, part, parts, &lo, &hi);
    for (int k = 0; k < f->s->arrays; ++k)
        for (int64_t i = lo; i < hi; ++i)
            f->s->at[k][i] = f->low + (f->high - f->low) * bench_random((uint64_t)k, (uint64_t)i);
}

bool bench_stream_new(bench_stream *s, bench *b, int64_t n, int arrays, float low, float high)
{
    *s = (bench_stream){ .b = b, .n = n, .arrays = arrays };
    for (int k = 0; k < arrays; ++k) {
        void *at = NULL;
        s->array[k] = wf_empty(b->ctx, WF_F32, WF_SHAPE(n));
        wf_status status = s->array[k] ? wf_map(s->array[k], &at, NULL) : wf_check(b->ctx);
        if (!s->array[k] || status != WF_OK) {
            bench_ok(b, status ? status : WF_ERR_MEMORY, b->ctx, "memory for the inputs");
            bench_stream_free(s);
            return false;
        }
        s->at[k] = at;
    }
    fill f = { s, low, high };
    bench_pool_run(b->pool, fill_part, &f);
    return true;
}

void bench_stream_free(bench_stream *s)
{
    for (int k = 0; k < s->arrays; ++k)
        wf_release(s->array[k]);
    s->arrays = 0;
}

void bench_stream_spoil(bench_stream *s, int array) { memset(s->at[array], 0xff, (size_t)s->n * sizeof(float)); }

void *bench_stream_case(bench_case *c, size_t size, bench *b, int64_t n, int arrays, float low, float high)
{
    bench_stream *s = calloc(1, size);
    if (!s)
        bench_fail(b, "no memory");
    if (s && bench_stream_new(s, b, n, arrays, low, high))
        return c->data = s;
    free(s);
    return NULL;
}
