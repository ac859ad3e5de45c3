/* test_distributed_results.c - how results are distributed that are computed from distributed arrays: the rule of
 * wf_empty_beside, and which arrays a value is computed from; mistakes. Four ranks are threads; one rank is a group, too.
 *
 * ctest: threads no_kernels
 */
#include "weft/distributed.h"
#include "weft_test.h"

enum { RANKS = 4, ALL = -1 }; /* ALL: each rank has all elements */
static const int everywhere[WF_MAX_RANK] = { ALL };

typedef struct fixture { /* of a rank */
    wf_context *ctx;
    wf_ranks *ranks;
    wf_array *volume; /* (8, 6, 10), ranks divide axis 0 */
    wf_array *blocks; /* (8, 6, 10), ranks divide axes 0 and 2 */
    wf_array *image;  /* (6, 10), ranks divide both axes */
    wf_array *own;    /* (3, 1, 1), each rank has all of it */
    wf_array *wide;   /* (7, 5), likewise */
} fixture;

static wf_array *array(fixture *f, wf_shape shape, int first, int last)
{
    wf_dist dist;
    wf_dist_options o = { .size = sizeof o };
    for (int d = 0; d < shape.rank; ++d)
        o.grid[d] = d == 0 ? first : d == shape.rank - 1 ? last : 1;
    if (wf_dist_make(&shape, RANKS, &o, &dist) != WF_OK)
        return NULL;
    wf_array *a = wf_empty_distributed(f->ctx, WF_F32, f->ranks, &dist);
    wf_array_fill(a, 1);
    return a;
}

/* Releases the result. Returns whether its grid is this one. */
static bool is_cut(const char *what, wf_array *out, const int *grid)
{
    const wf_dist *dist = wf_array_dist(out);
    bool right = out && (dist != NULL) == (grid[0] != ALL);
    for (int d = 0; dist && d < dist->shape.rank; ++d)
        right = right && dist->grid[d] == grid[d];
    if (!right && dist)
        fprintf(stderr, "%s: the grid is %d, %d, %d, %d\n", what, (int)dist->grid[0], (int)dist->grid[1],
                (int)dist->grid[2], (int)dist->grid[3]);
    else if (!right)
        fprintf(stderr, "%s: %s\n", what, out ? "each rank has all elements" : "there is no result");
    wf_release(out);
    return right;
}

/* ---- the rule ---- */
static wf_array *beside(fixture *f, wf_array *a, wf_array *b, wf_axes reduced, wf_shape shape)
{
    const wf_array *operand[] = { a, NULL, b };
    return wf_empty_beside(f->ctx, WF_F64, shape, .operand = operand, .operands = 3, .reduced = reduced);
}

static bool operands_are_right(fixture *f)
{
    const wf_axes drop = WF_DROP_AXES;
    const struct {
        const char *what;
        wf_array *a, *b;
        wf_axes reduced;
        wf_shape shape;
        int grid[WF_MAX_RANK];
    } cases[] = {
        { "one of the same shape", f->volume, f->blocks, 0, WF_SHAPE(8, 6, 10), { 4, 1, 1 } },
        { "the other one of the same shape", f->own, f->blocks, 0, WF_SHAPE(8, 6, 10), { 2, 1, 2 } },
        { "as many axes", f->image, f->blocks, 0, WF_SHAPE(4, 9, 3), { 2, 1, 2 } },
        { "a single index where ranks divide", f->volume, NULL, 0, WF_SHAPE(1, 6, 10), { 1, 2, 2 } },
        { "another axis in front", f->image, f->own, 0, WF_SHAPE(3, 6, 10), { 1, 2, 2 } },
        { "one axis", f->blocks, NULL, 0, WF_SHAPE(20), { 4 } },
        { "one element", f->blocks, NULL, 0, WF_SHAPE(1), { 4 } },
        { "no axes", f->blocks, NULL, 0, WF_SCALAR, { ALL } },
        { "nothing distributed", f->own, f->wide, 0, WF_SHAPE(3, 7, 5), { ALL } },
        { "a reduced axis stays", f->volume, NULL, WF_AXES(1), WF_SHAPE(8, 1, 10), { 4, 1, 1 } },
        { "a reduced axis is dropped", f->blocks, NULL, WF_AXES(1) | drop, WF_SHAPE(8, 10), { 2, 2 } },
        { "two are dropped", f->volume, NULL, WF_AXES(1, 2) | drop, WF_SHAPE(8), { 4 } },
        { "a divided axis is reduced", f->blocks, NULL, WF_AXES(0), WF_SHAPE(1, 6, 10), { ALL } },
        { "a divided axis is dropped", f->blocks, NULL, WF_AXES(2) | drop, WF_SHAPE(8, 6), { ALL } },
        { "an axis of another operand is dropped", f->image, f->own, WF_AXES(0) | drop, WF_SHAPE(6, 10), { 2, 2 } },
        { "an axis of another operand is reduced", f->image, f->own, WF_AXES(0), WF_SHAPE(1, 6, 10), { 1, 2, 2 } },
        { "all axes are dropped", f->volume, NULL, WF_ALL_AXES | drop, WF_SCALAR, { ALL } },
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        right =
            is_cut(cases[i].what, beside(f, cases[i].a, cases[i].b, cases[i].reduced, cases[i].shape), cases[i].grid) &&
            right;
    return right;
}

/* Axes of one operand that go along others, or along none. */
static bool axes_are_right(fixture *f)
{
    const struct {
        const char *what;
        wf_array *of;
        wf_shape shape;
        int along[3], grid[WF_MAX_RANK];
    } cases[] = {
        { "exchanged axes", f->volume, WF_SHAPE(10, 8, 6), { 1, 2, 0 }, { 1, 4, 1 } },
        { "an axis is left out", f->blocks, WF_SHAPE(8, 10), { 0, -1, 1 }, { 2, 2 } },
        { "a divided axis is left out", f->volume, WF_SHAPE(6, 10), { -1, 0, 1 }, { 2, 2 } },
        { "a new axis", f->image, WF_SHAPE(6, 3, 10), { 0, 2 }, { 2, 1, 2 } },
        { "nothing is distributed", f->wide, WF_SHAPE(5, 7), { 1, 0 }, { ALL } },
        { "no axes", f->image, WF_SCALAR, { -1, -1 }, { ALL } },
    };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const wf_array *of = cases[i].of;
        wf_array *out =
            wf_empty_beside(f->ctx, WF_F32, cases[i].shape, .operand = &of, .operands = 1, .along = cases[i].along);
        right = is_cut(cases[i].what, out, cases[i].grid) && right;
    }
    return right;
}

/* ---- what a value is computed from ---- */
static bool kept_values_are_right(fixture *f)
{
    const wf_shape plane = WF_SHAPE(8, 6);
    wf_graph *g = wf_begin(f->ctx);
    wf_val v = wf_in(g, f->blocks), own = wf_in(g, f->own), wide = wf_in(g, f->wide), image = wf_in(g, f->image);
    wf_val at = wf_cast(wf_clamp(wf_reshape(own, WF_SHAPE(3)), 0, 5), WF_I64);
    wf_array *slice = wf_keep(wf_read(g, f->volume, wf_iota(g, plane, 0), wf_iota(g, plane, 1), 3)),
             *turned = wf_keep(wf_read(g, f->volume, wf_iota(g, WF_SHAPE(6, 8), 1), wf_iota(g, WF_SHAPE(6, 8), 0), 3)),
             *more = wf_keep(wf_mul(own, image)),
             *joined = wf_keep(wf_mul(wide, wf_reshape(wf_sum(v, WF_ALL_AXES), WF_SHAPE(1, 1)))),
             *partly = wf_keep(wf_reshape(wf_sum(v, WF_AXES(1)), WF_SHAPE(8, 10))),
             *same = wf_keep(wf_mul(image, wf_reshape(wf_sum(v, WF_AXES(0)), WF_SHAPE(6, 10)))),
             *gathered = wf_keep(wf_read(g, f->image, at, at));
    bool right = wf_run(g) == WF_OK;
    g = wf_begin(f->ctx);
    wf_array *first = wf_keep(wf_reshape(wf_sum(wf_in(g, f->blocks), WF_AXES(0)), WF_SHAPE(6, 10)));
    right = wf_run(g) == WF_OK && right;
    right = is_cut("a slice", slice, (int[]){ 4, 1 }) && right;
    right = is_cut("a transposed slice", turned, (int[]){ 1, 4 }) && right;
    right = is_cut("an outer product", more, (int[]){ 1, 2, 2 }) && right;
    right = is_cut("a joined sum", joined, everywhere) && right;
    right = is_cut("sums that need no join", partly, (int[]){ 2, 2 }) && right;
    right = is_cut("joined sums of lines", first, everywhere) && right;
    right = is_cut("joined sums beside an array", same, (int[]){ 2, 2 }) && right;
    return is_cut("elements at positions that all ranks have", gathered, everywhere) && right;
}

static bool points_are_right(fixture *f)
{
    wf_graph *g = wf_begin(f->ctx, .shape = WF_SHAPE(8, 10));
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), v = wf_read(g, f->blocks, y, 2, x), none = wf_mul(x, 2);
    wf_array *cut = wf_empty_beside(f->ctx, WF_F32, WF_SHAPE(8, 10), .graph = g, .value = v),
             *read = wf_empty_beside(f->ctx, WF_F32, WF_SHAPE(8, 10), .graph = g),
             *lent = wf_empty_beside(f->ctx, WF_F32, WF_SHAPE(8, 10), .graph = g, .value = none,
                                     .operand = (const wf_array *const[]){ f->image }, .operands = 1);
    wf_out(g, cut, v);
    wf_out(g, read, wf_select(wf_gt(v, 0), 1.f, 2.f));
    wf_out(g, lent, wf_cast(none, WF_F32));
    bool right = wf_run(g) == WF_OK;
    g = wf_begin(f->ctx, .shape = WF_SHAPE(8, 10));
    none = wf_mul(wf_cast(wf_index(g, 1), WF_F32), wf_read(g, f->wide, 1, 2));
    wf_array *all = wf_empty_beside(f->ctx, WF_F32, WF_SHAPE(8, 10), .graph = g, .value = none);
    wf_out(g, all, none);
    right = wf_run(g) == WF_OK && right;
    right = is_cut("a value of indices", all, everywhere) && right;
    right = is_cut("an element", cut, (int[]){ 2, 2 }) && right;
    right = is_cut("all that is read", read, (int[]){ 2, 2 }) && right;
    return is_cut("a value of indices beside an array", lent, (int[]){ 2, 2 }) && right;
}

/* ---- mistakes ---- */
static bool fails(fixture *f, wf_array *out, wf_status status, const char *part)
{
    const bool right = !out && wf_last_status(f->ctx) == status && strstr(wf_last_message(f->ctx), part);
    wf_release(out);
    wf_clear_error(f->ctx);
    return right;
}

/* In each turn of a loop, an ordinary array gets what the distributed one is computed from in the next turn. */
static bool loop_is_refused(fixture *f)
{
    wf_array *own = wf_full(f->ctx, WF_F32, WF_SHAPE(6, 10), 2);
    wf_graph *g = wf_begin(f->ctx, .shape = WF_SHAPE(6, 10));
    wf_val k, y = wf_index(g, 0), x = wf_index(g, 1);
    WF_FOR (g, k, 0, 3, 1) {
        wf_write(g, f->image, wf_mul(wf_read(g, own, y, x), 2), y, x);
        wf_write(g, own, wf_add(wf_read(g, own, y, x), wf_cast(k, WF_F32)), y, x);
        WF_END(g);
    }
    const bool right = wf_run(g) == WF_ERR_UNSUPPORTED && strstr(wf_last_message(f->ctx), "make it two launches");
    wf_clear_error(f->ctx);
    wf_release(own);
    return right;
}

static bool mistakes_are_found(fixture *f)
{
    const wf_shape deep = { .rank = WF_MAX_RANK + 1 };
    const wf_array *const operand[] = { f->blocks };
    bool right = fails(f, wf_empty_beside(f->ctx, WF_NONE, WF_SHAPE(4), .operand = operand, .operands = 1), WF_ERR_ARG,
                       "wf_empty_beside: there are no arrays of dtype none");
    right = fails(f, wf_empty_beside(f->ctx, WF_F32, deep, .operand = operand, .operands = 1), WF_ERR_SHAPE,
                  "wf_empty_beside: rank 9") &&
            right;
    right = fails(f, wf_empty_beside(f->ctx, WF_F32, WF_SHAPE(4, -1), .operand = operand, .operands = 1), WF_ERR_SHAPE,
                  "wf_empty_beside: shape (4, ") &&
            right;
    right = loop_is_refused(f) && right;
    return !wf_empty_beside(NULL, WF_F32, WF_SHAPE(4), .operand = operand, .operands = 1) && right;
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    fixture f = { .ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP }),
                  .ranks = ranks };
    bool (*const check)(fixture * f) = *(bool (**)(fixture * f)) user;
    f.volume = array(&f, WF_SHAPE(8, 6, 10), 4, 1);
    f.blocks = array(&f, WF_SHAPE(8, 6, 10), 2, 2);
    f.image = array(&f, WF_SHAPE(6, 10), 2, 2);
    f.own = wf_full(f.ctx, WF_F32, WF_SHAPE(3, 1, 1), 2);
    f.wide = wf_full(f.ctx, WF_F32, WF_SHAPE(7, 5), 3);
    const bool right = check(&f);
    char text[300];
    snprintf(text, sizeof text, "%.290s", wf_last_message(f.ctx));
    wf_array *all[] = { f.volume, f.blocks, f.image, f.own, f.wide };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    wf_context_free(f.ctx);
    return wf_ranks_agree(ranks, right ? WF_OK : WF_ERR_CONTRACT, text, NULL);
}

static void check(bool (*what)(fixture *f))
{
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(RANKS, on_rank, &what, NULL, &e) != WF_OK)
        fail_msg("rank %d: %s", (int)e.rank, e.text);
}

/* ---- one rank ---- */
static bool has_all(wf_array *out, float first)
{
    float got = -1;
    wf_array *all = wf_array_collect(out);
    const bool right = !wf_array_dist(out) && all == out && wf_download(out, &got, sizeof got) == WF_OK && got == first;
    wf_release(all);
    wf_release(out);
    return right;
}

/* What a reduction leaves of all elements is ordinary, as over several ranks. */
static wf_status on_one_rank(wf_ranks *ranks, void *user)
{
    (void)user;
    const wf_shape shape = WF_SHAPE(8, 6, 10);
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&shape, 1, NULL, &dist);
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
    wf_array_fill(a, 2);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a), sum = wf_sum(v, WF_ALL_AXES);
    wf_array *kept = wf_keep(wf_sqrt(wf_mul(sum, 15))), *beside = wf_keep(wf_mul(v, sum)),
             *some = wf_keep(wf_sum(v, WF_AXES(0, 1)));
    bool right = wf_run(g) == WF_OK && has_all(kept, 120);
    right = has_all(wf_array_sum(a, WF_ALL_AXES), 960) && right;
    right = has_all(wf_array_max(a, WF_ALL_AXES | WF_DROP_AXES), 2) && right;
    right = is_cut("an array times its sum", beside, (int[]){ 1, 1, 1 }) && right;
    right = is_cut("sums over some axes", some, (int[]){ 1, 1, 1 }) && right;
    right = right && wf_last_status(ctx) == WF_OK && !wf_array_collect(NULL);
    wf_release(a);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void one_rank(void **state)
{
    (void)state;
    wf_ranks_error e = { 0 };
    if (wf_ranks_threads(1, on_one_rank, NULL, NULL, &e) != WF_OK)
        fail_msg("%s", e.text);
}

static void operands(void **state)
{
    (void)state;
    check(operands_are_right);
}

static void axes(void **state)
{
    (void)state;
    check(axes_are_right);
}

static void kept_values(void **state)
{
    (void)state;
    check(kept_values_are_right);
}

static void values_at_points(void **state)
{
    (void)state;
    check(points_are_right);
}

static void mistakes(void **state)
{
    (void)state;
    check(mistakes_are_found);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(operands),    cmocka_unit_test(axes),
                                        cmocka_unit_test(kept_values), cmocka_unit_test(values_at_points),
                                        cmocka_unit_test(mistakes),    cmocka_unit_test(one_rank) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
