/* gather.c - see gather.h. Each rank has the positions of elements for its points. It reads those of its own block, and asks
 * the ranks that have the others, for all loads of a step at once (gather_messages.h).
 *
 * An element that several points or several loads of an array read is asked for once: a bitmap of each block of another rank
 * says which elements are wanted, and where an element is among the answers, which follow the order of the bitmap. Where the
 * wanted elements are so few that a bitmap takes more memory than their numbers, they are in a list instead, in the order in
 * which the points are walked; of equal ones that follow each other in it, there is one.
 *
 * Threads share the points in ranges. A range of a list has consecutive entries of it, so the answers lie where the range
 * finds them when it walks its points again in the same order.
 */
#include "run/cpu/gather.h"
#include "run/cpu/boxes.h"
#include "run/cpu/gather_messages.h"
#include "run/cpu/join_ranks.h"
#include "run/cpu/point_ranges.h"

enum { RANGE = 1 << 14, BITS = 64 };

typedef struct load {
    int array;
    wf__points points;
} load;

typedef struct word { /* of a bitmap */
    _Atomic uint64_t bits;
    uint64_t before; /* bits that are set in the words before it */
} word;

typedef struct wanted {   /* elements of a block of another rank */
    int64_t first, words; /* the bitmap: number of its first bit, a multiple of BITS, and its words */
    word *word;           /* NULL = a list */
    uint64_t *list;       /* [n] numbers */
    int64_t n;            /* elements */
    const char *answer;   /* [n] */
} wanted;

typedef struct cursor {  /* of a range, in the list for a block */
    int64_t last;        /* number of the entry before; -1 = none */
    int64_t lo, hi;      /* bounds of all numbers */
    int64_t first, next; /* the first entry of the range, and the next one */
} cursor;

typedef struct gather {
    const wf__run *run;
    const wf__others *others;
    int ranks, threads;
    load *load; /* [loads] */
    int loads;
    wf__asked_array *array; /* [arrays] */
    int arrays;
    wanted *wanted;      /* [ranks][arrays] */
    cursor *cursor;      /* [ranges][ranks] */
    uint64_t *others_of; /* [ranges][RANGE / BITS] a bit for each point: its element is that of another rank */
    int64_t ranges;
    char *bitmaps; /* memory of bitmaps and lists */
    size_t bitmap_bytes;
    wf__asking asking;
} gather;

static wanted *wanted_of(const gather *g, int owner, int array) { return &g->wanted[owner * g->arrays + array]; }

/* ---- walks over the points of a range ---- */
typedef struct row { /* n points of a load */
    const gather *g;
    const load *load;
    int64_t range;
    const char *at;
    char *to;
    int64_t first;               /* number of the first point in its range */
    int64_t n, at_step, to_step; /* bytes from point to point */
} row;

static cursor *cursor_of(const row *r, int owner) { return &r->g->cursor[r->range * r->g->ranks + owner]; }

/* Returns the entry of an element in the list of its block, which is a new one unless the last one is the same. */
static inline int64_t entry_of(cursor *c, int64_t number)
{
    c->next += c->last != number;
    c->last = number;
    return c->next - 1;
}

static inline word *word_of(const wanted *w, int64_t number) { return &w->word[(number - w->first) / BITS]; }

/* Points of a row, in two kinds: those whose element this rank has, and those whose element another rank has. Walks treat each
 * kind in a loop of its own, which waits for no branch and for no element before the next one is asked for. */
enum { SOME = 128 };
typedef struct some {
    int own, others;
    int32_t own_point[SOME], others_point[SOME];
    int64_t own_offset[SOME], others_at[SOME]; /* offsets of elements; positions */
    int owner[SOME];                           /* of others: the rank that gives the element */
    int64_t number[SOME];                      /* and its number in the block of that rank */
} some;

/* True if all of n <= SOME points have an element of this rank, and if that is easily seen. */
static inline bool all_own(const wf__asked_array *a, const char *at, int64_t step, size_t at_size, int64_t n)
{
    const int64_t lo = a->axis->lo, hi = a->axis->hi;
    int32_t own = 0;
    if (a->axes > 1 || !a->gives || step != (int64_t)at_size)
        return false;
    if (at_size == sizeof(int32_t)) /* as in four bytes, which processors compare several of at once */
        for (int64_t i = 0; i < n; ++i) {
            const int32_t x = (int32_t)wf__point_position(at + (size_t)i * at_size, at_size);
            own += (x >= (int32_t)lo) & (x < (int32_t)hi);
        }
    else
        for (int64_t i = 0; i < n; ++i) {
            const int64_t x = wf__point_position(at + (size_t)i * at_size, at_size);
            own += (x >= lo) & (x < hi);
        }
    return own == n;
}

/* Copies the elements of points that are all own ones. */
static inline void copy_own(const row *r, const wf__asked_array *a, const char *at, char *to, size_t at_size, int64_t n,
                            size_t size)
{
    const char *base = a->base;
    const int64_t stride = a->axis->stride * (int64_t)size, to_step = r->to_step;
    for (int64_t i = 0; i < n; ++i)
        wf__asked_move(to + i * to_step,
                       (const char *)((uintptr_t)base +
                                      (uintptr_t)(wf__point_position(at + (size_t)i * at_size, at_size) * stride)),
                       size);
}

/* Sorts n <= SOME points by kind. axes: of the array. */
static inline void sort(const wf__asked_array *a, int axes, const char *at, int64_t step, size_t at_size, int64_t n,
                        some *out)
{
    const uint64_t elements = a->elements;
    const int64_t lo = a->gives ? a->axis->lo : 0, hi = a->gives ? a->axis->hi : 0, stride = a->axis->stride;
    int own = 0, others = 0;
    for (int64_t i = 0; i < n; ++i, at += step) {
        const int64_t x = wf__point_position(at, at_size);
        if ((uint64_t)x >= elements)
            continue;
        bool is_own;
        if (axes == 1) {
            is_own = x >= lo && x < hi;
            out->own_offset[own] = x * stride;
        } else
            is_own = wf__asked_is_own(a, x, &out->own_offset[own]);
        out->own_point[own] = (int32_t)i;
        out->others_point[others] = (int32_t)i;
        out->others_at[others] = x;
        own += is_own;
        others += !is_own;
    }
    out->own = own;
    out->others = others;
}

/* Finds which rank gives each element of others, and its number. */
static inline void find_owners(const row *r, some *s)
{
    const wf__asked_array *a = &r->g->array[r->load->array];
    const bool one_axis = a->axes == 1 && a->axis->begin;
    int64_t lo = 0, hi = 0; /* of the block of the last owner, where there is one axis */
    int owner = 0;
    for (int k = 0; k < s->others; ++k) {
        const int64_t at = s->others_at[k];
        if (one_axis && at >= lo && at < hi) {
            s->number[k] = at - lo;
        } else {
            owner = wf__asked_owner(a, at, &s->number[k]);
            lo = at - s->number[k];
            hi = one_axis ? lo + wf__asked_block(a, owner) : lo;
        }
        s->owner[k] = owner;
    }
}

/* Asks for the words of bitmaps before they are used. */
static inline void prefetch_words(const row *r, const some *s)
{
    for (int k = 0; k < s->others; ++k) {
        const wanted *w = wanted_of(r->g, s->owner[k], r->load->array);
        if (w->word)
            __builtin_prefetch(word_of(w, s->number[k]));
    }
}

/* Counts the elements of other ranks, and finds the bounds of their numbers. */
static void count_some(const row *r, const some *s)
{
    for (int k = 0; k < s->others; ++k) {
        cursor *c = cursor_of(r, s->owner[k]);
        const int64_t number = s->number[k];
        entry_of(c, number);
        c->lo = number < c->lo ? number : c->lo;
        c->hi = number > c->hi ? number : c->hi;
    }
}

/* Notes the elements of other ranks. */
static void want_some(const row *r, const some *s)
{
    const bool alone = r->g->threads == 1;
    for (int k = 0; k < s->others; ++k) {
        const int64_t number = s->number[k];
        const wanted *w = wanted_of(r->g, s->owner[k], r->load->array);
        if (!w->word) {
            w->list[entry_of(cursor_of(r, s->owner[k]), number)] = (uint64_t)number;
            continue;
        }
        _Atomic uint64_t *bits = &word_of(w, number)->bits;
        const uint64_t bit = UINT64_C(1) << number % BITS, old = atomic_load_explicit(bits, memory_order_relaxed);
        if (alone)
            atomic_store_explicit(bits, old | bit, memory_order_relaxed);
        else if (!(old & bit))
            atomic_fetch_or_explicit(bits, bit, memory_order_relaxed);
    }
}

/* Sets the points whose element another rank has. */
static inline void set_some(const row *r, const some *s, char *to, size_t size)
{
    const char *answer[SOME];
    for (int k = 0; k < s->others; ++k) {
        const int64_t number = s->number[k];
        const wanted *w = wanted_of(r->g, s->owner[k], r->load->array);
        int64_t entry;
        if (w->word) {
            const word *found = word_of(w, number);
            const uint64_t bits = atomic_load_explicit(&found->bits, memory_order_relaxed);
            entry = (int64_t)found->before + wf__bits_set(bits & ((UINT64_C(1) << number % BITS) - 1));
        } else
            entry = entry_of(cursor_of(r, s->owner[k]), number);
        answer[k] = w->answer + (size_t)entry * size;
        __builtin_prefetch(answer[k]);
    }
    for (int k = 0; k < s->others; ++k)
        wf__asked_move(to + s->others_point[k] * r->to_step, answer[k], size);
}

/* Sets the points without an element, and those whose element this rank has, which may replace the positions. */
static inline void set_own(const row *r, const some *s, const char *at, char *to, int64_t n, size_t size)
{
    const wf__asked_array *a = &r->g->array[r->load->array];
    for (int64_t i = 0; i < n && s->own + s->others < n; ++i)
        if ((uint64_t)wf__point_position(at + i * r->at_step, r->load->points.at.size) >= a->elements)
            memset(to + i * r->to_step, 0, size);
    for (int k = 0; k < s->own; ++k)
        wf__asked_move(to + s->own_point[k] * r->to_step, wf__asked_element(a, s->own_offset[k]), size);
}

/* ---- points whose element is that of another rank ---- */
/* Elements may take over the memory of positions, so that these tell others from own points no more once own ones are set. */
static uint64_t *bits_of_range(const row *r) { return r->g->others_of + r->range * (RANGE / BITS); }

/* first: number of the first point in its range. */
static inline void note_others(const row *r, int64_t first, const some *s)
{
    uint64_t *bits = bits_of_range(r);
    for (int k = 0; k < s->others; ++k) {
        const int64_t point = first + s->others_point[k];
        bits[point / BITS] |= UINT64_C(1) << point % BITS;
    }
}

/* Finds those of n <= SOME points again. */
static inline void find_noted(const row *r, int64_t first, const char *at, size_t at_size, int64_t n, some *out)
{
    const uint64_t *bits = bits_of_range(r);
    int others = 0;
    for (int64_t k = first / BITS; k * BITS < first + n; ++k)
        for (uint64_t left = bits[k]; left; left &= left - 1) {
            const int64_t point = k * BITS + __builtin_ctzll(left) - first;
            if (point < 0 || point >= n)
                continue;
            out->others_point[others] = (int32_t)point;
            out->others_at[others++] = wf__point_position(at + point * r->at_step, at_size);
        }
    out->others = others;
}

typedef enum purpose { COUNT, OWN, OTHERS } purpose; /* of a walk */

static inline void walk_row(const row *r, purpose why, size_t at_size, size_t size)
{
    const wf__asked_array *a = &r->g->array[r->load->array];
    const char *at = r->at;
    char *to = r->to;
    some s;
    for (int64_t done = 0, n; done < r->n; done += n, at += n * r->at_step, to += n * r->to_step) {
        n = wf__least(r->n - done, SOME);
        if (why == OTHERS) {
            find_noted(r, r->first + done, at, at_size, n, &s);
            find_owners(r, &s);
            prefetch_words(r, &s);
            set_some(r, &s, to, size);
            continue;
        }
        if (all_own(a, at, r->at_step, at_size, n)) {
            if (why == OWN)
                copy_own(r, a, at, to, at_size, n, size);
            continue;
        }
        if (a->axes == 1)
            sort(a, 1, at, r->at_step, at_size, n, &s);
        else
            sort(a, a->axes, at, r->at_step, at_size, n, &s);
        find_owners(r, &s);
        if (why == COUNT)
            count_some(r, &s);
        else {
            prefetch_words(r, &s);
            want_some(r, &s);
            note_others(r, r->first + done, &s);
            set_own(r, &s, at, to, n, size);
        }
    }
}

/* The most frequent sizes of positions and elements have code of their own. */
static void walk_row_of_size(const row *r, purpose why)
{
    if (r->load->points.at.size == 4 && r->load->points.value.size == 4)
        walk_row(r, why, 4, 4);
    else if (r->load->points.at.size == 4 && r->load->points.value.size == 8)
        walk_row(r, why, 4, 8);
    else
        walk_row(r, why, r->load->points.at.size, r->load->points.value.size);
}

typedef struct walk {
    row row;
    purpose why;
} walk;

static void walk_points(void *user, int64_t first, int64_t n, const char *at, char *value)
{
    walk *w = user;
    w->row.first = first;
    w->row.n = n;
    w->row.at = at;
    w->row.to = value;
    walk_row_of_size(&w->row, w->why);
}

typedef struct task {
    const gather *g;
    purpose why;
} task;

static void walk_range(void *user, int64_t range, int worker)
{
    const task *t = user;
    const load *l = t->g->load;
    WF__UNUSED(worker);
    while (range >= l->points.first + l->points.ranges)
        ++l;
    walk w = { .row = { .g = t->g,
                        .load = l,
                        .range = range,
                        .at_step = wf__point_step(&l->points, &l->points.at),
                        .to_step = wf__point_step(&l->points, &l->points.value) },
               .why = t->why };
    wf__points_walk(&l->points, range, walk_points, &w);
}

static void walk_all(const gather *g, purpose why)
{
    if (g->ranges)
        wf__pool_run_on(g->run->engine->pool, g->threads, g->ranges, walk_range, &(task){ g, why });
}

/* ---- what is wanted ---- */
/* True if bitmaps of all blocks of other ranks take less memory than the positions of all points. */
static bool is_dense(const gather *g, int array)
{
    int64_t points = 0, words = 0;
    for (int k = 0; k < g->loads; ++k)
        points += g->load[k].array == array ? g->load[k].points.n : 0;
    for (int r = 0; r < g->ranks; ++r)
        if (r != g->others->rank)
            words += wf__asked_block(&g->array[array], r) / BITS + 1;
    return words * (int64_t)sizeof(word) <= points * (int64_t)sizeof(int64_t);
}

/* Chooses a bitmap for a block, if it takes less memory than the list; else gives each range its entries of the list. */
static void choose_for(gather *g, int owner, int array)
{
    wanted *w = wanted_of(g, owner, array);
    int64_t lo = INT64_MAX, hi = -1;
    for (int k = 0; k < g->loads; ++k)
        for (int64_t i = 0; i < g->load[k].points.ranges && g->load[k].array == array; ++i) {
            cursor *c = &g->cursor[(g->load[k].points.first + i) * g->ranks + owner];
            lo = c->lo < lo ? c->lo : lo;
            hi = c->hi > hi ? c->hi : hi;
            c->first = w->n;
            w->n += c->next;
            c->last = -1;
            c->next = c->first;
        }
    if (!w->n)
        return;
    w->first = lo / BITS * BITS;
    w->words = (hi - w->first) / BITS + 1;
    if (w->words * (int64_t)sizeof(word) > w->n * (int64_t)sizeof *w->list)
        w->words = 0;
}

/* Chooses bitmaps or lists, and makes room for them. False = out of memory. */
static bool choose(gather *g)
{
    bool dense = true;
    for (int a = 0; a < g->arrays; ++a)
        dense = dense && is_dense(g, a);
    if (!dense)
        walk_all(g, COUNT);
    for (int k = 0; k < g->ranks * g->arrays; ++k) {
        wanted *w = &g->wanted[k];
        const int owner = k / g->arrays, array = k % g->arrays;
        if (!dense)
            choose_for(g, owner, array);
        else if (owner != g->others->rank)
            w->words = wf__asked_block(&g->array[array], owner) / BITS + 1;
        g->bitmap_bytes += w->words ? (size_t)w->words * sizeof(word) : (size_t)w->n * sizeof *w->list;
    }
    char *at = g->bitmaps = wf__mem_alloc(g->run->engine->memory, g->bitmap_bytes);
    for (int k = 0; at && k < g->ranks * g->arrays; ++k) {
        wanted *w = &g->wanted[k];
        const size_t bytes = (size_t)w->words * sizeof(word);
        w->list = w->words ? NULL : (uint64_t *)(void *)at;
        w->word = w->words ? memset(at, 0, bytes) : NULL;
        at += w->words ? bytes : (size_t)w->n * sizeof *w->list;
    }
    return g->bitmaps;
}

/* Numbers the elements of a bitmap, and asks for them by the part of it where bits are set, or by a list. */
static wf__ask ask_by_bitmap(wanted *w)
{
    int64_t first = w->words, end = 0;
    w->n = 0;
    for (int64_t k = 0; k < w->words; ++k) {
        word *x = &w->word[k];
        const uint64_t bits = atomic_load_explicit(&x->bits, memory_order_relaxed);
        x->before = (uint64_t)w->n;
        if (!bits)
            continue;
        w->n += wf__bits_set(bits);
        first = k < first ? k : first;
        end = k + 1;
    }
    return w->n ? (wf__ask){ .n = w->n, .words = wf__least(end - first, w->n), .first = w->first + first * BITS }
                : (wf__ask){ 0 };
}

static void write_words(const wanted *w, const wf__ask *ask, uint64_t *to)
{
    const word *from = w->word ? w->word + (ask->first - w->first) / BITS : NULL;
    if (!from && ask->n)
        memcpy(to, w->list, (size_t)ask->n * sizeof *to);
    else if (ask->words < ask->n)
        for (int64_t k = 0; k < ask->words; ++k)
            to[k] = atomic_load_explicit(&from[k].bits, memory_order_relaxed);
    else
        for (int64_t k = 0, n = 0; n < ask->n; ++k)
            for (uint64_t bits = atomic_load_explicit(&from[k].bits, memory_order_relaxed); bits; bits &= bits - 1)
                to[n++] = (uint64_t)(ask->first + k * BITS + __builtin_ctzll(bits));
}

/* Writes what this rank asks for. False = out of memory. */
static bool ask(gather *g)
{
    wf__asks *mine = &g->asking.mine;
    for (int k = 0; k < g->ranks * g->arrays; ++k) {
        wanted *w = &g->wanted[k];
        mine->of[k] = w->word ? ask_by_bitmap(w) : (wf__ask){ .n = w->n, .words = w->n };
    }
    if (!wf__asking_lay(&g->asking))
        return false;
    uint64_t *to = mine->word;
    const char *answer = mine->element;
    for (int k = 0; k < g->ranks * g->arrays; ++k) {
        write_words(&g->wanted[k], &mine->of[k], to);
        g->wanted[k].answer = answer;
        to += mine->of[k].words;
        answer += (size_t)mine->of[k].n * g->array[k % g->arrays].size;
    }
    return true;
}

/* ---- a step ---- */
/* Describes a load, and its array unless another load has the same. False = out of memory. */
static bool add_load(gather *g, const wf__stage *stage)
{
    const wf__gathered *how = stage->gather;
    load *l = &g->load[g->loads++];
    *l = (load){ .points = wf__points_of(g->run, stage) };
    g->ranges = wf__points_cut(&l->points, g->ranges, RANGE);
    while (l->array < g->arrays &&
           (g->array[l->array].object != how->from || g->array[l->array].size != l->points.value.size))
        ++l->array;
    if (l->array < g->arrays)
        return true;
    ++g->arrays;
    return wf__asked_begin(&g->array[l->array], how, g->others->rank, g->run->base[how->from], l->points.value.size);
}

/* Finds the points of this rank, and the memory for what it tells others. False = out of memory. */
static bool begin(gather *g, const wf__plan_step *step)
{
    const wf__run *r = g->run;
    bool ok = true;
    g->ranks = g->others->ranks;
    g->threads = r->interpret ? 1 : wf__threads_of(r->engine, r->limits);
    g->load = wf__alloc(step->count * sizeof *g->load);
    g->array = wf__alloc0(step->count * sizeof *g->array);
    if (!g->load || !g->array)
        return false;
    for (uint32_t k = 0; ok && k < step->count; ++k)
        ok = add_load(g, &r->plan->stage[step->first + k]);
    if (!ok)
        return false;
    g->wanted = wf__alloc0((size_t)(g->ranks * g->arrays) * sizeof *g->wanted);
    g->cursor = wf__alloc((size_t)g->ranges * (size_t)g->ranks * sizeof *g->cursor + 1);
    g->others_of = wf__alloc0((size_t)g->ranges * (RANGE / BITS) * sizeof *g->others_of + 1);
    for (int64_t i = 0; g->cursor && i < g->ranges * g->ranks; ++i)
        g->cursor[i] = (cursor){ .last = -1, .lo = INT64_MAX, .hi = -1 };
    g->asking =
        (wf__asking){ .run = r, .others = g->others, .array = g->array, .arrays = g->arrays, .threads = g->threads };
    return wf__asking_begin(&g->asking) && g->wanted && g->cursor && g->others_of;
}

static void end(gather *g)
{
    for (int a = 0; a < g->arrays; ++a)
        wf__asked_end(&g->array[a]);
    wf__mem_free(g->run->engine->memory, g->bitmaps, g->bitmap_bytes);
    if (g->asking.run)
        wf__asking_end(&g->asking);
    wf__free(g->load);
    wf__free(g->array);
    wf__free(g->wanted);
    wf__free(g->cursor);
    wf__free(g->others_of);
}

/* Sets the points whose elements this rank has, and asks for the others. */
static bool ask_others(gather *g, wf__failure *f)
{
    bool room = choose(g);
    if (room && !wf__is_cancelled(f))
        walk_all(g, OWN);
    if (wf__is_cancelled(f)) /* what is known of positions is not complete */
        return false;
    return (room && ask(g)) || wf__out_of_memory(f, "positions of elements that other ranks have");
}

/* Lists are walked from their begin again. */
static void rewind_lists(const gather *g)
{
    for (int64_t i = 0; i < g->ranges * g->ranks; ++i) {
        g->cursor[i].last = -1;
        g->cursor[i].next = g->cursor[i].first;
    }
}

static bool go_on(const gather *g, bool ok, wf__failure *f)
{
    const wf_status failed = f->status == WF_OK ? WF_ERR_BACKEND : f->status;
    return wf__ranks_go_on(g->others, ok ? WF_OK : failed, f) && ok;
}

static bool run(gather *g, const wf__plan_step *step, wf__failure *f)
{
    bool ok = !wf__is_cancelled(f) && (begin(g, step) || wf__out_of_memory(f, "a gather of elements of other ranks"));
    ok = ok && ask_others(g, f);
    if (!go_on(g, ok, f) || !wf__asking_tell(&g->asking, f))
        return false;
    ok = wf__asking_lay_others(&g->asking) || wf__out_of_memory(f, "elements that other ranks ask for");
    if (!go_on(g, ok, f) || !wf__asking_exchange(&g->asking, f))
        return false;
    rewind_lists(g);
    walk_all(g, OTHERS);
    return true;
}

bool wf__run_gather(const wf__run *r, const wf__plan_step *step)
{
    gather g = { .run = r, .others = r->others };
    wf__note *note = r->notes ? &r->notes[step->first] : NULL;
    const double start = note ? wf__now() : 0;
    if (r->plan->stage[step->main].empty)
        return true;
    const bool ok = run(&g, step, r->failure);
    for (uint32_t k = 0; note && k < step->count; ++k) {
        note[k].ran = true;
        note[k].code = WF_CODE_LIBRARY;
        note[k].threads = g.threads;
        note[k].fused = k > 0;
    }
    if (note)
        note->run_s = wf__now() - start;
    atomic_fetch_add_explicit(&r->engine->evaluated, step->count, memory_order_relaxed);
    end(&g);
    return ok;
}
