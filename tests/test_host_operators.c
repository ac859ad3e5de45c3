/* test_host_operators.c - host operators get every element in one chunk, for any strides, broadcasting, overlap and
 * sizes; errors.
 *
 * ctest: devices driver threads
 */
#include "on_devices.h"
#include <stdatomic.h>

typedef struct log_of_calls {
    _Atomic int64_t elements, calls;
    _Atomic bool bad;
} log_of_calls;

/* out = a * 1000 + b, and the linear index. */
static void combine(const wf_chunk *c, void *user)
{
    log_of_calls *log = user;
    const float *a = c->in[0];
    const int16_t *b = c->in[1];
    double *out = c->out[0];
    int64_t *place = c->out[1];
    atomic_fetch_add(&log->elements, c->n);
    atomic_fetch_add(&log->calls, 1);
    if (c->n_in != 2 || c->n_out != 2 || c->thread < 0 || c->thread >= wf_get_threads(ctx))
        atomic_store(&log->bad, true);
    for (int64_t i = 0; i < c->n; ++i) {
        out[i] = a[i] * 1000.0 + b[i];
        place[i] = c->first + i;
    }
}

static void test_strides(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 1, 1 },   { 3, 5, 7 },      { 2, 3, 2500 },
                                         { 70, 80, 9 }, { 1, 1, 200000 }, { 4, 0, 3 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int form = 0; form < 4; ++form) {
            const int64_t *n = shapes[s];
            int64_t count = n[0] * n[1] * n[2];
            wf_shape shape = WF_SHAPE(n[0], n[1], n[2]), turned = WF_SHAPE(n[2], n[0], n[1]);
            int order[] = { 1, 2, 0 };
            wf_array *whole = wf_array_arange(ctx, WF_F32, count, 0, 1), *b = wf_array_arange(ctx, WF_I16, n[2], 0, 1);
            wf_array *flat = form & 1 ? wf_view_reshape(whole, turned) : wf_view_reshape(whole, shape);
            wf_array *a = form & 1 ? wf_view_permute(flat, order) : wf_retain(flat);
            wf_array *room = wf_empty(ctx, WF_F64, WF_SHAPE(n[0], n[1], 2 * n[2]));
            wf_array *out = form & 2 ? wf_view_slice(room, 2, -1, WF_END_INDEX, -2) : wf_empty(ctx, WF_F64, shape);
            wf_array *place = wf_empty(ctx, WF_I64, shape);
            log_of_calls log = { 0 };
            OK(ctx, wf_host_apply(ctx, WF_ARRAYS(a, b), WF_ARRAYS(out, place), combine, &log));
            assert_true(atomic_load(&log.elements) == count && !atomic_load(&log.bad));
            double *x = malloc((size_t)count * 8 + 1);
            int64_t *p = contents(place);
            float *y = malloc((size_t)count * 4 + 1);
            OK(ctx, wf_download(out, x, (size_t)count * 8));
            OK(ctx, wf_download(a, y, (size_t)count * 4));
            for (int64_t i = 0; i < count; ++i)
                assert_true(x[i] == y[i] * 1000.0 + (int16_t)(i % n[2]) && p[i] == i);
            free(x);
            free(y);
            free(p);
            wf_release(whole), wf_release(flat), wf_release(a), wf_release(b);
            wf_release(room), wf_release(out), wf_release(place);
        }
}

static void add_one(const wf_chunk *c, void *user)
{
    (void)user;
    const int32_t *x = c->in[0];
    int32_t *y = c->out[0];
    for (int64_t i = 0; i < c->n; ++i)
        y[i] = x[i] + 1;
}

static void test_overlap(void **state)
{
    (void)state;
    int64_t n = 100000;
    wf_array *a = wf_array_arange(ctx, WF_I32, n, 0, 3);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(a), add_one, NULL));
    wf_array *low = wf_view_slice(a, 0, 0, n - 1, 1), *high = wf_view_slice(a, 0, 1, n, 1);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(low), WF_ARRAYS(high), add_one, NULL)); /* a[i + 1] = old a[i] + 1 */
    int32_t *x = contents(a);
    for (int32_t i = 0; i < n; ++i)
        assert_true(x[i] == (i ? 3 * (i - 1) + 2 : 1));
    free(x);
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(low), WF_ARRAYS(low, high), add_one, NULL), WF_ERR_ARG, "overlaps");
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(low), WF_ARRAYS(a), add_one, NULL), WF_ERR_SHAPE, "input 0");
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(a), NULL, NULL), WF_ERR_ARG, "function");
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS((wf_array *)NULL), add_one, NULL), WF_ERR_ARG, "output 0");
    wf_array *wide = wf_view_broadcast(a, WF_SHAPE(2, n));
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(wide), add_one, NULL), WF_ERR_ARG, "read-only");
    wf_release(wide), wf_release(low), wf_release(high), wf_release(a);
}

/* Once the operator has run, arrays that share memory with its operands may be written. */
static void test_shared_memory(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_I32, 100, 0, 3), *copy = wf_copy(a), *out = wf_like(a);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(copy), WF_ARRAYS(out), add_one, NULL));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, 7);
    OK(ctx, wf_run(g));
    int32_t *x = contents(copy), *y = contents(out), *z = contents(a);
    for (int i = 0; i < 100; ++i)
        assert_true(x[i] == 3 * i && y[i] == 3 * i + 1 && z[i] == 7);
    free(x), free(y), free(z);
    wf_release(a), wf_release(copy), wf_release(out);
}

static void count_only(const wf_chunk *c, void *user)
{
    if (c->n_out == 0)
        atomic_fetch_add((_Atomic int64_t *)user, c->n);
}

static void test_no_outputs(void **state)
{
    (void)state;
    _Atomic int64_t seen = 0;
    wf_array *a = wf_full(ctx, WF_U8, WF_SHAPE(30, 1), 1), *b = wf_full(ctx, WF_U8, WF_SHAPE(40), 1);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(a, b), WF_NO_ARRAYS, count_only, &seen));
    assert_true(atomic_load(&seen) == 1200);
    OK(ctx, wf_host_apply(ctx, WF_NO_ARRAYS, WF_NO_ARRAYS, count_only, &seen));
    assert_true(atomic_load(&seen) == 1200);
    wf_release(a), wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_strides), cmocka_unit_test(test_overlap),
                                        cmocka_unit_test(test_shared_memory), cmocka_unit_test(test_no_outputs) };
    return RUN_ON_ALL(tests);
}
