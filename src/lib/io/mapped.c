/* mapped.c - files whose samples are the memory of an array: the system reads pages when they are used, and writes back
 * pages that were changed.
 *
 * That takes a file whose samples are stored as the array has them: no compression, the machine's byte order, elements at
 * multiples of their size. A file that is written gets all its blocks first, so that a full disk is an error here and not
 * a signal (SIGBUS) at the first access to a page.
 */
#include "io_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct wfl_io_mapping {
    _Atomic int users; /* the file, and the array until it is freed */
    void *at;
    size_t bytes;
};

void wfl_io_mapping_leave(wfl_io_mapping *m)
{
    if (m && atomic_fetch_sub(&m->users, 1) == 1)
        free(m);
}

bool wfl_io_mapping_used(const wfl_io_mapping *m) { return m && atomic_load(&m->users) > 1; }

static void unmap(void *user)
{
    wfl_io_mapping *m = user;
    munmap(m->at, m->bytes);
    wfl_io_mapping_leave(m);
}

/* Fails, with the reason, unless the samples are what the memory of an array of this dtype would be. */
static wf_status check_layout(wf_context *ctx, const char *path, const wfl_io_layout *l, wf_dtype dtype)
{
    const char *hint = "wf_file_read and wf_file_write convert";
    if (l->swap)
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "wf_file_map: the file has the other byte order; %s", hint);
    if (l->type != wfl_io_type_native(dtype))
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "wf_file_map: the file stores %s as %s; %s",
                           wf_dtype_name(dtype), l->type->name, hint);
    if ((size_t)l->offset % wf_dtype_size(dtype))
        return wfl_io_fail(
            ctx, path, WF_ERR_UNSUPPORTED,
            "wf_file_map: the samples begin at byte %lld, which is no multiple of the %zu bytes of %s; %s",
            (long long)l->offset, wf_dtype_size(dtype), wf_dtype_name(dtype), hint);
    return WF_OK;
}

/* Maps the samples of a file as an array. *mapping keeps the state of both. NULL on error. */
static wf_array *map_samples(wf_context *ctx, const char *path, int fd, const wfl_io_layout *l, wf_dtype dtype,
                             const wf_shape *shape, bool writes, wfl_io_mapping **mapping)
{
    wfl_io_mapping *m = calloc(1, sizeof *m);
    const size_t bytes = (size_t)wfl_io_layout_end(l);
    if (!m) {
        wfl_io_fail_memory(ctx, path, (int64_t)sizeof *m);
        return NULL;
    }
    m->bytes = bytes;
    m->at = mmap(NULL, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (m->at == MAP_FAILED) {
        wfl_io_fail(ctx, path, errno == ENOMEM ? WF_ERR_MEMORY : WF_ERR_IO, "wf_file_map: %lld bytes: %s",
                    (long long)bytes, wfl_io_errno_text(errno));
        free(m);
        return NULL;
    }
    int64_t stride[WF_MAX_RANK] = { 0 };
    for (int d = 0; d < l->rank; d++)
        if (l->axis[d] != WFL_NO_AXIS)
            stride[l->axis[d]] = l->step[d] / (int64_t)wf_dtype_size(dtype);
    for (int d = 0; d < shape->rank; d++)
        if (shape->dim[d] == 1)
            stride[d] = 1; /* a stride of 0 would say that elements repeat */
    atomic_init(&m->users, 2);
    const wf_place place = { .size = sizeof place, .device = WF_CPU, .strides = stride, .read_only = !writes };
    wf_array *a = wf_wrap_with(ctx, (char *)m->at + l->offset, dtype, *shape, &place, unmap, m);
    if (!a) { /* wf_wrap_with has called unmap */
        wfl_io_mapping_leave(m);
        return NULL;
    }
    *mapping = m;
    return a;
}

static bool is_empty(const wf_shape *shape)
{
    for (int d = 0; d < shape->rank; d++)
        if (shape->dim[d] == 0)
            return true;
    return false;
}

wf_array *wfl_io_map_input(wfl_io_input *in, wfl_io_mapping **mapping)
{
    wf_context *ctx = in->reader.ctx;
    const char *path = in->reader.path;
    struct stat info;
    if (in->format->read || in->reader.gzip || in->reader.packed) {
        wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "wf_file_map: %s cannot be mapped; MRC and NPY files can",
                    in->reader.gzip ? "a compressed file" : in->format->name);
        return NULL;
    }
    if (check_layout(ctx, path, &in->layout, in->image.dtype) != WF_OK)
        return NULL;
    if (is_empty(&in->image.shape))
        return wf_empty(ctx, in->image.dtype, in->image.shape, .device = WF_CPU);
    if (fstat(in->reader.fd, &info) != 0 || info.st_size < wfl_io_layout_end(&in->layout)) {
        wfl_io_fail(ctx, path, WF_ERR_IO, "wf_file_map: the file ends before its samples do");
        return NULL;
    }
    return map_samples(ctx, path, in->reader.fd, &in->layout, in->image.dtype, &in->image.shape, false, mapping);
}

wf_array *wfl_io_map_output(wfl_io_output *out, wf_dtype dtype, const wf_shape *shape, wfl_io_mapping **mapping)
{
    wf_context *ctx = out->what.ctx;
    const char *path = out->what.path;
    if (out->format->write) {
        wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "wf_file_map: %s cannot be mapped; MRC and NPY files can",
                    out->format->name);
        return NULL;
    }
    if (check_layout(ctx, path, &out->layout, dtype) != WF_OK)
        return NULL;
    if (is_empty(shape))
        return wf_empty(ctx, dtype, *shape, .device = WF_CPU);
    const int64_t end = wfl_io_layout_end(&out->layout);
    const int code = posix_fallocate(out->writer.fd, 0, (off_t)end);
    if (code) {
        wfl_io_fail(ctx, path, WF_ERR_IO, "wf_file_map: %lld bytes on the disk: %s", (long long)end,
                    wfl_io_errno_text(code));
        return NULL;
    }
    wfl_io_extend(&out->writer, end);
    return map_samples(ctx, path, out->writer.fd, &out->layout, dtype, shape, true, mapping);
}
