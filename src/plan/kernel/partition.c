/* partition.c - the cost of a stage, and its cut into boxes: units of work for threads, and of order for reductions. */
#include "ir/cost.h"
#include "plan/passes.h"
#include <math.h>
#include <stdlib.h>

static int64_t cut(wf__stage *stage, int axis, int64_t size)
{
    int64_t n = stage->extent[axis];
    stage->partition.box[axis] = size < 1 || n < 1 ? 1 : size < n ? size : n;
    return (n + stage->partition.box[axis] - 1) / stage->partition.box[axis];
}

/* Cuts a stage into at most `most` boxes, by its extents alone, for private copies. A box becomes longer, by a factor of two
 * along one loop at a time, until there are so few. It is to be twice as long along each loop as along the next outer one,
 * since blocks of ranks cut the first axes more often than others. Returns the number of boxes. */
static int64_t cut_for_copies(wf__stage *stage, int64_t most)
{
    const int lane = stage->lowered.rank - 1;
    int64_t size[WF_MAX_RANK], boxes = 1;
    for (int d = lane; d >= 0; --d)
        boxes *= cut(stage, d, size[d] = d == lane ? WF__COPIED_BOX_LANES : 1);
    while (boxes > most) {
        double least = HUGE_VAL;
        int next = 0;
        for (int d = lane; d >= 0; --d) { /* the loop along which the box lacks most of its length */
            const double length = (double)size[d] * (1 << (lane - d));
            if (size[d] < stage->extent[d] && length < least) {
                least = length;
                next = d;
            }
        }
        size[next] = size[next] > stage->extent[next] / 2 ? stage->extent[next] : 2 * size[next];
        boxes = 1;
        for (int d = 0; d <= lane; ++d)
            boxes *= cut(stage, d, size[d]);
    }
    return boxes;
}

/* Returns the number of parts that rows are cut into, if lanes are kept. Parts are work for threads if there are few
 * boxes. On a GPU, whose threads have one accumulator each, parts are work if there are few accumulators. */
static int64_t count_parts(const wf__stage *stage, int64_t boxes, int64_t rows)
{
    int64_t parts = boxes < WF__REDUCED_BOXES ? (WF__REDUCED_BOXES + boxes - 1) / boxes : 1,
            fill = WF__GPU_ACCUMULATORS / stage->reduce.kept;
    int64_t least = WF__BOX_CHAIN / stage->extent[stage->lowered.rank - 1];
    if (parts > rows / WF__LEAST_PART_ROWS)
        parts = rows / WF__LEAST_PART_ROWS;
    least = least > WF__GPU_LEAST_PART_ROWS ? least : WF__GPU_LEAST_PART_ROWS;
    fill = fill > rows / least ? rows / least : fill;
    return parts > fill ? parts : fill;
}

/* Cuts a reduction that keeps axes. If lanes are reduced, the extents of the reduced axes alone decide how these are cut,
 * and several points of the kept axes share a box. If lanes are kept, accumulators stay in the first-level cache. */
static void cut_reduction(wf__stage *stage)
{
    enum { ALIGNED = 64 };
    const wf__ir *body = &stage->lowered;
    int lane = body->rank - 1, inner = body->kept_lane ? lane - 1 : lane;
    int64_t left = WF__REDUCED_BOX, chain = WF__BOX_CHAIN, rows = 1, boxes = 1;
    for (int d = body->kept; d <= inner; ++d)
        rows *= stage->extent[d];
    stage->partition.boxes = stage->reduce.parts = 1;
    if (body->kept_lane) {
        int64_t bytes = 0;
        WF__ASSERT(body->red_n > 0);
        for (uint32_t k = 0; k < body->red_n; ++k)
            bytes += wf__size(body->red[k].dtype);
        int64_t lanes = WF__ACCUMULATOR_BYTES / bytes / ALIGNED * ALIGNED;
        boxes = cut(stage, lane, lanes < ALIGNED ? ALIGNED : lanes);
        left /= stage->partition.box[lane] * rows;
    } else {
        for (int d = inner; d >= body->kept; --d) {
            int64_t unit = d == lane ? WF__LANE_STEP : d == lane - 1 ? WF__ROW_STEP : 1;
            stage->reduce.parts *= cut(stage, d, ((chain < 1 ? 1 : chain) + unit - 1) / unit * unit);
            chain /= stage->extent[d];
            left /= stage->extent[d];
        }
    }
    bool whole = !body->kept_lane || stage->partition.box[lane] == stage->extent[lane];
    for (int d = body->kept - 1; d >= 0; --d) { /* results of a box are neighbours in memory */
        boxes *= cut(stage, d, whole ? left : 1);
        left /= stage->extent[d];
        whole = whole && stage->partition.box[d] == stage->extent[d];
    }
    if (body->kept_lane) {
        int64_t parts = count_parts(stage, boxes, rows);
        for (int d = body->kept; d <= inner; ++d) {
            int64_t n = stage->extent[d], here = parts < 1 ? 1 : parts < n ? parts : n;
            stage->reduce.parts *= cut(stage, d, (n + here - 1) / here);
            parts /= n;
        }
    }
    stage->partition.boxes = boxes * stage->reduce.parts;
}

/* Cuts stages like transpositions, with neighbours in memory along another axis than lanes, into strips of a few lanes.
 * The cache lines that a row of a strip touches are still in the cache for the next row. Returns false for other stages. */
static bool cut_strips(wf__stage *stage)
{
    enum { LINE = 64 };
    const wf__ir *body = &stage->lowered;
    int lane = body->rank - 1, across = -1;
    int64_t lanes = WF__STRIP_LANES;
    for (uint32_t i = 0; i < body->slot_n; ++i) {
        const int64_t *stride = stage->mem[i].stride;
        int64_t size = (int64_t)wf__size(body->slot[i].dtype);
        if (!body->slot[i].element)
            continue;
        lanes = WF__STRIP_BYTES / size > lanes ? WF__STRIP_BYTES / size : lanes;
        if (llabs(stride[lane]) * size < LINE)
            continue;
        for (int d = lane - 1; d >= 0 && across < 0; --d)
            if (stride[d] && llabs(stride[d]) * size < LINE && stage->extent[d] > 1)
                across = d;
    }
    if (across < 0 || stage->extent[lane] <= WF__STRIP_LINES)
        return false;
    stage->partition.boxes = cut(stage, lane, lanes);
    for (int d = 0; d < lane; ++d)
        stage->partition.boxes *= cut(stage, d, d == across ? WF__STRIP_ROWS : 1);
    return true;
}

/* True if each box of the stage is to have copies of the arrays that it accumulates into, so that the shape decides the order
 * of joins. A stage that also reduces keeps the boxes of reductions. */
static bool has_copy_for_each_box(const wf__stage *stage)
{
    return wf__orders_by_shape(&stage->lowered) && stage->copies.per == WF__PER_RANGE && stage->copies.groups &&
           !stage->lowered.red_n && !stage->partition.one_box_per_block;
}

/* Cuts a stage into boxes, which have whole inner axes first. The shape alone decides the boxes of reductions, and of
 * accumulations with WF_FLAG_ORDER_BY_SHAPE. Other stages
 * become at most WF__MOST_PARTS_OF_STAGE boxes, each enough work for a thread. Lines become boxes that fit the first-level
 * cache, of which a call runs several. Returns true if the boxes are strips. */
static bool cut_boxes(wf__stage *stage)
{
    int64_t points = 1, left = WF__BOX_CHAIN;
    int rank = stage->lowered.rank;
    stage->partition.boxes = stage->reduce.parts = 1;
    for (int d = 0; d < rank; ++d)
        points *= stage->extent[d]; /* layout.c has checked for overflow */
    stage->empty = points == 0;
    if (stage->thread_block.threads || stage->partition.one_box_per_block) {
        for (int d = 0; d < rank; ++d)
            stage->partition.boxes *= cut(stage, d, stage->partition.block.dim[d]);
        return false;
    }
    if (stage->reduce.axes && points) {
        cut_reduction(stage);
        return false;
    }
    if (points && has_copy_for_each_box(stage)) {
        stage->copies.per = WF__PER_BOX;
        stage->partition.boxes = cut_for_copies(stage, stage->copies.groups);
        return false;
    }
    if (!stage->lowered.red_n && points && !wf__orders_by_shape(&stage->lowered)) {
        if (cut_strips(stage))
            return true;
        bool line = rank == 1 && !stage->copies.n && !stage->promises.updates;
        int64_t least =
            (int64_t)((uint64_t)(line ? WF__LINE_WORK : WF__PART_WORK) / (stage->partition.work / (uint64_t)points));
        left = points / WF__MOST_PARTS_OF_STAGE > least ? points / WF__MOST_PARTS_OF_STAGE : least;
    }
    for (int d = rank - 1; d >= 0; --d) {
        int64_t n = stage->extent[d], unit = d == rank - 1 ? WF__LANE_STEP : d == rank - 2 ? WF__ROW_STEP : 1;
        int64_t size = left < 1 ? 1 : left;
        size = (size + unit - 1) / unit * unit;
        while (d == rank - 1 && !stage->lowered.red_n && size < n && n % size && n % size < WF__LONG_ROW)
            size += unit; /* otherwise the last part would be no long row */
        stage->partition.box[d] = size < n ? size : n > 0 ? n : 1;
        left /= n > 0 ? n : 1;
        stage->partition.boxes *= n > 0 ? (n + stage->partition.box[d] - 1) / stage->partition.box[d] : 0;
    }
    return false;
}

/* True if rows are so long that full vectors alone can compute them. The last vector steps back, so that some points are
 * computed twice, which must not change results. */
static bool has_long_rows(const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    int last = body->rank - 1;
    int64_t rest = stage->empty ? 0 : stage->extent[last] % stage->partition.box[last];
    if (stage->empty || body->red_n || stage->extent[last] > WF__LONGEST_ROW ||
        stage->partition.box[last] < WF__LONG_ROW || (rest && rest < WF__LONG_ROW))
        return false;
    for (uint32_t i = 0; i < body->slot_n; ++i)
        if (body->slot[i].may_alias || (body->slot[i].read && body->slot[i].written))
            return false;
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__LOAD && body->node[r].aux != WF_BORDER_NONE)
            return false;
    return true;
}

/* The points of each box along the lane axis, if all boxes are blocks with short rows of one extent; else 0. */
static uint8_t points_of_rows(const wf__stage *stage)
{
    int last = stage->lowered.rank - 1;
    int64_t points = stage->partition.box[last];
    bool same = !stage->empty && stage->partition.one_box_per_block && stage->extent[last] % points == 0;
    return same && points <= WF__LANES ? (uint8_t)points : 0;
}

/* The only axis that is cut, if boxes may end anywhere along it; else -1. */
static int8_t slab_axis(const wf__stage *stage)
{
    int8_t axis = -1;
    if (stage->lowered.red_n || stage->thread_block.threads || stage->partition.one_box_per_block ||
        stage->partition.block_param || stage->partition.boxes < 2)
        return -1;
    for (int8_t d = 0; d < stage->lowered.rank; ++d) {
        if (stage->partition.box[d] >= stage->extent[d])
            continue;
        if (axis >= 0)
            return -1;
        axis = d;
    }
    return axis;
}

static bool is_own_place(const wf__ir *body, const wf__node *store)
{
    const wf__ref *index = wf__tuple_at(body, store->b);
    uint32_t last = wf__tuple_len(body, store->b) - 1;
    int axis;
    int64_t offset;
    for (uint32_t k = 0; k < last; ++k)
        if (!wf__as_offset(body, index[k], &axis, &offset) || axis == body->rank - 1)
            return false;
    return wf__as_offset(body, index[last], &axis, &offset) && axis == body->rank - 1 && !offset;
}

/* Marks arrays that are written by index, with the lane axis as the last index: their rows may go past the cache, too. */
static void find_rows(wf__ir *body)
{
    bool any = false;
    for (uint32_t s = 0; s < body->slot_n; ++s) {
        body->slot[s].rows = body->slot[s].written && !body->slot[s].element && body->slot[s].rank;
        any = any || body->slot[s].rows;
    }
    for (wf__ref r = 1; any && r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        if (wf__op_is_update(n->op) || (n->op == WF__STORE && body->slot[n->a].rows && !is_own_place(body, n)))
            body->slot[n->a].rows = false;
    }
}

/* Returns the bytes from the first to the last element of a slot's array; of private memory, of a copy. */
static uint64_t reach_of(const wf__stage *stage, uint32_t s)
{
    const wf__slot *slot = &stage->lowered.slot[s];
    const wf__mem_layout *mem = &stage->mem[s];
    uint64_t reach = 1; /* without elements, the value is not used */
    for (int d = 0; d < slot->rank; ++d)
        reach += ((uint64_t)mem->dim[d] - 1) * (uint64_t)llabs(mem->stride[d]);
    return reach * wf__size(slot->dtype);
}

/* Marks arrays so large that random accesses to them miss the caches of a core: code prefetches these accesses. */
static void find_large_indexed(wf__stage *stage)
{
    for (uint32_t s = 0; s < stage->lowered.slot_n; ++s) {
        wf__slot *slot = &stage->lowered.slot[s];
        slot->large_indexed =
            !slot->element && !slot->scratch && !slot->shared && reach_of(stage, s) >= WF__LARGE_INDEXED;
    }
}

/* True if an access of this kind has an index that names another place for each lane. */
static bool touches_apart(const wf__stage *stage, bool (*counts)(const wf__stage *stage, const wf__node *n))
{
    const wf__ir *body = &stage->lowered;
    wf__vary *vary = NULL;
    uint8_t *read = NULL;
    bool found = false, known = true;
    for (wf__ref r = 1; r < body->n && known && !found; ++r) {
        const wf__node *n = &body->node[r];
        if (!wf__op_is_access(n->op) || body->slot[n->a].element || !counts(stage, n))
            continue;
        if (!vary) {
            vary = wf__alloc(body->n * sizeof *vary);
            read = wf__alloc(body->n);
            known = vary && read;
            if (!known)
                break;
            wf__analyse(body, vary);
            wf__mark_read(body, read);
        }
        found = wf__is_scattered(body, vary, read, n->b);
    }
    wf__free(vary);
    wf__free(read);
    return found;
}

/* True for reads of less than a cache line. They wait for the line buffers that streaming stores occupy. */
static bool reads_part_of_line(const wf__stage *stage, const wf__node *n)
{
    enum { LINE = 64 };
    const wf__slot *slot = &stage->lowered.slot[n->a];
    unsigned together = slot->record ? slot->record : 1;
    return n->op == WF__LOAD && together * wf__size(n->dtype) < LINE;
}

/* True if loads with a border mode move along rows: the ends of rows have code of their own. Its stores wait behind those
 * of the row, and where these go past the caches, until memory has taken them. */
static bool has_ends_of_rows(const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    for (wf__ref r = 1; r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        if (n->op != WF__LOAD || n->aux == WF_BORDER_NONE)
            continue;
        for (uint32_t k = 0; k < wf__tuple_len(body, n->b); ++k) {
            int axis = -1;
            int64_t offset;
            if (!wf__as_offset(body, wf__tuple_at(body, n->b)[k], &axis, &offset) || axis == body->rank - 1)
                return true;
        }
    }
    return false;
}

/* True for accesses to more memory than stays in the first-level cache beside rows. */
static bool leaves_first_level(const wf__stage *stage, const wf__node *n)
{
    return reach_of(stage, n->a) >= WF__ROAMED_BYTES;
}

/* Marks rows that code prefetches. The processor prefetches rows too late where random accesses between them keep a core
 * busy. loaded: the bytes that all points load. */
static void find_prefetched_rows(wf__stage *stage, uint64_t loaded)
{
    wf__ir *body = &stage->lowered;
    if (loaded < WF__PREFETCHED_ROWS || body->loops || !touches_apart(stage, leaves_first_level))
        return;
    for (uint32_t s = 0; s < body->slot_n; ++s)
        body->slot[s].prefetch_rows = body->slot[s].read;
}

/* Sets the work of a stage, and how its code treats the caches. */
static void estimate(wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    uint64_t points = 1, in_rows = 0, loaded = 0; /* bytes of a point */
    for (int d = 0; d < body->rank; ++d)
        points *= (uint64_t)stage->extent[d];
    for (wf__ref r = 1; r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        if (n->op != WF__LOAD && n->op != WF__STORE)
            continue;
        if (body->slot[n->a].element || (n->op == WF__STORE && body->slot[n->a].rows))
            in_rows += wf__cost_bytes(n);
        if (n->op == WF__LOAD)
            loaded += wf__cost_bytes(n);
    }
    stage->partition.work = points * (wf__work_of_point(body) + 1);
    stage->promises.nontemporal =
        in_rows * points >= WF__STREAMED_BYTES && !has_ends_of_rows(stage) && !touches_apart(stage, reads_part_of_line);
    find_prefetched_rows(stage, points * loaded);
}

/* Explains the boxes. The conditions have the order of those in cut_boxes. */
static void explain_cut(wf__plan *plan, const wf__stage *stage, bool strips)
{
    unsigned number = wf__stage_number(plan, stage);
    if (stage->partition.boxes != 1)
        wf__plan_explain(
            plan, "partition", "stage %u has %lld boxes, %s", number, (long long)stage->partition.boxes,
            stage->empty                                                        ? "because it has no points"
            : stage->thread_block.threads || stage->partition.one_box_per_block ? "one for each block of the recording"
            : stage->reduce.axes && stage->lowered.kept_lane
                ? "so that accumulators of a box stay in the first-level cache"
            : stage->reduce.axes ? "cut along the reduced axes by the shape alone, which fixes the order of joins"
            : stage->lowered.red_n || wf__orders_by_shape(&stage->lowered)
                ? "cut by the shape alone, which fixes the order of joins"
            : strips ? "cut into strips of lanes, because an array is contiguous along another axis"
                     : "each with enough work for a thread");
    if (stage->promises.nontemporal)
        wf__plan_explain(plan, "partition",
                         "stage %u uses non-temporal stores, because it moves more memory than caches hold", number);
    if (stage->promises.long_rows)
        wf__plan_explain(plan, "partition",
                         "stage %u needs no masked tails, because its rows are long and points may be computed twice",
                         number);
}

bool wf__pass_partition(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (!stage->scan.on) {
        find_rows(&stage->lowered);
        find_large_indexed(stage);
        estimate(stage);
        bool strips = cut_boxes(stage);
        stage->promises.long_rows = has_long_rows(stage);
        stage->promises.row_points = points_of_rows(stage);
        stage->partition.slabs = slab_axis(stage);
        if (p->plan->why)
            explain_cut(p->plan, stage, strips);
    }
    stage->promises.columns = p->rec->options.columns;
    return true;
}
