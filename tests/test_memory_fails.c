/* test_memory_fails.c - scenarios over the whole API, each with the first, second, ... allocation failing. The status
 * is WF_ERR_MEMORY, or WF_OK with right results; nothing crashes, and under the address sanitizer nothing leaks. Only
 * debug builds can make allocations fail.
 *
 * ctest: failures
 */
#include "memory_fails.h"

/* ---- scenarios ---- */
static wf_status contexts(wf_context *ctx)
{
    (void)ctx;
    wf_context *own = new_context();
    if (!own)
        return WF_ERR_MEMORY;
    wf_info info = { .size = sizeof info };
    wf_status status = wf_get_info(own, false, &info);
    wf_context_free(own);
    return status;
}

static void note_release(void *user) { ++*(int *)user; }

static wf_status arrays(wf_context *ctx)
{
    static float memory[6] = { 1, 2, 3, 4, 5, 6 };
    int released = 0;
    wf_status status = WF_OK;
    const int swap[] = { 1, 0 };
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(2, 3)), *b = wf_like(a), *c = wf_full(ctx, WF_F32, WF_SHAPE(6), 2);
    wf_array *d = wf_array_arange(ctx, WF_I32, 5, 0, 1),
             *w = wf_wrap(ctx, memory, WF_F32, WF_SHAPE(2, 3), note_release, &released);
    wf_array *p = wf_view_permute(w, swap), *s = wf_view_slice(w, 1, 0, 2, 1), *r = wf_view_reshape(w, WF_SHAPE(6));
    wf_array *at = wf_view_at(w, 0, 1), *wide = wf_view_broadcast(at, WF_SHAPE(4, 3));
    wf_array *all[] = { a, b, c, d, w, p, s, r, at, wide };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (!all[i])
            status = missing(ctx);
    if (status == WF_OK)
        status = wf_upload(a, memory, sizeof memory);
    if (status == WF_OK)
        assert_true(holds(p, (const float[]){ 1, 4, 2, 5, 3, 6 }, 6, &status));
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    assert_int_equal(released, 1);
    return status;
}

static wf_status lazy_arrays(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 8, 0, 1), *left = wf_view_slice(a, 0, 0, 7, 1),
             *right = wf_view_slice(a, 0, 1, 8, 1);
    wf_array *b = wf_full(ctx, WF_F32, WF_SHAPE(8), 10), *kept = NULL, *mean = NULL;
    wf_status status = a && left && right && b ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .name = "lazy");
        wf_val old = wf_in(g, a), x = wf_mul(wf_add(old, wf_in(g, b)), wf_param(g, "p", WF_F32, 2));
        wf_var v = wf_local(g, WF_F32, x);
        wf_out(g, right, wf_in(g, left));
        wf_inc(v, wf_in(g, a));
        wf_out(g, b, old);
        wf_val total = wf_sum(v, WF_ALL_AXES),
               far = wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_mul(wf_iota(g, WF_SHAPE(8), 0), 2));
        mean = wf_keep(wf_div(total, 8));
        kept = wf_keep(wf_add(far, wf_sub(total, total)));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(a, (const float[]){ 0, 0, 1, 2, 3, 4, 5, 6 }, 8, &status));
    if (status == WF_OK)
        assert_true(holds(b, (const float[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, 8, &status));
    if (status == WF_OK)
        assert_true(holds(kept, (const float[]){ 0, 1, 3, 5, 6, 6, 6, 6 }, 8, &status));
    if (status == WF_OK)
        assert_true(holds(mean, (const float[]){ (2 * 28 + 160 + 21) / 8.f }, 1, &status));
    wf_array *all[] = { a, left, right, b, kept, mean };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    return status;
}

static wf_status stencil(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 12, 0, 1), *m = wf_view_reshape(a, WF_SHAPE(3, 4));
    wf_status status = a && m ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3, 4));
        wf_val i = wf_index(g, 0), j = wf_index(g, 1);
        wf_val sum =
            wf_add(wf_read_or(g, m, 0, wf_sub(i, 1), j), wf_read_border(g, m, WF_BORDER_REFLECT, 0, i, wf_add(j, 1)));
        wf_write(g, m, sum, i, j);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(a, (const float[]){ 1, 2, 3, 2, 5, 7, 9, 9, 13, 15, 17, 17 }, 12, &status));
    wf_release(a);
    wf_release(m);
    return status;
}

static wf_status reductions(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 50, 0, 1), *sum = wf_empty(ctx, WF_F32, WF_SCALAR),
             *most = wf_empty(ctx, WF_F32, WF_SHAPE(1));
    wf_status status = a && sum && most ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
        wf_var s = wf_reduced(g, WF_F32, 100, WF_JOIN_ADD), m = wf_reduced(g, WF_F32, -1, WF_JOIN_MAX);
        wf_val x = wf_in(g, a);
        wf_inc(s, x);
        wf_set(m, wf_max(m, x));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, sum, wf_mul(s, 2));
        wf_out(g, most, m);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(sum, (const float[]){ 2650 }, 1, &status));
    if (status == WF_OK)
        assert_true(holds(most, (const float[]){ 49 }, 1, &status));
    wf_release(a);
    wf_release(sum);
    wf_release(most);
    return status;
}

/* Parts that are joined, two stages of one reduction, a stage that follows box by box. */
static wf_status some_axes(wf_context *ctx)
{
    enum { N = 4, W = 1300 };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(W, N), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(16, N, 330, 16), 1);
    wf_array *columns = NULL, *parted = NULL, *rows = wf_empty(ctx, WF_F32, WF_SHAPE(N));
    wf_status status = a && b && rows ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        columns = wf_keep(wf_mul(wf_sum(wf_in(g, a), WF_AXES(0)), 2));
        parted = wf_keep(wf_sum(wf_in(g, b), WF_AXES(0, 2, 3)));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .reduce = WF_AXES(0));
        wf_var s = wf_reduced(g, WF_F64, 5, WF_JOIN_ADD);
        wf_inc(s, wf_in(g, a));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, rows, s);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(columns, (const float[]){ 2 * W, 2 * W, 2 * W, 2 * W }, N, &status));
    if (status == WF_OK)
        assert_true(holds(parted, (const float[]){ 84480, 84480, 84480, 84480 }, N, &status));
    if (status == WF_OK)
        assert_true(holds(rows, (const float[]){ W + 5, W + 5, W + 5, W + 5 }, N, &status));
    wf_release(a);
    wf_release(b);
    wf_release(rows);
    wf_release(columns);
    wf_release(parted);
    return status;
}

static wf_status kernels(wf_context *ctx)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 5), *b = wf_full(ctx, WF_F32, WF_SHAPE(2), 7);
    wf_status status = a && b ? WF_OK : missing(ctx);
    wf_kernel *k = NULL;
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .name = "prepared");
        wf_array *x = wf_formal(g, "x", WF_F32, 1);
        wf_out(g, x, wf_add(wf_in(g, x), wf_param(g, "p", WF_F32, 1)));
        k = wf_compile(g);
        status = k ? WF_OK : missing(ctx);
    }
    if (status == WF_OK)
        status = wf_launch(k, WF_ARGS(WF_ARG("x", a)));
    if (status == WF_OK)
        status = wf_launch(k, WF_ARGS(WF_ARG("x", b), WF_ARG("p", 3)));
    char text[100];
    size_t n;
    if (status == WF_OK)
        status = wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, text, sizeof text, &n);
    if (status == WF_OK)
        status = wf_kernel_dump(k, WF_ARGS(WF_ARG("x", a)), WF_DUMP_KERNELS, text, sizeof text, &n);
    if (status == WF_OK)
        assert_true(holds(a, (const float[]){ 6, 6, 6 }, 3, &status));
    if (status == WF_OK)
        assert_true(holds(b, (const float[]){ 10, 10 }, 2, &status));
    wf_kernel_free(k);
    wf_release(a);
    wf_release(b);
    return status;
}

/* Every operation of a family that expands, and more arrays and parameters than fit the fixed tables. */
static wf_status wide(wf_context *ctx)
{
    enum { MANY = 20 };
    wf_array *a[MANY] = { 0 }, *out = wf_empty(ctx, WF_F32, WF_SHAPE(2));
    wf_status status = out ? WF_OK : missing(ctx);
    wf_graph *g = status == WF_OK ? wf_begin(ctx) : NULL;
    wf_val sum = wf_exp(wf_mul(wf_sin(wf_param(g, "zero", WF_F32, 0)), 3));
    for (int i = 0; i < MANY && status == WF_OK; ++i) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        a[i] = wf_full(ctx, WF_F32, WF_SHAPE(2), i);
        if (!a[i])
            status = missing(ctx);
        else
            sum = wf_add(sum, wf_add(wf_in(g, a[i]), wf_param(g, name, WF_F32, 1)));
    }
    if (status == WF_OK && g) {
        wf_out(g, out, sum);
        status = wf_run(g);
    } else {
        wf_drop(g);
        status = missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(out, (const float[]){ 211, 211 }, 2, &status));
    for (int i = 0; i < MANY; ++i)
        wf_release(a[i]);
    wf_release(out);
    return status;
}

/* Queued work: a call that cannot queue its work returns an error, and queued work is done. */
static wf_status streams(wf_context *ctx)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4), 1), *kept = NULL;
    wf_stream *s = wf_stream_new(ctx, 0), *t = wf_stream_new(ctx, 0);
    wf_event *e = wf_event_record(s), *f = NULL;
    wf_status status = a && s && t && e ? WF_OK : missing(ctx);
    if (status == WF_OK)
        status = wf_set_stream(ctx, 0, s);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .name = "queued");
        wf_out(g, a, wf_add(wf_in(g, a), wf_param(g, "p", WF_F32, 2)));
        kept = wf_keep(wf_mul(wf_in(g, a), 2));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        status = (f = wf_event_record(s)) ? wf_stream_wait(t, f) : missing(ctx);
    wf_status queued = wf_sync(ctx), none = wf_set_stream(ctx, 0, NULL);
    double seconds;
    assert_int_equal(none, WF_OK);
    if (status == WF_OK)
        status = queued;
    if (status == WF_OK)
        status = wf_event_elapsed(e, f, &seconds);
    if (status == WF_OK)
        assert_true(holds(kept, (const float[]){ 6, 6, 6, 6 }, 4, &status));
    wf_event_free(e);
    wf_event_free(f);
    wf_stream_free(s);
    wf_stream_free(t);
    wf_release(a);
    wf_release(kept);
    return status;
}

static wf_status text(wf_context *ctx)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 4), *b = wf_full(ctx, WF_F32, WF_SHAPE(3), 0);
    wf_status status = a && b ? WF_OK : missing(ctx);
    if (status == WF_OK)
        status = wf_text(ctx, "t = sqrt(a) + 1; b = t > 2 ? t : 0", a, b);
    if (status == WF_OK)
        assert_true(holds(b, (const float[]){ 3, 3, 3 }, 3, &status));
    wf_release(a);
    wf_release(b);
    return status;
}

static wf_status accumulation(wf_context *ctx)
{
    wf_array *h = wf_full(ctx, WF_F32, WF_SHAPE(4), 0), *n = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    wf_status status = h && n ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1000));
        wf_val i = wf_index(g, 0);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, h, 1, wf_mod(i, 4));
        wf_accumulate_if_mode(g, wf_lt(wf_atomic(g, WF_JOIN_INC, n, 0, 0), 10), WF_JOIN_ADD, WF_MODE_LOCAL, h, 0, 3);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(h, (const float[]){ 250, 250, 250, 250 }, 4, &status));
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val i = wf_iota(g, WF_SHAPE(4), 0);
        wf_accumulate(g, WF_JOIN_ADD, h, wf_read(g, h, i), wf_sub(3, i));
        wf_write(g, h, wf_add(wf_in(g, h), i), i);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(h, (const float[]){ 500, 501, 502, 503 }, 4, &status));
    wf_release(h);
    wf_release(n);
    return status;
}

static void add_one(const wf_site *site) { wf_set(site->out[0], wf_add(site->in[0], 1)); }
static void add_one_too(const wf_site *site) { wf_set(site->out[0], wf_add(site->in[0], 1)); }
static void negate(const wf_site *site) { wf_set(site->out[0], wf_neg(site->in[0])); }

static wf_status table_of_functions(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 8, 0, 1), *kept = NULL;
    wf_status status = a ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a);
        wf_var y = wf_local(g, WF_F32, 50);
        wf_switch(g, wf_mod(wf_cast(v, WF_I32), 4),
                  WF_FUNCTIONS({ add_one, NULL }, { negate, NULL }, { add_one_too, NULL }), WF_VALS(v), WF_VARS(y));
        kept = wf_keep(y);
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(kept, (const float[]){ 1, -1, 3, 50, 5, -5, 7, 50 }, 8, &status));
    wf_release(a);
    wf_release(kept);
    return status;
}

static wf_status loops(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 8, 0, 1), *b = wf_array_arange(ctx, WF_F32, 4, 0, 1);
    wf_array *h = wf_full(ctx, WF_F32, WF_SHAPE(2), 0), *kept = NULL, *sum = NULL;
    wf_status status = a && b && h ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), k;
        wf_var x = wf_local(g, WF_F32, v), n = wf_local(g, WF_F32, 0);
        WF_FOR (g, k, 0, wf_cast(v, WF_I32), 1) {
            WF_IF (g, wf_lt(k, 3)) {
                wf_inc(n, wf_read(g, b, wf_add(k, 1)));
            }
            WF_END(g);
            wf_accumulate(g, WF_JOIN_ADD, h, 1, wf_and(k, 1));
            wf_out(g, a, wf_add(wf_in(g, a), 1));
            wf_inc(x, 1);
        }
        WF_END(g);
        kept = wf_keep(wf_add(n, wf_in(g, a)));
        sum = wf_keep(wf_div(wf_sum(x, WF_ALL_AXES), wf_sum(n, WF_ALL_AXES)));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(kept, (const float[]){ 0, 3, 7, 12, 14, 16, 18, 20 }, 8, &status));
    if (status == WF_OK)
        assert_true(holds(sum, (const float[]){ 56.f / 34 }, 1, &status));
    if (status == WF_OK)
        assert_true(holds(h, (const float[]){ 16, 12 }, 2, &status));
    wf_array *all[] = { a, b, h, kept, sum };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    return status;
}

/* Each row of a block from the row before it, by way of scratch. */
static wf_status blocks(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 192, 0, 1), *in = wf_view_reshape(a, WF_SHAPE(12, 16));
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(12, 16)), *last = wf_view_slice(out, 0, 11, 12, 1);
    wf_status status = a && in && out && last ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(12, 16), .block = WF_SHAPE(8, 8));
        wf_array *tile = wf_scratch(g, WF_F32, WF_SHAPE(8, 8), true);
        wf_val y, x, i = wf_index(g, 0), j = wf_index(g, 1);
        wf_write(g, out, wf_read(g, tile, wf_sub(i, wf_mul(wf_block_id(g, 0), 8)), wf_mod(j, 8)), i, j);
        wf_section(g, WF_SECTION_INIT);
        WF_FOR (g, y, 0, 8, 1) {
            WF_FOR (g, x, 0, 8, 1) {
                wf_val from_y = wf_sub(wf_add(wf_mul(wf_block_id(g, 0), 8), y), 1);
                wf_write(g, tile, wf_read_or(g, in, -1, from_y, wf_add(wf_mul(wf_block_id(g, 1), 8), x)), y, x);
            }
            WF_END(g);
        }
        WF_END(g);
        status = g ? wf_run(g) : missing(ctx);
    }
    const float want[] = { 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175 };
    if (status == WF_OK)
        assert_true(holds(last, want, 16, &status));
    wf_array *all[] = { a, in, out, last };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    return status;
}

static wf_status views(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, 8, 0, 1), *out = wf_empty(ctx, WF_F32, WF_SHAPE(2, 4));
    wf_status status = a && out ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_mul(wf_in(g, a), 2), slow = wf_round(wf_sqrt(wf_mul(v, v)));
        wf_val square = wf_reshape(wf_permute(wf_reshape(v, WF_SHAPE(4, 2)), (const int[]){ 1, 0 }), WF_SHAPE(8));
        wf_val far = wf_gather_or(wf_tile(slow, WF_SHAPE(2)), 1, wf_sub(wf_iota(g, WF_SHAPE(8), 0), 1));
        wf_out(g, out, wf_reshape(wf_add(square, wf_reverse(far, 0)), WF_SHAPE(2, 4)));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(out, (const float[]){ 12, 14, 16, 18, 6, 8, 10, 15 }, 8, &status));
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val sums = wf_scan(WF_JOIN_ADD, wf_sub(wf_in(g, out), 6), 1, false, true);
        wf_out(g, out, wf_sub(sums, wf_broadcast(wf_block_reduce(WF_JOIN_MAX, wf_in(g, a), 8), WF_SHAPE(2, 4))));
        wf_write_if(g, wf_gt(wf_in(g, a), 6), out, 0, 1, wf_iota(g, WF_SHAPE(1), 0));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        assert_true(holds(out, (const float[]){ 29, 23, 15, 5, 0, 8, 6, 2 }, 8, &status));
    wf_release(a);
    wf_release(out);
    return status;
}

int main(void)
{
#define EACH(name)                \
    {                             \
#name, name, WF_INTERP, 1 \
    }
    static const memory_case cases[] = {
        EACH(contexts),
        EACH(arrays),
        EACH(lazy_arrays),
        EACH(stencil),
        EACH(reductions),
        EACH(some_axes),
        EACH(kernels),
        EACH(wide),
        EACH(text),
        EACH(accumulation),
        EACH(loops),
        EACH(table_of_functions),
        EACH(streams),
        EACH(blocks),
        EACH(views),
        /* with code generation: slow, so only every few allocations */
        { "stencil on the CPU", stencil, WF_CPU, 7 },
        { "reductions on the CPU", reductions, WF_CPU, 7 },
        { "reductions over some of the axes on the CPU", some_axes, WF_CPU, 23 },
        { "blocks on the CPU", blocks, WF_CPU, 23 },
    };
    return run_memory_cases(cases, WF__COUNT(cases), NULL);
}
