/* rows.c - rows in parallel. wf_host_apply hands out runs of elements without regard to rows. The run that has the
 * first element of a row works on the whole row, through the address of the array.
 */
#include "rows.h"
#include "keys.h"

/* Sets all fields but those of the copy. */
static void describe(const wf_array *array, wf_axes axes, wf_dtype dtype, wfl_rows *rows)
{
    wf_shape shape = wf_array_shape(array);
    *rows = (wfl_rows){ .ctx = wf_array_context(array), .size = wf_dtype_size(dtype), .axes = axes };
    rows->rows = wfl_axes_count(&shape, ~axes);
    rows->length = wfl_axes_count(&shape, axes);
    for (int of_rows = 0, n = 0; of_rows < 2; ++of_rows) {
        for (int d = 0; d < shape.rank; ++d)
            if ((int)(axes >> d & 1) == of_rows)
                rows->from[n++] = d;
        rows->kept = of_rows ? rows->kept : n;
    }
}

bool wfl_rows_of(const wf_array *array, wf_axes axes, wf_dtype dtype, wfl_rows *rows)
{
    describe(array, axes, dtype, rows);
    wf_array *view = wf_view_permute((wf_array *)array, rows->from); /* the view is only read */
    rows->array = view ? wf_array_cast(view, dtype) : NULL;
    wf_release(view);
    void *data = NULL;
    bool ok = rows->array && wf_map(rows->array, &data, NULL) == WF_OK;
    rows->data = data;
    if (!ok)
        wfl_rows_free(rows);
    return ok;
}

bool wfl_rows_of_keys(const wf_array *array, wf_axes axes, bool descending, wfl_rows *rows)
{
    describe(array, axes, wfl_key_dtype(wf_array_dtype(array)), rows);
    wf_graph *g = wfl_begin(rows->ctx, NULL);
    rows->array = wfl_array_run(g, wf_keep(wfl_key_of(wf_permute(wf_in(g, array), rows->from), descending)));
    return rows->array != NULL;
}

void wfl_rows_free(wfl_rows *rows)
{
    wf_release(rows->array);
    rows->array = NULL;
}

typedef struct job {
    const wfl_rows *rows;
    wfl_row_fn *fn;
    void *user;
    char *scratch; /* [threads, size] */
    size_t size;
} job;

static void do_chunk(const wf_chunk *chunk, void *user)
{
    const job *j = user;
    int64_t length = j->rows->length, row = (chunk->first + length - 1) / length;
    for (; row * length < chunk->first + chunk->n; ++row)
        j->fn(j->rows, row, j->scratch + (size_t)chunk->thread * j->size, j->user);
}

wf_status wfl_rows_each(const wfl_rows *rows, size_t scratch, wfl_row_fn *fn, void *user)
{
    job j = { .rows = rows, .fn = fn, .user = user, .size = (scratch + 63) / 64 * 64 };
    void *data = NULL;
    wf_array *memory = wfl_array_scratch(rows->ctx, wf_get_threads(rows->ctx), j.size, &data);
    if (!memory)
        return wfl_array_error(rows->ctx);
    j.scratch = data;
    wf_status status = wf_host_apply(rows->ctx, WF_ARRAYS(rows->array), WF_NO_ARRAYS, do_chunk, &j);
    wf_release(memory);
    return status;
}

enum { SHARE = 4096 }; /* elements of the smallest run of wf_host_apply */

wf_status wfl_tasks_each(wf_context *ctx, int64_t n, size_t scratch, wfl_row_fn *fn, void *user)
{
    /* only its count matters; its elements are not touched */
    wf_array *counted = wf_empty(ctx, WF_U8, WF_SHAPE(n * SHARE), .device = WF_CPU);
    wfl_rows rows = { .ctx = ctx, .array = counted, .size = 1, .rows = n, .length = SHARE };
    wf_status status = counted ? wfl_rows_each(&rows, scratch, fn, user) : wfl_array_error(ctx);
    wf_release(counted);
    return status;
}

wf_array *wfl_rows_back_view(const wfl_rows *rows, wf_array *array)
{
    int back[WF_MAX_RANK], rank = wf_array_shape(rows->array).rank;
    for (int d = 0; d < rank; ++d)
        back[rows->from[d]] = d;
    wf_array *shaped = array ? wf_view_reshape(array, wf_array_shape(rows->array)) : NULL;
    wf_array *view = shaped ? wf_view_permute(shaped, back) : NULL;
    wf_release(shaped);
    wf_release(array);
    return view;
}

wf_array *wfl_rows_back(const wfl_rows *rows, wf_array *array)
{
    wf_array *view = wfl_rows_back_view(rows, array), *out = view ? wf_array_contiguous(view) : NULL;
    wf_release(view);
    return out;
}
