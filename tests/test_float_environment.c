/* test_float_environment.c - rounding direction, flushing of subnormals and unmasked traps of the calling thread change
 * no bit of a result, trap nowhere, and are as before afterwards: literals, folding of every operation, operations on
 * numbers, text, launches of every kind with several threads, functions of arrays, files.
 *
 * ctest: devices
 */
#include "ir/ir.h"
#include "on_devices.h"
#include "weft/functions.h"
#include "weft/io.h"
#include "weft/text.h"
#include <unistd.h>

/* ---- environments ---- */

#if defined(__x86_64__)
typedef struct environment {
    uint32_t mxcsr;
    uint16_t x87;
} environment;

static const environment plain = { 0x1F80, 0x37F };
static const struct {
    const char *name;
    environment set;
} environments[] = {
    { "to nearest, without past exceptions", { 0x1F80, 0x37F } },
    { "to nearest, with past exceptions", { 0x1FBF, 0x37F } },
    { "flushed subnormals", { 0x9FC0, 0x37F } },
    { "downwards", { 0x3F80, 0x77F } },
    { "upwards", { 0x5F80, 0xB7F } },
    { "towards zero, x87 in f32", { 0x7F80, 0xC7F } },
    { "all traps", { 0x0000, 0x340 } },
    { "traps, upwards, flushed", { 0xC040, 0xB40 } },
};

static inline void set_environment(environment e)
{
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(e.mxcsr), "m"(e.x87) : "memory");
}

static inline environment get_environment(void)
{
    environment e;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(e.mxcsr), "=m"(e.x87) : : "memory");
    return e;
}

static bool same_environment(environment a, environment b) { return a.mxcsr == b.mxcsr && a.x87 == b.x87; }
#elif defined(__aarch64__)
typedef uint64_t environment;
static const environment plain = 0;
static const struct {
    const char *name;
    environment set;
} environments[] = {
    { "flushed subnormals, default NaN", 3u << 24 },
    { "upwards", 1u << 22 },
    { "downwards", 2u << 22 },
    { "towards zero", 3u << 22 },
    { "traps, where the processor has them", 0x9f00 },
};

static inline void set_environment(environment e) { __asm__ volatile("msr fpcr, %0" : : "r"(e) : "memory"); }

static inline environment get_environment(void)
{
    environment e;
    __asm__ volatile("mrs %0, fpcr" : "=r"(e) : : "memory");
    return e;
}

static bool same_environment(environment a, environment b) { return a == b; }
#else
#include <fenv.h>
typedef int environment;
static const environment plain = FE_TONEAREST;
static const struct {
    const char *name;
    environment set;
} environments[] = { { "upwards", FE_UPWARD }, { "downwards", FE_DOWNWARD }, { "towards zero", FE_TOWARDZERO } };
static inline void set_environment(environment e) { fesetround(e); }
static inline environment get_environment(void) { return fegetround(); }
static bool same_environment(environment a, environment b) { return a == b; }
#endif
enum { ENVIRONMENTS = sizeof environments / sizeof *environments };

/* ---- results, as bytes ---- */

typedef struct bytes {
    char *at;
    size_t n, cap;
} bytes;

static void put(bytes *b, const void *at, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n);
        b->at = realloc(b->at, b->cap);
    }
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

/* Appends the elements and releases the array. NULL: appends the status. */
static void put_array(bytes *b, wf_context *own, wf_array *a)
{
    wf_status status = wf_last_status(own);
    size_t n = a ? (size_t)wf_array_count(a) * wf_dtype_size(wf_array_dtype(a)) : 0;
    void *data = malloc(n + 1);
    if (a)
        status = wf_download(a, data, n);
    put(b, &status, sizeof status);
    put(b, data, n);
    free(data);
    wf_release(a);
}

typedef void work(bytes *out);

/* Runs the work in each environment. */
static void compare(work *of, const char *what)
{
    bytes want = { 0 };
    of(&want);
    assert_true(want.n > 0);
    for (int i = 0; i < ENVIRONMENTS; ++i) {
        bytes got = { 0 };
        set_environment(environments[i].set);
        of(&got);
        environment after = get_environment();
        set_environment(plain);
        if (!same_environment(after, environments[i].set))
            fail_msg("%s: the environment \"%s\" is another one afterwards", what, environments[i].name);
        size_t at = 0;
        while (at < got.n && at < want.n && got.at[at] == want.at[at])
            ++at;
        if (got.n != want.n || at != got.n)
            fail_msg("%s: other results in the environment \"%s\", from byte %zu of %zu on", what, environments[i].name,
                     at, want.n);
        free(got.at);
    }
    free(want.at);
}

/* ---- recording ---- */

/* Numbers whose conversions and operations are inexact, subnormal or exceptional. */
static const double numbers[] = { 0.1,  -1.0 / 3, 1e-40,    -1e-310, 4e-324,   1e300, 16777217,    0x1.fffffefp127,
                                  0.0,  -0.0,     1,        -2.5,    0x1p-126, 3e-39, 65519.99,    1.00048828125,
                                  7e-8, 255.5,    INFINITY, NAN,     1e19,     -0.75, 0x1.8p-1074, 123456.789 };
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void put_constant(bytes *out, const wf__ir *ir, wf__ref r)
{
    uint64_t bits = r && ir->node[r].op == WF__CONST ? wf__bits(&ir->node[r]) : r != 0;
    put(out, &bits, sizeof bits);
}

static const bool is_operation[WF__OP_COUNT] = {
#define WF_OP(name, ...) [WF__OP_##name] = true,
#include "ir/ops.def"
#undef WF_OP
};

static void fold_all(bytes *out)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_F16, WF_BF16, WF_I32, WF_U64 };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
        wf__ir ir;
        wf__ref c[NUMBERS];
        unsigned t = dtypes[d];
        wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
        for (int i = 0; i < NUMBERS; ++i)
            put_constant(out, &ir, c[i] = wf__const_f64(&ir, t, numbers[i]));
        for (unsigned op = 0; op < WF__OP_COUNT; ++op) {
            const wf__op_info *info = &wf__op_table[op];
            if (!is_operation[op] || !wf__op_allows(op, t) || wf__op_is_parts(op) || info->types == WF__T_FIRST_BOOL ||
                info->types == WF__T_CPLX)
                continue;
            for (int i = 0; i < NUMBERS; ++i)
                for (int k = 0; k < (info->arity > 1 ? NUMBERS : 1); k += 1 + (info->arity > 2)) {
                    wf__ref r = info->arity == 1   ? wf__op1(&ir, op, c[i])
                                : info->arity == 2 ? wf__op2(&ir, op, c[i], c[k])
                                                   : wf__op3(&ir, op, c[i], c[k], c[(i + k) % NUMBERS]);
                    put_constant(out, &ir, r);
                }
        }
        for (size_t to = 0; to < sizeof dtypes / sizeof *dtypes; ++to)
            for (int i = 0; i < NUMBERS; ++i)
                put_constant(out, &ir, wf__cast(&ir, c[i], dtypes[to]));
        wf__ir_free(&ir);
    }
}

/* Operations on numbers, which belong to no recording. */
static void fold_numbers(bytes *out)
{
    static wf_val (*const one[])(wf_val) = { (wf_sqrt),   (wf_exp),     (wf_sin),  (wf_rcp),
                                             (wf_lgamma), (wf_digamma), (wf_floor) };
    static wf_val (*const two[])(wf_val, wf_val) = { (wf_add), (wf_mul), (wf_div), (wf_pow), (wf_mod), (wf_hypot) };
    for (int i = 0; i < NUMBERS; ++i) {
        wf_val a = { { numbers[i], NULL } };
        for (size_t f = 0; f < sizeof one / sizeof *one; ++f) {
            wf_val r = one[f](a);
            put(out, &r.h.num, sizeof r.h.num);
        }
        for (int k = 0; k < NUMBERS; ++k)
            for (size_t f = 0; f < sizeof two / sizeof *two; ++f) {
                wf_val r = two[f](a, (wf_val){ { numbers[k], NULL } });
                put(out, &r.h.num, sizeof r.h.num);
            }
        for (int t = WF_BOOL; t <= WF_F64; ++t) {
            bool fits = wf_number_fits(numbers[i], (wf_dtype)t);
            put(out, &fits, sizeof fits);
        }
    }
}

static void test_folding(void **state)
{
    (void)state;
    compare(fold_all, "folding");
    compare(fold_numbers, "operations on numbers");
}

/* ---- launches: every context is made in the environment, its threads too ---- */

enum { SMALL = 400, LARGE = 300000 };
static float *data; /* LARGE numbers of every kind */

static wf_array *given(wf_context *own, int64_t n)
{
    wf_array *a = wf_empty(own, WF_F32, WF_SHAPE(n));
    wf_upload(a, data, (size_t)n * sizeof *data);
    return a;
}

static wf_context *new_context(int threads)
{
    return wf_context_new(&(wf_config){ .size = sizeof(wf_config),
                                        .device = wf_context_device(ctx),
                                        .threads = threads,
                                        .flags_on = WF_FLAG_NO_DISK_CACHE | (threads > 1 ? WF_FLAG_HISTORY : 0u),
                                        .flags_off = WF_FLAG_TIERED });
}

static void launch_all(bytes *out)
{
    wf_context *own = new_context(3);
    int64_t n = wf_context_device(own) == WF_CPU ? LARGE : SMALL;
    wf_array *x = given(own, n), *y = wf_empty(own, WF_F32, WF_SHAPE(n));
    wf_graph *g = wf_begin(own);
    wf_val v = wf_in(g, x);
    wf_out(g, y, wf_add(wf_mul(wf_exp(v), 0.1), wf_div(wf_sqrt(wf_abs(v)), wf_add(v, 3.3))));
    wf_array *sum = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(v, 1e-3), WF_ALL_AXES)),
             *wide = wf_keep(wf_cast(wf_mul(wf_cast(v, WF_F64), 1e-30), WF_F32)),
             *half = wf_keep(wf_cast(wf_mul(v, 0.3), WF_F16)),
             *scan = wf_keep(wf_scan(WF_JOIN_ADD, wf_mul(v, 0.1), 0, false, false));
    wf_run(g);
    put_array(out, own, y);
    put_array(out, own, sum);
    put_array(out, own, wide);
    put_array(out, own, half);
    put_array(out, own, scan);
    wf_release(x);
    wf_context_free(own);
}

/* A prepared kernel with a parameter: the first launch, and those that the kernel has noted; a frozen sequence. */
static void launch_prepared(bytes *out)
{
    wf_context *own = new_context(1);
    wf_array *x = given(own, SMALL), *y = wf_empty(own, WF_F32, WF_SHAPE(SMALL));
    wf_graph *g = wf_begin(own);
    wf_array *to = wf_formal(g, "y", WF_F32, 1), *from = wf_formal(g, "x", WF_F32, 1);
    wf_out(g, to, wf_mul(wf_in(g, from), wf_param(g, "by", WF_F32, 0.1)));
    wf_kernel *k = wf_compile(g);
    for (int i = 0; i < 4; ++i) {
        wf_launch(k, WF_ARGS(WF_ARG("y", y), WF_ARG("x", x), WF_ARG("by", i < 2 ? 0.3 : 1e-12)));
        put_array(out, own, wf_retain(y));
    }
    wf_freeze_begin(own, WF_ARRAYS(x));
    wf_launch(k, WF_ARGS(WF_ARG("y", y), WF_ARG("x", x), WF_ARG("by", 0.7)));
    wf_frozen *f = wf_freeze_end(own);
    for (int i = 0; i < 3; ++i) {
        wf_status status = f ? wf_frozen_replay(f, WF_ARRAYS(x)) : WF_ERR_ARG;
        put(out, &status, sizeof status);
        put_array(out, own, wf_retain(y));
    }
    wf_frozen_free(f);
    wf_stream *s = wf_stream_new(own, 0);
    wf_event *begun = wf_event_record(s);
    double seconds = 0;
    wf_launch(k, WF_ARGS(WF_ARG("y", y), WF_ARG("x", x), WF_ARG("by", 0.9)), .stream = s);
    wf_event *done = wf_event_record(s);
    wf_stream_sync(s);
    wf_status timed = wf_event_elapsed(begun, done, &seconds);
    put(out, &timed, sizeof timed);
    wf_event_free(begun);
    wf_event_free(done);
    put_array(out, own, wf_retain(y));
    wf_stream_free(s);
    wf_kernel_free(k);
    wf_release(x);
    wf_release(y);
    wf_context_free(own);
}

static void launch_text(bytes *out)
{
    static const char *const texts[] = {
        "v = a*0.1 + 1e-40",
        "v = f64(a)*1e-310/3 + 0.123456789012345678901234567890",
        "v = (a - mean(a))/std(a)",
        "v = 1/3*a + 2**0.3 + (7/3 - 1e-320)*a",
    };
    wf_context *own = new_context(1);
    wf_array *a = given(own, SMALL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        const char *want[] = { "v" };
        wf_array *v = NULL;
        wf_text_create(own, texts[i], WF_ARGS(WF_ARG("a", a)), 0, want, 1, &v);
        put_array(out, own, v);
    }
    wf_release(a);
    wf_context_free(own);
}

/* Derivatives, whose rules have constants that are computed: series with quotients of whole numbers. */
static void launch_derivatives(bytes *out)
{
    wf_context *own = new_context(1);
    const double at[4] = { 0.01, -0.1, 0.15, 0.2 };
    wf_array *x = array_of(own, WF_F64, WF_SHAPE(4), at);
    wf_graph *g = wf_begin(own);
    wf_val v = wf_in(g, x), sinc, bessel;
    wf_vjp(WF_VALS(wf_sinc(v)), WF_VALS(1.0 / 3), WF_VALS(v), &sinc);
    wf_jvp(WF_VALS(wf_j1(v)), WF_VALS(v), WF_VALS(0.1), &bessel);
    wf_array *a = wf_keep(sinc), *b = wf_keep(bessel);
    wf_run(g);
    put_array(out, own, a);
    put_array(out, own, b);
    wf_release(x);
    wf_context_free(own);
}

static void test_launches(void **state)
{
    (void)state;
    compare(launch_all, "launches");
    compare(launch_prepared, "prepared kernels");
    compare(launch_text, "text");
    compare(launch_derivatives, "derivatives");
}

/* ---- functions of arrays, files ---- */

static void call_functions(bytes *out)
{
    wf_context *own = new_context(1);
    wf_array *a = given(own, SMALL), *square = wf_view_reshape(a, WF_SHAPE(20, 20)), *r[5];
    double step = 0;
    put_array(out, own, wf_full(own, WF_F32, WF_SHAPE(3), 0.1));
    put_array(out, own, wf_full(own, WF_F32, WF_SHAPE(3), 1e-41));
    put_array(out, own, wf_array_linspace(own, WF_F64, 7, 0.1, 1e-3, true, &step));
    put(out, &step, sizeof step);
    put_array(out, own, wf_array_arange(own, WF_F32, 9, 0.1, 0.7));
    put_array(out, own, wf_array_variance(a, WF_ALL_AXES, 0.3));
    put_array(out, own, wf_array_stddev(a, WF_ALL_AXES, 1));
    put_array(out, own, wf_array_mean(a, WF_ALL_AXES));
    put_array(out, own, wf_array_quantiles(a, (const double[]){ 0.1, 1.0 / 3, 0.77 }, 3, WF_ALL_AXES));
    put_array(out, own, wf_array_matmul(square, square));
    put_array(out, own, wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES));
    wf_random random = { .seed = 7 };
    for (int i = 0; i < 5; ++i)
        r[i] = wf_empty(own, i == 3 ? WF_I32 : i == 4 ? WF_F64 : WF_F32, WF_SHAPE(SMALL));
    wf_array_random_uniform(r[0], random, 0.1, 0.7);
    wf_array_random_normal(r[1], random, 0.1, 0.3);
    wf_array_random_lognormal(r[2], random, 0.1, 0.3);
    wf_array_random_poisson(r[3], random, 17.3);
    wf_array_random_uniform(r[4], random, -0.1, 1e-3);
    for (int i = 0; i < 5; ++i)
        put_array(out, own, r[i]);
    wf_release(square);
    wf_release(a);
    wf_context_free(own);
}

static void save_files(bytes *out)
{
    static const char *const names[] = { "environment.mrc", "environment.npy" };
    static const wf_stored types[] = { WF_STORED_F16, WF_STORED_U8, WF_STORED_F32 };
    wf_context *own = new_context(1);
    wf_array *a = given(own, SMALL), *b = wf_array_cast(a, WF_F64), *square = wf_view_reshape(b, WF_SHAPE(20, 20));
    for (int f = 0; f < 2; ++f)
        for (int t = 0; t < 3; ++t) {
            wf_meta meta = { .size = sizeof meta, .store_as = types[t], .spacing = { 0.1, 0.3, 0.7 } };
            char head[4096];
            wf_save(square, names[f], &meta);
            FILE *file = fopen(names[f], "rb");
            put(out, head, file ? fread(head, 1, sizeof head, file) : 0);
            if (file)
                fclose(file);
            put_array(out, own, wf_load(own, names[f], &meta));
            put(out, meta.spacing, sizeof meta.spacing);
            unlink(names[f]);
        }
    wf_release(square);
    wf_release(a);
    wf_release(b);
    wf_context_free(own);
}

static void test_library(void **state)
{
    (void)state;
    compare(call_functions, "functions");
    compare(save_files, "files");
}

int main(void)
{
    data = malloc(LARGE * sizeof *data);
    if (!data)
        return 1;
    for (int i = 0; i < LARGE; ++i) /* no infinities: sums stay numbers */
        data[i] = i % 7 == 0 ? (float)numbers[i / 7 % 16] / 65536 : (float)((i % 20011 * 7919) % 20011) * 1e-3f - 8;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_folding), cmocka_unit_test(test_launches),
                                        cmocka_unit_test(test_library) };
    int failed = RUN_ON_ALL(tests);
    free(data);
    return failed;
}
