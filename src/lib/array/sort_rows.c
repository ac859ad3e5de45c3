/* sort_rows.c - sorts ordinary arrays along an axis: rows of keys (keys.h), each by itself, or by all threads if it is long, or
 * on a GPU.
 */
#include "keys.h"
#include "rows.h"

typedef struct sorting {
    wf_dtype dtype;
    bool descending;
    int64_t *index; /* the indices, from the first row on; NULL: the elements are sorted */
} sorting;

static void sort_row(const wfl_rows *rows, int64_t row, void *scratch, void *user)
{
    const sorting *s = user;
    int64_t n = rows->length, *index = s->index ? s->index + row * n : NULL, *other_index = scratch;
    char *data = rows->data + (size_t)(row * n) * rows->size;
    void *keys = index ? other_index + n : scratch;
    int bits = 8 * (int)rows->size;
    wfl_keys_of(s->dtype, s->descending, data, n, keys);
    if (wfl_key_is_wide(s->dtype))
        wfl_sort64(keys, (uint64_t *)keys + n, index, other_index, n, bits);
    else
        wfl_sort32(keys, (uint32_t *)keys + n, index, other_index, n, bits);
    if (!index)
        wfl_keys_to(s->dtype, s->descending, keys, n, data);
}

static wf_status sort_rows(const wfl_rows *rows, sorting *s)
{
    size_t key = wfl_key_is_wide(s->dtype) ? 8 : 4;
    wf_status status = WF_OK;
    if (rows->length < WFL_LONG_ROW)
        return wfl_rows_each(rows, (size_t)rows->length * (2 * key + (s->index ? 8 : 0)), sort_row, s);
    for (int64_t row = 0; row < rows->rows && status == WF_OK; ++row)
        status =
            wfl_sort_long(rows->ctx, s->dtype, s->descending, rows->data + (size_t)(row * rows->length) * rows->size,
                          rows->length, s->index ? s->index + row * rows->length : NULL);
    return status;
}

/* Sorts rows in the processor's memory. Returns their elements or indices. */
static wf_array *sorted_rows(const wfl_rows *rows, wf_dtype dtype, bool descending, bool indices)
{
    sorting s = { .dtype = dtype, .descending = descending };
    void *data = NULL;
    wf_array *out =
        indices ? wf_empty(rows->ctx, WF_I64, wf_array_shape(rows->array), .device = WF_CPU) : wf_retain(rows->array);
    bool ok = out && (!indices || wf_map(out, &data, NULL) == WF_OK);
    s.index = data;
    if (ok && sort_rows(rows, &s) == WF_OK)
        return wfl_rows_back(rows, out);
    wf_release(out);
    return NULL;
}

/* The same for rows of keys in a GPU's memory. */
static wf_array *sorted_keys(const wfl_rows *rows, wf_dtype dtype, bool descending, bool indices)
{
    wf_array *keys = wf_view_reshape(rows->array, WF_SHAPE(rows->rows, rows->length));
    wf_array *sorted = keys ? wfl_sort_gpu(keys, 8 * (int)wf_dtype_size(dtype), indices) : NULL;
    wf_array *view = sorted ? wfl_rows_back_view(rows, sorted) : NULL;
    if (!view)
        return NULL;
    wf_graph *g = wfl_begin(rows->ctx, NULL);
    wf_val x = wf_in(g, view);
    wf_array *out = wfl_array_run(g, wf_keep(indices ? wf_cast(x, WF_I64) : wfl_element_of(x, dtype, descending)));
    wf_release(view);
    return out;
}

wf_array *wfl_sorted(const wf_array *array, int axis, bool descending, bool indices, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    wf_dtype dtype = wf_array_dtype(array);
    bool gpu = wfl_on_gpu(array);
    wfl_rows rows;
    wfl_array_by_host(array, function);
    if (!wfl_array_ordered(array, function) || !wfl_axis_of(wf_array_context(array), &shape, &axis, function) ||
        !(gpu ? wfl_rows_of_keys(array, 1u << axis, descending, &rows) : wfl_rows_of(array, 1u << axis, dtype, &rows)))
        return NULL;
    wf_array *out = (gpu ? sorted_keys : sorted_rows)(&rows, dtype, descending, indices);
    wfl_rows_free(&rows);
    return out;
}
