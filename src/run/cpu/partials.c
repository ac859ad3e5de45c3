/* partials.c - partial results of boxes, joined pairwise and then with the initial value, in a fixed order. */
#include "run/cpu/partials.h"
#include "plan/join_order.h"
#include "run/interp/joiner.h"

int64_t wf__partials_rows(const wf__stage *stage)
{
    return stage->reduce.axes ? stage->reduce.parts : stage->partition.boxes;
}

/* ---- neutral elements ---- */
static void fill_elements(char *at, uint64_t bits, size_t size, size_t n)
{
    memcpy(at, &bits, size); /* little-endian */
    for (size_t done = 1; done < n; done *= 2)
        memcpy(at + done * size, at, (done < n - done ? done : n - done) * size);
}

void wf__partials_clear(const wf__stage *stage, const int64_t *lo, const int64_t *hi, const uint64_t *result)
{
    const wf__ir *body = &stage->lowered;
    const int64_t *extent = stage->extent;
    int64_t index[WF_MAX_RANK], lane = body->rank - 1;
    memcpy(index, lo, (size_t)body->rank * sizeof *lo);
    for (int d = 0; d >= 0;) {
        int64_t at = 0;
        for (int k = 0; k < body->kept; ++k)
            at = at * extent[k] + index[k];
        at = at * extent[lane] + lo[lane];
        for (uint32_t k = 0; k < body->red_n; ++k) {
            unsigned dtype = body->red[k].dtype, size = wf__size(dtype);
            fill_elements((char *)(uintptr_t)result[k] + at * (int64_t)size, wf__red_start(&body->red[k]), size,
                          (size_t)(hi[lane] - lo[lane]));
        }
        for (d = body->kept - 1; d >= 0 && ++index[d] >= hi[d]; --d)
            index[d] = lo[d];
    }
}

/* ---- joining ---- */
void *wf__partial_of(const wf__partials *p, int64_t row, uint32_t k)
{
    uint64_t *at = &p->at[(size_t)row * p->stage->lowered.red_n + k];
    return p->stage->reduce.axes ? (void *)(uintptr_t)*at : at;
}

void wf__partials_join_pair(const wf__partials *p, int64_t to, int64_t from)
{
    const wf__ir *body = &p->stage->lowered;
    for (uint32_t k = 0; k < body->red_n; ++k) {
        p->pairs[k] = wf__partial_of(p, to, k);
        p->pairs[body->red_n + k] = wf__partial_of(p, from, k);
    }
    wf__join_pairs(body, p->pairs, p->stage->reduce.axes ? (size_t)p->stage->reduce.kept : 1,
                   p->pairs + 2 * body->red_n);
}

/* Joins the partial results of a range of rows into those of its first row. The range is as before at the end. */
static void join_rows(const wf__partials *p, const wf__part_grid *grid, wf__box *range)
{
    const int axis = wf__halved_axis(grid, range);
    if (axis < 0)
        return;
    const int64_t lo = range->lo[axis], hi = range->hi[axis], mid = wf__second_half(range, axis);
    range->hi[axis] = mid;
    join_rows(p, grid, range);
    range->hi[axis] = hi;
    range->lo[axis] = mid;
    join_rows(p, grid, range);
    range->lo[axis] = lo;
    wf__partials_join_pair(p, lo, mid);
}

void wf__partials_finish(const wf__partials *p, uint64_t *result)
{
    const int64_t rows = wf__partials_rows(p->stage);
    if (!p->stage->empty && rows > 1) {
        const wf__part_grid grid = wf__in_line(rows);
        wf__box all = wf__all_parts(&grid);
        join_rows(p, &grid, &all);
    }
    wf__partials_set(p, result);
}

void wf__partials_set(const wf__partials *p, uint64_t *result)
{
    const wf__stage *stage = p->stage;
    for (uint32_t k = 0; !stage->reduce.axes && k < stage->lowered.red_n; ++k) {
        const wf__reduction *red = &stage->lowered.red[k];
        result[k] = stage->reduce.initial[k];
        if (!stage->empty && red->join == WF_JOIN_CUSTOM)
            result[k] = p->at[k]; /* a custom join starts at the initial value */
        else if (!stage->empty)
            wf__eval(wf__join_op((wf_join)red->join), red->dtype, &result[k], &stage->reduce.initial[k], &p->at[k],
                     &result[k], 1);
    }
}

/* ---- memory ---- */
static size_t partial_bytes(const wf__stage *stage)
{
    size_t rows = (size_t)wf__partials_rows(stage) + 2;
    return stage->lowered.red_n ? rows * stage->lowered.red_n * sizeof(uint64_t) + wf__join_scratch(&stage->lowered)
                                : 0;
}

static size_t padded_bytes(const wf__stage *stage, uint32_t k) /* of the results of a part */
{
    return ((size_t)stage->reduce.kept * wf__size(stage->lowered.red[k].dtype) + 63) & ~(size_t)63;
}

bool wf__partials_begin(wf__partials *p, const wf__stage *stage, wf__mem_cache *memory, char *const *base)
{
    const wf__ir *body = &stage->lowered;
    size_t rows = (size_t)wf__partials_rows(stage);
    *p = (wf__partials){ .stage = stage };
    if (!body->red_n)
        return true;
    if (!(p->at = wf__mem_alloc(memory, partial_bytes(stage))))
        return false;
    p->pairs = (void **)(p->at + rows * body->red_n);
    if (!stage->reduce.axes)
        return true;
    for (uint32_t k = 0; k < body->red_n; ++k)
        p->parts_bytes += (rows - 1) * padded_bytes(stage, k);
    if (p->parts_bytes && !(p->parts = wf__mem_alloc(memory, p->parts_bytes)))
        return false;
    char *at = p->parts;
    for (size_t row = 0; row < rows; ++row)
        for (uint32_t k = 0; k < body->red_n; ++k) {
            p->at[row * body->red_n + k] = (uint64_t)(uintptr_t)(row ? at : base[stage->reduce.result[k]]);
            if (row) /* for row 0, `at` may be NULL */
                at += padded_bytes(stage, k);
        }
    return true;
}

void wf__partials_end(wf__partials *p, wf__mem_cache *memory)
{
    wf__mem_free(memory, p->at, p->stage ? partial_bytes(p->stage) : 0);
    wf__mem_free(memory, p->parts, p->parts_bytes);
}
