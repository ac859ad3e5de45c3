/* test_order_by_shape.c - WF_FLAG_ORDER_BY_SHAPE: reductions, scans and accumulations of arrays in any layout have the bits
 * that the interpreter gives for arrays in C order.
 *
 * ctest: devices first_tier
 */
#include "on_devices.h"
#include "base/base.h"

enum { SHAPES_OF_A_TEST = 60, LAYOUTS = 4, MOST_RESULTS = 8 };

static uint64_t random_state = 7;
static int64_t below(int64_t n) { return (int64_t)(test_random(&random_state) % (uint64_t)n); }

/* Returns an array with the elements of `from`, whose axes lie in memory in a random order, with gaps, and some of which
 * run backwards. */
static wf_array *in_random_layout(wf_context *own, wf_array *from)
{
    wf_shape shape = wf_array_shape(from), outer = { .rank = shape.rank };
    int order[WF_MAX_RANK] = { 0 }, place[WF_MAX_RANK];
    for (int k = 0; k < shape.rank; ++k) {
        int at = (int)below(k + 1);
        order[k] = order[at];
        order[at] = k;
    }
    int64_t step[WF_MAX_RANK], start[WF_MAX_RANK];
    for (int k = 0; k < shape.rank; ++k) {
        int64_t n = shape.dim[order[k]];
        place[order[k]] = k;
        step[k] = (below(4) ? 1 : 2) * (below(3) ? 1 : -1);
        start[k] = below(3) ? 0 : below(5);
        outer.dim[k] = start[k] + n * llabs(step[k]) + (below(3) ? 0 : below(5));
    }
    wf_array *a = wf_full(own, wf_array_dtype(from), outer, 0);
    for (int k = 0; k < shape.rank; ++k) {
        int64_t n = shape.dim[order[k]], s = step[k], last = start[k] + (n - 1) * llabs(s);
        wf_array *part = s > 0 ? wf_view_slice(a, k, start[k], last + 1, s)
                               : wf_view_slice(a, k, last, start[k] ? start[k] - 1 : WF_END_INDEX, s);
        wf_release(a);
        a = part;
    }
    wf_array *turned = wf_view_permute(a, place);
    wf_release(a);
    wf_graph *g = wf_begin(own);
    wf_out(g, turned, wf_in(g, from));
    OK(own, wf_run(g));
    return turned;
}

/* Returns an array with random elements, of which a sum depends on the order. */
static wf_array *random_array(wf_context *own, wf_dtype dtype, wf_shape shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    double *data = malloc((size_t)n * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < n; ++i)
        data[i] = ldexp(test_random_number(&random_state), (int)below(dtype == WF_F16 ? 4 : 12));
    wf_array *wide = array_of(own, WF_F64, shape, data), *a = wf_array_cast(wide, dtype);
    assert_non_null(a);
    wf_release(wide);
    free(data);
    return a;
}

static wf_shape random_shape(void)
{
    static const int64_t extents[] = { 1, 2, 3, 5, 12, 16, 31, 32, 33, 64, 100, 257, 1500 };
    wf_shape shape = { .rank = 1 + (int)below(4) };
    int64_t left = sized(100000, 3000);
    for (int d = 0; d < shape.rank; ++d) {
        do
            shape.dim[d] = extents[below(WF__COUNT(extents))];
        while (shape.dim[d] > left);
        left /= shape.dim[d];
    }
    return shape;
}

/* A case: what is computed of x and y, arrays of one shape, and the bins of the points. */
typedef struct input {
    wf_dtype dtype; /* of x and y */
    wf_shape shape;
    wf_axes axes;
    int axis;
    bool exclusive;
} input;
typedef int compute(wf_context *own, const input *in, wf_array *x, wf_array *y, wf_array *bin, wf_array **out);

static int reductions(wf_context *own, const input *in, wf_array *x, wf_array *y, wf_array *bin, wf_array **out)
{
    (void)bin;
    wf_graph *g = wf_begin(own);
    wf_val v = wf_mul(wf_in(g, x), wf_in(g, y));
    out[0] = wf_keep(wf_sum(v, in->axes));
    out[1] = wf_keep(wf_sum(v, WF_ALL_AXES));
    out[2] = wf_keep(wf_reduce(WF_JOIN_MUL, wf_add(1, wf_mul(v, 0x1p-10)), in->axes));
    out[3] = wf_keep(wf_scan(WF_JOIN_ADD, v, in->axis, in->exclusive, false));
    out[4] = wf_keep(wf_block_reduce(WF_JOIN_ADD, v, 7));
    out[5] = wf_keep(wf_sum(wf_sub(v, wf_sum(v, in->axes)), WF_ALL_AXES));
    OK(own, wf_run(g));
    g = wf_begin(own); /* one that reads the layout itself, where the others read products in C order */
    out[6] = wf_keep(wf_sum(wf_in(g, x), in->axes));
    OK(own, wf_run(g));
    return 7;
}

static int reduced_variables(wf_context *own, const input *in, wf_array *x, wf_array *y, wf_array *bin, wf_array **out)
{
    (void)bin;
    wf_shape kept = in->shape;
    for (int d = 0; d < kept.rank; ++d)
        kept.dim[d] = in->axes >> d & 1 ? 1 : kept.dim[d];
    out[0] = wf_full(own, WF_F64, kept, 0);
    out[1] = wf_full(own, WF_F64, kept, 0);
    wf_graph *g = wf_begin(own, .shape = in->shape, .reduce = in->axes);
    wf_var sum = wf_reduced(g, WF_F64, 1, WF_JOIN_ADD), scaled = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM);
    wf_val a = wf_cast(wf_in(g, x), WF_F64), b = wf_cast(wf_in(g, y), WF_F64);
    wf_set(sum, wf_add(wf_get(sum), wf_mul(a, b)));
    wf_set(scaled, wf_add(wf_mul(wf_get(scaled), 1), wf_sub(a, b)));
    wf_section(g, WF_SECTION_JOIN);
    wf_set(scaled, wf_add(wf_get(scaled), wf_get(wf_other(scaled))));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out[0], wf_get(sum));
    wf_out(g, out[1], wf_get(scaled));
    OK(own, wf_run(g));
    return 2;
}

static int accumulations(wf_context *own, const input *in, wf_array *x, wf_array *y, wf_array *bin, wf_array **out)
{
    out[0] = wf_full(own, WF_F64, WF_SHAPE(40), 0);
    out[1] = wf_full(own, WF_F64, WF_SHAPE(in->shape.dim[in->axis]), 0);
    wf_graph *g = wf_begin(own, .shape = in->shape);
    wf_val v = wf_cast(wf_mul(wf_in(g, x), wf_in(g, y)), WF_F64);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, out[0], v, wf_in(g, bin));
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, out[1], v, wf_index(g, in->axis));
    OK(own, wf_run(g));
    return 2;
}

/* The arrays that a case is computed of. */
typedef struct operands {
    wf_array *array[3]; /* x, y, bin */
} operands;

/* Returns arrays in C order, whose elements depend on the seed alone. */
static operands random_operands(wf_context *own, const input *in, uint64_t seed)
{
    uint64_t state = random_state;
    random_state = seed;
    operands o = { { random_array(own, in->dtype, in->shape), random_array(own, in->dtype, in->shape), NULL } };
    wf_array *wide = random_array(own, WF_F64, in->shape);
    wf_graph *g = wf_begin(own);
    o.array[2] = wf_keep(wf_cast(wf_mod(wf_abs(wf_mul(wf_in(g, wide), 100)), 40), WF_I32));
    OK(own, wf_run(g));
    wf_release(wide);
    random_state = state;
    return o;
}

static void release_operands(operands *o)
{
    for (int i = 0; i < 3; ++i)
        wf_release(o->array[i]);
}

static void rearrange(wf_context *own, operands *o)
{
    for (int i = 0; i < 3; ++i) {
        wf_array *other = in_random_layout(own, o->array[i]);
        wf_release(o->array[i]);
        o->array[i] = other;
    }
}

static void expect_same_bytes(const input *in, int result, wf_array *want, wf_array *got)
{
    char *x = contents(want), *y = contents(got), text[160];
    size_t bytes = (size_t)wf_array_count(want) * wf_dtype_size(wf_array_dtype(want));
    wf_shape_text(&in->shape, text, sizeof text);
    if (memcmp(x, y, bytes))
        fail_msg("result %d of shape %s (%s), axes 0x%x, axis %d depends on the layout", result, text,
                 wf_dtype_name(in->dtype), (unsigned)in->axes, in->axis);
    free(x);
    free(y);
}

/* Computes a case in C order in the interpreter, and then in random layouts and with 1 to LAYOUTS threads on the device. */
static void compare_case(compute *f, wf_context *plain, const input *in)
{
    const uint64_t seed = random_state;
    wf_array *want[MOST_RESULTS] = { NULL }, *got[MOST_RESULTS] = { NULL };
    operands o = random_operands(plain, in, seed);
    const int results = f(plain, in, o.array[0], o.array[1], o.array[2], want);
    release_operands(&o);
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        o = random_operands(ctx, in, seed);
        rearrange(ctx, &o);
        if (wf_context_device(ctx) == WF_CPU)
            wf_set_threads(ctx, 1 + layout);
        f(ctx, in, o.array[0], o.array[1], o.array[2], got);
        release_operands(&o);
        for (int i = 0; i < results; ++i) {
            expect_same_bytes(in, i, want[i], got[i]);
            wf_release(got[i]);
        }
    }
    for (int i = 0; i < results; ++i)
        wf_release(want[i]);
}

static void compare_layouts(compute *f, const wf_dtype *dtypes, int n)
{
    wf_context *plain = test_context(WF_INTERP, 1);
    wf_set_flags(ctx, WF_FLAG_ORDER_BY_SHAPE, 0);
    wf_set_flags(plain, WF_FLAG_ORDER_BY_SHAPE, 0);
    /* Short runs of a reduced axis between kept ones, which have a stage of their own. */
    compare_case(f, plain, &(input){ dtypes[0], WF_SHAPE(300, sized(100, 3), 12), WF_AXES(0, 2), 1, false });
    for (int k = 0; k < SHAPES_OF_A_TEST / TEST_EVERY; ++k) {
        input in = { .dtype = dtypes[k % n], .shape = random_shape(), .exclusive = below(2) };
        in.axes = 1 + (wf_axes)below((1 << in.shape.rank) - 1);
        in.axis = (int)below(in.shape.rank);
        compare_case(f, plain, &in);
    }
    wf_context_free(plain);
}

static void test_reductions(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F64, WF_F16, WF_C128 };
    compare_layouts(reductions, dtypes, 3);
}

static void test_reduced_variables(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F64, WF_F32 };
    compare_layouts(reduced_variables, dtypes, 2);
}

static void test_accumulations(void **state)
{
    (void)state;
    if (is_on_gpu())
        skip(); /* threads of a GPU update elements in any order */
    static const wf_dtype dtypes[] = { WF_F64, WF_F32 };
    compare_layouts(accumulations, dtypes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reductions), cmocka_unit_test(test_reduced_variables),
                                        cmocka_unit_test(test_accumulations) };
    return RUN_ON_ALL(tests);
}
