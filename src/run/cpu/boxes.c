/* boxes.c - see boxes.h: bounds and calls of boxes, and what decides on threads and code. */
#include "run/cpu/boxes.h"
#include "run/cpu/stage_code.h"

/* ---- boxes ---- */
/* Writes the parameters of a box that is a block: those of the launch, then the block's number along each axis. */
static void write_box_param(const wf__stage *stage, const uint64_t *param, const int64_t *lo, uint64_t *out)
{
    uint32_t first = stage->partition.block_param - 1;
    memcpy(out, param, first * sizeof *out);
    for (int d = 0; d < stage->lowered.rank; ++d) /* most axes of small launches have one box: no division */
        out[first + (uint32_t)d] = lo[d] ? (uint64_t)(lo[d] / stage->partition.box[d]) : 0;
}

static void call_entry(const wf__launch *l, int64_t copy, const int64_t *lo, const int64_t *hi, uint64_t *acc)
{
    wf__call call = l->call;
    uint64_t param[WF__MOST_NUMBERED];
    if (l->copies)
        call.mem = wf__copies_use(l->copies, copy);
    if (l->stage->partition.block_param) {
        write_box_param(l->stage, call.param, lo, param);
        call.param = param;
    }
    if (l->entry)
        l->entry(&call, lo, hi, acc);
    else
        wf__interp_run(l->interp, l->scratch, &call, lo, hi, acc);
}

/* Returns the number, in C order, of a point of the kept axes. */
static int64_t kept_point(const wf__stage *stage, const int64_t *index)
{
    int64_t at = 0;
    int lane = stage->lowered.rank - 1;
    for (int d = 0; d < stage->lowered.kept; ++d)
        at = at * stage->extent[d] + index[d];
    return stage->lowered.kept_lane ? at * stage->extent[lane] + index[lane] : at;
}

/* Sets the addresses of results such that a box whose kept points begin at `first` fills the worker's part of
 * `kept`. */
static void redirect_results(const wf__launch *l, int worker, int64_t first, uint64_t *acc)
{
    for (uint32_t k = 0; k < l->stage->lowered.red_n; ++k) {
        char *room = l->kept + (size_t)worker * l->kept_bytes + l->at[k];
        acc[k] = (uint64_t)(uintptr_t)room - (uint64_t)first * wf__size(l->stage->lowered.red[k].dtype);
    }
}

/* Runs the consumer on the kept points of a box. */
static void run_consumer(const wf__launch *l, const int64_t *lo, const int64_t *hi, const uint64_t *acc)
{
    const wf__stage *stage = l->stage, *next = l->consumer->stage;
    wf__mem mem[WF__MOST_FUSED];
    wf__call call = l->consumer->call;
    int64_t from[WF_MAX_RANK], to[WF_MAX_RANK], last[WF_MAX_RANK];
    int kept = stage->lowered.kept, lane = stage->lowered.rank - 1;
    WF__ASSERT(acc);
    memcpy(mem, call.mem, next->lowered.slot_n * sizeof *mem);
    for (uint32_t s = 0; s < next->lowered.slot_n; ++s)
        for (uint32_t k = 0; k < stage->lowered.red_n; ++k)
            if (next->mem[s].object == stage->reduce.result[k])
                mem[s].base = (char *)(uintptr_t)acc[k];
    call.mem = mem;
    memcpy(from, lo, (size_t)kept * sizeof *lo);
    memcpy(to, hi, (size_t)kept * sizeof *hi);
    if (stage->lowered.kept_lane) {
        from[kept] = lo[lane];
        to[kept] = hi[lane];
    }
    if (next->lowered.rank == 1) { /* the kept points of a box are contiguous in its index space */
        for (int d = 0; d <= lane; ++d)
            last[d] = hi[d] - 1;
        from[0] = kept_point(stage, lo);
        to[0] = kept_point(stage, last) + 1;
    }
    l->consumer->entry(&call, from, to, NULL);
}

/* The bounds of the points that run. */
static const int64_t *begin_of(const wf__launch *l) { return l->part ? l->part->points.lo : wf__own_begin(l->stage); }
static const int64_t *end_of(const wf__launch *l) { return l->part ? l->part->points.hi : wf__own_end(l->stage); }

int64_t wf__boxes_of_launch(const wf__launch *l) { return l->part ? l->part->boxes : wf__own_boxes(l->stage); }

int64_t wf__points_of_box(const wf__launch *l, int64_t box, int64_t *lo, int64_t *hi)
{
    const wf__stage *stage = l->stage;
    const bool divided = stage->division.axes != 0;
    const int64_t *from = begin_of(l), *to = end_of(l), *extent = l->part ? l->part->box : stage->partition.box;
    int64_t row = 0, rows = 1;
    for (int d = stage->lowered.rank - 1; d >= 0; --d) {
        int64_t size = extent[d], number = from[d] ? from[d] / size : 0, boxes = 1;
        lo[d] = from[d];
        if (to[d] - from[d] > size) { /* one box needs no divisions, which would take longer than some boxes */
            boxes = (to[d] - from[d] + size - 1) / size;
            number += box % boxes;
            lo[d] += box % boxes * size;
            box /= boxes;
        }
        hi[d] = wf__least(lo[d] + size, to[d]);
        if (!wf__keeps_loop(&stage->lowered, d)) {
            row += number * rows;
            rows *= divided ? (stage->extent[d] + size - 1) / size : boxes;
        }
    }
    return row;
}

void wf__run_box(const wf__launch *l, int64_t box, int64_t copy, int worker)
{
    const wf__stage *stage = l->stage;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], part = wf__points_of_box(l, box, lo, hi);
    uint64_t kept[WF__MOST_FUSED];
    uint64_t *acc = l->partials.at;
    acc = acc ? acc + (size_t)part * stage->lowered.red_n : NULL;
    if (l->consumer)
        redirect_results(l, worker, kept_point(stage, lo), acc = kept);
    if (stage->reduce.axes && stage->lowered.kept_lane)
        wf__partials_clear(stage, lo, hi, acc);
    call_entry(l, stage->copies.per == WF__PER_BOX ? part : copy, lo, hi, acc);
    if (l->consumer)
        run_consumer(l, lo, hi, acc);
}

/* The interpreter runs all points, or those of this rank, in parts along the first axis, between which the program can cancel
 * the work. The points keep their order. Along a single axis a part consists of whole chunks. */
enum { PARTS = 64, WHOLE_CHUNKS = 4096 };
static void run_part(void *user, int64_t first, int64_t end, int worker)
{
    const wf__launch *l = user;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    memcpy(lo, begin_of(l), sizeof lo);
    memcpy(hi, end_of(l), sizeof hi);
    const int64_t n = hi[0] - lo[0], unit = l->stage->lowered.rank == 1 ? WHOLE_CHUNKS : 1;
    const int64_t each = (n / PARTS + unit) / unit * unit;
    (void)worker;
    hi[0] = end * each < n ? lo[0] + end * each : hi[0];
    lo[0] += first * each;
    if (lo[0] < hi[0])
        call_entry(l, 0, lo, hi, NULL);
}

void wf__run_all_points(const wf__launch *l)
{
    const wf__stage *stage = l->stage;
    if (!l->entry && !l->call.watch && wf__pool_is_observed(l->engine->pool) && stage->lowered.rank)
        wf__pool_run_several(l->engine->pool, 1, PARTS, &(wf__several){ 1, 1, false }, run_part, (void *)l);
    else
        call_entry(l, 0, begin_of(l), end_of(l), NULL);
}

/* ---- threads and code ---- */
int wf__threads_of(const wf__engine *e, const wf__limits *limits)
{
    int threads = wf__pool_threads(e->pool);
    return limits->threads > 0 && limits->threads < threads ? limits->threads : threads;
}

bool wf__is_large(const wf__stage *stage, const wf__limits *limits)
{
    int64_t points = 1;
    for (int d = 0; limits->serial_below && d < stage->lowered.rank; ++d)
        points *= stage->extent[d];
    return stage->partition.boxes > 1 &&
           (limits->serial_below ? points >= limits->serial_below : stage->partition.work >= WF__PARALLEL_WORK);
}

bool wf__is_parallel(const wf__engine *e, const wf__stage *stage, const wf__stage *main, const wf__limits *limits)
{
    return wf__is_large(main, limits) && (!stage->promises.updates || wf__threads_of(e, limits) > 1);
}

/* In a short run, a thread's part is one call: several calls would cost more than an uneven division among threads that
 * start at different times. The duration of loops is unknown, so boxes with loops are divided one by one. */
int64_t wf__least_of_call(const wf__stage *stage)
{
    uint64_t work = stage->partition.work / (uint64_t)wf__own_boxes(stage) + 1;
    return stage->lowered.loops ? 1 : (int64_t)(WF__CALL_WORK / work) + 1;
}

bool wf__choose_code(wf__launch *l, wf__stage *stage, bool interpret, wf__failure *f)
{
    wf__variant which = interpret ? WF__VARIANTS : wf__stage_variant(stage, l->call.mem, l->parallel);
    if (which != WF__VARIANTS)
        l->entry = wf__stage_entry(l->engine, stage, which, l->note);
    if (l->entry)
        return true;
    if (l->note)
        l->note->code = WF_CODE_NONE;
    l->interp = wf__stage_interp(l->engine, stage, f);
    return l->interp != NULL;
}

double wf__compile_seconds(const wf__note *note, const wf__note *next)
{
    return note->compile_s + (next ? next->compile_s : 0);
}
