/* append.c - wf_append: more images at the end of an MRC stack, more elements along the first axis of an NPY array.
 *
 * The file is changed in place: first the samples are written behind those that are there, then the header, at once. A
 * process that is killed in between leaves a file that reads as before, and the next call writes over what lies behind
 * its samples. Calls for one file, also those of other processes, wait for each other (flock).
 */
#include "io_internal.h"
#include "../floats.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if `path` is the file that is open as `fd`. */
static bool is_same(const char *path, int fd)
{
    struct stat named, opened;
    return stat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* Opens the file that `path` names while it is locked. *fd: -1 if there is none. Returns 0 or an errno. */
static int open_locked(const char *path, int *fd)
{
    for (;;) {
        *fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (*fd < 0)
            return errno == ENOENT ? 0 : errno;
        while (flock(*fd, LOCK_EX) != 0 && errno == EINTR) /* without a lock where the file system has none */
            ;
        if (is_same(path, *fd))
            return 0;
        close(*fd); /* a new file took its place */
    }
}

/* A file that grows. */
typedef struct growth {
    wfl_io_input in;
    wfl_io_output out;
    wfl_io_stats stats;
    wf_shape first;
    int64_t count; /* of images, or elements along the first axis, that are added */
} growth;

/* Compares the array's shape with the file's. Sets the shape that the file gets, without parts, and the array's place.
 */
static wf_status compare_shapes(growth *g, const wf_shape *shape, wf_shape *whole)
{
    const wfl_io_reader *r = &g->in.reader;
    *whole = g->in.image.shape;
    if (g->in.format->format == WF_FORMAT_MRC && whole->rank == 2) { /* a stack of one image */
        *whole = (wf_shape){ .rank = 3, .dim = { 1, whole->dim[0], whole->dim[1] } };
    }
    int less = whole->rank - shape->rank; /* 1: the array is one image */
    bool same = whole->rank > 0 && (less == 0 || less == 1);
    for (int d = 1; d < whole->rank && same; d++)
        same = shape->dim[d - less] == whole->dim[d];
    if (!same)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_SHAPE,
                           "an array of rank %d, last extent %lld, does not continue a file of rank %d, last extent "
                           "%lld: all extents but the first must agree",
                           shape->rank, (long long)(shape->rank ? shape->dim[shape->rank - 1] : 1), whole->rank,
                           (long long)(whole->rank ? whole->dim[whole->rank - 1] : 1));
    g->count = less ? 1 : shape->dim[0];
    g->first = (wf_shape){ .rank = whole->rank, .dim = { whole->dim[0] } };
    if (g->count > INT64_MAX - whole->dim[0])
        return wfl_io_fail(r->ctx, r->path, WF_ERR_SHAPE, "the shape has 2^59 elements or more");
    whole->dim[0] += g->count;
    return WF_OK;
}

/* Fails unless the file's samples lie as this machine would write them. */
static wf_status check_order(const growth *g)
{
    const wfl_io_reader *r = &g->in.reader;
    const wfl_io_layout *l = &g->in.layout;
    if (r->gzip || !g->in.format->grow)
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "nothing can be appended to a %s file%s, only to MRC and NPY files", g->in.format->name,
                           r->gzip ? " in gzip" : "");
    int next = 0;
    bool in_order = true;
    for (int d = 0; d < l->rank; d++)
        if (l->axis[d] != WFL_NO_AXIS)
            in_order = in_order && l->axis[d] == next++;
    if (!in_order || (l->swap && l->type->bytes > 1))
        return wfl_io_fail(r->ctx, r->path, WF_ERR_UNSUPPORTED,
                           "nothing can be appended: the file has another %s: save it anew first",
                           in_order ? "byte order" : "order of axes");
    return WF_OK;
}

/* Writes the samples, then the header. After an error the file is as it was. */
static wf_status grow_file(growth *g, wfl_io_source *source, bool durable)
{
    wfl_io_output *out = &g->out;
    wfl_io_writer *w = &out->writer;
    const int64_t old_size = g->in.reader.size;
    enum { MOST_HEADER = 12 + 65536 };
    uint8_t *head = malloc(MOST_HEADER);
    size_t bytes = 0;
    if (!head)
        return wfl_io_fail_memory(w->ctx, w->path, MOST_HEADER);
    wf_status status = g->in.format->grow(&g->in, g->count, &g->stats, head, &bytes); /* does it fit? */
    if (status == WF_OK)
        status = wfl_io_write_box(out, source, &g->first);
    if (status == WF_OK && !w->code && durable && fdatasync(w->fd) != 0)
        w->code = errno;
    if (status == WF_OK && !w->code)
        status = g->in.format->grow(&g->in, g->count, &g->stats, head, &bytes);
    if (status == WF_OK && !w->code) {
        w->pos = 0;
        wfl_io_write(w, head, bytes);
        int64_t end = wfl_io_layout_end(&out->layout);
        if (!w->code && end < old_size && ftruncate(w->fd, (off_t)end) != 0)
            w->code = errno; /* bytes of another process after the samples */
        if (!w->code && durable && fdatasync(w->fd) != 0)
            w->code = errno;
    }
    if ((status != WF_OK || w->code) && w->size > old_size && ftruncate(w->fd, (off_t)old_size) != 0 && !w->code)
        w->code = errno;
    if (status == WF_OK && w->code)
        status = wfl_io_fail_errno(w->ctx, w->path, "write", w->code);
    free(head);
    return status;
}

/* Appends to the file that is open and locked as `fd`. */
static wf_status append_to(growth *g, int fd, const wf_array *array, wfl_io_source *source, const wf_meta *meta)
{
    const wfl_io_reader *r = &g->in.reader;
    const wfl_io_layout *l = &g->in.layout;
    wfl_io_output *out = &g->out;
    wf_shape whole, shape = wf_array_shape(array), samples;
    wf_meta as_stored = { .size = sizeof as_stored, .store_as = g->in.image.meta.stored };
    const wfl_io_type *type = NULL;
    int rank;
    wf_status status = check_order(g);
    if (status == WF_OK)
        status =
            wfl_io_choose_type(source, &as_stored, g->in.format->name, ~0u, 0, WF_STORED_DEFAULT, "", &type, &rank);
    if (status == WF_OK && type->parts > 1 && source->dtype == source->array_dtype)
        shape.rank--; /* its last axis is real, imaginary */
    if (status == WF_OK)
        status = compare_shapes(g, &shape, &whole);
    if (status != WF_OK)
        return status;
    samples = whole;
    if (type->parts > 1)
        samples.dim[samples.rank++] = type->parts;
    status = wfl_io_source_describe(r->ctx, r->path, source->dtype, &samples, &out->what);
    if (status != WF_OK || source->count == 0)
        return status;
    if (source->shape.rank < samples.rank) {
        memmove(source->shape.dim + 1, source->shape.dim, (WF_MAX_RANK - 1) * sizeof *source->shape.dim);
        source->shape.dim[0] = 1;
        source->shape.rank++;
    }
    g->first.rank = samples.rank;
    int64_t before = 1;
    for (int d = 0; d < samples.rank; d++)
        before *= d ? samples.dim[d] : g->first.dim[0];
    out->format = g->in.format;
    out->stats = &g->stats;
    out->next = before;
    out->layout = (wfl_io_layout){ .type = type, .offset = l->offset };
    wfl_io_layout_c(&out->layout, &whole);
    out->writer = (wfl_io_writer){ .ctx = r->ctx, .path = r->path, .fd = fd, .size = r->size };
    out->buffer = malloc(IO_CHUNK);
    status = out->buffer ? grow_file(g, source, meta->durable) : wfl_io_fail_memory(r->ctx, r->path, (int64_t)IO_CHUNK);
    free(out->buffer);
    return status;
}

/* Saves the array as a new file, an image as a stack of one. *exists: it has become one that exists. */
static wf_status create(const wf_array *array, const char *path, const wfl_io_format *format, wf_meta *meta,
                        bool *exists)
{
    wf_context *ctx = wf_array_context(array);
    wfl_io_source source;
    wfl_io_output out;
    wf_status status = wfl_io_source_open(array, path, &source);
    bool image = status == WF_OK && source.shape.rank == 2 && source.dtype == source.array_dtype;
    if (image) { /* its axes as they lie in memory stay the same */
        source.shape = (wf_shape){ .rank = 3, .dim = { 1, source.shape.dim[0], source.shape.dim[1] } };
    }
    meta->is_stack = true;
    bool clean = wf_last_status(ctx) == WF_OK;
    if (status == WF_OK)
        status = wfl_io_output_open(&source, format, meta, NULL, &out);
    if (status != WF_OK)
        return status;
    out.writer.exclusive = true;
    const wf_shape zero = { .rank = source.shape.rank };
    status = wfl_io_output_close(&out, wfl_io_output_write(&out, &source, &zero));
    *exists = status != WF_OK && access(path, F_OK) == 0;
    if (*exists && clean)
        wf_clear_error(ctx);
    return status;
}

/* Appends to the file at `path`, or creates it. `array` is in the memory of the processor. */
static wf_status append_here(const wf_array *array, const char *path, const wfl_io_format *format, wf_meta *meta)
{
    enum { ATTEMPTS = 16 };
    wf_context *ctx = wf_array_context(array);
    wf_status status = WF_OK;
    bool again = true;
    for (int i = 0; i < ATTEMPTS && again; i++) {
        int fd, code = open_locked(path, &fd);
        if (code)
            return wfl_io_fail_errno(ctx, path, "write", code);
        again = false;
        if (fd < 0) {
            status = create(array, path, format, meta, &again);
            continue;
        }
        growth g = { 0 };
        wfl_io_source source;
        status = wfl_io_source_open(array, path, &source);
        if (status == WF_OK)
            status = wfl_io_input_open(ctx, path, NULL, &g.in);
        if (status == WF_OK) {
            status = append_to(&g, fd, array, &source, meta);
            wfl_io_input_close(&g.in);
        }
        close(fd);
    }
    return status;
}

static WFL_APART wf_status append(const wf_array *array, const char *path, const wf_meta *given)
{
    wf_context *ctx = wf_array_context(array);
    const wfl_io_format *format;
    wf_meta meta;
    wf_status status = wfl_io_check_saving(ctx, path, given, &meta, &format);
    if (status != WF_OK)
        return status;
    wf_freeze_refuse(ctx, "wf_append", "a replay would not write the file again");
    wf_array *here = wfl_io_on_processor(array);
    status = here ? append_here(here, path, format, &meta) : wf_last_status(ctx);
    wf_release(here);
    return status;
}

wf_status wf_append(const wf_array *array, const char *path, const wf_meta *meta)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = append(array, path, meta);
    wfl_floats_end(&floats);
    return status;
}
