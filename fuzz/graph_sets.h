/* graph_sets.h - for fuzz_graph.c: further sets of the arrays of a recording, each in two contexts, with other
 * contents, layouts and sizes and with arrays in each other's memory; and work on arrays between two launches.
 */
#ifndef WEFT_GRAPH_SETS_H
#define WEFT_GRAPH_SETS_H
#include "graph_eval.h"
#include "weft/functions.h"

enum { ORACLE, TESTED, SIDES };

typedef struct fz_side { /* the arrays of one context */
    wf_context *ctx;
    fz_setup set;
    wf_array *kept[MOST_KEPT];   /* results; the first recording that has them makes them */
    wf_array *copy;              /* a copy of an array, while it lives */
    fz_buffer more[MOST_ARRAYS]; /* buffers of arrays that are not in the buffer of the first set */
    int more_n;
} fz_side;

/* The differences of a set from the first one. */
typedef struct fz_change {
    int64_t times, plus; /* extents n above 1 become n times + plus, so that equal ones, and no others, stay equal */
    bool layout;         /* another layout */
    bool apart;          /* two arrays of one buffer get a buffer each */
    bool repeats;        /* arrays that are only read become broadcast views */
    unsigned meet;       /* 1: an array takes the place of another one; 2: it is in the same buffer */
    fz_reader in;        /* decisions on details */
} fz_change;

typedef struct fz_both {
    fz_side side[SIDES];
    bool made, resized;
    bool alike;                 /* only contents may differ from the first set */
    uint8_t kept_as[MOST_KEPT]; /* this result goes to array kept_as - 1, if it fits; 0: to a new one */
} fz_both;

/* The knowledge about arrays that recording gives. */
typedef struct fz_known {
    const fz_setup *set; /* after recording: which array writes which buffer */
    bool any_overlap;    /* the recording is right however its arrays overlap */
    uint32_t written;    /* arrays */
} fz_known;

/* ---- changes ---- */
static int64_t resized(const fz_change *c, int64_t n) { return n > 1 ? n * c->times + c->plus : n; }

static wf_shape resized_shape(const fz_change *c, wf_shape shape)
{
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = resized(c, shape.dim[d]);
    return shape;
}

/* Returns the largest shape that values of these arrays get by broadcasting. */
static wf_shape largest_shape(const fz_setup *set)
{
    wf_shape most = { 0 };
    for (int k = 0; k < set->arrays; ++k) {
        const wf_shape *shape = &set->array[k].shape;
        while (most.rank < shape->rank) {
            memmove(most.dim + 1, most.dim, sizeof most.dim - sizeof *most.dim);
            most.dim[0] = 1;
            ++most.rank;
        }
        for (int d = 0, at = most.rank - shape->rank; d < shape->rank; ++d, ++at)
            most.dim[at] = shape->dim[d] > most.dim[at] ? shape->dim[d] : most.dim[at];
    }
    return most;
}

/* True if extents above 1 stay above 1, and the number of points does not change what is recorded. */
static bool may_resize(const fz_setup *set, const fz_change *c)
{
    wf_shape largest = set->kind == KIND_ARRAYS ? largest_shape(set) : set->space, then = resized_shape(c, largest);
    bool ok = few_points(&then) && few_points(&largest);
    for (int b = 0; b < set->buffers; ++b)
        for (int d = 0; d < set->buffer[b].shape.rank; ++d)
            ok = ok && (set->buffer[b].shape.dim[d] < 2 || resized(c, set->buffer[b].shape.dim[d]) > 1);
    return ok;
}

static fz_change choose_change(fz_reader *in, const fz_setup *set, bool resizes)
{
    static const int8_t times[] = { 1, 1, 2, 1, 2 }, plus[] = { 1, 3, 0, -1, -1 };
    fz_change c = { .times = 1 };
    unsigned form = fz_take(in, 8);
    if (resizes && fz_take(in, 2)) {
        unsigned k = fz_take(in, FZ_COUNT(times));
        c.times = times[k];
        c.plus = plus[k];
    }
    if (!may_resize(set, &c)) {
        c.times = 1;
        c.plus = 0;
    }
    c.layout = form > 2;
    c.apart = form == 4;
    c.repeats = form == 5;
    c.meet = form == 6 ? 1 : form == 7 ? 1 + fz_take(in, 2) : 0;
    c.in = *in;
    for (unsigned skip = c.layout ? 9 : 2; skip > 0; --skip) /* so that the next change has other details */
        fz_take(in, 2);
    c.in.random = fz_next(&in->random);
    return c;
}

/* ---- sets ---- */
/* Returns the first array whose memory array k can take; or k itself. */
static int partner_of(const fz_setup *set, const fz_known *known, int k)
{
    const fz_array *a = &set->array[k];
    bool written = known->set->buffer[a->buffer].writer != 0;
    for (int i = 0; i < k; ++i) {
        const fz_array *other = &set->array[i];
        bool fits = other->dtype == a->dtype && fz_same_shape(&other->shape, &a->shape);
        if (fits && (known->any_overlap || (!written && !known->set->buffer[other->buffer].writer)))
            return i;
    }
    return k;
}

/* Replaces the array; recordings go on to decide by its first buffer. */
static void put(fz_array *a, wf_array *with)
{
    wf_release(a->a);
    a->a = with;
}

static void meet(fz_setup *set, const fz_known *known, fz_change *c)
{
    for (int k = 1; k < set->arrays; ++k) {
        int with = partner_of(set, known, k);
        const fz_array *other = &set->array[with];
        if (with == k || fz_take(&c->in, 3) == 0)
            continue;
        if (c->meet == 1)
            put(&set->array[k], wf_retain(other->a));
        else {
            const fz_buffer *b = &set->buffer[other->buffer];
            fz_choose_start(&c->in, b, &set->array[k]);
            put(&set->array[k], fz_inside(b, b->whole, set->array[k].start, set->array[k].back));
        }
    }
}

/* Replaces the array by a view that repeats one row. */
static void repeat_row(fz_array *a)
{
    int d = 0;
    while (d < a->shape.rank && a->shape.dim[d] < 2)
        ++d;
    if (d == a->shape.rank || !fz_points(&a->shape))
        return;
    wf_array *row = wf_view_slice(a->a, d, 0, 1, 1);
    put(a, wf_view_broadcast(row, a->shape));
    wf_release(row);
    if (!a->a)
        abort();
}

static void make_buffer(wf_context *ctx, fz_change *c, fz_buffer *b, uint64_t seed)
{
    b->shape = resized_shape(c, b->shape);
    b->writer = b->read = 0;
    if (c->layout)
        fz_choose_layout(&c->in, b);
    fz_fill(ctx, b, seed);
}

/* Returns the buffer for array k: a second array of a buffer may get its own. */
static const fz_buffer *buffer_for(fz_side *side, fz_change *c, int k)
{
    const fz_buffer *was = &side->set.buffer[side->set.array[k].buffer];
    bool shared = false;
    for (int i = 0; i < k; ++i)
        shared = shared || side->set.array[i].buffer == side->set.array[k].buffer;
    if (!c->apart || !shared)
        return was;
    fz_buffer *b = &side->more[side->more_n++];
    *b = *was;
    fz_fill(side->ctx, b, fz_next(&c->in.random));
    return b;
}

/* Makes the arrays of a side; the change makes all decisions, so both sides are alike. */
static void make_side(fz_side *side, const fz_setup *first, const fz_known *known, fz_change c)
{
    fz_setup *set = &side->set;
    *set = *first;
    set->space = resized_shape(&c, first->space);
    for (int b = 0; b < set->buffers; ++b)
        make_buffer(side->ctx, &c, &set->buffer[b], fz_next(&c.in.random));
    for (int k = 0; k < set->arrays; ++k) {
        fz_array *a = &set->array[k];
        const fz_buffer *b = buffer_for(side, &c, k);
        a->shape = b->shape;
        if (c.layout)
            fz_choose_start(&c.in, b, a);
        a->a = fz_inside(b, b->whole, a->start, a->back);
        a->old = NULL;
        if (c.repeats && !(known->written >> k & 1) && fz_take(&c.in, 2))
            repeat_row(a);
    }
    if (c.meet)
        meet(set, known, &c);
}

static void make_both(fz_both *both, const fz_setup *first, const fz_known *known, const fz_change *c)
{
    fz_change use = *c;
    for (int s = 0; s < SIDES; ++s)
        make_side(&both->side[s], first, known, *c);
    both->made = true;
    both->resized = !fz_same_shape(&both->side[0].set.space, &first->space);
    for (int b = 0; b < first->buffers; ++b)
        both->resized = both->resized || !fz_same_shape(&both->side[0].set.buffer[b].shape, &first->buffer[b].shape);
    both->alike = !c->layout && !c->meet && !c->apart && !c->repeats && !both->resized;
    for (int k = 0; k < MOST_KEPT && c->meet && known->any_overlap; ++k)
        both->kept_as[k] = (uint8_t)fz_take(&use.in, (unsigned)first->arrays + 1);
}

static void free_both(fz_both *both)
{
    for (int s = 0; s < SIDES && both->made; ++s) {
        fz_side *side = &both->side[s];
        fz_free_arrays(&side->set);
        for (int k = 0; k < MOST_KEPT; ++k)
            wf_release(side->kept[k]);
        for (int b = 0; b < side->more_n; ++b) {
            wf_release(side->more[b].whole);
            wf_release(side->more[b].old);
        }
        side->more_n = 0;
        wf_release(side->copy);
        memset(side->kept, 0, sizeof side->kept);
        side->copy = NULL;
    }
    both->made = false;
}

/* ---- what they hold ---- */
static void collect_side(const fz_side *side, fz_result *out)
{
    for (int b = 0; b < side->set.buffers; ++b)
        fz_collect(side->ctx, out, side->set.buffer[b].whole);
    for (int b = 0; b < side->more_n; ++b)
        fz_collect(side->ctx, out, side->more[b].whole);
    for (int k = 0; k < MOST_KEPT; ++k)
        if (side->kept[k])
            fz_collect(side->ctx, out, side->kept[k]);
    if (side->copy)
        fz_collect(side->ctx, out, side->copy);
}

static void expect_both_same(const fz_both *both, const char *what)
{
    fz_result result[SIDES] = { 0 };
    for (int s = 0; s < SIDES; ++s)
        collect_side(&both->side[s], &result[s]);
    fz_expect_same(&result[ORACLE], &result[TESTED], what);
    for (int s = 0; s < SIDES; ++s)
        fz_result_free(&result[s]);
}

/* ---- between launches ---- */
static void must(wf_context *ctx, bool ok)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", wf_last_message(ctx));
    abort();
}

static void give_contents(wf_context *ctx, wf_array *a, uint64_t random)
{
    fz_buffer other = { .dtype = wf_array_dtype(a), .shape = wf_array_shape(a) };
    for (int d = 0; d < other.shape.rank; ++d) {
        other.order[d] = d;
        other.step[d] = 1;
    }
    fz_fill(ctx, &other, random);
    size_t bytes = (size_t)wf_array_count(a) * wf_dtype_size(other.dtype);
    void *data = malloc(bytes + 1);
    must(ctx, data && wf_download(other.whole, data, bytes) == WF_OK && wf_upload(a, data, bytes) == WF_OK);
    free(data);
    wf_release(other.whole);
    wf_release(other.old);
}

/* Changes the elements by a recording, which is queued in the stream if there is one. */
static void flip(wf_context *ctx, wf_stream *stream, wf_array *a)
{
    wf_graph *g = wf_begin(ctx, .stream = stream);
    wf_out(g, a, wf_cast(wf_eq(wf_in(g, a), 0), wf_array_dtype(a)));
    must(ctx, wf_run(g) == WF_OK);
}

static bool is_repeated(const fz_side *side, int k)
{
    return wf_array_count(side->set.array[k].a) > 1 && side->set.array[k].a->read_only;
}

/* Replaces array k by a copy, which shares its memory until one of them is written. */
static void borrow(fz_side *side, int k)
{
    wf_array *copy = side->more_n < MOST_ARRAYS ? wf_copy(side->set.array[k].a) : wf_retain(side->set.array[k].a);
    must(side->ctx, copy != NULL);
    if (side->more_n < MOST_ARRAYS)
        side->more[side->more_n++] = (fz_buffer){ .whole = wf_retain(copy) };
    put(&side->set.array[k], copy);
}

/* Does other work on the arrays; `other`: they may be replaced. */
static void disturb(fz_both *both, fz_reader *in, wf_stream *stream, bool other)
{
    unsigned form = fz_take(in, 11), k = fz_take(in, (unsigned)both->side[0].set.arrays);
    uint64_t random = fz_next(&in->random);
    for (int s = 0; s < SIDES; ++s) {
        fz_side *side = &both->side[s];
        wf_array *a = side->set.array[k].a;
        const fz_buffer *b = &side->set.buffer[side->set.array[k].buffer];
        bool writes = !is_repeated(side, (int)k);
        if (form == 0)
            give_contents(side->ctx, b->whole, random);
        else if (form == 1 && writes)
            must(side->ctx, wf_array_fill(a, (double)(random & 1)) == WF_OK);
        else if (form == 2 && writes)
            flip(side->ctx, s == TESTED ? stream : NULL, a);
        else if (form > 8 && other)
            borrow(side, (int)k);
        else if ((form == 3 || form > 6) && !side->copy) /* a copy of the memory, or of a part */
            must(side->ctx, (side->copy = wf_copy(random & 1 ? b->whole : a)) != NULL);
        else if (form == 4 && side->copy)
            flip(side->ctx, s == TESTED ? stream : NULL, side->copy);
        else if (form == 5) {
            wf_release(side->copy);
            side->copy = NULL;
        }
    }
    both->alike = both->alike && !(form > 8 && other);
}
#endif
