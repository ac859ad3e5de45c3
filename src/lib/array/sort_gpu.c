/* sort_gpu.c - sorts rows of keys in a GPU's memory by digits of 8 bits, the lowest first. Each digit takes three
 * kernels:
 *
 *   split   a block of threads sorts a tile of 2048 keys in its scratch by the digit, two bits at a time, and notes
 *           where the keys of each digit begin in the tile and how many there are;
 *   scan    adds up these counts, by digit and then by tile, to the places of the keys in the row;
 *   move    moves the keys to these places.
 *
 * A row of one tile needs `split` only. A row of few keys needs one kernel in all, in which each key counts the keys
 * before it. All kernels are stable, so indices move along with the keys. Kernels are prepared once, and the digit is a
 * parameter. No extent is a constant of a kernel, so rows of another length use the same code.
 */
#include "keys.h"

enum {
    FEW = 64, /* the longest row that is sorted by counting */
    EACH = 8, /* keys per thread */
    LEAST_THREADS = 32,
    MOST_THREADS = 256,
    DIGIT = 8, /* bits of a digit */
    DIGITS = 1 << DIGIT,
    PART = 2,  /* bits that one step of `split` sorts by */
    FIELD = 16 /* bits of a count, of which 64 bits hold 1 << PART; a tile has fewer than 2^16 keys */
};

typedef struct sorter {
    wf_context *ctx;
    wf_device device;
    wf_dtype dtype, index_dtype; /* WF_NONE: no indices */
    int64_t rows, n, tiles;
    int tile, threads;           /* keys and threads of a block */
    wf_array *key[2], *index[2]; /* [rows, n]: the current ones, and the target of the next kernel */
    /* [rows, DIGITS * tiles]: number of keys of a digit in a tile, and their first place in the tile and in the row */
    wf_array *count, *start, *goes;
    wf_kernel *split, *scan, *move; /* scan and move: NULL if there is one tile */
} sorter;

static void swap_buffers(sorter *s)
{
    wf_array *key = s->key[0], *index = s->index[0];
    s->key[0] = s->key[1];
    s->key[1] = key;
    s->index[0] = s->index[1];
    s->index[1] = index;
}

static wf_graph *begin_kernel(const sorter *s, wf_shape space, wf_shape block)
{
    return wfl_begin(s->ctx, "sort", .shape = space, .block = block, .device = s->device);
}

static wf_status sort_few(const sorter *s)
{
    const wf_shape whole = { .rank = 0 };
    wf_graph *g = begin_kernel(s, WF_SHAPE(s->rows, s->n), whole);
    wf_val row = wf_index(g, 0), at = wf_index(g, 1), key = wf_in(g, s->key[0]), i;
    wf_var before = wf_local(g, WF_I64, 0);
    WF_FOR (g, i, 0, wf_extent(g, 1), 1) {
        wf_val other = wf_read(g, s->key[0], row, i);
        wf_inc(before, wf_cast(wf_or(wf_lt(other, key), wf_and(wf_eq(other, key), wf_lt(i, at))), WF_I64));
    }
    WF_END(g);
    wf_val to = wf_get(before);
    wf_write(g, s->key[1], key, row, to);
    if (s->index[1])
        wf_write(g, s->index[1], wf_cast(at, s->index_dtype), row, to);
    return wf_run(g);
}

/* ---- a tile ---- */
typedef struct tile {
    const sorter *s;
    wf_graph *g;
    wf_array *from, *key, *index, *sum; /* from: a formal; the others scratch: [tile], [tile] or NULL, [2, threads] */
    wf_val row, number, thread;         /* number: of the tile in the row; thread: in the block */
    wf_val first, n, shift;             /* first key of the tile; number of keys of the row; first bit of the digit */
} tile;

static wf_val digit_of(wf_val key, wf_val shift, int bits) { return wf_and(wf_shr(key, shift), (1 << bits) - 1); }

/* Returns the place of element i of a thread: neighbours in the block access neighbouring elements. */
static wf_val shared_place(const tile *t, int i) { return wf_add(t->thread, i * t->s->threads); }

/* Loads a tile. Places beyond the row's end get the largest key, so that they sort behind everything else. */
static void load_tile(const tile *t)
{
    wf_graph *g = t->g;
    wf_array *index = t->index ? wf_formal(g, "index", t->s->index_dtype, 2) : NULL;
    wf_val none = wf_not(wf_const(g, t->s->dtype, 0));
    for (int i = 0; i < EACH; ++i) {
        wf_val at = shared_place(t, i), place = wf_add(t->first, at);
        wf_write(g, t->key, wf_read_or(g, t->from, none, t->row, place), at);
        if (index)
            wf_write(g, t->index, wf_read_or(g, index, wf_const(g, t->s->index_dtype, 0), t->row, place), at);
    }
    wf_barrier(g);
}

static void store_tile(const tile *t)
{
    wf_graph *g = t->g;
    wf_array *to = wf_formal(g, "to", t->s->dtype, 2);
    wf_array *to_index = t->index ? wf_formal(g, "to index", t->s->index_dtype, 2) : NULL;
    for (int i = 0; i < EACH; ++i) {
        wf_val at = shared_place(t, i), place = wf_add(t->first, at);
        wf_val on = wf_lt(place, t->n);
        wf_write_if(g, on, to, wf_read(g, t->key, at), t->row, place);
        if (to_index)
            wf_write_if(g, on, to_index, wf_read(g, t->index, at), t->row, place);
    }
}

/* Returns the sum of `own` over the threads before this one; *all: over all threads. Each step doubles the distance
 * from which sums are added. */
static wf_val sum_before(const tile *t, wf_val own, wf_val *all)
{
    wf_graph *g = t->g;
    wf_val sum = own, none = wf_const(g, WF_U64, 0);
    int side = 0;
    wf_write(g, t->sum, sum, side, t->thread);
    for (int step = 1; step < t->s->threads; step *= 2) {
        wf_barrier(g);
        sum = wf_add(sum, wf_read_or(g, t->sum, none, side, wf_sub(t->thread, step)));
        side = !side;
        wf_write(g, t->sum, sum, side, t->thread);
    }
    wf_barrier(g);
    *all = wf_read(g, t->sum, side, t->s->threads - 1);
    return wf_sub(sum, own);
}

/* Sorts the tile by PART bits. A thread counts its EACH consecutive keys by digit; one 64-bit number holds all counts.
 */
static void split_tile(const tile *t, wf_val shift)
{
    wf_graph *g = t->g;
    wf_val key[EACH], index[EACH], field[EACH], one[EACH], own = wf_const(g, WF_U64, 0), all;
    for (int i = 0; i < EACH; ++i) {
        wf_val at = wf_add(wf_mul(t->thread, EACH), i);
        key[i] = wf_read(g, t->key, at);
        if (t->index)
            index[i] = wf_read(g, t->index, at);
        field[i] = wf_mul(wf_cast(digit_of(key[i], shift, PART), WF_U64), FIELD);
        one[i] = wf_shl(wf_const(g, WF_U64, 1), field[i]);
        own = wf_add(own, one[i]);
    }
    wf_val place = sum_before(t, own, &all);
    for (int digit = 1; digit < 1 << PART; ++digit) /* after all keys of lower digits */
        place = wf_add(place, wf_shl(all, digit * FIELD));
    for (int i = 0; i < EACH; ++i) {
        wf_val at = wf_cast(digit_of(place, field[i], FIELD), WF_I64);
        wf_write(g, t->key, key[i], at);
        if (t->index)
            wf_write(g, t->index, index[i], at);
        place = wf_add(place, one[i]);
    }
    wf_barrier(g);
}

/* Finds where the keys of each digit begin and how many there are, from the places where the digit changes. */
static void count_digits(const tile *t)
{
    wf_graph *g = t->g;
    const sorter *s = t->s;
    wf_array *first = wf_scratch(g, WF_U32, WF_SHAPE(DIGITS), true),
             *end = wf_scratch(g, WF_U32, WF_SHAPE(DIGITS), true);
    wf_val last = wf_sub(wf_min(wf_sub(t->n, t->first), s->tile), 1), digit;
    for (int i = 0; i < EACH; ++i) {
        wf_val at = shared_place(t, i), own = digit_of(wf_read(g, t->key, at), t->shift, DIGIT);
        wf_val before = digit_of(wf_read(g, t->key, wf_max(wf_sub(at, 1), 0)), t->shift, DIGIT);
        wf_val after = digit_of(wf_read(g, t->key, wf_min(wf_add(at, 1), last)), t->shift, DIGIT);
        wf_val begins = wf_or(wf_eq(at, 0), wf_ne(before, own)), ends = wf_or(wf_eq(at, last), wf_ne(after, own));
        wf_val on = wf_le(at, last), to = wf_cast(own, WF_I64);
        wf_write_if(g, wf_and(on, begins), first, wf_cast(at, WF_U32), to);
        wf_write_if(g, wf_and(on, ends), end, wf_cast(wf_add(at, 1), WF_U32), to);
    }
    wf_barrier(g);
    WF_FOR (g, digit, t->thread, DIGITS, s->threads) {
        wf_val start = wf_read(g, first, digit), to = wf_add(wf_mul(digit, wf_grid_size(g, 1)), t->number);
        wf_write(g, s->start, start, t->row, to);
        wf_write(g, s->count, wf_sub(wf_read(g, end, digit), start), t->row, to);
    }
    WF_END(g);
}

static wf_kernel *compile_split(const sorter *s)
{
    tile t = { .s = s, .g = begin_kernel(s, WF_SHAPE(s->rows, s->tiles * s->threads), WF_SHAPE(1, s->threads)) };
    t.from = wf_formal(t.g, "from", s->dtype, 2);
    t.key = wf_scratch(t.g, s->dtype, WF_SHAPE(s->tile), false);
    t.index = s->index_dtype ? wf_scratch(t.g, s->index_dtype, WF_SHAPE(s->tile), false) : NULL;
    t.sum = wf_scratch(t.g, WF_U64, WF_SHAPE(2, s->threads), false);
    t.row = wf_index(t.g, 0);
    t.number = wf_block_id(t.g, 1);
    t.thread = wf_thread_id(t.g, 1);
    t.first = wf_mul(t.number, s->tile);
    t.n = wf_dim(t.g, t.from, 1);
    t.shift = wf_param(t.g, "shift", s->dtype, 0);
    load_tile(&t);
    for (int part = 0; part < DIGIT; part += PART)
        split_tile(&t, wf_add(t.shift, part));
    if (s->tiles > 1)
        count_digits(&t);
    store_tile(&t);
    return wf_compile(t.g);
}

/* ---- several tiles ---- */
static wf_kernel *compile_scan(const sorter *s)
{
    wf_graph *g = wfl_begin(s->ctx, "sort: scan", .device = s->device);
    wf_out(g, s->goes, wf_scan(WF_JOIN_ADD, wf_in(g, s->count), 1, true, false));
    return wf_compile(g);
}

static wf_kernel *compile_move(const sorter *s)
{
    const wf_shape whole = { .rank = 0 };
    wf_graph *g = begin_kernel(s, WF_SHAPE(s->rows, s->n), whole);
    wf_array *from = wf_formal(g, "from", s->dtype, 2), *to = wf_formal(g, "to", s->dtype, 2);
    wf_val row = wf_index(g, 0), i = wf_index(g, 1), key = wf_read(g, from, row, i);
    wf_val digit = wf_cast(digit_of(key, wf_param(g, "shift", s->dtype, 0), DIGIT), WF_I64);
    wf_val number = wf_idiv(i, s->tile), tiles = wf_param(g, "tiles", WF_I64, (double)s->tiles);
    wf_val run = wf_add(wf_mul(digit, tiles), number);
    wf_val place = wf_sub(wf_sub(i, wf_mul(number, s->tile)), wf_cast(wf_read(g, s->start, row, run), WF_I64));
    place = wf_add(place, wf_cast(wf_read(g, s->goes, row, run), WF_I64));
    wf_write(g, to, key, row, place);
    if (s->index_dtype) {
        wf_array *index = wf_formal(g, "index", s->index_dtype, 2),
                 *to_index = wf_formal(g, "to index", s->index_dtype, 2);
        wf_write(g, to_index, wf_read(g, index, row, i), row, place);
    }
    return wf_compile(g);
}

static wf_status launch_kernel(sorter *s, const wf_kernel *kernel, int shift)
{
    const wf_arg arg[] = { WF_ARG("shift", shift), WF_ARG("from", s->key[0]), WF_ARG("to", s->key[1]),
                           WF_ARG("index", s->index[0]), WF_ARG("to index", s->index[1]) };
    const wf_args args = { arg, s->index_dtype ? 5 : 3 };
    wf_status status = wf_launch(kernel, args);
    swap_buffers(s);
    return status;
}

static wf_status sort_many(sorter *s, int bits)
{
    wf_status status = WF_OK;
    for (int shift = 0; status == WF_OK && shift < bits; shift += DIGIT) {
        status = launch_kernel(s, s->split, shift);
        if (status == WF_OK && s->scan)
            status = wf_launch(s->scan, WF_NO_ARGS);
        if (status == WF_OK && s->move)
            status = launch_kernel(s, s->move, shift);
    }
    return status;
}

/* ---- the whole sort ---- */
static wf_array *make_rows(const sorter *s, wf_dtype dtype, int64_t n)
{
    return wfl_array_beside(s->key[0], dtype, &WF_SHAPE(s->rows, n));
}

static wf_array *make_indices(const sorter *s)
{
    wf_graph *g = wfl_begin(s->ctx, NULL, .device = s->device);
    return wfl_array_run(g, wf_keep(wf_cast(wf_iota(g, WF_SHAPE(s->rows, s->n), 1), s->index_dtype)));
}

static bool prepare_kernels(sorter *s, bool few)
{
    s->key[1] = make_rows(s, s->dtype, s->n);
    if (s->index_dtype)
        s->index[1] = make_rows(s, s->index_dtype, s->n);
    if (!s->key[1] || (s->index_dtype && !s->index[1]) || few)
        return s->key[1] && (!s->index_dtype || s->index[1]);
    if (s->index_dtype && !(s->index[0] = make_indices(s)))
        return false;
    if (s->tiles > 1) {
        s->count = make_rows(s, WF_U32, DIGITS * s->tiles);
        s->start = make_rows(s, WF_U32, DIGITS * s->tiles);
        s->goes = make_rows(s, WF_U64, DIGITS * s->tiles);
        s->scan = s->count && s->goes ? compile_scan(s) : NULL;
        s->move = s->scan && s->start ? compile_move(s) : NULL;
    }
    s->split = s->tiles == 1 || s->move ? compile_split(s) : NULL;
    return s->split != NULL;
}

wf_array *wfl_sort_gpu(wf_array *keys, int bits, bool indices)
{
    wf_shape shape = wf_array_shape(keys);
    sorter s = { .ctx = wf_array_context(keys), .device = wf_array_device(keys), .dtype = wf_array_dtype(keys) };
    s.rows = shape.dim[0];
    s.n = shape.dim[1];
    s.key[0] = keys;
    s.index_dtype = !indices ? WF_NONE : s.n <= UINT32_MAX ? WF_U32 : WF_I64;
    for (s.threads = LEAST_THREADS; s.threads * EACH < s.n && s.threads < MOST_THREADS;)
        s.threads *= 2;
    s.tile = s.threads * EACH;
    s.tiles = (s.n + s.tile - 1) / s.tile;
    bool few = s.n <= FEW, ok = prepare_kernels(&s, few) && (few ? sort_few(&s) : sort_many(&s, bits)) == WF_OK;
    if (few)
        swap_buffers(&s);
    wf_array *out = ok ? wf_retain(indices ? s.index[0] : s.key[0]) : NULL;
    wf_array *all[] = { s.key[0], s.key[1], s.index[0], s.index[1], s.count, s.start, s.goes };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    wf_kernel *kernels[] = { s.split, s.scan, s.move };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        wf_kernel_free(kernels[i]);
    return out;
}
