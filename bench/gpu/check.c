/* check.c - compares a result with what is expected, on the host. */
#include "gpu.h"
#include <math.h>
#include <stdlib.h>

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
    void *data;          /* memory for a part */
    int64_t wrong, seen; /* numbers of elements */
    char first[160];     /* description of the first wrong element */
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
