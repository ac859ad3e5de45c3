/* distributed.c - files of distributed arrays: each rank reads its block, and writes its part of the file.
 *
 * Ranks agree after each step that can fail on one of them, so that all of them go on or none. The first rank begins the
 * file and makes it appear. The others open the same temporary file. Slabs, blocks that follow each other in the order of
 * the file, are written, or blocks of whole chunks if the format has chunks; arrays that are cut in another way are copied to
 * such blocks before.
 */
#include "io_internal.h"
#include "../floats.h"
#include "weft/functions.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    wf_context *ctx;
    wf_ranks *ranks;
    const char *path;
    int rank, n;
} job;

/* All ranks learn whether one has failed. `status`: this rank's, whose message is the context's error. */
static wf_status agree(const job *j, wf_status status)
{
    wf_ranks_error e;
    const wf_status all = wf_ranks_agree(j->ranks, status, status == WF_OK ? "" : wf_last_message(j->ctx), &e);
    if (all != WF_OK && status == WF_OK)
        wfl_io_fail(j->ctx, j->path, all, "rank %d: %s", e.rank, e.text);
    return all;
}

/* Returns the status of an operation among ranks, and makes a failure the context's error. */
static wf_status sent(const job *j, wf_status status)
{
    return status == WF_OK ? WF_OK : wfl_io_fail(j->ctx, j->path, status, "%s", wf_ranks_message(j->ranks));
}

static job job_of(wf_context *ctx, const char *path, wf_ranks *ranks)
{
    return (job){ ctx, ranks, path && *path ? path : "(no path)", wf_ranks_rank(ranks), wf_ranks_size(ranks) };
}

/* Sets the box of this rank's elements. Returns their number. */
static int64_t block_of(const job *j, const wf_dist *dist, wf_shape *first, wf_shape *count)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], n = 1;
    wf_dist_range(dist, j->rank, lo, hi);
    first->rank = count->rank = dist->shape.rank;
    for (int d = 0; d < dist->shape.rank; d++) {
        first->dim[d] = lo[d];
        count->dim[d] = hi[d] - lo[d];
        n *= count->dim[d];
    }
    return n;
}

/* Divides one axis among all ranks. */
static wf_status divide(const wf_shape *shape, int axis, int ranks, wf_dist *out)
{
    wf_dist_options options = { .size = sizeof options };
    for (int d = 0; d < shape->rank; d++)
        options.grid[d] = d == axis ? ranks : 1;
    return wf_dist_make(shape, ranks, &options, out);
}

/* ---- reading ---- */

/* Fails unless the file is that of the first rank, as far as the header says. */
static wf_status compare_files(const job *j, const wfl_io_input *in)
{
    struct {
        wf_dtype dtype;
        wf_shape shape;
        int64_t unit[WF_MAX_RANK];
    } first = { in->image.dtype, in->image.shape, { 0 } };
    memcpy(first.unit, in->unit, sizeof first.unit);
    wf_status status = sent(j, wf_ranks_broadcast(j->ranks, &first, sizeof first, 0));
    bool same = first.dtype == in->image.dtype && first.shape.rank == in->image.shape.rank;
    for (int d = 0; d < in->image.shape.rank && same; d++)
        same = first.shape.dim[d] == in->image.shape.dim[d] && first.unit[d] == in->unit[d];
    if (status == WF_OK && !same)
        status = wfl_io_fail(j->ctx, j->path, WF_ERR_CONTRACT, "its shape, dtype or chunks are others on rank 0");
    return agree(j, status);
}

/* True if no rank has more than 5/4 of its share. */
static bool is_even(const wf_dist *dist)
{
    const job first_rank = { .rank = 0 }; /* which has the largest block */
    wf_shape first, count;
    double all = 1, largest = (double)block_of(&first_rank, dist, &first, &count);
    for (int d = 0; d < dist->shape.rank; d++)
        all *= (double)dist->shape.dim[d];
    return largest * 4 * dist->ranks <= all * 5;
}

/* Divides an array at its packed chunks, so that no two ranks unpack the same one: along the first axis, else along several,
 * but the last one, as reductions take whole rows. False: there are none, or blocks would be uneven. */
static bool divide_chunks(const job *j, const wfl_io_input *in, wf_dist *out)
{
    const wf_shape *shape = &in->image.shape;
    for (int several = 0; several < 2 && in->unit[0]; several++) {
        wf_dist_options options = { .size = sizeof options };
        memcpy(options.unit, in->unit, sizeof in->unit);
        for (int d = several ? shape->rank - 1 : 0; d < shape->rank; d++)
            options.grid[d] = d == 0 ? j->n : 1;
        if (wf_dist_make(shape, j->n, &options, out) == WF_OK && is_even(out))
            return true;
    }
    return false;
}

static wf_status choose_dist(const job *j, const wfl_io_input *in, const wf_dist *given, wf_dist *out)
{
    const wf_shape *shape = &in->image.shape;
    bool same = given && given->shape.rank == shape->rank && given->ranks == j->n;
    for (int d = 0; d < shape->rank && same; d++)
        same = given->shape.dim[d] == shape->dim[d];
    if (given && !same)
        return wfl_io_fail(j->ctx, j->path, WF_ERR_SHAPE,
                           "the distribution is not one of the file's shape among %d ranks", j->n);
    if (given) {
        *out = *given;
        return WF_OK;
    }
    if (divide_chunks(j, in, out))
        return WF_OK;
    bool by_first = shape->rank && shape->dim[0] >= j->n;
    wf_status status = by_first ? divide(shape, 0, j->n, out) : wf_dist_make(shape, j->n, NULL, out);
    return status == WF_OK ? WF_OK
                           : wfl_io_fail(j->ctx, j->path, status, "its shape cannot be divided among %d ranks", j->n);
}

static wf_status read_block(const job *j, wfl_io_input *in, wf_array *array)
{
    wf_shape first, count;
    void *data = NULL;
    const int64_t n = block_of(j, wf_array_dist(array), &first, &count);
    wf_array *block = wf_array_block(array);
    wf_status status = block ? wf_map(block, &data, NULL) : wf_last_status(j->ctx);
    if (status == WF_OK && n)
        status = wfl_io_input_fill(in, &first, &count, data);
    const wf_status ended = wf_array_block_end(array, block);
    return status == WF_OK ? ended : status;
}

static WFL_APART wf_array *load(wf_context *ctx, const char *path, wf_ranks *ranks, const wf_dist *given, wf_meta *meta)
{
    const job j = job_of(ctx, path, ranks);
    wfl_io_input in;
    wf_dist dist;
    wf_array *array = NULL;
    wf_status status = wfl_io_check_arguments(ctx, path, meta);
    bool is_open = status == WF_OK && (status = wfl_io_input_open(ctx, path, NULL, &in)) == WF_OK;
    status = agree(&j, status);
    if (status == WF_OK)
        status = compare_files(&j, &in);
    if (status == WF_OK)
        status = agree(&j, choose_dist(&j, &in, given, &dist));
    if (status == WF_OK)
        array = wf_empty_distributed(ctx, in.image.dtype, ranks, &dist);
    if (array && agree(&j, read_block(&j, &in, array)) != WF_OK) {
        wf_release(array);
        array = NULL;
    }
    if (array && meta)
        wfl_io_copy_meta(meta, meta->size, &in.image.meta, sizeof in.image.meta);
    if (is_open)
        wfl_io_input_close(&in);
    return array;
}

wf_array *wf_load_distributed(wf_context *ctx, const char *path, wf_ranks *ranks, const wf_dist *dist, wf_meta *meta)
{
    if (!ctx || !ranks) {
        if (ctx)
            wf_error(ctx, WF_ERR_ARG, "wf_load_distributed: ranks is NULL");
        return NULL;
    }
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = load(ctx, path, ranks, dist, meta);
    wfl_floats_end(&floats);
    return array;
}

/* ---- blocks that a rank writes by itself ---- */

/* True if the blocks follow each other in the order of the file. */
static bool are_slabs(const wf_dist *dist)
{
    int64_t before = 1; /* indices of the axes before */
    for (int d = 0; d < dist->shape.rank; d++) {
        if (dist->grid[d] > 1 && before > 1)
            return false;
        before *= dist->shape.dim[d];
    }
    return true;
}

/* True if the blocks begin at multiples of the units, so that no chunk has elements of two of them. */
static bool have_whole_chunks(const wf_dist *dist, const int64_t *unit)
{
    for (int r = 0; r < dist->ranks; r++) {
        wf_shape first, count;
        const job of_rank = { .rank = r };
        if (!block_of(&of_rank, dist, &first, &count))
            continue;
        for (int d = 0; d < first.rank; d++)
            if (first.dim[d] % unit[d])
                return false;
    }
    return true;
}

/* Returns a copy that is divided in another way. `status`: that of making `dist`. */
static wf_array *divided(const job *j, const wf_array *array, const wf_dist *dist, wf_status status)
{
    if (status != WF_OK) {
        wfl_io_fail(j->ctx, j->path, status, "the array cannot be divided among %d ranks to be written", j->n);
        return NULL;
    }
    wf_array *copy = wf_empty_distributed(j->ctx, wf_array_dtype(array), j->ranks, dist);
    if (!copy)
        return NULL;
    if (wf_array_redistribute(copy, array) == WF_OK)
        return copy;
    wf_release(copy);
    return NULL;
}

/* Returns the array, retained, or a copy whose blocks are slabs. */
static wf_array *as_slabs(const job *j, const wf_array *array)
{
    const wf_shape shape = wf_array_shape(array);
    wf_dist dist;
    int axis = 0;
    if (are_slabs(wf_array_dist(array)))
        return wf_retain((wf_array *)array); /* it is only read */
    while (axis + 1 < shape.rank && shape.dim[axis] == 1)
        axis++;
    const wf_status status = divide(&shape, axis, j->n, &dist);
    return divided(j, array, &dist, status);
}

/* Returns the array, retained, or a copy whose blocks are those that a rank writes. */
static wf_array *cut_for(const job *j, const wf_array *array, const wfl_io_output *out)
{
    wf_dist dist;
    wf_dist_options options = { .size = sizeof options };
    int64_t unit[WF_MAX_RANK];
    if (!out->format->unit)
        return as_slabs(j, array);
    out->format->unit(out, unit);
    if (have_whole_chunks(wf_array_dist(array), unit))
        return wf_retain((wf_array *)array); /* it is only read */
    const wf_shape shape = wf_array_shape(array);
    memcpy(options.unit, unit, (size_t)shape.rank * sizeof *unit);
    const wf_status status = wf_dist_make(&shape, j->n, &options, &dist);
    return divided(j, array, &dist, status);
}

/* ---- writing ---- */

/* The temporary file of the first rank, and the steps that follow. */
typedef struct shared_name {
    char text[4096];
    int32_t steps;
} shared_name;

/* The first rank begins the file, and all others join it. *is_open: out is. */
static wf_status open_parts(const job *j, const wfl_io_source *what, const wfl_io_format *format, const wf_meta *meta,
                            wfl_io_output *out, bool *is_open)
{
    shared_name *name = calloc(1, sizeof *name);
    wf_status status = name ? WF_OK : wfl_io_fail_memory(j->ctx, j->path, (int64_t)sizeof *name);
    if (status == WF_OK && j->rank == 0) {
        status = wfl_io_output_open(what, format, meta, NULL, out);
        *is_open = status == WF_OK;
        const char *temp = "";
        int code = *is_open ? wfl_io_output_share(out, &temp) : 0;
        if (!code && strlen(temp) >= sizeof name->text)
            code = ENAMETOOLONG;
        if (code)
            status = wfl_io_fail_errno(j->ctx, j->path, "write", code);
        else if (*is_open)
            strcpy(name->text, temp);
        name->steps = *is_open ? out->steps : 0;
    }
    status = agree(j, status);
    if (status == WF_OK)
        status = agree(j, sent(j, wf_ranks_broadcast(j->ranks, name, sizeof *name, 0)));
    if (status == WF_OK && j->rank > 0) {
        status = wfl_io_output_open(what, format, meta, name->text, out);
        *is_open = status == WF_OK;
        if (*is_open && out->steps != name->steps)
            status = wfl_io_fail(j->ctx, j->path, WF_ERR_CONTRACT, "its metadata ask for %d levels, on rank 0 for %d",
                                 out->steps + 1, (int)name->steps + 1);
    }
    free(name);
    return status;
}

static wf_status write_block(const job *j, wf_array *array, wfl_io_output *out)
{
    wf_shape first, count;
    wfl_io_source source;
    const int64_t n = block_of(j, wf_array_dist(array), &first, &count);
    wf_array *block = wf_array_block(array);
    wf_status status = block ? wfl_io_source_open(block, j->path, &source) : wf_last_status(j->ctx);
    if (status == WF_OK && n) {
        if (source.shape.rank > first.rank)
            first.dim[first.rank++] = 0; /* of the parts of complex values */
        if (out->part)
            out->part->at = first.rank ? first.dim[0] : 0;
        for (int d = 1; d < first.rank && out->part; d++)
            out->part->at = out->part->at * out->what.shape.dim[d] + first.dim[d];
        status = wfl_io_output_write(out, &source, &first);
    }
    const wf_status ended = wf_array_block_end(array, block);
    return status == WF_OK ? ended : status;
}

/* Joins the statistics of all ranks' values, in the order of the file. */
static wf_status join_stats(const job *j, const wfl_io_stats_part *part, wfl_io_stats *stats)
{
    wfl_io_stats_sum *sum = calloc(1, sizeof *sum);
    wf_status status = agree(j, sum ? WF_OK : wfl_io_fail_memory(j->ctx, j->path, (int64_t)sizeof *sum));
    for (int r = 0; r < j->n && status == WF_OK; r++) {
        if (r == j->rank)
            wfl_io_stats_append(sum, part);
        status = sent(j, wf_ranks_broadcast(j->ranks, sum, sizeof *sum, r));
    }
    if (status == WF_OK) {
        wfl_io_stats_end(sum);
        *stats = sum->stats;
    }
    free(sum);
    return agree(j, status);
}

/* Each rank writes its part. */
static wf_status save_parts(const job *j, const wf_array *array, const wfl_io_format *format, const wf_meta *meta)
{
    wfl_io_source what;
    wfl_io_output out;
    bool is_open = false;
    const wf_shape shape = wf_array_shape(array);
    wfl_io_stats_part *part = calloc(1, sizeof *part);
    wf_status status = part ? wfl_io_source_describe(j->ctx, j->path, wf_array_dtype(array), &shape, &what)
                            : wfl_io_fail_memory(j->ctx, j->path, (int64_t)sizeof *part);
    status = agree(j, status);
    if (status == WF_OK)
        status = agree(j, open_parts(j, &what, format, meta, &out, &is_open));
    const int steps = status == WF_OK ? out.steps : 0;
    const bool counted = status == WF_OK && out.stats && out.layout.type->parts == 1;
    wf_array *cut = status == WF_OK ? cut_for(j, array, &out) : NULL;
    if (status == WF_OK && !cut)
        status = wf_last_status(j->ctx);
    if (status == WF_OK) {
        out.part = counted ? part : NULL;
        status = write_block(j, cut, &out);
    }
    wf_release(cut);
    for (int k = 1; k <= steps; k++) {
        status = agree(j, status);
        if (status == WF_OK)
            status = format->derive(&out, k, j->rank, j->n);
    }
    if (is_open && j->rank > 0)
        status = wfl_io_output_close(&out, status);
    else if (status == WF_OK && out.writer.code)
        status = wfl_io_fail_errno(j->ctx, j->path, "write", out.writer.code);
    wfl_io_stats stats = { 0 };
    status = agree(j, status);
    if (status == WF_OK && counted)
        status = join_stats(j, part, &stats);
    if (is_open && j->rank == 0) {
        if (counted) {
            *out.stats = stats;
            out.next = what.count;
        }
        out.part = NULL;
        status = wfl_io_output_close(&out, status);
    }
    if (part)
        free(part->block);
    free(part);
    return agree(j, status);
}

/* Sends all slabs to the first rank, which has memory for all at `whole`. */
static wf_status collect(const job *j, const wf_array *array, const void *slab, void *whole, size_t *list)
{
    const wf_dist *dist = wf_array_dist(array);
    const size_t size = wf_dtype_size(wf_array_dtype(array)), n = (size_t)j->n;
    wf_pieces out = { .bytes = list, .offset = list + n }, in = { .bytes = list + 2 * n, .offset = list + 3 * n };
    size_t at = 0;
    for (int r = 0; r < j->n; r++) {
        wf_shape first, count;
        const job of_rank = { .rank = r };
        const size_t bytes = (size_t)block_of(&of_rank, dist, &first, &count) * size;
        if (r == j->rank)
            list[0] = bytes;
        list[2 * n + (size_t)r] = j->rank ? 0 : bytes;
        list[3 * n + (size_t)r] = j->rank ? 0 : at;
        at += bytes;
    }
    return sent(j, wf_ranks_all_to_all(j->ranks, slab, out, whole, in));
}

/* The first rank gets all elements, and writes the file. */
static wf_status save_on_first(const job *j, wf_array *array, const wf_meta *meta)
{
    wf_array *block = wf_array_block(array), *packed = block ? wf_array_contiguous(block) : NULL;
    wf_array *whole = j->rank ? NULL : wf_empty(j->ctx, wf_array_dtype(array), wf_array_shape(array), .device = WF_CPU);
    size_t *list = calloc(4 * (size_t)j->n, sizeof *list);
    void *slab = NULL, *all = NULL;
    wf_status status = packed && (whole || j->rank) ? wf_map(packed, &slab, NULL) : wf_last_status(j->ctx);
    if (status == WF_OK && whole)
        status = wf_map(whole, &all, NULL);
    if (status == WF_OK && !list)
        status = wfl_io_fail_memory(j->ctx, j->path, (int64_t)(4 * (size_t)j->n * sizeof *list));
    status = agree(j, status);
    if (status == WF_OK)
        status = agree(j, collect(j, array, slab, all, list));
    free(list);
    wf_release(packed);
    const wf_status ended = wf_array_block_end(array, block);
    if (status == WF_OK && whole)
        status = wf_save(whole, j->path, meta);
    wf_release(whole);
    return agree(j, status == WF_OK ? ended : status);
}

static WFL_APART wf_status save(const wf_array *array, const char *path, const wf_meta *given)
{
    wf_context *ctx = wf_array_context(array);
    const wfl_io_format *format;
    wf_meta meta;
    if (!wf_array_dist(array))
        return wf_error(ctx, WF_ERR_ARG, "wf_save_distributed: the array is not distributed");
    const job j = job_of(ctx, path, wf_array_ranks(array));
    wf_freeze_refuse(ctx, "wf_save_distributed", "a replay would not write the file again");
    wf_status status = agree(&j, wfl_io_check_saving(ctx, path, given, &meta, &format));
    if (status != WF_OK)
        return status;
    if ((!format->write || format->unit) && !wfl_io_named_gzip(path) && meta.store_as != WF_STORED_U4)
        return save_parts(&j, array, format, &meta);
    wf_array *slabs = as_slabs(&j, array);
    status = slabs ? save_on_first(&j, slabs, given) : wf_last_status(ctx);
    wf_release(slabs);
    return status;
}

wf_status wf_save_distributed(const wf_array *array, const char *path, const wf_meta *meta)
{
    if (!array)
        return WF_ERR_ARG;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = save(array, path, meta);
    wfl_floats_end(&floats);
    return status;
}
