/* chunk.c - the walk over the nodes of an IR for a chunk of lanes, with one loop over the lanes for each node
 * (wf__eval).
 */
#include "run/interp/chunk.h"

/* ---- leaves ---- */
static void index_lanes(const wf__chunk *f, void *out, uint32_t axis)
{
    int64_t *r = out;
    bool lane = (int)axis == f->ir->rank - 1;
    for (uint32_t l = 0; l < f->lanes; ++l)
        r[l] = f->index[axis] + (lane ? (int64_t)l : 0);
}

/* ---- nodes ---- */
/* Evaluates the body of a COLD node for the WF__LANES lanes from `at` on, of which lane l gets the result if when[l] is
 * true. */
static void eval_cold_lanes(const wf__chunk *f, const wf__node *n, uint32_t at, const unsigned char *when,
                            unsigned char *out)
{
    const wf__cold_path *body = &f->interp->cold[n->c];
    unsigned size = wf__size(n->dtype);
    const void *args[8];
    for (uint32_t i = 0; i < wf__tuple_len(f->ir, n->d) && i < WF__COUNT(args); ++i) {
        wf__ref arg = wf__tuple_at(f->ir, n->d)[i];
        args[i] = (unsigned char *)wf__chunk_at(f, arg) + (size_t)at * wf__size(wf__dtype(f->ir, arg));
    }
    wf__chunk sub = { .interp = f->interp,
                      .ir = &body->ir,
                      .value = f->cold,
                      .row = WF__ROW,
                      .call = f->call,
                      .lanes = WF__LANES,
                      .n = WF__LANES,
                      .arg = args };
    wf__chunk_walk(&sub, 1, 1, body->ir.n);
    const unsigned char *slow = wf__chunk_at(&sub, body->result);
    for (uint32_t l = 0; l < WF__LANES; ++l)
        if (when[l])
            memcpy(out + l * size, slow + l * size, size);
}

static void eval_cold(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    const unsigned char *when = wf__chunk_at(f, n->a);
    unsigned char *out = wf__chunk_at(f, r);
    memcpy(out, wf__chunk_at(f, n->b), (size_t)f->lanes * size);
    for (uint32_t at = 0; at < f->lanes; at += WF__LANES) {
        bool any = false;
        for (uint32_t l = at; l < at + WF__LANES; ++l)
            any = any || (when[l] && l >= f->first && l < f->first + f->n);
        if (any)
            eval_cold_lanes(f, n, at, when + at, out + (size_t)at * size);
    }
}

static void eval_structural(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    unsigned char *out = wf__chunk_at(f, r);
    switch ((wf__op)n->op) {
    case WF__CONST:
        wf__splat(out, n->dtype, wf__bits(n), f->lanes);
        break;
    case WF__PARAM:
        wf__splat(out, n->dtype, f->call->param[n->a], f->lanes);
        break;
    case WF__EXTENT:
        wf__splat(out, WF_I64, (uint64_t)f->call->extent[n->a], f->lanes);
        break;
    case WF__THREAD: /* the only one in its block */
        wf__splat(out, WF_I64, n->aux, f->lanes);
        break;
    case WF__DIM:
        wf__splat(out, WF_I64, (uint64_t)f->call->mem[n->a].dim[n->b], f->lanes);
        break;
    case WF__INDEX:
        index_lanes(f, out, n->a);
        break;
    case WF__ARG:
        memcpy(out, f->arg[n->a], (size_t)f->lanes * wf__size(n->dtype));
        break;
    case WF__LOAD:
        wf__chunk_load(f, r, n);
        break;
    case WF__STORE:
        wf__chunk_store(f, n);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        wf__chunk_update(f, r, n);
        break;
    case WF__RED:
        memcpy(out, f->acc + (size_t)n->a * WF__ROW, WF__ROW);
        break;
    case WF__SETRED: {
        unsigned size = wf__size(n->dtype);
        memcpy(f->acc + (size_t)n->a * WF__ROW + (size_t)f->first * size,
               (unsigned char *)wf__chunk_at(f, n->c) + (size_t)f->first * size, (size_t)f->n * size);
        break;
    }
    case WF__COLD:
        eval_cold(f, r, n);
        break;
    case WF__PUT:
        wf__chunk_put(f, n);
        break;
    case WF__GET:
        wf__chunk_get(f, r, n);
        break;
    case WF__LOCAL: /* has its place in the chunk */
    case WF__NOP:
    case WF__BARRIER: /* a thread is a block */
    case WF__LOOP:    /* wf__chunk_walk, set_states and eval_node evaluate loops and pure nodes */
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
    case WF__DERIVED: /* not in plans */
#include "ir/case_graphs.def"
#include "ir/case_pure.def"
        break;
    }
}

/* ---- loops ---- */
static bool goes_on(const wf__chunk *f, wf__ref loop)
{
    for (wf__ref s = loop + 1; f->ir->node[s].op == WF__STATE; ++s) {
        const unsigned char *guard = wf__chunk_at(f, s);
        for (uint32_t l = f->first; f->ir->node[s].aux && l < f->first + f->n; ++l)
            if (guard[l])
                return true;
    }
    return false;
}

/* Sets the states: their initial values after LOOP, their next values after END. */
static void set_states(const wf__chunk *f, wf__ref r, wf__ref loop)
{
    const wf__node *node = f->ir->node;
    for (wf__ref s = loop + 1; r == loop && node[s].op == WF__STATE; ++s)
        memcpy(wf__chunk_at(f, s), wf__chunk_at(f, node[s].b), f->row);
    for (wf__ref n = r; r != loop && node[--n].op == WF__NEXT;)
        memcpy(wf__chunk_at(f, node[n].a), wf__chunk_at(f, n), f->row);
}

/* Returns the node that follows LOOP or END, after it has set the states of all chunks. */
static wf__ref next_after(const wf__chunk *f, size_t chunks, wf__ref r)
{
    const wf__ir *ir = f->ir;
    wf__ref loop = ir->node[r].op == WF__LOOP ? r : ir->node[r].a, s = loop + 1;
    bool again = false;
    for (size_t i = 0; i < chunks; ++i) {
        set_states(f + i, r, loop);
        again = goes_on(f + i, loop) || again;
    }
    while (ir->node[s].op == WF__STATE)
        ++s;
    if (again)
        return s;
    return r == loop ? wf__loop_end(ir, loop) + 1 : r + 1;
}

/* Evaluates a node that is neither LOOP nor END. */
static void eval_node(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    if (n->op == WF__NEXT)
        memcpy(wf__chunk_at(f, r), wf__chunk_at(f, n->b), f->row);
    else if (n->op == WF__CHECK)
        wf__chunk_check(f, r, n);
    else if (!wf__op_is_pure(n->op))
        eval_structural(f, r, n);
    else
        wf__eval_node(n, wf__dtype(f->ir, wf__last_operand(n)), wf__chunk_at(f, r), wf__chunk_at(f, n->a),
                      wf__chunk_at(f, n->b), wf__chunk_at(f, n->c), f->lanes);
}

void wf__chunk_constants(wf__chunk *f)
{
    for (wf__ref r = 1; r < f->ir->n; ++r)
        if (wf__is_constant_of_run(&f->ir->node[r]))
            eval_structural(f, r, &f->ir->node[r]);
    f->has_constants = true;
}

bool wf__chunk_walk(const wf__chunk *f, size_t chunks, wf__ref from, wf__ref to)
{
    for (wf__ref r = from; r < to; ++r) {
        const wf__node *n = &f->ir->node[r];
        if (f->has_constants && wf__is_constant_of_run(n))
            continue;
        if (n->op == WF__LOOP || n->op == WF__END) {
            r = next_after(f, chunks, r) - 1;
            continue;
        }
        for (size_t i = 0; i < chunks; ++i)
            eval_node(f + i, r, n);
        if (f->shows && !wf__watch_show(f->call->watch, r, f->shows))
            return false;
    }
    return true;
}
