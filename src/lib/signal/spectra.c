/* spectra.c - checks of arrays that hold spectra. */
#include "spectra.h"

bool wfl_spectrum_last(const wf_array *a, const wf_spectrum *s, const char *function, const char *argument)
{
    wf_context *ctx = wf_array_context(a);
    char text[WFL_SIGNAL_TEXT], found[96], needed[96];
    if (!wfl_array_known(a, function))
        return false;
    if (!wfl_spectrum_valid(s, function, text)) {
        wf_error(ctx, WF_ERR_ARG, text);
        return false;
    }
    wf_shape shape = wf_array_shape(a), last = { .rank = s->rank };
    bool right = shape.rank >= s->rank;
    for (int d = 0; d < s->rank; ++d) {
        last.dim[d] = wfl_spectrum_extent(s, d);
        right = right && shape.dim[shape.rank - s->rank + d] == last.dim[d];
    }
    if (right)
        return true;
    wf_shape_text(&shape, found, sizeof found);
    wf_shape_text(&last, needed, sizeof needed);
    wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `%s` is %s%s, but the spectrum's elements are %s", function, argument,
                   wf_dtype_name(wf_array_dtype(a)), found, needed);
    return false;
}

bool wfl_spectrum_batch(const wf_array *a, const wf_shape *shape, int rank, int64_t last, const char *function,
                        const char *argument)
{
    wf_shape one = WF_SHAPE(last), all = *shape, given = wf_array_shape(a);
    char found[96], needed[96];
    if (!wfl_array_known(a, function))
        return false;
    all.rank -= rank - 1;
    all.dim[all.rank - 1] = last;
    if (wfl_same_shape(&given, &one) || wfl_same_shape(&given, &all))
        return true;
    wf_shape_text(&given, found, sizeof found);
    wf_shape_text(&all, needed, sizeof needed);
    wfl_array_fail(wf_array_context(a), WF_ERR_SHAPE, "%s: `%s` is %s%s, not (%lld) or %s", function, argument,
                   wf_dtype_name(wf_array_dtype(a)), found, (long long)last, needed);
    return false;
}
