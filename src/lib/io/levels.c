/* levels.c - wf_probe_level: what the metadata say of one level of an image of OME-Zarr. */
#include "io_internal.h"
#include "../floats.h"
#include <string.h>

/* Opens a level, reads its metadata and closes it. */
static wf_status read_level(wf_context *ctx, const char *path, int level, wfl_io_image *image)
{
    wfl_io_input in;
    const wf_status status = wfl_io_input_open_level(ctx, path, level, &in);
    if (status != WF_OK)
        return status;
    wfl_io_input_close(&in);
    *image = in.image;
    return WF_OK;
}

/* Fails unless a level has no more samples than the one before. */
static wf_status compare_levels(wf_context *ctx, const char *path, int level, const wfl_io_image *fine,
                                const wfl_io_image *coarse)
{
    const wf_shape *a = &fine->shape, *b = &coarse->shape;
    if (a->rank != b->rank)
        return wfl_io_fail(ctx, path, WF_ERR_IO, "level %d of the image has %d axes, and level %d has %d", level,
                           b->rank, level - 1, a->rank);
    for (int d = 0; d < a->rank; d++)
        if (b->dim[d] > a->dim[d])
            return wfl_io_fail(
                ctx, path, WF_ERR_IO,
                "level %d of the image has %lld samples along axis %d, and level %d, which must be as fine or "
                "finer, %lld",
                level, (long long)b->dim[d], d, level - 1, (long long)a->dim[d]);
    return WF_OK;
}

static WFL_APART wf_status probe_level(wf_context *ctx, const char *path, int level, wf_meta *meta, wf_dtype *dtype,
                                       wf_shape *shape)
{
    wfl_io_image image, before;
    wf_status status = wfl_io_check_arguments(ctx, path, meta);
    if (status == WF_OK && level < 0)
        status = wfl_io_fail(ctx, path, WF_ERR_ARG, "level is %d (must not be negative)", level);
    if (status == WF_OK)
        status = read_level(ctx, path, level, &image);
    if (status == WF_OK && level) {
        status = read_level(ctx, path, level - 1, &before);
        if (status == WF_OK)
            status = compare_levels(ctx, path, level, &before, &image);
    }
    if (status != WF_OK)
        return status;
    if (meta)
        wfl_io_copy_meta(meta, meta->size, &image.meta, sizeof image.meta);
    if (dtype)
        *dtype = image.dtype;
    if (shape)
        *shape = image.shape;
    return WF_OK;
}

wf_status wf_probe_level(wf_context *ctx, const char *path, int32_t level, wf_meta *meta, wf_dtype *dtype,
                         wf_shape *shape)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = probe_level(ctx, path, level, meta, dtype, shape);
    wfl_floats_end(&floats);
    return status;
}
