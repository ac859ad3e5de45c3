/* test_ranks_neighbours.c - a launch that reads neighbours of points fetches the elements that it reads of other blocks, each
 * once, in one message from each rank that has some, and nothing that is there already. A group that counts messages is
 * compared with the elements that each point reads, one by one. The log tells of axes that are fetched as a whole.
 *
 * ctest: threads no_kernels
 */
#include "bench/mpi/counted.h"
#include "ranks_checks.h"
#include "weft_test.h"
#include <stdlib.h>
#include <weft/dist.h>
#include <weft/distributed.h>
#include <weft/functions.h>

enum { AXES = 3, HEADER = 16, MOST_AWAY = 130, ROWS = 6 };

/* Elements that a launch reads, as distances from the point. */
typedef struct reads {
    int n, away[MOST_AWAY][AXES];
} reads;

typedef struct job {
    wf_dist dist;
    wf_border border;
} job;

static void add_read(reads *r, int z, int y, int x)
{
    const int away[AXES] = { z, y, x };
    memcpy(r->away[r->n++], away, sizeof away);
}

/* A star with this many elements on both sides along each axis. */
static reads star(int z, int y, int x)
{
    const int width[AXES] = { z, y, x };
    reads r = { 0 };
    for (int d = 0; d < AXES; d++)
        for (int k = -width[d]; k <= width[d]; k++)
            add_read(&r, d == 0 ? k : 0, d == 1 ? k : 0, d == 2 ? k : 0);
    return r;
}

/* The cube around a point without the elements that are more than `most` steps along axes away. */
static reads ball(int most)
{
    reads r = { 0 };
    for (int z = -1; z <= 1; z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++)
                if (abs(z) + abs(y) + abs(x) <= most)
                    add_read(&r, z, y, x);
    return r;
}

/* ---- what is expected ------------------------------------------------------------------------------------------- */

/* The rank that has an element, after a border mode has moved it into the array. */
static int rank_of(const job *j, const int64_t *at)
{
    int64_t in[AXES], lo[AXES], hi[AXES];
    for (int d = 0; d < AXES; d++)
        in[d] = (at[d] + j->dist.shape.dim[d]) % j->dist.shape.dim[d];
    for (int r = 0; r < j->dist.ranks; r++) {
        bool has = true;
        wf_dist_range(&j->dist, r, lo, hi);
        for (int d = 0; d < AXES; d++)
            has = has && in[d] >= lo[d] && in[d] < hi[d];
        if (has)
            return r;
    }
    return -1;
}

/* Marks the elements outside of its block that the points of a rank read: seen[..], of three copies of the array along each axis.
 * Adds those that were not marked before to counts[rank that has them]. */
static void mark(const job *j, const reads *r, int rank, char *seen, int64_t *counts)
{
    const int64_t *dim = j->dist.shape.dim;
    int64_t lo[AXES], hi[AXES], p[AXES], at[AXES];
    wf_dist_range(&j->dist, rank, lo, hi);
    for (p[0] = lo[0]; p[0] < hi[0]; p[0]++)
        for (p[1] = lo[1]; p[1] < hi[1]; p[1]++)
            for (p[2] = lo[2]; p[2] < hi[2]; p[2]++)
                for (int k = 0; k < r->n; k++) {
                    bool own = true, inside = true;
                    int64_t place = 0;
                    for (int d = 0; d < AXES; d++) {
                        at[d] = p[d] + r->away[k][d];
                        if (j->border == WF_BORDER_CLAMP)
                            at[d] = at[d] < 0 ? 0 : at[d] >= dim[d] ? dim[d] - 1 : at[d];
                        else if (j->border == WF_BORDER_PERIODIC && j->dist.grid[d] == 1)
                            at[d] = (at[d] + dim[d]) % dim[d]; /* the rank has the whole axis */
                        inside = inside && (j->border == WF_BORDER_PERIODIC || (at[d] >= 0 && at[d] < dim[d]));
                        own = own && at[d] >= lo[d] && at[d] < hi[d];
                        place = place * 3 * dim[d] + at[d] + dim[d];
                    }
                    if (own || !inside || seen[place])
                        continue;
                    seen[place] = 1;
                    counts[rank_of(j, at)]++;
                }
}

/* Returns what a rank sends and receives in a launch, after one that has fetched what it reads; there: its reads, or NULL.
 * *any: ranks fetch elements. */
static traffic expected(const job *j, const reads *r, const reads *there, int rank, bool *any)
{
    const int64_t *dim = j->dist.shape.dim, ranks = j->dist.ranks;
    traffic t = { 0 };
    *any = false;
    for (int to = 0; to < ranks; to++) {
        char *seen = calloc((size_t)(27 * dim[0] * dim[1] * dim[2]), 1);
        int64_t *counts = calloc((size_t)ranks, sizeof *counts), *more = calloc((size_t)ranks, sizeof *more);
        mark(j, r, to, seen, counts);
        memset(seen, 0, (size_t)(27 * dim[0] * dim[1] * dim[2]));
        if (there)
            mark(j, there, to, seen, more);
        memset(more, 0, (size_t)ranks * sizeof *more);
        mark(j, r, to, seen, more);
        for (int from = 0; from < ranks; from++) {
            const int64_t bytes = counts[from] ? HEADER + 4 * counts[from] : 0;
            *any = *any || more[from];
            t.messages_out += from == rank && bytes;
            t.bytes_out += from == rank ? bytes : 0;
            t.messages_in += to == rank && bytes;
            t.bytes_in += to == rank ? bytes : 0;
        }
        free(seen);
        free(counts);
        free(more);
    }
    return *any ? t : (traffic){ 0 };
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static wf_kernel *record(wf_context *ctx, const job *j, const reads *r)
{
    wf_graph *g = wf_begin(ctx, .shape = j->dist.shape);
    wf_array *a = wf_formal(g, "a", WF_F32, AXES), *out = wf_formal(g, "out", WF_F32, AXES);
    wf_val sum = wf_const(g, WF_F32, 0);
    for (int k = 0; k < r->n; k++) {
        wf_val index[AXES];
        for (int d = 0; d < AXES; d++)
            index[d] = wf_add(wf_index(g, d), r->away[k][d]);
        sum = wf_add(sum, wf_read_border(g, a, j->border, 0, index[0], index[1], index[2]));
    }
    wf_out(g, out, sum);
    return wf_compile(g);
}

/* A launch of a list, and whether the array is written before. */
typedef struct turn {
    const char *what;
    int kernel;
    bool writes;
} turn;
enum { SMALL_STAR, WIDE_STAR, CUBE, EDGES, SIDES, KERNELS };

static const turn turns[] = {
    { "a star", SMALL_STAR, true },
    { "the star again", SMALL_STAR, false },
    { "the cube after a star", CUBE, false },
    { "the star after the cube", SMALL_STAR, false },
    { "edges after the cube", EDGES, false },
    { "a wide star after the cube", WIDE_STAR, false },
    { "a narrow star after a wide one", SMALL_STAR, false },
    { "edges after a star", EDGES, false },
    { "a star after edges", SMALL_STAR, false },
    { "neighbours along one axis after edges", SIDES, false },
    { "neighbours along one axis", SIDES, true },
    { "a star after one axis of it", SMALL_STAR, false },
};

static wf_status write_all(wf_context *ctx, wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, 1);
    return wf_run(g);
}

static bool run_turns(wf_context *ctx, const job *j, wf_ranks *ranks, const traffic *count, wf_array *a, wf_array *out)
{
    const reads r[KERNELS] = { star(1, 1, 1), star(2, 1, 3), ball(3), ball(2), star(0, 0, 1) };
    wf_kernel *kernel[KERNELS];
    const reads *there = NULL; /* what was fetched since the array was written */
    bool ok = a && out;
    for (int k = 0; k < KERNELS; k++)
        kernel[k] = record(ctx, j, &r[k]);
    for (int k = 0; k < 2 * KERNELS && ok; k++) /* ranks agree on plans and messages */
        ok = wf_launch(kernel[k % KERNELS], WF_ARGS(WF_ARG("a", a), WF_ARG("out", out))) == WF_OK;
    for (const turn *t = turns; t < turns + sizeof turns / sizeof *turns && ok; t++) {
        const int rank = wf_ranks_rank(ranks);
        if (t->writes) {
            ok = write_all(ctx, a) == WF_OK;
            there = NULL;
        }
        const traffic before = *count;
        ok = ok && wf_launch(kernel[t->kernel], WF_ARGS(WF_ARG("a", a), WF_ARG("out", out))) == WF_OK;
        const traffic got = traffic_less(count, &before);
        bool any;
        const traffic want = expected(j, &r[t->kernel], there, rank, &any);
        ok = ok && traffic_same(t->what, rank, &got, &want);
        there = any ? &r[t->kernel] : there;
    }
    for (int k = 0; k < KERNELS; k++)
        wf_kernel_free(kernel[k]);
    return ok;
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user;
    traffic count = { 0 };
    wf_ranks *counting = NULL;
    CHECK_OK(counted_new(ranks, &count, &counting, NULL));
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    CHECK(ctx);
    wf_array *a = wf_empty_distributed(ctx, WF_F32, counting, &j->dist);
    wf_array *out = wf_empty_distributed(ctx, WF_F32, counting, &j->dist);
    const bool ok = run_turns(ctx, j, ranks, &count, a, out);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
    wf_ranks_free(counting);
    return ok ? WF_OK : WF_ERR_CONTRACT;
}

static void check(wf_shape shape, int ranks, int last, wf_border border)
{
    job j = { .border = border };
    wf_ranks_error e = { 0 };
    wf_dist_options o = { .size = sizeof o, .grid = { 0, 0, last } };
    assert_int_equal(wf_dist_make(&shape, ranks, &o, &j.dist), WF_OK);
    if (wf_ranks_threads(ranks, on_rank, &j, NULL, &e) != WF_OK)
        fail_msg("%d ranks, border %d: rank %d: %s", ranks, border, (int)e.rank, e.text);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void inner_ranks(void **state)
{
    (void)state;
    const reads seven = star(1, 1, 1), all = ball(3);
    job j = { .border = WF_BORDER_CLAMP };
    bool any;
    assert_int_equal(wf_dist_make(&WF_SHAPE(9, 12, 15), 27, NULL, &j.dist), WF_OK);
    const traffic faces = expected(&j, &seven, NULL, 13, &any), box = expected(&j, &all, NULL, 13, &any);
    assert_int_equal(faces.messages_in, 6);
    assert_int_equal(faces.bytes_in, 6 * HEADER + 4 * 2 * (3 * 4 + 3 * 5 + 4 * 5));
    assert_int_equal(box.messages_in, 26);
    check(WF_SHAPE(9, 12, 15), 27, 0, WF_BORDER_CLAMP);
}

static void borders(void **state)
{
    (void)state;
    static const wf_border modes[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC };
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        for (int ranks = 2; ranks <= 8; ranks += TEST_RACES ? 5 : 1) {
            check(WF_SHAPE(8, 9, 12), ranks, 0, modes[k]);
            check(WF_SHAPE(6, 5, 24), ranks, ranks, modes[k]);
        }
}

/* ---- the log ---------------------------------------------------------------------------------------------------- */

static void note_text(int level, const char *text, void *user)
{
    (void)level;
    if (strstr(text, "fetches all elements along axis 0, which 3 ranks share"))
        ++*(int *)user;
}

/* What a launch reads of an array of ROWS rows along its first axis. */
typedef struct rows_read {
    int64_t columns;
    bool ends; /* the first and the last row, else all rows */
    int notes; /* expected of each rank */
} rows_read;

static wf_status read_along_axis(wf_ranks *ranks, void *user)
{
    const rows_read *c = user;
    const wf_shape shape = WF_SHAPE(ROWS, c->columns);
    int notes = 0;
    wf_config config = { .size = sizeof config, .threads = 1, .log = note_text, .log_user = &notes };
    wf_context *ctx = wf_context_new(&config);
    const wf_dist_options along_rows = { .size = sizeof along_rows, .grid = { wf_ranks_size(ranks), 1 } };
    wf_dist dist;
    wf_array *a = NULL, *sums = NULL;
    if (wf_dist_make(&shape, wf_ranks_size(ranks), &along_rows, &dist) == WF_OK) {
        a = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
        sums = wf_empty_distributed(ctx, WF_F32, ranks, &dist);
    }
    wf_array_fill(a, 1);
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx, .shape = shape);
        wf_var sum = wf_local(g, WF_F32, 0);
        wf_val i, x = wf_index(g, 1);
        if (c->ends)
            wf_set(sum, wf_add(wf_read(g, a, 0, x), wf_read(g, a, ROWS - 1, x)));
        else
            WF_FOR (g, i, 0, ROWS, 1) {
                wf_inc(sum, wf_read(g, a, i, x));
                WF_END(g);
            }
        wf_out(g, sums, wf_get(sum));
        wf_run(g);
    }
    wf_status status = wf_last_status(ctx);
    wf_release(a);
    wf_release(sums);
    wf_context_free(ctx);
    return status != WF_OK ? status : notes == c->notes ? WF_OK : WF_ERR_CONTRACT;
}

static void whole_axes_are_logged(void **state)
{
    static const rows_read cases[] = { { 70000, false, 1 }, { 4, false, 0 }, { 70000, true, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        wf_ranks_error e = { 0 };
        rows_read c = cases[i];
        if (wf_ranks_threads(3, read_along_axis, &c, NULL, &e) != WF_OK)
            fail_msg("case %d: rank %d: %s: %s", (int)i, (int)e.rank, wf_status_name(e.status), e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(inner_ranks), cmocka_unit_test(borders),
                                        cmocka_unit_test(whole_axes_are_logged) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
