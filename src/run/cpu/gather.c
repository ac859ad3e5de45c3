/* gather.c - see gather.h. Each rank has the positions of elements for its points. It reads those of its own block, and asks
 * the ranks that have the others: all ranks tell each other how many elements they ask for, then send their positions, and
 * then the elements. Of equal positions that a rank finds one after the other, it asks for one.
 *
 * Threads share the points in ranges. A range asks each rank for consecutive entries of its list, so the answers lie where
 * the range finds them when it walks its points again in the same order.
 */
#include "run/cpu/gather.h"
#include "run/cpu/boxes.h"
#include "run/cpu/join_ranks.h"

enum { RANGE = 1 << 14, RANGES_OF_THREAD = 4 };

typedef struct axis { /* of the array */
    int64_t dim, stride;
    const int64_t *begin; /* as in wf__gathered */
    int64_t places;
    int weight;
    double per_each; /* places for each index, roughly */
} axis;

typedef struct slot { /* positions or elements of the points */
    char *base;
    const int64_t *stride; /* along each loop */
    size_t size;
} slot;

typedef struct cursor { /* in the list of a range, for one rank */
    int64_t last;       /* the position that was asked for last; -1 = none */
    size_t first, next; /* numbers of the first entry of the range, and of the next one */
} cursor;

typedef struct list { /* what this rank gives to each rank, or gets from each */
    size_t *count;    /* [ranks] elements */
    size_t n;         /* elements in all */
    size_t *bytes, *offset;
    int64_t *at;   /* [n] positions */
    char *element; /* [n] */
} list;

typedef struct gather {
    const wf__run *run;
    const wf__stage *stage;
    const wf__others *others;
    axis axis[WF_MAX_RANK];
    int rank;          /* axes of the array */
    uint64_t elements; /* of the array */
    char *base;        /* address of its element [0, ..., 0] */
    slot at, to;
    const int64_t *lo, *hi; /* points in loops */
    int64_t points, ranges;
    int threads;
    cursor *cursor;   /* [ranges][ranks] */
    list asks, gives; /* what this rank asks for, and is asked for */
    size_t *memory;   /* of counts, bytes and offsets */
} gather;

/* ---- the ranks that have elements ---- */
static void begin_axes(gather *g)
{
    const wf__gathered *how = g->stage->gather;
    g->rank = how->shape.rank;
    g->elements = 1;
    for (int d = 0; d < g->rank; ++d) {
        g->axis[d] = (axis){ .dim = how->shape.dim[d],
                             .stride = how->stride[d],
                             .begin = how->begin[d],
                             .places = how->places[d],
                             .weight = how->weight[d],
                             .per_each = (double)how->places[d] / (double)how->shape.dim[d] };
        g->elements *= (uint64_t)how->shape.dim[d];
    }
}

static int64_t place_of(const axis *a, int64_t i)
{
    int64_t place = wf__least((int64_t)((double)i * a->per_each), a->places - 1);
    while (i < a->begin[place])
        --place;
    while (i >= a->begin[place + 1])
        ++place;
    return place;
}

/* Returns the rank that has the element at a position, and sets the element's offset. */
static inline int find(const gather *g, int64_t at, int64_t *offset)
{
    int owner = 0;
    *offset = 0;
    for (int d = g->rank - 1; d >= 0; --d) {
        const axis *a = &g->axis[d];
        const int64_t i = d ? at % a->dim : at;
        at = d ? at / a->dim : 0;
        *offset += i * a->stride;
        if (a->begin)
            owner += (int)place_of(a, i) * a->weight;
    }
    return owner;
}

static inline void copy(char *to, const char *from, size_t size)
{
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, size);
    }
}

static const char *element_at(const gather *g, int64_t offset)
{
    return (const char *)((uintptr_t)g->base + (uintptr_t)offset * g->to.size);
}

/* ---- walks over the points of a range ---- */
/* What a walk does for n points of a row. cursors: [ranks], of the range. */
typedef void row_fn(const gather *g, cursor *cursors, const char *at, char *to, int64_t n);

/* Returns the entry of an element in the list of its rank, which is a new one unless the last one is the same. */
static inline size_t entry_of(cursor *c, int64_t at, bool *is_new)
{
    *is_new = c->last != at;
    c->last = at;
    c->next += *is_new;
    return c->next - 1;
}

/* Counts the elements of other ranks. Once their list has memory, notes their positions there. */
static void list_row(const gather *g, cursor *cursors, const char *at, char *to, int64_t n)
{
    const int64_t step = g->at.stride[g->stage->lowered.rank - 1] * (int64_t)g->at.size;
    WF__UNUSED(to);
    for (int64_t i = 0, x, offset; i < n; ++i, at += step) {
        bool is_new;
        memcpy(&x, at, sizeof x);
        if ((uint64_t)x >= g->elements)
            continue;
        const int owner = find(g, x, &offset);
        if (owner == g->others->rank)
            continue;
        const size_t entry = entry_of(&cursors[owner], x, &is_new);
        if (is_new && g->asks.at)
            g->asks.at[entry] = x;
    }
}

static void set_row(const gather *g, cursor *cursors, const char *at, char *to, int64_t n)
{
    const int lane = g->stage->lowered.rank - 1;
    const size_t size = g->to.size;
    const int64_t step = g->at.stride[lane] * (int64_t)g->at.size, to_step = g->to.stride[lane] * (int64_t)size;
    for (int64_t i = 0, x, offset; i < n; ++i, at += step, to += to_step) {
        bool is_new;
        memcpy(&x, at, sizeof x);
        if ((uint64_t)x >= g->elements) {
            memset(to, 0, size);
            continue;
        }
        const int owner = find(g, x, &offset);
        copy(to,
             owner == g->others->rank ? element_at(g, offset)
                                      : g->asks.element + entry_of(&cursors[owner], x, &is_new) * size,
             size);
    }
}

static const char *address(const slot *s, const int64_t *index, int rank)
{
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d)
        offset += index[d] * s->stride[d];
    return (const char *)((uintptr_t)s->base + (uintptr_t)offset * s->size);
}

/* Walks the points of a range in C order of the loops. */
static void walk(const gather *g, int64_t range, row_fn *row)
{
    const int rank = g->stage->lowered.rank, lane = rank - 1;
    const int64_t end = g->points / g->ranges * (range + 1) + wf__least(range + 1, g->points % g->ranges);
    int64_t from = g->points / g->ranges * range + wf__least(range, g->points % g->ranges), index[WF_MAX_RANK];
    cursor *cursors = g->cursor + range * g->others->ranks;
    for (int64_t d = lane, rest = from; d >= 0; --d) {
        const int64_t n = g->hi[d] - g->lo[d];
        index[d] = g->lo[d] + rest % n;
        rest /= n;
    }
    while (from < end) {
        const int64_t n = wf__least(g->hi[lane] - index[lane], end - from);
        row(g, cursors, address(&g->at, index, rank), (char *)(uintptr_t)address(&g->to, index, rank), n);
        from += n;
        index[lane] = g->lo[lane];
        for (int d = lane - 1; d >= 0 && ++index[d] >= g->hi[d]; --d)
            index[d] = g->lo[d];
    }
}

typedef struct task {
    const gather *g;
    row_fn *row;
} task;

static void walk_range(void *user, int64_t range, int worker)
{
    const task *t = user;
    WF__UNUSED(worker);
    walk(t->g, range, t->row);
}

static void walk_all(const gather *g, row_fn *row)
{
    if (g->points)
        wf__pool_run_on(g->run->engine->pool, g->threads, g->ranges, walk_range, &(task){ g, row });
}

/* ---- lists ---- */
static bool begin_list(const gather *g, list *l)
{
    l->at = wf__mem_alloc(g->run->engine->memory, l->n * sizeof *l->at + 1);
    l->element = wf__mem_alloc(g->run->engine->memory, l->n * g->to.size + 1);
    return l->at && l->element;
}

static void end_list(const gather *g, list *l)
{
    wf__mem_free(g->run->engine->memory, l->at, l->n * sizeof *l->at + 1);
    wf__mem_free(g->run->engine->memory, l->element, l->n * g->to.size + 1);
}

/* Sets how many bytes of each list go to or come from each rank, if an element has so many. */
static void lay(const gather *g, list *l, size_t size)
{
    size_t offset = 0;
    for (int r = 0; r < g->others->ranks; ++r) {
        l->bytes[r] = l->count[r] * size;
        l->offset[r] = offset;
        offset += l->bytes[r];
    }
}

static wf__parcels parcels_of(const list *l, void *at)
{
    return (wf__parcels){ .at = at, .bytes = l->bytes, .offset = l->offset };
}

/* Gives each range its entries, those of one rank side by side. */
static void share_entries(gather *g)
{
    size_t first = 0;
    for (int r = 0; r < g->others->ranks; ++r) {
        g->asks.count[r] = first;
        for (int64_t k = 0; k < g->ranges; ++k) {
            cursor *c = &g->cursor[k * g->others->ranks + r];
            c->first = first;
            first += c->next;
        }
        g->asks.count[r] = first - g->asks.count[r];
    }
    g->asks.n = first;
}

static void rewind_ranges(const gather *g)
{
    for (int64_t i = 0; i < g->ranges * g->others->ranks; ++i) {
        g->cursor[i].last = -1;
        g->cursor[i].next = g->cursor[i].first;
    }
}

/* ---- a gather ---- */
static slot slot_of(const gather *g, uint32_t object)
{
    const wf__stage *stage = g->stage;
    uint32_t s = 0;
    while (stage->mem[s].object != object)
        ++s;
    const size_t size = wf__size(stage->lowered.slot[s].dtype);
    return (slot){ .base = (char *)((uintptr_t)g->run->base[object] + (uintptr_t)stage->mem[s].offset * size),
                   .stride = stage->mem[s].stride,
                   .size = size };
}

/* Finds the points of this rank, and the memory for what it tells others. False = out of memory. */
static bool begin(gather *g)
{
    const wf__stage *stage = g->stage;
    const wf__run *r = g->run;
    const size_t ranks = (size_t)g->others->ranks;
    g->base = r->base[stage->gather->from];
    g->at = slot_of(g, stage->gather->at);
    g->to = slot_of(g, stage->gather->to);
    g->lo = wf__own_begin(stage);
    g->hi = wf__own_end(stage);
    g->points = 1;
    for (int d = 0; d < stage->lowered.rank; ++d)
        g->points *= wf__greatest(g->hi[d] - g->lo[d], 0);
    g->threads = r->interpret ? 1 : wf__threads_of(r->engine, r->limits);
    g->ranges =
        g->threads == 1 ? 1 : wf__greatest(wf__least(g->points / RANGE, (int64_t)g->threads * RANGES_OF_THREAD), 1);
    g->cursor = wf__alloc((size_t)g->ranges * ranks * sizeof *g->cursor);
    g->memory = wf__alloc(6 * ranks * sizeof *g->memory);
    if (!g->cursor || !g->memory)
        return false;
    begin_axes(g);
    g->asks = (list){ .count = g->memory, .bytes = g->memory + ranks, .offset = g->memory + 2 * ranks };
    g->gives =
        (list){ .count = g->memory + 3 * ranks, .bytes = g->memory + 4 * ranks, .offset = g->memory + 5 * ranks };
    for (size_t i = 0; i < (size_t)g->ranges * ranks; ++i)
        g->cursor[i] = (cursor){ .last = -1 };
    return true;
}

static void end(gather *g)
{
    end_list(g, &g->asks);
    end_list(g, &g->gives);
    wf__free(g->memory);
    wf__free(g->cursor);
}

/* Lists the positions of the elements that other ranks have. */
static bool list_positions(gather *g, wf__failure *f)
{
    walk_all(g, list_row);
    if (wf__is_cancelled(f))
        return false;
    share_entries(g);
    if (!begin_list(g, &g->asks))
        return wf__out_of_memory(f, "positions of elements that other ranks have");
    rewind_ranges(g);
    if (g->asks.n)
        walk_all(g, list_row);
    return !wf__is_cancelled(f);
}

/* Learns how many elements the other ranks ask for. */
static bool exchange_counts(gather *g, wf__failure *f)
{
    const wf__parcels out = { .at = g->asks.count, .each = sizeof *g->asks.count };
    const wf__parcels in = { .at = g->gives.count, .each = sizeof *g->gives.count };
    if (!g->others->all_to_all(g->others->user, &out, &in, f))
        return false;
    for (int r = 0; r < g->others->ranks; ++r)
        g->gives.n += g->gives.count[r];
    return true;
}

static void give_some(void *user, int64_t first, int64_t end, int worker)
{
    const gather *g = user;
    const size_t size = g->to.size;
    int64_t offset;
    WF__UNUSED(worker);
    for (int64_t i = first * RANGE; i < wf__least(end * RANGE, (int64_t)g->gives.n); ++i) {
        find(g, g->gives.at[i], &offset);
        copy(g->gives.element + (size_t)i * size, element_at(g, offset), size);
    }
}

/* Exchanges positions and elements. What other ranks wait for is complete also if this one is cancelled. */
static bool exchange_elements(gather *g, wf__failure *f)
{
    const wf__others *others = g->others;
    const int64_t ranges = ((int64_t)g->gives.n + RANGE - 1) / RANGE;
    lay(g, &g->asks, sizeof *g->asks.at);
    lay(g, &g->gives, sizeof *g->gives.at);
    wf__parcels asked = parcels_of(&g->asks, g->asks.at), given = parcels_of(&g->gives, g->gives.at);
    if (!others->all_to_all(others->user, &asked, &given, f))
        return false;
    if (ranges)
        wf__pool_run_several(g->run->engine->pool, g->threads, ranges, &(wf__several){ .least = 1, .most = 16 },
                             give_some, g);
    if (wf__pool_is_cancelled())
        give_some(g, 0, ranges, 0);
    lay(g, &g->asks, g->to.size);
    lay(g, &g->gives, g->to.size);
    asked = parcels_of(&g->asks, g->asks.element);
    given = parcels_of(&g->gives, g->gives.element);
    return others->all_to_all(others->user, &given, &asked, f);
}

static bool go_on(const gather *g, bool ok, wf__failure *f)
{
    const wf_status failed = f->status == WF_OK ? WF_ERR_BACKEND : f->status;
    return wf__ranks_go_on(g->others, ok ? WF_OK : failed, f) && ok;
}

static bool run(gather *g, wf__failure *f)
{
    bool ok = !wf__is_cancelled(f) && (begin(g) || wf__out_of_memory(f, "a gather of elements of other ranks"));
    ok = ok && list_positions(g, f);
    if (!go_on(g, ok, f) || !exchange_counts(g, f))
        return false;
    ok = begin_list(g, &g->gives) || wf__out_of_memory(f, "elements that other ranks ask for");
    if (!go_on(g, ok, f) || !exchange_elements(g, f))
        return false;
    rewind_ranges(g);
    walk_all(g, set_row);
    return true;
}

bool wf__run_gather(const wf__run *r, uint32_t s)
{
    gather g = { .run = r, .stage = &r->plan->stage[s], .others = r->others };
    wf__note *note = r->notes ? &r->notes[s] : NULL;
    const double start = note ? wf__now() : 0;
    if (g.stage->empty)
        return true;
    const bool ok = run(&g, r->failure);
    if (note) {
        note->ran = true;
        note->code = WF_CODE_LIBRARY;
        note->threads = g.threads;
        note->run_s = wf__now() - start;
    }
    atomic_fetch_add_explicit(&r->engine->evaluated, 1, memory_order_relaxed);
    end(&g);
    return ok;
}
