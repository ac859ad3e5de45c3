/* test_random_views.c - random compositions of slices, permutations, reshapes, repetitions, gathers and sums, beside
 * plain C that moves the elements one by one. All devices share the planner, so comparing devices would not find its
 * errors.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "plain_arrays.h"

enum { MOST = 400, VALUES = 14, KEPT = 3 };

typedef struct mirror { /* a value and its expected elements */
    wf_val v;
    wf_shape shape;
    int64_t n, at[MOST];
} mirror;

static uint64_t seed;
static int64_t below(int64_t n) { return n > 0 ? (int64_t)(test_random(&seed) % (uint64_t)n) : 0; }

static void sized_like(mirror *to, wf_shape shape)
{
    to->shape = shape;
    to->n = count(&shape);
}

/* Returns a random shape with n elements. */
static wf_shape factors(int64_t n)
{
    wf_shape shape = { 0 };
    while (shape.rank < AXES - 1 && below(3)) {
        int64_t f = 1 + below(6);
        if (n % f == 0) {
            shape.dim[shape.rank++] = f;
            n /= f;
        }
    }
    shape.dim[shape.rank++] = n;
    return shape;
}

static void cut(const mirror *from, mirror *to)
{
    int axis = (int)below(from->shape.rank);
    int64_t n = from->shape.dim[axis], size = 1 + below(n), step = 1, start = 0;
    if (below(2)) { /* else the first so many */
        step = below(2) ? 1 + below(2) : -1 - below(2);
        int64_t most = (n - 1) / (step < 0 ? -step : step) + 1;
        size = 1 + below(most);
        int64_t span = (size - 1) * (step < 0 ? -step : step);
        start = step < 0 ? span + below(n - span) : below(n - span);
    }
    int64_t stop = start + size * step;
    to->v = wf_slice(from->v, axis, start, stop < 0 ? WF_END_INDEX : stop, step);
    wf_shape shape = from->shape;
    shape.dim[axis] = size;
    sized_like(to, shape);
    for (int64_t k = 0; k < to->n; ++k) {
        int64_t index[AXES];
        indices(&to->shape, k, index);
        index[axis] = start + index[axis] * step;
        to->at[k] = from->at[place(&from->shape, index)];
    }
}

static void permuted(const mirror *from, mirror *to)
{
    int axes[AXES];
    wf_shape shape = from->shape;
    for (int d = 0; d < shape.rank; ++d) {
        int at = (int)below(d + 1);
        axes[d] = axes[at];
        axes[at] = d;
    }
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = from->shape.dim[axes[d]];
    to->v = wf_permute(from->v, axes);
    sized_like(to, shape);
    for (int64_t k = 0; k < to->n; ++k) {
        int64_t index[AXES], old[AXES];
        indices(&to->shape, k, index);
        for (int d = 0; d < shape.rank; ++d)
            old[axes[d]] = index[d];
        to->at[k] = from->at[place(&from->shape, old)];
    }
}

static void reshaped(const mirror *from, mirror *to)
{
    wf_shape shape = below(3) ? factors(from->n) : WF_SHAPE(from->n);
    to->v = wf_reshape(from->v, shape);
    sized_like(to, shape);
    memcpy(to->at, from->at, sizeof to->at);
}

static void repeated(const mirror *from, mirror *to)
{
    bool whole = below(2);
    int axis = (int)below(from->shape.rank);
    int64_t times = 1 + below(3), n = from->shape.dim[axis];
    wf_shape shape = from->shape, each = { .rank = from->shape.rank };
    shape.dim[axis] *= times;
    for (int d = 0; d < each.rank; ++d)
        each.dim[d] = d == axis ? times : 1;
    to->v = whole ? wf_tile(from->v, each) : wf_repeat(from->v, axis, times);
    sized_like(to, shape);
    for (int64_t k = 0; k < to->n && to->n <= MOST; ++k) {
        int64_t index[AXES];
        indices(&to->shape, k, index);
        index[axis] = whole ? index[axis] % n : index[axis] / times;
        to->at[k] = from->at[place(&from->shape, index)];
    }
}

/* At the indices of a C order of another shape: k / strides % extents, as a reshape has them. */
static void gathered(wf_graph *g, const mirror *from, mirror *to)
{
    wf_shape within = from->shape;
    for (int d = 0; d < within.rank; ++d)
        within.dim[d] = 1 + below(within.dim[d]);
    int64_t n = count(&within), weight = 1;
    wf_val k = wf_iota(g, WF_SHAPE(n), 0), index[AXES];
    for (int d = within.rank - 1; d >= 0; --d) {
        wf_val q = weight > 1 ? wf_idiv(k, (double)weight) : k;
        index[d] = d ? wf_mod(q, (double)within.dim[d]) : q;
        weight *= within.dim[d];
    }
    to->v = wf_gather_n(from->v, (wf_vals){ index, (size_t)within.rank });
    sized_like(to, WF_SHAPE(n));
    for (int64_t i = 0; i < n; ++i) {
        int64_t at[AXES];
        indices(&within, i, at);
        to->at[i] = from->at[place(&from->shape, at)];
    }
}

/* Adds another value with as many elements, reshaped to the same shape, or the value itself. */
static void added(const mirror *all, int n, const mirror *from, mirror *to)
{
    const mirror *other = from;
    for (int tries = 0; tries < 8; ++tries) {
        const mirror *m = &all[below(n)];
        other = m->n == from->n ? m : other;
    }
    to->v = wf_add(from->v, wf_reshape(other->v, from->shape));
    sized_like(to, from->shape);
    for (int64_t k = 0; k < to->n; ++k)
        to->at[k] = from->at[k] + other->at[k];
}

static void add_value(wf_graph *g, mirror *all, int n)
{
    const mirror *from = &all[below(3) ? n - 1 : below(n)];
    mirror *to = &all[n];
    switch (below(7)) {
    case 0:
    case 1:
        cut(from, to);
        return;
    case 2:
        permuted(from, to);
        return;
    case 3:
        repeated(from, to);
        if (to->n <= MOST)
            return;
        break;
    case 4:
        gathered(g, from, to);
        return;
    case 5:
        added(all, n, from, to);
        return;
    default:
        break;
    }
    reshaped(from, to);
}

static void one(int program, mirror all[static VALUES])
{
    wf_array *source[2], *out[KEPT];
    const mirror *kept[KEPT];
    seed = 77 + (uint64_t)program;
    wf_graph *g = wf_begin(ctx);
    for (int s = 0; s < 2; ++s) {
        mirror *m = &all[s];
        sized_like(m, s && below(2) ? WF_SHAPE(all[0].n) : WF_SHAPE(1 + below(5), 1 + below(5), 1 + below(6)));
        for (int64_t k = 0; k < m->n; ++k)
            m->at[k] = 1 + k + 1000 * s;
        source[s] = array_of(ctx, WF_I64, m->shape, m->at);
        m->v = wf_in(g, source[s]);
    }
    for (int n = 2; n < VALUES; ++n)
        add_value(g, all, n);
    for (int k = 0; k < KEPT; ++k) {
        kept[k] = &all[k ? below(VALUES) : VALUES - 1];
        out[k] = wf_keep(kept[k]->v);
    }
    OK(ctx, wf_run(g));
    for (int k = 0; k < KEPT; ++k) {
        int64_t *got = contents(out[k]);
        assert_int_equal(wf_array_count(out[k]), kept[k]->n);
        if (memcmp(got, kept[k]->at, (size_t)kept[k]->n * sizeof *got) != 0)
            fail_msg("program %d: other elements than one by one", program);
        free(got);
        wf_release(out[k]);
    }
    wf_release(source[0]), wf_release(source[1]);
}

static void test_compositions(void **state)
{
    (void)state;
    mirror *all = calloc(VALUES, sizeof *all);
    assert_non_null(all);
    int programs = wf_context_device(ctx) == WF_INTERP ? 3000 : (int)sized(300, 20);
    for (int i = 0; i < programs; ++i)
        one(i, all);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_compositions) };
    return RUN_ON_ALL(tests);
}
