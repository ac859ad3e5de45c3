/* test_needs.c - sets of elements as boxes: they have the elements that were added, do not overlap, and are the same in any
 * order of additions.
 *
 * ctest: no_kernels
 */
#include "plan/needs.h"
#include "weft_test.h"

enum { SIDE = 9, CELLS = SIDE * SIDE * SIDE, MOST = 40 };

static uint64_t state = 1;

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* Boxes of one size, as points read them, or of any. */
static int random_boxes(wf__box *box, int rank)
{
    const int n = 1 + (int)below(below(4) ? 8 : MOST);
    const bool same = below(2);
    int64_t size[3];
    memset(box, 0, MOST * sizeof *box);
    for (int i = 0; i < n; ++i)
        for (int d = 0; d < rank; ++d) {
            size[d] = !same || i == 0 ? 1 + below(4) : size[d];
            box[i].lo[d] = below(SIDE - size[d] + 1);
            box[i].hi[d] = box[i].lo[d] + size[d];
        }
    return n;
}

/* Adds one to all cells of a box. */
static void mark(uint8_t *cell, const wf__box *box, int rank)
{
    wf__box b = *box;
    for (int d = rank; d < 3; ++d) {
        b.lo[d] = 0;
        b.hi[d] = 1;
    }
    for (int64_t z = b.lo[0]; z < b.hi[0]; ++z)
        for (int64_t y = b.lo[1]; y < b.hi[1]; ++y)
            for (int64_t x = b.lo[2]; x < b.hi[2]; ++x)
                cell[(z * SIDE + y) * SIDE + x]++;
}

static void sets_in_any_order(void **unused)
{
    (void)unused;
    int cut_n = 0, hulls = 0;
    for (int turn = 0; turn < 4000; ++turn) {
        const int rank = 1 + turn % 3;
        wf__box box[MOST];
        wf__boxes set[2] = { { 0 }, { 0 } };
        uint8_t want[CELLS] = { 0 }, got[CELLS] = { 0 };
        const int n = random_boxes(box, rank);
        for (int i = 0; i < n; ++i) {
            wf__boxes_add(&set[0], &box[i], rank);
            mark(want, &box[i], rank);
        }
        for (int i = n; i > 0; --i) {
            const int k = (int)below(i);
            wf__boxes_add(&set[1], &box[k], rank);
            box[k] = box[i - 1];
        }
        const wf__box hull = wf__boxes_hull(&set[0], rank);
        for (int k = 0; k < 2; ++k)
            wf__boxes_cut(&set[k], rank);
        assert_int_equal(set[0].n, set[1].n);
        assert_memory_equal(set[0].box, set[1].box, set[0].n * sizeof *set[0].box);
        assert_true(set[0].n <= WF__MOST_BOXES);
        for (uint32_t i = 0; i < set[0].n; ++i)
            mark(got, &set[0].box[i], rank);
        const bool is_hull = set[0].n == 1 && !memcmp(&set[0].box[0], &hull, sizeof hull);
        for (int i = 0; i < CELLS; ++i)
            if (is_hull ? got[i] < (want[i] > 0) : got[i] != (want[i] > 0))
                fail_msg("turn %d: cell %d is in %d boxes of %u; %d were added", turn, i, got[i], set[0].n, want[i]);
        cut_n += set[0].n > 1;
        hulls += is_hull;
    }
    assert_true(cut_n > 1000 && hulls > 300);
}

/* The star of width 2 in three dimensions has 5 boxes, a cube one. */
static void stars(void **unused)
{
    (void)unused;
    wf__boxes star = { 0 }, cube = { 0 };
    for (int d = 0; d < 3; ++d)
        for (int k = -2; k <= 2; ++k) {
            wf__box b = { { 4, 4, 4 }, { 8, 8, 8 } };
            b.lo[d] += k;
            b.hi[d] += k;
            wf__boxes_add(&star, &b, 3);
        }
    for (int k = 0; k < 27; ++k) {
        const int at = k * 10 % 27;
        const wf__box b = { { 4 + at / 9, 4 + at / 3 % 3, 4 + at % 3 }, { 8 + at / 9, 8 + at / 3 % 3, 8 + at % 3 } };
        wf__boxes_add(&cube, &b, 3);
    }
    wf__boxes_cut(&star, 3);
    wf__boxes_cut(&cube, 3);
    assert_int_equal(star.n, 5);
    assert_int_equal(cube.n, 1);
}

static wf__needs *needs_of(int ranks, int rank, wf__boxes *set)
{
    wf__needs *needs = wf__needs_new(ranks, rank);
    assert_non_null(needs);
    for (int r = 0; r < ranks; ++r)
        assert_true(wf__needs_set(needs, r, &set[r]));
    return needs;
}

/* What ranks need is within what they also need when more is added, and not the other way round. */
static void needs_within(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 500; ++turn) {
        enum { RANKS = 3 };
        const int rank = 1 + turn % 3;
        wf__boxes set[RANKS] = { { 0 } };
        wf__box box[MOST], far = { { 0 }, { 0 } };
        for (int r = 0; r < RANKS; ++r) {
            const int n = (int)below(2) * random_boxes(box, rank);
            for (int i = 0; i < n; ++i)
                wf__boxes_add(&set[r], &box[i], rank);
            wf__boxes_cut(&set[r], rank);
        }
        wf__needs *few = needs_of(RANKS, rank, set), *same = needs_of(RANKS, rank, set);
        for (int d = 0; d < rank; ++d) {
            far.lo[d] = SIDE + 1;
            far.hi[d] = SIDE + 3;
        }
        const int more = turn % RANKS;
        wf__boxes_add(&set[more], &far, rank);
        wf__boxes_cut(&set[more], rank);
        wf__needs *many = needs_of(RANKS, rank, set);
        assert_true(wf__needs_equal(few, same) && wf__needs_within(few, same) && !wf__needs_equal(few, many));
        assert_true(wf__needs_within(few, many) && !wf__needs_within(many, few));
        const wf__box hull = wf__needs_hull(many, more);
        assert_true(wf__box_within(&far, &hull, rank));
        wf__needs_release(wf__needs_retain(few));
        wf__needs_release(few);
        wf__needs_release(same);
        wf__needs_release(many);
    }
    wf__needs_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_in_any_order),
        cmocka_unit_test(stars),
        cmocka_unit_test(needs_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
