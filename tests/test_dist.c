/* test_dist.c - blocks of n-d indices for ranks: for all small shapes and numbers of ranks, each index belongs to one rank,
 * blocks are even, and no other grid is better.
 *
 * ctest: no_kernels
 */
#include <weft/dist.h>
#include "weft_test.h"

static int64_t product(const wf_dist *d)
{
    int64_t n = 1;
    for (int a = 0; a < WF_MAX_RANK; a++)
        n *= d->grid[a];
    return n;
}

/* ---- what the header promises, computed in another way: rank by rank -------------------------------------------- */

typedef struct measure {
    int with_block;
    int64_t needed, largest;
} measure;

static measure measure_of(const wf_dist *d, const int64_t *halo)
{
    measure m = { 0, 0, 0 };
    for (int r = 0; r < d->ranks; r++) {
        int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], size = 1, needed = 0;
        wf_dist_range(d, r, lo, hi);
        for (int a = 0; a < d->shape.rank; a++)
            size *= hi[a] - lo[a];
        for (int a = 0; a < d->shape.rank && size; a++)
            for (int step = -1; step <= 1; step += 2) {
                int other = wf_dist_neighbour(d, r, a, step, false);
                int64_t from[WF_MAX_RANK], to[WF_MAX_RANK];
                if (other < 0)
                    continue;
                wf_dist_range(d, other, from, to);
                if (to[a] > from[a])
                    needed += halo[a] * (size / (hi[a] - lo[a]));
            }
        m.with_block += size > 0;
        m.needed = needed > m.needed ? needed : m.needed;
        m.largest = size > m.largest ? size : m.largest;
    }
    return m;
}

static int compare(measure a, measure b) /* < 0: a is better */
{
    if (a.with_block != b.with_block)
        return b.with_block - a.with_block;
    if (a.needed != b.needed)
        return a.needed < b.needed ? -1 : 1;
    return (a.largest > b.largest) - (a.largest < b.largest);
}

/* No grid is better, and of equal ones this is the one with most ranks along the first axes. */
static void check_best(const wf_dist *d, const int64_t *halo)
{
    wf_dist other = *d;
    measure best = measure_of(d, halo);
    for (int i = 1; i <= d->ranks; i++)
        for (int j = 1; j <= d->ranks; j++)
            for (int k = 1; k <= d->ranks; k++) {
                int grid[3] = { i, j, k }, rest = 1;
                for (int a = 0; a < 3; a++)
                    if (a < d->shape.rank)
                        other.grid[a] = grid[a];
                    else
                        rest *= grid[a];
                if (rest != 1 || product(&other) != d->ranks)
                    continue;
                int order = compare(measure_of(&other, halo), best);
                if (order < 0 ||
                    (order == 0 && memcmp(other.grid, d->grid, sizeof d->grid) != 0 &&
                     (other.grid[0] > d->grid[0] || (other.grid[0] == d->grid[0] && other.grid[1] > d->grid[1]))))
                    fail_msg("%d ranks, shape (%d, %d, %d): grid %d x %d x %d is better than %d x %d x %d", d->ranks,
                             (int)d->shape.dim[0], (int)d->shape.dim[1], (int)d->shape.dim[2], i, j, k, d->grid[0],
                             d->grid[1], d->grid[2]);
            }
}

static void check_blocks(const wf_dist *d)
{
    int rank = d->shape.rank;
    int64_t index[WF_MAX_RANK] = { 0 }, total = 1, sum = 0, count = 0;
    assert_int_equal(product(d), d->ranks);
    for (int a = 0; a < rank; a++)
        total *= d->shape.dim[a];
    for (int r = 0; r < d->ranks; r++) {
        int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], size = 1;
        int32_t place[WF_MAX_RANK] = { 0 };
        int number = 0;
        wf_dist_range(d, r, lo, hi);
        wf_dist_place(d, r, place);
        for (int a = 0; a < rank; a++) {
            int64_t units = (d->shape.dim[a] + d->unit[a] - 1) / d->unit[a], mine = hi[a] - lo[a];
            assert_true(place[a] >= 0 && place[a] < d->grid[a]);
            number = number * d->grid[a] + place[a];
            assert_true(lo[a] >= 0 && lo[a] <= hi[a] && hi[a] <= d->shape.dim[a]);
            assert_true(lo[a] % d->unit[a] == 0 || lo[a] == d->shape.dim[a]);
            int64_t in_units = (mine + d->unit[a] - 1) / d->unit[a];
            assert_true(in_units == units / d->grid[a] || in_units == (units + d->grid[a] - 1) / d->grid[a]);
            size *= mine;
        }
        assert_int_equal(number, r);
        sum += size;
    }
    assert_int_equal(sum, total);
    if (!total)
        return;
    do {
        int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
        int owner = wf_dist_owner(d, index);
        assert_in_range(owner, 0, d->ranks - 1);
        wf_dist_range(d, owner, lo, hi);
        for (int a = 0; a < rank; a++)
            assert_true(index[a] >= lo[a] && index[a] < hi[a]);
        count++;
    } while (advance(&d->shape, index));
    assert_int_equal(count, total);
}

static void check_neighbours(const wf_dist *d)
{
    for (int r = 0; r < d->ranks; r++)
        for (int a = 0; a < d->shape.rank; a++)
            for (int step = -3; step <= 3; step++) {
                int32_t from[WF_MAX_RANK] = { 0 }, to[WF_MAX_RANK] = { 0 };
                int other = wf_dist_neighbour(d, r, a, step, false), around = wf_dist_neighbour(d, r, a, step, true);
                wf_dist_place(d, r, from);
                bool inside = from[a] + step >= 0 && from[a] + step < d->grid[a];
                assert_int_equal(other, inside ? around : -1);
                assert_in_range(around, 0, d->ranks - 1);
                wf_dist_place(d, around, to);
                assert_int_equal(to[a], (from[a] + step + 3 * d->grid[a]) % d->grid[a]);
                to[a] = from[a];
                assert_memory_equal(from, to, sizeof from);
            }
}

static void all_small(void **state)
{
    (void)state;
    static const int64_t ones[WF_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    for (int n = 1; n <= 12; n++)
        for (int rank = 0; rank <= 3; rank++)
            for (int64_t x = 0; x <= (rank > 0 ? 9 : 0); x++)
                for (int64_t y = 0; y <= (rank > 1 ? 6 : 0); y++)
                    for (int64_t z = 0; z <= (rank > 2 ? 4 : 0); z++) {
                        wf_shape shape = { .rank = rank, .dim = { x, y, z } };
                        wf_dist d;
                        wf_status status = wf_dist_make(&shape, n, NULL, &d);
                        assert_int_equal(status, rank || n == 1 ? WF_OK : WF_ERR_ARG);
                        if (status)
                            continue;
                        check_blocks(&d);
                        check_neighbours(&d);
                        if (n <= 8 && x * (rank > 1 ? y : 1) * (rank > 2 ? z : 1) > 0)
                            check_best(&d, ones);
                    }
}

static void units_and_halos(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n++)
        for (int64_t x = 0; x <= 17; x++)
            for (int64_t y = 1; y <= 9; y += 4)
                for (int64_t u = 1; u <= 5; u++) {
                    wf_dist_options o = { .size = sizeof o, .unit = { u, 2 }, .halo = { 1, 4 } };
                    wf_shape shape = { .rank = 2, .dim = { x, y } };
                    wf_dist d;
                    assert_int_equal(wf_dist_make(&shape, n, &o, &d), WF_OK);
                    assert_int_equal(d.unit[0], u);
                    check_blocks(&d);
                    check_best(&d, o.halo);
                }
    /* the axis that needs no neighbours is the one to cut */
    wf_dist_options o = { .size = sizeof o, .halo = { 3, 0 } };
    wf_dist d;
    assert_int_equal(wf_dist_make(&(wf_shape){ .rank = 2, .dim = { 1000, 100 } }, 4, &o, &d), WF_OK);
    assert_int_equal(d.grid[1], 4);
    o = (wf_dist_options){ .size = sizeof o, .grid = { 0, 2 } }; /* a given entry holds */
    assert_int_equal(wf_dist_make(&(wf_shape){ .rank = 2, .dim = { 1000, 3 } }, 6, &o, &d), WF_OK);
    assert_true(d.grid[0] == 3 && d.grid[1] == 2);
}

/* Axes that one rank has, and the distribution of results of other extents. */
static void resized(void **state)
{
    (void)state;
    const wf_dist_options o = { .size = sizeof o, .grid = { 2, 1, 3 }, .unit = { 1, 1, 9 } };
    const wf_shape shape = { .rank = 3, .dim = { 8, 5, 9 } }, other = { .rank = 3, .dim = { 8, 7, 20 } };
    wf_dist d;
    assert_int_equal(wf_dist_make(&shape, 6, &o, &d), WF_OK);
    assert_true(wf_dist_divides(&d, 0) && !wf_dist_divides(&d, 1) && !wf_dist_divides(&d, 2));
    const wf_dist same = wf_dist_resize(&d, &shape), larger = wf_dist_resize(&d, &other);
    assert_memory_equal(same.unit, d.unit, 3 * sizeof *d.unit);
    assert_memory_equal(larger.grid, d.grid, sizeof d.grid);
    assert_memory_equal(&larger.shape, &other, sizeof other);
    assert_true(larger.unit[0] == 1 && larger.unit[1] == 7 && larger.unit[2] == 20);
    assert_true(wf_dist_divides(&larger, 0) && !wf_dist_divides(&larger, 2));
    check_blocks(&larger);
    const wf_shape one = { .rank = 3, .dim = { 1, 5, 9 } }, none = { .rank = 3, .dim = { 0, 5, 9 } };
    wf_dist small = wf_dist_resize(&d, &one), empty = wf_dist_resize(&d, &none);
    assert_true(!wf_dist_divides(&small, 0) && !wf_dist_divides(&empty, 0) && empty.unit[0] == 1);
    check_blocks(&small);
    check_blocks(&empty);
    small = wf_dist_resize(&small, &shape); /* the axis stays with the first rank along it */
    assert_true(!wf_dist_divides(&small, 0));
    d.unit[0] = 3;
    const wf_dist cut = wf_dist_resize(&d, &other); /* the first axis has the same extent */
    assert_int_equal(cut.unit[0], 3);
}

static void known(void **state)
{
    (void)state;
    static const struct {
        wf_shape shape;
        int n, grid[3];
    } cases[] = {
        { { .rank = 3, .dim = { 512, 512, 512 } }, 8, { 2, 2, 2 } },
        { { .rank = 3, .dim = { 512, 512, 512 } }, 4, { 2, 2, 1 } },
        { { .rank = 3, .dim = { 100, 4096, 4096 } }, 16, { 1, 4, 4 } },
        { { .rank = 2, .dim = { 1000, 10 } }, 8, { 8, 1, 1 } },
        { { .rank = 2, .dim = { 10, 1000 } }, 8, { 1, 8, 1 } },
        { { .rank = 2, .dim = { 3, 3 } }, 7, { 7, 1, 1 } }, /* no other factors; 3 ranks have a block */
        { { .rank = 2, .dim = { 2, 50 } }, 6, { 1, 6, 1 } },
        { { .rank = 3, .dim = { 1LL << 33, 1LL << 31, 1 } }, 64, { 16, 4, 1 } },
        { { .rank = 1, .dim = { 1LL << 62 } }, 4096, { 4096, 1, 1 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_dist d;
        assert_int_equal(wf_dist_make(&cases[i].shape, cases[i].n, NULL, &d), WF_OK);
        for (int a = 0; a < 3; a++)
            if (d.grid[a] != cases[i].grid[a])
                fail_msg("case %d: grid %d x %d x %d", (int)i, d.grid[0], d.grid[1], d.grid[2]);
        int64_t last[3], lo[WF_MAX_RANK], hi[WF_MAX_RANK];
        for (int a = 0; a < d.shape.rank; a++)
            last[a] = d.shape.dim[a] - 1;
        int owner = wf_dist_owner(&d, last);
        wf_dist_range(&d, owner, lo, hi);
        for (int a = 0; a < d.shape.rank; a++)
            assert_true(lo[a] <= last[a] && hi[a] == d.shape.dim[a]);
    }
}

static void refused(void **state)
{
    (void)state;
    wf_shape shape = { .rank = 2, .dim = { 8, 8 } }, negative = { .rank = 1, .dim = { -1 } }, nine = { .rank = 9 };
    wf_dist d = { .ranks = 77 };
    wf_dist_options bad[] = { { .size = 3 },
                              { .size = sizeof *bad, .grid = { 3 } },
                              { .size = sizeof *bad, .grid = { -2 } },
                              { .size = sizeof *bad, .grid = { 2, 2 } },
                              { .size = sizeof *bad, .unit = { -1 } },
                              { .size = sizeof *bad, .halo = { 0, -1 } } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(wf_dist_make(&shape, 8, &bad[i], &d), WF_ERR_ARG);
    assert_int_equal(wf_dist_make(NULL, 8, NULL, &d), WF_ERR_ARG);
    assert_int_equal(wf_dist_make(&shape, 0, NULL, &d), WF_ERR_ARG);
    assert_int_equal(wf_dist_make(&shape, 8, NULL, NULL), WF_ERR_ARG);
    assert_int_equal(wf_dist_make(&negative, 8, NULL, &d), WF_ERR_ARG);
    assert_int_equal(wf_dist_make(&nine, 8, NULL, &d), WF_ERR_ARG);
    assert_int_equal(d.ranks, 77);
    int64_t lo[WF_MAX_RANK] = { 5 }, hi[WF_MAX_RANK] = { 6 };
    int32_t place[WF_MAX_RANK] = { 7 };
    assert_int_equal(wf_dist_make(&shape, 8, NULL, &d), WF_OK);
    wf_dist_place(NULL, 0, place);
    wf_dist_place(&d, 0, NULL);
    wf_dist_range(NULL, 0, lo, hi);
    wf_dist_range(&d, 0, NULL, NULL);
    assert_true(place[0] == 7 && lo[0] == 5 && hi[0] == 6);
    assert_int_equal(wf_dist_owner(NULL, lo), -1);
    assert_int_equal(wf_dist_owner(&d, NULL), -1);
    assert_int_equal(wf_dist_neighbour(NULL, 0, 0, 1, true), -1);
    assert_int_equal(wf_dist_neighbour(&d, 0, INT32_MAX, 1, true), -1);
    assert_false(wf_dist_divides(NULL, 0) || wf_dist_divides(&d, -1) || wf_dist_divides(&d, INT32_MAX));
    assert_int_equal(wf_dist_resize(NULL, &shape).ranks, 0);
    assert_int_equal(wf_dist_resize(&d, NULL).ranks, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_small), cmocka_unit_test(units_and_halos),
                                        cmocka_unit_test(resized), cmocka_unit_test(known), cmocka_unit_test(refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
