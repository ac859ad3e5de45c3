/* test_distributed_overlap.c - launches run the points that need nothing of other ranks before they wait for messages. Ranks are
 * threads. One of them may use a transport of the test, which looks at the results where the library waits.
 *
 * ctest: threads long first_tier
 */
#include "distributed_world.h"
#include "dist/dist.h"
#include "ranks/ranks.h"
#include "weft_test.h"
#include <string.h>

/* ---- cases: results are those of one process --------------------------------------------------------------------- */
static const wf_shape wide = { .rank = 2, .dim = { 640, 480 } }, deep = { .rank = 3, .dim = { 80, 84, 90 } };

/* A function of elements at these distances from the point. It has much work for few points. */
static wf_val near(wf_graph *g, const wf_array *a, wf_border border, const int (*by)[3], int n)
{
    wf_val sum = wf_const(g, WF_F32, 0);
    const int rank = wf_array_shape(a).rank;
    for (int i = 0; i < n; ++i) {
        wf_val index[WF_MAX_RANK];
        for (int d = 0; d < rank; ++d)
            index[d] = wf_add(wf_index(g, d), by[i][d]);
        sum = wf_add(sum, wf_read_border_n(g, a, border, wf_const(g, WF_F32, 0.5), (wf_vals){ index, (size_t)rank }));
    }
    return wf_log(wf_add(wf_exp(wf_mul(sum, 0.25)), 0.5));
}

static const int star[][3] = { { -1, 0, 0 }, { 1, 0, 0 }, { 0, -1, 0 }, { 0, 1, 0 }, { 0, 0, -1 }, { 0, 0, 1 }, { 0 } };
static const int uneven[][3] = { { 3, 1, 0 }, { 2, 0, 2 }, { 0, 2, 1 } };

/* Some steps, each of what the one before has written. */
static void steps(distributed_world *w, wf_shape shape, wf_border border, const int (*by)[3], int n)
{
    wf_array *a[2] = { world_filled(w, WF_F32, shape, 3), world_empty(w, WF_F32, shape) };
    for (int k = 0; k < 3; ++k) {
        world_spoil(w, a[k % 2]);
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_out(g, a[1 - k % 2], near(g, a[k % 2], border, by, n));
        world_run(w, g);
    }
    wf_release(a[0]);
    world_result(w, a[1]);
}

static void stars(distributed_world *w)
{
    steps(w, wide, WF_BORDER_CLAMP, star, 4);
    steps(w, deep, WF_BORDER_MIRROR, star, 7);
    steps(w, WF_SHAPE(400001), WF_BORDER_REFLECT, star, 2);
}

static void periodic(distributed_world *w)
{
    steps(w, wide, WF_BORDER_PERIODIC, star, 4);
    steps(w, deep, WF_BORDER_PERIODIC, uneven, 3);
}

static void one_sided(distributed_world *w)
{
    steps(w, wide, WF_BORDER_VALUE, uneven, 3);
    steps(w, deep, WF_BORDER_CLAMP, uneven, 3);
}

/* The elements before or after those of a value along axis 0. */
static wf_val shifted(wf_val x, bool before)
{
    const int64_t n = wide.dim[0];
    const wf_val end = before ? wf_slice(x, 0, 0, 1, 1) : wf_slice(x, 0, n - 1, n, 1);
    return before ? wf_concat(0, end, wf_slice(x, 0, 0, n - 1, 1)) : wf_concat(0, wf_slice(x, 0, 1, n, 1), end);
}

/* Stages that read what earlier ones have computed, also beside this rank's block, and that write the array which they read. */
static void chains(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, wide, 5), *b = world_filled(w, WF_F32, wide, 6);
    for (int k = 0; k < 2; ++k) {
        world_spoil(w, a);
        world_spoil(w, b);
        wf_graph *g = wf_begin(w->ctx);
        wf_val x = wf_in(g, a), y = wf_in(g, b);
        wf_out(g, a, wf_log(wf_add(wf_exp(wf_sub(x, shifted(x, true))), wf_exp(wf_mul(y, 0.1)))));
        wf_out(g, b, wf_mul(wf_exp(wf_mul(wf_add(shifted(wf_in(g, a), false), shifted(y, true)), 0.1)), 0.5));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = wide);
        wf_out(g, b, wf_add(wf_in(g, b), near(g, a, WF_BORDER_CLAMP, star, 2)));
        world_run(w, g);
    }
    world_result(w, a);
    world_result(w, b);
}

/* One array is read at other ranks' elements alone, so that each rank has parts of it, and one is read in another order. */
static void apart(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, wide, 7), *t = world_filled(w, WF_F32, WF_SHAPE(480, 640), 8);
    wf_array *b = world_empty(w, WF_F32, wide);
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(w->ctx, .shape = wide);
        wf_val y = wf_index(g, 0), x = wf_index(g, 1);
        wf_val far = wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(y, 100 * k), x);
        wf_out(g, b,
               wf_sub(wf_add(far, near(g, a, WF_BORDER_CLAMP, star, 4)),
                      k ? wf_const(g, WF_F32, 1) : wf_read(g, t, x, y)));
        world_run(w, g);
    }
    wf_release(a);
    wf_release(t);
    world_result(w, b);
}

/* The first stage writes some elements, also of those that this rank fetches beside its block; the next one reads them. */
static void in_part(distributed_world *w)
{
    const wf_shape points = WF_SHAPE(wide.dim[0], wide.dim[1], 2);
    wf_array *a = world_filled(w, WF_F32, wide, 9), *b = world_empty(w, WF_F32, WF_SHAPE(wide.dim[0], wide.dim[1], 1));
    world_spoil(w, a);
    wf_graph *g = wf_begin(w->ctx, .shape = points, .reduce = WF_AXES(2));
    wf_section(g, WF_SECTION_INIT);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), v = wf_cast(wf_add(wf_mul(y, 3), x), WF_F32);
    for (int k = 0; k < 3; ++k)
        v = wf_log(wf_add(wf_exp(wf_mul(v, 0.001)), 0.5));
    wf_write_if(g, wf_eq(wf_mod(x, 2), 0), a, v, y, x);
    wf_section(g, WF_SECTION_CALL);
    wf_val up = wf_sub(wf_add(wf_index(g, 0), wf_mul(wf_index(g, 2), 2)), 1);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(sum, wf_read_border(g, a, WF_BORDER_CLAMP, 0, up, wf_index(g, 1)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, b, wf_get(sum));
    world_run(w, g);
    world_result(w, a);
    world_result(w, b);
}

static const distributed_case cases[] = { { "stars", stars },   { "periodic", periodic }, { "one-sided", one_sided },
                                          { "chains", chains }, { "apart", apart },       { "in part", in_part } };

static void same_bits(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ++ranks)
        for (int cut = TEST_RACES ? ranks % 2 : 0; cut <= 3; cut += TEST_RACES ? 2 : 1)
            distributed_check(cases, WF__COUNT(cases), ranks, 1 + (ranks + cut) % 2, cut, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(cases, WF__COUNT(cases), 8, 1, 0, WF_CPU, WF__FENCE_BEFORE);
    distributed_check(cases, WF__COUNT(cases), 4, 1, 0, WF_INTERP, WF__FENCE_BEHIND);
}

/* Messages come in any order and take any time; a rank may be lost on the way. All ranks end. */
static void late_and_lost(void **state)
{
    (void)state;
    long failures = 0, runs = 0;
    for (uint64_t seed = 1; seed <= 40; seed += TEST_EVERY, ++runs) {
        const bool loses = seed % 2;
        const int ranks = 2 + (int)(seed % 3);
        distributed_run run = { .it = &cases[seed / 2 % WF__COUNT(cases)],
                                .threads = 1,
                                .cut = (int)(seed % 4),
                                .device = WF_CPU,
                                .loses = loses };
        const wf_ranks_threads_options o = { .size = sizeof o,
                                             .seed = seed,
                                             .lost_rank = (int)(seed / 4) % ranks,
                                             .lost_after = loses ? 10 + (uint32_t)(seed * 7919 % 60) : 0 };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        const wf_status status = wf_ranks_threads(ranks, distributed_on_rank, &run, &o, &e);
        distributed_end(&run);
        if (run.deadlocks || (status != WF_OK && !(loses && status == WF_ERR_BACKEND)))
            fail_msg("seed %d, %s: %d deadlocks; rank %d: %s: %s", (int)seed, run.it->name, run.deadlocks, (int)e.rank,
                     wf_status_name(status), e.text);
        failures += status != WF_OK;
    }
    assert_true(failures > runs / 8);
}

/* ---- what has run where the library waits ------------------------------------------------------------------------ */
typedef struct watched { /* a launch of one rank, whose results are 0 before it and not 0 after it */
    wf_ranks *inner;
    const wf_array *out; /* NULL = nothing is looked at */
    bool fails;          /* the first poll finds a message that has failed */
    int waits, polls;
    int64_t ran; /* results that were there at the first wait */
} watched;

/* The number of elements in this rank's block that are not 0; -1 = no memory to count them. */
static int64_t count_results(const wf_array *a)
{
    const wf__box *block = &a->distributed->block;
    const int rank = a->shape.rank;
    const size_t elements = wf__box_elements(block, rank);
    int64_t stride[WF_MAX_RANK], n = 0;
    float *copy = malloc((elements + 1) * sizeof *copy);
    if (!copy)
        return -1;
    wf__box_copy(block, rank, sizeof *copy, wf__elements_of(a),
                 wf__elements_packed((char *)copy, block, rank, sizeof *copy, stride));
    for (size_t i = 0; i < elements; ++i)
        n += copy[i] != 0;
    free(copy);
    return n;
}

static wf_status on_start(void *group, wf_request *r, wf_ranks_error *e)
{
    const watched *w = group;
    return w->inner->ops->start(w->inner->group, r, e);
}

static wf_status on_wait(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                         size_t *index, wf_ranks_error *e)
{
    watched *w = group;
    if (w->out && how == WF_RANKS_TEST) { /* the messages are late: none is there before the library waits */
        *index = n;
        if (w->polls++ || !w->fails)
            return WF_OK;
        const wf_status status = w->inner->ops->wait(w->inner->group, requests, n, WF_RANKS_ALL, doing, index, e);
        return status ? status : wf__ranks_error_set(e, WF_ERR_CONTRACT, "a message has failed");
    }
    if (w->out && !w->waits++)
        w->ran = count_results(w->out);
    return w->inner->ops->wait(w->inner->group, requests, n, how, doing, index, e);
}

static void on_drop(void *group, wf_request *r)
{
    const watched *w = group;
    w->inner->ops->drop(w->inner->group, r);
}

static wf_status on_split(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *e)
{
    (void)group, (void)parts, (void)out, (void)e;
    return WF_ERR_UNSUPPORTED;
}

static wf_status on_counter_new(void *group, uint32_t number, void **counter, wf_ranks_error *e)
{
    const watched *w = group;
    return w->inner->ops->counter_new(w->inner->group, number, counter, e);
}

static wf_status on_counter_add(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *e)
{
    const watched *w = group;
    return w->inner->ops->counter_add(w->inner->group, counter, more, before, e);
}

static void on_counter_free(void *group, void *counter) { (void)group, (void)counter; }

static void on_abort(void *group, int code, const char *text)
{
    const watched *w = group;
    w->inner->ops->abort(w->inner->group, code, text);
}

static void on_close(void *group) { (void)group; }

static const wf_ranks_ops watching = { .size = sizeof watching,
                                       .start = on_start,
                                       .wait = on_wait,
                                       .drop = on_drop,
                                       .split = on_split,
                                       .counter_new = on_counter_new,
                                       .counter_add = on_counter_add,
                                       .counter_free = on_counter_free,
                                       .abort = on_abort,
                                       .close = on_close };

typedef struct launches {
    wf_shape shape;
    int32_t grid[WF_MAX_RANK];
    int ranks, threads;
    wf_device device;
    bool lanes_divided, little, prepared, fails;
    int64_t ran[8], want[8];
    int waits[8], polls[8];
    char text[8][1200];
} launches;

/* Points of this rank's block whose neighbours it has. */
static int64_t interior(const launches *l, const wf__box *block)
{
    int64_t n = !l->lanes_divided && !l->little;
    for (int d = 0; d < l->shape.rank; ++d)
        n *= block->hi[d] - block->lo[d] - (block->lo[d] > 0) - (block->hi[d] < l->shape.dim[d]);
    return n;
}

/* A step of a stencil of nearest neighbours. */
static void record_step(wf_graph *g, const wf_array *a, wf_array *b, const launches *l)
{
    wf_out(g, b, near(g, a, WF_BORDER_CLAMP, star, 2 * l->shape.rank));
}

static wf_status watch(wf_ranks *ranks, void *user)
{
    launches *l = user;
    const int me = wf_ranks_rank(ranks);
    watched w = { .inner = ranks };
    wf_ranks_ops ops = watching;
    ops.request_bytes = ranks->ops->request_bytes;
    const wf_ranks_group group = { .size = sizeof group,
                                   .group = &w,
                                   .rank = me,
                                   .ranks = l->ranks,
                                   .library = "watched threads",
                                   .host = wf_ranks_host(ranks, me) };
    wf_ranks *outer = NULL;
    wf_ranks_error e;
    wf_status status = wf_ranks_new(&ops, &group, &outer, &e);
    if (status != WF_OK)
        return status;
    wf_context *ctx =
        wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = l->threads, .device = l->device });
    wf_dist dist;
    wf_dist_options cut = { .size = sizeof cut };
    memcpy(cut.grid, l->grid, sizeof cut.grid);
    wf_dist_make(&l->shape, l->ranks, &cut, &dist);
    wf_array *array[2];
    for (int k = 0; k < 2; ++k)
        array[k] = wf_empty_distributed(ctx, WF_F32, outer, &dist);
    wf_kernel *kernel = NULL;
    if (l->prepared) {
        wf_graph *g = wf_begin(ctx, .shape = l->shape);
        wf_array *formal[2] = { wf_formal(g, "a", WF_F32, l->shape.rank), wf_formal(g, "b", WF_F32, l->shape.rank) };
        record_step(g, formal[0], formal[1], l);
        kernel = wf_compile(g);
    }
    for (int k = 0; k < 2; ++k) { /* in the first launch ranks agree on the plan */
        for (int i = 0; i < 2; ++i)
            wf_array_fill(array[i], i == 0);
        w.out = k ? array[1] : NULL;
        w.fails = l->fails && me == 0;
        if (kernel)
            wf_launch(kernel, WF_ARGS(WF_ARG("a", array[0]), WF_ARG("b", array[1])));
        else {
            wf_graph *g = wf_begin(ctx, .shape = l->shape);
            record_step(g, array[0], array[1], l);
            wf_run(g);
        }
        w.out = NULL;
    }
    l->want[me] = interior(l, &array[1]->distributed->block);
    l->ran[me] = w.ran;
    l->waits[me] = w.waits;
    l->polls[me] = w.polls;
    status = wf_last_status(ctx);
    snprintf(l->text[me], sizeof l->text[me], "%s", wf_last_message(ctx));
    if (status == WF_OK &&
        count_results(array[1]) != (int64_t)wf__box_elements(&array[1]->distributed->block, l->shape.rank))
        status = WF_ERR_CONTRACT;
    wf_kernel_free(kernel);
    for (int k = 0; k < 2; ++k)
        wf_release(array[k]);
    wf_context_free(ctx);
    wf_ranks_free(outer);
    return status;
}

static void before_messages(void **state)
{
    (void)state;
    const launches all[] = {
        { .shape = wide, .grid = { 2, 1 }, .ranks = 2, .threads = 1, .device = WF_CPU },
        { .shape = wide, .grid = { 3, 1 }, .ranks = 3, .threads = 2, .device = WF_CPU, .prepared = true },
        { .shape = wide, .grid = { 2, 1 }, .ranks = 2, .threads = 1, .device = WF_INTERP, .prepared = true },
        { .shape = wide, .grid = { 1, 2 }, .ranks = 2, .threads = 1, .device = WF_CPU, .lanes_divided = true },
        { .shape = deep, .grid = { 2, 3, 1 }, .ranks = 6, .threads = 1, .device = WF_CPU },
        { .shape = WF_SHAPE(400001), .grid = { 3 }, .ranks = 3, .threads = 1, .device = WF_CPU },
        { .shape = WF_SHAPE(30, 20), .grid = { 2, 1 }, .ranks = 2, .threads = 1, .device = WF_CPU, .little = true },
    };
    for (size_t k = 0; k < WF__COUNT(all); ++k)
        for (uint64_t seed = 0; seed < 4; seed += TEST_RACES ? 5 : 1) {
            launches l = all[k];
            const wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
            wf_ranks_error e = { 0 };
            if (wf_ranks_threads(l.ranks, watch, &l, &o, &e) != WF_OK)
                fail_msg("launch %zu, seed %d: rank %d: %s: %s", k, (int)seed, (int)e.rank, wf_status_name(e.status),
                         e.text);
            for (int r = 0; r < l.ranks; ++r)
                if (l.ran[r] != l.want[r] || l.waits[r] != 1)
                    fail_msg("launch %zu, seed %d: rank %d had run %lld points, not %lld, at the first of %d waits", k,
                             (int)seed, r, (long long)l.ran[r], (long long)l.want[r], l.waits[r]);
            if (k < 3 && l.threads == 1 && l.polls[0] < 3) /* of several threads, another one may run all boxes */
                fail_msg("launch %zu: rank 0 has polled %d times", k, l.polls[0]);
        }
}

/* A message that fails where the library polls for it fails the launch, as where it waits. */
static void failed_poll(void **state)
{
    (void)state;
    launches l = { .shape = wide, .grid = { 2, 1 }, .ranks = 2, .threads = 1, .device = WF_CPU, .fails = true };
    wf_ranks_error e = { 0 };
    assert_int_equal(wf_ranks_threads(l.ranks, watch, &l, NULL, &e), WF_ERR_CONTRACT);
    if (!strstr(l.text[0], "a message has failed") || *l.text[1])
        fail_msg("rank 0: %s; rank 1: %s", l.text[0], l.text[1]);
}

/* ---- work that is cancelled -------------------------------------------------------------------------------------- */
static bool says_yes(void *user)
{
    (void)user;
    return true;
}

/* Rank 1 cancels a launch while messages are on their way. The next launch of all ranks is right. */
static wf_status cancel(wf_ranks *ranks, void *user)
{
    wf_status *cancelled = user;
    const int me = wf_ranks_rank(ranks);
    const wf_shape shape = WF_SHAPE(600, 64);
    wf_context *ctx =
        wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .poll = me == 1 ? says_yes : NULL });
    wf_dist dist;
    wf_dist_make(&shape, 3, NULL, &dist);
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &dist), *b = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
    wf_array_fill(a, 1);
    wf_graph *g = wf_begin(ctx, .shape = shape);
    wf_var x = wf_local(g, WF_F32, near(g, a, WF_BORDER_CLAMP, star, 4));
    wf_val i;
    WF_FOR (g, i, 0, 60000, 1) {
        (void)i;
        wf_set(x, wf_sqrt(wf_add(x, 1)));
    }
    WF_END(g);
    wf_out(g, b, wf_get(x));
    cancelled[me] = wf_run(g);
    wf_clear_error(ctx);
    wf_array_fill(a, 3);
    g = wf_begin(ctx, .shape = shape);
    wf_out(g, b, near(g, a, WF_BORDER_CLAMP, star, 4));
    wf_status status = wf_run(g);
    if (status == WF_OK && count_results(b) != (int64_t)wf__box_elements(&b->distributed->block, 2))
        status = WF_ERR_CONTRACT;
    wf_release(a);
    wf_release(b);
    wf_context_free(ctx);
    return status;
}

static void cancelled_work(void **state)
{
    (void)state;
    wf_status cancelled[3];
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(3, cancel, cancelled, NULL, &e) != WF_OK)
        fail_msg("rank %d: %s", (int)e.rank, e.text);
    for (int r = 0; r < 3; ++r)
        assert_int_equal(cancelled[r], r == 1 ? WF_ERR_CANCELLED : WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(before_messages), cmocka_unit_test(failed_poll),
                                        cmocka_unit_test(cancelled_work), cmocka_unit_test(same_bits),
                                        cmocka_unit_test(late_and_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
