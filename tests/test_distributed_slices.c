/* test_distributed_slices.c - slices of distributed arrays, writing to them, and other shapes of arrays are those of views of
 * ordinary arrays, for any number of ranks and any grid. Ranks are threads, each with a context of its own.
 *
 * ctest: threads first_tier
 */
#include "distributed_world.h"
#include "weft/functions.h"
#include "weft_test.h"

static const wf_shape deep = { .rank = 3, .dim = { 7, 9, 14 } }, flat = { .rank = 2, .dim = { 12, 10 } };

/* One axis of a result, in the way of views: elements of an axis of the array, from one index to another one. */
typedef struct range {
    int axis; /* -1: a new axis of extent 1 */
    int64_t start, stop, step;
} range;
typedef struct key {
    wf_shape whole;
    int rank; /* of the result */
    range range[5];
    int64_t at[3]; /* the index along axes that are no axes of the result */
} key;

static const key keys[] = {
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 0, 2, 10, 1 }, { 1, 0, 10, 1 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 0, 0, 12, 2 }, { 1, 1, 10, 3 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 0, 11, WF_END_INDEX, -1 }, { 1, 9, 1, -2 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 1, { { 1, 0, 10, 1 } }, { 3 } },
    { { .rank = 2, .dim = { 12, 10 } }, 1, { { 0, 1, 12, 4 } }, { 0, 9 } },
    { { .rank = 2, .dim = { 12, 10 } }, 0, { { 0 } }, { 11, 4 } },
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 1, 0, 10, 1 }, { 0, 0, 12, 1 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 3, { { 0, 0, 12, 1 }, { -1, 0, 0, 0 }, { 1, 0, 10, 1 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 0, 5, 6, 1 }, { 1, 0, 10, 1 } }, { 0 } },
    { { .rank = 2, .dim = { 12, 10 } }, 2, { { 0, 5, 5, 1 }, { 1, 0, 10, 1 } }, { 0 } },
    { { .rank = 3, .dim = { 7, 9, 14 } }, 3, { { 2, 0, 14, 1 }, { 0, 0, 7, 2 }, { 1, 8, 2, -1 } }, { 0 } },
    { { .rank = 3, .dim = { 7, 9, 14 } }, 2, { { 2, 3, 14, 5 }, { 0, 6, WF_END_INDEX, -3 } }, { 0, 4 } },
    { { .rank = 3, .dim = { 7, 9, 14 } },
      5,
      { { -1, 0, 0, 0 }, { 0, 0, 7, 1 }, { 1, 0, 9, 1 }, { -1, 0, 0, 0 }, { 2, 0, 14, 1 } },
      { 0 } },
    { { .rank = 1, .dim = { 40 } }, 2, { { 0, 0, 40, 1 }, { -1, 0, 0, 0 } }, { 0 } },
    { { .rank = 1, .dim = { 40 } }, 1, { { 0, 39, WF_END_INDEX, -1 } }, { 0 } },
};
enum { KEYS = sizeof keys / sizeof *keys };

static int64_t count_of(const range *r)
{
    const int64_t stop = r->stop == WF_END_INDEX ? -1 : r->stop, by = r->step < 0 ? -r->step : r->step;
    const int64_t far = r->step < 0 ? r->start - stop : stop - r->start;
    return r->axis < 0 ? 1 : far > 0 ? (far + by - 1) / by : 0;
}

/* Sets the slices of a key; returns the shape of the result. */
static wf_shape slices_of(const key *k, wf_axis_slice *slice)
{
    wf_shape shape = { .rank = k->rank };
    for (int d = 0; d < k->whole.rank; ++d)
        slice[d] = (wf_axis_slice){ .start = k->at[d], .step = 3, .along = -1 };
    for (int d = 0; d < k->rank; ++d) {
        const range *r = &k->range[d];
        shape.dim[d] = count_of(r);
        if (r->axis >= 0)
            slice[r->axis] = (wf_axis_slice){ r->start, r->step, d };
    }
    return shape;
}

/* Replaces a view by another one. */
static void next(wf_array **view, wf_array *made)
{
    wf_release(*view);
    *view = made;
}

/* Returns the view of an ordinary array. */
static wf_array *view_of(const key *k, wf_array *a)
{
    wf_array *view = wf_retain(a);
    int order[3], n = 0;
    wf_shape shape = { .rank = k->rank };
    for (int d = 0; d < k->rank; ++d) {
        const range *r = &k->range[d];
        shape.dim[d] = count_of(r);
        if (r->axis >= 0) {
            next(&view, wf_view_slice(view, r->axis, r->start, r->stop, r->step));
            order[n++] = r->axis;
        }
    }
    for (int d = 0, m = n; d < k->whole.rank; ++d) { /* the axes that no slice has named come last */
        bool named = false;
        for (int i = 0; i < n; ++i)
            named = named || order[i] == d;
        if (!named)
            order[m++] = d;
    }
    next(&view, wf_view_permute(view, order));
    for (int d = k->whole.rank - 1; d >= n; --d)
        next(&view, wf_view_at(view, d, k->at[order[d]]));
    next(&view, wf_view_reshape(view, shape));
    return view;
}

static void slices(distributed_world *w)
{
    for (int i = 0; i < KEYS; ++i) {
        wf_array *a = world_filled(w, i % 2 ? WF_F32 : WF_F64, keys[i].whole, 3), *made;
        if (w->ranks) {
            wf_axis_slice slice[3];
            const wf_shape shape = slices_of(&keys[i], slice);
            made = wf_array_slice(a, shape, slice);
            if (shape.rank)
                world_divided(w, made);
        } else {
            wf_array *view = view_of(&keys[i], a);
            made = wf_array_copy(view);
            wf_release(view);
        }
        world_result(w, made);
        wf_release(a);
    }
}

/* Values that are distributed, ordinary, or one element for all. */
static wf_array *values_of(distributed_world *w, wf_shape shape, int kind)
{
    if (kind == 2)
        for (int d = 0; d < shape.rank; ++d)
            shape.dim[d] = 1;
    if (kind == 3 && shape.rank) { /* fewer axes */
        for (int d = 0; d + 1 < shape.rank; ++d)
            shape.dim[d] = shape.dim[d + 1];
        --shape.rank;
    }
    return kind == 0 && shape.rank ? world_filled(w, WF_F32, shape, 4) : world_whole(w, WF_I32, shape, 5);
}

static void assigned(distributed_world *w)
{
    for (int i = 0; i < 4 * KEYS; ++i) {
        const key *k = &keys[i / 4];
        wf_axis_slice slice[3];
        const wf_shape shape = slices_of(k, slice);
        wf_array *a = world_filled(w, WF_F64, k->whole, 6), *values = values_of(w, shape, i % 4);
        if (w->ranks)
            wf_array_assign_slice(a, shape, slice, values);
        else {
            wf_array *view = view_of(k, a);
            wf_array_assign(view, values);
            wf_release(view);
        }
        world_failed(w);
        world_result(w, world_divided(w, a));
        wf_release(values);
    }
}

/* Elements that all ranks know before are read again after other ranks have written them. */
static void own_elements(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, flat, 7);
    for (int i = 0; i < 3; ++i) {
        const wf_axis_slice from[] = { { 0, 1, 0 }, { 0, 1, 1 } }, to[] = { { 11, -1, 0 }, { i, 1, 1 } };
        wf_array *part = wf_array_slice(a, WF_SHAPE(12, 8), from);
        wf_array_assign_slice(a, WF_SHAPE(12, 8), to, part);
        wf_array_assign_slice(a, flat, (wf_axis_slice[]){ { 0, 1, 0 }, { 9, -1, 1 } }, a);
        world_failed(w);
        wf_release(part);
        world_spoil(w, a);
    }
    world_result(w, a);
}

/* One element for many: along an axis of the result that is no axis of the array, and by a step of 0. */
static void repeated(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, flat, 8);
    const wf_axis_slice across[] = { { 0, 1, 1 }, { 0, 1, 2 } }, still[] = { { 4, 0, 0 }, { 0, 1, 1 } };
    world_result(w, world_divided(w, wf_array_slice(a, WF_SHAPE(3, 12, 10), across)));
    world_result(w, world_divided(w, wf_array_slice(a, WF_SHAPE(12, 10), still)));
    wf_release(a);
}

static void shapes(distributed_world *w)
{
    static const wf_shape from[] = { { .rank = 2, .dim = { 12, 10 } }, { .rank = 3, .dim = { 7, 9, 14 } } },
                          to[][5] = { { { .rank = 1, .dim = { 120 } },
                                        { .rank = 2, .dim = { 10, 12 } },
                                        { .rank = 3, .dim = { 4, 3, 10 } },
                                        { .rank = 4, .dim = { 1, 12, 1, 10 } },
                                        { .rank = 2, .dim = { 60, 2 } } },
                                      { { .rank = 1, .dim = { 882 } },
                                        { .rank = 2, .dim = { 63, 14 } },
                                        { .rank = 2, .dim = { 7, 126 } },
                                        { .rank = 3, .dim = { 14, 7, 9 } },
                                        { .rank = 4, .dim = { 7, 3, 3, 14 } } } };
    for (int i = 0; i < 10; ++i) {
        wf_array *a = world_filled(w, WF_F32, from[i / 5], 9);
        world_result(w, world_divided(w, wf_array_reshape(a, to[i / 5][i % 5])));
        wf_release(a);
    }
    wf_array *line = world_filled(w, WF_I32, WF_SHAPE(96), 10), *one = world_filled(w, WF_F32, WF_SHAPE(1, 1), 11);
    world_result(w, world_divided(w, wf_array_reshape(line, WF_SHAPE(8, 12))));
    world_result(w, world_divided(w, wf_array_reshape(line, WF_SHAPE(2, -1, 16))));
    world_result(w, wf_array_reshape(one, WF_SCALAR));
    wf_release(line);
    wf_release(one);
}

static void axes(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, deep, 12), *b = world_filled(w, WF_I32, flat, 13);
    world_result(w, world_divided(w, wf_array_permute(a, (int[]){ 2, 0, 1 })));
    world_result(w, world_divided(w, wf_array_permute(b, (int[]){ 1, 0 })));
    wf_release(a);
    wf_release(b);
}

static const distributed_case cases[] = {
    { "slices", slices },     { "assigned", assigned }, { "own elements", own_elements },
    { "repeated", repeated }, { "shapes", shapes },     { "axes", axes },
};

enum { CASES = sizeof cases / sizeof *cases };

static void ranks_and_grids(void **state)
{
    (void)state;
    distributed_check_cuts(cases, CASES);
}

static void compiled_code(void **state)
{
    (void)state;
    distributed_check(cases, CASES, 4, 1, 3, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(cases, CASES, 3, 2, 1, WF_CPU, WF__FENCE_BEHIND);
}

/* ---- mistakes ---- */
static bool refused(wf_context *ctx, bool failed, wf_status status, const char *part)
{
    const bool right = failed && wf_last_status(ctx) == status && strstr(wf_last_message(ctx), part);
    if (!right)
        fprintf(stderr, "%s, not '%s': %s\n", wf_status_name(wf_last_status(ctx)), part, wf_last_message(ctx));
    wf_clear_error(ctx);
    return right;
}

static wf_status refuse(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(12, 5), wf_ranks_size(ranks), NULL, &dist);
    wf_array *x = wf_empty_distributed(ctx, WF_F32, ranks, &dist), *c = wf_full(ctx, WF_C64, WF_SCALAR, 1),
             *line = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    wf_array_fill(x, 1);
    const wf_axis_slice far[] = { { 2, 1, 0 }, { 0, 1, 1 } }, wrong[] = { { 0, 1, 0 }, { 0, 1, 2 } },
                        right_one[] = { { 0, 1, 0 }, { 0, 1, 1 } };
    const wf_shape shape = WF_SHAPE(12, 5), deeper = { .rank = WF_MAX_RANK + 1 };
    bool right =
        refused(ctx, !wf_array_slice(x, shape, far), WF_ERR_BOUNDS, "12 elements from 2 on, by 1, along axis 0");
    right = refused(ctx, !wf_array_slice(x, shape, wrong), WF_ERR_ARG, "axis 1 goes along axis 2") && right;
    right = refused(ctx, !wf_array_slice(x, shape, NULL), WF_ERR_ARG, "a slice for each axis") && right;
    right = refused(ctx, !wf_array_slice(x, deeper, far), WF_ERR_SHAPE, "not 9") && right;
    right = refused(ctx, wf_array_assign_slice(x, shape, right_one, c) != WF_OK, WF_ERR_DTYPE, "complex") && right;
    right =
        refused(ctx, wf_array_assign_slice(x, shape, right_one, line) != WF_OK, WF_ERR_SHAPE, "does not broadcast") &&
        right;
    right = refused(ctx, wf_array_assign_slice(x, shape, right_one, NULL) != WF_OK, WF_ERR_ARG, "NULL") && right;
    right = refused(ctx, !wf_array_reshape(x, WF_SHAPE(11, 5)), WF_ERR_SHAPE, "does not have the elements") && right;
    right = refused(ctx, !wf_array_reshape(x, WF_SHAPE(-1, 7)), WF_ERR_SHAPE, "does not have the elements") && right;
    right = refused(ctx, !wf_array_reshape(x, WF_SHAPE(-1, -1)), WF_ERR_SHAPE, "does not have the elements") && right;
    right = refused(ctx, !wf_array_permute(x, (int[]){ 1, 1 }), WF_ERR_ARG, "each of the 2 axes once") && right;
    wf_release(x);
    wf_release(c);
    wf_release(line);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void mistakes(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_and_grids), cmocka_unit_test(compiled_code),
                                        cmocka_unit_test(mistakes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
