/* interp.c - the reference interpreter: walks a body's nodes over chunks of lanes, one loop per node (wf__eval). Tests
 * compare every other backend with the interpreter, and machines without LLVM use it.
 *
 * A chunk has WF__LANES lanes and begins at a multiple of WF__LANES of the lane index, so that lane l of a chunk is
 * virtual accumulator l of the reduction contract (kernel.h).
 */
#include "run/interp/chunk.h"
#include "run/interp/joiner.h"
#include "run/interp/debug_lockstep.h"
#include "run/debug/watch.h"

typedef struct cold_body {
    wf__ir ir;
    wf__ref result;
} cold_body;

struct wf__interp {
    const wf__ir *body;
    cold_body *cold; /* [WF__COLD_COUNT]; all zero = unused */
    uint32_t most_nodes_in_cold;
};

/* ---- preparing ---- */
static bool prepare_cold(wf__interp *interp, const wf__node *n, wf__str *error)
{
    cold_body *body = &interp->cold[n->c];
    if (body->result)
        return true;
    const wf__ir *ir = interp->body;
    wf__ref args[8] = { 0 };
    uint32_t count = wf__tuple_len(ir, n->d);
    wf__ir_init(&body->ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (uint32_t i = 0; i < count && i < WF__COUNT(args); ++i)
        args[i] = wf__arg(&body->ir, i, wf__dtype(ir, wf__tuple_at(ir, n->d)[i]));
    body->result = wf__cold_body(&body->ir, (wf__cold_id)n->c, args, count);
    if (!body->result) {
        wf__str_addf(error, "interpreter: %s", body->ir.error[0] ? body->ir.error : "a cold path could not be built");
        return false;
    }
    if (body->ir.n > interp->most_nodes_in_cold)
        interp->most_nodes_in_cold = body->ir.n;
    return true;
}

wf__interp *wf__interp_new(const wf__ir *body, wf__str *error)
{
    wf__interp *interp = wf__alloc0(sizeof *interp);
    if (interp)
        interp->cold = wf__alloc0(WF__COLD_COUNT * sizeof *interp->cold);
    if (!interp || !interp->cold) {
        wf__str_add(error, "out of memory for the interpreter");
        wf__interp_free(interp);
        return NULL;
    }
    interp->body = body;
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__COLD && !prepare_cold(interp, &body->node[r], error)) {
            wf__interp_free(interp);
            return NULL;
        }
    return interp;
}

void wf__interp_free(wf__interp *interp)
{
    if (!interp)
        return;
    for (uint32_t i = 0; interp->cold && i < WF__COLD_COUNT; ++i)
        wf__ir_free(&interp->cold[i].ir);
    wf__free(interp->cold);
    wf__free(interp);
}

size_t wf__interp_scratch(const wf__interp *interp)
{
    const wf__ir *body = interp->body;
    size_t pointers = (2 * (size_t)body->red_n * sizeof(void *) + WF__ROW - 1) / WF__ROW;
    return ((size_t)body->n + body->red_n + interp->most_nodes_in_cold + pointers) * WF__ROW + wf__join_scratch(body);
}

/* ---- leaves ---- */
static void splat_lanes(void *out, unsigned dtype, uint64_t bits)
{
    unsigned size = wf__size(dtype);
    unsigned char *p = out;
    for (uint32_t l = 0; l < WF__LANES; ++l)
        memcpy(p + l * size, &bits, size); /* little-endian: the low bytes come first */
}

static void index_lanes(const wf__chunk *f, void *out, uint32_t axis)
{
    int64_t *r = out;
    bool lane = (int)axis == f->ir->rank - 1;
    for (uint32_t l = 0; l < WF__LANES; ++l)
        r[l] = f->index[axis] + (lane ? (int64_t)l : 0);
}

/* ---- one chunk ---- */
static void eval_cold(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    const unsigned char *when = wf__chunk_at(f, n->a);
    unsigned char *out = wf__chunk_at(f, r);
    memcpy(out, wf__chunk_at(f, n->b), (size_t)WF__LANES * size);
    bool any = false;
    for (uint32_t l = f->first; l < f->first + f->n; ++l)
        any = any || when[l];
    if (!any)
        return;
    const cold_body *body = &f->interp->cold[n->c];
    const void *args[8];
    for (uint32_t i = 0; i < wf__tuple_len(f->ir, n->d) && i < WF__COUNT(args); ++i)
        args[i] = wf__chunk_at(f, wf__tuple_at(f->ir, n->d)[i]);
    wf__chunk sub = {
        .interp = f->interp, .ir = &body->ir, .value = f->cold, .call = f->call, .n = WF__LANES, .arg = args
    };
    wf__chunk_walk(&sub, 1, 1, body->ir.n);
    const unsigned char *slow = wf__chunk_at(&sub, body->result);
    for (uint32_t l = 0; l < WF__LANES; ++l)
        if (when[l])
            memcpy(out + l * size, slow + l * size, size);
}

static void eval_structural(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    unsigned char *out = wf__chunk_at(f, r);
    switch ((wf__op)n->op) {
    case WF__CONST:
        splat_lanes(out, n->dtype, wf__bits(n));
        break;
    case WF__PARAM:
        splat_lanes(out, n->dtype, f->call->param[n->a]);
        break;
    case WF__EXTENT:
        splat_lanes(out, WF_I64, (uint64_t)f->call->extent[n->a]);
        break;
    case WF__THREAD: /* the only one in its block */
        splat_lanes(out, WF_I64, n->aux);
        break;
    case WF__DIM:
        splat_lanes(out, WF_I64, (uint64_t)f->call->mem[n->a].dim[n->b]);
        break;
    case WF__INDEX:
        index_lanes(f, out, n->a);
        break;
    case WF__ARG:
        memcpy(out, f->arg[n->a], (size_t)WF__LANES * wf__size(n->dtype));
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
    case WF__NOP:
    case WF__BARRIER: /* a thread is a block */
    case WF__LOOP:    /* wf__chunk_walk, set_states and eval_node evaluate loops, and eval_node what computes */
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
    case WF__CAST:
    case WF__CHECK:
    case WF__BITCAST:
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
        memcpy(wf__chunk_at(f, s), wf__chunk_at(f, node[s].b), WF__ROW);
    for (wf__ref n = r; r != loop && node[--n].op == WF__NEXT;)
        memcpy(wf__chunk_at(f, node[n].a), wf__chunk_at(f, n), WF__ROW);
}

/* The node that follows LOOP or END. */
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
        memcpy(wf__chunk_at(f, r), wf__chunk_at(f, n->b), WF__ROW);
    else if (n->op == WF__CAST)
        wf__eval_cast(n->dtype, wf__dtype(f->ir, n->a), wf__chunk_at(f, r), wf__chunk_at(f, n->a), WF__LANES);
    else if (n->op == WF__CHECK)
        wf__chunk_check(f, r, n);
    else if (n->op == WF__BITCAST)
        memcpy(wf__chunk_at(f, r), wf__chunk_at(f, n->a), (size_t)WF__LANES * wf__size(n->dtype));
    else if (!wf__op_is_pure(n->op))
        eval_structural(f, r, n);
    else {
        unsigned arity = wf__op_table[n->op].arity;
        wf__ref last = arity == 3 ? n->c : arity == 2 ? n->b : n->a;
        wf__eval(n->op, wf__dtype(f->ir, last), wf__chunk_at(f, r), wf__chunk_at(f, n->a), wf__chunk_at(f, n->b),
                 wf__chunk_at(f, n->c), WF__LANES);
    }
}

bool wf__chunk_walk(const wf__chunk *f, size_t chunks, wf__ref from, wf__ref to)
{
    for (wf__ref r = from; r < to; ++r) {
        const wf__node *n = &f->ir->node[r];
        if (n->op == WF__LOOP || n->op == WF__END) {
            r = next_after(f, chunks, r) - 1;
            continue;
        }
        for (size_t i = 0; i < chunks; ++i)
            eval_node(f + i, r, n);
        if (f->lockstep && !wf__lockstep_look(f->lockstep, r))
            return false;
    }
    return true;
}

static void run_row(wf__chunk *f, int64_t lo, int64_t hi)
{
    int64_t *j = &f->index[f->ir->rank - 1];
    for (*j = lo - lo % WF__LANES; *j < hi; *j += WF__LANES) {
        f->first = *j < lo ? (uint32_t)(lo - *j) : 0;
        f->n = (uint32_t)((hi - *j < WF__LANES ? hi - *j : WF__LANES)) - f->first;
        if (f->lockstep)
            wf__lockstep_chunk(f->lockstep, f);
        else
            wf__chunk_walk(f, 1, 1, f->ir->n);
    }
}

/* ---- reductions ---- */
static void clear_lanes(const wf__chunk *f)
{
    for (uint32_t k = 0; k < f->ir->red_n; ++k) {
        const wf__reduction *red = &f->ir->red[k];
        splat_lanes(f->acc + (size_t)k * WF__ROW, red->dtype, wf__red_start(red));
    }
}

/* Joins all lanes into lane 0, pairwise. */
static void join_lanes(const wf__chunk *f)
{
    const wf__ir *body = f->ir;
    size_t pointers = (2 * (size_t)body->red_n * sizeof(void *) + WF__ROW - 1) / WF__ROW * WF__ROW;
    for (uint32_t s = WF__LANES / 2; s; s /= 2) {
        for (uint32_t k = 0; k < body->red_n; ++k) {
            f->pairs[k] = f->acc + (size_t)k * WF__ROW;
            f->pairs[body->red_n + k] = f->acc + (size_t)k * WF__ROW + s * wf__size(body->red[k].dtype);
        }
        wf__join_pairs(body, f->pairs, s, (unsigned char *)f->pairs + pointers);
    }
}

/* The address of reduction k's result for the current point of the kept axes. lane: index along a kept lane axis. */
static unsigned char *result_at(const wf__chunk *f, const uint64_t *acc, uint32_t k, int64_t lane)
{
    const int64_t *extent = f->call->extent;
    int64_t at = 0;
    for (int d = 0; d < f->ir->kept; ++d)
        at = at * extent[d] + f->index[d];
    if (f->ir->kept_lane)
        at = at * extent[f->ir->rank - 1] + lane;
    return (unsigned char *)(uintptr_t)acc[k] + at * (int64_t)wf__size(f->ir->red[k].dtype);
}

/* Runs a row whose lanes have accumulators in memory. */
static void run_kept_row(wf__chunk *f, int64_t lo, int64_t hi, const uint64_t *acc)
{
    for (int64_t j = lo - lo % WF__LANES, next; j < hi; j = next) {
        int64_t from = j < lo ? lo : j, to = j + WF__LANES < hi ? j + WF__LANES : hi;
        next = j + WF__LANES;
        for (int store = 0; store < 2; ++store) {
            for (uint32_t k = 0; k < f->ir->red_n; ++k) {
                size_t size = wf__size(f->ir->red[k].dtype), bytes = (size_t)(to - from) * size;
                unsigned char *lanes = f->acc + (size_t)k * WF__ROW + (size_t)(from - j) * size;
                unsigned char *memory = result_at(f, acc, k, from);
                memcpy(store ? memory : lanes, store ? lanes : memory, bytes);
            }
            if (!store)
                run_row(f, from, to);
        }
    }
}

/* Runs all rows of a box, in C order. The axes before `outer` keep their indices. */
static void run_rows(wf__chunk *f, const int64_t *lo, const int64_t *hi, int outer, const uint64_t *acc)
{
    int64_t *index = f->index;
    int last = f->ir->rank - 1, d;
    do {
        if (f->ir->kept_lane)
            run_kept_row(f, lo[last], hi[last], acc);
        else
            run_row(f, lo[last], hi[last]);
        d = last - 1;
        while (d >= outer && ++index[d] >= hi[d]) {
            index[d] = lo[d];
            --d;
        }
    } while (d >= outer);
}

static void run_points(wf__chunk *f, const int64_t *lo, const int64_t *hi, uint64_t *acc)
{
    const wf__ir *body = f->ir;
    int rank = body->rank, d;
    bool keeps = body->kept || body->kept_lane, each = body->kept && !body->kept_lane;
    int64_t *index = f->index;
    bool empty = false;
    for (d = 0; d < rank; ++d) {
        index[d] = lo[d];
        empty = empty || lo[d] >= hi[d];
    }
    clear_lanes(f);
    if (!empty && !each)
        run_rows(f, lo, hi, 0, acc);
    if (!keeps)
        join_lanes(f);
    for (uint32_t k = 0; !keeps && k < body->red_n; ++k) {
        acc[k] = 0;
        memcpy(&acc[k], f->acc + (size_t)k * WF__ROW, wf__size(body->red[k].dtype));
    }
    if (empty || !each)
        return;
    do { /* points of the kept axes */
        clear_lanes(f);
        run_rows(f, lo, hi, body->kept, acc);
        join_lanes(f);
        for (uint32_t k = 0; k < body->red_n; ++k)
            memcpy(result_at(f, acc, k, 0), f->acc + (size_t)k * WF__ROW, wf__size(body->red[k].dtype));
        d = body->kept - 1;
        while (d >= 0 && ++index[d] >= hi[d]) {
            index[d] = lo[d];
            --d;
        }
    } while (d >= 0);
}

void wf__interp_run(const wf__interp *interp, void *scratch, const wf__call *call, const int64_t *lo, const int64_t *hi,
                    uint64_t *acc)
{
    const wf__ir *body = interp->body;
    wf__chunk f = { .interp = interp, .ir = body, .value = scratch, .call = call };
    f.acc = f.value + (size_t)body->n * WF__ROW;
    f.cold = f.acc + (size_t)body->red_n * WF__ROW;
    f.pairs = (void **)(f.cold + (size_t)interp->most_nodes_in_cold * WF__ROW);
    memset(scratch, 0, wf__interp_scratch(interp));
    if (!call->watch || !wf__watch_has_sights(call->watch)) {
        run_points(&f, lo, hi, acc);
        return;
    }
    wf__lockstep lockstep;
    wf__lockstep_begin(&lockstep, &f);
    run_points(&f, lo, hi, acc);
    if (wf__lockstep_run(&lockstep))
        run_points(&f, lo, hi, acc);
    wf__lockstep_end(&lockstep);
}
