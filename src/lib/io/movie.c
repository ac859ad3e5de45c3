/* movie.c - movies as they are to be aligned: frames added in groups, and corrected by a gain reference, box by box
 * while a file is read. EER files add their frames by themselves.
 */
#include "io_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct wfl_movie {
    int64_t group;           /* frames of the file that are added here; EER: 1 */
    int frames_axis;         /* 1: the first axis counts frames; 0: one image */
    const wfl_io_type *type; /* of sums: f32 or f64 */
    bool corrected;          /* there is a gain */
    bool divided;            /* by it */
    wfl_io_input gain;
    char *gain_path;
    int64_t scale; /* pixels of an image along a pixel of the gain */
    /* Pixel y, x of the turned gain is pixel at[0] + along[0][0] y + along[0][1] x, at[1] + ... of the file. */
    int64_t at[2], along[2][2];
    /* The last box of the gain, in pixels of the image, ready to multiply. */
    wf_shape first, count;
    double *factor;
};

void wfl_movie_close(wfl_movie *m)
{
    if (!m)
        return;
    if (m->corrected)
        wfl_io_input_close(&m->gain);
    free(m->gain_path);
    free(m->factor);
    free(m);
}

/* Sets where pixels of the turned gain lie in the file, whose extents are `dim`, and the extents of the turned gain. */
static void turn_gain(wfl_movie *m, const int64_t *dim, const wf_movie *how, int64_t turned[2])
{
    turned[0] = dim[0];
    turned[1] = dim[1];
    m->along[0][0] = m->along[1][1] = 1;
    for (int32_t k = 0; k < how->gain_rotation; k++) { /* pixel y, x becomes that which was n - 1 - x, y */
        int64_t n = turned[0];
        turned[0] = turned[1];
        turned[1] = n;
        for (int d = 0; d < 2; d++) {
            int64_t by_y = m->along[d][0];
            m->along[d][0] = m->along[d][1];
            m->along[d][1] = -by_y;
            m->at[d] += by_y * (n - 1);
        }
    }
    for (int d = 0; d < 2 && how->gain_flip; d++) {
        int axis = how->gain_flip - 1;
        m->at[d] += m->along[d][axis] * (turned[axis] - 1);
        m->along[d][axis] = -m->along[d][axis];
    }
}

/* Opens the gain, and compares its extents with those of images. */
static wf_status open_gain(wfl_movie *m, const wfl_io_input *in, const wf_movie *how)
{
    wf_context *ctx = in->reader.ctx;
    m->gain_path = strdup(how->gain);
    if (!m->gain_path)
        return wfl_io_fail_memory(ctx, how->gain, (int64_t)strlen(how->gain));
    wf_status status = wfl_io_input_open(ctx, m->gain_path, NULL, &m->gain);
    if (status != WF_OK)
        return status;
    m->corrected = true;
    m->divided = how->divide || wfl_io_suffix_is(m->gain_path, ".gain");
    const wf_shape *g = &m->gain.image.shape, *s = &in->image.shape;
    if (g->rank < 2 || (g->rank > 2 && g->dim[g->rank - 3] != 1) || g->rank > 3 ||
        wf_dtype_kind(m->gain.image.dtype) == WF_KIND_COMPLEX) /* a stack of one image is an image */
        return wfl_io_fail(ctx, m->gain_path, WF_ERR_SHAPE, "a gain is one image of real values, and this has %d axes",
                           (int)g->rank);
    int64_t gain[2];
    turn_gain(m, g->dim + g->rank - 2, how, gain);
    const int64_t *image = s->dim + m->frames_axis;
    m->scale = gain[0] > 0 ? image[0] / gain[0] : 0;
    if (m->scale < 1 || m->scale * gain[0] != image[0] || m->scale * gain[1] != image[1] ||
        (m->scale > 1 && in->format->format != WF_FORMAT_EER))
        return wfl_io_fail(ctx, m->gain_path, WF_ERR_SHAPE,
                           "the gain is %lld x %lld pixels%s, and the frames of %.300s are %lld x %lld",
                           (long long)gain[0], (long long)gain[1], how->gain_rotation & 1 ? " when it is turned" : "",
                           in->reader.path, (long long)image[0], (long long)image[1]);
    return WF_OK;
}

static wf_status open_movie(const wfl_io_input *in, const wf_movie *how, wfl_movie *m)
{
    const wf_shape *s = &in->image.shape;
    wf_context *ctx = in->reader.ctx;
    const char *path = in->reader.path;
    m->frames_axis = s->rank == 3;
    m->group = in->grouped || !how->group ? 1 : how->group;
    m->type = wfl_io_type_of(in->image.dtype == WF_F64 ? WF_STORED_F64 : WF_STORED_F32);
    if (s->rank < 2 || s->rank > 3 || in->image.meta.channels || wf_dtype_kind(in->image.dtype) == WF_KIND_COMPLEX)
        return wfl_io_fail(ctx, path, WF_ERR_SHAPE, "a movie is an image or a stack of images of real values");
    if (m->group > 1 && (!m->frames_axis || m->group > s->dim[0]))
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "movie.group is %lld (the file has %lld frames)", (long long)m->group,
                           (long long)(m->frames_axis ? s->dim[0] : 1));
    if (how->factor > 1 && !in->grouped)
        return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED, "movie.factor is %d: only EER files have finer pixels",
                           (int)how->factor);
    return how->gain ? open_gain(m, in, how) : WF_OK;
}

wf_status wfl_movie_open(const wfl_io_input *in, const wf_movie *how, wfl_movie **out)
{
    wfl_movie *m = calloc(1, sizeof *m);
    if (!m)
        return wfl_io_fail_memory(in->reader.ctx, in->reader.path, (int64_t)sizeof *m);
    wf_status status = open_movie(in, how, m);
    if (status == WF_OK)
        *out = m;
    else
        wfl_movie_close(m);
    return status;
}

/* False: the values of the file are those of the images. */
static bool changes(const wfl_movie *m) { return m->corrected || m->group > 1; }

void wfl_movie_describe(const wfl_movie *m, wf_dtype *dtype, wf_shape *shape)
{
    if (!changes(m))
        return;
    *dtype = m->type->dtype;
    if (m->frames_axis)
        shape->dim[0] /= m->group;
}

/* ---- reading ---- */

/* Fills m->factor for a box of an image. */
static wf_status read_gain(wfl_movie *m, const wf_shape *first, const wf_shape *count)
{
    if (m->factor && memcmp(&m->first, first, sizeof *first) == 0 && memcmp(&m->count, count, sizeof *count) == 0)
        return WF_OK;
    wf_context *ctx = m->gain.reader.ctx;
    int rank = m->gain.image.shape.rank;
    wf_shape from = { .rank = rank }, box = { .rank = rank };
    int64_t low[2], high[2], corner[2] = { 0, 0 };
    box.dim[0] = 1;
    for (int d = 0; d < 2; d++) {
        low[d] = first->dim[d] / m->scale;
        high[d] = (first->dim[d] + count->dim[d] - 1) / m->scale;
    }
    for (int d = 0; d < 2; d++) { /* of the file */
        int64_t a = m->at[d] + m->along[d][0] * low[0] + m->along[d][1] * low[1];
        int64_t b = m->at[d] + m->along[d][0] * high[0] + m->along[d][1] * high[1];
        from.dim[rank - 2 + d] = corner[d] = a < b ? a : b;
        box.dim[rank - 2 + d] = (a < b ? b - a : a - b) + 1;
    }
    int64_t width = box.dim[rank - 1], n = box.dim[rank - 2] * width;
    void *values;
    wf_array *part = wfl_io_new_array(ctx, m->gain.reader.path, m->gain.image.dtype, box, &values);
    double *factor = part ? malloc((size_t)(count->dim[0] * count->dim[1]) * sizeof *factor) : NULL,
           *gain = factor ? malloc((size_t)n * sizeof *gain) : NULL;
    wf_status status = !part  ? wf_last_status(ctx)
                       : gain ? wfl_io_input_fill(&m->gain, &from, &box, values)
                              : wfl_io_fail_memory(ctx, m->gain_path, (count->dim[0] * count->dim[1] + n) * 8);
    if (status == WF_OK)
        wfl_io_convert(m->gain.image.dtype, values, (int64_t)wf_dtype_size(m->gain.image.dtype), n,
                       wfl_io_type_of(WF_STORED_F64), (char *)gain);
    for (int64_t i = 0; i < n && status == WF_OK && m->divided; i++)
        gain[i] = gain[i] != 0 ? 1 / gain[i] : 0;
    for (int64_t i = 0; i < count->dim[0] && status == WF_OK; i++)
        for (int64_t k = 0; k < count->dim[1]; k++) {
            int64_t y = (first->dim[0] + i) / m->scale, x = (first->dim[1] + k) / m->scale;
            int64_t row = m->at[0] + m->along[0][0] * y + m->along[0][1] * x - corner[0];
            int64_t column = m->at[1] + m->along[1][0] * y + m->along[1][1] * x - corner[1];
            factor[i * count->dim[1] + k] = gain[row * width + column];
        }
    wf_release(part);
    free(gain);
    if (status != WF_OK) {
        free(factor);
        return status;
    }
    free(m->factor);
    m->factor = factor;
    m->first = *first;
    m->count = *count;
    return WF_OK;
}

/* Multiplies n sums by the gain. */
static void correct(const wfl_movie *m, void *sums, int64_t n)
{
    for (int64_t i = 0; i < n && m->type->stored == WF_STORED_F32; i++)
        ((float *)sums)[i] = (float)((double)((float *)sums)[i] * m->factor[i]);
    for (int64_t i = 0; i < n && m->type->stored == WF_STORED_F64; i++)
        ((double *)sums)[i] *= m->factor[i];
}

/* Adds n values of a frame to the sums; `first`: sets them. `row`: memory for n values. */
static void add(const wfl_movie *m, wf_dtype dtype, const void *values, int64_t n, bool first, void *row, void *sums)
{
    wfl_io_convert(dtype, values, (int64_t)wf_dtype_size(dtype), n, m->type, first ? sums : row);
    for (int64_t i = 0; i < n && !first && m->type->stored == WF_STORED_F32; i++)
        ((float *)sums)[i] += ((float *)row)[i];
    for (int64_t i = 0; i < n && !first && m->type->stored == WF_STORED_F64; i++)
        ((double *)sums)[i] += ((double *)row)[i];
}

wf_status wfl_movie_read(wfl_movie *m, wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to)
{
    if (!changes(m))
        return wfl_io_input_fill(in, first, count, to);
    int axis = m->frames_axis;
    wf_context *ctx = in->reader.ctx;
    wf_dtype dtype = in->image.dtype;
    wf_shape from = *first, box = *count;
    wf_shape image_first = WF_SHAPE(first->dim[axis], first->dim[axis + 1]),
             image = WF_SHAPE(count->dim[axis], count->dim[axis + 1]);
    int64_t n = image.dim[0] * image.dim[1], images = axis ? count->dim[0] : 1;
    wf_status status = m->corrected ? read_gain(m, &image_first, &image) : WF_OK;
    if (status != WF_OK)
        return status;
    if (axis)
        box.dim[0] = 1;
    void *frame;
    wf_array *memory = wfl_io_new_array(ctx, in->reader.path, dtype, box, &frame);
    char *row = memory ? malloc((size_t)n * m->type->bytes) : NULL;
    if (!row)
        status = memory ? wfl_io_fail_memory(ctx, in->reader.path, n * (int64_t)m->type->bytes) : wf_last_status(ctx);
    for (int64_t i = 0; i < images && status == WF_OK; i++) {
        char *sums = (char *)to + (size_t)(i * n) * m->type->bytes;
        for (int64_t k = 0; k < m->group && status == WF_OK; k++) {
            if (axis)
                from.dim[0] = (first->dim[0] + i) * m->group + k;
            status = wfl_io_input_fill(in, &from, &box, frame);
            if (status == WF_OK)
                add(m, dtype, frame, n, k == 0, row, sums);
        }
        if (status == WF_OK && m->corrected)
            correct(m, sums, n);
    }
    free(row);
    wf_release(memory);
    return status;
}
