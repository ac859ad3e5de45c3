/* ranges.c - interval analysis: which 64-bit integers provably fit 32 bits, given that extents and offsets do. Their
 * arithmetic, above all that of indices, is then done in 32 bits, which a GPU does faster. */
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

typedef struct range {
    int64_t lo, hi;
    bool known;
} range;

static const range unknown;

static range hull_of(range a, range b)
{
    return (range){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.known && b.known };
}

static range of_cast(unsigned from, range a)
{
    switch (from) {
    case WF_BOOL:
        return (range){ 0, 1, true };
    case WF_I8:
        return (range){ INT8_MIN, INT8_MAX, true };
    case WF_U8:
        return (range){ 0, UINT8_MAX, true };
    case WF_I16:
        return (range){ INT16_MIN, INT16_MAX, true };
    case WF_U16:
        return (range){ 0, UINT16_MAX, true };
    case WF_I32:
        return (range){ INT32_MIN, INT32_MAX, true };
    default:
        return from == WF_I64 ? a : unknown;
    }
}

static range of_products(range a, range b)
{
    int64_t p[4];
    if (!wf__mul_i64(a.lo, b.lo, &p[0]) || !wf__mul_i64(a.lo, b.hi, &p[1]) || !wf__mul_i64(a.hi, b.lo, &p[2]) ||
        !wf__mul_i64(a.hi, b.hi, &p[3]))
        return unknown;
    range r = { p[0], p[0], true };
    for (int i = 1; i < 4; ++i)
        r = hull_of(r, (range){ p[i], p[i], true });
    return r;
}

/* Known ranges lie within 32 bits, so their sums cannot overflow 64. */
static range of_op(const gen *g, const wf__node *n, const range *of)
{
    range a = of[n->a], b = wf__arity(n->op) > 1 ? of[n->b] : unknown;
    bool both = a.known && b.known;
    switch (n->op) {
    case WF__CAST:
        return of_cast(wf__dtype(g->ir, n->a), a);
    case WF__OP_neg:
        return a.known ? (range){ -a.hi, -a.lo, true } : unknown;
    case WF__OP_add:
        return both ? (range){ a.lo + b.lo, a.hi + b.hi, true } : unknown;
    case WF__OP_sub:
        return both ? (range){ a.lo - b.hi, a.hi - b.lo, true } : unknown;
    case WF__OP_mul:
        return both ? of_products(a, b) : unknown;
    case WF__OP_min:
        return both ? (range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi, true } : unknown;
    case WF__OP_max:
        return both ? (range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, true } : unknown;
    case WF__OP_select:
        return b.known && of[n->c].known ? hull_of(b, of[n->c]) : unknown;
    case WF__OP_idiv:
    case WF__OP_mod:
        return both && b.lo > 0 ? hull_of(a, (range){ 0, 0, true }) : unknown;
    default:
        return unknown;
    }
}

static range of_node(const gen *g, const wf__node *n, const range *of)
{
    int64_t x = (int64_t)wf__bits(n);
    if (n->dtype != WF_I64)
        return unknown;
    switch (n->op) {
    case WF__CONST:
        return (range){ x, x, true };
    case WF__THREAD:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__DIM:
        return (range){ 0, LARGEST, true };
    default:
        return wf__op_is_pure(n->op) ? of_op(g, n, of) : unknown;
    }
}

bool wf__ptx_ranges(gen *g)
{
    if (!g->options->narrow)
        return true;
    range *of = wf__alloc0(g->ir->n * sizeof *of);
    if (!of)
        return false;
    for (wf__ref r = 1; r < g->ir->n; ++r) {
        range x = of_node(g, &g->ir->node[r], of);
        if (x.known && x.lo >= INT32_MIN && x.hi <= INT32_MAX) {
            of[r] = x;
            g->node[r].narrow = true;
        }
    }
    wf__free(of);
    return true;
}
