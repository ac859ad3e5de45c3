/* test_random_layouts.c - random shapes of rank 0 to 8 in random layouts (permuted, padded, negative, repeated, views
 * of views), computed as lazy arrays and as index spaces, beside loops in plain C that know only addresses.
 *
 * ctest: baseline
 */
#include "on_devices.h"

enum { MOST = 6000 };

typedef struct operand {
    wf_array *array;
    float *data;  /* memory of the test's own */
    float *first; /* element [0, ..., 0] */
    wf_shape shape;
    int64_t stride[WF_MAX_RANK];
} operand;

static uint64_t seed;

static int64_t below(int64_t n) { return n > 0 ? (int64_t)(test_random(&seed) % (uint64_t)n) : 0; }

/* Memory around the array is filled with a pattern that must survive. */
static operand make(const wf_shape *shape, bool may_repeat)
{
    operand o = { .shape = *shape };
    int order[WF_MAX_RANK], rank = shape->rank;
    int64_t step = 1 + (below(3) == 0 ? below(3) : 0), lo = 0, hi = 0;
    for (int d = 0; d < rank; ++d)
        order[d] = d;
    if (below(2))
        for (int d = rank - 1; d > 0; --d) {
            int e = (int)below(d + 1), t = order[d];
            order[d] = order[e];
            order[e] = t;
        }
    for (int k = rank - 1; k >= 0; --k) {
        int d = order[k];
        int64_t n = o.shape.dim[d], sign = below(4) == 0 ? -1 : 1;
        if (may_repeat && below(6) == 0 && n > 1) {
            o.stride[d] = 0;
            continue;
        }
        o.stride[d] = sign * step;
        *(sign < 0 ? &lo : &hi) += n > 0 ? (n - 1) * sign * step : 0;
        step *= (n > 0 ? n : 1) + (below(3) == 0 ? below(3) : 0);
    }
    size_t count = (size_t)(hi - lo) + 33;
    o.data = malloc(count * sizeof *o.data);
    assert_non_null(o.data);
    for (size_t i = 0; i < count; ++i)
        o.data[i] = (float)(test_random(&seed) % 1000) - 300;
    o.first = o.data + 16 - lo;
    o.array = wf_wrap(ctx, o.first, WF_F32, *shape, NULL, NULL, .strides = o.stride);
    assert_non_null(o.array);
    return o;
}

static void free_operand(operand *o)
{
    wf_release(o->array);
    free(o->data);
}

static wf_shape random_shape(void)
{
    static const int64_t dims[] = {
        1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 300, 0
    }; /* beyond 256 lanes: strips */
    wf_shape s = { .rank = (int)below(9) };
    int64_t left = MOST;
    for (int d = 0; d < s.rank; ++d) {
        s.dim[d] = dims[below(below(20) == 0 ? 19 : 18)];
        s.dim[d] = s.dim[d] > left ? 1 : s.dim[d];
        left /= s.dim[d] > 0 ? s.dim[d] : 1;
    }
    return s;
}

/* Some axes 1, some leading ones missing. */
static wf_shape smaller(const wf_shape *shape)
{
    wf_shape s = *shape;
    int drop = below(3) == 0 ? (int)below(s.rank + 1) : 0;
    memmove(s.dim, s.dim + drop, sizeof *s.dim * (size_t)(s.rank - drop));
    s.rank -= drop;
    for (int d = 0; d < s.rank; ++d)
        s.dim[d] = below(4) == 0 ? 1 : s.dim[d];
    return s;
}

static float *element(const operand *o, const wf_shape *space, const int64_t *index)
{
    float *p = o->first;
    int skip = space->rank - o->shape.rank;
    for (int d = 0; d < o->shape.rank; ++d)
        p += o->shape.dim[d] == 1 ? 0 : index[d + skip] * o->stride[d];
    return p;
}

/* c = a * 2 + b, d = a - b */
static void one(wf_device device, bool indexed)
{
    wf_shape shape = random_shape(), sa = smaller(&shape), sb = smaller(&shape);
    operand a = make(&sa, true), b = make(&sb, true), c = make(&shape, false), d = make(&shape, false);
    size_t count = (size_t)wf_array_count(c.array);
    int64_t index[WF_MAX_RANK] = { 0 };
    float *want = malloc(2 * count * sizeof *want + 1);
    assert_non_null(want);
    for (size_t i = 0; i < count; ++i, advance(&shape, index)) {
        float x = *element(&a, &shape, index), y = *element(&b, &shape, index);
        want[2 * i] = x * 2 + y;
        want[2 * i + 1] = x - y;
    }
    wf_graph *g =
        indexed ? wf_begin(ctx, .shape = shape, .indexed = true, .device = device) : wf_begin(ctx, .device = device);
    wf_val x = wf_in(g, a.array), y = wf_in(g, b.array), sum = wf_add(wf_mul(x, 2), y);
    if (indexed && shape.rank) {
        wf_val at[WF_MAX_RANK];
        for (int k = 0; k < shape.rank; ++k)
            at[k] = wf_index(g, k);
        wf_write_n(g, c.array, sum, (wf_vals){ at, (size_t)shape.rank });
    } else
        wf_out(g, c.array, sum);
    wf_out(g, d.array, wf_sub(x, y));
    OK(ctx, wf_run(g));
    memset(index, 0, sizeof index);
    for (size_t i = 0; i < count; ++i, advance(&shape, index)) {
        assert_true(*element(&c, &shape, index) == want[2 * i]);
        assert_true(*element(&d, &shape, index) == want[2 * i + 1]);
    }
    free(want);
    free_operand(&a);
    free_operand(&b);
    free_operand(&c);
    free_operand(&d);
}

/* What lies around an output stays: outputs with gaps, every element outside compared before and after. */
static void guarded(wf_device device)
{
    wf_shape shape = random_shape();
    operand c = make(&shape, false);
    float *last = c.first, *low = c.first;
    for (int d = 0; d < shape.rank; ++d) {
        int64_t reach = shape.dim[d] > 0 ? (shape.dim[d] - 1) * c.stride[d] : 0;
        *(reach < 0 ? &low : &last) += reach;
    }
    size_t n = (size_t)(last - c.data) + 17;
    float *before = malloc(n * sizeof *before);
    assert_non_null(before);
    memcpy(before, c.data, n * sizeof *before);
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_out(g, c.array, wf_add(wf_in(g, c.array), 0.5));
    OK(ctx, wf_run(g));
    int64_t index[WF_MAX_RANK] = { 0 };
    if (wf_array_count(c.array))
        do {
            float *p = element(&c, &shape, index);
            assert_true(*p == before[p - c.data] + 0.5f);
            *p = before[p - c.data];
        } while (advance(&shape, index));
    assert_memory_equal(before, c.data, n * sizeof *before);
    free(before);
    free_operand(&c);
}

static void run_many(wf_device device, int rounds)
{
    for (int i = 0; i < rounds; ++i) {
        seed = (uint64_t)i * 77 + (uint64_t)device;
        one(device, i % 2);
        guarded(device);
    }
}

static void test_interpreter(void **state)
{
    (void)state;
    run_many(WF_INTERP, 400);
}

static void test_cpu(void **state)
{
    (void)state;
    run_many(WF_CPU, 150);
}

/* Arrays in Fortran order are one loop over all elements, as those in C order; so is any permutation that all
 * operands share. */
static void test_shared_order_is_one_loop(void **state)
{
    (void)state;
    const int swap[] = { 2, 0, 1 };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(10, 11, 12), 1), *b = wf_like(a), *p = wf_view_permute(a, swap),
             *q = wf_view_permute(b, swap);
    wf_array *row = wf_view_slice(a, 2, 0, 5, 1), *out = wf_view_slice(b, 2, 0, 5, 1);
    wf_graph *g = wf_begin(ctx);
    wf_array *x = wf_formal(g, "x", WF_F32, 3), *y = wf_formal(g, "y", WF_F32, 3);
    wf_out(g, y, wf_add(wf_in(g, x), 1));
    wf_kernel *k = wf_compile(g);
    char text[4096];
    size_t n;
    OK(ctx, wf_kernel_dump(k, WF_ARGS(WF_ARG("x", p), WF_ARG("y", q)), WF_DUMP_KERNELS, text, sizeof text, &n));
    assert_non_null(strstr(text, "stage 1 of 1: loops 1320\n"));
    OK(ctx, wf_kernel_dump(k, WF_ARGS(WF_ARG("x", row), WF_ARG("y", out)), WF_DUMP_KERNELS, text, sizeof text, &n));
    assert_non_null(
        strstr(text, "stage 1 of 1: loops 110 5\n")); /* padded rows: two loops, the first two axes merged */
    OK(ctx, wf_kernel_dump(k, WF_ARGS(WF_ARG("x", row), WF_ARG("y", row)), WF_DUMP_KERNELS, text, sizeof text, &n));
    assert_non_null(strstr(text, "stage 1 of 1: loops 110 5\n"));
    wf_kernel_free(k);
    wf_array *all[] = { a, b, p, q, row, out };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

/* Strides of 0 repeat elements, which cannot be written, unless the array is empty. */
static void test_nothing_repeated(void **state)
{
    (void)state;
    float x[7] = { 0 };
    const int64_t none[3] = { 0 };
    for (int64_t n = 0; n < 2; ++n) {
        wf_array *a = wf_wrap(ctx, x, WF_F32, WF_SHAPE(7, 3, n), NULL, NULL, .strides = none);
        wf_graph *g = wf_begin(ctx);
        wf_out(g, a, wf_add(wf_in(g, a), 1));
        assert_int_equal(wf_run(g), n ? WF_ERR_ARG : WF_OK);
        assert_true(!n || strstr(wf_last_message(ctx), "stride 0"));
        wf_clear_error(ctx);
        wf_release(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_repeated),
        cmocka_unit_test(test_interpreter),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_shared_order_is_one_loop),
    };
    return cmocka_run_group_tests(tests, on_cpu, off);
}
