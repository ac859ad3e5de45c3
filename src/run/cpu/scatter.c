/* scatter.c - see scatter.h. Each rank has positions of elements, and values, for its points. It writes a record for each of them
 * into memory that is sorted by the rank that has the element: the number of the element, and the value. Ranks tell each other
 * how many records they have, then exchange them, and each joins those of its block, in the order of ranks and of points.
 *
 * Blocks are cut into slices of consecutive elements, and records are sorted by slices, too. So threads join the records of
 * different slices at once, and the elements of a slice stay in the cache meanwhile. A record has the number of its element in
 * the slice, 32 bits.
 *
 * Threads share the points in ranges. They walk them twice: to count the records of each range, so that each knows its place,
 * and to write them. Where ranks do not divide the points, each has all of them, and keeps the records of its own block.
 */
#include "run/cpu/scatter.h"
#include "run/cpu/boxes.h"
#include "run/cpu/gather_array.h"
#include "run/cpu/join_ranks.h"
#include "run/cpu/point_ranges.h"

enum {
    LEAST_RANGE = 1 << 14,    /* points */
    RANGES_EACH = 4,          /* ranges for each thread, at most */
    MOST_BUCKETS = 256,       /* slices of all blocks together, unless there are more ranks, or larger blocks */
    LEAST_SLICE = 1 << 14,    /* elements */
    MOST_SHIFT = 31,          /* of the number of an element in a slice */
    NUMBER = sizeof(uint32_t) /* bytes of the number in a record */
};

typedef struct load { /* of a stage */
    wf__points points;
    wf__asked_array array;
    unsigned dtype; /* of the array */
    int shift;      /* a slice has 2^shift elements */
    int64_t slices; /* of each block */
    int64_t bucket; /* number of its first slice, among the slices of all loads for one rank */
} load;

typedef struct records {    /* of this rank for all ranks, or of all ranks for this one */
    int64_t *n;             /* [ranks][buckets] */
    char *at;               /* the records of a rank after those of the rank before, in the order of buckets */
    size_t *bytes, *offset; /* [ranks] */
    size_t all;
} records;

typedef struct scatter {
    const wf__run *run;
    const wf__others *others;
    int ranks, threads;
    bool sends; /* ranks divide the points */
    load *load; /* [loads] */
    int loads;
    int64_t ranges, buckets;
    int64_t *cursor;     /* [ranges][ranks][slices of the load]: records of a range, then the offset of the next one */
    int64_t *cursors_of; /* [loads] the first cursor of a load */
    int64_t cursors;
    int64_t slices; /* most slices of a load */
    records mine, theirs;
    size_t *memory; /* of bytes and offset */
} scatter;

static size_t record_size(const load *l) { return NUMBER + l->points.value.size; }

/* ---- walks over the points of a range ---- */
typedef struct row { /* n points of a load */
    const scatter *s;
    const load *l;
    const char *at, *value;
    int64_t n, at_step, value_step; /* bytes from point to point */
    int64_t *cursor;                /* [ranks][slices] of the range */
} row;

/* Counts the records of a row, or writes them. */
static inline void walk_row(const row *r, bool writes, size_t at_size, size_t size)
{
    const load *l = r->l;
    const wf__asked_array *a = &l->array;
    const uint64_t elements = a->elements;
    const int own = r->s->others->rank;
    const bool sends = r->s->sends, one_axis = a->axes == 1 && a->axis->begin;
    char *out = r->s->mine.at;
    for (int64_t i = 0; i < r->n; ++i) {
        const int64_t at = wf__point_position(r->at + i * r->at_step, at_size);
        int64_t number;
        int owner;
        if ((uint64_t)at >= elements)
            continue;
        if (one_axis) {
            const int64_t place = wf__asked_place(a->axis, at);
            owner = (int)place * a->axis->weight;
            number = at - a->axis->begin[place];
        } else
            owner = wf__asked_owner(a, at, &number);
        if (!sends && owner != own)
            continue;
        int64_t *cursor = &r->cursor[owner * l->slices + (number >> l->shift)];
        if (!writes) {
            ++*cursor;
            continue;
        }
        const uint32_t in_slice = (uint32_t)(number & ((INT64_C(1) << l->shift) - 1));
        char *to = out + *cursor;
        *cursor += (int64_t)(NUMBER + size);
        memcpy(to, &in_slice, NUMBER);
        wf__asked_move(to + NUMBER, r->value + i * r->value_step, size);
    }
}

/* The most frequent sizes of positions and values have code of their own. */
static void walk_row_of_size(const row *r, bool writes)
{
    const size_t at = r->l->points.at.size, size = r->l->points.value.size;
    if (!writes)
        walk_row(r, false, at, size);
    else if (at == 4 && size == 4)
        walk_row(r, true, 4, 4);
    else if (at == 4 && size == 8)
        walk_row(r, true, 4, 8);
    else
        walk_row(r, true, at, size);
}

typedef struct walk {
    row row;
    bool writes;
} walk;

static void walk_points(void *user, int64_t first, int64_t n, const char *at, char *value)
{
    walk *w = user;
    WF__UNUSED(first);
    w->row.n = n;
    w->row.at = at;
    w->row.value = value;
    walk_row_of_size(&w->row, w->writes);
}

typedef struct task {
    const scatter *s;
    bool writes;
} task;

static void walk_range(void *user, int64_t range, int worker)
{
    const task *t = user;
    const load *l = t->s->load;
    WF__UNUSED(worker);
    while (range >= l->points.first + l->points.ranges)
        ++l;
    walk w = { .row = { .s = t->s,
                        .l = l,
                        .at_step = wf__point_step(&l->points, &l->points.at),
                        .value_step = wf__point_step(&l->points, &l->points.value),
                        .cursor = t->s->cursor + t->s->cursors_of[l - t->s->load] +
                                  (range - l->points.first) * t->s->ranks * l->slices },
               .writes = t->writes };
    wf__points_walk(&l->points, range, walk_points, &w);
}

static void walk_all(const scatter *s, bool writes)
{
    if (s->ranges)
        wf__pool_run_on(s->run->engine->pool, s->threads, s->ranges, walk_range, &(task){ s, writes });
}

/* ---- records ---- */
/* Makes room for records, once all are counted, and sets where those of each rank are. False = out of memory. */
static bool lay(const scatter *s, records *r)
{
    for (int rank = 0; rank < s->ranks; ++rank) {
        r->offset[rank] = r->all;
        for (int k = 0; k < s->loads; ++k)
            for (int64_t i = 0; i < s->load[k].slices; ++i)
                r->all += (size_t)r->n[rank * s->buckets + s->load[k].bucket + i] * record_size(&s->load[k]);
        r->bytes[rank] = r->all - r->offset[rank];
    }
    r->at = wf__mem_alloc(s->run->engine->memory, r->all + 1);
    return r->at;
}

/* Counts the records of each bucket, and gives each range its place in it. */
static void place_ranges(const scatter *s)
{
    int64_t offset = 0;
    for (int rank = 0; rank < s->ranks; ++rank)
        for (int k = 0; k < s->loads; ++k) {
            const load *l = &s->load[k];
            for (int64_t i = 0; i < l->slices; ++i) {
                const int64_t begin = offset;
                for (int64_t range = 0; range < l->points.ranges; ++range) {
                    int64_t *cursor = &s->cursor[s->cursors_of[k] + (range * s->ranks + rank) * l->slices + i],
                            n = *cursor;
                    *cursor = offset;
                    offset += n * (int64_t)record_size(l);
                }
                s->mine.n[rank * s->buckets + l->bucket + i] = (offset - begin) / (int64_t)record_size(l);
            }
        }
}

/* ---- joins ---- */
static inline char *element_of(const load *l, wf__asked_row *row_of, int64_t number)
{
    return (char *)(uintptr_t)wf__asked_of_row(&l->array, row_of, number);
}

/* Adds n records to integers of a size, which is a constant where this is inlined. */
static inline void add_records(const load *l, const char *at, int64_t n, int64_t first, size_t size)
{
    wf__asked_row row_of = { 0 };
    for (int64_t i = 0; i < n; ++i, at += NUMBER + size) {
        uint32_t number;
        uint64_t a = 0, b = 0; /* little-endian */
        memcpy(&number, at, NUMBER);
        memcpy(&b, at + NUMBER, size);
        char *element = element_of(l, &row_of, first + number);
        memcpy(&a, element, size);
        a += b;
        memcpy(element, &a, size);
    }
}

/* Joins n records of one load and slice with the elements. first: the number of the slice's first element. */
static void join_records(const load *l, const char *at, int64_t n, int64_t first)
{
    const unsigned join = l->points.stage->gather->join;
    const bool adds = join == WF_JOIN_ADD && wf__is_int(l->dtype);
    wf__asked_row row_of = { 0 };
    if (adds && l->array.size == 4) {
        add_records(l, at, n, first, 4);
        return;
    }
    if (adds && l->array.size == 8) {
        add_records(l, at, n, first, 8);
        return;
    }
    for (int64_t i = 0; i < n; ++i, at += record_size(l)) {
        uint32_t number;
        _Alignas(16) char value[16];
        memcpy(&number, at, NUMBER);
        memcpy(value, at + NUMBER, l->points.value.size);
        wf__update(join, l->dtype, element_of(l, &row_of, first + number), value);
    }
}

/* Joins the records of all loads for slice number i of this rank's block. Several loads may have one array. */
static void join_slice(void *user, int64_t i, int worker)
{
    const scatter *s = user;
    WF__UNUSED(worker);
    for (int k = 0; k < s->loads; ++k) {
        const load *l = &s->load[k];
        for (int rank = 0; rank < s->ranks && i < l->slices; ++rank) {
            const bool own = rank == s->others->rank;
            if (!own && !s->sends)
                continue;
            const records *r = own ? &s->mine : &s->theirs;
            const int64_t *n = &r->n[(own ? s->others->rank : rank) * s->buckets];
            const char *at = r->at + r->offset[rank];
            for (int before = 0; before <= k; ++before)
                for (int64_t j = 0; j < (before < k ? s->load[before].slices : i); ++j)
                    at += (size_t)n[s->load[before].bucket + j] * record_size(&s->load[before]);
            join_records(l, at, n[l->bucket + i], i << l->shift);
        }
    }
}

/* ---- a step ---- */
static unsigned dtype_of(const wf__stage *stage, uint32_t object)
{
    uint32_t k = 0;
    while (stage->mem[k].object != object)
        ++k;
    return stage->lowered.slot[k].dtype;
}

/* Cuts the blocks of an array into slices, alike on all ranks. */
static void cut_blocks(const scatter *s, load *l)
{
    int64_t most = 1;
    for (int r = 0; r < s->ranks; ++r)
        most = wf__greatest(most, wf__asked_block(&l->array, r));
    const int64_t wanted = wf__greatest(wf__least(MOST_BUCKETS / s->ranks, most / LEAST_SLICE), 1);
    while (l->shift < MOST_SHIFT && (most - 1) >> l->shift >= wanted)
        ++l->shift;
    l->slices = ((most - 1) >> l->shift) + 1;
}

/* Describes a stage. False = out of memory. */
static bool add_load(scatter *s, const wf__stage *stage)
{
    const wf__gathered *how = stage->gather;
    load *l = &s->load[s->loads++];
    *l = (load){ .points = wf__points_of(s->run, stage), .dtype = dtype_of(stage, how->from), .bucket = s->buckets };
    if (!wf__asked_begin(&l->array, how, s->others->rank, s->run->base[how->from], wf__size(l->dtype)))
        return false;
    cut_blocks(s, l);
    const int64_t most = (int64_t)s->threads * RANGES_EACH;
    s->ranges = wf__points_cut(&l->points, s->ranges, wf__greatest(LEAST_RANGE, (l->points.n + most - 1) / most));
    s->cursors_of[l - s->load] = s->cursors;
    s->cursors += l->points.ranges * s->ranks * l->slices;
    s->buckets += l->slices;
    s->slices = wf__greatest(s->slices, l->slices);
    return true;
}

/* Finds the points of this rank, and the memory for what it tells others. False = out of memory. */
static bool begin(scatter *s, const wf__plan_step *step)
{
    const wf__run *r = s->run;
    const size_t ranks = (size_t)s->others->ranks;
    bool ok = true;
    s->ranks = s->others->ranks;
    s->threads = r->interpret ? 1 : wf__threads_of(r->engine, r->limits);
    s->load = wf__alloc0(step->count * sizeof *s->load);
    s->cursors_of = wf__alloc(step->count * sizeof *s->cursors_of);
    s->memory = wf__alloc(4 * ranks * sizeof *s->memory);
    if (!s->load || !s->cursors_of || !s->memory)
        return false;
    for (uint32_t k = 0; ok && k < step->count; ++k)
        ok = add_load(s, &r->plan->stage[step->first + k]);
    s->mine = (records){ .bytes = s->memory, .offset = s->memory + ranks };
    s->theirs = (records){ .bytes = s->memory + 2 * ranks, .offset = s->memory + 3 * ranks };
    s->mine.n = wf__alloc0(ranks * (size_t)s->buckets * sizeof *s->mine.n);
    s->theirs.n = wf__alloc0(ranks * (size_t)s->buckets * sizeof *s->theirs.n);
    s->cursor = wf__alloc0((size_t)s->cursors * sizeof *s->cursor + 1);
    return ok && s->mine.n && s->theirs.n && s->cursor;
}

static void end(scatter *s)
{
    for (int k = 0; k < s->loads; ++k)
        wf__asked_end(&s->load[k].array);
    wf__mem_free(s->run->engine->memory, s->mine.at, s->mine.all + 1);
    wf__mem_free(s->run->engine->memory, s->theirs.at, s->theirs.all + 1);
    wf__free(s->mine.n);
    wf__free(s->theirs.n);
    wf__free(s->load);
    wf__free(s->cursor);
    wf__free(s->cursors_of);
    wf__free(s->memory);
}

/* Sorts the records of this rank's points. */
static bool sort(scatter *s, wf__failure *f)
{
    walk_all(s, false);
    if (wf__is_cancelled(f))
        return false;
    place_ranges(s);
    if (!lay(s, &s->mine))
        return wf__out_of_memory(f, "values that are joined with elements of other ranks");
    walk_all(s, true);
    return !wf__is_cancelled(f);
}

static bool go_on(const scatter *s, bool ok, wf__failure *f)
{
    const wf_status failed = f->status == WF_OK ? WF_ERR_BACKEND : f->status;
    return !s->sends ? ok : wf__ranks_go_on(s->others, ok ? WF_OK : failed, f) && ok;
}

/* The records that ranks send: none from a rank to itself. */
static wf__parcels parcels_of(const scatter *s, records *r)
{
    r->bytes[s->others->rank] = 0;
    return (wf__parcels){ .at = r->at, .bytes = r->bytes, .offset = r->offset };
}

static bool exchange(scatter *s, wf__failure *f)
{
    const wf__others *others = s->others;
    const size_t each = (size_t)s->buckets * sizeof *s->mine.n;
    const wf__parcels told = { .at = s->mine.n, .each = each }, heard = { .at = s->theirs.n, .each = each };
    if (!others->all_to_all(others->user, &told, &heard, f))
        return false;
    memset(s->theirs.n + others->rank * s->buckets, 0, each); /* they stay where they are */
    const bool ok = lay(s, &s->theirs) || wf__out_of_memory(f, "values of other ranks that are joined with elements");
    if (!go_on(s, ok, f))
        return false;
    const wf__parcels out = parcels_of(s, &s->mine), in = parcels_of(s, &s->theirs);
    return others->all_to_all(others->user, &out, &in, f);
}

static bool run(scatter *s, const wf__plan_step *step, wf__failure *f)
{
    bool ok = !wf__is_cancelled(f) && (begin(s, step) || wf__out_of_memory(f, "a join with elements of other ranks"));
    ok = ok && sort(s, f);
    if (!go_on(s, ok, f) || (s->sends && !exchange(s, f)))
        return false;
    wf__pool_run_on(s->run->engine->pool, s->threads, s->slices, join_slice, s);
    return true;
}

bool wf__run_scatter(const wf__run *r, const wf__plan_step *step)
{
    const wf__stage *main = &r->plan->stage[step->main];
    scatter s = { .run = r, .others = r->others, .sends = main->division.axes != 0 };
    wf__note *note = r->notes ? &r->notes[step->first] : NULL;
    const double start = note ? wf__now() : 0;
    if (main->empty)
        return true;
    const bool ok = run(&s, step, r->failure);
    for (uint32_t k = 0; note && k < step->count; ++k) {
        note[k].ran = true;
        note[k].code = WF_CODE_LIBRARY;
        note[k].threads = s.threads;
        note[k].fused = k > 0;
    }
    if (note)
        note->run_s = wf__now() - start;
    atomic_fetch_add_explicit(&r->engine->evaluated, step->count, memory_order_relaxed);
    end(&s);
    return ok;
}
