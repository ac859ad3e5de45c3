/* assign_where.c - values that are written in order to the elements of an array where a mask holds. Each point of the array
 * reads its own value: the number of elements of the mask that hold before it in C order is its place among the values. So
 * the arrays may be distributed.
 */
#include "lines.h"

static const char *const function = "wf_array_assign_where";

/* Returns 1 where the mask holds, else 0. */
static wf_val holds(wf_graph *g, const wf_array *mask) { return wf_cast(wf_ne(wf_in(g, mask), 0), WF_I64); }

/* Sets sums[d] to how many elements of the mask hold along the axes from d on, which have extent 1 there. False: an error. */
static bool count_along(const wf_array *mask, wf_array *sums[WF_MAX_RANK])
{
    const int rank = wf_array_shape(mask).rank;
    bool ok = true;
    for (int d = rank - 1; ok && d >= 0; --d) {
        wf_graph *g = wfl_begin(wf_array_context(mask), function);
        const wf_val v = d == rank - 1 ? holds(g, mask) : wf_in(g, sums[d + 1]);
        sums[d] = wfl_kept(g, mask, wf_reduce(WF_JOIN_ADD, v, WF_AXES(d)));
        ok = sums[d] != NULL;
    }
    return ok;
}

/* Returns how many elements hold before each one. The last scan is a launch of its own, so that each rank needs of the others
 * what comes before its block, but not their masks. */
static wf_array *count_before(const wf_array *mask, wf_array *const sums[WF_MAX_RANK])
{
    const int rank = wf_array_shape(mask).rank;
    wf_array *before = NULL;
    for (int d = 1; d <= rank; ++d) { /* before each index of the first d axes */
        wf_graph *g = wfl_begin(wf_array_context(mask), function);
        const wf_val v = d < rank ? wf_in(g, sums[d]) : holds(g, mask);
        const wf_val own = wf_scan(WF_JOIN_ADD, v, d - 1, true, false);
        wf_array *next = wfl_kept(g, mask, before ? wf_add(own, wf_in(g, before)) : own);
        wf_release(before);
        before = next;
        if (!before)
            break;
    }
    return before;
}

/* Sets *count to the only element of the sum over all axes. */
static bool read_count(const wf_array *mask, const wf_array *sum, int64_t *count)
{
    wf_array *all = wf_array_collect(sum), *here = all ? wf_copy_to(all, WF_CPU) : NULL;
    const bool collected = all != NULL;
    bool ok = here && wf_download(here, count, sizeof *count) == WF_OK;
    wf_release(all);
    wf_release(here);
    if (collected && wf_array_ranks(mask))
        ok = wfl_ranks_agree(wf_array_context(mask), function, mask,
                             ok ? WF_OK : wfl_array_error(wf_array_context(mask))) == WF_OK;
    return ok;
}

static wf_status write_one(wf_array *array, const wf_array *mask, const wf_array *value)
{
    wf_graph *g = wfl_begin(wf_array_context(array), function);
    wf_val v = wf_in(g, value), zero[WF_MAX_RANK];
    const int rank = wf_array_shape(value).rank;
    for (int d = 0; d < rank; ++d)
        zero[d] = wf_const_i64(g, WF_I64, 0);
    if (rank)
        v = wf_gather_n(v, (wf_vals){ zero, (size_t)rank });
    wf_out(g, array, wf_select(wf_ne(wf_in(g, mask), 0), wf_cast(v, wf_array_dtype(array)), wf_in(g, array)));
    return wfl_run_into(g, array);
}

static wf_status write_in_order(wf_array *array, const wf_array *mask, const wf_array *values)
{
    wf_context *ctx = wf_array_context(array);
    const int rank = wf_array_shape(mask).rank;
    wf_array *sums[WF_MAX_RANK] = { NULL }, *before = NULL;
    int64_t count = 0;
    bool ok = count_along(mask, sums) && read_count(mask, sums[0], &count);
    wf_status status = ok ? WF_OK : wfl_array_error(ctx);
    if (ok && count != wf_array_count(values)) {
        status = wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: %lld values for the %lld elements where the mask holds",
                                function, (long long)wf_array_count(values), (long long)count);
        ok = false;
    }
    if (ok && count) {
        before = count_before(mask, sums);
        status = before ? WF_OK : wfl_array_error(ctx);
    }
    if (before) {
        wf_graph *g = wfl_begin(ctx, function);
        const wf_val on = wf_ne(wf_in(g, mask), 0), place = wf_select(on, wf_in(g, before), 0);
        const wf_val v = wf_cast(wf_gather(wf_in(g, values), place), wf_array_dtype(array));
        wf_out(g, array, wf_select(on, v, wf_in(g, array)));
        status = wfl_run_into(g, array);
    }
    for (int d = 0; d < rank; ++d)
        wf_release(sums[d]);
    wf_release(before);
    return status;
}

/* Returns an array as `array` needs it: with all elements, or cut in the same way; not sharing its memory. */
static wf_array *brought(const wf_array *array, const wf_array *x, bool cut)
{
    if (!wf_array_dist(array) && wf_array_dist(x))
        return wf_array_collect(x);
    if (x == array || wf_shares(array, x))
        return wf_array_copy(x);
    return cut && wf_array_dist(array) ? wfl_cut_as(x, array) : wf_retain(x);
}

/* False, with an error: the arguments do not go together. */
static bool arguments_fit(const wf_array *array, const wf_array *mask, const wf_array *values)
{
    wf_context *ctx = wf_array_context(array);
    const wf_shape shape = wf_array_shape(array), of_mask = wf_array_shape(mask), line = wf_array_shape(values);
    if (!mask || !values)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, mask ? "values" : "mask");
    else if (!wfl_same_shape(&shape, &of_mask))
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: array and mask must have one shape", function);
    else if (wf_array_count(values) != 1 && (line.rank != 1 || !shape.rank))
        wfl_array_fail(ctx, WF_ERR_SHAPE,
                       shape.rank ? "%s: `values` has %d axes, not one" : "%s: an array without axes takes one value",
                       function, (int)line.rank);
    else if (wfl_is_complex_dtype(wf_array_dtype(values)) && !wfl_is_complex_dtype(wf_array_dtype(array)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: complex numbers cannot be stored in a real array", function);
    else
        return true;
    return false;
}

wf_status wf_array_assign_where(wf_array *array, const wf_array *mask, const wf_array *values)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx || !wfl_array_known(array, function) || !wfl_array_known(mask, function) ||
        !wfl_array_known(values, function))
        return WF_ERR_ARG;
    if (!arguments_fit(array, mask, values))
        return wfl_array_error(ctx);
    const bool one = wf_array_count(values) == 1;
    if (!one)
        wf_freeze_refuse(ctx, function, "the number of elements is read back, and checked");
    wf_array *on = brought(array, mask, true), *from = on ? brought(array, values, false) : NULL;
    wf_status status = !from ? wfl_array_error(ctx)
                       : one ? write_one(array, on, from)
                             : write_in_order(array, on, from);
    wf_release(on);
    wf_release(from);
    return status;
}
