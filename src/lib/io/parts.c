/* parts.c - files that are read or written in parts: wf_load_region, wf_file_open, wf_movie_open, wf_file_create and
 * wf_file_map.
 *
 * A file that is read stays open, with its header understood. A file that is written is a temporary one until
 * wf_file_finish.
 */
#include "io_internal.h"
#include "../floats.h"
#include <stdlib.h>
#include <string.h>

struct wf_file {
    wf_context *ctx;
    char *path;
    bool is_input, is_output; /* is_output: not finished yet */
    wfl_io_input in;
    wfl_movie *movie; /* NULL: the file's values are read as they are */
    wfl_io_output out;
    wf_dtype dtype;
    wf_shape shape;
    wfl_io_mapping *mapping; /* the latest of wf_file_map; NULL: none */
};

/* Fails unless the box of `count` elements at `first` lies within the file. */
static wf_status check_box(wf_context *ctx, const char *path, const wf_shape *whole, const wf_shape *first,
                           const wf_shape *count)
{
    if (first->rank != whole->rank || count->rank != whole->rank)
        return wfl_io_fail(ctx, path, WF_ERR_SHAPE, "a box of rank %d at an offset of rank %d (the file has %d axes)",
                           count->rank, first->rank, whole->rank);
    for (int d = 0; d < whole->rank; d++) {
        if (count->dim[d] < 0 || first->dim[d] < 0 || first->dim[d] > whole->dim[d] - count->dim[d])
            return wfl_io_fail(ctx, path, WF_ERR_SHAPE,
                               "axis %d: %lld elements at %lld are not inside of the file, which has %lld", d,
                               (long long)count->dim[d], (long long)first->dim[d], (long long)whole->dim[d]);
    }
    return WF_OK;
}

/* ---- reading ---- */

static WFL_APART wf_array *load_region(wf_context *ctx, const char *path, const wf_shape *first, const wf_shape *count,
                                       wf_meta *meta)
{
    wfl_io_input in;
    if (wfl_io_check_arguments(ctx, path, meta) != WF_OK || wfl_io_input_open(ctx, path, NULL, &in) != WF_OK)
        return NULL;
    wf_array *array = NULL;
    if (check_box(ctx, path, &in.image.shape, first, count) == WF_OK)
        array = wfl_io_input_read(&in, first, count);
    wfl_io_input_close(&in);
    if (array && meta)
        wfl_io_copy_meta(meta, meta->size, &in.image.meta, sizeof in.image.meta);
    return array;
}

wf_array *wf_load_region(wf_context *ctx, const char *path, wf_shape offset, wf_shape shape, wf_meta *meta)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = load_region(ctx, path, &offset, &shape, meta);
    wfl_floats_end(&floats);
    return array;
}

static wf_file *new_file(wf_context *ctx, const char *path)
{
    char *copy;
    wf_file *file = wfl_io_new_object(ctx, path, sizeof *file, &copy);
    if (file) {
        file->ctx = ctx;
        file->path = copy;
    }
    return file;
}

static wf_status check_movie(wf_context *ctx, const char *path, const wf_movie *how)
{
    if (how->size < sizeof how->size)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.size is %zu (must be sizeof(wf_movie))", how->size);
    if (how->group < 0)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.group is %lld (must not be negative)", (long long)how->group);
    if (how->factor < 0 || how->factor > 256 || (how->factor & (how->factor - 1)))
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.factor is %d (must be 1, 2, 4, ...)", how->factor);
    if (how->gain_rotation < 0 || how->gain_rotation > 3)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.gain_rotation is %d (must be 0 to 3)", how->gain_rotation);
    if (how->gain_flip < 0 || how->gain_flip > 2)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.gain_flip is %d (must be 0 to 2)", how->gain_flip);
    return WF_OK;
}

static WFL_APART wf_file *open_file(wf_context *ctx, const char *path, const wf_movie *movie, wf_meta *meta,
                                    wf_dtype *dtype, wf_shape *shape)
{
    if (wfl_io_check_arguments(ctx, path, meta) != WF_OK || (movie && check_movie(ctx, path, movie) != WF_OK))
        return NULL;
    wf_file *file = new_file(ctx, path);
    if (!file)
        return NULL;
    file->is_input = wfl_io_input_open(ctx, file->path, movie, &file->in) == WF_OK;
    if (!file->is_input || (movie && wfl_movie_open(&file->in, movie, &file->movie) != WF_OK)) {
        wf_file_free(file);
        return NULL;
    }
    const wfl_io_image *image = &file->in.image;
    file->dtype = image->dtype;
    file->shape = image->shape;
    if (movie)
        wfl_movie_describe(file->movie, &file->dtype, &file->shape);
    if (meta)
        wfl_io_copy_meta(meta, meta->size, &image->meta, sizeof image->meta);
    if (dtype)
        *dtype = file->dtype;
    if (shape)
        *shape = file->shape;
    return file;
}

wf_file *wf_file_open(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_file *file = open_file(ctx, path, NULL, meta, dtype, shape);
    wfl_floats_end(&floats);
    return file;
}

wf_file *wf_movie_open(wf_context *ctx, const char *path, const wf_movie *how, wf_meta *meta, wf_dtype *dtype,
                       wf_shape *shape)
{
    wf_movie movie = { .size = sizeof movie };
    if (how) {
        memcpy(&movie, how, how->size < sizeof movie ? how->size : sizeof movie);
        movie.size = how->size;
    }
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_file *file = open_file(ctx, path, &movie, meta, dtype, shape);
    wfl_floats_end(&floats);
    return file;
}

static WFL_APART wf_array *read_file(wf_file *file, const wf_shape *first, const wf_shape *count)
{
    if (!file->is_input) {
        wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_read: the file is written");
        return NULL;
    }
    if (check_box(file->ctx, file->path, &file->shape, first, count) != WF_OK)
        return NULL;
    if (!file->movie)
        return wfl_io_input_read(&file->in, first, count);
    void *data;
    wf_array *array = wfl_io_new_array(file->ctx, file->path, file->dtype, *count, &data);
    if (!array || wf_array_count(array) == 0)
        return array;
    return wfl_io_filled(array, wfl_movie_read(file->movie, &file->in, first, count, data));
}

wf_array *wf_file_read(wf_file *file, wf_shape offset, wf_shape shape)
{
    if (!file)
        return NULL;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = read_file(file, &offset, &shape);
    wfl_floats_end(&floats);
    return array;
}

/* ---- writing ---- */

static WFL_APART wf_file *create_file(wf_context *ctx, const char *path, wf_dtype dtype, const wf_shape *shape,
                                      const wf_meta *given)
{
    const wfl_io_format *format;
    wf_meta meta;
    if (wfl_io_check_saving(ctx, path, given, &meta, &format) != WF_OK)
        return NULL;
    wf_file *file = new_file(ctx, path);
    if (!file)
        return NULL;
    file->dtype = dtype;
    file->shape = *shape;
    wfl_io_source what;
    file->is_output = wfl_io_source_describe(ctx, file->path, dtype, shape, &what) == WF_OK &&
                      wfl_io_output_open(&what, format, &meta, NULL, &file->out) == WF_OK;
    if (file->is_output)
        return file;
    wf_file_free(file);
    return NULL;
}

wf_file *wf_file_create(wf_context *ctx, const char *path, wf_dtype dtype, wf_shape shape, const wf_meta *meta)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_file *file = create_file(ctx, path, dtype, &shape, meta);
    wfl_floats_end(&floats);
    return file;
}

static WFL_APART wf_status write_file(wf_file *file, const wf_array *array, const wf_shape *first)
{
    if (!file->is_output)
        return wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_write: the file is %s",
                           file->is_input ? "read" : "finished");
    if (!array || wf_array_context(array) != file->ctx)
        return wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_write: the array is %s",
                           array ? "of another context" : "NULL");
    if (wf_array_dtype(array) != file->dtype)
        return wfl_io_fail(file->ctx, file->path, WF_ERR_DTYPE, "wf_file_write: an array of %s (the file is one of %s)",
                           wf_dtype_name(wf_array_dtype(array)), wf_dtype_name(file->dtype));
    wf_freeze_refuse(file->ctx, "wf_file_write", "a replay would not write the file again");
    wf_shape count = wf_array_shape(array);
    wf_status status = check_box(file->ctx, file->path, &file->shape, first, &count);
    if (status != WF_OK)
        return status;
    wf_array *here = wfl_io_on_processor(array);
    wfl_io_source source;
    wf_shape place = *first;
    status = here ? wfl_io_source_open(here, file->path, &source) : wf_last_status(file->ctx);
    if (status == WF_OK) {
        if (source.shape.rank > place.rank)
            place.dim[place.rank++] = 0; /* of the parts of complex values */
        status = wfl_io_output_write(&file->out, &source, &place);
    }
    wf_release(here);
    return status;
}

wf_status wf_file_write(wf_file *file, const wf_array *array, wf_shape offset)
{
    if (!file)
        return WF_ERR_ARG;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = write_file(file, array, &offset);
    wfl_floats_end(&floats);
    return status;
}

/* ---- files as memory ---- */

static WFL_APART wf_array *map_file(wf_file *file)
{
    wfl_io_mapping *mapping = NULL;
    wf_array *array = NULL;
    if (file->movie)
        wfl_io_fail(file->ctx, file->path, WF_ERR_UNSUPPORTED, "wf_file_map: images of a movie are computed");
    else if (file->is_input)
        array = wfl_io_map_input(&file->in, &mapping);
    else if (!file->is_output)
        wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_map: the file is finished");
    else if (wfl_io_mapping_used(file->mapping))
        wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_map: the file is mapped already");
    else
        array = wfl_io_map_output(&file->out, file->dtype, &file->shape, &mapping);
    if (!array)
        return NULL;
    wf_freeze_refuse(file->ctx, "wf_file_map", "a replay would not map the file again");
    wfl_io_mapping_leave(file->mapping);
    file->mapping = mapping;
    return array;
}

wf_array *wf_file_map(wf_file *file)
{
    if (!file)
        return NULL;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = map_file(file);
    wfl_floats_end(&floats);
    return array;
}

static WFL_APART wf_status finish_file(wf_file *file)
{
    if (!file->is_output)
        return wfl_io_fail(file->ctx, file->path, WF_ERR_ARG, "wf_file_finish: the file is %s",
                           file->is_input ? "read" : "finished");
    if (wfl_io_mapping_used(file->mapping))
        return wfl_io_fail(file->ctx, file->path, WF_ERR_ARG,
                           "wf_file_finish: the array of wf_file_map, or a view of it, is not released");
    file->is_output = false;
    return wfl_io_output_close(&file->out, WF_OK);
}

wf_status wf_file_finish(wf_file *file)
{
    if (!file)
        return WF_ERR_ARG;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = finish_file(file);
    wfl_floats_end(&floats);
    return status;
}

void wf_file_free(wf_file *file)
{
    if (!file)
        return;
    wfl_movie_close(file->movie);
    wfl_io_mapping_leave(file->mapping);
    if (file->is_input)
        wfl_io_input_close(&file->in);
    if (file->is_output)
        wfl_io_output_close(&file->out, WF_ERR_ARG); /* the file does not appear */
    free(file->path);
    free(file);
}
