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

void *bench_data(bench *b, bench_case *c, const bench_kind *kind)
{
    c->kind = kind;
    c->data = calloc(1, kind->size);
    if (!c->data)
        bench_fail(b, "no memory");
    return c->data;
}

void bench_case_free(bench_case *c)
{
    if (!c)
        return;
    if (c->data && c->kind->done)
        c->kind->done(c->data);
    wf_kernel_free(c->kernel);
    for (int i = 0; i < c->kept_n; ++i)
        wf_release(c->kept[i]);
    free(c->data);
    free(c);
}

wf_array *bench_keep(bench_case *c, wf_array *array)
{
    if (c->kept_n == BENCH_KEPT)
        abort();
    return c->kept[c->kept_n++] = array;
}

void *bench_memory(bench *b, const wf_array *array)
{
    void *at = NULL;
    bench_ok(b, array ? wf_map(array, &at, NULL) : wf_last_status(b->ctx), b->ctx, "memory of an array");
    if (!at)
        bench_fail(b, "no memory");
    return at;
}

typedef struct fill {
    float low, high;
} fill;

static void fill_part(void *data, const void *how, int part, int parts)
{
    const bench_stream *s = data;
    const fill *f = how;
    const bench_range at = bench_split(s->n, 16, part, parts);
    for (int k = 0; k < s->inputs + s->results; ++k)
        for (int64_t i = at.lo; i < at.hi; ++i)
            s->at[k][i] = f->low + (f->high - f->low) * bench_random((uint64_t)k, (uint64_t)i);
}

void *bench_stream_data(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, float low,
                        float high)
{
    bench_stream *s = bench_data(b, c, kind);
    if (!s)
        return NULL;
    *s = (bench_stream){ .b = b, .n = n, .inputs = inputs, .results = results };
    for (int k = 0; k < inputs + results; ++k) {
        s->array[k] = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(n)));
        s->at[k] = bench_memory(b, s->array[k]);
        if (!s->at[k])
            return NULL;
    }
    bench_pool_run(b->pool, fill_part, s, &(fill){ low, high });
    return s;
}

void bench_spoil_results(void *data)
{
    const bench_stream *s = data;
    for (int k = s->inputs; k < s->inputs + s->results; ++k)
        memset(s->at[k], 0xff, (size_t)s->n * sizeof(float));
}
