/* rows.c - stages that run row by row: all of them for some rows of the outermost loop, then for the next rows. What one
 * stage has read or written is then in the cache for the others. A normalisation, for example, reads each row for its
 * maximum, for its sum, and for its result, but only once from memory.
 *
 * Three conditions hold for the stages of such a step: they have the same number of rows; an element that one of them
 * writes and another one uses lies in the same row of the same array; and two of them use the same array, whose rows have
 * several elements. A stage that stands between them in the plan, and does not take part, runs after the step. It must be
 * independent of the stages that it would have come before.
 *
 * A box of a map, or of a reduction that keeps the rows, may have any number of rows. A reduction of all axes keeps the
 * boxes that it has, because its partial results are joined in the order of boxes.
 */
#include "plan/passes.h"
#include "plan/rows.h"

/* ---- accesses ---- */
typedef struct access {
    uint32_t object;
    bool written, by_row; /* by_row: row r has elements [r * step + low, r * step + high) alone */
    int64_t step, low, high;
    unsigned bytes; /* of an element */
} access;

static uint32_t count_accesses(const wf__stage *stage)
{
    return stage->lowered.slot_n + (stage->reduce.result ? stage->lowered.red_n : 0);
}

/* Access i of a stage: a slot, or the results of a reduction. The outermost loop of a map may be several axes as one; a row
 * is then several of its points. */
static access access_of(const wf__stage *stage, uint32_t i, int64_t rows)
{
    const int64_t points = stage->lowered.rank ? stage->extent[0] / rows : 0; /* of a row */
    const bool whole = points > 0 && points * rows == stage->extent[0];
    const wf__ir *body = &stage->lowered;
    if (i >= body->slot_n) {
        const bool by_row = whole && body->kept >= 1;
        const int64_t step = by_row ? stage->reduce.kept / rows : 0;
        return (access){ stage->reduce.result[i - body->slot_n], true, by_row, step, 0, step, 8 };
    }
    const wf__slot *slot = &body->slot[i];
    const wf__mem_layout *mem = &stage->mem[i];
    access a = { .object = mem->object,
                 .written = slot->written,
                 .by_row = whole && slot->element && !slot->may_alias };
    a.step = mem->stride[0] * points;
    a.low = mem->offset;
    a.high = mem->offset + 1 + (whole ? mem->stride[0] * (points - 1) : 0);
    a.bytes = wf__size(slot->dtype);
    a.by_row = a.by_row && mem->stride[0] >= 0;
    for (int d = 1; d < body->rank; ++d) {
        a.by_row = a.by_row && mem->stride[d] >= 0;
        a.high += mem->stride[d] * (stage->extent[d] - 1);
    }
    a.by_row = a.by_row && a.low >= 0 && a.high <= a.step;
    return a;
}

/* True if no row of one stage uses what another row of the other one writes. *shared becomes true if they share an array
 * whose rows have several elements; *meet, if one uses what the other one writes. */
static bool keep_to_rows(const wf__planning *p, int64_t rows, const wf__stage *a, const wf__stage *b, bool *shared,
                         bool *meet)
{
    for (uint32_t i = 0; i < count_accesses(a); ++i)
        for (uint32_t k = 0; k < count_accesses(b); ++k) {
            const access x = access_of(a, i, rows), y = access_of(b, k, rows);
            const bool same = x.object == y.object && x.by_row && y.by_row && x.step == y.step;
            *shared = *shared || (same && x.high - x.low > 1 && y.high - y.low > 1);
            if ((!x.written && !y.written) || wf__object_overlap(p->plan, p->all, x.object, y.object) == WF__APART)
                continue;
            *meet = true;
            if (!same)
                return false;
        }
    return true;
}

static bool are_independent(const wf__planning *p, int64_t rows, const wf__stage *a, const wf__stage *b)
{
    bool shared = false, meet = false;
    return keep_to_rows(p, rows, a, b, &shared, &meet) && !meet;
}

/* ---- stages ---- */
static bool reduces_all(const wf__stage *stage) { return stage->lowered.red_n && !stage->reduce.axes; }

/* True if a box has few of the rows. */
static bool has_small_boxes(const wf__stage *stage)
{
    return stage->partition.box[0] <= stage->extent[0] / WF__MOST_PARTS_OF_STAGE;
}

/* True if the stage may run for some of its rows. */
static bool has_rows(const wf__plan *plan, const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    bool kept = !body->red_n || !stage->reduce.axes || (stage->reduce.parts == 1 && body->kept >= 1);
    return !stage->scan.on && !stage->empty && kept && !stage->copies.n && !stage->promises.updates &&
           body->rank >= 1 && stage->extent[0] > 1 && !stage->partition.block_param &&
           !stage->partition.one_box_per_block && body->red_n <= WF__MOST_FUSED &&
           !wf__uses_result_parameter(plan, stage);
}

/* ---- the stages of a step ---- */
typedef struct gathered {
    uint32_t at[WF__MOST_ROWS_STAGES], n; /* numbers of the stages, ascending */
    int64_t rows;
    bool shares;      /* some array is used twice */
    bool reduces_all; /* a reduction of all axes takes part, or has been left out */
} gathered;

/* True if the rows are whole points of the outermost loop. */
static bool is_cut_by_rows(const wf__stage *stage, int64_t rows)
{
    const bool one_loop = stage->lowered.rank == 1 && !stage->lowered.red_n;
    return stage->extent[0] == rows || (one_loop && stage->extent[0] % rows == 0);
}

/* Returns the rows of a step that begins with that stage: the extent of the outermost loop, or, where this is several
 * axes as one, of that of the next stage with several loops. 0 = none. */
static int64_t rows_of_step(const wf__plan *plan, uint32_t first)
{
    if (!has_rows(plan, &plan->stage[first]))
        return 0;
    for (uint32_t s = first; s < plan->stage_n; ++s)
        if (has_rows(plan, &plan->stage[s]) && plan->stage[s].lowered.rank > 1)
            return is_cut_by_rows(&plan->stage[first], plan->stage[s].extent[0]) ? plan->stage[s].extent[0] : 0;
    return 0;
}

/* True if stage t may join the step: it may run before the stages that have been left out. */
static bool may_join(const wf__planning *p, const gathered *of, uint32_t t, bool *shared)
{
    const wf__plan *plan = p->plan;
    const wf__stage *stage = &plan->stage[t];
    bool meet = false;
    if (!has_rows(plan, stage) || !is_cut_by_rows(stage, of->rows) ||
        (reduces_all(stage) && (of->reduces_all || !has_small_boxes(stage))))
        return false;
    for (uint32_t s = of->at[0], k = 0; s < t; ++s) {
        const bool taken = k < of->n && of->at[k] == s;
        k += taken;
        if (taken ? !keep_to_rows(p, of->rows, &plan->stage[s], stage, shared, &meet)
                  : !are_independent(p, of->rows, &plan->stage[s], stage))
            return false;
    }
    return *shared || meet;
}

static gathered find_step(const wf__planning *p, uint32_t first)
{
    const wf__plan *plan = p->plan;
    gathered of = { .at = { first }, .rows = rows_of_step(plan, first) };
    of.n = of.rows > 0;
    of.reduces_all = reduces_all(&plan->stage[first]);
    for (uint32_t t = first + 1; of.n && t < plan->stage_n && of.n < WF__MOST_ROWS_STAGES; ++t) {
        bool shared = false;
        if (plan->stage[t].scan.on)
            break;
        bool joins = may_join(p, &of, t, &shared);
        of.reduces_all = of.reduces_all || reduces_all(&plan->stage[t]);
        of.shares = of.shares || (joins && shared);
        if (joins)
            of.at[of.n++] = t;
    }
    return of;
}

/* ---- rows of a piece ---- */
/* The bytes of a row of all arrays that the stages use by rows. */
static uint64_t bytes_of_row(const wf__plan *plan, const gathered *of)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < of->n; ++k)
        for (uint32_t i = 0; i < count_accesses(&plan->stage[of->at[k]]); ++i) {
            const access x = access_of(&plan->stage[of->at[k]], i, of->rows);
            bool counted = !x.by_row;
            for (uint32_t m = 0; m <= k && !counted; ++m) {
                const wf__stage *stage = &plan->stage[of->at[m]];
                for (uint32_t j = 0; j < (m < k ? count_accesses(stage) : i) && !counted; ++j)
                    counted = access_of(stage, j, of->rows).object == x.object;
            }
            bytes += counted ? 0 : (uint64_t)(x.high - x.low) * x.bytes;
        }
    return bytes;
}

/* Returns the rows of a piece: as many as fit into a second-level cache, but enough pieces for all threads. 0 = the
 * stages must not run by rows. */
static int64_t rows_of_piece(const wf__plan *plan, const gathered *of)
{
    const int64_t rows = of->rows, row = (int64_t)bytes_of_row(plan, of);
    int64_t n = row ? WF__ROWS_BYTES / row : 0, least = 1;
    for (uint32_t k = 0; k < of->n; ++k)
        if (reduces_all(&plan->stage[of->at[k]]))
            least = plan->stage[of->at[k]].partition.box[0];
    if (row * rows < WF__ROWS_LEAST_BYTES || n < 1)
        return 0;
    while (n > 1 && rows / n < WF__MOST_PARTS_OF_STAGE)
        n /= 2;
    n = n < least ? least : n / least * least;
    return n * row <= 2 * WF__ROWS_BYTES && rows / n > 1 ? n : 0;
}

static void cut_into_pieces(wf__stage *stage, int64_t all, int64_t rows)
{
    const int64_t points = stage->extent[0] / all, box = rows * points;
    wf__partition *cut = &stage->partition;
    const int64_t had = (stage->extent[0] + cut->box[0] - 1) / cut->box[0];
    if (reduces_all(stage))
        return;
    cut->boxes = cut->boxes / had * ((stage->extent[0] + box - 1) / box);
    cut->box[0] = box;
    stage->promises.long_rows = stage->promises.long_rows && points == 1;
    cut->slabs = cut->slabs == 0 && cut->boxes > 1 ? 0 : -1;
}

/* Reorders the plan from the first to the last stage of the step: the stages of the step, then the stages between them
 * that do not take part. Both keep their order. `room`: for as many stages. */
static void gather(wf__plan *plan, const gathered *of, wf__stage *room)
{
    const uint32_t first = of->at[0], end = of->at[of->n - 1] + 1;
    uint32_t n = 0, rest = of->n;
    for (uint32_t s = first, k = 0; s < end; ++s) {
        const bool taken = k < of->n && of->at[k] == s;
        k += taken;
        memcpy((void *)&room[taken ? n++ : rest++], (const void *)&plan->stage[s], sizeof *room);
    }
    memcpy((void *)&plan->stage[first], (const void *)room, (end - first) * sizeof *room);
}

static bool is_read_within(const wf__plan *plan, const wf__stage *writer, uint32_t first, uint32_t n)
{
    for (uint32_t s = first; s < first + n; ++s)
        for (uint32_t i = 0; i < plan->stage[s].lowered.slot_n && &plan->stage[s] != writer; ++i)
            for (uint32_t k = 0; k < writer->lowered.slot_n; ++k)
                if (writer->lowered.slot[k].written && writer->mem[k].object == plan->stage[s].mem[i].object)
                    return true;
    return false;
}

/* True if only the n stages from `first` on use the object. */
static bool is_private(const wf__plan *plan, uint32_t object, uint32_t first, uint32_t n)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        const wf__stage *stage = &plan->stage[s];
        if (s - first >= n && stage->scan.on && (stage->scan.from == object || stage->scan.to == object))
            return false;
        for (uint32_t i = 0; s - first >= n && !stage->scan.on && i < count_accesses(stage); ++i)
            if (access_of(stage, i, 1).object == object)
                return false;
    }
    return true;
}

/* Gives the temporaries that only the step uses a place in the memory of workers. */
static void place_temporaries(wf__plan *plan, wf__plan_step *to)
{
    for (uint32_t s = to->first; s < to->first + to->count; ++s)
        for (uint32_t i = 0; i < plan->stage[s].lowered.slot_n; ++i) { /* results of reductions stay in memory */
            const access x = access_of(&plan->stage[s], i, to->all_rows);
            wf__temp *temp = x.object >= plan->objects ? &plan->temp[x.object - plan->objects] : NULL;
            if (!temp || !x.written || !x.by_row || temp->no_storage ||
                !is_private(plan, x.object, to->first, to->count))
                continue;
            temp->no_storage = true;
            temp->own = to->own_bytes + 1;
            to->own_bytes += ((size_t)(to->rows * x.step) * x.bytes + 63) & ~(size_t)63;
        }
}

bool wf__find_rows_step(wf__planning *p, uint32_t first, wf__plan_step *out)
{
    wf__plan *plan = p->plan;
    if (plan->target != WF__PROCESSOR || plan->per_block.count)
        return false;
    const gathered of = find_step(p, first);
    const int64_t rows = of.n > 1 && of.shares ? rows_of_piece(plan, &of) : 0;
    if (!rows)
        return false;
    wf__stage *room = wf__alloc((of.at[of.n - 1] + 1 - first) * sizeof *room);
    if (!room) {
        wf__plan_no_memory(plan);
        return false;
    }
    gather(plan, &of, room);
    wf__free(room);
    *out = (wf__plan_step){ .kind = WF__STEP_ROWS,
                            .first = first,
                            .count = of.n,
                            .main = first,
                            .producer = WF__NO_STAGE,
                            .consumer = WF__NO_STAGE,
                            .all_rows = of.rows,
                            .rows = rows };
    for (uint32_t s = first; s < first + of.n; ++s) {
        wf__stage *stage = &plan->stage[s];
        cut_into_pieces(stage, of.rows, rows);
        stage->promises.nontemporal = stage->promises.nontemporal && !is_read_within(plan, stage, first, of.n);
        if (stage->partition.work > plan->stage[out->main].partition.work)
            out->main = s;
    }
    place_temporaries(plan, out);
    wf__plan_because(plan, "schedule", "stages %u to %u run together for %lld rows at a time", (unsigned)first,
                     (unsigned)(first + of.n - 1), (long long)rows);
    return true;
}
