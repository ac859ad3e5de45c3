/* index.c - indices: the tuples that accesses take, and the values that locate a point (wf_index, wf_iota). */
#include "record/record.h"

/* Returns the index as i64. `any`: the index may be any integer, and one of u64 from 2^63 on becomes 2^63 - 1. */
static wf__ref as_i64(wf__ir *ir, wf__ref index, bool any)
{
    if (any && wf__dtype(ir, index) == WF_U64)
        index = wf__op2(ir, WF__OP_min, index, wf__const_bits(ir, WF_U64, INT64_MAX));
    return wf__cast(ir, index, WF_I64);
}

/* Converts the indices to i64, puts them behind the first `block` entries of refs[], and sets *out to the tuple of
 * all. `any`: indices may be any integers. False after poisoning. */
static bool append_indices(wf_graph *g, wf_vals index, bool any, const char *function, wf__ref *refs, size_t block,
                           uint32_t *out)
{
    wf__ir *ir = wf__graph_ir(g);
    for (size_t k = 0; k < index.n; ++k) {
        bool number;
        wf__ref ref = wf__resolve(g, index.at[k], function, &number);
        const double value = number ? index.at[k].h.num : 0;
        if (!wf__is_whole(value)) {
            wf__poison(g, WF_ERR_DTYPE, "%s: index %u is %.17g, not an integer", function, (unsigned)k, value);
            return false;
        }
        if (number)
            ref = wf__number(g, value, WF_I64, function);
        else if (ref && !wf__is_int(wf__dtype(ir, ref))) {
            wf__poison(g, WF_ERR_DTYPE, "%s: index %u is %s, not an integer", function, (unsigned)k,
                       wf_dtype_name((wf_dtype)wf__dtype(ir, ref)));
            return false;
        }
        refs[block + k] = ref ? as_i64(ir, ref, any) : 0;
        if (!refs[block + k])
            return false;
    }
    *out = wf__tuple(ir, refs, (uint32_t)(block + index.n));
    return ir->status == WF_OK;
}

/* True if n indices suit the rank. False after poisoning: the message names the array, or a value if `array` is
 * NULL. */
static bool as_many(wf_graph *g, size_t n, size_t rank, const wf_array *array, const char *function)
{
    char called[WF__CALLED];
    if (n == rank)
        return true;
    const char *what = !array           ? "a value"
                       : array->scratch ? "scratch"
                                        : wf__array_called(&g->program, array, array, called);
    wf__poison(g, WF_ERR_ARG, "%s: %u indices given for %s, which has %u axes", function, (unsigned)n, what,
               (unsigned)rank);
    return false;
}

bool wf__index_tuple(wf_graph *g, wf_vals index, size_t rank, bool any, const char *function, uint32_t *out)
{
    wf__ref refs[WF_MAX_RANK];
    return wf__is_list(g, index.at, index.n, function) && as_many(g, index.n, rank, NULL, function) &&
           append_indices(g, index, any, function, refs, 0, out);
}

bool wf__array_tuple(wf_graph *g, const wf_array *array, wf_vals index, bool any, const char *function, uint32_t *out)
{
    wf__ref refs[WF_MAX_RANK];
    size_t block = array->scratch ? (size_t)array->scratch - 1 : 0; /* number of leading axes that select the block */
    if (!wf__is_list(g, index.at, index.n, function) ||
        !as_many(g, index.n, (size_t)array->shape.rank - block, array, function))
        return false;
    bool boxes = g->program.rec.block.rank > 0;
    if (block && boxes)
        refs[0] = wf__block_index(g, -1);
    for (size_t k = 0, axis = 0; k < block && !boxes; ++k, ++axis) {
        while (g->program.rec.options.reduce >> axis & 1)
            ++axis;
        refs[k] = wf__index(wf__graph_ir(g), (int)axis);
    }
    return append_indices(g, index, any, function, refs, block, out);
}

bool wf__axis_of(wf_graph *g, int *axis, int rank, const char *function)
{
    int given = *axis;
    if (*axis < 0)
        *axis += rank;
    if (*axis >= 0 && *axis < rank)
        return true;
    wf__poison(g, WF_ERR_ARG, "%s: axis %d is out of range for rank %d", function, given, rank);
    return false;
}

static bool in_space(wf_graph *g, const char *function)
{
    if (g->program.rec.options.kind == WF__SPACE && g->section != WF_SECTION_JOIN)
        return true;
    const char *why =
        g->section == WF_SECTION_JOIN ? "section WF_SECTION_JOIN has no points"
        : g->program.rec.options.kind == WF__ELEMENTS
            ? "elements have the shape of their operands, say wf_dim of one, or wf_begin(ctx, .shape = ...)"
            : "values are whole arrays here, say wf_iota or wf_dim, or wf_begin(ctx, .shape = ...)";
    wf__poison(g, WF_ERR_ARG, "%s: only in a recording with an index space; %s", function, why);
    return false;
}

wf_val wf_index(wf_graph *g, int axis)
{
    if (!wf__is_recording(g) || !in_space(g, "wf_index") ||
        !wf__axis_of(g, &axis, g->program.rec.space.rank, "wf_index"))
        return wf__no_value(g);
    bool once = g->section == WF_SECTION_INIT || g->section == WF_SECTION_DEINIT;
    if ((once && !g->reducing) || (g->section != WF_SECTION_CALL && g->program.rec.options.reduce >> axis & 1)) {
        wf__poison(g, WF_ERR_CONTRACT,
                   g->reducing ? "wf_index: axis %d is reduced: in this section there is no index along it"
                               : "wf_index: this section runs once a block: there is no index along axis %d",
                   axis);
        return wf__no_value(g);
    }
    return wf__value(g, wf__index(wf__graph_ir(g), axis));
}

wf_val wf_extent(wf_graph *g, int axis)
{
    if (!wf__is_recording(g) || !in_space(g, "wf_extent") ||
        !wf__axis_of(g, &axis, g->program.rec.space.rank, "wf_extent"))
        return wf__no_value(g);
    return wf__value(g, wf__extent(wf__graph_ir(g), axis));
}

wf_val wf_iota(wf_graph *g, wf_shape shape, int axis)
{
    int64_t count;
    if (!wf__is_recording(g))
        return wf__no_value(g);
    if (g->program.rec.options.kind != WF__ARRAYS) {
        wf__poison(g, WF_ERR_ARG, "wf_iota: only in array graphs; in an index space say wf_index");
        return wf__no_value(g);
    }
    if (!wf__shape_count(&shape, &count)) {
        char text[192];
        wf__bad_shape_text(&shape, text, sizeof text);
        wf__poison(g, WF_ERR_SHAPE, "wf_iota: the shape %s has a bad rank, a negative extent or too many elements",
                   text);
        return wf__no_value(g);
    }
    if (!wf__axis_of(g, &axis, shape.rank, "wf_iota"))
        return wf__no_value(g);
    wf__ir *ir = wf__graph_ir(g);
    wf__node n = { .op = WF__IOTA, .dtype = WF_I64, .a = (uint32_t)axis, .shape = wf__shape_id(ir, &shape) };
    return wf__value(g, wf__append(ir, &n));
}
