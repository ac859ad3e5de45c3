/* launch.c - runs the stages of a plan: addresses in, blocks out to the pool, reductions joined in a fixed order. */
#include "run/copies.h"
#include "run/engine_internal.h"
#include "run/joiner.h"
#include "run/scan.h"
#include "run/stage.h"
#include "run/watch.h"
#include <stdio.h>

enum { FEW = 8, PARALLEL_WORK = 1 << 18 };

typedef enum variant { PLAIN, NONTEMPORAL, ALONE, VARIANTS } variant; /* of a stage's code */

/* What a stage needs to run, made at its first run: stage->code. Entries are set once and never change. */
typedef struct stage_code {
    _Atomic(wf__entry *) entry[VARIANTS];
    wf__held *held[VARIANTS];        /* theirs; under the engine's lock */
    _Atomic bool no_entry[VARIANTS]; /* the compiler cannot: interpret */
    _Atomic uint64_t hash[VARIANTS]; /* of the code */
    _Atomic uint32_t tile[VARIANTS]; /* rows | columns << 8 | lanes << 16; 0: nobody has asked */
    _Atomic(wf__interp *) interp;
} stage_code;

typedef struct launch { /* one stage in flight */
    wf__engine *engine;
    const wf__stage *stage;
    wf__entry *entry; /* NULL: interpret */
    const wf__interp *interp;
    void *scratch;
    wf__call call;
    uint64_t *partial; /* [blocks][reductions]; with kept axes [parts][reductions]: addresses of results */
    void **pairs;      /* [2 * reductions], then scratch of the join */
    char *parts;       /* the results of all parts but the first */
    size_t parts_bytes;
    /* a fused stage */
    struct launch *then; /* follows box by box; NULL: none does */
    char *kept;          /* [workers][kept_bytes]: results of the box at hand */
    size_t kept_bytes;
    size_t at[WF__MOST_FUSED]; /* of reduction k's in it */
    int workers;
    int threads;        /* at most */
    bool parallel;      /* if compiled */
    wf__copies *copies; /* NULL: none. in_order: one for each group of blocks, else for each worker */
    wf__note *note;     /* NULL: nobody wants to know */
} launch;

static bool out_of_memory(wf__failure *f, const char *what)
{
    f->status = WF_ERR_MEMORY;
    wf__str_addf(&f->text, "out of memory for %s", what);
    return false;
}

void wf__engine_free_stage_code(void *engine, void *code)
{
    stage_code *c = code;
    for (int i = 0; i < VARIANTS; ++i)
        wf__map_let_go(((wf__engine *)engine)->code, c->held[i]);
    wf__interp_free(atomic_load(&c->interp));
    wf__free(c);
}

static stage_code *code_of(wf__engine *e, wf__stage *stage)
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

/* How many rows are best done at once where rows share accumulators: few are left over, as those take longer. */
static int shared_rows(const wf__stage *stage)
{
    const wf__ir *body = &stage->body;
    if (!stage->reduce || !body->kept_lane || body->kept + 1 >= body->rank)
        return 0;
    enum { LARGE = 1 << 22, PAGE = 4096 };
    int row = body->rank - 2;
    int64_t n = stage->block[row];
    for (uint32_t s = 0; stage->work >= LARGE && s < body->slot_n; ++s) {
        int64_t bytes = stage->mem[s].stride[row] * (int64_t)wf__size(body->slot[s].dtype);
        if (body->slot[s].element && bytes && bytes > -PAGE && bytes < PAGE)
            return 1; /* the processor foresees one stream in a page, not several */
    }
    int best = 4;
    for (int rows = 3; rows > 1 && n < 16; --rows)
        if (n % rows < n % best || n < best)
            best = rows;
    return n > 1 ? best : 1;
}

static wf__code_options options_of(const wf__stage *stage, variant which)
{
    return (wf__code_options){ .nontemporal = which == NONTEMPORAL,
                               .long_rows = stage->long_rows && which != NONTEMPORAL,
                               .shared_rows = shared_rows(stage),
                               .alone = which == ALONE };
}

/* Code of a plan that had some. */
static void note_variant(const stage_code *c, variant which, wf__note *note)
{
    bool other = false;
    for (int i = 0; i < VARIANTS; ++i)
        other = other || (i != (int)which && atomic_load(&c->entry[i]));
    if (other && note->code == WF_CODE_COMPILED)
        snprintf(note->why, sizeof note->why, "%s",
                 which == NONTEMPORAL            ? "these addresses are aligned for stores past the cache"
                 : which == ALONE                ? "one thread runs it: its updates need not be atomic"
                 : atomic_load(&c->entry[ALONE]) ? "several threads run it: its updates must be atomic"
                                                 : "these addresses are not aligned for stores past the cache");
}

static void note_code(wf__engine *e, const wf__stage *stage, stage_code *c, variant which, wf__note *note)
{
    uint32_t tile = atomic_load_explicit(&c->tile[which], memory_order_relaxed);
    int rows, columns, lanes;
    wf__code_options how = options_of(stage, which);
    if (!tile && wf__engine_tile(e, &stage->body, &how, &rows, &columns, &lanes)) {
        tile = (uint32_t)rows | (uint32_t)columns << 8 | (uint32_t)lanes << 16;
        atomic_store_explicit(&c->tile[which], tile, memory_order_relaxed);
    }
    note->hash = atomic_load(&c->hash[which]);
    note->rows = (int)(tile & 255);
    note->columns = (int)(tile >> 8 & 255);
    note->lanes = (int)(tile >> 16);
    note->nontemporal = which == NONTEMPORAL;
    note->alone = which == ALONE;
}

static wf__entry *entry_of(wf__engine *e, const wf__stage *stage, stage_code *c, variant which, wf__note *note)
{
    wf__entry *entry = atomic_load_explicit(&c->entry[which], memory_order_acquire);
    if (note && entry && note->code == WF_CODE_NONE) /* else compile_ahead has said more */
        note->code = WF_CODE_READY;
    if (entry || atomic_load(&c->no_entry[which]))
        return entry;
    wf__str error = { 0 };
    wf__code_options how = options_of(stage, which);
    wf__note found = { .explain = note && note->explain };
    double start = note ? wf__now() : 0;
    wf__held *held = wf__engine_code(e, &stage->body, &how, &found, &error), *double_held = held;
    entry = held ? wf__engine_entry(held) : NULL;
    atomic_store(&c->hash[which], found.hash);
    if (note) {
        note->code = found.code;
        note->compile_s += wf__now() - start;
        memcpy(note->why, found.why, sizeof note->why);
        note_variant(c, which, note);
    }
    if (entry) {
        wf__mutex_lock(&e->lock);
        if (!c->held[which]) {
            c->held[which] = held;
            double_held = NULL;
        }
        entry = wf__engine_entry(c->held[which]); /* another thread's may be another copy of the code */
        wf__mutex_unlock(&e->lock);
        wf__map_let_go(e->code, double_held);
        atomic_store_explicit(&c->entry[which], entry, memory_order_release);
    } else
        atomic_store(&c->no_entry[which], true);
    if (error.len) {
        wf__str text = { 0 };
        wf__str_addf(&text, "compiling a kernel failed (%s); it is interpreted instead", wf__str_get(&error));
        wf__engine_log(e, 1, wf__str_get(&text));
        wf__str_free(&text);
    }
    wf__str_free(&error);
    return entry;
}

static const wf__interp *interp_of(wf__engine *e, const wf__stage *stage, stage_code *c, wf__failure *f)
{
    wf__interp *interp = atomic_load_explicit(&c->interp, memory_order_acquire);
    if (interp)
        return interp;
    wf__mutex_lock(&e->lock);
    interp = atomic_load(&c->interp);
    if (!interp && (interp = wf__interp_new(&stage->body, &f->text)))
        atomic_store_explicit(&c->interp, interp, memory_order_release);
    wf__mutex_unlock(&e->lock);
    if (!interp)
        f->status = WF_ERR_MEMORY;
    return interp;
}

/* ---- blocks ---- */
/* `copy`: whose private memory it uses. */
static void run_box(const launch *l, int64_t copy, const int64_t *lo, const int64_t *hi, uint64_t *acc)
{
    wf__call call = l->call;
    if (l->copies)
        call.mem = wf__copies_use(l->copies, copy);
    if (l->entry)
        l->entry(&call, lo, hi, acc);
    else
        wf__interp_run(l->interp, l->scratch, &call, lo, hi, acc);
}

static void fill(char *at, uint64_t bits, size_t size, size_t n)
{
    memcpy(at, &bits, size); /* little-endian */
    for (size_t done = 1; done < n; done *= 2)
        memcpy(at + done * size, at, (done < n - done ? done : n - done) * size);
}

/* Neutral elements where a box with kept lanes accumulates. */
static void clear_results(const wf__ir *body, const int64_t *extent, const int64_t *lo, const int64_t *hi,
                          const uint64_t *result)
{
    int64_t index[WF_MAX_RANK], lane = body->rank - 1;
    memcpy(index, lo, (size_t)body->rank * sizeof *lo);
    for (int d = 0; d >= 0;) {
        int64_t at = 0;
        for (int k = 0; k < body->kept; ++k)
            at = at * extent[k] + index[k];
        at = at * extent[lane] + lo[lane];
        for (uint32_t k = 0; k < body->red_n; ++k) {
            unsigned dtype = body->red[k].dtype, size = wf__size(dtype);
            fill((char *)(uintptr_t)result[k] + at * (int64_t)size, wf__red_start(&body->red[k]), size,
                 (size_t)(hi[lane] - lo[lane]));
        }
        for (d = body->kept - 1; d >= 0 && ++index[d] >= hi[d]; --d)
            index[d] = lo[d];
    }
}

/* The number of a point of the kept axes. */
static int64_t kept_point(const wf__stage *stage, const int64_t *index)
{
    int64_t at = 0;
    int lane = stage->body.rank - 1;
    for (int d = 0; d < stage->body.kept; ++d)
        at = at * stage->extent[d] + index[d];
    return stage->body.kept_lane ? at * stage->extent[lane] + index[lane] : at;
}

/* Moves the results to where this worker has room for those of one box, which begin at point `first`. */
static void redirect(const launch *l, int worker, int64_t first, uint64_t *acc)
{
    for (uint32_t k = 0; k < l->stage->body.red_n; ++k) {
        char *room = l->kept + (size_t)worker * l->kept_bytes + l->at[k];
        acc[k] = (uint64_t)(uintptr_t)room - (uint64_t)first * wf__size(l->stage->body.red[k].dtype);
    }
}

/* The next stage on the kept points of a box. */
static void run_then(const launch *l, const int64_t *lo, const int64_t *hi, const uint64_t *acc)
{
    const wf__stage *stage = l->stage, *next = l->then->stage;
    wf__mem mem[WF__MOST_FUSED];
    wf__call call = l->then->call;
    int64_t from[WF_MAX_RANK], to[WF_MAX_RANK], last[WF_MAX_RANK];
    int kept = stage->body.kept, lane = stage->body.rank - 1;
    memcpy(mem, call.mem, next->body.slot_n * sizeof *mem);
    for (uint32_t s = 0; s < next->body.slot_n; ++s)
        for (uint32_t k = 0; k < stage->body.red_n; ++k)
            if (next->mem[s].object == stage->result[k])
                mem[s].base = (char *)(uintptr_t)acc[k];
    call.mem = mem;
    memcpy(from, lo, (size_t)kept * sizeof *lo);
    memcpy(to, hi, (size_t)kept * sizeof *hi);
    if (stage->body.kept_lane) {
        from[kept] = lo[lane];
        to[kept] = hi[lane];
    }
    if (next->body.rank == 1) { /* boxes are cut so that their kept points follow each other */
        for (int d = 0; d <= lane; ++d)
            last[d] = hi[d] - 1;
        from[0] = kept_point(stage, lo);
        to[0] = kept_point(stage, last) + 1;
    }
    l->then->entry(&call, from, to, NULL);
}

static void run_one(const launch *l, int64_t block, int64_t copy, int worker)
{
    const wf__stage *stage = l->stage;
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], rest = block, part = 0, parts = 1;
    uint64_t kept[WF__MOST_FUSED];
    for (int d = stage->body.rank - 1; d >= 0; --d) {
        int64_t count = (stage->extent[d] + stage->block[d] - 1) / stage->block[d];
        lo[d] = rest % count * stage->block[d];
        if (d >= stage->body.kept && !(stage->body.kept_lane && d == stage->body.rank - 1)) {
            part += rest % count * parts;
            parts *= count;
        }
        rest /= count;
        hi[d] = lo[d] + stage->block[d] < stage->extent[d] ? lo[d] + stage->block[d] : stage->extent[d];
    }
    uint64_t *acc = l->partial ? l->partial + (size_t)(stage->reduce ? part : block) * stage->body.red_n : NULL;
    if (l->then)
        redirect(l, worker, kept_point(stage, lo), acc = kept);
    if (stage->reduce && stage->body.kept_lane)
        clear_results(&stage->body, stage->extent, lo, hi, acc);
    run_box(l, copy, lo, hi, acc);
    if (l->then)
        run_then(l, lo, hi, acc);
}

static void run_block(void *user, int64_t block, int worker) { run_one(user, block, worker, worker); }

/* Consecutive blocks that share a copy. */
static void run_group(void *user, int64_t group, int worker)
{
    const launch *l = user;
    int64_t n = l->copies->n, blocks = l->stage->blocks, each = blocks / n, more = blocks % n;
    int64_t first = group * each + (group < more ? group : more), end = first + each + (group < more);
    for (int64_t b = first; b < end; ++b)
        run_one(l, b, group, worker);
}

static const int64_t origin[WF_MAX_RANK];

static int threads_of(const wf__engine *e, const wf__limits *limits)
{
    int threads = wf__pool_threads(e->pool);
    return limits->threads > 0 && limits->threads < threads ? limits->threads : threads;
}

static bool is_large(const wf__stage *stage, const wf__limits *limits)
{
    int64_t points = 1;
    for (int d = 0; limits->serial_below && d < stage->body.rank; ++d)
        points *= stage->extent[d];
    return stage->blocks > 1 && (limits->serial_below ? points >= limits->serial_below : stage->work >= PARALLEL_WORK);
}

static bool is_parallel(const wf__engine *e, const wf__stage *stage, const wf__limits *limits) /* if compiled */
{
    return is_large(stage, limits) && (!stage->updates || threads_of(e, limits) > 1);
}

static void run_blocks(launch *l)
{
    const wf__stage *stage = l->stage;
    bool groups = l->copies && stage->in_order;
    if (l->parallel && l->entry && l->then)
        wf__pool_run_on(l->engine->pool, l->workers, stage->blocks, run_block, l);
    else if (l->parallel && l->entry && groups)
        wf__pool_run_on(l->engine->pool, l->threads, l->copies->n, run_group, l);
    else if (l->parallel && l->entry && l->copies)
        wf__pool_run_on(l->engine->pool, (int)l->copies->n, stage->blocks, run_block, l);
    else if (l->parallel && l->entry)
        wf__pool_run_on(l->engine->pool, l->threads, stage->blocks, run_block, l);
    else if (groups)
        for (int64_t g = 0; g < l->copies->n; ++g)
            run_group(l, g, 0);
    else if (stage->body.red_n)
        for (int64_t b = 0; b < stage->blocks; ++b)
            run_block(l, b, 0);
    else
        run_box(l, 0, origin, stage->extent, NULL);
}

/* ---- reductions: partial results pairwise, then the initial value, always in the same order ---- */
/* Where partial result k of a block, or of a part, is. */
static void *partial_of(const launch *l, int64_t row, uint32_t k)
{
    uint64_t *at = &l->partial[(size_t)row * l->stage->body.red_n + k];
    return l->stage->reduce ? (void *)(uintptr_t)*at : at;
}

/* The partial results lo .. hi - 1, into those of lo. */
static void join_partials(const launch *l, int64_t lo, int64_t hi)
{
    const wf__ir *body = &l->stage->body;
    if (hi - lo < 2)
        return;
    int64_t mid = lo + (hi - lo) / 2;
    join_partials(l, lo, mid);
    join_partials(l, mid, hi);
    for (uint32_t k = 0; k < body->red_n; ++k) {
        l->pairs[k] = partial_of(l, lo, k);
        l->pairs[body->red_n + k] = partial_of(l, mid, k);
    }
    wf__join_pairs(body, l->pairs, l->stage->reduce ? (size_t)l->stage->kept : 1, l->pairs + 2 * body->red_n);
}

/* Of the partial results, and what joining them takes. */
size_t wf__partial_bytes(const wf__stage *stage)
{
    size_t rows = (size_t)(stage->reduce ? stage->parts : stage->blocks) + 2;
    return stage->body.red_n ? rows * stage->body.red_n * sizeof(uint64_t) + wf__join_scratch(&stage->body) : 0;
}

/* Room for what blocks write; where axes are kept: for the results of each part, the first being the final ones. */
static bool make_room(launch *l, char *const *base)
{
    const wf__stage *stage = l->stage;
    const wf__ir *body = &stage->body;
    size_t rows = (size_t)(stage->reduce ? stage->parts : stage->blocks);
    if (!body->red_n)
        return true;
    if (!(l->partial = wf__mem_alloc(l->engine->memory, wf__partial_bytes(stage))))
        return false;
    l->pairs = (void **)(l->partial + rows * body->red_n);
    if (!stage->reduce)
        return true;
    for (uint32_t k = 0; k < body->red_n; ++k)
        l->parts_bytes += (rows - 1) * (((size_t)stage->kept * wf__size(body->red[k].dtype) + 63) & ~(size_t)63);
    if (l->parts_bytes && !(l->parts = wf__mem_alloc(l->engine->memory, l->parts_bytes)))
        return false;
    char *at = l->parts;
    for (size_t p = 0; p < rows; ++p)
        for (uint32_t k = 0; k < body->red_n; ++k) {
            l->partial[p * body->red_n + k] = (uint64_t)(uintptr_t)(p ? at : base[stage->result[k]]);
            if (p) /* else there may be no parts */
                at += ((size_t)stage->kept * wf__size(body->red[k].dtype) + 63) & ~(size_t)63;
        }
    return true;
}

static void finish_reductions(const launch *l, uint64_t *result)
{
    const wf__stage *stage = l->stage;
    if (!stage->empty)
        join_partials(l, 0, stage->reduce ? stage->parts : stage->blocks);
    for (uint32_t k = 0; !stage->reduce && k < stage->body.red_n; ++k) {
        const wf__reduction *red = &stage->body.red[k];
        result[k] = stage->initial[k];
        if (!stage->empty && red->join == WF_JOIN_CUSTOM)
            result[k] = l->partial[k]; /* it began with the initial value */
        else if (!stage->empty)
            wf__eval(wf__join_op((wf_join)red->join), red->dtype, &result[k], &stage->initial[k], &l->partial[k],
                     &result[k], 1);
    }
}

void wf__finish_reductions(const wf__stage *stage, uint64_t *partial, uint64_t *result)
{
    size_t rows = (size_t)(stage->reduce ? stage->parts : stage->blocks);
    launch l = { .stage = stage, .partial = partial };
    if (partial)
        l.pairs = (void **)(partial + rows * stage->body.red_n);
    finish_reductions(&l, result);
}

/* ---- one stage ---- */
/* Do the addresses allow stores past the cache? Those of output rows must be aligned, and nothing written may be read. */
static bool may_stream(const wf__stage *stage, const wf__mem *mem)
{
    const wf__ir *body = &stage->body;
    bool any = false;
    for (uint32_t s = 0; s < body->slot_n; ++s) {
        const wf__slot *slot = &body->slot[s];
        if (!slot->written)
            continue;
        if (slot->read || !slot->element || slot->step[slot->rank - 1] != WF__STEP_UNIT)
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

/* VARIANTS: it is interpreted. */
static variant variant_of(const wf__stage *stage, const wf__mem *mem, bool parallel, bool interpret)
{
    bool one_point = stage->blocks == 1 && stage->body.rank == 1 && stage->extent[0] == 1;
    return interpret || one_point || stage->body.flags & WF_DEBUG ? VARIANTS
           : stage->updates && !parallel                          ? ALONE
           : stage->streams && may_stream(stage, mem)             ? NONTEMPORAL
                                                                  : PLAIN;
}

static bool choose_code(launch *l, wf__stage *stage, bool interpret, wf__failure *f)
{
    stage_code *code = code_of(l->engine, stage);
    if (!code)
        return out_of_memory(f, "a launch");
    variant which = variant_of(stage, l->call.mem, l->parallel, interpret);
    if (which != VARIANTS)
        l->entry = entry_of(l->engine, stage, code, which, l->note);
    if (l->entry && l->note)
        note_code(l->engine, stage, code, which, l->note);
    if (l->entry)
        return true;
    if (l->note)
        l->note->code = WF_CODE_NONE;
    l->interp = interp_of(l->engine, stage, code, f);
    return l->interp != NULL;
}

void wf__stage_mem(const wf__stage *stage, char *const *base, wf__mem *mem)
{
    for (uint32_t s = 0; s < stage->body.slot_n; ++s) {
        const wf__mem_layout *layout = &stage->mem[s];
        mem[s].base = base[layout->object];
        if (layout->offset && !stage->empty)
            mem[s].base += layout->offset * (int64_t)wf__size(stage->body.slot[s].dtype);
        for (int d = 0; d < stage->body.slot[s].rank; ++d) {
            mem[s].stride[d] = layout->stride[d];
            mem[s].dim[d] = layout->dim[d];
        }
    }
}

/* Private memory: as many copies as the order of joins wants, or as there are workers. */
static bool make_copies(launch *l, wf__copies *c, wf__failure *f)
{
    const wf__stage *stage = l->stage;
    int64_t workers = l->parallel && (l->entry || stage->in_order) ? l->threads : 1;
    int64_t wanted = stage->in_order && stage->groups ? stage->groups : workers;
    wanted = wanted < stage->blocks ? wanted : stage->blocks;
    if (!wf__copies_begin(c, l->engine->memory, stage, l->call.mem, wf__copies_most(stage, wanted)))
        return out_of_memory(f, "private copies of an array");
    l->copies = c;
    return true;
}

/* Gets ready to run `then`, the next stage, box by box after l's; if that cannot be, leaves l as it is. false: failed. */
static bool fuse(launch *l, launch *then, wf__stage *next, char *const *base, wf__mem *mem, wf__failure *f)
{
    const wf__stage *stage = l->stage;
    *then = (launch){ .engine = l->engine, .stage = next, .note = l->note ? l->note + 1 : NULL };
    then->call = (wf__call){ .mem = mem, .param = l->call.param, .extent = next->extent };
    wf__stage_mem(next, base, mem);
    if (!l->entry)
        return true;
    if (!choose_code(then, next, false, f))
        return false;
    if (!then->entry)
        return true;
    size_t points = 1;
    for (int d = 0; d < stage->body.rank; ++d)
        if (d < stage->body.kept || (stage->body.kept_lane && d == stage->body.rank - 1))
            points *= (size_t)stage->block[d];
    for (uint32_t k = 0; k < stage->body.red_n; ++k) {
        l->at[k] = l->kept_bytes;
        l->kept_bytes += (points * wf__size(stage->body.red[k].dtype) + 63) & ~(size_t)63;
    }
    l->workers = l->threads;
    l->kept = wf__mem_alloc(l->engine->memory, (size_t)l->workers * l->kept_bytes);
    if (!l->kept)
        return out_of_memory(f, "partial results");
    l->then = then;
    return true;
}

static bool run_watched(launch *l, wf__failure *f)
{
    wf__watch watch;
    wf__str unset = { 0 };
    if (!wf__watch_begin(&watch, l->stage, l->call.mem))
        return out_of_memory(f, "debug mode");
    l->call.watch = &watch;
    run_blocks(l);
    l->call.watch = NULL;
    bool ok = watch.status == WF_OK;
    if (!ok) {
        f->status = watch.status;
        wf__str_add(&f->text, wf__str_get(&watch.text));
    } else if (wf__watch_unset(&watch, &unset))
        wf__engine_log(l->engine, 1, wf__str_get(&unset));
    wf__str_free(&unset);
    wf__watch_end(&watch);
    return ok;
}

/* Minus the seconds that compiling this stage, and the next one if it may be fused, has taken so far. */
static double compiling(const wf__note *note, const wf__stage *next)
{
    return -note->compile_s - (next ? note[1].compile_s : 0);
}

/* How the stage ran. `start`: when, and what compiling() was then. */
static void note_run(const launch *l, const wf__stage *next, double start)
{
    wf__note *note = l->note;
    note->ran = true;
    note->threads = !l->parallel || !l->entry ? 1 : l->then ? l->workers : l->copies ? (int)l->copies->n : l->threads;
    note->copies = l->copies ? (int)l->copies->n : 0;
    note->run_s = wf__now() + compiling(note, next) - start;
    if (l->then) {
        note[1].ran = note[1].fused = true;
        note[1].threads = note->threads;
    }
}

/* Sets *both if the next stage has run, too. `next`: if it may be fused, else NULL. */
static bool run_stage(wf__engine *e, wf__stage *stage, wf__stage *next, char *const *base, uint64_t *param,
                      uint64_t *result, const wf__limits *limits, bool interpret, bool *both, wf__note *note,
                      wf__failure *f)
{
    wf__mem few[FEW], *mem = few, next_mem[WF__MOST_FUSED];
    launch l = { .engine = e, .stage = stage, .call = { .param = param, .extent = stage->extent }, .note = note }, then;
    double start = note ? wf__now() + compiling(note, next) : 0;
    uint32_t slots = stage->body.slot_n;
    size_t scratch_bytes = 0;
    bool ok = true;
    if (slots > FEW && !(mem = wf__alloc(slots * sizeof *mem)))
        return out_of_memory(f, "a launch");
    wf__stage_mem(stage, base, mem);
    l.call.mem = mem;
    wf__copies copies;
    l.threads = threads_of(e, limits);
    l.parallel = is_parallel(e, stage, limits);
    if (!stage->empty) {
        ok = choose_code(&l, stage, interpret, f);
        if (ok && !make_room(&l, base))
            ok = out_of_memory(f, "partial results");
        if (ok && !l.entry) {
            scratch_bytes = wf__interp_scratch(l.interp);
            if (!(l.scratch = wf__mem_alloc(e->memory, scratch_bytes)))
                ok = out_of_memory(f, "the interpreter");
        }
        if (ok && stage->copies_n)
            ok = make_copies(&l, &copies, f);
        if (ok && next && !l.copies)
            ok = fuse(&l, &then, next, base, next_mem, f);
        if (ok && stage->body.flags & WF_DEBUG)
            ok = run_watched(&l, f);
        else if (ok)
            run_blocks(&l);
        if (l.copies) {
            wf__copies_join(l.copies, e->pool, l.threads, mem);
            wf__copies_end(l.copies);
        }
        if (note)
            note_run(&l, next, start);
        *both = ok && l.then;
        atomic_fetch_add_explicit(&e->evaluated, 1 + *both, memory_order_relaxed);
    }
    if (ok && stage->body.red_n)
        finish_reductions(&l, result);
    wf__mem_free(e->memory, l.partial, wf__partial_bytes(stage));
    wf__mem_free(e->memory, l.parts, l.parts_bytes);
    wf__mem_free(e->memory, l.kept, (size_t)l.workers * l.kept_bytes);
    wf__mem_free(e->memory, l.scratch, scratch_bytes);
    if (mem != few)
        wf__free(mem);
    return ok;
}

/* ---- the plan ---- */
size_t wf__temp_bytes(const wf__temp *t)
{
    size_t bytes = wf__size(t->dtype);
    for (int d = 0; d < t->shape.rank; ++d)
        if (!wf__mul_size(bytes, (size_t)t->shape.dim[d], &bytes))
            return SIZE_MAX;
    return bytes;
}

typedef struct ahead { /* stages without code */
    wf__engine *engine;
    wf__plan *plan;
    wf__note *notes;
    uint32_t *stage;
    uint8_t *which;
} ahead;

static void compile_one(void *user, int64_t i, int worker)
{
    const ahead *a = user;
    uint32_t s = a->stage[i];
    stage_code *code = code_of(a->engine, &a->plan->stage[s]);
    WF__UNUSED(worker);
    if (code)
        entry_of(a->engine, &a->plan->stage[s], code, (variant)a->which[i], a->notes ? &a->notes[s] : NULL);
}

/* Code for all stages of a plan that runs for the first time, by all threads at once. Whatever goes wrong, stages see to
 * their code themselves. */
static void compile_ahead(wf__engine *e, wf__plan *plan, char *const *base, const wf__limits *limits, bool interpret,
                          wf__note *notes)
{
    if (plan->stage_n < 2 || interpret || atomic_exchange(&plan->has_run, true))
        return;
    uint32_t n = 0, slots = 0;
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        slots = plan->stage[s].body.slot_n > slots ? plan->stage[s].body.slot_n : slots;
    ahead a = { .engine = e, .plan = plan, .notes = notes };
    wf__mem *mem = wf__alloc((slots + 1) * sizeof *mem);
    a.stage = wf__alloc(plan->stage_n * (sizeof *a.stage + 1));
    a.which = a.stage ? (uint8_t *)(a.stage + plan->stage_n) : NULL;
    for (uint32_t s = 0; mem && a.stage && s < plan->stage_n; ++s) {
        const wf__stage *stage = &plan->stage[s];
        if (stage->empty || stage->scan.on)
            continue;
        wf__stage_mem(stage, base, mem);
        variant which = variant_of(stage, mem, is_parallel(e, stage, limits), false);
        if (which == VARIANTS)
            continue;
        a.stage[n] = s;
        a.which[n++] = (uint8_t)which;
    }
    if (n > 1)
        wf__pool_run_on(e->pool, threads_of(e, limits), n, compile_one, &a);
    wf__free(a.stage);
    wf__free(mem);
}

bool wf__engine_run(wf__engine *e, wf__plan *plan, char *const *given, const uint64_t *param, const wf__limits *limits,
                    bool interpret, wf__note *notes, wf__failure *failure)
{
    enum { SMALL = 16 };
    char *small_base[SMALL], **base = small_base;
    uint64_t small_param[SMALL], *all = small_param;
    uint32_t objects = plan->objects + plan->temp_n, params = plan->params + plan->most_reds, temps = 0;
    bool ok = true;
    if (objects > SMALL)
        base = wf__alloc(objects * sizeof *base);
    if (params > SMALL)
        all = wf__alloc(params * sizeof *all);
    if (!base || !all)
        ok = out_of_memory(failure, "a launch");
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->params)
        memcpy(all, param, plan->params * sizeof *all);
    for (; ok && temps < plan->temp_n; ++temps) {
        size_t bytes = wf__temp_bytes(&plan->temp[temps]);
        base[plan->objects + temps] = bytes == SIZE_MAX ? NULL : wf__mem_alloc(e->memory, bytes);
        if (!base[plan->objects + temps]) {
            out_of_memory(failure, "a temporary array");
            ok = false;
            break;
        }
    }
    if (ok)
        compile_ahead(e, plan, base, limits, interpret, notes);
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        bool both = false;
        if (stage->scan.on) {
            ok = wf__scan_run(e->pool, stage, base, !interpret) || out_of_memory(failure, "a scan");
            continue;
        }
        ok = run_stage(e, stage, stage->fused ? stage + 1 : NULL, base, all, all + plan->params, limits, interpret,
                       &both, notes ? &notes[s] : NULL, failure);
        s += both;
    }
    while (temps-- > 0 && base)
        wf__mem_free(e->memory, base[plan->objects + temps], wf__temp_bytes(&plan->temp[temps]));
    if (base != small_base)
        wf__free(base);
    if (all != small_param)
        wf__free(all);
    return ok;
}

/* ---- the same again ---- */
void wf__prepare(wf__plan *plan, char *const *base, wf__prepared *out)
{
    wf__stage *stage = plan->stage;
    out->entry = NULL;
    if (plan->stage_n != 1 || plan->temp_n || stage->empty || stage->body.red_n || stage->copies_n ||
        is_large(stage, &(wf__limits){ 0 }))
        return;
    const stage_code *code = atomic_load_explicit(&stage->code, memory_order_acquire);
    if (!code || !wf__grow(&out->mem, &out->mem_cap, stage->body.slot_n, sizeof *out->mem))
        return;
    wf__stage_mem(stage, base, out->mem);
    out->call = (wf__call){ .mem = out->mem, .extent = stage->extent };
    out->extent = stage->extent;
    variant which = stage->updates ? ALONE : stage->streams && may_stream(stage, out->mem) ? NONTEMPORAL : PLAIN;
    out->entry = atomic_load_explicit(&code->entry[which], memory_order_acquire);
}

void wf__engine_run_prepared(wf__engine *e, wf__prepared *p, const uint64_t *param)
{
    p->call.param = param;
    p->entry(&p->call, origin, p->extent, NULL);
    atomic_fetch_add_explicit(&e->evaluated, 1, memory_order_relaxed);
}

void wf__prepared_free(wf__prepared *p)
{
    wf__free(p->mem);
    *p = (wf__prepared){ 0 };
}
