/* sort_ranks.c - sorting among ranks. Each rank brings elements in order. The ranks find where the sorted whole is cut into the
 * blocks of the result: rank r finds the key of the first element of block r, by bisection, for which all ranks count their
 * smaller elements. Of the elements that have this key, those of the first ranks lie before the cut. Each rank sends to each
 * other one what lies in that one's block. So no rank needs memory for more than a few blocks.
 *
 * A line that ranks divide is sorted so: each rank sorts its block, and then what it gets, stably.
 */
#include "keys.h"
#include "weft/distributed.h"

typedef struct line {
    const wf_array *result; /* whose blocks the sorted whole is cut into */
    wf_context *ctx;
    wf_ranks *ranks;
    const char *function;
    int n; /* number of ranks */
    wf_dtype dtype;
    size_t size; /* of an element */
    bool descending;
    int64_t own;              /* number of elements that this rank brings */
    int64_t begin, count;     /* its block of the whole */
    wfl_ordered from, *got;   /* what it brings and gets */
    wf_array *lists;          /* memory of the lists below, with entries for each rank */
    uint64_t *key;            /* [2 n] the keys for which the ranks count */
    int64_t *out, *in;        /* [2 n] */
    size_t *bytes[2], *at[2]; /* [n] of what goes out and comes in */
} line;

static bool is_done(const line *l, wf_status status) { return wfl_ranks_done(l->result, l->function, status); }

/* ---- memory ---- */
static bool make_lists(line *l)
{
    const size_t n = (size_t)l->n;
    void *data;
    l->lists = wfl_array_scratch(l->ctx, l->n, 10 * sizeof(uint64_t), &data);
    if (!l->lists)
        return false;
    l->key = data;
    l->out = (int64_t *)(l->key + 2 * n);
    l->in = l->out + 2 * n;
    for (int k = 0; k < 2; ++k) {
        l->bytes[k] = (size_t *)(l->in + 2 * n) + 2 * n * (size_t)k;
        l->at[k] = l->bytes[k] + n;
    }
    return true;
}

/* Finds this rank's block. Blocks follow each other in the order of ranks. */
static void find_block(line *l)
{
    const wf_dist *dist = wf_array_dist(l->result);
    for (int r = 0; r <= wf_ranks_rank(l->ranks); ++r) {
        int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
        wf_dist_range(dist, r, lo, hi);
        l->begin += l->count;
        l->count = 1;
        for (int d = 0; d < dist->shape.rank; ++d)
            l->count *= hi[d] - lo[d];
    }
}

static bool make_room(line *l)
{
    l->got->elements = wf_empty(l->ctx, l->dtype, WF_SHAPE(l->count), .device = WF_CPU);
    if (l->got->elements && l->from.beside)
        l->got->beside = wf_empty(l->ctx, wf_array_dtype(l->from.beside), WF_SHAPE(l->count), .device = WF_CPU);
    return l->got->elements && (l->got->beside || !l->from.beside);
}

void wfl_ordered_end(wfl_ordered *o)
{
    wf_release(o->elements);
    wf_release(o->beside);
    *o = (wfl_ordered){ NULL, NULL };
}

/* ---- where the sorted line is cut ---- */
static uint64_t key_at(const line *l, const char *elements, int64_t i)
{
    const char *element = elements + (size_t)i * l->size;
    uint32_t narrow;
    uint64_t wide;
    if (wfl_key_is_wide(l->dtype)) {
        wfl_keys_of(l->dtype, l->descending, element, 1, &wide);
        return wide;
    }
    wfl_keys_of(l->dtype, l->descending, element, 1, &narrow);
    return narrow;
}

/* Number of elements of this rank whose keys are below `key`, or are the same (or_same). */
static int64_t count_below(const line *l, const char *elements, uint64_t key, bool or_same)
{
    int64_t from = 0, to = l->own;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        const uint64_t at = key_at(l, elements, middle);
        if (at < key || (or_same && at == key))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Each rank learns the keys of all. */
static bool share_key(const line *l, uint64_t key)
{
    return is_done(l, wf_ranks_all_gather(l->ranks, &key, l->key, (wf_pieces){ .each = sizeof key }));
}

/* Sends each rank `each` bytes of the list `out`, and receives as many in the list `in`. */
static bool exchange_numbers(const line *l, size_t each)
{
    return is_done(
        l, wf_ranks_all_to_all(l->ranks, l->out, (wf_pieces){ .each = each }, l->in, (wf_pieces){ .each = each }));
}

/* Sets the smallest and the largest key of all ranks. */
static bool find_range(const line *l, const char *elements, uint64_t *low, uint64_t *high)
{
    uint64_t ends[2] = { ~(uint64_t)0, 0 };
    if (l->own) {
        ends[0] = key_at(l, elements, 0);
        ends[1] = key_at(l, elements, l->own - 1);
    }
    if (!is_done(l, wf_ranks_all_gather(l->ranks, ends, l->key, (wf_pieces){ .each = sizeof ends })))
        return false;
    *low = ends[0];
    *high = ends[1];
    for (int r = 0; r < l->n; ++r) {
        *low = l->key[2 * r] < *low ? l->key[2 * r] : *low;
        *high = l->key[2 * r + 1] > *high ? l->key[2 * r + 1] : *high;
    }
    return true;
}

/* Finds the key of the element of the sorted whole with which this rank's block begins; if there is none, the largest key. */
static bool find_key(const line *l, const char *elements, uint64_t *key)
{
    uint64_t low, high;
    if (!find_range(l, elements, &low, &high))
        return false;
    for (uint64_t width = high > low ? high - low : 0; width; width /= 2) { /* the same number of times on all ranks */
        const uint64_t middle = low + (high - low) / 2;
        if (!share_key(l, middle))
            return false;
        for (int r = 0; r < l->n; ++r)
            l->out[r] = count_below(l, elements, l->key[r], true);
        if (!exchange_numbers(l, sizeof *l->out))
            return false;
        int64_t all = 0;
        for (int r = 0; r < l->n; ++r)
            all += l->in[r];
        if (all > l->begin)
            high = middle;
        else if (low < high)
            low = middle + 1;
    }
    *key = low;
    return true;
}

/* Finds where the blocks of all ranks begin among this rank's sorted elements: in[r] for rank r. */
static bool find_cuts(const line *l, const char *elements)
{
    uint64_t key = 0;
    if (!find_key(l, elements, &key) || !share_key(l, key))
        return false;
    for (int r = 0; r < l->n; ++r) {
        l->out[2 * r] = count_below(l, elements, l->key[r], false);
        l->out[2 * r + 1] = count_below(l, elements, l->key[r], true) - l->out[2 * r];
    }
    if (!exchange_numbers(l, 2 * sizeof *l->out))
        return false;
    int64_t same = l->begin; /* elements before the cut that have its key */
    for (int r = 0; r < l->n; ++r)
        same -= l->in[2 * r];
    for (int r = 0; r < l->n; ++r) {
        const int64_t take = same < l->in[2 * r + 1] ? same : l->in[2 * r + 1];
        same -= take;
        l->out[r] = l->in[2 * r] + take;
    }
    return exchange_numbers(l, sizeof *l->out);
}

/* ---- elements ---- */
/* Lists what goes out and comes in, in bytes of elements. */
static bool list_pieces(const line *l)
{
    for (int r = 0; r < l->n; ++r) {
        const int64_t end = r + 1 < l->n ? l->in[r + 1] : l->own;
        l->at[0][r] = (size_t)l->in[r] * l->size;
        l->out[r] = end - l->in[r];
        l->bytes[0][r] = (size_t)l->out[r] * l->size;
    }
    if (!exchange_numbers(l, sizeof *l->out))
        return false;
    size_t at = 0;
    for (int r = 0; r < l->n; ++r) {
        l->at[1][r] = at;
        l->bytes[1][r] = (size_t)l->in[r] * l->size;
        at += l->bytes[1][r];
    }
    return true;
}

static bool exchange_pieces(const line *l, const void *out, void *in)
{
    return is_done(l, wf_ranks_all_to_all(l->ranks, out, (wf_pieces){ .bytes = l->bytes[0], .offset = l->at[0] }, in,
                                          (wf_pieces){ .bytes = l->bytes[1], .offset = l->at[1] }));
}

/* The same pieces of what lies beside the elements. */
static void list_beside(const line *l)
{
    const size_t size = wf_dtype_size(wf_array_dtype(l->from.beside));
    for (int k = 0; k < 2; ++k)
        for (int r = 0; r < l->n; ++r) {
            l->at[k][r] = l->at[k][r] / l->size * size;
            l->bytes[k][r] = l->bytes[k][r] / l->size * size;
        }
}

static bool exchange_blocks(const line *l)
{
    void *out[2] = { NULL }, *in[2] = { NULL };
    wf_array *const arrays[] = { l->from.elements, l->from.beside, l->got->elements, l->got->beside };
    for (int i = 0; i < 4; ++i)
        if (arrays[i]) /* the processor's memory, which is mapped without failure */
            wf_map(arrays[i], i < 2 ? &out[i] : &in[i - 2], NULL);
    if (!find_cuts(l, out[0]) || !list_pieces(l) || !exchange_pieces(l, out[0], in[0]))
        return false;
    if (!l->from.beside)
        return true;
    list_beside(l);
    return exchange_pieces(l, out[1], in[1]);
}

wf_status wfl_cut_ordered(const wf_array *result, bool descending, wfl_ordered *from, bool ok, wfl_ordered *got,
                          const char *function)
{
    line l = {
        .result = result, .ctx = wf_array_context(result), .ranks = wf_array_ranks(result), .function = function
    };
    *got = (wfl_ordered){ NULL, NULL };
    l.got = got;
    l.n = wf_ranks_size(l.ranks);
    l.descending = descending;
    if (ok) {
        l.from = *from;
        l.dtype = wf_array_dtype(from->elements);
        l.size = wf_dtype_size(l.dtype);
        l.own = wf_array_count(from->elements);
        find_block(&l);
    }
    ok = ok && make_lists(&l) && make_room(&l);
    wf_status status = wfl_ranks_agree(l.ctx, function, result, ok ? WF_OK : wfl_array_error(l.ctx));
    if (status == WF_OK && !exchange_blocks(&l))
        status = wfl_array_error(l.ctx);
    wf_release(l.lists);
    wfl_ordered_end(from);
    if (status != WF_OK)
        wfl_ordered_end(got);
    return status;
}

/* ---- a line ---- */
/* Sorts this rank's block of x, into arrays of one axis. */
static bool sort_block(wf_array *x, bool descending, bool indices, int64_t begin, const char *function, wfl_ordered *to)
{
    wf_context *ctx = wf_array_context(x);
    wf_array *block = wf_array_block(x), *packed = block ? wf_array_contiguous(block) : NULL;
    wf_array *flat = packed ? wf_view_reshape(packed, WF_SHAPE(wf_array_count(packed))) : NULL;
    wf_array *order = flat && indices ? wfl_sorted(flat, 0, descending, true, function) : NULL;
    if (flat && !indices)
        to->elements = wfl_sorted(flat, 0, descending, false, function);
    if (order) {
        wf_graph *g = wfl_begin(ctx, function);
        wf_val at = wf_in(g, order);
        to->elements = wf_keep(wf_read(g, flat, at));
        to->beside = wf_keep(wf_add(at, wf_const_i64(g, WF_I64, begin)));
        if (wf_run(g) != WF_OK)
            wfl_ordered_end(to);
    }
    wf_release(order);
    wf_release(flat);
    wf_release(packed);
    const bool ended = wf_array_block_end(x, block) == WF_OK;
    return ended && to->elements && (to->beside || !indices);
}

wf_status wfl_write_ordered(wf_array *y, const wfl_ordered *got, bool descending, const char *function)
{
    wf_context *ctx = wf_array_context(y);
    wf_array *block = wf_array_block(y), *order = NULL, *view = NULL;
    const bool any = block && wf_array_count(block);
    if (any)
        order = wfl_sorted(got->elements, 0, descending, got->beside != NULL, function);
    if (order)
        view = wf_view_reshape(order, wf_array_shape(block));
    wf_status status = view || (block && !any) ? WF_OK : wfl_array_error(ctx);
    if (view && got->beside) {
        wf_graph *g = wfl_begin(ctx, function);
        wf_out(g, block, wf_read(g, got->beside, wf_in(g, view)));
        status = wf_run(g);
    } else if (view)
        status = wf_array_assign(block, view);
    wf_release(view);
    wf_release(order);
    const wf_status ended = wf_array_block_end(y, block);
    return wfl_ranks_agree(ctx, function, y, status == WF_OK ? ended : status);
}

wf_status wfl_sort_ranks(wf_array *y, const wf_array *x, bool descending, bool indices, const char *function)
{
    line l = { .result = x, .ranks = wf_array_ranks(x) };
    wfl_ordered own = { NULL, NULL }, got;
    wf_array *array = wf_retain(x);
    find_block(&l);
    const bool sorted = sort_block(array, descending, indices, l.begin, function, &own);
    wf_status status = wfl_cut_ordered(y, descending, &own, sorted, &got, function);
    if (status == WF_OK)
        status = wfl_write_ordered(y, &got, descending, function);
    wfl_ordered_end(&got);
    wf_release(array);
    return status;
}
