/* test_distributed.c - recordings of distributed arrays: any number of ranks and any grid give the bits of one process
 * that has all elements. Ranks are threads, each with a context of its own.
 *
 * ctest: threads long first_tier
 */
#include "distributed_cases.h"
#include "object/object.h"
#include "weft_test.h"

static void check_on(wf_device device, int ranks, int threads, uint64_t seed, int cut, wf__fence fence)
{
    static unsigned number;
    for (const distributed_case *c = distributed_cases; c->name; ++c) {
        if (test_choice(number++, TEST_EVERY)) /* with a sanitizer each case runs in some of these ways */
            continue;
        distributed_run run = { .it = c, .threads = threads, .cut = cut, .fence = fence, .device = device };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
        wf_status status = wf_ranks_threads(ranks, distributed_on_rank, &run, &o, &e);
        distributed_end(&run);
        if (status != WF_OK)
            fail_msg("%s on %d ranks, %d threads, cut %d: rank %d: %s", c->name, ranks, threads, cut, (int)e.rank,
                     e.text);
    }
}

static void check(int ranks, int threads, uint64_t seed, int cut, wf__fence fence)
{
    check_on(WF_CPU, ranks, threads, seed, cut, fence);
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 3, 4, 6, 8 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i += TEST_RACES ? 3 : 1)
        check(ranks[i], 1, 0, 0, i % 2 ? WF__FENCE_BEFORE : WF__FENCE_BEHIND);
}

static void other_grids(void **state)
{
    (void)state;
    for (int cut = 1; cut <= 3; cut += TEST_RACES ? 3 : 1)
        check(4, 1, 0, cut, WF__FENCE_BEHIND);
    check(4, 1, 0, 2, WF__FENCE_BEFORE); /* here parts of rows begin at elements of memory */
}

static void interpreted(void **state)
{
    (void)state;
    if (!TEST_RACES)
        check_on(WF_INTERP, 4, 1, 0, 0, WF__FENCE_BEHIND);
    check_on(WF_INTERP, 3, 1, 0, 2, WF__FENCE_BEFORE);
}

static void several_threads(void **state)
{
    (void)state;
    check(2, 2, 0, 0, WF__FENCE_NONE);
}

static void in_turns(void **state)
{
    (void)state;
    check(3, 1, 77, 0, WF__FENCE_NONE);
}

static void random_recordings(void **state)
{
    (void)state;
    const char *count = getenv("WEFT_TEST_ROUNDS");
    long rounds = count ? atol(count) : 60;
    for (long k = 1; k <= rounds; k += TEST_EVERY) {
        distributed_run run = { .it = &distributed_random,
                                .threads = 1 + (int)(k % 2),
                                .cut = (int)(k % 4),
                                .seed = (uint64_t)k,
                                .fence = (wf__fence)(k / 2 % 3),
                                .device = k % 3 ? WF_INTERP : WF_CPU };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        wf_status status = wf_ranks_threads(1 + (int)(k % 5), distributed_on_rank, &run, NULL, &e);
        distributed_end(&run);
        if (status != WF_OK)
            fail_msg("seed %ld: rank %d: %s", k, (int)e.rank, e.text);
    }
}

/* A rank is lost anywhere in a recording, while messages come in any order. All others end, and none because they wait
 * for each other. Without an error the results are those of one process. */
static void lost_ranks(void **state)
{
    (void)state;
    const char *count = getenv("WEFT_TEST_ROUNDS");
    long rounds = count ? atol(count) : 120, runs = 0, failures = 0;
    for (long k = 1; k <= rounds; k += TEST_EVERY, ++runs) {
        const int ranks = 2 + (int)(k % 4);
        distributed_run run = { .it = &distributed_random,
                                .threads = 1,
                                .cut = (int)(k % 3),
                                .seed = (uint64_t)k,
                                .device = WF_INTERP,
                                .loses = true };
        wf_ranks_threads_options o = { .size = sizeof o,
                                       .seed = (uint64_t)k,
                                       .lost_rank = (int)(k / 4 % ranks),
                                       .lost_after = 1 + (uint32_t)(k * 7919 % 150) };
        wf_ranks_error e = { 0 };
        distributed_alone(&run);
        wf_status status = wf_ranks_threads(ranks, distributed_on_rank, &run, &o, &e);
        distributed_end(&run);
        if (run.deadlocks || (status != WF_OK && status != WF_ERR_BACKEND))
            fail_msg("seed %ld: %d deadlocks; rank %d: %s: %s", k, run.deadlocks, (int)e.rank, wf_status_name(status),
                     e.text);
        failures += status != WF_OK;
    }
    assert_true(failures > runs / 4 && failures < runs);
}

/* ---- elements that lie apart from a rank's block ---- */
enum { SIDE = 24 };

static wf_array *slabs(wf_context *ctx, wf_ranks *ranks, int axis)
{
    wf_dist dist;
    wf_dist_options o = { .size = sizeof o, .grid = { 1, 1 } };
    o.grid[axis] = wf_ranks_size(ranks);
    return wf_dist_make(&WF_SHAPE(SIDE, SIDE), wf_ranks_size(ranks), &o, &dist) == WF_OK
               ? wf_empty_distributed(ctx, WF_I32, ranks, &dist)
               : NULL;
}

static wf_status fill(wf_context *ctx, wf_array *a, int first)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_val at = wf_add(wf_mul(wf_index(g, 0), SIDE), wf_index(g, 1));
    wf_out(g, a, wf_cast(wf_add(at, first), WF_I32));
    return wf_run(g);
}

/* out[i, j] = a[i, j] + 1000 a[j, i] + 1000000 * (a[i + 1, j] is greater, but for the last row) */
static wf_status combine(wf_context *ctx, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), v = wf_in(g, a);
    wf_val below = wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(i, 1), j);
    v = wf_add(v, wf_mul(wf_read(g, a, j, i), 1000));
    wf_out(g, out, wf_add(v, wf_mul(wf_cast(wf_gt(below, wf_in(g, a)), WF_I32), 1000000)));
    return wf_run(g);
}

static bool holds_block_alone(const wf_array *a)
{
    const wf__distributed *d = a->distributed;
    return wf__box_within(&d->held, &d->block, a->shape.rank);
}

static wf_status read_apart(wf_ranks *ranks, void *user)
{
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1 });
    wf_array *a = slabs(ctx, ranks, 0), *b = slabs(ctx, ranks, 1), *c = slabs(ctx, ranks, 0), *all = NULL;
    const char *wrong = a && b && c ? NULL : "no arrays";
    (void)user;
    for (int turn = 0; turn < 3 && !wrong; ++turn) { /* each time the elements are new */
        int32_t got[SIDE][SIDE];
        int first = turn * 100;
        wf_graph *g = NULL;
        if (fill(ctx, a, first) == WF_OK) {
            g = wf_begin(ctx);
            wf_out(g, b, wf_in(g, a));
        }
        if (!g || wf_run(g) != WF_OK ||
            (wf_ranks_size(ranks) > 2 && !(holds_block_alone(a) && (turn || holds_block_alone(b)))))
            wrong = "a copy to other blocks";
        else if (combine(ctx, b, c) != WF_OK || !(all = wf_array_collect(c)) ||
                 wf_download(all, got, sizeof got) != WF_OK)
            wrong = "a launch";
        for (int i = 0; i < SIDE && !wrong; ++i)
            for (int j = 0; j < SIDE; ++j)
                if (got[i][j] != i * SIDE + j + first + 1000 * (j * SIDE + i + first) + (i + 1 < SIDE ? 1000000 : 0))
                    wrong = "a number";
        wf_release(all);
        all = NULL;
    }
    char text[256];
    snprintf(text, sizeof text, "%s: %.200s", wrong ? wrong : "", wf_last_message(ctx));
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_context_free(ctx);
    return wf_ranks_agree(ranks, wrong ? WF_ERR_BACKEND : WF_OK, text, NULL);
}

/* Launches of a kernel with the arrays of an earlier launch: what they write is fetched anew by others. */
static wf_status launch_again(wf_ranks *ranks, void *user)
{
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1 });
    wf_array *a = slabs(ctx, ranks, 0), *out = slabs(ctx, ranks, 0);
    bool ok = a && out && fill(ctx, a, 0) == WF_OK;
    (void)user;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_array *x = wf_formal(g, "x", WF_I32, 2), *y;
    wf_out(g, x, wf_add(wf_in(g, x), 1));
    wf_kernel *add = wf_compile(g), *below;
    g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    x = wf_formal(g, "x", WF_I32, 2), y = wf_formal(g, "y", WF_I32, 2);
    wf_out(g, y, wf_read_border(g, x, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 1), wf_index(g, 1)));
    below = wf_compile(g);
    for (int turn = 1; turn <= 6 && ok; ++turn) {
        int32_t got[SIDE][SIDE];
        ok = wf_launch(add, WF_ARGS(WF_ARG("x", a))) == WF_OK &&
             wf_launch(below, WF_ARGS(WF_ARG("x", a), WF_ARG("y", out))) == WF_OK;
        wf_array *all = ok ? wf_array_collect(out) : NULL;
        ok = all && wf_download(all, got, sizeof got) == WF_OK;
        for (int i = 0; i < SIDE && ok; ++i)
            for (int j = 0; j < SIDE && ok; ++j)
                ok = got[i][j] == (i + 1 < SIDE ? i + 1 : i) * SIDE + j + turn;
        wf_release(all);
    }
    wf_kernel_free(add);
    wf_kernel_free(below);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
    return wf_ranks_agree(ranks, ok ? WF_OK : WF_ERR_BACKEND, "a launch or a number is wrong", NULL);
}

/* out[i, j] = a[i - 1, j - 1] + 1000 a[i + 2, j]: a rank has memory for its block and three more rows. */
static wf_status read_around(wf_ranks *ranks, void *user)
{
    const int *axis = user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *a = slabs(ctx, ranks, *axis), *out = slabs(ctx, ranks, *axis);
    fill(ctx, a, 7);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_val at[2] = { wf_index(g, *axis), wf_index(g, 1 - *axis) }, v[2];
    for (int k = 0; k < 2; ++k) {
        wf_val divided = wf_add(at[0], k ? 2 : -1), other = wf_add(at[1], k ? 0 : -1);
        v[k] = wf_read_border(g, a, WF_BORDER_PERIODIC, 0, *axis ? other : divided, *axis ? divided : other);
    }
    wf_out(g, out, wf_add(v[0], wf_mul(v[1], 1000)));
    wf_status status = wf_run(g);
    const wf__distributed *d = a->distributed;
    if (wf__box_elements(&d->held, 2) > wf__box_elements(&d->block, 2) + 3 * SIDE)
        status = WF_ERR_CONTRACT;
    wf_array *all = status == WF_OK ? wf_array_collect(out) : NULL;
    int32_t *got = NULL;
    if (status == WF_OK)
        status = wf_map(all, (void **)&got, NULL);
    for (int i = 0; i < SIDE && status == WF_OK; ++i)
        for (int j = 0; j < SIDE; ++j) {
            const int up = (i + SIDE - 1) % SIDE, left = (j + SIDE - 1) % SIDE;
            const int down = *axis ? i : (i + 2) % SIDE, right = *axis ? (j + 2) % SIDE : j;
            if (got[i * SIDE + j] != up * SIDE + left + 7 + 1000 * (down * SIDE + right + 7))
                status = WF_ERR_CONTRACT;
        }
    wf_release(all);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
    return status;
}

/* out[SIDE - 1 - i, j] = a[at[i, j], j] where ranks divide axis 1: they fetch nothing. */
static wf_status read_own(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *a = slabs(ctx, ranks, 1), *at = slabs(ctx, ranks, 1), *out = slabs(ctx, ranks, 1);
    fill(ctx, a, 7);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_out(g, at, wf_mod(wf_add(wf_mul(wf_index(g, 0), 5), wf_index(g, 1)), SIDE));
    wf_run(g);
    g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_write(g, out, wf_read(g, a, wf_in(g, at), j), wf_sub(SIDE - 1, i), j);
    wf_status status = wf_run(g);
    if (!holds_block_alone(a) || !holds_block_alone(out) || a->distributed->exchange || out->distributed->exchange)
        status = WF_ERR_CONTRACT;
    wf_array *all = status == WF_OK ? wf_array_collect(out) : NULL;
    int32_t *got = NULL;
    if (status == WF_OK)
        status = wf_map(all, (void **)&got, NULL);
    for (int y = 0; y < SIDE && status == WF_OK; ++y)
        for (int x = 0; x < SIDE; ++x)
            if (got[(SIDE - 1 - y) * SIDE + x] != (5 * y + x) % SIDE * SIDE + x + 7)
                status = WF_ERR_CONTRACT;
    wf_release(all);
    wf_release(a);
    wf_release(at);
    wf_release(out);
    wf_context_free(ctx);
    return status;
}

static void whole_axes_fetch_nothing(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ++ranks) {
        wf_ranks_error e = { 0 };
        if (wf_ranks_threads(ranks, read_own, NULL, NULL, &e) != WF_OK)
            fail_msg("%d ranks: rank %d: %s: %s", ranks, (int)e.rank, wf_status_name(e.status), e.text);
    }
}

static void periodic_borders(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 24; ranks += ranks < 6 ? 1 : 6)
        for (int axis = 0; axis < 2; ++axis) {
            wf_ranks_error e = { 0 };
            if (wf_ranks_threads(ranks, read_around, &axis, NULL, &e) != WF_OK)
                fail_msg("%d ranks, axis %d: rank %d: %s", ranks, axis, (int)e.rank, wf_status_name(e.status));
        }
}

/* A rank has memory for its block and for the rest of a part of a scan, not for all elements before it. */
static wf_status scan_long(wf_ranks *ranks, void *user)
{
    enum { N = 1 << 20 };
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(N), wf_ranks_size(ranks), NULL, &dist);
    wf_array *a = wf_empty_distributed(ctx, WF_I32, ranks, &dist);
    wf_array *out = wf_empty_distributed(ctx, WF_I32, ranks, &dist);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_out(g, a, 3);
    wf_run(g);
    g = wf_begin(ctx);
    wf_out(g, out, wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false));
    wf_status status = wf_run(g);
    const wf__distributed *d = out->distributed;
    if (status == WF_OK && wf__box_elements(&d->held, 1) > wf__box_elements(&d->block, 1) + WF__SCAN_PART)
        status = WF_ERR_CONTRACT;
    int32_t last = 0;
    wf_array *block = status == WF_OK ? wf_array_block(out) : NULL;
    const int64_t n = block ? wf_array_shape(block).dim[0] : 0, first = d->block.lo[0];
    wf_array *end = n ? wf_view_slice(block, 0, n - 1, n, 1) : NULL;
    if (end && (wf_download(end, &last, sizeof last) != WF_OK || last != 3 * (first + n)))
        status = WF_ERR_CONTRACT;
    wf_release(end);
    wf_release(block);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
    return status;
}

static void long_scans(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ++ranks) {
        wf_ranks_error e = { 0 };
        if (wf_ranks_threads(ranks, scan_long, NULL, NULL, &e) != WF_OK)
            fail_msg("%d ranks: rank %d: %s: %s", ranks, (int)e.rank, wf_status_name(e.status), e.text);
    }
}

static void repeated_launches(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 3; ++ranks) {
        wf_ranks_error e = { 0 };
        if (wf_ranks_threads(ranks, launch_again, NULL, NULL, &e) != WF_OK)
            fail_msg("%d ranks: rank %d: %s", ranks, (int)e.rank, e.text);
    }
}

static void other_blocks_and_transposed(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ++ranks) {
        wf_ranks_error e = { 0 };
        if (wf_ranks_threads(ranks, read_apart, NULL, NULL, &e) != WF_OK)
            fail_msg("%d ranks: rank %d: %s", ranks, (int)e.rank, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks),
        cmocka_unit_test(other_grids),
        cmocka_unit_test(interpreted),
        cmocka_unit_test(several_threads),
        cmocka_unit_test(in_turns),
        cmocka_unit_test(random_recordings),
        cmocka_unit_test(lost_ranks),
        cmocka_unit_test(other_blocks_and_transposed),
        cmocka_unit_test(long_scans),
        cmocka_unit_test(whole_axes_fetch_nothing),
        cmocka_unit_test(periodic_borders),
        cmocka_unit_test(repeated_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
