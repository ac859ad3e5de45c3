/* dist.c - blocks of n-d indices for a grid of ranks.
 *
 * Along an axis of U units and g ranks, the first U mod g ranks have one unit more than the others. All of the grids with
 * the given number of ranks are compared. There are few: 8 axes and 4096 ranks have 50,388.
 */
#include "base/base.h"
#include "weft/dist.h"

/* ---- one axis --------------------------------------------------------------------------------------------------- */

static int64_t units(const wf_dist *d, int axis)
{
    int64_t n = d->shape.dim[axis], u = d->unit[axis];
    return n / u + (n % u != 0);
}

/* The first index of a place; the extent for the place after the last one. */
static int64_t begin_of(const wf_dist *d, int axis, int64_t place)
{
    int64_t all = units(d, axis), g = d->grid[axis], more = all % g;
    int64_t first = place * (all / g) + (place < more ? place : more);
    return first < all ? first * d->unit[axis] : d->shape.dim[axis];
}

static int64_t place_of(const wf_dist *d, int axis, int64_t index)
{
    int64_t all = units(d, axis), g = d->grid[axis], each = all / g, more = all % g;
    int64_t unit = index / d->unit[axis], in_larger = more * (each + 1);
    return unit < in_larger ? unit / (each + 1) : more + (unit - in_larger) / each;
}

/* ---- choosing a grid -------------------------------------------------------------------------------------------- */

/* In doubles: products of extents may not fit an integer, and need not be exact to be compared. */
typedef struct cost {
    double with_block, needed, largest;
} cost;

typedef struct choice {
    wf_dist at; /* the grid that is looked at */
    const wf_dist_options *options;
    const int64_t *halo;
    bool found;
    cost best;
    int32_t grid[WF_MAX_RANK];
} choice;

/* The places of an axis that may need most: the first, whose block is as long as any; and one in the middle, if the first
 * alone has a longer block, as it needs of two sides. */
typedef struct places {
    int n;
    double length[2], sides[2];
} places;

static places places_of(const wf_dist *d, int axis)
{
    int64_t all = units(d, axis), g = d->grid[axis], with_block = all < g ? all : g;
    bool first_is_longer = with_block > 2 && all > g && all % g == 1;
    double length = (double)begin_of(d, axis, 1);
    double middle = first_is_longer ? (double)(begin_of(d, axis, 2) - begin_of(d, axis, 1)) : 0;
    double sides = with_block < 2 ? 0 : with_block > 2 && !first_is_longer ? 2 : 1;
    return (places){ .n = 1 + first_is_longer, .length = { length, middle }, .sides = { sides, 2 } };
}

/* What a rank needs of its neighbours that is in the middle along the axes of the set, and at the beginning along the
 * others. */
static double needed_at(const choice *c, const places *at, unsigned middle)
{
    double sum = 0;
    for (int a = 0; a < c->at.shape.rank; a++) {
        double face = at[a].sides[middle >> a & 1] * (double)c->halo[a];
        for (int b = 0; b < c->at.shape.rank; b++)
            face *= b == a ? 1 : at[b].length[middle >> b & 1];
        sum += face;
    }
    return sum;
}

static cost cost_of(const choice *c)
{
    const wf_dist *d = &c->at;
    places at[WF_MAX_RANK];
    cost result = { 1, 0, 1 };
    unsigned two = 0; /* axes with two places */
    for (int a = 0; a < d->shape.rank; a++) {
        int64_t all = units(d, a);
        at[a] = places_of(d, a);
        two |= (unsigned)(at[a].n > 1) << a;
        result.with_block *= (double)(all < d->grid[a] ? all : d->grid[a]);
        result.largest *= at[a].length[0];
    }
    for (unsigned middle = 0; middle < 1u << d->shape.rank; middle++) {
        double needed = middle & ~two ? 0 : needed_at(c, at, middle);
        result.needed = needed > result.needed ? needed : result.needed;
    }
    return result;
}

static bool better(cost a, cost b)
{
    if (a.with_block != b.with_block)
        return a.with_block > b.with_block;
    if (a.needed != b.needed)
        return a.needed < b.needed;
    return a.largest < b.largest;
}

/* Tries a number of ranks along this axis. */
static void try_number(choice *c, int axis, int32_t left, int32_t ranks);

/* Tries all numbers of ranks along this axis and the following ones, whose product is `left`; large ones first, so that
 * of equal grids the first one cuts the first axes. */
static void try_axis(choice *c, int axis, int32_t left)
{
    if (axis == c->at.shape.rank) {
        if (left != 1)
            return;
        cost now = cost_of(c);
        if (c->found && !better(now, c->best))
            return;
        c->found = true;
        c->best = now;
        memcpy(c->grid, c->at.grid, sizeof c->grid);
        return;
    }
    int32_t small = 1;
    for (; small <= left / small; small++) /* divisors come in pairs */
        if (left % small == 0)
            try_number(c, axis, left, left / small);
    while (--small >= 1)
        if (left % small == 0 && small < left / small)
            try_number(c, axis, left, small);
}

static void try_number(choice *c, int axis, int32_t left, int32_t ranks)
{
    const int32_t given = c->options->grid[axis];
    if (given && given != ranks)
        return;
    c->at.grid[axis] = ranks;
    try_axis(c, axis + 1, left / ranks);
}

wf_status wf_dist_make(const wf_shape *shape, int n, const wf_dist_options *options, wf_dist *out)
{
    static const int64_t one_each[WF_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const wf_dist_options none = { .size = sizeof none };
    choice c = { .options = options ? options : &none, .halo = one_each };
    if (!shape || !out || n < 1 || shape->rank < 0 || shape->rank > WF_MAX_RANK || c.options->size != sizeof none)
        return WF_ERR_ARG;
    c.at.shape = *shape;
    c.at.ranks = n;
    for (int a = 0; a < WF_MAX_RANK; a++) {
        c.at.grid[a] = 1;
        c.at.unit[a] = c.options->unit[a] ? c.options->unit[a] : 1;
        bool inside = a < shape->rank;
        if (c.options->grid[a] < 0 || c.at.unit[a] < 1 || c.options->halo[a] < 0 || (inside && shape->dim[a] < 0))
            return WF_ERR_ARG;
        if (c.options->halo[a])
            c.halo = c.options->halo;
    }
    try_axis(&c, 0, n);
    if (!c.found)
        return WF_ERR_ARG;
    memcpy(c.at.grid, c.grid, sizeof c.grid);
    *out = c.at;
    return WF_OK;
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

void wf_dist_place(const wf_dist *dist, int rank, int32_t *place)
{
    if (!dist || !place)
        return;
    for (int a = dist->shape.rank; a-- > 0; rank /= dist->grid[a])
        place[a] = rank % dist->grid[a];
}

static int rank_at(const wf_dist *dist, const int32_t *place)
{
    int rank = 0;
    for (int a = 0; a < dist->shape.rank; a++)
        rank = rank * dist->grid[a] + place[a];
    return rank;
}

void wf_dist_range(const wf_dist *dist, int rank, int64_t *lo, int64_t *hi)
{
    int32_t place[WF_MAX_RANK];
    if (!dist || !lo || !hi)
        return;
    wf_dist_place(dist, rank, place);
    for (int a = 0; a < dist->shape.rank; a++) {
        lo[a] = begin_of(dist, a, place[a]);
        hi[a] = begin_of(dist, a, place[a] + 1);
    }
}

int wf_dist_owner(const wf_dist *dist, const int64_t *index)
{
    int32_t place[WF_MAX_RANK];
    if (!dist || (dist->shape.rank && !index))
        return -1;
    for (int a = 0; a < dist->shape.rank; a++)
        place[a] = (int32_t)place_of(dist, a, index[a]);
    return rank_at(dist, place);
}

static bool has_axis(const wf_dist *dist, int axis) { return dist && axis >= 0 && axis < dist->shape.rank; }

int wf_dist_neighbour(const wf_dist *dist, int rank, int axis, int step, bool periodic)
{
    int32_t place[WF_MAX_RANK];
    if (!has_axis(dist, axis))
        return -1;
    const int32_t g = dist->grid[axis];
    wf_dist_place(dist, rank, place);
    int64_t to = (int64_t)place[axis] + step;
    if (!periodic && (to < 0 || to >= g))
        return -1;
    place[axis] = (int32_t)((to % g + g) % g);
    return rank_at(dist, place);
}

bool wf_dist_divides(const wf_dist *dist, int axis)
{
    return has_axis(dist, axis) && dist->grid[axis] > 1 && dist->unit[axis] < dist->shape.dim[axis];
}

wf_dist wf_dist_resize(const wf_dist *dist, const wf_shape *shape)
{
    wf_dist out = dist ? *dist : (wf_dist){ 0 };
    if (!dist || !shape)
        return out;
    for (int a = 0; a < shape->rank; a++)
        if (shape->dim[a] != dist->shape.dim[a])
            out.unit[a] = wf_dist_divides(dist, a) || shape->dim[a] < 1 ? 1 : shape->dim[a];
    out.shape = *shape;
    return out;
}
