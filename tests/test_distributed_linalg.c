/* test_distributed_linalg.c - linear algebra on distributed arrays of matrices has the bits of one process, for any number of
 * ranks and any grid; results are distributed as the operand, and a matrix without a result is the same error on all ranks. Ranks
 * are threads, each with a context of its own.
 *
 * ctest: long first_tier
 */
#include "distributed_world.h"
#include "weft/functions.h"
#include "weft/linalg.h"
#include "weft_test.h"
#include <math.h>
#include <stdlib.h>

static bool lapack; /* found */

enum { CUT, WHOLE_MATRICES, ORDINARY, WAYS }; /* how an array of matrices is distributed */

/* Returns matrices, to which `diagonal` is added on their diagonals. */
static wf_array *matrices(distributed_world *w, wf_dtype dtype, wf_shape shape, uint64_t seed, double diagonal, int way)
{
    const wf_axes last = WF_AXES(shape.rank - 2, shape.rank - 1);
    const bool pairs = wf_dtype_kind(dtype) == WF_KIND_COMPLEX;
    wf_array *a = way == ORDINARY ? world_whole(w, pairs ? WF_F64 : dtype, shape, seed)
                                  : world_filled_along(w, pairs ? WF_F64 : dtype, shape, seed, way == CUT ? 0 : last);
    wf_graph *g = wf_begin(w->ctx);
    wf_val i = wf_iota(g, shape, shape.rank - 2), k = wf_iota(g, shape, shape.rank - 1), x = wf_in(g, a);
    x = wf_select(wf_eq(i, k), wf_add(x, diagonal), x);
    if (pairs) /* Hermitian ones have a real diagonal */
        x = wf_complex(x, wf_select(wf_eq(i, k), 0, wf_add(x, 1)));
    wf_array *out = wf_empty_like(a, dtype, shape);
    wf_out(g, out, wf_cast(x, dtype));
    world_run(w, g);
    wf_release(a);
    return out;
}

static void results(distributed_world *w, wf_status status, wf_array **out, int n)
{
    for (int i = 0; i < n && status == WF_OK; ++i)
        world_result(w, out[i]);
    world_failed(w);
}

static void solve(distributed_world *w, wf_dtype dtype, wf_shape a, wf_shape b)
{
    for (int left = 0; left < WAYS; ++left)
        for (int right = 0; right < WAYS; ++right) {
            if (left == ORDINARY && right == ORDINARY)
                continue;
            wf_array *x = matrices(w, dtype, a, 3, 90, left), *y = matrices(w, dtype, b, 4, 0, right);
            world_result(w, world_divided(w, wf_solve(x, y)));
            wf_release(x);
            wf_release(y);
        }
}

static void solutions(distributed_world *w)
{
    solve(w, WF_F32, WF_SHAPE(13, 3, 3), WF_SHAPE(13, 3, 2));
    solve(w, WF_F64, WF_SHAPE(2, 5, 4, 4), WF_SHAPE(2, 5, 4, 1));
    solve(w, WF_I32, WF_SHAPE(6, 2, 2), WF_SHAPE(6, 2, 9));
    if (lapack) {
        solve(w, WF_F64, WF_SHAPE(9, 8, 8), WF_SHAPE(9, 8, 3));
        solve(w, WF_C64, WF_SHAPE(5, 3, 3), WF_SHAPE(5, 3, 2));
    }
}

/* Of a batch that broadcasts each rank needs its part, or all of it; each axis may be of one of the arrays alone. */
static void broadcasts(distributed_world *w)
{
    solve(w, WF_F32, WF_SHAPE(3, 3), WF_SHAPE(11, 3, 2));
    solve(w, WF_F32, WF_SHAPE(11, 3, 3), WF_SHAPE(3, 2));
    solve(w, WF_F32, WF_SHAPE(3, 3), WF_SHAPE(1, 3, 2));
    solve(w, WF_F64, WF_SHAPE(1, 3, 3), WF_SHAPE(4, 7, 3, 2));
    solve(w, WF_F64, WF_SHAPE(5, 1, 3, 3), WF_SHAPE(4, 3, 2));
    if (lapack)
        solve(w, WF_F64, WF_SHAPE(3, 1, 7, 7), WF_SHAPE(1, 4, 7, 2));
}

static void few_matrices(distributed_world *w)
{
    solve(w, WF_F32, WF_SHAPE(5, 5), WF_SHAPE(5, 6));
    solve(w, WF_F32, WF_SHAPE(1, 5, 5), WF_SHAPE(1, 5, 6));
    solve(w, WF_F64, WF_SHAPE(2, 6, 6), WF_SHAPE(2, 6, 8));
    if (lapack)
        solve(w, WF_F64, WF_SHAPE(20, 20), WF_SHAPE(20, 3));
}

static void inverses(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 7, 3, 3 } },
                                       { .rank = 4, .dim = { 3, 2, 8, 8 } },
                                       { .rank = 2, .dim = { 9, 9 } } };
    for (int i = 0; i < (lapack ? 3 : 1); ++i)
        for (int way = 0; way < ORDINARY; ++way) {
            wf_array *a = matrices(w, WF_F64, shapes[i], 5, 90, way);
            world_result(w, world_divided(w, wf_solve(a, NULL)));
            world_result(w, world_divided(w, wf_cholesky(a)));
            world_result(w, wf_solve(a, a)); /* the identity, by the array itself */
            wf_release(a);
        }
}

static void eigenvalues(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 10, 4, 4 } },
                                       { .rank = 3, .dim = { 6, 9, 9 } },
                                       { .rank = 2, .dim = { 12, 12 } } };
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_C128, WF_F16 };
    for (int i = 0; i < (lapack ? 12 : 1); ++i)
        for (int way = 0; way < ORDINARY; ++way) {
            wf_array *a = matrices(w, dtypes[i / 3], shapes[i % 3], 6, 10, way), *out[2];
            results(w, wf_eigh(a, &out[0], &out[1]), out, 2);
            results(w, wf_eigh(a, &out[0], NULL), out, 1);
            wf_release(a);
        }
}

/* Decompositions that LAPACK makes of matrices of each size. */
static void decompositions(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 6, 5, 9 } },
                                       { .rank = 4, .dim = { 3, 3, 7, 4 } },
                                       { .rank = 3, .dim = { 5, 2, 2 } },
                                       { .rank = 2, .dim = { 12, 8 } } };
    static const wf_dtype dtypes[] = { WF_F64, WF_F32, WF_C64 };
    for (int i = 0; i < (lapack ? 12 : 0); ++i)
        for (int way = 0; way < ORDINARY; ++way) {
            wf_array *a = matrices(w, dtypes[i / 4], shapes[i % 4], 7, 20, way), *out[3];
            results(w, wf_svd(a, &out[0], &out[1], &out[2]), out, 3);
            results(w, wf_svd(a, NULL, &out[0], NULL), out, 1);
            results(w, wf_qr(a, false, &out[0], &out[1]), out, 2);
            results(w, wf_qr(a, true, &out[0], &out[1]), out, 2);
            wf_release(a);
        }
}

/* Of one matrix they are numbers, which all ranks have. */
static void determinants(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 11, 3, 3 } },
                                       { .rank = 4, .dim = { 2, 5, 4, 4 } },
                                       { .rank = 2, .dim = { 10, 10 } },
                                       { .rank = 3, .dim = { 1, 6, 6 } } };
    for (int i = 0; i < (lapack ? 8 : 0); ++i)
        for (int way = 0; way < ORDINARY; ++way) {
            wf_array *a = matrices(w, i < 4 ? WF_F32 : WF_C128, shapes[i % 4], 8, 3, way), *out[2];
            const wf_status status = wf_slogdet(a, &out[0], &out[1]);
            if (status == WF_OK && i % 4 == 2 && wf_array_dist(out[0])) {
                w->status = WF_ERR_CONTRACT;
                snprintf(w->text, sizeof w->text, "the sign of one determinant is distributed");
            }
            results(w, status, out, 2);
            wf_release(a);
        }
}

static void least_squares(distributed_world *w)
{
    static const wf_shape shapes[][2] = {
        { { .rank = 3, .dim = { 7, 9, 4 } }, { .rank = 3, .dim = { 7, 9, 2 } } },
        { { .rank = 3, .dim = { 7, 4, 9 } }, { .rank = 2, .dim = { 4, 3 } } },
        { { .rank = 2, .dim = { 8, 3 } }, { .rank = 4, .dim = { 2, 3, 8, 1 } } },
        { { .rank = 2, .dim = { 14, 5 } }, { .rank = 2, .dim = { 14, 6 } } },
    };
    for (int i = 0; i < (lapack ? 4 : 0); ++i)
        for (int way = 0; way < WAYS * WAYS - 1; ++way) {
            wf_array *a = matrices(w, WF_F64, shapes[i][0], 9, 2, way / WAYS),
                     *b = matrices(w, WF_F64, shapes[i][1], 10, 0, way % WAYS);
            world_result(w, world_divided(w, wf_lstsq(a, b, 0)));
            wf_release(a);
            wf_release(b);
        }
}

static void nothing(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 0, 3, 3 } },
                                       { .rank = 3, .dim = { 6, 0, 0 } },
                                       { .rank = 3, .dim = { 0, 9, 9 } },
                                       { .rank = 2, .dim = { 0, 0 } } };
    for (int i = 0; i < 4; ++i) {
        wf_array *a = world_filled(w, WF_F32, shapes[i], 3), *out[3];
        world_result(w, world_divided(w, wf_solve(a, NULL)));
        world_result(w, wf_cholesky(a));
        results(w, wf_eigh(a, &out[0], &out[1]), out, 2);
        results(w, wf_svd(a, &out[0], &out[1], &out[2]), out, 3);
        results(w, wf_slogdet(a, &out[0], &out[1]), out, 2);
        wf_release(a);
    }
    wf_array *tall = world_filled(w, WF_F32, WF_SHAPE(5, 4, 0), 3), *q[2];
    results(w, wf_qr(tall, true, &q[0], &q[1]), q, 2);
    results(w, wf_qr(tall, false, &q[0], &q[1]), q, 2);
    wf_release(tall);
}

/* What has been fetched for one call is not taken for the next one, after the array was written. Results are cut as the
 * operand, so that the next call and a launch with both fetch nothing. */
static void written_between(distributed_world *w)
{
    wf_array *a = matrices(w, WF_F64, WF_SHAPE(9, 4, 4), 11, 60, WHOLE_MATRICES),
             *b = world_filled(w, WF_F64, WF_SHAPE(4, 3), 12);
    for (int k = 0; k < 3; ++k) {
        wf_array *x = wf_solve(a, b), *l = wf_cholesky(a), *values = NULL;
        wf_eigh(a, &values, NULL);
        if (w->ranks && x && l && values && w->status == WF_OK) {
            const wf_dist *of[] = { wf_array_dist(a), wf_array_dist(x), wf_array_dist(l), wf_array_dist(values) };
            for (int i = 1; i < 4; ++i)
                if (!of[i] || of[i]->grid[0] != of[0]->grid[0] || of[i]->unit[0] != of[0]->unit[0]) {
                    w->status = WF_ERR_CONTRACT;
                    snprintf(w->text, sizeof w->text, "result %d is not divided as the matrices", i);
                }
        }
        wf_graph *g = wf_begin(w->ctx);
        wf_out(g, a, wf_add(wf_in(g, a), wf_mul(wf_in(g, l), 0.1)));
        wf_out(g, b, wf_mul(wf_in(g, b), 1.5));
        world_run(w, g);
        wf_array *all[] = { x, l, values };
        for (int i = 0; i < 3; ++i)
            world_result(w, all[i]);
        world_spoil(w, a);
        world_spoil(w, b);
    }
    world_result(w, a);
    world_result(w, b);
}

static const distributed_case cases[] = {
    { "solutions", solutions },       { "broadcasts", broadcasts },
    { "few matrices", few_matrices }, { "inverses", inverses },
    { "eigenvalues", eigenvalues },   { "decompositions", decompositions },
    { "determinants", determinants }, { "least squares", least_squares },
    { "nothing", nothing },           { "written between", written_between },
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
    distributed_check(cases, CASES, 3, 2, 0, WF_CPU, WF__FENCE_BEHIND);
}

/* ---- matrices without a result ---- */
/* Returns multiples of the identity, [4, 3, n, n], where some matrices have another last element. */
static wf_array *marked(wf_context *ctx, wf_ranks *ranks, int64_t n, const double last[12], int cut)
{
    const wf_shape shape = WF_SHAPE(4, 3, n, n);
    wf_array *a = wf_full(ctx, WF_F64, shape, 0), *to = NULL;
    void *x = NULL;
    wf_dist dist;
    wf_dist_options o = { .size = sizeof o, .grid = { 0, 0, cut, cut } };
    if (wf_map(a, &x, NULL) == WF_OK)
        for (int64_t i = 0; i < 12 * n; ++i)
            ((double *)x)[i * n + i % n] = i % n == n - 1 ? last[i / n] : 2;
    if (!ranks)
        return a;
    wf_dist_make(&shape, wf_ranks_size(ranks), &o, &dist);
    to = wf_empty_distributed(ctx, WF_F64, ranks, &dist);
    wf_array_assign(to, a);
    wf_release(a);
    return to;
}

typedef struct refused {
    const char *name;
    int64_t n;
    double last[12];
    wf_array *(*of)(const wf_array *a);
} refused;

static wf_array *inverse(const wf_array *a) { return wf_solve(a, NULL); }
static wf_array *values_of(const wf_array *a)
{
    wf_array *values = NULL;
    wf_eigh(a, &values, NULL);
    return values;
}

/* The right-hand side of matrix [3, 1] alone is not finite. */
static wf_array *of_bad_side(const wf_array *a)
{
    const int64_t n = wf_array_shape(a).dim[2];
    wf_array *b = wf_full(wf_array_context(a), WF_F64, WF_SHAPE(4, 3, n, 1), 1), *out = NULL;
    void *x = NULL;
    if (wf_map(b, &x, NULL) == WF_OK) {
        ((double *)x)[10 * n] = NAN;
        out = wf_solve(a, b);
    }
    wf_release(b);
    return out;
}

static const refused refusals[] = {
    { "matrix [2, 1] of `a` is singular", 3, { 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0 }, inverse },
    { "matrix [0, 0] of `a` is singular", 3, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, inverse },
    { "matrix [3, 2] of `a` has an element that is not finite", 3, { 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, NAN }, inverse },
    { "matrix [3, 1] of `a` has a right-hand side with an element that is not finite", 3, { 0 }, of_bad_side },
    { "matrix [1, 2] of `a` is not positive definite", 4, { 1, 1, 1, 1, 1, -1, 1, 1, -1, -1, 1, 1 }, wf_cholesky },
    { "matrix [2, 1] of `a` is singular", 8, { 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0 }, inverse },
    { "matrix [1, 2] of `a` is not positive definite", 9, { 1, 1, 1, 1, 1, -1, 1, 1, -1, -1, 1, 1 }, wf_cholesky },
    { "matrix [3, 0] of `a` has an element that is not finite",
      9,
      { 1, 1, 1, 1, 1, 1, 1, 1, 1, NAN, NAN, 1 },
      values_of },
};

typedef struct refusing {
    const refused *it;
    int cut; /* of the matrices; 0 = chosen */
} refusing;

/* True if the call fails with that error, and the next one is right. */
static bool refuses(wf_context *ctx, wf_ranks *ranks, const refusing *r)
{
    static const double good[12] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    wf_array *a = marked(ctx, ranks, r->it->n, r->it->last, r->cut), *b = marked(ctx, ranks, r->it->n, good, r->cut);
    wf_array *out = r->it->of(a);
    const bool right = !out && wf_last_status(ctx) == WF_ERR_ARG && strstr(wf_last_message(ctx), r->it->name) != NULL;
    if (!right)
        fprintf(stderr, "%s: %s: %s\n", r->it->name, wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
    wf_clear_error(ctx);
    wf_array *next = wf_cholesky(b);
    const bool went_on = next != NULL;
    wf_array *all[] = { a, b, out, next };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    return right && went_on;
}

static wf_status refuse_on_rank(wf_ranks *ranks, void *user)
{
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    const bool right = refuses(ctx, ranks, user);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

/* All ranks have the error of one process, also where several ranks find one. */
static void no_result(void **state)
{
    (void)state;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        if (refusals[i].n > WF_MAT_MOST && !lapack)
            continue;
        refusing r = { &refusals[i], 0 };
        assert_true(refuses(ctx, NULL, &r));
        for (int ranks = 1; ranks <= 8; ++ranks)
            for (r.cut = 0; r.cut <= 1; ++r.cut)
                assert_int_equal(wf_ranks_threads(ranks, refuse_on_rank, &r, NULL, NULL), WF_OK);
    }
    wf_context_free(ctx);
}

/* ---- arrays that do not go together ---- */
static wf_status refuse_arrays(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_ranks *others = NULL;
    wf_dist dist;
    const wf_shape shape = WF_SHAPE(6, 3, 3);
    wf_dist_make(&shape, wf_ranks_size(ranks), NULL, &dist);
    bool right = wf_ranks_split(ranks, 0, wf_ranks_rank(ranks), &others) == WF_OK;
    wf_array *a = wf_empty_distributed(ctx, WF_F32, ranks, &dist),
             *b = wf_empty_distributed(ctx, WF_F32, others, &dist), *c = wf_full(ctx, WF_F32, WF_SHAPE(5, 3, 3), 1),
             *s = NULL;
    wf_array_fill(a, 1);
    wf_array_fill(b, 1);
    right = right && !wf_solve(a, b) && wf_last_status(ctx) == WF_ERR_UNSUPPORTED &&
            strstr(wf_last_message(ctx), "wf_solve: the arrays belong to two groups of ranks");
    wf_clear_error(ctx);
    right = right && !wf_solve(a, c) && wf_last_status(ctx) == WF_ERR_SHAPE;
    wf_clear_error(ctx);
    right = right && wf_svd(a, &s, &s, NULL) == WF_ERR_ARG && !s;
    wf_clear_error(ctx);
    if (!right)
        fprintf(stderr, "%s: %s\n", wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
    wf_array *all[] = { a, b, c };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    wf_ranks_free(others);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void not_together(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse_arrays, NULL, NULL, NULL), WF_OK);
}

static bool has_lapack(void)
{
    wf_context *ctx = wf_context_new(NULL);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(1, 1), 1), *sign = NULL, *log_of = NULL;
    const bool found = wf_slogdet(a, &sign, &log_of) == WF_OK;
    if (!found)
        print_message("no LAPACK: %s\n", wf_last_message(ctx));
    wf_array *all[] = { a, sign, log_of };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    wf_context_free(ctx);
    return found;
}

int main(void)
{
    lapack = has_lapack();
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_and_grids), cmocka_unit_test(compiled_code),
                                        cmocka_unit_test(no_result), cmocka_unit_test(not_together) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
