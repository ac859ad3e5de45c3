/* kernel.c - runs one kernel: fills in addresses, hands boxes to the pool, joins reductions in a fixed order, and runs
 * the consumer of each box. */
#include "run/cpu/boxes.h"
#include "run/cpu/join_tallies.h"
#include "run/cpu/steps.h"
#include "run/debug/watch.h"

enum { FEW = 8 };

/* ---- boxes for the pool ---- */
static void run_one(void *user, int64_t box, int worker) { wf__run_box(user, box, worker, worker); }

static void run_range(void *user, int64_t first, int64_t end, int worker)
{
    const wf__launch *l = user;
    const int64_t polled =
        l->arrivals && !worker ? wf__least_of_call(l->stage) : 0; /* worker 0 is the launching thread */
    for (int64_t box = first; box < end; ++box) {
        wf__run_box(l, box, worker, worker);
        if (polled && (box - first + 1) % polled == 0)
            l->arrivals->poll(l->arrivals->user);
    }
}

/* Runs consecutive boxes that share a copy. */
static void run_group(void *user, int64_t group, int worker)
{
    const wf__launch *l = user;
    int64_t n = l->copies->n, boxes = wf__own_boxes(l->stage), each = boxes / n, more = boxes % n;
    int64_t first = group * each + (group < more ? group : more), end = first + each + (group < more);
    for (int64_t box = first; box < end; ++box)
        wf__run_box(l, box, group, worker);
}

static void run_parallel(wf__launch *l)
{
    const wf__stage *stage = l->stage;
    wf__pool *pool = l->engine->pool;
    int64_t least = wf__least_of_call(stage);
    if (l->consumer)
        wf__pool_run_on(pool, l->workers, stage->partition.boxes, run_one, l);
    else if (l->copies && stage->copies.per == WF__PER_RANGE)
        wf__pool_run_on(pool, l->threads, l->copies->n, run_group, l);
    else if (l->copies)
        wf__pool_run_on(pool, (int)wf__least(l->threads, l->copies->n), wf__own_boxes(stage), run_one, l);
    else if (stage->partition.slabs >= 0)
        wf__run_slabs(l);
    else
        wf__pool_run_several(pool, l->threads, wf__boxes_of_launch(l),
                             &(wf__several){ least, WF__MOST_OF_CALL * least, false }, run_range, l);
}

/* Runs all boxes, on the pool or on the calling thread. */
static void run_boxes(wf__launch *l)
{
    const wf__stage *stage = l->stage;
    if (l->parallel && l->entry)
        run_parallel(l);
    else if (l->copies && stage->copies.per == WF__PER_RANGE)
        for (int64_t g = 0; g < l->copies->n; ++g)
            run_group(l, g, 0);
    else if (stage->lowered.red_n || stage->copies.per == WF__PER_BOX || stage->partition.one_box_per_block ||
             l->arrivals)
        wf__pool_run_several(l->engine->pool, 1, wf__own_boxes(stage), &(wf__several){ 1, 1, false }, run_range, l);
    else
        wf__run_all_points(l);
}

/* ---- points beside those that wait for other ranks ---- */
static void run_part(wf__launch *l, wf__part *part)
{
    part->boxes = 1;
    for (int d = 0; d < l->stage->lowered.rank; ++d)
        part->boxes *= (part->points.hi[d] - part->points.lo[d] + part->box[d] - 1) / part->box[d];
    l->part = part;
    run_boxes(l);
    l->part = NULL;
}

/* Runs the points of a face, as many threads as they keep busy. */
static void run_face(wf__launch *l, wf__part *face)
{
    const wf__stage *stage = l->stage;
    const int rank = stage->lowered.rank, outer = rank > 1 ? rank - 1 : 1; /* loops besides that along the lanes */
    const bool parallel = l->parallel;
    int longest = 0;
    if (wf__box_is_empty(&face->points, rank))
        return;
    for (int d = 0; d < rank; ++d) {
        face->box[d] = face->points.hi[d] - face->points.lo[d];
        longest = d < outer && face->box[d] > face->box[longest] ? d : longest;
    }
    const double part =
        (double)wf__box_elements(&face->points, rank) / (double)wf__box_elements(&stage->division.window, rank);
    const double work = part * (double)stage->partition.work;
    l->parallel = parallel && work >= WF__PARALLEL_WORK;
    if (l->parallel) {
        const int64_t boxes = wf__least((int64_t)(work / WF__PART_WORK), WF__MOST_PARTS_OF_STAGE);
        face->box[longest] = (face->box[longest] + boxes - 1) / boxes;
    }
    run_part(l, face);
    l->parallel = parallel;
}

/* Runs the interior while elements of other ranks are on their way, then the points around it: those before and after it
 * along the outermost loop, then along the next one. */
static bool run_around(const wf__run *r, wf__launch *l)
{
    const wf__stage *stage = l->stage;
    const wf__box *interior = &stage->division.interior;
    wf__box rest = stage->division.window;
    wf__part part = { .points = *interior };
    memcpy(part.box, stage->partition.box, sizeof part.box);
    l->arrivals = r->others->arrivals;
    run_part(l, &part);
    l->arrivals = NULL;
    if (wf__box_within(&rest, interior, stage->lowered.rank))
        return true;
    if (!wf__arrive(r))
        return false;
    for (int d = 0; d < stage->lowered.rank; ++d) {
        part.points = rest;
        part.points.hi[d] = interior->lo[d];
        run_face(l, &part);
        part.points = rest;
        part.points.lo[d] = interior->hi[d];
        run_face(l, &part);
        rest.lo[d] = interior->lo[d];
        rest.hi[d] = interior->hi[d];
    }
    return true;
}

/* ---- a kernel ---- */
/* Makes private copies: for workers, for ranges of boxes, or for all boxes, also those of other ranks. */
static bool make_copies(wf__launch *l, wf__copies *c, wf__failure *f)
{
    const wf__stage *stage = l->stage;
    const bool ordered = stage->copies.per != WF__PER_WORKER;
    const int64_t workers = l->parallel && (l->entry || ordered) ? l->threads : 1;
    int64_t n = ordered && stage->copies.groups ? stage->copies.groups : workers;
    n = stage->copies.per == WF__PER_BOX ? stage->partition.boxes
                                         : wf__copies_most(stage, wf__least(n, wf__own_boxes(stage)));
    if (!wf__copies_begin(c, l->engine->memory, stage, l->call.mem, n))
        return wf__out_of_memory(f, "private copies of an array");
    l->copies = c;
    return true;
}

/* Makes stage s the consumer of l's boxes, if both have compiled code. Returns false on failure alone. */
static bool add_consumer(const wf__run *r, wf__launch *l, uint32_t s, wf__launch *consumer, wf__mem *mem)
{
    const wf__stage *stage = l->stage;
    wf__stage *next = &r->plan->stage[s];
    *consumer = (wf__launch){ .engine = l->engine, .stage = next, .note = r->notes ? &r->notes[s] : NULL };
    consumer->call = (wf__call){ .mem = mem, .param = l->call.param, .extent = next->extent };
    wf__stage_mem(next, r->base, mem);
    if (!l->entry)
        return true;
    if (!wf__choose_code(consumer, next, false, r->failure))
        return false;
    if (!consumer->entry)
        return true;
    size_t points = 1;
    for (int d = 0; d < stage->lowered.rank; ++d)
        if (wf__keeps_loop(&stage->lowered, d))
            points *= (size_t)stage->partition.box[d];
    for (uint32_t k = 0; k < stage->lowered.red_n; ++k) {
        l->at[k] = l->kept_bytes;
        l->kept_bytes += (points * wf__size(stage->lowered.red[k].dtype) + 63) & ~(size_t)63;
    }
    l->workers = l->threads;
    l->kept = wf__mem_alloc(l->engine->memory, (size_t)l->workers * l->kept_bytes);
    if (!l->kept)
        return wf__out_of_memory(r->failure, "partial results");
    l->consumer = consumer;
    return true;
}

static bool run_watched(wf__launch *l, wf__failure *f)
{
    wf__watch watch;
    if (!wf__watch_begin(&watch, l->engine, l->stage, l->call.mem, f))
        return wf__out_of_memory(f, "debug mode");
    l->call.watch = &watch;
    run_boxes(l);
    l->call.watch = NULL;
    bool ok = f->status == WF_OK;
    if (ok)
        wf__watch_unset(&watch, &f->warning);
    wf__watch_end(&watch);
    return ok;
}

/* Notes how the stage ran. next: the note of the consumer; NULL = none. `start`: the time of the start less
 * wf__compile_seconds at that time. */
static void note_run(const wf__launch *l, const wf__note *next, double start)
{
    wf__note *note = l->note;
    note->ran = true;
    note->threads = !l->parallel || !l->entry ? 1
                    : l->consumer             ? l->workers
                    : l->copies               ? (int)wf__least(l->copies->n, l->threads)
                                              : l->threads;
    note->copies = l->copies ? (int)l->copies->n : 0;
    note->run_s = wf__now() - wf__compile_seconds(note, next) - start;
    if (l->consumer) {
        l->consumer->note->ran = l->consumer->note->fused = true;
        l->consumer->note->threads = note->threads;
    }
}

/* Ends a kernel that cannot run. Ranks that join its results are told. Returns false. */
static bool give_up(const wf__run *r, const wf__stage *stage)
{
    if (wf__waits_for_ranks(stage))
        wf__join_failed(r->others, r->failure);
    return false;
}

bool wf__run_kernel(const wf__run *r, uint32_t s, uint32_t consumer_s, bool *consumed)
{
    if (wf__is_cancelled(r->failure))
        return give_up(r, &r->plan->stage[s]);
    wf__engine *e = r->engine;
    wf__failure *f = r->failure;
    wf__stage *stage = &r->plan->stage[s];
    wf__note *note = r->notes ? &r->notes[s] : NULL;
    const wf__note *next = note && consumer_s != WF__NO_STAGE ? &r->notes[consumer_s] : NULL;
    if (consumer_s == WF__NO_STAGE && wf__run_point(r, stage, note))
        return true;
    wf__mem few[FEW], *mem = few, next_mem[WF__MOST_FUSED];
    wf__launch l = { .engine = e,
                     .stage = stage,
                     .call = { .param = r->param, .extent = stage->extent },
                     .note = note },
               consumer;
    l.partials.stage = stage;
    double start = note ? wf__now() - wf__compile_seconds(note, next) : 0;
    size_t scratch_bytes = 0;
    bool ok = true;
    if (stage->lowered.slot_n > FEW && !(mem = wf__alloc(stage->lowered.slot_n * sizeof *mem))) {
        wf__out_of_memory(f, "a launch");
        return give_up(r, stage);
    }
    wf__stage_mem(stage, r->base, mem);
    l.call.mem = mem;
    wf__copies copies;
    wf__tallies tallies = { .stage = NULL };
    l.threads = wf__threads_of(e, r->limits);
    l.parallel = wf__is_parallel(e, stage, stage, r->limits);
    bool runs = !stage->empty && wf__own_boxes(stage); /* other ranks may run all points */
    if (!stage->empty) {
        ok = !runs || wf__choose_code(&l, stage, r->interpret, f);
        if (ok && !wf__partials_begin(&l.partials, stage, e->memory, r->base))
            ok = wf__out_of_memory(f, "partial results");
        if (ok && runs && !l.entry) {
            scratch_bytes = wf__interp_scratch(l.interp);
            if (!(l.scratch = wf__mem_alloc(e->memory, scratch_bytes)))
                ok = wf__out_of_memory(f, "the interpreter");
        }
        if (ok && stage->division.tallies && !wf__tallies_begin(&tallies, stage, r->others, e->memory, r->base))
            ok = wf__out_of_memory(f, "arrays that ranks accumulate into");
        if (ok && (runs || stage->division.joins_copies) && stage->copies.n)
            ok = make_copies(&l, &copies, f);
        if (ok && consumer_s != WF__NO_STAGE && !l.copies)
            ok = add_consumer(r, &l, consumer_s, &consumer, next_mem);
        if (ok && stage->lowered.flags & WF_FLAG_DEBUG)
            ok = run_watched(&l, f);
        else if (ok && runs && wf__runs_before_arrival(r, stage))
            ok = run_around(r, &l);
        else if (ok && runs)
            run_boxes(&l);
        if (wf__waits_for_ranks(stage)) /* boxes may be left out, which the other ranks must know before they join */
            ok = !wf__is_cancelled(f) && ok;
        if (l.copies && !stage->division.joins_copies)
            wf__copies_join(l.copies, e->pool, l.threads, mem, false);
        if (note)
            note_run(&l, next, start);
        atomic_fetch_add_explicit(&e->evaluated, 1 + (ok && l.consumer), memory_order_relaxed);
    }
    if (stage->division.joins && !stage->empty) {
        ok = wf__join_ranks(&l.partials, r->others, ok, f);
        if (ok)
            wf__partials_set(&l.partials, r->param + r->plan->params);
    } else if (ok && stage->lowered.red_n)
        wf__partials_finish(&l.partials, r->param + r->plan->params);
    if (stage->division.tallies && !stage->empty)
        ok = wf__tallies_join(&tallies, r->others, ok, stage->division.joins, f);
    wf__tallies_end(&tallies);
    /* If a rank has failed in one of the joins above, all ranks know. */
    const bool told = stage->division.joins || stage->division.tallies;
    if (stage->division.joins_copies && !stage->empty && (ok || !told)) {
        ok = wf__join_copies_of_ranks(stage, l.copies, r->others, ok, f);
        if (ok)
            wf__copies_join(l.copies, e->pool, l.threads, mem, true);
    }
    if (l.copies)
        wf__copies_end(l.copies);
    if (consumed)
        *consumed = l.consumer != NULL;
    wf__partials_end(&l.partials, e->memory);
    wf__mem_free(e->memory, l.kept, (size_t)l.workers * l.kept_bytes);
    wf__mem_free(e->memory, l.scratch, scratch_bytes);
    if (mem != few)
        wf__free(mem);
    return ok;
}
