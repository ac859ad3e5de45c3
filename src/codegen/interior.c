/* interior.c - the box of points in which INTERIOR is right: no load with a border mode leaves its array, and lane
 * indices are small enough for 32-bit arithmetic (emit_narrow.c).
 */
#include "codegen/phases.h"

typedef struct reach { /* loads access index k of the slot at loop index `axis` plus least .. most */
    uint32_t slot, k;
    int axis;
    int64_t least, most;
} reach;

static void widen_reach(reach *table, uint32_t *n, uint32_t cap, reach one)
{
    for (uint32_t i = 0; i < *n; i++) {
        reach *r = &table[i];
        if (r->slot != one.slot || r->k != one.k || r->axis != one.axis)
            continue;
        r->least = one.least < r->least ? one.least : r->least;
        r->most = one.most > r->most ? one.most : r->most;
        return;
    }
    if (*n < cap)
        table[(*n)++] = one;
}

/* Makes index + offset in [0, dim) a bound of the loop index. Offsets that could wrap leave an empty box. */
static void bound_axis(wf__kernel_emitter *kernel, const reach *r)
{
    wf__gen *g = kernel->g;
    const int64_t far = (int64_t)1 << 60;
    val dim = wf__load_dim(kernel, r->slot, (int)r->k);
    int axis = r->axis < 0 ? kernel->rank - 1 : r->axis;
    bool never = r->least < -far || r->most > far;
    val none = g_i64(g, INT64_MIN);
    if (never) {
        kernel->interior_hi[axis] = none;
        kernel->interior_lo[axis] = g_larger(g, kernel->interior_lo[axis], g_i64(g, 0));
        return;
    }
    val limit = g_sub(g, dim, g_i64(g, r->most));
    if (r->axis < 0) { /* a constant index is inside always or never */
        val ok = g_and(g, g_icmp(g, LLVMIntSGT, limit, g_i64(g, 0)), wf__gen_int(g, g->i1, 1, r->least >= 0));
        limit = g_select(g, ok, g_i64(g, INT64_MAX), none);
        kernel->interior_hi[axis] = g_smaller(g, kernel->interior_hi[axis], limit);
        return;
    }
    kernel->interior_lo[axis] = g_larger(g, kernel->interior_lo[axis], g_i64(g, -r->least));
    kernel->interior_hi[axis] = g_smaller(g, kernel->interior_hi[axis], limit);
}

bool wf__find_interior(wf__kernel_emitter *kernel)
{
    const wf__ir *body = kernel->body;
    uint32_t n = 0, cap = body->slot_n * WF_MAX_RANK * (WF_MAX_RANK + 1);
    reach *table = wf__alloc((cap + 1) * sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 1; i < body->n; i++) {
        const wf__node *load = &body->node[i];
        if (!wf__load_splits(body, load))
            continue;
        for (uint32_t k = 0; k < wf__tuple_len(body, load->b); k++) {
            reach r = { .slot = load->a, .k = k };
            wf__as_offset(body, wf__tuple_at(body, load->b)[k], &r.axis, &r.least);
            r.most = r.least;
            widen_reach(table, &n, cap, r);
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
