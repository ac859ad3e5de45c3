/* compress.c - the elements of a value where a mask holds. Their number is the extent of the result. So wf_compress
 * first evaluates the recording up to the place of each element in the result, and then moves the elements there.
 */
#include "launch/launch.h"

static bool is_pending(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__op_is_effect(ir->node[r].op))
            return true;
    return false;
}

/* Broadcasts value and mask, flattens both to one axis, and sets its length. False after poisoning. */
static bool as_lines(wf_graph *g, wf_val *v, wf_val *mask, int64_t *n)
{
    const wf_shape a = wf_val_shape(*v), b = wf_val_shape(*mask);
    wf_shape both;
    bool fits = wf__broadcast(&a, &b, &both);
    if (!fits || !wf__shape_count(&both, n)) {
        char of[160], with[160];
        wf_shape_text(&a, of, sizeof of);
        wf_shape_text(&b, with, sizeof with);
        wf__poison(g, WF_ERR_SHAPE,
                   fits ? "wf_compress: a value of shape %s and a mask of shape %s; their extents must be known"
                        : "wf_compress: a value of shape %s and a mask of shape %s do not broadcast",
                   of, with);
        return false;
    }
    const wf_shape line = { .rank = 1, .dim = { *n } };
    *v = (wf_reshape)((wf_broadcast)(*v, both), line);
    *mask = (wf_reshape)((wf_broadcast)(wf_cast(*mask, WF_BOOL), both), line);
    return wf__is_recording(g);
}

/* Reads the last of n offsets. Returns false on failure, with the context's error set. */
static bool read_last(const wf_array *offsets, int64_t n, int64_t *out)
{
    wf_array *last = wf_view_at((wf_array *)(uintptr_t)offsets, 0, n - 1);
    bool ok = last && wf_download(last, out, sizeof *out) == WF_OK;
    wf_release(last);
    return ok;
}

wf_array *(wf_compress)(wf_val v, wf_val mask)
{
    wf_graph *g = wf__graph_of(v) ? wf__graph_of(v) : wf__graph_of(mask);
    int64_t n = 0, count = 0;
    if (!wf__graph_of(v) || !wf__graph_of(mask)) {
        wf__poison(g, WF_ERR_ARG, "wf_compress: value and mask must be no numbers");
        return NULL;
    }
    bool number;
    if (wf__is_recording(g) && !wf__resolve(g, mask, "wf_compress", &number))
        return NULL;
    if (!wf__whole_value(v, "wf_compress", "", "say it before or after it") ||
        !wf__whole_value(mask, "wf_compress", "", "say it before or after it") || !as_lines(g, &v, &mask, &n))
        return NULL;
    wf_dtype dtype = wf_val_dtype(v);
    wf_freeze_refuse(g->ctx, "wf_compress", "how many elements there are is read back, and decides a shape");
    /* Pending effects may overwrite the arrays that the values read. */
    wf_array *kept = is_pending(wf__graph_ir(g)) ? (wf_keep)(v) : NULL, *on = (wf_keep)(mask);
    wf_val after = (wf_scan)(WF_JOIN_ADD, wf_cast(mask, WF_I64), 0, false, false);
    wf_array *offsets = (wf_keep)(after), *out = NULL;
    bool ok = offsets && wf_eval(g) == WF_OK && (!n || read_last(offsets, n, &count));
    if (ok)
        out = wf__array_make(g->ctx, "wf_compress", dtype, &(wf_shape){ .rank = 1, .dim = { count } }, NULL,
                             g->program.device);
    if (out) {
        const wf_val to = wf_sub(after, 1);
        wf_write_if_n(g, mask, out, v, (wf_vals){ &to, 1 });
        if (wf_eval(g) != WF_OK) {
            wf_release(out);
            out = NULL;
        }
    }
    wf_release(kept);
    wf_release(on);
    wf_release(offsets);
    return out;
}
