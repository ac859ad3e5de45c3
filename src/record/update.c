/* update.c - elements that many points change: accumulation, atomic operations, compare and exchange. */
#include "record/record.h"

_Static_assert((int)WF_MODE_EXPAND == WF__MODE_EXPAND && (int)WF_MODE_NO_CONFLICT == WF__MODE_NO_CONFLICT,
               "one numbering");

static bool joins(wf_graph *g, unsigned join, unsigned dtype, const char *function)
{
    if (wf__updates(join, dtype))
        return true;
    if (join < WF_JOIN_ADD || join > WF_JOIN_XOR)
        wf__poison(g, WF_ERR_ARG, "%s: there is no join %u here; say WF_JOIN_ADD to WF_JOIN_XOR", function, join);
    else
        wf__poison(g, WF_ERR_DTYPE, "%s: %s does not join elements of %s", function,
                   wf__op_table[wf__join_op((wf_join)join)].name, wf_dtype_name((wf_dtype)dtype));
    return false;
}

static void accumulate(wf_graph *g, const wf_val *condition, wf_join join, wf_mode mode, wf_array *array, wf_val v,
                       wf_vals index, const char *function)
{
    uint32_t slot, tuple;
    wf__ref predicate;
    if (!wf__is_recording(g))
        return;
    if ((unsigned)mode > WF_MODE_NO_CONFLICT) {
        wf__poison(g, WF_ERR_ARG, "%s: there is no mode %u", function, (unsigned)mode);
        return;
    }
    if (array && array->local && array->graph == g && g->section != WF_SECTION_JOIN) {
        if (joins(g, join, array->dtype, function))
            wf__local_write(g, condition, join, array, v, index, function);
        return;
    }
    if (!wf__update_target(g, array, index, function, &slot, &tuple) || !joins(g, join, array->dtype, function))
        return;
    wf__ref value = wf__converted(g, v, wf__update_dtype(array->dtype, join), function);
    if (!value || !wf__condition_of(g, condition, function, &predicate))
        return;
    wf__note_contents(g, array, join);
    wf__accum(wf__graph_ir(g), slot, tuple, join, mode, value, predicate);
    g->accumulates = true;
    wf__note_store(g, slot);
}

void wf_accumulate_n(wf_graph *g, wf_join join, wf_mode mode, wf_array *array, wf_val v, wf_vals index)
{
    accumulate(g, NULL, join, mode, array, v, index, "wf_accumulate");
}

void wf_accumulate_if_n(wf_graph *g, wf_val condition, wf_join join, wf_mode mode, wf_array *array, wf_val v,
                        wf_vals index)
{
    accumulate(g, &condition, join, mode, array, v, index, "wf_accumulate_if");
}

static wf_val atomic(wf_graph *g, const wf_val *condition, wf_join join, wf_array *array, wf_val v, wf_vals index,
                     const char *function)
{
    uint32_t slot, tuple;
    wf__ref predicate;
    if (!wf__is_recording(g) || !wf__update_target(g, array, index, function, &slot, &tuple))
        return wf__no_value(g);
    if (wf__is_complex(array->dtype)) {
        wf__poison(g, WF_ERR_DTYPE, "%s: not for %s", function, wf_dtype_name(array->dtype));
        return wf__no_value(g);
    }
    if (join == WF_JOIN_INC) {
        join = WF_JOIN_ADD;
        v = (wf_val){ { 1, NULL } };
    }
    if (join != WF_JOIN_EXCH && !joins(g, join, array->dtype, function))
        return wf__no_value(g);
    wf__ref value = wf__converted(g, v, wf__update_dtype(array->dtype, join), function);
    if (!value || !wf__condition_of(g, condition, function, &predicate))
        return wf__no_value(g);
    wf__ref old = wf__atomic(wf__graph_ir(g), slot, tuple, join, value, predicate);
    wf__note_store(g, slot);
    return wf__value(g, old);
}

wf_val wf_atomic_n(wf_graph *g, wf_join join, wf_array *array, wf_val v, wf_vals index)
{
    return atomic(g, NULL, join, array, v, index, "wf_atomic");
}

wf_val wf_atomic_if_n(wf_graph *g, wf_val condition, wf_join join, wf_array *array, wf_val v, wf_vals index)
{
    return atomic(g, &condition, join, array, v, index, "wf_atomic_if");
}

wf_val wf_cas_n(wf_graph *g, wf_array *array, wf_val expected, wf_val desired, wf_vals index)
{
    uint32_t slot, tuple;
    if (!wf__is_recording(g) || !wf__update_target(g, array, index, "wf_cas", &slot, &tuple))
        return wf__no_value(g);
    if (wf__is_complex(array->dtype)) {
        wf__poison(g, WF_ERR_DTYPE, "wf_cas: not for %s", wf_dtype_name(array->dtype));
        return wf__no_value(g);
    }
    wf__ref old = wf__converted(g, expected, array->dtype, "wf_cas");
    wf__ref new = wf__converted(g, desired, array->dtype, "wf_cas");
    if (!old || !new)
        return wf__no_value(g);
    wf__ref predicate;
    if (!wf__condition_of(g, NULL, "wf_cas", &predicate))
        return wf__no_value(g);
    wf__ref was = wf__cas(wf__graph_ir(g), slot, tuple, old, new, predicate);
    wf__note_store(g, slot);
    return wf__value(g, was);
}
