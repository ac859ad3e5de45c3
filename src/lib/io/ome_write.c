/* ome_write.c - writes the metadata of a group of OME-NGFF 0.5 (ngff.openmicroscopy.org), and makes the levels of its image.
 *
 * Each level has means of 2 neighbours along each axis in space of the level before. An axis of one element stays as it is,
 * and of an odd number of elements the last is left out, as wf_bin does it. So the samples of a level are 2^k times as far
 * apart along an axis as those of level 0, and the first one lies (2^k - 1)/2 samples of level 0 after the first of these.
 * A level is made of the values that the level before stores, chunk by chunk, so that memory is needed for a few chunks.
 */
#include "ome.h"
#include "weft/xform.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST = 256 /* the greatest extent of the last level if the caller names none */ };

/* Returns the place of an axis in "zyx", or -1: time. Complex parts are no axis. */
static int place_of(const wfl_ome_image *image, int d)
{
    const int rank = image->shape.rank;
    return d == 0 && (rank == 4 || (rank == 3 && image->meta->is_stack)) ? -1 : d + 3 - rank;
}

/* Returns how many samples of level 0 a sample of the level spans along an axis. */
static int64_t span_of(const wfl_ome_image *image, int level, int d)
{
    int64_t span = 1;
    for (int k = 0; k < level && place_of(image, d) >= 0 && image->shape.dim[d] / span > 1; k++)
        span *= 2;
    return span;
}

void wfl_ome_level_shape(const wfl_ome_image *image, int level, wf_shape *shape, char names[WF_MAX_RANK + 1])
{
    *shape = image->shape;
    memset(names, 0, WF_MAX_RANK + 1);
    for (int d = 0; d < shape->rank; d++) {
        const int place = place_of(image, d);
        shape->dim[d] /= span_of(image, level, d);
        names[d] = place < 0 ? 't' : "zyx"[place];
    }
}

void wfl_ome_describe(const wf_meta *meta, const wf_shape *shape, wfl_ome_image *image)
{
    const int64_t most = meta->coarsest ? meta->coarsest : COARSEST;
    *image = (wfl_ome_image){ .meta = meta, .shape = *shape, .levels = 1, .durable = meta->durable };
    bool is_empty = false;
    int64_t extent = 0;
    for (int d = 0; d < shape->rank; d++) {
        is_empty = is_empty || shape->dim[d] == 0;
        if (place_of(image, d) >= 0 && shape->dim[d] > extent)
            extent = shape->dim[d];
    }
    for (; meta->pyramid && !is_empty && extent > most; extent /= 2)
        image->levels++;
}

/* ---- metadata ---- */

/* A text in memory that has room for all of it. */
typedef struct text {
    char *at;
    size_t used, room;
} text;

static IO_PRINTF(2, 3) void put(text *t, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(t->at + t->used, t->room - t->used, format, values);
    va_end(values);
    t->used += (size_t)n;
}

/* Appends the sizes of the samples of a level, or the place of the first, along all axes. An axis without a unit has the
 * samples of level 0 as its unit. Returns true if a number of a translation is not 0. */
static bool put_transformation(text *t, const wfl_ome_image *image, int level, bool translation)
{
    const char *kind = translation ? "translation" : "scale";
    bool moved = false;
    put(t, "%s{\"type\": \"%s\", \"%s\": [", translation ? ", " : "", kind, kind);
    for (int d = 0; d < image->shape.rank; d++) {
        const int place = place_of(image, d);
        const bool known = place >= 0 && image->meta->spacing[place] > 0;
        const double span = (double)span_of(image, level, d), size = known ? image->meta->spacing[place] : 1;
        const double first = (known ? image->meta->origin[place] : 0) + size * (span - 1) / 2;
        char number[IO_REAL];
        wfl_io_print_real(translation ? first : size * span, 15, 17, number);
        put(t, "%s%s", d ? ", " : "", number);
        moved = moved || first != 0;
    }
    put(t, "]}");
    return moved;
}

static void put_group(text *t, const wfl_ome_image *image)
{
    put(t, "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {\"ome\": {\"version\": \"0.5\", "
           "\"multiscales\": [{\"axes\": [");
    for (int d = 0; d < image->shape.rank; d++) {
        const int place = place_of(image, d);
        put(t, "%s{\"name\": \"%c\", \"type\": \"%s\"%s}", d ? ", " : "", place < 0 ? 't' : "zyx"[place],
            place < 0 ? "time" : "space",
            place >= 0 && image->meta->spacing[place] > 0 ? ", \"unit\": \"angstrom\"" : "");
    }
    put(t, "], \"datasets\": [");
    for (int k = 0; k < image->levels; k++) {
        put(t, "%s{\"path\": \"%d\", \"coordinateTransformations\": [", k ? ", " : "", k);
        const bool moved = put_transformation(t, image, k, false);
        if (moved)
            put_transformation(t, image, k, true);
        put(t, "]}");
    }
    put(t, "]%s}]}}\n}\n",
        image->levels > 1 ? ", \"type\": \"mean\", \"metadata\": {\"description\": \"Each level has the means of 2 "
                            "neighbours along each axis in space of the level before.\"}"
                          : "");
}

wf_status wfl_ome_write_group(wf_context *ctx, const char *path, const wfl_ome_image *image, const char *folder)
{
    enum { HEAD = 1024, LEVEL = 128 + 2 * WF_MAX_RANK * IO_REAL };
    text t = { .room = HEAD + (size_t)image->levels * LEVEL };
    const size_t n = strlen(folder) + sizeof "/zarr.json";
    char *name = malloc(n);
    t.at = malloc(t.room);
    int code = 0;
    wf_status status = name && t.at ? WF_OK : wfl_io_fail_memory(ctx, path, (int64_t)t.room);
    if (status == WF_OK) {
        put_group(&t, image);
        snprintf(name, n, "%s/zarr.json", folder);
        code = wfl_zarr_write_file(name, t.at, t.used, image->durable);
    }
    free(name);
    free(t.at);
    return code ? wfl_io_fail_errno(ctx, path, "write", code) : status;
}

/* ---- levels ---- */

/* Makes the box of `count` elements at `first` of a level, which is a chunk, of the level before. `axes`: those that have
 * half as many elements as there. */
static wf_status make_chunk(wfl_io_input *from, wf_axes axes, const wf_shape *first, const wf_shape *count,
                            wfl_zarr_store *to)
{
    wf_shape at = *first, box = *count;
    wfl_io_source source;
    void *data;
    for (int d = 0; d < count->rank; d++)
        if (axes >> d & 1) {
            at.dim[d] *= 2;
            box.dim[d] *= 2;
        }
    wf_array *array = wfl_io_new_array(to->ctx, to->target, from->image.dtype, box, &data), *mean = NULL;
    wf_status status = array ? wfl_zarr_read(from, &at, &box, data) : wf_last_status(to->ctx);
    if (status == WF_OK) {
        mean = wf_bin(array, 2, axes);
        status = mean ? wfl_io_source_open(mean, to->target, &source) : wf_last_status(to->ctx);
    }
    if (status == WF_OK) {
        const int code = wfl_zarr_store_write(to, &source, first);
        status = code ? wfl_io_fail_errno(to->ctx, to->target, "write", code) : WF_OK;
    }
    wf_release(array);
    wf_release(mean);
    return status;
}

static wf_status make_chunks(wfl_io_input *from, wf_axes axes, int part, int parts, wfl_zarr_store *to)
{
    const int rank = to->shape.rank;
    wf_shape first = { .rank = rank }, count = { .rank = rank };
    for (int64_t number = 0;; number++) {
        for (int d = 0; d < rank; d++) {
            const int64_t rest = to->shape.dim[d] - first.dim[d];
            count.dim[d] = rest < to->chunk[d] ? rest : to->chunk[d];
        }
        const wf_status status = number % parts == part ? make_chunk(from, axes, &first, &count, to) : WF_OK;
        if (status != WF_OK)
            return status;
        int d = rank - 1;
        for (; d >= 0 && (first.dim[d] += to->chunk[d]) >= to->shape.dim[d]; d--)
            first.dim[d] = 0;
        if (d < 0)
            return WF_OK;
    }
}

wf_status wfl_ome_make_level(const wfl_ome_image *image, int level, const char *from, int part, int parts,
                             wfl_zarr_store *to)
{
    wfl_io_input in = { .reader = { .ctx = to->ctx, .path = from, .fd = -1 } };
    wf_axes axes = 0;
    for (int d = 0; d < image->shape.rank; d++)
        if (span_of(image, level, d) > span_of(image, level - 1, d))
            axes |= 1u << d;
    wf_status status = wfl_zarr_open(&in);
    if (status == WF_OK)
        status = make_chunks(&in, axes, part, parts, to);
    wfl_zarr_close(&in);
    return status;
}
