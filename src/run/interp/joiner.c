/* joiner.c - joins partial results: standard joins by wf__eval, custom ones by a walk over their body, a few elements
 * at a time. */
#include "run/interp/joiner.h"
#include "run/interp/chunk.h"

enum { CHUNK = 32, CELL = CHUNK * 8 /* bytes of a node's values */ };

size_t wf__join_scratch(const wf__ir *body) { return body->joiner ? (size_t)body->joiner->n * CELL : 0; }

static void join_chunk(const wf__ir *body, void *const *at, size_t first, size_t n, unsigned char *value)
{
    const wf__ir *ir = body->joiner;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *x = &ir->node[r];
        unsigned char *out = value + (size_t)r * CELL;
        const unsigned char *a = value + (size_t)x->a * CELL, *b = value + (size_t)x->b * CELL,
                            *c = value + (size_t)x->c * CELL;
        if (x->op == WF__CONST)
            wf__splat(out, x->dtype, wf__bits(x), n);
        else if (x->op == WF__ARG)
            memcpy(out, (const unsigned char *)at[x->a] + first * wf__size(x->dtype), n * wf__size(x->dtype));
        else if (wf__op_is_pure(x->op))
            wf__eval_node(x, wf__dtype(ir, wf__last_operand(x)), out, a, b, c, n);
    }
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *x = &ir->node[r];
        if (x->op == WF__SETRED)
            memcpy((unsigned char *)at[x->a] + first * wf__size(x->dtype), value + (size_t)x->c * CELL,
                   n * wf__size(x->dtype));
    }
}

void wf__join_pairs(const wf__ir *body, void *const *at, size_t n, void *scratch)
{
    for (uint32_t k = 0; k < body->red_n; ++k) {
        const wf__reduction *red = &body->red[k];
        if (red->join != WF_JOIN_CUSTOM)
            wf__eval(wf__join_op((wf_join)red->join), red->dtype, at[k], at[k], at[body->red_n + k], at[k], n);
    }
    for (size_t first = 0; body->joiner && first < n; first += CHUNK)
        join_chunk(body, at, first, n - first < CHUNK ? n - first : CHUNK, scratch);
}
