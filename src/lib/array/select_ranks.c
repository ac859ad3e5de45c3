/* select_ranks.c - selection in lines of a distributed array that ranks divide. A launch counts the elements of each line by
 * the next bits of their keys (keys.h), in an array that all ranks join. The counts say which bits the wanted element has; the
 * next launch counts the elements that have these bits. So no rank needs memory for more than its block and the counts.
 */
#include "keys.h"
#include "weft/distributed.h"
#include <string.h>

enum { BITS = 11, BINS = 1 << BITS }; /* bits of a key that a launch tells apart */

typedef struct counting {
    const wf_array *array;
    wf_axes axes; /* of the lines */
    const char *function;
    wf_shape shape;
    wf_dtype dtype;
    int64_t rows;
    wf_array *counts, *prefixes, *nexts, *nan_counts, *rest[2]; /* ordinary arrays, with the elements below */
    int64_t *count;                                             /* [rows, BINS] */
    uint64_t *prefix;                                           /* [rows] bits of the wanted keys, then the keys */
    uint64_t *next;                                             /* [rows] the keys of the elements after them */
    int64_t *nans;                                              /* [rows] */
    int64_t *first;      /* [rows, BINS] the counts by the first bits, which all selections share */
    int64_t *left;       /* [rows] places of the wanted elements among those that have the prefix */
    const int64_t *last; /* count or first: the counts by the bits that a selection has found last */
    int last_width;      /* the number of these bits */
} counting;

/* Number of bits that a launch tells apart where `left` bits are not known. */
static int next_width(int left) { return left < BITS ? left : BITS; }

static wf_array *ordinary(const counting *c, wf_dtype dtype, wf_shape shape, void *data)
{
    wf_array *array = wf_empty(wf_array_context(c->array), dtype, shape, .device = WF_CPU);
    if (array && wf_map(array, data, NULL) == WF_OK)
        return array;
    wf_release(array);
    return NULL;
}

static void end_counting(counting *c)
{
    wf_array *all[] = { c->counts, c->prefixes, c->nexts, c->nan_counts, c->rest[0], c->rest[1] };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

static wf_status begin_counting(counting *c)
{
    wf_context *ctx = wf_array_context(c->array);
    const wf_shape by_row = WF_SHAPE(c->rows), by_bin = WF_SHAPE(c->rows, BINS);
    void *data[6] = { NULL };
    c->counts = ordinary(c, WF_I64, by_bin, &data[0]);
    c->prefixes = ordinary(c, WF_U64, by_row, &data[1]);
    c->nexts = ordinary(c, WF_U64, by_row, &data[2]);
    c->nan_counts = ordinary(c, WF_I64, by_row, &data[3]);
    c->rest[0] = ordinary(c, WF_I64, by_bin, &data[4]);
    c->rest[1] = ordinary(c, WF_I64, by_row, &data[5]);
    c->count = data[0];
    c->prefix = data[1];
    c->next = data[2];
    c->nans = data[3];
    c->first = data[4];
    c->left = data[5];
    const bool ok = c->count && c->prefix && c->next && c->nans && c->first && c->left;
    return wfl_ranks_agree(ctx, c->function, c->array, ok ? WF_OK : wfl_array_error(ctx));
}

/* The number of the line that a point lies in. */
static wf_val row_of(const counting *c, wf_graph *g)
{
    wf_val row = wf_const_i64(g, WF_I64, 0);
    for (int d = 0; d < c->shape.rank; ++d)
        if (!(c->axes >> d & 1))
            row = wf_add(wf_mul(row, wf_const_i64(g, WF_I64, c->shape.dim[d])), wf_iota(g, c->shape, d));
    return row;
}

/* Counts elements by `width` bits of their keys from bit `shift` on: those that have the prefix or, at first, all and the
 * NaNs. */
static wf_status count_bits(const counting *c, int shift, int width, bool at_first)
{
    const wf_dtype t = wfl_key_dtype(c->dtype);
    memset(c->count, 0, (size_t)c->rows * BINS * sizeof *c->count);
    wf_graph *g = wfl_begin(wf_array_context(c->array), c->function);
    wf_val key = wfl_key_of(wf_in(g, c->array), false), row = row_of(c, g);
    wf_val bin = wf_and(wf_shr(key, wf_param(g, "shift", t, shift)), wf_param(g, "mask", t, (1 << width) - 1));
    if (!at_first) {
        wf_val above = wf_shr(key, wf_param(g, "above", t, shift + width));
        wf_val prefix = wf_cast(wf_read(g, c->prefixes, row), t);
        wf_accumulate_if(g, wf_eq(above, prefix), WF_JOIN_ADD, c->counts, 1, row, bin);
        return wfl_run_into(g, c->array);
    }
    wf_accumulate(g, WF_JOIN_ADD, c->counts, 1, row, bin);
    if (wfl_is_float_dtype(c->dtype)) {
        wf_val nan = wf_const_i64(g, t, (int64_t)wfl_largest_key(c->dtype));
        wf_accumulate_if(g, wf_eq(key, nan), WF_JOIN_ADD, c->nan_counts, 1, row);
    }
    return wfl_run_into(g, c->array);
}

/* Adds to each prefix the bits of the bin that has the wanted element. */
static void choose_bins(const counting *c)
{
    for (int64_t row = 0; row < c->rows; ++row) {
        const int64_t *in = c->last + row * BINS;
        uint64_t bin = 0;
        for (; c->left[row] >= in[bin]; ++bin)
            c->left[row] -= in[bin];
        c->prefix[row] = c->prefix[row] << c->last_width | bin;
    }
}

/* Finds the keys of the elements of a rank: the prefixes. */
static wf_status select_rank(counting *c, int64_t rank)
{
    const int bits = 8 * (int)wf_dtype_size(c->dtype);
    wf_status status = WF_OK;
    memset(c->prefix, 0, (size_t)c->rows * sizeof *c->prefix);
    for (int64_t row = 0; row < c->rows; ++row)
        c->left[row] = rank;
    for (int shift = bits; shift > 0 && status == WF_OK; shift -= c->last_width) {
        c->last = shift == bits ? c->first : c->count;
        c->last_width = next_width(shift);
        if (c->last == c->count)
            status = count_bits(c, shift - c->last_width, c->last_width, false);
        if (status == WF_OK)
            choose_bins(c);
    }
    return status;
}

/* Finds the keys after the prefixes, in ascending order, of lines whose next element has another key. */
static wf_status find_next(const counting *c)
{
    const wf_dtype t = wfl_key_dtype(c->dtype);
    bool all_equal = true;
    for (int64_t row = 0; row < c->rows; ++row) {
        const uint64_t bin = c->prefix[row] & ((1u << c->last_width) - 1);
        const bool equal = c->left[row] + 1 < c->last[row * BINS + (int64_t)bin];
        c->next[row] = equal ? c->prefix[row] : ~(uint64_t)0;
        all_equal = all_equal && equal;
    }
    if (all_equal)
        return WF_OK;
    wf_graph *g = wfl_begin(wf_array_context(c->array), c->function);
    wf_val key = wfl_key_of(wf_in(g, c->array), false), row = row_of(c, g);
    wf_val after = wf_gt(key, wf_cast(wf_read(g, c->prefixes, row), t));
    wf_accumulate_if(g, after, WF_JOIN_MIN, c->nexts, key, row);
    return wfl_run_into(g, c->array);
}

static wf_status select_each(counting *c, int64_t n, const int64_t *rank, const double *between, uint64_t *low,
                             uint64_t *high)
{
    const int bits = 8 * (int)wf_dtype_size(c->dtype), width = next_width(bits);
    memset(c->nans, 0, (size_t)c->rows * sizeof *c->nans);
    wf_status status = count_bits(c, bits - width, width, true);
    memcpy(c->first, c->count, (size_t)c->rows * BINS * sizeof *c->first);
    for (int64_t i = 0; i < n && status == WF_OK; ++i) {
        status = select_rank(c, rank[i]);
        if (status == WF_OK && between[i] > 0)
            status = find_next(c);
        for (int64_t row = 0; row < c->rows; ++row) {
            const uint64_t nan = wfl_largest_key(c->dtype);
            low[i * c->rows + row] = c->nans[row] ? nan : c->prefix[row];
            high[i * c->rows + row] = c->nans[row] ? nan : between[i] > 0 ? c->next[row] : c->prefix[row];
        }
    }
    return status;
}

wf_status wfl_select_ranks(const wf_array *array, wf_axes axes, int64_t n, const int64_t *rank, const double *between,
                           uint64_t *low, uint64_t *high, const char *function)
{
    counting c = { .array = array, .axes = axes, .function = function };
    c.shape = wf_array_shape(array);
    c.dtype = wf_array_dtype(array);
    c.rows = wfl_axes_count(&c.shape, ~axes);
    wf_status status = begin_counting(&c);
    if (status == WF_OK)
        status = select_each(&c, n, rank, between, low, high);
    end_counting(&c);
    return status;
}
