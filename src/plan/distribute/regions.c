/* regions.c - the points that each rank runs, and the elements that it needs. The pass walks the stages backwards once for
 * each rank. A rank needs its blocks of the arrays that are written. From the elements that it needs of what a stage
 * stores follow the points of the stage, and from these, by the bounds of indices, the elements that the stage reads. Of an
 * array that a gather reads, a rank needs what it gives to others. What a rank needs is a set of boxes, one of each read, so
 * that a star of neighbours is no cube. Points, and what a rank has memory for, are one box around such a set.
 */
#include "ir/pass/pass.h"
#include "plan/distribute/distribute.h"
#include <stdio.h>

typedef struct region { /* a box of points or of elements */
    wf__box box;
    bool any;
} region;

typedef struct walk {
    wf__planning *p;
    wf__plan *plan;
    uint32_t objects; /* with temporaries */
    int rank;         /* the rank whose regions are computed */
    wf__boxes *need;  /* [objects] what later stages read, and in the end what the rank needs at the start */
    region *touched;  /* [objects] what the rank needs memory for */
    wf__range *range; /* [nodes of the largest body] */
    uint8_t *live;    /* likewise */
    bool tries;       /* the walks only find out which scans ranks share */
    bool again;       /* one has found a scan that they do not share */
} walk;

typedef struct place { /* a stage and the points of it that a rank runs */
    const walk *w;
    const wf__stage *stage;
    wf__box points; /* along the axes of the space */
} place;

/* ---- boxes ---- */
static void add(region *r, const wf__box *b, int rank)
{
    if (wf__box_is_empty(b, rank))
        return;
    r->box = r->any ? wf__box_hull(&r->box, b, rank) : *b;
    r->any = true;
}

/* ---- what a stage reads ---- */
/* True if each rank has all elements of the object. */
static bool is_whole(const walk *w, uint32_t object)
{
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    return !wf__object_cut(w->p, object, cut, &grid);
}

static bool find_reads(const place *at)
{
    const walk *w = at->w;
    const wf__ir *ir = &at->stage->recorded;
    if (!wf__find_ranges(w->p, at->stage, &at->points, w->range))
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__LOAD || !w->live[r] || !wf__has_regions(w->p, ir->slot[n->a].object))
            continue;
        uint32_t object = ir->slot[n->a].object;
        wf__box box;
        if (!wf__read_of_points(w->p, at->stage, &at->points, w->range, r, &box))
            return false;
        object = wf__of_image(w->p, object, &box);
        wf__boxes_add(&w->need[object], &box, w->p->all[object].rank);
        add(&w->touched[object], &box, w->p->all[object].rank);
    }
    return true;
}

/* ---- what a stage stores ---- */
static bool is_scatter(const wf__stage *stage) { return stage->gather && stage->gather->joins; }

/* Fails if ranks cannot divide what store r does. */
static bool check_store(const place *at, wf__ref r)
{
    wf__planning *p = at->w->p;
    const wf__node *n = &at->stage->recorded.node[r];
    const uint32_t object = at->stage->recorded.slot[n->a].object;
    const bool divides = at->stage->division.axes;
    char why[400];
    const bool updates = n->op != WF__STORE && wf__is_distributed(p, object) && p->rec->group->ranks > 1;
    if (wf__is_tally(p, &at->stage->recorded, n) || (!divides && is_whole(at->w, object) && !updates) ||
        (n->op == WF__ACCUM && wf__joins_own(p, at->stage, n)))
        return true;
    if (n->op != WF__STORE)
        return wf__fail_store(p, at->stage, r,
                              n->op == WF__ACCUM
                                  ? "is a result of a recording that several ranks accumulate into, which they do with "
                                    "arrays alone"
                                  : "is updated by atomic operations in a stage of distributed arrays, which ranks "
                                    "cannot do: accumulate into it (wf_accumulate)");
    if (!wf__has_regions(p, object))
        return wf__fail_store(
            p, at->stage, r,
            "has all elements on each rank, but is computed from distributed arrays, or in one loop "
            "with them: reduce them, collect them before (wf_array_collect), or make it two launches");
    const int axis = wf__places_of_store(p, at->stage, n).unknown;
    if (axis < 0)
        return true;
    snprintf(why, sizeof why,
             "is stored to along axis %d, which ranks divide, by an index that is not a point's own plus a number, %s, "
             "so that ranks do not know who stores what: %s",
             axis, wf__turns_end(&at->stage->recorded, r) ? "in a loop" : "beside other changes of it",
             wf__advice_unknown);
    return wf__fail_store(p, at->stage, r, why);
}

/* Adds the points that store what the rank needs of the object of store r. */
static void find_points(const place *at, wf__ref r, region *points)
{
    const walk *w = at->w;
    const wf__node *n = &at->stage->recorded.node[r];
    const uint32_t object = at->stage->recorded.slot[n->a].object;
    const int rank = w->p->all[object].rank;
    wf__box box;
    if (wf__is_tally(w->p, &at->stage->recorded, n) || !w->need[object].n)
        return;
    const wf__places places = wf__places_of_store(w->p, at->stage, n);
    const wf__box need = wf__boxes_hull(&w->need[object], rank);
    if (wf__points_that_store(at->stage, &places, &need, rank, &box))
        add(points, &box, at->stage->space.rank);
}

/* Notes what the points store: it needs memory, and earlier contents of it are not needed unless values are joined with them. */
static void note_stored(const place *at, wf__ref r)
{
    const walk *w = at->w;
    const wf__node *n = &at->stage->recorded.node[r];
    const uint32_t object = at->stage->recorded.slot[n->a].object;
    const wf__bind *b = &w->p->all[object];
    wf__box box;
    if (!wf__has_regions(w->p, object))
        return;
    const wf__places places = wf__places_of_store(w->p, at->stage, n);
    /* Each point stores each element of the box that it may store. */
    bool surely = n->op == WF__STORE && !n->d && !at->stage->recorded.loops;
    wf__elements_stored(&places, &at->points, b, &box);
    add(&w->touched[object], &box, b->rank);
    for (int k = 0; k < b->rank; ++k)
        surely = surely && places.axis[k] != WF__ANYWHERE;
    const wf__box need = wf__boxes_hull(&w->need[object], b->rank);
    if (surely && wf__box_within(&need, &box, b->rank))
        w->need[object].n = 0;
}

/* ---- reductions ---- */
/* Adds the points whose results a rank needs of a reduction that keeps axes, all reduced points of each. */
static void find_kept(const place *at, region *points)
{
    const wf__stage *stage = at->stage;
    for (uint32_t k = 0; k < stage->recorded.red_n; ++k) {
        const uint32_t result = stage->reduce.result[k];
        const wf__box need = wf__boxes_hull(&at->w->need[result], at->w->p->all[result].rank);
        wf__box box = wf__whole_space(stage);
        for (int d = 0; d < stage->space.rank; ++d)
            if (!(stage->reduce.axes >> d & 1) && stage->division.axes >> d & 1) {
                box.lo[d] = need.lo[d];
                box.hi[d] = need.hi[d];
            }
        if (at->w->need[result].n)
            add(points, &box, stage->space.rank);
    }
}

/* Each point accumulates once, so a rank runs the points of its share. Fails if it needs others, too. */
static bool take_share(const place *at, region *points)
{
    const wf__stage *stage = at->stage;
    wf__box share;
    wf__ref r = 1;
    wf__find_share(at->w->p, stage, at->w->rank, &share);
    while (!wf__is_tally(at->w->p, &stage->recorded, &stage->recorded.node[r]))
        ++r;
    if (points->any && !wf__box_within(&points->box, &share, stage->space.rank))
        return wf__fail_store(
            at->w->p, at->stage, r,
            "is accumulated into by points that several ranks run, as the stage also stores what they "
            "need: make it two launches");
    points->any = !wf__box_is_empty(&share, stage->space.rank);
    points->box = share;
    return true;
}

/* ---- a stage ---- */
/* Sets the points that the rank runs. */
static bool find_window(place *at, bool *any)
{
    const wf__stage *stage = at->stage;
    const wf__ir *ir = &stage->recorded;
    region points = { .any = false };
    at->points = wf__whole_space(stage);
    *any = !wf__box_is_empty(&at->points, stage->space.rank);
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__op_is_store(ir->node[r].op) && !is_scatter(stage) && !check_store(at, r))
            return false;
    if (!stage->division.axes)
        return true;
    if (is_scatter(stage)) {
        wf__find_share(at->w->p, stage, at->w->rank, &at->points);
        *any = !wf__box_is_empty(&at->points, stage->space.rank);
        return true;
    }
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__op_is_store(ir->node[r].op))
            find_points(at, r, &points);
    if (wf__reduces_divided(stage)) {
        wf__box share;
        wf__find_share(at->w->p, stage, at->w->rank, &share);
        add(&points, &share, stage->space.rank);
    } else if (ir->red_n)
        find_kept(at, &points);
    if (points.any)
        wf__widen_to_units(stage, &points.box);
    if ((stage->division.tallies || stage->division.joins_copies) && !take_share(at, &points))
        return false;
    *any = points.any;
    at->points = points.box;
    return true;
}

/* Sets the boxes of the stage that this rank runs, and what its code may rely on. */
static void cut_window(wf__stage *stage, const wf__box *points, bool any)
{
    wf__partition *partition = &stage->partition;
    wf__box *window = &stage->division.window;
    int lane = stage->lowered.rank - 1;
    double part = 1;
    wf__points_to_loops(stage, points, any, window);
    stage->division.boxes = any;
    for (int k = 0; k <= lane && any; ++k) {
        int64_t n = window->hi[k] - window->lo[k];
        stage->division.boxes *= (n + partition->box[k] - 1) / partition->box[k];
        part *= (double)n / (double)stage->extent[k];
    }
    partition->work = (uint64_t)((double)partition->work * (any ? part : 0)) + 1;
    partition->slabs = -1;
    if (window->lo[lane] > 0 || window->hi[lane] < stage->extent[lane])
        stage->promises.long_rows = stage->promises.nontemporal = false;
}

/* ---- scans ---- */
/* Sets the points that the rank scans, and what it needs for them. */
static bool walk_scan(walk *w, wf__stage *stage)
{
    const wf__scan *scan = &stage->scan;
    const int rank = stage->space.rank;
    const wf__box need = wf__boxes_hull(&w->need[scan->to], rank);
    const bool any = w->need[scan->to].n;
    wf__box points = wf__whole_space(stage);
    char called[WF__CALLED];
    if (stage->division.axes && !wf__has_regions(w->p, scan->to)) {
        wf__plan_fail(w->plan, WF_ERR_UNSUPPORTED,
                      "%s has all elements on each rank, but is a scan of a distributed array",
                      wf__bind_called(&w->p->all[scan->to], called));
        return false;
    }
    if (stage->division.axes && !wf__scan_points(w->p, stage, w->rank, any ? &need : NULL, &points)) {
        stage->scan.shared = false;
        w->again = true;
        wf__scan_points(w->p, stage, w->rank, &need, &points);
    }
    if (w->rank == w->p->rec->group->rank)
        stage->division.window = points;
    if (wf__box_is_empty(&points, rank))
        return true;
    w->need[scan->to].n = 0; /* it is among the points */
    if (wf__has_regions(w->p, scan->to))
        add(&w->touched[scan->to], &points, rank);
    if (wf__has_regions(w->p, scan->from)) {
        wf__boxes_add(&w->need[scan->from], &points, rank);
        add(&w->touched[scan->from], &points, rank);
    }
    return true;
}

/* ---- gathers ---- */
/* Adds the elements that a rank gives to the others, or joins with their values. */
static void give_block(walk *w, const wf__stage *stage)
{
    const uint32_t from = stage->gather->from;
    const int rank = stage->gather->shape.rank;
    const wf__box own = wf__gathered_block(stage->gather, w->rank);
    if (stage->empty || wf__box_is_empty(&own, rank))
        return;
    wf__boxes_add(&w->need[from], &own, rank);
    add(&w->touched[from], &own, rank);
}

/* ---- scatters ---- */
/* Fails if the rank needs elements of other blocks that ranks join values with. */
static bool check_joined(walk *w, const wf__stage *stage)
{
    const uint32_t to = stage->gather->from;
    const int rank = stage->gather->shape.rank;
    wf__box own = { { 0 }, { 0 } };
    if (!wf__is_distributed(w->p, to))
        return true; /* of a single rank */
    wf_dist_range(w->p->bind[to].dist, w->rank, own.lo, own.hi);
    const wf__box need = wf__boxes_hull(&w->need[to], rank);
    wf__ref r = 1;
    if (!w->need[to].n || wf__box_within(&need, &own, rank))
        return true;
    while (!wf__op_is_store(stage->recorded.node[r].op))
        ++r;
    return wf__fail_store(w->p, stage, r,
                          stage->gather->stores
                              ? "is stored to at any index, and later operations of the launch read elements that "
                                "other ranks have: make it two launches"
                              : "is accumulated into, and later operations of the launch read elements that other "
                                "ranks have: make it two launches");
}

/* ---- stages ---- */
static bool walk_stage(walk *w, uint32_t s)
{
    wf__stage *stage = &w->plan->stage[s];
    const wf__ir *ir = &stage->recorded;
    place at = { .w = w, .stage = stage };
    bool any;
    if (stage->scan.on)
        return walk_scan(w, stage);
    if (is_scatter(stage) && !check_joined(w, stage))
        return false;
    if (stage->gather)
        give_block(w, stage);
    memset(w->live, 0, ir->n);
    wf__mark_effects(ir, w->live);
    wf__mark_live(ir, w->live);
    if (!find_window(&at, &any))
        return false;
    if (stage->division.axes && w->rank == w->p->rec->group->rank && !w->tries) {
        cut_window(stage, &at.points, any);
        if (!wf__find_overlap(w->p, stage, any ? &at.points : NULL, w->live, w->range))
            return false;
    }
    if (!any)
        return true;
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__op_is_store(ir->node[r].op) && !is_scatter(stage))
            note_stored(&at, r);
    return find_reads(&at);
}

/* ---- the plan ---- */
bool wf__is_written(const wf__plan *plan, uint32_t object)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        const wf__stage *stage = &plan->stage[s];
        if (stage->scan.on && stage->scan.to == object)
            return true;
        for (uint32_t k = 0; k < stage->recorded.slot_n; ++k)
            if (stage->recorded.slot[k].object == object && stage->recorded.slot[k].written)
                return true;
    }
    return false;
}

/* Computes the regions of a rank. */
static bool walk_rank(walk *w, int rank)
{
    const wf__group *group = w->p->rec->group;
    w->rank = rank;
    for (uint32_t o = 0; o < w->objects; ++o)
        w->need[o].n = 0;
    memset(w->touched, 0, w->objects * sizeof *w->touched);
    for (uint32_t o = 0; o < w->plan->objects; ++o) {
        wf__box block = { { 0 }, { 0 } };
        if (!wf__is_distributed(w->p, o) || !wf__is_written(w->plan, o))
            continue;
        wf_dist_range(w->p->bind[o].dist, rank, block.lo, block.hi);
        wf__boxes_add(&w->need[o], &block, w->p->bind[o].rank);
    }
    for (uint32_t s = w->plan->stage_n; s-- > 0;)
        if (!walk_stage(w, s))
            return false;
    for (uint32_t o = 0; o < w->plan->objects && !w->tries; ++o) {
        wf__needs *read = w->plan->held[o].read;
        if (read)
            wf__boxes_cut(&w->need[o], read->rank);
        if (read && !wf__needs_set(read, rank, &w->need[o]))
            return wf__plan_no_memory(w->plan);
        if (w->touched[o].any && rank == group->rank)
            w->plan->held[o].touched = w->touched[o].box;
    }
    return true;
}

/* Computes the regions of all ranks, those of this one last, since temporaries are placed by them. */
static bool walk_ranks(walk *w)
{
    const wf__group *group = w->p->rec->group;
    for (int r = 0; r < group->ranks; ++r)
        if (r != group->rank && !walk_rank(w, r))
            return false;
    return walk_rank(w, group->rank);
}

/* Finds the scans in which ranks pass carries on: all that they divide, but those of which a rank needs other elements. */
static bool share_scans(walk *w)
{
    bool ok = true;
    for (uint32_t s = 0; s < w->plan->stage_n; ++s) {
        wf__stage *stage = &w->plan->stage[s];
        stage->scan.shared = wf__divides_scan(stage);
        w->again = w->again || stage->scan.shared;
    }
    w->tries = true;
    while (ok && w->again) {
        w->again = false;
        for (int r = 0; ok && r < w->p->rec->group->ranks; ++r) /* all ranks go in this order, and so find the same */
            ok = walk_rank(w, r);
    }
    w->tries = false;
    for (uint32_t s = 0; ok && s < w->plan->stage_n; ++s)
        if (w->plan->stage[s].scan.shared)
            wf__scan_neighbours(w->p, &w->plan->stage[s]);
    return ok;
}

/* Finds the arrays of which ranks read elements apart from their blocks. */
static void find_apart(walk *w)
{
    const int ranks = w->p->rec->group->ranks;
    for (uint32_t o = 0; o < w->plan->objects; ++o) {
        const int rank = w->p->bind[o].rank;
        if (!wf__is_distributed(w->p, o) || wf__is_written(w->plan, o))
            continue;
        for (int r = 0; r < ranks && !w->plan->held[o].apart; ++r) {
            const wf__box need = wf__needs_hull(w->plan->held[o].read, r);
            wf__box block = { { 0 }, { 0 } };
            wf_dist_range(w->p->bind[o].dist, r, block.lo, block.hi);
            const wf__box both = wf__box_hull(&block, &need, rank);
            const size_t parts = wf__box_elements(&block, rank) + wf__box_elements(&need, rank);
            w->plan->held[o].apart = !wf__box_is_empty(&need, rank) && wf__box_elements(&both, rank) > parts;
        }
    }
}

/* Sets the shares of all ranks in the reductions and in the accumulations that they join. */
static bool find_shares(walk *w)
{
    const wf__group *group = w->p->rec->group;
    for (uint32_t s = 0; s < w->plan->stage_n; ++s) {
        wf__stage *stage = &w->plan->stage[s];
        stage->division.joins = wf__reduces_divided(stage);
        if (!stage->division.joins && !stage->division.joins_copies)
            continue;
        if (!(stage->division.share = wf__alloc((size_t)group->ranks * sizeof *stage->division.share)))
            return wf__plan_no_memory(w->plan);
        for (int r = 0; r < group->ranks; ++r) {
            wf__box points;
            wf__find_share(w->p, stage, r, &points);
            wf__points_to_loops(stage, &points, !wf__box_is_empty(&points, stage->space.rank),
                                &stage->division.share[r]);
        }
    }
    return true;
}

/* Gives a temporary memory for the elements that this rank touches, in the planned order of axes. */
static void hold_in_part(wf__temp *temp, const region *touched)
{
    int order[WF_MAX_RANK], rank = temp->shape.rank;
    int64_t points = 1;
    temp->in_part = true;
    if (touched->any)
        temp->held = touched->box;
    for (int d = 0; d < rank; ++d) { /* by falling strides; of equal ones, the first axis is outside */
        int at = d;
        for (; at > 0 && temp->stride[order[at - 1]] < temp->stride[d]; --at)
            order[at] = order[at - 1];
        order[at] = d;
    }
    temp->origin = 0;
    for (int i = rank - 1; i >= 0; --i) {
        int64_t n = temp->held.hi[order[i]] - temp->held.lo[order[i]];
        temp->stride[order[i]] = points;
        temp->origin -= temp->held.lo[order[i]] * points;
        points *= n > 0 ? n : 1;
    }
}

static bool is_result(const wf__plan *plan, uint32_t object)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        for (uint32_t k = 0; plan->stage[s].reduce.result && k < plan->stage[s].lowered.red_n; ++k)
            if (plan->stage[s].reduce.result[k] == object)
                return true;
    return false;
}

static bool place_temps(walk *w)
{
    bool moved = false;
    for (uint32_t t = 0; t < w->plan->temp_n; ++t) {
        wf__temp *temp = &w->plan->temp[t];
        bool cut = false;
        for (int d = 0; d < temp->shape.rank; ++d)
            cut = cut || temp->cut[d];
        if (!cut || is_result(w->plan, w->plan->objects + t)) /* kernels number all results of a reduction */
            continue;
        hold_in_part(temp, &w->touched[w->plan->objects + t]);
        wf__temp_bind(temp, &w->p->all[w->plan->objects + t]);
        moved = true;
    }
    for (uint32_t s = 0; moved && s < w->plan->stage_n; ++s) {
        wf__stage *stage = &w->plan->stage[s];
        if (stage->scan.on)
            wf__scan_lay(stage, w->p->all);
        else if (!wf__lay_memory_again(w->plan, stage, w->p->all))
            return false;
    }
    return true;
}

bool wf__pass_regions(wf__planning *p)
{
    wf__plan *plan = p->plan;
    uint32_t most = 1;
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        most = plan->stage[s].recorded.n > most ? plan->stage[s].recorded.n : most;
    walk w = { .p = p, .plan = plan, .objects = plan->objects + plan->temp_n };
    w.need = wf__alloc((w.objects + 1) * sizeof *w.need);
    w.touched = wf__alloc((w.objects + 1) * sizeof *w.touched);
    w.range = wf__alloc(most * sizeof *w.range);
    w.live = wf__alloc(most);
    plan->held = wf__alloc0((plan->objects + 1) * sizeof *plan->held);
    bool ok = w.need && w.touched && w.range && w.live && plan->held;
    for (uint32_t o = 0; ok && o < plan->objects; ++o)
        if (wf__is_distributed(p, o))
            ok = (plan->held[o].read = wf__needs_new(p->rec->group->ranks, p->bind[o].rank)) != NULL;
    ok = ok || wf__plan_no_memory(plan);
    ok = ok && wf__find_tallies(p);
    ok = ok && share_scans(&w) && walk_ranks(&w);
    if (ok)
        find_apart(&w);
    ok = ok && find_shares(&w) && place_temps(&w);
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s) {
        const wf__gathered *gather = plan->stage[s].gather;
        if (gather && !gather->joins)
            wf__gather_in_place(plan, s);
    }
    wf__free(w.need);
    wf__free(w.touched);
    wf__free(w.range);
    wf__free(w.live);
    return ok;
}
