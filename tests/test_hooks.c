/* test_hooks.c - operators as hooks, over elements, over an index space and with reductions: how often Weft calls
 * them, and what the contract allows.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/fft.h"
#include "weft/optimize.h"

static int calls;

static void zero(const wf_site *s)
{
    ++calls;
    for (int i = 0; i < s->n_in; ++i)
        wf_set(s->in[i], 0);
    for (int i = 0; i < s->n_out; ++i)
        wf_set(s->out[i], 0);
}
static void increment(const wf_site *s) { wf_inc(s->out[0], 1); }

static void expect_all(wf_array *a, float want)
{
    float *x = contents(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        assert_true(x[i] == want);
    free(x);
}

static void test_zero(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(5, 67), 3);
    calls = 0;
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_NO_ARRAYS, WF_OPERATOR(.call = zero))); /* writes its input */
    expect_all(a, 0);
    OK(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a), WF_OPERATOR(.call = increment)));
    expect_all(a, 1);
    OK(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a), WF_OPERATOR(.call = zero, .vectorize = true)));
    expect_all(a, 0);
    OK(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_OPERATOR(.call = zero)));
    assert_int_equal(calls, 3);
    wf_array *b = wf_full(ctx, WF_F32, WF_SHAPE(67), 7);
    REFUSED(ctx,
            wf_apply(ctx, WF_ARRAYS(b), WF_NO_ARRAYS, WF_OPERATOR(.call = zero, .vectorize = true), .name = "zero"),
            WF_ERR_CONTRACT, "writes input 0, which its contract (vectorize) rules out [in zero begun at ");
    expect_all(b, 7);
    REFUSED(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(b), WF_OPERATOR(.call = increment, .vectorize = true)),
            WF_ERR_CONTRACT, "reads output 0");
    REFUSED(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(b), WF_OPERATOR(.call = NULL)), WF_ERR_ARG, "no call");
    for (int vectorize = 0; vectorize < 2; ++vectorize) {
        REFUSED(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(b, NULL), WF_OPERATOR(.call = zero, .vectorize = vectorize)),
                WF_ERR_ARG, "wf_apply: output 1 is NULL");
        REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(NULL), WF_ARRAYS(b), WF_OPERATOR(.call = zero, .vectorize = vectorize)),
                WF_ERR_ARG, "wf_apply: input 0 is NULL");
    }
    expect_all(b, 7);
    wf_release(a), wf_release(b);
}

/* Set in both branches counts as set; in one, or in a loop, it does not. */
static void branches(const wf_site *s)
{
    wf_graph *g = s->graph;
    WF_IF (g, wf_gt(s->in[0], 10)) {
        wf_set(s->out[0], wf_sqrt(s->in[0]));
    }
    WF_ELSE(g) { wf_set(s->out[0], wf_mul(s->in[0], 2)); }
    WF_END(g);
    wf_inc(s->out[0], 1);
}
static void one_branch(const wf_site *s)
{
    wf_graph *g = s->graph;
    WF_IF (g, wf_gt(s->in[0], 10)) {
        wf_set(s->out[0], 5);
    }
    WF_END(g);
}
static void in_a_loop(const wf_site *s)
{
    wf_graph *g = s->graph;
    wf_val i;
    WF_FOR (g, i, 0, wf_cast(s->in[0], WF_I32), 1) {
        wf_set(s->out[0], wf_cast(i, WF_F32));
    }
    WF_END(g);
}

/* An output set before a loop can be left counts as set after the loop; code behind a break is on no path. */
static void in_every_turn(const wf_site *s)
{
    wf_graph *g = s->graph;
    WF_LOOP(g)
    {
        wf_set(s->out[0], 3);
        WF_IF (g, wf_gt(s->in[0], 10)) {
            wf_inc(s->out[0], 1);
            wf_break(g);
        }
        WF_ELSE(g) { wf_break(g); }
        WF_END(g);
    }
    WF_END(g);
}
static void left_before(const wf_site *s)
{
    wf_graph *g = s->graph;
    WF_LOOP(g)
    {
        WF_IF (g, wf_gt(s->in[0], 10)) {
            wf_break(g);
        }
        WF_END(g);
        wf_set(s->out[0], 3);
        wf_break(g);
    }
    WF_END(g);
}
static void or_left(const wf_site *s)
{
    wf_graph *g = s->graph;
    wf_set(s->out[0], 3);
    WF_LOOP(g)
    {
        wf_var v = wf_local(g, WF_F32, 1);
        WF_IF (g, wf_gt(s->in[0], 10)) {
            wf_set(v, 2);
        }
        WF_ELSE(g) { wf_break(g); }
        WF_END(g);
        wf_set(s->out[0], v);
        wf_break(g);
    }
    WF_END(g);
}

static void test_paths(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 333, 0, 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(333), -1);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = branches, .vectorize = true)));
    float *x = contents(b);
    for (int i = 0; i < 333; ++i)
        assert_true(x[i] == (i > 10 ? sqrtf((float)i) : 2 * (float)i) + 1);
    free(x);
    REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = one_branch, .vectorize = true)),
            WF_ERR_CONTRACT, "leaves output 0 unset");
    REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = in_a_loop, .vectorize = true)),
            WF_ERR_CONTRACT, "leaves output 0 unset");
    REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = left_before, .vectorize = true)),
            WF_ERR_CONTRACT, "leaves output 0 unset");
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b),
                     WF_OPERATOR(.call = one_branch))); /* other lanes keep their contents */
    x = contents(b);
    for (int i = 0; i < 333; ++i)
        assert_true(x[i] == (i > 10 ? 5 : 2 * (float)i + 1));
    free(x);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = in_every_turn, .vectorize = true)));
    x = contents(b);
    for (int i = 0; i < 333; ++i)
        assert_true(x[i] == (i > 10 ? 4 : 3));
    free(x);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = or_left, .vectorize = true)));
    x = contents(b);
    for (int i = 0; i < 333; ++i)
        assert_true(x[i] == (i > 10 ? 2 : 3));
    free(x);
    wf_release(a), wf_release(b);
}

/* Any number of operands of mixed dtypes that broadcast. */
static void sum_of_all(const wf_site *s)
{
    wf_val sum = wf_cast(s->in[0], WF_F64);
    for (int i = 1; i < s->n_in; ++i)
        sum = wf_add(sum, wf_cast(s->in[i], WF_F64));
    wf_set(s->out[0], wf_mul(sum, *(const double *)s->user));
    wf_set(s->out[1], wf_cast(sum, WF_I32));
}

static void test_operands(void **state)
{
    (void)state;
    double scale = 0.5;
    wf_array *a = wf_array_arange(ctx, WF_U8, 7, 0, 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(9, 1), 2),
             *c = wf_full(ctx, WF_I64, WF_SCALAR, 3);
    wf_array *x = wf_empty(ctx, WF_F64, WF_SHAPE(9, 7)), *y = wf_empty(ctx, WF_I32, WF_SHAPE(9, 7));
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a, b, c), WF_ARRAYS(x, y), WF_OPERATOR(.call = sum_of_all, .user = &scale)));
    double *p = contents(x);
    int32_t *q = contents(y);
    for (int i = 0; i < 63; ++i)
        assert_true(p[i] == (i % 7 + 5) * 0.5 && q[i] == i % 7 + 5);
    free(p), free(q);
    wf_release(a), wf_release(b), wf_release(c), wf_release(x), wf_release(y);
}

/* By index, and reducing, with and without a post that reads what the output holds. */
static void transpose(const wf_site *s)
{
    assert_int_equal(s->rank, 2);
    wf_array *const *arrays = s->user;
    wf_write(s->graph, arrays[1], wf_read(s->graph, arrays[0], s->index[1], s->index[0]), s->index[0], s->index[1]);
}
static void join_all(const wf_site *s)
{
    wf_inc(s->reduced[0], wf_cast(s->in[0], WF_F64));
    wf_set(s->reduced[1], wf_max(s->reduced[1], s->in[0]));
}
static void add_to_output(const wf_site *s)
{
    wf_inc(s->out[0], wf_cast(s->reduced[0], WF_F32));
    wf_set(s->out[1], s->reduced[1]);
}

static void test_index_and_reduce(void **state)
{
    (void)state;
    wf_array *flat = wf_array_arange(ctx, WF_F32, 77, 0, 1), *a = wf_view_reshape(flat, WF_SHAPE(7, 11)),
             *b = wf_empty(ctx, WF_F32, WF_SHAPE(11, 7));
    wf_array *both[] = { a, b };
    OK(ctx, wf_apply(ctx, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_OPERATOR(.call = transpose, .user = both),
                     .shape = WF_SHAPE(11, 7)));
    float *x = contents(b);
    for (int i = 0; i < 77; ++i)
        assert_true(x[i] == (float)(i % 7 * 11 + i / 7));
    free(x);
    const wf_reduced_spec reduced[] = { { WF_F64, WF_JOIN_ADD, 0 }, { WF_F32, WF_JOIN_MAX, -1 } };
    wf_array *sum = wf_full(ctx, WF_F32, WF_SHAPE(1), 1), *most = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
    for (int post = 0; post < 2; ++post)
        OK(ctx, wf_apply(ctx, WF_ARRAYS(b), WF_ARRAYS(sum, most),
                         WF_OPERATOR(.call = join_all, .post = post ? add_to_output : NULL, .reduced = reduced,
                                     .n_reduced = 2),
                         .reduce = WF_ALL_AXES));
    expect_all(sum, 2 * 76 * 77 / 2);
    expect_all(most, 76);
    wf_release(flat), wf_release(a), wf_release(b), wf_release(sum), wf_release(most);
}

static void join_first(const wf_site *s) { wf_inc(s->reduced[0], wf_cast(s->in[0], WF_F64)); }
static void post_first(const wf_site *s) { wf_set(s->out[0], s->reduced[0]); }
static void post_second(const wf_site *s) { wf_set(s->out[1], s->reduced[0]); }
static void post_from_first(const wf_site *s)
{
    wf_set(s->out[0], wf_add(s->out[0], s->reduced[0]));
    wf_set(s->out[1], 2);
}
static void join_nothing(const wf_site *s) { (void)s; }

/* Outputs that no reduced value and no post section sets keep their contents. */
static void test_reduced_outputs(void **state)
{
    (void)state;
    const wf_reduced_spec sums[] = { { WF_F64, WF_JOIN_ADD, 0 }, { WF_F32, WF_JOIN_MAX, -1 } };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 4), 1), *p = wf_full(ctx, WF_F32, WF_SHAPE(3, 1), 7),
             *q = wf_full(ctx, WF_F32, WF_SHAPE(3, 1), 7);
    const wf_op partial[] = {
        { .call = join_first, .n_reduced = 1 },
        { .call = join_first, .n_reduced = 1, .post = post_first },
        { .call = join_first, .n_reduced = 1, .post = post_second },
        { .call = join_first, .n_reduced = 1, .post = post_from_first },
        { .call = join_nothing },
    };
    const wf_space rows = { .size = sizeof rows, .reduce = WF_AXES(1) };
    const char *const unset[] = { "output 1", "output 1", "output 0", "reads output 0", "output 0" };
    for (size_t i = 0; i < sizeof partial / sizeof *partial; ++i) {
        wf_op op = partial[i];
        op.size = sizeof op;
        op.reduced = sums;
        op.vectorize = true;
        REFUSED(ctx, wf_apply_with(ctx, WF_ARRAYS(a), WF_ARRAYS(p, q), &op, &rows), WF_ERR_CONTRACT, unset[i]);
        expect_all(p, 7), expect_all(q, 7);
    }
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(p, q),
                     WF_OPERATOR(.call = join_first, .reduced = sums, .n_reduced = 1), .reduce = WF_AXES(1)));
    expect_all(p, 4), expect_all(q, 7);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(p, q),
                     WF_OPERATOR(.call = join_all, .reduced = sums, .n_reduced = 2, .vectorize = true),
                     .reduce = WF_AXES(1)));
    expect_all(p, 4), expect_all(q, 1);
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(q),
                     WF_OPERATOR(.call = join_all, .reduced = sums, .n_reduced = 2, .vectorize = true),
                     .reduce = WF_AXES(1)));
    expect_all(q, 4);
    wf_release(a), wf_release(p), wf_release(q);
}

/* A post section knows the index of its result, and works without outputs. */
static void join_sum(const wf_site *s) { wf_inc(s->reduced[0], s->in[0]); }
static void post_place(const wf_site *s)
{
    assert_int_equal(s->n_out, 1);
    wf_set(s->out[0], wf_add(wf_mul(s->index[0], 100), s->index[2]));
}
static void post_elsewhere(const wf_site *s)
{
    wf_array *to = s->user;
    wf_out(s->graph, to, wf_add(s->reduced[0], wf_mul(s->index[2], 100)));
}
static void post_of_reduced_axis(const wf_site *s) { wf_set(s->out[0], s->index[1]); }

static void test_post(void **state)
{
    (void)state;
    const wf_reduced_spec sums[] = { { WF_F32, WF_JOIN_ADD, 1 } };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 5, 3), 2), *p = wf_full(ctx, WF_F32, WF_SHAPE(2, 1, 3), 7);
    const wf_space space = { .size = sizeof space, .shape = WF_SHAPE(2, 5, 3), .reduce = WF_AXES(1) };
    OK(ctx, wf_apply_with(ctx, WF_ARRAYS(a), WF_ARRAYS(p),
                          WF_OPERATOR(.call = join_sum, .post = post_place, .reduced = sums, .n_reduced = 1), &space));
    float *x = contents(p);
    for (int i = 0; i < 6; ++i)
        assert_true(x[i] == (float)(i / 3 * 100 + i % 3));
    free(x);
    OK(ctx,
       wf_apply_with(ctx, WF_ARRAYS(a), WF_NO_ARRAYS,
                     WF_OPERATOR(.call = join_sum, .post = post_elsewhere, .user = p, .reduced = sums, .n_reduced = 1),
                     &space));
    x = contents(p);
    for (int i = 0; i < 6; ++i)
        assert_true(x[i] == (float)(11 + i % 3 * 100));
    free(x);
    REFUSED(ctx,
            wf_apply_with(ctx, WF_ARRAYS(a), WF_ARRAYS(p),
                          WF_OPERATOR(.call = join_sum, .post = post_of_reduced_axis, .reduced = sums, .n_reduced = 1),
                          &space),
            WF_ERR_CONTRACT, "a value of another section is used");
    wf_release(a), wf_release(p);
}

/* ---- hooks that end the recording of their caller ---- */
typedef struct ending {
    int way;
    wf_array *kept; /* of the recording */
    bool refused;
} ending;

enum { WAYS = 7 };
static const char *const ends[WAYS] = { "wf_run",     "wf_drop",    "wf_compile", "wf_eval",
                                        "wf_adjoint", "wf_tangent", "wf_eval" };

static void end(wf_graph *g, ending *e)
{
    float all[8];
    switch (e->way) {
    case 0:
        e->refused = wf_run(g) == WF_ERR_CONTRACT;
        break;
    case 1:
        wf_drop(g);
        e->refused = true;
        break;
    case 2:
        e->refused = wf_compile(g) == NULL;
        break;
    case 3:
        e->refused = wf_eval(g) != WF_OK;
        break;
    case 4:
        e->refused = wf_adjoint(g, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_NO_ARRAYS) == WF_ERR_CONTRACT;
        break;
    case 5:
        e->refused = wf_tangent(g, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_NO_ARRAYS, WF_NO_ARRAYS) == WF_ERR_CONTRACT;
        break;
    default:
        e->refused = wf_download(e->kept, all, sizeof all) != WF_OK;
        break;
    }
}
static void ending_hook(const wf_site *s)
{
    if (s->n_out)
        wf_set(s->out[0], s->in[0]);
    end(s->graph, s->user);
}
static void ending_rule(const wf_rule_site *s)
{
    s->result[0] = s->in[0];
    end(s->graph, s->user);
}
static wf_val ending_loss(wf_graph *g, const wf_val *params, void *user)
{
    end(g, user);
    return wf_sum(params[0], WF_ALL_AXES);
}

/* Checks that the end was refused, by a message that names its function, and that nothing ran. */
#define ENDED(status, e)                                      \
    do {                                                      \
        REFUSED(ctx, status, WF_ERR_CONTRACT, ends[(e).way]); \
        assert_true((e).refused);                             \
    } while (0)

static void test_ends_of_the_caller(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, 8, 1, 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(8), 5);
    for (int way = 0; way < WAYS; ++way) {
        ending e = { .way = way };
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), y;
        e.kept = wf_keep(wf_mul(x, 2));
        wf_out(g, out, x);
        wf_call(g, ((wf_function){ ending_hook, &e }), WF_NO_VALS, WF_NO_VARS);
        ENDED(wf_run(g), e);
        wf_release(e.kept);
        g = wf_begin(ctx);
        x = wf_in(g, a);
        e = (ending){ .way = way, .kept = wf_keep(wf_mul(x, 2)) };
        wf_custom(WF_CUSTOM_RULE(.call = ending_rule, .user = &e), WF_VALS(x), &y);
        wf_out(g, out, y);
        ENDED(wf_run(g), e);
        wf_release(e.kept);
        if (way == 3 || way == 6) /* the recordings of these functions have no kept arrays, and none can be evaluated */
            continue;
        e = (ending){ .way = way };
        ENDED(wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(out), WF_OPERATOR(.call = ending_hook, .user = &e)), e);
        ENDED(wf_fft_filter(out, a, WF_ALL_AXES, ending_hook, &e), e);
        if (wf_context_device(ctx) <= WF_INTERP) {
            ENDED(wf_minimize(ctx, WF_ARRAYS(a), ending_loss, &e, NULL), e);
            ENDED(wf_check_gradient(ctx, WF_ARRAYS(a), ending_loss, &e, NULL), e);
        }
    }
    expect_all(out, 5);
    RELEASE(a, out);
}

typedef struct nest {
    int left;
} nest;
static void nested(const wf_site *s)
{
    nest *n = s->user;
    wf_set(s->out[0], wf_add(s->in[0], 1));
    if (--n->left > 0)
        wf_call(s->graph, ((wf_function){ nested, n }), WF_VALS(s->out[0]), WF_VARS(s->out[0]));
}

static void test_deep_calls(void **state)
{
    (void)state;
    wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(4), 0);
    for (int deeper = 0; deeper < 2; ++deeper) {
        nest n = { 1000 + deeper };
        wf_graph *g = wf_begin(ctx);
        wf_var v = wf_local(g, WF_F32, 0);
        wf_call(g, ((wf_function){ nested, &n }), WF_VALS(0), WF_VARS(v));
        wf_out(g, out, v);
        if (deeper)
            REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "calls are nested deeper than 1000");
        else
            OK(ctx, wf_run(g));
    }
    expect_all(out, 1000);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_zero),
                                        cmocka_unit_test(test_paths),
                                        cmocka_unit_test(test_operands),
                                        cmocka_unit_test(test_index_and_reduce),
                                        cmocka_unit_test(test_reduced_outputs),
                                        cmocka_unit_test(test_post),
                                        cmocka_unit_test(test_ends_of_the_caller),
                                        cmocka_unit_test(test_deep_calls) };
    return RUN_ON_ALL(tests);
}
