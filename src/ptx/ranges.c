/* ranges.c - finds the 64-bit integers that provably fit 32 bits, given that extents and offsets do. Their arithmetic, above
 * all that of indices, is then done in 32 bits, which a GPU does faster. */
#include "ir/analyse/ranges.h"
#include "ptx/gen.h"
#include <stdlib.h>

enum { LARGEST = (1 << 30) - 1 }; /* largest extent or offset */

static bool reach_fits(const wf__ir *body, uint32_t s, const wf__mem *m)
{
    int64_t reach = 0, far;
    for (int d = 0; d < body->slot[s].rank; ++d) {
        if (m->dim[d] > LARGEST || llabs(m->stride[d]) > LARGEST)
            return false;
        if (!wf__mul_i64(m->dim[d] > 0 ? m->dim[d] - 1 : 0, llabs(m->stride[d]), &far) || far > LARGEST - reach)
            return false;
        reach += far;
    }
    return true;
}

bool wf__ptx_is_narrow(const wf__ir *body, const wf__mem *mem, const int64_t *extent)
{
    int64_t points = 1;
    for (int d = 0; d < body->rank; ++d)
        if (!wf__mul_i64(points, extent[d] > 0 ? extent[d] : 1, &points) || points > LARGEST)
            return false;
    for (uint32_t s = 0; s < body->slot_n; ++s)
        if (!reach_fits(body, s, &mem[s]))
            return false;
    return true;
}

/* Indices and extents lie within 0 .. LARGEST, as wf__ptx_is_narrow has checked. */
static wf__range of_leaf(const void *user, const wf__node *n)
{
    (void)user;
    return n->op == WF__PARAM ? (wf__range){ 0 } : (wf__range){ 0, LARGEST, true };
}

bool wf__ptx_ranges(gen *g)
{
    static const wf__range_leaves leaves = { .of = of_leaf, .least = INT32_MIN, .most = INT32_MAX, .dtypes = true };
    if (!g->options->narrow)
        return true;
    wf__range *of = wf__alloc0(g->ir->n * sizeof *of);
    bool ok = of && wf__ranges(g->ir, &leaves, of);
    for (wf__ref r = 1; ok && r < g->ir->n; ++r)
        g->node[r].narrow = of[r].known && g->ir->node[r].dtype == WF_I64;
    wf__free(of);
    return ok;
}
