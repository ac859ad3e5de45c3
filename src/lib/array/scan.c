/* scan.c - cumulative sums, a row at a time. */
#include "rows.h"

/* What rows are summed in, and what the result is. */
static wf_dtype work_dtype(wf_dtype t)
{
    switch (t) {
    case WF_U8:
    case WF_U16:
    case WF_U32:
    case WF_U64:
        return WF_U64;
    case WF_F16:
    case WF_BF16:
    case WF_F32:
        return WF_F32;
    case WF_C32:
    case WF_C64:
        return WF_C64;
    case WF_F64:
    case WF_C128:
        return t;
    default:
        return WF_I64;
    }
}

static void scan_int(uint64_t *x, int64_t n, bool exclusive)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        uint64_t before = sum;
        sum += x[i];
        x[i] = exclusive ? before : sum;
    }
}

static void scan_f32(float *x, int64_t n, int64_t step, bool exclusive)
{
    double sum = 0;
    for (int64_t i = 0; i < n * step; i += step) {
        double before = sum;
        sum = i || exclusive ? sum + (double)x[i] : (double)x[i]; /* -0 stays */
        x[i] = (float)(exclusive ? before : sum);
    }
}

static void scan_f64(double *x, int64_t n, int64_t step, bool exclusive)
{
    double sum = 0;
    for (int64_t i = 0; i < n * step; i += step) {
        double before = sum;
        sum = i || exclusive ? sum + x[i] : x[i];
        x[i] = exclusive ? before : sum;
    }
}

static void scan_row(const wf__rows *rows, int64_t row, void *scratch, void *user)
{
    (void)scratch;
    const bool *exclusive = user;
    void *data = rows->data + (size_t)(row * rows->length) * rows->size;
    wf_dtype t = wf_array_dtype(rows->array);
    int64_t step = wf__is_complex_dtype(t) ? 2 : 1;
    for (int64_t part = 0; part < step; ++part)
        if (t == WF_F32 || t == WF_C64)
            scan_f32((float *)data + part, rows->length, step, *exclusive);
        else if (t == WF_F64 || t == WF_C128)
            scan_f64((double *)data + part, rows->length, step, *exclusive);
        else
            scan_int(data, rows->length, *exclusive);
}

wf_array *wf_array_cumsum(const wf_array *array, int axis, bool exclusive)
{
    wf_shape shape = wf_array_shape(array);
    wf_dtype t = wf_array_dtype(array), work = work_dtype(t);
    wf__rows rows;
    if (!array || !wf__axis_of(wf_array_context(array), &shape, &axis, "wf_array_cumsum") ||
        !wf__rows_of(array, 1u << axis, work, &rows))
        return NULL;
    wf_array *out = NULL;
    if (wf__rows_each(&rows, 0, scan_row, &exclusive) == WF_OK)
        out = wf__rows_back(&rows, wf_retain(rows.array));
    wf__rows_free(&rows);
    if (!out || t < WF_F16 || t == work)
        return out;
    wf_array *rounded = wf_array_cast(out, t);
    wf_release(out);
    return rounded;
}
