/* stage_code.c - the code of stages in variants, which the engine compiles at their first use, and in two tiers. Small
 * stages are interpreted until the first code is there. */
#include "run/cpu/stage_code.h"
#include "run/engine_internal.h"
#include "run/later.h"
#include <stdio.h>

/* stage->code, made at the stage's first run. An entry changes at most once, from baseline to final code. Both stay as
 * long as the stage, since other threads may be running them. */
enum { BASELINE, FINAL, TIERS };
typedef struct stage_code {
    _Atomic(wf__entry *) entry[WF__VARIANTS];
    _Atomic(wf__executable *) baseline[WF__VARIANTS]; /* the entry's code while it is to be replaced; else NULL */
    wf__held *held[WF__VARIANTS][TIERS];              /* code in use, under the engine's lock */
    _Atomic bool no_entry[WF__VARIANTS];              /* the compilation failed: interpret */
    _Atomic uint64_t hash[WF__VARIANTS];              /* hash of the code's key */
    _Atomic uint32_t tile[WF__VARIANTS];              /* rows | columns << 8 | lanes << 16; 0 = unknown */
    _Atomic(wf__later *) later[WF__VARIANTS];         /* compilation beside the program; NULL = none was begun */
    _Atomic(wf__interp *) interp;
    _Atomic uint32_t point_runs; /* by the interpreter, of a stage of one point, up to WF__POINT_RUNS */
} stage_code;

void wf__cpu_free_stage_code(void *engine, void *code)
{
    stage_code *c = code;
    for (int i = 0; i < WF__VARIANTS; ++i) {
        wf__later_release(atomic_load(&c->later[i]));
        for (int t = 0; t < TIERS; ++t)
            wf__map_let_go(((wf__engine *)engine)->code, c->held[i][t]);
    }
    wf__interp_free(atomic_load(&c->interp));
    wf__free(c);
}

/* Returns the code of a stage, made now if there is none. NULL = out of memory. */
static stage_code *get_stage_code(wf__engine *e, wf__stage *stage)
{
    stage_code *c = atomic_load_explicit(&stage->code, memory_order_acquire);
    if (c)
        return c;
    wf__mutex_lock(&e->lock);
    c = atomic_load(&stage->code);
    if (!c && (c = wf__alloc0(sizeof *c)))
        atomic_store_explicit(&stage->code, (void *)c, memory_order_release);
    wf__mutex_unlock(&e->lock);
    return c;
}

/* ---- variants ---- */
/* True if the addresses allow stores that bypass the cache: output rows are aligned, and no written array is read. */
static bool may_stream(const wf__stage *stage, const wf__mem *mem)
{
    const wf__ir *body = &stage->lowered;
    bool any = false;
    for (uint32_t s = 0; s < body->slot_n; ++s) {
        const wf__slot *slot = &body->slot[s];
        if (!slot->written)
            continue;
        if (slot->read || (!slot->element && !slot->rows) || slot->step[slot->rank - 1] != WF__STEP_UNIT)
            return false;
        any = true;
        uintptr_t bits = (uintptr_t)mem[s].base;
        for (int d = 0; d + 1 < slot->rank; ++d)
            bits |= (uintptr_t)mem[s].stride[d] * wf__size(slot->dtype);
        if (bits & 63)
            return false;
        for (uint32_t t = 0; t < body->slot_n; ++t)
            if (t != s && body->slot[t].read && mem[t].base == mem[s].base)
                return false;
    }
    return any;
}

/* True for a stage of one point that was interpreted so often that its code would have paid. */
static bool is_worth_code(const wf__stage *stage)
{
    const stage_code *c = atomic_load_explicit(&stage->code, memory_order_acquire);
    return c && atomic_load_explicit(&c->point_runs, memory_order_relaxed) >= WF__POINT_RUNS;
}

wf__variant wf__stage_variant(const wf__stage *stage, const wf__mem *mem, bool parallel)
{
    bool is_little = wf__is_little_point(stage) && !is_worth_code(stage);
    return is_little || stage->lowered.flags & WF_FLAG_DEBUG       ? WF__VARIANTS
           : stage->promises.updates && !parallel                  ? WF__SINGLE_THREAD
           : stage->promises.nontemporal && may_stream(stage, mem) ? WF__NONTEMPORAL
                                                                   : WF__PLAIN;
}

/* ---- compiling ---- */
/* Returns the number of rows, `most` or fewer, that leaves the fewest remaining rows, which run more slowly. */
static int even_rows(int64_t n, int most)
{
    int best = most;
    for (int rows = most - 1; rows > 1 && n < 4 * most; --rows)
        if (n % rows < n % best || n < best)
            best = rows;
    return n > 1 ? best : 1;
}

/* Returns the number of rows to run together if rows share accumulators, or if rows, not lanes, are adjacent in
 * memory. 0 = the code generator decides. */
static int rows_at_once(const wf__engine *e, const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    for (uint32_t s = 0; s < body->slot_n; ++s)
        if (wf__is_crossed(&body->slot[s]))
            return stage->partition.work < WF__TRANSPOSED_WORK
                       ? 1
                       : even_rows(stage->partition.box[body->rank - 2], WF__TRANSPOSED_ROWS);
    if (!stage->reduce.axes || !body->kept_lane || body->kept + 1 >= body->rank)
        return 0;
    enum { PAGE = 4096 };
    int row = body->rank - 2, best = 4;
    int64_t n = stage->partition.box[row];
    for (uint32_t s = 0; stage->partition.work >= WF__ROWS_AHEAD_WORK && s < body->slot_n; ++s) {
        int64_t bytes = stage->mem[s].stride[row] * (int64_t)wf__size(body->slot[s].dtype);
        if (!body->slot[s].element || !bytes || bytes <= -PAGE || bytes >= PAGE)
            continue;
        if (bytes > -PAGE / 2 && bytes < PAGE / 2)
            return 1; /* the processor prefetches one or two streams in a page, not several */
        best = e->processor.rows_ahead;
    }
    return even_rows(n, best);
}

static wf__code_options options_of(const wf__engine *e, const wf__stage *stage, wf__variant which, bool baseline)
{
    bool plain = !stage->lowered.loops && !stage->lowered.red_n && !stage->promises.updates && !stage->copies.n;
    /* 0 = the code generator decides by cost */
    int columns = stage->promises.columns ? stage->promises.columns : baseline;
    return (wf__code_options){ .baseline = baseline,
                               .nontemporal = which == WF__NONTEMPORAL,
                               .columns = plain ? columns : 0,
                               .long_rows = stage->promises.long_rows && which != WF__NONTEMPORAL,
                               .row_points = stage->promises.row_points,
                               .rows_at_once = rows_at_once(e, stage),
                               .vector_units = e->processor.vector_units,
                               .single_thread = which == WF__SINGLE_THREAD };
}

/* Notes why a stage that has code in another variant needed this one. */
static void note_variant(const stage_code *c, wf__variant which, wf__note *note)
{
    bool other = false;
    for (int i = 0; i < WF__VARIANTS; ++i)
        other = other || (i != (int)which && atomic_load(&c->entry[i]));
    if (other && note->code == WF_CODE_COMPILED)
        snprintf(note->why, sizeof note->why, "%s",
                 which == WF__NONTEMPORAL     ? "these addresses are aligned for stores past the cache"
                 : which == WF__SINGLE_THREAD ? "one thread runs it: its updates need not be atomic"
                 : atomic_load(&c->entry[WF__SINGLE_THREAD])
                     ? "several threads run it: its updates must be atomic"
                     : "these addresses are not aligned for stores past the cache");
}

static void note_code(wf__engine *e, const wf__stage *stage, stage_code *c, wf__variant which, wf__note *note)
{
    uint32_t tile = atomic_load_explicit(&c->tile[which], memory_order_relaxed);
    int rows, columns, lanes;
    wf__mutex_lock(&e->lock);
    const bool is_final = c->held[which][FINAL] != NULL;
    wf__mutex_unlock(&e->lock);
    const wf__code_options how = options_of(e, stage, which, !is_final);
    if (!tile && wf__engine_tile(e, &stage->lowered, &how, &rows, &columns, &lanes)) {
        tile = (uint32_t)rows | (uint32_t)columns << 8 | (uint32_t)lanes << 16;
        atomic_store_explicit(&c->tile[which], tile, memory_order_relaxed);
    }
    note->hash = atomic_load(&c->hash[which]);
    note->rows = (int)(tile & 255);
    note->columns = (int)(tile >> 8 & 255);
    note->lanes = (int)(tile >> 16);
    note->nontemporal = which == WF__NONTEMPORAL;
    note->single_thread = which == WF__SINGLE_THREAD;
    note->baseline = how.baseline;
}

static void log_failure(wf__engine *e, wf__str *error, bool again)
{
    wf__str text = { 0 };
    wf__str_addf(&text, "compiling a kernel failed (%s); %s", wf__str_get(error),
                 again ? "the code that there is stays" : "it is interpreted instead");
    wf__engine_log(e, 1, wf__str_get(&text));
    wf__str_free(&text);
}

/* Sets the entry and takes its code, `held`. */
static wf__entry *set_entry(wf__engine *e, stage_code *c, wf__variant which, wf__held *held)
{
    wf__mutex_lock(&e->lock);
    wf__executable *x = wf__held_value(held);
    wf__held **of = &c->held[which][x->baseline ? BASELINE : FINAL], *surplus = *of;
    if (surplus) /* another thread was first, perhaps with another copy of the code */
        x = wf__held_value(*of);
    *of = surplus ? *of : held;
    surplus = surplus ? held : NULL;
    if (!x->baseline || !c->held[which][FINAL]) {
        atomic_store(&c->baseline[which], x->baseline && !e->first_tier ? x : NULL);
        atomic_store(&c->tile[which], 0);
        atomic_store_explicit(&c->entry[which], x->entry, memory_order_release);
    }
    wf__mutex_unlock(&e->lock);
    wf__map_let_go(e->code, surplus);
    return x->entry;
}

/* ---- tiers ---- */
/* Returns the work after which baseline code has lost about as much time as its compilation saved. */
static uint64_t worth_compiling(const wf__stage *stage)
{
    return WF__TIER_WORK + (uint64_t)stage->lowered.n * WF__TIER_WORK_OF_NODE;
}

/* True if the stage starts with baseline code. The work of loops is unknown, so stages with loops do not, unless all code
 * is of the first tier. */
static bool starts_as_baseline(const wf__engine *e, const wf__stage *stage)
{
    return e->first_tier || (stage->lowered.flags & WF_FLAG_TIERED && !stage->lowered.loops &&
                             stage->partition.work < worth_compiling(stage));
}

/* Returns the options of code that serves in place of baseline code where memory or disk have it; NULL = none does. */
static const wf__code_options *instead_of(bool baseline, const wf__code_options *final)
{
    return baseline ? final : NULL;
}

/* Adds this run to the work done by baseline code. Returns true to exactly one caller, once the total justifies final
 * code. */
static bool has_outgrown(const wf__stage *stage, stage_code *c, wf__variant which)
{
    wf__executable *x = atomic_load_explicit(&c->baseline[which], memory_order_acquire);
    if (!x)
        return false;
    uint64_t done =
        atomic_fetch_add_explicit(&x->work, stage->partition.work, memory_order_relaxed) + stage->partition.work;
    return done >= worth_compiling(stage) && atomic_compare_exchange_strong(&c->baseline[which], &x, NULL);
}

static wf__entry *compile_stage(wf__engine *e, const wf__stage *stage, stage_code *c, wf__variant which, bool baseline,
                                wf__note *note)
{
    wf__str error = { 0 };
    const wf__code_options how = options_of(e, stage, which, baseline), final = options_of(e, stage, which, false);
    wf__note found = { .explain = note && note->explain };
    double start = note ? wf__now() : 0;
    wf__entry *entry = atomic_load(&c->entry[which]); /* of baseline code, or NULL */
    const bool again = entry != NULL;
    wf__held *held = wf__engine_get_code(e, &stage->lowered, &how, instead_of(baseline, &final), &found, &error);
    if (held) {
        entry = set_entry(e, c, which, held);
        atomic_store(&c->hash[which], found.hash);
    } else if (!again)
        atomic_store(&c->no_entry[which], true);
    if (note) {
        note->code = found.code;
        note->compile_s += wf__now() - start;
        memcpy(note->why, found.why, sizeof note->why);
        note_variant(c, which, note);
        if (again && note->code == WF_CODE_COMPILED)
            snprintf(note->why, sizeof note->why, "it has run often enough to be worth better code");
    }
    if (error.len)
        log_failure(e, &error, again);
    wf__str_free(&error);
    return entry;
}

/* ---- interpreting first ---- */
bool wf__stage_interprets_first(const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    const uint64_t nodes = body->n, most = (WF__FIRST_WORK + nodes * WF__FIRST_WORK_OF_NODE) / nodes;
    uint64_t points = 1;
    if (!(body->flags & WF_FLAG_INTERPRET_FIRST) || body->loops || stage->promises.updates || stage->copies.n)
        return false;
    for (int d = 0; d < body->rank && points <= most; ++d)
        points *= (uint64_t)stage->extent[d];
    return points <= most;
}

/* Begins the compilation beside the program. Returns the code if memory or disk have it. *later is NULL if there is no
 * compilation. */
static wf__entry *begin_later(wf__engine *e, const wf__stage *stage, stage_code *c, wf__variant which,
                              wf__later **later)
{
    const bool baseline = starts_as_baseline(e, stage);
    const wf__code_options how = options_of(e, stage, which, baseline), final = options_of(e, stage, which, false);
    const wf__code_options *instead = instead_of(baseline, &final);
    wf__note found = { 0 };
    *later = NULL;
    if (!wf__engine_may_compile(e))
        return NULL;
    wf__held *held = wf__engine_find_code(e, &stage->lowered, &how, instead, &found);
    if (held) {
        atomic_store(&c->hash[which], found.hash);
        return set_entry(e, c, which, held);
    }
    wf__later *new = wf__later_new(e, &stage->lowered, &how, instead);
    if (!new || atomic_compare_exchange_strong(&c->later[which], later, new))
        *later = new;
    else
        wf__later_release(new); /* another thread was first */
    return NULL;
}

/* Returns the code of a stage that has none. NULL = the stage is interpreted. The history shows what is compiled, so
 * that a launch with a note compiles at once. */
static wf__entry *first_entry(wf__engine *e, const wf__stage *stage, stage_code *c, wf__variant which, wf__note *note)
{
    const bool interprets = !note && wf__stage_interprets_first(stage);
    wf__later *later = atomic_load(&c->later[which]);
    wf__entry *entry = interprets && !later ? begin_later(e, stage, c, which, &later) : NULL;
    if (entry)
        return entry;
    if (later && !wf__later_is_lost(later)) {
        if (interprets && !wf__later_is_done(later))
            return NULL;
        wf__later_finish(later);
        uint64_t hash;
        wf__held *held = wf__later_take(later, &hash);
        if (held) {
            atomic_store(&c->hash[which], hash);
            return set_entry(e, c, which, held);
        }
        if (wf__later_failed(later)) {
            atomic_store(&c->no_entry[which], true);
            return NULL;
        }
    }
    return compile_stage(e, stage, c, which, starts_as_baseline(e, stage), note);
}

wf__entry *wf__stage_entry(wf__engine *e, wf__stage *stage, wf__variant which, wf__note *note)
{
    stage_code *c = get_stage_code(e, stage);
    wf__entry *entry = c ? atomic_load_explicit(&c->entry[which], memory_order_acquire) : NULL;
    if (note && entry && note->code == WF_CODE_NONE) /* else compile_ahead has filled the note */
        note->code = WF_CODE_READY;
    if (entry && has_outgrown(stage, c, which))
        entry = compile_stage(e, stage, c, which, false, note);
    else if (!entry && c && !atomic_load(&c->no_entry[which]))
        entry = first_entry(e, stage, c, which, note);
    if (entry && note && note->code == WF_CODE_NONE) /* compiled beside an earlier launch */
        note->code = WF_CODE_READY;
    if (entry && note)
        note_code(e, stage, c, which, note);
    return entry;
}

wf__entry *wf__stage_ready_entry(const wf__stage *stage, wf__variant which)
{
    const stage_code *c = atomic_load_explicit(&stage->code, memory_order_acquire);
    bool is_final = c && !atomic_load_explicit(&c->baseline[which], memory_order_acquire);
    return is_final ? atomic_load_explicit(&c->entry[which], memory_order_acquire) : NULL;
}

const wf__interp *wf__stage_interp(wf__engine *e, wf__stage *stage, wf__failure *f)
{
    stage_code *c = get_stage_code(e, stage);
    wf__interp *interp = c ? atomic_load_explicit(&c->interp, memory_order_acquire) : NULL;
    if (interp && !stage->lowered.red_n && wf__is_little_point(stage) &&
        atomic_load_explicit(&c->point_runs, memory_order_relaxed) < WF__POINT_RUNS)
        atomic_fetch_add_explicit(&c->point_runs, 1, memory_order_relaxed);
    if (interp)
        return interp;
    if (c) {
        wf__mutex_lock(&e->lock);
        interp = atomic_load(&c->interp);
        if (!interp && (interp = wf__interp_new(&stage->lowered, &f->text)))
            atomic_store_explicit(&c->interp, interp, memory_order_release);
        wf__mutex_unlock(&e->lock);
    } else
        wf__str_add(&f->text, "out of memory for a launch");
    if (!interp)
        f->status = WF_ERR_MEMORY;
    return interp;
}
