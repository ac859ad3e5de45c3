/* scatter.c - see scatter.h. Each rank has positions of elements, and values, for its points. It writes a record for each of them
 * into memory that is sorted by the rank that has the element: the number of the element, and the value. Ranks tell each other
 * how many records they have, then exchange them, and each joins those of its block.
 *
 * Where the bits depend on the order, each element is joined with the values of one stage in the order of points, which is C
 * order of the whole space, then with those of the next stage. Records of a rank are in this order. They are so from rank to
 * rank, too, where ranks divide the points along the first axis alone. Else a record also has the number of its point, and
 * the records of all ranks are merged. On one process the stages are for this order.
 *
 * Blocks are cut into slices of consecutive elements, and records are sorted by slices, too. So threads join the records of
 * different slices at once, and the elements of a slice stay in the cache meanwhile. A record has the number of its element in
 * the slice, 32 bits.
 *
 * Threads share the points in ranges. They walk them twice: to count the records of each range, so that each knows its place,
 * and to write them.
 *
 * Where ranks do not divide the points, as on one process, each rank has all of them, and nothing is sent. There are no records
 * then: each thread walks all points, and joins the values of those whose elements are in its part of the block.
 */
#include "run/cpu/scatter.h"
#include "run/cpu/boxes.h"
#include "run/cpu/gather_array.h"
#include "run/cpu/join_ranks.h"
#include "run/cpu/point_ranges.h"

enum {
    LEAST_RANGE = 1 << 14,     /* points */
    RANGES_EACH = 4,           /* ranges for each thread, at most */
    MOST_BUCKETS = 256,        /* slices of all blocks together, unless there are more ranks, or larger blocks */
    LEAST_SLICE = 1 << 14,     /* elements */
    MOST_SHIFT = 31,           /* of the number of an element in a slice */
    NUMBER = sizeof(uint32_t), /* bytes of the number in a record */
    AHEAD = 24                 /* points between the prefetch of an element and its use */
};

typedef struct load { /* of a stage */
    wf__points points;
    wf__asked_array array;
    unsigned dtype; /* of the array */
    int shift;      /* a slice has 2^shift elements */
    int64_t slices; /* of each block */
    int64_t own;    /* elements of this rank's block */
    int64_t bucket; /* number of its first slice, among the slices of all loads for one rank */
    size_t key; /* bytes of the number of a point in a record; 0 = ranks have consecutive points, or any order does */
    /* Sums of f16 and bf16: f32 for each element of this rank's block. NULL = values join the elements themselves. */
    char *wide;
    size_t wide_bytes;
} load;

typedef struct records {    /* of this rank for all ranks, or of all ranks for this one */
    int64_t *n;             /* [ranks][buckets] */
    char *at;               /* the records of a rank after those of the rank before, in the order of buckets */
    size_t *bytes, *offset; /* [ranks] */
    size_t all;
} records;

typedef struct stream { /* records of a rank that are not joined yet */
    const char *at;
    int64_t n;
} stream;

typedef struct scatter {
    const wf__run *run;
    const wf__others *others;
    int ranks, threads;
    bool sends; /* ranks divide the points: there are records */
    load *load; /* [loads] */
    int loads;
    int64_t ranges, buckets;
    int64_t *cursor;     /* [ranges][ranks][slices of the load]: records of a range, then the offset of the next one */
    int64_t *cursors_of; /* [loads] the first cursor of a load */
    int64_t cursors;
    int64_t slices; /* most slices of a load */
    records mine, theirs;
    stream *stream; /* [threads][ranks]; NULL = no load has keys */
    size_t *memory; /* of bytes and offset */
} scatter;

static size_t record_size(const load *l) { return NUMBER + l->key + l->points.value.size; }

/* ---- walks over the points of a range ---- */
typedef struct row { /* n points of a load */
    const scatter *s;
    const load *l;
    const char *at, *value;
    int64_t n, at_step, value_step; /* bytes from point to point */
    uint64_t number;                /* of the first point among those of all ranks, where records have it */
    int64_t *cursor;                /* [ranks][slices] of the range */
} row;

/* Counts the records of a row, or writes them. */
static inline void walk_row(const row *r, bool writes, size_t at_size, size_t key, size_t size)
{
    const load *l = r->l;
    const wf__asked_array *a = &l->array;
    const uint64_t elements = a->elements;
    const bool one_axis = a->axes == 1 && a->axis->begin;
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
        int64_t *cursor = &r->cursor[owner * l->slices + (number >> l->shift)];
        if (!writes) {
            ++*cursor;
            continue;
        }
        const uint32_t in_slice = (uint32_t)(number & ((INT64_C(1) << l->shift) - 1));
        char *to = out + *cursor;
        const uint64_t point = r->number + (uint64_t)i;
        *cursor += (int64_t)(NUMBER + key + size);
        memcpy(to, &in_slice, NUMBER);
        memcpy(to + NUMBER, &point, key); /* little-endian */
        wf__asked_move(to + NUMBER + key, r->value + i * r->value_step, size);
    }
}

/* The most frequent sizes of positions and values have code of their own. */
static void walk_row_of_size(const row *r, bool writes)
{
    const size_t at = r->l->points.at.size, key = r->l->key, size = r->l->points.value.size;
    if (!writes)
        walk_row(r, false, at, key, size);
    else if (at == 4 && size == 4 && !key)
        walk_row(r, true, 4, 0, 4);
    else if (at == 4 && size == 8 && !key)
        walk_row(r, true, 4, 0, 8);
    else
        walk_row(r, true, at, key, size);
}

typedef struct walk {
    row row;
    bool writes;
    int64_t begin; /* of the range, among the points of this rank */
} walk;

static void walk_points(void *user, int64_t first, int64_t n, const char *at, char *value)
{
    walk *w = user;
    w->row.number = w->row.l->key ? wf__point_number(&w->row.l->points, w->begin + first) : 0;
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
               .writes = t->writes,
               .begin = (range - l->points.first) * l->points.range };
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
/* Where values join: elements of this rank's block from number `first` on. */
typedef struct target {
    const load *l;
    int64_t first;
    wf__asked_row row;
} target;

static inline char *element_of(target *t, int64_t number)
{
    if (t->l->wide)
        return t->l->wide + (size_t)(t->first + number) * sizeof(float);
    return (char *)(uintptr_t)wf__asked_of_row(&t->l->array, &t->row, t->first + number);
}

/* How a load joins its values: a dtype that add_value knows, or WF_BOOL for all others. */
static unsigned kind_of(const load *l)
{
    const unsigned dtype = l->wide ? WF_F32 : l->dtype;
    const bool known = dtype == WF_F32 || dtype == WF_F64 || dtype == WF_C64;
    const wf__gathered *how = l->points.stage->gather;
    if (how->stores || how->join != WF_JOIN_ADD || (!known && !wf__is_int(dtype)))
        return WF_BOOL;
    return known ? dtype : wf__size(dtype) == 4 ? WF_U32 : wf__size(dtype) == 8 ? WF_U64 : WF_BOOL;
}

/* Joins a value with an element, or replaces it. kind: of the load, a constant where this is inlined. */
static inline void join_value(const load *l, unsigned kind, char *element, const char *value)
{
    union {
        uint32_t u32;
        uint64_t u64;
        float f32[2];
        double f64;
        char bytes[16];
    } a, b;
    const size_t size = kind == WF_U32 || kind == WF_F32 ? 4 : kind == WF_BOOL ? l->points.value.size : 8;
    memcpy(&b, value, size);
    if (kind == WF_BOOL) {
        const wf__gathered *how = l->points.stage->gather;
        if (how->stores)
            memcpy(element, &b, size);
        else
            wf__update(how->join, l->wide ? WF_F32 : l->dtype, element, &b);
        return;
    }
    memcpy(&a, element, size);
    switch (kind) {
    case WF_U32:
        a.u32 += b.u32;
        break;
    case WF_U64:
        a.u64 += b.u64;
        break;
    case WF_F64:
        a.f64 += b.f64;
        break;
    case WF_C64:
        a.f32[1] += b.f32[1];
        a.f32[0] += b.f32[0];
        break;
    default:
        a.f32[0] += b.f32[0];
    }
    memcpy(element, &a, size);
}

static inline void join_as(target *t, unsigned kind, const char *at, int64_t n)
{
    const size_t size = record_size(t->l);
    for (int64_t i = 0; i < n; ++i, at += size) {
        uint32_t number;
        memcpy(&number, at, NUMBER);
        join_value(t->l, kind, element_of(t, number), at + NUMBER + t->l->key);
    }
}

/* Calls a function with the kind of a load as a constant, so that the code for each kind is inlined. */
#define JOIN_AS(kind, join, to, ...)    \
    switch (kind) {                     \
    case WF_U32:                        \
        join(to, WF_U32, __VA_ARGS__);  \
        break;                          \
    case WF_U64:                        \
        join(to, WF_U64, __VA_ARGS__);  \
        break;                          \
    case WF_F32:                        \
        join(to, WF_F32, __VA_ARGS__);  \
        break;                          \
    case WF_F64:                        \
        join(to, WF_F64, __VA_ARGS__);  \
        break;                          \
    case WF_C64:                        \
        join(to, WF_C64, __VA_ARGS__);  \
        break;                          \
    default:                            \
        join(to, WF_BOOL, __VA_ARGS__); \
    }

/* Joins n records of one load and slice with its elements. */
static void join_records(target *t, const char *at, int64_t n) { JOIN_AS(kind_of(t->l), join_as, t, at, n) }

/* Fills the sums of n elements from number `first` on, where these are apart from the elements. */
static void begin_wide(const load *l, int64_t first, int64_t n)
{
    if (l->wide && n > 0)
        wf__fill_neutral(l->points.stage->gather->join, l->wide + (size_t)first * sizeof(float), WF_F32, (size_t)n);
}

/* Joins them with the elements, each of which is rounded once. */
static void end_wide(const load *l, int64_t first, int64_t n)
{
    wf__asked_row row_of = { 0 };
    for (int64_t i = first; l->wide && i < first + n; ++i)
        wf__update(l->points.stage->gather->join, l->dtype, (char *)(uintptr_t)wf__asked_of_row(&l->array, &row_of, i),
                   l->wide + (size_t)i * sizeof(float));
}

/* The records of load number k that a rank has for slice i of this rank's block. */
static stream records_of(const scatter *s, int k, int rank, int64_t i)
{
    const bool own = rank == s->others->rank;
    const records *r = own ? &s->mine : &s->theirs;
    const int64_t *n = &r->n[rank * s->buckets];
    if (i >= s->load[k].slices)
        return (stream){ NULL, 0 };
    const char *at = r->at + r->offset[rank];
    for (int before = 0; before <= k; ++before)
        for (int64_t j = 0; j < (before < k ? s->load[before].slices : i); ++j)
            at += (size_t)n[s->load[before].bucket + j] * record_size(&s->load[before]);
    return (stream){ at, n[s->load[k].bucket + i] };
}

static uint64_t point_of(const load *l, const char *record)
{
    uint64_t point = 0;
    memcpy(&point, record + NUMBER, l->key);
    return point;
}

/* Joins the records of several ranks in the order of points: those of one rank up to the next point of another one at a time. */
static void merge_records(target *t, stream *of, int ranks)
{
    const size_t size = record_size(t->l);
    for (;;) {
        uint64_t least = UINT64_MAX, next = UINT64_MAX;
        stream *one = NULL;
        for (int rank = 0; rank < ranks; ++rank) {
            if (!of[rank].n)
                continue;
            const uint64_t point = point_of(t->l, of[rank].at);
            next = point < least ? least : point < next ? point : next;
            one = point < least ? &of[rank] : one;
            least = point < least ? point : least;
        }
        if (!one)
            return;
        int64_t n = 1;
        while (n < one->n && point_of(t->l, one->at + (size_t)n * size) < next)
            ++n;
        join_records(t, one->at, n);
        one->at += (size_t)n * size;
        one->n -= n;
    }
}

/* Joins the records of all loads for slice number i of this rank's block. Several loads may have one array. */
static void join_slice(void *user, int64_t i, int worker)
{
    const scatter *s = user;
    for (int k = 0; k < s->loads; ++k) {
        const load *l = &s->load[k];
        stream *of = l->key ? s->stream + (ptrdiff_t)worker * s->ranks : NULL;
        target t = { .l = l, .first = i << l->shift };
        const int64_t n = wf__least(INT64_C(1) << l->shift, l->own - t.first);
        begin_wide(l, t.first, n);
        for (int rank = 0; rank < s->ranks; ++rank) {
            const stream one = records_of(s, k, rank, i);
            if (of)
                of[rank] = one;
            else
                join_records(&t, one.at, one.n);
        }
        if (of)
            merge_records(&t, of, s->ranks);
        end_wide(l, t.first, n);
    }
}

/* ---- without records ---- */
typedef struct part { /* of the block: a thread's */
    const scatter *s;
    target t;
    int64_t n;
    char *base; /* where the first element, or what stands for it, lies; NULL = elements do not follow each other so */
    int64_t step;
} part;

typedef struct row_of_points {
    const char *at, *value;
    int64_t at_step, value_step, n;
} row_of_points;

/* Joins the values of a row. at_size: bytes of a position, a constant where this is inlined, as the kind is. */
static inline void join_row_as(part *p, unsigned kind, const row_of_points *r, size_t at_size)
{
    const load *l = p->t.l;
    const int64_t first = p->t.first;
    const uint64_t n = (uint64_t)p->n;
    if (p->base) {
        for (int64_t i = 0; i < r->n; ++i) {
            const uint64_t later =
                (uint64_t)(wf__point_position(r->at + wf__least(i + AHEAD, r->n - 1) * r->at_step, at_size) - first);
            const uint64_t number = (uint64_t)(wf__point_position(r->at + i * r->at_step, at_size) - first);
            if (later < n)
                wf__prefetch_write(p->base + (int64_t)later * p->step);
            if (number < n)
                join_value(l, kind, p->base + (int64_t)number * p->step, r->value + i * r->value_step);
        }
        return;
    }
    for (int64_t i = 0; i < r->n; ++i) {
        int64_t number = wf__point_position(r->at + i * r->at_step, at_size);
        if ((uint64_t)number >= l->array.elements || wf__asked_owner(&l->array, number, &number) != p->s->others->rank)
            continue;
        if ((uint64_t)(number - first) < n)
            join_value(l, kind, element_of(&p->t, number - first), r->value + i * r->value_step);
    }
}

static void join_row(void *user, int64_t first, int64_t n, const char *at, char *value)
{
    part *p = user;
    const wf__points *points = &p->t.l->points;
    const row_of_points r = { at, value, wf__point_step(points, &points->at), wf__point_step(points, &points->value),
                              n };
    WF__UNUSED(first);
    if (points->at.size == sizeof(int32_t)) {
        JOIN_AS(kind_of(p->t.l), join_row_as, p, &r, sizeof(int32_t))
    } else
        join_row_as(p, WF_BOOL, &r, points->at.size);
}

/* Joins the values of all points with the elements of part i of the block, one for each thread. */
static void join_part(void *user, int64_t i, int worker)
{
    const scatter *s = user;
    WF__UNUSED(worker);
    for (int k = 0; k < s->loads; ++k) {
        const load *l = &s->load[k];
        const int64_t each = (l->own + s->threads - 1) / s->threads, first = wf__least(i * each, l->own);
        part p = { .s = s, .t = { .l = l, .first = first }, .n = wf__least(each, l->own - first) };
        if (l->own == (int64_t)l->array.elements && (l->wide || l->array.axes == 1)) { /* positions are numbers */
            p.step = l->wide ? (int64_t)sizeof(float) : l->array.axis->stride * (int64_t)l->array.size;
            p.base = (char *)((uintptr_t)(l->wide ? l->wide : l->array.base) + (uintptr_t)(first * p.step));
        }
        begin_wide(l, first, p.n);
        for (int64_t range = 0; p.n && range < l->points.ranges; ++range)
            wf__points_walk(&l->points, l->points.first + range, join_row, &p);
        end_wide(l, first, p.n);
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

/* Returns the bytes of the number of a point in the records of a stage. */
static size_t key_of(const wf__stage *stage)
{
    const wf__division *division = &stage->division;
    uint64_t points = 1;
    bool outer = false, apart = false; /* apart: points of a rank are not consecutive */
    for (int d = 0; d < stage->space.rank; ++d) {
        apart = apart || (outer && division->along[d] && stage->space.dim[d] > 1);
        outer = outer || stage->space.dim[d] > 1;
        points *= (uint64_t)stage->space.dim[d];
    }
    return !apart || !stage->gather->in_order ? 0 : points <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* Describes a stage. False = out of memory. */
static bool add_load(scatter *s, const wf__stage *stage)
{
    const wf__gathered *how = stage->gather;
    load *l = &s->load[s->loads++];
    *l = (load){ .points = wf__points_of(s->run, stage),
                 .dtype = dtype_of(stage, how->from),
                 .bucket = s->buckets,
                 .key = s->sends ? key_of(stage) : 0 };
    if (!wf__asked_begin(&l->array, how, s->others->rank, s->run->base[how->from], wf__size(l->dtype)))
        return false;
    cut_blocks(s, l);
    l->own = wf__asked_block(&l->array, s->others->rank);
    if (how->in_order && wf__is_half(l->dtype)) {
        l->wide_bytes = (size_t)l->own * sizeof(float) + 1;
        l->wide = wf__mem_alloc(s->run->engine->memory, l->wide_bytes);
        if (!l->wide)
            return false;
    }
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
    for (uint32_t k = 0; ok && k < step->count && !s->stream; ++k)
        if (s->load[k].key)
            ok = (s->stream = wf__alloc((size_t)s->threads * ranks * sizeof *s->stream)) != NULL;
    return ok && s->mine.n && s->theirs.n && s->cursor;
}

static void end(scatter *s)
{
    for (int k = 0; k < s->loads; ++k) {
        wf__asked_end(&s->load[k].array);
        wf__mem_free(s->run->engine->memory, s->load[k].wide, s->load[k].wide_bytes);
    }
    wf__mem_free(s->run->engine->memory, s->mine.at, s->mine.all + 1);
    wf__mem_free(s->run->engine->memory, s->theirs.at, s->theirs.all + 1);
    wf__free(s->mine.n);
    wf__free(s->theirs.n);
    wf__free(s->load);
    wf__free(s->cursor);
    wf__free(s->cursors_of);
    wf__free(s->stream);
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
    return wf__ranks_go_on(s->others, ok ? WF_OK : failed, f) && ok;
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
    if (!s->sends) {
        if (ok)
            wf__pool_run_on(s->run->engine->pool, s->threads, s->threads, join_part, s);
        return ok;
    }
    ok = ok && sort(s, f);
    if (!go_on(s, ok, f) || !exchange(s, f))
        return false;
    wf__pool_run_on(s->run->engine->pool, s->threads, s->slices, join_slice, s);
    return true;
}

bool wf__run_scatter(const wf__run *r, const wf__plan_step *step)
{
    const wf__stage *main = &r->plan->stage[step->main];
    static const wf__others none = { .ranks = 1 };
    scatter s = { .run = r, .others = r->others ? r->others : &none, .sends = main->division.axes != 0 };
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
