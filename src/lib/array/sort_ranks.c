/* sort_ranks.c - sorting a line that ranks divide. Each rank sorts its block. Then the ranks find where the sorted line is cut
 * into the blocks of the result: rank r finds the key of the first element of block r, by bisection, for which all ranks count
 * their smaller elements. Of the elements that have this key, those that come first in the line lie before the cut. Each rank
 * sends to each other one what lies in that one's block, and sorts what it gets. So no rank needs memory for more than a few
 * blocks, and the result is that of a stable sort of the whole line.
 */
#include "keys.h"
#include "weft/distributed.h"
#include <stdlib.h>

typedef struct line {
    const wf_array *array;
    wf_context *ctx;
    wf_ranks *ranks;
    const char *function;
    int me, n; /* this rank, number of ranks */
    wf_dtype dtype;
    size_t size; /* of an element */
    bool descending, indices;
    int64_t begin, count; /* this rank's block of the line */
    /* The block's elements in order and, for indices, their places in the line; then what comes in. NULL: empty. */
    wf_array *sorted, *places, *got, *got_places;
    wf_array *lists;          /* memory of the lists below, each of which has an entry for each rank */
    uint64_t *key;            /* the keys for which the ranks count */
    int64_t *out, *in;        /* [2 n] */
    size_t *bytes[2], *at[2]; /* of what goes out and comes in */
} line;

static bool is_done(const line *l, wf_status status)
{
    if (status == WF_ERR_MEMORY) /* the others wait for this rank */
        wf_ranks_abort(l->ranks, EXIT_FAILURE, wf_ranks_message(l->ranks));
    if (status != WF_OK)
        wfl_array_fail(l->ctx, status, "%s: %s", l->function, wf_ranks_message(l->ranks));
    return status == WF_OK;
}

/* ---- memory ---- */
/* Sorts this rank's block, into arrays of one axis. */
static bool sort_block(line *l, wf_array *block)
{
    wf_array *packed = wf_array_contiguous(block);
    wf_array *flat = packed ? wf_view_reshape(packed, WF_SHAPE(l->count)) : NULL;
    wf_array *order = flat && l->indices ? wfl_sorted(flat, 0, l->descending, true, l->function) : NULL;
    if (flat && !l->indices)
        l->sorted = wfl_sorted(flat, 0, l->descending, false, l->function);
    if (order) {
        wf_graph *g = wfl_begin(l->ctx, l->function);
        wf_val at = wf_in(g, order);
        l->sorted = wf_keep(wf_read(g, flat, at));
        l->places = wf_keep(wf_add(at, wf_const_i64(g, WF_I64, l->begin)));
        if (wf_run(g) != WF_OK) {
            wf_release(l->sorted);
            l->sorted = NULL;
        }
    }
    wf_release(order);
    wf_release(flat);
    wf_release(packed);
    return l->sorted && (l->places || !l->indices);
}

static bool make_lists(line *l)
{
    const size_t n = (size_t)l->n;
    void *data;
    l->lists = wfl_array_scratch(l->ctx, l->n, 9 * sizeof(uint64_t), &data);
    if (!l->lists)
        return false;
    l->key = data;
    l->out = (int64_t *)(l->key + n);
    l->in = l->out + 2 * n;
    for (int k = 0; k < 2; ++k) {
        l->bytes[k] = (size_t *)(l->in + 2 * n) + 2 * n * (size_t)k;
        l->at[k] = l->bytes[k] + n;
    }
    return true;
}

/* Ranks fail together. */
static wf_status begin_sort(line *l, wf_array *x)
{
    bool ok = make_lists(l);
    if (l->count) {
        wf_array *block = wf_array_block(x);
        ok = ok && block && sort_block(l, block);
        ok = wf_array_block_end(x, block) == WF_OK && ok;
        l->got = ok ? wf_empty(l->ctx, l->dtype, WF_SHAPE(l->count), .device = WF_CPU) : NULL;
        l->got_places = ok && l->indices ? wf_empty(l->ctx, WF_I64, WF_SHAPE(l->count), .device = WF_CPU) : NULL;
        ok = ok && l->got && (l->got_places || !l->indices);
    }
    return wfl_ranks_agree(l->ctx, l->function, l->array, ok ? WF_OK : wfl_array_error(l->ctx));
}

static void end_sort(line *l)
{
    wf_array *all[] = { l->sorted, l->places, l->got, l->got_places, l->lists };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

/* ---- where the sorted line is cut ---- */
/* Number of elements of this rank whose keys are below `key`, or are the same (or_same). */
static int64_t count_below(const line *l, const char *elements, uint64_t key, bool or_same)
{
    int64_t from = 0, to = l->count;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        uint32_t narrow;
        uint64_t wide;
        const char *element = elements + (size_t)middle * l->size;
        if (wfl_key_is_wide(l->dtype))
            wfl_keys_of(l->dtype, l->descending, element, 1, &wide);
        else {
            wfl_keys_of(l->dtype, l->descending, element, 1, &narrow);
            wide = narrow;
        }
        if (wide < key || (or_same && wide == key))
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

/* Finds the key of the element of the sorted line with which this rank's block begins; if there is none, the largest key. */
static bool find_key(const line *l, const char *elements, uint64_t *key)
{
    uint64_t low = 0, high = wfl_largest_key(l->dtype);
    for (int bit = 0; bit < 8 * (int)l->size; ++bit) { /* each halves the keys that are left */
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
        const int64_t end = r + 1 < l->n ? l->in[r + 1] : l->count;
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

/* The same pieces of the places. */
static void list_places(const line *l)
{
    for (int k = 0; k < 2; ++k)
        for (int r = 0; r < l->n; ++r) {
            l->at[k][r] = l->at[k][r] / l->size * sizeof(int64_t);
            l->bytes[k][r] = l->bytes[k][r] / l->size * sizeof(int64_t);
        }
}

static bool exchange_blocks(const line *l)
{
    void *out[2] = { NULL }, *in[2] = { NULL };
    wf_array *const arrays[] = { l->sorted, l->places, l->got, l->got_places };
    for (int i = 0; i < 4; ++i)
        if (arrays[i]) /* the processor's memory, which is mapped without failure */
            wf_map(arrays[i], i < 2 ? &out[i] : &in[i - 2], NULL);
    if (!find_cuts(l, out[0]) || !list_pieces(l) || !exchange_pieces(l, out[0], in[0]))
        return false;
    if (l->indices)
        list_places(l);
    return !l->indices || exchange_pieces(l, out[1], in[1]);
}

/* Sorts what has come in, into this rank's block of the result. */
static wf_status write_block(const line *l, wf_array *y)
{
    wf_array *block = wf_array_block(y);
    wf_array *order = block ? wfl_sorted(l->got, 0, l->descending, l->indices, l->function) : NULL;
    wf_array *view = order ? wf_view_reshape(order, wf_array_shape(block)) : NULL;
    wf_status status = view ? WF_OK : wfl_array_error(l->ctx);
    if (view && l->indices) {
        wf_graph *g = wfl_begin(l->ctx, l->function);
        wf_out(g, block, wf_read(g, l->got_places, wf_in(g, view)));
        status = wf_run(g);
    } else if (view)
        status = wf_array_assign(block, view);
    wf_release(view);
    wf_release(order);
    const wf_status ended = wf_array_block_end(y, block);
    return status == WF_OK ? ended : status;
}

wf_status wfl_sort_ranks(wf_array *y, const wf_array *x, bool descending, bool indices, const char *function)
{
    const wf_dist *dist = wf_array_dist(x);
    line l = { .array = x, .ctx = wf_array_context(x), .ranks = wf_array_ranks(x), .function = function };
    l.me = wf_ranks_rank(l.ranks);
    l.n = wf_ranks_size(l.ranks);
    l.dtype = wf_array_dtype(x);
    l.size = wf_dtype_size(l.dtype);
    l.descending = descending;
    l.indices = indices;
    for (int r = 0; r <= l.me; ++r) { /* blocks follow each other in the order of ranks */
        int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
        wf_dist_range(dist, r, lo, hi);
        l.begin += l.count;
        l.count = 1;
        for (int d = 0; d < dist->shape.rank; ++d)
            l.count *= hi[d] - lo[d];
    }
    wf_array *array = wf_retain(x);
    wf_status status = begin_sort(&l, array);
    if (status == WF_OK && !exchange_blocks(&l))
        status = wfl_array_error(l.ctx);
    else if (status == WF_OK)
        status = wfl_ranks_agree(l.ctx, function, x, l.count ? write_block(&l, y) : WF_OK);
    end_sort(&l);
    wf_release(array);
    return status;
}
