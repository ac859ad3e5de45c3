/* transpose.c - copies in which another axis becomes the contiguous one. Done in squares through a buffer: whole
 * cache lines are read and whole ones written, whatever the strides, powers of two above all. On the host, because
 * it is moving and nothing else.
 */
#include "rows.h"
#include <stdlib.h>
#include <string.h>

enum { EDGE = 64, WIDE_EDGE = 32, LEAST = 1 << 14, THIN = 8 };

typedef struct transposition {
    const char *from;
    char *to;
    wf_shape shape;
    int64_t from_stride[WF_MAX_RANK], to_stride[WF_MAX_RANK]; /* in bytes */
    int fast;                                                 /* the axis that is contiguous in `from` */
    int64_t edge, tiles[WF_MAX_RANK]; /* along each axis; of others than fast and last, elements */
    size_t size;
} transposition;

/* n x m elements; from: contiguous along n, or backwards; to: contiguous along m. Inlined for each size. */
static inline void move(const char *from, int64_t step_n, int64_t step_m, char *to, int64_t to_n, int64_t n, int64_t m,
                        char *buffer, int64_t edge, size_t size)
{
    for (int64_t j = 0; j < m; ++j, from += step_m)
        for (int64_t i = 0; i < n; ++i)
            memcpy(buffer + (size_t)(i * edge + j) * size, from + i * step_n, size);
    for (int64_t i = 0; i < n; ++i)
        memcpy(to + i * to_n, buffer + (size_t)(i * edge) * size, (size_t)m * size);
}

static void move_tile(const wf__rows *rows, int64_t task, void *buffer, void *user)
{
    const transposition *t = user;
    const char *from = t->from;
    char *to = t->to;
    int last = t->shape.rank - 1;
    int64_t n = 0, m = 0;
    (void)rows;
    for (int d = last; d >= 0; --d) {
        bool tiled = d == t->fast || d == last;
        int64_t first = task % t->tiles[d] * (tiled ? t->edge : 1), rest = t->shape.dim[d] - first;
        task /= t->tiles[d];
        from += first * t->from_stride[d];
        to += first * t->to_stride[d];
        n = d == t->fast ? (rest < t->edge ? rest : t->edge) : n;
        m = d == last ? (rest < t->edge ? rest : t->edge) : m;
    }
    int64_t step_n = t->from_stride[t->fast], step_m = t->from_stride[last], to_n = t->to_stride[t->fast];
    switch (t->size) {
    case 1:
        move(from, step_n, step_m, to, to_n, n, m, buffer, EDGE, 1);
        break;
    case 2:
        move(from, step_n, step_m, to, to_n, n, m, buffer, EDGE, 2);
        break;
    case 4:
        move(from, step_n, step_m, to, to_n, n, m, buffer, EDGE, 4);
        break;
    case 8:
        move(from, step_n, step_m, to, to_n, n, m, buffer, WIDE_EDGE, 8);
        break;
    default:
        move(from, step_n, step_m, to, to_n, n, m, buffer, t->edge, t->size);
    }
}

bool wf__is_transposed(const wf_array *array)
{
    wf_shape shape = wf_array_shape(array);
    int64_t stride[WF_MAX_RANK];
    void *data;
    int last = shape.rank - 1;
    bool fast = false;
    if (wf__on_gpu(array) || shape.rank < 2 || wf_array_state(array) != WF_READY || wf_array_count(array) < LEAST ||
        wf_map(array, &data, stride) != WF_OK || shape.dim[last] < THIN || (stride[last] <= 1 && stride[last] >= -1))
        return false;
    for (int d = 0; d < last; ++d)
        fast = fast || (shape.dim[d] >= THIN && (stride[d] == 1 || stride[d] == -1));
    return fast;
}

wf_array *wf__transposed_copy(const wf_array *array)
{
    wf_context *ctx = wf_array_context(array);
    transposition t = { .shape = wf_array_shape(array), .size = wf_dtype_size(wf_array_dtype(array)) };
    wf_array *out = wf_empty(ctx, wf_array_dtype(array), t.shape, .device = WF_CPU);
    void *from = NULL, *to = NULL;
    if (!out || wf_map(array, &from, t.from_stride) != WF_OK || wf_map(out, &to, t.to_stride) != WF_OK) {
        wf_release(out);
        return NULL;
    }
    t.from = from;
    t.to = to;
    t.edge = t.size <= 4 ? EDGE : WIDE_EDGE;
    int64_t tasks = 1;
    for (int d = 0, last = t.shape.rank - 1; d <= last; ++d) {
        if (d < last && t.shape.dim[d] >= THIN && (t.from_stride[d] == 1 || t.from_stride[d] == -1))
            t.fast = d;
        t.from_stride[d] *= (int64_t)t.size;
        t.to_stride[d] *= (int64_t)t.size;
    }
    for (int d = 0, last = t.shape.rank - 1; d <= last; ++d) {
        bool tiled = d == t.fast || d == last;
        t.tiles[d] = tiled ? (t.shape.dim[d] + t.edge - 1) / t.edge : t.shape.dim[d];
        tasks *= t.tiles[d];
    }
    if (wf__tasks_each(ctx, tasks, (size_t)(t.edge * t.edge) * t.size, move_tile, &t) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}
