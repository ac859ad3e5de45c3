/* compress.c - the elements where a mask holds, in order. Of distributed arrays each rank finds those of its block, with their
 * places in the whole array; ranks exchange them so that each one has its block of the result.
 */
#include "keys.h"
#include "lines.h"

/* Returns the elements of `array` where the mask holds; for NULL, their linear indices. */
static wf_array *chosen(const wf_array *array, const wf_array *mask, const char *function)
{
    wf_context *ctx = wf_array_context(mask);
    if (!ctx)
        return NULL;
    wf_freeze_refuse(ctx, function, "the number of elements is read back, and decides a shape");
    wf_graph *g = wfl_begin(ctx, function);
    wf_val on = wf_ne(wf_in(g, mask), 0);
    const wf_shape line = WF_SHAPE(wf_array_count(mask));
    wf_val v = array ? wf_in(g, array) : wf_iota(g, line, 0);
    wf_array *out = wf_compress(v, array ? on : wf_reshape(on, line));
    wf_status status = out ? WF_OK : wf_run(g); /* reports the error */
    if (out)
        wf_drop(g);
    else if (status == WF_OK)
        wfl_array_fail(ctx, WF_ERR_MEMORY, "wf_array_compress: out of memory");
    return out;
}

/* ---- distributed arrays ---- */
/* Returns where the elements of a block lie in the whole array, given their places in the block; both in C order. */
static wf_array *places_in_whole(const wf_array *whole, const wf_shape *block, const wf_array *places,
                                 const char *function)
{
    const wf_shape shape = wf_array_shape(whole);
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], stride = 1;
    wf_dist_range(wf_array_dist(whole), wf_ranks_rank(wf_array_ranks(whole)), lo, hi);
    wf_graph *g = wfl_begin(wf_array_context(places), function);
    wf_val rest = wf_in(g, places), place = wf_const_i64(g, WF_I64, 0);
    for (int d = shape.rank - 1; d >= 0; --d) {
        const wf_val extent = wf_const_i64(g, WF_I64, block->dim[d]);
        const wf_val at = wf_add(wf_mod(rest, extent), wf_const_i64(g, WF_I64, lo[d]));
        place = wf_add(place, wf_mul(at, wf_const_i64(g, WF_I64, stride)));
        rest = wf_idiv(rest, extent);
        stride *= shape.dim[d];
    }
    return wfl_array_run(g, wf_keep(place));
}

/* Returns an array for the elements that all ranks have found, of which this rank has `own`. */
static wf_array *new_result(const wf_array *mask, wf_dtype dtype, int64_t own, const char *function)
{
    wf_context *ctx = wf_array_context(mask);
    wf_ranks *ranks = wf_array_ranks(mask);
    const int n = wf_ranks_size(ranks);
    void *data = NULL;
    wf_array *counts = wfl_array_scratch(ctx, n, sizeof own, &data);
    bool ok = wfl_ranks_agree(ctx, function, mask, counts ? WF_OK : wfl_array_error(ctx)) == WF_OK;
    if (ok)
        ok = wfl_ranks_done(mask, function, wf_ranks_all_gather(ranks, &own, data, (wf_pieces){ .each = sizeof own }));
    int64_t all = 0;
    for (int r = 0; ok && r < n; ++r)
        all += ((const int64_t *)data)[r];
    wf_release(counts);
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(all), n, NULL, &dist);
    return ok ? wf_empty_distributed(ctx, dtype, ranks, &dist) : NULL;
}

/* Finds the elements of this rank's blocks, with their places; `array` NULL: the places alone. */
static bool find_own(wf_array *array, wf_array *mask, wfl_ordered *own, const char *function)
{
    wf_array *on = wf_array_block(mask), *from = array ? wf_array_block(array) : NULL, *places = NULL;
    if (on && (from || !array)) {
        const wf_shape block = wf_array_shape(on);
        places = chosen(NULL, on, function);
        own->elements = places ? places_in_whole(mask, &block, places, function) : NULL;
        own->beside = own->elements && array ? chosen(from, on, function) : NULL;
    }
    wf_release(places);
    bool ok = wf_array_block_end(mask, on) == WF_OK && own->elements && (own->beside || !array);
    return (!array || wf_array_block_end(array, from) == WF_OK) && ok;
}

static wf_array *chosen_of_ranks(const wf_array *array, const wf_array *mask, const char *function)
{
    const wf_array *as = wf_array_dist(mask) ? mask : array;
    if (!wfl_distributed_together(wf_array_context(mask), function, as, as))
        return NULL;
    wfl_ordered own = { NULL, NULL }, got = { NULL, NULL };
    wf_array *on = wfl_cut_as(mask, as), *from = on && array ? wfl_cut_as(array, as) : NULL, *out = NULL;
    if (on && (from || !array)) {
        const bool ok = find_own(from, on, &own, function);
        out = new_result(on, array ? wf_array_dtype(array) : WF_I64, ok ? wf_array_count(own.elements) : 0, function);
        if (out && (wfl_cut_ordered(out, false, &own, ok, &got, function) != WF_OK ||
                    wfl_write_ordered(out, &got, false, function) != WF_OK)) {
            wf_release(out);
            out = NULL;
        }
    }
    wfl_ordered_end(&own);
    wfl_ordered_end(&got);
    wf_release(on);
    wf_release(from);
    return out;
}

/* ---- functions ---- */
wf_array *wf_array_where(const wf_array *mask)
{
    return wf_array_dist(mask) ? chosen_of_ranks(NULL, mask, "wf_array_where") : chosen(NULL, mask, "wf_array_where");
}

wf_array *wf_array_compress(const wf_array *array, const wf_array *mask)
{
    wf_shape a = wf_array_shape(array), m = wf_array_shape(mask);
    if (!array || !mask || !wfl_same_shape(&a, &m)) {
        bool both = array && mask;
        wfl_array_fail(wf_array_context(mask ? mask : array), both ? WF_ERR_SHAPE : WF_ERR_ARG, "wf_array_compress: %s",
                       both ? "array and mask must have one shape" : "array or mask is NULL");
        return NULL;
    }
    return wf_array_dist(array) || wf_array_dist(mask) ? chosen_of_ranks(array, mask, "wf_array_compress")
                                                       : chosen(array, mask, "wf_array_compress");
}
