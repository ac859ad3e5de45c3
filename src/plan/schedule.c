/* schedule.c - the steps of a plan: which stages run together, for the processor and for GPUs.
 *
 * A stage that uses the results of another one may run piece by piece with it, while the results are in the cache or in
 * registers, so that they need not go through memory:
 *
 *   - On a processor, the consumer of a reduction that keeps axes runs after each box of the reduction. The consumer must
 *     walk the same points in the same order, alone use the results, and share no other memory with the reduction.
 *   - On a GPU, the consumer of a reduction to one value runs in the kernel that completes this value.
 *   - On a processor, the producer of a scan in place runs before each part of the scan, and the consumer of the scan's
 *     result runs after each part. Both must walk the elements in C order, and touch nothing else that the scan writes.
 *
 *   - On a processor, stages that use the same rows run row by row (rows.c).
 *
 * Where ranks divide points, each stage is a step.
 *
 * Sections with small scratch run per block, which src/plan/space has decided, as it decides where scratch lies. Every
 * other stage is a step of its own. The interpreter runs no producers and consumers.
 *
 * A runner does what the steps say. Legality is decided here alone.
 */
#include "plan/passes.h"
#include "plan/rows.h"

/* ---- results of reductions ---- */
bool wf__joins_boxes(const wf__stage *stage)
{
    return stage->lowered.red_n &&
           (stage->empty ? !stage->reduce.axes
                         : (stage->reduce.axes ? stage->reduce.parts : stage->partition.boxes) > 1);
}

static bool is_result(const wf__stage *stage, uint32_t object)
{
    for (uint32_t k = 0; k < stage->lowered.red_n; ++k)
        if (stage->reduce.result[k] == object)
            return true;
    return false;
}

static bool uses_results(const wf__stage *stage, const wf__stage *user)
{
    if (user->scan.on)
        return is_result(stage, user->scan.from);
    for (uint32_t s = 0; s < user->lowered.slot_n; ++s)
        if (is_result(stage, user->mem[s].object))
            return true;
    return false;
}

/* Sets the extents of loops over kept axes, outermost first. Returns their number. */
static int kept_extents(const wf__stage *stage, int64_t *out)
{
    int n = stage->lowered.kept;
    memcpy(out, stage->extent, (size_t)n * sizeof *out);
    if (stage->lowered.kept_lane)
        out[n++] = stage->extent[stage->lowered.rank - 1];
    return n;
}

/* True if the next stage walks the results in their order in memory: axis by axis, or as one row. */
static bool walks_alike(const wf__stage *stage, const wf__stage *next)
{
    int64_t extent[WF_MAX_RANK], stride = 1;
    int n = kept_extents(stage, extent), rank = next->lowered.rank;
    if (rank == 1 && next->extent[0] == stage->reduce.kept) {
        extent[0] = stage->reduce.kept;
        n = 1;
    }
    if (rank != n)
        return false;
    for (int d = n - 1; d >= 0; --d) {
        if (next->extent[d] != extent[d])
            return false;
        for (uint32_t s = 0; s < next->lowered.slot_n; ++s)
            if (is_result(stage, next->mem[s].object) &&
                (!next->lowered.slot[s].element || next->mem[s].stride[d] != stride || next->mem[s].offset))
                return false;
        stride *= extent[d];
    }
    return true;
}

static int64_t points_of(int rank, const int64_t *extent)
{
    int64_t points = 1;
    for (int d = 0; d < rank; ++d)
        points *= extent[d];
    return points;
}

/* True if the slot's elements are all elements of a dense array, in C order of the loops. */
static bool walks_in_order(const wf__stage *stage, uint32_t slot, const wf_shape *all)
{
    const wf__mem_layout *mem = &stage->mem[slot];
    int64_t stride = 1;
    bool good = stage->lowered.slot[slot].element && mem->offset == 0;
    for (int d = stage->lowered.rank - 1; d >= 0; --d) {
        good = good && (mem->stride[d] == stride || stage->extent[d] == 1);
        stride *= stage->extent[d];
    }
    return good && stride == points_of(all->rank, all->dim);
}

/* True if the stage's points are cheap enough, or numerous enough, to be computed in the parts of a scan. */
static bool is_cheap(const wf__stage *stage)
{
    uint64_t points = (uint64_t)points_of(stage->lowered.rank, stage->extent);
    return points >= WF__FUSED_MANY || stage->partition.work / points <= WF__FUSED_CHEAP;
}

/* Returns why the stage may not run part by part with a scan, each part on any thread; NULL = it may. */
static const char *why_in_one(const wf__stage *stage, const wf__stage *scan)
{
    const wf__ir *body = &stage->lowered;
    if (stage->scan.on || stage->empty || body->red_n || stage->copies.n || stage->promises.updates)
        return "the stage to fuse scans, reduces, accumulates or has no points";
    if (body->slot_n > WF__MOST_FUSED)
        return "the stage to fuse has too many slots";
    if (!is_cheap(stage))
        return "elements of the stage to fuse are expensive";
    for (uint32_t s = 0; s < body->slot_n; ++s)
        if (stage->mem[s].object == scan->scan.to && !walks_in_order(stage, s, &scan->space))
            return "the stage to fuse does not walk the scan's elements in C order";
    return NULL;
}

/* Returns why the stage may not compute the elements of the scan after it; NULL = it may. */
static const char *why_not_feeding(const wf__plan *plan, const wf__stage *stage, const wf__stage *next,
                                   const wf__bind *bind)
{
    const wf__scan *scan = &next->scan;
    if (scan->from != scan->to)
        return "the scan has its input and its result in different arrays";
    const char *why = why_in_one(stage, next);
    uint32_t found = 0;
    for (uint32_t s = 0; !why && s < stage->lowered.slot_n; ++s) {
        bool target = stage->mem[s].object == scan->to;
        if (!target && wf__object_overlap(plan, bind, stage->mem[s].object, scan->to) != WF__APART)
            why = "the producer uses another array that overlaps the scan's result";
        found += target;
    }
    return why ? why : found != 1 ? "the producer does not compute the scan's input" : NULL;
}

static bool uses(const wf__stage *stage, uint32_t object)
{
    bool found = stage->scan.on && (stage->scan.from == object || stage->scan.to == object);
    for (uint32_t s = 0; !stage->scan.on && s < stage->lowered.slot_n; ++s)
        found = found || stage->mem[s].object == object;
    return found;
}

/* True if slot s of the stage and the slots of the user are apart, the same element by element, or only read. */
static bool is_safe(const wf__plan *plan, const wf__stage *stage, uint32_t s, const wf__stage *user,
                    const wf_shape *all, const wf__bind *bind)
{
    for (uint32_t t = 0; t < user->lowered.slot_n; ++t) {
        uint32_t a = stage->mem[s].object, b = user->mem[t].object;
        bool alike = a == b && walks_in_order(stage, s, all) && walks_in_order(user, t, all);
        if ((stage->lowered.slot[s].written || user->lowered.slot[t].written) &&
            wf__object_overlap(plan, bind, a, b) != WF__APART && !alike)
            return false;
    }
    return true;
}

/* Returns why the stage after scan `at` may not use the result part by part; NULL = it may. producer: the scan's
 * producer, or NULL. */
static const char *why_not_following(const wf__plan *plan, const wf__stage *producer, uint32_t at, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[at], *user = stage + 1;
    const wf__scan *scan = &stage->scan;
    if (scan->to < plan->objects)
        return "the result of the scan is an array of the recording";
    const char *why = why_in_one(user, stage);
    if (why)
        return why;
    if (!uses(user, scan->to))
        return "the consumer does not use the result";
    for (uint32_t s = at + 2; s < plan->stage_n; ++s)
        if (uses(&plan->stage[s], scan->to))
            return "a later stage also uses the result";
    for (uint32_t s = 0; producer && s < producer->lowered.slot_n; ++s)
        if (!is_safe(plan, producer, s, user, &stage->space, bind))
            return "the consumer shares memory with the producer of the scan's input";
    for (int d = 0; d < stage->space.rank; ++d) /* the scan walks both in C order */
        if (stage->space.dim[d] > 1 && scan->from_stride[d] != scan->to_stride[d])
            return "the scan reads in another order than it writes";
    for (uint32_t t = 0; t < user->lowered.slot_n; ++t) {
        uint32_t object = user->mem[t].object;
        bool alike = object == scan->from && walks_in_order(user, t, &stage->space);
        if (user->lowered.slot[t].written &&
            (object == scan->to || (wf__object_overlap(plan, bind, object, scan->from) != WF__APART && !alike)))
            return "the consumer writes memory that the scan reads";
    }
    return NULL;
}

/* ---- consumers of reductions ---- */
/* Returns why the next stage may not run after each box of a reduction that keeps axes; NULL = it may. */
static const char *why_not_box_by_box(const wf__plan *plan, uint32_t at, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[at], *next = stage + 1;
    if (stage->reduce.parts != 1)
        return "the reduction is cut into parts";
    if (stage->empty || next->empty)
        return "one of the stages has no points";
    if (next->scan.on || next->lowered.red_n || next->copies.n || next->promises.updates || stage->copies.n)
        return "the consumer scans, reduces or accumulates, or the reduction also accumulates";
    if (stage->lowered.red_n > WF__MOST_FUSED || next->lowered.slot_n > WF__MOST_FUSED)
        return "the two stages have too many reductions or slots";
    if (!uses_results(stage, next))
        return "the consumer does not use the results";
    if (!walks_alike(stage, next))
        return "the points of the consumer are not those of the results";
    if (!wf__stages_apart(plan, stage, next, bind))
        return "one of the stages writes memory that the other one uses";
    for (uint32_t i = at + 2; i < plan->stage_n; ++i)
        if (uses_results(stage, &plan->stage[i]))
            return "a later stage also uses the results";
    return NULL;
}

/* True if reductions are the only effects. */
static bool only_reduces(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op != WF__SETRED && wf__op_is_effect(ir->node[r].op))
            return false;
    return true;
}

/* Returns why the kernel that completes a reduction to one value may not run the next stage as well; NULL = it may. */
static const char *why_not_completing(const wf__plan *plan, const wf__stage *stage, const wf__stage *next)
{
    if (stage->lowered.flags & WF_FLAG_DEBUG)
        return "debug mode runs one stage at a time";
    if (next->empty)
        return "the consumer has no points";
    if (next->scan.on || next->lowered.red_n)
        return "the consumer scans or reduces";
    if (next->thread_block.threads)
        return "the consumer has thread blocks";
    for (int d = 0; d < next->lowered.rank; ++d)
        if (next->extent[d] != 1)
            return "the consumer has more than one point";
    if (!wf__uses_result_parameter(plan, next))
        return "the consumer does not use the results";
    return wf__joins_boxes(stage) || only_reduces(&stage->lowered)
               ? NULL
               : "the consumer may read memory that other threads write";
}

/* ---- steps ---- */
/* Explains `how` stage a runs with stage b, or why it does not. */
static void explain(wf__plan *plan, uint32_t a, const char *how, uint32_t b, const char *why_not)
{
    if (why_not)
        wf__plan_because(plan, "schedule", "stage %u does not run %s stage %u, because %s", (unsigned)a, how,
                         (unsigned)b, why_not);
    else
        wf__plan_because(plan, "schedule", "stage %u runs %s stage %u", (unsigned)a, how, (unsigned)b);
}

/* True if the stage after the reduction runs with it. */
static bool has_consumer(wf__planning *p, uint32_t at)
{
    wf__plan *plan = p->plan;
    wf__stage *stage = &plan->stage[at], *next = stage + 1;
    const char *why_not = NULL;
    if (at + 1 == plan->stage_n || plan->target == WF__INTERPRETER ||
        (plan->target == WF__GPU) == (stage->reduce.axes != 0))
        return false; /* on the processor, a result of all axes is a parameter, which the launch sets */
    if (plan->target == WF__GPU)
        explain(plan, at + 1, "in the kernel that completes", at, why_not = why_not_completing(plan, stage, next));
    else
        explain(plan, at + 1, "after each box of", at, why_not = why_not_box_by_box(plan, at, p->all));
    if (!why_not)
        next->promises.long_rows = false; /* boxes of the reduction cut the consumer's rows */
    return !why_not;
}

/* True if the stage runs part by part with the scan after it. */
static bool has_scan(wf__planning *p, uint32_t at)
{
    wf__plan *plan = p->plan;
    wf__stage *stage = &plan->stage[at];
    if (at + 1 == plan->stage_n || plan->target != WF__PROCESSOR || !stage[1].scan.on)
        return false;
    const char *why_not = why_not_feeding(plan, stage, stage + 1, p->all);
    explain(plan, at, "before each part of", at + 1, why_not);
    if (!why_not)
        stage->promises.long_rows = stage->promises.nontemporal = false;
    return !why_not;
}

/* True if the stage after the scan runs part by part with it. */
static bool has_scan_consumer(wf__planning *p, const wf__stage *producer, uint32_t scan)
{
    wf__plan *plan = p->plan;
    wf__stage *next = &plan->stage[scan + 1];
    if (scan + 1 == plan->stage_n || plan->target != WF__PROCESSOR)
        return false;
    const char *why_not = why_not_following(plan, producer, scan, p->all);
    explain(plan, scan + 1, "after each part of", scan, why_not);
    if (!why_not)
        next->promises.long_rows = next->promises.nontemporal = false;
    return !why_not;
}

/* Returns how many gathers from stage s on need nothing of what those before them get, so that ranks ask for the elements of all
 * at once. */
static uint32_t gathers_from(const wf__plan *plan, uint32_t s)
{
    const wf__stage *stage = plan->stage;
    uint32_t n = 1;
    for (; s + n < plan->stage_n && stage[s + n].gather && !stage[s + n].gather->joins &&
           stage[s + n].empty == stage[s].empty;
         ++n)
        for (uint32_t k = 0; k < n; ++k) {
            const uint32_t got = stage[s + k].gather->to;
            if (stage[s + n].gather->at == got || stage[s + n].gather->from == got)
                return n;
        }
    return n;
}

/* Returns how many stages from s on send values that they join with elements. These are all of one recorded stage, and none of
 * them uses what another one joins. */
static uint32_t scatters_from(const wf__plan *plan, uint32_t s)
{
    const wf__stage *stage = plan->stage;
    uint32_t n = 1;
    while (s + n < plan->stage_n && stage[s + n].gather && stage[s + n].gather->joins)
        ++n;
    return n;
}

/* Sets the step of stage s, which gathers or scatters, and where the array lies in memory, as layouts are known. */
static void exchange_from(const wf__planning *p, uint32_t s, wf__plan_step *step)
{
    wf__gathered *gather = p->plan->stage[s].gather;
    step->kind = gather->joins ? WF__STEP_SCATTER : WF__STEP_GATHER;
    step->count = gather->joins ? scatters_from(p->plan, s) : gathers_from(p->plan, s);
    for (uint32_t k = 0; k < step->count; ++k) {
        gather = p->plan->stage[s + k].gather;
        memcpy(gather->stride, p->all[gather->from].stride, sizeof gather->stride);
    }
}

/* Returns the step that begins with stage s. */
static wf__plan_step step_from(wf__planning *p, uint32_t s)
{
    const wf__plan *plan = p->plan;
    const wf__per_block *per_block = &plan->per_block;
    const wf__stage *stage = &plan->stage[s];
    wf__plan_step step = { WF__STEP_MAP, .first = s, .main = s, .producer = WF__NO_STAGE, .consumer = WF__NO_STAGE };
    if (stage->gather) {
        exchange_from(p, s, &step);
        return step;
    }
    if (wf__has_ranks(p)) { /* each stage has points of its own on a rank */
        step.kind = stage->lowered.red_n ? WF__STEP_REDUCE : stage->scan.on ? WF__STEP_SCAN : WF__STEP_MAP;
        step.count = 1;
        return step;
    }
    if (per_block->count && s == per_block->first) {
        step.kind = WF__STEP_PER_BLOCK;
        step.main = per_block->main;
        step.count = per_block->count;
        return step;
    }
    if (wf__find_rows_step(p, s, &step))
        return step;
    if (stage->lowered.red_n) {
        step.kind = WF__STEP_REDUCE;
        step.consumer = has_consumer(p, s) ? s + 1 : WF__NO_STAGE;
    } else if (stage->scan.on || has_scan(p, s)) {
        step.kind = WF__STEP_SCAN;
        step.producer = stage->scan.on ? WF__NO_STAGE : s;
        step.main = stage->scan.on ? s : s + 1;
        step.consumer = has_scan_consumer(p, stage->scan.on ? NULL : stage, step.main) ? step.main + 1 : WF__NO_STAGE;
    }
    step.count = (step.consumer != WF__NO_STAGE ? step.consumer : step.main) - s + 1;
    return step;
}

bool wf__pass_schedule(wf__planning *p)
{
    wf__plan *plan = p->plan;
    for (uint32_t s = 0; s < plan->stage_n; s += plan->step[plan->step_n - 1].count) {
        if (!wf__grow(&plan->step, &plan->step_cap, plan->step_n + 1, sizeof *plan->step))
            return wf__plan_no_memory(plan);
        plan->step[plan->step_n] = step_from(p, s);
        ++plan->step_n;
    }
    return true;
}

const wf__plan_step *wf__step_of(const wf__plan *plan, uint32_t s)
{
    const wf__plan_step *step = plan->step;
    while (s - step->first >= step->count)
        ++step;
    return step;
}
