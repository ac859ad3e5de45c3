/* interp.c - the reference interpreter: runs the points of a box, chunk by chunk (chunk.c), and joins its reductions.
 * Tests compare every other backend with the interpreter, and machines without LLVM use it.
 *
 * A chunk begins at a multiple of WF__LANES of the lane index, so that lane l of a chunk of WF__LANES lanes is virtual
 * accumulator l of the reduction contract (kernel.h).
 */
#include "run/interp/chunk.h"
#include "run/interp/joiner.h"
#include "run/interp/debug_lockstep.h"

/* ---- preparing ---- */
static bool prepare_cold(wf__interp *interp, const wf__node *n, wf__str *error)
{
    wf__cold_path *body = &interp->cold[n->c];
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

/* True if a body gives the same bits for chunks of any width: each element is accessed by one point alone, or all
 * accesses of points to the elements of others are stores of one node, which come in the order of the points. */
static bool is_pointwise(const wf__ir *body)
{
    bool scatters = false;
    if (body->red_n || body->loops || body->flags & WF_FLAG_DEBUG)
        return false;
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__LOCAL)
            return false;
    for (uint32_t s = 0; s < body->slot_n; ++s)
        scatters = scatters || (body->slot[s].written && !body->slot[s].element);
    uint32_t stores = 0;
    for (wf__ref r = 1; r < body->n; ++r) {
        const wf__node *n = &body->node[r];
        stores += n->op == WF__STORE;
        if ((wf__op_is_effect(n->op) && n->op != WF__STORE) ||
            (scatters && n->op == WF__LOAD && (body->slot[n->a].written || body->slot[n->a].may_alias)))
            return false;
    }
    return !scatters || stores < 2;
}

/* Sets the most lanes of a chunk: wide ones take CACHED bytes for the values of all nodes. */
static void choose_width(wf__interp *interp)
{
    enum { CACHED = 128 << 10, MOST = 256 };
    const wf__ir *body = interp->body;
    interp->lanes = WF__LANES;
    interp->width = WF__ROW / WF__LANES;
    if (!is_pointwise(body))
        return;
    interp->width = sizeof(int64_t);
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].dtype && wf__size(body->node[r].dtype) > interp->width)
            interp->width = wf__size(body->node[r].dtype);
    while (interp->lanes < MOST && (size_t)body->n * 2 * interp->lanes * interp->width <= CACHED)
        interp->lanes *= 2;
}

/* Gives each LOCAL a place in the local memory of a chunk. */
static bool place_local_memory(wf__interp *interp)
{
    const wf__ir *body = interp->body;
    for (wf__ref r = 1; r < body->n; ++r) {
        if (body->node[r].op != WF__LOCAL)
            continue;
        if (!interp->local && !(interp->local = wf__alloc0(body->n * sizeof *interp->local)))
            return false;
        interp->local[r] = interp->local_bytes;
        interp->local_bytes += (size_t)body->node[r].a * WF__LANES * wf__size(body->node[r].dtype);
    }
    return true;
}

wf__interp *wf__interp_new(const wf__ir *body, wf__str *error)
{
    wf__interp *interp = wf__alloc0(sizeof *interp);
    if (interp)
        interp->cold = wf__alloc0(WF__COLD_COUNT * sizeof *interp->cold);
    if (interp)
        interp->body = body;
    if (!interp || !interp->cold || !place_local_memory(interp)) {
        wf__str_add(error, "out of memory for the interpreter");
        wf__interp_free(interp);
        return NULL;
    }
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__COLD && !prepare_cold(interp, &body->node[r], error)) {
            wf__interp_free(interp);
            return NULL;
        }
    choose_width(interp);
    return interp;
}

void wf__interp_free(wf__interp *interp)
{
    if (!interp)
        return;
    for (uint32_t i = 0; interp->cold && i < WF__COLD_COUNT; ++i)
        wf__ir_free(&interp->cold[i].ir);
    wf__free(interp->cold);
    wf__free(interp->local);
    wf__free(interp);
}

/* Returns the bytes of scratch for chunks of that many lanes. */
static size_t scratch_bytes(const wf__interp *interp, uint32_t lanes)
{
    const wf__ir *body = interp->body;
    size_t pointers = (2 * (size_t)body->red_n * sizeof(void *) + WF__ROW - 1) / WF__ROW;
    return (size_t)body->n * lanes * interp->width + interp->local_bytes +
           ((size_t)body->red_n + interp->most_nodes_in_cold + pointers) * WF__ROW + wf__join_scratch(body);
}

size_t wf__interp_scratch(const wf__interp *interp) { return scratch_bytes(interp, interp->lanes); }

/* ---- rows ---- */
static void run_row(wf__chunk *f, int64_t lo, int64_t hi)
{
    int64_t *j = &f->index[f->ir->rank - 1];
    const int64_t most = (int64_t)(f->row / f->interp->width);
    for (*j = lo - lo % WF__LANES; *j < hi; *j += f->lanes) {
        int64_t left = hi - *j < most ? hi - *j : most;
        f->first = *j < lo ? (uint32_t)(lo - *j) : 0;
        f->n = (uint32_t)left - f->first;
        f->lanes = (uint32_t)(left + WF__LANES - 1) / WF__LANES * WF__LANES;
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
        wf__splat(f->acc + (size_t)k * WF__ROW, red->dtype, wf__red_start(red), WF__LANES);
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

/* Returns the address of reduction k's result for the current point of the kept axes. lane: index along a kept lane
 * axis. */
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

/* Returns the lanes of a chunk, which are no more than a row of the box has. */
static uint32_t lanes_of(const wf__interp *interp, int64_t lo, int64_t hi)
{
    int64_t row = hi - (lo - lo % WF__LANES);
    uint32_t lanes = interp->lanes;
    while (lanes > WF__LANES && row <= lanes / 2)
        lanes /= 2;
    return lanes;
}

void wf__interp_run(const wf__interp *interp, void *scratch, const wf__call *call, const int64_t *lo, const int64_t *hi,
                    uint64_t *acc)
{
    const wf__ir *body = interp->body;
    const uint32_t lanes = lanes_of(interp, lo[body->rank - 1], hi[body->rank - 1]);
    wf__chunk f = { .interp = interp,
                    .ir = body,
                    .value = scratch,
                    .row = (size_t)lanes * interp->width,
                    .call = call,
                    .lanes = lanes };
    f.acc = f.value + (size_t)body->n * f.row + interp->local_bytes;
    f.cold = f.acc + (size_t)body->red_n * WF__ROW;
    f.pairs = (void **)(f.cold + (size_t)interp->most_nodes_in_cold * WF__ROW);
    memset(scratch, 0, scratch_bytes(interp, lanes));
    if (!call->watch || !wf__watch_has_watchpoints(call->watch)) {
        wf__chunk_constants(&f);
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
