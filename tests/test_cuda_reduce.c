/* test_cuda_reduce.c - reductions on a GPU, which is the PTX emulator or the driver that WEFT_CUDA names. Kernels join
 * any number of boxes and parts in the order of the processor; a launch waits for nothing and brings nothing to the
 * host.
 *
 * ctest: gpu
 */
#include "launch/launch.h"
#include "on_devices.h"
#include "run/gpu/launch.h"

static wf_array *noisy(wf_device device, wf_dtype dtype, wf_shape shape)
{
    wf_array *a = wf_empty(ctx, dtype, shape, .device = device);
    assert_non_null(a);
    int64_t n = wf_array_count(a) * (dtype == WF_C64 ? 2 : 1);
    uint64_t seed = 77;
    float *x = malloc((size_t)n * sizeof *x + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = 1 + (float)(test_random(&seed) >> 40) * 0x1p-34f * (i % 3 ? -1 : 1);
    OK(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    free(x);
    return a;
}

/* ---- recordings ---- */
typedef struct results {
    wf_array *a[4];
} results;

static wf_array *result(wf_device device, wf_dtype dtype, const wf_shape *shape)
{
    wf_array *a = wf_empty(ctx, dtype, *shape, .device = device);
    assert_non_null(a);
    return a;
}

static wf_shape kept_shape(wf_shape s, wf_axes axes)
{
    for (int d = 0; d < s.rank; ++d)
        s.dim[d] = axes >> d & 1 ? 1 : s.dim[d];
    return s;
}

/* Several at once, with initial values. */
static wf_graph *several(wf_device device, wf_array *x, wf_axes axes, results *r)
{
    const wf_shape kept = kept_shape(wf_array_shape(x), axes);
    wf_graph *g = wf_begin(ctx, .reduce = axes, .device = device);
    wf_var sum = wf_reduced(g, WF_F64, 0.1, WF_JOIN_ADD), most = wf_reduced(g, WF_F32, 0.99, WF_JOIN_MAX),
           small = wf_reduced(g, WF_I16, 5, WF_JOIN_XOR), all = wf_reduced(g, WF_BOOL, true, WF_JOIN_AND);
    wf_val v = wf_in(g, x);
    wf_inc(sum, v);
    wf_set(most, wf_max(most, v));
    wf_set(small, wf_xor(small, wf_cast(wf_mul(v, 3000), WF_I16)));
    wf_set(all, wf_and(all, wf_gt(v, 0)));
    wf_section(g, WF_SECTION_POST);
    const wf_dtype dtypes[] = { WF_F64, WF_F32, WF_I16, WF_BOOL };
    const wf_var vars[] = { sum, most, small, all };
    for (int k = 0; k < 4; ++k)
        wf_out(g, r->a[k] = result(device, dtypes[k], &kept), vars[k]);
    return g;
}

/* The place of the first largest element: a custom join, beside a built-in one. */
static wf_graph *largest(wf_device device, wf_array *x, wf_axes axes, results *r)
{
    const wf_shape shape = wf_array_shape(x), kept = kept_shape(shape, axes);
    wf_graph *g = wf_begin(ctx, .shape = shape, .reduce = axes, .device = device);
    wf_var best = wf_reduced(g, WF_F32, -1e9, WF_JOIN_CUSTOM), at = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM);
    wf_var least = wf_reduced(g, WF_F32, 0.9999, WF_JOIN_MIN);
    wf_val v = wf_in(g, x), i = wf_add(wf_mul(wf_index(g, 0), wf_extent(g, 1)), wf_index(g, 1)),
           better = wf_gt(v, best);
    wf_set(at, wf_select(better, i, at));
    wf_set(best, wf_select(better, v, best));
    wf_set(least, wf_min(least, v));
    wf_section(g, WF_SECTION_JOIN);
    better = wf_gt(wf_other(best), best);
    wf_set(at, wf_select(better, wf_other(at), at));
    wf_set(best, wf_select(better, wf_other(best), best));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, r->a[0] = result(device, WF_F32, &kept), best);
    wf_out(g, r->a[1] = result(device, WF_I64, &kept), at);
    wf_out(g, r->a[2] = result(device, WF_F32, &kept), least);
    return g;
}

static wf_graph *products(wf_device device, wf_array *x, wf_axes axes, results *r)
{
    const wf_shape kept = kept_shape(wf_array_shape(x), axes);
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_val v = wf_in(g, x), z = wf_complex(v, wf_mul(v, 1e-3));
    wf_out(g, r->a[0] = result(device, WF_C64, &kept), wf_reduce(WF_JOIN_MUL, z, axes));
    wf_out(g, r->a[1] = result(device, WF_F32, &kept), wf_reduce(WF_JOIN_ADD, v, axes));
    return g;
}

typedef wf_graph *recorder(wf_device device, wf_array *x, wf_axes axes, results *r);

/* ---- boxes of another size than plans make ---- */
/* Reduced axes cut into boxes of `size` along the innermost one; of others along the rest. */
static void cut(wf__plan *plan, int64_t size)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        int last = stage->lowered.rank - 1, inner = stage->lowered.kept_lane ? last - 1 : last;
        if (!stage->lowered.red_n || stage->empty)
            continue;
        stage->partition.boxes = stage->reduce.parts = 1;
        for (int d = 0; d <= last; ++d) {
            bool reduced = d >= stage->lowered.kept && d <= inner;
            if (reduced)
                stage->partition.box[d] = d == inner && size < stage->extent[d] ? size
                                          : d == inner                          ? stage->extent[d]
                                                                                : 1;
            int64_t n = (stage->extent[d] + stage->partition.box[d] - 1) / stage->partition.box[d];
            stage->partition.boxes *= n;
            stage->reduce.parts *= reduced ? n : 1;
        }
    }
}

static void run_cut(wf_device device, recorder *record, wf_shape shape, wf_axes axes, int64_t size, results *r)
{
    wf_array *x = noisy(device, WF_F32, shape);
    *r = (results){ { 0 } };
    wf_kernel *k = wf_compile(record(device, x, axes, r));
    assert_non_null(k);
    wf__failure f = { 0 };
    wf__plan plan;
    wf__bind bind[8];
    char *base[8];
    uint32_t n = k->program.object_n;
    assert_true(n <= 8);
    for (uint32_t i = 0; i < n; ++i) {
        wf_array *a = k->program.object[i].array;
        wf__array_bind(a, &bind[i]);
        base[i] = a->base;
    }
    assert_true(wf__plan_make(&plan, &k->program.rec, bind));
    cut(&plan, size);
    bool ok;
    if (device == WF_CPU) {
        ok = wf__cpu_run(ctx->engine, &plan, base, NULL, &(wf__limits){ 0 }, NULL, true, NULL, &f);
        wf__plan_free(&plan, wf__cpu_free_stage_code, ctx->engine);
    } else {
        wf__gpu *gpu = wf__engine_gpu(ctx->engine, 0, false, &f);
        ok = gpu && wf__gpu_run((wf__gpu_on){ .gpu = gpu }, &plan, "cut", base, NULL, &(wf__limits){ 0 }, NULL, &f) &&
             wf__gpu_finish(gpu, &f);
        wf__plan_free(&plan, wf__gpu_free_stage_code, ctx->engine);
    }
    if (!ok)
        print_error("%s\n", wf__str_get(&f.text));
    assert_true(ok);
    wf_kernel_free(k);
    wf_release(x);
}

static void same(wf_array *a, wf_array *b)
{
    void *x = contents(a), *y = contents(b);
    assert_int_equal(first_difference(wf_array_dtype(a), x, y, wf_array_count(a)), -1);
    free(x);
    free(y);
}

static void compare(recorder *record, wf_shape shape, wf_axes axes, int64_t size)
{
    results got, want;
    run_cut(WF_GPU(0), record, shape, axes, size, &got);
    run_cut(WF_CPU, record, shape, axes, size, &want);
    for (int k = 0; k < 4; ++k)
        if (want.a[k]) {
            same(got.a[k], want.a[k]);
            wf_release(got.a[k]);
            wf_release(want.a[k]);
        }
}

/* One block of threads joins up to 1024 boxes, fewer of many values; more take two launches. */
static void test_boxes(void **state)
{
    (void)state;
    static const int64_t boxes[] = { 1, 2, 3, 5, 31, 64, 257, 1000, 1025, 3001 };
    recorder *const all[] = { several, largest, products };
    for (size_t k = 0; k < 3; ++k)
        for (size_t i = k % TEST_EVERY; i < sizeof boxes / sizeof *boxes; i += TEST_EVERY)
            compare(all[k], WF_SHAPE(1, 32 * boxes[i] - 7), 3, 32);
}

/* Kept axes: a few points with many parts, many points with a few; lanes along either. */
static void test_parts(void **state)
{
    (void)state;
    static const struct {
        int64_t h, w, size;
        wf_axes axes;
    } some[] = { { 3, 1025 * 32, 32, 2 }, { 70, 500, 32, 2 }, { 300, 100, 32, 2 }, { 2600, 20, 1, 1 },
                 { 7, 1500, 2, 1 },       { 65, 33, 1, 1 },   { 5, 700, 3, 1 } };
    recorder *const all[] = { several, largest, products };
    for (size_t k = 0; k < 3; ++k)
        for (size_t i = k % TEST_EVERY; i < sizeof some / sizeof *some; i += TEST_EVERY)
            compare(all[k], WF_SHAPE(some[i].h, some[i].w), some[i].axes, some[i].size);
}

/* So many rows that a warp reduces several. */
static void test_short_rows(void **state)
{
    (void)state;
    compare(several, WF_SHAPE(8195, 13), 2, 128);
    compare(largest, WF_SHAPE(8195, 40), 2, 128);
}

/* Nothing to reduce: the initial values. */
static void test_empty(void **state)
{
    (void)state;
    for (wf_axes axes = 2; axes < 4; ++axes) {
        compare(several, WF_SHAPE(3, 0), axes, 32);
        compare(largest, WF_SHAPE(3, 0), axes, 32);
    }
}

/* ---- the driver calls of a launch ---- */
static wf__cuda real;
static struct {
    int launches, copies, waits;
} calls;

static int count_launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra)
{
    ++calls.launches;
    return real.LaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
static int count_to_host(void *to, uint64_t from, size_t bytes, void *stream)
{
    ++calls.copies;
    return real.MemcpyDtoH(to, from, bytes, stream);
}
static int count_to_device(uint64_t to, const void *from, size_t bytes, void *stream)
{
    ++calls.copies;
    return real.MemcpyHtoD(to, from, bytes, stream);
}
static int count_wait(void *stream)
{
    ++calls.waits;
    return real.StreamSynchronize(stream);
}

static void check_calls(wf_shape shape, wf_axes axes, int launches)
{
    wf_array *x = noisy(WF_GPU(0), WF_F32, shape);
    wf_shape kept = kept_shape(shape, axes);
    wf_array *sums = result(WF_GPU(0), WF_F64, &kept);
    wf__failure f = { 0 };
    wf__cuda *cuda = ctx->engine->cuda[false];
    assert_non_null(wf__engine_gpu(ctx->engine, 0, false, &f));
    real = *cuda;
    for (int turn = 0; turn < 2; ++turn) {
        memset(&calls, 0, sizeof calls);
        wf_graph *g = wf_begin(ctx, .reduce = axes);
        wf_var sum = wf_reduced(g, WF_F64, 1, WF_JOIN_ADD);
        wf_inc(sum, wf_in(g, x));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, sums, wf_mul(sum, 2));
        if (turn) { /* everything is compiled */
            cuda->LaunchKernel = count_launch;
            cuda->MemcpyDtoH = count_to_host;
            cuda->MemcpyHtoD = count_to_device;
            cuda->StreamSynchronize = count_wait;
        }
        OK(ctx, wf_run(g));
    }
    *cuda = real;
    assert_int_equal(calls.launches, launches);
    assert_int_equal(calls.copies, 0);
    assert_int_equal(calls.waits, 0);
    wf_release(x), wf_release(sums);
}

/* Several boxes or parts take one launch more than the operator, and WF_SECTION_POST another one where axes are
 * kept. */
static void test_calls(void **state)
{
    (void)state;
    check_calls(WF_SHAPE(1000), 1, 1);
    check_calls(WF_SHAPE(200, 1000), 3, 2);
    check_calls(WF_SHAPE(40, 30), 2, 2);
    check_calls(WF_SHAPE(2, 70000), 2, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes), cmocka_unit_test(test_parts), cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_empty), cmocka_unit_test(test_calls),
    };
    const char *own = getenv("WEFT_CUDA"), *emulator = getenv("WEFT_CUDA_EMU");
    if (!own && !emulator) {
        print_message("neither WEFT_CUDA nor WEFT_CUDA_EMU names a driver: nothing to test\n");
        return 0;
    }
    setenv("WEFT_CUDA", own ? own : emulator, 1);
    return cmocka_run_group_tests(tests, on_cpu, off);
}
