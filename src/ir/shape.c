/* shape.c - shapes of array graphs. Each shape is stored once and has a number, 0 for scalars. An extent below 0
 * is not known yet. */
#include "ir/build.h"
#include <stdio.h>

uint32_t wf__shape_id(wf__ir *ir, const wf_shape *shape)
{
    if (ir->status != WF_OK || shape->rank == 0)
        return 0;
    for (uint32_t i = 1; i < ir->shape_n; ++i)
        if (wf__same_shape(&ir->shape[i], shape))
            return i;
    if (!wf__grow(&ir->shape, &ir->shape_cap, ir->shape_n + 1, sizeof *ir->shape)) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording of %u nodes", (unsigned)ir->n);
        return 0;
    }
    ir->shape[ir->shape_n] = *shape;
    return ir->shape_n++;
}

wf_shape wf__kept_shape(const wf_shape *shape, wf_axes reduce)
{
    wf_shape kept = *shape;
    for (int d = 0; d < kept.rank; ++d)
        if (reduce >> d & 1)
            kept.dim[d] = 1;
    return kept;
}

bool wf__shape_count(const wf_shape *shape, int64_t *out)
{
    int64_t n = 1;
    bool zero = false, fits = shape->rank >= 0 && shape->rank <= WF_MAX_RANK;
    for (int d = 0; fits && d < shape->rank; ++d) {
        zero = zero || shape->dim[d] == 0;
        fits = shape->dim[d] >= 0 && (shape->dim[d] == 0 || wf__mul_i64(n, shape->dim[d], &n));
    }
    if (fits)
        *out = zero ? 0 : n;
    return fits;
}

bool wf__shape_known(const wf__ir *ir, uint32_t shape)
{
    for (int d = 0; d < ir->shape[shape].rank; ++d)
        if (ir->shape[shape].dim[d] < 0)
            return false;
    return true;
}

static void shape_text(const wf_shape *shape, bool open, char *buf, size_t cap)
{
    size_t used = (size_t)snprintf(buf, cap, "(");
    for (int d = 0; d < shape->rank && d < WF_MAX_RANK && used < cap; ++d)
        used += (size_t)snprintf(buf + used, cap - used, open && shape->dim[d] == -1 ? "%s?" : "%s%lld", d ? ", " : "",
                                 (long long)shape->dim[d]);
    if (used < cap)
        snprintf(buf + used, cap - used, ")");
}

void wf_shape_text(const wf_shape *shape, char *buf, size_t cap)
{
    shape_text(shape ? shape : &(wf_shape){ .rank = 0 }, true, buf, cap);
}

void wf__bad_shape_text(const wf_shape *shape, char *buf, size_t cap)
{
    if (shape->rank < 0 || shape->rank > WF_MAX_RANK)
        snprintf(buf, cap, "of rank %d", (int)shape->rank);
    else
        shape_text(shape, false, buf, cap);
}

bool wf__broadcast(const wf_shape *a, const wf_shape *b, wf_shape *out)
{
    const wf_shape *longer = a->rank >= b->rank ? a : b, *shorter = longer == a ? b : a;
    wf_shape r = *longer;
    int skip = longer->rank - shorter->rank;
    for (int d = 0; d < shorter->rank; ++d) {
        int64_t x = longer->dim[d + skip], y = shorter->dim[d];
        if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0)
            return false;
        r.dim[d + skip] = x == 1 ? y : y == 1 ? x : x < 0 ? y : x;
    }
    *out = r;
    return true;
}

uint32_t wf__broadcast_id(wf__ir *ir, const wf__node *n, uint32_t a, uint32_t b)
{
    if (a == b || !b)
        return a;
    if (!a)
        return b;
    wf_shape out = { 0 };
    if (wf__broadcast(&ir->shape[a], &ir->shape[b], &out))
        return wf__shape_id(ir, &out);
    char sa[128], sb[128];
    wf_shape_text(&ir->shape[a], sa, sizeof sa);
    wf_shape_text(&ir->shape[b], sb, sizeof sb);
    wf__ir_fail_at(ir, n, WF_ERR_SHAPE, "%s: shapes %s and %s do not broadcast", wf__function_of(n), sa, sb);
    return 0;
}
