/* rows.h - work on the host, row by row. The array is copied so that some of its axes come last and form a row. */
#ifndef WEFT_ARRAY_ROWS_H
#define WEFT_ARRAY_ROWS_H
#include "array_internal.h"

typedef struct wfl_rows {
    wf_context *ctx;
    wf_array *array; /* in C order; the axes of the rows are the last */
    char *data;
    size_t size; /* of an element */
    int64_t rows, length;
    int kept;              /* number of axes that are not of the rows: the first of `array` */
    int from[WF_MAX_RANK]; /* axis d of `array` is axis from[d] of the original */
    wf_axes axes;          /* the axes of the rows */
} wfl_rows;

/* Makes a copy of another dtype, which wfl_rows_free releases. False: error. */
bool wfl_rows_of(const wf_array *array, wf_axes axes, wf_dtype dtype, wfl_rows *rows);
/* The same for an array of a GPU: `array` becomes its keys (keys.h), u32 or u64, on the GPU, and `data` stays NULL. */
bool wfl_rows_of_keys(const wf_array *array, wf_axes axes, bool descending, wfl_rows *rows);
void wfl_rows_free(wfl_rows *rows);
/* Calls fn for each row, from all threads, with `scratch` bytes of private memory. */
typedef void wfl_row_fn(const wfl_rows *rows, int64_t row, void *scratch, void *user);
wf_status wfl_rows_each(const wfl_rows *rows, size_t scratch, wfl_row_fn *fn, void *user);
/* Calls fn(NULL, i, ...) for each i below n, from all threads. A call should take microseconds or more. */
wf_status wfl_tasks_each(wf_context *ctx, int64_t n, size_t scratch, wfl_row_fn *fn, void *user);
/* Consumes an array in C order with as many elements as rows->array. Returns a view of it with the axes in their
 * original order. */
wf_array *wfl_rows_back_view(const wfl_rows *rows, wf_array *array);
/* The same, as an array in C order. */
wf_array *wfl_rows_back(const wfl_rows *rows, wf_array *array);
#endif
