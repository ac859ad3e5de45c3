/* output.c - files that are written, as a whole or in boxes in any order: begins one, stores boxes of samples that lie
 * in C order, and makes the file appear.
 *
 * A format with other samples (compressed ones) stores boxes by itself, in the order that it can. What is never written
 * is zero.
 */
#include "io_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

wf_status wfl_io_output_open(const wfl_io_source *what, const wfl_io_format *format, const wf_meta *meta,
                             const char *join, wfl_io_output *out)
{
    *out = (wfl_io_output){ .what = *what, .meta = *meta, .format = format, .join = join, .shared = join != NULL };
    out->buffer = malloc(IO_CHUNK);
    if (!out->buffer)
        return wfl_io_fail_memory(what->ctx, what->path, (int64_t)IO_CHUNK);
    wf_status status = format->create(out);
    return status == WF_OK ? WF_OK : wfl_io_output_close(out, status);
}

int wfl_io_output_share(wfl_io_output *out, const char **temp)
{
    const int code = out->folder ? 0 : wfl_io_name(&out->writer);
    out->shared = true;
    if (!code)
        *temp = out->folder ? out->folder : out->writer.temp;
    return code;
}

wf_status wfl_io_output_create(wfl_io_output *out)
{
    const wfl_io_source *what = &out->what;
    wf_status status = out->join ? wfl_io_join(what->ctx, what->path, out->join, &out->meta, &out->writer)
                                 : wfl_io_create(what->ctx, what->path, &out->meta, &out->writer);
    out->is_open = status == WF_OK;
    return status;
}

wf_status wfl_io_output_close(wfl_io_output *out, wf_status status)
{
    if (out->is_open && status == WF_OK && !out->format->write && !out->join)
        wfl_io_extend(&out->writer, wfl_io_layout_end(&out->layout));
    if (out->format->finish && out->join)
        out->format->finish(out, WF_ERR_IO); /* frees its state alone: another process completes the file */
    else if (out->format->finish)
        status = out->format->finish(out, status);
    if (out->is_open)
        status = wfl_io_finish(&out->writer, status);
    free(out->buffer);
    *out = (wfl_io_output){ 0 };
    return status;
}

/* Stores `count` elements of the source, from element `from` on, which follow each other in the file. `element`: the
 * number of the first in the whole array. */
static bool write_run(wfl_io_output *out, const wfl_io_source *source, int64_t from, int64_t count, int64_t element,
                      int64_t at)
{
    const wfl_io_type *type = out->layout.type;
    bool packed = type->stored == WF_STORED_U4;
    int64_t chunk = (int64_t)(IO_CHUNK / type->bytes);
    out->writer.pos = at;
    for (int64_t done = 0; done < count;) {
        int64_t n = count - done < chunk ? count - done : chunk;
        wfl_io_gather(source, from + done, n, type, out->buffer);
        if (type->parts == 1 && out->part) {
            if (!wfl_io_stats_collect(out->part, type, out->buffer, n)) {
                out->writer.code = ENOMEM;
                return false;
            }
        } else if (type->parts == 1 && out->stats && out->next == element + done) {
            wfl_io_stats_add(out->stats, type, out->buffer, n);
            out->next += n;
        }
        if (packed)
            wfl_io_pack4(out->buffer, n, out->buffer);
        if (!wfl_io_write(&out->writer, out->buffer, packed ? (size_t)(n + 1) / 2 : (size_t)n * type->bytes))
            return false;
        done += n;
    }
    return true;
}

wf_status wfl_io_write_box(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    const wf_shape *whole = &out->what.shape, *box = &source->shape;
    const wfl_io_layout *l = &out->layout;
    bool packed = l->type->stored == WF_STORED_U4;
    int last = whole->rank - 1;
    if (packed &&
        (first->dim[last] % 2 || (box->dim[last] % 2 && first->dim[last] + box->dim[last] < whole->dim[last])))
        return wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_UNSUPPORTED,
                           "%lld values of u4 at %lld of a line of %lld: two values share a byte, so that both numbers "
                           "must be even",
                           (long long)box->dim[last], (long long)first->dim[last], (long long)whole->dim[last]);
    if (source->count == 0)
        return WF_OK;
    /* A run goes over whole axes, and over a part of the one before them. Lines of U4 are runs. */
    int64_t run = 1, elements[WF_MAX_RANK + 1], index[WF_MAX_RANK] = { 0 };
    int level = whole->rank;
    bool is_dense = true;
    elements[whole->rank] = 1; /* elements[d]: of the whole array in axes d, d + 1, ... */
    for (int d = last; d >= 0; d--) {
        elements[d] = elements[d + 1] * whole->dim[d];
        if (is_dense) {
            run *= box->dim[d];
            level = d;
        }
        is_dense = is_dense && box->dim[d] == whole->dim[d] && !packed;
    }
    for (int64_t from = 0; from < source->count; from += run) {
        int64_t element = 0;
        for (int d = 0; d <= last; d++)
            element += (first->dim[d] + index[d]) * elements[d + 1];
        int64_t line = packed ? element / whole->dim[last] : 0;
        int64_t at =
            packed ? line * ((whole->dim[last] + 1) / 2) + first->dim[last] / 2 : element * (int64_t)l->type->bytes;
        if (!write_run(out, source, from, run, element, l->offset + at))
            return WF_OK; /* wfl_io_finish reports it */
        for (int d = level - 1; d >= 0 && ++index[d] == box->dim[d]; d--)
            index[d] = 0;
    }
    return WF_OK;
}

wf_status wfl_io_output_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    return out->format->write ? out->format->write(out, source, first) : wfl_io_write_box(out, source, first);
}

wf_status wfl_io_output_stats(wfl_io_output *out)
{
    const wfl_io_type *type = out->layout.type;
    bool packed = type->stored == WF_STORED_U4;
    int64_t count = 1, width = out->what.shape.dim[out->what.shape.rank - 1];
    for (int d = 0; d < out->what.shape.rank; d++)
        count *= out->what.shape.dim[d];
    if (type->parts > 1 || out->next == count)
        return WF_OK;
    *out->stats = (wfl_io_stats){ 0 };
    uint8_t *unpacked = packed ? malloc(IO_CHUNK) : NULL;
    if (packed && !unpacked)
        return wfl_io_fail_memory(out->what.ctx, out->what.path, (int64_t)IO_CHUNK);
    out->writer.pos = out->layout.offset;
    for (int64_t at = 0; at < count;) {
        int64_t n = (int64_t)(IO_CHUNK / type->bytes);
        n = count - at < n ? count - at : n;
        if (packed && n > width - at % width)
            n = width - at % width;
        size_t bytes = packed ? (size_t)(n + 1) / 2 : (size_t)n * type->bytes;
        if (wfl_io_read_back(&out->writer, out->buffer, bytes) < (int64_t)bytes)
            break; /* with writer->code set */
        if (packed)
            wfl_io_unpack4(out->buffer, n, unpacked);
        wfl_io_stats_add(out->stats, type, packed ? unpacked : out->buffer, n);
        at += n;
    }
    free(unpacked);
    return WF_OK;
}
