/* transfer.c - contents of arrays on the host: moves them between its own memory, the processor's arrays and those of
 * GPUs, and gives access to them in place.
 */
#include "object/object.h"
#include <stdlib.h>

bool wf__array_arrived(const wf_array *a, const char *function)
{
    if (!wf__array_usable(a, function)) /* which may queue work that computes the array */
        return false;
    wf__array_wait(a);
    if (!wf__array_usable(a, function))
        return false;
    int lost = WF__LOST;
    wf__buffer *pinned = wf__array_pin(a);
    bool is_lost = atomic_compare_exchange_strong(&a->buffer->fault, &lost, WF__SOUND);
    wf__array_unpin(a->ctx, pinned);
    if (!is_lost)
        return true;
    wf__error(a->ctx, WF_ERR_ARG,
              "%s: queued work that was to write the array failed or was dropped; the report of its stream says why",
              function);
    return false;
}

/* Copies the elements, the first at `base`, in C order to or from packed memory. stride NULL = the strides of the
 * array. */
static void walk(const wf_array *a, const int64_t *stride, char *base, char *packed, bool to_array)
{
    size_t size = wf_dtype_size(a->dtype);
    int rank = a->shape.rank;
    stride = stride ? stride : a->stride;
    int64_t index[WF_MAX_RANK] = { 0 }, n = rank ? a->shape.dim[rank - 1] : 1, step = rank ? stride[rank - 1] : 1;
    if (wf_array_count(a) == 0)
        return;
    for (;;) {
        int64_t offset = 0;
        for (int d = 0; d + 1 < rank; ++d)
            offset += index[d] * stride[d];
        char *row = base + offset * (int64_t)size;
        if (step == 1) {
            memcpy(to_array ? row : packed, to_array ? packed : row, (size_t)n * size);
        } else {
            for (int64_t i = 0; i < n; ++i) {
                char *p = row + i * step * (int64_t)size, *q = packed + (size_t)i * size;
                memcpy(to_array ? p : q, to_array ? q : p, size);
            }
        }
        packed += (size_t)n * size;
        int d = rank - 2;
        while (d >= 0 && ++index[d] == a->shape.dim[d])
            index[d--] = 0;
        if (d < 0)
            return;
    }
}

bool wf_array_is_packed(const wf_array *a) { return a && wf__is_c_order(a->shape.dim, a->stride, a->shape.rank); }

/* Sets order[] to the axes with more than one element, by the size of their strides, the largest first. Returns their
 * number. */
static int by_stride(const wf_array *a, int *order)
{
    int n = 0;
    for (int d = 0; d < a->shape.rank; ++d) {
        int at = n;
        if (a->shape.dim[d] == 1)
            continue;
        for (; at > 0 && llabs(a->stride[order[at - 1]]) < llabs(a->stride[d]); --at)
            order[at] = order[at - 1];
        order[at] = d;
        ++n;
    }
    return n;
}

/* Uploads to an array with gaps: sorts the elements by address, then copies rows of contiguous elements. */
static bool upload_apart(const wf_array *a, char *packed, wf__failure *f)
{
    int64_t stride[WF_MAX_RANK] = { 0 }, first = 0, step = 1, size = (int64_t)wf_dtype_size(a->dtype);
    int order[WF_MAX_RANK], n = by_stride(a, order);
    wf__gpu_rows rows = { .bytes = (size_t)size };
    for (int k = n - 1; k >= 0; --k) {
        int d = order[k];
        bool back = a->stride[d] < 0;
        stride[d] = back ? -step : step;
        first += back ? (a->shape.dim[d] - 1) * step : 0;
        step *= a->shape.dim[d];
    }
    for (; n > 0 && llabs(a->stride[order[n - 1]]) * size == (int64_t)rows.bytes; --n)
        rows.bytes *= (size_t)a->shape.dim[order[n - 1]];
    for (; rows.axes < n; ++rows.axes) {
        rows.dim[rows.axes] = a->shape.dim[order[rows.axes]];
        rows.step[rows.axes] = llabs(a->stride[order[rows.axes]]) * size;
    }
    char *sorted = wf__alloc((size_t)(step * size));
    if (sorted)
        walk(a, stride, sorted + first * size, packed, true);
    else
        wf__str_add(&f->text, "out of memory");
    bool ok =
        sorted && wf__gpu_upload_rows(a->buffer->gpu, (char *)(uintptr_t)a->lo, &a->buffer->use, sorted, &rows, f);
    wf__free(sorted);
    return ok;
}

/* Copies between packed elements and an array in a GPU's memory. Downloads all bytes that an array with gaps spans. */
static wf_status walk_gpu(const wf_array *a, const char *function, char *packed, bool to_array)
{
    wf__gpu *gpu = a->buffer->gpu;
    size_t bytes = (size_t)(a->hi - a->lo);
    wf__failure f = { .status = WF_ERR_MEMORY };
    char *span = NULL;
    bool ok, direct = wf_array_is_packed(a);
    if (wf_array_count(a) == 0)
        return WF_OK;
    if (to_array)
        ok = direct ? wf__gpu_upload(gpu, a->base, &a->buffer->use, packed, bytes, &f) : upload_apart(a, packed, &f);
    else if (direct)
        ok = wf__gpu_download(gpu, packed, a->base, &a->buffer->use, bytes, &f);
    else {
        span = wf__alloc(bytes);
        if (!span)
            wf__str_add(&f.text, "out of memory");
        ok = span && wf__gpu_download(gpu, span, a->lo, &a->buffer->use, bytes, &f);
        if (ok)
            walk(a, NULL, span + (a->base - a->lo), packed, false);
    }
    wf_status status = ok ? WF_OK : wf__error(a->ctx, f.status, "%s: %s", function, wf__str_get(&f.text));
    wf__free(span);
    wf__str_free(&f.text);
    return status;
}

static bool exact_bytes(const wf_array *a, const void *p, size_t bytes, const char *function)
{
    size_t want = (size_t)wf_array_count(a) * wf_dtype_size(a->dtype);
    if (bytes == want && (p || !bytes))
        return true;
    if (!p && bytes) {
        wf__error(a->ctx, WF_ERR_ARG, "%s: the program's memory is NULL", function);
        return false;
    }
    wf__error(a->ctx, WF_ERR_ARG, "%s: %llu bytes given for an array of %llu", function, (unsigned long long)bytes,
              (unsigned long long)want);
    return false;
}

wf_status wf_upload(wf_array *array, const void *src, size_t bytes)
{
    if (!array)
        return WF_ERR_ARG;
    if (!wf__array_holds(array, "wf_upload") || !exact_bytes(array, src, bytes, "wf_upload"))
        return WF_ERR_ARG;
    if (array->read_only)
        return wf__error(array->ctx, WF_ERR_ARG, "wf_upload: the array is " WF__READ_ONLY);
    if (!wf__array_evaluate(array, NULL))
        return wf_last_status(array->ctx);
    wf__array_wait(array);
    array->ctx->services->on_host_access(array, WF__HOST_WRITES, "wf_upload");
    if (!wf__array_own(array, "wf_upload"))
        return WF_ERR_MEMORY;
    wf_status status = WF_OK;
    if (wf__is_gpu(array->device))
        status = walk_gpu(array, "wf_upload", (char *)(uintptr_t)src, true);
    else
        walk(array, NULL, array->base, (char *)(uintptr_t)src, true);
    if (status != WF_OK)
        return status;
    atomic_store(&array->state, WF_STATE_READY);
    atomic_store(&array->buffer->fault, WF__SOUND);
    return WF_OK;
}

wf_status wf_download(const wf_array *array, void *dst, size_t bytes)
{
    if (!array)
        return WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_download") || !exact_bytes(array, dst, bytes, "wf_download"))
        return WF_ERR_ARG;
    array->ctx->services->on_host_access(array, WF__HOST_READS, "wf_download");
    wf__buffer *pinned = wf__array_pin(array);
    wf_status status = WF_OK;
    if (wf__is_gpu(array->device))
        status = walk_gpu(array, "wf_download", dst, false);
    else
        walk(array, NULL, array->base, dst, false);
    wf__array_unpin(array->ctx, pinned);
    return status;
}

static void give_map(const wf_array *array, void **data, int64_t *strides)
{
    *data = array->base;
    if (strides)
        memcpy(strides, array->stride, (size_t)array->shape.rank * sizeof *strides);
}

/* Waits until the array's GPU has done all work that was given to it. */
static wf_status finish(const wf_array *array, const char *function)
{
    wf__failure f = { 0 };
    wf_status status = WF_OK;
    if (!wf__gpu_finish(array->buffer->gpu, &f))
        status = wf__error(array->ctx, f.status, "%s: %s", function, wf__str_get(&f.text));
    wf__str_free(&f.text);
    return status;
}

wf_status wf_map(const wf_array *array, void **data, int64_t *strides)
{
    if (!array || !data)
        return array ? wf__error(array->ctx, WF_ERR_ARG, "wf_map: data is NULL") : WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_map"))
        return WF_ERR_ARG;
    array->ctx->services->on_host_access(array, WF__HOST_MAPS, "wf_map");
    char device[32];
    bool there = wf__is_gpu(array->device);
    if (there && !wf__gpu_is_shared(array->buffer->gpu, array->base))
        return wf__error(array->ctx, WF_ERR_DEVICE,
                         "wf_map: the array is in the memory of %s; say wf_download, wf_copy_to or wf_map_device",
                         wf__device_name(array->device, device));
    if (!wf__array_expose((wf_array *)array))
        return WF_ERR_MEMORY;
    wf_status status = there ? finish(array, "wf_map") : WF_OK;
    if (status == WF_OK)
        give_map(array, data, strides);
    return status;
}

wf_status wf_map_device(const wf_array *array, void **data, int64_t *strides)
{
    if (!array || !data)
        return array ? wf__error(array->ctx, WF_ERR_ARG, "wf_map_device: data is NULL") : WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_map_device"))
        return WF_ERR_ARG;
    array->ctx->services->on_host_access(array, WF__HOST_MAPS, "wf_map_device");
    if (!wf__is_gpu(array->device))
        return wf__error(array->ctx, WF_ERR_DEVICE,
                         "wf_map_device: the array is in the processor's memory; say wf_map");
    if (!wf__array_expose((wf_array *)array))
        return WF_ERR_MEMORY;
    wf_status status = finish(array, "wf_map_device");
    if (status == WF_OK)
        give_map(array, data, strides);
    return status;
}

static bool copied_there(const wf_array *array, const wf_array *copy)
{
    wf__failure f = { 0 };
    wf__buffer *pinned = wf__array_pin(array);
    bool ok = wf__gpu_copy(copy->buffer->gpu, copy->base, &copy->buffer->use, array->base, &array->buffer->use,
                           copy->buffer->bytes, &f);
    wf__array_unpin(array->ctx, pinned);
    if (!ok)
        wf__error(array->ctx, f.status, "wf_copy_to: %s", wf__str_get(&f.text));
    wf__str_free(&f.text);
    return ok;
}

/* Copies through packed elements in the processor's memory, unless the contents stay on one GPU. */
wf_array *wf_copy_to(const wf_array *array, wf_device device)
{
    if (!array || !wf__array_usable(array, "wf_copy_to"))
        return NULL;
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(array->dtype);
    wf_array *copy = wf__device_known(array->ctx, "wf_copy_to", device)
                         ? wf__array_make(array->ctx, "wf_copy_to", array->dtype, &array->shape, NULL, device)
                         : NULL;
    bool host = copy && !wf__is_gpu(copy->device);
    bool stays = copy && !host && copy->device == array->device && bytes;
    bool gaps = stays && !wf_array_is_packed(array);
    if (copy && copy->device == array->device && (gaps || array->ctx->services->copies(array->ctx))) {
        if (array->ctx->services->copy_into(array, copy))
            return copy;
        wf_release(copy);
        return NULL;
    }
    if (copy && (wf__is_freezing(array->ctx) || wf__is_taping(array->ctx)))
        array->ctx->services->on_host_access(array, WF__HOST_MOVES, "wf_copy_to another device");
    if (stays) {
        if (wf__array_arrived(array, "wf_copy_to") && copied_there(array, copy))
            return copy;
        wf_release(copy);
        return NULL;
    }
    char *packed = !copy ? NULL : host ? copy->base : wf__alloc(bytes + 1);
    bool ok = copy && packed && wf_download(array, packed, bytes) == WF_OK &&
              (host || wf_upload(copy, packed, bytes) == WF_OK);
    if (copy && !packed)
        wf__error(array->ctx, WF_ERR_MEMORY, "wf_copy_to: out of memory");
    if (!host)
        wf__free(packed);
    if (ok)
        return copy;
    wf_release(copy);
    return NULL;
}
