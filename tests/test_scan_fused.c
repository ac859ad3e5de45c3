/* test_scan_fused.c - scans that compute their input, and later operations on their results, on every device: the bits
 * of the interpreter for any dtype, join, axis, direction and shape. Where a GPU does these operations in the kernels
 * of the scan, the test counts the kernels.
 *
 * ctest: devices
 */
#include "launch/launch.h"
#include "on_devices.h"
#include "ptxas.h"
#include "weft/functions.h"

/* ---- inputs of scans ---- */
typedef struct inputs { /* x and y: [shape]; row: [last extent]; column: extent 1 along the axis; order: of the row */
    wf_array *x, *y, *row, *column, *order;
    int axis;
} inputs;

enum { FORMS = 8, USES = 6, MOST = 20000 };

static wf_val gathered(wf_graph *g, const inputs *in)
{
    wf_shape shape = wf_array_shape(in->x);
    wf_val at[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        at[d] = d + 1 == shape.rank ? wf_in(g, in->order) : wf_iota(g, shape, d);
    return wf_gather_n(wf_in(g, in->x), (wf_vals){ at, (size_t)shape.rank });
}

static wf_val value(wf_graph *g, const inputs *in, int form)
{
    wf_shape shape = wf_array_shape(in->x);
    wf_val x = wf_in(g, in->x);
    bool truth = wf_array_dtype(in->x) == WF_BOOL;
    switch (form) {
    case 0: /* several inputs */
        return truth ? wf_xor(x, wf_in(g, in->row)) : wf_add(wf_mul(x, x), wf_in(g, in->row));
    case 1: /* mixed dtypes, an index, and a parameter */
        x = wf_add(wf_mul(wf_cast(x, WF_F32), wf_param(g, "by", WF_F32, 0.25)),
                   wf_cast(wf_iota(g, shape, in->axis), WF_F32));
        return wf_cast(wf_ge(x, 3), wf_array_dtype(in->x));
    case 2: /* read by index */
        return gathered(g, in);
    case 3: /* from the other end, and as it is */
        return wf_select(wf_in(g, in->column), wf_reverse(x, in->axis), x);
    case 4: /* the same all along the axis */
        return wf_max(wf_cast(x, WF_I32), wf_cast(wf_not(wf_in(g, in->column)), WF_I32));
    case 5: /* in other shapes */
        x = wf_reshape(x, WF_SHAPE(wf_array_count(in->x)));
        return wf_reshape(wf_select(wf_eq(x, wf_reverse(x, 0)), x, wf_cast(1, wf_array_dtype(in->x))), shape);
    case 6: /* of another dtype */
        return wf_cast(wf_in(g, in->y), WF_F16);
    default: /* stored first, as it is costly */
        x = wf_in(g, in->y);
        for (int i = 0; i < 5; ++i)
            x = wf_exp(wf_neg(x));
        return x;
    }
}

/* ---- uses of results ---- */
static void use(wf_graph *g, const inputs *in, wf_val v, wf_val s, int form, wf_array *out[2])
{
    wf_dtype t = wf_val_dtype(s);
    wf_shape shape = wf_array_shape(in->x);
    wf_val at[WF_MAX_RANK];
    out[0] = out[1] = NULL;
    switch (form) {
    case 0:
        out[0] = wf_keep(s);
        break;
    case 1:
        out[0] = wf_keep(wf_exp(wf_mul(wf_cast(s, WF_F64), 0.01)));
        break;
    case 2: /* itself, too */
        out[0] = wf_keep(s);
        out[1] = wf_keep(wf_sub(wf_cast(s, WF_F32), wf_cast(v, WF_F32)));
        break;
    case 3: /* by index: the same array from its end */
        out[0] = wf_full(wf_array_context(in->x), t, shape, 0);
        for (int d = 0; d < shape.rank; ++d)
            at[d] = wf_sub((double)(shape.dim[d] - 1), wf_iota(g, shape, d));
        wf_write_n(g, out[0], s, (wf_vals){ at, (size_t)shape.rank });
        break;
    case 4: /* into the array that is scanned */
        wf_out(g, in->y, wf_cast(wf_add(wf_cast(s, WF_F32), wf_in(g, in->y)), WF_F32));
        out[0] = wf_keep(wf_select(wf_in(g, in->column), wf_cast(s, WF_F64), 1));
        break;
    default: /* at other places */
        out[0] = wf_keep(wf_reverse(s, in->axis));
        break;
    }
}

/* ---- on the device and by the interpreter ---- */
typedef struct scan_case {
    wf_shape shape;
    wf_dtype dtype;
    wf_join join;
    int axis, form, use;
    bool exclusive, reversed, fast;
} scan_case;

static wf_array *numbers(wf_context *c, wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    static double x[MOST];
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; ++i)
        x[i] = (double)(test_random(&seed) >> 61) * (dtype >= WF_F16 ? 0.37 : 1) - (dtype == WF_F64 ? 1 : 0);
    wf_array *wide = array_of(c, WF_F64, shape, x), *a = wf_array_cast(wide, dtype);
    wf_release(wide);
    return a;
}

static inputs inputs_of(wf_context *c, const scan_case *k)
{
    wf_shape row = { .rank = 1, .dim = { k->shape.dim[k->shape.rank - 1] } }, column = k->shape;
    static int64_t order[MOST];
    for (int64_t i = 0; i < row.dim[0]; ++i)
        order[i] = (i * 5 + 3) % row.dim[0];
    column.dim[k->axis] = 1;
    return (inputs){ .x = numbers(c, k->dtype, k->shape, 1),
                     .y = numbers(c, WF_F32, k->shape, 2),
                     .row = numbers(c, k->dtype, row, 3),
                     .column = numbers(c, WF_BOOL, column, 4),
                     .order = array_of(c, WF_I64, row, order),
                     .axis = k->axis };
}

typedef struct results {
    inputs in;
    wf_array *out[2];
} results;

static results computed(wf_context *c, const scan_case *k)
{
    results r = { .in = inputs_of(c, k) };
    wf_graph *g = wf_begin(c, .flags_on = k->fast ? WF_FLAG_FAST_MATH : 0);
    wf_val v = value(g, &r.in, k->form);
    use(g, &r.in, v, wf_scan(k->join, v, k->axis, k->exclusive, k->reversed), k->use, r.out);
    OK(c, wf_run(g));
    return r;
}

static void release(results *r)
{
    wf_array *all[] = { r->in.x, r->in.y, r->in.row, r->in.column, r->in.order, r->out[0], r->out[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void expect_same(wf_array *got, wf_array *want, const scan_case *k)
{
    wf_dtype t = wf_array_dtype(want);
    char *p = contents(got), *q = contents(want);
    int64_t at = first_difference(t, p, q, wf_array_count(want));
    if (at >= 0)
        fail_msg("%s, join %d, axis %d of %d (%lld, ...), form %d, use %d%s%s: element %lld", wf_dtype_name(k->dtype),
                 k->join, k->axis, k->shape.rank, (long long)k->shape.dim[0], k->form, k->use,
                 k->exclusive ? ", exclusive" : "", k->reversed ? ", reversed" : "", (long long)at);
    free(p), free(q);
}

static void check(wf_context *oracle, const scan_case *k)
{
    results got = computed(ctx, k), want = computed(oracle, k);
    expect_same(got.in.y, want.in.y, k);
    for (int i = 0; i < 2 && want.out[i]; ++i)
        expect_same(got.out[i], want.out[i], k);
    release(&got), release(&want);
}

/* True if the scan is defined. Values have the dtype of x, or that of their form. */
static bool is_defined(const scan_case *k)
{
    wf_dtype t = k->form == 4 ? WF_I32 : k->form == 6 ? WF_F16 : k->form == 7 ? WF_F32 : k->dtype;
    bool bits = k->join >= WF_JOIN_AND && k->join <= WF_JOIN_XOR,
         order = k->join == WF_JOIN_MIN || k->join == WF_JOIN_MAX;
    bool values = k->form != 4 || k->dtype < WF_F16 || k->dtype == WF_F32 || k->dtype == WF_F64;
    return values && !(bits && t >= WF_F16) && !(order && t == WF_BOOL) && !(k->form == 2 && !k->shape.dim[0]);
}

static const wf_shape shapes[] = { { .rank = 1, .dim = { 1 } },         { .rank = 1, .dim = { 7 } },
                                   { .rank = 1, .dim = { 8 } },         { .rank = 1, .dim = { 37 } },
                                   { .rank = 1, .dim = { 0 } },         { .rank = 2, .dim = { 3, 5 } },
                                   { .rank = 2, .dim = { 3, 24 } },     { .rank = 2, .dim = { 300, 3 } },
                                   { .rank = 3, .dim = { 2, 7, 19 } },  { .rank = 3, .dim = { 4, 16, 1 } },
                                   { .rank = 2, .dim = { 0, 4 } },      { .rank = 3, .dim = { 1, 140, 2 } },
                                   { .rank = 4, .dim = { 2, 1, 9, 3 } } };

static void every_dtype(void **state)
{
    (void)state;
    wf_context *oracle = test_context(WF_INTERP, 1);
    unsigned n = 0, done = 0;
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (wf_join join = WF_JOIN_ADD; join <= WF_JOIN_XOR; join = (wf_join)(join + 1))
            for (int form = 0; form < FORMS; ++form)
                for (int how = 0; how < 4; ++how) {
                    wf_shape shape = shapes[++n % (sizeof shapes / sizeof *shapes)];
                    scan_case k = { .shape = shape,
                                    .dtype = test_dtypes[t],
                                    .join = join,
                                    .axis = (int)(n / 3 % (unsigned)shape.rank),
                                    .form = form,
                                    .use = (int)(n / 2 % USES),
                                    .exclusive = how & 1,
                                    .reversed = how & 2,
                                    .fast = n % 5 == 0 };
                    if (is_defined(&k) && ++done % TEST_EVERY == 0)
                        check(oracle, &k);
                }
    wf_context_free(oracle);
}

/* Every shape, axis, form and use, of the dtypes that are joined in others, or round. */
static void every_shape(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F32, WF_U8, WF_F16 };
    wf_context *oracle = test_context(WF_INTERP, 1);
    unsigned n = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int axis = 0; axis < shapes[s].rank; ++axis)
            for (int form = 0; form < FORMS; ++form)
                for (int use = 0; use < USES; ++use) {
                    scan_case k = { .shape = shapes[s],
                                    .dtype = dtypes[n % 3],
                                    .join = WF_JOIN_ADD,
                                    .axis = axis,
                                    .form = form,
                                    .use = use,
                                    .exclusive = n & 1,
                                    .reversed = n & 2 };
                    if (is_defined(&k) && n++ % TEST_EVERY == 0)
                        check(oracle, &k);
                }
    wf_context_free(oracle);
}

/* Several parts of a row, and an incomplete last group. */
static void long_rows(void **state)
{
    (void)state;
    wf_context *oracle = test_context(WF_INTERP, 1);
    for (int how = 0; how < FORMS; ++how) {
        scan_case k = { .shape = WF_SHAPE(16403),
                        .dtype = WF_F32,
                        .join = WF_JOIN_ADD,
                        .form = how,
                        .use = how % USES,
                        .exclusive = how & 1,
                        .reversed = how & 2 };
        check(oracle, &k);
    }
    wf_context_free(oracle);
}

/* ---- how many kernels ---- */
typedef wf_val value_fn(wf_graph *g, const wf_array *a, const wf_array *b);
typedef wf_val use_fn(wf_val s);

static wf_val itself(wf_graph *g, const wf_array *a, const wf_array *b) { return (void)b, wf_in(g, a); }
static wf_val squares(wf_graph *g, const wf_array *a, const wf_array *b)
{
    return wf_add(wf_mul(wf_in(g, a), wf_in(g, a)), wf_in(g, b));
}
static wf_val differences(wf_graph *g, const wf_array *a, const wf_array *b)
{
    return wf_sub(wf_in(g, a), wf_reverse(wf_in(g, b), 0));
}
static wf_val by_index(wf_graph *g, const wf_array *a, const wf_array *b)
{
    wf_val at[] = { wf_cast(wf_in(g, b), WF_I64), wf_iota(g, wf_array_shape(a), 1) };
    return wf_gather_n(wf_in(g, a), (wf_vals){ at, 2 });
}
static wf_val costly(wf_graph *g, const wf_array *a, const wf_array *b)
{
    wf_val v = wf_in(g, a);
    (void)b;
    for (int i = 0; i < 5; ++i)
        v = wf_exp(wf_sub(v, i));
    return v;
}
static wf_val three(wf_graph *g, const wf_array *a, const wf_array *b)
{
    return wf_add(squares(g, a, b), wf_cast(wf_mul(wf_in(g, a), 0.5), WF_F64));
}
static wf_val turned(wf_graph *g, const wf_array *a, const wf_array *b)
{
    return wf_permute(squares(g, a, b), (const int[]){ 1, 0 });
}
static wf_val small(wf_graph *g, const wf_array *a, const wf_array *b)
{
    (void)b;
    return wf_cast(wf_gt(wf_in(g, a), 0.5), WF_BOOL);
}

static wf_val as_is(wf_val s) { return s; }
static wf_val log_of(wf_val s) { return wf_log(s); }
static wf_val turned_round(wf_val s) { return wf_reverse(s, 1); }
static wf_val costly_use(wf_val s)
{
    for (int i = 0; i < 5; ++i)
        s = wf_exp(wf_neg(s));
    return s;
}
static wf_val in_order(wf_val s) { return wf_sub(wf_mul(s, 2), wf_scan(WF_JOIN_MAX, wf_mul(s, 3), 1, false, true)); }

typedef struct count_case {
    value_fn *value;
    use_fn *use;
    wf_join join;
    bool keep, debug;
    int more; /* kernels than a scan of an array has */
} count_case;

/* Returns the planned kernels of a recording as text, without running it; the caller frees it. */
static char *planned(wf_graph *g)
{
    size_t n = 0;
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, NULL, 0, &n));
    char *text = malloc(n + 1);
    assert_non_null(text);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, n + 1, &n));
    wf_kernel_free(k);
    return text;
}

static int stages_of(const count_case *c, int64_t h, int64_t w)
{
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(h, w)), *b = wf_empty(ctx, WF_F32, WF_SHAPE(h, w));
    wf_graph *g = wf_begin(ctx, .flags_on = c->debug ? WF_FLAG_DEBUG : 0);
    wf_val s = wf_scan(c->join, c->value(g, a, b), 1, false, false);
    wf_array *r = wf_keep(c->use(s)), *kept = c->keep ? wf_keep(s) : NULL;
    char *text = planned(g);
    const char *of = strstr(text, "# stage 1 of ");
    int stages = of ? atoi(of + strlen("# stage 1 of ")) : 0;
    free(text);
    wf_release(a), wf_release(b), wf_release(r), wf_release(kept);
    return stages;
}

static void expect_counts(const count_case *cases, size_t n, int64_t h, int64_t w)
{
    for (size_t i = 0; i < n && is_on_gpu(); ++i) {
        count_case plain = { itself, as_is, WF_JOIN_ADD, false, false, 0 };
        int got = stages_of(&cases[i], h, w), alone = stages_of(&plain, h, w);
        if (got != alone + cases[i].more)
            fail_msg("case %d of (%lld, %lld): %d kernels, %d of an array", (int)i, (long long)h, (long long)w, got,
                     alone);
    }
}

/* Few elements: the cost is that of another kernel. */
static void counts_of_few(void **state)
{
    (void)state;
    static const count_case cases[] = {
        { turned, log_of, WF_JOIN_ADD, false, false, 0 },
        { squares, as_is, WF_JOIN_ADD, false, false, 0 },
        { differences, as_is, WF_JOIN_ADD, false, false, 0 },
        { by_index, as_is, WF_JOIN_ADD, false, false, 0 },
        { itself, log_of, WF_JOIN_ADD, false, false, 0 },
        { itself, log_of, WF_JOIN_ADD, true, false, 0 },
        { three, log_of, WF_JOIN_MAX, true, false, 0 },
        { squares, turned_round, WF_JOIN_ADD, false, false, 1 },
        { costly, as_is, WF_JOIN_ADD, false, false, 1 },
        { itself, costly_use, WF_JOIN_ADD, false, false, 1 },
        { costly, costly_use, WF_JOIN_ADD, false, false, 2 },
        { squares, log_of, WF_JOIN_ADD, false, true, 2 }, /* debug mode names the points of each */
    };
    expect_counts(cases, sizeof cases / sizeof *cases, 24, 24);
    expect_counts(cases + 1, sizeof cases / sizeof *cases - 1, 3, 40000);
}

/* Many elements: fused where reading and computing again costs less than one write and two reads. */
static void counts_of_many(void **state)
{
    (void)state;
    static const count_case cases[] = {
        { squares, as_is, WF_JOIN_ADD, false, false, 0 },  { differences, as_is, WF_JOIN_ADD, false, false, 0 },
        { three, as_is, WF_JOIN_ADD, false, false, 0 },    { turned, as_is, WF_JOIN_ADD, false, false, 1 },
        { by_index, as_is, WF_JOIN_ADD, false, false, 1 }, { small, as_is, WF_JOIN_OR, false, false, 1 },
        { squares, log_of, WF_JOIN_ADD, false, false, 0 }, { by_index, log_of, WF_JOIN_ADD, false, false, 1 },
    };
    expect_counts(cases, sizeof cases / sizeof *cases, 2048, 2048);
}

/* A value that another kernel computes anyway is stored by that kernel, if computing it twice more costs more. */
static void shared_values(void **state)
{
    (void)state;
    enum { SIDE = 2048 };
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(SIDE, SIDE)), *b = wf_empty(ctx, WF_F32, WF_SHAPE(SIDE, SIDE));
    for (int shared = 0; shared < 2 && is_on_gpu(); ++shared) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = squares(g, a, b);
        wf_array *s = wf_keep(wf_scan(WF_JOIN_ADD, v, 1, false, false)), *own = shared ? wf_keep(wf_neg(v)) : NULL;
        char *text = planned(g);
        int products = 0;
        for (const char *at = text; (at = strstr(at, "= mul f32")); ++at)
            ++products;
        free(text);
        if (shared ? products != 2 : products < 16) /* of one kernel, after two passes; or of groups of eight */
            fail_msg("%d products in the kernels, shared %d", products, shared);
        wf_release(s), wf_release(own);
    }
    wf_release(a), wf_release(b);
}

/* Neither a computed input nor a result without other use takes memory. */
static void memory(void **state)
{
    (void)state;
    enum { N = 4000 };
    if (!is_on_gpu())
        skip();
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(N), 0.5), *r = wf_empty(ctx, WF_F32, WF_SHAPE(N));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, r, wf_mul(wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 2), 0, false, false), 2));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    const wf__plan *plan = &k->last->plan;
    int64_t bytes = 0;
    for (uint32_t t = 0; t < plan->temp_n; ++t)
        bytes += plan->temp[t].no_storage ? 0 : plan->temp[t].shape.dim[0] * wf__size(plan->temp[t].dtype);
    assert_int_equal(bytes, (N / 8 + 1) * 8 + 8); /* of groups, and of the one part */
    LINEAR(r, 2, 2);
    wf_kernel_free(k);
    wf_release(a);
}

/* The kernels that ran, and the effects that were left out, are in the history. */
static void history(void **state)
{
    (void)state;
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(40), 0.5), *r = wf_empty(ctx, WF_F32, WF_SHAPE(40));
    wf_history(ctx, info, 16);
    wf_graph *g = wf_begin(ctx);
    wf_val s = wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 2), 0, false, false);
    wf_out(g, r, wf_add(s, 1));
    wf_out(g, r, wf_add(s, 2));
    OK(ctx, wf_run(g));
    size_t n = wf_history(ctx, info, 16);
    uint32_t hidden = 0;
    for (size_t k = 0; k < n; ++k)
        hidden += info[k].hidden;
    assert_int_equal(hidden, 1);
    assert_int_equal(n, 3); /* of groups, of parts, of elements; or what is scanned, the scan, what follows */
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    LINEAR(r, 1, 3);
    wf_release(a);
}

/* A scan of a scan, beside another use of the first one: each is computed in the kernels of the next. */
static void scans_of_scans(void **state)
{
    (void)state;
    enum { H = 3, W = 50 };
    float x[H][W];
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j)
            x[i][j] = (float)((i * 31 + j * 7) % 11 - 5);
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), x);
    wf_graph *g = wf_begin(ctx);
    wf_array *r = wf_keep(in_order(wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 2), 1, false, false)));
    OK(ctx, wf_run(g));
    float *got = contents(r);
    for (int i = 0; i < H; ++i) {
        float sum[W], most = -INFINITY;
        for (int j = 0; j < W; ++j)
            sum[j] = 2 * x[i][j] + (j ? sum[j - 1] : 0);
        for (int j = W; j-- > 0;) {
            most = fmaxf(most, 3 * sum[j]);
            assert_true(got[i * W + j] == 2 * sum[j] - most);
        }
    }
    free(got);
    wf_release(a), wf_release(r);
}

/* Arrays that overlap what is read: what another thread reads later must not be written before. */
static void overlapping(void **state)
{
    (void)state;
    enum { N = 100 };
    float x[N];
    for (int how = 0; how < 3; ++how) {
        for (int i = 0; i < N; ++i)
            x[i] = (float)(i % 9);
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), x), *left = wf_view_slice(a, 0, 0, N - 1, 1),
                 *right = wf_view_slice(a, 0, 1, N, 1);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, left);
        wf_val s = wf_scan(WF_JOIN_ADD,
                           how == 1 ? wf_reverse(wf_mul(v, 1), 0)
                           : how    ? wf_mul(v, v)
                                    : v,
                           0, false, false);
        wf_out(g, how == 1 ? left : right, wf_add(s, 1));
        OK(ctx, wf_run(g));
        float *got = contents(how == 1 ? left : right), sum = 0;
        for (int i = 0; i < N - 1; ++i) {
            sum += how == 1 ? x[N - 2 - i] : how ? x[i] * x[i] : x[i];
            assert_true(got[i] == sum + 1);
        }
        free(got);
        wf_release(a), wf_release(left), wf_release(right);
    }
}

/* A use of the result also reads, at other places, the array that the scan writes. */
static void read_again(void **state)
{
    (void)state;
    enum { N = 100 };
    float x[N + 1] = { 0 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N + 1), x), *left = wf_view_slice(a, 0, 0, N, 1),
             *right = wf_view_slice(a, 0, 1, N + 1, 1), *ones = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_graph *g = wf_begin(ctx);
    wf_val s = wf_scan(WF_JOIN_ADD, wf_in(g, ones), 0, false, false);
    wf_out(g, right, s);
    wf_array *r = wf_keep(wf_add(wf_mul(s, 1000), wf_in(g, left)));
    OK(ctx, wf_run(g));
    LINEAR(r, 1001, 1000);
    LINEAR(right, 1, 1);
    wf_release(a), wf_release(left), wf_release(ones);
}

/* The assembler of the CUDA toolkit takes these kernels. */
static void assembled(void **state)
{
    (void)state;
    static value_fn *const values[] = { squares, differences, by_index, three, turned };
    wf_array *a = numbers(ctx, WF_F32, WF_SHAPE(24, 24), 1), *b = numbers(ctx, WF_F32, WF_SHAPE(24, 24), 2);
    for (int axis = 0; axis < 2; ++axis)
        for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
            wf_graph *g = wf_begin(ctx);
            wf_val s = wf_scan(WF_JOIN_ADD, values[i](g, a, b), axis, false, axis == 1);
            wf_array *r = wf_keep(wf_exp(s));
            wf_kernel_free(ptxas_compile(ctx, g, "scan", (const int[]){ 70, 80, 0 }, NULL, NULL));
            wf_release(r);
        }
    wf_release(a), wf_release(b);
    ptxas_check_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype),   cmocka_unit_test(every_shape),    cmocka_unit_test(long_rows),
        cmocka_unit_test(counts_of_few), cmocka_unit_test(counts_of_many), cmocka_unit_test(scans_of_scans),
        cmocka_unit_test(overlapping),   cmocka_unit_test(read_again),     cmocka_unit_test(shared_values),
        cmocka_unit_test(memory),        cmocka_unit_test(history),        cmocka_unit_test(assembled),
    };
    int failed = RUN_ON_ALL(tests);
    ptxas_forget();
    return failed;
}
