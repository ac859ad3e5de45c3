/* needs.c - see needs.h. */
#include "plan/needs.h"

/* ---- sets ---- */
/* True if the elements of both are those of one box: they differ along one axis alone, without a gap. */
static bool are_box(const wf__box *a, const wf__box *b, int rank)
{
    int differ = 0;
    for (int d = 0; d < rank; ++d)
        if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d])
            differ += a->lo[d] <= b->hi[d] && b->lo[d] <= a->hi[d] ? 1 : 2;
    return differ <= 1;
}

wf__box wf__boxes_hull(const wf__boxes *set, int rank)
{
    wf__box hull = { { 0 }, { 0 } };
    for (uint32_t i = 0; i < set->n; ++i)
        hull = i ? wf__box_hull(&hull, &set->box[i], rank) : set->box[i];
    return hull;
}

void wf__boxes_add(wf__boxes *set, const wf__box *box, int rank)
{
    wf__box more = *box;
    if (wf__box_is_empty(box, rank))
        return;
    for (uint32_t i = 0; i < set->n;) {
        const wf__box *old = &set->box[i];
        if (wf__box_within(&more, old, rank))
            return;
        const bool joins = are_box(&more, old, rank);
        if (!joins && !wf__box_within(old, &more, rank)) {
            ++i;
            continue;
        }
        more = wf__box_hull(&more, old, rank);
        set->box[i] = set->box[--set->n];
        i = joins ? 0 : i; /* a larger box may be joined with those before */
    }
    if (set->n == WF__BOXES_ROOM)
        wf__boxes_cut(set, rank);
    set->box[set->n++] = more;
}

/* Sorts numbers, and leaves each of them out that is there twice. Returns how many are left. */
static int sort(int64_t *x, int n)
{
    int left = 0;
    for (int i = 0; i < n; ++i) {
        const int64_t new = x[i];
        int at = left;
        while (at > 0 && x[at - 1] > new)
            --at;
        if (at > 0 && x[at - 1] == new)
            continue;
        memmove(x + at + 1, x + at, (size_t)(left++ - at) * sizeof *x);
        x[at] = new;
    }
    return left;
}

/* True if the boxes of two lists are equal but along an axis. */
static bool same_but(const wf__box *a, const wf__box *b, int n, int axis)
{
    for (int i = 0; i < n; ++i) {
        wf__box x = a[i];
        x.lo[axis] = b[i].lo[axis];
        x.hi[axis] = b[i].hi[axis];
        if (memcmp(&x, &b[i], sizeof x) != 0)
            return false;
    }
    return true;
}

/* Cuts n > 0 boxes, as far as axes from `axis` on matter; the others are 0 in the result. Cuts into slabs between the numbers
 * where boxes begin or end along the axis, and each slab likewise along the later ones. Slabs side by side that are cut alike
 * are one. Returns the number of boxes; -1: there are more than WF__MOST_BOXES. */
static int cut(const wf__box *const *in, int n, int axis, int rank, wf__box *out)
{
    int64_t at[2 * WF__BOXES_ROOM];
    int total = 0, last_n = 0; /* last_n: boxes of the slab before */
    if (axis == rank) {
        memset(out, 0, sizeof *out);
        return 1;
    }
    for (int i = 0; i < n; ++i) {
        at[2 * i] = in[i]->lo[axis];
        at[2 * i + 1] = in[i]->hi[axis];
    }
    const int numbers = sort(at, 2 * n);
    for (int k = 0; k + 1 < numbers; ++k) {
        const wf__box *slab[WF__BOXES_ROOM];
        wf__box part[WF__MOST_BOXES];
        int slab_n = 0, part_n = 0;
        for (int i = 0; i < n; ++i)
            if (in[i]->lo[axis] <= at[k] && in[i]->hi[axis] >= at[k + 1])
                slab[slab_n++] = in[i];
        if (slab_n && (part_n = cut(slab, slab_n, axis + 1, rank, part)) < 0)
            return -1;
        wf__box *last = out + total - last_n;
        if (part_n && part_n == last_n && same_but(last, part, part_n, axis)) {
            for (int i = 0; i < part_n; ++i)
                last[i].hi[axis] = at[k + 1];
            continue;
        }
        if (total + part_n > WF__MOST_BOXES)
            return -1;
        for (int i = 0; i < part_n; ++i) {
            part[i].lo[axis] = at[k];
            part[i].hi[axis] = at[k + 1];
            out[total++] = part[i];
        }
        last_n = part_n;
    }
    return total;
}

void wf__boxes_cut(wf__boxes *set, int rank)
{
    const wf__box *all[WF__BOXES_ROOM];
    wf__box out[WF__MOST_BOXES];
    if (set->n < 2)
        return;
    for (uint32_t i = 0; i < set->n; ++i)
        all[i] = &set->box[i];
    int n = cut(all, (int)set->n, 0, rank, out);
    if (n < 0) {
        out[0] = wf__boxes_hull(set, rank);
        n = 1;
    }
    memcpy(set->box, out, (size_t)n * sizeof *out);
    set->n = (uint32_t)n;
}

/* ---- what ranks need ---- */
wf__needs *wf__needs_new(int ranks, int rank)
{
    wf__needs *needs = wf__alloc0(sizeof *needs + (size_t)ranks * sizeof *needs->of_rank);
    if (!needs)
        return NULL;
    atomic_init(&needs->refs, 1);
    needs->ranks = ranks;
    needs->rank = rank;
    return needs;
}

wf__needs *wf__needs_retain(wf__needs *needs)
{
    atomic_fetch_add(&needs->refs, 1);
    return needs;
}

void wf__needs_release(wf__needs *needs)
{
    if (!needs || atomic_fetch_sub(&needs->refs, 1) > 1)
        return;
    wf__free(needs->box);
    wf__free(needs);
}

bool wf__needs_set(wf__needs *needs, int of, const wf__boxes *set)
{
    if (!set->n)
        return true;
    if (!wf__grow(&needs->box, &needs->cap, needs->n + set->n, sizeof *needs->box))
        return false;
    memcpy(needs->box + needs->n, set->box, set->n * sizeof *set->box);
    needs->of_rank[of] = (struct wf__need){ needs->n, set->n };
    needs->n += set->n;
    return true;
}

wf__box wf__needs_hull(const wf__needs *needs, int of)
{
    wf__box hull = { { 0 }, { 0 } };
    uint32_t n;
    const wf__box *box = wf__needs_of(needs, of, &n);
    for (uint32_t i = 0; i < n; ++i)
        hull = i ? wf__box_hull(&hull, &box[i], needs->rank) : box[i];
    return hull;
}

bool wf__needs_equal(const wf__needs *a, const wf__needs *b)
{
    bool same = a == b || (a->n == b->n && a->ranks == b->ranks && a->rank == b->rank);
    for (int r = 0; a != b && same && r < a->ranks; ++r) {
        uint32_t n, m;
        const wf__box *x = wf__needs_of(a, r, &n), *y = wf__needs_of(b, r, &m);
        same = n == m && (!n || !memcmp(x, y, n * sizeof *x));
    }
    return same;
}

bool wf__needs_within(const wf__needs *needs, const wf__needs *of)
{
    for (int r = 0; needs != of && r < needs->ranks; ++r) {
        uint32_t n, m;
        const wf__box *x = wf__needs_of(needs, r, &n), *y = wf__needs_of(of, r, &m);
        for (uint32_t i = 0; i < n; ++i) {
            size_t found = 0;
            for (uint32_t k = 0; k < m; ++k) {
                const wf__box both = wf__box_meet(&x[i], &y[k], needs->rank);
                found += wf__box_elements(&both, needs->rank);
            }
            if (found < wf__box_elements(&x[i], needs->rank))
                return false;
        }
    }
    return true;
}
