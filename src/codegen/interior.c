/* interior.c - the box of points in which INTERIOR is right: no load with a border mode leaves its array, and lane
 * indices are small enough for 32-bit arithmetic (emit_narrow.c).
 */
#include "codegen/phases.h"
#include "ir/analyse/affine.h"

typedef struct reach { /* loads access index k of the slot at step[axis] times loop index `axis` plus least .. most */
    uint32_t slot, k;
    int axis;
    int64_t least, most;
    int64_t step[WF_MAX_RANK]; /* plus these multiples of outer indices */
} reach;

static void widen_reach(reach *table, uint32_t *n, const reach *one)
{
    for (uint32_t i = 0; i < *n; i++) {
        reach *r = &table[i];
        if (r->slot != one->slot || r->k != one->k || r->axis != one->axis ||
            memcmp(r->step, one->step, sizeof r->step) != 0)
            continue;
        r->least = one->least < r->least ? one->least : r->least;
        r->most = one->most > r->most ? one->most : r->most;
        return;
    }
    table[(*n)++] = *one;
}

/* An offset, and multiples of outer indices, whose sum cannot wrap: 2^60 + (WF_MAX_RANK - 1) * 2^24 * 2^32 < 2^61. */
#define FAR (INT64_C(1) << 60)
#define FAR_STEP (INT64_C(1) << 24)
#define FAR_INDEX (INT64_C(1) << 32)

/* Adds to *least and *most what the multiples of outer indices are at least and at most in the box of the call. Sets
 * *near, if there are any, to whether the outer indices are below FAR_INDEX. */
static void add_multiples(wf__kernel_emitter *kernel, const reach *r, val *least, val *most, val *near)
{
    wf__gen *g = kernel->g;
    for (int d = 0; d < r->axis; d++) {
        if (!r->step[d])
            continue;
        val step = g_i64(g, r->step[d]), first = g_mul(g, kernel->lo[d], step);
        val last = g_mul(g, g_sub(g, kernel->hi[d], g_i64(g, 1)), step);
        *least = g_add(g, *least, r->step[d] > 0 ? first : last);
        *most = g_add(g, *most, r->step[d] > 0 ? last : first);
        val small = g_icmp(g, LLVMIntSLT, kernel->hi[d], g_i64(g, FAR_INDEX));
        *near = *near ? g_and(g, *near, small) : small;
    }
}

/* Returns the least i with i * step >= x, or one above it that is not positive. step: 1 .. FAR_STEP. */
static val least_multiple(wf__gen *g, val x, int64_t step)
{
    return step == 1 ? x : g->L->BuildSDiv(g->b, g_add(g, x, g_i64(g, step - 1)), g_i64(g, step), "");
}

/* Makes index * step + offset in [0, dim) a bound of the loop index. Offsets that could wrap leave an empty box. Multiples
 * of outer indices count with their range in the box of the call: the bounds hold for all of these indices. */
static void bound_axis(wf__kernel_emitter *kernel, const reach *r)
{
    wf__gen *g = kernel->g;
    val dim = wf__load_dim(kernel, r->slot, (int)r->k);
    int axis = r->axis < 0 ? kernel->rank - 1 : r->axis;
    bool never = r->least < -FAR || r->most > FAR;
    val none = g_i64(g, -2 * FAR), least = g_i64(g, r->least), most = g_i64(g, r->most), near = NULL;
    for (int d = 0; d <= r->axis; d++)
        never = never || r->step[d] < -FAR_STEP || r->step[d] > FAR_STEP;
    if (never) {
        kernel->interior_hi[axis] = none;
        kernel->interior_lo[axis] = g_larger(g, kernel->interior_lo[axis], g_i64(g, 0));
        return;
    }
    add_multiples(kernel, r, &least, &most, &near);
    val limit = g_sub(g, dim, most);
    if (r->axis < 0) { /* a constant index is inside always or never */
        val ok = g_and(g, g_icmp(g, LLVMIntSGT, limit, g_i64(g, 0)), wf__gen_int(g, g->i1, 1, r->least >= 0));
        limit = g_select(g, ok, g_i64(g, INT64_MAX), none);
        kernel->interior_hi[axis] = g_smaller(g, kernel->interior_hi[axis], limit);
        return;
    }
    val first = least_multiple(g, g_sub(g, g_i64(g, 0), least), r->step[axis]);
    limit = least_multiple(g, limit, r->step[axis]);
    if (near) {
        first = g_select(g, near, first, g_i64(g, 0));
        limit = g_select(g, near, limit, none);
    }
    kernel->interior_lo[axis] = g_larger(g, kernel->interior_lo[axis], first);
    kernel->interior_hi[axis] = g_smaller(g, kernel->interior_hi[axis], limit);
}

/* The number of indices of loads that split. */
static uint32_t count_indices(const wf__ir *body)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < body->n; i++)
        n += wf__load_splits(body, &body->node[i]) ? wf__tuple_len(body, body->node[i].b) : 0;
    return n;
}

bool wf__find_interior(wf__kernel_emitter *kernel)
{
    const wf__ir *body = kernel->body;
    uint32_t n = 0;
    reach *table = wf__alloc((count_indices(body) + 1) * sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 1; i < body->n; i++) {
        const wf__node *load = &body->node[i];
        if (!wf__load_splits(body, load))
            continue;
        for (uint32_t k = 0; k < wf__tuple_len(body, load->b); k++) {
            reach r = { .slot = load->a, .k = k };
            wf__affine x;
            wf__as_shifted(body, wf__tuple_at(body, load->b)[k], &r.axis, &x);
            r.least = r.most = x.start;
            memcpy(r.step, x.step, sizeof r.step);
            widen_reach(table, &n, &r);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        bound_axis(kernel, &table[i]);
    wf__free(table);
    if (kernel->narrow_limit < (kernel->g->options->long_rows ? WF__LONGEST_ROW : INT64_MAX)) {
        int last = kernel->rank - 1;
        kernel->interior_hi[last] =
            g_smaller(kernel->g, kernel->interior_hi[last], g_i64(kernel->g, kernel->narrow_limit));
    }
    return true;
}
