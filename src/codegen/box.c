/* box.c - the box of points in which FAST is right: where no load of a border mode leaves its array, and lane indices
 * are small enough for narrow arithmetic.
 */
#include "codegen/body.h"

typedef struct reach { /* loads index axis `k` of `slot` at most `most` beyond loop axis `axis` */
    uint32_t slot, k;
    int axis;
    int64_t least, most;
} reach;

static void widen(reach *table, uint32_t *n, uint32_t cap, reach one)
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

/* index + offset in [0, dim) as bounds of the index. Offsets so large that they would wrap leave no inside at all. */
static void bound(wf__frame *f, const reach *r)
{
    wf__gen *g = f->g;
    const int64_t far = (int64_t)1 << 60;
    val dim = wf__frame_dim(f, r->slot, (int)r->k);
    int axis = r->axis < 0 ? f->rank - 1 : r->axis;
    bool never = r->least < -far || r->most > far;
    val none = g_i64(g, INT64_MIN);
    if (never) {
        f->inner_hi[axis] = none;
        f->inner_lo[axis] = g_larger(g, f->inner_lo[axis], g_i64(g, 0));
        return;
    }
    val limit = g_sub(g, dim, g_i64(g, r->most));
    if (r->axis < 0) { /* constants: inside always or never */
        val ok = g_and(g, g_icmp(g, LLVMIntSGT, limit, g_i64(g, 0)), wf__gen_int(g, g->i1, 1, r->least >= 0));
        limit = g_select(g, ok, g_i64(g, INT64_MAX), none);
        f->inner_hi[axis] = g_smaller(g, f->inner_hi[axis], limit);
        return;
    }
    f->inner_lo[axis] = g_larger(g, f->inner_lo[axis], g_i64(g, -r->least));
    f->inner_hi[axis] = g_smaller(g, f->inner_hi[axis], limit);
}

bool wf__find_box(wf__frame *f)
{
    const wf__ir *body = f->body;
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
            widen(table, &n, cap, r);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        bound(f, &table[i]);
    wf__free(table);
    if (f->narrow_limit < (f->g->options->long_rows ? WF__LONGEST_ROW : INT64_MAX)) {
        int last = f->rank - 1;
        f->inner_hi[last] = g_smaller(f->g, f->inner_hi[last], g_i64(f->g, f->narrow_limit));
    }
    return true;
}
