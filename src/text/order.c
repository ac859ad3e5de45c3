/* order.c - functions of whole arrays in operator text whose elements must be computed before the recording goes on:
 * sorting, medians, histograms. wf_eval computes what has been recorded so far, a function of weft/functions.h makes the
 * result, and the recording reads it as an array.
 */
#include "text/record.h"
#include "weft/functions.h"

/* Keeps the array until the part of the text has run, and returns it. NULL: r has the message. */
static wf_array *hold(wf__recorder *r, wf_array *array, uint32_t at)
{
    return wf__text_hold(r, array, at) ? array : NULL;
}

/* Makes the error of a call that failed, which the context has, the error of the recording. */
static void fail_as_context(wf__recorder *r, uint32_t at)
{
    wf_context *ctx = wf_graph_context(r->graph);
    wf_status status = wf_last_status(ctx);
    wf__str s = { 0 };
    wf__str_add(&s, r->older_error ? "a function of whole arrays failed" : wf_last_message(ctx));
    if (!r->older_error)
        wf_clear_error(ctx);
    wf__text_mistake(r, s.failed || status == WF_OK ? WF_ERR_MEMORY : status, at, "%s", wf__str_get(&s));
    wf__str_free(&s);
}

/* Keeps the values of all names: wf_eval refuses those that read an array which it overwrites. */
static void keep_names(wf__recorder *r)
{
    for (uint32_t i = 0; i < r->name_n && r->written && !r->failed; i++) {
        const wf__text_name *n = &r->name[i];
        if (!n->stored && !wf_val_number(n->value.v, NULL, NULL))
            hold(r, wf_keep(n->value.v), n->at);
    }
}

/* Makes what has been recorded so far happen. False: r has the message. */
static bool evaluate_now(wf__recorder *r, const wf__tree *node)
{
    keep_names(r);
    if (!r->failed && wf_eval(r->graph) != WF_OK)
        fail_as_context(r, node->at);
    r->written = false;
    return !r->failed;
}

/* Returns the argument that operand i of the call names; NULL if the operand is something else. */
static const wf_array *named_argument(const wf__recorder *r, const wf__tree *node, uint32_t i)
{
    const wf__tree *operand = &r->text->node[r->text->list[node->a + i]];
    const wf_arg *arg = operand->kind == WF__TREE_NAME ? wf__text_arg(r, operand->at, operand->len) : NULL;
    bool hidden = arg && (wf__text_assigned(r, operand->at, operand->len) ||
                          (r->made && wf__text_wanted(r, operand->at, operand->len) >= 0));
    return arg && arg->kind == WF_ARG_ARRAY && !hidden ? arg->as.array : NULL;
}

/* Returns the value as an array, which the recording is going to compute. NULL: r has the message. */
static wf_array *array_of_value(wf__recorder *r, const wf__tree *node, wf__tval value)
{
    wf_array *array = wf_keep(value.v);
    wf__text_check(r, node->at);
    return hold(r, array, node->at);
}

/* True if elements may be computed now; false: r has the message. */
static bool may_compute(wf__recorder *r, const wf__tree *node)
{
    if (!r->runs)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at,
                         "%.*s needs elements that are computed before the recording goes on: wf_text and "
                         "wf_text_create do that (weft calc); a recording of your own or a dump cannot",
                         (int)node->len, r->text->src + node->at);
    return !r->failed;
}

/* Notes, for derivatives, an array with the result of the call or read, or with an operand of the call. False: r has the
 * message. */
static bool note(wf__recorder *r, const wf_array *array, const wf__tree *node, bool operand)
{
    uint32_t at = (uint32_t)(node - r->text->node);
    wf__text_source source = { .first = wf__text_first_node(r->text, at),
                               .last = at + 1,
                               .at = node->at,
                               .len = node->len,
                               .end = r->now,
                               .operand = operand };
    return wf__text_note(r, array, source);
}

const wf_array *wf__text_computed(wf__recorder *r, const wf__tree *node, wf__tval value)
{
    const wf_array *array = may_compute(r, node) ? array_of_value(r, node, value) : NULL;
    return array && evaluate_now(r, node) && note(r, array, node, false) ? array : NULL;
}

bool wf__text_elements(wf__recorder *r, const wf__tree *node, const wf__tval *operand, uint32_t n,
                       const wf_array **array)
{
    for (uint32_t i = 0; may_compute(r, node) && i < n; i++) {
        bool converted = operand[i].v.h.num != r->value[r->text->list[node->a + i]].v.h.num;
        array[i] = converted ? NULL : named_argument(r, node, i);
        if (!array[i]) {
            array[i] = array_of_value(r, node, operand[i]);
            note(r, array[i], node, true);
        }
    }
    return !r->failed && evaluate_now(r, node);
}

wf__tval wf__text_made(wf__recorder *r, const wf__tree *node, wf_array *result)
{
    if (!result && !r->failed)
        fail_as_context(r, node->at);
    result = hold(r, result, node->at);
    return r->failed || !note(r, result, node, false) ? wf__text_poison(r) : wf__tval_node(wf_in(r->graph, result));
}

const wf__tree *wf__text_argument(const wf__recorder *r, const wf__tree *node, int i)
{
    return &r->text->node[r->text->list[node->a + (uint32_t)i]];
}

bool wf__text_number(wf__recorder *r, const wf__tree *node, wf__tval value, const char *what, double *number)
{
    if (!r->runs && !wf__tval_is_number(value)) {
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at,
                         "%s must be a number: its value is not known while the text is recorded", what);
        return false;
    }
    *number = value.v.h.num;
    if (wf__tval_is_number(value))
        return true;
    wf_shape shape = wf_val_shape(value.v);
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] != 1) {
            wf__text_mistake(r, WF_ERR_SHAPE, node->at, "%s must be one number, and has more elements", what);
            return false;
        }
    if (wf__text_is_complex(wf_val_dtype(value.v)) || wf__text_is_pair(value.v)) {
        wf__text_mistake(r, WF_ERR_DTYPE, node->at, "%s must be a real number, and is complex", what);
        return false;
    }
    wf__tval wide = wf__tval_cast(&r->convert, value, WF_F64);
    const wf_array *one = wf__text_computed(r, node, wide);
    if (one && wf_download(one, number, sizeof *number) != WF_OK)
        fail_as_context(r, node->at);
    return !r->failed;
}

static wf_array *find_histogram(wf__recorder *r, const wf__tree *node, const wf__tval *args, const wf_array *array)
{
    enum { MAX_BINS = 1 << 24 };
    double bins, lo, hi;
    wf__tval least = node->n > 2 ? args[2] : args[0], most = node->n > 3 ? args[3] : args[0];
    if (node->n < 4)
        most = wf__tval_node(wf_reduce(WF_JOIN_MAX, args[0].v, WF_ALL_AXES));
    if (node->n < 3)
        least = wf__tval_node(wf_reduce(WF_JOIN_MIN, args[0].v, WF_ALL_AXES));
    if (!wf__text_number(r, wf__text_argument(r, node, 1), args[1], "the number of bins", &bins) ||
        !wf__text_number(r, wf__text_argument(r, node, node->n > 2 ? 2 : 0), least, "the lower edge", &lo) ||
        !wf__text_number(r, wf__text_argument(r, node, node->n > 3 ? 3 : 0), most, "the upper edge", &hi))
        return NULL;
    if (!(bins >= 1 && bins <= MAX_BINS) || bins != (double)(int64_t)bins) {
        wf__text_mistake(r, WF_ERR_ARG, node->at, "the number of bins is a whole number from 1 to %d, not %.10g",
                         (int)MAX_BINS, bins);
        return NULL;
    }
    if (node->n < 4 && lo == hi) /* all elements are equal: they are in the middle */
        lo -= 0.5, hi += 0.5;
    return wf_array_histogram(array, (int64_t)bins, lo, hi);
}

/* Calls the function of weft/functions.h. NULL: the context or r has the message. */
static wf_array *call_function(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args,
                               wf_axes axes, const wf_array *array)
{
    double q;
    switch (kind) {
    case WF__FOLD_SORT:
        return wf_array_sort(array, wf__text_first_axis(axes), false);
    case WF__FOLD_ARGSORT:
        return wf_array_argsort(array, wf__text_first_axis(axes), false);
    case WF__FOLD_MEDIAN:
        return wf_array_median(array, axes);
    case WF__FOLD_QUANTILE:
        return wf__text_number(r, wf__text_argument(r, node, 1), args[1], "the fraction", &q)
                   ? wf_array_quantile(array, q, axes)
                   : NULL;
    default:
        return find_histogram(r, node, args, array);
    }
}

wf__tval wf__text_order_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args,
                              wf_axes axes)
{
    wf__tval a = args[0];
    const wf_array *array;
    wf_dtype t = wf_val_dtype(a.v);
    if (kind >= WF__FOLD_MEDIAN && (t == WF_F16 || t == WF_BF16))
        a = wf__tval_cast(&r->convert, a, WF_F32);
    else if (t == WF_BOOL)
        a = wf__tval_cast(&r->convert, a, WF_I32);
    if (!wf__text_elements(r, node, &a, 1, &array))
        return wf__text_poison(r);
    return wf__text_made(r, node, call_function(r, kind, node, args, axes, array));
}
