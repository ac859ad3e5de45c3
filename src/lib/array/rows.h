/* rows.h - work on the host, row by row: an array copied so that some of its axes come last and are one row. */
#ifndef WEFT_ARRAY_ROWS_H
#define WEFT_ARRAY_ROWS_H
#include "array_internal.h"

typedef struct wfl_rows {
    wf_context *ctx;
    wf_array *array; /* in C order; axes of the rows last */
    char *data;
    size_t size; /* of an element */
    int64_t rows, length;
    int kept;              /* axes that are not of the rows, the first ones of `array` */
    int from[WF_MAX_RANK]; /* axis d of `array` is axis from[d] of the original */
    wf_axes axes;          /* of the rows */
} wfl_rows;

/* A private copy of another dtype, to be released by wfl_rows_free. False: error. */
bool wfl_rows_of(const wf_array *array, wf_axes axes, wf_dtype dtype, wfl_rows *rows);
/* Of an array of a GPU: its keys (keys.h), u32 or u64, there; `data` stays NULL. */
bool wfl_rows_of_keys(const wf_array *array, wf_axes axes, bool descending, wfl_rows *rows);
void wfl_rows_free(wfl_rows *rows);
/* Calls fn for each row, from all threads, with `scratch` bytes of private memory. */
typedef void wfl_row_fn(const wfl_rows *rows, int64_t row, void *scratch, void *user);
wf_status wfl_rows_each(const wfl_rows *rows, size_t scratch, wfl_row_fn *fn, void *user);
/* Calls fn(NULL, i, ...) for i below n: tasks worth microseconds or more. */
wf_status wfl_tasks_each(wf_context *ctx, int64_t n, size_t scratch, wfl_row_fn *fn, void *user);
/* Consumes an array in C order, of as many elements as rows->array; a view of it with the axes where they were. */
wf_array *wfl_rows_back_view(const wfl_rows *rows, wf_array *array);
/* The same in C order. */
wf_array *wfl_rows_back(const wfl_rows *rows, wf_array *array);
#endif
